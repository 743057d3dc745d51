// SPDX-License-Identifier: BSD-3-Clause
// Multibody models: a builder that collects definitions and an immutable model compiled from it.
//
// Body 0 is the world. A body hangs on its parent by a sequence of joints (none: welded); joint
// frames follow MuJoCo's rule: the body starts at its pose in the parent and each joint in turn
// moves it, with anchor and axis fixed in the body. A tree is the set of moving bodies below one
// root; q, v and trees are numbered depth first, in the order in which bodies and joints came.
//
// Coordinates of a joint (same layout as MuJoCo's qpos and qvel):
//   free   q = p_WB (3), quaternion (4)   v = velocity of B's origin in W (3), omega_WB in B (3)
//   ball   q = quaternion (4)             v = omega in B (3)
//   hinge  q = angle [rad]                v = rate [rad/s]
//   slide  q = displacement [m]           v = rate [m/s]
#ifndef SAPSTEP_MODEL_H
#define SAPSTEP_MODEL_H

#include <sapstep/base.h>
#include <sapstep/contact.h>
#include <sapstep/system.h>

#ifdef __cplusplus
extern "C" {
#endif

typedef struct sap_model sap_model;      // immutable; shared by threads
typedef struct sap_builder sap_builder;  // collects definitions

typedef enum sap_joint_type {
  SAP_JOINT_FREE,
  SAP_JOINT_BALL,
  SAP_JOINT_HINGE,
  SAP_JOINT_SLIDE,
} sap_joint_type;

typedef enum sap_shape_type {
  SAP_SHAPE_PLANE,      // half space z <= 0 of its frame; on the world only
  SAP_SHAPE_SPHERE,     // size = {radius}
  SAP_SHAPE_CAPSULE,    // size = {radius, half length of the segment}, along z
  SAP_SHAPE_CYLINDER,   // size = {radius, half length}, along z
  SAP_SHAPE_BOX,        // size = half extents
  SAP_SHAPE_ELLIPSOID,  // size = semi-axes
  SAP_SHAPE_MESH,       // the convex hull of a mesh; size is not used
} sap_shape_type;

// Names may be NULL; those given must be unique among their kind. Strings and arrays are copied.
typedef struct sap_body_def {
  const char* name;
  int32_t parent;     // id of an earlier body; 0: world                                (0)
  double p_PB[3];     // pose in the parent before its joints [m]                       (0)
  double q_PB[4];     // quaternion, normalised on entry, not zero                      (identity)
  double mass;        // [kg] >= 0                                                      (0)
  double p_BCo[3];    // centre of mass in B [m]                                        (0)
  double I_BCo_B[6];  // inertia about the centre of mass in B's axes
                      // [kg m^2]: xx yy zz xy xz yz; positive semidefinite and no
                      // principal moment above the sum of the others, both to 1e-6
                      // of the largest                                                 (0)
  bool any_inertia;   // the latter is not asked for                                    (false)
  double gravity_compensation;  // fraction of its weight that is held against gravity  (0)
} sap_body_def;

typedef struct sap_joint_def {
  const char* name;
  sap_joint_type type;     //                                                            (hinge)
  int32_t body;            // the body it moves; not the world
  double p_BJ[3];          // anchor in B [m] (hinge, ball)                              (0)
  double axis[3];          // in B, normalised on entry (hinge, slide)                   (0 0 1)
  double reference;        // q at which the body sits at its defined pose [rad, m]      (0)
  double lower, upper;     // limits [rad, m]; -INFINITY, INFINITY: none. ball: only upper,
                           // the largest rotation angle, > 0                            (none)
  double limit_stiffness;  // [N m/rad, N/m], > 0, may be INFINITY: near rigid, and what is
                           // beyond comes back at SAP_RECOVERY_SPEED or slower     (INFINITY)
  double limit_relaxation_time;  // [s] >= 0                                             (0.01)
  double stiffness;              // spring [N m/rad, N/m] >= 0; not for free                   (0)
  double spring_reference;       // q where the spring is relaxed; ball: ignored, identity     (0)
  double damping;                // [N m s/rad, N s/m] >= 0; on every dof                      (0)
  double armature;               // rotor inertia [kg m^2, kg] >= 0; on every dof              (0)
  double friction_loss;          // dry friction [N m, N] >= 0; on every dof                   (0)
  double stiffness_cubic;        // force -k3 (q - spring_reference)^3 [N m/rad^3, N/m^3] >= 0;
                                 // hinge and slide                                            (0)
  double effort_lower, effort_upper;  // bounds of the sum of its actuators' efforts [N m, N];
                                      // hinge and slide                                    (none)
  double motor_speed;  // fastest that motors drive it [rad/s, m/s] > 0, INFINITY: any; hinge and
                       // slide. Actuators whose force falls with length or rate are not bound (any)
  bool locked;  // removed from the solve: its velocity is exactly zero                    (false)
  // Both > 0: compiling sets stiffness m/(T z)^2 and damping 2 m/T, of time constant T and damping
  // ratio z, m the inertia that the joint moves in the default pose, 1/(M^-1)_ii (ball: the mean of
  // the three (M^-1)_ii). Not for free.
  double spring_time;           // T [s] >= 0                                              (0)
  double spring_damping_ratio;  // z >= 0                                                  (0)
} sap_joint_def;

typedef struct sap_shape_def {
  const char* name;
  sap_shape_type type;
  int32_t body;    //                                                           (0)
  double p_BS[3];  // pose in the body [m]                                      (0)
  double q_BS[4];  // normalised on entry                                       (identity)
  double size[3];  // by type, > 0 [m]
  // material.stiffness 0 chooses one: a static body's shape is rigid (INFINITY), a moving body's
  // has max(1e6 N/m, 1e5 s^-2 m), m the mass of what it is welded to: its own weight sinks it by
  // at most 0.1 mm, whatever its mass.
  sap_material material;     //                                                 (0, 0.01 s, 0.5)
  int32_t condim;            // 1 normal only; 3 and sliding; 4 and spin about the normal;
                             // 6 and rolling. a pair has the larger one                  (3)
  int32_t contact_type;      // bit masks: a pair collides if (typeA & affB) | (typeB & affA)  (1)
  int32_t contact_affinity;  //                                                           (1)
  int32_t priority;          // the higher one's friction and condim rule the pair        (0)
  int32_t mesh;              // id, of SAP_SHAPE_MESH                                     (-1)
  double margin;  // contacts are found at phi < margin [m] >= 0; a pair has the larger one, and at
                  // least SAP_TOUCHING of the smaller's radius                              (0)
  double rest_distance;  // the surfaces touch at this distance from each other, < 0: depth; phi of
                         // a contact is the distance less it; a pair has the sum [m]     (0)
  double friction_torsional;   // condim 4, 6: friction moment about the normal per normal force
                               // [m] >= 0; a pair's as its friction                      (0)
  double friction_rolling;     // condim 6: the same about the tangents [m] >= 0          (0)
  double surface_velocity[3];  // of a conveyor: velocity of its surface relative to the shape,
                               // in the shape's axes [m/s]                               (0)
  double surface_rotation[3];  // of a turntable: the same about the shape's origin [rad/s] (0)
  // The medium acts on the shape as on an ellipsoid with its semi-axes; on bodies none of whose
  // shapes have this, as on a box with the body's inertia. Not for planes and meshes.     (false)
  bool fluid_ellipsoid;
  // Drag of a blunt and of a slender body, drag of turning, Kutta and Magnus lift
  // [-] >= 0                                                              (0.5 0.25 1.5 1 1)
  double fluid_coefficients[5];
  double color[4];  // red, green, blue, opacity in [0, 1] to draw it with; NaN: any       (NaN)
} sap_shape_def;

// A pair of shapes whose contacts are ruled by this, whatever the shapes and filters say.
typedef struct sap_pair_def {
  int32_t shape_a, shape_b;   // two shapes of different bodies
  sap_material material;      // stiffness 0: k, tau_d and d are those of the shapes, and so are
                              // model, v_s and static mu if later or larger than here (default)
  int32_t condim;             // 1, 3, 4 or 6                                              (3)
  double margin;              // [m] >= 0                                                  (0)
  double rest_distance;       // [m]                                                       (0)
  double friction_torsional;  // [m] >= 0                                                  (0)
  double friction_rolling;    // [m] >= 0                                                  (0)
  // Where friction depends on the direction: t1 is the world's y, or z if the normal is nearer y,
  // without its part along the normal.
  double friction_t2;         // along t2 [-]; < 0: material.friction, as along t1           (-1)
  double friction_rolling_2;  // about t2 [m]; < 0: friction_rolling, as about t1           (-1)
} sap_pair_def;

// Triangle mesh; its convex hull is what collides.
typedef struct sap_mesh_def {
  const char* name;
  int32_t vertex_count;
  const double* vertices;  // in the frame of the shapes that use it [m]       (3 vertex_count)
  int32_t face_count;      // 0: the faces are those of the hull
  const int32_t* faces;    // vertex numbers, counter-clockwise from outside     (3 face_count)
} sap_mesh_def;

// How the mass of a mesh is spread.
typedef enum sap_mesh_solid {
  SAP_MESH_CONVEX,  // evenly in its convex hull
  SAP_MESH_EXACT,   // evenly in what its faces enclose; they must be closed
  SAP_MESH_LEGACY,  // as MuJoCo does by default: in the cones from its middle to each face, where
                    // also those count that lie outside
  SAP_MESH_SHELL,   // evenly on its faces
} sap_mesh_solid;

typedef struct sap_mesh_mass {
  double volume;      // [m^3]; of a shell its area [m^2]
  double center[3];   // centre of mass [m]
  double inertia[6];  // about it, per density [m^5, m^4]: xx yy zz xy xz yz
} sap_mesh_mass;

// What a spatial tendon meets on its way.
typedef enum sap_tendon_way {
  SAP_TENDON_POINT,     // goes through the point
  SAP_TENDON_SPHERE,    // goes round a sphere about the point
  SAP_TENDON_CYLINDER,  // goes round an endless cylinder whose axis runs through the point
  SAP_TENDON_PULLEY,    // what follows begins at a new point and counts 1/divisor of its length
} sap_tendon_way;

// Between two points the tendon goes round a sphere or cylinder if that is in its way, by the
// shorter way; with a side point: also if it is not between them, on the side where that point is;
// with a side point inside: through it, bent by its edge as by a ring.
typedef struct sap_tendon_wrap {
  sap_tendon_way way;
  double radius;         // of sphere and cylinder [m] > 0
  double axis[3];        // of the cylinder in its body, normalised on entry
  int32_t side_body;     // -1: no side point
  double side_point[3];  // in that body [m]
  double divisor;        // of the pulley > 0
} sap_tendon_wrap;

// Tendon: fixed, length = sum coefficients[i] q(joints[i]) of hinge and slide joints; or spatial,
// the length of a string through points of bodies, and round what `wraps` says. Every part between
// pulleys begins and ends with a point and has two or more; obstacles stand between two points.
typedef struct sap_tendon_def {
  const char* name;
  int32_t njoints;             // 0: spatial
  const int32_t* joints;       // ids, each once                                           (njoints)
  const double* coefficients;  // [-, m/rad]                                             (njoints)
  double lower, upper;         // limits of the length; infinite: none
  double limit_stiffness;      //                                                      (INFINITY)
  double limit_relaxation_time;  //                                                      (0.01)
  int32_t npoints;               // 0: fixed; otherwise >= 2                               (0)
  const int32_t* point_bodies;   // ids                                                    (npoints)
  const double* points;          // p_BP, in their bodies [m]                            (3 npoints)
  const sap_tendon_wrap* wraps;  // NULL: all are points                                   (npoints)
  double stiffness;              // [N/m] >= 0                                             (0)
  double damping;                // [N s/m] >= 0                                           (0)
  double friction_loss;          // dry friction [N] >= 0                                  (0)
  double spring_lower, spring_upper;  // the spring is relaxed between them [m]; NaN, NaN: at
                                      // the length in the default pose                   (NaN)
  double effort_lower, effort_upper;  // bounds of the sum of its actuators' forces before their
                                      // gears [N]                                        (none)
} sap_tendon_def;

typedef enum sap_transmission {
  // hinge or slide: length = gear q. ball: its rotation vector r, length = gear r .
  // direction[0..2],
  // a moment along that in the body's axes, or the parent's with `in_parent`. free: length 0, force
  // direction[0..2] in the world's axes, moment direction[3..5] as of a ball; all times gear
  SAP_TRANSMISSION_JOINT,
  SAP_TRANSMISSION_TENDON,  // length = gear times the tendon's length
  // A rod of length r joins a slider on a line (point P, unit axis a) to the crank's point C:
  // length = gear (a . d - sqrt((a . d)^2 + r^2 - d^2)), d = C - P; gear a . d where r is too short
  SAP_TRANSMISSION_SLIDER_CRANK,
  // Force direction[0..2] and moment direction[3..5] in a site's axes, a frame fixed in a body;
  // length 0. With a reference site: in the reference's axes, and the opposite on the reference's
  // body, but not on joints that move both; length = gear (direction[0..2] . p + direction[3..5] .
  // r),
  // p and r the site's position and rotation vector in the reference.
  SAP_TRANSMISSION_SITE,
  // Pulls the body `target` and what touches it together: gear * force is shared evenly by the
  // contacts of the body's own shapes that are found, along their normals; length 0. The force
  // depends on control or activation alone.
  SAP_TRANSMISSION_ADHESION,
} sap_transmission;

// How an actuator's activation a follows its control u, da/dt =
typedef enum sap_activation {
  SAP_ACTIVATION_NONE,          // there is none: the control itself acts
  SAP_ACTIVATION_INTEGRATOR,    // u
  SAP_ACTIVATION_FILTER,        // (u - a)/activation_time[0], a step of Euler, at most up to u
  SAP_ACTIVATION_FILTER_EXACT,  // the same, solved exactly
  // (u - a)/tau, u in [0, 1], c = clamp(a, 0, 1), tau = activation_time[0] (0.5 + 1.5 c) as a
  // rises, activation_time[1]/(0.5 + 1.5 c) as it falls; over the width activation_time[2] about
  // u = a a smooth passage of the one to the other (Millard et al. 2013)
  SAP_ACTIVATION_MUSCLE,
} sap_activation;

// Muscle of optimum length L0 = (length_upper - length_lower)/(range[1] - range[0]), in
//   L = range[0] + (length - length_lower)/L0,  V = rate/(L0 vmax):
// active force -F0 FL(L) FV(V) a, passive force -F0 FP(L), as MuJoCo has them: FL rises in
// parabolas from 0 at lmin to 1 at L = 1 and falls to 0 at lmax; FV is 0 at V <= -1, 1 at 0, fvmax
// beyond V = fvmax - 1; FP is 0 up to 1, fpmax/2 at (1 + lmax)/2, and goes on as a straight line.
typedef struct sap_muscle {
  double range[2];  // of L over the range of lengths                          (0.75, 1.05)
  double force;     // F0 [N]; < 0: scale over the acceleration per force, |M^-1 J'| in the default
                    // pose                                                            (-1)
  double scale;     //                                                                (200)
  double lmin, lmax, vmax, fpmax, fvmax;  //                        (0.5, 1.6, 1.5, 1.3, 1.2)
} sap_muscle;

// Actuator: force = clamp((gain + gain_slope . (length, rate)) u + bias . (1, length, rate)) to the
// force's range, u = clamp(control) or the activation; generalized force gear * force on the joint
// or tendon, gear times whose length and rate are meant. A muscle's active force per activation
// takes the place of the first bracket, its passive force that of the bias. An actuator whose force
// falls with length and rate is a servo: its law holds at the end of the step.
typedef struct sap_actuator_def {
  const char* name;
  sap_transmission transmission;      //                                               (joint)
  int32_t target;                     // id of the joint or tendon, or the body        (0)
  int32_t crank_body, slider_body;    // slider-crank                                  (0)
  double crank_point[3];              // C in its body [m]                             (0)
  double slider_point[3];             // P in its body [m]                             (0)
  double slider_axis[3];              // a in its body, normalised on entry        (0 0 1)
  double crank_length;                // r [m] > 0                                     (1)
  double direction[6];                // ball (3), free and site (6)                   (0)
  bool in_parent;                     // ball and free                                 (false)
  int32_t site_body, reference_body;  // site; -1: no reference                        (0, -1)
  double site_point[3], site_q[4];    // frame in its body; normalised on entry        (identity)
  double reference_point[3], reference_q[4];  // the same of the reference               (identity)
  double gear;                                // not 0                                         (1)
  double control_lower, control_upper;  // infinite: none                                (none)
  double force_lower, force_upper;      // infinite: none                                (none)
  double gain;                          //                                               (1)
  double gain_slope[2];                 // [1/m, s/m] times the gain's unit              (0)
  double bias[3];                       // [N, N/m, N s/m]                               (0)
  double damping_ratio;  // > 0: compiling sets bias[2] = -2 damping_ratio sqrt(-bias[1] m), m the
                         // inertia 1/(J M^-1 J') of its length in the default pose         (0)
  sap_activation activation;  //                                                         (none)
  double activation_time[3];  // see sap_activation [s, s, -] >= 0                       (0)
  double activation_lower, activation_upper;  // the activation stays between            (none)
  bool activation_early;  // the force is that of the activation at the end of the step  (false)
  bool muscle_gain, muscle_bias;  // has a muscle's active, passive force                (false)
  sap_muscle muscle;              //                                                     (default)
  // Range of gear * length that the muscle's `range` stands for; NaN: what its joints' ranges
  // allow, found when the model is compiled.                                            (NaN)
  double length_lower, length_upper;
} sap_actuator_def;

typedef enum sap_equality_type {
  SAP_EQUALITY_CONNECT,   // anchor_A of body a and anchor_B of body b coincide
  SAP_EQUALITY_WELD,      // so do they, and b's rotation in a is q_AB
  SAP_EQUALITY_JOINT,     // q_a - ref_a = polynomial(q_b - ref_b) of hinge or slide joints
  SAP_EQUALITY_TENDON,    // length_a - length0_a = polynomial(length_b - length0_b)
  SAP_EQUALITY_DISTANCE,  // the anchors of bodies a and b are `distance` apart
} sap_equality_type;

typedef struct sap_equality_def {
  const char* name;
  sap_equality_type type;  //                                                        (connect)
  int32_t a, b;            // bodies, joints or tendons; b = -1: the world, or a constant  (0, -1)
  double anchor_A[3];      // in a [m]                                                     (0)
  double anchor_B[3];      // in b [m]                                                     (0)
  double q_AB[4];          // weld                                                  (identity)
  double polynomial[5];    // a0 + a1 x + ... + a4 x^4; of x only a0 with b = -1   (0 1 0 0 0)
  double distance;         // [m] > 0                                                      (1)
  double torque_scale;     // weld: the length that makes angles comparable [m] > 0        (1)
  double stiffness;        // > 0 [N/m, N m/rad], INFINITY: near rigid              (INFINITY)
  double relaxation_time;  // [s] >= 0                                                  (0.01)
  bool active;             //                                                           (true)
} sap_equality_def;

// Spring and damper between two points: force k (length - rest_length) + d rate along the line.
typedef struct sap_spring_def {
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
  const char* name;
  int32_t body_a, body_b;   // two different bodies                                         (0)
  double p_AF[3], q_AF[4];  // frame F in a; the quaternion is normalised          (0, identity)
  double p_BG[3], q_BG[4];  // frame G in b                                        (0, identity)
  double stiffness[6];      // rotation xyz [N m/rad], translation xyz [N/m], in F, >= 0   (0)
  double damping[6];        // [N m s/rad], [N s/m] >= 0                                   (0)
} sap_bushing_def;

typedef struct sap_keyframe_def {
  const char* name;
  double t;
  const double* q;        // (nq), NULL: the default pose; quaternions are normalised
  const double* v;        // (nv), NULL: zero
  const double* control;  // (nu), NULL: zero
  const double* act;      // (na), NULL: zero
} sap_keyframe_def;

typedef struct sap_model_options {
  const char* name;
  double gravity[3];       // [m/s^2]                                   (0 0 -9.81)
  double fluid_density;    // of the medium [kg/m^3] >= 0; drag and lift, no buoyancy    (0)
  double fluid_viscosity;  // of the medium [Pa s] >= 0                                  (0)
  double wind[3];          // velocity of the medium [m/s]                               (0)
  double timestep;         // suggested dt [s] > 0                      (0.002)
  sap_friction_rule friction_rule;    //                                           (harmonic)
  sap_regularization regularization;  // suggested beta, sigma                     (default)
} sap_model_options;

// The defaults that stand beside the fields, in parentheses.
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
SAP_API sap_model_options sap_model_options_default(void);

// Mass properties of a mesh at density 1. Without faces those of the hull are meant.
SAP_API sap_status sap_mesh_def_mass(const sap_mesh_def* def, sap_mesh_solid solid,
                                     sap_mesh_mass* out, sap_error* error);

// An empty model: the world alone. options NULL: the defaults.
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
// Builds the convex hull: vertices that are NaN, too few or in a plane are refused.
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
// The sizes of q, v, control and the quaternions in q are checked against the model when it is
// compiled; the arrays given here must hold nq, nv, nu, na values of the model as it stands: add
// keyframes last.
SAP_API sap_status sap_builder_add_keyframe(sap_builder* builder, const sap_keyframe_def* def,
                                            int32_t* id, sap_error* error);
// No contact between two bodies.
SAP_API sap_status sap_builder_exclude(sap_builder* builder, int32_t body_a, int32_t body_b,
                                       sap_error* error);
// Sizes of what has been added so far; each may be NULL.
SAP_API void sap_builder_counts(const sap_builder* builder, int32_t* nq, int32_t* nv, int32_t* nu);
// Builds the model; the builder stays as it is. Checks the whole: the mass matrix must be SPD
// in the default pose (names the joint whose bodies have no inertia).
SAP_API sap_status sap_builder_compile(const sap_builder* builder, sap_model** out,
                                       sap_error* error);
SAP_API void sap_model_destroy(sap_model* model);

// What a model is made of.
typedef struct sap_model_sizes {
  int32_t bodies;  // with the world
  int32_t joints, shapes, tendons, actuators, keyframes;
  int32_t nq, nv, nu, trees;
  int32_t meshes, equalities, springs, bushings, pairs;
  int32_t na;  // activations
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
  SAP_ELEMENT_COUNT,
} sap_element;
// Name of an element, "" when it has none or the id is out of range; and back: -1 when unknown.
SAP_API const char* sap_model_name(const sap_model* model, sap_element kind, int32_t id);
SAP_API int32_t sap_model_find(const sap_model* model, sap_element kind, const char* name);
// Where a joint's coordinates start; -1 when out of range. Any of the outputs may be NULL.
SAP_API sap_status sap_model_joint(const sap_model* model, int32_t joint, sap_joint_type* type,
                                   int32_t* body, int32_t* q_start, int32_t* v_start,
                                   sap_error* error);
SAP_API sap_status sap_model_shape(const sap_model* model, int32_t shape, sap_shape_def* out,
                                   sap_error* error);
// Definitions as compiled: names, arrays belong to the model and live as long as it does.
SAP_API sap_status sap_model_get_body(const sap_model* model, int32_t body, sap_body_def* out,
                                      sap_error* error);
SAP_API sap_status sap_model_get_joint(const sap_model* model, int32_t joint, sap_joint_def* out,
                                       sap_error* error);
SAP_API sap_status sap_model_get_tendon(const sap_model* model, int32_t tendon, sap_tendon_def* out,
                                        sap_error* error);
SAP_API sap_status sap_model_get_actuator(const sap_model* model, int32_t actuator,
                                          sap_actuator_def* out, sap_error* error);
// Where an actuator's activation stands in a state's act; -1: it has none, or out of range.
SAP_API int32_t sap_model_actuator_activation(const sap_model* model, int32_t actuator);
SAP_API sap_status sap_model_get_equality(const sap_model* model, int32_t equality,
                                          sap_equality_def* out, sap_error* error);
// The hull's vertices; no faces.
SAP_API sap_status sap_model_get_mesh(const sap_model* model, int32_t mesh, sap_mesh_def* out,
                                      sap_error* error);
// The tree that a body belongs to; -1: it does not move, or out of range.
SAP_API int32_t sap_model_body_tree(const sap_model* model, int32_t body);
SAP_API int32_t sap_model_tree_dofs(const sap_model* model, int32_t tree);  // 0 out of range
SAP_API double sap_model_body_mass(const sap_model* model, int32_t body);   // NaN out of range

// Default pose at rest, t = 0; resizes the state.
SAP_API sap_status sap_model_default_state(const sap_model* model, sap_state* state,
                                           sap_error* error);
// A keyframe's state; control (nu) may be NULL.
SAP_API sap_status sap_model_keyframe(const sap_model* model, int32_t keyframe, sap_state* state,
                                      double* control, sap_error* error);

#ifdef __cplusplus
}
#endif

#endif
