// SPDX-License-Identifier: BSD-3-Clause
// Is what comes as a block one?
#include <float.h>
#include <math.h>

#include "contact/cone.h"
#include "math/finite.h"
#include "problem/problem_data.h"

static sap_status check_trees(const sap_problem* p, const sap_block* b, sap_error* error) {
  if (b->ntrees < 1 || b->trees == NULL || b->jacobians == NULL) {
    return sap_fail(error, SAP_STATUS_ARGUMENT,
                    "block %d: ntrees = %d must be >= 1, with trees and jacobians given",
                    p->nblocks, b->ntrees);
  }
  for (int32_t i = 0; i < b->ntrees; ++i) {
    if (b->trees[i] < 0 || b->trees[i] >= p->ntrees) {
      return sap_fail(error, SAP_STATUS_ARGUMENT, "block %d: trees[%d] = %d must be in [0, %d)",
                      p->nblocks, i, b->trees[i], p->ntrees);
    }
    for (int32_t j = 0; j < i; ++j) {
      if (b->trees[i] == b->trees[j]) {
        return sap_fail(error, SAP_STATUS_ARGUMENT, "block %d: tree %d is named twice", p->nblocks,
                        b->trees[i]);
      }
    }
  }
  return SAP_STATUS_OK;
}

sap_status sap_problem_check_shape(const sap_problem* p, const sap_block* b, sap_error* error) {
  if (b->nrows < 1 || b->nrows > INT32_MAX / 2) {
    return sap_fail(error, SAP_STATUS_ARGUMENT, "block %d: nrows = %d must be >= 1", p->nblocks,
                    b->nrows);
  }
  const sap_status status = check_trees(p, b, error);
  for (int32_t t = 0; status == SAP_STATUS_OK && t < b->ntrees; ++t) {
    if (b->jacobians[t] == NULL) {
      return sap_fail(error, SAP_STATUS_ARGUMENT, "block %d: jacobians[%d] is NULL", p->nblocks, t);
    }
  }
  return status;
}

sap_status sap_problem_check_jacobians(const sap_problem* p, const sap_block* b, sap_error* error) {
  const sap_status status = sap_problem_check_shape(p, b, error);
  if (status != SAP_STATUS_OK) {
    return status;
  }
  for (int32_t t = 0; t < b->ntrees; ++t) {
    const double* J = b->jacobians[t];
    const int64_t count = (int64_t)b->nrows * p->tree_size[b->trees[t]];
    for (int64_t i = sap_all_finite(J, (size_t)count) ? count : 0; i < count; ++i) {
      if (!isfinite(J[i])) {
        return sap_fail(error, SAP_STATUS_NOT_FINITE,
                        "block %d: Jacobian of tree %d, entry (%lld, %lld) = %g must be finite",
                        p->nblocks, b->trees[t], (long long)(i % b->nrows),
                        (long long)(i / b->nrows), J[i]);
      }
    }
  }
  return SAP_STATUS_OK;
}

static sap_status check_cone(const sap_problem* p, const sap_block* b, sap_error* error) {
  if (b->nrows != 3 && b->nrows != 4 && b->nrows != 6) {
    return sap_fail(error, SAP_STATUS_ARGUMENT, "block %d: a contact has 3, 4 or 6 rows, not %d",
                    p->nblocks, b->nrows);
  }
  if (!isfinite(b->friction)) {
    return sap_fail(error, SAP_STATUS_NOT_FINITE, "block %d: friction = %g must be finite and >= 0",
                    p->nblocks, b->friction);
  }
  if (!(b->friction >= 0.0)) {
    return sap_fail(error, SAP_STATUS_ARGUMENT, "block %d: friction = %g must be >= 0", p->nblocks,
                    b->friction);
  }
  for (int32_t i = 1; i < b->nrows; ++i) {
    if (i != 2 && b->R[i] != b->R[0]) {
      return sap_fail(error, SAP_STATUS_ARGUMENT,
                      "block %d: R[0] = %g, R[%d] = %g of a contact must be equal in all rows "
                      "but the normal",
                      p->nblocks, b->R[0], i, b->R[i]);
    }
  }
  return SAP_STATUS_OK;
}

