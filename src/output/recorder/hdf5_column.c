// SPDX-License-Identifier: BSD-3-Clause
#include "output/recorder/hdf5_column.h"

#ifdef SAPSTEP_HDF5
#include <string.h>

#include "core/memory.h"
#include "output/recorder/hdf5_file.h"

bool sap_hdf5_attribute(hid_t object, const char* name, const char* text) {
  if (text == NULL) {
    return true;
  }
  const hid_t type = H5Tcopy(H5T_C_S1);
  const hid_t space = H5Screate(H5S_SCALAR);
  bool good = type >= 0 && space >= 0 && H5Tset_size(type, strlen(text) + 1) >= 0 &&
              H5Tset_cset(type, H5T_CSET_UTF8) >= 0;
  if (good) {
    const hid_t attribute = H5Acreate2(object, name, type, space, H5P_DEFAULT, H5P_DEFAULT);
    good = attribute >= 0 && H5Awrite(attribute, type, text) >= 0;
    (void)H5Aclose(attribute);
  }
  (void)H5Sclose(space);
  (void)H5Tclose(type);
  return good;
}

static const size_t number_sizes[] = {8, 4, 8, 4};

// In memory and in the file: chunks are written as they are.
static hid_t number_type(sap_hdf5_number number) {
  const hid_t types[] = {H5T_NATIVE_DOUBLE, H5T_NATIVE_FLOAT, H5T_NATIVE_INT64, H5T_NATIVE_INT32};
  return types[number];
}

hid_t sap_hdf5_timeless(void) {
  const hid_t list = H5Pcreate(H5P_DATASET_CREATE);
  if (list >= 0 && H5Pset_obj_track_times(list, false) < 0) {
    (void)H5Pclose(list);
    return -1;
  }
  return list;
}

bool sap_hdf5_write_table(hid_t file, const sap_hdf5_column_def* def, int64_t rows,
                          const void* values) {
  const hsize_t extent[2] = {(hsize_t)rows, (hsize_t)def->width};
  const hid_t space = H5Screate_simple(def->width > 0 ? 2 : 1, extent, NULL);
  const hid_t list = sap_hdf5_timeless();
  const hid_t set = space < 0 || list < 0 ? -1
                                          : H5Dcreate2(file, def->name, number_type(def->number),
                                                       space, H5P_DEFAULT, list, H5P_DEFAULT);
  const bool good = set >= 0 && sap_hdf5_attribute(set, "units", def->units) &&
                    sap_hdf5_attribute(set, "columns", def->columns) &&
                    (rows == 0 || H5Dwrite(set, number_type(def->number), H5S_ALL, H5S_ALL,
                                           H5P_DEFAULT, values) >= 0);
  (void)H5Dclose(set);
  (void)H5Pclose(list);
  (void)H5Sclose(space);
  return good;
}

// Filters "shuffle" and "deflate", which h5py and all others know.
static hid_t creation_list(const sap_hdf5_column_def* def) {
  const hsize_t chunk[2] = {(hsize_t)def->capacity, (hsize_t)def->width};
  const hid_t list = sap_hdf5_timeless();
  const bool good =
      list >= 0 && H5Pset_chunk(list, def->width > 0 ? 2 : 1, chunk) >= 0 &&
      H5Pset_fill_time(list, H5D_FILL_TIME_NEVER) >= 0 &&
      (def->compression == 0 ||
       (H5Pset_shuffle(list) >= 0 && H5Pset_deflate(list, (unsigned)def->compression) >= 0));
  if (!good) {
    (void)H5Pclose(list);
    return -1;
  }
  return list;
}

bool sap_hdf5_column_create(hid_t file, const sap_hdf5_column_def* def, sap_hdf5_column* column,
                            int* failure) {
  const hsize_t now[2] = {0, (hsize_t)def->width};
  const hsize_t most[2] = {H5S_UNLIMITED, (hsize_t)def->width};
  column->size = number_sizes[def->number];
  column->width = def->width > 0 ? def->width : 1;
  column->capacity = def->capacity;
  column->packed = def->compression > 0;
  column->set = -1;
  column->buffer =
      sap_hdf5_allocate((size_t)def->capacity * (size_t)column->width, column->size, failure);
  const hid_t space = H5Screate_simple(def->width > 0 ? 2 : 1, now, most);
  const hid_t properties = creation_list(def);
  // Chunks are written whole: none need pass through a cache.
  const hid_t access = H5Pcreate(H5P_DATASET_ACCESS);
  if (column->buffer != NULL && space >= 0 && properties >= 0 && access >= 0 &&
      H5Pset_chunk_cache(access, 0, 0, 1.0) >= 0) {
    column->set = H5Dcreate2(file, def->name, number_type(def->number), space, H5P_DEFAULT,
                             properties, access);
  }
  (void)H5Pclose(access);
  (void)H5Pclose(properties);
  (void)H5Sclose(space);
  return column->set >= 0 && sap_hdf5_attribute(column->set, "units", def->units) &&
         sap_hdf5_attribute(column->set, "columns", def->columns);
}

void sap_hdf5_column_clear(sap_hdf5_column* column) {
  if (column->buffer != NULL) {
    if (column->set >= 0) {
      (void)H5Dclose(column->set);
    }
    sap_free(column->buffer);
    column->buffer = NULL;
  }
}

static size_t row_size(const sap_hdf5_column* column) {
  return (size_t)column->width * column->size;
}

size_t sap_hdf5_column_chunk_size(const sap_hdf5_column* column) {
  return (size_t)column->capacity * row_size(column);
}

size_t sap_hdf5_column_bound(const sap_hdf5_column* column) {
  const size_t size = sap_hdf5_column_chunk_size(column);
  return column->packed ? sap_chunk_packer_bound(size) : size;
}

void* sap_hdf5_column_next(sap_hdf5_column* column) {
  return column->buffer + (size_t)column->count++ * row_size(column);
}

void sap_hdf5_column_take(sap_hdf5_column* column, bool last, sap_chunk_packer* packer,
                          unsigned char* bytes, sap_hdf5_chunk* out) {
  const bool whole = column->count == column->capacity;
  const size_t used = (size_t)column->count * row_size(column);
  const size_t size = sap_hdf5_column_chunk_size(column);
  memset(column->buffer + used, 0, size - used);
  const bool pack = packer != NULL && column->stored == 0 && (whole || last);
  const size_t length = pack ? sap_chunk_packer_pack(packer, column->buffer, size / column->size,
                                                     column->size, (size_t)column->width, bytes)
                             : 0;
  if (length == 0) {
    memcpy(bytes, column->buffer, size);
  }
  *out = (sap_hdf5_chunk){.compressed = length > 0,
                          .start = column->start,
                          .end = column->start + column->count,
                          .bytes = bytes,
                          .size = length > 0 ? length : size};
  column->stored = whole ? 0 : column->count;
  column->start += whole ? column->count : 0;
  column->count = whole ? 0 : column->count;
}

bool sap_hdf5_column_write(const sap_hdf5_column* column, const sap_hdf5_chunk* chunk) {
  const hsize_t offset[2] = {(hsize_t)chunk->start, 0};
  const hsize_t extent[2] = {(hsize_t)chunk->end, (hsize_t)column->width};
  const uint32_t skipped = column->packed && !chunk->compressed ? 3 : 0;  // both filters
  return H5Dset_extent(column->set, extent) >= 0 &&
         H5Dwrite_chunk(column->set, H5P_DEFAULT, skipped, offset, chunk->size, chunk->bytes) >= 0;
}
#endif
