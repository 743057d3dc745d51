// SPDX-License-Identifier: BSD-3-Clause
#include "linalg/separator.h"

#include <stdbool.h>
#include <string.h>

enum { LEFT = SAP_SIDE_LEFT, RIGHT = SAP_SIDE_RIGHT, CUT = SAP_SIDE_CUT };

// --- halves

enum {
  HALVES_PASSES = 3,
  HALVES_IDLE_MOVES = 25  // without fewer edges; they end a pass
};
// Largest share of the whole weight that a half may have.
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

// Writes all vertices in breadth-first order, component by component, to `border`. Returns the
// last.
static int32_t search_breadth_first(sap_separator* s, const sap_graph* g, int32_t root) {
  memset(s->held, 0, (size_t)g->count * sizeof *s->held);
  int32_t count = 0, unseen = 0;
  s->border[count++] = root;
  s->held[root] = 1;
  for (int32_t next = 0; next < g->count; ++next) {
    for (; next == count; ++unseen) {  // a component is complete
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
  (void)search_breadth_first(s, g, search_breadth_first(s, g, from));
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

// Computes border, gains and weights of the halves. Returns the number of edges between them.
static int64_t collect_halves(sap_separator* s, const sap_graph* g) {
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

static void flip_side(sap_separator* s, const sap_graph* g, int32_t v) {
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

// Returns the vertex of the border that saves most edges, or -1 if none may change sides.
static int32_t choose_flip(const sap_separator* s, const sap_graph* g, int64_t most) {
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

// Moves vertices one by one and keeps the best halves seen. Returns true if they improved; *edges
// is the number of edges between the halves, before and after.
static bool pass_halves(sap_separator* s, const sap_graph* g, int64_t most, int64_t* edges) {
  int64_t now = *edges, fewest = *edges, least_apart = sap_separator_apart(s);
  int32_t keep = 0;
  for (int32_t idle = 0; idle < HALVES_IDLE_MOVES; ++idle) {
    const int32_t v = choose_flip(s, g, most);
    if (v < 0) {
      break;
    }
    now -= s->gain[0][v];
    flip_side(s, g, v);
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
  *edges = collect_halves(s, g);
  return keep > 0;
}

int64_t sap_separator_refine_halves(sap_separator* s, const sap_graph* g) {
  int64_t edges = collect_halves(s, g);
  const int64_t most = (int64_t)(MOST_HALF * (double)(s->weight[LEFT] + s->weight[RIGHT]));
  for (int32_t k = 0; k < HALVES_PASSES && pass_halves(s, g, most, &edges); ++k) {
  }
  return edges;
}

void sap_separator_from_halves(sap_separator* s, const sap_graph* g) {
  int64_t border[2] = {0, 0};
  (void)collect_halves(s, g);
  for (int32_t k = 0; k < s->nborder; ++k) {
    border[s->side[s->border[k]]] += g->weight[s->border[k]];
  }
  const int32_t lighter = border[LEFT] <= border[RIGHT] ? LEFT : RIGHT;
  for (int32_t k = 0; k < s->nborder; ++k) {
    int32_t* side = &s->side[s->border[k]];
    *side = *side == lighter ? CUT : *side;
  }
}

// --- separators

enum {
  MOST_PASSES = 8,
  MOST_IDLE_MOVES = 50  // without a lighter separator; they end a pass
};
// Largest share of the whole weight that a side may have.
static const double MOST_SIDE = 0.6;

static void add_to_separator(sap_separator* s, const sap_graph* g, int32_t v) {
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

// Computes the separator, its gains and the weights from `side`.
static void collect_separator(sap_separator* s, const sap_graph* g) {
  memset(s->weight, 0, sizeof s->weight);
  memset(s->held, 0, (size_t)g->count * sizeof *s->held);
  s->nborder = 0;
  s->nlog = 0;
  for (int32_t v = 0; v < g->count; ++v) {
    s->weight[s->side[v]] += g->weight[v];
    if (s->side[v] == CUT) {
      add_to_separator(s, g, v);
    }
  }
}

// Moves u into the separator: a neighbour of u moved to the other side.
static void pull_in(sap_separator* s, const sap_graph* g, int32_t u) {
  const int32_t from = s->side[u];
  s->weight[from] -= g->weight[u];
  s->weight[CUT] += g->weight[u];
  for (int32_t k = g->start[u]; k < g->start[u + 1]; ++k) {
    const int32_t x = g->neighbour[k];
    if (s->side[x] == CUT) {
      s->gain[1 - from][x] += g->weight[u];
    }
  }
  add_to_separator(s, g, u);
}

// Moves v from the separator to a side and pulls in its neighbours on the other side. Logs these,
// then ~v.
static void move_out(sap_separator* s, const sap_graph* g, int32_t v, int32_t to) {
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
      pull_in(s, g, u);
      s->log[s->nlog++] = u;
    }
  }
  s->log[s->nlog++] = ~v;
}

// Undoes moves until `nlog` entries of the log are left.
static void undo_moves(sap_separator* s, int32_t nlog) {
  while (s->nlog > nlog) {
    const int32_t v = ~s->log[--s->nlog];
    const int32_t other = 1 - s->side[v];
    s->side[v] = CUT;
    while (s->nlog > 0 && s->log[s->nlog - 1] >= 0) {
      s->side[s->log[--s->nlog]] = other;
    }
  }
}

// Returns the vertex whose move to *to lightens the separator most, or -1 if none may move.
static int32_t choose_move(const sap_separator* s, const sap_graph* g, int64_t most, int32_t* to) {
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

// Moves vertices one by one and keeps the best separator seen. Returns true if it is lighter or
// better balanced.
static bool pass_separator(sap_separator* s, const sap_graph* g, int64_t most) {
  int64_t lightest = s->weight[CUT], least_apart = sap_separator_apart(s);
  int32_t keep = 0, to = LEFT;
  for (int32_t idle = 0; idle < MOST_IDLE_MOVES; ++idle) {
    const int32_t v = choose_move(s, g, most, &to);
    if (v < 0) {
      break;
    }
    move_out(s, g, v, to);
    if (s->weight[CUT] < lightest ||
        (s->weight[CUT] == lightest && sap_separator_apart(s) < least_apart)) {
      idle = s->weight[CUT] < lightest ? 0 : idle;
      lightest = s->weight[CUT];
      least_apart = sap_separator_apart(s);
      keep = s->nlog;
    }
  }
  undo_moves(s, keep);
  collect_separator(s, g);
  return keep > 0;
}

void sap_separator_refine(sap_separator* s, const sap_graph* g) {
  collect_separator(s, g);
  const double total = (double)(s->weight[LEFT] + s->weight[RIGHT] + s->weight[CUT]);
  for (int32_t k = 0; k < MOST_PASSES && pass_separator(s, g, (int64_t)(MOST_SIDE * total)); ++k) {
  }
}
