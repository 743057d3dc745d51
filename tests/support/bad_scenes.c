// SPDX-License-Identifier: BSD-3-Clause
#include "support/bad_scenes.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>

#include <cmocka.h>

#include <sapstep/scene.h>

#include "support/scratch.h"

static void check_refused(scratch* s, const bad_scene* input) {
  char path[SCRATCH_PATH_SIZE], where[SCRATCH_PATH_SIZE + 64];
  scratch_write(s, "a", input->text, strlen(input->text), path);
  sap_model* model = (sap_model*)s;
  sap_error error = {0};
  const sap_status status = sap_scene_read(path, NULL, &model, &error);
  if (status != input->status) {
    fail_msg("%s: status %d (%s), expected %d, for\n%s", error.message, (int)status,
             sap_status_text(status), (int)input->status, input->text);
  }
  assert_null(model);
  assert_int_equal(error.status, status);
  assert_int_equal(remove(path), 0);  // else the file system waits for the disk at every rewrite
  const char* file = strrchr(path, '/') + 1;
  (void)snprintf(where, sizeof where, "%.*s%s", (int)(file - path), path, input->where);
  if (strstr(error.message, where) != error.message || strstr(error.message, input->what) == NULL) {
    fail_msg("message: %s\nexpected: %s ... %s", error.message, input->where, input->what);
  }
}

void bad_scenes_check(const bad_scene* scenes, size_t count) {
  scratch s;
  scratch_begin(&s);
  for (size_t i = 0; i < count; ++i) {
    check_refused(&s, &scenes[i]);
  }
  scratch_end(&s);
}
