// SPDX-License-Identifier: BSD-3-Clause
// Step length along a direction dv of an island, and the root of a function inside a bracket.
#pragma once

#include "solvers/primal/newton.h"

typedef struct sap_step {
  double alpha;
  int32_t evaluations;
} sap_step;

// Minimises l(v + alpha dv): ends where |l'| <= tolerance |slope| or l' is round-off.
// slope = l'(0) < 0, curvature = dv' A dv; J dv must be computed.
sap_step sap_newton_exact_search(const sap_newton* newton, double slope, double curvature,
                                 double tolerance);
// Shortens alpha until Armijo's rule holds and l rises again.
sap_step sap_newton_backtracking_search(const sap_newton* newton, const sap_solver_options* options,
                                        double slope, double curvature);

// Returns f(x) and sets df/dx. A wrong, zero or infinite df/dx costs evaluations, nothing else.
typedef double (*sap_root_function)(void* context, double x, double* derivative);

typedef struct sap_root_problem {
  sap_root_function f;
  void* context;
  double lower, upper;          // bracket, lower < upper
  double f_lower;               // f(lower); f(upper) must have the other sign
  double x, f_x, derivative_x;  // the start, a point of the bracket with its f and df/dx
  double f_tolerance;           // |f| that counts as zero, >= 0
  double x_tolerance;           // width of a bracket that counts as a point, as one ulp does
} sap_root_problem;

typedef struct sap_root {
  double x;
  double f;  // f(x)
  int32_t evaluations;
} sap_root;

// Finds the root by Newton steps inside the bracket, and by bisection where a step leaves it or the
// steps do not halve. Ends when |f| <= f_tolerance, when the bracket is one ulp or x_tolerance
// wide, or when the Newton step is below one ulp of x: always.
sap_root sap_find_root(const sap_root_problem* problem);
