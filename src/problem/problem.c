// SPDX-License-Identifier: BSD-3-Clause
// The contact problem's trees, A, v* and guess; blocks are in problem_blocks.c.
#include <math.h>
#include <string.h>

#include "core/memory.h"
#include "math/finite.h"
#include "problem/problem_data.h"

sap_status sap_problem_reserve(void* array, int32_t* capacity, int64_t needed, size_t size,
                               sap_error* error) {
  if (needed > INT32_MAX) {
    return sap_fail(error, SAP_STATUS_MEMORY, "problem too large: %lld elements",
                    (long long)needed);
  }
  return sap_grow(array, capacity, (int32_t)needed, size, error);
}

sap_status sap_problem_create(sap_problem** out, sap_error* error) {
  if (out == NULL) {
    return sap_fail(error, SAP_STATUS_ARGUMENT, "sap_problem_create: out is NULL");
  }
  *out = NULL;
  sap_problem* problem = sap_allocate(1, sizeof *problem);
  sap_problem_cache* cache = sap_allocate(1, sizeof *cache);
  if (problem == NULL || cache == NULL) {
    sap_free(problem);
    sap_free(cache);
    return sap_fail(error, SAP_STATUS_MEMORY, "out of memory for a problem");
  }
  problem->cache = cache;
  *out = problem;
  return SAP_STATUS_OK;
}

void sap_problem_destroy(sap_problem* problem) {
  if (problem == NULL) {
    return;
  }
  sap_problem_cache_destroy(problem->cache);
  sap_free(problem->tree_size);
  sap_free(problem->tree_start);
  sap_free(problem->diagonal_start);
  sap_free(problem->diagonal_set);
  sap_free(problem->coupling_head);
  sap_free(problem->diagonal);
  sap_free(problem->v_star);
  sap_free(problem->v_guess);
  sap_free(problem->v0);
  sap_free(problem->lag.entries);
  sap_free(problem->couplings);
  sap_free(problem->coupling_values);
  sap_free(problem->blocks);
  sap_free(problem->block_trees);
  sap_free(problem->jacobians);
  sap_free(problem->jacobian_values);
  sap_free(problem->R);
  sap_free(problem->v_hat);
  sap_free(problem->lower);
  sap_free(problem->upper);
  sap_free(problem);
}

static sap_status check_sizes(double dt, int32_t ntrees, const int32_t* tree_sizes,
                              int64_t* velocities, int64_t* squares, sap_error* error) {
  if (!isfinite(dt)) {
    return sap_fail(error, SAP_STATUS_NOT_FINITE, "dt = %g must be finite and > 0 s", dt);
  }
  if (!(dt > 0.0)) {
    return sap_fail(error, SAP_STATUS_ARGUMENT, "dt = %g must be finite and > 0 s", dt);
  }
  if (ntrees < 0 || (ntrees > 0 && tree_sizes == NULL)) {
    return sap_fail(error, SAP_STATUS_ARGUMENT, "ntrees = %d must be >= 0, with sizes given",
                    ntrees);
  }
  *velocities = 0;
  *squares = 0;
  for (int32_t t = 0; t < ntrees; ++t) {
    const int64_t n = tree_sizes[t];
    if (n < 1 || n > 46340) {  // 46340^2 < 2^31: entries of a block are counted in int32_t
      return sap_fail(error, SAP_STATUS_ARGUMENT, "tree %d: size %d must be in [1, 46340]", t,
                      tree_sizes[t]);
    }
    *velocities += n;
    *squares += n * n;
  }
  return SAP_STATUS_OK;
}

static void age(sap_factor_state* state) {
  *state = *state == SAP_FACTOR_VALID ? SAP_FACTOR_STALE : *state;
}

// Factors go stale; they are lost when the trees are others than before.
static void age_factors(sap_problem* p, int32_t ntrees, const int32_t* tree_sizes) {
  const bool same =
      ntrees == p->ntrees &&
      (ntrees == 0 || memcmp(tree_sizes, p->tree_size, (size_t)ntrees * sizeof *tree_sizes) == 0);
  for (int32_t t = 0; t < ntrees; ++t) {
    if (same) {
      age(&p->cache->factor_state[t]);
      age(&p->cache->branch_state[t]);
    } else {
      p->cache->factor_state[t] = p->cache->branch_state[t] = SAP_FACTOR_NONE;
    }
  }
}

