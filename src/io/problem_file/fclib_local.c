// SPDX-License-Identifier: BSD-3-Clause
// Reads local problems of FCLIB files, u = W r + q.
//   one tree of three velocities u per contact,  J = I,  v* = q,  A^-1 = W
// Bilateral rows (V, R, s), if any, are one more tree.
#include "io/problem_file/fclib_file.h"

#include <string.h>

static const double zero[9] = {0.0};

typedef struct local {
  sap_fclib_reals mu, q, s, R;
  sap_fclib_matrix W, V, S;  // S: FCLIB's R
  int32_t ncontacts, nfree;
} local;

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
  return sap_problem_set_v_star(problem, v_star, file->error);
}

// Sets block (a, b) of contacts.
static sap_status set_block(const sap_fclib_file* file, const local* l, int32_t a, int32_t b,
                            sap_problem* problem) {
  double W[9], block[9];
  sap_fclib_gather(&l->W, 3 * a, 3, 3 * b, 3, W);
  for (int32_t i = 0; i < 9; ++i) {
    block[3 * sap_fclib_row(i / 3) + sap_fclib_row(i % 3)] = W[i];
  }
  return sap_problem_set_mobility_block(problem, a, b, block, 3, file->error);
}

// Sets the blocks of W, which need not be symmetric: both blocks of each two coupled contacts.
static sap_status set_mobility(const sap_fclib_file* file, const local* l, sap_problem* problem) {
  for (int32_t c = 0; c < l->ncontacts; ++c) {
    SAP_TRY(set_block(file, l, c, c, problem));
    for (int32_t k = l->W.start[3 * c]; k < l->W.start[3 * c + 3]; ++k) {
      const int32_t other = l->W.row[k] / 3;
      if (sap_problem_mobility_block(problem, other, c) == NULL) {
        SAP_TRY(set_block(file, l, other, c, problem));
        SAP_TRY(set_block(file, l, c, other, problem));
      }
    }
  }
  return SAP_STATUS_OK;
}

// Sets the dense blocks of the last tree, V' r + R l + s.
static sap_status set_free(sap_fclib_file* file, const local* l, sap_problem* problem) {
  const int32_t n = l->nfree, nc = l->ncontacts;
  double *S, *V, *block;
  SAP_TRY(SAP_FCLIB_ADD(file, &S, (size_t)n * (size_t)n));
  SAP_TRY(SAP_FCLIB_ADD(file, &V, 3 * (size_t)n));
  SAP_TRY(SAP_FCLIB_ADD(file, &block, 3 * (size_t)n));
  sap_fclib_gather(&l->S, 0, n, 0, n, S);
  SAP_TRY(sap_problem_set_mobility_block(problem, nc, nc, S, n, file->error));
  for (int32_t c = 0; c < nc; ++c) {
    bool any = false;
    sap_fclib_gather(&l->V, 3 * c, 3, 0, n, V);
    for (int32_t i = 0; i < 3 * n; ++i) {
      block[i / 3 * 3 + sap_fclib_row(i % 3)] = V[i];
      any = any || V[i] != 0.0;
    }
    if (any) {
      SAP_TRY(sap_problem_set_mobility_block(problem, c, nc, block, 3, file->error));
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
  SAP_FAIL_IF((int64_t)l.nfree * l.nfree > INT32_MAX, file->error, SAP_STATUS_MEMORY,
              "%d bilateral rows are too many", l.nfree);
  SAP_TRY(set_free(file, &l, problem));
  SAP_TRY(add_contacts(file, &l, problem));
  return add_free(file, &l, problem);
}
