// SPDX-License-Identifier: BSD-3-Clause
// Derivatives of the last step of a stepper as it was made: with its contacts and its memory.
// Positions vary in the tangent space, q (+) dx (nv), see sap_system.position_difference. At the
// kink of a law they are those of one side.
//
// Supported: all schemes with compliant laws, at the end of the step or at its theta point; point
// contacts of all models with 1 to 6 rows, limits, dry friction, servos, equalities, activations.
// Fails with UNSUPPORTED, and names the reason, for
//   rigid laws, solvers without a convex law
//   contacts in patches, contacts whose features change in small motions, adhesion, locked joints
//   steps whose relinearizations were withdrawn, steps computed in parts (see sap_step_report)
//   systems without balance_derivatives, step_rotations or, with blocks, impulse_derivatives
// The report names all that is found by differences or held constant.
#pragma once

#include <sapstep/stepper.h>

SAP_C_BEGIN

typedef struct sap_linearize_report {
  // The step is first improved by Newton's method, beyond the tolerances of its solver: |dv| of the
  // last correction and the sum of all, relative to the speeds that the forces of a step give [-].
  double last_correction, correction;
  int32_t iterations;  // corrections
  int32_t kinks;       // contacts and rows whose derivatives may be those of the other side
  char notes[SAP_DERIVATIVE_NOTES];  // what is by differences or held constant; "": nothing
} sap_linearize_report;

// Sets A = d[q1; v1]/d[q0; v0] (2nv x 2nv) and B = d[q1; v1]/du (2nv x nu), column-major; each may
// be NULL. u: the inputs of the system, such as controls; for an actuator with activation u is its
// activation where the step takes it: at the start, or the theta point if 0 < theta < 1. Call it
// after sap_stepper_step; later steps are not affected. report may be NULL. No heap call from the
// second call on. Fails with ARGUMENT: no step has been made, or the last one failed; UNSUPPORTED,
// see above; STEP_FAILED: the step cannot be improved to where its derivatives are exact.
SAP_API sap_status sap_stepper_linearize(sap_stepper* stepper, double* A, double* B,
                                         sap_linearize_report* report, sap_error* error);
// Gradients of a function of q1 and v1.
typedef struct sap_step_gradients {
  const double *dq1, *dv1;            // to q1 and v1 (nv); NULL: zero
  double *dq0, *dv0;                  // outputs: to q0 and v0 (nv); NULL: not computed
  double* du;                         // output: to the inputs (nu); NULL: not computed
  sap_parameter_gradient parameters;  // output: to these; count 0: to none
} sap_step_gradients;

// Sets the outputs of `gradients` from dq1 and dv1,
//   dq0 = A_qq' dq1 + A_vq' dv1,  dv0 = A_qv' dq1 + A_vv' dv1,  du = B_q' dq1 + B_v' dv1
// by one transposed solve. Parameters without effect, such as the friction of a shape in no contact
// or the stiffness of a rigid one, have the gradient 0; contacts with spin or rolling friction are
// refused where their friction is a parameter.
// Another product of the same step, or one after sap_stepper_linearize, reuses the factors only:
// the derivatives of the impulses are computed again; measured about half of the first one's time.
// Fails as sap_stepper_linearize, and with NOT_FINITE: dq1 or dv1.
SAP_API sap_status sap_stepper_vjp(sap_stepper* stepper, const sap_step_gradients* gradients,
                                   sap_linearize_report* report, sap_error* error);

SAP_C_END
