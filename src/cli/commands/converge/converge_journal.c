// SPDX-License-Identifier: BSD-3-Clause
// The journal of a convergence study: a header with a hash of the command and the scene, then a
// record per finished run, with its samples where it is a reference, each with a checksum and
// synced to disk. What a kill cut off is dropped when it is opened.
#define _POSIX_C_SOURCE 200809L
#include <errno.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "cli/commands/converge/converge.h"
#include "cli/commands/sweep/sweep_hash.h"
#include "cli/journal_file.h"

struct converge_journal {
  int file;
  const char* path;
  size_t sample_bytes;  // of a reference
  pthread_mutex_t lock;
};

typedef struct header {
  char magic[24];
  uint64_t hash, count, sample_bytes;
} header;

typedef struct record {
  int64_t index, steps, unconverged;
  converge_errors errors;
  double energy_drift, penetration, drift, newton, seconds;
} record;

static size_t payload(const converge_journal* j, const converge_study* s, int64_t index) {
  return index < s->references ? j->sample_bytes : 0;
}

// The run of a whole record at `at`; false: it is cut off, damaged, or there is none.
static bool read_run(converge_journal* j, converge_study* s, off_t* at) {
  record r;
  uint64_t checksum;
  if (pread(j->file, &r, sizeof r, *at) != (ssize_t)sizeof r || r.index < 0 ||
      r.index >= s->count) {
    return false;
  }
  const size_t size = payload(j, s, r.index);
  double* samples = size > 0 ? malloc(size) : NULL;
  const off_t behind = *at + (off_t)sizeof r + (off_t)size;
  bool whole =
      (samples != NULL || size == 0) &&
      (size == 0 || pread(j->file, samples, size, *at + (off_t)sizeof r) == (ssize_t)size) &&
      pread(j->file, &checksum, sizeof checksum, behind) == (ssize_t)sizeof checksum;
  if (whole) {
    const uint64_t of_record = sweep_hash(SWEEP_HASH_BEGIN, &r, sizeof r);
    whole = checksum == (size > 0 ? sweep_hash(of_record, samples, size) : of_record);
  }
  converge_case* c = &s->cases[whole ? r.index : 0];
  if (!whole || c->done) {
    free(samples);
    *at = whole ? behind + (off_t)sizeof checksum : *at;
    return whole;
  }
  c->done = true;
  c->steps = r.steps;
  c->unconverged = r.unconverged;
  c->errors = r.errors;
  c->energy_drift = r.energy_drift;
  c->penetration = r.penetration;
  c->drift = r.drift;
  c->newton = r.newton;
  c->seconds = r.seconds;
  c->samples = samples;
  s->steps += r.steps;
  *at = behind + (off_t)sizeof checksum;
  return true;
}

static sap_status load(converge_journal* j, converge_study* s, sap_error* error) {
  const header mine = {.magic = "sapstep converge 1",
                       .hash = s->hash,
                       .count = (uint64_t)s->count,
                       .sample_bytes = j->sample_bytes};
  header found;
  const ssize_t got = pread(j->file, &found, sizeof found, 0);
  off_t at = (off_t)sizeof found;
  if (got == 0) {
    if (!journal_write(j->file, &mine, sizeof mine) || fsync(j->file) != 0) {
      return journal_fail(error, SAP_STATUS_IO, strerror(errno), j->path);
    }
    return SAP_STATUS_OK;
  }
  if (got < (ssize_t)sizeof found || memcmp(&found, &mine, sizeof mine) != 0) {
    return journal_fail(
        error, SAP_STATUS_ARGUMENT,
        "this is no journal of this very command, scene and program: remove it, or name "
        "another",
        j->path);
  }
  while (read_run(j, s, &at)) {
  }
  return journal_end(j->file, at) ? SAP_STATUS_OK
                                  : journal_fail(error, SAP_STATUS_IO, strerror(errno), j->path);
}

sap_status converge_journal_open(const char* path, converge_study* study, sap_error* error) {
  converge_journal* j = calloc(1, sizeof *j);
  if (j == NULL) {
    return journal_fail(error, SAP_STATUS_MEMORY, "out of memory", path);
  }
  const size_t numbers = (size_t)study->start.nq + (size_t)study->start.nv;
  j->path = path;
  j->sample_bytes = numbers * (size_t)study->samples * sizeof(double);
  (void)pthread_mutex_init(&j->lock, NULL);
  sap_status status =
      journal_file_open(path, "another study is writing this journal", &j->file, error);
  if (status == SAP_STATUS_OK) {
    status = load(j, study, error);
  }
  if (status != SAP_STATUS_OK) {
    converge_journal_close(j, false);
    return status;
  }
  study->journal = j;
  return SAP_STATUS_OK;
}

// A run that cannot be kept is still a run: the study goes on, and says so once at its end.
void converge_journal_add(converge_journal* j, const converge_study* s, const converge_case* c) {
  record r;
  memset(&r, 0, sizeof r);
  r.index = c - s->cases;
  r.steps = c->steps;
  r.unconverged = c->unconverged;
  r.errors = c->errors;
  r.energy_drift = c->energy_drift;
  r.penetration = c->penetration;
  r.drift = c->drift;
  r.newton = c->newton;
  r.seconds = c->seconds;
  const size_t size = payload(j, s, r.index);
  uint64_t checksum = sweep_hash(SWEEP_HASH_BEGIN, &r, sizeof r);
  checksum = size > 0 ? sweep_hash(checksum, c->samples, size) : checksum;
  (void)pthread_mutex_lock(&j->lock);
  const off_t at = lseek(j->file, 0, SEEK_CUR);
  if (!journal_write(j->file, &r, sizeof r) || !journal_write(j->file, c->samples, size) ||
      !journal_write(j->file, &checksum, sizeof checksum) || fsync(j->file) != 0) {
    cli_message("'%s': %s: this run is not kept", j->path, strerror(errno));
    (void)journal_end(j->file, at);
  }
  (void)pthread_mutex_unlock(&j->lock);
}

void converge_journal_close(converge_journal* j, bool finished) {
  if (j == NULL) {
    return;
  }
  if (finished) {
    (void)remove(j->path);
  }
  if (j->file >= 0) {
    (void)close(j->file);
  }
  (void)pthread_mutex_destroy(&j->lock);
  free(j);
}
