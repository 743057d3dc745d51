// SPDX-License-Identifier: BSD-3-Clause
// Every solver on wild problems, judged by the independent judge (support/precise.h).
//   wild_table [--count N] [--seed S] [--solver NAME] [--sweeps N] [--wide] [--list] [--strict]
// A solver that reports convergence is wrong where a row of a law or a tree's momentum misses by
// more than WRONG of its own scale, and by more than velocities at rest. Exit code 1 if a solver is
// wrong; --strict: or does not converge. --list: names the seeds.
// --wide: problems of wild_limits.wide; the judge does not know potentials and skips their problems.
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "support/precise_of.h"
#include "support/wild_problem.h"

static const double WRONG = 1e-2;  // relative tolerance asked for: 1e-6

typedef struct row {
  int converged, told, refused, failed, wrong;
  double worst;  // of a converged solution
  uint64_t worst_seed;
} row;

typedef struct table {
  const char* only;
  bool list, wide, strict;
  int32_t sweeps;
  row rows[64];
} table;

static void solve(table* t, int32_t index, uint64_t seed, const sap_problem* problem,
                  const precise_problem* p) {
  const sap_solver_info* info = sap_solver_get_info(index);
  sap_solver_options options = sap_solver_options_default();
  sap_solution solution = {0};
  sap_report report = {0};
  sap_solver* solver = NULL;
  sap_error error = {0};
  row* out = &t->rows[index];
  options.max_sweeps = t->sweeps;
  assert_int_equal(sap_solver_create(info->name, &options, &solver, &error), SAP_STATUS_OK);
  const sap_status status = sap_solver_solve(solver, problem, &solution, &report, &error);
  if (status == SAP_STATUS_UNSUPPORTED) {
    out->refused += 1;
  } else if (status != SAP_STATUS_OK) {
    out->failed += 1;
    if (t->list) {
      (void)fprintf(stderr, "seed %llu, %s: %s\n", (unsigned long long)seed, info->name,
                    error.message);
    }
  } else if (report.outcome != SAP_OUTCOME_CONVERGED && report.outcome != SAP_OUTCOME_ROUNDOFF) {
    out->told += 1;
    if (t->list) {
      (void)fprintf(stderr, "seed %llu, %s: %s after %d, error %g, %d rows\n",
                    (unsigned long long)seed, info->name, sap_outcome_text(report.outcome),
                    (int)report.iterations, report.island_error, (int)solution.nrows);
    }
  } else if (p == NULL) {
    out->converged += 1;
  } else {
    precise_verdict verdict;
    assert_true(precise_judge(p, precise_law_of(info), solution.v, solution.gamma, &verdict));
    const bool row_is_worse = !(verdict.row.relative <= verdict.tree.relative);
    const precise_worst* worst = row_is_worse ? &verdict.row : &verdict.tree;
    out->converged += 1;
    const bool wrong = !(verdict.row.moving <= WRONG && verdict.tree.moving <= WRONG);
    out->wrong += wrong ? 1 : 0;
    if (!(worst->relative <= out->worst)) {
      out->worst = worst->relative;
      out->worst_seed = seed;
    }
    if (t->list && wrong) {
      (void)fprintf(stderr, "seed %llu, %s, %s %d: %g (%g m/s, %g N s)\n", (unsigned long long)seed,
                    info->name, row_is_worse ? "row" : "tree", worst->at, worst->relative,
                    worst->velocity, worst->impulse);
    }
  }
  sap_solution_clear(&solution);
  sap_report_clear(&report);
  sap_solver_destroy(solver);
}

static void judge_problem(table* t, uint64_t seed) {
  static const double ROWS[] = {1.0, 1e2, 1e6}, SPREAD[] = {1.0, 10.0};
  const wild_limits of = {.masses = seed % 5 == 0 ? 1e2 : 1e6,
                          .spread = SPREAD[seed % 2],
                          .sigma = 1e-8,
                          .rows = t->wide ? 1.0 : ROWS[seed % 3],
                          .wide = t->wide};
  const wild_problem s = wild_make(seed, of);
  precise_problem p;
  const bool judged = precise_of(s.problem, &p);
  assert_true(judged || t->wide);
  for (int32_t i = 0; i < sap_solver_count(); ++i) {
    if (t->only == NULL || strcmp(t->only, sap_solver_get_info(i)->name) == 0) {
      solve(t, i, seed, s.problem, judged ? &p : NULL);
    }
  }
  if (judged) {
    precise_clear(&p);
  }
  sap_problem_destroy(s.problem);
}

static bool print(const table* t) {
  bool wrong = false;
  (void)printf("%-26s %9s %9s %9s %9s %9s %12s %10s\n", "solver", "converged", "told_not",
               "refused", "failed", "wrong", "worst", "its_seed");
  for (int32_t i = 0; i < sap_solver_count(); ++i) {
    const row* r = &t->rows[i];
    if (t->only == NULL || strcmp(t->only, sap_solver_get_info(i)->name) == 0) {
      (void)printf("%-26s %9d %9d %9d %9d %9d %12.3g %10llu\n", sap_solver_get_info(i)->name,
                   r->converged, r->told, r->refused, r->failed, r->wrong, r->worst,
                   (unsigned long long)r->worst_seed);
      wrong = wrong || r->wrong > 0 || (t->strict && r->told + r->failed > 0);
    }
  }
  return wrong;
}

int main(int argc, char** argv) {
  table t = {.sweeps = 2000};
  uint64_t seed = 1, count = 300;
  for (int i = 1; i < argc; ++i) {
    if (strcmp(argv[i], "--list") == 0) {
      t.list = true;
    } else if (strcmp(argv[i], "--wide") == 0) {
      t.wide = true;
    } else if (strcmp(argv[i], "--strict") == 0) {
      t.strict = true;
    } else if (i + 1 < argc && strcmp(argv[i], "--solver") == 0) {
      t.only = argv[++i];
    } else if (i + 1 < argc && strcmp(argv[i], "--count") == 0) {
      count = strtoull(argv[++i], NULL, 10);
    } else if (i + 1 < argc && strcmp(argv[i], "--seed") == 0) {
      seed = strtoull(argv[++i], NULL, 10);
    } else if (i + 1 < argc && strcmp(argv[i], "--sweeps") == 0) {
      t.sweeps = (int32_t)strtol(argv[++i], NULL, 10);
    } else {
      (void)fprintf(stderr, "unknown argument %s\n", argv[i]);
      return 2;
    }
  }
  for (uint64_t i = 0; i < count; ++i) {
    judge_problem(&t, seed + i);
  }
  return print(&t) ? 1 : 0;
}
