// SPDX-License-Identifier: BSD-3-Clause
// Bodies placed four at a time are where a walk from the root with Rodrigues' formula puts them,
// with their dofs' directions and inertias; sines and cosines are those of the C library.
#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "math/quaternion.h"
#include "math/simd.h"
#include "multibody/dynamics/dynamics_data.h"
#include "support/near.h"
#include "support/simulation.h"

// A spider: six legs with hinges on a free trunk, each with a foot welded to it. Five legs have two
// hinges, so that four go together and one alone; the last has three.
enum { LEGS = 6, BODIES = 2 + 2 * LEGS, NQ = 7 + 2 * 5 + 3, SHARED = 3 };

static int32_t hinges_of(int32_t leg) {
  return leg < 5 ? 2 : 3;
}

// Hinges of one leg share their anchor, those of the others are separate.
static void make_joint(int32_t leg, int32_t k, sap_joint_def* def) {
  *def = sap_joint_def_default();
  def->body = 2 + 2 * leg;
  def->type = SAP_JOINT_HINGE;
  const double a[3] = {cos(1.0 + leg + k), sin(2.0 * leg - k), 0.5 - 0.1 * leg};
  sap_v3_scale(def->axis, a, 1.0 / sap_v3_norm(a));
  sap_v3_set(def->p_BJ, 0.1 * leg, leg == SHARED ? 0.2 : 0.05 * (k + 1), -0.03 * leg);
  def->reference = 0.1 * leg;
}

static void add_body(sap_builder* builder, int32_t id, int32_t parent) {
  sap_body_def def = sap_body_def_default();
  def.parent = parent;
  sap_v3_set(def.p_PB, 0.1 * id, 0.3 - 0.05 * id, 0.2);
  const double q[4] = {1.0, 0.1 * id, -0.2, 0.05 * id};
  memcpy(def.q_PB, q, sizeof q);
  def.mass = 1.0 + 0.1 * id;
  sap_v3_set(def.p_BCo, 0.01 * id, -0.02, 0.03);
  const double I[6] = {0.03, 0.04, 0.05, 0.002, -0.003, 0.001};
  memcpy(def.I_BCo_B, I, sizeof I);
  int32_t made = -1;
  assert_int_equal(sap_builder_add_body(builder, &def, &made, NULL), SAP_STATUS_OK);
  assert_int_equal(made, id);
}

static sap_model* make_spider(void) {
  sap_builder* builder = simulation_builder(0.0, 0.0, -9.81);
  sap_model* model = NULL;
  add_body(builder, 1, 0);
  (void)simulation_joint(builder, 1, SAP_JOINT_FREE, 0.0, 0.0, 1.0);
  for (int32_t leg = 0; leg < LEGS; ++leg) {
    add_body(builder, 2 + 2 * leg, 1);
    add_body(builder, 3 + 2 * leg, 2 + 2 * leg);
    for (int32_t k = 0; k < hinges_of(leg); ++k) {
      sap_joint_def def;
      make_joint(leg, k, &def);
      assert_int_equal(sap_builder_add_joint(builder, &def, NULL, NULL), SAP_STATUS_OK);
    }
  }
  assert_int_equal(sap_builder_compile(builder, &model, NULL), SAP_STATUS_OK);
  sap_builder_destroy(builder);
  assert_int_equal(model->sizes.nq, NQ);
  return model;
}

// R = R exp(angle axis~)
static void turn(double R[9], const double axis[3], double angle) {
  const double c = cos(angle), s = sin(angle);
  double turned[9], old[9];
  for (int j = 0; j < 3; ++j) {
    for (int i = 0; i < 3; ++i) {
      const int k = 3 - i - j;
      const double skew = i == j ? 0.0 : ((i + 1) % 3 == j ? -1.0 : 1.0) * axis[k];
      turned[3 * j + i] = (i == j ? c : 0.0) + s * skew + (1.0 - c) * axis[i] * axis[j];
    }
  }
  memcpy(old, R, sizeof old);
  sap_m3_mul(R, old, turned);
}

static void go_to_child(const sap_model_body* body, double p[3], double R[9]) {
  double fixed[9], old[9], arm[3];
  sap_m3_mul_v3(arm, R, body->p_PB);
  sap_v3_add(p, p, arm);
  sap_quaternion_to_matrix(fixed, body->q_PB);
  memcpy(old, R, sizeof old);
  sap_m3_mul(R, old, fixed);
}

static void assert_pose(const sap_kinematics* kin, int32_t id, const double p[3],
                        const double R[9]) {
  double of_q[9];
  sap_quaternion_to_matrix(of_q, kin->q_WB + 4 * id);
  for (int i = 0; i < 9; ++i) {
    ASSERT_NEAR(kin->R_WB[9 * id + i], R[i], 1e-13);
    ASSERT_NEAR(of_q[i], R[i], 1e-13);
  }
  for (int i = 0; i < 3; ++i) {
    ASSERT_NEAR(kin->p_WB[3 * id + i], p[i], 1e-13);
  }
}

