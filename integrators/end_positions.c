// SPDX-License-Identifier: BSD-3-Clause
// d minimises |r|, r = target - J_n d, the smallest in the metric of A, by conjugate gradients:
//   g = J_n' r,  s = A^-1 g,  p = s + (s' g)/(s' g)_before p,  d += a p with a = (s' g)/|J_n p|^2
// Rows that depend on one another, as those of four corners, may slightly contradict each other.
// cost: O(n^2) per tree of n velocities and iteration; iterations: one per different stiffness.
#include "integrators/end_positions.h"

#include <math.h>
#include <string.h>

#include "contact/cone.h"
#include "math/scalar.h"
#include "math/simd.h"
#include "problem/blocks.h"
#include "problem/problem_data.h"

// Smaller changes of speed are round-off [m/s].
#define LEAST_CHANGE 1e-12
// s' g at which the iteration ends, relative to its start. The rest tilts landed bodies, and
// friction lets them creep back at the same relative speed.
#define PROJECTED 1e-20
#define PROJECTED_DERIVATIVES 1e-28
// |J_n p|^2/(p' A p) at which it ends, relative to the first. Contacts at q0 beside others at
// q^theta contradict each other in directions below.
#define SEEN 1e-8
enum { ITERATIONS_MAX = 50 };

