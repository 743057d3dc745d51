// SPDX-License-Identifier: BSD-3-Clause
// Processor times of the Cholesky back-ends on patterns as contact makes them; one JSON line per
// case and back-end. Warm-up excluded; minimum and median of many repetitions. On piles also our
// kernels beside CHOLMOD, if it is installed, in turns: times and the median of the ratios.
#define _POSIX_C_SOURCE 200809L
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#ifdef BESIDE_CHOLMOD
#include <cholmod.h>
#endif

#include "bench_clock.h"
#include "linalg/block_factor.h"
#include "support/block_matrix.h"

enum { MAX_BLOCKS = 1024, REPEATS = 21 };

// Bodies at random places of a box; those closer than one length touch.
typedef struct pile {
  double place[MAX_BLOCKS][3];
} pile;

static pile make_pile(int32_t count) {
  static const double room = 0.7;     // volume per body: six neighbours inside
  static const double slender = 0.6;  // width / cube root of the volume
  pile p = {0};
  uint64_t state = (uint64_t)count;
  const double side = cbrt(room * count);
  for (int32_t k = 0; k < count; ++k) {
    for (int32_t axis = 0; axis < 3; ++axis) {
      const double length = axis < 2 ? side / sqrt(slender) * 0.9 : side * slender;
      p.place[k][axis] = 0.5 * length * test_random(&state);
    }
  }
  return p;
}

static bool pile_link(int32_t i, int32_t j, const void* context) {
  const pile* p = context;
  double square = 0;
  for (int32_t axis = 0; axis < 3; ++axis) {
    const double d = p->place[i][axis] - p->place[j][axis];
    square += d * d;
  }
  return square < 1;
}

static bool chain_link(int32_t i, int32_t j, const void* context) {
  (void)context;
  return i - j == 1;
}

static int ascending(const void* a, const void* b) {
  const double x = *(const double*)a;
  const double y = *(const double*)b;
  return (x > y) - (x < y);
}

typedef struct timing {
  double min, median;
} timing;

static timing summarize(double* seconds) {
  qsort(seconds, REPEATS, sizeof *seconds, ascending);
  return (timing){1e6 * seconds[0], 1e6 * seconds[REPEATS / 2]};
}

static double residual(const block_matrix* matrix, const double* x) {
  double* y = calloc((size_t)matrix->n, sizeof *y);
  if (y == NULL) {
    abort();
  }
  block_matrix_multiply(matrix, x, y);
  double worst = 0;
  for (int32_t k = 0; k < matrix->n; ++k) {
    worst = fmax(worst, fabs(y[k] - 1));
  }
  free(y);
  return worst;
}

static void run(const char* name, const block_matrix* matrix, sap_linear_solver choice) {
  static const char* const names[] = {"auto", "dense", "block"};
  sap_cholesky* cholesky = NULL;
  double* x = calloc((size_t)matrix->n, sizeof *x);
  double factor_time[REPEATS];
  double solve_time[REPEATS];
  if (x == NULL || sap_cholesky_create(&cholesky, NULL) != SAP_STATUS_OK) {
    abort();
  }
  const double start = bench_seconds(CLOCK_PROCESS_CPUTIME_ID);
  if (sap_cholesky_analyze(cholesky, &matrix->pattern, choice, NULL, NULL) != SAP_STATUS_OK) {
    abort();
  }
  const double analyze = 1e6 * (bench_seconds(CLOCK_PROCESS_CPUTIME_ID) - start);
  const int32_t inner = matrix->n < 1000 ? 20 : 1;
  for (int32_t k = -2; k < REPEATS; ++k) {
    const double t0 = bench_seconds(CLOCK_PROCESS_CPUTIME_ID);
    for (int32_t repeat = 0; repeat < inner; ++repeat) {
      if (sap_cholesky_factorize(cholesky, matrix->values, NULL, NULL) != SAP_STATUS_OK) {
        abort();
      }
    }
    const double t1 = bench_seconds(CLOCK_PROCESS_CPUTIME_ID);
    for (int32_t repeat = 0; repeat < inner; ++repeat) {
      for (int32_t i = 0; i < matrix->n; ++i) {
        x[i] = 1;
      }
      sap_cholesky_solve(cholesky, x);
    }
    if (k >= 0) {
      factor_time[k] = (t1 - t0) / inner;
      solve_time[k] = (bench_seconds(CLOCK_PROCESS_CPUTIME_ID) - t1) / inner;
    }
  }
  const timing factor = summarize(factor_time);
  const timing solve = summarize(solve_time);
  printf(
      "{\"case\": \"%s\", \"n\": %d, \"solver\": \"%s\", \"chosen\": \"%s\", \"analyze_us\": %.1f, "
      "\"factor_us\": %.2f, \"factor_median_us\": %.2f, \"solve_us\": %.2f, \"residual\": %.1e}\n",
      name, (int)matrix->n, names[choice], names[sap_cholesky_choice(cholesky)], analyze,
      factor.min, factor.median, solve.min, residual(matrix, x));
  sap_cholesky_destroy(cholesky);
  free(x);
}

