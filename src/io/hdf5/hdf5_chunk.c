// SPDX-License-Identifier: BSD-3-Clause
#include "io/hdf5/hdf5_chunk.h"

#ifdef SAPSTEP_HDF5
#include <string.h>
#include <zlib.h>

#include "core/memory.h"

enum { MOST_FILTERS = 32 };  // H5Z_MAX_NFILTERS

typedef struct filter_list {
  int32_t count;
  struct {
    H5Z_filter_t id;
    size_t value_size;  // shuffle: bytes of a value
  } filter[MOST_FILTERS];
} filter_list;

enum { CHECKSUM_SIZE = 4 };

// Reads the list of filters. Returns false if one of them is not supported.
static bool filters_find(hid_t list, filter_list* out) {
  const int count = H5Pget_nfilters(list);
  *out = (filter_list){.count = count};
  if (count < 0 || count > MOST_FILTERS) {
    return false;
  }
  for (int i = 0; i < count; ++i) {
    unsigned flags = 0, values[1] = {0};
    size_t nvalues = 1;
    const H5Z_filter_t id =
        H5Pget_filter2(list, (unsigned)i, &flags, &nvalues, values, 0, NULL, NULL);
    if (id != H5Z_FILTER_DEFLATE && id != H5Z_FILTER_FLETCHER32 &&
        (id != H5Z_FILTER_SHUFFLE || nvalues < 1 || values[0] < 1)) {
      return false;
    }
    out->filter[i].id = id;
    out->filter[i].value_size = values[0];
  }
  return true;
}

// Returns an upper bound of the bytes of a chunk between two filters, at least `size`.
static size_t filters_room(const filter_list* filters, size_t size) {
  return size + CHECKSUM_SIZE * (size_t)filters->count;
}

// Computes Fletcher's checksum of big-endian 16-bit words; an odd last byte is the upper half of a
// word.
static uint32_t fletcher32(const unsigned char* bytes, size_t size) {
  uint32_t first = 0, second = 0;
  for (size_t i = 0; i < size; i += 2) {
    first += (uint32_t)bytes[i] << 8 | (i + 1 < size ? bytes[i + 1] : 0u);
    first = (first & 0xffff) + (first >> 16);
    second += first;
    second = (second & 0xffff) + (second >> 16);
  }
  return second << 16 | first;
}

// Compares the little-endian checksum after the bytes. HDF5 1.6.2 and earlier swapped the bytes of
// its words on little-endian machines.
static bool checksum_fits(const unsigned char* bytes, size_t size) {
  const unsigned char* s = bytes + size;
  const uint32_t found = fletcher32(bytes, size);
  const uint32_t stored = s[0] | (uint32_t)s[1] << 8 | (uint32_t)s[2] << 16 | (uint32_t)s[3] << 24;
  const uint32_t turned = (stored & 0x00ff00ffu) << 8 | (stored >> 8 & 0x00ff00ffu);
  return stored == found || turned == found;
}

// Undoes the shuffle filter: the first bytes of all values, then the second bytes, ...; a remainder
// follows unchanged.
static void unshuffle(const unsigned char* from, size_t size, size_t value_size,
                      unsigned char* to) {
  const size_t count = size / value_size;
  for (size_t place = 0; place < value_size; ++place) {
    for (size_t i = 0; i < count; ++i) {
      to[i * value_size + place] = from[place * count + i];
    }
  }
  memcpy(to + count * value_size, from + count * value_size, size - count * value_size);
}

// Undoes the filters except those of the bits in `skipped`. On entry *bytes holds `stored` bytes of
// the file and room for `room`; *spare has the same room. The two may be swapped; *bytes is decoded
// on return. Returns false unless the result has `size` bytes.
static bool filters_undo(const filter_list* filters, uint32_t skipped, size_t stored, size_t room,
                         size_t size, unsigned char** bytes, unsigned char** spare) {
  size_t now = stored;
  for (int32_t i = filters->count; i-- > 0;) {
    if ((skipped >> i & 1u) != 0) {
      continue;
    }
    if (filters->filter[i].id == H5Z_FILTER_FLETCHER32) {
      if (now < CHECKSUM_SIZE || !checksum_fits(*bytes, now - CHECKSUM_SIZE)) {
        return false;
      }
      now -= CHECKSUM_SIZE;
      continue;
    }
    if (filters->filter[i].id == H5Z_FILTER_DEFLATE) {
      uLongf length = (uLongf)room;
      if (uncompress(*spare, &length, *bytes, (uLong)now) != Z_OK) {
        return false;
      }
      now = (size_t)length;
    } else {
      unshuffle(*bytes, now, filters->filter[i].value_size, *spare);
    }
    unsigned char* decoded = *spare;
    *spare = *bytes;
    *bytes = decoded;
  }
  return now == size;
}

// The current chunk, and the requested part of the dataset.
typedef struct chunk {
  const sap_hdf5_set* set;
  filter_list filters;
  bool whole_only;                           // partial chunks at the edges are not filtered
  hsize_t shape[SAP_HDF5_MOST_DIMENSIONS];   // (rank)
  hsize_t origin[SAP_HDF5_MOST_DIMENSIONS];  // index of the first value
  hsize_t begin[SAP_HDF5_MOST_DIMENSIONS], end[SAP_HDF5_MOST_DIMENSIONS];  // requested range
  hid_t memory;
  size_t value_size;             // in memory
  size_t values, size, room;     // values of a chunk; bytes of it in the file; bytes of a buffer
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
  // Incompressible data may be stored slightly longer: zlib's worst case is 1/4096 and 13 bytes, and
  // each part compressed separately has a trailer.
  const size_t decoded = filters_room(&c->filters, c->size);
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

// Finds the number of bytes of the chunk in the file. For unfiltered chunks
// H5Dget_chunk_storage_size returns the nominal size, but H5Dread_chunk reads the size in the index,
// which only H5Dget_chunk_info_by_coord returns.
static bool stored_size(const chunk* c, hsize_t* out) {
  if (c->filters.count > 0) {
    return H5Dget_chunk_storage_size(c->set->id, c->origin, out) >= 0;
  }
  haddr_t address;
  unsigned skipped;
  return H5Dget_chunk_info_by_coord(c->set->id, c->origin, &skipped, &address, out) >= 0;
}

// Decodes the chunk at `origin` into `bytes`, converted to the type in memory.
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
      filters_undo(&c->filters, skipped, (size_t)stored, c->room, c->size, &c->bytes, &c->spare) &&
      (c->set->kind == SAP_HDF5_TEXTS ||
       H5Tconvert(c->set->type, c->memory, c->values, c->bytes, NULL, H5P_DEFAULT) >= 0);
  return good ? SAP_STATUS_OK : SAP_STATUS_SYNTAX;
}

// Copies the requested part of the chunk to `out`, one run of the last dimension at a time.
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

// Advances to the next chunk in the requested range. Returns false at the end.
static bool next_chunk(chunk* c) {
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
  for (bool more = true; more && status == SAP_STATUS_OK; more = next_chunk(c)) {
    status = decode(c, list, why);
    if (status == SAP_STATUS_OK) {
      scatter(c, out);
    }
  }
  return status;
}

// Returns true if HDF5 may read the set itself. Without a cache HDF5 reads unfiltered chunks directly
// with their nominal sizes, whatever the index says, so that no chunk needs a look-up in the index,
// which is linear. The total size shows whether the index is consistent.
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
  if (!filters_find(list, &c.filters)) {
    *why =
        "compressed by a filter other than deflate, shuffle and fletcher32: convert with h5repack "
        "-f GZIP=1";
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
