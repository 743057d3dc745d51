// SPDX-License-Identifier: BSD-3-Clause
// Shapes that rest on rims, sides and tips of hulls: discs on edge, lying and leaning cylinders and
// capsules, cones on their bases and sides. They come to rest, stay, and are held by enough points;
// what is dropped askew falls over and rests, too.
#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>

#include <cmocka.h>

#include "support/near.h"
#include "support/scratch.h"
#include "support/simulation.h"

enum { SIDES = 24 };
static const double dt = 0.005;
static const double turn = 6.283185307179586;

typedef struct rest {
  const char *name, *geom, *pose;
  double height, tilt;  // of the centre at rest [m]; of its z from the vertical [degrees]
  int least;            // points that hold it
  bool corner;          // two walls at x = -0.2 and y = -0.2
} rest;

// The cone is a pyramid of 24 sides, its base of radius r = 0.06 at z = 0 of its body, its height
// 0.12. It lies on a side, which is r cos(7.5 degrees) from the axis at the base: its axis leans by
// 90 degrees + b, tan b = r cos(7.5 degrees)/0.12, the base's centre r cos(7.5 degrees) cos b high.
#define CONE "type='mesh' mesh='cone'"

static const rest cases[] = {
    {"disc on edge", "type='cylinder' size='.06 .01'", "pos='0 0 .06' euler='90.001 0 0'", 0.06,
     90.0, 2, false},
    {"thick disc on edge", "type='cylinder' size='.06 .03'", "pos='0 0 .06' euler='90 0 30'", 0.06,
     90.0, 2, false},
    {"lying cylinder", "type='cylinder' size='.03 .15'", "pos='0 0 .03' euler='90 .001 17'", 0.03,
     90.0, 2, false},
    {"lying capsule", "type='capsule' size='.03 .1'", "pos='0 0 .03' euler='90 .001 17'", 0.03,
     90.0, 2, false},
    {"cylinder on its end", "type='cylinder' size='.04 .1'", "pos='0 0 .1' euler='0 0 17'", 0.1,
     0.0, 3, false},
    {"cone on its base", CONE, "pos='0 0 0'", 0.0, 0.0, 3, false},
    {"cone on its side", CONE, "pos='0 0 .0534' euler='0 116.4 0'", 0.0532938, 116.3696, 2, false},
    {"cylinder leaning on a wall", "type='cylinder' size='.03 .1'",
     "pos='-.13 0 .105' euler='0 -25 0'", -1.0, 25.0, 2, true},
    {"capsule leaning on a wall", "type='capsule' size='.03 .1'",
     "pos='-.12 0 .115' euler='0 -25 0'", -1.0, 25.0, 2, true},
};

static void write_cone(FILE* file, const char* name, double radius, double base, double tip) {
  (void)fprintf(file, "<mesh name='%s' vertex='0 0 %.17g", name, tip);
  for (int i = 0; i < SIDES; ++i) {
    const double angle = turn * (i + 0.5) / SIDES;
    (void)fprintf(file, " %.17g %.17g %.17g", radius * cos(angle), radius * sin(angle), base);
  }
  (void)fprintf(file, "'/>");
}

static simulation start(scratch* where, const char* body, bool corner, bool plane) {
  char path[SCRATCH_PATH_SIZE];
  scratch_path(where, "scene.xml", path);
  FILE* file = fopen(path, "w");
  assert_non_null(file);
  (void)fprintf(file, "<mujoco><option timestep='%g'/><asset>", dt);
  write_cone(file, "cone", 0.06, 0.0, 0.12);
  (void)fprintf(file, "</asset><worldbody>%s%s%s</worldbody></mujoco>\n",
                plane ? "<geom type='plane' size='9 9 1'/>"
                      : "<geom type='box' size='1 1 .1' pos='0 0 -.1'/>",
                corner ? "<geom type='box' size='.1 1 1' pos='-.3 0 1'/>" : "", body);
  assert_int_equal(fclose(file), 0);
  simulation s;
  sap_error error = {0};
  if (!simulation_read(&s, path, SAP_SCHEME_IMPLICIT_EULER, dt, &error)) {
    fail_msg("%s", error.message);
  }
  return s;
}

