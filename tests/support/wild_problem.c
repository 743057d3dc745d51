// SPDX-License-Identifier: BSD-3-Clause
#include "support/wild_problem.h"

#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "support/convex_oracle.h"

enum { ROWS = 6 };

static double between(wild_problem* s, double low, double high) {
  return low + (high - low) * oracle_random(&s->seed);
}

static double magnitude(wild_problem* s, double low, double high) {
  return exp(between(s, log(low), log(high)));
}

static int32_t pick(wild_problem* s, int32_t count) {
  return (int32_t)(oracle_random(&s->seed) * count);
}

// d (L L') d with L near 1, times the tree's mass.
static void add_tree(wild_problem* s, int32_t tree) {
  const int32_t n = s->sizes[tree];
  double L[WILD_SIZE][WILD_SIZE] = {{0.0}}, d[WILD_SIZE], A[WILD_SIZE * WILD_SIZE];
  const double mass = magnitude(s, 1.0 / s->of.masses, s->of.masses);
  for (int32_t i = 0; i < n; ++i) {
    d[i] = magnitude(s, 1.0 / s->of.spread, s->of.spread);
    for (int32_t j = 0; j <= i; ++j) {
      L[i][j] = i == j ? 1.0 : between(s, -0.3, 0.3);
    }
  }
  for (int32_t i = 0; i < n; ++i) {
    for (int32_t j = 0; j < n; ++j) {
      double sum = 0.0;
      for (int32_t k = 0; k < n; ++k) {
        sum += L[i][k] * L[j][k];
      }
      A[j * n + i] = mass * d[i] * d[j] * sum;
    }
  }
  assert_int_equal(sap_problem_set_momentum_block(s->problem, tree, tree, A, n, NULL), 0);
}

typedef struct rows {
  int32_t ntrees, trees[2];
  double J[2][ROWS * WILD_SIZE];  // six rows of each tree
} rows;

static void make_rows(wild_problem* s, rows* out) {
  out->ntrees = s->ntrees > 1 ? 1 + pick(s, 2) : 1;
  out->trees[0] = pick(s, s->ntrees);
  out->trees[1] = (out->trees[0] + 1 + (s->ntrees > 1 ? pick(s, s->ntrees - 1) : 0)) % s->ntrees;
  for (int32_t t = 0; t < out->ntrees; ++t) {
    const int32_t kind = pick(s, 12), n = s->sizes[out->trees[t]];
    for (int32_t c = 0; c < n; ++c) {
      const bool empty = kind == 0 || (kind < 4 && pick(s, 2) == 0);
      double* column = out->J[t] + ROWS * c;
      for (int32_t r = 0; r < ROWS; ++r) {
        column[r] = empty || pick(s, 8) == 0 ? 0.0 : between(s, -1.0, 1.0);
      }
      column[1] = kind == 4 ? column[0] : column[1];  // dependent
    }
  }
}

// `count` of the rows from `first` on, packed.
static void pack(const wild_problem* s, const rows* of, int32_t first, int32_t count,
                 double packed[2][ROWS * WILD_SIZE], const double* views[2]) {
  for (int32_t t = 0; t < of->ntrees; ++t) {
    for (int32_t c = 0; c < s->sizes[of->trees[t]]; ++c) {
      for (int32_t r = 0; r < count; ++r) {
        packed[t][count * c + r] = of->J[t][ROWS * c + first + r];
      }
    }
    views[t] = packed[t];
  }
}

static double friction(wild_problem* s) {
  if (s->of.wide) {
    return pick(s, 4) == 0 ? 0.0 : magnitude(s, 1e-3, 10.0);
  }
  const double mus[] = {0.0, 0.5, 1.0, magnitude(s, 1e-3, 1e3)};
  return mus[pick(s, 4)];
}

static void add_contact(wild_problem* s, const rows* of, uint64_t key) {
  static const int32_t widths[] = {3, 3, 4, 6};
  const int32_t n = widths[pick(s, 4)];
  double linear[2][ROWS * WILD_SIZE], turning[2][ROWS * WILD_SIZE], mu[5];
  const double *jacobians[2], *angular[2];
  pack(s, of, 0, 3, linear, jacobians);
  pack(s, of, 3, n - 3, turning, angular);
  const double sliding = friction(s) * (pick(s, 8) == 0 ? magnitude(s, 1e-12, 1e-3) : 1.0);
  for (int i = 0; i < 5; ++i) {
    if (pick(s, 5) == 0) {
      mu[i] = 0.0;
    } else if (s->of.rows > 0.0) {
      mu[i] = sliding * magnitude(s, 1.0 / s->of.rows, s->of.rows);
    } else {
      mu[i] = sliding * between(s, 0.2, 1.0) * (i > 1 ? 0.05 : 1.0);
    }
  }
  sap_contact_block contact = {.ntrees = of->ntrees,
                               .trees = of->trees,
                               .jacobians = jacobians,
                               .material = sap_material_default(),
                               .phi0 = between(s, -0.01, 0.01),
                               .key = key};
  contact.material.stiffness =
      pick(s, 6) == 0 ? (double)INFINITY : magnitude(s, 1e2, s->of.rows > 0.0 ? 1e14 : 1e9);
  contact.material.relaxation_time = pick(s, 3) == 0 ? 0.0 : magnitude(s, 1e-4, 1.0);
  contact.material.friction = sliding;
  if (n > 3 || s->of.rows > 0.0) {
    contact.nrows = n;
    contact.angular = n > 3 ? angular : NULL;
    contact.friction = mu;
  }
  const double roughest = s->of.rows > 0.0 ? 1e-1 : 1e-3;
  sap_regularization regularization = {1.0, magnitude(s, s->of.sigma, roughest), 0.0};
  if (s->of.wide) {
    contact.material.model = (sap_contact_model)pick(s, SAP_CONTACT_MODEL_COUNT);
    contact.material.dissipation = pick(s, 3) == 0 ? 0.0 : magnitude(s, 1e-2, 1e3);
    contact.material.stiction_tolerance = magnitude(s, 1e-6, 1e-1);
    regularization.beta = pick(s, 2);
  }
  const sap_status status = sap_problem_add_contact(s->problem, &contact, &regularization, NULL);
  // Nothing moves in rows of zeros: there is no w then.
  assert_true(status == SAP_STATUS_OK || status == SAP_STATUS_ARGUMENT);
}

