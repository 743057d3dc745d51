// SPDX-License-Identifier: BSD-3-Clause
// The momentum balance of a step, with the momenta of links remembered from the last evaluation.
#include <string.h>

#include "core/error.h"
#include "multibody/dynamics/momentum.h"
#include "multibody/engine/multibody_data.h"
#include "multibody/model/model_data.h"

static sap_status create_state(const sap_model* model, sap_pool* pool, sap_momentum_state* state,
                               sap_error* error) {
  SAP_TRY(SAP_POOL_ADD(pool, &state->q, model->sizes.nq, error));
  SAP_TRY(SAP_POOL_ADD(pool, &state->v, model->sizes.nv, error));
  return SAP_POOL_ADD(pool, &state->momenta, model->sizes.bodies, error);
}

sap_status sap_momentum_memory_create(const sap_model* model, sap_pool* pool,
                                      sap_momentum_memory* memory, sap_error* error) {
  SAP_TRY(SAP_POOL_ADD(pool, &memory->inertial, model->sizes.nv, error));
  SAP_TRY(SAP_POOL_ADD(pool, &memory->moved, model->sizes.trees, error));
  SAP_TRY(create_state(model, pool, &memory->start, error));
  return create_state(model, pool, &memory->end, error);
}

void sap_momentum_memory_forget(sap_momentum_memory* memory) {
  memory->start.known = memory->end.known = false;
}

static bool is_at(const sap_model* model, const sap_momentum_state* state, const double* q,
                  const double* v) {
  return state->known && memcmp(state->q, q, (size_t)model->sizes.nq * sizeof *q) == 0 &&
         memcmp(state->v, v, (size_t)model->sizes.nv * sizeof *v) == 0;
}

static void set_state(const sap_model* model, sap_momentum_state* state, const double* q,
                      const double* v) {
  memcpy(state->q, q, (size_t)model->sizes.nq * sizeof *q);
  memcpy(state->v, v, (size_t)model->sizes.nv * sizeof *v);
  state->known = true;
}

// Returns the trees that are not where they were evaluated last; NULL: all.
static const bool* find_moved(sap_multibody* multibody, double dt, const double* q,
                              const double* v) {
  const sap_model* model = multibody->model;
  sap_momentum_memory* memory = &multibody->momenta;
  const sap_momentum_state* end = &memory->end;
  if (!memory->inertial_known || memory->dt != dt) {
    return NULL;
  }
  const int32_t* tree_q = sap_dynamics_tree_q(multibody->dynamics);
  for (int32_t t = 0; t < model->sizes.trees; ++t) {
    const size_t iq = (size_t)tree_q[t], iv = (size_t)model->tree_dofs[t];
    const size_t nq = (size_t)tree_q[t + 1] - iq, nv = (size_t)model->tree_sizes[t];
    memory->moved[t] = memcmp(end->v + iv, v + iv, nv * sizeof(double)) != 0 ||
                       memcmp(end->q + iq, q + iq, nq * sizeof(double)) != 0;
  }
  return memory->moved;
}

// Makes memory->start that of (q0, v0).
static void find_start(sap_multibody* multibody, const double* q0, const double* v0) {
  const sap_model* model = multibody->model;
  sap_momentum_memory* memory = &multibody->momenta;
  if (is_at(model, &memory->start, q0, v0)) {
    return;
  }
  memory->inertial_known = false;
  if (is_at(model, &memory->end, q0, v0)) {
    const sap_momentum_state start = memory->start;
    memory->start = memory->end;
    memory->end = start;
  } else {
    const sap_dynamics_state at = {.kin = sap_multibody_kinematics(multibody, q0), .v = v0};
    sap_dynamics_momenta(multibody->dynamics, &at, memory->start.momenta);
    set_state(model, &memory->start, q0, v0);
  }
}

void sap_multibody_balance(sap_multibody* multibody, const sap_step_context* context,
                           const double* q, const double* v, double* residual, double* load) {
  sap_momentum_memory* memory = &multibody->momenta;
  find_start(multibody, context->q0, context->v0);
  const sap_momentum_step step = {
      .dt = context->dt,
      .v0 = context->v0,
      .start = memory->start.momenta,
      .end = memory->end.momenta,
      .trees = load == NULL ? find_moved(multibody, context->dt, q, v) : NULL,
      .inertial = memory->inertial};
  const sap_dynamics_state at = {sap_multibody_kinematics(multibody, q), v, multibody->input};
  sap_dynamics_momentum_balance(multibody->dynamics, &at, &step, residual, load);
  set_state(multibody->model, &memory->end, q, v);
  memory->inertial_known = true;
  memory->dt = context->dt;
}
