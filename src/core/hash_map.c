// SPDX-License-Identifier: BSD-3-Clause
#include "core/hash_map.h"

#include <string.h>

#include "core/memory.h"

enum { LEAST_SLOTS = 16 };

// Finaliser of MurmurHash3 (Appleby): every bit of the key changes about half of the result's bits.
// Keys carry their ids in the upper bits, where a single product would leave the lowest bits equal.
static uint64_t mix(uint64_t key) {
  key = (key ^ key >> 33) * UINT64_C(0xff51afd7ed558ccd);
  key = (key ^ key >> 33) * UINT64_C(0xc4ceb9fe1a85ec53);
  return key ^ key >> 33;
}

// Returns the slot of the key, or the free slot where it belongs. Needs nslots > 0.
static int32_t* find_slot(const sap_hash_map* map, uint64_t key) {
  const uint64_t mask = (uint64_t)map->nslots - 1;
  uint64_t at = mix(key) & mask;
  while (map->slots[at] != 0 && map->keys[map->slots[at] - 1] != key) {
    at = (at + 1) & mask;
  }
  return &map->slots[at];
}

// Fills the table from the keys; of equal keys, the first counts.
static void rebuild(sap_hash_map* map) {
  if (map->nslots > 0) {
    memset(map->slots, 0, (size_t)map->nslots * sizeof *map->slots);
  }
  for (int32_t i = 0; i < map->count; ++i) {
    int32_t* slot = find_slot(map, map->keys[i]);
    if (*slot == 0) {
      *slot = i + 1;
    }
  }
}

static sap_status reserve_slots(sap_hash_map* map, int32_t count, sap_error* error) {
  SAP_FAIL_IF(count > INT32_MAX / 4, error, SAP_STATUS_MEMORY, "too many keys: %d", count);
  int32_t nslots = LEAST_SLOTS;
  while (nslots < 2 * count) {
    nslots *= 2;
  }
  if (nslots > map->nslots) {
    SAP_TRY(SAP_GROW(&map->slots, &map->slots_capacity, nslots, error));
    map->nslots = nslots;
    rebuild(map);
  }
  return SAP_STATUS_OK;
}

sap_status sap_hash_map_reserve(sap_hash_map* map, int32_t count, sap_error* error) {
  SAP_TRY(SAP_GROW(&map->keys, &map->capacity, count, error));
  return reserve_slots(map, count, error);
}

void sap_hash_map_clear(sap_hash_map* map) {
  map->count = 0;
  rebuild(map);
}

int32_t sap_hash_map_add(sap_hash_map* map, uint64_t key) {
  int32_t* slot = find_slot(map, key);
  if (*slot == 0) {
    map->keys[map->count] = key;
    *slot = ++map->count;
  }
  return *slot - 1;
}

int32_t sap_hash_map_find(const sap_hash_map* map, uint64_t key) {
  return map->count > 0 ? *find_slot(map, key) - 1 : -1;
}

sap_status sap_hash_map_archive(sap_hash_map* map, sap_archive* archive, sap_error* error) {
  const size_t begin = archive->at;
  SAP_TRY(SAP_ARCHIVE_ARRAY(archive, &map->keys, &map->count, &map->capacity, error));
  if (archive->mode == SAP_ARCHIVE_RESERVE) {
    const size_t bytes = archive->at - begin - sizeof map->count;
    return reserve_slots(map, (int32_t)(bytes / sizeof *map->keys), error);
  }
  if (archive->mode == SAP_ARCHIVE_LOAD || archive->mode == SAP_ARCHIVE_FORGET) {
    rebuild(map);
  }
  return SAP_STATUS_OK;
}

void sap_hash_map_free(sap_hash_map* map) {
  sap_free(map->keys);
  sap_free(map->slots);
  *map = (sap_hash_map){0};
}

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
  uint64_t key = 0;
  const bool is_new = text != NULL && find_entry(map, text, &key) < 0;
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
