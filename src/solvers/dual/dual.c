// SPDX-License-Identifier: BSD-3-Clause
// Projections, natural map and stopping test of the solvers in impulse space, and the loop over the
// islands of a problem. Results are collected in the workspace and handed over only after the last
// island is solved.
#include "solvers/dual/dual.h"

#include <cblas.h>
#include <float.h>
#include <string.h>

#include "contact/cone.h"
#include "core/memory.h"
#include "core/platform.h"
#include "math/scalar.h"
#include "problem/problem_data.h"
#include "problem/warm_start.h"
#include "solvers/islands.h"
#include "solvers/residuals.h"
#include "solvers/row_violation.h"

void sap_dual_project(const sap_delassus_item* item, const double* x, double* out) {
  if (item->is_cone) {
    sap_project_cone(item->mu, item->nrows, x, out);
  } else {
    out[0] = x[0] < item->lower ? item->lower : (x[0] > item->upper ? item->upper : x[0]);
  }
}

// The facet k whose sector contains x: x is projected on the edge of this facet alone.
void sap_dual_project_polygon(double radius, int32_t sides, const double x[2], double out[2]) {
  const double half = SAP_PI / sides;
  const double angle = 2.0 * half * floor(atan2(x[1], x[0]) / (2.0 * half) + 0.5);
  const double c = cos(angle), s = sin(angle);
  const double along = c * x[0] + s * x[1], across = c * x[1] - s * x[0];
  out[0] = x[0];
  out[1] = x[1];
  if (along > radius) {
    const double corner = radius * tan(half);
    const double t = fmax(-corner, fmin(corner, across));
    out[0] = c * radius - s * t;
    out[1] = s * radius + c * t;
  }
}

void sap_dual_project_disk(int32_t nrows, double radius, const double* x, double* out) {
  const double length = sqrt(sap_cone_n_dot(nrows, x, x));
  const double shrink = length > radius ? radius / length : 1.0;
  for (int32_t r = 0; r < nrows; ++r) {
    out[r] = r == SAP_NORMAL_ROW ? out[r] : shrink * x[r];
  }
}

void sap_dual_project_all(const sap_dual* d, const double* x, double* out) {
  SAP_EACH(const sap_delassus_item, item, d->op.items, d->op.nitems) {
    sap_dual_project(item, x + item->first, out + item->first);
  }
}

// A pyramid: the normal first, then the tangents on the polygon of the present normal impulse.
static void pyramid_law(const sap_delassus_item* item, const double* z, const double* g,
                        double reach, double turn, int32_t sides, double* next) {
  const double x = z[0] - g[0], y = z[1] - g[1], c = cos(turn), s = sin(turn);
  double on[2];
  sap_dual_project_polygon(reach * item->mu * fmax(z[SAP_NORMAL_ROW], 0.0), sides,
                           (double[]){c * x + s * y, c * y - s * x}, on);
  next[0] = c * on[0] - s * on[1];
  next[1] = s * on[0] + c * on[1];
  next[SAP_NORMAL_ROW] = fmax(z[SAP_NORMAL_ROW] - g[SAP_NORMAL_ROW], 0.0);
}

void sap_dual_facets_law(const sap_dual* d, const sap_delassus_item* item, const double* z,
                         const double* g, double* next) {
  pyramid_law(item, z, g, 1.0, 0.0, d->options->friction_directions, next);
}

void sap_dual_edges_law(const sap_dual* d, const sap_delassus_item* item, const double* z,
                        const double* g, double* next) {
  const int32_t sides = d->options->friction_directions;
  const double half = SAP_PI / sides;
  pyramid_law(item, z, g, cos(half), half, sides, next);
}

// out = z - P(z - g) of one item, computed as g + (x - P(x)) with x = z - g: no cancellation inside
// the set, however large z is. Other laws: z less what the law makes of it.
static void item_map(const sap_dual* d, const sap_delassus_item* item, const double* z,
                     const double* g, double* out) {
  double x[SAP_CONE_ROWS_MAX] = {0.0}, step[SAP_CONE_ROWS_MAX] = {0.0};
  if (d->law != NULL && item->is_cone) {
    d->law(d, item, z, g, step);
    for (int32_t r = 0; r < item->nrows; ++r) {
      out[r] = z[r] - step[r];
    }
    return;
  }
  const bool shifts = d->ncp && item->is_cone;
  const double shift = shifts ? item->mu * sqrt(sap_cone_n_dot(item->nrows, g, g)) : 0.0;
  for (int32_t r = 0; r < item->nrows; ++r) {
    step[r] = g[r] + (r == SAP_NORMAL_ROW ? shift : 0.0);
    x[r] = z[r] - step[r];
  }
  sap_dual_project(item, x, out);
  for (int32_t r = 0; r < item->nrows; ++r) {
    out[r] = step[r] + (x[r] - out[r]);
  }
}

