// SPDX-License-Identifier: BSD-3-Clause
// The engine's table of callbacks for the stepper, and the momenta kept between its calls.
#include <string.h>

#include "core/error.h"
#include "multibody/assembly/assembly_data.h"
#include "multibody/dynamics/dynamics_data.h"
#include "multibody/engine/multibody_data.h"
#include "multibody/model/model_data.h"

static int mass_matrix(void* context, const double* q, const sap_tree_matrix* M) {
  sap_multibody* multibody = context;
  sap_dynamics_mass_matrix(multibody->dynamics, sap_multibody_kinematics(multibody, q),
                           M->diagonal);
  return 0;
}

static sap_dynamics_state state_at(sap_multibody* multibody, const double* q, const double* v) {
  return (sap_dynamics_state){sap_multibody_kinematics(multibody, q), v, multibody->input};
}

static int forces(void* context, double t, const double* q, const double* v, double* k1,
                  double* k2) {
  sap_multibody* multibody = context;
  const sap_dynamics_state at = state_at(multibody, q, v);
  (void)t;
  sap_dynamics_forces(multibody->dynamics, &at, k1, k2);
  return 0;
}

static int inverse_dynamics(void* context, double t, const double* q, const double* v,
                            const double* a, double* residual) {
  sap_multibody* multibody = context;
  const sap_dynamics_state at = state_at(multibody, q, v);
  (void)t;
  sap_dynamics_inverse(multibody->dynamics, &at, a, residual);
  return 0;
}

// --- momentum balance ---
// The momenta of links are remembered from the last evaluation.

static bool is_at(const sap_model* model, const sap_momentum_state* state, const double* q,
                  const double* v) {
  return state->known && memcmp(state->q, q, (size_t)model->sizes.nq * sizeof *q) == 0 &&
         memcmp(state->v, v, (size_t)model->sizes.nv * sizeof *v) == 0;
}

static void set_state(const sap_model* model, sap_momentum_state* state, const double* q,
                      const double* v) {
  memcpy(state->q, q, (size_t)model->sizes.nq * sizeof *q);
  memcpy(state->v, v, (size_t)model->sizes.nv * sizeof *v);
  state->known = true;
}

// Returns the trees that are not where they were evaluated last; NULL: all.
static const bool* find_moved(sap_multibody* multibody, double dt, const double* q,
                              const double* v) {
  const sap_model* model = multibody->model;
  sap_momentum_memory* memory = &multibody->momenta;
  const sap_momentum_state* end = &memory->end;
  if (!memory->inertial_known || memory->dt != dt) {
    return NULL;
  }
  const int32_t* tree_q = multibody->dynamics->tree_q;
  for (int32_t t = 0; t < model->sizes.trees; ++t) {
    const size_t iq = (size_t)tree_q[t], iv = (size_t)model->tree_dofs[t];
    const size_t nq = (size_t)tree_q[t + 1] - iq, nv = (size_t)model->tree_sizes[t];
    memory->moved[t] = memcmp(end->v + iv, v + iv, nv * sizeof(double)) != 0 ||
                       memcmp(end->q + iq, q + iq, nq * sizeof(double)) != 0;
  }
  return memory->moved;
}

// Makes memory->start that of (q0, v0).
static void find_start(sap_multibody* multibody, const double* q0, const double* v0) {
  const sap_model* model = multibody->model;
  sap_momentum_memory* memory = &multibody->momenta;
  if (is_at(model, &memory->start, q0, v0)) {
    return;
  }
  memory->inertial_known = false;
  if (is_at(model, &memory->end, q0, v0)) {
    const sap_momentum_state start = memory->start;
    memory->start = memory->end;
    memory->end = start;
  } else {
    const sap_dynamics_state at = {.kin = sap_multibody_kinematics(multibody, q0), .v = v0};
    sap_dynamics* d = multibody->dynamics;
    d->kernels->momenta(d, &at, NULL, memory->start.momenta);
    set_state(model, &memory->start, q0, v0);
  }
}

// Chooses the servos at the start of a step; gives them the lengths at the start of its parts.
static void place_servos(sap_multibody* multibody, const sap_step_context* context) {
  if (!multibody->servos_chosen) {
    const sap_dynamics_state start = state_at(multibody, context->q0, context->v0);
    sap_dynamics_choose_servos(multibody->dynamics, &start, context->dt);
    multibody->servos_chosen = true;
  } else if (multibody->dynamics->nservos > 0 &&
             !is_at(multibody->model, &multibody->momenta.start, context->q0, context->v0)) {
    sap_dynamics_place_servos(multibody->dynamics,
                              sap_multibody_kinematics(multibody, context->q0));
  }
}

