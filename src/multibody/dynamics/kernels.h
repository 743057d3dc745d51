// SPDX-License-Identifier: BSD-3-Clause
// What the dynamics spend their time with, compiled for several instruction sets and chosen at run
// time. All sets do the same operations in the same order and give the same bits. Those with a
// range do it for some of the units (placing.h) or for the links of some, and may do so side by
// side.
#ifndef SAP_MULTIBODY_DYNAMICS_KERNELS_H
#define SAP_MULTIBODY_DYNAMICS_KERNELS_H

#include "multibody/dynamics/momentum.h"

typedef struct sap_dynamics_range {
  int32_t first, end;
} sap_dynamics_range;

typedef struct sap_dynamics_kernels {
  const char* name;  // instruction set
  void (*set_positions)(sap_dynamics* dynamics, sap_dynamics_range units, const double* q);
  void (*add_point_jacobian)(const sap_dynamics* dynamics, int32_t body, const double p_W[3],
                             const double R_WC[9], double sign, double* J);
  void (*mass_matrix)(sap_dynamics* dynamics, sap_dynamics_range links, double* const* diagonal);
  // trees NULL: all.
  void (*momenta)(sap_dynamics* dynamics, sap_dynamics_range links, const double* v,
                  const bool* trees, double (*momenta)[6]);
  // Of the forces that change the momenta as in a step; those at its end are left in step->end.
  void (*momentum_forces)(sap_dynamics* dynamics, sap_dynamics_range links, const double* v,
                          const sap_momentum_step* step, double* tau);
} sap_dynamics_kernels;

// Returns the sets that this processor can run, the widest at index 0; NULL past the last.
const sap_dynamics_kernels* sap_dynamics_kernels_get(int32_t index);

#endif
