// SPDX-License-Identifier: BSD-3-Clause
// URDF beyond the tree: Drake's ball constraints, bushings, springs, tendons, collision filters and
// joints, loop joints, transmissions. What is read is stepped and compared with closed forms.
#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>

#include <cmocka.h>

#include <sapstep/scene.h>

#include "multibody/model/model_data.h"
#include "support/near.h"
#include "support/scene_text.h"
#include "support/simulation.h"

static sap_status read_text(const char* text, scene_warnings* w, sap_model** model,
                            sap_error* error) {
  return scene_text_read("a.urdf", text, NULL, w, model, error);
}

static simulation start(const char* text, double dt) {
  simulation s = {0};
  scene_warnings w;
  sap_error error;
  if (read_text(text, &w, &s.model, &error) != SAP_STATUS_OK) {
    fail_msg("%s", error.message);
  }
  assert_int_equal(w.count, 0);
  simulation_complete(&s, SAP_SCHEME_IMPLICIT_EULER, dt);
  return s;
}

#define LINK(name, mass, inertia, inside)                                          \
  "<link name='" name "'><inertial><mass value='" mass "'/><inertia ixx='" inertia \
  "' iyy='" inertia "' izz='" inertia "' ixy='0' ixz='0' iyz='0'/></inertial>" inside "</link>\n"
#define JOINT(name, type, parent, child, inside)                                          \
  "<joint name='" name "' type='" type "'><parent link='" parent "'/><child link='" child \
  "'/>" inside "</joint>\n"
#define ROBOT(inside) \
  "<robot name='r' xmlns:drake='http://drake.mit.edu'>\n<link name='world'/>\n" inside "</robot>"

// A pendulum of a floating link whose point (0, 0, 0.5) is tied to the world's (1, 2, 3): hangs by
// it, and swings with the period of its inertia about it.
static void test_ball_constraint(void** state) {
  (void)state;
  simulation s = start(ROBOT(LINK("b", "2", "0.1", "") JOINT(
                           "j", "floating", "world", "b",
                           "<origin xyz='1 2 2.5'/>") "<drake:ball_constraint><drake:ball_"
                                                      "constraint_body_A name='world'/>"
                                                      "<drake:ball_constraint_body_B name='b'/>"
                                                      "<drake:ball_constraint_p_AP value='1 2 3'/>"
                                                      "<drake:ball_constraint_p_BQ value='0 0 "
                                                      "0.5'/></drake:ball_constraint>"),
                       1e-3);
  assert_int_equal(s.model->sizes.equalities, 1);
  s.state.v[4] = 1e-3;  // rad/s about y
  s.state.v[0] = -0.5e-3;
  double crossing = 0.0, last = 0.0;
  for (int n = 0; n < 1500 && crossing == 0.0; ++n) {
    simulation_step(&s, 1);
    const double angle = 2.0 * s.state.q[5];
    if (n > 10 && angle < 0.0) {  // half a period
      crossing = s.state.t - 1e-3 * angle / (angle - last);
    }
    last = angle;
  }
  const double omega = sqrt(2.0 * 9.81 * 0.5 / (0.1 + 2.0 * 0.25));
  ASSERT_NEAR(crossing, 3.14159265358979 / omega, 2e-3);
  double gap = 1.0, force[6];
  assert_int_equal(sap_multibody_closure(s.multibody, s.state.q, &gap, NULL), SAP_STATUS_OK);
  ASSERT_NEAR(gap, 0.0, 1e-5);  // sags by the near-rigid limit of its mass
  assert_int_equal(sap_multibody_equality_force(s.multibody, &s.report, 0, force, NULL),
                   SAP_STATUS_OK);
  ASSERT_NEAR(fabs(force[2]), 2.0 * 9.81, 1e-3);
  simulation_end(&s);
}

#define BAR(name, parent, joint_name, along)            \
  "<link name='" name "'><inertial><origin xyz='" along \
  "'/><mass value='1'/><inertia ixx='1e-3'"             \
  " iyy='1e-3' izz='1e-3' ixy='0' ixz='0' iyz='0'/></inertial></link>\n"

