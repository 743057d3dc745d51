// SPDX-License-Identifier: BSD-3-Clause
// Mass properties of solid shapes of uniform density, and of sums of them.
#ifndef SAP_IO_INERTIA_H
#define SAP_IO_INERTIA_H

#include <sapstep/model.h>

// Returns the volume [m^3]; 0 for a plane.
double sap_shape_volume(sap_shape_type type, const double size[3]);
// Computes the principal inertia about the centre, in the shape's axes [kg m^2].
void sap_shape_inertia(sap_shape_type type, const double size[3], double mass, double inertia[3]);

// out = R diag(d) R' with R of the unit quaternion q: xx yy zz xy xz yz.
void sap_inertia_rotate(double out[6], const double diagonal[3], const double q[4]);
// I += mass (|d|^2 1 - d d').
void sap_inertia_shift(double I[6], double mass, const double d[3]);

#endif
