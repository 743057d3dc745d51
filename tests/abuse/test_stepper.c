// SPDX-License-Identifier: BSD-3-Clause
// Steps that cannot be done say why and leave the state bitwise as it was.
#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include <cmocka.h>

#include <sapstep/linearize.h>
#include <sapstep/stepper.h>

#include "multibody/model/model_data.h"
#include "support/near.h"
#include "support/scene_text.h"
#include "support/simulation.h"
#include "support/toy_system.h"

// Two trees of two, a spring between them, a limit on velocity 0.
static void make(toy_linear* toy) {
  toy_linear_init(toy, 2, 2);
  toy_linear_connect(toy, 0, 2, 100.0, 1.0);
  toy->f[1] = -9.81;
  toy->limit = true;
}

static sap_state start(const toy_linear* toy) {
  sap_state state = toy_state(&toy->system);
  for (int32_t i = 0; i < toy->system.nv; ++i) {
    state.q[i] = 0.1 * (i + 1);
    state.v[i] = 1.0 - 0.3 * i;
  }
  state.t = 2.0;
  return state;
}

// One step of every scheme gives `status`, a message with `text`, and changes nothing.
static void refuse(const toy_linear* toy, sap_state* state, sap_status status, const char* text) {
  for (int s = 0; s < (int)SAP_SCHEME_COUNT; ++s) {
    sap_stepper_options options = sap_stepper_options_default();
    assert_int_equal(sap_stepper_options_set_scheme(&options, (sap_scheme)s, NULL), SAP_STATUS_OK);
    sap_stepper* stepper = NULL;
    assert_int_equal(sap_stepper_create(&toy->system, &options, &stepper, NULL), SAP_STATUS_OK);
    double q[TOY_MAX], v[TOY_MAX];
    const double t = state->t;
    memcpy(q, state->q, sizeof(double) * (size_t)state->nq);
    memcpy(v, state->v, sizeof(double) * (size_t)state->nv);
    sap_error error = {0};
    const sap_status got = sap_stepper_step(stepper, state, NULL, &error);
    if (got != status) {
      fail_msg("%s: %s (%s), expected %s", sap_scheme_text((sap_scheme)s), sap_status_text(got),
               error.message, sap_status_text(status));
    }
    assert_int_equal(error.status, status);
    if (strstr(error.message, text) == NULL) {
      fail_msg("\"%s\" does not mention \"%s\"", error.message, text);
    }
    assert_memory_equal(q, state->q, sizeof(double) * (size_t)state->nq);
    assert_memory_equal(v, state->v, sizeof(double) * (size_t)state->nv);
    assert_memory_equal(&t, &state->t, sizeof t);
    assert_int_equal(sap_stepper_step(stepper, state, NULL, NULL), status);
    sap_stepper_destroy(stepper);
  }
}

static void test_callbacks_that_fail(void** unused) {
  (void)unused;
  const char* const callbacks[] = {"mass_matrix", "forces", "integrate_positions", "constraints"};
  for (size_t i = 0; i < sizeof callbacks / sizeof callbacks[0]; ++i) {
    toy_linear toy;
    make(&toy);
    toy.fail = callbacks[i];
    sap_state state = start(&toy);
    refuse(&toy, &state, SAP_STATUS_CALLBACK, callbacks[i]);
    sap_state_clear(&state);
  }
}

// Says that a law did not hold, or fails.
static int never_done(void* context, const sap_step_context* step, const double* v,
                      int32_t* count) {
  toy_linear* toy = context;
  (void)step;
  (void)v;
  toy->limit_bias += 1.0;  // counts the calls
  *count = 1;
  return toy->fail != NULL ? 7 : 0;
}

