// SPDX-License-Identifier: BSD-3-Clause
// Which trees are coupled, and the memory of their factors.
#include <string.h>

#include "core/memory.h"
#include "integrators/momentum_factor.h"

// A single tree of this many velocities follows its branches: below, nothing is gained; beyond,
// LAPACK on the full matrix is faster where there are few branches.
enum { BRANCH_FIRST = 7 };

static int32_t find_root(int32_t* parent, int32_t tree) {
  while (parent[tree] != tree) {
    parent[tree] = parent[parent[tree]];
    tree = parent[tree];
  }
  return tree;
}

// Connected components of the coupling graph, numbered by their smallest tree.
static void number_groups(sap_momentum_factor* factor, int32_t* parent) {
  const sap_system* system = factor->system;
  for (int32_t t = 0; t < system->ntrees; ++t) {
    parent[t] = t;
  }
  for (int32_t c = 0; c < system->ncouplings; ++c) {
    const int32_t a = find_root(parent, system->couplings[c][0]);
    const int32_t b = find_root(parent, system->couplings[c][1]);
    parent[a > b ? a : b] = a > b ? b : a;
  }
  for (int32_t t = 0; t < system->ntrees; ++t) {
    const int32_t root = find_root(parent, t);
    factor->tree_group[t] = root == t ? factor->ngroups++ : factor->tree_group[root];
  }
}

static void fill_groups(sap_momentum_factor* factor) {
  const sap_system* system = factor->system;
  for (int32_t t = 0; t < system->ntrees; ++t) {
    sap_group* group = &factor->groups[factor->tree_group[t]];
    group->ntrees += 1;
    group->ndofs += system->tree_sizes[t];
    factor->tree_dof[t + 1] = factor->tree_dof[t] + system->tree_sizes[t];
  }
  int32_t first = 0;
  for (int32_t g = 0; g < factor->ngroups; ++g) {
    factor->groups[g].first_tree = first;
    first += factor->groups[g].ntrees;
    factor->groups[g].ntrees = 0;  // counts again as the trees go in
  }
  for (int32_t t = 0; t < system->ntrees; ++t) {
    sap_group* group = &factor->groups[factor->tree_group[t]];
    factor->group_trees[group->first_tree + group->ntrees++] = t;
  }
}

typedef struct pattern_arrays {
  int32_t *sizes, *column_start, *row;
  size_t* value_start;
} pattern_arrays;

// Where a tree stands among its group's ascending trees.
static int32_t local_index(const int32_t* trees, int32_t count, int32_t tree) {
  int32_t low = 0;
  int32_t high = count - 1;
  while (low < high) {
    const int32_t middle = low + (high - low) / 2;
    if (trees[middle] < tree) {
      low = middle + 1;
    } else {
      high = middle;
    }
  }
  return low;
}

// Adds column j: its diagonal block, then the couplings below it by ascending row.
static void add_column(const sap_momentum_factor* factor, const sap_group* group, int32_t j,
                       const pattern_arrays* arrays, int32_t* entry_source) {
  const sap_system* system = factor->system;
  const int32_t* trees = factor->group_trees + group->first_tree;
  const int32_t first = arrays->column_start[j];
  int32_t end = first;
  arrays->row[end] = j;
  entry_source[end++] = trees[j];
  for (int32_t c = 0; c < system->ncouplings; ++c) {
    const int32_t* pair = system->couplings[c];
    const bool as_is = pair[1] == trees[j] && pair[0] > trees[j];
    const bool transposed = pair[0] == trees[j] && pair[1] > trees[j];
    if (!as_is && !transposed) {
      continue;
    }
    const int32_t row = local_index(trees, group->ntrees, as_is ? pair[0] : pair[1]);
    int32_t e = end++;
    for (; e > first + 1 && arrays->row[e - 1] > row; --e) {
      arrays->row[e] = arrays->row[e - 1];
      entry_source[e] = entry_source[e - 1];
    }
    arrays->row[e] = row;
    entry_source[e] = as_is ? -1 - c : -1 - system->ncouplings - c;
  }
  arrays->column_start[j + 1] = end;
}

