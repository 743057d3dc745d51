// SPDX-License-Identifier: BSD-3-Clause
// cost: O(ncols) per row, 3 to 18 ncols^2 multiply-adds per active cone.
#include "solvers/primal/wide.h"

#include <math.h>
#include <string.h>

#include "problem/problem_data.h"
#include "solvers/primal/patch_vector.h"

void sap_wide_gather(sap_newton* n, const sap_block_data* block, int32_t index) {
  const double* R = n->problem->R + block->first_row;
  sap_wide_cone* wide = &n->wide[index];
  *wide = (sap_wide_cone){.cone = sap_cone_make(block->friction, R[0], R[SAP_NORMAL_ROW]),
                          .nrows = block->nrows,
                          .row = block->first_row};
  wide->cone.potential = sap_newton_gather_potential(n, block);
  memcpy(wide->v_hat, n->problem->v_hat_shifted + block->first_row,
         (size_t)block->nrows * sizeof *wide->v_hat);
}

double sap_wide_evaluate(sap_newton* n, const sap_patch* patch, const double* x, double* y) {
  const int32_t ncols = patch->ncols;
  const double* J = n->jacobian + patch->jacobian;
  double cost = 0.0;
  for (int32_t k = patch->first; k < patch->first + patch->count; ++k) {
    sap_wide_cone* wide = &n->wide[k];
    for (int32_t r = 0; r < wide->nrows; ++r) {
      wide->vc[r] = sap_row_dot(J + (size_t)r * (size_t)ncols, x, ncols);
      wide->u[r] = wide->v_hat[r] - wide->vc[r];
    }
    cost += sap_cone_n_impulse(&wide->cone, wide->nrows, wide->u, wide->gamma);
    const bool active = wide->gamma[SAP_NORMAL_ROW] != 0.0 || wide->cone.potential != NULL;
    for (int32_t r = 0; r < wide->nrows; ++r, J += ncols) {
      for (int32_t i = 0; active && i < ncols; ++i) {
        y[i] += J[i] * wide->gamma[r];
      }
    }
  }
  return cost;
}

double sap_wide_contact_cost(const sap_newton* n, const sap_patch* patch, const double* x) {
  const double* J = n->jacobian + patch->jacobian;
  double cost = 0.0;
  for (int32_t k = patch->first; k < patch->first + patch->count; ++k) {
    const sap_wide_cone* wide = &n->wide[k];
    double u[SAP_CONE_ROWS_MAX] = {0.0}, gamma[SAP_CONE_ROWS_MAX];
    for (int32_t r = 0; r < wide->nrows; ++r, J += patch->ncols) {
      u[r] = wide->v_hat[r] - sap_row_dot(J, x, patch->ncols);
    }
    cost += sap_cone_n_impulse(&wide->cone, wide->nrows, u, gamma);
  }
  return cost;
}

void sap_wide_apply(sap_newton* n, const sap_patch* patch, const double* x) {
  const double* J = n->jacobian + patch->jacobian;
  for (int32_t k = patch->first; k < patch->first + patch->count; ++k) {
    for (int32_t r = 0; r < n->wide[k].nrows; ++r, J += patch->ncols) {
      n->wide[k].d[r] = sap_row_dot(J, x, patch->ncols);
    }
  }
}

void sap_wide_add_target(const sap_newton* n, const sap_patch* patch, double* y) {
  const double* J = n->jacobian + patch->jacobian;
  for (int32_t k = patch->first; k < patch->first + patch->count; ++k) {
    for (int32_t r = 0; r < n->wide[k].nrows; ++r, J += patch->ncols) {
      const double q = n->wide[k].target[r];
      for (int32_t i = 0; q != 0.0 && i < patch->ncols; ++i) {
        y[i] += J[i] * q;
      }
    }
  }
}

// W = G J, then S += J' W on and below the diagonal.
static void add_square(const sap_wide_cone* wide, const double* J, int32_t ncols, double* S,
                       double* W) {
  const int32_t n = wide->nrows;
  memset(W, 0, (size_t)n * (size_t)ncols * sizeof *W);
  for (int32_t r = 0; r < n; ++r) {
    for (int32_t k = 0; k < n; ++k) {
      const double g = wide->G[k * n + r];
      for (int32_t i = 0; g != 0.0 && i < ncols; ++i) {
        W[r * ncols + i] += g * J[k * ncols + i];
      }
    }
  }
  for (int32_t j = 0; j < ncols; ++j) {
    double* Sj = S + (size_t)j * (size_t)ncols;
    for (int32_t r = 0; r < n; ++r) {
      const double w = W[r * ncols + j];
      for (int32_t i = j; i < ncols; ++i) {
        Sj[i] += J[r * ncols + i] * w;
      }
    }
  }
}

bool sap_wide_square(const sap_newton* n, const sap_patch* patch, double* S, double* W) {
  const size_t ncols = (size_t)patch->ncols;
  const double* J = n->jacobian + patch->jacobian;
  bool active = false;
  for (int32_t k = patch->first; k < patch->first + patch->count; ++k) {
    const sap_wide_cone* wide = &n->wide[k];
    if (wide->G[SAP_NORMAL_ROW * (wide->nrows + 1)] != 0.0 || wide->cone.potential != NULL) {
      if (!active) {
        memset(S, 0, ncols * ncols * sizeof *S);
        active = true;
      }
      add_square(wide, J, patch->ncols, S, W);
    }
    J += (size_t)wide->nrows * ncols;
  }
  return active;
}

double sap_wide_slope(const sap_wide_cone* wide, double alpha, double* curvature) {
  const int32_t n = wide->nrows;
  const sap_cone* cone = &wide->cone;
  const double* d = wide->d;
  double u[SAP_CONE_ROWS_MAX] = {0.0};
  for (int32_t i = 0; i < n; ++i) {
    u[i] = wide->u[i] - alpha * d[i];
  }
  const double ur2 = sap_cone_n_dot(n, u, u), ud = sap_cone_n_dot(n, u, d),
               dd = sap_cone_n_dot(n, d, d);
  const double un = u[SAP_NORMAL_ROW], dn = d[SAP_NORMAL_ROW];
  if (cone->potential != NULL) {
    return sap_potential_slope_in(cone->potential, &(sap_potential_line){ur2, un, ud, dd, dn},
                                  curvature);
  }
  switch (sap_cone_classify(cone, ur2, un)) {
    case SAP_CONE_STICTION:
      *curvature += dd * cone->inverse_Rt + dn * dn * cone->inverse_Rn;
      return ud * cone->inverse_Rt + un * dn * cone->inverse_Rn;
    case SAP_CONE_NONE:
      return 0.0;
    case SAP_CONE_SLIDING:
      break;
  }
  const double inverse = 1.0 / sqrt(ur2);
  const double along = ud * inverse;  // t^ . d
  const double gamma_n = sap_cone_sliding_normal(cone, ur2 * inverse, un);
  const double push = dn + cone->mu * along;
  *curvature += cone->k * push * push + cone->mu * gamma_n * inverse * (dd - along * along);
  return gamma_n * push;
}

double sap_wide_cost(const sap_wide_cone* wide, double alpha) {
  double u[SAP_CONE_ROWS_MAX] = {0.0}, gamma[SAP_CONE_ROWS_MAX];
  for (int32_t i = 0; i < wide->nrows; ++i) {
    u[i] = wide->u[i] - alpha * wide->d[i];
  }
  return sap_cone_n_impulse(&wide->cone, wide->nrows, u, gamma);
}
