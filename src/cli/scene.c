// SPDX-License-Identifier: BSD-3-Clause
#include "cli/scene.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "cli/files.h"

cli_scene cli_scene_default(void) {
  return (cli_scene){.reading = sap_scene_options_default(), .override = sap_material_unset()};
}

void cli_ignore_warning(void* context, const char* message) {
  (void)context;
  (void)message;
}

// Warnings that differ only in their lines are printed once, with their number at the end.
enum { KINDS = 32, KIND_SIZE = 200 };
typedef struct warnings {
  char kinds[KINDS][KIND_SIZE];
  int count[KINDS];
  int used;
} warnings;

// Returns the part of a message after FILE:LINE:.
static const char* kind_of(const char* message) {
  const char* at = strstr(message, ": <");
  return at != NULL ? at + 2 : message;
}

static void print_warning(void* context, const char* message) {
  warnings* w = context;
  const char* kind = kind_of(message);
  for (int i = 0; i < w->used; ++i) {
    if (strncmp(w->kinds[i], kind, KIND_SIZE - 1) == 0) {
      ++w->count[i];
      return;
    }
  }
  if (w->used < KINDS) {
    (void)snprintf(w->kinds[w->used], KIND_SIZE, "%s", kind);
    w->count[w->used++] = 1;
  }
  cli_message("warning: %s", message);
}

static void print_more(const warnings* w) {
  for (int i = 0; i < w->used; ++i) {
    if (w->count[i] > 1) {
      cli_message("warning: and %d more of %s", w->count[i] - 1, w->kinds[i]);
    }
  }
}

sap_status cli_scene_read(const cli_scene* scene, void (*warn)(void* context, const char* message),
                          void* context, sap_model** model, sap_error* error) {
  sap_scene_options options = scene->reading;
  options.override_material = &scene->override;
  warnings printed = {.used = 0};
  options.warning = warn != NULL ? warn : print_warning;
  options.warning_context = warn != NULL ? context : &printed;
  cli_announce_pipe(scene->path);
  const sap_status status = sap_scene_read(scene->path, &options, model, error);
  print_more(&printed);
  return status;
}

sap_status cli_find_keyframe(const char* path, const char* asked, cli_name_of* name_of,
                             const void* model, int32_t* index, sap_error* error) {
  enum { NAMES = 64 };
  const char *names[NAMES], *name;
  int32_t count = 0, named = 0;
  for (; (name = name_of(model, count)) != NULL; ++count) {
    if (name[0] != '\0' && strcmp(name, asked) == 0) {
      *index = count;
      return SAP_STATUS_OK;
    }
    if (name[0] != '\0' && named < NAMES) {
      names[named++] = name;
    }
  }
  if (cli_read_integer(asked, index) && *index >= 0 && *index < count) {
    return SAP_STATUS_OK;
  }
  char instead[128] = "it has none";
  const char* near = cli_suggest(asked, names, named);
  near = near == NULL && named == 1 ? names[0] : near;
  if (near != NULL) {
    (void)snprintf(instead, sizeof instead, "did you mean '%.80s'?", near);
  } else if (count > 0) {
    (void)snprintf(instead, sizeof instead, "it has 0 to %d", count - 1);
  }
  return sap_fail(error, SAP_STATUS_ARGUMENT, "%.150s has no keyframe '%.100s', %s", path, asked,
                  instead);
}

static const char* keyframe_name(const void* model, int32_t id) {
  return id < sap_model_get_sizes(model).keyframes
             ? sap_model_get_name(model, SAP_ELEMENT_KEYFRAME, id)
             : NULL;
}

sap_status cli_scene_start(const cli_scene* scene, const sap_model* model, sap_state* state,
                           double* control, sap_error* error) {
  const char* name = scene->keyframe;
  int32_t index = 0;
  if (name != NULL) {
    SAP_TRY(cli_find_keyframe(scene->path, name, keyframe_name, model, &index, error));
  }
  SAP_FAIL_IF(sap_model_get_sizes(model).nv == 0, error, SAP_STATUS_ARGUMENT,
              "%.150s: nothing moves: no body has a joint", scene->path);
  return name != NULL ? sap_model_get_keyframe(model, index, state, control, error)
                      : sap_model_get_default_state(model, state, error);
}

// --- options of steps ---

sap_stepper_options cli_stepper_options(void) {
  sap_stepper_options options = sap_stepper_options_default();
  options.dt = options.regularization.beta = options.regularization.sigma = (double)NAN;
  return options;
}

