// SPDX-License-Identifier: BSD-3-Clause
// The sections of `sapstep info`: one table for each kind of element.
#ifndef SAP_CLI_COMMANDS_INFO_H
#define SAP_CLI_COMMANDS_INFO_H

#include <sapstep/model.h>

#include "cli/table.h"

typedef struct info_section {
  const char* title;  // NULL ends the list
  const cli_column* columns;
  int ncolumns;
  int32_t (*count)(const sap_model* model);
  void (*add)(cli_table* table, const sap_model* model, int32_t id);  // one row
} info_section;

extern const info_section info_sections[];

#endif
