// SPDX-License-Identifier: BSD-3-Clause
// Derivatives of the impulses of rows whose J varies, by differences of kinematics: equalities,
// limits of balls, rows of tendons and of transmissions that move.
//   dgamma = G (dv_hat - dJ v - J dv),  dp = dJ' gamma + J' dgamma
// An equality has v_hat = -g0/(dt + tau_d) - c/dt with the curvature c along v_guess, v0 or v. Of a
// theta point, with J there, its share e of the end (assembly_equality.c), T and theta_vq of that
// share, and the length g - J way in g0 for the rest,
//   v_hat = -(g0/T + e (J_end - J) v_guess + (1 - theta_vq) J v0)/theta_vq
// R of rigid and near-rigid rows is proportional to the Delassus scale w = |W|_F/n of their n = 1 or
// 3 translations or rotations, W:dW = n^2 w dw, see impulse_derivatives.c. Other rows at a theta point q0 (+) way have the length g - J way, too.
#include <math.h>
#include <string.h>

#include "integrators/stepper.h"
#include "math/quaternion.h"
#include "multibody/assembly/assembly_data.h"
#include "multibody/dynamics/dynamics_data.h"
#include "multibody/engine/impulse_slopes.h"

static const double STEP = 1e-5;

enum { ROWS = SAP_ROWS_MAX };

// Makes the rows of a block in assembly->rows, and their lengths or gaps g.
static void make_rows(const sap_slopes_call* call, const double* q, uint64_t key, double g[ROWS]) {
  const sap_kinematics* kin = sap_multibody_kinematics(call->multibody, q);
  sap_assembly* assembly = call->multibody->assembly;
  const sap_model* model = call->multibody->model;
  const int kind = sap_assembly_key_kind(key);
  int32_t id = sap_assembly_key_id(key, 0);
  sap_rows* rows = &assembly->rows;
  if (kind == SAP_KEY_EQUALITY) {
    sap_assembly_make_equality(assembly, kin, id, g);
    return;
  }
  sap_rows_begin(rows, 1);
  if (kind == SAP_KEY_SERVO) {
    const double gear = model->actuators[id].gear;
    g[0] = gear * sap_transmission_add_row(kin, id, gear, rows, 0);
  } else if (kind == SAP_KEY_UPPER) {
    const sap_model_joint_data* joint = &model->joints[id];
    double r[3];
    sap_quaternion_log(r, kin->q + joint->q_start);
    sap_rows_touch(rows, joint->tree);
    sap_v3_scale(sap_rows_at(rows, 0) + joint->v_start, r, -1.0 / sap_v3_norm(r));
    g[0] = -sap_v3_norm(r);
  } else {
    const double sign = kind == SAP_KEY_TENDON_UPPER ? -1.0 : 1.0;
    id -= kind == SAP_KEY_BOUND_SERVOS ? model->sizes.joints : 0;
    g[0] = sign * sap_tendon_add_row(kin, id, sign, rows, 0);
  }
}

// Changes by q0, by v0 with v_guess where that is v0, by v_guess.
typedef enum row_input { BY_Q0, BY_V0, BY_GUESS } row_input;
typedef struct row_change {
  const double* share;  // of g at q0 in g, see above
  // g: gaps or lengths at the start; along: J v_guess; end: gaps, or J v_guess, after a step with it.
  double g[ROWS], along[ROWS], end[ROWS];
} row_change;

static bool acts_within(const sap_slopes_call* call) {
  return call->step->stage_theta_vq < 1.0;
}