// Our kernels alone, for every instruction set of this processor.
static void run_kernels(const char* name, const block_matrix* matrix) {
  sap_pattern_copy copy = {0};
  sap_block_order order = {0};
  sap_block_factor factor = {0};
  if (sap_pattern_assign(&copy, &matrix->pattern, NULL) != SAP_STATUS_OK ||
      sap_block_order_compute(&order, &copy.view, NULL) != SAP_STATUS_OK ||
      sap_block_factor_analyze(&factor, &copy, &order, NULL) != SAP_STATUS_OK ||
      sap_block_factor_reserve(&factor, NULL) != SAP_STATUS_OK) {
    abort();
  }
  for (int32_t index = 0; sap_block_kernels_get(index) != NULL; ++index) {
    const sap_block_kernels* kernels = sap_block_kernels_get(index);
    double seconds[REPEATS];
    const int32_t inner = matrix->n < 1000 ? 20 : 1;
    for (int32_t k = -2; k < REPEATS; ++k) {
      const double t0 = bench_seconds(CLOCK_PROCESS_CPUTIME_ID);
      for (int32_t repeat = 0; repeat < inner; ++repeat) {
        if (kernels->factorize(&factor, matrix->values) >= 0) {
          abort();
        }
      }
      if (k >= 0) {
        seconds[k] = (bench_seconds(CLOCK_PROCESS_CPUTIME_ID) - t0) / inner;
      }
    }
    const timing t = summarize(seconds);
    printf(
        "{\"case\": \"%s\", \"n\": %d, \"kernels\": \"%s\", \"supernodes\": %d, \"chunks\": %d, "
        "\"rows\": %d, \"lane_work\": %.0f, \"factor_us\": %.2f, \"factor_median_us\": %.2f, "
        "\"lane_gflops\": %.1f}\n",
        name, (int)matrix->n, kernels->name, (int)factor.nsuper, (int)factor.nchunks,
        (int)factor.row_start[factor.nsuper], factor.lane_work, t.min, t.median,
        2e-3 * SAP_CHUNK * factor.lane_work / t.min);
  }
  sap_block_factor_clear(&factor);
  sap_block_order_clear(&order);
  sap_pattern_clear(&copy);
}

#ifdef BESIDE_CHOLMOD
// The lower triangle as CHOLMOD's sparse matrix.
static cholmod_sparse* to_cholmod(const block_matrix* matrix, cholmod_common* common) {
  const sap_block_pattern* p = &matrix->pattern;
  cholmod_triplet* entries = cholmod_allocate_triplet((size_t)matrix->n, (size_t)matrix->n,
                                                      matrix->nvalues, -1, CHOLMOD_REAL, common);
  if (entries == NULL) {
    abort();
  }
  int32_t *row = entries->i, *column = entries->j;
  double* value = entries->x;
  for (int32_t j = 0; j < p->nblocks; ++j) {
    for (int32_t k = p->column_start[j]; k < p->column_start[j + 1]; ++k) {
      const int32_t i = p->row[k], rows = p->sizes[i];
      for (int32_t e = 0; e < rows * p->sizes[j]; ++e) {
        if (i != j || e % rows >= e / rows) {
          row[entries->nnz] = matrix->offset[i] + e % rows;
          column[entries->nnz] = matrix->offset[j] + e / rows;
          value[entries->nnz++] = matrix->values[p->value_start[k] + (size_t)e];
        }
      }
    }
  }
  cholmod_sparse* A = cholmod_triplet_to_sparse(entries, 0, common);
  cholmod_free_triplet(&entries, common);
  return A;
}

