// SPDX-License-Identifier: BSD-3-Clause
#include "integrators/expected_impulse.h"

#include <string.h>

#include "core/memory.h"

sap_status sap_expected_impulse_create(const sap_system* system, sap_expected_impulse* expected,
                                       sap_error* error) {
  expected->system = system;
  expected->last = sap_allocate((size_t)system->nv, sizeof(double));
  expected->guess = sap_allocate((size_t)system->nv, sizeof(double));
  if (expected->last == NULL || expected->guess == NULL) {
    sap_expected_impulse_clear(expected);
    return sap_fail(error, SAP_STATUS_MEMORY, "out of memory: impulses of %d velocities",
                    system->nv);
  }
  return SAP_STATUS_OK;
}

void sap_expected_impulse_clear(sap_expected_impulse* expected) {
  sap_free(expected->last);
  sap_free(expected->guess);
  memset(expected, 0, sizeof *expected);
}

const double* sap_expected_impulse_guess(const sap_expected_impulse* expected,
                                         const sap_theta* scheme) {
  return expected->any && sap_theta_is_same(&expected->scheme, scheme) ? expected->guess : NULL;
}

void sap_expected_impulse_record(sap_expected_impulse* expected, const sap_theta* scheme,
                                 const double* p, const double* weight) {
  const sap_system* system = expected->system;
  expected->scheme = *scheme;
  expected->any = false;
  int32_t i = 0;
  for (int32_t t = 0; t < system->ntrees; ++t) {
    const int32_t begin = i, end = i + system->tree_sizes[t];
    double error_last = 0.0, error_zero = 0.0;
    for (; i < end; ++i) {
      const double change = p[i] - expected->last[i];
      error_last += change * change / weight[i];
      error_zero += p[i] * p[i] / weight[i];
    }
    for (int32_t k = begin; k < end; ++k) {
      expected->last[k] = p[k];
      expected->guess[k] = error_last < error_zero ? p[k] : 0.0;
      expected->any = expected->any || expected->guess[k] != 0.0;
    }
  }
}

sap_status sap_expected_impulse_archive(sap_expected_impulse* expected, sap_archive* archive,
                                        sap_error* error) {
  const size_t bytes = (size_t)expected->system->nv * sizeof(double);
  sap_status status = sap_archive_value(archive, &expected->any, sizeof expected->any, error);
  if (status == SAP_STATUS_OK) {
    status = sap_archive_value(archive, &expected->scheme, sizeof expected->scheme, error);
  }
  double* const arrays[] = {expected->last, expected->guess};
  for (int i = 0; status == SAP_STATUS_OK && i < 2; ++i) {
    status = sap_archive_value(archive, arrays[i], bytes, error);
  }
  return status;
}
