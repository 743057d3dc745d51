// SPDX-License-Identifier: BSD-3-Clause
// What M (v - v0)/dt with Coriolis and gyroscopic forces stands for, taken as it is:
//   sum_b J_b(q)' ([L; P]_b(q, v) - [L; P]_b(q0, v0))/dt
// with each link's momentum about its own centre of mass, links that are locked together being one.
// The work of this along v is that of each link, V . (I V - I0 V0) >= T - T0 for the linear part
// and, where a link has turned by dt omega, the angular part: no link gains energy from the turning
// of another, as it does by O(dt^2 omega^2) a step when M is differentiated along a path of
// coordinates. A lone link keeps its angular momentum to round-off.
#include "dynamics/momentum.h"

#include <math.h>
#include <string.h>

#include "dynamics/actuators.h"
#include "dynamics/dynamics_data.h"
#include "dynamics/elements.h"

// Of a lone link the linear momentum in world axes; what turns it is taken in its own axes, below.
static void lone_momentum(sap_dynamics* d, int32_t l, const double* v, double momentum[6]) {
  const sap_link* link = &d->links[l];
  const sap_inertia* B = &link->body_inertia;
  double wh[3], turning[3];
  sap_v3_cross(wh, v + 3, B->h);
  sap_m3_mul_v3(turning, d->R_WB + 9 * link->body, wh);
  memset(momentum, 0, 3 * sizeof *momentum);
  for (int i = 0; i < 3; ++i) {
    momentum[i + 3] = B->mass * v[i] + turning[i];
  }
}

// Momentum about O in world axes of a link of a tree, whose velocity is kept for its children; what
// is needed to move it is left in composite: m, m (c - O).
static void link_momentum(sap_dynamics* d, int32_t l, const double* v, double momentum[6]) {
  const sap_link* link = &d->links[l];
  double* V = d->V[l];
  if (link->parent >= 0) {
    memcpy(V, d->V[link->parent], sizeof d->V[l]);
  } else {
    memset(V, 0, sizeof d->V[l]);
  }
  for (int32_t i = link->first_dof; i < link->first_dof + link->ndofs; ++i) {
    sap_spatial_add_scaled(V, d->S[i], v[i]);
  }
  sap_inertia_mul(momentum, &d->inertia[l], V);
  d->composite[l].mass = d->inertia[l].mass;
  sap_v3_copy(d->composite[l].h, d->inertia[l].h);
}

// Does locking make a link one body with its parent?
static bool is_welded(const sap_dynamics* d, const sap_link* link) {
  bool welded = link->parent >= 0;
  for (int32_t i = link->first_dof; welded && i < link->first_dof + link->ndofs; ++i) {
    welded = d->locked[i];
  }
  return welded;
}

// L += s h/m x P: moves the point of reference by s (c - O).
static void shift(double momentum[6], const sap_inertia* body, double s) {
  double arm[3];
  sap_v3_cross(arm, body->h, momentum + 3);
  sap_v3_add_scaled(momentum, arm, body->mass > 0.0 ? s / body->mass : 0.0);
}

void sap_dynamics_momenta(sap_dynamics* d, const double* v, double (*momenta)[6]) {
  for (int32_t l = 0; l < d->nlinks; ++l) {
    const sap_link* link = &d->links[l];
    if (link->lone) {
      lone_momentum(d, l, v + link->first_dof, momenta[l]);
    } else {
      link_momentum(d, l, v, momenta[l]);
    }
  }
  for (int32_t l = d->nlinks - 1; l >= 0; --l) {
    const int32_t parent = d->links[l].parent;
    if (is_welded(d, &d->links[l])) {
      sap_spatial_add_scaled(momenta[parent], momenta[l], 1.0);
      d->composite[parent].mass += d->composite[l].mass;
      sap_v3_add(d->composite[parent].h, d->composite[parent].h, d->composite[l].h);
      memset(momenta[l], 0, sizeof momenta[l]);
      d->composite[l].mass = 0.0;
    }
  }
  for (int32_t l = 0; l < d->nlinks; ++l) {
    if (!d->links[l].lone) {
      shift(momenta[l], &d->composite[l], -1.0);
    }
  }
}

// In its own axes: I_c alpha + omega x I_c omega about the centre of mass, whose work along omega
// is that of a body that turns by dt omega, and which is linear where the body is alike all around.
static void lone_force(const sap_dynamics* d, int32_t l, const double* v,
                       const sap_momentum_step* step, double* tau) {
  const sap_link* link = &d->links[l];
  const sap_inertia* B = &link->body_inertia;
  const double* g = d->model->options.gravity;
  const double *w = v + 3, *w0 = step->v0 + link->first_dof + 3;
  double Iw[3], gyro[3], alpha[3], Ialpha[3], f[3], arm[3], hw[3], ha[3], x[3];
  for (int i = 0; i < 3; ++i) {
    tau[i] = (step->end[l][i + 3] - step->start[l][i + 3]) / step->dt - B->mass * g[i];
    alpha[i] = (w[i] - w0[i]) / step->dt;
  }
  sap_symmetric_mul(Iw, B->I, w);
  sap_symmetric_mul(Ialpha, B->I, alpha);
  if (B->mass > 0.0) {  // I_c a = I a - h x (a x h)/m
    sap_v3_cross(x, w, B->h);
    sap_v3_cross(hw, B->h, x);
    sap_v3_add_scaled(Iw, hw, -1.0 / B->mass);
    sap_v3_cross(x, alpha, B->h);
    sap_v3_cross(ha, B->h, x);
    sap_v3_add_scaled(Ialpha, ha, -1.0 / B->mass);
  }
  sap_v3_cross(gyro, w, Iw);
  sap_v3_add(tau + 3, Ialpha, gyro);
  sap_m3_tmul_v3(f, d->R_WB + 9 * link->body, tau);
  sap_v3_cross(arm, B->h, f);
  sap_v3_add_scaled(tau + 3, arm, B->mass > 0.0 ? 1.0 / B->mass : 0.0);
}

