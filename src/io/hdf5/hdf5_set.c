// SPDX-License-Identifier: BSD-3-Clause
#include "io/hdf5/hdf5_set.h"

#ifdef SAPSTEP_HDF5
#include <stdio.h>
#include <stdlib.h>

#include "io/hdf5/hdf5_chunk.h"

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
  // Without a cache HDF5 does not read whole unfiltered chunks; see hdf5_chunk.c.
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

sap_status sap_hdf5_rows_read(const sap_hdf5_set* set, hsize_t first, hsize_t count, hid_t memory,
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

static sap_status read_by_layout(const sap_hdf5_set* set, hid_t list, hsize_t first, hsize_t count,
                                 hid_t memory, void* out, const char** why) {
  const H5D_layout_t layout = H5Pget_layout(list);
  const hsize_t most = most_bytes(set->id);
  if (count > most / set->row_values / set->value_size) {
    *why = "more values than a file of this size can hold";
    return SAP_STATUS_SYNTAX;
  }
  if (layout == H5D_CHUNKED) {
    return sap_hdf5_chunk_read(set, list, most, first, count, memory, out, why);
  }
  if ((layout != H5D_CONTIGUOUS && layout != H5D_COMPACT) || H5Pget_external_count(list) != 0) {
    *why = "not stored in this file";
    return SAP_STATUS_UNSUPPORTED;
  }
  if (layout == H5D_CONTIGUOUS && H5Dget_offset(set->id) == HADDR_UNDEF) {
    return sap_hdf5_fill(list, count * set->row_values, memory, out, why);
  }
  // Contiguous or compact: the stored size must be at least the declared size.
  *why = "damaged";
  return H5Dget_storage_size(set->id) >= set->rows * set->row_values * set->value_size
             ? sap_hdf5_rows_read(set, first, count, memory, out, why)
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