#define SQUARE(kind)                                                                             \
  ROBOT(BAR("a", "", "", "0 0 -0.1") BAR("b", "", "", "0.1 0 0") BAR("c", "", "", "0 0 0.1")     \
            JOINT("i", "continuous", "world", "a", "<axis xyz='0 1 0'/>") JOINT(                 \
                "j", "continuous", "a", "b", "<origin xyz='0 0 -0.2'/><axis xyz='0 1 0'/>")      \
                JOINT("k", "continuous", "b", "c", "<origin xyz='0.2 0 0'/><axis xyz='0 1 0'/>") \
                    kind)

#define LOOP(type, inside)                                                                     \
  "<loop_joint name='l' type='" type                                                           \
  "'><link1 link='c' xyz='0 0 0.2' rpy='0 0 0.3'/><link2 link='world' xyz='0.2 0 0' rpy='0 0 " \
  "0.3'/>" inside "</loop_joint>"

// A four-bar linkage whose fourth joint is a loop: it swings as the pendulum of its three bars, two
// of which turn and one of which only moves: (2 (I + m l^2/4) + m l^2) a'' = -(2 m l/2 + m l) g a.
static void test_loops(void** state) {
  (void)state;
  static const char* const texts[2] = {
      SQUARE(LOOP("revolute", "<axis xyz='0.29552020666134 0.955336489125606 0'/>")),
      SQUARE(LOOP("spherical", "")),
  };
  for (int i = 0; i < 2; ++i) {
    simulation s = start(texts[i], 1e-3);
    assert_int_equal(s.model->sizes.equalities, i == 0 ? 2 : 1);
    s.state.q[0] = 0.01;
    s.state.q[1] = -0.01;
    s.state.q[2] = 0.01;
    double crossing = 0.0, last = 0.01;
    for (int n = 0; n < 1000 && crossing == 0.0; ++n) {
      simulation_step(&s, 1);
      if (s.state.q[0] < 0.0) {  // a quarter of a period
        crossing = s.state.t - 1e-3 * s.state.q[0] / (s.state.q[0] - last);
      }
      last = s.state.q[0];
      double gap = 1.0;
      assert_int_equal(sap_multibody_closure(s.multibody, s.state.q, &gap, NULL), SAP_STATUS_OK);
      assert_true(gap < 1e-5);
    }
    const double inertia = 2.0 * (1e-3 + 0.01) + 0.04, moment = (0.2 + 0.2) * 9.81;
    ASSERT_NEAR(crossing, 0.5 * 3.14159265358979 / sqrt(moment / inertia), 2e-3);
    simulation_end(&s);
  }
  simulation between =
      start(SQUARE("<loop_joint name='l' type='revolute'><link1 link='a'/><link2 link='c'/>"
                   "<axis xyz='0 1 0'/></loop_joint>"),
            1e-3);
  assert_int_equal(between.model->sizes.equalities, 2);
  for (int k = 0; k < 2; ++k) {
    const sap_equality_def* e = &between.model->equalities[k];
    assert_true(e->a == 1 && e->b == 3);
  }
  simulation_end(&between);
  simulation s = start(SQUARE(LOOP("fixed", "")), 1e-3);  // nothing can move any more
  simulation_step(&s, 500);
  ASSERT_NEAR(s.state.q[0], 0.0, 1e-4);
  simulation_end(&s);
}

