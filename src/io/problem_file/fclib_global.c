// SPDX-License-Identifier: BSD-3-Clause
// Reads and writes global problems of FCLIB files.
//   M v = H r + G l + f,  u = H' v + w,  0 = G' v + b
//   A = M,  v* = M^-1 f,  v_hat = -w
// If M is not symmetric (some files hold one triangle), the problem stores M^-1 as a mobility.
#include "io/problem_file/fclib_file.h"

#include <math.h>
#include <string.h>

#include <lapacke.h>

#include "linalg/dense.h"

// Datasets of the rows of each kind.
static const struct {
  const char *J, *R, *v_hat;
} names[SAP_FCLIB_KINDS] = {
    {"fclib_global/H", "fclib_global/vectors/R", "fclib_global/vectors/w"},
    {"fclib_global/G", "sapstep/G_R", "fclib_global/vectors/b"},
    {"sapstep/K", "sapstep/K_R", "sapstep/K_v_hat"},
};

// --- momentum -----------------------------------------------------------------------------------

// Tolerance of |M_ij - M_ji|/sqrt(M_ii M_jj) [-] for a symmetric M: far above the round-off of
// assembled matrices, far below any mistake.
static const double SYMMETRY_TOLERANCE = 1e-8;

// Copies block (a, b) of M.
static void gather_block(const sap_fclib_global* g, int32_t a, int32_t b, double* block) {
  sap_fclib_gather(&g->M, g->tree_start[a], g->tree_sizes.values[a], g->tree_start[b],
                   g->tree_sizes.values[b], block);
}

static double entry(const sap_fclib_matrix* M, int32_t i, int32_t j) {
  double x;
  sap_fclib_gather(M, i, 1, j, 1, &x);
  return x;
}

static sap_status check_symmetric(const sap_fclib_file* file, const sap_fclib_matrix* M,
                                  bool* symmetric) {
  *symmetric = true;
  for (int32_t j = 0; j < M->ncols; ++j) {
    const double mass = entry(M, j, j);
    SAP_RETURN_IF(!(mass > 0.0), sap_fclib_fail(file, SAP_STATUS_NOT_SPD, "fclib_global/M",
                                                "(%d, %d) = %g must be > 0", j, j, mass));
    for (int32_t k = M->start[j]; k < M->start[j + 1]; ++k) {
      const int32_t i = M->row[k];
      const double scale = sqrt(fabs(entry(M, i, i))) * sqrt(mass), x = entry(M, j, i);
      if (!(fabs(M->x[k] - x) <= SYMMETRY_TOLERANCE * scale)) {
        *symmetric = false;
      }
    }
  }
  return SAP_STATUS_OK;
}

static sap_status fail_tree(const sap_fclib_file* file, const sap_fclib_global* g, int32_t tree,
                            const char* why) {
  return sap_fclib_fail(file, SAP_STATUS_NOT_SPD, "fclib_global/M", "%s in its rows %d to %d", why,
                        g->tree_start[tree], g->tree_start[tree + 1] - 1);
}

// Sets the couplings between tree a and later trees, each once.
static sap_status set_couplings(const sap_fclib_file* file, const sap_fclib_global* g, int32_t a,
                                double* block, sap_problem* problem) {
  int32_t last = a;  // rows ascend within a column, but trees repeat from column to column
  for (int32_t k = g->M.start[g->tree_start[a]]; k < g->M.start[g->tree_start[a + 1]]; ++k) {
    const int32_t b = g->tree_of[g->M.row[k]];
    if (b > a && b != last && sap_problem_momentum_block(problem, b, a) == NULL) {
      last = b;
      gather_block(g, b, a, block);
      SAP_TRY(sap_problem_set_momentum_block(problem, b, a, block, g->tree_sizes.values[b],
                                             file->error));
    }
  }
  return SAP_STATUS_OK;
}

// Sets the tree's block of A, and its v* = A^-1 f unless the file has it.
static sap_status set_tree(const sap_fclib_file* file, sap_fclib_global* g, int32_t tree,
                           double* block, sap_problem* problem) {
  const int32_t n = g->tree_sizes.values[tree];
  gather_block(g, tree, tree, block);
  SAP_TRY(sap_problem_set_momentum_block(problem, tree, tree, block, n, file->error));
  SAP_TRY(set_couplings(file, g, tree, block, problem));
  if (sap_fclib_has(file, "sapstep/v_star")) {
    return SAP_STATUS_OK;
  }
  gather_block(g, tree, tree, block);
  SAP_RETURN_IF(sap_dense_factorize(n, block) >= 0,
                fail_tree(file, g, tree, "is not positive definite"));
  sap_dense_factor_solve(n, block, g->v_star.values + g->tree_start[tree]);
  return SAP_STATUS_OK;
}

