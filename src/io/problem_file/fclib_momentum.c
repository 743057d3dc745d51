// SPDX-License-Identifier: BSD-3-Clause
// A of a global problem, and v* = A^-1 f.
#include "io/problem_file/fclib_blocks.h"

#ifdef SAPSTEP_HDF5
#include <lapacke.h>
#include <math.h>
#include <string.h>

#include "core/memory.h"

// Largest |M_ij - M_ji| over sqrt(M_ii M_jj) [-] that passes for symmetric: far above the round-off
// of assembled matrices, far below any mistake.
static const double SYMMETRY_TOLERANCE = 1e-8;

// A block (a, b) of M, column-major.
static void gather(const sap_fclib_global* g, int32_t a, int32_t b, double* block) {
  const int32_t na = g->tree_sizes.values[a], nb = g->tree_sizes.values[b];
  const int32_t first = g->tree_start.values[a];
  memset(block, 0, (size_t)na * (size_t)nb * sizeof *block);
  for (int32_t j = 0; j < nb; ++j) {
    const int32_t column = g->tree_start.values[b] + j;
    for (int32_t k = g->M.start.values[column]; k < g->M.start.values[column + 1]; ++k) {
      const int32_t i = g->M.row.values[k] - first;
      if (i >= 0 && i < na) {
        block[(size_t)j * (size_t)na + (size_t)i] = g->M.x.values[k];
      }
    }
  }
}

static double entry(const sap_fclib_matrix* M, int32_t i, int32_t j) {
  for (int32_t k = M->start.values[j]; k < M->start.values[j + 1]; ++k) {
    if (M->row.values[k] == i) {
      return M->x.values[k];
    }
  }
  return 0.0;
}

static sap_status check_symmetric(const sap_fclib_file* file, const sap_fclib_matrix* M,
                                  bool* symmetric, sap_error* error) {
  *symmetric = true;
  for (int32_t j = 0; j < M->ncols; ++j) {
    const double mass = entry(M, j, j);
    if (!(mass > 0.0)) {
      return sap_fclib_fail(file, error, SAP_STATUS_NOT_SPD, "fclib_global/M",
                            "(%ld, %ld) = %g must be > 0", (long)j, (long)j, mass);
    }
    for (int32_t k = M->start.values[j]; k < M->start.values[j + 1]; ++k) {
      const int32_t i = M->row.values[k];
      const double scale = sqrt(fabs(entry(M, i, i))) * sqrt(mass), x = entry(M, j, i);
      if (!(fabs(M->x.values[k] - x) <= SYMMETRY_TOLERANCE * scale)) {
        *symmetric = false;
      }
    }
  }
  return SAP_STATUS_OK;
}

// v* = A^-1 f of the tree, whose block is in `block`, unless the file has v*.
static sap_status solve_tree(const sap_fclib_file* file, sap_fclib_global* g, int32_t tree,
                             double* block, sap_error* error) {
  const int32_t n = g->tree_sizes.values[tree];
  double* v = g->v_star.values + g->tree_start.values[tree];
  if (LAPACKE_dposv_work(LAPACK_COL_MAJOR, 'L', n, 1, block, n, v, n) != 0) {
    return sap_fclib_fail(file, error, SAP_STATUS_NOT_SPD, "fclib_global/M",
                          "is not positive definite in its rows %ld to %ld",
                          (long)g->tree_start.values[tree],
                          (long)g->tree_start.values[tree + 1] - 1);
  }
  return SAP_STATUS_OK;
}

// Couplings of a file that names its trees, each once.
static sap_status set_couplings(const sap_fclib_global* g, int32_t a, double* block,
                                sap_problem* problem, sap_error* error) {
  int32_t last = a;  // rows ascend within a column; over the columns of a, trees come again
  sap_status status = SAP_STATUS_OK;
  for (int32_t j = g->tree_start.values[a]; j < g->tree_start.values[a + 1]; ++j) {
    for (int32_t k = g->M.start.values[j]; k < g->M.start.values[j + 1]; ++k) {
      const int32_t b = g->tree_of.values[g->M.row.values[k]];
      if (b <= a || b == last || sap_problem_momentum_block(problem, b, a) != NULL) {
        continue;
      }
      last = b;
      gather(g, b, a, block);
      status = sap_problem_set_momentum_block(problem, b, a, block, g->tree_sizes.values[b], error);
      if (status != SAP_STATUS_OK) {
        return status;
      }
    }
  }
  return status;
}

