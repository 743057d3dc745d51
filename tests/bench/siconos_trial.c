// SPDX-License-Identifier: BSD-3-Clause
#define _DEFAULT_SOURCE  // MAP_ANONYMOUS
#define _XOPEN_SOURCE 700
#include "siconos_trial.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/resource.h>
#include <sys/wait.h>
#include <unistd.h>

#include "bench_clock.h"

static const double TOLERANCES[] = {1e-8, 1e-10, 1e-12, 1e-14};
static const double ENOUGH = 0.04;  // processor time to measure [s]: some kernels count by 4 ms

// Where a child leaves its result.
typedef struct shared {
  bool done;
  double seconds;
  double gamma[TRIAL_ROWS_MAX];
} shared;

void trial_fail(const char* what, const sap_error* error) {
  (void)fprintf(stderr, "sapstep_bench_siconos: %s: %s\n", what, error->message);
  exit(1);
}

// Work of a child process; run_child ends it.
static void solve_ours(shared* result, const sap_problem* problem, const char* name,
                       double tolerance) {
  sap_solver_options options = sap_solver_options_default();
  sap_solver* mine;
  sap_solution solution = {0};
  sap_error error;
  options.relative_tolerance = tolerance;
  options.warm_start = false;
  options.max_iterations = 1000000;
  options.max_sweeps = 1000000000;
  if (sap_solver_create(name, &options, &mine, &error) != SAP_STATUS_OK) {
    trial_fail(name, &error);
  }
  const double start = bench_seconds(CLOCK_PROCESS_CPUTIME_ID);
  double elapsed = 0.0;
  for (int i = 1; elapsed < ENOUGH; ++i) {
    if (sap_solver_solve(mine, problem, &solution, NULL, &error) != SAP_STATUS_OK) {
      trial_fail(name, &error);
    }
    elapsed = bench_seconds(CLOCK_PROCESS_CPUTIME_ID) - start;
    result->seconds = elapsed / i;
    memcpy(result->gamma, solution.gamma, (size_t)solution.nrows * sizeof(double));
    result->done = true;
  }
}

static void solve_theirs(shared* result, const sap_problem* problem, const siconos_solver* theirs,
                         double tolerance) {
  siconos_problem* p = siconos_problem_create(problem, theirs->blocks);
  const double start = bench_seconds(CLOCK_PROCESS_CPUTIME_ID);
  double elapsed = 0.0;
  for (int i = 1; elapsed < ENOUGH && p != NULL; ++i) {
    siconos_solve(p, theirs, tolerance, result->gamma);
    elapsed = bench_seconds(CLOCK_PROCESS_CPUTIME_ID) - start;
    result->seconds = elapsed / i;
    result->done = true;
  }
}

static void run_child(shared* result, const sap_problem* problem, const trial* t,
                      double tolerance) {
  const rlim_t seconds = (rlim_t)ceil(t->limit);
  const struct rlimit limit = {seconds, seconds + 1};
  (void)setrlimit(RLIMIT_CPU, &limit);
  if (freopen("/dev/null", "w", stdout) == NULL ||
      (t->theirs != NULL && freopen("/dev/null", "w", stderr) == NULL)) {
    _exit(1);
  }
  if (t->theirs != NULL) {
    solve_theirs(result, problem, t->theirs, tolerance);
  } else {
    solve_ours(result, problem, t->name, tolerance);
  }
  _exit(0);
}

// Block-scaled natural map of what the child left.
static double judge(const double* gamma, const sap_problem* problem) {
  const int nc = sap_problem_block_count(problem);
  double* u = malloc((size_t)(3 * nc) * sizeof *u);
  sap_residual residual;
  sap_error error;
  if (u == NULL) {
    abort();
  }
  memcpy(u, sap_problem_v_star(problem), (size_t)(3 * nc) * sizeof *u);
  for (int i = 0; i < nc; ++i) {
    for (int j = 0; j < nc; ++j) {
      const double* B = sap_problem_mobility_block(problem, i, j);
      for (int k = 0; B != NULL && k < 9; ++k) {
        u[3 * i + k % 3] += B[k] * gamma[3 * j + k / 3];
      }
    }
  }
  const sap_status status = sap_residuals(problem, u, gamma, &residual, &error);
  free(u);
  return status == SAP_STATUS_OK ? residual.ncp_natural_map_scaled : (double)INFINITY;
}

static shared* shared_result(void) {
  static shared* result;
  if (result == NULL) {
    result = mmap(NULL, sizeof *result, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
  }
  if (result == MAP_FAILED) {
    abort();
  }
  return result;
}

double trial_run(const trial* t, const sap_problem* problem, double* map) {
  shared* result = shared_result();
  *map = (double)INFINITY;
  for (size_t k = 0; k < sizeof TOLERANCES / sizeof *TOLERANCES; ++k) {
    result->done = false;
    (void)fflush(NULL);
    const pid_t child = fork();
    if (child == 0) {
      run_child(result, problem, t, TOLERANCES[k]);
    }
    int state;
    if (child < 0 || waitpid(child, &state, 0) != child) {
      abort();
    }
    if (!result->done) {
      break;  // out of time: a tighter tolerance would not help
    }
    *map = fmin(*map, judge(result->gamma, problem));
    if (*map <= TRIAL_SOLVED && result->seconds <= t->limit) {
      return result->seconds;
    }
  }
  return (double)NAN;
}
