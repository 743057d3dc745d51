// SPDX-License-Identifier: BSD-3-Clause
// The table of functions that a system provides so that the stepper can step it.
//
//   M(q) dv/dt = k(t, q, v) + J' gamma,   k = k1 + k2
//
// k1: force elements whose stiffness K and damping D are SPD (springs, dampers, PD control). They
// are treated implicitly, couplings between trees included. k2: all other forces (gravity,
// gyroscopic forces, ...). The built-in multibody engine, an adapter to another engine and a user's
// own code are all such systems. A callback returns 0, or any other number if it fails: the step
// then ends with SAP_STATUS_CALLBACK and leaves the state untouched.
#pragma once

#include <sapstep/base.h>
#include <sapstep/problem.h>

SAP_C_BEGIN

// A symmetric matrix with the pattern of A, filled by a callback. All entries are zero at first.
typedef struct sap_tree_matrix {
  double* const* diagonal;  // diagonal[t]: lower triangle, n_t x n_t, column-major, ld n_t (ntrees)
  double* const* coupling;  // coupling[c]: n_a x n_b, ld n_a, of couplings[c] = {a, b} (ncouplings)
} sap_tree_matrix;

// The step under way, as the stepper hands it to callbacks; for momentum_balance it may be a part
// of the step, with its own t, dt, q0 and v0. The arrays are views, valid during the call. The
// scheme evaluates the free motion at its theta point, castro (14):
//   v^theta = theta v + (1 - theta) v0
//   q^theta = q0 (+) theta dt (theta_vq v + (1 - theta_vq) v0)
typedef struct sap_step_context {
  double t;         // start of the step [s]
  double dt;        // [s]
  double theta;     // of the scheme, [0, 1]
  double theta_vq;  // of the scheme, [0, 1]
  // Where contacts, limits and bilateral constraints are evaluated: (theta, theta_vq) if they act
  // at the theta point, (1, 1) if they act at the end of the step. Each in [1/2, 1].
  double stage_theta, stage_theta_vq;
  bool rigid;             // rigid laws (Moreau-Jean) are in force instead of compliance
  const double* q0;       // positions at the start                                           (nq)
  const double* v0;       // velocities at the start                                          (nv)
  const double* v0_free;  // v0 with zeros where velocities are locked                    (nv)
  // Velocities expected at the end of the step. `constraints`: v0_free in the first solution, then
  // the solution before. `closure_error`: v of the solution that leads to q. Elsewhere NULL. (nv)
  const double* v_guess;
  // Solutions of this step before, in `constraints` and `missing_contacts`: 0 again where the first
  // solution is restored, without the contacts that later ones lacked.
  int32_t solutions;
  sap_regularization regularization;  // beta and sigma of the stepper's options
} sap_step_context;

// Requests to a system about its own memory, see sap_system.memory.
typedef enum sap_memory_request {
  SAP_MEMORY_SIZE,    // set *size to the number of bytes needed; bytes is NULL
  SAP_MEMORY_SAVE,    // write the memory to bytes, which has room for *size
  SAP_MEMORY_CHECK,   // check that bytes (*size of them) can be loaded, without side effects
  SAP_MEMORY_LOAD,    // take the memory from bytes; must not fail after CHECK
  SAP_MEMORY_FORGET,  // as if no step had been made; bytes and size are NULL; must not fail
} sap_memory_request;

// A rotation in a step of positions q = q0 (+) w, for derivatives: three velocities from `first` on
// vary by T dq0 + J dw (column-major); all others by dq0 + dw.
typedef struct sap_step_rotation {
  int32_t first;
  double T[9], J[9];
} sap_step_rotation;

// Text about derivatives that are not exact: parts separated by "; ".
enum { SAP_DERIVATIVE_NOTES = 256 };

