// SPDX-License-Identifier: BSD-3-Clause
// Newton-Euler in one pass outwards and one inwards.
//   V = V_parent + S v,  A = A_parent + S a + V_before x (S v),  F = I A + V x* (I V) + sum F_child
//   tau = S . F.   Gravity is an acceleration -g of the world.
//   A free joint's translation has fixed axes: its part of S v turns nothing, so
//   A = [R alpha; a + v x omega], and likewise for its rotation.
// A lone link, in its own axes, with h = m c:
//   f = m u + alpha x h + omega x (omega x h),  u = R'(a - g);  n = I alpha + omega x I omega + h x
//   u
#include <string.h>

#include "multibody/dynamics/actuators.h"
#include "multibody/dynamics/dynamics_data.h"
#include "multibody/dynamics/elements.h"

enum { LINK_WORK = 400 };  // instructions, about

static void lone_link(const sap_dynamics* d, const sap_link* link, const double* v, const double* a,
                      double* tau) {
  const double* R = d->now.R_WB + 9 * link->body;
  const double* g = d->model->options.gravity;
  const sap_inertia* B = &link->body_inertia;
  const double* w = v + 3;
  double Iw[3], gyro[3], wh[3], f[3];
  double lin[3] = {-g[0], -g[1], -g[2]};
  sap_symmetric_mul(Iw, B->I, w);
  sap_v3_cross(tau + 3, w, Iw);
  sap_v3_cross(wh, w, B->h);
  sap_v3_cross(f, w, wh);
  if (a != NULL) {
    double Ia[3], ah[3];
    sap_v3_add(lin, lin, a);
    sap_symmetric_mul(Ia, B->I, a + 3);
    sap_v3_add(tau + 3, tau + 3, Ia);
    sap_v3_cross(ah, a + 3, B->h);
    sap_v3_add(f, f, ah);
  }
  double u[3], arm[3];
  sap_m3_tmul_v3(u, R, lin);
  sap_v3_cross(arm, B->h, u);
  sap_v3_add(tau + 3, tau + 3, arm);
  sap_m3_mul_v3(gyro, R, f);
  for (int i = 0; i < 3; ++i) {
    tau[i] = B->mass * lin[i] + gyro[i];
  }
}

// Adds the motion of one joint with dofs S, rates v and accelerations a.
static void move_joint(int32_t ndofs, double (*S)[6], const double* v, const double* a, double V[6],
                       double A[6]) {
  double Sv[6] = {0.0};
  for (int32_t i = 0; i < ndofs; ++i) {
    sap_spatial_add_scaled(Sv, S[i], v[i]);
    if (a != NULL) {
      sap_spatial_add_scaled(A, S[i], a[i]);
    }
  }
  sap_spatial_add_motion_cross(A, V, Sv);
  sap_spatial_add_scaled(V, Sv, 1.0);
}

// Velocity and acceleration of a link whose parent is done.
static void outwards(sap_dynamics* d, int32_t l, const double* v, const double* a) {
  const sap_model* model = d->model;
  const sap_link* link = &d->links[l];
  const sap_model_body* body = &model->bodies[link->body];
  const double* g = model->options.gravity;
  double V[6] = {0.0};
  double A[6] = {0.0, 0.0, 0.0, -g[0], -g[1], -g[2]};
  if (link->parent >= 0) {
    memcpy(V, d->V[link->parent], sizeof V);
    memcpy(A, d->A[link->parent], sizeof A);
  }
  int32_t first = link->first_dof;
  if (link->free) {
    move_joint(3, d->now.S + first, v + first, a != NULL ? a + first : NULL, V, A);
    move_joint(3, d->now.S + first + 3, v + first + 3, a != NULL ? a + first + 3 : NULL, V, A);
  } else {
    for (int32_t k = 0; k < body->njoints; ++k) {
      const int32_t n = model->joints[model->body_joints[body->first_joint + k]].nv;
      move_joint(n, d->now.S + first, v + first, a != NULL ? a + first : NULL, V, A);
      first += n;
    }
  }
  memcpy(d->V[l], V, sizeof V);
  memcpy(d->A[l], A, sizeof A);
  double momentum[6];
  sap_inertia_mul(momentum, &d->now.inertia[l], V);
  sap_inertia_mul(d->F[l], &d->now.inertia[l], A);
  sap_spatial_add_force_cross(d->F[l], V, momentum);
}

void sap_dynamics_gather_forces(sap_dynamics* d, sap_dynamics_range links, const bool* trees,
                                double* tau) {
  for (int32_t l = links.end; l-- > links.first;) {
    const sap_link* link = &d->links[l];
    if (link->lone || (trees != NULL && !trees[link->tree])) {
      continue;
    }
    for (int32_t i = link->first_dof; i < link->first_dof + link->ndofs; ++i) {
      tau[i] = sap_spatial_dot(d->now.S[i], d->F[l]);
    }
    if (link->parent >= 0) {
      sap_spatial_add_scaled(d->F[link->parent], d->F[l], 1.0);
    }
  }
}

typedef struct motion {
  const double *v, *a;
  double* tau;
} motion;

static void newton_euler(sap_dynamics* d, sap_dynamics_range links, void* context) {
  const double *v = ((const motion*)context)->v, *a = ((const motion*)context)->a;
  double* tau = ((const motion*)context)->tau;
  for (int32_t l = links.first; l < links.end; ++l) {
    const sap_link* link = &d->links[l];
    if (link->lone) {
      const int32_t i = link->first_dof;
      lone_link(d, link, v + i, a != NULL ? a + i : NULL, tau + i);
    } else {
      outwards(d, l, v, a);
    }
  }
  sap_dynamics_gather_forces(d, links, NULL, tau);
}

void sap_dynamics_newton_euler(sap_dynamics* d, const double* v, const double* a, double* tau) {
  motion of = {v, a, tau};
  sap_dynamics_run_links(d, LINK_WORK, newton_euler, &of);
}

void sap_dynamics_forces(sap_dynamics* d, const double* q, const double* v, const double* input,
                         double* k1, double* k2) {
  const int32_t nv = d->model->sizes.nv;
  const sap_element_point at = {q, v, input};
  sap_dynamics_newton_euler(d, v, NULL, k2);
  for (int32_t i = 0; i < nv; ++i) {
    k1[i] = -d->damping[i] * v[i];
    k2[i] = -k2[i];
  }
  sap_dynamics_add_springs(d, q, 1.0, k1);
  sap_dynamics_add_elements(d, &at, 1.0, k1);
  sap_dynamics_add_fluid(d, v, 1.0, k1);
  sap_dynamics_add_motors(d, q, v, input, 1.0, k2);
  sap_dynamics_add_gravity_compensation(d, 1.0, k2);
  sap_dynamics_add_applied(d, 1.0, k2);
}

void sap_dynamics_inverse(sap_dynamics* d, const double* q, const double* v, const double* input,
                          const double* a, double* residual) {
  const int32_t nv = d->model->sizes.nv;
  const sap_element_point at = {q, v, input};
  sap_dynamics_newton_euler(d, v, a, residual);
  for (int32_t i = 0; i < nv; ++i) {
    residual[i] += d->armature[i] * a[i] + d->damping[i] * v[i];
  }
  sap_dynamics_add_springs(d, q, -1.0, residual);
  sap_dynamics_add_elements(d, &at, -1.0, residual);
  sap_dynamics_add_fluid(d, v, -1.0, residual);
  sap_dynamics_add_motors(d, q, v, input, -1.0, residual);
  sap_dynamics_add_gravity_compensation(d, -1.0, residual);
  sap_dynamics_add_applied(d, -1.0, residual);
}
