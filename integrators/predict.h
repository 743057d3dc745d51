// SPDX-License-Identifier: BSD-3-Clause
// Predicts the velocity at the end of a step from the steps before: d = v - v0 = dt a changes
// little from step to step, and not at all in a body at rest.
//   D_0 = d,  D_k = D_{k-1} - (D_{k-1} one step before)      backward differences
//   d of the next step = D_0 + ... + D_k                     polynomial of degree k
// D_{k+1} is the error of degree k in this step: each velocity takes the degree of smallest error.
#pragma once

#include "core/archive.h"
#include "integrators/momentum_balance.h"

enum { SAP_PREDICTION_DEPTH = 4 };

typedef struct sap_prediction {
  int32_t nv;
  int32_t depth;                             // degrees to choose from, at most SAP_PREDICTION_DEPTH
  int32_t count;                             // steps remembered, at most depth
  sap_theta scheme;                          // of these steps
  double* difference[SAP_PREDICTION_DEPTH];  // D_k of the last step             (nv) each
  double* guess;                             // d of the next step               (nv)
  bool moved;                                // a difference may not be zero
} sap_prediction;

// Allocates in the pool; start from {0}. Each further degree doubles the effect of errors of the
// steps before on the guess: use depth 1 for velocities known to a tolerance only.
sap_status sap_prediction_create(int32_t nv, int32_t depth, sap_pool* pool,
                                 sap_prediction* prediction, sap_error* error);

// Sets v = v0 + guess. Without a guess for this scheme and dt sets v = v0 and returns false.
bool sap_prediction_guess(const sap_prediction* prediction, const sap_theta* scheme,
                          const double* v0, double* v);
// Makes the memory that of steps of dt: changes by the power order, 1 or 2, D_k by order + k - 1.
void sap_prediction_rescale(sap_prediction* prediction, int order, double dt);
// Remembers a step from v0 to v.
void sap_prediction_record(sap_prediction* prediction, const sap_theta* scheme, const double* v0,
                           const double* v);
sap_status sap_prediction_archive(sap_prediction* prediction, sap_archive* archive,
                                  sap_error* error);
