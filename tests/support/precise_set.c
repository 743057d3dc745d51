// SPDX-License-Identifier: BSD-3-Clause
// Doubles are promoted to __float128 all over, which is what this file is for.
#pragma GCC diagnostic ignored "-Wdouble-promotion"
#include "support/precise_set.h"

#include <stdlib.h>
#include <string.h>

const char* const precise_set_names[] = {
    "spin_1e4", "spin_1e-8", "light_below_heavy", "redundant", "all_kinds", "stiff_joints", NULL};

bool precise_case_open(const char* problem, const char* solution, precise_case* out) {
  *out = (precise_case){0};
  FILE* file = fopen(problem, "r");
  bool good = file != NULL && precise_read(file, &out->problem);
  if (file != NULL) {
    (void)fclose(file);
  }
  if (!good) {
    return false;
  }
  const precise_problem* p = &out->problem;
  out->v = calloc((size_t)p->nv + (size_t)p->nrows + 1, sizeof *out->v);
  good = out->v != NULL;
  if (good) {
    out->gamma = out->v + p->nv;
    memcpy(out->v, p->v_star, (size_t)p->nv * sizeof *out->v);
  }
  file = good && solution != NULL ? fopen(solution, "r") : NULL;
  good = good && (solution == NULL || file != NULL);
  for (int i = 0; good && file != NULL && i < p->nv + p->nrows; ++i) {
    good = fscanf(file, "%lf", &out->v[i]) == 1;
  }
  if (file != NULL) {
    (void)fclose(file);
  }
  if (!good) {
    precise_case_close(out);
  }
  return good;
}

void precise_case_close(precise_case* one) {
  free(one->v);
  precise_clear(&one->problem);
  *one = (precise_case){0};
}
