// SPDX-License-Identifier: BSD-3-Clause
// Triangles of a mesh that is not convex, in a tree of bounding boxes.
#pragma once

#include "multibody/geometry/broadphase.h"
#include "multibody/geometry/patch.h"

typedef struct sap_patch_mesh {
  double (*corners)[9];  // of the triangles, from the hull's centre in the mesh's axes [m]
  int32_t nnodes;
  struct sap_patch_node* nodes;  // a parent before its children
} sap_patch_mesh;

// Makes the tree of a hull with triangles in the pool. centre: the hull's.
sap_status sap_patch_mesh_create(const sap_hull* source, const double centre[3], sap_pool* pool,
                                 sap_patch_mesh** out, sap_error* error);
