// SPDX-License-Identifier: BSD-3-Clause
// Gathers an island: its trees and rows, Y = A^-1 J', the diagonal blocks of D, the scaling and q.
//   A        Y by the factors of the tree blocks; where A couples trees, by one factor of all of A
//   mobility Y = B J'. Trees t and s are neighbours if B_ts is given or t = s. A column holds the
//            neighbours of its row's trees, in the order in which they are met.
//            cost: O(rows times neighbours), memory the same.
#include <math.h>
#include <string.h>

#include "core/memory.h"
#include "problem/delassus.h"
#include "problem/factor.h"

// Counts trees, items, rows and values, and makes room for them.
static sap_status reserve_island(sap_delassus* d, const sap_delassus_island* island,
                                 sap_error* error) {
  const sap_problem* p = d->problem;
  int64_t items = 0, trees = 0, rows = 0, values = 0, nv = 0;
  d->coupled = false;
  for (int32_t t = 0; t < island->ntrees; ++t) {
    nv += p->tree_size[island->trees[t]];
    d->coupled = d->coupled || p->coupling_head[island->trees[t]] >= 0;
  }
  d->mobility = p->has_mobility;
  d->coupled = d->coupled && !d->mobility;
  for (int32_t b = 0; b < island->nblocks; ++b) {
    const sap_block_data* block = &p->blocks[island->blocks[b]];
    const int32_t parts = block->set == SAP_SET_FRICTION_CONE ? 1 : block->nrows;
    items += parts;
    trees += (int64_t)parts * block->ntrees;
    rows += block->nrows;
    for (int32_t t = 0; t < block->ntrees; ++t) {
      values += (int64_t)block->nrows * p->tree_size[p->block_trees[block->first_tree + t]];
    }
  }
#define RESERVE(array, needed) SAP_TRY(SAP_ROOM(&d->pool, &d->array, (needed), error))
  RESERVE(start, (int64_t)island->ntrees + 1);
  RESERVE(item_trees, trees);
  RESERVE(items, items);
  RESERVE(jacobian, values);
  RESERVE(lift, d->mobility ? 0 : (d->coupled ? rows * nv : values));
  RESERVE(lift_integers, d->coupled ? island->ntrees : 0);
  RESERVE(R, 3 * rows);
  RESERVE(v_star, nv + SAP_BRANCH_ROW((int64_t)p->nv));
  d->nv = (int32_t)nv;
  d->n = (int32_t)rows;
  d->nitems = (int32_t)items;
  d->ntrees = island->ntrees;
  d->trees = island->trees;
  d->lift_trees = d->coupled ? d->lift_integers : d->item_trees;
  for (int32_t t = 0; d->coupled && t < d->ntrees; ++t) {
    d->lift_integers[t] = t;
  }
  d->v_hat = d->R + rows;
  d->q = d->v_hat + rows;
  d->scratch = d->v_star + nv;
  return SAP_STATUS_OK;
}

// Makes an item of rows [row, row + nrows) of a block.
static void gather_item(sap_delassus* d, const sap_delassus_island* island, int32_t index,
                        int32_t row, sap_delassus_item* item) {
  const sap_problem* p = d->problem;
  const sap_block_data* block = &p->blocks[index];
  item->is_cone = block->set == SAP_SET_FRICTION_CONE;
  item->block = index;
  item->problem_row = block->first_row + row;
  item->nrows = item->is_cone ? block->nrows : 1;
  item->mu = block->friction;
  item->lower = p->lower[item->problem_row];
  item->upper = p->upper[item->problem_row];
  item->ntrees = block->ntrees;
  item->ncols = 0;
  for (int32_t t = 0; t < block->ntrees; ++t) {
    const int32_t tree = p->block_trees[block->first_tree + t];
    d->item_trees[item->first_tree + t] = island->local[tree];
    item->ncols += p->tree_size[tree];
  }
  item->nlift = d->coupled ? d->nv : item->ncols;
  item->first_lift = d->coupled ? 0 : item->first_tree;
  item->nlift_trees = d->coupled ? d->ntrees : item->ntrees;
  double* J = d->jacobian + item->jacobian;
  for (int32_t r = 0; r < item->nrows; ++r) {
    for (int32_t t = 0; t < block->ntrees; ++t) {
      const int32_t tree = p->block_trees[block->first_tree + t];
      const double* from = p->jacobians[block->first_tree + t] + row + r;
      for (int32_t i = 0; i < p->tree_size[tree]; ++i) {
        *J++ = from[(size_t)i * (size_t)block->nrows];
      }
    }
    d->R[item->first + r] = p->R[item->problem_row + r];
  }
}

