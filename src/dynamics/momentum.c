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
#include "dynamics/kernels.h"

void sap_dynamics_momenta(sap_dynamics* d, const double* v, double (*momenta)[6]) {
  d->kernels->momenta(d, v, NULL, momenta);
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

// Adds sign times the forces that dampers and springs make, and those of all else.
static void add_forces(sap_dynamics* d, const sap_element_point* at, double sign, double* elastic,
                       double* other) {
  sap_dynamics_add_springs(d, at->q, sign, elastic);
  sap_dynamics_add_elements(d, at, sign, elastic);
  sap_dynamics_add_fluid(d, at->v, sign, elastic);
  sap_dynamics_add_motors(d, at->q, at->v, at->input, sign, other);
  sap_dynamics_add_gravity_compensation(d, sign, other);
  sap_dynamics_add_applied(d, sign, other);
}

// Subtracts the forces from the residual and makes their load.
static void subtract_with_load(sap_dynamics* d, const sap_element_point* at, double* residual,
                               double* load) {
  const size_t nv = (size_t)d->model->sizes.nv;
  double* k = d->force;
  memset(load, 0, nv * sizeof *load);
  memset(k, 0, nv * sizeof *k);
  add_forces(d, at, 1.0, load, k);
  for (size_t i = 0; i < nv; ++i) {
    residual[i] -= load[i] + k[i];
  }
  add_weight(d, k);
  for (size_t i = 0; i < nv; ++i) {
    load[i] = fabs(load[i] - d->damping[i] * at->v[i]) + fabs(k[i]);
  }
}

void sap_dynamics_momentum_balance(sap_dynamics* d, const double* q, const double* v,
                                   const sap_momentum_step* step, double* residual, double* load) {
  const double per_dt = 1.0 / step->dt;
  d->kernels->momentum_forces(d, v, step, step->inertial);
  for (int32_t i = 0; i < d->model->sizes.nv; ++i) {
    residual[i] =
        step->inertial[i] + (d->armature[i] * (v[i] - step->v0[i]) * per_dt + d->damping[i] * v[i]);
  }
  const sap_element_point at = {q, v, step->input};
  if (load != NULL) {
    subtract_with_load(d, &at, residual, load);
  } else {
    add_forces(d, &at, -1.0, residual, residual);
  }
}
