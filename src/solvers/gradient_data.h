// SPDX-License-Identifier: BSD-3-Clause
// The parts of gradient.c: derivatives of one block (gradient_law.c) and products
// (gradient_products.c) of the factored problem.
#pragma once

#include <sapstep/gradient.h>

#include "contact/cone.h"
#include "core/memory.h"
#include "linalg/sparse_lu.h"
#include "problem/blocks.h"
#include "solvers/primal/newton.h"

// The change of a contact's impulse at fixed v, as of u = v_hat - vc and in itself:
//   dgamma = G du + t (mu dmu + lagged dn0)
//   du     = dv_hat - dJ v + by_R o dR,  and of the normal by_v_hat dv_hat_n + by_mu dmu more
// G in a form whose round-off acts like that of u, however stiff the contact is:
//   dgamma_n = nn (from_t t . du_t + du_n)
//   dgamma_t = t (to_t dgamma_n + along t . du_t) + across (I - t t') du_t
typedef struct sap_contact_slope {
  double t[SAP_CONE_ROWS_MAX];             // direction of u_t; 0 in the normal row
  double nn, from_t, to_t, along, across;  // from_t = to_t: G is symmetric
  double by_v_hat, by_mu;
  double mu, lagged;
} sap_contact_slope;

// Where the slopes of a block go.
typedef struct sap_slopes {
  double* G;      // of a row that is no contact's                                    (nrows)
  double* by_R;   // (nrows)
  int8_t* bound;  // of a box's row: -1 at the lower bound, 1 at the upper, else 0   (nrows)
  sap_contact_slope* contact;
} sap_slopes;

// Sets the slopes of a block at vc = J v and gamma, and counts its modes.
void sap_block_slopes(const sap_gradient_options* options, const sap_block* block, const double* vc,
                      const double* gamma, const sap_slopes* out, sap_gradient_report* counts);

// y = G x, or G' x, of a contact of n rows; y is not x.
void sap_contact_slope_multiply(const sap_contact_slope* contact, int32_t n, bool transposed,
                                const double* x, double* y);

struct sap_gradient {
  sap_gradient_options options;
  sap_pool pool;               // of the arrays below
  const sap_problem* problem;  // factored last; NULL: none
  int32_t* identity;           // 0, 1, ..: trees and blocks of the one island
  sap_newton newton;
  sap_cholesky* cholesky;
  sap_sparse_lu lu;
  double* upper;  // H's upper triangle, transposed; coulomb only
  // the solution
  double *v, *gamma, *vc;
  double* step;  // v - v*
  double *G, *by_R;
  int8_t* bound;
  sap_contact_slope* contacts;  // (nblocks)
  // of a product
  double *x, *b, *side, *momentum, *impulse;              // (nv)
  double *u, *c, *slope, *rest, *step_rows, *step_slope;  // (nrows)
};

// x = H^-1 x, or H'^-1 x.
void sap_gradient_solve(sap_gradient* gradient, double* x, bool transposed);