static void check_leg(const sap_kinematics* kin, int32_t leg, const double* q) {
  const sap_model* model = kin->dynamics->model;
  const int32_t id = 2 + 2 * leg;
  double p[3], R[9], anchor[3], arm[3], axis[3], moment[3];
  sap_v3_copy(p, kin->p_WB + 3);
  memcpy(R, kin->R_WB + 9, sizeof R);
  go_to_child(&model->bodies[id], p, R);
  for (int32_t k = 0; k < hinges_of(leg); ++k) {
    const sap_model_joint_data* joint =
        &model->joints[model->body_joints[model->bodies[id].first_joint + k]];
    sap_v3_place(anchor, p, R, joint->p_BJ);
    sap_m3_mul_v3(axis, R, joint->axis);
    sap_v3_sub(arm, anchor, kin->p_WB + 3);
    sap_v3_cross(moment, arm, axis);
    for (int i = 0; i < 3; ++i) {
      ASSERT_NEAR(kin->S[joint->v_start][i], axis[i], 1e-13);
      ASSERT_NEAR(kin->S[joint->v_start][i + 3], moment[i], 1e-13);
    }
    turn(R, joint->axis, q[joint->q_start] - joint->reference);
    sap_m3_mul_v3(arm, R, joint->p_BJ);
    sap_v3_sub(p, anchor, arm);
  }
  assert_pose(kin, id, p, R);
  go_to_child(&model->bodies[id + 1], p, R);
  assert_pose(kin, id + 1, p, R);
}

static void check_inertias(const sap_kinematics* kin) {
  const sap_dynamics* d = kin->dynamics;
  for (int32_t l = 0; l < d->nlinks; ++l) {
    const sap_link* link = &d->links[l];
    sap_inertia expected;
    double r[3];
    sap_v3_sub(r, kin->p_WB + 3 * link->body, kin->p_WB + 3);
    sap_inertia_move(&expected, &link->body_inertia, kin->R_WB + 9 * link->body, r);
    ASSERT_NEAR(kin->inertia[l].mass, expected.mass, 0.0);
    for (int i = 0; i < 6; ++i) {
      ASSERT_NEAR(kin->inertia[l].I[i], expected.I[i], 1e-13);
      ASSERT_NEAR(kin->inertia[l].h[i % 3], expected.h[i % 3], 1e-13);
    }
  }
}

static void test_spider(void** unused) {
  (void)unused;
  sap_model* model = make_spider();
  sap_dynamics* d = NULL;
  sap_kinematics kin;
  assert_int_equal(sap_dynamics_create(model, &d, NULL), SAP_STATUS_OK);
  assert_int_equal(sap_kinematics_create(&kin, d, NULL), SAP_STATUS_OK);
  assert_true(d->placing.nfours == 3 && d->placing.nsteps == 6 && d->placing.nlinks == 2);
  double q[NQ] = {0.3, -0.2, 1.0, 0.5, -0.5, 0.5, 0.5};
  for (int32_t pose = 0; pose < 4; ++pose) {
    for (int32_t i = 7; i < NQ; ++i) {
      q[i] = (pose < 2 ? 1.0 : 2.0) * sin(3.0 * i + pose) * (pose == 3 ? 100.0 : 1.0);
    }
    sap_kinematics_set(&kin, q);
    for (int32_t leg = 0; leg < LEGS; ++leg) {
      check_leg(&kin, leg, q);
    }
    check_inertias(&kin);
  }
  sap_kinematics_clear(&kin);
  sap_dynamics_destroy(d);
  sap_model_destroy(model);
}

// 3e-16: an ulp and a half of 1, within which both libraries may round.
static void check_sincos(double x) {
  double v[SAP_QUAD] = {x, -x, 0.0, 0.5 * x}, s[SAP_QUAD], c[SAP_QUAD];
  double* const at_s[SAP_QUAD] = {s, s + 1, s + 2, s + 3};
  double* const at_c[SAP_QUAD] = {c, c + 1, c + 2, c + 3};
  quad sine, cosine;
  quad_sincos(&sine, &cosine, quad_load(v));
  quad_scatter(at_s, 0, sine);
  quad_scatter(at_c, 0, cosine);
  for (int i = 0; i < SAP_QUAD; ++i) {
    assert_true(isfinite(v[i]) || (isnan(s[i]) && isnan(c[i])));
    if (isfinite(v[i])) {
      ASSERT_NEAR(s[i], sin(v[i]), 3e-16);
      ASSERT_NEAR(c[i], cos(v[i]), 3e-16);
    }
  }
}

static void test_sincos(void** unused) {
  (void)unused;
  for (double x = 1e-9; x < 1e12; x *= 1.01) {
    check_sincos(x);
  }
  for (int32_t k = 0; k < 2000; ++k) {  // by multiples of pi/4
    check_sincos(k * 0.78539816339744831);
  }
  check_sincos((double)NAN);
  check_sincos((double)INFINITY);
}

int main(void) {
  const struct CMUnitTest tests[] = {cmocka_unit_test(test_spider), cmocka_unit_test(test_sincos)};
  return cmocka_run_group_tests(tests, NULL, NULL);
}
