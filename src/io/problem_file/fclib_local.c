// SPDX-License-Identifier: BSD-3-Clause
// Reads local problems of FCLIB files, u = W r + q.
//   one tree of three velocities u per contact,  J = I,  v* = q,  A^-1 = W
// Bilateral rows (V, R, s), if any, are one more tree.
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

static void clear_local(local* l) {
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
  SAP_TRY(sap_fclib_read_contacts(file, "fclib_local", &l->mu, error));
  l->ncontacts = l->mu.count;
  const int32_t n = 3 * l->ncontacts;
  SAP_TRY(sap_fclib_read_reals(file, "fclib_local/vectors/q", n, &l->q, error));
  SAP_TRY(sap_fclib_read_matrix(file, "fclib_local/W", n, n, &l->W, error));
  SAP_TRY(sap_fclib_read_R(file, "fclib_local", l->ncontacts, &l->R, error));
  if (!sap_fclib_has(file, "fclib_local/V")) {
    return SAP_STATUS_OK;
  }
  SAP_TRY(sap_fclib_read_reals(file, "fclib_local/vectors/s", SAP_FCLIB_ANY, &l->s, error));
  l->nfree = l->s.count;
  SAP_TRY(sap_fclib_read_matrix(file, "fclib_local/V", n, l->nfree, &l->V, error));
  return sap_fclib_read_matrix(file, "fclib_local/R", l->nfree, l->nfree, &l->S, error);
}

static sap_status start_problem(const sap_fclib_file* file, local* l, sap_problem* problem,
                                sap_error* error) {
  const int32_t nc = l->ncontacts, ntrees = nc + (l->nfree > 0 ? 1 : 0);
  double dt;
  SAP_TRY(sap_fclib_read_dt(file, &dt, error));
  SAP_TRY(SAP_GROW(&l->tree_sizes.values, &l->tree_sizes.capacity, ntrees + 1, error));
  SAP_TRY(SAP_GROW(&l->q.values, &l->q.capacity, 3 * nc + l->nfree, error));
  l->mark = sap_allocate((size_t)nc + 1, sizeof *l->mark);
  if (l->mark == NULL) {
    return sap_fail(error, SAP_STATUS_MEMORY, "out of memory");
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
  SAP_TRY(sap_problem_reset(problem, dt, ntrees, l->tree_sizes.values, error));
  for (int32_t c = 0; c < nc; ++c) {
    SAP_TRY(sap_problem_set_mobility_block(problem, c, c, zero, 3, error));
  }
  return sap_problem_set_v_star(problem, l->q.values, error);
}

// Sets block (a, b), and block (b, a) to zero if it is not set yet.
static sap_status set_block(sap_problem* problem, int32_t a, int32_t b, const double* block,
                            sap_error* error) {
  const bool first = a != b && sap_problem_mobility_block(problem, a, b) == NULL;
  SAP_TRY(sap_problem_set_mobility_block(problem, a, b, block, 3, error));
  if (first) {
    SAP_TRY(sap_problem_set_mobility_block(problem, b, a, zero, 3, error));
  }
  return SAP_STATUS_OK;
}

// Sets the blocks of the contact's three columns of W.
static sap_status set_columns(local* l, sap_problem* problem, int32_t contact, sap_error* error) {
  int32_t count = 0;
  for (int32_t c = 0; c < 3; ++c) {
    const int32_t j = 3 * contact + c;
    for (int32_t k = l->W.start.values[j]; k < l->W.start.values[j + 1]; ++k) {
      const int32_t row = l->W.row.values[k], other = row / 3;
      if (l->mark[other] < 0) {
        SAP_TRY(SAP_GROW(&l->blocks.values, &l->blocks.capacity, 9 * (count + 1), error));
        SAP_TRY(SAP_GROW(&l->list.values, &l->list.capacity, count + 1, error));
        memset(l->blocks.values + 9 * (size_t)count, 0, 9 * sizeof(double));
        l->list.values[count] = other;
        l->mark[other] = count++;
      }
      l->blocks.values[9 * l->mark[other] + 3 * sap_fclib_row(c) + sap_fclib_row(row % 3)] =
          l->W.x.values[k];
    }
  }
  for (int32_t i = 0; i < count; ++i) {
    const int32_t other = l->list.values[i];
    SAP_TRY(set_block(problem, other, contact, l->blocks.values + 9 * (size_t)i, error));
    l->mark[other] = -1;
  }
  return SAP_STATUS_OK;
}

// Sets the dense blocks of the last tree, V' r + R l + s.
static sap_status set_free(local* l, sap_problem* problem, sap_error* error) {
  const int32_t n = l->nfree, nc = l->ncontacts;
  const int64_t square = (int64_t)n * n, needed = square > 3 * (int64_t)n ? square : 3 * (int64_t)n;
  if (needed > INT32_MAX) {
    return sap_fail(error, SAP_STATUS_MEMORY, "%ld bilateral rows are too many", (long)n);
  }
  SAP_TRY(SAP_GROW(&l->blocks.values, &l->blocks.capacity, (int32_t)needed, error));
  memset(l->blocks.values, 0, (size_t)needed * sizeof(double));
  for (int32_t j = 0; j < n; ++j) {
    for (int32_t k = l->S.start.values[j]; k < l->S.start.values[j + 1]; ++k) {
      l->blocks.values[(size_t)j * (size_t)n + (size_t)l->S.row.values[k]] = l->S.x.values[k];
    }
  }
  SAP_TRY(sap_problem_set_mobility_block(problem, nc, nc, l->blocks.values, n, error));
  for (int32_t c = 0; c < nc; ++c) {
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
      SAP_TRY(sap_problem_set_mobility_block(problem, c, nc, l->blocks.values, 3, error));
    }
  }
  return SAP_STATUS_OK;
}

static sap_status add_blocks(local* l, sap_problem* problem, sap_error* error) {
  static const double identity[9] = {1.0, 0.0, 0.0, 0.0, 1.0, 0.0, 0.0, 0.0, 1.0};
  for (int32_t c = 0; c < l->ncontacts; ++c) {
    const double* J = identity;
    const sap_block block = {.set = SAP_SET_FRICTION_CONE,
                             .nrows = 3,
                             .ntrees = 1,
                             .trees = &c,
                             .jacobians = &J,
                             .R = l->R.values + 3 * (size_t)c,
                             .v_hat = zero,
                             .friction = l->mu.values[c]};
    SAP_TRY(sap_problem_add_block(problem, &block, error));
  }
  if (l->nfree == 0) {
    return SAP_STATUS_OK;
  }
  const size_t n = (size_t)l->nfree;
  memset(l->blocks.values, 0, n * n * sizeof(double));
  for (size_t i = 0; i < n; ++i) {
    l->blocks.values[i * n + i] = 1.0;
  }
  SAP_TRY(SAP_GROW(&l->R.values, &l->R.capacity, l->nfree, error));
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

static sap_status read_into(const sap_fclib_file* file, local* l, sap_problem* problem,
                            sap_error* error) {
  SAP_TRY(read_all(file, l, error));
  SAP_TRY(start_problem(file, l, problem, error));
  for (int32_t c = 0; c < l->ncontacts; ++c) {
    SAP_TRY(set_columns(l, problem, c, error));
  }
  if (l->nfree > 0) {
    SAP_TRY(set_free(l, problem, error));
  }
  return add_blocks(l, problem, error);
}

sap_status sap_fclib_read_local(const sap_fclib_file* file, sap_problem* problem,
                                sap_error* error) {
  local l = {0};
  const sap_status status = read_into(file, &l, problem, error);
  clear_local(&l);
  return status;
}
#endif
