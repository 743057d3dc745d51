// SPDX-License-Identifier: BSD-3-Clause
// Multibody models: a builder collects definitions; an immutable model is compiled from it.
//
// Body 0 is the world. A body is attached to its parent by a sequence of joints (none: welded).
// Joint frames follow MuJoCo: the body starts at its pose in the parent and each joint in turn
// moves it; anchor and axis are fixed in the body. A tree is the set of moving bodies below one
// root. q, v and trees are numbered depth first, in the order in which bodies and joints are added.
//
// Coordinates of a joint (same layout as MuJoCo's qpos and qvel):
//   free   q = p_WB (3), quaternion (4)   v = velocity of B's origin in W (3), omega_WB in B (3)
//   ball   q = quaternion (4)             v = omega in B (3)
//   hinge  q = angle [rad]                v = rate [rad/s]
//   slide  q = displacement [m]           v = rate [m/s]
//
// A definition is made by its sap_x_def_default(), which also sets `cookie`; a definition with
// another cookie is refused, so that a field added later never has an unset value.
// In the lists below FIELD(type, name, default, range) is one member and ARRAY(type, name, count,
// default, range) an array; the ranges are
//   FINITE  NOT_NEGATIVE (finite, >= 0)  POSITIVE (finite, > 0)  STIFFNESS (> 0 or infinite)
//   OWN (the range in the comment)
#pragma once

#include <sapstep/base.h>
#include <sapstep/contact.h>
#include <sapstep/system.h>

SAP_C_BEGIN

typedef struct sap_model sap_model;      // immutable; shared by threads
typedef struct sap_builder sap_builder;  // collects definitions

typedef enum sap_joint_type {
  SAP_JOINT_FREE,
  SAP_JOINT_BALL,
  SAP_JOINT_HINGE,
  SAP_JOINT_SLIDE,
} sap_joint_type;

typedef enum sap_shape_type {
  SAP_SHAPE_PLANE,      // half space z <= 0 of its frame; only on the world or a static body
  SAP_SHAPE_SPHERE,     // size = {radius}
  SAP_SHAPE_CAPSULE,    // size = {radius, half length of the segment}, along z
  SAP_SHAPE_CYLINDER,   // size = {radius, half length}, along z
  SAP_SHAPE_BOX,        // size = half extents
  SAP_SHAPE_ELLIPSOID,  // size = semi-axes
  SAP_SHAPE_MESH,       // the convex hull of a mesh; size is not used
} sap_shape_type;

// clang-format off
#define SAP_BODY_FIELDS(FIELD, ARRAY)                                                              \
  /* id of an earlier body; 0: the world */                                                        \
  FIELD(int32_t, parent, 0, OWN)                                                                   \
  /* pose in the parent before its joints [m]; the quaternion is normalised, not zero */           \
  ARRAY(double, p_PB, 3, (0.0), FINITE)                                                            \
  ARRAY(double, q_PB, 4, (1.0), OWN)                                                               \
  /* [kg] */                                                                                       \
  FIELD(double, mass, 0.0, NOT_NEGATIVE)                                                           \
  /* centre of mass in B [m] */                                                                    \
  ARRAY(double, p_BCo, 3, (0.0), FINITE)                                                           \
  /* inertia about the centre of mass in B's axes [kg m^2]: xx yy zz xy xz yz; positive            \
     semidefinite, and no principal moment above the sum of the others, both to 1e-6 of the        \
     largest moment */                                                                             \
  ARRAY(double, I_BCo_B, 6, (0.0), OWN)                                                            \
  /* frame from which the principal axes are sought, which equal moments leave open: drag of bodies\
     without ellipsoid shapes depends on them; normalised; 0: that of B */                         \
  ARRAY(double, q_BI, 4, (0.0), OWN)                                                               \
  /* true: principal moments may exceed the sum of the others */                                   \
  FIELD(bool, any_inertia, false, OWN)                                                             \
  /* fraction of the body's weight that is compensated */                                          \
  FIELD(double, gravity_compensation, 0.0, FINITE)

