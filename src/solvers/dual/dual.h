// SPDX-License-Identifier: BSD-3-Clause
// Solvers in impulse space: one island after the other, scaled impulses z, one stopping test.
//   CCP    C contains z _|_ g in C*,  g = D z + q
//   NCP    the same with g_n + mu |g_t| in place of g_n (De Saxce)
//   other  z_i = rule(z_i, g_i) for every cone: pyramids, and RaiSim's contact
// Stopping test: the natural map of the method's law, every item with its own step rho,
//   impulses    |map| <= eps_r |gamma|,  map = gamma - P_C(gamma - rho g)       tsounis (163)-(164)
//               rho_i = 1/lambda_max(D_ii)
//   velocities  |map_i|/rho_i <= eps_r V for every item i, V the largest |map_i|/rho_i of gamma = 0
// Impulses alone would hide velocities where they are large: light bodies below heavy ones,
// problems without solution. The second test is each item's own; round-off of D z is allowed for.
// A map <= eps_a [sqrt(J)] passes as well.
//   rows        each row, moved to the law with rho_r = 1/D_rr of its own, misses by no more than
//               sqrt(eps_r) of its own velocities (row_violation.h); also of what ends at round-off
// One rho per item does not see rows with far less friction than others of their cone.
#pragma once

#include <stdint.h>

#include <sapstep/solver.h>

#include "linalg/sparse_lu.h"
#include "problem/delassus.h"
#include "problem/delassus_sparse.h"
#include "solvers/registry.h"
#include "solvers/report.h"

typedef struct sap_dual sap_dual;

// A rule of one friction cone from its own block of D: computes its next impulses. z: its impulses;
// g: D z + q of its rows. A step of Gauss-Seidel sweeps, or a law, whose solutions it leaves alone.
typedef void (*sap_local_rule)(const sap_dual* d, const sap_delassus_item* item, const double* z,
                               const double* g, double* next);

struct sap_dual {
  const sap_solver_options* options;
  sap_delassus op;     // the island
  bool ncp;            // stopping test: NCP, else CCP
  double* z;           // iterate; at the start the guess           (n)
  double* g;           // D z + q                                   (n)
  double* v;           // v* + Y z                                  (nv)
  double* z_best;      // iterate with the least best_2             (n)
  double* map;         // z - P(z - g)                              (n)
  double residual;     // |map|/|gamma| of z, in impulses
  double miss;         // largest |map_i|/(rho_i V) of z less round-off; 0 where V = 0
  double speed;        // V [m/s, rad/s]
  double best;         // residual of z_best
  double best_2;       // |map|^2 of z_best in scaled impulses: large impulses do not hide it
  double q_2;          // |q|^2
  sap_local_rule law;  // the cones' law where it is neither CCP nor NCP; NULL: these
  double saving;       // rise of the dual cost in the last sweep over the inertia [m^2/s^2]; a
                       // value <= eps_r ends the iterations, tsounis (160). Infinite: no such rule
  double mark;         // the larger of residual and miss when it last halved
  int32_t idle;        // iterations since `mark`
  double deadline;     // clock of the time limit [s]

  sap_outcome outcome;
  sap_status status;  // of the history's memory
  sap_error* error;
  int32_t iterations, factorizations, evaluations;

  sap_history* history;        // NULL: not recorded
  sap_pool pool;               // of the arrays below
  double* vectors;             // z, g, z_best, map, v
  double* work;                // of a method, carved once per island
  sap_delassus_sparse sparse;  // D of methods that factorize it sparsely
  sap_sparse_lu lu;            // factors of a part of D
};

typedef sap_status (*sap_dual_method)(sap_dual* d);

// Functions of a solver_row (registry.h).
sap_status sap_dual_create(void** workspace, sap_error* error);
void sap_dual_destroy(void* workspace);
sap_status sap_dual_archive(void* workspace, sap_archive* archive, sap_error* error);
sap_status sap_dual_solve(void* workspace, const sap_solver_row* row, const sap_solve_call* call,
                          sap_error* error);
// Solves all islands by `method`. fails: NOT_FINITE, NOT_SPD, MEMORY; nothing is written then.
sap_status sap_dual_run(void* workspace, const sap_solve_call* call, bool ncp,
                        sap_dual_method method, sap_error* error);

// Takes a law other than CCP and NCP for the stopping test, before the first iterate.
void sap_dual_set_law(sap_dual* d, sap_local_rule law);

// The laws of friction pyramids of options->friction_directions: facets tangent to the cone, the
// first normal to the first tangent, or edges on the cone, the first along the first tangent.
void sap_dual_facets_law(const sap_dual* d, const sap_delassus_item* item, const double* z,
                         const double* g, double* next);
void sap_dual_edges_law(const sap_dual* d, const sap_delassus_item* item, const double* z,
                        const double* g, double* next);

