// SPDX-License-Identifier: BSD-3-Clause
// Elements of bodies: frames, replicates and attached models flattened, then read.
#ifndef SAP_IO_MJCF_MJCF_BODY_H
#define SAP_IO_MJCF_MJCF_BODY_H

#include "io/mjcf/mjcf_model.h"

// mjcf_collect.c: pushes the elements of a node, or of all worldbodies, on the reader's stack.
sap_status sap_mjcf_collect(sap_mjcf_reader* r, const sap_xml_node* node,
                            const sap_mjcf_scope* scope);
sap_status sap_mjcf_collect_worldbody(sap_mjcf_reader* r, const sap_mjcf_scope* scope);
// Reads the attribute childclass.
sap_status sap_mjcf_child_class(sap_mjcf_reader* r, const sap_xml_node* node,
                                sap_mjcf_scope* scope);
sap_status sap_mjcf_add_space(sap_mjcf_reader* r, const sap_mjcf_space* space, int32_t* index);
// Counts the coordinates of a model alone, before the element `stop` (NULL: of all).
sap_status sap_mjcf_count_coordinates(sap_mjcf_reader* r, const sap_mjcf_model* model,
                                      const sap_xml_node* stop, int32_t* nq, int32_t* nv);

// mjcf_joint.c
bool sap_mjcf_is_joint(const sap_xml_node* node);
sap_status sap_mjcf_joint_type(sap_mjcf_reader* r, const sap_xml_node* node,
                               const sap_mjcf_scope* scope, sap_joint_type* type);
sap_status sap_mjcf_add_joint(sap_mjcf_reader* r, const sap_mjcf_item* item, int32_t body,
                              const sap_body_def* body_def);

// mjcf_body.c: adds all bodies, depth first, with their joints, sites and shapes.
sap_status sap_mjcf_read_bodies(sap_mjcf_reader* r);

#endif
