// SPDX-License-Identifier: BSD-3-Clause
// The built-in multibody engine: memory, snapshots of kinematics, and what a user sets or reads
// between steps: controls, applied forces, locks, switches, poses, energies.
#include <string.h>

#include <sapstep/multibody.h>

#include "core/memory.h"
#include "multibody/assembly/assembly_data.h"
#include "multibody/dynamics/dynamics_data.h"
#include "multibody/engine/multibody_data.h"
#include "multibody/model/model_data.h"

const sap_kinematics* sap_multibody_kinematics(sap_multibody* multibody, const double* q) {
  int role = 0;
  while (role < SAP_SNAPSHOTS && !sap_kinematics_is_at(&multibody->snapshots[role], q)) {
    ++role;
  }
  if (role == SAP_SNAPSHOTS) {
    role = SAP_SNAPSHOT_NEXT;
    sap_kinematics_set(&multibody->snapshots[role], q);
  }
  return &multibody->snapshots[role];
}

const sap_kinematics* sap_multibody_start_kinematics(sap_multibody* multibody, const double* q) {
  sap_kinematics* start = &multibody->snapshots[SAP_SNAPSHOT_START];
  sap_kinematics* found =
      &multibody->snapshots[sap_multibody_kinematics(multibody, q) - multibody->snapshots];
  if (found != start) {
    const sap_kinematics old = *start;
    *start = *found;
    *found = old;
  }
  return start;
}

sap_status sap_multibody_check_id(const char* what, int32_t id, int32_t count, sap_error* error) {
  return id >= 0 && id < count
             ? SAP_STATUS_OK
             : sap_fail(error, SAP_STATUS_ARGUMENT, "%s = %d must be 0 to %d", what, id, count - 1);
}

sap_status sap_multibody_check_positions(const sap_multibody* multibody, const double* q,
                                         sap_error* error) {
  const sap_model* model = multibody->model;
  SAP_TRY(sap_check_numbers("q", q, model->sizes.nq, error));
  for (int32_t j = 0; j < model->sizes.joints; ++j) {
    const sap_model_joint_data* joint = &model->joints[j];
    const int32_t first = joint->q_start + joint->nq - 4;
    SAP_FAIL_IF(joint->nq >= 4 && q[first] == 0.0 && q[first + 1] == 0.0 && q[first + 2] == 0.0 &&
                    q[first + 3] == 0.0,
                error, SAP_STATUS_ARGUMENT,
                "q[%d] to q[%d] = 0: the quaternion of joint %d '%s' of body '%s' must not be "
                "zero",
                (int)first, (int)first + 3, (int)j, sap_model_get_name(model, SAP_ELEMENT_JOINT, j),
                sap_model_get_name(model, SAP_ELEMENT_BODY, joint->body));
  }
  return SAP_STATUS_OK;
}

static sap_status create_arrays(sap_multibody* m, sap_error* error) {
  const sap_model_sizes* sizes = &m->model->sizes;
  sap_pool* pool = &m->pool;
  sap_momentum_memory* momenta = &m->momenta;
  SAP_TRY(SAP_POOL_ADD_ALL(
      pool, error, SAP_ARRAY(&m->control, sizes->nu), SAP_ARRAY(&m->input, sizes->nu),
      SAP_ARRAY(&m->act, sizes->na), SAP_ARRAY(&m->q_next, sizes->nq),
      SAP_ARRAY(&m->rotations, sizes->joints), SAP_ARRAY(&m->acceleration, sizes->nv),
      SAP_ARRAY(&m->effort, sizes->nv), SAP_ARRAY(&m->actuator_force, sizes->nu),
      SAP_ARRAY(&m->motions, sizes->bodies), SAP_ARRAY(&m->velocities, sizes->bodies),
      SAP_ARRAY(&m->velocities0, sizes->bodies), SAP_ARRAY(&m->carrier, sizes->bodies),
      SAP_ARRAY(&m->shape_on, sizes->shapes), SAP_ARRAY(&m->start.q0, sizes->nq),
      SAP_ARRAY(&m->start.v0, sizes->nv), SAP_ARRAY(&m->start.input, sizes->nu),
      SAP_ARRAY(&m->point.q, sizes->nq), SAP_ARRAY(&m->point.moved, sizes->nv)));
  return SAP_POOL_ADD_ALL(
      pool, error, SAP_ARRAY(&momenta->inertial, sizes->nv),
      SAP_ARRAY(&momenta->moved, sizes->trees), SAP_ARRAY(&momenta->start.q, sizes->nq),
      SAP_ARRAY(&momenta->start.v, sizes->nv), SAP_ARRAY(&momenta->start.momenta, sizes->bodies),
      SAP_ARRAY(&momenta->end.q, sizes->nq), SAP_ARRAY(&momenta->end.v, sizes->nv),
      SAP_ARRAY(&momenta->end.momenta, sizes->bodies));
}

