// SPDX-License-Identifier: BSD-3-Clause
#include "output/hdf5_column.h"

#ifdef SAPSTEP_HDF5
#include <string.h>

#include "core/memory.h"

void sap_hdf5_silence_begin(sap_hdf5_silence* silence) {
  (void)H5Eget_auto2(H5E_DEFAULT, &silence->function, &silence->data);
  (void)H5Eset_auto2(H5E_DEFAULT, NULL, NULL);
}

void sap_hdf5_silence_end(const sap_hdf5_silence* silence) {
  (void)H5Eset_auto2(H5E_DEFAULT, silence->function, silence->data);
}

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

bool sap_hdf5_column_create(hid_t file, const sap_hdf5_column_def* def, sap_hdf5_column* column) {
  const int rank = def->width > 0 ? 2 : 1;
  const hsize_t now[2] = {0, (hsize_t)def->width};
  const hsize_t most[2] = {H5S_UNLIMITED, (hsize_t)def->width};
  const hsize_t chunk[2] = {(hsize_t)def->capacity, (hsize_t)def->width};
  column->type = def->integer ? H5T_NATIVE_INT64 : H5T_NATIVE_DOUBLE;
  column->size = 8;
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
  column->set = -1;
  if (good) {
    column->set = H5Dcreate2(file, def->name, def->integer ? H5T_STD_I64LE : H5T_IEEE_F64LE, space,
                             H5P_DEFAULT, properties, H5P_DEFAULT);
    good = column->set >= 0 && sap_hdf5_attribute(column->set, "units", def->units) &&
           sap_hdf5_attribute(column->set, "columns", def->columns);
  }
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
