// SPDX-License-Identifier: BSD-3-Clause
// A MuJoCo model with its data and an adapter, for tests: any failure fails the test.
#ifndef SAP_TESTS_SUPPORT_MUJOCO_RUN_H
#define SAP_TESTS_SUPPORT_MUJOCO_RUN_H

#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>

#include <cmocka.h>
#include <mujoco/mujoco.h>

#include <sapstep/mujoco.h>

#include "support/near.h"
#include "support/scratch.h"

typedef struct mujoco_run {
  mjModel* model;
  mjData* data;
  sap_mj* adapter;
  sap_mj_report report;
} mujoco_run;

static inline mujoco_run mujoco_run_file(const char* path, const sap_mj_options* options) {
  mujoco_run run = {0};
  sap_error error = {0};
  if (sap_mj_load(path, &run.model, &error) != SAP_STATUS_OK ||
      sap_mj_create(run.model, options, &run.adapter, &error) != SAP_STATUS_OK) {
    fail_msg("%s", error.message);
  }
  run.data = mj_makeData(run.model);
  return run;
}

static inline mujoco_run mujoco_run_text(const char* text, const sap_mj_options* options) {
  scratch s;
  char path[SCRATCH_PATH_SIZE];
  scratch_begin(&s);
  const mujoco_run run =
      mujoco_run_file(scratch_write(&s, "model.xml", text, strlen(text), path), options);
  scratch_end(&s);
  return run;
}

static inline void mujoco_run_end(mujoco_run* run) {
  sap_mj_destroy(run->adapter);
  mj_deleteData(run->data);
  mj_deleteModel(run->model);
  memset(run, 0, sizeof *run);
}

static inline void mujoco_run_step(mujoco_run* run, int count) {
  sap_error error = {0};
  for (int i = 0; i < count; ++i) {
    if (sap_mj_step(run->adapter, run->data, &run->report, &error) != SAP_STATUS_OK) {
      fail_msg("step %d: %s", i, error.message);
    }
  }
}

#endif
