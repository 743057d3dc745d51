// SPDX-License-Identifier: BSD-3-Clause
#include "solvers/key_map.h"

#include <math.h>
#include <string.h>

#include "core/memory.h"

enum { RECALL_WORK = 50 };  // instructions of a block, about

sap_status sap_key_map_reserve(sap_key_map* m, const sap_problem* p, sap_error* error) {
  SAP_TRY(sap_hash_map_reserve(&m->keys, p->nblocks, error));
  SAP_TRY(SAP_GROW(&m->rows, &m->rows_capacity, p->nblocks, error));
  return SAP_GROW(&m->values, &m->values_capacity, p->nrows, error);
}

static inline const double* find(const sap_key_map* m, uint64_t key, int32_t nrows) {
  const int32_t i = key != 0 ? sap_hash_map_find(&m->keys, key) : -1;
  return i >= 0 && i < m->nrows && m->rows[i].count == nrows ? m->values + m->rows[i].first : NULL;
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
  sap_hash_map_clear(&m->keys);
  m->nrows = 0;
  m->nvalues = p->nrows;
  if (p->nrows > 0) {
    memcpy(m->values, values, (size_t)p->nrows * sizeof(double));
  }
  for (int32_t b = 0; b < p->nblocks; ++b) {
    const sap_block_data* block = &p->blocks[b];
    if (block->key != 0 && sap_hash_map_add(&m->keys, block->key) == m->nrows) {
      m->rows[m->nrows++] = (sap_key_rows){block->first_row, block->nrows};
    }
  }
}

sap_status sap_key_map_archive(sap_key_map* m, sap_archive* archive, sap_error* error) {
  SAP_TRY(sap_hash_map_archive(&m->keys, archive, error));
  SAP_TRY(SAP_ARCHIVE_ARRAY(archive, &m->rows, &m->nrows, &m->rows_capacity, error));
  return SAP_ARCHIVE_ARRAY(archive, &m->values, &m->nvalues, &m->values_capacity, error);
}

void sap_key_map_clear(sap_key_map* m) {
  sap_hash_map_free(&m->keys);
  sap_free(m->rows);
  sap_free(m->values);
  *m = (sap_key_map){0};
}
