// SPDX-License-Identifier: BSD-3-Clause
// Writes recordings; the layout stands in the header.
#include "core/memory.h"
#include "output/hdf5_file.h"
#include "output/recorder_data.h"

sap_recorder_options sap_recorder_options_default(void) {
  return (sap_recorder_options){.compression = 1, .flush_rows = 0};
}

#ifdef SAPSTEP_HDF5

enum { FLUSH_ROWS_MAX = 1000 * 1000 };

bool sap_recorder_available(void) {
  return true;
}

sap_status sap_recorder_fail(sap_recorder* recorder, sap_error* error) {
  recorder->failed = true;
  return sap_fail(error, SAP_STATUS_IO, "cannot write the recording '%s'", recorder->path);
}

// Closes without flushing, and frees.
static sap_status destroy(sap_recorder* recorder, sap_error* error) {
  for (int i = 0; i < SAP_RECORD_COLUMNS; ++i) {
    sap_hdf5_column_clear(&recorder->columns[i]);
  }
  if (!sap_hdf5_file_close(recorder->file, recorder->driver)) {
    recorder->failed = true;
  }
  const sap_status status = recorder->failed ? sap_recorder_fail(recorder, error) : SAP_STATUS_OK;
  sap_free(recorder->scratch);
  sap_free(recorder->path);
  sap_free(recorder->actuator_force);
  sap_free(recorder->forces);
  sap_free(recorder);
  return status;
}

static bool begin_file(hid_t file) {
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
               {"actuators", n->actuators, 0, true},
               {"equalities", n->equalities, 0, true},
               {"tendons", n->tendons, 0, true}};
  for (size_t i = 0; i < sizeof parts / sizeof *parts; ++i) {
    if (parts[i].count < parts[i].least) {
      return sap_fail(error, SAP_STATUS_ARGUMENT, "%s = %d must be >= %d", parts[i].name,
                      parts[i].count, parts[i].least);
    }
    if (parts[i].count > 0 && !parts[i].given) {
      return sap_fail(error, SAP_STATUS_ARGUMENT, "%d %s, and the array is NULL", parts[i].count,
                      parts[i].name);
    }
  }
  return SAP_STATUS_OK;
}

static sap_status check(const char* path, const sap_recorded_model* model,
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
  return check_model(model, error);
}

sap_status sap_recorder_create_foreign(const char* path, const sap_recorded_model* model,
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
  recorder->sizes = model->sizes;
  recorder->driver = -1;
  recorder->path = sap_duplicate_string(path);
  sap_hdf5_silence silence;
  sap_hdf5_silence_begin(&silence);
  recorder->file = recorder->path == NULL
                       ? -1
                       : sap_hdf5_file_create(path, &recorder->failed, &recorder->driver);
  if (recorder->path == NULL) {
    status = sap_fail(error, SAP_STATUS_MEMORY, "out of memory: recorder");
  } else if (recorder->file < 0 || !begin_file(recorder->file) ||
             !sap_recorder_write_model(recorder->file, model) ||
             !sap_recorder_create_columns(recorder, options) ||
             H5Fflush(recorder->file, H5F_SCOPE_GLOBAL) < 0 || recorder->failed) {
    status = sap_recorder_fail(recorder, error);
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
static bool flush(sap_recorder* recorder, bool last) {
  sap_hdf5_silence silence;
  sap_hdf5_silence_begin(&silence);
  bool good = !recorder->failed;
  for (int i = SAP_RECORD_COLUMNS - 1; good && i >= 0; --i) {
    good = sap_hdf5_column_flush(&recorder->columns[i], last, recorder->scratch);
  }
  good = good && H5Fflush(recorder->file, H5F_SCOPE_GLOBAL) >= 0 && !recorder->failed;
  sap_hdf5_silence_end(&silence);
  return good;
}

static sap_status check_row(const sap_recorder* recorder, const sap_recorded_row* row,
                            sap_error* error) {
  const sap_model_sizes* n = &recorder->sizes;
  const bool good = (n->nq == 0 || row->q != NULL) && (n->nv == 0 || row->v != NULL) &&
                    (n->na == 0 || row->act != NULL) && row->p_WB != NULL && row->q_WB != NULL &&
                    (row->contact_count == 0 || row->contacts != NULL) &&
                    (row->force_count == 0 || row->forces != NULL);
  if (!good || row->contact_count < 0 || row->force_count < 0) {
    return sap_fail(error, SAP_STATUS_ARGUMENT,
                    good ? "contact_count = %d, force_count = %d must be >= 0"
                         : "an array of the row is NULL (%d contacts, %d forces)",
                    row->contact_count, row->force_count);
  }
  return SAP_STATUS_OK;
}

sap_status sap_recorder_write_row(sap_recorder* recorder, const sap_recorded_row* row,
                                  sap_error* error) {
  if (recorder == NULL || row == NULL) {
    return sap_fail(error, SAP_STATUS_ARGUMENT, "%s is NULL", row == NULL ? "row" : "recorder");
  }
  sap_status status = check_row(recorder, row, error);
  if (status != SAP_STATUS_OK) {
    return status;
  }
  if (recorder->failed) {
    return sap_recorder_fail(recorder, error);
  }
  const sap_hdf5_column* time = &recorder->columns[SAP_RECORD_TIME];
  status = sap_recorder_add_row(recorder, row, error);
  if (status == SAP_STATUS_OK && time->count == time->capacity && !flush(recorder, false)) {
    status = sap_recorder_fail(recorder, error);
  }
  return status;
}

sap_status sap_recorder_flush(sap_recorder* recorder, sap_error* error) {
  if (recorder == NULL) {
    return sap_fail(error, SAP_STATUS_ARGUMENT, "recorder is NULL");
  }
  return flush(recorder, false) ? SAP_STATUS_OK : sap_recorder_fail(recorder, error);
}

sap_status sap_recorder_close(sap_recorder* recorder, sap_error* error) {
  if (recorder == NULL) {
    return SAP_STATUS_OK;
  }
  recorder->failed = !flush(recorder, true);
  sap_hdf5_silence silence;
  sap_hdf5_silence_begin(&silence);
  const sap_status status = destroy(recorder, error);
  sap_hdf5_silence_end(&silence);
  return status;
}

#endif
