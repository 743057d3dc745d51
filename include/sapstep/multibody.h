// SPDX-License-Identifier: BSD-3-Clause
// The built-in multibody engine: a model made into a sap_system that the stepper steps.
#ifndef SAPSTEP_MULTIBODY_H
#define SAPSTEP_MULTIBODY_H

#include <sapstep/base.h>
#include <sapstep/contact.h>
#include <sapstep/model.h>
#include <sapstep/stepper.h>
#include <sapstep/system.h>

#ifdef __cplusplus
extern "C" {
#endif

typedef struct sap_multibody sap_multibody;  // workspace; one per thread

// The model must outlive it.
SAP_API sap_status sap_multibody_create(const sap_model* model, sap_multibody** out,
                                        sap_error* error);
SAP_API void sap_multibody_destroy(sap_multibody* multibody);
// The table to hand to sap_stepper_create; lives as long as the multibody.
SAP_API const sap_system* sap_multibody_system(const sap_multibody* multibody);

// Actuator controls, held until changed (nu); zero at first.
SAP_API sap_status sap_multibody_set_control(sap_multibody* multibody, const double* control,
                                             sap_error* error);

// Fills control (nu), which holds the last ones, from where a step begins; not 0: the step fails
// with SAP_STATUS_CALLBACK. Controls that are not finite make it fail as well.
typedef int (*sap_control_function)(void* context, double t, const double* q, const double* v,
                                    double* control);
// Asked at the beginning of every step; NULL: controls are held.
SAP_API sap_status sap_multibody_set_control_function(sap_multibody* multibody,
                                                      sap_control_function function, void* context,
                                                      sap_error* error);

// Forces from outside, held until changed, also by a control function; zero at first. They act in
// addition to everything else and count as none of the outputs below.
// Generalized forces [N, N m]; NULL: none. (nv)
SAP_API sap_status sap_multibody_set_applied_forces(sap_multibody* multibody, const double* tau,
                                                    sap_error* error);
// A force [N] at a point of a body that moves with it (NULL: the body's origin) and a moment [N m],
// in world axes; NULL: none. One wrench per body.
SAP_API sap_status sap_multibody_set_applied_wrench(sap_multibody* multibody, int32_t body,
                                                    const double p_BP[3], const double force[3],
                                                    const double moment[3], sap_error* error);

// Locks a joint or lets it go: the velocities of a locked joint are exactly zero, as if its body
// were welded to the parent. One that moves when it is locked stops in the next step as in a blow.
SAP_API sap_status sap_multibody_lock(sap_multibody* multibody, int32_t joint, bool locked,
                                      sap_error* error);
// What can be switched on and off between steps, by id. At first all is on but the equalities that
// the model has inactive.
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
// The contacts of two shapes with each other. Those that filters leave out stay out.
SAP_API sap_status sap_multibody_enable_contacts(sap_multibody* multibody, int32_t shape_a,
                                                 int32_t shape_b, bool enabled, sap_error* error);

// Contacts of the last step that was made with this multibody, sorted by shapes and feature.
// After sap_multibody_collect they carry R, vc and gamma of that step's solution.
SAP_API int32_t sap_multibody_contact_count(const sap_multibody* multibody);
SAP_API const sap_contact* sap_multibody_contacts(const sap_multibody* multibody);
SAP_API sap_status sap_multibody_collect(sap_multibody* multibody, const sap_step_report* report,
                                         sap_error* error);

// What the last step made with this multibody exerted; `report` is that step's. Forces are means
// over the step, impulses divided by dt.
// Generalized forces J' gamma/dt of all constraints, servos included, or of contacts alone. (nv)
SAP_API sap_status sap_multibody_constraint_forces(sap_multibody* multibody,
                                                   const sap_step_report* report, double* tau,
                                                   sap_error* error);
SAP_API sap_status sap_multibody_contact_forces(sap_multibody* multibody,
                                                const sap_step_report* report, double* tau,
                                                sap_error* error);
// Of the limits of a joint: along its coordinate, > 0 raises it; of a ball, about its rotation.
SAP_API sap_status sap_multibody_limit_force(sap_multibody* multibody,
                                             const sap_step_report* report, int32_t joint,
                                             double* force, sap_error* error);
// Of an equality, one number per row, the rest zero: connect, the force on b in the world; weld,
// that and the moment about the axes that b should have, times 1/torque_scale; distance, joint,
// tendon: along the length or coordinate of a.
SAP_API sap_status sap_multibody_equality_force(sap_multibody* multibody,
                                                const sap_step_report* report, int32_t equality,
                                                double force[6], sap_error* error);
// Forces of the actuators, before the gear. Where a joint's range has cut their sum, each gives way
// in proportion. (nu)
SAP_API sap_status sap_multibody_actuator_forces(sap_multibody* multibody,
                                                 const sap_step_report* report, double* force,
                                                 sap_error* error);
// What a joint transmits to the bodies behind it, efforts, springs, limits and friction of the
// joint included: force [N] and moment [N m] about its anchor, world axes; `end` is where the step
// ended. Right to first order in dt; zero for a free joint. UNSUPPORTED in models with springs or
// bushings between bodies, tendons through points, actuators on sites, or a medium.
SAP_API sap_status sap_multibody_joint_reaction(sap_multibody* multibody,
                                                const sap_step_report* report, const sap_state* end,
                                                int32_t joint, double force[3], double moment[3],
                                                sap_error* error);
// (v - v0)/dt of the step that ended with velocities v. (nv)
SAP_API sap_status sap_multibody_accelerations(sap_multibody* multibody,
                                               const sap_step_report* report, const double* v,
                                               double* acceleration, sap_error* error);
// Jacobian of a point p_BP of a body at q: 6 x nv, column-major, ld 6; J v = [omega; velocity of
// the point] in the world's axes.
SAP_API sap_status sap_multibody_point_jacobian(sap_multibody* multibody, const double* q,
                                                int32_t body, const double p_BP[3], double* J,
                                                sap_error* error);

// Pose of a body at q: p_WB (3) and quaternion (4).
SAP_API sap_status sap_multibody_body_pose(sap_multibody* multibody, const double* q, int32_t body,
                                           double p_WB[3], double q_WB[4], sap_error* error);
// The largest |g| of the equalities that are switched on, at q: what loops hang open by [m, rad].
SAP_API sap_status sap_multibody_closure(sap_multibody* multibody, const double* q, double* gap,
                                         sap_error* error);
// Collision detection alone, at q; the contacts are then what sap_multibody_contacts returns.
SAP_API sap_status sap_multibody_detect(sap_multibody* multibody, const double* q,
                                        sap_error* error);

#ifdef __cplusplus
}
#endif

#endif
