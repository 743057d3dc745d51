// SPDX-License-Identifier: BSD-3-Clause
#define _XOPEN_SOURCE 700
#include "core/file.h"

#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <stdlib.h>
#include <sys/stat.h>
#include <unistd.h>

#include "core/archive.h"
#include "core/platform.h"

enum {
  SUFFIX_SIZE = 64,       // of the temporary name
  NAME_ATTEMPTS = 100,    // names tried in a folder full of left-over files
  MOST_SEALED = 1 << 30,  // bytes of a sealed file
};

struct sap_file {
  FILE* stream;
  bool direct;  // the path is not a regular file: commit copies
  bool committed;
  int error_number;                        // of the first failed write, 0: none
  char path[PATH_MAX];                     // symbolic links resolved
  char temporary[PATH_MAX + SUFFIX_SIZE];  // name that must be removed; "": none
  char reopen[SUFFIX_SIZE];                // "/proc/self/fd/N", of a file without a name; or ""
};

sap_status sap_fail_io(sap_error* error, int error_number, const char* verb, const char* path) {
  char text[128];
  if (error_number == 0 || strerror_r(error_number, text, sizeof text) != 0) {
    (void)snprintf(text, sizeof text, "unknown reason");
  }
  return sap_fail(error, error_number == ENOMEM ? SAP_STATUS_MEMORY : SAP_STATUS_IO,
                  "cannot %s '%s': %s", verb, path, text);
}

// Checks without opening the file: opening and closing a pipe would end its writer.
sap_status sap_file_readable(const char* path, sap_error* error) {
  struct stat info;
  const int error_number = stat(path, &info) != 0    ? errno
                           : S_ISDIR(info.st_mode)   ? EISDIR
                           : access(path, R_OK) != 0 ? errno
                                                     : 0;
  return error_number == 0 ? SAP_STATUS_OK : sap_fail_io(error, error_number, "read", path);
}

sap_status sap_file_regular(const char* path, sap_error* error) {
  struct stat info;
  const sap_status status = sap_file_readable(path, error);
  return status != SAP_STATUS_OK || (stat(path, &info) == 0 && S_ISREG(info.st_mode))
             ? status
             : sap_fail(error, SAP_STATUS_IO,
                        "cannot read '%s': a file is needed, not a pipe or device", path);
}

sap_status sap_file_read(const char* path, size_t most, sap_pool* pool, char** bytes, size_t* size,
                         sap_error* error) {
  enum { PIECE = 1 << 16 };  // a pipe does not tell its length
  FILE* file = fopen(path, "rb");
  SAP_RETURN_IF(file == NULL, sap_fail_io(error, errno, "read", path));
  sap_status status = SAP_STATUS_OK;
  *bytes = NULL;
  *size = 0;
  for (size_t got = PIECE; got == PIECE && *size < most && status == SAP_STATUS_OK; *size += got) {
    status = SAP_ROOM(pool, bytes, (int64_t)*size + PIECE, error);
    errno = 0;
    got = status == SAP_STATUS_OK ? fread(*bytes + *size, 1, PIECE, file) : 0;
  }
  if (ferror(file)) {
    status = sap_fail_io(error, errno, "read", path);
  } else if (*size >= most && status == SAP_STATUS_OK) {
    status = sap_fail(error, SAP_STATUS_IO, "'%.300s' has %zu bytes or more", path, most);
  }
  (void)fclose(file);
  return status;
}

// Calls make with names beside the path until one is free. Returns its result; < 0: failed.
static int try_names(sap_file* file, int (*make)(const sap_file* file)) {
  for (int attempt = 0; attempt < NAME_ATTEMPTS; ++attempt) {
    (void)snprintf(file->temporary, sizeof file->temporary, "%s.%ld-%d.tmp", file->path,
                   (long)getpid(), attempt);
    const int result = make(file);
    if (result >= 0) {
      return result;
    }
    if (errno != EEXIST) {
      break;
    }
  }
  file->temporary[0] = '\0';
  return -1;
}

