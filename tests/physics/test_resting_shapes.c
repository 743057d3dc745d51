// SPDX-License-Identifier: BSD-3-Clause
// Every kind of shape laid on every kind of flat top comes to rest there and stays: faces are held
// by three points or more that are not on a line, sides by two, and nothing jumps.
#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>

#include <cmocka.h>

#include "support/near.h"
#include "support/scratch.h"
#include "support/simulation.h"

enum { STEPS = 300, LAST = 100 };
static const double dt = 0.005;

typedef struct shape {
  const char *name, *geom;
  double height;  // of its centre over what it lies on [m]
  int least;      // points that hold it
} shape;

#define CUBE "type='mesh' mesh='cube'"
#define PRISM "type='mesh' mesh='prism'"

static const shape lower[] = {
    {"box", "type='box' size='.12 .12 .05'", 0.05, 3},
    {"card", "type='box' size='.15 .13 .002'", 0.002, 3},
    {"cylinder", "type='cylinder' size='.12 .05'", 0.05, 3},
    {"coin", "type='cylinder' size='.12 .002'", 0.002, 3},
    {"cube hull", CUBE, 0.1, 3},
    {"prism hull", PRISM, 0.04, 3},
};

static const shape upper[] = {
    {"box", "type='box' size='.07 .05 .04'", 0.04, 3},
    {"card", "type='box' size='.06 .04 .001'", 0.001, 3},
    {"cylinder", "type='cylinder' size='.06 .04'", 0.04, 3},
    {"coin", "type='cylinder' size='.05 .001'", 0.001, 3},
    {"lying cylinder", "type='cylinder' size='.04 .06' euler='90 0 0'", 0.04, 2},
    {"lying capsule", "type='capsule' size='.03 .05' euler='90 0 0'", 0.03, 2},
    {"ellipsoid", "type='ellipsoid' size='.07 .05 .03'", 0.03, 1},
    {"sphere", "type='sphere' size='.04'", 0.04, 1},
    {"cube hull", CUBE, 0.1, 3},
    {"prism hull", PRISM, 0.04, 3},
    {"large box", "type='box' size='.2 .18 .03'", 0.03, 3},
    {"large coin", "type='cylinder' size='.2 .002'", 0.002, 3},
};

// The lower body lies on the ground, the upper one on it, turned and a little off the middle; a
// millidegree of tilt, so that nothing is aligned by accident.
static void write_scene(FILE* file, const shape* below, const shape* above) {
  (void)fprintf(file,
                "<mujoco><option timestep='%g'/><asset>"
                "<mesh name='cube' vertex='-.1 -.1 -.1 .1 -.1 -.1 .1 .1 -.1 -.1 .1 -.1"
                " -.1 -.1 .1 .1 -.1 .1 .1 .1 .1 -.1 .1 .1'/><mesh name='prism' vertex='",
                dt);
  for (int i = 0; i < 24; ++i) {
    const double angle = 2.0 * 3.14159265358979 * (i / 2) / 12.0;
    (void)fprintf(file, "%.9f %.9f %g ", 0.12 * cos(angle), 0.12 * sin(angle),
                  i % 2 == 0 ? -0.04 : 0.04);
  }
  (void)fprintf(file,
                "'/></asset><worldbody><geom type='plane' size='9 9 1'/>\n"
                "<body pos='0 0 %.9f'><freejoint/><geom %s/></body>\n"
                "<body pos='.011 -.007 %.9f' euler='.001 -.0007 17'><freejoint/><geom %s/></body>\n"
                "</worldbody></mujoco>\n",
                below->height - 1e-6, below->geom, 2.0 * below->height + above->height - 2e-6,
                above->geom);
}

// Twice the largest area that three points of the two bodies span, as seen along z [m^2].
static double span(const simulation* s, int32_t lower_body, int32_t* count) {
  const sap_contact* all = sap_multibody_contacts(s->multibody);
  const int32_t n = sap_multibody_contact_count(s->multibody);
  double area = 0.0;
  *count = 0;
  for (int32_t i = 0; i < n; ++i) {
    const bool counts = all[i].body_A == lower_body || all[i].body_B == lower_body;
    *count += counts && all[i].body_A != 0 ? 1 : 0;
    for (int32_t j = 0; counts && j < i; ++j) {
      for (int32_t k = 0; k < j; ++k) {
        if (all[i].shape_A != all[j].shape_A || all[i].shape_A != all[k].shape_A ||
            all[i].body_A == 0 || all[j].body_A == 0) {
          continue;
        }
        const double* p = all[i].point;
        const double ux = all[j].point[0] - p[0], uy = all[j].point[1] - p[1];
        const double vx = all[k].point[0] - p[0], vy = all[k].point[1] - p[1];
        area = fmax(area, fabs(ux * vy - uy * vx));
      }
    }
  }
  return area;
}

static void rests(scratch* where, const shape* below, const shape* above) {
  char path[SCRATCH_PATH_SIZE];
  scratch_path(where, "scene.xml", path);
  FILE* file = fopen(path, "w");
  assert_non_null(file);
  write_scene(file, below, above);
  assert_int_equal(fclose(file), 0);
  simulation s;
  sap_error error = {0};
  if (!simulation_read(&s, path, SAP_SCHEME_IMPLICIT_EULER, dt, &error)) {
    fail_msg("%s", error.message);
  }
  simulation_step(&s, STEPS - LAST);
  double q[14], most = 0.0;
  memcpy(q, s.state.q, sizeof q);
  for (int step = 0; step < LAST; ++step) {
    simulation_step(&s, 1);
    most = fmax(most, simulation_diagnose(&s).kinetic);
    int32_t count = 0;
    const double area = span(&s, 1, &count);
    if (count < above->least || (above->least > 2 && !(area > 1e-4))) {
      fail_msg("%s on %s, step %d: %d points, area %g", above->name, below->name, step, (int)count,
               area);
    }
  }
  double moved = 0.0;
  for (int i = 0; i < 14; ++i) {
    moved = fmax(moved, fabs(s.state.q[i] - q[i]));
  }
  // Half a second at rest: creep within stiction is far less than 1e-6 m/s; 1e-9 J is 2e-5 m/s. A
  // body off the middle tilts what it lies on, and what is round rolls: 2e-5 rad make 1e-4 m/s.
  const bool rolls = above->least < 3;
  if (!(most < (rolls ? 2e-7 : 1e-9)) || !(moved < (rolls ? 4e-3 : 2e-6))) {
    fail_msg("%s on %s: %g J, moved by %g", above->name, below->name, most, moved);
  }
  // Nothing has slid or tipped before.
  ASSERT_NEAR(s.state.q[7], 0.011, 5e-3);
  // A light card under a heavy body gives way by the near-rigid limit of its mass.
  ASSERT_NEAR(s.state.q[9], 2.0 * below->height + above->height, 2e-3);
  simulation_end(&s);
}

static void all_rest(void** state) {
  scratch where;
  (void)state;
  scratch_begin(&where);
  for (size_t i = 0; i < sizeof lower / sizeof *lower; ++i) {
    for (size_t j = 0; j < sizeof upper / sizeof *upper; ++j) {
      rests(&where, &lower[i], &upper[j]);
    }
  }
  scratch_end(&where);
}

int main(void) {
  const struct CMUnitTest tests[] = {cmocka_unit_test(all_rest)};
  return cmocka_run_group_tests(tests, NULL, NULL);
}
