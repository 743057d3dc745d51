// SPDX-License-Identifier: BSD-3-Clause
// The built-in multibody engine: makes a model into a sap_system for the stepper, and gives access
// to contacts, forces, energies and poses between steps.
#pragma once

#include <sapstep/base.h>
#include <sapstep/contact.h>
#include <sapstep/model.h>
#include <sapstep/stepper.h>
#include <sapstep/system.h>

SAP_C_BEGIN

typedef struct sap_multibody sap_multibody;  // workspace; one per thread

// The model must outlive the multibody.
SAP_API sap_status sap_multibody_create(const sap_model* model, sap_multibody** out,
                                        sap_error* error);
SAP_API void sap_multibody_destroy(sap_multibody* multibody);
// Returns the table to pass to sap_stepper_create; valid as long as the multibody.
SAP_API const sap_system* sap_multibody_system(const sap_multibody* multibody);

// --- inputs, held until changed ---

// Sets the actuator controls (nu); zero at first.
SAP_API sap_status sap_multibody_set_control(sap_multibody* multibody, const double* control,
                                             sap_error* error);

// Sets control (nu), which holds the last controls, from the state at the start of a step. Returns
// 0;
// otherwise the step fails with SAP_STATUS_CALLBACK. Controls that are not finite make the step
// fail too.
typedef int (*sap_control_function)(void* context, double t, const double* q, const double* v,
                                    double* control);
// Calls `function` at the start of every step; NULL: controls are held.
SAP_API sap_status sap_multibody_set_control_function(sap_multibody* multibody,
                                                      sap_control_function function, void* context,
                                                      sap_error* error);

// Forces that the user applies, also from a control function; zero at first. They act in addition
// to all other forces and appear in none of the outputs below.
// Sets the applied generalized forces [N, N m] (nv); NULL: none.
SAP_API sap_status sap_multibody_set_applied_forces(sap_multibody* multibody, const double* tau,
                                                    sap_error* error);
// Sets the one applied wrench of a body: a force [N] at a point that moves with the body (NULL: the
// body's origin) and a moment [N m], in world axes; NULL: none.
SAP_API sap_status sap_multibody_set_applied_wrench(sap_multibody* multibody, int32_t body,
                                                    const double p_BP[3], const double force[3],
                                                    const double moment[3], sap_error* error);

// Locks or unlocks a joint. The velocities of a locked joint are exactly zero, as if its body were
// welded to the parent. A moving joint that is locked stops in the next step as in a blow.
SAP_API sap_status sap_multibody_lock(sap_multibody* multibody, int32_t joint, bool locked,
                                      sap_error* error);
// Features that can be switched on and off between steps, by id. At first all are on except the
// equalities that are inactive in the model.
typedef enum sap_switch {
  SAP_SWITCH_EQUALITY,
  SAP_SWITCH_SPRING,
  SAP_SWITCH_BUSHING,
  SAP_SWITCH_ACTUATOR,
  SAP_SWITCH_JOINT_LIMIT,
  SAP_SWITCH_JOINT_FRICTION,
  SAP_SWITCH_TENDON_LIMIT,
  SAP_SWITCH_TENDON_FRICTION,
  SAP_SWITCH_SHAPE,  // all contacts of a shape
} sap_switch;
SAP_API sap_status sap_multibody_enable(sap_multibody* multibody, sap_switch kind, int32_t id,
                                        bool enabled, sap_error* error);

// --- contacts of the last step, sorted by shapes and feature ---

SAP_API int32_t sap_multibody_contact_count(const sap_multibody* multibody);
// Returns the contacts; R, vc and gamma are zero until sap_multibody_collect. Valid until the next
// step or detection.
SAP_API const sap_contact* sap_multibody_contacts(const sap_multibody* multibody);
// Sets R, vc and gamma of the contacts from the step's report. ARGUMENT: another step's report, or
// the contacts were replaced by sap_multibody_detect.
SAP_API sap_status sap_multibody_collect(sap_multibody* multibody, const sap_step_report* report,
                                         sap_error* error);
