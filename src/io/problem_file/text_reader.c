// SPDX-License-Identifier: BSD-3-Clause
#include "io/problem_file/text_reader.h"

#include <errno.h>
#include <math.h>
#include <string.h>

#include "core/file.h"
#include "core/memory.h"
#include "io/xml/xml.h"

sap_status sap_text_open(sap_text_reader* text, const char* path, sap_error* error) {
  *text = (sap_text_reader){.pool.owner = "problem file", .error = error};
  errno = 0;
  text->file = fopen(path, "rb");
  if (text->file == NULL) {
    return sap_fail_io(error, errno, "read", path);
  }
  text->path = sap_duplicate_string(path);
  if (text->path == NULL) {
    sap_text_close(text);
    return sap_fail(error, SAP_STATUS_MEMORY, "out of memory");
  }
  return SAP_STATUS_OK;
}

void sap_text_close(sap_text_reader* text) {
  if (text->file != NULL) {
    (void)fclose(text->file);
  }
  sap_free(text->path);
  sap_pool_free(&text->pool);
  memset(text, 0, sizeof *text);
}

sap_status sap_text_pass(const sap_text_reader* text, sap_status status) {
  if (status != SAP_STATUS_OK) {
    const long long line = text->line > 0 ? (long long)text->line : 1;
    sap_error_prefix(text->error, "%s:%lld", text->path, line);
  }
  return status;
}

static const char blanks[] = " \t\r";

static bool is_blank(char c) {
  return c == ' ' || c == '\t' || c == '\r';
}

static bool is_text(unsigned char c) {
  return (c >= ' ' && c < 0x7f) || c == '\t' || c == '\r';
}

// Reads one line, blank or not.
static sap_status read_line(sap_text_reader* text, bool* found) {
  FILE* file = text->file;
  errno = 0;
  int byte = getc(file);
  *found = byte != EOF;
  text->line += *found ? 1 : 0;
  text->text_length = 0;
  if (text->line == 1 && byte == 0xef && getc(file) == 0xbb && getc(file) == 0xbf) {
    byte = getc(file);  // after UTF-8's byte order mark
  }
  for (; byte != EOF && byte != '\n'; byte = getc(file)) {
    if (!is_text((unsigned char)byte)) {
      return sap_text_fail(text, SAP_STATUS_SYNTAX,
                           "byte 0x%02x is not text: this is not a file of problems or solutions",
                           (unsigned)byte);
    }
    if (text->text_length == INT32_MAX - 2) {
      return sap_text_fail(text, SAP_STATUS_SYNTAX, "the line is longer than 2 GiB");
    }
    SAP_TRY(sap_text_pass(text,
                          SAP_ROOM(&text->pool, &text->text, text->text_length + 2, text->error)));
    text->text[text->text_length++] = (char)byte;
  }
  if (ferror(file)) {
    return sap_fail_io(text->error, errno, "read", text->path);
  }
  SAP_TRY(sap_text_pass(text, SAP_ROOM(&text->pool, &text->text, 1, text->error)));
  text->text[text->text_length] = '\0';
  text->ended = byte == '\n';
  return SAP_STATUS_OK;
}

// Finds the first character of the next non-blank line; NULL at the end of the file.
static sap_status next_line(sap_text_reader* text, const char** start) {
  bool found = true;
  while (found) {
    SAP_TRY(read_line(text, &found));
    *start = found ? text->text + strspn(text->text, blanks) : NULL;
    if (found && **start != '\0') {
      return SAP_STATUS_OK;
    }
  }
  return SAP_STATUS_OK;
}

sap_status sap_text_header(sap_text_reader* text, const char* header, bool* found) {
  *found = false;
  const char* start;
  SAP_TRY(next_line(text, &start));
  if (start == NULL) {
    if (text->sections == 0) {
      return sap_text_fail(text, SAP_STATUS_SYNTAX, "the file is empty, it must begin with '%s'",
                           header);
    }
    return SAP_STATUS_OK;
  }
  while (is_blank(text->text[text->text_length - 1])) {
    text->text[--text->text_length] = '\0';
  }
  if (strcmp(start, header) != 0) {
    return sap_text_fail(text, SAP_STATUS_SYNTAX, "expected '%s'%s, found '%.*s%s'", header,
                         text->sections == 0 ? "" : " or the end of the file",
                         SAP_SHOWN(start, strlen(start)));
  }
  ++text->sections;
  *found = true;
  return SAP_STATUS_OK;
}

static sap_status read_number(const sap_text_reader* text, const char** cursor, const char* what,
                              double* out) {
  const size_t length = strcspn(*cursor, blanks);
  const char* why = sap_word_number(*cursor, (int)length, out);
  if (why != NULL) {
    return sap_text_fail(text, isfinite(*out) ? SAP_STATUS_SYNTAX : SAP_STATUS_NOT_FINITE,
                         "%s: number %lld, '%.*s%s', %s", what, (long long)text->value_count + 1,
                         SAP_SHOWN(*cursor, length), why);
  }
  *cursor += length;
  return SAP_STATUS_OK;
}

sap_status sap_text_numbers(sap_text_reader* text, const char* keyword, int64_t expected,
                            const char* what) {
  text->value_count = 0;
  const char* cursor;
  SAP_TRY(next_line(text, &cursor));
  if (cursor == NULL) {
    return sap_text_fail(text, SAP_STATUS_SYNTAX, "the file ends where %s should follow", what);
  }
  if (keyword != NULL) {
    const size_t length = strlen(keyword);
    if (strncmp(cursor, keyword, length) != 0 ||
        (cursor[length] != '\0' && !is_blank(cursor[length]))) {
      return sap_text_fail(text, SAP_STATUS_SYNTAX, "expected '%s', found '%.*s%s'", keyword,
                           SAP_SHOWN(cursor, strcspn(cursor, blanks)));
    }
    cursor += length;
  }
  for (cursor += strspn(cursor, blanks); *cursor != '\0'; cursor += strspn(cursor, blanks)) {
    double value = 0.0;
    SAP_TRY(read_number(text, &cursor, what, &value));
    SAP_TRY(sap_text_pass(
        text, SAP_ROOM(&text->pool, &text->values, text->value_count + 1, text->error)));
    text->values[text->value_count++] = value;
  }
  if (expected >= 0 && text->value_count != expected) {
    return sap_text_fail(text, SAP_STATUS_SYNTAX, "%s needs %lld numbers, found %ld", what,
                         (long long)expected, (long)text->value_count);
  }
  if (!text->ended) {  // its last number may have lost digits
    return sap_text_fail(text, SAP_STATUS_SYNTAX,
                         "the file ends within %s: it is truncated, or its last line has no end",
                         what);
  }
  return SAP_STATUS_OK;
}

sap_status sap_text_integer(const sap_text_reader* text, int32_t index, int32_t low,
                            const char* what, int32_t* out) {
  const double value = text->values[index];
  if (!(value >= low && value <= INT32_MAX && value == floor(value))) {
    return sap_text_fail(text, SAP_STATUS_SYNTAX, "%s = %.17g must be an integer >= %ld", what,
                         value, (long)low);
  }
  *out = (int32_t)value;
  return SAP_STATUS_OK;
}
