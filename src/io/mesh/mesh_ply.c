// SPDX-License-Identifier: BSD-3-Clause
// PLY, in text or binary of either byte order: a header of elements with their properties, then
// their rows. The reader uses x, y, z of "vertex" and the list vertex_indices (vertex_index) of
// "face"; polygons are cut into triangles that share the first corner. All else is ignored.
#include <math.h>
#include <string.h>

#include "io/mesh/mesh_source.h"

enum { MAX_ELEMENTS = 32, MAX_PROPERTIES = 256, CORNERS = 3 };
typedef enum format { TEXT, LITTLE_ENDIAN, BIG_ENDIAN } format;

// The second half of the list are synonyms of the first.
static const char types[] =
    "char uchar short ushort int uint float double int8 uint8 int16 uint16 int32 uint32 float32 "
    "float64";
enum { CHAR, UCHAR, SHORT, USHORT, INT, UINT, FLOAT, DOUBLE, TYPES };

typedef struct property {
  int32_t type, count_type;  // count_type: -1, no list
  int32_t role;              // 0, 1, 2: x, y, z; CORNERS; -1: none
} property;

typedef struct element {
  bool is_vertex, is_face;
  int32_t rows, first, end;  // properties
} element;

typedef struct ply {
  sap_mesh_source* s;
  format format;
  element elements[MAX_ELEMENTS];
  property properties[MAX_PROPERTIES];
  int32_t nelements, nproperties;
} ply;

static sap_status bad_line(const ply* p, const char* what) {
  return sap_mesh_fail_line(p->s, SAP_STATUS_SYNTAX, "%s", what);
}

// Returns the index of the word in a list, -1 when absent.
static int32_t find_word(const char* list, sap_mesh_word word) {
  char text[32] = "";
  if (word.length <= 0 || (size_t)word.length >= sizeof text) {
    return -1;
  }
  memcpy(text, word.text, (size_t)word.length);
  return sap_word_index(list, text);
}

static int32_t read_type(ply* p) {
  const int32_t type = find_word(types, sap_mesh_word_of_line(p->s));
  return type < 0 ? -1 : type % TYPES;
}

static sap_status add_element(ply* p) {
  const sap_mesh_word name = sap_mesh_word_of_line(p->s);
  double rows = -1.0;
  SAP_TRY(sap_mesh_number(p->s, sap_mesh_word_of_line(p->s), &rows));
  if (p->nelements == MAX_ELEMENTS || !(rows >= 0.0 && rows <= (double)INT32_MAX)) {
    return bad_line(p, p->nelements == MAX_ELEMENTS ? "too many elements"
                                                    : "the number of rows is out of range");
  }
  p->elements[p->nelements++] = (element){.is_vertex = sap_mesh_word_is(name, "vertex"),
                                          .is_face = sap_mesh_word_is(name, "face"),
                                          .rows = (int32_t)rows,
                                          .first = p->nproperties,
                                          .end = p->nproperties};
  return SAP_STATUS_OK;
}

static sap_status add_property(ply* p) {
  if (p->nelements == 0 || p->nproperties == MAX_PROPERTIES) {
    return bad_line(
        p, p->nelements == 0 ? "a property before the first element" : "too many properties");
  }
  element* owner = &p->elements[p->nelements - 1];
  property now = {.count_type = -1, .role = -1};
  const sap_mesh_word word = sap_mesh_word_of_line(p->s);
  const bool is_list = sap_mesh_word_is(word, "list");
  const int32_t type = is_list ? 0 : find_word(types, word);
  if (is_list) {
    now.count_type = read_type(p);
  }
  now.type = is_list ? read_type(p) : type % TYPES;
  if (type < 0 || now.type < 0 || (is_list && now.count_type < 0)) {
    return bad_line(p, "unknown type of a property");
  }
  const sap_mesh_word name = sap_mesh_word_of_line(p->s);
  if (owner->is_vertex && !is_list) {
    now.role = find_word("x y z", name);
  } else if (owner->is_face && is_list && find_word("vertex_indices vertex_index", name) >= 0) {
    now.role = CORNERS;
  }
  p->properties[p->nproperties++] = now;
  owner->end = p->nproperties;
  return SAP_STATUS_OK;
}

static sap_status read_header(ply* p) {
  static const char formats[] = "ascii binary_little_endian binary_big_endian";
  int32_t chosen = -1;
  if (!sap_mesh_word_is(sap_mesh_word_of_line(p->s), "ply")) {
    return bad_line(p, "the file must begin with 'ply'");
  }
  for (;;) {
    sap_mesh_skip_line(p->s);
    const sap_mesh_word word = sap_mesh_word_of_line(p->s);
    if (sap_mesh_word_is(word, "format")) {
      chosen = find_word(formats, sap_mesh_word_of_line(p->s));
      SAP_TRY(chosen < 0 ? bad_line(p, "unknown format") : SAP_STATUS_OK);
    } else if (sap_mesh_word_is(word, "element")) {
      SAP_TRY(add_element(p));
    } else if (sap_mesh_word_is(word, "property")) {
      SAP_TRY(add_property(p));
    } else if (sap_mesh_word_is(word, "end_header")) {
      sap_mesh_skip_line(p->s);
      p->format = chosen == 0 ? TEXT : chosen == 1 ? LITTLE_ENDIAN : BIG_ENDIAN;
      return chosen >= 0 ? SAP_STATUS_OK : bad_line(p, "the header has no format");
    } else if (p->s->at >= p->s->size) {
      return bad_line(p, "the header has no end_header");
    }
  }
}

