// SPDX-License-Identifier: BSD-3-Clause
// v* against closed forms and against m(v*) written out by hand.
#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include <cmocka.h>

#include "integrators/free_motion.h"
#include "linalg/dense.h"
#include "support/near.h"
#include "support/toy_system.h"

static const sap_theta schemes[] = {
    {0.01, 0.0, 0.0}, {0.01, 0.0, 1.0}, {0.01, 1.0, 1.0}, {0.01, 0.5, 0.5}, {0.01, 0.7, 0.3}};
enum { SCHEMES = sizeof schemes / sizeof schemes[0] };

static sap_step_context context_of(const sap_theta* scheme, const sap_state* state) {
  return (sap_step_context){.t = state->t,
                            .dt = scheme->dt,
                            .theta = scheme->theta,
                            .theta_vq = scheme->theta_vq,
                            .q0 = state->q,
                            .v0 = state->v,
                            .v0_free = state->v};
}

static sap_pool pool = {.owner = "test"};

static void clear(sap_free_motion* fm) {
  sap_free_motion_clear(fm);
  sap_pool_free(&pool);
}

static void solve(sap_free_motion* fm, const sap_system* system, const sap_theta* scheme,
                  const sap_state* state) {
  sap_error error = {0};
  assert_int_equal(sap_free_motion_create(system, &pool, fm, &error), SAP_STATUS_OK);
  const sap_step_context step = context_of(scheme, state);
  if (sap_free_motion_solve(fm, &step, 50, SAP_LINEARIZE_FREE, &error) != SAP_STATUS_OK) {
    fail_msg("%s", error.message);
  }
}

// Three trees of two, coupled 0-1 and 1-2: v* of a linear system solves
//   (M + dt^2 th tq K + dt th D)(v - v0) = dt (f - K (q0 + th dt v0) - D v0)
static void test_linear(void** state) {
  (void)state;
  toy_linear toy;
  toy_linear_init(&toy, 4, 2);
  for (int32_t i = 0; i < 8; ++i) {
    toy.f[i] = 1.0 + i;
    toy.M[i][i] = 1.0 + 0.3 * i;
    toy.K[i][i] = 10.0 * i;
  }
  toy.M[0][1] = toy.M[1][0] = 0.4;
  toy_linear_connect(&toy, 0, 3, 2e3, 1.0);
  toy_linear_connect(&toy, 5, 2, 1e8, 30.0);
  sap_state s = toy_state(&toy.system);
  for (int32_t i = 0; i < 8; ++i) {
    s.q[i] = 0.1 * i;
    s.v[i] = 1.0 - 0.2 * i;
  }
  for (int k = 0; k < SCHEMES; ++k) {
    const sap_theta h = schemes[k];
    double A[64], x[8];
    int32_t pivots[8];
    for (int i = 0; i < 8; ++i) {
      x[i] = toy.f[i];
      for (int j = 0; j < 8; ++j) {
        A[8 * j + i] = toy.M[i][j] + h.dt * h.dt * h.theta * h.theta_vq * toy.K[i][j] +
                       h.dt * h.theta * toy.D[i][j];
        x[i] -= toy.K[i][j] * (s.q[j] + h.theta * h.dt * s.v[j]) + toy.D[i][j] * s.v[j];
      }
      x[i] *= h.dt;
    }
    assert_true(sap_dense_lu_solve(8, A, pivots, x));
    sap_free_motion fm = {0};
    solve(&fm, &toy.system, &h, &s);
    for (int i = 0; i < 8; ++i) {
      // cond(A) ~ 1e4 with the 1e8 spring, eps 2e-16, explicit steps move by up to 1e5 m/s
      ASSERT_NEAR(fm.v_star[i], s.v[i] + x[i], 1e-11 * (1.0 + fabs(x[i])));
    }
    assert_true(fm.iterations <= 2);
    assert_true(fm.residual <= 1e-12);
    clear(&fm);
  }
  sap_state_clear(&s);
}

