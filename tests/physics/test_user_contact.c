// SPDX-License-Identifier: BSD-3-Clause
// A system of a user's own, through public headers alone, with a contact whose point, normal and J
// move: a ball rolls in the x-z plane over a fixed sphere. Midpoint is second order with the
// contact at the theta point, first order with the contact at the end of the step or with J at q0.
#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include <sapstep/stepper.h>
#include <sapstep/system.h>

static const double mass = 1.0, radius = 0.2, sphere_radius = 1.0, gravity = 9.81;
static const double inertia = 0.4 * 1.0 * 0.2 * 0.2;  // 2/5 m r^2 [kg m^2]
static const double duration = 0.4;                   // [s], the ball rolls from 0.2 to 0.5 rad

typedef struct ball {
  bool moves;     // the contact is evaluated at q^theta
  double lowest;  // smallest penetration of all steps [m]
} ball;

// The contact at q = (x, z, turn about y).
typedef struct touch {
  double phi;
  double n[3], t1[3];  // t2 is the y axis
  double J[9];         // rows t1, t2, n; columns x, z, turn
} touch;

static touch find_touch(const double* q) {
  const double distance = hypot(q[0], q[1]);
  touch c = {.phi = distance - sphere_radius - radius,
             .n = {q[0] / distance, 0.0, q[1] / distance},
             .t1 = {q[1] / distance, 0.0, -q[0] / distance}};
  for (int j = 0; j < 2; ++j) {
    c.J[3 * j] = c.t1[2 * j];
    c.J[3 * j + 2] = c.n[2 * j];
  }
  c.J[6] = -radius;
  return c;
}

// vc = J v
static void multiply(const touch* c, const double* v, double vc[3]) {
  for (int r = 0; r < 3; ++r) {
    vc[r] = c->J[r] * v[0] + c->J[3 + r] * v[1] + c->J[6 + r] * v[2];
  }
}

static int mass_matrix(void* context, const double* q, const sap_tree_matrix* M) {
  (void)context;
  (void)q;
  M->diagonal[0][0] = M->diagonal[0][4] = mass;
  M->diagonal[0][8] = inertia;
  return 0;
}

static int forces(void* context, double t, const double* q, const double* v, double* k1,
                  double* k2) {
  (void)context;
  (void)t;
  (void)q;
  (void)v;
  (void)k1;
  k2[1] = -mass * gravity;
  return 0;
}

static int integrate_positions(void* context, const double* q0, const double* v, double dt,
                               double* q) {
  (void)context;
  for (int i = 0; i < 3; ++i) {
    q[i] = q0[i] + dt * v[i];
  }
  return 0;
}

// Moves the contact from q0 to q^theta.
static sap_status move_contact(const sap_step_context* step, touch* c, sap_contact_block* block,
                               sap_error* error) {
  const touch start = *c;
  double way[3], q_theta[3], vc[3];
  sap_contact_move move = {.phi0 = start.phi};
  sap_status status = sap_step_displacement(step, 3, way, error);
  if (status != SAP_STATUS_OK) {
    return status;
  }
  (void)integrate_positions(NULL, step->q0, way, 1.0, q_theta);
  *c = find_touch(q_theta);
  move.phi_theta = c->phi;
  multiply(&start, step->v_guess, vc);
  for (int i = 0; i < 3; ++i) {
    move.normal0[i] = start.n[i];
    move.velocity0[i] = start.t1[i] * vc[0] + start.n[i] * vc[2];
    move.R_WC_theta[i] = c->t1[i];
    move.R_WC_theta[3 + i] = i == 1 ? 1.0 : 0.0;
    move.R_WC_theta[6 + i] = c->n[i];
  }
  multiply(c, step->v_guess, move.velocity_theta);
  multiply(c, way, vc);
  move.normal_displacement = vc[2];
  return sap_contact_block_move(step, &move, block, error);
}

static int constraints(void* context, const sap_step_context* step, sap_problem* problem,
                       sap_error* error) {
  ball* b = context;
  touch c = find_touch(step->q0);
  const int32_t tree = 0;
  const double* jacobian = c.J;
  sap_contact_block block = {
      .ntrees = 1,
      .trees = &tree,
      .jacobians = &jacobian,
      .material = {.stiffness = 1e3, .relaxation_time = 0.01, .friction = 1.0},
      .phi0 = c.phi,
      .key = 1};
  double vc0[3];
  multiply(&c, step->v0_free, vc0);
  b->lowest = fmin(b->lowest, -c.phi);
  if (b->moves && sap_step_contact_is_within(step, c.phi, vc0[2])) {
    const sap_status status = move_contact(step, &c, &block, error);
    if (status != SAP_STATUS_OK) {
      return (int)status;
    }
  }
  return (int)sap_problem_add_contact(problem, &block, &step->regularization, error);
}