// A system whose laws never hold gets its step after a bounded number of solves.
static void test_laws_that_change(void** unused) {
  (void)unused;
  for (int fails = 0; fails < 2; ++fails) {
    toy_linear toy;
    make(&toy);
    toy.limit = false;
    toy.fail = fails == 1 ? "changed_laws" : NULL;
    toy.system.changed_laws = never_done;
    sap_state state = start(&toy);
    if (fails == 1) {
      refuse(&toy, &state, SAP_STATUS_CALLBACK, "changed_laws returned 7");
    } else {
      sap_stepper* stepper = NULL;
      assert_int_equal(sap_stepper_create(&toy.system, NULL, &stepper, NULL), SAP_STATUS_OK);
      assert_int_equal(sap_stepper_step(stepper, &state, NULL, NULL), SAP_STATUS_OK);
      assert_true(toy.limit_bias > 1.0 && toy.limit_bias < 100.0);
      sap_stepper_destroy(stepper);
    }
    sap_state_clear(&state);
  }
}

// A pendulum that hits a stop, any of whose callbacks fails once, in the call with this number.
typedef struct stumbling {
  toy_pendulum pendulum;
  int32_t calls, bad;
} stumbling;

static bool stumbles(stumbling* x) {
  return ++x->calls == x->bad;
}

static int stumble_mass(void* context, const double* q, const sap_tree_matrix* M) {
  stumbling* x = context;
  return stumbles(x) ? 7 : x->pendulum.system.mass_matrix(x->pendulum.system.context, q, M);
}

static int stumble_forces(void* context, double t, const double* q, const double* v, double* k1,
                          double* k2) {
  stumbling* x = context;
  return stumbles(x) ? 7 : x->pendulum.system.forces(x->pendulum.system.context, t, q, v, k1, k2);
}

static int stumble_positions(void* context, const double* q0, const double* v, double dt,
                             double* q) {
  stumbling* x = context;
  return stumbles(x)
             ? 7
             : x->pendulum.system.integrate_positions(x->pendulum.system.context, q0, v, dt, q);
}

static int stumble_constraints(void* context, const sap_step_context* step, sap_problem* problem,
                               sap_error* error) {
  stumbling* x = context;
  (void)step;
  if (stumbles(x)) {
    return 7;
  }
  const double row[2] = {1.0, 0.0};
  return (int)toy_add_row(problem, SAP_SET_NONNEGATIVE, row, 1e-9, 0.0, error);
}

// Whichever call it is, in a relinearization as well: the step fails, and the next one succeeds.
static void test_callbacks_that_fail_once(void** unused) {
  (void)unused;
  stumbling x;
  toy_pendulum_init(&x.pendulum);
  sap_system system = x.pendulum.system;
  system.context = &x;
  system.mass_matrix = stumble_mass;
  system.forces = stumble_forces;
  system.integrate_positions = stumble_positions;
  system.constraints = stumble_constraints;
  system.stiffness_damping = NULL;
  system.energies = NULL;
  sap_stepper_options options = sap_stepper_options_default();
  options.dt = 0.05;
  sap_step_report report = {0};
  int32_t failed = 0;
  for (x.bad = 1; failed == x.bad - 1; ++x.bad) {
    x.calls = 0;
    sap_state state = toy_state(&system);
    state.q[0] = 1.0;
    state.v[0] = -6.0;
    state.v[1] = 9.0;
    sap_stepper* stepper = NULL;
    assert_int_equal(sap_stepper_create(&system, &options, &stepper, NULL), SAP_STATUS_OK);
    sap_error error = {0};
    const sap_status status = sap_stepper_step(stepper, &state, &report, &error);
    if (status != SAP_STATUS_OK) {
      assert_int_equal(status, SAP_STATUS_CALLBACK);
      assert_int_equal(x.calls, x.bad);
      assert_non_null(strstr(error.message, "returned 7"));
      assert_true(state.t == 0.0 && state.q[0] == 1.0 && state.v[0] == -6.0 && state.v[1] == 9.0);
      assert_int_equal(sap_stepper_step(stepper, &state, &report, &error), SAP_STATUS_OK);
      failed += 1;
    }
    sap_stepper_destroy(stepper);
    sap_state_clear(&state);
  }
  assert_true(report.relinearizations > 0);  // of the last one, in which all calls were good
  assert_int_equal(failed, x.calls);
}

