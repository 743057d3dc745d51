// SPDX-License-Identifier: BSD-3-Clause
// Reads OBJ, STL and MSH files: a file in memory, word by word or number by number. Messages begin
// with "path:line" for text files, "path" for binary ones.
#define _XOPEN_SOURCE 700
#include "io/mesh/mesh_file.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>

#include "core/file.h"
#include "core/memory.h"
#include "math/vector3.h"

typedef struct mesh_source {
  const char* path;
  const char* bytes;  // zero-terminated                                       (size)
  size_t size, at;    // at: the next byte
  int64_t line;       // of `at`, from 1
  sap_mesh_data* out;
  sap_pool *pool, *scratch;  // of the arrays of `out`; freed when the file has been read
  sap_error* error;
} mesh_source;

// A word of text, not zero-terminated; length 0: none.
typedef struct mesh_word {
  const char* text;
  int32_t length;
} mesh_word;

// --- source -------------------------------------------------------------------------------------

enum { MAX_COUNT = INT32_MAX / 12 };  // of vertices, and of triangles

static bool is_blank(char c) {
  return c == ' ' || c == '\t' || c == '\r' || c == '\v' || c == '\f';
}

// Returns the bytes of a backslash and line end that continue the line at `at`; else 0.
static size_t continuation_size(const mesh_source* s) {
  const char* at = s->bytes + s->at;
  return at[0] != '\\' ? 0 : at[1] == '\n' ? 2 : at[1] == '\r' && at[2] == '\n' ? 3 : 0;
}

// Returns the next word of the line.
static mesh_word word_of_line(mesh_source* s) {
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
  return (mesh_word){s->bytes + first, (int32_t)(s->at - first)};
}