typedef struct map_sums {
  double map_2, gamma_2;  // |map|^2, |gamma|^2 in impulses
  double scaled_2;        // |map|^2 in scaled impulses
  double speed;           // largest |map_i| in velocities, less the round-off of D z
} map_sums;

// Round-off of sums such as D z. Tests allow for it up to a part of the speed V: it must not hide
// that impulses grow without bound.
static const double ROUND_OFF = 8.0 * DBL_EPSILON;

// Sets d->map of z and g = D z + q.
static map_sums natural_map(sap_dual* d, const double* z, const double* g) {
  const double noise = ROUND_OFF * cblas_dnrm2(d->op.n, z, 1);  // of all that may meet in an item
  map_sums sums = {0};
  SAP_EACH(const sap_delassus_item, item, d->op.items, d->op.nitems) {
    double* map = d->map + item->first;
    item_map(d, item, z + item->first, g + item->first, map);
    double map_2 = 0.0, z_2 = 0.0;
    for (int32_t r = 0; r < item->nrows; ++r) {
      map_2 += map[r] * map[r];
      z_2 += z[item->first + r] * z[item->first + r];
    }
    sums.scaled_2 += map_2;
    sums.map_2 += item->scale * item->scale * map_2;
    sums.gamma_2 += item->scale * item->scale * z_2;
    const double hidden =
        fmin(noise, sqrt(d->options->relative_tolerance) * d->speed * item->scale);
    sums.speed = fmax(sums.speed, (sqrt(map_2) - hidden) / item->scale);
  }
  return sums;
}

void sap_dual_set_law(sap_dual* d, sap_local_rule law) {
  d->law = law;
  memset(d->z_best, 0, (size_t)d->op.n * sizeof(double));
  d->speed = 0.0;
  d->speed = natural_map(d, d->z_best, d->op.q).speed;
}

// Returns the scale of row r of an item: sum |J| (|v| + |v*|) + |v_hat| + R |z|_max.
static double row_scale(const sap_dual* d, const sap_delassus_item* item, int32_t r) {
  const sap_delassus* op = &d->op;
  const double* J = op->jacobian + item->jacobian + (size_t)r * (size_t)item->ncols;
  const size_t row = (size_t)(item->first + r);
  double most = 0.0;
  for (int32_t i = item->first; i < item->first + item->nrows; ++i) {
    most = fmax(most, fabs(d->z[i]));
  }
  double sum = fabs(op->v_hat[row]) + op->R[row] * most;
  for (int32_t t = 0; t < item->ntrees; ++t) {
    const int32_t tree = op->item_trees[item->first_tree + t];
    for (int32_t i = op->start[tree]; i < op->start[tree + 1]; ++i) {
      sum += fabs(*J++) * (fabs(d->v[i]) + fabs(op->v_star[i]));
    }
  }
  return sum;
}

// Sets the change of a rule's cone: the velocities of its map, whose step is 1. Tangents that slide
// also follow the step of their normal.
static void rule_change(const sap_delassus_item* item, const double* z, const double* g,
                        const double* map, const double* rho, double* change) {
  const double normal = fmax(-z[SAP_NORMAL_ROW], -rho[SAP_NORMAL_ROW] * g[SAP_NORMAL_ROW]);
  const double size = sqrt(sap_cone_n_dot(item->nrows, z, z));
  const bool slides = 2.0 * size > item->mu * z[SAP_NORMAL_ROW];
  for (int32_t r = 0; r < item->nrows; ++r) {
    const bool follows = slides && r != SAP_NORMAL_ROW;
    change[r] = rho[r] * fabs(map[r]) + (follows ? item->mu * fabs(normal * z[r]) / size : 0.0);
  }
}

