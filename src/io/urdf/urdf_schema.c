// SPDX-License-Identifier: BSD-3-Clause
// URDF as this reader knows it, with the extensions of Drake, Bullet and Isaac Sim that it reads.
#include "io/xml/schema.h"

#define ORIGIN SAP_LEAF("origin", "xyz rpy")
#define VALUES(names) SAP_LEAF(names, "value")
#define AXIS SAP_CHILD("axis", .used = "xyz", .zero = "rpy")

static const sap_schema_child inertial[] = {
    ORIGIN,
    VALUES("mass"),
    SAP_LEAF("inertia", "ixx ixy ixz iyy iyz izz"),
    {0},
};

static const sap_schema_child geometry[] = {
    SAP_LEAF("box", "size"),
    SAP_LEAF("sphere", "radius"),
    SAP_LEAF("cylinder capsule drake:capsule", "radius length"),
    SAP_LEAF("drake:ellipsoid", "a b c"),
    SAP_CHILD("mesh", .used = "filename scale",
              .child = SAP_CHILDREN(SAP_UNCHECKED("drake:declare_convex"))),
    {0},
};

static const sap_schema_child proximity_properties[] = {
    VALUES("drake:point_contact_stiffness drake:relaxation_time drake:hunt_crossley_dissipation "
           "drake:mu_dynamic drake:mu_static drake:hydroelastic_modulus"),
    SAP_UNCHECKED("drake:rigid_hydroelastic drake:compliant_hydroelastic drake:soft_hydroelastic "
                  "drake:hydroelastic_margin drake:mesh_resolution_hint"),
    {0},
};

static const sap_schema_child collision[] = {
    ORIGIN,
    SAP_CHILD("geometry", .skipped = "name", .child = geometry),
    SAP_CHILD("drake:proximity_properties", .child = proximity_properties),
    SAP_UNCHECKED("material verbose"),
    {0},
};

// Bullet's.
static const sap_schema_child contact[] = {
    VALUES("lateral_friction"),
    SAP_CHILD("restitution", .neglected = "value"),  // contacts of this reader do not bounce
    SAP_CHILD("rolling_friction spinning_friction", .zero = "value"),
    SAP_REFUSED("stiffness damping contact_cfm contact_erp inertia_scaling",
                "this extension of Bullet is not supported"),
    SAP_UNCHECKED("friction_anchor"),
    {0},
};

static const sap_schema_child link[] = {
    SAP_CHILD("inertial", .child = inertial),
    SAP_CHILD("collision", .used = "name", .skipped = "group", .child = collision),
    SAP_CHILD("contact", .child = contact),
    SAP_UNCHECKED("visual self_collision_checking collision_checking self_filter gazebo"),
    {0},
};

static const sap_schema_child joint[] = {
    ORIGIN,
    SAP_LEAF("parent child", "link"),
    AXIS,
    SAP_CHILD("limit", .used = "lower upper effort velocity", .skipped = "drake:acceleration"),
    SAP_CHILD("dynamics", .used = "damping friction", .unsupported = "drake:coulomb_friction"),
    VALUES("drake:rotor_inertia drake:gear_ratio drake:screw_thread_pitch"),
    SAP_LEAF("mimic", "joint multiplier offset"),
    SAP_UNCHECKED("safety_controller calibration hardwareInterface"),
    {0},
};

static const sap_schema_child ball_constraint[] = {
    SAP_LEAF("drake:ball_constraint_body_A drake:ball_constraint_body_B", "name"),
    VALUES("drake:ball_constraint_p_AP drake:ball_constraint_p_BQ"),
    {0},
};

static const sap_schema_child loop_joint[] = {
    SAP_LEAF("link1 link2", "link xyz rpy"),
    AXIS,
    {0},
};

static const sap_schema_child bushing[] = {
    SAP_LEAF("drake:bushing_frameA drake:bushing_frameC", "name"),
    VALUES("drake:bushing_torque_stiffness drake:bushing_torque_damping "
           "drake:bushing_force_stiffness drake:bushing_force_damping"),
    {0},
};

static const sap_schema_child spring_damper[] = {
    SAP_LEAF("drake:linear_spring_damper_body_A drake:linear_spring_damper_body_B", "name"),
    VALUES("drake:linear_spring_damper_p_AP drake:linear_spring_damper_p_BQ "
           "drake:linear_spring_damper_free_length drake:linear_spring_damper_stiffness "
           "drake:linear_spring_damper_damping"),
    {0},
};

static const sap_schema_child tendon_constraint[] = {
    SAP_LEAF("drake:tendon_constraint_joint", "name a"),
    VALUES("drake:tendon_constraint_offset drake:tendon_constraint_lower_limit "
           "drake:tendon_constraint_upper_limit drake:tendon_constraint_stiffness "
           "drake:tendon_constraint_damping"),
    {0},
};

static const sap_schema_child collision_filter_group[] = {
    SAP_LEAF("drake:member", "link"),
    SAP_LEAF("drake:member_group drake:ignored_collision_filter_group", "name"),
    {0},
};

// The rest of a transmission is ignored.
static const sap_schema_child actuator[] = {
    VALUES("drake:rotor_inertia drake:gear_ratio"),
    SAP_LEAF("drake:controller_gains", "p d"),
    {0},
};
static const sap_schema_child transmission[] = {
    SAP_CHILD("joint", .used = "name", .open = true),
    SAP_CHILD("actuator", .used = "name", .child = actuator, .open = true),
    {0},
};

static const sap_schema_child robot[] = {
    SAP_CHILD("link", .used = "name", .skipped = "type", .child = link),
    SAP_CHILD("joint drake:joint", .used = "name type", .skipped = "dont_collapse", .child = joint),
    SAP_LEAF("frame", "name link xyz rpy"),
    SAP_CHILD("drake:ball_constraint", .child = ball_constraint),
    SAP_CHILD("loop_joint", .used = "type", .skipped = "name", .child = loop_joint),
    SAP_CHILD("drake:linear_bushing_rpy", .child = bushing),
    SAP_CHILD("drake:linear_spring_damper", .child = spring_damper),
    SAP_CHILD("drake:tendon_constraint", .child = tendon_constraint),
    SAP_CHILD("drake:collision_filter_group", .used = "name ignore",
              .child = collision_filter_group),
    SAP_CHILD("transmission", .child = transmission, .open = true),
    SAP_UNCHECKED("material gazebo ros2_control sensor"),
    {0},
};
const sap_schema_element sap_urdf_schema = {
    .used = "name",
    .skipped = "version",
    .child = robot,
    .extensible = true,
};
