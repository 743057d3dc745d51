// SPDX-License-Identifier: BSD-3-Clause
// Reads global problems of FCLIB files.
//   M v = H r + G l + f,  u = H' v + w,  0 = G' v + b
//   A = M,  v* = M^-1 f,  v_hat = -w
// If M is not symmetric (some files hold one triangle), the problem stores M^-1 as a mobility.
#include <math.h>
#include <string.h>

#include <lapacke.h>

#include "core/memory.h"
#include "io/problem_file/fclib_blocks.h"
#include "linalg/dense.h"

#ifdef SAPSTEP_HDF5
// Tolerance of |M_ij - M_ji|/sqrt(M_ii M_jj) [-] for a symmetric M: far above the round-off of
// assembled matrices, far below any mistake.
static const double SYMMETRY_TOLERANCE = 1e-8;

// Copies block (a, b) of M, column-major.
static void gather_block(const sap_fclib_global* g, int32_t a, int32_t b, double* block) {
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

// Solves v* = A^-1 f of the tree whose block is in `block`; overwrites the block.
static sap_status solve_tree(const sap_fclib_file* file, sap_fclib_global* g, int32_t tree,
                             double* block, sap_error* error) {
  const int32_t n = g->tree_sizes.values[tree];
  double* v = g->v_star.values + g->tree_start.values[tree];
  if (sap_dense_factorize(n, block) >= 0) {
    return sap_fclib_fail(file, error, SAP_STATUS_NOT_SPD, "fclib_global/M",
                          "is not positive definite in its rows %ld to %ld",
                          (long)g->tree_start.values[tree],
                          (long)g->tree_start.values[tree + 1] - 1);
  }
  sap_dense_factor_solve(n, block, v);
  return SAP_STATUS_OK;
}

// Sets the couplings between tree a and later trees, each once.
static sap_status set_couplings(const sap_fclib_global* g, int32_t a, double* block,
                                sap_problem* problem, sap_error* error) {
  int32_t last = a;  // rows ascend within a column, but trees repeat from column to column
  sap_status status = SAP_STATUS_OK;
  for (int32_t j = g->tree_start.values[a]; j < g->tree_start.values[a + 1]; ++j) {
    for (int32_t k = g->M.start.values[j]; k < g->M.start.values[j + 1]; ++k) {
      const int32_t b = g->tree_of.values[g->M.row.values[k]];
      if (b <= a || b == last || sap_problem_momentum_block(problem, b, a) != NULL) {
        continue;
      }
      last = b;
      gather_block(g, b, a, block);
      SAP_TRY(sap_problem_set_momentum_block(problem, b, a, block, g->tree_sizes.values[b], error));
    }
  }
  return status;
}

// Sets the tree's block of M^-1 as mobility, and computes its v*.
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
  gather_block(g, tree, tree, block);
  SAP_TRY(sap_problem_set_momentum_block(problem, tree, tree, block, n, error));
  SAP_TRY(set_couplings(g, tree, block, problem, error));
  if (!sap_fclib_has(file, "sapstep/v_star")) {
    gather_block(g, tree, tree, block);
    SAP_TRY(solve_tree(file, g, tree, block, error));
  }
  return SAP_STATUS_OK;
}

// Sets A, or its inverse if M is not symmetric, and computes v* unless the file has it. v_star
// holds f on entry.
static sap_status set_momentum(const sap_fclib_file* file, sap_fclib_global* g,
                               sap_problem* problem, sap_error* error) {
  bool symmetric;
  sap_status status = SAP_STATUS_OK;
  SAP_TRY(check_symmetric(file, &g->M, &symmetric, error));
  if (!symmetric && g->exact) {
    SAP_TRY(sap_fclib_fail(file, error, SAP_STATUS_NOT_SPD, "fclib_global/M", "is not symmetric"));
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
      gather_block(g, t, t, block);
      status = set_inverse(file, g, t, block, problem, error);
    }
  }
  sap_free(block);
  return status;
}

static void clear_global(sap_fclib_global* g) {
  sap_fclib_matrix* const matrices[] = {&g->M, &g->H, &g->G, &g->K};
  sap_fclib_reals* const reals[] = {&g->mu,  &g->f,       &g->w,       &g->b,
                                    &g->R,   &g->v_star,  &g->v_guess, &g->G_R,
                                    &g->K_R, &g->K_v_hat, &g->K_lower, &g->K_upper};
  sap_fclib_integers* const integers[] = {&g->tree_sizes, &g->tree_start, &g->tree_of, &g->blocks,
                                          &g->block_trees};
  for (size_t i = 0; i < sizeof matrices / sizeof *matrices; ++i) {
    sap_fclib_matrix_clear(matrices[i]);
  }
  for (size_t i = 0; i < sizeof reals / sizeof *reals; ++i) {
    sap_fclib_reals_clear(reals[i]);
  }
  for (size_t i = 0; i < sizeof integers / sizeof *integers; ++i) {
    sap_fclib_integers_clear(integers[i]);
  }
  sap_free(g->keys);
}

// Reads `count` values, or zeros if the file has no such dataset.
static sap_status read_or_zero(const sap_fclib_file* file, const char* name, int32_t count,
                               sap_fclib_reals* out, sap_error* error) {
  if (sap_fclib_has(file, name)) {
    return sap_fclib_read_reals(file, name, count, out, error);
  }
  const sap_status status = SAP_GROW(&out->values, &out->capacity, count, error);
  if (status == SAP_STATUS_OK && count > 0) {
    memset(out->values, 0, (size_t)count * sizeof(double));
  }
  out->count = count;
  return status;
}

