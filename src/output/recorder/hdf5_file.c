// SPDX-License-Identifier: BSD-3-Clause
#define _POSIX_C_SOURCE 200809L
#include "output/recorder/hdf5_file.h"

#ifdef SAPSTEP_HDF5
#include <errno.h>
#include <fcntl.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "core/memory.h"

// Of metadata, as they lie in the file: the nodes that 26 growing data sets touch. In memory nodes
// of trees of chunks take seven times that.
enum { CACHE_BYTES = 192 * 1024 };

typedef struct driver_file {
  H5FD_t base;  // HDF5's part, must come first
  int descriptor;
  haddr_t allocated, size;  // end of what HDF5 has allocated; of the file, dropped writes included
  int* failure;
} driver_file;

// What the file access list carries to `open_file`.
typedef struct driver_info {
  int* failure;
} driver_info;

void* sap_hdf5_allocate(size_t count, size_t size, int* failure) {
  void* memory = sap_allocate(count, size);
  *failure = memory == NULL ? ENOMEM : *failure;
  return memory;
}

// Two processes that write the same file would leave neither's: the second one is told before it
// empties it. What cannot be locked (a device, some file systems) is not. 0 or errno.
static int claim(int descriptor, unsigned flags) {
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
  const int failure = file->descriptor < 0 ? errno : claim(file->descriptor, flags);
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

static int compare(const H5FD_t* a, const H5FD_t* b) {
  const int first = ((const driver_file*)a)->descriptor;
  const int second = ((const driver_file*)b)->descriptor;
  return first < second ? -1 : first > second;
}

static herr_t query(const H5FD_t* base, unsigned long* features) {
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

// Beyond the end of the file there are zeros, as after a dropped write.
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

// Gives the file the length that HDF5 has allocated: a shorter one counts as cut off.
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
    .cmp = compare,
    .query = query,
    .get_eoa = get_allocated,
    .set_eoa = set_allocated,
    .get_eof = get_size,
    .read = read_file,
    .write = write_file,
    .truncate = truncate_file,
    .fl_map = H5FD_FLMAP_DICHOTOMY,
};

// HDF5's cache of metadata grows with the file up to 32 MiB unless its size is fixed.
static bool bound_cache(hid_t list) {
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
      id >= 0 && list >= 0 && H5Pset_driver(list, id, &info) >= 0 && bound_cache(list);
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
#endif
