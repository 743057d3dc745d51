// SPDX-License-Identifier: BSD-3-Clause
// The two-stage theta stepper, castro Algorithm 1.
//
// Stage 1 solves the free motion                                                    castro (14)
//   m(v*) = M(q^theta)(v* - v0) - dt k(q^theta, v^theta) = 0
//   v^theta    = theta v + (1 - theta) v0
//   v^theta_vq = theta_vq v + (1 - theta_vq) v0
//   q^theta    = q0 (+) theta dt v^theta_vq
// by Newton to round-off with                                                       castro (15)
//   A = M + dt^2 theta theta_vq K + dt theta D
// Stage 2 assembles the constraint blocks, at q0, or for theta_vq < 1 (midpoint) at the expected
// q^theta for lasting contacts, and minimises the contact cost (24). Contacts that the motion of
// the step closes are among them; those that only the solution closes are added, and it is solved
// again. With the rigid law it is Moreau-Jean time stepping instead: impulses at the level of
// velocities with the laws of Signorini and Coulomb, or of the solver's model, Newton's restitution
// and Baumgarte's correction. Then
//   q = q0 (+) dt v^theta_vq
//
// A stepper has memory: velocities and impulses of the last steps are the first guess of the next,
// contacts keep their identities, and lagged contacts their forces. From the same state, a stepper
// with memory and a fresh one agree within ten times the tolerance of the solver, not bit for bit,
// where the solver is SAP, balance_tolerance is finite and there are no loops; else within ten
// times the larger of both tolerances. The same calls always give the same bits.
// sap_stepper_forget, or the option `remember` = false, makes a step a function of the state alone.
// sap_stepper_save_memory, or a checkpoint, continues a run bit for bit.
#pragma once

#include <sapstep/base.h>
#include <sapstep/solver.h>
#include <sapstep/system.h>

SAP_C_BEGIN

// Named schemes: X(name, text, theta, theta_vq)
#define SAP_SCHEME_LIST(X)                          \
  X(EXPLICIT_EULER, "explicit-euler", 0.0, 0.0)     \
  X(SYMPLECTIC_EULER, "symplectic-euler", 0.0, 1.0) \
  X(IMPLICIT_EULER, "implicit-euler", 1.0, 1.0)     \
  X(MIDPOINT, "midpoint", 0.5, 0.5)

typedef enum sap_scheme {
#define SAP_X(name, text, theta, theta_vq) SAP_SCHEME_##name,
  SAP_SCHEME_LIST(SAP_X)
#undef SAP_X
      SAP_SCHEME_COUNT
} sap_scheme;
// Returns the name ("midpoint"); "unknown scheme" for other values.
SAP_API const char* sap_scheme_text(sap_scheme scheme);

// Where within the step contact, limits and bilateral constraints are evaluated: X(name, text)
#define SAP_STAGE_LIST(X)                                                                     \
  X(AUTO, "auto")   /* theta where theta and theta_vq are in [1/2, 1], end elsewhere       */ \
  X(END, "end")     /* at the end of the step: castro's, first order                       */ \
  X(THETA, "theta") /* at the scheme's theta point; needs theta and theta_vq in [1/2, 1]   */

typedef enum sap_stage {
#define SAP_X(name, text) SAP_STAGE_##name,
  SAP_STAGE_LIST(SAP_X)
#undef SAP_X
      SAP_STAGE_COUNT
} sap_stage;
// Returns the name ("theta"); "unknown stage" for other values.
SAP_API const char* sap_stage_text(sap_stage stage);

// The law of contacts, limits and bilateral constraints: X(name, text)
#define SAP_LAW_LIST(X)                                                                          \
  X(AUTO, "auto") /* rigid for solvers with rigid laws only, compliant for the others         */ \
  X(COMPLIANT, "compliant") /* stiffness and relaxation time, castro (29)-(30)               */  \
  X(RIGID, "rigid")         /* Moreau-Jean: R = 0, restitution, Baumgarte                    */  \
  X(CASTRO, "castro")       /* compliant as printed: it acts ahead of the surface (30), and     \
                               sliding contacts glide; at the end of the step                */

typedef enum sap_law {
#define SAP_X(name, text) SAP_LAW_##name,
  SAP_LAW_LIST(SAP_X)
#undef SAP_X
      SAP_LAW_COUNT
} sap_law;
// Returns the name ("rigid"); "unknown law" for other values.
SAP_API const char* sap_law_text(sap_law law);

typedef sap_stage sap_type_stage;
typedef sap_law sap_type_law;

