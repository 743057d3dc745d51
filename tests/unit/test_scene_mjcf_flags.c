// SPDX-License-Identifier: BSD-3-Clause
// MJCF: what <flag> switches off and on, pairs listed twice, mocap bodies.
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

static sap_model* read_flags(const char* flags) {
  char text[2048];
  (void)snprintf(
      text, sizeof text,
      "<mujoco><compiler angle='radian' autolimits='true'/><option><flag %s/></option><worldbody>"
      "<geom name='floor' type='plane' size='1 1 1'/><body name='b'><joint name='j' range='-1 1' "
      "frictionloss='0.5'/><geom name='g' type='sphere' size='0.1' mass='2' pos='1 0 0'/></body>"
      "<body name='c' pos='0 0 1'><joint name='k' frictionloss='0.25'/><geom name='h' "
      "type='sphere' size='0.1' pos='1 0 0'/></body></worldbody><contact><pair geom1='g' "
      "geom2='h'/></contact><tendon><fixed name='t' range='-1 1' frictionloss='3'><joint "
      "joint='j' coef='1'/></fixed></tendon><equality><joint joint1='j' joint2='k'/></equality>"
      "</mujoco>",
      flags);
  return scene_text_model("a.xml", text, NULL);
}

typedef struct expected {
  const char* flags;
  bool contact, equality, limit, friction;
} expected;

static void test_flags(void** state) {
  (void)state;
  static const expected cases[] = {
      {"contact='enable'", true, true, true, true},
      {"contact='disable'", false, true, true, true},
      {"equality='disable'", true, false, true, true},
      {"limit='disable'", true, true, false, true},
      {"frictionloss='disable'", true, true, true, false},
      {"constraint='disable'", false, false, false, false},
  };
  for (size_t i = 0; i < sizeof cases / sizeof *cases; ++i) {
    sap_model* m = read_flags(cases[i].flags);
    const expected* e = &cases[i];
    for (int k = 0; k < 3; ++k) {
      assert_int_equal(m->shapes[k].contact_type, e->contact ? 1 : 0);
      assert_int_equal(m->shapes[k].contact_affinity, e->contact ? 1 : 0);
    }
    assert_int_equal(m->sizes.pairs, e->contact ? 1 : 0);
    assert_true(m->equalities[0].active == e->equality);
    assert_true((isinf(m->joints[0].upper) != 0) == !e->limit);
    assert_true((isinf(m->tendons[0].lower) != 0) == !e->limit);
    ASSERT_NEAR(m->joints[0].friction_loss, e->friction ? 0.5 : 0.0, 0.0);
    ASSERT_NEAR(m->tendons[0].friction_loss, e->friction ? 3.0 : 0.0, 0.0);
    ASSERT_NEAR(m->bodies[1].mass, 2.0, 0.0);  // shapes that do not collide have mass
    sap_model_destroy(m);
  }
}

// The first of two pairs of the same geoms counts.
static void test_repeated_pair(void** state) {
  (void)state;
  sap_model* m = scene_text_model(
      "a.xml",
      "<mujoco><worldbody><geom name='a' type='sphere' size='1'/><body><freejoint/><geom name='b' "
      "type='sphere' size='1' mass='1'/></body></worldbody><contact><pair geom1='a' geom2='b' "
      "friction='0.3'/><pair geom1='b' geom2='a' friction='0.7'/></contact></mujoco>",
      NULL);
  assert_int_equal(m->sizes.pairs, 1);
  ASSERT_NEAR(m->pairs[0].material.friction, 0.3, 0.0);
  sap_model_destroy(m);
}

// Where nobody moves it, a mocap body is a static one.
static void test_mocap(void** state) {
  (void)state;
  sap_model* m = scene_text_model(
      "a.xml",
      "<mujoco><worldbody><body name='m' mocap='true' pos='0 0 2'><geom type='sphere' size='1'/>"
      "</body><body><freejoint/><geom type='sphere' size='1' mass='1'/></body></worldbody>"
      "</mujoco>",
      NULL);
  assert_int_equal(m->sizes.nv, 6);
  assert_int_equal(m->bodies[1].tree, -1);
  sap_model_destroy(m);
}

