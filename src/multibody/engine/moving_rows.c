// SPDX-License-Identifier: BSD-3-Clause
// Derivatives of the impulses of rows whose J varies, by differences of kinematics: equalities,
// limits of balls, rows of tendons and of transmissions that move.
//   dgamma = G (dv_hat - dJ v - J dv),  dp = dJ' gamma + J' dgamma
// An equality has v_hat = -g0/(dt + tau_d) - c/dt with the curvature c along v_guess, v0 or v
// (assembly_equality.c); its R counts as constant.
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
static void make_rows(const sap_slopes_call* call, const sap_kinematics* kin, uint64_t key,
                      double g[ROWS]) {
  sap_assembly* assembly = call->multibody->assembly;
  const sap_model* model = call->multibody->model;
  const int kind = sap_assembly_key_kind(key);
  int32_t id = sap_assembly_key_id(key, 0);
  sap_rows* rows = &assembly->rows;
  if (kind == SAP_KEY_EQUALITY) {
    sap_assembly_make_equality(assembly, kin, id, g);
    return;
  }
  g[0] = 0.0;  // not needed
  sap_rows_begin(rows, 1);
  if (kind == SAP_KEY_SERVO) {
    (void)sap_transmission_add_row(kin, id, model->actuators[id].gear, rows, 0);
  } else if (kind == SAP_KEY_UPPER) {
    const sap_model_joint_data* joint = &model->joints[id];
    double r[3];
    sap_quaternion_log(r, kin->q + joint->q_start);
    sap_rows_touch(rows, joint->tree);
    sap_v3_scale(sap_rows_at(rows, 0) + joint->v_start, r, -1.0 / sap_v3_norm(r));
  } else {
    id -= kind == SAP_KEY_BOUND_SERVOS ? model->sizes.joints : 0;
    (void)sap_tendon_add_row(kin, id, kind == SAP_KEY_TENDON_UPPER ? -1.0 : 1.0, rows, 0);
  }
}

// A change of q0 or of v_guess.
typedef struct row_change {
  double *J, *way, *q, *q_end;  // (ROWS nv), (nv), (nq), (nq)
  double g[ROWS], end[ROWS];    // of gaps, and of those after a step with v_guess
} row_change;

static void find_change(const sap_slopes_call* call, const sap_block* block, const double* guess,
                        int32_t k, bool of_guess, row_change* change) {
  const sap_model* model = call->multibody->model;
  const sap_step_context* s = call->step;
  const size_t n = (size_t)model->sizes.nv;
  const sap_rows* rows = &call->multibody->assembly->rows;
  double* way = change->way;
  memset(change->J, 0, ROWS * n * sizeof(double));
  memset(change->g, 0, sizeof change->g);
  memset(change->end, 0, sizeof change->end);
  for (int side = -1; side <= 1; side += 2) {
    const double scale = side / (2.0 * STEP);
    double g[ROWS];
    memset(way, 0, n * sizeof *way);
    way[k] = of_guess ? 0.0 : side * STEP;
    sap_manifold_integrate(model, s->q0, way, 1.0, change->q);
    if (!of_guess) {
      make_rows(call, sap_multibody_kinematics(call->multibody, change->q), block->key, g);
      for (int32_t r = 0; r < block->nrows; ++r) {
        change->g[r] += scale * g[r];
        sap_rows_add_scaled(rows, r, scale, change->J + n * (size_t)r);
      }
    }
    if (sap_assembly_key_kind(block->key) == SAP_KEY_EQUALITY) {
      memcpy(way, guess, n * sizeof *way);
      way[k] += of_guess ? side * STEP : 0.0;
      sap_manifold_integrate(model, change->q, way, s->dt, change->q_end);
      make_rows(call, sap_multibody_kinematics(call->multibody, change->q_end), block->key, g);
      for (int32_t r = 0; r < block->nrows; ++r) {
        change->end[r] += scale * g[r];
      }
    }
  }
}

static double dot(const double* a, const double* b, size_t n) {
  double sum = 0.0;
  for (size_t i = 0; i < n; ++i) {
    sum += a[i] * b[i];
  }
  return sum;
}

// Adds dJ' gamma to column k.
static void add_turned(const sap_slopes_call* call, const sap_block* block, const double* gamma,
                       const double* dJ, int32_t k) {
  const size_t n = (size_t)call->multibody->model->sizes.nv;
  double* out = call->out->dq0;
  for (int32_t r = 0; r < block->nrows; ++r) {
    const double* row = dJ + n * (size_t)r;
    if (call->out->lambda != NULL) {
      out[k] += gamma[r] * dot(row, call->out->lambda, n);
    }
    for (size_t i = 0; i < n && call->out->lambda == NULL; ++i) {
      out[n * (size_t)k + i] += gamma[r] * row[i];
    }
  }
}