// Bushing: sags by m g/k against the force stiffness along its frame, turned a quarter about x: its
// y is the world's z; a moment sags it by 1/k of the rotation.
static void test_bushing(void** state) {
  (void)state;
  simulation s = start(
      ROBOT(LINK("b", "2", "0.1", "") JOINT(
          "j", "floating", "world", "b",
          "") "<frame name='A' link='world' rpy='1.5707963267948966 0 0' xyz='0 0 0.1'/>"
              "<frame name='C' link='b' rpy='1.5707963267948966 0 0' xyz='0 0 0.1'/>"
              "<drake:linear_bushing_rpy><drake:bushing_frameA name='A'/>"
              "<drake:bushing_frameC name='C'/>"
              "<drake:bushing_torque_stiffness value='100 200 300'/>"
              "<drake:bushing_torque_damping value='10 20 30'/>"
              "<drake:bushing_force_stiffness value='1000 2000 4000'/>"
              "<drake:bushing_force_damping value='100 200 400'/></drake:linear_bushing_rpy>"),
      0.01);
  double tau[6] = {0.0, 0.0, 0.0, 0.0, 0.0, 1.0};  // about the world's z, the bushing's y
  assert_int_equal(s.model->sizes.bushings, 1);
  assert_int_equal(sap_multibody_set_applied_forces(s.multibody, tau, NULL), SAP_STATUS_OK);
  simulation_step(&s, 2000);
  ASSERT_NEAR(s.state.q[2], -2.0 * 9.81 / 2000.0, 1e-8);
  ASSERT_NEAR(2.0 * asin(s.state.q[6]), 1.0 / 200.0, 1e-8);
  simulation_end(&s);
}

static void test_spring_and_tendon(void** state) {
  (void)state;
  // The distance spring of the reference cases: rests at .3 + m g/k.
  simulation s = start(
      ROBOT(LINK("b", "1", "0.1", "") JOINT(
          "j", "prismatic", "world", "b",
          "<axis xyz='0 0 1'/><origin xyz='0 0 -0.3'/>"
          "<limit lower='-9' upper='9' effort='0' velocity='0'/>") "<drake:linear_spring_damper><"
                                                                   "drake:linear_spring_damper_"
                                                                   "body_A name='world'/>"
                                                                   "<drake:linear_spring_damper_p_"
                                                                   "AP value='0 0 0'/>"
                                                                   "<drake:linear_spring_damper_"
                                                                   "body_B name='b'/>"
                                                                   "<drake:linear_spring_damper_p_"
                                                                   "BQ value='0 0 0'/>"
                                                                   "<drake:linear_spring_damper_"
                                                                   "free_length value='0.3'/>"
                                                                   "<drake:linear_spring_damper_"
                                                                   "stiffness value='200'/>"
                                                                   "<drake:linear_spring_damper_"
                                                                   "damping "
                                                                   "value='20'/></"
                                                                   "drake:linear_spring_damper>"),
      0.01);
  simulation_step(&s, 1000);
  ASSERT_NEAR(s.state.q[0], -9.81 / 200.0, 1e-9);
  simulation_end(&s);
  // 2 q1 + q2 + 0.5 <= 1 of two slides pulled up by their weights upside down: stops there, k m/d.
  s = start(
      ROBOT(
          LINK("b", "1", "0.1", "") LINK("c", "1", "0.1", "") JOINT(
              "i", "prismatic", "world", "b",
              "<axis xyz='0 0 -1'/>"
              "<limit lower='-9' upper='9' effort='0' velocity='0'/>")
              JOINT("j", "prismatic", "world", "c",
                    "<axis xyz='0 0 -1'/>"
                    "<limit lower='0' upper='0' effort='0' velocity='0'/>") "<drake:tendon_"
                                                                            "constraint><drake:"
                                                                            "tendon_constraint_"
                                                                            "joint name='i' a='2'/>"
                                                                            "<drake:tendon_"
                                                                            "constraint_joint "
                                                                            "name='j' a='1'/>"
                                                                            "<drake:tendon_"
                                                                            "constraint_offset "
                                                                            "value='0.5'/>"
                                                                            "<drake:tendon_"
                                                                            "constraint_lower_"
                                                                            "limit value='-1'/>"
                                                                            "<drake:tendon_"
                                                                            "constraint_upper_"
                                                                            "limit value='1'/>"
                                                                            "<drake:tendon_"
                                                                            "constraint_stiffness "
                                                                            "value='1e4'/>"
                                                                            "<drake:tendon_"
                                                                            "constraint_damping "
                                                                            "value='1e3'/></"
                                                                            "drake:tendon_"
                                                                            "constraint>"),
      0.01);
  ASSERT_NEAR(s.model->tendons[0].limit_relaxation_time, 0.1, 1e-15);
  simulation_step(&s, 1000);
  // m g = 2 k (2 q + 0.5 - 1); the locked slide gives way by its near-rigid limit.
  ASSERT_NEAR(s.state.q[0], 0.25 + 9.81 / 4e4, 1e-4);
  simulation_end(&s);
}

