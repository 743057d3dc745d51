// SPDX-License-Identifier: BSD-3-Clause
// Nonsmooth Newton for the NCP, alone and inside a proximal point method, and for the CCP near a
// solution.
//
// newton-ncp                                       Alart, Curnier 1991; Acary et al. 2018
// A watchdog (Chamberlain et al. 1982) takes whole steps: they pass the kinks of F along which a
// line search creeps. If |F|^2 has not fallen to a quarter within PATIENCE steps, Newton is too far
// from a solution: it returns to the best iterate, does a few sweeps of exact contacts, and
// shortens its steps by D + sigma I, sigma = kappa |F|/|q|. kappa falls while |F| falls.
//
// proximal-newton                                  Acary, Bremond, Huber 2018; carpentier
// z+ solves the NCP of D + sigma I, q - sigma z: this makes hyperstatic problems solvable, whose D
// is singular. Each is solved by whole Newton steps, which converge if sigma is large enough; else
// it is given up and sigma rises. Sigma falls the faster the fewer steps a problem needed. Where
// sigma cannot fall, the solutions z_1, z_2, ... creep along the null space of D: the reference
// point is then ahead of the solution, z_ref = z_k + AHEAD (z_k - z_k-1). After a problem that is
// given up the next starts there. In
// scaled impulses 1 is the largest eigenvalue of a block of D, and SIGMA_FIRST makes a problem
// nearly diagonal. The first problem has the least sigma: it is solved fastest if at all, and
// friction is not monotone, so that a large sigma may lead to a poor iterate.
//
// The Alart-Curnier equations of an island, proximal or not:
//   g   = D z + q + sigma (z - z_ref),  p = z - g
//   F_n = z_n - max(0, p_n)
//   F_t = z_t - P_disk(mu max(0, p_n))(p_t);  interval rows: F = z - clamp(p)
//   (I - T + T (D + sigma I)) dz = -F,  T = dP/dp
// convex: those of the CCP, where F is the natural map and P the projection on the set.
// Where T = 0 (open contacts) dz = -F. The other items give a sparse system: contacts meet few
// others.
// cost of a step: one sparse LU of the items whose T is not zero.
#include <cblas.h>
#include <math.h>
#include <string.h>

#include "contact/cone.h"
#include "core/memory.h"
#include "problem/problem_data.h"
#include "solvers/dual/dual.h"

typedef struct equations {
  double *F, *dz;  // (n)
  double *g, *dg;  // g of the proximal problem, and its change along dz
  double *z_ref, *copy;
  double* z_mark;             // iterate to which the watchdog returns; last proximal solution
  double* right;              // p; then the right-hand side of the reduced system
  double *lower, *upper;      // its matrix                             (values of D)
  double* T;                  // dP/dp, item after item                   (6 n)
  sap_block_pattern pattern;  // of the reduced system
  int32_t *sizes, *column_start, *row, *reduced;  // reduced: index of an item, -1: T = 0
  size_t* start;                                  // of its blocks in the values of D
  double sigma;
  bool convex;
} equations;

// Assembles D; sets z_ref = d->z and sigma = 0.  fails: MEMORY
static sap_status start_equations(sap_dual* d, equations* s) {
  *s = (equations){0};
  sap_sparse_lu_forget(&d->lu);
  SAP_TRY(sap_delassus_sparse_assemble(&d->sparse, &d->op, d->error));
  const int64_t n = d->op.n, nitems = d->op.nitems, values = (int64_t)d->sparse.pairs.nvalues;
  const int64_t entries = d->sparse.pattern.column_start[nitems];
  SAP_TRY(SAP_CARVE(&d->pool, &d->work, d->error, SAP_ARRAY(&s->F, n), SAP_ARRAY(&s->dz, n),
                    SAP_ARRAY(&s->g, n), SAP_ARRAY(&s->dg, n), SAP_ARRAY(&s->z_ref, n),
                    SAP_ARRAY(&s->copy, n), SAP_ARRAY(&s->z_mark, n), SAP_ARRAY(&s->right, n),
                    SAP_ARRAY(&s->T, SAP_CONE_ROWS_MAX * n), SAP_ARRAY(&s->lower, values),
                    SAP_ARRAY(&s->upper, values), SAP_ARRAY(&s->sizes, nitems),
                    SAP_ARRAY(&s->reduced, nitems), SAP_ARRAY(&s->column_start, nitems + 1),
                    SAP_ARRAY(&s->row, entries), SAP_ARRAY(&s->start, entries)));
  memcpy(s->z_ref, d->z, (size_t)n * sizeof(double));
  memcpy(s->z_mark, d->z, (size_t)n * sizeof(double));
  return SAP_STATUS_OK;
}

