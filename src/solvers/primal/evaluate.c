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
#include "solvers/row_violation.h"

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

static void multiply_bodies(const sap_newton* n, const sap_patch* patch, const sap_patch_rows* view,
                            const double* x, double* y) {
  const double* b = patch->bodies[1] >= 0 ? x + patch->bodies[1] : NULL;
  n->kernels->multiply_bodies(view, x + patch->bodies[0], b, y);
}

static void add_to_bodies(const sap_newton* n, const sap_patch* patch, const sap_patch_rows* view,
                          const double* y, double* x) {
  double* b = patch->bodies[1] >= 0 ? x + patch->bodies[1] : NULL;
  n->kernels->add_to_bodies(view, y, x + patch->bodies[0], b);
}

// Three rows from row k of a patch on.
static sap_patch_rows triple_of(const sap_newton* n, const sap_patch* patch, int32_t k) {
  const double* J = n->jacobian + patch->jacobian;
  return (sap_patch_rows){J + (size_t)k * (size_t)patch->ncols, 1, patch->ncols, 1};
}

// y = J x of the cones of 3 rows, rows = J x of all other rows.
static void multiply(const sap_newton* n, const double* x, double* y, double* rows) {
  for (int32_t q = 0; q < n->ncone_patches; ++q) {
    const sap_patch* patch = &n->patches[q];
    const sap_patch_rows view = rows_of(n, patch);
    if (patch->bodies[0] >= 0) {
      multiply_bodies(n, patch, &view, x, y + patch->first);
      continue;
    }
    sap_patch_gather(n, patch, x, n->scratch);
    n->kernels->multiply(&view, n->scratch, y + patch->first);
  }
  for (int32_t q = n->ncone_patches; q < n->npatches; ++q) {
    const sap_patch* patch = &n->patches[q];
    const double* J = n->jacobian + patch->jacobian;
    for (int32_t k = 0; patch->velocity >= 0 && k < patch->nrows; ++k) {
      rows[patch->first_row + k] = J[k] * x[patch->velocity];
    }
    for (int32_t k = 0; sap_patch_has_triples(patch) && k < patch->nrows; k += 3) {
      const sap_patch_rows view = triple_of(n, patch, k);
      multiply_bodies(n, patch, &view, x, rows + patch->first_row + k);
    }
    if (patch->velocity >= 0 || sap_patch_has_triples(patch)) {
      continue;
    }
    sap_patch_gather(n, patch, x, n->scratch);
    for (int32_t k = 0; k < patch->nrows; ++k, J += patch->ncols) {
      rows[patch->first_row + k] = sap_row_dot(J, n->scratch, patch->ncols);
    }
  }
}

// part = J' z of `nrows` rows J (ncols each); returns false and leaves `part` alone if z is zero.
static bool transpose_rows(const double* restrict J, int32_t ncols, const double* restrict z,
                           int32_t nrows, double* restrict part) {
  bool any = false;
  for (int32_t k = 0; k < nrows; ++k, J += ncols) {
    for (int32_t i = 0; z[k] != 0.0 && i < ncols; ++i) {
      part[i] = (any ? part[i] : 0.0) + J[i] * z[k];
    }
    any = any || z[k] != 0.0;
  }
  return any;
}

// x += J' (y, rows), laid out as in multiply.
static void add_transposed(const sap_newton* n, const double* y, const double* rows, double* x) {
  double* part = n->scratch;
  for (int32_t q = 0; q < n->ncone_patches; ++q) {
    const sap_patch* patch = &n->patches[q];
    const sap_patch_rows view = rows_of(n, patch);
    if (patch->bodies[0] >= 0) {
      add_to_bodies(n, patch, &view, y + patch->first, x);
      continue;
    }
    n->kernels->multiply_transposed(&view, y + patch->first, part);
    sap_patch_scatter_add(n, patch, part, x);
  }
  for (int32_t q = n->ncone_patches; q < n->npatches; ++q) {
    const sap_patch* patch = &n->patches[q];
    const double *J = n->jacobian + patch->jacobian, *z = rows + patch->first_row;
    for (int32_t k = 0; patch->velocity >= 0 && k < patch->nrows; ++k) {
      x[patch->velocity] += J[k] * z[k];
    }
    for (int32_t k = 0; sap_patch_has_triples(patch) && k < patch->nrows; k += 3) {
      const sap_patch_rows view = triple_of(n, patch, k);
      add_to_bodies(n, patch, &view, z + k, x);
    }
    if (patch->velocity < 0 && !sap_patch_has_triples(patch) &&
        transpose_rows(J, patch->ncols, z, patch->nrows, part)) {
      sap_patch_scatter_add(n, patch, part, x);
    }
  }
}

