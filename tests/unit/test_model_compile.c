// SPDX-License-Identifier: BSD-3-Clause
// Numbering of a compiled model: depth first, trees, weld groups, dof tables, default pose.
#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>
#include <time.h>

#include <cmocka.h>

#include <sapstep/model.h>

#include "multibody/model/model_data.h"

static int32_t add_body(sap_builder* b, const char* name, int32_t parent, double x) {
  sap_body_def def = sap_body_def_default();
  def.name = name;
  def.parent = parent;
  def.p_PB[0] = x;
  def.mass = 2.0;
  def.I_BCo_B[0] = def.I_BCo_B[1] = def.I_BCo_B[2] = 0.1;
  int32_t id = -1;
  sap_error error = {0};
  if (sap_builder_add_body(b, &def, &id, &error) != SAP_STATUS_OK) {
    fail_msg("%s", error.message);
  }
  return id;
}

static int32_t add_joint(sap_builder* b, const char* name, int32_t body, sap_joint_type type,
                         double reference) {
  sap_joint_def def = sap_joint_def_default();
  def.name = name;
  def.body = body;
  def.type = type;
  def.reference = reference;
  int32_t id = -1;
  sap_error error = {0};
  if (sap_builder_add_joint(b, &def, &id, &error) != SAP_STATUS_OK) {
    fail_msg("%s", error.message);
  }
  return id;
}

static sap_builder* create(void) {
  sap_builder* builder = NULL;
  assert_int_equal(sap_builder_create(NULL, &builder, NULL), SAP_STATUS_OK);
  return builder;
}

static sap_model* compile(const sap_builder* builder) {
  sap_model* model = NULL;
  sap_error error = {0};
  if (sap_builder_compile(builder, &model, &error) != SAP_STATUS_OK) {
    fail_msg("%s", error.message);
  }
  return model;
}

// Added in this order; the tree of `arm` is split by `box`, whose free joint comes between:
//   world - base (static) - arm (hinge, slide) - hand (welded) - finger (ball)
//         |               ` box (free)
//         ` other (hinge), added before finger
static sap_builder* mixed(void) {
  sap_builder* b = create();
  const int32_t base = add_body(b, "base", 0, 1.0);
  const int32_t arm = add_body(b, "arm", base, 2.0);
  const int32_t box = add_body(b, "box", base, 3.0);
  const int32_t other = add_body(b, "other", 0, 4.0);
  const int32_t hand = add_body(b, "hand", arm, 5.0);
  const int32_t finger = add_body(b, "finger", hand, 6.0);
  add_joint(b, "wrist", finger, SAP_JOINT_BALL, 0.0);
  add_joint(b, "turn", other, SAP_JOINT_HINGE, 0.25);
  add_joint(b, "float", box, SAP_JOINT_FREE, 0.0);
  add_joint(b, "elbow", arm, SAP_JOINT_HINGE, 0.5);
  add_joint(b, "rail", arm, SAP_JOINT_SLIDE, -0.5);
  return b;
}

static void numbers_depth_first(void** state) {
  (void)state;
  sap_builder* builder = mixed();
  sap_model* model = compile(builder);
  const sap_model_sizes sizes = sap_model_get_sizes(model);
  assert_int_equal(sizes.bodies, 7);
  assert_int_equal(sizes.joints, 5);
  assert_int_equal(sizes.nq, 1 + 1 + 4 + 7 + 1);
  assert_int_equal(sizes.nv, 1 + 1 + 3 + 6 + 1);
  assert_int_equal(sizes.trees, 3);
  const char* const order[] = {"world", "base", "arm", "hand", "finger", "box", "other"};
  for (int i = 0; i < 7; ++i) {
    assert_string_equal(sap_model_get_name(model, SAP_ELEMENT_BODY, model->body_order[i]),
                        order[i]);
  }
  const char* const names[] = {"elbow", "rail", "wrist", "float", "turn"};
  const int32_t q_start[] = {0, 1, 2, 6, 13}, v_start[] = {0, 1, 2, 5, 11};
  for (int i = 0; i < 5; ++i) {
    int32_t q = -1, v = -1;
    const int32_t id = sap_model_find(model, SAP_ELEMENT_JOINT, names[i]);
    assert_int_equal(sap_model_joint_address(model, id, NULL, NULL, &q, &v, NULL), SAP_STATUS_OK);
    assert_int_equal(q, q_start[i]);
    assert_int_equal(v, v_start[i]);
  }
  const int32_t parents[] = {-1, 0, 1, 2, 3, -1, 5, 6, 7, 8, 9, -1};
  const int32_t trees[] = {0, 0, 0, 0, 0, 1, 1, 1, 1, 1, 1, 2};
  for (int i = 0; i < 12; ++i) {
    assert_int_equal(model->dof_parent[i], parents[i]);
    assert_int_equal(model->dof_tree[i], trees[i]);
  }
  const int32_t tree_sizes[] = {5, 6, 1}, tree_dofs[] = {0, 5, 11, 12};
  assert_memory_equal(model->tree_sizes, tree_sizes, sizeof tree_sizes);
  assert_memory_equal(model->tree_dofs, tree_dofs, sizeof tree_dofs);
  sap_model_destroy(model);
  sap_builder_destroy(builder);
}

