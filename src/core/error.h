// SPDX-License-Identifier: BSD-3-Clause
// Fills the caller's error object and returns the status.
#pragma once

#include <sapstep/base.h>

// Functions that print are cold: the compiler moves blocks that end in such a call out of the way.
#if defined(__GNUC__)
#define SAP_PRINTF(format_index, first) __attribute__((cold, format(printf, format_index, first)))
#else
#define SAP_PRINTF(format_index, first)
#endif

// Returns `status`; writes it and the formatted line to `error` (NULL allowed).
sap_status sap_fail(sap_error* error, sap_status status, const char* format, ...) SAP_PRINTF(3, 4);

// Returns a failed call's status from the calling function. Only for functions that own nothing to
// release.
#define SAP_TRY(call)                   \
  do {                                  \
    const sap_status sap_try_ = (call); \
    if (sap_try_ != SAP_STATUS_OK) {    \
      return sap_try_;                  \
    }                                   \
  } while (0)

// The same for functions that own something: releases it by the statement `cleanup` first.
#define SAP_TRY_OR(call, cleanup)       \
  do {                                  \
    const sap_status sap_try_ = (call); \
    if (sap_try_ != SAP_STATUS_OK) {    \
      cleanup;                          \
      return sap_try_;                  \
    }                                   \
  } while (0)

// Makes a call unless one before it failed: status is then that of the first failure. For functions
// that release something at their end.
#define SAP_THEN(status, call)                                \
  do {                                                        \
    (status) = (status) == SAP_STATUS_OK ? (call) : (status); \
  } while (0)

// Returns sap_fail(error, status, format ...) from the calling function if the condition holds.
// Only for functions that own nothing to release.
#define SAP_FAIL_IF(condition, error, status, ...)     \
  do {                                                 \
    if (condition) {                                   \
      return sap_fail((error), (status), __VA_ARGS__); \
    }                                                  \
  } while (0)

// Returns the value of a call that makes an error of its own kind from the calling function if the
// condition holds: SAP_RETURN_IF(n < 1, sap_xml_syntax(node, name, error, "must be > 0"))
#define SAP_RETURN_IF(condition, ...) \
  do {                                \
    if (condition) {                  \
      return __VA_ARGS__;             \
    }                                 \
  } while (0)

// Returns ARGUMENT from the calling function if one of the pointers is NULL, with the message
// "sap_solver_solve: problem is NULL": SAP_NOT_NULL(error, solver, problem, solution)
#define SAP_NOT_NULL(error, ...)                                                                  \
  SAP_TRY(sap_check_pointers((error), __func__, #__VA_ARGS__, (const void* const[]){__VA_ARGS__}, \
                             sizeof((const void* const[]){__VA_ARGS__}) / sizeof(void*)))
// Fails with ARGUMENT: `index` counts the names of a list "a, b, c".
sap_status sap_fail_null(sap_error* error, const char* function, const char* names, size_t index);
// Inline, because it is on the path of each contact.
static inline sap_status sap_check_pointers(sap_error* error, const char* function,
                                            const char* names, const void* const* pointers,
                                            size_t count) {
  for (size_t i = 0; i < count; ++i) {
    if (pointers[i] == NULL) {
      return sap_fail_null(error, function, names, i);
    }
  }
  return SAP_STATUS_OK;
}

// Checks numbers. fails: ARGUMENT if x is NULL and count > 0; NOT_FINITE with "name[i] = x must be
// finite".
sap_status sap_check_numbers(const char* name, const double* x, int32_t count, sap_error* error);

// Returns the text of an enumerator from its list X(name, text), `unknown` for other numbers.
#define SAP_TEXT_OF(LIST, count, value, unknown)                      \
  ((int)(value) >= 0 && (int)(value) < (int)(count)                   \
       ? ((const char* const[]){LIST(SAP_TEXT_OF_ROW)})[(int)(value)] \
       : (unknown))
#define SAP_TEXT_OF_ROW(name, text) text,

// Puts "prefix: " before the message of a filled error.
void sap_error_prefix(sap_error* error, const char* format, ...) SAP_PRINTF(2, 3);

// Loops over the elements of an array, which may be NULL if it has none; x is a pointer:
//   SAP_EACH(const sap_contact, c, contacts, count) { ... }
#define SAP_EACH(type, x, array, count) \
  for (type* x = (array), *x##_end = (count) > 0 ? x + (count) : x; x != x##_end; ++x)
