// SPDX-License-Identifier: BSD-3-Clause
#include "io/hdf5/hdf5_set.h"

#ifdef SAPSTEP_HDF5
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <zlib.h>

#include "core/memory.h"

// --- types and sizes ----------------------------------------------------------------------------

// Checks an exponent or mantissa of `size` bits from bit `first`.
static bool lies_within(size_t first, size_t size, size_t bits) {
  return size > 0 && size < bits && first < bits && first + size <= bits;
}

// Classifies a type. HDF5 converts between all numeric types whose bit fields lie within the value.
static sap_hdf5_kind find_kind(hid_t type, size_t size) {
  enum { INTEGER_SIZE = 8, FLOAT_SIZE = 16, EXPONENT_BITS = 32 };
  const H5T_class_t class = H5Tget_class(type);
  if (class == H5T_STRING) {
    return H5Tis_variable_str(type) == 0 ? SAP_HDF5_TEXTS : SAP_HDF5_OTHERS;
  }
  if (class != H5T_INTEGER && class != H5T_FLOAT) {
    return SAP_HDF5_OTHERS;
  }
  const H5T_order_t order = H5Tget_order(type);
  const size_t precision = H5Tget_precision(type), bits = 8 * size;
  const int offset = H5Tget_offset(type);
  if ((order != H5T_ORDER_LE && order != H5T_ORDER_BE) || offset < 0 || precision < 1 ||
      precision > bits || (size_t)offset > bits - precision) {
    return SAP_HDF5_OTHERS;
  }
  if (class == H5T_INTEGER) {
    return size <= INTEGER_SIZE ? SAP_HDF5_INTEGERS : SAP_HDF5_OTHERS;
  }
  size_t sign, exponent, exponent_bits, mantissa, mantissa_bits;
  const bool good =
      size <= FLOAT_SIZE &&
      H5Tget_fields(type, &sign, &exponent, &exponent_bits, &mantissa, &mantissa_bits) >= 0 &&
      lies_within(sign, 1, bits) && lies_within(exponent, exponent_bits, bits) &&
      lies_within(mantissa, mantissa_bits, bits) && exponent_bits <= EXPONENT_BITS;
  return good ? SAP_HDF5_FLOATS : SAP_HDF5_OTHERS;
}

static bool measure_set(hid_t space, sap_hdf5_set* set) {
  const H5S_class_t class = H5Sget_simple_extent_type(space);
  set->row_values = 1;
  if (class == H5S_NULL || class == H5S_SCALAR) {
    set->rows = class == H5S_SCALAR ? 1 : 0;
    return true;
  }
  const int rank = class == H5S_SIMPLE ? H5Sget_simple_extent_ndims(space) : -1;
  if (rank < 1 || rank > SAP_HDF5_MOST_DIMENSIONS ||
      H5Sget_simple_extent_dims(space, set->size, NULL) != rank) {
    return false;
  }
  hsize_t most = INT64_MAX;
  for (int i = 0; i < rank; ++i) {
    if (set->size[i] > most) {
      return false;
    }
    most = set->size[i] > 0 ? most / set->size[i] : most;
    set->row_values *= i > 0 ? set->size[i] : 1;
  }
  set->rank = rank;
  set->rows = set->size[0];
  return true;
}

// Checks every group on the path, then the object.
bool sap_hdf5_exists(hid_t file, const char* name) {
  enum { NAME_SIZE = 256 };
  char part[NAME_SIZE];
  for (const char* at = name; (size_t)(at - name) < sizeof part; ++at) {
    if ((*at == '/' && at > name) || *at == '\0') {
      (void)snprintf(part, sizeof part, "%.*s", (int)(at - name), name);
      if (H5Lexists(file, part, H5P_DEFAULT) == 0) {
        return false;
      }
    }
    if (*at == '\0') {
      return true;
    }
  }
  return false;  // longer than any name in our files
}

bool sap_hdf5_set_open(hid_t file, const char* name, sap_hdf5_set* set) {
  // Without a cache HDF5 does not read whole unfiltered chunks; see is_plain.
  const hid_t access = H5Pcreate(H5P_DATASET_ACCESS);
  *set = (sap_hdf5_set){.id = -1, .type = -1};
  if (access >= 0 && H5Pset_chunk_cache(access, 0, 0, 0.0) >= 0) {
    set->id = H5Dopen2(file, name, access);
  }
  (void)H5Pclose(access);
  set->type = set->id >= 0 ? H5Dget_type(set->id) : -1;
  const hid_t space = set->type >= 0 ? H5Dget_space(set->id) : -1;
  const bool good = space >= 0 && measure_set(space, set);
  (void)H5Sclose(space);
  if (good) {
    set->value_size = H5Tget_size(set->type);
    set->kind = set->value_size > 0 ? find_kind(set->type, set->value_size) : SAP_HDF5_OTHERS;
  }
  return good;
}

