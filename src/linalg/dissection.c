// SPDX-License-Identifier: BSD-3-Clause
// The bounds below were chosen by the fill of piles and stacks of 500 to 10 000 bodies
// (sapstep_bench_order).
#include "linalg/dissection.h"

#include <stdbool.h>
#include <string.h>

enum {
  SMALL_PART = 200,      // vertices of the largest part that is not cut
  COARSEST = 60,         // vertices of the last level
  SEPARATOR_LEVELS = 3,  // first levels refined as separators, the others as halves
  TRIALS = 6,            // cuts of the last level
  MOST_PENDING = 64      // parts waiting to be cut
};
// A vertex with more than HUB_DEGREES times the mean number of neighbours, and more than LEAST_HUB,
// joins the last separator: paths through it would make all vertices near to each other.
static const int32_t HUB_DEGREES = 8;
static const int32_t LEAST_HUB = 24;
// Share of a part's weight; a part without a lighter separator is not cut.
static const double MOST_SEPARATOR = 0.25;

// --- levels: a graph and smaller ones. In each, pairs of neighbours of the one before are merged,
// pairs with most edges first.

enum { MOST_LEVELS = 24 };

typedef struct graph_level {
  int32_t count;
  int32_t *start, *neighbour, *edges, *weight;  // as in sap_graph
  int32_t* coarse;                              // vertex of the next level
  int32_t* side;                                // free for cuts
} graph_level;

typedef struct graph_levels {
  graph_level level[MOST_LEVELS];
  int32_t top;               // the last level
  int32_t *pool, *pool_end;  // where levels are carved from
  int32_t *order, *first;    // work: vertices, vertices + 1
} graph_levels;

// Merging ends at a level that would have fewer than this share of its vertices merged away.
static const double LEAST_MERGED = 0.1;

static sap_graph graph_of(const graph_level* l) {
  return (sap_graph){l->count, l->start, l->neighbour, l->edges, l->weight};
}

static int32_t* carve_integers(graph_levels* levels, int64_t count) {
  int32_t* taken = levels->pool;
  levels->pool += count;
  return taken;
}

static bool make_level(graph_levels* levels, graph_level* l, int32_t count, int32_t ends) {
  if (levels->pool_end - levels->pool < 4 * (int64_t)count + 1 + 2 * (int64_t)ends) {
    return false;
  }
  l->count = count;
  l->start = carve_integers(levels, (int64_t)count + 1);
  l->weight = carve_integers(levels, count);
  l->coarse = carve_integers(levels, count);
  l->side = carve_integers(levels, count);
  l->neighbour = carve_integers(levels, ends);
  l->edges = carve_integers(levels, ends);
  return true;
}

// Makes room for level 0 of `count` vertices and at most `ends` ends of edges. Returns false if the
// pool is too small.
static bool begin_levels(graph_levels* levels, int32_t count, int32_t ends) {
  levels->top = 0;
  return make_level(levels, &levels->level[0], count, ends);
}