sap_adaptive_options cli_adaptive_options(void) {
  sap_adaptive_options options = sap_adaptive_options_default();
  options.accuracy = 0.0;
  return options;
}

sap_status cli_check_stepper(sap_stepper_options options, sap_error* error) {
  options.dt = 1.0;
  options.regularization = sap_regularization_default();
  return sap_stepper_options_check(&options, error);
}

CLI_DEFINE_DEFAULT(cli_stepper_default, sap_stepper_options, cli_stepper_options())

// --- wrong starts ---

enum { STARTS_MAX = 3 };  // printed

typedef struct starts {
  sap_wrong_start deepest[STARTS_MAX];
  int count;
} starts;

static void keep_deepest(void* context, const sap_wrong_start* found) {
  starts* s = context;
  int at = s->count < STARTS_MAX ? s->count : STARTS_MAX;
  for (; at > 0 && s->deepest[at - 1].depth < found->depth; --at) {
    if (at < STARTS_MAX) {
      s->deepest[at] = s->deepest[at - 1];
    }
  }
  if (at < STARTS_MAX) {
    s->deepest[at] = *found;
  }
  ++s->count;
}

sap_status cli_warn_wrong_starts(sap_multibody* multibody, const sap_model* model,
                                 const sap_step_report* report, sap_error* error) {
  static const double degree = 57.295779513082320877;
  starts s = {.count = 0};
  SAP_TRY(sap_multibody_wrong_starts(multibody, report, keep_deepest, &s, error));
  for (int i = 0; i < s.count && i < STARTS_MAX; ++i) {
    const sap_wrong_start* at = &s.deepest[i];
    const char* name = sap_model_get_name(model, at->kind, at->a);
    if (at->kind == SAP_ELEMENT_SHAPE) {
      cli_message("warning: shapes %d '%s' and %d '%s' start %.4g mm inside each other", (int)at->a,
                  name, (int)at->b, sap_model_get_name(model, at->kind, at->b), 1e3 * at->depth);
    } else {
      const bool joint = at->kind == SAP_ELEMENT_JOINT;  // a tendon's length may be a sum of angles
      const double unit = !joint ? 1.0 : at->is_angle ? degree : 1e3;
      cli_message("warning: %s %d '%s' starts %.4g %s beyond its %s limit",
                  joint ? "joint" : "tendon", (int)at->a, name, unit * at->depth,
                  !joint         ? "m or rad"
                  : at->is_angle ? "degrees"
                                 : "mm",
                  at->b == 0 ? "lower" : "upper");
    }
  }
  if (s.count > STARTS_MAX) {
    cli_message("warning: and %d more overlaps or limits at the start", s.count - STARTS_MAX);
  }
  if (s.count > 0) {
    cli_message("warning: what starts so is undone slowly, see --impact-speed");
  }
  return SAP_STATUS_OK;
}

void cli_scene_stepper(const sap_model* model, sap_stepper_options* stepper) {
  const sap_model_options* own = sap_model_get_options(model);
  sap_regularization* r = &stepper->regularization;
  stepper->dt = isnan(stepper->dt) ? own->timestep : stepper->dt;
  r->sigma = isnan(r->sigma) ? own->regularization.sigma : r->sigma;
  r->beta = isnan(r->beta) ? own->regularization.beta : r->beta;
}

sap_status cli_run_open(const cli_scene* scene, const sap_stepper_options* stepper,
                        void (*warn)(void* context, const char* message), cli_run* run,
                        sap_error* error) {
  *run = (cli_run){.options = *stepper};
  SAP_TRY(cli_scene_read(scene, warn, NULL, &run->model, error));
  run->control = cli_allocate((size_t)sap_model_get_sizes(run->model).nu, sizeof *run->control);
  SAP_TRY(cli_scene_start(scene, run->model, &run->state, run->control, error));
  SAP_TRY(sap_multibody_create(run->model, &run->multibody, error));
  SAP_TRY(sap_multibody_set_control(run->multibody, run->control, error));
  cli_scene_stepper(run->model, &run->options);
  return sap_stepper_create(sap_multibody_system(run->multibody), &run->options, &run->stepper,
                            error);
}

void cli_run_close(cli_run* run) {
  sap_stepper_destroy(run->stepper);
  sap_multibody_destroy(run->multibody);
  sap_model_destroy(run->model);
  sap_state_clear(&run->state);
  free(run->control);
  *run = (cli_run){0};
}
