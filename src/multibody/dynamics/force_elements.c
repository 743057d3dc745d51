// SPDX-License-Identifier: BSD-3-Clause
// Joint springs and dampers, and gravity compensation.
//   hinge, slide  tau = -k x - k3 x^3,  K = k + 3 k3 x^2,  x = q - q0
//   ball          tau = -k phi in body axes, phi = log(q);  K = k Jr^-1(phi), Jr the right Jacobian
//     of the exponential map:  Jr^-1 = 1 + phi~/2 + c phi~^2,  1 - c |phi|^2 = e
//     e = (|phi|/2) cot(|phi|/2) in [0, 1], so its symmetric part e 1 + (1 - e) phi^ phi^' is
//     positive semidefinite: that is the projection handed out.
#include <math.h>

#include "math/quaternion.h"
#include "multibody/dynamics/dynamics_data.h"

// Rotation vector of a ball joint's coordinates, whatever their norm.
static void ball_rotation(double phi[3], const double* q) {
  double unit[4] = {q[0], q[1], q[2], q[3]};
  (void)sap_quaternion_normalize(unit);
  sap_quaternion_log(phi, unit);
}

void sap_dynamics_add_springs(const sap_dynamics* d, const double* q, double sign, double* k) {
  for (int32_t s = 0; s < d->nsprings; ++s) {
    const sap_spring* spring = &d->springs[s];
    if (spring->type == SAP_JOINT_BALL) {
      double phi[3];
      ball_rotation(phi, q + spring->q_start);
      sap_v3_add_scaled(k + spring->v_start, phi, -sign * spring->stiffness);
    } else {
      const double x = q[spring->q_start] - spring->reference;
      k[spring->v_start] -= sign * (spring->stiffness + spring->cubic * x * x) * x;
    }
  }
}

void sap_dynamics_add_gravity_compensation(const sap_dynamics* d, double sign, double* k) {
  for (int32_t n = 0; n < d->nfloating; ++n) {
    const sap_model_body* body = &d->model->bodies[d->floating[n]];
    double p[3], f[3];
    sap_dynamics_point(d, d->floating[n], body->p_BCo, p);
    sap_v3_scale(f, d->model->options.gravity, -sign * body->gravity_compensation * body->mass);
    sap_dynamics_add_wrench(d, d->floating[n], p, f, NULL, k);
  }
}

double sap_dynamics_spring_energy(const sap_dynamics* d, const double* q) {
  double energy = 0.0;
  for (int32_t s = 0; s < d->nsprings; ++s) {
    const sap_spring* spring = &d->springs[s];
    double phi[3] = {q[spring->q_start] - spring->reference, 0.0, 0.0};
    if (spring->type == SAP_JOINT_BALL) {
      ball_rotation(phi, q + spring->q_start);
    }
    const double square = sap_v3_dot(phi, phi);
    energy += (0.5 * spring->stiffness + 0.25 * spring->cubic * square) * square;
  }
  return energy;
}

// K's 3x3 block of a ball spring: k (e 1 + (1 - e) phi^ phi^').
static void add_ball_stiffness(double stiffness, const double phi[3], size_t ld, double* K) {
  const double angle = sap_v3_norm(phi);
  const double half = 0.5 * angle;
  // The series' next term is angle^4/720.
  const double e =
      angle > 1e-4 ? fmax(half * cos(half) / sin(half), 0.0) : 1.0 - angle * angle / 12.0;
  // (1 - e)/|phi|^2 -> 1/12
  const double c = angle > 1e-4 ? (1.0 - e) / (angle * angle) : 1.0 / 12.0;
  for (size_t j = 0; j < 3; ++j) {
    for (size_t i = j; i < 3; ++i) {
      K[ld * j + i] += stiffness * ((i == j ? e : 0.0) + c * phi[i] * phi[j]);
    }
  }
}

void sap_dynamics_add_joint_matrices(const sap_dynamics* d, const double* q, double K_scale,
                                     double D_scale, double* const* K, double* const* D) {
  const sap_model* model = d->model;
  for (int32_t s = 0; s < d->nsprings; ++s) {
    const sap_spring* spring = &d->springs[s];
    const int32_t tree = model->dof_tree[spring->v_start];
    const size_t ld = (size_t)model->tree_sizes[tree];
    const size_t i = (size_t)(spring->v_start - model->tree_dofs[tree]);
    if (spring->type == SAP_JOINT_BALL) {
      double phi[3];
      ball_rotation(phi, q + spring->q_start);
      add_ball_stiffness(K_scale * spring->stiffness, phi, ld, K[tree] + ld * i + i);
    } else {
      const double x = q[spring->q_start] - spring->reference;
      K[tree][ld * i + i] += K_scale * (spring->stiffness + 3.0 * spring->cubic * x * x);
    }
  }
  for (int32_t i = 0; i < model->sizes.nv; ++i) {
    if (d->damping[i] != 0.0) {
      const int32_t tree = model->dof_tree[i];
      const size_t local = (size_t)(i - model->tree_dofs[tree]);
      D[tree][((size_t)model->tree_sizes[tree] + 1) * local] += D_scale * d->damping[i];
    }
  }
}

void sap_dynamics_stiffness_damping(sap_dynamics* d, const double* q, const double* v,
                                    double* const* K, double* const* D) {
  (void)v;  // all dampers are linear
  sap_dynamics_add_joint_matrices(d, q, 1.0, 1.0, K, D);
}
