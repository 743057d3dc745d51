// SPDX-License-Identifier: BSD-3-Clause
// MuJoCo's models and data, stepped by sapstep: library sapstep_mujoco, for MuJoCo 2.2.2 and 3.3.3
// to 4.0. MuJoCo finds kinematics, forces, contacts and constraint rows, sapstep the velocities at
// the end of the step, MuJoCo moves the state and evaluates sensors.
//
//   A = M + h D + h^2 K,   A (v* - v0) = h f - h^2 K v0,   min over v of l(v)       castro (24)
//   qacc = (v - v0)/h,  efc_force = gamma/h,  qfrc_constraint = J' gamma/h
//   M qacc = qfrc_smooth + qfrc_constraint  with the forces of springs, dampers and servos at the
//   end of the step, which are written back to qfrc_passive, qfrc_actuator and actuator_force.
//   efc_aref, of use to MuJoCo's own solver, is zero but after sap_mj_step1 and with surface
//   velocities.
//
// D and K: damping and stiffness of joints, tendons and actuators, gains of affine servos, of
// MuJoCo 4's orientation servos and DC motors. Muscles, drag of a medium, plugins and callbacks
// push as at the start of the step. A servo that meets its force range, or that of its joint or
// tendon, in the step becomes a block of the problem; where a servo acts on several joints, the
// range of one of them bounds its force at the start of the step. PID controllers and DC motors
// that start a step at their bound stay there for that step. Contacts have physical stiffness k and
// relaxation time tau_d, in this order from sap_mj_set_geom; <custom> numerics "sapstep:stiffness",
// "sapstep:stiffness:GEOM", "sapstep:relaxation_time[:GEOM]"; a negative solref, read as (-k, -k
// tau_d) in N/m and N s/m; or max(1e6 N/m, 1e5 s^-2 m), static geoms rigid, tau_d = 0.01 s. Limits
// and equalities: sapstep:limit_stiffness, a negative solref (SI units of their own), rigid. What
// starts beyond a rigid limit, or with a rigid equality open, comes back at up to 1 m/s or rad/s
// (SAP_RECOVERY_SPEED), where MuJoCo's soft ones creep: Gymnasium's Fetch, whose torso starts 39
// mm below its range while its straight arm is welded to a mocap body, turns its elbow at 35
// rad/s once; with sapstep:limit_stiffness 1e4 it does not.
//
// The model is not written. Its options hold but for: integrator (linearly implicit Euler always),
// solver and its settings, noslip, islands, sleep, warm start; o_solref, solimp, impratio and
// solreffriction mean nothing to contacts. Both kinds of friction cones in the model give the same
// elliptic cone here. Flexes: springs along their edges are implicit, with MuJoCo 4.0 their
// stretch and bending, too (of interpolated ones those of one cell); else elastic forces are those
// at the start of the step. Their contacts have k = 1e6 N/m and tau_d = 0.01 s, or the flex's own
// solref and numerics like a geom's; edges and strains held by equalities without a negative
// solref are as soft as MuJoCo has them at rest.
//
// Errors of MuJoCo (mju_error) come back as SAP_STATUS_CALLBACK with MuJoCo's text: the first
// sap_mj_create or sap_mj_call puts a handler at mju_user_error, which hands on what happens
// outside of our calls to the handler before it.
#ifndef SAPSTEP_MUJOCO_H
#define SAPSTEP_MUJOCO_H

#include <sapstep/base.h>
#include <sapstep/contact.h>
#include <sapstep/solver.h>

