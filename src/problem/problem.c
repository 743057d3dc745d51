// SPDX-License-Identifier: BSD-3-Clause
// The contact problem's memory, trees, v* and guesses.
#include "problem/problem_data.h"

#include <math.h>
#include <string.h>

#include "core/memory.h"
#include "math/scalar.h"
#include "problem/factor.h"

static void move_views(sap_problem* p) {
  const double* J = p->jacobian_values;
  SAP_EACH(const sap_block_data, block, p->blocks, p->nblocks) {
    for (int32_t t = block->first_tree; t < block->first_tree + block->ntrees; ++t) {
      p->jacobians[t] = J;
      J += (size_t)block->nrows * (size_t)p->tree_size[p->block_trees[t]];
    }
  }
}

sap_status sap_problem_grow_group(sap_problem* p, sap_problem_group group, int64_t needed,
                                  sap_error* error) {
  sap_problem_cache* c = p->cache;
  const int64_t capacity = p->capacity[group], half_more = capacity + capacity / 2;
  const int64_t wanted = half_more > needed && half_more <= INT32_MAX ? half_more : needed;
#define ARRAY(pointer) &(pointer), sizeof *(pointer)
  const struct {
    sap_problem_group group;
    void* array;
    size_t size;
  } arrays[] = {{SAP_GROUP_TREES, ARRAY(p->tree_size)},
                {SAP_GROUP_TREES, ARRAY(p->tree_start)},
                {SAP_GROUP_TREES, ARRAY(p->diagonal_start)},
                {SAP_GROUP_TREES, ARRAY(p->diagonal_set)},
                {SAP_GROUP_TREES, ARRAY(p->coupling_head)},
                {SAP_GROUP_TREES, ARRAY(c->factor_state)},
                {SAP_GROUP_TREES, ARRAY(c->lent)},
                {SAP_GROUP_VELOCITIES, ARRAY(p->v_star)},
                {SAP_GROUP_VELOCITIES, ARRAY(p->v_guess)},
                {SAP_GROUP_VELOCITIES, ARRAY(p->v0)},
                {SAP_GROUP_SQUARES, ARRAY(p->diagonal)},
                {SAP_GROUP_SQUARES, ARRAY(c->diagonal_before)},
                {SAP_GROUP_BRANCHES, ARRAY(c->factor)},
                {SAP_GROUP_BRANCHES, ARRAY(c->runs)},
                {SAP_GROUP_COUPLINGS, ARRAY(p->couplings)},
                {SAP_GROUP_COUPLING_VALUES, ARRAY(p->coupling_values)},
                {SAP_GROUP_BLOCKS, ARRAY(p->blocks)},
                {SAP_GROUP_BLOCKS, ARRAY(p->repeats)},
                {SAP_GROUP_BLOCK_TREES, ARRAY(p->block_trees)},
                {SAP_GROUP_BLOCK_TREES, ARRAY(p->jacobians)},
                {SAP_GROUP_JACOBIANS, ARRAY(p->jacobian_values)},
                {SAP_GROUP_ROWS, ARRAY(p->R)},
                {SAP_GROUP_ROWS, ARRAY(p->v_hat_law)},
                {SAP_GROUP_ROWS, ARRAY(p->v_hat_shifted)},
                {SAP_GROUP_ROWS, ARRAY(p->missed)},
                {SAP_GROUP_ROWS, ARRAY(p->missed_before)},
                {SAP_GROUP_ROWS, ARRAY(p->lower)},
                {SAP_GROUP_ROWS, ARRAY(p->upper)},
                {SAP_GROUP_ROWS, ARRAY(p->gamma_guess)}};
  for (size_t i = 0; i < sizeof arrays / sizeof *arrays; ++i) {
    if (arrays[i].group == group) {
      SAP_TRY(sap_pool_grow(&c->pool, arrays[i].array, wanted, arrays[i].size, error));
    }
  }
  p->capacity[group] = (int32_t)wanted;
  if (group == SAP_GROUP_JACOBIANS) {
    move_views(p);
  }
  return SAP_STATUS_OK;
}