// m(v) of the pendulum from its formulas, independent of the stepper's own evaluation.
static void pendulum_residual(toy_pendulum* toy, const sap_theta* h, const sap_state* s,
                              const double* v, double m[2], double scale[2]) {
  double q[2], vt[2], M[4] = {0}, k1[2] = {0}, k2[2];
  double* diagonal = M;
  const sap_tree_matrix view = {&diagonal, NULL};
  for (int i = 0; i < 2; ++i) {
    q[i] = s->q[i] + h->theta * h->dt * (h->theta_vq * v[i] + (1.0 - h->theta_vq) * s->v[i]);
    vt[i] = h->theta * v[i] + (1.0 - h->theta) * s->v[i];
  }
  toy->system.mass_matrix(toy, q, &view);
  toy->system.forces(toy, 0.0, q, vt, k1, k2);
  const double d[2] = {v[0] - s->v[0], v[1] - s->v[1]};
  m[0] = M[0] * d[0] + M[1] * d[1] - h->dt * k2[0];
  m[1] = M[1] * d[0] + M[3] * d[1] - h->dt * k2[1];
  scale[0] = fabs(M[0] * d[0]) + fabs(M[1] * d[1]) + h->dt * fabs(k2[0]);
  scale[1] = fabs(M[1] * d[0]) + fabs(M[3] * d[1]) + h->dt * fabs(k2[1]);
}

static void test_pendulum(void** state) {
  (void)state;
  toy_pendulum toy;
  toy_pendulum_init(&toy);
  sap_state s = toy_state(&toy.system);
  const double rates[3] = {1.0, 8.0, 30.0};
  for (int r = 0; r < 3; ++r) {
    for (int k = 0; k < SCHEMES; ++k) {
      s.q[0] = 2.0;
      s.q[1] = -0.7;
      s.v[0] = rates[r];
      s.v[1] = -0.5 * rates[r];
      sap_free_motion fm = {0};
      solve(&fm, &toy.system, &schemes[k], &s);
      double m[2], scale[2];
      pendulum_residual(&toy, &schemes[k], &s, fm.v_star, m, scale);
      for (int i = 0; i < 2; ++i) {
        ASSERT_NEAR(m[i], 0.0, 1e-12 * (scale[0] + scale[1]));
      }
      if (r == 0) {
        assert_true(fm.iterations <= 6);  // superlinear: dt |dm/dv - A| ~ 1e-2
      }
      clear(&fm);
    }
  }
  sap_state_clear(&s);
}

// Derivatives of (q, v) of the pendulum.
static void pendulum_slope(toy_pendulum* toy, const double x[4], double dx[4]) {
  double M[4] = {0}, k1[2] = {0}, k2[2] = {0};
  double* diagonal = M;
  const sap_tree_matrix view = {&diagonal, NULL};
  toy->system.mass_matrix(toy, x, &view);
  toy->system.forces(toy, 0.0, x, x + 2, k1, k2);
  const double determinant = M[0] * M[3] - M[1] * M[1];
  dx[0] = x[2];
  dx[1] = x[3];
  dx[2] = (M[3] * k2[0] - M[1] * k2[1]) / determinant;
  dx[3] = (M[0] * k2[1] - M[1] * k2[0]) / determinant;
}

// The motion by Runge and Kutta's method of fourth order, in 10000 parts.
static void move_pendulum(toy_pendulum* toy, double dt, double x[4]) {
  enum { PARTS = 10000 };
  const double h = dt / PARTS, share[4] = {0.0, 0.5 * h, 0.5 * h, h};
  for (int part = 0; part < PARTS; ++part) {
    double k[4][4] = {{0}}, at[4];
    for (int stage = 0; stage < 4; ++stage) {
      for (int i = 0; i < 4; ++i) {
        at[i] = x[i] + (stage > 0 ? share[stage] * k[stage - 1][i] : 0.0);
      }
      pendulum_slope(toy, at, k[stage]);
    }
    for (int i = 0; i < 4; ++i) {
      x[i] += h / 6.0 * (k[0][i] + 2.0 * k[1][i] + 2.0 * k[2][i] + k[3][i]);
    }
  }
}