sap_status sap_end_positions_create(int32_t nv, sap_pool* pool, sap_end_positions* end,
                                    sap_error* error) {
  return SAP_POOL_ADD_ALL(
      pool, error, SAP_ARRAY(&end->p, nv), SAP_ARRAY(&end->g, nv), SAP_ARRAY(&end->x, nv),
      SAP_ARRAY(&end->Ap, nv), SAP_ARRAY(&end->back[0], nv + SAP_QUAD),
      SAP_ARRAY(&end->back[1], nv + SAP_QUAD), SAP_ARRAY(&end->back[2], nv + SAP_QUAD),
      SAP_ARRAY(&end->back[3], nv + SAP_QUAD));
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
  SAP_EACH(sap_block_data, block, p->blocks, p->nblocks) {
    if (pushes(block, solution->gamma)) {
      double vc0[SAP_CONE_ROWS_MAX], vc_star[SAP_CONE_ROWS_MAX];
      const double vn = solution->vc[block->first_row + SAP_NORMAL_ROW];
      sap_problem_block_velocity(p, block, motion->v0, vc0);
      sap_problem_block_velocity(p, block, p->v_star, vc_star);
      const double pushed = fabs(vn - vc_star[SAP_NORMAL_ROW]);
      const double change = (1.0 - motion->theta_vq) * (vn - vc0[SAP_NORMAL_ROW]);
      const double most = motion->theta_vq < 1.0 ? pushed : (double)INFINITY;  // rigid: exact
      const double move = fmin(fmax(change + block->end_change, -most), most);
      block->end_bound = move == change + block->end_change ? 0.0 : move;
      block->end_push = block->end * (move < 0.0 ? -1.0 : 1.0) * (vn < vc_star[2] ? -1.0 : 1.0);
      block->end_move = block->end * move;
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
  SAP_EACH(const sap_block_data, block, p->blocks, p->nblocks) {
    for (int32_t i = 0; i < block->ntrees && pushes(block, gamma); ++i) {
      const int32_t t = p->block_trees[block->first_tree + i];
      const double* J = p->jacobians[block->first_tree + i] + SAP_NORMAL_ROW;
      for (int32_t j = 0; j < p->tree_size[t]; ++j) {
        end->g[p->tree_start[t] + j] += J[(size_t)j * (size_t)block->nrows] * block->end_move;
      }
    }
  }
  SAP_TRY(sap_problem_solve_momentum(p, end->g, end->x, error));
  *product = sap_dot(p->nv, end->g, end->x);
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

// Adds d of the blocks' moves, which it uses up, and sets mu of the blocks.
static sap_status add_motion(sap_end_positions* end, sap_problem* p, const double* gamma,
                             double projected, double* d, sap_error* error) {
  double first = 0.0, before = 0.0, first_seen = 0.0;
  for (int32_t b = 0; b < p->nblocks; ++b) {
    p->blocks[b].end_impulse = p->blocks[b].end_path = 0.0;
  }
  for (int32_t k = 0; k < ITERATIONS_MAX; ++k) {
    double product = 0.0;
    SAP_TRY(find_gradient(end, p, gamma, &product, error));
    first = k == 0 ? product : first;
    if (!(product > projected * first)) {
      break;
    }
    double size = 0.0;  // p' A p
    for (int32_t i = 0; i < p->nv; ++i) {
      end->p[i] = end->x[i] + (k == 0 ? 0.0 : product / before * end->p[i]);
      end->Ap[i] = end->g[i] + (k == 0 ? 0.0 : product / before * end->Ap[i]);
      size += end->p[i] * end->Ap[i];
    }
    SAP_EACH(sap_block_data, block, p->blocks, p->nblocks) {
      block->end_path = block->end_move + (k == 0 ? 0.0 : product / before * block->end_path);
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
      p->blocks[b].end_impulse += product / square * p->blocks[b].end_path;
    }
  }
  return SAP_STATUS_OK;
}

sap_status sap_end_positions_correct(sap_end_positions* end, sap_problem* p,
                                     const sap_solution* solution, const sap_end_motion* motion,
                                     double* v_vq, sap_error* error) {
  bool any = false;
  find_moves(p, solution, motion, &any);
  return any ? add_motion(end, p, solution->gamma, PROJECTED, v_vq, error) : SAP_STATUS_OK;
}

void sap_end_positions_forget(sap_problem* p) {
  memset(p->end, 0, sizeof p->end);
}

bool sap_end_positions_act(const sap_problem* p, const sap_solution* solution) {
  bool any = false;
  for (int32_t b = 0; b < p->nblocks; ++b) {
    any = any || pushes(&p->blocks[b], solution->gamma);
  }
  return any;
}

// Sets d and mu of the moves.
static sap_status find_motion(sap_end_positions* end, sap_problem* p, const double* gamma,
                              sap_error* error) {
  memset(end->back[0], 0, (size_t)p->nv * sizeof(double));
  return add_motion(end, p, gamma, PROJECTED_DERIVATIVES, end->back[0], error);
}

sap_status sap_end_positions_pull(sap_end_positions* end, sap_problem* p,
                                  const sap_solution* solution, const sap_end_motion* motion,
                                  const double* z, double* by_v, bool* bound, sap_error* error) {
  const double* gamma = solution->gamma;
  double *d = end->back[0], *e = end->back[1], product;
  SAP_TRY(sap_problem_solve_momentum(p, z, e, error));
  for (int32_t b = 0; b < p->nblocks; ++b) {
    double vc[SAP_CONE_ROWS_MAX];
    if (pushes(&p->blocks[b], gamma)) {
      sap_problem_block_velocity(p, &p->blocks[b], e, vc);
      p->blocks[b].end_move = vc[SAP_NORMAL_ROW];
    }
  }
  SAP_TRY(find_motion(end, p, gamma, error));
  for (int32_t i = 0; i < p->nv; ++i) {
    e[i] -= d[i];
    end->back[2][i] = solution->v[i] - p->v_star[i];
  }
  for (int32_t b = 0; b < p->nblocks; ++b) {
    p->blocks[b].end_pull = p->blocks[b].end_impulse;
  }
  find_moves(p, solution, motion, bound);
  SAP_TRY(find_motion(end, p, gamma, error));
  *bound = false;
  SAP_EACH(sap_block_data, block, p->blocks, p->nblocks) {
    if (!pushes(block, gamma)) {
      block->end_pull = block->end_impulse = block->end_bound = 0.0;
    }
    block->end_push *= block->end_bound != 0.0 ? block->end_pull : 0.0;
    block->end_move = block->end_push;
    *bound = *bound || block->end_bound != 0.0;
  }
  SAP_TRY(find_gradient(end, p, gamma, &product, error));
  memcpy(end->back[3], end->x, (size_t)p->nv * sizeof(double));
  SAP_EACH(sap_block_data, block, p->blocks, p->nblocks) {
    const double by_vn = block->end * (1.0 - motion->theta_vq) * block->end_pull;
    block->end_move = block->end_bound != 0.0 ? 0.0 : by_vn;
  }
  SAP_TRY(find_gradient(end, p, gamma, &product, error));
  memcpy(by_v, end->g, (size_t)p->nv * sizeof(double));
  for (int i = 0; i < 4; ++i) {
    p->end[i] = end->back[i];
  }
  return SAP_STATUS_OK;
}
