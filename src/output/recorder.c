// SPDX-License-Identifier: BSD-3-Clause
// Writes recordings; the layout stands in the header.
#include <sapstep/recorder.h>

#include <math.h>
#include <string.h>

#include <sapstep/diagnostics.h>

#include "core/memory.h"
#include "output/hdf5_column.h"
#include "output/hdf5_file.h"

sap_recorder_options sap_recorder_options_default(void) {
  return (sap_recorder_options){.compression = 1, .flush_rows = 0};
}

#ifdef SAPSTEP_HDF5

enum column_id {
  TIME,
  Q,
  V,
  POSE,
  ENERGY,
  MOMENTUM,
  STEP,
  CONTACT_FIRST,
  CONTACT_COUNT,
  ROW_COLUMNS,
  CONTACT_ID = ROW_COLUMNS,
  CONTACT_POINT,
  CONTACT_FRAME,
  CONTACT_DISTANCE,
  CONTACT_VELOCITY,
  CONTACT_IMPULSE,
  CONTACT_TURNING,
  CONTACT_MOMENT,
  COLUMNS
};

enum {
  CONTACT_ROWS = 1024,       // of a chunk
  CHUNK_BYTES = 256 * 1024,  // of rows from one flush to the next, about
  CHUNK_ROWS = 1024,         // at most
  FLUSH_ROWS_MAX = 1000 * 1000
};

// A friction force this close to the cone's edge slides; the projection leaves round-off.
#define SLIDING_SHARE (1.0 - 1e-9)

struct sap_recorder {
  char* path;
  hid_t file;
  int32_t nq, nv, bodies;
  int64_t contacts;  // recorded so far
  bool failed;       // a write failed: the rest is dropped
  sap_hdf5_column columns[COLUMNS];
};

bool sap_recorder_available(void) {
  return true;
}

static sap_status fail_write(sap_recorder* recorder, sap_error* error) {
  recorder->failed = true;
  return sap_fail(error, SAP_STATUS_IO, "cannot write the recording '%s'", recorder->path);
}

static bool write_names(hid_t group, const char* name, const sap_model* model, sap_element kind,
                        int32_t count) {
  const hsize_t size = (hsize_t)count;
  const char** names = sap_allocate((size_t)count, sizeof *names);
  const hid_t type = H5Tcopy(H5T_C_S1);
  const hid_t space = H5Screate_simple(1, &size, NULL);
  bool good = names != NULL && H5Tset_size(type, H5T_VARIABLE) >= 0 &&
              H5Tset_cset(type, H5T_CSET_UTF8) >= 0 && space >= 0;
  if (good) {
    const hid_t set = H5Dcreate2(group, name, type, space, H5P_DEFAULT, H5P_DEFAULT, H5P_DEFAULT);
    for (int32_t i = 0; i < count; ++i) {
      names[i] = sap_model_name(model, kind, i);
    }
    good =
        set >= 0 && (count == 0 || H5Dwrite(set, type, H5S_ALL, H5S_ALL, H5P_DEFAULT, names) >= 0);
    (void)H5Dclose(set);
  }
  (void)H5Sclose(space);
  (void)H5Tclose(type);
  sap_free(names);
  return good;
}

static bool write_joints(hid_t group, const sap_model* model, int32_t count) {
  const hsize_t size[2] = {(hsize_t)count, 4};
  int32_t(*rows)[4] = sap_allocate((size_t)count, sizeof *rows);
  const hid_t space = H5Screate_simple(2, size, NULL);
  bool good = rows != NULL && space >= 0;
  if (good) {
    for (int32_t i = 0; i < count; ++i) {
      sap_joint_type type = SAP_JOINT_FREE;
      (void)sap_model_joint(model, i, &type, &rows[i][1], &rows[i][2], &rows[i][3], NULL);
      rows[i][0] = (int32_t)type;
    }
    const hid_t set =
        H5Dcreate2(group, "joint", H5T_STD_I32LE, space, H5P_DEFAULT, H5P_DEFAULT, H5P_DEFAULT);
    good =
        set >= 0 &&
        (count == 0 || H5Dwrite(set, H5T_NATIVE_INT32, H5S_ALL, H5S_ALL, H5P_DEFAULT, rows) >= 0) &&
        sap_hdf5_attribute(set, "columns", "type,body,first_q,first_v");
    (void)H5Dclose(set);
  }
  (void)H5Sclose(space);
  sap_free(rows);
  return good;
}

