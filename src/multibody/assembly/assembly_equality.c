// SPDX-License-Identifier: BSD-3-Clause
// Equalities g(q) = 0 (equality_rows.h) as free blocks.
// A finite stiffness k with damping k tau_d, limited as a contact's is:
//   R = max(beta^2/(4 pi^2) w, 1/(dt k (dt + tau_d))),  an infinite one: R = 1e-6 w.
// w = |W|_F/3 of the three translations or rotations (else of the row), so that a row along which
// nothing can move, as across a planar loop, keeps R > 0.
// The position after the step is g0 + dt J v + c with the curvature c = O(dt^2), which a step that
// closes only g0 + dt J v misses step by step: a loop in motion would hang open by dt a (dt +
// tau_d)/2. Its estimate is what g at q0 (+) dt v_guess differs by from g0 + dt J v_guess, with
// v_guess = v0 and, where that has missed after a blow, the v found (integrators/rounds.c), hence
//   v_hat = -g0/(dt + tau_d) - c/dt;
// rigid_row.h has rigid ones, which give way where they stand far open;
// at the theta point of a step that resolves a soft one: problem/stage.c.
// Where J is that of a point within the step (midpoint), rows that still close at its end ask that
// the velocity there closes, which is second order:
//   J v = -g0/(dt + tau_d) - (J_end - J) v_guess,  J_end at q0 (+) dt v_guess
#include <math.h>

#include "contact/rigid_row.h"
#include "multibody/assembly/assembly_data.h"
#include "multibody/assembly/equality_rows.h"
#include "problem/problem_data.h"

void sap_assembly_predict(sap_assembly* assembly, const sap_dynamics* dynamics, const double* q) {
  const sap_model* model = assembly->model;
  for (int32_t id = 0; id < model->sizes.equalities; ++id) {
    sap_equality_gaps(dynamics, model, &model->equalities[id], q,
                      assembly->predicted + SAP_ROWS_MAX * (size_t)id);
  }
}

void sap_assembly_predict_rates(sap_assembly* assembly, const sap_dynamics* dynamics,
                                const double* q, const double* v) {
  const sap_model* model = assembly->model;
  for (int32_t id = 0; id < model->sizes.equalities; ++id) {
    const sap_equality_def* e = &model->equalities[id];
    sap_equality_rows(dynamics, model, e, q, &assembly->rows);
    for (int32_t r = 0; r < sap_equality_row_count(e); ++r) {
      assembly->rate_end[SAP_ROWS_MAX * id + r] = sap_rows_times(&assembly->rows, r, v);
    }
  }
}

void sap_assembly_start_gaps(sap_assembly* assembly, const sap_dynamics* dynamics,
                             const double* q0) {
  sap_assembly_predict(assembly, dynamics, q0);
}

// R and v_hat of row r.
static sap_status set_law(const sap_assembly_call* call, const sap_equality_def* e, int32_t r,
                          const sap_soft_row* row, sap_row_law* law) {
  if (isinf(e->stiffness)) {
    sap_rigid_bilateral(row, call->dt, &law->R[r], &law->v_hat[r]);
    return SAP_STATUS_OK;
  }
  return sap_problem_soften_row(call->problem, call->start->regularization, row, &law->R[r],
                                &law->v_hat[r], call->error);
}

