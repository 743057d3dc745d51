// SPDX-License-Identifier: BSD-3-Clause
// States: plain data that the caller owns.
#include <string.h>

#include <sapstep/system.h>

#include "core/memory.h"

sap_status sap_state_resize(sap_state* state, int32_t nq, int32_t nv, sap_error* error) {
  if (state == NULL || nq < 0 || nv < 0) {
    return sap_fail(error, SAP_STATUS_ARGUMENT,
                    "state: nq = %d and nv = %d must be >= 0 and the state not NULL", (int)nq,
                    (int)nv);
  }
  if (state->q != NULL && state->v != NULL && state->nq == nq && state->nv == nv) {
    return SAP_STATUS_OK;
  }
  double* q = sap_allocate((size_t)nq, sizeof *q);
  double* v = sap_allocate((size_t)nv, sizeof *v);
  if (q == NULL || v == NULL) {
    sap_free(q);
    sap_free(v);
    return sap_fail(error, SAP_STATUS_MEMORY, "out of memory: state of nq = %d, nv = %d", (int)nq,
                    (int)nv);
  }
  sap_free(state->q);
  sap_free(state->v);
  state->q = q;
  state->v = v;
  state->nq = nq;
  state->nv = nv;
  return SAP_STATUS_OK;
}

void sap_state_clear(sap_state* state) {
  if (state == NULL) {
    return;
  }
  sap_free(state->q);
  sap_free(state->v);
  *state = (sap_state){0};
}

sap_status sap_state_copy(const sap_state* from, sap_state* to, sap_error* error) {
  if (from == NULL || to == NULL) {
    return sap_fail(error, SAP_STATUS_ARGUMENT, "state: NULL");
  }
  if (from->nq != to->nq || from->nv != to->nv) {
    return sap_fail(error, SAP_STATUS_ARGUMENT,
                    "state: nq = %d, nv = %d cannot be copied to nq = %d, nv = %d", (int)from->nq,
                    (int)from->nv, (int)to->nq, (int)to->nv);
  }
  to->t = from->t;
  if (from->nq > 0) {
    memmove(to->q, from->q, (size_t)from->nq * sizeof *to->q);
  }
  if (from->nv > 0) {
    memmove(to->v, from->v, (size_t)from->nv * sizeof *to->v);
  }
  return SAP_STATUS_OK;
}