#define SAP_JOINT_FIELDS(FIELD, ARRAY)                                                             \
  FIELD(sap_joint_type, type, SAP_JOINT_HINGE, OWN)                                                \
  /* the body that the joint moves; not the world */                                               \
  FIELD(int32_t, body, 0, OWN)                                                                     \
  /* anchor in B [m]; hinge, ball */                                                               \
  ARRAY(double, p_BJ, 3, (0.0), FINITE)                                                            \
  /* in B, normalised; hinge, slide */                                                             \
  ARRAY(double, axis, 3, (0.0, 0.0, 1.0), OWN)                                                     \
  /* q at which the body has its defined pose [rad, m]; hinge, slide */                            \
  FIELD(double, reference, 0.0, FINITE)                                                            \
  /* limits [rad, m]; infinite: none. ball: only upper, the largest rotation angle, > 0 */         \
  FIELD(double, lower, -HUGE_VAL, OWN)                                                             \
  FIELD(double, upper, HUGE_VAL, OWN)                                                              \
  /* [N m/rad, N/m]; INFINITY: near rigid, and a joint beyond its limit comes back at              \
     SAP_RECOVERY_SPEED or slower */                                                               \
  FIELD(double, limit_stiffness, HUGE_VAL, STIFFNESS)                                              \
  /* [s] */                                                                                        \
  FIELD(double, limit_relaxation_time, 0.01, NOT_NEGATIVE)                                         \
  /* spring [N m/rad, N/m]; not for free */                                                        \
  FIELD(double, stiffness, 0.0, NOT_NEGATIVE)                                                      \
  /* q at which the spring is relaxed [rad, m]; ball: ignored, the identity */                     \
  FIELD(double, spring_reference, 0.0, FINITE)                                                     \
  /* per dof: damping [N m s/rad, N s/m], rotor inertia [kg m^2, kg], friction [N m, N] */         \
  FIELD(double, damping, 0.0, NOT_NEGATIVE)                                                        \
  FIELD(double, armature, 0.0, NOT_NEGATIVE)                                                       \
  FIELD(double, friction_loss, 0.0, NOT_NEGATIVE)                                                  \
  /* k3 of the force -k3 (q - spring_reference)^3 [N m/rad^3, N/m^3]; hinge, slide */              \
  FIELD(double, stiffness_cubic, 0.0, NOT_NEGATIVE)                                                \
  /* bounds of the sum of the joint's actuator efforts [N m, N]; infinite: none; hinge, slide */   \
  FIELD(double, effort_lower, -HUGE_VAL, OWN)                                                      \
  FIELD(double, effort_upper, HUGE_VAL, OWN)                                                       \
  /* fastest speed at which motors drive the joint [rad/s, m/s] > 0; INFINITY: any; hinge, slide.  \
     Does not bound actuators whose force falls with length or rate */                             \
  FIELD(double, motor_speed, HUGE_VAL, OWN)                                                        \
  /* removed from the solve: the joint's velocity is exactly zero */                               \
  FIELD(bool, locked, false, OWN)                                                                  \
  /* time constant T [s] and damping ratio z; both > 0: compiling sets stiffness = m/(T z)^2 and   \
     damping = 2 m/T. m = 1/(M^-1)_ii is the inertia that the joint moves in the default pose      \
     (ball: the mean of three). Not for free */                                                    \
  FIELD(double, spring_time, 0.0, NOT_NEGATIVE)                                                    \
  FIELD(double, spring_damping_ratio, 0.0, NOT_NEGATIVE)

#define SAP_SHAPE_FIELDS(FIELD, ARRAY)                                                             \
  FIELD(sap_shape_type, type, SAP_SHAPE_SPHERE, OWN)                                               \
  FIELD(int32_t, body, 0, OWN)                                                                     \
  /* pose in the body [m]; the quaternion is normalised */                                         \
  ARRAY(double, p_BS, 3, (0.0), FINITE)                                                            \
  ARRAY(double, q_BS, 4, (1.0), OWN)                                                               \
  /* by type [m] > 0 */                                                                            \
  ARRAY(double, size, 3, (0.0), OWN)                                                               \
  /* stiffness 0 chooses one: INFINITY (rigid) for a shape of a static body; otherwise             \
     max(1e6 N/m, 1e5 s^-2 m), m the mass of all bodies welded together: the body's own weight     \
     sinks it by at most 0.1 mm. Default: 0, 0.01 s, friction 0.5 */                               \
  FIELD(sap_material, material, SAP_SHAPE_MATERIAL, OWN)                                           \
  /* 1 normal only; 3 and sliding; 4 and spin about the normal; 6 and rolling. A pair uses the     \
     larger one */                                                                                 \
  FIELD(int32_t, condim, 3, OWN)                                                                   \
  /* bit masks: a pair collides if (typeA & affinityB) | (typeB & affinityA) */                    \
  FIELD(int32_t, contact_type, 1, OWN)                                                             \
  FIELD(int32_t, contact_affinity, 1, OWN)                                                         \
  /* friction and condim of a pair are those of the shape with the higher priority */              \
  FIELD(int32_t, priority, 0, OWN)                                                                 \
  /* id of the mesh of a SAP_SHAPE_MESH */                                                         \
  FIELD(int32_t, mesh, -1, OWN)                                                                    \
  /* contacts are found at phi < margin [m], and where the motion of a step closes them; a pair    \
     uses the larger one */                                                                        \
  FIELD(double, margin, 0.0, NOT_NEGATIVE)                                                         \
  /* the surfaces touch at this distance from each other [m], < 0: depth. phi of a contact is the  \
     distance minus this; a pair uses the sum */                                                   \
  FIELD(double, rest_distance, 0.0, FINITE)                                                        \
  /* friction moment per normal force [m]: about the normal (condim 4, 6), about the tangents      \
     (condim 6); combined for a pair as its friction */                                            \
  FIELD(double, friction_torsional, 0.0, NOT_NEGATIVE)                                             \
  FIELD(double, friction_rolling, 0.0, NOT_NEGATIVE)                                               \
  /* conveyor: velocity of the surface relative to the shape, in the shape's axes [m/s] */         \
  ARRAY(double, surface_velocity, 3, (0.0), FINITE)                                                \
  /* turntable: angular velocity of the surface about the shape's origin [rad/s] */                \
  ARRAY(double, surface_rotation, 3, (0.0), FINITE)                                                \
  /* true: the medium acts on an ellipsoid with the shape's semi-axes; on bodies without such a    \
     shape it acts on a box with the body's inertia. Not for planes and meshes */                  \
  FIELD(bool, fluid_ellipsoid, false, OWN)                                                         \
  /* drag of a blunt and of a slender body, drag of rotation, Kutta and Magnus lift [-] */         \
  ARRAY(double, fluid_coefficients, 5, (0.5, 0.25, 1.5, 1.0, 1.0), NOT_NEGATIVE)                   \
  /* red, green, blue, opacity in [0, 1] for drawing; NaN: any */                                  \
  ARRAY(double, color, 4, ((double)NAN, (double)NAN, (double)NAN, (double)NAN), OWN)
