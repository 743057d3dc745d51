// SPDX-License-Identifier: BSD-3-Clause
// Names of one kind of element, by id and back in constant time.
#ifndef SAP_MULTIBODY_MODEL_NAMES_H
#define SAP_MULTIBODY_MODEL_NAMES_H

#include "multibody/model/model_data.h"

// Appends the next id's name (NULL or "": none), which must not be in use. On failure nothing
// changes.
sap_status sap_names_add(sap_model_names* names, const char* text, sap_error* error);
int32_t sap_names_find(const sap_model_names* names, const char* text);  // -1: unknown
sap_status sap_names_copy(const sap_model_names* from, sap_model_names* to, sap_error* error);
void sap_names_clear(sap_model_names* names);

#endif
