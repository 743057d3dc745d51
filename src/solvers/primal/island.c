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

sap_status sap_newton_reserve(sap_newton* n, sap_error* error) {
  const int64_t njacobian = (int64_t)n->njacobian;
  const int64_t wanted[SAP_NEWTON_COUNTS] = {
      n->ntrees,        n->nv,           n->ncones, n->nintervals,  n->nrows,
      n->largest_patch, n->nblocks,      n->nruns,  n->npotentials, n->ncones_n,
      n->ncouplings,    n->npatch_trees, njacobian};
  int64_t room[SAP_NEWTON_COUNTS];
  for (int i = 0; i < SAP_NEWTON_COUNTS; ++i) {
    room[i] = wanted[i] > n->room[i] ? wanted[i] : n->room[i];
  }
  SAP_RETURN_IF(memcmp(room, n->room, sizeof room) == 0, SAP_STATUS_OK);
  const int64_t nt = room[0], nv = room[1], nc = room[2], ni = room[3], nr = room[4];
  const int64_t columns = room[5];
  SAP_TRY(SAP_ROOM_ALL(&n->pool, error, SAP_ARRAY(&n->keys, 2 * room[6]),
                       SAP_ARRAY(&n->patches, room[6]), SAP_ARRAY(&n->runs, room[7]),
                       SAP_ARRAY(&n->cones, nc), SAP_ARRAY(&n->potentials, room[8]),
                       SAP_ARRAY(&n->cones_n, room[9]), SAP_ARRAY(&n->intervals, ni)));
  SAP_TRY(SAP_CARVE(
      &n->pool, &n->numbers, error, SAP_ARRAY(&n->size, nt), SAP_ARRAY(&n->start, nt + 1),
      SAP_ARRAY(&n->couplings, room[10]), SAP_ARRAY(&n->coupling_pair, room[10]),
      SAP_ARRAY(&n->patch_trees, room[11]), SAP_ARRAY(&n->tree_order, room[11]),
      SAP_ARRAY(&n->cone_row, nc), SAP_ARRAY(&n->problem_row, nr),
      SAP_ARRAY(&n->jacobian, room[12]), SAP_ARRAY(&n->cone_law, 5 * nc),
      SAP_ARRAY(&n->cone_v_hat, 3 * nc), SAP_ARRAY(&n->cone_vc, 3 * nc),
      SAP_ARRAY(&n->cone_u, 3 * nc), SAP_ARRAY(&n->cone_d, 3 * nc),
      SAP_ARRAY(&n->cone_gamma, 3 * nc), SAP_ARRAY(&n->cone_lambda, 3 * nc),
      SAP_ARRAY(&n->cone_target, 3 * nc), SAP_ARRAY(&n->cone_rho, nc),
      SAP_ARRAY(&n->cone_G, 6 * nc), SAP_ARRAY(&n->cone_parts, 2 * nc),
      SAP_ARRAY(&n->row_v_hat, nr), SAP_ARRAY(&n->row_vc, nr), SAP_ARRAY(&n->row_u, nr),
      SAP_ARRAY(&n->row_d, nr), SAP_ARRAY(&n->row_gamma, nr), SAP_ARRAY(&n->row_lambda, nr),
      SAP_ARRAY(&n->row_target, nr), SAP_ARRAY(&n->row_work, 2 * nr),
      SAP_ARRAY(&n->interval_rho, ni), SAP_ARRAY(&n->interval_G, ni), SAP_ARRAY(&n->v, nv),
      SAP_ARRAY(&n->v_star, nv), SAP_ARRAY(&n->v_best, nv), SAP_ARRAY(&n->v_start, nv),
      SAP_ARRAY(&n->dv, nv), SAP_ARRAY(&n->gradient, nv), SAP_ARRAY(&n->momentum, nv),
      SAP_ARRAY(&n->momentum_star, nv), SAP_ARRAY(&n->impulse, nv), SAP_ARRAY(&n->mass, nv),
      SAP_ARRAY(&n->product, nv), SAP_ARRAY(&n->scratch, columns * columns + 6 * columns)));
  memcpy(n->room, room, sizeof room);
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
  return SAP_ROOM(&n->pool, &n->values, (int64_t)n->pattern.nvalues, error);
}
