// SPDX-License-Identifier: BSD-3-Clause
#include "multibody/model/check.h"

#include <math.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>

#include "linalg/dense.h"

sap_status sap_check_fail(const sap_checker* checker, sap_status status, const char* format, ...) {
  char text[SAP_ERROR_MESSAGE_SIZE];
  va_list arguments;
  va_start(arguments, format);
  (void)vsnprintf(text, sizeof text, format, arguments);
  va_end(arguments);
  SAP_FAIL_IF(checker->name != NULL && checker->name[0] != '\0', checker->error, status,
              "%s '%s': %s", checker->kind, checker->name, text);
  return sap_fail(checker->error, status, "%s %d: %s", checker->kind, (int)checker->id, text);
}

sap_status sap_check_range(const sap_checker* checker, const char* name, sap_range range,
                           double value) {
  static const char* const bounds[] = {[SAP_RANGE_FINITE] = "finite",
                                       [SAP_RANGE_NOT_NEGATIVE] = ">= 0",
                                       [SAP_RANGE_POSITIVE] = "> 0",
                                       [SAP_RANGE_STIFFNESS] = "> 0 (or infinite)"};
  const bool known = range == SAP_RANGE_STIFFNESS ? !isnan(value) : isfinite(value);
  const bool within = value > 0.0 || (value == 0.0 && range == SAP_RANGE_NOT_NEGATIVE);
  const bool also_finite = range == SAP_RANGE_NOT_NEGATIVE || range == SAP_RANGE_POSITIVE;
  return known && (within || range == SAP_RANGE_FINITE)
             ? SAP_STATUS_OK
             : sap_check_fail(checker, known ? SAP_STATUS_ARGUMENT : SAP_STATUS_NOT_FINITE,
                              "%s = %g must be %s%s", name, value,
                              !known && also_finite ? "finite and " : "", bounds[range]);
}

sap_status sap_check_vector(const sap_checker* checker, const char* field, const double* values,
                            int count) {
  for (int i = 0; i < count; ++i) {
    SAP_RETURN_IF(!isfinite(values[i]),
                  sap_check_fail(checker, SAP_STATUS_NOT_FINITE, "%s[%d] = %g must be finite",
                                 field, i, values[i]));
  }
  return SAP_STATUS_OK;
}

sap_status sap_check_limits(const sap_checker* checker, const char* prefix, double lower,
                            double upper) {
  SAP_RETURN_IF(isnan(lower) || isnan(upper),
                sap_check_fail(checker, SAP_STATUS_NOT_FINITE,
                               "%slower = %g, %supper = %g must be numbers (-inf, inf: none)",
                               prefix, lower, prefix, upper));
  SAP_REFUSE_IF(!(lower <= upper) || lower == (double)INFINITY || upper == -(double)INFINITY,
                checker, "%slower = %g must be <= %supper = %g", prefix, lower, prefix, upper);
  return SAP_STATUS_OK;
}

sap_status sap_check_id(const sap_checker* checker, const char* field, int32_t value, int32_t first,
                        int32_t end) {
  if (value < first || value >= end) {
    SAP_REFUSE_IF(end <= first, checker, "%s = %d does not exist: there are none yet", field,
                  (int)value);
    return sap_check_fail(checker, SAP_STATUS_ARGUMENT, "%s = %d must be in [%d, %d]", field,
                          (int)value, (int)first, (int)(end - 1));
  }
  return SAP_STATUS_OK;
}

// Scales by the largest entry first, so that no entry under- or overflows.
sap_status sap_check_unit(const sap_checker* checker, const char* field, const double* in,
                          int count, double* out) {
  SAP_TRY(sap_check_vector(checker, field, in, count));
  double largest = 0.0, sum = 0.0;
  for (int i = 0; i < count; ++i) {
    largest = fmax(largest, fabs(in[i]));
  }
  SAP_REFUSE_IF(!(largest > 0.0), checker, "%s = 0 must not be zero", field);
  double scaled[4];
  for (int i = 0; i < count; ++i) {
    scaled[i] = in[i] / largest;
    sum += scaled[i] * scaled[i];
  }
  const double norm = sqrt(sum);
  for (int i = 0; i < count; ++i) {
    out[i] = scaled[i] / norm;
  }
  return SAP_STATUS_OK;
}

sap_status sap_check_inertia(const sap_checker* checker, const char* field, const double I[6],
                             bool any) {
  SAP_TRY(sap_check_vector(checker, field, I, 6));
  double largest = 0.0, scaled[6], l[3];
  for (int i = 0; i < 6; ++i) {
    largest = fmax(largest, fabs(I[i]));
  }
  if (largest == 0.0) {
    return SAP_STATUS_OK;
  }
  for (int i = 0; i < 6; ++i) {
    scaled[i] = I[i] / largest;  // no under- or overflow in the rotations
  }
  sap_symmetric3_eigen(scaled, l, NULL);
  const double slack = SAP_INERTIA_TOLERANCE * fabs(l[2]);
  for (int i = 0; i < 3; ++i) {
    l[i] *= largest;
  }
  SAP_RETURN_IF(!(l[0] >= -slack * largest),
                sap_check_fail(checker, SAP_STATUS_NOT_SPD,
                               "%s has principal moments %g, %g, %g: all must be >= 0", field, l[0],
                               l[1], l[2]));
  SAP_REFUSE_IF(!any && !(l[0] + l[1] - l[2] >= -slack * largest), checker,
                "%s has principal moments %g, %g, %g: the sum of any two must be at "
                "least the third",
                field, l[0], l[1], l[2]);
  return SAP_STATUS_OK;
}

sap_status sap_check_fields(const sap_checker* checker, const char* prefix, const void* def,
                            const sap_field* fields, size_t nfields) {
  SAP_EACH(const sap_field, f, fields, nfields) {
    const int32_t count = f->count > 0 ? f->count : 1;
    for (int32_t k = 0; k < count && f->range != SAP_RANGE_OWN; ++k) {
      double value;
      char name[64];
      memcpy(&value, (const char*)def + f->offset + (size_t)k * sizeof value, sizeof value);
      (void)snprintf(name, sizeof name, f->count > 0 ? "%s%s[%d]" : "%s%s", prefix, f->name,
                     (int)k);
      SAP_TRY(sap_check_range(checker, name, f->range, value));
    }
  }
  return SAP_STATUS_OK;
}
