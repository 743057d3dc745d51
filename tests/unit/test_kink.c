// SPDX-License-Identifier: BSD-3-Clause
// Kinks of one contact in a step of the midpoint scheme: when it touches, when friction stops it,
// against closed forms.
#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "integrators/kink.h"
#include "support/near.h"

static const double DT = 0.01, MU = 0.5;

typedef struct motion {
  double phi0, v0[3], v_star[3], belt[3];
  double relaxation_time, sigma;
  double vc[3], gamma[3];  // of the solution
} motion;

// The kink of a mass of 1 kg on a contact of 1e4 N/m, for a solution that is given.
static sap_kink kink_of(const motion* m, const sap_adaptive_options* options) {
  static const double UNIT[9] = {1, 0, 0, 0, 1, 0, 0, 0, 1};
  static const double* const jacobians[1] = {UNIT};
  static const int32_t tree = 0, size = 3;
  const sap_contact_scheme scheme = {.theta = 0.5,
                                     .theta_vq = 0.5,
                                     .model = SAP_CONTACT_BY_MATERIAL,
                                     .v0 = m->v0,
                                     .v_star = m->v_star};
  const sap_regularization regularization = {1.0, m->sigma, 0.0};
  const sap_contact_block contact = {
      .ntrees = 1,
      .trees = &tree,
      .jacobians = jacobians,
      .material = {.stiffness = 1e4, .relaxation_time = m->relaxation_time, .friction = MU},
      .surface_velocity = {m->belt[0], m->belt[1], m->belt[2]},
      .phi0 = m->phi0};
  double v[3] = {0.0}, vc[3], gamma[3];
  for (int i = 0; i < 3; ++i) {
    vc[i] = m->vc[i];
    gamma[i] = m->gamma[i];
  }
  const sap_solution solution = {.v = v, .vc = vc, .gamma = gamma, .nv = 3, .nrows = 3};
  sap_problem* p;
  assert_int_equal(sap_problem_create(&p, NULL), SAP_STATUS_OK);
  assert_int_equal(sap_problem_reset(p, DT, 1, &size, NULL), SAP_STATUS_OK);
  assert_int_equal(sap_problem_set_momentum_block(p, 0, 0, UNIT, 3, NULL), SAP_STATUS_OK);
  assert_int_equal(sap_problem_set_v_star(p, m->v_star, NULL), SAP_STATUS_OK);
  assert_int_equal(sap_problem_set_law(p, &scheme, NULL), SAP_STATUS_OK);
  assert_int_equal(sap_problem_add_contact(p, &contact, &regularization, NULL), SAP_STATUS_OK);
  sap_kink kink = sap_kink_find(p, &solution, options);
  assert_true((kink.block != NULL) == (kink.error > 0.0));
  kink.block = NULL;
  sap_problem_destroy(p);
  return kink;
}

// An overdamped contact at 2 m/s from 12 mm touches at 6 ms. The step that leaves less to the next
// one ends accuracy/u before, where error control puts half of that; if none is left, half way.
static void test_impact(void** state) {
  (void)state;
  const motion m = {.phi0 = 0.012,
                    .v0 = {0.0, 0.0, -2.0},
                    .v_star = {0.0, 0.0, -2.0},
                    .relaxation_time = 0.2,
                    .sigma = 1e-3,
                    .vc = {0.0, 0.0, 0.0},
                    .gamma = {0.0, 0.0, 2.0}};
  static const double accuracies[3] = {1e-4, 4e-3, 0.1};
  for (int i = 0; i < 3; ++i) {
    sap_adaptive_options options = sap_adaptive_options_default();
    options.accuracy = accuracies[i];
    const sap_kink kink = kink_of(&m, &options);
    const double before = 0.006 - 0.5 * accuracies[i] / 2.0;
    assert_int_equal(kink.reason, SAP_ADAPTIVE_KINK);
    ASSERT_NEAR(kink.error, 2.0 * 0.006, 1e-15);  // W_nn gamma_n t
    ASSERT_NEAR(kink.time, before > 0.0 ? before : 0.5 * DT, 1e-15);
  }
}

