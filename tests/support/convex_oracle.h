// SPDX-License-Identifier: BSD-3-Clause
// Signed distance of two convex shapes by search over all directions, and random placed shapes.
//   distance = max over unit n of -(h_A(n) + h_B(-n)),  h: support function, margins included
#ifndef SAP_TEST_SUPPORT_CONVEX_ORACLE_H
#define SAP_TEST_SUPPORT_CONVEX_ORACLE_H

#include "multibody/geometry/shape.h"

// Uniform in [0, 1), the same sequence on every machine.
double oracle_random(uint64_t* seed);
void oracle_random_rotation(uint64_t* seed, double R[9]);

void oracle_shape(sap_placed_shape* out, sap_shape_type type, const double size[3]);
// -(h_A(n) + h_B(-n)) [m]; a plane only as `a` and only for n equal to its normal.
double oracle_gap(const sap_placed_shape* a, const sap_placed_shape* b, const double n[3]);
// The largest gap found and its direction: a lower bound of the distance, exact to 1e-9 of the size
// at smooth maxima, to 1e-5 on the ridge of a kink.
double oracle_distance(const sap_placed_shape* a, const sap_placed_shape* b, double n[3]);
// Returns true if x (world) lies in the shape grown by `tolerance` [m].
bool oracle_holds(const sap_placed_shape* s, const double x[3], double tolerance);

#endif
