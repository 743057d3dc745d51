// SPDX-License-Identifier: BSD-3-Clause
// Momentum balance, instead of M (v - v0)/dt with Coriolis and gyroscopic forces:
//   sum_b J_b(q)' ([L; P]_b(q, v) - [L; P]_b(q0, v0))/dt
// with each link's momentum about its own centre of mass; links that are locked together are one.
// Its work along v is that of each link, V . (I V - I0 V0) >= T - T0 for the linear part and, where
// a link has turned by dt omega, for the angular part. No link gains energy from the turning of
// another, as it would by O(dt^2 omega^2) per step if M were differentiated along the path of the
// coordinates. A lone link conserves its angular momentum to round-off.
//
// Energies and momenta of a state, summed over the links about the point O of their tree:
//   kinetic  = 1/2 V . I V + 1/2 v . armature v
//   gravity  = -g . (m O + h)
//   momentum about the world's origin = n_O + O x p

#include <math.h>

#include "multibody/dynamics/actuators.h"
#include "multibody/dynamics/dynamics_data.h"
#include "multibody/dynamics/forces.h"

// k += the links' weight; d->composite: from the momenta of this configuration.
static void add_weight(sap_dynamics* d, const sap_kinematics* kin, double* k) {
  const double* g = d->model->options.gravity;
  for (int32_t l = 0; l < d->nlinks; ++l) {
    const sap_link* link = &d->links[l];
    const sap_inertia* B = link->lone ? &link->body_inertia : &d->composite[l];
    if (link->lone) {
      double turned[3], moment[3];
      sap_m3_tmul_v3(turned, kin->R_WB + 9 * link->body, g);
      sap_v3_cross(moment, B->h, turned);
      sap_v3_add_scaled(k + link->first_dof, g, B->mass);
      sap_v3_add(k + link->first_dof + 3, k + link->first_dof + 3, moment);
    } else {
      sap_v3_cross(d->F[l], B->h, g);
      sap_v3_scale(d->F[l] + 3, g, B->mass);
    }
  }
  for (int32_t l = d->nlinks; l-- > 0;) {
    const sap_link* link = &d->links[l];
    for (int32_t i = link->first_dof; !link->lone && i < link->first_dof + link->ndofs; ++i) {
      k[i] += sap_spatial_dot(kin->S[i], d->F[l]);
    }
    if (!link->lone && link->parent >= 0) {
      sap_spatial_add_scaled(d->F[link->parent], d->F[l], 1.0);
    }
  }
}

void sap_dynamics_momentum_balance(sap_dynamics* d, const sap_dynamics_state* at,
                                   const sap_momentum_step* step, double* residual, double* load) {
  const int32_t nv = d->model->sizes.nv;
  const double per_dt = 1.0 / step->dt;
  double *inertial = step->inertial, *k = d->force;
  d->kernels->momentum_forces(d, at, step, inertial);
  if (load == NULL) {
    sap_dynamics_push_fluid(d, at, step->trees, -1.0, inertial);
  }
  sap_dynamics_gather_forces(d, at->kin, step->trees, inertial);
  for (int32_t i = 0; i < nv; ++i) {
    residual[i] = inertial[i] +
                  (d->armature[i] * (at->v[i] - step->v0[i]) * per_dt + d->damping[i] * at->v[i]);
  }
  if (load == NULL) {  // inertial has the medium
    sap_dynamics_add_servos(d, at->v, step->dt, -1.0, residual);
    sap_dynamics_add_forces(d, at, -1.0, residual, residual);
    return;
  }
  memset(load, 0, (size_t)nv * sizeof *load);
  sap_dynamics_add_fluid(d, at, 1.0, load);
  for (int32_t i = 0; d->fluid.count > 0 && i < nv; ++i) {
    inertial[i] -= load[i];
  }
  memset(k, 0, (size_t)nv * sizeof *k);
  sap_dynamics_add_servos(d, at->v, step->dt, 1.0, load);
  sap_dynamics_add_forces(d, at, 1.0, load, k);
  for (int32_t i = 0; i < nv; ++i) {
    residual[i] -= load[i] + k[i];
  }
  add_weight(d, at->kin, k);
  for (int32_t i = 0; i < nv; ++i) {
    load[i] = fabs(load[i] - d->damping[i] * at->v[i]) + fabs(k[i]);
  }
}

static void add_link(const sap_dynamics* d, const sap_kinematics* kin, int32_t l,
                     const sap_inertia* inertia, sap_diagnostics* out) {
  const double* O = kin->p_WB + 3 * d->tree_root[d->links[l].tree];
  const double* g = d->model->options.gravity;
  double momentum[6], weighted[3], moment[3];
  sap_inertia_mul(momentum, inertia, d->V[l]);
  sap_v3_copy(weighted, inertia->h);
  sap_v3_add_scaled(weighted, O, inertia->mass);
  sap_v3_cross(moment, O, momentum + 3);
  out->kinetic += 0.5 * sap_spatial_dot(momentum, d->V[l]);
  out->potential_gravity -= sap_v3_dot(g, weighted);
  out->mass += inertia->mass;
  for (int i = 0; i < 3; ++i) {
    out->p_WCm[i] += weighted[i];
    out->linear_momentum[i] += momentum[i + 3];
    out->angular_momentum[i] += momentum[i] + moment[i];
  }
}

void sap_dynamics_diagnose(sap_dynamics* d, const sap_kinematics* kin, const double* v,
                           sap_diagnostics* out) {
  const sap_dynamics_state at = {.kin = kin, .v = v};
  *out = (sap_diagnostics){0};
  for (int32_t l = 0; l < d->nlinks; ++l) {
    sap_inertia inertia;
    sap_dynamics_set_velocity(d, &at, l);
    sap_derivatives_inertia(kin, l, &inertia);
    add_link(d, kin, l, &inertia, out);
  }
  for (int i = 0; i < 3; ++i) {
    out->p_WCm[i] = out->mass > 0.0 ? out->p_WCm[i] / out->mass : 0.0;
  }
  for (int32_t i = 0; i < d->model->sizes.nv; ++i) {
    out->kinetic += 0.5 * d->armature[i] * v[i] * v[i];
  }
  for (int32_t n = 0; n < d->nfloating; ++n) {
    const sap_model_body* body = &d->model->bodies[d->floating[n]];
    double p[3];
    sap_kinematics_point(kin, d->floating[n], body->p_BCo, p);
    out->potential_gravity +=
        body->gravity_compensation * body->mass * sap_v3_dot(d->model->options.gravity, p);
  }
  out->potential_springs =
      sap_dynamics_spring_energy(d, kin->q) + sap_dynamics_element_energy(d, kin);
}
