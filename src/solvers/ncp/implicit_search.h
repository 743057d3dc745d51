// SPDX-License-Identifier: BSD-3-Clause
// What implicit complementarity works on, its objective l(p) = 1/2 r' r, and the search along a
// segment that edges cut. See implicit_complementarity.c.
#ifndef SAP_SOLVERS_NCP_IMPLICIT_SEARCH_H
#define SAP_SOLVERS_NCP_IMPLICIT_SEARCH_H

#include "solvers/dual/dual.h"
#include "solvers/ncp/implicit_edges.h"

typedef struct sap_implicit {
  double *D, *J, *H;                                                 // (n n)
  double *p, *r, *h, *gradient;                                      // h = (D - I) r
  double *newton, *cauchy, *z, *trial, *r_trial, *direction, *best;  // (n)
  int32_t* edge;         // sap_edge that an item lies on (nitems)
  double lambda, value;  // l(p)
  double best_value;     // of the search so far
  int32_t best_item;     // whose crossing the best point is, -1: none
  sap_edge best_edge;
} sap_implicit;

// l at p, which is first put back on the edges that its items lie on; sets r and m->z.
double sap_implicit_evaluate(sap_dual* d, sap_implicit* m, double* p, double* r);
// h = (D - I) r
void sap_implicit_find_h(const sap_dual* d, const sap_implicit* m, const double* r, double* h);
// r' J u of one item's u: h' T u + r' u
double sap_implicit_slope(const sap_delassus_item* item, const double* T, const double* h,
                          const double* r, const double* u);
// Cuts from - to at the edges and looks for the least l in every piece; what is below m->best_value
// becomes the best.                                                              todorov III-C
void sap_implicit_search(sap_dual* d, sap_implicit* m, const double* from, const double* to);

#endif
