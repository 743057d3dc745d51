// SPDX-License-Identifier: BSD-3-Clause
// What actuators take from the default pose, with J the gradient of gear times the length there:
//   damping ratio   bias[2] = -2 ratio sqrt(-bias[1] m),  m = 1/(J M^-1 J'), MuJoCo's reflected
//                   inertia
//   muscle          F0 = scale/|M^-1 J'| where none is given; its range of lengths
#include <math.h>

#include "multibody/model/compile.h"
#include "multibody/model/placement.h"
#include "multibody/model/reach.h"

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

static sap_status use_response(const sap_checker* checker, sap_placed* placed,
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
  if ((a->muscle_gain || a->muscle_bias) && a->muscle.force < 0.0) {
    if (!(acceleration > 0.0)) {
      return sap_check_fail(checker, SAP_STATUS_ARGUMENT,
                            "the muscle moves nothing in the default pose: give its force");
    }
    a->muscle.force = a->muscle.scale / acceleration;
  }
  return SAP_STATUS_OK;
}

static sap_status find_reach(const sap_checker* checker, sap_placed* placed,
                             sap_model_actuator* a) {
  double range[2] = {0.0, 0.0};
  const sap_status status = sap_find_reach(placed, a, range, checker->error);
  if (status != SAP_STATUS_OK) {
    return status;
  }
  if (!(isfinite(range[0]) && isfinite(range[1]) && range[1] - range[0] > 0.0)) {
    return sap_check_fail(
        checker, SAP_STATUS_ARGUMENT,
        "the muscle's length has no range (%g to %g): give the range of lengths, or of the joints "
        "that it moves",
        range[0], range[1]);
  }
  a->length_lower = range[0];
  a->length_upper = range[1];
  return SAP_STATUS_OK;
}

// The parent's axes of a ball joint are those of the parent's body.
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

sap_status sap_compile_actuators(const sap_builder* builder, sap_model* model, sap_error* error) {
  bool any = false;
  for (int32_t i = 0; i < model->sizes.actuators; ++i) {
    const sap_checker checker = sap_builder_checker(builder, SAP_ELEMENT_ACTUATOR, i, error);
    const sap_status status = check_parent(&checker, model, &model->actuators[i]);
    if (status != SAP_STATUS_OK) {
      return status;
    }
    any = any || needs_response(&model->actuators[i]) || needs_reach(&model->actuators[i]);
  }
  if (!any) {
    return SAP_STATUS_OK;
  }
  sap_placed placed;
  sap_status status = sap_placed_create(model, &placed, error);
  for (int32_t i = 0; i < model->sizes.actuators && status == SAP_STATUS_OK; ++i) {
    const sap_checker checker = sap_builder_checker(builder, SAP_ELEMENT_ACTUATOR, i, error);
    if (needs_response(&model->actuators[i])) {
      status = use_response(&checker, &placed, &model->actuators[i]);
    }
  }
  for (int32_t i = 0; i < model->sizes.actuators && status == SAP_STATUS_OK; ++i) {
    const sap_checker checker = sap_builder_checker(builder, SAP_ELEMENT_ACTUATOR, i, error);
    if (needs_reach(&model->actuators[i])) {
      status = find_reach(&checker, &placed, &model->actuators[i]);
    }
  }
  sap_placed_clear(&placed);
  return status;
}
