// SPDX-License-Identifier: BSD-3-Clause
// One call of collision detection: bounding boxes, pairs, manifolds.
#include <math.h>
#include <string.h>

#include "multibody/geometry/collision_data.h"

static sap_status check_poses(const sap_model* model, const sap_collision_query* query,
                              sap_error* error) {
  const double *p_WB = query->p_WB, *R_WB = query->R_WB;
  for (int32_t b = 0; b < model->sizes.bodies; ++b) {
    double zero = 0.0;
    for (int k = 0; k < 3; ++k) {
      zero += 0.0 * p_WB[3 * b + k];
    }
    for (int k = 0; k < 9; ++k) {
      zero += 0.0 * R_WB[9 * b + k];
    }
    if (!(zero == 0.0)) {
      return sap_fail(error, SAP_STATUS_NOT_FINITE,
                      "body %d ('%s'): the pose must be finite; position (%g, %g, %g)", (int)b,
                      sap_model_get_name(model, SAP_ELEMENT_BODY, b), p_WB[3 * b], p_WB[3 * b + 1],
                      p_WB[3 * b + 2]);
    }
  }
  return SAP_STATUS_OK;
}

// No point of the shape moves farther between the two poses: its centre's way and |R1 - R0| times
// its radius. 0 where that is not finite.
static double way_of(const sap_collision_shape* shape, const sap_collision_query* query) {
  const int32_t body = shape->filter.body;
  const double* R = query->R_next + 9 * body;
  double p[3], turn_2 = 0.0;
  sap_v3_place(p, query->p_next + 3 * body, R, shape->p_BS);
  sap_v3_sub(p, p, shape->placed.p);
  for (int k = 0; k < 9; ++k) {
    const double turn = R[k] - query->R_WB[9 * body + k];
    turn_2 += turn * turn;
  }
  const double turn = turn_2 > 0.0 ? sqrt(turn_2) * shape->placed.bound : 0.0;
  const double way = sqrt(sap_v3_dot(p, p)) + turn;
  return isfinite(way) ? way : 0.0;
}

enum { JOB_SHAPES = 256 };

typedef struct placing {
  sap_collision* c;
  const sap_collision_query* query;
} placing;

// The poses of a job's shapes.
static void place_shapes(void* context, int32_t job) {
  const sap_collision_query* query = ((const placing*)context)->query;
  sap_collision* c = ((const placing*)context)->c;
  const int32_t first = job * JOB_SHAPES, left = c->shape_count - first;
  const int32_t end = first + (left < JOB_SHAPES ? left : (int32_t)JOB_SHAPES);
  for (int32_t i = first; i < end; ++i) {
    sap_collision_shape* shape = &c->shapes[i];
    if (sap_collision_shape_rests(c, shape)) {
      continue;
    }
    const double* R = query->R_WB + 9 * shape->filter.body;
    sap_v3_place(shape->placed.p, query->p_WB + 3 * shape->filter.body, R, shape->p_BS);
    if (shape->placed.type != SAP_SHAPE_SPHERE) {
      sap_m3_mul(shape->placed.R, R, shape->R_BS);
    }
    shape->way =
        query->p_next != NULL && !sap_collision_shape_is_static(shape) ? way_of(shape, query) : 0.0;
  }
}

// Compares the static bodies' poses with those of the last call, and keeps them.
static void look_at_statics(sap_collision* c, const sap_collision_query* query) {
  c->statics_rest = true;
  for (int32_t i = 0; i < c->static_count; ++i) {
    const double *p = query->p_WB + 3 * c->statics[i], *R = query->R_WB + 9 * c->statics[i];
    double* pose = c->static_poses + 12 * i;
    if (memcmp(pose, p, 3 * sizeof *p) != 0 || memcmp(pose + 3, R, 9 * sizeof *R) != 0) {
      c->statics_rest = false;
      memcpy(pose, p, 3 * sizeof *p);
      memcpy(pose + 3, R, 9 * sizeof *R);
    }
  }
}

sap_status sap_collision_detect(sap_collision* collision, const sap_collision_query* query,
                                const sap_contact** contacts, int32_t* count, sap_error* error) {
  sap_collision* c = collision;
  SAP_TRY(check_poses(c->model, query, error));
  SAP_TRY(sap_collision_find_glides(c, query, error));
  look_at_statics(c, query);
  placing of = {c, query};
  sap_threads_run(c->threads, (c->shape_count + JOB_SHAPES - 1) / JOB_SHAPES, place_shapes, &of);
  SAP_TRY(sap_collision_find_pairs(c, error));
  SAP_TRY(sap_collision_collide(c, query, error));
  if (query->remember) {
    c->last = 1 - c->last;
    c->last_count = c->contact_count;
  }
  *contacts = c->contacts;
  *count = c->contact_count;
  return SAP_STATUS_OK;
}
