// SPDX-License-Identifier: BSD-3-Clause
// What the files of the recorder share.
#ifndef SAP_OUTPUT_RECORDER_DATA_H
#define SAP_OUTPUT_RECORDER_DATA_H

#include <sapstep/recorder.h>

#include "output/hdf5_column.h"

#define SAP_RECORDING_FORMAT "sapstep recording"
#define SAP_RECORDING_VERSION "2"

#ifdef SAPSTEP_HDF5

// Data sets of one row per recorded step come first, then those that any number of rows belong to,
// one group after the other.
enum sap_recorder_column {
  SAP_RECORD_TIME,
  SAP_RECORD_Q,
  SAP_RECORD_V,
  SAP_RECORD_ACT,
  SAP_RECORD_POSE,
  SAP_RECORD_ENERGY,
  SAP_RECORD_MOMENTUM,
  SAP_RECORD_STEP,
  SAP_RECORD_ACTUATOR_FORCE,
  SAP_RECORD_CONTACT_FIRST,
  SAP_RECORD_CONTACT_COUNT,
  SAP_RECORD_BLOCK_FIRST,
  SAP_RECORD_BLOCK_COUNT,
  SAP_RECORD_ITERATION_FIRST,
  SAP_RECORD_ITERATION_COUNT,
  SAP_RECORD_CONTACT_ID,
  SAP_RECORD_CONTACT_POINT,
  SAP_RECORD_CONTACT_FRAME,
  SAP_RECORD_CONTACT_DISTANCE,
  SAP_RECORD_CONTACT_VELOCITY,
  SAP_RECORD_CONTACT_IMPULSE,
  SAP_RECORD_CONTACT_TURNING,
  SAP_RECORD_CONTACT_MOMENT,
  SAP_RECORD_BLOCK_ID,
  SAP_RECORD_BLOCK_FORCE,
  SAP_RECORD_ITERATION,
  SAP_RECORD_COLUMNS
};

enum { SAP_RECORD_STEP_WIDTH = 13 };

struct sap_recorder {
  char* path;
  hid_t file, driver;
  sap_model_sizes sizes;
  int64_t contacts, blocks, iterations;  // rows recorded so far
  bool failed;                           // a write failed: the rest is dropped
  double* actuator_force;                // of a row of our own model (nu)
  sap_recorded_force* forces;
  int32_t force_capacity;
  unsigned char* scratch;  // to compress a chunk in
  sap_hdf5_column columns[SAP_RECORD_COLUMNS];
};

bool sap_recorder_create_columns(sap_recorder* recorder, const sap_recorder_options* options);
// Names, joints, shapes and meshes.
bool sap_recorder_write_model(hid_t file, const sap_recorded_model* model);
// IO when a buffer was full and could not be written.
sap_status sap_recorder_add_row(sap_recorder* recorder, const sap_recorded_row* row,
                                sap_error* error);
// Notes that the recording is lost from here on; returns IO.
sap_status sap_recorder_fail(sap_recorder* recorder, sap_error* error);

#endif

#endif
