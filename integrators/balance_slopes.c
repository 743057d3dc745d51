// SPDX-License-Identifier: BSD-3-Clause
// With r = m/dt at q^theta = q0 (+) w, w = theta dt v_vq, and d(q0 (+) w) = T dq0 + J dw:
//   m_v  = theta dt r_v + r_a + theta theta_vq dt^2 r_q J
//   m_v0 = (1 - theta) dt r_v - r_a + theta (1 - theta_vq) dt^2 r_q J + dt r_v0
//   m_q0 = dt (r_q T + r_q0)
#include "integrators/balance_slopes.h"

#include <string.h>

#include "core/error.h"
#include "solvers/islands.h"

sap_status sap_balance_slopes_create(size_t n, sap_pool* pool, sap_balance_slopes* m,
                                     sap_error* error) {
  SAP_TRY(SAP_POOL_ADD_ALL(pool, error, SAP_ARRAY(&m->r_q, n * n), SAP_ARRAY(&m->r_v, n * n),
                           SAP_ARRAY(&m->r_a, n * n), SAP_ARRAY(&m->rotations, n / 3 + 1)));
  return sap_near_spd_create((int32_t)n, pool, &m->v, error);
}

void sap_balance_find_rows(const sap_stepper* stepper) {
  const sap_differentiation* d = stepper->differentiation;
  const sap_momentum_factor* f = &stepper->solution.free_motion.factor;
  for (int32_t t = 0, k = 0; t < stepper->system.ntrees; ++t) {
    const int32_t start = k, end = k + stepper->system.tree_sizes[t];
    const bool alone = f->groups[f->tree_group[t]].ntrees == 1;
    for (; k < end; ++k) {
      d->first[k] = alone ? start : 0;
      d->end_row[k] = alone ? end : stepper->system.nv;
    }
  }
}

sap_status sap_balance_find_parts(sap_stepper* stepper, sap_error* error) {
  sap_differentiation* d = stepper->differentiation;
  const sap_system* system = &stepper->system;
  const sap_problem* problem = stepper->solution.contact.problem;
  const int32_t* tree_dof = stepper->solution.free_motion.balance.A.tree_dof;
  sap_matrix_parts* parts = &d->parts;
  for (int32_t t = 0; t < system->ntrees; ++t) {
    d->roots[t] = t;
  }
  for (int32_t b = 0; b < sap_problem_block_count(problem); ++b) {
    sap_block block;
    SAP_TRY(sap_problem_block(problem, b, &block, NULL, error));
    for (int32_t i = 1; i < block.ntrees; ++i) {
      sap_join_trees(d->roots, block.trees[0], block.trees[i]);
    }
  }
  for (int32_t c = 0; c < system->ncouplings; ++c) {
    sap_join_trees(d->roots, system->couplings[c][0], system->couplings[c][1]);
  }
  parts->count = 0;
  memset(parts->start, 0, ((size_t)system->ntrees + 2) * sizeof *parts->start);
  for (int32_t t = 0; t < system->ntrees; ++t) {
    const int32_t root = sap_tree_root(d->roots, t);
    d->part[t] = root == t ? parts->count++ : d->part[root];
    parts->start[d->part[t] + 2] += system->tree_sizes[t];
  }
  for (int32_t p = 1; p <= parts->count; ++p) {
    parts->start[p + 1] += parts->start[p];
  }
  for (int32_t t = 0; t < system->ntrees; ++t) {  // start of the next part: of what is to come
    for (int32_t i = tree_dof[t]; i < tree_dof[t + 1]; ++i) {
      parts->at[parts->start[d->part[t] + 1]++] = i;
    }
  }
  return SAP_STATUS_OK;
}

sap_step_context sap_balance_context(const sap_stepper* stepper) {
  sap_step_context step = stepper->step;
  step.q0 = stepper->q0;
  step.v0 = stepper->v0;
  step.v0_free = stepper->v0_free;
  step.v_guess = stepper->solution.about_solution ? NULL : stepper->v0_free;
  return step;
}

sap_status sap_balance_move(sap_stepper* stepper, const double* v, sap_error* error) {
  sap_differentiation* d = stepper->differentiation;
  const sap_system* system = &stepper->system;
  const sap_step_context* s = &stepper->step;
  for (int32_t i = 0; i < system->nv; ++i) {
    d->v_theta[i] = s->theta * v[i] + (1.0 - s->theta) * stepper->v0_free[i];
    d->v_vq[i] = s->theta_vq * v[i] + (1.0 - s->theta_vq) * stepper->v0_free[i];
    d->a[i] = (v[i] - stepper->v0[i]) / s->dt;
  }
  const int code =
      system->integrate_positions(system->context, stepper->q0, d->v_vq, s->theta * s->dt, d->q);
  return sap_callback_check("integrate_positions", code, error);
}