// Reads a matrix of nv rows; it has no columns if the file has no such group.
static sap_status read_or_empty(const sap_fclib_file* file, const char* name, int32_t nv,
                                int32_t ncols, sap_fclib_matrix* out, sap_error* error) {
  if (sap_fclib_has(file, name)) {
    return sap_fclib_read_matrix(file, name, nv, ncols, out, error);
  }
  out->nrows = nv;
  SAP_TRY(SAP_GROW(&out->start.values, &out->start.capacity, 1, error));
  out->start.values[0] = 0;
  return SAP_STATUS_OK;
}

static sap_status read_free(const sap_fclib_file* file, sap_fclib_global* g, sap_error* error) {
  if (sap_fclib_has(file, "fclib_global/G")) {
    SAP_TRY(sap_fclib_read_reals(file, "fclib_global/vectors/b", SAP_FCLIB_ANY, &g->b, error));
    g->nfree = g->b.count;
  }
  SAP_TRY(read_or_empty(file, "fclib_global/G", g->nv, g->nfree, &g->G, error));
  return read_or_zero(file, "sapstep/G_R", g->nfree, &g->G_R, error);
}

static sap_status read_other(const sap_fclib_file* file, sap_fclib_global* g, sap_error* error) {
  if (sap_fclib_has(file, "sapstep/K")) {
    SAP_TRY(sap_fclib_read_reals(file, "sapstep/K_v_hat", SAP_FCLIB_ANY, &g->K_v_hat, error));
    g->nother = g->K_v_hat.count;
    SAP_TRY(sap_fclib_read_reals(file, "sapstep/K_R", g->nother, &g->K_R, error));
    SAP_TRY(sap_fclib_read_bounds(file, "sapstep/K_lower", g->nother, &g->K_lower, error));
    SAP_TRY(sap_fclib_read_bounds(file, "sapstep/K_upper", g->nother, &g->K_upper, error));
  }
  return read_or_empty(file, "sapstep/K", g->nv, g->nother, &g->K, error);
}

static sap_status read_all(const sap_fclib_file* file, sap_fclib_global* g, sap_error* error) {
  SAP_TRY(sap_fclib_read_contacts(file, "fclib_global", &g->mu, error));
  SAP_TRY(sap_fclib_read_reals(file, "fclib_global/vectors/f", SAP_FCLIB_ANY, &g->f, error));
  g->ncontacts = g->mu.count;
  g->nv = g->f.count;
  SAP_TRY(sap_fclib_read_reals(file, "fclib_global/vectors/w", 3 * (int64_t)g->ncontacts, &g->w,
                               error));
  SAP_TRY(sap_fclib_read_matrix(file, "fclib_global/M", g->nv, g->nv, &g->M, error));
  SAP_TRY(sap_fclib_read_matrix(file, "fclib_global/H", g->nv, 3 * g->ncontacts, &g->H, error));
  SAP_TRY(sap_fclib_read_R(file, "fclib_global", g->ncontacts, &g->R, error));
  SAP_TRY(read_free(file, g, error));
  return read_other(file, g, error);
}

static sap_status set_velocities(const sap_fclib_file* file, sap_fclib_global* g,
                                 sap_problem* problem, sap_error* error) {
  if (sap_fclib_has(file, "sapstep/v_star")) {
    SAP_TRY(sap_fclib_read_reals(file, "sapstep/v_star", g->nv, &g->v_star, error));
  }
  SAP_TRY(sap_problem_set_v_star(problem, g->v_star.values, error));
  if (sap_fclib_has(file, "sapstep/v_guess")) {
    SAP_TRY(sap_fclib_read_reals(file, "sapstep/v_guess", g->nv, &g->v_guess, error));
    SAP_TRY(sap_problem_set_v_guess(problem, g->v_guess.values, error));
  }
  return SAP_STATUS_OK;
}

static sap_status read_into(const sap_fclib_file* file, sap_fclib_global* g, sap_problem* problem,
                            sap_error* error) {
  double dt = 1.0;
  SAP_TRY(read_all(file, g, error));
  SAP_TRY(sap_fclib_find_trees(file, g, error));
  SAP_TRY(sap_fclib_find_blocks(file, g, error));
  SAP_TRY(sap_fclib_read_dt(file, &dt, error));
  SAP_TRY(sap_problem_reset(problem, dt, g->tree_sizes.count, g->tree_sizes.values, error));
  SAP_TRY(SAP_GROW(&g->v_star.values, &g->v_star.capacity, g->nv, error));
  if (g->nv > 0) {
    memcpy(g->v_star.values, g->f.values, (size_t)g->nv * sizeof(double));
  }
  SAP_TRY(set_momentum(file, g, problem, error));
  SAP_TRY(set_velocities(file, g, problem, error));
  return sap_fclib_add_blocks(file, g, problem, error);
}

sap_status sap_fclib_read_global(const sap_fclib_file* file, sap_problem* problem,
                                 sap_error* error) {
  sap_fclib_global g = {0};
  const sap_status status = read_into(file, &g, problem, error);
  clear_global(&g);
  return status;
}
#endif
