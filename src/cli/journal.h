// SPDX-License-Identifier: BSD-3-Clause
// Journals of long studies: files of finished runs that survive a kill. A header identifies the
// study; each record has a checksum and is synced to disk before the next. An incomplete or damaged
// end is dropped when the journal is opened.
#ifndef SAP_CLI_JOURNAL_H
#define SAP_CLI_JOURNAL_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include <sapstep/base.h>

typedef struct cli_journal cli_journal;

typedef struct cli_journal_def {
  char magic[24];       // kind and version of the records
  uint64_t hash;        // of the study
  bool fresh;           // drop the records that are there
  const char* busy;     // message: another process has the journal open
  const char* foreign;  // message: the journal is of another study
  // Restores a record of `size` bytes; false: it is damaged, and the journal ends before it.
  bool (*restore)(void* context, const void* record, size_t size);
  void* context;
} cli_journal_def;

// Opens or creates a journal, locks it for this process and restores its records. Fails with IO, or
// ARGUMENT: it is of another study.
sap_status cli_journal_open(const char* path, const cli_journal_def* def, cli_journal** out,
                            sap_error* error);
// Appends a record of two parts, thread-safe; `second` may be NULL with size 0. After a failure the
// journal ends at the previous record.
sap_status cli_journal_add(cli_journal* journal, const void* first, size_t first_size,
                           const void* second, size_t second_size, sap_error* error);
// Closes it; `finished` removes the file. NULL allowed.
void cli_journal_close(cli_journal* journal, bool finished);

#endif
