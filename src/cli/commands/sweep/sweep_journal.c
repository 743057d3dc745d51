// SPDX-License-Identifier: BSD-3-Clause
// The journal of a sweep: a header with the study's hash, then a row per finished case, each with a
// checksum and synced to disk before the next. What a kill cut off is dropped when it is opened.
#define _POSIX_C_SOURCE 200809L
#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "cli/commands/sweep/sweep.h"
#include "cli/commands/sweep/sweep_hash.h"
#include "cli/journal_file.h"

struct sweep_journal {
  int file;
  const char* path;
};

typedef struct header {
  char magic[16];
  uint64_t hash, row_size;
} header;

typedef struct record {
  sweep_row row;
  uint64_t checksum;
} record;

static header make_header(const sweep_study* study) {
  return (header){.magic = "sapstep sweep 1", .hash = study->hash, .row_size = sizeof(record)};
}

// Whole records up to the first that is cut off or damaged; the file then ends there.
static bool read_rows(int file, const sweep_study* study, sweep_row* rows) {
  record r;
  off_t at = (off_t)sizeof(header);
  while (pread(file, &r, sizeof r, at) == (ssize_t)sizeof r &&
         r.checksum == sweep_hash(SWEEP_HASH_BEGIN, &r.row, sizeof r.row)) {
    if (r.row.index >= 0 && r.row.index < study->cases) {
      rows[r.row.index] = r.row;
    }
    at += (off_t)sizeof r;
  }
  return journal_end(file, at);
}

static sap_status load(sweep_journal* j, const sweep_study* study, bool fresh, sweep_row* rows,
                       sap_error* error) {
  const header mine = make_header(study);
  header found;
  const ssize_t got = pread(j->file, &found, sizeof found, 0);
  if (got < 0) {
    return journal_fail(error, SAP_STATUS_IO, strerror(errno), j->path);
  }
  const bool whole = got == (ssize_t)sizeof found;
  // None yet, or one whose header a kill cut off; anything else is not ours to write over.
  const bool begun = !whole && memcmp(&found, &mine, (size_t)got) == 0;
  if (fresh || begun) {
    return journal_end(j->file, 0) && journal_write(j->file, &mine, sizeof mine) &&
                   fsync(j->file) == 0
               ? SAP_STATUS_OK
               : journal_fail(error, SAP_STATUS_IO, strerror(errno), j->path);
  }
  if (!whole || memcmp(&found, &mine, sizeof mine) != 0) {
    return journal_fail(
        error, SAP_STATUS_ARGUMENT,
        "this journal is of another study, or the study, its scene or the program changed "
        "since: finish that one, or forget its cases by --restart",
        j->path);
  }
  return read_rows(j->file, study, rows)
             ? SAP_STATUS_OK
             : journal_fail(error, SAP_STATUS_IO, strerror(errno), j->path);
}

sap_status sweep_journal_open(const char* path, const sweep_study* study, bool fresh,
                              sweep_row* rows, sweep_journal** out, sap_error* error) {
  *out = NULL;
  for (int64_t i = 0; i < study->cases; ++i) {
    rows[i].index = -1;
  }
  sweep_journal* j = calloc(1, sizeof *j);
  if (j == NULL) {
    return journal_fail(error, SAP_STATUS_MEMORY, "out of memory", path);
  }
  j->path = path;
  sap_status status =
      journal_file_open(path, "another sweep is writing this journal", &j->file, error);
  if (status == SAP_STATUS_OK) {
    status = load(j, study, fresh, rows, error);
  }
  if (status != SAP_STATUS_OK) {
    sweep_journal_close(j);
    return status;
  }
  *out = j;
  return SAP_STATUS_OK;
}

sap_status sweep_journal_add(sweep_journal* j, const sweep_row* row, sap_error* error) {
  record r;
  memset(&r, 0, sizeof r);
  r.row = *row;
  r.checksum = sweep_hash(SWEEP_HASH_BEGIN, &r.row, sizeof r.row);
  return journal_write(j->file, &r, sizeof r) && fsync(j->file) == 0
             ? SAP_STATUS_OK
             : journal_fail(error, SAP_STATUS_IO, strerror(errno), j->path);
}

void sweep_journal_close(sweep_journal* j) {
  if (j != NULL && j->file >= 0) {
    (void)close(j->file);
  }
  free(j);
}
