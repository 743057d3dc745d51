// SPDX-License-Identifier: BSD-3-Clause
// Time of one call of collision detection on piles of bodies that move a little between calls.
//   bench_collision [repetitions]; one JSON line per pile: minimum and median [us], contacts
#include <setjmp.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <time.h>

#include <cmocka.h>

#include "support/collision_scene.h"
#include "support/convex_oracle.h"

enum { BODIES = 40, SAMPLES = 200 };

// Four by four layers that overlap by about a millimetre, turned at random.
static void build(collision_scene* s, sap_shape_type first, sap_shape_type second) {
  scene_begin(s);
  scene_add_shape(s, 0, SAP_SHAPE_PLANE, 0.0, 0.0, 0.0);
  const int32_t mesh = scene_add_random_mesh(s, 100, 0.1);
  for (int i = 0; i < BODIES; ++i) {
    sap_shape_def def = sap_shape_def_default();
    def.type = i % 2 ? first : second;
    def.body = scene_add_body(s, 0);
    sap_v3_set(def.size, 0.1, 0.1, 0.1);
    def.mesh = mesh;
    (void)scene_add_shape_def(s, &def);
  }
  scene_compile(s);
  uint64_t seed = 17;
  for (int i = 0; i < BODIES; ++i) {
    const double gap = 0.199;
    scene_place(s, i + 1, gap * (i % 4), gap * (i / 4 % 4), 0.099 + gap * (i / 16));
    scene_turn(s, i + 1, 0.1 * oracle_random(&seed), 0.1 * oracle_random(&seed),
               oracle_random(&seed));
  }
}

static double now(void) {
  struct timespec t;
  (void)timespec_get(&t, TIME_UTC);
  return (double)t.tv_sec + 1e-9 * (double)t.tv_nsec;
}

static int compare(const void* a, const void* b) {
  const double x = *(const double*)a, y = *(const double*)b;
  return (x > y) - (x < y);
}

static void measure(const char* name, sap_shape_type first, sap_shape_type second, int repeat) {
  collision_scene s;
  double us[SAMPLES];
  build(&s, first, second);
  s.dt = 1e-3;
  scene_detect(&s);
  for (int k = 0; k < SAMPLES; ++k) {
    for (int i = 1; i <= BODIES; ++i) {
      s.p_WB[3 * i + k % 3] += k % 2 ? 1e-5 : -1e-5;
    }
    const double start = now();
    for (int r = 0; r < repeat; ++r) {
      scene_detect(&s);
    }
    us[k] = 1e6 * (now() - start) / repeat;
  }
  qsort(us, SAMPLES, sizeof *us, compare);
  printf(
      "{\"pile\": \"%s\", \"bodies\": %d, \"contacts\": %d, \"min_us\": %.2f, "
      "\"median_us\": %.2f, \"compiler\": \"%s\"}\n",
      name, BODIES, (int)s.count, us[0], us[SAMPLES / 2], __VERSION__);
  scene_end(&s);
}

int main(int argc, char** argv) {
  const int repeat = argc > 1 ? atoi(argv[1]) : 5;
  measure("spheres, boxes", SAP_SHAPE_SPHERE, SAP_SHAPE_BOX, repeat);
  measure("boxes", SAP_SHAPE_BOX, SAP_SHAPE_BOX, repeat);
  measure("cylinders", SAP_SHAPE_CYLINDER, SAP_SHAPE_CYLINDER, repeat);
  measure("ellipsoids", SAP_SHAPE_ELLIPSOID, SAP_SHAPE_ELLIPSOID, repeat);
  measure("cylinders, boxes", SAP_SHAPE_CYLINDER, SAP_SHAPE_BOX, repeat);
  measure("meshes", SAP_SHAPE_MESH, SAP_SHAPE_MESH, repeat);
  return 0;
}
