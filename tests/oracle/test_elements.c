// SPDX-License-Identifier: BSD-3-Clause
// Force elements against differences: forces of their energy, D of the forces, K where it is exact;
// K and D positive semidefinite anywhere.
#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include <cmocka.h>

#include "math/vector3.h"
#include "multibody/dynamics/dynamics_data.h"
#include "support/mixed_model.h"
#include "support/near.h"
#include "support/simulation.h"

enum { MAX_NV = 64 };

// A reproducible number in [-1, 1].
static double scatter(int32_t i) {
  return sin(12.9898 * (double)(i + 1));
}

static void add_spring(sap_builder* builder, int32_t a, int32_t b, double rest_length) {
  sap_spring_def def = sap_spring_def_default();
  def.body_a = a;
  def.body_b = b;
  for (int i = 0; i < 3; ++i) {
    def.point_A[i] = 0.2 * scatter(i + a);
    def.point_B[i] = 0.2 * scatter(i + b + 10);
  }
  def.stiffness = 300.0 + 10.0 * a;
  def.damping = 7.0;
  def.rest_length = rest_length;
  assert_int_equal(sap_builder_add_spring(builder, &def, NULL, NULL), SAP_STATUS_OK);
}

static void add_bushing(sap_builder* builder, int32_t a, int32_t b) {
  sap_bushing_def def = sap_bushing_def_default();
  def.body_a = a;
  def.body_b = b;
  for (int i = 0; i < 3; ++i) {
    def.p_AF[i] = 0.2 * scatter(i + a);
    def.p_BG[i] = 0.2 * scatter(i + b + 10);
  }
  for (int i = 0; i < 4; ++i) {
    def.q_AF[i] = scatter(i + a + 20);
    def.q_BG[i] = scatter(i + b + 30);
  }
  for (int i = 0; i < 6; ++i) {
    def.stiffness[i] = 20.0 * (i + 1);
    def.damping[i] = 3.0 + i;
  }
  assert_int_equal(sap_builder_add_bushing(builder, &def, NULL, NULL), SAP_STATUS_OK);
}

// Elements within a tree, across trees and to the world; a fixed and a spatial elastic tendon.
static sap_model* elastic_model(void) {
  sap_builder* builder = mixed_builder();
  add_spring(builder, 2, 5, 0.3);
  add_spring(builder, 5, 7, 0.1);
  add_spring(builder, 8, 0, 5.0);  // compressed
  add_spring(builder, 6, 8, 0.0);
  add_bushing(builder, 0, 5);
  add_bushing(builder, 7, 8);
  add_bushing(builder, 4, 2);
  const int32_t bodies[4] = {0, 5, 8, 2};
  const double points[12] = {0.1, 0.2, 0.3, 0.05, -0.1, 0.2, 0.1, -0.2, 0.05, 0.0, 0.1, 0.02};
  sap_tendon_def tendon = sap_tendon_def_default();
  tendon.npoints = 4;
  tendon.point_bodies = bodies;
  tendon.points = points;
  tendon.stiffness = 90.0;
  tendon.damping = 4.0;
  tendon.spring_lower = 0.1;
  tendon.spring_upper = 0.2;
  assert_int_equal(sap_builder_add_tendon(builder, &tendon, NULL, NULL), SAP_STATUS_OK);
  const int32_t joints[2] = {0, 6};
  const double coefficients[2] = {1.5, -0.7};
  tendon = sap_tendon_def_default();
  tendon.njoints = 2;
  tendon.joints = joints;
  tendon.coefficients = coefficients;
  tendon.stiffness = 30.0;
  tendon.damping = 2.0;
  assert_int_equal(sap_builder_add_tendon(builder, &tendon, NULL, NULL), SAP_STATUS_OK);
  sap_model* model = NULL;
  assert_int_equal(sap_builder_compile(builder, &model, NULL), SAP_STATUS_OK);
  sap_builder_destroy(builder);
  model->joints[1].stiffness_cubic = 4e3;
  model->joints[2].stiffness_cubic = 5.0;  // alone
  model->bodies[5].gravity_compensation = 0.7;
  model->bodies[8].gravity_compensation = 1.0;
  return model;
}

typedef struct fixture {
  sap_model* model;
  sap_dynamics* dynamics;
  sap_kinematics kin;
  int32_t nv;
  double q[MAX_NV], v[MAX_NV];
} fixture;

