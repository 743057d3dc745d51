// SPDX-License-Identifier: BSD-3-Clause
// Drag and lift of the medium: against MuJoCo 4.0.0's qfrc_fluid, D against differences of the
// force, terminal velocities, a stiff medium at a large step.
#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>

#include <cmocka.h>

#include <sapstep/scene.h>

#include "math/quaternion.h"
#include "multibody/dynamics/dynamics.h"
#include "multibody/dynamics/fluid.h"
#include "multibody/model/model_data.h"
#include "support/near.h"
#include "support/scratch.h"
#include "support/simulation.h"

static const char scene[] =
    "<mujoco><compiler angle='radian'/><option density='1.3' viscosity='.4' wind='.5 -.3 .2'/>"
    "<worldbody>"
    "<body pos='.1 .2 .3' quat='.9 .1 -.2 .3'><joint type='hinge' axis='1 2 3'/>"
    "<inertial pos='.05 -.02 .1' mass='2' fullinertia='.03 .04 .05 .002 -.003 .001'/>"
    "<body pos='.3 .1 0'><joint type='ball'/>"
    "<geom type='capsule' size='.05 .2' fluidshape='ellipsoid'/>"
    "<geom type='box' size='.05 .1 .02' pos='.1 0 .3' quat='.8 .2 .4 -.1' fluidshape='ellipsoid' "
    "fluidcoef='.6 .2 1.1 .7 1.3'/></body></body>"
    "<body pos='1 0 0'><freejoint/><geom type='ellipsoid' size='.1 .2 .3' fluidshape='ellipsoid' "
    "fluidcoef='.3 .4 2'/></body>"
    "<body pos='2 0 0'><freejoint/><geom type='cylinder' size='.1 .02' fluidshape='ellipsoid'/>"
    "<geom type='sphere' size='.08' pos='0 .2 0' fluidshape='ellipsoid'/></body>"
    "<body pos='3 0 0'><freejoint/><geom type='box' size='.1 .2 .3'/></body>"
    "</worldbody></mujoco>";
static const double velocities[] = {1.22,  1.23,  0.06, -0.86, -1.78, -0.47, -0.37, -1.82,
                                    -1.8,  2.0,   0.61, -1.06, -0.26, 1.9,   1.59,  1.38,
                                    -0.43, -0.03, 0.71, -1.76, 0.22,  -0.91};
// mj_forward's qfrc_fluid there.
static const double expected[] = {
    -0.4570719937786,  -0.08449618036437, -0.04782351353693, 0.02933693613339,   3.948815274755,
    -0.04147793817359, 0.973959216524,    0.1606460148943,   0.1663333313349,    -0.1977279875305,
    -0.2657419050736,  0.7606576744532,   0.3345741911041,   -0.007215347485983, -0.01531036387676,
    0.005521502999225, 1.465535846953,    -0.4456717286153,  -0.8069046129597,   0.1435006354001,
    -0.01774504422502, 0.07346105760803};
enum { NV = sizeof velocities / sizeof *velocities };

static sap_model* read_text(const char* text, sap_error* error) {
  scratch files;
  char path[SCRATCH_PATH_SIZE];
  sap_model* model = NULL;
  scratch_begin(&files);
  (void)scratch_write(&files, "scene.xml", text, strlen(text), path);
  (void)sap_scene_read(path, NULL, &model, error);
  scratch_end(&files);
  return model;
}

static void set_quaternion(double* q, double a, double b, double c, double d) {
  const double x[4] = {a, b, c, d};
  memcpy(q, x, sizeof x);
  (void)sap_quaternion_normalize(q);
}

