// SPDX-License-Identifier: BSD-3-Clause
// Elements that name others exist once per copy of the named elements: in each copy of a replicate,
// for each attachment of a model. An element is left out if one of the named is not attached.
#ifndef SAP_IO_MJCF_MJCF_NAME_H
#define SAP_IO_MJCF_MJCF_NAME_H

#include "io/mjcf/mjcf_attribute.h"

enum { SAP_MJCF_MAX_NAMES = 256 };  // that one element may hold

// An element in a space.
typedef struct sap_mjcf_instance {
  const sap_xml_node* node;
  int32_t space;
  int32_t count;
  int32_t ids[SAP_MJCF_MAX_NAMES];  // of the named elements, in the file's order; a geom's may be
                                    // SAP_MJCF_LEFT_OUT
} sap_mjcf_instance;

typedef sap_status (*sap_mjcf_adder)(sap_mjcf_reader* r, const sap_mjcf_instance* instance);

// Calls `add` for every instance of the elements (blank-separated names, NULL: all) in a section
// of the main file and of all attached models, space by space.
sap_status sap_mjcf_add_section(sap_mjcf_reader* r, const char* section, const char* elements,
                                sap_mjcf_adder add);
// sap_mjcf_find_sources for an instance.
sap_status sap_mjcf_instance_sources(sap_mjcf_reader* r, const sap_mjcf_instance* i,
                                     const char* kind, sap_mjcf_sources* out);

// Adders: mjcf_coupling.c, mjcf_actuator.c.
sap_status sap_mjcf_add_tendon(sap_mjcf_reader* r, const sap_mjcf_instance* instance);
sap_status sap_mjcf_add_equality(sap_mjcf_reader* r, const sap_mjcf_instance* instance);
sap_status sap_mjcf_add_actuator(sap_mjcf_reader* r, const sap_mjcf_instance* instance);

#endif
