// SPDX-License-Identifier: BSD-3-Clause
#include "integrators/momentum_factor.h"

#include <string.h>

#include "linalg/dense.h"
#include "problem/factor.h"
#include "solvers/islands.h"

// The largest tree that is factorized along its branches: a chain of 256 joints takes 1.6 times as
// long as in LAPACK, but the contact problem uses the same factor.
enum { BRANCH_MOST = 256 };

// Numbers the connected components of the coupling graph by their smallest tree.
static void number_groups(sap_momentum_factor* factor, int32_t* parent) {
  const sap_system* system = factor->system;
  for (int32_t t = 0; t < system->ntrees; ++t) {
    parent[t] = t;
  }
  for (int32_t c = 0; c < system->ncouplings; ++c) {
    sap_join_trees(parent, system->couplings[c][0], system->couplings[c][1]);
  }
  for (int32_t t = 0; t < system->ntrees; ++t) {
    const int32_t root = sap_tree_root(parent, t);
    factor->tree_group[t] = root == t ? factor->ngroups++ : factor->tree_group[root];
  }
}

static void fill_groups(sap_momentum_factor* factor) {
  const sap_system* system = factor->system;
  for (int32_t t = 0; t < system->ntrees; ++t) {
    sap_group* group = &factor->groups[factor->tree_group[t]];
    group->ntrees += 1;
    group->ndofs += system->tree_sizes[t];
  }
  int32_t first = 0;
  for (int32_t g = 0; g < factor->ngroups; ++g) {
    factor->groups[g].first_tree = first;
    first += factor->groups[g].ntrees;
    factor->groups[g].ntrees = 0;  // counts again below
  }
  for (int32_t t = 0; t < system->ntrees; ++t) {
    sap_group* group = &factor->groups[factor->tree_group[t]];
    factor->group_trees[group->first_tree + group->ntrees++] = t;
  }
}

// Returns the position of a tree among the trees of its group.
static int32_t local_index(const int32_t* trees, int32_t tree) {
  int32_t index = 0;
  while (trees[index] != tree) {
    ++index;
  }
  return index;
}

static sap_status create_sparse(sap_momentum_factor* factor, sap_group* group, sap_pool* pool,
                                sap_error* error) {
  const sap_system* system = factor->system;
  const int32_t* trees = factor->group_trees + group->first_tree;
  sap_sparse_group* sparse;
  SAP_TRY(SAP_POOL_ADD(pool, &sparse, 1, error));
  SAP_TRY(SAP_POOL_ADD_ALL(pool, error, SAP_ARRAY(&sparse->sizes, group->ntrees),
                           SAP_ARRAY(&sparse->couplings, system->ncouplings),
                           SAP_ARRAY(&sparse->x, group->ndofs)));
  group->sparse = sparse;
  for (int32_t c = 0; c < system->ncouplings; ++c) {
    if (&factor->groups[factor->tree_group[system->couplings[c][0]]] == group) {
      sparse->couplings[sparse->ncouplings++] = c;
    }
  }
  const int32_t count = group->ntrees + sparse->ncouplings;
  SAP_TRY(sap_pair_pattern_reserve(&sparse->pattern, pool, group->ntrees, count, error));
  for (int32_t j = 0; j < group->ntrees; ++j) {
    sparse->sizes[j] = system->tree_sizes[trees[j]];
    sparse->pattern.pairs[j] = (sap_block_pair){j, j, j};
  }
  for (int32_t i = group->ntrees; i < count; ++i) {
    const int32_t* pair = system->couplings[sparse->couplings[i - group->ntrees]];
    sparse->pattern.pairs[i] =
        sap_block_pair_of(local_index(trees, pair[0]), local_index(trees, pair[1]), i);
  }
  sap_pair_pattern_build(&sparse->pattern, group->ntrees, sparse->sizes, count);
  SAP_TRY(SAP_POOL_ADD(pool, &sparse->values, sparse->pattern.nvalues, error));
  SAP_TRY(sap_cholesky_create(&sparse->cholesky, error));
  return sap_cholesky_analyze(sparse->cholesky, &sparse->pattern.view, SAP_LINEAR_AUTO, NULL,
                              error);
}

