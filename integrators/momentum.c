// SPDX-License-Identifier: BSD-3-Clause
#include "integrators/momentum.h"

#include <math.h>
#include <string.h>

#include "core/memory.h"

sap_status sap_momentum_create(const sap_system* system, sap_momentum* momentum, sap_error* error) {
  const size_t nv = (size_t)system->nv;
  momentum->system = system;
  momentum->q_theta = sap_allocate((size_t)system->nq, sizeof(double));
  momentum->v_theta = sap_allocate(nv, sizeof(double));
  momentum->v_vq = sap_allocate(nv, sizeof(double));
  momentum->k1 = sap_allocate(nv, sizeof(double));
  momentum->k2 = sap_allocate(nv, sizeof(double));
  momentum->a = sap_allocate(nv, sizeof(double));
  const bool complete = momentum->q_theta != NULL && momentum->v_theta != NULL &&
                        momentum->v_vq != NULL && momentum->k1 != NULL && momentum->k2 != NULL &&
                        momentum->a != NULL;
  sap_status status = complete ? sap_tree_store_create(system, &momentum->A, error)
                               : sap_fail(error, SAP_STATUS_MEMORY,
                                          "out of memory: free motion of %zu velocities", nv);
  if (status == SAP_STATUS_OK && system->stiffness_damping != NULL) {
    status = sap_tree_store_create(system, &momentum->K, error);
    if (status == SAP_STATUS_OK) {
      status = sap_tree_store_create(system, &momentum->D, error);
    }
  }
  if (status == SAP_STATUS_OK && system->inverse_dynamics == NULL) {
    status = sap_tree_store_create(system, &momentum->M, error);
  }
  if (status != SAP_STATUS_OK) {
    sap_momentum_clear(momentum);
  }
  return status;
}

void sap_momentum_clear(sap_momentum* momentum) {
  sap_free(momentum->q_theta);
  sap_free(momentum->v_theta);
  sap_free(momentum->v_vq);
  sap_free(momentum->k1);
  sap_free(momentum->k2);
  sap_free(momentum->a);
  sap_tree_store_clear(&momentum->A);
  sap_tree_store_clear(&momentum->K);
  sap_tree_store_clear(&momentum->D);
  sap_tree_store_clear(&momentum->M);
  memset(momentum, 0, sizeof *momentum);
}

void sap_momentum_begin(sap_momentum* momentum, const sap_theta* scheme, double t0,
                        const double* q0, const double* v0) {
  momentum->scheme = *scheme;
  momentum->t0 = t0;
  momentum->q0 = q0;
  momentum->v0 = v0;
  momentum->q = q0;
  momentum->v = v0;
}

static sap_status refused(const char* callback, int code, sap_error* error) {
  return sap_fail(error, SAP_STATUS_CALLBACK, "the system's %s returned %d", callback, code);
}

static double theta_time(const sap_momentum* momentum) {
  return momentum->t0 + momentum->scheme.theta * momentum->scheme.dt;
}

sap_status sap_momentum_set_velocity(sap_momentum* momentum, const double* v, sap_error* error) {
  const sap_system* system = momentum->system;
  const double theta = momentum->scheme.theta;
  const double theta_vq = momentum->scheme.theta_vq;
  if (theta == 0.0) {
    return SAP_STATUS_OK;  // q^theta = q0, v^theta = v0
  }
  for (int32_t i = 0; i < system->nv; ++i) {
    momentum->v_theta[i] = theta * v[i] + (1.0 - theta) * momentum->v0[i];
    momentum->v_vq[i] = theta_vq * v[i] + (1.0 - theta_vq) * momentum->v0[i];
  }
  const int code = system->integrate_positions(system->context, momentum->q0, momentum->v_vq,
                                               theta * momentum->scheme.dt, momentum->q_theta);
  momentum->q = momentum->q_theta;
  momentum->v = momentum->v_theta;
  return code == 0 ? SAP_STATUS_OK : refused("integrate_positions", code, error);
}

static sap_status evaluate_forces(sap_momentum* momentum, sap_error* error) {
  const sap_system* system = momentum->system;
  memset(momentum->k1, 0, (size_t)system->nv * sizeof(double));
  memset(momentum->k2, 0, (size_t)system->nv * sizeof(double));
  const int code = system->forces(system->context, theta_time(momentum), momentum->q, momentum->v,
                                  momentum->k1, momentum->k2);
  return code == 0 ? SAP_STATUS_OK : refused("forces", code, error);
}

