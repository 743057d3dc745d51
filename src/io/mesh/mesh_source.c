// SPDX-License-Identifier: BSD-3-Clause
#include "io/mesh/mesh_source.h"

#include <math.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "core/memory.h"
#include "io/xml/value.h"

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
                                  "'%.*s' %s", word.length < 40 ? word.length : 40, word.text, why);
}

sap_status sap_mesh_fail_at(const sap_mesh_source* s, bool line, sap_status status,
                            const char* format, ...) {
  char text[SAP_ERROR_MESSAGE_SIZE];
  va_list arguments;
  va_start(arguments, format);
  (void)vsnprintf(text, sizeof text, format, arguments);
  va_end(arguments);
  return line ? sap_fail(s->error, status, "%.300s:%lld: %s", s->path, (long long)s->line, text)
              : sap_fail(s->error, status, "%.300s: %s", s->path, text);
}

uint32_t sap_mesh_decode_bits(const char* bytes) {
  unsigned char b[4];
  memcpy(b, bytes, sizeof b);
  return (uint32_t)b[0] | (uint32_t)b[1] << 8 | (uint32_t)b[2] << 16 | (uint32_t)b[3] << 24;
}

int32_t sap_mesh_decode_integer(const char* bytes) {
  const uint32_t bits = sap_mesh_decode_bits(bytes);
  int32_t value;
  memcpy(&value, &bits, sizeof value);
  return value;
}

double sap_mesh_decode_real(const char* bytes) {
  const uint32_t bits = sap_mesh_decode_bits(bytes);
  float value;
  memcpy(&value, &bits, sizeof value);
  return (double)value;
}

sap_status sap_mesh_add_vertex(sap_mesh_source* s, const double p[3]) {
  sap_mesh_data* out = s->out;
  if (out->vertex_count == MAX_COUNT) {
    return sap_mesh_fail(s, SAP_STATUS_MEMORY, "too many vertices");
  }
  SAP_TRY(SAP_GROW(&out->vertices, &s->vertex_capacity, 3 * (out->vertex_count + 1), s->error));
  memcpy(out->vertices + 3 * (size_t)out->vertex_count++, p, 3 * sizeof *p);
  return SAP_STATUS_OK;
}

sap_status sap_mesh_add_triangle(sap_mesh_source* s, int32_t a, int32_t b, int32_t c) {
  sap_mesh_data* out = s->out;
  if (out->face_count == MAX_COUNT) {
    return sap_mesh_fail(s, SAP_STATUS_MEMORY, "too many triangles");
  }
  SAP_TRY(SAP_GROW(&out->faces, &s->face_capacity, 3 * (out->face_count + 1), s->error));
  int32_t* corners = out->faces + 3 * (size_t)out->face_count++;
  corners[0] = a;
  corners[1] = b;
  corners[2] = c;
  return SAP_STATUS_OK;
}