static int momentum_balance(void* context, const sap_step_context* step, const double* q,
                            const double* v, double* residual, double* load) {
  sap_multibody* multibody = context;
  sap_momentum_memory* memory = &multibody->momenta;
  place_servos(multibody, step);
  find_start(multibody, step->q0, step->v0);
  const sap_momentum_step momenta = {
      .dt = step->dt,
      .v0 = step->v0,
      .start = memory->start.momenta,
      .end = memory->end.momenta,
      .trees = load == NULL ? find_moved(multibody, step->dt, q, v) : NULL,
      .inertial = memory->inertial};
  const sap_dynamics_state at = state_at(multibody, q, v);
  sap_dynamics_momentum_balance(multibody->dynamics, &at, &momenta, residual, load);
  set_state(multibody->model, &memory->end, q, v);
  memory->inertial_known = true;
  memory->dt = step->dt;
  return 0;
}

static int changed_laws(void* context, const sap_step_context* step, const double* v,
                        int32_t* count) {
  sap_multibody* multibody = context;
  if (multibody->servos_chosen) {  // else the scheme has none
    place_servos(multibody, step);
  }
  *count = sap_dynamics_check_servos(multibody->dynamics, v, step->dt) +
           sap_assembly_check_limits(multibody->assembly, step->q0, v, step->dt);
  multibody->servos_chosen = *count > 0;  // else the step is over
  return 0;
}

static int add_stiffness_damping(void* context, double t, const double* q, const double* v,
                                 double K_scale, double D_scale, const sap_tree_matrix* A) {
  sap_multibody* multibody = context;
  sap_dynamics* dynamics = multibody->dynamics;
  const sap_dynamics_state at = state_at(multibody, q, v);
  (void)t;
  sap_dynamics_add_joint_matrices(dynamics, q, K_scale, D_scale, A->diagonal, A->diagonal);
  sap_dynamics_add_servo_matrices(dynamics, K_scale, D_scale, A->diagonal);
  sap_dynamics_add_element_matrices(dynamics, &at, K_scale, D_scale, A);
  sap_dynamics_add_fluid_damping(dynamics, &at, D_scale, A);
  return 0;
}

static int integrate_positions(void* context, const double* q0, const double* v, double dt,
                               double* q) {
  sap_multibody* multibody = context;
  sap_manifold_integrate_again(multibody->model, q0, v, dt, multibody->rotations, q);
  return 0;
}

static int position_difference(void* context, const double* q0, const double* q1, double* delta) {
  const sap_multibody* multibody = context;
  sap_manifold_difference(multibody->model, q0, q1, delta);
  return 0;
}

static int32_t step_rotations(void* context, const double* v, double dt,
                              sap_step_rotation* rotations) {
  const sap_multibody* multibody = context;
  return sap_manifold_derivatives(multibody->model, v, dt, rotations);
}

static int moved_masses(void* context, double* masses) {
  const sap_multibody* multibody = context;
  sap_dynamics_moved_masses(multibody->dynamics, masses);
  return 0;
}

static int memory(void* context, sap_memory_request request, void* bytes, size_t* size) {
  static const sap_archive_mode modes[] = {SAP_ARCHIVE_SIZE, SAP_ARCHIVE_SAVE, SAP_ARCHIVE_RESERVE,
                                           SAP_ARCHIVE_LOAD, SAP_ARCHIVE_FORGET};
  sap_multibody* multibody = context;
  sap_archive archive = {.mode = modes[request], .bytes = bytes, .size = size != NULL ? *size : 0};
  const sap_status status = sap_collision_archive(multibody->collision, &archive, NULL);
  if (request == SAP_MEMORY_SIZE) {
    *size = archive.at;
  }
  return (int)status;
}

static int energies(void* context, double t, const double* q, const double* v, double* kinetic,
                    double* potential) {
  sap_multibody* multibody = context;
  sap_diagnostics diagnostics;
  (void)t;
  sap_dynamics_diagnose(multibody->dynamics, sap_multibody_kinematics(multibody, q), v,
                        &diagnostics);
  *kinetic = diagnostics.kinetic;
  *potential = diagnostics.potential_gravity + diagnostics.potential_springs;
  return 0;
}

