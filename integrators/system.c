// SPDX-License-Identifier: BSD-3-Clause
// Is a table of functions complete and do its sizes fit together?
#include <sapstep/system.h>

#include "core/error.h"

static sap_status check_trees(const sap_system* system, sap_error* error) {
  if (system->ntrees < 1 || system->tree_sizes == NULL) {
    return sap_fail(error, SAP_STATUS_ARGUMENT,
                    "system: ntrees = %d with tree_sizes %s: at least one tree is needed",
                    system->ntrees, system->tree_sizes == NULL ? "NULL" : "given");
  }
  int64_t sum = 0;
  for (int32_t t = 0; t < system->ntrees; ++t) {
    if (system->tree_sizes[t] < 1) {
      return sap_fail(error, SAP_STATUS_ARGUMENT, "system: tree_sizes[%d] = %d must be >= 1", t,
                      system->tree_sizes[t]);
    }
    sum += system->tree_sizes[t];
  }
  if (sum != system->nv) {
    return sap_fail(error, SAP_STATUS_ARGUMENT,
                    "system: nv = %d must be the sum of tree_sizes, %lld", system->nv,
                    (long long)sum);
  }
  return SAP_STATUS_OK;
}

// "Each pair once" costs a search per pair; couplings are few (springs between trees).
static sap_status check_couplings(const sap_system* system, sap_error* error) {
  if (system->ncouplings < 0 || (system->ncouplings > 0 && system->couplings == NULL)) {
    return sap_fail(error, SAP_STATUS_ARGUMENT, "system: ncouplings = %d with couplings %s",
                    system->ncouplings, system->couplings == NULL ? "NULL" : "given");
  }
  for (int32_t c = 0; c < system->ncouplings; ++c) {
    const int32_t a = system->couplings[c][0];
    const int32_t b = system->couplings[c][1];
    if (a < 0 || a >= system->ntrees || b < 0 || b >= system->ntrees || a == b) {
      return sap_fail(error, SAP_STATUS_ARGUMENT,
                      "system: couplings[%d] = {%d, %d} must be two different trees below %d", c, a,
                      b, system->ntrees);
    }
    for (int32_t e = 0; e < c; ++e) {
      const int32_t* other = system->couplings[e];
      if ((other[0] == a && other[1] == b) || (other[0] == b && other[1] == a)) {
        return sap_fail(error, SAP_STATUS_ARGUMENT,
                        "system: couplings[%d] = {%d, %d} repeats couplings[%d]", c, a, b, e);
      }
    }
  }
  return SAP_STATUS_OK;
}

sap_status sap_system_check(const sap_system* system, sap_error* error) {
  if (system == NULL) {
    return sap_fail(error, SAP_STATUS_ARGUMENT, "system is NULL");
  }
  if (system->nq < 1) {
    return sap_fail(error, SAP_STATUS_ARGUMENT, "system: nq = %d must be >= 1: nothing moves",
                    system->nq);
  }
  if (system->na < 0 || (system->na > 0 && system->activations == NULL)) {
    return sap_fail(error, SAP_STATUS_ARGUMENT,
                    "system: na = %d must be >= 0, and 0 without the function activations",
                    system->na);
  }
  sap_status status = check_trees(system, error);
  if (status == SAP_STATUS_OK) {
    status = check_couplings(system, error);
  }
  if (status != SAP_STATUS_OK) {
    return status;
  }
  const char* missing = system->mass_matrix == NULL           ? "mass_matrix"
                        : system->forces == NULL              ? "forces"
                        : system->integrate_positions == NULL ? "integrate_positions"
                                                              : NULL;
  if (missing != NULL) {
    return sap_fail(error, SAP_STATUS_ARGUMENT, "system: the function %s is required, it is NULL",
                    missing);
  }
  return SAP_STATUS_OK;
}