// A number of a system that its steps depend on, for derivatives.
typedef enum sap_parameter_kind {
  SAP_PARAMETER_FRICTION,         // of a shape's material, as sap_shape_def has them
  SAP_PARAMETER_STIFFNESS,        // [N/m]
  SAP_PARAMETER_RELAXATION_TIME,  // [s]
  SAP_PARAMETER_DAMPING,          // of all velocities of a joint [N s/m, N m s]
  SAP_PARAMETER_ARMATURE,         // likewise [kg, kg m^2]
  SAP_PARAMETER_FRICTION_LOSS,    // likewise [N, N m]
  SAP_PARAMETER_SPRING,           // stiffness of a hinge or slide [N/m, N m]
  SAP_PARAMETER_GRAVITY,          // component id of the world's gravity [m/s^2]
  // kp or kd of an actuator's force, which falls by it with length or rate, and of its gain if that
  // is the same number [N/m, N m], [N s/m, N m s]
  SAP_PARAMETER_SERVO_STIFFNESS,
  SAP_PARAMETER_SERVO_DAMPING,
  SAP_PARAMETER_MASS,      // of a body, at the same inertia about its centre [kg]
  SAP_PARAMETER_CENTRE_X,  // its centre of mass in its axes [m]
  SAP_PARAMETER_CENTRE_Y,
  SAP_PARAMETER_CENTRE_Z,
  SAP_PARAMETER_INERTIA_XX,  // about its centre, in its axes [kg m^2]
  SAP_PARAMETER_INERTIA_YY,
  SAP_PARAMETER_INERTIA_ZZ,
  SAP_PARAMETER_INERTIA_XY,
  SAP_PARAMETER_INERTIA_XZ,
  SAP_PARAMETER_INERTIA_YZ,
  SAP_PARAMETER_COUNT
} sap_parameter_kind;
typedef struct sap_parameter {
  sap_parameter_kind kind;
  int32_t id;  // of the shape, joint, actuator or body
} sap_parameter;
// Gradients to parameters of a weighted sum of numbers, which are added to `out`.
typedef struct sap_parameter_gradient {
  const sap_parameter* parameters;
  int32_t count;
  double* out;  // (count)
} sap_parameter_gradient;

// Derivatives of the residual m/dt at (q, v, a), see sap_stepper_linearize. Matrices are dense, nv
// x nv, column-major, zero at first; positions vary in the tangent space. At the end of a step by
// momentum_balance `a` does not count, and the start (q0, v0) of the step does; else reversely.
typedef struct sap_balance_derivatives {
  const double *q, *v, *a;  // theta point, a = (v1 - v0)/dt
  double* residual;         // (nv); NULL: of the following, dq0, dv0 and du alone are wanted
  double *dq, *dv, *da;     // the only other ones wanted if residual is not NULL
  const double* lambda;     // NULL: matrices; else (nv) dq0, dv0 (nv) and du (nu) of lambda' m/dt
  double *dq0, *dv0;
  double* du;   // to the inputs (nv x nu)
  char* notes;  // (SAP_DERIVATIVE_NOTES)
} sap_balance_derivatives;

// Derivatives of the impulses p = J' gamma at velocities v, of the blocks that `constraints` made
// in the step about step->v_guess (NULL: count v as that). Matrices as above. v* varies with
// v_near, whose derivatives are dv_star, and with q_A. dq_theta is by the way of blocks to q^theta,
// see sap_step_displacement. If lambda (nv) is given, the vectors lambda' dp/dx (nv), of the inputs
// (nu), take the place of the matrices.
typedef struct sap_impulse_derivatives {
  const double* v;              // at the end of the step
  const double* v_star;         // v* from which slips were predicted
  const double *v_near, *q_A;   // where A was taken; v* = v_near - A^-1 x, x constant
  const double* lambda;         // NULL: matrices
  double* impulse;              // p (nv); NULL: not wanted
  double* minus_dv;             // -dp/dv is added, or lambda' of it; NULL: not wanted
  double *dq0, *dv0, *dv_star;  // NULL, all five and du: not wanted
  double *dq_A, *dq_theta;
  double* du;                                // to the inputs (nv x nu)
  const sap_parameter_gradient* parameters;  // of lambda' p; NULL: not wanted
  int32_t kinks;  // output: contacts and rows close to a kink of their law
  bool constant;  // output: dp/dv is the same at other v nearby
  char* notes;    // (SAP_DERIVATIVE_NOTES)
} sap_impulse_derivatives;

