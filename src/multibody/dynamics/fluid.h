// SPDX-License-Identifier: BSD-3-Clause
// Drag and lift of a medium at rest or in a steady wind, MuJoCo's two models: each body as the box
// that has its inertia, or single shapes as ellipsoids.
#ifndef SAP_MULTIBODY_DYNAMICS_FLUID_H
#define SAP_MULTIBODY_DYNAMICS_FLUID_H

#include "multibody/dynamics/dynamics.h"

// What the medium acts on.
typedef struct sap_fluid_part {
  int32_t body;
  bool ellipsoid;
  double p_BF[3], R_BF[9];    // its frame F in the body: principal axes
  double size[3];             // sides of the box, semi-axes of the ellipsoid [m]
  double viscous[2];          // of turning [N m s], of translation [N s/m]
  double quadratic[6];        // of a box: moments per rate^2, forces per speed^2 along F's axes
  double virtual_inertia[6];  // of the medium that moves along with an ellipsoid: of turning
                              // [kg m^2], of translation [kg], along F's axes
  double lift[2];             // of an ellipsoid: Kutta, Magnus [kg/m^3], [kg]
  double drag[3];             // of an ellipsoid: blunt, slender, angular, times the density
} sap_fluid_part;

typedef struct sap_fluid {
  int32_t count;
  sap_fluid_part* parts;
} sap_fluid;

// The parts of a model; none where its medium has neither density nor viscosity. Start from {0}.
sap_status sap_fluid_create(const sap_model* model, sap_fluid* fluid, sap_error* error);
void sap_fluid_clear(sap_fluid* fluid);

// Moment and force on a part that moves through the medium at this rate, in F's axes:
// motion = [omega; velocity]. D: symmetric, positive semidefinite (6 x 6), the drag's share of
// -dforce/dmotion. NULL: not wanted.
void sap_fluid_law(const sap_fluid_part* part, const double motion[6], double force[6],
                   double D[36]);

// k += sign times the medium's forces at (q set last, v).
void sap_dynamics_add_fluid(sap_dynamics* dynamics, const double* v, double sign, double* k);
// Adds scale times their D to A: lower triangles of the trees.
void sap_dynamics_add_fluid_damping(sap_dynamics* dynamics, const double* v, double scale,
                                    const sap_tree_matrix* A);
bool sap_dynamics_has_fluid(const sap_dynamics* dynamics);

#endif