sap_status sap_problem_reset(sap_problem* p, double dt, int32_t ntrees, const int32_t* tree_sizes,
                             sap_error* error) {
  if (p == NULL) {
    return sap_fail(error, SAP_STATUS_ARGUMENT, "sap_problem_reset: problem is NULL");
  }
  int64_t nv = 0, squares = 0;
  sap_status status = check_sizes(dt, ntrees, tree_sizes, &nv, &squares, error);
  const int64_t n = ntrees;
#define RESERVE(array, capacity, needed)                          \
  if (status == SAP_STATUS_OK) {                                  \
    status = SAP_RESERVE(&(array), &(capacity), (needed), error); \
  }
  RESERVE(p->tree_size, p->tree_size_capacity, n)
  RESERVE(p->tree_start, p->tree_start_capacity, n + 1)
  RESERVE(p->diagonal_start, p->diagonal_start_capacity, n + 1)
  RESERVE(p->diagonal_set, p->diagonal_set_capacity, n)
  RESERVE(p->coupling_head, p->coupling_head_capacity, n)
  RESERVE(p->diagonal, p->diagonal_capacity, squares)
  RESERVE(p->v_star, p->v_star_capacity, nv)
  RESERVE(p->v_guess, p->v_guess_capacity, nv)
  RESERVE(p->cache->factor, p->cache->factor_capacity, squares)
  RESERVE(p->cache->factor_of, p->cache->factor_of_capacity, squares)
  RESERVE(p->cache->factor_state, p->cache->factor_state_capacity, n)
  RESERVE(p->cache->branch, p->cache->branch_capacity, squares + 4 * nv)
  RESERVE(p->cache->branch_runs, p->cache->branch_runs_capacity, squares + 3 * nv)
  RESERVE(p->cache->branch_of, p->cache->branch_of_capacity, squares)
  RESERVE(p->cache->branch_state, p->cache->branch_state_capacity, n)
#undef RESERVE
  if (status != SAP_STATUS_OK) {
    return status;
  }
  age_factors(p, ntrees, tree_sizes);
  p->dt = dt;
  p->ntrees = ntrees;
  p->nv = (int32_t)nv;
  p->nrows = p->nblocks = p->ncouplings = 0;
  p->ncoupling_values = p->nblock_trees = p->njacobian_values = 0;
  p->has_guess = p->has_v0 = false;
  p->has_momentum = p->has_mobility = false;
  p->contact_model = SAP_CONTACT_BY_MATERIAL;
  p->theta = p->theta_vq = 1.0;
  p->rigid = false;
  p->tree_start[0] = 0;
  p->diagonal_start[0] = 0;
  for (int32_t t = 0; t < ntrees; ++t) {
    const int32_t size = tree_sizes[t];
    p->tree_size[t] = size;
    p->tree_start[t + 1] = p->tree_start[t] + size;
    p->diagonal_start[t + 1] = p->diagonal_start[t] + size * size;
    p->diagonal_set[t] = false;
    p->coupling_head[t] = -1;
  }
  memset(p->diagonal, 0, (size_t)squares * sizeof(double));
  memset(p->v_star, 0, (size_t)nv * sizeof(double));
  return SAP_STATUS_OK;
}

int32_t sap_problem_find_coupling(const sap_problem* p, int32_t tree_a, int32_t tree_b) {
  const int32_t smaller = tree_a < tree_b ? tree_a : tree_b;
  const int32_t larger = tree_a < tree_b ? tree_b : tree_a;
  for (int32_t c = p->coupling_head[smaller]; c >= 0; c = p->couplings[c].next) {
    if (p->couplings[c].tree_a == larger || p->couplings[c].tree_b == larger) {
      return c;
    }
  }
  return -1;
}

