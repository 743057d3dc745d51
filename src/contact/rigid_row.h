// SPDX-License-Identifier: BSD-3-Clause
// The law of rigid bilateral rows: R and v_hat.
//   v_hat = -g0/(dt + tau_d) - c/dt,  c the curvature;  R = SAP_RIGID_ROW w
// Given a recovery speed, the first term stays within it, and R grows with the square of what it
// takes of that speed, up to SAP_GIVING_ROW w: loops that stand open, or that nothing can close,
// give way. Rigid ones would ask joints for any speed near singular poses, as that of an arm
// stretched out with its hand welded.
#ifndef SAP_CONTACT_RIGID_ROW_H
#define SAP_CONTACT_RIGID_ROW_H

#include <math.h>

#include <sapstep/problem.h>

// R relative to w: what a loop of mass m gives under a load F is of the order of F/m dt (dt +
// tau_d) times this, and H = A + J' R^-1 J still keeps nine digits.
#define SAP_RIGID_ROW 1e-6
// The same at the recovery speed, as soft as MuJoCo's constraints are.
#define SAP_GIVING_ROW 0.1

static inline void sap_rigid_bilateral(const sap_soft_row* row, double dt, double* R,
                                       double* v_hat) {
  double back = -row->g0 / (dt + row->relaxation_time), share = 0.0;
  if (row->recovery_speed > 0.0) {
    share = fmin(fabs(back) / row->recovery_speed, 1.0);
    back = fmin(fmax(back, -row->recovery_speed), row->recovery_speed);
  }
  *R = fmax(SAP_RIGID_ROW, SAP_GIVING_ROW * share * share) * row->w;
  *v_hat = back - row->curvature / dt;
}

#endif
