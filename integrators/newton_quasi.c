// SPDX-License-Identifier: BSD-3-Clause
// Newton's method on m(v*) = 0, group by group, with A in place of the Jacobian:
//   A s = -m(v),  v += s
// A is evaluated at the first iterate and kept. It lacks the derivatives of gravity and of
// gyroscopic forces, O(dt) by castro, Proposition 1. Broyden's rank-one updates learn them from the
// iterates, in the form that stores only the steps s (Kelley, Iterative Methods for Linear and
// Nonlinear Equations, ch. 7), in the inner product (x, y) = x' diag(A) y:
//   z    = -A^-1 m
//   z   += s_{j+1} (s_j, z)/(s_j, s_j)                 for j < n - 1
//   s_n  = z/(1 - (s_{n-1}, z)/(s_{n-1}, s_{n-1}))
// A group whose residual does not fall gets a new A, then goes on to newton_damped.c or
// newton_exact.c.
// The last step is not evaluated where the contraction seen so far leaves no more than round-off.
// cost: one inverse dynamics per iteration of all groups.
#include <math.h>

#include "integrators/newton.h"

// Contraction worsens by no more than this from one step to the next, except for round-off.
#define COLLAPSE 4.0
// The contraction that a step is expected to have is no better than this.
#define LEAST_CONTRACTION 1e-3

double sap_free_motion_dot(const sap_free_motion* fm, int32_t group, const double* x,
                           const double* y) {
  double sum = 0.0;
  SAP_FOR_GROUP(fm, group, i, sum += x[i] * fm->weight[i] * y[i])
  return sum;
}

sap_status sap_newton_quasi_factor(sap_free_motion* fm, sap_error* error) {
  for (int32_t g = 0; g < fm->factor.ngroups; ++g) {
    if (fm->progress[g].phase != SAP_GROUP_DONE) {
      SAP_TRY(sap_momentum_factor_group(&fm->factor, g, &fm->balance.A, error));
      fm->progress[g].depth = 0;
    }
  }
  return SAP_STATUS_OK;
}

// Makes the step of one group: v_star += s.
static void step_group(sap_free_motion* fm, int32_t group) {
  sap_group_progress* p = &fm->progress[group];
  double* z = fm->dv;
  SAP_FOR_GROUP(fm, group, i, z[i] = -fm->m[i])
  sap_momentum_factor_solve(&fm->factor, group, z);
  if (p->depth == SAP_BROYDEN_DEPTH) {
    p->depth = 0;
  }
  for (int32_t j = 0; j + 1 < p->depth; ++j) {
    const double* s = fm->steps[j];
    const double* next = fm->steps[j + 1];
    const double c = sap_free_motion_dot(fm, group, s, z) / sap_free_motion_dot(fm, group, s, s);
    SAP_FOR_GROUP(fm, group, i, z[i] += c * next[i])
  }
  if (p->depth > 0) {
    const double* last = fm->steps[p->depth - 1];
    const double c =
        sap_free_motion_dot(fm, group, last, z) / sap_free_motion_dot(fm, group, last, last);
    // c: contraction of the last step; near 1 nothing can be learnt from it.
    const double stretch = c < SAP_POOR_CONTRACTION ? 1.0 / (1.0 - c) : 1.0;
    SAP_FOR_GROUP(fm, group, i, z[i] *= stretch)
  }
  double* memory = fm->steps[p->depth++];
  SAP_FOR_GROUP(fm, group, i, memory[i] = z[i])
  SAP_FOR_GROUP(fm, group, i, fm->v_star[i] += z[i])
}

static void return_to_best(sap_free_motion* fm, int32_t group, sap_group_phase phase) {
  SAP_FOR_GROUP(fm, group, i, fm->v_star[i] = fm->v_best[i])
  fm->progress[group].residual = fm->progress[group].best;
  fm->progress[group].phase = phase;
  fm->moved = true;
}

// Returns the next phase of a group that the quasi-Newton iteration does not solve.
static sap_group_phase next_phase(sap_free_motion* fm, int32_t group) {
  const sap_system* s = fm->system;
  const bool stiff = s->stiffness_damping != NULL || s->add_stiffness_damping != NULL;
  return stiff && fm->progress[group].damped++ < SAP_DAMPED_TRIALS ? SAP_GROUP_DAMPED
                                                                   : SAP_GROUP_EXACT;
}

