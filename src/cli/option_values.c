// SPDX-License-Identifier: BSD-3-Clause
// Readers of the options' arguments.
#include <errno.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "cli/options.h"

bool cli_read_real(const char* text, double* out) {
  if (text[0] == '\0' || strspn(text, "0123456789+-.eE") != strlen(text)) {
    return false;
  }
  char* end = NULL;
  const double value = strtod(text, &end);
  if (*end != '\0' || !isfinite(value)) {
    return false;
  }
  *out = value;
  return true;
}

bool cli_read_integer(const char* text, int32_t* out) {
  if (text[0] == '\0' || strspn(text, "0123456789+-") != strlen(text)) {
    return false;
  }
  errno = 0;
  char* end = NULL;
  const long value = strtol(text, &end, 10);
  if (*end != '\0' || errno != 0 || value < INT32_MIN || value > INT32_MAX) {
    return false;
  }
  *out = (int32_t)value;
  return true;
}

bool cli_read_boolean(const char* text, bool* out) {
  static const char* const words[] = {"off", "on", "no", "yes", "false", "true", "0", "1", NULL};
  const int index = cli_read_choice(text, words);
  if (index >= 0) {
    *out = index % 2 == 1;
  }
  return index >= 0;
}

int cli_read_choice(const char* text, const char* const* choices) {
  for (int i = 0; choices[i] != NULL; ++i) {
    if (strcmp(text, choices[i]) == 0) {
      return i;
    }
  }
  return -1;
}

const char* cli_take_number(const cli_number* numbers, size_t count, int id, const char* text,
                            bool* known) {
  *known = false;
  for (size_t i = 0; i < count; ++i) {
    const cli_number* n = &numbers[i];
    if (n->id == id) {
      double value;
      *known = true;
      if (!cli_read_real(text, &value) || !(value <= n->high) ||
          !(n->open ? value > n->low : value >= n->low)) {
        return n->allowed;
      }
      *n->target = value;
      return NULL;
    }
  }
  return NULL;
}

const char* cli_take_path(const char** target, const char* text) {
  *target = text;
  return text[0] != '\0' ? NULL : "a path";
}

const char* cli_take_solver(const char** target, const char* text) {
  *target = text;
  return sap_solver_find(text) != NULL ? NULL : "one of those that 'sapstep solvers' lists";
}

const char* cli_near_solver(const char* text) {
  enum { NAMES = 64, WORD_SIZE = 64 };
  const char* names[NAMES];
  int count = 0;
  for (; count < sap_solver_count() && count < NAMES; ++count) {
    names[count] = sap_solver_get_info(count)->name;
  }
  for (const char* at = text; *at != '\0'; at += *at == ',' ? 1 : 0) {
    char word[WORD_SIZE];
    (void)snprintf(word, sizeof word, "%.*s", (int)strcspn(at, ",:"), at);
    if (sap_solver_find(word) == NULL) {
      return cli_suggest(word, names, count);
    }
    at += strcspn(at, ",");
  }
  return NULL;
}

const char* cli_take_count(int32_t* target, const char* text) {
  int32_t value;
  if (!cli_read_integer(text, &value) || value < 1) {
    return "an integer >= 1";
  }
  *target = value;
  return NULL;
}

bool cli_read_contact_model(const char* text, sap_contact_model* out) {
  for (int i = 0; i < (int)SAP_CONTACT_MODEL_COUNT; ++i) {
    if (strcmp(text, sap_contact_model_text((sap_contact_model)i)) == 0) {
      *out = (sap_contact_model)i;
      return true;
    }
  }
  return false;
}

bool cli_read_scheme(const char* text, sap_scheme* out) {
  for (int i = 0; i < (int)SAP_SCHEME_COUNT; ++i) {
    if (strcmp(text, sap_scheme_text((sap_scheme)i)) == 0) {
      *out = (sap_scheme)i;
      return true;
    }
  }
  return false;
}

const char* cli_take_compression(int32_t* out, const char* argument) {
  return cli_read_integer(argument, out) && *out >= 0 && *out <= 9 ? NULL : "an integer 0 to 9";
}

bool cli_read_stage(const char* text, sap_stage* out) {
  for (int i = 0; i < (int)SAP_STAGE_COUNT; ++i) {
    if (strcmp(text, sap_stage_text((sap_stage)i)) == 0) {
      *out = (sap_stage)i;
      return true;
    }
  }
  return false;
}

bool cli_read_law(const char* text, sap_law* out) {
  for (int i = 0; i < (int)SAP_LAW_COUNT; ++i) {
    if (strcmp(text, sap_law_text((sap_law)i)) == 0) {
      *out = (sap_law)i;
      return true;
    }
  }
  return false;
}

int64_t cli_step_count(double duration, double dt) {
  static const double most = 9007199254740992.0;
  return (int64_t)fmin(ceil(duration / dt * (1.0 - 1e-12)), most);
}