static int open_named(const sap_file* file) {
  return open(file->temporary, O_RDWR | O_CREAT | O_EXCL | O_CLOEXEC, 0666);
}

// Opens a file without a name in the path's folder: nothing is left of it if the process is killed.
// Returns -1 where there are none.
static int open_nameless(sap_file* file) {
  char folder[PATH_MAX + 2];
  const char* slash = strrchr(file->path, '/');
  (void)snprintf(folder, sizeof folder, "%.*s.", slash != NULL ? (int)(slash + 1 - file->path) : 0,
                 file->path);
  const int descriptor = sap_open_nameless(folder);
  (void)snprintf(file->reopen, sizeof file->reopen, "/proc/self/fd/%d", descriptor);
  if (descriptor >= 0 && access(file->reopen, F_OK) == 0) {
    return descriptor;
  }
  if (descriptor >= 0) {
    (void)close(descriptor);
  }
  file->reopen[0] = '\0';
  return -1;
}

// Creates the temporary file with the mode that open() would give the path.
static FILE* open_temporary(sap_file* file) {
  int descriptor = open_nameless(file);
  descriptor = descriptor >= 0 ? descriptor : try_names(file, open_named);
  FILE* stream = descriptor >= 0 ? fdopen(descriptor, "w") : NULL;
  if (stream == NULL && descriptor >= 0) {
    const int saved = errno;
    (void)close(descriptor);
    errno = saved;
  }
  return stream;
}

// Gives a file without a name the temporary one.
static int link_named(const sap_file* file) {
  return linkat(AT_FDCWD, file->reopen, AT_FDCWD, file->temporary, AT_SYMLINK_FOLLOW);
}

// Checks whether the path can be written. Returns 0 or an error number.
static int look_at(const char* path, bool* exists, struct stat* info) {
  *exists = stat(path, info) == 0;
  if (!*exists && (errno != ENOENT || path[0] == '\0' || lstat(path, info) == 0)) {
    return errno != 0 ? errno : ENOENT;  // also a symbolic link to nowhere
  }
  if (strlen(path) >= PATH_MAX) {
    return ENAMETOOLONG;
  }
  if (*exists && S_ISDIR(info->st_mode)) {
    return EISDIR;
  }
  return *exists && access(path, W_OK) != 0 ? errno : 0;
}

// Checks whether a file can be created in the path's folder. Returns 0 or an error number.
static int look_at_folder(const char* path) {
  char folder[PATH_MAX + 2];
  const char* slash = strrchr(path, '/');
  (void)snprintf(folder, sizeof folder, "%.*s.", slash != NULL ? (int)(slash + 1 - path) : 0, path);
  return access(folder, W_OK | X_OK) != 0 ? errno : 0;
}

sap_status sap_file_writable(const char* path, sap_error* error) {
  struct stat info;
  bool exists;
  int error_number = look_at(path, &exists, &info);
  if (error_number == 0 && !exists) {
    error_number = look_at_folder(path);
  }
  return error_number == 0 ? SAP_STATUS_OK : sap_fail_io(error, error_number, "write", path);
}

// Opens the file that collects the text. Returns 0 or an error number.
static int open_collector(sap_file* file, const char* path) {
  struct stat info;
  bool exists;
  const int error_number = look_at(path, &exists, &info);
  if (error_number != 0) {
    return error_number;
  }
  (void)snprintf(file->path, sizeof file->path, "%s", path);
  // Replaces the target of a link, not the link.
  if (exists && S_ISREG(info.st_mode) && realpath(path, file->path) == NULL) {
    return errno;
  }
  file->direct = exists && !S_ISREG(info.st_mode);
  file->stream = file->direct ? tmpfile() : open_temporary(file);
  if (file->stream == NULL) {
    return errno;
  }
  if (exists && !file->direct && fchmod(fileno(file->stream), info.st_mode & 07777) != 0) {
    return errno;
  }
  return 0;
}

