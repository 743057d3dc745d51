// SPDX-License-Identifier: BSD-3-Clause
// A graph and smaller ones that stand for it: in each, pairs of neighbours of the one before are
// merged, those that most edges join first.
#ifndef SAP_LINALG_ORDERING_GRAPH_LEVELS_H
#define SAP_LINALG_ORDERING_GRAPH_LEVELS_H

#include <stdbool.h>

#include "linalg/ordering/separator.h"

enum { SAP_GRAPH_LEVELS = 24 };

typedef struct sap_graph_level {
  int32_t count;
  int32_t *start, *neighbour, *edges, *weight;  // as in sap_graph
  int32_t* coarse;                              // vertex of the next level
  int32_t* side;                                // free for cuts
} sap_graph_level;

typedef struct sap_graph_levels {
  sap_graph_level level[SAP_GRAPH_LEVELS];
  int32_t top;               // the last level
  int32_t *pool, *pool_end;  // where levels are carved from
  int32_t *order, *first;    // work: vertices, vertices + 1
} sap_graph_levels;

sap_graph sap_graph_of(const sap_graph_level* level);
// Room for level 0 of `count` vertices and at most `ends` ends of edges; false: the pool is too
// small.
bool sap_graph_levels_begin(sap_graph_levels* levels, int32_t count, int32_t ends);
// Levels above level 0 until there are `coarsest` vertices or fewer, merging no longer makes much
// fewer, or the pool is used up.
void sap_graph_levels_merge(sap_graph_levels* levels, int32_t coarsest);

#endif
