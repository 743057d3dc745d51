// SPDX-License-Identifier: BSD-3-Clause
// Internal forces: the part of the impulses that moves nothing.            lelidec Sec. II, IV-A
//   gamma - gamma_min,  gamma_min = argmin |l| with J' l = J' gamma
// by conjugate gradients for least squares from l = 0, which stay in the range of J and so end in
// the least one. cost: rank(J) products with J and J'.
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "cli/commands/compare/compare.h"

typedef struct work {
  const sap_problem* problem;
  int32_t nv, nrows;
  int32_t* start;  // of trees                                                       (ntrees + 1)
} work;

// rows = J v, or v = J' rows.
static void multiply(const work* w, bool transposed, double* v, double* rows) {
  memset(transposed ? v : rows, 0, (size_t)(transposed ? w->nv : w->nrows) * sizeof(double));
  for (int32_t b = 0; b < sap_problem_block_count(w->problem); ++b) {
    sap_block block;
    int32_t first;
    (void)sap_problem_block(w->problem, b, &block, &first, NULL);
    for (int32_t t = 0; t < block.ntrees; ++t) {
      const double* J = block.jacobians[t];
      double* part = v + w->start[block.trees[t]];
      for (int32_t i = 0; i < sap_problem_tree_size(w->problem, block.trees[t]); ++i) {
        for (int32_t r = 0; r < block.nrows; ++r) {
          const double entry = J[i * block.nrows + r];
          if (transposed) {
            part[i] += entry * rows[first + r];
          } else {
            rows[first + r] += entry * part[i];
          }
        }
      }
    }
  }
}

static double square(const double* x, int32_t n) {
  double sum = 0.0;
  for (int32_t i = 0; i < n; ++i) {
    sum += x[i] * x[i];
  }
  return sum;
}

// memory: 2 nv + 3 nrows
static double deviation(const work* w, const double* gamma, double* memory) {
  static const double NEGLIGIBLE = 1e-14;  // of the first gradient's norm
  double *residual = memory, *image = residual + w->nv;
  double *least = image + w->nv, *gradient = least + w->nrows, *direction = gradient + w->nrows;
  memcpy(gradient, gamma, (size_t)w->nrows * sizeof(double));
  multiply(w, true, residual, gradient);
  multiply(w, false, residual, gradient);
  memcpy(direction, gradient, (size_t)w->nrows * sizeof(double));
  double norm_2 = square(gradient, w->nrows);
  const double end = NEGLIGIBLE * NEGLIGIBLE * norm_2;
  for (int32_t k = 0; k < 2 * w->nv && norm_2 > end; ++k) {
    multiply(w, true, image, direction);
    const double alpha = norm_2 / square(image, w->nv);
    for (int32_t i = 0; i < w->nrows; ++i) {
      least[i] += alpha * direction[i];
    }
    for (int32_t i = 0; i < w->nv; ++i) {
      residual[i] -= alpha * image[i];
    }
    multiply(w, false, residual, gradient);
    const double before = norm_2;
    norm_2 = square(gradient, w->nrows);
    for (int32_t i = 0; i < w->nrows; ++i) {
      direction[i] = gradient[i] + norm_2 / before * direction[i];
    }
  }
  for (int32_t i = 0; i < w->nrows; ++i) {
    least[i] = gamma[i] - least[i];
  }
  return sqrt(square(least, w->nrows));
}

sap_status compare_internal_impulse(const sap_problem* problem, const double* gamma, double* out,
                                    sap_error* error) {
  work w = {.problem = problem,
            .nv = sap_problem_velocity_count(problem),
            .nrows = sap_problem_row_count(problem)};
  const int32_t ntrees = sap_problem_tree_count(problem);
  w.start = calloc((size_t)ntrees + 1, sizeof *w.start);
  double* memory = calloc(2 * (size_t)w.nv + 3 * (size_t)w.nrows + 1, sizeof *memory);
  sap_status status = SAP_STATUS_OK;
  if (w.start == NULL || memory == NULL) {
    status = cli_no_memory(error);
  } else {
    for (int32_t t = 0; t < ntrees; ++t) {
      w.start[t + 1] = w.start[t] + sap_problem_tree_size(problem, t);
    }
    *out = deviation(&w, gamma, memory);
  }
  free(w.start);
  free(memory);
  return status;
}
