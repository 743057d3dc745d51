// SPDX-License-Identifier: BSD-3-Clause

#include <math.h>
#include <string.h>

#include "linalg/square.h"
#include "math/scalar.h"
#include "problem/factor.h"

// Returns the index of the coupling of two trees in either order, or -1.
static int32_t find_coupling(const sap_problem* p, int32_t tree_a, int32_t tree_b) {
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
      SAP_FAIL_IF(!isfinite(x), error, SAP_STATUS_NOT_FINITE,
                  "A block (tree %d, tree %d): entry (%d, %d) = %g must be finite", a, b, i, j, x);
    }
  }
  return SAP_STATUS_OK;
}

// Checks that entries are finite and trees and leading dimension in range; `symmetric`: only the
// lower triangle counts.
static sap_status check_matrix(const sap_problem* p, int32_t tree_a, int32_t tree_b,
                               const double* block, int32_t leading_dimension, bool symmetric,
                               sap_error* error) {
  SAP_FAIL_IF(p == NULL || block == NULL, error, SAP_STATUS_ARGUMENT,
              "sap_problem_set_%s_block: %s is NULL", symmetric ? "momentum" : "mobility",
              p == NULL ? "problem" : "block");
  SAP_FAIL_IF(tree_a < 0 || tree_a >= p->ntrees || tree_b < 0 || tree_b >= p->ntrees, error,
              SAP_STATUS_ARGUMENT, "A block (tree %d, tree %d): trees must be in [0, %d)", tree_a,
              tree_b, p->ntrees);
  SAP_FAIL_IF(leading_dimension < p->tree_size[tree_a], error, SAP_STATUS_ARGUMENT,
              "A block (tree %d, tree %d): leading dimension %d must be >= %d", tree_a, tree_b,
              leading_dimension, p->tree_size[tree_a]);
  return check_block_entries(p, tree_a, tree_b, block, leading_dimension, symmetric, error);
}

// Sets both triangles from the lower one.
static void set_diagonal(sap_problem* p, int32_t tree, const double* block, int32_t ld) {
  sap_square_mirror(p->tree_size[tree], block, ld, p->diagonal + p->diagonal_start[tree]);
  p->diagonal_set[tree] = true;
  sap_problem_keep_factor(p, tree, SAP_FACTOR_STALE);
}

void sap_problem_put_diagonal(sap_problem* p, int32_t tree, const double* block) {
  p->has_momentum = true;
  set_diagonal(p, tree, block, p->tree_size[tree]);
}

// Adds a coupling with room for `nvalues` at its values.
static sap_status add_coupling(sap_problem* p, int32_t tree_a, int32_t tree_b, int64_t nvalues,
                               int32_t* out, sap_error* error) {
  const int64_t needed = (int64_t)p->ncoupling_values + nvalues;
  SAP_TRY(sap_problem_reserve_group(p, SAP_GROUP_COUPLINGS, (int64_t)p->ncouplings + 1, error));
  SAP_TRY(sap_problem_reserve_group(p, SAP_GROUP_COUPLING_VALUES, needed, error));
  const int32_t smaller = tree_a < tree_b ? tree_a : tree_b, c = p->ncouplings++;
  p->couplings[c] =
      (sap_coupling){tree_a, tree_b, p->ncoupling_values, p->coupling_head[smaller], false};
  p->coupling_head[smaller] = c;
  p->ncoupling_values = (int32_t)needed;
  *out = c;
  return SAP_STATUS_OK;
}

static void copy_block(const double* block, int32_t ld, size_t na, size_t nb, double* to) {
  for (size_t j = 0; j < nb; ++j) {
    memcpy(to + j * na, block + j * (size_t)ld, na * sizeof(double));
  }
}

static sap_status set_coupling(sap_problem* p, int32_t a, int32_t b, const double* block,
                               int32_t ld, sap_error* error) {
  const size_t na = (size_t)p->tree_size[a], nb = (size_t)p->tree_size[b];
  int32_t c = find_coupling(p, a, b);
  SAP_FAIL_IF(c >= 0 && p->couplings[c].tree_a != a, error, SAP_STATUS_ARGUMENT,
              "A block (tree %d, tree %d): its transpose (%d, %d) is set already", a, b, b, a);
  if (c < 0) {
    SAP_TRY(add_coupling(p, a, b, (int64_t)(na * nb), &c, error));
  }
  copy_block(block, ld, na, nb, p->coupling_values + p->couplings[c].values);
  return SAP_STATUS_OK;
}

sap_status sap_problem_set_momentum_block(sap_problem* p, int32_t tree_a, int32_t tree_b,
                                          const double* block, int32_t leading_dimension,
                                          sap_error* error) {
  SAP_TRY(check_matrix(p, tree_a, tree_b, block, leading_dimension, true, error));
  SAP_FAIL_IF(p->has_mobility, error, SAP_STATUS_ARGUMENT,
              "A block (tree %d, tree %d): the problem has a mobility instead of A", tree_a,
              tree_b);
  p->has_momentum = true;
  if (tree_a != tree_b) {
    return set_coupling(p, tree_a, tree_b, block, leading_dimension, error);
  }
  set_diagonal(p, tree_a, block, leading_dimension);
  return SAP_STATUS_OK;
}

// Returns the stored block of A or of the mobility, NULL: none; *c: its coupling, -1: diagonal.
static const double* find_block(const sap_problem* p, int32_t tree_a, int32_t tree_b, int32_t* c) {
  *c = -1;
  if (tree_a < 0 || tree_a >= p->ntrees || tree_b < 0 || tree_b >= p->ntrees) {
    return NULL;
  }
  if (tree_a == tree_b) {
    return p->diagonal_set[tree_a] ? p->diagonal + p->diagonal_start[tree_a] : NULL;
  }
  *c = find_coupling(p, tree_a, tree_b);
  return *c >= 0 ? p->coupling_values + p->couplings[*c].values : NULL;
}

const double* sap_problem_momentum_block(const sap_problem* p, int32_t tree_a, int32_t tree_b) {
  int32_t c;
  const double* values = p->has_mobility ? NULL : find_block(p, tree_a, tree_b, &c);
  return values == NULL || c < 0 || p->couplings[c].tree_a == tree_a ? values : NULL;
}

// The mobility B = A^-1.

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
  SAP_TRY(check_matrix(p, tree_a, tree_b, block, leading_dimension, false, error));
  SAP_FAIL_IF(p->has_momentum, error, SAP_STATUS_ARGUMENT,
              "mobility block (tree %d, tree %d): the problem has A already", tree_a, tree_b);
  const size_t na = (size_t)p->tree_size[tree_a], nb = (size_t)p->tree_size[tree_b];
  if (tree_a == tree_b) {
    p->has_mobility = true;
    copy_block(block, leading_dimension, na, na, p->diagonal + p->diagonal_start[tree_a]);
    p->diagonal_set[tree_a] = true;
    return SAP_STATUS_OK;
  }
  int32_t c = find_coupling(p, tree_a, tree_b);
  if (c < 0) {
    SAP_TRY(add_coupling(p, tree_a, tree_b, 2 * (int64_t)(na * nb), &c, error));
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
  int32_t c;
  const double* values = p->has_mobility ? find_block(p, tree_a, tree_b, &c) : NULL;
  return values == NULL || c < 0 || p->couplings[c].tree_a == tree_a
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
      SAP_FAIL_IF(!(entry >= 0.0), error, SAP_STATUS_NOT_SPD,
                  "tree %d: diagonal entry %d of the mobility = %g must be >= 0", t, i, entry);
    }
  }
  return SAP_STATUS_OK;
}
