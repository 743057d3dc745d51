// SPDX-License-Identifier: BSD-3-Clause
#include "multibody/model/names.h"

#include <string.h>

#include "core/archive.h"
#include "core/memory.h"

// The slot that holds `text`, or the free one where it belongs. Needs a free slot.
static int32_t slot_of(const sap_model_names* names, const char* text) {
  const uint64_t mask = (uint64_t)names->slot_count - 1;
  uint64_t slot = sap_hash(SAP_HASH_START, text, strlen(text)) & mask;
  while (names->slots[slot] != 0 && strcmp(names->text[names->slots[slot] - 1], text) != 0) {
    slot = (slot + 1) & mask;
  }
  return (int32_t)slot;
}

// Room for one more id in both arrays.
static sap_status reserve(sap_model_names* names, sap_error* error) {
  if (names->count > INT32_MAX / 4) {
    return sap_fail(error, SAP_STATUS_MEMORY, "too many names");
  }
  const sap_status status = SAP_GROW(&names->text, &names->capacity, names->count + 1, error);
  if (status != SAP_STATUS_OK || 2 * (names->count + 1) <= names->slot_count) {
    return status;
  }
  const int32_t slot_count = names->slot_count > 0 ? 2 * names->slot_count : 16;
  int32_t* slots = sap_allocate((size_t)slot_count, sizeof *slots);
  if (slots == NULL) {
    return sap_fail(error, SAP_STATUS_MEMORY, "out of memory: %d names", (int)slot_count);
  }
  sap_free(names->slots);
  names->slots = slots;
  names->slot_count = slot_count;
  for (int32_t id = 0; id < names->count; ++id) {
    if (names->text[id] != NULL) {
      slots[slot_of(names, names->text[id])] = id + 1;
    }
  }
  return SAP_STATUS_OK;
}

sap_status sap_names_add(sap_model_names* names, const char* text, sap_error* error) {
  const sap_status status = reserve(names, error);
  if (status != SAP_STATUS_OK) {
    return status;
  }
  const int32_t id = names->count;
  if (text == NULL || text[0] == '\0') {
    names->text[id] = NULL;
    names->count = id + 1;
    return SAP_STATUS_OK;
  }
  const int32_t slot = slot_of(names, text);
  if (names->slots[slot] != 0) {
    return sap_fail(error, SAP_STATUS_ARGUMENT, "name '%s' is already that of %d", text,
                    (int)(names->slots[slot] - 1));
  }
  char* copy = sap_duplicate_string(text);
  if (copy == NULL) {
    return sap_fail(error, SAP_STATUS_MEMORY, "out of memory: name '%s'", text);
  }
  names->text[id] = copy;
  names->slots[slot] = id + 1;
  names->count = id + 1;
  return SAP_STATUS_OK;
}

int32_t sap_names_find(const sap_model_names* names, const char* text) {
  if (text == NULL || text[0] == '\0' || names->slot_count == 0) {
    return -1;
  }
  return names->slots[slot_of(names, text)] - 1;
}

sap_status sap_names_copy(const sap_model_names* from, sap_model_names* to, sap_error* error) {
  *to = (sap_model_names){0};
  for (int32_t id = 0; id < from->count; ++id) {
    const sap_status status = sap_names_add(to, from->text[id], error);
    if (status != SAP_STATUS_OK) {
      sap_names_clear(to);
      return status;
    }
  }
  return SAP_STATUS_OK;
}

void sap_names_clear(sap_model_names* names) {
  for (int32_t id = 0; id < names->count; ++id) {
    sap_free(names->text[id]);
  }
  sap_free(names->text);
  sap_free(names->slots);
  *names = (sap_model_names){0};
}
