// SPDX-License-Identifier: BSD-3-Clause
// The contact law at the theta point of the midpoint rule: second order where the end of the step
// is first, and as quiet as the end where the step does not resolve the contact.
//   m z'' = -m g - k (z + tau_d z'),  z < 0: z = z_s + a e^(-d t)(cos w t + (d/w) sin w t)
//   z_s = -m g/k,  d = k tau_d/(2 m),  w = sqrt(k/m - d^2);  pressed down by a < |z_s| at first
#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include <cmocka.h>

#include <sapstep/stepper.h>

#include "support/near.h"
#include "support/simulation.h"
#include "support/toy_system.h"

static const double mass = 0.5, gravity = 9.81, stiffness = 1e4;
static const double duration = 0.4;  // 9 periods

typedef enum kind { CONTACT, LIMIT, BILATERAL } kind;

typedef struct drop {
  kind kind;
  double tau_d;
} drop;

static int mass_matrix(void* context, const double* q, const sap_tree_matrix* M) {
  (void)context;
  (void)q;
  for (int i = 0; i < 3; ++i) {
    M->diagonal[0][4 * i] = mass;
  }
  return 0;
}

static int forces(void* context, double t, const double* q, const double* v, double* k1,
                  double* k2) {
  (void)context;
  (void)t;
  (void)q;
  (void)v;
  (void)k1;
  k2[2] = -mass * gravity;
  return 0;
}

static int integrate(void* context, const double* q0, const double* v, double dt, double* q) {
  (void)context;
  for (int i = 0; i < 3; ++i) {
    q[i] = q0[i] + dt * v[i];
  }
  return 0;
}

// The same law as a contact, as a limit and as a bilateral constraint.
static int constraints(void* context, const sap_step_context* step, sap_problem* problem,
                       sap_error* error) {
  const drop* d = context;
  if (d->kind == CONTACT) {
    const int32_t tree = 0;
    const double J[9] = {1.0, 0.0, 0.0, 0.0, 1.0, 0.0, 0.0, 0.0, 1.0};
    const double* jacobian = J;
    const sap_contact_block contact = {
        .ntrees = 1,
        .trees = &tree,
        .jacobians = &jacobian,
        .material = {.stiffness = stiffness, .relaxation_time = d->tau_d, .friction = 0.5},
        .phi0 = step->q0[2],
        .key = 1};
    return (int)sap_problem_add_contact(problem, &contact, &step->regularization, error);
  }
  const double up[3] = {0.0, 0.0, 1.0};
  const sap_compliant_row row = {.stiffness = stiffness,
                                 .relaxation_time = d->tau_d,
                                 .g0 = step->q0[2],
                                 .rate0 = step->v0[2],
                                 .w = 1.0 / mass,
                                 .unilateral = d->kind == LIMIT};
  double R, v_hat;
  const sap_status status =
      sap_problem_compliant_law(problem, &step->regularization, &row, &R, &v_hat, error);
  const sap_set set = d->kind == LIMIT ? SAP_SET_NONNEGATIVE : SAP_SET_FREE;
  return status != SAP_STATUS_OK ? 1 : (int)toy_add_row(problem, set, up, R, v_hat, error);
}

// L2 error of z over a.
static double vibrate_scheme(drop d, sap_stage stage, sap_scheme scheme, double dt) {
  const int32_t size = 3;
  const sap_system system = {.context = &d,
                             .nq = 3,
                             .nv = 3,
                             .ntrees = 1,
                             .tree_sizes = &size,
                             .mass_matrix = mass_matrix,
                             .forces = forces,
                             .integrate_positions = integrate,
                             .constraints = constraints};
  const double rest = -mass * gravity / stiffness;
  const double amplitude = 0.5 * rest;
  double q[3] = {0.0, 0.0, rest + amplitude}, v[3] = {0.0, 0.0, 0.0};
  sap_state state = {.t = 0.0, .q = q, .v = v, .nq = 3, .nv = 3};
  sap_stepper_options options = sap_stepper_options_default();
  options.dt = dt;
  options.contact_stage = stage;
  options.solver_options.relative_tolerance = 1e-12;
  sap_stepper* stepper = NULL;
  sap_error error = {0};
  assert_int_equal(sap_stepper_options_set_scheme(&options, scheme, NULL), 0);
  assert_int_equal(sap_stepper_create(&system, &options, &stepper, NULL), SAP_STATUS_OK);
  const double decay = stiffness * d.tau_d / (2.0 * mass);
  const double w = sqrt(stiffness / mass - decay * decay);
  double sum = 0.0;
  const int steps = (int)lround(duration / dt);
  for (int i = 1; i <= steps; ++i) {
    if (sap_stepper_step(stepper, &state, NULL, &error) != SAP_STATUS_OK) {
      fail_msg("%s", error.message);
    }
    const double t = i * dt;
    const double exact = amplitude * exp(-decay * t) * (cos(w * t) + decay / w * sin(w * t));
    const double difference = q[2] - rest - exact;
    sum += difference * difference;
  }
  sap_stepper_destroy(stepper);
  return sqrt(sum / steps) / fabs(amplitude);
}

