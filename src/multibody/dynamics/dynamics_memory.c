// SPDX-License-Identifier: BSD-3-Clause
// Memory of the dynamics.
#include "core/memory.h"
#include "multibody/dynamics/dynamics.h"
#include "multibody/dynamics/dynamics_data.h"

static void clear_placement(const sap_placement* p) {
  sap_free(p->p_WB);
  sap_free(p->R_WB);
  sap_free(p->q_WB);
  sap_free(p->S);
  sap_free(p->inertia);
  sap_free(p->q);
}

void sap_dynamics_destroy(sap_dynamics* d) {
  if (d == NULL) {
    return;
  }
  void* const owned[] = {d->links,
                         d->hinged,
                         d->tree_lone,
                         d->tree_free,
                         d->tree_root,
                         d->tree_q,
                         d->tree_moved,
                         d->springs,
                         d->damping,
                         d->armature,
                         d->composite,
                         d->V,
                         d->A,
                         d->F,
                         d->effort,
                         d->force,
                         d->actuator_active,
                         d->locked,
                         d->motors,
                         d->other_actuators,
                         d->elastic,
                         d->floating,
                         d->couplings,
                         d->spring_active,
                         d->bushing_active,
                         d->applied,
                         d->wrenches};
  clear_placement(&d->now);
  clear_placement(&d->kept);
  sap_threads_destroy(d->threads);
  sap_placing_clear(&d->placing);
  sap_rows_clear(&d->rows);
  sap_fluid_clear(&d->fluid);
  for (size_t i = 0; i < sizeof owned / sizeof *owned; ++i) {
    sap_free(owned[i]);
  }
  sap_free(d);
}

static bool allocate_placement(const sap_model_sizes* sizes, sap_placement* p) {
  const size_t bodies = (size_t)sizes->bodies;
  return (p->p_WB = sap_allocate(3 * bodies, sizeof *p->p_WB)) != NULL &&
         (p->R_WB = sap_allocate(9 * bodies, sizeof *p->R_WB)) != NULL &&
         (p->q_WB = sap_allocate(4 * bodies, sizeof *p->q_WB)) != NULL &&
         (p->S = sap_allocate((size_t)sizes->nv, sizeof *p->S)) != NULL &&
         (p->inertia = sap_allocate(bodies, sizeof *p->inertia)) != NULL &&
         (p->q = sap_allocate((size_t)sizes->nq, sizeof *p->q)) != NULL;
}

bool sap_dynamics_allocate(sap_dynamics* d) {
  const sap_model_sizes* sizes = &d->model->sizes;
  const size_t bodies = (size_t)sizes->bodies, nv = (size_t)sizes->nv;
  const size_t trees = (size_t)sizes->trees, joints = (size_t)sizes->joints;
  return (d->links = sap_allocate(bodies, sizeof *d->links)) != NULL &&
         (d->hinged = sap_allocate(bodies, sizeof *d->hinged)) != NULL &&
         (d->tree_lone = sap_allocate(trees, sizeof *d->tree_lone)) != NULL &&
         (d->tree_free = sap_allocate(trees, sizeof *d->tree_free)) != NULL &&
         (d->tree_root = sap_allocate(trees, sizeof *d->tree_root)) != NULL &&
         (d->tree_q = sap_allocate(trees + 1, sizeof *d->tree_q)) != NULL &&
         (d->tree_moved = sap_allocate(trees, sizeof *d->tree_moved)) != NULL &&
         (d->springs = sap_allocate(joints, sizeof *d->springs)) != NULL &&
         (d->damping = sap_allocate(nv, sizeof *d->damping)) != NULL &&
         (d->armature = sap_allocate(nv, sizeof *d->armature)) != NULL &&
         (d->locked = sap_allocate(nv, sizeof *d->locked)) != NULL &&
         (d->motors = sap_allocate((size_t)sizes->actuators, sizeof *d->motors)) != NULL &&
         (d->other_actuators =
              sap_allocate((size_t)sizes->actuators, sizeof *d->other_actuators)) != NULL &&
         (d->floating = sap_allocate(bodies, sizeof *d->floating)) != NULL &&
         (d->effort = sap_allocate(2 * (joints + (size_t)sizes->tendons), sizeof *d->effort)) !=
             NULL &&
         (d->force = sap_allocate(nv, sizeof *d->force)) != NULL &&
         (d->applied = sap_allocate(nv, sizeof *d->applied)) != NULL &&
         (d->wrenches = sap_allocate(bodies, sizeof *d->wrenches)) != NULL &&
         (d->composite = sap_allocate(bodies, sizeof *d->composite)) != NULL &&
         (d->V = sap_allocate(bodies, sizeof *d->V)) != NULL &&
         (d->A = sap_allocate(bodies, sizeof *d->A)) != NULL &&
         (d->F = sap_allocate(bodies, sizeof *d->F)) != NULL &&
         allocate_placement(sizes, &d->now) && allocate_placement(sizes, &d->kept);
}
