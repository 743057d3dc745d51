// SPDX-License-Identifier: BSD-3-Clause
// Problems as text: what is read is what the text says, what is written comes back bit by bit.
#include <locale.h>
#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>

#include <cmocka.h>

#include <sapstep/problem_file.h>

#include "support/scratch.h"
#include "support/skip.h"

// Trees of 2 and 1 dofs; one contact on tree 1 alone, one between trees 1 and 0.
static const char text[] =
    "sapstep_problem 1\n"
    "0.01 2\n"
    "2 4 1 1 3\n"
    "1 2.5\n"
    "1 -2 3e-1\n"
    "0 -0 .5\n"
    "2\n"
    "1 -1 0.5 1e-3 1e-3 0.25 0.1 0.2 0.3 7 8 9\n"
    "1 0 0 1e-3 1e-3 0.25 0 0 -1 10 20 30 1 2 3 4 5 6\n";

static void assert_same_bits(const double* a, const double* b, size_t count) {
  assert_memory_equal(a, b, count * sizeof *a);
}

// Every number of two problems is the same, bit by bit.
static void assert_same_problem(const sap_problem* a, const sap_problem* b) {
  const double dt[2] = {sap_problem_dt(a), sap_problem_dt(b)};
  assert_same_bits(&dt[0], &dt[1], 1);
  const int32_t ntrees = sap_problem_tree_count(a);
  assert_int_equal(ntrees, sap_problem_tree_count(b));
  for (int32_t t = 0; t < ntrees; ++t) {
    const int32_t n = sap_problem_tree_size(a, t);
    assert_int_equal(n, sap_problem_tree_size(b, t));
    assert_same_bits(sap_problem_momentum_block(a, t, t), sap_problem_momentum_block(b, t, t),
                     (size_t)n * (size_t)n);
  }
  const size_t nv = (size_t)sap_problem_velocity_count(a);
  assert_same_bits(sap_problem_v_star(a), sap_problem_v_star(b), nv);
  assert_same_bits(sap_problem_v_guess(a), sap_problem_v_guess(b), nv);
  assert_int_equal(sap_problem_block_count(a), sap_problem_block_count(b));
  for (int32_t i = 0; i < sap_problem_block_count(a); ++i) {
    sap_block x, y;
    assert_int_equal(sap_problem_block(a, i, &x, NULL, NULL), SAP_STATUS_OK);
    assert_int_equal(sap_problem_block(b, i, &y, NULL, NULL), SAP_STATUS_OK);
    assert_int_equal(x.set, y.set);
    assert_int_equal(x.ntrees, y.ntrees);
    assert_same_bits(&x.friction, &y.friction, 1);
    assert_int_equal(x.nrows, y.nrows);
    const size_t nrows = (size_t)x.nrows;
    assert_same_bits(x.R, y.R, nrows);
    assert_same_bits(x.v_hat, y.v_hat, nrows);
    for (int32_t k = 0; k < x.ntrees; ++k) {
      assert_int_equal(x.trees[k], y.trees[k]);
      assert_same_bits(x.jacobians[k], y.jacobians[k],
                       nrows * (size_t)sap_problem_tree_size(a, x.trees[k]));
    }
  }
}

// Reads all problems of a file; the caller destroys them.
static int read_all(const char* path, sap_problem** problems, int capacity) {
  sap_error error = {0};
  sap_problem_reader* reader;
  assert_int_equal(sap_problem_reader_open(path, &reader, &error), SAP_STATUS_OK);
  int count = 0;
  for (;;) {
    sap_problem* problem;
    assert_int_equal(sap_problem_create(&problem, NULL), SAP_STATUS_OK);
    bool found;
    if (sap_problem_reader_next(reader, problem, &found, &error) != SAP_STATUS_OK) {
      fail_msg("%s", error.message);
    }
    if (!found) {
      sap_problem_destroy(problem);
      break;
    }
    assert_true(count < capacity);
    problems[count++] = problem;
  }
  sap_problem_reader_close(reader);
  return count;
}

static void write_all(const char* path, sap_problem* const* problems, int count) {
  sap_problem_writer* writer;
  assert_int_equal(sap_problem_writer_open(path, &writer, NULL), SAP_STATUS_OK);
  for (int i = 0; i < count; ++i) {
    assert_int_equal(sap_problem_writer_problem(writer, problems[i], NULL), SAP_STATUS_OK);
  }
  assert_int_equal(sap_problem_writer_commit(writer, NULL), SAP_STATUS_OK);
  sap_problem_writer_close(writer);
}

