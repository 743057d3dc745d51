// SPDX-License-Identifier: BSD-3-Clause
// What is recorded of one step.
#include <math.h>
#include <string.h>

#include <sapstep/diagnostics.h>

#include "output/recorder_data.h"

#ifdef SAPSTEP_HDF5

#include "integrators/multibody_data.h"
#include "problem/assembly_data.h"

// A friction force this close to the cone's edge slides; the projection leaves round-off.
#define SLIDING_SHARE (1.0 - 1e-9)

static void* next(sap_recorder* recorder, int column) {
  return sap_hdf5_column_next(&recorder->columns[column]);
}

static void copy(sap_recorder* recorder, int column, const double* values, int32_t count) {
  if (count > 0) {
    memcpy(next(recorder, column), values, (size_t)count * sizeof *values);
  }
}

// Makes room for a row in the columns first ... last, which have equally many.
static bool has_room(sap_recorder* recorder, int first, int last) {
  if (recorder->columns[first].count == recorder->columns[first].capacity) {
    for (int i = first; i <= last; ++i) {
      if (!sap_hdf5_column_flush(&recorder->columns[i])) {
        return false;
      }
    }
  }
  return true;
}

static int32_t contact_mode(const sap_contact* contact) {
  static const int32_t row[5] = {0, 1, 3, 4, 5};
  double share_2 = 0.0, most = 0.0;
  for (int32_t i = 0; i < 5; ++i) {
    const double limit = contact->friction[i] * contact->gamma[2];
    const double share = limit > 0.0 ? contact->gamma[row[i]] / limit : 0.0;
    share_2 += share * share;
    most = fmax(most, limit);
  }
  const bool sticks = most > 0.0 && share_2 < SLIDING_SHARE * SLIDING_SHARE;
  return !(contact->gamma[2] > 0.0) ? 0 : sticks ? 1 : 2;
}

static bool add_contact(sap_recorder* recorder, const sap_contact* contact, bool stepped) {
  static const double none[3] = {0.0};
  if (!has_room(recorder, SAP_RECORD_CONTACT_ID, SAP_RECORD_CONTACT_MOMENT)) {
    return false;
  }
  int32_t* id = next(recorder, SAP_RECORD_CONTACT_ID);
  id[0] = contact->body_A;
  id[1] = contact->body_B;
  id[2] = contact->shape_A;
  id[3] = contact->shape_B;
  id[4] = contact->feature;
  id[5] = stepped ? contact_mode(contact) : 0;
  copy(recorder, SAP_RECORD_CONTACT_POINT, contact->point, 3);
  copy(recorder, SAP_RECORD_CONTACT_FRAME, contact->R_WC, 9);
  copy(recorder, SAP_RECORD_CONTACT_DISTANCE, &contact->phi, 1);
  copy(recorder, SAP_RECORD_CONTACT_VELOCITY, stepped ? contact->vc : none, 3);
  copy(recorder, SAP_RECORD_CONTACT_IMPULSE, stepped ? contact->gamma : none, 3);
  copy(recorder, SAP_RECORD_CONTACT_TURNING, stepped ? contact->vc + 3 : none, 3);
  copy(recorder, SAP_RECORD_CONTACT_MOMENT, stepped ? contact->gamma + 3 : none, 3);
  return true;
}

static bool add_contacts(sap_recorder* recorder, const sap_multibody* multibody, bool stepped) {
  const int32_t count = sap_multibody_contact_count(multibody);
  const sap_contact* contacts = sap_multibody_contacts(multibody);
  for (int32_t i = 0; i < count; ++i) {
    if (!add_contact(recorder, &contacts[i], stepped)) {
      return false;
    }
  }
  *(int64_t*)next(recorder, SAP_RECORD_CONTACT_FIRST) = recorder->contacts;
  *(int64_t*)next(recorder, SAP_RECORD_CONTACT_COUNT) = count;
  recorder->contacts += count;
  return true;
}

// Rows of limits, dry friction, servos and equalities that push; contacts are the first blocks.
static bool add_blocks(sap_recorder* recorder, int32_t contacts, const sap_step_report* report) {
  const int64_t first = recorder->blocks;
  const sap_solution* solution = report != NULL ? report->solution : NULL;
  const int32_t count = solution != NULL ? sap_problem_block_count(report->problem) : 0;
  for (int32_t i = contacts; i < count; ++i) {
    sap_block block;
    int32_t start = 0;
    if (sap_problem_block(report->problem, i, &block, &start, NULL) != SAP_STATUS_OK) {
      return false;
    }
    for (int32_t r = 0; r < block.nrows; ++r) {
      const double force = solution->gamma[start + r] / sap_problem_dt(report->problem);
      if (force == 0.0) {
        continue;
      }
      if (!has_room(recorder, SAP_RECORD_BLOCK_ID, SAP_RECORD_BLOCK_FORCE)) {
        return false;
      }
      int32_t* id = next(recorder, SAP_RECORD_BLOCK_ID);
      id[0] = sap_assembly_key_kind(block.key) - SAP_KEY_LOWER;
      id[1] = sap_assembly_key_id(block.key, 0);
      id[2] = sap_assembly_key_id(block.key, 1) + r;
      copy(recorder, SAP_RECORD_BLOCK_FORCE, &force, 1);
      ++recorder->blocks;
    }
  }
  *(int64_t*)next(recorder, SAP_RECORD_BLOCK_FIRST) = first;
  *(int64_t*)next(recorder, SAP_RECORD_BLOCK_COUNT) = recorder->blocks - first;
  return true;
}

