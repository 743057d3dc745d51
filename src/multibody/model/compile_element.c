// SPDX-License-Identifier: BSD-3-Clause
// Properties that elements get when the model is compiled.
#include <math.h>
#include <string.h>

#include "core/memory.h"
#include "multibody/model/builder.h"
#include "multibody/model/placement.h"

// --- contact stiffness ---
// Shapes that define no stiffness get
//   k = max(1e6 N/m, 1e5 s^-2 m),  so that  m g/k <= 1e-4 m
// m is the mass of all bodies welded together. A fixed number would let a heavy body sink deep, and
// near-rigid contact would hide the compliance of light ones. Static shapes are rigid: the pair
// then has k of the moving one.

static const double LEAST_STIFFNESS = 1e6;     // [N/m]
static const double STIFFNESS_PER_MASS = 1e5;  // [s^-2]: g / 0.1 mm

// Gives pairs without a stiffness that of their shapes in series and its damping. Contact model,
// v_s and static mu of the shapes replace the pair's if they are later or larger.
static sap_status combine_pairs(sap_model* model, sap_error* error) {
  for (int32_t i = 0; i < model->sizes.pairs; ++i) {
    sap_pair_def* pair = &model->pairs[i];
    if (pair->material.stiffness == 0.0) {
      sap_material both;
      SAP_TRY(sap_material_combine(&model->shapes[pair->shape_a].material,
                                   &model->shapes[pair->shape_b].material,
                                   model->options.friction_rule, &both, error));
      pair->material.stiffness = both.stiffness;
      pair->material.relaxation_time = both.relaxation_time;
      pair->material.dissipation = both.dissipation;
      pair->material.stiction_tolerance =
          fmax(pair->material.stiction_tolerance, both.stiction_tolerance);
      pair->material.static_friction = fmax(pair->material.static_friction, both.static_friction);
      pair->material.model = pair->material.model > both.model ? pair->material.model : both.model;
    }
  }
  return SAP_STATUS_OK;
}

sap_status sap_compile_stiffness(sap_model* model, sap_error* error) {
  const int32_t nbodies = model->sizes.bodies;
  double* mass;
  SAP_TRY(SAP_NEW(&mass, nbodies, "masses of bodies", error));
  for (int32_t b = 0; b < nbodies; ++b) {
    mass[model->bodies[b].weld] += model->bodies[b].mass;
  }
  for (int32_t s = 0; s < model->sizes.shapes; ++s) {
    sap_shape_def* shape = &model->shapes[s];
    const sap_model_body* body = &model->bodies[shape->body];
    if (shape->material.stiffness == 0.0) {
      shape->material.stiffness =
          body->tree < 0 ? HUGE_VAL : fmax(LEAST_STIFFNESS, STIFFNESS_PER_MASS * mass[body->weld]);
    }
  }
  sap_free(mass);
  return combine_pairs(model, error);
}

// --- inertia ---

// A free body without mass is refused: it has no weight either.
static bool can_be_spared(const sap_model* model, const sap_builder* builder, int32_t j) {
  const sap_model_joint_data* joint = &model->joints[j];
  return builder->spare_armature > 0.0 && joint->armature < builder->spare_armature &&
         (joint->type != SAP_JOINT_FREE || model->bodies[joint->body].mass > 0.0);
}

