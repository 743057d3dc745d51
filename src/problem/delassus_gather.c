// SPDX-License-Identifier: BSD-3-Clause
// Gathers an island's trees and rows; what its items need beyond J is in delassus_items.c.
#include <string.h>

#include "core/memory.h"
#include "problem/delassus_memory.h"
#include "problem/problem_data.h"

sap_status sap_delassus_create(sap_delassus* d, sap_error* error) {
  *d = (sap_delassus){0};
  d->memory = sap_allocate(1, sizeof *d->memory);
  return d->memory != NULL ? SAP_STATUS_OK
                           : sap_fail(error, SAP_STATUS_MEMORY, "out of memory for a solver");
}

void sap_delassus_clear(sap_delassus* d) {
  sap_delassus_memory* m = d->memory;
  if (m != NULL) {
    sap_free(m->start);
    sap_free(m->item_trees);
    sap_free(m->items);
    sap_free(m->jacobian);
    sap_free(m->lift);
    sap_free(m->rows);
    sap_free(m->velocities);
    sap_free(m->values);
    sap_cholesky_destroy(m->cholesky);
    sap_mobility_lift_clear(&m->mobility);
    sap_free(m);
  }
  *d = (sap_delassus){0};
}

// Counts, then memory for all of it.
static sap_status reserve(sap_delassus* d, const sap_delassus_island* island, sap_error* error) {
  const sap_problem* p = d->problem;
  sap_delassus_memory* m = d->memory;
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
  sap_status status =
      SAP_RESERVE(&m->start, &m->start_capacity, (int64_t)island->ntrees + 1, error);
#define RESERVE(array, needed)                                              \
  if (status == SAP_STATUS_OK) {                                            \
    status = SAP_RESERVE(&m->array, &m->array##_capacity, (needed), error); \
  }
  RESERVE(item_trees, trees)
  RESERVE(items, items)
  RESERVE(jacobian, values)
  RESERVE(lift, d->mobility ? 0 : (d->coupled ? rows * nv : values))
  RESERVE(rows, 3 * rows)
  RESERVE(velocities, 2 * nv)
#undef RESERVE
  if (status != SAP_STATUS_OK) {
    return status;
  }
  d->nv = (int32_t)nv;
  d->n = (int32_t)rows;
  d->nitems = (int32_t)items;
  d->ntrees = island->ntrees;
  d->trees = island->trees;
  d->start = m->start;
  d->item_trees = m->item_trees;
  d->lift_trees = m->item_trees;
  d->items = m->items;
  d->jacobian = m->jacobian;
  d->lift = m->lift;
  d->R = m->rows;
  d->v_hat = m->rows + rows;
  d->q = m->rows + 2 * rows;
  d->v_star = m->velocities;
  d->scratch = m->velocities + nv;
  return SAP_STATUS_OK;
}

static void gather_trees(sap_delassus* d) {
  const sap_problem* p = d->problem;
  d->start[0] = 0;
  for (int32_t t = 0; t < d->ntrees; ++t) {
    const int32_t tree = d->trees[t];
    d->start[t + 1] = d->start[t] + p->tree_size[tree];
    memcpy(d->v_star + d->start[t], p->v_star + p->tree_start[tree],
           (size_t)p->tree_size[tree] * sizeof(double));
  }
}

// Rows [row, row + nrows) of a block become one item.
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
  item->first_lift = item->first_tree;
  item->nlift_trees = item->ntrees;
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

sap_status sap_delassus_gather(sap_delassus* d, const sap_problem* problem,
                               const sap_delassus_island* island, sap_error* error) {
  d->problem = problem;
  sap_status status = reserve(d, island, error);
  if (status != SAP_STATUS_OK) {
    return status;
  }
  gather_trees(d);
  gather_items(d, island);
  if (d->coupled) {
    status = sap_delassus_factorize_coupled(d, island->local, error);
  }
  if (d->mobility) {
    status = sap_mobility_lift_items(d, &d->memory->mobility, island->local, error);
  }
  for (int32_t k = 0; k < d->nitems && status == SAP_STATUS_OK; ++k) {
    status = d->mobility ? SAP_STATUS_OK : sap_delassus_lift_item(d, &d->items[k], error);
    if (status == SAP_STATUS_OK) {
      status = sap_delassus_finish_item(d, &d->items[k], error);
    }
  }
  return status;
}