sap_status sap_file_create(const char* path, sap_file** out, sap_error* error) {
  *out = NULL;
  sap_file* file;
  SAP_TRY(SAP_NEW(&file, 1, "file", error));
  const int error_number = open_collector(file, path);
  if (error_number != 0) {
    sap_file_close(file);
    return sap_fail_io(error, error_number, "write", path);
  }
  *out = file;
  return SAP_STATUS_OK;
}

FILE* sap_file_stream(sap_file* file) {
  return file->stream;
}

const char* sap_file_name(const sap_file* file) {
  return file->reopen[0] != '\0' ? file->reopen : file->temporary;
}

// Keeps the reason of the first failure.
static void note_error(sap_file* file, bool failed) {
  if (failed && file->error_number == 0) {
    file->error_number = errno != 0 ? errno : EIO;
  }
}

sap_status sap_file_check(sap_file* file, sap_error* error) {
  note_error(file, ferror(file->stream) != 0);
  return file->error_number == 0 ? SAP_STATUS_OK
                                 : sap_fail_io(error, file->error_number, "write", file->path);
}

static void copy_to_path(sap_file* file) {
  FILE* target = fopen(file->path, "w");
  note_error(file, target == NULL);
  if (target == NULL) {
    return;
  }
  rewind(file->stream);
  char buffer[4096];
  size_t count;
  while (file->error_number == 0 && (count = fread(buffer, 1, sizeof buffer, file->stream)) > 0) {
    note_error(file, fwrite(buffer, 1, count, target) != count);
  }
  note_error(file, ferror(file->stream) != 0);
  note_error(file, fclose(target) != 0);
}

static void move_to_path(sap_file* file) {
  // Some file systems report a full disk only at fsync.
  const bool moved = fsync(fileno(file->stream)) == 0 &&
                     (file->temporary[0] != '\0' || try_names(file, link_named) == 0) &&
                     rename(file->temporary, file->path) == 0;
  note_error(file, !moved);
  if (moved) {
    file->temporary[0] = '\0';
  }
}

sap_status sap_file_commit(sap_file* file, sap_error* error) {
  SAP_FAIL_IF(file->committed, error, SAP_STATUS_ARGUMENT, "'%s' has been committed before",
              file->path);
  note_error(file, fflush(file->stream) != 0);
  SAP_TRY(sap_file_check(file, error));
  if (file->direct) {
    copy_to_path(file);
  } else {
    move_to_path(file);
  }
  sap_status status = sap_file_check(file, error);
  file->committed = status == SAP_STATUS_OK;
  return status;
}

// Returns the length of the complete lines in a file, < 0 if it cannot be read.
static off_t length_of_lines(int descriptor) {
  off_t end = lseek(descriptor, 0, SEEK_END);
  while (end > 0) {
    char last;
    if (pread(descriptor, &last, 1, end - 1) != 1) {
      return -1;
    }
    if (last == '\n') {
      break;
    }
    --end;
  }
  return end;
}

bool sap_file_keep_lines(sap_file* file) {
  if (file == NULL || file->committed || file->direct || file->error_number == 0) {
    return false;
  }
  const int descriptor = fileno(file->stream);
  const off_t length = length_of_lines(descriptor);
  const bool kept = length > 0 && ftruncate(descriptor, length) == 0 &&
                    linkat(AT_FDCWD, sap_file_name(file), AT_FDCWD, file->path,
                           AT_SYMLINK_FOLLOW) == 0;  // fails if the path exists
  file->committed = kept;
  return kept;
}

void sap_file_close(sap_file* file) {
  if (file == NULL) {
    return;
  }
  if (file->stream != NULL) {
    (void)fclose(file->stream);
  }
  if (file->temporary[0] != '\0') {
    (void)unlink(file->temporary);
  }
  sap_free(file);
}

sap_status sap_file_finish(sap_file* file, sap_status status, sap_error* error) {
  if (file != NULL && status == SAP_STATUS_OK) {
    status = sap_file_commit(file, error);
  }
  sap_file_close(file);
  return status;
}

