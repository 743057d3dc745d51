// SPDX-License-Identifier: BSD-3-Clause
// A step is a continuous function of its start: of gaps that are swept through 0, of stiffnesses, of
// what the stepper remembers. What passes by is not touched; what is pushed by what it touches is
// found.
#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>

#include <cmocka.h>

#include "multibody/model/model_data.h"
#include "support/near.h"
#include "support/simulation.h"

static const double HALF = 0.1, DT = 0.01, LOSSLESS = (double)INFINITY;  // [m], [s]

// A body of 4 kg above the plane z = 0.
static simulation above_ground(sap_shape_type type, double stiffness, double relaxation_time,
                               sap_scheme scheme, sap_contact_model model) {
  static const double size[3] = {0.1, 0.1, 0.1}, none[3] = {0.0, 0.0, 0.0};
  const sap_material rigid = {.stiffness = LOSSLESS, .friction = 0.5, .dissipation = 5.0},
                     soft = {.stiffness = stiffness,
                             .relaxation_time = relaxation_time,
                             .friction = 0.5,
                             .dissipation = 5.0};
  sap_builder* builder = simulation_builder(0.0, 0.0, -9.81);
  simulation_shape(builder, 0, SAP_SHAPE_PLANE, none, rigid);
  const int32_t body = simulation_body(builder, 0, 4.0, 0.4 * 4.0 * HALF * HALF, none);
  (void)simulation_joint(builder, body, SAP_JOINT_FREE, 0.0, 0.0, 1.0);
  simulation_shape(builder, body, type, size, soft);
  simulation s = simulation_begin(builder, scheme, DT);
  sap_stepper_options options = sap_stepper_options_default();
  options.dt = DT;
  options.contact_model = model;
  options.solver_options.relative_tolerance = 1e-12;
  assert_int_equal(sap_stepper_options_set_scheme(&options, scheme, NULL), SAP_STATUS_OK);
  simulation_use(&s, &options);
  return s;
}

// Steps once from a gap between the ground and the lowest point, turned by `tilt` about y.
static void step_from(simulation* s, double tilt, double gap, const double v[6]) {
  double* q = s->state.q;
  const bool ball = s->model->shapes[1].type == SAP_SHAPE_SPHERE;
  const double reach = ball ? HALF : HALF * (fabs(cos(tilt)) + fabs(sin(tilt)));
  memset(q, 0, 7 * sizeof *q);
  q[2] = reach + gap;
  q[3] = cos(0.5 * tilt);
  q[5] = sin(0.5 * tilt);
  memcpy(s->state.v, v, 6 * sizeof *v);
  sap_stepper_forget(s->stepper);
  simulation_step(s, 1);
}

// The largest change of the velocities, of rotation at the body's surface [m/s].
static double change_of(const double* v, const double* other) {
  double most = 0.0;
  for (int i = 0; i < 6; ++i) {
    most = fmax(most, (i < 3 ? 1.0 : HALF) * fabs(v[i] - other[i]));
  }
  return most;
}

static double sweep_gap(simulation* s, double tilt, const double v[6]) {
  static const double sweeps[] = {1e-9, 1e-7, 1e-5};
  double most = 0.0;
  for (int i = 0; i < 3; ++i) {
    double below[6];
    step_from(s, tilt, -sweeps[i], v);
    memcpy(below, s->state.v, sizeof below);
    step_from(s, tilt, sweeps[i], v);
    most = fmax(most, change_of(s->state.v, below) / (2.0 * sweeps[i] / DT));
  }
  return most;
}

static const sap_scheme SCHEMES[] = {SAP_SCHEME_IMPLICIT_EULER, SAP_SCHEME_MIDPOINT,
                                     SAP_SCHEME_SYMPLECTIC_EULER};
static const struct {
  sap_shape_type type;
  double tilt, v[6];
} CASES[] = {
    {SAP_SHAPE_SPHERE, 0.0, {0.0, 0.0, -1.0, 0.0, 0.0, 0.0}},
    {SAP_SHAPE_SPHERE, 0.0, {0.7, 0.0, -1.0, 0.0, 3.0, 0.0}},
    {SAP_SHAPE_BOX, 0.0, {0.0, 0.0, -1.0, 0.0, 0.0, 0.0}},
    {SAP_SHAPE_BOX, 1e-3, {0.0, 0.0, -1.0, 0.0, 0.0, 0.0}},
    {SAP_SHAPE_BOX, 0.3, {0.0, 0.0, -1.0, 0.0, 0.0, 0.0}},
    {SAP_SHAPE_BOX, 0.0, {0.7, 0.0, -1.0, 0.0, 0.0, 0.0}},
    {SAP_SHAPE_BOX, 0.0, {0.7, 0.0, 0.0, 0.0, 0.0, 0.0}},
};
enum { CASE_COUNT = sizeof CASES / sizeof *CASES };

