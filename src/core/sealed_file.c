// SPDX-License-Identifier: BSD-3-Clause
#include "core/sealed_file.h"

#include <errno.h>
#include <stdio.h>
#include <string.h>

#include "core/archive.h"
#include "core/file.h"
#include "core/memory.h"

sap_status sap_sealed_write(const char* path, unsigned char* bytes, size_t size, sap_error* error) {
  const uint64_t checksum = sap_hash(SAP_HASH_START, bytes, size - SAP_SEAL);
  memcpy(bytes + size - SAP_SEAL, &checksum, SAP_SEAL);
  sap_file* file = NULL;
  sap_status status = sap_file_create(path, &file, error);
  if (status == SAP_STATUS_OK) {
    (void)fwrite(bytes, 1, size, sap_file_stream(file));  // commit reports errors
    status = sap_file_commit(file, error);
  }
  sap_file_close(file);
  return status;
}

static sap_status damaged(const char* path, const char* kind, sap_error* error) {
  return sap_fail(error, SAP_STATUS_SYNTAX, "%s: %s is damaged or cut off", path, kind);
}

// Checks the mark, then measures the file: a file of another kind may have any size.
static sap_status measure_file(const char* path, FILE* file, const char mark[SAP_SEAL],
                               const char* kind, size_t* size, sap_error* error) {
  char begins[SAP_SEAL];
  if (fread(begins, sizeof begins, 1, file) != 1 || memcmp(begins, mark, sizeof begins) != 0) {
    return ferror(file) ? sap_fail_io(error, errno, "read", path)
                        : sap_fail(error, SAP_STATUS_SYNTAX, "%s: this is no %s", path, kind);
  }
  const long length = fseek(file, 0, SEEK_END) == 0 ? ftell(file) : -1;
  if (length < 2 * SAP_SEAL) {
    return damaged(path, kind, error);
  }
  rewind(file);
  *size = (size_t)length;
  return SAP_STATUS_OK;
}

static sap_status read_all(const char* path, FILE* file, const char* kind, unsigned char* bytes,
                           size_t size, sap_error* error) {
  if (fread(bytes, 1, size, file) != size) {
    return ferror(file) ? sap_fail_io(error, errno, "read", path) : damaged(path, kind, error);
  }
  uint64_t checksum = 0;
  memcpy(&checksum, bytes + size - SAP_SEAL, SAP_SEAL);
  return checksum == sap_hash(SAP_HASH_START, bytes, size - SAP_SEAL) ? SAP_STATUS_OK
                                                                      : damaged(path, kind, error);
}

sap_status sap_sealed_read(const char* path, const char mark[SAP_SEAL], const char* kind,
                           unsigned char** bytes, size_t* size, sap_error* error) {
  *bytes = NULL;
  FILE* file = fopen(path, "rb");
  if (file == NULL) {
    return sap_fail_io(error, errno, "open", path);
  }
  sap_status status = measure_file(path, file, mark, kind, size, error);
  if (status == SAP_STATUS_OK) {
    *bytes = sap_allocate(*size, 1);
    status = *bytes != NULL ? read_all(path, file, kind, *bytes, *size, error)
                            : sap_fail(error, SAP_STATUS_MEMORY, "out of memory: %s of %zu bytes",
                                       kind, *size);
  }
  (void)fclose(file);
  if (status != SAP_STATUS_OK) {
    sap_free(*bytes);
    *bytes = NULL;
  }
  return status;
}
