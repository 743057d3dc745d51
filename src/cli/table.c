// SPDX-License-Identifier: BSD-3-Clause
#include <math.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ioctl.h>
#include <unistd.h>

#include "cli/command.h"
#include "cli/table.h"
#include "core/file.h"

typedef struct table_column {
  const char* name;
  cli_cell_kind kind;
  int digits;
} table_column;

struct cli_table {
  table_column* columns;
  int ncolumns;
  int32_t column_room;
  cli_value* cells;  // row by row
  int32_t count, room;
};

void cli_table_column(cli_table* table, const char* name, cli_cell_kind kind, int digits) {
  CLI_GROW(&table->columns, &table->column_room, table->ncolumns + 1);
  table->columns[table->ncolumns++] =
      (table_column){.name = cli_copy(name), .kind = kind, .digits = digits};
}

cli_table* cli_table_create(const char* columns) {
  cli_table* table = cli_new(1, sizeof *table);
  char* rest;
  for (char* name = strtok_r(cli_copy(columns), " ", &rest); name != NULL;
       name = strtok_r(NULL, " ", &rest)) {
    char* end = name + strcspn(name, "#:");
    const cli_cell_kind kind = *end == '#'   ? CLI_CELL_INTEGER
                               : *end == ':' ? CLI_CELL_REAL
                                             : CLI_CELL_TEXT;
    const int digits = kind == CLI_CELL_REAL ? atoi(end + 1) : 0;
    *end = '\0';
    cli_table_column(table, name, kind, digits);
  }
  return table;
}

