// SPDX-License-Identifier: BSD-3-Clause
#include "integrators/tree_store.h"

#include <string.h>

#include "linalg/square.h"
#include "math/scalar.h"

static size_t block_size(const sap_system* system, int32_t a, int32_t b) {
  return (size_t)system->tree_sizes[a] * (size_t)system->tree_sizes[b];
}

sap_status sap_tree_store_create(const sap_system* system, sap_pool* pool, sap_tree_store* store,
                                 sap_error* error) {
  const int32_t blocks = system->ntrees + system->ncouplings;
  store->count = 0;
  SAP_TRY(SAP_POOL_ADD(pool, &store->tree_dof, system->ntrees + 1, error));
  for (int32_t t = 0; t < system->ntrees; ++t) {
    store->tree_dof[t + 1] = store->tree_dof[t] + system->tree_sizes[t];
    store->count += block_size(system, t, t);
  }
  for (int32_t c = 0; c < system->ncouplings; ++c) {
    store->count += block_size(system, system->couplings[c][0], system->couplings[c][1]);
  }
  SAP_TRY(SAP_POOL_ADD(pool, &store->values, store->count, error));
  SAP_TRY(SAP_POOL_ADD(pool, &store->pointers, blocks, error));
  double* next = store->values;
  for (int32_t i = 0; i < blocks; ++i) {
    const bool diagonal = i < system->ntrees;
    const int32_t* pair = diagonal ? NULL : system->couplings[i - system->ntrees];
    store->pointers[i] = next;
    next += diagonal ? block_size(system, i, i) : block_size(system, pair[0], pair[1]);
  }
  store->view.diagonal = store->pointers;
  store->view.coupling = store->pointers + system->ntrees;
  return SAP_STATUS_OK;
}

void sap_tree_store_zero(sap_tree_store* store) {
  memset(store->values, 0, store->count * sizeof(double));
  store->generation += 1;
}

void sap_tree_store_add_scaled(sap_tree_store* a, double s, const sap_tree_store* b) {
  for (size_t i = 0; i < a->count; ++i) {
    a->values[i] += s * b->values[i];
  }
}

enum { FREE_BODY = 6 };  // loops of fixed length

// Adds A x of a free body to y, from the lower triangle.
static void add_free_body(const double* S, const double* x, double* restrict y) {
  for (int32_t j = 0; j < FREE_BODY; ++j) {
    const double* column = S + j * FREE_BODY;
    double sum = column[j] * x[j];
    for (int32_t i = j + 1; i < FREE_BODY; ++i) {
      sum += column[i] * x[i];
      y[i] += column[i] * x[j];
    }
    y[j] += sum;
  }
}

void sap_tree_store_multiply(const sap_system* system, const sap_tree_store* store, const double* x,
                             double* y) {
  memset(y, 0, (size_t)system->nv * sizeof(double));
  for (int32_t t = 0; t < system->ntrees; ++t) {
    const int32_t dof = store->tree_dof[t], size = system->tree_sizes[t];
    if (size == FREE_BODY) {
      add_free_body(store->view.diagonal[t], x + dof, y + dof);
    } else {
      sap_square_add_lower(size, store->view.diagonal[t], x + dof, y + dof);
    }
  }
  for (int32_t c = 0; c < system->ncouplings; ++c) {
    const int32_t a = system->couplings[c][0], b = system->couplings[c][1];
    const int32_t dof_a = store->tree_dof[a], dof_b = store->tree_dof[b];
    sap_square_add_coupling(system->tree_sizes[a], system->tree_sizes[b], store->view.coupling[c],
                            x + dof_a, x + dof_b, y + dof_a, y + dof_b);
  }
}

bool sap_tree_store_is_finite(const sap_system* system, const sap_tree_store* store,
                              int32_t* tree) {
  const bool all = sap_all_finite(store->values, store->count);
  for (int32_t i = 0; !all && i < system->ntrees + system->ncouplings; ++i) {
    const bool diagonal = i < system->ntrees;
    const int32_t a = diagonal ? i : system->couplings[i - system->ntrees][0];
    const int32_t b = diagonal ? i : system->couplings[i - system->ntrees][1];
    const size_t rows = (size_t)system->tree_sizes[a];
    // Entries above a diagonal are not used and may be anything.
    if (!(diagonal ? sap_lower_finite(store->pointers[i], rows, rows)
                   : sap_all_finite(store->pointers[i], block_size(system, a, b)))) {
      *tree = a;
      return false;
    }
  }
  return true;
}