// Sets the tree's block of M^-1 as mobility, and computes its v*.
static sap_status set_inverse(sap_fclib_file* file, sap_fclib_global* g, int32_t tree,
                              double* block, sap_problem* problem) {
  const int32_t n = g->tree_sizes.values[tree], first = g->tree_start[tree];
  lapack_int* pivots;
  double* work;
  SAP_TRY(SAP_POOL_ADD_ALL(&file->pool, file->error, SAP_ARRAY(&pivots, n), SAP_ARRAY(&work, n)));
  gather_block(g, tree, tree, block);
  SAP_RETURN_IF(LAPACKE_dgetrf_work(LAPACK_COL_MAJOR, n, n, block, n, pivots) != 0 ||
                    LAPACKE_dgetri_work(LAPACK_COL_MAJOR, n, block, n, pivots, work, n) != 0,
                fail_tree(file, g, tree, "is singular"));
  SAP_TRY(sap_problem_set_mobility_block(problem, tree, tree, block, n, file->error));
  for (int32_t i = 0; i < n; ++i) {
    double sum = 0.0;
    for (int32_t j = 0; j < n; ++j) {
      sum += block[(size_t)j * (size_t)n + (size_t)i] * g->f.values[first + j];
    }
    g->v_star.values[first + i] = sum;
  }
  return SAP_STATUS_OK;
}

// Sets A, or its inverse if M is not symmetric, and computes v* unless the file has it. v_star
// holds f on entry.
static sap_status set_momentum(sap_fclib_file* file, sap_fclib_global* g, sap_problem* problem) {
  bool symmetric;
  size_t largest = 1;
  double* block;
  SAP_TRY(check_symmetric(file, &g->M, &symmetric));
  SAP_RETURN_IF(!symmetric && g->exact,
                sap_fclib_fail(file, SAP_STATUS_NOT_SPD, "fclib_global/M", "is not symmetric"));
  for (int32_t t = 0; t < g->tree_sizes.count; ++t) {
    const size_t n = (size_t)g->tree_sizes.values[t];
    largest = n > largest ? n : largest;
  }
  SAP_TRY(SAP_FCLIB_ADD(file, &block, largest * largest));
  for (int32_t t = 0; t < g->tree_sizes.count; ++t) {
    SAP_TRY(symmetric ? set_tree(file, g, t, block, problem)
                      : set_inverse(file, g, t, block, problem));
  }
  return SAP_STATUS_OK;
}

// --- reading ------------------------------------------------------------------------------------

// Reads the rows of one kind. All but cones may be absent from the file.
static sap_status read_rows(sap_fclib_file* file, sap_fclib_global* g, int kind) {
  sap_fclib_rows* rows = &g->rows[kind];
  const int64_t expected = kind == SAP_FCLIB_CONES ? 3 * (int64_t)g->mu.count : SAP_FCLIB_ANY;
  if (kind != SAP_FCLIB_CONES && !sap_fclib_has(file, names[kind].J)) {
    return sap_fclib_start_matrix(file, g->f.count, 0, 0, &rows->J);
  }
  SAP_TRY(sap_fclib_read_reals(file, names[kind].v_hat, expected, &rows->v_hat));
  const int32_t n = rows->v_hat.count;
  SAP_TRY(sap_fclib_read_matrix(file, names[kind].J, g->f.count, n, &rows->J));
  if (kind == SAP_FCLIB_CONES) {
    return sap_fclib_read_R(file, "fclib_global", g->mu.count, &rows->R);
  }
  if (kind == SAP_FCLIB_FREE && !sap_fclib_has(file, names[kind].R)) {
    return sap_fclib_zeros(file, n, &rows->R);
  }
  SAP_TRY(sap_fclib_read_reals(file, names[kind].R, n, &rows->R));
  if (kind == SAP_FCLIB_OTHER) {
    SAP_TRY(sap_fclib_read_bounds(file, "sapstep/K_lower", n, &g->lower));
    SAP_TRY(sap_fclib_read_bounds(file, "sapstep/K_upper", n, &g->upper));
    if (!sap_fclib_has(file, "sapstep/K_friction")) {
      return sap_fclib_zeros(file, n, &g->friction);
    }
    SAP_TRY(sap_fclib_read_reals(file, "sapstep/K_friction", n, &g->friction));
  }
  return SAP_STATUS_OK;
}

