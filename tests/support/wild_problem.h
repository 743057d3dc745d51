// SPDX-License-Identifier: BSD-3-Clause
// Random problems of all kinds of blocks, redundant and dependent rows and rows of zeros among
// them, without or with much friction.
#ifndef SAP_TESTS_SUPPORT_WILD_PROBLEM_H
#define SAP_TESTS_SUPPORT_WILD_PROBLEM_H

#include <sapstep/problem.h>

enum { WILD_TREES = 6, WILD_SIZE = 9, WILD_VELOCITIES = WILD_TREES * WILD_SIZE };

typedef struct wild_limits {
  double masses;  // of trees: within [1/masses, masses]
  double spread;  // of a tree's velocities
  double sigma;   // of contacts: from this to 1e-3
  // 0, or of problems that are wilder still: friction of each row within [1/rows, rows] of the
  // contact's, stiffness from 1e2 to 1e14, sigma from its limit to 1e-1.
  double rows;
  // Contacts of all models, with and without near-rigid limit, dt from 1e-5 to 0.1 s, v* up to 1e3,
  // friction up to 10, up to 200 blocks.
  bool wide;
} wild_limits;

typedef struct wild_problem {
  sap_problem* problem;
  uint64_t seed;
  wild_limits of;
  int32_t ntrees, sizes[WILD_TREES], start[WILD_TREES + 1];
} wild_problem;

// The same seed and limits give the same bits; the test fails when a call fails.
wild_problem wild_make(uint64_t seed, wild_limits of);

#endif