static double kinetic(toy_pendulum* toy, const double* q, const double* v) {
  double M[4] = {0};
  double* diagonal = M;
  const sap_tree_matrix view = {&diagonal, NULL};
  toy->system.mass_matrix(toy, q, &view);
  return 0.5 * (M[0] * v[0] * v[0] + 2.0 * M[1] * v[0] * v[1] + M[3] * v[1] * v[1]);
}

// At 60 rad/s implicit Euler's equations have no root near v0 (the other roots, found by Newton
// from random starts, lie beyond 1500 rad/s): about impulses that is refused, naming the residual;
// the free motion goes on in parts. The midpoint rule has a root.
static void test_no_root(void** state) {
  (void)state;
  toy_pendulum toy;
  toy_pendulum_init(&toy);
  sap_state s = toy_state(&toy.system);
  s.q[0] = 2.0;
  s.q[1] = -0.7;
  s.v[0] = 60.0;
  s.v[1] = -30.0;
  sap_free_motion fm = {0};
  sap_error error = {0};
  assert_int_equal(sap_free_motion_create(&toy.system, &pool, &fm, NULL), SAP_STATUS_OK);
  const sap_step_context implicit = context_of(&schemes[2], &s);
  const sap_step_context midpoint = context_of(&schemes[3], &s);
  assert_int_equal(sap_free_motion_solve(&fm, &implicit, 50, SAP_LINEARIZE_CHOSEN, &error),
                   SAP_STATUS_STEP_FAILED);
  assert_non_null(strstr(error.message, "tree 0"));
  assert_non_null(strstr(error.message, "residual"));
  error = (sap_error){0};
  assert_int_equal(sap_free_motion_solve(&fm, &implicit, 50, SAP_LINEARIZE_FREE, &error),
                   SAP_STATUS_OK);
  assert_string_equal(error.message, "");
  assert_true(fm.substeps >= 4 && fm.linearized == 0);
  double x[4] = {2.0, -0.7, 60.0, -30.0};
  move_pendulum(&toy, implicit.dt, x);
  for (int i = 0; i < 2; ++i) {  // parts of 2.5 ms at 60 rad/s: 0.15 rad, of first order
    ASSERT_NEAR(fm.v_star[i], x[2 + i], 0.15 * 60.0);
    ASSERT_NEAR(sap_free_motion_end_of_parts(&fm)[i], x[i], 0.15 * 60.0 * implicit.dt);
  }
  // A is that of the whole step at v*, and m there does not vanish.
  const double turn = s.q[0] - s.q[1] + implicit.dt * (fm.v_star[0] - fm.v_star[1]);
  ASSERT_NEAR(fm.balance.A.values[1], toy.m[1] * toy.length[0] * toy.length[1] * cos(turn), 1e-12);
  assert_true(fm.residual > 1e-3);
  assert_int_equal(sap_free_motion_solve(&fm, &midpoint, 50, SAP_LINEARIZE_FREE, &error),
                   SAP_STATUS_OK);
  assert_int_equal(fm.substeps, 0);
  ASSERT_NEAR(fm.v_star[0], 59.70088469, 1e-7);  // the same Newton in an independent program
  ASSERT_NEAR(fm.v_star[1], -30.89860928, 1e-7);
  clear(&fm);
  sap_state_clear(&s);
}

// A system whose forces are counted, and whose time is kept.
typedef struct counted {
  toy_pendulum pendulum;
  int64_t forces, failing;  // calls; the one that fails, 0: none
  double first, last;
} counted;

static int count_forces(void* context, double t, const double* q, const double* v, double* k1,
                        double* k2) {
  counted* x = context;
  x->forces += 1;
  if (x->forces == x->failing) {
    return 7;
  }
  x->first = fmin(x->first, t);
  x->last = fmax(x->last, t);
  return x->pendulum.system.forces(&x->pendulum, t, q, v, k1, k2);
}

