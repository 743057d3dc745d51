// SPDX-License-Identifier: BSD-3-Clause
// Collision detection of a model's shapes: broadphase, filters, multi-point manifolds with stable
// identities, contact frames and combined materials.
#ifndef SAP_MULTIBODY_GEOMETRY_COLLISION_H
#define SAP_MULTIBODY_GEOMETRY_COLLISION_H

#include <sapstep/contact.h>

#include "core/archive.h"
#include "core/threads.h"
#include "multibody/model/model_data.h"

typedef struct sap_collision sap_collision;

sap_status sap_collision_create(const sap_model* model, sap_collision** out, sap_error* error);
void sap_collision_destroy(sap_collision* collision);
// Threads of sap_collision_detect, NULL at first: one. The contacts are the same to the bit.
void sap_collision_lend_threads(sap_collision* collision, sap_threads* threads);

typedef struct sap_collision_query {
  const double* p_WB;  // by body id                                                  (3 bodies)
  const double* R_WB;  // column-major                                                (9 bodies)
  // Whether the next call compares with this one: features keep their numbers, slip is measured.
  bool remember;
  // Time since the last call that was remembered [s]; 0: no gliding. Otherwise contacts of that
  // call that have slid since, at v_t, are found up to the height (dt + tau_d) mu |v_t| at which
  // SAP lets them glide (castro, Sec. III): else they would be lost and hop. Below 1 um nothing
  // slides.
  double dt;
  // Poses a step later, NULL: not asked. Contacts are then found as far ahead as the two shapes'
  // ways between the poses, whatever their direction.
  const double* p_next;
  const double* R_next;
} sap_collision_query;

// Finds all contacts with phi < margin: that of the contact pair, else the larger one of the two
// shapes, and at least SAP_TOUCHING of the smaller shape's radius, so that what is put to touch
// does; phi is the signed distance less the rest distance, that of the contact pair, else the sum
// of the two shapes'. Filters: same weld group, both static; then contact pairs pass; parent and
// child (a child of the world or of a static body does collide with it), exclusions, contact_type
// and contact_affinity. Sorted by (shape_A, shape_B, feature). R, vc and gamma of the contacts are
// zero. After warm-up no heap calls. Normal points from A into B; the point lies between the two
// surfaces by compliance, these moved to meet half way of the rest distance.
sap_status sap_collision_detect(sap_collision* collision, const sap_collision_query* query,
                                const sap_contact** contacts, int32_t* count, sap_error* error);

// The contact points that the next call compares with.
sap_status sap_collision_archive(sap_collision* collision, sap_archive* archive, sap_error* error);

#endif
