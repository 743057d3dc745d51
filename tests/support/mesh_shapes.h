// SPDX-License-Identifier: BSD-3-Clause
// Hulls of point sets as placed shapes, without a model.
#ifndef SAP_TEST_SUPPORT_MESH_SHAPES_H
#define SAP_TEST_SUPPORT_MESH_SHAPES_H

#include "multibody/geometry/shape.h"
#include "multibody/model/hull.h"

typedef struct mesh_shape {
  sap_hull hull;
  sap_polytope polytope;
} mesh_shape;

// Fails the test when there is no hull.
void mesh_shape_create(mesh_shape* mesh, const double* points, int32_t count);
void mesh_shape_destroy(mesh_shape* mesh);
// The shape about the origin: its p is the hull's centre.
void mesh_shape_place(const mesh_shape* mesh, sap_placed_shape* out);

enum { MESH_SHAPES = 6 };
// Half a metre large: box, tetrahedron, 9 and 60 random points, 70 points of a sphere, a prism of
// 40 sides.
void mesh_shapes_create(mesh_shape meshes[MESH_SHAPES]);
void mesh_shapes_destroy(mesh_shape meshes[MESH_SHAPES]);

#endif
