// SPDX-License-Identifier: BSD-3-Clause
// MJCF as this reader knows it (see schema.h).
#include "io/xml/schema.h"

#define ORIENTATION "quat axisangle xyaxes zaxis euler "
// MuJoCo's solver tuning of limits and dry friction; a negative solreflimit is read as k, d.
#define LIMIT_TUNING "solimplimit solreffriction solimpfriction "
#define NO_PLUGINS SAP_REFUSED("plugin", "plugins are not supported")

// --- bodies -------------------------------------------------------------------------------------

#define JOINT                                                                                  \
  SAP_CHILD("joint",                                                                           \
            .used =                                                                            \
                "name class type pos axis range limited stiffness springref damping armature " \
                "frictionloss ref actuatorfrcrange actuatorfrclimited solreflimit "            \
                "springdamper margin actuatorgravcomp",                                        \
            .skipped = LIMIT_TUNING "group user", .zero = "springyield")

static const sap_schema_value freejoint_values[] = {{"align", "false auto", false}, {0}};

static const sap_schema_value geom_values[] = {
    {"condim", "1 3 4 6", false},
    {"fluidshape", "none ellipsoid", false},
    {"shellinertia", "false", false},
    {0},
};
#define GEOM                                                                                    \
  SAP_CHILD("geom",                                                                             \
            .used = ORIENTATION                                                                 \
            "name class type pos size fromto mass density friction contype conaffinity condim " \
            "priority solref group mesh hfield margin rgba material surfacevel fluidcoef "      \
            "fitscale",                                                                         \
            .skipped = "solimp solmix castshadow user gap", .zero = "adhesion",                 \
            .value = geom_values, .child = SAP_CHILDREN(NO_PLUGINS))