// Sets s->g from d->z and d->g = D z + q, p = z - g in s->right, and s->F (convex: the map that
// sap_dual_continues found); returns |F|^2/2.
static double find_merit(const sap_dual* d, equations* s) {
  for (int32_t i = 0; i < d->op.n; ++i) {
    s->g[i] = d->g[i] + s->sigma * (d->z[i] - s->z_ref[i]);
    s->right[i] = d->z[i] - s->g[i];
  }
  SAP_EACH(const sap_delassus_item, item, d->op.items, d->op.nitems) {
    sap_split_project(item, s->right + item->first, s->F + item->first);
  }
  for (int32_t i = 0; i < d->op.n; ++i) {
    s->F[i] = s->convex ? d->map[i] : d->z[i] - s->F[i];
  }
  return 0.5 * cblas_ddot(d->op.n, s->F, 1, s->F, 1);
}

// T = dP/dx of the projection on an item's set, symmetric. On the cone's surface, with t the tangents' direction and
// n = (x_n + mu |x_t|)/(1 + mu^2):  (mu t, 1)(mu t, 1)'/(1 + mu^2) + mu n/|x_t| (I - t t')
static void projection_jacobian(const sap_delassus_item* item, const double* x, double* T) {
  if (!item->is_cone) {
    T[0] = x[0] >= item->lower && x[0] <= item->upper ? 1.0 : 0.0;
    return;
  }
  const double length = sqrt(sap_cone_n_dot(item->nrows, x, x)), normal = x[SAP_NORMAL_ROW];
  const double mu = item->mu, scale = 1.0 / (1.0 + mu * mu);
  double t[SAP_CONE_ROWS_MAX] = {0.0};
  sap_cone_n_parts parts = {0.0, 0.0, 0.0, 0.0};
  if (sap_cone_holds(mu, length, normal)) {
    parts = (sap_cone_n_parts){1.0, 1.0, 0.0, 1.0};
  } else if (!(mu * length <= -normal)) {
    parts = (sap_cone_n_parts){mu * mu * scale, mu * (normal + mu * length) * scale / length,
                               mu * scale, scale};
    for (int32_t r = 0; r < item->nrows; ++r) {
      t[r] = x[r] / length;
    }
  }
  sap_cone_n_fill(item->nrows, &parts, t, T);
}

// Sets T of all items, and the pattern of the reduced system: items whose T is not zero.
static void reduce_system(const sap_dual* d, equations* s) {
  const sap_block_pattern* all = &d->sparse.pattern;
  int32_t count = 0, entries = 0;
  for (int32_t k = 0; k < d->op.nitems; ++k) {
    const sap_delassus_item* item = &d->op.items[k];
    const double* p = s->right + item->first;
    double* T = s->T + SAP_CONE_ROWS_MAX * (size_t)item->first;
    if (s->convex) {
      projection_jacobian(item, p, T);
    } else {
      sap_split_jacobian(item, p, sap_split_region(item, p), T);
    }
    bool open = true;
    for (int32_t i = 0; i < item->nrows * item->nrows; ++i) {
      open = open && T[i] == 0.0;
    }
    s->reduced[k] = open ? -1 : count;
    if (!open) {
      s->sizes[count++] = item->nrows;
    }
  }
  for (int32_t k = 0; k < d->op.nitems; ++k) {
    if (s->reduced[k] < 0) {
      continue;
    }
    s->column_start[s->reduced[k]] = entries;
    for (int32_t e = all->column_start[k]; e < all->column_start[k + 1]; ++e) {
      if (s->reduced[all->row[e]] >= 0) {
        s->row[entries] = s->reduced[all->row[e]];
        s->start[entries++] = all->value_start[e];
      }
    }
  }
  s->column_start[count] = entries;
  s->pattern = (sap_block_pattern){count, s->sizes, s->column_start, s->row, s->start};
}

