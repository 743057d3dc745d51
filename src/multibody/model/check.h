// SPDX-License-Identifier: BSD-3-Clause
// Checks of one definition. Every message reads "joint 'elbow': damping = -1 must be ...".
// All return NOT_FINITE for NaN and for an infinity that is not allowed, else ARGUMENT.
#pragma once

#include <stddef.h>

#include "core/error.h"
#include "core/options.h"

typedef struct sap_checker {
  const char* kind;  // "joint"
  const char* name;  // NULL or "": messages name the id
  int32_t id;
  sap_error* error;
} sap_checker;

// Fails with "kind 'name': " before the formatted text.
sap_status sap_check_fail(const sap_checker* checker, sap_status status, const char* format, ...)
    SAP_PRINTF(3, 4);

// Returns sap_check_fail(checker, ARGUMENT, format ...) from the calling function if the condition
// holds.
#define SAP_REFUSE_IF(condition, checker, ...)                            \
  do {                                                                    \
    if (condition) {                                                      \
      return sap_check_fail((checker), SAP_STATUS_ARGUMENT, __VA_ARGS__); \
    }                                                                     \
  } while (0)

// Ranges in the lists of fields (sapstep/model.h).
typedef enum sap_range {
  SAP_RANGE_OWN,  // checked by the element's own function
  SAP_RANGE_FINITE,
  SAP_RANGE_NOT_NEGATIVE,
  SAP_RANGE_POSITIVE,
  SAP_RANGE_STIFFNESS,
} sap_range;

// Requires that the value is in the range.
sap_status sap_check_range(const sap_checker* checker, const char* name, sap_range range,
                           double value);
#define sap_check_finite(checker, name, value) \
  sap_check_range((checker), (name), SAP_RANGE_FINITE, (value))
#define sap_check_nonnegative(checker, name, value) \
  sap_check_range((checker), (name), SAP_RANGE_NOT_NEGATIVE, (value))
#define sap_check_positive(checker, name, value) \
  sap_check_range((checker), (name), SAP_RANGE_POSITIVE, (value))
sap_status sap_check_vector(const sap_checker* checker, const char* field, const double* values,
                            int count);
// Requires lower <= upper, each possibly infinite outwards. prefix: "", "control_", "force_".
sap_status sap_check_limits(const sap_checker* checker, const char* prefix, double lower,
                            double upper);
// Requires first <= value < end.
sap_status sap_check_id(const sap_checker* checker, const char* field, int32_t value, int32_t first,
                        int32_t end);
// Normalises a quaternion (4) or an axis (3) that is finite and not zero.
sap_status sap_check_unit(const sap_checker* checker, const char* field, const double* in,
                          int count, double* out);
// Requires of a symmetric 3x3 {xx yy zz xy xz yz} principal moments >= 0 and, unless `any`, none
// above the sum of the others; both up to SAP_INERTIA_TOLERANCE times the largest.
sap_status sap_check_inertia(const sap_checker* checker, const char* field, const double I[6],
                             bool any);

// Relative; files give inertias with few digits.
#define SAP_INERTIA_TOLERANCE 1e-6

typedef struct sap_field {
  const char* name;
  size_t offset;  // of the member [bytes]
  int32_t count;  // of an array; 0: not an array
  sap_range range;
} sap_field;

// Rows of the table of SAP_DEFINE_CHECK_FIELDS.
#define SAP_FIELD_ROW(type, name, value, range) \
  {#name, offsetof(owner, name), 0, SAP_RANGE_##range},
#define SAP_FIELD_ARRAY_ROW(type, name, count, value, range) \
  {#name, offsetof(owner, name), count, SAP_RANGE_##range},
// Copies every field of a list from the struct at `from` to the one at `to`.
#define SAP_FIELD_COPY(type, name, ...) to->name = from->name;
#define SAP_FIELD_ARRAY_COPY(type, name, ...) memcpy(to->name, from->name, sizeof to->name);
// Defines copy_NAME, which does this for a list.
#define SAP_DEFINE_COPY(name, from_type, to_type, FIELDS)       \
  static void copy_##name(const from_type* from, to_type* to) { \
    FIELDS(SAP_FIELD_COPY, SAP_FIELD_ARRAY_COPY)                \
  }
// Initializers of every field of a list.
#define SAP_FIELD_DEFAULT(type, name, value, range) .name = value,
#define SAP_FIELD_ARRAY_DEFAULT(type, name, count, value, range) .name = SAP_BRACES value,
#define SAP_BRACES(...) \
  { __VA_ARGS__ }

// Checks the fields of a definition against their ranges; `prefix` comes before the names.
sap_status sap_check_fields(const sap_checker* checker, const char* prefix, const void* def,
                            const sap_field* fields, size_t nfields);
// Defines check_NAME_fields, which does this for a type with a list of rows.
#define SAP_DEFINE_CHECK_FIELDS(name, type, ...)                                          \
  static sap_status check_##name##_fields(const sap_checker* checker, const char* prefix, \
                                          const type* def) {                              \
    typedef type owner;                                                                   \
    static const sap_field rows[] = {__VA_ARGS__};                                        \
    return sap_check_fields(checker, prefix, def, rows, sizeof rows / sizeof *rows);      \
  }
