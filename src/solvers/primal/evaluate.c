// SPDX-License-Identifier: BSD-3-Clause
// Cost, impulses and gradient at v, and products with J and A.                     castro (24)
//   l = 1/2 (v - v*)' A (v - v*) + sum l_i,  grad l = A (v - v*) - J' gamma
// cost: one pass over J, one over A.
#include <math.h>
#include <string.h>

#include "linalg/square.h"
#include "problem/problem_data.h"
#include "solvers/primal/newton.h"
#include "solvers/primal/patch_vector.h"

void sap_newton_add_momentum(const sap_newton* n, const double* x, double* y) {
  const sap_problem* p = n->problem;
  const sap_square_kernels* square = sap_square_kernels_get(0);
  for (int32_t t = 0; t < n->ntrees; ++t) {
    const double* A = p->diagonal + p->diagonal_start[n->trees[t]];
    const int32_t at = n->start[t];
    square->add(n->size[t], A, x + at, y + at);
  }
  for (int32_t c = 0; c < n->ncouplings; ++c) {
    const sap_coupling* coupling = &p->couplings[n->couplings[c]];
    const int32_t a = n->local[coupling->tree_a], b = n->local[coupling->tree_b];
    const double* C = p->coupling_values + coupling->values;
    const double *xa = x + n->start[a], *xb = x + n->start[b];
    double *ya = y + n->start[a], *yb = y + n->start[b];
    for (int32_t j = 0; j < n->size[b]; ++j, C += n->size[a]) {
      for (int32_t i = 0; i < n->size[a]; ++i) {
        ya[i] += C[i] * xb[j];
      }
      yb[j] += sap_row_dot(C, xa, n->size[a]);
    }
  }
}

static sap_patch_rows rows_of(const sap_newton* n, const sap_patch* patch) {
  return (sap_patch_rows){n->jacobian + patch->jacobian, patch->count, patch->ncols,
                          (size_t)n->ncones};
}

// y = J x of the cones of 3 rows.
static void multiply_cones(const sap_newton* n, const double* x, double* y) {
  for (int32_t q = 0; q < n->ncone_patches; ++q) {
    const sap_patch* patch = &n->patches[q];
    const sap_patch_rows rows = rows_of(n, patch);
    if (patch->bodies[0] >= 0) {
      const double* b = patch->bodies[1] >= 0 ? x + patch->bodies[1] : NULL;
      n->kernels->multiply_bodies(&rows, x + patch->bodies[0], b, y + patch->first);
      continue;
    }
    sap_patch_gather(n, patch, x, n->scratch);
    n->kernels->multiply(&rows, n->scratch, y + patch->first);
  }
}

// x += J' y of the cones of 3 rows.
static void add_transposed(const sap_newton* n, const double* y, double* x) {
  for (int32_t q = 0; q < n->ncone_patches; ++q) {
    const sap_patch* patch = &n->patches[q];
    const sap_patch_rows rows = rows_of(n, patch);
    if (patch->bodies[0] >= 0) {
      double* b = patch->bodies[1] >= 0 ? x + patch->bodies[1] : NULL;
      n->kernels->add_to_bodies(&rows, y + patch->first, x + patch->bodies[0], b);
      continue;
    }
    n->kernels->multiply_transposed(&rows, y + patch->first, n->scratch);
    sap_patch_scatter_add(n, patch, n->scratch, x);
  }
}

// Computes u and gamma of the cones of 3 rows at the velocities vc; returns their cost.
static double evaluate_cones(const sap_newton* n, const double* vc, double* u, double* gamma) {
  const int32_t nc = n->ncones;
  const sap_cone_rows cones = {nc, n->cone_law};
  n->cone_kernels->impulses(&cones, n->cone_v_hat, vc, u, gamma, n->cone_parts);
  for (int32_t c = 0; n->npotentials > 0 && c < nc; ++c) {
    if (n->cones[c].potential != NULL) {
      double law[3];
      n->cone_parts[c] =
          sap_cone_impulse(&n->cones[c], (double[]){u[c], u[nc + c], u[2 * nc + c]}, law);
      for (int32_t r = 0; r < 3; ++r) {
        gamma[r * nc + c] = law[r];
      }
    }
  }
  return n->cone_kernels->sum(nc, n->cone_parts);
}

static double interval_cost(const sap_interval* interval, double u, double gamma) {
  return gamma * (u - 0.5 * interval->R * gamma);
}

