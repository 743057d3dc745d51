// SPDX-License-Identifier: BSD-3-Clause
// The bounds below were chosen by the fill of piles and stacks of 500 to 10 000 bodies
// (sapstep_bench_order).
#include "linalg/dissection.h"

#include <stdbool.h>
#include <stdlib.h>
#include <string.h>

enum {
  SMALL_PART = 200,  // vertices of the largest part that is not cut
  COARSEST = 60,     // vertices of the last level
  MOST_LEVELS = 24,
  TRIALS = 6,            // searches of a cut of the last level; level 0 has one more
  MOST_PASSES = 8,       // of a refinement
  MOST_IDLE_MOVES = 50,  // without a lighter separator; they end a pass
  MOST_PENDING = 64      // parts waiting to be cut
};
// A vertex with more than HUB_DEGREES times the mean number of neighbours, and more than LEAST_HUB,
// joins the last separator: paths through it would make all vertices near to each other.
static const int32_t HUB_DEGREES = 8;
static const int32_t LEAST_HUB = 24;
// Merging ends at a level that would have fewer than this share of its vertices merged away.
static const double LEAST_MERGED = 0.1;
// Share of a part's weight; a part without a lighter separator is not cut.
static const double MOST_SEPARATOR = 0.25;
// Largest share of a part's weight that a side may have.
static const double MOST_SIDE = 0.6;

enum { LEFT, RIGHT, CUT };

// A part of the graph, or a smaller graph in which neighbours are merged in pairs.
typedef struct level {
  int32_t count;
  int32_t *start, *neighbour;  // as in sap_graph
  int32_t* edges;              // number of original edges per edge
  int32_t* weight;
  int32_t* coarse;  // vertex of the next level
  int32_t* side;
} level;

typedef struct dissection {
  const sap_graph* graph;
  int32_t* list;   // vertices, part by part
  int32_t* local;  // vertex of level 0, -1: not of the part being cut
  level levels[MOST_LEVELS];
  int32_t *pool, *pool_end;  // where levels are carved from
  // A cut.
  const level* l;
  int32_t* side;
  int64_t weight[3];  // of the sides and the separator
  int32_t* border;    // vertices of the separator; also the queue of a search
  int32_t* place;     // index of a vertex in border; in a merge: last place of a neighbour
  int32_t* gain[2];   // weight that a vertex of the separator saves by moving to a side
  int32_t* held;      // 1: the vertex moved in this pass, or was seen by the search
  int32_t* log;       // moves of a pass  (3 count)
  int32_t nborder, nlog;
} dissection;

static bool carve_level(dissection* d, level* l, int32_t count, int32_t ends) {
  const int32_t sizes[] = {count + 1, count, count, count, ends, ends};
  int32_t** const arrays[] = {&l->start, &l->weight,    &l->coarse,
                              &l->side,  &l->neighbour, &l->edges};
  if (d->pool_end - d->pool < 4 * (int64_t)count + 1 + 2 * (int64_t)ends) {
    return false;
  }
  l->count = count;
  for (int k = 0; k < 6; ++k) {
    *arrays[k] = d->pool;
    d->pool += sizes[k];
  }
  return true;
}

// Copies the part list[first, end) to level 0.
static bool extract_part(dissection* d, int32_t first, int32_t end) {
  const sap_graph* g = d->graph;
  level* l = &d->levels[0];
  int32_t ends = 0;
  for (int32_t k = first; k < end; ++k) {
    d->local[d->list[k]] = k - first;
    ends += g->start[d->list[k] + 1] - g->start[d->list[k]];
  }
  const bool room = carve_level(d, l, end - first, ends);
  ends = 0;
  for (int32_t k = first; room && k < end; ++k) {
    const int32_t v = d->list[k];
    l->start[k - first] = ends;
    l->weight[k - first] = g->weight[v];
    for (int32_t i = g->start[v]; i < g->start[v + 1]; ++i) {
      if (d->local[g->neighbour[i]] >= 0) {
        l->neighbour[ends] = d->local[g->neighbour[i]];
        l->edges[ends++] = 1;
      }
    }
    l->start[k - first + 1] = ends;
  }
  for (int32_t k = first; k < end; ++k) {
    d->local[d->list[k]] = -1;
  }
  return room;
}

