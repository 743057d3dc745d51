// SPDX-License-Identifier: BSD-3-Clause
// Blocks that a model's contacts, limits and joint friction become: Jacobians against differences
// of what they measure, parameters against their formulas.
#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include <cmocka.h>

#include "math/quaternion.h"
#include "multibody/assembly/assembly_data.h"
#include "multibody/dynamics/dynamics.h"
#include "support/mixed_model.h"
#include "support/near.h"

static const double dt = 0.01;
static const sap_regularization regularization = {1.0, 1e-3, 0.0};

typedef struct fixture {
  sap_model* model;
  sap_assembly* assembly;
  sap_problem* problem;
  sap_dynamics* dynamics;
  sap_kinematics kin;
} fixture;

// A = diag(2, 3, 4, ...) on every tree: w of a unit row is 1/A_ii.
static double diagonal_of_a(int32_t dof) {
  return 2.0 + dof;
}

static fixture make(sap_model* model) {
  fixture f = {.model = model};
  assert_non_null(model);
  const sap_model_sizes sizes = sap_model_get_sizes(model);
  assert_int_equal(sap_assembly_create(model, &f.assembly, NULL), SAP_STATUS_OK);
  assert_int_equal(sap_problem_create(&f.problem, NULL), SAP_STATUS_OK);
  assert_int_equal(sap_dynamics_create(model, &f.dynamics, NULL), SAP_STATUS_OK);
  assert_int_equal(sap_kinematics_create(&f.kin, f.dynamics, NULL), SAP_STATUS_OK);
  assert_int_equal(sap_problem_reset(f.problem, dt, sizes.trees, model->tree_sizes, NULL),
                   SAP_STATUS_OK);
  for (int32_t t = 0; t < sizes.trees; ++t) {
    double A[16 * 16] = {0};
    const int32_t n = model->tree_sizes[t];
    for (int32_t i = 0; i < n; ++i) {
      A[i * n + i] = diagonal_of_a(model->tree_dofs[t] + i);
    }
    assert_int_equal(sap_problem_set_momentum_block(f.problem, t, t, A, n, NULL), SAP_STATUS_OK);
  }
  return f;
}

static void end(fixture* f) {
  sap_kinematics_clear(&f->kin);
  sap_dynamics_destroy(f->dynamics);
  sap_problem_destroy(f->problem);
  sap_assembly_destroy(f->assembly);
  sap_model_destroy(f->model);
}

static sap_block get(const fixture* f, int32_t index) {
  sap_block block;
  assert_int_equal(sap_problem_block(f->problem, index, &block, NULL, NULL), SAP_STATUS_OK);
  return block;
}

// J v of a block.
static void multiply(const fixture* f, const sap_block* block, const double* v, double* out) {
  memset(out, 0, (size_t)block->nrows * sizeof(double));
  for (int32_t t = 0; t < block->ntrees; ++t) {
    const int32_t tree = block->trees[t];
    for (int32_t j = 0; j < f->model->tree_sizes[tree]; ++j) {
      for (int32_t r = 0; r < block->nrows; ++r) {
        out[r] += block->jacobians[t][j * block->nrows + r] * v[f->model->tree_dofs[tree] + j];
      }
    }
  }
}

// Where the point that sits at p_W at mixed_q is after moving along mixed_v for h.
static void moved_point(fixture* f, int32_t body, const double p_W[3], double h, double out[3]) {
  double q[MIXED_NQ], p_B[3], d[3];
  sap_kinematics_set(&f->kin, mixed_q);
  sap_v3_sub(d, p_W, f->kin.p_WB + 3 * body);
  sap_m3_tmul_v3(p_B, f->kin.R_WB + 9 * body, d);
  sap_manifold_integrate(f->model, mixed_q, mixed_v, h, q);
  sap_kinematics_set(&f->kin, q);
  sap_m3_mul_v3(d, f->kin.R_WB + 9 * body, p_B);
  sap_v3_add(out, d, f->kin.p_WB + 3 * body);
}