static void test_gaps(void** state) {
  (void)state;
  static const double stiffness[] = {1e4, 1e6, (double)INFINITY}, times[] = {0.0, 0.01};
  bool good = true;
  for (int c = 0; c < CASE_COUNT; ++c) {
    for (int k = 0; k < 3 * 2 * 3 * 3; ++k) {
      const int scheme = k % 3, model = k / 3 % 3, hard = k / 9 % 3, damped = k / 27;
      simulation s = above_ground(CASES[c].type, stiffness[hard], times[damped], SCHEMES[scheme],
                                  (sap_contact_model)model);
      const double ratio = sweep_gap(&s, CASES[c].tilt, CASES[c].v);
      if (!(ratio <= 10.0)) {
        print_message("case %d, k %g, tau_d %g, scheme %d, model %d: change %g\n", c,
                      stiffness[hard], times[damped], scheme, model, ratio);
        good = false;
      }
      simulation_end(&s);
    }
  }
  assert_true(good);
}

// With restitution v jumps where the impact leaves the step, in the exact flow too; the position
// must not.
static void test_restitution(void** state) {
  (void)state;
  simulation s = above_ground(SAP_SHAPE_SPHERE, 1e6, 0.0, SAP_SCHEME_SYMPLECTIC_EULER,
                              SAP_CONTACT_BY_MATERIAL);
  sap_stepper_options options = sap_stepper_options_default();
  const double v[6] = {0.0, 0.0, -1.0, 0.0, 0.0, 0.0};
  options.dt = DT;
  options.solver = "pgs-ncp";
  options.contact_law = SAP_LAW_RIGID;
  options.restitution = 0.5;
  simulation_use(&s, &options);
  for (int i = 0; i < 3; ++i) {
    const double sweep = i == 0 ? 1e-9 : i == 1 ? 1e-7 : 1e-5;
    step_from(&s, 0.0, -sweep, v);
    const double below = s.state.q[2];
    step_from(&s, 0.0, sweep, v);
    assert_true(fabs(s.state.q[2] - below) <= 10.0 * 2.0 * sweep);
  }
  // Touches after a part of the step, leaves at half the speed for the rest of it; at the whole step
  // it just touches.
  for (int i = 0; i < 11; ++i) {
    const double gap = i == 10 ? (1.0 + 1e-7) * DT : 0.1 * i * DT;
    step_from(&s, 0.0, gap, v);
    ASSERT_NEAR(s.state.q[2], HALF + 0.5 * (DT - gap), 1e-8);
    assert_true(i == 10 || fabs(s.state.v[2] - 0.5) < 1e-9);
  }
  simulation_end(&s);
}

// At 100 m/s along the ground nothing acts, however small the gap is.
static void test_glancing(void** state) {
  (void)state;
  static const double gaps[] = {0.0, 1e-9, 1e-4, 0.01};
  for (int type = 0; type < 2; ++type) {
    for (int k = 0; k < 9 * 4; ++k) {
      simulation s = above_ground(type == 0 ? SAP_SHAPE_SPHERE : SAP_SHAPE_BOX, 1e6, 0.01,
                                  SCHEMES[k % 3], (sap_contact_model)(k / 3 % 3));
      const double v[6] = {100.0, 0.0, 9.81 * DT, 0.0, 0.0, 0.0};  // v* along the ground
      step_from(&s, 0.0, gaps[k / 9], v);
      ASSERT_NEAR(s.state.v[0], 100.0, 1e-10);
      ASSERT_NEAR(s.state.v[2], 0.0, 1e-10);
      ASSERT_NEAR(s.state.v[4], 0.0, 1e-10);
      simulation_end(&s);
    }
  }
}

// Stiffnesses at which the law moves from the theta point to the end: z = dt k (dt + tau_d) w from
// 1 to 2.
static void test_stiffness(void** state) {
  (void)state;
  const double v[6] = {0.3, 0.0, -0.2, 0.0, 0.0, 0.0}, fine = 1e-6;
  for (int c = 0; c < 2; ++c) {
    double before[6], q = 0.0, largest = 0.0;
    for (int i = 0; i < 200; ++i) {
      // two stiffnesses that differ by `fine`, all the way from z = 0.3 to 5
      const double k =
          0.3 * 4.0 / (DT * DT) * pow(17.0, (i / 2) / 99.0) * (i % 2 == 0 ? 1.0 : 1.0 + fine);
      simulation s = above_ground(c == 0 ? SAP_SHAPE_SPHERE : SAP_SHAPE_BOX, k, 0.0,
                                  SAP_SCHEME_MIDPOINT, SAP_CONTACT_SAP);
      step_from(&s, 0.0, -1e-3, v);
      if (i % 2 == 1) {
        largest = fmax(largest, change_of(s.state.v, before) + fabs(s.state.q[2] - q) / DT);
      }
      memcpy(before, s.state.v, sizeof before);
      q = s.state.q[2];
      simulation_end(&s);
    }
    assert_true(largest < 20.0 * fine);
  }
}