static void test_stiffness_that_fails(void** unused) {
  (void)unused;
  toy_linear toy;
  make(&toy);
  toy.fail = "stiffness_damping";
  sap_state state = start(&toy);
  sap_stepper* stepper = NULL;
  assert_int_equal(sap_stepper_create(&toy.system, NULL, &stepper, NULL), SAP_STATUS_OK);
  sap_error error = {0};
  assert_int_equal(sap_stepper_step(stepper, &state, NULL, &error), SAP_STATUS_CALLBACK);
  assert_non_null(strstr(error.message, "stiffness_damping returned 7"));
  sap_stepper_destroy(stepper);
  sap_state_clear(&state);
}

static void test_callbacks_that_return_nan(void** unused) {
  (void)unused;
  const struct {
    const char* callback;
    sap_status status;
    const char* text;
  } cases[] = {{"mass_matrix", SAP_STATUS_NOT_FINITE, "A of tree 0"},
               {"forces", SAP_STATUS_NOT_FINITE, "force on velocity 0"},
               {"constraints", SAP_STATUS_CALLBACK, "constraints"}};
  for (size_t i = 0; i < sizeof cases / sizeof cases[0]; ++i) {
    toy_linear toy;
    make(&toy);
    toy.nan = cases[i].callback;
    sap_state state = start(&toy);
    refuse(&toy, &state, cases[i].status, cases[i].text);
    sap_state_clear(&state);
  }
  // Positions that turn NaN show in the forces of implicit schemes, in the result of explicit ones.
  toy_linear toy;
  make(&toy);
  toy.nan = "integrate_positions";
  sap_state state = start(&toy);
  refuse(&toy, &state, SAP_STATUS_NOT_FINITE, "0");
  sap_state_clear(&state);
}

static void test_mass_matrix_that_is_not_spd(void** unused) {
  (void)unused;
  toy_linear toy;
  make(&toy);
  toy.M[3][3] = -1e3;
  sap_state state = start(&toy);
  refuse(&toy, &state, SAP_STATUS_NOT_SPD, "tree");
  toy.M[3][3] = 1.0;
  toy.system.ncouplings = 0;
  toy.M[0][0] = 0.0;
  toy.K[0][0] = toy.D[0][0] = 0.0;
  refuse(&toy, &state, SAP_STATUS_NOT_SPD, "tree 0");
  sap_state_clear(&state);
}

static void test_states_that_do_not_fit(void** unused) {
  (void)unused;
  toy_linear toy;
  make(&toy);
  sap_state state = start(&toy);
  state.q[2] = (double)NAN;
  refuse(&toy, &state, SAP_STATUS_NOT_FINITE, "q[2]");
  state.q[2] = 0.0;
  state.v[3] = (double)INFINITY;
  refuse(&toy, &state, SAP_STATUS_NOT_FINITE, "v[3] = inf");
  state.v[3] = 0.0;
  state.t = (double)NAN;
  refuse(&toy, &state, SAP_STATUS_NOT_FINITE, "t = ");
  state.t = 0.0;
  state.nv = 3;
  refuse(&toy, &state, SAP_STATUS_ARGUMENT, "nv = 3");
  state.nv = 4;
  sap_stepper* stepper = NULL;
  assert_int_equal(sap_stepper_create(&toy.system, NULL, &stepper, NULL), SAP_STATUS_OK);
  assert_int_equal(sap_stepper_step(stepper, NULL, NULL, NULL), SAP_STATUS_ARGUMENT);
  assert_int_equal(sap_stepper_step(NULL, &state, NULL, NULL), SAP_STATUS_ARGUMENT);
  assert_int_equal(sap_stepper_free_motion(stepper, &state, NULL, NULL), SAP_STATUS_ARGUMENT);
  assert_int_equal(sap_stepper_set_dt(stepper, 0.0, NULL), SAP_STATUS_ARGUMENT);
  assert_int_equal(sap_stepper_set_dt(stepper, (double)NAN, NULL), SAP_STATUS_ARGUMENT);
  assert_int_equal(sap_stepper_set_dt(NULL, 0.1, NULL), SAP_STATUS_ARGUMENT);
  assert_int_equal(sap_stepper_set_dt(stepper, 0.1, NULL), SAP_STATUS_OK);
  assert_int_equal(sap_stepper_create(&toy.system, NULL, NULL, NULL), SAP_STATUS_ARGUMENT);
  sap_stepper_destroy(NULL);
  sap_stepper_destroy(stepper);
  sap_state_clear(&state);
}

