// SPDX-License-Identifier: BSD-3-Clause
// Long studies: a progress bar on standard error, drawn only if that is a terminal, Ctrl-C,
// SIGTERM and SIGHUP as a flag, threads, and journals. A journal's header identifies the study; each record has
// a checksum and is synced to disk before the next. An incomplete or damaged end is dropped when the
// journal is opened.
#ifndef SAP_CLI_PROGRESS_H
#define SAP_CLI_PROGRESS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include <sapstep/base.h>

typedef struct progress {
  bool shown;        // standard error is a terminal
  double start;      // wall clock at the beginning [s]
  double next_draw;  // wall clock of the next drawing [s]
} progress;

void progress_begin(progress* bar);
// True if it is time to draw again; cheap to call often.
bool progress_due(progress* bar);
// Draws the bar at `fraction` in [0, 1], with `note` after it.
void progress_draw(progress* bar, double fraction, const char* note);
// Removes the bar, so that other text can follow.
void progress_end(progress* bar);

// Makes a signal set the flag; `once`: a second signal kills. Call it when inputs have been read:
// before, signals end the process, also while it reads a pipe that never ends.
void interrupt_catch(bool once);
// True if a signal has come. Any thread may call it.
bool interrupt_came(void);

// Calls work(context) in each of `count` >= 1 threads, or here if none can be started. Meanwhile
// calls `watch` (NULL: none) again and again, from this thread, also after the threads have ended
// until it returns false: nothing is left to wait for.
void cli_run_threads(int count, void (*work)(void* context), bool (*watch)(void* context),
                     void* context);

// --- journals: files of finished runs that survive a kill ---

typedef struct cli_journal cli_journal;

typedef struct cli_journal_def {
  char magic[24];       // kind and version of the records
  uint64_t hash;        // of the study
  bool fresh;           // drop the records that are there
  const char* busy;     // message: another process has the journal open
  const char* foreign;  // message: the journal belongs to another study
  // Restores a record of `size` bytes; false: it is damaged, and the journal ends before it.
  bool (*restore)(void* context, const void* record, size_t size);
  void* context;
} cli_journal_def;

// Opens or creates a journal, locks it for this process and restores its records. Fails with IO, or
// ARGUMENT: it belongs to another study.
sap_status cli_journal_open(const char* path, const cli_journal_def* def, cli_journal** out,
                            sap_error* error);
// Appends a record of two parts, thread-safe; `second` may be NULL with size 0. After a failure the
// journal ends at the previous record.
sap_status cli_journal_add(cli_journal* journal, const void* first, size_t first_size,
                           const void* second, size_t second_size, sap_error* error);
// Closes it; `finished` removes the file. NULL allowed.
void cli_journal_close(cli_journal* journal, bool finished);

#endif
