// SPDX-License-Identifier: BSD-3-Clause
// Drag and lift of a medium at rest or in a steady wind, by MuJoCo's two models: a body as the box
// with its inertia, or single shapes as ellipsoids.
#pragma once

#include "multibody/dynamics/dynamics.h"

// A body or shape that the medium acts on.
typedef struct sap_fluid_part {
  int32_t body;
  bool ellipsoid;
  bool isotropic;             // its force is the same whatever its axes: viscosity alone
  double p_BF[3], R_BF[9];    // its frame F in the body: principal axes
  double size[3];             // sides of the box, semi-axes of the ellipsoid [m]
  double viscous[2];          // rotation [N m s], translation [N s/m]
  double quadratic[6];        // of a box: moments per rate^2, forces per speed^2 along F's axes
  double virtual_inertia[6];  // of an ellipsoid: rotational [kg m^2], translational [kg], along
                              // F's axes
  double lift[2];             // of an ellipsoid: Kutta, Magnus [kg/m^3], [kg]
  double drag[3];             // of an ellipsoid: blunt, slender, angular, times the density
} sap_fluid_part;

// Drag [moment; force] = -[a b; b' c] [omega; v] about O: a and c, packed as xx yy zz xy xz yz, b.
enum { SAP_DRAG_C = 6, SAP_DRAG_B = 12, SAP_DRAG_SIZE = 21 };

typedef struct sap_fluid {
  int32_t count;
  sap_fluid_part* parts;
  double (*drags)[SAP_DRAG_SIZE];  // scratch: of a link and those beyond it         (bodies)
} sap_fluid;

// Makes the parts of a model; none if its medium has neither density nor viscosity. Start from {0}.
sap_status sap_fluid_create(const sap_model* model, sap_pool* pool, sap_fluid* fluid,
                            sap_error* error);

// force = [moment; force] on a part with motion = [omega; velocity] relative to the medium, in F's
// axes. D, unless NULL: the drag's part of -dforce/dmotion, symmetric positive semidefinite (6 x
// 6).
void sap_fluid_law(const sap_fluid_part* part, const double motion[6], double force[6],
                   double D[36]);

// Adds sign times the medium's wrenches on the links of `trees` (NULL: all) to dynamics->F, before
// sap_dynamics_gather_forces; those on lone links to tau. dynamics->V of all other links is set.
void sap_dynamics_push_fluid(sap_dynamics* dynamics, const sap_dynamics_state* at,
                             const bool* trees, double sign, double* tau);
// k += sign times the medium's forces.
void sap_dynamics_add_fluid(sap_dynamics* dynamics, const sap_dynamics_state* at, double sign,
                            double* k);
// Adds scale times their D to A: lower triangles of the trees.
void sap_dynamics_add_fluid_damping(sap_dynamics* dynamics, const sap_dynamics_state* at,
                                    double scale, const sap_tree_matrix* A);
