// SPDX-License-Identifier: BSD-3-Clause
// The contact law: R and v_hat of contacts, compliant rows and servos. Formulas in contact_law.c.
#pragma once

#include <math.h>

#include <sapstep/problem.h>

#include "contact/cone.h"

// Settings that all laws of a problem share.
typedef struct sap_law_settings {
  double dt;
  const sap_contact_scheme* scheme;
  const sap_regularization* regularization;
} sap_law_settings;

// One contact at the start of a step; its rows [t1 t2 n spin roll1 roll2] are scaled by `scales`.
typedef struct sap_law_contact {
  const sap_material* material;  // of the pair
  sap_contact_model model;       // decides, not the material's
  double phi0, overlap;          // see sap_contact_block [m]
  double gap_change;             // of the theta point, see sap_contact_block [m]
  double w, wt, wn;              // Delassus scale, tr(W_tt)/2, W_nn of [t1 t2 n] [1/kg]
  double largest_w;              // W_ii of a row, about; 0: not above w [1/kg]
  double mass, load, thickness;  // see sap_contact_block [kg], [kg], [m]
  double lift;                   // likewise [N]
  double pull;                   // [N]
  double friction;               // mu of the scaled rows [-]
  int32_t nrows;
  const double* scales;            // of rows                                           (nrows)
  const double* surface_velocity;  // [t1 t2 spin], unscaled [m/s], [rad/s]
  const double* velocity_change;   // from J v to the end of the step [t1 t2 n], unscaled [m/s]
  const double *vc0, *vc_star;     // J v0, J v*; NULL where sap_law_needs_v0 is false      (nrows)
} sap_law_contact;

typedef struct sap_law_rows {
  double R[SAP_CONE_ROWS_MAX], v_hat[SAP_CONE_ROWS_MAX];
  double end;         // share of the end of the step at which the law acts; 0: the theta point
  double end_change;  // normal speed by which positions move less v_n, at the end of the step [m/s]
  bool is_wrong;      // deeper than an impact explains
  bool reads_wn;      // wn lessens w
  bool bounded;       // by a thin shape: R_n is less
  bool shifts;        // v_hat_n is to be shifted against gliding
  double slip;        // then: |g_t| expected [m/s]
  double friction;    // mu, static friction included [-]
  double realised;    // stiffness, as a part of the material's, in (0, 1]; rigid laws: 1
  // Similar and lagged only:
  double slip_speed;   // v_s [m/s]
  double new_impulse;  // n0 of a contact without one from the step before [N s]
} sap_law_rows;

// True if the law of a contact of that model reads vc0 and vc_star.
bool sap_law_needs_v0(const sap_contact_scheme* scheme, sap_contact_model model);

// Computes the law of a contact. Fails with ARGUMENT or NOT_FINITE for parameters out of range and
// for R that overflows or is 0 without a rigid scheme.
sap_status sap_law_contact_rows(const sap_law_settings* settings, const sap_law_contact* contact,
                                sap_law_rows* rows, sap_error* error);

// Computes R and v_hat of a row of a limit or bilateral constraint. Fails with ARGUMENT or
// NOT_FINITE.
sap_status sap_law_row(const sap_law_settings* settings, const sap_compliant_row* row, double* R,
                       double* v_hat, sap_error* error);
// Returns true if a limit is violated by more than an impact explains, as if it were rigid.
bool sap_law_limit_is_wrong(const sap_law_settings* settings, double g0, double relaxation_time);
// Returns the share of the end of the step in the point where the row acts; 0: the theta point.
double sap_law_end_share(const sap_law_settings* settings, const sap_compliant_row* row);

// R of a rigid bilateral row relative to w. A loop of mass m opens under a load F by the order of
// F/m dt (dt + tau_d) times this, and H = A + J' R^-1 J still keeps nine digits.
#define SAP_RIGID_ROW 1e-6
// Least R of a compliant row relative to w, as of beta = 1e-3; with 2.5e-8 all of 6000 random
// problems whose masses differ by 1e12 converge.
#define SAP_ROUNDOFF_ROW 2.5e-8
// The same at the recovery speed, as soft as MuJoCo's constraints are.
#define SAP_GIVING_ROW 0.1
// Least Rt relative to W_ii of each row of its cone, scaled by s = mu_i/mu. Below 2e-17 H = A + J'
// R^-1 J loses A, with 1e-15 all but one digit of it: round-off of u_i, eps s |J_i v|, moves u_i by
// W_ii/Rt times as much. Sliding then slips by Rt gamma_t <= 1e-14 s of what row i's friction can
// change J_i v, of which mu gamma_n is the part 1/s < 4e-6. Random problems: src/solvers/README.md.
#define SAP_ROUNDOFF_TANGENT 1e-14

// The part of SAP_GIVING_ROW at a share of the recovery speed. With the square a weld of 1 kg and
// 1000 kg opens by 0.2 m where it falls under error control, and by 12 mm in steps of 1 ms; with the
// fourth power by 2 and 5 mm, but a net of connects takes a fifth more time.
static inline double sap_law_giving(double share, bool settled) {
  return settled ? share * share * share * share : share * share;
}

// Computes the law of a rigid bilateral row. settled: under error control; steps shorter than tau_d
// have the damper 1/(R dt) of a step of tau_d. Inline: the MuJoCo adapter is a library of its own.
static inline void sap_law_rigid_row(const sap_compliant_row* row, double dt, bool settled,
                                     double* R, double* v_hat) {
  double back = -row->g0 / (dt + row->relaxation_time), share = 0.0;
  if (row->recovery_speed > 0.0) {
    share = fmin(fabs(back) / row->recovery_speed, 1.0);
    back = fmin(fmax(back, -row->recovery_speed), row->recovery_speed);
  }
  const double longer = settled ? fmax(1.0, row->relaxation_time / dt) : 1.0;
  *R = fmax(SAP_RIGID_ROW, SAP_GIVING_ROW * sap_law_giving(share, settled)) * longer * row->w;
  *v_hat = back - row->curvature / dt;
}

// A servo: force = offset - kp l - kd dl/dt of a length l, between bounds.
typedef struct sap_law_servo {
  double offset, kp, kd;
  double length0, rate0;  // l at the start of the step, J v0
  double w;               // Delassus scale of the row
} sap_law_servo;

// Computes R and v_hat of a servo's row at a scheme's theta point, without a near-rigid limit.
// Inline as sap_law_rigid_row is.
static inline void sap_law_servo_at(const sap_law_servo* servo, double dt, double theta,
                                    double theta_vq, double* R, double* v_hat) {
  const double kp = servo->kp, kd = servo->kd;
  const double c = theta * (dt * theta_vq * kp + kd);
  const double c0 = dt * theta * (1.0 - theta_vq) * kp + (1.0 - theta) * kd;
  *R = 1.0 / (dt * c);
  *v_hat = (servo->offset - kp * servo->length0 - c0 * servo->rate0) / c;
}

// Computes R and v_hat of a servo's row.
void sap_law_servo_row(const sap_law_settings* settings, const sap_law_servo* servo, double* R,
                       double* v_hat);
