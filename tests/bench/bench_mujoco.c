// SPDX-License-Identifier: BSD-3-Clause
// The adapter beside stock MuJoCo, in one run, as JSON lines:
//   bench_mujoco MODELS [CHARTS [SCENES]]
// MODELS holds mujoco/humanoid/humanoid.xml, menagerie/agility_cassie/scene.xml and so on; what is
// not there, or what this MuJoCo cannot load, is named and left out. CHARTS: where to write SVG.
// SCENES: examples/scenes of the source tree.
#include <stdio.h>

#include "mujoco_runner.h"

static void ignore(const char* message) {
  (void)message;
}

int main(int argc, char** argv) {
  if (argc < 2) {
    (void)fprintf(stderr, "bench_mujoco MODELS [CHARTS [SCENES]]\n");
    return 2;
  }
  const char* charts = argc > 2 && argv[2][0] != '\0' ? argv[2] : NULL;
  mju_user_warning = ignore;
  (void)printf("{\"mujoco\": \"%s\", \"compiler\": \"%s\", \"threads\": 1}\n", sap_mj_version(),
               __VERSION__);
  time_models(argv[1], argc > 3 ? argv[3] : NULL, charts);
  run_creep(charts);
  run_penetration(charts);
  run_cassie(argv[1], charts);
  sweep_gains(argv[1], charts);
  return 0;
}
