// SPDX-License-Identifier: BSD-3-Clause
// Creates and frees a sap_newton, and carves its arrays from few pieces of memory that only grow.
#include "solvers/primal/newton_memory.h"

#include "core/memory.h"
#include "problem/problem_data.h"
#include "solvers/primal/patch_vector.h"
#include "solvers/primal/sweep.h"
#include "solvers/primal/wide.h"

sap_status sap_newton_create(sap_newton* newton, sap_error* error) {
  *newton =
      (sap_newton){.kernels = sap_patch_kernels_get(0), .cone_kernels = sap_cone_kernels_get(0)};
  newton->memory = sap_allocate(1, sizeof *newton->memory);
  return newton->memory == NULL ? sap_fail(error, SAP_STATUS_MEMORY, "out of memory for a solver")
                                : SAP_STATUS_OK;
}

void sap_newton_clear(sap_newton* newton) {
  if (newton->memory != NULL) {
    sap_free(newton->memory->integers);
    sap_free(newton->memory->reals);
    sap_free(newton->memory->keys);
    sap_free(newton->memory->patches);
    sap_free(newton->memory->runs);
    sap_free(newton->memory->cones);
    sap_free(newton->memory->sweep_cones);
    sap_free(newton->memory->potentials);
    sap_free(newton->memory->wide);
    sap_free(newton->memory->intervals);
    sap_free(newton->memory->column_start);
    sap_free(newton->memory->row);
    sap_free(newton->memory->value_start);
    sap_free(newton->memory->pairs);
    sap_free(newton->memory->pair_values);
    sap_free(newton->memory->values);
    sap_free(newton->memory);
  }
  *newton = (sap_newton){0};
}

sap_status sap_newton_reserve(sap_newton* n, sap_error* error) {
  struct sap_newton_memory* m = n->memory;
  const int64_t nt = n->ntrees, nv = n->nv, nc = n->ncones, ni = n->nintervals;
  const int64_t columns = n->largest_patch;
  const int64_t integers =
      2 * nt + 1 + 2 * (int64_t)n->ncouplings + 2 * (int64_t)n->npatch_trees + nc + ni;
  const int64_t reals = (int64_t)(n->njacobian + n->nwhitened) + 35 * nc + 10 * ni + 11 * nv +
                        SAP_ONE_FREE_BODY * (SAP_ONE_FREE_BODY + 1) * nt + columns * columns +
                        6 * columns;
  sap_status status = SAP_RESERVE(&m->integers, &m->integer_capacity, integers, error);
#define RESERVE(array, needed)                                              \
  if (status == SAP_STATUS_OK) {                                            \
    status = SAP_RESERVE(&m->array, &m->array##_capacity, (needed), error); \
  }
  RESERVE(reals, reals)
  RESERVE(keys, 2 * (int64_t)n->nblocks)
  RESERVE(patches, n->nblocks)
  RESERVE(runs, n->nruns)
  RESERVE(cones, nc)
  RESERVE(sweep_cones, nc)
  RESERVE(potentials, n->npotentials)
  RESERVE(wide, n->nwide)
  RESERVE(intervals, ni)
#undef RESERVE
  if (status != SAP_STATUS_OK) {
    return status;
  }
  n->patches = m->patches;
  n->runs = m->runs;
  n->cones = m->cones;
  n->sweep_cones = m->sweep_cones;
  n->potentials = m->potentials;
  n->wide = m->wide;
  n->intervals = m->intervals;
  int32_t* next = m->integers;
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
  CARVE(interval_row, ni)
#undef CARVE
  double* real = m->reals;
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
  CARVE(cone_dual, 3 * nc)
  CARVE(cone_target, 3 * nc)
  CARVE(cone_rho, nc)
  CARVE(cone_G, 6 * nc)
  CARVE(cone_parts, 2 * nc)
  CARVE(interval_v_hat, ni)
  CARVE(interval_vc, ni)
  CARVE(interval_u, ni)
  CARVE(interval_d, ni)
  CARVE(interval_gamma, ni)
  CARVE(interval_dual, ni)
  CARVE(interval_target, ni)
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