#define VALUE(name, numbers) "<drake:" name " value='" numbers "'/>"
#define NAMED(name, what) "<drake:" name " name='" what "'/>"

static void expect(const double* found, const double* expected, int count) {
  for (int i = 0; i < count; ++i) {
    ASSERT_NEAR(found[i], expected[i], 1e-15);
  }
}
#define EXPECT(found, ...)                                          \
  do {                                                              \
    const double values[] = {__VA_ARGS__};                          \
    expect((found), values, (int)(sizeof values / sizeof *values)); \
  } while (0)

// Every number of every element between links is where it belongs.
static void test_numbers(void** state) {
  (void)state;
  simulation s = start(
      ROBOT(
          LINK("a", "1", "0.1", "") LINK("b", "1", "0.1", "") LINK("c", "1", "0.1", "") JOINT(
              "i", "floating", "world", "a", "") JOINT("j", "continuous", "a", "b", "")
              JOINT("k", "continuous", "b", "c",
                    "") "<frame name='F' link='a' xyz='.1 .2 .3' rpy='1.5707963267948966 0 0'/>"
                        "<frame name='G' link='c' xyz='.4 .5 .6' rpy='0 0 1.5707963267948966'/>"
                        "<drake:linear_bushing_rpy>" NAMED("bushing_frameA", "F") NAMED(
                            "bushing_frameC", "G") VALUE("bushing_torque_stiffness",
                                                         "1 2 3") VALUE("bushing_torque_damping",
                                                                        "4 5 6")
                            VALUE("bushing_force_stiffness", "7 8 9") VALUE(
                                "bushing_force_damping",
                                "10 11 12") "</drake:linear_bushing_rpy>"
                                            "<drake:linear_bushing_rpy>" NAMED(
                                                "bushing_frameA",
                                                "b") NAMED("bushing_frameC", "a")
                                                VALUE("bushing_torque_stiffness", "1 1 1") VALUE(
                                                    "bushing_torque_damping", "1 1 1")
                                                    VALUE("bushing_force_stiffness", "1 1 1") VALUE(
                                                        "bushing_force_damping",
                                                        "1 1 1") "</drake:linear_bushing_rpy>"
                                                                 "<drake:linear_spring_"
                                                                 "damper>" NAMED(
                                                                     "linear_spring_damper_body_A",
                                                                     "b") NAMED("linear_spring_"
                                                                                "damper_body_B",
                                                                                "a")
                                                                     VALUE("linear_spring_damper_p_"
                                                                           "AP",
                                                                           "1 2 3") VALUE("linear_"
                                                                                          "spring_"
                                                                                          "damper_"
                                                                                          "p_BQ",
                                                                                          "4 5 6")
                                                                         VALUE(
                                                                             "linear_spring_damper_"
                                                                             "free_length",
                                                                             "0.7") VALUE("linear_"
                                                                                          "spring_"
                                                                                          "damper_"
                                                                                          "stiffnes"
                                                                                          "s",
                                                                                          "80")
                                                                             VALUE(
                                                                                 "linear_spring_"
                                                                                 "damper_damping",
                                                                                 "9") "</"
                                                                                      "drake:"
                                                                                      "linear_"
                                                                                      "spring_"
                                                                                      "damper>"
                                                                                      "<drake:ball_"
                                                                                      "constraint"
                                                                                      ">" NAMED(
                                                                                          "ball_"
                                                                                          "constrai"
                                                                                          "nt_body_"
                                                                                          "A",
                                                                                          "c") NAMED("ball_constraint_body_B",
                                                                                                     "a") VALUE("ball_constraint_p_AP",
                                                                                                                "1 2 3")
                                                                                          VALUE(
                                                                                              "ball"
                                                                                              "_con"
                                                                                              "stra"
                                                                                              "int_"
                                                                                              "p_"
                                                                                              "BQ",
                                                                                              "4 5 "
                                                                                              "6") "</drake:ball_constraint>"
                                                                                                   "<loop_joint type='ball'><link1 link='a' xyz='1 2 3'/><link2 link='c' xyz='4 5 6'/>"
                                                                                                   "</loop_joint>"
                                                                                                   "<loop_joint type='fixed'><link1 link='b' xyz='7 8 9' rpy='1.5707963267948966 0 0'/>"
                                                                                                   "<link2 link='a' xyz='10 11 12' rpy='0 0 1.5707963267948966'/></loop_joint>"
                                                                                                   "<loop_joint type='revolute'><link1 link='a' xyz='1 2 3' rpy='0 0 1.5707963267948966'/>"
                                                                                                   "<link2 link='c' xyz='4 5 6'/><axis xyz='3 0 4'/></loop_joint>"
                                                                                                   "<drake:tendon_constraint><drake:tendon_constraint_joint name='k' a='2'/>"
                                                                                                   "<drake:tendon_constraint_joint name='j' a='3'/>" VALUE(
                                                                                                       "tendon_constraint_offset",
                                                                                                       "0.5") VALUE("tendon_constraint_lower_limit",
                                                                                                                    "-4")
                                                                                                       VALUE(
                                                                                                           "tendon_constraint_upper_limit",
                                                                                                           "6")
                                                                                                           VALUE(
                                                                                                               "tendon_constraint_stiffness",
                                                                                                               "700")
                                                                                                               VALUE(
                                                                                                                   "tendon_constraint_damping",
                                                                                                                   "35") "</drake:tendon_constraint>"),
      0.01);
  const sap_bushing_def* bushing = s.model->bushings;
  const double half = sqrt(0.5);
  assert_int_equal(s.model->sizes.bushings, 2);
  assert_true(bushing[0].body_a == 1 && bushing[0].body_b == 3);
  assert_true(bushing[1].body_a == 2 && bushing[1].body_b == 1);
  EXPECT(bushing[0].stiffness, 1, 2, 3, 7, 8, 9);
  EXPECT(bushing[0].damping, 4, 5, 6, 10, 11, 12);
  EXPECT(bushing[0].p_AF, 0.1, 0.2, 0.3);
  EXPECT(bushing[0].q_AF, half, half, 0, 0);
  EXPECT(bushing[0].p_BG, 0.4, 0.5, 0.6);
  EXPECT(bushing[0].q_BG, half, 0, 0, half);
  const sap_spring_def* spring = s.model->springs;
  assert_true(s.model->sizes.springs == 1 && spring->body_a == 2 && spring->body_b == 1);
  EXPECT(spring->point_A, 1, 2, 3);
  EXPECT(spring->point_B, 4, 5, 6);
  EXPECT(&spring->rest_length, 0.7);
  EXPECT(&spring->stiffness, 80);
  EXPECT(&spring->damping, 9);
  const sap_equality_def* e = s.model->equalities;
  assert_int_equal(s.model->sizes.equalities, 5);
  static const struct {
    sap_equality_type type;
    int32_t a, b;
    double anchor_A[3], anchor_B[3];
  } loops[5] = {{SAP_EQUALITY_CONNECT, 3, 1, {1, 2, 3}, {4, 5, 6}},
                {SAP_EQUALITY_CONNECT, 1, 3, {1, 2, 3}, {4, 5, 6}},
                {SAP_EQUALITY_WELD, 2, 1, {7, 8, 9}, {10, 11, 12}},
                // -+ 5 cm along (0.6, 0, 0.8) of the frames, of which the first is turned about z
                {SAP_EQUALITY_CONNECT, 1, 3, {1, 1.97, 2.96}, {3.97, 5, 5.96}},
                {SAP_EQUALITY_CONNECT, 1, 3, {1, 2.03, 3.04}, {4.03, 5, 6.04}}};
  for (int i = 0; i < 5; ++i) {
    assert_true(e[i].type == loops[i].type && e[i].a == loops[i].a && e[i].b == loops[i].b);
    expect(e[i].anchor_A, loops[i].anchor_A, 3);
    expect(e[i].anchor_B, loops[i].anchor_B, 3);
  }
  EXPECT(e[2].q_AB, 0.5, 0.5, 0.5, -0.5);
  const sap_model_tendon* tendon = s.model->tendons;
  assert_true(s.model->sizes.tendons == 1 && tendon->count == 2);
  EXPECT(s.model->tendon_coefficients, 2, 3);
  assert_true(s.model->tendon_joints[0] == 2 && s.model->tendon_joints[1] == 1);
  EXPECT(&tendon->lower, -4.5);
  EXPECT(&tendon->upper, 5.5);
  EXPECT(&tendon->limit_stiffness, 700);
  EXPECT(&tendon->limit_relaxation_time, 0.05);
  simulation_end(&s);
}