// The control of a damper is limited whatever autolimits says, as in MuJoCo, and needs its range.
static void test_damper_range(void** state) {
  (void)state;
#define DAMPER(autolimits, range)                                                     \
  "<mujoco><compiler autolimits='" autolimits                                         \
  "'/><worldbody><body><joint name='j'/><geom "                                       \
  "size='1' mass='1'/></body></worldbody><actuator>\n<damper joint='j' kv='2' " range \
  "/>"                                                                                \
  "</actuator></mujoco>"
  static const char* const good[] = {DAMPER("true", "ctrlrange='0 3'"),
                                     DAMPER("false", "ctrlrange='0 3'")};
  static const char* const bad[] = {DAMPER("true", ""), DAMPER("false", "ctrlrange='-1 3'")};
  for (int i = 0; i < 2; ++i) {
    sap_model* m = scene_text_model("a.xml", good[i], NULL);
    ASSERT_NEAR(m->actuators[0].control_lower, 0.0, 0.0);
    ASSERT_NEAR(m->actuators[0].control_upper, 3.0, 0.0);
    sap_model_destroy(m);
    sap_error error = {0};
    assert_int_equal(scene_text_read("a.xml", bad[i], NULL, NULL, &m, &error), SAP_STATUS_SYNTAX);
    assert_non_null(strstr(error.message, "a.xml:2: <damper>: needs a ctrlrange"));
  }
}

// A velocity servo takes nothing of the bias that its class gives, as in MuJoCo.
static void test_velocity_of_class(void** state) {
  (void)state;
  sap_model* m = scene_text_model(
      "a.xml",
      "<mujoco><default><general biastype='affine' biasprm='1 -2 -3'/></default><worldbody><body>"
      "<joint name='j'/><geom size='1' mass='1'/></body></worldbody><actuator>"
      "<velocity joint='j' kv='5'/></actuator></mujoco>",
      NULL);
  const sap_model_actuator* a = &m->actuators[0];
  assert_true(a->gain == 5.0 && a->bias[0] == 0.0 && a->bias[1] == 0.0 && a->bias[2] == -5.0);
  sap_model_destroy(m);
}

// Springs and dampers; with neither, no passive force at all (MuJoCo 4.0: qfrc_passive is zero).
static void test_passive(void** state) {
  (void)state;
  static const struct {
    const char* flags;
    bool spring, damper;
  } cases[] = {{"", true, true},
               {"spring='disable'", false, true},
               {"damper='disable'", true, false},
               {"spring='disable' damper='disable'", false, false},
               {"passive='disable'", false, false}};
  for (size_t i = 0; i < sizeof cases / sizeof *cases; ++i) {
    char text[1024];
    (void)snprintf(text, sizeof text,
                   "<mujoco><option density='2' viscosity='3'><flag %s/></option><worldbody>"
                   "<body gravcomp='1'><joint name='j' stiffness='3' damping='2'/><geom size='.1'/>"
                   "</body></worldbody><tendon><fixed stiffness='5' damping='4' "
                   "actuatorfrcrange='-2 3'><joint joint='j' "
                   "coef='1'/></fixed></tendon></mujoco>",
                   cases[i].flags);
    sap_model* m = scene_text_model("a.xml", text, NULL);
    const bool spring = cases[i].spring, damper = cases[i].damper, any = spring || damper;
    ASSERT_NEAR(m->joints[0].stiffness, spring ? 3.0 : 0.0, 0.0);
    ASSERT_NEAR(m->joints[0].damping, damper ? 2.0 : 0.0, 0.0);
    ASSERT_NEAR(m->tendons[0].stiffness, spring ? 5.0 : 0.0, 0.0);
    ASSERT_NEAR(m->tendons[0].damping, damper ? 4.0 : 0.0, 0.0);
    ASSERT_NEAR(m->tendons[0].effort_lower, -2.0, 0.0);
    ASSERT_NEAR(m->tendons[0].effort_upper, 3.0, 0.0);
    ASSERT_NEAR(m->options.fluid_density, any ? 2.0 : 0.0, 0.0);
    ASSERT_NEAR(m->options.fluid_viscosity, any ? 3.0 : 0.0, 0.0);
    sap_body_def body;
    assert_int_equal(sap_model_get_body(m, 1, &body, NULL), SAP_STATUS_OK);
    ASSERT_NEAR(body.gravity_compensation, any ? 1.0 : 0.0, 0.0);
    sap_model_destroy(m);
  }
}