#ifdef __cplusplus
extern "C" {
#endif

typedef struct mjModel_ mjModel;
typedef struct mjData_ mjData;

// The one list of the adapter's own options, as SAP_SOLVER_OPTIONS:
//   X(type, name, default, minimum, maximum, "meaning [unit]")
#define SAP_MJ_OPTIONS(X)                                                                 \
  X(contact_model, contact_model, SAP_CONTACT_SAP, 0, SAP_CONTACT_MODEL_COUNT - 1,        \
    "contact model of all contacts")                                                      \
  X(real, dissipation, 20, 0, 1e300, "Hunt-Crossley dissipation (similar, lagged) [s/m]") \
  X(real, stiction_tolerance, 1e-4, 0, 1e300,                                             \
    "slip speed below which contacts stick (similar, lagged) [m/s]")                      \
  /* false: all forces are those at the start of the step */                              \
  X(boolean, implicit, true, 0, 1, "integrate springs, dampers and servos implicitly")    \
  /* false: a step depends on nothing but mjData */                                       \
  X(boolean, remember, true, 0, 1, "start each step from the previous step's impulses")   \
  /* a mocap body that moved faster since the last step was placed there and rests */     \
  X(real, mocap_speed_limit, 20, 0, INFINITY, "fastest motion of a mocap body [m/s]")

// Start with sap_mj_options_default(), which sets the cookie.
typedef struct sap_mj_options {
  uint32_t cookie;
#define SAP_X(type, name, value, low, high, meaning) sap_type_##type name;
  SAP_MJ_OPTIONS(SAP_X)
#undef SAP_X
  sap_regularization regularization;  // beta, sigma; NaN: the model's "sapstep:beta",
                                      // "sapstep:sigma", else 1 and 1e-3 (NaN)
  const char* solver;                 // name of the contact solver ("sap")
  // Options of the contact solver. check_input is off here. time_limit bounds a call that steps:
  // the solver gets what MuJoCo and the assembly have left over, and its best impulses make the
  // step; its report's outcome is then TIME_LIMIT.
  sap_solver_options solver_options;
  sap_message_function warning;  // MuJoCo's warnings while stepping; NULL: MuJoCo's own way (NULL)
  void* warning_context;
} sap_mj_options;

SAP_API sap_mj_options sap_mj_options_default(void);

// What the last step did.
typedef struct sap_mj_report {
  int32_t velocities, trees, blocks, rows;  // size of the contact problem
  int32_t contacts;                         // with rows
  int32_t servo_blocks;                     // servos at, or near, their force range
  int32_t solves;                           // 1; one more each time that a servo met its range
  double penetration;                       // largest at the start of the step, >= 0 [m]
  double slip;           // largest tangential velocity of a loaded contact at the end [m/s]
  double mean_slip;      // its mean over all contacts with friction [m/s]
  double time_position;  // wall clock [s]: MuJoCo's part up to velocities
  double time_assembly;  // A, v* and blocks
  double time_solver;
  double time_total;
  const sap_report* solver;    // NULL when there was no block
  const sap_problem* problem;  // of this step; views, valid until the next step
  const sap_solution* solution;
} sap_mj_report;

typedef struct sap_mj sap_mj;  // workspace for one model; one per thread

// options NULL: defaults. The model must outlive it and keep its sizes; options, gains, stiffness
// and the like may change between steps. UNSUPPORTED names what the model has that is not stepped.
SAP_API sap_status sap_mj_create(const mjModel* model, const sap_mj_options* options, sap_mj** out,
                                 sap_error* error);
SAP_API void sap_mj_destroy(sap_mj* adapter);

// One step of the model's timestep, in place of mj_step. On failure qpos, qvel, act and time are as
// they were. NOT_FINITE: the state, controls or applied forces; STEP_FAILED: the contact solver
// stalled, or MuJoCo had no room for contacts or constraints; NOT_SPD: M; CALLBACK: mju_error.
SAP_API sap_status sap_mj_step(sap_mj* adapter, mjData* data, sap_mj_report* report,
                               sap_error* error);
// The halves, in place of mj_step1 and mj_step2: set controls in between.
SAP_API sap_status sap_mj_step1(sap_mj* adapter, mjData* data, sap_error* error);
SAP_API sap_status sap_mj_step2(sap_mj* adapter, mjData* data, sap_mj_report* report,
                                sap_error* error);
// All but the motion, in place of mj_forward: forces, accelerations and sensors.
SAP_API sap_status sap_mj_forward(sap_mj* adapter, mjData* data, sap_mj_report* report,
                                  sap_error* error);

// Contact stiffness [N/m], > 0 or infinite, and relaxation time [s] of a geom, -1: of all,
// flexes too.
SAP_API sap_status sap_mj_set_geom(sap_mj* adapter, int32_t geom, double stiffness,
                                   double relaxation_time, sap_error* error);
SAP_API sap_status sap_mj_get_geom(const sap_mj* adapter, int32_t geom, double* stiffness,
                                   double* relaxation_time, sap_error* error);
// Of the limits of a joint, -1: of all joints and tendons [N/m, N m/rad], [s].
SAP_API sap_status sap_mj_set_limit(sap_mj* adapter, int32_t joint, double stiffness,
                                    double relaxation_time, sap_error* error);

// Forgets impulses and mocap positions of the steps before: from the same mjData this and a new
// adapter then give the same bits.
SAP_API void sap_mj_forget(sap_mj* adapter);

// A run on disk, after a step: mjData's state, controls and applied forces (mjSTATE_INTEGRATION)
// and what the adapter keeps from step to step. From there the run goes on bit for bit, with the
// same MuJoCo on the same kind of machine. The file appears whole or not at all and ends with a
// checksum. ARGUMENT, NOT_FINITE (the state), MEMORY, IO.
SAP_API sap_status sap_mj_checkpoint_write(const char* path, sap_mj* adapter, const mjData* data,
                                           int64_t steps, sap_error* error);
// IO: no file or not readable. SYNTAX: no such checkpoint, of another version of sapstep or of
// MuJoCo, damaged or cut off. ARGUMENT: of another model, with other materials of geoms and limits,
// or made with other options: the message names the first, its value then and now. On failure data
// and *steps are as before, and so is the adapter, but that MEMORY may leave it as sap_mj_forget.
SAP_API sap_status sap_mj_checkpoint_read(const char* path, sap_mj* adapter, mjData* data,
                                          int64_t* steps, sap_error* error);

// Calls a function with MuJoCo's errors as a status, e.g. around mj_makeData. What the function had
// allocated when the error came is not freed.
SAP_API sap_status sap_mj_call(void (*function)(void* context), void* context, sap_error* error);
// mj_loadXML or, for a name that ends in .mjb, mj_loadModel; freed by mj_deleteModel. IO: no such
// file; SYNTAX: MuJoCo's text.
SAP_API sap_status sap_mj_load(const char* path, mjModel** out, sap_error* error);
// MuJoCo that this was built with, "2.2.2".
SAP_API const char* sap_mj_version(void);

#ifdef __cplusplus
}
#endif

#endif