// to = T B with B rows x columns; transposed: to = (T B')'.
static void multiply_block(const double* T, int32_t rows, int32_t columns, bool transposed,
                           const double* B, double* to) {
  const int32_t inner = transposed ? columns : rows, outer = transposed ? rows : columns;
  const int32_t step = transposed ? rows : 1, next = transposed ? 1 : rows;
  for (int32_t j = 0; j < outer; ++j) {
    for (int32_t i = 0; i < inner; ++i) {
      double sum = 0.0;
      for (int32_t c = 0; c < inner; ++c) {
        sum += T[c * inner + i] * B[c * step + j * next];
      }
      to[i * step + j * next] = sum;
    }
  }
}

// J = (I - T) + T (D + sigma I) of the reduced system, block by block.
static void assemble(const sap_dual* d, equations* s) {
  const sap_delassus_sparse* D = &d->sparse;
  for (int32_t k = 0; k < d->op.nitems; ++k) {
    const sap_delassus_item* column = &d->op.items[k];
    const double* T_k = s->T + SAP_CONE_ROWS_MAX * (size_t)column->first;
    for (int32_t e = D->pattern.column_start[k];
         s->reduced[k] >= 0 && e < D->pattern.column_start[k + 1]; ++e) {
      const int32_t l = D->pattern.row[e];
      const sap_delassus_item* row = &d->op.items[l];
      const size_t at = D->pattern.value_start[e];
      if (s->reduced[l] < 0) {
        continue;
      }
      multiply_block(s->T + SAP_CONE_ROWS_MAX * (size_t)row->first, row->nrows, column->nrows,
                     false, D->values + at, s->lower + at);
      if (l != k) {
        multiply_block(T_k, row->nrows, column->nrows, true, D->upper + at, s->upper + at);
      }
    }
    if (s->reduced[k] >= 0) {
      const int32_t n = column->nrows;
      double* block = s->lower + D->pattern.value_start[D->pattern.column_start[k]];
      for (int32_t i = 0; i < n * n; ++i) {
        const double unit = i % (n + 1) == 0 ? 1.0 : 0.0;
        block[i] += unit - (1.0 - s->sigma) * T_k[i];
      }
    }
  }
}

// Sets right = -F - T D dz of the reduced items and dz = -F of the others.
static void find_right(sap_dual* d, equations* s) {
  const int32_t n = d->op.n;
  for (int32_t k = 0; k < d->op.nitems; ++k) {
    const sap_delassus_item* item = &d->op.items[k];
    for (int32_t i = item->first; i < item->first + item->nrows; ++i) {
      s->dz[i] = s->reduced[k] < 0 ? -s->F[i] : 0.0;
    }
  }
  if (s->pattern.nblocks < d->op.nitems && cblas_dasum(n, s->dz, 1) > 0.0) {
    sap_delassus_sparse_apply(&d->sparse, &d->op, s->dz, s->dg);
  } else {
    memset(s->dg, 0, (size_t)n * sizeof(double));
  }
  double* right = s->right;
  for (int32_t k = 0; k < d->op.nitems; ++k) {
    const sap_delassus_item* item = &d->op.items[k];
    const double* T = s->T + SAP_CONE_ROWS_MAX * (size_t)item->first;
    if (s->reduced[k] < 0) {
      continue;
    }
    for (int32_t i = 0; i < item->nrows; ++i) {
      double sum = s->F[item->first + i];
      for (int32_t c = 0; c < item->nrows; ++c) {
        sum += T[c * item->nrows + i] * s->dg[item->first + c];
      }
      *right++ = -sum;
    }
  }
}