static sap_status check_block_entries(const sap_problem* p, int32_t a, int32_t b,
                                      const double* block, int32_t ld, bool symmetric,
                                      sap_error* error) {
  if (a == b && symmetric && sap_lower_finite(block, (size_t)p->tree_size[a], (size_t)ld)) {
    return SAP_STATUS_OK;
  }
  for (int32_t j = 0; j < p->tree_size[b]; ++j) {
    const int32_t first = a == b && symmetric ? j : 0;
    const double* column = block + (size_t)j * (size_t)ld;
    const bool good = sap_all_finite(column + first, (size_t)(p->tree_size[a] - first));
    for (int32_t i = first; !good && i < p->tree_size[a]; ++i) {
      const double x = column[i];
      if (!isfinite(x)) {
        return sap_fail(error, SAP_STATUS_NOT_FINITE,
                        "A block (tree %d, tree %d): entry (%d, %d) = %g must be finite", a, b, i,
                        j, x);
      }
    }
  }
  return SAP_STATUS_OK;
}

sap_status sap_problem_check_matrix(const sap_problem* p, int32_t tree_a, int32_t tree_b,
                                    const double* block, int32_t leading_dimension, bool symmetric,
                                    sap_error* error) {
  if (p == NULL || block == NULL) {
    return sap_fail(error, SAP_STATUS_ARGUMENT, "sap_problem_set_%s_block: %s is NULL",
                    symmetric ? "momentum" : "mobility", p == NULL ? "problem" : "block");
  }
  if (tree_a < 0 || tree_a >= p->ntrees || tree_b < 0 || tree_b >= p->ntrees) {
    return sap_fail(error, SAP_STATUS_ARGUMENT,
                    "A block (tree %d, tree %d): trees must be in [0, %d)", tree_a, tree_b,
                    p->ntrees);
  }
  if (leading_dimension < p->tree_size[tree_a]) {
    return sap_fail(error, SAP_STATUS_ARGUMENT,
                    "A block (tree %d, tree %d): leading dimension %d must be >= %d", tree_a,
                    tree_b, leading_dimension, p->tree_size[tree_a]);
  }
  return check_block_entries(p, tree_a, tree_b, block, leading_dimension, symmetric, error);
}

static inline void copy_symmetric(double* restrict A, const double* restrict block, size_t n,
                                  size_t ld) {
  for (size_t j = 0; j < n; ++j) {
    for (size_t i = j; i < n; ++i) {
      const double x = block[j * ld + i];
      A[j * n + i] = x;
      A[i * n + j] = x;
    }
  }
}

// Both triangles from the lower one.
static void set_diagonal(sap_problem* p, int32_t tree, const double* block, int32_t ld) {
  const size_t n = (size_t)p->tree_size[tree];
  double* A = p->diagonal + p->diagonal_start[tree];
  if (n == 6) {
    copy_symmetric(A, block, 6, (size_t)ld);
  } else {
    copy_symmetric(A, block, n, (size_t)ld);
  }
  p->diagonal_set[tree] = true;
  age(&p->cache->factor_state[tree]);
  age(&p->cache->branch_state[tree]);
}

sap_status sap_problem_add_coupling(sap_problem* p, int32_t tree_a, int32_t tree_b, int64_t nvalues,
                                    int32_t* out, sap_error* error) {
  const int64_t needed = (int64_t)p->ncoupling_values + nvalues;
  sap_status status =
      SAP_RESERVE(&p->couplings, &p->coupling_capacity, (int64_t)p->ncouplings + 1, error);
  if (status == SAP_STATUS_OK) {
    status = SAP_RESERVE(&p->coupling_values, &p->coupling_value_capacity, needed, error);
  }
  if (status != SAP_STATUS_OK) {
    return status;
  }
  const int32_t smaller = tree_a < tree_b ? tree_a : tree_b, c = p->ncouplings++;
  p->couplings[c] =
      (sap_coupling){tree_a, tree_b, p->ncoupling_values, p->coupling_head[smaller], false};
  p->coupling_head[smaller] = c;
  p->ncoupling_values = (int32_t)needed;
  *out = c;
  return SAP_STATUS_OK;
}

static sap_status set_coupling(sap_problem* p, int32_t a, int32_t b, const double* block,
                               int32_t ld, sap_error* error) {
  const size_t na = (size_t)p->tree_size[a], nb = (size_t)p->tree_size[b];
  int32_t c = sap_problem_find_coupling(p, a, b);
  if (c >= 0 && p->couplings[c].tree_a != a) {
    return sap_fail(error, SAP_STATUS_ARGUMENT,
                    "A block (tree %d, tree %d): its transpose (%d, %d) is set already", a, b, b,
                    a);
  }
  if (c < 0) {
    const sap_status status = sap_problem_add_coupling(p, a, b, (int64_t)(na * nb), &c, error);
    if (status != SAP_STATUS_OK) {
      return status;
    }
  }
  double* values = p->coupling_values + p->couplings[c].values;
  for (size_t j = 0; j < nb; ++j) {
    memcpy(values + j * na, block + j * (size_t)ld, na * sizeof(double));
  }
  return SAP_STATUS_OK;
}

