// SPDX-License-Identifier: BSD-3-Clause
#include "output/recorder/hdf5_writer.h"

#include <string.h>
#include <zlib.h>

#include "core/memory.h"

// --- whole data sets ---

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

// Type in memory and in the file: chunks are written as they are.
static hid_t number_type(sap_hdf5_number number) {
  const hid_t types[] = {H5T_NATIVE_DOUBLE, H5T_NATIVE_FLOAT, H5T_NATIVE_INT64, H5T_NATIVE_INT32};
  return types[number];
}

// Returns properties of data sets without times of creation; -1: HDF5 failed.
static hid_t timeless_properties(void) {
  const hid_t list = H5Pcreate(H5P_DATASET_CREATE);
  if (list >= 0 && H5Pset_obj_track_times(list, false) < 0) {
    (void)H5Pclose(list);
    return -1;
  }
  return list;
}

static bool write_set(hid_t group, const sap_hdf5_table* table, hid_t type, int64_t rows,
                      const void* values) {
  const hsize_t extent[2] = {(hsize_t)rows, (hsize_t)table->width};
  const hid_t space = H5Screate_simple(table->width > 0 ? 2 : 1, extent, NULL);
  const hid_t list = timeless_properties();
  const hid_t set = space < 0 || list < 0 ? -1
                                          : H5Dcreate2(group, table->name, type, space, H5P_DEFAULT,
                                                       list, H5P_DEFAULT);
  const bool good = set >= 0 && sap_hdf5_attribute(set, "units", table->units) &&
                    sap_hdf5_attribute(set, "columns", table->columns) &&
                    (rows == 0 || H5Dwrite(set, type, H5S_ALL, H5S_ALL, H5P_DEFAULT, values) >= 0);
  (void)H5Dclose(set);
  (void)H5Pclose(list);
  (void)H5Sclose(space);
  return good;
}

bool sap_hdf5_write_table(hid_t group, const sap_hdf5_table* table, int64_t rows,
                          const void* values) {
  return write_set(group, table, number_type(table->number), rows, values);
}

bool sap_hdf5_write_texts(hid_t group, const char* name, const char* units, int64_t count,
                          const char* (*text)(const void* context, int64_t index),
                          const void* context, int* failure) {
  size_t width = 1;
  for (int64_t i = 0; i < count; ++i) {
    const size_t length = strlen(text(context, i)) + 1;
    width = length > width ? length : width;
  }
  char* packed = sap_hdf5_allocate((size_t)count, width, failure);
  for (int64_t i = 0; packed != NULL && i < count; ++i) {
    (void)strcpy(packed + (size_t)i * width, text(context, i));
  }
  const sap_hdf5_table table = {.name = name, .units = units};
  const hid_t type = H5Tcopy(H5T_C_S1);
  const bool good = packed != NULL && type >= 0 && H5Tset_size(type, width) >= 0 &&
                    H5Tset_cset(type, H5T_CSET_UTF8) >= 0 &&
                    write_set(group, &table, type, count, packed);
  (void)H5Tclose(type);
  sap_free(packed);
  return good;
}

// --- packed chunks ---

// Sorts the bytes of the values into planes as HDF5's shuffle does: all first bytes, then all
// second bytes, ...
static void shuffle(const unsigned char* in, size_t count, size_t size, unsigned char* out) {
  for (size_t k = 0; k < size; ++k) {
    for (size_t i = 0; i < count; ++i) {
      out[k * count + i] = in[size * i + k];
    }
  }
}

struct sap_chunk_packer {
  z_stream stream;
  unsigned char* planes;  // the sorted bytes of a chunk
};

static void* allocate_for_zlib(void* unused, uInt count, uInt size) {
  (void)unused;
  return sap_allocate(count, size);
}

static void free_for_zlib(void* unused, void* memory) {
  (void)unused;
  sap_free(memory);
}

sap_chunk_packer* sap_chunk_packer_create(int32_t level, size_t size) {
  sap_chunk_packer* packer = sap_allocate(1, sizeof *packer);
  if (packer == NULL) {
    return NULL;
  }
  packer->planes = sap_allocate(size, 1);
  packer->stream.zalloc = allocate_for_zlib;
  packer->stream.zfree = free_for_zlib;
  if (packer->planes == NULL || deflateInit(&packer->stream, level) != Z_OK) {
    sap_free(packer->planes);
    sap_free(packer);
    return NULL;
  }
  return packer;
}

void sap_chunk_packer_destroy(sap_chunk_packer* packer) {
  if (packer != NULL) {
    (void)deflateEnd(&packer->stream);
    sap_free(packer->planes);
    sap_free(packer);
  }
}

