// SPDX-License-Identifier: BSD-3-Clause
// Reads and writes local problems of FCLIB files, u = W r + q.
//   one tree of three velocities u per contact,  J = I,  v* = q,  A^-1 = W
// Bilateral rows (V, R, s), if any, are one more tree.
#include "io/problem_file/fclib_file.h"

#include <math.h>
#include <string.h>

static const double zero[9] = {0.0};

typedef struct local {
  sap_fclib_reals mu, q, s, R;
  sap_fclib_matrix W, V, S;  // S: FCLIB's R
  int32_t ncontacts, nfree;
} local;

static size_t square(int32_t n) {
  return (size_t)n * (size_t)n;
}

// --- reading ------------------------------------------------------------------------------------

static sap_status read_all(sap_fclib_file* file, local* l) {
  SAP_TRY(sap_fclib_read_contacts(file, "fclib_local", &l->mu));
  l->ncontacts = l->mu.count;
  const int32_t n = 3 * l->ncontacts;
  SAP_TRY(sap_fclib_read_reals(file, "fclib_local/vectors/q", n, &l->q));
  SAP_TRY(sap_fclib_read_matrix(file, "fclib_local/W", n, n, &l->W));
  SAP_TRY(sap_fclib_read_R(file, "fclib_local", l->ncontacts, &l->R));
  if (!sap_fclib_has(file, "fclib_local/V")) {
    return SAP_STATUS_OK;
  }
  SAP_TRY(sap_fclib_read_reals(file, "fclib_local/vectors/s", SAP_FCLIB_ANY, &l->s));
  l->nfree = l->s.count;
  SAP_TRY(sap_fclib_read_matrix(file, "fclib_local/V", n, l->nfree, &l->V));
  return sap_fclib_read_matrix(file, "fclib_local/R", l->nfree, l->nfree, &l->S);
}

static sap_status start_problem(sap_fclib_file* file, const local* l, sap_problem* problem) {
  const int32_t nc = l->ncontacts, ntrees = nc + (l->nfree > 0 ? 1 : 0);
  double dt, *v_star;
  int32_t* tree_sizes;
  SAP_TRY(sap_fclib_read_dt(file, &dt));
  SAP_TRY(SAP_FCLIB_ADD(file, &tree_sizes, (size_t)nc + 1));
  SAP_TRY(SAP_FCLIB_ADD(file, &v_star, 3 * (size_t)nc + (size_t)l->nfree));
  for (int32_t c = 0; c < nc; ++c) {
    tree_sizes[c] = 3;
    for (int32_t k = 0; k < 3; ++k) {
      v_star[3 * c + sap_fclib_row(k)] = l->q.values[3 * c + k];
    }
  }
  tree_sizes[nc] = l->nfree;
  if (l->nfree > 0) {
    memcpy(v_star + 3 * (size_t)nc, l->s.values, (size_t)l->nfree * sizeof(double));
  }
  SAP_TRY(sap_problem_reset(problem, dt, ntrees, tree_sizes, file->error));
  for (int32_t c = 0; c < nc; ++c) {
    SAP_TRY(sap_problem_set_mobility_block(problem, c, c, zero, 3, file->error));
  }
  return sap_problem_set_v_star(problem, v_star, file->error);
}

// Sets block (a, b), and block (b, a) to zero if it is not set yet.
static sap_status set_block(sap_problem* problem, int32_t a, int32_t b, const double* block,
                            sap_error* error) {
  const bool first = a != b && sap_problem_mobility_block(problem, a, b) == NULL;
  SAP_TRY(sap_problem_set_mobility_block(problem, a, b, block, 3, error));
  return first ? sap_problem_set_mobility_block(problem, b, a, zero, 3, error) : SAP_STATUS_OK;
}