// Solves the reduced system. Tries the pivots of the last factors of the same pattern first, then
// new ones.
static sap_status solve_reduced(sap_dual* d, equations* s, bool* solved) {
  static const double ENOUGH = 1e-8;  // relative residual
  const sap_block_matrix matrix = {s->lower, s->upper};
  int32_t n = 0;
  for (int32_t k = 0; k < s->pattern.nblocks; ++k) {
    n += s->sizes[k];
  }
  *solved = n == 0;
  if (*solved) {
    return SAP_STATUS_OK;
  }
  memcpy(s->copy, s->right, (size_t)n * sizeof(double));
  SAP_TRY(sap_sparse_lu_analyze(&d->lu, &s->pattern, d->error));
  for (int pivots = SAP_LU_LAST_PIVOTS; pivots <= SAP_LU_LARGEST_PIVOTS && !*solved; ++pivots) {
    bool done = false;
    SAP_TRY(sap_sparse_lu_factorize(&d->lu, &matrix, (sap_lu_pivots)pivots, &done, d->error));
    if (done) {
      d->factorizations += 1;
      memcpy(s->right, s->copy, (size_t)n * sizeof(double));
      const double left = sap_sparse_lu_solve(&d->lu, s->right, false);
      *solved = left <= ENOUGH || (pivots == SAP_LU_LARGEST_PIVOTS && isfinite(left));
    }
  }
  return SAP_STATUS_OK;
}

// Computes s->dz at d->z; *found = false if the matrix is singular.
static sap_status find_direction(sap_dual* d, equations* s, bool* found) {
  (void)find_merit(d, s);
  reduce_system(d, s);
  assemble(d, s);
  find_right(d, s);
  SAP_TRY(solve_reduced(d, s, found));
  const double* from = s->right;
  for (int32_t k = 0; *found && k < d->op.nitems; ++k) {
    const sap_delassus_item* item = &d->op.items[k];
    for (int32_t i = 0; s->reduced[k] >= 0 && i < item->nrows; ++i) {
      s->dz[item->first + i] = *from++;
    }
  }
  *found = *found && isfinite(cblas_dasum(d->op.n, s->dz, 1)) != 0;
  return SAP_STATUS_OK;
}

// Moves d->z by a Newton step. The diagonal of a singular matrix is raised as little as possible.
// *alpha: 1, or 0 if no raise made the matrix regular.
static sap_status take_step(sap_dual* d, equations* s, double* alpha) {
  static const double FIRST = 1e-10, FACTOR = 100.0;
  enum { MAXIMUM = 5 };
  const double sigma = s->sigma;
  double shift = FIRST;
  bool found = false;
  SAP_TRY(find_direction(d, s, &found));
  for (int i = 0; i < MAXIMUM && !found; ++i, shift *= FACTOR) {
    s->sigma = sigma + shift;
    SAP_TRY(find_direction(d, s, &found));
  }
  s->sigma = sigma;
  if (found) {
    cblas_daxpy(d->op.n, 1.0, s->dz, 1, d->z, 1);
  }
  *alpha = found ? 1.0 : 0.0;
  return SAP_STATUS_OK;
}

enum {
  PATIENCE = 6,  // steps without a fall of |F|^2
  SWEEPS = 20    // of exact contacts
};
static const double FALL = 0.25;  // part to which |F|^2 falls within PATIENCE steps
static const double FIRST_KAPPA = 1e-3, MOST_KAPPA = 1e3, KAPPA_RISE = 10.0, KAPPA_DROP = 0.3;

typedef struct watchdog {
  double mark;    // |F|^2 / 2 of z_mark
  int32_t steps;  // whole steps since the mark
  double kappa;   // sigma = kappa |F|/|q|
} watchdog;

