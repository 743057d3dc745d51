// SPDX-License-Identifier: BSD-3-Clause
// First guess of a step's velocity, with or without its constraints, from what it was in the steps
// before: v - v0 = dt a changes little from step to step, not at all in a body at rest.
#ifndef SAP_INTEGRATORS_PREDICTION_H
#define SAP_INTEGRATORS_PREDICTION_H

#include "core/archive.h"
#include "integrators/balance.h"

enum { SAP_PREDICTION_DEPTH = 4 };

typedef struct sap_prediction {
  sap_threads* threads;  // of the caller's, NULL: one
  int32_t nv;
  int32_t depth;  // degrees to choose from, at most SAP_PREDICTION_DEPTH
  int32_t count;  // of the steps remembered, at most that
  sap_theta scheme;
  // Backward differences of d = v - v0 at the last step, d itself first; (nv) each.
  double* difference[SAP_PREDICTION_DEPTH];
  double* guess;  // of the next step's d                                   (nv)
} sap_prediction;

// Start from {0}. Every degree more doubles what errors of the steps before do to the guess: depth
// 1 is right for velocities known to a tolerance only.
sap_status sap_prediction_create(int32_t nv, int32_t depth, sap_prediction* prediction,
                                 sap_error* error);
void sap_prediction_clear(sap_prediction* prediction);

// v = v0 + guess; v = v0, and false, when there is none for this scheme and dt.
bool sap_prediction_guess(const sap_prediction* prediction, const sap_theta* scheme,
                          const double* v0, double* v);
// A step was made from v0 to v.
void sap_prediction_record(sap_prediction* prediction, const sap_theta* scheme, const double* v0,
                           const double* v);
sap_status sap_prediction_archive(sap_prediction* prediction, sap_archive* archive,
                                  sap_error* error);

#endif
