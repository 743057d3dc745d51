// SPDX-License-Identifier: BSD-3-Clause
#include "integrators/balance.h"

#include <math.h>
#include <string.h>

#include "core/memory.h"

// The theta point may move by this [rad, m] without A being evaluated anew: A follows it with a
// relative change of the same size, far below what the contact solve resolves.
static const double NEAR = 1e-6;

sap_status sap_balance_create(const sap_system* system, sap_balance* balance, sap_error* error) {
  const size_t nv = (size_t)system->nv;
  balance->system = system;
  balance->q_theta = sap_allocate((size_t)system->nq, sizeof(double));
  balance->v_theta = sap_allocate(nv, sizeof(double));
  balance->v_vq = sap_allocate(nv, sizeof(double));
  balance->k1 = sap_allocate(nv, sizeof(double));
  balance->k2 = sap_allocate(nv, sizeof(double));
  balance->a = sap_allocate(nv, sizeof(double));
  balance->v_matrix = sap_allocate(nv, sizeof(double));
  const bool complete = balance->q_theta != NULL && balance->v_theta != NULL &&
                        balance->v_vq != NULL && balance->k1 != NULL && balance->k2 != NULL &&
                        balance->a != NULL && balance->v_matrix != NULL;
  sap_status status = complete ? sap_tree_store_create(system, &balance->A, error)
                               : sap_fail(error, SAP_STATUS_MEMORY,
                                          "out of memory: free motion of %zu velocities", nv);
  if (status == SAP_STATUS_OK && system->stiffness_damping != NULL &&
      system->add_stiffness_damping == NULL) {
    status = sap_tree_store_create(system, &balance->K, error);
    if (status == SAP_STATUS_OK) {
      status = sap_tree_store_create(system, &balance->D, error);
    }
  }
  if (status == SAP_STATUS_OK && system->inverse_dynamics == NULL) {
    status = sap_tree_store_create(system, &balance->M, error);
  }
  if (status != SAP_STATUS_OK) {
    sap_balance_clear(balance);
  }
  return status;
}

void sap_balance_clear(sap_balance* balance) {
  sap_free(balance->q_theta);
  sap_free(balance->v_theta);
  sap_free(balance->v_vq);
  sap_free(balance->k1);
  sap_free(balance->k2);
  sap_free(balance->a);
  sap_free(balance->v_matrix);
  sap_tree_store_clear(&balance->A);
  sap_tree_store_clear(&balance->K);
  sap_tree_store_clear(&balance->D);
  sap_tree_store_clear(&balance->M);
  memset(balance, 0, sizeof *balance);
}

void sap_balance_begin(sap_balance* balance, const sap_step_context* step) {
  balance->step = *step;
  balance->scheme = sap_theta_of(step);
  balance->impulse = NULL;
  balance->q = step->q0;
  balance->v = step->v0_free;
}

// m -= p
static void subtract_impulse(const sap_balance* balance, double* m) {
  for (int32_t i = 0; balance->impulse != NULL && i < balance->system->nv; ++i) {
    m[i] -= balance->impulse[i];
  }
}

static sap_status refused(const char* callback, int code, sap_error* error) {
  return sap_fail(error, SAP_STATUS_CALLBACK, "the system's %s returned %d", callback, code);
}

static double theta_time(const sap_balance* balance) {
  return balance->step.t + balance->scheme.theta * balance->scheme.dt;
}

sap_status sap_balance_set_velocity(sap_balance* balance, const double* v, sap_error* error) {
  const sap_system* system = balance->system;
  const double theta = balance->scheme.theta;
  const double theta_vq = balance->scheme.theta_vq;
  if (theta == 0.0) {
    return SAP_STATUS_OK;  // q^theta = q0, v^theta = v0
  }
  for (int32_t i = 0; i < system->nv; ++i) {
    balance->v_theta[i] = theta * v[i] + (1.0 - theta) * balance->step.v0_free[i];
    balance->v_vq[i] = theta_vq * v[i] + (1.0 - theta_vq) * balance->step.v0_free[i];
  }
  const int code = system->integrate_positions(system->context, balance->step.q0, balance->v_vq,
                                               theta * balance->scheme.dt, balance->q_theta);
  balance->q = balance->q_theta;
  balance->v = balance->v_theta;
  return code == 0 ? SAP_STATUS_OK : refused("integrate_positions", code, error);
}