static sap_status add_equality(const sap_assembly_call* call, int32_t id) {
  const sap_assembly_start* start = call->start;
  const sap_model* model = call->assembly->model;
  const sap_equality_def* e = &model->equalities[id];
  double* predicted = call->assembly->predicted + SAP_ROWS_MAX * (size_t)id;
  const double* rate_end = call->assembly->rate_end + SAP_ROWS_MAX * (size_t)id;
  const double* v_guess = sap_problem_v_guess(call->problem);
  sap_rows* rows = &call->assembly->rows;
  const int32_t nrows = sap_equality_row_count(e);
  double g[SAP_ROWS_MAX];
  sap_row_law law = {.set = SAP_SET_FREE, .key = sap_assembly_key(SAP_KEY_EQUALITY, id, 0, 0)};
  const double* q = sap_assembly_positions(call);
  sap_equality_gaps(start->dynamics, model, e, q, g);
  sap_equality_rows(start->dynamics, model, e, q, rows);
  double w[2] = {0.0, 0.0};  // of translations and rotations
  for (int32_t first = 0; first < nrows; first += 3) {
    const int32_t count = nrows < 3 ? nrows : 3;
    const sap_status status = sap_assembly_rows_scale(call, first, count, &w[first / 3]);
    if (status != SAP_STATUS_OK) {
      return status;
    }
  }
  const double largest = fmax(w[0], w[1]);
  if (!(largest > 0.0)) {
    return SAP_STATUS_OK;
  }
  for (int32_t r = 0; r < nrows; ++r) {
    const double rate_guess = sap_rows_times(rows, r, v_guess);
    sap_soft_row row = {.stiffness = e->stiffness,
                        .relaxation_time = e->relaxation_time,
                        .rate0 = sap_rows_times(rows, r, start->v0),
                        .w = w[r / 3] > 0.0 ? w[r / 3] : largest,  // a half may not move
                        .recovery_speed = isinf(e->stiffness) ? SAP_RECOVERY_SPEED : 0.0};
    sap_status status = SAP_STATUS_OK;
    if (call->assembly->moved == NULL) {
      row.g0 = g[r];
      row.curvature = predicted[r] - g[r] - call->dt * rate_guess;
      predicted[r] = g[r] + row.curvature;
      status = set_law(call, e, r, &row, &law);
    } else {
      row.g0 = sap_assembly_gap0(call, r, g[r]);
      if (!sap_stage_normal(call->problem, &row, start->regularization->beta, &law.R[r],
                            &law.v_hat[r])) {
        row.g0 = predicted[r];
        row.curvature = call->dt * (rate_end[r] - rate_guess);
        status = set_law(call, e, r, &row, &law);
      }
    }
    if (status != SAP_STATUS_OK) {
      return status;
    }
  }
  return sap_assembly_add_rows(call, &law);
}

double sap_assembly_closure(const sap_assembly* assembly, sap_dynamics* dynamics, const double* q) {
  const sap_model* model = assembly->model;
  double largest = 0.0;
  for (int32_t id = 0; id < model->sizes.equalities; ++id) {
    const sap_equality_def* e = &model->equalities[id];
    double g[SAP_ROWS_MAX];
    sap_equality_gaps(dynamics, model, e, q, g);
    for (int32_t r = 0; assembly->on[SAP_ASSEMBLY_EQUALITY][id] && r < sap_equality_row_count(e);
         ++r) {
      largest = fmax(largest, fabs(g[r]));
    }
  }
  return largest;
}

double sap_assembly_closure_error(const sap_assembly* assembly, const sap_dynamics* dynamics,
                                  const double* q, const sap_problem* problem, const double* vc) {
  const sap_model* model = assembly->model;
  const double dt = sap_problem_dt(problem);
  double largest = 0.0;
  sap_block block;
  int32_t row = 0;
  // Equalities are the last blocks, in order.
  int32_t index = sap_problem_block_count(problem) - 1;
  for (int32_t id = model->sizes.equalities - 1; id >= 0 && index >= 0; --id) {
    const sap_equality_def* e = &model->equalities[id];
    if (sap_problem_block(problem, index, &block, &row, NULL) != SAP_STATUS_OK ||
        block.key != sap_assembly_key(SAP_KEY_EQUALITY, id, 0, 0)) {
      continue;  // switched off, or nothing of it can move
    }
    --index;
    double g[SAP_ROWS_MAX];
    sap_equality_gaps(dynamics, model, e, q, g);
    for (int32_t r = 0; isinf(e->stiffness) && r < block.nrows; ++r) {
      const double missed =
          g[r] - assembly->predicted[SAP_ROWS_MAX * (size_t)id + (size_t)r] - dt * vc[row + r];
      largest = fmax(largest, fabs(missed));
    }
  }
  return largest;
}

sap_status sap_assembly_add_equalities(sap_assembly* assembly, const sap_assembly_start* start,
                                       sap_problem* problem, sap_error* error) {
  const sap_model* model = assembly->model;
  const sap_assembly_call call = {assembly, start, problem, sap_problem_dt(problem), error};
  for (int32_t id = 0; id < model->sizes.equalities; ++id) {
    const sap_status status =
        assembly->on[SAP_ASSEMBLY_EQUALITY][id] ? add_equality(&call, id) : SAP_STATUS_OK;
    if (status != SAP_STATUS_OK) {
      sap_error_prefix(error, "equality %d '%s'", id,
                       sap_model_get_name(model, SAP_ELEMENT_EQUALITY, id));
      return status;
    }
  }
  return SAP_STATUS_OK;
}