static sap_status check_potential(const sap_problem* p, const sap_block* b, sap_error* error) {
  const struct {
    const char* name;
    double value;
    bool positive;
  } numbers[] = {{"dissipation", b->dissipation, false},
                 {"lagged_impulse", b->lagged_impulse, false},
                 {"slip_speed", b->slip_speed, true}};
  for (size_t i = 0; i < sizeof numbers / sizeof numbers[0]; ++i) {
    const double value = numbers[i].value;
    const bool allowed = numbers[i].positive ? value >= DBL_MIN : value >= 0.0;
    if (!isfinite(value) || !allowed) {
      return sap_fail(error, isfinite(value) ? SAP_STATUS_ARGUMENT : SAP_STATUS_NOT_FINITE,
                      "block %d: %s = %g must be finite and %s 0", p->nblocks, numbers[i].name,
                      value, numbers[i].positive ? ">" : ">=");
    }
  }
  if (!(b->R[0] > 0.0) || !(b->R[2] > 0.0)) {
    return sap_fail(error, SAP_STATUS_ARGUMENT,
                    "block %d: R = (%g, %g, %g) of a potential must be > 0", p->nblocks, b->R[0],
                    b->R[1], b->R[2]);
  }
  return SAP_STATUS_OK;
}

static sap_status check_box(const sap_problem* p, const sap_block* b, sap_error* error) {
  if (b->lower == NULL || b->upper == NULL) {
    return sap_fail(error, SAP_STATUS_ARGUMENT, "block %d: a box needs lower and upper",
                    p->nblocks);
  }
  for (int32_t i = 0; i < b->nrows; ++i) {
    if (isnan(b->lower[i]) || isnan(b->upper[i])) {
      return sap_fail(error, SAP_STATUS_NOT_FINITE, "block %d, row %d: bounds [%g, %g] are NaN",
                      p->nblocks, i, b->lower[i], b->upper[i]);
    }
    if (!(b->lower[i] <= b->upper[i]) || !(b->lower[i] < (double)INFINITY) ||
        !(b->upper[i] > -(double)INFINITY)) {
      return sap_fail(error, SAP_STATUS_ARGUMENT,
                      "block %d, row %d: bounds [%g, %g] must hold a finite number", p->nblocks, i,
                      b->lower[i], b->upper[i]);
    }
  }
  return SAP_STATUS_OK;
}

sap_status sap_problem_check_rows(const sap_problem* p, const sap_block* b, sap_error* error) {
  const int set = (int)b->set;
  if (set < (int)SAP_SET_FRICTION_CONE || set > (int)SAP_SET_LAGGED) {
    return sap_fail(error, SAP_STATUS_ARGUMENT, "block %d: set = %d is not a sap_set", p->nblocks,
                    set);
  }
  if (b->R == NULL || b->v_hat == NULL) {
    return sap_fail(error, SAP_STATUS_ARGUMENT, "block %d: %s is NULL", p->nblocks,
                    b->R == NULL ? "R" : "v_hat");
  }
  for (int32_t i = 0; i < b->nrows; ++i) {
    if (!isfinite(b->R[i]) || !isfinite(b->v_hat[i])) {
      return sap_fail(error, SAP_STATUS_NOT_FINITE, "block %d, row %d: %s = %g must be finite",
                      p->nblocks, i, isfinite(b->R[i]) ? "v_hat" : "R",
                      isfinite(b->R[i]) ? b->v_hat[i] : b->R[i]);
    }
    if (!(b->R[i] >= DBL_MIN || b->R[i] == 0.0)) {  // 1/R of a subnormal number overflows
      return sap_fail(error, SAP_STATUS_ARGUMENT, "block %d, row %d: R = %g must be >= 0",
                      p->nblocks, i, b->R[i]);
    }
  }
  if (sap_set_is_contact(b->set)) {
    const sap_status status = check_cone(p, b, error);
    return status == SAP_STATUS_OK && sap_set_is_potential(b->set) ? check_potential(p, b, error)
                                                                   : status;
  }
  return b->set == SAP_SET_BOX ? check_box(p, b, error) : SAP_STATUS_OK;
}
