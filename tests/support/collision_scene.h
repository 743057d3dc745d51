// SPDX-License-Identifier: BSD-3-Clause
// Small models of shapes with body poses that a test sets directly.
#ifndef SAP_TEST_SUPPORT_COLLISION_SCENE_H
#define SAP_TEST_SUPPORT_COLLISION_SCENE_H

#include "multibody/geometry/collision.h"

typedef struct collision_scene {
  sap_builder* builder;
  sap_model* model;
  sap_collision* collision;
  double *p_WB, *R_WB;  // by body id
  double dt;            // of the query [s]; 0: no gliding
  const sap_contact* contacts;
  int32_t count;
} collision_scene;

// Start with begin; add; then compile. All fail the test when a call fails.
void scene_begin(collision_scene* scene);
// A body of 1 kg (parent 0: with a free joint; parent < 0: welded to -parent - 1; else on a hinge).
int32_t scene_add_body(collision_scene* scene, int32_t parent);
int32_t scene_add_shape(collision_scene* scene, int32_t body, sap_shape_type type, double x,
                        double y, double z);
int32_t scene_add_shape_def(collision_scene* scene, const sap_shape_def* def);
// A hull of random points at this distance from its origin; returns the mesh.
int32_t scene_add_random_mesh(collision_scene* scene, int32_t points, double radius);
// Poses become identity.
void scene_compile(collision_scene* scene);
void scene_place(collision_scene* scene, int32_t body, double x, double y, double z);
// Rotation vector [rad].
void scene_turn(collision_scene* scene, int32_t body, double x, double y, double z);
void scene_detect(collision_scene* scene);
// To the bit, all that detection fills but padding.
void scene_expect_same_contacts(const sap_contact* a, int32_t na, const sap_contact* b, int32_t nb);
void scene_end(collision_scene* scene);

#endif
