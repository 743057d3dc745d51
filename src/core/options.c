// SPDX-License-Identifier: BSD-3-Clause
#include "core/options.h"

#include <math.h>
#include <stdio.h>
#include <string.h>

_Static_assert(sizeof(sap_option_kind) == sizeof(int), "enums are stored as int");

sap_status sap_check_cookie(const char* name, const uint32_t* cookie, sap_error* error) {
  SAP_FAIL_IF(cookie == NULL, error, SAP_STATUS_ARGUMENT, "%s: options is NULL", name);
  SAP_FAIL_IF(*cookie != SAP_COOKIE, error, SAP_STATUS_ARGUMENT,
              "%s is not initialized: use %s_default()", name, name);
  return SAP_STATUS_OK;
}

double sap_option_get(const sap_option* option, const void* options) {
  const void* field = (const char*)options + option->offset;
  switch (option->kind) {
    case SAP_OPTION_INTEGER:
    case SAP_OPTION_WORD:
      return *(const int32_t*)field;
    case SAP_OPTION_BOOLEAN:
      return *(const bool*)field ? 1.0 : 0.0;
    default:
      return *(const double*)field;
  }
}

void sap_option_set(const sap_option* option, void* options, double value) {
  void* field = (char*)options + option->offset;
  switch (option->kind) {
    case SAP_OPTION_INTEGER:
    case SAP_OPTION_WORD:
      *(int32_t*)field = (int32_t)value;
      break;
    case SAP_OPTION_BOOLEAN:
      *(bool*)field = value > 0.5;
      break;
    default:
      *(double*)field = value;
  }
}

void sap_options_reset(sap_option_table table, void* options) {
  for (int32_t i = 0; i < table.count; ++i) {
    sap_option_set(&table.options[i], options, table.options[i].value);
  }
}

void sap_option_text(const sap_option* option, double value, char text[SAP_OPTION_TEXT_SIZE]) {
  const bool known = value >= option->minimum && value <= option->maximum;
  if (option->kind == SAP_OPTION_BOOLEAN) {
    (void)snprintf(text, SAP_OPTION_TEXT_SIZE, "%s", value > 0.5 ? "on" : "off");
  } else if (option->kind == SAP_OPTION_WORD && known) {
    (void)snprintf(text, SAP_OPTION_TEXT_SIZE, "%s",
                   option->words[(int)value - (int)option->minimum]);
  } else {
    (void)snprintf(text, SAP_OPTION_TEXT_SIZE, "%.12g", value);
  }
}

// Writes "auto, end or theta".
static void list_words(const sap_option* o, char text[SAP_OPTION_TEXT_SIZE]) {
  const int count = (int)(o->maximum - o->minimum) + 1;
  size_t length = 0;
  for (int i = 0; i < count && length < SAP_OPTION_TEXT_SIZE; ++i) {
    const char* separator = i == 0 ? "" : i == count - 1 ? " or " : ", ";
    const int n =
        snprintf(text + length, SAP_OPTION_TEXT_SIZE - length, "%s%s", separator, o->words[i]);
    length += n > 0 ? (size_t)n : 0;
  }
}

void sap_option_allowed(const sap_option* o, char text[SAP_OPTION_TEXT_SIZE]) {
  static const double FINITE = 1e300;
  const char* bracket = strrchr(o->meaning, '[');
  const bool open = o->kind == SAP_OPTION_POSITIVE;
  char unit[32] = "";
  if (bracket != NULL && bracket[1] != '-') {
    (void)snprintf(unit, sizeof unit, " %.*s", (int)strcspn(bracket + 1, "]"), bracket + 1);
  }
  if (o->kind == SAP_OPTION_BOOLEAN) {
    (void)snprintf(text, SAP_OPTION_TEXT_SIZE, "on or off");
  } else if (o->kind == SAP_OPTION_WORD) {
    list_words(o, text);
  } else if (o->maximum >= FINITE) {
    (void)snprintf(text, SAP_OPTION_TEXT_SIZE, "%s%s %g%s", isinf(o->maximum) ? "" : "finite and ",
                   open ? ">" : ">=", o->minimum, unit);
  } else if (open) {
    (void)snprintf(text, SAP_OPTION_TEXT_SIZE, "> %g and <= %g%s", o->minimum, o->maximum, unit);
  } else {
    (void)snprintf(text, SAP_OPTION_TEXT_SIZE, "in [%g, %g]%s", o->minimum, o->maximum, unit);
  }
}

sap_status sap_options_check(sap_option_table table, const void* options, sap_error* error) {
  SAP_EACH(const sap_option, o, table.options, table.count) {
    const double value = sap_option_get(o, options);
    const bool above = o->kind == SAP_OPTION_POSITIVE ? value > o->minimum : value >= o->minimum;
    if (!(above && value <= o->maximum)) {
      char allowed[SAP_OPTION_TEXT_SIZE];
      sap_option_allowed(o, allowed);
      return sap_fail(error, isfinite(value) ? SAP_STATUS_ARGUMENT : SAP_STATUS_NOT_FINITE,
                      "%s = %g must be %s", o->name, value, allowed);
    }
  }
  return SAP_STATUS_OK;
}

void sap_options_save(sap_option_table table, const void* options, unsigned char* bytes) {
  for (int32_t i = 0; i < table.count; ++i) {
    const double value = sap_option_get(&table.options[i], options);
    memcpy(bytes + (size_t)i * sizeof value, &value, sizeof value);
  }
}

static bool may_differ(const char* name) {
  return strcmp(name, "time_limit") == 0 || strcmp(name, "threads") == 0 ||
         strcmp(name, "check_input") == 0;
}

sap_status sap_options_compare(const char* path, sap_option_table table, const void* options,
                               const unsigned char* bytes, sap_error* error) {
  for (int32_t i = 0; i < table.count; ++i) {
    const sap_option* o = &table.options[i];
    const double now = sap_option_get(o, options);
    double then;
    memcpy(&then, bytes + (size_t)i * sizeof then, sizeof then);
    if (then != now && !may_differ(o->name)) {
      char text[2][SAP_OPTION_TEXT_SIZE];
      sap_option_text(o, then, text[0]);
      sap_option_text(o, now, text[1]);
      return sap_fail(error, SAP_STATUS_ARGUMENT, "%s: %s = %s in the checkpoint, %s here", path,
                      o->name, text[0], text[1]);
    }
  }
  return SAP_STATUS_OK;
}
