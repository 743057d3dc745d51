// SPDX-License-Identifier: BSD-3-Clause
#define _POSIX_C_SOURCE 200809L
#include "cli/journal_file.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "cli/command.h"

sap_status journal_fail(sap_error* error, sap_status status, const char* text, const char* path) {
  return sap_fail(error, status, "'%.300s': %s", path, text);
}

sap_status journal_file_open(const char* path, const char* busy, int* file, sap_error* error) {
  *file = open(path, O_RDWR | O_CREAT | O_CLOEXEC, 0666);
  if (*file < 0) {
    return journal_fail(error, SAP_STATUS_IO, strerror(errno), path);
  }
  struct stat info;
  if (fstat(*file, &info) != 0 || !S_ISREG(info.st_mode)) {  // it is removed in the end
    return journal_fail(error, SAP_STATUS_IO, "it is no regular file", path);
  }
  struct flock lock = {.l_type = F_WRLCK, .l_whence = SEEK_SET};
  return fcntl(*file, F_SETLK, &lock) == 0 ? SAP_STATUS_OK
                                           : journal_fail(error, SAP_STATUS_IO, busy, path);
}

bool journal_write(int file, const void* bytes, size_t size) {
  const char* at = bytes;
  while (size > 0) {
    const ssize_t put = write(file, at, size);
    if (put < 0 && errno == EINTR) {
      continue;
    }
    if (put <= 0) {
      return false;
    }
    at += put;
    size -= (size_t)put;
  }
  return true;
}

bool journal_end(int file, off_t at) {
  return ftruncate(file, at) == 0 && lseek(file, at, SEEK_SET) == at;
}