static void skip_line(mesh_source* s) {
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

// Returns the next word of the text.
static mesh_word word_of_text(mesh_source* s) {
  mesh_word word = word_of_line(s);
  while (word.length == 0 && s->at < s->size && s->bytes[s->at] == '\n') {
    skip_line(s);
    word = word_of_line(s);
  }
  return word;
}

// Compares without regard to case.
static bool word_is(mesh_word word, const char* text) {
  return (size_t)word.length == strlen(text) &&
         strncasecmp(word.text, text, (size_t)word.length) == 0;
}

static sap_status locate(const mesh_source* s, bool line, sap_status status) {
  if (line) {
    sap_error_prefix(s->error, "%.300s:%lld", s->path, (long long)s->line);
  } else {
    sap_error_prefix(s->error, "%.300s", s->path);
  }
  return status;
}

// Fails with "path:line: " or "path: ".
#define fail_line(s, status, ...) locate((s), true, sap_fail((s)->error, (status), __VA_ARGS__))
#define fail(s, status, ...) locate((s), false, sap_fail((s)->error, (status), __VA_ARGS__))

// SYNTAX: not a decimal number; NOT_FINITE.
static sap_status read_number(const mesh_source* s, mesh_word word, double* value) {
  const char* why = sap_word_number(word.text, word.length, value);
  return why == NULL ? SAP_STATUS_OK
                     : fail_line(s, isfinite(*value) ? SAP_STATUS_SYNTAX : SAP_STATUS_NOT_FINITE,
                                 "'%.*s%s' %s", SAP_SHOWN(word.text, word.length), why);
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

static sap_status add_vertex(mesh_source* s, const double p[3]) {
  sap_mesh_data* out = s->out;
  SAP_RETURN_IF(out->vertex_count == MAX_COUNT, fail(s, SAP_STATUS_MEMORY, "too many vertices"));
  SAP_TRY(SAP_ROOM(s->pool, &out->vertices, 3 * (out->vertex_count + 1), s->error));
  memcpy(out->vertices + 3 * (size_t)out->vertex_count++, p, 3 * sizeof *p);
  return SAP_STATUS_OK;
}

// Corners: indices of vertices, which may be added later.
static sap_status add_triangle(mesh_source* s, int32_t a, int32_t b, int32_t c) {
  sap_mesh_data* out = s->out;
  SAP_RETURN_IF(out->face_count == MAX_COUNT, fail(s, SAP_STATUS_MEMORY, "too many triangles"));
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

typedef mesh_word (*word_source)(mesh_source* s);

static sap_status read_point(mesh_source* s, word_source next, double p[3]) {
  for (int k = 0; k < 3; ++k) {
    SAP_TRY(read_number(s, next(s), &p[k]));
  }
  return SAP_STATUS_OK;
}

static sap_status read_vertex(mesh_source* s, positions* all) {
  SAP_RETURN_IF(all->count == MAX_COUNT, fail_line(s, SAP_STATUS_MEMORY, "too many vertices"));
  SAP_TRY(SAP_ROOM(s->scratch, &all->p, 3 * (all->count + 1), s->error));
  return read_point(s, word_of_line, all->p + 3 * (size_t)all->count++);
}

static sap_status add_face_corner(mesh_source* s, const positions* all, mesh_word word) {
  char* end = NULL;
  const long given = strtol(word.text, &end, 10);
  const long index = given < 0 ? given + all->count : given - 1;
  SAP_RETURN_IF(end == word.text || !(*end == '/' || end == word.text + word.length),
                fail_line(s, SAP_STATUS_SYNTAX, "'%.*s%s' is not a corner of a face",
                          SAP_SHOWN(word.text, word.length)));
  SAP_RETURN_IF(
      index < 0 || index >= all->count,
      fail_line(s, SAP_STATUS_SYNTAX, "vertex %ld is not one of the %d so far", given, all->count));
  return add_vertex(s, all->p + 3 * (size_t)index);
}

static sap_status read_face(mesh_source* s, const positions* all) {
  const int32_t first = s->out->vertex_count;
  int32_t corners = 0;
  mesh_word word = word_of_line(s);
  for (; word.length > 0 && word.text[0] != '#'; word = word_of_line(s)) {
    SAP_TRY(add_face_corner(s, all, word));
    if (++corners > 2) {
      SAP_TRY(add_triangle(s, first, first + corners - 2, first + corners - 1));
    }
  }
  return corners >= 3 ? SAP_STATUS_OK
                      : fail_line(s, SAP_STATUS_SYNTAX,
                                  "a face has %d corners, must have at least 3", corners);
}

static sap_status read_obj(mesh_source* s) {
  positions all = {0};
  for (; s->at < s->size; skip_line(s)) {
    const mesh_word word = word_of_line(s);
    if (word_is(word, "v")) {
      SAP_TRY(read_vertex(s, &all));
    } else if (word_is(word, "f")) {
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

static sap_status add_facet_corner(mesh_source* s, int32_t corner, const double p[3]) {
  SAP_TRY(add_vertex(s, p));
  const int32_t last = s->out->vertex_count - 1;
  return corner == 2 ? add_triangle(s, last - 2, last - 1, last) : SAP_STATUS_OK;
}

static sap_status read_stl_binary(mesh_source* s, uint32_t facets) {
  const size_t held = (s->size - STL_HEADER) / STL_FACET;
  SAP_RETURN_IF(held < facets, fail(s, SAP_STATUS_SYNTAX, "the file ends in facet %zu of %lu",
                                    held + 1, (unsigned long)facets));
  SAP_RETURN_IF(
      s->size != STL_HEADER + (size_t)facets * STL_FACET,
      fail(s, SAP_STATUS_SYNTAX, "bytes follow the last of its %lu facets", (unsigned long)facets));
  for (size_t f = 0; f < facets; ++f) {
    const char* at = s->bytes + STL_HEADER + f * STL_FACET + STL_NORMAL;
    for (int32_t corner = 0; corner < 3; ++corner) {
      double p[3];
      decode_point(at + 12 * corner, p);
      if (!isfinite(p[0] + p[1] + p[2])) {  // of single precision: the sum is finite
        return fail(s, SAP_STATUS_NOT_FINITE, "facet %zu: a vertex is not finite", f + 1);
      }
      SAP_TRY(add_facet_corner(s, corner, p));
    }
  }
  return SAP_STATUS_OK;
}

static sap_status expect_word(mesh_source* s, const char* keyword) {
  const mesh_word word = word_of_text(s);
  return word_is(word, keyword) ? SAP_STATUS_OK
                                : fail_line(s, SAP_STATUS_SYNTAX, "'%.*s%s' must be '%s'",
                                            SAP_SHOWN(word.text, word.length), keyword);
}

// Reads what follows "facet". The normal is ignored, because some files have nan there.
static sap_status read_facet(mesh_source* s) {
  double p[3];
  SAP_TRY(expect_word(s, "normal"));
  for (int k = 0; k < 3; ++k) {
    (void)word_of_text(s);
  }
  SAP_TRY(expect_word(s, "outer"));
  SAP_TRY(expect_word(s, "loop"));
  for (int32_t corner = 0; corner < 3; ++corner) {
    SAP_TRY(expect_word(s, "vertex"));
    SAP_TRY(read_point(s, word_of_text, p));
    SAP_TRY(add_facet_corner(s, corner, p));
  }
  SAP_TRY(expect_word(s, "endloop"));
  return expect_word(s, "endfacet");
}

static sap_status read_stl_text(mesh_source* s) {
  for (bool inside = false;;) {
    const mesh_word word = word_of_text(s);
    if (word.length == 0 && !inside && s->at == s->size) {
      return SAP_STATUS_OK;
    }
    if (inside && word_is(word, "facet")) {
      SAP_TRY(read_facet(s));
    } else if (word_is(word, inside ? "endsolid" : "solid")) {
      skip_line(s);  // the name
      inside = !inside;
    } else {
      return fail_line(s, SAP_STATUS_SYNTAX, "'%.*s%s' must be %s",
                       SAP_SHOWN(word.text, word.length),
                       inside ? "'facet' or 'endsolid'" : "'solid'");
    }
  }
}

static sap_status read_stl(mesh_source* s) {
  const uint32_t facets = s->size >= STL_HEADER ? decode_bits(s->bytes + STL_HEADER - 4) : 0;
  const bool fits = s->size >= STL_HEADER && s->size == STL_HEADER + (size_t)facets * STL_FACET;
  if (!fits && word_is(word_of_text(s), "solid")) {
    s->at = 0;
    s->line = 1;
    return read_stl_text(s);
  }
  return s->size < STL_HEADER
             ? fail(s, SAP_STATUS_SYNTAX, "neither a text solid nor %d bytes of binary header",
                    STL_HEADER)
             : read_stl_binary(s, facets);
}

// --- MSH ----------------------------------------------------------------------------------------

// MSH, MuJoCo's binary mesh format, little-endian.
//   int32    numbers of vertices, normals, texture coordinates, triangles
//   float32  vertices (3 each), normals (3), texture coordinates (2)
//   int32    corners of the triangles (3)

enum { MSH_HEADER = 16 };

static sap_status read_msh(mesh_source* s) {
  static const char* const names[4] = {"vertices", "normals", "texture coordinates", "triangles"};
  static const size_t sizes[4] = {12, 12, 8, 12};
  int32_t counts[4];
  size_t expected = MSH_HEADER;
  SAP_RETURN_IF(s->size < MSH_HEADER,
                fail(s, SAP_STATUS_SYNTAX, "has %zu bytes, fewer than its header of %d", s->size,
                     MSH_HEADER));
  for (int i = 0; i < 4; ++i) {
    counts[i] = decode_integer(s->bytes + 4 * i);
    SAP_RETURN_IF(counts[i] < (i == 0 ? 1 : 0) || counts[i] > MAX_COUNT,
                  fail(s, SAP_STATUS_SYNTAX, "%d %s are out of range", counts[i], names[i]));
    expected += sizes[i] * (size_t)counts[i];
  }
  SAP_RETURN_IF(
      s->size != expected,
      fail(s, SAP_STATUS_SYNTAX, "has %zu bytes, must have %zu by its header", s->size, expected));
  const char* at = s->bytes + MSH_HEADER;
  for (int32_t i = 0; i < counts[0]; ++i, at += sizes[0]) {
    double p[3];
    decode_point(at, p);
    SAP_TRY(add_vertex(s, p));
  }
  at = s->bytes + expected - sizes[3] * (size_t)counts[3];
  for (int32_t i = 0; i < counts[3]; ++i, at += sizes[3]) {
    SAP_TRY(add_triangle(s, decode_integer(at), decode_integer(at + 4), decode_integer(at + 8)));
  }
  return SAP_STATUS_OK;
}

// --- any format ---------------------------------------------------------------------------------

typedef struct numbered_point {
  double p[3];
  int32_t id;
} numbered_point;

static int compare_points(const void* a, const void* b) {
  const numbered_point* p = a;
  const numbered_point* q = b;
  for (int i = 0; i < 3; ++i) {
    if (p->p[i] != q->p[i]) {
      return p->p[i] < q->p[i] ? -1 : 1;
    }
  }
  return (p->id > q->id) - (p->id < q->id);
}

// Joins equal positions and renumbers the faces. Each position keeps its first vertex; the order of
// the first vertices is kept.
static sap_status join_vertices(const mesh_source* s) {
  sap_mesh_data* data = s->out;
  const size_t count = (size_t)data->vertex_count;
  numbered_point* points;
  int32_t* number;
  SAP_TRY(SAP_POOL_ADD(s->scratch, &points, count, s->error));
  SAP_TRY(SAP_POOL_ADD(s->scratch, &number, count, s->error));
  for (size_t i = 0; i < count; ++i) {
    memcpy(points[i].p, data->vertices + 3 * i, sizeof points[i].p);
    points[i].id = (int32_t)i;
  }
  qsort(points, count, sizeof *points, compare_points);
  for (size_t i = 0, first = 0; i < count; ++i) {
    first = i > 0 && sap_v3_equal(points[first].p, points[i].p) ? first : i;
    number[points[i].id] = points[first].id;
  }
  int32_t count_out = 0;
  for (size_t i = 0; i < count; ++i) {
    if (number[i] == (int32_t)i) {
      memmove(data->vertices + 3 * (size_t)count_out, data->vertices + 3 * i, sizeof points->p);
      number[i] = count_out++;
    } else {
      number[i] = number[number[i]];  // an earlier vertex, already renumbered
    }
  }
  for (int32_t i = 0; i < 3 * data->face_count; ++i) {
    data->faces[i] = number[data->faces[i]];
  }
  data->vertex_count = count_out;
  return SAP_STATUS_OK;
}

static const struct {
  const char* extension;
  sap_status (*read)(mesh_source* source);
} formats[] = {{"stl", read_stl}, {"obj", read_obj}, {"msh", read_msh}};

enum { FORMATS = sizeof formats / sizeof *formats, MAX_FILE_BYTES = 1 << 30 };

// Returns the index of a path's format, or FORMATS.
static size_t find_format(const char* path) {
  const char* dot = strrchr(path, '.');
  size_t i = 0;
  while (i < FORMATS && (dot == NULL || strcasecmp(dot + 1, formats[i].extension) != 0)) {
    ++i;
  }
  return i;
}

const char* sap_mesh_unsupported(const char* path) {
  return find_format(path) < FORMATS ? NULL
                                     : "mesh files must be one of: stl obj msh; others can be "
                                       "converted, for instance with: assimp export mesh.dae "
                                       "mesh.obj";
}

// Checks that vertices are finite and that triangles have existing corners.
static sap_status check_mesh(const mesh_source* s) {
  const sap_mesh_data* m = s->out;
  SAP_RETURN_IF(m->vertex_count == 0, fail(s, SAP_STATUS_SYNTAX, "the file has no faces"));
  for (int32_t i = 0; i < 3 * m->vertex_count; ++i) {
    SAP_RETURN_IF(!isfinite(m->vertices[i]),
                  fail(s, SAP_STATUS_NOT_FINITE, "vertex %d is not finite", i / 3));
  }
  for (int32_t i = 0; i < 3 * m->face_count; ++i) {
    SAP_RETURN_IF(m->faces[i] < 0 || m->faces[i] >= m->vertex_count,
                  fail(s, SAP_STATUS_SYNTAX, "triangle %d: no vertex %d of %d", i / 3, m->faces[i],
                       m->vertex_count));
  }
  return SAP_STATUS_OK;
}

static sap_status read_source(sap_xml_store* store, mesh_source* s) {
  char* bytes;
  SAP_TRY(sap_file_regular(s->path, s->error));
  SAP_TRY(sap_file_read(s->path, MAX_FILE_BYTES, s->scratch, &bytes, &s->size, s->error));
  SAP_RETURN_IF(s->size == 0, fail(s, SAP_STATUS_SYNTAX, "the file is empty"));
  s->bytes = bytes;
  SAP_TRY(sap_scene_report_file(store, s->path, bytes, s->size, s->error));
  SAP_TRY(formats[find_format(s->path)].read(s));
  SAP_TRY(check_mesh(s));
  return join_vertices(s);
}

sap_status sap_mesh_read(sap_xml_store* store, const char* path, sap_mesh_data* out,
                         sap_error* error) {
  sap_pool scratch = {.owner = "mesh"};
  mesh_source source = {.path = path,
                        .line = 1,
                        .out = out,
                        .pool = &store->pool,
                        .scratch = &scratch,
                        .error = error};
  const char* why = sap_mesh_unsupported(path);
  *out = (sap_mesh_data){0};
  const sap_status status =
      why == NULL ? read_source(store, &source) : fail(&source, SAP_STATUS_UNSUPPORTED, "%s", why);
  sap_pool_free(&scratch);
  return status;
}
