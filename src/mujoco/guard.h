// SPDX-License-Identifier: BSD-3-Clause
// MuJoCo's errors as a status. mju_error must not return to MuJoCo: it jumps back to the innermost
// sap_mj_guard of its thread. Nothing of ours may be held by the frames in between.
#ifndef SAP_MUJOCO_GUARD_H
#define SAP_MUJOCO_GUARD_H

#include <sapstep/mujoco.h>

typedef struct sap_mj_guard_options {
  sap_message_function warning;  // NULL: MuJoCo's own way
  void* warning_context;
} sap_mj_guard_options;

// Calls function(context); CALLBACK with MuJoCo's text when it ended in an error.
sap_status sap_mj_guard(void (*function)(void* context), void* context,
                        const sap_mj_guard_options* options, sap_error* error);

#endif