static void add_intervals(wild_problem* s, const rows* of, uint64_t key) {
  static const sap_set sets[] = {SAP_SET_NONNEGATIVE, SAP_SET_BOX, SAP_SET_FREE};
  const int32_t n = 1 + pick(s, 3);
  double J[2][ROWS * WILD_SIZE], R[3], v_hat[3], lower[3], upper[3], w;
  const double* jacobians[2];
  pack(s, of, 0, n, J, jacobians);
  assert_int_equal(
      sap_problem_delassus_scale(s->problem, n, of->ntrees, of->trees, jacobians, &w, NULL),
      SAP_STATUS_OK);
  w = w > 0.0 ? w : 1.0;
  for (int32_t r = 0; r < n; ++r) {
    const double bound = magnitude(s, 1e-3, 10.0) / w;
    R[r] = w * magnitude(s, 1e-4, 1.0);
    v_hat[r] = between(s, -1.0, 1.0);
    lower[r] = pick(s, 3) == 0 ? (double)-INFINITY : -bound;
    upper[r] = pick(s, 3) == 0 ? (double)INFINITY : (pick(s, 5) == 0 ? -bound : bound);
  }
  const sap_set set = sets[pick(s, 3)];
  const sap_block block = {.set = set,
                           .nrows = n,
                           .ntrees = of->ntrees,
                           .trees = of->trees,
                           .jacobians = jacobians,
                           .R = R,
                           .v_hat = v_hat,
                           .lower = set == SAP_SET_BOX ? lower : NULL,
                           .upper = set == SAP_SET_BOX ? upper : NULL,
                           .key = key};
  assert_int_equal(sap_problem_add_block(s->problem, &block, NULL), SAP_STATUS_OK);
}

static void set_velocities(wild_problem* s) {
  double v[WILD_VELOCITIES];
  const bool rests = pick(s, 12) == 0, guessed = pick(s, 2) == 0;
  const double speed = s->of.wide ? magnitude(s, 1e-2, 1e3) : 1.0;
  for (int guess = 0; guess < (guessed ? 2 : 1); ++guess) {
    for (int32_t i = 0; i < s->start[s->ntrees]; ++i) {
      v[i] = rests ? 0.0
                   : speed * between(s, -1.0, 1.0) * (guess == 1 && pick(s, 10) == 0 ? 1e3 : 1.0);
    }
    assert_int_equal(
        (guess == 0 ? sap_problem_set_v_star : sap_problem_set_v_guess)(s->problem, v, NULL),
        SAP_STATUS_OK);
  }
}

wild_problem wild_make(uint64_t seed, wild_limits of_scene) {
  wild_problem s = {.seed = seed, .of = of_scene};
  rows of;
  assert_int_equal(sap_problem_create(&s.problem, NULL), SAP_STATUS_OK);
  s.ntrees = 1 + pick(&s, WILD_TREES);
  for (int32_t t = 0; t < s.ntrees; ++t) {
    s.sizes[t] = pick(&s, 2) == 0 ? 6 : 1 + pick(&s, WILD_SIZE);
    s.start[t + 1] = s.start[t] + s.sizes[t];
  }
  const double dt = of_scene.wide ? magnitude(&s, 1e-5, 1e-1) : 0.01;
  assert_int_equal(sap_problem_reset(s.problem, dt, s.ntrees, s.sizes, NULL), SAP_STATUS_OK);
  for (int32_t t = 0; t < s.ntrees; ++t) {
    add_tree(&s, t);
  }
  set_velocities(&s);
  if (of_scene.wide) {
    sap_contact_scheme law = sap_contact_scheme_default();
    law.v0 = law.v_star = sap_problem_v_star(s.problem);
    assert_int_equal(sap_problem_set_law(s.problem, &law, NULL), SAP_STATUS_OK);
  }
  const int32_t blocks =
      of_scene.wide ? (int32_t)magnitude(&s, 1.0, 202.0) - 1 : pick(&s, 3 * s.ntrees + 2);
  for (int32_t b = 0; b < blocks; ++b) {
    if (b == 0 || pick(&s, 6) > 0) {  // else redundant
      make_rows(&s, &of);
    }
    const uint64_t key = pick(&s, 2) == 0 ? (uint64_t)b + 1 : 0;
    if (pick(&s, 10) < 6) {
      add_contact(&s, &of, key);
    } else {
      add_intervals(&s, &of, key);
    }
  }
  return s;
}
