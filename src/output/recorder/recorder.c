// SPDX-License-Identifier: BSD-3-Clause
// Creates, feeds and closes recorders. The layout of the file is described in the public header.
#include "output/recorder/recorder.h"

#include "core/file.h"
#include "core/memory.h"
#include "core/options.h"
#include "core/platform.h"

sap_recorder_options sap_recorder_options_default(void) {
  return (sap_recorder_options){.cookie = SAP_COOKIE, .compression = 1, .flush_rows = 0};
}

enum {
  FLUSH_ROWS_MAX = 1000 * 1000,
  FLUSH_CHUNKS = 8,  // full chunks between flushes: 1 MiB, about
};
static const double FLUSH_SECONDS = 1.0;

// Returns IO if a write has failed.
static sap_status check_writes(sap_recorder* recorder, sap_error* error) {
  return atomic_load(&recorder->failed)
             ? sap_fail_io(error, recorder->failure, "write the recording", recorder->path)
             : SAP_STATUS_OK;
}

// Closes the file without a flush and frees everything. The queue must be drained.
static sap_status destroy_recorder(sap_recorder* recorder, sap_error* error) {
  sap_recorder_queue_clear(recorder);
  for (int i = 0; i < SAP_RECORD_COLUMNS; ++i) {
    sap_hdf5_column_clear(&recorder->columns[i]);
  }
  if (!sap_hdf5_file_close(recorder->file, recorder->driver) || recorder->failure != 0) {
    atomic_store(&recorder->failed, true);
  }
  const sap_status status = check_writes(recorder, error);
  sap_chunk_packer_destroy(recorder->packer);
  sap_free(recorder->actuator_force);
  sap_free(recorder->sensor);
  sap_free(recorder->forces);
  sap_free(recorder->scratch);
  sap_free(recorder->path);
  sap_free(recorder);
  return status;
}

static sap_status check_model(const sap_recorded_model* model, sap_error* error) {
  const sap_model_sizes* n = &model->sizes;
  const struct {
    const char* name;
    int32_t count, least;
    bool given;
  } parts[] = {{"bodies", n->bodies, 1, model->bodies != NULL},
               {"joints", n->joints, 0, model->joints != NULL},
               {"shapes", n->shapes, 0, model->shapes != NULL},
               {"meshes", n->meshes, 0, model->meshes != NULL},
               {"vertices", model->nvertices, 0, model->vertices != NULL},
               {"triangles", model->ntriangles, 0, model->triangles != NULL},
               {"nq", n->nq, 0, true},
               {"nv", n->nv, 0, true},
               {"na", n->na, 0, true},
               {"nu", n->nu, 0, true},
               {"sensors", n->sensors, 0, model->sensor_values != NULL},
               {"actuators", n->actuators, 0, true},
               {"equalities", n->equalities, 0, true},
               {"tendons", n->tendons, 0, true}};
  for (size_t i = 0; i < sizeof parts / sizeof *parts; ++i) {
    SAP_FAIL_IF(parts[i].count < parts[i].least, error, SAP_STATUS_ARGUMENT,
                "%s = %d must be >= %d", parts[i].name, parts[i].count, parts[i].least);
    SAP_FAIL_IF(parts[i].count > 0 && !parts[i].given, error, SAP_STATUS_ARGUMENT,
                "%d %s, and the array is NULL", parts[i].count, parts[i].name);
  }
  return SAP_STATUS_OK;
}

static sap_status check_arguments(const char* path, const sap_recorded_model* model,
                                  const sap_recorder_options* options, sap_error* error) {
  SAP_NOT_NULL(error, path, model);
  SAP_TRY(sap_check_cookie("sap_recorder_options", &options->cookie, error));
  SAP_FAIL_IF(options->compression < 0 || options->compression > 9, error, SAP_STATUS_ARGUMENT,
              "compression = %d must be 0 to 9", options->compression);
  SAP_FAIL_IF(options->flush_rows < 0 || options->flush_rows > FLUSH_ROWS_MAX, error,
              SAP_STATUS_ARGUMENT, "flush_rows = %d must be 0 to %d", options->flush_rows,
              FLUSH_ROWS_MAX);
  return check_model(model, error);
}

static bool create_groups(hid_t file) {
  static const char* const groups[] = {"contact", "constraint", "iteration", "actuator"};
  bool good = sap_hdf5_attribute(file, "format", SAP_RECORDING_FORMAT) &&
              sap_hdf5_attribute(file, "version", SAP_RECORDING_VERSION) &&
              sap_hdf5_attribute(file, "program", sap_version());
  for (size_t i = 0; i < sizeof groups / sizeof *groups && good; ++i) {
    const hid_t group = H5Gcreate2(file, groups[i], H5P_DEFAULT, H5P_DEFAULT, H5P_DEFAULT);
    good = group >= 0;
    (void)H5Gclose(group);
  }
  return good;
}

static sap_status create_file(sap_recorder* recorder, const sap_recorded_model* model,
                              const sap_recorder_options* options, sap_error* error) {
  recorder->file = sap_hdf5_file_create(recorder->path, &recorder->failure, &recorder->driver);
  const bool good = recorder->file >= 0 && create_groups(recorder->file) &&
                    sap_recorder_write_model(recorder->file, model, &recorder->failure) &&
                    sap_recorder_create_columns(recorder, options) &&
                    H5Fflush(recorder->file, H5F_SCOPE_GLOBAL) >= 0 && recorder->failure == 0;
  atomic_store(&recorder->failed, !good);
  return check_writes(recorder, error);
}