// Forces that send the step beyond the largest double.
static void test_overflow(void** unused) {
  (void)unused;
  toy_linear toy;
  make(&toy);
  toy.M[1][1] = 1e-10;
  toy.f[1] = 1e308;
  sap_state state = start(&toy);
  sap_stepper* stepper = NULL;
  assert_int_equal(sap_stepper_create(&toy.system, NULL, &stepper, NULL), SAP_STATUS_OK);
  const double before = state.v[1];
  assert_int_not_equal(sap_stepper_step(stepper, &state, NULL, NULL), SAP_STATUS_OK);
  assert_true(state.v[1] == before && state.t == 2.0);
  sap_stepper_destroy(stepper);
  sap_state_clear(&state);
}

typedef struct timed_pendulum {
  toy_pendulum toy;  // the context of its functions
  int (*forces)(void*, double, const double*, const double*, double*, double*);
  int32_t later_parts;  // calls at their times
} timed_pendulum;

static int timed_forces(void* context, double t, const double* q, const double* v, double* k1,
                        double* k2) {
  timed_pendulum* timed = context;
  timed->later_parts += t > 0.003 && t < 0.0099;
  return timed->forces(context, t, q, v, k1, k2);
}

// A pendulum too fast for implicit Euler: the step is made in parts, at their times, and says so.
static void test_free_motion_that_has_no_root(void** unused) {
  (void)unused;
  timed_pendulum timed = {0};
  toy_pendulum_init(&timed.toy);
  timed.forces = timed.toy.system.forces;
  timed.toy.system.forces = timed_forces;
  const toy_pendulum toy = timed.toy;
  sap_state state = toy_state(&toy.system);
  const double q[2] = {2.0, -0.7}, v[2] = {60.0, -30.0};
  memcpy(state.q, q, sizeof q);
  memcpy(state.v, v, sizeof v);
  sap_stepper_options options = sap_stepper_options_default();
  options.dt = 0.01;
  sap_stepper* stepper = NULL;
  sap_step_report report;
  assert_int_equal(sap_stepper_create(&toy.system, &options, &stepper, NULL), SAP_STATUS_OK);
  assert_int_equal(sap_stepper_step(stepper, &state, &report, NULL), SAP_STATUS_OK);
  assert_true(report.free_motion_substeps >= 4);
  assert_int_equal(report.free_motion_linearized, 0);
  assert_true(report.free_motion_iterations >= 2 * report.free_motion_substeps);  // of all parts
  assert_true(timed.later_parts > 0);  // of 2.5 ms or shorter ones, and of a step of 10 ms
  sap_error error = {0};
  assert_int_equal(sap_stepper_linearize(stepper, NULL, NULL, NULL, &error),
                   SAP_STATUS_UNSUPPORTED);
  assert_non_null(strstr(error.message, "in parts"));
  assert_true(fabs(state.v[0]) < 120.0 && fabs(state.v[1]) < 120.0);
  for (int32_t i = 0; i < 2; ++i) {  // along the parts, not by the last speed alone
    const double moved = state.q[i] - q[i], mean = 0.5 * (v[i] + state.v[i]);
    assert_true(fabs(moved - 0.01 * mean) < 0.15 * 60.0 * 0.01);
    assert_true(fabs(moved - 0.01 * state.v[i]) > 1e-3);
  }
  memcpy(state.v, (double[2]){0.0, 0.0}, sizeof v);
  assert_int_equal(sap_stepper_step(stepper, &state, &report, NULL), SAP_STATUS_OK);
  assert_int_equal(report.free_motion_substeps, 0);
  sap_stepper_destroy(stepper);
  // With one iteration no part converges: all of the finest are made by linear steps.
  memcpy(state.q, q, sizeof q);
  memcpy(state.v, v, sizeof v);
  options.free_motion_max_iterations = 1;
  assert_int_equal(sap_stepper_create(&toy.system, &options, &stepper, NULL), SAP_STATUS_OK);
  assert_int_equal(sap_stepper_step(stepper, &state, &report, NULL), SAP_STATUS_OK);
  assert_true(report.free_motion_substeps == 64 && report.free_motion_linearized == 64);
  assert_true(report.free_motion_iterations >= 64);
  // From rest they gain the speed of the forces: less than of the acceleration at the start.
  double speeds[2];
  for (int k = 0; k < 2; ++k) {
    memcpy(state.q, q, sizeof q);
    memcpy(state.v, (double[2]){0.0, 0.0}, sizeof v);
    assert_int_equal(sap_stepper_set_dt(stepper, k == 0 ? 1e-6 : 0.3, NULL), SAP_STATUS_OK);
    assert_int_equal(sap_stepper_step(stepper, &state, &report, NULL), SAP_STATUS_OK);
    speeds[k] = hypot(state.v[0], state.v[1]) / (k == 0 ? 1e-6 : 0.3);
  }
  assert_int_equal(report.free_motion_linearized, 64);
  assert_true(speeds[1] > 0.1 * speeds[0] && speeds[1] < 2.0 * speeds[0]);
  sap_stepper_destroy(stepper);
  sap_state_clear(&state);
}

