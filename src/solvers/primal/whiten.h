// SPDX-License-Identifier: BSD-3-Clause
// An island of small trees in coordinates in which its A is the unit matrix: A = L L' tree by tree,
// w = L' v, X = J L'^-1. All trees have six columns, of smaller ones the last are zero: loops of
// fixed length.
#ifndef SAP_SOLVERS_PRIMAL_WHITEN_H
#define SAP_SOLVERS_PRIMAL_WHITEN_H

#include "problem/factor.h"
#include "solvers/primal/newton.h"

enum { SAP_WHITE_COLUMNS = SAP_SMALL_TREE };

// sweep_w = L' v*; false when a block of A has no factor.
bool sap_whiten_velocity(sap_newton* newton);
// sweep_factor = L^-1.
void sap_whiten_factors(sap_newton* newton);
// X of `nrows` rows of a patch that begin at J: tree by tree nrows x SAP_WHITE_COLUMNS.
void sap_whiten_rows(const sap_newton* newton, const sap_patch* patch, const double* J,
                     int32_t nrows, double* X);
// v = L'^-1 sweep_w (nv).
void sap_whiten_back(const sap_newton* newton, double* v);

#endif
