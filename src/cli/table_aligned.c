// SPDX-License-Identifier: BSD-3-Clause
// Tables for people: columns aligned, a wide one in blocks one below the other that fit a terminal.
#define _DEFAULT_SOURCE
#include <math.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ioctl.h>
#include <unistd.h>

#include "cli/table_cells.h"

enum {
  NUMBER_SIZE = 40,  // characters of a printed number
  GAP = 2,           // between columns
  WIDTH_DEFAULT = 120,
  WIDTH_LEAST = 60,
};

// Characters of the folders that all files of a table have in common.
static size_t common_folder(const cli_table* table) {
  size_t length = SIZE_MAX;
  const char* first = NULL;
  for (size_t i = 0; i < table->count; ++i) {
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

// The text of a cell that is a number, or its own, behind the folders of files.
static const char* show(const cli_column* column, const cell* c, size_t folder,
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

// Columns that a text takes on a terminal, one per UTF-8 character.
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

// Of the terminal, if it is one.
static int width_of_lines(FILE* stream) {
  struct winsize size;
  const bool known = isatty(fileno(stream)) == 1 && ioctl(fileno(stream), TIOCGWINSZ, &size) == 0;
  return known && size.ws_col >= WIDTH_LEAST ? size.ws_col : WIDTH_DEFAULT;
}

// Whether two rows show the same in the first `count` columns.
static bool alike(const cli_table* table, const layout* l, size_t a, size_t b, int count) {
  const size_t n = (size_t)table->ncolumns;
  for (int j = 0; j < count; ++j) {
    char text[NUMBER_SIZE], other[NUMBER_SIZE];
    const cli_column* column = &table->columns[j];
    if (strcmp(show(column, &table->cells[a * n + (size_t)j], l->folder, text),
               show(column, &table->cells[b * n + (size_t)j], l->folder, other)) != 0) {
      return false;
    }
  }
  return true;
}

// The fewest columns that tell neighbouring rows apart, within two thirds of the width.
static int count_keys(const cli_table* table, const layout* l) {
  const size_t rows = table->count / (size_t)table->ncolumns;
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

static bool measure(const cli_table* table, FILE* stream, layout* l) {
  const size_t n = (size_t)table->ncolumns;
  char number[NUMBER_SIZE];
  l->width = width_of_lines(stream);
  l->folder = common_folder(table);
  l->widths = calloc(n, sizeof *l->widths);
  if (l->widths == NULL) {
    return false;
  }
  for (size_t j = 0; j < n; ++j) {
    l->widths[j] = width_of(table->columns[j].name);
  }
  for (size_t i = 0; i < table->count; ++i) {
    const size_t j = i % n;
    const int width = width_of(show(&table->columns[j], &table->cells[i], l->folder, number));
    l->widths[j] = width > l->widths[j] ? width : l->widths[j];
  }
  l->keys = count_keys(table, l);
  return true;
}

// The end of the block that begins with column `first`; it has one at least behind the keys. A
// table of texts alone stays whole.
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
  for (size_t row = 0; row <= table->count / n; ++row) {  // 0: the names
    for (int k = first == 0 ? 0 : first - l->keys; k < end; ++k) {
      const int j = k < first ? k - (first - l->keys) : k;
      const cli_column* column = &table->columns[j];
      const char* text =
          row == 0 ? column->name
                   : show(column, &table->cells[(row - 1) * n + (size_t)j], l->folder, number);
      print_padded(stream, text, l->widths[j], column->kind != CLI_CELL_TEXT, k + 1 == end);
    }
  }
}

bool cli_table_print_aligned(const cli_table* table, FILE* stream) {
  layout l = {0};
  if (!measure(table, stream, &l)) {
    return false;
  }
  for (int first = 0; first < table->ncolumns;) {
    const int end = end_of_block(table, &l, first);
    (void)fputs(first > 0 ? "\n" : "", stream);
    print_block(table, &l, first, end, stream);
    first = end;
  }
  free(l.widths);
  return true;
}
