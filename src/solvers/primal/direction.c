// SPDX-License-Identifier: BSD-3-Clause
// The direction of a step:  (A + J' G J) dv = -(A (v - v*) - J' q), q = gamma in SAP's own step.
// H may lose A to round-off when R is tiny: if it does not factorize although A does, its diagonal
// is raised, which keeps SAP's dv a direction of descent. What is no direction of descent otherwise
// gives way to the next kind of step.
#include <math.h>

#include "problem/problem_data.h"
#include "solvers/primal/patch_vector.h"

// First raise of H's diagonal, relative to it, when H does not factorize; the factor of the next.
static const double FIRST_RAISE = 1e-14;
static const double NEXT_RAISE = 100.0;
// SAP's own step has -slope = dv' H dv >= dv' A dv; the others must have this part of it.
static const double SUFFICIENT_SLOPE = 0.1;
enum { MAXIMUM_RAISES = 12 };  // the last raise makes dv the scaled gradient

// Raises H's diagonal by a part of itself.
static void raise_diagonal(sap_newton* n, double raise) {
  for (int32_t t = 0; t < n->ntrees; ++t) {
    double* block = n->values + n->value_start[n->column_start[t]];
    for (int32_t i = 0; i < n->size[t]; ++i) {
      block[(size_t)i * (size_t)(n->size[t] + 1)] *= 1.0 + raise;
    }
  }
}

// OK: A is SPD, it is H's round-off. NOT_SPD names the tree.
static sap_status blame_momentum(sap_newton* n, sap_error* error) {
  int32_t failed = -1;
  sap_newton_assemble(n, false);
  const sap_status status = sap_cholesky_factorize(n->cholesky, n->values, &failed, error);
  if (status == SAP_STATUS_NOT_SPD) {
    const int32_t tree = failed >= 0 && failed < n->ntrees ? n->trees[failed] : n->trees[0];
    return sap_fail(error, SAP_STATUS_NOT_SPD, "A is not positive definite (found at tree %d)",
                    tree);
  }
  return status;
}

// dv from the system that stands in n->values, and J dv; whether it descends.
static sap_status solve(sap_newton* n, sap_direction* direction, bool* descends, sap_error* error) {
  int32_t failed;
  const sap_status status = sap_cholesky_factorize(n->cholesky, n->values, &failed, error);
  direction->factorizations += 1;
  *descends = false;
  if (status != SAP_STATUS_OK) {
    return status;
  }
  if (direction->kind == SAP_STEP_SEMISMOOTH) {
    sap_newton_target_side(n, n->dv);
  } else {
    for (int32_t i = 0; i < n->nv; ++i) {
      n->dv[i] = -n->gradient[i];
    }
  }
  sap_cholesky_solve(n->cholesky, n->dv);
  direction->slope = sap_row_dot(n->dv, n->gradient, n->nv);
  if (!(direction->slope < 0.0) || !isfinite(direction->slope)) {
    direction->slope = 0.0;
    return SAP_STATUS_OK;
  }
  direction->curvature = sap_newton_apply_direction(n);
  *descends = direction->kind == SAP_STEP_PRIMAL ||
              -direction->slope >= SUFFICIENT_SLOPE * direction->curvature;
  return SAP_STATUS_OK;
}

// SAP's own.
static sap_status find_primal(sap_newton* n, sap_direction* direction, sap_error* error) {
  double raise = 0.0;
  for (int attempt = 0; attempt < MAXIMUM_RAISES; ++attempt) {
    sap_newton_assemble(n, true);
    if (raise > 0.0) {
      raise_diagonal(n, raise);
    }
    bool descends;
    sap_status status = solve(n, direction, &descends, error);
    if (descends) {
      return SAP_STATUS_OK;
    }
    if (status == SAP_STATUS_NOT_SPD && attempt == 0) {
      status = blame_momentum(n, error);
      if (status != SAP_STATUS_OK) {
        return status;
      }
    }
    if (status != SAP_STATUS_OK && status != SAP_STATUS_NOT_SPD) {
      return status;
    }
    raise = raise > 0.0 ? raise * NEXT_RAISE : FIRST_RAISE;
  }
  direction->slope = 0.0;
  return SAP_STATUS_OK;
}

sap_status sap_newton_find_direction(sap_newton* n, sap_direction* direction, sap_error* error) {
  for (; direction->kind != SAP_STEP_PRIMAL; --direction->kind) {
    bool descends;
    sap_newton_linearise(n, direction->kind);
    sap_newton_assemble(n, true);
    const sap_status status = solve(n, direction, &descends, error);
    if (descends || (status != SAP_STATUS_OK && status != SAP_STATUS_NOT_SPD)) {
      return status;
    }
  }
  sap_newton_linearise(n, SAP_STEP_PRIMAL);
  return find_primal(n, direction, error);
}
