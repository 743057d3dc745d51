// SPDX-License-Identifier: BSD-3-Clause
// Actuators: what is explicit, and what the blocks of servos need. `input` (nu; NULL: zero) are the
// controls, and the activations in the place of those of actuators that have one.
//
// By its law at hand an actuator is
//   a servo        force = offset - kp l - kd dl/dt with kp, kd >= 0, not both 0: a block of the
//                  contact problem (multibody/assembly/assembly_servo.c);
//   a motor        of constant force, explicit; on a joint with a motor speed a servo of that
//                  speed, whose bounds are 0 and the force;
//   an element     all else, muscles above all: a force element with what is positive of its
//                  stiffness and damping (multibody/dynamics/elements.c).
// The sum of the forces on a joint or tendon may be bounded; motors and elements are then summed
// explicitly, servos act as one. `bound` counts the joints first, then the tendons.
#ifndef SAP_MULTIBODY_DYNAMICS_ACTUATORS_H
#define SAP_MULTIBODY_DYNAMICS_ACTUATORS_H

#include "multibody/dynamics/dynamics.h"

// force = offset - kp l - kd dl/dt, l = gear times the transmission's length.
typedef struct sap_actuator_line {
  double offset, kp, kd;
  double lower, upper;  // bounds
} sap_actuator_line;

// Force at a length and rate, clamped, and what it falls by with them.
typedef struct sap_actuator_force {
  double force, stiffness, damping;
} sap_actuator_force;

// Switches of the actuators, all on at first.
bool* sap_dynamics_actuator_switches(sap_dynamics* dynamics);
bool sap_dynamics_actuator_is_on(const sap_dynamics* dynamics, int32_t actuator);
// Those that can be more than a motor of constant force: all that may be servos are among them.
const int32_t* sap_dynamics_other_actuators(const sap_dynamics* dynamics, int32_t* count);

// Of one that has no muscle.
sap_actuator_line sap_dynamics_actuator_line(const sap_model* model, int32_t actuator,
                                             const double* input);
bool sap_dynamics_actuator_is_servo(const sap_model* model, int32_t actuator, const double* input);
// May it ever be an element?
bool sap_dynamics_actuator_is_elastic(const sap_model* model, int32_t actuator);
sap_actuator_force sap_dynamics_actuator_force(const sap_model* model, int32_t actuator,
                                               const double* input, double length, double rate);

// The bound of the sum that an actuator counts to, -1: none.
int32_t sap_model_effort_bound(const sap_model* model, int32_t actuator);
// Range of a bound: of sum gear force on a joint, of sum force on a tendon.
void sap_model_effort_range(const sap_model* model, int32_t bound, double* lower, double* upper);

// Fills in the forces of the simple ones; returns the ids of the others, `others` of them. (nu)
const int32_t* sap_dynamics_simple_forces(const sap_dynamics* dynamics, const double* input,
                                          double* force, int32_t* others);

// Adds sign times the generalized forces of motors, and of bounded elements, at (q set last, v).
void sap_dynamics_add_motors(sap_dynamics* dynamics, const double* q, const double* v,
                             const double* input, double sign, double* k);
// The same alone, cut to their ranges: sum gear force of each bound, zero elsewhere. Valid until
// the next call or the next motors' forces.
const double* sap_dynamics_motor_efforts(sap_dynamics* dynamics, const double* q, const double* v,
                                         const double* input);

// The activations a step later (na); `control` (nu) are the controls.
void sap_model_advance_activations(const sap_model* model, const double* control, const double* act,
                                   double dt, double* next);

#endif
