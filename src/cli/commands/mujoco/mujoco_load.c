// SPDX-License-Identifier: BSD-3-Clause
// Model, data and adapter of `sapstep mujoco`, as the command line wants them.
#include "cli/commands/mujoco/mujoco_load.h"

#include <math.h>
#include <stdio.h>

#include "cli/options.h"
#include "cli/scene_options.h"
#include "mujoco/compat.h"

static sap_status fail(sap_error* error, sap_status status, const char* text, const char* what) {
  return sap_fail(error, status, "%.200s: %.200s", what, text);
}

static void make_data(void* context) {
  mujoco_loaded* l = context;
  l->data = mj_makeData(l->model);
}

#if mjVERSION_HEADER >= 300
static void load_plugins(void* context) {
  mj_loadAllPluginLibraries(context, NULL);
}
#endif

static sap_status find_plugins(const mujoco_options* o, sap_error* error) {
  if (o->plugins == NULL) {
    return SAP_STATUS_OK;
  }
#if mjVERSION_HEADER >= 300
  char folder[4096];
  (void)snprintf(folder, sizeof folder, "%s", o->plugins);
  const sap_status status = sap_mj_call(load_plugins, folder, error);
  return status != SAP_STATUS_OK || mjp_pluginCount() > 0
             ? status
             : fail(error, SAP_STATUS_IO, "no plugins of MuJoCo there", folder);
#else
  return fail(error, SAP_STATUS_UNSUPPORTED, "this MuJoCo has no plugins", o->plugins);
#endif
}

static sap_status refuse_keyframe(const mujoco_options* o, const mjModel* m, sap_error* error) {
  enum { NAMES = 64 };
  const char* names[NAMES];
  int named = 0;
  for (int i = 0; i < (int)m->nkey && named < NAMES; ++i) {
    const char* name = mj_id2name(m, mjOBJ_KEY, i);
    if (name != NULL && name[0] != '\0') {
      names[named++] = name;
    }
  }
  return cli_refuse_keyframe(o->path, o->keyframe, names, named, (int32_t)m->nkey, error);
}

static sap_status set_keyframe(const mujoco_options* o, mujoco_loaded* l, sap_error* error) {
  if (o->keyframe == NULL) {
    return SAP_STATUS_OK;
  }
  int32_t index = mj_name2id(l->model, mjOBJ_KEY, o->keyframe);
  if (index < 0 &&
      (!cli_read_integer(o->keyframe, &index) || index < 0 || index >= (int32_t)l->model->nkey)) {
    return refuse_keyframe(o, l->model, error);
  }
  mj_resetDataKeyframe(l->model, l->data, index);
  return SAP_STATUS_OK;
}

// Both or one of --stiffness and --relaxation-time.
static sap_status override_materials(const mujoco_options* o, mujoco_loaded* l, sap_error* error) {
  sap_status status = SAP_STATUS_OK;
  if (isnan(o->stiffness) && isnan(o->relaxation_time)) {
    return status;
  }
  if (!isnan(o->stiffness) && !isnan(o->relaxation_time)) {
    return sap_mj_set_geom(l->adapter, -1, o->stiffness, o->relaxation_time, error);
  }
  for (int32_t g = 0; status == SAP_STATUS_OK && g < (int32_t)l->model->ngeom; ++g) {
    double k, tau_d;
    status = sap_mj_get_geom(l->adapter, g, &k, &tau_d, error);
    if (status == SAP_STATUS_OK) {
      status = sap_mj_set_geom(l->adapter, g, isnan(o->stiffness) ? k : o->stiffness,
                               isnan(o->relaxation_time) ? tau_d : o->relaxation_time, error);
    }
  }
  return status;
}

sap_status mujoco_load(const mujoco_options* o, mujoco_loaded* out, sap_error* error) {
  sap_status status = find_plugins(o, error);
  if (status == SAP_STATUS_OK) {
    status = sap_mj_load(o->path, &out->model, error);
  }
  if (status == SAP_STATUS_OK) {
    out->model->opt.timestep = isnan(o->dt) ? out->model->opt.timestep : o->dt;
    status = sap_mj_call(make_data, out, error);
  }
  if (status == SAP_STATUS_OK) {
    status = set_keyframe(o, out, error);
  }
  if (status == SAP_STATUS_OK) {
    status = sap_mj_create(out->model, &o->adapter, &out->adapter, error);
  }
  return status == SAP_STATUS_OK ? override_materials(o, out, error) : status;
}

void mujoco_unload(mujoco_loaded* loaded) {
  sap_mj_destroy(loaded->adapter);
  if (loaded->data != NULL) {
    mj_deleteData(loaded->data);
  }
  if (loaded->model != NULL) {
    mj_deleteModel(loaded->model);
  }
}