static void leave_all(sap_free_motion* fm) {
  SAP_EACH_GROUP(fm, SAP_GROUP_QUASI, g) {
    return_to_best(fm, g, next_phase(fm, g));
  }
}

// Returns true if the last step contracted far less than the one before it, close to round-off:
// forces that cancel are known no better.
static bool meets_roundoff(const sap_group_progress* p) {
  return p->residual <= SAP_ROUNDOFF_NEAR * p->scale && p->contraction > 0.0 &&
         p->residual > COLLAPSE * p->contraction * p->previous;
}

// Updates the phase of a group from its residual. Returns true if the group wants a new A.
static bool judge_group(sap_free_motion* fm, int32_t group) {
  sap_group_progress* p = &fm->progress[group];
  if (p->phase == SAP_GROUP_DONE &&
      p->residual > fmax(fmax(SAP_ROUNDOFF_STALLED, p->tolerance) * p->scale, 2.0 * p->floor)) {
    // Another group's motion has changed its forces.
    p->phase = SAP_GROUP_QUASI;
    p->depth = p->poor = 0;
    p->contraction = 0.0;
    p->previous = p->best = HUGE_VAL;
  }
  if (p->phase != SAP_GROUP_QUASI) {
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
    renew = judge_group(fm, g) || renew;
    *active += fm->progress[g].phase == SAP_GROUP_QUASI;
  }
  return renew;
}

// Ends the groups that iterate, if the step of each surely leaves no more than round-off.
static bool end_all(sap_free_motion* fm) {
  for (int pass = 0; pass < 2; ++pass) {
    SAP_EACH_GROUP(fm, SAP_GROUP_QUASI, g) {
      sap_group_progress* p = &fm->progress[g];
      const double left = COLLAPSE * fmax(p->contraction, LEAST_CONTRACTION) * p->residual;
      if (!(p->contraction > 0.0 && left <= fm->tolerance * p->scale)) {
        return false;  // in the first pass
      }
      p->residual = pass == 1 ? left : p->residual;
      p->phase = pass == 1 ? SAP_GROUP_DONE : p->phase;
    }
  }
  fm->moved = true;
  return true;
}

// Evaluates A at the iterate if `renew` is true, and factorizes it. If A cannot be found or
// factorized because the iterate is far off (K of a cubic spring, 1e19, hides M), groups go on from
// their best iterates.
static sap_status renew_factor(sap_free_motion* fm, bool renew, sap_error* error) {
  sap_error local;
  sap_status status = renew ? sap_momentum_balance_matrix(&fm->balance, &local) : SAP_STATUS_OK;
  if (status == SAP_STATUS_OK) {
    status = sap_newton_quasi_factor(fm, &local);
  }
  if ((status == SAP_STATUS_NOT_SPD || status == SAP_STATUS_NOT_FINITE) && fm->iterations > 0) {
    leave_all(fm);
    return SAP_STATUS_OK;
  }
  if (status != SAP_STATUS_OK && error != NULL) {
    *error = local;
  }
  return status;
}

sap_status sap_newton_quasi_iterate(sap_free_motion* fm, int32_t max_iterations, sap_error* error) {
  const int32_t limit = fm->iterations + max_iterations;
  for (;;) {
    int32_t active = 0;
    const bool renew = judge_all(fm, &active);
    if (active == 0 || fm->iterations >= limit) {
      return SAP_STATUS_OK;
    }
    if (renew || fm->iterations == 0) {
      SAP_TRY(renew_factor(fm, renew, error));
    }
    SAP_EACH_GROUP(fm, SAP_GROUP_QUASI, g) {
      step_group(fm, g);
    }
    fm->matrix_is_current = false;
    fm->iterations += 1;
    if (end_all(fm)) {
      return SAP_STATUS_OK;
    }
    SAP_TRY(sap_free_motion_evaluate(fm, error));
  }
}

bool sap_newton_quasi_wants_damping(sap_free_motion* fm) {
  leave_all(fm);
  SAP_EACH_GROUP(fm, SAP_GROUP_DAMPED, g) {
    return true;
  }
  return false;
}
