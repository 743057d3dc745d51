// SPDX-License-Identifier: BSD-3-Clause
// Every wrong input of the problem: status, a message that names it, and an unchanged problem.
#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include <cmocka.h>

#include <sapstep/problem.h>

static const double INFINITE = (double)INFINITY;

static sap_problem* make(void) {
  const int32_t sizes[3] = {1, 2, 3};
  sap_problem* problem;
  assert_int_equal(sap_problem_create(&problem, NULL), SAP_STATUS_OK);
  assert_int_equal(sap_problem_reset(problem, 0.01, 3, sizes, NULL), SAP_STATUS_OK);
  return problem;
}

static void expect(sap_status status, sap_status wanted, const sap_error* error,
                   const char* words) {
  if (status != wanted || error->status != wanted || strstr(error->message, words) == NULL) {
    fail_msg("status %d (wanted %d): '%s' (wanted '%s')", status, wanted, error->message, words);
  }
}

static void expect_reset(double dt, int32_t ntrees, const int32_t* sizes, sap_status wanted,
                         const char* words) {
  sap_problem* p = make();
  sap_error error = {0};
  expect(sap_problem_reset(p, dt, ntrees, sizes, &error), wanted, &error, words);
  assert_int_equal(sap_problem_tree_count(p), 3);
  assert_true(sap_problem_dt(p) == 0.01);
  sap_problem_destroy(p);
}

static void test_reset(void** state) {
  (void)state;
  const int32_t good[2] = {1, 2}, zero[2] = {1, 0}, negative[2] = {-4, 1}, huge[2] = {3, 100000};
  expect_reset(0.0, 2, good, SAP_STATUS_ARGUMENT, "dt = 0");
  expect_reset(-1.0, 2, good, SAP_STATUS_ARGUMENT, "dt = -1");
  expect_reset((double)NAN, 2, good, SAP_STATUS_NOT_FINITE, "dt");
  expect_reset(INFINITE, 2, good, SAP_STATUS_NOT_FINITE, "dt");
  expect_reset(0.01, -1, good, SAP_STATUS_ARGUMENT, "ntrees = -1");
  expect_reset(0.01, 2, NULL, SAP_STATUS_ARGUMENT, "ntrees");
  expect_reset(0.01, 2, zero, SAP_STATUS_ARGUMENT, "tree 1: size 0");
  expect_reset(0.01, 2, negative, SAP_STATUS_ARGUMENT, "tree 0: size -4");
  expect_reset(0.01, 2, huge, SAP_STATUS_ARGUMENT, "tree 1: size 100000");
  sap_error error = {0};
  expect(sap_problem_reset(NULL, 0.01, 2, good, &error), SAP_STATUS_ARGUMENT, &error, "problem");
  expect(sap_problem_create(NULL, &error), SAP_STATUS_ARGUMENT, &error, "out");
}

static void test_momentum(void** state) {
  (void)state;
  sap_problem* p = make();
  sap_error error = {0};
  const double A[4] = {4, 1, 1, 5}, bad[4] = {4, (double)NAN, 1, 5}, C[2] = {1, 2},
               bad_C[2] = {1, INFINITE};
  assert_int_equal(sap_problem_set_momentum_block(p, 1, 1, A, 2, NULL), SAP_STATUS_OK);
  expect(sap_problem_set_momentum_block(p, 1, 1, bad, 2, &error), SAP_STATUS_NOT_FINITE, &error,
         "(tree 1, tree 1): entry (1, 0)");
  assert_memory_equal(sap_problem_momentum_block(p, 1, 1), A, sizeof A);
  expect(sap_problem_set_momentum_block(p, 0, 1, bad_C, 1, &error), SAP_STATUS_NOT_FINITE, &error,
         "(tree 0, tree 1): entry (0, 1)");
  assert_null(sap_problem_momentum_block(p, 0, 1));
  expect(sap_problem_set_momentum_block(p, 3, 1, A, 2, &error), SAP_STATUS_ARGUMENT, &error,
         "tree 3");
  expect(sap_problem_set_momentum_block(p, 0, -1, A, 2, &error), SAP_STATUS_ARGUMENT, &error,
         "tree -1");
  expect(sap_problem_set_momentum_block(p, 1, 1, A, 1, &error), SAP_STATUS_ARGUMENT, &error,
         "leading dimension 1");
  expect(sap_problem_set_momentum_block(p, 1, 1, NULL, 2, &error), SAP_STATUS_ARGUMENT, &error,
         "block");
  assert_int_equal(sap_problem_set_momentum_block(p, 0, 1, C, 1, NULL), SAP_STATUS_OK);
  expect(sap_problem_set_momentum_block(p, 1, 0, C, 2, &error), SAP_STATUS_ARGUMENT, &error,
         "transpose");
  assert_null(sap_problem_momentum_block(p, -1, 7));
  sap_problem_destroy(p);
}

