// SPDX-License-Identifier: BSD-3-Clause
#include "multibody/model/names.h"

#include "core/memory.h"

sap_status sap_names_add(sap_model_names* names, const char* text, sap_error* error) {
  SAP_TRY(SAP_GROW(&names->text, &names->capacity, names->count + 1, error));
  const int32_t id = names->count;
  if (text == NULL || text[0] == '\0') {
    names->text[id] = NULL;
    names->count = id + 1;
    return SAP_STATUS_OK;
  }
  const int32_t same = sap_name_map_find(&names->ids, text);
  if (same >= 0) {
    return sap_fail(error, SAP_STATUS_ARGUMENT, "name '%s' is already that of %d", text, (int)same);
  }
  char* copy = sap_duplicate_string(text);
  if (copy == NULL) {
    return sap_fail(error, SAP_STATUS_MEMORY, "out of memory: name '%s'", text);
  }
  const sap_status status = sap_name_map_add(&names->ids, copy, id, NULL, error);
  if (status != SAP_STATUS_OK) {
    sap_free(copy);
    return status;
  }
  names->text[id] = copy;
  names->count = id + 1;
  return SAP_STATUS_OK;
}

int32_t sap_names_find(const sap_model_names* names, const char* text) {
  return text != NULL && text[0] != '\0' ? sap_name_map_find(&names->ids, text) : -1;
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
  sap_name_map_clear(&names->ids);
  *names = (sap_model_names){0};
}
