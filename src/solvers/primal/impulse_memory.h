// SPDX-License-Identifier: BSD-3-Clause
// Impulses of the last solve by block key, the start of the next one's duals.
#ifndef SAP_SOLVERS_PRIMAL_IMPULSE_MEMORY_H
#define SAP_SOLVERS_PRIMAL_IMPULSE_MEMORY_H

#include "core/archive.h"
#include "problem/problem_data.h"

typedef struct sap_impulse_slot {
  uint64_t key;  // 0: empty
  int32_t row;   // in gamma
  int32_t nrows;
} sap_impulse_slot;

// Open addressing in a power of two of slots, at most half of them taken. Start with {0}.
typedef struct sap_impulse_memory {
  sap_impulse_slot* slots;
  double* gamma;
  int32_t nslots, ngamma, slots_capacity, gamma_capacity;
} sap_impulse_memory;

// Room to store a problem's impulses; what is stored stays readable.
sap_status sap_impulse_memory_reserve(sap_impulse_memory* memory, const sap_problem* problem,
                                      sap_error* error);
// gamma (rows of the problem) of the blocks whose key and rows were stored last, NaN elsewhere.
void sap_impulse_memory_recall(const sap_impulse_memory* memory, const sap_problem* problem,
                               double* gamma);
// Replaces what is stored; of blocks with the same key the first counts. Needs the reserve.
void sap_impulse_memory_store(sap_impulse_memory* memory, const sap_problem* problem,
                              const double* gamma);
sap_status sap_impulse_memory_archive(sap_impulse_memory* memory, sap_archive* archive,
                                      sap_error* error);
void sap_impulse_memory_clear(sap_impulse_memory* memory);

#endif