// Replaces the contacts by those at q, by collision detection alone.
SAP_API sap_status sap_multibody_detect(sap_multibody* multibody, const double* q,
                                        sap_error* error);

// A pair of shapes that overlap, or a limit that is violated, by more than an impact at the impact
// speed of sap_regularization explains: what is placed wrong, as motion does not lead there. It is
// undone slowly.
typedef struct sap_wrong_start {
  sap_element
      kind;       // SAP_ELEMENT_SHAPE: shapes a and b; SAP_ELEMENT_JOINT, SAP_ELEMENT_TENDON: the
  int32_t a, b;   // lower (b = 0) or upper (b = 1) limit of a
  double depth;   // [m], [rad]
  bool is_angle;  // depth is an angle
} sap_wrong_start;
typedef void sap_wrong_start_function(void* context, const sap_wrong_start* found);
// Calls `found` for each at the start of the last step, whose report that is; a pair of shapes with
// its deepest contact. ARGUMENT: as sap_multibody_collect.
SAP_API sap_status sap_multibody_wrong_starts(sap_multibody* multibody,
                                              const sap_step_report* report,
                                              sap_wrong_start_function* found, void* context,
                                              sap_error* error);

// --- forces of the last step: means over the step (impulse/dt); `report` is that step's ---

// Sets tau (nv) to the generalized forces J' gamma/dt of all constraints, servos included.
SAP_API sap_status sap_multibody_constraint_forces(sap_multibody* multibody,
                                                   const sap_step_report* report, double* tau,
                                                   sap_error* error);
// Same, of contacts only.
SAP_API sap_status sap_multibody_contact_forces(sap_multibody* multibody,
                                                const sap_step_report* report, double* tau,
                                                sap_error* error);
// Sets the force of a joint's limits along its coordinate, > 0 if it raises the coordinate; for a
// ball about the axis of its rotation.
SAP_API sap_status sap_multibody_limit_force(sap_multibody* multibody,
                                             const sap_step_report* report, int32_t joint,
                                             double* force, sap_error* error);
// Sets the forces of an equality, one per row, all others zero:
//   connect                  force on b in the world's axes
//   weld                     that, and the moment about the axes that b should have, times
//                            1/torque_scale
//   distance, joint, tendon  force along the length or coordinate of a
SAP_API sap_status sap_multibody_equality_force(sap_multibody* multibody,
                                                const sap_step_report* report, int32_t equality,
                                                double force[6], sap_error* error);
// Sets the forces of the actuators before the gear (nu). If an effort range has cut the sum of
// several, each is reduced in proportion.
SAP_API sap_status sap_multibody_actuator_forces(sap_multibody* multibody,
                                                 const sap_step_report* report, double* force,
                                                 sap_error* error);
// Sets the force [N] and the moment [N m] about the anchor, in world axes, that a joint transmits
// to the bodies behind it, including efforts, springs, limits and friction of the joint. `end`:
// state at the end of the step. First order in dt; zero for a free joint. UNSUPPORTED in models
// with springs or bushings between bodies, actuators on sites, or a medium.
SAP_API sap_status sap_multibody_joint_reaction(sap_multibody* multibody,
                                                const sap_step_report* report, const sap_state* end,
                                                int32_t joint, double force[3], double moment[3],
                                                sap_error* error);
// Sets acceleration = (v - v0)/dt (nv) of the step that ended with velocities v.
SAP_API sap_status sap_multibody_accelerations(sap_multibody* multibody,
                                               const sap_step_report* report, const double* v,
                                               double* acceleration, sap_error* error);

// --- kinematics and energies of a given state ---

// Sets J (6 x nv, column-major, ld 6) of a point p_BP of a body at q: J v = [omega; velocity of the
// point] in the world's axes.
SAP_API sap_status sap_multibody_point_jacobian(sap_multibody* multibody, const double* q,
                                                int32_t body, const double p_BP[3], double* J,
                                                sap_error* error);
