// SPDX-License-Identifier: BSD-3-Clause
#include "solvers/dual/key_map.h"

#include <string.h>

#include "core/memory.h"
#include "problem/problem_data.h"

// Fibonacci hashing; size is a power of two.
static int32_t slot_of(uint64_t key, int32_t size) {
  return (int32_t)((key * UINT64_C(11400714819323198485)) >> 33) & (size - 1);
}

sap_status sap_key_map_store(sap_key_map* map, const sap_problem* p, const double* values,
                             sap_error* error) {
  int64_t size = 16;
  while (size < 2 * (int64_t)p->nblocks) {
    size *= 2;
  }
  sap_status status = SAP_RESERVE(&map->entries, &map->entries_capacity, size, error);
  if (status == SAP_STATUS_OK) {
    status = SAP_RESERVE(&map->values, &map->values_capacity, (int64_t)p->nrows, error);
  }
  if (status != SAP_STATUS_OK) {
    return status;
  }
  map->size = (int32_t)size;
  map->nvalues = p->nrows;
  memset(map->entries, 0, (size_t)size * sizeof *map->entries);
  if (p->nrows > 0) {
    memcpy(map->values, values, (size_t)p->nrows * sizeof(double));
  }
  for (int32_t b = 0; b < p->nblocks; ++b) {
    const sap_block_data* block = &p->blocks[b];
    if (block->key == 0) {
      continue;
    }
    int32_t slot = slot_of(block->key, map->size);
    while (map->entries[slot].key != 0 && map->entries[slot].key != block->key) {
      slot = (slot + 1) & (map->size - 1);
    }
    if (map->entries[slot].key == 0) {
      map->entries[slot] = (sap_key_entry){block->key, block->first_row, block->nrows};
    }
  }
  return SAP_STATUS_OK;
}

const double* sap_key_map_find(const sap_key_map* map, uint64_t key, int32_t nrows) {
  if (key == 0 || map->size == 0) {
    return NULL;
  }
  int32_t slot = slot_of(key, map->size);
  while (map->entries[slot].key != 0) {
    if (map->entries[slot].key == key) {
      return map->entries[slot].nrows == nrows ? map->values + map->entries[slot].first : NULL;
    }
    slot = (slot + 1) & (map->size - 1);
  }
  return NULL;
}

sap_status sap_key_map_archive(sap_key_map* map, sap_archive* archive, sap_error* error) {
  const sap_status status =
      SAP_ARCHIVE_ARRAY(archive, &map->entries, &map->size, &map->entries_capacity, error);
  return status == SAP_STATUS_OK
             ? SAP_ARCHIVE_ARRAY(archive, &map->values, &map->nvalues, &map->values_capacity, error)
             : status;
}

void sap_key_map_clear(sap_key_map* map) {
  sap_free(map->entries);
  sap_free(map->values);
  *map = (sap_key_map){0};
}
