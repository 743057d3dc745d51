// SPDX-License-Identifier: BSD-3-Clause
// What the scene says of a convergence study: where it starts, its step, and exact solutions,
//   <text name="sapstep:exact:JOINT" data="formula of t"/>            from the default pose
//   <text name="sapstep:exact:JOINT@KEYFRAME" data="formula of t"/>   from that keyframe
// which hold for its own materials and start alone.
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "cli/commands/converge/converge.h"
#include "cli/commands/sweep/sweep_hash.h"
#include "cli/expression.h"
#include "cli/options.h"

static sap_status refuse(sap_error* error, const char* format, const char* scene,
                         const char* name) {
  return sap_fail(error, SAP_STATUS_ARGUMENT, format, scene, name);
}

// The coordinates of a hinge or slide.
static sap_status find_joint(const converge_study* s, const char* name, int32_t* q, int32_t* v,
                             sap_error* error) {
  const int32_t joint = sap_model_find(s->model, SAP_ELEMENT_JOINT, name);
  sap_joint_type type;
  if (joint < 0) {
    return refuse(error, "%.200s has no joint '%.128s'", s->options.scene.path, name);
  }
  const sap_status status = sap_model_joint_address(s->model, joint, &type, NULL, q, v, error);
  if (status == SAP_STATUS_OK && type != SAP_JOINT_HINGE && type != SAP_JOINT_SLIDE) {
    return refuse(error, "%.200s: joint '%.128s' is neither a hinge nor a slide",
                  s->options.scene.path, name);
  }
  return status;
}

// The state that all runs start from, and the coordinates that have exact solutions.
static sap_status set_start(converge_study* s, sap_error* error) {
  sap_status status = cli_scene_start(&s->options.scene, s->model, &s->start, NULL, error);
  for (int i = 0; status == SAP_STATUS_OK && i < s->options.nstart; ++i) {
    int32_t q, v;
    status = find_joint(s, s->options.start[i].joint, &q, &v, error);
    if (status == SAP_STATUS_OK) {
      s->start.q[q] = s->options.start[i].position;
    }
  }
  for (int i = 0; status == SAP_STATUS_OK && i < s->options.nexact; ++i) {
    converge_exact* exact = &s->options.exact[i];
    status = find_joint(s, exact->joint, &exact->q, &exact->v, error);
  }
  return status;
}

static bool is_changed(const converge_options* o) {
  const sap_material* m = &o->scene.override;
  return o->nstart > 0 || !isnan(m->stiffness) || !isnan(m->relaxation_time) || !isnan(m->friction);
}

// Keeps an exact solution for the way this study starts.
static void take_note(void* context, const char* name, const char* text) {
  static const char exact[] = "exact:";
  converge_options* o = &((converge_study*)context)->options;
  const char* keyframe = o->scene.keyframe;
  const char* joint = name + strlen(exact);
  const char* at = strrchr(joint, '@');
  const size_t length = at != NULL ? (size_t)(at - joint) : strlen(joint);
  const bool holds =
      at == NULL ? keyframe == NULL : keyframe != NULL && strcmp(at + 1, keyframe) == 0;
  if (strncmp(name, exact, strlen(exact)) != 0 || !holds || is_changed(o) ||
      o->against != CONVERGE_AUTO || o->nexact == CONVERGE_EXACT_MAX ||
      length >= sizeof o->exact[0].joint || (o->nexact > 0 && o->exact[0].owned == NULL)) {
    return;
  }
  converge_exact* e = &o->exact[o->nexact];
  e->owned = malloc(strlen(text) + 1);
  if (e->owned != NULL) {
    memcpy(e->joint, joint, length);
    e->joint[length] = '\0';
    strcpy(e->owned, text);
    e->expression = e->owned;
    ++o->nexact;
  }
}

static sap_status check_notes(const converge_study* s, sap_error* error) {
  for (int i = 0; i < s->options.nexact; ++i) {
    const char* wrong;
    (void)expression_value(s->options.exact[i].expression, 0.0, &wrong);
    if (wrong != NULL) {
      return refuse(error, "%.200s: sapstep:exact: %.200s", s->options.scene.path, wrong);
    }
  }
  return SAP_STATUS_OK;
}

sap_status converge_scene_read(converge_study* s, sap_error* error) {
  const bool given = s->options.nexact > 0;
  s->options.scene.note = take_note;
  s->options.scene.note_context = s;
  s->options.scene.file = sweep_hash_file;
  s->options.scene.file_context = &s->hash;
  sap_status status = cli_scene_read(&s->options.scene, NULL, NULL, &s->model, error);
  if (status == SAP_STATUS_OK && !given) {
    status = check_notes(s, error);
  }
  if (status == SAP_STATUS_OK) {
    status = set_start(s, error);
  }
  if (status != SAP_STATUS_OK) {
    return status;
  }
  cli_scene_stepper(&s->options.scene, s->model, &s->options.stepper);
  s->options.dt = s->options.stepper.dt;
  s->samples = cli_step_count(s->options.duration, s->options.dt);
  return SAP_STATUS_OK;
}