static double evaluate_intervals(sap_newton* n, const sap_patch* patch, const double* x, double* y,
                                 double* scale) {
  const int32_t ncols = patch->ncols;
  const double* J = n->jacobian + patch->jacobian;
  double cost = 0.0;
  for (int32_t k = patch->first; k < patch->first + patch->count; ++k, J += ncols) {
    const sap_interval* interval = &n->intervals[k];
    const double vc = sap_row_dot(J, x, ncols);
    const double u = n->interval_v_hat[k] - vc;
    const double gamma =
        sap_interval_impulse(u, interval->inverse_R, interval->lower, interval->upper);
    n->interval_vc[k] = vc;
    n->interval_u[k] = u;
    n->interval_gamma[k] = gamma;
    const double part = interval_cost(interval, u, gamma);
    cost += part;
    *scale += fabs(part);
    if (gamma != 0.0) {
      for (int32_t i = 0; i < ncols; ++i) {
        y[i] += J[i] * gamma;
      }
    }
  }
  return cost;
}

// Evaluates the cones of n rows of a patch at x (ncols): y += J' gamma; returns the cost.
static double evaluate_cones_n(sap_newton* n, const sap_patch* patch, const double* x, double* y) {
  const int32_t ncols = patch->ncols;
  const double* J = n->jacobian + patch->jacobian;
  double cost = 0.0;
  for (int32_t k = patch->first; k < patch->first + patch->count; ++k) {
    sap_cone_n* cone_n = &n->cones_n[k];
    for (int32_t r = 0; r < cone_n->nrows; ++r) {
      cone_n->vc[r] = sap_row_dot(J + (size_t)r * (size_t)ncols, x, ncols);
      cone_n->u[r] = cone_n->v_hat[r] - cone_n->vc[r];
    }
    cost += sap_cone_n_impulse(&cone_n->cone, cone_n->nrows, cone_n->u, cone_n->gamma);
    const bool active = cone_n->gamma[SAP_NORMAL_ROW] != 0.0 || cone_n->cone.potential != NULL;
    for (int32_t r = 0; r < cone_n->nrows; ++r, J += ncols) {
      for (int32_t i = 0; active && i < ncols; ++i) {
        y[i] += J[i] * cone_n->gamma[r];
      }
    }
  }
  return cost;
}

// Returns the cost alone.
static double cost_of_cones_n(const sap_newton* n, const sap_patch* patch, const double* x) {
  const double* J = n->jacobian + patch->jacobian;
  double cost = 0.0;
  for (int32_t k = patch->first; k < patch->first + patch->count; ++k) {
    const sap_cone_n* cone_n = &n->cones_n[k];
    double u[SAP_CONE_ROWS_MAX] = {0.0}, gamma[SAP_CONE_ROWS_MAX];
    for (int32_t r = 0; r < cone_n->nrows; ++r, J += patch->ncols) {
      u[r] = cone_n->v_hat[r] - sap_row_dot(J, x, patch->ncols);
    }
    cost += sap_cone_n_impulse(&cone_n->cone, cone_n->nrows, u, gamma);
  }
  return cost;
}

// d = J x
static void apply_cones_n(sap_newton* n, const sap_patch* patch, const double* x) {
  const double* J = n->jacobian + patch->jacobian;
  for (int32_t k = patch->first; k < patch->first + patch->count; ++k) {
    for (int32_t r = 0; r < n->cones_n[k].nrows; ++r, J += patch->ncols) {
      n->cones_n[k].d[r] = sap_row_dot(J, x, patch->ncols);
    }
  }
}

// y += J' target
static void add_target_of_cones_n(const sap_newton* n, const sap_patch* patch, double* y) {
  const double* J = n->jacobian + patch->jacobian;
  for (int32_t k = patch->first; k < patch->first + patch->count; ++k) {
    for (int32_t r = 0; r < n->cones_n[k].nrows; ++r, J += patch->ncols) {
      const double q = n->cones_n[k].target[r];
      for (int32_t i = 0; q != 0.0 && i < patch->ncols; ++i) {
        y[i] += J[i] * q;
      }
    }
  }
}

// Returns the cost of all blocks; sets impulse = J' gamma.
static double evaluate_patches(sap_newton* n, double* scale) {
  double* x = n->scratch;
  double* y = n->scratch + n->largest_patch;
  memset(n->impulse, 0, (size_t)n->nv * sizeof(double));
  multiply_cones(n, n->v, n->cone_vc);
  double cost = evaluate_cones(n, n->cone_vc, n->cone_u, n->cone_gamma);
  *scale += cost;
  add_transposed(n, n->cone_gamma, n->impulse);
  for (int32_t q = n->ncone_patches; q < n->npatches; ++q) {
    const sap_patch* patch = &n->patches[q];
    sap_patch_gather(n, patch, n->v, x);
    memset(y, 0, (size_t)patch->ncols * sizeof(double));
    if (patch->kind == SAP_PATCH_INTERVALS) {
      cost += evaluate_intervals(n, patch, x, y, scale);
    } else {
      const double part = evaluate_cones_n(n, patch, x, y);
      cost += part;
      *scale += part;
    }
    sap_patch_scatter_add(n, patch, y, n->impulse);
  }
  return cost;
}

