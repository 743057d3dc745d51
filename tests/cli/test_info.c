// SPDX-License-Identifier: BSD-3-Clause
// sapstep info: numbers of a scene as table and JSON, what was left out, bad input.
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include <cmocka.h>

#include "support/command.h"

static const char* const program = SAPSTEP_PROGRAM;

// Two trees; a tetrahedron; a servo whose damping ratio 1 is 2 sqrt(kp m) with m the slider's mass.
static const char scene[] =
    "<mujoco model='all &quot;kinds&quot;'><option wind='1 0 0' viscosity='.1'/>\n"
    "<asset><mesh name='tetra' vertex='0 0 0 1 0 0 0 1 0 0 0 1 .2 .2 .2'/></asset><worldbody>\n"
    "<site name='top' pos='0 0 2'/>\n"
    "<body name='slider'><joint name='s' type='slide' range='-1 3'/><geom size='.1' mass='4'/>"
    "<site name='hook'/></body>\n"
    "<body name='stone' pos='3 0 0'><freejoint/><geom type='mesh' mesh='tetra' mass='2'/></body>\n"
    "</worldbody><tendon><spatial name='rope' range='0 5'><site site='top'/><site site='hook'/>"
    "</spatial></tendon>\n<actuator><position name='servo' joint='s' kp='100' dampratio='1' "
    "inheritrange='.5'/>\n<pid joint='s'/></actuator>\n"
    "<equality><weld name='held' body1='stone' active='false'/></equality>\n"
    "<keyframe><key name='home'/></keyframe></mujoco>";

static int begin(void** state) {
  static scratch s;
  scratch_begin(&s);
  char path[SCRATCH_PATH_SIZE];
  scratch_write(&s, "scene.xml", scene, sizeof scene - 1, path);
  scratch_write(&s, "bad.xml", "<mujoco>\n<worldboby/></mujoco>", 30, path);
  *state = &s;
  return 0;
}

static void table(void** state) {
  command_result r = command_run(*state, program, "", "info scene.xml");
  assert_int_equal(r.exit_code, 0);
  assert_string_equal(r.err, "");
  command_says(r.out, "model       all \"kinds\"\nmass        6 kg\n");
  command_says(r.out, "trees       2\n");
  command_says(r.out,
               "id  root    bodies  dofs  mass_kg\n 0  slider       1     1        4\n"
               " 1  stone        1     6        2\n");
  command_says(r.out, "0  tetra              4\n");
  command_says(r.out, "servo  joint  s          1   100       0    -100     -40");
  command_says(r.out, "rope  spatial      2      0      5");
  command_says(r.out, "held  weld  stone  world  no\n");
  command_says(r.out, "medium      density 0 kg/m^3, viscosity 0.1 Pa s, wind 1 0 0 m/s\n");
  command_says(r.out, "scene.xml:8: <pid>: this kind of actuator is not supported\n");
  command_clear(&r);
}

static void json(void** state) {
  command_result r = command_run(*state, program, "", "info --format json scene.xml");
  assert_int_equal(r.exit_code, 0);
  assert_true(json_valid(r.out));
  assert_true(json_member(r.out, "mass_kg") == 6.0);
  assert_true(json_member(r.out, "nv") == 7.0);
  assert_true(json_member(r.out, "bias_2") == -40.0);
  assert_true(json_member(r.out, "control_upper") == 2.0);  // half of the range about its middle
  command_says(r.out, "\"springs\": 0");
  assert_true(json_member(r.out, "fluid_viscosity_Pas") == 0.1);
  command_clear(&r);
}

// 100 kg on a contact of 1e4 N/m: m g/k = 98.1 mm.
static void soft_contact(void** state) {
  static const char soft[] =
      "<mujoco><worldbody><geom type='plane' size='1 1 1'/><body><freejoint/><geom name='heavy' "
      "size='.1' mass='100' solref='-10000 -100'/></body></worldbody></mujoco>";
  char path[SCRATCH_PATH_SIZE];
  scratch_write(*state, "soft.xml", soft, sizeof soft - 1, path);
  command_result r = command_run(*state, program, "", "info soft.xml");
  assert_int_equal(r.exit_code, 0);
  command_says(
      r.out,
      "rest depth  0.0981 m where its tree stands on one contact of shape 1 'heavy' (10000 "
      "N/m)\n");
  command_clear(&r);
  r = command_run(*state, program, "", "info --format json soft.xml");
  assert_true(json_valid(r.out));
  command_says(r.out, "\"rest_depth_m\": 0.098");
  command_clear(&r);
}

