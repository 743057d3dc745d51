// SPDX-License-Identifier: BSD-3-Clause
// H = A + J' G J by patches, straight into the block pattern's values.
// A cone adds J_c' (G J_c) over its patch's columns to a small square S; S is then added to the
// blocks of the patch's tree pairs. On free bodies a cone adds to the blocks directly. Only blocks
// on and below the diagonal are formed.
// cost: O(ncols^2) per active row; 3 to 18 ncols^2 per active cone of n rows.
#include <string.h>

#include "problem/problem_data.h"
#include "solvers/primal/newton.h"
#include "solvers/primal/patch_vector.h"

static void add_to_bodies(const sap_newton* n, const sap_patch* patch,
                          const sap_patch_square* square) {
  const size_t* pair = n->pattern.pair_values + patch->first_pair;
  double* blocks[3] = {n->values + pair[0]};
  for (int32_t i = 1; i < (patch->ntrees == 2 ? 3 : 1); ++i) {
    blocks[i] = n->values + pair[i];
  }
  n->kernels->add_to_blocks(square, blocks);
}

// Returns true if S must be added to H.
static bool add_cones(const sap_newton* n, const sap_patch* patch, double* S, double* W) {
  const sap_patch_square square = {.J = n->jacobian + patch->jacobian,
                                   .G = n->cone_G + 6 * (size_t)patch->first,
                                   .count = patch->count,
                                   .ncols = patch->ncols,
                                   .S = S,
                                   .W = W};
  if (patch->bodies[0] < 0) {
    return n->kernels->square(&square);
  }
  add_to_bodies(n, patch, &square);
  return false;
}

// Adds interval rows on free bodies by threes.
static void add_triples(const sap_newton* n, const sap_patch* patch) {
  const double* rows = n->interval_G + patch->first;
  for (int32_t k = 0; k < patch->nrows; k += 3) {
    const double G[6] = {rows[k], 0.0, rows[k + 1], 0.0, 0.0, rows[k + 2]};
    add_to_bodies(n, patch,
                  &(sap_patch_square){.J = n->jacobian + patch->jacobian + k * patch->ncols,
                                      .G = G,
                                      .count = 1,
                                      .ncols = patch->ncols});
  }
}

// Skips zero entries: interval rows are often unit vectors. Returns true if S must be added to H.
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

// Adds rows on one velocity to its entry of H.
static void add_single(const sap_newton* n, const sap_patch* patch) {
  const int32_t own = n->runs[patch->first_run].tree;  // the others' columns are zero
  const int32_t tree = n->patch_trees[patch->first_tree + own];
  const int32_t pair = patch->first_pair + own * (2 * patch->ntrees - own + 1) / 2;
  const size_t at = n->pattern.pair_values[pair] +
                    (size_t)(patch->velocity - n->start[tree]) * (size_t)(n->size[tree] + 1);
  const double *J = n->jacobian + patch->jacobian, *G = n->interval_G + patch->first;
  for (int32_t k = 0; k < patch->count; ++k) {
    n->values[at] += J[k] * (G[k] * J[k]);
  }
}

// W = G J, then S += J' W on and below the diagonal.
static void add_cone_n(const sap_cone_n* cone_n, const double* J, int32_t ncols, double* S,
                       double* W) {
  const int32_t n = cone_n->nrows;
  memset(W, 0, (size_t)n * (size_t)ncols * sizeof *W);
  for (int32_t r = 0; r < n; ++r) {
    for (int32_t k = 0; k < n; ++k) {
      const double g = cone_n->G[k * n + r];
      for (int32_t i = 0; g != 0.0 && i < ncols; ++i) {
        W[r * ncols + i] += g * J[k * ncols + i];
      }
    }
  }
  for (int32_t j = 0; j < ncols; ++j) {
    double* Sj = S + (size_t)j * (size_t)ncols;
    for (int32_t r = 0; r < n; ++r) {
      const double w = W[r * ncols + j];
      for (int32_t i = j; i < ncols; ++i) {
        Sj[i] += J[r * ncols + i] * w;
      }
    }
  }
}

