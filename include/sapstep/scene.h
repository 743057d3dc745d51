// SPDX-License-Identifier: BSD-3-Clause
// Readers of scene files: MJCF and URDF become a model.
//
// MJCF. Elements are numbered and named as MuJoCo does: depth first, a body's joints and geoms
// before its child bodies; copies of a replicate get its suffix, attached models their prefix. The
// friction of a pair follows MuJoCo's rule (the maximum, or the higher priority's). A file that is
// included may be included once. Read are bodies with frames, replicates, attached models and
// inertias; all joints; geoms, meshes as their convex hulls; contact pairs and exclusions; fixed
// and spatial tendons with wrapping; actuators with activations, muscles and adhesion; the
// equalities connect, weld, joint and tendon; keyframes; gravity, medium, step and flags of
// <option>. What is not read and would change the physics is told: see sap_scene_read, and
// `sapstep info FILE`.
// A geom's or pair's margin is its rest distance, as in MuJoCo since 3.9 (before, a pair had the
// larger one, less the gap); gap lists contacts without force there and says nothing here.
// Positive solref and solimp are MuJoCo's own solver tuning and are skipped. What MJCF has no words
// for is given by <custom><numeric name="..." data="..."/>:
//   sapstep:stiffness               k of all geoms [N/m]
//   sapstep:relaxation_time         tau_d of all geoms [s]
//   sapstep:stiffness:GEOM          of one geom, by its name in its own file or in the whole scene
//   sapstep:relaxation_time:GEOM    of one geom
//   sapstep:dissipation, sapstep:stiction_tolerance, sapstep:static_friction, and each with :GEOM
//                                   d [s/m], v_s [m/s], static mu of similar and lagged contacts
//   <text name="sapstep:contact_model" data="lagged"/>, also with :GEOM: sap, similar or lagged; of
//                                   two geoms the later of these rules
//   sapstep:limit_stiffness         of all joint and tendon limits [N m/rad, N/m]
//   sapstep:limit_relaxation_time   of all joint and tendon limits [s]
//   sapstep:beta, sapstep:sigma     near-rigid and slip parameters of the scene [-]
// A geom's solref="-k -d" says k [N/m] and tau_d = d/k literally, solreflimit the same for a limit;
// it goes before the settings for all and behind those for one geom. An attached model may bring
// its own settings for all (not beta and sigma).
//
// URDF. Joints: revolute, continuous, prismatic, fixed, floating, planar, spherical (ball),
// universal and screw; <mimic> couples them, <loop_joint> closes loops. Shapes of <collision>: box,
// sphere, cylinder, capsule, drake:capsule, drake:ellipsoid, meshes as their convex hulls; one that
// has a name is called "LINK/NAME". The root link is welded to the world unless options say
// otherwise; a root link called "world" is the world. Limits are read as they stand: lower = upper
// = 0, which exporters write when nobody has set them, locks the joint (say type="continuous"
// instead). An effort limit > 0 bounds what actuators do, a velocity limit > 0 is the fastest that
// motors drive the joint. <transmission> makes an actuator of a joint: an effort, or with
// <drake:controller_gains> a servo. Material: <drake:proximity_properties> with
// drake:point_contact_stiffness, drake:relaxation_time, drake:hunt_crossley_dissipation,
// drake:mu_dynamic and drake:mu_static (one alone: both), or Bullet's
// <contact><lateral_friction/>; pairs combine harmonically. drake:rotor_inertia and
// drake:gear_ratio make the armature gear_ratio^2 rotor_inertia. Also Drake's frames, ball
// constraints, bushings, spring-dampers, tendon constraints and collision filter groups.
#ifndef SAPSTEP_SCENE_H
#define SAPSTEP_SCENE_H

#include <sapstep/base.h>
#include <sapstep/model.h>

#ifdef __cplusplus
extern "C" {
#endif

typedef enum sap_scene_format {
  SAP_SCENE_AUTO,  // by the root element: <mujoco> or <robot>
  SAP_SCENE_MJCF,
  SAP_SCENE_URDF,
} sap_scene_format;

// One value of the file changed before it is read. `path` is ELEMENT/NAME/ATTRIBUTE, e.g.
// "geom/ball/density", "body/box/inertial/mass" (a child in between), "option/*/gravity[2]" (of all
// such elements; a part of a list), "default/cube/geom/friction" (a class), "joint/elbow/damping".
// What includes bring can be changed, attached models cannot. An attribute that is absent is added.
typedef struct sap_scene_edit {
  const char *path, *value;
} sap_scene_edit;

// name: without "sapstep:".
typedef void (*sap_note_function)(void* context, const char* name, const char* text);
// The bytes of a file that a scene was read from.
typedef void (*sap_file_function)(void* context, const char* path, const void* bytes, size_t size);

typedef struct sap_scene_options {
  sap_scene_format format;        //                                                     (auto)
  bool lenient;                   // what is not supported becomes a warning             (false)
  bool floating_base;             // URDF: the root link moves freely instead of being
                                  // welded to the world                                 (false)
  double floor;                   // URDF: height of a floor of the default material [m];
                                  // NaN: none                                           (NaN)
  sap_material default_material;  // k, tau_d (and mu for URDF) of shapes that name none; k = 0:
                                  // by mass, see sap_shape_def                 (0, 0.01 s, 0.5)
  const sap_material* override_material;  // replaces every shape's, but for fields that are unset
                                          // as in sap_material_unset;
                                          // NULL: none                                  (NULL)
  const sap_scene_edit* edits;            // made in this order; ARGUMENT where the file has no such
  int32_t edit_count;                     // element                                     (NULL, 0)
  sap_message_function warning;           // may be NULL
  void* warning_context;
  sap_note_function note;  // called with every <text name="sapstep:exact:JOINT" data="..."/>, which
                           // is for programs, not for the physics; may be NULL        (NULL)
  void* note_context;
  sap_file_function file;  // called with each file that is read, once: the scene, what it includes
                           // and attaches, meshes; may be NULL                        (NULL)
  void* file_context;
} sap_scene_options;

SAP_API sap_scene_options sap_scene_options_default(void);

// Reads the file, and those it includes. What is purely visual is skipped. What would change the
// physics and is not supported is UNSUPPORTED, "file:line: <element attribute="value">: why", or a
// warning if lenient; the line is that where the element's start tag ends. IO: missing or
// unreadable file; SYNTAX: malformed XML or value, unknown element or attribute, a document type
// definition; NOT_FINITE: nan, inf or a number too large; NOT_SPD: no body has such an inertia;
// MEMORY; ARGUMENT: options, or what the builder says. On failure *out is NULL. options NULL:
// defaults.
SAP_API sap_status sap_scene_read(const char* path, const sap_scene_options* options,
                                  sap_model** out, sap_error* error);

#ifdef __cplusplus
}
#endif

#endif
