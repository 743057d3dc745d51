// SPDX-License-Identifier: BSD-3-Clause
// The built-in multibody engine as a sap_system. Kinematics are computed when a callback comes with
// other positions than the last one, compared bit by bit: the stepper asks several questions at
// each point.
#include <math.h>
#include <string.h>

#include <sapstep/multibody.h>

#include "core/memory.h"
#include "dynamics/actuators.h"
#include "dynamics/dynamics.h"
#include "dynamics/elements.h"
#include "geometry/collision.h"
#include "integrators/momentum_record.h"
#include "integrators/multibody_data.h"
#include "model/model_data.h"
#include "problem/assembly.h"
#include "problem/problem_data.h"

struct sap_multibody {
  const sap_model* model;
  sap_system system;
  sap_dynamics* dynamics;
  sap_collision* collision;
  sap_assembly* assembly;
  double* control;  // (nu)
  double* q_set;    // where the kinematics stand (nq)
  double* q_kept;   // where those stand that are put away (nq)
  double* q_next;   // scratch (nq)
  double* poses;    // of the bodies a step later: positions, rotations            (12 bodies)
  sap_momentum_records momenta;
  sap_step_start start;
  sap_control_function control_function;
  void* control_context;
  int32_t* carrier;  // the body at or above each that moves on its own, locks regarded  (bodies)
  bool has_q, has_kept;
  bool looked_at;  // those that stand are to be kept, else those put away
  bool detected;   // are the contacts those of the step under way?
  sap_contact* contacts;
  int32_t contact_count, contact_capacity;
};

static void exchange(sap_multibody* multibody) {
  double* q_kept = multibody->q_kept;
  const bool has_kept = multibody->has_kept;
  multibody->q_kept = multibody->q_set;
  multibody->q_set = q_kept;
  multibody->has_kept = multibody->has_q;
  multibody->has_q = has_kept;
  multibody->looked_at = !multibody->looked_at;
  sap_dynamics_exchange(multibody->dynamics);
}

sap_dynamics* sap_multibody_at(sap_multibody* multibody, const double* q) {
  const size_t bytes = (size_t)multibody->model->sizes.nq * sizeof(double);
  if (multibody->has_q && memcmp(multibody->q_set, q, bytes) == 0) {
    return multibody->dynamics;
  }
  const bool known = multibody->has_kept && memcmp(multibody->q_kept, q, bytes) == 0;
  if (known || multibody->looked_at) {
    exchange(multibody);
  }
  if (!known) {
    sap_dynamics_set_positions(multibody->dynamics, q);
    memcpy(multibody->q_set, q, bytes);
    multibody->has_q = true;
  }
  return multibody->dynamics;
}

sap_dynamics* sap_multibody_look(sap_multibody* multibody, const double* q) {
  sap_dynamics* dynamics = sap_multibody_at(multibody, q);
  multibody->looked_at = true;
  return dynamics;
}

const sap_step_start* sap_multibody_step_start(const sap_multibody* multibody) {
  return &multibody->start;
}

sap_dynamics* sap_multibody_dynamics(sap_multibody* multibody) {
  return multibody->dynamics;
}

const sap_model* sap_multibody_model(const sap_multibody* multibody) {
  return multibody->model;
}

static int mass_matrix(void* context, const double* q, const sap_tree_matrix* M) {
  sap_dynamics_mass_matrix(sap_multibody_at(context, q), M->diagonal);
  return 0;
}

static int forces(void* context, double t, const double* q, const double* v, double* k1,
                  double* k2) {
  sap_multibody* multibody = context;
  (void)t;
  sap_dynamics_forces(sap_multibody_at(multibody, q), q, v, multibody->control, k1, k2);
  return 0;
}

static int inverse_dynamics(void* context, double t, const double* q, const double* v,
                            const double* a, double* residual) {
  sap_multibody* multibody = context;
  (void)t;
  sap_dynamics_inverse(sap_multibody_at(multibody, q), q, v, multibody->control, a, residual);
  return 0;
}