// Rolls for `duration` in `steps` steps; q and v at the end in out[0 .. 5].
static void roll(bool moves, sap_stage stage, int steps, double out[6]) {
  static const int32_t size = 3;
  ball b = {.moves = moves, .lowest = HUGE_VAL};
  const sap_system system = {.context = &b,
                             .nq = 3,
                             .nv = 3,
                             .ntrees = 1,
                             .tree_sizes = &size,
                             .mass_matrix = mass_matrix,
                             .forces = forces,
                             .integrate_positions = integrate_positions,
                             .constraints = constraints};
  const double angle = 0.2, speed = 0.5;
  const double distance = sphere_radius + radius - mass * gravity * cos(angle) / 1e3;
  sap_state state = {.q = out, .v = out + 3, .nq = 3, .nv = 3};
  out[0] = distance * sin(angle);
  out[1] = distance * cos(angle);
  out[2] = 0.0;
  out[3] = speed * cos(angle);
  out[4] = -speed * sin(angle);
  out[5] = speed / radius;
  sap_stepper_options options = sap_stepper_options_default();
  options.dt = duration / steps;
  options.contact_stage = stage;
  options.regularization.sigma = 1e-8;  // creep sigma w dt f of first order, here below 1e-9 m/s
  options.solver_options.relative_tolerance = 1e-13;
  sap_stepper* stepper = NULL;
  sap_error error = {0};
  assert_int_equal(sap_stepper_options_set_scheme(&options, SAP_SCHEME_MIDPOINT, NULL), 0);
  assert_int_equal(sap_stepper_create(&system, &options, &stepper, &error), SAP_STATUS_OK);
  for (int i = 0; i < steps; ++i) {
    if (sap_stepper_step(stepper, &state, NULL, &error) != SAP_STATUS_OK) {
      fail_msg("%s", error.message);
    }
  }
  sap_stepper_destroy(stepper);
  assert_true(b.lowest > 1e-3);  // of 9.6e-3 m at rest: the contact lasts
}

static double distance_of(const double a[6], const double b[6]) {
  double sum = 0.0;
  for (int i = 0; i < 6; ++i) {
    sum += (a[i] - b[i]) * (a[i] - b[i]);
  }
  return sqrt(sum);
}

enum { LEVELS = 4, COARSE = 100, REFERENCE = 12800 };

static void find_orders(bool moves, sap_stage stage, const double exact[6], double order[LEVELS]) {
  double before = 0.0;
  for (int k = 0; k < LEVELS; ++k) {
    double end[6];
    roll(moves, stage, COARSE << k, end);
    const double error = distance_of(end, exact);
    order[k] = k > 0 ? log2(before / error) : 0.0;
    before = error;
    print_message("J %s, stage %s, dt %g s: error %.3g, order %.3f\n",
                  moves ? "at q_theta" : "at q0", sap_stage_text(stage), duration / (COARSE << k),
                  error, order[k]);
  }
}

// dt from 4 ms to 0.5 ms against dt = 31 us. The error of the reference is 1/256 of the finest
// error: it changes that order by less than 0.01. The next term of the error is a share dt/tau_d or
// dt w of the first (w = 32 rad/s), 0.1 at dt = 1 ms at most.
static void test_orders(void** state) {
  (void)state;
  double exact[6], order[LEVELS];
  roll(true, SAP_STAGE_AUTO, REFERENCE, exact);
  find_orders(true, SAP_STAGE_AUTO, exact, order);
  assert_true(fabs(order[LEVELS - 2] - 2.0) < 0.1 && fabs(order[LEVELS - 1] - 2.0) < 0.1);
  find_orders(true, SAP_STAGE_END, exact, order);
  assert_true(fabs(order[LEVELS - 1] - 1.0) < 0.1);
  find_orders(false, SAP_STAGE_AUTO, exact, order);
  assert_true(fabs(order[LEVELS - 1] - 1.0) < 0.1);
}

// Refused: no expected velocities, opposite normals, NULL.
static void test_refusals(void** state) {
  (void)state;
  const double v[3] = {0.0, 0.0, 0.0};
  double way[3];
  sap_step_context step = {.dt = 0.01, .stage_theta = 0.5, .stage_theta_vq = 0.5, .v0_free = v};
  sap_contact_move move = {.normal0 = {0.0, 0.0, -1.0}, .R_WC_theta = {1, 0, 0, 0, 1, 0, 0, 0, 1}};
  sap_contact_block block = {.gap_change = 7.0};
  assert_int_equal(sap_step_displacement(&step, 3, way, NULL), SAP_STATUS_ARGUMENT);
  assert_int_equal(sap_contact_block_move(&step, &move, &block, NULL), SAP_STATUS_ARGUMENT);
  assert_true(block.gap_change == 7.0);
  assert_false(sap_step_contact_is_within(NULL, -1.0, 0.0));
  assert_true(sap_step_contact_is_within(&step, -1e-3, 0.0));
  assert_false(sap_step_contact_is_within(&step, -1e-3, -0.2));  // it closed in the last step
  step.stage_theta_vq = 1.0;
  assert_false(sap_step_contact_is_within(&step, -1e-3, 0.0));
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(test_orders),
      cmocka_unit_test(test_refusals),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
