// SPDX-License-Identifier: BSD-3-Clause
// Newton-Euler in one pass outwards and one inwards:
//   V = V_parent + S v
//   A = A_parent + S a + V_before x (S v)
//   F = I A + V x* (I V) + sum F_child
//   tau = S . F
// Gravity is an acceleration -g of the world. A free joint's translation has fixed axes, so that
// its part of S v turns nothing:  A = [R alpha; a + v x omega], and likewise for its rotation.
// A lone link, in its own axes, with h = m c and u = R'(a - g):
//   f = m u + alpha x h + omega x (omega x h)
//   n = I alpha + omega x I omega + h x u
//
// Joint springs:
//   hinge, slide  tau = -k x - k3 x^3,  K = k + 3 k3 x^2,  x = q - q0
//   ball          tau = -k phi in body axes, phi = log(q);  K = k Jr^-1(phi), Jr the right Jacobian
//                 of the exponential map
//     Jr^-1 = 1 + phi~/2 + c phi~^2,  1 - c |phi|^2 = e,  e = (|phi|/2) cot(|phi|/2) in [0, 1]
//     The symmetric part e 1 + (1 - e) phi^ phi^' is positive semidefinite: it is the K used.
#include "multibody/dynamics/forces.h"

#include <math.h>
#include <string.h>

#include "math/quaternion.h"
#include "multibody/dynamics/actuators.h"
#include "multibody/dynamics/dynamics_data.h"

static void lone_link(const sap_kinematics* kin, const sap_link* link, const double* v,
                      const double* a, double* tau) {
  const double* R = kin->R_WB + 9 * link->body;
  const double* g = kin->dynamics->model->options.gravity;
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

// Adds the motion of a joint with dofs S, rates v and accelerations a.
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

// Velocity, acceleration and force of a link whose parent is done.
static void go_outwards(sap_dynamics* d, const sap_dynamics_state* at, int32_t l, const double* a) {
  const sap_kinematics* kin = at->kin;
  const double* v = at->v;
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
    move_joint(3, kin->S + first, v + first, a != NULL ? a + first : NULL, V, A);
    move_joint(3, kin->S + first + 3, v + first + 3, a != NULL ? a + first + 3 : NULL, V, A);
  } else {
    for (int32_t k = 0; k < body->njoints; ++k) {
      const int32_t n = model->joints[model->body_joints[body->first_joint + k]].nv;
      move_joint(n, kin->S + first, v + first, a != NULL ? a + first : NULL, V, A);
      first += n;
    }
  }
  memcpy(d->V[l], V, sizeof V);
  memcpy(d->A[l], A, sizeof A);
  double momentum[6];
  sap_inertia_mul(momentum, &kin->inertia[l], V);
  sap_inertia_mul(d->F[l], &kin->inertia[l], A);
  sap_spatial_add_force_cross(d->F[l], V, momentum);
}

void sap_dynamics_gather_forces(sap_dynamics* d, const sap_kinematics* kin, const bool* trees,
                                double* tau) {
  for (int32_t l = d->nlinks; l-- > 0;) {
    const sap_link* link = &d->links[l];
    if (link->lone || (trees != NULL && !trees[link->tree])) {
      continue;
    }
    for (int32_t i = link->first_dof; i < link->first_dof + link->ndofs; ++i) {
      tau[i] = sap_spatial_dot(kin->S[i], d->F[l]);
    }
    if (link->parent >= 0) {
      sap_spatial_add_scaled(d->F[link->parent], d->F[l], 1.0);
    }
  }
}

// tau = M a + Coriolis and gyroscopic forces - gravity, without armature. a NULL: zero.
static void find_inertia_forces(sap_dynamics* d, const sap_dynamics_state* at, const double* a,
                                double* tau) {
  for (int32_t l = 0; l < d->nlinks; ++l) {
    const sap_link* link = &d->links[l];
    if (link->lone) {
      const int32_t i = link->first_dof;
      lone_link(at->kin, link, at->v + i, a != NULL ? a + i : NULL, tau + i);
    } else {
      go_outwards(d, at, l, a);
    }
  }
  sap_dynamics_gather_forces(d, at->kin, NULL, tau);
}

void sap_ball_rotation(double phi[3], const double* q) {
  double unit[4] = {q[0], q[1], q[2], q[3]};
  (void)sap_quaternion_normalize(unit);
  sap_quaternion_log(phi, unit);
}

// k += sign times the forces of the joint springs at q.
static void add_springs(const sap_dynamics* d, const double* q, double sign, double* k) {
  SAP_EACH(const sap_spring, spring, d->springs, d->nsprings) {
    if (spring->type == SAP_JOINT_BALL) {
      double phi[3];
      sap_ball_rotation(phi, q + spring->q_start);
      sap_v3_add_scaled(k + spring->v_start, phi, -sign * spring->stiffness);
    } else {
      const double x = q[spring->q_start] - spring->reference;
      k[spring->v_start] -= sign * (spring->stiffness + spring->cubic * x * x) * x;
    }
  }
}

