// SPDX-License-Identifier: BSD-3-Clause
// The callbacks by which the stepper asks the built-in multibody engine.
#include <string.h>

#include <sapstep/multibody.h>

#include "dynamics/elements.h"
#include "dynamics/fluid.h"
#include "integrators/multibody_data.h"
#include "integrators/multibody_point.h"
#include "model/model_data.h"
#include "problem/assembly.h"
#include "problem/problem_data.h"

static int mass_matrix(void* context, const double* q, const sap_tree_matrix* M) {
  sap_dynamics_fill_mass_matrix(sap_multibody_at(context, q), M->diagonal);
  return 0;
}

static int forces(void* context, double t, const double* q, const double* v, double* k1,
                  double* k2) {
  sap_multibody* multibody = context;
  (void)t;
  sap_dynamics_forces(sap_multibody_at(multibody, q), q, v, multibody->input, k1, k2);
  return 0;
}

static int inverse_dynamics(void* context, double t, const double* q, const double* v,
                            const double* a, double* residual) {
  sap_multibody* multibody = context;
  (void)t;
  sap_dynamics_inverse(sap_multibody_at(multibody, q), q, v, multibody->input, a, residual);
  return 0;
}

static int momentum_balance(void* context, double t, const double* q0, const double* v0,
                            const double* q, const double* v, double dt, double* residual,
                            double* load) {
  sap_multibody* multibody = context;
  (void)t;
  const sap_momentum_query query = {q0, v0, q, v, dt, multibody->input};
  sap_momentum_records_balance(&multibody->momenta, multibody, &query, residual, load);
  return 0;
}

static int stiffness_damping(void* context, double t, const double* q, const double* v,
                             const sap_tree_matrix* K, const sap_tree_matrix* D) {
  sap_multibody* multibody = context;
  (void)t;
  sap_dynamics* dynamics = sap_multibody_at(multibody, q);
  const sap_element_point at = {q, v, multibody->input};
  sap_dynamics_stiffness_damping(dynamics, q, v, K->diagonal, D->diagonal);
  sap_dynamics_element_matrices(dynamics, &at, K, D);
  sap_dynamics_add_fluid_damping(dynamics, v, 1.0, D);
  return 0;
}

static int add_stiffness_damping(void* context, double t, const double* q, const double* v,
                                 double K_scale, double D_scale, const sap_tree_matrix* A) {
  sap_multibody* multibody = context;
  sap_dynamics* dynamics = sap_multibody_at(multibody, q);
  const sap_element_point at = {q, v, multibody->input};
  (void)t;
  sap_dynamics_add_joint_matrices(dynamics, q, K_scale, D_scale, A->diagonal, A->diagonal);
  sap_dynamics_add_element_matrices(dynamics, &at, K_scale, D_scale, A);
  sap_dynamics_add_fluid_damping(dynamics, v, D_scale, A);
  return 0;
}