// Changes w and b of the file to v_hat in our order of rows.
static void turn_v_hat(sap_fclib_global* g) {
  double* w = g->rows[SAP_FCLIB_CONES].v_hat.values;
  double* b = g->rows[SAP_FCLIB_FREE].v_hat.values;
  for (int32_t i = 0; i < 3 * g->mu.count; i += 3) {
    const double v_hat[3] = {-w[i + 1], -w[i + 2], -w[i]};
    memcpy(w + i, v_hat, sizeof v_hat);
  }
  for (int32_t i = 0; i < g->rows[SAP_FCLIB_FREE].v_hat.count; ++i) {
    b[i] = -b[i];
  }
}

static sap_status read_all(sap_fclib_file* file, sap_fclib_global* g) {
  SAP_TRY(sap_fclib_read_contacts(file, "fclib_global", &g->mu));
  SAP_TRY(sap_fclib_read_reals(file, "fclib_global/vectors/f", SAP_FCLIB_ANY, &g->f));
  const int32_t nv = g->f.count;
  SAP_TRY(sap_fclib_read_matrix(file, "fclib_global/M", nv, nv, &g->M));
  for (int kind = 0; kind < SAP_FCLIB_KINDS; ++kind) {
    SAP_TRY(read_rows(file, g, kind));
  }
  turn_v_hat(g);
  SAP_TRY(sap_fclib_find_trees(file, g));
  return sap_fclib_find_blocks(file, g);
}

sap_status sap_fclib_read_global(sap_fclib_file* file, sap_problem* problem) {
  sap_fclib_global g = {0};
  double dt = 1.0;
  SAP_TRY(read_all(file, &g));
  SAP_TRY(sap_fclib_read_dt(file, &dt));
  SAP_TRY(sap_problem_reset(problem, dt, g.tree_sizes.count, g.tree_sizes.values, file->error));
  SAP_TRY(sap_fclib_zeros(file, g.f.count, &g.v_star));
  memcpy(g.v_star.values, g.f.values, (size_t)g.f.count * sizeof(double));
  SAP_TRY(set_momentum(file, &g, problem));
  if (sap_fclib_has(file, "sapstep/v_star")) {
    SAP_TRY(sap_fclib_read_reals(file, "sapstep/v_star", g.f.count, &g.v_star));
  }
  SAP_TRY(sap_problem_set_v_star(problem, g.v_star.values, file->error));
  if (sap_fclib_has(file, "sapstep/v_guess")) {
    SAP_TRY(sap_fclib_read_reals(file, "sapstep/v_guess", g.f.count, &g.v_guess));
    SAP_TRY(sap_problem_set_v_guess(problem, g.v_guess.values, file->error));
  }
  return sap_fclib_add_blocks(file, &g, problem);
}

// --- writing ------------------------------------------------------------------------------------

// Allocates what the blocks need. Entries of J are counted with their zeros, which are omitted.
static sap_status start_blocks(sap_fclib_file* file, const sap_problem* problem,
                               sap_fclib_global* g) {
  const int32_t nblocks = sap_problem_block_count(problem);
  int64_t rows[SAP_FCLIB_KINDS] = {0}, entries[SAP_FCLIB_KINDS] = {0}, ntrees = 0;
  for (int32_t b = 0; b < nblocks; ++b) {
    sap_block block;
    SAP_TRY(sap_problem_block(problem, b, &block, NULL, file->error));
    const int kind = sap_fclib_kind(block.set, block.nrows);
    SAP_FAIL_IF(block.set > SAP_SET_FREE, file->error, SAP_STATUS_UNSUPPORTED,
                "block %d: files hold no contacts with a potential", b);
    rows[kind] += block.nrows;
    ntrees += block.ntrees;
    for (int32_t t = 0; t < block.ntrees; ++t) {
      entries[kind] += (int64_t)block.nrows * sap_problem_tree_size(problem, block.trees[t]);
    }
  }
  const int32_t nv = sap_problem_velocity_count(problem);
  for (int kind = 0; kind < SAP_FCLIB_KINDS; ++kind) {
    sap_fclib_rows* r = &g->rows[kind];
    SAP_TRY(sap_fclib_start_matrix(file, nv, (int32_t)rows[kind], entries[kind], &r->J));
    SAP_TRY(SAP_FCLIB_ADD(file, &r->R.values, rows[kind]));
    SAP_TRY(SAP_FCLIB_ADD(file, &r->v_hat.values, rows[kind]));
  }
  SAP_TRY(SAP_FCLIB_ADD(file, &g->mu.values, rows[SAP_FCLIB_CONES] / 3));
  SAP_TRY(SAP_FCLIB_ADD(file, &g->lower.values, rows[SAP_FCLIB_OTHER]));
  SAP_TRY(SAP_FCLIB_ADD(file, &g->upper.values, rows[SAP_FCLIB_OTHER]));
  SAP_TRY(SAP_FCLIB_ADD(file, &g->friction.values, rows[SAP_FCLIB_OTHER]));
  SAP_TRY(SAP_FCLIB_ADD(file, &g->keys, nblocks));
  SAP_TRY(SAP_FCLIB_ADD(file, &g->block_trees.values, ntrees));
  return SAP_FCLIB_ADD(file, &g->blocks.values, (size_t)SAP_FCLIB_FIELDS * (size_t)nblocks);
}

