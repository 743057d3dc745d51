// SPDX-License-Identifier: BSD-3-Clause
// Equality blocks: g recomputed here from body poses, Jacobians against its differences, R and
// v_hat against their formulas; what the constrained motion must be.
#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include <cmocka.h>

#include "math/quaternion.h"
#include "multibody/dynamics/dynamics.h"
#include "support/mixed_model.h"
#include "support/near.h"
#include "support/simulation.h"

static const double origin[3] = {0.0, 0.0, 0.0};
static const double dt = 0.01;

// A reproducible number in [-1, 1].
static double scatter(int32_t i) {
  return sin(12.9898 * (double)(i + 1));
}

static void pose(const simulation* s, const double* q, int32_t body, double p[3], double q_WB[4]) {
  assert_int_equal(sap_multibody_body_pose(s->multibody, q, body, p, q_WB, NULL), SAP_STATUS_OK);
}

// g by its definition; rotations as a rotation vector in the frame that b should have.
static void constraint(const simulation* s, const sap_equality_def* e, const double* q,
                       double g[6]) {
  if (e->type == SAP_EQUALITY_JOINT) {
    const sap_model_joint_data* a = &s->model->joints[e->a];
    const sap_model_joint_data* b = &s->model->joints[e->b];
    const double x = q[b->q_start] - b->reference;
    g[0] = q[a->q_start] - a->reference;
    for (int i = 0; i < 5; ++i) {
      g[0] -= e->polynomial[i] * pow(x, i);
    }
    return;
  }
  double p[2][3], rotation[2][4], arm[3], gap[3];
  pose(s, q, e->a, p[0], rotation[0]);
  pose(s, q, e->b, p[1], rotation[1]);
  sap_quaternion_rotate(arm, rotation[0], e->anchor_A);
  sap_v3_add(p[0], p[0], arm);
  sap_quaternion_rotate(arm, rotation[1], e->anchor_B);
  sap_v3_add(p[1], p[1], arm);
  sap_v3_sub(gap, p[1], p[0]);
  if (e->type == SAP_EQUALITY_DISTANCE) {
    g[0] = sap_v3_norm(gap) - e->distance;
    return;
  }
  sap_v3_copy(g, gap);
  if (e->type == SAP_EQUALITY_WELD) {
    double wanted[4], turn[4];
    sap_quaternion_multiply(wanted, rotation[0], e->q_AB);
    sap_quaternion_conjugate(turn, wanted);
    sap_quaternion_multiply(turn, turn, rotation[1]);
    sap_quaternion_log(g + 3, turn);
    sap_v3_scale(g + 3, g + 3, e->torque_scale);
  }
}

static int32_t rows_of(const sap_equality_def* e) {
  return e->type == SAP_EQUALITY_CONNECT ? 3 : e->type == SAP_EQUALITY_WELD ? 6 : 1;
}

// J v of a block.
static void multiply(const simulation* s, const sap_block* block, const double* v, double* out) {
  memset(out, 0, 6 * sizeof *out);
  for (int32_t t = 0; t < block->ntrees; ++t) {
    const int32_t first = s->model->tree_dofs[block->trees[t]];
    for (int32_t j = 0; j < s->model->tree_sizes[block->trees[t]]; ++j) {
      for (int32_t r = 0; r < block->nrows; ++r) {
        out[r] += block->jacobians[t][j * block->nrows + r] * v[first + j];
      }
    }
  }
}

static sap_equality_def mixed_equality(sap_equality_type type) {
  sap_equality_def e = sap_equality_def_default();
  e.type = type;
  e.a = 5;
  e.b = 7;
  sap_v3_set(e.anchor_A, 0.1, -0.2, 0.05);
  sap_v3_set(e.anchor_B, -0.3, 0.1, 0.2);
  e.stiffness = 2e4;
  e.relaxation_time = 0.02;
  e.torque_scale = 0.3;
  e.distance = 0.7;
  if (type == SAP_EQUALITY_JOINT) {
    e.a = 1;
    e.b = 0;
    const double polynomial[5] = {0.1, 0.7, -0.3, 0.2, 0.05};
    memcpy(e.polynomial, polynomial, sizeof polynomial);
  }
  return e;
}

