// SPDX-License-Identifier: BSD-3-Clause
// Cuts of a graph. Halves with few edges between them start from a breadth-first search from a far
// vertex and are refined in passes (Fiduccia, Mattheyses, DAC 1982): a pass moves the best vertex
// to the other half, repeatedly, and keeps the best halves seen. A separator starts as the border
// of one half; similar passes move vertices out of it, each pulling in its neighbours on the other
// side (Ashcraft, Liu, SIAM J. Matrix Anal. Appl. 19, 1998).
#ifndef SAP_LINALG_SEPARATOR_H
#define SAP_LINALG_SEPARATOR_H

#include <stdint.h>
#include <stdlib.h>

typedef struct sap_graph {
  int32_t count;             // vertices
  const int32_t* start;      // first neighbour of a vertex                       (count + 1)
  const int32_t* neighbour;  // both ways, no vertex its own                      (start[count])
  const int32_t* edges;      // number of original edges per edge; NULL: one
  const int32_t* weight;     // > 0                                               (count)
} sap_graph;

enum { SAP_SIDE_LEFT, SAP_SIDE_RIGHT, SAP_SIDE_CUT };

typedef struct sap_separator {
  int32_t* side;      // of each vertex
  int64_t weight[3];  // of the sides
  // work
  int32_t* border;   // vertices of the border of the halves, or of the separator
  int32_t* place;    // index of a vertex in border
  int32_t* gain[2];  // halves: edges saved by changing sides; edges to the other side.
                     // separator: weight saved by moving to a side
  int32_t* held;     // 1: the vertex moved in this pass
  int32_t* log;      // of a pass  (3 count)
  int32_t nborder, nlog;
} sap_separator;

// Returns the difference of the weights of the two sides.
static inline int64_t sap_separator_apart(const sap_separator* separator) {
  return llabs((long long)(separator->weight[SAP_SIDE_LEFT] - separator->weight[SAP_SIDE_RIGHT]));
}

// Integers of work for graphs of up to `count` vertices.
#define SAP_SEPARATOR_WORK(count) (8 * (count))
void sap_separator_set_work(sap_separator* separator, int32_t count, int32_t* work);

// Sets the halves by a breadth-first search from a vertex far from `from`.
void sap_separator_start(sap_separator* separator, const sap_graph* graph, int32_t from);
// Improves halves. Returns the number of edges between them.
int64_t sap_separator_refine_halves(sap_separator* separator, const sap_graph* graph);
// Turns halves into a separator: the lighter border of the two.
void sap_separator_from_halves(sap_separator* separator, const sap_graph* graph);
// Makes a separator lighter.
// cost of both refinements: O(edges + (vertices of the border)^2)
void sap_separator_refine(sap_separator* separator, const sap_graph* graph);

#endif