// A zero quaternion is no rotation: whatever is asked there is refused with the joint's name, and the
// state stays.
static void test_zero_quaternion(void** unused) {
  (void)unused;
  sap_model* model = scene_text_model(
      "a.xml",
      "<mujoco><worldbody><body name='stone'><freejoint name='fly'/><geom size='1'/></body><body "
      "name='arm' pos='9 0 0'><joint name='shoulder' type='ball'/><geom size='1'/></body>"
      "</worldbody></mujoco>",
      NULL);
  static const char* const texts[2] = {
      "q[3] to q[6] = 0: the quaternion of joint 0 'fly' of body 'stone' must not be zero",
      "q[7] to q[10] = 0: the quaternion of joint 1 'shoulder' of body 'arm' must not be zero"};
  simulation s = {.model = model};
  simulation_complete(&s, SAP_SCHEME_IMPLICIT_EULER, 0.01);
  for (int i = 0; i < 2; ++i) {
    double q[11], v[9] = {1.0, 2.0}, kept[11], p[3], turn[4];
    memcpy(q, model->q_default, sizeof q);
    memset(q + 3 + 4 * i, 0, 4 * sizeof *q);
    memcpy(s.state.q, q, sizeof q);
    memcpy(s.state.v, v, sizeof v);
    memcpy(kept, q, sizeof q);
    sap_diagnostics energies;
    sap_error errors[4] = {0};
    assert_int_equal(sap_stepper_step(s.stepper, &s.state, NULL, &errors[0]), SAP_STATUS_ARGUMENT);
    assert_int_equal(sap_stepper_step(s.stepper, &s.state, NULL, NULL), SAP_STATUS_ARGUMENT);
    assert_int_equal(sap_multibody_diagnose(s.multibody, &s.state, &energies, &errors[1]),
                     SAP_STATUS_ARGUMENT);
    assert_int_equal(sap_multibody_detect(s.multibody, q, &errors[2]), SAP_STATUS_ARGUMENT);
    assert_int_equal(sap_multibody_body_pose(s.multibody, q, 1, p, turn, &errors[3]),
                     SAP_STATUS_ARGUMENT);
    for (int k = 0; k < 4; ++k) {
      assert_non_null(strstr(errors[k].message, texts[i]));
    }
    assert_memory_equal(s.state.q, kept, sizeof kept);
    assert_memory_equal(s.state.v, v, sizeof v);
  }
  memcpy(s.state.q, model->q_default, 11 * sizeof *s.state.q);
  simulation_step(&s, 1);
  simulation_end(&s);
}