static sap_status allocate_factors(sap_momentum_factor* factor, sap_pool* pool, sap_error* error) {
  const sap_system* system = factor->system;
  size_t numbers = 0, runs = 0;
  for (int32_t t = 0; t < system->ntrees; ++t) {
    const size_t n = (size_t)system->tree_sizes[t];
    numbers += SAP_BRANCH_SIZE(n);
    runs += SAP_BRANCH_RUNS(n);
  }
  double* next;
  int32_t* next_runs;
  SAP_TRY(SAP_POOL_ADD_ALL(pool, error, SAP_ARRAY(&factor->factors, system->ntrees),
                           SAP_ARRAY(&next, numbers), SAP_ARRAY(&next_runs, runs)));
  for (int32_t t = 0; t < system->ntrees; ++t) {
    const int32_t n = system->tree_sizes[t];
    const bool along = n > SAP_SMALL_TREE && n <= BRANCH_MOST;
    factor->factors[t] = (sap_branch_factor){n, next, along ? next_runs : NULL};
    next += SAP_BRANCH_SIZE(n);
    next_runs += SAP_BRANCH_RUNS(n);
  }
  return SAP_STATUS_OK;
}

static sap_status allocate_groups(sap_momentum_factor* factor, sap_pool* pool, sap_error* error) {
  const int32_t ntrees = factor->system->ntrees;
  SAP_TRY(SAP_POOL_ADD_ALL(pool, error, SAP_ARRAY(&factor->group_trees, ntrees),
                           SAP_ARRAY(&factor->tree_group, ntrees)));
  number_groups(factor, factor->group_trees);  // scratch until fill_groups
  SAP_TRY(SAP_POOL_ADD(pool, &factor->groups, factor->ngroups, error));
  fill_groups(factor);
  SAP_TRY(SAP_POOL_ADD(pool, &factor->generation, factor->ngroups, error));
  SAP_TRY(allocate_factors(factor, pool, error));
  return sap_tree_store_create(factor->system, pool, &factor->source, error);
}

sap_status sap_momentum_factor_create(const sap_system* system, sap_pool* pool,
                                      sap_momentum_factor* factor, sap_error* error) {
  factor->system = system;
  SAP_TRY(allocate_groups(factor, pool, error));
  for (int32_t g = 0; g < factor->ngroups; ++g) {
    if (factor->groups[g].ntrees > 1) {
      SAP_TRY(create_sparse(factor, &factor->groups[g], pool, error));
    }
  }
  return SAP_STATUS_OK;
}

void sap_momentum_factor_clear(sap_momentum_factor* factor) {
  for (int32_t g = 0; factor->groups != NULL && g < factor->ngroups; ++g) {
    if (factor->groups[g].sparse != NULL) {
      sap_cholesky_destroy(factor->groups[g].sparse->cholesky);
    }
  }
  memset(factor, 0, sizeof *factor);
}

// Copies the blocks of A into the values of the group's pattern.
static void fill_values(const sap_momentum_factor* factor, const sap_group* group,
                        const sap_tree_store* A) {
  const sap_sparse_group* sparse = group->sparse;
  const size_t* start = sparse->pattern.pair_values;
  for (int32_t j = 0; j < group->ntrees; ++j) {
    const size_t n = (size_t)sparse->sizes[j];
    memcpy(sparse->values + start[j], A->view.diagonal[factor->group_trees[group->first_tree + j]],
           n * n * sizeof(double));
  }
  for (int32_t k = 0; k < sparse->ncouplings; ++k) {
    const int32_t c = sparse->couplings[k], *pair = factor->system->couplings[c];
    sap_pair_copy(pair[0], pair[1], A->view.coupling[c], factor->system->tree_sizes[pair[0]],
                  factor->system->tree_sizes[pair[1]], sparse->values + start[group->ntrees + k]);
  }
}

