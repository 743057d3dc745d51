// SPDX-License-Identifier: BSD-3-Clause
#include <string.h>

#include "core/file.h"
#include "mujoco/adapter.h"

enum { TEXT_SIZE = 400 };

typedef struct load {
  const char* path;
  mjModel* model;
  char text[TEXT_SIZE];
} load;

static void load_model(void* context) {
  load* l = context;
  const size_t length = strlen(l->path);
  if (length > 4 && strcmp(l->path + length - 4, ".mjb") == 0) {
    l->model = mj_loadModel(l->path, NULL);
  } else {
    l->model = mj_loadXML(l->path, NULL, l->text, TEXT_SIZE);
  }
}

sap_status sap_mj_load(const char* path, mjModel** out, sap_error* error) {
  if (out == NULL || path == NULL) {
    return sap_fail(error, SAP_STATUS_ARGUMENT, "sap_mj_load: %s is NULL",
                    out == NULL ? "out" : "path");
  }
  *out = NULL;
  load l = {.path = path};
  SAP_TRY(sap_file_readable(path, error));
  SAP_TRY(sap_mj_call(load_model, &l, error));
  if (l.model == NULL) {
    for (char* c = l.text; *c != '\0'; ++c) {
      *c = *c == '\n' ? ' ' : *c;
    }
    // With its version: what an older one does not know looks like an error of the model's.
    return sap_fail(error, SAP_STATUS_SYNTAX, "%.100s: MuJoCo %s: %s", path, mj_versionString(),
                    l.text[0] != '\0' ? l.text : "not a model");
  }
  *out = l.model;
  return SAP_STATUS_OK;
}
