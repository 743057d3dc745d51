// SPDX-License-Identifier: BSD-3-Clause
// H = A + J' G J is assembled by the patches of SAP's Newton iterations (primal/hessian.c) over all
// trees as one island, so that velocities keep the problem's order. With Coulomb's friction the
// part of G beyond its symmetric one, in the normal's column, is added contact by contact:
//   H += nn (to_t - from_t) J_t' t J_n
#include <math.h>
#include <string.h>

#include "core/options.h"
#include "linalg/square.h"
#include "solvers/gradient_data.h"
#include "solvers/residuals.h"

#define GRADIENT_ROW(type, name, value, low, high, meaning) \
  SAP_OPTION_ROW(sap_gradient_options, name, type, name, value, low, high, meaning)
static sap_option_table option_table(void) {
  static const sap_option rows[] = {SAP_GRADIENT_OPTIONS(GRADIENT_ROW)};
  return SAP_OPTION_TABLE(rows);
}

sap_gradient_options sap_gradient_options_default(void) {
  sap_gradient_options options = {.cookie = SAP_COOKIE};
  sap_options_reset(option_table(), &options);
  return options;
}

sap_status sap_gradient_create(const sap_gradient_options* options, sap_gradient** out,
                               sap_error* error) {
  SAP_NOT_NULL(error, out);
  *out = NULL;
  const sap_gradient_options defaults = sap_gradient_options_default();
  const sap_gradient_options* o = options != NULL ? options : &defaults;
  SAP_TRY(sap_check_cookie("sap_gradient_options", &o->cookie, error));
  SAP_TRY(sap_options_check(option_table(), o, error));
  SAP_FAIL_IF(o->coulomb && (o->smoothing > 0.0 || o->polish > 0), error, SAP_STATUS_ARGUMENT,
              "smoothing = %g, polish = %d: must be 0 with coulomb", o->smoothing, (int)o->polish);
  sap_gradient* g;
  SAP_TRY(SAP_NEW(&g, 1, "gradient", error));
  g->options = *o;
  g->pool.owner = "gradient";
  sap_newton_init(&g->newton);
  SAP_TRY_OR(sap_cholesky_create(&g->cholesky, error), sap_gradient_destroy(g));
  *out = g;
  return SAP_STATUS_OK;
}

void sap_gradient_destroy(sap_gradient* g) {
  if (g == NULL) {
    return;
  }
  sap_newton_clear(&g->newton);
  sap_cholesky_destroy(g->cholesky);
  sap_sparse_lu_clear(&g->lu);
  sap_pool_free(&g->pool);
  sap_free(g);
}

sap_gradient_counts sap_gradient_count(const sap_problem* p) {
  const int64_t squares = p->ntrees > 0 ? p->diagonal_start[p->ntrees] : 0;
  return (sap_gradient_counts){p->nv, p->nrows, p->nblocks, squares + p->ncoupling_values,
                               p->njacobian_values};
}

// The problem and its solution.

static sap_status check_problem(const sap_problem* p, const sap_solution* s, sap_error* error) {
  SAP_FAIL_IF(p->has_mobility, error, SAP_STATUS_UNSUPPORTED,
              "the problem gives the inverse of A: its derivatives need A");
  SAP_FAIL_IF(s->nv != p->nv || s->nrows != p->nrows, error, SAP_STATUS_ARGUMENT,
              "the solution has %d velocities and %d rows, the problem %d and %d", s->nv, s->nrows,
              p->nv, p->nrows);
  for (int32_t i = 0; i < p->nrows; ++i) {
    SAP_FAIL_IF(!(p->R[i] > 0.0), error, SAP_STATUS_UNSUPPORTED,
                "row %d has R = 0: its solution may have no derivative", i);
  }
  SAP_TRY(sap_check_numbers("v", s->v, s->nv, error));
  return sap_check_numbers("gamma", s->gamma, s->nrows, error);
}

