// SPDX-License-Identifier: BSD-3-Clause
// Metrics of the semismooth law (dual.c), and the duals to begin with.
// rho is as large as an impulse may change z without G losing its sign, 1/max(R), but not so large
// that z forgets gamma: 1/w, w the Delassus scale, estimated from the diagonal of A.
#include <math.h>
#include <string.h>

#include "solvers/primal/patch_vector.h"
#include "solvers/primal/triple.h"
#include "solvers/primal/wide.h"

// rho times the mean of W_ii's diagonal, at most. Measured: 2 to 20 differ little over piles.
static const double IMPULSE_WEIGHT = 7.0;
// Duals are far from the law when it asks for others by this part of them. Measured over piles:
// less costs sweeps at rest that spare nothing, more costs iterations.
static const double FAR_DUAL = 0.1;

// J M^-1 J' of a row. Sums of their own, which do not wait for one another.
static inline double row_weight(const double* restrict J, const double* restrict inverse_mass,
                                int32_t ncols) {
  double even = 0.0, odd = 0.0;
  int32_t i = 0;
  for (; i + 2 <= ncols; i += 2) {
    even += J[i] * J[i] * inverse_mass[i];
    odd += J[i + 1] * J[i + 1] * inverse_mass[i + 1];
  }
  return i < ncols ? even + odd + J[i] * J[i] * inverse_mass[i] : even + odd;
}

static inline double three_weights(const double* J, const double* inverse_mass, int32_t ncols) {
  return row_weight(J, inverse_mass, ncols) + row_weight(J + ncols, inverse_mass, ncols) +
         row_weight(J + 2 * ncols, inverse_mass, ncols);
}

// Trace of W_ii, W estimated from the diagonal of A. Free bodies have loops of fixed length.
static double trace_of(const double* J, const double* inverse_mass, int32_t rows, int32_t ncols) {
  if (rows == 3) {
    return ncols == SAP_TWO_FREE_BODIES ? three_weights(J, inverse_mass, SAP_TWO_FREE_BODIES)
           : ncols == SAP_ONE_FREE_BODY ? three_weights(J, inverse_mass, SAP_ONE_FREE_BODY)
                                        : three_weights(J, inverse_mass, ncols);
  }
  double trace = 0.0;
  for (int32_t r = 0; r < rows; ++r, J += ncols) {
    trace += row_weight(J, inverse_mass, ncols);
  }
  return trace;
}

// 1/max(R) and IMPULSE_WEIGHT/trace W_ii, whichever is less.
static double choose_rho(const sap_newton* n, const sap_patch* patch, const double* J, int32_t rows,
                         double R) {
  const double trace = trace_of(J, n->scratch, rows, patch->ncols);
  const double by_w = IMPULSE_WEIGHT * rows / trace;  // infinite or NaN where J is zero
  return by_w * R < 1.0 ? by_w : 1.0 / R;
}

// Of the rows that rho acts on.
static double largest_R(const sap_cone* cone) {
  if (sap_cone_is_lagged(cone) && cone->potential->limit > 0.0) {
    return cone->potential->slip_speed / cone->potential->limit;
  }
  const bool tangents = cone->inverse_Rt > 0.0 && cone->inverse_Rt < cone->inverse_Rn;
  return 1.0 / (tangents ? cone->inverse_Rt : cone->inverse_Rn);
}

void sap_newton_choose_metrics(sap_newton* n) {
  double* inverse_mass = n->product;
  for (int32_t i = 0; i < n->nv; ++i) {
    inverse_mass[i] = 1.0 / n->mass[i];
  }
  for (int32_t p = 0; p < n->npatches; ++p) {
    const sap_patch* patch = &n->patches[p];
    const double* J = n->jacobian + patch->jacobian;
    sap_patch_gather(n, patch, inverse_mass, n->scratch);
    for (int32_t k = patch->first; k < patch->first + patch->count; ++k) {
      int32_t rows = 1;
      if (patch->kind == SAP_PATCH_CONES) {
        rows = 3;
        n->cone_rho[k] = choose_rho(n, patch, J, rows, largest_R(&n->cones[k]));
      } else if (patch->kind == SAP_PATCH_WIDE) {
        rows = n->wide[k].nrows;
        n->wide[k].rho = choose_rho(n, patch, J, rows, largest_R(&n->wide[k].cone));
      } else {
        n->interval_rho[k] = choose_rho(n, patch, J, rows, n->intervals[k].R);
      }
      J += (size_t)rows * (size_t)patch->ncols;
    }
  }
}

// |P(z) - gamma|^2 of a cone.
static double law_error_2(const sap_cone* cone, double rho, sap_triple u, sap_triple dual) {
  const sap_cone unit = sap_cone_make(cone->mu, 1.0, 1.0);
  const double Rn = 1.0 / cone->inverse_Rn;
  const double Rt = cone->inverse_Rt > 0.0 ? 1.0 / cone->inverse_Rt : Rn;
  const double z[3] = {dual.t0 + rho * (u.t0 - Rt * dual.t0), dual.t1 + rho * (u.t1 - Rt * dual.t1),
                       dual.n + rho * (u.n - Rn * dual.n)};
  double next[3];
  (void)sap_cone_impulse(&unit, z, next);
  const double d[3] = {next[0] - dual.t0, next[1] - dual.t1, next[2] - dual.n};
  return d[0] * d[0] + d[1] * d[1] + d[2] * d[2];
}

bool sap_newton_is_dual_far(const sap_newton* n) {
  const size_t nc = (size_t)n->ncones;
  double size_2 = 0.0, error_2 = 0.0;
  for (size_t c = 0; c < nc; ++c) {
    if (isnan(n->known[n->cone_row[c]])) {
      if (n->cone_gamma[2 * nc + c] > 0.0) {
        return true;
      }
    } else {
      const sap_triple dual = sap_triple_load(n->cone_dual, nc, c);
      error_2 += law_error_2(&n->cones[c], n->cone_rho[c], sap_triple_load(n->cone_u, nc, c), dual);
      size_2 += dual.t0 * dual.t0 + dual.t1 * dual.t1 + dual.n * dual.n;
    }
  }
  return error_2 > FAR_DUAL * FAR_DUAL * size_2;
}

void sap_newton_start_dual(sap_newton* n, bool recall) {
  const size_t nc = (size_t)n->ncones;
  memcpy(n->cone_dual, n->cone_gamma, 3 * nc * sizeof(double));
  memcpy(n->interval_dual, n->interval_gamma, (size_t)n->nintervals * sizeof(double));
  for (size_t c = 0; recall && c < nc; ++c) {
    const double* gamma = n->known + n->cone_row[c];
    if (!isnan(gamma[0])) {
      sap_triple_store(n->cone_dual, nc, c, (sap_triple){gamma[0], gamma[1], gamma[2]});
    }
  }
  sap_wide_start_dual(n, recall);
  for (int32_t k = 0; recall && k < n->nintervals; ++k) {
    const double gamma = n->known[n->interval_row[k]];
    n->interval_dual[k] = isnan(gamma) ? n->interval_dual[k] : gamma;
  }
}
