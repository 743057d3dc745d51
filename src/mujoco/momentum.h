// SPDX-License-Identifier: BSD-3-Clause
// The momentum balance A (v* - v0) = h f - h^2 K v0, and the springs and dampers in A.
#pragma once

#include <sapstep/mujoco.h>

#include "mujoco/compat.h"

// A block of A that couples two trees, tree_a > tree_b.
typedef struct sap_mj_coupling {
  int32_t tree_a, tree_b;
  int32_t start;  // of its values, n_a x n_b, ld n_a
} sap_mj_coupling;

typedef struct sap_mj_momentum {
  double* A;            // blocks of the trees, full squares, lower triangles used
  bool has_fill;        // A has entries where M has none
  bool is_plain;        // A = M and rhs = h qfrc_smooth: MuJoCo's qacc_smooth leads to v*
  int32_t* mass_place;  // index in A of MuJoCo's nonzeros of M (nC or nM)
  sap_mj_coupling* couplings;
  int32_t coupling_count;
  double* coupling_values;
  int32_t coupling_value_count;
  double *rhs, *v_star;                  // (nv)
  double *v_before, *v_after, *v_guess;  // at the start and the end of the step before (nv)
  bool has_before;                       // v_before and v_after are filled
} sap_mj_momentum;

void sap_mj_momentum_place_mass(sap_mj* a);  // once
void sap_mj_momentum_add_mass(sap_mj* a, const mjData* d);
// A += factor row' row.
sap_status sap_mj_momentum_add_rank_one(sap_mj* a, const sap_mj_row* row, double factor,
                                        sap_error* error);
// Adds h D + h^2 K of springs and dampers to A and h f - h^2 K v0 to rhs.
sap_status sap_mj_momentum_add_elements(sap_mj* a, const mjData* d, sap_error* error);
// Resets a->problem to A and v*, without blocks.
sap_status sap_mj_momentum_set_problem(sap_mj* a, const mjData* d, sap_error* error);
// Returns v0 less the velocities at the start of the step before, NULL if that step did not lead to
// v0. Valid until the next call of this module.
const double* sap_mj_momentum_change(sap_mj* a, const mjData* d);
// Saves the step from d's velocities to v, for the next step's guess.
void sap_mj_momentum_save_velocity(sap_mj* a, const mjData* d, const double* v);

// elements.c
typedef enum sap_mj_elastic_kind {
  SAP_MJ_ELASTIC_POINT,    // source: a vertex, its part of the stretch
  SAP_MJ_ELASTIC_STRETCH,  // source: an edge
  SAP_MJ_ELASTIC_SPRING,   // source: an edge with end points i and j
  SAP_MJ_ELASTIC_BEND,     // source: an edge; i, j of the four points that bend about it
  SAP_MJ_ELASTIC_CELL      // source: number of nodes; nodes i and j
} sap_mj_elastic_kind;

// Stiffness and damping of a flex between two points, or of one point.
typedef struct sap_mj_elastic {
  sap_mj_elastic_kind kind;
  int32_t flex, source, i, j;
  int32_t a, b;  // first velocities, a >= b
  int32_t tree_a, tree_b;
  int32_t order;      // of creation, for sorting
  bool is_swapped;    // a belongs to j
  double K[9], D[9];  // rows of a, columns of b, row-major [N/m], [N s/m]
} sap_mj_elastic;

typedef struct sap_mj_elements {
  double *dof_stiffness, *dof_damping;        // joints: -dF/dq and -dF/dv (nv)
  double *tendon_stiffness, *tendon_damping;  // (ntendon)
  sap_mj_elastic* elastics;                   // flexes, sorted by blocks of A
  int32_t elastic_count;
  bool has_stretch, has_cells;
  double* cell_stiffness;  // of interpolated flexes, in MuJoCo's layout (nflexstiffness)
} sap_mj_elements;

// Lists the elastic elements of flexes; once.
sap_status sap_mj_elements_create(sap_mj* a, sap_error* error);
// Evaluates all stiffness and damping of the step.
void sap_mj_elements_update(sap_mj* a, mjData* d);
// to += factor K v, or factor D v, of the flexes.
void sap_mj_elements_multiply(const sap_mj* a, bool damping, double factor, const double* v,
                              double* to);