static bool write_model(hid_t file, const sap_model* model) {
  const sap_model_sizes sizes = sap_model_get_sizes(model);
  const hid_t contact = H5Gcreate2(file, "contact", H5P_DEFAULT, H5P_DEFAULT, H5P_DEFAULT);
  const hid_t group = H5Gcreate2(file, "model", H5P_DEFAULT, H5P_DEFAULT, H5P_DEFAULT);
  const bool good = contact >= 0 && group >= 0 &&
                    sap_hdf5_attribute(file, "format", "sapstep recording") &&
                    sap_hdf5_attribute(file, "version", "1") &&
                    sap_hdf5_attribute(file, "program", sap_version()) &&
                    write_names(group, "bodies", model, SAP_ELEMENT_BODY, sizes.bodies) &&
                    write_names(group, "joints", model, SAP_ELEMENT_JOINT, sizes.joints) &&
                    write_names(group, "shapes", model, SAP_ELEMENT_SHAPE, sizes.shapes) &&
                    write_joints(group, model, sizes.joints);
  (void)H5Gclose(contact);
  (void)H5Gclose(group);
  return good;
}

static bool create_columns(sap_recorder* recorder, const sap_recorder_options* options) {
  const int32_t width = recorder->nq + recorder->nv + 7 * recorder->bodies + 22;
  int32_t rows = CHUNK_BYTES / (8 * width);
  rows = rows < 1 ? 1 : rows > CHUNK_ROWS ? CHUNK_ROWS : rows;
  rows = options->flush_rows > 0 ? options->flush_rows : rows;
  const int32_t deflate = options->compression;
  const sap_hdf5_column_def defs[COLUMNS] = {
      [TIME] = {"time", false, 0, rows, deflate, "s", NULL},
      [Q] = {"q", false, recorder->nq, rows, deflate, "m, rad", NULL},
      [V] = {"v", false, recorder->nv, rows, deflate, "m/s, rad/s", NULL},
      [POSE] = {"pose", false, 7 * recorder->bodies, rows, deflate, "m, 1",
                "x,y,z,qw,qx,qy,qz of each body"},
      [ENERGY] = {"energy", false, 3, rows, deflate, "J", "kinetic,gravity,springs"},
      [MOMENTUM] = {"momentum", false, 6, rows, deflate, "kg m/s, kg m^2/s", "px,py,pz,Lx,Ly,Lz"},
      [STEP] = {"step", false, 10, rows, deflate, "see columns",
                "newton_iterations,converged,momentum_error,cost_J,factorizations,evaluations,"
                "free_motion_iterations,free_motion_residual,time_s,rows"},
      [CONTACT_FIRST] = {"contact/first", true, 0, rows, deflate, "1", NULL},
      [CONTACT_COUNT] = {"contact/count", true, 0, rows, deflate, "1", NULL},
      [CONTACT_ID] = {"contact/id", true, 6, CONTACT_ROWS, deflate, "1",
                      "body_A,body_B,shape_A,shape_B,feature,mode"},
      [CONTACT_POINT] = {"contact/point", false, 3, CONTACT_ROWS, deflate, "m", "x,y,z"},
      [CONTACT_FRAME] = {"contact/frame", false, 9, CONTACT_ROWS, deflate, "1",
                         "t1x,t1y,t1z,t2x,t2y,t2z,nx,ny,nz"},
      [CONTACT_DISTANCE] = {"contact/distance", false, 0, CONTACT_ROWS, deflate, "m", NULL},
      [CONTACT_VELOCITY] = {"contact/velocity", false, 3, CONTACT_ROWS, deflate, "m/s", "t1,t2,n"},
      [CONTACT_IMPULSE] = {"contact/impulse", false, 3, CONTACT_ROWS, deflate, "N s", "t1,t2,n"},
      [CONTACT_TURNING] = {"contact/turning", false, 3, CONTACT_ROWS, deflate, "rad/s",
                           "spin,roll1,roll2"},
      [CONTACT_MOMENT] = {"contact/moment", false, 3, CONTACT_ROWS, deflate, "N m s",
                          "spin,roll1,roll2"},
  };
  for (int i = 0; i < COLUMNS; ++i) {
    // A model without positions has no q to record.
    const bool empty = (i == Q && recorder->nq == 0) || (i == V && recorder->nv == 0);
    if (!empty && !sap_hdf5_column_create(recorder->file, &defs[i], &recorder->columns[i])) {
      return false;
    }
  }
  return true;
}