// One step of the mixed model from a scattered state; welds start where they almost hold, since
// their rows are the derivative only there.
static simulation mixed(const sap_equality_def* def, double* q0, double* v0) {
  sap_builder* builder = mixed_builder();
  assert_int_equal(sap_builder_add_equality(builder, def, NULL, NULL), SAP_STATUS_OK);
  simulation s = simulation_begin(builder, SAP_SCHEME_IMPLICIT_EULER, dt);
  sap_stepper_options options = sap_stepper_options_default();
  options.dt = dt;
  options.balance_tolerance = (double)INFINITY;  // blocks as the first round has them
  simulation_use(&s, &options);
  double v[64];
  for (int32_t i = 0; i < s.state.nv; ++i) {
    v[i] = scatter(i);
  }
  sap_manifold_integrate(s.model, s.model->q_default, v, 0.7, q0);
  if (def->type == SAP_EQUALITY_WELD) {
    double p[3], q_a[4], q_b[4], wanted[4];
    pose(&s, q0, def->a, p, q_a);
    pose(&s, q0, def->b, p, q_b);
    sap_quaternion_conjugate(wanted, q_a);
    sap_quaternion_multiply(wanted, wanted, q_b);
    const double small[3] = {1e-7, -2e-7, 1e-7};
    sap_quaternion_integrate(s.model->equalities[0].q_AB, wanted, small);
  }
  memcpy(s.state.q, q0, (size_t)s.state.nq * sizeof *q0);
  for (int32_t i = 0; i < s.state.nv; ++i) {
    s.state.v[i] = v0[i] = 0.5 * scatter(i + 100);
  }
  simulation_step(&s, 1);
  return s;
}

static void test_blocks(void** unused) {
  (void)unused;
  const sap_equality_type types[] = {SAP_EQUALITY_CONNECT, SAP_EQUALITY_WELD, SAP_EQUALITY_JOINT,
                                     SAP_EQUALITY_DISTANCE};
  for (size_t i = 0; i < sizeof types / sizeof *types; ++i) {
    const sap_equality_def def = mixed_equality(types[i]);
    double q0[64], v0[64], q[64], g[6], g_plus[6], g_minus[6], Jv[6];
    simulation s = mixed(&def, q0, v0);
    const sap_equality_def* e = &s.model->equalities[0];
    const int32_t nrows = rows_of(e);
    sap_block block;
    const int32_t last = s.report.blocks - 1;
    assert_int_equal(sap_problem_block(s.report.problem, last, &block, NULL, NULL), SAP_STATUS_OK);
    assert_int_equal(block.nrows, nrows);
    assert_int_equal(block.set, SAP_SET_FREE);
    for (int32_t k = 0; k < s.state.nv; ++k) {
      double v[64] = {0.0};
      v[k] = 1.0;
      multiply(&s, &block, v, Jv);
      sap_manifold_integrate(s.model, q0, v, 1e-6, q);
      constraint(&s, e, q, g_plus);
      sap_manifold_integrate(s.model, q0, v, -1e-6, q);
      constraint(&s, e, q, g_minus);
      for (int32_t r = 0; r < nrows; ++r) {
        ASSERT_NEAR(Jv[r], (g_plus[r] - g_minus[r]) / 2e-6, 1e-6);  // the weld is 1e-7 off
      }
    }
    constraint(&s, e, q0, g);
    sap_manifold_integrate(s.model, q0, v0, dt, q);
    constraint(&s, e, q, g_plus);
    multiply(&s, &block, v0, Jv);
    for (int32_t r = 0; r < nrows; ++r) {
      const double curvature = g_plus[r] - g[r] - dt * Jv[r];
      ASSERT_NEAR(block.v_hat[r], -g[r] / (dt + 0.02) - curvature / dt, 1e-10);
      // soft where k says so: 1/(dt k (dt + tau)) = 1/6; or the near-rigid limit
      assert_true(block.R[r] >= 1.0 / (dt * 2e4 * (dt + 0.02)) - 1e-15);
    }
    simulation_end(&s);
  }
}