// Sets the blocks of W, column by column of blocks.
static sap_status set_mobility(sap_fclib_file* file, const local* l, sap_problem* problem) {
  int32_t *mark, *list;  // 1 + position of a contact's block in the column's, 0: none; contacts
  double* blocks;
  SAP_TRY(SAP_FCLIB_ADD(file, &mark, l->ncontacts));
  SAP_TRY(SAP_FCLIB_ADD(file, &list, l->ncontacts));
  SAP_TRY(SAP_FCLIB_ADD(file, &blocks, 9 * (size_t)l->ncontacts));
  for (int32_t contact = 0; contact < l->ncontacts; ++contact) {
    int32_t count = 0;
    for (int32_t j = 3 * contact; j < 3 * contact + 3; ++j) {
      for (int32_t k = l->W.start[j]; k < l->W.start[j + 1]; ++k) {
        const int32_t row = l->W.row[k], other = row / 3;
        if (mark[other] == 0) {
          memset(blocks + 9 * (size_t)count, 0, 9 * sizeof(double));
          list[count] = other;
          mark[other] = ++count;
        }
        blocks[9 * (mark[other] - 1) + 3 * sap_fclib_row(j % 3) + sap_fclib_row(row % 3)] =
            l->W.x[k];
      }
    }
    for (int32_t i = 0; i < count; ++i) {
      SAP_TRY(set_block(problem, list[i], contact, blocks + 9 * (size_t)i, file->error));
      mark[list[i]] = 0;
    }
  }
  return SAP_STATUS_OK;
}

// Sets the dense blocks of the last tree, V' r + R l + s.
static sap_status set_free(sap_fclib_file* file, const local* l, sap_problem* problem) {
  const int32_t n = l->nfree, nc = l->ncontacts;
  double *block, *part;
  SAP_TRY(SAP_FCLIB_ADD(file, &block, square(n)));
  SAP_TRY(SAP_FCLIB_ADD(file, &part, 3 * (size_t)n));
  for (int32_t j = 0; j < n; ++j) {
    for (int32_t k = l->S.start[j]; k < l->S.start[j + 1]; ++k) {
      block[(size_t)j * (size_t)n + (size_t)l->S.row[k]] = l->S.x[k];
    }
  }
  SAP_TRY(sap_problem_set_mobility_block(problem, nc, nc, block, n, file->error));
  for (int32_t c = 0; c < nc; ++c) {
    memset(part, 0, 3 * (size_t)n * sizeof(double));
    bool any = false;
    for (int32_t j = 0; j < n; ++j) {
      for (int32_t k = l->V.start[j]; k < l->V.start[j + 1]; ++k) {
        if (l->V.row[k] / 3 == c) {
          part[3 * (size_t)j + (size_t)sap_fclib_row(l->V.row[k] % 3)] = l->V.x[k];
          any = true;
        }
      }
    }
    if (any) {
      SAP_TRY(sap_problem_set_mobility_block(problem, c, nc, part, 3, file->error));
    }
  }
  return SAP_STATUS_OK;
}

static sap_status add_contacts(sap_fclib_file* file, const local* l, sap_problem* problem) {
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
    SAP_TRY(sap_problem_add_block(problem, &block, file->error));
  }
  return SAP_STATUS_OK;
}

static sap_status add_free(sap_fclib_file* file, const local* l, sap_problem* problem) {
  const size_t n = (size_t)l->nfree;
  double *identity, *zeros;
  SAP_TRY(SAP_FCLIB_ADD(file, &identity, n * n));
  SAP_TRY(SAP_FCLIB_ADD(file, &zeros, n));
  for (size_t i = 0; i < n; ++i) {
    identity[i * n + i] = 1.0;
  }
  const double* J = identity;
  const sap_block block = {.set = SAP_SET_FREE,
                           .nrows = l->nfree,
                           .ntrees = 1,
                           .trees = &l->ncontacts,
                           .jacobians = &J,
                           .R = zeros,
                           .v_hat = zeros};
  return sap_problem_add_block(problem, &block, file->error);
}

