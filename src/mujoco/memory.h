// SPDX-License-Identifier: BSD-3-Clause
// The adapter's memory: results of a step that the next one starts from, and the state in mjData.
#pragma once

#include <sapstep/mujoco.h>

#include "core/archive.h"
#include "core/error.h"
#include "mujoco/compat.h"

enum { SAP_MJ_MEMORIES = 3 };  // of the adapter, the problem and the solver
// State (mjSTATE_INTEGRATION) and memories at one time; arrays of the adapter's pool.
typedef struct sap_mj_snapshot {
  mjtNum* state;
  unsigned char* memory;  // one after the other
  uint64_t size[SAP_MJ_MEMORIES];
} sap_mj_snapshot;
sap_status sap_mj_snapshot_take(sap_mj* a, const mjData* d, sap_mj_snapshot* s, sap_error* error);
// A lack of memory leaves the adapter as sap_mj_forget does; d is unchanged if this fails.
sap_status sap_mj_snapshot_restore(sap_mj* a, mjData* d, const sap_mj_snapshot* s,
                                   sap_error* error);
// Makes room for a snapshot of s->size; returns the bytes of its memories.
sap_status sap_mj_snapshot_reserve(sap_mj* a, sap_mj_snapshot* s, size_t* bytes, sap_error* error);
// Hashes the model, without what is only drawn or sets the accuracy of MuJoCo's own steps.
sap_status sap_mj_memory_model_hash(const mjModel* m, uint64_t* hash, sap_error* error);
uint64_t sap_mj_memory_material_hash(const sap_mj* a);

// Fails with NOT_FINITE: "name[i] = x must be finite".
sap_status sap_mj_state_check_numbers(const char* name, const mjtNum* x, int64_t count,
                                      sap_error* error);
sap_status sap_mj_state_check(const mjModel* m, const mjData* d, sap_error* error);
sap_status sap_mj_state_check_inputs(const mjModel* m, const mjData* d, sap_error* error);

// Saves the arrays of mjData that a step's motion writes in a->backup, and loads them.
sap_status sap_mj_state_save(sap_mj* a, mjData* d, sap_error* error);
void sap_mj_state_load(const sap_mj* a, mjData* d);
int32_t sap_mj_state_run_size(const mjModel* m);  // of mjSTATE_INTEGRATION
