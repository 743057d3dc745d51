// SPDX-License-Identifier: BSD-3-Clause
#include "multibody/engine/momentum_record.h"

#include <string.h>

#include "core/memory.h"
#include "multibody/dynamics/momentum.h"
#include "multibody/engine/multibody_data.h"
#include "multibody/model/model_data.h"

static bool create(const sap_model* model, sap_momentum_record* record) {
  record->q = sap_allocate((size_t)model->sizes.nq, sizeof(double));
  record->v = sap_allocate((size_t)model->sizes.nv, sizeof(double));
  record->momenta = sap_allocate((size_t)model->sizes.bodies, sizeof *record->momenta);
  return record->q != NULL && record->v != NULL && record->momenta != NULL;
}

sap_status sap_momentum_records_create(const sap_model* model, sap_momentum_records* records,
                                       sap_error* error) {
  records->inertial = sap_allocate((size_t)model->sizes.nv, sizeof *records->inertial);
  records->moved = sap_allocate((size_t)model->sizes.trees, sizeof *records->moved);
  return records->inertial != NULL && records->moved != NULL && create(model, &records->start) &&
                 create(model, &records->end)
             ? SAP_STATUS_OK
             : sap_fail(error, SAP_STATUS_MEMORY, "out of memory: momenta");
}

static void clear(sap_momentum_record* record) {
  sap_free(record->q);
  sap_free(record->v);
  sap_free(record->momenta);
}

void sap_momentum_records_clear(sap_momentum_records* records) {
  clear(&records->start);
  clear(&records->end);
  sap_free(records->inertial);
  sap_free(records->moved);
  memset(records, 0, sizeof *records);
}

void sap_momentum_records_forget(sap_momentum_records* records) {
  records->start.known = records->end.known = false;
}

static bool is_at(const sap_model* model, const sap_momentum_record* record, const double* q,
                  const double* v) {
  return record->known && memcmp(record->q, q, (size_t)model->sizes.nq * sizeof *q) == 0 &&
         memcmp(record->v, v, (size_t)model->sizes.nv * sizeof *v) == 0;
}

static void set(const sap_model* model, sap_momentum_record* record, const double* q,
                const double* v) {
  memcpy(record->q, q, (size_t)model->sizes.nq * sizeof *q);
  memcpy(record->v, v, (size_t)model->sizes.nv * sizeof *v);
  record->known = true;
}

// Trees whose inertial forces are to be found: those that are not where they were asked last.
// NULL: all.
static const bool* find_moved(sap_momentum_records* records, const sap_multibody* multibody,
                              const sap_momentum_query* query) {
  const sap_model* model = multibody->model;
  const sap_momentum_record* end = &records->end;
  if (!records->inertial_known || records->dt != query->dt) {
    return NULL;
  }
  const int32_t* tree_q = sap_dynamics_tree_q(multibody->dynamics);
  for (int32_t t = 0; t < model->sizes.trees; ++t) {
    const size_t iq = (size_t)tree_q[t], iv = (size_t)model->tree_dofs[t];
    const size_t nq = (size_t)tree_q[t + 1] - iq, nv = (size_t)model->tree_sizes[t];
    records->moved[t] = memcmp(end->v + iv, query->v + iv, nv * sizeof(double)) != 0 ||
                        memcmp(end->q + iq, query->q + iq, nq * sizeof(double)) != 0;
  }
  return records->moved;
}

void sap_momentum_records_balance(sap_momentum_records* records, sap_multibody* multibody,
                                  const sap_momentum_query* query, double* residual, double* load) {
  const sap_model* model = multibody->model;
  if (!is_at(model, &records->start, query->q0, query->v0)) {
    records->inertial_known = false;
    if (is_at(model, &records->end, query->q0, query->v0)) {
      const sap_momentum_record start = records->start;
      records->start = records->end;
      records->end = start;
    } else {
      sap_dynamics_momenta(sap_multibody_at(multibody, query->q0), query->v0,
                           records->start.momenta);
      set(model, &records->start, query->q0, query->v0);
    }
  }
  const sap_momentum_step step = {
      .dt = query->dt,
      .v0 = query->v0,
      .start = records->start.momenta,
      .end = records->end.momenta,
      .trees = load == NULL ? find_moved(records, multibody, query) : NULL,
      .inertial = records->inertial,
      .input = query->input};
  sap_dynamics_momentum_balance(sap_multibody_at(multibody, query->q), query->q, query->v, &step,
                                residual, load);
  set(model, &records->end, query->q, query->v);
  records->inertial_known = true;
  records->dt = query->dt;
}
