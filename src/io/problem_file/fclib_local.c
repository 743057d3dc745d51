// SPDX-License-Identifier: BSD-3-Clause
// Local problems, u = W r + q: a tree of three velocities per contact, which are u; J = I, v* = q,
// and W is the inverse of A. Bilateral rows (V, R, s), where there are any, are one more tree.
#include "io/problem_file/fclib_file.h"

#ifdef SAPSTEP_HDF5
#include <string.h>

#include "core/memory.h"

static const double zero[9] = {0.0};

typedef struct local {
  sap_fclib_reals mu, q, s, R;
  sap_fclib_matrix W, V, S;  // S: FCLIB's R
  int32_t ncontacts, nfree;
  int32_t* mark;  // position of a contact's block in the current column's, -1: none
  sap_fclib_reals blocks;
  sap_fclib_integers tree_sizes, list;
} local;

static void clear(local* l) {
  sap_fclib_reals_clear(&l->mu);
  sap_fclib_reals_clear(&l->q);
  sap_fclib_reals_clear(&l->s);
  sap_fclib_reals_clear(&l->R);
  sap_fclib_reals_clear(&l->blocks);
  sap_fclib_matrix_clear(&l->W);
  sap_fclib_matrix_clear(&l->V);
  sap_fclib_matrix_clear(&l->S);
  sap_fclib_integers_clear(&l->tree_sizes);
  sap_fclib_integers_clear(&l->list);
  sap_free(l->mark);
}

static sap_status read_all(const sap_fclib_file* file, local* l, sap_error* error) {
  sap_status status = sap_fclib_read_contacts(file, "fclib_local", &l->mu, error);
  if (status != SAP_STATUS_OK) {
    return status;
  }
  l->ncontacts = l->mu.count;
  const int32_t n = 3 * l->ncontacts;
  status = sap_fclib_read_reals(file, "fclib_local/vectors/q", n, &l->q, error);
  if (status == SAP_STATUS_OK) {
    status = sap_fclib_read_matrix(file, "fclib_local/W", n, n, &l->W, error);
  }
  if (status == SAP_STATUS_OK) {
    status = sap_fclib_read_R(file, "fclib_local", l->ncontacts, &l->R, error);
  }
  if (status != SAP_STATUS_OK || !sap_fclib_has(file, "fclib_local/V")) {
    return status;
  }
  status = sap_fclib_read_reals(file, "fclib_local/vectors/s", SAP_FCLIB_ANY, &l->s, error);
  l->nfree = l->s.count;
  if (status == SAP_STATUS_OK) {
    status = sap_fclib_read_matrix(file, "fclib_local/V", n, l->nfree, &l->V, error);
  }
  return status == SAP_STATUS_OK
             ? sap_fclib_read_matrix(file, "fclib_local/R", l->nfree, l->nfree, &l->S, error)
             : status;
}

static sap_status start_problem(const sap_fclib_file* file, local* l, sap_problem* problem,
                                sap_error* error) {
  const int32_t nc = l->ncontacts, ntrees = nc + (l->nfree > 0 ? 1 : 0);
  double dt;
  sap_status status = sap_fclib_read_dt(file, &dt, error);
  if (status == SAP_STATUS_OK) {
    status = SAP_GROW(&l->tree_sizes.values, &l->tree_sizes.capacity, ntrees + 1, error);
  }
  if (status == SAP_STATUS_OK) {
    status = SAP_GROW(&l->q.values, &l->q.capacity, 3 * nc + l->nfree, error);
  }
  l->mark = sap_allocate((size_t)nc + 1, sizeof *l->mark);
  if (status == SAP_STATUS_OK && l->mark == NULL) {
    status = sap_fail(error, SAP_STATUS_MEMORY, "out of memory");
  }
  if (status != SAP_STATUS_OK) {
    return status;
  }
  for (int32_t c = 0; c < nc; ++c) {
    l->tree_sizes.values[c] = 3;
    l->mark[c] = -1;
    double* q = l->q.values + 3 * (size_t)c;
    const double normal = q[0];
    q[0] = q[1];
    q[1] = q[2];
    q[2] = normal;
  }
  l->tree_sizes.values[nc] = l->nfree;
  if (l->nfree > 0) {
    memcpy(l->q.values + 3 * (size_t)nc, l->s.values, (size_t)l->nfree * sizeof(double));
  }
  status = sap_problem_reset(problem, dt, ntrees, l->tree_sizes.values, error);
  for (int32_t c = 0; c < nc && status == SAP_STATUS_OK; ++c) {
    status = sap_problem_set_mobility_block(problem, c, c, zero, 3, error);
  }
  return status == SAP_STATUS_OK ? sap_problem_set_v_star(problem, l->q.values, error) : status;
}

// Sets both (a, b) and (b, a), the latter to zero until it comes itself.
static sap_status set_block(sap_problem* problem, int32_t a, int32_t b, const double* block,
                            sap_error* error) {
  const bool first = a != b && sap_problem_mobility_block(problem, a, b) == NULL;
  sap_status status = sap_problem_set_mobility_block(problem, a, b, block, 3, error);
  if (status == SAP_STATUS_OK && first) {
    status = sap_problem_set_mobility_block(problem, b, a, zero, 3, error);
  }
  return status;
}