static void groups_welded_bodies(void** state) {
  (void)state;
  sap_builder* builder = mixed();
  sap_model* model = compile(builder);
  const char* const body[] = {"world", "base", "arm", "hand", "finger", "box", "other"};
  const char* const weld[] = {"world", "world", "arm", "arm", "finger", "box", "other"};
  const int32_t last_dof[] = {-1, -1, 1, 1, 4, 10, 11};
  const int32_t tree[] = {-1, -1, 0, 0, 0, 1, 2};
  for (int i = 0; i < 7; ++i) {
    const sap_model_body* b = &model->bodies[sap_model_find(model, SAP_ELEMENT_BODY, body[i])];
    assert_string_equal(sap_model_get_name(model, SAP_ELEMENT_BODY, b->weld), weld[i]);
    assert_int_equal(b->last_dof, last_dof[i]);
    assert_int_equal(b->tree, tree[i]);
  }
  sap_model_destroy(model);
  sap_builder_destroy(builder);
}

static void starts_in_the_default_pose(void** state) {
  (void)state;
  sap_builder* builder = mixed();
  sap_model* model = compile(builder);
  sap_state x = {0};
  assert_int_equal(sap_model_get_default_state(model, &x, NULL), SAP_STATUS_OK);
  const double expected[] = {0.5, -0.5, 1, 0, 0, 0, 4.0, 0, 0, 1, 0, 0, 0, 0.25};
  for (int i = 0; i < 14; ++i) {
    assert_true(x.q[i] == expected[i]);
  }
  for (int i = 0; i < x.nv; ++i) {
    assert_true(x.v[i] == 0.0);
  }
  sap_state_clear(&x);
  sap_model_destroy(model);
  sap_builder_destroy(builder);
}

static void keeps_the_builder(void** state) {
  (void)state;
  sap_builder* builder = mixed();
  sap_model* first = compile(builder);
  const int32_t late = add_body(builder, "late", 0, 0.0);
  add_joint(builder, NULL, late, SAP_JOINT_SLIDE, 0.0);
  sap_model* second = compile(builder);
  assert_int_equal(sap_model_get_sizes(first).nv, 12);
  assert_int_equal(sap_model_get_sizes(second).nv, 13);
  assert_int_equal(sap_model_find(first, SAP_ELEMENT_BODY, "late"), -1);
  sap_model_destroy(first);
  sap_model_destroy(second);
  sap_builder_destroy(builder);
}

static void keyframes_are_normalised(void** state) {
  (void)state;
  sap_builder* builder = mixed();
  double q[14] = {0.1, 0.2, 0, 3, 0, 4, 1, 2, 3, 2, 0, 0, 0, 0.3};
  double v[12] = {0};
  v[3] = 7.0;
  sap_keyframe_def keys[] = {sap_keyframe_def_default(), sap_keyframe_def_default()};
  keys[0].name = "bent";
  keys[0].t = 1.5;
  keys[0].q = q;
  keys[0].v = v;
  keys[1].name = "rest";
  int32_t id = -1;
  assert_int_equal(sap_builder_add_keyframe(builder, &keys[0], &id, NULL), SAP_STATUS_OK);
  assert_int_equal(sap_builder_add_keyframe(builder, &keys[1], &id, NULL), SAP_STATUS_OK);
  assert_int_equal(id, 1);
  sap_model* model = compile(builder);
  sap_state x = {0};
  assert_int_equal(sap_model_get_keyframe(model, 0, &x, NULL, NULL), SAP_STATUS_OK);
  assert_true(x.t == 1.5 && x.v[3] == 7.0);
  const double expected[] = {0.1, 0.2, 0, 0.6, 0, 0.8, 1, 2, 3, 1, 0, 0, 0, 0.3};
  for (int i = 0; i < 14; ++i) {
    assert_true(fabs(x.q[i] - expected[i]) < 1e-15);
  }
  assert_int_equal(sap_model_get_keyframe(model, 1, &x, NULL, NULL), SAP_STATUS_OK);
  assert_true(x.t == 0.0 && x.v[3] == 0.0 && x.q[0] == 0.5);
  assert_int_equal(sap_model_get_keyframe(model, 2, &x, NULL, NULL), SAP_STATUS_ARGUMENT);
  assert_true(x.q[0] == 0.5);
  sap_state_clear(&x);
  sap_model_destroy(model);
  sap_builder_destroy(builder);
}

// A model of 10 000 named bodies takes well under a second, names being hashed.
static void builds_large_models(void** state) {
  (void)state;
  const clock_t start = clock();  // processor time: others may use the machine
  sap_builder* builder = create();
  for (int i = 0; i < 10000; ++i) {
    char name[32];
    (void)snprintf(name, sizeof name, "body%d", i);
    const int32_t body = add_body(builder, name, 0, i);
    add_joint(builder, name, body, SAP_JOINT_FREE, 0.0);
  }
  sap_model* model = compile(builder);
  assert_int_equal(sap_model_get_sizes(model).trees, 10000);
  assert_int_equal(sap_model_find(model, SAP_ELEMENT_BODY, "body9999"), 10000);
  const double seconds = (double)(clock() - start) / CLOCKS_PER_SEC;
  if (!(seconds < 1.0)) {
    fail_msg("%g s", seconds);
  }
  sap_model_destroy(model);
  sap_builder_destroy(builder);
}

