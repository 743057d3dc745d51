// SPDX-License-Identifier: BSD-3-Clause
// MuJoCo's models and data, stepped by sapstep: library sapstep_mujoco, for MuJoCo 2.2.2 and 3.3.3
// to 4.0. MuJoCo finds kinematics, forces, contacts and constraint rows; sapstep finds the
// velocities at the end of the step; MuJoCo moves the state and evaluates sensors.
//
//   A                    = M + h D + h^2 K
//   A (v* - v0)          = h f - h^2 K v0
//   v                    = argmin l(v)                          castro (24)
//   qacc                 = (v - v0)/h
//   efc_force            = gamma/h
//   qfrc_constraint      = J' gamma/h
//   M qacc               = qfrc_smooth + qfrc_constraint
//
// Forces of springs, dampers and servos are those at the end of the step; they are written back to
// qfrc_passive, qfrc_actuator and actuator_force. efc_aref, used by MuJoCo's own solver only, is
// zero except after sap_mj_step1 and with surface velocities.
//
// D and K: damping and stiffness of joints, tendons and actuators, gains of affine servos, of
// MuJoCo 4's orientation servos and DC motors. Muscles, fluid drag, plugins and callbacks act with
// their forces at the start of the step. A servo that reaches its force range, or that of its joint
// or tendon, in the step becomes a block of the problem. If a servo acts on several joints, the
// range of one of them bounds its force at the start of the step. PID controllers and DC motors
// that start a step at their bound stay there for that step.
//
// Contacts have physical stiffness k and relaxation time tau_d, from the first of these:
//   sap_mj_set_geom
//   <custom> numerics  "sapstep:stiffness[:GEOM]", "sapstep:relaxation_time[:GEOM]"
//   negative solref    read as (-k, -k tau_d) [N/m], [N s/m]
//   default            k = max(1e6 N/m, 1e5 s^-2 m), static geoms rigid, tau_d = 0.01 s
// Limits and equalities: "sapstep:limit_stiffness", a negative solref (in their own SI units),
// rigid. A rigid equality that starts open closes at up to 1 m/s or rad/s (SAP_RECOVERY_SPEED); a
// rigid limit that starts violated by more than motion explains returns at up to a fiftieth of
// regularization.impact_speed. MuJoCo's soft ones creep.
//
// The model is not modified. All its options apply except: integrator (always linearly implicit
// Euler), solver and its settings, noslip, islands, sleep, warm start. Contacts ignore o_solref,
// solimp, impratio and solreffriction. Pyramidal and elliptic models both get the elliptic cone.
// Models with flexes are refused.
//
// Contacts act in the step that closes them. mjData lists geoms that are apart at its start where
// the motion brings them together: dist > 0 is then the gap from which they act, their rows are
// those of the place where they first touch.
//
// Option `patches`: geoms, as they are at sap_mj_create, touch in patches as shapes with `modulus`
// do (sap_material, sap_mesh_def), found by the same functions. Height fields, signed distance
// fields, flat meshes, and pairs with a margin or anisotropic friction keep MuJoCo's points.
//
// MuJoCo's errors (mju_error) are returned as SAP_STATUS_CALLBACK with MuJoCo's text. The first
// sap_mj_create or sap_mj_call sets a handler in mju_user_error; errors outside of our calls are
// passed on to the previous handler.
#pragma once

#include <sapstep/base.h>
#include <sapstep/contact.h>
#include <sapstep/solver.h>

SAP_C_BEGIN

typedef struct mjModel_ mjModel;
typedef struct mjData_ mjData;

