// SPDX-License-Identifier: BSD-3-Clause
#include "output/hdf5_column.h"

#ifdef SAPSTEP_HDF5
#include <string.h>

#include "core/memory.h"

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

static hid_t memory_type(sap_hdf5_number number) {
  const hid_t types[] = {H5T_NATIVE_DOUBLE, H5T_NATIVE_FLOAT, H5T_NATIVE_INT64, H5T_NATIVE_INT32};
  return types[number];
}

static hid_t file_type(sap_hdf5_number number) {
  const hid_t types[] = {H5T_IEEE_F64LE, H5T_IEEE_F32LE, H5T_STD_I64LE, H5T_STD_I32LE};
  return types[number];
}

bool sap_hdf5_write_table(hid_t file, const sap_hdf5_column_def* def, int64_t rows,
                          const void* values) {
  const hsize_t extent[2] = {(hsize_t)rows, (hsize_t)def->width};
  const hid_t space = H5Screate_simple(def->width > 0 ? 2 : 1, extent, NULL);
  const hid_t set = space < 0 ? -1
                              : H5Dcreate2(file, def->name, file_type(def->number), space,
                                           H5P_DEFAULT, H5P_DEFAULT, H5P_DEFAULT);
  const bool good = set >= 0 && sap_hdf5_attribute(set, "units", def->units) &&
                    sap_hdf5_attribute(set, "columns", def->columns) &&
                    (rows == 0 || H5Dwrite(set, memory_type(def->number), H5S_ALL, H5S_ALL,
                                           H5P_DEFAULT, values) >= 0);
  (void)H5Dclose(set);
  (void)H5Sclose(space);
  return good;
}

bool sap_hdf5_column_create(hid_t file, const sap_hdf5_column_def* def, sap_hdf5_column* column) {
  const int rank = def->width > 0 ? 2 : 1;
  const hsize_t now[2] = {0, (hsize_t)def->width};
  const hsize_t most[2] = {H5S_UNLIMITED, (hsize_t)def->width};
  const hsize_t chunk[2] = {(hsize_t)def->capacity, (hsize_t)def->width};
  column->type = memory_type(def->number);
  column->size = number_sizes[def->number];
  column->width = def->width > 0 ? def->width : 1;
  column->capacity = def->capacity;
  column->buffer = sap_allocate((size_t)def->capacity * (size_t)column->width, column->size);
  const hid_t space = H5Screate_simple(rank, now, most);
  const hid_t properties = H5Pcreate(H5P_DATASET_CREATE);
  bool good = column->buffer != NULL && space >= 0 && properties >= 0 &&
              H5Pset_chunk(properties, rank, chunk) >= 0;
  if (good && def->compression > 0) {
    good = H5Pset_shuffle(properties) >= 0 &&
           H5Pset_deflate(properties, (unsigned)def->compression) >= 0;
  }
  // A chunk is written once and whole: without a filter it need not pass through a cache.
  const hid_t access = H5Pcreate(H5P_DATASET_ACCESS);
  good = good && access >= 0 &&
         (def->compression > 0 || H5Pset_chunk_cache(access, 0, 0, 1.0) >= 0) &&
         H5Pset_fill_time(properties, H5D_FILL_TIME_NEVER) >= 0;
  column->set = -1;
  if (good) {
    column->set =
        H5Dcreate2(file, def->name, file_type(def->number), space, H5P_DEFAULT, properties, access);
    good = column->set >= 0 && sap_hdf5_attribute(column->set, "units", def->units) &&
           sap_hdf5_attribute(column->set, "columns", def->columns);
  }
  (void)H5Pclose(access);
  (void)H5Pclose(properties);
  (void)H5Sclose(space);
  return good;
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

void* sap_hdf5_column_next(sap_hdf5_column* column) {
  return column->buffer + (size_t)column->count++ * (size_t)column->width * column->size;
}

bool sap_hdf5_column_flush(sap_hdf5_column* column) {
  if (column->count == 0) {
    return true;
  }
  const hsize_t start[2] = {(hsize_t)column->written, 0};
  const hsize_t count[2] = {(hsize_t)column->count, (hsize_t)column->width};
  const hsize_t extent[2] = {start[0] + count[0], count[1]};
  bool good = H5Dset_extent(column->set, extent) >= 0;
  const hid_t file_space = good ? H5Dget_space(column->set) : -1;
  const hid_t memory_space =
      file_space >= 0 ? H5Screate_simple(H5Sget_simple_extent_ndims(file_space), count, NULL) : -1;
  good = memory_space >= 0 &&
         H5Sselect_hyperslab(file_space, H5S_SELECT_SET, start, NULL, count, NULL) >= 0 &&
         H5Dwrite(column->set, column->type, memory_space, file_space, H5P_DEFAULT,
                  column->buffer) >= 0;
  (void)H5Sclose(memory_space);
  (void)H5Sclose(file_space);
  if (good) {
    column->written += column->count;
    column->count = 0;
  }
  return good;
}
#endif