static sap_status create_sparse(sap_momentum_factor* factor, sap_group* group, sap_error* error) {
  const sap_system* system = factor->system;
  int32_t entries = group->ntrees;
  for (int32_t c = 0; c < system->ncouplings; ++c) {
    entries += &factor->groups[factor->tree_group[system->couplings[c][0]]] == group;
  }
  sap_sparse_group* sparse = sap_allocate(1, sizeof *sparse);
  pattern_arrays arrays = {
      .sizes = sap_allocate((size_t)group->ntrees, sizeof(int32_t)),
      .column_start = sap_allocate((size_t)group->ntrees + 1, sizeof(int32_t)),
      .row = sap_allocate((size_t)entries, sizeof(int32_t)),
      .value_start = sap_allocate((size_t)entries, sizeof(size_t)),
  };
  if (sparse == NULL) {
    sap_free(arrays.sizes);
    sap_free(arrays.column_start);
    sap_free(arrays.row);
    sap_free(arrays.value_start);
    return sap_fail(error, SAP_STATUS_MEMORY, "out of memory: coupled trees");
  }
  group->sparse = sparse;
  sparse->pattern = (sap_block_pattern){group->ntrees, arrays.sizes, arrays.column_start,
                                        arrays.row, arrays.value_start};
  sparse->entry_source = sap_allocate((size_t)entries, sizeof(int32_t));
  sparse->x = sap_allocate((size_t)group->ndofs, sizeof(double));
  if (arrays.sizes == NULL || arrays.column_start == NULL || arrays.row == NULL ||
      arrays.value_start == NULL || sparse->entry_source == NULL || sparse->x == NULL) {
    return sap_fail(error, SAP_STATUS_MEMORY, "out of memory: coupled trees");
  }
  size_t count = 0;
  for (int32_t j = 0; j < group->ntrees; ++j) {
    arrays.sizes[j] = system->tree_sizes[factor->group_trees[group->first_tree + j]];
  }
  for (int32_t j = 0; j < group->ntrees; ++j) {
    add_column(factor, group, j, &arrays, sparse->entry_source);
    for (int32_t e = arrays.column_start[j]; e < arrays.column_start[j + 1]; ++e) {
      arrays.value_start[e] = count;
      count += (size_t)arrays.sizes[arrays.row[e]] * (size_t)arrays.sizes[j];
    }
  }
  sparse->values = sap_allocate(count, sizeof(double));
  if (sparse->values == NULL) {
    return sap_fail(error, SAP_STATUS_MEMORY, "out of memory: coupled trees");
  }
  const sap_status status = sap_cholesky_create(&sparse->cholesky, error);
  return status == SAP_STATUS_OK ? sap_cholesky_analyze(sparse->cholesky, &sparse->pattern,
                                                        SAP_LINEAR_AUTO, NULL, error)
                                 : status;
}

static bool follows_branches(const sap_momentum_factor* factor, int32_t tree) {
  const sap_group* group = &factor->groups[factor->tree_group[tree]];
  return group->ntrees == 1 && group->ndofs >= BRANCH_FIRST && group->ndofs <= SAP_BRANCH_TREE;
}

static sap_status allocate_branches(sap_momentum_factor* factor, sap_error* error) {
  const sap_system* system = factor->system;
  size_t numbers = 0, runs = 0;
  for (int32_t t = 0; t < system->ntrees; ++t) {
    const size_t n = (size_t)system->tree_sizes[t];
    numbers += follows_branches(factor, t) ? SAP_BRANCH_SIZE(n) : 0;
    runs += follows_branches(factor, t) ? SAP_BRANCH_RUNS(n) : 0;
  }
  factor->branch = sap_allocate((size_t)system->ntrees, sizeof *factor->branch);
  factor->branch_runs = sap_allocate((size_t)system->ntrees, sizeof *factor->branch_runs);
  factor->branch_memory = sap_allocate(numbers, sizeof *factor->branch_memory);
  factor->runs_memory = sap_allocate(runs, sizeof *factor->runs_memory);
  if (factor->branch == NULL || factor->branch_runs == NULL || factor->branch_memory == NULL ||
      factor->runs_memory == NULL) {
    return sap_fail(error, SAP_STATUS_MEMORY, "out of memory: factors of %d trees", system->ntrees);
  }
  numbers = runs = 0;
  for (int32_t t = 0; t < system->ntrees; ++t) {
    const size_t n = (size_t)system->tree_sizes[t];
    if (follows_branches(factor, t)) {
      factor->branch[t] = factor->branch_memory + numbers;
      factor->branch_runs[t] = factor->runs_memory + runs;
      numbers += SAP_BRANCH_SIZE(n);
      runs += SAP_BRANCH_RUNS(n);
    }
  }
  return SAP_STATUS_OK;
}

