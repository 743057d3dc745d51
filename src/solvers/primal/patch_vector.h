// SPDX-License-Identifier: BSD-3-Clause
// A patch's part of a vector over the island's velocities, three rows of a cone in arrays over the
// cones, and products of fixed summation order.
#pragma once

#include <string.h>

#include "solvers/primal/newton.h"

enum { SAP_ONE_FREE_BODY = 6 };  // columns of a patch on one free body: loops of fixed length

// Returns the next multiple of four.
static inline int32_t sap_patch_fill_up(int32_t ncols) {
  return (ncols + 3) / 4 * 4;
}

// Copies the patch's part of x (nv) to `to` (ncols); zero in columns beyond its velocities.
static inline void sap_patch_gather(const sap_newton* n, const sap_patch* patch, const double* x,
                                    double* to) {
  const double* end = to + patch->ncols;
  for (int32_t i = 0; patch->nruns == 0 && i < patch->ntrees; ++i, to += SAP_ONE_FREE_BODY) {
    memcpy(to, x + patch->bodies[i], SAP_ONE_FREE_BODY * sizeof *to);
  }
  const sap_run* run = n->runs + patch->first_run;
  for (int32_t r = 0; r < patch->nruns; ++r, ++run) {
    if (run->count == 1) {
      *to = x[run->velocity];
    } else {
      memcpy(to, x + run->velocity, (size_t)run->count * sizeof *to);
    }
    to += run->count;
  }
  while (to < end) {
    *to++ = 0.0;
  }
}

// y += x
static inline void sap_patch_add(int32_t n, const double* restrict x, double* restrict y) {
  if (n == SAP_ONE_FREE_BODY) {
    for (int32_t i = 0; i < SAP_ONE_FREE_BODY; ++i) {
      y[i] += x[i];
    }
    return;
  }
  for (int32_t i = 0; i < n; ++i) {
    y[i] += x[i];
  }
}

// Adds `from` (ncols) to the patch's part of x (nv), without columns beyond its velocities. The
// patch has runs.
static inline void sap_patch_scatter_add(const sap_newton* n, const sap_patch* patch,
                                         const double* from, double* x) {
  const sap_run* run = n->runs + patch->first_run;
  for (int32_t r = 0; r < patch->nruns; ++r, ++run) {
    sap_patch_add(run->count, from, x + run->velocity);
    from += run->count;
  }
}

// Three rows t1, t2, n of cone c in arrays of nc cones each.
typedef struct sap_triple {
  double t0, t1, n;
} sap_triple;

static inline sap_triple sap_triple_load(const double* rows, size_t nc, size_t c) {
  return (sap_triple){rows[c], rows[nc + c], rows[2 * nc + c]};
}

static inline void sap_triple_store(double* rows, size_t nc, size_t c, sap_triple x) {
  rows[c] = x.t0;
  rows[nc + c] = x.t1;
  rows[2 * nc + c] = x.n;
}

static inline double sap_row_dot(const double* row, const double* x, int32_t ncols) {
  double s0 = 0.0, s1 = 0.0;
  int32_t i = 0;
  for (; i + 1 < ncols; i += 2) {
    s0 += row[i] * x[i];
    s1 += row[i + 1] * x[i + 1];
  }
  if (i < ncols) {
    s0 += row[i] * x[i];
  }
  return s0 + s1;
}
