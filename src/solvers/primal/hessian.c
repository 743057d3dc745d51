// SPDX-License-Identifier: BSD-3-Clause
// H = A + J' G J by patches, straight into the block pattern's values.
// A cone adds J_c' (G J_c) over its patch's columns to a small square S; S is then added to the
// blocks of the patch's tree pairs. Only blocks on and below the diagonal are formed.
// cost: O(ncols^2) per active row.
#include <string.h>

#include "problem/problem_data.h"
#include "solvers/primal/patch_vector.h"

// S (ld ncols) += J' G J for three rows, at least on and below the diagonal. `split`: columns of
// the first of two trees whose blocks are done as fixed-length rows; 0: from the diagonal on.
static inline void add_cone(double* restrict S, const double* restrict J, const double G[6],
                            int32_t ncols, int32_t split, double* restrict W) {
  const double* J0 = J;
  const double* J1 = J + ncols;
  const double* J2 = J + 2 * ncols;
  double* W0 = W;
  double* W1 = W + ncols;
  double* W2 = W + 2 * ncols;
  for (int32_t i = 0; i < ncols; ++i) {
    W0[i] = G[0] * J0[i] + G[1] * J1[i] + G[3] * J2[i];
    W1[i] = G[1] * J0[i] + G[2] * J1[i] + G[4] * J2[i];
    W2[i] = G[3] * J0[i] + G[4] * J1[i] + G[5] * J2[i];
  }
  for (int32_t j = 0; j < ncols; ++j) {
    const double w0 = W0[j], w1 = W1[j], w2 = W2[j];
    double* restrict Sj = S + (size_t)j * (size_t)ncols;
    const int32_t first = split == 0 ? j : (j < split ? 0 : split);
    for (int32_t i = first; i < ncols; ++i) {
      Sj[i] += J0[i] * w0 + J1[i] * w1 + J2[i] * w2;
    }
  }
}

// Returns whether any cone of the patch is active.
static inline bool add_cones(const sap_newton* n, const sap_patch* patch, int32_t ncols,
                             int32_t split, double* S, double* W) {
  const double* J = n->jacobian + patch->jacobian;
  const double* G = n->cone_G + 6 * (size_t)patch->first;
  bool active = false;
  for (int32_t k = 0; k < patch->count; ++k, J += 3 * ncols, G += 6) {
    if (G[5] != 0.0) {
      if (!active) {
        memset(S, 0, (size_t)ncols * (size_t)ncols * sizeof(double));
        active = true;
      }
      add_cone(S, J, G, ncols, split, W);
    }
  }
  return active;
}

// Interval rows are often unit vectors: zero entries are skipped.
static bool add_intervals(const sap_newton* n, const sap_patch* patch, double* S) {
  const int32_t ncols = patch->ncols;
  const double* J = n->jacobian + patch->jacobian;
  bool active = false;
  for (int32_t k = patch->first; k < patch->first + patch->count; ++k, J += ncols) {
    const double G = n->interval_G[k];
    if (G == 0.0) {
      continue;
    }
    if (!active) {
      memset(S, 0, (size_t)ncols * (size_t)ncols * sizeof(double));
      active = true;
    }
    for (int32_t j = 0; j < ncols; ++j) {
      const double w = G * J[j];
      if (w != 0.0) {
        double* Sj = S + (size_t)j * (size_t)ncols;
        for (int32_t i = j; i < ncols; ++i) {
          Sj[i] += J[i] * w;
        }
      }
    }
  }
  return active;
}

// to (rows x columns, ld rows) += part of S (ld ncols)
static inline void add_block(double* restrict to, const double* restrict S, size_t rows,
                             size_t columns, size_t ncols) {
  for (size_t j = 0; j < columns; ++j) {
    for (size_t i = 0; i < rows; ++i) {
      to[j * rows + i] += S[j * ncols + i];
    }
  }
}

// The columns of `patch` from `from` on that belong to a tree.
static int32_t count_columns(const sap_newton* n, const sap_patch* patch, int32_t tree,
                             int32_t from) {
  const int32_t* columns = n->columns + patch->first_column;
  int32_t next = from;
  while (next < patch->ncols && columns[next] < n->start[tree + 1]) {
    ++next;
  }
  return next - from;
}

