// SPDX-License-Identifier: BSD-3-Clause
#include "integrators/momentum_factor.h"

#include <string.h>

#include "linalg/dense.h"

static void fill_values(const sap_momentum_factor* factor, sap_sparse_group* sparse,
                        const sap_tree_store* A) {
  const sap_block_pattern* pattern = &sparse->pattern;
  const int32_t ncouplings = factor->system->ncouplings;
  for (int32_t j = 0; j < pattern->nblocks; ++j) {
    for (int32_t e = pattern->column_start[j]; e < pattern->column_start[j + 1]; ++e) {
      const size_t rows = (size_t)pattern->sizes[pattern->row[e]];
      const size_t columns = (size_t)pattern->sizes[j];
      double* out = sparse->values + pattern->value_start[e];
      const int32_t source = sparse->entry_source[e];
      if (source >= -ncouplings) {
        const double* block =
            source >= 0 ? A->view.diagonal[source] : A->view.coupling[-1 - source];
        memcpy(out, block, rows * columns * sizeof(double));
        continue;
      }
      const double* block = A->view.coupling[-1 - ncouplings - source];
      for (size_t c = 0; c < columns; ++c) {
        for (size_t r = 0; r < rows; ++r) {
          out[c * rows + r] = block[r * columns + c];
        }
      }
    }
  }
}

static sap_status factor_tree(sap_momentum_factor* factor, int32_t index, const sap_tree_store* A,
                              sap_error* error) {
  const size_t n = (size_t)factor->groups[index].ndofs;
  const int32_t tree = factor->group_trees[factor->groups[index].first_tree];
  const double* block = A->view.diagonal[tree];
  double *of = factor->of.view.diagonal[tree], *branch = factor->branch[tree];
  if (factor->made[index] != 0 && memcmp(block, of, n * n * sizeof(double)) == 0) {
    return SAP_STATUS_OK;
  }
  const bool done = branch != NULL
                        ? sap_branch_factorize(block, branch, factor->branch_runs[tree], (int32_t)n)
                        : sap_dense_cholesky((int32_t)n, block, factor->L.view.diagonal[tree]);
  if (!done) {
    return sap_fail(error, SAP_STATUS_NOT_SPD,
                    "A = M + dt^2 theta theta_vq K + dt theta D of tree %d is not positive "
                    "definite",
                    tree);
  }
  memcpy(of, block, n * n * sizeof(double));
  return SAP_STATUS_OK;
}

static sap_status factor_trees(sap_momentum_factor* factor, int32_t index, const sap_tree_store* A,
                               sap_error* error) {
  const sap_group* group = &factor->groups[index];
  fill_values(factor, group->sparse, A);
  int32_t failed = 0;
  const sap_status status =
      sap_cholesky_factorize(group->sparse->cholesky, group->sparse->values, &failed, error);
  if (status == SAP_STATUS_NOT_SPD) {
    return sap_fail(
        error, status, "A of the trees coupled to tree %d is not positive definite (tree %d)",
        factor->group_trees[group->first_tree], factor->group_trees[group->first_tree + failed]);
  }
  return status;
}

sap_status sap_momentum_factor_group(sap_momentum_factor* factor, int32_t index,
                                     const sap_tree_store* A, sap_error* error) {
  if (factor->made[index] == A->made) {
    return SAP_STATUS_OK;
  }
  const sap_status status = factor->groups[index].sparse == NULL
                                ? factor_tree(factor, index, A, error)
                                : factor_trees(factor, index, A, error);
  factor->made[index] = status == SAP_STATUS_OK ? A->made : 0;
  return status;
}

static sap_branch_factor branch_of(const sap_momentum_factor* factor, int32_t tree) {
  return (sap_branch_factor){.n = factor->system->tree_sizes[tree],
                             .L = factor->branch[tree],
                             .runs = factor->branch_runs[tree]};
}

bool sap_momentum_factor_branch(const sap_momentum_factor* factor, int32_t tree,
                                const sap_tree_store* A, sap_branch_factor* out) {
  const int32_t group = factor->tree_group[tree];
  *out = branch_of(factor, tree);
  return out->L != NULL && factor->made[group] == A->made;
}

void sap_momentum_factor_solve(sap_momentum_factor* factor, int32_t index, double* x) {
  const sap_group* group = &factor->groups[index];
  const int32_t* trees = factor->group_trees + group->first_tree;
  if (group->sparse == NULL && factor->branch[trees[0]] != NULL) {
    const sap_branch_factor branch = branch_of(factor, trees[0]);
    double work[SAP_BRANCH_ROW(SAP_BRANCH_TREE)];
    sap_branch_solve(&branch, x + factor->tree_dof[trees[0]], work);
    return;
  }
  if (group->sparse == NULL) {
    sap_dense_cholesky_solve(group->ndofs, factor->L.view.diagonal[trees[0]],
                             x + factor->tree_dof[trees[0]]);
    return;
  }
  double* packed = group->sparse->x;
  for (int32_t i = 0; i < group->ntrees; ++i) {
    const size_t n = (size_t)factor->system->tree_sizes[trees[i]];
    memcpy(packed, x + factor->tree_dof[trees[i]], n * sizeof(double));
    packed += n;
  }
  sap_cholesky_solve(group->sparse->cholesky, group->sparse->x);
  packed = group->sparse->x;
  for (int32_t i = 0; i < group->ntrees; ++i) {
    const size_t n = (size_t)factor->system->tree_sizes[trees[i]];
    memcpy(x + factor->tree_dof[trees[i]], packed, n * sizeof(double));
    packed += n;
  }
}
