// SPDX-License-Identifier: BSD-3-Clause
// What the journals of long studies share: files of records that survive a kill.
#ifndef SAPSTEP_CLI_JOURNAL_FILE_H
#define SAPSTEP_CLI_JOURNAL_FILE_H

#include <stdbool.h>
#include <stddef.h>
#include <sys/types.h>

#include <sapstep/base.h>

// Fills `error`: "'path': text".
sap_status journal_fail(sap_error* error, sap_status status, const char* text, const char* path);
// Opens or makes the file and locks it for this process; *file is -1 where it cannot be opened.
// `busy`: what to say where another one holds the lock.
sap_status journal_file_open(const char* path, const char* busy, int* file, sap_error* error);
// All bytes, also where signals interrupt.
bool journal_write(int file, const void* bytes, size_t size);
// The file ends at `at`, and is written on from there.
bool journal_end(int file, off_t at);

#endif