// Two axes of three line up where the joint between them rests on its limit of a right angle, and
// the links between have no mass: nothing resists the two against each other.
static void test_gimbal_lock(void** state) {
  (void)state;
  static const char text[] = ROBOT(
      "<link name='a'/><link name='b'/><link name='c'><inertial><origin xyz='0.02 -0.3 0.01'/>"
      "<mass value='2'/><inertia ixx='0.02' iyy='0.01' izz='0.03' ixy='0' ixz='0' iyz='0'/>"
      "</inertial></link>"
      "<joint name='z' type='revolute'><parent link='world'/><child link='a'/><axis xyz='0 0 1'/>"
      "<limit lower='-1' upper='1' effort='100' velocity='9'/></joint>"
      "<joint name='x' type='revolute'><parent link='a'/><child link='b'/><axis xyz='1 0 0'/>"
      "<limit lower='-1.5707963267948966' upper='1.5707963267948966' effort='100' velocity='9'/>"
      "</joint>"
      "<joint name='y' type='revolute'><parent link='b'/><child link='c'/><axis xyz='0 1 0'/>"
      "<limit lower='-1' upper='1' effort='100' velocity='9'/></joint>");
  static const double steps[3] = {0.001, 0.004, 0.01};
  for (int i = 0; i < 3; ++i) {
    simulation s = start(text, steps[i]);
    simulation_step(&s, (int32_t)lround(4.0 / steps[i]));
    ASSERT_NEAR(s.state.q[1], 1.5707963267948966, 0.05);
    simulation_end(&s);
  }
}

