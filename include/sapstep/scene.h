// SPDX-License-Identifier: BSD-3-Clause
// Readers of scene files: MJCF and URDF to models.
//
// MJCF. Elements are numbered and named as in MuJoCo: depth first, a body's joints and geoms before
// its child bodies; copies of a replicate get its suffix, attached models their prefix. The
// friction of a pair follows MuJoCo's rule (the maximum, or the higher priority's). A file may be
// included only once. Supported: bodies with frames, replicates, attached models and inertias; all
// joints; geoms, meshes as their convex hulls; contact pairs and exclusions; fixed and spatial
// tendons with wrapping; actuators with activations, muscles and adhesion; the equalities connect,
// weld, joint and tendon; keyframes; sites and sensors; gravity, medium, step and flags of
// <option>. Sensors have no influence on the motion: those that are not supported (cameras, geom
// distances, contact, tactile, user, plugin) are left out with a warning, and noise is ignored.
// Unsupported elements that would change the physics are reported: see sap_scene_read, and `sapstep
// info FILE`. The margin of a geom or pair is its rest distance, as in MuJoCo since 3.9 (before, a
// pair had the larger one, less the gap). gap is ignored: in MuJoCo it lists contacts without
// force. Positive solref and solimp are MuJoCo's solver tuning and are ignored. Settings that MJCF
// cannot express are in <custom><numeric name="..." data="..."/>:
//   sapstep:stiffness               k of all geoms [N/m]
//   sapstep:relaxation_time         tau_d of all geoms [s]
//   sapstep:stiffness:GEOM          of one geom, by its name in its own file or in the whole scene
//   sapstep:relaxation_time:GEOM    of one geom
//   sapstep:dissipation, sapstep:stiction_tolerance, sapstep:static_friction, and each with :GEOM
//                                   d [s/m], v_s [m/s], static mu of similar and lagged contacts
//   sapstep:modulus, sapstep:field_depth, and each with :GEOM
//                                   E [Pa] and H [m] of a pressure field: contact in patches
//   <text name="sapstep:contact_model" data="lagged"/>, also with :GEOM: sap, similar or lagged; of
//                                   two geoms the later of these models
//   sapstep:surface_velocity:GEOM   velocity [m/s] and angular velocity [rad/s] of a geom's surface
//   sapstep:limit_stiffness         of all joint and tendon limits [N m/rad, N/m]
//   sapstep:limit_relaxation_time   of all joint and tendon limits [s]
//   sapstep:harmonic_friction       1: friction of pairs as in URDF, 2 a b/(a + b); 0: the larger one
//   sapstep:beta, sapstep:sigma     near-rigid and slip parameters of the scene [-]
// solref="-k -d" of a geom is k [N/m] and tau_d = d/k, solreflimit the same for a limit. It
// overrides the settings for all geoms; settings for one geom override it. An attached model may
// have its own settings for all its geoms (but not beta and sigma).
//
// URDF. Joints: revolute, continuous, prismatic, fixed, floating, planar, spherical (ball),
// universal and screw; <mimic> couples them, <loop_joint> closes loops. Shapes of <collision>: box,
// sphere, cylinder, capsule, drake:capsule, drake:ellipsoid, meshes as their convex hulls; one with
// a name is called "LINK/NAME". The root link is welded to the world unless the options make it
// float; a root link called "world" is the world. Limits lower = upper = 0, which exporters write
// when nobody has set them, lock the joint (use type="continuous" instead). An effort limit > 0
// bounds the actuators' forces, a velocity limit > 0 is the fastest that motors drive the joint.
// <transmission> makes an actuator of a joint: an effort, or with <drake:controller_gains> a servo.
// Material: <drake:proximity_properties>, or Bullet's <contact><lateral_friction/>; pairs combine
// harmonically.
// drake:rotor_inertia and drake:gear_ratio make the armature gear_ratio^2 rotor_inertia. Also
// Drake's frames, ball constraints, bushings, spring-dampers, tendon constraints and collision
// filter groups.
//
// <drake:proximity_properties> in a <collision> of URDF, or in a <geom> of MJCF or its default
// (where MuJoCo refuses them and Drake ignores them), may have drake:point_contact_stiffness,
// drake:relaxation_time, drake:hunt_crossley_dissipation, drake:mu_dynamic, drake:mu_static (one
// alone: both), and drake:hydroelastic_modulus of a pressure field: contact in patches, unless
// drake:rigid_hydroelastic is there. drake:compliant_hydroelastic needs a modulus.
// drake:hydroelastic_margin and drake:mesh_resolution_hint have no effect: contact is seen before
// it happens, and fields have no mesh.
//
// Mesh files: STL, OBJ and MSH.
#pragma once

