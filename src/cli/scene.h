// SPDX-License-Identifier: BSD-3-Clause
// Options of every command that reads a scene: how it is read, where it starts, which materials
// override its own. A command takes the rows it offers into its list; its struct has a member
// `cli_scene scene`.
#pragma once

#include <sapstep/sapstep.h>

#include "cli/options.h"

typedef struct cli_scene {
  const char* path;
  const char* keyframe;  // name or index, NULL: the default pose
  sap_scene_options reading;
  sap_material override;  // of `reading`, NaN: the scene's
} cli_scene;

#define CLI_SCENE_AT(owner, member) .offset = offsetof(owner, scene) + offsetof(cli_scene, member)

#define CLI_SCENE_KEYFRAME_ROW(owner)                                           \
  {                                                                             \
    "keyframe", "NAME", "start from this keyframe, by name or index", CLI_TEXT, \
        CLI_SCENE_AT(owner, keyframe)                                           \
  }
#define CLI_SCENE_SHAPES(owner, kind, member, name, argument, help) \
  { name, argument, help, kind, CLI_SCENE_AT(owner, override.member), .high = 1e300 }
#define CLI_SCENE_CONTACT_ROWS(owner)                                                       \
  CLI_SCENE_SHAPES(owner, CLI_POSITIVE, stiffness, "stiffness", "K",                        \
                   "contact stiffness of every shape [N/m]"),                               \
      CLI_SCENE_SHAPES(owner, CLI_REAL, relaxation_time, "relaxation-time", "S",            \
                       "relaxation time of every shape [s]"),                               \
      CLI_SCENE_SHAPES(owner, CLI_REAL, friction, "friction", "MU",                         \
                       "friction coefficient of every shape"),                              \
      CLI_SCENE_SHAPES(owner, CLI_REAL, dissipation, "dissipation", "D",                    \
                       "Hunt-Crossley dissipation of every shape (similar, lagged) [s/m]"), \
      CLI_SCENE_SHAPES(owner, CLI_POSITIVE, stiction_tolerance, "stiction-tolerance", "V",  \
                       "slip speed below which contacts stick (similar, lagged) [m/s]"),    \
      CLI_SCENE_SHAPES(owner, CLI_REAL, static_friction, "static-friction", "MU",           \
                       "static friction of every shape (similar, lagged)"),                 \
      CLI_SCENE_SHAPES(owner, CLI_REAL, modulus, "patches", "E",                            \
                       "elastic modulus of every shape: contact in patches [Pa]")
#define CLI_SCENE_URDF_ROWS(owner)                                             \
  {"floating-base", NULL, "let the root link of a URDF move freely", CLI_FLAG, \
   CLI_SCENE_AT(owner, reading.floating_base)},                                \
  {                                                                            \
    "floor", "Z", "add a floor at this height to a URDF [m]", CLI_REAL,        \
        CLI_SCENE_AT(owner, reading.floor), .low = -1e6, .high = 1e6           \
  }
#define CLI_SCENE_LENIENT_ROW(owner)                                                 \
  {                                                                                  \
    "lenient", NULL, "warn about unsupported features instead of failing", CLI_FLAG, \
        CLI_SCENE_AT(owner, reading.lenient)                                         \
  }

cli_scene cli_scene_default(void);
// A receiver of warnings that prints none.
void cli_ignore_warning(void* context, const char* message);

// Reads the scene. Warnings go to `warn`; NULL: to standard error, each kind once with a count.
sap_status cli_scene_read(const cli_scene* scene, void (*warn)(void* context, const char* message),
                          void* context, sap_model** model, sap_error* error);
// Returns the name of a keyframe, "" without one; NULL: `id` is behind the last.
typedef const char* cli_name_of(const void* model, int32_t id);
// Finds a keyframe of the model at `path` by name or number. Fails with ARGUMENT; the message
// suggests a similar name.
sap_status cli_find_keyframe(const char* path, const char* asked, cli_name_of* name_of,
                             const void* model, int32_t* index, sap_error* error);
// Fills the state, and the controls (nu) unless NULL, from the keyframe or the default pose. Fails
// with ARGUMENT if no body can move.
sap_status cli_scene_start(const cli_scene* scene, const sap_model* model, sap_state* state,
                           double* control, sap_error* error);
// Prints warnings for the deepest of what sap_multibody_wrong_starts finds, if anything.
sap_status cli_warn_wrong_starts(sap_multibody* multibody, const sap_model* model,
                                 const sap_step_report* report, sap_error* error);
// Sets dt, beta and sigma to the model's where they are NaN.
void cli_scene_stepper(const sap_model* model, sap_stepper_options* stepper);

// --- options of steps ---

// Returns the defaults of commands that step scenes: dt, beta and sigma are NaN, the scene's.
sap_stepper_options cli_stepper_options(void);
// sap_stepper_options_check, before the scene's dt, beta and sigma are known.
sap_status cli_check_stepper(sap_stepper_options options, sap_error* error);
// Returns the defaults of error-controlled steps, but without accuracy: fixed steps.
sap_adaptive_options cli_adaptive_options(void);
// Returns the default of an option of cli_stepper_options.
double cli_stepper_default(const sap_option* option);
// Options of a command's member `sap_adaptive_options adaptive`, for cli_command.tables. `accuracy`
// is a row of its own.
#define CLI_ADAPTIVE_OPTIONS(owner)                                          \
  {                                                                          \
    .table = sap_adaptive_option_table, .offset = offsetof(owner, adaptive), \
    .title = "With --accuracy"                                               \
  }

// A scene ready to be stepped.
typedef struct cli_run {
  sap_model* model;
  sap_multibody* multibody;
  sap_stepper* stepper;
  sap_state state;
  double* control;              // of the keyframe (nu)
  sap_stepper_options options;  // with the scene's dt, beta and sigma
} cli_run;

// Reads the scene and sets its start and controls. `warn` as in cli_scene_read. Close the run also
// after a failure.
sap_status cli_run_open(const cli_scene* scene, const sap_stepper_options* stepper,
                        void (*warn)(void* context, const char* message), cli_run* run,
                        sap_error* error);
void cli_run_close(cli_run* run);