static sap_status create_parts(sap_multibody* m, sap_error* error) {
  SAP_TRY(create_arrays(m, error));
  SAP_TRY(sap_dynamics_create(m->model, &m->dynamics, error));
  for (int i = 0; i < SAP_SNAPSHOTS; ++i) {
    SAP_TRY(sap_kinematics_create(&m->snapshots[i], m->dynamics, error));
  }
  SAP_TRY(sap_collision_create(m->model, &m->collision, error));
  return sap_assembly_create(m->model, &m->assembly, error);
}

sap_status sap_multibody_create(const sap_model* model, sap_multibody** out, sap_error* error) {
  SAP_NOT_NULL(error, out);
  *out = NULL;
  SAP_NOT_NULL(error, model);
  sap_multibody* multibody;
  SAP_TRY(SAP_NEW(&multibody, 1, "multibody", error));
  multibody->model = model;
  multibody->pool.owner = "multibody";
  SAP_TRY_OR(create_parts(multibody, error), sap_multibody_destroy(multibody));
  memset(multibody->shape_on, 1, (size_t)model->sizes.shapes * sizeof(bool));
  sap_multibody_fill_system(multibody);
  multibody->assembly->locked = multibody->dynamics->locked;
  sap_multibody_find_carriers(multibody);
  *out = multibody;
  return SAP_STATUS_OK;
}

void sap_multibody_destroy(sap_multibody* multibody) {
  if (multibody == NULL) {
    return;
  }
  for (int i = 0; i < SAP_SNAPSHOTS; ++i) {
    sap_kinematics_clear(&multibody->snapshots[i]);
  }
  sap_dynamics_destroy(multibody->dynamics);
  sap_collision_destroy(multibody->collision);
  sap_assembly_destroy(multibody->assembly);
  sap_pool_free(&multibody->pool);
  sap_free(multibody);
}

const sap_system* sap_multibody_system(const sap_multibody* multibody) {
  return multibody == NULL ? NULL : &multibody->system;
}

sap_status sap_multibody_set_control(sap_multibody* multibody, const double* control,
                                     sap_error* error) {
  SAP_NOT_NULL(error, multibody);
  const int32_t nu = multibody->model->sizes.nu;
  SAP_TRY(sap_check_numbers("control", control, nu, error));
  if (nu > 0) {
    memcpy(multibody->control, control, (size_t)nu * sizeof *control);
    sap_multibody_set_input(multibody, multibody->act);
  }
  return SAP_STATUS_OK;
}

void sap_multibody_set_input(sap_multibody* multibody, const double* act) {
  const sap_model* model = multibody->model;
  for (int32_t i = 0; i < model->sizes.nu; ++i) {
    const int32_t at = model->actuators[i].act;
    multibody->input[i] = at < 0 ? multibody->control[i] : act[at];
  }
}

sap_status sap_multibody_set_control_function(sap_multibody* multibody,
                                              sap_control_function function, void* context,
                                              sap_error* error) {
  SAP_NOT_NULL(error, multibody);
  multibody->control_function = function;
  multibody->control_context = context;
  return SAP_STATUS_OK;
}

