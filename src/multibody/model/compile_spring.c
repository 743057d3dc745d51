// SPDX-License-Identifier: BSD-3-Clause
// Springs and dampers of joints that give a time constant T and a damping ratio z:
//   stiffness = m/(T z)^2,  damping = 2 m/T,  m = 1/(M^-1)_ii in the default pose
#include <math.h>
#include <string.h>

#include "multibody/model/compile.h"
#include "multibody/model/placement.h"

static bool asks(const sap_model_joint_data* joint) {
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

sap_status sap_compile_springs(const sap_builder* builder, sap_model* model, sap_error* error) {
  bool any = false;
  for (int32_t j = 0; j < model->sizes.joints; ++j) {
    any = any || asks(&model->joints[j]);
  }
  if (!any) {
    return SAP_STATUS_OK;
  }
  sap_placed placed;
  sap_status status = sap_placed_create(model, &placed, error);
  for (int32_t j = 0; status == SAP_STATUS_OK && j < model->sizes.joints; ++j) {
    if (asks(&model->joints[j])) {
      const sap_checker checker = sap_builder_checker(builder, SAP_ELEMENT_JOINT, j, error);
      status = set_spring(&checker, &placed, &model->joints[j]);
    }
  }
  sap_placed_clear(&placed);
  return status;
}
