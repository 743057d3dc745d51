// SPDX-License-Identifier: BSD-3-Clause
// Every back-end against a textbook Cholesky in long double.
#include <float.h>
#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "linalg/block_factor.h"
#include "linalg/schwarz.h"
#include "support/block_matrix.h"
#include "support/near.h"

static const sap_linear_solver choices[] = {SAP_LINEAR_AUTO, SAP_LINEAR_DENSE, SAP_LINEAR_BLOCK,
                                            SAP_LINEAR_SPARSE};
enum { NCHOICES = 4, MAX_BLOCKS = 64 };

typedef struct link_rule {
  double density;
  uint64_t seed;
} link_rule;

static bool random_link(int32_t i, int32_t j, const void* context) {
  const link_rule* rule = context;
  uint64_t state = rule->seed + (uint64_t)i * 1000003u + (uint64_t)j;
  return test_random(&state) < 2 * rule->density - 1;
}

// Backward stable solvers differ by cond(A) eps; with blocks scaled by d the error is small in the
// scaled unknowns d x, so it is judged there. 1e-12 covers the condition numbers of these matrices
// (below 1e3 before scaling).
static void compare(sap_cholesky* cholesky, const block_matrix* matrix, const double* scale,
                    uint64_t seed) {
  double* b = calloc((size_t)matrix->n, sizeof *b);
  double* expected = calloc((size_t)matrix->n, sizeof *expected);
  uint64_t state = seed;
  for (int32_t k = 0; k < matrix->pattern.nblocks; ++k) {
    for (int32_t r = matrix->offset[k]; r < matrix->offset[k + 1]; ++r) {
      expected[r] = b[r] = test_random(&state) * scale[k];
    }
  }
  assert_true(block_matrix_solve(matrix, expected));
  assert_int_equal(sap_cholesky_factorize(cholesky, matrix->values, NULL, NULL), SAP_STATUS_OK);
  sap_cholesky_solve(cholesky, b);
  double error = 0;
  double size = 0;
  for (int32_t k = 0; k < matrix->pattern.nblocks; ++k) {
    for (int32_t r = matrix->offset[k]; r < matrix->offset[k + 1]; ++r) {
      error = fmax(error, fabs(b[r] - expected[r]) * scale[k]);
      size = fmax(size, fabs(expected[r]) * scale[k]);
      assert_true(isfinite(b[r]));
    }
  }
  assert_true(error <= 1e-12 * size);
  free(b);
  free(expected);
}

static void test_random_patterns(void** unused) {
  (void)unused;
  sap_cholesky* cholesky[NCHOICES];
  for (int32_t c = 0; c < NCHOICES; ++c) {
    assert_int_equal(sap_cholesky_create(&cholesky[c], NULL), SAP_STATUS_OK);
  }
  uint64_t state = 1;
  for (int32_t trial = 0; trial < 120; ++trial) {
    const int32_t nblocks = 1 + (int32_t)(10 * (1 + test_random(&state)));
    const int32_t largest = trial % 3 == 0 ? 36 : trial % 3 == 1 ? 7 : 3;
    int32_t sizes[MAX_BLOCKS];
    double scale[MAX_BLOCKS];
    for (int32_t k = 0; k < nblocks; ++k) {
      sizes[k] = 1 + (int32_t)(0.5 * (1 + test_random(&state)) * largest);
      scale[k] = trial % 2 == 0 ? 1 : pow(10, 6 * test_random(&state));
    }
    const link_rule rule = {0.5 * (1 + test_random(&state)), (uint64_t)trial};
    block_matrix matrix = block_matrix_create(nblocks, sizes, random_link, &rule);
    block_matrix_fill_spd(&matrix, scale, (uint64_t)trial);
    for (int32_t c = 0; c < NCHOICES; ++c) {
      assert_int_equal(sap_cholesky_analyze(cholesky[c], &matrix.pattern, choices[c], NULL, NULL),
                       SAP_STATUS_OK);
      compare(cholesky[c], &matrix, scale, (uint64_t)trial + 7);
    }
    block_matrix_destroy(&matrix);
  }
  for (int32_t c = 0; c < NCHOICES; ++c) {
    sap_cholesky_destroy(cholesky[c]);
  }
}

// Piles of 6-dof bodies on a grid with a few long links: much fill, wide supernodes.
static bool pile_link(int32_t i, int32_t j, const void* context) {
  const int32_t width = *(const int32_t*)context;
  return i - j == 1 || i - j == width || i - j == width * width || (i * 7 + j) % 31 == 0;
}

