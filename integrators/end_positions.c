// SPDX-License-Identifier: BSD-3-Clause
// Kaczmarz projections on the rows J_n, one tree's part of a contact after the other, forwards and
// backwards in turn.
// cost: O(n^2) per row of a tree of n velocities.
#include "integrators/end_positions.h"

#include <math.h>

#include "contact/cone.h"
#include "problem/blocks.h"
#include "problem/factor.h"
#include "problem/problem_data.h"

// s = min(1, change/(IMPACT_SHARE pushed)) min(1, PUSHED_SHARE pushed/change). A smaller
// IMPACT_SHARE calms smaller hops, a larger one leaves smooth motion alone.
#define IMPACT_SHARE 0.01
#define PUSHED_SHARE 3.0
// Smaller changes of speed are round-off [m/s].
#define LEAST_CHANGE 1e-12
// Accepted remainder of the rows, relative to the first sweep.
#define PROJECTED 1e-3
enum { SWEEPS_MAX = 12 };

sap_status sap_end_positions_create(int32_t ntrees, int32_t nv, sap_pool* pool,
                                    sap_end_positions* end, sap_error* error) {
  SAP_TRY(SAP_POOL_ADD(pool, &end->change, ntrees, error));
  SAP_TRY(SAP_POOL_ADD(pool, &end->pushed, ntrees, error));
  SAP_TRY(SAP_POOL_ADD(pool, &end->rest, nv, error));
  return SAP_POOL_ADD(pool, &end->x, nv, error);
}

// True if the contact acts at the end of the step and pushes.
static bool pushes(const sap_block_data* block, const double* gamma) {
  return block->ends && gamma[block->first_row + SAP_NORMAL_ROW] > 0.0;
}

// Returns the change of the relative normal speed over the step [m/s].
static double find_change(const sap_problem* p, const sap_block_data* block,
                          const sap_solution* solution, const double* v0) {
  double vc0[SAP_CONE_ROWS_MAX];
  sap_problem_block_velocity(p, block, v0, vc0);
  const double vn0 = vc0[SAP_NORMAL_ROW];
  // An open gap has no J at the theta point: only a closing speed is an impact. Elsewhere J may be
  // that of the theta point, midway: vn0 = J v0 - 2 (J_end - J) v.
  return block->end_open ? fmax(0.0, -vn0)
                         : fabs(solution->vc[block->first_row + SAP_NORMAL_ROW] - vn0 +
                                2.0 * block->end_change);
}

// Computes J_n A^-1 J_n' of tree i of the block; leaves A^-1 J_n' in end->x.
static sap_status find_mobility(sap_end_positions* end, sap_problem* p, const sap_block_data* block,
                                int32_t i, double* mobility, sap_error* error) {
  const int32_t t = p->block_trees[block->first_tree + i], n = p->tree_size[t];
  const double* J = p->jacobians[block->first_tree + i] + SAP_NORMAL_ROW;
  for (int32_t j = 0; j < n; ++j) {
    end->x[j] = J[(size_t)j * (size_t)block->nrows];
  }
  SAP_TRY(sap_problem_solve_tree(p, t, end->x, end->x, error));
  *mobility = 0.0;
  for (int32_t j = 0; j < n; ++j) {
    *mobility += J[(size_t)j * (size_t)block->nrows] * end->x[j];
  }
  return SAP_STATUS_OK;
}

static sap_status add_push(sap_end_positions* end, sap_problem* p, const sap_solution* solution,
                           const sap_block_data* block, double change, sap_error* error) {
  for (int32_t i = 0; i < block->ntrees; ++i) {
    const int32_t t = p->block_trees[block->first_tree + i];
    double mobility = 0.0;
    SAP_TRY(find_mobility(end, p, block, i, &mobility, error));
    end->change[t] = fmax(end->change[t], change);
    end->pushed[t] += mobility * solution->gamma[block->first_row + SAP_NORMAL_ROW];
  }
  return SAP_STATUS_OK;
}

// Computes s of the trees in `change`. *any: some are not zero.
static sap_status find_shares(sap_end_positions* end, sap_problem* p, const sap_solution* solution,
                              const double* v0, bool* any, sap_error* error) {
  for (int32_t t = 0; t < p->ntrees; ++t) {
    end->change[t] = end->pushed[t] = 0.0;
  }
  for (int32_t b = 0; b < p->nblocks; ++b) {
    const sap_block_data* block = &p->blocks[b];
    const double change =
        pushes(block, solution->gamma) ? find_change(p, block, solution, v0) : 0.0;
    if (change > LEAST_CHANGE) {
      SAP_TRY(add_push(end, p, solution, block, change, error));
    }
  }
  *any = false;
  for (int32_t t = 0; t < p->ntrees; ++t) {
    const double change = end->change[t], pushed = end->pushed[t];
    end->change[t] = change > 0.0 ? fmin(1.0, change / (IMPACT_SHARE * pushed)) *
                                        fmin(1.0, PUSHED_SHARE * pushed / change)
                                  : 0.0;
    *any = *any || change > 0.0;
  }
  return SAP_STATUS_OK;
}

// Projects the rest of tree i on the block's normal row. *most: the largest remainder so far.
static sap_status project_tree(sap_end_positions* end, sap_problem* p, const sap_block_data* block,
                               int32_t i, double* v_vq, double* most, sap_error* error) {
  const int32_t t = p->block_trees[block->first_tree + i];
  const int32_t n = p->tree_size[t], first = p->tree_start[t];
  if (!(end->change[t] > 0.0)) {
    return SAP_STATUS_OK;
  }
  const double* J = p->jacobians[block->first_tree + i] + SAP_NORMAL_ROW;
  double left = 0.0, mobility = 0.0;
  for (int32_t j = 0; j < n; ++j) {
    left += J[(size_t)j * (size_t)block->nrows] * end->rest[first + j];
  }
  *most = fmax(*most, fabs(left));
  SAP_TRY(find_mobility(end, p, block, i, &mobility, error));
  for (int32_t j = 0; mobility > 0.0 && j < n; ++j) {
    end->rest[first + j] -= left / mobility * end->x[j];
    v_vq[first + j] += left / mobility * end->x[j];
  }
  return SAP_STATUS_OK;
}

sap_status sap_end_positions_correct(sap_end_positions* end, sap_problem* p,
                                     const sap_solution* solution, const double* v0,
                                     double theta_vq, double* v_vq, sap_error* error) {
  bool any = false;
  SAP_TRY(find_shares(end, p, solution, v0, &any, error));
  if (!any) {
    return SAP_STATUS_OK;
  }
  for (int32_t t = 0; t < p->ntrees; ++t) {
    for (int32_t i = p->tree_start[t]; i < p->tree_start[t] + p->tree_size[t]; ++i) {
      end->rest[i] = end->change[t] * (1.0 - theta_vq) * (solution->v[i] - v0[i]);
    }
  }
  double first = 0.0, most = 1.0;
  for (int32_t sweep = 0; sweep < SWEEPS_MAX && most > PROJECTED * first; ++sweep) {
    most = 0.0;
    for (int32_t k = 0; k < p->nblocks; ++k) {
      const sap_block_data* block = &p->blocks[sweep % 2 == 0 ? k : p->nblocks - 1 - k];
      const int32_t parts = pushes(block, solution->gamma) ? block->ntrees : 0;
      for (int32_t i = 0; i < parts; ++i) {
        SAP_TRY(project_tree(end, p, block, i, v_vq, &most, error));
      }
    }
    first = sweep == 0 ? most : first;
  }
  return SAP_STATUS_OK;
}
