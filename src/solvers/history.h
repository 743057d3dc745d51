// SPDX-License-Identifier: BSD-3-Clause
// Per-iteration history summed over islands that are solved one after the other.
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
  sap_history_row ended;  // sum of the last rows of islands that have ended
  sap_history_row last;   // of the running island
  int32_t count, capacity;
  int32_t next;  // row that the running island writes next
} sap_history;

// Row 0 alone, for trees in no island: they carry |D A v|^2 = momentum_2. Room for `reserve` >= 1
// rows.
sap_status sap_history_begin(sap_history* history, int32_t reserve, double momentum_2,
                             sap_error* error);
// Adds the running island's next iterate.
sap_status sap_history_add(sap_history* history, const sap_history_row* row, sap_error* error);
// The running island has ended.
void sap_history_end_island(sap_history* history);
// castro (32) of a row.
double sap_history_error(const sap_history_row* row);
// Rows as the report shows them.
sap_iteration sap_history_iteration(const sap_history* history, int32_t index);
void sap_history_clear(sap_history* history);

#endif