static void test_mujoco(void** unused) {
  (void)unused;
  sap_error error = {0};
  sap_model* model = read_text(scene, &error);
  if (model == NULL) {
    fail_msg("%s", error.message);
    return;
  }
  assert_int_equal(model->sizes.nv, NV);
  double q[32], k[NV] = {0.0};
  assert_true(model->sizes.nq <= 32);
  memcpy(q, model->q_default, (size_t)model->sizes.nq * sizeof *q);
  q[0] = 0.4;
  set_quaternion(q + 1, 0.7, 0.2, -0.4, 0.5);
  for (int b = 0; b < 3; ++b) {
    set_quaternion(q + 8 + 7 * b, 0.6, -0.3 + 0.1 * b, 0.5, 0.2 * b);
  }
  sap_dynamics* dynamics = NULL;
  sap_kinematics kin;
  assert_int_equal(sap_dynamics_create(model, &dynamics, NULL), SAP_STATUS_OK);
  assert_int_equal(sap_kinematics_create(&kin, dynamics, NULL), SAP_STATUS_OK);
  sap_kinematics_set(&kin, q);
  sap_dynamics_add_fluid(dynamics, &(sap_dynamics_state){&kin, velocities, NULL}, 1.0, k);
  for (int i = 0; i < NV; ++i) {
    // MuJoCo integrates the virtual masses by a quadrature of 15 points.
    ASSERT_NEAR(k[i], expected[i], 2e-5 * fmax(1.0, fabs(expected[i])));
  }
  sap_kinematics_clear(&kin);
  sap_dynamics_destroy(dynamics);
  sap_model_destroy(model);
}

// Holds the parts of the fluid under test.
static sap_pool pool = {.owner = "fluid"};

// A body with one shape in the medium; ellipsoid or box.
static sap_fluid part_of(const double size[3], bool ellipsoid, const double coefficients[5],
                         sap_model** model) {
  sap_model_options options = sap_model_options_default();
  options.fluid_density = 1.2;
  options.fluid_viscosity = 0.05;
  sap_builder* builder = NULL;
  assert_int_equal(sap_builder_create(&options, &builder, NULL), SAP_STATUS_OK);
  const double origin[3] = {0.0, 0.0, 0.0};
  const int32_t body = simulation_body(builder, 0, 2.0, 0.1, origin);
  simulation_joint(builder, body, SAP_JOINT_FREE, 0.0, 0.0, 1.0);
  sap_shape_def shape = sap_shape_def_default();
  shape.type = SAP_SHAPE_ELLIPSOID;
  shape.body = body;
  memcpy(shape.size, size, sizeof shape.size);
  shape.fluid_ellipsoid = ellipsoid;
  memcpy(shape.fluid_coefficients, coefficients, sizeof shape.fluid_coefficients);
  assert_int_equal(sap_builder_add_shape(builder, &shape, NULL, NULL), SAP_STATUS_OK);
  assert_int_equal(sap_builder_compile(builder, model, NULL), SAP_STATUS_OK);
  sap_builder_destroy(builder);
  sap_fluid fluid = {0};
  assert_int_equal(sap_fluid_create(*model, &pool, &fluid, NULL), SAP_STATUS_OK);
  assert_int_equal(fluid.count, 1);
  return fluid;
}

static void differences(const sap_fluid_part* part, const double x[6], double out[36]) {
  static const double h = 1e-5;
  for (int j = 0; j < 6; ++j) {
    double a[6], b[6], fa[6], fb[6];
    memcpy(a, x, sizeof a);
    memcpy(b, x, sizeof b);
    a[j] -= h;
    b[j] += h;
    sap_fluid_law(part, a, fa, NULL);
    sap_fluid_law(part, b, fb, NULL);
    for (int i = 0; i < 6; ++i) {
      out[6 * j + i] = -(fb[i] - fa[i]) / (2.0 * h);
    }
  }
}