void sap_hdf5_set_close(sap_hdf5_set* set) {
  if (set->type >= 0) {
    (void)H5Tclose(set->type);
  }
  if (set->id >= 0) {
    (void)H5Dclose(set->id);
  }
  *set = (sap_hdf5_set){.id = -1, .type = -1};
}

// Returns the largest number of bytes that a file can hold, compressed: zlib's best ratio is 1032.
// Values that were never written need no space; a fixed amount of them is allowed.
static hsize_t most_bytes(hid_t set) {
  enum { BEST = 1100, ALLOWED = 64 << 20 };
  const hid_t file = H5Iget_file_id(set);
  hsize_t size = 0;
  const bool good = file >= 0 && H5Fget_filesize(file, &size) >= 0 && size < INT64_MAX / BEST;
  (void)H5Fclose(file);
  return good && size > ALLOWED / BEST ? size * BEST : ALLOWED;
}

bool sap_hdf5_set_fits(const sap_hdf5_set* set) {
  return set->rows == 0 || set->row_values == 0 || set->value_size == 0 ||
         set->rows <= most_bytes(set->id) / set->row_values / set->value_size;
}

// --- rows ---------------------------------------------------------------------------------------

// Reads rows with H5Dread. Only for layouts and filters for which HDF5 does not trust sizes in the
// file.
static sap_status read_rows(const sap_hdf5_set* set, hsize_t first, hsize_t count, hid_t memory,
                            void* out, const char** why) {
  const hsize_t values = count * set->row_values;
  *why = "damaged";
  hsize_t start[SAP_HDF5_MOST_DIMENSIONS] = {first}, size[SAP_HDF5_MOST_DIMENSIONS] = {count};
  for (int32_t i = 1; i < set->rank; ++i) {
    size[i] = set->size[i];
  }
  const hid_t space = H5Dget_space(set->id), room = H5Screate_simple(1, &values, NULL);
  const bool good = space >= 0 && room >= 0 &&
                    (set->rank == 0 ||
                     H5Sselect_hyperslab(space, H5S_SELECT_SET, start, NULL, size, NULL) >= 0) &&
                    H5Dread(set->id, memory, room, space, H5P_DEFAULT, out) >= 0;
  (void)H5Sclose(room);
  (void)H5Sclose(space);
  return good ? SAP_STATUS_OK : SAP_STATUS_SYNTAX;
}

static bool fills_with_zeros(hid_t list) {
  H5D_fill_time_t time;
  H5D_fill_value_t value;
  return H5Pget_fill_time(list, &time) >= 0 && time != H5D_FILL_TIME_NEVER &&
         H5Pfill_value_defined(list, &value) >= 0 && value == H5D_FILL_VALUE_DEFAULT;
}

// Fills values that were never written with zeros. Fails with SYNTAX if the creation list defines
// another fill value.
static sap_status fill_zeros(hid_t list, hsize_t values, hid_t memory, void* out,
                             const char** why) {
  if (!fills_with_zeros(list)) {
    *why = "values are missing";
    return SAP_STATUS_SYNTAX;
  }
  memset(out, 0, (size_t)values * H5Tget_size(memory));
  return SAP_STATUS_OK;
}

// --- chunks -------------------------------------------------------------------------------------

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

