// SPDX-License-Identifier: BSD-3-Clause
// The bounds below were chosen by the fill of piles and stacks of 500 to 10 000 bodies
// (sapstep_bench_order).
#include "linalg/ordering/dissection.h"

#include <stdbool.h>
#include <string.h>

#include "linalg/ordering/graph_levels.h"

enum {
  SMALL_PART = 200,      // vertices that are not cut any more
  COARSEST = 60,         // vertices of the smallest graph that stands for a part
  SEPARATOR_LEVELS = 3,  // from the finest on: refined as separators, the others as halves
  TRIALS = 6,            // cuts of the smallest graph
  MOST_PENDING = 64      // parts that wait to be cut
};
// A vertex with this many times the mean number of neighbours, and more than the least, joins the
// last separator: it would make everything near to everything.
static const int32_t HUB_DEGREES = 8;
static const int32_t LEAST_HUB = 24;
// Of a part's weight; a part without a lighter separator is not cut.
static const double MOST_SEPARATOR = 0.25;

typedef struct dissection {
  const sap_graph* graph;
  int32_t* list;   // vertices, part by part
  int32_t* part;   // of a vertex, -1 in separators
  int32_t* local;  // vertex of level 0
  sap_separator separator;
  sap_graph_levels levels;
} dissection;

// The part list[first, end) as level 0.
static bool extract(dissection* d, int32_t first, int32_t end) {
  const sap_graph* g = d->graph;
  int32_t ends = 0;
  for (int32_t k = first; k < end; ++k) {
    const int32_t v = d->list[k];
    d->local[v] = k - first;
    ends += g->start[v + 1] - g->start[v];
  }
  if (!sap_graph_levels_begin(&d->levels, end - first, ends)) {
    return false;
  }
  const sap_graph_level* l = &d->levels.level[0];
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

// The best of some halves of the smallest graph.
static void cut_coarsest(dissection* d, const sap_graph_level* l) {
  const sap_graph g = sap_graph_of(l);
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

// From the smallest graph to level 0, whose sides are then those of the part.
static void find_separator(dissection* d) {
  sap_separator* s = &d->separator;
  int32_t top = d->levels.top;
  bool halves = true;
  cut_coarsest(d, &d->levels.level[top]);
  for (;; --top) {
    const sap_graph_level* l = &d->levels.level[top];
    const sap_graph g = sap_graph_of(l);
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
    const sap_graph_level* fine = l - 1;
    for (int32_t v = 0; v < fine->count; ++v) {
      fine->side[v] = l->side[fine->coarse[v]];
    }
  }
}

// Whether the part list[first, end) has been cut; then its vertices stand in the order left, right,
// separator, of which *middle and *last are the bounds.
static bool cut(dissection* d, int32_t first, int32_t end, int32_t* middle, int32_t* last) {
  int32_t* const pool = d->levels.pool;
  bool good = extract(d, first, end);
  if (good) {
    sap_graph_levels_merge(&d->levels, COARSEST);
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

// Vertices that are no hubs to `list`, as part 0; returns how many.
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

static void carve(dissection* d, int32_t* work) {
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
  carve(&d, work);
  // Numbers are given from the top down, as the separators come.
  const int32_t count = leave_hubs_out(&d, member, n - 1);
  int32_t number = count < n ? n - 1 : n, parts = 0;
  int32_t pending[MOST_PENDING][2] = {{0, count}};
  for (int32_t waiting = 1; waiting > 0;) {
    const int32_t first = pending[--waiting][0], end = pending[waiting][1];
    int32_t middle = first, last = first;
    --number;
    // Every part that waits needs a number of its own.
    if (end - first > SMALL_PART && waiting + 2 <= MOST_PENDING && number > waiting + 2 &&
        cut(&d, first, end, &middle, &last)) {
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