// Boxes 1.1 m inside each other, a ball that rests m g/k deep, a hinge and a slide beyond their
// limits, and a hinge at its limit: info lists what is wrong, run warns of the deepest three.
static void wrong_starts(void** state) {
  static const char text[] =
      "<mujoco><compiler autolimits='true'/><worldbody><geom type='plane' size='9 9 1'/>"
      "<body pos='0 0 3'><freejoint/><geom name='left' type='box' size='1 1 1' mass='1'/></body>"
      "<body pos='.9 0 3'><freejoint/><geom name='right' type='box' size='1 1 1' mass='1'/></body>"
      "<body pos='5 0 .0999'><freejoint/><geom size='.1' mass='1'/></body>"
      "<body pos='-5 0 3'><joint name='elbow' axis='0 1 0' range='20 60'/><geom size='.1'/></body>"
      "<body pos='-7 0 3'><joint name='rail' type='slide' range='-1 -.25'/><geom size='.1'/></body>"
      "<body pos='-7 3 3'><joint name='last' type='slide' range='.05 1'/><geom size='.1'/></body>"
      "<body pos='-7 6 3'><joint axis='0 1 0' range='0 60'/><geom size='.1'/></body>"
      "</worldbody></mujoco>";
  char path[SCRATCH_PATH_SIZE];
  scratch_write(*state, "wrong.xml", text, sizeof text - 1, path);
  command_result r = command_run(*state, program, "", "info wrong.xml");
  assert_int_equal(r.exit_code, 0);
  command_says(r.out,
               "wrong_starts\nkind         a      b       depth  unit\n"
               "shapes       left   right     1.1  m\n"
               "joint limit  elbow  lower  0.3491  rad\n"
               "joint limit  rail   upper    0.25  m\n"
               "joint limit  last   lower    0.05  m\n");
  command_clear(&r);
  r = command_run(*state, program, "", "info --format json wrong.xml");
  assert_true(json_valid(r.out));
  command_says(r.out, "\"wrong_starts\": [\n{\"kind\": \"shapes\", \"a\": \"left\"");
  command_clear(&r);
  r = command_run(*state, program, "", "run wrong.xml --duration .01");
  assert_int_equal(r.exit_code, 0);
  assert_string_equal(
      r.err,
      "sapstep: warning: shapes 1 'left' and 2 'right' start 1100 mm inside each other\n"
      "sapstep: warning: joint 3 'elbow' starts 20 degrees beyond its lower limit\n"
      "sapstep: warning: joint 4 'rail' starts 250 mm beyond its upper limit\n"
      "sapstep: warning: and 1 more overlaps or limits at the start\n"
      "sapstep: warning: what starts so is undone slowly, see --impact-speed\n");
  command_clear(&r);
  r = command_run(*state, program, "",
                  "run wrong.xml --duration .01 --contact-model similar");  // its law tells as well
  command_says(r.err, "shapes 1 'left' and 2 'right' start 1100 mm inside each other\n");
  command_clear(&r);
  r = command_run(*state, program, "", "run scene.xml --duration .01 --lenient --impact-speed 0");
  assert_null(strstr(r.err, "starts"));
  command_clear(&r);
}

