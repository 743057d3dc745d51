// SPDX-License-Identifier: BSD-3-Clause
#include "solvers/key_map.h"

#include <math.h>
#include <string.h>

#include "core/memory.h"

enum { RECALL_WORK = 50 };  // instructions of a block, about

// First slot to look at; the multiplier is 2^64 over the golden ratio.
static size_t home(uint64_t key, int32_t nslots) {
  return (size_t)((key * UINT64_C(0x9E3779B97F4A7C15)) >> 32) & (size_t)(nslots - 1);
}

// The slot that holds the key or the empty one where it belongs.
static sap_key_slot* find_slot(const sap_key_map* m, uint64_t key) {
  size_t at = home(key, m->nslots);
  while (m->slots[at].key != 0 && m->slots[at].key != key) {
    at = (at + 1) & (size_t)(m->nslots - 1);
  }
  return &m->slots[at];
}

static int64_t slots_for(int32_t nblocks) {
  int64_t nslots = 16;
  while (nslots < 2 * (int64_t)nblocks) {
    nslots *= 2;
  }
  return nslots;
}

sap_status sap_key_map_reserve(sap_key_map* m, const sap_problem* p, sap_error* error) {
  const sap_status status = SAP_GROW(&m->values, &m->values_capacity, p->nrows, error);
  return status == SAP_STATUS_OK
             ? SAP_RESERVE(&m->slots, &m->slots_capacity, slots_for(p->nblocks), error)
             : status;
}

static inline const double* find(const sap_key_map* m, uint64_t key, int32_t nrows) {
  if (key == 0 || m->nslots == 0) {
    return NULL;
  }
  const sap_key_slot* slot = find_slot(m, key);
  return slot->key != 0 && slot->nrows == nrows ? m->values + slot->row : NULL;
}

const double* sap_key_map_find(const sap_key_map* m, uint64_t key, int32_t nrows) {
  return find(m, key, nrows);
}

typedef struct recalling {
  const sap_key_map* map;
  const sap_problem* problem;
  double* values;
} recalling;

static void recall(void* context, int32_t first, int32_t end) {
  const recalling* of = context;
  double* values = of->values;
  for (int32_t b = first; b < end; ++b) {
    const sap_block_data* block = &of->problem->blocks[b];
    const double* known = find(of->map, block->key, block->nrows);
    for (int32_t i = 0; i < block->nrows; ++i) {
      values[block->first_row + i] = known != NULL ? known[i] : (double)NAN;
    }
  }
}

void sap_key_map_recall(const sap_key_map* m, const sap_problem* p, double* values) {
  recalling of = {m, p, values};
  sap_threads_run_parts(p->threads, p->nblocks, (int64_t)RECALL_WORK * p->nblocks, recall, &of);
}

void sap_key_map_store(sap_key_map* m, const sap_problem* p, const double* values) {
  m->nslots = (int32_t)slots_for(p->nblocks);
  m->nvalues = p->nrows;
  memset(m->slots, 0, (size_t)m->nslots * sizeof *m->slots);
  if (p->nrows > 0) {
    memcpy(m->values, values, (size_t)p->nrows * sizeof(double));
  }
  for (int32_t b = 0; b < p->nblocks; ++b) {
    const sap_block_data* block = &p->blocks[b];
    sap_key_slot* slot = block->key != 0 ? find_slot(m, block->key) : NULL;
    if (slot != NULL && slot->key == 0) {
      *slot = (sap_key_slot){block->key, block->first_row, block->nrows};
    }
  }
}

sap_status sap_key_map_archive(sap_key_map* m, sap_archive* archive, sap_error* error) {
  const sap_status status =
      SAP_ARCHIVE_ARRAY(archive, &m->slots, &m->nslots, &m->slots_capacity, error);
  return status == SAP_STATUS_OK
             ? SAP_ARCHIVE_ARRAY(archive, &m->values, &m->nvalues, &m->values_capacity, error)
             : status;
}

void sap_key_map_clear(sap_key_map* m) {
  sap_free(m->slots);
  sap_free(m->values);
  *m = (sap_key_map){0};
}
