// SPDX-License-Identifier: BSD-3-Clause
// A problem's A: blocks of trees and their couplings.
#include <math.h>
#include <string.h>

#include "linalg/square.h"
#include "math/finite.h"
#include "problem/problem_data.h"

int32_t sap_problem_find_coupling(const sap_problem* p, int32_t tree_a, int32_t tree_b) {
  const int32_t smaller = tree_a < tree_b ? tree_a : tree_b;
  const int32_t larger = tree_a < tree_b ? tree_b : tree_a;
  for (int32_t c = p->coupling_head[smaller]; c >= 0; c = p->couplings[c].next) {
    if (p->couplings[c].tree_a == larger || p->couplings[c].tree_b == larger) {
      return c;
    }
  }
  return -1;
}

static sap_status check_block_entries(const sap_problem* p, int32_t a, int32_t b,
                                      const double* block, int32_t ld, bool symmetric,
                                      sap_error* error) {
  if (a == b && symmetric && sap_lower_finite(block, (size_t)p->tree_size[a], (size_t)ld)) {
    return SAP_STATUS_OK;
  }
  for (int32_t j = 0; j < p->tree_size[b]; ++j) {
    const int32_t first = a == b && symmetric ? j : 0;
    const double* column = block + (size_t)j * (size_t)ld;
    const bool good = sap_all_finite(column + first, (size_t)(p->tree_size[a] - first));
    for (int32_t i = first; !good && i < p->tree_size[a]; ++i) {
      const double x = column[i];
      if (!isfinite(x)) {
        return sap_fail(error, SAP_STATUS_NOT_FINITE,
                        "A block (tree %d, tree %d): entry (%d, %d) = %g must be finite", a, b, i,
                        j, x);
      }
    }
  }
  return SAP_STATUS_OK;
}

sap_status sap_problem_check_matrix(const sap_problem* p, int32_t tree_a, int32_t tree_b,
                                    const double* block, int32_t leading_dimension, bool symmetric,
                                    sap_error* error) {
  if (p == NULL || block == NULL) {
    return sap_fail(error, SAP_STATUS_ARGUMENT, "sap_problem_set_%s_block: %s is NULL",
                    symmetric ? "momentum" : "mobility", p == NULL ? "problem" : "block");
  }
  if (tree_a < 0 || tree_a >= p->ntrees || tree_b < 0 || tree_b >= p->ntrees) {
    return sap_fail(error, SAP_STATUS_ARGUMENT,
                    "A block (tree %d, tree %d): trees must be in [0, %d)", tree_a, tree_b,
                    p->ntrees);
  }
  if (leading_dimension < p->tree_size[tree_a]) {
    return sap_fail(error, SAP_STATUS_ARGUMENT,
                    "A block (tree %d, tree %d): leading dimension %d must be >= %d", tree_a,
                    tree_b, leading_dimension, p->tree_size[tree_a]);
  }
  return check_block_entries(p, tree_a, tree_b, block, leading_dimension, symmetric, error);
}

enum { FREE_BODY = 6 };  // a loop of fixed length

static void copy_free_body(double* restrict A, const double* restrict block, size_t ld) {
  for (size_t j = 0; j < FREE_BODY; ++j) {
    for (size_t i = j; i < FREE_BODY; ++i) {
      const double x = block[j * ld + i];
      A[j * FREE_BODY + i] = x;
      A[i * FREE_BODY + j] = x;
    }
  }
}

// Both triangles from the lower one.
static void set_diagonal(sap_problem* p, int32_t tree, const double* block, int32_t ld) {
  const size_t n = (size_t)p->tree_size[tree];
  double* A = p->diagonal + p->diagonal_start[tree];
  if (n == FREE_BODY) {
    copy_free_body(A, block, (size_t)ld);
  } else {
    sap_square_mirror((int32_t)n, block, ld, A);
  }
  p->diagonal_set[tree] = true;
  sap_problem_forget_factors(p, tree);
}

void sap_problem_put_diagonal(sap_problem* p, int32_t tree, const double* block) {
  set_diagonal(p, tree, block, p->tree_size[tree]);
}

