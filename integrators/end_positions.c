// SPDX-License-Identifier: BSD-3-Clause
// d minimises |r|, r = target - J_n d, the smallest in the metric of A, by conjugate gradients:
//   g = J_n' r,  s = A^-1 g,  p = s + (s' g)/(s' g)_before p,  d += a p with a = (s' g)/|J_n p|^2
// Rows that depend on one another, as those of four corners, may slightly contradict each other.
// cost: O(n^2) per tree of n velocities and iteration; iterations: one per different stiffness.
#include "integrators/end_positions.h"

#include <math.h>

#include "contact/cone.h"
#include "problem/blocks.h"
#include "problem/factor.h"
#include "problem/problem_data.h"

// The correction fades where the impulses change a tree's speed by less than a third of what the
// correction is worth: a contact that lets go would otherwise move its tree by a jump.
#define PUSHED_SHARE 3.0
// Smaller changes of speed are round-off [m/s].
#define LEAST_CHANGE 1e-12
// s' g at which the iteration ends, relative to its start. The rest tilts landed bodies, and
// friction lets them creep back at the same relative speed.
#define PROJECTED 1e-20
enum { ITERATIONS_MAX = 50 };

sap_status sap_end_positions_create(int32_t ntrees, int32_t nv, sap_pool* pool,
                                    sap_end_positions* end, sap_error* error) {
  return SAP_POOL_ADD_ALL(pool, error, SAP_ARRAY(&end->pushed, ntrees), SAP_ARRAY(&end->p, nv),
                          SAP_ARRAY(&end->g, nv), SAP_ARRAY(&end->x, nv));
}

// True if part of the contact's law acts at the end of the step, and the contact pushes.
static bool pushes(const sap_block_data* block, const double* gamma) {
  return block->end > 0.0 && sap_set_is_contact(block->set) &&
         gamma[block->first_row + SAP_NORMAL_ROW] > 0.0;
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

// Sets the block's end_move and adds its push to its trees.
static sap_status add_push(sap_end_positions* end, sap_problem* p, const sap_solution* solution,
                           sap_block_data* block, const sap_end_motion* motion, sap_error* error) {
  double vc0[SAP_CONE_ROWS_MAX];
  const int32_t normal = block->first_row + SAP_NORMAL_ROW;
  sap_problem_block_velocity(p, block, motion->v0, vc0);
  const double change = solution->vc[normal] - vc0[SAP_NORMAL_ROW];
  block->end_move = block->end * ((1.0 - motion->theta_vq) * change + block->end_change);
  for (int32_t i = 0; i < block->ntrees; ++i) {
    double mobility = 0.0;
    SAP_TRY(find_mobility(end, p, block, i, &mobility, error));
    end->pushed[p->block_trees[block->first_tree + i]] += mobility * solution->gamma[normal];
  }
  return SAP_STATUS_OK;
}

// Lets the block's end_move fade where its trees are hardly pushed.
static void fade_move(const sap_end_positions* end, const sap_problem* p, double theta_vq,
                      sap_block_data* block) {
  double pushed = 0.0;
  for (int32_t i = 0; i < block->ntrees; ++i) {
    pushed = fmax(pushed, end->pushed[p->block_trees[block->first_tree + i]]);
  }
  const double share = theta_vq < 1.0 ? 1.0 - theta_vq : (double)INFINITY;  // rigid: exact
  const double most = share * PUSHED_SHARE * pushed, move = fabs(block->end_move);
  block->end_move *= move > most ? most / move : 1.0;
}

// Sets the moves of all blocks. *any: some are not zero.
static sap_status find_moves(sap_end_positions* end, sap_problem* p, const sap_solution* solution,
                             const sap_end_motion* motion, bool* any, sap_error* error) {
  for (int32_t t = 0; t < p->ntrees; ++t) {
    end->pushed[t] = 0.0;
  }
  *any = false;
  for (int32_t b = 0; b < p->nblocks; ++b) {
    sap_block_data* block = &p->blocks[b];
    if (pushes(block, solution->gamma)) {
      SAP_TRY(add_push(end, p, solution, block, motion, error));
      *any = *any || fabs(block->end_move) > LEAST_CHANGE;
    }
  }
  for (int32_t b = 0; *any && b < p->nblocks; ++b) {
    if (pushes(&p->blocks[b], solution->gamma)) {
      fade_move(end, p, motion->theta_vq, &p->blocks[b]);
    }
  }
  return SAP_STATUS_OK;
}

// g = J_n' r and x = A^-1 g; returns x' g.
static sap_status find_gradient(sap_end_positions* end, sap_problem* p, const double* gamma,
                                double* product, sap_error* error) {
  for (int32_t i = 0; i < p->nv; ++i) {
    end->g[i] = 0.0;
  }
  for (int32_t b = 0; b < p->nblocks; ++b) {
    const sap_block_data* block = &p->blocks[b];
    for (int32_t i = 0; i < block->ntrees && pushes(block, gamma); ++i) {
      const int32_t t = p->block_trees[block->first_tree + i];
      const double* J = p->jacobians[block->first_tree + i] + SAP_NORMAL_ROW;
      for (int32_t j = 0; j < p->tree_size[t]; ++j) {
        end->g[p->tree_start[t] + j] += J[(size_t)j * (size_t)block->nrows] * block->end_move;
      }
    }
  }
  *product = 0.0;
  for (int32_t t = 0; t < p->ntrees; ++t) {
    const int32_t first = p->tree_start[t];
    SAP_TRY(sap_problem_solve_tree(p, t, end->g + first, end->x + first, error));
    for (int32_t j = first; j < first + p->tree_size[t]; ++j) {
      *product += end->g[j] * end->x[j];
    }
  }
  return SAP_STATUS_OK;
}

// Sets end_rate to J_n p of each block; returns its square.
static double find_rates(const sap_end_positions* end, sap_problem* p, const double* gamma) {
  double sum = 0.0, vc[SAP_CONE_ROWS_MAX];
  for (int32_t b = 0; b < p->nblocks; ++b) {
    if (pushes(&p->blocks[b], gamma)) {
      sap_problem_block_velocity(p, &p->blocks[b], end->p, vc);
      p->blocks[b].end_rate = vc[SAP_NORMAL_ROW];
      sum += vc[SAP_NORMAL_ROW] * vc[SAP_NORMAL_ROW];
    }
  }
  return sum;
}

sap_status sap_end_positions_correct(sap_end_positions* end, sap_problem* p,
                                     const sap_solution* solution, const sap_end_motion* motion,
                                     double* v_vq, sap_error* error) {
  bool any = false;
  SAP_TRY(find_moves(end, p, solution, motion, &any, error));
  double first = 0.0, before = 0.0;
  for (int32_t k = 0; k < ITERATIONS_MAX && any; ++k) {
    double product = 0.0;
    SAP_TRY(find_gradient(end, p, solution->gamma, &product, error));
    first = k == 0 ? product : first;
    if (!(product > PROJECTED * first)) {
      break;
    }
    for (int32_t i = 0; i < p->nv; ++i) {
      end->p[i] = end->x[i] + (k == 0 ? 0.0 : product / before * end->p[i]);
    }
    before = product;
    const double square = find_rates(end, p, solution->gamma);
    if (!(square > 0.0)) {
      break;
    }
    for (int32_t i = 0; i < p->nv; ++i) {
      v_vq[i] += product / square * end->p[i];
    }
    for (int32_t b = 0; b < p->nblocks; ++b) {
      p->blocks[b].end_move -= product / square * p->blocks[b].end_rate;
    }
  }
  return SAP_STATUS_OK;
}
