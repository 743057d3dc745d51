// SPDX-License-Identifier: BSD-3-Clause
// What one force element answers.
#ifndef SAP_MULTIBODY_DYNAMICS_ELEMENT_LAW_H
#define SAP_MULTIBODY_DYNAMICS_ELEMENT_LAW_H

#include "multibody/dynamics/dynamics_data.h"
#include "multibody/dynamics/elements.h"

typedef struct sap_element_law {
  double s[SAP_ROWS_MAX];
  double K[SAP_ROWS_MAX * SAP_ROWS_MAX], D[SAP_ROWS_MAX * SAP_ROWS_MAX];  // column-major
  double energy;
} sap_element_law;

// Law and rows (in d->rows) of an element; false when it has no force.
bool sap_element_evaluate(sap_dynamics* d, const sap_element_point* at, int32_t index,
                          sap_element_law* out);
// Which of the couplings joins trees a < b.
int32_t sap_element_coupling(const sap_dynamics* d, int32_t a, int32_t b);

#endif
