// SPDX-License-Identifier: BSD-3-Clause
// Words and numbers of mesh files, and readers of OBJ, STL and MSH files.
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "core/memory.h"
#include "io/mesh/mesh_source.h"

// --- source -------------------------------------------------------------------------------------

enum { MAX_COUNT = INT32_MAX / 12 };  // of vertices, and of triangles

static bool is_blank(char c) {
  return c == ' ' || c == '\t' || c == '\r' || c == '\v' || c == '\f';
}

// Returns the bytes of a backslash and line end that continue the line at `at`; else 0.
static size_t continuation_size(const sap_mesh_source* s) {
  const char* at = s->bytes + s->at;
  return at[0] != '\\' ? 0 : at[1] == '\n' ? 2 : at[1] == '\r' && at[2] == '\n' ? 3 : 0;
}

sap_mesh_word sap_mesh_word_of_line(sap_mesh_source* s) {
  for (;;) {
    const size_t skip = continuation_size(s);
    if (skip > 0) {
      s->at += skip;
      ++s->line;
    } else if (is_blank(s->bytes[s->at])) {
      ++s->at;
    } else {
      break;
    }
  }
  const size_t first = s->at;
  while (s->at < s->size && s->bytes[s->at] != '\0' && s->bytes[s->at] != '\n' &&
         !is_blank(s->bytes[s->at]) && continuation_size(s) == 0 && s->at - first < INT32_MAX / 2) {
    ++s->at;
  }
  return (sap_mesh_word){s->bytes + first, (int32_t)(s->at - first)};
}

void sap_mesh_skip_line(sap_mesh_source* s) {
  while (s->at < s->size && s->bytes[s->at] != '\n') {
    const size_t skip = continuation_size(s);
    s->line += skip > 0 ? 1 : 0;
    s->at += skip > 0 ? skip : 1;
  }
  if (s->at < s->size) {
    ++s->at;
    ++s->line;
  }
}

sap_mesh_word sap_mesh_word_of_text(sap_mesh_source* s) {
  sap_mesh_word word = sap_mesh_word_of_line(s);
  while (word.length == 0 && s->at < s->size && s->bytes[s->at] == '\n') {
    sap_mesh_skip_line(s);
    word = sap_mesh_word_of_line(s);
  }
  return word;
}

bool sap_mesh_word_is(sap_mesh_word word, const char* text) {
  const size_t length = strlen(text);
  if ((size_t)word.length != length) {
    return false;
  }
  for (size_t i = 0; i < length; ++i) {
    const char c = word.text[i];
    if ((c >= 'A' && c <= 'Z' ? (char)(c - 'A' + 'a') : c) != text[i]) {
      return false;
    }
  }
  return true;
}

sap_status sap_mesh_number(const sap_mesh_source* s, sap_mesh_word word, double* value) {
  const char* why = sap_word_number(word.text, word.length, value);
  return why == NULL
             ? SAP_STATUS_OK
             : sap_mesh_fail_line(s, isfinite(*value) ? SAP_STATUS_SYNTAX : SAP_STATUS_NOT_FINITE,
                                  "'%.*s%s' %s", SAP_SHOWN(word.text, word.length), why);
}

sap_status sap_mesh_locate(const sap_mesh_source* s, bool line, sap_status status) {
  if (line) {
    sap_error_prefix(s->error, "%.300s:%lld", s->path, (long long)s->line);
  } else {
    sap_error_prefix(s->error, "%.300s", s->path);
  }
  return status;
}

// Decodes little-endian numbers of 4 bytes.
static uint32_t decode_bits(const char* bytes) {
  unsigned char b[4];
  memcpy(b, bytes, sizeof b);
  return (uint32_t)b[0] | (uint32_t)b[1] << 8 | (uint32_t)b[2] << 16 | (uint32_t)b[3] << 24;
}

static int32_t decode_integer(const char* bytes) {
  const uint32_t bits = decode_bits(bytes);
  int32_t value;
  memcpy(&value, &bits, sizeof value);
  return value;
}

