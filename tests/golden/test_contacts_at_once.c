// SPDX-License-Identifier: BSD-3-Clause
// Contacts added at once are those added one after the other, whatever the number of threads.
#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include <cmocka.h>

#include <sapstep/problem.h>

enum { TREES = 40, SIZE_MAX_OF_TREE = 11, CONTACTS = 700, TREES_OF_CONTACT = 3, ROWS_MAX = 6 };

typedef struct source {
  int32_t sizes[TREES];
  sap_contact_block contacts[CONTACTS];
  int32_t trees[CONTACTS][TREES_OF_CONTACT];
  double J[CONTACTS][TREES_OF_CONTACT][3 * SIZE_MAX_OF_TREE];
  double angular[CONTACTS][TREES_OF_CONTACT][3 * SIZE_MAX_OF_TREE];
  const double* jacobians[CONTACTS][TREES_OF_CONTACT];
  const double* angulars[CONTACTS][TREES_OF_CONTACT];
  double friction[CONTACTS][5];
  double v0[TREES * SIZE_MAX_OF_TREE];
} source;

static double jitter(uint64_t* seed) {
  *seed = *seed * UINT64_C(6364136223846793005) + UINT64_C(1442695040888963407);
  return (double)(int32_t)(*seed >> 32) / 2147483648.0;
}

static void make_contact(source* s, int32_t i, uint64_t* seed) {
  static const int32_t rows[3] = {3, 4, 6};
  sap_contact_block* c = &s->contacts[i];
  const int32_t first = (int32_t)(fabs(jitter(seed)) * (TREES - TREES_OF_CONTACT));
  c->ntrees = 1 + i % TREES_OF_CONTACT;
  c->nrows = rows[i / 7 % 3];
  for (int32_t t = 0; t < c->ntrees; ++t) {
    s->trees[i][t] = first + c->ntrees - 1 - t;
    s->jacobians[i][t] = s->J[i][t];
    s->angulars[i][t] = s->angular[i][t];
    for (int32_t k = 0; k < 3 * SIZE_MAX_OF_TREE; ++k) {
      s->J[i][t][k] = jitter(seed);
      s->angular[i][t][k] = jitter(seed);
    }
  }
  for (int32_t k = 0; k < 5; ++k) {
    s->friction[i][k] = k < 2 ? 0.5 : 0.01 * (k + 1);
    c->surface_velocity[k % 3] = i % 11 == 0 ? 0.1 * k : 0.0;
  }
  s->friction[i][1] += i % 5 == 0 ? 0.2 : 0.0;
  c->trees = s->trees[i];
  c->jacobians = s->jacobians[i];
  c->angular = s->angulars[i];
  c->friction = c->nrows > 3 || i % 5 == 0 ? s->friction[i] : NULL;
  c->material = sap_material_default();
  c->material.stiffness = i % 2 == 0 ? 1e3 : 1e9;
  c->material.model = i % 13 == 0   ? SAP_CONTACT_LAGGED
                      : i % 17 == 0 ? SAP_CONTACT_SIMILAR
                                    : SAP_CONTACT_SAP;
  c->material.dissipation = 0.1;
  c->phi0 = -1e-3 * fabs(jitter(seed));
  c->key = (uint64_t)i + 1;
}

static void make_source(source* s) {
  uint64_t seed = 7;
  memset(s, 0, sizeof *s);
  for (int32_t t = 0; t < TREES; ++t) {
    s->sizes[t] = 1 + t % SIZE_MAX_OF_TREE;
  }
  for (int32_t i = 0; i < CONTACTS; ++i) {
    make_contact(s, i, &seed);
  }
  for (int32_t i = 0; i < TREES * SIZE_MAX_OF_TREE; ++i) {
    s->v0[i] = jitter(&seed);
  }
}