static sap_status check_positions(void* context, const double* q, sap_error* error) {
  return sap_multibody_check_positions(context, q, error);
}

static void traits(void* context, sap_trait_visitor visit, void* visitor) {
  const sap_multibody* multibody = context;
  sap_model_traits(multibody->model, visit, visitor);
}

// The step's checks of forces, blocks or activations reject controls that are not finite.
static int begin_step(void* context, const sap_step_context* step) {
  sap_multibody* multibody = context;
  multibody->detected = multibody->servos_chosen = false;
  multibody->dynamics->nservos = 0;  // none is linear from now on
  sap_assembly_forget_limits(multibody->assembly);
  (void)sap_multibody_start_kinematics(multibody, step->q0);
  const int code = multibody->control_function == NULL
                       ? 0
                       : multibody->control_function(multibody->control_context, step->t, step->q0,
                                                     step->v0, multibody->control);
  sap_multibody_set_input(multibody, multibody->act);
  return code;
}

// Sets the activations at the end of the step. The inputs take those at the theta point of schemes
// with 0 < theta < 1, else those at the start; those at the end for actuators with early activation.
static int activations(void* context, const sap_step_context* step, const double* a0, double* a) {
  sap_multibody* multibody = context;
  const sap_model* model = multibody->model;
  memcpy(multibody->act, a0, (size_t)model->sizes.na * sizeof *a0);
  const double theta = step->theta < 1.0 ? step->theta : 0.0;
  sap_model_advance_activations(model, multibody->control, a0, step->dt, theta > 0.0, a);
  sap_multibody_set_input(multibody, a0);
  for (int32_t i = 0; i < model->sizes.nu; ++i) {
    const sap_model_actuator* actuator = &model->actuators[i];
    if (actuator->act >= 0) {
      const double share = actuator->activation_early ? 1.0 : theta;
      multibody->input[i] = (1.0 - share) * a0[actuator->act] + share * a[actuator->act];
    }
  }
  return 0;
}

static bool has_springs_or_dampers(const sap_multibody* multibody) {
  const sap_model* model = multibody->model;
  SAP_EACH(const sap_model_joint_data, joint, model->joints, model->sizes.joints) {
    if (joint->stiffness > 0.0 || joint->stiffness_cubic > 0.0 || joint->damping > 0.0) {
      return true;
    }
  }
  const sap_dynamics* d = multibody->dynamics;
  return d->nelastic > 0 || d->nother_actuators > 0 || d->fluid.count > 0;
}

void sap_multibody_fill_system(sap_multibody* multibody) {
  const sap_model* model = multibody->model;
  multibody->system = (sap_system){
      .context = multibody,
      .nq = model->sizes.nq,
      .nv = model->sizes.nv,
      .ntrees = model->sizes.trees,
      .tree_sizes = model->tree_sizes,
      .check_positions = check_positions,
      .begin_step = begin_step,
      .traits = traits,
      .mass_matrix = mass_matrix,
      .forces = forces,
      .integrate_positions = integrate_positions,
      .add_stiffness_damping = has_springs_or_dampers(multibody) ? add_stiffness_damping : NULL,
      .inverse_dynamics = inverse_dynamics,
      .momentum_balance = momentum_balance,
      .constraints = sap_multibody_constraints,
      .missing_contacts = sap_multibody_missing_contacts,
      .changed_laws = changed_laws,
      .closure_error = model->sizes.equalities > 0 ? sap_multibody_closure_error : NULL,
      .energies = energies,
      .memory = memory,
      .position_difference = position_difference,
      .moved_masses = moved_masses,
      .nu = model->sizes.nu,
      .balance_derivatives = sap_multibody_balance_derivatives,
      .impulse_derivatives = sap_multibody_impulse_derivatives,
      .parameter_derivatives = sap_multibody_parameter_derivatives,
      .step_rotations = step_rotations,
      .na = model->sizes.na,
      .activations = activations,
      .free_bodies = multibody->dynamics->tree_lone,
      .locked = multibody->dynamics->locked,
      .couplings = (const int32_t(*)[2])multibody->dynamics->couplings,
      .ncouplings = multibody->dynamics->ncouplings,
  };
}
