// SPDX-License-Identifier: BSD-3-Clause
// What mj_fwdConstraint leaves in mjData, and the forces of springs, dampers and servos at the end
// of the step, so that M qacc = qfrc_smooth + qfrc_constraint holds with qacc = (v - v0)/h.
#include <string.h>

#include "mujoco/adapter.h"

// Forces of a contact's rows from [t1 t2 n ...] / h. A pyramidal model has them along its edges:
// p_2j,2j+1 = (n/(dim - 1) +- t_j/mu_j)/2, which mj_contactForce makes into n and t again.
static void write_contact(const sap_mj* a, mjData* d, const sap_mj_slot* slot,
                          const double* gamma) {
  static const int32_t ours[6] = {2, 0, 1, 3, 4, 5};  // of MuJoCo's n t1 t2 spin roll1 roll2
  const mjContact* c = &d->contact[slot->contact];
  const double rate = 1.0 / a->model->opt.timestep;
  mjtNum* force = d->efc_force + slot->first_row;
  double unscaled[6];
  if (c->dim > 1 && (c->dim > 3 || c->friction[0] != c->friction[1])) {  // see sap_friction_scales
    double scales[6];
    (void)sap_friction_scales(c->friction, c->dim, scales);
    for (int32_t i = 0; i < c->dim; ++i) {
      unscaled[i] = scales[i] * gamma[i];
    }
    gamma = unscaled;
  }
  if (c->dim == 1 || !mj_isPyramidal(&a->shadow)) {
    for (int32_t i = 0; i < c->dim; ++i) {
      force[i] = rate * gamma[c->dim == 1 ? 0 : ours[i]];
    }
    return;
  }
  const double share = rate * gamma[2] / (double)(c->dim - 1);
  for (int32_t j = 0; j < c->dim - 1; ++j) {
    const double edge = rate * gamma[ours[j + 1]] / c->friction[j];
    force[2 * j] = 0.5 * (share + edge);
    force[2 * j + 1] = 0.5 * (share - edge);
  }
}

static void write_constraints(const sap_mj* a, mjData* d, bool solved) {
  const double rate = 1.0 / a->model->opt.timestep;
  if (d->nefc == 0) {
    memset(d->qfrc_constraint, 0, (size_t)a->nv * sizeof(mjtNum));
    return;
  }
  memset(d->efc_force, 0, (size_t)d->nefc * sizeof(mjtNum));
  for (int32_t i = 0; solved && i < a->slot_count; ++i) {
    const sap_mj_slot* slot = &a->slots[i];
    const double* gamma = a->solution.gamma + slot->first_gamma;
    if (slot->contact >= 0) {
      write_contact(a, d, slot, gamma);
      continue;
    }
    for (int32_t r = 0; r < slot->nrows; ++r) {
      d->efc_force[slot->first_row + r] = rate * gamma[r];
    }
  }
  for (int32_t i = 0; i < (int32_t)d->nefc; ++i) {
    d->efc_state[i] =
        d->efc_force[i] != 0.0 ? (int)mjCNSTRSTATE_QUADRATIC : (int)mjCNSTRSTATE_SATISFIED;
  }
  if (solved && a->slot_count == sap_problem_block_count(a->problem)) {
    for (int32_t i = 0; i < a->nv; ++i) {
      d->qfrc_constraint[i] = rate * a->solution.impulse[i];
    }
  } else {  // servos and limits out of reach push too
    mj_mulJacTVec(&a->shadow, d, d->qfrc_constraint, d->efc_force);
  }
}

// Springs and dampers: F - (h k + b)(v - v0) - h k v0.
static void write_passive(sap_mj* a, mjData* d, const double* v) {
  const mjModel* m = a->model;
  const double h = m->opt.timestep;
  for (int32_t i = 0; i < a->nv; ++i) {
    const double k = a->dof_stiffness[i], b = a->dof_damping[i];
    const double spring = h * k * v[i], damper = b * (v[i] - d->qvel[i]);
    d->qfrc_passive[i] -= spring + damper;
#if SAP_MJ_SINCE(3, 4, 0)
    d->qfrc_spring[i] -= spring;
    d->qfrc_damper[i] -= damper;
#endif
  }
  for (int32_t t = 0; a->options.implicit && t < (int32_t)m->ntendon; ++t) {
    const double k = a->tendon_stiffness[t], b = a->tendon_damping[t];
    if (!(k > 0.0 || b > 0.0)) {
      continue;
    }
    const sap_mj_row row = sap_mj_tendon_row(&a->shadow, d, t);
    const double V = sap_mj_row_times(&row, v), V0 = sap_mj_row_times(&row, d->qvel);
    sap_mj_row_add(&row, -(h * k * V + b * (V - V0)), d->qfrc_passive);
#if SAP_MJ_SINCE(3, 4, 0)
    sap_mj_row_add(&row, -h * k * V, d->qfrc_spring);
    sap_mj_row_add(&row, -b * (V - V0), d->qfrc_damper);
#endif
  }
}

static void write_elastics(sap_mj* a, mjData* d, const double* v) {
  const double h = a->model->opt.timestep;
  if (a->elastic_count == 0) {
    return;
  }
  for (int32_t i = 0; i < a->nv; ++i) {
    a->v_guess[i] = v[i] - d->qvel[i];
  }
  sap_mj_elastic_times(a, false, -h, v, d->qfrc_passive);
  sap_mj_elastic_times(a, true, -1.0, a->v_guess, d->qfrc_passive);
#if SAP_MJ_SINCE(3, 4, 0)
  sap_mj_elastic_times(a, false, -h, v, d->qfrc_spring);
  sap_mj_elastic_times(a, true, -1.0, a->v_guess, d->qfrc_damper);
#endif
}

void sap_mj_write_outputs(sap_mj* a, mjData* d, const double* v, bool solved) {
  const double rate = 1.0 / a->model->opt.timestep;
  write_constraints(a, d, solved);
  for (int32_t i = 0; i < a->nv; ++i) {
    d->qacc[i] = rate * (v[i] - d->qvel[i]);
    d->qacc_warmstart[i] = d->qacc[i];
    d->qfrc_smooth[i] -= d->qfrc_passive[i] + d->qfrc_actuator[i];
  }
  write_passive(a, d, v);
  write_elastics(a, d, v);
  sap_mj_write_servos(a, d, v);
  for (int32_t i = 0; i < a->nv; ++i) {
    d->qfrc_smooth[i] += d->qfrc_passive[i] + d->qfrc_actuator[i];
  }
  const int iterations = solved ? a->report.iterations : 0;
#if SAP_MJ_SINCE(3, 0, 0)
  d->solver_niter[0] = iterations;
#else
  d->solver_iter = iterations;
#endif
}