// Gives every vertex a mate, in `side`, if necessary itself: the free neighbour with most edges,
// among equals the lightest. Numbers the pairs; returns their number.
static int32_t match_vertices(level* l) {
  int64_t total = 0;
  int32_t count = 0;
  for (int32_t v = 0; v < l->count; ++v) {
    l->side[v] = -1;
    total += l->weight[v];
  }
  const int64_t heaviest = 3 * total / (2 * COARSEST);
  for (int32_t v = 0; v < l->count; ++v) {
    int32_t best = v, most = 0;
    if (l->side[v] >= 0) {
      continue;
    }
    for (int32_t k = l->start[v]; k < l->start[v + 1]; ++k) {
      const int32_t u = l->neighbour[k];
      if (l->side[u] < 0 && l->weight[u] + (int64_t)l->weight[v] <= heaviest &&
          (l->edges[k] > most || (l->edges[k] == most && l->weight[u] < l->weight[best]))) {
        best = u;
        most = l->edges[k];
      }
    }
    l->side[v] = best;
    l->side[best] = v;
    l->coarse[v] = l->coarse[best] = count++;
  }
  return count;
}

// Makes the next level. Returns false if merging is at its end.
static bool merge_level(dissection* d, level* fine, level* l) {
  const int32_t count = match_vertices(fine);
  if ((double)(fine->count - count) < LEAST_MERGED * fine->count ||
      !carve_level(d, l, count, fine->start[fine->count])) {
    return false;
  }
  int32_t ends = 0;
  memset(d->place, -1, (size_t)count * sizeof *d->place);
  for (int32_t v = 0; v < fine->count; ++v) {
    const int32_t c = fine->coarse[v], pair[2] = {v, fine->side[v]};
    if (pair[1] < v) {
      continue;
    }
    l->start[c] = ends;
    l->weight[c] = 0;
    for (int32_t i = 0; i < (pair[1] > v ? 2 : 1); ++i) {
      l->weight[c] += fine->weight[pair[i]];
      for (int32_t k = fine->start[pair[i]]; k < fine->start[pair[i] + 1]; ++k) {
        const int32_t u = fine->coarse[fine->neighbour[k]];
        if (u != c && d->place[u] < l->start[c]) {
          d->place[u] = ends;
          l->neighbour[ends] = u;
          l->edges[ends++] = 0;
        }
        if (u != c) {
          l->edges[d->place[u]] += fine->edges[k];
        }
      }
    }
  }
  l->start[count] = ends;
  return true;
}

// Writes all vertices in breadth-first order, component by component, to `border`. Returns the
// last.
static int32_t search(dissection* d, int32_t root) {
  const level* l = d->l;
  int32_t count = 0;
  memset(d->held, 0, (size_t)l->count * sizeof *d->held);
  for (int32_t k = -1, next = 0; k < l->count; ++k) {
    const int32_t seed = k < 0 ? root : k;  // of a new component
    if (d->held[seed] == 0) {
      d->held[seed] = 1;
      d->border[count++] = seed;
    }
    for (; next < count; ++next) {
      const int32_t v = d->border[next];
      for (int32_t i = l->start[v]; i < l->start[v + 1]; ++i) {
        const int32_t u = l->neighbour[i];
        if (d->held[u] == 0) {
          d->held[u] = 1;
          d->border[count++] = u;
        }
      }
    }
  }
  return d->border[count - 1];
}

// Sets the sides: the vertices nearest to one that is far from `root`, up to half of the weight,
// their neighbours as the separator, and the rest.
static void start_cut(dissection* d, int32_t root) {
  const level* l = d->l;
  (void)search(d, search(d, root));
  int64_t total = 0, weight = 0;
  for (int32_t v = 0; v < l->count; ++v) {
    total += l->weight[v];
  }
  for (int32_t k = 0; k < l->count; ++k) {
    const int32_t v = d->border[k];
    d->side[v] = 2 * weight < total ? LEFT : RIGHT;
    weight += l->weight[v];
  }
  for (int32_t v = 0; v < l->count; ++v) {
    for (int32_t i = l->start[v]; i < l->start[v + 1] && d->side[v] == RIGHT; ++i) {
      d->side[v] = d->side[l->neighbour[i]] == LEFT ? CUT : RIGHT;
    }
  }
}

static int64_t imbalance(const dissection* d) {
  return llabs((long long)(d->weight[LEFT] - d->weight[RIGHT]));
}

static void add_to_separator(dissection* d, int32_t v) {
  const level* g = d->l;
  d->side[v] = CUT;
  d->place[v] = d->nborder;
  d->border[d->nborder++] = v;
  d->gain[LEFT][v] = d->gain[RIGHT][v] = g->weight[v];
  for (int32_t k = g->start[v]; k < g->start[v + 1]; ++k) {
    const int32_t u = g->neighbour[k];
    if (d->side[u] < CUT) {
      d->gain[1 - d->side[u]][v] -= g->weight[u];
    }
  }
}

