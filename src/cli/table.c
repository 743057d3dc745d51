// SPDX-License-Identifier: BSD-3-Clause
#include "cli/table.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "cli/table_cells.h"
#include "core/csv.h"

const char* cli_take_format(const char* text, bool csv, cli_format* out) {
  static const char* const names[] = {"table", "csv", "json"};
  for (int i = 0; i < 3; ++i) {
    if (strcmp(text, names[i]) == 0 && (csv || i != CLI_FORMAT_CSV)) {
      *out = (cli_format)i;
      return NULL;
    }
  }
  return csv ? "table, csv or json" : "table or json";
}

cli_table* cli_table_create(const cli_column* columns, int ncolumns) {
  cli_table* table = calloc(1, sizeof *table);
  if (table != NULL) {
    table->columns = columns;
    table->ncolumns = ncolumns;
  }
  return table;
}

void cli_table_destroy(cli_table* table) {
  if (table != NULL) {
    for (size_t i = 0; i < table->count; ++i) {
      free(table->cells[i].text);
    }
    free(table->cells);
    free(table);
  }
}

static void add(cli_table* table, cell value) {
  if (table->count == table->capacity) {
    const size_t capacity = 2 * table->capacity + 64;
    cell* grown = realloc(table->cells, capacity * sizeof *grown);
    if (grown == NULL) {
      table->failed = true;
      free(value.text);
      return;
    }
    table->cells = grown;
    table->capacity = capacity;
  }
  table->cells[table->count++] = value;
}

void cli_table_text(cli_table* table, const char* text) {
  const size_t size = strlen(text) + 1;
  char* copy = malloc(size);
  if (copy == NULL) {
    table->failed = true;
    return;
  }
  memcpy(copy, text, size);
  add(table, (cell){.text = copy});
}

void cli_table_integer(cli_table* table, int64_t value) {
  add(table, (cell){.integer = value});
}

void cli_table_real(cli_table* table, double value) {
  add(table, (cell){.real = value});
}

// Length of the UTF-8 sequence at `text`; 0: not valid.
static int sequence_length(const char* text) {
  const unsigned char* s = (const unsigned char*)text;
  int length = 0;
  uint32_t code = 0;
  if (s[0] < 0x80) {
    return 1;
  } else if ((s[0] & 0xe0) == 0xc0) {
    length = 2;
    code = s[0] & 0x1fu;
  } else if ((s[0] & 0xf0) == 0xe0) {
    length = 3;
    code = s[0] & 0x0fu;
  } else if ((s[0] & 0xf8) == 0xf0) {
    length = 4;
    code = s[0] & 0x07u;
  }
  for (int i = 1; i < length; ++i) {
    if ((s[i] & 0xc0) != 0x80) {
      return 0;
    }
    code = (code << 6) | (s[i] & 0x3fu);
  }
  static const uint32_t least[] = {0, 0, 0x80, 0x800, 0x10000};
  const bool surrogate = code >= 0xd800 && code <= 0xdfff;
  return code >= least[length] && code <= 0x10ffff && !surrogate ? length : 0;
}

void cli_print_json_string(FILE* stream, const char* text) {
  (void)fputc('"', stream);
  while (*text != '\0') {
    const int length = sequence_length(text);
    if (length == 0) {
      (void)fputs("\\ufffd", stream);
    } else if (*text == '"' || *text == '\\') {
      (void)fprintf(stream, "\\%c", *text);
    } else if ((unsigned char)*text < 0x20 || *text == 0x7f) {
      (void)fprintf(stream, "\\u%04x", (unsigned)(unsigned char)*text);
    } else {
      (void)fwrite(text, 1, (size_t)length, stream);
    }
    text += length > 0 ? length : 1;
  }
  (void)fputc('"', stream);
}

void cli_print_json_real(FILE* stream, double value) {
  if (isfinite(value)) {
    (void)fprintf(stream, "%.17g", value);
  } else {
    (void)fputs("null", stream);
  }
}

static void print_json(const cli_table* table, FILE* stream) {
  const size_t n = (size_t)table->ncolumns;
  (void)fputs("[", stream);
  for (size_t i = 0; i < table->count; ++i) {
    const cli_column* column = &table->columns[i % n];
    const cell* c = &table->cells[i];
    (void)fputs(i % n != 0 ? ", " : i == 0 ? "\n{" : "},\n{", stream);
    cli_print_json_string(stream, column->name);
    (void)fputs(": ", stream);
    if (column->kind == CLI_CELL_TEXT) {
      cli_print_json_string(stream, c->text);
    } else if (column->kind == CLI_CELL_INTEGER) {
      (void)fprintf(stream, "%lld", (long long)c->integer);
    } else {
      cli_print_json_real(stream, c->real);
    }
  }
  (void)fputs(table->count > 0 ? "}\n]\n" : "]\n", stream);
}

static void print_csv(const cli_table* table, FILE* stream) {
  const size_t n = (size_t)table->ncolumns;
  for (size_t j = 0; j < n; ++j) {
    (void)fprintf(stream, "%s%c", table->columns[j].name, j + 1 < n ? ',' : '\n');
  }
  for (size_t i = 0; i < table->count; ++i) {
    const cell* c = &table->cells[i];
    switch (table->columns[i % n].kind) {
      case CLI_CELL_TEXT:
        sap_csv_cell(stream, c->text);
        break;
      case CLI_CELL_INTEGER:
        (void)fprintf(stream, "%lld", (long long)c->integer);
        break;
      case CLI_CELL_REAL:
        (void)fprintf(stream, "%.17g", c->real);
        break;
    }
    (void)fputc((i + 1) % n == 0 ? '\n' : ',', stream);
  }
}

bool cli_table_print(const cli_table* table, cli_format format, FILE* stream) {
  if (table->failed) {
    return false;
  }
  switch (format) {
    case CLI_FORMAT_TABLE:
      return cli_table_print_aligned(table, stream);
    case CLI_FORMAT_CSV:
      print_csv(table, stream);
      break;
    case CLI_FORMAT_JSON:
      print_json(table, stream);
      break;
  }
  return true;
}