// An empty problem within the step, where contacts depend on v0 as well.
static void begin(sap_problem* p, const source* s, double mass) {
  double A[SIZE_MAX_OF_TREE * SIZE_MAX_OF_TREE];
  assert_int_equal(sap_problem_reset(p, 0.01, TREES, s->sizes, NULL), SAP_STATUS_OK);
  for (int32_t t = 0; t < TREES; ++t) {
    const int32_t n = s->sizes[t];
    for (int32_t k = 0; k < n * n; ++k) {
      A[k] = k % (n + 1) == 0 ? mass + t : 0.01 * (k % n + k / n);
    }
    assert_int_equal(sap_problem_set_momentum_block(p, t, t, A, n, NULL), SAP_STATUS_OK);
  }
  const sap_contact_scheme scheme = {
      .theta = 0.5, .theta_vq = 0.5, .model = SAP_CONTACT_BY_MATERIAL, .v0 = s->v0};
  assert_int_equal(sap_problem_set_law(p, &scheme, NULL), SAP_STATUS_OK);
}

static sap_status add_one_by_one(sap_problem* p, const source* s, sap_error* error) {
  const sap_regularization regularization = sap_regularization_default();
  sap_status status = SAP_STATUS_OK;
  for (int32_t i = 0; status == SAP_STATUS_OK && i < CONTACTS; ++i) {
    status = sap_problem_add_contact(p, &s->contacts[i], &regularization, error);
  }
  return status;
}

static sap_status add_at_once(sap_problem* p, const source* s, sap_error* error) {
  const sap_regularization regularization = sap_regularization_default();
  return sap_problem_add_contacts(p, s->contacts, CONTACTS, &regularization, error);
}

static void expect_same_block(const sap_block* a, const sap_block* b, const source* s) {
  const size_t rows = (size_t)a->nrows * sizeof(double);
  assert_int_equal(a->set, b->set);
  assert_int_equal(a->nrows, b->nrows);
  assert_int_equal(a->ntrees, b->ntrees);
  assert_true(a->key == b->key);
  assert_memory_equal(a->R, b->R, rows);
  assert_memory_equal(a->v_hat, b->v_hat, rows);
  const double numbers_a[] = {a->friction, a->dissipation, a->slip_speed, a->lagged_impulse};
  const double numbers_b[] = {b->friction, b->dissipation, b->slip_speed, b->lagged_impulse};
  assert_memory_equal(numbers_a, numbers_b, sizeof numbers_a);
  for (int32_t t = 0; t < a->ntrees; ++t) {
    assert_int_equal(a->trees[t], b->trees[t]);
    assert_memory_equal(a->jacobians[t], b->jacobians[t], rows * (size_t)s->sizes[a->trees[t]]);
  }
}

static void expect_same(const sap_problem* a, const sap_problem* b, const source* s) {
  assert_int_equal(sap_problem_block_count(a), sap_problem_block_count(b));
  assert_int_equal(sap_problem_row_count(a), sap_problem_row_count(b));
  for (int32_t i = 0; i < sap_problem_block_count(a); ++i) {
    sap_block x, y;
    int32_t row_x = 0, row_y = 0;
    assert_int_equal(sap_problem_block(a, i, &x, &row_x, NULL), SAP_STATUS_OK);
    assert_int_equal(sap_problem_block(b, i, &y, &row_y, NULL), SAP_STATUS_OK);
    assert_int_equal(row_x, row_y);
    expect_same_block(&x, &y, s);
  }
}

static void pair_of_problems(sap_problem** one, sap_problem** other, int32_t threads) {
  assert_int_equal(sap_problem_create(one, NULL), SAP_STATUS_OK);
  assert_int_equal(sap_problem_create(other, NULL), SAP_STATUS_OK);
  assert_int_equal(sap_problem_use_threads(*other, threads, NULL), SAP_STATUS_OK);
}

