// SPDX-License-Identifier: BSD-3-Clause
// STL. Binary, little-endian: 80 bytes, the number of facets, and for each 50 bytes: normal and
// three vertices in float32, two bytes. Text: solids of facets,
//   facet normal X Y Z  outer loop  vertex X Y Z (3 times)  endloop  endfacet
// A file is binary if its size agrees with its number of facets, or if it does not begin with
// "solid".
#include <math.h>

#include "io/mesh/mesh_source.h"

enum { HEADER = 84, FACET = 50, NORMAL = 12 };

static sap_status add_corner(sap_mesh_source* s, int32_t corner, const double p[3]) {
  SAP_TRY(sap_mesh_add_vertex(s, p));
  const int32_t last = s->out->vertex_count - 1;
  return corner == 2 ? sap_mesh_add_triangle(s, last - 2, last - 1, last) : SAP_STATUS_OK;
}

static sap_status read_binary(sap_mesh_source* s, uint32_t facets) {
  const size_t held = (s->size - HEADER) / FACET;
  if (held < facets) {
    return sap_mesh_fail(s, SAP_STATUS_SYNTAX, "the file ends in facet %zu of %lu", held + 1,
                         (unsigned long)facets);
  }
  if (s->size != HEADER + (size_t)facets * FACET) {
    return sap_mesh_fail(s, SAP_STATUS_SYNTAX, "bytes follow the last of its %lu facets",
                         (unsigned long)facets);
  }
  for (size_t f = 0; f < facets; ++f) {
    const char* at = s->bytes + HEADER + f * FACET + NORMAL;
    for (int32_t corner = 0; corner < 3; ++corner) {
      double p[3];
      for (int32_t k = 0; k < 3; ++k, at += 4) {
        p[k] = sap_mesh_decode_real(at);
        if (!isfinite(p[k])) {
          return sap_mesh_fail(s, SAP_STATUS_NOT_FINITE, "facet %zu: a vertex is not finite",
                               f + 1);
        }
      }
      SAP_TRY(add_corner(s, corner, p));
    }
  }
  return SAP_STATUS_OK;
}

static sap_status expect_word(sap_mesh_source* s, const char* keyword) {
  const sap_mesh_word word = sap_mesh_word_of_text(s);
  return sap_mesh_word_is(word, keyword)
             ? SAP_STATUS_OK
             : sap_mesh_fail_line(s, SAP_STATUS_SYNTAX, "'%.*s' must be '%s'",
                                  word.length < 40 ? word.length : 40, word.text, keyword);
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
    SAP_TRY(add_corner(s, corner, p));
  }
  SAP_TRY(expect_word(s, "endloop"));
  return expect_word(s, "endfacet");
}

static sap_status read_text(sap_mesh_source* s) {
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
      return sap_mesh_fail_line(s, SAP_STATUS_SYNTAX, "'%.*s' must be %s",
                                word.length < 40 ? word.length : 40, word.text,
                                inside ? "'facet' or 'endsolid'" : "'solid'");
    }
  }
}

sap_status sap_mesh_read_stl(sap_mesh_source* s) {
  const uint32_t facets = s->size >= HEADER ? sap_mesh_decode_bits(s->bytes + HEADER - 4) : 0;
  const bool fits = s->size >= HEADER && s->size == HEADER + (size_t)facets * FACET;
  if (!fits && sap_mesh_word_is(sap_mesh_word_of_text(s), "solid")) {
    s->at = 0;
    s->line = 1;
    return read_text(s);
  }
  return s->size < HEADER
             ? sap_mesh_fail(s, SAP_STATUS_SYNTAX,
                             "neither a text solid nor %d bytes of binary header", HEADER)
             : read_binary(s, facets);
}