static void test_piles(void** unused) {
  (void)unused;
  static const int32_t block_sizes[] = {1, 2, 3, 4, 5, 6, 7, 8, 9};
  const int32_t nblocks = 60;
  const int32_t width = 4;
  sap_cholesky* cholesky;
  assert_int_equal(sap_cholesky_create(&cholesky, NULL), SAP_STATUS_OK);
  for (int32_t s = 0; s < 9; ++s) {
    int32_t sizes[MAX_BLOCKS];
    double scale[MAX_BLOCKS];
    for (int32_t k = 0; k < nblocks; ++k) {
      sizes[k] = block_sizes[s];
      scale[k] = 1;
    }
    block_matrix matrix = block_matrix_create(nblocks, sizes, pile_link, &width);
    block_matrix_fill_spd(&matrix, scale, (uint64_t)s);
    for (int32_t c = 0; c < NCHOICES; ++c) {
      bool analysed = false;
      assert_int_equal(sap_cholesky_analyze(cholesky, &matrix.pattern, choices[c], &analysed, NULL),
                       SAP_STATUS_OK);
      assert_true(analysed);
      assert_true(choices[c] == SAP_LINEAR_AUTO || sap_cholesky_choice(cholesky) == choices[c]);
      compare(cholesky, &matrix, scale, (uint64_t)s + 70);
    }
    block_matrix_destroy(&matrix);
  }
  sap_cholesky_destroy(cholesky);
}

// Each instruction set of this processor, on tiles of every width. The condition is below 1e3,
// numbers are below 10.
static void check_kernels(const sap_block_kernels* (*get)(int32_t index), double tolerance) {
  const int32_t width = 3;
  for (int32_t index = 0; get(index) != NULL; ++index) {
    const sap_block_kernels* kernels = get(index);
    for (int32_t size = 1; size <= 17; ++size) {
      int32_t sizes[MAX_BLOCKS];
      for (int32_t k = 0; k < 20; ++k) {
        sizes[k] = k % 2 == 0 ? size : 18 - size;
      }
      block_matrix matrix = block_matrix_create(20, sizes, pile_link, &width);
      block_matrix_fill_spd(&matrix, NULL, (uint64_t)size);
      sap_pattern_copy copy = {0};
      sap_block_order order = {0};
      sap_block_factor factor = {0};
      assert_int_equal(sap_pattern_assign(&copy, &matrix.pattern, NULL), SAP_STATUS_OK);
      assert_int_equal(sap_block_order_compute(&order, &copy.view, NULL), SAP_STATUS_OK);
      assert_int_equal(sap_block_factor_analyze(&factor, &copy, &order, NULL), SAP_STATUS_OK);
      assert_int_equal(sap_block_factor_reserve(&factor, NULL), SAP_STATUS_OK);
      double x[20 * 18];
      double expected[20 * 18];
      for (int32_t k = 0; k < matrix.n; ++k) {
        expected[k] = x[k] = 1 + k % 7;
      }
      assert_true(block_matrix_solve(&matrix, expected));
      assert_int_equal(kernels->factorize(&factor, matrix.values), -1);
      kernels->solve(&factor, x);
      for (int32_t k = 0; k < matrix.n; ++k) {
        assert_true(fabs(x[k] - expected[k]) < tolerance);
      }
      sap_block_factor_clear(&factor);
      sap_block_order_clear(&order);
      sap_pattern_clear(&copy);
      block_matrix_destroy(&matrix);
    }
  }
}

static void test_kernels(void** unused) {
  (void)unused;
  check_kernels(sap_block_kernels_get, 1e-11);
  check_kernels(sap_block_kernels_single_get, 1e-11 * (double)FLT_EPSILON / DBL_EPSILON);
}

// Solves with inexact factors allowed, or not; weights as of masses from 1 to 10.
static void solve_large(sap_cholesky* cholesky, const block_matrix* matrix, bool inexact, double* x,
                        double* weight) {
  for (int32_t i = 0; i < matrix->n; ++i) {
    x[i] = 1e20 * sin(1.0 + i);  // squares leave the range of floats
    weight[i] = 1.0 + i % 10;
  }
  assert_int_equal(sap_cholesky_allow_inexact(cholesky, inexact ? weight : NULL, NULL),
                   SAP_STATUS_OK);
  do {
    assert_int_equal(sap_cholesky_factorize(cholesky, matrix->values, NULL, NULL), SAP_STATUS_OK);
  } while (!sap_cholesky_solve(cholesky, x));
}

// Returns the residual in the weighted norm, relative to that of the right-hand side.
static double weighted_residual(const block_matrix* matrix, const double* x, const double* weight) {
  double* y = calloc((size_t)matrix->n, sizeof *y);
  double left = 0.0, whole = 0.0;
  block_matrix_multiply(matrix, x, y);
  for (int32_t i = 0; i < matrix->n; ++i) {
    const double b = 1e20 * sin(1.0 + i);
    left += (y[i] - b) * (y[i] - b) / weight[i];
    whole += b * b / weight[i];
  }
  free(y);
  return sqrt(left / whole);
}