// Closes without flushing, and frees.
static sap_status destroy(sap_recorder* recorder, sap_error* error) {
  for (int i = 0; i < COLUMNS; ++i) {
    sap_hdf5_column_clear(&recorder->columns[i]);
  }
  if (recorder->file >= 0 && H5Fclose(recorder->file) < 0) {
    recorder->failed = true;
  }
  const sap_status status = recorder->failed ? fail_write(recorder, error) : SAP_STATUS_OK;
  sap_free(recorder->path);
  sap_free(recorder);
  return status;
}

static sap_status check(const char* path, const sap_model* model,
                        const sap_recorder_options* options, sap_error* error) {
  if (path == NULL || model == NULL) {
    return sap_fail(error, SAP_STATUS_ARGUMENT, "%s is NULL", path == NULL ? "path" : "model");
  }
  if (options->compression < 0 || options->compression > 9) {
    return sap_fail(error, SAP_STATUS_ARGUMENT, "compression = %d must be 0 to 9",
                    options->compression);
  }
  if (options->flush_rows < 0 || options->flush_rows > FLUSH_ROWS_MAX) {
    return sap_fail(error, SAP_STATUS_ARGUMENT, "flush_rows = %d must be 0 to %d",
                    options->flush_rows, FLUSH_ROWS_MAX);
  }
  return SAP_STATUS_OK;
}

sap_status sap_recorder_create(const char* path, const sap_model* model,
                               const sap_recorder_options* options, sap_recorder** out,
                               sap_error* error) {
  const sap_recorder_options defaults = sap_recorder_options_default();
  options = options != NULL ? options : &defaults;
  if (out == NULL) {
    return sap_fail(error, SAP_STATUS_ARGUMENT, "out is NULL");
  }
  *out = NULL;
  sap_status status = check(path, model, options, error);
  if (status != SAP_STATUS_OK) {
    return status;
  }
  sap_recorder* recorder = sap_allocate(1, sizeof *recorder);
  if (recorder == NULL) {
    return sap_fail(error, SAP_STATUS_MEMORY, "out of memory: recorder");
  }
  const sap_model_sizes sizes = sap_model_get_sizes(model);
  recorder->nq = sizes.nq;
  recorder->nv = sizes.nv;
  recorder->bodies = sizes.bodies;
  recorder->path = sap_duplicate_string(path);
  sap_hdf5_silence silence;
  sap_hdf5_silence_begin(&silence);
  recorder->file = recorder->path == NULL ? -1 : sap_hdf5_file_create(path, &recorder->failed);
  if (recorder->path == NULL) {
    status = sap_fail(error, SAP_STATUS_MEMORY, "out of memory: recorder");
  } else if (recorder->file < 0 || !write_model(recorder->file, model) ||
             !create_columns(recorder, options) || H5Fflush(recorder->file, H5F_SCOPE_GLOBAL) < 0 ||
             recorder->failed) {
    status = fail_write(recorder, error);
  }
  if (status != SAP_STATUS_OK) {
    (void)destroy(recorder, NULL);
  } else {
    *out = recorder;
  }
  sap_hdf5_silence_end(&silence);
  return status;
}

