// SPDX-License-Identifier: BSD-3-Clause
// Solvers of the contact problem: one call, one solution, one report, one judge.
#pragma once

#include <sapstep/base.h>
#include <sapstep/problem.h>

SAP_C_BEGIN

// Result of a solve. Not converging is not an error: the solution is the best iterate then.
#define SAP_OUTCOME_LIST(X)                                                        \
  X(CONVERGED, "converged") /* momentum test, castro (26)                     */   \
  /* cost and gradient no longer fall; momentum error at most 1e-5 */              \
  X(ROUNDOFF, "converged_to_roundoff")                                             \
  /* the method's own rule ended it, but its law does not hold to the tolerance */ \
  X(EARLY_STOP, "early_stop")                                                      \
  X(ITERATION_LIMIT, "iteration_limit")                                            \
  X(TIME_LIMIT, "time_limit")                                                      \
  X(STALLED, "stalled") /* no descent, or the same at a larger momentum error */

typedef enum sap_outcome {
#define SAP_X(name, text) SAP_OUTCOME_##name,
  SAP_OUTCOME_LIST(SAP_X)
#undef SAP_X
      SAP_OUTCOME_COUNT
} sap_outcome;
// Returns the text of an outcome ("converged"); never NULL, "unknown outcome" for other values.
SAP_API const char* sap_outcome_text(sap_outcome outcome);

// Line search of Newton's method: X(name, text)
#define SAP_LINE_SEARCH_LIST(X)                                                         \
  /* primal: to round-off; primal-dual: until the slope has fallen to a tenth, or to */ \
  /* round-off where the cost has not fallen by then                                 */ \
  X(EXACT, "exact")                                                                     \
  X(BACKTRACKING, "backtracking")

typedef enum sap_line_search {
#define SAP_X(name, text) SAP_LINE_SEARCH_##name,
  SAP_LINE_SEARCH_LIST(SAP_X)
#undef SAP_X
      SAP_LINE_SEARCH_COUNT
} sap_line_search;

// How solver "sap" steps. Both find the same minimum and never let the cost rise. PRIMAL_DUAL
// carries impulses along with velocities: it needs fewer steps, in particular at small sigma. A
// solver object keeps the impulses from one solve to the next for blocks with the same key (not 0)
// and rows, so its result depends, within the tolerance, on the solves before: the same sequence of
// solves gives the same bits, and a fresh object, or blocks without key, start from v alone.
#define SAP_NEWTON_LIST(X)                                \
  X(PRIMAL, "primal") /* Castro et al. 2022            */ \
  X(PRIMAL_DUAL, "primal-dual")

typedef enum sap_newton_method {
#define SAP_X(name, text) SAP_NEWTON_##name,
  SAP_NEWTON_LIST(SAP_X)
#undef SAP_X
      SAP_NEWTON_COUNT
} sap_newton_method;

// Linear algebra of one island's Newton system: X(name, text)
#define SAP_LINEAR_LIST(X)                                                         \
  X(AUTO, "auto")     /* one rule on size and predicted fill; large systems by  */ \
                      /* conjugate gradients with factors in single precision   */ \
  X(DENSE, "dense")   /* LAPACK Cholesky                                        */ \
  X(BLOCK, "block")   /* our block Cholesky on the tree graph, AMD ordering     */ \
  X(SPARSE, "sparse") /* CHOLMOD supernodal, AMD ordering                       */

typedef enum sap_linear_solver {
#define SAP_X(name, text) SAP_LINEAR_##name,
  SAP_LINEAR_LIST(SAP_X)
#undef SAP_X
      SAP_LINEAR_COUNT
} sap_linear_solver;

// How ADMM chooses its penalty: X(name, text)
#define SAP_PENALTY_LIST(X)                                                                      \
  X(FIXED, "fixed")                                                                              \
  X(LINEAR, "linear")     /* times or by 1.5 when the residuals differ tenfold, tsounis (171) */ \
  X(SPECTRAL, "spectral") /* a power of the condition number, tsounis (172)                */

typedef enum sap_penalty {
#define SAP_X(name, text) SAP_PENALTY_##name,
  SAP_PENALTY_LIST(SAP_X)
#undef SAP_X
      SAP_PENALTY_COUNT
} sap_penalty;

