// SPDX-License-Identifier: BSD-3-Clause
// URDF as this reader knows it, with Drake's and Bullet's extensions that say something about
// contact. See schema.h.
#include "io/xml/schema.h"

static const sap_schema_element origin = {.used = "xyz rpy", .extensible = true};
static const sap_schema_element value = {.used = "value", .extensible = true};
static const sap_schema_element zero_value = {.zero = "value", .extensible = true};
static const sap_schema_element neglected_value = {.neglected = "value", .extensible = true};

static const sap_schema_element inertia = {
    .used = "ixx ixy ixz iyy iyz izz",
    .extensible = true,
};
static const sap_schema_child inertial_children[] = {
    {"origin", &origin, NULL},
    {"mass", &value, NULL},
    {"inertia", &inertia, NULL},
    {0},
};
static const sap_schema_element inertial = {.child = inertial_children, .extensible = true};

static const sap_schema_element box = {.used = "size", .extensible = true};
static const sap_schema_element round_shape = {.used = "radius length", .extensible = true};
static const sap_schema_element sphere = {.used = "radius", .extensible = true};
static const sap_schema_element ellipsoid = {.used = "a b c", .extensible = true};
static const sap_schema_child mesh_children[] = {{"drake:declare_convex", NULL, NULL}, {0}};
static const sap_schema_element mesh = {
    .used = "filename scale",
    .child = mesh_children,
    .extensible = true,
};
static const sap_schema_child geometry_children[] = {
    {"box", &box, NULL},
    {"sphere", &sphere, NULL},
    {"cylinder capsule drake:capsule", &round_shape, NULL},
    {"drake:ellipsoid", &ellipsoid, NULL},
    {"mesh", &mesh, NULL},
    {0},
};
static const sap_schema_element geometry = {
    .skipped = "name",
    .child = geometry_children,
    .extensible = true,
};

static const sap_schema_child proximity_children[] = {
    {"drake:point_contact_stiffness drake:relaxation_time drake:hunt_crossley_dissipation "
     "drake:mu_dynamic drake:mu_static",
     &value, NULL},
    {"drake:rigid_hydroelastic drake:compliant_hydroelastic drake:soft_hydroelastic "
     "drake:hydroelastic_modulus drake:hydroelastic_margin",
     NULL, "hydroelastic contact is not supported"},
    {"drake:mesh_resolution_hint", NULL, NULL},
    {0},
};
static const sap_schema_element proximity = {.child = proximity_children, .extensible = true};

static const sap_schema_child collision_children[] = {
    {"origin", &origin, NULL},
    {"geometry", &geometry, NULL},
    {"drake:proximity_properties", &proximity, NULL},
    {"material verbose", NULL, NULL},
    {0},
};
static const sap_schema_element collision = {
    .used = "name",
    .skipped = "group",
    .child = collision_children,
    .extensible = true,
};

// Bullet's.
static const sap_schema_child contact_children[] = {
    {"lateral_friction", &value, NULL},
    {"restitution", &neglected_value, NULL},  // contact of this library does not bounce
    {"rolling_friction spinning_friction", &zero_value, NULL},
    {"stiffness damping contact_cfm contact_erp inertia_scaling", NULL,
     "this extension of Bullet is not supported"},
    {"friction_anchor", NULL, NULL},
    {0},
};
static const sap_schema_element contact = {.child = contact_children, .extensible = true};

static const sap_schema_child link_children[] = {
    {"inertial", &inertial, NULL},
    {"collision", &collision, NULL},
    {"contact", &contact, NULL},
    {"visual self_collision_checking collision_checking self_filter gazebo", NULL, NULL},
    {0},
};
static const sap_schema_element link = {
    .used = "name",
    .skipped = "type",
    .child = link_children,
    .extensible = true,
};

static const sap_schema_element link_reference = {.used = "link", .extensible = true};
static const sap_schema_element axis = {.used = "xyz", .zero = "rpy", .extensible = true};
static const sap_schema_element limit = {
    .used = "lower upper effort velocity",
    .skipped = "drake:acceleration",
    .extensible = true,
};
static const sap_schema_element dynamics = {
    .used = "damping friction",
    .unsupported = "drake:coulomb_friction",
    .extensible = true,
};
static const sap_schema_element mimic = {.used = "joint multiplier offset", .extensible = true};
static const sap_schema_child joint_children[] = {
    {"origin", &origin, NULL},
    {"parent child", &link_reference, NULL},
    {"axis", &axis, NULL},
    {"limit", &limit, NULL},
    {"dynamics", &dynamics, NULL},
    {"drake:rotor_inertia drake:gear_ratio drake:screw_thread_pitch", &value, NULL},
    {"mimic", &mimic, NULL},
    {"safety_controller calibration hardwareInterface", NULL, NULL},
    {0},
};
static const sap_schema_element joint = {
    .used = "name type",
    .skipped = "dont_collapse",
    .child = joint_children,
    .extensible = true,
};

