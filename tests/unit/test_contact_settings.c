// SPDX-License-Identifier: BSD-3-Clause
// Where the contact model and its numbers come from: scenes, geoms, pairs, options, the builder;
// and what a problem keeps for lagged contacts.
#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include <cmocka.h>

#include <sapstep/problem.h>
#include <sapstep/scene.h>

#include "multibody/model/model_data.h"
#include "support/near.h"
#include "support/scene_text.h"

static sap_material shape_material(const sap_model* model, int32_t shape) {
  sap_shape_def def;
  assert_int_equal(sap_model_get_shape(model, shape, &def, NULL), SAP_STATUS_OK);
  return def.material;
}

static const char scene[] =
    "<mujoco><custom>"
    "<text name='sapstep:contact_model' data='lagged'/>"
    "<text name='sapstep:contact_model:b' data='similar'/>"
    "<text name='other' data='anything'/>"
    "<numeric name='sapstep:dissipation' data='3'/>"
    "<numeric name='sapstep:dissipation:b' data='0'/>"
    "<numeric name='sapstep:stiction_tolerance' data='2e-4'/>"
    "<numeric name='sapstep:stiction_tolerance:b' data='1e-3'/>"
    "<numeric name='sapstep:modulus' data='1e5'/>"
    "<numeric name='sapstep:modulus:b' data='0'/>"
    "<numeric name='sapstep:field_depth:floor' data='0.02'/>"
    "<numeric name='sapstep:static_friction:b' data='1.2'/></custom>"
    "<worldbody><geom name='floor' type='plane' size='1 1 1'/>"
    "<body name='x' pos='0 0 1'><freejoint/><geom name='a' size='0.1'/></body>"
    "<body name='y' pos='1 0 1'><freejoint/><geom name='b' size='0.1'/></body></worldbody>"
    "<contact><pair geom1='a' geom2='b'/></contact></mujoco>";

static void test_scene(void** state) {
  (void)state;
  sap_model* model = scene_text_model("a.xml", scene, NULL);
  const sap_material a = shape_material(model, 1), b = shape_material(model, 2);
  assert_int_equal(a.model, SAP_CONTACT_LAGGED);
  assert_int_equal(b.model, SAP_CONTACT_SIMILAR);
  assert_true(a.dissipation == 3.0 && b.dissipation == 0.0);
  assert_true(a.stiction_tolerance == 2e-4 && b.stiction_tolerance == 1e-3);
  assert_true(a.static_friction == 0.0 && b.static_friction == 1.2);
  assert_true(a.modulus == 1e5 && b.modulus == 0.0);
  assert_true(a.field_depth == 0.0 && shape_material(model, 0).field_depth == 0.02);
  const sap_pair_def pair = model->pairs[0];
  assert_int_equal(pair.material.model, SAP_CONTACT_LAGGED);
  assert_true(pair.material.dissipation == 1.5);  // equal stiffness
  assert_true(pair.material.stiction_tolerance == 1e-3 && pair.material.static_friction == 1.2);
  sap_model_destroy(model);
}

static void test_override(void** state) {
  (void)state;
  sap_material override = sap_material_unset();
  override.dissipation = 7.0;
  sap_scene_options options = sap_scene_options_default();
  options.override_material = &override;
  sap_model* model = scene_text_model("a.xml", scene, &options);
  sap_material b = shape_material(model, 2);
  assert_true(b.dissipation == 7.0 && b.stiction_tolerance == 1e-3);
  assert_int_equal(b.model, SAP_CONTACT_SIMILAR);
  sap_model_destroy(model);
  override.model = SAP_CONTACT_SAP;
  model = scene_text_model("a.xml", scene, &options);
  b = shape_material(model, 2);
  assert_int_equal(b.model, SAP_CONTACT_SAP);
  sap_model_destroy(model);
  sap_error error = {0};
  override.model = (sap_contact_model)9;
  assert_int_equal(sap_scene_read("none", &options, &model, &error), SAP_STATUS_ARGUMENT);
  assert_non_null(strstr(error.message, "override_material.model = 9"));
}