static void gather_items(sap_delassus* d, const sap_delassus_island* island) {
  sap_delassus_item next = {0};
  int32_t k = 0;
  for (int32_t b = 0; b < island->nblocks; ++b) {
    const sap_block_data* block = &d->problem->blocks[island->blocks[b]];
    for (int32_t row = 0; row < block->nrows; row += next.nrows) {
      gather_item(d, island, island->blocks[b], row, &next);
      d->items[k++] = next;
      next.first += next.nrows;
      next.first_tree += next.ntrees;
      next.jacobian += (size_t)next.nrows * (size_t)next.ncols;
      next.lift += (size_t)next.nrows * (size_t)next.nlift;
    }
  }
}

// Y of a mobility.

typedef struct neighbours {
  int32_t* start;        // (ntrees + 1)
  sap_block_pair* tree;  // index: of the island; a tree is its own first neighbour
  int32_t* mark;         // item that met a tree last, -1: none        (ntrees)
  int32_t* position;     // start of the tree's part in that item's columns (ntrees)
  int32_t* lift_tree;
} neighbours;

// Lists the neighbours of all trees, unsorted, if `out` is not NULL; returns their number.
// Couplings are listed at the tree of the smaller index.
static int64_t list_neighbours(const sap_delassus* d, const int32_t* local, sap_block_pair* out) {
  const sap_problem* p = d->problem;
  int64_t count = d->ntrees;
  for (int32_t t = 0; out != NULL && t < d->ntrees; ++t) {
    out[t] = (sap_block_pair){t, 0, t};
  }
  for (int32_t t = 0; t < d->ntrees; ++t) {
    for (int32_t c = p->coupling_head[d->trees[t]]; c >= 0; c = p->couplings[c].next, count += 2) {
      const int32_t a = local[p->couplings[c].tree_a], b = local[p->couplings[c].tree_b];
      if (out != NULL) {
        out[count] = (sap_block_pair){a, 0, b};
        out[count + 1] = (sap_block_pair){b, 0, a};
      }
    }
  }
  return count;
}