// Exact for a box; for a ball too, whose section is the same all around, where no virtual mass
// pushes across: when it only moves or only turns.
static void test_damping_exact(void** unused) {
  (void)unused;
  static const double motions[3][6] = {{0.7, -1.3, 0.4, -2.1, 0.3, 1.7},
                                       {0.7, -1.3, 0.4, 0.0, 0.0, 0.0},
                                       {0.0, 0.0, 0.0, -2.1, 0.3, 1.7}};
  static const double plain[5] = {0.5, 0.25, 1.5, 0.0, 0.0};
  static const double ball[3] = {0.2, 0.2, 0.2}, any[3] = {0.1, 0.2, 0.3};
  for (int kind = 0; kind < 3; ++kind) {
    sap_model* model = NULL;
    sap_fluid fluid = part_of(kind == 0 ? any : ball, kind > 0, plain, &model);
    double force[6], D[36], exact[36];
    sap_fluid_law(&fluid.parts[0], motions[kind], force, D);
    differences(&fluid.parts[0], motions[kind], exact);
    const int first = kind == 2 ? 3 : 0, end = kind == 1 ? 3 : 6;
    for (int j = first; j < end; ++j) {
      for (int i = first; i < end; ++i) {
        ASSERT_NEAR(D[6 * j + i], exact[6 * j + i], 1e-7);
      }
    }
    sap_pool_free(&pool);
    sap_model_destroy(model);
  }
}

// An ellipsoid with lift: D is symmetric, x' D x > 0, and drag takes energy from any motion.
static void test_damping_positive(void** unused) {
  (void)unused;
  static const double coefficients[5] = {0.5, 0.25, 1.5, 1.0, 1.0}, size[3] = {0.1, 0.25, 0.04};
  sap_model* model = NULL;
  sap_fluid fluid = part_of(size, true, coefficients, &model);
  for (int n = 0; n < 200; ++n) {
    double x[6], y[6], force[6], D[36], square = 0.0, power = 0.0;
    for (int i = 0; i < 6; ++i) {
      x[i] = 3.0 * sin(12.9898 * (6.0 * n + i + 1.0));
      y[i] = sin(78.233 * (6.0 * n + i + 1.0));
    }
    sap_fluid_law(&fluid.parts[0], x, force, D);
    for (int i = 0; i < 6; ++i) {
      power += force[i] * x[i];
      for (int j = 0; j < 6; ++j) {
        square += y[i] * D[6 * j + i] * y[j];
        ASSERT_NEAR(D[6 * j + i], D[6 * i + j], 1e-14);
      }
    }
    assert_true(square > 0.0);
    assert_true(power < 0.0);  // lift and virtual mass do no work
  }
  const double rest[6] = {0.0};
  double force[6], D[36];
  sap_fluid_law(&fluid.parts[0], rest, force, D);
  for (int i = 0; i < 6; ++i) {
    assert_true(force[i] == 0.0 && isfinite(D[7 * i]) && D[7 * i] > 0.0);
  }
  sap_pool_free(&pool);
  sap_model_destroy(model);
}

// Virtual masses rho V kappa/(2 - kappa): the three kappa add up to 2, and that along the long axis of
// a spheroid is 2 (1 - e^2)/e^3 (atanh e - e) (Lamb, Hydrodynamics, art. 114).
static void test_virtual_masses(void** unused) {
  (void)unused;
  static const double coefficients[5] = {0.5, 0.25, 1.5, 1.0, 1.0};
  static const double sizes[][3] = {
      {0.1, 0.1, 0.3}, {0.1, 0.2, 0.3}, {0.3, 0.02, 0.1}, {0.2, 0.21, 0.19}, {0.1, 0.1, 0.1}};
  for (size_t i = 0; i < sizeof sizes / sizeof *sizes; ++i) {
    const double* r = sizes[i];
    sap_model* model;
    const sap_fluid fluid = part_of(r, true, coefficients, &model);
    const double mass = 1.2 * 4.0 / 3.0 * acos(-1.0) * r[0] * r[1] * r[2];
    double kappa[3], sum = 0.0;
    for (int k = 0; k < 3; ++k) {
      const double added = fluid.parts[0].virtual_inertia[3 + k];
      kappa[k] = 2.0 * added / (mass + added);
      sum += kappa[k];
    }
    ASSERT_NEAR(sum, 2.0, 1e-13);  // the series of Carlson's R_D ends at 3 (1e-3)^6
    if (i == 0) {
      const double e = sqrt(1.0 - r[0] * r[0] / (r[2] * r[2]));
      ASSERT_NEAR(kappa[2], 2.0 * (1.0 - e * e) / (e * e * e) * (atanh(e) - e), 1e-14);
    }
    sap_pool_free(&pool);
    sap_model_destroy(model);
  }
}