static sap_status start_trees(sap_fclib_file* file, const sap_problem* p, sap_fclib_global* g) {
  const int32_t ntrees = sap_problem_tree_count(p);
  int64_t entries = 0;
  g->tree_sizes.count = ntrees;
  SAP_TRY(SAP_FCLIB_ADD(file, &g->tree_start, (size_t)ntrees + 1));
  SAP_TRY(SAP_FCLIB_ADD(file, &g->tree_sizes.values, ntrees));
  for (int32_t b = 0; b < ntrees; ++b) {
    const int32_t nb = sap_problem_tree_size(p, b);
    SAP_FAIL_IF(sap_problem_momentum_block(p, b, b) == NULL, file->error, SAP_STATUS_ARGUMENT,
                "A of tree %d is not set", b);
    g->tree_sizes.values[b] = nb;
    g->tree_start[b + 1] = g->tree_start[b] + nb;
    for (int32_t a = 0; a < ntrees; ++a) {
      const bool coupled = sap_problem_momentum_block(p, a, b) != NULL ||
                           sap_problem_momentum_block(p, b, a) != NULL;
      entries += coupled ? (int64_t)nb * sap_problem_tree_size(p, a) : 0;
    }
  }
  const int32_t nv = g->tree_start[ntrees];
  SAP_TRY(sap_fclib_zeros(file, nv, &g->f));
  return sap_fclib_start_matrix(file, nv, nv, entries, &g->M);
}

// Gathers M by columns, and f = A v*. Diagonal blocks are dense; absent couplings are omitted. A's
// block (a, b) is stored, or its transpose (b, a).
static void gather_momentum(const sap_problem* p, sap_fclib_global* g) {
  const double* v = sap_problem_v_star(p);
  for (int32_t b = 0; b < g->tree_sizes.count; ++b) {
    const int32_t nb = g->tree_sizes.values[b];
    for (int32_t j = 0; j < nb; ++j) {
      for (int32_t a = 0; a < g->tree_sizes.count; ++a) {
        const double* block = sap_problem_momentum_block(p, a, b);
        const double* transpose = block == NULL ? sap_problem_momentum_block(p, b, a) : NULL;
        const int32_t na = g->tree_sizes.values[a];
        for (int32_t i = 0; i < na && (block != NULL || transpose != NULL); ++i) {
          const double x = block != NULL ? block[(size_t)j * (size_t)na + (size_t)i]
                                         : transpose[(size_t)i * (size_t)nb + (size_t)j];
          g->f.values[g->tree_start[a] + i] += x * v[g->tree_start[b] + j];
          sap_fclib_append(&g->M, g->tree_start[a] + i, x);
        }
      }
      sap_fclib_end_column(&g->M);
    }
  }
}

// Appends a row of the block's Jacobian as a column.
static void append_row(const sap_fclib_global* g, const sap_block* block, int32_t row,
                       sap_fclib_matrix* out) {
  for (int32_t t = 0; t < block->ntrees; ++t) {
    const int32_t tree = block->trees[t];
    for (int32_t i = 0; i < g->tree_sizes.values[tree]; ++i) {
      const double x = block->jacobians[t][(size_t)i * (size_t)block->nrows + (size_t)row];
      if (x != 0.0 || signbit(x) != 0) {  // keep -0
        sap_fclib_append(out, g->tree_start[tree] + i, x);
      }
    }
  }
  sap_fclib_end_column(out);
}

