// SPDX-License-Identifier: BSD-3-Clause
// What is recorded of one step, on the thread that works.
#include <math.h>
#include <string.h>

#include "output/recorder/recorder_data.h"

#ifdef SAPSTEP_HDF5

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
static void make_room(sap_recorder* recorder, int first, int last) {
  if (recorder->columns[first].count == recorder->columns[first].capacity) {
    sap_recorder_give(recorder, first, last, false);
  }
}

static int32_t contact_mode(const sap_packed_contact* contact) {
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

static void add_contact(sap_recorder* recorder, const sap_packed_contact* contact, bool stepped) {
  static const double none[3] = {0.0};
  make_room(recorder, SAP_RECORD_CONTACT_ID, SAP_RECORD_CONTACT_MOMENT);
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
}

static void add_contacts(sap_recorder* recorder, const sap_packed_row* packed) {
  const sap_recorded_row* row = &packed->row;
  for (int32_t i = 0; i < row->contact_count; ++i) {
    add_contact(recorder, &packed->contacts[i], row->stepped);
  }
  *(int64_t*)next(recorder, SAP_RECORD_CONTACT_FIRST) = recorder->contacts;
  *(int64_t*)next(recorder, SAP_RECORD_CONTACT_COUNT) = row->contact_count;
  recorder->contacts += row->contact_count;
}

static void add_forces(sap_recorder* recorder, const sap_recorded_row* row) {
  for (int32_t i = 0; i < row->force_count; ++i) {
    make_room(recorder, SAP_RECORD_BLOCK_ID, SAP_RECORD_BLOCK_FORCE);
    const sap_recorded_force* force = &row->forces[i];
    int32_t* id = next(recorder, SAP_RECORD_BLOCK_ID);
    id[0] = force->kind;
    id[1] = force->id;
    id[2] = force->row;
    copy(recorder, SAP_RECORD_BLOCK_FORCE, &force->force, 1);
  }
  *(int64_t*)next(recorder, SAP_RECORD_BLOCK_FIRST) = recorder->blocks;
  *(int64_t*)next(recorder, SAP_RECORD_BLOCK_COUNT) = row->force_count;
  recorder->blocks += row->force_count;
}

static void add_iterations(sap_recorder* recorder, const sap_report* solver) {
  const int32_t count = solver != NULL ? solver->history_count : 0;
  for (int32_t i = 0; i < count; ++i) {
    const sap_iteration* s = &solver->history[i];
    const double row[4] = {s->cost, s->momentum_error, s->step_length, s->evaluations};
    make_room(recorder, SAP_RECORD_ITERATION, SAP_RECORD_ITERATION);
    copy(recorder, SAP_RECORD_ITERATION, row, 4);
  }
  *(int64_t*)next(recorder, SAP_RECORD_ITERATION_FIRST) = recorder->iterations;
  *(int64_t*)next(recorder, SAP_RECORD_ITERATION_COUNT) = count;
  recorder->iterations += count;
}

static void add_report(sap_recorder* recorder, const sap_recorded_row* row) {
  double* to = next(recorder, SAP_RECORD_STEP);
  memset(to, 0, SAP_RECORD_STEP_WIDTH * sizeof *to);
  to[1] = 1.0;
  if (!row->stepped) {
    return;
  }
  const sap_report* solver = row->solver;
  if (solver != NULL) {
    to[0] = solver->iterations;
    to[1] = solver->outcome == SAP_OUTCOME_CONVERGED || solver->outcome == SAP_OUTCOME_ROUNDOFF;
    to[2] = solver->momentum_error;
    to[3] = solver->cost;
    to[4] = solver->factorizations;
    to[5] = solver->evaluations;
    to[12] = solver->islands;
  }
  to[6] = row->free_motion_iterations;
  to[7] = row->free_motion_residual;
  to[8] = row->time_total;
  to[9] = row->constraint_rows;
  to[10] = row->dt;
  to[11] = row->time_solver;
}

static void add_actuators(sap_recorder* recorder, const sap_recorded_row* row) {
  const int32_t nu = recorder->sizes.nu;
  if (nu > 0) {
    double* force = next(recorder, SAP_RECORD_ACTUATOR_FORCE);
    memset(force, 0, (size_t)nu * sizeof *force);
    if (row->actuator_force != NULL) {
      memcpy(force, row->actuator_force, (size_t)nu * sizeof *force);
    }
  }
}

static void add_poses(sap_recorder* recorder, const sap_recorded_row* row) {
  float* pose = next(recorder, SAP_RECORD_POSE);
  for (size_t body = 0; body < (size_t)recorder->sizes.bodies; ++body) {
    for (size_t k = 0; k < 3; ++k) {
      *pose++ = (float)row->p_WB[3 * body + k];
    }
    for (size_t k = 0; k < 4; ++k) {
      *pose++ = (float)row->q_WB[4 * body + k];
    }
  }
}

void sap_recorder_add_row(sap_recorder* recorder, const sap_packed_row* packed) {
  const sap_recorded_row* row = &packed->row;
  add_contacts(recorder, packed);
  add_forces(recorder, row);
  add_iterations(recorder, row->solver);
  add_poses(recorder, row);
  add_actuators(recorder, row);
  copy(recorder, SAP_RECORD_TIME, &row->t, 1);
  copy(recorder, SAP_RECORD_Q, row->q, recorder->sizes.nq);
  copy(recorder, SAP_RECORD_V, row->v, recorder->sizes.nv);
  copy(recorder, SAP_RECORD_ACT, row->act, recorder->sizes.na);
  copy(recorder, SAP_RECORD_ENERGY, row->energy, 3);
  copy(recorder, SAP_RECORD_MOMENTUM, row->momentum, 6);
  add_report(recorder, row);
}

#endif