static void test_urdf(void** state) {
  (void)state;
  sap_model* model = scene_text_model(
      "a.xml",
      "<robot name='r' xmlns:drake='http://drake.mit.edu'><link name='a'>"
      "<inertial><mass value='1'/><inertia ixx='1' iyy='1' izz='1'/></inertial>"
      "<collision><geometry><sphere radius='1'/></geometry><drake:proximity_properties>"
      "<drake:hunt_crossley_dissipation value='5'/>"
      "<drake:compliant_hydroelastic/><drake:hydroelastic_modulus value='2e5'/>"
      "<drake:mesh_resolution_hint value='0.01'/><drake:mu_static value='0.9'/>"
      "<drake:mu_dynamic value='0.7'/></drake:proximity_properties></collision>"
      "<collision><geometry><sphere radius='1'/></geometry><drake:proximity_properties>"
      "<drake:mu_static value='0.6'/></drake:proximity_properties></collision></link></robot>",
      NULL);
  const sap_material first = shape_material(model, 0), second = shape_material(model, 1);
  assert_true(first.modulus == 2e5);
  assert_true(first.dissipation == 5.0 && first.friction == 0.7 && first.static_friction == 0.9);
  assert_true(second.friction == 0.6);
  sap_model_destroy(model);
}

// Drake's tags in MJCF: a geom has those of its default class, rigid shapes have no field, and
// shapes with a field are lagged unless the scene has another model.
static void test_mjcf_tags(void** state) {
  (void)state;
#define TAGS(text) "<drake:proximity_properties>" text "</drake:proximity_properties>"
  static const char text[] =
      "<mujoco><default><default class='soft'><geom friction='.3'>" TAGS(
          "<drake:compliant_hydroelastic/><drake:hydroelastic_modulus value='2e5'/>"
          "<drake:mu_dynamic value='.7'/>") "</geom></default></default><worldbody>"
      "<geom name='plain' size='1'/><geom name='soft' class='soft' size='1'/>"
      "<geom name='own' class='soft' size='1'>" TAGS(
          "<drake:hydroelastic_modulus value='3e5'/><drake:hunt_crossley_dissipation value='4'/>"
          "<drake:mu_static value='.9'/><drake:hydroelastic_margin value='1e-3'/>"
          "<drake:mesh_resolution_hint value='.1'/>") "</geom>"
      "<geom name='rigid' class='soft' size='1'>" TAGS("<drake:rigid_hydroelastic/>") "</geom>"
      "</worldbody></mujoco>";
#undef TAGS
  sap_model* model = scene_text_model("a.xml", text, NULL);
  const sap_material soft = shape_material(model, 1), own = shape_material(model, 2);
  assert_true(shape_material(model, 0).modulus == 0.0);
  assert_int_equal(shape_material(model, 0).model, SAP_CONTACT_SAP);
  assert_true(soft.modulus == 2e5 && soft.friction == 0.7 && soft.static_friction == 0.0);
  assert_int_equal(soft.model, SAP_CONTACT_LAGGED);
  assert_true(own.modulus == 3e5 && own.dissipation == 4.0 && own.friction == 0.7);
  assert_true(own.static_friction == 0.9);
  assert_true(shape_material(model, 3).modulus == 0.0);
  sap_model_destroy(model);
  sap_material override = sap_material_unset();
  sap_scene_options options = sap_scene_options_default();
  options.override_material = &override;
  override.modulus = 1e6;
  model = scene_text_model("a.xml", text, &options);
  assert_true(shape_material(model, 0).modulus == 1e6);
  assert_int_equal(shape_material(model, 0).model, SAP_CONTACT_LAGGED);
  sap_model_destroy(model);
  options.default_material.model = SAP_CONTACT_SAP;
  model = scene_text_model("a.xml", text, &options);
  assert_int_equal(shape_material(model, 1).model, SAP_CONTACT_SAP);
  sap_model_destroy(model);
}