// Adds scale times the values at inputs moved by h.
static void add_values(const sap_slopes_call* call, const sap_block* block, const double* guess,
                       int32_t k, const double by[3], double scale, row_change* change) {
  const sap_model* model = call->multibody->model;
  const sap_step_context* s = call->step;
  const sap_rows* rows = &call->multibody->assembly->rows;
  const size_t n = (size_t)model->sizes.nv;
  const bool within = acts_within(call);
  const bool equality = sap_assembly_key_kind(block->key) == SAP_KEY_EQUALITY;
  const sap_contact_slopes* w = call->w;
  double *way = w->row_way, g[ROWS];
  const double* q = s->q0;
  if (by[BY_Q0] != 0.0) {
    memset(way, 0, n * sizeof *way);
    way[k] = by[BY_Q0];
    sap_manifold_integrate(model, s->q0, way, 1.0, w->row_q);
    q = w->row_q;
  }
  make_rows(call, q, block->key, g);
  for (int32_t r = 0; r < block->nrows; ++r) {
    change->g[r] += change->share[r] * scale * g[r];
  }
  if (within) {
    const double share = s->stage_theta_vq, time = s->stage_theta * s->dt;
    for (size_t i = 0; i < n; ++i) {
      way[i] = time * (share * guess[i] + (1.0 - share) * s->v0_free[i]);
    }
    way[k] += time * (share * by[BY_GUESS] + (1.0 - share) * by[BY_V0]);
    sap_manifold_integrate(model, q, way, 1.0, w->row_q_end);
    make_rows(call, w->row_q_end, block->key, g);
    for (int32_t r = 0; r < block->nrows; ++r) {
      change->g[r] += (1.0 - change->share[r]) * scale * (g[r] - sap_rows_times(rows, r, way));
    }
  }
  memcpy(way, guess, n * sizeof *way);
  way[k] += by[BY_GUESS];
  for (int32_t r = 0; r < block->nrows; ++r) {
    change->along[r] += scale * sap_rows_times(rows, r, way);
    sap_rows_add_scaled(rows, r, scale, w->row_change + n * (size_t)r);
  }
  if (equality) {
    sap_manifold_integrate(model, q, way, s->dt, w->row_q_end);
    make_rows(call, w->row_q_end, block->key, g);
    for (int32_t r = 0; r < block->nrows; ++r) {
      change->end[r] += scale * (within ? sap_rows_times(rows, r, way) : g[r]);
    }
  }
}

static void find_change(const sap_slopes_call* call, const sap_block* block, const double* guess,
                        int32_t k, row_input input, row_change* change) {
  *change = (row_change){.share = change->share};
  memset(call->w->row_change, 0, ROWS * (size_t)call->multibody->model->sizes.nv * sizeof(double));
  for (int side = -1; side <= 1; side += 2) {
    double by[3] = {0.0};
    by[input] = side * STEP;
    by[BY_GUESS] += input == BY_V0 && call->step->v_guess != NULL ? side * STEP : 0.0;
    add_values(call, block, guess, k, by, side / (2.0 * STEP), change);
  }
}

static double dot(const double* a, const double* b, size_t n) {
  double sum = 0.0;
  for (size_t i = 0; i < n; ++i) {
    sum += a[i] * b[i];
  }
  return sum;
}

// Adds sign (J' x + dJ' gamma) to column k.
static void add_column(const sap_slopes_call* call, const sap_block* block, const double* x,
                       const double* gamma, const double* dJ, double sign, double* out, int32_t k) {
  const size_t n = (size_t)call->multibody->model->sizes.nv;
  double scaled[ROWS] = {0.0};
  for (int32_t r = 0; r < block->nrows; ++r) {
    const double* row = dJ + n * (size_t)r;
    scaled[r] = sign * x[r];
    if (call->out->lambda != NULL) {
      out[k] += sign * gamma[r] * dot(row, call->out->lambda, n);
    }
    for (size_t i = 0; i < n && call->out->lambda == NULL; ++i) {
      out[n * (size_t)k + i] += sign * gamma[r] * row[i];
    }
  }
  sap_slopes_add_rows(call, scaled, out, k);
}

// dgamma = by_g dg - G dJ v + by_rate dJ v0 + by_w dw + ..., of J alone dw = w->row_scale . dJ.
typedef struct row_law {
  const double *gamma, *G;  // of the diagonal of G
  double by_g[ROWS], by_rate[ROWS], by_curve[ROWS], by_w[ROWS], share[ROWS];
} row_law;