static double vibrate(drop d, sap_stage stage, double dt) {
  return vibrate_scheme(d, stage, SAP_SCHEME_MIDPOINT, dt);
}

// Numbers of an independent run: theta 6.0e-4 and 2.3e-5 (damped), end 9.3e-2, at 1.25e-4 s.
static void test_orders(void** unused) {
  (void)unused;
  const double dt[5] = {1e-3, 5e-4, 2.5e-4, 1.25e-4, 6.25e-5};
  for (int k = 0; k < 3; ++k) {
    for (int damped = 0; damped < 2; ++damped) {
      const drop d = {(kind)k, damped ? 0.002 : 0.0};
      double end[5], theta[5];
      for (int i = 0; i < 5; ++i) {
        end[i] = vibrate(d, SAP_STAGE_END, dt[i]);
        theta[i] = vibrate(d, SAP_STAGE_AUTO, dt[i]);
        if (i > 0) {
          ASSERT_NEAR(log2(theta[i - 1] / theta[i]), 2.0, 0.05);
          assert_true(log2(end[i - 1] / end[i]) < 1.05);
        }
      }
      ASSERT_NEAR(theta[3], damped ? 2.3e-5 : 6.0e-4, damped ? 0.05e-5 : 0.15e-4);
      if (!damped) {
        ASSERT_NEAR(end[3], 9.3e-2, 0.15e-2);
      }
    }
  }
}

// Explicit and symplectic Euler have no theta point to evaluate a stiff law at; implicit Euler's is
// the end.
static void test_stage_of_other_schemes(void** unused) {
  (void)unused;
  const drop d = {CONTACT, 0.002};
  const sap_scheme schemes[3] = {SAP_SCHEME_EXPLICIT_EULER, SAP_SCHEME_SYMPLECTIC_EULER,
                                 SAP_SCHEME_IMPLICIT_EULER};
  for (int i = 0; i < 3; ++i) {
    const double end = vibrate_scheme(d, SAP_STAGE_END, schemes[i], 1e-3);
    assert_true(end == vibrate_scheme(d, SAP_STAGE_AUTO, schemes[i], 1e-3));
  }
}

// A stack of boxes of 1 kg, each `gap` above what it falls on.
typedef struct stack {
  int boxes;
  double gap, k, tau_d;
} stack;

static simulation stack_begin(stack of, sap_scheme scheme, sap_stage stage, double dt) {
  sap_builder* builder = simulation_builder(0.0, 0.0, -9.81);
  const double half[3] = {0.1, 0.1, 0.1};
  const double ground[3] = {5.0, 5.0, 0.1};
  const sap_material material = {
      .stiffness = 2.0 * of.k, .relaxation_time = of.tau_d, .friction = 0.5};
  simulation_shape(builder, 0, SAP_SHAPE_PLANE, ground, material);
  for (int i = 0; i < of.boxes; ++i) {
    const double p[3] = {0.0, 0.0, 0.1 + of.gap + (0.2 + of.gap) * i};
    const int32_t body = simulation_body(builder, 0, 1.0, 1.0 / 150.0, p);
    simulation_joint(builder, body, SAP_JOINT_FREE, 0.0, 0.0, 1.0);
    simulation_shape(builder, body, SAP_SHAPE_BOX, half, material);
  }
  return simulation_begin_stage(builder, scheme, stage, dt);
}