static int pass_mass(void* context, const double* q, const sap_tree_matrix* M) {
  counted* x = context;
  return x->pendulum.system.mass_matrix(&x->pendulum, q, M);
}

static int pass_positions(void* context, const double* q0, const double* v, double dt, double* q) {
  counted* x = context;
  return x->pendulum.system.integrate_positions(&x->pendulum, q0, v, dt, q);
}

// Makes the system of x, without stiffness and damping; returns a state of the pendulum that turns
// at this rate [rad/s].
static sap_state start_counted(counted* x, double rate, sap_system* system) {
  toy_pendulum_init(&x->pendulum);
  *system = x->pendulum.system;
  system->context = x;
  system->forces = count_forces;
  system->mass_matrix = pass_mass;
  system->integrate_positions = pass_positions;
  system->stiffness_damping = NULL;
  sap_state s = toy_state(system);
  s.q[0] = 2.0;
  s.q[1] = -0.7;
  s.v[0] = rate;
  s.v[1] = -0.5 * rate;
  return s;
}

// However fast, the free motion ends, after a bounded number of evaluations; its energy
// stays about the same while its parts converge, and its times lie within the step.
static void test_always_ends(void** state) {
  (void)state;
  static const double rates[] = {40.0, 60.0, 100.0, 300.0, 1e3, 1e4, 1e6};
  for (size_t r = 0; r < sizeof rates / sizeof *rates; ++r) {
    for (int k = 2; k < SCHEMES; ++k) {
      counted x = {.first = 1e9};
      sap_system system;
      sap_state s = start_counted(&x, rates[r], &system);
      s.t = 3.0;
      sap_free_motion fm = {0};
      solve(&fm, &system, &schemes[k], &s);
      assert_true(x.forces < 10000);  // 64 parts and 5 failures, of up to 50 iterations with 2 m
      assert_true(x.first >= 3.0 && x.last <= 3.0 + schemes[k].dt);
      assert_true(isfinite(fm.v_star[0]) && isfinite(fm.v_star[1]));
      assert_true(fm.linearized <= fm.substeps && fm.substeps <= 64);
      if (schemes[k].theta == 1.0 && fm.substeps > 0 && fm.linearized == 0) {
        const double* q = sap_free_motion_end_of_parts(&fm);
        // parts of up to 0.15 rad, of first order: measured 1.14
        assert_true(kinetic(&x.pendulum, q, fm.v_star) <= 1.2 * kinetic(&x.pendulum, s.q, s.v));
      }
      clear(&fm);
      sap_state_clear(&s);
    }
  }
}

// Whichever call of the forces fails, in an iteration, a search or a part: the free motion fails.
static void test_each_call_fails(void** state) {
  (void)state;
  static const double rates[] = {3.0, 60.0, 300.0};
  for (int r = 0; r < 3; ++r) {
    int64_t calls = 1;
    for (int64_t failing = 0; failing <= calls; ++failing) {
      counted x = {.failing = failing};
      sap_system system;
      sap_state s = start_counted(&x, rates[r], &system);
      sap_free_motion fm = {0};
      sap_error error = {0};
      assert_int_equal(sap_free_motion_create(&system, &pool, &fm, NULL), SAP_STATUS_OK);
      const sap_step_context step = context_of(&schemes[2], &s);
      const sap_status status = sap_free_motion_solve(&fm, &step, 50, SAP_LINEARIZE_FREE, &error);
      assert_int_equal(status, failing > 0 ? SAP_STATUS_CALLBACK : SAP_STATUS_OK);
      assert_true(failing == 0 || strstr(error.message, "forces returned 7") != NULL);
      calls = failing == 0 ? x.forces : calls;
      clear(&fm);
      sap_state_clear(&s);
    }
    assert_true(calls > 3);
  }
}

