// SPDX-License-Identifier: BSD-3-Clause
// Memory of an island's arrays, carved from few pieces that only grow, and the block pattern of
//   H = A + J' G J
// from the tree pairs of patches and couplings, sorted and made unique.
#include "solvers/primal/newton.h"

#include <string.h>

#include "core/memory.h"
#include "problem/problem_data.h"
#include "solvers/primal/patch_vector.h"

void sap_newton_init(sap_newton* newton) {
  *newton = (sap_newton){.kernels = sap_patch_kernels_get(0),
                         .cone_kernels = sap_cone_kernels_get(0),
                         .pool = {.owner = "solver"}};
}

void sap_newton_clear(sap_newton* n) {
  sap_pool_free(&n->pool);
  *n = (sap_newton){0};
}

#define RESERVE(array, needed) SAP_TRY(SAP_ROOM(&n->pool, &n->array, (needed), error));

sap_status sap_newton_reserve(sap_newton* n, sap_error* error) {
  const int64_t nt = n->ntrees, nv = n->nv, nc = n->ncones, ni = n->nintervals, nr = n->nrows;
  const int64_t columns = n->largest_patch;
  const int64_t integers =
      2 * nt + 1 + 2 * (int64_t)n->ncouplings + 2 * (int64_t)n->npatch_trees + nc + nr;
  const int64_t reals = (int64_t)(n->njacobian + n->nwhitened) + 35 * nc + 3 * ni + 9 * nr +
                        11 * nv + SAP_ONE_FREE_BODY * (SAP_ONE_FREE_BODY + 1) * nt +
                        columns * columns + 6 * columns;
  RESERVE(integers, integers)
  RESERVE(reals, reals)
  RESERVE(keys, 2 * (int64_t)n->nblocks)
  RESERVE(patches, n->nblocks)
  RESERVE(runs, n->nruns)
  RESERVE(cones, nc)
  RESERVE(sweep_cones, nc)
  RESERVE(potentials, n->npotentials)
  RESERVE(cones_n, n->ncones_n)
  RESERVE(intervals, ni)
  int32_t* next = n->integers;
#define CARVE(array, count_of) \
  n->array = next;             \
  next += (count_of);
  CARVE(size, nt)
  CARVE(start, nt + 1)
  CARVE(couplings, n->ncouplings)
  CARVE(coupling_pair, n->ncouplings)
  CARVE(patch_trees, n->npatch_trees)
  CARVE(tree_order, n->npatch_trees)
  CARVE(cone_row, nc)
  CARVE(problem_row, nr)
#undef CARVE
  double* real = n->reals;
#define CARVE(array, count_of) \
  n->array = real;             \
  real += (count_of);
  CARVE(jacobian, n->njacobian)
  CARVE(cone_law, 5 * nc)
  CARVE(whitened, n->nwhitened)
  CARVE(cone_v_hat, 3 * nc)
  CARVE(cone_vc, 3 * nc)
  CARVE(cone_u, 3 * nc)
  CARVE(cone_d, 3 * nc)
  CARVE(cone_gamma, 3 * nc)
  CARVE(cone_lambda, 3 * nc)
  CARVE(cone_target, 3 * nc)
  CARVE(cone_rho, nc)
  CARVE(cone_G, 6 * nc)
  CARVE(cone_parts, 2 * nc)
  CARVE(row_v_hat, nr)
  CARVE(row_vc, nr)
  CARVE(row_u, nr)
  CARVE(row_d, nr)
  CARVE(row_gamma, nr)
  CARVE(row_lambda, nr)
  CARVE(row_target, nr)
  CARVE(row_work, 2 * nr)
  CARVE(interval_rho, ni)
  CARVE(interval_G, ni)
  CARVE(sweep_row, ni)
  CARVE(v, nv)
  CARVE(v_star, nv)
  CARVE(v_best, nv)
  CARVE(sweep_w, SAP_ONE_FREE_BODY * nt)
  CARVE(sweep_factor, SAP_ONE_FREE_BODY * SAP_ONE_FREE_BODY * nt)
  CARVE(v_start, nv)
  CARVE(dv, nv)
  CARVE(gradient, nv)
  CARVE(momentum, nv)
  CARVE(momentum_star, nv)
  CARVE(impulse, nv)
  CARVE(mass, nv)
  CARVE(product, nv)
  CARVE(scratch, columns * columns + 6 * columns)
#undef CARVE
  return SAP_STATUS_OK;
}

// Lists first the pairs of patches, in their order, then those of couplings, then the diagonal.
sap_status sap_newton_build_pattern(sap_newton* n, sap_error* error) {
  const int64_t total = (int64_t)n->npairs + n->ncouplings + n->ntrees;
  SAP_TRY(sap_pair_pattern_reserve(&n->pattern, &n->pool, n->ntrees, total, error));
  sap_block_pair* pairs = n->pattern.pairs;
  int32_t count = 0;
  for (int32_t q = 0; q < n->npatches; ++q) {
    const sap_patch* patch = &n->patches[q];
    const int32_t* trees = n->patch_trees + patch->first_tree;
    for (int32_t k = 0; k < patch->ntrees; ++k) {
      for (int32_t l = k; l < patch->ntrees; ++l) {
        pairs[count] = (sap_block_pair){trees[l], trees[k], count};
        ++count;
      }
    }
  }
  for (int32_t c = 0; c < n->ncouplings; ++c) {
    const sap_coupling* coupling = &n->problem->couplings[n->couplings[c]];
    n->coupling_pair[c] = count;
    pairs[count] = sap_block_pair_of(n->local[coupling->tree_a], n->local[coupling->tree_b], count);
    ++count;
  }
  for (int32_t t = 0; t < n->ntrees; ++t) {
    pairs[count] = (sap_block_pair){t, t, count};
    ++count;
  }
  sap_pair_pattern_build(&n->pattern, n->ntrees, n->size, count);
  RESERVE(values, (int64_t)n->pattern.nvalues)
  return SAP_STATUS_OK;
}
