// SPDX-License-Identifier: BSD-3-Clause
// Checks that a table of options has every field of its struct, and that checkpoints compare each.
#ifndef SAP_TESTS_SUPPORT_OPTION_TABLES_H
#define SAP_TESTS_SUPPORT_OPTION_TABLES_H

#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>

#include <cmocka.h>

#include "core/options.h"

// Every byte of a struct with a cookie is a field of the table, a cookie, the solver's name, or
// padding, and at most `tail` bytes follow the last one: lists and table agree in number, order and
// offset. The defaults are those of the table, except those of fields listed in `own`, ended by
// NULL.
static inline void assert_table_is_whole(sap_option_table table, const void* defaults, size_t size,
                                         size_t tail, const char* const* own) {
  size_t offset = sizeof(uint32_t);
  for (int32_t i = 0; i < table.count; ++i) {
    const sap_option* o = &table.options[i];
    const bool wide = o->kind == SAP_OPTION_REAL || o->kind == SAP_OPTION_POSITIVE;
    const size_t bytes = wide                            ? sizeof(double)
                         : o->kind == SAP_OPTION_BOOLEAN ? 1
                                                         : sizeof(int32_t);
    assert_true(o->offset >= offset);
    assert_true(o->offset - offset < 2 * sizeof(double) + sizeof(char*));
    offset = o->offset + bytes;
    assert_true(o->meaning[0] != '\0' && o->minimum <= o->value && o->value <= o->maximum);
    const char* const* name = own;
    while (*name != NULL && strcmp(*name, o->name) != 0) {
      ++name;
    }
    assert_true(*name != NULL || sap_option_get(o, defaults) == o->value);
  }
  assert_true(size - offset < sizeof(double) + tail);
}

// A value of the option other than the default and within the range.
static inline double other_value(const sap_option* o) {
  if (o->kind == SAP_OPTION_REAL || o->kind == SAP_OPTION_POSITIVE) {
    const double half = 0.5 * o->value;
    return half != o->value && half > o->minimum ? half : fmin(o->maximum, o->value + 1.0);
  }
  return o->value < o->maximum ? o->value + 1.0 : o->minimum;
}

// Each option off its default is within its range, changes the bytes of a checkpoint, and is
// refused by name. `changed`: room for a copy of the struct.
static inline void assert_table_is_compared(sap_option_table table, const void* defaults,
                                            void* changed, size_t size) {
  enum { MOST = 128 };
  static const char* const free_to_differ[] = {"time_limit", "threads", "check_input"};
  unsigned char saved[MOST * sizeof(double)];
  assert_true(table.count <= MOST);
  sap_options_save(table, defaults, saved);
  assert_int_equal(sap_options_compare("file", table, defaults, saved, NULL), SAP_STATUS_OK);
  for (int32_t i = 0; i < table.count; ++i) {
    const sap_option* o = &table.options[i];
    sap_error error = {0};
    char start[80];
    bool is_free = false;
    for (size_t k = 0; k < sizeof free_to_differ / sizeof *free_to_differ; ++k) {
      is_free = is_free || strcmp(o->name, free_to_differ[k]) == 0;
    }
    memcpy(changed, defaults, size);
    sap_option_set(o, changed, other_value(o));
    assert_int_equal(sap_options_check(table, changed, NULL), SAP_STATUS_OK);
    const sap_status status = sap_options_compare("file", table, changed, saved, &error);
    (void)snprintf(start, sizeof start, "file: %s = ", o->name);
    if (status != (is_free ? SAP_STATUS_OK : SAP_STATUS_ARGUMENT) ||
        (!is_free && strncmp(error.message, start, strlen(start)) != 0)) {
      fail_msg("%s: status %d, '%s'", o->name, (int)status, error.message);
    }
  }
}

#endif
