// SPDX-License-Identifier: BSD-3-Clause
#include <stdbool.h>
#include <string.h>

#include "linalg/ordering/separator.h"

enum {
  LEFT = SAP_SIDE_LEFT,
  RIGHT = SAP_SIDE_RIGHT,
  CUT = SAP_SIDE_CUT,
  MOST_PASSES = 3,
  MOST_IDLE_MOVES = 25  // without fewer edges, which end a pass
};
// The largest part of the whole weight that a half may have.
static const double MOST_HALF = 0.55;

void sap_separator_set_work(sap_separator* s, int32_t count, int32_t* work) {
  const size_t n = (size_t)count;
  s->border = work;
  s->place = work + n;
  s->gain[0] = work + 2 * n;
  s->gain[1] = work + 3 * n;
  s->held = work + 4 * n;
  s->log = work + 5 * n;
}

// All vertices in breadth-first order, component by component, to `border`; returns the last.
static int32_t search(sap_separator* s, const sap_graph* g, int32_t root) {
  memset(s->held, 0, (size_t)g->count * sizeof *s->held);
  int32_t count = 0, unseen = 0;
  s->border[count++] = root;
  s->held[root] = 1;
  for (int32_t next = 0; next < g->count; ++next) {
    for (; next == count; ++unseen) {  // a component is done
      if (s->held[unseen] == 0) {
        s->held[unseen] = 1;
        s->border[count++] = unseen;
      }
    }
    const int32_t v = s->border[next];
    for (int32_t k = g->start[v]; k < g->start[v + 1]; ++k) {
      const int32_t u = g->neighbour[k];
      if (s->held[u] == 0) {
        s->held[u] = 1;
        s->border[count++] = u;
      }
    }
  }
  return s->border[count - 1];
}

void sap_separator_start(sap_separator* s, const sap_graph* g, int32_t from) {
  (void)search(s, g, search(s, g, from));
  int64_t total = 0, weight = 0;
  for (int32_t v = 0; v < g->count; ++v) {
    total += g->weight[v];
  }
  for (int32_t k = 0; k < g->count; ++k) {
    const int32_t v = s->border[k];
    s->side[v] = 2 * weight < total ? LEFT : RIGHT;
    weight += g->weight[v];
  }
}

static void set_border(sap_separator* s, int32_t v, bool touches) {
  if (touches && s->place[v] < 0) {
    s->place[v] = s->nborder;
    s->border[s->nborder++] = v;
  } else if (!touches && s->place[v] >= 0) {
    const int32_t last = s->border[--s->nborder];
    s->border[s->place[v]] = last;
    s->place[last] = s->place[v];
    s->place[v] = -1;
  }
}

// Border, gains and weights of the sides as they are; returns the edges between them.
static int64_t collect(sap_separator* s, const sap_graph* g) {
  int64_t between = 0;
  memset(s->weight, 0, sizeof s->weight);
  memset(s->held, 0, (size_t)g->count * sizeof *s->held);
  s->nborder = 0;
  s->nlog = 0;
  for (int32_t v = 0; v < g->count; ++v) {
    int32_t across = 0, all = 0;
    for (int32_t k = g->start[v]; k < g->start[v + 1]; ++k) {
      all += g->edges[k];
      across += s->side[g->neighbour[k]] == s->side[v] ? 0 : g->edges[k];
    }
    s->gain[0][v] = 2 * across - all;
    s->gain[1][v] = across;
    s->weight[s->side[v]] += g->weight[v];
    s->place[v] = -1;
    set_border(s, v, across > 0);
    between += across;
  }
  return between / 2;
}

static void flip(sap_separator* s, const sap_graph* g, int32_t v) {
  const int32_t from = s->side[v];
  s->side[v] = 1 - from;
  s->weight[from] -= g->weight[v];
  s->weight[1 - from] += g->weight[v];
  s->gain[1][v] -= s->gain[0][v];
  s->gain[0][v] = -s->gain[0][v];
  set_border(s, v, s->gain[1][v] > 0);
  for (int32_t k = g->start[v]; k < g->start[v + 1]; ++k) {
    const int32_t u = g->neighbour[k];
    const int32_t change = s->side[u] == from ? g->edges[k] : -g->edges[k];
    s->gain[1][u] += change;
    s->gain[0][u] += 2 * change;
    set_border(s, u, s->gain[1][u] > 0);
  }
  s->held[v] = 1;
  s->log[s->nlog++] = v;
}

// The vertex of the border that saves most edges, -1: none may change sides.
static int32_t choose(const sap_separator* s, const sap_graph* g, int64_t most) {
  int32_t best = -1;
  for (int32_t k = 0; k < s->nborder; ++k) {
    const int32_t v = s->border[k], to = 1 - s->side[v];
    const bool may = s->weight[to] + g->weight[v] <= most || s->weight[to] < s->weight[1 - to];
    if (s->held[v] == 0 && may && (best < 0 || s->gain[0][v] > s->gain[0][best])) {
      best = v;
    }
  }
  return best;
}

// Whether the halves have become better; *edges: those between them, before and after.
static bool pass(sap_separator* s, const sap_graph* g, int64_t most, int64_t* edges) {
  int64_t now = *edges, fewest = *edges, least_apart = sap_separator_apart(s);
  int32_t keep = 0;
  for (int32_t idle = 0; idle < MOST_IDLE_MOVES; ++idle) {
    const int32_t v = choose(s, g, most);
    if (v < 0) {
      break;
    }
    now -= s->gain[0][v];
    flip(s, g, v);
    if (now < fewest || (now == fewest && sap_separator_apart(s) < least_apart)) {
      idle = now < fewest ? 0 : idle;
      fewest = now;
      least_apart = sap_separator_apart(s);
      keep = s->nlog;
    }
  }
  while (s->nlog > keep) {
    const int32_t v = s->log[--s->nlog];
    s->side[v] = 1 - s->side[v];
  }
  *edges = collect(s, g);
  return keep > 0;
}

int64_t sap_separator_refine_halves(sap_separator* s, const sap_graph* g) {
  int64_t edges = collect(s, g);
  const int64_t most = (int64_t)(MOST_HALF * (double)(s->weight[LEFT] + s->weight[RIGHT]));
  for (int32_t k = 0; k < MOST_PASSES && pass(s, g, most, &edges); ++k) {
  }
  return edges;
}

void sap_separator_from_halves(sap_separator* s, const sap_graph* g) {
  int64_t border[2] = {0, 0};
  (void)collect(s, g);
  for (int32_t k = 0; k < s->nborder; ++k) {
    border[s->side[s->border[k]]] += g->weight[s->border[k]];
  }
  const int32_t lighter = border[LEFT] <= border[RIGHT] ? LEFT : RIGHT;
  for (int32_t k = 0; k < s->nborder; ++k) {
    int32_t* side = &s->side[s->border[k]];
    *side = *side == lighter ? CUT : *side;
  }
}
