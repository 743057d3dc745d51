// SPDX-License-Identifier: BSD-3-Clause
// A chain of separate bodies tied by very stiff springs or bushings, swinging at large steps.
#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include <cmocka.h>

#include "math/vector3.h"
#include "multibody/dynamics/dynamics.h"
#include "support/near.h"
#include "support/simulation.h"

enum { BODIES = 20 };
static const double spacing = 0.1;

// Along x from a point of the world; springs between their ends, or bushings in the middle between.
static sap_builder* chain(int32_t bodies, double stiffness, double damping, bool bushings) {
  sap_builder* builder = simulation_builder(0.0, 0.0, -9.81);
  int32_t last = 0;
  for (int32_t i = 0; i < bodies; ++i) {
    const double p[3] = {spacing * (i + 1), 0.0, 0.0};
    const int32_t body = simulation_body(builder, 0, 1.0, 1e-3, p);
    simulation_joint(builder, body, SAP_JOINT_FREE, 0.0, 0.0, 1.0);
    if (bushings) {
      sap_bushing_def def = sap_bushing_def_default();
      def.body_a = last;
      def.body_b = body;
      def.p_AF[0] = 0.5 * spacing;
      def.p_BG[0] = -0.5 * spacing;
      for (int k = 0; k < 3; ++k) {
        def.stiffness[k + 3] = stiffness;
        def.stiffness[k] = 1e-3 * stiffness;
        def.damping[k + 3] = damping;
        def.damping[k] = 1e-3 * damping;
      }
      assert_int_equal(sap_builder_add_bushing(builder, &def, NULL, NULL), SAP_STATUS_OK);
    } else {
      sap_spring_def def = sap_spring_def_default();
      def.body_a = last;
      def.body_b = body;
      def.stiffness = stiffness;
      def.damping = damping;
      def.rest_length = spacing;
      assert_int_equal(sap_builder_add_spring(builder, &def, NULL, NULL), SAP_STATUS_OK);
    }
    last = body;
  }
  return builder;
}

// The largest relative stretch of the distances between neighbours.
static double stretch(const simulation* s) {
  double largest = 0.0, last[3] = {0.0, 0.0, 0.0};
  for (int32_t i = 0; i < s->state.nq / 7; ++i) {
    double d[3];
    sap_v3_sub(d, s->state.q + 7 * i, last);
    largest = fmax(largest, fabs(sap_v3_norm(d) / spacing - 1.0));
    sap_v3_copy(last, s->state.q + 7 * i);
  }
  return largest;
}

static double energy(simulation* s) {
  const sap_diagnostics now = simulation_diagnose(s);
  return now.kinetic + now.potential_gravity + now.potential_springs;
}

// 1e8 N/m between separate trees at 10 ms: stable, energy never grows, neighbours keep their
// distance to the elongation under the load, and it swings.
static void test_stable(void** unused) {
  (void)unused;
  for (int bushings = 0; bushings < 2; ++bushings) {
    simulation s =
        simulation_begin(chain(BODIES, 1e8, 0.0, bushings == 1), SAP_SCHEME_IMPLICIT_EULER, 0.01);
    const double start = energy(&s);
    double lowest = 0.0;
    for (int32_t n = 0; n < 150; ++n) {
      simulation_step(&s, 1);
      assert_true(energy(&s) <= start);
      assert_true(stretch(&s) < 1e-4);
      lowest = fmin(lowest, s.state.q[7 * (BODIES - 1) + 2]);
    }
    print_message("1e8 N/m, 10 ms, %s: lowest %.4f m\n", bushings == 1 ? "bushings" : "springs",
                  lowest);
    assert_true(bushings == 1 ? lowest < -1e-3 : lowest < -1.0);
    simulation_end(&s);
  }
}

static void swing(bool bushings, double dt, double* q) {
  simulation s = simulation_begin(chain(3, 1e4, 10.0, bushings), SAP_SCHEME_MIDPOINT, dt);
  simulation_step(&s, (int32_t)lround(0.2 / dt));
  for (int i = 0; i < 3; ++i) {
    memcpy(q + 3 * i, s.state.q + 7 * i, 3 * sizeof *q);
  }
  simulation_end(&s);
}

static double distance(const double* a, const double* b) {
  double sum = 0.0;
  for (int i = 0; i < 9; ++i) {
    sum += (a[i] - b[i]) * (a[i] - b[i]);
  }
  return sqrt(sum);
}

static void test_order(void** unused) {
  (void)unused;
  for (int bushings = 0; bushings < 2; ++bushings) {
    double reference[9], coarse[9], fine[9];
    swing(bushings == 1, 5e-5, reference);
    swing(bushings == 1, 2e-3, coarse);
    swing(bushings == 1, 1e-3, fine);
    const double order = log2(distance(coarse, reference) / distance(fine, reference));
    print_message("midpoint, %s: order %.3f\n", bushings == 1 ? "bushings" : "springs", order);
    ASSERT_NEAR(order, 2.0, 0.1);
  }
}

int main(void) {
  const struct CMUnitTest tests[] = {cmocka_unit_test(test_stable), cmocka_unit_test(test_order)};
  return cmocka_run_group_tests(tests, NULL, NULL);
}
