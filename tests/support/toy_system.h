// SPDX-License-Identifier: BSD-3-Clause
// Hand-made systems whose motion is known otherwise.
//   toy_linear    M dv/dt = f - K q - D v, q' = v: constant matrices, any couplings between trees
//   toy_pendulum  planar double pendulum of two point masses: M(q), gravity, centrifugal terms
//   toy_top       one free rigid body turning about its centre of mass: quaternion, gyroscopic
#ifndef SAP_TESTS_SUPPORT_TOY_SYSTEM_H
#define SAP_TESTS_SUPPORT_TOY_SYSTEM_H

#include <sapstep/system.h>

enum { TOY_MAX = 24 };

typedef struct toy_linear {
  sap_system system;  // its context is this struct
  int32_t tree_sizes[TOY_MAX];
  int32_t couplings[TOY_MAX][2];
  double M[TOY_MAX][TOY_MAX], K[TOY_MAX][TOY_MAX], D[TOY_MAX][TOY_MAX], f[TOY_MAX];
  // what goes wrong: the callback named fails (returns 7) or its result becomes NaN
  const char* fail;
  const char* nan;
  // constraints: a block on velocity 0 when `limit` is set, v0 >= bias
  bool limit;
  double limit_bias;
} toy_linear;

// Unit masses, no forces; ntrees trees of `size` velocities each.
void toy_linear_init(toy_linear* toy, int32_t ntrees, int32_t size);
// A spring k and damper d between velocities i and j of different trees (or the same one), with
// the coupling registered.
void toy_linear_connect(toy_linear* toy, int32_t i, int32_t j, double k, double d);

typedef struct toy_pendulum {
  sap_system system;
  int32_t tree_size;
  double m[2], length[2], gravity;
} toy_pendulum;
void toy_pendulum_init(toy_pendulum* toy);

typedef struct toy_top {
  sap_system system;
  int32_t tree_size;
  double inertia[3];  // principal, body axes
} toy_top;
void toy_top_init(toy_top* toy, double ixx, double iyy, double izz);

// A block of one row on the first tree, with key 1.
sap_status toy_add_row(sap_problem* problem, sap_set set, const double* row, double R, double v_hat,
                       sap_error* error);

// A state of the system's size, zeroed; toy_top's quaternion is the identity.
sap_state toy_state(const sap_system* system);

#endif
