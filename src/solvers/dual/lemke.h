// SPDX-License-Identifier: BSD-3-Clause
// Lemke's method for linear complementarity, and the friction pyramid as such a problem: a row of
// the solver table.
#ifndef SAP_SOLVERS_DUAL_LEMKE_H
#define SAP_SOLVERS_DUAL_LEMKE_H

#include "solvers/dual/dual.h"

typedef enum sap_lcp_end {
  SAP_LCP_SOLVED,
  SAP_LCP_RAY,        // ended on a ray: no solution was found
  SAP_LCP_LIMIT,      // of pivots
  SAP_LCP_INACCURATE  // round-off has spoilt z
} sap_lcp_end;

// A linear complementarity problem w = M z + q, w >= 0, z >= 0, w . z = 0.
typedef struct sap_lcp {
  int32_t n;
  const double* M;  // column-major, ld n                      (n n)
  const double* q;  //                                           (n)
  double* z;        // the solution                              (n)
  double* tableau;  // work                            (n (2 n + 2))
  int32_t* basis;   // work                                      (n)
} sap_lcp;

// *pivots: allowed, then done.
sap_lcp_end sap_lemke(const sap_lcp* lcp, int32_t* pivots);

sap_status sap_lemke_solve(void* workspace, const sap_solver_options* options,
                           const sap_problem* problem, sap_solution* solution, sap_report* report,
                           sap_error* error);

#endif
