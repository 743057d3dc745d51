// SPDX-License-Identifier: BSD-3-Clause
// Items of a gathered island: Y = A^-1 J', the diagonal blocks of D, the scaling and q.
// A^-1 by the Cholesky factors of the tree blocks; where A couples trees, by one of the island.
#include <math.h>
#include <string.h>

#include "core/memory.h"
#include "problem/delassus_memory.h"
#include "problem/problem_data.h"

// x = A_tt^-1 x; L with reciprocals on the diagonal.
static void solve_tree(const double* L, int32_t n, double* x) {
  for (int32_t j = 0; j < n; ++j) {
    const double* Lj = L + (size_t)j * (size_t)n;
    x[j] *= Lj[j];
    for (int32_t i = j + 1; i < n; ++i) {
      x[i] -= Lj[i] * x[j];
    }
  }
  for (int32_t j = n - 1; j >= 0; --j) {
    const double* Lj = L + (size_t)j * (size_t)n;
    double sum = x[j];
    for (int32_t i = j + 1; i < n; ++i) {
      sum -= Lj[i] * x[i];
    }
    x[j] = sum * Lj[j];
  }
}

sap_status sap_delassus_factorize_coupled(sap_delassus* d, const int32_t* local, sap_error* error) {
  const sap_problem* p = d->problem;
  sap_delassus_memory* m = d->memory;
  const int64_t n = d->nv;
  sap_status status = SAP_RESERVE(&m->values, &m->values_capacity, n * n, error);
  if (status == SAP_STATUS_OK && m->cholesky == NULL) {
    status = sap_cholesky_create(&m->cholesky, error);
  }
  if (status != SAP_STATUS_OK) {
    return status;
  }
  memset(m->values, 0, (size_t)(n * n) * sizeof(double));
  for (int32_t t = 0; t < d->ntrees; ++t) {
    const int32_t tree = d->trees[t], size = p->tree_size[tree];
    const double* A = p->diagonal + p->diagonal_start[tree];
    for (int32_t j = 0; j < size; ++j) {
      memcpy(m->values + (d->start[t] + j) * n + d->start[t], A + (size_t)j * (size_t)size,
             (size_t)size * sizeof(double));
    }
    for (int32_t c = p->coupling_head[tree]; c >= 0; c = p->couplings[c].next) {
      const int32_t a = local[p->couplings[c].tree_a], b = local[p->couplings[c].tree_b];
      const double* C = p->coupling_values + p->couplings[c].values;
      for (int64_t j = d->start[b]; j < d->start[b + 1]; ++j) {
        for (int64_t i = d->start[a]; i < d->start[a + 1]; ++i, ++C) {
          m->values[j * n + i] = m->values[i * n + j] = *C;
        }
      }
    }
  }
  const int32_t column_start[2] = {0, 1}, row[1] = {0};
  const size_t value_start[1] = {0};
  const sap_block_pattern pattern = {1, &d->nv, column_start, row, value_start};
  status = sap_cholesky_analyze(m->cholesky, &pattern, SAP_LINEAR_DENSE, NULL, error);
  return status == SAP_STATUS_OK ? sap_cholesky_factorize(m->cholesky, m->values, NULL, error)
                                 : status;
}

sap_status sap_delassus_lift_item(sap_delassus* d, const sap_delassus_item* item,
                                  sap_error* error) {
  const double* J = d->jacobian + item->jacobian;
  double* Y = d->lift + item->lift;
  if (!d->coupled) {
    memcpy(Y, J, (size_t)item->nrows * (size_t)item->ncols * sizeof(double));
  }
  for (int32_t r = 0; r < item->nrows; ++r) {
    if (d->coupled) {
      memset(Y, 0, (size_t)d->nv * sizeof(double));
    }
    double* part = Y;
    for (int32_t t = 0; t < item->ntrees; ++t) {
      const int32_t tree = d->item_trees[item->first_tree + t];
      const int32_t size = d->start[tree + 1] - d->start[tree];
      if (d->coupled) {
        memcpy(Y + d->start[tree], J, (size_t)size * sizeof(double));
      } else {
        const double* L;
        const sap_status status = sap_problem_tree_factor(d->problem, d->trees[tree], &L, error);
        if (status != SAP_STATUS_OK) {
          return status;
        }
        solve_tree(L, size, part);
      }
      J += size;
      part += size;
    }
    if (d->coupled) {
      sap_cholesky_solve(d->memory->cholesky, Y);
    }
    Y += item->nlift;
  }
  return SAP_STATUS_OK;
}

// D_ii of unscaled rows.
static void find_diagonal(sap_delassus* d, sap_delassus_item* item) {
  const int32_t n = item->nrows;
  for (int32_t c = 0; c < n; ++c) {
    const double* Y = d->lift + item->lift + (size_t)c * (size_t)item->nlift;
    if (d->mobility) {
      double unit[SAP_EIGEN_MAX] = {0.0};
      unit[c] = 1.0;
      memset(d->scratch, 0, (size_t)d->nv * sizeof(double));
      sap_delassus_add_item(d, item, unit, d->scratch);
      sap_delassus_item_velocity(d, item, d->scratch, item->diagonal + c * n);
    } else if (d->coupled) {
      sap_delassus_item_velocity(d, item, Y, item->diagonal + c * n);
    } else {
      for (int32_t r = 0; r < n; ++r) {
        const double* J = d->jacobian + item->jacobian + (size_t)r * (size_t)item->ncols;
        double sum = 0.0;
        for (int32_t i = 0; i < item->ncols; ++i) {
          sum += J[i] * Y[i];
        }
        item->diagonal[c * n + r] = sum;
      }
    }
    item->diagonal[c * n + c] += d->R[item->first + c];
  }
  for (int32_t c = 0; c < n && d->mobility; ++c) {  // methods that use it take it for symmetric
    for (int32_t r = c + 1; r < n; ++r) {
      const double mean = 0.5 * (item->diagonal[c * n + r] + item->diagonal[r * n + c]);
      item->diagonal[c * n + r] = item->diagonal[r * n + c] = mean;
    }
  }
}

sap_status sap_delassus_finish_item(sap_delassus* d, sap_delassus_item* item, sap_error* error) {
  const sap_problem* p = d->problem;
  const int32_t n = item->nrows;
  find_diagonal(d, item);
  const double largest = sap_largest_eigenvalue(item->diagonal, n);
  if (!isfinite(largest)) {
    return sap_fail(error, SAP_STATUS_NOT_FINITE, "block %d: its Delassus block overflows",
                    item->block);
  }
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
    d->v_hat[item->first + r] = s * p->v_hat[item->problem_row + r];
    d->q[item->first + r] -= d->v_hat[item->first + r];
    d->R[item->first + r] *= s * s;
  }
  return SAP_STATUS_OK;
}