static void check_text_problem(const sap_problem* p) {
  const double dt = sap_problem_dt(p), expected_dt = 0.01;
  assert_same_bits(&dt, &expected_dt, 1);
  assert_int_equal(sap_problem_tree_count(p), 2);
  const double A0[4] = {4, 1, 1, 3}, A1 = 2.5, v_star[3] = {1, -2, 0.3}, guess[3] = {0, -0.0, 0.5};
  assert_same_bits(sap_problem_momentum_block(p, 0, 0), A0, 4);
  assert_same_bits(sap_problem_momentum_block(p, 1, 1), &A1, 1);
  assert_null(sap_problem_momentum_block(p, 1, 0));
  assert_same_bits(sap_problem_v_star(p), v_star, 3);
  assert_same_bits(sap_problem_v_guess(p), guess, 3);
  assert_int_equal(sap_problem_block_count(p), 2);
  sap_block b;
  assert_int_equal(sap_problem_block(p, 0, &b, NULL, NULL), SAP_STATUS_OK);
  const double mu = 0.5, R[3] = {1e-3, 1e-3, 0.25}, v_hat[3] = {0.1, 0.2, 0.3}, J[3] = {7, 8, 9};
  assert_int_equal(b.set, SAP_SET_FRICTION_CONE);
  assert_int_equal(b.ntrees, 1);
  assert_int_equal(b.trees[0], 1);
  assert_same_bits(&b.friction, &mu, 1);
  assert_same_bits(b.R, R, 3);
  assert_same_bits(b.v_hat, v_hat, 3);
  assert_same_bits(b.jacobians[0], J, 3);
  assert_int_equal(sap_problem_block(p, 1, &b, NULL, NULL), SAP_STATUS_OK);
  // rows (1 2), (3 4), (5 6) of the text, column by column
  const double JA[3] = {10, 20, 30}, JB[6] = {1, 3, 5, 2, 4, 6};
  assert_int_equal(b.ntrees, 2);
  assert_int_equal(b.trees[0], 1);
  assert_int_equal(b.trees[1], 0);
  assert_same_bits(b.jacobians[0], JA, 3);
  assert_same_bits(b.jacobians[1], JB, 6);
}

static void test_reads_what_the_text_says(void** state) {
  (void)state;
  scratch s;
  scratch_begin(&s);
  char path[SCRATCH_PATH_SIZE];
  sap_problem* problems[2];
  assert_int_equal(read_all(scratch_write(&s, "a", text, strlen(text), path), problems, 2), 1);
  check_text_problem(problems[0]);
  sap_problem_destroy(problems[0]);
  scratch_end(&s);
}

// Blank lines, blanks around numbers and CR LF change nothing.
static void test_layout(void** state) {
  (void)state;
  scratch s;
  scratch_begin(&s);
  char path[SCRATCH_PATH_SIZE], loose[2048] = "\n \t\r\n";
  size_t n = strlen(loose);
  for (const char* c = text; *c != '\0'; ++c) {
    const char* part = *c == '\n' ? " \t\r\n\n" : *c == ' ' ? " \t " : NULL;
    const bool in_header = n < 25;
    if (part != NULL && !(in_header && *c == ' ')) {
      memcpy(loose + n, part, strlen(part));
      n += strlen(part);
    } else {
      loose[n++] = *c;
    }
  }
  sap_problem* problems[2];
  assert_int_equal(read_all(scratch_write(&s, "loose", loose, n, path), problems, 2), 1);
  check_text_problem(problems[0]);
  sap_problem_destroy(problems[0]);
  scratch_end(&s);
}

// A deterministic stream of doubles over all magnitudes (SplitMix64).
static double next_real(uint64_t* seed) {
  uint64_t z = (*seed += 0x9e3779b97f4a7c15u);
  z = (z ^ (z >> 30)) * 0xbf58476d1ce4e5b9u;
  z = (z ^ (z >> 27)) * 0x94d049bb133111ebu;
  z ^= z >> 31;
  return ldexp((double)(int64_t)z, (int)(z % 400) - 260);
}