typedef sap_newton_method sap_type_newton_method;
typedef sap_line_search sap_type_line_search;
typedef sap_linear_solver sap_type_linear_solver;
typedef sap_penalty sap_type_penalty;

// The one list that makes the struct, its defaults and check, the options of the program, the
// parameters of studies and the comparison of checkpoints:
//   X(type, name, default, minimum, maximum, "meaning [unit]")
#define SAP_SOLVER_OPTIONS(X)                                                                  \
  X(real, relative_tolerance, 1e-6, 0, 1,                                                      \
    "relative tolerance on the momentum residual (Castro et al. 2022, eq. 26) [-]")            \
  X(real, absolute_tolerance, 1e-14, 0, 1e300,                                                 \
    "absolute tolerance on the momentum residual (Castro et al. 2022, eq. 26) [sqrt(J)]")      \
  X(integer, max_iterations, 500, 0, 1000000, "Newton iterations [-]")                         \
  X(newton_method, newton, SAP_NEWTON_PRIMAL_DUAL, 0, SAP_NEWTON_COUNT - 1, "Newton's method") \
  X(line_search, line_search, SAP_LINE_SEARCH_EXACT, 0, SAP_LINE_SEARCH_COUNT - 1,             \
    "line search of Newton's method")                                                          \
  X(real, backtracking_factor, 0.8, 0.01, 0.99, "backtracking: rho [-]")                       \
  X(real, backtracking_decrease, 1e-4, 1e-12, 0.49, "backtracking: Armijo's c [-]")            \
  X(real, backtracking_maximum, 1.25, 1, 10, "backtracking: first step length [-]")            \
  X(linear_solver, linear_solver, SAP_LINEAR_AUTO, 0, SAP_LINEAR_COUNT - 1,                    \
    "factorization of Newton's system")                                                        \
  X(integer, max_sweeps, 10000, 0, 1000000000, "iterations of first-order solvers [-]")        \
  X(real, time_limit, 0, 0, 1e9,                                                               \
    "wall-clock limit of a solve or step; return the best iterate (0: no limit) [s]")          \
  X(boolean, warm_start, true, 0, 1, "dual solvers: start from the previous impulses")         \
  X(penalty, penalty, SAP_PENALTY_SPECTRAL, 0, SAP_PENALTY_COUNT - 1, "ADMM: penalty update")  \
  X(real, penalty_value, 0, 0, 1e12, "ADMM: (first) penalty, 0: from the eigenvalues [-]")     \
  X(real, over_relaxation, 1, 0.01, 1.99, "PGS and ADMM: relaxation omega [-]")                \
  X(integer, friction_directions, 4, 3, 64,                                                    \
    "pyramids: edges on the cone (lemke) or facets tangent to it [-]")                         \
  X(boolean, islands, true, 0, 1, "solve independent sets of trees separately")                \
  X(integer, threads, 1, 1, 256, "threads that share the work; results are bit-identical [-]") \
  X(boolean, check_input, true, 0, 1, "check that A is SPD and all is finite before solving")

// Start with sap_solver_options_default(), which sets the cookie.
typedef struct sap_solver_options {
  uint32_t cookie;
#define SAP_X(type, name, value, low, high, meaning) sap_type_##type name;
  SAP_SOLVER_OPTIONS(SAP_X)
#undef SAP_X
} sap_solver_options;

SAP_API sap_solver_options sap_solver_options_default(void);
// Fails with ARGUMENT or NOT_FINITE and names the field, its value and the values allowed.
SAP_API sap_status sap_solver_options_check(const sap_solver_options* options, sap_error* error);

// One iterate, summed over islands; an island that has ended counts with its last values. Row 0 is
// the guess.
typedef struct sap_iteration {
  double cost;            // l(v) [J]; dual solvers: the dual value -(1/2 gamma' D gamma + q' gamma)
  double momentum_error;  // |D grad l| / max(|D A v|, |D J' gamma|) [-]     castro (32); dual
                          // solvers: the relative natural map of their stopping test, tsounis (163)
  double step_length;     // alpha of the step to this iterate, 0 in row 0; the largest of islands
  int32_t evaluations;    // line-search evaluations of that step
} sap_iteration;

