// SPDX-License-Identifier: BSD-3-Clause
// Our NCP solvers beside those of Siconos on rigid problems in FCLIB's local form:
//   sapstep_bench_siconos [--limit SECONDS] [--solvers NAME,...] [--profile FILE.svg]
//                         [--resume TABLE.csv] FILE...
// What stands in the table of a run before, which may have been cut off, is taken from there.
// Every solver begins at zero impulses and has `limit` of processor time (10 s). sap_residuals
// alone judges, of (W r + q, r): solved is a block-scaled natural map of 1e-8. Stopping tests
// differ, so each is asked for 1e-8, 1e-10, 1e-12 and 1e-14 of its own in turn, until the judge
// agrees; the time of that attempt counts, the mean of many where it is short. Each runs in a
// process of its own (fork), for a library that gives up may end the process.
#define _DEFAULT_SOURCE  // MAP_ANONYMOUS
#define _XOPEN_SOURCE 700
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/resource.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include <sapstep/problem_file.h>

#include "cli/profile.h"
#include "siconos_peer.h"

static const double SOLVED = 1e-8;
static const double TOLERANCES[] = {1e-8, 1e-10, 1e-12, 1e-14};
enum { MAX_SOLVERS = 32, MAX_ROWS = 1 << 20 };
static const double ENOUGH = 0.04;  // processor time to measure [s]: some kernels count by 4 ms

// Where a child leaves its result.
typedef struct shared {
  bool done;
  double seconds;
  double gamma[MAX_ROWS];
} shared;

typedef struct solver {
  const char* name;
  const siconos_solver* theirs;  // NULL: ours
  int solved;
  double time;  // of those solved
} solver;

typedef struct bench {
  solver solvers[MAX_SOLVERS];
  int count;
  double limit;
  const char *svg, *resume;
  profile profile;
  shared* result;
} bench;

static double processor_time(void) {
  struct timespec now;
  (void)clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &now);
  return (double)now.tv_sec + 1e-9 * (double)now.tv_nsec;
}

static void fail(const char* what, const sap_error* error) {
  (void)fprintf(stderr, "sapstep_bench_siconos: %s: %s\n", what, error->message);
  exit(1);
}

// What a child does; ends it.
static void solve_ours(bench* b, const sap_problem* problem, const char* name, double tolerance) {
  sap_solver_options options = sap_solver_options_default();
  sap_solver* mine;
  sap_solution solution = {0};
  sap_error error;
  options.relative_tolerance = tolerance;
  options.warm_start = false;
  options.max_iterations = 1000000;
  options.max_sweeps = 1000000000;
  if (sap_solver_create(name, &options, &mine, &error) != SAP_STATUS_OK) {
    fail(name, &error);
  }
  const double start = processor_time();
  double elapsed = 0.0;
  for (int i = 1; elapsed < ENOUGH; ++i) {
    if (sap_solver_solve(mine, problem, &solution, NULL, &error) != SAP_STATUS_OK) {
      fail(name, &error);
    }
    elapsed = processor_time() - start;
    b->result->seconds = elapsed / i;
    memcpy(b->result->gamma, solution.gamma, (size_t)solution.nrows * sizeof(double));
    b->result->done = true;
  }
}

static void solve_theirs(bench* b, const sap_problem* problem, const siconos_solver* theirs,
                         double tolerance) {
  siconos_problem* p = siconos_problem_create(problem, theirs->blocks);
  const double start = processor_time();
  double elapsed = 0.0;
  for (int i = 1; elapsed < ENOUGH && p != NULL; ++i) {
    siconos_solve(p, theirs, tolerance, b->result->gamma);
    elapsed = processor_time() - start;
    b->result->seconds = elapsed / i;
    b->result->done = true;
  }
}

static void run_child(bench* b, const sap_problem* problem, const solver* s, double tolerance) {
  const rlim_t seconds = (rlim_t)ceil(b->limit);
  const struct rlimit limit = {seconds, seconds + 1};
  (void)setrlimit(RLIMIT_CPU, &limit);
  if (freopen("/dev/null", "w", stdout) == NULL ||
      (s->theirs != NULL && freopen("/dev/null", "w", stderr) == NULL)) {
    _exit(1);
  }
  if (s->theirs != NULL) {
    solve_theirs(b, problem, s->theirs, tolerance);
  } else {
    solve_ours(b, problem, s->name, tolerance);
  }
  _exit(0);
}

// Block-scaled natural map of what the child left.
static double judge(const bench* b, const sap_problem* problem) {
  const int nc = sap_problem_block_count(problem);
  const double* gamma = b->result->gamma;
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

// The time of the first tolerance that the judge accepts, NaN where none is.
static double attempt(bench* b, const sap_problem* problem, const solver* s, double* map) {
  *map = (double)INFINITY;
  for (size_t k = 0; k < sizeof TOLERANCES / sizeof *TOLERANCES; ++k) {
    b->result->done = false;
    (void)fflush(NULL);
    const pid_t child = fork();
    if (child == 0) {
      run_child(b, problem, s, TOLERANCES[k]);
    }
    int state;
    if (child < 0 || waitpid(child, &state, 0) != child) {
      abort();
    }
    if (!b->result->done) {
      break;  // out of time: a tighter tolerance would not help
    }
    *map = fmin(*map, judge(b, problem));
    if (*map <= SOLVED && b->result->seconds <= b->limit) {
      return b->result->seconds;
    }
  }
  return (double)NAN;
}

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
  sap_problem_reader* reader;
  sap_problem* problem;
  sap_error error;
  bool found;
  if (sap_problem_create(&problem, &error) != SAP_STATUS_OK ||
      sap_problem_reader_open(path, &reader, &error) != SAP_STATUS_OK ||
      sap_problem_reader_next(reader, problem, &found, &error) != SAP_STATUS_OK) {
    fail(path, &error);
  }
  sap_problem_reader_close(reader);
  if (!sap_problem_has_mobility(problem) || sap_problem_row_count(problem) > MAX_ROWS ||
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
    if (!find_row(b, name, b->solvers[s].name, &map, &time)) {
      time = attempt(b, problem, &b->solvers[s], &map);
    }
    if (!isnan(time)) {
      b->solvers[s].solved += 1;
      b->solvers[s].time += time;
      profile_set(&b->profile, s, time);
    }
    (void)printf("%s,%s,%s,%.3g,%.6g\n", name, b->solvers[s].name, isnan(time) ? "no" : "yes", map,
                 time);
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
    b->solvers[b->count++] = (solver){.name = name, .theirs = theirs->name != NULL ? theirs : NULL};
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
  b.result =
      mmap(NULL, sizeof *b.result, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
  if (b.result == MAP_FAILED) {
    abort();
  }
  (void)printf("problem,solver,solved,natural_map,time_s\n");
  for (int i = first; i < argc; ++i) {
    run_file(&b, argv[i]);
  }
  (void)printf("\nsolver,solved,of,time_of_solved_s\n");
  const char* names[MAX_SOLVERS];
  for (int s = 0; s < b.count; ++s) {
    names[s] = b.solvers[s].name;
    (void)printf("%s,%d,%d,%.4g\n", names[s], b.solvers[s].solved, argc - first, b.solvers[s].time);
  }
  sap_error error;
  if (b.svg != NULL && profile_write(&b.profile, names, SOLVED, b.svg, &error) != SAP_STATUS_OK) {
    fail(b.svg, &error);
  }
  profile_clear(&b.profile);
  return 0;
}
