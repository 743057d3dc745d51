// SPDX-License-Identifier: BSD-3-Clause
// Workspace of the dynamics: links and tables; mass matrix and Jacobian of a point.
#include "multibody/dynamics/dynamics.h"

#include <math.h>

#include "core/error.h"
#include "core/memory.h"
#include "math/quaternion.h"
#include "multibody/dynamics/dynamics_data.h"
#include "multibody/dynamics/kernels.h"

void sap_dynamics_moved_masses(sap_dynamics* d, double* masses) {
  for (int32_t l = 0; l < d->nlinks; ++l) {
    d->composite[l].mass = d->links[l].body_inertia.mass;
  }
  for (int32_t l = d->nlinks - 1; l >= 0; --l) {
    const sap_link* link = &d->links[l];
    for (int32_t i = 0; i < link->ndofs; ++i) {
      masses[link->first_dof + i] = d->composite[l].mass;
    }
    if (link->parent >= 0) {
      d->composite[link->parent].mass += d->composite[l].mass;
    }
  }
}

void sap_dynamics_weld_inertia(sap_inertia* sum, const sap_model_body* body, const double p[3],
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

// Makes the links in depth-first order and their inertias.
static void make_links(sap_dynamics* d) {
  const sap_model* model = d->model;
  int32_t* link_of = d->link_of;
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
    sap_dynamics_weld_inertia(&d->links[link_of[body->weld]].body_inertia, body, p, q);
  }
  SAP_EACH(sap_link, link, d->links, d->nlinks) {
    link->lone = link->free && model->tree_sizes[link->tree] == 6;
    d->tree_lone[link->tree] = link->lone;
  }
}

// The mass matrix is singular where axes of links without mass line up (gimbal lock): their joints,
// and the first two of three of one body, have at least this armature per mass of the model [m^2].
#define LEAST_ARMATURE 1e-12

static void make_tables(sap_dynamics* d) {
  const sap_model* model = d->model;
  double least = 0.0;
  for (int32_t b = 0; b < model->sizes.bodies; ++b) {
    least += LEAST_ARMATURE * model->bodies[b].mass;
  }
  for (int32_t t = 0; t < model->sizes.trees; ++t) {
    d->tree_q[t] = model->joints[model->dof_joint[model->tree_dofs[t]]].q_start;
  }
  d->tree_q[model->sizes.trees] = model->sizes.nq;
  for (int32_t j = 0; j < model->sizes.joints; ++j) {
    const sap_model_joint_data* joint = &model->joints[j];
    const bool line_up = j + 2 < model->sizes.joints && joint[2].body == joint->body;
    const bool before = j > 0 && j + 1 < model->sizes.joints && joint[-1].body == joint[1].body;
    const bool moves_mass = model->bodies[joint->body].mass > 0.0 && !line_up && !before;
    for (int32_t i = joint->v_start; i < joint->v_start + joint->nv; ++i) {
      d->damping[i] = joint->damping;
      d->armature[i] = moves_mass ? joint->armature : fmax(joint->armature, least);
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

static sap_status allocate_tables(sap_dynamics* d, sap_error* error) {
  const sap_model_sizes* sizes = &d->model->sizes;
  sap_pool* pool = &d->pool;
  return SAP_POOL_ADD_ALL(
      pool, error, SAP_ARRAY(&d->links, sizes->bodies), SAP_ARRAY(&d->link_of, sizes->bodies),
      SAP_ARRAY(&d->hinged, sizes->bodies), SAP_ARRAY(&d->tree_lone, sizes->trees),
      SAP_ARRAY(&d->tree_free, sizes->trees), SAP_ARRAY(&d->tree_root, sizes->trees),
      SAP_ARRAY(&d->tree_q, sizes->trees + 1), SAP_ARRAY(&d->springs, sizes->joints),
      SAP_ARRAY(&d->damping, sizes->nv), SAP_ARRAY(&d->armature, sizes->nv),
      SAP_ARRAY(&d->locked, sizes->nv), SAP_ARRAY(&d->motors, sizes->actuators),
      SAP_ARRAY(&d->other_actuators, sizes->actuators), SAP_ARRAY(&d->floating, sizes->bodies),
      SAP_ARRAY(&d->effort, 2 * (sizes->joints + sizes->tendons)), SAP_ARRAY(&d->force, sizes->nv),
      SAP_ARRAY(&d->applied, sizes->nv), SAP_ARRAY(&d->wrenches, sizes->bodies),
      SAP_ARRAY(&d->composite, sizes->bodies), SAP_ARRAY(&d->V, sizes->bodies),
      SAP_ARRAY(&d->A, sizes->bodies), SAP_ARRAY(&d->F, sizes->bodies));
}

void sap_dynamics_destroy(sap_dynamics* d) {
  if (d == NULL) {
    return;
  }
  sap_pool_free(&d->pool);
  sap_free(d);
}

static sap_status fill_workspace(sap_dynamics* d, sap_error* error) {
  sap_kinematics kin;
  SAP_TRY(allocate_tables(d, error));
  make_links(d);
  make_tables(d);
  SAP_TRY(sap_dynamics_create_servos(d, error));
  SAP_TRY(sap_placing_create(d, error));
  SAP_TRY(sap_fluid_create(d->model, &d->pool, &d->fluid, error));
  SAP_TRY(sap_kinematics_create(&kin, d, error));
  const sap_status status = sap_dynamics_create_elements(d, &kin, error);
  sap_kinematics_clear(&kin);
  return status;
}

sap_status sap_dynamics_create(const sap_model* model, sap_dynamics** out, sap_error* error) {
  SAP_NOT_NULL(error, out, model);
  *out = NULL;
  sap_dynamics* d;
  SAP_TRY(SAP_NEW(&d, 1, "dynamics", error));
  d->model = model;
  d->kernels = sap_dynamics_kernels_get(0);
  d->pool.owner = "dynamics";
  SAP_TRY_OR(fill_workspace(d, error), sap_dynamics_destroy(d));
  *out = d;
  return SAP_STATUS_OK;
}

void sap_dynamics_mass_matrix(sap_dynamics* d, const sap_kinematics* kin, double* const* diagonal) {
  d->kernels->mass_matrix(d, kin, diagonal);
}

void sap_dynamics_point_jacobian(sap_dynamics* d, const sap_kinematics* kin, int32_t body,
                                 const double p_BP[3], double* J) {
  static const double axes[3][3] = {{1.0, 0.0, 0.0}, {0.0, 1.0, 0.0}, {0.0, 0.0, 1.0}};
  static const double zero[3] = {0.0, 0.0, 0.0};
  double p_W[3];
  sap_kinematics_point(kin, body, p_BP, p_W);
  sap_rows_begin(&d->rows, 6);
  for (int32_t i = 0; i < 3; ++i) {
    sap_kinematics_add_wrench_row(kin, body, p_W, zero, axes[i], &d->rows, i);
    sap_kinematics_add_wrench_row(kin, body, p_W, axes[i], NULL, &d->rows, 3 + i);
  }
  for (int32_t j = 0; j < d->model->sizes.nv; ++j) {
    for (int32_t r = 0; r < 6; ++r) {
      J[6 * (size_t)j + (size_t)r] = sap_rows_at(&d->rows, r)[j];
    }
  }
}