static int momentum_balance(void* context, double t, const double* q0, const double* v0,
                            const double* q, const double* v, double dt, double* residual) {
  sap_multibody* multibody = context;
  (void)t;
  const sap_momentum_query query = {q0, v0, q, v, dt, multibody->control};
  sap_momentum_records_balance(&multibody->momenta, multibody, &query, residual);
  return 0;
}

static int stiffness_damping(void* context, double t, const double* q, const double* v,
                             const sap_tree_matrix* K, const sap_tree_matrix* D) {
  (void)t;
  sap_dynamics* dynamics = sap_multibody_at(context, q);
  sap_dynamics_stiffness_damping(dynamics, q, v, K->diagonal, D->diagonal);
  sap_dynamics_element_matrices(dynamics, q, K, D);
  return 0;
}

static int add_stiffness_damping(void* context, double t, const double* q, const double* v,
                                 double K_scale, double D_scale, const sap_tree_matrix* A) {
  sap_dynamics* dynamics = sap_multibody_at(context, q);
  (void)t;
  (void)v;
  sap_dynamics_add_joint_matrices(dynamics, q, K_scale, D_scale, A->diagonal, A->diagonal);
  sap_dynamics_add_element_matrices(dynamics, q, K_scale, D_scale, A);
  return 0;
}

static int integrate_positions(void* context, const double* q0, const double* v, double dt,
                               double* q) {
  const sap_multibody* multibody = context;
  sap_dynamics_integrate(multibody->model, q0, v, dt, q);
  return 0;
}

static int position_difference(void* context, const double* q0, const double* q1, double* delta) {
  const sap_multibody* multibody = context;
  sap_dynamics_difference(multibody->model, q0, q1, delta);
  return 0;
}

static int carried(void* context, sap_carry what, void* bytes, size_t* size) {
  static const sap_archive_mode modes[] = {SAP_ARCHIVE_SIZE, SAP_ARCHIVE_SAVE, SAP_ARCHIVE_RESERVE,
                                           SAP_ARCHIVE_LOAD, SAP_ARCHIVE_FORGET};
  sap_multibody* multibody = context;
  sap_archive archive = {.mode = modes[what], .bytes = bytes, .size = size != NULL ? *size : 0};
  const sap_status status = sap_collision_archive(multibody->collision, &archive, NULL);
  if (what == SAP_CARRY_SIZE) {
    *size = archive.at;
  }
  return (int)status;
}

static int energies(void* context, double t, const double* q, const double* v, double* kinetic,
                    double* potential) {
  sap_diagnostics diagnostics;
  (void)t;
  sap_dynamics_diagnose(sap_multibody_at(context, q), q, v, &diagnostics);
  *kinetic = diagnostics.kinetic;
  *potential = diagnostics.potential_gravity + diagnostics.potential_springs;
  return 0;
}

// dt > 0: as part of a step, so that contacts which slid since the last step are kept within the
// height at which they glide. 0: a look that leaves no trace. ahead: also those which the poses in
// multibody->poses may lead to.
static sap_status detect(sap_multibody* multibody, const double* q, double dt, bool ahead,
                         sap_error* error) {
  const sap_dynamics* dynamics = sap_multibody_at(multibody, q);
  const sap_collision_query query = {
      .p_WB = sap_dynamics_p_WB(dynamics),
      .R_WB = sap_dynamics_R_WB(dynamics),
      .remember = dt > 0.0,
      .dt = dt,
      .p_next = ahead ? multibody->poses : NULL,
      .R_next = multibody->poses + 3 * multibody->model->sizes.bodies};
  const sap_contact* found = NULL;
  int32_t count = 0;
  sap_status status = sap_collision_detect(multibody->collision, &query, &found, &count, error);
  if (status == SAP_STATUS_OK) {
    status = SAP_GROW(&multibody->contacts, &multibody->contact_capacity, count, error);
  }
  if (status == SAP_STATUS_OK) {
    multibody->contact_count = 0;
    for (int32_t i = 0; i < count; ++i) {
      if (multibody->carrier[found[i].body_A] != multibody->carrier[found[i].body_B]) {
        multibody->contacts[multibody->contact_count++] = found[i];
      }
    }
  }
  return status;
}

