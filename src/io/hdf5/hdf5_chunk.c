// SPDX-License-Identifier: BSD-3-Clause
#include "io/hdf5/hdf5_chunk.h"

#ifdef SAPSTEP_HDF5
#include <string.h>

#include "core/memory.h"
#include "io/hdf5/hdf5_filter.h"

// One chunk at a time, and what is wanted of it.
typedef struct chunk {
  const sap_hdf5_set* set;
  sap_hdf5_filters filters;
  bool whole_only;                           // chunks that reach beyond the set pass no filter
  hsize_t shape[SAP_HDF5_MOST_DIMENSIONS];   // (rank)
  hsize_t origin[SAP_HDF5_MOST_DIMENSIONS];  // first value in the set
  hsize_t begin[SAP_HDF5_MOST_DIMENSIONS], end[SAP_HDF5_MOST_DIMENSIONS];  // wanted of all chunks
  hid_t memory;
  size_t value_size;             // in memory
  size_t values, size, room;     // of a chunk; its bytes as in the file; those of each buffer
  unsigned char *bytes, *spare;  // (room)
} chunk;

static bool fills_with_zeros(hid_t list) {
  H5D_fill_time_t time;
  H5D_fill_value_t value;
  return H5Pget_fill_time(list, &time) >= 0 && time != H5D_FILL_TIME_NEVER &&
         H5Pfill_value_defined(list, &value) >= 0 && value == H5D_FILL_VALUE_DEFAULT;
}

sap_status sap_hdf5_fill(hid_t list, hsize_t values, hid_t memory, void* out, const char** why) {
  if (!fills_with_zeros(list)) {
    *why = "values are missing";
    return SAP_STATUS_SYNTAX;
  }
  memset(out, 0, (size_t)values * H5Tget_size(memory));
  return SAP_STATUS_OK;
}

static bool measure(chunk* c, hid_t list, hsize_t most) {
  const sap_hdf5_set* set = c->set;
  const size_t larger = c->value_size > set->value_size ? c->value_size : set->value_size;
  if (H5Pget_chunk(list, SAP_HDF5_MOST_DIMENSIONS, c->shape) != set->rank) {
    return false;
  }
  hsize_t values = 1;
  for (int32_t i = 0; i < set->rank; ++i) {
    if (c->shape[i] == 0 || c->shape[i] > most / larger / values) {
      return false;
    }
    values *= c->shape[i];
  }
  c->values = (size_t)values;
  c->size = c->values * set->value_size;
  // What does not get smaller may be stored a little longer than it is; zlib's worst is 1/4096 and
  // 13 bytes, and each part that is packed by itself has an end.
  const size_t decoded = sap_hdf5_filters_room(&c->filters, c->size);
  const size_t stored = decoded + decoded / 64 + 1024;
  const size_t converted = c->values * larger;
  c->room = stored > converted ? stored : converted;
  return true;
}

static bool reaches_beyond(const chunk* c) {
  for (int32_t i = 0; i < c->set->rank; ++i) {
    if (c->origin[i] + c->shape[i] > c->set->size[i]) {
      return true;
    }
  }
  return false;
}

// Bytes of the chunk in the file. Of one that passes no filter HDF5 tells those that it should have
// and reads those that the index says: these are found by a walk through the index alone.
static bool stored_size(const chunk* c, hsize_t* out) {
  if (c->filters.count > 0) {
    return H5Dget_chunk_storage_size(c->set->id, c->origin, out) >= 0;
  }
  haddr_t address;
  unsigned skipped;
  return H5Dget_chunk_info_by_coord(c->set->id, c->origin, &skipped, &address, out) >= 0;
}

// Values of the chunk at `origin` into `bytes`, as they are wanted in memory.
static sap_status decode(chunk* c, hid_t list, const char** why) {
  hsize_t stored = 0;
  uint32_t skipped = 0;
  *why = "damaged";
  if (!stored_size(c, &stored)) {
    return SAP_STATUS_SYNTAX;
  }
  if (stored == 0) {
    return sap_hdf5_fill(list, c->values, c->memory, c->bytes, why);
  }
  if (stored > c->room ||
      H5Dread_chunk(c->set->id, H5P_DEFAULT, c->origin, &skipped, c->bytes) < 0) {
    return SAP_STATUS_SYNTAX;
  }
  skipped = c->whole_only && reaches_beyond(c) ? UINT32_MAX : skipped;
  const bool good =
      sap_hdf5_filters_undo(&c->filters, skipped, (size_t)stored, c->room, c->size, &c->bytes,
                            &c->spare) &&
      (c->set->kind == SAP_HDF5_TEXTS ||
       H5Tconvert(c->set->type, c->memory, c->values, c->bytes, NULL, H5P_DEFAULT) >= 0);
  return good ? SAP_STATUS_OK : SAP_STATUS_SYNTAX;
}

