// SPDX-License-Identifier: BSD-3-Clause
// Wrong scenes: each is refused with the right status and a message that says where and what. MJCF,
// and what concerns files and options.
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include <cmocka.h>

#include <sapstep/scene.h>

#include "support/bad_scenes.h"
#include "support/scratch.h"

#define MJ(body) "<mujoco>\n<worldbody>\n" body "\n</worldbody>\n</mujoco>"
#define BODY(inside) MJ("<body name='b'><freejoint/>\n" inside "\n</body>")
#define SPHERE "<geom size='.1'/>"
#define TOP(inside) "<mujoco>\n" inside "\n<worldbody/></mujoco>"
#define JOINT(attributes) MJ("<body>" SPHERE "\n<joint name='j' " attributes "/></body>")
#define WITH_JOINT(inside)                                                                    \
  "<mujoco><worldbody><body name='b'>" SPHERE "<joint name='j'/></body></worldbody>\n" inside \
  "\n</mujoco>"

static const bad_scene mjcf[] = {
    // not XML
    {"\x7f"
     "ELF\x01\x02\x03\x04",
     SAP_STATUS_SYNTAX, "a:1: XML:", ""},
    {"hello", SAP_STATUS_SYNTAX, "a:1: XML:", ""},
    {"<mujoco>\n<worldbody>\n<body>", SAP_STATUS_SYNTAX, "a:3: XML:", ""},
    {"<mujoco>\n<worldbody a='1' a='2'/></mujoco>", SAP_STATUS_SYNTAX, "a:2: XML:", "redefined"},
    {"<!DOCTYPE m [<!ENTITY a 'b'>]>\n<mujoco/>", SAP_STATUS_SYNTAX,
     "a:1: XML:", "document type definition"},
    {"<!DOCTYPE m SYSTEM 'http://127.0.0.1/x.dtd'>\n<mujoco/>", SAP_STATUS_SYNTAX,
     "a:1: XML:", "document type definition"},
    {"<mujoco>&lol;</mujoco>", SAP_STATUS_SYNTAX, "a:1: XML:", "lol"},
    {"<scene/>", SAP_STATUS_SYNTAX, "a:1: <scene>", "<mujoco> or <robot>"},
    // unknown and unsupported
    {TOP("<worldboby/>"), SAP_STATUS_SYNTAX, "a:2: <worldboby>", "unknown element in <mujoco>"},
    {BODY("<geom sise='.1'/>"), SAP_STATUS_SYNTAX, "a:4: <geom sise=\".1\">", "unknown attribute"},
    {BODY("<geom size='.1' condim='2'/>"), SAP_STATUS_UNSUPPORTED, "a:4: <geom condim=\"2\">",
     "only: 1 3"},
    {BODY("<geom size='.1' margin='1e999'/>"), SAP_STATUS_NOT_FINITE,
     "a:4: <geom margin=", "not finite"},
    {TOP("<option><flag filterparent='disable'/></option>"), SAP_STATUS_UNSUPPORTED,
     "a:2: <flag filterparent=", "enable"},
    {TOP("<option o_margin='x'/>"), SAP_STATUS_SYNTAX, "a:2: <option o_margin=", "x"},
    {TOP("<option o_friction='1 2'><flag override='enable'/></option><worldbody><geom size='1'/>"
         "</worldbody>"),
     SAP_STATUS_UNSUPPORTED, "a:2: <geom>", "o_friction"},
    {TOP("<option><flag spring='disable'/></option><worldbody><body><joint springdamper='1 1'/>"
         "<geom size='1'/></body></worldbody>"),
     SAP_STATUS_UNSUPPORTED, "a:2: <joint>", "springdamper"},
    {TOP("<compiler coordinate='global'/>"), SAP_STATUS_UNSUPPORTED,
     "a:2: <compiler coordinate=", "local"},
    {TOP("<compiler settotalmass='3 4'/>"), SAP_STATUS_SYNTAX,
     "a:2: <compiler settotalmass=", "must be 1"},
    {JOINT("springdamper='1e-200 1'"), SAP_STATUS_NOT_FINITE, "a: joint 'j'", "overflows"},
    {"<mujoco><compiler settotalmass='1e300'/><worldbody><body><joint/><geom size='.1' "
     "mass='1e-100'/></body></worldbody></mujoco>",
     SAP_STATUS_NOT_FINITE, "a: masses and inertias overflow", "1e+300 kg"},
    {JOINT("springdamper='-1 1'"), SAP_STATUS_SYNTAX, "a:4: <joint springdamper=", ">= 0"},
    {JOINT("range='-1 1' margin='1'"), SAP_STATUS_SYNTAX, "a:4: <joint margin=", "half the range"},
    {BODY("<geom type='mesh' mesh='m'/>"), SAP_STATUS_SYNTAX, "a:4: <geom mesh=\"m\">",
     "no <asset><mesh> of that name"},
    {BODY("<geom type='mesh'/>"), SAP_STATUS_SYNTAX, "a:4: <geom>", "'mesh' is missing"},
    {BODY("<geom type='plane' size='1 1 1'/>" SPHERE), SAP_STATUS_UNSUPPORTED, "a:4: <geom>",
     "plane on a moving body"},
    {MJ("<body gravcomp='x'>" SPHERE "</body>"), SAP_STATUS_SYNTAX,
     "a:3: <body gravcomp=", "'x' is not a number"},
    // actuators
    {WITH_JOINT("<actuator><pid joint='j'/></actuator>"), SAP_STATUS_UNSUPPORTED, "a:2: <pid>",
     "this kind of actuator"},
    {WITH_JOINT("<actuator><dcmotor joint='j' motorconst='1' resistance='1'/></actuator>"),
     SAP_STATUS_UNSUPPORTED, "a:2: <dcmotor>", "this kind of actuator"},
    {WITH_JOINT("<actuator><adhesion body='b'/></actuator>"), SAP_STATUS_SYNTAX, "a:2: <adhesion>",
     "needs a ctrlrange"},
    {WITH_JOINT("<actuator><adhesion body='b' ctrlrange='-1 1'/></actuator>"), SAP_STATUS_SYNTAX,
     "a:2: <adhesion>", "not negative"},
    {WITH_JOINT("<actuator><adhesion ctrlrange='0 1'/></actuator>"), SAP_STATUS_SYNTAX,
     "a:2: <adhesion>", "'body' is missing"},
    {WITH_JOINT("<actuator><adhesion body='c' ctrlrange='0 1'/></actuator>"), SAP_STATUS_SYNTAX,
     "a:2: <adhesion>", "unknown name 'c'"},
    {WITH_JOINT("<actuator><adhesion body='b' ctrlrange='0 1' gain='-1'/></actuator>"),
     SAP_STATUS_SYNTAX, "a:2: <adhesion gain=", ">= 0"},
    {WITH_JOINT("<actuator><general body='b' biastype='affine' biasprm='0 -1'/></actuator>"),
     SAP_STATUS_ARGUMENT, "a:2: <general>", "adhesion has no length"},
    {JOINT("actuatorgravcomp='true' actuatorfrcrange='-1 1'"), SAP_STATUS_UNSUPPORTED,
     "a:4: <joint actuatorgravcomp=", "actuatorfrcrange"},
    {WITH_JOINT("<actuator><muscle joint='j' name='m'/></actuator>"), SAP_STATUS_ARGUMENT,
     "a: actuator 'm'", "length has no range"},
    {WITH_JOINT("<actuator><muscle joint='j' range='1 .5'/></actuator>"), SAP_STATUS_ARGUMENT,
     "a:2: <muscle>", "must rise"},
    {WITH_JOINT("<actuator><muscle joint='j' lmin='1.1'/></actuator>"), SAP_STATUS_ARGUMENT,
     "a:2: <muscle>", "between lmin = 1.1"},
    {WITH_JOINT("<actuator><muscle joint='j' timeconst='-1 1'/></actuator>"), SAP_STATUS_SYNTAX,
     "a:2: <muscle timeconst", ">= 0"},
    {WITH_JOINT("<actuator><motor site='s'/></actuator>"), SAP_STATUS_SYNTAX, "a:2: <motor>",
     "unknown name 's'"},
    {WITH_JOINT("<actuator><motor/></actuator>"), SAP_STATUS_UNSUPPORTED, "a:2: <motor>",
     "only actuators on joints, tendons, slider-cranks, sites and bodies"},
    {"<mujoco><worldbody><site name='s'/><body><geom size='.1'/><joint name='j'/></body>"
     "</worldbody>\n<actuator><motor site='s' joint='j'/></actuator></mujoco>",
     SAP_STATUS_SYNTAX, "a:2: <motor>", "must act on one of"},
    {"<mujoco><worldbody><site name='s'/><body><geom size='.1'/><joint name='j'/></body>"
     "</worldbody>\n<actuator><motor refsite='s' joint='j'/></actuator></mujoco>",
     SAP_STATUS_SYNTAX, "a:2: <motor refsite=\"s\">", "needs a site"},
    {"<mujoco><worldbody><site name='s'/><body><geom size='.1'/><freejoint/></body>"
     "</worldbody>\n<actuator><motor site='s' gear='0 0 0'/></actuator></mujoco>",
     SAP_STATUS_ARGUMENT, "a:2: <motor>", "direction must not be zero"},
    {WITH_JOINT("<actuator><general joint='j' input='pos vel'/></actuator>"),
     SAP_STATUS_UNSUPPORTED, "a:2: <general input=", "only: pos vel pressure"},
    {"<mujoco><worldbody><site name='s'/><site name='t'/></worldbody>\n<actuator><motor site='s' "
     "slidersite='t'/></actuator></mujoco>",
     SAP_STATUS_SYNTAX, "a:2: <motor slidersite=\"t\">", "needs a cranksite"},
    {WITH_JOINT("<actuator><motor cranksite='s'/></actuator>"), SAP_STATUS_SYNTAX, "a:2: <motor",
     "'s'"},
    {WITH_JOINT("<actuator><general joint='j' dyntype='user'/></actuator>"), SAP_STATUS_UNSUPPORTED,
     "a:2: <general>", "user"},
    {WITH_JOINT("<actuator><general joint='j' gaintype='user'/></actuator>"),
     SAP_STATUS_UNSUPPORTED, "a:2: <general>", "user"},
    {WITH_JOINT("<actuator><general joint='j' dyntype='filter' actdim='2'/></actuator>"),
     SAP_STATUS_UNSUPPORTED, "a:2: <general>", "more than one activation"},
    {WITH_JOINT("<actuator><position joint='j' kp='-3'/></actuator>"), SAP_STATUS_SYNTAX,
     "a:2: <position kp=\"-3\">", ">= 0"},
    {WITH_JOINT("<actuator><velocity joint='j' kv='-3'/></actuator>"), SAP_STATUS_SYNTAX,
     "a:2: <velocity kv=\"-3\">", ">= 0"},
    {WITH_JOINT("<actuator><position joint='j' kv='1' dampratio='1'/></actuator>"),
     SAP_STATUS_SYNTAX, "a:2: <position dampratio=", "not together"},
    {WITH_JOINT("<actuator><position joint='j' inheritrange='1'/></actuator>"), SAP_STATUS_SYNTAX,
     "a:2: <position>", "no range"},
    {WITH_JOINT("<actuator><general joint='j' biastype='affine' biasprm='0 5'/></actuator>"),
     SAP_STATUS_ARGUMENT, "a:2: <general>", "bias[1] = 5 must be <= 0"},
    {WITH_JOINT("<actuator><motor name='m' joint='j' gear='0'/></actuator>"), SAP_STATUS_ARGUMENT,
     "a:2: <motor>", "actuator 'm': gear = 0 must not be zero"},
    {WITH_JOINT("<actuator><motor joint='j' ctrlrange='1 -1'/></actuator>"), SAP_STATUS_SYNTAX,
     "a:2: <motor ctrlrange=", "not below"},
    {WITH_JOINT("<actuator><motor joint='j' forcerange='1 -1'/></actuator>"), SAP_STATUS_SYNTAX,
     "a:2: <motor forcerange=", "not below"},
    {WITH_JOINT("<actuator><motor tendon='t'/></actuator>"), SAP_STATUS_SYNTAX, "a:2: <motor>",
     "unknown name 't'"},
    // tendons
    {WITH_JOINT("<tendon><spatial/></tendon>"), SAP_STATUS_SYNTAX, "a:2: <spatial>", "2 sites"},
    {WITH_JOINT("<tendon><spatial><site site='s'/></spatial></tendon>"), SAP_STATUS_SYNTAX,
     "a:2: <spatial>", "unknown name 's'"},
    {WITH_JOINT("<tendon><spatial><geom geom='g'/></spatial></tendon>"), SAP_STATUS_SYNTAX,
     "a:2: <spatial>", "unknown name 'g'"},
    {"<mujoco><worldbody><geom name='g' type='box' size='1 1 1'/><site name='s'/></worldbody>\n"
     "<tendon><spatial><site site='s'/><geom geom='g'/><site "
     "site='s'/></spatial></tendon></mujoco>",
     SAP_STATUS_SYNTAX, "a:2: <geom geom=", "spheres and cylinders"},
    {"<mujoco><worldbody><geom name='g' size='1'/><site name='s'/></worldbody>\n"
     "<tendon><spatial><site site='s'/><geom geom='g'/></spatial></tendon></mujoco>",
     SAP_STATUS_ARGUMENT, "a:2: <spatial>", "follow a point"},
    {"<mujoco><worldbody><site name='s'/></worldbody>\n<tendon><spatial><site site='s'/>"
     "<pulley divisor='2'/><site site='s'/><site site='s'/></spatial></tendon></mujoco>",
     SAP_STATUS_ARGUMENT, "a:2: <spatial>", "2 or more"},
    {"<mujoco><worldbody><site name='s'/></worldbody>\n<tendon><spatial><site site='s'/>"
     "<site site='s'/><pulley divisor='0'/></spatial></tendon></mujoco>",
     SAP_STATUS_SYNTAX, "a:2: <pulley divisor=", "> 0"},
    {WITH_JOINT("<tendon><fixed stiffness='-1'><joint joint='j' coef='1'/></fixed></tendon>"),
     SAP_STATUS_ARGUMENT, "a:2: <fixed>", "stiffness = -1 must be >= 0"},
    // equality
    {WITH_JOINT("<equality><joint joint1='k'/></equality>"), SAP_STATUS_SYNTAX, "a:2: <joint>",
     "unknown name 'k'"},
    {WITH_JOINT("<equality><joint/></equality>"), SAP_STATUS_SYNTAX, "a:2: <joint>",
     "'joint1' is missing"},
    {WITH_JOINT("<equality><joint joint1='j' joint2='j'/></equality>"), SAP_STATUS_ARGUMENT,
     "a:2: <joint>", "two different"},
    {WITH_JOINT("<equality><connect body1='b' body2='c' anchor='0 0 0'/></equality>"),
     SAP_STATUS_SYNTAX, "a:2: <connect>", "unknown name 'c'"},
    {WITH_JOINT("<equality><connect body1='b'/></equality>"), SAP_STATUS_SYNTAX, "a:2: <connect>",
     "'anchor' is missing"},
    {WITH_JOINT("<equality><connect anchor='0 0 0'/></equality>"), SAP_STATUS_SYNTAX,
     "a:2: <connect>", "body1"},
    {WITH_JOINT("<equality><weld body1='b' torquescale='0'/></equality>"), SAP_STATUS_ARGUMENT,
     "a:2: <weld>", "torque_scale = 0 must be > 0"},
    {WITH_JOINT("<equality><weld body1='b' relpose='0 0 0'/></equality>"), SAP_STATUS_SYNTAX,
     "a:2: <weld relpose=", "must be 7"},
    {WITH_JOINT("<equality><flex/></equality>"), SAP_STATUS_UNSUPPORTED, "a:2: <flex>",
     "not supported"},
    // pairs
    {WITH_JOINT("<contact><pair geom1='g' geom2='h'/></contact>"), SAP_STATUS_SYNTAX, "a:2: <pair>",
     "unknown name 'h'"},
    {WITH_JOINT("<contact><pair/></contact>"), SAP_STATUS_SYNTAX, "a:2: <pair>", "geom1"},
    // numbers
    {BODY("<geom size='nan'/>"), SAP_STATUS_NOT_FINITE, "a:4: <geom size=\"nan\">", "not finite"},
    {BODY("<geom size='1e999'/>"), SAP_STATUS_NOT_FINITE, "a:4: <geom size=", "not finite"},
    {BODY("<geom size='.1' pos='1 inf 2'/>"), SAP_STATUS_NOT_FINITE, "a:4: <geom pos=", "'inf'"},
    {BODY("<geom size='.1x'/>"), SAP_STATUS_SYNTAX, "a:4: <geom size=", "'.1x' is not a number"},
    {BODY("<geom size='0x10'/>"), SAP_STATUS_SYNTAX, "a:4: <geom size=", "decimal"},
    {BODY("<geom size='.1' pos='1 2'/>"), SAP_STATUS_SYNTAX, "a:4: <geom pos=", "must be 3"},
    {BODY("<geom size='.1' pos=''/>"), SAP_STATUS_SYNTAX, "a:4: <geom pos=", "0 numbers"},
    {BODY("<geom size='1 2 3 4'/>"), SAP_STATUS_SYNTAX, "a:4: <geom size=", "1 to 3"},
    {BODY("<geom size='.1' contype='1.5'/>"), SAP_STATUS_SYNTAX, "a:4: <geom contype=", "integer"},
    {BODY("<geom size='.1' contype='9999999999'/>"), SAP_STATUS_SYNTAX,
     "a:4: <geom contype=", "integer"},
    {BODY("<geom size='.1' type='cube'/>"), SAP_STATUS_SYNTAX, "a:4: <geom type=", "plane sphere"},
    // geoms
    {BODY("<geom size='-1'/>"), SAP_STATUS_SYNTAX, "a:4: <geom size=", "must be > 0"},
    {BODY("<geom/>"), SAP_STATUS_SYNTAX, "a:4: <geom>", "must be > 0"},
    {BODY("<geom size='.1' mass='-1'/>"), SAP_STATUS_SYNTAX, "a:4: <geom mass=", ">= 0"},
    {BODY("<geom size='.1' density='-1'/>"), SAP_STATUS_SYNTAX, "a:4: <geom density=", ">= 0"},
    {BODY("<geom size='.1' friction='-1'/>"), SAP_STATUS_ARGUMENT, "a:4: <geom>", "friction"},
    {BODY("<geom size='.1' fromto='0 0 0 1 1 1'/>"), SAP_STATUS_SYNTAX,
     "a:4: <geom fromto=", "capsule"},
    {BODY("<geom type='capsule' size='.1' fromto='1 1 1 1 1 1'/>"), SAP_STATUS_SYNTAX,
     "a:4: <geom fromto=", "equal"},
    {BODY("<geom size='.1' quat='0 0 0 0'/>"), SAP_STATUS_SYNTAX, "a:4: <geom quat=", "zero"},
    {BODY("<geom size='.1' quat='1 0 0 0' euler='0 0 0'/>"), SAP_STATUS_SYNTAX,
     "a:4: <geom euler=", "second orientation"},
    {BODY("<geom size='.1' xyaxes='1 0 0 2 0 0'/>"), SAP_STATUS_SYNTAX,
     "a:4: <geom xyaxes=", "along x"},
    {BODY("<geom size='.1' class='none'/>"), SAP_STATUS_SYNTAX,
     "a:4: <geom class=", "unknown default"},
    {BODY("<geom name='g' size='.1'/>\n<geom name='g' size='.1'/>"), SAP_STATUS_ARGUMENT,
     "a:5: <geom>", "'g'"},
    // bodies and inertia
    {MJ("<body name='x'>" SPHERE "</body>\n<body name='x'>" SPHERE "</body>"), SAP_STATUS_ARGUMENT,
     "a:4: <body>", "'x'"},
    {"<mujoco>\n<worldbody pos='1 0 0'/></mujoco>", SAP_STATUS_SYNTAX,
     "a:2: <worldbody pos=", "unknown attribute"},
    {"<mujoco>\n<worldbody childclass='none'/></mujoco>", SAP_STATUS_SYNTAX,
     "a:2: <worldbody childclass=", "unknown default"},
    {MJ("<body childclass='none'/>"), SAP_STATUS_SYNTAX, "a:3: <body childclass=", "unknown"},
    {BODY("<inertial pos='0 0 0' mass='-1' diaginertia='1 1 1'/>"), SAP_STATUS_SYNTAX,
     "a:4: <inertial mass=\"-1\">", ">= 0"},
    {BODY("<inertial pos='0 0 0' diaginertia='1 1 1'/>"), SAP_STATUS_SYNTAX, "a:4: <inertial>",
     "'mass' is missing"},
    {BODY("<inertial pos='0 0 0' mass='1' fullinertia='1 1 1 2 0 0'/>"), SAP_STATUS_NOT_SPD,
     "a:4: <inertial>", "principal"},
    {BODY("<inertial pos='0 0 0' mass='1' diaginertia='1 1 -1'/>"), SAP_STATUS_NOT_SPD,
     "a:4: <inertial>", "principal"},
    {BODY("<inertial pos='0 0 0' mass='1' diaginertia='1 1 3'/>"), SAP_STATUS_NOT_SPD,
     "a:4: <inertial>", "exceeds"},
    {BODY("<inertial pos='0 0 0' mass='1' fullinertia='1 1 1 0 0 0' quat='1 0 0 0'/>"),
     SAP_STATUS_SYNTAX, "a:4: <inertial quat=", "fullinertia"},
    {BODY(""), SAP_STATUS_NOT_SPD, "a: ", ""},
    {MJ("<joint/>"), SAP_STATUS_SYNTAX, "a:3: <joint>", "world"},
    // joints
    {JOINT("axis='0 0 0'"), SAP_STATUS_SYNTAX, "a:4: <joint axis=", "zero"},
    {JOINT("range='1 -1'"), SAP_STATUS_SYNTAX, "a:4: <joint range=", "not below"},
    {JOINT("limited='true'"), SAP_STATUS_SYNTAX, "a:4: <joint>", "'range'"},
    {JOINT("limited='yes'"), SAP_STATUS_SYNTAX, "a:4: <joint limited=", "false true auto"},
    {JOINT("damping='-1'"), SAP_STATUS_SYNTAX, "a:4: <joint damping=", ">= 0"},
    {JOINT("type='ball' range='10 20'"), SAP_STATUS_SYNTAX, "a:4: <joint range=", "begin with 0"},
    {JOINT("type='free' stiffness='1'"), SAP_STATUS_UNSUPPORTED, "a:4: <joint stiffness=", "free"},
    {MJ("<body>" SPHERE "<joint/><body>\n<freejoint/>" SPHERE "</body></body>"), SAP_STATUS_SYNTAX,
     "a:4: <freejoint>", "world"},
    // sections
    {TOP("<compiler angle='grad'/>"), SAP_STATUS_SYNTAX, "a:2: <compiler angle=", "radian degree"},
    {TOP("<compiler eulerseq='xyw'/>"), SAP_STATUS_SYNTAX, "a:2: <compiler eulerseq=", "xyzXYZ"},
    {TOP("<option timestep='0'/>"), SAP_STATUS_SYNTAX, "a:2: <option timestep=", "> 0"},
    {TOP("<default><default/></default>"), SAP_STATUS_SYNTAX, "a:2: <default>", "'class'"},
    {TOP("<default><default class='a'/>\n<default class='a'/></default>"), SAP_STATUS_SYNTAX,
     "a:3: <default class=", "twice"},
    {TOP("<custom><numeric name='sapstep:stifness' data='1'/></custom>"), SAP_STATUS_SYNTAX,
     "a:2: <numeric name=", "unknown setting"},
    {TOP("<custom><numeric name='sapstep:stiffness:g' data='1'/></custom>"), SAP_STATUS_SYNTAX,
     "a:2: <numeric name=", "unknown geom"},
    {TOP("<custom><numeric name='sapstep:sigma' data='0'/></custom>"), SAP_STATUS_SYNTAX,
     "a:2: <numeric data=", "> 0"},
    {TOP("<custom><text name='sapstep:contact_model' data='sticky'/></custom>"), SAP_STATUS_SYNTAX,
     "a:2: <text data=", "sap, similar or lagged"},
    {TOP("<custom><text name='sapstep:contact_model'/></custom>"), SAP_STATUS_SYNTAX, "a:2: <text",
     "sap, similar or lagged"},
    {TOP("<custom><numeric name='sapstep:contact_model' data='1'/></custom>"), SAP_STATUS_SYNTAX,
     "a:2: <numeric name=", "must be a <text>"},
    {TOP("<custom><text name='sapstep:stiffness' data='1'/></custom>"), SAP_STATUS_SYNTAX,
     "a:2: <text name=", "must be a <numeric>"},
    {TOP("<custom><text name='sapstep:contact_model:g' data='sap'/></custom>"), SAP_STATUS_SYNTAX,
     "a:2: <text name=", "unknown geom"},
    {TOP("<custom><numeric name='sapstep:dissipation' data='-1'/></custom>"), SAP_STATUS_SYNTAX,
     "a:2: <numeric data=", ">= 0"},
    {TOP("<custom><numeric name='sapstep:stiction_tolerance' data='0'/></custom>"),
     SAP_STATUS_SYNTAX, "a:2: <numeric data=", "> 0"},
    {WITH_JOINT("<contact><exclude body1='b' body2='c'/></contact>"), SAP_STATUS_SYNTAX,
     "a:2: <exclude>", "unknown name 'c'"},
    {WITH_JOINT("<contact><exclude body1='b'/></contact>"), SAP_STATUS_SYNTAX, "a:2: <exclude>",
     "body2"},
    {WITH_JOINT("<actuator><motor joint='k'/></actuator>"), SAP_STATUS_SYNTAX, "a:2: <motor>",
     "unknown name 'k'"},
    {WITH_JOINT("<tendon><fixed><joint joint='j'/></fixed></tendon>"), SAP_STATUS_SYNTAX,
     "a:2: <joint>", "'coef'"},
    {WITH_JOINT("<keyframe><key qpos='1 2'/></keyframe>"), SAP_STATUS_SYNTAX,
     "a:2: <key qpos=", "must be 1"},
    {WITH_JOINT("<keyframe><key qvel='nan'/></keyframe>"), SAP_STATUS_NOT_FINITE,
     "a:2: <key qvel=", "nan"},
    {MJ("<replicate count='0'>" SPHERE "</replicate>"), SAP_STATUS_SYNTAX,
     "a:3: <replicate count=", ">= 1"},
    {MJ("<replicate count='100000'><replicate count='100000'/></replicate>"),
     SAP_STATUS_UNSUPPORTED, "a:3: <replicate>", "elements"},
    {MJ("<attach model='m'/>"), SAP_STATUS_SYNTAX, "a:3: <attach model=", "asset"},
    {TOP("<asset><model name='m' file='a'/></asset>"), SAP_STATUS_SYNTAX,
     "a:2: <model file=", "contains itself"},
    {TOP("<asset><model name='m' file='none'/></asset>"), SAP_STATUS_IO, "a:2: <model>",
     "none': No such file"},
    {TOP("<include file='a'/>"), SAP_STATUS_SYNTAX, "a:2: <include file=", "in itself"},
    {TOP("<include file='none'/>"), SAP_STATUS_IO, "a:2: <include>", "none': No such file"},
    {TOP("<include/>"), SAP_STATUS_SYNTAX, "a:2: <include>", "'file'"},
};