// Friction mu gamma_n takes 0.6 m/s; what slides at 0.4 m/s relative to the belt stops after 2/3 of
// the step, and then the belt's motion holds. Slip that friction's own R explains is no stop.
static void test_stop(void** state) {
  (void)state;
  motion m = {.phi0 = -0.01,
              .v0 = {0.7, 0.0, 0.0},
              .v_star = {0.7, 0.0, 0.0},
              .belt = {-0.3, 0.0, 0.0},  // of the surface: the contact's slip is v + it
              .sigma = 1e-3,
              .vc = {0.3, 0.0, 0.0},
              .gamma = {-0.4, 0.0, 1.2}};
  const sap_adaptive_options options = sap_adaptive_options_default();
  sap_kink kink = kink_of(&m, &options);
  assert_int_equal(kink.reason, SAP_ADAPTIVE_STOP);
  ASSERT_NEAR(kink.time, DT * 2.0 / 3.0, 1e-15);
  // no other force: the exact impulse is the one of the step
  ASSERT_NEAR(kink.error, 0.0, 1e-15);
  // A force that ends with a slip of 0.1 m/s: f = s1 - s0 - gamma_t = 0.1, ts = h 0.4/(0.6 - 0.1).
  m.vc[0] = 0.4;
  kink = kink_of(&m, &options);
  ASSERT_NEAR(kink.time, DT * 0.8, 1e-15);
  // The contact is held, and the next step takes the rest of the slip: an error of positions alone.
  ASSERT_NEAR(kink.error, (0.6 * 0.8 + 0.1 * 0.2 - 0.4) * 0.5 * DT, 1e-15);
  // f = -1.5 m/s turns the slip, friction 0.6 does not hold it: the velocity stays wrong.
  m.vc[0] = -1.2;
  kink = kink_of(&m, &options);
  const double stop = 0.4 / (0.6 + 1.5);
  ASSERT_NEAR(kink.time, DT * stop, 1e-15);
  ASSERT_NEAR(kink.error,
              (0.4 - 0.6 * stop + 0.6 * (1.0 - stop)) * (options.velocity_time + 0.5 * DT), 1e-15);
  m.vc[0] = 0.4;
  // R_t mu gamma_n = 0.5 0.577 0.6 m/s (w = |I|_F/3): slower contacts creep
  m.sigma = 0.5 / (sqrt(3.0) / 3.0) / 0.6 * 0.41;
  kink = kink_of(&m, &options);
  assert_true(kink.error > 0.0);
  m.sigma *= 3.0;
  kink = kink_of(&m, &options);
  assert_true(kink.error == 0.0 && kink.time == DT);
}

// A body that opens at 1 m/s and closes at 3 m/s, mean force -400 N, touches once, at the later root
// of phi0 + v0 t + a t^2/2 alone; the impulse of f = -k phi from there on is the true one.
static void test_opens_and_closes(void** state) {
  (void)state;
  const motion m = {.phi0 = 1e-3,
                    .v0 = {0.0, 0.0, 1.0},
                    .v_star = {0.0, 0.0, -3.0},
                    .sigma = 1e-3,
                    .vc = {0.0, 0.0, -3.0},
                    .gamma = {0.0, 0.0, 0.0}};
  const sap_adaptive_options options = sap_adaptive_options_default();
  const double a = -4.0 / DT, touch = (-1.0 - sqrt(1.0 - 2.0 * a * m.phi0)) / a;
  double impulse = 0.0;
  for (int i = 0; i < 2; ++i) {
    const double t = i == 0 ? touch : DT;
    impulse += (i == 0 ? 1e4 : -1e4) * t * (m.phi0 + t * (0.5 + t * a / 6.0));
  }
  const sap_kink kink = kink_of(&m, &options);
  assert_int_equal(kink.reason, SAP_ADAPTIVE_KINK);
  ASSERT_NEAR(kink.error, impulse * (options.velocity_time + 0.5 * DT), 1e-15);
  assert_true(kink.time > 0.5 * touch && kink.time < DT);
}

int main(void) {
  const struct CMUnitTest tests[] = {cmocka_unit_test(test_impact), cmocka_unit_test(test_stop),
                                     cmocka_unit_test(test_opens_and_closes)};
  return cmocka_run_group_tests(tests, NULL, NULL);
}