bool sap_dual_rows_hold(const sap_dual* d) {
  const double most = sap_row_tolerance(d->options->relative_tolerance);
  const bool box = d->law == sap_dual_facets_law && d->options->friction_directions == 4;
  const sap_violation_law law = box      ? SAP_VIOLATION_BOX
                                : d->ncp ? SAP_VIOLATION_NCP
                                         : SAP_VIOLATION_CCP;
  SAP_EACH(const sap_delassus_item, item, d->op.items, d->op.nitems) {
    const double *z = d->z + item->first, *g = d->g + item->first;
    double rho[SAP_CONE_ROWS_MAX], change[SAP_CONE_ROWS_MAX], energy = 0.0;
    for (int32_t r = 0; r < item->nrows; ++r) {
      const double diagonal = item->diagonal[r * (item->nrows + 1)];
      rho[r] = diagonal > 0.0 ? 1.0 / diagonal : 1.0;
      energy += z[r] * z[r] / rho[r];
    }
    if (!item->is_cone) {
      change[0] = sap_interval_change(item->lower, item->upper, z[0], g[0], rho[0]);
    } else if (d->law == NULL || box) {
      sap_cone_change(law, item->mu, item->nrows, z, g, rho, change);
    } else {
      rule_change(item, z, g, d->map + item->first, rho, change);
    }
    for (int32_t r = 0; r < item->nrows; ++r) {
      // |(D z)_r| <= sum sqrt(D_rr D_ss) |z_s|
      const double miss = fabs(change[r]) / rho[r];
      const double hidden = fmin(ROUND_OFF * sqrt(energy / rho[r]),
                                 d->options->relative_tolerance * d->speed * item->scale);
      if (!(miss <= hidden || miss <= most * row_scale(d, item, r) ||
            miss * sqrt(rho[r]) <= d->options->absolute_tolerance)) {
        return false;
      }
    }
  }
  return true;
}

// True if the natural map is near the precision of its sums and neither test's part halves again.
static bool at_roundoff(sap_dual* d) {
  static const double NEAR_ROUNDOFF = 1e-12;  // sums over a block and its neighbours: 1000s of eps
  enum { PATIENCE = 500 };
  const double left = fmax(d->residual, d->miss);
  d->idle += 1;
  if (left <= 0.5 * d->mark) {
    d->mark = left;
    d->idle = 0;
  }
  return d->idle >= PATIENCE && d->best <= NEAR_ROUNDOFF;
}

// Returns the dual value -(1/2 z' D z + q' z): the cost l at a solution of the CCP.
static double dual_value(const sap_dual* d) {
  double sum = 0.0;
  for (int32_t i = 0; i < d->op.n; ++i) {
    sum -= 0.5 * d->z[i] * (d->g[i] + d->op.q[i]);
  }
  return sum;
}

void sap_dual_evaluate(sap_dual* d) {
  sap_delassus_velocity(&d->op, d->z, d->v);
  sap_delassus_gradient(&d->op, d->v, d->z, d->g);
}

bool sap_dual_continues(sap_dual* d, int32_t limit, double step_length) {
  sap_dual_evaluate(d);
  const map_sums sums = natural_map(d, d->z, d->g);
  const double eps = d->options->relative_tolerance;
  d->residual = fmin(sap_relative_map(sums.map_2, sums.gamma_2), DBL_MAX);
  d->miss = d->speed > 0.0 ? sums.speed / d->speed : 0.0;
  if (!isfinite(sums.map_2) || !isfinite(sums.gamma_2)) {
    d->outcome = SAP_OUTCOME_STALLED;  // diverged; the best iterate is finite
    return false;
  }
  const double least = d->options->absolute_tolerance * d->options->absolute_tolerance;
  const bool converged =
      (sums.scaled_2 <= least || (d->residual <= eps && d->miss <= eps)) && sap_dual_rows_hold(d);
  const bool ends = !converged && at_roundoff(d);
  const bool holds = ends && sap_dual_rows_hold(d);
  if (d->iterations == 0 || converged || holds || sums.scaled_2 < d->best_2) {
    d->best = d->residual;
    d->best_2 = sums.scaled_2;
    memcpy(d->z_best, d->z, (size_t)d->op.n * sizeof(double));
  }
  bool done = true;
  if (converged) {
    d->outcome = SAP_OUTCOME_CONVERGED;
  } else if (ends) {
    d->outcome = holds ? SAP_OUTCOME_ROUNDOFF : SAP_OUTCOME_STALLED;
  } else if (d->saving <= eps) {
    d->outcome = SAP_OUTCOME_EARLY_STOP;
  } else if (d->iterations >= limit) {
    d->outcome = SAP_OUTCOME_ITERATION_LIMIT;
  } else if (sap_clock_seconds() >= d->deadline) {
    d->outcome = SAP_OUTCOME_TIME_LIMIT;
  } else {
    done = false;
  }
  if (d->history != NULL) {
    const sap_history_row row = {.cost = dual_value(d),
                                 .gradient_2 = sums.map_2,
                                 .impulse_2 = sums.gamma_2,
                                 .step_length = d->iterations > 0 ? step_length : 0.0};
    d->status = sap_history_add(d->history, &row, d->error);
  }
  return !done && d->status == SAP_STATUS_OK;
}

