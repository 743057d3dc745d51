// SPDX-License-Identifier: BSD-3-Clause
// Collision detection of a model's shapes: broadphase, filters, multi-point manifolds with stable
// identities, contact frames and combined materials.
#ifndef SAP_GEOMETRY_COLLISION_H
#define SAP_GEOMETRY_COLLISION_H

#include <sapstep/contact.h>

#include "model/model_data.h"

typedef struct sap_collision sap_collision;

sap_status sap_collision_create(const sap_model* model, sap_collision** out, sap_error* error);
void sap_collision_destroy(sap_collision* collision);

// Finds all contacts with phi < 0 at the given body poses (by body id; R column-major). Filters:
// same weld group, both static, parent and child (a child of the world or of a static body does
// collide with it), exclusions, contact_type and contact_affinity. Sorted by (shape_A, shape_B,
// feature). R, vc and gamma of the contacts are zero. After warm-up no heap calls.
// Normal points from A into B, phi < 0; the point lies between the two surfaces by compliance.
sap_status sap_collision_detect(sap_collision* collision, const double* p_WB, const double* R_WB,
                                const sap_contact** contacts, int32_t* count, sap_error* error);

#endif
