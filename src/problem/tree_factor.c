// SPDX-License-Identifier: BSD-3-Clause
// Factors of the tree blocks of A, kept while the block is the same, over the problems that one
// object holds one after the other. Those of trees larger than a free body follow the tree's
// branches (branch_factor.h).
// fails: NOT_SPD names the tree.
#include <math.h>
#include <string.h>

#include "core/memory.h"
#include "linalg/dense.h"
#include "problem/tree_factor.h"

// Replaces A by its Cholesky factor L with reciprocals on the diagonal. Returns false unless A is positive definite.
static bool factor_tree(double* A, int32_t n) {
  const bool done = n == SAP_SMALL_TREE  ? sap_small_cholesky(SAP_SMALL_TREE, A)
                    : n < SAP_SMALL_TREE ? sap_small_cholesky(n, A)
                                         : sap_dense_factorize(n, A) < 0;
  for (int32_t j = 0; done && j < n; ++j) {
    double* diagonal = A + (size_t)j * (size_t)(n + 1);
    *diagonal = 1.0 / *diagonal;
  }
  return done;
}

static sap_status check_set(const sap_problem* p, int32_t tree, sap_error* error) {
  return p->diagonal_set[tree] ? SAP_STATUS_OK
                               : sap_fail(error, SAP_STATUS_NOT_SPD,
                                          "tree %d: its diagonal block of A is not set", tree);
}

static sap_status not_positive(int32_t tree, sap_error* error) {
  return sap_fail(error, SAP_STATUS_NOT_SPD,
                  "tree %d: its diagonal block of A is not positive definite", tree);
}

sap_status sap_problem_tree_factor(const sap_problem* p, int32_t tree, const double** factor,
                                   sap_error* error) {
  const int32_t start = p->diagonal_start[tree], n = p->tree_size[tree];
  const size_t bytes = (size_t)n * (size_t)n * sizeof(double);
  const double* A = p->diagonal + start;
  double* L = p->cache->factor + start;
  sap_factor_state* state = &p->cache->factor_state[tree];
  *factor = L;
  if (*state == SAP_FACTOR_VALID) {
    return SAP_STATUS_OK;
  }
  const sap_status status = check_set(p, tree, error);
  if (status != SAP_STATUS_OK) {
    return status;
  }
  if (*state == SAP_FACTOR_STALE && memcmp(A, p->cache->diagonal_before + start, bytes) == 0) {
    *state = SAP_FACTOR_VALID;
    return SAP_STATUS_OK;
  }
  *state = SAP_FACTOR_NONE;
  memcpy(L, A, bytes);
  if (!factor_tree(L, n)) {
    return not_positive(tree, error);
  }
  *state = SAP_FACTOR_VALID;
  return SAP_STATUS_OK;
}

static double* branch_memory(const sap_problem* p, int32_t tree) {
  return p->cache->branch + p->diagonal_start[tree] + 4 * (size_t)p->tree_start[tree];
}

static int32_t* branch_runs(const sap_problem* p, int32_t tree) {
  return p->cache->branch_runs + p->diagonal_start[tree] + 3 * (size_t)p->tree_start[tree];
}

static void return_factor(const sap_problem* p, int32_t tree) {
  sap_problem_cache* cache = p->cache;
  if (cache->lent[tree].L != NULL) {
    cache->branch_state[tree] = SAP_FACTOR_NONE;
    cache->lent[tree] = (sap_branch_factor){0};
  }
}

// Of the factors that are known in this way a stale one is left, of others nothing.
static void keep_stale(const sap_problem* p, int32_t tree, sap_factor_state known) {
  sap_problem_cache* cache = p->cache;
  sap_factor_state* const states[2] = {&cache->factor_state[tree], &cache->branch_state[tree]};
  return_factor(p, tree);
  for (int i = 0; i < 2; ++i) {
    *states[i] = *states[i] == known ? SAP_FACTOR_STALE : SAP_FACTOR_NONE;
  }
}

void sap_problem_forget_factors(const sap_problem* p, int32_t tree) {
  keep_stale(p, tree, SAP_FACTOR_STALE);
}

void sap_problem_age_factors(const sap_problem* p, int32_t tree) {
  keep_stale(p, tree, SAP_FACTOR_VALID);
}

static sap_branch_factor branch_of(const sap_problem* p, int32_t tree) {
  return (sap_branch_factor){
      .n = p->tree_size[tree], .L = branch_memory(p, tree), .runs = branch_runs(p, tree)};
}

sap_status sap_problem_branch_factor(const sap_problem* p, int32_t tree, sap_branch_factor* factor,
                                     sap_error* error) {
  sap_problem_cache* cache = p->cache;
  sap_factor_state* state = &cache->branch_state[tree];
  *factor = cache->lent[tree].L != NULL ? cache->lent[tree] : branch_of(p, tree);
  if (*state == SAP_FACTOR_VALID) {
    return SAP_STATUS_OK;
  }
  const sap_status status = check_set(p, tree, error);
  if (status != SAP_STATUS_OK) {
    return status;
  }
  const size_t start = (size_t)p->diagonal_start[tree];
  const size_t n = (size_t)factor->n;
  const double* A = p->diagonal + start;
  if (*state == SAP_FACTOR_STALE &&
      memcmp(A, cache->diagonal_before + start, n * n * sizeof(double)) == 0) {
    *state = SAP_FACTOR_VALID;
    return SAP_STATUS_OK;
  }
  *state = SAP_FACTOR_NONE;
  if (!sap_branch_factorize(A, branch_memory(p, tree), branch_runs(p, tree), factor->n)) {
    return not_positive(tree, error);
  }
  *state = SAP_FACTOR_VALID;
  return SAP_STATUS_OK;
}

void sap_problem_lend_factor(const sap_problem* p, int32_t tree, const sap_branch_factor* factor) {
  p->cache->lent[tree] = *factor;
  p->cache->branch_state[tree] = SAP_FACTOR_VALID;
}

void sap_problem_return_factors(const sap_problem* p) {
  for (int32_t t = 0; t < p->ntrees; ++t) {
    return_factor(p, t);
  }
}

sap_status sap_problem_solve_tree(const sap_problem* p, int32_t tree, const double* b, double* x,
                                  sap_error* error) {
  const int32_t n = p->tree_size[tree];
  const double* L = NULL;
  if (n > SAP_SMALL_TREE) {
    sap_branch_factor factor;
    sap_status status = sap_problem_branch_factor(p, tree, &factor, error);
    if (status == SAP_STATUS_OK) {
      status =
          SAP_RESERVE(&p->cache->scratch, &p->cache->scratch_capacity, SAP_BRANCH_ROW(n), error);
    }
    if (status == SAP_STATUS_OK) {
      memmove(x, b, (size_t)n * sizeof(double));
      sap_branch_solve(&factor, x, p->cache->scratch);
    }
    return status;
  }
  const sap_status status = sap_problem_tree_factor(p, tree, &L, error);
  if (status != SAP_STATUS_OK) {
    return status;
  }
  double y[SAP_SMALL_TREE];
  sap_tree_forward_solve(L, n, b, 1, y);
  for (int32_t j = n; j-- > 0;) {
    const double* Lj = L + j * n;
    for (int32_t i = j + 1; i < n; ++i) {
      y[j] -= Lj[i] * x[i];
    }
    x[j] = y[j] * Lj[j];
  }
  return SAP_STATUS_OK;
}
