// SPDX-License-Identifier: BSD-3-Clause
#include "support/toy_system.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "math/quaternion.h"

static bool is(const char* chosen, const char* callback) {
  return chosen != NULL && strcmp(chosen, callback) == 0;
}

static int finish(const toy_linear* toy, const char* callback, double* first) {
  if (is(toy->nan, callback)) {
    *first = (double)NAN;
  }
  return is(toy->fail, callback) ? 7 : 0;
}

static int32_t first_dof(const toy_linear* toy, int32_t tree) {
  return tree * toy->tree_sizes[0];  // all trees have one size
}

static void fill(const toy_linear* toy, double values[TOY_MAX][TOY_MAX], const sap_tree_matrix* S) {
  const int32_t n = toy->tree_sizes[0];
  for (int32_t t = 0; t < toy->system.ntrees; ++t) {
    for (int32_t j = 0; j < n; ++j) {
      for (int32_t i = j; i < n; ++i) {
        S->diagonal[t][j * n + i] = values[first_dof(toy, t) + i][first_dof(toy, t) + j];
      }
    }
  }
  for (int32_t c = 0; c < toy->system.ncouplings; ++c) {
    for (int32_t j = 0; j < n; ++j) {
      for (int32_t i = 0; i < n; ++i) {
        S->coupling[c][j * n + i] = values[first_dof(toy, toy->couplings[c][0]) + i]
                                          [first_dof(toy, toy->couplings[c][1]) + j];
      }
    }
  }
}

static int linear_mass(void* context, const double* q, const sap_tree_matrix* M) {
  toy_linear* toy = context;
  (void)q;
  fill(toy, toy->M, M);
  return finish(toy, "mass_matrix", M->diagonal[0]);
}

static int linear_forces(void* context, double t, const double* q, const double* v, double* k1,
                         double* k2) {
  const toy_linear* toy = context;
  (void)t;
  for (int32_t i = 0; i < toy->system.nv; ++i) {
    k2[i] = toy->f[i];
    for (int32_t j = 0; j < toy->system.nv; ++j) {
      k1[i] -= toy->K[i][j] * q[j] + toy->D[i][j] * v[j];
    }
  }
  return finish(toy, "forces", k2);
}

static int linear_stiffness(void* context, double t, const double* q, const double* v,
                            const sap_tree_matrix* K, const sap_tree_matrix* D) {
  toy_linear* toy = context;
  (void)t;
  (void)q;
  (void)v;
  fill(toy, toy->K, K);
  fill(toy, toy->D, D);
  return finish(toy, "stiffness_damping", K->diagonal[0]);
}

static int linear_integrate(void* context, const double* q0, const double* v, double dt,
                            double* q) {
  const toy_linear* toy = context;
  for (int32_t i = 0; i < toy->system.nv; ++i) {
    q[i] = q0[i] + dt * v[i];
  }
  return finish(toy, "integrate_positions", q);
}

sap_status toy_add_row(sap_problem* problem, sap_set set, const double* row, double R, double v_hat,
                       sap_error* error) {
  const int32_t tree = 0;
  const sap_block block = {.set = set,
                           .nrows = 1,
                           .ntrees = 1,
                           .trees = &tree,
                           .jacobians = &row,
                           .R = &R,
                           .v_hat = &v_hat,
                           .key = 1};
  return sap_problem_add_block(problem, &block, error);
}

static int linear_constraints(void* context, const sap_step_context* step, sap_problem* problem,
                              sap_error* error) {
  const toy_linear* toy = context;
  (void)step;
  if (is(toy->fail, "constraints")) {
    return 7;
  }
  if (!toy->limit) {
    return 0;
  }
  const double row[TOY_MAX] = {1.0};
  const double R = is(toy->nan, "constraints") ? (double)NAN : 1e-9;
  return (int)toy_add_row(problem, SAP_SET_NONNEGATIVE, row, R, toy->limit_bias, error);
}

void toy_linear_init(toy_linear* toy, int32_t ntrees, int32_t size) {
  memset(toy, 0, sizeof *toy);
  for (int32_t t = 0; t < ntrees; ++t) {
    toy->tree_sizes[t] = size;
  }
  for (int32_t i = 0; i < ntrees * size; ++i) {
    toy->M[i][i] = 1.0;
  }
  toy->system = (sap_system){
      .context = toy,
      .nq = ntrees * size,
      .nv = ntrees * size,
      .ntrees = ntrees,
      .tree_sizes = toy->tree_sizes,
      .couplings = (const int32_t(*)[2])toy->couplings,
      .mass_matrix = linear_mass,
      .forces = linear_forces,
      .integrate_positions = linear_integrate,
      .stiffness_damping = linear_stiffness,
      .constraints = linear_constraints,
  };
}