static void set_mark(sap_dual* d, equations* s, watchdog* w, double merit) {
  w->steps = 0;
  w->mark = merit;
  memcpy(s->z_mark, d->z, (size_t)d->op.n * sizeof(double));
}

// Returns to the marked iterate, sweeps from there and raises kappa.
static void sweep_from_mark(sap_dual* d, equations* s, watchdog* w) {
  memcpy(d->z, s->z_mark, (size_t)d->op.n * sizeof(double));
  sap_nbgs_sweeps(d, SWEEPS);
  memcpy(s->z_ref, d->z, (size_t)d->op.n * sizeof(double));
  w->kappa = fmin(fmax(FIRST_KAPPA, KAPPA_RISE * w->kappa), MOST_KAPPA);
  set_mark(d, s, w, find_merit(d, s));
}

static void watch(sap_dual* d, equations* s, watchdog* w) {
  s->sigma = 0.0;
  const double merit = find_merit(d, s);
  if (d->iterations == 0 || merit <= FALL * w->mark) {
    w->kappa = d->iterations > 0 ? KAPPA_DROP * w->kappa : 0.0;
    set_mark(d, s, w, merit);
  } else if (++w->steps > PATIENCE || !isfinite(merit)) {
    sweep_from_mark(d, s, w);
  }
  s->sigma = w->kappa * sqrt(2.0 * find_merit(d, s) / d->q_2);
}

sap_status sap_newton_ncp(sap_dual* d) {
  equations s;
  watchdog w = {0};
  double alpha = 0.0;
  SAP_TRY(start_equations(d, &s));
  while (sap_dual_continues(d, d->options->max_iterations, alpha)) {
    watch(d, &s, &w);
    memcpy(s.z_ref, d->z, (size_t)d->op.n * sizeof(double));
    SAP_TRY(take_step(d, &s, &alpha));
    d->iterations += 1;
    if (alpha == 0.0) {
      sweep_from_mark(d, &s, &w);
    }
  }
  return d->status;
}

sap_status sap_convex_newton(sap_dual* d) {
  enum { STARTS = 2, MAXIMUM = 20 };
  equations s;
  SAP_TRY(start_equations(d, &s));
  s.convex = true;
  for (int start = 0; start < STARTS; ++start) {
    double last = (double)INFINITY, alpha = 0.0;
    for (int i = 0; i < MAXIMUM; ++i) {
      if (!sap_dual_continues(d, d->options->max_iterations, alpha)) {
        return d->status;
      }
      if (!(d->residual <= last)) {
        break;
      }
      last = d->residual;
      memcpy(s.z_ref, d->z, (size_t)d->op.n * sizeof(double));
      SAP_TRY(take_step(d, &s, &alpha));
      d->iterations += 1;
    }
    memcpy(d->z, d->z_best, (size_t)d->op.n * sizeof(double));
  }
  d->outcome = SAP_OUTCOME_STALLED;
  return d->status;
}

static const double SIGMA_FIRST = 10.0;
// Least proximal weight. Round-off in the null space of a singular D grows to eps/SIGMA_LEAST of
// the impulses, 2e-10, on any BLAS kernel.
static const double SIGMA_LEAST = 1e-6;
static const double DROP_FIRST = 0.2, DROP_LEAST = 0.1, DROP_MOST = 0.7;
static const double CREEPING = 1e-5;    // part of |F|^2 that a solution leaves, and more
static const double AHEAD = 0.5;        // measured: 0.3 to 0.6 differ little, 1 diverges
static const double SOLVED_FALL = 0.1;  // fall of |F|^2 that ends a proximal problem
static const double EXPLODED = 1e6;     // rise of |F|^2 that ends the attempt
enum { FEW_STEPS = 3, MANY_STEPS = 8, FAILURES = 3 };