static sap_status evaluate_forces(sap_balance* balance, sap_error* error) {
  const sap_system* system = balance->system;
  memset(balance->k1, 0, (size_t)system->nv * sizeof(double));
  memset(balance->k2, 0, (size_t)system->nv * sizeof(double));
  const int code = system->forces(system->context, theta_time(balance), balance->q, balance->v,
                                  balance->k1, balance->k2);
  return code == 0 ? SAP_STATUS_OK : refused("forces", code, error);
}

static sap_status mass_matrix(sap_balance* balance, sap_tree_store* M, sap_error* error) {
  const sap_system* system = balance->system;
  sap_tree_store_zero(M);
  const int code = system->mass_matrix(system->context, balance->q, &M->view);
  return code == 0 ? SAP_STATUS_OK : refused("mass_matrix", code, error);
}

static bool takes_momenta(const sap_balance* balance) {
  return balance->system->momentum_balance != NULL && balance->scheme.theta == 1.0 &&
         balance->scheme.theta_vq == 1.0;
}

// m by the system's own account of the change of momentum.
static sap_status momentum_balance(const sap_balance* balance, const double* v, double* m,
                                   double* load, sap_error* error) {
  const sap_system* system = balance->system;
  const double dt = balance->scheme.dt;
  const int code =
      system->momentum_balance(system->context, &balance->step, balance->q, v, m, load);
  for (int32_t i = 0; i < system->nv; ++i) {
    m[i] *= dt;
  }
  subtract_impulse(balance, m);
  sap_balance_lock_residual(balance, v, m);
  return code == 0 ? SAP_STATUS_OK : refused("momentum_balance", code, error);
}

sap_status sap_balance_residual(sap_balance* balance, const int32_t* tree_dof, const double* v,
                                double* m, sap_error* error) {
  const sap_system* system = balance->system;
  const double dt = balance->scheme.dt;
  if (takes_momenta(balance)) {
    return momentum_balance(balance, v, m, NULL, error);
  }
  if (system->inverse_dynamics != NULL) {
    for (int32_t i = 0; i < system->nv; ++i) {
      balance->a[i] = (v[i] - balance->step.v0[i]) / dt;
    }
    const int code = system->inverse_dynamics(system->context, theta_time(balance), balance->q,
                                              balance->v, balance->a, m);
    for (int32_t i = 0; i < system->nv; ++i) {
      m[i] *= dt;
    }
    subtract_impulse(balance, m);
    sap_balance_lock_residual(balance, v, m);
    return code == 0 ? SAP_STATUS_OK : refused("inverse_dynamics", code, error);
  }
  sap_status status = evaluate_forces(balance, error);
  if (status == SAP_STATUS_OK) {
    status = mass_matrix(balance, &balance->M, error);
  }
  if (status != SAP_STATUS_OK) {
    return status;
  }
  for (int32_t i = 0; i < system->nv; ++i) {
    balance->a[i] = v[i] - balance->step.v0[i];
  }
  sap_tree_store_multiply(system, balance->threads, tree_dof, &balance->M, balance->a, m);
  for (int32_t i = 0; i < system->nv; ++i) {
    m[i] -= dt * (balance->k1[i] + balance->k2[i]);
  }
  subtract_impulse(balance, m);
  sap_balance_lock_residual(balance, v, m);
  return SAP_STATUS_OK;
}

static sap_status add_stiffness_damping(sap_balance* balance, sap_error* error) {
  const sap_system* system = balance->system;
  const sap_theta* s = &balance->scheme;
  const double K_scale = s->dt * s->dt * s->theta * s->theta_vq;
  const double D_scale = s->dt * s->theta;
  if (system->add_stiffness_damping != NULL) {
    const int code = system->add_stiffness_damping(system->context, theta_time(balance), balance->q,
                                                   balance->v, K_scale, D_scale, &balance->A.view);
    return code == 0 ? SAP_STATUS_OK : refused("add_stiffness_damping", code, error);
  }
  sap_tree_store_zero(&balance->K);
  sap_tree_store_zero(&balance->D);
  const int code = system->stiffness_damping(system->context, theta_time(balance), balance->q,
                                             balance->v, &balance->K.view, &balance->D.view);
  if (code != 0) {
    return refused("stiffness_damping", code, error);
  }
  sap_tree_store_add_scaled(&balance->A, K_scale, &balance->K);
  sap_tree_store_add_scaled(&balance->A, D_scale, &balance->D);
  return SAP_STATUS_OK;
}

