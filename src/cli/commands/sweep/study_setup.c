// SPDX-License-Identifier: BSD-3-Clause
// Parameters of a study by name, and the scene and stepper that they make.
#include <math.h>
#include <stddef.h>
#include <stdio.h>
#include <string.h>

#include "cli/commands/sweep/study.h"
#include "cli/options.h"

static const struct {
  const char* name;
  size_t offset;  // in sap_material
  bool open;      // 0 is not allowed
  const char* unit;
} materials[] = {
    {"friction", offsetof(sap_material, friction), false, ""},
    {"stiffness", offsetof(sap_material, stiffness), true, "[N/m]"},
    {"relaxation_time", offsetof(sap_material, relaxation_time), false, "[s]"},
    {"dissipation", offsetof(sap_material, dissipation), false, "[s/m]"},
    {"stiction_tolerance", offsetof(sap_material, stiction_tolerance), true, "[m/s]"},
    {"static_friction", offsetof(sap_material, static_friction), false, ""},
};
enum { MATERIALS = sizeof materials / sizeof materials[0] };

void study_setup_begin(study_setup* setup) {
  *setup = (study_setup){.material = sap_material_unset()};
  setup->stepper = cli_stepper_options();
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
  const int32_t own = table.count - sap_solver_option_table().count;
  for (int32_t i = 0; i < own; ++i) {
    append_name(out, size, table.options[i].name);
  }
  for (int i = 0; i < MATERIALS; ++i) {
    append_name(out, size, materials[i].name);
  }
  append_name(out, size, "solver options of 'sapstep run --help' (relative_tolerance, ...)");
  append_name(out, size, "preset, q/JOINT, v/JOINT, q/JOINT[part]");
  append_name(out, size, "ELEMENT/NAME/ATTRIBUTE of the scene (geom/ball/density)");
}

static const char* take_material(study_setup* setup, int index, const char* text) {
  static char allowed[SAP_OPTION_TEXT_SIZE];
  double value;
  const bool open = materials[index].open;
  if (!cli_read_real(text, &value) || !(open ? value > 0.0 : value >= 0.0)) {
    sap_range_allowed(0.0, 1e300, open, materials[index].unit, allowed);
    return allowed;
  }
  memcpy((char*)&setup->material + materials[index].offset, &value, sizeof value);
  return NULL;
}

static const char* take_path(study_setup* setup, const char* name, const char* value) {
  if (strncmp(name, "q/", 2) != 0 && strncmp(name, "v/", 2) != 0) {
    setup->edits[setup->edit_count++] = (sap_scene_edit){.path = name, .value = value};
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
  static const cli_option own[] = {
      {.name = "scheme", .kind = CLI_SCHEME},
      {.name = "preset", .kind = CLI_PRESET},
  };
  for (size_t i = 0; i < sizeof own / sizeof *own; ++i) {
    if (strcmp(name, own[i].name) == 0) {
      return cli_take_option(&own[i], &setup->stepper, value);
    }
  }
  if (strcmp(name, "solver") == 0) {
    const sap_solver_info* solver = cli_read_solver(value, &setup->stepper.solver_options);
    setup->stepper.solver = solver != NULL ? solver->name : value;
    return solver != NULL ? NULL
                          : "a solver of 'sapstep solvers', also as in admm-ncp:penalty=fixed";
  }
  for (int i = 0; i < MATERIALS; ++i) {
    if (strcmp(name, materials[i].name) == 0) {
      return take_material(setup, i, value);
    }
  }
  bool known;
  const char* allowed =
      cli_set_option(sap_stepper_option_table(), &setup->stepper, name, value, &known);
  return known ? allowed : strchr(name, '/') != NULL ? take_path(setup, name, value) : "";
}

bool study_find_coordinate(const sap_model* model, const char* name, study_coordinate* out) {
  static const int sizes[][2] = {[SAP_JOINT_FREE] = {7, 6},
                                 [SAP_JOINT_BALL] = {4, 3},
                                 [SAP_JOINT_HINGE] = {1, 1},
                                 [SAP_JOINT_SLIDE] = {1, 1}};
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
  return part >= 0 && part < sizes[type][out->velocity ? 1 : 0];
}

// --- the scene ---

sap_status study_read_scene(const cli_scene* scene, const study_setup* setup, sap_model** model,
                            sap_state* state, double** control, sap_error* error) {
  cli_scene edited = *scene;
  edited.override = setup->material;
  edited.edits = setup->edits;
  edited.edit_count = setup->edit_count;
  SAP_TRY(cli_scene_read(&edited, cli_ignore_warning, NULL, model, error));
  *control = cli_allocate((size_t)sap_model_get_sizes(*model).nu, sizeof **control);
  SAP_TRY(cli_scene_start(scene, *model, state, *control, error));
  for (int i = 0; i < setup->state_count; ++i) {
    study_coordinate at;
    SAP_FAIL_IF(!study_find_coordinate(*model, setup->states[i].name, &at), error,
                SAP_STATUS_ARGUMENT, "the scene has no coordinate '%s'", setup->states[i].name);
    (at.velocity ? state->v : state->q)[at.index] = setup->states[i].value;
  }
  return SAP_STATUS_OK;
}
