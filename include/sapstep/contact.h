// SPDX-License-Identifier: BSD-3-Clause
// Physical contact parameters, how those of two bodies combine, and what they become in the
// convex problem: regularization R and stabilization velocity v_hat.
#ifndef SAPSTEP_CONTACT_H
#define SAPSTEP_CONTACT_H

#include <sapstep/base.h>

#ifdef __cplusplus
extern "C" {
#endif

// The parameters a user gives for a surface or for a pair of them.
typedef struct sap_material {
  double stiffness;        // k [N/m], > 0; INFINITY: rigid (the near-rigid limit decides)
  double relaxation_time;  // tau_d [s], >= 0
  double friction;         // mu [-], >= 0
} sap_material;

// How mu of a pair follows from that of its two surfaces.
typedef enum sap_friction_rule {
  SAP_FRICTION_HARMONIC,  // 2 muA muB / (muA + muB): URDF and C models
  SAP_FRICTION_MAXIMUM,   // MuJoCo's, for equal priorities
} sap_friction_rule;

// k 1e6 N/m, tau_d 0.01 s, mu 0.5.
SAP_API sap_material sap_material_default(void);

// Springs in series: k = kA kB/(kA + kB); tau_d is the mean weighted by compliance,
// (kB tauA + kA tauB)/(kA + kB); mu by `rule`. An infinite stiffness leaves the other's values;
// two infinite ones give an infinite k and the mean of the times.
SAP_API sap_status sap_material_combine(const sap_material* a, const sap_material* b,
                                        sap_friction_rule rule, sap_material* out,
                                        sap_error* error);

// The two numbers of the regularization, castro (29) and (30).
typedef struct sap_regularization {
  double beta;   // near-rigid parameter [-], >= 0; 0: never limit the stiffness
  double sigma;  // slip parameter [-], > 0
} sap_regularization;

// beta 1, sigma 1e-3.
SAP_API sap_regularization sap_regularization_default(void);

// R and v_hat of one contact, rows [t1, t2, n]:
//   Rn = max(beta^2/(4 pi^2) w, 1/(dt k (dt + tau_d))),  Rt = sigma w            castro (29)-(30)
//   v_hat = (0, 0, -phi0/(dt + tau_d))
// w [1/kg] is the Delassus scale |W_ii|_F/3. Fails (ARGUMENT) unless dt > 0, w > 0, k > 0,
// tau_d >= 0, mu >= 0, sigma > 0 and R > 0; (NOT_FINITE) for NaN or an infinite number other
// than k.
SAP_API sap_status sap_contact_regularize(const sap_material* pair,
                                          const sap_regularization* regularization, double dt,
                                          double phi0, double w, double R[3], double v_hat[3],
                                          sap_error* error);

// One contact of a configuration, as collision detection finds it and the stepper reports it.
typedef struct sap_contact {
  int32_t body_A, body_B;    // model body ids; the normal points from A into B
  int32_t shape_A, shape_B;  // model shape ids; shape_A < shape_B
  int32_t feature;           // which point of the pair's manifold; stable while the contact lasts
  int32_t condim;            // 1 frictionless, 3 sliding friction
  double point[3];           // p_WC [m], between the surfaces by compliance (on the rigid one's)
  double R_WC[9];            // column-major; columns t1, t2, n
  double phi;                // signed distance [m], < 0 penetration
  sap_material material;     // of the pair
  double R[3];               // regularization [t1 t2 n]         (set by a step)
  double vc[3];              // contact velocity after the step [m/s], [t1 t2 n]
  double gamma[3];           // impulse on B [N s], [t1 t2 n]
} sap_contact;

#ifdef __cplusplus
}
#endif

#endif