// The tree's block of M^-1 in place of that of M, and v* with it.
static sap_status set_inverse(const sap_fclib_file* file, sap_fclib_global* g, int32_t tree,
                              double* block, sap_problem* problem, sap_error* error) {
  const int32_t n = g->tree_sizes.values[tree], first = g->tree_start.values[tree];
  lapack_int* pivots = sap_allocate((size_t)n, sizeof *pivots);
  double* work = sap_allocate((size_t)n, sizeof *work);
  sap_status status = pivots != NULL && work != NULL
                          ? SAP_STATUS_OK
                          : sap_fail(error, SAP_STATUS_MEMORY, "out of memory");
  if (status == SAP_STATUS_OK &&
      (LAPACKE_dgetrf_work(LAPACK_COL_MAJOR, n, n, block, n, pivots) != 0 ||
       LAPACKE_dgetri_work(LAPACK_COL_MAJOR, n, block, n, pivots, work, n) != 0)) {
    status =
        sap_fclib_fail(file, error, SAP_STATUS_NOT_SPD, "fclib_global/M",
                       "is singular in its rows %ld to %ld", (long)first, (long)(first + n) - 1);
  }
  if (status == SAP_STATUS_OK) {
    status = sap_problem_set_mobility_block(problem, tree, tree, block, n, error);
  }
  for (int32_t i = 0; i < n && status == SAP_STATUS_OK; ++i) {
    double sum = 0.0;
    for (int32_t j = 0; j < n; ++j) {
      sum += block[(size_t)j * (size_t)n + (size_t)i] * g->f.values[first + j];
    }
    g->v_star.values[first + i] = sum;
  }
  sap_free(pivots);
  sap_free(work);
  return status;
}

static sap_status set_tree(const sap_fclib_file* file, sap_fclib_global* g, int32_t tree,
                           double* block, sap_problem* problem, sap_error* error) {
  const int32_t n = g->tree_sizes.values[tree];
  gather(g, tree, tree, block);
  sap_status status = sap_problem_set_momentum_block(problem, tree, tree, block, n, error);
  if (status == SAP_STATUS_OK) {
    status = set_couplings(g, tree, block, problem, error);
  }
  if (status == SAP_STATUS_OK && !sap_fclib_has(file, "sapstep/v_star")) {
    gather(g, tree, tree, block);
    status = solve_tree(file, g, tree, block, error);
  }
  return status;
}

sap_status sap_fclib_set_momentum(const sap_fclib_file* file, sap_fclib_global* g,
                                  sap_problem* problem, sap_error* error) {
  bool symmetric;
  sap_status status = check_symmetric(file, &g->M, &symmetric, error);
  if (status == SAP_STATUS_OK && !symmetric && g->exact) {
    status = sap_fclib_fail(file, error, SAP_STATUS_NOT_SPD, "fclib_global/M", "is not symmetric");
  }
  if (status != SAP_STATUS_OK) {
    return status;
  }
  size_t largest = 1;
  for (int32_t t = 0; t < g->tree_sizes.count; ++t) {
    const size_t n = (size_t)g->tree_sizes.values[t];
    largest = n > largest ? n : largest;
  }
  double* block = sap_allocate(largest * largest, sizeof *block);
  if (block == NULL) {
    return sap_fail(error, SAP_STATUS_MEMORY, "out of memory");
  }
  for (int32_t t = 0; t < g->tree_sizes.count && status == SAP_STATUS_OK; ++t) {
    if (symmetric) {
      status = set_tree(file, g, t, block, problem, error);
    } else {
      gather(g, t, t, block);
      status = set_inverse(file, g, t, block, problem, error);
    }
  }
  sap_free(block);
  return status;
}
#endif
