// SPDX-License-Identifier: BSD-3-Clause
// One query of two shapes that touch in patches, 0.1 mm deep: bench_patch [PAIR [REPETITIONS]]. Under
// callgrind with --toggle-collect=counted_queries its instructions are counted, which other work on
// the machine does not change. One JSON line per pair: minimum [us], contacts.
#include <setjmp.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include <cmocka.h>

#include "support/collision_scene.h"

static const double SIZE = 0.1, DEPTH = 1e-4;
enum { SAMPLES = 50 };

typedef struct pair {
  const char* name;
  sap_shape_type types[2];
  double turn[3], shift;  // of the second shape [rad], [m]
} pair;

static const pair pairs[] = {
    {"cube, plane", {SAP_SHAPE_PLANE, SAP_SHAPE_BOX}, {0.0, 0.0, 0.0}, 0.0},
    {"cube, cube", {SAP_SHAPE_BOX, SAP_SHAPE_BOX}, {0.0, 0.0, 0.0}, 0.0},
    {"cube, shifted cube", {SAP_SHAPE_BOX, SAP_SHAPE_BOX}, {0.0, 0.0, 0.0}, 0.02},
    {"cube, turned cube", {SAP_SHAPE_BOX, SAP_SHAPE_BOX}, {0.0, 0.0, 0.3}, 0.0},
    {"hull, hull (60 facets each)", {SAP_SHAPE_MESH, SAP_SHAPE_MESH}, {0.3, 0.2, 0.1}, 0.0},
    {"sphere, plane", {SAP_SHAPE_PLANE, SAP_SHAPE_SPHERE}, {0.0, 0.0, 0.0}, 0.0},
    {"crossed cylinders", {SAP_SHAPE_CYLINDER, SAP_SHAPE_CYLINDER}, {1.5708, 0.0, 0.0}, 0.0},
};
enum { PAIRS = sizeof pairs / sizeof *pairs };

void counted_queries(collision_scene* s, int count);
void counted_queries(collision_scene* s, int count) {
  for (int i = 0; i < count; ++i) {
    scene_detect(s);
  }
}
// Through a pointer, so that the compiler does not dissolve the function.
static void (*volatile counted)(collision_scene*, int) = counted_queries;

static double now(void) {
  struct timespec t;
  (void)timespec_get(&t, TIME_UTC);
  return (double)t.tv_sec + 1e-9 * (double)t.tv_nsec;
}

static void place(collision_scene* s, const pair* p, double z) {
  scene_place(s, 1, 0.0, 0.0, 0.0);
  scene_place(s, 2, p->shift, 0.5 * p->shift, z);
}

static double deepest(const collision_scene* s) {
  double phi = 0.0;
  for (int32_t i = 0; i < s->count; ++i) {
    phi = s->contacts[i].phi < phi ? s->contacts[i].phi : phi;
  }
  return -phi;
}

static void measure(const pair* p, int repeat) {
  collision_scene s;
  scene_begin(&s);
  const int32_t mesh = scene_add_random_mesh(&s, 32, 0.5 * SIZE);
  for (int side = 0; side < 2; ++side) {
    sap_shape_def def = sap_shape_def_default();
    def.type = p->types[side];
    def.body = scene_add_body(&s, 0);
    def.body = def.type == SAP_SHAPE_PLANE ? 0 : def.body;
    def.mesh = mesh;
    def.material.modulus = 1e7;
    sap_v3_set(def.size, 0.5 * SIZE, 0.5 * SIZE, 0.5 * SIZE);
    (void)scene_add_shape_def(&s, &def);
  }
  scene_compile(&s);
  scene_turn(&s, 2, p->turn[0], p->turn[1], p->turn[2]);
  double high = 1.2 * SIZE, low = 0.0;  // of the second shape, not deep and deep
  for (int k = 0; k < 40; ++k) {
    const double middle = 0.5 * (low + high);
    place(&s, p, middle);
    scene_detect(&s);
    *(deepest(&s) > DEPTH ? &low : &high) = middle;
  }
  place(&s, p, high);
  scene_detect(&s);
  double least = HUGE_VAL;
  for (int k = 0; k < SAMPLES; ++k) {
    const double start = now();
    counted(&s, repeat);
    least = fmin(least, 1e6 * (now() - start) / repeat);
  }
  (void)printf("{\"pair\": \"%s\", \"queries\": %d, \"min_us\": %.2f, \"contacts\": %d}\n", p->name,
               SAMPLES * repeat, least, (int)s.count);
  scene_end(&s);
}

int main(int argc, char** argv) {
  for (int i = 0; i < PAIRS; ++i) {
    if (argc < 2 || strcmp(argv[1], pairs[i].name) == 0) {
      measure(&pairs[i], argc > 2 ? atoi(argv[2]) : 100);
    }
  }
  return 0;
}
