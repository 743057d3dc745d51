// SPDX-License-Identifier: BSD-3-Clause
// An independent judge and solver of contact problems in 128-bit arithmetic (80-bit where the
// compiler has no 128-bit numbers). Shares no code and no header with the library: a problem is
// plain arrays or a text file.
//
//   A (v - v*) = J' gamma                                            momentum
//   g = J v - v_hat + R gamma,  and for each block, with C its set,
//   convex    C contains gamma _|_ g in C*
//   coulomb   gamma_n >= 0 _|_ g_n >= 0;  |gamma_t| <= mu gamma_n, gamma_t dissipates most against g_t
//   ... the same with a pyramid in place of the disk, or without a rule for the direction of slip
//
// Violation of a row: the pair (gamma, g) of the block is moved to a pair (gamma', g') that satisfies
// the law exactly, along the line gamma - rho g = gamma' - rho g', row by row with its own
// rho_r = 1/(W_rr + R_r). |gamma'_r - gamma_r| [N s] and |g'_r - g_r| [m/s] are the row's violations.
// Relative to the row's own scale sum_i |J_ri| (|v_i| + |v*_i|) + |v_hat_r| + R_r |gamma|_max [m/s],
// with the largest impulse of its cone.
// Violation of a tree's momentum: |r_i|/A_ii [m/s] with r = A (v - v*) - J' gamma; relative in the
// norm of diag(A) to |v| + |v*| of the tree. Impulses that cancel in J' gamma leave the round-off of
// their numbers: 1e-10 of sum |J| |gamma| counts as scale, too, and 1e-9 of the problem's fastest
// velocity, or of the one that a v_hat asks for: what is slower rests. `moving` is the relative violation
// less such a velocity: an error that turns rest into rest is none.
#ifndef SAP_TESTS_SUPPORT_PRECISE_H
#define SAP_TESTS_SUPPORT_PRECISE_H

#include <stdbool.h>
#include <stdio.h>

typedef enum precise_kind { PRECISE_CONE, PRECISE_INTERVAL } precise_kind;

typedef struct precise_block {
  precise_kind kind;
  int nrows, first_row;
  double mu;  // cone: rows [t1 t2 n ...]
} precise_block;

typedef struct precise_problem {
  int nv, ntrees, nrows, nblocks;
  int* tree_start;  // (ntrees + 1)
  double* A;        // dense, row by row                                        (nv nv)
  double* v_star;   // (nv)
  double* J;        // dense, row by row                                     (nrows nv)
  double *R, *v_hat, *lower, *upper;  // bounds of intervals                    (nrows)
  precise_block* blocks;              // (nblocks)
} precise_problem;

typedef enum precise_law {
  PRECISE_CONVEX,
  PRECISE_COULOMB,
  PRECISE_BOX,        // |gamma_t1|, |gamma_t2| <= mu gamma_n
  PRECISE_DIAMOND,    // |gamma_t1| + |gamma_t2| <= mu gamma_n
  PRECISE_DIRECTION,  // Coulomb's bound and stick or slip, any direction of friction in slip
  PRECISE_LAWS
} precise_law;

typedef struct precise_worst {
  double velocity, impulse;  // largest of all rows, or of all velocities [m/s], [N s]
  double relative;           // largest, to the row's or tree's own scale
  double moving;             // largest of relative less what rests
  int at;                    // its row or tree
} precise_worst;

typedef struct precise_verdict {
  precise_worst row, tree;
} precise_verdict;

// Allocates; false: no memory. All zero but tree_start and blocks, which are the caller's to fill.
bool precise_create(precise_problem* p, int nv, int ntrees, int nrows, int nblocks);
void precise_clear(precise_problem* p);
// Text: see precise.c. false: not such a file.
bool precise_read(FILE* file, precise_problem* p);
void precise_write(FILE* file, const precise_problem* p);

// Judges v (nv), gamma (nrows). false: no memory, or A not positive definite.
bool precise_judge(const precise_problem* p, precise_law law, const double* v, const double* gamma,
                   precise_verdict* out);
// Solves CONVEX or COULOMB, all R > 0, by Newton on the velocities from v (in and out). Rounds the
// solution to double at the end. Returns false where it finds none to 1e-24 of the scales.
bool precise_solve(const precise_problem* p, precise_law law, double* v, double* gamma);

#endif