// Computes u = v_hat - vc and gamma of the cones of 3 rows; returns their cost.
static double evaluate_cones(const sap_newton* n, const double* v_hat, const double* vc, double* u,
                             double* gamma) {
  const int32_t nc = n->ncones;
  const sap_cone_rows cones = {nc, n->cone_law};
  n->cone_kernels->impulses(&cones, v_hat, vc, u, gamma, n->cone_parts);
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

// Computes u = v_hat - vc and gamma of all rows but those of cones of 3 rows. Adds their costs to
// sums[0], and to sums[1] without cancellation.
static void evaluate_rows(const sap_newton* n, const double* v_hat, const double* vc, double* u,
                          double* gamma, double sums[2]) {
  double cost = sums[0], magnitude = sums[1];
  for (int32_t q = n->ncone_patches; q < n->npatches; ++q) {
    const sap_patch* patch = &n->patches[q];
    double sum = 0.0;
    for (int32_t k = patch->first; k < patch->first + patch->count; ++k) {
      double part;
      if (patch->kind == SAP_PATCH_CONES_N) {
        const sap_cone_n* cone_n = &n->cones_n[k];
        const int32_t r = cone_n->first;
        for (int32_t i = r; i < r + cone_n->nrows; ++i) {
          u[i] = v_hat[i] - vc[i];
        }
        part = sap_cone_n_impulse(&cone_n->cone, cone_n->nrows, u + r, gamma + r);
      } else {
        const sap_interval* interval = &n->intervals[k];
        const double uk = v_hat[k] - vc[k];
        const double impulse =
            sap_interval_impulse(uk, interval->inverse_R, interval->lower, interval->upper);
        u[k] = uk;
        gamma[k] = impulse;
        part = impulse * (uk - 0.5 * interval->R * impulse);
      }
      sum += part;
      magnitude += fabs(part);
    }
    cost += sum;
  }
  sums[0] = cost;
  sums[1] = magnitude;
}

void sap_newton_balance(sap_newton* n, double contact_cost, double scale) {
  memset(n->impulse, 0, (size_t)n->nv * sizeof(double));
  add_transposed(n, n->cone_gamma, n->row_gamma, n->impulse);
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

static void evaluate_at(sap_newton* n, const double* cone_v_hat, const double* cone_vc,
                        const double* row_v_hat, const double* row_vc) {
  const double cost = evaluate_cones(n, cone_v_hat, cone_vc, n->cone_u, n->cone_gamma);
  double sums[2] = {cost, cost};
  evaluate_rows(n, row_v_hat, row_vc, n->row_u, n->row_gamma, sums);
  sap_newton_balance(n, sums[0], sums[1]);
}

void sap_newton_evaluate(sap_newton* n) {
  multiply(n, n->v, n->cone_vc, n->row_vc);
  evaluate_at(n, n->cone_v_hat, n->cone_vc, n->row_v_hat, n->row_vc);
}

// target = u, d = alpha d, vc += d
static void move_rows(int32_t count, double alpha, const double* u, double* target, double* d,
                      double* vc) {
  for (int32_t i = 0; i < count; ++i) {
    target[i] = u[i];
    d[i] *= alpha;
    vc[i] += d[i];
  }
}

void sap_newton_move(sap_newton* n, double alpha) {
  for (int32_t i = 0; i < n->nv; ++i) {
    n->v[i] += alpha * n->dv[i];
  }
  move_rows(3 * n->ncones, alpha, n->cone_u, n->cone_target, n->cone_d, n->cone_vc);
  move_rows(n->nrows, alpha, n->row_u, n->row_target, n->row_d, n->row_vc);
  evaluate_at(n, n->cone_target, n->cone_d, n->row_target, n->row_d);
}

// A velocity below this part of the island's is rest.
static const double RESTING = 1e-9;

// Squares of tree t alone, as in sap_newton_evaluate.
typedef struct tree_sums {
  double mass, gradient_2, scale_2;  // scale: the larger of momentum and impulse
} tree_sums;

static tree_sums sum_tree(const sap_newton* n, int32_t t) {
  tree_sums sums = {0.0, 0.0, 0.0};
  double momentum_2 = 0.0, impulse_2 = 0.0;
  for (int32_t i = n->start[t]; i < n->start[t] + n->size[t]; ++i) {
    const double inverse = 1.0 / n->mass[i];
    const double momentum = n->momentum[i] + n->momentum_star[i];
    sums.mass += n->mass[i];
    sums.gradient_2 += n->gradient[i] * n->gradient[i] * inverse;
    momentum_2 += momentum * momentum * inverse;
    impulse_2 += n->impulse[i] * n->impulse[i] * inverse;
  }
  sums.scale_2 = momentum_2 > impulse_2 ? momentum_2 : impulse_2;
  return sums;
}

double sap_newton_tree_error(const sap_newton* n, double absolute, double own, double* beyond) {
  double speed_2 = 0.0, worst = 0.0, most = 0.0;
  for (int32_t t = 0; t < n->ntrees; ++t) {
    const tree_sums tree = sum_tree(n, t);
    const double left = sqrt(tree.gradient_2) - absolute;
    speed_2 += tree.scale_2 / tree.mass;
    if (left > 0.0) {
      const double error = left / sqrt(tree.mass);
      worst = error > worst ? error : worst;
      most = left * left > own * own * tree.scale_2 && error > most ? error : most;
    }
  }
  if (beyond != NULL) {
    *beyond = most > 0.0 ? most / sqrt(speed_2) : 0.0;
  }
  return worst > 0.0 ? worst / sqrt(speed_2) : 0.0;
}

bool sap_newton_is_converged(const sap_newton* n, const sap_solver_options* options) {
  const sap_newton_state* s = &n->state;
  if (s->gradient == 0.0 || !(s->gradient < sap_newton_tolerance(s, options))) {
    return s->gradient == 0.0;
  }
  const double eps = options->relative_tolerance;
  double beyond;
  return sap_newton_tree_error(n, options->absolute_tolerance, sap_row_tolerance(eps), &beyond) <=
             eps &&
         beyond <= RESTING;
}

bool sap_newton_is_negligible(sap_newton* n, const sap_solver_options* options, double tolerance) {
  sap_solver_options strict = *options;
  double sum = 0.0;
  strict.relative_tolerance = tolerance;
  for (int32_t i = 0; i < n->nv; ++i) {
    n->gradient[i] = n->mass[i] * n->dv[i];
    sum += n->gradient[i] * n->dv[i];
  }
  n->state.gradient = sqrt(sum);
  return sap_newton_is_converged(n, &strict);
}

double sap_newton_contact_cost(const sap_newton* n, const double* v) {
  double *vc = n->cone_d, *u = n->cone_G, *gamma = n->cone_G + 3 * (size_t)n->ncones;
  multiply(n, v, vc, n->row_d);
  double sums[2] = {evaluate_cones(n, n->cone_v_hat, vc, u, gamma), 0.0};
  evaluate_rows(n, n->row_v_hat, n->row_d, n->row_work, n->row_work + n->nrows, sums);
  return sums[0];
}

double sap_newton_apply_direction(sap_newton* n) {
  multiply(n, n->dv, n->cone_d, n->row_d);
  memset(n->product, 0, (size_t)n->nv * sizeof(double));
  sap_newton_add_momentum(n, n->dv, n->product);
  return sap_row_dot(n->dv, n->product, n->nv);
}

void sap_newton_target_side(sap_newton* n, double* side) {
  for (int32_t i = 0; i < n->nv; ++i) {
    side[i] = -n->momentum[i];
  }
  add_transposed(n, n->cone_target, n->row_target, side);
}