static void decode_point(const char* bytes, double p[3]) {
  for (int k = 0; k < 3; ++k) {
    const uint32_t bits = decode_bits(bytes + 4 * k);
    float value;
    memcpy(&value, &bits, sizeof value);
    p[k] = (double)value;
  }
}

sap_status sap_mesh_add_vertex(sap_mesh_source* s, const double p[3]) {
  sap_mesh_data* out = s->out;
  if (out->vertex_count == MAX_COUNT) {
    return sap_mesh_fail(s, SAP_STATUS_MEMORY, "too many vertices");
  }
  SAP_TRY(SAP_ROOM(s->pool, &out->vertices, 3 * (out->vertex_count + 1), s->error));
  memcpy(out->vertices + 3 * (size_t)out->vertex_count++, p, 3 * sizeof *p);
  return SAP_STATUS_OK;
}

sap_status sap_mesh_add_triangle(sap_mesh_source* s, int32_t a, int32_t b, int32_t c) {
  sap_mesh_data* out = s->out;
  if (out->face_count == MAX_COUNT) {
    return sap_mesh_fail(s, SAP_STATUS_MEMORY, "too many triangles");
  }
  SAP_TRY(SAP_ROOM(s->pool, &out->faces, 3 * (out->face_count + 1), s->error));
  int32_t* corners = out->faces + 3 * (size_t)out->face_count++;
  corners[0] = a;
  corners[1] = b;
  corners[2] = c;
  return SAP_STATUS_OK;
}

// --- OBJ ----------------------------------------------------------------------------------------

//   v X Y Z [colour]   a vertex
//   f A B C ...        a face; corners number the vertices from 1, or backwards from the last with
//                      a minus sign; "/texture/normal" may follow
// Faces are cut into triangles that share the first corner. All other lines are ignored, and so are
// vertices without a face.

typedef struct positions {
  double* p;  // (3 count)
  int32_t count;
} positions;

static sap_status read_vertex(sap_mesh_source* s, positions* all) {
  if (all->count == MAX_COUNT) {
    return sap_mesh_fail_line(s, SAP_STATUS_MEMORY, "too many vertices");
  }
  SAP_TRY(SAP_ROOM(s->scratch, &all->p, 3 * (all->count + 1), s->error));
  double* p = all->p + 3 * (size_t)all->count;
  for (int k = 0; k < 3; ++k) {
    SAP_TRY(sap_mesh_number(s, sap_mesh_word_of_line(s), &p[k]));
  }
  ++all->count;
  return SAP_STATUS_OK;
}

static sap_status add_face_corner(sap_mesh_source* s, const positions* all, sap_mesh_word word) {
  char* end = NULL;
  const long given = strtol(word.text, &end, 10);
  const long index = given < 0 ? given + all->count : given - 1;
  if (end == word.text || !(*end == '/' || end == word.text + word.length)) {
    return sap_mesh_fail_line(s, SAP_STATUS_SYNTAX, "'%.*s%s' is not a corner of a face",
                              SAP_SHOWN(word.text, word.length));
  }
  if (index < 0 || index >= all->count) {
    return sap_mesh_fail_line(s, SAP_STATUS_SYNTAX, "vertex %ld is not one of the %d so far", given,
                              all->count);
  }
  return sap_mesh_add_vertex(s, all->p + 3 * (size_t)index);
}

static sap_status read_face(sap_mesh_source* s, const positions* all) {
  const int32_t first = s->out->vertex_count;
  int32_t corners = 0;
  sap_mesh_word word = sap_mesh_word_of_line(s);
  for (; word.length > 0 && word.text[0] != '#'; word = sap_mesh_word_of_line(s)) {
    SAP_TRY(add_face_corner(s, all, word));
    if (++corners > 2) {
      SAP_TRY(sap_mesh_add_triangle(s, first, first + corners - 2, first + corners - 1));
    }
  }
  return corners >= 3 ? SAP_STATUS_OK
                      : sap_mesh_fail_line(s, SAP_STATUS_SYNTAX,
                                           "a face has %d corners, must have at least 3", corners);
}

