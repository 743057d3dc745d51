// SPDX-License-Identifier: BSD-3-Clause
// Scenes that are refused.
#ifndef SAP_TESTS_SUPPORT_BAD_SCENES_H
#define SAP_TESTS_SUPPORT_BAD_SCENES_H

#include <stddef.h>

#include <sapstep/base.h>

typedef struct bad_scene {
  const char* text;
  sap_status status;
  const char* where;  // "file:line: <element ...", after the folder
  const char* what;   // somewhere in the message
} bad_scene;

// Each is read from a file `a`.
void bad_scenes_check(const bad_scene* scenes, size_t count);

#endif
