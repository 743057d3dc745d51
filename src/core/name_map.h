// SPDX-License-Identifier: BSD-3-Clause
// Map from names to ids.
#ifndef SAP_CORE_NAME_MAP_H
#define SAP_CORE_NAME_MAP_H

#include "core/hash_map.h"

typedef struct sap_name_entry {
  const char* text;  // borrowed
  int32_t id;
} sap_name_entry;

// Start with {0}; sap_name_map_clear frees.
typedef struct sap_name_map {
  sap_hash_map hashes;      // of the texts
  sap_name_entry* entries;  // (hashes.count)
  int32_t capacity;         // of entries
} sap_name_map;

// Adds the name, which must outlive the map. A name that the map has keeps its id; *added (NULL
// allowed) is then false. fails: MEMORY; nothing changes then.
sap_status sap_name_map_add(sap_name_map* map, const char* text, int32_t id, bool* added,
                            sap_error* error);
// Returns the id of the name, or -1.
int32_t sap_name_map_find(const sap_name_map* map, const char* text);
void sap_name_map_clear(sap_name_map* map);

#endif
