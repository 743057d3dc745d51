// SPDX-License-Identifier: BSD-3-Clause
// Newton's method on m(v*) = 0, group by group, with A in place of the Jacobian.
//   A s = -m(v),  v += s
// A is evaluated at the first iterate and kept; what it misses (gravity's and the gyroscopic
// terms' derivatives, O(dt) by castro's Proposition 1) Broyden's rank-one updates learn from the
// iterates themselves, in the memory-saving form that keeps only the steps s (Kelley, Iterative
// Methods for Linear and Nonlinear Equations, ch. 7), in the inner product of diag(A):
//   z = -A^-1 m;  z += s_{j+1} (s_j, z)/(s_j, s_j) for j < n - 1;  s_n = z/(1 - (s_{n-1},
//   z)/|s_{n-1}|^2)
// A group whose residual does not fall gets a new A, then a line search with a new A at every
// iterate, then the true Jacobian.
// cost: one inverse dynamics per iteration of all groups.
#include <math.h>

#include "integrators/free_motion_data.h"

// Contraction does not worsen by more from one step to the next, but for round-off.
#define COLLAPSE 4.0
enum { FACTOR_WORK = 60, STEP_WORK = 60 };  // instructions of a velocity, about

// (x, y) = x' diag(A) y
static double dot(const sap_free_motion* fm, int32_t group, const double* x, const double* y) {
  double sum = 0.0;
  SAP_FOR_GROUP(fm, group, i, sum += x[i] * fm->weight[i] * y[i])
  return sum;
}

static void factor_group(sap_free_motion* fm, int32_t g, const void* context) {
  (void)context;
  fm->group_status[g] = SAP_STATUS_OK;
  if (fm->progress[g].phase != SAP_GROUP_DONE) {
    fm->group_status[g] = sap_momentum_factor_group(&fm->factor, g, &fm->balance.A, NULL);
    fm->progress[g].depth = 0;
  }
}

sap_status sap_free_motion_factor(sap_free_motion* fm, sap_error* error) {
  sap_free_motion_each_group(fm, FACTOR_WORK, factor_group, NULL);
  return sap_free_motion_factor_status(fm, error);
}

// The step of one group from its m: v_star += s.
static void quasi_newton_step(sap_free_motion* fm, int32_t group, const void* context) {
  sap_group_progress* p = &fm->progress[group];
  (void)context;
  if (p->phase != SAP_GROUP_QUASI_NEWTON) {
    return;
  }
  double* z = fm->dv;
  SAP_FOR_GROUP(fm, group, i, z[i] = -fm->m[i])
  sap_momentum_factor_solve(&fm->factor, group, z);
  if (p->depth == SAP_BROYDEN_DEPTH) {
    p->depth = 0;
  }
  for (int32_t j = 0; j + 1 < p->depth; ++j) {
    const double* s = fm->steps[j];
    const double* next = fm->steps[j + 1];
    const double c = dot(fm, group, s, z) / dot(fm, group, s, s);
    SAP_FOR_GROUP(fm, group, i, z[i] += c * next[i])
  }
  if (p->depth > 0) {
    const double* last = fm->steps[p->depth - 1];
    const double c = dot(fm, group, last, z) / dot(fm, group, last, last);
    // c is the factor by which the last step has contracted; near 1 nothing can be learnt from it.
    const double stretch = c < SAP_POOR_CONTRACTION ? 1.0 / (1.0 - c) : 1.0;
    SAP_FOR_GROUP(fm, group, i, z[i] *= stretch)
  }
  double* kept = fm->steps[p->depth++];
  SAP_FOR_GROUP(fm, group, i, kept[i] = z[i])
  SAP_FOR_GROUP(fm, group, i, fm->v_star[i] += z[i])
}

static void return_to_best(sap_free_motion* fm, int32_t group, sap_group_phase phase) {
  SAP_FOR_GROUP(fm, group, i, fm->v_star[i] = fm->v_best[i])
  fm->progress[group].residual = fm->progress[group].best;
  fm->progress[group].phase = phase;
  fm->moved = true;
}

// Where a group goes that the quasi-Newton iteration does not bring home.
static sap_group_phase next_phase(sap_free_motion* fm, int32_t group) {
  const bool stiff = fm->system->stiffness_damping != NULL;
  return stiff && fm->progress[group].damped++ < SAP_DAMPED_TRIALS ? SAP_GROUP_DAMPED_NEWTON
                                                                   : SAP_GROUP_TRUE_NEWTON;
}

// The last step contracted far less than the one before it, close to round-off: forces that cancel
// are known no better, and further steps would only find that out.
static bool meets_roundoff(const sap_group_progress* p) {
  return p->residual <= SAP_ROUNDOFF_NEAR * p->scale && p->contraction > 0.0 &&
         p->residual > COLLAPSE * p->contraction * p->previous;
}

