// SPDX-License-Identifier: BSD-3-Clause
#include "support/scene_text.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdio.h>
#include <string.h>

#include <cmocka.h>

#include "support/scratch.h"

static void keep(void* context, const char* text) {
  scene_warnings* w = context;
  ++w->count;
  (void)snprintf(w->last, sizeof w->last, "%s", text);
}

sap_status scene_text_read(const char* name, const char* text, const sap_scene_options* options,
                           scene_warnings* warnings, sap_model** out, sap_error* error) {
  sap_scene_options used = options != NULL ? *options : sap_scene_options_default();
  scratch s;
  char path[SCRATCH_PATH_SIZE];
  if (warnings != NULL) {
    *warnings = (scene_warnings){0};
    used.warning = keep;
    used.warning_context = warnings;
  }
  scratch_begin(&s);
  scratch_write(&s, name, text, strlen(text), path);
  const sap_status status = sap_scene_read(path, &used, out, error);
  scratch_end(&s);
  return status;
}

sap_model* scene_text_model(const char* name, const char* text, const sap_scene_options* options) {
  sap_model* model = NULL;
  sap_error error = {0};
  if (scene_text_read(name, text, options, NULL, &model, &error) != SAP_STATUS_OK) {
    fail_msg("%s", error.message);
  }
  return model;
}