// clang-format on

// Names may be NULL; others must be unique among their kind. Strings and arrays are copied.
typedef struct sap_body_def {
  uint32_t cookie;  // set by sap_body_def_default()
  const char* name;
  SAP_BODY_FIELDS(SAP_FIELD, SAP_FIELD_ARRAY)
} sap_body_def;

typedef struct sap_joint_def {
  uint32_t cookie;  // set by sap_joint_def_default()
  const char* name;
  SAP_JOINT_FIELDS(SAP_FIELD, SAP_FIELD_ARRAY)
} sap_joint_def;

typedef struct sap_shape_def {
  uint32_t cookie;  // set by sap_shape_def_default()
  const char* name;
  SAP_SHAPE_FIELDS(SAP_FIELD, SAP_FIELD_ARRAY)
} sap_shape_def;

// A pair of shapes with contact parameters of its own, whatever the shapes and filters say.
typedef struct sap_pair_def {
  uint32_t cookie;            // set by sap_pair_def_default()
  int32_t shape_a, shape_b;   // two shapes of different bodies
  sap_material material;      // stiffness 0: k, tau_d and d are those of the shapes; model, v_s and
                              // static mu too if later or larger than here            (default)
  int32_t condim;             // 1, 3, 4 or 6                                              (3)
  double margin;              // [m] >= 0                                                  (0)
  double rest_distance;       // [m]                                                       (0)
  double friction_torsional;  // [m] >= 0                                                  (0)
  double friction_rolling;    // [m] >= 0                                                  (0)
  // Anisotropic friction: t1 is the world's y (z if the normal is nearer y), projected onto the
  // tangent plane.
  double friction_t2;         // along t2 [-]; < 0: material.friction, as along t1           (-1)
  double friction_rolling_2;  // about t2 [m]; < 0: friction_rolling, as about t1           (-1)
} sap_pair_def;

// Triangle mesh; its convex hull collides. If its faces are closed and not convex, the mesh is rigid
// and they collide where the other shape is convex and has a pressure field (sap_material).
typedef struct sap_mesh_def {
  uint32_t cookie;  // set by sap_mesh_def_default()
  const char* name;
  int32_t vertex_count;
  const double* vertices;  // in the frame of the shapes that use it [m]       (3 vertex_count)
  int32_t face_count;      // 0: the faces are those of the hull
  const int32_t* faces;    // vertex numbers, counter-clockwise from outside     (3 face_count)
} sap_mesh_def;

// Distribution of the mass of a mesh.
typedef enum sap_mesh_solid {
  SAP_MESH_CONVEX,  // uniform in its convex hull
  SAP_MESH_EXACT,   // uniform in the volume that its faces enclose; they must be closed
  SAP_MESH_LEGACY,  // MuJoCo's default: uniform in the cones from the middle to each face; cones
                    // outside the volume count too
  SAP_MESH_SHELL,   // uniform on its faces
} sap_mesh_solid;

typedef struct sap_mesh_mass {
  double volume;      // [m^3]; of a shell its area [m^2]
  double center[3];   // centre of mass [m]
  double inertia[6];  // about it, per density [m^5, m^4]: xx yy zz xy xz yz
} sap_mesh_mass;

