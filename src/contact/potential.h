// SPDX-License-Identifier: BSD-3-Clause
// Contact laws that come from a potential: the similar and lagged models of sapstep/contact.h.
//
// With u = v_hat - vc, ur = |u_t|, t^ = u_t/ur:  gamma = dl/du, G = d2l/du2 >= 0, l convex.
//   normal    n(Y) = Y (a + b Y) for Y > 0, else 0,  N(Y) = Y^2 (a/2 + b Y/3)
//             is (v_hat - z)+ (1 - d z)+/Rn with Y = m - z, m = min(v_hat, 1/d) where it begins,
//             a = |1 - d v_hat|/Rn,  b = d/Rn
//   similar   l = N(Y),  Y = un + mu h(ur) - offset,  offset = v_hat - m
//             gamma_n = n,  gamma_t = mu n h' t^
//             G_nn = n',  G_nt = mu h' n',
//             G_tt = (mu h')^2 n' + mu n h''  along t^,  mu n h'/ur  across
//   lagged    l = N(un - offset) + mu n0 h(ur),  gamma_t = mu n0 h' t^
//             G_nn = n',  G_nt = 0,  G_tt = mu n0 h''  along t^,  mu n0 h'/ur  across
#ifndef SAP_CONTACT_POTENTIAL_H
#define SAP_CONTACT_POTENTIAL_H

#include <sapstep/problem.h>

typedef struct sap_potential {
  bool lagged;
  double mu;
  double linear, quadratic;  // a, b
  double offset;             // v_hat - m [m/s]
  double slip_speed;         // v_s [m/s]
  double limit;              // lagged: mu n0 [N s]
} sap_potential;

sap_potential sap_potential_make(const sap_block* block);

// The law at a point, in the plane of t^ and n.
typedef struct sap_potential_point {
  double cost;               // [J]
  double gamma_n, gamma_r;   // gamma_r along t^ [N s]
  double nn, nt, tt, cross;  // of G; cross: along tangents other than t^, and gamma_r/ur
} sap_potential_point;

sap_potential_point sap_potential_at(const sap_potential* potential, double ur, double un);

// gamma from u; returns the cost.
double sap_potential_impulse(const sap_potential* potential, const double u[3], double gamma[3]);
// G at u: {t1t1, t1t2, t2t2, t1n, t2n, nn}.
void sap_potential_hessian(const sap_potential* potential, const double u[3], double G[6]);
// A line u - alpha d by its inner products, of the rows but the normal: |u_t|^2, un, u_t . d_t,
// |d_t|^2, dn.
typedef struct sap_potential_line {
  double ur2, un, ud, dd, dn;
} sap_potential_line;

// gamma . d at u; adds d' G d to *curvature.
double sap_potential_slope_in(const sap_potential* potential, const sap_potential_line* line,
                              double* curvature);
double sap_potential_slope(const sap_potential* potential, const double u[3], const double d[3],
                           double* curvature);

#endif
