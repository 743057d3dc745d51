// SPDX-License-Identifier: BSD-3-Clause
// The adapter of a MuJoCo model and its parts.
#pragma once

#include <sapstep/mujoco.h>

#include "contact/loads.h"
#include "core/memory.h"
#include "core/options.h"
#include "mujoco/assembly.h"
#include "mujoco/compat.h"
#include "mujoco/contacts.h"
#include "mujoco/memory.h"
#include "mujoco/momentum.h"

// Turns MuJoCo's errors into a status: mju_error must not return to MuJoCo, it jumps back to the
// innermost sap_mj_guard of its thread. The frames in between must own nothing that needs freeing.
typedef struct sap_mj_guard_options {
  sap_message_function warning;  // receives MuJoCo's warnings; NULL: MuJoCo's own handler
  void* warning_context;
} sap_mj_guard_options;

// Calls function(context). Fails with CALLBACK and MuJoCo's text if mju_error ended it.
sap_status sap_mj_guard(void (*function)(void* context), void* context,
                        const sap_mj_guard_options* options, sap_error* error);

// Kinematic trees: blocks of consecutive velocities.
typedef struct sap_mj_trees {
  int32_t count;
  int32_t* size;     // velocities (count)
  int32_t* start;    // first velocity (count + 1)
  int32_t* A_start;  // first entry of the tree's block in A (count + 1)
  int32_t* of_dof;   // (nv)
  int32_t* of_body;  // -1: static (nbody)
} sap_mj_trees;

struct sap_mj {
  const mjModel* model;
  mjModel shadow;  // the model's arrays with the adapter's options
  int32_t nv;
  sap_mj_options options;
  sap_mj_guard_options guard;
  sap_pool pool;       // all arrays of fixed size
  bool has_few_geoms;  // no two bodies have many pairs of geoms
  double* backup;      // state at the start of the step (sap_mj_state_save)

  // sap_mj_advance
  mjModel timed;                 // the model with the timestep of the step under way
  double substep;                // length of the next one; 0: the timestep [s]
  sap_mj_snapshot snapshots[2];  // at the start of the timestep, of the step
  double *whole_q, *whole_v;     // end of the step in one part (nq) (nv)
  double* difference;            // of positions (nv)
  double* ends;                  // of sap_mj_transition

  sap_mj_trees trees;
  sap_loads loads;
  sap_mj_materials materials;
  sap_mj_margins margins;
  sap_mj_ahead ahead;
  sap_mj_patches patches;
  sap_mj_identities identities;
  sap_mj_mocap mocap;
  sap_mj_momentum momentum;
  sap_mj_elements elements;
  sap_mj_servos servos;
  sap_mj_rows rows;
  sap_mj_blocks blocks;

  sap_problem* problem;
  sap_solver* solver;
  const sap_solver_info* solver_info;
  sap_solution solution;
  sap_report report;
};

// Copies the model's options to the shadow and sets those that the adapter decides.
void sap_mj_refresh(sap_mj* a);
// Returns a number of the model's <custom>, or `otherwise`.
double sap_mj_numeric(const mjModel* m, const char* name, double otherwise);