static void test_velocities(void** state) {
  (void)state;
  sap_problem* p = make();
  sap_error error = {0};
  const double good[6] = {1, 2, 3, 4, 5, 6}, bad[6] = {0, 0, (double)NAN, 0, 0, 0};
  assert_int_equal(sap_problem_set_v_star(p, good, NULL), SAP_STATUS_OK);
  expect(sap_problem_set_v_star(p, bad, &error), SAP_STATUS_NOT_FINITE, &error, "v_star[2]");
  assert_non_null(strstr(error.message, "tree 1"));
  assert_memory_equal(sap_problem_v_star(p), good, sizeof good);
  expect(sap_problem_set_v_guess(p, bad, &error), SAP_STATUS_NOT_FINITE, &error, "v_guess[2]");
  assert_memory_equal(sap_problem_v_guess(p), good, sizeof good);
  expect(sap_problem_set_v_guess(p, NULL, &error), SAP_STATUS_ARGUMENT, &error, "NULL");
  sap_problem_destroy(p);
}

// Each case changes one thing of a good block.
static void reject(const sap_block* block, sap_status wanted, const char* words) {
  sap_problem* p = make();
  sap_error error = {0};
  expect(sap_problem_add_block(p, block, &error), wanted, &error, words);
  assert_non_null(strstr(error.message, "block 0"));
  assert_int_equal(sap_problem_block_count(p), 0);
  assert_int_equal(sap_problem_row_count(p), 0);
  sap_problem_destroy(p);
}

static const double J_GOOD[9] = {1, 2, 3, 4, 5, 6, 7, 8, 9};
static const double J_BAD[9] = {1, 2, 3, 4, (double)NAN, 6, 7, 8, 9};
static const double* const JACOBIANS[2] = {J_GOOD, J_GOOD};
static const double* const BAD_JACOBIANS[2] = {J_GOOD, J_BAD};
static const double* const MISSING[2] = {J_GOOD, NULL};
static const int32_t TREES[2] = {0, 2}, TWICE[2] = {2, 2}, BEYOND[2] = {0, 3};
static const double R[3] = {0.1, 0.1, 0.2}, V_HAT[3] = {0};
static const double LOWER[3] = {-1, -1, -1}, UPPER[3] = {1, 1, 1};

static sap_block good_block(sap_set set) {
  return (sap_block){.set = set,
                     .nrows = 3,
                     .ntrees = 2,
                     .trees = TREES,
                     .jacobians = JACOBIANS,
                     .R = R,
                     .v_hat = V_HAT,
                     .friction = 0.5,
                     .lower = LOWER,
                     .upper = UPPER};
}