// Boxes on a chain with welded bodies, behind a free root and alone, in a medium of a density.
static const char boxes[] =
    "<mujoco><compiler angle='radian'/><option density='%g' viscosity='.4' wind='.5 -.3 .2'/>"
    "<worldbody>"
    "<body pos='.1 .2 .3' quat='.9 .1 -.2 .3'><joint type='hinge' axis='1 2 3'/>"
    "<joint type='slide' axis='1 0 1'/><geom type='box' size='.1 .2 .3' pos='.05 -.02 .1'/>"
    "<body pos='.3 .1 0'><geom type='box' size='.1 .05 .3'/>"
    "<body pos='.3 .1 0'><joint type='ball'/><geom type='box' size='.1 .4 "
    ".3'/></body></body></body>"
    "<body pos='1 0 0'><freejoint/><geom type='box' size='.1 .2 .3'/>"
    "<body pos='0 .3 0'><joint type='hinge' axis='0 1 1'/><geom type='box' size='.2 .1 .2'/></body>"
    "<body pos='0 -.3 0'><joint type='hinge' axis='1 1 0'/><geom type='box' size='.2 .2 "
    ".3'/></body>"
    "</body>"
    "<body pos='3 0 0'><freejoint/><geom type='box' size='.1 .2 .3' pos='.2 0 0'/></body>"
    "</worldbody></mujoco>";

// D of whole trees against differences of the forces, exact for boxes.
static void check_tree_damping(double density) {
  enum { SIZE = 19, TREES = 3 };
  static const double h = 1e-5;
  sap_error error = {0};
  char text[sizeof boxes + 16];
  (void)snprintf(text, sizeof text, boxes, density);
  sap_model* model = read_text(text, &error);
  assert_non_null(model);
  assert_int_equal(model->sizes.nv, SIZE);
  assert_int_equal(model->sizes.trees, TREES);
  sap_dynamics* dynamics = NULL;
  sap_kinematics kin;
  assert_int_equal(sap_dynamics_create(model, &dynamics, NULL), SAP_STATUS_OK);
  assert_int_equal(sap_kinematics_create(&kin, dynamics, NULL), SAP_STATUS_OK);
  double q[32], v[SIZE], D[TREES][SIZE * SIZE] = {{0.0}};
  double* diagonal[TREES] = {D[0], D[1], D[2]};
  for (int i = 0; i < SIZE; ++i) {
    v[i] = 2.0 * sin(12.9898 * (i + 1.0));
  }
  sap_manifold_integrate(model, model->q_default, v, 0.3, q);
  sap_kinematics_set(&kin, q);
  const sap_tree_matrix A = {.diagonal = diagonal};
  sap_dynamics_add_fluid_damping(dynamics, &(sap_dynamics_state){&kin, v, NULL}, 2.0, &A);
  for (int j = 0; j < SIZE; ++j) {
    double k[SIZE] = {0.0};
    const double middle = v[j];
    v[j] = middle - h;
    sap_dynamics_add_fluid(dynamics, &(sap_dynamics_state){&kin, v, NULL}, 1.0 / h, k);
    v[j] = middle + h;
    sap_dynamics_add_fluid(dynamics, &(sap_dynamics_state){&kin, v, NULL}, -1.0 / h, k);
    v[j] = middle;
    const int32_t tree = model->dof_tree[j], first = model->tree_dofs[tree];
    for (int32_t i = 0; i < SIZE; ++i) {
      const int32_t n = model->tree_sizes[tree];
      const double entry = model->dof_tree[i] != tree ? 0.0
                           : i >= j ? D[tree][(size_t)(n * (j - first) + i - first)]
                                    : D[tree][(size_t)(n * (i - first) + j - first)];
      ASSERT_NEAR(entry, k[i], 1e-7);
    }
  }
  sap_kinematics_clear(&kin);
  sap_dynamics_destroy(dynamics);
  sap_model_destroy(model);
}

