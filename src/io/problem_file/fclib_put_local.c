// SPDX-License-Identifier: BSD-3-Clause
// Writes a problem that has a mobility as /fclib_local: tree b is block b, J = I, v_hat = 0.
#include "io/problem_file/fclib_file.h"
#include "io/problem_file/fclib_output.h"

#ifdef SAPSTEP_HDF5
#include <math.h>

#include "core/memory.h"

static bool is_identity(const double* J, int32_t n) {
  for (int32_t j = 0; j < n; ++j) {
    for (int32_t i = 0; i < n; ++i) {
      if (J[(size_t)j * (size_t)n + (size_t)i] != (i == j ? 1.0 : 0.0)) {
        return false;
      }
    }
  }
  return true;
}

// Friction cones, and maybe rigid free rows last.
static sap_status check(const sap_problem* problem, int32_t* ncontacts, sap_error* error) {
  const int32_t nblocks = sap_problem_block_count(problem);
  *ncontacts = nblocks;
  if (nblocks != sap_problem_tree_count(problem)) {
    return sap_fail(error, SAP_STATUS_UNSUPPORTED,
                    "FCLIB's local form has a block for each tree, not %ld for %ld", (long)nblocks,
                    (long)sap_problem_tree_count(problem));
  }
  for (int32_t b = 0; b < nblocks; ++b) {
    sap_block block;
    const sap_status status = sap_problem_block(problem, b, &block, NULL, error);
    if (status != SAP_STATUS_OK) {
      return status;
    }
    const bool cone = block.set == SAP_SET_FRICTION_CONE && block.nrows == 3;
    const bool last = block.set == SAP_SET_FREE && b == nblocks - 1;
    bool fits = (cone || last) && block.ntrees == 1 && block.trees[0] == b &&
                sap_problem_tree_size(problem, b) == block.nrows &&
                is_identity(block.jacobians[0], block.nrows);
    for (int32_t i = 0; i < block.nrows && fits; ++i) {
      fits = block.v_hat[i] == 0.0 && (cone || block.R[i] == 0.0);
    }
    if (!fits) {
      return sap_fail(
          error, SAP_STATUS_UNSUPPORTED,
          "block %ld: FCLIB's local form holds friction cones of 3 rows, and rigid free "
          "rows last, on a tree of their own with J = I and v_hat = 0",
          (long)b);
    }
    *ncontacts -= cone ? 0 : 1;
  }
  return SAP_STATUS_OK;
}

static int32_t our_row(bool contact, int32_t component) {
  return contact ? sap_fclib_row(component) : component;
}

// Columns of trees [first, end) by rows of trees [top, bottom).
static sap_status gather(const sap_problem* problem, int32_t ncontacts, const int32_t columns[2],
                         const int32_t rows[2], sap_fclib_columns* out, sap_error* error) {
  for (int32_t b = columns[0]; b < columns[1]; ++b) {
    for (int32_t j = 0; j < sap_problem_tree_size(problem, b); ++j) {
      int32_t first = 0;
      for (int32_t a = rows[0]; a < rows[1]; ++a) {
        const double* block = sap_problem_mobility_block(problem, a, b);
        const int32_t na = sap_problem_tree_size(problem, a);
        const size_t column = (size_t)our_row(b < ncontacts, j);
        for (int32_t i = 0; i < na && block != NULL; ++i) {
          const double x = block[column * (size_t)na + (size_t)our_row(a < ncontacts, i)];
          if (x != 0.0 || signbit(x) != 0) {
            const sap_status status = sap_fclib_append(out, first + i, x, error);
            if (status != SAP_STATUS_OK) {
              return status;
            }
          }
        }
        first += na;
      }
      const sap_status status = sap_fclib_end_column(out, error);
      if (status != SAP_STATUS_OK) {
        return status;
      }
    }
  }
  return SAP_STATUS_OK;
}

// mu, R and q in FCLIB's order; keys.
static bool put_vectors(hid_t file, const sap_problem* problem, int32_t nc, double* q, double* R,
                        double* mu, uint64_t* keys) {
  static const int32_t spacedim = 3;
  const double* v_star = sap_problem_v_star(problem);
  bool any_R = false;
  for (int32_t c = 0; c < nc; ++c) {
    sap_block block;
    (void)sap_problem_block(problem, c, &block, NULL, NULL);
    mu[c] = block.friction;
    keys[c] = block.key;
    for (int32_t k = 0; k < 3; ++k) {
      q[3 * c + k] = v_star[3 * c + sap_fclib_row(k)];
      R[3 * c + k] = block.R[sap_fclib_row(k)];
      any_R = any_R || R[3 * c + k] != 0.0;
    }
  }
  const double dt = sap_problem_dt(problem);
  return sap_fclib_put_integers(file, "fclib_local/spacedim", 1, &spacedim) &&
         sap_fclib_put_reals(file, "fclib_local/vectors/mu", nc, mu) &&
         sap_fclib_put_reals(file, "fclib_local/vectors/q", 3 * nc, q) &&
         (!any_R || sap_fclib_put_reals(file, "fclib_local/vectors/R", 3 * nc, R)) &&
         sap_fclib_put_keys(file, "sapstep/keys", nc, keys) &&
         sap_fclib_put_reals(file, "sapstep/dt", 1, &dt);
}

sap_status sap_fclib_put_local(hid_t file, const sap_problem* problem, sap_error* error) {
  int32_t nc = 0;
  sap_status status = check(problem, &nc, error);
  if (status != SAP_STATUS_OK) {
    return status;
  }
  const int32_t ntrees = sap_problem_tree_count(problem);
  const int32_t contacts[2] = {0, nc}, last[2] = {nc, ntrees};
  double* memory = sap_allocate(7 * (size_t)nc + 1, sizeof *memory);
  uint64_t* keys = sap_allocate((size_t)nc + 1, sizeof *keys);
  sap_fclib_columns W = {0}, V = {0}, S = {0};
  status = memory != NULL && keys != NULL ? gather(problem, nc, contacts, contacts, &W, error)
                                          : sap_fail(error, SAP_STATUS_MEMORY, "out of memory");
  if (status == SAP_STATUS_OK) {
    status = gather(problem, nc, last, contacts, &V, error);
  }
  if (status == SAP_STATUS_OK) {
    status = gather(problem, nc, last, last, &S, error);
  }
  if (status == SAP_STATUS_OK) {
    bool good = put_vectors(file, problem, nc, memory, memory + 3 * (size_t)nc,
                            memory + 6 * (size_t)nc, keys) &&
                sap_fclib_put_matrix(file, "fclib_local/W", 3 * nc, &W);
    if (good && nc < ntrees) {
      good = sap_fclib_put_matrix(file, "fclib_local/V", 3 * nc, &V) &&
             sap_fclib_put_matrix(file, "fclib_local/R", S.ncols, &S) &&
             sap_fclib_put_reals(file, "fclib_local/vectors/s", S.ncols,
                                 sap_problem_v_star(problem) + 3 * (size_t)nc);
    }
    status = good ? SAP_STATUS_OK
                  : sap_fail(error, SAP_STATUS_INTERNAL, "HDF5 could not take the problem");
  }
  sap_fclib_columns_clear(&W);
  sap_fclib_columns_clear(&V);
  sap_fclib_columns_clear(&S);
  sap_free(memory);
  sap_free(keys);
  return status;
}
#endif
