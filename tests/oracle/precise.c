// SPDX-License-Identifier: BSD-3-Clause
// The independent judge and solver as a program (support/precise.h); nothing of the library is in it.
//   precise solve convex|coulomb PROBLEM             prints v, then gamma
//   precise judge LAW PROBLEM SOLUTION               LAW: convex coulomb box diamond direction
//   precise check DIR                                solves DIR/*.problem of the list again
// Exit code 1: no solution, or one that differs.
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "support/precise.h"
#include "support/precise_set.h"

static const char* const LAWS[PRECISE_LAWS] = {"convex", "coulomb", "box", "diamond", "direction"};

static int find_law(const char* name) {
  for (int i = 0; i < PRECISE_LAWS; ++i) {
    if (strcmp(name, LAWS[i]) == 0) {
      return i;
    }
  }
  return -1;
}

static int solve(const char* law, const char* path) {
  precise_case one;
  const int which = find_law(law);
  if (which < 0 || which > PRECISE_COULOMB || !precise_case_open(path, NULL, &one)) {
    (void)fprintf(stderr, "cannot read %s, or no such law: %s\n", path, law);
    return 2;
  }
  const bool solved = precise_solve(&one.problem, (precise_law)which, one.v, one.gamma);
  for (int i = 0; i < one.problem.nv; ++i) {
    (void)printf("%.17g\n", one.v[i]);
  }
  for (int i = 0; i < one.problem.nrows; ++i) {
    (void)printf("%.17g\n", one.gamma[i]);
  }
  precise_case_close(&one);
  return solved ? 0 : 1;
}

static int judge(const char* law, const char* path, const char* solution) {
  precise_case one;
  precise_verdict verdict;
  const int which = find_law(law);
  if (which < 0 || !precise_case_open(path, solution, &one)) {
    (void)fprintf(stderr, "cannot read %s or %s, or no such law: %s\n", path, solution, law);
    return 2;
  }
  const bool judged = precise_judge(&one.problem, (precise_law)which, one.v, one.gamma, &verdict);
  (void)printf("row %d: %g m/s, %g N s, relative %g\n", verdict.row.at, verdict.row.velocity,
               verdict.row.impulse, verdict.row.relative);
  (void)printf("tree %d: %g m/s, %g N s, relative %g\n", verdict.tree.at, verdict.tree.velocity,
               verdict.tree.impulse, verdict.tree.relative);
  precise_case_close(&one);
  return judged ? 0 : 1;
}

// The largest difference from the stored velocities of the tree, and -1 where nothing is solved.
static double solve_again(precise_case* one, precise_law law) {
  const precise_problem* p = &one->problem;
  double worst = 0.0, scale = 0.0;
  double* v = calloc((size_t)p->nv + (size_t)p->nrows + 1, sizeof *v);
  if (v == NULL) {
    return -1.0;
  }
  memcpy(v, p->v_star, (size_t)p->nv * sizeof *v);
  const bool solved = precise_solve(p, law, v, v + p->nv);
  for (int i = 0; i < p->nv; ++i) {
    worst = fmax(worst, fabs(v[i] - one->v[i]));
    scale = fmax(scale, fabs(v[i]));
  }
  free(v);
  return solved ? worst / scale : -1.0;
}

static int check(const char* folder) {
  static const double LAST_BITS = 4e-16;
  int bad = 0;
  for (int i = 0; precise_set_names[i] != NULL; ++i) {
    for (int law = 0; law <= PRECISE_COULOMB; ++law) {
      precise_case one;
      char problem[1024], solution[1024];
      (void)snprintf(problem, sizeof problem, "%s/%s.problem", folder, precise_set_names[i]);
      (void)snprintf(solution, sizeof solution, "%s/%s.%s", folder, precise_set_names[i],
                     LAWS[law]);
      const bool read = precise_case_open(problem, solution, &one);
      const double difference = read ? solve_again(&one, (precise_law)law) : -1.0;
      (void)printf("%s %s: %g\n", precise_set_names[i], LAWS[law], difference);
      bad += difference >= 0.0 && difference <= LAST_BITS ? 0 : 1;
      if (read) {
        precise_case_close(&one);
      }
    }
  }
  return bad > 0 ? 1 : 0;
}

int main(int argc, char** argv) {
  if (argc == 4 && strcmp(argv[1], "solve") == 0) {
    return solve(argv[2], argv[3]);
  }
  if (argc == 5 && strcmp(argv[1], "judge") == 0) {
    return judge(argv[2], argv[3], argv[4]);
  }
  if (argc == 3 && strcmp(argv[1], "check") == 0) {
    return check(argv[2]);
  }
  (void)fprintf(stderr, "usage: precise solve|judge|check ..., see precise.c\n");
  return 2;
}