sap_status sap_problem_set_momentum_block(sap_problem* p, int32_t tree_a, int32_t tree_b,
                                          const double* block, int32_t leading_dimension,
                                          sap_error* error) {
  const sap_status status =
      sap_problem_check_matrix(p, tree_a, tree_b, block, leading_dimension, true, error);
  if (status != SAP_STATUS_OK) {
    return status;
  }
  if (p->has_mobility) {
    return sap_fail(error, SAP_STATUS_ARGUMENT,
                    "A block (tree %d, tree %d): the problem has a mobility instead of A", tree_a,
                    tree_b);
  }
  p->has_momentum = true;
  if (tree_a != tree_b) {
    return set_coupling(p, tree_a, tree_b, block, leading_dimension, error);
  }
  set_diagonal(p, tree_a, block, leading_dimension);
  return SAP_STATUS_OK;
}

static sap_status set_velocity(sap_problem* p, const char* name, const double* from, bool is_guess,
                               sap_error* error) {
  if (p == NULL || (from == NULL && p->nv > 0)) {
    return sap_fail(error, SAP_STATUS_ARGUMENT, "sap_problem_set_%s: %s is NULL", name,
                    p == NULL ? "problem" : name);
  }
  const bool good = sap_all_finite(from, (size_t)p->nv);
  for (int32_t t = 0; !good && t < p->ntrees; ++t) {
    for (int32_t i = p->tree_start[t]; i < p->tree_start[t + 1]; ++i) {
      if (!isfinite(from[i])) {
        return sap_fail(error, SAP_STATUS_NOT_FINITE, "%s[%d] = %g (tree %d) must be finite", name,
                        i, from[i], t);
      }
    }
  }
  if (p->nv > 0) {
    memcpy(is_guess ? p->v_guess : p->v_star, from, (size_t)p->nv * sizeof(double));
  }
  p->has_guess = p->has_guess || is_guess;
  return SAP_STATUS_OK;
}

sap_status sap_problem_set_v_star(sap_problem* problem, const double* v_star, sap_error* error) {
  return set_velocity(problem, "v_star", v_star, false, error);
}

sap_status sap_problem_set_v_guess(sap_problem* problem, const double* v_guess, sap_error* error) {
  return set_velocity(problem, "v_guess", v_guess, true, error);
}

double sap_problem_dt(const sap_problem* problem) {
  return problem->dt;
}

int32_t sap_problem_tree_count(const sap_problem* problem) {
  return problem->ntrees;
}

int32_t sap_problem_tree_size(const sap_problem* problem, int32_t tree) {
  return tree >= 0 && tree < problem->ntrees ? problem->tree_size[tree] : 0;
}

int32_t sap_problem_velocity_count(const sap_problem* problem) {
  return problem->nv;
}

int32_t sap_problem_row_count(const sap_problem* problem) {
  return problem->nrows;
}

int32_t sap_problem_block_count(const sap_problem* problem) {
  return problem->nblocks;
}

const double* sap_problem_v_star(const sap_problem* problem) {
  return problem->v_star;
}

const double* sap_problem_v_guess(const sap_problem* problem) {
  return problem->has_guess ? problem->v_guess : problem->v_star;
}

const double* sap_problem_momentum_block(const sap_problem* p, int32_t tree_a, int32_t tree_b) {
  if (p->has_mobility || tree_a < 0 || tree_a >= p->ntrees || tree_b < 0 || tree_b >= p->ntrees) {
    return NULL;
  }
  if (tree_a == tree_b) {
    return p->diagonal_set[tree_a] ? p->diagonal + p->diagonal_start[tree_a] : NULL;
  }
  const int32_t c = sap_problem_find_coupling(p, tree_a, tree_b);
  return c >= 0 && p->couplings[c].tree_a == tree_a ? p->coupling_values + p->couplings[c].values
                                                    : NULL;
}
