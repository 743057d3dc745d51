// SPDX-License-Identifier: BSD-3-Clause
// What the files of the recorder share.
#ifndef SAP_OUTPUT_RECORDER_RECORDER_DATA_H
#define SAP_OUTPUT_RECORDER_RECORDER_DATA_H

#include <sapstep/recorder.h>

#include "multibody/dynamics/dynamics.h"
#include "output/recorder/recorder_queue.h"

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
  sap_model_sizes sizes;
  // Of the calling thread, which alone calls HDF5:
  hid_t file, driver;
  bool failed;             // a write failed: the rest is dropped
  int failure;             // its error number, 0: unknown
  bool prompt;             // flush before the call returns with which a flush falls due
  int64_t rows;            // taken
  const sap_model* model;  // our own, held; NULL: somebody else's
  double* actuator_force;  // of a row of our own model (nu)
  sap_recorded_force* forces;
  int32_t force_capacity;
  // Of the one that works:
  sap_dynamics* dynamics;                       // of our own model, for energies and momenta
  sap_kinematics kinematics;                    // of the row being written
  int64_t contacts, blocks, iterations;         // rows recorded so far
  sap_chunk_packer* packer;                     // NULL: no compression
  sap_hdf5_column columns[SAP_RECORD_COLUMNS];  // `set` is of the one that writes
  // Of both:
  sap_recorder_queue queue;
};

// As sap_recorder_create_foreign; `safe`: HDF5 may be called by several threads.
sap_status sap_recorder_create_as(const char* path, const sap_recorded_model* model,
                                  const sap_recorder_options* options, bool safe,
                                  sap_recorder** out, sap_error* error);
bool sap_recorder_create_columns(sap_recorder* recorder, const sap_recorder_options* options);
// Names, joints, shapes and meshes; for lack of memory *failure is ENOMEM.
bool sap_recorder_write_model(hid_t file, const sap_recorded_model* model, int* failure);
// Frees what sap_recorder_create and sap_recorder_write made for a model of our own.
void sap_recorder_forget_model(sap_recorder* recorder);
// Notes that the recording is lost from here on; returns IO.
sap_status sap_recorder_fail(sap_recorder* recorder, sap_error* error);
// As sap_recorder_write_row; poses, energy and momentum are to be found from q and v where
// `derive`.
sap_status sap_recorder_take_row(sap_recorder* recorder, const sap_recorded_row* row, bool derive,
                                 sap_error* error);
// Writes up to `most` chunks of a lot, and flushes after the last one if it says so.
void sap_recorder_commit(sap_recorder* recorder, sap_chunk_lot* lot, int32_t most);

// On the thread that works:
// Rows of a batch into the columns, and chunks that are full into lots.
void sap_recorder_work(sap_recorder* recorder, const sap_row_batch* batch);
void sap_recorder_add_row(sap_recorder* recorder, const sap_packed_row* packed);
// What is buffered of the columns first ... last, the last one first.
void sap_recorder_give(sap_recorder* recorder, int first, int last, bool close);
// Poses, energy and momentum of a row of our own model; the poses are valid until the next row.
void sap_recorder_derive(sap_recorder* recorder, sap_recorded_row* row);

#endif

#endif