// A motion that fails in the finest part too is made by one linear step. With one iteration all
// parts are; a linear system, whose step is exact, shows that each covers its part of the time.
static void test_linear_parts(void** state) {
  (void)state;
  toy_pendulum toy;
  toy_pendulum_init(&toy);
  sap_state s = toy_state(&toy.system);
  s.q[0] = 2.0;
  s.v[0] = 60.0;
  s.v[1] = -30.0;
  sap_free_motion fm = {0};
  sap_error error = {0};
  assert_int_equal(sap_free_motion_create(&toy.system, &pool, &fm, NULL), SAP_STATUS_OK);
  const sap_step_context step = context_of(&schemes[2], &s);
  assert_int_equal(sap_free_motion_solve(&fm, &step, 1, SAP_LINEARIZE_FREE, &error), SAP_STATUS_OK);
  assert_int_equal(fm.substeps, 64);
  assert_int_equal(fm.linearized, 64);
  double x[4] = {2.0, 0.0, 60.0, -30.0};
  move_pendulum(&toy, step.dt, x);
  for (int i = 0; i < 2; ++i) {  // 64 parts of 0.01 rad, of first order
    ASSERT_NEAR(fm.v_star[i], x[2 + i], 0.01 * 60.0);
  }
  clear(&fm);
  sap_state_clear(&s);
}

// A system whose K and D remember where they were evaluated.
typedef struct watched {
  toy_linear toy;
  double t, q[2], v[2];
} watched;

static int watch_stiffness(void* context, double t, const double* q, const double* v,
                           const sap_tree_matrix* K, const sap_tree_matrix* D) {
  watched* x = context;
  x->t = t;
  memcpy(x->q, q, sizeof x->q);
  memcpy(x->v, v, sizeof x->v);
  return x->toy.system.stiffness_damping(&x->toy, t, q, v, K, D);
}

// K and D of A are those of t^theta, q^theta and v^theta at v*, up to the tolerance.
static void test_stiffness_is_at_theta(void** state) {
  (void)state;
  for (int k = 0; k < SCHEMES; ++k) {
    watched x = {.t = -1.0};
    toy_linear_init(&x.toy, 1, 2);
    toy_linear_connect(&x.toy, 0, 1, 30.0, 2.0);
    sap_system system = x.toy.system;
    system.stiffness_damping = watch_stiffness;  // the toy is the first member of its context
    sap_state s = toy_state(&system);
    s.t = 3.0;
    s.q[0] = 0.5;
    s.v[0] = 2.0;
    s.v[1] = -1.0;
    sap_free_motion fm = {0};
    solve(&fm, &system, &schemes[k], &s);
    const sap_theta h = schemes[k];
    for (int i = 0; i < 2 && h.theta > 0.0; ++i) {
      const double v_vq = h.theta_vq * fm.v_star[i] + (1.0 - h.theta_vq) * s.v[i];
      ASSERT_NEAR(x.t, 3.0 + h.theta * h.dt, 1e-15);
      ASSERT_NEAR(x.v[i], h.theta * fm.v_star[i] + (1.0 - h.theta) * s.v[i], 1e-12);
      ASSERT_NEAR(x.q[i], s.q[i] + h.theta * h.dt * v_vq, 1e-12);
    }
    clear(&fm);
    sap_state_clear(&s);
  }
}

// A at v*: M at q^theta(v*), not at q0.
static void test_matrix_is_at_v_star(void** state) {
  (void)state;
  toy_pendulum toy;
  toy_pendulum_init(&toy);
  sap_state s = toy_state(&toy.system);
  s.q[0] = 1.0;
  s.v[0] = 8.0;
  const sap_theta h = {0.05, 1.0, 1.0};
  sap_free_motion fm = {0};
  solve(&fm, &toy.system, &h, &s);
  const double q0 = s.q[0] + h.dt * fm.v_star[0];
  const double q1 = s.q[1] + h.dt * fm.v_star[1];
  const double expected = toy.m[1] * toy.length[0] * toy.length[1] * cos(q0 - q1);
  ASSERT_NEAR(fm.balance.A.view.diagonal[0][1], expected, 1e-15);
  assert_true(fabs(expected - toy.m[1] * toy.length[0] * toy.length[1] * cos(1.0)) > 1e-3);
  clear(&fm);
  sap_state_clear(&s);
}

