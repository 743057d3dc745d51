// SPDX-License-Identifier: BSD-3-Clause
// Whole files as bytes, files that are written whole or not at all, sealed files, cells of CSV,
// strings of JSON.
//
// sap_file collects text in a temporary file beside the path, and commit moves it to the path. The
// file has no name until then where the system can do this, so that a kill leaves no trace. If the
// path is not a regular file (a pipe, a terminal, /dev/full), commit copies the text to it.
#pragma once

#include <stdbool.h>
#include <stdio.h>
#include <string.h>

#include "core/error.h"
#include "core/memory.h"

typedef struct sap_file sap_file;

// Opens the temporary file. fails: IO if `path` cannot be written: a missing or unwritable folder,
// a folder itself, a write-protected file. Follows a symbolic link. An existing file is unchanged
// until commit.
sap_status sap_file_create(const char* path, sap_file** out, sap_error* error);
// Returns the stream to print to. sap_file_check and sap_file_commit report its write errors.
FILE* sap_file_stream(sap_file* file);
// Returns a name that opens the temporary file a second time.
const char* sap_file_name(const sap_file* file);
// fails: IO if text printed so far could not be written. Call it now and then while writing.
sap_status sap_file_check(sap_file* file, sap_error* error);
// Puts the text in place, with the permissions of the file that it replaces. fails: IO; `path` is
// unchanged then. The file must still be closed.
sap_status sap_file_commit(sap_file* file, sap_error* error);
// After an error, puts the complete lines that could be written in place. Returns false if there
// are none, if there was no error, or if `path` exists already; it is then unchanged.
bool sap_file_keep_lines(sap_file* file);
// Closes the file; without a successful commit, no trace is left. NULL allowed.
void sap_file_close(sap_file* file);
// Commits the file if `status`, that of what was printed, is OK, and closes it. Returns the first
// failure. NULL: returns `status`.
sap_status sap_file_finish(sap_file* file, sap_status status, sap_error* error);

// fails: IO if sap_file_create would fail, as far as can be checked without a trace. For long runs
// that write late.
sap_status sap_file_writable(const char* path, sap_error* error);
// fails: IO if the file cannot be read: missing, forbidden, a folder.
sap_status sap_file_readable(const char* path, sap_error* error);
// fails: IO also if the file cannot be read twice or at any offset: a pipe, a terminal.
sap_status sap_file_regular(const char* path, sap_error* error);

// Reads all bytes of a file or pipe, which must be fewer than `most` <= 2^30, into an array of the
// pool; a zero follows them. fails: IO, MEMORY.
sap_status sap_file_read(const char* path, size_t most, sap_pool* pool, char** bytes, size_t* size,
                         sap_error* error);

// Fails with IO, or MEMORY if the error number says so: "cannot <verb> '<path>': <text of the error
// number>".
sap_status sap_fail_io(sap_error* error, int error_number, const char* verb, const char* path);

// Sealed files: bytes that begin with a mark of their kind and end with a checksum, in the
// machine's byte order. They have fewer than 2^30 bytes.
enum { SAP_SEAL = 8 };  // bytes of the mark, and of the checksum

// Writes the bytes; overwrites the last SAP_SEAL of them by the checksum. fails: MEMORY, IO,
// UNSUPPORTED.
sap_status sap_sealed_write(const char* path, unsigned char* bytes, size_t size, sap_error* error);
// Reads all bytes, seal included, into an array of the pool. fails: IO; SYNTAX if the file begins
// with another mark, is damaged or cut off; MEMORY.
sap_status sap_sealed_read(const char* path, const char mark[SAP_SEAL], const char* kind,
                           sap_pool* pool, const unsigned char** bytes, size_t* size,
                           sap_error* error);

// CSV (RFC 4180): text is quoted where necessary, quotes in it are doubled.
static inline bool sap_csv_is_quoted(const char* text) {
  return strpbrk(text, ",\"\r\n") != NULL;
}

// Writes the inside of a cell.
static inline void sap_csv_put(FILE* stream, const char* text) {
  for (; *text != '\0'; ++text) {
    if (*text == '"') {
      (void)fputc('"', stream);
    }
    (void)fputc(*text, stream);
  }
}

// Writes a whole cell.
static inline void sap_csv_cell(FILE* stream, const char* text) {
  const char* quote = sap_csv_is_quoted(text) ? "\"" : "";
  (void)fputs(quote, stream);
  sap_csv_put(stream, text);
  (void)fputs(quote, stream);
}

// Writes ",kind_label_part_unit" without empty words, quoted if the label requires it:
// ",v_hip_radps" of "v", "hip", "", "rad/s".
void sap_csv_column(FILE* stream, const char* kind, const char* label, const char* part,
                    const char* unit);

// Writes a JSON string, quoted and escaped, also for a script element; invalid UTF-8 becomes U+FFFD.
void sap_json_put(FILE* stream, const char* text);
