// SPDX-License-Identifier: BSD-3-Clause
// The part of recording that stepping does not wait for: what is derived, and compression. HDF5 is
// called by posting alone, where the queue is direct.
#include "output/recorder/recorder_data.h"

#ifdef SAPSTEP_HDF5

static void give(sap_recorder* recorder, int index, bool close) {
  sap_hdf5_column* column = &recorder->columns[index];
  if (column->count == column->stored) {
    return;
  }
  sap_chunk_lot* lot = sap_recorder_queue_lot(recorder);
  if (lot->count == SAP_RECORDER_CHUNKS || sap_hdf5_column_bound(column) > lot->room - lot->used) {
    sap_recorder_queue_post(recorder, false);
    lot = sap_recorder_queue_lot(recorder);
  }
  sap_hdf5_chunk* chunk = &lot->chunks[lot->count];
  sap_hdf5_column_take(column, close, recorder->packer, lot->bytes + lot->used, chunk);
  chunk->column = index;
  lot->used += chunk->size;
  ++lot->count;
}

void sap_recorder_give(sap_recorder* recorder, int first, int last, bool close) {
  for (int i = last; i >= first; --i) {
    give(recorder, i, close);
  }
}

// Contacts first: rows that stand in the file have theirs.
static void flush(sap_recorder* recorder, bool close) {
  sap_recorder_give(recorder, 0, SAP_RECORD_COLUMNS - 1, close);
  sap_recorder_queue_post(recorder, true);
}

void sap_recorder_work(sap_recorder* recorder, const sap_row_batch* batch) {
  const sap_hdf5_column* time = &recorder->columns[SAP_RECORD_TIME];
  size_t at = 0;
  sap_packed_row* packed;
  while ((packed = sap_row_batch_next(batch, &at)) != NULL) {
    if (packed->derive) {
      sap_recorder_derive(recorder, &packed->row);
    }
    sap_recorder_add_row(recorder, packed);
    if (time->count == time->capacity) {
      flush(recorder, false);
    }
  }
  if (batch->then != SAP_THEN_NOTHING) {
    flush(recorder, batch->then == SAP_THEN_CLOSE);
  }
}

#endif
