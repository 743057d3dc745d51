// SPDX-License-Identifier: BSD-3-Clause
// What a problem keeps of the last step for its lagged contacts.
#include <math.h>

#include "contact/cone.h"
#include "core/memory.h"
#include "problem/problem_data.h"

// n0 and gamma_n are far apart if they differ by more than this part of the larger,
static const double FAR = 0.2;
// and it matters if that moves the contact by so many times v_s.
static const double VISIBLE = 10.0;

// Removes all forces and makes room for `needed`.
static sap_status clear_forces(sap_lag_memory* memory, int32_t needed, sap_error* error) {
  SAP_TRY(sap_hash_map_reserve(&memory->keys, needed, error));
  SAP_TRY(SAP_GROW(&memory->forces, &memory->capacity, needed, error));
  sap_hash_map_clear(&memory->keys);
  memory->count = 0;
  return SAP_STATUS_OK;
}

// Of equal keys the first counts.
static void add_force(sap_lag_memory* memory, uint64_t key, double force) {
  const int32_t i = sap_hash_map_add(&memory->keys, key);
  if (i == memory->count) {
    memory->forces[i] = force;
    memory->count += 1;
  }
}

sap_status sap_lag_memory_archive(sap_lag_memory* memory, sap_archive* archive, sap_error* error) {
  SAP_TRY(sap_hash_map_archive(&memory->keys, archive, error));
  return SAP_ARCHIVE_ARRAY(archive, &memory->forces, &memory->count, &memory->capacity, error);
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
  const int32_t i = key != 0 ? sap_hash_map_find(&memory->keys, key) : -1;
  return i >= 0 && i < memory->count ? &memory->forces[i] : NULL;
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
  SAP_TRY(clear_forces(&p->lag, needed, error));
  for (int32_t b = 0; needed > 0 && b < p->nblocks; ++b) {
    const sap_block_data* block = &p->blocks[b];
    if (block->set == SAP_SET_LAGGED && block->key != 0) {
      add_force(&p->lag, block->key, fmax(0.0, gamma[block->first_row + 2]) / p->dt);
    }
  }
  return SAP_STATUS_OK;
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