// Sets position p_WB (3) and quaternion q_WB (4) of a body at q.
SAP_API sap_status sap_multibody_body_pose(sap_multibody* multibody, const double* q, int32_t body,
                                           double p_WB[3], double q_WB[4], sap_error* error);
// Sets origins p_WB (3 bodies) and rotations R_WB (9 bodies, column-major) of all bodies at q.
SAP_API sap_status sap_multibody_poses(sap_multibody* multibody, const double* q, double* p_WB,
                                       double* R_WB, sap_error* error);
// Finds the first shape that a ray from a point of the world meets at q. `direction` is normalised.
// Passes shapes of `body` (-1: none) and those with opacity 0; meets a plane from above only, and a
// mesh at its hull. *distance [m] and *shape are -1 if there is none. cost: O(shapes)
SAP_API sap_status sap_multibody_ray(sap_multibody* multibody, const double* q,
                                     const double origin[3], const double direction[3],
                                     int32_t body, double* distance, int32_t* shape,
                                     sap_error* error);
// Sets the values of all sensors (nsensor) at a state; sap_model_sensor_values (sensor.h) says
// where each one's are. report: of the step that led to the state, NULL: none. Values of a step use
// its accelerations (v - v0)/dt and its mean forces, at the configuration of the state: first order
// in dt. Calls sap_multibody_collect. Forces of tendons through points count as outer ones, as in
// MuJoCo since 3.14; those of springs between bodies and of the medium as the parent's.
SAP_API sap_status sap_multibody_sensors(sap_multibody* multibody, const sap_step_report* report,
                                         const sap_state* state, double* values, sap_error* error);
// Sets the largest |g| [m, rad] at q of the equalities that are switched on: the gap of open loops.
SAP_API sap_status sap_multibody_closure(sap_multibody* multibody, const double* q, double* gap,
                                         sap_error* error);

typedef struct sap_diagnostics {
  double kinetic;              // 1/2 v' M v, armature included [J]
  double potential_gravity;    // -sum m g . p_Co [J]
  double potential_springs;    // springs of joints, tendons and bodies, bushings [J]
  double mass;                 // of all moving bodies [kg]
  double p_WCm[3];             // their centre of mass [m]
  double linear_momentum[3];   // [kg m/s], armature not included
  double angular_momentum[3];  // about the world's origin [kg m^2/s], armature not included
} sap_diagnostics;

// Sets energies and momenta of a state with the model's sizes. ARGUMENT, NOT_FINITE.
SAP_API sap_status sap_multibody_diagnose(sap_multibody* multibody, const sap_state* state,
                                          sap_diagnostics* out, sap_error* error);

// --- batches: independent states of one model, stepped in parallel ---

// For example for sampling-based control. Each state has its own stepper: its motion is bit for bit
// that of a single stepper with the same calls, for any number of threads.
typedef struct sap_batch sap_batch;

// Creates a batch of `count` >= 1 states with 1 to 256 threads, the caller's among them. options
// NULL: the defaults. The model must outlive the batch.
SAP_API sap_status sap_batch_create(const sap_model* model, const sap_stepper_options* options,
                                    int32_t count, int32_t threads, sap_batch** out,
                                    sap_error* error);
SAP_API void sap_batch_destroy(sap_batch* batch);

// Returns the engine or the stepper of a state, for settings of single states (locks, control
// functions); NULL: no such state. A control function runs in any thread.
SAP_API sap_multibody* sap_batch_multibody(sap_batch* batch, int32_t index);
SAP_API sap_stepper* sap_batch_stepper(sap_batch* batch, int32_t index);

// Steps each of the states `steps` >= 1 times.
//   states    (count), of the model's sizes
//   controls  (count nu), state by state, held constant; NULL: those set before
//   statuses  result of each state (count), may be NULL
// A state whose step fails stays at its last successful step, the others go on. Returns the first
// failure, whose message begins with "state i: ". ARGUMENT: nothing was stepped.
SAP_API sap_status sap_batch_step(sap_batch* batch, sap_state* states, const double* controls,
                                  int32_t steps, sap_status* statuses, sap_error* error);

SAP_C_END