// A field that a model gets is that of a scene that has it.
static void test_set_field(void** state) {
  (void)state;
  sap_error error = {0};
  sap_model* model = scene_text_model(
      "a.xml",
      "<mujoco><custom><text name='sapstep:contact_model:similar' data='similar'/></custom>"
      "<worldbody><geom name='floor' type='plane' size='1 1 1'/><geom name='ball' size='1'/>"
      "<geom name='similar' size='1'/></worldbody></mujoco>",
      NULL);
  assert_int_equal(sap_model_shape_set_field(model, 1, 1e5, 0.0, &error), SAP_STATUS_OK);
  assert_int_equal(sap_model_shape_set_field(model, 2, 1e5, 0.2, &error), SAP_STATUS_OK);
  const sap_material ball = shape_material(model, 1), similar = shape_material(model, 2);
  assert_true(ball.modulus == 1e5 && ball.field_depth == 0.0 && similar.field_depth == 0.2);
  assert_int_equal(ball.model, SAP_CONTACT_LAGGED);
  assert_int_equal(similar.model, SAP_CONTACT_SIMILAR);
  static const struct {
    int32_t shape;
    double modulus, depth;
    const char* message;
  } wrong[] = {{3, 1e5, 0.0, "shape 3: the model has 3"},
               {1, -1.0, 0.0, "shape 'ball': modulus = -1 must be >= 0"},
               {1, 1e5, (double)NAN, "shape 'ball': field_depth = nan"},
               {0, 1e5, 0.0, "shape 'floor': field_depth = 0 must be > 0 for a plane"}};
  for (size_t i = 0; i < sizeof wrong / sizeof *wrong; ++i) {
    assert_true(sap_model_shape_set_field(model, wrong[i].shape, wrong[i].modulus, wrong[i].depth,
                                          &error) != SAP_STATUS_OK);
    assert_non_null(strstr(error.message, wrong[i].message));
  }
  assert_true(shape_material(model, 1).modulus == 1e5 && shape_material(model, 0).modulus == 0.0);
  assert_int_equal(sap_model_shape_set_field(model, 0, 1e5, 0.1, &error), SAP_STATUS_OK);
  assert_int_equal(sap_model_shape_set_field(model, 1, 0.0, 0.0, &error), SAP_STATUS_OK);
  assert_true(shape_material(model, 1).modulus == 0.0);
  sap_model_destroy(model);
}

static void test_combine(void** state) {
  (void)state;
  sap_material a = sap_material_default(), b = a, pair;
  a.stiffness = 3e4;
  a.dissipation = 4.0;
  a.static_friction = 1.0;
  b.stiffness = 1e4;
  b.dissipation = 0.0;
  b.friction = 0.2;
  b.model = SAP_CONTACT_SIMILAR;
  b.stiction_tolerance = 1e-3;
  assert_int_equal(sap_material_combine(&a, &b, SAP_FRICTION_HARMONIC, &pair, NULL), SAP_STATUS_OK);
  ASSERT_NEAR(pair.dissipation, 1.0, 1e-15);  // (kB dA + kA dB)/(kA + kB)
  ASSERT_NEAR(pair.static_friction, 2.0 * 1.0 * 0.2 / 1.2, 1e-15);
  assert_int_equal(pair.model, SAP_CONTACT_SIMILAR);
  assert_true(pair.stiction_tolerance == 1e-3);
  const double bad[3] = {-1.0, (double)NAN, (double)INFINITY};
  for (int i = 0; i < 9; ++i) {
    sap_material m = sap_material_default();
    *(i < 3 ? &m.dissipation : i < 6 ? &m.stiction_tolerance : &m.static_friction) = bad[i % 3];
    assert_int_not_equal(sap_material_combine(&m, &b, SAP_FRICTION_MAXIMUM, &pair, NULL),
                         SAP_STATUS_OK);
  }
}

// A point mass above its contact with the ground: n0 from the law, then from what was kept.
static sap_block add(sap_problem* problem, double dt, double phi0, const double v0[3],
                     uint64_t key) {
  const int32_t size = 3, tree = 0;
  const double mass[9] = {2.0, 0.0, 0.0, 0.0, 2.0, 0.0, 0.0, 0.0, 2.0};
  const double J[9] = {1.0, 0.0, 0.0, 0.0, 1.0, 0.0, 0.0, 0.0, 1.0};
  const double* const jacobians[1] = {J};
  const double v_star[3] = {v0[0], v0[1], v0[2] - 10.0 * dt};
  sap_contact_block contact = {.ntrees = 1,
                               .trees = &tree,
                               .jacobians = jacobians,
                               .material = sap_material_default(),
                               .phi0 = phi0,
                               .key = key};
  contact.material.model = SAP_CONTACT_LAGGED;
  contact.material.stiffness = 1e4;
  contact.material.dissipation = 2.0;
  contact.material.static_friction = 0.8;
  contact.material.friction = key == 9 ? 0.0 : 0.5;
  const sap_regularization regularization = {0.0, 1e-3, 0.0};
  assert_int_equal(sap_problem_reset(problem, dt, 1, &size, NULL), SAP_STATUS_OK);
  assert_int_equal(sap_problem_set_momentum_block(problem, 0, 0, mass, 3, NULL), SAP_STATUS_OK);
  assert_int_equal(sap_problem_set_v_star(problem, v_star, NULL), SAP_STATUS_OK);
  sap_contact_scheme scheme = sap_contact_scheme_default();
  scheme.v0 = v0;
  assert_int_equal(sap_problem_set_law(problem, &scheme, NULL), SAP_STATUS_OK);
  assert_int_equal(sap_problem_add_contact(problem, &contact, &regularization, NULL),
                   SAP_STATUS_OK);
  sap_block block;
  assert_int_equal(sap_problem_block(problem, 0, &block, NULL, NULL), SAP_STATUS_OK);
  assert_int_equal(block.set, SAP_SET_LAGGED);
  return block;
}