// F = ([L; P] - [L; P]0)/dt - weight, about O.
static void inertia_force(sap_dynamics* d, int32_t l, const sap_momentum_step* step, double F[6]) {
  for (int i = 0; i < 6; ++i) {
    F[i] = (step->end[l][i] - step->start[l][i]) / step->dt;
  }
  sap_v3_add_scaled(F + 3, d->model->options.gravity, -d->composite[l].mass);
  shift(F, &d->composite[l], 1.0);
}

static void newton_euler(sap_dynamics* d, const double* v, const sap_momentum_step* step,
                         double* tau) {
  sap_dynamics_momenta(d, v, step->end);
  for (int32_t l = 0; l < d->nlinks; ++l) {
    const sap_link* link = &d->links[l];
    if (link->lone) {
      lone_force(d, l, v + link->first_dof, step, tau + link->first_dof);
    } else {
      inertia_force(d, l, step, d->F[l]);
    }
  }
  sap_dynamics_gather_forces(d, tau);
}

// k += the links' weight at the configuration whose momenta were asked last.
static void add_weight(sap_dynamics* d, double* k) {
  const double* g = d->model->options.gravity;
  for (int32_t l = 0; l < d->nlinks; ++l) {
    const sap_link* link = &d->links[l];
    const sap_inertia* B = link->lone ? &link->body_inertia : &d->composite[l];
    if (link->lone) {
      double turned[3], moment[3];
      sap_m3_tmul_v3(turned, d->R_WB + 9 * link->body, g);
      sap_v3_cross(moment, B->h, turned);
      sap_v3_add_scaled(k + link->first_dof, g, B->mass);
      sap_v3_add(k + link->first_dof + 3, k + link->first_dof + 3, moment);
    } else {
      sap_v3_cross(d->F[l], B->h, g);
      sap_v3_scale(d->F[l] + 3, g, B->mass);
    }
  }
  for (int32_t l = d->nlinks - 1; l >= 0; --l) {
    const sap_link* link = &d->links[l];
    for (int32_t i = link->first_dof; !link->lone && i < link->first_dof + link->ndofs; ++i) {
      k[i] += sap_spatial_dot(d->S[i], d->F[l]);
    }
    if (!link->lone && link->parent >= 0) {
      sap_spatial_add_scaled(d->F[link->parent], d->F[l], 1.0);
    }
  }
}

static void find_load(sap_dynamics* d, const sap_element_point* at, double* load) {
  const size_t nv = (size_t)d->model->sizes.nv;
  double* k = d->force;
  memset(load, 0, nv * sizeof *load);
  memset(k, 0, nv * sizeof *k);
  sap_dynamics_add_springs(d, at->q, 1.0, load);
  sap_dynamics_add_elements(d, at, 1.0, load);
  sap_dynamics_add_fluid(d, at->v, 1.0, load);
  add_weight(d, k);
  sap_dynamics_add_motors(d, at->q, at->v, at->input, 1.0, k);
  sap_dynamics_add_gravity_compensation(d, 1.0, k);
  sap_dynamics_add_applied(d, 1.0, k);
  for (size_t i = 0; i < nv; ++i) {
    load[i] = fabs(load[i] - d->damping[i] * at->v[i]) + fabs(k[i]);
  }
}

void sap_dynamics_momentum_balance(sap_dynamics* d, const double* q, const double* v,
                                   const sap_momentum_step* step, double* residual, double* load) {
  newton_euler(d, v, step, residual);
  for (int32_t i = 0; i < d->model->sizes.nv; ++i) {
    residual[i] += d->armature[i] * (v[i] - step->v0[i]) / step->dt + d->damping[i] * v[i];
  }
  sap_dynamics_add_springs(d, q, -1.0, residual);
  const sap_element_point at = {q, v, step->input};
  sap_dynamics_add_elements(d, &at, -1.0, residual);
  sap_dynamics_add_fluid(d, v, -1.0, residual);
  sap_dynamics_add_motors(d, q, v, step->input, -1.0, residual);
  sap_dynamics_add_gravity_compensation(d, -1.0, residual);
  sap_dynamics_add_applied(d, -1.0, residual);
  if (load != NULL) {
    find_load(d, &at, load);
  }
}