static void fill_random(sap_problem* p, uint64_t seed) {
  const int32_t sizes[3] = {1, 6, 3};
  double values[10], A[36], J[18];
  const double* jacobians[2] = {J, J};
  assert_int_equal(sap_problem_reset(p, fabs(next_real(&seed)), 3, sizes, NULL), SAP_STATUS_OK);
  for (int32_t t = 0; t < 3; ++t) {
    const int n = sizes[t];
    for (int i = 0; i < n; ++i) {  // strictly diagonally dominant
      for (int j = 0; j < n; ++j) {
        A[i + j * n] = i == j ? 7.0 + i / 3.0 : 1.0 / (3.0 + i + j + t);
      }
    }
    assert_int_equal(sap_problem_set_momentum_block(p, t, t, A, n, NULL), SAP_STATUS_OK);
  }
  for (int k = 0; k < 2; ++k) {
    for (int i = 0; i < 10; ++i) {
      values[i] = next_real(&seed);
    }
    assert_int_equal(
        k == 0 ? sap_problem_set_v_star(p, values, NULL) : sap_problem_set_v_guess(p, values, NULL),
        SAP_STATUS_OK);
  }
  for (int32_t c = 0; c < 4; ++c) {
    for (int i = 0; i < 18; ++i) {
      J[i] = i == 4 ? -0.0 : i == 5 ? 4.9406564584124654e-324 : next_real(&seed);
    }
    const double R[3] = {0.1 * (1 + c), 0.1 * (1 + c), fabs(next_real(&seed))};
    const double v_hat[3] = {next_real(&seed), next_real(&seed), next_real(&seed)};
    const int32_t trees[2] = {c % 3, (c + 1) % 3};
    const sap_block block = {.set = SAP_SET_FRICTION_CONE,
                             .nrows = 3,
                             .ntrees = 1 + c % 2,
                             .trees = trees,
                             .jacobians = jacobians,
                             .R = R,
                             .v_hat = v_hat,
                             .friction = c / 3.0};
    assert_int_equal(sap_problem_add_block(p, &block, NULL), SAP_STATUS_OK);
  }
}

static void test_round_trip(void** state) {
  (void)state;
  scratch s;
  scratch_begin(&s);
  char path[SCRATCH_PATH_SIZE];
  sap_problem *written[5], *read[5];
  for (int i = 0; i < 5; ++i) {
    assert_int_equal(sap_problem_create(&written[i], NULL), SAP_STATUS_OK);
    fill_random(written[i], 17u * (uint64_t)i);
  }
  write_all(scratch_path(&s, "b", path), written, 5);
  assert_int_equal(scratch_count(&s), 1);
  assert_int_equal(read_all(path, read, 5), 5);
  for (int i = 0; i < 5; ++i) {
    assert_same_problem(written[i], read[i]);
    sap_problem_destroy(written[i]);
    sap_problem_destroy(read[i]);
  }
  scratch_end(&s);
}

// A locale with a decimal comma changes neither reading nor writing.
static void test_locale(void** state) {
  (void)state;
  static const char* const names[] = {"de_DE.UTF-8", "de_DE.utf8", "fr_FR.UTF-8", "de_DE"};
  const char* set = NULL;
  for (size_t i = 0; i < sizeof names / sizeof names[0] && set == NULL; ++i) {
    set = setlocale(LC_NUMERIC, names[i]);
  }
  if (set == NULL) {
    SKIP("no locale with a decimal comma is installed");
  }
  scratch s;
  scratch_begin(&s);
  char path[SCRATCH_PATH_SIZE];
  sap_problem* problems[2];
  assert_int_equal(read_all(scratch_write(&s, "a", text, strlen(text), path), problems, 1), 1);
  check_text_problem(problems[0]);
  write_all(scratch_path(&s, "b", path), problems, 1);
  assert_int_equal(read_all(path, problems + 1, 1), 1);
  check_text_problem(problems[1]);
  (void)setlocale(LC_NUMERIC, "C");
  sap_problem_destroy(problems[0]);
  sap_problem_destroy(problems[1]);
  scratch_end(&s);
}

// Real problems: read, write, read.
static void test_shared_files(void** state) {
  (void)state;
  static const struct {
    const char* name;
    int problems, nv, blocks;  // of the last problem
  } files[] = {{"articulated", 12, 47, 2}, {"clutter40_a", 6, 240, 62}, {"rnd_8_24", 1, 48, 24}};
  scratch s;
  scratch_begin(&s);
  for (size_t i = 0; i < sizeof files / sizeof files[0]; ++i) {
    char source[SCRATCH_PATH_SIZE], copy[SCRATCH_PATH_SIZE];
    (void)snprintf(source, sizeof source, "%s/data/contact-problems/%s.problem", SAPSTEP_SHARED,
                   files[i].name);
    if (!skip_finds(source)) {
      scratch_end(&s);
      SKIP("%s is absent", source);
    }
    sap_problem *first[12], *second[12];
    const int count = read_all(source, first, 12);
    assert_int_equal(count, files[i].problems);
    assert_int_equal(sap_problem_velocity_count(first[count - 1]), files[i].nv);
    assert_int_equal(sap_problem_block_count(first[count - 1]), files[i].blocks);
    write_all(scratch_path(&s, "copy", copy), first, count);
    assert_int_equal(read_all(copy, second, 12), count);
    for (int k = 0; k < count; ++k) {
      assert_int_equal(sap_problem_check(first[k], NULL), SAP_STATUS_OK);
      assert_same_problem(first[k], second[k]);
      sap_problem_destroy(first[k]);
      sap_problem_destroy(second[k]);
    }
  }
  scratch_end(&s);
}

