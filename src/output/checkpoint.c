// SPDX-License-Identifier: BSD-3-Clause
// Writes and reads checkpoints: a header, the options, q, v, act, the stepper's memory, a hash of
// each trait of the system, and a checksum of all bytes.
#include <sapstep/output.h>

#include <math.h>
#include <stdio.h>
#include <string.h>

#include "core/file.h"
#include "core/memory.h"
#include "integrators/step_options.h"
#include "integrators/stepper.h"
#include "integrators/tree_store.h"
#include "math/scalar.h"

static const char MAGIC[SAP_SEAL] = "SAPRUN\n";
enum { VERSION = 5, NAME_SIZE = 32 };

typedef struct checkpoint_header {
  char magic[8];
  uint32_t version, options;
  int32_t nq, nv, na;
  uint32_t traits;
  int64_t steps;
  double t;
  char solver[NAME_SIZE];
  double masses[2];  // see measure_masses
  uint64_t memory_size;
} checkpoint_header;

// Computes two sums over M(q), which differ for other masses or another tree.
static sap_status measure_masses(const sap_system* system, const double* q, double masses[2],
                                 sap_error* error) {
  sap_tree_store M = {0};
  sap_pool pool = {.owner = "checkpoint"};
  SAP_TRY_OR(sap_tree_store_create(system, &pool, &M, error), sap_pool_free(&pool));
  sap_tree_store_zero(&M);
  const int code = system->mass_matrix(system->context, q, &M.view);
  masses[0] = masses[1] = 0.0;
  for (size_t i = 0; i < M.count; ++i) {
    masses[0] += fabs(M.values[i]);
    masses[1] += fabs(M.values[i]) * (double)(i + 1) / (double)M.count;
  }
  sap_pool_free(&pool);
  return code == 0
             ? SAP_STATUS_OK
             : sap_fail(error, SAP_STATUS_CALLBACK, "the system's mass_matrix returned %d", code);
}

static uint32_t hash_trait(const sap_trait* trait) {
  const uint64_t hash = sap_hash(SAP_HASH_START, trait->value, trait->size);
  return (uint32_t)(hash ^ (hash >> 32));
}

// Hashes traits, or compares them with those of a checkpoint.
typedef struct trait_list {
  unsigned char* hashes;        // written; NULL: only counted
  const unsigned char* stored;  // compared (nstored)
  uint32_t count, nstored;
  sap_trait other;  // the first that differs; field NULL: none
} trait_list;

static void take_trait(void* visitor, const sap_trait* trait) {
  trait_list* list = visitor;
  const uint32_t hash = hash_trait(trait);
  const size_t at = list->count * sizeof hash;
  if (list->hashes != NULL) {
    memcpy(list->hashes + at, &hash, sizeof hash);
  }
  if (list->stored != NULL && list->other.field == NULL &&
      (list->count >= list->nstored || memcmp(list->stored + at, &hash, sizeof hash) != 0)) {
    list->other = *trait;
  }
  list->count += 1;
}

static void visit_traits(const sap_system* system, trait_list* list) {
  if (system->traits != NULL) {
    system->traits(system->context, take_trait, list);
  }
}

static size_t file_size(const checkpoint_header* h) {
  const size_t numbers = h->options + (size_t)h->nq + (size_t)h->nv + (size_t)h->na;
  return sizeof *h + numbers * sizeof(double) + (size_t)h->memory_size +
         h->traits * sizeof(uint32_t) + SAP_SEAL;
}

