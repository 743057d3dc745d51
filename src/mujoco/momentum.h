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
typedef struct sap_mj_elements {
  double *dof_stiffness, *dof_damping;        // joints: -dF/dq and -dF/dv (nv)
  double *tendon_stiffness, *tendon_damping;  // (ntendon)
} sap_mj_elements;

// Evaluates all stiffness and damping of the step.
void sap_mj_elements_update(sap_mj* a, const mjData* d);
