// SPDX-License-Identifier: BSD-3-Clause
// MJCF's margins: bodies rest where the surfaces are the sum of them apart, less what their weight
// presses: m g/(n k) with n points.
#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdio.h>

#include <cmocka.h>

#include "support/near.h"
#include "support/scene_text.h"
#include "support/simulation.h"

static const double stiffness = 2e4, mass = 1.5;  // [N/m], [kg]

typedef struct lying {
  const char* geom;
  double height;  // of its centre over what it lies on [m]
  int points;
} lying;

static const lying shapes[] = {
    {"type='sphere' size='.1'", 0.1, 1},
    {"type='box' size='.1 .15 .05'", 0.05, 4},
    {"type='capsule' size='.04 .1' euler='90 0 0'", 0.04, 2},
    {"type='cylinder' size='.1 .06'", 0.06, 4},
    {"type='ellipsoid' size='.12 .1 .07'", 0.07, 1},
    {"type='mesh' mesh='cube'", 0.1, 4},
};

// Attributes of the ground, the body and the entry in <contact>, with the distance that follows.
typedef struct margins {
  const char *ground, *body, *pair;
  double distance;
} margins;

static const margins cases[] = {
    {"", "", "", 0.0},
    {"margin='.01'", "", "", 0.01},
    {"", "margin='.02'", "", 0.02},
    {"margin='.01'", "margin='.02'", "", 0.03},
    {"margin='.01' gap='.005'", "margin='.02' gap='.02'", "", 0.03},
    {"margin='-.004'", "", "", -0.004},
    {"margin='-.02'", "margin='.03'", "", 0.01},
    {"class='far'", "margin='.01'", "", 0.035},
    {"margin='.01'", "margin='.02'", "<pair geom1='g' geom2='b'/>", 0.0},
    {"margin='.01'", "", "<pair geom1='g' geom2='b' margin='.05' gap='.03'/>", 0.05},
    {"", "", "<pair geom1='b' geom2='g' class='far'/>", 0.007},
};

static simulation begin(const char* ground, const lying* shape, const margins* of, double dt) {
  char text[2048];
  (void)snprintf(text, sizeof text,
                 "<mujoco><option timestep='%g'/><default><geom solref='-2e4 -200'/>"
                 "<default class='far'><geom margin='.025'/><pair margin='.007'/></default>"
                 "</default><asset><mesh name='cube' vertex='-.1 -.1 -.1 .1 -.1 -.1 .1 .1 -.1 -.1 "
                 ".1 -.1 -.1 -.1 .1 .1 -.1 .1 .1 .1 .1 -.1 .1 .1'/></asset><worldbody>"
                 "<geom name='g' %s solref='-1e12 0' %s/><body pos='0 0 %.9f'><freejoint/>"
                 "<geom name='b' mass='%g' %s %s/></body></worldbody><contact>%s</contact>"
                 "</mujoco>",
                 dt, ground, of->ground, shape->height + of->distance, mass, shape->geom, of->body,
                 of->pair);
  simulation s = {.model = scene_text_model("a.xml", text, NULL)};
  simulation_complete(&s, SAP_SCHEME_IMPLICIT_EULER, dt);
  return s;
}

static void rests_on(const char* ground, double top) {
  for (size_t i = 0; i < sizeof shapes / sizeof *shapes; ++i) {
    for (size_t k = 0; k < sizeof cases / sizeof *cases; ++k) {
      const lying* shape = &shapes[i];
      simulation s = begin(ground, shape, &cases[k], 0.01);
      s.state.q[2] += top;
      simulation_step(&s, 150);
      const double sinks = mass * 9.81 / (shape->points * stiffness);
      const double expected = top + shape->height + cases[k].distance - sinks;
      // The last of the decay, and the ground's own stiffness of 1e12.
      if (!(fabs(s.state.q[2] - expected) < 2e-7)) {
        fail_msg("%s, case %d: height %.9f, %.9f expected", shape->geom, (int)k, s.state.q[2],
                 expected);
      }
      assert_int_equal(sap_multibody_contact_count(s.multibody), shape->points);
      const sap_contact* contact = sap_multibody_contacts(s.multibody);
      for (int c = 0; c < shape->points; ++c) {
        ASSERT_NEAR(contact[c].phi, -sinks, 2e-7);
        // On the ground's surface, which is rigid, raised by half the distance.
        ASSERT_NEAR(contact[c].point[2], top + 0.5 * cases[k].distance, 1e-6);
      }
      simulation_end(&s);
    }
  }
}

static void on_planes(void** state) {
  (void)state;
  rests_on("type='plane' size='5 5 1'", 0.0);
}

static void on_boxes(void** state) {
  (void)state;
  rests_on("type='box' size='2 2 .25'", 0.25);
}

// A frictionless sphere that falls does so as a larger one, whatever the law and the stage.
static void falls_as_a_larger_one(void** state) {
  (void)state;
  static const sap_scheme schemes[] = {SAP_SCHEME_SYMPLECTIC_EULER, SAP_SCHEME_IMPLICIT_EULER,
                                       SAP_SCHEME_MIDPOINT};
  for (int model = 0; model < (int)SAP_CONTACT_MODEL_COUNT; ++model) {
    for (int k = 0; k < 3; ++k) {
      double heights[2][200];
      for (int grown = 0; grown < 2; ++grown) {
        sap_builder* builder = simulation_builder(0.0, 0.0, -9.81);
        static const double at[3] = {0.0, 0.0, 0.0};
        const int32_t body = simulation_body(builder, 0, 2.0, 0.01, at);
        (void)simulation_joint(builder, body, SAP_JOINT_FREE, 0, 0, 0);
        sap_material material = sap_material_default();
        material.stiffness = 3e4;
        material.friction = 0.0;
        material.model = (sap_contact_model)model;
        sap_shape_def def = sap_shape_def_default();
        def.material = material;
        def.type = SAP_SHAPE_PLANE;
        def.rest_distance = grown != 0 ? 0.0 : 0.004;
        assert_int_equal(sap_builder_add_shape(builder, &def, NULL, NULL), SAP_STATUS_OK);
        def.type = SAP_SHAPE_SPHERE;
        def.body = body;
        def.size[0] = grown != 0 ? 0.12 : 0.1;
        def.rest_distance = grown != 0 ? 0.0 : 0.016;
        assert_int_equal(sap_builder_add_shape(builder, &def, NULL, NULL), SAP_STATUS_OK);
        simulation s = simulation_begin(builder, schemes[k], 0.004);
        s.state.q[2] = 0.16;
        for (int i = 0; i < 200; ++i) {
          simulation_step(&s, 1);
          heights[grown][i] = s.state.q[2];
        }
        simulation_end(&s);
      }
      for (int i = 0; i < 200; ++i) {
        ASSERT_NEAR(heights[0][i], heights[1][i], 1e-9);
      }
      assert_true(heights[0][199] < 0.13 && heights[0][199] > 0.11);
    }
  }
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(on_planes),
      cmocka_unit_test(on_boxes),
      cmocka_unit_test(falls_as_a_larger_one),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