// Four boxes, near rigid (k 1e8), dropped by 1 mm, dt 10 ms: at rest after 4 s as quietly as with
// the end of the step.
static double stack_kinetic(sap_stage stage, double k, double tau_d) {
  const stack of = {.boxes = 4, .gap = 0.001, .k = k, .tau_d = tau_d};
  simulation s = stack_begin(of, SAP_SCHEME_MIDPOINT, stage, 0.01);
  simulation_step(&s, 400);
  const double kinetic = simulation_diagnose(&s).kinetic;
  simulation_end(&s);
  return kinetic;
}

static void test_stack_is_quiet(void** unused) {
  (void)unused;
  // near rigid by stiffness, by damping, and soft enough to be resolved
  const double k[3] = {1e8, 1e4, 500.0};
  const double tau_d[3] = {0.01, 0.1, 0.05};
  for (int i = 0; i < 3; ++i) {
    const double end = stack_kinetic(SAP_STAGE_END, k[i], tau_d[i]);
    const double theta = stack_kinetic(SAP_STAGE_THETA, k[i], tau_d[i]);
    print_message("stack k %g: kinetic energy %.3g J (end) %.3g J (theta)\n", k[i], end, theta);
    assert_true(theta <= 2.0 * end + 1e-9);
  }
}

// Boxes that touch, or fall by 1 cm, come to rest, though the midpoint rule moves them by the mean
// of the speeds before and after an impact. 1e-8 m/s is a ten millionth of the g dt by which
// they hopped for ever.
static void test_hard_landings_end(void** unused) {
  (void)unused;
  const int boxes[3] = {1, 2, 5};
  const double gaps[2] = {0.0, 0.01};
  const double tau_d[3] = {0.002, 0.005, 0.01};
  const double dts[2] = {0.01, 0.02};
  for (int i = 0; i < 36; ++i) {
    const stack of = {boxes[i % 3], gaps[i / 3 % 2], 1e6, tau_d[i / 6 % 3]};
    const double dt = dts[i / 18];
    simulation s = stack_begin(of, SAP_SCHEME_MIDPOINT, SAP_STAGE_AUTO, dt);
    simulation_step(&s, 500);
    double fastest = 0.0;
    for (int j = 0; j < s.state.nv; ++j) {
      fastest = fmax(fastest, fabs(s.state.v[j]));
    }
    print_message("%d boxes, gap %g m, tau_d %g s, dt %g s: %.2g m/s at the end\n", of.boxes,
                  of.gap, of.tau_d, dt, fastest);
    assert_true(fastest < 1e-8);
    simulation_end(&s);
  }
}

// A ball falls towards one that rests, so that the contact of that one acts at the middle of the
// step. It reaches the other after 1.25 steps: in the next one it falls freely, to the bit.
static void test_no_action_at_a_distance(void** unused) {
  (void)unused;
  static const double dt = 0.01, speed = 2.0;
  simulation s = simulation_begin_text(
      "<mujoco><default><geom friction='0'/></default><worldbody><geom type='plane' size='9 9 1'/>"
      "<body pos='0 0 .14'><freejoint/><geom size='.14'/></body>"
      "<body pos='0 0 2'><freejoint/><geom size='.1'/></body></worldbody></mujoco>",
      SAP_SCHEME_MIDPOINT, dt);
  simulation_step(&s, 3);
  assert_true(s.state.q[2] < 0.14);
  memset(s.state.v, 0, (size_t)s.state.nv * sizeof *s.state.v);
  s.state.q[9] = s.state.q[2] + 0.24 + 1.25 * dt * speed;
  s.state.v[8] = -speed;
  simulation_step(&s, 1);
  assert_true(s.state.v[8] == -speed - dt * gravity);
  simulation_end(&s);
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(test_no_action_at_a_distance), cmocka_unit_test(test_orders),
      cmocka_unit_test(test_stage_of_other_schemes),  cmocka_unit_test(test_stack_is_quiet),
      cmocka_unit_test(test_hard_landings_end),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