static void append_block(const sap_block* block, sap_fclib_global* g) {
  const int kind = sap_fclib_kind(block->set, block->nrows);
  sap_fclib_rows* rows = &g->rows[kind];
  int32_t* table = g->blocks.values + g->blocks.count;
  g->keys[g->blocks.count / SAP_FCLIB_FIELDS] = block->key;
  g->blocks.count += SAP_FCLIB_FIELDS;
  table[SAP_FCLIB_SET] = (int32_t)block->set;
  table[SAP_FCLIB_NROWS] = block->nrows;
  table[SAP_FCLIB_NTREES] = block->ntrees;
  for (int32_t t = 0; t < block->ntrees; ++t) {
    g->block_trees.values[g->block_trees.count++] = block->trees[t];
  }
  if (kind == SAP_FCLIB_CONES) {
    g->mu.values[g->mu.count++] = block->friction;
  }
  for (int32_t i = 0; i < block->nrows; ++i) {
    const int32_t row = kind == SAP_FCLIB_CONES ? sap_fclib_row(i) : i;
    const double v_hat = block->v_hat[row];
    rows->v_hat.values[rows->v_hat.count++] = kind == SAP_FCLIB_OTHER ? v_hat : -v_hat;
    rows->R.values[rows->R.count++] = block->R[row];
    if (block->set == SAP_SET_BOX) {
      g->lower.values[rows->J.ncols] = block->lower[i];
      g->upper.values[rows->J.ncols] = block->upper[i];
    }
    if (kind == SAP_FCLIB_OTHER) {
      g->friction.values[rows->J.ncols] = block->friction;
    }
    append_row(g, block, row, &rows->J);
  }
}

static bool put_all(const sap_fclib_file* file, const sap_problem* p, const sap_fclib_global* g) {
  static const int32_t spacedim = 3;
  const int32_t nv = g->f.count, nother = g->rows[SAP_FCLIB_OTHER].J.ncols;
  const double dt = sap_problem_dt(p);
  bool good = SAP_FCLIB_PUT(file, "fclib_global/spacedim", 1, &spacedim) &&
              sap_fclib_put_matrix(file, "fclib_global/M", &g->M) &&
              SAP_FCLIB_PUT(file, "fclib_global/vectors/f", g->f.count, g->f.values) &&
              SAP_FCLIB_PUT(file, "fclib_global/vectors/mu", g->mu.count, g->mu.values);
  for (int kind = 0; kind < SAP_FCLIB_KINDS && good; ++kind) {
    const sap_fclib_rows* rows = &g->rows[kind];
    good = (kind != SAP_FCLIB_CONES && rows->J.ncols == 0) ||
           (sap_fclib_put_matrix(file, names[kind].J, &rows->J) &&
            SAP_FCLIB_PUT(file, names[kind].R, rows->R.count, rows->R.values) &&
            SAP_FCLIB_PUT(file, names[kind].v_hat, rows->v_hat.count, rows->v_hat.values));
  }
  return good && SAP_FCLIB_PUT(file, "sapstep/dt", 1, &dt) &&
         SAP_FCLIB_PUT(file, "sapstep/tree_sizes", g->tree_sizes.count, g->tree_sizes.values) &&
         SAP_FCLIB_PUT(file, "sapstep/v_star", nv, sap_problem_v_star(p)) &&
         SAP_FCLIB_PUT(file, "sapstep/v_guess", nv, sap_problem_v_guess(p)) &&
         SAP_FCLIB_PUT(file, "sapstep/blocks", g->blocks.count, g->blocks.values) &&
         SAP_FCLIB_PUT(file, "sapstep/block_trees", g->block_trees.count, g->block_trees.values) &&
         SAP_FCLIB_PUT(file, "sapstep/keys", sap_problem_block_count(p), g->keys) &&
         (nother == 0 || (SAP_FCLIB_PUT(file, "sapstep/K_friction", nother, g->friction.values) &&
                          SAP_FCLIB_PUT(file, "sapstep/K_lower", nother, g->lower.values) &&
                          SAP_FCLIB_PUT(file, "sapstep/K_upper", nother, g->upper.values)));
}

// Writes a problem as /fclib_global, and in /sapstep the data that restore it bit by bit.
sap_status sap_fclib_put_global(sap_fclib_file* file, const sap_problem* problem) {
  sap_fclib_global g = {0};
  SAP_TRY(start_trees(file, problem, &g));
  SAP_TRY(start_blocks(file, problem, &g));
  gather_momentum(problem, &g);
  for (int32_t b = 0; b < sap_problem_block_count(problem); ++b) {
    sap_block block;
    SAP_TRY(sap_problem_block(problem, b, &block, NULL, file->error));
    append_block(&block, &g);
  }
  return put_all(file, problem, &g)
             ? SAP_STATUS_OK
             : sap_fail(file->error, SAP_STATUS_INTERNAL, "HDF5 could not store the problem");
}