// Sorts the vertices by ascending number of neighbours.
static void sort_by_degree(const graph_level* l, int32_t* sorted, int32_t* first) {
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

// Pairs: side[v] is the mate of v, -1 if it has none yet.
static void pair_vertices(graph_level* l, int32_t v, int32_t u) {
  l->side[v] = u;
  l->side[u] = v;
}

// Returns the free neighbour of v with most edges to v, among equals the lightest, or v if there is
// none.
static int32_t best_mate(const graph_level* l, int32_t v, int64_t heaviest) {
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
static void pair_neighbours(graph_level* l, int32_t v, int64_t heaviest) {
  int32_t waiting = -1;
  for (int32_t k = l->start[v]; k < l->start[v + 1]; ++k) {
    const int32_t u = l->neighbour[k];
    if (l->side[u] >= 0) {
      continue;
    }
    if (waiting >= 0 && l->weight[u] + (int64_t)l->weight[waiting] <= heaviest) {
      pair_vertices(l, u, waiting);
      waiting = -1;
    } else {
      waiting = u;
    }
  }
}

// Gives every vertex a mate, if necessary itself, and numbers the pairs by their first vertices.
// Returns the number of pairs.
static int32_t match_vertices(graph_levels* levels, graph_level* l, int32_t coarsest) {
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
      pair_vertices(l, v, mate);
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

// Adds the edges of a fine vertex to the row of its pair, from l->start[c] to `ends`. Returns the
// new end.
// seen: place of a neighbour in the last row that has it.
static int32_t add_row(const graph_level* fine, int32_t v, graph_level* l, int32_t* seen,
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

// Makes the next level. Returns false if merging is at its end.
static bool merge_level(graph_levels* levels, graph_level* fine, graph_level* l, int32_t coarsest) {
  const int32_t count = match_vertices(levels, fine, coarsest);
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
  // Returns the surplus to the pool.
  memmove(l->neighbour + ends, l->edges, (size_t)ends * sizeof *l->edges);
  l->edges = l->neighbour + ends;
  levels->pool = l->edges + ends;
  return true;
}

// Adds levels until one has at most `coarsest` vertices, merging removes too few vertices, or the
// pool is used up.
static void merge_levels(graph_levels* levels, int32_t coarsest) {
  while (
      levels->top + 1 < MOST_LEVELS && levels->level[levels->top].count > coarsest &&
      merge_level(levels, &levels->level[levels->top], &levels->level[levels->top + 1], coarsest)) {
    ++levels->top;
  }
}

// --- dissection

typedef struct dissection {
  const sap_graph* graph;
  int32_t* list;   // vertices, part by part
  int32_t* part;   // of a vertex, -1 in separators
  int32_t* local;  // vertex of level 0
  sap_separator separator;
  graph_levels levels;
} dissection;

// Copies the part list[first, end) to level 0.
static bool extract_part(dissection* d, int32_t first, int32_t end) {
  const sap_graph* g = d->graph;
  int32_t ends = 0;
  for (int32_t k = first; k < end; ++k) {
    const int32_t v = d->list[k];
    d->local[v] = k - first;
    ends += g->start[v + 1] - g->start[v];
  }
  if (!begin_levels(&d->levels, end - first, ends)) {
    return false;
  }
  const graph_level* l = &d->levels.level[0];
  ends = 0;
  for (int32_t k = first; k < end; ++k) {
    const int32_t v = d->list[k];
    l->start[k - first] = ends;
    l->weight[k - first] = g->weight[v];
    for (int32_t i = g->start[v]; i < g->start[v + 1]; ++i) {
      if (d->part[g->neighbour[i]] == d->part[v]) {
        l->neighbour[ends] = d->local[g->neighbour[i]];
        l->edges[ends++] = 1;
      }
    }
  }
  l->start[end - first] = ends;
  return true;
}

// Sets the best of several halves of the last level.
static void cut_coarsest(dissection* d, const graph_level* l) {
  const sap_graph g = graph_of(l);
  int32_t* best = l->coarse;
  int64_t fewest = -1;
  d->separator.side = l->side;
  for (int32_t k = 0; k < TRIALS; ++k) {
    sap_separator_start(&d->separator, &g, (int32_t)((int64_t)k * l->count / TRIALS));
    const int64_t edges = sap_separator_refine_halves(&d->separator, &g);
    if (fewest < 0 || edges < fewest) {
      fewest = edges;
      memcpy(best, l->side, (size_t)l->count * sizeof *best);
    }
  }
  memcpy(l->side, best, (size_t)l->count * sizeof *best);
}

// Finds the separator of the part: from the last level to level 0.
static void find_separator(dissection* d) {
  sap_separator* s = &d->separator;
  int32_t top = d->levels.top;
  bool halves = true;
  cut_coarsest(d, &d->levels.level[top]);
  for (;; --top) {
    const graph_level* l = &d->levels.level[top];
    const sap_graph g = graph_of(l);
    s->side = l->side;
    if (halves && top < SEPARATOR_LEVELS) {
      sap_separator_from_halves(s, &g);
      halves = false;
    }
    if (halves) {
      (void)sap_separator_refine_halves(s, &g);
    } else {
      sap_separator_refine(s, &g);
    }
    if (top == 0) {
      return;
    }
    const graph_level* fine = l - 1;
    for (int32_t v = 0; v < fine->count; ++v) {
      fine->side[v] = l->side[fine->coarse[v]];
    }
  }
}

// Cuts the part list[first, end). Returns true if it did: the vertices are then in the order left,
// right, separator; *middle and *last are the first of right and of the separator.
static bool cut_part(dissection* d, int32_t first, int32_t end, int32_t* middle, int32_t* last) {
  int32_t* const pool = d->levels.pool;
  bool good = extract_part(d, first, end);
  if (good) {
    merge_levels(&d->levels, COARSEST);
    find_separator(d);
    const int64_t* weight = d->separator.weight;
    const double all = (double)(weight[0] + weight[1] + weight[2]);
    good = weight[SAP_SIDE_LEFT] > 0 && weight[SAP_SIDE_RIGHT] > 0 &&
           (double)weight[SAP_SIDE_CUT] <= MOST_SEPARATOR * all;
  }
  int32_t count = 0;
  for (int32_t side = SAP_SIDE_LEFT; good && side <= SAP_SIDE_CUT; ++side) {
    *(side == SAP_SIDE_RIGHT ? middle : last) = first + count;
    for (int32_t k = first; k < end; ++k) {
      if (d->levels.level[0].side[k - first] == side) {
        d->separator.border[count++] = d->list[k];
      }
    }
  }
  memcpy(d->list + first, d->separator.border, (size_t)count * sizeof *d->list);
  d->levels.pool = pool;
  return good;
}

// Writes the vertices that are not hubs to `list`, as part 0. Returns their number.
static int32_t leave_hubs_out(dissection* d, int32_t* member, int32_t top) {
  const sap_graph* g = d->graph;
  const int64_t bound = (int64_t)HUB_DEGREES * (g->start[g->count] / g->count);
  int32_t count = 0;
  for (int32_t v = 0; v < g->count; ++v) {
    const int32_t degree = g->start[v + 1] - g->start[v];
    const bool hub = degree > LEAST_HUB && degree > bound;
    member[v] = top;
    d->part[v] = hub ? -1 : 0;
    if (!hub) {
      d->list[count++] = v;
    }
  }
  return count;
}

static void carve_work(dissection* d, int32_t* work) {
  const int32_t n = d->graph->count;
  int32_t* const end = work + SAP_DISSECTION_WORK(n, d->graph->start[n]);
  int32_t** const arrays[] = {&d->list, &d->part, &d->local, &d->levels.order};
  for (size_t k = 0; k < sizeof arrays / sizeof *arrays; ++k, work += n) {
    *arrays[k] = work;
  }
  d->levels.first = work;
  work += (size_t)n + 1;
  sap_separator_set_work(&d->separator, n, work);
  d->levels.pool = work + SAP_SEPARATOR_WORK((size_t)n);
  d->levels.pool_end = end;
}

int32_t sap_dissect(const sap_graph* graph, int32_t* member, int32_t* work) {
  const int32_t n = graph->count;
  dissection d = {.graph = graph};
  carve_work(&d, work);
  // Numbers descend, in the order in which the separators are found.
  const int32_t count = leave_hubs_out(&d, member, n - 1);
  int32_t number = count < n ? n - 1 : n, parts = 0;
  int32_t pending[MOST_PENDING][2] = {{0, count}};
  for (int32_t waiting = 1; waiting > 0;) {
    const int32_t first = pending[--waiting][0], end = pending[waiting][1];
    int32_t middle = first, last = first;
    --number;
    // Every waiting part needs a number.
    if (end - first > SMALL_PART && waiting + 2 <= MOST_PENDING && number > waiting + 2 &&
        cut_part(&d, first, end, &middle, &last)) {
      const int32_t bounds[3] = {first, middle, last};
      for (int32_t i = 0; i < 2; ++i) {
        pending[waiting][0] = bounds[i];
        pending[waiting++][1] = bounds[i + 1];
        ++parts;
        for (int32_t k = bounds[i]; k < bounds[i + 1]; ++k) {
          d.part[d.list[k]] = parts;
        }
      }
    }
    for (int32_t k = last; k < end; ++k) {
      member[d.list[k]] = number;
      d.part[d.list[k]] = -1;
    }
  }
  for (int32_t v = 0; v < n; ++v) {
    member[v] -= number;
  }
  return n - number;
}
