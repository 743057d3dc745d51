// SPDX-License-Identifier: BSD-3-Clause
// Proximal point around Newton: z+ solves the NCP of D + sigma I, q - sigma z.
//                                                     Acary, Bremond, Huber 2018; carpentier
// What makes hyperstatic problems solvable, whose D is singular. Each is solved by whole Newton
// steps: with sigma large enough they converge, and where they do not they are cut short and sigma
// rises. Sigma falls the faster the fewer steps were needed. Scaled impulses: 1 is the largest
// eigenvalue of a block of D, and SIGMA_FIRST makes a problem nearly diagonal. Plain Newton comes
// first: it is faster where it works, and friction is not monotone, so that a large sigma may lead
// astray.
#include <cblas.h>
#include <math.h>
#include <string.h>

#include "solvers/ncp/local_ncp.h"
#include "solvers/ncp/newton_ncp.h"
#include "solvers/ncp/newton_system.h"

static const double SIGMA_FIRST = 10.0;
// Least proximal weight. Round-off in the null space of a singular D grows to eps/SIGMA_LEAST of the
// impulses, 2e-10, on any BLAS kernel.
static const double SIGMA_LEAST = 1e-6;
static const double DROP_FIRST = 0.2, DROP_LEAST = 0.1, DROP_MOST = 0.7;
static const double SOLVED = 1e-4;   // fall of |F|^2 that ends a proximal problem
static const double FALL = 0.25;     // fall of |F|^2 that PATIENCE steps must bring
static const double EXPLODED = 1e6;  // rise of |F|^2 that ends the attempt
enum { SWEEPS = 20, PATIENCE = 6, FEW_STEPS = 3, MANY_STEPS = 8, FAILURES = 3 };

typedef struct proximal {
  double drop;       // factor of the next sigma
  double first;      // |F|^2 / 2 at the start of the proximal problem, without its term
  double mark;       // smallest |F|^2 / 2 that counted as a fall
  int32_t steps;     // in this proximal problem
  int32_t idle;      // steps since the fall
  int32_t failures;  // proximal problems that were cut short one after the other
  bool succeeded;    // one was solved
  bool guessed;      // began with impulses, which may mislead: sweeps of exact contacts mend them
} proximal;

typedef enum attempt { GOES_ON, SOLVES, FAILS } attempt;

static attempt judge(sap_dual* d, sap_newton_system* s, proximal* p) {
  const double merit = sap_newton_merit(d, s);
  if (merit <= SOLVED * p->first) {
    return SOLVES;
  }
  if (merit <= FALL * p->mark) {
    p->mark = merit;
    p->idle = 0;
    return GOES_ON;
  }
  p->idle += 1;
  return p->idle < PATIENCE && merit <= EXPLODED * p->mark ? GOES_ON : FAILS;
}

// The next proximal problem, around d->z.
static void begin(sap_dual* d, sap_newton_system* s, proximal* p) {
  const double sigma = s->sigma;
  memcpy(s->z_ref, d->z, (size_t)d->op.n * sizeof(double));
  s->sigma = 0.0;
  p->first = p->mark = sap_newton_merit(d, s);
  s->sigma = sigma;
  s->nmerits = 0;
  p->steps = p->idle = 0;
}

static void after_success(sap_newton_system* s, proximal* p) {
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

// Towards the last sigma that worked; beyond it when that has failed, too.
static void after_failure(sap_dual* d, sap_newton_system* s, proximal* p) {
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
  sap_newton_return(d, s->z_ref);
}

sap_status sap_proximal_newton_method(sap_dual* d, sap_error* error) {
  sap_newton_system s;
  proximal p = {.drop = DROP_FIRST, .guessed = cblas_dasum(d->op.n, d->z, 1) > 0.0};
  sap_status status = sap_newton_start(d, &s, error);
  s.sigma = SIGMA_LEAST;  // plain Newton, in vain where D is singular or the guess is far
  double alpha = 0.0;
  bool singular = false;
  while (status == SAP_STATUS_OK) {
    bool done = false;
    status = sap_dual_check(d, d->options->max_iterations, alpha, &done, error);
    if (status != SAP_STATUS_OK || done) {
      return status;
    }
    if (d->iterations == 0) {
      begin(d, &s, &p);
    } else {
      const attempt result = singular ? FAILS : judge(d, &s, &p);
      if (result == SOLVES) {
        after_success(&s, &p);
      } else if (result == FAILS) {
        after_failure(d, &s, &p);
      }
      if (result != GOES_ON) {
        begin(d, &s, &p);
      }
    }
    status = sap_newton_step(d, &s, true, &alpha, error);
    singular = alpha == 0.0;
    d->iterations += 1;
    p.steps += 1;
  }
  return status;
}

SAP_DUAL_ROW(sap_proximal_newton_solve, true, sap_proximal_newton_method)