sap_status sap_compile_check_inertia(const sap_builder* builder, sap_model* model,
                                     sap_error* error) {
  sap_placed placed;
  SAP_TRY(sap_placed_create(model, &placed, error));
  int32_t bad = sap_placed_eliminate(&placed);
  while (bad >= 0 && can_be_spared(model, builder, bad)) {
    model->joints[bad].armature = builder->spare_armature;
    bad = sap_placed_eliminate(&placed);
  }
  memcpy(model->dof_inertia, placed.diagonal, (size_t)model->sizes.nv * sizeof(double));
  sap_placed_clear(&placed);
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

static sap_status set_length(const sap_placed* placed, int32_t id, double* length,
                             sap_error* error) {
  const sap_poses at = sap_placed_poses(placed);
  *length = sap_drive_tendon_length(placed->model, &at, id);
  return isfinite(*length)
             ? SAP_STATUS_OK
             : sap_fail(error, SAP_STATUS_NOT_FINITE, "tendon %d: its length overflows", (int)id);
}

// Places the bodies where the springs of all hinge and slide joints are relaxed.
static void relax(sap_placed* placed) {
  const sap_model* model = placed->model;
  for (int32_t j = 0; j < model->sizes.joints; ++j) {
    if (sap_joint_is_scalar(model->joints[j].type)) {
      placed->q[model->joints[j].q_start] = model->joints[j].spring_reference;
    }
  }
  sap_placed_move(placed);
}

static sap_status set_lengths(sap_model* model, sap_placed* placed, sap_error* error) {
  for (int32_t t = 0; t < model->sizes.tendons; ++t) {
    SAP_TRY(set_length(placed, t, &model->tendons[t].length0, error));
  }
  relax(placed);
  for (int32_t t = 0; t < model->sizes.tendons; ++t) {
    sap_model_tendon* tendon = &model->tendons[t];
    if (isnan(tendon->spring_lower)) {
      SAP_TRY(set_length(placed, t, &tendon->spring_lower, error));
      tendon->spring_upper = tendon->spring_lower;
    }
  }
  return SAP_STATUS_OK;
}

sap_status sap_compile_tendons(sap_model* model, sap_error* error) {
  if (model->sizes.tendons == 0) {
    return SAP_STATUS_OK;
  }
  sap_placed placed;
  SAP_TRY(sap_placed_create(model, &placed, error));
  const sap_status status = set_lengths(model, &placed, error);
  sap_placed_clear(&placed);
  return status;
}

// --- springs of joints ---
// Time constant T and damping ratio z give
//   stiffness = m/(T z)^2,  damping = 2 m/T,  m = 1/(M^-1)_ii in the default pose

static bool has_spring_time(const sap_model_joint_data* joint) {
  return joint->spring_time > 0.0 && joint->spring_damping_ratio > 0.0;
}

static sap_status set_spring(const sap_checker* checker, sap_placed* placed,
                             sap_model_joint_data* joint) {
  double mobility = 0.0;
  for (int32_t i = joint->v_start; i < joint->v_start + joint->nv; ++i) {
    memset(placed->gradient, 0, (size_t)placed->model->sizes.nv * sizeof(double));
    placed->gradient[i] = 1.0;
    sap_placed_respond(placed);
    mobility += placed->response[i] / (double)joint->nv;
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

static bool needs_response(const sap_model_actuator* a) {
  return a->damping_ratio > 0.0 || ((a->muscle_gain || a->muscle_bias) && a->muscle.force < 0.0);
}

static bool needs_reach(const sap_model_actuator* a) {
  return (a->muscle_gain || a->muscle_bias) && isnan(a->length_lower);
}

static double norm(const double* x, int32_t n) {
  double sum = 0.0;
  for (int32_t i = 0; i < n; ++i) {
    sum += x[i] * x[i];
  }
  return sqrt(sum);
}

static sap_status set_damping_and_force(const sap_checker* checker, sap_placed* placed,
                                        sap_model_actuator* a) {
  const int32_t nv = placed->model->sizes.nv;
  sap_placed_gradient(placed, a);
  sap_placed_respond(placed);
  double mobility = 0.0;
  for (int32_t i = 0; i < nv; ++i) {
    mobility += placed->gradient[i] * placed->response[i];
  }
  const double acceleration = norm(placed->response, nv);
  if (a->damping_ratio > 0.0 && mobility > 0.0) {
    a->bias[2] = -2.0 * a->damping_ratio * sqrt(-a->bias[1] / mobility);
  }
  a->damping_ratio = 0.0;
  if ((a->muscle_gain || a->muscle_bias) && a->muscle.force < 0.0) {
    SAP_REFUSE_IF(!(acceleration > 0.0), checker,
                  "the muscle moves nothing in the default pose: give its force");
    a->muscle.force = a->muscle.scale / acceleration;
  }
  return SAP_STATUS_OK;
}

static sap_status set_range(const sap_checker* checker, sap_placed* placed, sap_model_actuator* a) {
  double range[2] = {0.0, 0.0};
  SAP_TRY(sap_find_reach(placed, a, range, checker->error));
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

static sap_status set_forces(const sap_builder* builder, sap_model* model, sap_placed* placed,
                             sap_error* error) {
  for (int32_t j = 0; j < model->sizes.joints; ++j) {
    if (has_spring_time(&model->joints[j])) {
      const sap_checker checker = sap_builder_checker(builder, SAP_ELEMENT_JOINT, j, error);
      SAP_TRY(set_spring(&checker, placed, &model->joints[j]));
      model->joints[j].spring_time = model->joints[j].spring_damping_ratio = 0.0;
    }
  }
  for (int pass = 0; pass < 2; ++pass) {  // ranges of lengths leave `placed` in another pose
    for (int32_t i = 0; i < model->sizes.actuators; ++i) {
      const sap_checker checker = sap_builder_checker(builder, SAP_ELEMENT_ACTUATOR, i, error);
      sap_model_actuator* a = &model->actuators[i];
      if (pass == 0 && needs_response(a)) {
        SAP_TRY(set_damping_and_force(&checker, placed, a));
      } else if (pass == 1 && needs_reach(a)) {
        SAP_TRY(set_range(&checker, placed, a));
      }
    }
  }
  return SAP_STATUS_OK;
}

sap_status sap_compile_forces(const sap_builder* builder, sap_model* model, sap_error* error) {
  bool any = false;
  for (int32_t j = 0; j < model->sizes.joints; ++j) {
    any = any || has_spring_time(&model->joints[j]);
  }
  for (int32_t i = 0; i < model->sizes.actuators; ++i) {
    const sap_checker checker = sap_builder_checker(builder, SAP_ELEMENT_ACTUATOR, i, error);
    SAP_TRY(check_parent(&checker, model, &model->actuators[i]));
    any = any || needs_response(&model->actuators[i]) || needs_reach(&model->actuators[i]);
  }
  if (!any) {
    return SAP_STATUS_OK;
  }
  sap_placed placed;
  SAP_TRY(sap_placed_create(model, &placed, error));
  const sap_status status = set_forces(builder, model, &placed, error);
  sap_placed_clear(&placed);
  return status;
}
