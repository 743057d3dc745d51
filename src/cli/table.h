// SPDX-License-Identifier: BSD-3-Clause
// Rows of results, printed as an aligned table (a wide one in blocks that fit the terminal; NaN is
// "-"), as CSV (RFC 4180) or as JSON (an array of objects, one per line; numbers that are not
// finite are null).
#pragma once

#include <stdint.h>
#include <stdio.h>

typedef enum cli_format { CLI_FORMAT_TABLE, CLI_FORMAT_JSON, CLI_FORMAT_CSV } cli_format;

typedef enum cli_cell_kind { CLI_CELL_TEXT, CLI_CELL_INTEGER, CLI_CELL_REAL } cli_cell_kind;

typedef struct cli_table cli_table;

// Creates a table, which lives until the program ends. Columns are words, the unit as suffix of
// the name: "file nv# time_us:5" are texts, integers, and reals with 5 digits in an aligned table
// (CSV and JSON have all 17).
cli_table* cli_table_create(const char* columns);
// Adds a column before the first cell.
void cli_table_column(cli_table* table, const char* name, cli_cell_kind kind, int digits);
// A cell: text is copied.
typedef struct cli_value {
  const char* text;
  int64_t integer;
  double real;
} cli_value;
#define CLI_T(value) \
  { .text = (value) }
#define CLI_I(value) \
  { .integer = (value) }
#define CLI_R(value) \
  { .real = (value) }
// Adds cells of the given kinds, which must be those of the next columns: rows one after the other,
// each from left to right.
#define CLI_CELLS(table, ...)                                \
  cli_table_cells((table), (const cli_value[]){__VA_ARGS__}, \
                  sizeof((const cli_value[]){__VA_ARGS__}) / sizeof(cli_value))
void cli_table_cells(cli_table* table, const cli_value* values, size_t count);
void cli_table_print(const cli_table* table, cli_format format, FILE* stream);

// Prints a JSON number with 17 digits; null if not finite.
void cli_print_json_real(FILE* stream, double value);
