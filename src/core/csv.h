// SPDX-License-Identifier: BSD-3-Clause
// Writes text in CSV (RFC 4180): quoted where necessary, quotes in it doubled. Inline, so that the
// program shares it with the library.
#ifndef SAP_CORE_CSV_H
#define SAP_CORE_CSV_H

#include <stdbool.h>
#include <stdio.h>
#include <string.h>

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

#endif
