// SPDX-License-Identifier: BSD-3-Clause
// One of the two quadratic programs of staggered projections, on a part of the rows of D:
//   normals    normals of cones >= 0, tangents held
//   friction   tangents of cones in the disk (or polygon) of their normals, which are held
// Rows of intervals take part in both, so that joints and limits hold in each.
#ifndef SAP_SOLVERS_DUAL_STAGE_QP_H
#define SAP_SOLVERS_DUAL_STAGE_QP_H

#include "solvers/dual/dual.h"

typedef struct sap_stage_qp {
  bool friction;
  int32_t sides;  // of the polygon, 0: the disk
  int32_t n;
  int32_t* rows;            // of D, item by item                        (n)
  double *D, *factor;       // its part, symmetric; that plus (rho + eta) I, factored (n n)
  double *q, *x, *y, *w;    // (n)
  double *x_last, *y_last;  // (n)
  double rho, change;       // penalty, and what it is changed by
} sap_stage_qp;

// Rows of the stage, and the numbers that it needs.
int32_t sap_stage_qp_rows(const sap_dual* d, bool friction);
int64_t sap_stage_qp_reals(int32_t n);

// Takes its part of D (n n of the island) and d->z. rows, reals: memory of the sizes above.
// largest: eigenvalue of D.  fails: NOT_SPD.
sap_status sap_stage_qp_begin(sap_stage_qp* s, sap_dual* d, const double* D, double largest,
                              int32_t* rows, double* reals, sap_error* error);
// Minimises over the stage's rows of d->z with D (n n) and d->op.q, until both residuals of ADMM
// are below `tolerance` of its impulses or `limit` iterations are done; d->evaluations counts them.
sap_status sap_stage_qp_solve(sap_stage_qp* s, sap_dual* d, const double* D, double tolerance,
                              int32_t limit, sap_error* error);

// Projection of a cone's tangents (all rows but the normal) for its normal z_n; x, out: the item's.
void sap_stage_project_tangents(const sap_delassus_item* item, int32_t sides, double normal,
                                const double* x, double* out);

#endif
