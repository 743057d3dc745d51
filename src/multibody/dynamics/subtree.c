// SPDX-License-Identifier: BSD-3-Clause
#include "multibody/dynamics/subtree.h"

#include "multibody/dynamics/applied.h"
#include "multibody/dynamics/dynamics_data.h"

bool sap_model_is_below(const sap_model* model, int32_t body, int32_t top) {
  while (body > top) {  // parents come first
    body = model->bodies[body].parent;
  }
  return body == top;
}

// Takes a force at a point away.
static void take(const double at[3], const double f[3], const double m[3], const double p_W[3],
                 double force[3], double moment[3]) {
  double arm[3], turning[3];
  sap_v3_sub(arm, at, p_W);
  sap_v3_cross(turning, arm, f);
  sap_v3_sub(force, force, f);
  sap_v3_sub(moment, moment, turning);
  sap_v3_sub(moment, moment, m);
}

void sap_dynamics_subtree_needs(sap_dynamics* d, const double* v, const double* a, int32_t body,
                                const double p_W[3], double force[3], double moment[3]) {
  static const double none[3] = {0.0, 0.0, 0.0};
  const sap_model* model = d->model;
  sap_dynamics_newton_euler(d, v, a, d->force);  // leaves the sums over all that hangs on a link
  for (int32_t l = 0; l < d->nlinks; ++l) {
    const sap_link* link = &d->links[l];
    if (link->body == body && !link->lone) {
      const double* O = d->now.p_WB + 3 * (size_t)d->tree_root[link->tree];
      double arm[3], turning[3];
      sap_v3_sub(arm, O, p_W);
      sap_v3_cross(turning, arm, d->F[l] + 3);
      sap_v3_copy(force, d->F[l] + 3);
      sap_v3_add(moment, d->F[l], turning);
    }
  }
  for (int32_t b = body; b < model->sizes.bodies; ++b) {
    const sap_model_body* part = &model->bodies[b];
    double p[3], f[3];
    if (!sap_model_is_below(model, b, body)) {
      continue;
    }
    if (part->gravity_compensation != 0.0) {
      sap_dynamics_point(d, b, part->p_BCo, p);
      sap_v3_scale(f, model->options.gravity, -part->gravity_compensation * part->mass);
      take(p, f, none, p_W, force, moment);
    }
    if (d->any_applied && d->wrenches[b].used) {
      sap_dynamics_point(d, b, d->wrenches[b].p_BP, p);
      take(p, d->wrenches[b].force, d->wrenches[b].moment, p_W, force, moment);
    }
  }
}
