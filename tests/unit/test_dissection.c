// SPDX-License-Identifier: BSD-3-Clause
// Nested dissection: separators separate, are about as small as a cut through the middle, and the
// sides are about even; graphs in pieces, with hubs and without separators come through.
#include <setjmp.h>
#include <stdarg.h>
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "linalg/dissection.h"

enum { SMALL_PART = 200 };  // not cut any more: dissection.c

typedef struct graph {
  sap_graph view;
  int32_t *start, *neighbour, *weight, *member, *work, *component, *queue;
  int32_t members;
} graph;

typedef bool linked(int32_t i, int32_t j, int32_t size);

static void* take(size_t count) {
  void* memory = calloc(count + 1, sizeof(int32_t));
  assert_non_null(memory);
  return memory;
}

static graph make(int32_t count, linked* link, int32_t size) {
  graph g = {.start = take((size_t)count + 1), .weight = take((size_t)count)};
  for (int32_t pass = 0; pass < 2; ++pass) {
    int32_t ends = 0;
    for (int32_t i = 0; i < count; ++i) {
      g.start[i] = ends;
      g.weight[i] = 6;
      for (int32_t j = 0; j < count; ++j) {
        if (i != j && link(i, j, size)) {
          if (pass == 1) {
            g.neighbour[ends] = j;
          }
          ++ends;
        }
      }
    }
    g.start[count] = ends;
    if (pass == 0) {
      g.neighbour = take((size_t)ends);
    }
  }
  g.view = (sap_graph){count, g.start, g.neighbour, g.weight};
  const size_t work = (size_t)SAP_DISSECTION_WORK(count, g.start[count]);
  g.member = take((size_t)count);
  g.component = take((size_t)count);
  g.queue = take((size_t)count);
  g.work = take(work);
  memset(g.work, 0x55, work * sizeof(int32_t));  // nothing is expected there
  g.members = sap_dissect(&g.view, g.member, g.work);
  return g;
}

static void clear(graph* g) {
  int32_t* const arrays[] = {g->start, g->neighbour, g->weight, g->member,
                             g->work,  g->component, g->queue};
  for (size_t k = 0; k < sizeof arrays / sizeof *arrays; ++k) {
    free(arrays[k]);
  }
}

// Vertices of the component of `root` among those with component[.] == from; they get `to`.
static int32_t spread(graph* g, int32_t root, int32_t from, int32_t to) {
  int32_t count = 0;
  g->queue[count++] = root;
  g->component[root] = to;
  for (int32_t k = 0; k < count; ++k) {
    const int32_t v = g->queue[k];
    for (int32_t i = g->start[v]; i < g->start[v + 1]; ++i) {
      const int32_t u = g->neighbour[i];
      if (g->component[u] == from) {
        g->component[u] = to;
        g->queue[count++] = u;
      }
    }
  }
  return count;
}

// Takes the sets away from the highest down: what is left of a component of more than a part's size
// falls into pieces of at most `share` of it. Only sets of at most a part's size lie in several
// components. Returns the size of the first set.
static int32_t check_cuts(graph* g, double share) {
  const int32_t n = g->view.count;
  int32_t next = 1, first = 0;
  int32_t* size = take(2 * (size_t)n + 2);  // of a component when it was one
  size[0] = n;
  for (int32_t m = g->members - 1; m >= 0; --m) {
    int32_t whole = -1, members = 0;
    bool one = true;
    for (int32_t v = 0; v < n; ++v) {
      if (g->member[v] == m) {
        one = one && (whole < 0 || whole == g->component[v]);
        whole = g->component[v];
        g->component[v] = -1;
        ++members;
        first += m == g->members - 1;
      }
    }
    assert_true(one || members <= SMALL_PART);
    for (int32_t v = 0; v < n && one && whole >= 0; ++v) {
      if (g->component[v] == whole) {
        const int32_t piece = spread(g, v, whole, next);
        size[next++] = piece;
        assert_true(size[whole] <= SMALL_PART || piece <= share * size[whole]);
        assert_true(next < 2 * n);
      }
    }
  }
  for (int32_t v = 0; v < n; ++v) {
    assert_int_equal(g->component[v], -1);  // every vertex has a set
  }
  free(size);
  return first;
}

static bool box_link(int32_t i, int32_t j, int32_t side) {
  const int32_t dx = abs(i % side - j % side), dy = abs(i / side % side - j / side % side);
  return dx + dy + abs(i / (side * side) - j / (side * side)) == 1;
}

static void test_box(void** state) {
  (void)state;
  graph g = make(12 * 12 * 12, box_link, 12);
  const int32_t first = check_cuts(&g, 0.6);
  assert_in_range(first, 12, 12 * 12 * 5 / 4);  // a plane through the middle has 144
  int32_t* again = take((size_t)g.view.count);
  assert_int_equal(sap_dissect(&g.view, again, g.work), g.members);
  assert_memory_equal(again, g.member, (size_t)g.view.count * sizeof *again);
  free(again);
  clear(&g);
}

static bool plate_link(int32_t i, int32_t j, int32_t side) {
  return abs(i % side - j % side) + abs(i / side - j / side) == 1;
}

static void test_plate(void** state) {
  (void)state;
  graph g = make(40 * 40, plate_link, 40);
  assert_in_range(check_cuts(&g, 0.6), 20, 50);  // a line through the middle has 40
  clear(&g);
}

// A vertex that touches all others comes last, and is not in the way.
static bool hub_link(int32_t i, int32_t j, int32_t side) {
  return i == 0 || j == 0 || plate_link(i - 1, j - 1, side);
}

static void test_hub(void** state) {
  (void)state;
  graph g = make(1 + 30 * 30, hub_link, 30);
  assert_int_equal(g.member[0], g.members - 1);
  int32_t last = 0;
  for (int32_t v = 0; v < g.view.count; ++v) {
    last += g.member[v] == g.members - 1;
  }
  assert_int_equal(last, 1);
  assert_true(g.members > 4);
  clear(&g);
}

static bool no_link(int32_t i, int32_t j, int32_t side) {
  (void)i, (void)j, (void)side;
  return false;
}

static bool pieces_link(int32_t i, int32_t j, int32_t side) {
  return i / (side * side) == j / (side * side) &&
         plate_link(i % (side * side), j % (side * side), side);
}

static bool every_link(int32_t i, int32_t j, int32_t side) {
  (void)i, (void)j, (void)side;
  return true;
}

// Sets are within bounds for what comes after: 0 .. count - 1.
static void check_range(const graph* g) {
  assert_in_range(g->members, 1, g->view.count);
  for (int32_t v = 0; v < g->view.count; ++v) {
    assert_in_range(g->member[v], 0, g->view.count - 1);
  }
}

static void test_odd_graphs(void** state) {
  (void)state;
  static linked* const links[] = {no_link, pieces_link, every_link};
  static const int32_t counts[] = {1, 2, 201, 700};
  for (size_t k = 0; k < sizeof links / sizeof *links; ++k) {
    for (size_t c = 0; c < sizeof counts / sizeof *counts; ++c) {
      graph g = make(counts[c], links[k], 5);
      check_range(&g);
      clear(&g);
    }
  }
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(test_box),
      cmocka_unit_test(test_plate),
      cmocka_unit_test(test_hub),
      cmocka_unit_test(test_odd_graphs),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
