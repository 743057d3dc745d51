// SPDX-License-Identifier: BSD-3-Clause
// Staggered projections.             Kaufman, Sueda, James, Pai 2008; lelidec Alg. 7
//   normals   min 1/2 z' D z + q' z over normals >= 0, tangents held
//   friction  the same over |z_t| <= mu z_n, normals held
// in turn; where neither changes anything the NCP holds: g_n >= 0 complementary to z_n, and
// friction dissipates most for the normals that there are. With the pyramid's polygon in place of
// the disk the fixed point solves the LCP, the same as pgs-lcp's. fails: no theorem says that it
// converges; strong coupling of normals and tangents makes it cycle.
#include "solvers/ncp/staggered.h"

#include <float.h>
#include <math.h>
#include <string.h>

#include "solvers/dual/stage_qp.h"

enum { INNER = 500 };                // iterations of ADMM per stage
static const double LOOSEST = 1e-2;  // tolerance of the first stages
static const double TIGHTER = 1e-2;  // tolerance of a stage as a part of the error
static const double TIGHTEST = 1e-15;

// |z - P(z - g)|/|z| of impulses with normals and tangents projected one after the other; 0 at the
// solution of either model. Without a solution impulses grow for ever and this falls, so that what
// is left of q counts as well, as in sap_dual_check.
static double own_map(const sap_dual* d, int32_t sides) {
  double map_2 = 0.0, z_2 = DBL_MIN, scaled_2 = 0.0;
  for (int32_t k = 0; k < d->op.nitems; ++k) {
    const sap_delassus_item* item = &d->op.items[k];
    const double *z = d->z + item->first, *g = d->g + item->first;
    double x[SAP_CONE_ROWS_MAX] = {0.0}, out[SAP_CONE_ROWS_MAX] = {0.0}, sum = 0.0, size = 0.0;
    for (int32_t r = 0; r < item->nrows; ++r) {
      x[r] = z[r] - g[r];
    }
    if (item->is_cone) {
      sap_stage_project_tangents(item, sides, z[SAP_NORMAL_ROW], x, out);
      out[SAP_NORMAL_ROW] = fmax(x[SAP_NORMAL_ROW], 0.0);
    } else {
      sap_dual_project(item, x, out);
    }
    for (int32_t r = 0; r < item->nrows; ++r) {
      sum += (z[r] - out[r]) * (z[r] - out[r]);
      size += z[r] * z[r];
    }
    scaled_2 += sum;
    map_2 += item->scale * item->scale * sum;
    z_2 += item->scale * item->scale * size;
  }
  const double left = d->q_2 > 0.0 ? sqrt(d->options->relative_tolerance * scaled_2 / d->q_2) : 0.0;
  return fmax(left, sqrt(map_2 / z_2));
}

// Both stages' parts of the memory.
static sap_status begin(sap_dual* d, sap_stage_qp stages[2], double** D, sap_error* error) {
  const int64_t n = d->op.n;
  const int64_t first = sap_stage_qp_reals(stages[0].n), second = sap_stage_qp_reals(stages[1].n);
  int32_t* rows;
  sap_status status = sap_dual_reals(d, n * n + 2 * n + first + second, D, error);
  if (status == SAP_STATUS_OK) {
    status = sap_dual_integers(d, (int64_t)stages[0].n + stages[1].n, &rows, error);
  }
  if (status != SAP_STATUS_OK) {
    return status;
  }
  double* scratch = *D + n * n;
  double* reals = scratch + 2 * n;
  sap_delassus_dense(&d->op, *D);
  const double largest = sap_delassus_largest_eigenvalue(&d->op, scratch);
  status = sap_stage_qp_begin(&stages[0], d, *D, largest, rows, reals, error);
  return status == SAP_STATUS_OK ? sap_stage_qp_begin(&stages[1], d, *D, largest,
                                                      rows + stages[0].n, reals + first, error)
                                 : status;
}

static sap_status run(sap_dual* d, int32_t sides, sap_error* error) {
  sap_stage_qp stages[2] = {{.n = sap_stage_qp_rows(d, false)},
                            {.friction = true, .sides = sides, .n = sap_stage_qp_rows(d, true)}};
  double* D;
  sap_status status = begin(d, stages, &D, error);
  const double omega = d->options->over_relaxation;
  while (status == SAP_STATUS_OK) {
    bool done = false;
    sap_delassus_velocity(&d->op, d->z, d->v);
    sap_delassus_gradient(&d->op, d->v, d->z, d->g);
    d->change = own_map(d, sides);
    status =
        sap_dual_check(d, d->options->max_sweeps, d->iterations > 0 ? omega : 0.0, &done, error);
    if (status != SAP_STATUS_OK || done) {
      return status;
    }
    const double tolerance = fmax(TIGHTEST, fmin(LOOSEST, TIGHTER * d->change));
    memcpy(d->map, d->z, (size_t)d->op.n * sizeof(double));
    for (int k = 0; k < 2 && status == SAP_STATUS_OK; ++k) {
      status = sap_stage_qp_solve(&stages[k], d, D, tolerance, INNER, error);
    }
    for (int32_t i = 0; omega != 1.0 && i < d->op.n; ++i) {
      d->z[i] = d->map[i] + omega * (d->z[i] - d->map[i]);
    }
    d->iterations += 1;
  }
  return status;
}

static sap_status staggered(sap_dual* d, sap_error* error) {
  return run(d, 0, error);
}

static sap_status staggered_lcp(sap_dual* d, sap_error* error) {
  d->fixed_point = true;
  return run(d, d->options->friction_directions, error);
}

SAP_DUAL_ROW(sap_staggered_solve, true, staggered)
SAP_DUAL_ROW(sap_staggered_lcp_solve, true, staggered_lcp)
