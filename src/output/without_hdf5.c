// SPDX-License-Identifier: BSD-3-Clause
// The functions of recorders and recordings in a build without HDF5.
#include <sapstep/recorder.h>

#include "core/error.h"

#ifndef SAPSTEP_HDF5

#pragma GCC diagnostic ignored "-Wunused-parameter"
#define FAIL                                                                      \
  sap_fail(error, SAP_STATUS_UNSUPPORTED,                                         \
           "this build has no HDF5: install libhdf5-dev and build again to have " \
           "recordings")
#define UNSUPPORTED(name, parameters) \
  sap_status name parameters {        \
    return FAIL;                      \
  }
#define UNSUPPORTED_OUT(name, parameters) \
  sap_status name parameters {            \
    if (out != NULL) {                    \
      *out = NULL;                        \
    }                                     \
    return FAIL;                          \
  }

bool sap_recorder_available(void) {
  return false;
}

UNSUPPORTED_OUT(sap_recorder_create,
                (const char* path, const sap_model* model, const sap_recorder_options* options,
                 sap_recorder** out, sap_error* error))
UNSUPPORTED_OUT(sap_recorder_create_foreign,
                (const char* path, const sap_recorded_model* model,
                 const sap_recorder_options* options, sap_recorder** out, sap_error* error))
UNSUPPORTED(sap_recorder_write,
            (sap_recorder * recorder, sap_multibody* multibody, const sap_state* state,
             const sap_step_report* report, sap_error* error))
UNSUPPORTED(sap_recorder_write_row,
            (sap_recorder * recorder, const sap_recorded_row* row, sap_error* error))
UNSUPPORTED(sap_recorder_flush, (sap_recorder * recorder, sap_error* error))

sap_status sap_recorder_close(sap_recorder* recorder, sap_error* error) {
  return recorder == NULL ? SAP_STATUS_OK : FAIL;
}

UNSUPPORTED_OUT(sap_recording_open, (const char* path, sap_recording** out, sap_error* error))
void sap_recording_close(sap_recording* recording) {
}
int64_t sap_recording_rows(const sap_recording* recording) {
  return 0;
}
UNSUPPORTED(sap_recording_size, (const sap_recording* recording, const char* name, int64_t* rows,
                                 int64_t* columns, sap_error* error))
UNSUPPORTED(sap_recording_read, (const sap_recording* recording, const char* name, int64_t first,
                                 int64_t count, double* out, sap_error* error))
UNSUPPORTED(sap_recording_attribute,
            (const sap_recording* recording, const char* name, const char* attribute, char* out,
             size_t size, sap_error* error))
UNSUPPORTED(sap_recording_text, (const sap_recording* recording, const char* name, int64_t index,
                                 char* out, size_t size, sap_error* error))

#endif
