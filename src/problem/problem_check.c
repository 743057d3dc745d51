// SPDX-License-Identifier: BSD-3-Clause
// Is A symmetric positive definite? Tree blocks first; with couplings the whole matrix as well.
#include <string.h>

#include "core/memory.h"
#include "problem/problem_data.h"

void sap_problem_cache_destroy(sap_problem_cache* cache) {
  if (cache == NULL) {
    return;
  }
  sap_cholesky_destroy(cache->whole);
  sap_free(cache->factor);
  sap_free(cache->diagonal_before);
  sap_free(cache->factor_state);
  sap_free(cache->branch);
  sap_free(cache->branch_runs);
  sap_free(cache->branch_state);
  sap_free(cache->lent);
  sap_free(cache->scratch);
  sap_free(cache->views);
  sap_free(cache->jobs);
  sap_free(cache->wanted);
  sap_free(cache->is_wanted);
  sap_free(cache->pair_order);
  sap_free(cache->column_start);
  sap_free(cache->row);
  sap_free(cache->value_start);
  sap_free(cache->values);
  sap_free(cache);
}

static int32_t coupling_column(const sap_coupling* c) {
  return c->tree_a < c->tree_b ? c->tree_a : c->tree_b;
}

static int32_t coupling_row(const sap_coupling* c) {
  return c->tree_a < c->tree_b ? c->tree_b : c->tree_a;
}

static sap_status reserve_whole(const sap_problem* p, sap_error* error) {
  sap_problem_cache* cache = p->cache;
  const int64_t entries = (int64_t)p->ntrees + p->ncouplings;
  const int64_t values = (int64_t)p->diagonal_start[p->ntrees] + p->ncoupling_values;
  sap_status status = SAP_STATUS_OK;
  if (cache->whole == NULL) {
    status = sap_cholesky_create(&cache->whole, error);
  }
#define RESERVE(array, needed)                                                      \
  if (status == SAP_STATUS_OK) {                                                    \
    status = SAP_RESERVE(&cache->array, &cache->array##_capacity, (needed), error); \
  }
  RESERVE(pair_order, p->ncouplings)
  RESERVE(column_start, (int64_t)p->ntrees + 1)
  RESERVE(row, entries)
  RESERVE(value_start, entries)
  RESERVE(values, values)
#undef RESERVE
  return status;
}

// Sorts the couplings by column, then row: insertion sort, couplings are few and come in order.
static void sort_couplings(const sap_problem* p) {
  int32_t* order = p->cache->pair_order;
  for (int32_t i = 0; i < p->ncouplings; ++i) {
    const sap_coupling* c = &p->couplings[i];
    int32_t k = i;
    for (; k > 0; --k) {
      const sap_coupling* other = &p->couplings[order[k - 1]];
      const int32_t columns = coupling_column(other) - coupling_column(c);
      if (columns < 0 || (columns == 0 && coupling_row(other) < coupling_row(c))) {
        break;
      }
      order[k] = order[k - 1];
    }
    order[k] = i;
  }
}

static void copy_coupling(const sap_problem* p, const sap_coupling* c, double* to) {
  const size_t na = (size_t)p->tree_size[c->tree_a], nb = (size_t)p->tree_size[c->tree_b];
  const double* from = p->coupling_values + c->values;
  const bool transpose = c->tree_a < c->tree_b;  // the lower triangle holds (larger, smaller)
  for (size_t j = 0; j < nb; ++j) {
    for (size_t i = 0; i < na; ++i) {
      to[transpose ? i * nb + j : j * na + i] = from[j * na + i];
    }
  }
}

// A's lower triangle by block columns.
static sap_block_pattern assemble_whole(const sap_problem* p) {
  sap_problem_cache* cache = p->cache;
  sort_couplings(p);
  int32_t entry = 0, next = 0;
  size_t value = 0;
  for (int32_t t = 0; t < p->ntrees; ++t) {
    const size_t n = (size_t)p->tree_size[t];
    cache->column_start[t] = entry;
    cache->row[entry] = t;
    cache->value_start[entry++] = value;
    memcpy(cache->values + value, p->diagonal + p->diagonal_start[t], n * n * sizeof(double));
    value += n * n;
    for (; next < p->ncouplings; ++next) {
      const sap_coupling* c = &p->couplings[cache->pair_order[next]];
      if (coupling_column(c) != t) {
        break;
      }
      cache->row[entry] = coupling_row(c);
      cache->value_start[entry++] = value;
      copy_coupling(p, c, cache->values + value);
      value += n * (size_t)p->tree_size[coupling_row(c)];
    }
  }
  cache->column_start[p->ntrees] = entry;
  return (sap_block_pattern){.nblocks = p->ntrees,
                             .sizes = p->tree_size,
                             .column_start = cache->column_start,
                             .row = cache->row,
                             .value_start = cache->value_start};
}

// Factor of A as a whole, in the cache.
static sap_status factor_whole(const sap_problem* p, sap_error* error) {
  sap_status status = reserve_whole(p, error);
  if (status != SAP_STATUS_OK) {
    return status;
  }
  const sap_block_pattern pattern = assemble_whole(p);
  status = sap_cholesky_analyze(p->cache->whole, &pattern, SAP_LINEAR_AUTO, NULL, error);
  if (status != SAP_STATUS_OK) {
    return status;
  }
  int32_t tree = -1;
  status = sap_cholesky_factorize(p->cache->whole, p->cache->values, &tree, error);
  if (status == SAP_STATUS_NOT_SPD) {
    return sap_fail(error, SAP_STATUS_NOT_SPD,
                    "A with its coupling blocks is not positive definite (found at tree %d)", tree);
  }
  return status;
}

sap_status sap_problem_check(const sap_problem* p, sap_error* error) {
  if (p == NULL) {
    return sap_fail(error, SAP_STATUS_ARGUMENT, "sap_problem_check: problem is NULL");
  }
  if (p->has_mobility) {
    return sap_mobility_check(p, error);
  }
  for (int32_t t = 0; t < p->ntrees; ++t) {
    const double* factor;
    const sap_status status = sap_problem_tree_factor(p, t, &factor, error);
    if (status != SAP_STATUS_OK) {
      return status;
    }
  }
  return p->ncouplings == 0 ? SAP_STATUS_OK : factor_whole(p, error);
}

sap_status sap_problem_solve_momentum(sap_problem* p, const double* b, double* x,
                                      sap_error* error) {
  if (p == NULL || b == NULL || x == NULL) {
    return sap_fail(error, SAP_STATUS_ARGUMENT, "sap_problem_solve_momentum: %s is NULL",
                    p == NULL   ? "problem"
                    : b == NULL ? "b"
                                : "x");
  }
  if (p->has_mobility) {
    return sap_fail(error, SAP_STATUS_UNSUPPORTED, "the problem gives the inverse of A");
  }
  sap_status status = sap_check_numbers("b", b, p->nv, error);
  if (status != SAP_STATUS_OK) {
    return status;
  }
  if (p->ncouplings > 0) {
    status = factor_whole(p, error);
    if (status == SAP_STATUS_OK) {
      memmove(x, b, (size_t)p->nv * sizeof(double));
      sap_cholesky_solve(p->cache->whole, x);
    }
    return status;
  }
  for (int32_t t = 0; status == SAP_STATUS_OK && t < p->ntrees; ++t) {
    const int32_t first = p->tree_start[t];
    status = sap_problem_solve_tree(p, t, b + first, x + first, error);
  }
  return status;
}
