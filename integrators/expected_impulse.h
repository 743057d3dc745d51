// SPDX-License-Identifier: BSD-3-Clause
// What the constraints are expected to give in the next step, p = J' gamma: what they gave in the
// last one, tree by tree, where that has served better than nothing. The free motion is linearised
// where m(v) = p, so near the velocity that the step ends with.
#ifndef SAP_INTEGRATORS_EXPECTED_IMPULSE_H
#define SAP_INTEGRATORS_EXPECTED_IMPULSE_H

#include "core/archive.h"
#include "core/error.h"
#include "integrators/balance.h"

typedef struct sap_expected_impulse {
  const sap_system* system;
  sap_theta scheme;  // of the step that `last` was made in
  double* last;      // p of the last step, zero at first          (nv)
  double* guess;     // of the next one                            (nv)
  bool any;          // is there one that is not zero?
} sap_expected_impulse;

// Start from {0}.
sap_status sap_expected_impulse_create(const sap_system* system, sap_expected_impulse* expected,
                                       sap_error* error);
void sap_expected_impulse_clear(sap_expected_impulse* expected);

// The guess for this scheme and dt; NULL when all of it is zero.
const double* sap_expected_impulse_guess(const sap_expected_impulse* expected,
                                         const sap_theta* scheme);
// A step was made in which the constraints gave p; weight: diag(A). Both (nv).
void sap_expected_impulse_record(sap_expected_impulse* expected, const sap_theta* scheme,
                                 const double* p, const double* weight);
sap_status sap_expected_impulse_archive(sap_expected_impulse* expected, sap_archive* archive,
                                        sap_error* error);

#endif