sap_status sap_multibody_set_applied_forces(sap_multibody* multibody, const double* tau,
                                            sap_error* error) {
  SAP_NOT_NULL(error, multibody);
  if (tau != NULL) {
    SAP_TRY(sap_check_numbers("tau", tau, multibody->model->sizes.nv, error));
  }
  multibody->dynamics->any_applied |= tau != NULL;
  for (int32_t i = 0; i < multibody->model->sizes.nv; ++i) {
    multibody->dynamics->applied[i] = tau != NULL ? tau[i] : 0.0;
  }
  return SAP_STATUS_OK;
}

// Copies a vector; NULL: zero.
static sap_status copy_vector(const char* what, const double* from, double out[3],
                              sap_error* error) {
  const sap_status status = from == NULL ? SAP_STATUS_OK : sap_check_numbers(what, from, 3, error);
  for (int i = 0; i < 3; ++i) {
    out[i] = from != NULL ? from[i] : 0.0;
  }
  return status;
}

sap_status sap_multibody_set_applied_wrench(sap_multibody* multibody, int32_t body,
                                            const double p_BP[3], const double force[3],
                                            const double moment[3], sap_error* error) {
  SAP_NOT_NULL(error, multibody);
  SAP_TRY(sap_multibody_check_id("body", body, multibody->model->sizes.bodies, error));
  sap_applied_wrench wrench = {.used = force != NULL || moment != NULL};
  SAP_TRY(copy_vector("p_BP", p_BP, wrench.p_BP, error));
  SAP_TRY(copy_vector("force", force, wrench.force, error));
  SAP_TRY(copy_vector("moment", moment, wrench.moment, error));
  multibody->dynamics->any_applied |= wrench.used;
  multibody->dynamics->wrenches[body] = wrench;
  return SAP_STATUS_OK;
}

sap_status sap_multibody_lock(sap_multibody* multibody, int32_t joint, bool locked,
                              sap_error* error) {
  SAP_NOT_NULL(error, multibody);
  SAP_TRY(sap_multibody_check_id("joint", joint, multibody->model->sizes.joints, error));
  const sap_model_joint_data* data = &multibody->model->joints[joint];
  for (int32_t i = data->v_start; i < data->v_start + data->nv; ++i) {
    multibody->dynamics->locked[i] = locked;
  }
  multibody->momenta.start.known = multibody->momenta.end.known = false;
  sap_multibody_find_carriers(multibody);
  return SAP_STATUS_OK;
}

sap_status sap_multibody_enable(sap_multibody* multibody, sap_switch kind, int32_t id, bool enabled,
                                sap_error* error) {
  SAP_NOT_NULL(error, multibody);
  const sap_model_sizes* sizes = &multibody->model->sizes;
  bool* const* on = multibody->assembly->on;
  const sap_dynamics* d = multibody->dynamics;
  const struct {
    bool* on;
    int32_t count;
  } switches[] = {
      [SAP_SWITCH_EQUALITY] = {on[SAP_ASSEMBLY_EQUALITY], sizes->equalities},
      [SAP_SWITCH_SPRING] = {d->spring_active, sizes->springs},
      [SAP_SWITCH_BUSHING] = {d->bushing_active, sizes->bushings},
      [SAP_SWITCH_ACTUATOR] = {d->actuator_active, sizes->actuators},
      [SAP_SWITCH_JOINT_LIMIT] = {on[SAP_ASSEMBLY_JOINT_LIMIT], sizes->joints},
      [SAP_SWITCH_JOINT_FRICTION] = {on[SAP_ASSEMBLY_JOINT_FRICTION], sizes->joints},
      [SAP_SWITCH_TENDON_LIMIT] = {on[SAP_ASSEMBLY_TENDON_LIMIT], sizes->tendons},
      [SAP_SWITCH_TENDON_FRICTION] = {on[SAP_ASSEMBLY_TENDON_FRICTION], sizes->tendons},
      [SAP_SWITCH_SHAPE] = {multibody->shape_on, sizes->shapes},
  };
  SAP_FAIL_IF((int)kind < 0 || (size_t)kind >= sizeof switches / sizeof *switches, error,
              SAP_STATUS_ARGUMENT, "kind = %d is not a sap_switch", (int)kind);
  SAP_TRY(sap_multibody_check_id("id", id, switches[kind].count, error));
  switches[kind].on[id] = enabled;
  return SAP_STATUS_OK;
}