sap_status sap_sealed_write(const char* path, unsigned char* bytes, size_t size, sap_error* error) {
  SAP_FAIL_IF(size >= MOST_SEALED, error, SAP_STATUS_UNSUPPORTED, "'%.300s' would have %zu bytes",
              path, size);
  const uint64_t checksum = sap_hash(SAP_HASH_START, bytes, size - SAP_SEAL);
  memcpy(bytes + size - SAP_SEAL, &checksum, SAP_SEAL);
  sap_file* file = NULL;
  SAP_TRY(sap_file_create(path, &file, error));
  (void)fwrite(bytes, 1, size, sap_file_stream(file));  // commit reports errors
  return sap_file_finish(file, SAP_STATUS_OK, error);
}

sap_status sap_sealed_read(const char* path, const char mark[SAP_SEAL], const char* kind,
                           sap_pool* pool, const unsigned char** bytes, size_t* size,
                           sap_error* error) {
  char* read;
  SAP_TRY(sap_file_regular(path, error));  // a pipe or device may never end
  SAP_TRY(sap_file_read(path, MOST_SEALED, pool, &read, size, error));
  SAP_FAIL_IF(*size < SAP_SEAL || memcmp(read, mark, SAP_SEAL) != 0, error, SAP_STATUS_SYNTAX,
              "%s: this is no %s", path, kind);
  uint64_t checksum;
  memcpy(&checksum, read + *size - SAP_SEAL, SAP_SEAL);
  SAP_FAIL_IF(checksum != sap_hash(SAP_HASH_START, read, *size - SAP_SEAL), error,
              SAP_STATUS_SYNTAX, "%s: %s is damaged or cut off", path, kind);
  *bytes = (const unsigned char*)read;
  return SAP_STATUS_OK;
}

void sap_csv_column(FILE* stream, const char* kind, const char* label, const char* part,
                    const char* unit) {
  const char* quote = sap_csv_is_quoted(label) ? "\"" : "";
  (void)fprintf(stream, ",%s%s%s", quote, kind, kind[0] != '\0' && label[0] != '\0' ? "_" : "");
  sap_csv_put(stream, label);
  (void)fprintf(stream, "%s%s%s", part[0] != '\0' ? "_" : "", part, unit[0] != '\0' ? "_" : "");
  for (; *unit != '\0'; ++unit) {
    if (*unit != ' ' && *unit != '^') {
      (void)fputc(*unit == '/' ? 'p' : *unit, stream);
    }
  }
  (void)fputs(quote, stream);
}

// Length of the UTF-8 sequence at `text`; 0: not valid.
static int sequence_length(const char* text) {
  const unsigned char* s = (const unsigned char*)text;
  const int length = s[0] < 0x80             ? 1
                     : (s[0] & 0xe0) == 0xc0 ? 2
                     : (s[0] & 0xf0) == 0xe0 ? 3
                     : (s[0] & 0xf8) == 0xf0 ? 4
                                             : 0;
  uint32_t code = length == 1 ? s[0] : s[0] & (0x7fu >> length);  // the bits after the prefix
  for (int i = 1; i < length; ++i) {
    if ((s[i] & 0xc0) != 0x80) {
      return 0;
    }
    code = (code << 6) | (s[i] & 0x3fu);
  }
  static const uint32_t least[] = {0, 0, 0x80, 0x800, 0x10000};
  const bool surrogate = code >= 0xd800 && code <= 0xdfff;
  return code >= least[length] && code <= 0x10ffff && !surrogate ? length : 0;
}

void sap_json_put(FILE* stream, const char* text) {
  (void)fputc('"', stream);
  while (*text != '\0') {
    const int length = sequence_length(text);
    if (length == 0) {
      (void)fputs("\\ufffd", stream);
    } else if (*text == '"' || *text == '\\') {
      (void)fprintf(stream, "\\%c", *text);
    } else if ((unsigned char)*text < 0x20 || *text == 0x7f || *text == '<') {
      (void)fprintf(stream, "\\u%04x", (unsigned)(unsigned char)*text);
    } else {
      (void)fwrite(text, 1, (size_t)length, stream);
    }
    text += length > 0 ? length : 1;
  }
  (void)fputc('"', stream);
}