// Report of a solve. It owns `history`; sap_report_clear frees it.
typedef struct sap_report {
  sap_outcome outcome;        // the worst of all islands
  int32_t iterations;         // Newton iterations, the most of any island
  int32_t total_iterations;   // summed over islands
  int32_t factorizations;     // numeric
  int32_t symbolic_analyses;  // patterns that were not in the cache
  int32_t evaluations;        // line-search evaluations
  int32_t islands;            // with at least one block
  int32_t largest_island;     // velocities of the largest island
  double cost;                // l(v) [J]
  double momentum_error;      // of the whole problem [-]                            castro (32)
  // The largest error of an island [-] by what the solver cannot make exact. Solvers of velocities:
  // castro (32). Solvers of impulses: natural map of their law over the larger of the impulses and
  // the impulses that stop v*, all in the norm of energies. sap-ncp: of the whole problem, the
  // larger of castro (32) and tsounis (163).
  double island_error;
  double time;             // wall clock [s]
  sap_iteration* history;  // (history_count)
  int32_t history_count;
  int32_t history_capacity;
} sap_report;

SAP_API void sap_report_clear(sap_report* report);  // frees and zeroes; start with {0}

// Start with {0}; sap_solution_clear frees. Arrays grow as needed and never shrink.
typedef struct sap_solution {
  int32_t nv, nrows;
  double* v;        // velocities [m/s, rad/s]                 (nv)
  double* gamma;    // impulses [N s, N m s], block by block   (nrows)
  double* vc;       // J v                                     (nrows)
  double* impulse;  // J' gamma, zero where read from a file [N s, N m s]   (nv)
  double cost;      // l(v) [J]
  int32_t v_capacity, rows_capacity;
} sap_solution;

SAP_API void sap_solution_clear(sap_solution* solution);
// Makes room for nv and nrows values; contents are undefined after growth.  fails: ARGUMENT, MEMORY
SAP_API sap_status sap_solution_resize(sap_solution* solution, int32_t nv, int32_t nrows,
                                       sap_error* error);

// A row of the table of solvers.
typedef struct sap_solver_info {
  const char* name;       // "sap"
  const char* model;      // "convex (SAP)"
  const char* reference;  // "Castro, Permenter, Han 2022"
  // Satisfied principles of rigid contact: "Signorini, Coulomb, maximum dissipation"
  //                                                                            lelidec Table II
  const char* principles;
  const char* blocks;  // accepted: "cone, nonnegative, box, free"
  bool needs_R;        // needs R > 0 in every row, and a problem that stores A, not its inverse
  bool signorini;      // satisfies Signorini's condition (NCP or LCP); else sliding contacts glide
  bool rigid;          // steppers choose rigid contact (Moreau-Jean) for it by default
} sap_solver_info;
SAP_API int32_t sap_solver_count(void);
SAP_API const sap_solver_info* sap_solver_get_info(int32_t index);  // NULL when out of range
SAP_API const sap_solver_info* sap_solver_find(const char* name);   // NULL: unknown

typedef struct sap_solver sap_solver;  // workspace and memory between solves

// Creates a solver by its name ("sap"). options NULL: defaults.  fails: ARGUMENT, NOT_FINITE,
// MEMORY
SAP_API sap_status sap_solver_create(const char* name, const sap_solver_options* options,
                                     sap_solver** out, sap_error* error);
SAP_API void sap_solver_destroy(sap_solver* solver);
// Sets the time limit of the next solves [s], >= 0, 0: none.  fails: ARGUMENT, NOT_FINITE
SAP_API sap_status sap_solver_set_time_limit(sap_solver* solver, double seconds, sap_error* error);
// Forgets the memory between solves (impulses and shifts by block key): the next solve has the same
// bits as that of a new solver. Allocated arrays stay. NULL allowed.
SAP_API void sap_solver_forget(sap_solver* solver);
// Saves the memory between solves as bytes of this machine. bytes NULL: only sets *size to the
// bytes needed.  fails: ARGUMENT when the capacity is too small.
SAP_API sap_status sap_solver_save_memory(sap_solver* solver, void* bytes, size_t capacity,
                                          size_t* size, sap_error* error);
