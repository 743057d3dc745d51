// SPDX-License-Identifier: BSD-3-Clause
// STL. Binary, little-endian: 80 bytes, the number of facets, and for each 50 bytes: normal and
// three vertices in float32, two bytes. Text: solids of facets,
//   facet normal X Y Z  outer loop  vertex X Y Z (3 times)  endloop  endfacet
// A file is binary if its size is what its number of facets says, or if it does not begin with
// "solid".
#include <math.h>

#include "io/mesh/mesh_source.h"

enum { HEADER = 84, FACET = 50, NORMAL = 12 };

static sap_status add_corner(sap_mesh_source* s, int32_t corner, const double p[3]) {
  const sap_status status = sap_mesh_add_vertex(s, p);
  const int32_t last = s->out->vertex_count - 1;
  return status == SAP_STATUS_OK && corner == 2 ? sap_mesh_add_triangle(s, last - 2, last - 1, last)
                                                : status;
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
  sap_status status = SAP_STATUS_OK;
  for (size_t f = 0; f < facets && status == SAP_STATUS_OK; ++f) {
    const char* at = s->bytes + HEADER + f * FACET + NORMAL;
    for (int32_t corner = 0; corner < 3 && status == SAP_STATUS_OK; ++corner) {
      double p[3];
      for (int32_t k = 0; k < 3; ++k, at += 4) {
        p[k] = sap_mesh_decode_real(at);
        if (!isfinite(p[k])) {
          return sap_mesh_fail(s, SAP_STATUS_NOT_FINITE, "facet %zu: a vertex is not finite",
                               f + 1);
        }
      }
      status = add_corner(s, corner, p);
    }
  }
  return status;
}

static sap_status expect(sap_mesh_source* s, const char* keyword) {
  const sap_mesh_word word = sap_mesh_word_of_text(s);
  return sap_mesh_word_is(word, keyword)
             ? SAP_STATUS_OK
             : sap_mesh_fail_line(s, SAP_STATUS_SYNTAX, "'%.*s' must be '%s'",
                                  word.length < 40 ? word.length : 40, word.text, keyword);
}

static sap_status read_point(sap_mesh_source* s, double p[3]) {
  sap_status status = SAP_STATUS_OK;
  for (int k = 0; k < 3 && status == SAP_STATUS_OK; ++k) {
    status = sap_mesh_number(s, sap_mesh_word_of_text(s), &p[k]);
  }
  return status;
}

// After "facet"; the normal, which some write as nan, is passed over.
static sap_status read_facet(sap_mesh_source* s) {
  double p[3];
  sap_status status = expect(s, "normal");
  for (int k = 0; k < 3 && status == SAP_STATUS_OK; ++k) {
    (void)sap_mesh_word_of_text(s);
  }
  if (status == SAP_STATUS_OK) {
    status = expect(s, "outer");
  }
  if (status == SAP_STATUS_OK) {
    status = expect(s, "loop");
  }
  for (int32_t corner = 0; corner < 3 && status == SAP_STATUS_OK; ++corner) {
    status = expect(s, "vertex");
    if (status == SAP_STATUS_OK) {
      status = read_point(s, p);
    }
    if (status == SAP_STATUS_OK) {
      status = add_corner(s, corner, p);
    }
  }
  if (status == SAP_STATUS_OK) {
    status = expect(s, "endloop");
  }
  return status == SAP_STATUS_OK ? expect(s, "endfacet") : status;
}

static sap_status read_text(sap_mesh_source* s) {
  sap_status status = SAP_STATUS_OK;
  bool inside = false;
  while (status == SAP_STATUS_OK) {
    const sap_mesh_word word = sap_mesh_word_of_text(s);
    if (word.length == 0 && !inside && s->at == s->size) {
      return SAP_STATUS_OK;
    }
    if (inside && sap_mesh_word_is(word, "facet")) {
      status = read_facet(s);
    } else if (sap_mesh_word_is(word, inside ? "endsolid" : "solid")) {
      sap_mesh_skip_line(s);  // the name
      inside = !inside;
    } else {
      status = sap_mesh_fail_line(s, SAP_STATUS_SYNTAX, "'%.*s' must be %s",
                                  word.length < 40 ? word.length : 40, word.text,
                                  inside ? "'facet' or 'endsolid'" : "'solid'");
    }
  }
  return status;
}

sap_status sap_mesh_read_stl(sap_mesh_source* s) {
  const uint32_t facets = s->size >= HEADER ? sap_mesh_decode_bits(s->bytes + HEADER - 4) : 0;
  const bool fits = s->size >= HEADER && s->size == HEADER + (size_t)facets * FACET;
  if (!fits && sap_mesh_word_is(sap_mesh_word_of_text(s), "solid")) {
    s->at = 0;
    s->line = 1;
    return read_text(s);
  }
  return s->size < HEADER ? sap_mesh_fail(s, SAP_STATUS_SYNTAX,
                                          "neither a solid in text nor %d bytes of header", HEADER)
                          : read_binary(s, facets);
}
