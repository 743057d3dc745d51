// SPDX-License-Identifier: BSD-3-Clause
// The built-in engine's momentum balance of a step, with the momenta of links kept from where they
// were asked last: mostly where the next step begins.
#ifndef SAP_MULTIBODY_ENGINE_MOMENTUM_RECORD_H
#define SAP_MULTIBODY_ENGINE_MOMENTUM_RECORD_H

#include <sapstep/multibody.h>

#include "core/error.h"

typedef struct sap_momentum_record {
  bool known;
  double *q, *v;         // (nq), (nv)
  double (*momenta)[6];  // of the links there
} sap_momentum_record;

typedef struct sap_momentum_records {
  sap_momentum_record start, end;  // of the step asked last
  // What the momenta changed by in that step, on each velocity (nv); known: between these records
  // in this time.
  double* inertial;
  bool inertial_known;
  double dt;
  bool* moved;  // scratch: which trees are elsewhere than at `end`         (trees)
} sap_momentum_records;

// From (q0, v0) to (q, v).
typedef struct sap_momentum_query {
  const double *q0, *v0, *q, *v;
  double dt;
  const double* input;  // see multibody/dynamics/actuators.h (nu)
} sap_momentum_query;

// Start from {0}.
sap_status sap_momentum_records_create(const sap_model* model, sap_momentum_records* records,
                                       sap_error* error);
void sap_momentum_records_clear(sap_momentum_records* records);
// What is locked has changed.
void sap_momentum_records_forget(sap_momentum_records* records);
void sap_momentum_records_balance(sap_momentum_records* records, sap_multibody* multibody,
                                  const sap_momentum_query* query, double* residual, double* load);

#endif
