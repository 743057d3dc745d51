// SPDX-License-Identifier: BSD-3-Clause
// Safeguarded Newton (the idea of rtsafe): a bracket [a, b] with f(a) f(b) < 0 that only shrinks.
// A Newton step is taken if it stays inside and is at most half the step before the last one; else
// the bracket is halved. Every second evaluation halves the bracket or the step.
#include "solvers/primal/root.h"

#include <float.h>
#include <math.h>
#include <stdbool.h>

typedef struct bracket {
  double lower, upper;
  bool lower_negative;
} bracket;

static void shrink(bracket* b, double x, double f) {
  if ((f < 0.0) == b->lower_negative) {
    b->lower = x;
  } else {
    b->upper = x;
  }
}

// Returns true if no number lies between the ends, or if the width is within the tolerance.
static bool is_point(const bracket* b, double tolerance) {
  const double middle = b->lower + 0.5 * (b->upper - b->lower);
  return !(middle > b->lower && middle < b->upper) || b->upper - b->lower <= tolerance;
}

sap_root sap_find_root(const sap_root_problem* problem) {
  bracket b = {problem->lower, problem->upper, problem->f_lower < 0.0};
  double x = problem->x, f = problem->f_x, derivative = problem->derivative_x;
  double last_step = b.upper - b.lower, step_before = last_step;
  sap_root best = {x, f, 0};
  while (fabs(f) > problem->f_tolerance) {
    shrink(&b, x, f);
    if (is_point(&b, problem->x_tolerance)) {
      break;
    }
    const double newton = -f / derivative;
    if (fabs(newton) <= 0.5 * DBL_EPSILON * fabs(x)) {
      break;
    }
    double next = x + newton;
    const bool good = next > b.lower && next < b.upper && fabs(newton) <= 0.5 * fabs(step_before);
    if (!good) {  // also where newton is NaN
      next = b.lower + 0.5 * (b.upper - b.lower);
    }
    step_before = last_step;
    last_step = next - x;
    x = next;
    f = problem->f(problem->context, x, &derivative);
    best.evaluations += 1;
    if (fabs(f) <= fabs(best.f)) {
      best.x = x;
      best.f = f;
    }
  }
  return best;
}