// Newton's cradle with gaps far too small for free motion to see more than one pair: closure finds
// them all. Equal to the solution with all pairs from the start, by a margin.
static void test_cradle(void** state) {
  (void)state;
  enum { BALLS = 5 };
  double v[2][6 * BALLS];
  for (int pass = 0; pass < 2; ++pass) {
    sap_builder* builder = simulation_builder(0.0, 0.0, 0.0);
    sap_shape_def shape = sap_shape_def_default();
    shape.material = (sap_material){.stiffness = 1e6};
    shape.size[0] = HALF;
    shape.margin = pass == 0 ? 0.0 : 1e-3;
    for (int i = 0; i < BALLS; ++i) {
      const double p[3] = {(2.0 * HALF + 1e-5) * i, 0.0, 0.0};
      const int32_t body = simulation_body(builder, 0, 1.0 + 0.1 * i, 0.01, p);
      (void)simulation_joint(builder, body, SAP_JOINT_SLIDE, 1.0, 0.0, 0.0);
      shape.body = body;
      assert_int_equal(sap_builder_add_shape(builder, &shape, NULL, NULL), SAP_STATUS_OK);
    }
    simulation s = simulation_begin(builder, SAP_SCHEME_IMPLICIT_EULER, DT);
    s.state.v[0] = 1.0;
    simulation_step(&s, 1);
    assert_int_equal(sap_multibody_contact_count(s.multibody), BALLS - 1);
    memcpy(v[pass], s.state.v, BALLS * sizeof(double));
    simulation_end(&s);
  }
  for (int i = 0; i < BALLS; ++i) {
    ASSERT_NEAR(v[0][i], v[1][i], 1e-11);
    assert_true(v[0][i] > 0.1);
  }
}

static const double SOLVER_TOLERANCE = 1e-6;  // the default

// Steps two simulations with and without memory from the same states, after the first `skip` steps:
// v differs by ten times the solver's tolerance of the fastest at most.
static void compare_remembered(simulation s[2], sap_scheme scheme, int skip, int steps) {
  sap_stepper_options options = sap_stepper_options_default();
  assert_int_equal(sap_stepper_options_set_scheme(&options, scheme, NULL), SAP_STATUS_OK);
  options.solver_options.relative_tolerance = SOLVER_TOLERANCE;
  for (int k = 0; k < 2; ++k) {
    options.dt = s[k].model->options.timestep;
    options.regularization = s[k].model->options.regularization;
    simulation_use(&s[k], &options);
  }
  simulation_step(&s[0], skip);
  for (int n = 0; n < steps; ++n) {
    double fastest = 0.1, most = 0.0;
    assert_int_equal(sap_state_copy(&s[0].state, &s[1].state, NULL), SAP_STATUS_OK);
    sap_stepper_forget(s[1].stepper);
    simulation_step(&s[0], 1);
    simulation_step(&s[1], 1);
    for (int32_t i = 0; i < s[0].state.nv; ++i) {
      fastest = fmax(fastest, fabs(s[0].state.v[i]));
      most = fmax(most, fabs(s[0].state.v[i] - s[1].state.v[i]));
    }
    assert_true(most <= 10.0 * SOLVER_TOLERANCE * fastest);
  }
  simulation_end(&s[0]);
  simulation_end(&s[1]);
}

// The same of a file. Returns false if there is no such file.
static bool compare_fresh(const char* scene, sap_scheme scheme, int skip, int steps,
                          sap_error* error) {
  simulation s[2];
  for (int k = 0; k < 2; ++k) {
    if (!simulation_read(&s[k], scene, scheme, DT, error)) {
      return false;
    }
  }
  compare_remembered(s, scheme, skip, steps);
  return true;
}

// The stepper's memory is only a guess: a step from the same state without it is the same within
// ten times the solver's tolerance, at the default options.
static void test_remembered(void** state) {
  (void)state;
  const char* scenes[] = {SAPSTEP_SOURCE_DIR "/examples/scenes/clutter_40.xml",
                          SAPSTEP_SOURCE_DIR "/examples/scenes/quadruped.xml"};
  for (int k = 0; k < 4; ++k) {
    const sap_scheme scheme = k < 2 ? SAP_SCHEME_IMPLICIT_EULER : SAP_SCHEME_MIDPOINT;
    assert_true(compare_fresh(scenes[k % 2], scheme, 0, k == 0 ? 800 : 300, NULL));
  }
}