// Where the equalities would be after a step with v, before anything at q0 is looked at.
static void predict(sap_multibody* multibody, const double* q0, const double* v, double dt) {
  if (multibody->model->sizes.equalities > 0) {
    sap_dynamics_integrate(multibody->model, q0, v, dt, multibody->q_next);
    sap_assembly_predict(multibody->assembly, sap_multibody_at(multibody, multibody->q_next),
                         multibody->q_next);
  }
}

static void copy(double* to, const double* from, int32_t count) {
  memcpy(to, from, (size_t)count * sizeof *to);
}

// Rigid contacts must be known before they close: poses a step of v* later.
static void look_ahead(sap_multibody* multibody, const double* q0, const sap_problem* problem) {
  const size_t bodies = (size_t)multibody->model->sizes.bodies;
  sap_dynamics_integrate(multibody->model, q0, sap_problem_v_star(problem), sap_problem_dt(problem),
                         multibody->q_next);
  const sap_dynamics* dynamics = sap_multibody_at(multibody, multibody->q_next);
  memcpy(multibody->poses, sap_dynamics_p_WB(dynamics), 3 * bodies * sizeof(double));
  memcpy(multibody->poses + 3 * bodies, sap_dynamics_R_WB(dynamics), 9 * bodies * sizeof(double));
}

static int constraints(void* context, double t, const double* q0, const double* v0,
                       const sap_regularization* regularization, sap_problem* problem,
                       sap_error* error) {
  sap_multibody* multibody = context;
  (void)t;
  copy(multibody->start.q0, q0, multibody->model->sizes.nq);
  copy(multibody->start.v0, v0, multibody->model->sizes.nv);
  copy(multibody->start.control, multibody->control, multibody->model->sizes.nu);
  predict(multibody, q0, sap_problem_v_guess(problem), sap_problem_dt(problem));
  sap_status status = SAP_STATUS_OK;
  if (multibody->detected) {
    (void)sap_multibody_at(multibody, q0);  // asked again in the same step
  } else {
    if (problem->rigid) {
      look_ahead(multibody, q0, problem);
    }
    status = detect(multibody, q0, sap_problem_dt(problem), problem->rigid, error);
    multibody->detected = status == SAP_STATUS_OK;
  }
  if (status == SAP_STATUS_OK) {
    status =
        sap_assembly_add_contacts(multibody->assembly, multibody->dynamics, multibody->contacts,
                                  multibody->contact_count, regularization, problem, error);
  }
  if (status == SAP_STATUS_OK) {
    status = sap_assembly_add_joints(multibody->assembly, q0, v0, regularization, problem, error);
  }
  const sap_assembly_start start = {multibody->dynamics, q0, v0, multibody->control,
                                    regularization};
  if (status == SAP_STATUS_OK) {
    status = sap_assembly_add_tendons(multibody->assembly, &start, problem, error);
  }
  if (status == SAP_STATUS_OK) {
    status = sap_assembly_add_servos(multibody->assembly, &start, problem, error);
  }
  if (status == SAP_STATUS_OK) {
    status = sap_assembly_add_equalities(multibody->assembly, &start, problem, error);
  }
  return (int)status;
}

// Numbers that are not finite are refused by the step's own check of forces or blocks.
static int begin_step(void* context, double t, const double* q0, const double* v0) {
  sap_multibody* multibody = context;
  multibody->detected = false;
  return multibody->control_function == NULL
             ? 0
             : multibody->control_function(multibody->control_context, t, q0, v0,
                                           multibody->control);
}

