// SPDX-License-Identifier: BSD-3-Clause
// Workspace of the dynamics: links, tables, static poses.
#include "multibody/dynamics/dynamics.h"

#include <string.h>

#include "core/memory.h"
#include "math/quaternion.h"
#include "multibody/dynamics/dynamics_data.h"
#include "multibody/dynamics/kernels.h"

enum { UNPLACED = 0xff };  // bytes of a q that nobody asks for

void sap_dynamics_exchange(sap_dynamics* d) {
  const sap_placement kept = d->kept;
  d->kept = d->now;
  d->now = kept;
}

static bool is_same(const sap_dynamics* d, const double* q_set, const double* q) {
  return memcmp(q_set, q, (size_t)d->model->sizes.nq * sizeof *q) == 0;
}

bool sap_dynamics_stands_at(const sap_dynamics* d, const double* q) {
  return is_same(d, d->now.q, q);
}

bool sap_dynamics_has_kept(const sap_dynamics* d, const double* q) {
  return is_same(d, d->kept.q, q);
}

const int32_t* sap_dynamics_tree_q(const sap_dynamics* d) {
  return d->tree_q;
}

const double* sap_dynamics_p_WB(const sap_dynamics* d) {
  return d->now.p_WB;
}

const double* sap_dynamics_R_WB(const sap_dynamics* d) {
  return d->now.R_WB;
}

bool* sap_dynamics_locked(sap_dynamics* d) {
  return d->locked;
}

const double* sap_dynamics_q_WB(const sap_dynamics* d) {
  return d->now.q_WB;
}

// Adds a body's inertia to that of its weld group; (p, q) is its pose in the group's body.
static void weld_inertia(sap_inertia* sum, const sap_model_body* body, const double p[3],
                         const double q[4]) {
  const double* c = body->p_BCo;
  const double m = body->mass;
  const double cc = sap_v3_dot(c, c);
  sap_inertia own = {.mass = m, .h = {m * c[0], m * c[1], m * c[2]}};
  for (int i = 0; i < 3; ++i) {
    own.I[i] = body->I_BCo_B[i] + m * (cc - c[i] * c[i]);
  }
  own.I[3] = body->I_BCo_B[3] - m * c[0] * c[1];
  own.I[4] = body->I_BCo_B[4] - m * c[0] * c[2];
  own.I[5] = body->I_BCo_B[5] - m * c[1] * c[2];
  double R[9];
  sap_inertia moved;
  sap_quaternion_to_matrix(R, q);
  sap_inertia_move(&moved, &own, R, p);
  sap_inertia_add(sum, &moved);
}

static bool has_hinges_only(const sap_model* model, const sap_model_body* body) {
  for (int32_t k = 0; k < body->njoints; ++k) {
    if (model->joints[model->body_joints[body->first_joint + k]].type != SAP_JOINT_HINGE) {
      return false;
    }
  }
  return body->njoints > 0;
}

// Links in depth-first order and their inertias. `link_of` (bodies) is
// scratch.
static void make_links(sap_dynamics* d, int32_t* link_of) {
  const sap_model* model = d->model;
  for (int32_t n = 1; n < model->sizes.bodies; ++n) {
    const int32_t id = model->body_order[n];
    const sap_model_body* body = &model->bodies[id];
    if (body->tree < 0) {
      continue;
    }
    d->hinged[id] = model->bodies[body->parent].tree >= 0 && has_hinges_only(model, body);
    double p[3] = {0.0, 0.0, 0.0}, q[4] = {1.0, 0.0, 0.0, 0.0};
    if (body->njoints > 0) {
      const sap_model_body* parent = &model->bodies[body->parent];
      const sap_joint_type type = model->joints[model->body_joints[body->first_joint]].type;
      link_of[id] = d->nlinks;
      d->links[d->nlinks++] = (sap_link){.body = id,
                                         .parent = parent->tree < 0 ? -1 : link_of[parent->weld],
                                         .tree = body->tree,
                                         .first_dof = body->first_dof,
                                         .ndofs = body->ndofs,
                                         .free = type == SAP_JOINT_FREE};
      if (parent->tree < 0) {
        d->tree_root[body->tree] = id;
        d->tree_free[body->tree] = type == SAP_JOINT_FREE;
      }
    }
    for (int32_t b = id; b != body->weld; b = model->bodies[b].parent) {
      sap_quaternion_place(p, model->bodies[b].p_PB, model->bodies[b].q_PB, p);
      sap_quaternion_multiply(q, model->bodies[b].q_PB, q);
    }
    weld_inertia(&d->links[link_of[body->weld]].body_inertia, body, p, q);
  }
  for (int32_t l = 0; l < d->nlinks; ++l) {
    sap_link* link = &d->links[l];
    link->lone = link->free && model->tree_sizes[link->tree] == 6;
    d->tree_lone[link->tree] = link->lone;
  }
}

