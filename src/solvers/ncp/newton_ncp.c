// SPDX-License-Identifier: BSD-3-Clause
// Nonsmooth Newton for the NCP, alone and inside a proximal point method.
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
// it is given up and sigma rises. Sigma falls the faster the fewer steps a problem needed. In
// scaled impulses 1 is the largest eigenvalue of a block of D, and SIGMA_FIRST makes a problem
// nearly diagonal. The first problem has the least sigma: it is solved fastest if at all, and
// friction is not monotone, so that a large sigma may lead to a poor iterate.
#include <cblas.h>
#include <math.h>
#include <string.h>

#include "solvers/dual/methods.h"
#include "solvers/ncp/alart_curnier.h"
#include "solvers/ncp/local_ncp.h"

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

static void set_mark(sap_dual* d, sap_alart_curnier* s, watchdog* w, double merit) {
  w->steps = 0;
  w->mark = merit;
  memcpy(s->z_mark, d->z, (size_t)d->op.n * sizeof(double));
}

// Returns to the marked iterate, sweeps from there and raises kappa.
static void sweep_from_mark(sap_dual* d, sap_alart_curnier* s, watchdog* w) {
  memcpy(d->z, s->z_mark, (size_t)d->op.n * sizeof(double));
  sap_nbgs_sweeps(d, SWEEPS);
  memcpy(s->z_ref, d->z, (size_t)d->op.n * sizeof(double));
  w->kappa = fmin(fmax(FIRST_KAPPA, KAPPA_RISE * w->kappa), MOST_KAPPA);
  set_mark(d, s, w, sap_alart_curnier_merit(d, s));
}

static void watch(sap_dual* d, sap_alart_curnier* s, watchdog* w) {
  s->sigma = 0.0;
  const double merit = sap_alart_curnier_merit(d, s);
  if (d->iterations == 0 || merit <= FALL * w->mark) {
    w->kappa = d->iterations > 0 ? KAPPA_DROP * w->kappa : 0.0;
    set_mark(d, s, w, merit);
  } else if (++w->steps > PATIENCE || !isfinite(merit)) {
    sweep_from_mark(d, s, w);
  }
  s->sigma = w->kappa * sqrt(2.0 * sap_alart_curnier_merit(d, s) / d->q_2);
}

sap_status sap_newton_ncp(sap_dual* d, sap_error* error) {
  sap_alart_curnier s;
  watchdog w = {0};
  double alpha = 0.0;
  SAP_TRY(sap_alart_curnier_start(d, &s, error));
  for (;;) {
    bool done = false;
    SAP_TRY(sap_dual_check(d, d->options->max_iterations, alpha, &done, error));
    if (done) {
      return SAP_STATUS_OK;
    }
    watch(d, &s, &w);
    memcpy(s.z_ref, d->z, (size_t)d->op.n * sizeof(double));
    SAP_TRY(sap_alart_curnier_step(d, &s, true, &alpha, error));
    d->iterations += 1;
    if (alpha == 0.0) {
      sweep_from_mark(d, &s, &w);
    }
  }
}

static const double SIGMA_FIRST = 10.0;
// Least proximal weight. Round-off in the null space of a singular D grows to eps/SIGMA_LEAST of
// the impulses, 2e-10, on any BLAS kernel.
static const double SIGMA_LEAST = 1e-6;
static const double DROP_FIRST = 0.2, DROP_LEAST = 0.1, DROP_MOST = 0.7;
static const double SOLVED_FALL = 1e-4;  // fall of |F|^2 that ends a proximal problem
static const double EXPLODED = 1e6;      // rise of |F|^2 that ends the attempt
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

static progress judge_step(sap_dual* d, sap_alart_curnier* s, proximal* p) {
  const double merit = sap_alart_curnier_merit(d, s);
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

// Starts the next proximal problem, around d->z.
static void begin_problem(sap_dual* d, sap_alart_curnier* s, proximal* p) {
  const double sigma = s->sigma;
  memcpy(s->z_ref, d->z, (size_t)d->op.n * sizeof(double));
  s->sigma = 0.0;
  p->first = p->mark = sap_alart_curnier_merit(d, s);
  s->sigma = sigma;
  s->nmerits = 0;
  p->steps = p->idle = 0;
}

static void after_success(sap_alart_curnier* s, proximal* p) {
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

// Goes back towards the last sigma that worked, and beyond it if that fails too.
static void after_failure(sap_dual* d, sap_alart_curnier* s, proximal* p) {
  static const double RISE = 3.0, FIRST_RISE = 10.0;
  p->failures += 1;
  p->drop = sqrt(p->drop);
  memcpy(d->z, s->z_ref, (size_t)d->op.n * sizeof(double));
  if (!p->succeeded) {
    s->sigma = fmax(SIGMA_FIRST, FIRST_RISE * s->sigma);
    sap_nbgs_sweeps(d, p->guessed ? SWEEPS : 0);
    return;
  }
  s->sigma *= p->failures < FAILURES ? 1.0 / p->drop : RISE;
  sap_dual_evaluate(d);
}

sap_status sap_proximal_newton(sap_dual* d, sap_error* error) {
  sap_alart_curnier s;
  proximal p = {.drop = DROP_FIRST, .guessed = cblas_dasum(d->op.n, d->z, 1) > 0.0};
  double alpha = 0.0;
  bool singular = false;
  SAP_TRY(sap_alart_curnier_start(d, &s, error));
  s.sigma = SIGMA_LEAST;  // nearly plain Newton; fails where the guess is far
  for (;;) {
    bool done = false;
    SAP_TRY(sap_dual_check(d, d->options->max_iterations, alpha, &done, error));
    if (done) {
      return SAP_STATUS_OK;
    }
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
    SAP_TRY(sap_alart_curnier_step(d, &s, true, &alpha, error));
    singular = alpha == 0.0;
    d->iterations += 1;
    p.steps += 1;
  }
}
