// SPDX-License-Identifier: BSD-3-Clause
// Which joints change the length that an actuator acts along.
#include <string.h>

#include "core/memory.h"
#include "multibody/model/reach.h"

// Joints above a body, or that a tendon names.
static void mark_above(const sap_model* model, int32_t body, bool* moves) {
  for (int32_t b = body; b > 0; b = model->bodies[b].parent) {
    for (int32_t k = 0; k < model->bodies[b].njoints; ++k) {
      moves[model->body_joints[model->bodies[b].first_joint + k]] = true;
    }
  }
}

// Joints that move one of the bodies but not all of them alike.
static void mark_between(const sap_model* model, const int32_t* bodies, int32_t count, bool* moves,
                         bool* scratch) {
  for (int32_t i = 0; i < count; ++i) {
    mark_above(model, bodies[i], moves);
  }
  // What is above all of them moves nothing.
  for (int32_t j = 0; j < model->sizes.joints; ++j) {
    bool all = moves[j];
    for (int32_t i = 0; i < count && all; ++i) {
      memset(scratch, 0, (size_t)model->sizes.joints * sizeof *scratch);
      mark_above(model, bodies[i], scratch);
      all = scratch[j];
    }
    moves[j] = moves[j] && !all;
  }
}

// bodies: room for those that a tendon's points, or both ends of another transmission, stand on.
static void mark_joints(const sap_model* model, const sap_model_actuator* a, int32_t* bodies,
                        bool* moves, bool* scratch) {
  if (a->transmission == SAP_TRANSMISSION_JOINT) {
    moves[a->target] = true;
    return;
  }
  if (a->transmission == SAP_TRANSMISSION_SLIDER_CRANK ||
      (a->transmission == SAP_TRANSMISSION_SITE && a->reference_body >= 0)) {
    const bool crank = a->transmission == SAP_TRANSMISSION_SLIDER_CRANK;
    bodies[0] = crank ? a->crank_body : a->site_body;
    bodies[1] = crank ? a->slider_body : a->reference_body;
    mark_between(model, bodies, 2, moves, scratch);
    return;
  }
  if (a->transmission == SAP_TRANSMISSION_SITE || a->transmission == SAP_TRANSMISSION_ADHESION) {
    return;  // its length is always zero
  }
  const sap_model_tendon* t = &model->tendons[a->target];
  for (int32_t k = t->first; k < t->first + t->count; ++k) {
    moves[model->tendon_joints[k]] = true;
  }
  int32_t count = 0;
  for (int32_t k = t->first_point; k < t->first_point + t->npoints; ++k) {
    const sap_tendon_wrap* wrap = &model->tendon_wraps[k];
    if (wrap->way != SAP_TENDON_PULLEY) {
      bodies[count++] = model->tendon_point_bodies[k];
      if (wrap->way != SAP_TENDON_POINT && wrap->side_body >= 0) {
        bodies[count++] = wrap->side_body;
      }
    }
  }
  mark_between(model, bodies, count, moves, scratch);
}

// A coupled joint moves with another, which then counts in its place.
static void follow_couplings(const sap_model* model, bool* moves) {
  for (int32_t pass = 0; pass < model->sizes.equalities; ++pass) {
    for (int32_t e = 0; e < model->sizes.equalities; ++e) {
      const sap_equality_def* equality = &model->equalities[e];
      if (equality->type == SAP_EQUALITY_JOINT && equality->active && moves[equality->a] &&
          equality->b >= 0) {
        moves[equality->b] = true;
      }
    }
  }
}

sap_status sap_find_reach_joints(const sap_model* model, const sap_model_actuator* actuator,
                                 bool* moves, sap_error* error) {
  const int32_t npoints = actuator->transmission == SAP_TRANSMISSION_TENDON
                              ? model->tendons[actuator->target].npoints
                              : 0;
  bool* scratch = sap_allocate((size_t)model->sizes.joints, sizeof *scratch);
  int32_t* bodies = sap_allocate(2 * (size_t)npoints + 2, sizeof *bodies);
  sap_status status = SAP_STATUS_OK;
  if (scratch == NULL || bodies == NULL) {
    status = sap_fail(error, SAP_STATUS_MEMORY, "out of memory: range of an actuator");
  } else {
    mark_joints(model, actuator, bodies, moves, scratch);
    follow_couplings(model, moves);
  }
  sap_free(scratch);
  sap_free(bodies);
  return status;
}