void sap_newton_evaluate(sap_newton* n) {
  double scale = 0.0;
  const double contact_cost = evaluate_patches(n, &scale);
  double* step = n->product;  // v - v* (A dv is not needed here)
  for (int32_t i = 0; i < n->nv; ++i) {
    step[i] = n->v[i] - n->v_star[i];
  }
  memset(n->momentum, 0, (size_t)n->nv * sizeof(double));
  sap_newton_add_momentum(n, step, n->momentum);
  double energy = 0.0, gradient_2 = 0.0, momentum_2 = 0.0, impulse_2 = 0.0, speed_2 = 0.0;
  for (int32_t i = 0; i < n->nv; ++i) {
    const double inverse = 1.0 / n->mass[i];
    const double g = n->momentum[i] - n->impulse[i];
    const double absolute = n->momentum[i] + n->momentum_star[i];
    n->gradient[i] = g;
    energy += step[i] * n->momentum[i];
    gradient_2 += g * g * inverse;
    momentum_2 += absolute * absolute * inverse;
    impulse_2 += n->impulse[i] * n->impulse[i] * inverse;
    speed_2 += n->mass[i] * n->v[i] * n->v[i];
  }
  energy *= 0.5;
  n->state.cost = energy + contact_cost;
  n->state.gradient = sqrt(gradient_2);
  n->state.momentum = sqrt(momentum_2);
  n->state.impulse = sqrt(impulse_2);
  // an error eps |J| |v| in the argument of l_i(v_hat - J v) changes l_i by gamma times the error
  n->state.cost_scale = energy + scale + n->state.impulse * sqrt(speed_2);
}

double sap_newton_contact_cost(const sap_newton* n, const double* v) {
  double* x = n->scratch;
  double *vc = n->cone_d, *u = n->cone_G, *gamma = n->cone_G + 3 * (size_t)n->ncones;
  multiply_cones(n, v, vc);
  double cost = evaluate_cones(n, vc, u, gamma);
  for (int32_t q = n->ncone_patches; q < n->npatches; ++q) {
    const sap_patch* patch = &n->patches[q];
    const double* J = n->jacobian + patch->jacobian;
    sap_patch_gather(n, patch, v, x);
    if (patch->kind == SAP_PATCH_CONES_N) {
      cost += cost_of_cones_n(n, patch, x);
      continue;
    }
    for (int32_t k = patch->first; k < patch->first + patch->count; ++k, J += patch->ncols) {
      const sap_interval* interval = &n->intervals[k];
      const double at = n->interval_v_hat[k] - sap_row_dot(J, x, patch->ncols);
      cost += interval_cost(
          interval, at,
          sap_interval_impulse(at, interval->inverse_R, interval->lower, interval->upper));
    }
  }
  return cost;
}

double sap_newton_apply_direction(sap_newton* n) {
  double* x = n->scratch;
  multiply_cones(n, n->dv, n->cone_d);
  for (int32_t q = n->ncone_patches; q < n->npatches; ++q) {
    const sap_patch* patch = &n->patches[q];
    sap_patch_gather(n, patch, n->dv, x);
    if (patch->kind == SAP_PATCH_CONES_N) {
      apply_cones_n(n, patch, x);
      continue;
    }
    for (int32_t k = 0; k < patch->count; ++k) {
      n->interval_d[patch->first + k] = sap_row_dot(
          n->jacobian + patch->jacobian + (size_t)k * (size_t)patch->ncols, x, patch->ncols);
    }
  }
  memset(n->product, 0, (size_t)n->nv * sizeof(double));
  sap_newton_add_momentum(n, n->dv, n->product);
  return sap_row_dot(n->dv, n->product, n->nv);
}

void sap_newton_target_side(sap_newton* n, double* side) {
  double* y = n->scratch;
  for (int32_t i = 0; i < n->nv; ++i) {
    side[i] = -n->momentum[i];
  }
  add_transposed(n, n->cone_target, side);
  for (int32_t p = n->ncone_patches; p < n->npatches; ++p) {
    const sap_patch* patch = &n->patches[p];
    memset(y, 0, (size_t)patch->ncols * sizeof(double));
    if (patch->kind == SAP_PATCH_CONES_N) {
      add_target_of_cones_n(n, patch, y);
    } else {
      const double* J = n->jacobian + patch->jacobian;
      for (int32_t k = patch->first; k < patch->first + patch->count; ++k, J += patch->ncols) {
        const double q = n->interval_target[k];
        for (int32_t i = 0; q != 0.0 && i < patch->ncols; ++i) {
          y[i] += J[i] * q;
        }
      }
    }
    sap_patch_scatter_add(n, patch, y, side);
  }
}