sap_status sap_mesh_read_obj(sap_mesh_source* s) {
  positions all = {0};
  for (; s->at < s->size; sap_mesh_skip_line(s)) {
    const sap_mesh_word word = sap_mesh_word_of_line(s);
    if (sap_mesh_word_is(word, "v")) {
      SAP_TRY(read_vertex(s, &all));
    } else if (sap_mesh_word_is(word, "f")) {
      SAP_TRY(read_face(s, &all));
    }
  }
  return SAP_STATUS_OK;
}

// --- STL ----------------------------------------------------------------------------------------

// Binary, little-endian: 80 bytes, the number of facets, and for each 50 bytes: normal and
// three vertices in float32, two bytes. Text: solids of facets,
//   facet normal X Y Z  outer loop  vertex X Y Z (3 times)  endloop  endfacet
// A file is binary if its size agrees with its number of facets, or if it does not begin with
// "solid".

enum { STL_HEADER = 84, STL_FACET = 50, STL_NORMAL = 12 };

static sap_status add_facet_corner(sap_mesh_source* s, int32_t corner, const double p[3]) {
  SAP_TRY(sap_mesh_add_vertex(s, p));
  const int32_t last = s->out->vertex_count - 1;
  return corner == 2 ? sap_mesh_add_triangle(s, last - 2, last - 1, last) : SAP_STATUS_OK;
}

static sap_status read_stl_binary(sap_mesh_source* s, uint32_t facets) {
  const size_t held = (s->size - STL_HEADER) / STL_FACET;
  if (held < facets) {
    return sap_mesh_fail(s, SAP_STATUS_SYNTAX, "the file ends in facet %zu of %lu", held + 1,
                         (unsigned long)facets);
  }
  if (s->size != STL_HEADER + (size_t)facets * STL_FACET) {
    return sap_mesh_fail(s, SAP_STATUS_SYNTAX, "bytes follow the last of its %lu facets",
                         (unsigned long)facets);
  }
  for (size_t f = 0; f < facets; ++f) {
    const char* at = s->bytes + STL_HEADER + f * STL_FACET + STL_NORMAL;
    for (int32_t corner = 0; corner < 3; ++corner) {
      double p[3];
      decode_point(at + 12 * corner, p);
      if (!isfinite(p[0] + p[1] + p[2])) {  // of single precision: the sum is finite
        return sap_mesh_fail(s, SAP_STATUS_NOT_FINITE, "facet %zu: a vertex is not finite", f + 1);
      }
      SAP_TRY(add_facet_corner(s, corner, p));
    }
  }
  return SAP_STATUS_OK;
}

static sap_status expect_word(sap_mesh_source* s, const char* keyword) {
  const sap_mesh_word word = sap_mesh_word_of_text(s);
  return sap_mesh_word_is(word, keyword)
             ? SAP_STATUS_OK
             : sap_mesh_fail_line(s, SAP_STATUS_SYNTAX, "'%.*s%s' must be '%s'",
                                  SAP_SHOWN(word.text, word.length), keyword);
}

static sap_status read_point(sap_mesh_source* s, double p[3]) {
  for (int k = 0; k < 3; ++k) {
    SAP_TRY(sap_mesh_number(s, sap_mesh_word_of_text(s), &p[k]));
  }
  return SAP_STATUS_OK;
}

// Reads what follows "facet". The normal is ignored, because some files have nan there.
static sap_status read_facet(sap_mesh_source* s) {
  double p[3];
  SAP_TRY(expect_word(s, "normal"));
  for (int k = 0; k < 3; ++k) {
    (void)sap_mesh_word_of_text(s);
  }
  SAP_TRY(expect_word(s, "outer"));
  SAP_TRY(expect_word(s, "loop"));
  for (int32_t corner = 0; corner < 3; ++corner) {
    SAP_TRY(expect_word(s, "vertex"));
    SAP_TRY(read_point(s, p));
    SAP_TRY(add_facet_corner(s, corner, p));
  }
  SAP_TRY(expect_word(s, "endloop"));
  return expect_word(s, "endfacet");
}