static int fast_stop(void* context, const sap_step_context* step, sap_problem* problem,
                     sap_error* error) {
  (void)context, (void)step;
  const double row[2] = {1.0, 0.0};
  return (int)toy_add_row(problem, SAP_SET_NONNEGATIVE, row, 1e-9, 90.0, error);
}

// Steps the pendulum from q, v by as many steps as the step of 10 ms had parts, of the same length.
static void step_parts(const double* q, const double* v, int32_t parts, sap_state* end) {
  toy_pendulum toy;
  toy_pendulum_init(&toy);
  *end = toy_state(&toy.system);
  memcpy(end->q, q, 2 * sizeof *q);
  memcpy(end->v, v, 2 * sizeof *v);
  sap_stepper_options options = sap_stepper_options_default();
  options.dt = 0.01 / parts;
  sap_stepper* stepper = NULL;
  assert_int_equal(sap_stepper_create(&toy.system, &options, &stepper, NULL), SAP_STATUS_OK);
  for (int32_t i = 0; i < parts; ++i) {
    assert_int_equal(sap_stepper_step(stepper, end, NULL, NULL), SAP_STATUS_OK);
  }
  sap_stepper_destroy(stepper);
}

// Parts end where steps of their length end. Impulses move that end by dt theta_vq (v - v*).
static void test_impulse_after_parts(void** unused) {
  (void)unused;
  const double q[2] = {2.0, -0.7}, v[2] = {60.0, -30.0};
  sap_state ends[2], parts;
  int32_t count = 0;
  for (int k = 0; k < 2; ++k) {
    toy_pendulum toy;
    toy_pendulum_init(&toy);
    toy.system.constraints = k == 1 ? fast_stop : NULL;
    ends[k] = toy_state(&toy.system);
    memcpy(ends[k].q, q, sizeof q);
    memcpy(ends[k].v, v, sizeof v);
    sap_stepper_options options = sap_stepper_options_default();
    options.dt = 0.01;
    sap_stepper* stepper = NULL;
    sap_step_report report;
    assert_int_equal(sap_stepper_create(&toy.system, &options, &stepper, NULL), SAP_STATUS_OK);
    assert_int_equal(sap_stepper_step(stepper, &ends[k], &report, NULL), SAP_STATUS_OK);
    count = report.free_motion_substeps;
    assert_true(count > 0);
    sap_stepper_destroy(stepper);
  }
  step_parts(q, v, count, &parts);
  for (int i = 0; i < 2; ++i) {  // to the tolerance of the free motion, 1e-6 of v
    ASSERT_NEAR(ends[0].q[i], parts.q[i], 1e-5);
    ASSERT_NEAR(ends[0].v[i], parts.v[i], 1e-3);
  }
  sap_state_clear(&parts);
  assert_true(fabs(ends[1].v[0] - 90.0) < 1e-3 && fabs(ends[1].v[0] - ends[0].v[0]) > 1.0);
  for (int i = 0; i < 2; ++i) {
    const double moved = ends[1].q[i] - ends[0].q[i];
    assert_true(fabs(moved - 0.01 * (ends[1].v[i] - ends[0].v[i])) < 1e-12);
  }
  sap_state_clear(&ends[0]);
  sap_state_clear(&ends[1]);
}

