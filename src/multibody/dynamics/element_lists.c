// SPDX-License-Identifier: BSD-3-Clause
// Which elements can have a force, and which trees they couple.
#include <stdlib.h>
#include <string.h>

#include "core/memory.h"
#include "multibody/dynamics/actuators.h"
#include "multibody/dynamics/element_law.h"

static int32_t element_count(const sap_model* model, int kind) {
  return kind == SAP_FORCE_SPRING    ? model->sizes.springs
         : kind == SAP_FORCE_BUSHING ? model->sizes.bushings
         : kind == SAP_FORCE_TENDON  ? model->sizes.tendons
                                     : model->sizes.actuators;
}

// Has the element forces at all?
static bool is_elastic(const sap_model* model, int kind, int32_t id) {
  if (kind == SAP_FORCE_ACTUATOR) {
    return sap_dynamics_actuator_is_elastic(model, id) && sap_model_effort_bound(model, id) < 0;
  }
  return kind != SAP_FORCE_TENDON || model->tendons[id].stiffness > 0.0 ||
         model->tendons[id].damping > 0.0;
}

static int compare_pairs(const void* a, const void* b) {
  const int32_t* p = a;
  const int32_t* q = b;
  const int i = p[0] != q[0] ? 0 : 1;
  return (p[i] > q[i]) - (p[i] < q[i]);
}

int32_t sap_element_coupling(const sap_dynamics* d, int32_t a, int32_t b) {
  const int32_t key[2] = {a, b};
  const int32_t(*found)[2] =
      bsearch(key, d->couplings, (size_t)d->ncouplings, sizeof *d->couplings, compare_pairs);
  return (int32_t)(found - (const int32_t(*)[2])d->couplings);
}

// The pairs of an element's trees; `out` NULL: counts only.
static int32_t element_pairs(sap_dynamics* d, int32_t index, int32_t (*out)[2]) {
  sap_element_law l;
  const sap_element_point at = {.q = d->model->q_default};
  (void)sap_element_evaluate(d, &at, index, &l);
  const sap_rows* rows = &d->rows;
  int32_t count = 0;
  for (int32_t i = 0; i < rows->ntrees; ++i) {
    for (int32_t j = 0; j < rows->ntrees; ++j) {
      if (rows->trees[i] < rows->trees[j]) {
        if (out != NULL) {
          out[count][0] = rows->trees[i];
          out[count][1] = rows->trees[j];
        }
        ++count;
      }
    }
  }
  return count;
}

// Makes the list of those that can have a force; counts only while there is no list.
static void find_elastic(sap_dynamics* d) {
  d->nelastic = 0;
  for (int32_t kind = 0; kind < SAP_FORCE_KINDS; ++kind) {
    for (int32_t id = 0; id < element_count(d->model, kind); ++id) {
      if (is_elastic(d->model, kind, id)) {
        if (d->elastic != NULL) {
          d->elastic[d->nelastic] = (sap_elastic){kind, id};
        }
        ++d->nelastic;
      }
    }
  }
}

sap_status sap_dynamics_create_elements(sap_dynamics* d, sap_error* error) {
  const sap_model_sizes* sizes = &d->model->sizes;
  d->spring_active = sap_allocate((size_t)sizes->springs, sizeof(bool));
  d->bushing_active = sap_allocate((size_t)sizes->bushings, sizeof(bool));
  d->actuator_active = sap_allocate((size_t)sizes->actuators, sizeof(bool));
  find_elastic(d);
  d->elastic = sap_allocate((size_t)d->nelastic, sizeof *d->elastic);
  if (d->actuator_active == NULL || d->elastic == NULL || d->spring_active == NULL ||
      d->bushing_active == NULL || sap_rows_create(d->model, &d->rows, error) != SAP_STATUS_OK) {
    return sap_fail(error, SAP_STATUS_MEMORY, "out of memory: force elements");
  }
  memset(d->spring_active, true, (size_t)sizes->springs * sizeof(bool));
  memset(d->actuator_active, true, (size_t)sizes->actuators * sizeof(bool));
  memset(d->bushing_active, true, (size_t)sizes->bushings * sizeof(bool));
  find_elastic(d);
  size_t count = 0;
  for (int32_t e = 0; e < d->nelastic; ++e) {
    count += (size_t)element_pairs(d, e, NULL);
  }
  d->couplings = sap_allocate(count, sizeof *d->couplings);
  if (d->couplings == NULL || count > INT32_MAX) {
    return sap_fail(error, SAP_STATUS_MEMORY, "out of memory: %zu couplings", count);
  }
  size_t filled = 0;
  for (int32_t e = 0; e < d->nelastic; ++e) {
    filled += (size_t)element_pairs(d, e, d->couplings + filled);
  }
  qsort(d->couplings, count, sizeof *d->couplings, compare_pairs);
  for (size_t i = 0; i < count; ++i) {
    const int32_t last = d->ncouplings - 1;
    if (last < 0 || compare_pairs(d->couplings[last], d->couplings[i]) != 0) {
      memmove(d->couplings[d->ncouplings++], d->couplings[i], sizeof *d->couplings);
    }
  }
  return SAP_STATUS_OK;
}
