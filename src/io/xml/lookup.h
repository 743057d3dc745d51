// SPDX-License-Identifier: BSD-3-Clause
// A map from names to ids.
#ifndef SAP_IO_XML_LOOKUP_H
#define SAP_IO_XML_LOOKUP_H

#include "core/error.h"

typedef struct sap_lookup_entry {
  const char* name;  // borrowed; NULL: free
  int32_t id;
} sap_lookup_entry;

// Start with {0}; sap_lookup_clear frees.
typedef struct sap_lookup {
  sap_lookup_entry* entries;
  int32_t count, size;  // size: a power of two, or 0
} sap_lookup;

// The name must outlive the map. *added (NULL allowed) is false when the name was there.
sap_status sap_lookup_add(sap_lookup* names, const char* name, int32_t id, bool* added,
                          sap_error* error);
int32_t sap_lookup_find(const sap_lookup* names, const char* name);  // -1 when absent
void sap_lookup_clear(sap_lookup* names);

#endif