// The entries of column k of derivatives of m that may not be zero; `rows` is 1 for lambda' of them.
#define FOR_ROWS(d, k, i, rows)                                    \
  for (size_t i = (rows) == 1 ? 0 : (size_t)(d)->first[k],         \
              i##_end = (rows) == 1 ? 1 : (size_t)(d)->end_row[k]; \
       i < i##_end; ++i)

void sap_balance_clear(const sap_differentiation* d, size_t n, size_t rows, double* X) {
  for (size_t k = 0; k < n; ++k) {
    FOR_ROWS(d, k, i, rows) {
      X[rows * k + i] = 0.0;
    }
  }
}

void sap_balance_multiply(const sap_differentiation* d, size_t n, const double* z, const double* X,
                          double* out) {
  for (size_t k = 0; k < n; ++k) {
    double sum = 0.0;
    FOR_ROWS(d, k, i, n) {
      sum += z[i] * X[n * k + i];
    }
    out[k] = sum;
  }
}

// out += scale r_q (T - 1), or scale r_q (J - 1).
static void add_turned(const sap_differentiation* d, const sap_balance_slopes* m, bool J,
                       double scale, size_t n, double* out) {
  for (int32_t k = 0; k < 3 * m->count; ++k) {
    const sap_step_rotation* rotation = &m->rotations[k / 3];
    const size_t at = (size_t)rotation->first, column = at + (size_t)(k % 3);
    const double* R = (J ? rotation->J : rotation->T) + 3 * (k % 3);
    FOR_ROWS(d, at, i, n) {
      const double* X = m->r_q + n * at + i;
      out[n * column + i] +=
          scale * (R[0] * X[0] + R[1] * X[n] + R[2] * X[2 * n] - X[n * (size_t)(k % 3)]);
    }
  }
}

sap_status sap_balance_find(sap_stepper* stepper, const double* v, sap_balance_slopes* m,
                            sap_error* error) {
  sap_differentiation* d = stepper->differentiation;
  const sap_system* system = &stepper->system;
  const sap_step_context step = sap_balance_context(stepper);
  const size_t n = (size_t)system->nv;
  sap_balance_derivatives r = {.q = d->q,
                               .v = d->v_theta,
                               .a = d->a,
                               .residual = d->residual,
                               .dq = m->r_q,
                               .dv = m->r_v,
                               .da = m->r_a,
                               .notes = d->report.notes};
  sap_balance_clear(d, n, n, r.dq);
  sap_balance_clear(d, n, n, r.dv);
  sap_balance_clear(d, n, n, r.da);
  SAP_TRY(sap_balance_move(stepper, v, error));
  SAP_TRY(system->balance_derivatives(system->context, &step, &r, error));
  for (size_t i = 0; i < n; ++i) {
    d->residual[i] *= step.dt;
  }
  m->count = system->step_rotations(system->context, d->v_vq, step.theta * step.dt, m->rotations);
  return SAP_STATUS_OK;
}

void sap_balance_add_slopes(const sap_stepper* stepper, sap_balance_slopes* m) {
  const sap_differentiation* d = stepper->differentiation;
  const sap_step_context* s = &stepper->step;
  const size_t n = (size_t)stepper->system.nv;
  const double by_v = s->theta * s->dt, by_q = s->theta_vq * by_v * s->dt;
  for (size_t k = 0; k < n; ++k) {
    double* restrict B = m->v.B + n * k;
    const double *r_v = m->r_v + n * k, *r_a = m->r_a + n * k, *r_q = m->r_q + n * k;
    FOR_ROWS(d, k, i, n) {
      B[i] += by_v * r_v[i] + r_a[i] + by_q * r_q[i];
    }
  }
  add_turned(d, m, true, by_q, n, m->v.B);
}

sap_status sap_balance_find_start(sap_stepper* stepper, const double* v,
                                  const sap_balance_slopes* m, const double* z, double* x,
                                  sap_error* error) {
  sap_differentiation* d = stepper->differentiation;
  const sap_system* system = &stepper->system;
  const sap_step_context step = sap_balance_context(stepper);
  const size_t n = (size_t)system->nv, nu = sap_balance_inputs(stepper), rows = z != NULL ? 1 : n;
  const double dt = step.dt, theta = step.theta, by_q = (1.0 - step.theta_vq) * theta * dt * dt;
  const bool inner = theta < 1.0 || step.theta_vq < 1.0;
  const double *r_v = m->r_v, *r_a = m->r_a, *r_q = m->r_q;
  double *q0 = x, *v0 = q0 + rows * n, *u = v0 + rows * n;
  sap_balance_derivatives r = {.q = d->q,
                               .v = d->v_theta,
                               .a = d->a,
                               .lambda = z,
                               .dq0 = d->r_q0,
                               .dv0 = v0,
                               .du = u,
                               .notes = d->report.notes};
  SAP_TRY(sap_balance_move(stepper, v, error));
  sap_balance_clear(d, n, rows, d->r_q0);
  sap_balance_clear(d, n, rows, q0);
  sap_balance_clear(d, n, rows, v0);
  memset(u, 0, rows * nu * sizeof *u);
  SAP_TRY(system->balance_derivatives(system->context, &step, &r, error));
  double* products = d->turned;
  if (z != NULL) {
    sap_balance_multiply(d, n, z, m->r_q, products);
    sap_step_turn_columns(m->rotations, m->count, false, 1, n, products, q0);
    sap_step_turn_columns(m->rotations, m->count, true, 1, n, products, products + 2 * n);
    sap_balance_multiply(d, n, z, r_a, products + n);
    r_a = products + n;
    if (inner) {
      sap_balance_multiply(d, n, z, r_v, products);
    }
    r_v = products;
    r_q = products + 2 * n;
  } else {
    add_turned(d, m, false, 1.0, n, q0);
  }
  for (size_t k = 0; k < n; ++k) {
    double* restrict to_q = q0 + rows * k, * restrict to_v = v0 + rows * k;
    const double* by_start = d->r_q0 + rows * k;
    FOR_ROWS(d, k, i, rows) {
      to_q[i] = dt * (to_q[i] + by_start[i] + (z == NULL ? r_q[rows * k + i] : 0.0));
      to_v[i] = dt * to_v[i] - r_a[rows * k + i];
      to_v[i] += inner ? (1.0 - theta) * dt * r_v[rows * k + i] + by_q * r_q[rows * k + i] : 0.0;
    }
  }
  if (z == NULL && inner) {
    add_turned(d, m, true, by_q, n, v0);
  }
  for (size_t i = 0; i < rows * nu; ++i) {
    u[i] *= dt;
  }
  return SAP_STATUS_OK;
}

bool sap_balance_is_explicit(const sap_stepper* stepper, int32_t tree) {
  const sap_free_motion* fm = &stepper->solution.free_motion;
  return fm->linearization.known[fm->factor.tree_group[tree]] &&
         !sap_linearization_is_free(&stepper->system, tree);
}

// Takes a block of A, of trees a and b, in place of that of m_v. transposed: A is that of b and a.
static void put_block(sap_stepper* stepper, int32_t a, int32_t b, const double* A,
                      bool transposed) {
  sap_differentiation* d = stepper->differentiation;
  const int32_t* tree_dof = stepper->solution.free_motion.balance.A.tree_dof;
  const size_t n = (size_t)stepper->system.nv, first = (size_t)tree_dof[a];
  const size_t rows = (size_t)tree_dof[a + 1] - first, start = (size_t)tree_dof[b];
  const size_t columns = (size_t)tree_dof[b + 1] - start;
  for (size_t j = 0; j < columns; ++j) {
    for (size_t i = 0; i < rows; ++i) {
      const bool mirrored = transposed || (a == b && i < j);
      const double value = mirrored ? A[columns * i + j] : A[rows * j + i];
      const size_t at = n * (start + j) + first + i;
      d->near_rest[at] = d->near.v.B[at] - value;
      d->near.v.B[at] = value;
    }
  }
}

sap_status sap_balance_find_near(sap_stepper* stepper, sap_error* error) {
  sap_differentiation* d = stepper->differentiation;
  const sap_system* system = &stepper->system;
  const sap_free_motion* fm = &stepper->solution.free_motion;
  const sap_tree_matrix* A = &fm->balance.A.view;
  if (d->has_near) {
    return SAP_STATUS_OK;
  }
  SAP_TRY(sap_balance_find(stepper, d->near_v, &d->near, error));
  sap_near_spd_clear(&d->near.v, &d->parts);
  sap_balance_clear(d, (size_t)system->nv, (size_t)system->nv, d->near_rest);
  sap_balance_add_slopes(stepper, &d->near);
  for (int32_t t = 0; t < system->ntrees; ++t) {
    if (sap_balance_is_explicit(stepper, t)) {
      put_block(stepper, t, t, A->diagonal[t], false);
    }
  }
  for (int32_t c = 0; c < system->ncouplings; ++c) {
    const int32_t a = system->couplings[c][0], b = system->couplings[c][1];
    if (sap_balance_is_explicit(stepper, a)) {
      put_block(stepper, a, b, A->coupling[c], false);
      put_block(stepper, b, a, A->coupling[c], true);
    }
  }
  SAP_FAIL_IF(!sap_near_spd_factorize(&d->near.v, &d->parts), error, SAP_STATUS_STEP_FAILED,
              "derivatives of a step: dm/dv of its free motion is singular");
  d->has_near = true;
  return SAP_STATUS_OK;
}