static fixture make(int32_t seed) {
  fixture f = {.model = elastic_model()};
  f.nv = sap_model_get_sizes(f.model).nv;
  assert_int_equal(sap_dynamics_create(f.model, &f.dynamics, NULL), SAP_STATUS_OK);
  assert_int_equal(sap_kinematics_create(&f.kin, f.dynamics, NULL), SAP_STATUS_OK);
  for (int32_t i = 0; i < f.nv; ++i) {
    f.v[i] = scatter(i + 77 * seed);
  }
  sap_manifold_integrate(f.model, f.model->q_default, f.v, 0.8, f.q);
  sap_kinematics_set(&f.kin, f.q);
  return f;
}

static void end(fixture* f) {
  sap_kinematics_clear(&f->kin);
  sap_dynamics_destroy(f->dynamics);
  sap_model_destroy(f->model);
}

static double potential(fixture* f, const double* direction, double step) {
  double q[MAX_NV];
  const double rest[MAX_NV] = {0.0};
  sap_diagnostics out;
  sap_manifold_integrate(f->model, f->q, direction, step, q);
  sap_kinematics_set(&f->kin, q);
  sap_dynamics_diagnose(f->dynamics, &f->kin, rest, &out);
  return out.potential_gravity + out.potential_springs;
}

// At rest, all forces but the actuators' are the gradient of the potential energy.
static void test_forces(void** unused) {
  (void)unused;
  for (int32_t seed = 0; seed < 4; ++seed) {
    fixture f = make(seed);
    const double rest[MAX_NV] = {0.0};
    double k1[MAX_NV], k2[MAX_NV], residual[MAX_NV];
    sap_dynamics_forces(f.dynamics, &(sap_dynamics_state){&f.kin, rest, NULL}, k1, k2);
    sap_dynamics_inverse(f.dynamics, &(sap_dynamics_state){&f.kin, rest, NULL}, rest, residual);
    const double scale = 1e3;  // forces are of the order 1e2 to 1e3
    for (int32_t i = 0; i < f.nv; ++i) {
      double direction[MAX_NV] = {0.0};
      direction[i] = 1.0;
      const double h = 1e-5;
      const double slope = (potential(&f, direction, h) - potential(&f, direction, -h)) / (2.0 * h);
      ASSERT_NEAR(k1[i] + k2[i], -slope, 1e-9 * scale);
      ASSERT_NEAR(residual[i], -k1[i] - k2[i], 1e-12 * scale);
    }
    end(&f);
  }
}

// K and D as full symmetric matrices, ld MAX_NV.
static void matrices(fixture* f, double* K, double* D) {
  const sap_model* model = f->model;
  const int32_t count = f->dynamics->ncouplings;
  const int32_t(*pairs)[2] = (const int32_t(*)[2])f->dynamics->couplings;
  static double memory[2][2][40][MAX_NV * MAX_NV];
  double* blocks[2][2][40];
  memset(memory, 0, sizeof memory);
  for (int m = 0; m < 2; ++m) {
    for (int kind = 0; kind < 2; ++kind) {
      for (int i = 0; i < 40; ++i) {
        blocks[m][kind][i] = memory[m][kind][i];
      }
    }
  }
  assert_in_range(count, 1, 40);
  const sap_tree_matrix view[2] = {{blocks[0][0], blocks[0][1]}, {blocks[1][0], blocks[1][1]}};
  sap_dynamics_add_joint_matrices(f->dynamics, f->q, 1.0, 1.0, view[0].diagonal, view[1].diagonal);
  const sap_dynamics_state at = {&f->kin, f->v, NULL};
  sap_dynamics_add_element_matrices(f->dynamics, &at, 1.0, 0.0, &view[0]);
  sap_dynamics_add_element_matrices(f->dynamics, &at, 0.0, 1.0, &view[1]);
  for (int m = 0; m < 2; ++m) {
    double* out = m == 0 ? K : D;
    memset(out, 0, MAX_NV * MAX_NV * sizeof *out);
    for (int32_t t = 0; t < model->sizes.trees; ++t) {
      const int32_t first = model->tree_dofs[t], n = model->tree_sizes[t];
      for (int32_t j = 0; j < n; ++j) {
        for (int32_t i = j; i < n; ++i) {
          const double value = memory[m][0][t][j * n + i];
          out[(first + j) * MAX_NV + first + i] = out[(first + i) * MAX_NV + first + j] = value;
        }
      }
    }
    for (int32_t c = 0; c < count; ++c) {
      const int32_t a = pairs[c][0], b = pairs[c][1], n = model->tree_sizes[a];
      for (int32_t j = 0; j < model->tree_sizes[b]; ++j) {
        for (int32_t i = 0; i < n; ++i) {
          const int32_t row = model->tree_dofs[a] + i, column = model->tree_dofs[b] + j;
          out[column * MAX_NV + row] = out[row * MAX_NV + column] = memory[m][1][c][j * n + i];
        }
      }
    }
  }
}