static int integrate_positions(void* context, const double* q0, const double* v, double dt,
                               double* q) {
  sap_multibody* multibody = context;
  sap_dynamics_move(multibody->dynamics, q0, v, dt, multibody->turns, q);
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

// Where the equalities would be after a step with v, before anything at q0 is looked at.
static void predict(sap_multibody* multibody, const double* q0, const sap_problem* problem,
                    bool within) {
  const double* v = sap_problem_v_guess(problem);
  if (multibody->model->sizes.equalities == 0) {
    return;
  }
  sap_dynamics_move(multibody->dynamics, q0, v, sap_problem_dt(problem), NULL, multibody->q_next);
  const sap_dynamics* dynamics = sap_multibody_at(multibody, multibody->q_next);
  if (within) {
    sap_assembly_predict_rates(multibody->assembly, dynamics, multibody->q_next, v);
  } else {
    sap_assembly_predict(multibody->assembly, dynamics, multibody->q_next);
  }
}

// From the contacts at q0 to those at the point within the step, and what else is asked there.
static sap_status go_within(sap_multibody* multibody, const double* q0, const double* v0,
                            const sap_problem* problem, sap_error* error) {
  sap_evaluation_point* point = &multibody->point;
  sap_assembly* assembly = multibody->assembly;
  const sap_dynamics* dynamics = sap_multibody_look(multibody, q0);
  sap_assembly_start_gaps(assembly, dynamics, q0);
  sap_evaluation_point_set(point, multibody->model, q0, v0, problem);
  sap_assembly_set_point(assembly, point->q, point->moved);
  sap_evaluation_point_restore(point, multibody->contacts);
  if (!sap_evaluation_point_choose(point, assembly, dynamics, v0, problem)) {
    return SAP_STATUS_OK;
  }
  dynamics = sap_multibody_at(multibody, point->q);
  const sap_collision_query query = {.p_WB = sap_dynamics_p_WB(dynamics),
                                     .R_WB = sap_dynamics_R_WB(dynamics)};
  sap_contact_list found = {NULL, 0};
  const sap_status status =
      sap_collision_detect(multibody->collision, &query, &found.contacts, &found.count, error);
  if (status == SAP_STATUS_OK) {
    sap_evaluation_point_replace(point, assembly, dynamics, problem, &found, multibody->contacts);
  }
  return status;
}

// The kinematics stand at the point of evaluation afterwards.
static sap_status add_contacts(sap_multibody* multibody, const double* q0, bool within,
                               const sap_regularization* regularization, sap_problem* problem,
                               sap_error* error) {
  sap_assembly* assembly = multibody->assembly;
  if (!within) {
    return sap_assembly_add_contacts(assembly, sap_multibody_at(multibody, q0), multibody->contacts,
                                     &multibody->contact_count, regularization, problem, error);
  }
  sap_evaluation_point* point = &multibody->point;
  sap_status status = SAP_STATUS_OK;
  multibody->contact_count = 0;
  for (int32_t i = 0; status == SAP_STATUS_OK && i < point->count; ++i) {
    const bool there = point->within[i];
    const sap_dynamics* dynamics = sap_multibody_at(multibody, there ? point->q : q0);
    sap_contact* contact = &multibody->contacts[multibody->contact_count];
    int32_t added = 1;
    *contact = multibody->contacts[i];
    sap_assembly_set_change(assembly, there ? point->change + 4 * i : NULL);
    status = sap_assembly_add_contacts(assembly, dynamics, contact, &added, regularization, problem,
                                       error);
    point->within[multibody->contact_count] = there;
    multibody->contact_count += added;
  }
  sap_assembly_set_change(assembly, NULL);
  (void)sap_multibody_at(multibody, point->q);
  return status;
}

static void copy(double* to, const double* from, int32_t count) {
  memcpy(to, from, (size_t)count * sizeof *to);
}

// Rigid contacts must be known before they close: poses a step of v* later.
static void look_ahead(sap_multibody* multibody, const double* q0, const sap_problem* problem) {
  const size_t bodies = (size_t)multibody->model->sizes.bodies;
  sap_dynamics_move(multibody->dynamics, q0, sap_problem_v_star(problem), sap_problem_dt(problem),
                    NULL, multibody->q_next);
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
  copy(multibody->start.input, multibody->input, multibody->model->sizes.nu);
  // A position step with the end velocity alone is first order wherever J is taken.
  const bool within = problem->theta_vq < 1.0;
  const bool again = multibody->detected;
  predict(multibody, q0, problem, within);
  sap_assembly_set_point(multibody->assembly, NULL, NULL);
  sap_status status = SAP_STATUS_OK;
  if (multibody->detected) {
    (void)sap_multibody_at(multibody, q0);  // asked again in the same step
  } else {
    if (problem->rigid) {
      look_ahead(multibody, q0, problem);
    }
    status =
        sap_multibody_find_contacts(multibody, q0, sap_problem_dt(problem), problem->rigid, error);
    multibody->detected = status == SAP_STATUS_OK;
  }
  if (status == SAP_STATUS_OK && !again) {
    status = sap_evaluation_point_begin(&multibody->point, multibody->contacts,
                                        within ? multibody->contact_count : 0, error);
  }
  if (status == SAP_STATUS_OK && within) {
    status = go_within(multibody, q0, v0, problem, error);
  }
  if (status == SAP_STATUS_OK) {
    status = add_contacts(multibody, q0, within, regularization, problem, error);
  }
  if (status == SAP_STATUS_OK) {
    status = sap_assembly_add_joints(multibody->assembly, q0, v0, regularization, problem, error);
  }
  const sap_assembly_start start = {multibody->dynamics, q0, v0, multibody->input, regularization};
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

// Numbers that are not finite are refused by the step's own check of forces, blocks or activations.
// Kinematics at q0, where the last step has left them, wait for the constraints.
static int begin_step(void* context, double t, const double* q0, const double* v0) {
  sap_multibody* multibody = context;
  multibody->detected = false;
  multibody->looked_at = multibody->looked_at || sap_dynamics_stands_at(multibody->dynamics, q0);
  const int code =
      multibody->control_function == NULL
          ? 0
          : multibody->control_function(multibody->control_context, t, q0, v0, multibody->control);
  sap_multibody_set_input(multibody, multibody->act);
  return code;
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

static int use_threads(void* context, int32_t count) {
  sap_multibody* multibody = context;
  if (sap_threads_set_count(&multibody->threads, count, NULL) != SAP_STATUS_OK) {
    return 1;
  }
  sap_collision_lend_threads(multibody->collision, multibody->threads);
  sap_dynamics_lend_threads(multibody->dynamics, multibody->threads);
  return 0;
}

sap_threads* sap_multibody_threads(const sap_system* system) {
  return system->use_threads == use_threads ? ((const sap_multibody*)system->context)->threads
                                            : NULL;
}

static bool has_springs_or_dampers(const sap_multibody* multibody) {
  const sap_model* model = multibody->model;
  for (int32_t j = 0; j < model->sizes.joints; ++j) {
    const sap_model_joint_data* joint = &model->joints[j];
    if (joint->stiffness > 0.0 || joint->stiffness_cubic > 0.0 || joint->damping > 0.0) {
      return true;
    }
  }
  return sap_dynamics_has_elements(multibody->dynamics) ||
         sap_dynamics_has_fluid(multibody->dynamics);
}

void sap_multibody_fill_system(sap_multibody* multibody) {
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
      .use_threads = use_threads,
      .na = model->sizes.na,
      .activations = sap_multibody_activate,
  };
  multibody->system.locked = sap_dynamics_locked(multibody->dynamics);
  multibody->system.couplings =
      sap_dynamics_couplings(multibody->dynamics, &multibody->system.ncouplings);
}