// The part of the chunk that is wanted goes to its place in `out`, run by run of the last
// dimension.
static void scatter(const chunk* c, unsigned char* out) {
  const int32_t last = c->set->rank - 1;
  hsize_t from[SAP_HDF5_MOST_DIMENSIONS], to[SAP_HDF5_MOST_DIMENSIONS];
  hsize_t at[SAP_HDF5_MOST_DIMENSIONS];
  for (int32_t i = 0; i <= last; ++i) {
    const hsize_t end = c->origin[i] + c->shape[i];
    from[i] = c->begin[i] > c->origin[i] ? c->begin[i] : c->origin[i];
    to[i] = c->end[i] < end ? c->end[i] : end;
    at[i] = from[i];
  }
  const size_t run = (size_t)(to[last] - from[last]) * c->value_size;
  for (bool more = true; more;) {
    hsize_t source = 0, target = 0;
    for (int32_t i = 0; i <= last; ++i) {
      source = source * c->shape[i] + (at[i] - c->origin[i]);
      target = target * (c->end[i] - c->begin[i]) + (at[i] - c->begin[i]);
    }
    memcpy(out + (size_t)target * c->value_size, c->bytes + (size_t)source * c->value_size, run);
    more = false;
    for (int32_t i = last; i-- > 0 && !more;) {
      more = ++at[i] < to[i];
      at[i] = more ? at[i] : from[i];
    }
  }
}

// The next chunk with something that is wanted; false: there is none.
static bool next(chunk* c) {
  for (int32_t i = c->set->rank; i-- > 0;) {
    c->origin[i] += c->shape[i];
    if (c->origin[i] < c->end[i]) {
      return true;
    }
    c->origin[i] = c->begin[i] - c->begin[i] % c->shape[i];
  }
  return false;
}

static sap_status read_chunks(chunk* c, hid_t list, unsigned char* out, const char** why) {
  sap_status status = SAP_STATUS_OK;
  for (bool more = true; more && status == SAP_STATUS_OK; more = next(c)) {
    status = decode(c, list, why);
    if (status == SAP_STATUS_OK) {
      scatter(c, out);
    }
  }
  return status;
}

// Without a cache HDF5 reads what is wanted of chunks that pass no filter from where they lie,
// whatever the index says of their sizes. Chunk by chunk these are found by a walk through all of
// the index each: it is the sum that is asked for, which shows whether they are worth the time.
static bool is_plain(const chunk* c, hid_t list) {
  hsize_t chunks = 0;
  const hid_t space = H5Dget_space(c->set->id);
  const bool plain = c->filters.count == 0 && fills_with_zeros(list) && space >= 0 &&
                     H5Dget_num_chunks(c->set->id, space, &chunks) >= 0 &&
                     H5Dget_storage_size(c->set->id) == chunks * c->size;
  (void)H5Sclose(space);
  return plain;
}

sap_status sap_hdf5_chunk_read(const sap_hdf5_set* set, hid_t list, hsize_t most, hsize_t first,
                               hsize_t count, hid_t memory, void* out, const char** why) {
  chunk c = {.set = set, .memory = memory, .value_size = H5Tget_size(memory)};
  unsigned options = 0;
  *why = "damaged";
  if (!sap_hdf5_filters_find(list, &c.filters)) {
    *why = "packed by a filter other than deflate, shuffle and fletcher32: h5repack -f GZIP=1";
    return SAP_STATUS_UNSUPPORTED;
  }
  if (c.value_size == 0 || H5Pget_chunk_opts(list, &options) < 0 || !measure(&c, list, most)) {
    return SAP_STATUS_SYNTAX;
  }
  if (is_plain(&c, list)) {
    return sap_hdf5_rows_read(set, first, count, memory, out, why);
  }
  c.whole_only = (options & H5D_CHUNK_DONT_FILTER_PARTIAL_CHUNKS) != 0;
  for (int32_t i = 0; i < set->rank; ++i) {
    c.begin[i] = i == 0 ? first : 0;
    c.end[i] = i == 0 ? first + count : set->size[i];
    c.origin[i] = c.begin[i] - c.begin[i] % c.shape[i];
  }
  c.bytes = sap_allocate(c.room, 1);
  c.spare = sap_allocate(c.room, 1);
  *why = "out of memory";
  const sap_status status =
      c.bytes == NULL || c.spare == NULL ? SAP_STATUS_MEMORY : read_chunks(&c, list, out, why);
  sap_free(c.bytes);
  sap_free(c.spare);
  return status;
}
#endif
