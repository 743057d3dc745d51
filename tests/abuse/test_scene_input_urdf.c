// SPDX-License-Identifier: BSD-3-Clause
// Wrong URDF: each is refused with the right status and a message that says where and what.
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "support/bad_scenes.h"

#define ROBOT(inside) "<robot name='r'>\n" inside "\n</robot>"
#define LINKS                                                  \
  "<link name='a'/><link name='b'><inertial><mass value='1'/>" \
  "<inertia ixx='1' iyy='1' izz='1' ixy='0' ixz='0' iyz='0'/></inertial></link>\n"
#define ARM(type, inside)                                                                    \
  ROBOT(LINKS "<joint name='j' type='" type "'><parent link='a'/><child link='b'/>\n" inside \
              "</joint>")
#define COLLISION(inside) ROBOT("<link name='a'><collision>\n" inside "</collision></link>")

static const bad_scene urdf[] = {
    {"<robot name='r'/>", SAP_STATUS_SYNTAX, "a:1: <robot>", "no links"},
    {ROBOT("<link/>"), SAP_STATUS_SYNTAX, "a:2: <link>", "no name"},
    {ROBOT("<lnk name='a'/>"), SAP_STATUS_SYNTAX, "a:2: <lnk>", "unknown element"},
    {ROBOT("<link name='a' mass='1'/>"), SAP_STATUS_SYNTAX, "a:2: <link mass=", "unknown attr"},
    {ROBOT("<link name='a'/>\n<link name='a'/>"), SAP_STATUS_SYNTAX,
     "a:3: <link name=", "of that name"},
    {ROBOT("<link name='a'/>\n<link name='b'/>"), SAP_STATUS_SYNTAX,
     "a:3: <link name=", "second root"},
    {ROBOT(LINKS "<joint name='j' type='fixed'><parent link='a'/><child link='c'/></joint>"),
     SAP_STATUS_SYNTAX, "a:3: <child link=", "unknown link"},
    {ROBOT(LINKS "<joint name='j' type='fixed'><parent link='a'/></joint>"), SAP_STATUS_SYNTAX,
     "a:3: <joint>", "child"},
    {ROBOT(LINKS "<joint name='j' type='fixed'><parent link='a'/><child link='b'/></joint>\n"
                 "<joint name='k' type='fixed'><parent link='b'/><child link='a'/></joint>"),
     SAP_STATUS_SYNTAX, "a:1: <robot>", "cycle"},
    {ROBOT(LINKS "<joint name='j' type='fixed'><parent link='b'/><child link='b'/></joint>"),
     SAP_STATUS_SYNTAX, "a:2: <link name=\"b\">", "cycle"},
    {ROBOT(LINKS "<joint name='j' type='fixed'><parent link='a'/><child link='b'/></joint>\n"
                 "<joint name='k' type='fixed'><parent link='a'/><child link='b'/></joint>"),
     SAP_STATUS_SYNTAX, "a:4: <joint name=", "loops"},
    {ARM("revolute", ""), SAP_STATUS_SYNTAX, "a:3: <joint>", "<limit>"},
    {ARM("revolute", "<limit lower='1' upper='-1'/>"), SAP_STATUS_SYNTAX,
     "a:4: <limit lower=", "above"},
    {ARM("revolute", "<limit lower='x' upper='1'/>"), SAP_STATUS_SYNTAX,
     "a:4: <limit lower=", "number"},
    {ARM("continuous", "<axis xyz='0 0 0'/>"), SAP_STATUS_SYNTAX, "a:4: <axis xyz=", "zero"},
    {ARM("continuous", "<dynamics damping='-1'/>"), SAP_STATUS_SYNTAX,
     "a:4: <dynamics damping=", ">= 0"},
    {ARM("continuous", "<mimic joint='k'/>"), SAP_STATUS_SYNTAX,
     "a:4: <mimic joint=", "another joint"},
    {ARM("revolute", "<limit effort='-1'/>"), SAP_STATUS_SYNTAX, "a:4: <limit effort=", ">= 0"},
    {ARM("revolute", "<limit velocity='-1'/>"), SAP_STATUS_SYNTAX, "a:4: <limit velocity=", ">= 0"},
    {ARM("continuous", "<origin xyz='0 0 nan'/>"), SAP_STATUS_NOT_FINITE,
     "a:4: <origin xyz=", "nan"},
    {ARM("hinge", ""), SAP_STATUS_SYNTAX, "a:3: <joint type=\"hinge\">", "revolute"},
    {ROBOT("<link name='a'><inertial>\n<mass value='-1'/></inertial></link>"), SAP_STATUS_SYNTAX,
     "a:3: <mass value=\"-1\">", ">= 0"},
    {ROBOT("<link name='a'><inertial><mass value='1'/>\n<inertia ixx='1' iyy='1' izz='1' "
           "ixy='2'/></inertial></link>"),
     SAP_STATUS_NOT_SPD, "a:3: <inertia>", "principal"},
    {COLLISION(""), SAP_STATUS_SYNTAX, "a:", "<geometry>"},
    {COLLISION("<geometry><mesh filename='x.stl'/></geometry>"), SAP_STATUS_IO, "a:3: <mesh>",
     "x.stl"},
    {COLLISION("<geometry><mesh filename='a' scale='1 0 1'/></geometry>"), SAP_STATUS_UNSUPPORTED,
     "a:3: <mesh", "a"},
    {COLLISION("<geometry><sphere radius='0'/></geometry>"), SAP_STATUS_SYNTAX,
     "a:3: <sphere radius=", "> 0"},
    {COLLISION("<geometry><sphere radius='1'/><box size='1 1 1'/></geometry>"), SAP_STATUS_SYNTAX,
     "a:3: <box>", "second shape"},
    {COLLISION("<geometry><sphere radius='1'/></geometry><drake:proximity_properties>\n"
               "<drake:hunt_crossley_dissipation value='-1'/></drake:proximity_properties>"),
     SAP_STATUS_SYNTAX, "a:4: <drake:hunt_crossley_dissipation value=", ">= 0"},
    {COLLISION("<geometry><sphere radius='1'/></geometry><drake:proximity_properties>\n"
               "<drake:compliant_hydroelastic/><drake:rigid_hydroelastic/>"
               "</drake:proximity_properties>"),
     SAP_STATUS_SYNTAX, "a:4: <drake:rigid_hydroelastic>", "compliant"},
    {COLLISION("<geometry><sphere radius='1'/></geometry><drake:proximity_properties>\n"
               "<drake:compliant_hydroelastic/></drake:proximity_properties>"),
     SAP_STATUS_UNSUPPORTED, "a:4: <drake:compliant_hydroelastic>", "modulus"},
    {COLLISION("<geometry><sphere radius='1'/></geometry><drake:proximity_properties>\n"
               "<drake:mu_dynamic value='-1'/></drake:proximity_properties>"),
     SAP_STATUS_SYNTAX, "a:4: <drake:mu_dynamic value=", ">= 0"},
};