sap_status sap_fclib_read_local(sap_fclib_file* file, sap_problem* problem) {
  local l = {0};
  SAP_TRY(read_all(file, &l));
  SAP_TRY(start_problem(file, &l, problem));
  SAP_TRY(set_mobility(file, &l, problem));
  if (l.nfree == 0) {
    return add_contacts(file, &l, problem);
  }
  SAP_FAIL_IF(square(l.nfree) > INT32_MAX, file->error, SAP_STATUS_MEMORY,
              "%d bilateral rows are too many", l.nfree);
  SAP_TRY(set_free(file, &l, problem));
  SAP_TRY(add_contacts(file, &l, problem));
  return add_free(file, &l, problem);
}

// --- writing ------------------------------------------------------------------------------------

static bool is_identity(const double* J, int32_t n) {
  for (int32_t j = 0; j < n; ++j) {
    for (int32_t i = 0; i < n; ++i) {
      if (J[(size_t)j * (size_t)n + (size_t)i] != (i == j ? 1.0 : 0.0)) {
        return false;
      }
    }
  }
  return true;
}

// Checks that the problem has the local form: a block per tree, J = I, v_hat = 0; friction cones,
// then at most one rigid free block. Counts the contacts.
static sap_status check_local(const sap_problem* problem, int32_t* ncontacts, sap_error* error) {
  const int32_t nblocks = sap_problem_block_count(problem);
  *ncontacts = nblocks;
  SAP_FAIL_IF(nblocks != sap_problem_tree_count(problem), error, SAP_STATUS_UNSUPPORTED,
              "FCLIB's local form has a block for each tree, not %d for %d", nblocks,
              sap_problem_tree_count(problem));
  for (int32_t b = 0; b < nblocks; ++b) {
    sap_block block;
    SAP_TRY(sap_problem_block(problem, b, &block, NULL, error));
    const bool cone = block.set == SAP_SET_FRICTION_CONE && block.nrows == 3;
    const bool last = block.set == SAP_SET_FREE && b == nblocks - 1;
    bool fits = (cone || last) && block.ntrees == 1 && block.trees[0] == b &&
                sap_problem_tree_size(problem, b) == block.nrows &&
                is_identity(block.jacobians[0], block.nrows);
    for (int32_t i = 0; i < block.nrows && fits; ++i) {
      fits = block.v_hat[i] == 0.0 && (cone || block.R[i] == 0.0);
    }
    SAP_FAIL_IF(!fits, error, SAP_STATUS_UNSUPPORTED,
                "block %d: FCLIB's local form holds friction cones of 3 rows, and rigid free "
                "rows last, on a tree of their own with J = I and v_hat = 0",
                b);
    *ncontacts -= cone ? 0 : 1;
  }
  return SAP_STATUS_OK;
}

static int32_t our_row(bool contact, int32_t component) {
  return contact ? sap_fclib_row(component) : component;
}

// Gathers the columns of trees [columns[0], columns[1]) in the rows of trees [rows[0], rows[1]).
static sap_status gather_columns(sap_fclib_file* file, const sap_problem* problem,
                                 int32_t ncontacts, const int32_t columns[2], const int32_t rows[2],
                                 sap_fclib_matrix* out) {
  int64_t entries = 0;
  int32_t nrows = 0, ncols = 0;
  for (int32_t b = columns[0]; b < columns[1]; ++b) {
    ncols += sap_problem_tree_size(problem, b);
    for (int32_t a = rows[0]; a < rows[1]; ++a) {
      const bool set = sap_problem_mobility_block(problem, a, b) != NULL;
      entries +=
          set ? (int64_t)sap_problem_tree_size(problem, a) * sap_problem_tree_size(problem, b) : 0;
    }
  }
  for (int32_t a = rows[0]; a < rows[1]; ++a) {
    nrows += sap_problem_tree_size(problem, a);
  }
  SAP_TRY(sap_fclib_start_matrix(file, nrows, ncols, entries, out));
  for (int32_t b = columns[0]; b < columns[1]; ++b) {
    for (int32_t j = 0; j < sap_problem_tree_size(problem, b); ++j) {
      int32_t first = 0;
      for (int32_t a = rows[0]; a < rows[1]; ++a) {
        const double* block = sap_problem_mobility_block(problem, a, b);
        const int32_t na = sap_problem_tree_size(problem, a);
        const size_t column = (size_t)our_row(b < ncontacts, j);
        for (int32_t i = 0; i < na && block != NULL; ++i) {
          const double x = block[column * (size_t)na + (size_t)our_row(a < ncontacts, i)];
          if (x != 0.0 || signbit(x) != 0) {  // keep -0
            sap_fclib_append(out, first + i, x);
          }
        }
        first += na;
      }
      sap_fclib_end_column(out);
    }
  }
  return SAP_STATUS_OK;
}

