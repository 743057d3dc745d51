// SPDX-License-Identifier: BSD-3-Clause
// The constraints of one island in impulse space:
//   g(gamma) = D gamma + q
//   D        = J A^-1 J' + diag(R)
//   q        = J v* - v_hat
// An item is a friction cone (three, four or six rows) or one row of an interval set. Each item is
// scaled by s = lambda_max(D_ii)^-1/2, so that the largest eigenvalue of its diagonal block is 1:
//   J <- s J,  R <- s^2 R,  v_hat <- s v_hat,  gamma = s z,  g = s^-1 g_z
// Cones do not change. Everything below is in scaled impulses z.
#pragma once

#include <sapstep/problem.h>

#include "contact/cone.h"
#include "core/memory.h"
#include "linalg/dense.h"

typedef struct sap_delassus_item {
  bool is_cone;
  int32_t block;                                           // the problem's index
  int32_t problem_row;                                     // first row in the problem
  int32_t first, nrows;                                    // rows of the operator; 3, 4, 6 or 1
  double mu;                                               // cone
  double lower, upper;                                     // interval, scaled
  double scale;                                            // s
  double diagonal[SAP_CONE_ROWS_MAX * SAP_CONE_ROWS_MAX];  // D_ii, nrows x nrows
  size_t jacobian, lift;            // start of its rows of J, of its columns of Y = A^-1 J'
  int32_t ncols, nlift;             // length of each
  int32_t first_tree, ntrees;       // in item_trees: island's indices
  int32_t first_lift, nlift_trees;  // in lift_trees: trees of a column of Y
} sap_delassus_item;

// Start from {0}.
typedef struct sap_delassus {
  const sap_problem* problem;
  const int32_t* trees;  // the problem's indices                     (ntrees)
  int32_t ntrees, nv, n, nitems;
  bool coupled;               // A has blocks off the diagonal: columns of Y have all trees
  bool mobility;              // the problem gives A^-1; D may be unsymmetric
  int32_t* start;             // first velocity of a tree               (ntrees + 1)
  int32_t* item_trees;        // trees of the items
  const int32_t* lift_trees;  // trees of the items' columns of Y
  sap_delassus_item* items;   // (nitems)
  double* jacobian;           // row by row
  double* lift;               // Y, column by column
  double* R;                  // scaled (n)
  double* v_hat;              // scaled (n)
  double* q;                  // J v* - v_hat (n)
  double* v_star;             // (nv)
  double* scratch;            // (nv of the problem, rounded up to fours)
  sap_pool pool;              // of all arrays
  int32_t* lift_integers;     // the same unless they are those of J
  double* neighbours;         // of a mobility: memory of the neighbours of every tree
} sap_delassus;

SAP_DEFINE_CLEAR(sap_delassus, sap_delassus)

// Blocks of an island; trees: all trees on which the blocks act or that A couples with these.
// local: island's index of a problem's tree.
typedef struct sap_delassus_island {
  const int32_t* trees;
  const int32_t* blocks;
  const int32_t* local;
  int32_t ntrees, nblocks;
} sap_delassus_island;
// Gathers an island. Fails with MEMORY or NOT_SPD, which names a tree.
sap_status sap_delassus_gather(sap_delassus* d, const sap_problem* problem,
                               const sap_delassus_island* island, sap_error* error);

// v = v* + Y z
void sap_delassus_velocity(const sap_delassus* d, const double* z, double* v);
// Zeroes v of the trees that a column of Y_i moves.
void sap_delassus_clear_velocity(const sap_delassus* d, const sap_delassus_item* item, double* v);
// v += Y_i x of one item
void sap_delassus_add_item(const sap_delassus* d, const sap_delassus_item* item, const double* x,
                           double* v);
// out = J_i v of one item
void sap_delassus_item_velocity(const sap_delassus* d, const sap_delassus_item* item,
                                const double* v, double* out);
// g = J v - v_hat + R z: D z + q when v = v* + Y z
void sap_delassus_gradient(const sap_delassus* d, const double* v, const double* z, double* g);
// y = D x, matrix-free: J (Y x) + R x
void sap_delassus_apply(const sap_delassus* d, const double* x, double* y);
// Computes the dense D, both triangles, ld n.                         (n n)
void sap_delassus_dense(const sap_delassus* d, double* D);
// Returns the largest eigenvalue of D by power iteration, from below, to about 1 %; work (2 n).
double sap_delassus_largest_eigenvalue(const sap_delassus* d, double* work);

// Replaces a copy of D by the dense Cholesky factor of D + shift I; returns false if that is not
// positive definite.
bool sap_delassus_factorize(double* D, int32_t n, double shift);
