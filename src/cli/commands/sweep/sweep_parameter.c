// SPDX-License-Identifier: BSD-3-Clause
// What a study can change: numbers and names of the run, where joints start, values of the scene.
#include <stddef.h>
#include <stdio.h>
#include <string.h>

#include "cli/commands/sweep/sweep.h"
#include "cli/options.h"

typedef struct number_def {
  const char* name;
  size_t offset;  // in sweep_setup
  double low;
  bool open;  // low itself is not allowed
  double high;
  const char* allowed;
} number_def;

static const number_def numbers[] = {
    {"dt", offsetof(sweep_setup, stepper.dt), 0.0, true, 1e9, "finite and > 0 s, at most 1e9"},
    {"theta", offsetof(sweep_setup, stepper.theta), 0.0, false, 1.0, "between 0 and 1"},
    {"theta_vq", offsetof(sweep_setup, stepper.theta_vq), 0.0, false, 1.0, "between 0 and 1"},
    {"restitution", offsetof(sweep_setup, stepper.restitution), 0.0, false, 1.0, "between 0 and 1"},
    {"baumgarte", offsetof(sweep_setup, stepper.baumgarte), 0.0, false, 1.0, "between 0 and 1"},
    {"sigma", offsetof(sweep_setup, stepper.regularization.sigma), 0.0, true, 1e300,
     "finite and > 0"},
    {"beta", offsetof(sweep_setup, stepper.regularization.beta), 0.0, false, 1e300,
     "finite and >= 0"},
    {"friction", offsetof(sweep_setup, material.friction), 0.0, false, 1e300, "finite and >= 0"},
    {"stiffness", offsetof(sweep_setup, material.stiffness), 0.0, true, 1e300,
     "finite and > 0 N/m"},
    {"relaxation_time", offsetof(sweep_setup, material.relaxation_time), 0.0, false, 1e300,
     "finite and >= 0 s"},
    {"dissipation", offsetof(sweep_setup, material.dissipation), 0.0, false, 1e300,
     "finite and >= 0 s/m"},
    {"stiction_tolerance", offsetof(sweep_setup, material.stiction_tolerance), 0.0, true, 1e300,
     "finite and > 0 m/s"},
    {"static_friction", offsetof(sweep_setup, material.static_friction), 0.0, false, 1e300,
     "finite and >= 0"},
};
enum { NUMBERS = sizeof numbers / sizeof numbers[0] };
static const char* const names[] = {"scheme", "solver", "contact_stage", "contact_model",
                                    "contact_law"};
enum { NAMES = sizeof names / sizeof names[0] };

void sweep_setup_begin(sweep_setup* setup) {
  *setup = (sweep_setup){.material = sap_material_unset()};
  setup->stepper = sap_stepper_options_default();
}

static void append(char* out, size_t size, const char* text) {
  const size_t used = strlen(out);
  (void)snprintf(out + used, size - used, "%s%s", used > 0 ? ", " : "", text);
}

void sweep_list_parameters(char* out, size_t size) {
  out[0] = '\0';
  for (int i = 0; i < NUMBERS; ++i) {
    append(out, size, numbers[i].name);
  }
  for (int i = 0; i < NAMES; ++i) {
    append(out, size, names[i]);
  }
  append(out, size,
         "options of 'sapstep run --help' for solvers (relative_tolerance, ...), q/JOINT");
  append(out, size, "v/JOINT, q/JOINT[part]");
  append(out, size, "ELEMENT/NAME/ATTRIBUTE of the scene (geom/ball/density)");
}

static const char* take_number(sweep_setup* setup, const number_def* def, const char* text) {
  double value;
  if (!cli_read_real(text, &value) || !(value <= def->high) ||
      !(def->open ? value > def->low : value >= def->low)) {
    return def->allowed;
  }
  memcpy((char*)setup + def->offset, &value, sizeof value);
  setup->has_dt = setup->has_dt || strcmp(def->name, "dt") == 0;
  setup->has_sigma = setup->has_sigma || strcmp(def->name, "sigma") == 0;
  setup->has_beta = setup->has_beta || strcmp(def->name, "beta") == 0;
  return NULL;
}

static const char* take_name(sweep_setup* setup, const char* name, const char* text) {
  if (strcmp(name, "scheme") == 0) {
    sap_scheme scheme;
    return cli_read_scheme(text, &scheme) &&
                   sap_stepper_options_set_scheme(&setup->stepper, scheme, NULL) == SAP_STATUS_OK
               ? NULL
               : "explicit-euler, symplectic-euler, implicit-euler or midpoint";
  }
  if (strcmp(name, "contact_model") == 0) {
    return cli_read_contact_model(text, &setup->stepper.contact_model) ? NULL
                                                                       : "sap, similar or lagged";
  }
  if (strcmp(name, "contact_law") == 0) {
    return cli_read_law(text, &setup->stepper.contact_law) ? NULL : "auto, compliant or rigid";
  }
  if (strcmp(name, "contact_stage") == 0) {
    return cli_read_stage(text, &setup->stepper.contact_stage) ? NULL : "auto, end or theta";
  }
  const sap_solver_info* solver = sap_solver_find(text);
  if (solver != NULL) {
    setup->stepper.solver = solver->name;
    return NULL;
  }
  return "one of those that 'sapstep solvers' lists";
}

// Options of solvers by their names with underscores. False: there is none of that name.
static bool take_solver_option(sweep_setup* setup, const char* name, const char* text,
                               const char** wrong) {
  char dashed[CLI_NAME_SIZE];
  (void)snprintf(dashed, sizeof dashed, "%s", name);
  for (char* c = dashed; *c != '\0'; ++c) {
    *c = *c == '_' ? '-' : *c;
  }
  for (int i = 0; i < cli_solver_option_count(); ++i) {
    char option[CLI_NAME_SIZE], allowed[CLI_ALLOWED_SIZE];
    cli_solver_option_name(i, option);
    if (strcmp(option, dashed) == 0) {
      *wrong =
          !cli_set_solver_option(&setup->stepper.solver_options, i, text, allowed) ||
                  sap_solver_options_check(&setup->stepper.solver_options, NULL) != SAP_STATUS_OK
              ? "what 'sapstep solve --help' allows for this option"
              : NULL;
      return true;
    }
  }
  return false;
}

static const char* take_path(sweep_setup* setup, const char* name, const char* value) {
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

const char* sweep_setup_take(sweep_setup* setup, const char* name, const char* value) {
  const char* wrong = NULL;
  for (int i = 0; i < NUMBERS; ++i) {
    if (strcmp(name, numbers[i].name) == 0) {
      return take_number(setup, &numbers[i], value);
    }
  }
  for (int i = 0; i < NAMES; ++i) {
    if (strcmp(name, names[i]) == 0) {
      return take_name(setup, name, value);
    }
  }
  if (take_solver_option(setup, name, value, &wrong)) {
    return wrong;
  }
  return strchr(name, '/') != NULL ? take_path(setup, name, value) : "";
}

bool sweep_find_coordinate(const sap_model* model, const char* name, sweep_coordinate* out) {
  static const int sizes[][2] = {[SAP_JOINT_FREE] = {7, 6},
                                 [SAP_JOINT_BALL] = {4, 3},
                                 [SAP_JOINT_HINGE] = {1, 1},
                                 [SAP_JOINT_SLIDE] = {1, 1}};
  char joint[SWEEP_NAME_SIZE];
  int32_t part = 0, q, v;
  if ((strncmp(name, "q/", 2) != 0 && strncmp(name, "v/", 2) != 0) ||
      strlen(name) >= SWEEP_NAME_SIZE) {
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
