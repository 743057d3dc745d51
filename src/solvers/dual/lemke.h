// SPDX-License-Identifier: BSD-3-Clause
// Lemke's method for linear complementarity problems.
#ifndef SAP_SOLVERS_DUAL_LEMKE_H
#define SAP_SOLVERS_DUAL_LEMKE_H

#include <stdint.h>

typedef enum sap_lcp_end {
  SAP_LCP_SOLVED,
  SAP_LCP_RAY,        // ended on a ray: no solution found
  SAP_LCP_LIMIT,      // pivots used up
  SAP_LCP_INACCURATE  // z spoilt by round-off
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

// Solves the problem. *pivots: the limit; afterwards the number of pivots.
sap_lcp_end sap_lemke(const sap_lcp* lcp, int32_t* pivots);

#endif
