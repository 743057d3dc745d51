// SPDX-License-Identifier: BSD-3-Clause
// A user's program: finds headers, library and all that the library needs where they were
// installed, and steps a scene.
#include <sapstep/sapstep.h>
#include <stdio.h>

int main(int argc, char** argv) {
  sap_error error = {0};
  sap_model* model = NULL;
  sap_multibody* multibody = NULL;
  sap_stepper* stepper = NULL;
  sap_state state = {0};
  const sap_stepper_options options = sap_stepper_options_default();
  if (argc != 2 || sap_scene_read(argv[1], NULL, &model, &error) != SAP_STATUS_OK ||
      sap_multibody_create(model, &multibody, &error) != SAP_STATUS_OK ||
      sap_stepper_create(sap_multibody_system(multibody), &options, &stepper, &error) !=
          SAP_STATUS_OK ||
      sap_model_get_default_state(model, &state, &error) != SAP_STATUS_OK) {
    fprintf(stderr, "%s\n", error.message);
    return 1;
  }
  for (int i = 0; i < 100; ++i) {
    if (sap_stepper_step(stepper, &state, NULL, &error) != SAP_STATUS_OK) {
      fprintf(stderr, "%s\n", error.message);
      return 1;
    }
  }
  printf("sapstep %s: the box is at %g m\n", sap_version(), state.q[2]);
  const int fell = state.q[2] < 0.5 && state.q[2] > 0.0;
  sap_stepper_destroy(stepper);
  sap_multibody_destroy(multibody);
  sap_model_destroy(model);
  sap_state_clear(&state);
  return fell ? 0 : 1;
}
