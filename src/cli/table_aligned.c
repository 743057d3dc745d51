// SPDX-License-Identifier: BSD-3-Clause
// Tables for people: columns aligned, a wide one in blocks one below the other that fit a terminal.
#include <math.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include "cli/table_cells.h"

enum {
  NUMBER_SIZE = 40,   // characters of a printed number
  GAP = 2,            // between columns
  TABLE_WIDTH = 100,  // of a block
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
} layout;

static bool measure(const cli_table* table, layout* l) {
  const size_t n = (size_t)table->ncolumns;
  char number[NUMBER_SIZE];
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
  // Keys: up to a text, within two thirds of the width.
  for (int j = 0, width = 0; j < table->ncolumns; ++j) {
    width += l->widths[j] + GAP;
    if (j > 0 && 3 * width > 2 * TABLE_WIDTH) {
      break;
    }
    l->keys = table->columns[j].kind == CLI_CELL_TEXT ? j + 1 : l->keys;
  }
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
    if (width > TABLE_WIDTH && end > (first == 0 ? l->keys : first) && l->keys < table->ncolumns) {
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
  if (!measure(table, &l)) {
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
