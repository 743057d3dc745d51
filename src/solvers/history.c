// SPDX-License-Identifier: BSD-3-Clause
#include "solvers/history.h"

#include <math.h>

#include "core/memory.h"

// into += row, but for the step length: the largest counts.
static void add_row(sap_history_row* into, const sap_history_row* row) {
  into->cost += row->cost;
  into->gradient_2 += row->gradient_2;
  into->momentum_2 += row->momentum_2;
  into->impulse_2 += row->impulse_2;
  into->evaluations += row->evaluations;
  into->step_length = fmax(into->step_length, row->step_length);
}

sap_status sap_history_begin(sap_history* history, int32_t reserve, double momentum_2,
                             sap_error* error) {
  SAP_TRY(SAP_GROW(&history->rows, &history->capacity, reserve, error));
  history->ended = (sap_history_row){.momentum_2 = momentum_2};
  history->rows[0] = history->ended;
  history->count = 1;
  history->next = 0;
  return SAP_STATUS_OK;
}

sap_status sap_history_add(sap_history* history, const sap_history_row* row, sap_error* error) {
  if (history->next == history->count) {
    SAP_TRY(SAP_GROW(&history->rows, &history->capacity, history->count + 1, error));
    history->rows[history->count++] = history->ended;
  }
  add_row(&history->rows[history->next++], row);
  history->last = *row;
  return SAP_STATUS_OK;
}

void sap_history_end_island(sap_history* history) {
  sap_history_row last = history->last;  // its values count on, its step and evaluations do not
  last.step_length = 0.0;
  last.evaluations = 0;
  for (int32_t i = history->next; i < history->count; ++i) {
    add_row(&history->rows[i], &last);
  }
  add_row(&history->ended, &last);
  history->next = 0;
}

double sap_history_error(const sap_history_row* row) {
  const double scale = sqrt(fmax(row->momentum_2, row->impulse_2));
  return row->gradient_2 > 0.0 ? sqrt(row->gradient_2) / scale : 0.0;
}

sap_iteration sap_history_iteration(const sap_history_row* row) {
  return (sap_iteration){.cost = row->cost,
                         .momentum_error = sap_history_error(row),
                         .step_length = row->step_length,
                         .evaluations = row->evaluations};
}

void sap_history_clear(sap_history* history) {
  sap_free(history->rows);
  *history = (sap_history){0};
}
