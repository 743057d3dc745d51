// SPDX-License-Identifier: BSD-3-Clause
// Nonsmooth Newton for the NCP.                        Alart, Curnier 1991; Acary et al. 2018
// A watchdog (Chamberlain et al. 1982) takes whole steps, which pass the kinks of F where a line
// search creeps along them. When |F|^2 has not fallen to a quarter within PATIENCE of them, Newton
// is too far from a solution: back to the best iterate, a few sweeps of exact contacts, and steps
// that D + sigma I shortens, sigma = kappa |F|/|q|; kappa falls while things go well.
#include "solvers/ncp/newton_ncp.h"

#include <math.h>
#include <string.h>

#include "solvers/ncp/local_ncp.h"
#include "solvers/ncp/newton_system.h"

enum { PATIENCE = 6, SWEEPS = 20 };
static const double FIRST_KAPPA = 1e-3, MOST_KAPPA = 1e3, RISE = 10.0, DROP = 0.3;

typedef struct watchdog {
  double mark;    // |F|^2 / 2 of z_mark
  int32_t steps;  // whole steps since
  double kappa;
} watchdog;

static void set_mark(sap_dual* d, sap_newton_system* s, watchdog* w, double merit) {
  w->steps = 0;
  w->mark = merit;
  memcpy(s->z_mark, d->z, (size_t)d->op.n * sizeof(double));
}

static void sweep(sap_dual* d, sap_newton_system* s, watchdog* w) {
  memcpy(d->z, s->z_mark, (size_t)d->op.n * sizeof(double));
  sap_nbgs_sweeps(d, SWEEPS);
  memcpy(s->z_ref, d->z, (size_t)d->op.n * sizeof(double));
  w->kappa = fmin(fmax(FIRST_KAPPA, RISE * w->kappa), MOST_KAPPA);
  set_mark(d, s, w, sap_newton_merit(d, s));
}

static void watch(sap_dual* d, sap_newton_system* s, watchdog* w) {
  static const double FALL = 0.25;
  s->sigma = 0.0;
  const double merit = sap_newton_merit(d, s);
  if (d->iterations == 0 || merit <= FALL * w->mark) {
    w->kappa = d->iterations > 0 ? DROP * w->kappa : 0.0;
    set_mark(d, s, w, merit);
  } else if (++w->steps > PATIENCE || !isfinite(merit)) {
    sweep(d, s, w);
  }
  s->sigma = w->kappa * sqrt(2.0 * sap_newton_merit(d, s) / d->q_2);
}

static sap_status run_newton(sap_dual* d, sap_error* error) {
  sap_newton_system s;
  watchdog w = {0};
  sap_status status = sap_newton_start(d, &s, error);
  double alpha = 0.0;
  while (status == SAP_STATUS_OK) {
    bool done = false;
    status = sap_dual_check(d, d->options->max_iterations, alpha, &done, error);
    if (status != SAP_STATUS_OK || done) {
      return status;
    }
    watch(d, &s, &w);
    memcpy(s.z_ref, d->z, (size_t)d->op.n * sizeof(double));
    status = sap_newton_step(d, &s, true, &alpha, error);
    d->iterations += 1;
    if (status == SAP_STATUS_OK && alpha == 0.0) {
      sweep(d, &s, &w);
    }
  }
  return status;
}

SAP_DUAL_ROW(sap_newton_ncp_solve, true, run_newton)
