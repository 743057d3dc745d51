// SPDX-License-Identifier: BSD-3-Clause
// Classes of problems by the densities of their constraints.                 tsounis Sec. VII-C
//   d_j = m_j/6 n_b,  d_c = 3 n_c/6 n_b,  d_jc = n_g/6 n_b
// counted as in maximal coordinates, where every joint is a constraint: m_j = 6 n_b - n_v for those
// that the coordinates have built in, and the bilateral rows; r_J the same with the rank of those
// rows. n_g: all rows. Where a problem falls under more than one class: single contact, then dense
// constraints, dense contacts, sparse contacts.
// cost: rank by Gram-Schmidt with pivots, O(rows^2 nv).

#include <math.h>
#include <stdlib.h>

#include "cli/commands/compare/compare.h"

const char* const compare_class_names[COMPARE_CLASSES] = {
    "free",           "independent_joints", "redundant_joints", "dense_joints",
    "single_contact", "sparse_contacts",    "dense_contacts",   "dense_constraints"};

// Fills the dense rows of the bilateral blocks; returns their number.
static int32_t bilateral_rows(const sap_problem* problem, const int32_t* start, double* rows) {
  const int32_t nv = sap_problem_velocity_count(problem);
  int32_t count = 0;
  for (int32_t b = 0; b < sap_problem_block_count(problem); ++b) {
    sap_block block;
    int32_t first;
    (void)sap_problem_block(problem, b, &block, &first, NULL);
    for (int32_t r = 0; block.set == SAP_SET_FREE && r < block.nrows; ++r, ++count) {
      double* row = rows != NULL ? rows + (size_t)count * (size_t)nv : NULL;
      for (int32_t t = 0; row != NULL && t < block.ntrees; ++t) {
        const int32_t size = sap_problem_tree_size(problem, block.trees[t]);
        for (int32_t i = 0; i < size; ++i) {
          row[start[block.trees[t]] + i] = block.jacobians[t][i * block.nrows + r];
        }
      }
    }
  }
  return count;
}

static double dot(const double* a, const double* b, int32_t n) {
  double sum = 0.0;
  for (int32_t i = 0; i < n; ++i) {
    sum += a[i] * b[i];
  }
  return sum;
}

// Returns the rank of the rows, which are overwritten: the longest remaining row is taken out of
// the others, until it is 1e-9 of the first.
static int32_t find_rank(double* rows, int32_t count, int32_t n) {
  static const double NEGLIGIBLE = 1e-9;
  double first = 0.0;
  int32_t rank = 0;
  for (; rank < count; ++rank) {
    int32_t pivot = rank;
    double longest = 0.0;
    for (int32_t i = rank; i < count; ++i) {
      const double length =
          sqrt(dot(rows + (size_t)i * (size_t)n, rows + (size_t)i * (size_t)n, n));
      pivot = length > longest ? i : pivot;
      longest = fmax(longest, length);
    }
    first = rank == 0 ? longest : first;
    if (!(longest > NEGLIGIBLE * first)) {
      break;
    }
    double* p = rows + (size_t)rank * (size_t)n;
    for (int32_t k = 0; k < n; ++k) {
      const double moved = rows[(size_t)pivot * (size_t)n + (size_t)k];
      rows[(size_t)pivot * (size_t)n + (size_t)k] = p[k];
      p[k] = moved / longest;
    }
    for (int32_t i = rank + 1; i < count; ++i) {
      double* row = rows + (size_t)i * (size_t)n;
      const double along = dot(row, p, n);
      for (int32_t k = 0; k < n; ++k) {
        row[k] -= along * p[k];
      }
    }
  }
  return rank;
}

static bool is_contact(sap_set set) {
  return set == SAP_SET_FRICTION_CONE || set == SAP_SET_SIMILAR || set == SAP_SET_LAGGED;
}

compare_class compare_classify(const sap_problem* problem, const sap_model* model) {
  const int32_t nv = sap_problem_velocity_count(problem),
                nb = sap_model_get_sizes(model).bodies - 1;
  const int32_t ntrees = sap_problem_tree_count(problem);
  const int32_t built_in = 6 * nb - nv > 0 ? 6 * nb - nv : 0;
  const int32_t count = bilateral_rows(problem, NULL, NULL);
  int32_t* start = cli_allocate((size_t)ntrees + 1, sizeof *start);
  double* rows = cli_allocate((size_t)count * (size_t)nv, sizeof *rows);
  for (int32_t t = 0; t < ntrees; ++t) {
    start[t + 1] = start[t] + sap_problem_tree_size(problem, t);
  }
  (void)bilateral_rows(problem, start, rows);
  const int32_t m_j = built_in + count, r_J = built_in + find_rank(rows, count, nv);
  free(start);
  free(rows);
  int32_t n_c = 0;
  for (int32_t b = 0; b < sap_problem_block_count(problem); ++b) {
    sap_block block;
    (void)sap_problem_block(problem, b, &block, NULL, NULL);
    n_c += is_contact(block.set) ? 1 : 0;
  }
  const double dofs = 6.0 * (nb > 0 ? nb : 1), d_j = m_j / dofs, d_c = 3.0 * n_c / dofs;
  const double d_jc = (built_in + sap_problem_row_count(problem)) / dofs;
  if (n_c == 0) {
    return m_j == 0    ? COMPARE_FREE
           : r_J < m_j ? (d_j >= 1.0 ? COMPARE_DENSE_JOINTS : COMPARE_REDUNDANT_JOINTS)
                       : COMPARE_INDEPENDENT_JOINTS;
  }
  return n_c == 1                     ? COMPARE_SINGLE_CONTACT
         : m_j > 0 && d_jc >= 1.0     ? COMPARE_DENSE_CONSTRAINTS
         : n_c > 2 * nb && d_c >= 1.0 ? COMPARE_DENSE_CONTACTS
                                      : COMPARE_SPARSE_CONTACTS;
}
