// SPDX-License-Identifier: BSD-3-Clause
// The way of a spatial tendon, piece by piece.
#ifndef SAP_MULTIBODY_MODEL_PATH_H
#define SAP_MULTIBODY_MODEL_PATH_H

#include "multibody/model/model_data.h"

// A straight piece between material points of two bodies. A tendon's length changes by
//   share u . (pdot[1] - pdot[0])  of each piece: what lies on an obstacle moves with it, and where
// it touches, the piece is tangent to it.
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
  int32_t at, end;  // the element that the next piece begins with
  double share;
  double on_obstacles;  // length so far that no piece has, times its share [m]
  sap_piece kept;       // behind an obstacle
  bool has_kept;
} sap_path;

// p_WB (3 bodies), R_WB (9 bodies): poses.
void sap_path_begin(sap_path* path, const sap_model* model, int32_t tendon, const double* p_WB,
                    const double* R_WB);
// The next piece; false: there is none, and path->on_obstacles is complete.
bool sap_path_next(sap_path* path, sap_piece* piece);
double sap_path_length(const sap_model* model, int32_t tendon, const double* p_WB,
                       const double* R_WB);

#endif
