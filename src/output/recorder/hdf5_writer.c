// SPDX-License-Identifier: BSD-3-Clause
#define _POSIX_C_SOURCE 200809L
#include "output/recorder/hdf5_writer.h"

#ifdef SAPSTEP_HDF5
#include <errno.h>
#include <fcntl.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "core/memory.h"

// --- file driver ---

// HDF5's cache of metadata, sized for the nodes that 26 growing data sets touch, as counted in the
// file; in memory they take seven times that. Without a limit the cache grows to 32 MiB.
enum { CACHE_BYTES = 192 * 1024 };

typedef struct driver_file {
  H5FD_t base;  // HDF5's part, must come first
  int descriptor;
  haddr_t allocated, size;  // ends of HDF5's allocation and of the file, dropped writes included
  int* failure;
} driver_file;

// The file access list carries this to open_file.
typedef struct driver_info {
  int* failure;
} driver_info;

void* sap_hdf5_allocate(size_t count, size_t size, int* failure) {
  void* memory = sap_allocate(count, size);
  *failure = memory == NULL ? ENOMEM : *failure;
  return memory;
}

// Locks and empties the file; returns 0 or an error number. EBUSY: another process writes the same
// file. Goes on without a lock where there are none (devices, some file systems).
static int lock_and_empty(int descriptor, unsigned flags) {
  struct flock lock = {.l_type = F_WRLCK, .l_whence = SEEK_SET};
  if (fcntl(descriptor, F_SETLK, &lock) != 0 && (errno == EACCES || errno == EAGAIN)) {
    return EBUSY;
  }
  struct stat info;
  const bool empties = (flags & H5F_ACC_TRUNC) != 0 && fstat(descriptor, &info) == 0 &&
                       S_ISREG(info.st_mode) && info.st_size > 0;
  return empties && ftruncate(descriptor, 0) != 0 ? errno : 0;
}

static H5FD_t* open_file(const char* path, unsigned flags, hid_t list, haddr_t largest) {
  const driver_info* info = H5Pget_driver_info(list);
  (void)largest;
  if (info == NULL || (flags & H5F_ACC_CREAT) == 0) {
    return NULL;
  }
  driver_file* file = sap_hdf5_allocate(1, sizeof *file, info->failure);
  if (file == NULL) {
    return NULL;
  }
  const int exclusive = (flags & H5F_ACC_EXCL) != 0 ? O_EXCL : 0;
  file->failure = info->failure;
  file->descriptor = open(path, O_RDWR | O_CREAT | exclusive, 0666);
  const int failure = file->descriptor < 0 ? errno : lock_and_empty(file->descriptor, flags);
  if (failure != 0) {
    *file->failure = failure;
    if (file->descriptor >= 0) {
      (void)close(file->descriptor);
    }
    sap_free(file);
    return NULL;
  }
  return &file->base;
}

static herr_t close_file(H5FD_t* base) {
  driver_file* file = (driver_file*)base;
  if (close(file->descriptor) != 0) {
    *file->failure = errno;
  }
  sap_free(file);
  return 0;
}

static int compare_files(const H5FD_t* a, const H5FD_t* b) {
  const int first = ((const driver_file*)a)->descriptor;
  const int second = ((const driver_file*)b)->descriptor;
  return first < second ? -1 : first > second;
}

static herr_t query_features(const H5FD_t* base, unsigned long* features) {
  (void)base;
  if (features != NULL) {
    *features = H5FD_FEAT_AGGREGATE_METADATA | H5FD_FEAT_ACCUMULATE_METADATA |
                H5FD_FEAT_DATA_SIEVE | H5FD_FEAT_AGGREGATE_SMALLDATA |
                H5FD_FEAT_DEFAULT_VFD_COMPATIBLE;
  }
  return 0;
}

static haddr_t get_allocated(const H5FD_t* base, H5FD_mem_t type) {
  (void)type;
  return ((const driver_file*)base)->allocated;
}

static herr_t set_allocated(H5FD_t* base, H5FD_mem_t type, haddr_t address) {
  (void)type;
  ((driver_file*)base)->allocated = address;
  return 0;
}

static haddr_t get_size(const H5FD_t* base, H5FD_mem_t type) {
  (void)type;
  return ((const driver_file*)base)->size;
}

