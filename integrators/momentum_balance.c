// SPDX-License-Identifier: BSD-3-Clause
#include "integrators/momentum_balance.h"

#include <math.h>
#include <string.h>

// The theta point may move by this [rad, m] before A is evaluated again: A changes by a relative
// amount of the same size, far below the accuracy of the contact solve.
static const double NEAR = 1e-6;

sap_status sap_momentum_balance_create(const sap_system* system, sap_pool* pool,
                                       sap_momentum_balance* balance, sap_error* error) {
  balance->system = system;
  const int32_t nv = system->nv;
  SAP_TRY(SAP_POOL_ADD_ALL(pool, error, SAP_ARRAY(&balance->q_theta, system->nq),
                           SAP_ARRAY(&balance->v_theta, nv), SAP_ARRAY(&balance->v_vq, nv),
                           SAP_ARRAY(&balance->k1, nv), SAP_ARRAY(&balance->k2, nv),
                           SAP_ARRAY(&balance->a, nv), SAP_ARRAY(&balance->v_matrix, nv)));
  SAP_TRY(sap_tree_store_create(system, pool, &balance->A, error));
  if (system->stiffness_damping != NULL && system->add_stiffness_damping == NULL) {
    SAP_TRY(sap_tree_store_create(system, pool, &balance->K, error));
    SAP_TRY(sap_tree_store_create(system, pool, &balance->D, error));
  }
  return system->inverse_dynamics == NULL ? sap_tree_store_create(system, pool, &balance->M, error)
                                          : SAP_STATUS_OK;
}

// Returns the locked velocities; NULL: none.
static const bool* find_locked(const sap_momentum_balance* balance) {
  const sap_system* system = balance->system;
  const bool any =
      system->locked != NULL && memchr(system->locked, true, (size_t)system->nv) != NULL;
  return any ? system->locked : NULL;
}

void sap_momentum_balance_release(const sap_momentum_balance* balance, double* v) {
  const bool* locked = find_locked(balance);
  for (int32_t i = 0; locked != NULL && i < balance->system->nv; ++i) {
    v[i] = locked[i] ? 0.0 : v[i];
  }
}

// m = scale m - p, and the row of a locked velocity is the velocity itself.
static void finish_residual(const sap_momentum_balance* balance, double scale, const double* v,
                            double* m) {
  const bool* locked = find_locked(balance);
  for (int32_t i = 0; i < balance->system->nv; ++i) {
    m[i] = scale * m[i] - (balance->impulse != NULL ? balance->impulse[i] : 0.0);
  }
  for (int32_t i = 0; locked != NULL && i < balance->system->nv; ++i) {
    m[i] = locked[i] ? v[i] : m[i];
  }
}

// Makes rows and columns of locked velocities in A those of the unit matrix.
static void lock_matrix(sap_momentum_balance* balance) {
  const sap_system* system = balance->system;
  const bool* locked = find_locked(balance);
  for (int32_t i = 0; locked != NULL && i < system->ntrees + system->ncouplings; ++i) {
    const bool diagonal = i < system->ntrees;
    const int32_t a = diagonal ? i : system->couplings[i - system->ntrees][0];
    const int32_t b = diagonal ? i : system->couplings[i - system->ntrees][1];
    double* entry = balance->A.pointers[i];
    for (int32_t column = 0; column < system->tree_sizes[b]; ++column) {
      for (int32_t row = 0; row < system->tree_sizes[a]; ++row, ++entry) {
        if (locked[balance->A.tree_dof[a] + row] || locked[balance->A.tree_dof[b] + column]) {
          *entry = diagonal && row == column ? 1.0 : 0.0;
        }
      }
    }
  }
}

void sap_momentum_balance_begin(sap_momentum_balance* balance, const sap_step_context* step) {
  balance->step = *step;
  balance->scheme = sap_theta_of(step);
  balance->impulse = NULL;
  balance->q = step->q0;
  balance->v = step->v0_free;
}

sap_status sap_callback_check(const char* callback, int code, sap_error* error) {
  return code == 0
             ? SAP_STATUS_OK
             : sap_fail(error, SAP_STATUS_CALLBACK, "the system's %s returned %d", callback, code);
}

static double theta_time(const sap_momentum_balance* balance) {
  return balance->step.t + balance->scheme.theta * balance->scheme.dt;
}

sap_status sap_momentum_balance_set_velocity(sap_momentum_balance* balance, const double* v,
                                             sap_error* error) {
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
  return sap_callback_check("integrate_positions", code, error);
}

static sap_status evaluate_forces(sap_momentum_balance* balance, sap_error* error) {
  const sap_system* system = balance->system;
  memset(balance->k1, 0, (size_t)system->nv * sizeof(double));
  memset(balance->k2, 0, (size_t)system->nv * sizeof(double));
  const int code = system->forces(system->context, theta_time(balance), balance->q, balance->v,
                                  balance->k1, balance->k2);
  return sap_callback_check("forces", code, error);
}

static sap_status fill_mass_matrix(sap_momentum_balance* balance, sap_tree_store* M,
                                   sap_error* error) {
  const sap_system* system = balance->system;
  sap_tree_store_zero(M);
  const int code = system->mass_matrix(system->context, balance->q, &M->view);
  return sap_callback_check("mass_matrix", code, error);
}

// True if the system computes m itself from the change of momentum.
static bool uses_system_balance(const sap_momentum_balance* balance) {
  return balance->system->momentum_balance != NULL && balance->scheme.theta == 1.0 &&
         balance->scheme.theta_vq == 1.0;
}

// Computes m by the system's momentum_balance.
static sap_status system_balance(const sap_momentum_balance* balance, const double* v, double* m,
                                 double* load, sap_error* error) {
  const sap_system* system = balance->system;
  const int code =
      system->momentum_balance(system->context, &balance->step, balance->q, v, m, load);
  finish_residual(balance, balance->step.dt, v, m);
  return sap_callback_check("momentum_balance", code, error);
}

