// SPDX-License-Identifier: BSD-3-Clause
// Our NCP solvers beside those of Siconos on rigid problems in FCLIB's local form:
//   sapstep_bench_siconos [--limit SECONDS] [--solvers NAME,...] [--profile FILE.svg]
//                         [--resume TABLE.csv] FILE...
// Rows in the table of an earlier run, which may be truncated, are reused.
// Every solver begins at zero impulses and has `limit` of processor time (10 s). sap_residuals
// alone judges, of (W r + q, r): solved is a block-scaled natural map of 1e-8. Stopping tests
// differ, so each solver runs at its own 1e-8, 1e-10, 1e-12 and 1e-14 in turn until the judge
// agrees; the time of that attempt counts, the mean of many where it is short. Each runs in a
// process of its own (fork), for a library that gives up may end the process.
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <sapstep/problem_file.h>

#include "profile.h"
#include "siconos_trial.h"

enum { MAX_SOLVERS = 32 };

typedef struct solver {
  trial trial;
  int solved;
  double time;  // of those solved
} solver;

typedef struct bench {
  solver solvers[MAX_SOLVERS];
  int count;
  double limit;
  const char *svg, *resume;
  profile profile;
} bench;

// A row of the table of the run before; false where it has none.
static bool find_row(const bench* b, const char* problem, const char* name, double* map,
                     double* time) {
  char line[512], wanted[512];
  FILE* table = b->resume != NULL ? fopen(b->resume, "r") : NULL;
  bool found = false;
  const int length = snprintf(wanted, sizeof wanted, "%s,%s,", problem, name);
  while (table != NULL && !found && fgets(line, sizeof line, table) != NULL) {
    char* end;
    char* comma = strncmp(line, wanted, (size_t)length) == 0 ? strchr(line + length, ',') : NULL;
    if (comma == NULL || strchr(line, '\n') == NULL) {
      continue;  // another's, or cut off
    }
    *map = strtod(comma + 1, &end);
    found = *end == ',';
    *time = found ? strtod(end + 1, &end) : (double)NAN;
    found = found && *end == '\n';
  }
  if (table != NULL) {
    (void)fclose(table);
  }
  return found;
}

static void run_file(bench* b, const char* path) {
  const char* slash = strrchr(path, '/');
  sap_problem* problem = NULL;
  sap_error error;
  if (sap_problem_create(&problem, &error) != SAP_STATUS_OK ||
      sap_problem_file_read(path, problem, &error) != SAP_STATUS_OK) {
    trial_fail(path, &error);
  }
  if (!sap_problem_has_mobility(problem) || sap_problem_row_count(problem) > TRIAL_ROWS_MAX ||
      sap_problem_row_count(problem) != 3 * sap_problem_tree_count(problem)) {
    (void)fprintf(stderr, "sapstep_bench_siconos: %s: not a local problem of contacts alone\n",
                  path);
    exit(1);
  }
  if (!profile_add_problem(&b->profile, b->count)) {
    abort();
  }
  for (int s = 0; s < b->count; ++s) {
    double map, time;
    const char* name = slash != NULL ? slash + 1 : path;
    if (!find_row(b, name, b->solvers[s].trial.name, &map, &time)) {
      b->solvers[s].trial.limit = b->limit;
      time = trial_run(&b->solvers[s].trial, problem, &map);
    }
    if (!isnan(time)) {
      b->solvers[s].solved += 1;
      b->solvers[s].time += time;
      profile_set(&b->profile, s, time);
    }
    (void)printf("%s,%s,%s,%.3g,%.6g\n", name, b->solvers[s].trial.name, isnan(time) ? "no" : "yes",
                 map, time);
    (void)fflush(stdout);
  }
  sap_problem_destroy(problem);
}

static void add_solver(bench* b, const char* name) {
  const siconos_solver* theirs = siconos_solvers;
  while (theirs->name != NULL && strcmp(theirs->name, name) != 0) {
    ++theirs;
  }
  if (b->count < MAX_SOLVERS) {
    b->solvers[b->count++].trial =
        (trial){.name = name, .theirs = theirs->name != NULL ? theirs : NULL};
  }
}

static int usage(void) {
  (void)fprintf(stderr,
                "usage: sapstep_bench_siconos [--limit SECONDS] [--solvers NAME,NAME,...] "
                "[--profile FILE.svg] [--resume TABLE.csv] FILE...\n");
  return 2;
}

// First file's index, or 0.
static int read_arguments(bench* b, int argc, char** argv) {
  int i = 1;
  for (; i + 1 < argc && strncmp(argv[i], "--", 2) == 0; i += 2) {
    if (strcmp(argv[i], "--limit") == 0) {
      b->limit = strtod(argv[i + 1], NULL);
    } else if (strcmp(argv[i], "--profile") == 0) {
      b->svg = argv[i + 1];
    } else if (strcmp(argv[i], "--resume") == 0) {
      b->resume = argv[i + 1];
    } else if (strcmp(argv[i], "--solvers") == 0) {
      for (char* name = strtok(argv[i + 1], ","); name != NULL; name = strtok(NULL, ",")) {
        add_solver(b, name);
      }
    } else {
      return 0;
    }
  }
  return i < argc && b->limit > 0.0 ? i : 0;
}

int main(int argc, char** argv) {
  static const char* const ours[] = {"proximal-newton", "newton-ncp", "nbgs", "admm-ncp",
                                     "implicit-complementarity"};
  bench b = {.limit = 10.0};
  const int first = read_arguments(&b, argc, argv);
  if (first == 0) {
    return usage();
  }
  if (b.count == 0) {
    for (size_t k = 0; k < sizeof ours / sizeof *ours; ++k) {
      add_solver(&b, ours[k]);
    }
    for (const siconos_solver* s = siconos_solvers; s->name != NULL; ++s) {
      add_solver(&b, s->name);
    }
  }
  (void)printf("problem,solver,solved,natural_map,time_s\n");
  for (int i = first; i < argc; ++i) {
    run_file(&b, argv[i]);
  }
  (void)printf("\nsolver,solved,of,time_of_solved_s\n");
  const char* names[MAX_SOLVERS];
  for (int s = 0; s < b.count; ++s) {
    names[s] = b.solvers[s].trial.name;
    (void)printf("%s,%d,%d,%.4g\n", names[s], b.solvers[s].solved, argc - first, b.solvers[s].time);
  }
  sap_error error;
  if (b.svg != NULL &&
      profile_write(&b.profile, names, TRIAL_SOLVED, b.svg, &error) != SAP_STATUS_OK) {
    trial_fail(b.svg, &error);
  }
  profile_clear(&b.profile);
  return 0;
}