// The smallest pivot of the Cholesky factorization of S + shift 1.
static double smallest_pivot(const double* S, int32_t n, double shift) {
  static double L[MAX_NV * MAX_NV];
  memcpy(L, S, sizeof L);
  double smallest = HUGE_VAL;
  for (int32_t j = 0; j < n; ++j) {
    const double pivot = L[j * MAX_NV + j] + shift;
    smallest = fmin(smallest, pivot);
    for (int32_t c = j + 1; c < n; ++c) {
      for (int32_t i = c; i < n; ++i) {
        L[c * MAX_NV + i] -= L[j * MAX_NV + i] * L[j * MAX_NV + c] / pivot;
      }
    }
  }
  return smallest;
}

static void test_damping_and_signs(void** unused) {
  (void)unused;
  static double K[MAX_NV * MAX_NV], D[MAX_NV * MAX_NV];
  for (int32_t seed = 0; seed < 6; ++seed) {
    fixture f = make(seed);
    matrices(&f, K, D);
    const double rest[MAX_NV] = {0.0};
    double with[MAX_NV], without[MAX_NV], k2[MAX_NV];
    sap_dynamics_forces(f.dynamics, &(sap_dynamics_state){&f.kin, f.v, NULL}, with, k2);
    sap_dynamics_forces(f.dynamics, &(sap_dynamics_state){&f.kin, rest, NULL}, without, k2);
    for (int32_t i = 0; i < f.nv; ++i) {
      double force = 0.0;
      for (int32_t j = 0; j < f.nv; ++j) {
        force -= D[j * MAX_NV + i] * f.v[j];
      }
      ASSERT_NEAR(with[i] - without[i], force, 1e-10);
    }
    assert_true(smallest_pivot(K, f.nv, 1e-8) > 0.0);
    assert_true(smallest_pivot(D, f.nv, 1e-8) > 0.0);
    end(&f);
  }
}

// K is exact for translations of two bodies tied by a stretched spring; under compression all that
// is missing is the negative part across.
static void test_spring_stiffness(void** unused) {
  (void)unused;
  for (int compressed = 0; compressed < 2; ++compressed) {
    sap_builder* builder = simulation_builder(0.0, 0.0, 0.0);
    const double p[2][3] = {{0.1, 0.2, 0.3}, {0.5, -0.4, 1.0}};
    sap_spring_def def = sap_spring_def_default();
    for (int i = 0; i < 2; ++i) {
      const int32_t body = simulation_body(builder, 0, 1.0, 0.1, p[i]);
      simulation_joint(builder, body, SAP_JOINT_FREE, 0.0, 0.0, 1.0);
      *(i == 0 ? &def.body_a : &def.body_b) = body;
    }
    def.stiffness = 200.0;
    def.rest_length = compressed ? 3.0 : 0.4;
    assert_int_equal(sap_builder_add_spring(builder, &def, NULL, NULL), SAP_STATUS_OK);
    fixture f = {.nv = 12};
    assert_int_equal(sap_builder_compile(builder, &f.model, NULL), SAP_STATUS_OK);
    sap_builder_destroy(builder);
    assert_int_equal(sap_dynamics_create(f.model, &f.dynamics, NULL), SAP_STATUS_OK);
    assert_int_equal(sap_kinematics_create(&f.kin, f.dynamics, NULL), SAP_STATUS_OK);
    memcpy(f.q, f.model->q_default, 14 * sizeof(double));
    static double K[MAX_NV * MAX_NV], D[MAX_NV * MAX_NV];
    matrices(&f, K, D);
    double u[3], k1[2][MAX_NV], k2[MAX_NV], q[MAX_NV];
    sap_v3_sub(u, p[1], p[0]);
    const double length = sap_v3_norm(u);
    sap_v3_scale(u, u, 1.0 / length);
    const double across = compressed ? 200.0 * (length - 3.0) / length : 0.0;
    static const int32_t translations[6] = {0, 1, 2, 6, 7, 8};
    for (int n = 0; n < 36; ++n) {
      const int32_t i = translations[n % 6], j = translations[n / 6];
      double direction[MAX_NV] = {0.0};
      direction[j] = 1.0;
      for (int side = 0; side < 2; ++side) {
        sap_manifold_integrate(f.model, f.q, direction, side == 0 ? -1e-6 : 1e-6, q);
        sap_kinematics_set(&f.kin, q);
        sap_dynamics_forces(f.dynamics, &(sap_dynamics_state){&f.kin, direction + 12, NULL},
                            k1[side], k2);
      }
      const double exact = -(k1[1][i] - k1[0][i]) / 2e-6;
      const double sign = (i < 3) == (j < 3) ? 1.0 : -1.0;
      const double missing = sign * across * ((i % 6 == j % 6 ? 1.0 : 0.0) - u[i % 6] * u[j % 6]);
      ASSERT_NEAR(K[j * MAX_NV + i], exact - missing, 1e-6);
    }
    end(&f);
  }
}

