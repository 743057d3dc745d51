// SPDX-License-Identifier: BSD-3-Clause
// Elements that name others exist once per copy of what they name: in each copy of a replicate, for
// each attachment of a model. One that names what did not come along is left out.
#ifndef SAP_IO_MJCF_MJCF_INSTANCE_H
#define SAP_IO_MJCF_MJCF_INSTANCE_H

#include "io/mjcf/mjcf_name.h"

// One existence of an element, in a space.
typedef struct sap_mjcf_instance {
  const sap_xml_node* node;
  int32_t space;
  int32_t count;
  int32_t
      ids[SAP_MJCF_MAX_NAMES];  // of the named elements, in the file's order; a geom's or LEFT_OUT
} sap_mjcf_instance;

typedef sap_status (*sap_mjcf_adder)(sap_mjcf_reader* r, const sap_mjcf_instance* instance);

// Calls `add` for every existence of the elements (blank-separated names, NULL: all) in a section
// of the main file and of all attached models, space by space.
sap_status sap_mjcf_add_section(sap_mjcf_reader* r, const char* section, const char* elements,
                                sap_mjcf_adder add);

// mjcf_pair.c
sap_status sap_mjcf_read_contacts(sap_mjcf_reader* r);
// Does a pair of its own file name the geom?
bool sap_mjcf_is_paired(const sap_mjcf_model* model, const char* geom);
// mjcf_tendon.c, mjcf_equality.c
sap_status sap_mjcf_add_tendon(sap_mjcf_reader* r, const sap_mjcf_instance* instance);
sap_status sap_mjcf_add_equality(sap_mjcf_reader* r, const sap_mjcf_instance* instance);
// mjcf_actuator.c
sap_status sap_mjcf_add_actuator(sap_mjcf_reader* r, const sap_mjcf_instance* instance);

#endif