#define BALL "<collision><geometry><sphere radius='0.1'/></geometry></collision>"
#define THREE(groups)                                                                         \
  ROBOT(LINK("a", "1", "1", BALL) LINK("b", "1", "1", BALL) LINK("c", "1", "1", BALL)         \
            JOINT("i", "floating", "world", "a", "") JOINT("j", "floating", "world", "b", "") \
                JOINT("k", "floating", "world", "c", "") groups)

static void test_filters(void** state) {
  (void)state;
  static const struct {
    const char* text;
    int32_t pairs;
  } cases[] = {
      {THREE(""), 3},
      {THREE("<drake:collision_filter_group name='g'><drake:member link='a'/><drake:member "
             "link='b'/><drake:ignored_collision_filter_group name='g'/>"
             "</drake:collision_filter_group>"),
       2},
      // c against the two of the group that holds a group, named before it is there
      {THREE("<drake:collision_filter_group name='h'><drake:member_group name='g'/>"
             "<drake:ignored_collision_filter_group name='k'/></drake:collision_filter_group>"
             "<drake:collision_filter_group name='g'><drake:member link='a'/><drake:member "
             "link='b'/></drake:collision_filter_group>"
             "<drake:collision_filter_group name='k'><drake:member link='c'/>"
             "</drake:collision_filter_group>"),
       1},
      // a group in a group in a group, each named before it is there
      {THREE("<drake:collision_filter_group name='h'><drake:member_group name='f'/>"
             "<drake:ignored_collision_filter_group name='h'/></drake:collision_filter_group>"
             "<drake:collision_filter_group name='f'><drake:member_group name='g'/>"
             "</drake:collision_filter_group>"
             "<drake:collision_filter_group name='g'><drake:member link='a'/><drake:member "
             "link='b'/></drake:collision_filter_group>"),
       2},
      {THREE("<drake:collision_filter_group name='g' ignore='true'><drake:member link='a'/>"
             "<drake:member link='b'/><drake:ignored_collision_filter_group name='g'/>"
             "</drake:collision_filter_group>"),
       3},
  };
  for (size_t i = 0; i < sizeof cases / sizeof *cases; ++i) {
    simulation s = start(cases[i].text, 0.01);
    for (int body = 0; body < 3; ++body) {
      s.state.q[7 * body] = 0.01 * body;
    }
    assert_int_equal(sap_multibody_detect(s.multibody, s.state.q, NULL), SAP_STATUS_OK);
    assert_int_equal(sap_multibody_contact_count(s.multibody), cases[i].pairs);
    simulation_end(&s);
  }
}