// Element of the path of a spatial tendon.
typedef enum sap_tendon_way {
  SAP_TENDON_POINT,     // passes through the point
  SAP_TENDON_SPHERE,    // wraps a sphere about the point
  SAP_TENDON_CYLINDER,  // wraps an endless cylinder whose axis runs through the point
  SAP_TENDON_PULLEY,    // the path continues at a new point; lengths count 1/divisor from here on
} sap_tendon_way;

// An obstacle stays between two points of the path. The tendon wraps it, by the shorter way, if it
// obstructs the straight line. With a side point the tendon wraps it on the side of that point,
// even if it does not obstruct. With a side point inside, the tendon passes through it as through a
// ring and bends over the edge.
typedef struct sap_tendon_wrap {
  sap_tendon_way way;
  double radius;         // of sphere and cylinder [m] > 0
  double axis[3];        // of the cylinder in its body, normalised
  int32_t side_body;     // -1: no side point
  double side_point[3];  // in that body [m]
  double divisor;        // of the pulley > 0
} sap_tendon_wrap;

// clang-format off
#define SAP_TENDON_FIELDS(FIELD, ARRAY)                                                            \
  /* limits of the length [m]; infinite: none */                                                   \
  FIELD(double, lower, -HUGE_VAL, OWN)                                                             \
  FIELD(double, upper, HUGE_VAL, OWN)                                                              \
  /* [N/m], [s] */                                                                                 \
  FIELD(double, limit_stiffness, HUGE_VAL, STIFFNESS)                                              \
  FIELD(double, limit_relaxation_time, 0.01, NOT_NEGATIVE)                                         \
  /* spring [N/m], damping [N s/m], dry friction [N] */                                            \
  FIELD(double, stiffness, 0.0, NOT_NEGATIVE)                                                      \
  FIELD(double, damping, 0.0, NOT_NEGATIVE)                                                        \
  FIELD(double, friction_loss, 0.0, NOT_NEGATIVE)                                                  \
  /* the spring is relaxed between these lengths [m]; NaN, NaN: at the one where all hinge and     \
     slide joints are at their spring_reference */                                                 \
  FIELD(double, spring_lower, (double)NAN, OWN)                                                    \
  FIELD(double, spring_upper, (double)NAN, OWN)                                                    \
  /* bounds of the sum of its actuators' forces before their gears [N]; infinite: none */          \
  FIELD(double, effort_lower, -HUGE_VAL, OWN)                                                      \
  FIELD(double, effort_upper, HUGE_VAL, OWN)
// clang-format on

// Tendon. Fixed: length = sum coefficients[i] q(joints[i]) of hinge and slide joints. Spatial:
// length of a string through points of bodies and around obstacles; every part between pulleys
// begins and ends with a point and has at least two.
typedef struct sap_tendon_def {
  uint32_t cookie;  // set by sap_tendon_def_default()
  const char* name;
  int32_t njoints;               // 0: spatial
  const int32_t* joints;         // ids, each once                                       (njoints)
  const double* coefficients;    // [-, m/rad]                                           (njoints)
  int32_t npoints;               // 0: fixed; otherwise >= 2                             (0)
  const int32_t* point_bodies;   // ids                                                  (npoints)
  const double* points;          // p_BP, in their bodies [m]                            (3 npoints)
  const sap_tendon_wrap* wraps;  // NULL: all are points                                 (npoints)
  SAP_TENDON_FIELDS(SAP_FIELD, SAP_FIELD_ARRAY)
} sap_tendon_def;

typedef enum sap_transmission {
  // hinge, slide  length = gear q
  // ball          length = gear r . direction[0..2], r the joint's rotation vector; a moment along
  //               direction in the body's axes, or the parent's with `in_parent`
  // free          length = 0; force direction[0..2] in the world's axes, moment direction[3..5] as
  //               of a ball; all times gear
  SAP_TRANSMISSION_JOINT,
  SAP_TRANSMISSION_TENDON,  // length = gear times the tendon's length
  // A rod of length r joins a slider on a line (point P, unit axis a) to the crank's point C:
  //   length = gear (a . d - sqrt((a . d)^2 + r^2 - d^2)),  d = C - P
  //   length = gear a . d                                   where r is too short
  SAP_TRANSMISSION_SLIDER_CRANK,
  // Force direction[0..2] and moment direction[3..5] in the axes of a site, a frame fixed in a
  // body; length = 0. With a reference site: in the axes of the reference, the opposite on the
  // body of the reference, nothing on joints that move both;
  //   length = gear (direction[0..2] . p + direction[3..5] . r)
  // p, r: position and rotation vector of the site in the reference.
  SAP_TRANSMISSION_SITE,
  // Pulls the body `target` and the bodies that touch it together: gear * force is shared evenly
  // by the contacts of the body's own shapes, along their normals; length 0. The force depends
  // only on control or activation.
  SAP_TRANSMISSION_ADHESION,
} sap_transmission;