sap_status sap_multibody_closure(sap_multibody* multibody, const double* q, double* gap,
                                 sap_error* error) {
  SAP_NOT_NULL(error, multibody, gap);
  SAP_TRY(sap_multibody_check_positions(multibody, q, error));
  *gap = 0.0;
  if (multibody->model->sizes.equalities > 0) {
    *gap = sap_assembly_closure(multibody->assembly, sap_multibody_start_kinematics(multibody, q));
  }
  return SAP_STATUS_OK;
}

sap_status sap_multibody_body_pose(sap_multibody* multibody, const double* q, int32_t body,
                                   double p_WB[3], double q_WB[4], sap_error* error) {
  SAP_NOT_NULL(error, multibody, p_WB, q_WB);
  SAP_TRY(sap_multibody_check_id("body", body, multibody->model->sizes.bodies, error));
  SAP_TRY(sap_multibody_check_positions(multibody, q, error));
  const sap_kinematics* kin = sap_multibody_start_kinematics(multibody, q);
  memcpy(p_WB, kin->p_WB + 3 * (size_t)body, 3 * sizeof(double));
  memcpy(q_WB, kin->q_WB + 4 * (size_t)body, 4 * sizeof(double));
  return SAP_STATUS_OK;
}

sap_status sap_multibody_poses(sap_multibody* multibody, const double* q, double* p_WB,
                               double* R_WB, sap_error* error) {
  SAP_NOT_NULL(error, multibody, p_WB, R_WB);
  SAP_TRY(sap_multibody_check_positions(multibody, q, error));
  const sap_kinematics* kin = sap_multibody_start_kinematics(multibody, q);
  const size_t bodies = (size_t)multibody->model->sizes.bodies;
  memcpy(p_WB, kin->p_WB, 3 * bodies * sizeof *p_WB);
  memcpy(R_WB, kin->R_WB, 9 * bodies * sizeof *R_WB);
  return SAP_STATUS_OK;
}

sap_status sap_multibody_point_jacobian(sap_multibody* multibody, const double* q, int32_t body,
                                        const double p_BP[3], double* J, sap_error* error) {
  SAP_NOT_NULL(error, multibody, J, p_BP);
  const sap_model* model = multibody->model;
  SAP_TRY(sap_multibody_check_id("body", body, model->sizes.bodies, error));
  SAP_TRY(sap_multibody_check_positions(multibody, q, error));
  SAP_TRY(sap_check_numbers("p_BP", p_BP, 3, error));
  sap_dynamics_point_jacobian(multibody->dynamics, sap_multibody_kinematics(multibody, q), body,
                              p_BP, J);
  return SAP_STATUS_OK;
}

sap_status sap_multibody_diagnose(sap_multibody* multibody, const sap_state* state,
                                  sap_diagnostics* out, sap_error* error) {
  SAP_NOT_NULL(error, multibody, state, out);
  const sap_model_sizes sizes = sap_model_get_sizes(multibody->model);
  SAP_FAIL_IF(state->nq != sizes.nq || state->nv != sizes.nv, error, SAP_STATUS_ARGUMENT,
              "state has nq = %d, nv = %d, the model nq = %d, nv = %d", state->nq, state->nv,
              sizes.nq, sizes.nv);
  SAP_TRY(sap_multibody_check_positions(multibody, state->q, error));
  SAP_TRY(sap_check_numbers("v", state->v, sizes.nv, error));
  sap_dynamics_diagnose(multibody->dynamics, sap_multibody_start_kinematics(multibody, state->q),
                        state->v, out);
  return SAP_STATUS_OK;
}