#include <sapstep/base.h>
#include <sapstep/model.h>

SAP_C_BEGIN

typedef enum sap_scene_format {
  SAP_SCENE_AUTO,  // by the root element: <mujoco> or <robot>
  SAP_SCENE_MJCF,
  SAP_SCENE_URDF,
} sap_scene_format;

// Changes one value of the file before it is read. `path` is ELEMENT/NAME/ATTRIBUTE, e.g.
// "geom/ball/density", "body/box/inertial/mass" (a child in between), "option/*/gravity[2]" (of all
// such elements; a part of a list), "default/cube/geom/friction" (a class), "joint/elbow/damping".
// Included files can be changed, attached models cannot. An absent attribute is added.
typedef struct sap_scene_edit {
  const char *path, *value;
} sap_scene_edit;

// Receives a note of the file. name: without "sapstep:".
typedef void (*sap_note_function)(void* context, const char* name, const char* text);
// Receives the bytes of a file that the scene was read from.
typedef void (*sap_file_function)(void* context, const char* path, const void* bytes, size_t size);

// Start with sap_scene_options_default(), which sets the cookie.
typedef struct sap_scene_options {
  uint32_t cookie;
  sap_scene_format format;        //                                                     (auto)
  bool lenient;                   // warn about unsupported features instead of failing  (false)
  bool visuals;                   // keep what is only drawn (visual meshes of MJCF, <visual> of
                                  // URDF), which recordings show                      (false)
  bool floating_base;             // URDF: the root link moves freely instead of being
                                  // welded to the world                                 (false)
  double floor;                   // URDF: height of a floor of the default material [m];
                                  // NaN: none                                           (NaN)
  sap_material default_material;  // k, tau_d (and mu for URDF) of shapes without their own; k = 0:
                                  // by mass, see sap_shape_def; the model BY_MATERIAL is "lagged"
                                  // for shapes with a pressure field, else "sap"
                                  // (0, 0.01 s, 0.5, BY_MATERIAL)
  const sap_material* override_material;  // replaces the fields of every shape's material that are
                                          // set (see sap_material_unset); NULL: none    (NULL)
  const sap_scene_edit* edits;            // applied in this order; ARGUMENT where the file has no
  int32_t edit_count;                     // such element                                (NULL, 0)
  sap_message_function warning;           // may be NULL
  void* warning_context;
  sap_note_function note;  // called with every <text name="sapstep:exact:JOINT" data="..."/>: notes
                           // for programs without influence on the physics; may be NULL (NULL)
  void* note_context;
  sap_file_function file;  // called once with each file that is read: the scene, included and
                           // attached files, meshes; may be NULL                      (NULL)
  void* file_context;
} sap_scene_options;

SAP_API sap_scene_options sap_scene_options_default(void);

// Reads the file and the files that it includes. Purely visual elements are skipped. On failure
// *out is NULL. options NULL: defaults. Messages are "file:line: <element attribute="value">: why";
// the line is that of the end of the start tag.
// fails:
//   UNSUPPORTED  an unsupported feature that would change the physics (if lenient: a warning)
//   IO           missing or unreadable file
//   SYNTAX       malformed XML or value, unknown element or attribute, a document type definition
//   NOT_FINITE   nan, inf or a number too large
//   NOT_SPD      an inertia that no body can have
//   ARGUMENT     an invalid option, or refused by the builder
//   MEMORY
SAP_API sap_status sap_scene_read(const char* path, const sap_scene_options* options,
                                  sap_model** out, sap_error* error);

SAP_C_END
