// SPDX-License-Identifier: BSD-3-Clause
// Values of the rows of blocks between solves.
#include "problem/warm_start.h"

#include <math.h>
#include <string.h>

#include "core/memory.h"
#include "problem/problem_data.h"

sap_status sap_warm_start_reserve(sap_warm_start* m, const sap_problem* p, sap_error* error) {
  SAP_TRY(sap_hash_map_reserve(&m->keys, p->nblocks, error));
  SAP_TRY(SAP_GROW(&m->rows, &m->rows_capacity, p->nblocks, error));
  return SAP_GROW(&m->values, &m->values_capacity, p->nrows, error);
}

const double* sap_warm_start_find(const sap_warm_start* m, uint64_t key, int32_t nrows) {
  const int32_t i = key != 0 ? sap_hash_map_find(&m->keys, key) : -1;
  return i >= 0 && i < m->nrows && m->rows[i].count == nrows ? m->values + m->rows[i].first : NULL;
}

void sap_warm_start_recall(const sap_warm_start* m, const sap_problem* p, double* values) {
  for (int32_t b = 0; b < p->nblocks; ++b) {
    const sap_block_data* block = &p->blocks[b];
    const bool same =  // mostly the b-th block of the previous solve has the same key
        b < m->nrows && m->keys.keys[b] == block->key && m->rows[b].count == block->nrows;
    const double* stored =
        same ? m->values + m->rows[b].first : sap_warm_start_find(m, block->key, block->nrows);
    for (int32_t i = 0; i < block->nrows; ++i) {
      values[block->first_row + i] = stored != NULL ? stored[i] : (double)NAN;
    }
  }
}

void sap_warm_start_store(sap_warm_start* m, const sap_problem* p, const double* values) {
  bool same = m->nrows == p->nblocks && m->keys.count == p->nblocks;  // keys in the same order
  for (int32_t b = 0; same && b < p->nblocks; ++b) {
    same = m->keys.keys[b] == p->blocks[b].key;
  }
  m->nvalues = p->nrows;
  if (p->nrows > 0) {
    memcpy(m->values, values, (size_t)p->nrows * sizeof(double));
  }
  for (int32_t b = 0; same && b < p->nblocks; ++b) {
    m->rows[b] = (sap_warm_rows){p->blocks[b].first_row, p->blocks[b].nrows};
  }
  if (same) {
    return;
  }
  sap_hash_map_clear(&m->keys);
  m->nrows = 0;
  SAP_EACH(const sap_block_data, block, p->blocks, p->nblocks) {
    if (block->key != 0 && sap_hash_map_add(&m->keys, block->key) == m->nrows) {
      m->rows[m->nrows++] = (sap_warm_rows){block->first_row, block->nrows};
    }
  }
}

sap_status sap_warm_start_archive(sap_warm_start* m, sap_archive* archive, sap_error* error) {
  SAP_TRY(sap_hash_map_archive(&m->keys, archive, error));
  SAP_TRY(SAP_ARCHIVE_ARRAY(archive, &m->rows, &m->nrows, &m->rows_capacity, error));
  return SAP_ARCHIVE_ARRAY(archive, &m->values, &m->nvalues, &m->values_capacity, error);
}

void sap_warm_start_forget(sap_warm_start* m) {
  if (m->nrows > 0) {
    sap_hash_map_clear(&m->keys);
    m->nrows = m->nvalues = 0;
  }
}

void sap_warm_start_clear(sap_warm_start* m) {
  sap_hash_map_free(&m->keys);
  sap_free(m->rows);
  sap_free(m->values);
  *m = (sap_warm_start){0};
}
