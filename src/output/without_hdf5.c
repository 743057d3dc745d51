// SPDX-License-Identifier: BSD-3-Clause
// The functions of recorders and recordings in a build without HDF5.
#include <sapstep/recorder.h>

#include "core/error.h"

#ifndef SAPSTEP_HDF5

// Takes the caller's other arguments, which are not used.
static sap_status unsupported(sap_error* error, ...) {
  return sap_fail(error, SAP_STATUS_UNSUPPORTED,
                  "this build has no HDF5: install libhdf5-dev and build again to have recordings");
}

bool sap_recorder_available(void) {
  return false;
}

sap_status sap_recorder_create(const char* path, const sap_model* model,
                               const sap_recorder_options* options, sap_recorder** out,
                               sap_error* error) {
  if (out != NULL) {
    *out = NULL;
  }
  return unsupported(error, path, model, options);
}

sap_status sap_recorder_write(sap_recorder* recorder, sap_multibody* multibody,
                              const sap_state* state, const sap_step_report* report,
                              sap_error* error) {
  return unsupported(error, recorder, multibody, state, report);
}

sap_status sap_recorder_create_foreign(const char* path, const sap_recorded_model* model,
                                       const sap_recorder_options* options, sap_recorder** out,
                                       sap_error* error) {
  if (out != NULL) {
    *out = NULL;
  }
  return unsupported(error, path, model, options);
}

sap_status sap_recorder_write_row(sap_recorder* recorder, const sap_recorded_row* row,
                                  sap_error* error) {
  return unsupported(error, recorder, row);
}

sap_status sap_recorder_flush(sap_recorder* recorder, sap_error* error) {
  return unsupported(error, recorder);
}

sap_status sap_recorder_close(sap_recorder* recorder, sap_error* error) {
  return recorder == NULL ? SAP_STATUS_OK : unsupported(error, recorder);
}

sap_status sap_recording_open(const char* path, sap_recording** out, sap_error* error) {
  if (out != NULL) {
    *out = NULL;
  }
  return unsupported(error, path);
}

void sap_recording_close(sap_recording* recording) {
  (void)recording;
}

int64_t sap_recording_rows(const sap_recording* recording) {
  (void)recording;
  return 0;
}

sap_status sap_recording_size(const sap_recording* recording, const char* name, int64_t* rows,
                              int64_t* columns, sap_error* error) {
  return unsupported(error, recording, name, rows, columns);
}

sap_status sap_recording_read(const sap_recording* recording, const char* name, int64_t first,
                              int64_t count, double* out, sap_error* error) {
  return unsupported(error, recording, name, first, count, out);
}

sap_status sap_recording_attribute(const sap_recording* recording, const char* name,
                                   const char* attribute, char* out, size_t size,
                                   sap_error* error) {
  return unsupported(error, recording, name, attribute, out, size);
}

sap_status sap_recording_text(const sap_recording* recording, const char* name, int64_t index,
                              char* out, size_t size, sap_error* error) {
  return unsupported(error, recording, name, index, out, size);
}

#endif