// As scatter, by lists of columns.
static void scatter_columns(const sap_newton* n, const sap_patch* patch, const double* S) {
  const int32_t* trees = n->patch_trees + patch->first_tree;
  const int32_t* columns = n->columns + patch->first_column;
  const size_t* pair = n->pair_values + patch->first_pair;
  int32_t column = 0;
  for (int32_t k = 0; k < patch->ntrees; ++k) {
    const int32_t count_k = count_columns(n, patch, trees[k], column);
    int32_t row = column;
    for (int32_t l = k; l < patch->ntrees; ++l) {
      const int32_t count_l = count_columns(n, patch, trees[l], row);
      double* block = n->values + *pair++;
      for (int32_t j = column; j < column + count_k; ++j) {
        double* to = block + (columns[j] - n->start[trees[k]]) * n->size[trees[l]];
        for (int32_t i = j > row ? j : row; i < row + count_l; ++i) {
          to[columns[i] - n->start[trees[l]]] += S[(size_t)j * (size_t)patch->ncols + (size_t)i];
        }
      }
      row += count_l;
    }
    column += count_k;
  }
}

static void scatter(const sap_newton* n, const sap_patch* patch, const double* S) {
  const int32_t* trees = n->patch_trees + patch->first_tree;
  const size_t* pair = n->pair_values + patch->first_pair;
  const size_t ncols = (size_t)patch->ncols;
  size_t column = 0;
  for (int32_t k = 0; k < patch->ntrees; ++k) {
    const size_t size_k = (size_t)n->size[trees[k]];
    size_t row = column;
    for (int32_t l = k; l < patch->ntrees; ++l) {
      const size_t size_l = (size_t)n->size[trees[l]];
      double* to = n->values + *pair++;
      const double* from = S + column * ncols + row;
      if (size_k == SAP_ONE_FREE_BODY && size_l == SAP_ONE_FREE_BODY) {
        add_block(to, from, SAP_ONE_FREE_BODY, SAP_ONE_FREE_BODY, ncols);
      } else {
        add_block(to, from, size_l, size_k, ncols);
      }
      row += size_l;
    }
    column += size_k;
  }
}

static void copy_momentum(sap_newton* n) {
  const sap_problem* p = n->problem;
  memset(n->values, 0, n->nvalues * sizeof(double));
  for (int32_t t = 0; t < n->ntrees; ++t) {
    const size_t size = (size_t)n->size[t];
    memcpy(n->values + n->value_start[n->column_start[t]],
           p->diagonal + p->diagonal_start[n->trees[t]], size * size * sizeof(double));
  }
  for (int32_t c = 0; c < n->ncouplings; ++c) {
    const sap_coupling* coupling = &p->couplings[n->couplings[c]];
    const int32_t a = n->local[coupling->tree_a], b = n->local[coupling->tree_b];
    const size_t size_a = (size_t)n->size[a], size_b = (size_t)n->size[b];
    const double* from = p->coupling_values + coupling->values;
    double* to = n->values + n->pair_values[n->coupling_pair[c]];
    for (size_t j = 0; j < size_b; ++j) {
      for (size_t i = 0; i < size_a; ++i) {
        to[a > b ? j * size_a + i : i * size_b + j] = from[j * size_a + i];
      }
    }
  }
}

void sap_newton_assemble(sap_newton* n, bool with_constraints) {
  copy_momentum(n);
  double* S = n->scratch;
  double* W = S + (size_t)n->largest_patch * (size_t)n->largest_patch;
  for (int32_t q = 0; with_constraints && q < n->npatches; ++q) {
    const sap_patch* patch = &n->patches[q];
    const int32_t ncols = patch->ncols;
    const int32_t split = n->size[n->patch_trees[patch->first_tree]];
    bool active;
    if (!patch->is_cone) {
      active = add_intervals(n, patch, S);
    } else if (patch->first_column >= 0) {
      active = add_cones(n, patch, ncols, 0, S, W);
    } else if (patch->ntrees == 1 && ncols == SAP_ONE_FREE_BODY) {
      active = add_cones(n, patch, SAP_ONE_FREE_BODY, SAP_ONE_FREE_BODY, S, W);
    } else if (patch->ntrees == 2 && ncols == SAP_TWO_FREE_BODIES && split == SAP_ONE_FREE_BODY) {
      active = add_cones(n, patch, SAP_TWO_FREE_BODIES, SAP_ONE_FREE_BODY, S, W);
    } else {
      active = add_cones(n, patch, ncols, 0, S, W);
    }
    if (active && patch->first_column >= 0) {
      scatter_columns(n, patch, S);
    } else if (active) {
      scatter(n, patch, S);
    }
  }
}
