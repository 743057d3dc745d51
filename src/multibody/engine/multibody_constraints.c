// SPDX-License-Identifier: BSD-3-Clause
// The constraints of a step of the built-in multibody engine, and what they miss.
#include <string.h>

#include <sapstep/multibody.h>

#include "multibody/assembly/assembly.h"
#include "multibody/engine/multibody_data.h"
#include "multibody/engine/multibody_point.h"
#include "multibody/model/model_data.h"

// Where the equalities would be after a step with v, before anything at q0 is looked at.
static void predict(sap_multibody* multibody, const sap_step_context* step, bool within) {
  const double* v = step->v_guess;
  if (multibody->model->sizes.equalities == 0) {
    return;
  }
  sap_dynamics_move(multibody->dynamics, step->q0, v, step->dt, NULL, multibody->q_next);
  const sap_dynamics* dynamics = sap_multibody_at(multibody, multibody->q_next);
  if (within) {
    sap_assembly_predict_rates(multibody->assembly, dynamics, multibody->q_next, v);
  } else {
    sap_assembly_predict(multibody->assembly, dynamics, multibody->q_next);
  }
}

// From the contacts at q0 to those at the point within the step, and what else is asked there.
static sap_status go_within(sap_multibody* multibody, const sap_step_context* step,
                            sap_error* error) {
  sap_evaluation_point* point = &multibody->point;
  sap_assembly* assembly = multibody->assembly;
  const sap_dynamics* dynamics = sap_multibody_look(multibody, step->q0);
  sap_assembly_start_gaps(assembly, dynamics, step->q0);
  SAP_TRY(sap_evaluation_point_set(point, multibody->model, step, error));
  sap_assembly_set_point(assembly, point->q, point->moved);
  sap_evaluation_point_restore(point, multibody->contacts);
  if (!sap_evaluation_point_choose(point, assembly, dynamics, step)) {
    return SAP_STATUS_OK;
  }
  dynamics = sap_multibody_at(multibody, point->q);
  const sap_collision_query query = {.p_WB = sap_dynamics_p_WB(dynamics),
                                     .R_WB = sap_dynamics_R_WB(dynamics)};
  sap_contact_list found = {NULL, 0};
  SAP_TRY(sap_collision_detect(multibody->collision, &query, &found.contacts, &found.count, error));
  return sap_evaluation_point_replace(point, assembly, dynamics, step, &found, multibody->contacts,
                                      error);
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
static void look_ahead(sap_multibody* multibody, const sap_step_context* step,
                       const double* v_star) {
  const size_t bodies = (size_t)multibody->model->sizes.bodies;
  sap_dynamics_move(multibody->dynamics, step->q0, v_star, step->dt, NULL, multibody->q_next);
  const sap_dynamics* dynamics = sap_multibody_at(multibody, multibody->q_next);
  memcpy(multibody->poses, sap_dynamics_p_WB(dynamics), 3 * bodies * sizeof(double));
  memcpy(multibody->poses + 3 * bodies, sap_dynamics_R_WB(dynamics), 9 * bodies * sizeof(double));
}

int sap_multibody_constraints(void* context, const sap_step_context* step, sap_problem* problem,
                              sap_error* error) {
  sap_multibody* multibody = context;
  const double *q0 = step->q0, *v0 = step->v0_free;
  const sap_regularization* regularization = &step->regularization;
  copy(multibody->start.q0, q0, multibody->model->sizes.nq);
  copy(multibody->start.v0, v0, multibody->model->sizes.nv);
  copy(multibody->start.input, multibody->input, multibody->model->sizes.nu);
  // A position step with the end velocity alone is first order wherever J is taken.
  const bool within = step->stage_theta_vq < 1.0;
  const bool again = multibody->detected;
  predict(multibody, step, within);
  sap_assembly_set_point(multibody->assembly, NULL, NULL);
  sap_status status = SAP_STATUS_OK;
  if (multibody->detected) {
    (void)sap_multibody_at(multibody, q0);  // asked again in the same step
  } else {
    if (step->rigid) {
      look_ahead(multibody, step, sap_problem_v_star(problem));
    }
    status = sap_multibody_find_contacts(multibody, q0, step->dt, step->rigid, error);
    multibody->detected = status == SAP_STATUS_OK;
  }
  if (status == SAP_STATUS_OK && !again) {
    status = sap_evaluation_point_begin(&multibody->point, multibody->contacts,
                                        within ? multibody->contact_count : 0, error);
  }
  if (status == SAP_STATUS_OK && within) {
    status = go_within(multibody, step, error);
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
    const sap_contact_list contacts = {multibody->contacts, multibody->contact_count};
    status = sap_assembly_add_adhesion(multibody->assembly, &start, &contacts, problem, error);
  }
  if (status == SAP_STATUS_OK) {
    status = sap_assembly_add_equalities(multibody->assembly, &start, problem, error);
  }
  return (int)status;
}

int sap_multibody_closure_error(void* context, const sap_step_context* step,
                                const sap_problem* problem, const double* vc, const double* q,
                                double* error) {
  sap_multibody* multibody = context;
  (void)step;
  *error = 0.0;
  if (multibody->model->sizes.equalities > 0) {
    *error = sap_assembly_closure_error(multibody->assembly, sap_multibody_at(multibody, q), q,
                                        problem, vc);
  }
  return 0;
}
