// SPDX-License-Identifier: BSD-3-Clause
// Derivatives of inverse dynamics, of the momentum balance and of steps of the configuration against
// central differences, on trees with all joints, welds and a lone body off its centre.
#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include <cmocka.h>

#include "multibody/dynamics/derivatives.h"
#include "multibody/dynamics/dynamics_data.h"
#include "support/mixed_model.h"

#define STEP 1e-5
#define TOLERANCE 3e-8  // of entries up to 1e2: truncation and round-off of the differences
enum { MOST = 64 };

static sap_model* model;
static sap_dynamics* dynamics;
static sap_kinematics kin, kin0;
static sap_derivatives* work;
static sap_pool pool = {.owner = "test"};
static int32_t nv, nq;

// The mixed model, and a tree of a free root, ball, two hinges on a body and a slide that ends in a
// ball; inertias off all axes.
static sap_model* make_model(void) {
  sap_builder* builder = mixed_builder();
  int32_t above = 0;
  static const sap_joint_type types[] = {SAP_JOINT_FREE, SAP_JOINT_BALL, SAP_JOINT_HINGE,
                                         SAP_JOINT_SLIDE, SAP_JOINT_BALL};
  for (int b = 0; b < 5; ++b) {
    sap_body_def body = sap_body_def_default();
    const double s = 0.1 * (b + 1);
    body.parent = above;
    body.mass = 1.0 + s;
    for (int i = 0; i < 3; ++i) {
      body.p_PB[i] = 0.2 * sin(3.0 * b + i);
      body.p_BCo[i] = 0.15 * cos(2.0 * b + i);
      body.I_BCo_B[i] = 0.3 + 0.05 * i + s;
      body.I_BCo_B[3 + i] = 0.02 * (i + 1) - 0.01 * b;
    }
    assert_int_equal(sap_builder_add_body(builder, &body, &above, NULL), SAP_STATUS_OK);
    for (int twice = 0; twice < (types[b] == SAP_JOINT_HINGE ? 2 : 1); ++twice) {
      sap_joint_def joint = sap_joint_def_default();
      joint.body = above;
      joint.type = types[b];
      sap_v3_set(joint.axis, 0.6 - 0.4 * twice, 0.8 * twice, 0.8 - twice);
      const double norm = sap_v3_norm(joint.axis);
      sap_v3_scale(joint.axis, joint.axis, 1.0 / norm);
      if (types[b] != SAP_JOINT_FREE) {
        joint.armature = 0.03;
        sap_v3_set(joint.p_BJ, 0.1, -0.05 * b, 0.07);
      }
      int32_t id;
      assert_int_equal(sap_builder_add_joint(builder, &joint, &id, NULL), SAP_STATUS_OK);
    }
  }
  sap_model* made = NULL;
  assert_int_equal(sap_builder_compile(builder, &made, NULL), SAP_STATUS_OK);
  sap_builder_destroy(builder);
  return made;
}

static int setup(void** state) {
  (void)state;
  model = make_model();
  nv = model->sizes.nv;
  nq = model->sizes.nq;
  return nv > MOST || nq > MOST || sap_dynamics_create(model, &dynamics, NULL) != SAP_STATUS_OK ||
                 sap_kinematics_create(&kin, dynamics, NULL) != SAP_STATUS_OK ||
                 sap_kinematics_create(&kin0, dynamics, NULL) != SAP_STATUS_OK ||
                 sap_derivatives_create(dynamics, &pool, &work, NULL) != SAP_STATUS_OK
             ? -1
             : 0;
}

static int teardown(void** state) {
  (void)state;
  sap_kinematics_clear(&kin);
  sap_kinematics_clear(&kin0);
  sap_dynamics_destroy(dynamics);
  sap_model_destroy(model);
  sap_pool_free(&pool);
  return 0;
}

typedef struct point {
  double q[MOST], v[MOST], a[MOST], q0[MOST], v0[MOST];
} point;

static point make_point(void) {
  point at;
  double way[MOST], back[MOST];
  for (int32_t i = 0; i < nv; ++i) {
    at.v[i] = sin(1.3 * i) * 1.5;
    at.a[i] = 3.0 * cos(0.7 * i);
    at.v0[i] = at.v[i] + 0.3 * sin(2.1 * i + 1.0);
    way[i] = 0.8 * sin(0.9 * i + 0.3);
    back[i] = 0.2 * cos(1.7 * i);
  }
  sap_manifold_integrate(model, model->q_default, way, 1.0, at.q);
  sap_manifold_integrate(model, at.q, back, 1.0, at.q0);
  return at;
}