// Pairs: in one tree, in two, with the world on either side, and condim 1.
static void test_contacts(void** state) {
  (void)state;
  const int32_t pairs[4][2] = {{2, 4}, {4, 6}, {0, 5}, {7, 1}};
  fixture f = make(mixed_model());
  sap_contact contacts[4];
  for (int32_t i = 0; i < 4; ++i) {
    const double n[3] = {0.36, -0.48, 0.8};
    contacts[i] =
        (sap_contact){.body_A = pairs[i][0],
                      .body_B = pairs[i][1],
                      .shape_A = i,
                      .shape_B = 10 + i,
                      .feature = 3,
                      .condim = i == 3 ? 1 : 3,
                      .point = {0.4, -0.3, 0.7 + i},
                      .phi = -1e-3,
                      .law_phi = -1e-3,
                      .material = {.stiffness = 1e5, .relaxation_time = 0.02, .friction = 0.7}};
    contacts[i].friction[0] = contacts[i].friction[1] = i == 3 ? 0.0 : 0.7;
    sap_m3_from_normal(contacts[i].R_WC, n);
  }
  sap_kinematics_set(&f.kin, mixed_q);
  const sap_assembly_start start = {
      .dynamics = f.dynamics, .kin = &f.kin, .kin0 = &f.kin, .regularization = &regularization};
  sap_contact_list list = {contacts, 4, NULL};
  sap_assembly_begin(f.assembly, &list);
  assert_int_equal(sap_assembly_add_contacts(f.assembly, &start, &list, f.problem, NULL),
                   SAP_STATUS_OK);
  assert_int_equal(list.count, 4);
  const sap_block_range range = f.assembly->ranges[SAP_BLOCKS_CONTACT];
  assert_true(range.first == 0 && range.end == 4);
  assert_int_equal(sap_problem_block_count(f.problem), 4);
  for (int32_t i = 0; i < 4; ++i) {
    const sap_block block = get(&f, i);
    assert_int_equal(block.set, SAP_SET_FRICTION_CONE);
    assert_true(block.friction == (i == 3 ? 0.0 : 0.7));
    ASSERT_NEAR(block.v_hat[2], 1e-3 / (dt + 0.02), 1e-15);
    double vc[3], velocity[3] = {0}, expected[3];
    multiply(&f, &block, mixed_v, vc);
    for (int32_t side = 0; side < 2; ++side) {
      const double h = 1e-5;
      double plus[3], minus[3];
      moved_point(&f, pairs[i][side], contacts[i].point, h, plus);
      moved_point(&f, pairs[i][side], contacts[i].point, -h, minus);
      for (int32_t k = 0; k < 3; ++k) {
        velocity[k] += (side == 0 ? -1.0 : 1.0) * (plus[k] - minus[k]) / (2.0 * h);
      }
    }
    sap_m3_tmul_v3(expected, contacts[i].R_WC, velocity);
    for (int32_t k = 0; k < 3; ++k) {
      ASSERT_NEAR(vc[k], expected[k], 1e-7);  // differences: h^2 |v|^3 + eps/h
    }
    for (int32_t j = 0; j < i; ++j) {
      assert_true(get(&f, j).key != block.key);
    }
  }
  end(&f);
}

// One body of mass 1 and inertia 1 per joint, all on the world.
static int32_t add_joint(sap_builder* builder, sap_joint_def joint) {
  int32_t id = -1;
  sap_body_def body = sap_body_def_default();
  body.mass = 1.0;
  for (int i = 0; i < 3; ++i) {
    body.I_BCo_B[i] = 1.0;
  }
  assert_int_equal(sap_builder_add_body(builder, &body, &joint.body, NULL), SAP_STATUS_OK);
  assert_int_equal(sap_builder_add_joint(builder, &joint, &id, NULL), SAP_STATUS_OK);
  return id;
}

static sap_joint_def limited(sap_joint_type type, double lower, double upper, double k) {
  sap_joint_def joint = sap_joint_def_default();
  joint.type = type;
  joint.lower = lower;
  joint.upper = upper;
  joint.limit_stiffness = k;
  return joint;
}

static sap_builder* builder_create(void) {
  sap_builder* builder = NULL;
  assert_int_equal(sap_builder_create(NULL, &builder, NULL), SAP_STATUS_OK);
  return builder;
}

