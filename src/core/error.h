// SPDX-License-Identifier: BSD-3-Clause
// Fills the caller's error object and returns the status.
#ifndef SAP_CORE_ERROR_H
#define SAP_CORE_ERROR_H

#include <sapstep/base.h>

#if defined(__GNUC__)
#define SAP_PRINTF(format_index, first) __attribute__((format(printf, format_index, first)))
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

// Checks numbers. fails: ARGUMENT if x is NULL and count > 0; NOT_FINITE with "name[i] = x must be
// finite".
sap_status sap_check_numbers(const char* name, const double* x, int32_t count, sap_error* error);

// Puts "prefix: " before the message of a filled error.
void sap_error_prefix(sap_error* error, const char* format, ...) SAP_PRINTF(2, 3);

#endif