// Composes the whole file in memory, with room for its checksum. The caller frees *out.
static sap_status compose_file(sap_stepper* stepper, const sap_state* state, int64_t steps,
                               unsigned char** out, size_t* size, sap_error* error) {
  const sap_option_table table = sap_stepper_option_table();
  checkpoint_header header = {.version = VERSION,
                              .options = (uint32_t)table.count,
                              .nq = state->nq,
                              .nv = state->nv,
                              .na = state->na,
                              .steps = steps,
                              .t = state->t};
  memcpy(header.magic, MAGIC, sizeof header.magic);
  (void)snprintf(header.solver, sizeof header.solver, "%s", stepper->options.solver);
  size_t memory_size = 0;
  SAP_TRY(measure_masses(&stepper->system, state->q, header.masses, error));
  SAP_TRY(sap_stepper_save_memory(stepper, NULL, 0, &memory_size, error));
  header.memory_size = memory_size;
  trait_list traits = {0};
  visit_traits(&stepper->system, &traits);
  header.traits = traits.count;
  *size = file_size(&header);
  SAP_TRY(SAP_NEW(out, *size, "checkpoint", error));
  const double* const parts[] = {state->q, state->v, state->act};
  const int32_t counts[] = {state->nq, state->nv, state->na};
  unsigned char* at = *out;
  memcpy(at, &header, sizeof header);
  const sap_stepper_options options = sap_stepper_given_options(stepper);
  sap_options_save(table, &options, at + sizeof header);
  at += sizeof header + header.options * sizeof(double);
  for (int i = 0; i < 3; ++i) {
    if (counts[i] > 0) {
      memcpy(at, parts[i], (size_t)counts[i] * sizeof(double));
      at += (size_t)counts[i] * sizeof(double);
    }
  }
  traits = (trait_list){.hashes = at + memory_size};
  visit_traits(&stepper->system, &traits);
  return sap_stepper_save_memory(stepper, at, memory_size, &memory_size, error);
}

sap_status sap_checkpoint_write(const char* path, sap_stepper* stepper, const sap_state* state,
                                int64_t steps, sap_error* error) {
  SAP_NOT_NULL(error, path);
  SAP_TRY(sap_stepper_check_sizes(stepper, state, error));
  SAP_FAIL_IF(steps < 0, error, SAP_STATUS_ARGUMENT, "steps = %lld must be >= 0", (long long)steps);
  SAP_FAIL_IF(!(isfinite(state->t) && sap_all_finite(state->q, (size_t)state->nq) &&
                sap_all_finite(state->v, (size_t)state->nv) &&
                sap_all_finite(state->act, (size_t)state->na)),
              error, SAP_STATUS_NOT_FINITE, "state holds a number that is not finite");
  unsigned char* bytes = NULL;
  size_t size = 0;
  sap_status status = compose_file(stepper, state, steps, &bytes, &size, error);
  SAP_THEN(status, sap_sealed_write(path, bytes, size, error));
  sap_free(bytes);
  return status;
}

// Copies the header from undamaged bytes and checks version and sizes.
static sap_status read_header(const char* path, const unsigned char* bytes, size_t size,
                              checkpoint_header* header, sap_error* error) {
  memcpy(header, bytes, size < sizeof *header ? size : sizeof *header);
  const uint32_t count = (uint32_t)sap_stepper_option_table().count;
  SAP_FAIL_IF(header->version != VERSION || header->options != count, error, SAP_STATUS_SYNTAX,
              "%s: checkpoint of another version of sapstep: format %u with %u options, this "
              "version reads format %d with %u",
              path, header->version, header->options, VERSION, count);
  SAP_FAIL_IF(header->nq < 0 || header->nv < 0 || header->steps < 0 || header->na < 0 ||
                  header->memory_size > size || file_size(header) != size,
              error, SAP_STATUS_SYNTAX, "%s: checkpoint is damaged", path);
  return SAP_STATUS_OK;
}

static sap_status check_system(const char* path, const sap_stepper* stepper,
                               const checkpoint_header* header, const double* q, sap_error* error) {
  static const double SAME = 1e-9;
  double masses[2];
  SAP_TRY(measure_masses(&stepper->system, q, masses, error));
  for (int i = 0; i < 2; ++i) {
    SAP_FAIL_IF(!(fabs(masses[i] - header->masses[i]) <= SAME * fabs(header->masses[i])), error,
                SAP_STATUS_ARGUMENT,
                "%s: checkpoint belongs to another system: its mass matrix differs", path);
  }
  return SAP_STATUS_OK;
}

static sap_status check_traits(const char* path, const sap_stepper* stepper,
                               const checkpoint_header* header, const unsigned char* stored,
                               sap_error* error) {
  trait_list traits = {.stored = stored, .nstored = header->traits};
  visit_traits(&stepper->system, &traits);
  const sap_trait* other = &traits.other;
  if (other->field == NULL && traits.count == header->traits) {
    return SAP_STATUS_OK;
  }
  SAP_FAIL_IF(other->field == NULL || other->id < 0, error, SAP_STATUS_ARGUMENT,
              "%s: checkpoint belongs to another system: %s of the %s differs", path,
              other->field == NULL ? "the size" : other->field,
              other->field == NULL ? "system" : other->element);
  return sap_fail(error, SAP_STATUS_ARGUMENT,
                  "%s: checkpoint belongs to another system: %s of %s %d '%s' differs", path,
                  other->field, other->element, (int)other->id, other->name);
}

