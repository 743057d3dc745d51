// SPDX-License-Identifier: BSD-3-Clause
// What a run leaves behind: the trajectory as CSV.
#ifndef SAPSTEP_OUTPUT_H
#define SAPSTEP_OUTPUT_H

#include <sapstep/base.h>
#include <sapstep/diagnostics.h>
#include <sapstep/model.h>
#include <sapstep/stepper.h>

#ifdef __cplusplus
extern "C" {
#endif

// Columns, units in the names: t_s, q and v by joint name ("q_hip_rad", "v_root_wx_radps", ...),
// contacts, newton_iterations, kinetic_J, potential_J, penetration_m. One header line.
typedef struct sap_trajectory sap_trajectory;

typedef struct sap_trajectory_row {
  const sap_state* state;
  int32_t contacts;           // contact points
  int32_t newton_iterations;  // of the contact solver
  double kinetic;             // [J]
  double potential;           // gravity and springs [J]
  double penetration;         // the largest, >= 0 [m]
} sap_trajectory_row;

// Writes go to a temporary file beside `path`. sap_trajectory_commit puts it in place; IO when
// anything could not be written. Closing without commit leaves no trace.
SAP_API sap_status sap_trajectory_create(const char* path, const sap_model* model,
                                         sap_trajectory** out, sap_error* error);
SAP_API sap_status sap_trajectory_write(sap_trajectory* trajectory, const sap_trajectory_row* row,
                                        sap_error* error);
SAP_API sap_status sap_trajectory_commit(sap_trajectory* trajectory, sap_error* error);
SAP_API void sap_trajectory_close(sap_trajectory* trajectory);

#ifdef __cplusplus
}
#endif

#endif
