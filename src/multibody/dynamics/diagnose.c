// SPDX-License-Identifier: BSD-3-Clause
// Energies and momenta, summed link by link about the point O of its tree.
//   kinetic = 1/2 V . I V + 1/2 v . armature v;   gravity = -g . (m O + h)
//   momentum about the world's origin = n_O + O x p
#include <string.h>

#include "multibody/dynamics/dynamics_data.h"
#include "multibody/dynamics/elements.h"

// Velocity of a link, whose parent is done, about its tree's O (a lone link: its origin), and its
// inertia there.
static void link_state(sap_dynamics* d, int32_t l, const double* v, sap_inertia* inertia) {
  const sap_link* link = &d->links[l];
  double* V = d->V[l];
  if (link->lone) {
    const double zero[3] = {0.0, 0.0, 0.0};
    const double* R = d->now.R_WB + 9 * link->body;
    sap_m3_mul_v3(V, R, v + link->first_dof + 3);
    sap_v3_copy(V + 3, v + link->first_dof);
    sap_inertia_move(inertia, &link->body_inertia, R, zero);
    return;
  }
  *inertia = d->now.inertia[l];
  memset(V, 0, 6 * sizeof *V);
  if (link->parent >= 0) {
    memcpy(V, d->V[link->parent], 6 * sizeof *V);
  }
  for (int32_t i = link->first_dof; i < link->first_dof + link->ndofs; ++i) {
    sap_spatial_add_scaled(V, d->now.S[i], v[i]);
  }
}

static void add_link(const sap_dynamics* d, int32_t l, const sap_inertia* inertia,
                     sap_diagnostics* out) {
  const double* O = d->now.p_WB + 3 * d->tree_root[d->links[l].tree];
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

void sap_dynamics_diagnose(sap_dynamics* d, const double* q, const double* v,
                           sap_diagnostics* out) {
  *out = (sap_diagnostics){0};
  for (int32_t l = 0; l < d->nlinks; ++l) {
    sap_inertia inertia;
    link_state(d, l, v, &inertia);
    add_link(d, l, &inertia, out);
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
    sap_dynamics_point(d, d->floating[n], body->p_BCo, p);
    out->potential_gravity +=
        body->gravity_compensation * body->mass * sap_v3_dot(d->model->options.gravity, p);
  }
  out->potential_springs = sap_dynamics_spring_energy(d, q) + sap_dynamics_element_energy(d, q);
}
