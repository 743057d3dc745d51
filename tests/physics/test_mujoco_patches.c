// SPDX-License-Identifier: BSD-3-Clause
// Patches of MuJoCo's geoms: closed forms, our own engine, rest, order, checkpoints.
#include "mujoco/adapter.h"
#include "support/mujoco_run.h"
#include "support/simulation.h"

static const double R = 0.05, E = 1e6;

static mujoco_run begin(const char* text, double modulus) {
  sap_mj_options options = sap_mj_options_default();
  options.patches = modulus;
  options.solver_options.relative_tolerance = 1e-10;
  return mujoco_run_text(text, &options);
}

static mujoco_run begin_sphere(const char* z) {
  char text[400];
  (void)snprintf(text, sizeof text,
                 "<mujoco><option timestep='0.005'/><worldbody><geom type='plane' size='5 5 1'/>"
                 "<body pos='0 0 %s'><freejoint/><geom type='sphere' size='.05' mass='1'/></body>"
                 "</worldbody></mujoco>",
                 z);
  return begin(text, E);
}

// A sphere sunk by d in a rigid plane, at which its pressure is E/R (R - |x|).
static void test_sphere_force(void** state) {
  (void)state;
  mujoco_run run = begin_sphere(".049");
  double force = 0.0;
  assert_int_equal(sap_mj_forward(run.adapter, run.data, NULL, NULL), SAP_STATUS_OK);
  for (int i = 0; i < (int)run.data->ncon; ++i) {
    force += run.data->contact[i].solimp[0] * run.data->contact[i].solimp[4];
    ASSERT_NEAR(run.data->contact[i].dist, -1e-3, 1e-12);
  }
  const double h = R - 1e-3, pi = acos(-1.0);
  const double exact =
      2.0 * pi * E / R * (0.5 * R * (R * R - h * h) - (R * R * R - h * h * h) / 3.0);
  ASSERT_NEAR(force, exact, 1e-4 * exact);
  mujoco_run_end(&run);
}

static void test_same_rest(void** state) {
  (void)state;
  static const double size[3] = {0.05, 0.0, 0.0}, none[3] = {0.0, 0.0, 0.0}, p[3] = {0, 0, 0.0502};
  mujoco_run run = begin_sphere(".0502");
  mujoco_run_step(&run, 600);
  sap_builder* builder = simulation_builder(0.0, 0.0, -9.81);
  sap_material material = sap_material_default();
  material.modulus = E;
  const int32_t body = simulation_body(builder, 0, 1.0, 0.4 * R * R, p);
  simulation_joint(builder, body, SAP_JOINT_FREE, 0.0, 0.0, 1.0);
  simulation_shape(builder, body, SAP_SHAPE_SPHERE, size, material);
  simulation_shape(builder, 0, SAP_SHAPE_PLANE, none, material);
  simulation s = simulation_begin(builder, SAP_SCHEME_IMPLICIT_EULER, 0.005);
  simulation_step(&s, 600);
  double z = 1.0;  // the free joint's q: quaternion or place first
  for (int i = 0; i < s.state.nq; ++i) {
    z = fabs(s.state.q[i] - R) < fabs(z - R) ? s.state.q[i] : z;
  }
  ASSERT_NEAR(run.data->qpos[2], z, 1e-6);
  simulation_end(&s);
  mujoco_run_end(&run);
}

// A rod through a plate, both soft: the adapter's contacts are the points of all clusters.
static void test_clusters(void** state) {
  (void)state;
  static const double plate[3] = {0.1, 0.1, 0.01}, rod[3] = {0.012, 0.015, 0.1};
  static const double p[3] = {0.095, 0.0, 0.0};
  mujoco_run run = begin(
      "<mujoco><option timestep='0.002'/><worldbody><geom type='box' size='.1 .1 .01'/>"
      "<body pos='.095 0 0'><freejoint/><geom type='box' size='.012 .015 .1' mass='.5'/></body>"
      "</worldbody></mujoco>",
      E);
  assert_int_equal(sap_mj_forward(run.adapter, run.data, NULL, NULL), SAP_STATUS_OK);
  sap_builder* builder = simulation_builder(0.0, 0.0, -9.81);
  sap_material material = sap_material_default();
  material.modulus = E;
  const int32_t body = simulation_body(builder, 0, 0.5, 1e-3, p);
  simulation_joint(builder, body, SAP_JOINT_FREE, 0.0, 0.0, 1.0);
  simulation_shape(builder, 0, SAP_SHAPE_BOX, plate, material);
  simulation_shape(builder, body, SAP_SHAPE_BOX, rod, material);
  simulation s = simulation_begin(builder, SAP_SCHEME_IMPLICIT_EULER, 0.002);
  simulation_step(&s, 1);
  const sap_contact* ours = sap_multibody_contacts(s.multibody);
  const int32_t count = sap_multibody_contact_count(s.multibody);
  assert_true(count > 5);
  assert_int_equal(run.data->ncon, count);
  for (int32_t i = 0; i < count; ++i) {
    const mjContact* c = &run.data->contact[i];
    ASSERT_NEAR(c->dist, ours[i].phi, 1e-12);
    ASSERT_NEAR(c->solimp[4], ours[i].law_phi, 1e-12);
    ASSERT_NEAR(c->solimp[0], -ours[i].material.stiffness, 1e-9 * ours[i].material.stiffness);
    for (int k = 0; k < 3; ++k) {
      ASSERT_NEAR(c->frame[k], ours[i].R_WC[6 + k], 1e-12);
      ASSERT_NEAR(c->pos[k], ours[i].point[k], 1e-12);
    }
  }
  simulation_end(&s);
  mujoco_run_end(&run);
}

