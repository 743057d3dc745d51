// SPDX-License-Identifier: BSD-3-Clause
// Internals of the recorder: its data sets, the row queue, and the files that fill them.
#pragma once

#include <sapstep/recorder.h>

#define SAP_RECORDING_FORMAT "sapstep recording"
#define SAP_RECORDING_VERSION "4"

#include <pthread.h>
#include <stdatomic.h>

#include "output/recorder/hdf5_writer.h"

enum { SAP_RECORD_SCALAR = -1, SAP_RECORD_STEP_WIDTH = 13 };

// Data sets: X(id, name, number, width, units, columns), with the model's sizes n. Width SCALAR: a
// one-dimensional data set; 0: none. First those of one row per step, then those of any number of
// rows per step, in groups that are filled together.
#define SAP_RECORD_LIST(X)                                                                    \
  X(TIME, "time", REAL, SAP_RECORD_SCALAR, "s", NULL)                                         \
  X(Q, "q", REAL, n->nq, "m, rad", NULL)                                                      \
  X(V, "v", REAL, n->nv, "m/s, rad/s", NULL)                                                  \
  X(ACT, "act", REAL, n->na, "1", NULL)                                                       \
  X(POSE, "pose", SHORT, 7 * n->bodies, "m, 1", "x,y,z,qw,qx,qy,qz of each body")             \
  X(ENERGY, "energy", REAL, 3, "J", "kinetic,gravity,springs")                                \
  X(MOMENTUM, "momentum", REAL, 6, "kg m/s, kg m^2/s", "px,py,pz,Lx,Ly,Lz")                   \
  X(STEP, "step", REAL, SAP_RECORD_STEP_WIDTH, "see columns",                                 \
    "newton_iterations,converged,momentum_error,cost_J,factorizations,evaluations,"           \
    "free_motion_iterations,free_motion_residual,time_s,rows,dt_s,time_solver_s,islands")     \
  X(ACTUATOR_FORCE, "actuator/force", REAL, n->nu, "N, N m", NULL)                            \
  X(SENSOR, "sensor", REAL, n->nsensor, "see /model/sensors", NULL)                           \
  X(CONTACT_FIRST, "contact/first", INTEGER, SAP_RECORD_SCALAR, "1", NULL)                    \
  X(CONTACT_COUNT, "contact/count", INTEGER, SAP_RECORD_SCALAR, "1", NULL)                    \
  X(BLOCK_FIRST, "constraint/first", INTEGER, SAP_RECORD_SCALAR, "1", NULL)                   \
  X(BLOCK_COUNT, "constraint/count", INTEGER, SAP_RECORD_SCALAR, "1", NULL)                   \
  X(ITERATION_FIRST, "iteration/first", INTEGER, SAP_RECORD_SCALAR, "1", NULL)                \
  X(ITERATION_COUNT, "iteration/count", INTEGER, SAP_RECORD_SCALAR, "1", NULL)                \
  X(CONTACT_ID, "contact/id", IDENTITY, 6, "1", "body_A,body_B,shape_A,shape_B,feature,mode") \
  X(CONTACT_POINT, "contact/point", REAL, 3, "m", "x,y,z")                                    \
  X(CONTACT_FRAME, "contact/frame", REAL, 9, "1", "t1x,t1y,t1z,t2x,t2y,t2z,nx,ny,nz")         \
  X(CONTACT_DISTANCE, "contact/distance", REAL, SAP_RECORD_SCALAR, "m", NULL)                 \
  X(CONTACT_VELOCITY, "contact/velocity", REAL, 3, "m/s", "t1,t2,n")                          \
  X(CONTACT_IMPULSE, "contact/impulse", REAL, 3, "N s", "t1,t2,n")                            \
  X(CONTACT_TURNING, "contact/turning", REAL, 3, "rad/s", "spin,roll1,roll2")                 \
  X(CONTACT_MOMENT, "contact/moment", REAL, 3, "N m s", "spin,roll1,roll2")                   \
  X(CONTACT_PATCH, "contact/patch", REAL, 3, "see columns", "number,area_m2,pressure_Pa")     \
  X(CONTACT_LAW, "contact/law", REAL, 4, "see columns",                                       \
    "stiffness_Npm,relaxation_time_s,friction,realised")                                      \
  X(BLOCK_ID, "constraint/id", IDENTITY, 3, "1", "kind,id,row")                               \
  X(BLOCK_FORCE, "constraint/force", REAL, SAP_RECORD_SCALAR, "N, N m", NULL)                 \
  X(ITERATION, "iteration/value", REAL, 4, "see columns",                                     \
    "cost_J,momentum_error,step_length,evaluations")