static sap_status reserve(sap_gradient* g, const sap_problem* p, sap_error* error) {
  const int64_t nv = p->nv, nrows = p->nrows;
  const int64_t most = (p->ntrees > p->nblocks ? p->ntrees : p->nblocks) + 2;
  SAP_TRY(SAP_ROOM_ALL(&g->pool, error, SAP_ARRAY(&g->v, nv), SAP_ARRAY(&g->step, nv),
                       SAP_ARRAY(&g->x, nv), SAP_ARRAY(&g->b, nv), SAP_ARRAY(&g->side, nv),
                       SAP_ARRAY(&g->momentum, nv), SAP_ARRAY(&g->impulse, nv),
                       SAP_ARRAY(&g->gamma, nrows), SAP_ARRAY(&g->vc, nrows),
                       SAP_ARRAY(&g->G, nrows), SAP_ARRAY(&g->by_R, nrows), SAP_ARRAY(&g->u, nrows),
                       SAP_ARRAY(&g->c, nrows), SAP_ARRAY(&g->slope, nrows),
                       SAP_ARRAY(&g->rest, nrows), SAP_ARRAY(&g->step_rows, nrows),
                       SAP_ARRAY(&g->step_slope, nrows), SAP_ARRAY(&g->bound, nrows),
                       SAP_ARRAY(&g->contacts, p->nblocks), SAP_ARRAY(&g->identity, most)));
  for (int32_t i = 0; i < most; ++i) {
    g->identity[i] = i;
  }
  return SAP_STATUS_OK;
}

// Gathers all trees and blocks as one island.
static sap_status gather(sap_gradient* g, const sap_problem* p, sap_error* error) {
  const int32_t trees[] = {0, p->ntrees}, blocks[] = {0, p->nblocks};
  const sap_islands whole = {.count = 1,
                             .tree_start = trees,
                             .trees = g->identity,
                             .block_start = blocks,
                             .blocks = g->identity,
                             .local = g->identity};
  return sap_newton_gather(&g->newton, p, &whole, 0, error);
}

// Sets `side` to J' gamma - A (v - v*), and the solution's error in the metric of energy.
static double find_error(sap_gradient* g, const sap_problem* p) {
  double gap = 0.0, energy = 0.0;
  memset(g->x, 0, (size_t)p->nv * sizeof(double));
  sap_newton_add_momentum(&g->newton, g->step, g->x);
  sap_generalized_impulse(p, g->gamma, g->side);
  for (int32_t i = 0; i < p->nv; ++i) {
    const double mass = g->newton.mass[i], impulse = g->side[i];
    g->side[i] -= g->x[i];
    gap += g->side[i] * g->side[i] / mass;
    energy += impulse * impulse / mass + mass * (g->v[i] * g->v[i] + p->v_star[i] * p->v_star[i]);
  }
  for (int32_t b = 0; b < p->nblocks && !g->options.coulomb; ++b) {
    const sap_block block = sap_problem_view(p, &p->blocks[b]);
    const int32_t row = p->blocks[b].first_row;
    (void)sap_set_impulse(&block, g->vc + row, g->u + row);
    for (int32_t i = row; i < row + block.nrows; ++i) {
      const double miss = g->gamma[i] - g->u[i];
      gap += p->R[i] * miss * miss;
      energy += p->R[i] * g->gamma[i] * g->gamma[i];
    }
  }
  return gap > 0.0 ? sqrt(gap / energy) : 0.0;
}

// Sets what follows from v.
static void set_velocity(sap_gradient* g, const sap_problem* p) {
  for (int32_t i = 0; i < p->nv; ++i) {
    g->step[i] = g->v[i] - p->v_star[i];
  }
  sap_contact_velocity(p, g->v, g->vc);
}

