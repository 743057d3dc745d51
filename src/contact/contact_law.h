// SPDX-License-Identifier: BSD-3-Clause
// Parameters of the contact models that are potentials, and the impulses they lag.
#ifndef SAP_CONTACT_CONTACT_LAW_H
#define SAP_CONTACT_CONTACT_LAW_H

#include <sapstep/contact.h>

#include "core/hash_map.h"

// A contact when a step begins.
typedef struct sap_contact_start {
  const sap_regularization* regularization;
  double dt, phi0;
  double w;             // Delassus scale [1/kg]
  double friction;      // mu [-]; the material's may be of other rows
  double normal_speed;  // of approach < 0 [m/s]
  double free_speed;    // the same of the free motion v*
  double slip;          // >= 0 [m/s]
} sap_contact_start;

typedef struct sap_potential_law {
  double Rn, v_hat;
  double friction;     // at this slip [-]
  double slip_speed;   // v_s [m/s]
  double new_impulse;  // n0 of a contact that the last step knew nothing of [N s]
} sap_potential_law;

// Laws in sapstep/contact.h, evaluated at the end of the step. fails: ARGUMENT, NOT_FINITE.
sap_status sap_contact_potential(const sap_material* pair, const sap_contact_start* start,
                                 sap_potential_law* law, sap_error* error);

// Normal forces of the last step's lagged contacts by key. Start with {0}.
typedef struct sap_lag_memory {
  sap_hash_map keys;
  double* forces;  // [N]  (count)
  int32_t count, capacity;
} sap_lag_memory;

sap_status sap_lag_memory_archive(sap_lag_memory* memory, sap_archive* archive, sap_error* error);
// Returns the contact's force, or NULL.
const double* sap_lag_memory_find(const sap_lag_memory* memory, uint64_t key);

#endif