// Projects one item's x on its set (Euclidean); x and out may be the same.
void sap_dual_project(const sap_delassus_item* item, const double* x, double* out);
// Projects all rows; x and out may be the same.
void sap_dual_project_all(const sap_dual* d, const double* x, double* out);
// Projects x on the regular polygon of `sides` >= 3 facets at the distance `radius` >= 0, the first
// facet normal to the first axis: the section of a friction pyramid that touches the cone.
//   e_k . x <= radius,  k = 0 .. sides - 1                                lelidec Sec. III
void sap_dual_project_polygon(double radius, int32_t sides, const double x[2], double out[2]);
// Projects the tangents of a cone's x on the disk |x_t| <= radius. Leaves the normal of out.
void sap_dual_project_disk(int32_t nrows, double radius, const double* x, double* out);

// Computes d->v and d->g of d->z.
void sap_dual_evaluate(sap_dual* d);
// Takes d->z as the next iterate (the guess at first): computes d->v, d->g and the natural map,
// keeps the best iterate, adds a row to the history. Returns false if the test holds or a limit is
// reached (d->outcome tells which), or if memory is short: methods then return d->status.
// limit: iterations allowed. step_length: of the last iteration, not used for the guess.
bool sap_dual_continues(sap_dual* d, int32_t limit, double step_length);
// Returns true if each row of d->z, with d->v, d->g and the map of it, satisfies the law within the
// root of the tolerance.
bool sap_dual_rows_hold(const sap_dual* d);

// Sweeps once over all items; interval rows are solved without a rule. Each change is scaled by
// options->over_relaxation. Returns the rise of the dual cost 1/2 z' D z + q' z [J].
double sap_gauss_seidel_sweep(sap_dual* d, sap_local_rule rule);
// Sweeps until sap_dual_continues ends it. inertia: 0, or the number by which the rise of the dual
// cost is divided to give d->saving.
sap_status sap_gauss_seidel(sap_dual* d, sap_local_rule rule, double inertia);

// Returns the largest eigenvalue of the tangents' block of a D_ii of n rows.
double sap_tangent_eigenvalue(const double* D, int32_t n);

// Proximal ADMM for min 1/2 x' D x + q' x, x in a set: the iteration that sap_admm_solve and both
// stages of staggered projections run.                                           tsounis Alg. 6
//   (D + (eta + rho) I) x = eta x- + rho y- + w- - q
//   y = P(x^ - w-/rho),  w = w- + rho (y - x^),  x^ = omega x + (1 - omega) y-
// rho is fixed, or changes where |x - y| and |eta (x - x-) + rho (y - y-)| differ tenfold: by 1.5
// (171) or by a power of the condition number (172).
// cost: two triangular solves with a dense factor per iteration, a factorization per change of rho.
typedef struct sap_admm {
  int32_t n;
  double *D, *factor;       // factor: Cholesky of D's symmetric part + (rho + eta) I     (n n)
  double *q, *x, *y, *w;    // (n)
  double *x_last, *y_last;  // x-, y- (n)
  double rho, change;       // penalty, factor by which it changes
  double primal_2, dual_2;  // |x - y|^2, |eta (x - x-) + rho (y - y-)|^2 of the last iteration
} sap_admm;

typedef struct sap_admm_set {
  void (*project)(const void* context, double* y);      // y on the set, in place
  void (*add_terms)(const void* context, sap_admm* a);  // to the right-hand side a->x; NULL: none
  const void* context;
} sap_admm_set;

// The arrays of an ADMM of a->n rows, for SAP_CARVE. x and y are adjacent: work of eigenvalues.
#define SAP_ADMM_ARRAYS(a)                                                                     \
  SAP_ARRAY(&(a)->D, (int64_t)(a)->n*(a)->n), SAP_ARRAY(&(a)->factor, (int64_t)(a)->n*(a)->n), \
      SAP_ARRAY(&(a)->q, (a)->n), SAP_ARRAY(&(a)->x, (a)->n), SAP_ARRAY(&(a)->y, (a)->n),      \
      SAP_ARRAY(&(a)->w, (a)->n), SAP_ARRAY(&(a)->x_last, (a)->n), SAP_ARRAY(&(a)->y_last, (a)->n)
// Chooses the first rho and factorizes D. largest: eigenvalue of D.  fails: NOT_SPD.
sap_status sap_admm_begin(sap_admm* a, sap_dual* d, double largest);
// Iterates once.
void sap_admm_iterate(sap_admm* a, double omega, const sap_admm_set* set);
// Every so many iterations, unless rho is fixed: changes rho and factorizes again if the residuals
// differ tenfold.  fails: NOT_SPD.
sap_status sap_admm_adapt(sap_admm* a, sap_dual* d, int32_t iteration);

// Lemke's method for linear complementarity problems.
typedef enum sap_lcp_end {
  SAP_LCP_SOLVED,
  SAP_LCP_RAY,        // ended on a ray: no solution found
  SAP_LCP_LIMIT,      // pivots used up
  SAP_LCP_INACCURATE  // z spoilt by round-off
} sap_lcp_end;