static bool add_iterations(sap_recorder* recorder, const sap_report* solver) {
  const int32_t count = solver != NULL ? solver->history_count : 0;
  for (int32_t i = 0; i < count; ++i) {
    const sap_iteration* s = &solver->history[i];
    const double row[4] = {s->cost, s->momentum_error, s->step_length, s->evaluations};
    if (!has_room(recorder, SAP_RECORD_ITERATION, SAP_RECORD_ITERATION)) {
      return false;
    }
    copy(recorder, SAP_RECORD_ITERATION, row, 4);
  }
  *(int64_t*)next(recorder, SAP_RECORD_ITERATION_FIRST) = recorder->iterations;
  *(int64_t*)next(recorder, SAP_RECORD_ITERATION_COUNT) = count;
  recorder->iterations += count;
  return true;
}

static void add_report(sap_recorder* recorder, const sap_step_report* report) {
  double* row = next(recorder, SAP_RECORD_STEP);
  memset(row, 0, SAP_RECORD_STEP_WIDTH * sizeof *row);
  row[1] = 1.0;
  if (report == NULL) {
    return;
  }
  const sap_report* solver = report->solver;
  if (solver != NULL) {
    row[0] = solver->iterations;
    row[1] = solver->outcome == SAP_OUTCOME_CONVERGED || solver->outcome == SAP_OUTCOME_ROUNDOFF;
    row[2] = solver->momentum_error;
    row[3] = solver->cost;
    row[4] = solver->factorizations;
    row[5] = solver->evaluations;
    row[12] = solver->islands;
  }
  row[6] = report->free_motion_iterations;
  row[7] = report->free_motion_residual;
  row[8] = report->time_total;
  row[9] = report->rows;
  row[10] = sap_problem_dt(report->problem);
  row[11] = report->time_solver;
}

static sap_status add_forces(sap_recorder* recorder, sap_multibody* multibody,
                             const sap_step_report* report, sap_error* error) {
  const int32_t nu = recorder->sizes.nu;
  if (nu == 0) {
    return SAP_STATUS_OK;
  }
  double* force = next(recorder, SAP_RECORD_ACTUATOR_FORCE);
  memset(force, 0, (size_t)nu * sizeof *force);
  return report != NULL ? sap_multibody_actuator_forces(multibody, report, force, error)
                        : SAP_STATUS_OK;
}

static void add_poses(sap_recorder* recorder, sap_multibody* multibody, const double* q) {
  const sap_dynamics* dynamics = sap_multibody_look(multibody, q);
  const double* p_WB = sap_dynamics_p_WB(dynamics);
  const double* q_WB = sap_dynamics_q_WB(dynamics);
  float* pose = next(recorder, SAP_RECORD_POSE);
  for (int32_t body = 0; body < recorder->sizes.bodies; ++body) {
    for (int k = 0; k < 3; ++k) {
      *pose++ = (float)p_WB[3 * (size_t)body + (size_t)k];
    }
    for (int k = 0; k < 4; ++k) {
      *pose++ = (float)q_WB[4 * (size_t)body + (size_t)k];
    }
  }
}

// Forces come first: their kinematics are those of the beginning of the step, which are still
// there.
sap_status sap_recorder_add_row(sap_recorder* recorder, sap_multibody* multibody,
                                const sap_state* state, const sap_step_report* report,
                                sap_error* error) {
  sap_diagnostics d;
  sap_status status = add_forces(recorder, multibody, report, error);
  if (status == SAP_STATUS_OK) {
    status = sap_multibody_diagnose(multibody, state, &d, error);
  }
  if (status != SAP_STATUS_OK) {
    return status;
  }
  add_poses(recorder, multibody, state->q);
  if (!add_contacts(recorder, multibody, report != NULL) ||
      !add_blocks(recorder, sap_multibody_contact_count(multibody), report) ||
      !add_iterations(recorder, report != NULL ? report->solver : NULL)) {
    return sap_recorder_fail(recorder, error);
  }
  copy(recorder, SAP_RECORD_TIME, &state->t, 1);
  copy(recorder, SAP_RECORD_Q, state->q, recorder->sizes.nq);
  copy(recorder, SAP_RECORD_V, state->v, recorder->sizes.nv);
  copy(recorder, SAP_RECORD_ACT, state->act, recorder->sizes.na);
  const double energy[3] = {d.kinetic, d.potential_gravity, d.potential_springs};
  copy(recorder, SAP_RECORD_ENERGY, energy, 3);
  double* momentum = next(recorder, SAP_RECORD_MOMENTUM);
  memcpy(momentum, d.linear_momentum, 3 * sizeof *momentum);
  memcpy(momentum + 3, d.angular_momentum, 3 * sizeof *momentum);
  add_report(recorder, report);
  return SAP_STATUS_OK;
}

#endif
