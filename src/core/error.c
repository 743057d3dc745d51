// SPDX-License-Identifier: BSD-3-Clause
#include "core/error.h"

#include <math.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>

const char* sap_status_text(sap_status status) {
  return SAP_TEXT_OF(SAP_STATUS_LIST, SAP_STATUS_COUNT, status, "unknown status");
}

const char* sap_version(void) {
  return SAPSTEP_VERSION;
}

sap_status sap_fail(sap_error* error, sap_status status, const char* format, ...) {
  if (error != NULL) {
    va_list arguments;
    va_start(arguments, format);
    error->status = status;
    (void)vsnprintf(error->message, sizeof error->message, format, arguments);
    va_end(arguments);
  }
  return status;
}

sap_status sap_fail_null(sap_error* error, const char* function, const char* names, size_t index) {
  for (; index > 0; --index) {
    names += strcspn(names, ",") + 2;
  }
  return sap_fail(error, SAP_STATUS_ARGUMENT, "%s: %.*s is NULL", function,
                  (int)strcspn(names, ","), names);
}

sap_status sap_check_numbers(const char* name, const double* x, int32_t count, sap_error* error) {
  SAP_FAIL_IF(x == NULL && count > 0, error, SAP_STATUS_ARGUMENT, "%s is NULL", name);
  for (int32_t i = 0; i < count; ++i) {
    SAP_FAIL_IF(!isfinite(x[i]), error, SAP_STATUS_NOT_FINITE, "%s[%d] = %g must be finite", name,
                i, x[i]);
  }
  return SAP_STATUS_OK;
}

void sap_error_prefix(sap_error* error, const char* format, ...) {
  if (error == NULL) {
    return;
  }
  char prefix[SAP_ERROR_MESSAGE_SIZE];
  va_list arguments;
  va_start(arguments, format);
  (void)vsnprintf(prefix, sizeof prefix, format, arguments);
  va_end(arguments);
  const size_t room = sizeof error->message;
  const size_t length = strlen(prefix);
  if (length + 3 > room) {
    return;
  }
  size_t old = strlen(error->message);
  if (old > room - length - 3) {
    old = room - length - 3;
  }
  memmove(error->message + length + 2, error->message, old);
  error->message[length + 2 + old] = '\0';
  memcpy(error->message, prefix, length);
  memcpy(error->message + length, ": ", 2);
}
