// SPDX-License-Identifier: BSD-3-Clause
// Turns MuJoCo's errors into a status. mju_error must not return to MuJoCo: it jumps back to the
// innermost sap_mj_guard of its thread. The frames in between must own nothing that needs freeing.
#pragma once

#include <sapstep/mujoco.h>

typedef struct sap_mj_guard_options {
  sap_message_function warning;  // receives MuJoCo's warnings; NULL: MuJoCo's own handler
  void* warning_context;
} sap_mj_guard_options;

// Calls function(context). Fails with CALLBACK and MuJoCo's text if mju_error ended it.
sap_status sap_mj_guard(void (*function)(void* context), void* context,
                        const sap_mj_guard_options* options, sap_error* error);