static sap_status create_packer(sap_recorder* recorder, int32_t level, sap_error* error) {
  size_t most = 0;
  for (int i = 0; i < SAP_RECORD_COLUMNS; ++i) {
    const size_t size = sap_hdf5_column_chunk_size(&recorder->columns[i]);
    most = size > most ? size : most;
  }
  recorder->packer = sap_chunk_packer_create(level, most);
  recorder->scratch = sap_allocate(sap_chunk_packer_bound(most), 1);
  return recorder->packer != NULL && recorder->scratch != NULL
             ? SAP_STATUS_OK
             : sap_fail(error, SAP_STATUS_MEMORY, "out of memory: recorder");
}

// Creates the parts of a recorder, which the caller destroys after a failure.
static sap_status create_parts(sap_recorder* recorder, const char* path,
                               const sap_recorded_model* model, const sap_recorder_options* options,
                               bool safe, sap_error* error) {
  recorder->path = sap_duplicate_string(path);
  SAP_FAIL_IF(recorder->path == NULL, error, SAP_STATUS_MEMORY, "out of memory: recorder");
  SAP_TRY(create_file(recorder, model, options, error));
  recorder->flush_rows =
      (int64_t)recorder->columns[SAP_RECORD_TIME].capacity * (recorder->prompt ? 1 : FLUSH_CHUNKS);
  if (options->compression > 0) {
    SAP_TRY(create_packer(recorder, options->compression, error));
  }
  return sap_recorder_queue_create(recorder, safe && !options->no_thread, error);
}

sap_status sap_recorder_create_foreign(const char* path, const sap_recorded_model* model,
                                       const sap_recorder_options* options, sap_recorder** out,
                                       sap_error* error) {
  hbool_t safe = 0;
  const bool known = H5is_library_threadsafe(&safe) >= 0;
  return sap_recorder_create_as(path, model, options, known && safe, out, error);
}

sap_status sap_recorder_create_as(const char* path, const sap_recorded_model* model,
                                  const sap_recorder_options* options, bool safe,
                                  sap_recorder** out, sap_error* error) {
  const sap_recorder_options defaults = sap_recorder_options_default();
  options = options != NULL ? options : &defaults;
  SAP_NOT_NULL(error, out);
  *out = NULL;
  SAP_TRY(check_arguments(path, model, options, error));
  sap_recorder* recorder;
  SAP_TRY(SAP_NEW(&recorder, 1, "recorder", error));
  recorder->sizes = model->sizes;
  recorder->file = recorder->driver = -1;
  recorder->prompt = options->flush_rows > 0;
  recorder->flush_time = sap_clock_seconds();
  sap_status status;
  SAP_HDF5_QUIET(status = create_parts(recorder, path, model, options, safe, error));
  if (status != SAP_STATUS_OK) {
    SAP_HDF5_QUIET(destroy_recorder(recorder, NULL));
    return status;
  }
  *out = recorder;
  return SAP_STATUS_OK;
}

static sap_status check_row(const sap_recorder* recorder, const sap_recorded_row* row,
                            sap_error* error) {
  const sap_model_sizes* n = &recorder->sizes;
  SAP_FAIL_IF(row->contact_count < 0 || row->force_count < 0, error, SAP_STATUS_ARGUMENT,
              "contact_count = %d, force_count = %d must be >= 0", row->contact_count,
              row->force_count);
  const struct {
    const char* name;
    bool missing;
  } arrays[] = {{"q", n->nq > 0 && row->q == NULL},
                {"v", n->nv > 0 && row->v == NULL},
                {"act", n->na > 0 && row->act == NULL},
                {"p_WB", row->p_WB == NULL},
                {"q_WB", row->q_WB == NULL},
                {"contacts", row->contact_count > 0 && row->contacts == NULL},
                {"forces", row->force_count > 0 && row->forces == NULL}};
  for (size_t i = 0; i < sizeof arrays / sizeof *arrays; ++i) {
    SAP_FAIL_IF(arrays[i].missing, error, SAP_STATUS_ARGUMENT, "%s of the row is NULL",
                arrays[i].name);
  }
  return SAP_STATUS_OK;
}

static void give_flush(sap_recorder* recorder) {
  recorder->rows = 0;
  recorder->flush_time = sap_clock_seconds();
  sap_recorder_queue_give(recorder, SAP_THEN_FLUSH);
}

sap_status sap_recorder_add_row(sap_recorder* recorder, const sap_recorded_row* row,
                                sap_error* error) {
  SAP_TRY(check_writes(recorder, error));
  SAP_TRY(sap_recorder_queue_add(recorder, row, error));
  ++recorder->rows;
  const bool late =
      !recorder->prompt && sap_clock_seconds() - recorder->flush_time >= FLUSH_SECONDS;
  if (late || recorder->rows >= recorder->flush_rows) {
    give_flush(recorder);
    if (recorder->prompt) {
      sap_recorder_queue_drain(recorder);
    }
  }
  return check_writes(recorder, error);
}

sap_status sap_recorder_write_row(sap_recorder* recorder, const sap_recorded_row* row,
                                  sap_error* error) {
  SAP_NOT_NULL(error, recorder, row);
  SAP_TRY(check_row(recorder, row, error));
  return sap_recorder_add_row(recorder, row, error);
}

sap_status sap_recorder_flush(sap_recorder* recorder, sap_error* error) {
  SAP_NOT_NULL(error, recorder);
  give_flush(recorder);
  sap_recorder_queue_drain(recorder);
  return check_writes(recorder, error);
}

sap_status sap_recorder_close(sap_recorder* recorder, sap_error* error) {
  if (recorder == NULL) {
    return SAP_STATUS_OK;
  }
  sap_recorder_queue_give(recorder, SAP_THEN_CLOSE);
  sap_recorder_queue_drain(recorder);
  sap_status status;
  SAP_HDF5_QUIET(status = destroy_recorder(recorder, error));
  return status;
}