static void test_tree_damping(void** unused) {
  (void)unused;
  check_tree_damping(1.3);
  check_tree_damping(0.0);
}

static simulation falling(const char* option, double dt) {
  char text[512];
  (void)snprintf(text, sizeof text,
                 "<mujoco><option gravity='0 0 -10' %s/><worldbody><body pos='0 0 5'><freejoint/>"
                 "<inertial pos='0 0 0' mass='2' diaginertia='.05 .05 .05'/></body></worldbody>"
                 "</mujoco>",
                 option);
  sap_error error = {0};
  simulation s = {.model = read_text(text, &error)};
  if (s.model == NULL) {
    fail_msg("%s", error.message);
  }
  simulation_complete(&s, SAP_SCHEME_IMPLICIT_EULER, dt);
  return s;
}

// The box of this inertia has sides sqrt(6 .05/2): terminal velocities in a thick and a thin
// medium, also where a step lasts 1000 times the decay; with the wind against the weight it hovers.
static void test_terminal_velocity(void** unused) {
  (void)unused;
  static const double pi = 3.14159265358979323846;
  const double side = sqrt(0.15);
  const double thick = 20.0 / (3.0 * pi * side * 1000.0);
  const double thin = sqrt(20.0 / (0.5 * 1.2 * side * side));
  simulation s = falling("viscosity='1000'", 1.0);
  simulation_step(&s, 3);
  ASSERT_NEAR(s.state.v[2], -thick, 1e-8);  // 2e-3 of the start is left after each step
  simulation_end(&s);
  s = falling("density='1.2'", 0.02);
  simulation_step(&s, 3000);
  ASSERT_NEAR(s.state.v[2], -thin, 1e-9);
  simulation_end(&s);
  char option[64];
  (void)snprintf(option, sizeof option, "density='1.2' wind='3 0 %.17g'", thin);
  s = falling(option, 0.02);
  simulation_step(&s, 1);
  ASSERT_NEAR(s.state.v[2], 0.0, 1e-12);
  simulation_step(&s, 5000);
  assert_true(s.state.v[0] > 2.5 && s.state.v[0] < 3.0);  // it drifts with the wind
  simulation_end(&s);
}

static void test_bad_input(void** unused) {
  (void)unused;
  static const char* const cases[][2] = {
      {"<mujoco><option density='-1'/></mujoco>", "must be >= 0"},
      {"<mujoco><option viscosity='nan'/></mujoco>", "viscosity"},
      {"<mujoco><option wind='1 2'/></mujoco>", "wind"},
      {"<mujoco><worldbody><body><freejoint/><geom size='1' fluidshape='round'/></body></worldbody>"
       "</mujoco>",
       "fluidshape"},
      {"<mujoco><worldbody><body><freejoint/><geom name='g' size='1' fluidcoef='1 -2'/></body>"
       "</worldbody></mujoco>",
       "fluid_coefficients[1] = -2"},
      {"<mujoco><worldbody><geom type='plane' fluidshape='ellipsoid'/></worldbody></mujoco>",
       "primitives only"},
  };
  for (size_t i = 0; i < sizeof cases / sizeof *cases; ++i) {
    sap_error error = {0};
    sap_model* model = read_text(cases[i][0], &error);
    assert_null(model);
    if (strstr(error.message, cases[i][1]) == NULL || strstr(error.message, ".xml:1") == NULL) {
      fail_msg("'%s' does not say '%s' and where", error.message, cases[i][1]);
    }
  }
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(test_mujoco),           cmocka_unit_test(test_damping_exact),
      cmocka_unit_test(test_damping_positive), cmocka_unit_test(test_terminal_velocity),
      cmocka_unit_test(test_tree_damping),     cmocka_unit_test(test_bad_input),
      cmocka_unit_test(test_virtual_masses),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