// How an actuator's activation a follows its control u, da/dt =
typedef enum sap_activation {
  SAP_ACTIVATION_NONE,          // no activation: the control acts
  SAP_ACTIVATION_INTEGRATOR,    // u
  SAP_ACTIVATION_FILTER,        // (u - a)/activation_time[0], an Euler step, at most up to u
  SAP_ACTIVATION_FILTER_EXACT,  // the same, solved exactly
  // (u - a)/tau (Millard et al. 2013), u in [0, 1], c = clamp(a, 0, 1)
  //   tau = activation_time[0] (0.5 + 1.5 c)  rising
  //   tau = activation_time[1]/(0.5 + 1.5 c)  falling
  // with a smooth transition of the width activation_time[2] about u = a
  SAP_ACTIVATION_MUSCLE,
} sap_activation;

// Muscle of optimum length L0 = (length_upper - length_lower)/(range[1] - range[0]), in
//   L = range[0] + (length - length_lower)/L0,  V = rate/(L0 vmax)
// Active force -F0 FL(L) FV(V) a and passive force -F0 FP(L), as in MuJoCo:
//   FL  0 at lmin, 1 at L = 1, 0 at lmax; parabolas between
//   FV  0 for V <= -1, 1 at V = 0, fvmax for V >= fvmax - 1
//   FP  0 for L <= 1, fpmax/2 at (1 + lmax)/2, then a straight line
typedef struct sap_muscle {
  double range[2];  // of L over the range of lengths                          (0.75, 1.05)
  double force;     // F0 [N]; < 0: scale / (acceleration per force, |M^-1 J'| in the default
                    // pose)                                                           (-1)
  double scale;     //                                                                (200)
  double lmin, lmax, vmax, fpmax, fvmax;  //                        (0.5, 1.6, 1.5, 1.3, 1.2)
} sap_muscle;

// clang-format off
#define SAP_ACTUATOR_FIELDS(FIELD, ARRAY)                                                          \
  FIELD(sap_transmission, transmission, SAP_TRANSMISSION_JOINT, OWN)                               \
  /* id of the joint, the tendon or (adhesion) the body */                                         \
  FIELD(int32_t, target, 0, OWN)                                                                   \
  /* slider-crank: the bodies, C and P in them [m], a in the slider's body (normalised), r [m] */  \
  FIELD(int32_t, crank_body, 0, OWN)                                                               \
  FIELD(int32_t, slider_body, 0, OWN)                                                              \
  ARRAY(double, crank_point, 3, (0.0), OWN)                                                        \
  ARRAY(double, slider_point, 3, (0.0), OWN)                                                       \
  ARRAY(double, slider_axis, 3, (0.0, 0.0, 1.0), OWN)                                              \
  FIELD(double, crank_length, 1.0, OWN)                                                            \
  /* ball (3), free and site (6) */                                                                \
  ARRAY(double, direction, 6, (0.0), OWN)                                                          \
  /* ball, free */                                                                                 \
  FIELD(bool, in_parent, false, OWN)                                                               \
  /* site and its reference (-1: none): the body, and the frame in it [m], normalised */           \
  FIELD(int32_t, site_body, 0, OWN)                                                                \
  FIELD(int32_t, reference_body, -1, OWN)                                                          \
  ARRAY(double, site_point, 3, (0.0), OWN)                                                         \
  ARRAY(double, site_q, 4, (1.0), OWN)                                                             \
  ARRAY(double, reference_point, 3, (0.0), OWN)                                                    \
  ARRAY(double, reference_q, 4, (1.0), OWN)                                                        \
  /* not 0 */                                                                                      \
  FIELD(double, gear, 1.0, OWN)                                                                    \
  /* ranges; infinite: none */                                                                     \
  FIELD(double, control_lower, -HUGE_VAL, OWN)                                                     \
  FIELD(double, control_upper, HUGE_VAL, OWN)                                                      \
  FIELD(double, force_lower, -HUGE_VAL, OWN)                                                       \
  FIELD(double, force_upper, HUGE_VAL, OWN)                                                        \
  /* gain; gain_slope [1/m, s/m] times the gain's unit; bias [N, N/m, N s/m] */                    \
  FIELD(double, gain, 1.0, FINITE)                                                                 \
  ARRAY(double, gain_slope, 2, (0.0), FINITE)                                                      \
  ARRAY(double, bias, 3, (0.0), FINITE)                                                            \
  /* z > 0: compiling sets bias[2] = -2 z sqrt(-bias[1] m), m = 1/(J M^-1 J') the inertia of the   \
     actuator's length in the default pose */                                                      \
  FIELD(double, damping_ratio, 0.0, NOT_NEGATIVE)                                                  \
  FIELD(sap_activation, activation, SAP_ACTIVATION_NONE, OWN)                                      \
  /* see sap_activation [s, s, -] >= 0 */                                                          \
  ARRAY(double, activation_time, 3, (0.0), OWN)                                                    \
  /* the activation is clamped to this range; infinite: none */                                    \
  FIELD(double, activation_lower, -HUGE_VAL, OWN)                                                  \
  FIELD(double, activation_upper, HUGE_VAL, OWN)                                                   \
  /* true: the force uses the activation at the end of the step */                                 \
  FIELD(bool, activation_early, false, OWN)                                                        \
  /* has a muscle's active force, passive force */                                                 \
  FIELD(bool, muscle_gain, false, OWN)                                                             \
  FIELD(bool, muscle_bias, false, OWN)                                                             \
  FIELD(sap_muscle, muscle, sap_muscle_default(), OWN)                                             \
  /* gear * length at the ends of the muscle's `range`; NaN: compiling finds them from the ranges  \
     of the joints */                                                                              \
  FIELD(double, length_lower, (double)NAN, OWN)                                                    \
  FIELD(double, length_upper, (double)NAN, OWN)