static sap_status check_options(const char* path, const sap_stepper_options* now,
                                const checkpoint_header* header, const unsigned char* options,
                                sap_error* error) {
  SAP_FAIL_IF(strncmp(header->solver, now->solver, NAME_SIZE) != 0, error, SAP_STATUS_ARGUMENT,
              "%s: solver = %.*s in the checkpoint, %s here", path, NAME_SIZE, header->solver,
              now->solver);
  return sap_options_compare(path, sap_stepper_option_table(), now, options, error);
}

// Restores stepper and state from the numbers (q, v, act) and the memory behind them.
static sap_status restore_numbers(const char* path, sap_stepper* stepper,
                                  const checkpoint_header* header, const unsigned char* options,
                                  const double* numbers, sap_state* state, sap_error* error) {
  const size_t nq = (size_t)header->nq, nv = (size_t)header->nv, na = (size_t)header->na;
  const unsigned char* memory = options + (header->options + nq + nv + na) * sizeof(double);
  SAP_FAIL_IF(!(isfinite(header->t) && sap_all_finite(numbers, nq + nv + na)), error,
              SAP_STATUS_SYNTAX, "%s: checkpoint is damaged", path);
  const sap_stepper_options now = sap_stepper_given_options(stepper);
  SAP_TRY(check_options(path, &now, header, options, error));
  SAP_TRY(check_traits(path, stepper, header, memory + header->memory_size, error));
  SAP_TRY(check_system(path, stepper, header, numbers, error));
  SAP_TRY_OR(sap_stepper_load_memory(stepper, memory, (size_t)header->memory_size, error),
             sap_error_prefix(error, "%s", path));
  state->t = header->t;
  memcpy(state->q, numbers, nq * sizeof(double));
  memcpy(state->v, numbers + nq, nv * sizeof(double));
  if (na > 0) {
    memcpy(state->act, numbers + nq + nv, na * sizeof(double));
  }
  return SAP_STATUS_OK;
}

// Restores stepper and state from undamaged bytes. On failure both are unchanged.
static sap_status restore_file(const char* path, sap_stepper* stepper, const unsigned char* bytes,
                               size_t size, sap_pool* pool, sap_state* state, int64_t* steps,
                               sap_error* error) {
  checkpoint_header header = {.version = 0};
  SAP_TRY(read_header(path, bytes, size, &header, error));
  SAP_FAIL_IF(header.nq != state->nq || header.nv != state->nv || header.na != state->na, error,
              SAP_STATUS_ARGUMENT,
              "%s: checkpoint belongs to a system with nq = %d, nv = %d, na = %d, this one has nq "
              "= %d, nv = %d, na = %d",
              path, header.nq, header.nv, header.na, state->nq, state->nv, state->na);
  const unsigned char* options = bytes + sizeof header;
  const size_t count = (size_t)header.nq + (size_t)header.nv + (size_t)header.na;
  double* numbers;  // aligned, unlike the file's bytes
  SAP_TRY(SAP_POOL_ADD(pool, &numbers, count, error));
  memcpy(numbers, options + header.options * sizeof(double), count * sizeof(double));
  SAP_TRY(restore_numbers(path, stepper, &header, options, numbers, state, error));
  *steps = header.steps;
  return SAP_STATUS_OK;
}

sap_status sap_checkpoint_read(const char* path, sap_stepper* stepper, sap_state* state,
                               int64_t* steps, sap_error* error) {
  SAP_NOT_NULL(error, path, steps);
  SAP_TRY(sap_stepper_check_sizes(stepper, state, error));
  sap_pool pool = {.owner = "checkpoint"};
  const unsigned char* bytes;
  size_t size;
  sap_status status = sap_sealed_read(path, MAGIC, "checkpoint", &pool, &bytes, &size, error);
  SAP_THEN(status, restore_file(path, stepper, bytes, size, &pool, state, steps, error));
  sap_pool_free(&pool);
  return status;
}