void toy_linear_connect(toy_linear* toy, int32_t i, int32_t j, double k, double d) {
  const double pairs[2] = {k, d};
  for (int32_t s = 0; s < 2; ++s) {
    double(*S)[TOY_MAX] = s == 0 ? toy->K : toy->D;
    S[i][i] += pairs[s];
    S[j][j] += pairs[s];
    S[i][j] -= pairs[s];
    S[j][i] -= pairs[s];
  }
  const int32_t a = i / toy->tree_sizes[0];
  const int32_t b = j / toy->tree_sizes[0];
  for (int32_t c = 0; c < toy->system.ncouplings; ++c) {
    if ((toy->couplings[c][0] == a && toy->couplings[c][1] == b) ||
        (toy->couplings[c][0] == b && toy->couplings[c][1] == a)) {
      return;
    }
  }
  if (a != b) {
    toy->couplings[toy->system.ncouplings][0] = a;
    toy->couplings[toy->system.ncouplings][1] = b;
    toy->system.ncouplings += 1;
  }
}

// Angles from the downward vertical; L = T - V of two point masses.
static int pendulum_mass(void* context, const double* q, const sap_tree_matrix* M) {
  const toy_pendulum* toy = context;
  const double l1 = toy->length[0], l2 = toy->length[1];
  M->diagonal[0][0] = (toy->m[0] + toy->m[1]) * l1 * l1;
  M->diagonal[0][1] = toy->m[1] * l1 * l2 * cos(q[0] - q[1]);
  M->diagonal[0][3] = toy->m[1] * l2 * l2;
  return 0;
}

static int pendulum_forces(void* context, double t, const double* q, const double* v, double* k1,
                           double* k2) {
  const toy_pendulum* toy = context;
  (void)t;
  (void)k1;
  const double l1 = toy->length[0], l2 = toy->length[1];
  const double s = toy->m[1] * l1 * l2 * sin(q[0] - q[1]);
  k2[0] = -s * v[1] * v[1] - (toy->m[0] + toy->m[1]) * toy->gravity * l1 * sin(q[0]);
  k2[1] = s * v[0] * v[0] - toy->m[1] * toy->gravity * l2 * sin(q[1]);
  return 0;
}

static int pendulum_integrate(void* context, const double* q0, const double* v, double dt,
                              double* q) {
  (void)context;
  q[0] = q0[0] + dt * v[0];
  q[1] = q0[1] + dt * v[1];
  return 0;
}

void toy_pendulum_init(toy_pendulum* toy) {
  *toy = (toy_pendulum){.tree_size = 2, .m = {1.0, 0.7}, .length = {0.8, 0.5}, .gravity = 9.81};
  toy->system = (sap_system){
      .context = toy,
      .nq = 2,
      .nv = 2,
      .ntrees = 1,
      .tree_sizes = &toy->tree_size,
      .mass_matrix = pendulum_mass,
      .forces = pendulum_forces,
      .integrate_positions = pendulum_integrate,
  };
}

static int top_mass(void* context, const double* q, const sap_tree_matrix* M) {
  const toy_top* toy = context;
  (void)q;
  for (int i = 0; i < 3; ++i) {
    M->diagonal[0][4 * i] = toy->inertia[i];
  }
  return 0;
}

// Euler's equations in body axes: I dw/dt = -w x I w.
static int top_forces(void* context, double t, const double* q, const double* v, double* k1,
                      double* k2) {
  const toy_top* toy = context;
  (void)t;
  (void)q;
  (void)k1;
  const double L[3] = {toy->inertia[0] * v[0], toy->inertia[1] * v[1], toy->inertia[2] * v[2]};
  sap_v3_cross(k2, L, v);
  return 0;
}

static int top_integrate(void* context, const double* q0, const double* v, double dt, double* q) {
  (void)context;
  double r[3];
  sap_v3_scale(r, v, dt);
  sap_quaternion_integrate(q, q0, r);
  return 0;
}

void toy_top_init(toy_top* toy, double ixx, double iyy, double izz) {
  *toy = (toy_top){.tree_size = 3, .inertia = {ixx, iyy, izz}};
  toy->system = (sap_system){
      .context = toy,
      .nq = 4,
      .nv = 3,
      .ntrees = 1,
      .tree_sizes = &toy->tree_size,
      .mass_matrix = top_mass,
      .forces = top_forces,
      .integrate_positions = top_integrate,
  };
}

sap_state toy_state(const sap_system* system) {
  sap_state state = {0};
  if (sap_state_resize(&state, system->nq, system->nv, NULL) != SAP_STATUS_OK) {
    abort();
  }
  memset(state.q, 0, (size_t)system->nq * sizeof(double));
  memset(state.v, 0, (size_t)system->nv * sizeof(double));
  if (system->nq == 4 && system->nv == 3) {
    state.q[0] = 1.0;
  }
  return state;
}
