// SPDX-License-Identifier: BSD-3-Clause
// Checks of a contact pair's physical parameters; the functions on materials are in
// sapstep/contact.h.
#pragma once

#include <sapstep/contact.h>

#include <float.h>

#include "core/error.h"

#define SAP_STICTION_TOLERANCE 1e-4  // v_s where a material gives none [m/s]

// Fails with ARGUMENT or NOT_FINITE, naming the number that is not finite and > 0 (positive) or >=
// 0.
sap_status sap_contact_fail_number(const char* name, double value, bool positive, sap_error* error);
// Fails unless `value` is finite and > 0 (positive) or >= 0. Hot path: called for every contact.
static inline sap_status sap_contact_check_number(const char* name, double value, bool positive,
                                                  sap_error* error) {
  return value <= DBL_MAX && (positive ? value > 0.0 : value >= 0.0)
             ? SAP_STATUS_OK
             : sap_contact_fail_number(name, value, positive, error);
}
// Fails with ARGUMENT or NOT_FINITE, naming the first field that is out of range.
sap_status sap_material_check(const sap_material* material, sap_error* error);
// sap_material_combine without its checks.
void sap_material_mix(const sap_material* a, const sap_material* b, sap_friction_rule rule,
                      sap_material* out);
