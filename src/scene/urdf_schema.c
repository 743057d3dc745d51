// SPDX-License-Identifier: BSD-3-Clause
// URDF as this reader knows it, with Drake's and Bullet's extensions that say something about
// contact. See schema.h.
#include "scene/schema.h"

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
    {"drake:rotor_inertia drake:gear_ratio", &value, NULL},
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

static const sap_schema_child robot_children[] = {
    {"link", &link, NULL},
    {"joint", &joint, NULL},
    {"material transmission gazebo ros2_control sensor", NULL, NULL},
    {"drake:joint", NULL, "this kind of joint is not supported"},
    {"loop_joint drake:linear_bushing_rpy drake:ball_constraint", NULL,
     "closed loops are not supported"},
    {"drake:collision_filter_group", NULL, "collision filters are not supported"},
    {0},
};
const sap_schema_element sap_urdf_schema = {
    .used = "name",
    .skipped = "version",
    .child = robot_children,
    .extensible = true,
};