// Ball joints, by all their names; a universal joint turns about x, then the moved y; a screw with
// its axis upright: a'' = m g h/(I + m h^2), h the pitch per radian.
static void test_joints(void** state) {
  (void)state;
  static const char* const balls[2] = {
      ROBOT(LINK("b", "1", "0.1", "")
                JOINT("j", "spherical", "world", "b", "<dynamics damping='0.5'/>")),
      ROBOT(LINK("b", "1", "0.1", "") "<drake:joint name='j' type='ball'><parent link='world'/>"
                                      "<child link='b'/><dynamics damping='0.5'/></drake:joint>"),
  };
  for (int i = 0; i < 2; ++i) {
    simulation s = start(balls[i], 0.01);
    assert_int_equal(s.model->joints[0].type, SAP_JOINT_BALL);
    ASSERT_NEAR(s.model->joints[0].damping, 0.5, 0.0);
    simulation_end(&s);
  }
  simulation s = start(
      ROBOT(LINK("b", "1", "0.1", "") "<drake:joint name='j' type='universal'>"
                                      "<parent link='world'/><child link='b'/></drake:joint>"),
      0.01);
  double p[3], q[4];
  assert_int_equal(s.model->sizes.nv, 2);
  s.state.q[0] = s.state.q[1] = 1.5707963267948966;
  assert_int_equal(sap_multibody_body_pose(s.multibody, s.state.q, 1, p, q, NULL), SAP_STATUS_OK);
  for (int i = 0; i < 4; ++i) {
    ASSERT_NEAR(q[i], 0.5, 1e-15);
  }
  simulation_end(&s);
  s = start(
      ROBOT(LINK("b", "2", "0.01",
                 "") "<drake:joint name='j' type='screw'><parent link='world'/><child link='b'/>"
                     "<axis xyz='0 0 1'/><drake:screw_thread_pitch value='0.1'/></drake:joint>"),
      1e-3);
  simulation_step(&s, 1000);
  const double h = 0.1 / 6.283185307179586, a = 2.0 * 9.81 * h / (0.01 + 2.0 * h * h);
  const int32_t hinge = s.model->joints[sap_model_find(s.model, SAP_ELEMENT_JOINT, "j")].q_start;
  ASSERT_NEAR(s.state.v[hinge], -a, 1e-5 * a);
  ASSERT_NEAR(s.state.q[1 - hinge], h * s.state.q[hinge], 1e-7);
  simulation_end(&s);
}