// A number, or some numbers, of a system on which its steps depend: "friction" of "shape" 3 "foot".
typedef struct sap_trait {
  const char *element, *field;
  int32_t id;         // of the element, -1: the system itself
  const char* name;   // of the element, "": none
  const void* value;  // (size) bytes, the same in every process
  size_t size;
} sap_trait;
typedef void (*sap_trait_visitor)(void* visitor, const sap_trait* trait);

typedef struct sap_system {
  void* context;  // first argument of every function

  int32_t nq;  // positions
  int32_t nv;  // velocities, the sum of tree_sizes
  int32_t ntrees;
  const int32_t* tree_sizes;      // velocities of each tree, >= 1                        (ntrees)
  int32_t ncouplings;             // pairs of trees that K or D may couple
  const int32_t (*couplings)[2];  // a != b, each pair once                             (ncouplings)
  // Velocities held at exactly zero: forces on them are ignored and blocks must not act on them.
  // Locking a velocity that is not zero stops it as a blow does that conserves the momentum of the
  // others. The flags may change between steps. NULL: none.                               (nv)
  const bool* locked;
  // Trees that are one free rigid body, whose momentum balance is linear in v but for gyroscopic
  // forces: they are linearized about the free motion. NULL: none.                        (ntrees)
  const bool* free_bodies;

  // --- required ---
  // Fills the lower triangles of the diagonal blocks of M(q).
  int (*mass_matrix)(void* context, const double* q, const sap_tree_matrix* M);
  // Adds k1 and k2 at (t, q, v) to arrays of zeros: generalized forces [N, N m].     (nv) each
  int (*forces)(void* context, double t, const double* q, const double* v, double* k1, double* k2);
  // Sets q = q0 (+) dt v on the manifold (q does not alias q0). Must be exact for v = 0.
  int (*integrate_positions)(void* context, const double* q0, const double* v, double dt,
                             double* q);

  // --- optional: NULL if there is none ---
  // Checks positions before a step that starts there: the status other than OK ends the step, with
  // the text of error, which is never NULL. Finite numbers are all that the stepper checks.
  sap_status (*check_positions)(void* context, const double* q, sap_error* error);
  // Called once at the start of a step, before all other functions, e.g. to choose controls.
  int (*begin_step)(void* context, const sap_step_context* step);
  // Fills K = -dk1/dq N and D = -dk1/dv at (t, q, v), SPD or positive semidefinite; castro
  // (16)-(17).
  int (*stiffness_damping)(void* context, double t, const double* q, const double* v,
                           const sap_tree_matrix* K, const sap_tree_matrix* D);
  // Adds K_scale K + D_scale D to A: used instead of stiffness_damping, where it is cheaper.
  int (*add_stiffness_damping)(void* context, double t, const double* q, const double* v,
                               double K_scale, double D_scale, const sap_tree_matrix* A);
  // Computes residual = M(q) a - k1 - k2 in one pass, for systems where that is cheaper than M
  // times a. (nv)
  int (*inverse_dynamics)(void* context, double t, const double* q, const double* v,
                          const double* a, double* residual);
  // Computes residual = M(q)(v - v0)/dt - k1 - k2 (nv) for a step from (q0, v0) to (q, v) that
  // takes all forces at its end (theta = theta_vq = 1) in another form: the change of momentum of
  // each body projected on the velocities at q. It differs from M(q)(v - v0) and Coriolis forces by
  // O(dt^2). load (nv), if not NULL: |k1| + |k2|, which scales the round-off; Coriolis forces may
  // be left out.
  int (*momentum_balance)(void* context, const sap_step_context* step, const double* q,
                          const double* v, double* residual, double* load);
  // Adds the constraint blocks to a problem that already holds dt, A, v*, the guess and the contact
  // law. Called again in the same step when the step is relinearized. error: never NULL and empty
  // at first; its text becomes part of the step's message if the function fails. Contacts may be
  // evaluated at q0, or at q^theta for second order, see sap_contact_block_move.
  int (*constraints)(void* context, const sap_step_context* step, sap_problem* problem,
                     sap_error* error);
  // Looks for contacts that motion with v (nv) closes within the step and that the last call of
  // `constraints` did not add. Sets *count to their number; `constraints` is then called again and
  // adds them too, and the problem is solved again from v. Thus the step has the solution of all
  // contacts, whichever `constraints` chose to begin with, by v* of the problem or by a margin:
  // contacts without impulse change nothing. NULL: `constraints` adds all that may act.
  int (*missing_contacts)(void* context, const sap_step_context* step, const double* v,
                          int32_t* count, sap_error* error);
  // Looks for forces that momentum_balance took by a law that does not hold at the velocities v
  // (nv) at the end of the step, as that of an actuator within its bounds. Sets *count to their
  // number and takes them by another law, mostly as blocks, until the step ends, which is then
  // solved again from its start. Each call may only add to them. NULL: all laws hold always.
  int (*changed_laws)(void* context, const sap_step_context* step, const double* v, int32_t* count);
  // Sets missed[i] = g(q) - (g0 + dt vc[i] + curvature) [m, rad] for each bilateral row i of the
  // problem: the gap g at the positions q at the end of the step, less the row's prediction with
  // the curvature that `constraints` found. vc, missed: of all rows; other rows keep the 0 in
  // `missed`. If one is too large, the stepper subtracts missed/dt from v_hat and solves again.
  int (*closure_error)(void* context, const sap_step_context* step, const sap_problem* problem,
                       const double* vc, const double* q, double* missed);
  // Sets the kinetic and potential energy [J].
  int (*energies)(void* context, double t, const double* q, const double* v, double* kinetic,
                  double* potential);
  // Saves, loads or forgets the memory that the system keeps from step to step beside q and v and
  // on which steps depend (identities of contacts, for example). NULL: no such memory.
  int (*memory)(void* context, sap_memory_request request, void* bytes, size_t* size);
  // Sets delta (nv) with q1 = q0 (+) delta, for convergence studies.
  int (*position_difference)(void* context, const double* q0, const double* q1, double* delta);
  // Sets the mass that each velocity moves (nv) [kg], which makes M into lengths, see adaptive.h.
  int (*moved_masses)(void* context, double* masses);

  // --- derivatives, see sapstep/linearize.h, which refuses steps of systems without them ---
  int32_t nu;  // inputs, such as controls, held in a step
  // Computes the residual and its derivatives. Fails with UNSUPPORTED for elements that it names.
  sap_status (*balance_derivatives)(void* context, const sap_step_context* step,
                                    sap_balance_derivatives* out, sap_error* error);
  // Computes the impulses of the last step's problem and their derivatives, likewise.
  sap_status (*impulse_derivatives)(void* context, const sap_step_context* step,
                                    const sap_problem* problem, sap_impulse_derivatives* out,
                                    sap_error* error);
  // Adds the gradients to parameters of lambda' (m/dt), lambda (nv), at (q, v, a); of the contact
  // laws and of A in them impulse_derivatives does. NULL: there are no parameters.
  sap_status (*parameter_derivatives)(void* context, const sap_step_context* step,
                                      const sap_balance_derivatives* at, const double* lambda,
                                      const sap_parameter_gradient* out, sap_error* error);
  // Sets the rotations of the step q0 (+) dt v, at most nv/3; returns their number.
  int32_t (*step_rotations)(void* context, const double* v, double dt,
                            sap_step_rotation* rotations);

  // --- activations: further state a (na), as that of muscles, with da/dt = f(a, controls) ---
  int32_t na;  // 0: none, and the function is not needed
  // Called once at the start of a step, after begin_step: from now on the forces are those with a0.
  // Sets `a` to the activations at the end of the step. (na) each; a does not alias a0. Also called
  // by sap_stepper_free_motion, which discards `a`.
  int (*activations)(void* context, const sap_step_context* step, const double* a0, double* a);

  // Optional: visits all numbers on which steps depend beside state, memory and what the caller
  // sets between steps (controls, forces, locks), always in the same order. A checkpoint of a
  // system with others is refused by the first that differs.
  void (*traits)(void* context, sap_trait_visitor visit, void* visitor);
} sap_system;

