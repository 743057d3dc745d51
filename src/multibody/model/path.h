// SPDX-License-Identifier: BSD-3-Clause
// Path of a spatial tendon: straight pieces between points, and arcs around obstacles.
//   The plane of an arc contains both ends and the sphere's centre, or is normal to the cylinder's
//   axis. In it the string touches the circle of radius r in two points and follows it between
//   them; along a cylinder's axis it rises linearly with its unrolled length. It takes the shorter
//   way, or the way past the side point.
//   A side point inside the circle makes it a ring: the string passes through and bends over one
//   point of the edge at equal angles, unless it passes through freely.
#ifndef SAP_MULTIBODY_MODEL_PATH_H
#define SAP_MULTIBODY_MODEL_PATH_H

#include "multibody/model/model_data.h"

// A straight piece between material points of two bodies. The length of a tendon changes by
//   sum share u . (pdot[1] - pdot[0])
// over its pieces: the arc on an obstacle moves with the obstacle, and the pieces are tangent to
// it.
typedef struct sap_piece {
  int32_t body[2];
  double p[2][3];  // in the world [m]
  double u[3];     // unit, from the first to the second; 0 where they coincide
  double length;   // [m]
  double share;    // 1/divisor
} sap_piece;

typedef struct sap_path {
  const sap_model* model;
  const double *p_WB, *R_WB;
  int32_t at, end;  // element at which the next piece begins
  double share;
  double on_obstacles;  // length of arcs so far, times its share [m]
  sap_piece behind;     // the piece after an obstacle
  bool has_behind;
} sap_path;

// Starts a path at the poses p_WB (3 bodies), R_WB (9 bodies).
void sap_path_begin(sap_path* path, const sap_model* model, int32_t tendon, const double* p_WB,
                    const double* R_WB);
// Sets the next piece; false: there is none, and path->on_obstacles is complete.
bool sap_path_next(sap_path* path, sap_piece* piece);
double sap_path_length(const sap_model* model, int32_t tendon, const double* p_WB,
                       const double* R_WB);

typedef struct sap_obstacle {
  bool cylinder;
  double radius;
  double center[3];
  double axis[3];  // unit, of a cylinder
  bool has_side;   // has a side point
  double side[3];
} sap_obstacle;

// Finds the first and the last point of contact; returns the length between them, < 0: no contact.
double sap_wrap(const sap_obstacle* obstacle, double ends[2][3], double touch[2][3]);

#endif