typedef struct proximal {
  double drop;       // factor of the next sigma
  double first;      // |F|^2 / 2 at the start of the proximal problem, without its term
  double mark;       // |F|^2 / 2 at the last fall by FALL
  int32_t steps;     // in this proximal problem
  int32_t idle;      // steps since the mark
  int32_t failures;  // proximal problems given up in a row
  bool succeeded;    // a proximal problem was solved
  bool guessed;      // started from impulses; if they mislead, sweeps of exact contacts repair them
} proximal;

typedef enum progress { GOES_ON, SOLVED, FAILED } progress;

static progress judge_step(sap_dual* d, equations* s, proximal* p) {
  const double merit = find_merit(d, s);
  if (merit <= SOLVED_FALL * p->first) {
    return SOLVED;
  }
  if (merit <= FALL * p->mark) {
    p->mark = merit;
    p->idle = 0;
    return GOES_ON;
  }
  p->idle += 1;
  return p->idle < PATIENCE && merit <= EXPLODED * p->mark ? GOES_ON : FAILED;
}

// Starts the next proximal problem: ahead of d->z after a solution, else around d->z.
static void begin_problem(sap_dual* d, equations* s, proximal* p) {
  const double sigma = s->sigma;
  const double before = p->first;
  s->sigma = 0.0;
  p->first = p->mark = find_merit(d, s);
  const bool solved = p->succeeded && p->failures == 0;
  const bool creeps = solved && p->first > CREEPING * before;
  for (int32_t i = 0; i < d->op.n; ++i) {
    s->z_ref[i] = d->z[i] + (creeps ? AHEAD * (d->z[i] - s->z_mark[i]) : 0.0);
    s->z_mark[i] = solved ? d->z[i] : s->z_mark[i];
  }
  s->sigma = sigma;
  p->steps = p->idle = 0;
}

static void after_success(equations* s, proximal* p) {
  static const double FASTER = 0.5, SLOWER = 1.5;
  if (p->failures >= FAILURES - 1) {
    p->drop = fmax(p->drop, FASTER);
  }
  if (p->steps <= FEW_STEPS) {
    p->drop = fmax(DROP_LEAST, FASTER * p->drop);
  } else if (p->steps > MANY_STEPS) {
    p->drop = fmin(DROP_MOST, SLOWER * p->drop);
  }
  p->failures = 0;
  p->succeeded = true;
  s->sigma = fmax(SIGMA_LEAST, p->drop * s->sigma);
}

// Goes back to the reference point with a larger sigma.
static void after_failure(sap_dual* d, equations* s, proximal* p) {
  static const double RISE = 3.0, FIRST_RISE = 10.0;
  p->failures += 1;
  p->drop = sqrt(p->drop);
  memcpy(d->z, s->z_ref, (size_t)d->op.n * sizeof(double));
  if (!p->succeeded) {
    s->sigma = fmax(SIGMA_FIRST, FIRST_RISE * s->sigma);
    sap_nbgs_sweeps(d, p->guessed ? SWEEPS : 0);
    return;
  }
  s->sigma *= RISE;
  sap_dual_evaluate(d);
}

sap_status sap_proximal_newton(sap_dual* d) {
  equations s;
  proximal p = {.drop = DROP_FIRST, .guessed = cblas_dasum(d->op.n, d->z, 1) > 0.0};
  double alpha = 0.0;
  bool singular = false;
  SAP_TRY(start_equations(d, &s));
  s.sigma = SIGMA_LEAST;  // nearly plain Newton; fails where the guess is far
  while (sap_dual_continues(d, d->options->max_iterations, alpha)) {
    if (d->iterations == 0) {
      begin_problem(d, &s, &p);
    } else {
      const progress result = singular ? FAILED : judge_step(d, &s, &p);
      if (result == SOLVED) {
        after_success(&s, &p);
      } else if (result == FAILED) {
        after_failure(d, &s, &p);
      }
      if (result != GOES_ON) {
        begin_problem(d, &s, &p);
      }
    }
    SAP_TRY(take_step(d, &s, &alpha));
    singular = alpha == 0.0;
    d->iterations += 1;
    p.steps += 1;
  }
  return d->status;
}