// The one list of the adapter's own options, as SAP_SOLVER_OPTIONS:
//   X(type, name, default, minimum, maximum, "meaning [unit]")
#define SAP_MJ_OPTIONS(X)                                                                   \
  X(contact_model, contact_model, SAP_CONTACT_BY_MATERIAL, -1, SAP_CONTACT_MODEL_COUNT - 1, \
    "contact model of all contacts; material: sap, with patches lagged")                    \
  X(real, dissipation, 20, 0, 1e300, "Hunt-Crossley dissipation (similar, lagged) [s/m]")   \
  X(real, stiction_tolerance, 1e-4, 0, 1e300,                                               \
    "slip speed below which contacts stick (similar, lagged) [m/s]")                        \
  /* false: all forces are those at the start of the step */                                \
  X(boolean, implicit, true, 0, 1, "integrate springs, dampers and servos implicitly")      \
  /* false: a step depends on nothing but mjData */                                         \
  X(boolean, remember, true, 0, 1, "start each step from the previous step's impulses")     \
  /* a mocap body that moved faster since the last step was placed there and rests */       \
  X(real, mocap_speed_limit, 20, 0, INFINITY, "fastest motion of a mocap body [m/s]")       \
  X(real, patches, 0, 0, 1e300, "elastic modulus of every geom, 0: contact in points [Pa]")

// Start with sap_mj_options_default(), which sets the cookie.
typedef struct sap_mj_options {
  uint32_t cookie;
#define SAP_X(type, name, value, low, high, meaning) sap_type_##type name;
  SAP_MJ_OPTIONS(SAP_X)
#undef SAP_X
  sap_regularization regularization;  // impact_speed; beta, sigma; NaN: the model's "sapstep:beta",
                                      // "sapstep:sigma", else 1 and 1e-3 (NaN)
  const char* solver;                 // name of the contact solver ("sap")
  // Options of the contact solver. check_input is off by default here. time_limit bounds a whole
  // step: the solver gets the time that MuJoCo and the assembly leave, and the step uses the best
  // impulses found so far; the outcome in the solver's report is then TIME_LIMIT.
  sap_solver_options solver_options;
  sap_message_function warning;  // receives MuJoCo's warnings; NULL: MuJoCo's handler (NULL)
  void* warning_context;
} sap_mj_options;

SAP_API sap_mj_options sap_mj_options_default(void);

