// SPDX-License-Identifier: BSD-3-Clause
// A problem that gives B = A^-1 instead of A: blocks, products, check.
#include <string.h>

#include "problem/problem_data.h"

static void copy_block(const double* block, int32_t ld, size_t na, size_t nb, double* to) {
  for (size_t j = 0; j < nb; ++j) {
    memcpy(to + j * na, block + j * (size_t)ld, na * sizeof(double));
  }
}

static void copy_transpose(const double* from, size_t na, size_t nb, double* to) {
  for (size_t j = 0; j < nb; ++j) {
    for (size_t i = 0; i < na; ++i) {
      to[i * nb + j] = from[j * na + i];
    }
  }
}

sap_status sap_problem_set_mobility_block(sap_problem* p, int32_t tree_a, int32_t tree_b,
                                          const double* block, int32_t leading_dimension,
                                          sap_error* error) {
  const sap_status status =
      sap_problem_check_matrix(p, tree_a, tree_b, block, leading_dimension, false, error);
  if (status != SAP_STATUS_OK) {
    return status;
  }
  if (p->has_momentum) {
    return sap_fail(error, SAP_STATUS_ARGUMENT,
                    "mobility block (tree %d, tree %d): the problem has A already", tree_a, tree_b);
  }
  const size_t na = (size_t)p->tree_size[tree_a], nb = (size_t)p->tree_size[tree_b];
  if (tree_a == tree_b) {
    p->has_mobility = true;
    copy_block(block, leading_dimension, na, na, p->diagonal + p->diagonal_start[tree_a]);
    p->diagonal_set[tree_a] = true;
    return SAP_STATUS_OK;
  }
  int32_t c = sap_problem_find_coupling(p, tree_a, tree_b);
  if (c < 0) {
    const sap_status added =
        sap_problem_add_coupling(p, tree_a, tree_b, 2 * (int64_t)(na * nb), &c, error);
    if (added != SAP_STATUS_OK) {
      return added;
    }
  }
  p->has_mobility = true;
  double* values = p->coupling_values + p->couplings[c].values;
  if (p->couplings[c].tree_a == tree_a) {
    copy_block(block, leading_dimension, na, nb, values);
    if (!p->couplings[c].both) {
      copy_transpose(values, na, nb, values + na * nb);
    }
  } else {
    p->couplings[c].both = true;
    copy_block(block, leading_dimension, na, nb, values + na * nb);
  }
  return SAP_STATUS_OK;
}

bool sap_problem_has_mobility(const sap_problem* problem) {
  return problem->has_mobility;
}

const double* sap_problem_mobility_block(const sap_problem* p, int32_t tree_a, int32_t tree_b) {
  if (!p->has_mobility || tree_a < 0 || tree_a >= p->ntrees || tree_b < 0 || tree_b >= p->ntrees) {
    return NULL;
  }
  if (tree_a == tree_b) {
    return p->diagonal_set[tree_a] ? p->diagonal + p->diagonal_start[tree_a] : NULL;
  }
  const int32_t c = sap_problem_find_coupling(p, tree_a, tree_b);
  if (c < 0) {
    return NULL;
  }
  const double* values = p->coupling_values + p->couplings[c].values;
  return p->couplings[c].tree_a == tree_a
             ? values
             : values + (size_t)p->tree_size[tree_a] * (size_t)p->tree_size[tree_b];
}

void sap_mobility_multiply(const sap_problem* p, int32_t tree_a, int32_t tree_b, const double* x,
                           double* y) {
  const double* B = sap_problem_mobility_block(p, tree_a, tree_b);
  const int32_t na = p->tree_size[tree_a], nb = p->tree_size[tree_b];
  for (int32_t j = 0; j < nb && B != NULL; ++j, B += na) {
    for (int32_t i = 0; i < na; ++i) {
      y[i] += B[i] * x[j];
    }
  }
}

// W = sum over trees a, b of J_a B_ab J_b'. work: x = row of J_b, then B_ab x.
void sap_mobility_delassus(const sap_problem* p, const sap_block* block, int32_t row, int32_t count,
                           double* work, double* W) {
  memset(W, 0, (size_t)count * (size_t)count * sizeof(double));
  for (int32_t b = 0; b < block->ntrees; ++b) {
    const int32_t tree_b = block->trees[b], nb = p->tree_size[tree_b];
    for (int32_t a = 0; a < block->ntrees; ++a) {
      const int32_t tree_a = block->trees[a], na = p->tree_size[tree_a];
      const double* B = sap_problem_mobility_block(p, tree_a, tree_b);
      for (int32_t c = 0; c < count && B != NULL; ++c) {
        const double* Jb = block->jacobians[b] + row + c;
        for (int32_t i = 0; i < na; ++i) {
          double sum = 0.0;
          for (int32_t j = 0; j < nb; ++j) {
            sum += B[(size_t)j * (size_t)na + (size_t)i] * Jb[(size_t)j * (size_t)block->nrows];
          }
          work[i] = sum;
        }
        for (int32_t r = 0; r < count; ++r) {
          const double* Ja = block->jacobians[a] + row + r;
          for (int32_t i = 0; i < na; ++i) {
            W[(size_t)c * (size_t)count + (size_t)r] +=
                Ja[(size_t)i * (size_t)block->nrows] * work[i];
          }
        }
      }
    }
  }
}

sap_status sap_mobility_check(const sap_problem* p, sap_error* error) {
  for (int32_t t = 0; t < p->ntrees; ++t) {
    const int32_t n = p->tree_size[t];
    for (int32_t i = 0; i < n; ++i) {
      const double entry = p->diagonal[p->diagonal_start[t] + i * (n + 1)];
      if (!(entry >= 0.0)) {
        return sap_fail(error, SAP_STATUS_NOT_SPD,
                        "tree %d: diagonal entry %d of the mobility = %g must be >= 0", t, i,
                        entry);
      }
    }
  }
  return SAP_STATUS_OK;
}