// Adds dp of an input, -dp of the guess, to a matrix, or lambda' of it.
static void add_input(const sap_slopes_call* call, const sap_block* block, const row_law* law,
                      row_input input, double* out) {
  const sap_model* model = call->multibody->model;
  const sap_step_context* s = call->step;
  const double* guess = s->v_guess != NULL ? s->v_guess : call->out->v;
  const size_t n = (size_t)model->sizes.nv;
  row_change change = {.share = law->share};
  for (int32_t t = 0; t < block->ntrees; ++t) {
    const int32_t first = model->tree_dofs[block->trees[t]];
    for (int32_t k = first; k < first + model->tree_sizes[block->trees[t]]; ++k) {
      double x[ROWS] = {0.0}, dw[2] = {0.0};
      find_change(call, block, guess, k, input, &change);
      for (int32_t r = 0; r < block->nrows; ++r) {
        const double end =
            acts_within(call) ? change.end[r] : (change.end[r] - change.g[r]) / s->dt;
        const double* dJ = call->w->row_change + n * (size_t)r;
        x[r] = law->by_g[r] * change.g[r] + law->by_rate[r] * dot(dJ, s->v0_free, n) +
               law->by_curve[r] * (change.along[r] - end) -
               law->G[(block->nrows + 1) * r] * dot(dJ, call->out->v, n);
        dw[r / 3] += dot(dJ, call->w->row_scale + n * (size_t)r, n);
      }
      for (int32_t r = 0; r < block->nrows; ++r) {
        x[r] += law->by_w[r] * dw[r / 3];
      }
      add_column(call, block, x, law->gamma, call->w->row_change, input == BY_GUESS ? -1.0 : 1.0,
                 out, k);
    }
  }
}

// Sets w->row_scale of `count` rows from `first` on: by times W X.
static void set_scale(const sap_slopes_call* call, const double W[9], int32_t first, int32_t count,
                      double by) {
  const size_t n = (size_t)call->multibody->model->sizes.nv;
  double* const* X = call->w->X;
  for (int32_t r = 0; r < count; ++r) {
    double* out = call->w->row_scale + n * (size_t)(first + r);
    for (size_t i = 0; i < n; ++i) {
      out[i] = by * W[r] * X[0][i];
      out[i] += count > 1 ? by * (W[3 + r] * X[1][i] + W[6 + r] * X[2][i]) : 0.0;
    }
  }
}

void sap_slopes_add_moving(sap_slopes_call* call, const sap_block* block, double gamma, double G,
                           const double by[3]) {
  const row_law law = {.gamma = &gamma,
                       .G = &G,
                       .by_g = {acts_within(call) ? by[0] : 0.0},
                       .by_rate = {by[2]},
                       .by_w = {by[1]},
                       .share = {acts_within(call) ? 0.0 : 1.0}};
  set_scale(call, (const double[9]){1.0}, 0, 1, 2.0);
  sap_derivatives_note(true, call->out->notes,
                       "by differences: rows of balls, tendons, transmissions");
  add_input(call, block, &law, BY_Q0, call->out->dq0);
  if (acts_within(call)) {
    add_input(call, block, &law, BY_V0, call->out->dv0);
  }
  call->kin_A = sap_multibody_kinematics(call->multibody, call->out->q_A);
}

// Returns d(v_hat - gamma R)/dg0 of a rigid row.
static double gap_slope(const sap_slopes_call* call, double T, double g, double gammaR) {
  const bool settled = call->law.scheme->settled > 0.0;
  const double share = fabs(g) / (T * SAP_RECOVERY_SPEED);
  if (share >= 1.0) {
    return 0.0;
  }
  const bool gives = SAP_GIVING_ROW * sap_law_giving(share, settled) > SAP_RIGID_ROW;
  return -1.0 / T - (gives ? (settled ? 4.0 : 2.0) * gammaR / g : 0.0);
}

