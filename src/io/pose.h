// SPDX-License-Identifier: BSD-3-Clause
// Poses, and quaternions from the rotations of files.
#ifndef SAP_IO_POSE_H
#define SAP_IO_POSE_H

// Pose of a frame B in its parent P.
typedef struct sap_pose {
  double p[3];  // [m]
  double q[4];
} sap_pose;

extern const sap_pose sap_pose_identity;
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

#endif
