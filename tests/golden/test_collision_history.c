// SPDX-License-Identifier: BSD-3-Clause
// Collision detection skips what it knows from the calls before; that changes no bit: at every step
// one that has seen all steps is compared with a new one, which was given the contacts of the last
// step and nothing else.
#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "support/collision_scene.h"
#include "support/convex_oracle.h"

enum { BODIES = 70, WELDED = 6, STEPS = 80 };

// Bodies of one to three shapes, some with margins and rest distances, among planes and boxes that
// do not move.
static void begin(collision_scene* s) {
  scene_begin(s);
  const int32_t mesh = scene_add_random_mesh(s, 40, 0.12);
  scene_add_shape(s, 0, SAP_SHAPE_PLANE, 1, 1, 1);
  scene_add_shape(s, 0, SAP_SHAPE_BOX, 1.5, 0.1, 0.4);
  for (int b = 1; b <= BODIES + WELDED; ++b) {
    const int32_t body = scene_add_body(s, b > BODIES ? -1 : 0);
    for (int k = 0; k <= b % 3; ++k) {
      sap_shape_def def = sap_shape_def_default();
      def.body = body;
      const int other = SAP_SHAPE_SPHERE + (b + k) % 6;
      def.type = b == BODIES + 1 && k == 0 ? SAP_SHAPE_PLANE : (sap_shape_type)other;
      def.mesh = mesh;
      def.margin = b % 5 == 0 ? 0.02 : 0.0;
      def.rest_distance = b % 6 == 0 ? 0.03 : b % 8 == 0 ? -0.01 : 0.0;
      sap_v3_set(def.size, 0.12, 0.1, 0.08);
      sap_v3_set(def.p_BS, 0.15 * k, 0.0, -0.05 * k);
      (void)scene_add_shape_def(s, &def);
    }
  }
  assert_int_equal(sap_builder_exclude(s->builder, 3, 4, NULL), SAP_STATUS_OK);
  scene_compile(s);
}

// Positions and rotation vectors, from which the poses of both come.
typedef struct motion {
  uint64_t seed;
  double p[BODIES + WELDED + 1][3], turn[BODIES + WELDED + 1][3];
} motion;

static void start(motion* m, double spread) {
  *m = (motion){.seed = 99};
  for (int b = 1; b <= BODIES + WELDED; ++b) {
    for (int k = 0; k < 3; ++k) {
      m->p[b][k] = spread * (k == 2 ? 0.4 : 1.5) * (2.0 * oracle_random(&m->seed) - 1.0);
      m->turn[b][k] = 2.0 * oracle_random(&m->seed) - 1.0;
    }
  }
}

// Some rest, some creep, slide or fly; now and then one is put elsewhere, and rarely a static one.
static void move(motion* m) {
  static const double ways[5] = {0.0, 1e-6, 1e-4, 3e-3, 5e-2};
  for (int b = 1; b <= BODIES; ++b) {
    for (int k = 0; k < 3; ++k) {
      m->p[b][k] += ways[b % 5] * (2.0 * oracle_random(&m->seed) - 1.1 * (m->p[b][k] > 0.0));
      m->turn[b][k] += ways[b % 7 % 5] * (2.0 * oracle_random(&m->seed) - 1.0);
    }
  }
  const int other = 1 + (int)(oracle_random(&m->seed) * 10.0 * BODIES);
  if (other <= BODIES + WELDED) {
    m->p[other][0] = 2.0 * oracle_random(&m->seed) - 1.0;
  }
}

static void pose(const motion* m, collision_scene* s) {
  for (int b = 1; b <= BODIES + WELDED; ++b) {
    scene_place(s, b, m->p[b][0], m->p[b][1], m->p[b][2]);
    scene_turn(s, b, m->turn[b][0], m->turn[b][1], m->turn[b][2]);
  }
}

static sap_status archive(void* object, sap_archive* bytes, sap_error* error) {
  return sap_collision_archive(object, bytes, error);
}