static sap_status read_stl_text(sap_mesh_source* s) {
  for (bool inside = false;;) {
    const sap_mesh_word word = sap_mesh_word_of_text(s);
    if (word.length == 0 && !inside && s->at == s->size) {
      return SAP_STATUS_OK;
    }
    if (inside && sap_mesh_word_is(word, "facet")) {
      SAP_TRY(read_facet(s));
    } else if (sap_mesh_word_is(word, inside ? "endsolid" : "solid")) {
      sap_mesh_skip_line(s);  // the name
      inside = !inside;
    } else {
      return sap_mesh_fail_line(s, SAP_STATUS_SYNTAX, "'%.*s%s' must be %s",
                                SAP_SHOWN(word.text, word.length),
                                inside ? "'facet' or 'endsolid'" : "'solid'");
    }
  }
}

sap_status sap_mesh_read_stl(sap_mesh_source* s) {
  const uint32_t facets = s->size >= STL_HEADER ? decode_bits(s->bytes + STL_HEADER - 4) : 0;
  const bool fits = s->size >= STL_HEADER && s->size == STL_HEADER + (size_t)facets * STL_FACET;
  if (!fits && sap_mesh_word_is(sap_mesh_word_of_text(s), "solid")) {
    s->at = 0;
    s->line = 1;
    return read_stl_text(s);
  }
  return s->size < STL_HEADER
             ? sap_mesh_fail(s, SAP_STATUS_SYNTAX,
                             "neither a text solid nor %d bytes of binary header", STL_HEADER)
             : read_stl_binary(s, facets);
}

// --- MSH ----------------------------------------------------------------------------------------

// MSH, MuJoCo's binary mesh format, little-endian.
//   int32    numbers of vertices, normals, texture coordinates, triangles
//   float32  vertices (3 each), normals (3), texture coordinates (2)
//   int32    corners of the triangles (3)

enum { MSH_HEADER = 16 };

static sap_status read_msh_vertices(sap_mesh_source* s, int32_t count) {
  for (int32_t i = 0; i < count; ++i) {
    double p[3];
    decode_point(s->bytes + s->at + 12 * (size_t)i, p);
    SAP_TRY(sap_mesh_add_vertex(s, p));
  }
  return SAP_STATUS_OK;
}

static sap_status read_msh_triangles(sap_mesh_source* s, int32_t count) {
  for (int32_t i = 0; i < count; ++i, s->at += 12) {
    const char* at = s->bytes + s->at;
    SAP_TRY(sap_mesh_add_triangle(s, decode_integer(at), decode_integer(at + 4),
                                  decode_integer(at + 8)));
  }
  return SAP_STATUS_OK;
}

sap_status sap_mesh_read_msh(sap_mesh_source* s) {
  static const char* const names[4] = {"vertices", "normals", "texture coordinates", "triangles"};
  static const size_t sizes[4] = {12, 12, 8, 12};
  int32_t counts[4];
  size_t expected = MSH_HEADER;
  if (s->size < MSH_HEADER) {
    return sap_mesh_fail(s, SAP_STATUS_SYNTAX, "has %zu bytes, fewer than its header of %d",
                         s->size, MSH_HEADER);
  }
  for (int i = 0; i < 4; ++i) {
    counts[i] = decode_integer(s->bytes + 4 * i);
    if (counts[i] < (i == 0 ? 1 : 0) || counts[i] > MAX_COUNT) {
      return sap_mesh_fail(s, SAP_STATUS_SYNTAX, "%d %s are out of range", counts[i], names[i]);
    }
    expected += sizes[i] * (size_t)counts[i];
  }
  if (s->size != expected) {
    return sap_mesh_fail(s, SAP_STATUS_SYNTAX, "has %zu bytes, must have %zu by its header",
                         s->size, expected);
  }
  s->at = MSH_HEADER;
  SAP_TRY(read_msh_vertices(s, counts[0]));
  s->at = expected - sizes[3] * (size_t)counts[3];
  return read_msh_triangles(s, counts[3]);
}
