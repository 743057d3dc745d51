// SPDX-License-Identifier: BSD-3-Clause
// What recordings say of steps of our own models.
#include <string.h>

#include <sapstep/multibody.h>

#include "core/memory.h"
#include "multibody/dynamics/elements.h"
#include "multibody/dynamics/momentum.h"
#include "output/recorder/recorder_data.h"

#ifdef SAPSTEP_HDF5

#include "multibody/assembly/assembly_data.h"
#include "multibody/engine/multibody_data.h"
#include "multibody/model/model_data.h"

// Finds the nonzero rows of all blocks but contacts: limits, dry friction, servos, equalities.
static sap_status find_forces(sap_recorder* recorder, sap_block_range contacts,
                              const sap_step_report* report, sap_recorded_row* row,
                              sap_error* error) {
  const sap_solution* solution = report != NULL ? report->solution : NULL;
  const int32_t count = solution != NULL ? sap_problem_block_count(report->problem) : 0;
  sap_status status = SAP_STATUS_OK;
  for (int32_t i = 0; status == SAP_STATUS_OK && i < count; ++i) {
    sap_block block;
    int32_t start = 0;
    if (i >= contacts.first && i < contacts.end) {
      continue;
    }
    status = sap_problem_block(report->problem, i, &block, &start, error);
    if (status == SAP_STATUS_OK) {
      status = SAP_GROW(&recorder->forces, &recorder->force_capacity,
                        row->force_count + block.nrows, error);
    }
    for (int32_t r = 0; status == SAP_STATUS_OK && r < block.nrows; ++r) {
      const double force = solution->gamma[start + r] / sap_problem_dt(report->problem);
      if (force != 0.0) {
        recorder->forces[row->force_count++] =
            (sap_recorded_force){.kind = sap_assembly_key_kind(block.key) - SAP_KEY_LOWER,
                                 .id = sap_assembly_key_id(block.key, 0),
                                 .row = sap_assembly_key_id(block.key, 1) + r,
                                 .force = force};
      }
    }
  }
  row->forces = recorder->forces;
  return status;
}

// Their kinematics are those of the beginning of the step: before anything else is looked at.
static sap_status find_actuators(sap_recorder* recorder, sap_multibody* multibody,
                                 const sap_step_report* report, sap_recorded_row* row,
                                 sap_error* error) {
  const int32_t nu = recorder->sizes.nu;
  if (nu == 0 || report == NULL) {
    return SAP_STATUS_OK;
  }
  if (recorder->actuator_force == NULL) {  // a recorder of somebody else's model
    recorder->actuator_force = sap_allocate((size_t)nu, sizeof *recorder->actuator_force);
  }
  if (recorder->actuator_force == NULL) {
    return sap_fail(error, SAP_STATUS_MEMORY, "out of memory: recorder");
  }
  row->actuator_force = recorder->actuator_force;
  return sap_multibody_actuator_forces(multibody, report, recorder->actuator_force, error);
}

static void take_report(const sap_step_report* report, sap_recorded_row* row) {
  row->stepped = true;
  row->solver = report->solver;
  row->constraint_rows = report->rows;
  row->free_motion_iterations = report->free_motion_iterations;
  row->free_motion_residual = report->free_motion_residual;
  row->dt = sap_problem_dt(report->problem);
  row->time_total = report->time_total;
  row->time_solver = report->time_solver;
}

static sap_status check_state(const sap_recorder* recorder, const sap_state* state,
                              sap_error* error) {
  const sap_model_sizes* n = &recorder->sizes;
  if (state->nq != n->nq || state->nv != n->nv) {
    return sap_fail(error, SAP_STATUS_ARGUMENT, "state has nq = %d, nv = %d; the model has %d, %d",
                    state->nq, state->nv, n->nq, n->nv);
  }
  if (state->na != n->na) {
    return sap_fail(error, SAP_STATUS_ARGUMENT, "state has na = %d; the model has %d", state->na,
                    n->na);
  }
  return SAP_STATUS_OK;
}