// Two boxes, or hulls of the same corners, rest on each other; their order does not matter.
static void test_rest(void** state) {
  (void)state;
  static const char* const mesh =
      "<mujoco><option timestep='0.01'/><asset><mesh name='m' vertex='-.06 -.04 -.05 .06 -.04 -.05 "
      "-.06 .04 -.05 .06 .04 -.05 -.06 -.04 .05 .06 -.04 .05 -.06 .04 .05 .06 .04 .05'/></asset>"
      "<worldbody><geom type='plane' size='5 5 1'/>";
  static const char* const geoms[4] = {"type='box' size='.06 .04 .05'", "type='mesh' mesh='m'",
                                       "type='box' size='.06 .04 .05'", "type='mesh' mesh='m'"};
  double z[4];
  for (int i = 0; i < 4; ++i) {
    char text[1200];
    const bool swapped = i > 1;
    (void)snprintf(
        text, sizeof text,
        "%s<body pos='0 0 %s'><freejoint/><geom %s mass='2'/></body>"
        "<body pos='0 0 %s' ><freejoint/><geom %s mass='2'/></body></worldbody></mujoco>",
        mesh, swapped ? ".15" : ".05", geoms[i], swapped ? ".05" : ".15", geoms[i]);
    mujoco_run run = begin(text, E);
    mujoco_run_step(&run, 200);
    z[i] = run.data->qpos[swapped ? 2 : 9];
    for (int k = 0; k < 12; ++k) {
      ASSERT_NEAR(run.data->qvel[k], 0.0, 1e-6);
    }
    mujoco_run_end(&run);
  }
  for (int i = 0; i < 4; ++i) {
    ASSERT_NEAR(z[i], z[0], i % 2 == 0 ? 1e-12 : 1e-8);  // meshes are in single precision
  }
}

// A box of the sides a, b sinks in by d: depths near the rim are those below its sides.
//   F = E/H int_0^d (a - 2 t) (b - 2 t) dt
static void test_box_rests(void** state) {
  (void)state;
  mujoco_run run = begin(
      "<mujoco><option timestep='0.01'/><worldbody><geom type='plane' size='5 5 1'/><body"
      " pos='0 0 .08' euler='5 3 0'><freejoint/><geom type='box' size='.06 .04 .05' mass='2'/>"
      "</body></worldbody></mujoco>",
      E);
  mujoco_run_step(&run, 300);
  const double a = 0.12, b = 0.08, d = 0.05 - run.data->qpos[2];
  const double force = E / 0.04 * (a * b * d - (a + b) * d * d + 4.0 / 3.0 * d * d * d);
  ASSERT_NEAR(force, 2.0 * 9.81, 1e-5);
  for (int k = 0; k < 6; ++k) {
    ASSERT_NEAR(run.data->qvel[k], 0.0, 1e-6);
  }
  mujoco_run_end(&run);
}

// The option is part of a checkpoint, and a run that continues is the same.
static void test_checkpoint(void** state) {
  (void)state;
  scratch s;
  char path[SCRATCH_PATH_SIZE];
  int64_t steps;
  scratch_begin(&s);
  (void)scratch_path(&s, "a.checkpoint", path);
  mujoco_run run = begin_sphere(".06"), other = begin_sphere(".06");
  sap_error error = {0};
  mujoco_run_step(&run, 12);
  assert_int_equal(sap_mj_checkpoint_write(path, run.adapter, run.data, 12, &error), 0);
  mujoco_run_step(&run, 20);
  assert_int_equal(sap_mj_checkpoint_read(path, other.adapter, other.data, &steps, &error), 0);
  mujoco_run_step(&other, 20);
  assert_memory_equal(run.data->qpos, other.data->qpos, 7 * sizeof(mjtNum));
  other.adapter->options.patches = 2.0 * E;
  assert_int_equal(sap_mj_checkpoint_read(path, other.adapter, other.data, &steps, &error),
                   SAP_STATUS_ARGUMENT);
  assert_non_null(strstr(error.message, "patches"));
  mujoco_run_end(&run);
  mujoco_run_end(&other);
  scratch_end(&s);
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(test_sphere_force), cmocka_unit_test(test_same_rest),
      cmocka_unit_test(test_rest),         cmocka_unit_test(test_box_rests),
      cmocka_unit_test(test_checkpoint),   cmocka_unit_test(test_clusters),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
