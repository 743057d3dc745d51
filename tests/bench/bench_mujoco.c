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
  static const struct {
    const char* name;
    int key;
  } models[] = {{"mujoco/humanoid/humanoid.xml", 0},
                {"mujoco/humanoid/22_humanoids.xml", -1},
                {"mujoco/planks.xml", -1},
                {"mujoco/stacked_boxes.xml", -1},
                {"mujoco/cube/cube_3x3x3.xml", -1},
                {"menagerie/shadow_hand/scene_right.xml", -1},
                {"menagerie/wonik_allegro/scene_right.xml", -1},
                {"menagerie/agility_cassie/scene.xml", 0}};
  for (size_t i = 0; i < sizeof models / sizeof *models; ++i) {
    time_model(argv[1], models[i].name, models[i].key);
  }
  if (argc > 3) {
    time_model(argv[3], "clutter_40.xml", -1);
  }
  run_creep(charts);
  run_penetration(charts);
  run_cassie(argv[1]);
  sweep_gains(argv[1], charts);
  return 0;
}
