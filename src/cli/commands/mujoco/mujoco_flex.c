// SPDX-License-Identifier: BSD-3-Clause
#include "cli/commands/mujoco/mujoco_flex.h"

#include <math.h>
#include <string.h>

#include "mujoco/compat.h"

#if SAP_MJ_SINCE(3, 3, 0)
// Knots of one flex.
typedef struct knots {
  int32_t count;
  const int* bodies;      // (count)
  const mjtNum* centers;  // in their bodies (3 count)
} knots;

static knots knots_of(const mjModel* m, int32_t flex) {
  if (m->flex_interp[flex] != 0) {
    const int32_t first = m->flex_nodeadr[flex];
    return (knots){m->flex_nodenum[flex], m->flex_nodebodyid + first, m->flex_node + 3 * first};
  }
  const int32_t first = m->flex_vertadr[flex];
  return (knots){m->flex_vertnum[flex], m->flex_vertbodyid + first, m->flex_vert + 3 * first};
}

int32_t mujoco_knot_count(const mjModel* m) {
  int32_t count = 0;
  for (int32_t f = 0; f < sap_mj_flex_count(m); ++f) {
    count += knots_of(m, f).count;
  }
  return count;
}

void mujoco_describe_knots(const mjModel* m, sap_recorded_shape* shapes) {
  static const double LEAST_RADIUS = 1e-3;  // a flex may have none [m]
  for (int32_t f = 0; f < sap_mj_flex_count(m); ++f) {
    const knots k = knots_of(m, f);
    const int material = m->flex_matid[f];
    const float* color = material >= 0 ? m->mat_rgba + 4 * material : m->flex_rgba + 4 * f;
    for (int32_t i = 0; i < k.count; ++i, ++shapes) {
      const int body = k.bodies[i];
      *shapes =
          (sap_recorded_shape){.type = SAP_SHAPE_SPHERE,
                               .body = body >= 0 ? body : 0,
                               .mesh = -1,
                               .size = {fmax(LEAST_RADIUS, m->flex_radius[f]), 0.0, 0.0},
                               .q_BS = {1.0, 0.0, 0.0, 0.0},
                               .collides = m->flex_contype[f] != 0 || m->flex_conaffinity[f] != 0};
      memcpy(shapes->p_BS, k.centers + 3 * i, sizeof shapes->p_BS);
      for (int c = 0; c < 4; ++c) {
        shapes->color[c] = (double)color[c];
      }
    }
  }
}

int32_t mujoco_nearest_knot(const mjModel* m, const mjData* d, int32_t flex, const double p[3],
                            int32_t* body) {
  int32_t first = 0, best = 0;
  for (int32_t f = 0; f < flex; ++f) {
    first += knots_of(m, f).count;
  }
  const knots k = knots_of(m, flex);
  double nearest = HUGE_VAL;
  *body = 0;
  for (int32_t i = 0; i < k.count; ++i) {
    const int32_t b = k.bodies[i] >= 0 ? k.bodies[i] : 0;
    mjtNum at[3], difference[3];
    mju_mulMatVec3(at, d->xmat + 9 * b, k.centers + 3 * i);
    mju_addTo3(at, d->xpos + 3 * b);
    mju_sub3(difference, at, p);
    const double distance = mju_dot3(difference, difference);
    if (distance < nearest) {
      nearest = distance;
      best = i;
      *body = b;
    }
  }
  return first + best;
}
#else
int32_t mujoco_knot_count(const mjModel* m) {
  (void)m;
  return 0;
}

void mujoco_describe_knots(const mjModel* m, sap_recorded_shape* shapes) {
  (void)m;
  (void)shapes;
}

int32_t mujoco_nearest_knot(const mjModel* m, const mjData* d, int32_t flex, const double p[3],
                            int32_t* body) {
  (void)m;
  (void)d;
  (void)flex;
  (void)p;
  *body = 0;
  return 0;
}
#endif