// The midpoint rule keeps a top's energy and the norm of its momentum: both are quadratic in v.
// 2000 rad/s at dt 5 ms: A = M does not contract, the true Jacobian must.
static void test_fast_top(void** state) {
  (void)state;
  const double rates[2] = {3.0, 2000.0};
  for (int r = 0; r < 2; ++r) {
    toy_top toy;
    toy_top_init(&toy, 1.0, 2.0, 3.0);
    sap_state s = toy_state(&toy.system);
    const double v0[3] = {0.3 * rates[r], rates[r], 0.2 * rates[r]};
    memcpy(s.v, v0, sizeof v0);
    const sap_theta h = {0.005, 0.5, 0.5};
    sap_free_motion fm = {0};
    solve(&fm, &toy.system, &h, &s);
    double before = 0.0, after = 0.0, momentum_before = 0.0, momentum_after = 0.0;
    for (int i = 0; i < 3; ++i) {
      const double inertia = toy.inertia[i];
      before += inertia * v0[i] * v0[i];
      after += inertia * fm.v_star[i] * fm.v_star[i];
      momentum_before += inertia * inertia * v0[i] * v0[i];
      momentum_after += inertia * inertia * fm.v_star[i] * fm.v_star[i];
    }
    ASSERT_NEAR(after / before, 1.0, 1e-12);
    ASSERT_NEAR(momentum_after / momentum_before, 1.0, 1e-12);
    assert_true(fm.residual <= 1e-10);
    clear(&fm);
    sap_state_clear(&s);
  }
}

// A stiff spring far from the origin: its force is known to 1e12 * 1e-16 N only, which is 1e-5 of
// the load. That is round-off, not a failure.
static void test_round_off_of_a_stiff_spring(void** state) {
  (void)state;
  toy_linear toy;
  toy_linear_init(&toy, 1, 1);
  toy.K[0][0] = 1e12;
  toy.f[0] = 1e12;  // rests at q = 1
  sap_state s = toy_state(&toy.system);
  s.q[0] = 1.0 + 1e-11;
  s.v[0] = 1e-9;
  for (int k = 2; k < SCHEMES; ++k) {
    sap_free_motion fm = {0};
    solve(&fm, &toy.system, &schemes[k], &s);
    clear(&fm);
  }
  sap_state_clear(&s);
}

static int growing_force(void* context, double t, const double* q, const double* v, double* k1,
                         double* k2) {
  (void)context, (void)q, (void)v, (void)k1;
  k2[0] = t;
  return 0;
}

// Forces are those of the time t0 + theta dt.
static void test_time(void** state) {
  (void)state;
  toy_linear toy;
  toy_linear_init(&toy, 1, 1);
  toy.system.forces = growing_force;
  sap_state s = toy_state(&toy.system);
  s.t = 2.0;
  for (int k = 0; k < SCHEMES; ++k) {
    sap_free_motion fm = {0};
    solve(&fm, &toy.system, &schemes[k], &s);
    ASSERT_NEAR(fm.v_star[0], schemes[k].dt * (2.0 + schemes[k].theta * schemes[k].dt), 1e-16);
    clear(&fm);
  }
  sap_state_clear(&s);
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(test_linear),
      cmocka_unit_test(test_pendulum),
      cmocka_unit_test(test_no_root),
      cmocka_unit_test(test_each_call_fails),
      cmocka_unit_test(test_always_ends),
      cmocka_unit_test(test_linear_parts),
      cmocka_unit_test(test_stiffness_is_at_theta),
      cmocka_unit_test(test_matrix_is_at_v_star),
      cmocka_unit_test(test_fast_top),
      cmocka_unit_test(test_round_off_of_a_stiff_spring),
      cmocka_unit_test(test_time),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