// Three columns of W.
static sap_status set_columns(local* l, sap_problem* problem, int32_t contact, sap_error* error) {
  int32_t count = 0;
  sap_status status = SAP_STATUS_OK;
  for (int32_t c = 0; c < 3 && status == SAP_STATUS_OK; ++c) {
    const int32_t j = 3 * contact + c;
    for (int32_t k = l->W.start.values[j]; k < l->W.start.values[j + 1]; ++k) {
      const int32_t row = l->W.row.values[k], other = row / 3;
      if (l->mark[other] < 0) {
        status = SAP_GROW(&l->blocks.values, &l->blocks.capacity, 9 * (count + 1), error);
        if (status == SAP_STATUS_OK) {
          status = SAP_GROW(&l->list.values, &l->list.capacity, count + 1, error);
        }
        if (status != SAP_STATUS_OK) {
          return status;
        }
        memset(l->blocks.values + 9 * (size_t)count, 0, 9 * sizeof(double));
        l->list.values[count] = other;
        l->mark[other] = count++;
      }
      l->blocks.values[9 * l->mark[other] + 3 * sap_fclib_row(c) + sap_fclib_row(row % 3)] =
          l->W.x.values[k];
    }
  }
  for (int32_t i = 0; i < count && status == SAP_STATUS_OK; ++i) {
    status =
        set_block(problem, l->list.values[i], contact, l->blocks.values + 9 * (size_t)i, error);
    l->mark[l->list.values[i]] = -1;
  }
  return status;
}

// V' r + R l + s: blocks of the last tree, dense.
static sap_status set_free(local* l, sap_problem* problem, sap_error* error) {
  const int32_t n = l->nfree, nc = l->ncontacts;
  const int64_t square = (int64_t)n * n, needed = square > 3 * (int64_t)n ? square : 3 * (int64_t)n;
  if (needed > INT32_MAX) {
    return sap_fail(error, SAP_STATUS_MEMORY, "%ld bilateral rows are too many", (long)n);
  }
  sap_status status = SAP_GROW(&l->blocks.values, &l->blocks.capacity, (int32_t)needed, error);
  if (status != SAP_STATUS_OK) {
    return status;
  }
  memset(l->blocks.values, 0, (size_t)needed * sizeof(double));
  for (int32_t j = 0; j < n; ++j) {
    for (int32_t k = l->S.start.values[j]; k < l->S.start.values[j + 1]; ++k) {
      l->blocks.values[(size_t)j * (size_t)n + (size_t)l->S.row.values[k]] = l->S.x.values[k];
    }
  }
  status = sap_problem_set_mobility_block(problem, nc, nc, l->blocks.values, n, error);
  for (int32_t c = 0; c < nc && status == SAP_STATUS_OK; ++c) {
    memset(l->blocks.values, 0, 3 * (size_t)n * sizeof(double));
    bool any = false;
    for (int32_t j = 0; j < n; ++j) {
      for (int32_t k = l->V.start.values[j]; k < l->V.start.values[j + 1]; ++k) {
        const int32_t row = l->V.row.values[k];
        if (row / 3 == c) {
          l->blocks.values[3 * (size_t)j + (size_t)sap_fclib_row(row % 3)] = l->V.x.values[k];
          any = true;
        }
      }
    }
    if (any) {
      status = sap_problem_set_mobility_block(problem, c, nc, l->blocks.values, 3, error);
    }
  }
  return status;
}

static sap_status add_blocks(local* l, sap_problem* problem, sap_error* error) {
  static const double identity[9] = {1.0, 0.0, 0.0, 0.0, 1.0, 0.0, 0.0, 0.0, 1.0};
  sap_status status = SAP_STATUS_OK;
  for (int32_t c = 0; c < l->ncontacts && status == SAP_STATUS_OK; ++c) {
    const double* J = identity;
    const sap_block block = {.set = SAP_SET_FRICTION_CONE,
                             .nrows = 3,
                             .ntrees = 1,
                             .trees = &c,
                             .jacobians = &J,
                             .R = l->R.values + 3 * (size_t)c,
                             .v_hat = zero,
                             .friction = l->mu.values[c]};
    status = sap_problem_add_block(problem, &block, error);
  }
  if (status != SAP_STATUS_OK || l->nfree == 0) {
    return status;
  }
  const size_t n = (size_t)l->nfree;
  memset(l->blocks.values, 0, n * n * sizeof(double));
  for (size_t i = 0; i < n; ++i) {
    l->blocks.values[i * n + i] = 1.0;
  }
  status = SAP_GROW(&l->R.values, &l->R.capacity, l->nfree, error);
  if (status != SAP_STATUS_OK) {
    return status;
  }
  memset(l->R.values, 0, n * sizeof(double));
  const double* J = l->blocks.values;
  const sap_block block = {.set = SAP_SET_FREE,
                           .nrows = l->nfree,
                           .ntrees = 1,
                           .trees = &l->ncontacts,
                           .jacobians = &J,
                           .R = l->R.values,
                           .v_hat = l->R.values};
  return sap_problem_add_block(problem, &block, error);
}

sap_status sap_fclib_read_local(const sap_fclib_file* file, sap_problem* problem,
                                sap_error* error) {
  local l = {0};
  sap_status status = read_all(file, &l, error);
  if (status == SAP_STATUS_OK) {
    status = start_problem(file, &l, problem, error);
  }
  for (int32_t c = 0; c < l.ncontacts && status == SAP_STATUS_OK; ++c) {
    status = set_columns(&l, problem, c, error);
  }
  if (status == SAP_STATUS_OK && l.nfree > 0) {
    status = set_free(&l, problem, error);
  }
  if (status == SAP_STATUS_OK) {
    status = add_blocks(&l, problem, error);
  }
  clear(&l);
  return status;
}
#endif