// Computes the separator, its gains and the weights from `side`.
static void collect_separator(dissection* d) {
  memset(d->weight, 0, sizeof d->weight);
  d->nborder = d->nlog = 0;
  for (int32_t v = 0; v < d->l->count; ++v) {
    d->held[v] = 0;
    d->weight[d->side[v]] += d->l->weight[v];
    if (d->side[v] == CUT) {
      add_to_separator(d, v);
    }
  }
}

// Moves u into the separator: a neighbour of u moved to the other side.
static void pull_in(dissection* d, int32_t u) {
  const level* g = d->l;
  const int32_t from = d->side[u];
  d->weight[from] -= g->weight[u];
  d->weight[CUT] += g->weight[u];
  for (int32_t k = g->start[u]; k < g->start[u + 1]; ++k) {
    const int32_t x = g->neighbour[k];
    if (d->side[x] == CUT) {
      d->gain[1 - from][x] += g->weight[u];
    }
  }
  add_to_separator(d, u);
}

// Moves v from the separator to a side and pulls in its neighbours on the other side. Logs these,
// then ~v.
static void move_out(dissection* d, int32_t v, int32_t to) {
  const level* g = d->l;
  const int32_t last = d->border[--d->nborder];
  d->border[d->place[v]] = last;
  d->place[last] = d->place[v];
  d->side[v] = to;
  d->held[v] = 1;
  d->weight[CUT] -= g->weight[v];
  d->weight[to] += g->weight[v];
  for (int32_t k = g->start[v]; k < g->start[v + 1]; ++k) {
    const int32_t u = g->neighbour[k];
    if (d->side[u] == CUT) {
      d->gain[1 - to][u] -= g->weight[v];
    } else if (d->side[u] == 1 - to) {
      pull_in(d, u);
      d->log[d->nlog++] = u;
    }
  }
  d->log[d->nlog++] = ~v;
}

// Undoes moves until `nlog` entries of the log are left.
static void undo_moves(dissection* d, int32_t nlog) {
  while (d->nlog > nlog) {
    const int32_t v = ~d->log[--d->nlog];
    const int32_t other = 1 - d->side[v];
    d->side[v] = CUT;
    while (d->nlog > 0 && d->log[d->nlog - 1] >= 0) {
      d->side[d->log[--d->nlog]] = other;
    }
  }
}

// Returns the vertex whose move to *to lightens the separator most, or -1 if none may move.
static int32_t choose_move(const dissection* d, int64_t most, int32_t* to) {
  int32_t best = -1, best_gain = 0;
  const int32_t lighter = d->weight[LEFT] <= d->weight[RIGHT] ? LEFT : RIGHT;
  for (int32_t k = 0; k < d->nborder; ++k) {
    const int32_t v = d->border[k];
    for (int32_t i = 0; i < 2 && d->held[v] == 0; ++i) {
      const int32_t side = i == 0 ? lighter : 1 - lighter;
      if (d->weight[side] + d->l->weight[v] <= most && (best < 0 || d->gain[side][v] > best_gain)) {
        best = v;
        best_gain = d->gain[side][v];
        *to = side;
      }
    }
  }
  return best;
}

// Moves vertices one by one and keeps the best separator seen. Returns true if it is lighter or
// better balanced.
static bool pass_separator(dissection* d, int64_t most) {
  int64_t lightest = d->weight[CUT], least_apart = imbalance(d);
  int32_t keep = 0, to = LEFT;
  for (int32_t idle = 0; idle < MOST_IDLE_MOVES; ++idle) {
    const int32_t v = choose_move(d, most, &to);
    if (v < 0) {
      break;
    }
    move_out(d, v, to);
    if (d->weight[CUT] < lightest || (d->weight[CUT] == lightest && imbalance(d) < least_apart)) {
      idle = d->weight[CUT] < lightest ? 0 : idle;
      lightest = d->weight[CUT];
      least_apart = imbalance(d);
      keep = d->nlog;
    }
  }
  undo_moves(d, keep);
  collect_separator(d);
  return keep > 0;
}

static void refine(dissection* d) {
  collect_separator(d);
  const double total = (double)(d->weight[LEFT] + d->weight[RIGHT] + d->weight[CUT]);
  for (int32_t k = 0; k < MOST_PASSES && pass_separator(d, (int64_t)(MOST_SIDE * total)); ++k) {
  }
}

