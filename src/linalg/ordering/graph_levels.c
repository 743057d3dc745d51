// SPDX-License-Identifier: BSD-3-Clause
#include "linalg/ordering/graph_levels.h"

#include <string.h>

// Merging ends where fewer vertices than this part of them go.
static const double LEAST_MERGED = 0.1;

sap_graph sap_graph_of(const sap_graph_level* l) {
  return (sap_graph){l->count, l->start, l->neighbour, l->edges, l->weight};
}

static int32_t* take(sap_graph_levels* levels, int64_t count) {
  int32_t* taken = levels->pool;
  levels->pool += count;
  return taken;
}

static bool make_level(sap_graph_levels* levels, sap_graph_level* l, int32_t count, int32_t ends) {
  if (levels->pool_end - levels->pool < 4 * (int64_t)count + 1 + 2 * (int64_t)ends) {
    return false;
  }
  l->count = count;
  l->start = take(levels, (int64_t)count + 1);
  l->weight = take(levels, count);
  l->coarse = take(levels, count);
  l->side = take(levels, count);
  l->neighbour = take(levels, ends);
  l->edges = take(levels, ends);
  return true;
}

bool sap_graph_levels_begin(sap_graph_levels* levels, int32_t count, int32_t ends) {
  levels->top = 0;
  return make_level(levels, &levels->level[0], count, ends);
}

// Vertices by ascending number of neighbours.
static void sort_by_degree(const sap_graph_level* l, int32_t* sorted, int32_t* first) {
  memset(first, 0, ((size_t)l->count + 1) * sizeof *first);
  for (int32_t v = 0; v < l->count; ++v) {
    ++first[l->start[v + 1] - l->start[v] + 1];
  }
  for (int32_t k = 0; k < l->count; ++k) {
    first[k + 1] += first[k];
  }
  for (int32_t v = 0; v < l->count; ++v) {
    sorted[first[l->start[v + 1] - l->start[v]]++] = v;
  }
}

// --- pairs: side[v] is v's mate, -1 until it has one ---

static void pair(sap_graph_level* l, int32_t v, int32_t u) {
  l->side[v] = u;
  l->side[u] = v;
}

// The free neighbour of v to which most edges go, of those the lightest; v itself: none.
static int32_t best_mate(const sap_graph_level* l, int32_t v, int64_t heaviest) {
  int32_t best = v, most = 0;
  for (int32_t k = l->start[v]; k < l->start[v + 1]; ++k) {
    const int32_t u = l->neighbour[k];
    if (l->side[u] < 0 && l->weight[u] + (int64_t)l->weight[v] <= heaviest &&
        (l->edges[k] > most || (l->edges[k] == most && l->weight[u] < l->weight[best]))) {
      best = u;
      most = l->edges[k];
    }
  }
  return best;
}

// Pairs the free neighbours of v with each other.
static void pair_neighbours(sap_graph_level* l, int32_t v, int64_t heaviest) {
  int32_t waiting = -1;
  for (int32_t k = l->start[v]; k < l->start[v + 1]; ++k) {
    const int32_t u = l->neighbour[k];
    if (l->side[u] >= 0) {
      continue;
    }
    if (waiting >= 0 && l->weight[u] + (int64_t)l->weight[waiting] <= heaviest) {
      pair(l, u, waiting);
      waiting = -1;
    } else {
      waiting = u;
    }
  }
}

// Gives every vertex a mate, itself if need be, and numbers the pairs by their first vertices;
// returns how many there are.
static int32_t match(sap_graph_levels* levels, sap_graph_level* l, int32_t coarsest) {
  int64_t total = 0;
  for (int32_t v = 0; v < l->count; ++v) {
    l->side[v] = -1;
    total += l->weight[v];
  }
  const int64_t heaviest = 3 * total / (2 * coarsest);
  sort_by_degree(l, levels->order, levels->first);
  for (int32_t k = 0; k < l->count; ++k) {
    const int32_t v = levels->order[k];
    const int32_t mate = l->side[v] < 0 ? best_mate(l, v, heaviest) : v;
    if (mate != v) {
      pair(l, v, mate);
    }
  }
  for (int32_t v = 0; v < l->count; ++v) {
    pair_neighbours(l, v, heaviest);
  }
  int32_t count = 0;
  for (int32_t v = 0; v < l->count; ++v) {
    if (l->side[v] < 0) {
      l->side[v] = v;
    }
    if (l->side[v] >= v) {
      l->coarse[v] = l->coarse[l->side[v]] = count++;
    }
  }
  return count;
}

// Adds the edges of a fine vertex to the row of its pair, which starts at l->start[c] and ends at
// `ends`; returns its new end. seen: where a neighbour stands in the last row that has it.
static int32_t add_row(const sap_graph_level* fine, int32_t v, sap_graph_level* l, int32_t* seen,
                       int32_t ends) {
  const int32_t c = fine->coarse[v];
  for (int32_t k = fine->start[v]; k < fine->start[v + 1]; ++k) {
    const int32_t u = fine->coarse[fine->neighbour[k]];
    if (u == c) {
      continue;
    }
    if (seen[u] < l->start[c]) {
      seen[u] = ends;
      l->neighbour[ends] = u;
      l->edges[ends++] = 0;
    }
    l->edges[seen[u]] += fine->edges[k];
  }
  return ends;
}

// The next level; false when merging is at its end.
static bool merge(sap_graph_levels* levels, sap_graph_level* fine, sap_graph_level* l,
                  int32_t coarsest) {
  const int32_t count = match(levels, fine, coarsest);
  if ((double)(fine->count - count) < LEAST_MERGED * fine->count ||
      !make_level(levels, l, count, fine->start[fine->count])) {
    return false;
  }
  int32_t* seen = levels->order;
  for (int32_t c = 0; c < count; ++c) {
    seen[c] = -1;
  }
  int32_t ends = 0;
  for (int32_t v = 0; v < fine->count; ++v) {
    const int32_t mate = fine->side[v], c = fine->coarse[v];
    if (mate < v) {
      continue;
    }
    l->start[c] = ends;
    l->weight[c] = fine->weight[v];
    ends = add_row(fine, v, l, seen, ends);
    if (mate > v) {
      l->weight[c] += fine->weight[mate];
      ends = add_row(fine, mate, l, seen, ends);
    }
  }
  l->start[count] = ends;
  // What was taken too much goes back.
  memmove(l->neighbour + ends, l->edges, (size_t)ends * sizeof *l->edges);
  l->edges = l->neighbour + ends;
  levels->pool = l->edges + ends;
  return true;
}

void sap_graph_levels_merge(sap_graph_levels* levels, int32_t coarsest) {
  while (levels->top + 1 < SAP_GRAPH_LEVELS && levels->level[levels->top].count > coarsest &&
         merge(levels, &levels->level[levels->top], &levels->level[levels->top + 1], coarsest)) {
    ++levels->top;
  }
}