// The one list of the stepper's own options, as SAP_SOLVER_OPTIONS:
//   X(type, name, default, minimum, maximum, "meaning [unit]")
#define SAP_STEPPER_OPTIONS(X)                                                                   \
  X(positive, dt, 0.005, 0, 1e300, "time step [s]")                                              \
  X(real, theta, 1, 0, 1, "theta of the velocity in forces [-]")                                 \
  X(real, theta_vq, 1, 0, 1, "theta of the velocity that moves the positions [-]")               \
  X(stage, contact_stage, SAP_STAGE_AUTO, 0, SAP_STAGE_COUNT - 1,                                \
    "where in the step contact acts (auto: theta for midpoint)")                                 \
  X(contact_model, contact_model, SAP_CONTACT_BY_MATERIAL, -1, SAP_CONTACT_MODEL_COUNT - 1,      \
    "contact model of all contacts")                                                             \
  X(law, contact_law, SAP_LAW_AUTO, 0, SAP_LAW_COUNT - 1,                                        \
    "contact law (auto: the solver's, see 'sapstep solvers')")                                   \
  X(real, restitution, 0, 0, 1, "rigid contacts: coefficient of restitution e [-]")              \
  X(real, baumgarte, 0.2, 0, 1, "rigid constraints: fraction of the error removed per step [-]") \
  /* see balance_error of sap_step_report; infinite: never linearise again */                    \
  X(real, balance_tolerance, 1e-3, 0, INFINITY,                                                  \
    "momentum error above which a step is solved again [-]")                                     \
  /* A looser relative_tolerance counts instead; infinite: the best found makes a step */        \
  X(real, accepted_error, 1e-3, 0, INFINITY,                                                     \
    "a step fails if its contact solve does not converge and its error is larger [-]")           \
  X(integer, free_motion_max_iterations, 50, 1, 1000000000,                                      \
    "Newton iterations of the free motion [-]")                                                  \
  /* false: each step forgets first, and is a function of the state alone */                     \
  X(boolean, remember, true, 0, 1, "start each step from the previous step's results")

// Start with sap_stepper_options_default(), which sets the cookie.
typedef struct sap_stepper_options {
  uint32_t cookie;
#define SAP_X(type, name, value, low, high, meaning) sap_type_##type name;
  SAP_STEPPER_OPTIONS(SAP_X)
#undef SAP_X
  sap_regularization regularization;  // beta, sigma
  const char* solver;                 // name of the contact solver ("sap")
  // Options of the contact solver. check_input is off here: the stepper checks itself.
  // relative_tolerance of solvers that need R, whose rest is momentum, is multiplied by dt/5 ms for
  // shorter steps. time_limit
  // bounds a whole step: the solver gets what the free motion and the assembly have left over, and
  // its best impulses make the step; its report's outcome is then TIME_LIMIT. threads share the
  // islands of the contact problem.
  sap_solver_options solver_options;
} sap_stepper_options;

SAP_API sap_stepper_options sap_stepper_options_default(void);

// Presets: X(name, "source", "options that it sets"); what castro and drake share.
#define SAP_PRESET_CASTRO                                                                        \
  "contact_law=castro contact_model=sap contact_stage=end impact_speed=0 balance_tolerance=inf " \
  "remember=0 islands=0 newton=primal line_search=exact "
#define SAP_PRESET_LIST(X)                                                              \
  X("default", "the defaults of this library", "")                                      \
  /* a step starts from v0, and its momentum balance is linearized once */              \
  X("castro", "Castro, Permenter, Han 2022: Algorithm 1 as printed",                    \
    SAP_PRESET_CASTRO "linear_solver=sparse")                                           \
  /* all forces are explicit, where Drake treats the damping of joints implicitly */    \
  X("drake", "the discrete step of Drake with its contact approximation 'sap'",         \
    SAP_PRESET_CASTRO                                                                   \
    "linear_solver=block theta=0 theta_vq=1 beta=1 sigma=1e-3 relative_tolerance=1e-6 " \
    "absolute_tolerance=1e-14 max_iterations=100")

// Sets solver "sap" and the options that a preset names; leaves the others. "default" changes
// nothing: a caller starts from sap_stepper_options_default().
// fails: ARGUMENT for an unknown name or NULL; options are unchanged then.
SAP_API sap_status sap_stepper_options_preset(const char* name, sap_stepper_options* options,
                                              sap_error* error);
// Fails with ARGUMENT or NOT_FINITE and names the field, its value and the values allowed.
SAP_API sap_status sap_stepper_options_check(const sap_stepper_options* options, sap_error* error);
// Sets theta and theta_vq.
SAP_API sap_status sap_stepper_options_set_scheme(sap_stepper_options* options, sap_scheme scheme,
                                                  sap_error* error);

