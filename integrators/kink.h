// SPDX-License-Identifier: BSD-3-Clause
// Kinks of a solved step: contacts and limits that close or open within it, servos that reach their
// bounds, and contacts and joints that friction stops. The step has one force for all of its time;
// the error is the difference of its impulse from the integral of the true force over the step.
#pragma once

#include <sapstep/adaptive.h>
#include <sapstep/solver.h>

#include "problem/problem_data.h"

typedef struct sap_kink {
  double error;  // [m], the largest of all blocks
  double time;   // a step from the same start that ends at this time has a smaller error [s]
  double next;   // length of a step from there that ends behind the kink; 0: the first one does [s]
  sap_adaptive_reason reason;
  const sap_block_data* block;
} sap_kink;

// Finds the worst kink of a step of the midpoint scheme.
sap_kink sap_kink_find(const sap_problem* problem, const sap_solution* solution,
                       const sap_adaptive_options* options);