static sap_status read_binary(ply* p, int32_t type, double* value) {
  static const size_t sizes[TYPES] = {1, 1, 2, 2, 4, 4, 4, 8};
  const size_t size = sizes[type];
  sap_mesh_source* s = p->s;
  if (s->size - s->at < size) {
    return sap_mesh_fail(s, SAP_STATUS_SYNTAX, "the file ends before its last row");
  }
  uint64_t bits = 0;
  for (size_t i = 0; i < size; ++i) {
    const size_t at = s->at + (p->format == LITTLE_ENDIAN ? size - 1 - i : i);
    bits = bits << 8 | (uint64_t)(unsigned char)s->bytes[at];
  }
  s->at += size;
  if (type == DOUBLE) {
    memcpy(value, &bits, sizeof bits);
  } else if (type == FLOAT) {
    const uint32_t low = (uint32_t)bits;
    float single;
    memcpy(&single, &low, sizeof single);
    *value = (double)single;
  } else {
    const bool is_signed = type == CHAR || type == SHORT || type == INT;
    const double range = ldexp(1.0, 8 * (int)size), x = (double)bits;
    *value = is_signed && x >= 0.5 * range ? x - range : x;
  }
  return SAP_STATUS_OK;
}

// Reads a number that is needed, or skips one.
static sap_status read_value(ply* p, int32_t type, bool needed, double* value) {
  if (p->format != TEXT) {
    return read_binary(p, type, value);
  }
  const sap_mesh_word word = sap_mesh_word_of_text(p->s);
  if (needed || word.length == 0) {
    return sap_mesh_number(p->s, word, value);
  }
  *value = 0.0;
  return SAP_STATUS_OK;
}

static sap_status bad_value(const ply* p, const char* what, double value) {
  return p->format == TEXT ? sap_mesh_fail_line(p->s, SAP_STATUS_SYNTAX, "%s %g", what, value)
                           : sap_mesh_fail(p->s, SAP_STATUS_SYNTAX, "before byte %zu: %s %g",
                                           p->s->at, what, value);
}

static sap_status read_list(ply* p, const property* list) {
  const bool is_face = list->role == CORNERS;
  int32_t first = 0, last = 0;
  double count = 0.0, value = 0.0;
  SAP_TRY(read_value(p, list->count_type, true, &count));
  for (double i = 0.0; i < count; i += 1.0) {
    SAP_TRY(read_value(p, list->type, is_face, &value));
    if (!is_face) {
      continue;
    }
    if (!(value >= 0.0 && value < (double)INT32_MAX)) {
      return bad_value(p, "unknown vertex", value);
    }
    if (i > 1.0) {
      SAP_TRY(sap_mesh_add_triangle(p->s, first, last, (int32_t)value));
    }
    first = i > 0.0 ? first : (int32_t)value;
    last = (int32_t)value;
  }
  return SAP_STATUS_OK;
}

static sap_status read_row(ply* p, const element* e) {
  double point[3] = {0.0, 0.0, 0.0};
  for (int32_t i = e->first; i < e->end; ++i) {
    const property* now = &p->properties[i];
    double value = 0.0;
    if (now->count_type >= 0) {
      SAP_TRY(read_list(p, now));
      continue;
    }
    SAP_TRY(read_value(p, now->type, now->role >= 0, &value));
    if (now->role >= 0) {
      point[now->role] = value;
      SAP_TRY(isfinite(value) ? SAP_STATUS_OK : bad_value(p, "must be finite:", value));
    }
  }
  return e->is_vertex ? sap_mesh_add_vertex(p->s, point) : SAP_STATUS_OK;
}

sap_status sap_mesh_read_ply(sap_mesh_source* s) {
  ply p = {.s = s};
  SAP_TRY(read_header(&p));
  for (int32_t k = 0; k < p.nelements; ++k) {
    const element* e = &p.elements[k];
    if (e->is_vertex && e->end - e->first < 3) {
      return sap_mesh_fail(s, SAP_STATUS_SYNTAX, "the vertices lack x, y or z");
    }
    for (int32_t row = 0; row < e->rows && e->end > e->first; ++row) {
      SAP_TRY(read_row(&p, e));
    }
  }
  return SAP_STATUS_OK;
}
