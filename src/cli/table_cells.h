// SPDX-License-Identifier: BSD-3-Clause
// What a table holds, for those that print it.
#ifndef SAP_CLI_TABLE_CELLS_H
#define SAP_CLI_TABLE_CELLS_H

#include "cli/table.h"

typedef struct cell {
  char* text;
  int64_t integer;
  double real;
} cell;

struct cli_table {
  const cli_column* columns;
  int ncolumns;
  cell* cells;  // row by row
  size_t count, capacity;
  bool failed;
};

// False when memory ran out.
bool cli_table_print_aligned(const cli_table* table, FILE* stream);

#endif