// Contacts first: rows that stand in the file have theirs.
static bool flush(sap_recorder* recorder) {
  bool good = true;
  for (int i = COLUMNS - 1; good && i >= 0; --i) {
    good = sap_hdf5_column_flush(&recorder->columns[i]);
  }
  return good && H5Fflush(recorder->file, H5F_SCOPE_GLOBAL) >= 0 && !recorder->failed;
}

static void* next(sap_recorder* recorder, int column) {
  return sap_hdf5_column_next(&recorder->columns[column]);
}

static void copy(sap_recorder* recorder, int column, const double* values, int32_t count) {
  if (count > 0) {
    memcpy(next(recorder, column), values, (size_t)count * sizeof *values);
  }
}

static int64_t contact_mode(const sap_contact* contact) {
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
  static const double none[3] = {0.0, 0.0, 0.0};
  if (recorder->columns[CONTACT_ID].count == CONTACT_ROWS) {
    for (int i = CONTACT_ID; i < COLUMNS; ++i) {
      if (!sap_hdf5_column_flush(&recorder->columns[i])) {
        return false;
      }
    }
  }
  int64_t* id = next(recorder, CONTACT_ID);
  id[0] = contact->body_A;
  id[1] = contact->body_B;
  id[2] = contact->shape_A;
  id[3] = contact->shape_B;
  id[4] = contact->feature;
  id[5] = stepped ? contact_mode(contact) : 0;
  copy(recorder, CONTACT_POINT, contact->point, 3);
  copy(recorder, CONTACT_FRAME, contact->R_WC, 9);
  copy(recorder, CONTACT_DISTANCE, &contact->phi, 1);
  copy(recorder, CONTACT_VELOCITY, stepped ? contact->vc : none, 3);
  copy(recorder, CONTACT_IMPULSE, stepped ? contact->gamma : none, 3);
  copy(recorder, CONTACT_TURNING, stepped ? contact->vc + 3 : none, 3);
  copy(recorder, CONTACT_MOMENT, stepped ? contact->gamma + 3 : none, 3);
  return true;
}

static void add_report(sap_recorder* recorder, const sap_step_report* report) {
  double* row = next(recorder, STEP);
  memset(row, 0, 10 * sizeof *row);
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
  }
  row[6] = report->free_motion_iterations;
  row[7] = report->free_motion_residual;
  row[8] = report->time_total;
  row[9] = report->rows;
}

// All that may fail comes before the first value of the row.
static sap_status add_row(sap_recorder* recorder, sap_multibody* multibody, const sap_state* state,
                          const sap_step_report* report, sap_error* error) {
  sap_diagnostics d;
  sap_status status = sap_multibody_diagnose(multibody, state, &d, error);
  if (status != SAP_STATUS_OK) {
    return status;
  }
  const int32_t contacts = sap_multibody_contact_count(multibody);
  for (int32_t i = 0; i < contacts; ++i) {
    if (!add_contact(recorder, &sap_multibody_contacts(multibody)[i], report != NULL)) {
      return fail_write(recorder, error);
    }
  }
  copy(recorder, TIME, &state->t, 1);
  copy(recorder, Q, state->q, recorder->nq);
  copy(recorder, V, state->v, recorder->nv);
  double* pose = next(recorder, POSE);
  for (int32_t body = 0; status == SAP_STATUS_OK && body < recorder->bodies; ++body) {
    status = sap_multibody_body_pose(multibody, state->q, body, pose + 7 * body,
                                     pose + 7 * body + 3, error);
  }
  const double energy[3] = {d.kinetic, d.potential_gravity, d.potential_springs};
  copy(recorder, ENERGY, energy, 3);
  double* momentum = next(recorder, MOMENTUM);
  memcpy(momentum, d.linear_momentum, 3 * sizeof *momentum);
  memcpy(momentum + 3, d.angular_momentum, 3 * sizeof *momentum);
  add_report(recorder, report);
  *(int64_t*)next(recorder, CONTACT_FIRST) = recorder->contacts;
  *(int64_t*)next(recorder, CONTACT_COUNT) = contacts;
  recorder->contacts += contacts;
  return status;
}

