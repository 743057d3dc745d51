// SPDX-License-Identifier: BSD-3-Clause
#include "io/xml/lookup.h"

#include <string.h>

#include "core/memory.h"

// FNV-1a, 32 bits.
static uint32_t hash(const char* text) {
  uint32_t h = 2166136261u;
  for (; *text != '\0'; ++text) {
    h = (h ^ (unsigned char)*text) * 16777619u;
  }
  return h;
}

// Where the name stands or would be put; open addressing.
static sap_lookup_entry* slot(const sap_lookup* names, const char* name) {
  const uint32_t mask = (uint32_t)names->size - 1;
  uint32_t i = hash(name) & mask;
  while (names->entries[i].name != NULL && strcmp(names->entries[i].name, name) != 0) {
    i = (i + 1) & mask;
  }
  return &names->entries[i];
}

static sap_status double_size(sap_lookup* names, sap_error* error) {
  if (names->size > INT32_MAX / 2) {
    return sap_fail(error, SAP_STATUS_MEMORY, "too many names");
  }
  const int32_t size = names->size == 0 ? 64 : 2 * names->size;
  const sap_lookup old = *names;
  names->entries = sap_allocate((size_t)size, sizeof *names->entries);
  if (names->entries == NULL) {
    names->entries = old.entries;
    return sap_fail(error, SAP_STATUS_MEMORY, "out of memory");
  }
  names->size = size;
  for (int32_t i = 0; i < old.size; ++i) {
    if (old.entries[i].name != NULL) {
      *slot(names, old.entries[i].name) = old.entries[i];
    }
  }
  sap_free(old.entries);
  return SAP_STATUS_OK;
}

sap_status sap_lookup_add(sap_lookup* names, const char* name, int32_t id, bool* added,
                          sap_error* error) {
  if (2 * names->count >= names->size) {
    const sap_status status = double_size(names, error);
    if (status != SAP_STATUS_OK) {
      return status;
    }
  }
  sap_lookup_entry* entry = slot(names, name);
  const bool is_new = entry->name == NULL;
  if (is_new) {
    *entry = (sap_lookup_entry){.name = name, .id = id};
    ++names->count;
  }
  if (added != NULL) {
    *added = is_new;
  }
  return SAP_STATUS_OK;
}

int32_t sap_lookup_find(const sap_lookup* names, const char* name) {
  if (names->size == 0) {
    return -1;
  }
  const sap_lookup_entry* entry = slot(names, name);
  return entry->name != NULL ? entry->id : -1;
}

void sap_lookup_clear(sap_lookup* names) {
  sap_free(names->entries);
  *names = (sap_lookup){0};
}