// Two islands: a fast velocity above its bound, and two slow ones, coupled and below theirs.
static int two_islands(void* context, const sap_step_context* step, sap_problem* problem,
                       sap_error* error) {
  (void)context;
  (void)step;
  const double fast[2] = {1.0, 0.0}, slow[2] = {1.0, 0.9}, other[2] = {0.9, 1.0};
  const double* const rows[3] = {fast, slow, other};
  for (int32_t i = 0; i < 3; ++i) {
    const int32_t tree = i == 0 ? 0 : 1;
    const double R = 1.0, v_hat = 0.0;
    const sap_block block = {.set = SAP_SET_NONNEGATIVE,
                             .nrows = 1,
                             .ntrees = 1,
                             .trees = &tree,
                             .jacobians = &rows[i],
                             .R = &R,
                             .v_hat = &v_hat,
                             .key = (uint64_t)i + 1};
    const sap_status status = sap_problem_add_block(problem, &block, error);
    if (status != SAP_STATUS_OK) {
      return (int)status;
    }
  }
  return 0;
}

// The momentum of a fast island must not hide that a slow one is unsolved; that the impulses'
// momentum balance holds exactly must not hide that they break their law.
static void test_unsolved_island(void** unused) {
  (void)unused;
  static const char* const solvers[] = {"sap", "pgs-ccp", "nbgs", "lemke"};
  for (size_t k = 0; k < sizeof solvers / sizeof *solvers; ++k) {
    toy_linear toy;
    toy_linear_init(&toy, 2, 2);
    toy.system.constraints = two_islands;
    sap_state state = toy_state(&toy.system);
    state.v[0] = 1e5;
    state.v[2] = -1.0;
    state.v[3] = -0.7;
    const double v[4] = {1e5, 0.0, -1.0, -0.7};
    sap_stepper_options options = sap_stepper_options_default();
    options.solver = solvers[k];
    options.contact_law = SAP_LAW_COMPLIANT;
    options.solver_options.max_iterations = 0;
    options.solver_options.max_sweeps = 0;
    sap_stepper* stepper = NULL;
    sap_error error = {0};
    sap_step_report report = {0};
    assert_int_equal(sap_stepper_create(&toy.system, &options, &stepper, NULL), SAP_STATUS_OK);
    const sap_status status = sap_stepper_step(stepper, &state, &report, &error);
    if (status != SAP_STATUS_STEP_FAILED) {
      fail_msg("%s: %s %s", solvers[k], sap_status_text(status), error.message);
    }
    assert_non_null(strstr(error.message, "must be <= accepted_error 0.001"));
    assert_memory_equal(state.v, v, sizeof v);
    assert_true(state.t == 0.0 && state.q[0] == 0.0 && state.q[1] == 0.0);
    sap_stepper_destroy(stepper);

    options.accepted_error = (double)INFINITY;
    assert_int_equal(sap_stepper_create(&toy.system, &options, &stepper, NULL), SAP_STATUS_OK);
    assert_int_equal(sap_stepper_step(stepper, &state, &report, &error), SAP_STATUS_OK);
    assert_true(report.solver->outcome == SAP_OUTCOME_ITERATION_LIMIT);
    assert_true(report.solver->momentum_error < 1e-4 && report.solver->island_error > 0.1);
    assert_true(state.t == options.dt);
    sap_stepper_destroy(stepper);
    sap_state_clear(&state);
  }
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(test_callbacks_that_fail),
      cmocka_unit_test(test_laws_that_change),
      cmocka_unit_test(test_callbacks_that_fail_once),
      cmocka_unit_test(test_stiffness_that_fails),
      cmocka_unit_test(test_callbacks_that_return_nan),
      cmocka_unit_test(test_mass_matrix_that_is_not_spd),
      cmocka_unit_test(test_states_that_do_not_fit),
      cmocka_unit_test(test_overflow),
      cmocka_unit_test(test_free_motion_that_has_no_root),
      cmocka_unit_test(test_zero_quaternion),
      cmocka_unit_test(test_unsolved_island),
      cmocka_unit_test(test_impulse_after_parts),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
