// SPDX-License-Identifier: BSD-3-Clause
// Parameters of a study by name, and the scene and stepper that they make.
#include <math.h>
#include <stddef.h>
#include <stdio.h>
#include <string.h>

#include "cli/commands/sweep/study.h"
#include "cli/options.h"
#include "multibody/model/model_data.h"

static const cli_option own[] = {
    {.name = "scheme", .kind = CLI_SCHEME, .offset = offsetof(study_setup, stepper)},
    CLI_PRESET_ROW(study_setup),
    CLI_SCENE_CONTACT_ROWS(study_setup),
};
enum { OWN = sizeof own / sizeof own[0], MATERIALS = 2 };

void study_setup_begin(const study_spec* study, study_setup* setup) {
  *setup = (study_setup){.scene = cli_scene_default(), .stepper = cli_stepper_options()};
  setup->scene.path = study->scene;
  setup->scene.keyframe = study->keyframe;
  setup->scene.reading = study->reading;
  setup->scene.reading.edits = setup->edits;
  setup->stepper.accepted_error = (double)INFINITY;  // studies tell how far solvers come
}

static void append_name(char* out, size_t size, const char* text) {
  const size_t used = strlen(out);
  (void)snprintf(out + used, size - used, "%s%s", used > 0 ? ", " : "", text);
}

void study_list_parameters(char* out, size_t size) {
  out[0] = '\0';
  append_name(out, size, "scheme, solver");
  const sap_option_table table = sap_stepper_option_table();
  const int32_t count = table.count - sap_solver_option_table().count;
  for (int32_t i = 0; i < count; ++i) {
    append_name(out, size, table.options[i].name);
  }
  for (int i = MATERIALS; i < OWN; ++i) {
    append_name(out, size, own[i].name);
  }
  for (char* c = strchr(out, '-'); c != NULL; c = strchr(c, '-')) {
    *c = '_';
  }
  append_name(out, size, "solver options of 'sapstep run --help' (relative_tolerance, ...)");
  append_name(out, size, "preset, q/JOINT, v/JOINT, q/JOINT[part]");
  append_name(out, size, "ELEMENT/NAME/ATTRIBUTE of the scene (geom/ball/density)");
}

static const char* take_path(study_setup* setup, const char* name, const char* value) {
  if (strncmp(name, "q/", 2) != 0 && strncmp(name, "v/", 2) != 0) {
    setup->edits[setup->scene.reading.edit_count++] =
        (sap_scene_edit){.path = name, .value = value};
    return NULL;
  }
  double number;
  if (!cli_read_real(value, &number)) {
    return "a finite number";
  }
  setup->states[setup->state_count].name = name;
  setup->states[setup->state_count++].value = number;
  return NULL;
}

const char* study_setup_take(study_setup* setup, const char* name, const char* value) {
  for (int i = 0; i < OWN; ++i) {
    if (cli_same_name(name, own[i].name)) {
      return cli_take_option(&own[i], setup, value);
    }
  }
  if (strcmp(name, "solver") == 0) {
    const sap_solver_info* solver = cli_read_solver(value, &setup->stepper.solver_options);
    setup->stepper.solver = solver != NULL ? solver->name : value;
    return solver != NULL ? NULL
                          : "a solver of 'sapstep solvers', also as in admm-ncp:penalty=fixed";
  }
  bool known;
  const char* allowed =
      cli_set_option(sap_stepper_option_table(), &setup->stepper, name, value, &known);
  return known ? allowed : strchr(name, '/') != NULL ? take_path(setup, name, value) : "";
}

bool study_find_coordinate(const sap_model* model, const char* name, study_coordinate* out) {
  char joint[STUDY_NAME_SIZE];
  int32_t part = 0, q, v;
  if ((strncmp(name, "q/", 2) != 0 && strncmp(name, "v/", 2) != 0) ||
      strlen(name) >= STUDY_NAME_SIZE) {
    return false;
  }
  strcpy(joint, name + 2);
  char* open = strrchr(joint, '[');
  if (open != NULL) {
    *open++ = '\0';
    char* close = strchr(open, ']');
    if (close == NULL || close[1] != '\0') {
      return false;
    }
    *close = '\0';
    if (!cli_read_integer(open, &part)) {
      return false;
    }
  }
  sap_joint_type type;
  const int32_t id = sap_model_find(model, SAP_ELEMENT_JOINT, joint);
  if (id < 0 || sap_model_joint_address(model, id, &type, NULL, &q, &v, NULL) != SAP_STATUS_OK) {
    return false;
  }
  out->velocity = name[0] == 'v';
  out->index = (out->velocity ? v : q) + part;
  return part >= 0 &&
         part < (out->velocity ? sap_joint_velocity_count(type) : sap_joint_position_count(type));
}

// --- the scene ---

sap_status study_open(const study_setup* setup, cli_run* run, sap_error* error) {
  SAP_TRY(cli_run_open(&setup->scene, &setup->stepper, cli_ignore_warning, run, error));
  for (int i = 0; i < setup->state_count; ++i) {
    study_coordinate at;
    SAP_FAIL_IF(!study_find_coordinate(run->model, setup->states[i].name, &at), error,
                SAP_STATUS_ARGUMENT, "the scene has no coordinate '%s'", setup->states[i].name);
    (at.velocity ? run->state.v : run->state.q)[at.index] = setup->states[i].value;
  }
  return SAP_STATUS_OK;
}
