// SPDX-License-Identifier: BSD-3-Clause
// Checkpoints of a MuJoCo run: a header, the options, mjData's state, three memories (the
// adapter's, the problem's and the solver's) and a checksum over all of it.
#include <stdio.h>
#include <string.h>

#include "core/file.h"
#include "core/memory.h"
#include "mujoco/adapter.h"
#include "mujoco/mujoco_options.h"

static const char MARK[SAP_SEAL] = "SAPMJRN";
static const char KIND[] = "checkpoint of a MuJoCo run";
enum { VERSION = 7, NAME_SIZE = 32 };

typedef struct header {
  char mark[SAP_SEAL];
  uint32_t version, options;
  int32_t mujoco, nstate;
  int64_t steps;
  uint64_t model, materials;
  double timestep;
  char solver[NAME_SIZE];
  uint64_t memory_size[SAP_MJ_MEMORIES];
} header;

static uint64_t memory_size(const header* h) {
  return h->memory_size[0] + h->memory_size[1] + h->memory_size[2];
}

static size_t file_size(const header* h) {
  return sizeof *h + (h->options + (size_t)h->nstate) * sizeof(double) + (size_t)memory_size(h) +
         SAP_SEAL;
}

static sap_status make_header(const sap_mj* a, int64_t steps, header* out, sap_error* error) {
  *out = (header){.version = VERSION,
                  .options = (uint32_t)sap_mj_option_table().count,
                  .mujoco = mjVERSION_HEADER,
                  .nstate = sap_mj_state_run_size(a->model),
                  .steps = steps,
                  .materials = sap_mj_memory_material_hash(a),
                  .timestep = a->model->opt.timestep};
  (void)snprintf(out->solver, sizeof out->solver, "%s", a->options.solver);
  memcpy(out->mark, MARK, sizeof out->mark);
  return sap_mj_memory_model_hash(a->model, &out->model, error);
}

sap_status sap_mj_checkpoint_write(const char* path, sap_mj* adapter, const mjData* data,
                                   int64_t steps, sap_error* error) {
  SAP_NOT_NULL(error, path, adapter, data);
  sap_mj* a = adapter;
  sap_mj_snapshot* run = &a->snapshots[0];
  SAP_FAIL_IF(steps < 0, error, SAP_STATUS_ARGUMENT, "steps = %lld must be >= 0", (long long)steps);
  SAP_TRY(sap_mj_state_check(a->model, data, error));
  header h;
  SAP_TRY(make_header(a, steps, &h, error));
  SAP_TRY(sap_mj_snapshot_take(a, data, run, error));
  memcpy(h.memory_size, run->size, sizeof h.memory_size);
  const size_t size = file_size(&h);
  unsigned char* bytes;
  SAP_TRY(SAP_NEW(&bytes, size, KIND, error));
  unsigned char* at = bytes;
  memcpy(at, &h, sizeof h);
  sap_options_save(sap_mj_option_table(), &a->options, at += sizeof h);
  memcpy(at += h.options * sizeof(double), run->state, (size_t)h.nstate * sizeof(mjtNum));
  memcpy(at + (size_t)h.nstate * sizeof(mjtNum), run->memory, (size_t)memory_size(&h));
  const sap_status status = sap_sealed_write(path, bytes, size, error);
  sap_free(bytes);
  return status;
}

// Checks that a complete file holds a run of this adapter.
static sap_status check_header(const char* path, const header* now, const header* h, size_t size,
                               sap_error* error) {
  SAP_FAIL_IF(h->version != now->version || h->options != now->options, error, SAP_STATUS_SYNTAX,
              "%s: checkpoint of another version of sapstep: format %u with %u options, this "
              "version reads format %u with %u",
              path, h->version, h->options, now->version, now->options);
  SAP_FAIL_IF(h->mujoco != now->mujoco, error, SAP_STATUS_SYNTAX,
              "%s: checkpoint of MuJoCo %d, this is %d", path, h->mujoco, now->mujoco);
  SAP_FAIL_IF(h->nstate < 0 || h->steps < 0 || h->memory_size[0] > size ||
                  h->memory_size[1] > size || h->memory_size[2] > size || file_size(h) != size,
              error, SAP_STATUS_SYNTAX, "%s: checkpoint is damaged", path);
  SAP_FAIL_IF(h->nstate != now->nstate || h->model != now->model, error, SAP_STATUS_ARGUMENT,
              "%s: checkpoint belongs to another model, or of this one before it was changed",
              path);
  return SAP_STATUS_OK;
}

static sap_status check_run_options(const char* path, const sap_mj* a, const header* now,
                                    const header* h, const unsigned char* bytes, sap_error* error) {
  SAP_FAIL_IF(strncmp(h->solver, now->solver, sizeof now->solver) != 0, error, SAP_STATUS_ARGUMENT,
              "%s: solver = %.*s in the checkpoint, %s here", path, NAME_SIZE, h->solver,
              now->solver);
  SAP_FAIL_IF(h->timestep != now->timestep, error, SAP_STATUS_ARGUMENT,
              "%s: timestep = %.12g in the checkpoint, %.12g here", path, h->timestep,
              now->timestep);
  SAP_TRY(sap_options_compare(path, sap_mj_option_table(), &a->options, bytes + sizeof *h, error));
  SAP_FAIL_IF(h->materials != now->materials, error, SAP_STATUS_ARGUMENT,
              "%s: checkpoint was made with another stiffness or relaxation time of geoms or "
              "limits",
              path);
  return SAP_STATUS_OK;
}

// Loads memories and state from a checked file. A failure leaves d unchanged.
static sap_status load_run(sap_mj* a, const header* h, const unsigned char* bytes, mjData* d,
                           sap_error* error) {
  const unsigned char* at = bytes + sizeof *h + h->options * sizeof(double);
  const size_t state = (size_t)h->nstate * sizeof(mjtNum);
  sap_mj_snapshot* run = &a->snapshots[0];
  size_t memory;
  memcpy(run->size, h->memory_size, sizeof run->size);
  SAP_TRY(sap_mj_snapshot_reserve(a, run, &memory, error));
  memcpy(run->state, at, state);
  memcpy(run->memory, at + state, memory);
  return sap_mj_snapshot_restore(a, d, run, error);
}

static sap_status read_bytes(const char* path, sap_mj* a, const unsigned char* bytes, size_t size,
                             mjData* d, int64_t* steps, sap_error* error) {
  header h = {.version = 0}, now;
  memcpy(&h, bytes, size < sizeof h ? size : sizeof h);
  SAP_TRY(make_header(a, 0, &now, error));
  SAP_TRY(check_header(path, &now, &h, size, error));
  SAP_TRY(check_run_options(path, a, &now, &h, bytes, error));
  SAP_TRY(load_run(a, &h, bytes, d, error));
  *steps = h.steps;
  return SAP_STATUS_OK;
}

sap_status sap_mj_checkpoint_read(const char* path, sap_mj* adapter, mjData* data, int64_t* steps,
                                  sap_error* error) {
  SAP_NOT_NULL(error, path, adapter, data, steps);
  sap_pool pool = {.owner = KIND};
  const unsigned char* bytes;
  size_t size;
  sap_status status = sap_sealed_read(path, MARK, KIND, &pool, &bytes, &size, error);
  SAP_THEN(status, read_bytes(path, adapter, bytes, size, data, steps, error));
  sap_pool_free(&pool);
  return status;
}
