// SPDX-License-Identifier: BSD-3-Clause
#include "linalg/ordering/separator.h"

#include <stdbool.h>
#include <string.h>

enum {
  LEFT = SAP_SIDE_LEFT,
  RIGHT = SAP_SIDE_RIGHT,
  CUT = SAP_SIDE_CUT,
  MOST_PASSES = 8,
  MOST_IDLE_MOVES = 50  // without a lighter separator, which end a pass
};
// The largest part of the whole weight that a side may have.
static const double MOST_SIDE = 0.6;

static void enter(sap_separator* s, const sap_graph* g, int32_t v) {
  s->side[v] = CUT;
  s->place[v] = s->nborder;
  s->border[s->nborder++] = v;
  s->gain[LEFT][v] = s->gain[RIGHT][v] = g->weight[v];
  for (int32_t k = g->start[v]; k < g->start[v + 1]; ++k) {
    const int32_t u = g->neighbour[k];
    if (s->side[u] != CUT) {
      s->gain[1 - s->side[u]][v] -= g->weight[u];
    }
  }
}

// The separator of the sides as they are, and the weights.
static void collect(sap_separator* s, const sap_graph* g) {
  memset(s->weight, 0, sizeof s->weight);
  memset(s->held, 0, (size_t)g->count * sizeof *s->held);
  s->nborder = 0;
  s->nlog = 0;
  for (int32_t v = 0; v < g->count; ++v) {
    s->weight[s->side[v]] += g->weight[v];
    if (s->side[v] == CUT) {
      enter(s, g, v);
    }
  }
}

// u is pulled into the separator, since a neighbour has moved to the side that u is not on.
static void pull(sap_separator* s, const sap_graph* g, int32_t u) {
  const int32_t from = s->side[u];
  s->weight[from] -= g->weight[u];
  s->weight[CUT] += g->weight[u];
  for (int32_t k = g->start[u]; k < g->start[u + 1]; ++k) {
    const int32_t x = g->neighbour[k];
    if (s->side[x] == CUT) {
      s->gain[1 - from][x] += g->weight[u];
    }
  }
  enter(s, g, u);
}

// v goes to a side and pulls in its neighbours of the other. The log gets these, then ~v.
static void move(sap_separator* s, const sap_graph* g, int32_t v, int32_t to) {
  const int32_t last = s->border[--s->nborder];
  s->border[s->place[v]] = last;
  s->place[last] = s->place[v];
  s->side[v] = to;
  s->held[v] = 1;
  s->weight[CUT] -= g->weight[v];
  s->weight[to] += g->weight[v];
  for (int32_t k = g->start[v]; k < g->start[v + 1]; ++k) {
    const int32_t u = g->neighbour[k];
    if (s->side[u] == CUT) {
      s->gain[1 - to][u] -= g->weight[v];
    } else if (s->side[u] != to) {
      pull(s, g, u);
      s->log[s->nlog++] = u;
    }
  }
  s->log[s->nlog++] = ~v;
}

// Takes moves back until `nlog` entries are left.
static void go_back(sap_separator* s, int32_t nlog) {
  while (s->nlog > nlog) {
    const int32_t v = ~s->log[--s->nlog];
    const int32_t other = 1 - s->side[v];
    s->side[v] = CUT;
    while (s->nlog > 0 && s->log[s->nlog - 1] >= 0) {
      s->side[s->log[--s->nlog]] = other;
    }
  }
}

// The vertex whose move to *to lightens the separator most, -1: none may move.
static int32_t choose(const sap_separator* s, const sap_graph* g, int64_t most, int32_t* to) {
  int32_t best = -1;
  int64_t best_gain = 0;
  const int32_t lighter = s->weight[LEFT] <= s->weight[RIGHT] ? LEFT : RIGHT;
  for (int32_t k = 0; k < s->nborder; ++k) {
    const int32_t v = s->border[k];
    for (int32_t i = 0; i < 2 && s->held[v] == 0; ++i) {
      const int32_t side = i == 0 ? lighter : 1 - lighter;
      if (s->weight[side] + g->weight[v] <= most && (best < 0 || s->gain[side][v] > best_gain)) {
        best = v;
        best_gain = s->gain[side][v];
        *to = side;
      }
    }
  }
  return best;
}

// Whether the separator has become lighter, or its sides more alike.
static bool pass(sap_separator* s, const sap_graph* g, int64_t most) {
  int64_t lightest = s->weight[CUT], least_apart = sap_separator_apart(s);
  int32_t keep = 0, to = LEFT;
  for (int32_t idle = 0; idle < MOST_IDLE_MOVES; ++idle) {
    const int32_t v = choose(s, g, most, &to);
    if (v < 0) {
      break;
    }
    move(s, g, v, to);
    if (s->weight[CUT] < lightest ||
        (s->weight[CUT] == lightest && sap_separator_apart(s) < least_apart)) {
      idle = s->weight[CUT] < lightest ? 0 : idle;
      lightest = s->weight[CUT];
      least_apart = sap_separator_apart(s);
      keep = s->nlog;
    }
  }
  go_back(s, keep);
  collect(s, g);
  return keep > 0;
}

void sap_separator_refine(sap_separator* s, const sap_graph* g) {
  collect(s, g);
  const double total = (double)(s->weight[LEFT] + s->weight[RIGHT] + s->weight[CUT]);
  for (int32_t k = 0; k < MOST_PASSES && pass(s, g, (int64_t)(MOST_SIDE * total)); ++k) {
  }
}