// Checks sizes, pairs and required functions.
SAP_API sap_status sap_system_check(const sap_system* system, sap_error* error);

// Contacts of a step that moves its theta point: how a system gets second order from a scheme with
// stage_theta_vq < 1. The contact's J and normal at q0 lag behind those at q^theta, which is an
// error of first order. In `constraints`:
//   1. sap_step_displacement gives the way to q^theta; q^theta = integrate_positions(q0, way, 1).
//   2. A contact for which sap_step_contact_is_within holds is evaluated at q^theta: jacobians and
//      frame there, phi0 from q0. All other contacts are evaluated at q0.
//   3. sap_contact_block_move fills velocity_change and gap_change of the block.
// Schemes with stage_theta_vq = 1 evaluate all contacts at q0.

// Computes the way from q0 to the expected q^theta (nv):
//   way = stage_theta dt (stage_theta_vq v_guess + (1 - stage_theta_vq) v0_free)
// ARGUMENT: an argument is NULL, or the step has no v_guess.
SAP_API sap_status sap_step_displacement(const sap_step_context* step, int32_t nv, double* way,
                                         sap_error* error);
// Returns true if a contact of gap phi0 [m] and normal velocity vn0 [m/s] at q0 and v0 is to be
// evaluated at q^theta: the scheme moves it, and it penetrates now and did so one step before. A
// contact that is about to close, or has just closed, is evaluated at q0. NULL: false.
SAP_API bool sap_step_contact_is_within(const sap_step_context* step, double phi0, double vn0);