static bool grid_link(int32_t i, int32_t j, const void* context) {
  const int32_t width = *(const int32_t*)context, d = i - j;
  return d == width * width || (d == width && i / width % width > 0) || (d == 1 && i % width > 0);
}

// Inexact factors serve a cube of bodies, to the residual that is promised. Where their numbers
// overflow, or the matrix is all but singular, the result is that of double precision to the last
// bit.
static void check_inexact(int32_t width, double least, double most) {
  const int32_t bodies = width * width * width;
  int32_t* sizes = calloc((size_t)bodies, sizeof *sizes);
  double* scale = calloc((size_t)bodies, sizeof *scale);
  for (int32_t k = 0; k < bodies; ++k) {
    sizes[k] = 6;
    scale[k] = 1.0;
  }
  block_matrix matrix = block_matrix_create(bodies, sizes, grid_link, &width);
  double* numbers = calloc(3 * (size_t)matrix.n, sizeof *numbers);
  double *x = numbers, *exact = x + matrix.n, *weight = exact + matrix.n;
  sap_cholesky* cholesky = NULL;
  assert_int_equal(sap_cholesky_create(&cholesky, NULL), SAP_STATUS_OK);
  assert_int_equal(sap_cholesky_analyze(cholesky, &matrix.pattern, SAP_LINEAR_AUTO, NULL, NULL),
                   SAP_STATUS_OK);
  assert_int_equal(sap_cholesky_choice(cholesky), SAP_LINEAR_BLOCK);
  for (int kind = 0; kind < 3; ++kind) {
    scale[bodies / 2] = kind == 1 ? 1e25 : 1.0;
    block_matrix_fill_spd(&matrix, scale, 5);
    for (int32_t k = 0; kind == 2 && k < bodies; ++k) {
      for (int32_t i = 0; i < 6; ++i) {
        block_matrix_entry(&matrix, k, k)[7 * i] -= 1.0 - 1e-9;
      }
    }
    solve_large(cholesky, &matrix, false, exact, weight);
    solve_large(cholesky, &matrix, true, x, weight);
    if (kind == 0) {
      const double residual = weighted_residual(&matrix, x, weight);
      assert_true(weighted_residual(&matrix, exact, weight) < 1e-13);
      assert_true(residual > least && residual < most);
    } else {
      assert_memory_equal(x, exact, (size_t)matrix.n * sizeof *x);
    }
  }
  sap_cholesky_destroy(cholesky);
  free(numbers);
  block_matrix_destroy(&matrix);
  free(scale);
  free(sizes);
}

static void test_inexact(void** unused) {
  (void)unused;
  check_inexact(8, 1e-13, SAP_CHOLESKY_RESIDUAL);                         // single precision
  check_inexact(13, SAP_CHOLESKY_RESIDUAL, SAP_CHOLESKY_PARTS_RESIDUAL);  // parts
}

// Parts of blocks of 1 to 9 rows: the preconditioner is symmetric and positive, and leaves
// the residual that it says.
static void test_parts(void** unused) {
  (void)unused;
  enum { WIDTH = 8, BLOCKS = WIDTH * WIDTH * WIDTH };
  static const int32_t width = WIDTH;
  int32_t sizes[BLOCKS];
  for (int32_t k = 0; k < BLOCKS; ++k) {
    sizes[k] = 1 + k % 9;
  }
  block_matrix matrix = block_matrix_create(BLOCKS, sizes, grid_link, &width);
  block_matrix_fill_spd(&matrix, NULL, 3);
  sap_pattern_copy copy = {0};
  sap_schwarz parts = {0};
  assert_int_equal(sap_pattern_assign(&copy, &matrix.pattern, NULL), SAP_STATUS_OK);
  assert_int_equal(sap_schwarz_analyze(&parts, &copy, NULL), SAP_STATUS_OK);
  assert_true(parts.nparts > 2);
  assert_true(sap_schwarz_factorize(&parts, matrix.values));
  const size_t n = (size_t)matrix.n;
  double* numbers = calloc(6 * n, sizeof *numbers);
  double *a = numbers, *b = a + n, *r = b + n, *Ma = r + n, *Mb = Ma + n, *expected = Mb + n;
  uint64_t state = 4;
  double ab = 0.0, ba = 0.0, aa = 0.0;
  for (size_t i = 0; i < n; ++i) {
    a[i] = test_random(&state);
    b[i] = test_random(&state);
  }
  memcpy(r, a, n * sizeof *r);
  sap_schwarz_apply(&parts, &copy, matrix.values, r, Ma);
  block_matrix_multiply(&matrix, Ma, expected);
  double left = 0.0, whole = 0.0;
  for (size_t i = 0; i < n; ++i) {
    ASSERT_NEAR(r[i], a[i] - expected[i], 1e-4);  // the factors' rounding, condition 1e2
    left += r[i] * r[i];
    whole += a[i] * a[i];
  }
  assert_true(left < 0.01 * whole);
  memcpy(r, b, n * sizeof *r);
  sap_schwarz_apply(&parts, &copy, matrix.values, r, Mb);
  for (size_t i = 0; i < n; ++i) {
    ab += a[i] * Mb[i];
    ba += b[i] * Ma[i];
    aa += a[i] * Ma[i];
  }
  assert_true(aa > 0.0);
  ASSERT_NEAR(ab, ba, 1e-5 * aa);
  sap_schwarz_clear(&parts);
  sap_pattern_clear(&copy);
  free(numbers);
  block_matrix_destroy(&matrix);
}

