// SPDX-License-Identifier: BSD-3-Clause
// Nested dissection of a graph: a separator cuts it into two parts of about the same weight, and
// the parts are cut again until they are small (George, SIAM J. Numer. Anal. 10, 1973). Neighbours
// are merged in pairs until few vertices are left; the cut is found on that graph and refined on
// the way back (Karypis, Kumar, SIAM J. Sci. Comput. 20, 1998).
#ifndef SAP_LINALG_DISSECTION_H
#define SAP_LINALG_DISSECTION_H

#include "linalg/separator.h"

// Integers of work for a graph of `count` vertices and `ends` = start[count].
#define SAP_DISSECTION_WORK(count, ends) (26 * (int64_t)(count) + 6 * (int64_t)(ends) + 64)

// Sets member (count): the number of each vertex's part or separator, 0, 1, ... A separator's
// number is above the numbers of everything that it separates. Returns how many numbers there are.
// The same graph gives the same result.
// cost: O(edges log(count)) where separators are small.
int32_t sap_dissect(const sap_graph* graph, int32_t* member, int32_t* work);

#endif