static const sap_schema_element body, frame, replicate;  // nest in each other
static const sap_schema_child body_children[] = {
    {"body", &body, NULL},
    {"frame", &frame, NULL},
    {"replicate", &replicate, NULL},
    SAP_LEAF("attach", "model body frame prefix"),
    SAP_LEAF("inertial", ORIENTATION "pos mass diaginertia fullinertia"),
    JOINT,
    SAP_CHILD("freejoint", .used = "name", .skipped = "group", .value = freejoint_values),
    GEOM,
    SAP_UNCHECKED("site camera light"),
    NO_PLUGINS,
    SAP_REFUSED("flexcomp", "deformable bodies are not supported"),
    SAP_REFUSED("composite", "composite bodies are not supported"),
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

// --- contacts, tendons, actuators, equalities ---------------------------------------------------

static const sap_schema_value pair_values[] = {{"condim", "1 3 4 6", true}, {0}};
#define PAIR                                                                        \
  SAP_CHILD("pair", .used = "name class geom1 geom2 condim friction margin solref", \
            .skipped = "solimp solreffriction gap", .value = pair_values)
static const sap_schema_child contact[] = {SAP_LEAF("exclude", "name body1 body2"), PAIR, {0}};

#define TENDON(names, children)                                                        \
  SAP_CHILD(names,                                                                     \
            .used =                                                                    \
                "name class range limited solreflimit springlength stiffness damping " \
                "frictionloss actuatorfrcrange actuatorfrclimited margin",             \
            .skipped = LIMIT_TUNING "group material rgba width user",                  \
            .zero = "armature springyield", .child = children)
static const sap_schema_child fixed[] = {SAP_LEAF("joint", "joint coef"), {0}};
static const sap_schema_child spatial[] = {
    SAP_LEAF("site", "site"),
    SAP_LEAF("geom", "geom sidesite"),
    SAP_LEAF("pulley", "divisor"),
    {0},
};
static const sap_schema_child tendon[] = {
    TENDON("fixed", fixed),
    TENDON("spatial", spatial),
    {0},
};

// Actuators on sites and bodies that are not supported stay in the tree and are refused where they
// are read, because they count in keyframes.
#define ACTUATOR_USED                                                                         \
  "name class joint jointinparent tendon gear ctrlrange ctrllimited forcerange forcelimited " \
  "actrange actlimited actearly lengthrange site refsite slidersite cranksite cranklength body "
#define ACTUATOR_SKIPPED "group user interp "
#define ACTUATOR_ZERO "armature damping delay nsample "
#define ACTUATOR(names, extra) \
  SAP_CHILD(names, .used = ACTUATOR_USED extra, .skipped = ACTUATOR_SKIPPED, .zero = ACTUATOR_ZERO)
// The name of the only input does not change the law.
static const sap_schema_value general_values[] = {{"input", "pos vel pressure", false}, {0}};
static const sap_schema_value dcmotor_values[] = {{"input", "voltage", false}, {0}};
#define ACTUATORS                                                                                 \
  ACTUATOR("motor", ""), ACTUATOR("position", "kp kv dampratio inheritrange timeconst"),          \
      ACTUATOR("velocity damper", "kv"), ACTUATOR("intvelocity", "kp kv dampratio inheritrange"), \
      ACTUATOR("cylinder", "timeconst area diameter bias"),                                       \
      ACTUATOR("muscle", "timeconst tausmooth range force scale lmin lmax vmax fpmax fvmax"),     \
      SAP_CHILD("dcmotor", .used = ACTUATOR_USED "motorconst resistance nominal saturation",      \
                .skipped = ACTUATOR_SKIPPED,                                                      \
                .zero = ACTUATOR_ZERO "inductance cogging lugre thermal controller",              \
                .value = dcmotor_values),                                                         \
      SAP_CHILD("adhesion",                                                                       \
                .used = "name class body gain ctrlrange ctrllimited forcerange forcelimited",     \
                .skipped = ACTUATOR_SKIPPED, .zero = "delay nsample"),                            \
      SAP_CHILD("general",                                                                        \
                .used = ACTUATOR_USED "gaintype biastype dyntype gainprm biasprm dynprm actdim",  \
                .skipped = ACTUATOR_SKIPPED, .zero = ACTUATOR_ZERO, .value = general_values)
#define OTHER_ACTUATORS "orientation pid "
static const sap_schema_child actuator[] = {
    ACTUATORS,
    SAP_UNCHECKED(OTHER_ACTUATORS "plugin"),
    {0},
};

#define EQUALITY(names, extra) \
  SAP_CHILD(names, .used = "name class active solref " extra, .skipped = "solimp")
static const sap_schema_child equality[] = {
    EQUALITY("connect", "body1 body2 anchor site1 site2"),
    EQUALITY("weld", "body1 body2 anchor relpose torquescale site1 site2"),
    EQUALITY("joint", "joint1 joint2 polycoef"),
    EQUALITY("tendon", "tendon1 tendon2 polycoef"),
    // Refused by the reader, which knows from the defaults whether one is active.
    SAP_UNCHECKED("flex flexvert flexstrain distance"),
    {0},
};

// --- defaults and assets ------------------------------------------------------------------------

#define MESH_USED "scale inertia "
static const sap_schema_element defaults;  // nests in itself
static const sap_schema_child default_children[] = {
    {"default", &defaults, NULL},
    JOINT,
    GEOM,
    TENDON("tendon", NULL),
    ACTUATORS,
    PAIR,
    SAP_CHILD("mesh", .used = MESH_USED, .skipped = "material maxhullvert"),
    // Defaults of elements that are skipped, or refused where they are used.
    SAP_UNCHECKED("equality " OTHER_ACTUATORS "texture material site camera light"),
    {0},
};
static const sap_schema_element defaults = {.used = "class", .child = default_children};

static const sap_schema_child asset[] = {
    SAP_CHILD("model", .used = "name file", .skipped = "content_type"),
    // The choice of hull corners is MuJoCo's tuning: all corners are kept.
    SAP_CHILD(
        "mesh", .used = MESH_USED "name class file vertex face refpos refquat",
        .skipped = "maxhullvert normal texcoord smoothnormal content_type material octree_maxdepth",
        .unsupported = "builtin params", .child = SAP_CHILDREN(NO_PLUGINS)),
    SAP_UNCHECKED("hfield skin texture material"),
    {0},
};

// --- settings -----------------------------------------------------------------------------------

static const sap_schema_value compiler_values[] = {
    {"coordinate", "local", false},
    {"alignfree", "false", false},
    {0},
};
static const sap_schema_value length_range_values[] = {
    {"mode", "none muscle muscleuser all", true},
    {0},
};
static const sap_schema_child compiler[] = {
    SAP_CHILD("lengthrange", .used = "useexisting uselimit",
              .skipped = "accel maxforce timeconst timestep inttotal interval tolrange",
              .value = length_range_values),
    {0},
};

#define FLAG(name) \
  { name, "enable disable", false }
static const sap_schema_value flag_values[] = {
    FLAG("actuation"),
    FLAG("constraint"),
    FLAG("contact"),
    FLAG("damper"),
    FLAG("equality"),
    FLAG("gravity"),
    FLAG("limit"),
    FLAG("frictionloss"),
    FLAG("override"),
    FLAG("passive"),
    FLAG("spring"),
    FLAG("clampctrl"),
    {"filterparent", "enable", false},
    {0},
};
static const sap_schema_child option[] = {
    SAP_CHILD("flag",
              .skipped = "autoreset diagexact energy eulerdamp fwdinv invdiscrete ipc island "
                         "midphase multiccd nativeccd refsafe sensor sleep speculative warmstart "
                         "sensornoise",
              .value = flag_values),
    {0},
};

static const sap_schema_child keyframe[] = {
    SAP_CHILD("key", .used = "name time qpos qvel ctrl act", .skipped = "mpos mquat plastic"),
    {0},
};
static const sap_schema_child custom[] = {
    SAP_LEAF("numeric", "name data size"),
    SAP_LEAF("text", "name data"),
    SAP_UNCHECKED("tuple"),
    {0},
};
static const sap_schema_child deformable[] = {
    SAP_REFUSED("flex", "deformable bodies are not supported"),
    SAP_UNCHECKED("skin"),
    {0},
};

// Noise is ignored, as in MuJoCo since 3.1.4; so are the times at which values are sampled.
#define SENSOR(names, extra)                     \
  SAP_CHILD(names, .used = "name cutoff " extra, \
            .skipped = "noise user nsample interp delay interval")
static const sap_schema_child sensor[] = {
    SENSOR("accelerometer velocimeter gyro force torque magnetometer touch", "site"),
    SENSOR("rangefinder", "site camera data"),
    SENSOR("jointpos jointvel jointactuatorfrc jointlimitpos jointlimitvel jointlimitfrc ballquat "
           "ballangvel",
           "joint"),
    SENSOR("tendonpos tendonvel tendonactuatorfrc tendonlimitpos tendonlimitvel tendonlimitfrc",
           "tendon"),
    SENSOR("actuatorpos actuatorvel actuatorfrc", "actuator"),
    SENSOR("framepos framequat framexaxis frameyaxis framezaxis framelinvel frameangvel "
           "framelinacc frameangacc",
           "objtype objname reftype refname"),
    SENSOR("subtreecom subtreelinvel subtreeangmom", "body"),
    SENSOR("clock e_potential e_kinetic", ""),
    // The reader leaves them out with a warning.
    SAP_UNCHECKED("camprojection insidesite distance normal fromto contact tactile user plugin"),
    {0},
};

static const sap_schema_child mujoco[] = {
    SAP_CHILD("compiler",
              .used = "angle eulerseq autolimits inertiafromgeom inertiagrouprange boundmass "
                      "boundinertia balanceinertia settotalmass fitaabb assetdir meshdir strippath",
              .skipped = "texturedir discardvisual convexhull fusestatic usethread saveinertial "
                         "savecanonical savecompiled conflict passthrough",
              .value = compiler_values, .child = compiler),
    SAP_CHILD(
        "option",
        .used = "timestep gravity density viscosity wind magnetic o_friction o_margin o_solref",
        .skipped = "apirate ccd_iterations ccd_tolerance cone impratio integrator "
                   "iterations jacobian ls_iterations ls_tolerance mpr_iterations "
                   "mpr_tolerance noslip_iterations noslip_tolerance o_solimp "
                   "sdf_initpoints sdf_iterations sleep_tolerance solver tolerance "
                   "collision",
        .unsupported = "actuatorgroupdisable", .child = option),
    {"default", &defaults, NULL},
    SAP_CHILD("asset", .child = asset),
    SAP_CHILD("worldbody", .used = "childclass", .child = body_children),
    SAP_CHILD("contact", .child = contact),
    SAP_CHILD("tendon", .child = tendon),
    SAP_CHILD("actuator", .child = actuator),
    SAP_CHILD("equality", .child = equality),
    SAP_CHILD("keyframe", .child = keyframe),
    SAP_CHILD("custom", .child = custom),
    SAP_CHILD("deformable", .child = deformable),
    SAP_CHILD("sensor", .child = sensor),
    SAP_UNCHECKED("size statistic visual extension"),
    {0},
};
const sap_schema_element sap_mjcf_schema = {.used = "model", .child = mujoco};
