// SPDX-License-Identifier: BSD-3-Clause
// Nested dissection of a graph: a separator cuts it into two parts of about the same weight, and
// the parts are cut again until they are small (George, SIAM J. Numer. Anal. 10, 1973). A cut is
// found on a graph of few vertices, to which neighbours were merged in pairs, and refined on the
// way back (Karypis, Kumar, SIAM J. Sci. Comput. 20, 1998).
#ifndef SAP_LINALG_ORDERING_DISSECTION_H
#define SAP_LINALG_ORDERING_DISSECTION_H

#include "linalg/ordering/separator.h"

// Integers of work for a graph of `count` vertices and `ends` = start[count].
#define SAP_DISSECTION_WORK(count, ends) (26 * (int64_t)(count) + 6 * (int64_t)(ends) + 64)

// member (count): each vertex's part or separator; a separator's number is above those of all that
// it separates. They are 0, 1, ..; returns how many there are. The same graph gives the same.
// cost: O(edges log(count)) where separators are small.
int32_t sap_dissect(const sap_graph* graph, int32_t* member, int32_t* work);

#endif
