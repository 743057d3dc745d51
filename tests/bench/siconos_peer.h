// SPDX-License-Identifier: BSD-3-Clause
// Siconos' solvers of rigid frictional contact, called through its C library.
#ifndef SAP_TESTS_BENCH_SICONOS_PEER_H
#define SAP_TESTS_BENCH_SICONOS_PEER_H

#include <sapstep/problem.h>

typedef struct siconos_solver {
  const char* name;
  int id;
  bool blocks;  // W as sparse blocks, which sweeps like; Newton methods want compressed columns
} siconos_solver;
// Ends with a name of NULL.
extern const siconos_solver siconos_solvers[];

typedef struct siconos_problem siconos_problem;
// u = W r + q of a problem in local form: a tree of three velocities per contact. NULL: it is not.
siconos_problem* siconos_problem_create(const sap_problem* problem, bool blocks);
void siconos_problem_destroy(siconos_problem* p);
// gamma (3 per contact, [t1 t2 n]) from zero impulses; tolerance is of Siconos' own error.
void siconos_solve(siconos_problem* p, const siconos_solver* solver, double tolerance,
                   double* gamma);

#endif