static void test_mjcf(void** state) {
  (void)state;
  bad_scenes_check(mjcf, sizeof mjcf / sizeof *mjcf);
}

static void test_files(void** state) {
  (void)state;
  scratch s;
  scratch_begin(&s);
  char path[SCRATCH_PATH_SIZE];
  sap_model* model = NULL;
  sap_error error = {0};
  scratch_path(&s, "none", path);
  assert_int_equal(sap_scene_read(path, NULL, &model, &error), SAP_STATUS_IO);
  assert_non_null(strstr(error.message, "none': No such file"));
  scratch_write(&s, "empty", "", 0, path);
  assert_int_equal(sap_scene_read(path, NULL, &model, &error), SAP_STATUS_SYNTAX);
  assert_non_null(strstr(error.message, "empty:1: the file is empty"));
  assert_int_equal(sap_scene_read(s.folder, NULL, &model, &error), SAP_STATUS_IO);
  // a model within a model within the first
  static const char a[] = "<mujoco><asset><model name='m' file='b'/></asset></mujoco>";
  static const char b[] = "<mujoco><asset><model name='m' file='a'/></asset></mujoco>";
  scratch_write(&s, "b", b, sizeof b - 1, path);
  scratch_write(&s, "a", a, sizeof a - 1, path);
  assert_int_equal(sap_scene_read(path, NULL, &model, &error), SAP_STATUS_SYNTAX);
  assert_non_null(strstr(error.message, "b:1: <model file=\"a\">: the model contains itself"));
  assert_int_equal(sap_scene_read(NULL, NULL, &model, &error), SAP_STATUS_ARGUMENT);
  assert_int_equal(sap_scene_read("", NULL, &model, NULL), SAP_STATUS_ARGUMENT);
  assert_int_equal(sap_scene_read(path, NULL, NULL, &error), SAP_STATUS_ARGUMENT);
  scratch_end(&s);
}