// Finds the slopes of all blocks and hands the symmetric part of G to the Newton object.
static void find_slopes(sap_gradient* g, const sap_problem* p, sap_gradient_report* counts) {
  sap_newton* n = &g->newton;
  int32_t cone = 0, cone_n = 0, interval = 0;
  *counts = (sap_gradient_report){.error = counts->error};
  for (int32_t k = 0; k < p->nblocks; ++k) {
    const int32_t b = n->keys[k].index;  // in the order of patches
    const sap_block block = sap_problem_view(p, &p->blocks[b]);
    const int32_t row = p->blocks[b].first_row;
    const sap_slopes s = {g->G + row, g->by_R + row, g->bound + row, g->contacts + b};
    sap_block_slopes(&g->options, &block, g->vc + row, g->gamma + row, &s, counts);
    const sap_contact_slope* c = s.contact;
    const sap_cone_n_parts parts = {c->from_t * c->from_t * c->nn + c->along, c->across,
                                    c->from_t * c->nn, c->nn};
    double G[9];
    if (!sap_set_is_contact(block.set)) {
      memcpy(n->interval_G + interval, s.G, (size_t)block.nrows * sizeof(double));
      interval += block.nrows;
    } else if (block.nrows == 3) {
      sap_cone_n_fill(3, &parts, c->t, G);
      const double packed[] = {G[0], G[1], G[4], G[2], G[5], G[8]};
      memcpy(n->cone_G + 6 * cone++, packed, sizeof packed);
    } else {
      sap_cone_n_fill(block.nrows, &parts, c->t, n->cones_n[cone_n++].G);
    }
  }
}

// Adds  more J_t' t J_n  of trees i and j of a block to the triangle of H that holds their block.
static void add_outer(sap_gradient* g, const sap_block* block, int32_t i, int32_t j, double more,
                      const double* t) {
  sap_newton* n = &g->newton;
  const int32_t row = block->trees[i], column = block->trees[j], nrows = block->nrows;
  const bool below = row >= column;
  int32_t e = n->pattern.column_start[below ? column : row];
  while (n->pattern.row[e] != (below ? row : column)) {
    ++e;
  }
  double* to = (below ? n->values : g->upper) + n->pattern.value_start[e];
  const int32_t row_step = below ? 1 : n->size[column], column_step = below ? n->size[row] : 1;
  for (int32_t r = 0; r < n->size[row]; ++r) {
    const double left = more * sap_cone_n_dot(nrows, t, block->jacobians[i] + r * nrows);
    for (int32_t c = 0; c < n->size[column]; ++c) {
      to[r * row_step + c * column_step] += left * block->jacobians[j][c * nrows + SAP_NORMAL_ROW];
    }
  }
}

static void add_unsymmetric(sap_gradient* g, const sap_problem* p) {
  sap_newton* n = &g->newton;
  memcpy(g->upper, n->values, n->pattern.nvalues * sizeof(double));
  for (int32_t t = 0; t < n->ntrees; ++t) {
    const size_t at = n->pattern.value_start[n->pattern.column_start[t]];
    sap_square_mirror(n->size[t], g->upper + at, n->size[t], n->values + at);
  }
  for (int32_t b = 0; b < p->nblocks; ++b) {
    const sap_block block = sap_problem_view(p, &p->blocks[b]);
    const sap_contact_slope* c = &g->contacts[b];
    const double more = sap_set_is_contact(block.set) ? c->nn * (c->to_t - c->from_t) : 0.0;
    for (int32_t i = 0; more > 0.0 && i < block.ntrees; ++i) {
      for (int32_t j = 0; j < block.ntrees; ++j) {
        add_outer(g, &block, i, j, more, c->t);
      }
    }
  }
}

// Factors H by LU, with the pivots of the last factors first; a probe shows whether they will do.
static sap_status factor_unsymmetric(sap_gradient* g, const sap_problem* p,
                                     const sap_block_pattern* pattern, sap_error* error) {
  static const double ENOUGH = 1e-12;  // relative residual; refined solutions reach 1e-15
  bool solved = false;
  SAP_TRY(SAP_ROOM(&g->pool, &g->upper, (int64_t)g->newton.pattern.nvalues, error));
  add_unsymmetric(g, p);
  SAP_TRY(sap_sparse_lu_analyze(&g->lu, pattern, error));
  const sap_block_matrix matrix = {g->newton.values, g->upper};
  for (int pivots = SAP_LU_LAST_PIVOTS; pivots <= SAP_LU_LARGEST_PIVOTS && !solved; ++pivots) {
    SAP_TRY(sap_sparse_lu_factorize(&g->lu, &matrix, (sap_lu_pivots)pivots, &solved, error));
    if (solved && pivots < SAP_LU_LARGEST_PIVOTS) {
      for (int32_t i = 0; i < p->nv; ++i) {
        g->side[i] = sqrt(g->newton.mass[i]);
      }
      solved = sap_sparse_lu_solve(&g->lu, g->side, false) <= ENOUGH;
    }
  }
  return solved ? SAP_STATUS_OK
                : sap_fail(error, SAP_STATUS_NOT_SPD, "H = A + J' G J of the solution is singular");
}