static int closure_error(void* context, const sap_problem* problem, const double* vc,
                         const double* q, double* error) {
  sap_multibody* multibody = context;
  *error = 0.0;
  if (multibody->model->sizes.equalities > 0) {
    *error = sap_assembly_closure_error(multibody->assembly, sap_multibody_at(multibody, q), q,
                                        problem, vc);
  }
  return 0;
}

static bool has_springs_or_dampers(const sap_multibody* multibody) {
  const sap_model* model = multibody->model;
  for (int32_t j = 0; j < model->sizes.joints; ++j) {
    const sap_model_joint_data* joint = &model->joints[j];
    if (joint->stiffness > 0.0 || joint->stiffness_cubic > 0.0 || joint->damping > 0.0) {
      return true;
    }
  }
  return sap_dynamics_has_elements(multibody->dynamics);
}

// Bodies that locked joints make move as one do not touch each other.
static void find_carriers(sap_multibody* multibody) {
  const sap_model* model = multibody->model;
  const bool* locked = multibody->system.locked;
  for (int32_t n = 1; n < model->sizes.bodies; ++n) {
    const int32_t b = model->body_order[n];
    const sap_model_body* body = &model->bodies[b];
    bool moves = false;
    for (int32_t i = body->first_dof; i < body->first_dof + body->ndofs; ++i) {
      moves = moves || !locked[i];
    }
    multibody->carrier[b] = moves ? b : multibody->carrier[body->parent];
  }
}