enum { HISTORY_RESERVE = 512 };

typedef struct dual_workspace {
  sap_islands islands;
  sap_dual dual;
  sap_history history;
  sap_warm_start warm;  // impulses of the previous solve
  sap_sort_key* order;  // of islands
  sap_solution answer;
} dual_workspace;

sap_status sap_dual_create(void** workspace, sap_error* error) {
  return sap_new(workspace, 1, sizeof(dual_workspace), "solver", error);
}

void sap_dual_destroy(void* workspace) {
  dual_workspace* w = workspace;
  if (w == NULL) {
    return;
  }
  sap_islands_clear(&w->islands);
  sap_delassus_clear(&w->dual.op);
  sap_delassus_sparse_clear(&w->dual.sparse);
  sap_sparse_lu_clear(&w->dual.lu);
  sap_pool_free(&w->dual.pool);
  sap_history_clear(&w->history);
  sap_warm_start_clear(&w->warm);
  sap_solution_clear(&w->answer);
  sap_free(w);
}

sap_status sap_dual_archive(void* workspace, sap_archive* archive, sap_error* error) {
  return sap_warm_start_archive(&((dual_workspace*)workspace)->warm, archive, error);
}

// Sets d->z to the given guess, else the problem's, else the impulses that the same blocks had in
// the previous solve, else zero.
static void set_guess(dual_workspace* w, const double* given) {
  sap_dual* d = &w->dual;
  const sap_problem* p = d->op.problem;
  given = given == NULL && p->guess_rows == p->nrows ? p->gamma_guess : given;
  memset(d->z, 0, (size_t)d->op.n * sizeof(double));
  SAP_EACH(const sap_delassus_item, item, d->op.items, d->op.nitems) {
    const sap_block_data* block = &d->op.problem->blocks[item->block];
    const double* gamma = given != NULL ? given + block->first_row
                          : d->options->warm_start
                              ? sap_warm_start_find(&w->warm, block->key, block->nrows)
                              : NULL;
    for (int32_t r = 0; gamma != NULL && r < item->nrows; ++r) {
      d->z[item->first + r] = gamma[item->problem_row - block->first_row + r] / item->scale;
    }
  }
  sap_dual_project_all(d, d->z, d->z);
}

static sap_status start_island(dual_workspace* w, const double* given, sap_error* error) {
  sap_dual* d = &w->dual;
  const int32_t n = d->op.n;
  SAP_TRY(SAP_CARVE(&d->pool, &d->vectors, error, SAP_ARRAY(&d->z, n), SAP_ARRAY(&d->g, n),
                    SAP_ARRAY(&d->z_best, n), SAP_ARRAY(&d->map, n), SAP_ARRAY(&d->v, d->op.nv)));
  set_guess(w, given);
  d->outcome = SAP_OUTCOME_ITERATION_LIMIT;
  d->iterations = d->factorizations = d->evaluations = 0;
  d->best = d->mark = (double)INFINITY;
  d->idle = 0;
  d->saving = (double)INFINITY;
  d->q_2 = sap_dot(d->op.n, d->op.q, d->op.q);
  sap_dual_set_law(d, NULL);
  return SAP_STATUS_OK;
}