// Reads a scene with `count` attributes between two texts; `message` is part of what is said.
static void expect_attributes(scratch* s, const char* before, int count, const char* after,
                              const char* message) {
  char path[SCRATCH_PATH_SIZE];
  const size_t room = strlen(before) + strlen(after) + 16 * (size_t)count + 1;
  char* text = malloc(room);
  assert_non_null(text);
  size_t length = (size_t)snprintf(text, room, "%s", before);
  for (int i = 0; i < count; ++i) {
    length += (size_t)snprintf(text + length, room - length, " a%d='>'", i);
  }
  length += (size_t)snprintf(text + length, room - length, "%s", after);
  scratch_write(s, "many", text, length, path);
  sap_model* model = NULL;
  sap_error error = {0};
  const clock_t start = clock();
  assert_int_equal(sap_scene_read(path, NULL, &model, &error), SAP_STATUS_SYNTAX);
  assert_true(clock() - start < 2 * CLOCKS_PER_SEC);
  if (strstr(error.message, message) == NULL) {
    fail_msg("%d attributes: '%s'", count, error.message);
  }
  free(text);
}

// libxml2's time grows with the square of the attributes of an element.
static void test_many_attributes(void** state) {
  (void)state;
  scratch s;
  scratch_begin(&s);
  static const char many[] = "many:2: XML: an element has more than 1000 attributes";
  expect_attributes(&s, "<mujoco>\n<worldbody", 200000, "/></mujoco>", many);
  expect_attributes(&s, "<mujoco><!-- it's > -->\n<worldbody", 1001, "/></mujoco>", many);
  expect_attributes(&s, "<mujoco>\n<worldbody", 1000, "/></mujoco>", "unknown attribute");
  expect_attributes(&s, "<mujoco>\n<!--", 2000, "--><worldbody b=''/></mujoco>", "b=\"\"");
  expect_attributes(&s, "<mujoco>\n<![CDATA[<", 2000, "]]><worldbody b=''/></mujoco>", "b=\"\"");
  expect_attributes(&s, "<?x", 2000, "?><mujoco><worldbody b=''/></mujoco>", "b=\"\"");
  expect_attributes(&s, "<mujoco><!--", 2000, "", "XML: ");
  scratch_end(&s);
}