// A linear complementarity problem w = M z + q, w >= 0, z >= 0, w . z = 0.
typedef struct sap_lcp {
  int32_t n;
  const double* M;  // column-major, ld n                      (n n)
  const double* q;  //                                           (n)
  double* z;        // the solution                              (n)
  double* tableau;  // work                            (n (2 n + 2))
  int32_t* basis;   // work                                      (n)
} sap_lcp;

// Solves the problem. *pivots: the limit; afterwards the number of pivots.
sap_lcp_end sap_lemke(const sap_lcp* lcp, int32_t* pivots);

// The methods in impulse space, one per row of the solver table. Each runs on the island gathered
// in `d`, from the guess d->z, until sap_dual_continues ends it; the best impulses are d->z_best.
//
// Convex (CCP), files of dual/.
sap_status sap_pgs_ccp(sap_dual* d);     // gauss_seidel.c
sap_status sap_apgd(sap_dual* d);        // apgd.c
sap_status sap_admm_solve(sap_dual* d);  // admm.c; CCP and NCP
sap_status sap_ipm(sap_dual* d);         // ipm.c
sap_status sap_proximal(sap_dual* d);    // admm.c; bilateral rows only

// Newton on the natural map of the CCP from d->z, then from d->z_best, while the map falls, for
// methods that stall near a solution. Converges quadratically where the map is regular, always for
// D > 0. The outcome is STALLED if neither start converges. newton_ncp.c
sap_status sap_convex_newton(sap_dual* d);

// Pyramids (LCP).
sap_status sap_pgs_lcp(sap_dual* d);        // gauss_seidel.c
sap_status sap_lemke_solve(sap_dual* d);    // lemke.c
sap_status sap_staggered_lcp(sap_dual* d);  // ncp/staggered.c

// Coulomb friction (NCP), files of ncp/.
sap_status sap_pgs_ncp(sap_dual* d);                   // local_ncp.c
sap_status sap_nbgs(sap_dual* d);                      // local_ncp.c
sap_status sap_raisim(sap_dual* d);                    // raisim.c
sap_status sap_raisim_ds(sap_dual* d);                 // raisim.c
sap_status sap_raisim_ds_es(sap_dual* d);              // raisim.c
sap_status sap_staggered(sap_dual* d);                 // staggered.c
sap_status sap_newton_ncp(sap_dual* d);                // newton_ncp.c
sap_status sap_proximal_newton(sap_dual* d);           // newton_ncp.c
sap_status sap_implicit_complementarity(sap_dual* d);  // same file name

// Functions of a solver_row: exact compliant Coulomb contact, a fixed point around SAP (sap_ncp.c).
sap_status sap_ncp_create(void** workspace, sap_error* error);
void sap_ncp_destroy(void* workspace);
sap_status sap_ncp_archive(void* workspace, sap_archive* archive, sap_error* error);
sap_status sap_ncp_solve(void* workspace, const sap_solver_row* row, const sap_solve_call* call,
                         sap_error* error);

// One item of the NCP alone (local_ncp.c).
// Solves Coulomb contact exactly for a cone of n = 3, 4 or 6 rows:
//   g = D gamma + b,  K_mu contains gamma _|_ g + mu |g_t| n
// D (n x n) symmetric positive definite. Returns any solution if there are several.
void sap_local_ncp_solve(const double* D, const double* b, int32_t n, double mu, double* gamma);
// A rule: projects the normal first, then the tangents on the new disk.         lelidec Alg. 6
void sap_local_ncp_project(const sap_dual* d, const sap_delassus_item* item, const double* z,
                           const double* g, double* next);

// Todorov's implicit complementarity, and the projection of Alart and Curnier: impulse z and
// velocity g = z - p of an item as functions of one vector p, complementary for every p.
//   cone      z_n = max(0, p_n),  z_t = p_t min(1, mu z_n/|p_t|)     todorov (10)-(13), p = -x
//   interval  z = clamp(p)
typedef enum sap_region {
  SAP_REGION_OFF,    // open, or at a bound: z is constant
  SAP_REGION_STICK,  // sticking, or between the bounds: z = p
  SAP_REGION_SLIP,
} sap_region;

// Sets z of p.
void sap_split_project(const sap_delassus_item* item, const double* p, double* z);
sap_region sap_split_region(const sap_delassus_item* item, const double* p);
// Sets T = dz/dp of a region that contains p or whose edge contains p (column-major, ld nrows).
void sap_split_jacobian(const sap_delassus_item* item, const double* p, sap_region region,
                        double* T);

// Does `count` Gauss-Seidel sweeps of exact contacts from d->z, for methods that converge only near
// a solution. Afterwards d->v and d->g are those of the new d->z.
void sap_nbgs_sweeps(sap_dual* d, int32_t count);