// Every number of every table is the one of the scene; m g/k = 12 sqrt(69)/4096 m.
static void numbers(void** state) {
  static const char text[] =
      "<mujoco model='all'><compiler autolimits='true' angle='radian'/><option timestep='.25' "
      "gravity='1 2 -8' wind='3 4 5' viscosity='.5' density='6'/><asset><mesh name='tetra' "
      "vertex='0 0 0 1 0 0 0 1 0 0 0 1'/></asset><worldbody><geom name='floor' type='plane' "
      "size='9 9 1'/><body name='b'><inertial pos='0 0 0' mass='4' diaginertia='2 3 4.5'/><joint "
      "name='j' type='hinge' range='-1.5 2.5' stiffness='7' damping='.75' armature='.125' "
      "frictionloss='.375'/><geom name='g' type='ellipsoid' size='.5 .25 .75' condim='4' "
      "friction='.625' margin='.0625' solref='-4096 -64'/><site name='p'/><body name='c' pos='0 0 "
      "9'><inertial pos='0 0 0' mass='8' diaginertia='1 1 1'/><joint name='k' type='slide'/><geom "
      "name='m' type='mesh' mesh='tetra' contype='1'/><site name='q'/><site name='r' pos='1 0 0'/>"
      "</body></body><body name='e' pos='9 0 9'><freejoint name='f'/><geom size='.5' mass='2'/>"
      "</body></worldbody><tendon><fixed name='t' range='-.5 1.5' stiffness='11' damping='12' "
      "frictionloss='13'><joint joint='j' coef='1'/><joint joint='k' coef='2'/></fixed><spatial "
      "name='s'><site site='p'/><site site='r'/><site site='q'/></spatial></tendon><actuator>"
      "<general name='u' tendon='t' gear='14' gainprm='15' biastype='affine' biasprm='16 -17 -18' "
      "ctrlrange='-19 20' forcerange='-21 22'/><motor name='w' joint='k'/><motor name='x' site='p' "
      "gear='1 0 0 0 0 0'/></actuator><equality><connect name='a1' body1='b' body2='e' anchor='1 0 "
      "0'/><joint name='a2' joint1='k' joint2='j'/><tendon name='a3' tendon1='t' tendon2='s' "
      "active='false'/><weld name='a4' body1='e'/></equality><contact><pair geom1='g' "
      "geom2='floor'/></contact><keyframe><key name='home'/></keyframe></mujoco>";
  static const char* const rows[] = {
      "\"mass_kg\": 14,",
      "\"timestep_s\": 0.25,",
      "\"gravity_mps2\": [1, 2, -8],",
      "\"fluid_density_kgpm3\": 6,",
      "\"fluid_viscosity_Pas\": 0.5,",
      "\"wind_mps\": [3, 4, 5],",
      "{\"bodies\": 4, \"joints\": 3, \"trees\": 2, \"nq\": 9, \"nv\": 8, \"nu\": 3, \"shapes\": "
      "4, \"meshes\": 1, \"actuators\": 3, \"tendons\": 2, \"equalities\": 4, \"springs\": 0, "
      "\"bushings\": 0, \"pairs\": 1, \"keyframes\": 1}",
      "{\"id\": 0, \"root\": \"b\", \"bodies\": 2, \"dofs\": 2, \"mass_kg\": 12}",
      "{\"id\": 1, \"root\": \"e\", \"bodies\": 1, \"dofs\": 6, \"mass_kg\": 2}",
      "{\"id\": 1, \"name\": \"b\", \"parent\": \"world\", \"tree\": 0, \"mass_kg\": 4, "
      "\"Ixx_kgm2\": 2, \"Iyy_kgm2\": 3, \"Izz_kgm2\": 4.5}",
      "{\"id\": 2, \"name\": \"c\", \"parent\": \"b\", \"tree\": 0, \"mass_kg\": 8,",
      "{\"id\": 3, \"name\": \"e\", \"parent\": \"world\", \"tree\": 1, \"mass_kg\": 2,",
      "{\"id\": 0, \"name\": \"j\", \"type\": \"hinge\", \"body\": \"b\", \"dof\": 0, \"lower\": "
      "-1.5, \"upper\": 2.5, \"stiffness\": 7, \"damping\": 0.75, \"armature\": 0.125, "
      "\"friction_loss\": 0.375}",
      "{\"id\": 1, \"name\": \"k\", \"type\": \"slide\", \"body\": \"c\", \"dof\": 1, \"lower\": "
      "null, \"upper\": null, \"stiffness\": 0,",
      "{\"id\": 2, \"name\": \"f\", \"type\": \"free\", \"body\": \"e\", \"dof\": 2,",
      "{\"id\": 0, \"name\": \"floor\", \"type\": \"plane\", \"body\": \"world\",",
      "{\"id\": 1, \"name\": \"g\", \"type\": \"ellipsoid\", \"body\": \"b\", \"size_x_m\": 0.5, "
      "\"size_y_m\": 0.25, \"size_z_m\": 0.75, \"mesh\": \"\", \"condim\": 4, \"friction\": 0.625, "
      "\"stiffness_Npm\": 4096, \"modulus_Pa\": 0, \"margin_m\": 0, \"rest_distance_m\": 0.0625, "
      "\"rest_depth_m\": 0.024335812",
      "{\"id\": 2, \"name\": \"m\", \"type\": \"mesh\", \"body\": \"c\", \"size_x_m\": 0, "
      "\"size_y_m\": 0, \"size_z_m\": 0, \"mesh\": \"tetra\", \"condim\": 3,",
      "{\"id\": 0, \"name\": \"tetra\", \"hull_vertices\": 4}",
      "{\"id\": 0, \"name\": \"u\", \"on\": \"tendon\", \"target\": \"t\", \"gear\": 14, \"gain\": "
      "15, \"bias_0\": 16, \"bias_1\": -17, \"bias_2\": -18, \"control_lower\": -19, "
      "\"control_upper\": 20, \"force_lower\": -21, \"force_upper\": 22}",
      "{\"id\": 1, \"name\": \"w\", \"on\": \"joint\", \"target\": \"k\",",
      "{\"id\": 2, \"name\": \"x\", \"on\": \"site\", \"target\": \"b\",",
      "{\"id\": 0, \"name\": \"t\", \"type\": \"fixed\", \"parts\": 2, \"lower\": -0.5, \"upper\": "
      "1.5, \"stiffness\": 11, \"damping\": 12, \"friction_loss\": 13}",
      "{\"id\": 1, \"name\": \"s\", \"type\": \"spatial\", \"parts\": 3,",
      "{\"id\": 0, \"name\": \"a1\", \"type\": \"connect\", \"a\": \"b\", \"b\": \"e\", "
      "\"active\": \"yes\"}",
      "{\"id\": 1, \"name\": \"a2\", \"type\": \"joint\", \"a\": \"k\", \"b\": \"j\", \"active\": "
      "\"yes\"}",
      "{\"id\": 2, \"name\": \"a3\", \"type\": \"tendon\", \"a\": \"t\", \"b\": \"s\", \"active\": "
      "\"no\"}",
      "{\"id\": 3, \"name\": \"a4\", \"type\": \"weld\", \"a\": \"e\", \"b\": \"world\", "
      "\"active\": \"yes\"}",
      "{\"id\": 0, \"name\": \"home\"}"};
  char path[SCRATCH_PATH_SIZE];
  scratch_write(*state, "all.xml", text, sizeof text - 1, path);
  command_result r = command_run(*state, program, "", "info --format json all.xml");
  assert_int_equal(r.exit_code, 0);
  for (size_t i = 0; i < sizeof rows / sizeof *rows; ++i) {
    command_says(r.out, rows[i]);
  }
  command_clear(&r);
}

