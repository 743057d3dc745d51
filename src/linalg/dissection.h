// SPDX-License-Identifier: BSD-3-Clause
// Nested dissection of a graph: a separator cuts it into two parts of about the same weight, and
// the parts are cut again until they are small (George, SIAM J. Numer. Anal. 10, 1973). Neighbours
// are merged in pairs until few vertices are left; the cut is found on that graph and refined on
// the way back (Karypis, Kumar, SIAM J. Sci. Comput. 20, 1998). A separator starts as the border of
// the half that a breadth-first search from a far vertex reaches first. It is refined in passes: a
// pass moves the best vertex out of it, repeatedly, each pulling in its neighbours on the other
// side, and keeps the best separator seen (Fiduccia, Mattheyses, DAC 1982; Ashcraft, Liu, SIAM J.
// Matrix Anal. Appl. 19, 1998).
#ifndef SAP_LINALG_DISSECTION_H
#define SAP_LINALG_DISSECTION_H

#include <stdint.h>

typedef struct sap_graph {
  int32_t count;             // vertices
  const int32_t* start;      // first neighbour of a vertex                       (count + 1)
  const int32_t* neighbour;  // both ways, no vertex its own                      (start[count])
  const int32_t* weight;     // > 0                                               (count)
} sap_graph;

// Integers of work for a graph of `count` vertices and `ends` = start[count].
#define SAP_DISSECTION_WORK(count, ends) (26 * (int64_t)(count) + 6 * (int64_t)(ends) + 64)

// Sets member (count): the number of each vertex's part or separator, 0, 1, ... A separator's
// number is above the numbers of everything that it separates. Returns how many numbers there are.
// The same graph gives the same result.
// cost: O(edges log(count)) where separators are small, and (vertices of a separator)^2.
int32_t sap_dissect(const sap_graph* graph, int32_t* member, int32_t* work);

#endif
