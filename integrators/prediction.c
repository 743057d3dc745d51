// SPDX-License-Identifier: BSD-3-Clause
// Two predictors of d = v* - v0, velocity by velocity: the last d, and the line through the last
// two. The one that would have served better at the last step is taken.
#include "integrators/prediction.h"

#include <math.h>
#include <string.h>

#include "core/memory.h"

sap_status sap_prediction_create(int32_t nv, sap_prediction* p, sap_error* error) {
  p->nv = nv;
  p->last = sap_allocate((size_t)nv, sizeof(double));
  p->before = sap_allocate((size_t)nv, sizeof(double));
  p->guess = sap_allocate((size_t)nv, sizeof(double));
  if (p->last == NULL || p->before == NULL || p->guess == NULL) {
    sap_prediction_clear(p);
    return sap_fail(error, SAP_STATUS_MEMORY, "out of memory: guess of %d velocities", nv);
  }
  return SAP_STATUS_OK;
}

void sap_prediction_clear(sap_prediction* p) {
  sap_free(p->last);
  sap_free(p->before);
  sap_free(p->guess);
  memset(p, 0, sizeof *p);
}

static bool is_same(const sap_theta* a, const sap_theta* b) {
  return a->dt == b->dt && a->theta == b->theta && a->theta_vq == b->theta_vq;
}

bool sap_prediction_guess(const sap_prediction* p, const sap_theta* scheme, const double* v0,
                          double* v) {
  const bool known = p->count > 0 && is_same(&p->scheme, scheme);
  for (int32_t i = 0; i < p->nv; ++i) {
    v[i] = known ? v0[i] + p->guess[i] : v0[i];
  }
  return known;
}

void sap_prediction_record(sap_prediction* p, const sap_theta* scheme, const double* v0,
                           const double* v_star) {
  if (!is_same(&p->scheme, scheme)) {
    p->count = 0;
    p->scheme = *scheme;
  }
  for (int32_t i = 0; i < p->nv; ++i) {
    const double d = v_star[i] - v0[i];
    const double constant_error = fabs(d - p->last[i]);
    const double line_error = fabs(d - p->last[i] - (p->last[i] - p->before[i]));
    const bool line = p->count == 2 && line_error < constant_error;
    p->guess[i] = line ? d + (d - p->last[i]) : d;
    p->before[i] = p->last[i];
    p->last[i] = d;
  }
  p->count = p->count < 2 ? p->count + 1 : 2;
}

sap_status sap_prediction_archive(sap_prediction* p, sap_archive* archive, sap_error* error) {
  const size_t bytes = (size_t)p->nv * sizeof(double);
  sap_status status = sap_archive_value(archive, &p->count, sizeof p->count, error);
  if (status == SAP_STATUS_OK) {
    status = sap_archive_value(archive, &p->scheme, sizeof p->scheme, error);
  }
  double* const arrays[] = {p->last, p->before, p->guess};
  for (int i = 0; status == SAP_STATUS_OK && i < 3; ++i) {
    status = sap_archive_value(archive, arrays[i], bytes, error);
  }
  return status;
}