// A contact at q0 and at q^theta. Velocities are those of B relative to A.
typedef struct sap_contact_move {
  double phi0, phi_theta;      // signed distances [m]
  double normal0[3];           // n at q0, world frame, unit
  double R_WC_theta[9];        // contact frame at q^theta: columns t1, t2, n, column-major
  double velocity0[3];         // contact at q0 moving with v_guess, world frame [m/s]
  double velocity_theta[3];    // contact at q^theta moving with v_guess, J v_guess: [t1 t2 n] [m/s]
  double normal_displacement;  // J_n way of the contact at q^theta [m]
} sap_contact_move;

// Fills phi0, velocity_change and gap_change of a contact block whose J is that at q^theta:
//   gap_change          = phi_theta - J_n way - phi0
//   velocity_change     = (1 - theta)/theta (u_theta - u_0),  theta = stage_theta
// u_0: velocity0 along n0 and along the tangents turned from n to n0 by the smallest rotation, so
// that the rate of the gap is no slip. ARGUMENT: an argument is NULL, or opposite normals.
SAP_API sap_status sap_contact_block_move(const sap_step_context* step,
                                          const sap_contact_move* move, sap_contact_block* block,
                                          sap_error* error);

// Plain data that the caller owns. Start with {0} and sap_state_resize, end with sap_state_clear.
typedef struct sap_state {
  double t;   // [s]
  double* q;  // (nq)
  double* v;  // (nv)
  int32_t nq, nv;
  double* act;  // activations, see sap_system.na (na)
  int32_t na;
} sap_state;

// Allocates the arrays, without activations (na = 0).
SAP_API sap_status sap_state_resize(sap_state* state, int32_t nq, int32_t nv, sap_error* error);
// Allocates the arrays, with na activations.
SAP_API sap_status sap_state_resize_with(sap_state* state, int32_t nq, int32_t nv, int32_t na,
                                         sap_error* error);
SAP_API void sap_state_clear(sap_state* state);
// Copies the numbers. ARGUMENT: the sizes differ.
SAP_API sap_status sap_state_copy(const sap_state* from, sap_state* to, sap_error* error);

SAP_C_END
