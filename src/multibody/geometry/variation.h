// SPDX-License-Identifier: BSD-3-Clause
// How a contact moves with its bodies, while its features stay the same.
#pragma once

#include "multibody/geometry/collision.h"

// A motion d = [rotation; way of the material point at the contact point] of body B relative to A
// moves the point by `point` d and the normal by `normal` d, in addition to the motion of A;
// column-major 3x6. The gap always changes by n . (way).
typedef struct sap_contact_variation {
  double point[18], normal[18];
  bool exact;  // false: by differences of collision detection
} sap_contact_variation;

// Finds it for a contact at poses p_WB, R_WB of the bodies.
// Planes with points and round ends of any shape, and two spheres have closed forms. Where a contact
// ahead is out of reach without the rotation of its bodies, it moves with A. Returns false if the
// contact's features do not last under small motions.
bool sap_collision_vary(const sap_collision* collision, const sap_contact* contact,
                        const double* p_WB, const double* R_WB, sap_contact_variation* out);
// Makes a contact that of shapes of which one is changed in friction, stiffness, relaxation time:
// its material, friction and point.
sap_status sap_collision_change(const sap_collision* collision, const sap_shape_def* changed,
                                int32_t shape, sap_contact* contact, sap_error* error);
