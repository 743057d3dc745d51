// SPDX-License-Identifier: BSD-3-Clause
// Poses, quaternions from the rotations of files, and mass properties of solid shapes of uniform
// density. Inertias are packed: xx yy zz xy xz yz.
#pragma once

#include <sapstep/model.h>

// Pose of a frame B in its parent P.
typedef struct sap_pose {
  double p[3];  // [m]
  double q[4];
} sap_pose;

extern const sap_pose sap_pose_identity;
sap_pose sap_pose_of(const double p[3], const double q[4]);
void sap_pose_get(const sap_pose* pose, double p[3], double q[4]);
// out = a b: b given in a. out may alias a or b.
void sap_pose_compose(sap_pose* out, const sap_pose* a, const sap_pose* b);

// Computes the smallest rotation that takes (0, 0, 1) to z (not zero).
void sap_quaternion_from_z(double q[4], const double z[3]);
// Converts a column-major rotation.
void sap_quaternion_from_rotation(double q[4], const double r[9]);
// Composes three rotations about coordinate axes [rad]. Lower-case letters of xyz are moved axes,
// upper-case ones fixed axes.
void sap_quaternion_from_euler(double q[4], const char* sequence, const double angles[3]);

// Returns the volume [m^3]; 0 for a plane.
double sap_shape_volume(sap_shape_type type, const double size[3]);
// Computes the principal inertia about the centre, in the shape's axes [kg m^2].
void sap_shape_inertia(sap_shape_type type, const double size[3], double mass, double inertia[3]);

// out = R I R' with R of the unit quaternion q.
void sap_inertia_rotate(double out[6], const double I[6], const double q[4]);
// I += mass (|d|^2 1 - d d').
void sap_inertia_shift(double I[6], double mass, const double d[3]);
