// SPDX-License-Identifier: BSD-3-Clause
// Condition number of SAP's Hessian, H = A + sum_i J_i' G_i(J_i v) J_i        castro (26), Fig. 15
//   kappa = lambda_max/lambda_min
// Dense: for studies, not for steps. cost: O(nv^3 + nc nv^2), nv^2 + O(nv) doubles.
#include <lapacke.h>
#include <math.h>

#include "contact/cone.h"
#include "core/memory.h"
#include "math/finite.h"
#include "problem/problem_data.h"

typedef struct dense {
  int32_t nv;
  const int32_t* start;  // first velocity of each tree
  double* H;             // lower triangle counts               (nv x nv)
} dense;

static void add_momentum(const sap_problem* problem, const dense* d) {
  const int32_t ntrees = sap_problem_tree_count(problem);
  for (int32_t a = 0; a < ntrees; ++a) {
    for (int32_t b = 0; b < ntrees; ++b) {
      const double* A = sap_problem_momentum_block(problem, a, b);
      const int32_t na = sap_problem_tree_size(problem, a), nb = sap_problem_tree_size(problem, b);
      for (int32_t j = 0; A != NULL && j < nb; ++j) {
        for (int32_t i = 0; i < na; ++i) {
          const size_t row = (size_t)(d->start[a] + i), column = (size_t)(d->start[b] + j);
          const size_t low = row > column ? row : column, high = row > column ? column : row;
          d->H[high * (size_t)d->nv + low] = A[j * na + i];
        }
      }
    }
  }
}

// Lower triangle of H += J' G J; GJ has room for nrows.
static void add_block(const sap_block* block, const dense* d, const sap_problem* problem,
                      const double* G, double* GJ) {
  const int32_t n = block->nrows;
  for (int32_t b = 0; b < block->ntrees; ++b) {
    const int32_t nb = sap_problem_tree_size(problem, block->trees[b]);
    for (int32_t j = 0; j < nb; ++j) {
      const double* Jj = block->jacobians[b] + (size_t)j * (size_t)n;
      const size_t column = (size_t)(d->start[block->trees[b]] + j);
      for (int32_t r = 0; r < n; ++r) {
        GJ[r] = 0.0;
        for (int32_t s = 0; s < n; ++s) {
          GJ[r] += G[s * n + r] * Jj[s];
        }
      }
      for (int32_t a = 0; a < block->ntrees; ++a) {
        for (int32_t i = 0; i < sap_problem_tree_size(problem, block->trees[a]); ++i) {
          const size_t row = (size_t)(d->start[block->trees[a]] + i);
          const double* Ji = block->jacobians[a] + (size_t)i * (size_t)n;
          for (int32_t r = 0; row >= column && r < n; ++r) {
            d->H[column * (size_t)d->nv + row] += Ji[r] * GJ[r];
          }
        }
      }
    }
  }
}

static sap_status add_blocks(const sap_problem* problem, const dense* d, const double* v,
                             sap_error* error) {
  sap_status status = SAP_STATUS_OK;
  for (int32_t i = 0; status == SAP_STATUS_OK && i < sap_problem_block_count(problem); ++i) {
    sap_block block;
    status = sap_problem_block(problem, i, &block, NULL, error);
    if (status != SAP_STATUS_OK) {
      break;
    }
    const size_t n = (size_t)block.nrows;
    double* work = sap_allocate(n * (n + 2), sizeof *work);
    if (work == NULL) {
      return sap_fail(error, SAP_STATUS_MEMORY, "out of memory: Hessian");
    }
    double *G = work, *vc = work + n * n, *GJ = vc + n;
    sap_problem_block_velocity(problem, &problem->blocks[i], v, vc);
    sap_set_hessian(&block, vc, G);
    if (sap_all_finite(G, n * n)) {
      add_block(&block, d, problem, G, GJ);
    } else {
      status = sap_fail(error, SAP_STATUS_NOT_FINITE, "block %d: its Hessian is not finite", i);
    }
    sap_free(work);
  }
  return status;
}

static sap_status measure(const sap_problem* problem, const double* v, const dense* d,
                          double* values, double* condition, sap_error* error) {
  add_momentum(problem, d);
  const sap_status status = add_blocks(problem, d, v, error);
  if (status != SAP_STATUS_OK) {
    return status;
  }
  if (LAPACKE_dsyevd(LAPACK_COL_MAJOR, 'N', 'L', d->nv, d->H, d->nv, values) != 0) {
    return sap_fail(error, SAP_STATUS_MEMORY, "eigenvalues of the Hessian: LAPACK failed");
  }
  if (!(values[0] > 0.0)) {
    return sap_fail(error, SAP_STATUS_NOT_SPD, "the Hessian's smallest eigenvalue is %g",
                    values[0]);
  }
  *condition = values[d->nv - 1] / values[0];
  return SAP_STATUS_OK;
}

sap_status sap_problem_condition(const sap_problem* problem, const double* v, double* condition,
                                 sap_error* error) {
  if (problem == NULL || v == NULL || condition == NULL) {
    return sap_fail(error, SAP_STATUS_ARGUMENT, "sap_problem_condition: an argument is NULL");
  }
  const int32_t nv = sap_problem_velocity_count(problem), ntrees = sap_problem_tree_count(problem);
  if (nv == 0 || sap_problem_has_mobility(problem)) {
    return sap_fail(error, SAP_STATUS_ARGUMENT, "%s",
                    nv == 0 ? "the problem is empty" : "the problem has a mobility, not A");
  }
  if (!sap_all_finite(v, (size_t)nv)) {
    return sap_fail(error, SAP_STATUS_NOT_FINITE, "v is not finite");
  }
  int32_t* start = sap_allocate((size_t)ntrees, sizeof *start);
  double* H = sap_allocate((size_t)nv * (size_t)nv, sizeof *H);
  double* values = sap_allocate((size_t)nv, sizeof *values);
  sap_status status = SAP_STATUS_OK;
  if (start == NULL || H == NULL || values == NULL) {
    status = sap_fail(error, SAP_STATUS_MEMORY, "out of memory: Hessian of %d velocities", nv);
  } else {
    for (int32_t t = 1; t < ntrees; ++t) {
      start[t] = start[t - 1] + sap_problem_tree_size(problem, t - 1);
    }
    const dense d = {nv, start, H};
    status = measure(problem, v, &d, values, condition, error);
  }
  sap_free(values);
  sap_free(H);
  sap_free(start);
  return status;
}
