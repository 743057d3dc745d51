// SPDX-License-Identifier: BSD-3-Clause
// MuJoCo's errors as a status, its warnings, and models loaded under that guard.
#include "mujoco/adapter.h"

#include <setjmp.h>
#include <stddef.h>
#include <string.h>

#include "core/error.h"
#include "core/file.h"
#include "mujoco/compat.h"

enum { TEXT_SIZE = 400 };

typedef struct guard {
  jmp_buf target;
  char text[TEXT_SIZE];
  const sap_mj_guard_options* options;
  struct guard* outer;
} guard;

// MuJoCo's handlers are global and have no context: they use the guard of their thread.
static _Thread_local guard* innermost;
static void (*other_error_handler)(const char*);
static void (*other_warning_handler)(const char*);

static void join_lines(char* text) {
  for (char* c = text; *c != '\0'; ++c) {
    *c = *c == '\n' ? ' ' : *c;
  }
}

static void on_error(const char* message) {
  guard* g = innermost;
  if (g != NULL) {
    strncpy(g->text, message != NULL ? message : "", TEXT_SIZE - 1);
    g->text[TEXT_SIZE - 1] = '\0';
    join_lines(g->text);
    longjmp(g->target, 1);
  }
  if (other_error_handler != NULL) {
    other_error_handler(message);
    return;
  }
  mju_user_error = NULL;  // MuJoCo's default: log and end the process
#if SAP_MJ_SINCE(2, 3, 0)
  mju_error("%s", message);
#else
  mju_error(message);
#endif
}

static void on_warning(const char* message) {
  const guard* g = innermost;
  if (g != NULL && g->options != NULL && g->options->warning != NULL) {
    g->options->warning(g->options->warning_context, message);
    return;
  }
  if (other_warning_handler != NULL) {
    other_warning_handler(message);
    return;
  }
  mju_user_warning = NULL;
#if SAP_MJ_SINCE(2, 3, 0)
  mju_warning("%s", message);
#else
  mju_warning(message);
#endif
  mju_user_warning = on_warning;
}

static void install(void) {
  if (mju_user_error != on_error) {
    other_error_handler = mju_user_error;
    mju_user_error = on_error;
  }
  if (mju_user_warning != on_warning) {
    other_warning_handler = mju_user_warning;
    mju_user_warning = on_warning;
  }
}

sap_status sap_mj_guard(void (*function)(void*), void* context, const sap_mj_guard_options* options,
                        sap_error* error) {
  guard g = {.options = options, .outer = innermost};
  install();
  if (setjmp(g.target) == 0) {
    innermost = &g;
    function(context);
    innermost = g.outer;
    return SAP_STATUS_OK;
  }
  innermost = g.outer;
  return sap_fail(error, SAP_STATUS_CALLBACK, "MuJoCo: %s", g.text);
}

sap_status sap_mj_call(void (*function)(void* context), void* context, sap_error* error) {
  SAP_FAIL_IF(function == NULL, error, SAP_STATUS_ARGUMENT, "sap_mj_call: function is NULL");
  return sap_mj_guard(function, context, NULL, error);
}
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
  SAP_NOT_NULL(error, out, path);
  *out = NULL;
  load l = {.path = path};
  SAP_TRY(sap_file_readable(path, error));
  SAP_TRY(sap_mj_call(load_model, &l, error));
  if (l.model == NULL) {
    join_lines(l.text);
    // Names the version: features that it does not know look like errors of the model.
    return sap_fail(error, SAP_STATUS_SYNTAX, "%.100s: MuJoCo %s: %s", path, mj_versionString(),
                    l.text[0] != '\0' ? l.text : "not a model");
  }
  *out = l.model;
  return SAP_STATUS_OK;
}