bool sap_balance_matrix_is_near(const sap_balance* balance) {
  const double reach = balance->scheme.theta * balance->scheme.dt;
  bool near = true;
  for (int32_t i = 0; i < balance->system->nv; ++i) {
    near &= reach * fabs(balance->v_vq[i] - balance->v_matrix[i]) <= NEAR;
  }
  return near;
}

// A holds M; adds the rest of A.
static sap_status complete_matrix(sap_balance* balance, const int32_t* tree_dof, sap_error* error) {
  memcpy(balance->v_matrix, balance->v_vq, (size_t)balance->system->nv * sizeof(double));
  sap_status status = SAP_STATUS_OK;
  if (balance->scheme.theta > 0.0 && balance->system->stiffness_damping != NULL) {
    status = add_stiffness_damping(balance, error);
  }
  if (status != SAP_STATUS_OK) {
    return status;
  }
  sap_balance_lock_matrix(balance, tree_dof);
  int32_t tree = 0;
  if (!sap_tree_store_is_finite(balance->system, balance->threads, &balance->A, &tree)) {
    return sap_fail(error, SAP_STATUS_NOT_FINITE, "A of tree %d has an entry that is not finite",
                    tree);
  }
  return SAP_STATUS_OK;
}

sap_status sap_balance_matrix(sap_balance* balance, const int32_t* tree_dof, sap_error* error) {
  const sap_status status = mass_matrix(balance, &balance->A, error);
  return status == SAP_STATUS_OK ? complete_matrix(balance, tree_dof, error) : status;
}

// m from A, which holds M, and the forces, and their load.
static sap_status assemble_residual(sap_balance* balance, const int32_t* tree_dof, const double* v,
                                    double* m, double* load, sap_error* error) {
  const double dt = balance->scheme.dt;
  const sap_status status = evaluate_forces(balance, error);
  if (status != SAP_STATUS_OK) {
    return status;
  }
  for (int32_t i = 0; i < balance->system->nv; ++i) {
    balance->a[i] = v[i] - balance->step.v0[i];
  }
  sap_tree_store_multiply(balance->system, balance->threads, tree_dof, &balance->A, balance->a, m);
  for (int32_t i = 0; i < balance->system->nv; ++i) {
    m[i] -= dt * (balance->k1[i] + balance->k2[i]);
    load[i] = fabs(balance->k1[i]) + fabs(balance->k2[i]);
  }
  subtract_impulse(balance, m);
  sap_balance_lock_residual(balance, v, m);
  return SAP_STATUS_OK;
}

sap_status sap_balance_start(sap_balance* balance, const int32_t* tree_dof, const double* v,
                             double* m, double* load, sap_error* error) {
  const double dt = balance->scheme.dt;
  sap_status status = sap_balance_set_velocity(balance, v, error);
  if (status == SAP_STATUS_OK) {
    status = mass_matrix(balance, &balance->A, error);
  }
  if (status == SAP_STATUS_OK) {
    status = takes_momenta(balance) ? momentum_balance(balance, v, m, load, error)
                                    : assemble_residual(balance, tree_dof, v, m, load, error);
  }
  if (status != SAP_STATUS_OK) {
    return status;
  }
  for (int32_t i = 0; i < balance->system->nv; ++i) {
    const double force = load[i];
    load[i] = dt * force;
    load[i] += balance->impulse != NULL ? fabs(balance->impulse[i]) : 0.0;
    if (!isfinite(load[i])) {
      return sap_fail(error, SAP_STATUS_NOT_FINITE, "force on velocity %d is %g", i, force);
    }
  }
  sap_balance_lock_residual(balance, balance->step.v0_free, load);  // no load: zero
  return complete_matrix(balance, tree_dof, error);
}