enum sap_recorder_column {
#define SAP_X(id, ...) SAP_RECORD_##id,
  SAP_RECORD_LIST(SAP_X)
#undef SAP_X
      SAP_RECORD_COLUMNS
};

// A row in a batch, followed by copies of the arrays that it points to.
typedef struct sap_packed_row {
  size_t size;  // with all that follows
  sap_recorded_row row;
  sap_report solver;  // of `row`, if that has one
} sap_packed_row;

// Work to do after the rows of a batch.
typedef enum sap_recorder_then {
  SAP_THEN_NOTHING,
  SAP_THEN_FLUSH,
  SAP_THEN_CLOSE,  // flush; no row follows
} sap_recorder_then;

typedef struct sap_row_batch {
  unsigned char* bytes;  // packed rows
  size_t used, room;
  sap_recorder_then then;
} sap_row_batch;

// Batches of rows on their way from the calling thread to the recorder's thread. Memory is bounded:
// a caller that is ahead waits. Without a thread the calls process the batches.
enum { SAP_RECORDER_BATCHES = 8 };
typedef struct sap_recorder_queue {
  sap_row_batch batches[SAP_RECORDER_BATCHES];
  bool created, threaded;
  pthread_t thread;
  pthread_mutex_t mutex;  // guards the members below; a batch belongs to the thread that has it
  pthread_cond_t to_worker, to_caller;
  int64_t given, done;  // batches; batch number `given` is being filled
  bool ending;
} sap_recorder_queue;

struct sap_recorder {
  char* path;
  sap_model_sizes sizes;
  hid_t file, driver;
  atomic_bool failed;  // a write failed: everything after it is dropped
  int failure;         // its error number, 0: unknown; valid when failed
  sap_recorder_queue queue;
  // The calling thread's:
  bool prompt;             // calls return after a flush that falls due
  int64_t flush_rows;      // rows between flushes ...
  int64_t rows;            // ... and since the last one
  double flush_time;       // of the last one; see sap_clock_seconds
  double* actuator_force;  // of a row of this library's engine (nu)
  double* sensor;          // likewise (nsensor)
  sap_recorded_force* forces;
  int32_t actuator_capacity, sensor_capacity, force_capacity;
  // The worker's:
  int64_t contacts, blocks, iterations;  // rows written so far
  sap_chunk_packer* packer;              // NULL: no compression
  unsigned char* scratch;                // for packed chunks
  sap_hdf5_column columns[SAP_RECORD_COLUMNS];
};

// recorder.c
// Creates a recorder as sap_recorder_create_foreign does; safe: a thread may call HDF5.
sap_status sap_recorder_create_as(const char* path, const sap_recorded_model* model,
                                  const sap_recorder_options* options, bool safe,
                                  sap_recorder** out, sap_error* error);
// Adds a checked row.
sap_status sap_recorder_add_row(sap_recorder* recorder, const sap_recorded_row* row,
                                sap_error* error);

// recorder_columns.c
bool sap_recorder_create_columns(sap_recorder* recorder, const sap_recorder_options* options);
// Writes a packed row into the columns, and full columns to the file.
void sap_recorder_write_columns(sap_recorder* recorder, const sap_recorded_row* row);
// Writes all buffered rows to the file and flushes it; closing: no row follows.
void sap_recorder_flush_columns(sap_recorder* recorder, bool closing);

// recorder_model.c
// Writes names, joints, shapes and meshes. Returns false on failure; *failure is ENOMEM for lack of
// memory.
bool sap_recorder_write_model(hid_t file, const sap_recorded_model* model, int* failure);

// recorder_queue.c
// Starts the thread, if `threaded` and possible. Fails with MEMORY.
sap_status sap_recorder_queue_create(sap_recorder* recorder, bool threaded, sap_error* error);
// Ends the thread and frees the batches, which must have been drained.
void sap_recorder_queue_clear(sap_recorder* recorder);
// Appends a row and all that it points to. Fails with MEMORY. The caller's, as the two below.
sap_status sap_recorder_queue_add(sap_recorder* recorder, const sap_recorded_row* row,
                                  sap_error* error);
// Hands the batch to the worker; returns when another one is free.
void sap_recorder_queue_give(sap_recorder* recorder, sap_recorder_then then);
// Waits until the worker has processed all batches.
void sap_recorder_queue_drain(sap_recorder* recorder);