sap_status sap_problem_create(sap_problem** out, sap_error* error) {
  SAP_NOT_NULL(error, out);
  *out = NULL;
  sap_problem* problem = sap_allocate(1, sizeof *problem);
  sap_problem_cache* cache = sap_allocate(1, sizeof *cache);
  if (problem == NULL || cache == NULL || pthread_mutex_init(&cache->mutex, NULL) != 0) {
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
  sap_warm_start_clear(&problem->lag);
  sap_free(problem);
}

static sap_status check_sizes(double dt, int32_t ntrees, const int32_t* tree_sizes,
                              int64_t* velocities, int64_t* squares, sap_error* error) {
  SAP_FAIL_IF(!isfinite(dt) || !(dt > 0.0), error,
              isfinite(dt) ? SAP_STATUS_ARGUMENT : SAP_STATUS_NOT_FINITE,
              "dt = %g must be finite and > 0 s", dt);
  SAP_FAIL_IF(ntrees < 0 || (ntrees > 0 && tree_sizes == NULL), error, SAP_STATUS_ARGUMENT,
              "ntrees = %d must be >= 0, with sizes given", ntrees);
  *velocities = 0;
  *squares = 0;
  for (int32_t t = 0; t < ntrees; ++t) {
    const int64_t n = tree_sizes[t];
    // 46340^2 < 2^31: entries of a block are counted in int32_t
    SAP_FAIL_IF(n < 1 || n > 46340, error, SAP_STATUS_ARGUMENT,
                "tree %d: size %d must be in [1, 46340]", t, tree_sizes[t]);
    *velocities += n;
    *squares += n * n;
  }
  return SAP_STATUS_OK;
}

// Valid factors become stale; all are lost if the trees are others than before.
static void age_all(sap_problem* p, int32_t ntrees, const int32_t* tree_sizes) {
  const bool same =
      ntrees == p->ntrees &&
      (ntrees == 0 || memcmp(tree_sizes, p->tree_size, (size_t)ntrees * sizeof *tree_sizes) == 0);
  for (int32_t t = 0; t < ntrees; ++t) {
    if (same) {
      sap_problem_keep_factor(p, t, SAP_FACTOR_VALID);
    } else {
      sap_problem_drop_factor(p, t);
    }
  }
}

sap_status sap_problem_begin(sap_problem* p, double dt, int32_t ntrees, const int32_t* tree_sizes,
                             sap_error* error) {
  SAP_NOT_NULL(error, p);
  int64_t nv = 0, squares = 0;
  SAP_TRY(check_sizes(dt, ntrees, tree_sizes, &nv, &squares, error));
  SAP_TRY(sap_problem_reserve_group(p, SAP_GROUP_TREES, (int64_t)ntrees + 1, error));
  SAP_TRY(sap_problem_reserve_group(p, SAP_GROUP_VELOCITIES, nv, error));
  SAP_TRY(sap_problem_reserve_group(p, SAP_GROUP_SQUARES, squares, error));
  SAP_TRY(sap_problem_reserve_group(p, SAP_GROUP_BRANCHES, squares + 4 * nv, error));
  double* const values = p->diagonal;
  p->diagonal = p->cache->diagonal_before;
  p->cache->diagonal_before = values;
  age_all(p, ntrees, tree_sizes);
  p->dt = dt;
  p->ntrees = ntrees;
  p->nv = (int32_t)nv;
  p->nrows = p->nblocks = p->ncouplings = 0;
  p->ncoupling_values = p->nblock_trees = p->njacobian_values = 0;
  p->has_guess = false;
  p->v_expected = NULL;
  p->guess_rows = -1;
  p->has_momentum = p->has_mobility = false;
  p->law_is_set = p->solved = p->pauses = false;
  p->closure_share = 0.0;
  p->scheme = sap_contact_scheme_default();
  p->scheme.v_star = p->v_star;
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
  SAP_TRY(sap_problem_begin(p, dt, ntrees, tree_sizes, error));
  memset(p->diagonal, 0, (size_t)p->diagonal_start[ntrees] * sizeof(double));
  return SAP_STATUS_OK;
}

static sap_status set_velocity(sap_problem* p, const char* name, const double* from, bool is_guess,
                               sap_error* error) {
  SAP_FAIL_IF(p == NULL || (from == NULL && p->nv > 0), error, SAP_STATUS_ARGUMENT,
              "sap_problem_set_%s: %s is NULL", name, p == NULL ? "problem" : name);
  const bool good = sap_all_finite(from, (size_t)p->nv);
  for (int32_t t = 0; !good && t < p->ntrees; ++t) {
    for (int32_t i = p->tree_start[t]; i < p->tree_start[t + 1]; ++i) {
      SAP_FAIL_IF(!isfinite(from[i]), error, SAP_STATUS_NOT_FINITE,
                  "%s[%d] = %g (tree %d) must be finite", name, i, from[i], t);
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

sap_status sap_problem_set_gamma_guess(sap_problem* p, const double* gamma_guess,
                                       sap_error* error) {
  SAP_FAIL_IF(p == NULL || (gamma_guess == NULL && p->nrows > 0), error, SAP_STATUS_ARGUMENT,
              "sap_problem_set_gamma_guess: %s is NULL", p == NULL ? "problem" : "gamma_guess");
  SAP_TRY(sap_check_numbers("gamma_guess", gamma_guess, p->nrows, error));
  if (p->nrows > 0) {
    memcpy(p->gamma_guess, gamma_guess, (size_t)p->nrows * sizeof(double));
  }
  p->guess_rows = p->nrows;
  return SAP_STATUS_OK;
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