static sap_status mass_matrix(sap_momentum* momentum, sap_tree_store* M, sap_error* error) {
  const sap_system* system = momentum->system;
  sap_tree_store_zero(M);
  const int code = system->mass_matrix(system->context, momentum->q, &M->view);
  return code == 0 ? SAP_STATUS_OK : refused("mass_matrix", code, error);
}

sap_status sap_momentum_residual(sap_momentum* momentum, const int32_t* tree_dof, const double* v,
                                 double* m, sap_error* error) {
  const sap_system* system = momentum->system;
  const double dt = momentum->scheme.dt;
  if (system->inverse_dynamics != NULL) {
    for (int32_t i = 0; i < system->nv; ++i) {
      momentum->a[i] = (v[i] - momentum->v0[i]) / dt;
    }
    const int code = system->inverse_dynamics(system->context, theta_time(momentum), momentum->q,
                                              momentum->v, momentum->a, m);
    for (int32_t i = 0; i < system->nv; ++i) {
      m[i] *= dt;
    }
    return code == 0 ? SAP_STATUS_OK : refused("inverse_dynamics", code, error);
  }
  sap_status status = evaluate_forces(momentum, error);
  if (status == SAP_STATUS_OK) {
    status = mass_matrix(momentum, &momentum->M, error);
  }
  if (status != SAP_STATUS_OK) {
    return status;
  }
  for (int32_t i = 0; i < system->nv; ++i) {
    momentum->a[i] = v[i] - momentum->v0[i];
  }
  sap_tree_store_multiply(system, tree_dof, &momentum->M, momentum->a, m);
  for (int32_t i = 0; i < system->nv; ++i) {
    m[i] -= dt * (momentum->k1[i] + momentum->k2[i]);
  }
  return SAP_STATUS_OK;
}

sap_status sap_momentum_initial(sap_momentum* momentum, double* m, double* load, sap_error* error) {
  const double dt = momentum->scheme.dt;
  sap_status status = sap_momentum_set_velocity(momentum, momentum->v0, error);
  if (status == SAP_STATUS_OK) {
    status = evaluate_forces(momentum, error);
  }
  if (status != SAP_STATUS_OK) {
    return status;
  }
  for (int32_t i = 0; i < momentum->system->nv; ++i) {
    m[i] = -dt * (momentum->k1[i] + momentum->k2[i]);
    load[i] = dt * (fabs(momentum->k1[i]) + fabs(momentum->k2[i]));
    if (!isfinite(m[i]) || !isfinite(load[i])) {
      return sap_fail(error, SAP_STATUS_NOT_FINITE, "force on velocity %d is %g + %g", i,
                      momentum->k1[i], momentum->k2[i]);
    }
  }
  return SAP_STATUS_OK;
}

static sap_status add_stiffness_damping(sap_momentum* momentum, sap_error* error) {
  const sap_system* system = momentum->system;
  const sap_theta* s = &momentum->scheme;
  sap_tree_store_zero(&momentum->K);
  sap_tree_store_zero(&momentum->D);
  const int code = system->stiffness_damping(system->context, theta_time(momentum), momentum->q,
                                             momentum->v, &momentum->K.view, &momentum->D.view);
  if (code != 0) {
    return refused("stiffness_damping", code, error);
  }
  sap_tree_store_add_scaled(&momentum->A, s->dt * s->dt * s->theta * s->theta_vq, &momentum->K);
  sap_tree_store_add_scaled(&momentum->A, s->dt * s->theta, &momentum->D);
  return SAP_STATUS_OK;
}

sap_status sap_momentum_matrix(sap_momentum* momentum, sap_error* error) {
  sap_status status = mass_matrix(momentum, &momentum->A, error);
  if (status == SAP_STATUS_OK && momentum->scheme.theta > 0.0 && momentum->K.values != NULL) {
    status = add_stiffness_damping(momentum, error);
  }
  if (status != SAP_STATUS_OK) {
    return status;
  }
  int32_t tree = 0;
  if (!sap_tree_store_is_finite(momentum->system, &momentum->A, &tree)) {
    return sap_fail(error, SAP_STATUS_NOT_FINITE, "A of tree %d has an entry that is not finite",
                    tree);
  }
  return SAP_STATUS_OK;
}