// clang-format on

// Actuator:
//   force = clamp((gain + gain_slope . (length, rate)) u + bias . (1, length, rate))
//           to [force_lower, force_upper];  u = clamp(control) or the activation
// and the generalized force gear * force on the joint or tendon; length and rate include the gear.
// A muscle's active force per activation replaces the bracket, its passive force the bias. An
// actuator whose force falls with length and rate is a servo: its law holds at the end of the step.
typedef struct sap_actuator_def {
  uint32_t cookie;  // set by sap_actuator_def_default()
  const char* name;
  SAP_ACTUATOR_FIELDS(SAP_FIELD, SAP_FIELD_ARRAY)
} sap_actuator_def;

typedef enum sap_equality_type {
  SAP_EQUALITY_CONNECT,   // anchor_A of body a and anchor_B of body b coincide
  SAP_EQUALITY_WELD,      // the anchors coincide and b's rotation in a is q_AB
  SAP_EQUALITY_JOINT,     // q_a - ref_a = polynomial(q_b - ref_b) of hinge or slide joints
  SAP_EQUALITY_TENDON,    // length_a - length0_a = polynomial(length_b - length0_b)
  SAP_EQUALITY_DISTANCE,  // the anchors of bodies a and b are `distance` apart
} sap_equality_type;

typedef struct sap_equality_def {
  uint32_t cookie;  // set by sap_equality_def_default()
  const char* name;
  sap_equality_type type;  //                                                        (connect)
  int32_t a, b;            // bodies, joints or tendons; b = -1: the world, or a constant  (0, -1)
  double anchor_A[3];      // in a [m]                                                     (0)
  double anchor_B[3];      // in b [m]                                                     (0)
  double q_AB[4];          // weld                                                  (identity)
  double polynomial[5];    // a0 + a1 x + ... + a4 x^4; with b = -1 only a0        (0 1 0 0 0)
  double distance;         // [m] > 0                                                      (1)
  double torque_scale;     // weld: the length that makes angles comparable [m] > 0        (1)
  double stiffness;        // > 0 [N/m, N m/rad], INFINITY: near rigid              (INFINITY)
  double relaxation_time;  // [s] >= 0                                                  (0.01)
  bool active;             //                                                           (true)
} sap_equality_def;

// Spring and damper between two points: force k (length - rest_length) + d rate along the line.
typedef struct sap_spring_def {
  uint32_t cookie;  // set by sap_spring_def_default()
  const char* name;
  int32_t body_a, body_b;  // two different bodies                                         (0)
  double point_A[3];       // in a [m]                                                     (0)
  double point_B[3];       // in b [m]                                                     (0)
  double stiffness;        // [N/m] >= 0                                                   (0)
  double damping;          // [N s/m] >= 0                                                 (0)
  double rest_length;      // [m] >= 0                                                     (0)
} sap_spring_def;

// Bushing: a spring and damper for all six motions of frame G of b in frame F of a.
typedef struct sap_bushing_def {
  uint32_t cookie;  // set by sap_bushing_def_default()
  const char* name;
  int32_t body_a, body_b;   // two different bodies                                         (0)
  double p_AF[3], q_AF[4];  // frame F in a; the quaternion is normalised          (0, identity)
  double p_BG[3], q_BG[4];  // frame G in b                                        (0, identity)
  double stiffness[6];      // rotation xyz [N m/rad], translation xyz [N/m], in F, >= 0   (0)
  double damping[6];        // [N m s/rad], [N s/m] >= 0                                   (0)
} sap_bushing_def;

typedef struct sap_keyframe_def {
  uint32_t cookie;  // set by sap_keyframe_def_default()
  const char* name;
  double t;
  const double* q;        // (nq), NULL: the default pose; quaternions are normalised
  const double* v;        // (nv), NULL: zero
  const double* control;  // (nu), NULL: zero
  const double* act;      // (na), NULL: zero
} sap_keyframe_def;

