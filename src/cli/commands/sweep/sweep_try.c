// SPDX-License-Identifier: BSD-3-Clause
// Finds out before the first case whether a study and its scene fit.
#include <stdlib.h>
#include <string.h>

#include "cli/commands/sweep/sweep.h"
#include "cli/commands/sweep/sweep_hash.h"
#include "cli/path.h"

bool sweep_study_try(sweep_study* s, sap_error* error) {
  cli_scene scene = sweep_study_scene(s);
  scene.file = sweep_hash_file;
  scene.file_context = &s->hash;
  sap_error refusal;
  if (cli_check_reread(scene.path, &refusal) != SAP_STATUS_OK) {
    return sweep_refuse(s, s->scene_line, error, "%s", refusal.message);
  }
  for (int i = -1; i < s->parameter_count; ++i) {
    char value[SWEEP_TEXT_SIZE];
    sweep_setup setup;
    sap_model* model = NULL;
    sap_state state = {0};
    double* control = NULL;
    sap_error reason = {0};
    sweep_setup_begin(&setup);
    if (i >= 0) {
      if (strchr(s->parameters[i].name, '/') == NULL) {
        continue;
      }
      sweep_value(s, i, 0, value);
      (void)sweep_setup_take(&setup, s->parameters[i].name, value);
    }
    const int line = i < 0 ? s->scene_line : s->parameters[i].line;
    bool good = sweep_read_scene(&scene, NULL, &setup, &model, &state, &control, &reason) ==
                    SAP_STATUS_OK ||
                sweep_refuse(s, line, error, "%s", reason.message);
    for (int j = 0; good && i < 0 && j < s->measure_count; ++j) {
      if (!sweep_measure_known(model, s->measures[j].name)) {
        char list[512];
        sweep_list_measures(list, sizeof list);
        good = sweep_refuse(s, s->measures[j].line, error, "unknown measure '%s'; there are: %s",
                            s->measures[j].name, list);
      }
    }
    sap_model_destroy(model);
    sap_state_clear(&state);
    free(control);
    if (!good) {
      return false;
    }
  }
  return true;
}
