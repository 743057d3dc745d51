// SPDX-License-Identifier: BSD-3-Clause
// Sensors and sites of a model; sap_multibody_sensors reads the values.
#pragma once

#include <sapstep/model.h>

SAP_C_BEGIN

// Sensors: X(id, name in MJCF, number of values, object, stage). The object is a frame in a body, a
// joint, ...; stage STEP: the value is that of a step, zero if none was made. Frames: `local` is in
// the axes of the frame, the others are in the world's axes or those of the reference.
// clang-format off
#define SAP_SENSOR_TYPES(X)                                                                        \
  /* local: acceleration less gravity [m/s^2], velocity, angular velocity, force and moment that   \
     the body gets from its parent [N, N m], magnetic_field of the model's options */              \
  X(ACCELEROMETER, "accelerometer", 3, FRAME, STEP)                                                \
  X(VELOCIMETER, "velocimeter", 3, FRAME, STATE)                                                   \
  X(GYRO, "gyro", 3, FRAME, STATE)                                                                 \
  X(FORCE, "force", 3, FRAME, STEP)                                                                \
  X(TORQUE, "torque", 3, FRAME, STEP)                                                              \
  X(MAGNETOMETER, "magnetometer", 3, FRAME, STATE)                                                 \
  /* distance along the frame's z axis to the first shape of another body [m], -1: none */         \
  X(RANGEFINDER, "rangefinder", 1, FRAME, STATE)                                                   \
  /* normal force [N] of the body's contacts whose line of force meets `zone` in the frame */      \
  X(TOUCH, "touch", 1, FRAME, STEP)                                                                \
  X(FRAME_POSITION, "framepos", 3, FRAME, STATE)                                                   \
  X(FRAME_QUATERNION, "framequat", 4, FRAME, STATE)                                                \
  X(FRAME_X_AXIS, "framexaxis", 3, FRAME, STATE)                                                   \
  X(FRAME_Y_AXIS, "frameyaxis", 3, FRAME, STATE)                                                   \
  X(FRAME_Z_AXIS, "framezaxis", 3, FRAME, STATE)                                                   \
  X(FRAME_VELOCITY, "framelinvel", 3, FRAME, STATE)                                                \
  X(FRAME_ANGULAR_VELOCITY, "frameangvel", 3, FRAME, STATE)                                        \
  /* less gravity; not relative to the reference */                                                \
  X(FRAME_ACCELERATION, "framelinacc", 3, FRAME, STEP)                                             \
  X(FRAME_ANGULAR_ACCELERATION, "frameangacc", 3, FRAME, STEP)                                     \
  /* hinge or slide; force of its actuators, gears included; distance beyond a limit (< 0, else    \
     0), its rate, the limit's force */                                                            \
  X(JOINT_POSITION, "jointpos", 1, SCALAR_JOINT, STATE)                                            \
  X(JOINT_VELOCITY, "jointvel", 1, SCALAR_JOINT, STATE)                                            \
  X(JOINT_EFFORT, "jointactuatorfrc", 1, SCALAR_JOINT, STEP)                                       \
  X(JOINT_LIMIT_POSITION, "jointlimitpos", 1, SCALAR_JOINT, STATE)                                 \
  X(JOINT_LIMIT_VELOCITY, "jointlimitvel", 1, SCALAR_JOINT, STATE)                                 \
  X(JOINT_LIMIT_FORCE, "jointlimitfrc", 1, SCALAR_JOINT, STEP)                                     \
  X(BALL_QUATERNION, "ballquat", 4, BALL_JOINT, STATE)                                             \
  X(BALL_ANGULAR_VELOCITY, "ballangvel", 3, BALL_JOINT, STATE)                                     \
  /* force of its actuators, before their gears */                                                 \
  X(TENDON_LENGTH, "tendonpos", 1, TENDON, STATE)                                                  \
  X(TENDON_VELOCITY, "tendonvel", 1, TENDON, STATE)                                                \
  X(TENDON_EFFORT, "tendonactuatorfrc", 1, TENDON, STEP)                                           \
  X(TENDON_LIMIT_POSITION, "tendonlimitpos", 1, TENDON, STATE)                                     \
  X(TENDON_LIMIT_VELOCITY, "tendonlimitvel", 1, TENDON, STATE)                                     \
  X(TENDON_LIMIT_FORCE, "tendonlimitfrc", 1, TENDON, STEP)                                         \
  /* with the gear; force before it */                                                             \
  X(ACTUATOR_LENGTH, "actuatorpos", 1, ACTUATOR, STATE)                                            \
  X(ACTUATOR_VELOCITY, "actuatorvel", 1, ACTUATOR, STATE)                                          \
  X(ACTUATOR_FORCE, "actuatorfrc", 1, ACTUATOR, STEP)                                              \
  /* a body and all behind it: centre of mass, its velocity, angular momentum about it */          \
  X(SUBTREE_CENTER, "subtreecom", 3, BODY, STATE)                                                  \
  X(SUBTREE_VELOCITY, "subtreelinvel", 3, BODY, STATE)                                             \
  X(SUBTREE_MOMENTUM, "subtreeangmom", 3, BODY, STATE)                                             \
  X(CLOCK, "clock", 1, NOTHING, STATE)                                                             \
  X(POTENTIAL_ENERGY, "e_potential", 1, NOTHING, STATE)                                            \
  X(KINETIC_ENERGY, "e_kinetic", 1, NOTHING, STATE)