static sap_status factor_tree(sap_momentum_factor* factor, int32_t index, const sap_tree_store* A,
                              sap_error* error) {
  const size_t n = (size_t)factor->groups[index].ndofs;
  const int32_t tree = factor->group_trees[factor->groups[index].first_tree];
  const double* block = A->view.diagonal[tree];
  double* source = factor->source.view.diagonal[tree];
  const sap_branch_factor* to = &factor->factors[tree];
  if (factor->generation[index] != 0 && memcmp(block, source, n * n * sizeof(double)) == 0) {
    return SAP_STATUS_OK;
  }
  memcpy(source, block, n * n * sizeof(double));
  if (to->n > BRANCH_MOST) {
    memcpy(to->L, block, n * n * sizeof(double));
  }
  const bool done =
      to->n > BRANCH_MOST ? sap_dense_factorize(to->n, to->L) < 0 : sap_tree_factorize(block, to);
  SAP_FAIL_IF(!done, error, SAP_STATUS_NOT_SPD,
              "A = M + dt^2 theta theta_vq K + dt theta D of tree %d is not positive "
              "definite",
              tree);
  return SAP_STATUS_OK;
}

static sap_status factor_trees(sap_momentum_factor* factor, int32_t index, const sap_tree_store* A,
                               sap_error* error) {
  const sap_group* group = &factor->groups[index];
  fill_values(factor, group, A);
  int32_t failed = 0;
  const sap_status status =
      sap_cholesky_factorize(group->sparse->cholesky, group->sparse->values, &failed, error);
  SAP_FAIL_IF(status == SAP_STATUS_NOT_SPD, error, status,
              "A of the trees coupled to tree %d is not positive definite (tree %d)",
              factor->group_trees[group->first_tree],
              factor->group_trees[group->first_tree + failed]);
  return status;
}

sap_status sap_momentum_factor_group(sap_momentum_factor* factor, int32_t index,
                                     const sap_tree_store* A, sap_error* error) {
  if (factor->generation[index] == A->generation) {
    return SAP_STATUS_OK;
  }
  const sap_status status = factor->groups[index].sparse == NULL
                                ? factor_tree(factor, index, A, error)
                                : factor_trees(factor, index, A, error);
  factor->generation[index] = status == SAP_STATUS_OK ? A->generation : 0;
  return status;
}

const sap_branch_factor* sap_momentum_factor_branch(const sap_momentum_factor* factor, int32_t tree,
                                                    const sap_tree_store* A) {
  const int32_t group = factor->tree_group[tree];
  const sap_branch_factor* branch = &factor->factors[tree];
  return branch->n <= BRANCH_MOST && factor->groups[group].sparse == NULL &&
                 factor->generation[group] == A->generation
             ? branch
             : NULL;
}

void sap_momentum_factor_solve(sap_momentum_factor* factor, int32_t index, double* x) {
  const sap_group* group = &factor->groups[index];
  const int32_t* trees = factor->group_trees + group->first_tree;
  const sap_branch_factor* branch = &factor->factors[trees[0]];
  if (group->sparse == NULL && branch->n > BRANCH_MOST) {
    sap_dense_factor_solve(branch->n, branch->L, x + factor->source.tree_dof[trees[0]]);
    return;
  }
  if (group->sparse == NULL) {
    double work[SAP_BRANCH_ROW(BRANCH_MOST)];
    sap_tree_solve(branch, x + factor->source.tree_dof[trees[0]], work);
    return;
  }
  double* packed = group->sparse->x;
  for (int32_t i = 0; i < group->ntrees; ++i) {
    const size_t n = (size_t)factor->system->tree_sizes[trees[i]];
    memcpy(packed, x + factor->source.tree_dof[trees[i]], n * sizeof(double));
    packed += n;
  }
  sap_cholesky_solve(group->sparse->cholesky, group->sparse->x);
  packed = group->sparse->x;
  for (int32_t i = 0; i < group->ntrees; ++i) {
    const size_t n = (size_t)factor->system->tree_sizes[trees[i]];
    memcpy(x + factor->source.tree_dof[trees[i]], packed, n * sizeof(double));
    packed += n;
  }
}