// tau of one form of the balance at a point.
typedef void force_function(const point* at, double* tau);

static void inverse(const point* at, double* tau) {
  sap_kinematics_set(&kin, at->q);
  const sap_dynamics_state state = {&kin, at->v, NULL};
  double dampers[MOST], rest[MOST], zero[MOST] = {0.0};
  sap_dynamics_inverse(dynamics, &state, at->a, tau);
  memset(dampers, 0, sizeof dampers);
  memset(rest, 0, sizeof rest);
  sap_dynamics_add_fluid(dynamics, &state, 1.0, rest);
  sap_dynamics_add_forces(dynamics, &state, 1.0, dampers, rest);
  for (int32_t i = 0; i < nv; ++i) {
    double damping = 0.0;
    damping = model->joints[model->dof_joint[i]].damping;
    tau[i] += dampers[i] + rest[i] - damping * at->v[i] + zero[i];
  }
}

static const double DT = 0.01;

static void momentum(const point* at, double* tau) {
  double start[MOST][6], end[MOST][6], inertial[MOST];
  sap_kinematics_set(&kin0, at->q0);
  sap_kinematics_set(&kin, at->q);
  const sap_dynamics_state state0 = {&kin0, at->v0, NULL}, state = {&kin, at->v, NULL};
  dynamics->kernels->momenta(dynamics, &state0, NULL, start);
  const sap_momentum_step step = {
      .dt = DT, .v0 = at->v0, .start = start, .end = end, .inertial = inertial};
  double load[MOST];
  sap_dynamics_momentum_balance(dynamics, &state, &step, tau, load);
  for (int32_t i = 0; i < nv; ++i) {
    tau[i] =
        inertial[i] + model->joints[model->dof_joint[i]].armature * (at->v[i] - at->v0[i]) / DT;
  }
}

static void compare(force_function* force, point* at, double* x, bool is_q, const double* D,
                    const char* what) {
  for (int32_t k = 0; k < nv; ++k) {
    double plus[MOST], minus[MOST], before[MOST], e[MOST] = {0.0};
    memcpy(before, x, (size_t)(is_q ? nq : nv) * sizeof *x);
    for (int side = -1; side <= 1; side += 2) {
      if (is_q) {
        e[k] = side * STEP;
        sap_manifold_integrate(model, before, e, 1.0, x);
      } else {
        x[k] = before[k] + side * STEP;
      }
      force(at, side < 0 ? minus : plus);
    }
    memcpy(x, before, (size_t)(is_q ? nq : nv) * sizeof *x);
    for (int32_t i = 0; i < nv; ++i) {
      const double expected = (plus[i] - minus[i]) / (2.0 * STEP);
      if (!(fabs(D[nv * k + i] - expected) <= TOLERANCE * fmax(10.0, fabs(expected)))) {
        fail_msg("%s[%d, %d] = %.12g, differences give %.12g", what, i, k, D[nv * k + i], expected);
      }
    }
  }
}

static double D[4][MOST * MOST];

static void test_inverse_dynamics(void** state) {
  (void)state;
  point at = make_point();
  memset(D, 0, sizeof D);
  sap_kinematics_set(&kin, at.q);
  work->dynamics->kernels->inverse_derivatives(work, &kin, at.v, at.a,
                                               &(sap_inverse_derivatives){D[0], D[1], D[2]});
  compare(inverse, &at, at.q, true, D[0], "dtau/dq");
  compare(inverse, &at, at.v, false, D[1], "dtau/dv");
  compare(inverse, &at, at.a, false, D[2], "dtau/da");
}

static void test_momentum_balance(void** state) {
  (void)state;
  point at = make_point();
  memset(D, 0, sizeof D);
  sap_kinematics_set(&kin, at.q);
  sap_kinematics_set(&kin0, at.q0);
  sap_momentum_derivatives step = {
      .kin0 = &kin0, .kin = &kin, .v0 = at.v0, .v = at.v, .dt = DT, .dq = D[0], .dv = D[1]};
  work->dynamics->kernels->momentum_derivatives(work, &step);
  step.dq = step.dv = NULL;
  step.dq0 = D[2];
  step.dv0 = D[3];
  work->dynamics->kernels->momentum_derivatives(work, &step);
  compare(momentum, &at, at.q, true, D[0], "dm/dq");
  compare(momentum, &at, at.v, false, D[1], "dm/dv");
  compare(momentum, &at, at.q0, true, D[2], "dm/dq0");
  compare(momentum, &at, at.v0, false, D[3], "dm/dv0");
}