// Rows of a slide pair, `open` apart: R and v_hat by their formulas, soft, near rigid, and rigid:
// closed nearly, half as open as is made up for at the recovery speed, and far open.
static void test_regularization(void** unused) {
  (void)unused;
  const struct {
    double stiffness, open, R, v_hat;
  } rows[] = {{1e4, 0.3, 1.0 / (dt * 1e4 * 0.03), -10.0},
              {1e9, 0.3, 0.75 / 39.47841760435743, -10.0},
              {(double)INFINITY, 3e-6, 0.75e-6, -1e-4},
              {(double)INFINITY, 0.5 * 0.03, 0.75 * 0.1 * 0.25, -0.5},
              {(double)INFINITY, -0.3, 0.75 * 0.1, 1.0}};
  for (size_t i = 0; i < sizeof rows / sizeof *rows; ++i) {
    sap_builder* builder = simulation_builder(0.0, 0.0, 0.0);
    int32_t joints[2];
    for (int k = 0; k < 2; ++k) {
      const int32_t body = simulation_body(builder, 0, k == 0 ? 2.0 : 4.0, 1.0, origin);
      joints[k] = simulation_joint(builder, body, SAP_JOINT_SLIDE, 1.0, 0.0, 0.0);
    }
    sap_equality_def e = sap_equality_def_default();
    e.type = SAP_EQUALITY_JOINT;
    e.a = joints[0];
    e.b = joints[1];
    e.stiffness = rows[i].stiffness;
    e.relaxation_time = 0.02;
    assert_int_equal(sap_builder_add_equality(builder, &e, NULL, NULL), SAP_STATUS_OK);
    simulation s = simulation_begin(builder, SAP_SCHEME_IMPLICIT_EULER, dt);
    s.state.q[0] = rows[i].open;
    simulation_step(&s, 1);
    sap_block block;
    assert_int_equal(sap_problem_block(s.report.problem, 0, &block, NULL, NULL), SAP_STATUS_OK);
    ASSERT_NEAR(block.R[0], rows[i].R, 1e-14);
    ASSERT_NEAR(block.v_hat[0], rows[i].v_hat, 1e-12);
    ASSERT_NEAR(2.0 * s.state.v[0], -4.0 * s.state.v[1], 1e-12);  // action and reaction
    simulation_step(&s, 300);
    ASSERT_NEAR(s.state.q[0], s.state.q[1], 1e-6);
    simulation_end(&s);
  }
}

// reference-cases.md: m 1, k 200, c 20, length .3 rests at .3 + m g/k; rigid: .3, from .8 and from
// coincident points.
static void test_distance(void** unused) {
  (void)unused;
  const struct {
    double stiffness, start, expected, tolerance;
  } rows[] = {{200.0, 0.8, 0.3 + 9.81 / 200.0, 1e-3},
              {(double)INFINITY, 0.8, 0.3, 1e-6},
              {(double)INFINITY, 0.0, 0.3, 1e-6}};
  for (size_t i = 0; i < sizeof rows / sizeof *rows; ++i) {
    sap_builder* builder = simulation_builder(0.0, 0.0, -9.81);
    const double p[3] = {0.0, 0.0, -rows[i].start};
    const int32_t body = simulation_body(builder, 0, 1.0, 0.1, p);
    simulation_joint(builder, body, SAP_JOINT_FREE, 0.0, 0.0, 1.0);
    sap_equality_def e = sap_equality_def_default();
    e.type = SAP_EQUALITY_DISTANCE;
    e.a = 0;
    e.b = body;
    e.distance = 0.3;
    e.stiffness = rows[i].stiffness;
    e.relaxation_time = 20.0 / 200.0;
    assert_int_equal(sap_builder_add_equality(builder, &e, NULL, NULL), SAP_STATUS_OK);
    simulation s = simulation_begin(builder, SAP_SCHEME_IMPLICIT_EULER, dt);
    simulation_step(&s, 1000);
    ASSERT_NEAR(sap_v3_norm(s.state.q), rows[i].expected, rows[i].tolerance);
    simulation_end(&s);
  }
}