// What the residual at the newest iterate says about a group. True: it wants a new A.
static bool judge(sap_free_motion* fm, int32_t group) {
  sap_group_progress* p = &fm->progress[group];
  if (p->phase == SAP_GROUP_DONE &&
      p->residual > fmax(fmax(SAP_ROUNDOFF_STALLED, p->tolerance) * p->scale, 2.0 * p->floor)) {
    // Another group's motion has changed its forces.
    p->phase = SAP_GROUP_QUASI_NEWTON;
    p->depth = p->poor = 0;
    p->contraction = 0.0;
    p->previous = p->best = HUGE_VAL;
  }
  if (p->phase != SAP_GROUP_QUASI_NEWTON) {
    return false;
  }
  if (p->residual < p->best) {
    p->best = p->residual;
    SAP_FOR_GROUP(fm, group, i, fm->v_best[i] = fm->v_star[i])
  }
  if (p->residual <= p->tolerance * p->scale || meets_roundoff(p)) {
    p->phase = SAP_GROUP_DONE;
    return false;
  }
  p->contraction = p->residual / p->previous;
  const bool good = p->residual <= SAP_POOR_CONTRACTION * p->previous;
  p->poor = good ? 0 : p->poor + 1;
  const bool small = p->best <= fmax(SAP_ROUNDOFF_STALLED * p->scale, p->noise);
  if (small && p->poor >= 2) {
    p->scale = fmax(p->scale, p->noise / SAP_ROUNDOFF_STALLED);
    return_to_best(fm, group, SAP_GROUP_DONE);
  } else if (p->poor >= 3 || !isfinite(p->residual)) {
    return_to_best(fm, group, next_phase(fm, group));
  }
  return p->poor == 1 && !small;
}

static bool judge_all(sap_free_motion* fm, int32_t* active) {
  bool renew = false;
  *active = 0;
  for (int32_t g = 0; g < fm->factor.ngroups; ++g) {
    renew = judge(fm, g) || renew;
    *active += fm->progress[g].phase == SAP_GROUP_QUASI_NEWTON;
  }
  return renew;
}

// A new A at the iterate, where it is wanted. An iterate so far off that A cannot be factored (a
// cubic spring's K of 1e19 hides M) sends its groups on from their best ones.
static sap_status renew_factor(sap_free_motion* fm, bool renew, sap_error* error) {
  sap_error local = {0};
  sap_status status =
      renew ? sap_balance_matrix(&fm->balance, fm->factor.tree_dof, &local) : SAP_STATUS_OK;
  if (status == SAP_STATUS_OK) {
    status = sap_free_motion_factor(fm, &local);
  }
  if (status == SAP_STATUS_NOT_SPD && fm->iterations > 0) {
    for (int32_t g = 0; g < fm->factor.ngroups; ++g) {
      if (fm->progress[g].phase == SAP_GROUP_QUASI_NEWTON) {
        return_to_best(fm, g, next_phase(fm, g));
      }
    }
    return SAP_STATUS_OK;
  }
  if (status != SAP_STATUS_OK && error != NULL) {
    *error = local;
  }
  return status;
}

sap_status sap_free_motion_iterate(sap_free_motion* fm, int32_t max_iterations, sap_error* error) {
  sap_status status = SAP_STATUS_OK;
  const int32_t limit = fm->iterations + max_iterations;
  while (status == SAP_STATUS_OK) {
    int32_t active = 0;
    const bool renew = judge_all(fm, &active);
    if (active == 0 || fm->iterations >= limit) {
      break;
    }
    if (renew || fm->iterations == 0) {
      status = renew_factor(fm, renew, error);
    }
    if (status == SAP_STATUS_OK) {
      sap_free_motion_each_group(fm, STEP_WORK, quasi_newton_step, NULL);
      status = sap_free_motion_evaluate(fm, error);
    }
    for (int32_t g = 0; fm->iterations == 0 && g < fm->factor.ngroups; ++g) {
      sap_group_progress* p = &fm->progress[g];
      p->second = p->phase == SAP_GROUP_QUASI_NEWTON ? p->residual : 0.0;
    }
    fm->matrix_is_current = false;
    fm->iterations += 1;
  }
  return status;
}

bool sap_free_motion_wants_damping(sap_free_motion* fm) {
  bool wanted = false;
  for (int32_t g = 0; g < fm->factor.ngroups; ++g) {
    if (fm->progress[g].phase == SAP_GROUP_QUASI_NEWTON) {
      return_to_best(fm, g, next_phase(fm, g));
    }
    wanted = wanted || fm->progress[g].phase == SAP_GROUP_DAMPED_NEWTON;
  }
  return wanted;
}
