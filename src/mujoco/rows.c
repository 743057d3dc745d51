// SPDX-License-Identifier: BSD-3-Clause
// Constraint rows of MuJoCo, dense or sparse, as Jacobians on trees.
#include <string.h>

#include "core/memory.h"
#include "mujoco/adapter.h"

int32_t sap_mj_find_trees(sap_mj* a, const sap_mj_row* row, int32_t count) {
  for (int32_t i = 0; i < row->count; ++i) {
    if (row->values[i] == 0.0) {
      continue;
    }
    const int32_t tree = a->dof_tree[row->columns != NULL ? row->columns[i] : i];
    if (a->tree_seen[tree] < 0) {
      a->tree_seen[tree] = count;
      a->block_trees[count++] = tree;
    }
  }
  return count;
}

static void scatter(const sap_mj* a, const sap_mj_row* row, double factor, double* const* parts,
                    int32_t ld, int32_t r) {
  for (int32_t i = 0; i < row->count; ++i) {
    if (row->values[i] != 0.0) {
      const int32_t column = row->columns != NULL ? row->columns[i] : i;
      const int32_t tree = a->dof_tree[column];
      double* part = parts[a->tree_seen[tree]];
      part[(size_t)(column - a->tree_start[tree]) * (size_t)ld + (size_t)r] +=
          factor * row->values[i];
    }
  }
}

sap_status sap_mj_make_parts(sap_mj* a, int32_t ntrees, int32_t rows, sap_error* error) {
  int32_t columns = 0;
  for (int32_t i = 0; i < ntrees; ++i) {
    columns += a->tree_size[a->block_trees[i]];
  }
  if (((int64_t)rows + 3) * columns > INT32_MAX) {
    return sap_fail(error, SAP_STATUS_MEMORY, "Jacobian of %d rows is too large", rows);
  }
  SAP_TRY(SAP_GROW(&a->J, &a->J_capacity, (rows + 3) * columns, error));
  memset(a->J, 0, (size_t)rows * (size_t)columns * sizeof(double));
  double* J = a->J;
  for (int32_t i = 0; i < ntrees; ++i) {
    a->block_parts[i] = J;
    J += (size_t)rows * (size_t)a->tree_size[a->block_trees[i]];
  }
  return SAP_STATUS_OK;
}

void sap_mj_forget_trees(sap_mj* a, int32_t ntrees) {
  for (int32_t i = 0; i < ntrees; ++i) {
    a->tree_seen[a->block_trees[i]] = -1;
  }
}

int32_t sap_mj_gather(sap_mj* a, const sap_mj_row* rows, int32_t count, sap_error* error) {
  int32_t ntrees = 0;
  for (int32_t r = 0; r < count; ++r) {
    ntrees = sap_mj_find_trees(a, &rows[r], ntrees);
  }
  const sap_status status = sap_mj_make_parts(a, ntrees, count, error);
  for (int32_t r = 0; status == SAP_STATUS_OK && r < count; ++r) {
    scatter(a, &rows[r], 1.0, (double* const*)a->block_parts, count, r);
  }
  sap_mj_forget_trees(a, ntrees);
  return status == SAP_STATUS_OK ? ntrees : -1;
}
