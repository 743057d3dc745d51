// SPDX-License-Identifier: BSD-3-Clause
#include "io/hdf5/hdf5_set.h"

#include <stdio.h>
#include <stdlib.h>
#include <zlib.h>

#include "core/memory.h"

// --- types and sizes ----------------------------------------------------------------------------

// Classifies a type: whole bytes of a common size, in either order.
static sap_hdf5_kind find_kind(hid_t type, size_t size) {
  const hid_t reals[] = {H5T_IEEE_F64LE, H5T_IEEE_F64BE, H5T_IEEE_F32LE, H5T_IEEE_F32BE};
  const H5T_class_t class = H5Tget_class(type);
  const H5T_order_t order = H5Tget_order(type);
  if (class == H5T_STRING) {
    return H5Tis_variable_str(type) == 0 ? SAP_HDF5_TEXTS : SAP_HDF5_OTHERS;
  }
  for (size_t i = 0; i < sizeof reals / sizeof *reals && class == H5T_FLOAT; ++i) {
    if (H5Tequal(type, reals[i]) > 0) {
      return SAP_HDF5_FLOATS;
    }
  }
  return class == H5T_INTEGER && size <= sizeof(int64_t) && H5Tget_precision(type) == 8 * size &&
                 (order == H5T_ORDER_LE || order == H5T_ORDER_BE)
             ? SAP_HDF5_INTEGERS
             : SAP_HDF5_OTHERS;
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

// --- chunks -------------------------------------------------------------------------------------

// A set in chunks, and the chunk that is checked.
typedef struct chunk {
  const sap_hdf5_set* set;
  hid_t list;                                // of creation
  int filters;                               // none, shuffle, deflate, or both in this order
  bool deflated;                             // by the last of them
  hsize_t shape[SAP_HDF5_MOST_DIMENSIONS];   // (rank)
  hsize_t origin[SAP_HDF5_MOST_DIMENSIONS];  // index of the first value
  size_t size, room;  // bytes of a decoded chunk; of a buffer, for the longest encoded chunk
  unsigned char *bytes, *decoded;  // (room)
} chunk;

// Returns true if values that were never written read as zeros.
static bool fills_with_zeros(hid_t list) {
  H5D_fill_time_t time;
  H5D_fill_value_t value;
  return H5Pget_fill_time(list, &time) >= 0 && time != H5D_FILL_TIME_NEVER &&
         H5Pfill_value_defined(list, &value) >= 0 && value == H5D_FILL_VALUE_DEFAULT;
}

// Returns false if the chunks have passed other filters.
static bool find_filters(chunk* c) {
  unsigned options = 0;
  c->filters = H5Pget_nfilters(c->list);
  bool known = c->filters >= 0 && H5Pget_chunk_opts(c->list, &options) >= 0 &&
               (options & H5D_CHUNK_DONT_FILTER_PARTIAL_CHUNKS) == 0;
  for (int i = 0; i < c->filters && known; ++i) {
    unsigned flags, value_size = 0;
    size_t count = 1;
    const H5Z_filter_t id =
        H5Pget_filter2(c->list, (unsigned)i, &flags, &count, &value_size, 0, NULL, NULL);
    c->deflated = id == H5Z_FILTER_DEFLATE;
    known =
        c->deflated ? i + 1 == c->filters : id == H5Z_FILTER_SHUFFLE && i == 0 && value_size > 0;
  }
  return known;
}

static bool measure_chunk(chunk* c, hsize_t most) {
  const sap_hdf5_set* set = c->set;
  if (H5Pget_chunk(c->list, SAP_HDF5_MOST_DIMENSIONS, c->shape) != set->rank) {
    return false;
  }
  hsize_t size = set->value_size;
  for (int32_t i = 0; i < set->rank; ++i) {
    if (c->shape[i] == 0 || c->shape[i] > most / size) {
      return false;
    }
    size *= c->shape[i];
  }
  c->size = (size_t)size;
  // Incompressible data may be stored slightly longer: zlib's worst case is 1/4096 and 13 bytes,
  // and each part compressed separately has a trailer.
  c->room = c->size + c->size / 64 + 1024;
  return true;
}

// Checks that `size` bytes of the file decode to a chunk.
static bool decodes(chunk* c, uint32_t skipped, size_t size) {
  uLongf length = (uLongf)c->room;
  if (c->deflated && (skipped >> (c->filters - 1) & 1u) == 0) {
    return uncompress(c->decoded, &length, c->bytes, (uLong)size) == Z_OK && length == c->size;
  }
  return size == c->size;
}

// Finds the number of bytes of the chunk in the file. For unfiltered chunks
// H5Dget_chunk_storage_size returns the nominal size, but H5Dread_chunk reads the size in the
// index, which only H5Dget_chunk_info_by_coord returns.
static bool stored_size(const chunk* c, hsize_t* out) {
  haddr_t address;
  unsigned skipped;
  return (c->filters > 0
              ? H5Dget_chunk_storage_size(c->set->id, c->origin, out)
              : H5Dget_chunk_info_by_coord(c->set->id, c->origin, &skipped, &address, out)) >= 0;
}

// Checks the chunk at `origin`. Returns NULL, or why HDF5 must not read it.
static const char* check_chunk(chunk* c) {
  hsize_t stored = 0;
  uint32_t skipped = 0;
  if (!stored_size(c, &stored)) {
    return "damaged";
  }
  if (stored == 0) {
    return fills_with_zeros(c->list) ? NULL : "values are missing";
  }
  if (stored > c->room ||
      H5Dread_chunk(c->set->id, H5P_DEFAULT, c->origin, &skipped, c->bytes) < 0) {
    return "damaged";
  }
  return decodes(c, skipped, (size_t)stored) ? NULL : "damaged";
}

// Advances to the next chunk of the rows [first, end). Returns false at the end.
static bool next_chunk(chunk* c, hsize_t first, hsize_t end) {
  for (int32_t i = c->set->rank; i-- > 0;) {
    c->origin[i] += c->shape[i];
    if (c->origin[i] < (i == 0 ? end : c->set->size[i])) {
      return true;
    }
    c->origin[i] = i == 0 ? first - first % c->shape[0] : 0;
  }
  return false;
}

// Returns true if no chunk needs a check. Without a cache HDF5 reads unfiltered chunks directly
// with their nominal sizes, whatever the index says; a look-up in the index is linear. The total
// size shows whether the index is consistent.
static bool is_plain(const chunk* c) {
  hsize_t chunks = 0;
  const hid_t space = H5Dget_space(c->set->id);
  const bool plain = c->filters == 0 && fills_with_zeros(c->list) && space >= 0 &&
                     H5Dget_num_chunks(c->set->id, space, &chunks) >= 0 &&
                     H5Dget_storage_size(c->set->id) == chunks * c->size;
  (void)H5Sclose(space);
  return plain;
}

static sap_status check_each(chunk* c, hsize_t first, hsize_t end, const char** why) {
  *why = NULL;
  c->bytes = sap_allocate(c->room, 1);
  c->decoded = sap_allocate(c->room, 1);
  const bool memory = c->bytes != NULL && c->decoded != NULL;
  c->origin[0] = first - first % c->shape[0];
  for (bool more = memory; more && *why == NULL; more = next_chunk(c, first, end)) {
    *why = check_chunk(c);
  }
  sap_free(c->bytes);
  sap_free(c->decoded);
  *why = memory ? *why : "out of memory";
  return !memory ? SAP_STATUS_MEMORY : *why == NULL ? SAP_STATUS_OK : SAP_STATUS_SYNTAX;
}

// Checks the chunks of rows [first, end). A chunk may have at most `most` bytes.
static sap_status check_chunks(const sap_hdf5_set* set, hid_t list, hsize_t most, hsize_t first,
                               hsize_t end, const char** why) {
  chunk c = {.set = set, .list = list};
  if (!find_filters(&c)) {
    *why = "filtered otherwise than by shuffle and deflate: convert with h5repack -f GZIP=1";
    return SAP_STATUS_UNSUPPORTED;
  }
  *why = "damaged";
  if (!measure_chunk(&c, most)) {
    return SAP_STATUS_SYNTAX;
  }
  return is_plain(&c) ? SAP_STATUS_OK : check_each(&c, first, end, why);
}

// --- sets ---------------------------------------------------------------------------------------

// Checks all sizes that HDF5 trusts when it reads the rows [first, first + count).
static sap_status check_storage(const sap_hdf5_set* set, hid_t list, hsize_t first, hsize_t count,
                                const char** why) {
  const H5D_layout_t layout = H5Pget_layout(list);
  const hsize_t most = most_bytes(set->id);
  *why = "more values than a file of this size can hold";
  if (count > most / set->row_values / set->value_size) {
    return SAP_STATUS_SYNTAX;
  }
  if (layout == H5D_CHUNKED) {
    return check_chunks(set, list, most, first, first + count, why);
  }
  *why = "not stored in this file";
  if ((layout != H5D_CONTIGUOUS && layout != H5D_COMPACT) || H5Pget_external_count(list) != 0) {
    return SAP_STATUS_UNSUPPORTED;
  }
  const bool written = layout == H5D_COMPACT || H5Dget_offset(set->id) != HADDR_UNDEF;
  *why = written ? "damaged" : "values are missing";
  return (written ? H5Dget_storage_size(set->id) >= set->rows * set->row_values * set->value_size
                  : fills_with_zeros(list))
             ? SAP_STATUS_OK
             : SAP_STATUS_SYNTAX;
}

static bool read_rows(const sap_hdf5_set* set, hsize_t first, hsize_t count, hid_t memory,
                      void* out) {
  const hsize_t values = count * set->row_values;
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
  return good;
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
  sap_status status = list < 0 ? SAP_STATUS_SYNTAX : check_storage(set, list, first, count, why);
  if (status == SAP_STATUS_OK && !read_rows(set, first, count, memory, out)) {
    *why = "damaged";
    status = SAP_STATUS_SYNTAX;
  }
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