// Writes mu, R and q in FCLIB's order, keys and dt.
static sap_status put_vectors(sap_fclib_file* file, const sap_problem* problem, int32_t nc,
                              bool* good) {
  static const int32_t spacedim = 3;
  const double* v_star = sap_problem_v_star(problem);
  const double dt = sap_problem_dt(problem);
  double *q, *R, *mu;
  uint64_t* keys;
  bool any_R = false;
  SAP_TRY(SAP_POOL_ADD_ALL(&file->pool, file->error, SAP_ARRAY(&q, 3 * (size_t)nc),
                           SAP_ARRAY(&R, 3 * (size_t)nc), SAP_ARRAY(&mu, nc),
                           SAP_ARRAY(&keys, nc)));
  for (int32_t c = 0; c < nc; ++c) {
    sap_block block;
    (void)sap_problem_block(problem, c, &block, NULL, NULL);
    mu[c] = block.friction;
    keys[c] = block.key;
    for (int32_t k = 0; k < 3; ++k) {
      q[3 * c + k] = v_star[3 * c + sap_fclib_row(k)];
      R[3 * c + k] = block.R[sap_fclib_row(k)];
      any_R = any_R || R[3 * c + k] != 0.0;
    }
  }
  *good = SAP_FCLIB_PUT(file, "fclib_local/spacedim", 1, &spacedim) &&
          SAP_FCLIB_PUT(file, "fclib_local/vectors/mu", nc, mu) &&
          SAP_FCLIB_PUT(file, "fclib_local/vectors/q", 3 * nc, q) &&
          (!any_R || SAP_FCLIB_PUT(file, "fclib_local/vectors/R", 3 * nc, R)) &&
          SAP_FCLIB_PUT(file, "sapstep/keys", nc, keys) &&
          SAP_FCLIB_PUT(file, "sapstep/dt", 1, &dt);
  return SAP_STATUS_OK;
}

sap_status sap_fclib_put_local(sap_fclib_file* file, const sap_problem* problem) {
  int32_t nc = 0;
  SAP_TRY(check_local(problem, &nc, file->error));
  const int32_t ntrees = sap_problem_tree_count(problem);
  const int32_t contacts[2] = {0, nc}, last[2] = {nc, ntrees};
  sap_fclib_matrix W, V, S;
  bool good;
  SAP_TRY(gather_columns(file, problem, nc, contacts, contacts, &W));
  SAP_TRY(gather_columns(file, problem, nc, last, contacts, &V));
  SAP_TRY(gather_columns(file, problem, nc, last, last, &S));
  SAP_TRY(put_vectors(file, problem, nc, &good));
  good = good && sap_fclib_put_matrix(file, "fclib_local/W", &W);
  if (good && nc < ntrees) {
    good = sap_fclib_put_matrix(file, "fclib_local/V", &V) &&
           sap_fclib_put_matrix(file, "fclib_local/R", &S) &&
           SAP_FCLIB_PUT(file, "fclib_local/vectors/s", S.ncols,
                         sap_problem_v_star(problem) + 3 * (size_t)nc);
  }
  return good ? SAP_STATUS_OK
              : sap_fail(file->error, SAP_STATUS_INTERNAL, "HDF5 could not store the problem");
}
