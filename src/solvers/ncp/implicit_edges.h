// SPDX-License-Identifier: BSD-3-Clause
// Todorov's implicit complementarity for one item: impulse z and velocity g as functions of one
// vector p, complementary for every p, and the edges where these functions have a kink.
//   cone      z_n = max(0, p_n),  z_t = p_t min(1, mu z_n/|p_t|)     todorov (10)-(13), p = -x
//   interval  z = clamp(p)
//   both      g = z - p
// Edges of a cone: the plane p_n = 0 and, where p_n > 0, the cone |p_t| = mu p_n. Edges of an
// interval: its two bounds.
#ifndef SAP_SOLVERS_NCP_IMPLICIT_EDGES_H
#define SAP_SOLVERS_NCP_IMPLICIT_EDGES_H

#include "problem/delassus.h"

typedef enum sap_region {
  SAP_REGION_OFF,    // open, or at a bound: z is constant
  SAP_REGION_STICK,  // sticking, or between the bounds: z = p
  SAP_REGION_SLIP,
} sap_region;

typedef enum sap_edge {
  SAP_EDGE_NONE,
  SAP_EDGE_PLANE,  // p_n = 0; the lower bound
  SAP_EDGE_CONE,   // |p_t| = mu p_n; the upper bound
} sap_edge;

// Sets z of p.
void sap_implicit_impulse(const sap_delassus_item* item, const double* p, double* z);
sap_region sap_implicit_region(const sap_delassus_item* item, const double* p);
// Sets T = dz/dp of a region that contains p or whose edge contains p (column-major, ld nrows).
void sap_implicit_jacobian(const sap_delassus_item* item, const double* p, sap_region region,
                           double* T);
// Computes the unit normal of an edge at p, and the regions that it points to and from. Returns
// false at the apex.
bool sap_edge_normal(const sap_delassus_item* item, const double* p, sap_edge edge, double* normal,
                     sap_region sides[2]);
// Moves p to the nearest point of the edge; false if that is the apex.
bool sap_edge_project(const sap_delassus_item* item, sap_edge edge, double* p);
// Finds where p + alpha u, 0 < alpha < 1, crosses edges; at most 3, unordered.      todorov (27)
int32_t sap_edge_crossings(const sap_delassus_item* item, const double* p, const double* u,
                           double alpha[3], sap_edge edge[3]);

#endif