static void make_tables(sap_dynamics* d) {
  const sap_model* model = d->model;
  for (int32_t t = 0; t < model->sizes.trees; ++t) {
    d->tree_q[t] = model->joints[model->dof_joint[model->tree_dofs[t]]].q_start;
  }
  d->tree_q[model->sizes.trees] = model->sizes.nq;
  memset(d->now.q, UNPLACED, (size_t)model->sizes.nq * sizeof *d->now.q);
  memset(d->kept.q, UNPLACED, (size_t)model->sizes.nq * sizeof *d->now.q);
  for (int32_t j = 0; j < model->sizes.joints; ++j) {
    const sap_model_joint_data* joint = &model->joints[j];
    for (int32_t i = joint->v_start; i < joint->v_start + joint->nv; ++i) {
      d->damping[i] = joint->damping;
      d->armature[i] = joint->armature;
      d->locked[i] = joint->locked;
    }
    if (joint->stiffness > 0.0 || joint->stiffness_cubic > 0.0) {
      d->springs[d->nsprings++] = (sap_spring){.type = joint->type,
                                               .q_start = joint->q_start,
                                               .v_start = joint->v_start,
                                               .stiffness = joint->stiffness,
                                               .reference = joint->spring_reference,
                                               .cubic = joint->stiffness_cubic};
    }
  }
  sap_dynamics_sort_actuators(d);
  for (int32_t b = 1; b < model->sizes.bodies; ++b) {
    const sap_model_body* body = &model->bodies[b];
    if (body->tree >= 0 && body->gravity_compensation * body->mass != 0.0) {
      d->floating[d->nfloating++] = b;
    }
  }
}

// Poses of the world and of what is welded to it never change.
static void place_static_bodies(sap_dynamics* d) {
  const sap_model* model = d->model;
  for (int32_t n = 0; n < model->sizes.bodies; ++n) {
    const int32_t id = model->body_order[n];
    const sap_model_body* body = &model->bodies[id];
    double* p = d->now.p_WB + 3 * id;
    double* q = d->now.q_WB + 4 * id;
    sap_v3_copy(p, body->p_PB);
    memcpy(q, body->q_PB, 4 * sizeof *q);
    if (id != 0 && body->tree < 0) {
      const double* q_WP = d->now.q_WB + 4 * body->parent;
      sap_quaternion_place(p, d->now.p_WB + 3 * body->parent, q_WP, p);
      sap_quaternion_multiply(q, q_WP, q);
      (void)sap_quaternion_normalize(q);
    }
    sap_quaternion_to_matrix(d->now.R_WB + 9 * id, q);
  }
}

sap_status sap_dynamics_create(const sap_model* model, sap_dynamics** out, sap_error* error) {
  if (out == NULL || model == NULL) {
    return sap_fail(error, SAP_STATUS_ARGUMENT, "dynamics: model or out is NULL");
  }
  *out = NULL;
  sap_dynamics* d = sap_allocate(1, sizeof *d);
  int32_t* link_of = sap_allocate((size_t)model->sizes.bodies, sizeof *link_of);
  if (d != NULL) {
    d->model = model;
    d->kernels = sap_dynamics_kernels_get(0);
  }
  if (d == NULL || link_of == NULL || !sap_dynamics_allocate(d)) {
    sap_dynamics_destroy(d);
    sap_free(link_of);
    return sap_fail(error, SAP_STATUS_MEMORY, "out of memory: dynamics of %d bodies",
                    (int)model->sizes.bodies);
  }
  make_links(d, link_of);
  sap_free(link_of);
  make_tables(d);
  place_static_bodies(d);
  sap_dynamics_exchange(d);
  place_static_bodies(d);
  sap_status status = sap_placing_create(d, &d->placing, error);
  if (status == SAP_STATUS_OK) {
    sap_dynamics_set_positions(d, model->q_default);
    status = sap_dynamics_create_elements(d, error);
  }
  if (status == SAP_STATUS_OK) {
    status = sap_fluid_create(model, &d->fluid, error);
  }
  if (status != SAP_STATUS_OK) {
    sap_dynamics_destroy(d);
    return status;
  }
  *out = d;
  return SAP_STATUS_OK;
}