// Loads saved bytes into a solver of the same name. The bytes have no checksum.
// fails: ARGUMENT for too few or too many bytes; MEMORY. The solver is unchanged then.
SAP_API sap_status sap_solver_load_memory(sap_solver* solver, const void* bytes, size_t size,
                                          sap_error* error);

// Solves the problem. Writes solution and report (NULL allowed) only when the call succeeds.
// Allocates nothing if pattern and sizes have not changed. Starts from the problem's v_guess or v*,
// whichever costs less per island.
// fails: ARGUMENT; UNSUPPORTED names a block; NOT_SPD names a tree; NOT_FINITE; MEMORY
SAP_API sap_status sap_solver_solve(sap_solver* solver, const sap_problem* problem,
                                    sap_solution* solution, sap_report* report, sap_error* error);

// The judge of all solvers: residuals computed from (v, gamma) alone.
typedef struct sap_residual {
  double cost;  // l(v) [J], from v alone; with a mobility B its energy is 1/2 (v - v*) . J' gamma
  double momentum;  // |D (A (v - v*) - J' gamma)| / max(|D A v|, |D J' gamma|)            (32)
                    // with a mobility B = A^-1: all terms times B, D = diag(B)^-1/2
  double momentum_absolute;  // its numerator [sqrt(J)]
  double projection;  // max |gamma - P_C(y(J v))|_R / max(|gamma|_R, 1e-300): inverse dynamics
  double slackness;   // mean |g . gamma| / l over friction cones, g = J v - v_hat + R gamma  (33)
  double set_violation;  // largest distance of a gamma from its set [N s]
  double penetration;    // largest max(0, -(vc_n - v_hat_n)) of unilateral rows [m/s]
  // With g = J v - v_hat + R gamma; NCP: g_n + mu |g_t| in place of g_n (De Saxce). R may be 0.
  // The natural map |gamma - P_C(gamma - rho g)|/|gamma| has rho = 1 or, scaled, rho_i =
  // 1/lambda_max(W_ii + R_ii) of each block, W_ii from the diagonal tree blocks of A. Euclidean.
  double ccp_natural_map;  // tsounis (164)
  double ccp_natural_map_scaled;
  double ccp_dual;             // largest distance of g from C's dual cone [m/s]
  double ccp_complementarity;  // largest |g . gamma| of a block [J]
  double ncp_natural_map;      // tsounis (163)
  double ncp_natural_map_scaled;
  double ncp_dual;
  double ncp_complementarity;
  double ncp_absolute;  // lelidec's epsilon_abs: max of set_violation, ncp_dual,
                        // ncp_complementarity
  double signorini;     // largest |g_n gamma_n| of friction cones and nonnegative rows [J]
  double dissipation;   // -sum of gamma_t . vc_t over friction cones [J]
  // Natural maps have one rho per cone and one sum over the problem: they do not see rows with far
  // less friction than others of their cone, or light bodies beside heavy ones. These do: the least
  // change of each row that satisfies the law, rho_r = 1/(W_rr + R_r) of each row,
  //   gamma' - rho g' = gamma - rho g:  |gamma' - gamma| and |g' - g|; NCP: the normal row first
  // [N s, N m s] and [m/s, rad/s] of rows as they are in the problem, and the latter relative to
  // the row's own  sum_i |J_ri| (|v_i| + |v*_i|) + |v_hat_r| + R_r |gamma|_max of its cone.
  double ccp_row, ccp_row_velocity, ccp_row_impulse;  // the largest of all rows
  double ncp_row, ncp_row_velocity, ncp_row_impulse;
  // |A (v - v*) - J' gamma|_i, the same over A_ii, and a tree's |D (..)| relative to its |v| + |v*|
  // in the norm of diag(A). Velocities below 1e-9 of the fastest, and impulses that cancel in
  // J' gamma to 1e-10, count as round-off.
  double tree, tree_velocity, tree_impulse;  // the largest of all trees
} sap_residual;

// Computes the residuals of v (nv), gamma (nrows).
// fails: ARGUMENT, NOT_FINITE, MEMORY; NOT_SPD where the scaled maps need A's factors.
SAP_API sap_status sap_residuals(const sap_problem* problem, const double* v, const double* gamma,
                                 sap_residual* out, sap_error* error);

SAP_C_END
