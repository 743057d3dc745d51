// SPDX-License-Identifier: BSD-3-Clause
// States: plain data that the caller owns.
#include <string.h>

#include <sapstep/system.h>

#include "core/memory.h"

static bool has_size(const sap_state* state, int32_t nq, int32_t nv, int32_t na) {
  return state->q != NULL && state->v != NULL && state->nq == nq && state->nv == nv &&
         state->na == na;
}

sap_status sap_state_resize_with(sap_state* state, int32_t nq, int32_t nv, int32_t na,
                                 sap_error* error) {
  if (state == NULL || nq < 0 || nv < 0 || na < 0) {
    return sap_fail(error, SAP_STATUS_ARGUMENT,
                    "state: nq = %d, nv = %d and na = %d must be >= 0 and the state not NULL",
                    (int)nq, (int)nv, (int)na);
  }
  if (has_size(state, nq, nv, na)) {
    return SAP_STATUS_OK;
  }
  double* q = sap_allocate((size_t)nq, sizeof *q);
  double* v = sap_allocate((size_t)nv, sizeof *v);
  double* act = na > 0 ? sap_allocate((size_t)na, sizeof *act) : NULL;
  if (q == NULL || v == NULL || (na > 0 && act == NULL)) {
    sap_free(q);
    sap_free(v);
    sap_free(act);
    return sap_fail(error, SAP_STATUS_MEMORY, "out of memory: state of nq = %d, nv = %d, na = %d",
                    (int)nq, (int)nv, (int)na);
  }
  sap_free(state->q);
  sap_free(state->v);
  sap_free(state->act);
  *state = (sap_state){.t = state->t, .q = q, .v = v, .nq = nq, .nv = nv, .act = act, .na = na};
  return SAP_STATUS_OK;
}

sap_status sap_state_resize(sap_state* state, int32_t nq, int32_t nv, sap_error* error) {
  return sap_state_resize_with(state, nq, nv, 0, error);
}

void sap_state_clear(sap_state* state) {
  if (state == NULL) {
    return;
  }
  sap_free(state->q);
  sap_free(state->v);
  sap_free(state->act);
  *state = (sap_state){0};
}

static void copy(double* to, const double* from, int32_t count) {
  if (count > 0) {
    memmove(to, from, (size_t)count * sizeof *to);
  }
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
  if (from->na != to->na) {
    return sap_fail(error, SAP_STATUS_ARGUMENT, "state: na = %d cannot be copied to na = %d",
                    (int)from->na, (int)to->na);
  }
  to->t = from->t;
  copy(to->q, from->q, from->nq);
  copy(to->v, from->v, from->nv);
  copy(to->act, from->act, from->na);
  return SAP_STATUS_OK;
}
