// SPDX-License-Identifier: BSD-3-Clause
// d minimises |r|, r = target - J_n d, the smallest in the metric of A, by conjugate gradients:
//   g = J_n' r,  s = A^-1 g,  p = s + (s' g)/(s' g)_before p,  d += a p with a = (s' g)/|J_n p|^2
// Rows that depend on one another, as those of four corners, may slightly contradict each other.
// cost: O(n^2) per tree of n velocities and iteration; iterations: one per different stiffness.
#include "integrators/end_positions.h"

#include <math.h>
#include <string.h>

#include "contact/cone.h"
#include "problem/blocks.h"
#include "problem/factor.h"
#include "problem/problem_data.h"

// Smaller changes of speed are round-off [m/s].
#define LEAST_CHANGE 1e-12
// s' g at which the iteration ends, relative to its start. The rest tilts landed bodies, and
// friction lets them creep back at the same relative speed.
#define PROJECTED 1e-20
// |J_n p|^2/(p' A p) at which it ends, relative to the first. Contacts at q0 beside others at
// q^theta contradict each other in directions below.
#define SEEN 1e-8
enum { ITERATIONS_MAX = 50 };

sap_status sap_end_positions_create(int32_t nv, sap_pool* pool, sap_end_positions* end,
                                    sap_error* error) {
  return SAP_POOL_ADD_ALL(pool, error, SAP_ARRAY(&end->p, nv), SAP_ARRAY(&end->g, nv),
                          SAP_ARRAY(&end->x, nv), SAP_ARRAY(&end->unit, nv),
                          SAP_ARRAY(&end->Ap, nv));
}

// True if part of the contact's law acts at the end of the step, and the contact pushes.
static bool pushes(const sap_block_data* block, const double* gamma) {
  return block->end > 0.0 && sap_set_is_contact(block->set) &&
         gamma[block->first_row + SAP_NORMAL_ROW] > 0.0;
}

// Sets the moves of all blocks. *any: some are not zero.
static void find_moves(sap_problem* p, const sap_solution* solution, const sap_end_motion* motion,
                       bool* any) {
  *any = false;
  for (int32_t b = 0; b < p->nblocks; ++b) {
    sap_block_data* block = &p->blocks[b];
    if (pushes(block, solution->gamma)) {
      double vc0[SAP_CONE_ROWS_MAX], vc_star[SAP_CONE_ROWS_MAX];
      const double vn = solution->vc[block->first_row + SAP_NORMAL_ROW];
      sap_problem_block_velocity(p, block, motion->v0, vc0);
      sap_problem_block_velocity(p, block, p->v_star, vc_star);
      const double pushed = fabs(vn - vc_star[SAP_NORMAL_ROW]);
      const double change = (1.0 - motion->theta_vq) * (vn - vc0[SAP_NORMAL_ROW]);
      const double most = motion->theta_vq < 1.0 ? pushed : (double)INFINITY;  // rigid: exact
      block->end_move = block->end * fmin(fmax(change + block->end_change, -most), most);
      *any = *any || fabs(block->end_move) > LEAST_CHANGE;
    }
  }
}

// Sets g = J_n' r, x = A^-1 g and the product x' g.
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
  SAP_TRY(sap_problem_solve_momentum(p, end->g, end->x, error));
  *product = 0.0;
  for (int32_t i = 0; i < p->nv; ++i) {
    *product += end->g[i] * end->x[i];
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

// Adds d of the blocks' moves, which it uses up.
static sap_status add_motion(sap_end_positions* end, sap_problem* p, const double* gamma, double* d,
                             sap_error* error) {
  double first = 0.0, before = 0.0, first_seen = 0.0;
  for (int32_t k = 0; k < ITERATIONS_MAX; ++k) {
    double product = 0.0;
    SAP_TRY(find_gradient(end, p, gamma, &product, error));
    first = k == 0 ? product : first;
    if (!(product > PROJECTED * first)) {
      break;
    }
    double size = 0.0;  // p' A p
    for (int32_t i = 0; i < p->nv; ++i) {
      end->p[i] = end->x[i] + (k == 0 ? 0.0 : product / before * end->p[i]);
      end->Ap[i] = end->g[i] + (k == 0 ? 0.0 : product / before * end->Ap[i]);
      size += end->p[i] * end->Ap[i];
    }
    before = product;
    const double square = find_rates(end, p, gamma);
    first_seen = k == 0 ? square / size : first_seen;
    if (!(square > SEEN * first_seen * size)) {
      break;
    }
    for (int32_t i = 0; i < p->nv; ++i) {
      d[i] += product / square * end->p[i];
    }
    for (int32_t b = 0; b < p->nblocks; ++b) {
      p->blocks[b].end_move -= product / square * p->blocks[b].end_rate;
    }
  }
  return SAP_STATUS_OK;
}

sap_status sap_end_positions_correct(sap_end_positions* end, sap_problem* p,
                                     const sap_solution* solution, const sap_end_motion* motion,
                                     double* v_vq, sap_error* error) {
  bool any = false;
  find_moves(p, solution, motion, &any);
  return any ? add_motion(end, p, solution->gamma, v_vq, error) : SAP_STATUS_OK;
}

sap_status sap_end_positions_slopes(sap_end_positions* end, sap_problem* p,
                                    const sap_solution* solution, const sap_end_motion* motion,
                                    double* d_v, bool* acts, sap_error* error) {
  const size_t n = (size_t)p->nv;
  double* d = end->unit;
  *acts = false;
  memset(d_v, 0, n * n * sizeof *d_v);
  for (int32_t b = 0; b < p->nblocks; ++b) {
    sap_block_data* block = &p->blocks[b];
    if (!pushes(block, solution->gamma)) {
      continue;
    }
    for (int32_t c = 0; c < p->nblocks; ++c) {
      p->blocks[c].end_move = 0.0;
    }
    *acts = true;
    block->end_move = block->end * (1.0 - motion->theta_vq);
    memset(d, 0, n * sizeof *d);
    SAP_TRY(add_motion(end, p, solution->gamma, d, error));
    for (int32_t i = 0; i < block->ntrees; ++i) {
      const int32_t t = p->block_trees[block->first_tree + i];
      const double* J = p->jacobians[block->first_tree + i] + SAP_NORMAL_ROW;
      for (int32_t j = 0; j < p->tree_size[t]; ++j) {
        double* column = d_v + n * (size_t)(p->tree_start[t] + j);
        for (size_t r = 0; r < n; ++r) {
          column[r] += J[(size_t)j * (size_t)block->nrows] * d[r];
        }
      }
    }
  }
  return SAP_STATUS_OK;
}