static void test_blocks(void** state) {
  (void)state;
  sap_block b;
#define CASE(change, wanted, words)      \
  b = good_block(SAP_SET_FRICTION_CONE); \
  b.change;                              \
  reject(&b, SAP_STATUS_##wanted, words)
  CASE(nrows = 0, ARGUMENT, "nrows = 0");
  CASE(nrows = 2, ARGUMENT, "3, 4 or 6 rows, not 2");
  CASE(ntrees = 0, ARGUMENT, "ntrees = 0");
  CASE(trees = NULL, ARGUMENT, "trees");
  CASE(trees = TWICE, ARGUMENT, "tree 2 is named twice");
  CASE(trees = BEYOND, ARGUMENT, "trees[1] = 3");
  CASE(jacobians = NULL, ARGUMENT, "jacobians");
  CASE(jacobians = MISSING, ARGUMENT, "jacobians[1]");
  CASE(jacobians = BAD_JACOBIANS, NOT_FINITE, "tree 2, entry (1, 1)");
  CASE(set = (sap_set)9, ARGUMENT, "set = 9");
  CASE(R = NULL, ARGUMENT, "R is NULL");
  CASE(R = ((const double[3]){0.1, 0.1, 1e-310}), ARGUMENT, "row 2: R = 1e-310");
  CASE(R = ((const double[3]){-0.1, 0.1, 0.1}), ARGUMENT, "row 0: R = -0.1");
  CASE(R = ((const double[3]){0.1, 0.2, 0.1}), ARGUMENT, "equal in all rows but the normal");
  CASE(R = ((const double[3]){0.1, 0.1, (double)NAN}), NOT_FINITE, "row 2: R");
  CASE(R = ((const double[3]){0.1, 0.1, (double)INFINITY}), NOT_FINITE, "row 2: R");
  CASE(v_hat = NULL, ARGUMENT, "v_hat is NULL");
  CASE(v_hat = ((const double[3]){0, (double)NAN, 0}), NOT_FINITE, "row 1: v_hat");
  CASE(friction = -0.1, ARGUMENT, "friction = -0.1");
  CASE(friction = (double)NAN, NOT_FINITE, "friction");
  CASE(friction = INFINITE, NOT_FINITE, "friction");
#undef CASE
#define CASE(change, wanted, words) \
  b = good_block(SAP_SET_BOX);      \
  b.change;                         \
  reject(&b, SAP_STATUS_##wanted, words)
  CASE(lower = NULL, ARGUMENT, "lower and upper");
  CASE(upper = NULL, ARGUMENT, "lower and upper");
  CASE(lower = ((const double[3]){-1, 2, -1}), ARGUMENT, "row 1: bounds [2, 1]");
  CASE(lower = ((const double[3]){-1, (double)NAN, -1}), NOT_FINITE, "row 1: bounds");
  CASE(upper = ((const double[3]){1, 1, -(double)INFINITY}), ARGUMENT, "row 2");
#undef CASE
  sap_problem* p = make();
  sap_error error = {0};
  expect(sap_problem_add_block(p, NULL, &error), SAP_STATUS_ARGUMENT, &error, "block");
  b = good_block(SAP_SET_BOX);
  b.lower = (const double[3]){-(double)INFINITY, 1, -1};  // half-open and single points are fine
  assert_int_equal(sap_problem_add_block(p, &b, NULL), SAP_STATUS_OK);
  sap_block out;
  expect(sap_problem_block(p, 1, &out, NULL, &error), SAP_STATUS_ARGUMENT, &error, "[0, 1)");
  sap_problem_destroy(p);
}

static void test_contacts(void** state) {
  (void)state;
  sap_problem* p = make();
  sap_error error = {0};
  const double one[1] = {1}, indefinite[9] = {1, 2, 0, 2, 1, 0, 0, 0, 1};
  sap_contact_block contact = {
      .ntrees = 2,
      .trees = TREES,
      .jacobians = JACOBIANS,
      .material = {.stiffness = 1e5, .relaxation_time = 0.01, .friction = 0.5}};
  const sap_regularization regularization = sap_regularization_default();
  expect(sap_problem_add_contact(p, &contact, &regularization, &error), SAP_STATUS_NOT_SPD, &error,
         "tree 0");
  assert_int_equal(sap_problem_set_momentum_block(p, 0, 0, one, 1, NULL), SAP_STATUS_OK);
  assert_int_equal(sap_problem_set_momentum_block(p, 2, 2, indefinite, 3, NULL), SAP_STATUS_OK);
  expect(sap_problem_add_contact(p, &contact, &regularization, &error), SAP_STATUS_NOT_SPD, &error,
         "tree 2");
  contact.ntrees = 1;
  contact.material.friction = -1.0;
  expect(sap_problem_add_contact(p, &contact, &regularization, &error), SAP_STATUS_ARGUMENT, &error,
         "block 0: friction = -1");
  contact.material.friction = 0.5;
  contact.phi0 = (double)NAN;
  expect(sap_problem_add_contact(p, &contact, &regularization, &error), SAP_STATUS_NOT_FINITE,
         &error, "phi0");
  contact.phi0 = 0.0;
  const double friction[5] = {0.5, 0.5, 0.01, 0.001, -0.001}, infinite[2] = {(double)INFINITY, 0.5};
  const double turns[2] = {0.1, (double)NAN};
  const double* angular[1] = {turns};
  contact.nrows = 5;
  expect(sap_problem_add_contact(p, &contact, &regularization, &error), SAP_STATUS_ARGUMENT, &error,
         "3, 4 or 6 rows, not 5");
  contact.nrows = 4;
  expect(sap_problem_add_contact(p, &contact, &regularization, &error), SAP_STATUS_ARGUMENT, &error,
         "needs friction and angular");
  contact.friction = friction;
  contact.angular = &angular[0];
  contact.nrows = 6;
  expect(sap_problem_add_contact(p, &contact, &regularization, &error), SAP_STATUS_ARGUMENT, &error,
         "friction[4] = -0.001");
  contact.nrows = 3;
  contact.friction = infinite;
  expect(sap_problem_add_contact(p, &contact, &regularization, &error), SAP_STATUS_NOT_FINITE,
         &error, "friction[0] = inf");
  contact.friction = NULL;
  contact.surface_velocity[1] = (double)NAN;
  expect(sap_problem_add_contact(p, &contact, &regularization, &error), SAP_STATUS_NOT_FINITE,
         &error, "surface_velocity[1]");
  contact.surface_velocity[1] = 0.0;
  contact.velocity_change[2] = (double)INFINITY;
  expect(sap_problem_add_contact(p, &contact, &regularization, &error), SAP_STATUS_NOT_FINITE,
         &error, "block 0: velocity_change[2] = inf");
  contact.velocity_change[2] = 0.0;
  contact.gap_change = (double)NAN;
  expect(sap_problem_add_contact(p, &contact, &regularization, &error), SAP_STATUS_NOT_FINITE,
         &error, "block 0: gap_change = nan");
  contact.gap_change = 0.0;
  const double zero[3] = {0};
  const double* no_motion[1] = {zero};
  contact.jacobians = no_motion;
  expect(sap_problem_add_contact(p, &contact, &regularization, &error), SAP_STATUS_ARGUMENT, &error,
         "w = 0");
  assert_int_equal(sap_problem_block_count(p), 0);
  sap_problem_destroy(p);
}

static void set_identities(sap_problem* p) {
  const double one[9] = {1, 0, 0, 0, 1, 0, 0, 0, 1}, two[4] = {1, 0, 0, 1};
  assert_int_equal(sap_problem_set_momentum_block(p, 0, 0, one, 1, NULL), SAP_STATUS_OK);
  assert_int_equal(sap_problem_set_momentum_block(p, 1, 1, two, 2, NULL), SAP_STATUS_OK);
  assert_int_equal(sap_problem_set_momentum_block(p, 2, 2, one, 3, NULL), SAP_STATUS_OK);
}

static void test_check(void** state) {
  (void)state;
  sap_problem* p = make();
  sap_error error = {0};
  expect(sap_problem_check(p, &error), SAP_STATUS_NOT_SPD, &error, "tree 0");
  set_identities(p);
  assert_int_equal(sap_problem_check(p, NULL), SAP_STATUS_OK);
  const double weak[2] = {0.3, 0.3}, strong[2] = {0.8, 0.8};
  assert_int_equal(sap_problem_set_momentum_block(p, 1, 0, weak, 2, NULL), SAP_STATUS_OK);
  assert_int_equal(sap_problem_check(p, NULL), SAP_STATUS_OK);
  assert_int_equal(sap_problem_set_momentum_block(p, 1, 0, strong, 2, NULL), SAP_STATUS_OK);
  expect(sap_problem_check(p, &error), SAP_STATUS_NOT_SPD, &error, "coupling");
  expect(sap_problem_check(NULL, &error), SAP_STATUS_ARGUMENT, &error, "NULL");
  sap_problem_destroy(p);
  sap_problem_destroy(NULL);
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(test_reset),      cmocka_unit_test(test_momentum),
      cmocka_unit_test(test_velocities), cmocka_unit_test(test_blocks),
      cmocka_unit_test(test_contacts),   cmocka_unit_test(test_check),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
