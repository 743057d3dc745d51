// SPDX-License-Identifier: BSD-3-Clause
// Which pairs of shapes may collide.
#ifndef SAP_MULTIBODY_GEOMETRY_FILTER_H
#define SAP_MULTIBODY_GEOMETRY_FILTER_H

#include "multibody/model/model_data.h"

typedef struct sap_filter_shape {
  int32_t shape;
  int32_t body;
  int32_t weld;         // body whose motion it shares, 0: static
  int32_t parent_weld;  // that of the body above the weld group, -1 for the world
  int32_t contact_type, contact_affinity;
  bool excluded;  // its body stands in some exclusion
  bool paired;    // it stands in some contact pair
} sap_filter_shape;

void sap_filter_init(const sap_model* model, int32_t shape, sap_filter_shape* out);

// The contact pair of two shapes; NULL: none.
const sap_pair_def* sap_filter_find_pair(const sap_model* model, const sap_filter_shape* a,
                                         const sap_filter_shape* b);

// Same weld group (so both static): never. A contact pair: always. Bodies of one joint's two sides:
// only when one is static. Then the masks (typeA & affB) | (typeB & affA), then the model's
// exclusions.
bool sap_filter_collides(const sap_model* model, const sap_filter_shape* a,
                         const sap_filter_shape* b);

#endif