// A motor, a servo with the joint's effort limit, what drives several joints or a ball.
static void test_transmissions(void** state) {
  (void)state;
  static const char text[] = ROBOT(
      LINK("a", "1", "0.1", "") LINK("b", "1", "0.1", "") LINK("c", "1", "0.1", "")
          JOINT("i", "continuous", "world", "a", "<axis xyz='0 0 1'/>")
              JOINT("j", "continuous", "world", "b",
                    "<axis xyz='0 0 1'/><limit effort='3' velocity='1'/>")
                  JOINT("k", "ball", "world", "c", "")
      "<transmission name='t' type='SimpleTransmission'><type>x</type><joint name='i'>"
      "<hardwareInterface>EffortJointInterface</hardwareInterface></joint>\n<actuator name='m'>"
      "<mechanicalReduction>5</mechanicalReduction><drake:rotor_inertia value='1e-3'/>"
      "<drake:gear_ratio value='10'/></actuator></transmission>"
      "<transmission name='u'><joint name='j'/><actuator name='m'>"
      "<drake:controller_gains p='1000' d='100'/></actuator></transmission>"
      "<transmission name='v'><joint name='k'/><actuator name='n'/></transmission>"
      "<transmission name='w'><joint name='i'/><joint name='j'/><actuator name='o'/>"
      "</transmission>");
  simulation s = {0};
  scene_warnings w;
  sap_error error;
  assert_int_equal(read_text(text, &w, &s.model, &error), SAP_STATUS_OK);
  assert_int_equal(w.count, 2);
  simulation_complete(&s, SAP_SCHEME_IMPLICIT_EULER, 0.01);
  assert_int_equal(s.model->sizes.nu, 2);
  assert_int_equal(sap_model_find(s.model, SAP_ELEMENT_ACTUATOR, "m"), 0);
  assert_int_equal(sap_model_find(s.model, SAP_ELEMENT_ACTUATOR, "j"), 1);  // m is taken
  const double control[2] = {0.4, 1.0};
  assert_int_equal(sap_multibody_set_control(s.multibody, control, NULL), SAP_STATUS_OK);
  simulation_step(&s, 1);
  ASSERT_NEAR(s.state.v[0], 0.01 * 0.4 / (0.1 + 0.1), 1e-12);  // rotor 100 * 1e-3
  ASSERT_NEAR(s.state.v[1], 0.01 * 3.0 / 0.1, 1e-9);           // 1000 N m are asked for
  simulation_step(&s, 1000);
  ASSERT_NEAR(s.state.q[1], 1.0, 1e-6);
  simulation_end(&s);
}

// The coordinate of a fixed joint is 0.
static void test_tendon_of_fixed(void** state) {
  (void)state;
  simulation s = start(
      ROBOT(LINK("b", "1", "0.1", "") LINK("c", "1", "0.1", "")
                JOINT("j", "continuous", "world", "b", "") JOINT(
                    "f", "fixed", "b", "c",
                    "") "<drake:tendon_constraint><drake:tendon_constraint_joint name='f' a='5'/>"
                        "<drake:tendon_constraint_joint name='j' "
                        "a='2'/><drake:tendon_constraint_upper_limit "
                        "value='1'/></drake:tendon_constraint>"),
      0.01);
  assert_int_equal(s.model->sizes.tendons, 1);
  assert_int_equal(s.model->tendons[0].count, 1);
  ASSERT_NEAR(s.model->tendon_coefficients[s.model->tendons[0].first], 2.0, 0.0);
  simulation_end(&s);
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(test_ball_constraint), cmocka_unit_test(test_loops),
      cmocka_unit_test(test_bushing),         cmocka_unit_test(test_spring_and_tendon),
      cmocka_unit_test(test_numbers),         cmocka_unit_test(test_gimbal_lock),
      cmocka_unit_test(test_filters),         cmocka_unit_test(test_joints),
      cmocka_unit_test(test_transmissions),   cmocka_unit_test(test_tendon_of_fixed),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
