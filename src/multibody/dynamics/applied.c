// SPDX-License-Identifier: BSD-3-Clause
#include "multibody/dynamics/applied.h"

#include "multibody/dynamics/dynamics_data.h"

void sap_dynamics_set_applied_forces(sap_dynamics* d, const double* tau) {
  const int32_t nv = d->model->sizes.nv;
  d->any_applied = d->any_applied || tau != NULL;
  for (int32_t i = 0; i < nv; ++i) {
    d->applied[i] = tau != NULL ? tau[i] : 0.0;
  }
}

void sap_dynamics_set_applied_wrench(sap_dynamics* d, int32_t body,
                                     const sap_applied_wrench* wrench) {
  d->any_applied = d->any_applied || wrench->used;
  d->wrenches[body] = *wrench;
}

void sap_dynamics_add_applied(const sap_dynamics* d, double sign, double* k) {
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
      sap_dynamics_point(d, b, wrench->p_BP, p);
      sap_v3_scale(force, wrench->force, sign);
      sap_v3_scale(moment, wrench->moment, sign);
      sap_dynamics_add_wrench(d, b, p, force, moment, k);
    }
  }
}
