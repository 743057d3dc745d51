// SPDX-License-Identifier: BSD-3-Clause
// Rows as they lie in a batch: what a row points to stands behind it.
#include <string.h>

#include "core/memory.h"
#include "output/recorder/recorder_queue.h"

#ifdef SAPSTEP_HDF5

enum { ALIGNMENT = 16 };

static size_t rounded(size_t size) {
  return (size + ALIGNMENT - 1) / ALIGNMENT * ALIGNMENT;
}

// Copies to *at, which moves on; where the copy is. NULL gives NULL. With `at` NULL only adds to
// *total.
static const void* copy(const void* from, size_t size, unsigned char** at, size_t* total) {
  if (from == NULL) {
    return NULL;
  }
  *total += rounded(size);
  if (at == NULL) {
    return from;
  }
  unsigned char* to = *at;
  memcpy(to, from, size);
  *at = to + rounded(size);
  return to;
}

static const sap_packed_contact* copy_contacts(const sap_contact* from, int32_t count,
                                               unsigned char** at, size_t* total) {
  const size_t size = rounded((size_t)count * sizeof(sap_packed_contact));
  *total += size;
  if (at == NULL) {
    return NULL;
  }
  sap_packed_contact* to = (sap_packed_contact*)(void*)*at;
  for (int32_t i = 0; i < count; ++i) {
    const sap_contact* c = &from[i];
    sap_packed_contact* out = &to[i];
    out->body_A = c->body_A;
    out->body_B = c->body_B;
    out->shape_A = c->shape_A;
    out->shape_B = c->shape_B;
    out->feature = c->feature;
    memcpy(out->point, c->point, sizeof out->point);
    memcpy(out->R_WC, c->R_WC, sizeof out->R_WC);
    out->phi = c->phi;
    memcpy(out->friction, c->friction, sizeof out->friction);
    memcpy(out->vc, c->vc, sizeof out->vc);
    memcpy(out->gamma, c->gamma, sizeof out->gamma);
  }
  *at += size;
  return to;
}

// Bytes of all that the row and its solver's report point to; these then point to the copies at
// `at`, unless that is NULL.
static size_t copy_parts(const sap_model_sizes* n, sap_packed_row* packed, unsigned char* at) {
  const size_t real = sizeof(double), bodies = (size_t)n->bodies;
  sap_recorded_row* row = &packed->row;
  unsigned char** to = at != NULL ? &at : NULL;
  size_t size = 0;
  row->q = copy(row->q, (size_t)n->nq * real, to, &size);
  row->v = copy(row->v, (size_t)n->nv * real, to, &size);
  row->act = copy(row->act, (size_t)n->na * real, to, &size);
  row->p_WB = copy(row->p_WB, 3 * bodies * real, to, &size);
  row->q_WB = copy(row->q_WB, 4 * bodies * real, to, &size);
  row->actuator_force = copy(row->actuator_force, (size_t)n->nu * real, to, &size);
  row->forces = copy(row->forces, (size_t)row->force_count * sizeof *row->forces, to, &size);
  packed->contacts = copy_contacts(row->contacts, row->contact_count, to, &size);
  const sap_iteration* history = copy(
      packed->solver.history, (size_t)packed->solver.history_count * sizeof *history, to, &size);
  packed->solver.history = (sap_iteration*)(uintptr_t)history;
  return size;
}

// Room for `size` bytes in an empty batch.
static sap_status grow(sap_row_batch* batch, size_t size, sap_error* error) {
  unsigned char* bytes = sap_allocate(size, 1);
  if (bytes == NULL) {
    return sap_fail(error, SAP_STATUS_MEMORY, "out of memory: recorder");
  }
  sap_free(batch->bytes);
  batch->bytes = bytes;
  batch->room = size;
  return SAP_STATUS_OK;
}

sap_status sap_row_batch_add(sap_row_batch* batch, const sap_model_sizes* sizes,
                             const sap_recorded_row* row, bool derive, bool* fits,
                             sap_error* error) {
  sap_packed_row packed = {.derive = derive, .row = *row};
  if (row->solver != NULL) {
    packed.solver = *row->solver;
  }
  const size_t head = rounded(sizeof packed);
  packed.size = head + copy_parts(sizes, &packed, NULL);
  *fits = batch->used == 0 || packed.size <= batch->room - batch->used;
  sap_status status = SAP_STATUS_OK;
  if (*fits && packed.size > batch->room - batch->used) {
    status = grow(batch, packed.size, error);
  }
  if (!*fits || status != SAP_STATUS_OK) {
    return status;
  }
  unsigned char* place = batch->bytes + batch->used;
  (void)copy_parts(sizes, &packed, place + head);
  packed.row.contacts = NULL;
  memcpy(place, &packed, sizeof packed);
  batch->used += packed.size;
  return SAP_STATUS_OK;
}

sap_packed_row* sap_row_batch_next(const sap_row_batch* batch, size_t* at) {
  if (*at == batch->used) {
    return NULL;
  }
  sap_packed_row* packed = (sap_packed_row*)(void*)(batch->bytes + *at);
  *at += packed->size;
  packed->row.solver = packed->row.solver != NULL ? &packed->solver : NULL;
  return packed;
}
#endif
