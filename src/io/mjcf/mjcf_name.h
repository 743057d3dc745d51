// SPDX-License-Identifier: BSD-3-Clause
// The names that an element holds of others, and what they mean in each space of names.
#ifndef SAP_IO_MJCF_MJCF_NAME_H
#define SAP_IO_MJCF_MJCF_NAME_H

#include "io/mjcf/mjcf.h"

enum { SAP_MJCF_MAX_NAMES = 256 };  // that one element may hold

typedef struct sap_mjcf_names {
  const char* attribute[SAP_MJCF_MAX_NAMES];
  const char* name[SAP_MJCF_MAX_NAMES];
  int32_t count;
} sap_mjcf_names;
// UNSUPPORTED: too many.
sap_status sap_mjcf_list_names(sap_mjcf_reader* r, const sap_xml_node* node, sap_mjcf_names* out);

typedef struct sap_mjcf_found {
  bool any_here;        // one of them lies in the space itself
  const char* missing;  // one that is nowhere, NULL: all are found
  int32_t ids[SAP_MJCF_MAX_NAMES];
} sap_mjcf_found;
// Each in the space or in one around it, up to its model's.
sap_status sap_mjcf_find_names(sap_mjcf_reader* r, int32_t space, const sap_mjcf_names* names,
                               sap_mjcf_found* out);

#endif
