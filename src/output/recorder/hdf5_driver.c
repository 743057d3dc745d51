// SPDX-License-Identifier: BSD-3-Clause
// A driver of HDF5 files that survive a full disk and a kill at any moment.
//
// A flush is a commit. Until then the driver keeps every write in memory that would change what the
// last commit left in the file, and only appends. A commit writes the kept objects in an order in
// which each write alone leads from one readable file to the next:
//   1. the superblock, with the new end of the file, which is that long by then
//   2. nodes of the chunk indices, parents first: a child that is not yet written has all chunks
//      that its parent looks for there, and new siblings are appended
//   3. object headers with the sizes of the data sets, from the end of the file to its begin
// A kill cannot cut a write that lies within a page of memory, so no object crosses one.
// (A chunk that is not compressed is written again with the same rows and more: in place.)
#define _POSIX_C_SOURCE 200809L
#include "output/recorder/hdf5_writer.h"

#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "core/memory.h"

// --- file driver ---

// HDF5's cache of metadata, sized for the nodes that 26 growing data sets touch, as counted in the
// file; in memory they take seven times that. Without a limit the cache grows to 32 MiB.
enum { CACHE_BYTES = 192 * 1024 };

enum {
  PAGE = 4096,         // smallest page of memory
  GAP = 8,             // between objects: HDF5 would let one at the end of the file grow
  KEPT_OBJECTS = 128,  // at first
  KEPT_BYTES = 192 * 1024
};

// An object that the next commit writes.
typedef struct kept_object {
  haddr_t address;
  size_t size, at;  // its bytes begin at kept_bytes + at
  int32_t rank;     // lower ranks are written first
} kept_object;

typedef struct driver_file {
  H5FD_t base;  // HDF5's part, must come first
  int descriptor;
  haddr_t allocated, size;  // ends of HDF5's allocation and of the file, dropped writes included
  haddr_t committed;        // end of the allocation at the last commit
  kept_object* kept;
  unsigned char* kept_bytes;
  int32_t kept_count, kept_room, byte_count, byte_room;
  int* failure;
} driver_file;

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

static void free_file(driver_file* file) {
  sap_free(file->kept);
  sap_free(file->kept_bytes);
  sap_free(file);
}

// Makes room for an object to keep. Returns false for lack of memory.
static bool reserve_kept(driver_file* file, int32_t count, int64_t bytes) {
  const bool good = SAP_GROW(&file->kept, &file->kept_room, count, NULL) == SAP_STATUS_OK &&
                    SAP_GROW(&file->kept_bytes, &file->byte_room, bytes, NULL) == SAP_STATUS_OK;
  *file->failure = good ? *file->failure : ENOMEM;
  return good;
}

static H5FD_t* open_file(const char* path, unsigned flags, hid_t list, haddr_t largest) {
  int* const* failure = H5Pget_driver_info(list);  // see sap_hdf5_file_create
  (void)largest;
  if (failure == NULL || (flags & H5F_ACC_CREAT) == 0) {
    return NULL;
  }
  driver_file* file = sap_hdf5_allocate(1, sizeof *file, *failure);
  if (file == NULL) {
    return NULL;
  }
  const int exclusive = (flags & H5F_ACC_EXCL) != 0 ? O_EXCL : 0;
  file->failure = *failure;
  if (!reserve_kept(file, KEPT_OBJECTS, KEPT_BYTES)) {
    free_file(file);
    return NULL;
  }
  file->descriptor = open(path, O_RDWR | O_CREAT | exclusive, 0666);
  const int problem = file->descriptor < 0 ? errno : lock_and_empty(file->descriptor, flags);
  if (problem != 0) {
    *file->failure = problem;
    if (file->descriptor >= 0) {
      (void)close(file->descriptor);
    }
    free_file(file);
    return NULL;
  }
  return &file->base;
}

