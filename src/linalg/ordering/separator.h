// SPDX-License-Identifier: BSD-3-Clause
// Cuts of a graph. Halves that few edges join come from a breadth-first search from a far end and
// passes after Fiduccia and Mattheyses (DAC 1982): the best vertex changes sides, again and again,
// and the best halves seen are kept. A separator is first the border of one half; passes of the
// same kind then move vertices out of it, each pulling in its neighbours of the other side
// (Ashcraft, Liu, SIAM J. Matrix Anal. Appl. 19, 1998).
#ifndef SAP_LINALG_ORDERING_SEPARATOR_H
#define SAP_LINALG_ORDERING_SEPARATOR_H

#include <stdint.h>
#include <stdlib.h>

typedef struct sap_graph {
  int32_t count;             // vertices
  const int32_t* start;      // first neighbour of a vertex                       (count + 1)
  const int32_t* neighbour;  // both ways, no vertex its own                      (start[count])
  const int32_t* edges;      // how many each stands for; NULL: one, of a graph to dissect
  const int32_t* weight;     // > 0                                               (count)
} sap_graph;

enum { SAP_SIDE_LEFT, SAP_SIDE_RIGHT, SAP_SIDE_CUT };

typedef struct sap_separator {
  int32_t* side;      // of each vertex
  int64_t weight[3];  // of the sides
  // work
  int32_t* border;   // vertices of the border of the halves, or of the separator
  int32_t* place;    // where a vertex stands there
  int32_t* gain[2];  // halves: edges saved by changing sides; edges to the other side.
                     // separator: weight saved by moving to a side
  int32_t* held;     // whether a vertex has been moved in this pass
  int32_t* log;      // of a pass  (3 count)
  int32_t nborder, nlog;
} sap_separator;

// How far the weights of the two sides are apart.
static inline int64_t sap_separator_apart(const sap_separator* separator) {
  return llabs((long long)(separator->weight[SAP_SIDE_LEFT] - separator->weight[SAP_SIDE_RIGHT]));
}

// Integers of work for `count` vertices, which may be more than a graph has.
#define SAP_SEPARATOR_WORK(count) (8 * (count))
void sap_separator_set_work(sap_separator* separator, int32_t count, int32_t* work);

// Halves from a vertex far from `from`; nothing is known of the sides before.
void sap_separator_start(sap_separator* separator, const sap_graph* graph, int32_t from);
// Betters halves; returns the edges between them.
int64_t sap_separator_refine_halves(sap_separator* separator, const sap_graph* graph);
// From halves to a separator: the border of the side where it is lighter.
void sap_separator_from_halves(sap_separator* separator, const sap_graph* graph);
// Makes a separator lighter.
// cost of both: O(edges + (vertices of the border)^2)
void sap_separator_refine(sap_separator* separator, const sap_graph* graph);

#endif
