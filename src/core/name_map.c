// SPDX-License-Identifier: BSD-3-Clause
#include "core/name_map.h"

#include <string.h>

#include "core/memory.h"

// Returns the index of the name's entry, or -1. *key is the key of the name: its hash, plus one for
// each other name of the same hash that was added before it.
static int32_t find_entry(const sap_name_map* map, const char* text, uint64_t* key) {
  *key = sap_hash(SAP_HASH_START, text, strlen(text));
  int32_t i = sap_hash_map_find(&map->hashes, *key);
  while (i >= 0 && strcmp(map->entries[i].text, text) != 0) {
    *key += 1;
    i = sap_hash_map_find(&map->hashes, *key);
  }
  return i;
}

sap_status sap_name_map_add(sap_name_map* map, const char* text, int32_t id, bool* added,
                            sap_error* error) {
  uint64_t key;
  const bool is_new = find_entry(map, text, &key) < 0;
  if (is_new) {
    // Doubled, as hash_map_reserve rebuilds the table each time it grows.
    const int32_t count = map->hashes.count;
    if (count == map->capacity) {
      const int32_t wanted = count < INT32_MAX / 2 ? 2 * count + 16 : INT32_MAX;
      SAP_TRY(sap_hash_map_reserve(&map->hashes, wanted, error));
      SAP_TRY(SAP_GROW(&map->entries, &map->capacity, wanted, error));
    }
    map->entries[sap_hash_map_add(&map->hashes, key)] = (sap_name_entry){text, id};
  }
  if (added != NULL) {
    *added = is_new;
  }
  return SAP_STATUS_OK;
}

int32_t sap_name_map_find(const sap_name_map* map, const char* text) {
  uint64_t key;
  const int32_t i = find_entry(map, text, &key);
  return i >= 0 ? map->entries[i].id : -1;
}

void sap_name_map_clear(sap_name_map* map) {
  sap_free(map->entries);
  sap_hash_map_free(&map->hashes);
  *map = (sap_name_map){0};
}