// Adds all active cones of n rows to S; returns false, S unchanged, if none is active.
static bool add_cones_n(const sap_newton* n, const sap_patch* patch, double* S, double* W) {
  const size_t ncols = (size_t)patch->ncols;
  const double* J = n->jacobian + patch->jacobian;
  bool active = false;
  for (int32_t k = patch->first; k < patch->first + patch->count; ++k) {
    const sap_cone_n* cone_n = &n->cones_n[k];
    if (cone_n->G[SAP_NORMAL_ROW * (cone_n->nrows + 1)] != 0.0 || cone_n->cone.potential != NULL) {
      if (!active) {
        memset(S, 0, ncols * ncols * sizeof *S);
        active = true;
      }
      add_cone_n(cone_n, J, patch->ncols, S, W);
    }
    J += (size_t)cone_n->nrows * ncols;
  }
  return active;
}

// Adds S to the blocks of the patch's tree pairs, run by run.
static void scatter_runs(const sap_newton* n, const sap_patch* patch, const double* S) {
  const int32_t* trees = n->patch_trees + patch->first_tree;
  const size_t* pair = n->pattern.pair_values + patch->first_pair;
  const sap_run* const end = n->runs + patch->first_run + patch->nruns;
  int32_t column = 0;
  for (const sap_run* k = end - patch->nruns; k < end; column += k->count, ++k) {
    const size_t pair_k = (size_t)k->tree * (size_t)(2 * patch->ntrees - k->tree + 1) / 2;
    const int32_t offset_k = k->velocity - n->start[trees[k->tree]];
    int32_t row = column;
    for (const sap_run* l = k; l < end; row += l->count, ++l) {
      const int32_t offset_l = l->velocity - n->start[trees[l->tree]];
      const int32_t size_l = n->size[trees[l->tree]];
      const sap_patch_part part = {.S = S + (size_t)column * (size_t)patch->ncols + row,
                                   .H = n->values + pair[pair_k + (size_t)(l->tree - k->tree)] +
                                        offset_k * size_l + offset_l,
                                   .ncols = patch->ncols,
                                   .size = size_l,
                                   .rows = l->count,
                                   .columns = k->count,
                                   .is_triangle = l == k};
      n->kernels->add_part(&part);
    }
  }
}

static void copy_momentum(sap_newton* n) {
  const sap_problem* p = n->problem;
  if (n->ntrees > 1) {  // the only block of one tree is overwritten
    memset(n->values, 0, n->pattern.nvalues * sizeof(double));
  }
  for (int32_t t = 0; t < n->ntrees; ++t) {
    const size_t size = (size_t)n->size[t];
    memcpy(n->values + n->pattern.value_start[n->pattern.column_start[t]],
           p->diagonal + p->diagonal_start[n->trees[t]], size * size * sizeof(double));
  }
  for (int32_t c = 0; c < n->ncouplings; ++c) {
    const sap_coupling* coupling = &p->couplings[n->couplings[c]];
    const int32_t a = n->local[coupling->tree_a], b = n->local[coupling->tree_b];
    sap_pair_copy(a, b, p->coupling_values + coupling->values, n->size[a], n->size[b],
                  n->values + n->pattern.pair_values[n->coupling_pair[c]]);
  }
}

void sap_newton_assemble(sap_newton* n, bool with_constraints) {
  copy_momentum(n);
  double* S = n->scratch;
  double* W = S + (size_t)n->largest_patch * (size_t)n->largest_patch;
  for (int32_t q = 0; with_constraints && q < n->npatches; ++q) {
    const sap_patch* patch = &n->patches[q];
    if (patch->velocity >= 0) {
      add_single(n, patch);
      continue;
    }
    if (patch->kind == SAP_PATCH_INTERVALS && sap_patch_has_triples(patch)) {
      add_triples(n, patch);
      continue;
    }
    const bool active = patch->kind == SAP_PATCH_CONES     ? add_cones(n, patch, S, W)
                        : patch->kind == SAP_PATCH_CONES_N ? add_cones_n(n, patch, S, W)
                                                           : add_intervals(n, patch, S);
    if (active) {
      scatter_runs(n, patch, S);
    }
  }
}
