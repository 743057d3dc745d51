// SPDX-License-Identifier: BSD-3-Clause
// The built-in multibody engine: its memory, its kinematics and its controls. Kinematics are
// computed when someone comes with other positions than the last ones, compared bit by bit: the
// stepper asks several questions at each point.
#include <string.h>

#include "core/memory.h"
#include "multibody/engine/multibody_data.h"
#include "multibody/model/model_data.h"

sap_dynamics* sap_multibody_at(sap_multibody* multibody, const double* q) {
  sap_dynamics* dynamics = multibody->dynamics;
  if (sap_dynamics_stands_at(dynamics, q)) {
    return dynamics;
  }
  const bool known = sap_dynamics_has_kept(dynamics, q);
  if (known || multibody->looked_at) {
    sap_dynamics_exchange(dynamics);
    multibody->looked_at = !multibody->looked_at;
  }
  if (!known) {
    sap_dynamics_set_positions(dynamics, q);
  }
  return dynamics;
}

sap_dynamics* sap_multibody_look(sap_multibody* multibody, const double* q) {
  sap_dynamics* dynamics = sap_multibody_at(multibody, q);
  multibody->looked_at = true;
  return dynamics;
}

sap_status sap_multibody_create(const sap_model* model, sap_multibody** out, sap_error* error) {
  if (out != NULL) {
    *out = NULL;
  }
  if (model == NULL || out == NULL) {
    return sap_fail(error, SAP_STATUS_ARGUMENT, "%s is NULL", model == NULL ? "model" : "out");
  }
  sap_multibody* multibody = sap_allocate(1, sizeof *multibody);
  if (multibody == NULL) {
    return sap_fail(error, SAP_STATUS_MEMORY, "out of memory: multibody");
  }
  multibody->model = model;
  multibody->control = sap_allocate((size_t)model->sizes.nu, sizeof(double));
  multibody->input = sap_allocate((size_t)model->sizes.nu, sizeof(double));
  multibody->act = sap_allocate((size_t)model->sizes.na, sizeof(double));
  multibody->q_next = sap_allocate((size_t)model->sizes.nq, sizeof(double));
  multibody->turns = sap_allocate((size_t)model->sizes.joints, sizeof *multibody->turns);
  multibody->reaction = sap_allocate((size_t)model->sizes.nv, sizeof(double));
  multibody->poses = sap_allocate((size_t)model->sizes.bodies, 12 * sizeof(double));
  multibody->carrier = sap_allocate((size_t)model->sizes.bodies, sizeof(int32_t));
  multibody->shape_on = sap_allocate((size_t)model->sizes.shapes, sizeof(bool));
  multibody->start.q0 = sap_allocate((size_t)model->sizes.nq, sizeof(double));
  multibody->start.v0 = sap_allocate((size_t)model->sizes.nv, sizeof(double));
  multibody->start.input = sap_allocate((size_t)model->sizes.nu, sizeof(double));
  sap_status status = SAP_STATUS_OK;
  if (multibody->control == NULL || multibody->input == NULL || multibody->act == NULL ||
      multibody->poses == NULL || multibody->q_next == NULL || multibody->turns == NULL ||
      multibody->reaction == NULL || multibody->carrier == NULL || multibody->shape_on == NULL ||
      multibody->start.q0 == NULL || multibody->start.v0 == NULL ||
      multibody->start.input == NULL) {
    status = sap_fail(error, SAP_STATUS_MEMORY, "out of memory: multibody");
  }
  if (status == SAP_STATUS_OK) {
    status = sap_momentum_records_create(model, &multibody->momenta, error);
  }
  if (status == SAP_STATUS_OK) {
    status = sap_evaluation_point_create(model, &multibody->point, error);
  }
  if (status == SAP_STATUS_OK) {
    status = sap_dynamics_create(model, &multibody->dynamics, error);
  }
  if (status == SAP_STATUS_OK) {
    status = sap_collision_create(model, &multibody->collision, error);
  }
  if (status == SAP_STATUS_OK) {
    status = sap_assembly_create(model, &multibody->assembly, error);
  }
  if (status != SAP_STATUS_OK) {
    sap_multibody_destroy(multibody);
    return status;
  }
  memset(multibody->shape_on, 1, (size_t)model->sizes.shapes * sizeof(bool));
  sap_multibody_fill_system(multibody);
  sap_assembly_set_locked(multibody->assembly, multibody->system.locked);
  sap_multibody_find_carriers(multibody);
  *out = multibody;
  return SAP_STATUS_OK;
}