// AUTO: block where it is sparse, dense where everything fills and n is large.
static bool all_linked(int32_t i, int32_t j, const void* context) {
  (void)i;
  (void)j;
  (void)context;
  return true;
}

static bool chain_linked(int32_t i, int32_t j, const void* context) {
  (void)context;
  return i - j == 1;
}

static void test_automatic_choice(void** unused) {
  (void)unused;
  int32_t sizes[MAX_BLOCKS];
  for (int32_t k = 0; k < MAX_BLOCKS; ++k) {
    sizes[k] = 36;
  }
  block_matrix chain = block_matrix_create(MAX_BLOCKS, sizes, chain_linked, NULL);
  block_matrix full = block_matrix_create(MAX_BLOCKS, sizes, all_linked, NULL);
  sap_cholesky* cholesky = NULL;
  assert_int_equal(sap_cholesky_create(&cholesky, NULL), SAP_STATUS_OK);
  assert_int_equal(sap_cholesky_analyze(cholesky, &chain.pattern, SAP_LINEAR_AUTO, NULL, NULL),
                   SAP_STATUS_OK);
  assert_int_equal(sap_cholesky_choice(cholesky), SAP_LINEAR_BLOCK);
  assert_int_equal(sap_cholesky_analyze(cholesky, &full.pattern, SAP_LINEAR_AUTO, NULL, NULL),
                   SAP_STATUS_OK);
  assert_int_equal(sap_cholesky_choice(cholesky), SAP_LINEAR_DENSE);
  const int32_t body = 6;
  block_matrix one = block_matrix_create(1, &body, all_linked, NULL);
  assert_int_equal(sap_cholesky_analyze(cholesky, &one.pattern, SAP_LINEAR_AUTO, NULL, NULL),
                   SAP_STATUS_OK);
  assert_int_equal(sap_cholesky_choice(cholesky), SAP_LINEAR_BLOCK);
  block_matrix_destroy(&one);
  bool analysed = false;
  assert_int_equal(sap_cholesky_analyze(cholesky, &full.pattern, SAP_LINEAR_AUTO, &analysed, NULL),
                   SAP_STATUS_OK);
  assert_true(analysed);
  assert_int_equal(sap_cholesky_analyze(cholesky, &full.pattern, SAP_LINEAR_AUTO, &analysed, NULL),
                   SAP_STATUS_OK);
  assert_false(analysed);
  // The same content elsewhere in memory is the same pattern.
  int32_t* moved = malloc(sizeof(int32_t) * MAX_BLOCKS);
  assert_non_null(moved);
  for (int32_t k = 0; k < MAX_BLOCKS; ++k) {
    moved[k] = sizes[k];
  }
  sap_block_pattern elsewhere = full.pattern;
  elsewhere.sizes = moved;
  assert_int_equal(sap_cholesky_analyze(cholesky, &elsewhere, SAP_LINEAR_AUTO, &analysed, NULL),
                   SAP_STATUS_OK);
  assert_false(analysed);
  free(moved);
  sap_cholesky_destroy(cholesky);
  block_matrix_destroy(&chain);
  block_matrix_destroy(&full);
}

// Large patterns get the fastest set, small ones one that this processor runs, too.
static void test_choice_of_kernels(void** state) {
  (void)state;
  assert_ptr_equal(sap_block_kernels_for((double)INFINITY), sap_block_kernels_get(0));
  const sap_block_kernels* small = sap_block_kernels_for(0.0);
  int32_t index = 0;
  while (sap_block_kernels_get(index) != NULL && sap_block_kernels_get(index) != small) {
    ++index;
  }
  assert_ptr_equal(sap_block_kernels_get(index), small);
  assert_non_null(small);
  assert_string_not_equal(small->name, "avx512");
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(test_choice_of_kernels),
      cmocka_unit_test(test_random_patterns),
      cmocka_unit_test(test_piles),
      cmocka_unit_test(test_kernels),
      cmocka_unit_test(test_inexact),
      cmocka_unit_test(test_parts),
      cmocka_unit_test(test_automatic_choice),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