static void take_diagnostics(const sap_diagnostics* d, sap_recorded_row* row) {
  row->energy[0] = d->kinetic;
  row->energy[1] = d->potential_gravity;
  row->energy[2] = d->potential_springs;
  memcpy(row->momentum, d->linear_momentum, 3 * sizeof(double));
  memcpy(row->momentum + 3, d->angular_momentum, 3 * sizeof(double));
}

void sap_recorder_derive(sap_recorder* recorder, sap_recorded_row* row) {
  sap_diagnostics d;
  sap_kinematics_set(&recorder->kinematics, row->q);
  sap_dynamics_diagnose(recorder->dynamics, &recorder->kinematics, row->v, &d);
  take_diagnostics(&d, row);
  row->p_WB = recorder->kinematics.p_WB;
  row->q_WB = recorder->kinematics.q_WB;
}

// Energies count what is switched on: rows before a change are to be done first.
static void take_switches(sap_recorder* recorder, sap_dynamics* from, sap_element_force_kind kind,
                          int32_t count) {
  const bool* now = sap_dynamics_element_switches(from, kind);
  bool* known = sap_dynamics_element_switches(recorder->dynamics, kind);
  if (count > 0 && memcmp(known, now, (size_t)count * sizeof *now) != 0) {
    sap_recorder_queue_give(recorder, SAP_THEN_NOTHING);
    sap_recorder_queue_drain(recorder);
    memcpy(known, now, (size_t)count * sizeof *now);
  }
}

// Of somebody else's model: poses, energy and momentum, at once.
static sap_status look(sap_multibody* multibody, const sap_state* state, sap_recorded_row* row,
                       sap_error* error) {
  sap_diagnostics d;
  const sap_status status = sap_multibody_diagnose(multibody, state, &d, error);
  if (status == SAP_STATUS_OK) {
    const sap_kinematics* kin = sap_multibody_start_kinematics(multibody, state->q);
    row->p_WB = kin->p_WB;
    row->q_WB = kin->q_WB;
    take_diagnostics(&d, row);
  }
  return status;
}

// What the thread that works finds them from.
static sap_status prepare(sap_recorder* recorder, sap_multibody* multibody, const sap_state* state,
                          sap_error* error) {
  sap_status status = sap_check_numbers("q", state->q, state->nq, error);
  if (status == SAP_STATUS_OK) {
    status = sap_check_numbers("v", state->v, state->nv, error);
  }
  if (status == SAP_STATUS_OK) {
    const sap_model_sizes* n = &recorder->sizes;
    take_switches(recorder, multibody->dynamics, SAP_FORCE_SPRING, n->springs);
    take_switches(recorder, multibody->dynamics, SAP_FORCE_BUSHING, n->bushings);
  }
  return status;
}

sap_status sap_recorder_write(sap_recorder* recorder, sap_multibody* multibody,
                              const sap_state* state, const sap_step_report* report,
                              sap_error* error) {
  if (recorder == NULL || multibody == NULL || state == NULL) {
    return sap_fail(error, SAP_STATUS_ARGUMENT, "recorder, multibody or state is NULL");
  }
  if (report != NULL && report->solution != NULL && !multibody->collected) {
    SAP_TRY(sap_multibody_collect(multibody, report, error));
  }
  sap_recorded_row row = {.t = state->t,
                          .q = state->q,
                          .v = state->v,
                          .act = state->act,
                          .contacts = sap_multibody_contacts(multibody),
                          .contact_count = sap_multibody_contact_count(multibody)};
  const bool derive = recorder->model == multibody->model;
  sap_status status = check_state(recorder, state, error);
  if (status == SAP_STATUS_OK) {
    status = find_actuators(recorder, multibody, report, &row, error);
  }
  if (status == SAP_STATUS_OK) {
    status = find_forces(recorder, sap_assembly_blocks(multibody->assembly, SAP_BLOCKS_CONTACT),
                         report, &row, error);
  }
  if (status == SAP_STATUS_OK) {
    status =
        derive ? prepare(recorder, multibody, state, error) : look(multibody, state, &row, error);
  }
  if (status != SAP_STATUS_OK) {
    return status;
  }
  if (report != NULL) {
    take_report(report, &row);
  }
  return sap_recorder_take_row(recorder, &row, derive, error);
}

#endif
