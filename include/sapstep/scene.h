// SPDX-License-Identifier: BSD-3-Clause
// Readers of scene files: MJCF and URDF become a model.
#ifndef SAPSTEP_SCENE_H
#define SAPSTEP_SCENE_H

#include <sapstep/base.h>
#include <sapstep/model.h>

#ifdef __cplusplus
extern "C" {
#endif

typedef enum sap_scene_format {
  SAP_SCENE_AUTO,  // by the root element: <mujoco> or <robot>
  SAP_SCENE_MJCF,
  SAP_SCENE_URDF,
} sap_scene_format;

typedef struct sap_scene_options {
  sap_scene_format format;        //                                                     (auto)
  bool lenient;                   // what is not supported becomes a warning             (false)
  bool floating_base;             // URDF: the root link moves freely instead of being
                                  // welded to the world                                 (false)
  sap_material default_material;  // k, tau_d (and mu for URDF) of shapes that name none
  const sap_material* override_material;  // replaces every shape's, but for fields that are NaN;
                                          // NULL: none                                  (NULL)
  sap_message_function warning;           // may be NULL
  void* warning_context;
} sap_scene_options;

SAP_API sap_scene_options sap_scene_options_default(void);

// Reads the file, and those it includes. What is purely visual is skipped. What would change the
// physics and is not supported is UNSUPPORTED, "file:line: <element attribute=...>: why", or a
// warning if lenient. IO: missing or unreadable file; SYNTAX: malformed XML or value.
SAP_API sap_status sap_scene_read(const char* path, const sap_scene_options* options,
                                  sap_model** out, sap_error* error);

#ifdef __cplusplus
}
#endif

#endif
