// SPDX-License-Identifier: BSD-3-Clause
// Energy does not grow beyond its start in passive scenes: random trees with joint springs,
// dampers, limits and friction, tied by springs, bushings, tendons, loops and welds that are
// relaxed at first, falling on a floor. Light links whirl between heavy ones at up to 400 rad/s: at
// steps of 2 ms they turn by most of a radian.
#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "math/vector3.h"
#include "support/near.h"
#include "support/simulation.h"

enum { TREES = 3, LINKS = 3, SCENES = 100 };

// Reproducible numbers in [0, 1).
typedef struct dice {
  uint64_t state;
} dice;

static double roll(dice* d) {
  d->state = d->state * UINT64_C(6364136223846793005) + UINT64_C(1442695040888963407);
  return (double)(d->state >> 11) * 0x1p-53;
}

static double between(dice* d, double low, double high) {
  return low + (high - low) * roll(d);
}

typedef struct scene {
  sap_builder* builder;
  int32_t root[TREES], tip[TREES];
  sap_contact_model model;
  double p_root[TREES][3], p_tip[TREES][3];
} scene;

static int32_t add_link(scene* x, dice* d, int32_t parent, const double p[3]) {
  const double mass = pow(10.0, between(d, -1.0, 1.0)), size = between(d, 0.03, 0.1);
  const double half[3] = {size, size, size};
  const sap_material material = {.stiffness = pow(10.0, between(d, 4.0, 8.0)),
                                 .relaxation_time = between(d, 0.0, 0.05),
                                 .friction = between(d, 0.0, 1.0),
                                 .model = x->model,
                                 .dissipation = between(d, 0.0, 30.0)};
  const int32_t body = simulation_body(x->builder, parent, mass, 0.4 * mass * size * size, p);
  simulation_shape(x->builder, body, roll(d) < 0.5 ? SAP_SHAPE_BOX : SAP_SHAPE_SPHERE, half,
                   material);
  return body;
}

static void add_joint(scene* x, dice* d, int32_t body) {
  static const sap_joint_type types[3] = {SAP_JOINT_HINGE, SAP_JOINT_SLIDE, SAP_JOINT_BALL};
  sap_joint_def joint = sap_joint_def_default();
  joint.type = types[(int)(3.0 * roll(d))];
  joint.body = body;
  for (int i = 0; i < 3; ++i) {
    joint.axis[i] = between(d, -1.0, 1.0);
    joint.p_BJ[i] = between(d, -0.1, 0.1);
  }
  joint.stiffness = roll(d) < 0.5 ? pow(10.0, between(d, 0.0, 2.0)) : 0.0;
  joint.damping = roll(d) < 0.5 ? between(d, 0.0, 1.0) : 0.0;
  joint.friction_loss = roll(d) < 0.3 ? between(d, 0.0, 1.0) : 0.0;
  joint.upper = roll(d) < 0.4 ? between(d, 0.05, 0.5) : (double)INFINITY;
  assert_int_equal(sap_builder_add_joint(x->builder, &joint, NULL, NULL), SAP_STATUS_OK);
}

static void add_trees(scene* x, dice* d) {
  for (int t = 0; t < TREES; ++t) {
    sap_v3_set(x->p_root[t], 0.6 * t, between(d, -0.2, 0.2), between(d, 0.4, 0.7));
    int32_t body = x->root[t] = add_link(x, d, 0, x->p_root[t]);
    simulation_joint(x->builder, body, SAP_JOINT_FREE, 0.0, 0.0, 1.0);
    sap_v3_copy(x->p_tip[t], x->p_root[t]);
    for (int l = 1; l < LINKS; ++l) {
      const double p[3] = {between(d, -0.1, 0.1), between(d, -0.1, 0.1), between(d, 0.1, 0.2)};
      body = add_link(x, d, body, p);
      sap_v3_add(x->p_tip[t], x->p_tip[t], p);
      add_joint(x, d, body);
    }
    x->tip[t] = body;
  }
}

