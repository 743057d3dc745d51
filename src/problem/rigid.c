// SPDX-License-Identifier: BSD-3-Clause
// Rigid laws at the level of velocities: R = 0, and the gap g0 enters as a bias of the velocity.
//   contact    g0 <= 0:  v_n >= -e min(v_n0, 0) + b (-g0)/dt  (Newton's restitution, Baumgarte)
//              g0 > 0:   v_n >= -e v_n0 where e > 0 and v_n0 closes the gap within the step,
//                        else v_n >= -g0/dt: the gap may just close
//   limit      as a contact with e = 0;   bilateral  v = -b g0/dt
// Where J changes, g0 gains the curvature's share.
// Moreau 1988; Jean 1999; Baumgarte 1972
#include <math.h>
#include <string.h>

#include "problem/problem_data.h"

sap_status sap_problem_set_rigid(sap_problem* p, double restitution, double baumgarte,
                                 const double* v0, sap_error* error) {
  if (p == NULL || v0 == NULL) {
    return sap_fail(error, SAP_STATUS_ARGUMENT, "sap_problem_set_rigid: %s is NULL",
                    p == NULL ? "problem" : "v0");
  }
  if (!(restitution >= 0.0 && restitution <= 1.0)) {
    return sap_fail(error, SAP_STATUS_ARGUMENT, "restitution = %g must be in [0, 1]", restitution);
  }
  if (!(baumgarte >= 0.0 && baumgarte <= 1.0)) {
    return sap_fail(error, SAP_STATUS_ARGUMENT, "baumgarte = %g must be in [0, 1]", baumgarte);
  }
  const sap_status status = sap_problem_keep_v0(p, v0, error);
  if (status == SAP_STATUS_OK) {
    p->rigid = true;
    p->restitution = restitution;
    p->baumgarte = baumgarte;
    p->theta = p->theta_vq = 1.0;
  }
  return status;
}

// v_hat of a row whose velocity may not be less (or, bilateral, must be equal).
static double bias(const sap_problem* p, const sap_soft_row* row, double restitution) {
  const double gap = row->g0 + row->curvature;
  const bool open = row->unilateral && gap > 0.0;
  const bool closes = gap + p->dt * row->rate0 <= 0.0;
  if (open && !(restitution > 0.0 && closes)) {
    return -gap / p->dt;
  }
  const double bounce = row->unilateral ? -restitution * fmin(row->rate0, 0.0) : 0.0;
  return open ? bounce : bounce - p->baumgarte * gap / p->dt;
}

void sap_rigid_row(const sap_problem* p, const sap_soft_row* row, double* R, double* v_hat) {
  if (p->rigid) {
    *R = 0.0;
    *v_hat = bias(p, row, 0.0);
  }
}

void sap_rigid_contact(const sap_problem* p, const sap_stage_cone* cone, double* R, double* v_hat) {
  if (p->rigid) {
    memset(R, 0, (size_t)cone->nrows * sizeof(double));
    v_hat[2] = bias(p, &cone->normal, p->restitution);
  }
}
