// SPDX-License-Identifier: BSD-3-Clause
#include "solvers/primal/impulse_memory.h"

#include <math.h>
#include <string.h>

#include "core/memory.h"

enum { RECALL_WORK = 50 };  // instructions of a block, about

// First slot to look at; the multiplier is 2^64 over the golden ratio.
static size_t home(uint64_t key, int32_t nslots) {
  return (size_t)((key * UINT64_C(0x9E3779B97F4A7C15)) >> 32) & (size_t)(nslots - 1);
}

// The slot that holds the key or the empty one where it belongs.
static int32_t find_slot(const sap_impulse_memory* m, uint64_t key) {
  size_t at = home(key, m->nslots);
  while (m->slots[at].key != 0 && m->slots[at].key != key) {
    at = (at + 1) & (size_t)(m->nslots - 1);
  }
  return (int32_t)at;
}

static int64_t slots_for(int32_t nblocks) {
  int64_t nslots = 16;
  while (nslots < 2 * (int64_t)nblocks) {
    nslots *= 2;
  }
  return nslots;
}

sap_status sap_impulse_memory_reserve(sap_impulse_memory* m, const sap_problem* p,
                                      sap_error* error) {
  const sap_status status = SAP_GROW(&m->gamma, &m->gamma_capacity, p->nrows, error);
  return status == SAP_STATUS_OK
             ? SAP_RESERVE(&m->slots, &m->slots_capacity, slots_for(p->nblocks), error)
             : status;
}

typedef struct recalling {
  const sap_impulse_memory* memory;
  const sap_problem* problem;
  double* gamma;
} recalling;

static void recall(void* context, int32_t first, int32_t end) {
  const recalling* of = context;
  const sap_impulse_memory* m = of->memory;
  double* gamma = of->gamma;
  for (int32_t b = first; b < end; ++b) {
    const sap_block_data* block = &of->problem->blocks[b];
    const sap_impulse_slot* slot =
        block->key != 0 && m->nslots > 0 ? &m->slots[find_slot(m, block->key)] : NULL;
    const bool known = slot != NULL && slot->key != 0 && slot->nrows == block->nrows;
    for (int32_t i = 0; i < block->nrows; ++i) {
      gamma[block->first_row + i] = known ? m->gamma[slot->row + i] : (double)NAN;
    }
  }
}

void sap_impulse_memory_recall(const sap_impulse_memory* m, const sap_problem* p, double* gamma) {
  recalling of = {m, p, gamma};
  sap_threads_run_parts(p->threads, p->nblocks, (int64_t)RECALL_WORK * p->nblocks, recall, &of);
}

void sap_impulse_memory_store(sap_impulse_memory* m, const sap_problem* p, const double* gamma) {
  m->nslots = (int32_t)slots_for(p->nblocks);
  m->ngamma = p->nrows;
  memset(m->slots, 0, (size_t)m->nslots * sizeof *m->slots);
  if (p->nrows > 0) {
    memcpy(m->gamma, gamma, (size_t)p->nrows * sizeof(double));
  }
  for (int32_t b = 0; b < p->nblocks; ++b) {
    const sap_block_data* block = &p->blocks[b];
    sap_impulse_slot* slot = block->key != 0 ? &m->slots[find_slot(m, block->key)] : NULL;
    if (slot != NULL && slot->key == 0) {
      *slot = (sap_impulse_slot){block->key, block->first_row, block->nrows};
    }
  }
}

sap_status sap_impulse_memory_archive(sap_impulse_memory* m, sap_archive* archive,
                                      sap_error* error) {
  const sap_status status =
      SAP_ARCHIVE_ARRAY(archive, &m->slots, &m->nslots, &m->slots_capacity, error);
  return status == SAP_STATUS_OK
             ? SAP_ARCHIVE_ARRAY(archive, &m->gamma, &m->ngamma, &m->gamma_capacity, error)
             : status;
}

void sap_impulse_memory_clear(sap_impulse_memory* m) {
  sap_free(m->slots);
  sap_free(m->gamma);
  *m = (sap_impulse_memory){0};
}