static fixture compile(sap_builder* builder) {
  sap_model* model = NULL;
  sap_error error = {0};
  if (sap_builder_compile(builder, &model, &error) != SAP_STATUS_OK) {
    fail_msg("%s", error.message);
  }
  sap_builder_destroy(builder);
  return make(model);
}

static void add_joints(fixture* f, const double* q, const double* v) {
  sap_error error = {0};
  sap_kinematics_set(&f->kin, q);
  const sap_assembly_start start = {.dynamics = f->dynamics,
                                    .kin = &f->kin,
                                    .kin0 = &f->kin,
                                    .q0 = q,
                                    .v0 = v,
                                    .regularization = &regularization};
  if (sap_assembly_add_limits(f->assembly, &start, f->problem, &error) != SAP_STATUS_OK) {
    fail_msg("%s", error.message);
  }
}

// q 3.1, ranges (.5, inf), (-inf, 2.3), (-.5, 2.3), k 1e5, tau_d .01: v_hat = -g/(dt + tau_d).
static void test_limits(void** state) {
  (void)state;
  sap_builder* builder = builder_create();
  const double inf = (double)INFINITY;
  add_joint(builder, limited(SAP_JOINT_HINGE, 0.5, inf, 1e5));
  add_joint(builder, limited(SAP_JOINT_SLIDE, -inf, 2.3, 1e5));
  add_joint(builder, limited(SAP_JOINT_HINGE, -0.5, 2.3, 1e5));
  fixture f = compile(builder);
  const double q[3] = {3.1, 3.1, 3.1};
  const double v[3] = {-100.0, 0.0, -100.0};  // fast: both sides of the third may act
  add_joints(&f, q, v);
  assert_int_equal(sap_problem_block_count(f.problem), 4);
  const int32_t tree[4] = {0, 1, 2, 2};
  const double sign[4] = {1.0, -1.0, 1.0, -1.0};
  const double g[4] = {2.6, -0.8, 3.6, -0.8};
  for (int32_t i = 0; i < 4; ++i) {
    const sap_block block = get(&f, i);
    assert_int_equal(block.set, SAP_SET_NONNEGATIVE);
    assert_int_equal(block.trees[0], tree[i]);
    assert_true(block.jacobians[0][0] == sign[i]);
    ASSERT_NEAR(block.v_hat[0], -g[i] / 0.02, 1e-12);
    const double w = 1.0 / diagonal_of_a(tree[i]);
    const double pi = 3.14159265358979323846;
    ASSERT_NEAR(block.R[0], fmax(w / (4.0 * pi * pi), 1.0 / (dt * 1e5 * 0.02)), 1e-15);
  }
  end(&f);
}

// A limit that is not approached is left out; approached, or missed at the end of a step, it is
// there.
static void test_far_limits(void** state) {
  (void)state;
  sap_builder* builder = builder_create();
  add_joint(builder, limited(SAP_JOINT_HINGE, -1.0, 1.0, (double)INFINITY));
  fixture f = compile(builder);
  const double zero = 0.0, fast[2] = {30.0, -30.0}, near = -0.85, blow = -10.0;
  add_joints(&f, &near, &zero);
  assert_int_equal(sap_problem_block_count(f.problem), 0);
  assert_int_equal(sap_assembly_check_limits(f.assembly, &near, &zero, dt), 0);
  assert_int_equal(sap_assembly_check_limits(f.assembly, &near, &blow, dt), 1);
  assert_int_equal(sap_assembly_check_limits(f.assembly, &near, &blow, dt), 0);  // it has one now
  add_joints(&f, &near, &zero);
  assert_int_equal(sap_problem_block_count(f.problem), 1);
  ASSERT_NEAR(get(&f, 0).v_hat[0], -0.15 / 0.02, 1e-12);
  sap_assembly_forget_limits(f.assembly);
  add_joints(&f, &near, &zero);
  assert_int_equal(sap_problem_block_count(f.problem), 1);
  for (int way = 0; way < 2; ++way) {
    add_joints(&f, &zero, &fast[way]);
    assert_int_equal(sap_problem_block_count(f.problem), 2 + 2 * way);
    assert_true(get(&f, 1 + 2 * way).jacobians[0][0] == (way == 0 ? -1.0 : 1.0));
    assert_int_equal(sap_problem_set_v_star(f.problem, &fast[way], NULL), SAP_STATUS_OK);
    add_joints(&f, &zero, &zero);
    assert_int_equal(sap_problem_block_count(f.problem), 3 + 2 * way);
    assert_int_equal(sap_problem_set_v_star(f.problem, &zero, NULL), SAP_STATUS_OK);
  }
  end(&f);
}