// Between neighbouring trees: a spring, a bushing, a tendon or an equality, relaxed at the start.
static void add_ties(scene* x, dice* d) {
  for (int t = 0; t + 1 < TREES; ++t) {
    const int kind = (int)(5.0 * roll(d));
    const double k = pow(10.0, between(d, 1.0, 4.0));
    double half[3], between_tips[3];
    sap_v3_sub(between_tips, x->p_tip[t + 1], x->p_tip[t]);
    sap_v3_sub(half, x->p_root[t + 1], x->p_root[t]);
    sap_v3_scale(half, half, 0.5);
    if (kind == 0) {
      const sap_spring_def spring = {.cookie = sap_spring_def_default().cookie,
                                     .body_a = x->tip[t],
                                     .body_b = x->tip[t + 1],
                                     .stiffness = k,
                                     .damping = between(d, 0.0, 1.0),
                                     .rest_length = sap_v3_norm(between_tips)};
      assert_int_equal(sap_builder_add_spring(x->builder, &spring, NULL, NULL), SAP_STATUS_OK);
    } else if (kind == 1) {
      sap_bushing_def bushing = sap_bushing_def_default();
      bushing.body_a = x->tip[t];
      bushing.body_b = x->root[t + 1];
      sap_v3_sub(bushing.p_AF, x->p_root[t + 1], x->p_tip[t]);
      for (int i = 0; i < 6; ++i) {
        bushing.stiffness[i] = k * (i < 3 ? 0.01 : 1.0);
      }
      assert_int_equal(sap_builder_add_bushing(x->builder, &bushing, NULL, NULL), SAP_STATUS_OK);
    } else if (kind == 2) {
      const int32_t bodies[3] = {x->tip[t], x->root[t + 1], x->tip[t + 1]};
      const double points[9] = {0.0};
      sap_tendon_def tendon = sap_tendon_def_default();
      tendon.npoints = 3;
      tendon.point_bodies = bodies;
      tendon.points = points;
      tendon.stiffness = k;
      assert_int_equal(sap_builder_add_tendon(x->builder, &tendon, NULL, NULL), SAP_STATUS_OK);
    } else {
      sap_equality_def equality = sap_equality_def_default();
      equality.type = kind == 3 ? SAP_EQUALITY_CONNECT : SAP_EQUALITY_WELD;
      equality.a = x->root[t];
      equality.b = x->root[t + 1];
      sap_v3_copy(equality.anchor_A, half);
      sap_v3_scale(equality.anchor_B, half, -1.0);
      assert_int_equal(sap_builder_add_equality(x->builder, &equality, NULL, NULL), SAP_STATUS_OK);
    }
  }
}

static double energy(simulation* s) {
  const sap_diagnostics now = simulation_diagnose(s);
  return now.kinetic + now.potential_gravity + now.potential_springs;
}

// The solver's cost never rises from one iteration to the next, but by round-off. Returns how many
// iterations there were.
static int32_t check_costs(const sap_report* solver, double energy, uint64_t seed) {
  const int32_t count = solver != NULL ? solver->history_count : 0;
  for (int32_t i = 1; i < count; ++i) {
    const double before = solver->history[i - 1].cost, cost = solver->history[i].cost;
    if (!(cost <= before + 1e-10 * solver->history[0].cost + 1e-12 * energy)) {
      fail_msg("scene %d: cost %.17g behind %.17g in iteration %d", (int)seed, cost, before,
               (int)i);
    }
  }
  return count;
}

static void test_energy(void** unused) {
  (void)unused;
  int32_t iterations = 0;
  for (uint64_t seed = 1; seed <= SCENES; ++seed) {
    dice d = {seed};
    scene x = {.builder = simulation_builder(0.0, 0.0, -9.81),
               .model = (sap_contact_model)(seed % 3)};
    const double size[3] = {1.0, 1.0, 1.0};
    simulation_shape(x.builder, 0, SAP_SHAPE_PLANE, size, sap_material_default());
    add_trees(&x, &d);
    add_ties(&x, &d);
    const double dt = 0.002;
    simulation s = simulation_begin(x.builder, SAP_SCHEME_IMPLICIT_EULER, dt);
    const double start = energy(&s);
    for (int32_t n = 0; n < 250; ++n) {
      simulation_step(&s, 1);
      iterations += check_costs(s.report.solver, start, seed);
      const double gain = energy(&s) - start;
      if (!(gain <= 1e-9 * start)) {  // round-off
        fail_msg("scene %d: %g J of %g J gained by step %d", (int)seed, gain, start, (int)n);
      }
    }
    simulation_end(&s);
  }
  assert_true(iterations > 100 * SCENES);  // most steps have contacts
}

// Three hinges of one body, the second at a right angle: the first and the third line up, and their
// share of the mass matrix is singular.
static void test_gimbal_lock(void** unused) {
  (void)unused;
  for (uint64_t seed = 1; seed <= 40; ++seed) {
    dice d = {seed};
    const double p[3] = {0.02, 0.01, 0.0}, size[3] = {0.1, 0.1, 0.1};
    sap_builder* builder = simulation_builder(0.0, 0.0, -9.81);
    const int32_t body = simulation_body(builder, 0, 4.0, 0.016, p);
    for (int i = 0; i < 3; ++i) {
      simulation_joint(builder, body, SAP_JOINT_HINGE, i == 0, i == 1, i == 2);
    }
    simulation_shape(builder, body, SAP_SHAPE_SPHERE, size, sap_material_default());
    simulation s = simulation_begin(builder, SAP_SCHEME_IMPLICIT_EULER, 0.002);
    s.state.q[0] = between(&d, -1.0, 1.0);
    s.state.q[1] = acos(0.0);
    s.state.q[2] = between(&d, -1.0, 1.0);
    for (int i = 0; i < 3 && seed % 3 > 0; ++i) {
      s.state.v[i] = i == 1 && seed % 3 > 1 ? 0.0 : between(&d, -30.0, 30.0);
    }
    const double start = energy(&s);
    for (int32_t n = 0; n < 100; ++n) {
      simulation_step(&s, 1);
      assert_true(energy(&s) <= start + 1e-7);  // gravity 4 N over steps of 1e-9 m
    }
    simulation_end(&s);
  }
}

int main(void) {
  const struct CMUnitTest tests[] = {cmocka_unit_test(test_energy),
                                     cmocka_unit_test(test_gimbal_lock)};
  return cmocka_run_group_tests(tests, NULL, NULL);
}
