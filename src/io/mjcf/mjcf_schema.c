// SPDX-License-Identifier: BSD-3-Clause
// MJCF as this reader knows it. Order of the lists in each row: used, skipped, neglected, only
// zero, unsupported (see schema.h).
#include "io/mjcf/mjcf_schema.h"

#define ORIENTATION "quat axisangle xyaxes zaxis euler "
// MuJoCo's own solver tuning of limits and dry friction; a negative solreflimit is read as k, d.
#define LIMIT_TUNING "solimplimit solreffriction solimpfriction "

#define JOINT_USED                                                                            \
  "name class type pos axis range limited stiffness springref damping armature frictionloss " \
  "ref actuatorfrcrange actuatorfrclimited solreflimit springdamper margin "                  \
  "actuatorgravcomp "
static const sap_schema_element joint = {
    .used = JOINT_USED,
    .skipped = LIMIT_TUNING "group user",
    .zero = "springyield",
};
static const sap_schema_value freejoint_values[] = {{"align", "false auto", false}, {0}};
static const sap_schema_element freejoint = {
    .used = "name",
    .skipped = "group",
    .value = freejoint_values,
};

static const sap_schema_value geom_values[] = {
    {"condim", "1 3 4 6", false},
    {"fluidshape", "none ellipsoid", false},
    {"shellinertia", "false", false},
    {0},
};
static const sap_schema_child geom_children[] = {
    {"plugin", NULL, "plugins are not supported"},
    {0},
};
static const sap_schema_element geom = {
    .used = ORIENTATION
    "name class type pos size fromto mass density friction contype conaffinity condim priority "
    "solref group mesh hfield margin rgba material surfacevel fluidcoef "
    "fitscale",
    .skipped = "solimp solmix castshadow user gap",
    .zero = "adhesion",
    .value = geom_values,
    .child = geom_children,
};

static const sap_schema_element inertial = {
    .used = ORIENTATION "pos mass diaginertia fullinertia",
};

#define TENDON_USED                                                                   \
  "name class range limited solreflimit springlength stiffness damping frictionloss " \
  "actuatorfrcrange actuatorfrclimited margin "
#define TENDON_SKIPPED LIMIT_TUNING "group material rgba width user"
#define TENDON_ZERO "armature springyield"
static const sap_schema_element tendon_joint = {.used = "joint coef"};
static const sap_schema_child fixed_children[] = {{"joint", &tendon_joint, NULL}, {0}};
static const sap_schema_element tendon_site = {.used = "site"};
static const sap_schema_element tendon_geom = {.used = "geom sidesite"};
static const sap_schema_element tendon_pulley = {.used = "divisor"};
static const sap_schema_child spatial_children[] = {
    {"site", &tendon_site, NULL},
    {"geom", &tendon_geom, NULL},
    {"pulley", &tendon_pulley, NULL},
    {0},
};
static const sap_schema_element tendon_defaults = {
    .used = TENDON_USED,
    .skipped = TENDON_SKIPPED,
    .zero = TENDON_ZERO,
};
static const sap_schema_element fixed = {
    .used = TENDON_USED,
    .skipped = TENDON_SKIPPED,
    .zero = TENDON_ZERO,
    .child = fixed_children,
};
static const sap_schema_element spatial = {
    .used = TENDON_USED,
    .skipped = TENDON_SKIPPED,
    .zero = TENDON_ZERO,
    .child = spatial_children,
};
static const sap_schema_child tendon_children[] = {
    {"fixed", &fixed, NULL},
    {"spatial", &spatial, NULL},
    {0},
};
static const sap_schema_element tendon = {.child = tendon_children};

#define ACTUATOR_USED                                                                         \
  "name class joint jointinparent tendon gear ctrlrange ctrllimited forcerange forcelimited " \
  "actrange actlimited actearly lengthrange "
#define ACTUATOR_SKIPPED "group user interp "
#define ACTUATOR_ZERO "armature damping delay nsample "
// Elements with these stay in the tree and are refused where they are read: controls of keyframes
// are counted by them.
#define ACTUATOR_PLACES "site refsite slidersite cranksite cranklength body "
// What the one input is called says nothing about its law.
static const sap_schema_value general_values[] = {{"input", "pos vel pressure", false}, {0}};
#define ACTUATOR(extra)                                                       \
  {                                                                           \
    .used = ACTUATOR_USED ACTUATOR_PLACES extra, .skipped = ACTUATOR_SKIPPED, \
    .zero = ACTUATOR_ZERO                                                     \
  }
