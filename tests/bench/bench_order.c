// SPDX-License-Identifier: BSD-3-Clause
// Elimination orders of a scene's Hessian: fill, work and times of our block factorization under
// the library's order (AMD's or its own nested dissection's), AMD's, SYMAMD's, METIS's, that of
// CHOLMOD's nested dissection (METIS's separators and CAMD), and none.
//   bench_order SCENE SKIP STEPS: of the largest island in STEPS steps, after SKIP of them
#define _POSIX_C_SOURCE 200809L
#include <amd.h>
#include <cholmod.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "bench_clock.h"
#include "captured_hessian.h"
#include "linalg/block_factor.h"

enum { REPEATS = 7 };

typedef enum order_method { OURS, AMD, SYMAMD, METIS, NESTED, NATURAL, METHODS } order_method;
static const char* const names[METHODS] = {"ours",   "amd", "symamd", "metis", "nested dissection",
                                           "natural"};

// The tree graph, its lower triangle, as a matrix without values.
static cholmod_sparse* graph_of(const sap_block_pattern* p, cholmod_common* common) {
  const int32_t entries = p->column_start[p->nblocks];
  cholmod_sparse* graph = cholmod_allocate_sparse(
      (size_t)p->nblocks, (size_t)p->nblocks, (size_t)entries, 1, 1, -1, CHOLMOD_PATTERN, common);
  if (graph == NULL) {
    abort();
  }
  memcpy(graph->p, p->column_start, ((size_t)p->nblocks + 1) * sizeof(int32_t));
  memcpy(graph->i, p->row, (size_t)entries * sizeof(int32_t));
  return graph;
}

// Seconds to order; block_at (nblocks) out.
static double order_by(order_method method, const sap_block_pattern* p, int32_t* block_at) {
  cholmod_common common;
  sap_block_order order = {0};
  int32_t* parent = calloc(3 * (size_t)p->nblocks, sizeof *parent);
  (void)cholmod_start(&common);
  cholmod_sparse* graph = graph_of(p, &common);
  int good = 1;
  const double start = bench_seconds(CLOCK_PROCESS_CPUTIME_ID);
  switch (method) {
    case OURS:
      good = sap_block_order_compute(&order, p, NULL) == SAP_STATUS_OK;
      break;
    case AMD:
      good = amd_order(p->nblocks, p->column_start, p->row, block_at, NULL, NULL) >= AMD_OK;
      break;
    case SYMAMD: {
      cholmod_sparse* full = cholmod_copy(graph, 0, 0, &common);
      full->stype = 1;
      good = cholmod_csymamd(full, NULL, block_at, &common);
      cholmod_free_sparse(&full, &common);
      break;
    }
    case METIS:
      good = cholmod_metis(graph, NULL, 0, 1, block_at, &common);
      break;
    case NESTED:
      good = cholmod_nested_dissection(graph, NULL, 0, block_at, parent, parent + p->nblocks,
                                       &common) >= 0;
      break;
    default:
      for (int32_t k = 0; k < p->nblocks; ++k) {
        block_at[k] = k;
      }
      break;
  }
  const double seconds = bench_seconds(CLOCK_PROCESS_CPUTIME_ID) - start;
  if (method == OURS) {
    memcpy(block_at, order.block_at, (size_t)p->nblocks * sizeof *block_at);
  }
  if (!good) {
    (void)fprintf(stderr, "%s failed\n", names[method]);
    exit(1);
  }
  sap_block_order_clear(&order);
  cholmod_free_sparse(&graph, &common);
  (void)cholmod_finish(&common);
  free(parent);
  return seconds;
}

static void report(const char* scene, const captured_hessian* h, order_method method) {
  const sap_block_pattern* p = &h->pattern.view;
  int32_t* block_at = calloc((size_t)p->nblocks, sizeof *block_at);
  sap_block_order order = {0};
  sap_block_factor factor = {0};
  const sap_block_kernels* kernels = sap_block_kernels_get(0);
  double ordering = 1e30, analysis = 1e30, numeric = 1e30;
  for (int k = 0; k < REPEATS; ++k) {
    ordering = fmin(ordering, order_by(method, p, block_at));
    const double t0 = bench_seconds(CLOCK_PROCESS_CPUTIME_ID);
    if (sap_block_order_assign(&order, p, block_at, NULL) != SAP_STATUS_OK ||
        sap_block_factor_analyze(&factor, &h->pattern, &order, NULL) != SAP_STATUS_OK) {
      abort();
    }
    const double t1 = bench_seconds(CLOCK_PROCESS_CPUTIME_ID);
    (void)kernels->factorize(&factor, h->values);
    analysis = fmin(analysis, t1 - t0);
    numeric = fmin(numeric, bench_seconds(CLOCK_PROCESS_CPUTIME_ID) - t1);
  }
  int64_t blocks = factor.nchunks;
  for (int32_t k = 0; k < factor.nchunks; ++k) {
    blocks += factor.count[k];
  }
  printf(
      "{\"scene\": \"%s\", \"blocks\": %d, \"entries\": %d, \"solves\": %ld, \"patterns\": %ld, "
      "\"factorizations\": %ld, \"order\": \"%s\", \"L_chunks\": %lld, \"L_values\": %zu, "
      "\"Mflop\": %.2f, \"supernodes\": %d, \"order_us\": %.0f, \"symbolic_us\": %.0f, "
      "\"factor_us\": %.0f}\n",
      scene, (int)p->nblocks, (int)p->column_start[p->nblocks], h->solves, h->patterns,
      h->factorizations, names[method], (long long)blocks, factor.panel_start[factor.nsuper],
      2e-6 * SAP_CHUNK * factor.lane_work, (int)factor.nsuper, 1e6 * ordering, 1e6 * analysis,
      1e6 * numeric);
  sap_block_factor_clear(&factor);
  sap_block_order_clear(&order);
  free(block_at);
}

int main(int argc, char** argv) {
  if (argc != 4) {
    (void)fprintf(stderr, "usage: bench_order SCENE SKIP STEPS\n");
    return 2;
  }
  captured_hessian hessian = {.least_blocks = 8};
  const bool good = captured_hessian_take(&hessian, argv[1], strtol(argv[2], NULL, 10),
                                          strtol(argv[3], NULL, 10));
  for (order_method m = OURS; good && m < METHODS; ++m) {
    report(argv[1], &hessian, m);
  }
  captured_hessian_clear(&hessian);
  return good ? 0 : 1;
}
