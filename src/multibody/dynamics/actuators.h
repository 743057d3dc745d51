// SPDX-License-Identifier: BSD-3-Clause
// Actuators: muscles, activations, explicit motor forces, and the laws that servo blocks need.
// `input` (nu; NULL: zero) holds the controls, or the activation of actuators that have one.
//
// The law of an actuator decides how it is treated:
//   servo    force = offset - kp l - kd dl/dt with kp, kd >= 0, not both 0: a linear force of the
//            momentum balance (servos.c), or a block of the contact problem
//            (multibody/assembly/assembly_servo.c)
//   motor    constant force: explicit. On a joint with a motor speed: a servo of that speed, with
//            bounds 0 and the force
//   element  all others, in particular muscles: a force element with the positive parts of its
//            stiffness and damping (multibody/dynamics/elements.c)
// A joint or tendon may bound the sum of its actuators' forces (effort range): motors and elements
// are then summed explicitly and servos act as one. `bound` is the joint, or joints + tendon.
#pragma once

#include "multibody/dynamics/drive.h"
#include "multibody/dynamics/dynamics.h"

// Force of a muscle along its length, see sap_muscle; negative: it pulls.
typedef struct sap_muscle_force {
  double value;         // [N]
  double length_slope;  // d value/d length [N/m]
  double rate_slope;    // d value/d rate [N s/m]
} sap_muscle_force;
// -F0 FL(L) FV(V) at activation 1, and -F0 FP(L).
sap_muscle_force sap_muscle_active(const sap_model_actuator* actuator, double length, double rate);
sap_muscle_force sap_muscle_passive(const sap_model_actuator* actuator, double length);

// force = offset - kp l - kd dl/dt, l = gear times the transmission's length.
typedef struct sap_actuator_line {
  double offset, kp, kd;
  double lower, upper;  // bounds of the force
} sap_actuator_line;
// Adds a law, in terms of the length before its gear, to the sum of those along that length.
void sap_actuator_line_add(sap_actuator_line* sum, const sap_actuator_line* line, double gear);

// d(length)/dt at v; overwrites the workspace's rows of force elements.
double sap_transmission_rate(sap_dynamics* dynamics, const sap_kinematics* kin, const double* v,
                             int32_t actuator);

// Clamped force at a length and rate; stiffness = -df/dl, damping = -df/d(dl/dt).
typedef struct sap_actuator_force {
  double force, stiffness, damping;
} sap_actuator_force;

// Law of an actuator without muscle.
sap_actuator_line sap_dynamics_actuator_line(const sap_model* model, int32_t actuator,
                                             const double* input);
bool sap_dynamics_actuator_is_servo(const sap_model* model, int32_t actuator, const double* input);
// True if the actuator may be an element for some input.
bool sap_dynamics_actuator_is_elastic(const sap_model* model, int32_t actuator);
sap_actuator_force sap_dynamics_actuator_force(const sap_model* model, int32_t actuator,
                                               const double* input, double length, double rate);

// --- servos as linear forces of a step, see servos.c ---
// Chooses them for a step of dt from its start.
void sap_dynamics_choose_servos(sap_dynamics* dynamics, const sap_dynamics_state* at, double dt);
bool sap_dynamics_servo_is_linear(const sap_dynamics* dynamics, int32_t actuator);
// Takes their lengths from another start, as of a part of the step.
void sap_dynamics_place_servos(sap_dynamics* dynamics, const sap_kinematics* kin);
// Returns how many are no longer linear: out of their bounds after dt, at v.
int32_t sap_dynamics_check_servos(sap_dynamics* dynamics, const double* v, double dt);
// k += sign times their generalized forces after dt, at v.
void sap_dynamics_add_servos(const sap_dynamics* dynamics, const double* v, double dt, double sign,
                             double* k);
// diagonal += K_scale K + D_scale D: lower triangles of the trees.
void sap_dynamics_add_servo_matrices(const sap_dynamics* dynamics, double K_scale, double D_scale,
                                     double* const* diagonal);

// The bound of the sum that an actuator belongs to; -1: none.
int32_t sap_model_effort_bound(const sap_model* model, int32_t actuator);
// Effort range of a bound: of sum gear force on a joint, of sum force on a tendon.
void sap_model_effort_range(const sap_model* model, int32_t bound, double* lower, double* upper);

// Fills in the forces of the simple motors (nu).
void sap_dynamics_simple_forces(const sap_dynamics* dynamics, const double* input, double* force);

// Adds sign times the generalized forces of motors and of bounded elements.
void sap_dynamics_add_motors(sap_dynamics* dynamics, const sap_dynamics_state* at, double sign,
                             double* k);
// Sum of gear force of each bound, clamped to its range; zero for other bounds. Valid until the
// next call or the next sap_dynamics_add_motors.
const double* sap_dynamics_motor_efforts(sap_dynamics* dynamics, const sap_dynamics_state* at);

// Activations after dt (na) from the controls (nu). exact: along exponentials, of second order where
// their time changes; else MuJoCo's.
void sap_model_advance_activations(const sap_model* model, const double* control, const double* act,
                                   double dt, bool exact, double* next);

// Finds the least and the largest of gear times the length over the ranges of the joints that move
// it, with equalities between joints; infinite if a joint without range lets it grow without bound.
// Leaves kin in another pose. In reach.c.
sap_status sap_find_reach(sap_kinematics* kin, int32_t actuator, double range[2], sap_error* error);