// Finds trees and sizes of the item's columns; `next`: the first free place of lift_tree.
static void find_columns(const sap_delassus* d, neighbours* n, int32_t k, int64_t* next) {
  sap_delassus_item* item = &d->items[k];
  item->first_lift = (int32_t)*next;
  item->nlift_trees = 0;
  item->nlift = 0;
  for (int32_t i = 0; i < item->ntrees; ++i) {
    const int32_t tree = d->item_trees[item->first_tree + i];
    for (int32_t j = n->start[tree]; j < n->start[tree + 1]; ++j) {
      const int32_t other = n->tree[j].index;
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

// Fills the columns of an item whose trees find_columns has just marked.
static void fill_columns(const sap_delassus* d, const neighbours* n, const sap_delassus_item* item,
                         double* Y) {
  const double* J = d->jacobian + item->jacobian;
  memset(Y, 0, (size_t)item->nrows * (size_t)item->nlift * sizeof(double));
  for (int32_t r = 0; r < item->nrows; ++r, Y += item->nlift) {
    for (int32_t i = 0; i < item->ntrees; ++i) {
      const int32_t tree = d->item_trees[item->first_tree + i];
      for (int32_t j = n->start[tree]; j < n->start[tree + 1]; ++j) {
        sap_mobility_multiply(d->problem, d->trees[n->tree[j].index], d->trees[tree], J,
                              Y + n->position[n->tree[j].index]);
      }
      J += d->start[tree + 1] - d->start[tree];
    }
  }
}

// Returns an upper bound of the trees that the columns of all items name; *values: of their values.
static int64_t lift_bound(const sap_delassus* d, const neighbours* n, int64_t* values) {
  int64_t bound = 0;
  *values = 0;
  for (int32_t k = 0; k < d->nitems; ++k) {
    for (int32_t i = 0; i < d->items[k].ntrees; ++i) {
      const int32_t tree = d->item_trees[d->items[k].first_tree + i];
      bound += n->start[tree + 1] - n->start[tree];
      for (int32_t j = n->start[tree]; j < n->start[tree + 1]; ++j) {
        const int32_t other = n->tree[j].index;
        *values += (int64_t)d->items[k].nrows * (d->start[other + 1] - d->start[other]);
      }
    }
  }
  return bound;
}

// Fills first_lift, nlift_trees, nlift, lift of the items, lift_trees and lift of the operator,
// whose J and trees are there. local: island's index of a problem's tree.
static sap_status lift_mobility_items(sap_delassus* d, const int32_t* local, sap_error* error) {
  const int64_t entries = list_neighbours(d, local, NULL), ntrees = d->ntrees;
  neighbours n;
  sap_block_pair* unsorted;
  SAP_TRY(SAP_CARVE(&d->pool, &d->neighbours, error, SAP_ARRAY(&n.start, ntrees + 2),
                    SAP_ARRAY(&n.mark, ntrees), SAP_ARRAY(&n.position, ntrees),
                    SAP_ARRAY(&n.tree, entries), SAP_ARRAY(&unsorted, entries)));
  (void)list_neighbours(d, local, unsorted);
  sap_sort_pairs(unsorted, n.tree, (int32_t)entries, false, d->ntrees, n.start);
  int64_t next = 0, values;
  SAP_TRY(SAP_ROOM(&d->pool, &d->lift_integers, lift_bound(d, &n, &values), error));
  SAP_TRY(SAP_ROOM(&d->pool, &d->lift, values, error));
  n.lift_tree = d->lift_integers;
  for (int32_t t = 0; t < d->ntrees; ++t) {
    n.mark[t] = -1;
  }
  size_t lift = 0;
  for (int32_t k = 0; k < d->nitems; ++k) {
    find_columns(d, &n, k, &next);
    d->items[k].lift = lift;
    fill_columns(d, &n, &d->items[k], d->lift + lift);
    lift += (size_t)d->items[k].nrows * (size_t)d->items[k].nlift;
  }
  d->lift_trees = n.lift_tree;
  return SAP_STATUS_OK;
}

// Items.

// Y = A^-1 J' of one item.
static sap_status lift_item(sap_delassus* d, const sap_delassus_item* item, sap_error* error) {
  const sap_problem* p = d->problem;
  const double* J = d->jacobian + item->jacobian;
  double *Y = d->lift + item->lift, *whole = d->scratch;
  for (int32_t r = 0; r < item->nrows; ++r, Y += item->nlift) {
    double* part = Y;
    for (int32_t i = 0; d->coupled && i < p->nv; ++i) {
      whole[i] = 0.0;
    }
    for (int32_t t = 0; t < item->ntrees; ++t) {
      const int32_t tree = d->trees[d->item_trees[item->first_tree + t]], n = p->tree_size[tree];
      memcpy(d->coupled ? whole + p->tree_start[tree] : part, J, (size_t)n * sizeof(double));
      if (!d->coupled) {
        sap_branch_factor factor;
        SAP_TRY(sap_problem_tree_factor(p, tree, &factor, error));
        sap_tree_solve(&factor, part, d->scratch);
      }
      J += n;
      part += n;
    }
    if (d->coupled) {
      sap_cholesky_solve(p->cache->whole, whole);
      sap_problem_gather_trees(p, d->trees, d->ntrees, whole, Y);
    }
  }
  return SAP_STATUS_OK;
}

// Y of all items.
static sap_status lift_items(sap_delassus* d, sap_error* error) {
  SAP_TRY(d->coupled ? sap_problem_factor_whole(d->problem, error) : SAP_STATUS_OK);
  for (int32_t k = 0; k < d->nitems; ++k) {
    SAP_TRY(lift_item(d, &d->items[k], error));
  }
  return SAP_STATUS_OK;
}

// Computes D_ii of unscaled rows.
static void find_diagonal(sap_delassus* d, sap_delassus_item* item) {
  const int32_t n = item->nrows;
  for (int32_t c = 0; c < n; ++c) {
    double unit[SAP_EIGEN_MAX] = {0.0};
    unit[c] = 1.0;
    sap_delassus_clear_velocity(d, item, d->scratch);
    sap_delassus_add_item(d, item, unit, d->scratch);
    sap_delassus_item_velocity(d, item, d->scratch, item->diagonal + c * n);
    item->diagonal[c * n + c] += d->R[item->first + c];
  }
  for (int32_t c = 0; c < n && d->mobility; ++c) {  // methods that use it assume symmetry
    for (int32_t r = c + 1; r < n; ++r) {
      const double mean = 0.5 * (item->diagonal[c * n + r] + item->diagonal[r * n + c]);
      item->diagonal[c * n + r] = item->diagonal[r * n + c] = mean;
    }
  }
}

// Computes D_ii, the scaling, and q of an item whose Y is there.
static sap_status finish_item(sap_delassus* d, sap_delassus_item* item, sap_error* error) {
  const sap_problem* p = d->problem;
  const int32_t n = item->nrows;
  find_diagonal(d, item);
  const double largest = sap_largest_eigenvalue(item->diagonal, n);
  SAP_FAIL_IF(!isfinite(largest), error, SAP_STATUS_NOT_FINITE,
              "block %d: its Delassus block overflows", item->block);
  const double s = largest > 0.0 ? 1.0 / sqrt(largest) : 1.0;
  item->scale = s;
  item->lower /= s;
  item->upper /= s;
  for (int32_t i = 0; i < n * n; ++i) {
    item->diagonal[i] *= s * s;
  }
  for (int32_t i = 0; i < n * item->ncols; ++i) {
    d->jacobian[item->jacobian + (size_t)i] *= s;
  }
  for (size_t i = 0; i < (size_t)n * (size_t)item->nlift; ++i) {
    d->lift[item->lift + i] *= s;
  }
  sap_delassus_item_velocity(d, item, d->v_star, d->q + item->first);
  for (int32_t r = 0; r < n; ++r) {
    d->v_hat[item->first + r] = s * p->v_hat_shifted[item->problem_row + r];
    d->q[item->first + r] -= d->v_hat[item->first + r];
    d->R[item->first + r] *= s * s;
  }
  return SAP_STATUS_OK;
}

sap_status sap_delassus_gather(sap_delassus* d, const sap_problem* problem,
                               const sap_delassus_island* island, sap_error* error) {
  d->problem = problem;
  SAP_TRY(reserve_island(d, island, error));
  d->start[0] = 0;
  for (int32_t t = 0; t < d->ntrees; ++t) {
    d->start[t + 1] = d->start[t] + problem->tree_size[d->trees[t]];
  }
  sap_problem_gather_trees(problem, d->trees, d->ntrees, problem->v_star, d->v_star);
  gather_items(d, island);
  sap_problem_lock(problem);
  const sap_status status =
      d->mobility ? lift_mobility_items(d, island->local, error) : lift_items(d, error);
  sap_problem_unlock(problem);
  SAP_TRY(status);
  for (int32_t k = 0; k < d->nitems; ++k) {
    SAP_TRY(finish_item(d, &d->items[k], error));
  }
  return SAP_STATUS_OK;
}