static bool measure_chunk(chunk* c, hid_t list, hsize_t most) {
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
  // Incompressible data may be stored slightly longer: zlib's worst case is 1/4096 and 13 bytes,
  // and each part compressed separately has a trailer.
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
// H5Dget_chunk_storage_size returns the nominal size, but H5Dread_chunk reads the size in the
// index, which only H5Dget_chunk_info_by_coord returns.
static bool stored_size(const chunk* c, hsize_t* out) {
  if (c->filters.count > 0) {
    return H5Dget_chunk_storage_size(c->set->id, c->origin, out) >= 0;
  }
  haddr_t address;
  unsigned skipped;
  return H5Dget_chunk_info_by_coord(c->set->id, c->origin, &skipped, &address, out) >= 0;
}

// Decodes the chunk at `origin` into `bytes`, converted to the type in memory.
static sap_status decode_chunk(chunk* c, hid_t list, const char** why) {
  hsize_t stored = 0;
  uint32_t skipped = 0;
  *why = "damaged";
  if (!stored_size(c, &stored)) {
    return SAP_STATUS_SYNTAX;
  }
  if (stored == 0) {
    return fill_zeros(list, c->values, c->memory, c->bytes, why);
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
    status = decode_chunk(c, list, why);
    if (status == SAP_STATUS_OK) {
      scatter(c, out);
    }
  }
  return status;
}

// Returns true if HDF5 may read the set itself. Without a cache HDF5 reads unfiltered chunks
// directly with their nominal sizes, whatever the index says, so that no chunk needs a look-up in
// the index, which is linear. The total size shows whether the index is consistent.
static bool is_plain(const chunk* c, hid_t list) {
  hsize_t chunks = 0;
  const hid_t space = H5Dget_space(c->set->id);
  const bool plain = c->filters.count == 0 && fills_with_zeros(list) && space >= 0 &&
                     H5Dget_num_chunks(c->set->id, space, &chunks) >= 0 &&
                     H5Dget_storage_size(c->set->id) == chunks * c->size;
  (void)H5Sclose(space);
  return plain;
}

// Implements sap_hdf5_set_read for a chunked set. A chunk may have at most `most` bytes.
static sap_status read_chunked(const sap_hdf5_set* set, hid_t list, hsize_t most, hsize_t first,
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
  if (c.value_size == 0 || H5Pget_chunk_opts(list, &options) < 0 ||
      !measure_chunk(&c, list, most)) {
    return SAP_STATUS_SYNTAX;
  }
  if (is_plain(&c, list)) {
    return read_rows(set, first, count, memory, out, why);
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
// --- sets ---------------------------------------------------------------------------------------

static sap_status read_by_layout(const sap_hdf5_set* set, hid_t list, hsize_t first, hsize_t count,
                                 hid_t memory, void* out, const char** why) {
  const H5D_layout_t layout = H5Pget_layout(list);
  const hsize_t most = most_bytes(set->id);
  if (count > most / set->row_values / set->value_size) {
    *why = "more values than a file of this size can hold";
    return SAP_STATUS_SYNTAX;
  }
  if (layout == H5D_CHUNKED) {
    return read_chunked(set, list, most, first, count, memory, out, why);
  }
  if ((layout != H5D_CONTIGUOUS && layout != H5D_COMPACT) || H5Pget_external_count(list) != 0) {
    *why = "not stored in this file";
    return SAP_STATUS_UNSUPPORTED;
  }
  if (layout == H5D_CONTIGUOUS && H5Dget_offset(set->id) == HADDR_UNDEF) {
    return fill_zeros(list, count * set->row_values, memory, out, why);
  }
  // Contiguous or compact: the stored size must be at least the declared size.
  *why = "damaged";
  return H5Dget_storage_size(set->id) >= set->rows * set->row_values * set->value_size
             ? read_rows(set, first, count, memory, out, why)
             : SAP_STATUS_SYNTAX;
}

sap_status sap_hdf5_set_read(const sap_hdf5_set* set, hsize_t first, hsize_t count, hid_t memory,
                             void* out, const char** why) {
  if (set->kind == SAP_HDF5_OTHERS) {
    *why = "neither numbers nor strings of fixed length";
    return SAP_STATUS_UNSUPPORTED;
  }
  if (count == 0 || set->row_values == 0) {
    return SAP_STATUS_OK;
  }
  const hid_t list = H5Dget_create_plist(set->id);
  *why = "damaged";
  const sap_status status =
      list < 0 ? SAP_STATUS_SYNTAX : read_by_layout(set, list, first, count, memory, out, why);
  (void)H5Pclose(list);
  return status;
}

static void silence_for_good(void) {
  (void)H5Eset_auto2(H5E_DEFAULT, NULL, NULL);
}

// A function registered with atexit after HDF5's own runs before it.
void sap_hdf5_silence_exit(void) {
  (void)H5open();
  (void)atexit(silence_for_good);
}

void sap_hdf5_silence_begin(sap_hdf5_silence* silence) {
  (void)H5Eget_auto2(H5E_DEFAULT, &silence->function, &silence->data);
  (void)H5Eset_auto2(H5E_DEFAULT, NULL, NULL);
}

void sap_hdf5_silence_end(const sap_hdf5_silence* silence) {
  (void)H5Eset_auto2(H5E_DEFAULT, silence->function, silence->data);
}
#endif