// Sets the lightest separator of a level: that of the coarser level (NULL: none), or those of some
// searches.
static void cut_level(dissection* d, level* l, const level* coarser, int32_t trials) {
  int64_t lightest = -1;
  d->l = l;
  d->side = l->side;
  for (int32_t trial = coarser != NULL ? -1 : 0; trial < trials; ++trial) {
    for (int32_t v = 0; trial < 0 && v < l->count; ++v) {
      l->side[v] = coarser->side[l->coarse[v]];
    }
    if (trial >= 0) {
      start_cut(d, (int32_t)((int64_t)trial * l->count / trials));
    }
    refine(d);
    if (lightest < 0 || d->weight[CUT] < lightest) {
      lightest = d->weight[CUT];
      memcpy(l->coarse, l->side, (size_t)l->count * sizeof *l->side);
    }
  }
  memcpy(l->side, l->coarse, (size_t)l->count * sizeof *l->side);
}

// Finds the separator of level 0: from the last level on. Returns false if it is too heavy.
static bool find_separator(dissection* d) {
  level* const l = d->levels;
  int32_t top = 0;
  while (top + 1 < MOST_LEVELS && l[top].count > COARSEST && merge_level(d, &l[top], &l[top + 1])) {
    ++top;
  }
  cut_level(d, &l[top], NULL, TRIALS);
  while (top-- > 0) {
    cut_level(d, &l[top], &l[top + 1], top == 0 ? 1 : 0);
  }
  collect_separator(d);
  const double total = (double)(d->weight[LEFT] + d->weight[RIGHT] + d->weight[CUT]);
  return d->weight[LEFT] > 0 && d->weight[RIGHT] > 0 &&
         (double)d->weight[CUT] <= MOST_SEPARATOR * total;
}

// Cuts the part list[first, end). Returns true if it did: the vertices are then in the order left,
// right, separator; bounds are the first of left, of right and of the separator.
static bool cut_part(dissection* d, int32_t first, int32_t end, int32_t bounds[3]) {
  int32_t* const pool = d->pool;
  const bool good = extract_part(d, first, end) && find_separator(d);
  int32_t count = 0;
  for (int32_t side = LEFT; good && side <= CUT; ++side) {
    bounds[side] = first + count;
    for (int32_t k = first; k < end; ++k) {
      if (d->side[k - first] == side) {
        d->border[count++] = d->list[k];
      }
    }
  }
  memcpy(d->list + first, d->border, (size_t)count * sizeof *d->list);
  d->pool = pool;
  return good;
}

// Writes the vertices that are not hubs to `list`. Returns their number.
static int32_t leave_hubs_out(dissection* d, int32_t* member, int32_t top) {
  const sap_graph* g = d->graph;
  const int64_t bound = (int64_t)HUB_DEGREES * (g->start[g->count] / g->count);
  int32_t count = 0;
  for (int32_t v = 0; v < g->count; ++v) {
    const int32_t degree = g->start[v + 1] - g->start[v];
    member[v] = top;
    d->local[v] = -1;
    if (degree <= LEAST_HUB || degree <= bound) {
      d->list[count++] = v;
    }
  }
  return count;
}

int32_t sap_dissect(const sap_graph* graph, int32_t* member, int32_t* work) {
  const int32_t n = graph->count;
  dissection d = {.graph = graph, .pool_end = work + SAP_DISSECTION_WORK(n, graph->start[n])};
  int32_t** const arrays[] = {&d.list,    &d.local,   &d.border, &d.place,
                              &d.gain[0], &d.gain[1], &d.held,   &d.log};
  for (size_t k = 0; k < sizeof arrays / sizeof *arrays; ++k, work += n) {
    *arrays[k] = work;
  }
  d.pool = work + 2 * (size_t)n;  // the log has 3 n
  // Numbers descend, in the order in which the separators are found.
  const int32_t count = leave_hubs_out(&d, member, n - 1);
  int32_t number = count < n ? n - 1 : n;
  int32_t pending[MOST_PENDING][2] = {{0, count}};
  for (int32_t waiting = 1; waiting > 0;) {
    const int32_t first = pending[--waiting][0], end = pending[waiting][1];
    int32_t bounds[3] = {first, first, first};
    --number;
    // Every waiting part needs a number.
    if (end - first > SMALL_PART && waiting + 2 <= MOST_PENDING && number > waiting + 2 &&
        cut_part(&d, first, end, bounds)) {
      for (int32_t i = 0; i < 2; ++i) {
        pending[waiting][0] = bounds[i];
        pending[waiting++][1] = bounds[i + 1];
      }
    }
    for (int32_t k = bounds[CUT]; k < end; ++k) {
      member[d.list[k]] = number;
    }
  }
  for (int32_t v = 0; v < n; ++v) {
    member[v] -= number;
  }
  return n - number;
}
