// SPDX-License-Identifier: BSD-3-Clause
// What goes from the thread that records to the one that works for it, and back: batches of rows,
// and lots of chunks that are ready for the file. Memory is bounded: who is ahead waits. Chunks
// come in the order of the rows whatever the timing. Without a thread the same is done by the
// calls.
#ifndef SAP_OUTPUT_RECORDER_RECORDER_QUEUE_H
#define SAP_OUTPUT_RECORDER_RECORDER_QUEUE_H

#include <sapstep/recorder.h>

#include "output/recorder/hdf5_column.h"

#ifdef SAPSTEP_HDF5
#include <pthread.h>
#include <stdatomic.h>

enum {
  SAP_RECORDER_BATCHES = 8,
  SAP_RECORDER_LOTS = 2,
  SAP_RECORDER_CHUNKS = 64,               // of a lot, at most
  SAP_RECORDER_BATCH_BYTES = 256 * 1024,  // unless a single row is larger
  SAP_RECORDER_LOT_BYTES = 1024 * 1024    // unless a single chunk is larger
};

// What is to be done once the rows of a batch are in the columns.
typedef enum sap_recorder_then {
  SAP_THEN_NOTHING,
  SAP_THEN_FLUSH,
  SAP_THEN_CLOSE,  // flush, nothing will follow
} sap_recorder_then;

// What is recorded of a contact, and what its mode follows from.
typedef struct sap_packed_contact {
  int32_t body_A, body_B, shape_A, shape_B, feature;
  double point[3], R_WC[9], phi;
  double friction[5], vc[6], gamma[6];
} sap_packed_contact;

// A row in a batch; what it points to stands behind it.
typedef struct sap_packed_row {
  size_t size;           // with all that follows
  bool derive;           // poses, energy and momentum are to be found
  sap_recorded_row row;  // `contacts` NULL
  sap_report solver;     // of `row`, when that has one
  const sap_packed_contact* contacts;
} sap_packed_row;

typedef struct sap_row_batch {
  unsigned char* bytes;  // rows, see recorder_batch.c
  size_t used, room;
  sap_recorder_then then;
} sap_row_batch;

typedef struct sap_chunk_lot {
  sap_hdf5_chunk chunks[SAP_RECORDER_CHUNKS];
  int32_t count, written;
  bool flush;  // the file is consistent after them
  unsigned char* bytes;
  size_t used, room;
} sap_chunk_lot;

typedef struct sap_recorder_queue {
  sap_row_batch batches[SAP_RECORDER_BATCHES];
  sap_chunk_lot lots[SAP_RECORDER_LOTS];
  bool created, threaded;
  bool direct;  // chunks are written where they are made
  pthread_t thread;
  pthread_mutex_t mutex;  // of what follows; batches and lots belong to who has them
  pthread_cond_t to_worker, to_caller;
  int64_t given, done;        // batches; number `given` is being filled
  int64_t posted, committed;  // lots; number `posted` is being filled
  atomic_bool has_lot;        // posted > committed
  bool ending;
} sap_recorder_queue;

// `lot_bytes`: of the largest chunk. Starts the thread, if it can and is wanted; it calls HDF5 only
// where `safe`. MEMORY.
sap_status sap_recorder_queue_create(sap_recorder* recorder, size_t lot_bytes, bool threaded,
                                     bool safe, sap_error* error);
// Ends the thread; all must be drained. Nothing happens to what was never created.
void sap_recorder_queue_clear(sap_recorder* recorder);

// The calling thread's: the batch that is being filled; gives it away (returns when the next one is
// free); writes a little of what has come back; waits until all was done and written.
sap_row_batch* sap_recorder_queue_batch(sap_recorder* recorder);
void sap_recorder_queue_give(sap_recorder* recorder, sap_recorder_then then);
void sap_recorder_queue_look(sap_recorder* recorder);
void sap_recorder_queue_drain(sap_recorder* recorder);

// The worker's: the lot that is being filled, and its end.
sap_chunk_lot* sap_recorder_queue_lot(sap_recorder* recorder);
void sap_recorder_queue_post(sap_recorder* recorder, bool flush);

// Appends a row and all that it points to; batch->room stays as it is when the row does not fit
// into an empty batch and memory is short: MEMORY. False in *fits: it does not fit behind others.
sap_status sap_row_batch_add(sap_row_batch* batch, const sap_model_sizes* sizes,
                             const sap_recorded_row* row, bool derive, bool* fits,
                             sap_error* error);
// The row at *at, which goes on to the next one; NULL: no more.
sap_packed_row* sap_row_batch_next(const sap_row_batch* batch, size_t* at);

#endif

#endif