static void test_cyclic_include(void** state) {
  (void)state;
  scratch s;
  scratch_begin(&s);
  char path[SCRATCH_PATH_SIZE], first[SCRATCH_PATH_SIZE];
  static const char a[] = "<mujoco>\n<include file='b'/></mujoco>";
  static const char b[] = "<mujoco>\n\n<worldbody><include file='c'/></worldbody></mujoco>";
  static const char c[] = "<mujoco>\n\n\n<include file='b'/></mujoco>";
  scratch_write(&s, "b", b, sizeof b - 1, path);
  scratch_write(&s, "c", c, sizeof c - 1, path);
  scratch_write(&s, "a", a, sizeof a - 1, first);
  sap_model* model = NULL;
  sap_error error = {0};
  assert_int_equal(sap_scene_read(first, NULL, &model, &error), SAP_STATUS_SYNTAX);
  assert_non_null(strstr(error.message, "c:4: <include file=\"b\">"));
  scratch_end(&s);
}

static void test_options(void** state) {
  (void)state;
  sap_model* model = NULL;
  sap_error error = {0};
  const sap_scene_options by_hand = {.lenient = true};
  assert_int_equal(sap_scene_read("x", &by_hand, &model, &error), SAP_STATUS_ARGUMENT);
  assert_string_equal(error.message,
                      "sap_scene_options is not initialized: use sap_scene_options_default()");
  sap_scene_options options = sap_scene_options_default();
  options.default_material.stiffness = -1.0;
  assert_int_equal(sap_scene_read("x", &options, &model, &error), SAP_STATUS_ARGUMENT);
  assert_non_null(strstr(error.message, "default_material.stiffness = -1 must be > 0"));
  options = sap_scene_options_default();
  const sap_material override = {.stiffness = 1.0, .relaxation_time = -1.0, .friction = 0.5};
  options.override_material = &override;
  assert_int_equal(sap_scene_read("x", &options, &model, &error), SAP_STATUS_ARGUMENT);
  assert_non_null(strstr(error.message, "override_material.relaxation_time = -1"));
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(test_mjcf),
      cmocka_unit_test(test_files),
      cmocka_unit_test(test_many_attributes),
      cmocka_unit_test(test_cyclic_include),
      cmocka_unit_test(test_options),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