#define LINK(name)                                                      \
  "<link name='" name                                                   \
  "'><inertial><mass value='1'/><inertia ixx='0.1' iyy='0.1' izz='0.1'" \
  " ixy='0' ixz='0' iyz='0'/></inertial></link>\n"
#define JOINT(name, type, parent, child)                                                  \
  "<joint name='" name "' type='" type "'><parent link='" parent "'/><child link='" child \
  "'/></joint>\n"
#define WORLD(inside) \
  "<robot name='r' xmlns:drake='http://drake.mit.edu'>\n<link name='world'/>\n" inside "</robot>"
#define TWO(inside) WORLD(LINK("b") JOINT("j", "floating", "world", "b") inside)

// Beyond the tree.
static const bad_scene links[] = {
    {TWO("<drake:ball_constraint>\n<drake:ball_constraint_body_A name='nobody'/>"
         "</drake:ball_constraint>"),
     SAP_STATUS_SYNTAX, "a:6: <drake:ball_constraint_body_A name=\"nobody\">", "unknown link"},
    {TWO("<drake:ball_constraint><drake:ball_constraint_body_A name='b'/>"
         "</drake:ball_constraint>"),
     SAP_STATUS_SYNTAX, "a:5: <drake:ball_constraint>", "has no <drake:ball_constraint_body_B>"},
    {TWO("<drake:ball_constraint><drake:ball_constraint_body_A name='b'/>"
         "<drake:ball_constraint_body_B name='b'/><drake:ball_constraint_p_AP value='0 0 0'/>"
         "<drake:ball_constraint_p_BQ value='0 0 0'/></drake:ball_constraint>"),
     SAP_STATUS_ARGUMENT, "a:5: <drake:ball_constraint>", "two different"},
    {TWO("<drake:ball_constraint><drake:ball_constraint_body_A name='b'/>"
         "<drake:ball_constraint_body_B name='world'/><drake:ball_constraint_p_AP value='0 0'/>"
         "</drake:ball_constraint>"),
     SAP_STATUS_SYNTAX, "a:5: <drake:ball_constraint_p_AP value=\"0 0\">", "3"},
    {TWO("<loop_joint name='l' type='cardanic'/>"), SAP_STATUS_SYNTAX,
     "a:5: <loop_joint type=\"cardanic\">", "spherical"},
    {TWO("<loop_joint name='l'/>"), SAP_STATUS_SYNTAX, "a:5: <loop_joint>", "'type' is missing"},
    {TWO("<loop_joint name='l' type='ball'><link1 link='b'/></loop_joint>"), SAP_STATUS_SYNTAX,
     "a:5: <loop_joint>", "has no <link2>"},
    {TWO("<loop_joint name='l' type='revolute'><link1 link='b'/><link2 link='world'/>"
         "<axis xyz='0 0 0'/></loop_joint>"),
     SAP_STATUS_SYNTAX, "a:5: <axis xyz=", "zero"},
    {TWO("<frame name='A' link='nobody'/><drake:linear_bushing_rpy>"
         "<drake:bushing_frameA name='A'/><drake:bushing_frameC name='b'/>"
         "</drake:linear_bushing_rpy>"),
     SAP_STATUS_SYNTAX, "a:5: <frame link=\"nobody\">", "unknown link"},
    {TWO("<frame name='unused' link='nobody'/>"), SAP_STATUS_SYNTAX, "a:5: <frame link=\"nobody\">",
     "unknown link"},
    {TWO("<frame name='unused'/>"), SAP_STATUS_SYNTAX, "a:5: <frame>", "names no link"},
    {TWO("<frame name='unused' link='b' rpy='1 2'/>"), SAP_STATUS_SYNTAX,
     "a:5: <frame rpy=\"1 2\">", "3"},
    {TWO("<frame name='b' link='b'/>"), SAP_STATUS_SYNTAX, "a:5: <frame name=\"b\">", "second"},
    {TWO("<drake:linear_bushing_rpy><drake:bushing_frameA name='Z'/>"
         "</drake:linear_bushing_rpy>"),
     SAP_STATUS_SYNTAX, "a:5: <drake:bushing_frameA name=\"Z\">", "frame"},
    {TWO("<drake:linear_bushing_rpy><drake:bushing_frameA name='b'/>"
         "<drake:bushing_frameC name='world'/><drake:bushing_torque_stiffness value='-1 0 0'/>"
         "<drake:bushing_torque_damping value='0 0 0'/>"
         "<drake:bushing_force_stiffness value='0 0 0'/>"
         "<drake:bushing_force_damping value='0 0 0'/></drake:linear_bushing_rpy>"),
     SAP_STATUS_ARGUMENT, "a:5: <drake:linear_bushing_rpy>", "stiffness"},
    {TWO("<drake:tendon_constraint/>"), SAP_STATUS_SYNTAX, "a:5: <drake:tendon_constraint>",
     "has no"},
    {TWO("<drake:tendon_constraint><drake:tendon_constraint_joint name='x' a='1'/>"
         "</drake:tendon_constraint>"),
     SAP_STATUS_SYNTAX, "a:5: <drake:tendon_constraint_joint name=\"x\">", "unknown joint"},
    {WORLD(LINK("b") LINK("c") JOINT("j", "continuous", "world", "b")
               JOINT("f", "fixed", "b",
                     "c") "<drake:tendon_constraint><drake:tendon_constraint_joint name='f' a='1'/>"
                          "</drake:tendon_constraint>"),
     SAP_STATUS_SYNTAX, "a:7: <drake:tendon_constraint>", "of a joint that moves"},
    {TWO("<drake:collision_filter_group name='g'><drake:member link='x'/>"
         "</drake:collision_filter_group>"),
     SAP_STATUS_SYNTAX, "a:5: <drake:member link=\"x\">", "unknown link"},
    {TWO("<drake:collision_filter_group name='g'><drake:ignored_collision_filter_group "
         "name='x'/></drake:collision_filter_group>"),
     SAP_STATUS_SYNTAX, "a:5: <drake:ignored_collision_filter_group name=\"x\">", "unknown group"},
    {WORLD(LINK("b") JOINT("j", "continuous", "world",
                           "b") "<transmission name='t'><joint name='j'/><actuator name='m'>\n"
                                "<drake:controller_gains p='-1' d='1'/></actuator></transmission>"),
     SAP_STATUS_SYNTAX, "a:6: <drake:controller_gains p=\"-1\">", "must be > 0"},
    {WORLD(LINK("b") "<drake:joint name='j' type='screw'><parent link='world'/><child link='b'/>"
                     "</drake:joint>"),
     SAP_STATUS_SYNTAX, "a:4: <drake:joint>", "has no <drake:screw_thread_pitch>"},
};

static void test_trees(void** state) {
  (void)state;
  bad_scenes_check(urdf, sizeof urdf / sizeof *urdf);
}

static void test_links(void** state) {
  (void)state;
  bad_scenes_check(links, sizeof links / sizeof *links);
}

int main(void) {
  const struct CMUnitTest tests[] = {cmocka_unit_test(test_trees), cmocka_unit_test(test_links)};
  return cmocka_run_group_tests(tests, NULL, NULL);
}