static sap_status allocate(sap_momentum_factor* factor, sap_error* error) {
  const size_t ntrees = (size_t)factor->system->ntrees;
  factor->group_trees = sap_allocate(ntrees, sizeof(int32_t));
  factor->tree_group = sap_allocate(ntrees, sizeof(int32_t));
  factor->tree_dof = sap_allocate(ntrees + 1, sizeof(int32_t));
  if (factor->group_trees == NULL || factor->tree_group == NULL || factor->tree_dof == NULL) {
    return sap_fail(error, SAP_STATUS_MEMORY, "out of memory: %zu trees", ntrees);
  }
  number_groups(factor, factor->group_trees);  // which is free until fill_groups
  factor->groups = sap_allocate((size_t)factor->ngroups, sizeof(sap_group));
  if (factor->groups == NULL) {
    return sap_fail(error, SAP_STATUS_MEMORY, "out of memory: %d groups of trees", factor->ngroups);
  }
  fill_groups(factor);
  factor->made = sap_allocate((size_t)factor->ngroups, sizeof *factor->made);
  if (factor->made == NULL) {
    return sap_fail(error, SAP_STATUS_MEMORY, "out of memory: %d groups of trees", factor->ngroups);
  }
  sap_status status = allocate_branches(factor, error);
  if (status == SAP_STATUS_OK) {
    status = sap_tree_store_create(factor->system, &factor->L, error);
  }
  return status == SAP_STATUS_OK ? sap_tree_store_create(factor->system, &factor->of, error)
                                 : status;
}

sap_status sap_momentum_factor_create(const sap_system* system, sap_momentum_factor* factor,
                                      sap_error* error) {
  factor->system = system;
  sap_status status = allocate(factor, error);
  for (int32_t g = 0; status == SAP_STATUS_OK && g < factor->ngroups; ++g) {
    if (factor->groups[g].ntrees > 1) {
      status = create_sparse(factor, &factor->groups[g], error);
    }
  }
  if (status != SAP_STATUS_OK) {
    sap_momentum_factor_clear(factor);
  }
  return status;
}

void sap_momentum_factor_clear(sap_momentum_factor* factor) {
  for (int32_t g = 0; factor->groups != NULL && g < factor->ngroups; ++g) {
    sap_sparse_group* sparse = factor->groups[g].sparse;
    if (sparse != NULL) {
      sap_cholesky_destroy(sparse->cholesky);
      sap_free((void*)sparse->pattern.sizes);
      sap_free((void*)sparse->pattern.column_start);
      sap_free((void*)sparse->pattern.row);
      sap_free((void*)sparse->pattern.value_start);
      sap_free(sparse->entry_source);
      sap_free(sparse->values);
      sap_free(sparse->x);
      sap_free(sparse);
    }
  }
  sap_free(factor->groups);
  sap_free(factor->group_trees);
  sap_free(factor->tree_group);
  sap_free(factor->tree_dof);
  sap_free(factor->made);
  sap_free(factor->branch);
  sap_free(factor->branch_runs);
  sap_free(factor->branch_memory);
  sap_free(factor->runs_memory);
  sap_tree_store_clear(&factor->L);
  sap_tree_store_clear(&factor->of);
  memset(factor, 0, sizeof *factor);
}
