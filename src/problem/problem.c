// SPDX-License-Identifier: BSD-3-Clause
// The contact problem's trees, v* and guess; A is in problem_matrix.c, blocks in problem_blocks.c.
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
  sap_threads_destroy(problem->threads);
  sap_free(problem->tree_size);
  sap_free(problem->tree_start);
  sap_free(problem->diagonal_start);
  sap_free(problem->diagonal_set);
  sap_free(problem->coupling_head);
  sap_free(problem->diagonal);
  sap_free(problem->v_star);
  sap_free(problem->v_guess);
  sap_free(problem->gamma_guess);
  sap_free(problem->v0);
  sap_hash_map_free(&problem->lag.keys);
  sap_free(problem->lag.forces);
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

void sap_problem_lend_threads(sap_problem* p, sap_threads* threads) {
  sap_threads_lend(&p->threads, threads);
}

sap_status sap_problem_use_threads(sap_problem* p, int32_t count, sap_error* error) {
  if (p == NULL) {
    return sap_fail(error, SAP_STATUS_ARGUMENT, "sap_problem_use_threads: problem is NULL");
  }
  if (count < 1 || count > SAP_THREADS_MAX) {
    return sap_fail(error, SAP_STATUS_ARGUMENT, "threads = %d must be 1 to %d", (int)count,
                    (int)SAP_THREADS_MAX);
  }
  return sap_threads_set_count(&p->threads, count, error);
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

static void exchange_diagonals(sap_problem* p) {
  sap_problem_cache* cache = p->cache;
  double* const values = p->diagonal;
  const int32_t capacity = p->diagonal_capacity;
  p->diagonal = cache->diagonal_before;
  p->diagonal_capacity = cache->diagonal_before_capacity;
  cache->diagonal_before = values;
  cache->diagonal_before_capacity = capacity;
}

// Factors go stale; they are lost when the trees are others than before.
static void age_all(sap_problem* p, int32_t ntrees, const int32_t* tree_sizes) {
  const bool same =
      ntrees == p->ntrees &&
      (ntrees == 0 || memcmp(tree_sizes, p->tree_size, (size_t)ntrees * sizeof *tree_sizes) == 0);
  for (int32_t t = 0; t < ntrees; ++t) {
    if (same) {
      sap_problem_age_factors(p, t);
    } else {
      p->cache->factor_state[t] = p->cache->branch_state[t] = SAP_FACTOR_NONE;
      p->cache->lent[t] = (sap_branch_factor){0};
    }
  }
}

sap_status sap_problem_begin(sap_problem* p, double dt, int32_t ntrees, const int32_t* tree_sizes,
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
  RESERVE(p->cache->diagonal_before, p->cache->diagonal_before_capacity, squares)
  RESERVE(p->cache->factor_state, p->cache->factor_state_capacity, n)
  RESERVE(p->cache->branch, p->cache->branch_capacity, squares + 4 * nv)
  RESERVE(p->cache->branch_runs, p->cache->branch_runs_capacity, squares + 3 * nv)
  RESERVE(p->cache->branch_state, p->cache->branch_state_capacity, n)
  RESERVE(p->cache->lent, p->cache->lent_capacity, n)
#undef RESERVE
  if (status != SAP_STATUS_OK) {
    return status;
  }
  exchange_diagonals(p);
  age_all(p, ntrees, tree_sizes);
  p->dt = dt;
  p->ntrees = ntrees;
  p->nv = (int32_t)nv;
  p->nrows = p->nblocks = p->ncouplings = 0;
  p->ncoupling_values = p->nblock_trees = p->njacobian_values = 0;
  p->has_guess = p->has_v0 = false;
  p->v_expected = NULL;
  p->guess_rows = -1;
  p->has_momentum = p->has_mobility = false;
  p->contact_model = SAP_CONTACT_BY_MATERIAL;
  p->theta = p->theta_vq = 1.0;
  p->rigid = p->no_gliding = false;
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
  memset(p->v_star, 0, (size_t)nv * sizeof(double));
  return SAP_STATUS_OK;
}

sap_status sap_problem_reset(sap_problem* p, double dt, int32_t ntrees, const int32_t* tree_sizes,
                             sap_error* error) {
  const sap_status status = sap_problem_begin(p, dt, ntrees, tree_sizes, error);
  if (status == SAP_STATUS_OK) {
    memset(p->diagonal, 0, (size_t)p->diagonal_start[ntrees] * sizeof(double));
  }
  return status;
}

sap_status sap_problem_keep_v0(sap_problem* p, const double* v0, sap_error* error) {
  sap_status status = sap_check_numbers("v0", v0, p->nv, error);
  if (status == SAP_STATUS_OK) {
    status = SAP_RESERVE(&p->v0, &p->v0_capacity, p->nv, error);
  }
  if (status == SAP_STATUS_OK) {
    memcpy(p->v0, v0, (size_t)p->nv * sizeof *v0);
    p->has_v0 = true;
  }
  return status;
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
  p->v_expected = is_guess ? NULL : p->v_expected;
  return SAP_STATUS_OK;
}

sap_status sap_problem_set_v_star(sap_problem* problem, const double* v_star, sap_error* error) {
  return set_velocity(problem, "v_star", v_star, false, error);
}

sap_status sap_problem_set_v_guess(sap_problem* problem, const double* v_guess, sap_error* error) {
  return set_velocity(problem, "v_guess", v_guess, true, error);
}

sap_status sap_problem_set_gamma_guess(sap_problem* problem, const double* gamma_guess,
                                       sap_error* error) {
  sap_problem* p = problem;
  if (p == NULL || (gamma_guess == NULL && p->nrows > 0)) {
    return sap_fail(error, SAP_STATUS_ARGUMENT, "sap_problem_set_gamma_guess: %s is NULL",
                    p == NULL ? "problem" : "gamma_guess");
  }
  sap_status status = sap_check_numbers("gamma_guess", gamma_guess, p->nrows, error);
  if (status == SAP_STATUS_OK) {
    status = SAP_RESERVE(&p->gamma_guess, &p->gamma_guess_capacity, (int64_t)p->nrows, error);
  }
  if (status == SAP_STATUS_OK && p->nrows > 0) {
    memcpy(p->gamma_guess, gamma_guess, (size_t)p->nrows * sizeof(double));
  }
  p->guess_rows = status == SAP_STATUS_OK ? p->nrows : p->guess_rows;
  return status;
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
