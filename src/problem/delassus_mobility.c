// SPDX-License-Identifier: BSD-3-Clause
// The trees t and s are neighbours where B_ts is given or t = s. A column of Y has the neighbours
// of its row's trees, in the order in which they are met. cost: O(rows times neighbours); memory
// the same.
#include "problem/delassus_mobility.h"

#include <string.h>

#include "core/memory.h"
#include "problem/problem_data.h"

void sap_mobility_lift_clear(sap_mobility_lift* m) {
  sap_free(m->integers);
  sap_free(m->lift);
  *m = (sap_mobility_lift){0};
}

typedef struct neighbours {
  int32_t* start;      // (ntrees + 1)
  int32_t* tree;       // island's indices; a tree is its own first neighbour
  int32_t* mark;       // item that met a tree last, -1: none        (ntrees)
  int32_t* position;   // start of the tree's part in that item's columns (ntrees)
  int32_t* lift_tree;  // what is left of the memory
} neighbours;

static int64_t count_couplings(const sap_delassus* d) {
  int64_t count = 0;
  for (int32_t t = 0; t < d->ntrees; ++t) {
    const int32_t head = d->problem->coupling_head[d->trees[t]];
    for (int32_t c = head; c >= 0; c = d->problem->couplings[c].next) {
      ++count;
    }
  }
  return count;
}

static void add_neighbour(neighbours* n, int32_t tree, int32_t other) {
  n->tree[n->start[tree + 1]++] = other;
}

// Couplings are listed at the tree of the smaller index.
static void find_neighbours(const sap_delassus* d, const int32_t* local, neighbours* n) {
  const sap_problem* p = d->problem;
  memset(n->start, 0, ((size_t)d->ntrees + 1) * sizeof(int32_t));
  for (int32_t t = 0; t < d->ntrees; ++t) {
    n->mark[t] = -1;
    n->start[t + 1] += 1;
    for (int32_t c = p->coupling_head[d->trees[t]]; c >= 0; c = p->couplings[c].next) {
      n->start[local[p->couplings[c].tree_a] + 1] += 1;
      n->start[local[p->couplings[c].tree_b] + 1] += 1;
    }
  }
  for (int32_t t = 0; t < d->ntrees; ++t) {
    n->start[t + 1] += n->start[t];
  }
  for (int32_t t = d->ntrees; t > 0; --t) {  // start[t + 1] becomes the fill position of t
    n->start[t] = n->start[t - 1];
  }
  for (int32_t t = 0; t < d->ntrees; ++t) {
    add_neighbour(n, t, t);
  }
  for (int32_t t = 0; t < d->ntrees; ++t) {
    for (int32_t c = p->coupling_head[d->trees[t]]; c >= 0; c = p->couplings[c].next) {
      const int32_t a = local[p->couplings[c].tree_a], b = local[p->couplings[c].tree_b];
      add_neighbour(n, a, b);
      add_neighbour(n, b, a);
    }
  }
}

// Trees and sizes of the item's columns; `next` is the first free place of lift_tree.
static void find_columns(const sap_delassus* d, neighbours* n, int32_t k, int64_t* next) {
  sap_delassus_item* item = &d->items[k];
  item->first_lift = (int32_t)*next;
  item->nlift_trees = 0;
  item->nlift = 0;
  for (int32_t i = 0; i < item->ntrees; ++i) {
    const int32_t tree = d->item_trees[item->first_tree + i];
    for (int32_t j = n->start[tree]; j < n->start[tree + 1]; ++j) {
      const int32_t other = n->tree[j];
      if (n->mark[other] != k) {
        n->mark[other] = k;
        n->position[other] = item->nlift;
        n->lift_tree[(*next)++] = other;
        item->nlift_trees += 1;
        item->nlift += d->start[other + 1] - d->start[other];
      }
    }
  }
}

// Columns of an item whose trees find_columns has just marked.
static void fill_columns(const sap_delassus* d, const neighbours* n, const sap_delassus_item* item,
                         double* Y) {
  const double* J = d->jacobian + item->jacobian;
  memset(Y, 0, (size_t)item->nrows * (size_t)item->nlift * sizeof(double));
  for (int32_t r = 0; r < item->nrows; ++r, Y += item->nlift) {
    for (int32_t i = 0; i < item->ntrees; ++i) {
      const int32_t tree = d->item_trees[item->first_tree + i];
      for (int32_t j = n->start[tree]; j < n->start[tree + 1]; ++j) {
        sap_mobility_multiply(d->problem, d->trees[n->tree[j]], d->trees[tree], J,
                              Y + n->position[n->tree[j]]);
      }
      J += d->start[tree + 1] - d->start[tree];
    }
  }
}

// Trees that the columns of all items name at most, twice the neighbours of a row's trees.
static int64_t lift_bound(const sap_delassus* d, const neighbours* n) {
  int64_t bound = 0;
  for (int32_t k = 0; k < d->nitems; ++k) {
    for (int32_t i = 0; i < d->items[k].ntrees; ++i) {
      const int32_t tree = d->item_trees[d->items[k].first_tree + i];
      bound += n->start[tree + 1] - n->start[tree];
    }
  }
  return bound;
}

static void place(sap_mobility_lift* m, const sap_delassus* d, int64_t entries, neighbours* n) {
  n->start = m->integers;
  n->mark = n->start + d->ntrees + 2;
  n->position = n->mark + d->ntrees;
  n->tree = n->position + d->ntrees;
  n->lift_tree = n->tree + entries;
}

sap_status sap_mobility_lift_items(sap_delassus* d, sap_mobility_lift* m, const int32_t* local,
                                   sap_error* error) {
  const int64_t entries = d->ntrees + 2 * count_couplings(d);
  const int64_t fixed = 3 * (int64_t)d->ntrees + 2 + entries;
  sap_status status = SAP_RESERVE(&m->integers, &m->integers_capacity, fixed, error);
  if (status != SAP_STATUS_OK) {
    return status;
  }
  neighbours n;
  place(m, d, entries, &n);
  find_neighbours(d, local, &n);
  const int64_t bound = lift_bound(d, &n);
  status = SAP_RESERVE(&m->integers, &m->integers_capacity, fixed + bound, error);
  if (status != SAP_STATUS_OK) {
    return status;
  }
  place(m, d, entries, &n);
  int64_t next = 0, values = 0;
  for (int32_t k = 0; k < d->nitems; ++k) {
    find_columns(d, &n, k, &next);
    d->items[k].lift = (size_t)values;
    values += (int64_t)d->items[k].nrows * d->items[k].nlift;
  }
  status = SAP_RESERVE(&m->lift, &m->lift_capacity, values, error);
  if (status != SAP_STATUS_OK) {
    return status;
  }
  for (int32_t t = 0; t < d->ntrees; ++t) {
    n.mark[t] = -1;
  }
  next = 0;
  for (int32_t k = 0; k < d->nitems; ++k) {
    find_columns(d, &n, k, &next);
    fill_columns(d, &n, &d->items[k], m->lift + d->items[k].lift);
  }
  d->lift_trees = n.lift_tree;
  d->lift = m->lift;
  return SAP_STATUS_OK;
}
