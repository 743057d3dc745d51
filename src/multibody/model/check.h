// SPDX-License-Identifier: BSD-3-Clause
// Checks of one definition. Every message reads "joint 'elbow': damping = -1 must be ...".
#ifndef SAP_MULTIBODY_MODEL_CHECK_H
#define SAP_MULTIBODY_MODEL_CHECK_H

#include "core/error.h"

typedef struct sap_checker {
  const char* kind;  // "joint"
  const char* name;  // NULL or "": the id is told
  int32_t id;
  sap_error* error;
} sap_checker;

// Fails with "kind 'name': " before the formatted text.
sap_status sap_check_fail(const sap_checker* checker, sap_status status, const char* format, ...)
    SAP_PRINTF(3, 4);

// NOT_FINITE for NaN and infinity.
sap_status sap_check_finite(const sap_checker* checker, const char* field, double value);
sap_status sap_check_vector(const sap_checker* checker, const char* field, const double* values,
                            int count);
sap_status sap_check_nonnegative(const sap_checker* checker, const char* field, double value);
sap_status sap_check_positive(const sap_checker* checker, const char* field, double value);
// > 0, infinity allowed.
sap_status sap_check_stiffness(const sap_checker* checker, const char* field, double value);
// lower <= upper, each may be infinite outwards. `what` = "", "control_", "force_".
sap_status sap_check_limits(const sap_checker* checker, const char* what, double lower,
                            double upper);
sap_status sap_check_id(const sap_checker* checker, const char* field, int32_t value, int32_t first,
                        int32_t end);
// Finite and not zero; out is the unit one.
sap_status sap_check_quaternion(const sap_checker* checker, const char* field, const double in[4],
                                double out[4]);
sap_status sap_check_axis(const sap_checker* checker, const char* field, const double in[3],
                          double out[3]);
// Symmetric 3x3 {xx yy zz xy xz yz}: principal moments >= 0 and none larger than the sum of the
// others unless `any`, both up to SAP_INERTIA_TOLERANCE times the largest.
sap_status sap_check_inertia(const sap_checker* checker, const char* field, const double I[6],
                             bool any);

// Relative; files give inertias with few digits.
#define SAP_INERTIA_TOLERANCE 1e-6

#endif
