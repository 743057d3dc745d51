// SPDX-License-Identifier: BSD-3-Clause
// Problems stacked in a text file: read one after the other; what is wrong is named by its line.
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include <cmocka.h>

#include <sapstep/problem_file.h>

#include "support/near.h"
#include "support/scratch.h"

#define FIRST                                                        \
  "sapstep_problem 1\n0.01 2\n2 2 0.5 0.5 3\n1 4\n1 2 3\n7 8 9\n2\n" \
  "1 -1 0.5  5 5 6  0 -1 -2  7 8 9\n0 1 0.25  2 2 3  4 5 6  1 2 3 4 5 6  -1 -2 -3\n"
#define SECOND "sapstep_problem 1\n0.5 1\n1 2\n9\n8\n0\n"

#define EXPECT(found, ...)                                   \
  do {                                                       \
    const double expected[] = {__VA_ARGS__};                 \
    assert_memory_equal((found), expected, sizeof expected); \
  } while (0)

static void test_stacked(void** state) {
  (void)state;
  scratch s;
  char path[SCRATCH_PATH_SIZE];
  sap_problem* p = NULL;
  sap_block block;
  int64_t at = 0;
  scratch_begin(&s);
  scratch_write(&s, "two.problem", FIRST "\n" SECOND "\n", strlen(FIRST SECOND) + 2, path);
  assert_int_equal(sap_problem_create(&p, NULL), SAP_STATUS_OK);
  assert_int_equal(sap_problem_file_read_next(path, &at, p, NULL), SAP_STATUS_OK);
  assert_true(at > 0 && sap_problem_tree_count(p) == 2 && sap_problem_block_count(p) == 2);
  ASSERT_NEAR(sap_problem_dt(p), 0.01, 0.0);
  EXPECT(sap_problem_momentum_block(p, 0, 0), 2, 0.5, 0.5, 3);
  EXPECT(sap_problem_momentum_block(p, 1, 1), 4);
  EXPECT(sap_problem_v_star(p), 1, 2, 3);
  EXPECT(sap_problem_v_guess(p), 7, 8, 9);
  assert_int_equal(sap_problem_block(p, 0, &block, NULL, NULL), SAP_STATUS_OK);
  assert_true(block.ntrees == 1 && block.trees[0] == 1 && block.friction == 0.5);
  EXPECT(block.R, 5, 5, 6);
  EXPECT(block.v_hat, 0, -1, -2);
  EXPECT(block.jacobians[0], 7, 8, 9);
  assert_int_equal(sap_problem_block(p, 1, &block, NULL, NULL), SAP_STATUS_OK);
  assert_true(block.ntrees == 2 && block.trees[0] == 0 && block.trees[1] == 1);
  assert_true(block.friction == 0.25 && block.set == SAP_SET_FRICTION_CONE);
  EXPECT(block.R, 2, 2, 3);
  EXPECT(block.v_hat, 4, 5, 6);
  EXPECT(block.jacobians[0], 1, 3, 5, 2, 4, 6);  // by columns
  EXPECT(block.jacobians[1], -1, -2, -3);
  assert_int_equal(sap_problem_file_read_next(path, &at, p, NULL), SAP_STATUS_OK);
  assert_true(at == -1 && sap_problem_block_count(p) == 0 && sap_problem_v_star(p)[0] == 9.0);
  assert_int_equal(sap_problem_file_read_next(path, &at, p, NULL), SAP_STATUS_ARGUMENT);
  assert_int_equal(sap_problem_file_read(path, p, NULL), SAP_STATUS_OK);
  assert_int_equal(sap_problem_tree_count(p), 2);
  sap_problem_destroy(p);
  scratch_end(&s);
}

static void test_wrong(void** state) {
  (void)state;
  static const struct {
    const char *text, *message;
  } cases[] = {
      {"sapstep_problem 1\n0.01\n", ":2: dt and the number of trees: 2 numbers are needed"},
      {"sapstep_problem 1\n0.01 1.5\n", ":2: the number of trees = 1.5 must be an integer"},
      {"sapstep_problem 1\n0.01 1\n2 1 0 0\n",
       ":3: A of tree 0: 4 numbers are needed, there are 3"},
      {"sapstep_problem 1\n0.01 1\n1 x\n", ":3: n and A of a tree: 'x' is not a number"},
      {"sapstep_problem 1\n0.01 1\n1 inf\n", ":3: n and A of a tree: 'inf'"},
      {"sapstep_problem 1\n0.01 1\n1 1\n1 2\n", ":4: v_star: 1 numbers are needed, there are 2"},
      {"sapstep_problem 1\n0.01 1\n1 1\n1\n", ":4: the file ends where v_guess should follow"},
      {"sapstep_problem 1\n0.01 1\n1 1\n1\n1\n1\n0 1 0.5\n", ":7: treeB = 1 must be an integer"},
      {"sapstep_problem 1\n0.01 1\n1 1\n1\n1\n1\n0 -1 0.5 1 1 1 0 0 0 1 1\n", ":7: a contact of 1"},
      {"sapstep_problem 1\n0.01 1\n1 1\n1\n1\n1\n0 -1 -2 1 1 1 0 0 0 1 1 1\n", ":7: "},
      {"sapstep_problem 1\n0.01 1\n2 2 1 0 2\n0 0\n0 0\n0\n",
       ":3: A of tree 0 is not symmetric, A(1,0) = 0, A(0,1) = 1"},
      {"sapstep_problem 1\n0.01 1\n1 1\n1\n1\n0",
       ":6: the number of contacts: the line has no end"},
      {"sapstep_problem 1\n0.01 1\n1 1%2\n1\n1\n0\n", ":3: a byte of the line is 0"},
      {SECOND "rest\n", NULL}};
  scratch s;
  char path[SCRATCH_PATH_SIZE];
  sap_problem* p = NULL;
  scratch_begin(&s);
  assert_int_equal(sap_problem_create(&p, NULL), SAP_STATUS_OK);
  for (size_t i = 0; i < sizeof cases / sizeof *cases; ++i) {
    sap_error error = {0};
    int64_t at = 0;
    char text[256];
    const size_t length = strlen(cases[i].text);
    memcpy(text, cases[i].text, length);
    char* zero = memchr(text, '%', length);  // represents a byte 0
    if (zero != NULL) {
      *zero = '\0';
    }
    scratch_write(&s, "wrong.problem", text, length, path);
    if (cases[i].message == NULL) {  // the second one is wrong
      assert_int_equal(sap_problem_file_read_next(path, &at, p, &error), SAP_STATUS_OK);
    }
    assert_int_not_equal(sap_problem_file_read_next(path, &at, p, &error), SAP_STATUS_OK);
    const char* message = cases[i].message != NULL ? cases[i].message : ":7: 'sapstep_problem 1'";
    if (strstr(error.message, message) == NULL) {
      fail_msg("'%s' lacks '%s'", error.message, message);
    }
    assert_int_equal(sap_problem_tree_count(p), 0);
  }
  sap_problem_destroy(p);
  scratch_end(&s);
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(test_stacked),
      cmocka_unit_test(test_wrong),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