// Report of a step.
typedef struct sap_step_report {
  int32_t free_motion_iterations;
  // Parts in which stage 1 was computed because m(v*) = 0 of the whole step has no root near v0
  // (light links that turn by radians in a step), 0: as one step. Positions then follow the parts,
  // and the step is not solved again for its balance error; a smaller dt is more accurate.
  int32_t free_motion_substeps;
  int32_t free_motion_linearized;  // of these, parts that did not converge: one linear step each
  // Residual of stage 1, of trees for which it solves m(v*) = 0:
  //   |D m(v*)|/(|D dt (|k1| + |k2|)| + |D A v0|/100) [-],  D = diag(A)^-1/2
  // the largest of all groups of coupled trees; a bound of it where that is surely round-off.
  double free_motion_residual;
  // Error of v and the impulses p = J' gamma of the contact problem in the true momentum balance:
  //   |D (m(v) - p)|/(|D dt (|k1| + |k2|)| + |D p|) [-]
  // the largest of all groups of coupled trees. Above balance_tolerance, or if loops would not
  // close, the step is solved again, linearized about its own result. Of the solution before the
  // last correction of SAP's steps, which is made where the error exceeds the solver's tolerance.
  double balance_error;
  int32_t relinearizations;  // solutions beyond the first; iterations and times are their sums
  bool relinearizations_withdrawn;          // they diverged, and the step is the first solution
  int32_t velocities, trees, blocks, rows;  // size of the contact problem
  // Contacts that push with less than half of the stiffness asked, which dt is too long to resolve:
  // a smaller dt or beta keeps it. sap_contact has the part of each.
  int32_t softened;
  double time_free_motion, time_constraints, time_solver, time_total;  // wall clock [s]
  const sap_report* solver;                                            // NULL if there was no block
  const sap_problem* problem;  // of this step; views, valid until the next step
  const sap_solution* solution;
} sap_step_report;

typedef struct sap_stepper sap_stepper;

// Creates a stepper. The table is copied; everything it points to must outlive the stepper.
// options NULL: the defaults.
SAP_API sap_status sap_stepper_create(const sap_system* system, const sap_stepper_options* options,
                                      sap_stepper** out, sap_error* error);
SAP_API void sap_stepper_destroy(sap_stepper* stepper);

// Advances `state` by one dt. state->t becomes start + n dt with one rounding, for the n-th step
// from `start` with this dt: 0 if the first of these steps began at a multiple of dt, else the time
// at which it began. A caller's own t or another dt starts a new count. On failure `state` is
// bitwise unchanged, and so is the memory of earlier steps. NOT_FINITE: input or forces;
// STEP_FAILED: the contact solver ended with an island_error above accepted_error, which TIME_LIMIT
// and EARLY_STOP may; NOT_SPD: M or A; CALLBACK. `report` may be NULL.
SAP_API sap_status sap_stepper_step(sap_stepper* stepper, sap_state* state, sap_step_report* report,
                                    sap_error* error);

// Computes the free motion alone: v* (nv) from (t, q0, v0).
SAP_API sap_status sap_stepper_free_motion(sap_stepper* stepper, const sap_state* state,
                                           double* v_star, sap_error* error);
// Forgets the steps made: the next step is bit for bit that of a fresh stepper (and, with the
// built-in engine, a fresh sap_multibody). NULL allowed.
SAP_API void sap_stepper_forget(sap_stepper* stepper);
// Saves the memory of the stepper and its system to bytes and sets *size to their number; bytes
// NULL: sets *size alone. ARGUMENT: capacity < *size. No heap call. The bytes are valid on the same
// machine and version for a stepper of the same system and solver.
SAP_API sap_status sap_stepper_save_memory(sap_stepper* stepper, void* bytes, size_t capacity,
                                           size_t* size, sap_error* error);
// Loads saved memory. From the state at the time of the save, with the same options, steps are then
// bit for bit those that followed it. ARGUMENT: bytes are no saved memory, of another system or
// solver, damaged or truncated; the stepper is then unchanged.
SAP_API sap_status sap_stepper_load_memory(sap_stepper* stepper, const void* bytes, size_t size,
                                           sap_error* error);

// Changes dt between steps. Patterns and allocations are kept; predictions of changes of
// velocity and momentum are scaled to the new dt.
SAP_API sap_status sap_stepper_set_dt(sap_stepper* stepper, double dt, sap_error* error);

SAP_C_END