static double tilt_of(const simulation* s) {
  const double* q = s->state.q + 3;
  return acos(1.0 - 2.0 * (q[1] * q[1] + q[2] * q[2])) * 360.0 / turn;
}

static void rests(scratch* where, const rest* c, bool plane) {
  char body[512];
  (void)snprintf(body, sizeof body,
                 "<body %s><freejoint/><geom %s mass='0.5' friction='0.7'/></body>", c->pose,
                 c->geom);
  simulation s = start(where, body, c->corner, plane);
  simulation_step(&s, 400);
  double q[7], most = 0.0, moved = 0.0;
  memcpy(q, s.state.q, sizeof q);
  for (int step = 0; step < 100; ++step) {
    simulation_step(&s, 1);
    most = fmax(most, simulation_diagnose(&s).kinetic);
    if (sap_multibody_contact_count(s.multibody) < c->least) {
      fail_msg("%s: %d points", c->name, (int)sap_multibody_contact_count(s.multibody));
    }
  }
  for (int i = 0; i < 7; ++i) {
    moved = fmax(moved, fabs(s.state.q[i] - q[i]));
  }
  // Leaning, they creep down as far as sigma allows, 1e-3 mu g dt = 3e-5 m/s, half a second.
  if (!(most < (c->corner ? 1e-9 : 1e-12)) || !(moved < (c->corner ? 5e-5 : 1e-9)) ||
      !(fabs(tilt_of(&s) - c->tilt) < (c->corner ? 2.0 : 0.01)) ||
      !(c->corner || fabs(s.state.q[2] - c->height) < 5e-5)) {
    fail_msg("%s on a %s: %g J, moved %g, tilt %g, height %g", c->name, plane ? "plane" : "box",
             most, moved, tilt_of(&s), s.state.q[2]);
  }
  simulation_end(&s);
}

static void test_rests(void** state) {
  (void)state;
  scratch where;
  scratch_begin(&where);
  for (size_t i = 0; i < 2 * (sizeof cases / sizeof *cases); ++i) {
    rests(&where, &cases[i / 2], i % 2 == 0);
  }
  scratch_end(&where);
}

// Let go askew above the floor: whatever they do on the way, within 5 s they rest: on a face or a
// side (a cylinder's end: tilt 0 or 180 degrees). What is round may still roll.
static void test_dropped(void** state) {
  (void)state;
  static const struct {
    const char *geom, *pose;
    double height;
    bool rolls;
  } drops[] = {
      {"type='cylinder' size='.06 .01'", "pos='0 0 .1' euler='40 10 0'", 0.01, false},
      {"type='cylinder' size='.04 .1'", "pos='0 0 .15' euler='50 20 0'", 0.04, true},
      {"type='capsule' size='.03 .1'", "pos='0 0 .2' euler='30 10 0'", 0.03, true},
      {CONE, "pos='0 0 .2' euler='170 5 0'", 0.0532938, true},
      {CONE, "pos='0 0 .1' euler='20 5 0'", 0.0, false},
  };
  scratch where;
  scratch_begin(&where);
  for (size_t i = 0; i < sizeof drops / sizeof *drops; ++i) {
    char body[512];
    (void)snprintf(body, sizeof body,
                   "<body %s><freejoint/><geom %s mass='0.5' friction='0.7 .005 1e-3' condim='6'/>"
                   "</body>",
                   drops[i].pose, drops[i].geom);
    simulation s = start(&where, body, false, true);
    simulation_step(&s, (int32_t)(5.0 / dt));
    const double kinetic = simulation_diagnose(&s).kinetic;
    if (!(kinetic < (drops[i].rolls ? 1e-4 : 1e-12)) ||
        !(fabs(s.state.q[2] - drops[i].height) < 1e-4)) {
      fail_msg("drop %d: %g J, height %g, tilt %g", (int)i, kinetic, s.state.q[2], tilt_of(&s));
    }
    simulation_end(&s);
  }
  scratch_end(&where);
}

int main(void) {
  const struct CMUnitTest tests[] = {cmocka_unit_test(test_rests), cmocka_unit_test(test_dropped)};
  return cmocka_run_group_tests(tests, NULL, NULL);
}