size_t sap_chunk_packer_bound(size_t size) {
  return compressBound((uLong)size);
}

size_t sap_chunk_packer_pack(sap_chunk_packer* packer, const void* values, size_t count,
                             size_t size, unsigned char* out) {
  z_stream* stream = &packer->stream;
  const size_t bytes = count * size;
  shuffle(values, count, size, packer->planes);
  bool good = deflateReset(stream) == Z_OK;
  stream->next_in = packer->planes;
  stream->avail_in = (uInt)bytes;
  stream->next_out = out;
  stream->avail_out = (uInt)sap_chunk_packer_bound(bytes);
  good = good && deflate(stream, Z_FINISH) == Z_STREAM_END;
  return good && stream->total_out < bytes ? stream->total_out : 0;
}

// --- data sets that grow ---

// Sets the filters "shuffle" and "deflate", which h5py and all other readers know.
static hid_t chunk_properties(const sap_hdf5_table* table, int32_t capacity, int32_t compression) {
  const hsize_t chunk[2] = {(hsize_t)capacity, (hsize_t)table->width};
  const hid_t list = timeless_properties();
  const bool good = list >= 0 && H5Pset_chunk(list, table->width > 0 ? 2 : 1, chunk) >= 0 &&
                    H5Pset_fill_time(list, H5D_FILL_TIME_NEVER) >= 0 &&
                    (compression == 0 || (H5Pset_shuffle(list) >= 0 &&
                                          H5Pset_deflate(list, (unsigned)compression) >= 0));
  if (!good) {
    (void)H5Pclose(list);
    return -1;
  }
  return list;
}

bool sap_hdf5_column_create(hid_t file, const sap_hdf5_table* table, int32_t capacity,
                            int32_t compression, sap_hdf5_column* column, int* failure) {
  const hsize_t now[2] = {0, (hsize_t)table->width};
  const hsize_t most[2] = {H5S_UNLIMITED, (hsize_t)table->width};
  const hid_t type = number_type(table->number);
  column->size = H5Tget_size(type);
  column->width = table->width > 0 ? table->width : 1;
  column->capacity = capacity;
  column->set = -1;
  column->buffer =
      sap_hdf5_allocate((size_t)capacity * (size_t)column->width, column->size, failure);
  const hid_t space = H5Screate_simple(table->width > 0 ? 2 : 1, now, most);
  const hid_t properties = chunk_properties(table, capacity, compression);
  const hid_t access = H5Pcreate(H5P_DATASET_ACCESS);
  if (column->buffer != NULL && space >= 0 && properties >= 0 && access >= 0 &&
      H5Pset_chunk_cache(access, 0, 0, 1.0) >= 0) {  // whole chunks need no cache
    column->set = H5Dcreate2(file, table->name, type, space, H5P_DEFAULT, properties, access);
  }
  (void)H5Pclose(access);
  (void)H5Pclose(properties);
  (void)H5Sclose(space);
  return column->set >= 0 && sap_hdf5_attribute(column->set, "units", table->units) &&
         sap_hdf5_attribute(column->set, "columns", table->columns);
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

void* sap_hdf5_column_next(sap_hdf5_column* column) {
  return column->buffer + (size_t)column->count++ * row_size(column);
}

bool sap_hdf5_column_write(sap_hdf5_column* column, bool last, sap_chunk_packer* packer,
                           unsigned char* scratch) {
  if (column->count == column->stored) {
    return true;
  }
  const bool whole = column->count == column->capacity;
  const size_t used = (size_t)column->count * row_size(column);
  const size_t size = sap_hdf5_column_chunk_size(column);
  memset(column->buffer + used, 0, size - used);
  const bool pack = packer != NULL && column->stored == 0 && (whole || last);
  const size_t length = pack ? sap_chunk_packer_pack(packer, column->buffer, size / column->size,
                                                     column->size, scratch)
                             : 0;
  const hsize_t offset[2] = {(hsize_t)column->start, 0};
  const hsize_t extent[2] = {(hsize_t)(column->start + column->count), (hsize_t)column->width};
  const uint32_t skipped = packer != NULL && length == 0 ? 3 : 0;  // both filters
  const bool good =
      H5Dset_extent(column->set, extent) >= 0 &&
      H5Dwrite_chunk(column->set, H5P_DEFAULT, skipped, offset, length > 0 ? length : size,
                     length > 0 ? scratch : column->buffer) >= 0;
  column->stored = whole ? 0 : column->count;
  column->start += whole ? column->count : 0;
  column->count = whole ? 0 : column->count;
  return good;
}
