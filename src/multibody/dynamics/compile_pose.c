// SPDX-License-Identifier: BSD-3-Clause
// Compiling a model: what depends on the poses of bodies, from the dynamics in the default pose.
//   M = L' D L of each tree, from the leaves to the root: D on the diagonal, l_ij below it. A pivot
//   D_i at the round-off of M_ii counts as zero.
#include <math.h>
#include <string.h>

#include "core/memory.h"
#include "math/scalar.h"
#include "multibody/dynamics/actuators.h"
#include "multibody/dynamics/dynamics_data.h"
#include "multibody/model/builder.h"

// Relative; the loss of double precision at mass ratios up to 1e12.
#define PIVOT_TOLERANCE 1e-13

typedef struct pose {
  sap_dynamics* dynamics;  // of the model, with no velocity held
  sap_kinematics kin;
  sap_pool pool;     // of all arrays below
  double* q;         // scratch, at first the default                       (nq)
  double* values;    // of the blocks
  double** blocks;   // M of each tree, then its factor: lower triangle     (trees)
  size_t entries;    // of all blocks
  double* gradient;  // of a transmission's length                          (nv)
  double* response;  // M^-1 gradient'                                      (nv)
} pose;

static sap_status fill_pose(const sap_model* model, pose* at, sap_error* error) {
  const int32_t nv = model->sizes.nv, nq = model->sizes.nq;
  SAP_TRY(sap_dynamics_create(model, &at->dynamics, error));
  for (int32_t i = 0; i < nv; ++i) {
    at->dynamics->armature[i] = model->joints[model->dof_joint[i]].armature;
    at->dynamics->locked[i] = false;
  }
  SAP_TRY(sap_kinematics_create(&at->kin, at->dynamics, error));
  for (int32_t t = 0; t < model->sizes.trees; ++t) {
    at->entries += (size_t)model->tree_sizes[t] * (size_t)model->tree_sizes[t];
  }
  SAP_TRY(SAP_POOL_ADD_ALL(&at->pool, error, SAP_ARRAY(&at->q, nq),
                           SAP_ARRAY(&at->values, at->entries),
                           SAP_ARRAY(&at->blocks, model->sizes.trees), SAP_ARRAY(&at->gradient, nv),
                           SAP_ARRAY(&at->response, nv)));
  memcpy(at->q, model->q_default, (size_t)nq * sizeof *at->q);
  double* next = at->values;
  for (int32_t t = 0; t < model->sizes.trees; ++t) {
    at->blocks[t] = next;
    next += (size_t)model->tree_sizes[t] * (size_t)model->tree_sizes[t];
  }
  return SAP_STATUS_OK;
}

// --- inertia ---

// Factorizes M (n x n); diagonal: set to that of M. Returns a velocity without inertia, -1: none.
static int32_t factor_block(double* M, int32_t size, double* diagonal) {
  const size_t n = (size_t)size;
  for (size_t k = 0; k < n; ++k) {
    diagonal[k] = M[k * (n + 1)];
  }
  for (size_t k = n; k-- > 0;) {
    const double pivot = M[k * (n + 1)];
    if (!(pivot > PIVOT_TOLERANCE * diagonal[k])) {
      return (int32_t)k;
    }
    for (size_t i = 0; i < k; ++i) {
      const double l = M[i * n + k] / pivot;
      for (size_t j = 0; l != 0.0 && j <= i; ++j) {
        M[j * n + i] -= l * M[j * n + k];
      }
    }
    for (size_t i = 0; i < k; ++i) {
      M[i * n + k] /= pivot;
    }
  }
  return -1;
}

// Factorizes the mass matrix. Returns the joint of a velocity without inertia, -1: none.
static int32_t factor_mass(pose* at, sap_model* model) {
  memset(at->values, 0, at->entries * sizeof *at->values);
  sap_dynamics_mass_matrix(at->dynamics, &at->kin, at->blocks);
  for (int32_t t = model->sizes.trees; t-- > 0;) {
    const int32_t first = model->tree_dofs[t];
    const int32_t bad =
        factor_block(at->blocks[t], model->tree_sizes[t], model->dof_inertia + first);
    if (bad >= 0) {
      return model->dof_joint[first + bad];
    }
  }
  return -1;
}

// response = M^-1 gradient
static void respond(pose* at) {
  const sap_model* model = at->kin.dynamics->model;
  memcpy(at->response, at->gradient, (size_t)model->sizes.nv * sizeof *at->response);
  for (int32_t t = 0; t < model->sizes.trees; ++t) {
    const size_t n = (size_t)model->tree_sizes[t];
    const double* L = at->blocks[t];
    double* x = at->response + model->tree_dofs[t];
    for (size_t k = n; k-- > 0;) {
      for (size_t i = 0; i < k; ++i) {
        x[i] -= L[i * n + k] * x[k];
      }
    }
    for (size_t k = 0; k < n; ++k) {
      x[k] /= L[k * (n + 1)];
      for (size_t i = 0; i < k; ++i) {
        x[k] -= L[i * n + k] * x[i];
      }
    }
  }
}

