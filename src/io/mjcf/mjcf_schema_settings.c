// SPDX-License-Identifier: BSD-3-Clause
// What MJCF says beside the model's elements: how they are read and simulated, poses to start from,
// numbers of programs.
#include "io/mjcf/mjcf_schema.h"

static const sap_schema_value compiler_values[] = {
    {"coordinate", "local", false},
    {"alignfree", "false", false},
    {0},
};
static const sap_schema_value length_range_values[] = {{"mode", "none muscle muscleuser all", true},
                                                       {0}};
static const sap_schema_element length_range = {
    .used = "useexisting uselimit",
    .skipped = "accel maxforce timeconst timestep inttotal interval tolrange",
    .value = length_range_values};
static const sap_schema_child compiler_children[] = {{"lengthrange", &length_range, NULL}, {0}};
const sap_schema_element sap_mjcf_compiler = {
    .used =
        "angle eulerseq autolimits inertiafromgeom inertiagrouprange boundmass boundinertia "
        "balanceinertia settotalmass fitaabb assetdir meshdir strippath",
    .skipped =
        "texturedir discardvisual convexhull fusestatic "
        "usethread saveinertial savecanonical savecompiled conflict passthrough",
    .value = compiler_values,
    .child = compiler_children,
};

static const sap_schema_value flag_values[] = {
    {"actuation", "enable disable", false},    {"constraint", "enable disable", false},
    {"contact", "enable disable", false},      {"damper", "enable disable", false},
    {"equality", "enable disable", false},     {"filterparent", "enable", false},
    {"frictionloss", "enable disable", false}, {"gravity", "enable disable", false},
    {"limit", "enable disable", false},        {"override", "disable enable", false},
    {"passive", "enable disable", false},      {"spring", "enable disable", false},
    {"clampctrl", "enable disable", false},    {0},
};
static const sap_schema_element flag = {
    .skipped =
        "autoreset diagexact energy eulerdamp fwdinv invdiscrete ipc island midphase "
        "multiccd nativeccd refsafe sensor sleep speculative warmstart sensornoise",
    .value = flag_values,
};
static const sap_schema_child option_children[] = {{"flag", &flag, NULL}, {0}};
const sap_schema_element sap_mjcf_option = {
    .used = "timestep gravity density viscosity wind o_friction o_margin o_solref",
    .skipped =
        "apirate ccd_iterations ccd_tolerance cone impratio integrator iterations jacobian "
        "ls_iterations ls_tolerance magnetic mpr_iterations mpr_tolerance "
        "noslip_iterations noslip_tolerance o_solimp "
        "sdf_initpoints sdf_iterations sleep_tolerance solver tolerance collision",
    .unsupported = "actuatorgroupdisable",
    .child = option_children,
};

static const sap_schema_element key = {
    .used = "name time qpos qvel ctrl act",
    .skipped = "mpos mquat plastic",
};
static const sap_schema_child keyframe_children[] = {{"key", &key, NULL}, {0}};
const sap_schema_element sap_mjcf_keyframe = {.child = keyframe_children};

static const sap_schema_element numeric = {.used = "name data size"};
static const sap_schema_element text = {.used = "name data"};
static const sap_schema_child custom_children[] = {
    {"numeric", &numeric, NULL},
    {"text", &text, NULL},
    {"tuple", NULL, NULL},
    {0},
};
const sap_schema_element sap_mjcf_custom = {.child = custom_children};
