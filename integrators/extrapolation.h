// SPDX-License-Identifier: BSD-3-Clause
// Extrapolation of a step of the midpoint scheme, whose error has odd powers of h only:
//   x1: one step of h, x2: two of h/2
//   x = x2 + c,  c = (x2 - x1)/3 - DAMPING (1 - F)^2 (x2 - x1)/3            order 4
//   F = H^-1 M,  H = A + J' G J,  G = -d gamma/d vc
// with A of castro (15) and the blocks of x1. F is 1/(1 + (h w)^2/4) for a component that
// oscillates with the frequency w. Without the filter extrapolation multiplies those that the step
// does not resolve by up to 5/3; with it they are damped from h w = 2.3 on, and order 4 stays, with
// damping too.
//   The error is of order 5; c/h^3 of the steps before, at mid time, gives its size:
//   h^5 (c/h^3)[m0, m1, m2]
// With one step before h^4 (c/h^3)[m1, m2] bounds it, without any c itself.
#pragma once

#include "integrators/stepper.h"

enum { SAP_EXTRAPOLATION_DEPTH = 2 };

typedef struct sap_extrapolation {
  sap_stepper* stepper;
  sap_pool* pool;
  const double* lengths;  // of errors of velocities (nv) [m]
  double velocity_time;   // of those of rates [s]
  sap_tree_store M;
  double *z, *p, *Hp, *r;                        // of conjugate gradients (nv)
  double *vc, *gamma, *G;                        // of rows; matrices of blocks
  double *c, *work;                              // of positions and velocities (2 nv)
  int32_t known;                                 // steps before
  double middles[SAP_EXTRAPOLATION_DEPTH];       // of their time, oldest first [s]
  double* corrections[SAP_EXTRAPOLATION_DEPTH];  // their c/h^3 (2 nv)
} sap_extrapolation;

// Errors of an attempt.
typedef struct sap_extrapolated {
  double error;      // of x [m]
  int order;         // of the error in h, 3 to 5
  int32_t velocity;  // with the largest one
} sap_extrapolated;

// Allocates in the pool, also later; start from {0}.
sap_status sap_extrapolation_create(sap_stepper* stepper, sap_pool* pool, sap_extrapolation* e,
                                    sap_error* error);
// Compares the ends x2 and x1 of the stepper's last step, which starts at q0 and lasts h.
sap_status sap_extrapolation_compare(sap_extrapolation* e, const sap_state* x2, const sap_state* x1,
                                     sap_extrapolated* out, sap_error* error);
// Makes x1 the extrapolation, and its error part of `out`. Callers compare first.
sap_status sap_extrapolation_apply(sap_extrapolation* e, const sap_state* x0, const sap_state* x2,
                                   sap_state* x1, sap_extrapolated* out, sap_error* error);
// Remembers the last attempt, which was accepted and lasted h until t.
void sap_extrapolation_keep(sap_extrapolation* e, double t, double h);
sap_status sap_extrapolation_archive(sap_extrapolation* e, sap_archive* archive, sap_error* error);