// clang-format on
#define SAP_SENSOR_ID(id, ...) SAP_SENSOR_##id,
typedef enum sap_sensor_type {
  SAP_SENSOR_TYPES(SAP_SENSOR_ID) SAP_SENSOR_TYPE_COUNT
} sap_sensor_type;

// Sensor. Its values have no influence on the motion: see sap_multibody_sensors.
typedef struct sap_sensor_def {
  uint32_t cookie;  // set by sap_sensor_def_default()
  const char* name;
  sap_sensor_type type;     //                                              (accelerometer)
  int32_t object;           // joint, tendon, actuator or body; of a frame: its body     (0)
  double p_BX[3], q_BX[4];  // the frame in that body                        (0, identity)
  int32_t reference;        // body of the frame of reference; -1: none, the world      (-1)
  double p_BR[3], q_BR[4];  // the frame of reference in that body           (0, identity)
  double cutoff;            // > 0: largest absolute value, not of axes and quaternions (0)
  sap_shape_type zone;      // touch: a volume about the frame, a shape of this type and these
  double zone_size[3];      // sizes; not a plane or mesh                        (sphere, 0)
} sap_sensor_def;

// Site: a frame in a body, for users only.
typedef struct sap_site_def {
  uint32_t cookie;  // set by sap_site_def_default()
  const char* name;
  int32_t body;             //                                                           (0)
  double p_BX[3], q_BX[4];  //                                               (0, identity)
} sap_site_def;

SAP_API sap_sensor_def sap_sensor_def_default(void);
SAP_API sap_site_def sap_site_def_default(void);

// Each checks its definition and stores the new id in *id (NULL allowed); see sap_builder_add_body.
SAP_API sap_status sap_builder_add_sensor(sap_builder* builder, const sap_sensor_def* def,
                                          int32_t* id, sap_error* error);
SAP_API sap_status sap_builder_add_site(sap_builder* builder, const sap_site_def* def, int32_t* id,
                                        sap_error* error);
// Return definitions as compiled, see sap_model_get_body.
SAP_API sap_status sap_model_get_sensor(const sap_model* model, int32_t sensor, sap_sensor_def* out,
                                        sap_error* error);
SAP_API sap_status sap_model_get_site(const sap_model* model, int32_t site, sap_site_def* out,
                                      sap_error* error);
// Returns the number of a sensor's values, and where they start among those of all; 0 out of range.
SAP_API int32_t sap_model_sensor_values(const sap_model* model, int32_t sensor, int32_t* first);

SAP_C_END
