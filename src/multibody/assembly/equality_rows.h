// SPDX-License-Identifier: BSD-3-Clause
// Equalities g(q) = 0 and the rows of dg/dt, at q, at which the kinematics stand.
//   connect   g = p_B - p_A in the world's axes                              (3 rows)
//   weld      and L log(q_WD^-1 q_WB) in D's axes, q_WD = q_WA q_AB, L the torque scale (6 rows)
//   distance  g = |p_B - p_A| - distance
//   joint     g = (q_a - ref_a) - polynomial(q_b - ref_b);  tendon the same with lengths
#ifndef SAP_MULTIBODY_ASSEMBLY_EQUALITY_ROWS_H
#define SAP_MULTIBODY_ASSEMBLY_EQUALITY_ROWS_H

#include "multibody/dynamics/dynamics.h"
#include "multibody/dynamics/rows.h"

int32_t sap_equality_row_count(const sap_equality_def* e);
void sap_equality_gaps(const sap_dynamics* d, const sap_model* model, const sap_equality_def* e,
                       const double* q, double g[SAP_ROWS_MAX]);
void sap_equality_rows(const sap_dynamics* d, const sap_model* model, const sap_equality_def* e,
                       const double* q, sap_rows* rows);

#endif