static void fill_table(sap_multibody* multibody) {
  const sap_model* model = multibody->model;
  multibody->system = (sap_system){
      .context = multibody,
      .nq = model->sizes.nq,
      .nv = model->sizes.nv,
      .ntrees = model->sizes.trees,
      .tree_sizes = model->tree_sizes,
      .begin_step = begin_step,
      .mass_matrix = mass_matrix,
      .forces = forces,
      .integrate_positions = integrate_positions,
      .stiffness_damping = has_springs_or_dampers(multibody) ? stiffness_damping : NULL,
      .add_stiffness_damping = add_stiffness_damping,
      .inverse_dynamics = inverse_dynamics,
      .momentum_balance = momentum_balance,
      .constraints = constraints,
      .closure_error = closure_error,
      .energies = energies,
      .carried = carried,
      .position_difference = position_difference,
  };
  multibody->system.locked = sap_dynamics_locked(multibody->dynamics);
  multibody->system.couplings =
      sap_dynamics_couplings(multibody->dynamics, &multibody->system.ncouplings);
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
  multibody->q_set = sap_allocate((size_t)model->sizes.nq, sizeof(double));
  multibody->q_kept = sap_allocate((size_t)model->sizes.nq, sizeof(double));
  multibody->q_next = sap_allocate((size_t)model->sizes.nq, sizeof(double));
  multibody->poses = sap_allocate((size_t)model->sizes.bodies, 12 * sizeof(double));
  multibody->carrier = sap_allocate((size_t)model->sizes.bodies, sizeof(int32_t));
  multibody->start.q0 = sap_allocate((size_t)model->sizes.nq, sizeof(double));
  multibody->start.v0 = sap_allocate((size_t)model->sizes.nv, sizeof(double));
  multibody->start.control = sap_allocate((size_t)model->sizes.nu, sizeof(double));
  sap_status status = SAP_STATUS_OK;
  if (multibody->control == NULL || multibody->q_set == NULL || multibody->q_kept == NULL ||
      multibody->poses == NULL || multibody->q_next == NULL || multibody->carrier == NULL ||
      multibody->start.q0 == NULL || multibody->start.v0 == NULL ||
      multibody->start.control == NULL) {
    status = sap_fail(error, SAP_STATUS_MEMORY, "out of memory: multibody");
  }
  if (status == SAP_STATUS_OK) {
    status = sap_momentum_records_create(model, &multibody->momenta, error);
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
  fill_table(multibody);
  sap_assembly_set_locked(multibody->assembly, multibody->system.locked);
  find_carriers(multibody);
  *out = multibody;
  return SAP_STATUS_OK;
}

void sap_multibody_destroy(sap_multibody* multibody) {
  if (multibody == NULL) {
    return;
  }
  sap_dynamics_destroy(multibody->dynamics);
  sap_collision_destroy(multibody->collision);
  sap_assembly_destroy(multibody->assembly);
  sap_free(multibody->control);
  sap_free(multibody->q_set);
  sap_free(multibody->q_kept);
  sap_free(multibody->q_next);
  sap_free(multibody->poses);
  sap_free(multibody->carrier);
  sap_momentum_records_clear(&multibody->momenta);
  sap_free(multibody->start.q0);
  sap_free(multibody->start.v0);
  sap_free(multibody->start.control);
  sap_free(multibody->contacts);
  sap_free(multibody);
}

const sap_system* sap_multibody_system(const sap_multibody* multibody) {
  return multibody == NULL ? NULL : &multibody->system;
}

sap_status sap_multibody_set_control(sap_multibody* multibody, const double* control,
                                     sap_error* error) {
  if (multibody == NULL || (control == NULL && multibody->model->sizes.nu > 0)) {
    return sap_fail(error, SAP_STATUS_ARGUMENT, "%s is NULL",
                    multibody == NULL ? "multibody" : "control");
  }
  for (int32_t i = 0; i < multibody->model->sizes.nu; ++i) {
    if (!isfinite(control[i])) {
      return sap_fail(error, SAP_STATUS_NOT_FINITE, "control[%d] = %g", i, control[i]);
    }
  }
  if (multibody->model->sizes.nu > 0) {
    memcpy(multibody->control, control, (size_t)multibody->model->sizes.nu * sizeof(double));
  }
  return SAP_STATUS_OK;
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

sap_status sap_multibody_lock(sap_multibody* multibody, int32_t joint, bool locked,
                              sap_error* error) {
  if (multibody == NULL) {
    return sap_fail(error, SAP_STATUS_ARGUMENT, "multibody is NULL");
  }
  if (joint < 0 || joint >= multibody->model->sizes.joints) {
    return sap_fail(error, SAP_STATUS_ARGUMENT, "joint = %d must be 0 to %d", joint,
                    multibody->model->sizes.joints - 1);
  }
  const sap_model_joint_data* data = &multibody->model->joints[joint];
  for (int32_t i = data->v_start; i < data->v_start + data->nv; ++i) {
    sap_dynamics_locked(multibody->dynamics)[i] = locked;
  }
  sap_momentum_records_forget(&multibody->momenta);
  find_carriers(multibody);
  return SAP_STATUS_OK;
}

// The switches of a kind of element; NULL for one that has none.
static bool* switches(sap_multibody* multibody, sap_element kind, int32_t* count) {
  const sap_model_sizes* sizes = &multibody->model->sizes;
  switch (kind) {
    case SAP_ELEMENT_EQUALITY:
      *count = sizes->equalities;
      return sap_assembly_equality_switches(multibody->assembly);
    case SAP_ELEMENT_SPRING:
      *count = sizes->springs;
      return sap_dynamics_element_switches(multibody->dynamics, SAP_FORCE_SPRING);
    case SAP_ELEMENT_BUSHING:
      *count = sizes->bushings;
      return sap_dynamics_element_switches(multibody->dynamics, SAP_FORCE_BUSHING);
    case SAP_ELEMENT_ACTUATOR:
      *count = sizes->actuators;
      return sap_dynamics_actuator_switches(multibody->dynamics);
    default:
      return NULL;
  }
}

sap_status sap_multibody_enable(sap_multibody* multibody, sap_element kind, int32_t id,
                                bool enabled, sap_error* error) {
  int32_t count = 0;
  bool* flags = multibody != NULL ? switches(multibody, kind, &count) : NULL;
  if (flags == NULL) {
    return sap_fail(error, SAP_STATUS_ARGUMENT,
                    multibody == NULL ? "multibody is NULL"
                                      : "kind must be equality, spring, bushing or actuator");
  }
  if (id < 0 || id >= count) {
    return sap_fail(error, SAP_STATUS_ARGUMENT, "id = %d must be 0 to %d", id, count - 1);
  }
  flags[id] = enabled;
  return SAP_STATUS_OK;
}

int32_t sap_multibody_contact_count(const sap_multibody* multibody) {
  return multibody == NULL ? 0 : multibody->contact_count;
}

const sap_contact* sap_multibody_contacts(const sap_multibody* multibody) {
  return multibody == NULL ? NULL : multibody->contacts;
}

sap_status sap_multibody_collect(sap_multibody* multibody, const sap_step_report* report,
                                 sap_error* error) {
  if (multibody == NULL || report == NULL) {
    return sap_fail(error, SAP_STATUS_ARGUMENT, "%s is NULL",
                    multibody == NULL ? "multibody" : "report");
  }
  if (multibody->contact_count == 0) {
    return SAP_STATUS_OK;
  }
  if (report->solution == NULL || report->problem == NULL ||
      sap_problem_block_count(report->problem) < multibody->contact_count) {
    return sap_fail(error, SAP_STATUS_ARGUMENT,
                    "the report is not of the step that found these %d contacts",
                    multibody->contact_count);
  }
  // Contacts were the first blocks to be added: block i is contact i.
  for (int32_t i = 0; i < multibody->contact_count; ++i) {
    sap_block block;
    int32_t row = 0;
    const sap_status status = sap_problem_block(report->problem, i, &block, &row, error);
    if (status != SAP_STATUS_OK) {
      return status;
    }
    sap_contact* contact = &multibody->contacts[i];
    if (!sap_assembly_collect_contact(&block, report->solution->vc + row,
                                      report->solution->gamma + row, contact)) {
      sap_assembly_contact_velocity(multibody->assembly,
                                    sap_multibody_at(multibody, multibody->start.q0),
                                    report->solution->v, contact);
    }
    contact->vc[0] += contact->surface_velocity[0];
    contact->vc[1] += contact->surface_velocity[1];
    contact->vc[3] += contact->condim > 3 ? contact->surface_velocity[2] : 0.0;
  }
  return SAP_STATUS_OK;
}

sap_status sap_multibody_check_numbers(const char* what, const double* x, int32_t n,
                                       sap_error* error) {
  if (x == NULL) {
    return sap_fail(error, SAP_STATUS_ARGUMENT, "%s is NULL", what);
  }
  for (int32_t i = 0; i < n; ++i) {
    if (!isfinite(x[i])) {
      return sap_fail(error, SAP_STATUS_NOT_FINITE, "%s[%d] = %g", what, i, x[i]);
    }
  }
  return SAP_STATUS_OK;
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
  const sap_status status = sap_multibody_check_numbers("q", q, multibody->model->sizes.nq, error);
  if (status == SAP_STATUS_OK) {
    const sap_dynamics* dynamics = sap_multibody_look(multibody, q);
    memcpy(p_WB, sap_dynamics_p_WB(dynamics) + 3 * (size_t)body, 3 * sizeof(double));
    memcpy(q_WB, sap_dynamics_q_WB(dynamics) + 4 * (size_t)body, 4 * sizeof(double));
  }
  return status;
}

sap_status sap_multibody_detect(sap_multibody* multibody, const double* q, sap_error* error) {
  if (multibody == NULL) {
    return sap_fail(error, SAP_STATUS_ARGUMENT, "multibody is NULL");
  }
  const sap_status status = sap_multibody_check_numbers("q", q, multibody->model->sizes.nq, error);
  multibody->detected = false;
  return status == SAP_STATUS_OK ? detect(multibody, q, 0.0, false, error) : status;
}
