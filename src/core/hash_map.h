// SPDX-License-Identifier: BSD-3-Clause
// Hash maps.
//   sap_hash_map  from 64-bit keys to indices: the n-th key added has index n, counted from 0, so
//                 that callers keep the values in arrays of their own. Open addressing; the table
//                 is at most half full.
//   sap_name_map  from names to ids.
#pragma once

#include "core/archive.h"

// Start with {0}; sap_hash_map_free frees.
typedef struct sap_hash_map {
  uint64_t* keys;    // in the order in which they were added   (count)
  int32_t* slots;    // index + 1; 0: free                      (nslots)
  int32_t count;     // keys
  int32_t nslots;    // power of two, or 0
  int32_t capacity;  // of keys
  int32_t slots_capacity;
} sap_hash_map;

// Makes room for `count` keys. Keeps the contents. fails: MEMORY; nothing changes then.
sap_status sap_hash_map_reserve(sap_hash_map* map, int32_t count, sap_error* error);
// Removes all keys and keeps the room.
void sap_hash_map_clear(sap_hash_map* map);
// Returns the index of the key and adds the key if it is new: `count` was its index then. Needs
// room.
int32_t sap_hash_map_add(sap_hash_map* map, uint64_t key);
// Returns the index of the key, or -1.
int32_t sap_hash_map_find(const sap_hash_map* map, uint64_t key);
// Archives the keys; loading builds the table again.
sap_status sap_hash_map_archive(sap_hash_map* map, sap_archive* archive, sap_error* error);
void sap_hash_map_free(sap_hash_map* map);

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

// Adds the name (NULL: none), which must outlive the map. A name that the map has keeps its id;
// *added (NULL allowed): whether one was added. fails: MEMORY; nothing changes then.
sap_status sap_name_map_add(sap_name_map* map, const char* text, int32_t id, bool* added,
                            sap_error* error);
// Returns the id of the name, or -1.
int32_t sap_name_map_find(const sap_name_map* map, const char* text);
void sap_name_map_clear(sap_name_map* map);