// Frames, loops and force elements between links.
static const sap_schema_element frame = {.used = "name link xyz rpy", .extensible = true};
static const sap_schema_element reference = {.used = "name", .extensible = true};
static const sap_schema_child ball_children[] = {
    {"drake:ball_constraint_body_A drake:ball_constraint_body_B", &reference, NULL},
    {"drake:ball_constraint_p_AP drake:ball_constraint_p_BQ", &value, NULL},
    {0},
};
static const sap_schema_element ball = {.child = ball_children, .extensible = true};
static const sap_schema_element loop_link = {.used = "link xyz rpy", .extensible = true};
static const sap_schema_child loop_children[] = {
    {"link1 link2", &loop_link, NULL},
    {"axis", &axis, NULL},
    {0},
};
static const sap_schema_element loop = {
    .used = "type",
    .skipped = "name",
    .child = loop_children,
    .extensible = true,
};
static const sap_schema_child bushing_children[] = {
    {"drake:bushing_frameA drake:bushing_frameC", &reference, NULL},
    {"drake:bushing_torque_stiffness drake:bushing_torque_damping drake:bushing_force_stiffness "
     "drake:bushing_force_damping",
     &value, NULL},
    {0},
};
static const sap_schema_element bushing = {.child = bushing_children, .extensible = true};
static const sap_schema_child spring_children[] = {
    {"drake:linear_spring_damper_body_A drake:linear_spring_damper_body_B", &reference, NULL},
    {"drake:linear_spring_damper_p_AP drake:linear_spring_damper_p_BQ "
     "drake:linear_spring_damper_free_length drake:linear_spring_damper_stiffness "
     "drake:linear_spring_damper_damping",
     &value, NULL},
    {0},
};
static const sap_schema_element spring = {.child = spring_children, .extensible = true};
static const sap_schema_element tendon_joint = {.used = "name a", .extensible = true};
static const sap_schema_child tendon_children[] = {
    {"drake:tendon_constraint_joint", &tendon_joint, NULL},
    {"drake:tendon_constraint_offset drake:tendon_constraint_lower_limit "
     "drake:tendon_constraint_upper_limit drake:tendon_constraint_stiffness "
     "drake:tendon_constraint_damping",
     &value, NULL},
    {0},
};
static const sap_schema_element tendon = {.child = tendon_children, .extensible = true};
static const sap_schema_element member = {.used = "link", .extensible = true};
static const sap_schema_child filter_children[] = {
    {"drake:member", &member, NULL},
    {"drake:member_group drake:ignored_collision_filter_group", &reference, NULL},
    {0},
};
static const sap_schema_element filter = {
    .used = "name ignore",
    .child = filter_children,
    .extensible = true,
};

// Of a transmission only the joints and Drake's elements of its actuator are looked at.
static const sap_schema_element gains = {.used = "p d", .extensible = true};
static const sap_schema_child actuator_children[] = {
    {"drake:rotor_inertia drake:gear_ratio", &value, NULL},
    {"drake:controller_gains", &gains, NULL},
    {0},
};
static const sap_schema_element actuator = {
    .used = "name",
    .child = actuator_children,
    .open = true,
};
static const sap_schema_element moved = {.used = "name", .open = true};
static const sap_schema_child transmission_children[] = {
    {"joint", &moved, NULL},
    {"actuator", &actuator, NULL},
    {0},
};
static const sap_schema_element transmission = {.child = transmission_children, .open = true};

static const sap_schema_child robot_children[] = {
    {"link", &link, NULL},
    {"joint drake:joint", &joint, NULL},
    {"frame", &frame, NULL},
    {"drake:ball_constraint", &ball, NULL},
    {"loop_joint", &loop, NULL},
    {"drake:linear_bushing_rpy", &bushing, NULL},
    {"drake:linear_spring_damper", &spring, NULL},
    {"drake:tendon_constraint", &tendon, NULL},
    {"drake:collision_filter_group", &filter, NULL},
    {"transmission", &transmission, NULL},
    {"material gazebo ros2_control sensor", NULL, NULL},
    {0},
};
const sap_schema_element sap_urdf_schema = {
    .used = "name",
    .skipped = "version",
    .child = robot_children,
    .extensible = true,
};