// Pivots of the mass matrix: 1e-12 kg at the end of 1 kg is fine, no mass is not, and the message
// names the joint.
static void needs_inertia(void** state) {
  (void)state;
  for (int massless = 0; massless < 2; ++massless) {
    sap_builder* builder = create();
    const int32_t a = add_body(builder, "heavy", 0, 0.0);
    add_joint(builder, "shoulder", a, SAP_JOINT_HINGE, 0.0);
    sap_body_def def = sap_body_def_default();
    def.name = "light";
    def.parent = a;
    def.mass = massless == 1 ? 0.0 : 1e-12;
    int32_t b = -1;
    assert_int_equal(sap_builder_add_body(builder, &def, &b, NULL), SAP_STATUS_OK);
    add_joint(builder, "rail", b, SAP_JOINT_SLIDE, 0.0);
    sap_model* model = NULL;
    sap_error error = {0};
    const sap_status status = sap_builder_compile(builder, &model, &error);
    if (massless == 1) {
      assert_int_equal(status, SAP_STATUS_NOT_SPD);
      assert_null(model);
      assert_ptr_not_equal(strstr(error.message, "joint 'rail'"), NULL);
    } else {
      assert_int_equal(status, SAP_STATUS_OK);
    }
    sap_model_destroy(model);
    sap_builder_destroy(builder);
  }
}

// Two parallel hinges through one point cannot be told apart; armature on either heals it.
static void needs_independent_joints(void** state) {
  (void)state;
  for (int armature = 0; armature < 2; ++armature) {
    sap_builder* builder = create();
    const int32_t a = add_body(builder, "a", 0, 0.0);
    add_joint(builder, "first", a, SAP_JOINT_HINGE, 0.0);
    sap_joint_def def = sap_joint_def_default();
    def.name = "second";
    def.body = a;
    def.armature = armature == 1 ? 1e-3 : 0.0;
    assert_int_equal(sap_builder_add_joint(builder, &def, NULL, NULL), SAP_STATUS_OK);
    sap_model* model = NULL;
    assert_int_equal(sap_builder_compile(builder, &model, NULL),
                     armature == 1 ? SAP_STATUS_OK : SAP_STATUS_NOT_SPD);
    sap_model_destroy(model);
    sap_builder_destroy(builder);
  }
}

// A body of mass m sinks at most m g/k = 0.1 mm; what is given is kept, what is static is rigid.
static void chooses_stiffness_by_mass(void** state) {
  (void)state;
  sap_builder* builder = create();
  const int32_t light = add_body(builder, "light", 0, 0.0);
  add_joint(builder, "free", light, SAP_JOINT_FREE, 0.0);
  sap_body_def stone = sap_body_def_default();
  stone.parent = light;  // welded: its mass counts for both
  stone.mass = 98.0;
  stone.I_BCo_B[0] = stone.I_BCo_B[1] = stone.I_BCo_B[2] = 1.0;
  int32_t welded;
  assert_int_equal(sap_builder_add_body(builder, &stone, &welded, NULL), SAP_STATUS_OK);
  const int32_t arm = add_body(builder, "arm", welded, 1.0);
  add_joint(builder, "hinge", arm, SAP_JOINT_HINGE, 0.0);
  const struct {
    int32_t body;
    double given, expected;
  } rows[] = {{0, 0.0, HUGE_VAL}, {0, 3e5, 3e5},     {light, 0.0, 1e7},
              {welded, 0.0, 1e7}, {light, 2e4, 2e4}, {arm, 0.0, 1e6}};
  for (size_t i = 0; i < sizeof rows / sizeof rows[0]; ++i) {
    sap_shape_def shape = sap_shape_def_default();
    shape.body = rows[i].body;
    shape.size[0] = 0.1;
    shape.material.stiffness = rows[i].given;
    assert_int_equal(sap_builder_add_shape(builder, &shape, NULL, NULL), SAP_STATUS_OK);
  }
  sap_model* model = compile(builder);
  for (size_t i = 0; i < sizeof rows / sizeof rows[0]; ++i) {
    sap_shape_def shape;
    assert_int_equal(sap_model_get_shape(model, (int32_t)i, &shape, NULL), SAP_STATUS_OK);
    assert_true(shape.material.stiffness == rows[i].expected);
  }
  sap_model_destroy(model);
  sap_builder_destroy(builder);
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(numbers_depth_first),
      cmocka_unit_test(groups_welded_bodies),
      cmocka_unit_test(starts_in_the_default_pose),
      cmocka_unit_test(keeps_the_builder),
      cmocka_unit_test(keyframes_are_normalised),
      cmocka_unit_test(builds_large_models),
      cmocka_unit_test(needs_inertia),
      cmocka_unit_test(needs_independent_joints),
      cmocka_unit_test(chooses_stiffness_by_mass),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