void sap_multibody_destroy(sap_multibody* multibody) {
  if (multibody == NULL) {
    return;
  }
  sap_threads_destroy(multibody->threads);
  sap_dynamics_destroy(multibody->dynamics);
  sap_collision_destroy(multibody->collision);
  sap_assembly_destroy(multibody->assembly);
  sap_free(multibody->control);
  sap_free(multibody->input);
  sap_free(multibody->act);
  sap_free(multibody->q_next);
  sap_free(multibody->reaction);
  sap_free(multibody->turns);
  sap_free(multibody->poses);
  sap_free(multibody->carrier);
  sap_momentum_records_clear(&multibody->momenta);
  sap_free(multibody->start.q0);
  sap_free(multibody->start.v0);
  sap_free(multibody->start.input);
  sap_free(multibody->shape_on);
  sap_free(multibody->pairs_off);
  sap_free(multibody->contacts);
  sap_evaluation_point_clear(&multibody->point);
  sap_free(multibody);
}

const sap_system* sap_multibody_system(const sap_multibody* multibody) {
  return multibody == NULL ? NULL : &multibody->system;
}

sap_status sap_multibody_set_control(sap_multibody* multibody, const double* control,
                                     sap_error* error) {
  if (multibody == NULL) {
    return sap_fail(error, SAP_STATUS_ARGUMENT, "multibody is NULL");
  }
  const int32_t nu = multibody->model->sizes.nu;
  const sap_status status = sap_check_numbers("control", control, nu, error);
  if (status == SAP_STATUS_OK && nu > 0) {
    memcpy(multibody->control, control, (size_t)nu * sizeof *control);
    sap_multibody_set_input(multibody, multibody->act);
  }
  return status;
}

sap_status sap_multibody_set_control_function(sap_multibody* multibody,
                                              sap_control_function function, void* context,
                                              sap_error* error) {
  if (multibody == NULL) {
    return sap_fail(error, SAP_STATUS_ARGUMENT, "multibody is NULL");
  }
  multibody->control_function = function;
  multibody->control_context = context;
  return SAP_STATUS_OK;
}

sap_status sap_multibody_closure(sap_multibody* multibody, const double* q, double* gap,
                                 sap_error* error) {
  if (multibody == NULL || gap == NULL) {
    return sap_fail(error, SAP_STATUS_ARGUMENT, "multibody or gap is NULL");
  }
  const sap_status status = sap_check_numbers("q", q, multibody->model->sizes.nq, error);
  if (status == SAP_STATUS_OK) {
    const bool any = multibody->model->sizes.equalities > 0;
    *gap =
        any ? sap_assembly_closure(multibody->assembly, sap_multibody_look(multibody, q), q) : 0.0;
  }
  return status;
}

sap_status sap_multibody_body_pose(sap_multibody* multibody, const double* q, int32_t body,
                                   double p_WB[3], double q_WB[4], sap_error* error) {
  if (multibody == NULL || p_WB == NULL || q_WB == NULL) {
    return sap_fail(error, SAP_STATUS_ARGUMENT, "multibody, p_WB or q_WB is NULL");
  }
  if (body < 0 || body >= multibody->model->sizes.bodies) {
    return sap_fail(error, SAP_STATUS_ARGUMENT, "body = %d must be 0 to %d", body,
                    multibody->model->sizes.bodies - 1);
  }
  const sap_status status = sap_check_numbers("q", q, multibody->model->sizes.nq, error);
  if (status == SAP_STATUS_OK) {
    const sap_dynamics* dynamics = sap_multibody_look(multibody, q);
    memcpy(p_WB, sap_dynamics_p_WB(dynamics) + 3 * (size_t)body, 3 * sizeof(double));
    memcpy(q_WB, sap_dynamics_q_WB(dynamics) + 4 * (size_t)body, 4 * sizeof(double));
  }
  return status;
}
