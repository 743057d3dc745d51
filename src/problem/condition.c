// SPDX-License-Identifier: BSD-3-Clause
// Condition number of SAP's Hessian:
//   H     = A + sum_i J_i' G_i(J_i v) J_i                                  castro (26), Fig. 15
//   kappa = lambda_max/lambda_min
// cost: dense, O(nv^3 + nc nv^2), nv^2 + O(nv) doubles: for studies, not for steps.
#include <cblas.h>
#include <lapacke.h>
#include <string.h>

#include "contact/cone.h"
#include "core/memory.h"
#include "math/scalar.h"
#include "problem/blocks.h"

typedef struct dense_hessian {
  int32_t nv;
  const int32_t* start;  // first velocity of each tree
  double* work;          // of add_blocks: n^2 + n + 2 n nv of the largest block
  double* H;             // lower triangle                      (nv x nv)
} dense_hessian;

static void add_momentum(const sap_problem* problem, const dense_hessian* d) {
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

// Adds J' G J of all blocks, with J of all velocities.
static sap_status add_blocks(const sap_problem* problem, const dense_hessian* d, const double* v,
                             sap_error* error) {
  const int32_t nv = d->nv;
  for (int32_t i = 0; i < problem->nblocks; ++i) {
    const sap_block block = sap_problem_view(problem, &problem->blocks[i]);
    const int32_t n = block.nrows;
    const size_t rows = (size_t)n;
    double *G = d->work, *vc = G + rows * rows, *J = vc + rows, *GJ = J + rows * (size_t)nv;
    sap_problem_block_velocity(problem, &problem->blocks[i], v, vc);
    sap_set_hessian(&block, vc, G);
    SAP_FAIL_IF(!sap_all_finite(G, rows * rows), error, SAP_STATUS_NOT_FINITE,
                "block %d: its Hessian is not finite", i);
    memset(J, 0, rows * (size_t)nv * sizeof *J);
    for (int32_t t = 0; t < block.ntrees; ++t) {
      memcpy(J + rows * (size_t)d->start[block.trees[t]], block.jacobians[t],
             rows * (size_t)sap_problem_tree_size(problem, block.trees[t]) * sizeof *J);
    }
    cblas_dgemm(CblasColMajor, CblasNoTrans, CblasNoTrans, n, nv, n, 1.0, G, n, J, n, 0.0, GJ, n);
    cblas_dgemm(CblasColMajor, CblasTrans, CblasNoTrans, nv, nv, n, 1.0, J, n, GJ, n, 1.0, d->H,
                nv);
  }
  return SAP_STATUS_OK;
}

static sap_status find_condition(const sap_problem* problem, const double* v,
                                 const dense_hessian* d, double* values, double* condition,
                                 sap_error* error) {
  add_momentum(problem, d);
  SAP_TRY(add_blocks(problem, d, v, error));
  SAP_FAIL_IF(LAPACKE_dsyevd(LAPACK_COL_MAJOR, 'N', 'L', d->nv, d->H, d->nv, values) != 0, error,
              SAP_STATUS_MEMORY, "eigenvalues of the Hessian: LAPACK failed");
  SAP_FAIL_IF(!(values[0] > 0.0), error, SAP_STATUS_NOT_SPD,
              "the Hessian's smallest eigenvalue is %g", values[0]);
  *condition = values[d->nv - 1] / values[0];
  return SAP_STATUS_OK;
}

sap_status sap_problem_condition(const sap_problem* problem, const double* v, double* condition,
                                 sap_error* error) {
  SAP_NOT_NULL(error, problem, v, condition);
  const int32_t nv = problem->nv;
  SAP_FAIL_IF(nv == 0 || sap_problem_has_mobility(problem), error, SAP_STATUS_ARGUMENT, "%s",
              nv == 0 ? "the problem is empty" : "the problem has a mobility, not A");
  SAP_FAIL_IF(!sap_all_finite(v, (size_t)nv), error, SAP_STATUS_NOT_FINITE, "v is not finite");
  size_t most = 0;  // rows of a block
  for (int32_t i = 0; i < problem->nblocks; ++i) {
    const size_t nrows = (size_t)problem->blocks[i].nrows;
    most = nrows > most ? nrows : most;
  }
  double* H = sap_allocate((size_t)nv * (size_t)nv, sizeof *H);
  double* values = sap_allocate((size_t)nv + most * (most + 1 + 2 * (size_t)nv), sizeof *values);
  sap_status status = SAP_STATUS_OK;
  if (H == NULL || values == NULL) {
    status = sap_fail(error, SAP_STATUS_MEMORY, "out of memory: Hessian of %d velocities", nv);
  } else {
    const dense_hessian d = {nv, problem->tree_start, values + nv, H};
    status = find_condition(problem, v, &d, values, condition, error);
  }
  sap_free(values);
  sap_free(H);
  return status;
}
