// SPDX-License-Identifier: BSD-3-Clause
// Keyframes, with the coordinates that there are when they are added.
#include <string.h>

#include "core/memory.h"
#include "multibody/model/builder.h"

void sap_builder_clear_key(sap_builder_key* key) {
  sap_free(key->q);
  sap_free(key->v);
  sap_free(key->control);
  sap_free(key->act);
  *key = (sap_builder_key){0};
}

// A copy of `values`, NULL for NULL.
static sap_status copy_values(const sap_checker* checker, const char* field, const double* values,
                              int32_t count, double** copy) {
  *copy = NULL;
  if (values == NULL) {
    return SAP_STATUS_OK;
  }
  const sap_status status = sap_check_vector(checker, field, values, count);
  if (status != SAP_STATUS_OK) {
    return status;
  }
  *copy = sap_allocate((size_t)count, sizeof **copy);
  if (*copy == NULL) {
    return sap_check_fail(checker, SAP_STATUS_MEMORY, "out of memory");
  }
  memcpy(*copy, values, (size_t)count * sizeof **copy);
  return SAP_STATUS_OK;
}

sap_status sap_builder_add_keyframe(sap_builder* builder, const sap_keyframe_def* def, int32_t* id,
                                    sap_error* error) {
  if (builder == NULL || def == NULL) {
    return sap_fail(error, SAP_STATUS_ARGUMENT, "keyframe: builder or definition is NULL");
  }
  const sap_checker checker = {"keyframe", def->name, builder->nkeys, error};
  sap_builder_key key = {.t = def->t,
                         .nq = builder->nq,
                         .nv = builder->nv,
                         .nu = builder->nactuators,
                         .na = builder->na};
  sap_status status = sap_check_finite(&checker, "t", def->t);
  if (status == SAP_STATUS_OK) {
    status = copy_values(&checker, "q", def->q, key.nq, &key.q);
  }
  if (status == SAP_STATUS_OK) {
    status = copy_values(&checker, "v", def->v, key.nv, &key.v);
  }
  if (status == SAP_STATUS_OK) {
    status = copy_values(&checker, "control", def->control, key.nu, &key.control);
  }
  if (status == SAP_STATUS_OK) {
    status = copy_values(&checker, "act", def->act, key.na, &key.act);
  }
  if (status == SAP_STATUS_OK) {
    status = SAP_GROW(&builder->keys, &builder->key_capacity, builder->nkeys + 1, error);
  }
  if (status == SAP_STATUS_OK) {
    status = sap_builder_add_name(builder, SAP_ELEMENT_KEYFRAME, def->name, error);
  }
  if (status != SAP_STATUS_OK) {
    sap_builder_clear_key(&key);
    return status;
  }
  builder->keys[builder->nkeys] = key;
  if (id != NULL) {
    *id = builder->nkeys;
  }
  ++builder->nkeys;
  return SAP_STATUS_OK;
}