// k += sign times the forces that hold bodies against gravity.
static void add_gravity_compensation(const sap_dynamics* d, const sap_kinematics* kin, double sign,
                                     double* k) {
  for (int32_t n = 0; n < d->nfloating; ++n) {
    const sap_model_body* body = &d->model->bodies[d->floating[n]];
    double p[3], f[3];
    sap_kinematics_point(kin, d->floating[n], body->p_BCo, p);
    sap_v3_scale(f, d->model->options.gravity, -sign * body->gravity_compensation * body->mass);
    sap_kinematics_add_wrench(kin, d->floating[n], -1, p, f, NULL, k);
  }
}

double sap_dynamics_spring_energy(const sap_dynamics* d, const double* q) {
  double energy = 0.0;
  SAP_EACH(const sap_spring, spring, d->springs, d->nsprings) {
    double phi[3] = {q[spring->q_start] - spring->reference, 0.0, 0.0};
    if (spring->type == SAP_JOINT_BALL) {
      sap_ball_rotation(phi, q + spring->q_start);
    }
    const double square = sap_v3_dot(phi, phi);
    energy += (0.5 * spring->stiffness + 0.25 * spring->cubic * square) * square;
  }
  return energy;
}

void sap_ball_stiffness(double stiffness, const double phi[3], size_t ld, double* K) {
  const double angle = sap_v3_norm(phi);
  const double half = 0.5 * angle;
  // Next term of the series: angle^4/720.
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
  SAP_EACH(const sap_spring, spring, d->springs, d->nsprings) {
    const int32_t tree = model->dof_tree[spring->v_start];
    const size_t ld = (size_t)model->tree_sizes[tree];
    const size_t i = (size_t)(spring->v_start - model->tree_dofs[tree]);
    if (spring->type == SAP_JOINT_BALL) {
      double phi[3];
      sap_ball_rotation(phi, q + spring->q_start);
      sap_ball_stiffness(K_scale * spring->stiffness, phi, ld, K[tree] + ld * i + i);
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

// k += sign times all applied forces.
static void add_applied(const sap_dynamics* d, const sap_kinematics* kin, double sign, double* k) {
  if (!d->any_applied) {
    return;
  }
  for (int32_t i = 0; i < d->model->sizes.nv; ++i) {
    k[i] += sign * d->applied[i];
  }
  for (int32_t b = 1; b < d->model->sizes.bodies; ++b) {
    const sap_applied_wrench* wrench = &d->wrenches[b];
    if (wrench->used) {
      double p[3], force[3], moment[3];
      sap_kinematics_point(kin, b, wrench->p_BP, p);
      sap_v3_scale(force, wrench->force, sign);
      sap_v3_scale(moment, wrench->moment, sign);
      sap_kinematics_add_wrench(kin, b, -1, p, force, moment, k);
    }
  }
}

void sap_dynamics_add_forces(sap_dynamics* d, const sap_dynamics_state* at, double sign,
                             double* elastic, double* other) {
  add_springs(d, at->kin->q, sign, elastic);
  sap_dynamics_add_elements(d, at, sign, elastic);
  sap_dynamics_add_motors(d, at, sign, other);
  add_gravity_compensation(d, at->kin, sign, other);
  add_applied(d, at->kin, sign, other);
}

void sap_dynamics_forces(sap_dynamics* d, const sap_dynamics_state* at, double* k1, double* k2) {
  const int32_t nv = d->model->sizes.nv;
  find_inertia_forces(d, at, NULL, k2);
  for (int32_t i = 0; i < nv; ++i) {
    k1[i] = -d->damping[i] * at->v[i];
    k2[i] = -k2[i];
  }
  sap_dynamics_add_fluid(d, at, 1.0, k1);
  sap_dynamics_add_forces(d, at, 1.0, k1, k2);
}

void sap_dynamics_inverse(sap_dynamics* d, const sap_dynamics_state* at, const double* a,
                          double* residual) {
  const int32_t nv = d->model->sizes.nv;
  find_inertia_forces(d, at, a, residual);
  for (int32_t i = 0; i < nv; ++i) {
    residual[i] += d->armature[i] * a[i] + d->damping[i] * at->v[i];
  }
  sap_dynamics_add_fluid(d, at, -1.0, residual);
  sap_dynamics_add_forces(d, at, -1.0, residual, residual);
}

bool sap_model_is_below(const sap_model* model, int32_t body, int32_t top) {
  while (body > top) {  // parents come first
    body = model->bodies[body].parent;
  }
  return body == top;
}

// Subtracts a force f at a point and a moment m from a wrench about p_W.
static void subtract_wrench(const double at[3], const double f[3], const double m[3],
                            const double p_W[3], double force[3], double moment[3]) {
  double arm[3], turning[3];
  sap_v3_sub(arm, at, p_W);
  sap_v3_cross(turning, arm, f);
  sap_v3_sub(force, force, f);
  sap_v3_sub(moment, moment, turning);
  sap_v3_sub(moment, moment, m);
}

void sap_motion_of_point(const sap_kinematics* kin, const sap_body_motion* motions, int32_t body,
                         const double p_W[3], double velocity[3], double acceleration[3]) {
  const double *V = motions[body].V, *A = motions[body].A;
  double r[3], turning[3], part[3];
  sap_v3_sub(r, p_W, kin->p_WB + 3 * (size_t)body);
  sap_v3_cross(turning, V, r);
  sap_v3_add(velocity, V + 3, turning);
  if (acceleration != NULL) {
    sap_v3_cross(acceleration, V, turning);
    sap_v3_cross(part, A, r);
    sap_v3_add(acceleration, acceleration, part);
    sap_v3_add(acceleration, acceleration, A + 3);
  }
}

// Motion of a link from its spatial velocity and acceleration about the fixed point O.
static void set_link_motion(const sap_dynamics* d, const sap_dynamics_state* at, const double* a,
                            int32_t l, sap_body_motion* out) {
  const sap_link* link = &d->links[l];
  const double* p = at->kin->p_WB + 3 * (size_t)link->body;
  if (link->lone) {
    const double* R = at->kin->R_WB + 9 * (size_t)link->body;
    const int32_t i = link->first_dof;
    sap_m3_mul_v3(out->V, R, at->v + i + 3);
    sap_m3_mul_v3(out->A, R, a + i + 3);
    sap_v3_copy(out->V + 3, at->v + i);
    sap_v3_sub(out->A + 3, a + i, d->model->options.gravity);
    return;
  }
  double r[3], part[3];
  sap_v3_sub(r, p, at->kin->p_WB + 3 * (size_t)d->tree_root[link->tree]);
  memcpy(out, d->V[l], sizeof out->V);
  memcpy(out->A, d->A[l], sizeof out->A);
  sap_spatial_velocity_at(out->V + 3, out->V, r);
  sap_spatial_velocity_at(out->A + 3, out->A, r);
  sap_v3_cross(part, out->V, out->V + 3);
  sap_v3_add(out->A + 3, out->A + 3, part);
}

void sap_dynamics_motions(sap_dynamics* d, const sap_dynamics_state* at, const double* a,
                          sap_body_motion* motions) {
  const double* g = d->model->options.gravity;
  find_inertia_forces(d, at, a, d->force);  // sets d->V, d->A
  motions[0] = (sap_body_motion){.A = {0.0, 0.0, 0.0, -g[0], -g[1], -g[2]}};
  for (int32_t l = 0; l < d->nlinks; ++l) {
    set_link_motion(d, at, a, l, &motions[d->links[l].body]);
  }
  for (int32_t b = 1; b < d->model->sizes.bodies; ++b) {
    const int32_t weld = d->model->bodies[b].weld;
    if (weld != b) {
      const double* p = at->kin->p_WB + 3 * (size_t)b;
      memcpy(&motions[b], &motions[weld], sizeof *motions);
      sap_motion_of_point(at->kin, motions, weld, p, motions[b].V + 3, motions[b].A + 3);
    }
  }
}

// Adds what the inertia of a body needs: m a of its centre p, and I alpha + omega x I omega.
static void add_needs(const sap_kinematics* kin, const sap_body_motion* motions, int32_t body,
                      const double p[3], const double p_W[3], double force[3], double moment[3]) {
  const sap_model_body* part = &kin->dynamics->model->bodies[body];
  const sap_body_motion* motion = &motions[body];
  double I[6], momentum[3], turning[3], v[3], f[3], m[3];
  sap_m3_rotate_packed(I, kin->R_WB + 9 * (size_t)body, part->I_BCo_B);
  sap_symmetric_mul(momentum, I, motion->V);
  sap_v3_cross(turning, motion->V, momentum);
  sap_symmetric_mul(m, I, motion->A);
  sap_v3_add(m, m, turning);
  sap_motion_of_point(kin, motions, body, p, v, f);
  sap_v3_scale(f, f, -part->mass);
  sap_v3_scale(m, m, -1.0);
  subtract_wrench(p, f, m, p_W, force, moment);
}

void sap_dynamics_subtree_needs(sap_dynamics* d, const sap_kinematics* kin,
                                const sap_body_motion* motions, int32_t body, const double p_W[3],
                                double force[3], double moment[3]) {
  static const double none[3] = {0.0, 0.0, 0.0};
  sap_v3_copy(force, none);
  sap_v3_copy(moment, none);
  for (int32_t b = body; b < d->model->sizes.bodies; ++b) {
    const sap_model_body* part = &d->model->bodies[b];
    double p[3], f[3];
    if (!sap_model_is_below(d->model, b, body)) {
      continue;
    }
    sap_kinematics_point(kin, b, part->p_BCo, p);
    add_needs(kin, motions, b, p, p_W, force, moment);
    sap_v3_scale(f, d->model->options.gravity, -part->gravity_compensation * part->mass);
    subtract_wrench(p, f, none, p_W, force, moment);
    if (d->any_applied && d->wrenches[b].used) {
      sap_kinematics_point(kin, b, d->wrenches[b].p_BP, p);
      subtract_wrench(p, d->wrenches[b].force, d->wrenches[b].moment, p_W, force, moment);
    }
  }
}