static void test_actuation(void** state) {
  (void)state;
  for (int k = 0; k < 3; ++k) {
    char text[1024];
    (void)snprintf(text, sizeof text,
                   "<mujoco><option><flag %s/></option><worldbody><body><joint name='j'/><geom "
                   "size='.1'/></body></worldbody><actuator><position joint='j' kp='7' kv='2' "
                   "ctrlrange='-1 1'/></actuator></mujoco>",
                   k == 0   ? ""
                   : k == 1 ? "actuation='disable'"
                            : "clampctrl='disable'");
    sap_model* m = scene_text_model("a.xml", text, NULL);
    const sap_model_actuator* a = &m->actuators[0];
    ASSERT_NEAR(a->gain, k == 1 ? 0.0 : 7.0, 0.0);
    ASSERT_NEAR(a->bias[1], k == 1 ? 0.0 : -7.0, 0.0);
    ASSERT_NEAR(a->bias[2], k == 1 ? 0.0 : -2.0, 0.0);
    assert_true(k == 2 ? isinf(a->control_upper) : a->control_upper == 1.0);
    sap_model_destroy(m);
  }
}

// MuJoCo 4.0 with these: includemargin 0.02, friction and solref those of the option.
static void test_override(void** state) {
  (void)state;
  for (int on = 0; on < 2; ++on) {
    char text[1024];
    (void)snprintf(
        text, sizeof text,
        "<mujoco><option o_margin='.02' o_friction='.3 .3 .1 .2' o_solref='-100 -10'>"
        "<flag override='%s'/></option><worldbody><geom name='a' size='.1' margin='.01' "
        "friction='.9 .8 .7' solref='-5000 -50'/><body><joint/><geom name='b' size='.1'/>"
        "</body></worldbody><contact><pair geom1='a' geom2='b' margin='.5' gap='.4' "
        "friction='.6' condim='6'/></contact></mujoco>",
        on != 0 ? "enable" : "disable");
    sap_scene_options lenient = sap_scene_options_default();
    lenient.lenient = true;
    sap_model* m = scene_text_model("a.xml", text, &lenient);
    const sap_shape_def* shape = &m->shapes[0];
    const sap_pair_def* pair = &m->pairs[0];
    ASSERT_NEAR(shape->rest_distance + m->shapes[1].rest_distance, on ? 0.02 : 0.01, 1e-15);
    ASSERT_NEAR(shape->material.friction, on ? 0.3 : 0.9, 0.0);
    ASSERT_NEAR(shape->friction_torsional, on ? 0.1 : 0.8, 0.0);
    ASSERT_NEAR(shape->friction_rolling, on ? 0.2 : 0.7, 0.0);
    ASSERT_NEAR(shape->material.stiffness, on ? 200.0 : 5000.0, 0.0);
    ASSERT_NEAR(shape->material.relaxation_time, on ? 0.1 : 0.01, 1e-15);
    ASSERT_NEAR(pair->rest_distance, on ? 0.02 : 0.5, 0.0);
    ASSERT_NEAR(pair->material.friction, on ? 0.3 : 0.6, 0.0);
    ASSERT_NEAR(pair->friction_torsional, on ? 0.1 : 0.005, 0.0);
    ASSERT_NEAR(pair->friction_rolling, on ? 0.2 : 0.0001, 0.0);
    ASSERT_NEAR(pair->friction_rolling_2, 0.0001, 0.0);
    if (on != 0) {
      ASSERT_NEAR(pair->material.stiffness, 100.0, 0.0);
    }
    sap_model_destroy(m);
  }
}

// A solref with one negative number is neither a stiffness nor a time: the default holds.
static void test_mixed_solref(void** state) {
  (void)state;
  static const char* const texts[] = {"", "solref='-100 20'", "solref='.02 -20'"};
  double stiffness[3];
  for (int i = 0; i < 3; ++i) {
    char text[256];
    (void)snprintf(text, sizeof text,
                   "<mujoco><worldbody><geom size='.1' %s/></worldbody></mujoco>", texts[i]);
    sap_model* m = scene_text_model("a.xml", text, NULL);
    stiffness[i] = m->shapes[0].material.stiffness;
    sap_model_destroy(m);
  }
  assert_true(stiffness[1] == stiffness[0] && stiffness[2] == stiffness[0]);
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(test_mixed_solref), cmocka_unit_test(test_passive),
      cmocka_unit_test(test_damper_range), cmocka_unit_test(test_velocity_of_class),
      cmocka_unit_test(test_actuation),    cmocka_unit_test(test_override),
      cmocka_unit_test(test_flags),        cmocka_unit_test(test_repeated_pair),
      cmocka_unit_test(test_mocap),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