// A free body without mass is refused: it has no weight either.
static bool can_be_spared(const sap_model* model, const sap_builder* builder, int32_t j) {
  const sap_model_joint_data* joint = &model->joints[j];
  return builder->spare_armature > 0.0 && joint->armature < builder->spare_armature &&
         (joint->type != SAP_JOINT_FREE || model->bodies[joint->body].mass > 0.0);
}

// Fails with NOT_SPD unless the mass matrix is positive definite.
static sap_status check_inertia(const sap_builder* builder, sap_model* model, pose* at,
                                sap_error* error) {
  int32_t bad = factor_mass(at, model);
  while (bad >= 0 && can_be_spared(model, builder, bad)) {
    sap_model_joint_data* joint = &model->joints[bad];
    joint->armature = builder->spare_armature;
    for (int32_t i = joint->v_start; i < joint->v_start + joint->nv; ++i) {
      at->dynamics->armature[i] = joint->armature;
    }
    bad = factor_mass(at, model);
  }
  if (bad < 0) {
    return SAP_STATUS_OK;
  }
  const sap_checker checker = sap_builder_checker(builder, SAP_ELEMENT_JOINT, bad, error);
  return sap_check_fail(&checker, SAP_STATUS_NOT_SPD,
                        "the bodies that it moves have no inertia in its direction, so that the "
                        "mass matrix is not positive definite: give them mass and inertia, or the "
                        "joint armature");
}

// --- tendons ---

static sap_status set_length(const pose* at, int32_t id, double* length, sap_error* error) {
  *length = sap_tendon_length(&at->kin, id);
  return isfinite(*length)
             ? SAP_STATUS_OK
             : sap_fail(error, SAP_STATUS_NOT_FINITE, "tendon %d: its length overflows", (int)id);
}

// Sets the tendons' lengths in the default pose. Springs without a length are relaxed where the
// springs of all hinge and slide joints are.
static sap_status set_lengths(pose* at, sap_model* model, sap_error* error) {
  for (int32_t t = 0; t < model->sizes.tendons; ++t) {
    SAP_TRY(set_length(at, t, &model->tendons[t].length0, error));
  }
  for (int32_t j = 0; j < model->sizes.joints; ++j) {
    if (sap_joint_is_scalar(model->joints[j].type)) {
      at->q[model->joints[j].q_start] = model->joints[j].spring_reference;
    }
  }
  sap_kinematics_set(&at->kin, at->q);
  for (int32_t t = 0; t < model->sizes.tendons; ++t) {
    sap_model_tendon* tendon = &model->tendons[t];
    if (isnan(tendon->spring_lower)) {
      SAP_TRY(set_length(at, t, &tendon->spring_lower, error));
      tendon->spring_upper = tendon->spring_lower;
    }
  }
  sap_kinematics_set(&at->kin, model->q_default);
  return SAP_STATUS_OK;
}

// --- springs of joints ---
// Time constant T and damping ratio z give
//   stiffness = m/(T z)^2,  damping = 2 m/T,  m = 1/(M^-1)_ii in the default pose

static sap_status set_spring(const sap_checker* checker, pose* at, sap_model_joint_data* joint) {
  double mobility = 0.0;
  for (int32_t i = joint->v_start; i < joint->v_start + joint->nv; ++i) {
    memset(at->gradient, 0, (size_t)at->kin.dynamics->model->sizes.nv * sizeof(double));
    at->gradient[i] = 1.0;
    respond(at);
    mobility += at->response[i] / (double)joint->nv;
  }
  const double T = joint->spring_time, z = joint->spring_damping_ratio;
  joint->stiffness = 1.0 / (mobility * T * T * z * z);
  joint->damping = 2.0 / (mobility * T);
  return isfinite(joint->stiffness) && isfinite(joint->damping)
             ? SAP_STATUS_OK
             : sap_check_fail(checker, SAP_STATUS_NOT_FINITE,
                              "spring_time = %g, spring_damping_ratio = %g: its spring overflows",
                              T, z);
}

// --- actuators ---
// In the default pose, with J the gradient of gear times the length:
//   damping ratio  bias[2] = -2 ratio sqrt(-bias[1] m),  m = 1/(J M^-1 J'), MuJoCo's reflected
//                  inertia
//   muscle         F0 = scale/|M^-1 J'| where none is given; its range of lengths

