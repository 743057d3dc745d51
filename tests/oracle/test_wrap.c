// SPDX-License-Identifier: BSD-3-Clause
// Strings round spheres and cylinders and through rings against geometry: they touch where they
// should, straight parts are tangent, a ring bends them at the least length, and the gradient of a
// tendon's length is that of its differences.
#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include <cmocka.h>

#include <sapstep/scene.h>

#include "math/vector3.h"
#include "multibody/dynamics/actuators.h"
#include "multibody/dynamics/drive.h"
#include "multibody/dynamics/dynamics.h"
#include "support/near.h"

static uint64_t seed = 12345;

// In [-1, 1].
static double uniform(void) {
  seed = seed * 6364136223846793005u + 1442695040888963407u;
  return 2.0 * (double)(seed >> 11) / 9007199254740992.0 - 1.0;
}

static void random_point(double scale, double out[3]) {
  for (int k = 0; k < 3; ++k) {
    out[k] = scale * uniform();
  }
}

// The part of x across the cylinder's axis, or x.
static void flatten(const sap_obstacle* o, double x[3]) {
  if (o->cylinder) {
    sap_v3_add_scaled(x, o->axis, -sap_v3_dot(x, o->axis));
  }
}

static double distance(const double a[3], const double b[3]) {
  double d[3];
  sap_v3_sub(d, a, b);
  return sap_v3_norm(d);
}

static sap_obstacle random_obstacle(bool cylinder) {
  sap_obstacle o = {.cylinder = cylinder, .radius = 0.5 + 0.3 * uniform()};
  random_point(1.0, o.center);
  random_point(1.0, o.axis);
  sap_v3_scale(o.axis, o.axis, 1.0 / sap_v3_norm(o.axis));
  return o;
}

static void test_touches(void** state) {
  (void)state;
  int wrapped = 0;
  for (int n = 0; n < 12000; ++n) {
    sap_obstacle o = random_obstacle(n % 2 == 0);
    double ends[2][3], touch[2][3];
    random_point(2.5, ends[0]);
    random_point(2.5, ends[1]);
    o.has_side = n % 3 == 0;
    random_point(3.0, o.side);
    double side[3];
    sap_v3_sub(side, o.side, o.center);
    flatten(&o, side);
    if (o.has_side && (!o.cylinder || sap_v3_norm(side) < o.radius)) {
      continue;  // rings have a test of their own
    }
    const double arc = sap_wrap(&o, ends, touch);
    if (arc < 0.0) {
      continue;
    }
    ++wrapped;
    double length = arc;
    for (int k = 0; k < 2; ++k) {
      double arm[3], line[3], flat[3];
      sap_v3_sub(arm, touch[k], o.center);
      sap_v3_sub(line, ends[k], touch[k]);
      sap_v3_copy(flat, arm);
      flatten(&o, flat);
      ASSERT_NEAR(sap_v3_norm(flat), o.radius, 1e-12);
      ASSERT_NEAR(sap_v3_dot(flat, line), 0.0, 1e-11);  // tangent
      length += sap_v3_norm(line);
    }
    assert_true(length >= distance(ends[0], ends[1]) * (1.0 - 1e-12));
    assert_true(arc >= distance(touch[0], touch[1]) * (1.0 - 1e-12));
    if (o.cylinder) {  // one slope along all parts
      double rise[3];
      for (int k = 0; k < 2; ++k) {
        double line[3];
        sap_v3_sub(line, k == 0 ? touch[0] : ends[1], k == 0 ? ends[0] : touch[1]);
        rise[k] = sap_v3_dot(line, o.axis) / sap_v3_norm(line);
      }
      double along[3];
      sap_v3_sub(along, touch[1], touch[0]);
      rise[2] = sap_v3_dot(along, o.axis) / arc;
      ASSERT_NEAR(rise[0], rise[1], 1e-6);  // as long as the straight parts are not short
      ASSERT_NEAR(rise[0], rise[2], arc > 1e-3 ? 1e-6 : 1.0);
    }
  }
  assert_true(wrapped > 500);
}