// Adds what A gives by the Delassus scales of an equality, and prepares what J gives by them. by_w: of
// gamma to ln w; then to w.
static sap_status add_scales(const sap_slopes_call* call, const sap_block* block, double by_w[ROWS],
                             sap_error* error) {
  sap_contact_slopes* w = call->w;
  const int32_t count = block->nrows < 3 ? block->nrows : 3;
  for (int32_t first = 0; first < block->nrows; first += 3) {
    sap_mass_pull pull = {.W = {0.0}};
    double square = 0.0, y[ROWS], factors[ROWS] = {0.0};
    SAP_TRY(sap_slopes_solve_rows(call, block, first, error));
    for (int32_t i = 0; i < count * count; ++i) {
      sap_slopes_multiply_rows(call, w->X[i / count], y);
      pull.W[3 * (i / count) + i % count] = y[first + i % count];
      square += y[first + i % count] * y[first + i % count];
    }
    const double scale = sqrt(square) / count;
    const double by = scale > 0.0 ? 1.0 / (count * count * scale) : 0.0;
    set_scale(call, pull.W, first, count, 2.0 * by);
    for (int32_t r = first; r < first + count; ++r) {
      by_w[r] = factors[r] = scale > 0.0 ? by_w[r] / scale : 0.0;
    }
    const double pulled = call->out->lambda != NULL ? sap_slopes_dot(w, w->u, factors) : 1.0;
    for (int i = 0; i < 9; ++i) {
      pull.W[i] *= by * pulled;
    }
    sap_slopes_add_mass(call, block, &pull, factors);
  }
  return SAP_STATUS_OK;
}

sap_status sap_slopes_add_equality(sap_slopes_call* call, const sap_block* block,
                                   const double* gamma, const double* G, sap_error* error) {
  const sap_impulse_derivatives* out = call->out;
  const sap_step_context* s = call->step;
  const int32_t id = sap_assembly_key_id(block->key, 0);
  const sap_equality_def* e = &call->multibody->model->equalities[id];
  const bool rigid = isinf(e->stiffness);
  bool held = false;
  row_law law = {.gamma = gamma, .G = G};
  double g[ROWS], M[ROWS * ROWS] = {0.0};
  make_rows(call, s->q0, block->key, g);
  for (int32_t r = 0; r < block->nrows; ++r) {
    const int32_t rr = (block->nrows + 1) * r;
    const double end = call->multibody->assembly->end_share[SAP_ROWS_MAX * id + r];
    const double vq = s->stage_theta_vq + end * (1.0 - s->stage_theta_vq);
    const double T = s->dt * (s->stage_theta + end * (1.0 - s->stage_theta)) + e->relaxation_time;
    law.by_g[r] =
        G[rr] * (rigid ? gap_slope(call, T, g[r], gamma[r] * block->R[r]) : -1.0 / (T * vq));
    law.by_curve[r] = G[rr] * (acts_within(call) ? end : 1.0) / vq;
    law.by_rate[r] = M[rr] = -G[rr] * (1.0 - vq) / vq;
    law.share[r] = acts_within(call) ? end : 1.0;
    const bool near = rigid || block->R[r] * s->dt * e->stiffness * T * vq > 1.0 + SAP_KINK;
    law.by_w[r] = near ? -G[rr] * gamma[r] * block->R[r] : 0.0;
    held = held || (end > 0.0 && end < 1.0);
  }
  if (out->minus_dv != NULL && s->v_guess == NULL) {
    add_input(call, block, &law, BY_GUESS, out->minus_dv);
  }
  if (out->dq0 == NULL) {
    return SAP_STATUS_OK;
  }
  sap_derivatives_note(true, out->notes, "by differences: equalities");
  call->kin_A = sap_multibody_kinematics(call->multibody, out->q_A);
  SAP_TRY(add_scales(call, block, law.by_w, error));
  sap_derivatives_note(held, out->notes, "held: Delassus scale in laws of equalities");
  sap_derivatives_note(s->v_guess != NULL, out->notes,
                       "held: curvature of equalities, along the guess of v");
  sap_slopes_add_square(call, M, block->nrows, out->dv0);
  if (s->v_guess != NULL || acts_within(call)) {
    add_input(call, block, &law, BY_V0, out->dv0);
  }
  add_input(call, block, &law, BY_Q0, out->dq0);
  call->kin_A = sap_multibody_kinematics(call->multibody, out->q_A);
  return SAP_STATUS_OK;
}
