// SPDX-License-Identifier: BSD-3-Clause
#include <string.h>

#include "core/memory.h"
#include "integrators/free_motion_data.h"

sap_status sap_free_motion_create(const sap_system* system, sap_free_motion* fm, sap_error* error) {
  const size_t nv = (size_t)system->nv;
  fm->system = system;
  sap_status status = sap_balance_create(system, &fm->balance, error);
  if (status == SAP_STATUS_OK) {
    status = sap_momentum_factor_create(system, &fm->factor, error);
  }
  if (status == SAP_STATUS_OK) {
    status = sap_prediction_create(system->nv, SAP_PREDICTION_DEPTH, &fm->prediction, error);
  }
  if (status == SAP_STATUS_OK) {
    status = sap_linearization_create(system, fm->factor.ngroups, &fm->linearization, error);
  }
  if (status != SAP_STATUS_OK) {
    sap_free_motion_clear(fm);
    return status;
  }
  double** const vectors[] = {&fm->v_star, &fm->m,      &fm->v_best,   &fm->load,
                              &fm->dv,     &fm->weight, &fm->direction};
  bool complete = true;
  for (size_t i = 0; i < sizeof vectors / sizeof vectors[0]; ++i) {
    *vectors[i] = sap_allocate(nv, sizeof(double));
    complete = complete && *vectors[i] != NULL;
  }
  for (int32_t i = 0; i < SAP_BROYDEN_DEPTH; ++i) {
    fm->steps[i] = sap_allocate(nv, sizeof(double));
    complete = complete && fm->steps[i] != NULL;
  }
  fm->progress = sap_allocate((size_t)fm->factor.ngroups, sizeof *fm->progress);
  fm->alpha = sap_allocate((size_t)fm->factor.ngroups, sizeof(double));
  fm->group_status = sap_allocate((size_t)fm->factor.ngroups, sizeof *fm->group_status);
  if (!complete || fm->progress == NULL || fm->alpha == NULL || fm->group_status == NULL) {
    sap_free_motion_clear(fm);
    return sap_fail(error, SAP_STATUS_MEMORY, "out of memory: free motion of %zu velocities", nv);
  }
  return SAP_STATUS_OK;
}

void sap_free_motion_clear(sap_free_motion* fm) {
  double* const vectors[] = {fm->v_star, fm->m,      fm->v_best, fm->load,     fm->dv,
                             fm->weight, fm->m_plus, fm->alpha,  fm->jacobian, fm->direction};
  for (size_t i = 0; i < sizeof vectors / sizeof vectors[0]; ++i) {
    sap_free(vectors[i]);
  }
  for (int32_t i = 0; i < SAP_BROYDEN_DEPTH; ++i) {
    sap_free(fm->steps[i]);
  }
  sap_free(fm->pivots);
  sap_free(fm->progress);
  sap_free(fm->group_status);
  sap_balance_clear(&fm->balance);
  sap_prediction_clear(&fm->prediction);
  sap_linearization_clear(&fm->linearization);
  sap_momentum_factor_clear(&fm->factor);
  memset(fm, 0, sizeof *fm);
}