static sap_status factor(sap_gradient* g, const sap_problem* p, sap_error* error) {
  const sap_block_pattern pattern = g->newton.pattern.view;
  sap_newton_assemble(&g->newton, true);
  if (g->options.coulomb) {
    return factor_unsymmetric(g, p, &pattern, error);
  }
  int32_t tree = -1;
  SAP_TRY(sap_cholesky_analyze(g->cholesky, &pattern, SAP_LINEAR_AUTO, NULL, error));
  const sap_status status = sap_cholesky_factorize(g->cholesky, g->newton.values, &tree, error);
  SAP_FAIL_IF(status == SAP_STATUS_NOT_SPD, error, status,
              "H = A + J' G J of the solution is not positive definite (found at tree %d)", tree);
  return status;
}

void sap_gradient_solve(sap_gradient* g, double* x, bool transposed) {
  if (g->options.coulomb) {
    (void)sap_sparse_lu_solve(&g->lu, x, transposed);
  } else {
    sap_cholesky_solve(g->cholesky, x);
  }
}

// Finds slopes and error at the solution; factors H.
static sap_status differentiate(sap_gradient* g, const sap_problem* p, sap_gradient_report* report,
                                sap_error* error) {
  set_velocity(g, p);
  report->error = find_error(g, p);
  SAP_FAIL_IF(!(report->error <= g->options.accepted_error), error, SAP_STATUS_ARGUMENT,
              "(v, gamma) is no solution of the problem: relative error %g, accepted %g",
              report->error, g->options.accepted_error);
  find_slopes(g, p, report);
  return factor(g, p, error);
}

// A Newton step on v with the factor of H; gamma follows from v.
static void polish(sap_gradient* g, const sap_problem* p) {
  (void)find_error(g, p);
  sap_gradient_solve(g, g->side, false);
  for (int32_t i = 0; i < p->nv; ++i) {
    g->v[i] += g->side[i];
  }
  set_velocity(g, p);
  for (int32_t b = 0; b < p->nblocks; ++b) {
    const sap_block block = sap_problem_view(p, &p->blocks[b]);
    const int32_t row = p->blocks[b].first_row;
    (void)sap_set_impulse(&block, g->vc + row, g->gamma + row);
  }
}

sap_status sap_gradient_problem(sap_gradient* g, const sap_problem* problem,
                                const sap_solution* solution, sap_gradient_report* report,
                                sap_error* error) {
  SAP_NOT_NULL(error, g, problem, solution);
  g->problem = NULL;
  sap_gradient_report found = {0};
  SAP_TRY(check_problem(problem, solution, error));
  SAP_TRY(reserve(g, problem, error));
  if (problem->nv > 0) {
    memcpy(g->v, solution->v, (size_t)problem->nv * sizeof(double));
  }
  if (problem->nrows > 0) {
    memcpy(g->gamma, solution->gamma, (size_t)problem->nrows * sizeof(double));
  }
  if (problem->ntrees > 0) {
    SAP_TRY(gather(g, problem, error));
    SAP_TRY(differentiate(g, problem, &found, error));
    for (int32_t i = 0; i < g->options.polish; ++i) {
      polish(g, problem);
      SAP_TRY(differentiate(g, problem, &found, error));
    }
  }
  g->problem = problem;
  if (report != NULL) {
    *report = found;
  }
  return SAP_STATUS_OK;
}