// Ball: vc = d/dt (upper - angle), by differences.
static void test_ball_limit(void** state) {
  (void)state;
  sap_builder* builder = builder_create();
  add_joint(builder, limited(SAP_JOINT_BALL, -(double)INFINITY, 1.2, 1e4));
  fixture f = compile(builder);
  const double r[3] = {0.5, -0.7, 0.8}, v[3] = {0.3, 1.1, -0.4}, h = 1e-6;
  double q[4], plus[4], minus[4], r_plus[3], r_minus[3], vc;
  sap_quaternion_exp(q, r);
  add_joints(&f, q, v);
  assert_int_equal(sap_problem_block_count(f.problem), 1);
  const sap_block block = get(&f, 0);
  multiply(&f, &block, v, &vc);
  sap_manifold_integrate(f.model, q, v, h, plus);
  sap_manifold_integrate(f.model, q, v, -h, minus);
  sap_quaternion_log(r_plus, plus);
  sap_quaternion_log(r_minus, minus);
  ASSERT_NEAR(vc, -(sap_v3_norm(r_plus) - sap_v3_norm(r_minus)) / (2.0 * h), 1e-8);
  ASSERT_NEAR(block.v_hat[0], -(1.2 - sap_v3_norm(r)) / 0.02, 1e-12);
  const double identity[4] = {1.0, 0.0, 0.0, 0.0};
  add_joints(&f, identity, v);  // angle 0: no direction, no block
  assert_int_equal(sap_problem_block_count(f.problem), 1);
  end(&f);
}

static void test_friction(void** state) {
  (void)state;
  sap_builder* builder = builder_create();
  sap_joint_def joint = sap_joint_def_default();
  joint.type = SAP_JOINT_BALL;
  joint.friction_loss = 0.4;
  add_joint(builder, joint);
  joint.type = SAP_JOINT_HINGE;
  joint.friction_loss = 0.0;
  add_joint(builder, joint);
  fixture f = compile(builder);
  const double q[5] = {1.0, 0.0, 0.0, 0.0, 0.0}, v[4] = {1.0, 2.0, 3.0, 4.0};
  add_joints(&f, q, v);
  assert_int_equal(sap_problem_block_count(f.problem), 3);
  for (int32_t i = 0; i < 3; ++i) {
    const sap_block block = get(&f, i);
    double vc;
    multiply(&f, &block, v, &vc);
    assert_int_equal(block.set, SAP_SET_BOX);
    assert_true(vc == v[i]);
    assert_true(block.upper[0] == dt * 0.4 && block.lower[0] == -dt * 0.4);
    ASSERT_NEAR(block.R[0], 1e-3 / diagonal_of_a(i), 1e-17);
    assert_true(block.v_hat[0] == 0.0);
  }
  end(&f);
}

// Spin takes a fourth row; rolling takes two more, also where it has friction one way only.
static void test_rows(void** state) {
  (void)state;
  static const struct {
    double friction[5];
    int32_t rows;
  } cases[] = {{{0.5, 0.5, 0.0, 0.0, 0.0}, 3},
               {{0.5, 0.5, 0.01, 0.0, 0.0}, 4},
               {{0.5, 0.5, 0.0, 0.02, 0.0}, 6},
               {{0.5, 0.5, 0.0, 0.0, 0.02}, 6},
               {{0.0, 0.0, 0.01, 0.02, 0.03}, 6}};
  for (size_t i = 0; i < sizeof cases / sizeof *cases; ++i) {
    sap_contact contact = {0};
    memcpy(contact.friction, cases[i].friction, sizeof contact.friction);
    assert_int_equal(sap_assembly_contact_rows(&contact), cases[i].rows);
  }
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(test_contacts),   cmocka_unit_test(test_limits),
      cmocka_unit_test(test_far_limits), cmocka_unit_test(test_ball_limit),
      cmocka_unit_test(test_friction),   cmocka_unit_test(test_rows),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
