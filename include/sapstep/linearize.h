// SPDX-License-Identifier: BSD-3-Clause
// Exact derivatives of the last step of a stepper, of the step as it was made: with its set of
// contacts and its memory. Positions vary in the tangent space, q (+) dx (nv), see
// sap_system.position_difference. Where the law of a contact has a kink they are those of one side.
//
// Supported: steps by a compliant law with the laws at the end of the step (implicit and symplectic
// Euler, and every scheme where no block acts); contacts of all kinds and models, limits, dry
// friction, servos and equalities. Refused with UNSUPPORTED and a message that names the reason:
// laws at the theta point (contacts of the midpoint rule), adhesion, locked joints, rigid laws,
// solvers of another law than the convex one. What is not exact is named in the report; the
// curvature of equalities is that along the solution before where a step was solved again.
#ifndef SAPSTEP_LINEARIZE_H
#define SAPSTEP_LINEARIZE_H

#include <sapstep/stepper.h>

#ifdef __cplusplus
extern "C" {
#endif

typedef struct sap_linearize_report {
  // The step is first improved by Newton's method, beyond the tolerances of its solver: |dv| of the
  // last correction and of all, relative to the speeds that the forces of a step give [-].
  double last_correction, correction;
  int32_t iterations;
  int32_t kinks;  // contacts and rows whose derivatives may be those of the other side
  char notes[SAP_DERIVATIVE_NOTES];  // what is by differences or held constant; "": nothing
} sap_linearize_report;

// Sets A, the derivatives of [q1; v1] to [q0; v0] (2nv x 2nv), and B, those to the inputs u of the
// system, such as controls (2nv x nu); column-major; the input of an actuator with activation is its
// activation at the start of the step, which its control moves for the next step alone; either may be NULL. Call it after
// sap_stepper_step; the stepper's next steps do not change. report may be NULL. No heap call from the
// second call on. ARGUMENT: no step has been made; UNSUPPORTED; STEP_FAILED: the step cannot be
// improved to where its derivatives are exact.
SAP_API sap_status sap_stepper_linearize(sap_stepper* stepper, double* A, double* B,
                                         sap_linearize_report* report, sap_error* error);
// Sets the gradients dq0, dv0 (nv) and du (nu) of a function of q1 and v1 with the gradients dq1 and
// dv1 (nv): dq0 = A_qq' dq1 + A_vq' dv1, and likewise, by one transposed solve, without matrices of
// contacts. NULL: zero, or not wanted. After sap_stepper_linearize, or another vjp, of the same step
// the factors in hand serve.
SAP_API sap_status sap_stepper_vjp(sap_stepper* stepper, const double* dq1, const double* dv1,
                                   double* dq0, double* dv0, double* du,
                                   sap_linearize_report* report, sap_error* error);

#ifdef __cplusplus
}
#endif

#endif
