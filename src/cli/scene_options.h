// SPDX-License-Identifier: BSD-3-Clause
// What every command that reads a scene understands: how it is read, where it starts, what replaces
// its materials. Their rows stand in the option lists of the commands; a command offers a row or
// leaves it out.
#ifndef SAP_CLI_SCENE_OPTIONS_H
#define SAP_CLI_SCENE_OPTIONS_H

#include <sapstep/sapstep.h>

#include "cli/command.h"

typedef struct cli_scene {
  const char* path;
  const char* keyframe;  // name or index, NULL: the default pose
  bool lenient, floating_base;
  double floor;                     // of a URDF [m], NaN: none
  sap_material override;            // NaN: as the scene says
  sap_contact_model contact_model;  // the least of every contact
  double sigma, beta;               // NaN: the scene's
  double dt;                        // [s], NaN: the scene's
  const sap_scene_edit* edits;      // of its values                                 (edit_count)
  int32_t edit_count;
  sap_note_function note;  // of sap_scene_options
  void* note_context;
  sap_file_function file;  // of sap_scene_options
  void* file_context;
} cli_scene;

// Ids above those of the commands.
enum {
  CLI_SCENE_FIRST = 1000,
  CLI_SCENE_KEYFRAME = CLI_SCENE_FIRST,
  CLI_SCENE_STIFFNESS,
  CLI_SCENE_RELAXATION_TIME,
  CLI_SCENE_FRICTION,
  CLI_SCENE_CONTACT_MODEL,
  CLI_SCENE_DISSIPATION,
  CLI_SCENE_STICTION_TOLERANCE,
  CLI_SCENE_STATIC_FRICTION,
  CLI_SCENE_SIGMA,
  CLI_SCENE_BETA,
  CLI_SCENE_FLOATING_BASE,
  CLI_SCENE_FLOOR,
  CLI_SCENE_LENIENT,
};

#define CLI_SCENE_START_ROWS \
  { "keyframe", "NAME", CLI_SCENE_KEYFRAME, "start from this keyframe, by name or index" }
#define CLI_SCENE_CONTACT_ROWS                                                                   \
  {"stiffness", "K", CLI_SCENE_STIFFNESS, "contact stiffness of every shape [N/m]"},             \
      {"relaxation-time", "S", CLI_SCENE_RELAXATION_TIME, "relaxation time of every shape [s]"}, \
      {"friction", "MU", CLI_SCENE_FRICTION, "friction of every shape"},                         \
      {"contact-model", "NAME", CLI_SCENE_CONTACT_MODEL,                                         \
       "sap, similar or lagged for every contact (the scene's)"},                                \
      {"dissipation", "D", CLI_SCENE_DISSIPATION,                                                \
       "Hunt-Crossley dissipation of every shape [s/m] (similar, lagged)"},                      \
      {"stiction-tolerance", "V", CLI_SCENE_STICTION_TOLERANCE,                                  \
       "slip speed below which contacts stick [m/s] (similar, lagged)"},                         \
      {"static-friction", "MU", CLI_SCENE_STATIC_FRICTION,                                       \
       "friction of every shape that sticks (similar, lagged)"},                                 \
      {"sigma", "X", CLI_SCENE_SIGMA, "slip parameter of the regularization (the scene's)"}, {   \
    "beta", "X", CLI_SCENE_BETA, "near-rigid parameter (the scene's)"                            \
  }
#define CLI_SCENE_URDF_ROWS                                                                   \
  {"floating-base", NULL, CLI_SCENE_FLOATING_BASE, "the root link of a URDF moves freely"}, { \
    "floor", "Z", CLI_SCENE_FLOOR, "a floor at this height under a URDF [m]"                  \
  }
#define CLI_SCENE_LENIENT_ROW \
  { "lenient", NULL, CLI_SCENE_LENIENT, "warn of what a scene asks and is not supported" }

cli_scene cli_scene_default(void);
// Takes option `id`. NULL: it was taken, or *known is false: it is none of these; else what its
// argument must be.
const char* cli_scene_take(cli_scene* scene, int id, const char* argument, bool* known);

// Reads the scene; warnings go to `warn`, NULL: to standard error.
sap_status cli_scene_read(const cli_scene* scene, void (*warn)(void* context, const char* message),
                          void* context, sap_model** model, sap_error* error);
// The index of the keyframe of that name or number; ARGUMENT: there is none, but perhaps one like
// it.
sap_status cli_find_keyframe(const sap_model* model, const char* path, const char* asked,
                             int32_t* index, sap_error* error);
// ARGUMENT: a model of `count` keyframes, some named, lacks the one asked for.
sap_status cli_refuse_keyframe(const char* path, const char* asked, const char* const* names,
                               int named, int32_t count, sap_error* error);
// The state of the keyframe or of the default pose, and its controls (nu), which may be NULL; an
// error names the scene.
sap_status cli_scene_start(const cli_scene* scene, const sap_model* model, sap_state* state,
                           double* control, sap_error* error);
// dt and regularization where given, else the model's; the contact model.
void cli_scene_stepper(const cli_scene* scene, const sap_model* model,
                       sap_stepper_options* stepper);

#endif