sap_status sap_problem_add_coupling(sap_problem* p, int32_t tree_a, int32_t tree_b, int64_t nvalues,
                                    int32_t* out, sap_error* error) {
  const int64_t needed = (int64_t)p->ncoupling_values + nvalues;
  sap_status status =
      SAP_RESERVE(&p->couplings, &p->coupling_capacity, (int64_t)p->ncouplings + 1, error);
  if (status == SAP_STATUS_OK) {
    status = SAP_RESERVE(&p->coupling_values, &p->coupling_value_capacity, needed, error);
  }
  if (status != SAP_STATUS_OK) {
    return status;
  }
  const int32_t smaller = tree_a < tree_b ? tree_a : tree_b, c = p->ncouplings++;
  p->couplings[c] =
      (sap_coupling){tree_a, tree_b, p->ncoupling_values, p->coupling_head[smaller], false};
  p->coupling_head[smaller] = c;
  p->ncoupling_values = (int32_t)needed;
  *out = c;
  return SAP_STATUS_OK;
}

static sap_status set_coupling(sap_problem* p, int32_t a, int32_t b, const double* block,
                               int32_t ld, sap_error* error) {
  const size_t na = (size_t)p->tree_size[a], nb = (size_t)p->tree_size[b];
  int32_t c = sap_problem_find_coupling(p, a, b);
  if (c >= 0 && p->couplings[c].tree_a != a) {
    return sap_fail(error, SAP_STATUS_ARGUMENT,
                    "A block (tree %d, tree %d): its transpose (%d, %d) is set already", a, b, b,
                    a);
  }
  if (c < 0) {
    const sap_status status = sap_problem_add_coupling(p, a, b, (int64_t)(na * nb), &c, error);
    if (status != SAP_STATUS_OK) {
      return status;
    }
  }
  double* values = p->coupling_values + p->couplings[c].values;
  for (size_t j = 0; j < nb; ++j) {
    memcpy(values + j * na, block + j * (size_t)ld, na * sizeof(double));
  }
  return SAP_STATUS_OK;
}

sap_status sap_problem_set_momentum_block(sap_problem* p, int32_t tree_a, int32_t tree_b,
                                          const double* block, int32_t leading_dimension,
                                          sap_error* error) {
  const sap_status status =
      sap_problem_check_matrix(p, tree_a, tree_b, block, leading_dimension, true, error);
  if (status != SAP_STATUS_OK) {
    return status;
  }
  if (p->has_mobility) {
    return sap_fail(error, SAP_STATUS_ARGUMENT,
                    "A block (tree %d, tree %d): the problem has a mobility instead of A", tree_a,
                    tree_b);
  }
  p->has_momentum = true;
  if (tree_a != tree_b) {
    return set_coupling(p, tree_a, tree_b, block, leading_dimension, error);
  }
  set_diagonal(p, tree_a, block, leading_dimension);
  return SAP_STATUS_OK;
}

const double* sap_problem_momentum_block(const sap_problem* p, int32_t tree_a, int32_t tree_b) {
  if (p->has_mobility || tree_a < 0 || tree_a >= p->ntrees || tree_b < 0 || tree_b >= p->ntrees) {
    return NULL;
  }
  if (tree_a == tree_b) {
    return p->diagonal_set[tree_a] ? p->diagonal + p->diagonal_start[tree_a] : NULL;
  }
  const int32_t c = sap_problem_find_coupling(p, tree_a, tree_b);
  return c >= 0 && p->couplings[c].tree_a == tree_a ? p->coupling_values + p->couplings[c].values
                                                    : NULL;
}

typedef struct diagonals_task {
  sap_problem* problem;
  double* const* blocks;
  sap_find_factor* find_factor;
  const void* context;
} diagonals_task;

static void put_diagonals(void* context, int32_t first, int32_t end) {
  const diagonals_task* task = context;
  for (int32_t t = first; t < end; ++t) {
    sap_branch_factor factor;
    sap_problem_put_diagonal(task->problem, t, task->blocks[t]);
    if (task->find_factor(task->context, t, &factor)) {
      sap_problem_lend_factor(task->problem, t, &factor);
    }
  }
}

void sap_problem_put_diagonals(sap_problem* p, double* const* blocks, sap_find_factor* find_factor,
                               const void* context) {
  enum { ENTRY_WORK = 4 };  // instructions of an entry of A, about
  diagonals_task task = {p, blocks, find_factor, context};
  p->has_momentum = true;
  sap_threads_run_parts(p->threads, p->ntrees, ENTRY_WORK * (int64_t)p->diagonal_start[p->ntrees],
                        put_diagonals, &task);
}

void sap_problem_set_v_expected(sap_problem* p, const double* v_expected) {
  p->v_expected = v_expected;
}