// Report of the last step.
typedef struct sap_mj_report {
  int32_t velocities, trees, blocks, rows;  // size of the contact problem
  int32_t contacts;                         // that have rows
  int32_t servo_blocks;                     // servos at, or near, their force range
  int32_t solves;        // 1, plus 1 each time a servo reached its range or a far limit was reached
  double penetration;    // largest at the start of the step, >= 0 [m]
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

// Creates an adapter. options NULL: defaults. The model must outlive the adapter and keep its
// sizes; its options, gains, stiffness and the like may change between steps. UNSUPPORTED: the
// message names the feature of the model that is not supported.
SAP_API sap_status sap_mj_create(const mjModel* model, const sap_mj_options* options, sap_mj** out,
                                 sap_error* error);
SAP_API void sap_mj_destroy(sap_mj* adapter);

// Makes one step of the model's timestep, in place of mj_step. A failure leaves qpos, qvel, act and
// time unchanged. NOT_FINITE: the state, controls or applied forces. STEP_FAILED: the contact
// solver stalled, or MuJoCo had no room for contacts or constraints. NOT_SPD: M. CALLBACK:
// mju_error.
SAP_API sap_status sap_mj_step(sap_mj* adapter, mjData* data, sap_mj_report* report,
                               sap_error* error);
// Make half a step each, in place of mj_step1 and mj_step2; set controls in between.
SAP_API sap_status sap_mj_step1(sap_mj* adapter, mjData* data, sap_error* error);
SAP_API sap_status sap_mj_step2(sap_mj* adapter, mjData* data, sap_mj_report* report,
                                sap_error* error);
// Evaluates forces, accelerations and sensors without moving the state, in place of mj_forward.
SAP_API sap_status sap_mj_forward(sap_mj* adapter, mjData* data, sap_mj_report* report,
                                  sap_error* error);

// Report of one timestep by sap_mj_advance.
typedef struct sap_mj_advance_report {
  int32_t steps, rejected;      // pairs of half steps; attempts that were too long, or failed
  int32_t solves;               // steps as of sap_mj_step, three an attempt
  double least_dt, largest_dt;  // of the pairs [s]
  double error;                 // the largest, estimated; above accuracy only in the shortest [m]
  int32_t velocity;             // index of the one with that error; its body: dof_bodyid
  sap_mj_report step;           // of the last half
} sap_mj_advance_report;

// Makes one step of the model's timestep in parts, each with an error of at most `accuracy` [m]:
// of positions, and of velocities times 10 ms, by the lengths of sapstep/adaptive.h. The parts are
// pairs of steps, compared with one step (first order); the shortest is 1/4096 of the timestep,
// too long for impacts on contacts of the default stiffness where accuracy is below 1e-4.
// Callbacks see the length of the step under way in opt.timestep, also of rejected attempts.
// Checkpoints keep the length of the next part. report: may be NULL. Fails as sap_mj_step, also
// with ARGUMENT, and leaves the data's state and the adapter's memory unchanged then. Heap calls
// only while its buffers grow.
SAP_API sap_status sap_mj_advance(sap_mj* adapter, mjData* data, double accuracy,
                                  sap_mj_advance_report* report, sap_error* error);

// Derivatives of a step by differences; x = [dq v act] (2 nv + na), dq as mj_differentiatePos has
// it:
//   x' = A x + B ctrl,  sensordata = C x + D ctrl
typedef struct sap_mj_differences {
  double eps;  // width, > 0
  bool centered;
  double *A, *B, *C, *D;  // outputs, matrices of rows; NULL: not wanted
} sap_mj_differences;

// Differentiates the next step, in place of mjd_transitionFD, which differentiates MuJoCo's own.
// Controls stay in their ranges. Neither the data nor the adapter's memory changes. Create the
// adapter with a relative_tolerance of 1e-12: differences multiply errors of the solver by 1/eps.
// Fails as sap_mj_step, and with ARGUMENT: eps. Copies the data, by heap calls.
SAP_API sap_status sap_mj_transition(sap_mj* adapter, const mjData* data,
                                     const sap_mj_differences* differences, sap_error* error);

// Sets contact stiffness [N/m], > 0 or infinite, and relaxation time [s] of a geom; -1: of all
// geoms.
SAP_API sap_status sap_mj_set_geom(sap_mj* adapter, int32_t geom, double stiffness,
                                   double relaxation_time, sap_error* error);
SAP_API sap_status sap_mj_get_geom(const sap_mj* adapter, int32_t geom, double* stiffness,
                                   double* relaxation_time, sap_error* error);

// Forgets impulses and mocap positions of earlier steps: from the same mjData, this adapter and a
// new one then give bit-identical steps.
SAP_API void sap_mj_forget(sap_mj* adapter);

// Saves a run after a step: mjData's state, controls and applied forces (mjSTATE_INTEGRATION) and
// the adapter's memory. A run that continues from the file is bit-identical with the same MuJoCo on
// the same kind of machine. The file is written completely or not at all and ends with a checksum.
// Fails with ARGUMENT, NOT_FINITE (the state), MEMORY, IO.
SAP_API sap_status sap_mj_checkpoint_write(const char* path, sap_mj* adapter, const mjData* data,
                                           int64_t steps, sap_error* error);
// Loads a run. IO: no file, or not readable. SYNTAX: not a checkpoint, of another version of
// sapstep or of MuJoCo, damaged or truncated. ARGUMENT: another model, other materials of geoms and
// limits, or other options; the message names the first difference and both values. A failure
// leaves data, *steps and the adapter unchanged, except that MEMORY may leave the adapter as
// sap_mj_forget does.
SAP_API sap_status sap_mj_checkpoint_read(const char* path, sap_mj* adapter, mjData* data,
                                          int64_t* steps, sap_error* error);

// Calls a function, e.g. one that calls mj_makeData, and returns MuJoCo's errors as a status.
// Memory that the function has allocated before an error is not freed.
SAP_API sap_status sap_mj_call(void (*function)(void* context), void* context, sap_error* error);
// Loads a model by mj_loadModel if the name ends in .mjb, else by mj_loadXML; free it with
// mj_deleteModel. IO: no such file. SYNTAX: MuJoCo's text.
SAP_API sap_status sap_mj_load(const char* path, mjModel** out, sap_error* error);
// Returns the MuJoCo version that the library was built with, e.g. "2.2.2".
SAP_API const char* sap_mj_version(void);

SAP_C_END