static const sap_schema_element motor = ACTUATOR("");
static const sap_schema_element position = ACTUATOR("kp kv dampratio inheritrange timeconst");
static const sap_schema_element velocity = ACTUATOR("kv");
static const sap_schema_element intvelocity = ACTUATOR("kp kv dampratio inheritrange");
static const sap_schema_element damper = ACTUATOR("kv");
static const sap_schema_element cylinder = ACTUATOR("timeconst area diameter bias");
static const sap_schema_element muscle =
    ACTUATOR("timeconst tausmooth range force scale lmin lmax vmax fpmax fvmax");
// The rest of it has states and laws of its own.
static const sap_schema_value dcmotor_values[] = {{"input", "voltage", false}, {0}};
static const sap_schema_element dcmotor = {
    .used = ACTUATOR_USED ACTUATOR_PLACES "motorconst resistance nominal saturation",
    .skipped = ACTUATOR_SKIPPED,
    .zero = ACTUATOR_ZERO "inductance cogging lugre thermal controller",
    .value = dcmotor_values,
};
static const sap_schema_element general = {
    .used = ACTUATOR_USED ACTUATOR_PLACES "gaintype biastype dyntype gainprm biasprm dynprm actdim",
    .skipped = ACTUATOR_SKIPPED,
    .zero = ACTUATOR_ZERO,
    .value = general_values,
};
static const sap_schema_element adhesion = {
    .used = "name class body gain ctrlrange ctrllimited forcerange forcelimited",
    .skipped = ACTUATOR_SKIPPED,
    .zero = "delay nsample",
};
#define ACTUATOR_KINDS                                                                       \
  {"motor", &motor, NULL}, {"position", &position, NULL}, {"velocity", &velocity, NULL},     \
      {"intvelocity", &intvelocity, NULL}, {"damper", &damper, NULL},                        \
      {"cylinder", &cylinder, NULL}, {"muscle", &muscle, NULL}, {"dcmotor", &dcmotor, NULL}, \
      {"adhesion", &adhesion, NULL}, {                                                       \
    "general", &general, NULL                                                                \
  }
#define OTHER_ACTUATORS "orientation pid "
static const sap_schema_child actuator_children[] = {
    ACTUATOR_KINDS,
    {OTHER_ACTUATORS "plugin", NULL, NULL},
    {0},
};
static const sap_schema_element actuator = {.child = actuator_children};

static const sap_schema_value pair_values[] = {{"condim", "1 3 4 6", true}, {0}};
static const sap_schema_element pair = {
    .used = "name class geom1 geom2 condim friction margin solref",
    .skipped = "solimp solreffriction gap",
    .value = pair_values,
};

#define MESH_USED "scale inertia "
static const sap_schema_element mesh_defaults = {.used = MESH_USED,
                                                 .skipped = "material maxhullvert"};
static const sap_schema_child mesh_children[] = {
    {"plugin", NULL, "plugins are not supported"},
    {0},
};
// MuJoCo's own choice of hull corners is tuning: all of them are kept.
static const sap_schema_element mesh = {
    .used = MESH_USED "name class file vertex face refpos refquat",
    .skipped = "maxhullvert normal texcoord smoothnormal content_type material octree_maxdepth",
    .unsupported = "builtin params",
    .child = mesh_children,
};

static const sap_schema_element defaults;  // nests in itself
static const sap_schema_child default_children[] = {
    {"default", &defaults, NULL},
    {"joint", &joint, NULL},
    {"geom", &geom, NULL},
    {"tendon", &tendon_defaults, NULL},
    ACTUATOR_KINDS,
    {"pair", &pair, NULL},
    {"equality", NULL, NULL},
    // Defaults of what is skipped, or refused where it is used.
    {"mesh", &mesh_defaults, NULL},
    {OTHER_ACTUATORS "texture material site camera light", NULL, NULL},
    {0},
};
static const sap_schema_element defaults = {.used = "class", .child = default_children};