// Reads zeros beyond the end of the file, as after a dropped write.
static herr_t read_file(H5FD_t* base, H5FD_mem_t type, hid_t list, haddr_t address, size_t size,
                        void* buffer) {
  const driver_file* file = (const driver_file*)base;
  unsigned char* to = buffer;
  (void)type;
  (void)list;
  while (size > 0) {
    const ssize_t got = pread(file->descriptor, to, size, (off_t)address);
    if (got < 0 && errno == EINTR) {
      continue;
    }
    if (got < 0) {
      return -1;
    }
    if (got == 0) {
      memset(to, 0, size);
      break;
    }
    to += got;
    size -= (size_t)got;
    address += (haddr_t)got;
  }
  return 0;
}

static herr_t write_file(H5FD_t* base, H5FD_mem_t type, hid_t list, haddr_t address, size_t size,
                         const void* buffer) {
  driver_file* file = (driver_file*)base;
  const unsigned char* from = buffer;
  (void)type;
  (void)list;
  file->size = address + size > file->size ? address + size : file->size;
  while (size > 0 && *file->failure == 0) {
    const ssize_t put = pwrite(file->descriptor, from, size, (off_t)address);
    if (put < 0 && errno == EINTR) {
      continue;
    }
    if (put <= 0) {
      *file->failure = put < 0 ? errno : ENOSPC;
      break;
    }
    from += put;
    size -= (size_t)put;
    address += (haddr_t)put;
  }
  return 0;
}

// Gives the file the length that HDF5 has allocated: HDF5 takes a shorter file for cut off.
static herr_t truncate_file(H5FD_t* base, hid_t list, hbool_t closing) {
  driver_file* file = (driver_file*)base;
  (void)list;
  (void)closing;
  if (file->size != file->allocated) {
    if (*file->failure == 0 && ftruncate(file->descriptor, (off_t)file->allocated) != 0) {
      *file->failure = errno;
    }
    file->size = file->allocated;
  }
  return 0;
}

static const H5FD_class_t driver = {
#ifdef H5FD_CLASS_VERSION
    .version = H5FD_CLASS_VERSION,
    .value = (H5FD_class_value_t)600,
#endif
    .name = "sapstep",
    .maxaddr = (haddr_t)1 << 62,
    .fc_degree = H5F_CLOSE_WEAK,
    .fapl_size = sizeof(driver_info),
    .open = open_file,
    .close = close_file,
    .cmp = compare_files,
    .query = query_features,
    .get_eoa = get_allocated,
    .set_eoa = set_allocated,
    .get_eof = get_size,
    .read = read_file,
    .write = write_file,
    .truncate = truncate_file,
    .fl_map = H5FD_FLMAP_DICHOTOMY,
};

static bool limit_cache(hid_t list) {
  H5AC_cache_config_t config = {.version = H5AC__CURR_CACHE_CONFIG_VERSION};
  if (H5Pget_mdc_config(list, &config) < 0) {
    return false;
  }
  config.set_initial_size = true;
  config.initial_size = config.min_size = config.max_size = CACHE_BYTES;
  config.incr_mode = H5C_incr__off;
  config.flash_incr_mode = H5C_flash_incr__off;
  config.decr_mode = H5C_decr__off;
  return H5Pset_mdc_config(list, &config) >= 0;
}

hid_t sap_hdf5_file_create(const char* path, int* failure, hid_t* driver_id) {
  const driver_info info = {failure};
  const hid_t id = H5FDregister(&driver);
  *driver_id = id;
  const hid_t list = H5Pcreate(H5P_FILE_ACCESS);
  const bool good =
      id >= 0 && list >= 0 && H5Pset_driver(list, id, &info) >= 0 && limit_cache(list);
  const hid_t file = good ? H5Fcreate(path, H5F_ACC_TRUNC, H5P_DEFAULT, list) : -1;
  (void)H5Pclose(list);
  return file;
}

bool sap_hdf5_file_close(hid_t file, hid_t driver_id) {
  const bool good = file < 0 || H5Fclose(file) >= 0;
  if (driver_id >= 0) {
    (void)H5FDunregister(driver_id);
  }
  return good;
}

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
                                                     column->size, (size_t)column->width, scratch)
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
#endif
