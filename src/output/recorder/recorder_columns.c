// SPDX-License-Identifier: BSD-3-Clause
// The data sets that grow with the run: creates them, and writes rows into them.
#include <math.h>
#include <string.h>

#include "output/recorder/recorder.h"

enum {
  DETAIL_ROWS = 1024,        // of a chunk of contacts, forces or iterations
  CHUNK_BYTES = 128 * 1024,  // of the rows of a chunk, about: a flush leaves one uncompressed
  CHUNK_ROWS = 2048          // at most
};

// A friction force this close to the cone's boundary slides; the projection leaves round-off.
#define SLIDING_SHARE (1.0 - 1e-9)

static int32_t rows_of_chunk(const sap_model_sizes* n, const sap_recorder_options* options) {
  const int64_t bytes =
      8 * ((int64_t)n->nq + n->nv + n->na + n->nu + n->nsensor + 29) + 4 * 7 * (int64_t)n->bodies;
  const int64_t rows = CHUNK_BYTES / bytes;
  if (options->flush_rows > 0) {
    return options->flush_rows;
  }
  return (int32_t)(rows < 1 ? 1 : rows > CHUNK_ROWS ? CHUNK_ROWS : rows);
}

bool sap_recorder_create_columns(sap_recorder* recorder, const sap_recorder_options* options) {
  const sap_model_sizes* n = &recorder->sizes;
#define SAP_X(id, name, number, width, units, columns) \
  {(name), SAP_HDF5_##number, (width), (units), (columns)},
  const sap_hdf5_table tables[SAP_RECORD_COLUMNS] = {SAP_RECORD_LIST(SAP_X)};
  const int32_t rows = rows_of_chunk(n, options);
  for (int i = 0; i < SAP_RECORD_COLUMNS; ++i) {
    sap_hdf5_table table = tables[i];
    if (table.width == 0) {
      continue;
    }
    table.width = table.width == SAP_RECORD_SCALAR ? 0 : table.width;
    if (!sap_hdf5_column_create(recorder->file, &table,
                                i < SAP_RECORD_CONTACT_ID ? rows : DETAIL_ROWS,
                                options->compression, &recorder->columns[i], &recorder->failure)) {
      return false;
    }
  }
  return true;
}

// Writes the buffered rows of the columns first ... last to the file, the last column first; drops
// those of the columns after one that fails.
static void write_chunks(sap_recorder* recorder, int first, int last, bool closing) {
  for (int i = last; i >= first; --i) {
    sap_hdf5_column* column = &recorder->columns[i];
    if (atomic_load(&recorder->failed)) {
      column->count = column->stored = 0;
    } else if (!sap_hdf5_column_write(column, closing, recorder->packer, recorder->scratch) ||
               recorder->failure != 0) {
      atomic_store(&recorder->failed, true);
    }
  }
}

// Details first: rows in the file then have all their contacts, forces and iterations there.
void sap_recorder_flush_columns(sap_recorder* recorder, bool closing) {
  write_chunks(recorder, 0, SAP_RECORD_COLUMNS - 1, closing);
  if (!atomic_load(&recorder->failed) &&
      (H5Fflush(recorder->file, H5F_SCOPE_GLOBAL) < 0 || recorder->failure != 0)) {
    atomic_store(&recorder->failed, true);
  }
}

static void* next_row(sap_recorder* recorder, int column) {
  return sap_hdf5_column_next(&recorder->columns[column]);
}

static void put_reals(sap_recorder* recorder, int column, const double* values, int32_t count) {
  if (count > 0) {
    memcpy(next_row(recorder, column), values, (size_t)count * sizeof *values);
  }
}

// Adds the first row and the number of the details of a step; advances *first.
static void put_range(sap_recorder* recorder, int column, int64_t* first, int32_t count) {
  *(int64_t*)next_row(recorder, column) = *first;
  *(int64_t*)next_row(recorder, column + 1) = count;
  *first += count;
}

// Makes room for a row in the columns first ... last, which have equally many rows.
static void make_room(sap_recorder* recorder, int first, int last) {
  if (recorder->columns[first].count == recorder->columns[first].capacity) {
    write_chunks(recorder, first, last, false);
  }
}

// Returns 0 for an open contact, 1 for a sticking and 2 for a sliding one.
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

// Sets the number (of the row, from 1), area and mean pressure of the patch that begins at contact
// i.
static void set_patch(const sap_recorded_row* row, int32_t i, double patch[3]) {
  double impulse = 0.0;
  for (int32_t k = i; k < i + row->contacts[i].patch && k < row->contact_count; ++k) {
    impulse += row->stepped ? row->contacts[k].gamma[2] : 0.0;
  }
  patch[0] += 1.0;
  patch[1] = row->contacts[i].area;
  patch[2] = patch[1] > 0.0 && row->dt > 0.0 ? impulse / (row->dt * patch[1]) : 0.0;
}

static void put_contacts(sap_recorder* recorder, const sap_recorded_row* row) {
  static const double zero[6] = {0.0};
  double patch[3] = {0.0};
  int32_t left = 0;  // contacts of the patch
  for (int32_t i = 0; i < row->contact_count; ++i) {
    const sap_contact* c = &row->contacts[i];
    const double *vc = row->stepped ? c->vc : zero, *gamma = row->stepped ? c->gamma : zero;
    make_room(recorder, SAP_RECORD_CONTACT_ID, SAP_RECORD_CONTACT_LAW);
    const int32_t id[6] = {c->body_A,  c->body_B,  c->shape_A,
                           c->shape_B, c->feature, row->stepped ? contact_mode(c) : 0};
    memcpy(next_row(recorder, SAP_RECORD_CONTACT_ID), id, sizeof id);
    put_reals(recorder, SAP_RECORD_CONTACT_POINT, c->point, 3);
    put_reals(recorder, SAP_RECORD_CONTACT_FRAME, c->R_WC, 9);
    put_reals(recorder, SAP_RECORD_CONTACT_DISTANCE, &c->phi, 1);
    put_reals(recorder, SAP_RECORD_CONTACT_VELOCITY, vc, 3);
    put_reals(recorder, SAP_RECORD_CONTACT_IMPULSE, gamma, 3);
    put_reals(recorder, SAP_RECORD_CONTACT_TURNING, vc + 3, 3);
    put_reals(recorder, SAP_RECORD_CONTACT_MOMENT, gamma + 3, 3);
    if (left == 0 && c->patch > 0) {
      set_patch(row, i, patch);
      left = c->patch;
    }
    put_reals(recorder, SAP_RECORD_CONTACT_PATCH, left > 0 ? patch : zero, 3);
    left -= left > 0;
    const double law[4] = {c->material.stiffness, c->material.relaxation_time, c->friction[0],
                           row->stepped ? c->realised : 0.0};
    put_reals(recorder, SAP_RECORD_CONTACT_LAW, law, 4);
  }
  put_range(recorder, SAP_RECORD_CONTACT_FIRST, &recorder->contacts, row->contact_count);
}

static void put_forces(sap_recorder* recorder, const sap_recorded_row* row) {
  SAP_EACH(const sap_recorded_force, force, row->forces, row->force_count) {
    const int32_t id[3] = {force->kind, force->id, force->row};
    make_room(recorder, SAP_RECORD_BLOCK_ID, SAP_RECORD_BLOCK_FORCE);
    memcpy(next_row(recorder, SAP_RECORD_BLOCK_ID), id, sizeof id);
    put_reals(recorder, SAP_RECORD_BLOCK_FORCE, &force->force, 1);
  }
  put_range(recorder, SAP_RECORD_BLOCK_FIRST, &recorder->blocks, row->force_count);
}

static void put_iterations(sap_recorder* recorder, const sap_report* solver) {
  const int32_t count = solver != NULL ? solver->history_count : 0;
  for (int32_t i = 0; i < count; ++i) {
    const sap_iteration* s = &solver->history[i];
    const double row[4] = {s->cost, s->momentum_error, s->step_length, s->evaluations};
    make_room(recorder, SAP_RECORD_ITERATION, SAP_RECORD_ITERATION);
    put_reals(recorder, SAP_RECORD_ITERATION, row, 4);
  }
  put_range(recorder, SAP_RECORD_ITERATION_FIRST, &recorder->iterations, count);
}

static void put_report(sap_recorder* recorder, const sap_recorded_row* row) {
  double* to = next_row(recorder, SAP_RECORD_STEP);
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

// values NULL: zeros
static void put_values(sap_recorder* recorder, int column, const double* values, int32_t count) {
  if (count > 0 && values == NULL) {
    memset(next_row(recorder, column), 0, (size_t)count * sizeof(double));
  } else {
    put_reals(recorder, column, values, count);
  }
}

static void put_poses(sap_recorder* recorder, const sap_recorded_row* row) {
  float* pose = next_row(recorder, SAP_RECORD_POSE);
  for (size_t body = 0; body < (size_t)recorder->sizes.bodies; ++body) {
    for (size_t k = 0; k < 3; ++k) {
      *pose++ = (float)row->p_WB[3 * body + k];
    }
    for (size_t k = 0; k < 4; ++k) {
      *pose++ = (float)row->q_WB[4 * body + k];
    }
  }
}

void sap_recorder_write_columns(sap_recorder* recorder, const sap_recorded_row* row) {
  if (atomic_load(&recorder->failed)) {
    return;  // some columns dropped their rows, others not
  }
  make_room(recorder, SAP_RECORD_TIME, SAP_RECORD_ITERATION_COUNT);
  put_contacts(recorder, row);
  put_forces(recorder, row);
  put_iterations(recorder, row->solver);
  put_poses(recorder, row);
  put_values(recorder, SAP_RECORD_ACTUATOR_FORCE, row->actuator_force, recorder->sizes.nu);
  put_values(recorder, SAP_RECORD_SENSOR, row->sensor, recorder->sizes.nsensor);
  put_reals(recorder, SAP_RECORD_TIME, &row->t, 1);
  put_reals(recorder, SAP_RECORD_Q, row->q, recorder->sizes.nq);
  put_reals(recorder, SAP_RECORD_V, row->v, recorder->sizes.nv);
  put_reals(recorder, SAP_RECORD_ACT, row->act, recorder->sizes.na);
  put_reals(recorder, SAP_RECORD_ENERGY, row->energy, 3);
  put_reals(recorder, SAP_RECORD_MOMENTUM, row->momentum, 6);
  put_report(recorder, row);
}
