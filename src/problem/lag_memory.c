// SPDX-License-Identifier: BSD-3-Clause
// What a problem keeps of the last step for its lagged contacts.
#include <math.h>
#include <string.h>

#include "contact/sets.h"
#include "core/memory.h"
#include "problem/problem_data.h"

static const uint64_t SPREAD = 0x9E3779B97F4A7C15u;  // 2^64/golden ratio
// n0 and gamma_n are far apart if they differ by more than this part of the larger,
static const double FAR = 0.2;
// and it matters if that moves the contact by so many times v_s.
static const double VISIBLE = 10.0;

// Index of the key's entry, or of the free one where it belongs.
static int32_t place_of(const sap_lag_memory* memory, uint64_t key) {
  const uint64_t mask = (uint64_t)memory->count - 1;
  uint64_t at = (key * SPREAD) >> 32 & mask;
  while (memory->entries[at].key != 0 && memory->entries[at].key != key) {
    at = (at + 1) & mask;
  }
  return (int32_t)at;
}

// Forgets all and makes room for `needed`.
static sap_status begin(sap_lag_memory* memory, int32_t needed, sap_error* error) {
  memory->count = 0;
  if (needed == 0) {
    return SAP_STATUS_OK;
  }
  int64_t count = 2;
  while (count < 2 * (int64_t)needed) {
    count *= 2;
  }
  const sap_status status = SAP_RESERVE(&memory->entries, &memory->capacity, count, error);
  if (status == SAP_STATUS_OK) {
    memory->count = (int32_t)count;
    memset(memory->entries, 0, (size_t)count * sizeof *memory->entries);
  }
  return status;
}

// Of equal keys the first counts.
static void add(sap_lag_memory* memory, uint64_t key, double force) {
  sap_lag_entry* entry = &memory->entries[place_of(memory, key)];
  if (entry->key == 0) {
    *entry = (sap_lag_entry){key, force};
  }
}

sap_status sap_lag_memory_archive(sap_lag_memory* memory, sap_archive* archive, sap_error* error) {
  return SAP_ARCHIVE_ARRAY(archive, &memory->entries, &memory->count, &memory->capacity, error);
}

static sap_status archive_lag(void* lag, sap_archive* archive, sap_error* error) {
  return sap_lag_memory_archive(lag, archive, error);
}

sap_status sap_problem_save_memory(sap_problem* problem, void* bytes, size_t capacity, size_t* size,
                                   sap_error* error) {
  if (problem == NULL || size == NULL) {
    return sap_fail(error, SAP_STATUS_ARGUMENT, "sap_problem_save_memory: %s is NULL",
                    problem == NULL ? "problem" : "size");
  }
  return sap_archive_to_bytes(archive_lag, &problem->lag, bytes, capacity, size, error);
}

sap_status sap_problem_load_memory(sap_problem* problem, const void* bytes, size_t size,
                                   sap_error* error) {
  if (problem == NULL || bytes == NULL) {
    return sap_fail(error, SAP_STATUS_ARGUMENT, "sap_problem_load_memory: %s is NULL",
                    problem == NULL ? "problem" : "bytes");
  }
  return sap_archive_from_bytes(archive_lag, &problem->lag, bytes, size, error);
}

const double* sap_lag_memory_find(const sap_lag_memory* memory, uint64_t key) {
  if (memory->count == 0 || key == 0) {
    return NULL;
  }
  const sap_lag_entry* entry = &memory->entries[place_of(memory, key)];
  return entry->key == key ? &entry->force : NULL;
}

sap_status sap_problem_keep_impulses(sap_problem* p, const double* gamma, sap_error* error) {
  if (p == NULL) {
    return sap_fail(error, SAP_STATUS_ARGUMENT, "sap_problem_keep_impulses: problem is NULL");
  }
  int32_t needed = 0;
  for (int32_t b = 0; gamma != NULL && b < p->nblocks; ++b) {
    const sap_block_data* block = &p->blocks[b];
    if (block->set == SAP_SET_LAGGED && block->key != 0) {
      const double normal = gamma[block->first_row + 2];
      if (!isfinite(normal)) {
        return sap_fail(error, SAP_STATUS_NOT_FINITE, "block %d: gamma_n = %g must be finite", b,
                        normal);
      }
      needed += 1;
    }
  }
  const sap_status status = begin(&p->lag, needed, error);
  for (int32_t b = 0; status == SAP_STATUS_OK && needed > 0 && b < p->nblocks; ++b) {
    const sap_block_data* block = &p->blocks[b];
    if (block->set == SAP_SET_LAGGED && block->key != 0) {
      add(&p->lag, block->key, fmax(0.0, gamma[block->first_row + 2]) / p->dt);
    }
  }
  return status;
}

static bool is_far(const sap_block_data* block, double gamma_n) {
  const double n0 = block->lagged_impulse, change = fabs(gamma_n - n0);
  return change > FAR * fmax(gamma_n, n0) &&
         block->friction * block->w * change > VISIBLE * block->slip_speed;
}

bool sap_problem_relag(sap_problem* p, const double* gamma) {
  bool far = false;
  for (int32_t b = 0; b < p->nblocks && !far; ++b) {
    const sap_block_data* block = &p->blocks[b];
    far = block->set == SAP_SET_LAGGED && is_far(block, gamma[block->first_row + 2]);
  }
  for (int32_t b = 0; b < p->nblocks && far; ++b) {
    sap_block_data* block = &p->blocks[b];
    if (block->set == SAP_SET_LAGGED) {
      block->lagged_impulse = fmax(0.0, gamma[block->first_row + 2]);
    }
  }
  return far;
}