typedef struct sap_model_options {
  uint32_t cookie;  // set by sap_model_options_default()
  const char* name;
  double gravity[3];         // [m/s^2]                                   (0 0 -9.81)
  double fluid_density;      // of the medium [kg/m^3] >= 0; drag and lift, no buoyancy    (0)
  double fluid_viscosity;    // of the medium [Pa s] >= 0                                  (0)
  double wind[3];            // velocity of the medium [m/s]                               (0)
  double magnetic_field[3];  // for magnetometers                      (0 -0.5 0)
  double timestep;           // suggested dt [s] > 0                      (0.002)
  sap_friction_rule friction_rule;    //                                           (harmonic)
  sap_regularization regularization;  // suggested beta, sigma                     (default)
} sap_model_options;

// Definitions with the defaults of the lists, or those in parentheses beside the fields.
SAP_API sap_body_def sap_body_def_default(void);
SAP_API sap_joint_def sap_joint_def_default(void);
SAP_API sap_shape_def sap_shape_def_default(void);
SAP_API sap_tendon_def sap_tendon_def_default(void);
SAP_API sap_muscle sap_muscle_default(void);
SAP_API sap_actuator_def sap_actuator_def_default(void);
SAP_API sap_equality_def sap_equality_def_default(void);
SAP_API sap_spring_def sap_spring_def_default(void);
SAP_API sap_bushing_def sap_bushing_def_default(void);
SAP_API sap_pair_def sap_pair_def_default(void);
SAP_API sap_mesh_def sap_mesh_def_default(void);
SAP_API sap_keyframe_def sap_keyframe_def_default(void);
SAP_API sap_model_options sap_model_options_default(void);

// Computes the mass properties of a mesh at density 1; without faces, of its hull.
SAP_API sap_status sap_mesh_def_mass(const sap_mesh_def* def, sap_mesh_solid solid,
                                     sap_mesh_mass* out, sap_error* error);

// Creates an empty model: the world alone. options NULL: the defaults.
SAP_API sap_status sap_builder_create(const sap_model_options* options, sap_builder** out,
                                      sap_error* error);
SAP_API void sap_builder_destroy(sap_builder* builder);
// Each checks its definition, names the element and field that is wrong, and on success stores
// the new id (bodies from 1, the rest from 0) in *id (NULL allowed). A failed call adds nothing.
SAP_API sap_status sap_builder_add_body(sap_builder* builder, const sap_body_def* def, int32_t* id,
                                        sap_error* error);
SAP_API sap_status sap_builder_add_joint(sap_builder* builder, const sap_joint_def* def,
                                         int32_t* id, sap_error* error);
SAP_API sap_status sap_builder_add_shape(sap_builder* builder, const sap_shape_def* def,
                                         int32_t* id, sap_error* error);
SAP_API sap_status sap_builder_add_tendon(sap_builder* builder, const sap_tendon_def* def,
                                          int32_t* id, sap_error* error);
SAP_API sap_status sap_builder_add_actuator(sap_builder* builder, const sap_actuator_def* def,
                                            int32_t* id, sap_error* error);
// Builds the convex hull; fails for vertices that are NaN, too few or in a plane.
SAP_API sap_status sap_builder_add_mesh(sap_builder* builder, const sap_mesh_def* def, int32_t* id,
                                        sap_error* error);
SAP_API sap_status sap_builder_add_equality(sap_builder* builder, const sap_equality_def* def,
                                            int32_t* id, sap_error* error);
SAP_API sap_status sap_builder_add_spring(sap_builder* builder, const sap_spring_def* def,
                                          int32_t* id, sap_error* error);
SAP_API sap_status sap_builder_add_bushing(sap_builder* builder, const sap_bushing_def* def,
                                           int32_t* id, sap_error* error);
SAP_API sap_status sap_builder_add_pair(sap_builder* builder, const sap_pair_def* def, int32_t* id,
                                        sap_error* error);
// Add keyframes last: the arrays must hold nq, nv, nu, na values of the model built so far.
// Compiling fails if the model has grown since, or a quaternion in q is zero.
SAP_API sap_status sap_builder_add_keyframe(sap_builder* builder, const sap_keyframe_def* def,
                                            int32_t* id, sap_error* error);
// Prevents contact between two bodies.
SAP_API sap_status sap_builder_exclude(sap_builder* builder, int32_t body_a, int32_t body_b,
                                       sap_error* error);
// Returns the sizes of the model built so far; each may be NULL.
SAP_API void sap_builder_counts(const sap_builder* builder, int32_t* nq, int32_t* nv, int32_t* nu);
// Builds the model; the builder is unchanged. Fails with NOT_SPD, naming the joint, if the mass
// matrix is not positive definite in the default pose.
SAP_API sap_status sap_builder_compile(const sap_builder* builder, sap_model** out,
                                       sap_error* error);
