// SPDX-License-Identifier: BSD-3-Clause
#include "support/pile.h"

#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

enum { MAX_TREES = 64, MAX_SIZE = 8, MAX_ROWS = 4 };

static const double DT = 0.01;

static double pseudo_random(uint32_t* seed) {  // in (-1, 1)
  *seed = *seed * 1664525u + 1013904223u;
  return (double)(*seed >> 8) / 8388608.0 - 1.0;
}

static int32_t pick(uint32_t* seed, int32_t count) {
  const int32_t i = (int32_t)((0.5 * pseudo_random(seed) + 0.5) * count);
  return i < count ? i : count - 1;
}

pile_options pile_options_default(void) {
  return (pile_options){.trees = 9,
                        .contacts = 24,
                        .mass_ratio = 10.0,
                        .stiffness = 1e5,
                        .regularization = sap_regularization_default(),
                        .mixed = true,
                        .seed = 1};
}

static int32_t tree_size(int32_t tree) {
  return tree % 6 == 2 ? 3 : (tree % 6 == 5 ? 8 : 6);
}

// scale (1 + B B'), far from singular
static sap_status set_tree(sap_problem* problem, int32_t tree, double scale, uint32_t* seed,
                           sap_error* error) {
  const int32_t n = tree_size(tree);
  double B[MAX_SIZE][MAX_SIZE], A[MAX_SIZE * MAX_SIZE];
  for (int32_t i = 0; i < n; ++i) {
    for (int32_t j = 0; j < n; ++j) {
      B[i][j] = 0.3 * pseudo_random(seed);
    }
  }
  for (int32_t i = 0; i < n; ++i) {
    for (int32_t j = 0; j < n; ++j) {
      double sum = i == j ? 1.0 : 0.0;
      for (int32_t k = 0; k < n; ++k) {
        sum += B[i][k] * B[j][k];
      }
      A[j * n + i] = scale * sum;
    }
  }
  return sap_problem_set_momentum_block(problem, tree, tree, A, n, error);
}

static void fill_jacobians(double J[3][MAX_ROWS * MAX_SIZE], const double* pointers[3],
                           uint32_t* seed) {
  for (int t = 0; t < 3; ++t) {
    pointers[t] = J[t];
    for (int i = 0; i < MAX_ROWS * MAX_SIZE; ++i) {
      J[t][i] = pseudo_random(seed);
    }
  }
}

static sap_status add_contact(const pile_options* o, sap_problem* problem, int32_t index,
                              uint32_t* seed, sap_error* error) {
  double J[3][MAX_ROWS * MAX_SIZE];
  const double* jacobians[3];
  fill_jacobians(J, jacobians, seed);
  const int32_t a = pick(seed, o->trees);
  const int32_t trees[2] = {a, (a + 1 + pick(seed, o->trees - 1)) % o->trees};
  const sap_contact_block contact = {
      .ntrees = index % 2 == 0 ? 1 : 2,
      .trees = trees,
      .jacobians = jacobians,
      .material = {.stiffness = o->stiffness,
                   .relaxation_time = 0.01,
                   .friction = index % 7 == 0 ? 0.0 : 0.5 + 0.4 * pseudo_random(seed),
                   .model = (sap_contact_model)(o->models[index % 3]),
                   .dissipation = o->dissipation,
                   .stiction_tolerance = o->stiction_tolerance},
      .phi0 = 1e-3 * pseudo_random(seed),
      .key = o->keyed ? 1 + (uint64_t)index : 0};
  return sap_problem_add_contact(problem, &contact, &o->regularization, error);
}

static sap_status add_other(const pile_options* o, sap_problem* problem, int32_t index,
                            uint32_t* seed, sap_error* error) {
  const int32_t ntrees = o->trees;
  static const sap_set sets[3] = {SAP_SET_NONNEGATIVE, SAP_SET_BOX, SAP_SET_FREE};
  double J[3][MAX_ROWS * MAX_SIZE], R[MAX_ROWS], v_hat[MAX_ROWS], lower[MAX_ROWS], upper[MAX_ROWS];
  const double* jacobians[3];
  fill_jacobians(J, jacobians, seed);
  for (int i = 0; i < MAX_ROWS; ++i) {
    R[i] = pow(10.0, -2.0 + pseudo_random(seed));
    v_hat[i] = 0.1 * pseudo_random(seed);
    lower[i] = -0.1 - 0.1 * (pseudo_random(seed) + 1.0);
    upper[i] = 0.1 + 0.1 * (pseudo_random(seed) + 1.0);
  }
  const int32_t a = pick(seed, ntrees);
  const int32_t trees[3] = {a, (a + 2) % ntrees, (a + 1) % ntrees};
  const sap_block block = {.set = sets[index % 3],
                           .nrows = 1 + index % MAX_ROWS,
                           .ntrees = 1 + index % 3,
                           .trees = trees,
                           .jacobians = jacobians,
                           .R = R,
                           .v_hat = v_hat,
                           .lower = lower,
                           .upper = upper,
                           .key = o->keyed ? 1000 + (uint64_t)index : 0};
  return sap_problem_add_block(problem, &block, error);
}

sap_status pile_fill(const pile_options* o, sap_problem* problem, sap_error* error) {
  uint32_t seed = o->seed;
  int32_t sizes[MAX_TREES], nv = 0;
  double v_star[MAX_TREES * MAX_SIZE], guess[MAX_TREES * MAX_SIZE];
  for (int32_t t = 0; t < o->trees; ++t) {
    sizes[t] = tree_size(t);
    nv += sizes[t];
  }
  for (int32_t i = 0; i < nv; ++i) {
    v_star[i] = pseudo_random(&seed);
    guess[i] = 0.5 * pseudo_random(&seed);
  }
  sap_status status = sap_problem_reset(problem, DT, o->trees, sizes, error);
  for (int32_t t = 0; status == SAP_STATUS_OK && t < o->trees; ++t) {
    const double share = o->trees > 1 ? (double)t / (double)(o->trees - 1) : 0.0;
    status = set_tree(problem, t, pow(o->mass_ratio, share), &seed, error);
  }
  const double spring[MAX_SIZE * MAX_SIZE] = {-0.1, 0.05, 0.1};
  for (int32_t t = 0; o->mixed && status == SAP_STATUS_OK && t + 3 < o->trees; t += 3) {
    status = sap_problem_set_momentum_block(problem, t + 3, t, spring, sizes[t + 3], error);
  }
  if (status == SAP_STATUS_OK) {
    status = sap_problem_set_v_star(problem, v_star, error);
  }
  if (status == SAP_STATUS_OK) {
    status = sap_problem_set_v_guess(problem, guess, error);
  }
  for (int32_t i = 0; status == SAP_STATUS_OK && i < o->contacts; ++i) {
    status = add_contact(o, problem, i, &seed, error);
    if (o->mixed && status == SAP_STATUS_OK && i % 2 == 0) {
      status = add_other(o, problem, i / 2, &seed, error);
    }
  }
  return status;
}

sap_problem* pile_problem(const pile_options* options) {
  sap_problem* problem;
  sap_error error = {0};
  assert_int_equal(sap_problem_create(&problem, &error), SAP_STATUS_OK);
  if (pile_fill(options, problem, &error) != SAP_STATUS_OK) {
    fail_msg("%s", error.message);
  }
  return problem;
}
