// SPDX-License-Identifier: BSD-3-Clause
// Doubles are promoted to __float128 all over, which is what this file is for.
#pragma GCC diagnostic ignored "-Wdouble-promotion"
#include "support/precise_of.h"

#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

static void copy_matrix(const sap_problem* problem, precise_problem* out) {
  for (int32_t a = 0; a < out->ntrees; ++a) {
    for (int32_t b = 0; b < out->ntrees; ++b) {
      const double* block = sap_problem_momentum_block(problem, a, b);
      const int32_t na = sap_problem_tree_size(problem, a), nb = sap_problem_tree_size(problem, b);
      for (int32_t i = 0; block != NULL && i < na; ++i) {
        for (int32_t j = 0; j < nb; ++j) {
          const int32_t row = out->tree_start[a] + i, column = out->tree_start[b] + j;
          out->A[row * out->nv + column] = out->A[column * out->nv + row] = block[j * na + i];
        }
      }
    }
  }
}

static bool copy_block(const sap_block* block, int32_t first, precise_problem* out, int32_t index) {
  const bool cone = block->set == SAP_SET_FRICTION_CONE;
  if (block->set == SAP_SET_SIMILAR || block->set == SAP_SET_LAGGED) {
    return false;
  }
  out->blocks[index] = (precise_block){.kind = cone ? PRECISE_CONE : PRECISE_INTERVAL,
                                       .nrows = block->nrows,
                                       .first_row = first,
                                       .mu = cone ? block->friction : 0.0};
  for (int32_t r = 0; r < block->nrows; ++r) {
    const int32_t row = first + r;
    const bool box = block->set == SAP_SET_BOX;
    out->R[row] = block->R[r];
    out->v_hat[row] = block->v_hat[r];
    out->lower[row] = box                                 ? block->lower[r]
                      : block->set == SAP_SET_NONNEGATIVE ? 0.0
                                                          : -(double)INFINITY;
    out->upper[row] = box ? block->upper[r] : (double)INFINITY;
    for (int32_t t = 0; t < block->ntrees; ++t) {
      const int32_t start = out->tree_start[block->trees[t]];
      const int32_t size = out->tree_start[block->trees[t] + 1] - start;
      for (int32_t i = 0; i < size; ++i) {
        out->J[row * out->nv + start + i] = block->jacobians[t][i * block->nrows + r];
      }
    }
  }
  return true;
}

bool precise_of(const sap_problem* problem, precise_problem* out) {
  const int32_t nv = sap_problem_velocity_count(problem);
  if (sap_problem_has_mobility(problem) ||
      !precise_create(out, nv, sap_problem_tree_count(problem), sap_problem_row_count(problem),
                      sap_problem_block_count(problem))) {
    return false;
  }
  for (int32_t t = 0; t < out->ntrees; ++t) {
    out->tree_start[t + 1] = out->tree_start[t] + sap_problem_tree_size(problem, t);
  }
  copy_matrix(problem, out);
  memcpy(out->v_star, sap_problem_v_star(problem), (size_t)nv * sizeof(double));
  for (int32_t b = 0; b < out->nblocks; ++b) {
    sap_block block;
    int32_t first = 0;
    if (sap_problem_block(problem, b, &block, &first, NULL) != SAP_STATUS_OK ||
        !copy_block(&block, first, out, b)) {
      precise_clear(out);
      return false;
    }
  }
  return true;
}

static void add_block(sap_problem* problem, const precise_problem* p, const precise_block* block) {
  int32_t* trees = calloc((size_t)p->ntrees, sizeof *trees);
  const double** views = calloc((size_t)p->ntrees, sizeof *views);
  double* J = calloc((size_t)(block->nrows * p->nv), sizeof *J);
  assert_true(trees != NULL && views != NULL && J != NULL);
  int32_t count = 0;
  double* next = J;
  for (int32_t t = 0; t < p->ntrees; ++t) {
    const int32_t start = p->tree_start[t], size = p->tree_start[t + 1] - start;
    bool acts = false;
    for (int32_t i = 0; i < size; ++i) {
      for (int32_t r = 0; r < block->nrows; ++r) {
        next[i * block->nrows + r] = p->J[(block->first_row + r) * p->nv + start + i];
        acts = acts || next[i * block->nrows + r] != 0.0;
      }
    }
    if (acts || (t == p->ntrees - 1 && count == 0)) {
      trees[count] = t;
      views[count++] = next;
      next += size * block->nrows;
    }
  }
  const bool cone = block->kind == PRECISE_CONE;
  const sap_block out = {.set = cone ? SAP_SET_FRICTION_CONE : SAP_SET_BOX,
                         .nrows = block->nrows,
                         .ntrees = count,
                         .trees = trees,
                         .jacobians = views,
                         .R = p->R + block->first_row,
                         .v_hat = p->v_hat + block->first_row,
                         .friction = block->mu,
                         .lower = cone ? NULL : p->lower + block->first_row,
                         .upper = cone ? NULL : p->upper + block->first_row};
  assert_int_equal(sap_problem_add_block(problem, &out, NULL), SAP_STATUS_OK);
  free(J);
  free(views);
  free(trees);
}

sap_problem* precise_to(const precise_problem* p) {
  int32_t* sizes = calloc((size_t)p->ntrees, sizeof *sizes);
  sap_problem* problem = NULL;
  assert_non_null(sizes);
  for (int32_t t = 0; t < p->ntrees; ++t) {
    sizes[t] = p->tree_start[t + 1] - p->tree_start[t];
  }
  assert_int_equal(sap_problem_create(&problem, NULL), SAP_STATUS_OK);
  assert_int_equal(sap_problem_reset(problem, 0.01, p->ntrees, sizes, NULL), SAP_STATUS_OK);
  for (int32_t t = 0; t < p->ntrees; ++t) {  // symmetric: rows are columns
    const double* A = p->A + p->tree_start[t] * p->nv + p->tree_start[t];
    assert_int_equal(sap_problem_set_momentum_block(problem, t, t, A, p->nv, NULL), SAP_STATUS_OK);
  }
  assert_int_equal(sap_problem_set_v_star(problem, p->v_star, NULL), SAP_STATUS_OK);
  for (int32_t b = 0; b < p->nblocks; ++b) {
    add_block(problem, p, &p->blocks[b]);
  }
  free(sizes);
  return problem;
}

precise_law precise_law_of(const sap_solver_info* solver) {
  if (strncmp(solver->model, "LCP", 3) == 0) {
    return strcmp(solver->name, "lemke") == 0 ? PRECISE_DIAMOND : PRECISE_BOX;
  }
  return strcmp(solver->model, "NCP") == 0                  ? PRECISE_COULOMB
         : strcmp(solver->model, "Signorini, Coulomb") == 0 ? PRECISE_DIRECTION
                                                            : PRECISE_CONVEX;
}