static const sap_schema_element attach = {.used = "model body frame prefix"};
static const sap_schema_element body, frame, replicate;  // nest in each other
static const sap_schema_child body_children[] = {
    {"body", &body, NULL},
    {"joint", &joint, NULL},
    {"freejoint", &freejoint, NULL},
    {"geom", &geom, NULL},
    {"frame", &frame, NULL},
    {"replicate", &replicate, NULL},
    {"attach", &attach, NULL},
    {"inertial", &inertial, NULL},
    {"site camera light", NULL, NULL},
    {"plugin", NULL, "plugins are not supported"},
    {"flexcomp", NULL, "deformable bodies are not supported"},
    {"composite", NULL, "composite bodies are not supported"},
    {0},
};
static const sap_schema_value body_values[] = {{"mocap", "false true", false}, {0}};
static const sap_schema_element body = {
    .used = ORIENTATION "name childclass pos gravcomp",
    .skipped = "user sleep simple fuse",
    .value = body_values,
    .child = body_children,
};
static const sap_schema_element frame = {
    .used = ORIENTATION "name childclass pos",
    .child = body_children,
};
static const sap_schema_element replicate = {
    .used = "count offset euler sep childclass",
    .child = body_children,
};

static const sap_schema_element worldbody = {.used = "childclass", .child = body_children};

static const sap_schema_element exclude = {.used = "name body1 body2"};
static const sap_schema_child contact_children[] = {
    {"exclude", &exclude, NULL},
    {"pair", &pair, NULL},
    {0},
};
static const sap_schema_element contact = {.child = contact_children};

static const sap_schema_element asset_model = {.used = "name file", .skipped = "content_type"};
static const sap_schema_child asset_children[] = {
    {"model", &asset_model, NULL},
    {"mesh", &mesh, NULL},
    {"hfield skin texture material", NULL, NULL},
    {0},
};
static const sap_schema_element asset = {.child = asset_children};

#define EQUALITY_USED "name class active solref "
#define EQUALITY_SKIPPED "solimp"
static const sap_schema_element connect = {.used = EQUALITY_USED "body1 body2 anchor site1 site2",
                                           .skipped = EQUALITY_SKIPPED};
static const sap_schema_element weld = {
    .used = EQUALITY_USED "body1 body2 anchor relpose torquescale site1 site2",
    .skipped = EQUALITY_SKIPPED};
static const sap_schema_element couple_joints = {.used = EQUALITY_USED "joint1 joint2 polycoef",
                                                 .skipped = EQUALITY_SKIPPED};
static const sap_schema_element couple_tendons = {.used = EQUALITY_USED "tendon1 tendon2 polycoef",
                                                  .skipped = EQUALITY_SKIPPED};
// Whether one of the others is active is looked at where defaults are known.
static const sap_schema_child equality_children[] = {
    {"connect", &connect, NULL},
    {"weld", &weld, NULL},
    {"joint", &couple_joints, NULL},
    {"tendon", &couple_tendons, NULL},
    {"flex flexvert flexstrain distance", NULL, NULL},
    {0},
};
static const sap_schema_element equality = {.child = equality_children};

static const sap_schema_child deformable_children[] = {
    {"flex", NULL, "deformable bodies are not supported"},
    {"skin", NULL, NULL},
    {0},
};
static const sap_schema_element deformable = {.child = deformable_children};

static const sap_schema_child mujoco_children[] = {
    {"compiler", &sap_mjcf_compiler, NULL},
    {"option", &sap_mjcf_option, NULL},
    {"default", &defaults, NULL},
    {"asset", &asset, NULL},
    {"worldbody", &worldbody, NULL},
    {"contact", &contact, NULL},
    {"tendon", &tendon, NULL},
    {"actuator", &actuator, NULL},
    {"equality", &equality, NULL},
    {"keyframe", &sap_mjcf_keyframe, NULL},
    {"custom", &sap_mjcf_custom, NULL},
    {"deformable", &deformable, NULL},
    {"size statistic visual sensor extension", NULL, NULL},
    {0},
};
const sap_schema_element sap_mjcf_schema = {.used = "model", .child = mujoco_children};