SAP_API void sap_model_destroy(sap_model* model);

// Numbers of elements and coordinates.
typedef struct sap_model_sizes {
  int32_t bodies;  // with the world
  int32_t joints, shapes, tendons, actuators, keyframes;
  int32_t nq, nv, nu, trees;
  int32_t meshes, equalities, springs, bushings, pairs;
  int32_t na;                       // activations
  int32_t sites, sensors, nsensor;  // nsensor: values of all sensors
} sap_model_sizes;
SAP_API sap_model_sizes sap_model_get_sizes(const sap_model* model);
SAP_API const sap_model_options* sap_model_get_options(const sap_model* model);

typedef enum sap_element {
  SAP_ELEMENT_BODY,
  SAP_ELEMENT_JOINT,
  SAP_ELEMENT_SHAPE,
  SAP_ELEMENT_TENDON,
  SAP_ELEMENT_ACTUATOR,
  SAP_ELEMENT_KEYFRAME,
  SAP_ELEMENT_MESH,
  SAP_ELEMENT_EQUALITY,
  SAP_ELEMENT_SPRING,
  SAP_ELEMENT_BUSHING,
  SAP_ELEMENT_SITE,
  SAP_ELEMENT_SENSOR,
  SAP_ELEMENT_COUNT,
} sap_element;
// Return an element's name ("": none, or out of range) and the id of a name (-1: there is none).
SAP_API const char* sap_model_get_name(const sap_model* model, sap_element kind, int32_t id);
SAP_API int32_t sap_model_find(const sap_model* model, sap_element kind, const char* name);
// Returns where a joint's coordinates start in q and v; -1: out of range. Outputs may be NULL.
SAP_API sap_status sap_model_joint_address(const sap_model* model, int32_t joint,
                                           sap_joint_type* type, int32_t* body, int32_t* q_start,
                                           int32_t* v_start, sap_error* error);
// Returns where an actuator's activation is in a state's act; -1: it has none, or out of range.
SAP_API int32_t sap_model_actuator_address(const sap_model* model, int32_t actuator);
// Return definitions as compiled: names and arrays belong to the model and live as long as it does.
SAP_API sap_status sap_model_get_body(const sap_model* model, int32_t body, sap_body_def* out,
                                      sap_error* error);
SAP_API sap_status sap_model_get_joint(const sap_model* model, int32_t joint, sap_joint_def* out,
                                       sap_error* error);
SAP_API sap_status sap_model_get_shape(const sap_model* model, int32_t shape, sap_shape_def* out,
                                       sap_error* error);
SAP_API sap_status sap_model_get_tendon(const sap_model* model, int32_t tendon, sap_tendon_def* out,
                                        sap_error* error);
SAP_API sap_status sap_model_get_actuator(const sap_model* model, int32_t actuator,
                                          sap_actuator_def* out, sap_error* error);
SAP_API sap_status sap_model_get_equality(const sap_model* model, int32_t equality,
                                          sap_equality_def* out, sap_error* error);
SAP_API sap_status sap_model_get_mesh(const sap_model* model, int32_t mesh, sap_mesh_def* out,
                                      sap_error* error);  // the hull's vertices; no faces
// Returns the tree of a body; -1: the body does not move, or out of range.
SAP_API int32_t sap_model_get_body_tree(const sap_model* model, int32_t body);
SAP_API int32_t sap_model_get_tree_dofs(const sap_model* model, int32_t tree);  // 0 out of range
SAP_API double sap_model_get_body_mass(const sap_model* model, int32_t body);   // NaN out of range
// Returns true if sap_builder_exclude named both bodies, in any order.
SAP_API bool sap_model_excludes(const sap_model* model, int32_t body_a, int32_t body_b);
// Returns true if the mesh is closed and not convex (sap_mesh_def).
SAP_API bool sap_model_mesh_has_hollows(const sap_model* model, int32_t mesh);

// Sets modulus and field_depth of a shape's material; planes need both. A shape of the model "sap"
// becomes "lagged". Call it before other objects are made of the model: these have its old fields.
SAP_API sap_status sap_model_shape_set_field(sap_model* model, int32_t shape, double modulus,
                                             double field_depth, sap_error* error);

// Sets the default pose at rest, t = 0; resizes the state.
SAP_API sap_status sap_model_get_default_state(const sap_model* model, sap_state* state,
                                               sap_error* error);
// Sets the state of a keyframe and its control (nu), which may be NULL.
SAP_API sap_status sap_model_get_keyframe(const sap_model* model, int32_t keyframe,
                                          sap_state* state, double* control, sap_error* error);

SAP_C_END
