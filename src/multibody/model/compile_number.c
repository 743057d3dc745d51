// SPDX-License-Identifier: BSD-3-Clause
// Numbering: bodies depth first (children in the order of their ids), their joints in the order in
// which they were added, coordinates and trees as they come on that walk. cost: O(bodies + dofs)
#include <string.h>

#include "core/memory.h"
#include "math/quaternion.h"
#include "multibody/model/compile.h"

static sap_status allocate_tables(sap_model* model, sap_error* error) {
  const size_t bodies = (size_t)model->sizes.bodies, nv = (size_t)model->sizes.nv;
  model->body_order = sap_allocate(bodies, sizeof *model->body_order);
  model->body_joints = sap_allocate((size_t)model->sizes.joints, sizeof *model->body_joints);
  model->tree_sizes = sap_allocate(bodies, sizeof *model->tree_sizes);
  model->tree_dofs = sap_allocate(bodies + 1, sizeof *model->tree_dofs);
  model->dof_body = sap_allocate(nv, sizeof *model->dof_body);
  model->dof_joint = sap_allocate(nv, sizeof *model->dof_joint);
  model->dof_parent = sap_allocate(nv, sizeof *model->dof_parent);
  model->dof_inertia = sap_allocate(nv, sizeof *model->dof_inertia);
  model->dof_tree = sap_allocate(nv, sizeof *model->dof_tree);
  model->q_default = sap_allocate((size_t)model->sizes.nq, sizeof *model->q_default);
  if (model->body_order == NULL || model->body_joints == NULL || model->tree_sizes == NULL ||
      model->tree_dofs == NULL || model->dof_body == NULL || model->dof_joint == NULL ||
      model->dof_parent == NULL || model->dof_inertia == NULL || model->dof_tree == NULL ||
      model->q_default == NULL) {
    return sap_fail(error, SAP_STATUS_MEMORY, "out of memory: model");
  }
  return SAP_STATUS_OK;
}

// Fills body_order. Children and siblings are linked in the scratch array.
static sap_status order_bodies(sap_model* model, sap_error* error) {
  const int32_t bodies = model->sizes.bodies;
  int32_t* first_child = sap_allocate(2 * (size_t)bodies, sizeof *first_child);
  if (first_child == NULL) {
    return sap_fail(error, SAP_STATUS_MEMORY, "out of memory: %d bodies", (int)bodies);
  }
  int32_t* next_sibling = first_child + bodies;  // 0, the world, ends a list: it is no child
  for (int32_t b = bodies - 1; b > 0; --b) {
    const int32_t parent = model->bodies[b].parent;
    next_sibling[b] = first_child[parent];
    first_child[parent] = b;
  }
  int32_t count = 0;
  int32_t body = 0;
  model->body_order[count++] = body;
  while (body >= 0) {
    int32_t next = first_child[body];
    while (next == 0 && body > 0) {
      next = next_sibling[body];
      body = next == 0 ? model->bodies[body].parent : body;
    }
    if (next == 0) {
      break;
    }
    model->body_order[count++] = next;
    body = next;
  }
  sap_free(first_child);
  return SAP_STATUS_OK;
}

// Groups joint ids by body, each group in the order of ids.
static void group_joints(sap_model* model) {
  int32_t start = 0;
  for (int32_t b = 0; b < model->sizes.bodies; ++b) {
    model->bodies[b].first_joint = start;
    start += model->bodies[b].njoints;
    model->bodies[b].njoints = 0;
  }
  for (int32_t j = 0; j < model->sizes.joints; ++j) {
    sap_model_body* body = &model->bodies[model->joints[j].body];
    model->body_joints[body->first_joint + body->njoints++] = j;
  }
}

// Tree, weld group and dofs of one body whose parent is done.
static void number_body(sap_model* model, int32_t id, int32_t* nq, int32_t* nv) {
  sap_model_body* body = &model->bodies[id];
  const sap_model_body* parent = &model->bodies[body->parent];
  body->tree = parent->tree;
  if (body->njoints > 0 && parent->tree < 0) {
    body->tree = model->sizes.trees++;
    model->tree_dofs[body->tree] = *nv;
  }
  body->weld = body->njoints > 0 ? id : parent->weld;
  body->first_dof = body->njoints > 0 ? *nv : -1;
  body->ndofs = 0;
  body->last_dof = parent->last_dof;
  for (int32_t k = 0; k < body->njoints; ++k) {
    const int32_t j = model->body_joints[body->first_joint + k];
    sap_model_joint_data* joint = &model->joints[j];
    joint->tree = body->tree;
    joint->q_start = *nq;
    joint->v_start = *nv;
    for (int32_t i = 0; i < joint->nv; ++i) {
      model->dof_body[*nv] = id;
      model->dof_joint[*nv] = j;
      model->dof_parent[*nv] = body->last_dof;
      model->dof_tree[*nv] = body->tree;
      body->last_dof = (*nv)++;
    }
    *nq += joint->nq;
    body->ndofs += joint->nv;
  }
  if (body->tree >= 0) {
    model->tree_sizes[body->tree] += body->ndofs;
  }
}

// World pose of a static body, from those of its ancestors.
static void static_pose(const sap_model* model, int32_t id, double p[3], double q[4]) {
  sap_v3_copy(p, model->bodies[id].p_PB);
  memcpy(q, model->bodies[id].q_PB, 4 * sizeof *q);
  for (int32_t b = model->bodies[id].parent; b > 0; b = model->bodies[b].parent) {
    const sap_model_body* body = &model->bodies[b];
    sap_quaternion_place(p, body->p_PB, body->q_PB, p);
    sap_quaternion_multiply(q, body->q_PB, q);
  }
  (void)sap_quaternion_normalize(q);
}

static void default_pose(sap_model* model) {
  for (int32_t j = 0; j < model->sizes.joints; ++j) {
    const sap_model_joint_data* joint = &model->joints[j];
    double* q = model->q_default + joint->q_start;
    switch (joint->type) {
      case SAP_JOINT_FREE:
        static_pose(model, joint->body, q, q + 3);
        break;
      case SAP_JOINT_BALL:
        q[0] = 1.0;
        break;
      case SAP_JOINT_HINGE:
      case SAP_JOINT_SLIDE:
        q[0] = joint->reference;
        break;
    }
  }
}

sap_status sap_compile_number(sap_model* model, sap_error* error) {
  sap_status status = allocate_tables(model, error);
  if (status == SAP_STATUS_OK) {
    status = order_bodies(model, error);
  }
  if (status != SAP_STATUS_OK) {
    return status;
  }
  group_joints(model);
  sap_model_body* world = &model->bodies[0];
  world->tree = world->first_dof = world->last_dof = -1;
  int32_t nq = 0, nv = 0;
  for (int32_t i = 1; i < model->sizes.bodies; ++i) {
    number_body(model, model->body_order[i], &nq, &nv);
  }
  model->tree_dofs[model->sizes.trees] = nv;
  default_pose(model);
  return SAP_STATUS_OK;
}
