// SPDX-License-Identifier: BSD-3-Clause
// A mesh file in memory, read word by word or number by number, and the mesh built from it.
// Messages begin with "path:line" for text files, "path" for binary ones.
#ifndef SAP_IO_MESH_MESH_SOURCE_H
#define SAP_IO_MESH_MESH_SOURCE_H

#include "io/mesh/mesh_file.h"

typedef struct sap_mesh_source {
  const char* path;
  const char* bytes;  // zero-terminated                                       (size)
  size_t size, at;    // at: the next byte
  int64_t line;       // of `at`, from 1
  sap_mesh_data* out;
  sap_pool *pool, *scratch;  // of the arrays of `out`; freed when the file has been read
  sap_error* error;
} sap_mesh_source;

// A word of text, not zero-terminated; length 0: none.
typedef struct sap_mesh_word {
  const char* text;
  int32_t length;
} sap_mesh_word;

// Returns the next word of the line, or of the text.
sap_mesh_word sap_mesh_word_of_line(sap_mesh_source* s);
sap_mesh_word sap_mesh_word_of_text(sap_mesh_source* s);
void sap_mesh_skip_line(sap_mesh_source* s);
// Compares without regard to case; `text` is in lower case.
bool sap_mesh_word_is(sap_mesh_word word, const char* text);
// SYNTAX: not a decimal number; NOT_FINITE.
sap_status sap_mesh_number(const sap_mesh_source* s, sap_mesh_word word, double* value);
// Fails with "path:line: " or "path: ".
#define sap_mesh_fail_line(s, status, ...) \
  sap_mesh_locate((s), true, sap_fail((s)->error, (status), __VA_ARGS__))
#define sap_mesh_fail(s, status, ...) \
  sap_mesh_locate((s), false, sap_fail((s)->error, (status), __VA_ARGS__))
sap_status sap_mesh_locate(const sap_mesh_source* s, bool line, sap_status status);

sap_status sap_mesh_add_vertex(sap_mesh_source* s, const double p[3]);
// Corners: indices of vertices, which may be added later.
sap_status sap_mesh_add_triangle(sap_mesh_source* s, int32_t a, int32_t b, int32_t c);

// One reader per format. The vertices of `out` may repeat.
sap_status sap_mesh_read_stl(sap_mesh_source* s);
sap_status sap_mesh_read_obj(sap_mesh_source* s);
sap_status sap_mesh_read_ply(sap_mesh_source* s);
sap_status sap_mesh_read_msh(sap_mesh_source* s);

#endif