static void bad_input(void** state) {
  command_expect(*state, program, "info", 2, "the arguments must be SCENE, 0 found");
  command_expect(*state, program, "info scene.xml scene.xml", 2,
                 "the arguments must be SCENE, 2 found");
  command_expect(*state, program, "info --format csv scene.xml", 2,
                 "--format 'csv' must be table or json");
  command_expect(*state, program, "info --formt json scene.xml", 2, "did you mean '--format'");
  command_expect(*state, program, "info none.xml", 3, "cannot read 'none.xml'");
  command_expect(*state, program, "info bad.xml", 3, "bad.xml:2: <worldboby>: unknown element");
}

// Fields of shapes, of which one has a rest distance and one is a mesh that is not convex.
static void fields(void** state) {
  static const char text[] =
      "<mujoco><asset><mesh name='cup' vertex='0 0 0 1 0 0 1 1 0 0 1 0 0 0 1 1 0 1 1 1 1 0 1 1 .5 "
      ".5 .2' face='0 2 1 0 3 2 0 1 5 0 5 4 1 2 6 1 6 5 2 3 7 2 7 6 3 0 4 3 4 7 4 5 8 5 6 8 6 7 8 "
      "7 4 "
      "8'/></asset><worldbody><geom type='plane' size='1 1 1'/><geom type='mesh' mesh='cup'/>"
      "<geom size='.1' pos='3 0 0' margin='.01'/></worldbody></mujoco>";
  char path[SCRATCH_PATH_SIZE];
  scratch_write(*state, "cup.xml", text, sizeof text - 1, path);
  command_result r = command_run(*state, program, "", "info --patches 1e6 cup.xml");
  assert_int_equal(r.exit_code, 0);
  command_says(r.out, "patches     2 of 3 shapes have a pressure field; pairs of two without one,");
  command_says(r.out, "            1 of them have a rest distance: points\n");
  command_says(r.out,
               "            1 of them are meshes that are not convex: their triangles, rigid,");
  command_clear(&r);
  char open[sizeof text];  // without its last triangle
  memcpy(open, text, sizeof text);
  memset(strstr(open, " 7 4 8'"), ' ', 6);
  scratch_write(*state, "cup.xml", open, sizeof open - 1, path);
  r = command_run(*state, program, "", "info --patches 1e6 cup.xml");
  command_says(r.out,
               "            1 of them are meshes that are convex, or whose faces are not clo");
  command_clear(&r);
  // A tag without a modulus takes the given one; how deep a patch is at rest depends on its area.
  static const char drake[] =
      "<mujoco xmlns:drake='http://drake.mit.edu'><worldbody><body><freejoint/><geom size='.1'>"
      "<drake:proximity_properties><drake:compliant_hydroelastic/></drake:proximity_properties>"
      "</geom></body></worldbody></mujoco>";
  scratch_write(*state, "drake.xml", drake, sizeof drake - 1, path);
  command_expect(*state, program, "run drake.xml", 3, "without <drake:hydroelastic_modulus>");
  r = command_run(*state, program, "", "info --format json --patches 1e5 drake.xml");
  command_says(r.out, "\"modulus_Pa\": 100000,");
  command_says(r.out, "\"rest_depth_m\": 0}");
  command_clear(&r);
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(table),        cmocka_unit_test(json),      cmocka_unit_test(soft_contact),
      cmocka_unit_test(wrong_starts), cmocka_unit_test(bad_input), cmocka_unit_test(numbers),
      cmocka_unit_test(fields),
  };
  return cmocka_run_group_tests(tests, begin, scratch_teardown);
}
