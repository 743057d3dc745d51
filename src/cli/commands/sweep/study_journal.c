// SPDX-License-Identifier: BSD-3-Clause
// The journal of a sweep: a header that identifies the study, then a record for each finished case:
// its row, its series and a checksum, synced to disk before the next. An incomplete or damaged end
// is dropped when the journal is opened.
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "cli/commands/sweep/study.h"
#include "core/archive.h"

typedef struct header {
  char magic[24];
  uint64_t hash;
} header;

static sap_status fail(const char* path, sap_status status, const char* text, sap_error* error) {
  return sap_fail(error, status, "'%.300s': %s", path, text);
}

static uint64_t find_checksum(const study_spec* study, const study_row* row) {
  const uint64_t hash = sap_hash(SAP_HASH_START, row, STUDY_ROW_SIZE);
  return sap_hash(hash, row->series, study_series_size(study, row));
}

// Cuts the file at `at`; writing goes on from there.
static bool end_at(FILE* file, off_t at) {
  return ftruncate(fileno(file), at) == 0 && fseeko(file, at, SEEK_SET) == 0;
}

// Reads the next row; false: it is incomplete, damaged or missing. `end`: size of the file.
static bool read_row(FILE* file, const study_spec* study, off_t end, study_row* row) {
  uint64_t checksum;
  *row = (study_row){0};
  if (fread(row, STUDY_ROW_SIZE, 1, file) != 1 || row->index < 0 || row->index >= study->cases ||
      row->steps < 0 || row->steps > end) {
    return false;
  }
  const size_t size = study_series_size(study, row);
  if (size > (size_t)(end - ftello(file))) {
    return false;
  }
  row->series = cli_new(size, 1);
  return fread(row->series, 1, size, file) == size &&
         fread(&checksum, sizeof checksum, 1, file) == 1 && checksum == find_checksum(study, row);
}

static sap_status load(FILE* file, const char* path, const study_spec* study, bool fresh, off_t end,
                       study_row* rows, sap_error* error) {
  header mine = {.magic = "sapstep sweep 4", .hash = study->hash}, found = {.hash = 0};
  const size_t got = fread(&found, 1, sizeof found, file);
  // A kill may have cut off the header; anything else is not ours to overwrite.
  if (fresh || (got < sizeof found && memcmp(&found, &mine, got) == 0)) {
    return end_at(file, 0) && fwrite(&mine, sizeof mine, 1, file) == 1 && fsync(fileno(file)) == 0
               ? SAP_STATUS_OK
               : fail(path, SAP_STATUS_IO, strerror(errno), error);
  }
  if (got < sizeof found || memcmp(&found, &mine, sizeof mine) != 0) {
    return fail(path, SAP_STATUS_ARGUMENT,
                "this journal belongs to another study, or the study, its scene or the program "
                "changed since: finish that one, or discard its cases with --restart",
                error);
  }
  off_t at = ftello(file);
  for (study_row row; read_row(file, study, end, &row); at = ftello(file)) {
    rows[row.index] = row;
  }
  return end_at(file, at) ? SAP_STATUS_OK : fail(path, SAP_STATUS_IO, strerror(errno), error);
}

sap_status study_journal_open(const char* path, const study_spec* study, bool fresh,
                              study_row* rows, FILE** out, sap_error* error) {
  struct stat info;
  struct flock lock = {.l_type = F_WRLCK, .l_whence = SEEK_SET};
  const int descriptor = open(path, O_RDWR | O_CREAT | O_CLOEXEC, 0666);
  FILE* file = descriptor >= 0 ? fdopen(descriptor, "r+b") : NULL;
  for (int64_t i = 0; i < study->cases; ++i) {
    rows[i].index = -1;
  }
  *out = file;
  SAP_RETURN_IF(file == NULL || fstat(descriptor, &info) != 0,
                fail(path, SAP_STATUS_IO, strerror(errno), error));
  if (!S_ISREG(info.st_mode)) {  // it is removed at the end
    return fail(path, SAP_STATUS_IO, "not a regular file", error);
  }
  SAP_RETURN_IF(fcntl(descriptor, F_SETLK, &lock) != 0,
                fail(path, SAP_STATUS_IO, "another sweep is writing this journal", error));
  (void)setvbuf(file, NULL, _IONBF, 0);
  return load(file, path, study, fresh, info.st_size, rows, error);
}

sap_status study_journal_add(FILE* journal, const study_spec* study, const study_row* row,
                             sap_error* error) {
  const size_t size = study_series_size(study, row);
  const uint64_t checksum = find_checksum(study, row);
  const off_t at = ftello(journal);
  if (fwrite(row, STUDY_ROW_SIZE, 1, journal) != 1 ||
      (size > 0 && fwrite(row->series, 1, size, journal) != size) ||
      fwrite(&checksum, sizeof checksum, 1, journal) != 1 || fsync(fileno(journal)) != 0) {
    const int failure = errno;
    (void)end_at(journal, at);
    return sap_fail(error, SAP_STATUS_IO, "cannot write the journal: %s", strerror(failure));
  }
  return SAP_STATUS_OK;
}
