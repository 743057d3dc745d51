// SPDX-License-Identifier: BSD-3-Clause
// Nonsmooth Newton for the NCP.                        Alart, Curnier 1991; Acary et al. 2018
// A watchdog (Chamberlain et al. 1982) takes whole steps, which pass the kinks of F where a line
// search creeps along them; when |F|^2 has not fallen to a quarter within PATIENCE of them it goes
// back to the best iterate and searches along the line.
#include "solvers/ncp/newton_ncp.h"

#include <math.h>
#include <string.h>

#include "solvers/ncp/newton_system.h"

enum { PATIENCE = 6 };

typedef struct watchdog {
  double mark;    // |F|^2 / 2 of z_mark
  int32_t steps;  // whole steps since
  int32_t searches;
} watchdog;

// Whether the next step is a whole one.
static bool watch(sap_dual* d, sap_newton_system* s, watchdog* w) {
  static const double FALL = 0.25;
  const double merit = sap_newton_merit(d, s);
  if (w->searches > 0) {
    w->searches -= 1;
    w->steps = 0;
    w->mark = merit;
    memcpy(s->z_mark, d->z, (size_t)d->op.n * sizeof(double));
    return w->searches == 0;
  }
  if (d->iterations == 0 || merit <= FALL * w->mark) {
    w->steps = 0;
    w->mark = merit;
    memcpy(s->z_mark, d->z, (size_t)d->op.n * sizeof(double));
  } else if (++w->steps > PATIENCE) {
    sap_newton_return(d, s->z_mark);
    s->nmerits = 0;
    w->searches = PATIENCE;
    return false;
  }
  return true;
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
    const bool whole = watch(d, &s, &w);
    memcpy(s.z_ref, d->z, (size_t)d->op.n * sizeof(double));
    status = sap_newton_step(d, &s, whole, &alpha, error);
    d->iterations += 1;
    if (status == SAP_STATUS_OK && alpha == 0.0) {
      d->outcome = SAP_OUTCOME_STALLED;
      return SAP_STATUS_OK;
    }
  }
  return status;
}

SAP_DUAL_ROW(sap_newton_ncp_solve, true, run_newton)
