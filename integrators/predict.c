// SPDX-License-Identifier: BSD-3-Clause
#include "integrators/predict.h"

#include <math.h>

sap_status sap_prediction_create(int32_t nv, int32_t depth, sap_pool* pool, sap_prediction* p,
                                 sap_error* error) {
  p->nv = nv;
  p->depth = depth;
  for (int k = 0; k < p->depth; ++k) {
    SAP_TRY(SAP_POOL_ADD(pool, &p->difference[k], nv, error));
  }
  return SAP_POOL_ADD(pool, &p->guess, nv, error);
}

bool sap_prediction_guess(const sap_prediction* p, const sap_theta* scheme, const double* v0,
                          double* v) {
  const bool known = p->count > 0 && sap_theta_is_same(&p->scheme, scheme);
  for (int32_t i = 0; i < p->nv; ++i) {
    v[i] = known ? v0[i] + p->guess[i] : v0[i];
  }
  return known;
}

void sap_prediction_rescale(sap_prediction* p, int order, double dt) {
  if (!(p->scheme.dt > 0.0)) {
    return;  // no step was made
  }
  const double ratio = dt / p->scheme.dt;
  const double first = order == 1 ? ratio : ratio * ratio;
  double power = first;
  for (int k = 0; k < p->count; ++k, power *= ratio) {
    for (int32_t i = 0; i < p->nv; ++i) {
      p->difference[k][i] *= power;
    }
  }
  for (int32_t i = 0; i < p->nv; ++i) {
    p->guess[i] *= first;
  }
  p->scheme.dt = dt;
}

// Records velocity i.
static void record_velocity(sap_prediction* p, const double* v0, const double* v, int32_t i) {
  double now = v[i] - v0[i], sum = 0.0, least = 0.0;  // now: D_k of this step, k rising
  for (int k = 0; k <= p->count && k < p->depth; ++k) {
    const double before = p->difference[k][i];
    p->difference[k][i] = now;
    sum += now;
    now -= before;
    // With k steps before this one D_k exists, but not the error of degree k.
    if (k == 0 || (k < p->count && fabs(now) < least)) {
      p->guess[i] = sum;
      least = fabs(now);
    }
  }
}

void sap_prediction_record(sap_prediction* p, const sap_theta* scheme, const double* v0,
                           const double* v) {
  if (!sap_theta_is_same(&p->scheme, scheme)) {
    p->count = 0;
    p->scheme = *scheme;
  }
  p->moved = p->moved || v != v0;
  for (int32_t i = 0; p->moved && i < p->nv; ++i) {
    record_velocity(p, v0, v, i);
  }
  p->count = p->count < p->depth ? p->count + 1 : p->depth;
}

sap_status sap_prediction_archive(sap_prediction* p, sap_archive* archive, sap_error* error) {
  const size_t bytes = (size_t)p->nv * sizeof(double);
  p->moved = p->moved || archive->mode == SAP_ARCHIVE_LOAD;
  SAP_TRY(sap_archive_value(archive, &p->count, sizeof p->count, error));
  SAP_TRY(sap_archive_value(archive, &p->scheme, sizeof p->scheme, error));
  for (int k = 0; k < p->depth; ++k) {
    SAP_TRY(sap_archive_value(archive, p->difference[k], bytes, error));
  }
  return sap_archive_value(archive, p->guess, bytes, error);
}
