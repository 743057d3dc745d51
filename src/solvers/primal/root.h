// SPDX-License-Identifier: BSD-3-Clause
// Root of a function of one variable inside a bracket, to machine precision.
#ifndef SAP_SOLVERS_PRIMAL_ROOT_H
#define SAP_SOLVERS_PRIMAL_ROOT_H

#include <stdint.h>

// f(x); writes df/dx, which may be wrong, zero or infinite: that costs evaluations only.
typedef double (*sap_root_function)(void* context, double x, double* derivative);

typedef struct sap_root_problem {
  sap_root_function f;
  void* context;
  double lower, upper;          // bracket, lower < upper
  double f_lower;               // f(lower); f(upper) is taken to have the other sign
  double x, f_x, derivative_x;  // a point of the bracket where f is known: the start
  double f_tolerance;           // |f| that counts as zero, >= 0
  double x_tolerance;           // width of a bracket that counts as a point; one ulp always does
} sap_root_problem;

typedef struct sap_root {
  double x;
  double f;  // f(x)
  int32_t evaluations;
} sap_root;

// Newton steps inside the bracket; bisection where a step leaves it or the steps do not halve.
// Ends when |f| <= f_tolerance, when the bracket is one ulp or x_tolerance wide, or when the Newton
// step is below one ulp of x: so always.
sap_root sap_find_root(const sap_root_problem* problem);

#endif