// Computes m by the system's inverse_dynamics.
static sap_status inverse_dynamics(sap_momentum_balance* balance, const double* v, double* m,
                                   sap_error* error) {
  const sap_system* system = balance->system;
  const double dt = balance->step.dt;
  for (int32_t i = 0; i < system->nv; ++i) {
    balance->a[i] = (v[i] - balance->step.v0[i]) / dt;
  }
  const int code = system->inverse_dynamics(system->context, theta_time(balance), balance->q,
                                            balance->v, balance->a, m);
  finish_residual(balance, balance->step.dt, v, m);
  return sap_callback_check("inverse_dynamics", code, error);
}

// Computes m from M and the forces k1 and k2.
static void multiply_residual(sap_momentum_balance* balance, const sap_tree_store* M,
                              const double* v, double* m) {
  const sap_system* system = balance->system;
  for (int32_t i = 0; i < system->nv; ++i) {
    balance->a[i] = v[i] - balance->step.v0[i];
  }
  sap_tree_store_multiply(system, M, balance->a, m);
  for (int32_t i = 0; i < system->nv; ++i) {
    m[i] -= balance->step.dt * (balance->k1[i] + balance->k2[i]);
  }
  finish_residual(balance, 1.0, v, m);
}

sap_status sap_momentum_balance_residual(sap_momentum_balance* balance, const double* v, double* m,
                                         sap_error* error) {
  if (uses_system_balance(balance)) {
    return system_balance(balance, v, m, NULL, error);
  }
  if (balance->system->inverse_dynamics != NULL) {
    return inverse_dynamics(balance, v, m, error);
  }
  SAP_TRY(evaluate_forces(balance, error));
  SAP_TRY(fill_mass_matrix(balance, &balance->M, error));
  multiply_residual(balance, &balance->M, v, m);
  return SAP_STATUS_OK;
}

static sap_status add_stiffness_damping(sap_momentum_balance* balance, sap_error* error) {
  const sap_system* system = balance->system;
  const sap_theta* s = &balance->scheme;
  const double K_scale = s->dt * s->dt * s->theta * s->theta_vq;
  const double D_scale = s->dt * s->theta;
  if (system->add_stiffness_damping != NULL) {
    const int code = system->add_stiffness_damping(system->context, theta_time(balance), balance->q,
                                                   balance->v, K_scale, D_scale, &balance->A.view);
    return sap_callback_check("add_stiffness_damping", code, error);
  }
  SAP_RETURN_IF(system->stiffness_damping == NULL, SAP_STATUS_OK);
  sap_tree_store_zero(&balance->K);
  sap_tree_store_zero(&balance->D);
  const int code = system->stiffness_damping(system->context, theta_time(balance), balance->q,
                                             balance->v, &balance->K.view, &balance->D.view);
  SAP_TRY(sap_callback_check("stiffness_damping", code, error));
  sap_tree_store_add_scaled(&balance->A, K_scale, &balance->K);
  sap_tree_store_add_scaled(&balance->A, D_scale, &balance->D);
  return SAP_STATUS_OK;
}

bool sap_momentum_balance_matrix_is_near(const sap_momentum_balance* balance) {
  const double reach = balance->scheme.theta * balance->scheme.dt;
  bool near = true;
  for (int32_t i = 0; i < balance->system->nv; ++i) {
    near &= reach * fabs(balance->v_vq[i] - balance->v_matrix[i]) <= NEAR;
  }
  return near;
}

// Adds K and D to A, which holds M, and checks it.
static sap_status complete_matrix(sap_momentum_balance* balance, sap_error* error) {
  memcpy(balance->v_matrix, balance->v_vq, (size_t)balance->system->nv * sizeof(double));
  if (balance->scheme.theta > 0.0) {
    SAP_TRY(add_stiffness_damping(balance, error));
  }
  lock_matrix(balance);
  int32_t tree = 0;
  SAP_FAIL_IF(!sap_tree_store_is_finite(balance->system, &balance->A, &tree), error,
              SAP_STATUS_NOT_FINITE, "A of tree %d has an entry that is not finite", tree);
  return SAP_STATUS_OK;
}

sap_status sap_momentum_balance_matrix(sap_momentum_balance* balance, sap_error* error) {
  SAP_TRY(fill_mass_matrix(balance, &balance->A, error));
  return complete_matrix(balance, error);
}

sap_status sap_momentum_balance_start(sap_momentum_balance* balance, const double* v, double* m,
                                      double* load, sap_error* error) {
  const double dt = balance->scheme.dt;
  SAP_TRY(sap_momentum_balance_set_velocity(balance, v, error));
  SAP_TRY(fill_mass_matrix(balance, &balance->A, error));
  if (uses_system_balance(balance)) {
    SAP_TRY(system_balance(balance, v, m, load, error));
  } else {
    SAP_TRY(evaluate_forces(balance, error));
    multiply_residual(balance, &balance->A, v, m);  // A holds M
    for (int32_t i = 0; i < balance->system->nv; ++i) {
      load[i] = fabs(balance->k1[i]) + fabs(balance->k2[i]);
    }
  }
  for (int32_t i = 0; i < balance->system->nv; ++i) {
    const double force = load[i];
    load[i] = dt * force;
    load[i] += balance->impulse != NULL ? fabs(balance->impulse[i]) : 0.0;
    SAP_FAIL_IF(!isfinite(load[i]), error, SAP_STATUS_NOT_FINITE, "force on velocity %d is %g", i,
                force);
  }
  sap_momentum_balance_release(balance, load);
  return complete_matrix(balance, error);
}
