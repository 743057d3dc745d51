// SPDX-License-Identifier: BSD-3-Clause
#include "captured_hessian.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <sapstep/sapstep.h>

#include "scene_run.h"
#include "solvers/cholesky_pool.h"

sap_status __real_sap_cholesky_pool_get(sap_cholesky_pool*, const sap_block_pattern*,
                                        sap_linear_solver, sap_cholesky**, bool*, sap_error*);
sap_status __wrap_sap_cholesky_pool_get(sap_cholesky_pool*, const sap_block_pattern*,
                                        sap_linear_solver, sap_cholesky**, bool*, sap_error*);
sap_status __real_sap_cholesky_factorize(sap_cholesky*, const double*, int32_t*, sap_error*);
sap_status __wrap_sap_cholesky_factorize(sap_cholesky*, const double*, int32_t*, sap_error*);

static struct {
  captured_hessian* out;      // NULL: nobody watches
  sap_block_pattern pattern;  // of the island that is being solved
  const sap_cholesky* cholesky;
} watch;

static void* copy_of(const double* from, size_t count, double* old) {
  double* to = realloc(old, (count + 1) * sizeof *to);
  if (to == NULL) {
    abort();
  }
  memcpy(to, from, count * sizeof *to);
  return to;
}

sap_status __wrap_sap_cholesky_pool_get(sap_cholesky_pool* pool, const sap_block_pattern* pattern,
                                        sap_linear_solver choice, sap_cholesky** out,
                                        bool* analysed, sap_error* error) {
  *analysed = false;
  const sap_status status =
      __real_sap_cholesky_pool_get(pool, pattern, choice, out, analysed, error);
  watch.pattern = *pattern;
  watch.cholesky = status == SAP_STATUS_OK ? *out : NULL;
  if (watch.out != NULL && pattern->nblocks >= watch.out->least_blocks) {
    watch.out->solves += 1;
    watch.out->patterns += *analysed;
  }
  return status;
}

sap_status __wrap_sap_cholesky_factorize(sap_cholesky* cholesky, const double* values,
                                         int32_t* failed_block, sap_error* error) {
  captured_hessian* out = watch.out;
  if (out != NULL && cholesky == watch.cholesky && watch.pattern.nblocks >= out->least_blocks) {
    out->factorizations += 1;
    if (watch.pattern.nblocks >= out->pattern.view.nblocks) {
      if (sap_pattern_assign(&out->pattern, &watch.pattern, error) != SAP_STATUS_OK) {
        abort();
      }
      const sap_block_pattern* p = &out->pattern.view;
      size_t count = 0;
      for (int32_t j = 0; j < p->nblocks; ++j) {
        for (int32_t k = p->column_start[j]; k < p->column_start[j + 1]; ++k) {
          const size_t end = p->value_start[k] + (size_t)p->sizes[p->row[k]] * (size_t)p->sizes[j];
          count = end > count ? end : count;
        }
      }
      out->values = copy_of(values, count, out->values);
    }
  }
  return __real_sap_cholesky_factorize(cholesky, values, failed_block, error);
}

static sap_status step(captured_hessian* hessian, sap_stepper* stepper, sap_state* state, long skip,
                       long steps, sap_error* error) {
  sap_status status = SAP_STATUS_OK;
  for (long i = 0; status == SAP_STATUS_OK && i < skip + steps; ++i) {
    watch.out = i < skip ? NULL : hessian;
    status = sap_stepper_step(stepper, state, NULL, error);
  }
  watch.out = NULL;
  return status;
}

bool captured_hessian_take(captured_hessian* hessian, const char* scene, long skip, long steps) {
  sap_error error = {0};
  scene_run run;
  sap_status status = scene_run_open(scene, &run, &error);
  if (status == SAP_STATUS_OK) {
    status = step(hessian, run.stepper, &run.state, skip, steps, &error);
  }
  scene_run_close(&run);
  if (status != SAP_STATUS_OK) {
    (void)fprintf(stderr, "%s: %s\n", scene, error.message);
  } else if (hessian->factorizations == 0) {
    (void)fprintf(stderr, "%s: no factorization of %ld blocks or more in these steps\n", scene,
                  (long)hessian->least_blocks);
  }
  return status == SAP_STATUS_OK && hessian->factorizations > 0;
}

void captured_hessian_clear(captured_hessian* hessian) {
  sap_pattern_clear(&hessian->pattern);
  free(hessian->values);
  *hessian = (captured_hessian){0};
}