// Appends; no object of metadata crosses a page.
static haddr_t allocate_space(H5FD_t* base, H5FD_mem_t type, hid_t list, hsize_t size) {
  driver_file* file = (driver_file*)base;
  const haddr_t room = PAGE - file->allocated % PAGE;
  const bool metadata = type != H5FD_MEM_DRAW;
  const haddr_t address = file->allocated + (metadata && size > room && size <= PAGE ? room : 0);
  (void)list;
  file->allocated = address + size + (metadata ? GAP : 0);
  return address;
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

// Replaces the part of the buffer that kept objects cover.
static void read_kept(const driver_file* file, haddr_t address, size_t size, unsigned char* to) {
  SAP_EACH(const kept_object, o, file->kept, file->kept_count) {
    const haddr_t first = o->address > address ? o->address : address;
    const haddr_t end =
        o->address + o->size < address + size ? o->address + o->size : address + size;
    if (first < end) {
      memcpy(to + (first - address), file->kept_bytes + o->at + (first - o->address),
             (size_t)(end - first));
    }
  }
}

// Reads zeros beyond the end of the file, as after a dropped write.
static herr_t read_file(H5FD_t* base, H5FD_mem_t type, hid_t list, haddr_t address, size_t size,
                        void* buffer) {
  const driver_file* file = (const driver_file*)base;
  unsigned char* to = buffer;
  (void)type;
  (void)list;
  for (size_t done = 0; done < size;) {
    const ssize_t got = pread(file->descriptor, to + done, size - done, (off_t)(address + done));
    if (got < 0 && errno == EINTR) {
      continue;
    }
    if (got < 0) {
      return -1;
    }
    if (got == 0) {
      memset(to + done, 0, size - done);
      break;
    }
    done += (size_t)got;
  }
  read_kept(file, address, size, to);
  return 0;
}

static void put_bytes(driver_file* file, haddr_t address, size_t size, const unsigned char* from) {
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
}

// Returns the place of an object in the order of a commit.
static int32_t rank_of(H5FD_mem_t type, size_t size, const unsigned char* bytes) {
  enum { LEVEL = 5, INDICES = 1, HEADERS = INDICES + UCHAR_MAX + 1 };  // LEVEL: byte of a node
  if (type == H5FD_MEM_SUPER) {
    return 0;
  }
  return type == H5FD_MEM_BTREE && size > LEVEL ? INDICES + UCHAR_MAX - bytes[LEVEL] : HEADERS;
}

static void keep_object(driver_file* file, H5FD_mem_t type, haddr_t address, size_t size,
                        const unsigned char* bytes) {
  SAP_EACH(kept_object, o, file->kept, file->kept_count) {
    if (address == o->address && size <= o->size) {
      memcpy(file->kept_bytes + o->at, bytes, size);
      return;
    }
  }
  if (reserve_kept(file, file->kept_count + 1, file->byte_count + (int64_t)size)) {
    file->kept[file->kept_count++] = (kept_object){.address = address,
                                                   .size = size,
                                                   .at = (size_t)file->byte_count,
                                                   .rank = rank_of(type, size, bytes)};
    memcpy(file->kept_bytes + file->byte_count, bytes, size);
    file->byte_count += (int32_t)size;
  }
}

static herr_t write_file(H5FD_t* base, H5FD_mem_t type, hid_t list, haddr_t address, size_t size,
                         const void* buffer) {
  driver_file* file = (driver_file*)base;
  (void)list;
  file->size = address + size > file->size ? address + size : file->size;
  if (type == H5FD_MEM_SUPER || (type != H5FD_MEM_DRAW && address < file->committed)) {
    keep_object(file, type, address, size, buffer);
  } else {
    put_bytes(file, address, size, buffer);
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

static bool comes_before(const kept_object* a, const kept_object* b) {
  return a->rank != b->rank ? a->rank < b->rank : a->address > b->address;
}

// Writes the kept objects, unless a write has failed: then the file stays as it was.
static herr_t commit_file(H5FD_t* base, hid_t list, hbool_t closing) {
  driver_file* file = (driver_file*)base;
  (void)truncate_file(base, list, closing);
  for (int32_t left = file->kept_count; left > 0; --left) {
    int32_t next = 0;
    for (int32_t i = 1; i < left; ++i) {
      next = comes_before(&file->kept[i], &file->kept[next]) ? i : next;
    }
    const kept_object* o = &file->kept[next];
    put_bytes(file, o->address, o->size, file->kept_bytes + o->at);
    file->kept[next] = file->kept[left - 1];
  }
  file->kept_count = file->byte_count = 0;
  file->committed = file->allocated;
  return 0;
}

static herr_t close_file(H5FD_t* base) {
  driver_file* file = (driver_file*)base;
  (void)commit_file(base, -1, true);
  if (close(file->descriptor) != 0) {
    *file->failure = errno;
  }
  free_file(file);
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
    .fapl_size = sizeof(int*),
    .open = open_file,
    .close = close_file,
    .alloc = allocate_space,
    .get_eoa = get_allocated,
    .set_eoa = set_allocated,
    .get_eof = get_size,
    .read = read_file,
    .write = write_file,
    .flush = commit_file,
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
  const hid_t id = H5FDregister(&driver);
  *driver_id = id;
  const hid_t list = H5Pcreate(H5P_FILE_ACCESS);
  const bool good =
      id >= 0 && list >= 0 && H5Pset_driver(list, id, &failure) >= 0 && limit_cache(list);
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