// A bushing that is relaxed: K is exact for every motion of both bodies.
static void test_bushing_stiffness(void** unused) {
  (void)unused;
  sap_builder* builder = simulation_builder(0.0, 0.0, 0.0);
  const double p[2][3] = {{0.1, 0.2, 0.3}, {0.3, -0.1, 0.4}};
  sap_bushing_def def = sap_bushing_def_default();
  for (int i = 0; i < 2; ++i) {
    const int32_t body = simulation_body(builder, 0, 1.0, 0.1, p[i]);
    simulation_joint(builder, body, SAP_JOINT_FREE, 0.0, 0.0, 1.0);
    *(i == 0 ? &def.body_a : &def.body_b) = body;
  }
  sap_v3_set(def.p_AF, 0.3, 0.1, 0.2);
  sap_v3_set(def.p_BG, 0.1, 0.4, 0.1);  // the same place: p_A + p_AF = p_B + p_BG
  for (int i = 0; i < 6; ++i) {
    def.stiffness[i] = 20.0 * (i + 1);
  }
  def.q_AF[1] = def.q_BG[1] = 0.5;
  assert_int_equal(sap_builder_add_bushing(builder, &def, NULL, NULL), SAP_STATUS_OK);
  fixture f = {.nv = 12};
  assert_int_equal(sap_builder_compile(builder, &f.model, NULL), SAP_STATUS_OK);
  sap_builder_destroy(builder);
  assert_int_equal(sap_dynamics_create(f.model, &f.dynamics, NULL), SAP_STATUS_OK);
  assert_int_equal(sap_kinematics_create(&f.kin, f.dynamics, NULL), SAP_STATUS_OK);
  memcpy(f.q, f.model->q_default, 14 * sizeof(double));
  static double K[MAX_NV * MAX_NV], D[MAX_NV * MAX_NV];
  matrices(&f, K, D);
  const double rest[12] = {0.0};
  double k1[2][MAX_NV], k2[MAX_NV], q[MAX_NV];
  for (int32_t j = 0; j < 12; ++j) {
    double direction[12] = {0.0};
    direction[j] = 1.0;
    for (int side = 0; side < 2; ++side) {
      sap_manifold_integrate(f.model, f.q, direction, side == 0 ? -1e-5 : 1e-5, q);
      sap_kinematics_set(&f.kin, q);
      sap_dynamics_forces(f.dynamics, &(sap_dynamics_state){&f.kin, rest, NULL}, k1[side], k2);
    }
    for (int32_t i = 0; i < 12; ++i) {
      ASSERT_NEAR(K[j * MAX_NV + i], -(k1[1][i] - k1[0][i]) / 2e-5, 1e-7);
    }
  }
  end(&f);
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(test_forces),
      cmocka_unit_test(test_damping_and_signs),
      cmocka_unit_test(test_spring_stiffness),
      cmocka_unit_test(test_bushing_stiffness),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
