// SPDX-License-Identifier: BSD-3-Clause
// History of a solve, iteration by iteration, summed over islands that are solved one after the
// other. An island that has ended keeps adding its last values.
#ifndef SAP_SOLVERS_HISTORY_H
#define SAP_SOLVERS_HISTORY_H

#include <sapstep/solver.h>

typedef struct sap_history_row {
  double cost;
  double gradient_2, momentum_2, impulse_2;  // squares of the D-norms
  double step_length;
  int32_t evaluations;
} sap_history_row;

typedef struct sap_history {
  sap_history_row* rows;
  sap_history_row ended;  // sum of the last rows of ended islands
  sap_history_row last;   // last row of the current island
  int32_t count, capacity;
  int32_t next;  // the current island's next row
} sap_history;

// Starts a history with row 0: |D A v|^2 = momentum_2 of the trees in no island. Makes room for
// `reserve` >= 1 rows.
sap_status sap_history_begin(sap_history* history, int32_t reserve, double momentum_2,
                             sap_error* error);
// Adds the current island's next iterate.
sap_status sap_history_add(sap_history* history, const sap_history_row* row, sap_error* error);
// Ends the current island.
void sap_history_end_island(sap_history* history);
// Returns the momentum error of a row.                                               castro (32)
double sap_history_error(const sap_history_row* row);
// Returns a row as the report shows it.
sap_iteration sap_history_iteration(const sap_history_row* row);
void sap_history_clear(sap_history* history);

#endif