// Problems that the format cannot hold are refused; earlier output stays usable.
// Contacts with spin (4 rows) and rolling (6) beside one of 3: told apart by how much they hold.
static void test_wide_cones(void** state) {
  static const char wide[] =
      "sapstep_problem 1\n0.01 2\n2 4 1 1 3\n1 2.5\n1 -2 3e-1\n0 -0 .5\n3\n"
      "0 -1 0.5 1e-3 1e-3 0.25 1e-3 .1 .2 .3 .4 1 2 3 4 5 6 7 8\n"
      "1 -1 0.4 1e-3 1e-3 0.25 1e-3 1e-3 1e-3 .1 .2 .3 .4 .5 .6 1 2 3 4 5 6\n"
      "0 1 0.3 2e-3 2e-3 0.5 0 0 0 1 2 3 4 5 6 7 8 9\n";
  static const double J4[8] = {1, 3, 5, 7, 2, 4, 6, 8};  // rows (1 2), (3 4), ... by columns
  static const double J6[6] = {1, 2, 3, 4, 5, 6}, v_hat4[4] = {0.1, 0.2, 0.3, 0.4};
  (void)state;
  scratch files;
  scratch_begin(&files);
  char path[SCRATCH_PATH_SIZE], copy[SCRATCH_PATH_SIZE];
  scratch_write(&files, "wide", wide, strlen(wide), path);
  sap_problem *problem[1], *again[1];
  assert_int_equal(read_all(path, problem, 1), 1);
  sap_block b;
  static const int32_t rows[3] = {4, 6, 3};
  for (int32_t i = 0; i < 3; ++i) {
    assert_int_equal(sap_problem_block(problem[0], i, &b, NULL, NULL), SAP_STATUS_OK);
    assert_int_equal(b.nrows, rows[i]);
    if (i < 2) {
      assert_same_bits(b.jacobians[0], i == 0 ? J4 : J6, i == 0 ? 8 : 6);
      assert_same_bits(b.v_hat, v_hat4, 4);
      assert_true(b.R[2] == 0.25 && b.R[3] == 1e-3);
    }
  }
  scratch_path(&files, "wide_copy", copy);
  write_all(copy, problem, 1);
  assert_int_equal(read_all(copy, again, 1), 1);
  assert_same_problem(problem[0], again[0]);
  sap_problem_destroy(problem[0]);
  sap_problem_destroy(again[0]);
  scratch_end(&files);
}

static void test_unsupported(void** state) {
  (void)state;
  scratch s;
  scratch_begin(&s);
  char path[SCRATCH_PATH_SIZE];
  sap_problem* p;
  sap_error error = {0};
  assert_int_equal(sap_problem_create(&p, NULL), SAP_STATUS_OK);
  sap_problem_writer* writer;
  assert_int_equal(sap_problem_writer_open(scratch_path(&s, "c", path), &writer, NULL),
                   SAP_STATUS_OK);
  assert_int_equal(sap_problem_writer_problem(writer, p, &error), SAP_STATUS_UNSUPPORTED);
  fill_random(p, 1);
  const double J[1] = {1}, R[1] = {1}, v_hat[1] = {0}, coupling[6] = {1e-3};
  const double* jacobians[1] = {J};
  const int32_t trees[1] = {0};
  const sap_block limit = {.set = SAP_SET_NONNEGATIVE,
                           .nrows = 1,
                           .ntrees = 1,
                           .trees = trees,
                           .jacobians = jacobians,
                           .R = R,
                           .v_hat = v_hat};
  assert_int_equal(sap_problem_add_block(p, &limit, NULL), SAP_STATUS_OK);
  assert_int_equal(sap_problem_writer_problem(writer, p, &error), SAP_STATUS_UNSUPPORTED);
  assert_non_null(strstr(error.message, "block 4"));
  fill_random(p, 2);
  assert_int_equal(sap_problem_set_momentum_block(p, 1, 0, coupling, 6, NULL), SAP_STATUS_OK);
  assert_int_equal(sap_problem_writer_problem(writer, p, &error), SAP_STATUS_UNSUPPORTED);
  assert_non_null(strstr(error.message, "couples trees"));
  fill_random(p, 3);
  assert_int_equal(sap_problem_writer_problem(writer, p, &error), SAP_STATUS_OK);
  assert_int_equal(sap_problem_writer_commit(writer, &error), SAP_STATUS_OK);
  sap_problem_writer_close(writer);
  sap_problem* back[1];
  assert_int_equal(read_all(path, back, 1), 1);
  assert_same_problem(p, back[0]);
  sap_problem_destroy(back[0]);
  sap_problem_destroy(p);
  scratch_end(&s);
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(test_reads_what_the_text_says),
      cmocka_unit_test(test_layout),
      cmocka_unit_test(test_round_trip),
      cmocka_unit_test(test_locale),
      cmocka_unit_test(test_wide_cones),
      cmocka_unit_test(test_shared_files),
      cmocka_unit_test(test_unsupported),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
