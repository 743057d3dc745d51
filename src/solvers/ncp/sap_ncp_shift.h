// SPDX-License-Identifier: BSD-3-Clause
// What sap-ncp keeps: shifts, images, the best solution. See sap_ncp.c.
#ifndef SAP_SOLVERS_NCP_SAP_NCP_SHIFT_H
#define SAP_SOLVERS_NCP_SAP_NCP_SHIFT_H

#include "problem/problem_data.h"
#include "solvers/key_map.h"
#include "solvers/ncp/anderson.h"
#include "solvers/ncp/sap_ncp.h"

enum { SAP_NCP_SOLVES = 40 };

typedef struct ncp_history {
  sap_iteration* rows;
  int32_t count, capacity;
} ncp_history;

typedef struct sap_ncp {
  void *primal, *polish;
  sap_anderson anderson;
  sap_key_map last;  // shifts of the solve before, in the rows of normals
  sap_solution inner, best;
  sap_report report;  // of the inner solve
  ncp_history history;
  double deadline;  // by sap_clock_seconds; only with a time limit
  int32_t ncones;
  int32_t* cone;  // block of each cone
  double* cones;  // s, T, s and T of the best, weights                          (5 ncones)
  double* rows;   // shifted v_hat; shifts by rows; steps rho of the natural map (3 nrows)
  int32_t cone_capacity, cones_capacity, rows_capacity;
} sap_ncp;

static inline double* sap_ncp_shift(const sap_ncp* w) {
  return w->cones;
}
static inline double* sap_ncp_image(const sap_ncp* w) {
  return w->cones + w->ncones;
}
static inline double* sap_ncp_best_shift(const sap_ncp* w) {
  return w->cones + 2 * w->ncones;
}
static inline double* sap_ncp_best_image(const sap_ncp* w) {
  return w->cones + 3 * w->ncones;
}
static inline double* sap_ncp_weight(const sap_ncp* w) {
  return w->cones + 4 * w->ncones;
}
static inline double* sap_ncp_steps(const sap_ncp* w, const sap_problem* p) {
  return w->rows + 2 * p->nrows;
}

// Memory, the cones, the natural map's steps, and the shifts that the blocks had last time (warm).
sap_status sap_ncp_start(sap_ncp* w, const sap_problem* problem, bool warm, sap_error* error);
// Relative natural map of the inner solution on the NCP, each block with its step.
double sap_ncp_natural_map(const sap_ncp* w, const sap_problem* problem);
// T of the inner solution, and which contacts press.
void sap_ncp_find_image(sap_ncp* w, const sap_problem* problem);
// The inner solution, its shifts and images become the best.
sap_status sap_ncp_keep_best(sap_ncp* w, const sap_problem* problem, sap_error* error);
// The next shifts: accelerated, or (too_far) back to the best and half a plain step.
void sap_ncp_next_shift(sap_ncp* w, bool too_far);

#endif