// Copies the best impulses and their velocities to the problem's rows and trees.
static void finish_island(dual_workspace* w, const sap_problem* p) {
  sap_dual* d = &w->dual;
  sap_delassus_velocity(&d->op, d->z_best, d->v);
  for (int32_t t = 0; t < d->op.ntrees; ++t) {
    const int32_t tree = d->op.trees[t];
    memcpy(w->answer.v + p->tree_start[tree], d->v + d->op.start[t],
           (size_t)p->tree_size[tree] * sizeof(double));
  }
  SAP_EACH(const sap_delassus_item, item, d->op.items, d->op.nitems) {
    for (int32_t r = 0; r < item->nrows; ++r) {
      w->answer.gamma[item->problem_row + r] = item->scale * d->z_best[item->first + r];
    }
  }
}

static sap_status solve_island(dual_workspace* w, const sap_solve_call* call, int32_t index,
                               sap_dual_method method, sap_report* sum, sap_error* error) {
  const sap_island island = sap_islands_get(&w->islands, index);
  sap_dual* d = &w->dual;
  SAP_TRY(sap_delassus_gather(&d->op, call->problem, &island, error));
  SAP_TRY(start_island(w, call->gamma_guess, error));
  SAP_TRY(method(d));
  SAP_FAIL_IF(!isfinite(d->best), error, SAP_STATUS_NOT_FINITE,
              "impulses overflow in the island of tree %d: v_star, v_hat or A is too large",
              island.trees[0]);
  if (d->history != NULL) {
    sap_history_end_island(d->history);
  }
  finish_island(w, call->problem);
  const double z = cblas_dnrm2(d->op.n, d->z_best, 1);
  const sap_report one = {
      .outcome = d->outcome,
      .iterations = d->iterations,
      .total_iterations = d->iterations,
      .factorizations = d->factorizations,
      .evaluations = d->evaluations,
      .islands = 1,
      .island_error = d->best_2 > 0.0 ? sqrt(d->best_2 / fmax(z * z, d->q_2)) : 0.0,
      .largest_island = d->op.nv};
  sap_report_add(sum, &one);
  return SAP_STATUS_OK;
}

// Orders the islands by their numbers of blocks where time is limited, so that a large one does not
// keep small ones from being solved. Stable. The second half of `keys` is scratch.
static sap_status order_islands(dual_workspace* w, bool by_size, sap_error* error) {
  const int32_t count = w->islands.count;
  SAP_TRY(SAP_ROOM(&w->dual.pool, &w->order, 2 * (int64_t)count + 1, error));
  for (int32_t i = 0; i < count; ++i) {
    const uint64_t key = by_size ? (uint64_t)sap_islands_get(&w->islands, i).nblocks : 0;
    w->order[i] = (sap_sort_key){.key = key, .index = i};
  }
  sap_merge_sort(w->order, w->order + count, count);
  return SAP_STATUS_OK;
}

sap_status sap_dual_run(void* workspace, const sap_solve_call* call, bool ncp,
                        sap_dual_method method, sap_error* error) {
  dual_workspace* w = workspace;
  const sap_problem* p = call->problem;
  sap_dual* d = &w->dual;
  const double limit = call->options->time_limit;
  SAP_TRY(sap_solution_resize(&w->answer, p->nv, p->nrows, error));
  SAP_TRY(sap_islands_find(&w->islands, p, !call->options->islands, error));
  SAP_TRY(order_islands(w, limit > 0.0, error));
  if (call->report != NULL) {
    SAP_TRY(sap_history_begin(&w->history, HISTORY_RESERVE, 0.0, error));
  }
  d->options = call->options;
  d->ncp = ncp;
  d->status = SAP_STATUS_OK;
  d->error = error;
  d->history = call->report != NULL ? &w->history : NULL;
  d->deadline = limit > 0.0 ? sap_clock_seconds() + limit : (double)INFINITY;
  if (p->nv > 0) {
    memcpy(w->answer.v, p->v_star, (size_t)p->nv * sizeof(double));
  }
  sap_report sum = {.outcome = SAP_OUTCOME_CONVERGED};
  for (int32_t i = 0; i < w->islands.count; ++i) {
    SAP_TRY(solve_island(w, call, w->order[i].index, method, &sum, error));
  }
  sap_contact_velocity(p, w->answer.v, w->answer.vc);
  return sap_report_hand_over(call, &w->warm, w->answer.gamma, &w->answer, &sum, &w->history,
                              error);
}

sap_status sap_dual_solve(void* workspace, const sap_solver_row* row, const sap_solve_call* call,
                          sap_error* error) {
  return sap_dual_run(workspace, call, row->ncp, row->method, error);
}
