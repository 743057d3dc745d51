// SPDX-License-Identifier: BSD-3-Clause
// Times of the adapter over those of stock MuJoCo.
#define _POSIX_C_SOURCE 200809L
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <time.h>

#include "mujoco_runner.h"

// CPU time of this thread: what else the machine does counts little.
static double seconds(void) {
  struct timespec t;
  (void)clock_gettime(CLOCK_THREAD_CPUTIME_ID, &t);
  return (double)t.tv_sec + 1e-9 * (double)t.tv_nsec;
}

static int compare(const void* x, const void* y) {
  const double a = *(const double*)x, b = *(const double*)y;
  return (a > b) - (a < b);
}

static int stock_iterations(const mjData* d) {
#if mjVERSION_HEADER >= 300
  int sum = 0;
  for (int i = 0; i < (d->nisland > 0 ? (int)d->nisland : 1) && i < mjNISLAND; ++i) {
    sum = d->solver_niter[i] > sum ? d->solver_niter[i] : sum;
  }
  return d->nefc > 0 ? sum : 0;
#else
  return d->solver_iter;
#endif
}

// Both step the same model, turn by turn; the first steps are not timed.
void time_model(const char* folder, const char* name, int key) {
  enum { STEPS = 400, WARM = 100 };
  static double ratio[STEPS], ours[STEPS], stock[STEPS];
  mjModel* m = load(folder, name);
  if (m == NULL) {
    return;
  }
  runner a = begin(m, SAPSTEP, key), b = begin(m, EULER, key);
  const double limit = seconds() + 20.0;
  double iterations = 0.0, stock_sum = 0.0, contacts = 0.0, rows = 0.0, error = 0.0;
  int n = 0;
  for (int i = 0; i < WARM + STEPS && (n < 10 || seconds() < limit); ++i) {
    sap_mj_report report = {0};
    const double t0 = seconds();
    const bool good = step(&a, &report);
    const double t1 = seconds();
    (void)step(&b, NULL);
    const double t2 = seconds();
    if (!good) {
      (void)printf("{\"experiment\": \"time\", \"model\": \"%s\", \"failed_at_step\": %d}\n", name,
                   i);
      break;
    }
    if (i >= WARM) {
      ours[n] = t1 - t0;
      stock[n] = t2 - t1;
      ratio[n] = ours[n] / stock[n];
      ++n;
      iterations += report.solver != NULL ? report.solver->iterations : 0;
      error = fmax(error, report.solver != NULL ? report.solver->momentum_error : 0.0);
      stock_sum += stock_iterations(b.d);
      contacts += report.contacts;
      rows += report.rows;
    }
  }
  if (n > 0) {
    qsort(ours, (size_t)n, sizeof *ours, compare);
    qsort(stock, (size_t)n, sizeof *stock, compare);
    qsort(ratio, (size_t)n, sizeof *ratio, compare);
    (void)printf(
        "{\"experiment\": \"time\", \"model\": \"%s\", \"nv\": %d, \"steps\": %d, "
        "\"sapstep_us\": %.1f, \"mujoco_us\": %.1f, \"sapstep_min_us\": %.1f, "
        "\"mujoco_min_us\": %.1f, \"ratio\": %.2f, \"sapstep_iterations\": %.2f, "
        "\"mujoco_iterations\": %.2f, \"contacts\": %.1f, \"rows\": %.1f, "
        "\"largest_momentum_error\": %.1e}\n",
        name, (int)m->nv, n, 1e6 * ours[n / 2], 1e6 * stock[n / 2], 1e6 * ours[0], 1e6 * stock[0],
        ratio[n / 2], iterations / n, stock_sum / n, contacts / n, rows / n, error);
  }
  end(&a);
  end(&b);
  mj_deleteModel(m);
}