static void test_remembered_by_robots(void** state) {
  (void)state;
  const char* scenes[] = {SAPSTEP_SHARED "/models/mujoco/humanoid/humanoid.xml",
                          SAPSTEP_SHARED "/models/menagerie/shadow_hand/scene_left.xml",
                          SAPSTEP_SHARED "/models/menagerie/agility_cassie/scene.xml"};
  static const int skip[] = {0, 0, 50}, steps[] = {800, 800, 300};
  for (int k = 0; k < 3; ++k) {
    sap_error error = {0};
    if (!compare_fresh(scenes[k], SAP_SCHEME_IMPLICIT_EULER, skip[k], steps[k], &error)) {
      simulation_skip_absent(&error);
    }
  }
}

// Free bodies are linearized about their free motion whatever hit them before: gyroscopic forces.
static void test_remembered_while_spinning(void** state) {
  (void)state;
  static const char* const types[] = {"capsule' size='0.04 0.1", "box' size='0.03 0.06 0.1",
                                      "ellipsoid' size='0.03 0.05 0.1"};
  char text[2048] = "<mujoco><worldbody><geom type='plane' size='3 3 1'/>";
  for (size_t k = 0; k < 6; ++k) {
    const size_t end = strlen(text);
    (void)snprintf(text + end, sizeof text - end,
                   "<body pos='%g %g 0.12' euler='%d %d 0'><freejoint/><geom type='%s'/></body>",
                   0.25 * (double)(k % 3), 0.25 * (double)(k / 3), (int)(37 * k % 90),
                   (int)(53 * k % 90), types[k % 3]);
  }
  (void)strcat(text, "</worldbody></mujoco>");
  simulation s[2];
  for (int k = 0; k < 2; ++k) {
    s[k] = simulation_begin_text(text, SAP_SCHEME_IMPLICIT_EULER, 0.005);
  }
  for (int32_t i = 0; i < s[0].state.nv; ++i) {
    s[0].state.v[i] = i % 6 < 3 ? 0.0 : 20.0 - (double)(i * 17 % 41);
  }
  compare_remembered(s, SAP_SCHEME_IMPLICIT_EULER, 0, 150);
}

// A robot that lands steps as if it were alone beside bodies that tumble far away: their impacts
// are not solved at the cost of its own balance.
static void test_beside_tumbling(void** state) {
  (void)state;
  static const char* const scene = "<mujoco><include file='" SAPSTEP_SOURCE_DIR
                                   "/examples/scenes/quadruped.xml'/><worldbody>%s"
                                   "</worldbody></mujoco>";
  static const char* const others =
      "<body pos='9 0 0.6' euler='30 20 10'><freejoint/>"
      "<geom type='box' size='0.1 0.05 0.02' mass='1'/></body>"
      "<body pos='9 3 0.9' euler='30 20 10'><freejoint/>"
      "<geom type='capsule' size='0.02 0.1' mass='1'/></body>"
      "<body pos='9 6 0.7' euler='10 60 10'><freejoint/>"
      "<geom type='box' size='0.1 0.05 0.02' mass='1'/></body>";
  char text[2048];
  (void)snprintf(text, sizeof text, scene, "");
  simulation alone = simulation_begin_text(text, SAP_SCHEME_IMPLICIT_EULER, 0.005);
  (void)snprintf(text, sizeof text, scene, others);
  simulation beside = simulation_begin_text(text, SAP_SCHEME_IMPLICIT_EULER, 0.005);
  const int32_t n = alone.state.nv;
  const double throws[18] = {0.0,  0.0,  1.0, 20.0, -15.0, 9.0, 3.0,  0.0,   0.0,
                             12.0, 25.0, 7.0, 0.0,  0.0,   1.0, 20.0, -15.0, 9.0};
  memcpy(beside.state.v + n, throws, sizeof throws);
  double most = 0.0, fastest = 0.0;
  for (int k = 0; k < 200; ++k) {
    simulation_step(&alone, 1);
    simulation_step(&beside, 1);
    for (int32_t i = 0; i < n; ++i) {
      most = fmax(most, fabs(alone.state.v[i] - beside.state.v[i]));
      fastest = fmax(fastest, fabs(alone.state.v[i]));
    }
  }
  assert_true(most <= 1e-10 * fastest);  // far within the solver's tolerance of 1e-6
  simulation_end(&alone);
  simulation_end(&beside);
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(test_gaps),
      cmocka_unit_test(test_restitution),
      cmocka_unit_test(test_glancing),
      cmocka_unit_test(test_stiffness),
      cmocka_unit_test(test_cradle),
      cmocka_unit_test(test_remembered),
      cmocka_unit_test(test_remembered_by_robots),
      cmocka_unit_test(test_remembered_while_spinning),
      cmocka_unit_test(test_beside_tumbling),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