static void give_last_contacts(sap_collision* from, sap_collision* to) {
  size_t size = 0;
  assert_int_equal(sap_archive_to_bytes(archive, from, NULL, 0, &size, NULL), SAP_STATUS_OK);
  void* bytes = malloc(size);
  assert_non_null(bytes);
  assert_int_equal(sap_archive_to_bytes(archive, from, bytes, size, &size, NULL), SAP_STATUS_OK);
  assert_int_equal(sap_archive_from_bytes(archive, to, bytes, size, NULL), SAP_STATUS_OK);
  free(bytes);
}

// Both look at the query.
static int32_t compare(sap_collision* used, sap_collision* fresh,
                       const sap_collision_query* query) {
  const sap_contact *a = NULL, *b = NULL;
  int32_t na = -1, nb = -1;
  assert_int_equal(sap_collision_detect(used, query, &a, &na, NULL), SAP_STATUS_OK);
  assert_int_equal(sap_collision_detect(fresh, query, &b, &nb, NULL), SAP_STATUS_OK);
  scene_expect_same_contacts(a, na, b, nb);
  return na;
}

// Velocities of the bodies between the poses, [omega; velocity].
static void find_velocities(const motion* now, const motion* next, double dt, double (*V)[6]) {
  for (int b = 1; b <= BODIES; ++b) {
    for (int k = 0; k < 3; ++k) {
      V[b][k] = (next->turn[b][k] - now->turn[b][k]) / dt;
      V[b][3 + k] = (next->p[b][k] - now->p[b][k]) / dt;
    }
  }
}

static void run(double dt, bool ahead, double spread) {
  static motion now, next;
  static double velocities[BODIES + WELDED + 1][6];
  collision_scene s;
  begin(&s);
  start(&next, spread);
  int32_t contacts = 0;
  for (int step = 0; step < STEPS; ++step) {
    now = next;
    move(&next);
    pose(&now, &s);
    find_velocities(&now, &next, 0.01, velocities);
    sap_collision* fresh = NULL;
    assert_int_equal(sap_collision_create(s.model, &fresh, NULL), SAP_STATUS_OK);
    give_last_contacts(s.collision, fresh);
    sap_collision_query query = {.p_WB = s.p_WB,
                                 .R_WB = s.R_WB,
                                 .remember = true,
                                 .dt = dt,
                                 .V_WB = ahead ? velocities[0] : NULL};
    contacts += compare(s.collision, fresh, &query);
    const sap_collision_query look = {.p_WB = s.p_WB, .R_WB = s.R_WB};
    if (step % 4 == 0) {  // not to be remembered
      (void)compare(s.collision, fresh, &look);
    }
    if (ahead) {  // other velocities bring more pairs together
      for (int b = 1; b <= BODIES; ++b) {
        sap_v3_scale(velocities[b] + 3, velocities[b] + 3, -1.5);
      }
      query.more = true;
      (void)compare(s.collision, fresh, &query);
    }
    sap_collision_destroy(fresh);
  }
  assert_true(contacts > 50 * STEPS);
  scene_end(&s);
}

static void contacts_of_touching_shapes(void** state) {
  (void)state;
  run(0.0, false, 1.0);
}

static void contacts_that_glide(void** state) {
  (void)state;
  run(0.01, false, 1.0);
}

static void contacts_ahead(void** state) {
  (void)state;
  run(0.01, true, 1.0);
}

// So many near pairs that those that cannot have met are left out.
static void contacts_in_a_crowd(void** state) {
  (void)state;
  run(0.01, true, 0.4);
  run(0.0, false, 0.4);
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(contacts_of_touching_shapes), cmocka_unit_test(contacts_that_glide),
      cmocka_unit_test(contacts_ahead), cmocka_unit_test(contacts_in_a_crowd)};
  return cmocka_run_group_tests(tests, NULL, NULL);
}
