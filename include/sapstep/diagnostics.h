// SPDX-License-Identifier: BSD-3-Clause
// Energies and momenta of a multibody state.
#ifndef SAPSTEP_DIAGNOSTICS_H
#define SAPSTEP_DIAGNOSTICS_H

#include <sapstep/base.h>
#include <sapstep/multibody.h>

#ifdef __cplusplus
extern "C" {
#endif

typedef struct sap_diagnostics {
  double kinetic;              // 1/2 v' M v, armature included [J]
  double potential_gravity;    // -sum m g . p_Co [J]
  double potential_springs;    // springs of joints, tendons and bodies, bushings [J]
  double mass;                 // of all moving bodies [kg]
  double p_WCm[3];             // their centre of mass [m]
  double linear_momentum[3];   // [kg m/s], armature not included
  double angular_momentum[3];  // about the world origin [kg m^2/s], armature not included
} sap_diagnostics;

// Of the state, of the model's sizes; whatever forces act. ARGUMENT, NOT_FINITE.
SAP_API sap_status sap_multibody_diagnose(sap_multibody* multibody, const sap_state* state,
                                          sap_diagnostics* out, sap_error* error);

#ifdef __cplusplus
}
#endif

#endif