// The least length from end to end over a point of the ring's edge, by looking at all of them.
static double shortest(const double a[2], const double b[2], double r) {
  double low = 0.0, high = 2.0 * 3.14159265358979323846, best = (double)INFINITY, at = 0.0;
  for (int round = 0; round < 8; ++round) {
    const double step = (high - low) / 400.0;
    for (int i = 0; i <= 400; ++i) {
      const double t = low + step * i;
      const double length =
          hypot(a[0] - r * cos(t), a[1] - r * sin(t)) + hypot(b[0] - r * cos(t), b[1] - r * sin(t));
      if (length < best) {
        best = length;
        at = t;
      }
    }
    low = at - 2.0 * step;
    high = at + 2.0 * step;
  }
  return best;
}

static void test_ring(void** state) {
  (void)state;
  int bent = 0;
  for (int n = 0; n < 500; ++n) {
    sap_obstacle o = {.cylinder = true, .radius = 0.4, .axis = {0.0, 0.0, 1.0}, .has_side = true};
    double ends[2][3] = {{2.0 * uniform(), 2.0 * uniform(), 0.0},
                         {2.0 * uniform(), 2.0 * uniform(), 0.0}};
    double touch[2][3];
    if (sap_wrap(&o, ends, touch) < 0.0) {
      continue;
    }
    ++bent;
    ASSERT_NEAR(distance(touch[0], touch[1]), 0.0, 0.0);
    ASSERT_NEAR(sap_v3_norm(touch[0]), 0.4, 1e-14);
    ASSERT_NEAR(distance(ends[0], touch[0]) + distance(ends[1], touch[0]),
                shortest(ends[0], ends[1], 0.4), 1e-12);
  }
  assert_true(bent > 100);
}

// Gradients of all tendons of a scene against differences, where the way does not change.
static void check_gradients(const char* path, double speed) {
  sap_model* model = NULL;
  sap_dynamics* d = NULL;
  sap_kinematics kin;
  sap_error error = {0};
  if (sap_scene_read(path, NULL, &model, &error) != SAP_STATUS_OK) {
    fail_msg("%s", error.message);
  }
  assert_int_equal(sap_dynamics_create(model, &d, NULL), SAP_STATUS_OK);
  assert_int_equal(sap_kinematics_create(&kin, d, NULL), SAP_STATUS_OK);
  double q0[64], q[64], v[64], J[64];
  int compared = 0, kinks = 0;
  for (int n = 0; n < 300; ++n) {
    for (int i = 0; i < model->sizes.nv; ++i) {
      v[i] = speed * uniform();
    }
    sap_manifold_integrate(model, model->q_default, v, 1.0, q0);
    for (int i = 0; i < model->sizes.nv; ++i) {
      v[i] = uniform();
    }
    for (int t = 0; t < model->sizes.tendons; ++t) {
      const double h = 1e-5;
      double lengths[3], rate = 0.0;
      for (int side = 0; side < 3; ++side) {
        sap_manifold_integrate(model, q0, v, (double)(side - 1) * h, q);
        sap_kinematics_set(&kin, q);
        lengths[side] = sap_tendon_length(&kin, t);
      }
      sap_kinematics_set(&kin, q0);
      memset(J, 0, sizeof J);
      sap_tendon_add_force(&kin, t, 1.0, J);
      for (int i = 0; i < model->sizes.nv; ++i) {
        rate += J[i] * v[i];
      }
      // The second difference shows a step that meets or leaves an obstacle.
      if (fabs(lengths[0] - 2.0 * lengths[1] + lengths[2]) > 1e-7) {
        ++kinks;
        continue;
      }
      ++compared;
      ASSERT_NEAR((lengths[2] - lengths[0]) / (2.0 * h), rate, 1e-6 * fmax(1.0, fabs(rate)));
    }
  }
  assert_true(compared > 50 * kinks);
  sap_kinematics_clear(&kin);
  sap_dynamics_destroy(d);
  sap_model_destroy(model);
}

static void test_gradients(void** state) {
  (void)state;
  check_gradients(SAPSTEP_SOURCE_DIR "/tests/oracle/scene/tricky/wrap.xml", 1.0);
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(test_touches),
      cmocka_unit_test(test_ring),
      cmocka_unit_test(test_gradients),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