static row_change make_change(const sap_slopes_call* call) {
  const sap_contact_slopes* w = call->w;
  return (row_change){.J = w->row_change, .way = w->row_way, .q = w->row_q, .q_end = w->row_q_end};
}

void sap_slopes_add_moving(sap_slopes_call* call, const sap_block* block, double gamma, double G,
                           const double by[3]) {
  const sap_model* model = call->multibody->model;
  const size_t n = (size_t)model->sizes.nv;
  row_change change = make_change(call);
  sap_derivatives_note(call->out->notes, "by differences: rows of balls, tendons, transmissions");
  for (int32_t t = 0; t < block->ntrees; ++t) {
    const int32_t first = model->tree_dofs[block->trees[t]];
    for (int32_t k = first; k < first + model->tree_sizes[block->trees[t]]; ++k) {
      find_change(call, block, call->step->v0_free, k, false, &change);
      const double x = by[2] * dot(change.J, call->step->v0_free, n) -
                       G * dot(change.J, call->out->v, n) +
                       by[1] * 2.0 * dot(change.J, call->w->X[0], n);
      sap_slopes_add_rows(call, &x, call->out->dq0, k);
      add_turned(call, block, &gamma, change.J, k);
    }
  }
  call->kin_A = sap_multibody_kinematics(call->multibody, call->out->q_A);
}

// Part of an equality that v_guess moves, v0 or, where the step was solved about v, v; times scale.
static void add_guess(const sap_slopes_call* call, const sap_block* block, const double* G,
                      const double* guess, double scale, double* out) {
  const sap_contact_slopes* w = call->w;
  const double dt = call->step->dt;
  row_change change = make_change(call);
  for (int32_t c = 0; c < w->columns; ++c) {
    double x[ROWS] = {0.0};
    const int32_t k = w->column_dof[c];
    find_change(call, block, guess, k, true, &change);
    for (int32_t r = 0; r < block->nrows; ++r) {
      x[r] = scale * G[(block->nrows + 1) * r] * (change.end[r] / dt - w->J[r][c]);
    }
    sap_slopes_add_rows(call, x, out, k);
  }
}

// Returns d(v_hat - gamma R)/dg0, R of a rigid row with a constant Delassus scale w.
static double gap_slope(const sap_equality_def* e, double T, double g, double gammaR) {
  const double share = fabs(g) / (T * SAP_RECOVERY_SPEED);
  if (!isinf(e->stiffness)) {
    return -1.0 / T;
  }
  if (share >= 1.0) {
    return 0.0;
  }
  const bool gives = SAP_GIVING_ROW * share * share * share * share > SAP_RIGID_ROW;
  return -1.0 / T - (gives ? 4.0 * gammaR / g : 0.0);
}

void sap_slopes_add_equality(sap_slopes_call* call, const sap_block* block, const double* gamma,
                             const double* G) {
  const sap_model* model = call->multibody->model;
  const sap_equality_def* e = &model->equalities[sap_assembly_key_id(block->key, 0)];
  const sap_step_context* s = call->step;
  const size_t n = (size_t)model->sizes.nv;
  const double* guess = s->v_guess != NULL ? s->v_guess : call->out->v;
  const double T = s->dt + e->relaxation_time;
  row_change change = make_change(call);
  double g[ROWS];
  if (call->out->minus_dv != NULL && s->v_guess == NULL) {
    add_guess(call, block, G, guess, 1.0, call->out->minus_dv);
  }
  if (call->out->dq0 == NULL) {
    return;
  }
  sap_derivatives_note(call->out->notes, "by differences: equalities");
  if (isinf(e->stiffness)) {
    sap_derivatives_note(call->out->notes, "held: Delassus scale in R of equalities");
  }
  if (s->v_guess != NULL) {
    sap_derivatives_note(call->out->notes, "held: curvature of equalities, along the guess of v");
  }
  if (s->v_guess != NULL) {
    add_guess(call, block, G, guess, -1.0, call->out->dv0);
  }
  make_rows(call, call->kin, block->key, g);
  for (int32_t t = 0; t < block->ntrees; ++t) {
    const int32_t first = model->tree_dofs[block->trees[t]];
    for (int32_t k = first; k < first + model->tree_sizes[block->trees[t]]; ++k) {
      double x[ROWS] = {0.0};
      find_change(call, block, guess, k, false, &change);
      for (int32_t r = 0; r < block->nrows; ++r) {
        const double* dJ = change.J + n * (size_t)r;
        x[r] =
            G[(block->nrows + 1) * r] *
            (gap_slope(e, T, g[r], gamma[r] * block->R[r]) * change.g[r] -
             dot(dJ, call->out->v, n) - (change.end[r] - change.g[r]) / s->dt + dot(dJ, guess, n));
      }
      sap_slopes_add_rows(call, x, call->out->dq0, k);
      add_turned(call, block, gamma, change.J, k);
    }
  }
  call->kin_A = sap_multibody_kinematics(call->multibody, call->out->q_A);
}