void cli_table_cells(cli_table* table, const cli_value* values, size_t count) {
  CLI_GROW(&table->cells, &table->room, table->count + (int64_t)count);
  for (size_t i = 0; i < count; ++i) {
    const int32_t at = table->count++;
    table->cells[at] = values[i];
    if (table->columns[at % table->ncolumns].kind == CLI_CELL_TEXT) {
      table->cells[at].text = cli_copy(values[i].text);
    }
  }
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
  for (size_t i = 0; i < (size_t)table->count; ++i) {
    const table_column* column = &table->columns[i % n];
    const cli_value* c = &table->cells[i];
    (void)fputs(i % n != 0 ? ", " : i == 0 ? "\n{" : "},\n{", stream);
    sap_json_put(stream, column->name);
    (void)fputs(": ", stream);
    if (column->kind == CLI_CELL_TEXT) {
      sap_json_put(stream, c->text);
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
  for (size_t i = 0; i < (size_t)table->count; ++i) {
    const cli_value* c = &table->cells[i];
    const cli_cell_kind kind = table->columns[i % n].kind;
    if (kind == CLI_CELL_TEXT) {
      sap_csv_cell(stream, c->text);
    } else if (kind == CLI_CELL_INTEGER) {
      (void)fprintf(stream, "%lld", (long long)c->integer);
    } else {
      (void)fprintf(stream, "%.17g", c->real);
    }
    (void)fputc((i + 1) % n == 0 ? '\n' : ',', stream);
  }
}

// Aligned tables: a wide one is printed in blocks that fit the terminal, whole to files and pipes.

enum {
  NUMBER_SIZE = 40,  // characters of a printed number
  GAP = 2,           // between columns
  WIDTH_DEFAULT = 120,
  WIDTH_LEAST = 60,
  WIDTH_WHOLE = 1000000,
};

// Characters of the folders that all files of a table have in common.
static size_t common_folder(const cli_table* table) {
  size_t length = SIZE_MAX;
  const char* first = NULL;
  for (size_t i = 0; i < (size_t)table->count; ++i) {
    const char* text = table->cells[i].text;
    if (strcmp(table->columns[i % (size_t)table->ncolumns].name, "file") != 0) {
      continue;
    }
    first = first == NULL ? text : first;
    size_t same = 0, folder = 0;
    for (; same < length && text[same] != '\0' && text[same] == first[same]; ++same) {
      folder = text[same] == '/' ? same + 1 : folder;
    }
    length = folder;
  }
  return first != NULL ? length : 0;
}

// Returns the text of a cell; of a file the part after `folder`.
static const char* cell_text(const table_column* column, const cli_value* c, size_t folder,
                             char number[NUMBER_SIZE]) {
  if (column->kind == CLI_CELL_TEXT) {
    return c->text + (strcmp(column->name, "file") == 0 ? folder : 0);
  }
  if (column->kind == CLI_CELL_INTEGER) {
    (void)snprintf(number, NUMBER_SIZE, "%lld", (long long)c->integer);
  } else if (isnan(c->real)) {
    return "-";
  } else {
    (void)snprintf(number, NUMBER_SIZE, "%.*g", column->digits, c->real);
  }
  return number;
}

// Returns the width of a text on a terminal, one column per UTF-8 character.
static int width_of(const char* text) {
  int width = 0;
  for (; *text != '\0'; ++text) {
    width += ((unsigned char)*text & 0xc0) != 0x80 ? 1 : 0;
  }
  return width;
}

static void print_padded(FILE* stream, const char* text, int width, bool right, bool last) {
  const int blanks = width - width_of(text);
  if (right) {
    (void)fprintf(stream, "%*s", blanks, "");
  }
  for (; *text != '\0'; ++text) {  // a control character would spoil the terminal
    (void)fputc((unsigned char)*text < 0x20 || *text == 0x7f ? '?' : *text, stream);
  }
  if (!right && !last) {
    (void)fprintf(stream, "%*s", blanks, "");
  }
  (void)fprintf(stream, "%*s", last ? 0 : GAP, "");
  (void)fputs(last ? "\n" : "", stream);
}

typedef struct layout {
  int* widths;    // of all columns
  size_t folder;  // characters left out of files
  int keys;       // columns that begin every block
  int width;      // of a block
} layout;

// Returns the width of the terminal; files and pipes take whole tables.
static int width_of_lines(FILE* stream) {
  struct winsize size;
  if (isatty(fileno(stream)) != 1) {
    return WIDTH_WHOLE;
  }
  const bool known = ioctl(fileno(stream), TIOCGWINSZ, &size) == 0;
  return known && size.ws_col >= WIDTH_LEAST ? size.ws_col : WIDTH_DEFAULT;
}

// True if two rows look the same in the first `count` columns.
static bool alike(const cli_table* table, const layout* l, size_t a, size_t b, int count) {
  const size_t n = (size_t)table->ncolumns;
  for (int j = 0; j < count; ++j) {
    char text[NUMBER_SIZE], other[NUMBER_SIZE];
    const table_column* column = &table->columns[j];
    if (strcmp(cell_text(column, &table->cells[a * n + (size_t)j], l->folder, text),
               cell_text(column, &table->cells[b * n + (size_t)j], l->folder, other)) != 0) {
      return false;
    }
  }
  return true;
}

// Returns the fewest columns that distinguish neighbouring rows, within two thirds of the width.
static int count_keys(const cli_table* table, const layout* l) {
  const size_t rows = (size_t)table->count / (size_t)table->ncolumns;
  int keys = 1;
  for (size_t i = 1; i < rows; ++i) {
    while (keys < table->ncolumns && alike(table, l, i - 1, i, keys)) {
      ++keys;
    }
  }
  int width = 0, fit = 0;
  while (fit < keys && 3 * (width + l->widths[fit]) <= 2 * l->width) {
    width += l->widths[fit++] + GAP;
  }
  return fit > 0 ? fit : 1;
}

static void measure(const cli_table* table, FILE* stream, layout* l) {
  const size_t n = (size_t)table->ncolumns;
  char number[NUMBER_SIZE];
  l->width = width_of_lines(stream);
  l->folder = common_folder(table);
  l->widths = cli_new(n, sizeof *l->widths);
  for (size_t j = 0; j < n; ++j) {
    l->widths[j] = width_of(table->columns[j].name);
  }
  for (size_t i = 0; i < (size_t)table->count; ++i) {
    const size_t j = i % n;
    const int width = width_of(cell_text(&table->columns[j], &table->cells[i], l->folder, number));
    l->widths[j] = width > l->widths[j] ? width : l->widths[j];
  }
  l->keys = count_keys(table, l);
}

// Returns the end of the block that begins with column `first`: one column at least after the keys.
static int end_of_block(const cli_table* table, const layout* l, int first) {
  int width = 0, end = first;
  for (int j = 0; j < l->keys && first > 0; ++j) {
    width += l->widths[j] + GAP;
  }
  for (; end < table->ncolumns; ++end) {
    width += l->widths[end];
    if (width > l->width && end > (first == 0 ? l->keys : first)) {
      break;
    }
    width += GAP;
  }
  return end;
}

// The rows with the columns first ... end - 1 behind the keys.
static void print_block(const cli_table* table, const layout* l, int first, int end, FILE* stream) {
  const size_t n = (size_t)table->ncolumns;
  char number[NUMBER_SIZE];
  for (size_t row = 0; row <= (size_t)table->count / n; ++row) {  // 0: the names
    for (int k = first == 0 ? 0 : first - l->keys; k < end; ++k) {
      const int j = k < first ? k - (first - l->keys) : k;
      const table_column* column = &table->columns[j];
      const char* text =
          row == 0 ? column->name
                   : cell_text(column, &table->cells[(row - 1) * n + (size_t)j], l->folder, number);
      print_padded(stream, text, l->widths[j], column->kind != CLI_CELL_TEXT, k + 1 == end);
    }
  }
}

static void print_aligned(const cli_table* table, FILE* stream) {
  layout l = {0};
  measure(table, stream, &l);
  for (int first = 0; first < table->ncolumns;) {
    const int end = end_of_block(table, &l, first);
    (void)fputs(first > 0 ? "\n" : "", stream);
    print_block(table, &l, first, end, stream);
    first = end;
  }
}

void cli_table_print(const cli_table* table, cli_format format, FILE* stream) {
  if (format == CLI_FORMAT_CSV) {
    print_csv(table, stream);
  } else if (format == CLI_FORMAT_JSON) {
    print_json(table, stream);
  } else {
    print_aligned(table, stream);
  }
}
