// SPDX-License-Identifier: BSD-3-Clause
// From rows to a block of the problem.
#include "multibody/assembly/assembly_data.h"

sap_status sap_assembly_rows_scale(const sap_assembly_call* call, int32_t first, int32_t count,
                                   double* w) {
  sap_rows* rows = &call->assembly->rows;
  sap_rows_pack(rows, first, count);
  *w = 0.0;
  return rows->nparts == 0
             ? SAP_STATUS_OK
             : sap_problem_delassus_scale(call->problem, count, rows->nparts, rows->part_trees,
                                          rows->parts, w, call->error);
}

sap_status sap_assembly_add_rows(const sap_assembly_call* call, const sap_row_law* law) {
  sap_rows* rows = &call->assembly->rows;
  sap_rows_pack(rows, 0, rows->nrows);
  const sap_block block = {.set = law->set,
                           .nrows = rows->nrows,
                           .ntrees = rows->nparts,
                           .trees = rows->part_trees,
                           .jacobians = rows->parts,
                           .R = law->R,
                           .v_hat = law->v_hat,
                           .lower = law->lower,
                           .upper = law->upper,
                           .key = law->key};
  return sap_problem_add_block(call->problem, &block, call->error);
}