static sap_status set_damping_and_force(const sap_checker* checker, pose* at,
                                        sap_model_actuator* a) {
  const int32_t nv = at->kin.dynamics->model->sizes.nv;
  memset(at->gradient, 0, (size_t)nv * sizeof(double));
  sap_transmission_add_force(&at->kin, checker->id, a->gear, at->gradient);
  respond(at);
  const double mobility = sap_dot(nv, at->gradient, at->response);
  const double square = sap_dot(nv, at->response, at->response);
  if (a->damping_ratio > 0.0 && mobility > 0.0) {
    a->bias[2] = -2.0 * a->damping_ratio * sqrt(-a->bias[1] / mobility);
  }
  a->damping_ratio = 0.0;
  if ((a->muscle_gain || a->muscle_bias) && a->muscle.force < 0.0) {
    SAP_REFUSE_IF(!(sqrt(square) > 0.0), checker,
                  "the muscle moves nothing in the default pose: give its force");
    a->muscle.force = a->muscle.scale / sqrt(square);
  }
  return SAP_STATUS_OK;
}

static sap_status set_range(const sap_checker* checker, pose* at, sap_model_actuator* a) {
  double range[2] = {0.0, 0.0};
  SAP_TRY(sap_find_reach(&at->kin, checker->id, range, checker->error));
  SAP_REFUSE_IF(
      !(isfinite(range[0]) && isfinite(range[1]) && range[1] - range[0] > 0.0), checker,
      "the muscle's length has no range (%g to %g): give the range of lengths, or of the joints "
      "that it moves",
      range[0], range[1]);
  a->length_lower = range[0];
  a->length_upper = range[1];
  return SAP_STATUS_OK;
}

// Requires that a ball joint driven in its parent's axes is alone on its body.
static sap_status check_parent(const sap_checker* checker, const sap_model* model,
                               const sap_model_actuator* a) {
  if (a->transmission != SAP_TRANSMISSION_JOINT || !a->in_parent) {
    return SAP_STATUS_OK;
  }
  const sap_model_joint_data* joint = &model->joints[a->target];
  return joint->type == SAP_JOINT_BALL && model->bodies[joint->body].njoints > 1
             ? sap_check_fail(checker, SAP_STATUS_ARGUMENT,
                              "in_parent needs a ball joint that is alone on its body")
             : SAP_STATUS_OK;
}

// Sets stiffness and damping of joints from time constants and damping ratios, damping of actuators
// from damping ratios, and forces and ranges of muscles.
static sap_status set_forces(const sap_builder* builder, sap_model* model, pose* at,
                             sap_error* error) {
  for (int32_t j = 0; j < model->sizes.joints; ++j) {
    sap_model_joint_data* joint = &model->joints[j];
    if (joint->spring_time > 0.0 && joint->spring_damping_ratio > 0.0) {
      const sap_checker checker = sap_builder_checker(builder, SAP_ELEMENT_JOINT, j, error);
      SAP_TRY(set_spring(&checker, at, joint));
      joint->spring_time = joint->spring_damping_ratio = 0.0;
    }
  }
  for (int pass = 0; pass < 2; ++pass) {  // ranges of lengths leave the default pose
    for (int32_t i = 0; i < model->sizes.actuators; ++i) {
      const sap_checker checker = sap_builder_checker(builder, SAP_ELEMENT_ACTUATOR, i, error);
      sap_model_actuator* a = &model->actuators[i];
      const bool muscle = a->muscle_gain || a->muscle_bias;
      if (pass == 0) {
        SAP_TRY(check_parent(&checker, model, a));
        const bool responds = a->damping_ratio > 0.0 || (muscle && a->muscle.force < 0.0);
        SAP_TRY(responds ? set_damping_and_force(&checker, at, a) : SAP_STATUS_OK);
      } else if (muscle && isnan(a->length_lower)) {
        SAP_TRY(set_range(&checker, at, a));
      }
    }
  }
  return SAP_STATUS_OK;
}

static sap_status fill_model(const sap_builder* builder, sap_model* model, sap_error* error) {
  pose at = {.pool.owner = "model"};
  SAP_TRY(sap_compile_records(builder, model, error));
  sap_status status = fill_pose(model, &at, error);
  SAP_THEN(status, set_lengths(&at, model, error));
  SAP_THEN(status, check_inertia(builder, model, &at, error));
  SAP_THEN(status, set_forces(builder, model, &at, error));
  sap_pool_free(&at.pool);
  sap_kinematics_clear(&at.kin);
  sap_dynamics_destroy(at.dynamics);
  return status;
}

sap_status sap_builder_compile(const sap_builder* builder, sap_model** out, sap_error* error) {
  SAP_NOT_NULL(error, out, builder);
  *out = NULL;
  sap_model* model;
  SAP_TRY(SAP_NEW(&model, 1, "model", error));
  model->pool.owner = "model";
  SAP_TRY_OR(fill_model(builder, model, error), sap_model_destroy(model));
  *out = model;
  return SAP_STATUS_OK;
}
