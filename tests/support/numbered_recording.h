// SPDX-License-Identifier: BSD-3-Clause
// A recording that no engine made: all of its numbers are different.
#ifndef SAP_TESTS_SUPPORT_NUMBERED_RECORDING_H
#define SAP_TESTS_SUPPORT_NUMBERED_RECORDING_H

#include <sapstep/recorder.h>

enum {
  NUMBERED_BODIES = 3,
  NUMBERED_SHAPES = 3,
  NUMBERED_ROWS = 7,
  NUMBERED_CONTACTS = 2  // of each row
};

extern const double numbered_dt;  // [s]
extern const int32_t numbered_meshes[2][4];
extern const float numbered_vertices[7][3];
extern const int32_t numbered_triangles[3][3];

// Energy i of row k: kinetic, gravity, springs.
double numbered_energy(int k, int i);
// Poses of all bodies: the world, one that moves, one that rests. The sign of the moving one's
// quaternion flips at every second row.
void numbered_pose(int k, double p[3 * NUMBERED_BODIES], double q[4 * NUMBERED_BODIES]);
// Contact c of row k. The first of each row is the only one of its patch and slides, the second
// sticks and is the stronger one.
sap_contact numbered_contact(int k, int c);
void numbered_record(const char* path);

#endif