static void test_lag(void** state) {
  (void)state;
  sap_problem* problem;
  assert_int_equal(sap_problem_create(&problem, NULL), SAP_STATUS_OK);
  const double rest[3] = {0.0, 0.0, 0.0}, slides[3] = {0.0, 2e-4, -0.1},
               falls[3] = {1.0, 0.0, -3.0};
  const double dt = 1e-3;
  sap_block block = add(problem, dt, -2e-3, rest, 7);
  ASSERT_NEAR(block.R[2], 1.0 / (dt * dt * 1e4), 1e-12 * block.R[2]);
  ASSERT_NEAR(block.v_hat[2], 2.0, 1e-15);
  ASSERT_NEAR(block.lagged_impulse, dt * 20.0, 1e-15);  // k 2 mm
  assert_true(block.friction == 0.8);
  block = add(problem, dt, -2e-3, slides, 7);
  ASSERT_NEAR(block.lagged_impulse, dt * 20.0 * 1.2, 1e-15);                   // 1 - d v
  ASSERT_NEAR(block.friction, 0.5 + 0.3 * (1.0 - 0.25 * (3.0 - 1.0)), 1e-12);  // half way: s = 1/2
  // an impact gets no more than what stops it at 1/d = .5 m/s: 2 kg times 3.51 m/s
  block = add(problem, dt, -1.0, falls, 7);
  ASSERT_NEAR(block.lagged_impulse, 2.0 * 3.51 * sqrt(3.0), 1e-12);
  assert_true(block.friction == 0.5);
  const double gamma[3] = {0.1, 0.2, 0.3}, bad[3] = {0.0, 0.0, (double)NAN};
  assert_int_equal(sap_problem_keep_impulses(problem, bad, NULL), SAP_STATUS_NOT_FINITE);
  assert_int_equal(sap_problem_keep_impulses(problem, gamma, NULL), SAP_STATUS_OK);
  unsigned char bytes[512];  // another problem that takes them over knows as much
  size_t kept;
  sap_problem* other;
  assert_int_equal(sap_problem_save_memory(problem, bytes, sizeof bytes, &kept, NULL), 0);
  assert_int_equal(sap_problem_create(&other, NULL), SAP_STATUS_OK);
  assert_int_equal(sap_problem_load_memory(other, bytes, kept, NULL), SAP_STATUS_OK);
  block = add(other, 2.0 * dt, -2e-3, rest, 7);
  ASSERT_NEAR(block.lagged_impulse, 0.6, 1e-15);
  sap_problem_destroy(other);
  block = add(problem, 2.0 * dt, -2e-3, rest, 7);  // the same force for twice the time
  ASSERT_NEAR(block.lagged_impulse, 0.6, 1e-15);
  block = add(problem, dt, -2e-3, rest, 8);
  ASSERT_NEAR(block.lagged_impulse, dt * 20.0, 1e-15);
  assert_int_equal(sap_problem_keep_impulses(problem, NULL, NULL), SAP_STATUS_OK);
  block = add(problem, dt, -2e-3, rest, 7);
  ASSERT_NEAR(block.lagged_impulse, dt * 20.0, 1e-15);
  block = add(problem, dt, -2e-3, rest, 9);
  assert_true(block.friction == 0.0);
  sap_contact_scheme scheme = sap_contact_scheme_default();
  scheme.model = (sap_contact_model)5;
  assert_int_equal(sap_problem_set_law(problem, &scheme, NULL), SAP_STATUS_ARGUMENT);
  sap_problem_destroy(problem);
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(test_scene),     cmocka_unit_test(test_override),
      cmocka_unit_test(test_urdf),      cmocka_unit_test(test_combine),
      cmocka_unit_test(test_mjcf_tags), cmocka_unit_test(test_lag),
      cmocka_unit_test(test_set_field),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
