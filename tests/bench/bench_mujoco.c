// SPDX-License-Identifier: BSD-3-Clause
// The adapter beside stock MuJoCo, in one run, as JSON lines:
//   bench_mujoco MODELS [SCENES]
// MODELS holds mujoco/humanoid/humanoid.xml, menagerie/agility_cassie/scene.xml and so on; what is
// not there, or what this MuJoCo cannot load, is named and left out.
// SCENES: examples/scenes of the source tree. figures.py draws the pictures.
#include <stdio.h>

#include "mujoco_runner.h"

static void ignore(const char* message) {
  (void)message;
}

int main(int argc, char** argv) {
  if (argc < 2) {
    (void)fprintf(stderr, "bench_mujoco MODELS [SCENES]\n");
    return 2;
  }
  mju_user_warning = ignore;
  (void)printf("{\"mujoco\": \"%s\", \"compiler\": \"%s\", \"threads\": 1}\n", sap_mj_version(),
               __VERSION__);
  time_models(argv[1], argc > 2 ? argv[2] : NULL);
  run_creep();
  run_penetration();
  run_cassie(argv[1]);
  sweep_gains(argv[1]);
  return 0;
}