// Three problems each: with new factors, with stale ones that fit, and with stale ones that do not.
static void test_bits(void** state) {
  static source s;
  (void)state;
  make_source(&s);
  for (int32_t threads = 1; threads <= 4; ++threads) {
    sap_problem *one, *other;
    pair_of_problems(&one, &other, threads);
    for (int round = 0; round < 3; ++round) {
      const double mass = round < 2 ? 3.0 : 5.0;
      begin(one, &s, mass);
      begin(other, &s, mass);
      assert_int_equal(add_one_by_one(one, &s, NULL), SAP_STATUS_OK);
      assert_int_equal(add_at_once(other, &s, NULL), SAP_STATUS_OK);
      assert_int_equal(sap_problem_block_count(other), CONTACTS);
      expect_same(one, other, &s);
    }
    sap_problem_destroy(one);
    sap_problem_destroy(other);
  }
}

// The first that is refused gives the message, and those before it have been added.
static void expect_same_failure(const source* s, const source* good, double mass) {
  for (int32_t threads = 1; threads <= 3; ++threads) {
    sap_problem *one, *other;
    sap_error first = {0}, second = {0};
    pair_of_problems(&one, &other, threads);
    begin(one, s, mass);
    begin(other, s, mass);
    const sap_status status = add_one_by_one(one, s, &first);
    assert_int_not_equal(status, SAP_STATUS_OK);
    assert_int_equal(add_at_once(other, s, &second), status);
    assert_string_equal(first.message, second.message);
    expect_same(one, other, s);
    // And the problem is as good as before.
    begin(other, good, 3.0);
    assert_int_equal(add_at_once(other, good, NULL), SAP_STATUS_OK);
    begin(one, good, 3.0);
    assert_int_equal(add_one_by_one(one, good, NULL), SAP_STATUS_OK);
    expect_same(one, other, good);
    sap_problem_destroy(one);
    sap_problem_destroy(other);
  }
}

static void test_failures(void** state) {
  static source s, good;
  (void)state;
  make_source(&good);
  make_source(&s);
  s.contacts[500].phi0 = (double)NAN;
  s.contacts[300].material.stiffness = -1.0;
  expect_same_failure(&s, &good, 3.0);
  s.J[200][0][2] = (double)INFINITY;
  expect_same_failure(&s, &good, 3.0);
  s.trees[100][0] = TREES;
  expect_same_failure(&s, &good, 3.0);
  s.contacts[50].trees = NULL;
  expect_same_failure(&s, &good, 3.0);
  expect_same_failure(&good, &good, -3.0);  // A is not positive definite
}

static void test_refused(void** state) {
  sap_error error = {0};
  sap_problem* p = NULL;
  (void)state;
  const sap_regularization regularization = sap_regularization_default();
  assert_int_equal(sap_problem_create(&p, NULL), SAP_STATUS_OK);
  assert_int_equal(sap_problem_use_threads(p, 0, &error), SAP_STATUS_ARGUMENT);
  assert_non_null(strstr(error.message, "threads = 0"));
  assert_int_equal(sap_problem_use_threads(p, 257, &error), SAP_STATUS_ARGUMENT);
  assert_int_equal(sap_problem_use_threads(NULL, 1, &error), SAP_STATUS_ARGUMENT);
  assert_int_equal(sap_problem_add_contacts(p, NULL, 1, &regularization, &error),
                   SAP_STATUS_ARGUMENT);
  assert_int_equal(sap_problem_add_contacts(p, NULL, -1, &regularization, &error),
                   SAP_STATUS_ARGUMENT);
  assert_int_equal(sap_problem_add_contacts(NULL, NULL, 0, &regularization, &error),
                   SAP_STATUS_ARGUMENT);
  assert_int_equal(sap_problem_add_contacts(p, NULL, 0, &regularization, &error), SAP_STATUS_OK);
  sap_problem_destroy(p);
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(test_bits),
      cmocka_unit_test(test_failures),
      cmocka_unit_test(test_refused),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