static void run_in_turns(const char* name, const block_matrix* matrix) {
  sap_cholesky* ours = NULL;
  cholmod_common common;
  double seconds[2][REPEATS], ratio[REPEATS];
  (void)cholmod_start(&common);
  common.supernodal = CHOLMOD_SUPERNODAL;
  common.nmethods = 1;
  common.method[0].ordering = CHOLMOD_AMD;
  cholmod_sparse* A = to_cholmod(matrix, &common);
  cholmod_factor* L = cholmod_analyze(A, &common);
  if (L == NULL || sap_cholesky_create(&ours, NULL) != SAP_STATUS_OK ||
      sap_cholesky_analyze(ours, &matrix->pattern, SAP_LINEAR_BLOCK, NULL, NULL) != SAP_STATUS_OK) {
    abort();
  }
  const int32_t inner = matrix->n < 1000 ? 20 : 1;
  for (int32_t k = -2; k < REPEATS; ++k) {
    const int32_t at = k < 0 ? 0 : k;
    for (int32_t i = 0; i < 2; ++i) {
      const double start = bench_seconds(CLOCK_PROCESS_CPUTIME_ID);
      for (int32_t repeat = 0; repeat < inner; ++repeat) {
        if (i == 0 ? sap_cholesky_factorize(ours, matrix->values, NULL, NULL) != SAP_STATUS_OK
                   : cholmod_factorize(A, L, &common) == 0) {
          abort();
        }
      }
      seconds[i][at] = (bench_seconds(CLOCK_PROCESS_CPUTIME_ID) - start) / inner;
    }
    ratio[at] = seconds[1][at] / seconds[0][at];
  }
  const timing block = summarize(seconds[0]), theirs = summarize(seconds[1]);
  qsort(ratio, REPEATS, sizeof *ratio, ascending);
  printf(
      "{\"case\": \"%s\", \"n\": %d, \"in_turns\": \"block, cholmod\", \"block_us\": %.2f, "
      "\"cholmod_us\": %.2f, \"ratio\": %.1f, "
      "\"ratio_median\": %.1f, \"ratio_quartiles\": [%.1f, %.1f]}\n",
      name, (int)matrix->n, block.min, theirs.min, theirs.min / block.min, ratio[REPEATS / 2],
      ratio[REPEATS / 4], ratio[3 * REPEATS / 4]);
  sap_cholesky_destroy(ours);
  cholmod_free_factor(&L, &common);
  cholmod_free_sparse(&A, &common);
  (void)cholmod_finish(&common);
}
#endif

static void run_case(const char* kind, int32_t count, int32_t size, const char* only) {
  int32_t sizes[MAX_BLOCKS];
  for (int32_t k = 0; k < count; ++k) {
    sizes[k] = size;
  }
  char name[64];
  (void)snprintf(name, sizeof name, "%s_%dx%d", kind, (int)count, (int)size);
  if (only != NULL && strstr(name, only) == NULL) {
    return;
  }
  static pile p;
  p = make_pile(count);
  block_matrix matrix = strcmp(kind, "chain") == 0
                            ? block_matrix_create(count, sizes, chain_link, NULL)
                            : block_matrix_create(count, sizes, pile_link, &p);
  block_matrix_fill_spd(&matrix, NULL, 1);
  run_kernels(name, &matrix);
  for (sap_linear_solver choice = SAP_LINEAR_AUTO; choice < SAP_LINEAR_COUNT; ++choice) {
    if (choice != SAP_LINEAR_DENSE || matrix.n <= 1000) {
      run(name, &matrix, choice);
    }
  }
#ifdef BESIDE_CHOLMOD
  if (strcmp(kind, "pile") == 0) {
    run_in_turns(name, &matrix);
  }
#endif
  block_matrix_destroy(&matrix);
}

// sapstep_bench_cholesky [PART OF A CASE'S NAME]
int main(int argc, char** argv) {
  static const int32_t piles[] = {2, 4, 8, 20, 40, 80, 160, 320, 640};
  static const int32_t dense_trees[] = {1, 6, 12, 27, 64, 128, 300, 600, 1000};
  const char* only = argc > 1 ? argv[1] : NULL;
  for (size_t k = 0; k < sizeof piles / sizeof *piles; ++k) {
    run_case("pile", piles[k], 6, only);
  }
  for (int32_t size = 1; size <= 3; ++size) {
    run_case("pile", 100, size, only);
  }
  run_case("pile", 22, 27, only);
  run_case("chain", 40, 6, only);
  run_case("chain", 320, 6, only);
  for (size_t k = 0; k < sizeof dense_trees / sizeof *dense_trees; ++k) {
    run_case("tree", 1, dense_trees[k], only);
  }
  return 0;
}