sap_status sap_recorder_write(sap_recorder* recorder, sap_multibody* multibody,
                              const sap_state* state, const sap_step_report* report,
                              sap_error* error) {
  if (recorder == NULL || multibody == NULL || state == NULL) {
    return sap_fail(error, SAP_STATUS_ARGUMENT, "recorder, multibody or state is NULL");
  }
  if (state->nq != recorder->nq || state->nv != recorder->nv) {
    return sap_fail(error, SAP_STATUS_ARGUMENT, "state has nq = %d, nv = %d; the model has %d, %d",
                    state->nq, state->nv, recorder->nq, recorder->nv);
  }
  if (recorder->failed) {
    return fail_write(recorder, error);
  }
  sap_hdf5_silence silence;
  sap_hdf5_silence_begin(&silence);
  sap_status status = add_row(recorder, multibody, state, report, error);
  const sap_hdf5_column* time = &recorder->columns[TIME];
  if (status == SAP_STATUS_OK && time->count == time->capacity && !flush(recorder)) {
    status = fail_write(recorder, error);
  }
  sap_hdf5_silence_end(&silence);
  return status;
}

sap_status sap_recorder_flush(sap_recorder* recorder, sap_error* error) {
  if (recorder == NULL) {
    return sap_fail(error, SAP_STATUS_ARGUMENT, "recorder is NULL");
  }
  sap_hdf5_silence silence;
  sap_hdf5_silence_begin(&silence);
  const bool good = !recorder->failed && flush(recorder);
  sap_hdf5_silence_end(&silence);
  return good ? SAP_STATUS_OK : fail_write(recorder, error);
}

sap_status sap_recorder_close(sap_recorder* recorder, sap_error* error) {
  if (recorder == NULL) {
    return SAP_STATUS_OK;
  }
  (void)sap_recorder_flush(recorder, error);  // what fails is kept and reported below
  sap_hdf5_silence silence;
  sap_hdf5_silence_begin(&silence);
  const sap_status status = destroy(recorder, error);
  sap_hdf5_silence_end(&silence);
  return status;
}

#else

static sap_status unsupported(sap_error* error) {
  return sap_fail(error, SAP_STATUS_UNSUPPORTED,
                  "this build has no HDF5: install libhdf5-dev and build again to record runs");
}

bool sap_recorder_available(void) {
  return false;
}

sap_status sap_recorder_create(const char* path, const sap_model* model,
                               const sap_recorder_options* options, sap_recorder** out,
                               sap_error* error) {
  (void)path;
  (void)model;
  (void)options;
  if (out != NULL) {
    *out = NULL;
  }
  return unsupported(error);
}

sap_status sap_recorder_write(sap_recorder* recorder, sap_multibody* multibody,
                              const sap_state* state, const sap_step_report* report,
                              sap_error* error) {
  (void)recorder;
  (void)multibody;
  (void)state;
  (void)report;
  return unsupported(error);
}

sap_status sap_recorder_flush(sap_recorder* recorder, sap_error* error) {
  (void)recorder;
  return unsupported(error);
}

sap_status sap_recorder_close(sap_recorder* recorder, sap_error* error) {
  return recorder == NULL ? SAP_STATUS_OK : unsupported(error);
}

#endif
