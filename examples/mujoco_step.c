// SPDX-License-Identifier: BSD-3-Clause
// MuJoCo's own loop with sapstep in place of mj_step: loads a model, steps it for some seconds,
// says what the contacts carry. Built where MuJoCo is.
//
//   mujoco_step MODEL.xml [SECONDS]
#include <stdio.h>
#include <stdlib.h>

#include <mujoco/mujoco.h>

#include <sapstep/mujoco.h>

int main(int argc, char** argv) {
  if (argc < 2) {
    (void)fprintf(stderr, "usage: mujoco_step MODEL.xml [SECONDS]\n");
    return EXIT_FAILURE;
  }
  const double seconds = argc > 2 ? strtod(argv[2], NULL) : 1.0;
  mjModel* model = NULL;
  sap_mj* adapter = NULL;
  sap_mj_report report = {0};
  sap_error error = {0};
  sap_status status = sap_mj_load(argv[1], &model, &error);
  if (status == SAP_STATUS_OK) {
    status = sap_mj_create(model, NULL, &adapter, &error);
  }
  mjData* data = model != NULL ? mj_makeData(model) : NULL;
  while (status == SAP_STATUS_OK && data->time < seconds) {
    status = sap_mj_step(adapter, data, &report, &error);
  }
  if (status != SAP_STATUS_OK) {
    (void)fprintf(stderr, "%s\n", error.message);
  } else {
    double normal = 0.0;
    for (int i = 0; i < (int)data->ncon; ++i) {
      mjtNum force[6];
      mj_contactForce(model, data, i, force);  // MuJoCo's functions see sapstep's forces
      normal += force[0];
    }
    (void)printf("t = %g s: %d contacts carry %.6g N, %d Newton iterations in the last step\n",
                 data->time, (int)report.contacts, normal,
                 report.solver != NULL ? (int)report.solver->iterations : 0);
  }
  sap_mj_destroy(adapter);
  if (data != NULL) {
    mj_deleteData(data);
  }
  if (model != NULL) {
    mj_deleteModel(model);
  }
  return status == SAP_STATUS_OK ? EXIT_SUCCESS : EXIT_FAILURE;
}