// x' M y without armature, from momenta: M y is the balance of a = y at rest without gravity.
static double mass_product(const point* at, int32_t tree) {
  double blocks[MOST][MOST * 8] = {{0.0}}, *diagonal[MOST];
  for (int32_t t = 0; t < model->sizes.trees; ++t) {
    diagonal[t] = blocks[t];
  }
  sap_kinematics_set(&kin, at->q);
  sap_dynamics_mass_matrix(dynamics, &kin, diagonal);
  const int32_t n = model->tree_sizes[tree], first = model->tree_dofs[tree];
  double sum = 0.0;
  for (int32_t j = 0; j < n; ++j) {
    for (int32_t i = 0; i < n; ++i) {
      sum += at->v[first + i] * at->a[first + j] * blocks[tree][i >= j ? n * j + i : n * i + j];
    }
  }
  return sum;
}

static void test_mass_product(void** state) {
  (void)state;
  point at = make_point();
  double gradient[MOST] = {0.0};
  sap_mass_work* masses;
  assert_int_equal(sap_mass_work_create(dynamics, &pool, &masses, NULL), SAP_STATUS_OK);
  // Once by two of the vectors and twice less another once by others: zero vectors are NULL.
  const sap_mass_form form = {.x = {at.v, at.a, NULL, at.a},
                              .C = {{0.0, 1.5, 2.0, -1.0},
                                    {1.5, 0.0, 1.0, 0.0},
                                    {2.0, 1.0, 1.0, 1.0},
                                    {-1.0, 0.0, 1.0, 0.0}}};
  for (int32_t t = 0; t < model->sizes.trees; ++t) {
    sap_kinematics_set(&kin, at.q);
    dynamics->kernels->add_mass(masses, t, &form);
    dynamics->kernels->mass_gradient(masses, &kin, t, gradient);
  }
  for (int32_t k = 0; k < nv; ++k) {
    double value[2], q[MOST], e[MOST] = {0.0};
    memcpy(q, at.q, sizeof q);
    for (int side = 0; side < 2; ++side) {
      e[k] = side == 0 ? -STEP : STEP;
      sap_manifold_integrate(model, q, e, 1.0, at.q);
      value[side] = mass_product(&at, model->dof_tree[k]);
    }
    memcpy(at.q, q, sizeof q);
    const double expected = (value[1] - value[0]) / (2.0 * STEP);
    assert_true(fabs(gradient[k] - expected) <= TOLERANCE * fmax(10.0, fabs(expected)));
  }
}

// Rotations by w of every size, 0 and the limit of the series among them.
static void test_steps_of_positions(void** state) {
  (void)state;
  static const double sizes[] = {0.0, 1e-6, 0.0299, 0.0301, 1.0, 3.0};
  sap_step_rotation rotations[MOST];
  const point at = make_point();
  for (size_t s = 0; s < sizeof sizes / sizeof *sizes; ++s) {
    double w[MOST], q1[MOST];
    for (int32_t i = 0; i < nv; ++i) {
      w[i] = sizes[s] * at.v[i] / 1.5;
    }
    sap_manifold_integrate(model, at.q, w, 1.0, q1);
    const int32_t count = sap_manifold_derivatives(model, w, 1.0, rotations);
    assert_true(count >= 3);
    for (int32_t r = 0; r < 6 * count; ++r) {
      const sap_step_rotation* rotation = &rotations[r / 6];
      const int k = r % 6;
      double moved[2][MOST], delta[MOST], q[MOST], e[MOST] = {0.0}, x[MOST];
      for (int side = 0; side < 2; ++side) {
        const double h = side == 0 ? -STEP : STEP;
        memcpy(x, w, sizeof x);
        memset(e, 0, sizeof e);
        (k < 3 ? e : x)[rotation->first + k % 3] += h;
        sap_manifold_integrate(model, at.q, e, 1.0, q);
        sap_manifold_integrate(model, q, x, 1.0, moved[side]);
      }
      sap_manifold_difference(model, moved[0], moved[1], delta);
      for (int i = 0; i < 3; ++i) {
        const double expected = delta[rotation->first + i] / (2.0 * STEP);
        const double found = (k < 3 ? rotation->T : rotation->J)[3 * (k % 3) + i];
        assert_true(fabs(found - expected) < 1e-9);
      }
    }
  }
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(test_inverse_dynamics),
      cmocka_unit_test(test_momentum_balance),
      cmocka_unit_test(test_mass_product),
      cmocka_unit_test(test_steps_of_positions),
  };
  return cmocka_run_group_tests(tests, setup, teardown);
}