// Two welded halves fall and turn as one body does.
static void test_weld_is_one_body(void** unused) {
  (void)unused;
  const double half[2][3] = {{-0.2, 0.0, 0.0}, {0.2, 0.0, 0.0}};
  double end[2][7];
  for (int k = 0; k < 2; ++k) {
    sap_builder* builder = simulation_builder(0.0, 0.0, -9.81);
    const int32_t a = simulation_body(builder, 0, 1.0, 0.02, half[0]);
    simulation_joint(builder, a, SAP_JOINT_FREE, 0.0, 0.0, 1.0);
    const double beside[3] = {0.4, 0.0, 0.0};
    const int32_t b =
        simulation_body(builder, k == 0 ? 0 : a, 3.0, 0.05, k == 0 ? half[1] : beside);
    if (k == 0) {
      simulation_joint(builder, b, SAP_JOINT_FREE, 0.0, 0.0, 1.0);
      sap_equality_def e = sap_equality_def_default();
      e.type = SAP_EQUALITY_WELD;
      e.a = a;
      e.b = b;
      e.anchor_A[0] = 0.4;
      assert_int_equal(sap_builder_add_equality(builder, &e, NULL, NULL), SAP_STATUS_OK);
    }
    simulation s = simulation_begin(builder, SAP_SCHEME_IMPLICIT_EULER, 1e-3);
    const double v[12] = {0.0, 0.0, 0.0, 0.5, 1.0, -2.0, 0.0, -0.8, -0.4, 0.5, 1.0, -2.0};
    // the other half: omega x (0.4, 0, 0) = (0, -0.8, -0.4)
    memcpy(s.state.v, v, (size_t)s.state.nv * sizeof *v);
    simulation_step(&s, 500);
    memcpy(end[k], s.state.q, sizeof end[k]);
    simulation_end(&s);
  }
  for (int i = 0; i < 7; ++i) {
    ASSERT_NEAR(end[0][i], end[1][i], 2e-3);  // both are of order 1: dt |a| t^2/2
  }
}

// y - y0 = 2 (x - x0) of two tendons; an inactive equality does nothing.
static void test_tendons(void** unused) {
  (void)unused;
  for (int active = 0; active < 2; ++active) {
    sap_builder* builder = simulation_builder(0.0, 0.0, 0.0);
    for (int k = 0; k < 2; ++k) {
      const int32_t body = simulation_body(builder, 0, 1.0 + k, 1.0, origin);
      const int32_t joint = simulation_joint(builder, body, SAP_JOINT_SLIDE, 1.0, 0.0, 0.0);
      const double coefficient = 3.0;
      sap_tendon_def tendon = sap_tendon_def_default();
      tendon.njoints = 1;
      tendon.joints = &joint;
      tendon.coefficients = &coefficient;
      assert_int_equal(sap_builder_add_tendon(builder, &tendon, NULL, NULL), SAP_STATUS_OK);
    }
    sap_equality_def e = sap_equality_def_default();
    e.type = SAP_EQUALITY_TENDON;
    e.a = 0;
    e.b = 1;
    e.polynomial[1] = 2.0;
    e.active = active == 1;
    assert_int_equal(sap_builder_add_equality(builder, &e, NULL, NULL), SAP_STATUS_OK);
    simulation s = simulation_begin(builder, SAP_SCHEME_IMPLICIT_EULER, dt);
    s.state.v[0] = 1.0;
    simulation_step(&s, 100);
    if (active == 1) {  // momentum along (2, 1): 2 = (4 + 2) rate
      ASSERT_NEAR(s.state.v[0], 2.0 * 2.0 / 6.0, 1e-5);
      ASSERT_NEAR(s.state.v[1], 2.0 / 6.0, 1e-5);
      ASSERT_NEAR(s.state.q[0], 2.0 * s.state.q[1], 1e-6);
    } else {
      ASSERT_NEAR(s.state.v[0], 1.0, 1e-15);
      assert_int_equal(s.report.blocks, 0);
    }
    simulation_end(&s);
  }
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(test_blocks),   cmocka_unit_test(test_regularization),
      cmocka_unit_test(test_distance), cmocka_unit_test(test_weld_is_one_body),
      cmocka_unit_test(test_tendons),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
