// SPDX-License-Identifier: BSD-3-Clause
// What M (v - v0)/dt with Coriolis and gyroscopic forces stands for, taken as it is:
//   sum_b J_b(q)' ([L; P]_b(q, v) - [L; P]_b(q0, v0))/dt
// with each link's momentum about its own centre of mass, links that are locked together being one.
// The work of this along v is that of each link, V . (I V - I0 V0) >= T - T0 for the linear part
// and, where a link has turned by dt omega, the angular part: no link gains energy from the turning
// of another, as it does by O(dt^2 omega^2) a step when M is differentiated along a path of
// coordinates. A lone link keeps its angular momentum to round-off.
#include "multibody/dynamics/momentum.h"

#include <math.h>

#include "multibody/dynamics/actuators.h"
#include "multibody/dynamics/dynamics_data.h"
#include "multibody/dynamics/elements.h"

enum { MOMENTA_WORK = 150, FORCES_WORK = 500, WEIGHT_WORK = 100 };  // instructions of a link, about

typedef struct momenta_of {
  const double* v;
  double (*momenta)[6];
} momenta_of;

static void find_momenta(sap_dynamics* d, sap_dynamics_range links, void* context) {
  const momenta_of* of = context;
  d->kernels->momenta(d, links, of->v, NULL, of->momenta);
}

void sap_dynamics_momenta(sap_dynamics* d, const double* v, double (*momenta)[6]) {
  momenta_of of = {v, momenta};
  sap_dynamics_run_links(d, MOMENTA_WORK, find_momenta, &of);
}

// k += the links' weight at the configuration whose momenta were asked last.
static void add_weight(sap_dynamics* d, sap_dynamics_range links, double* k) {
  const double* g = d->model->options.gravity;
  for (int32_t l = links.first; l < links.end; ++l) {
    const sap_link* link = &d->links[l];
    const sap_inertia* B = link->lone ? &link->body_inertia : &d->composite[l];
    if (link->lone) {
      double turned[3], moment[3];
      sap_m3_tmul_v3(turned, d->now.R_WB + 9 * link->body, g);
      sap_v3_cross(moment, B->h, turned);
      sap_v3_add_scaled(k + link->first_dof, g, B->mass);
      sap_v3_add(k + link->first_dof + 3, k + link->first_dof + 3, moment);
    } else {
      sap_v3_cross(d->F[l], B->h, g);
      sap_v3_scale(d->F[l] + 3, g, B->mass);
    }
  }
  for (int32_t l = links.end; l-- > links.first;) {
    const sap_link* link = &d->links[l];
    for (int32_t i = link->first_dof; !link->lone && i < link->first_dof + link->ndofs; ++i) {
      k[i] += sap_spatial_dot(d->now.S[i], d->F[l]);
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

// A balance on its way.
typedef struct balance {
  const double *q, *v;
  const sap_momentum_step* step;
  double *residual, *load;
} balance;

// Those of a run of links, which follow one another.
static sap_dynamics_range dofs_of(const sap_dynamics* d, sap_dynamics_range links) {
  if (links.first >= links.end) {
    return (sap_dynamics_range){0, 0};
  }
  const sap_link* last = &d->links[links.end - 1];
  return (sap_dynamics_range){d->links[links.first].first_dof, last->first_dof + last->ndofs};
}

// Inertia, armature and dampers; no load yet.
static void begin_balance(sap_dynamics* d, sap_dynamics_range links, void* context) {
  const balance* of = context;
  const double per_dt = 1.0 / of->step->dt;
  double* inertial = of->step->inertial;
  d->kernels->momentum_forces(d, links, of->v, of->step, inertial);
  const sap_dynamics_range dofs = dofs_of(d, links);
  for (int32_t i = dofs.first; i < dofs.end; ++i) {
    of->residual[i] = inertial[i] + (d->armature[i] * (of->v[i] - of->step->v0[i]) * per_dt +
                                     d->damping[i] * of->v[i]);
  }
  for (int32_t i = dofs.first; of->load != NULL && i < dofs.end; ++i) {
    of->load[i] = d->force[i] = 0.0;
  }
}

// From the forces in load and d->force: subtracts them from the residual and makes their load.
static void end_balance(sap_dynamics* d, sap_dynamics_range links, void* context) {
  const balance* of = context;
  double *load = of->load, *k = d->force;
  const sap_dynamics_range dofs = dofs_of(d, links);
  for (int32_t i = dofs.first; i < dofs.end; ++i) {
    of->residual[i] -= load[i] + k[i];
  }
  add_weight(d, links, k);
  for (int32_t i = dofs.first; i < dofs.end; ++i) {
    load[i] = fabs(load[i] - d->damping[i] * of->v[i]) + fabs(k[i]);
  }
}

void sap_dynamics_momentum_balance(sap_dynamics* d, const double* q, const double* v,
                                   const sap_momentum_step* step, double* residual, double* load) {
  balance of = {q, v, step, residual, load};
  const sap_element_point at = {q, v, step->input};
  sap_dynamics_run_links(d, FORCES_WORK, begin_balance, &of);
  if (load != NULL) {
    add_forces(d, &at, 1.0, load, d->force);
    sap_dynamics_run_links(d, WEIGHT_WORK, end_balance, &of);
  } else {
    add_forces(d, &at, -1.0, residual, residual);
  }
}
