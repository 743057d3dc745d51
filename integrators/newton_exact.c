// SPDX-License-Identifier: BSD-3-Clause
// Newton with the exact Jacobian of m, for groups whose residual A does not contract (a wheel that
// turns by more than a radian per step, an inverted pendulum with dt^2 g/l > 1):
//   (dm/dv) d = -m(v),  v += alpha d,  alpha = 1, 1/2, ... until |D m| falls
// dm/dv by central differences, one velocity of every group at a time. Couplings between groups
// through forces outside K and D are left out; they only cost contraction.
// cost: two inverse dynamics per velocity of the largest group and iteration.
// fails: STEP_FAILED with the residual when no step length lowers it, or when it falls so slowly
// that it is in a valley of |D m| without a root.
#include <float.h>
#include <math.h>

#include "core/memory.h"
#include "integrators/newton.h"
#include "linalg/dense.h"

enum {
  LARGEST_GROUP = 1024,  // velocities: a dense Jacobian of 8 MiB
  HALVINGS = 30,
};
// With the exact Jacobian and no descent left, a residual below this share of the scale is
// round-off of m: forces of stiff springs at large q (k = 1e12, q = 1) are known to 1e-7 only.
#define ROUNDOFF_ILL_CONDITIONED 1e-6
// Newton's iteration near a root squares the residual. One that has not halved it every other
// iteration crawls along a valley, which may end at a root after 40 iterations or never: it is
// given this many evaluations of m, about 10 ms of a humanoid's.
enum { EVALUATIONS = 1000 };
#define VALLEY 0.7071
// Required share of the decrease that the linear model predicts.
#define SUFFICIENT_DECREASE 1e-4

// Returns the index of velocity `local` of a group.
static int32_t velocity_index(const sap_free_motion* fm, int32_t group, int32_t local) {
  const sap_group* g = &fm->factor.groups[group];
  const int32_t* trees = fm->factor.group_trees + g->first_tree;
  while (local >= fm->system->tree_sizes[*trees]) {
    local -= fm->system->tree_sizes[*trees++];
  }
  return fm->balance.A.tree_dof[*trees] + local;
}

static bool is_pending(const sap_free_motion* fm, int32_t group) {
  return fm->progress[group].phase == SAP_GROUP_EXACT;
}

static sap_status allocate_jacobian(sap_free_motion* fm, sap_error* error) {
  if (fm->jacobian != NULL) {
    return SAP_STATUS_OK;
  }
  size_t entries = 0;
  for (int32_t g = 0; g < fm->factor.ngroups; ++g) {
    const size_t n = (size_t)fm->factor.groups[g].ndofs;
    entries += n <= LARGEST_GROUP ? n * n : 0;
  }
  return SAP_POOL_ADD_ALL(fm->pool, error, SAP_ARRAY(&fm->m_plus, fm->system->nv),
                          SAP_ARRAY(&fm->pivots, LARGEST_GROUP), SAP_ARRAY(&fm->jacobian, entries));
}

// Computes m with velocity `local` of every pending group at v_best + sign h.
static sap_status evaluate_perturbed(sap_free_motion* fm, int32_t local, double sign, double* m,
                                     sap_error* error) {
  SAP_EACH_GROUP(fm, SAP_GROUP_EXACT, g) {
    if (local < fm->factor.groups[g].ndofs) {
      const int32_t i = velocity_index(fm, g, local);
      fm->v_star[i] = fm->v_best[i] + sign * fm->dv[i];
    }
  }
  sap_status status = sap_momentum_balance_set_velocity(&fm->balance, fm->v_star, error);
  if (status == SAP_STATUS_OK) {
    status = sap_momentum_balance_residual(&fm->balance, fm->v_star, m, error);
  }
  SAP_EACH_GROUP(fm, SAP_GROUP_EXACT, g) {
    if (local < fm->factor.groups[g].ndofs) {
      const int32_t i = velocity_index(fm, g, local);
      fm->v_star[i] = fm->v_best[i];
    }
  }
  return status;
}

// Computes the Jacobians of all pending groups at v_best, which v_star equals on entry and exit.
static sap_status differentiate(sap_free_motion* fm, int32_t largest, sap_error* error) {
  for (int32_t i = 0; i < fm->system->nv; ++i) {
    const double v = fm->v_best[i];
    const double size =
        fabs(v) + fabs(v - fm->balance.step.v0[i]) + fm->load[i] / fm->weight[i] + 1e-6;
    fm->dv[i] = cbrt(DBL_EPSILON) * size;
  }
  for (int32_t j = 0; j < largest; ++j) {
    SAP_TRY(evaluate_perturbed(fm, j, 1.0, fm->m_plus, error));
    SAP_TRY(evaluate_perturbed(fm, j, -1.0, fm->m, error));
    double* jacobian = fm->jacobian;
    for (int32_t g = 0; g < fm->factor.ngroups; ++g) {
      const int32_t n = fm->factor.groups[g].ndofs;
      if (is_pending(fm, g) && j < n) {
        double* out = jacobian + (size_t)j * (size_t)n;
        const double h2 = 2.0 * fm->dv[velocity_index(fm, g, j)];
        SAP_FOR_GROUP(fm, g, i, *out++ = (fm->m_plus[i] - fm->m[i]) / h2)
      }
      jacobian += n <= LARGEST_GROUP ? (size_t)n * (size_t)n : 0;
    }
  }
  return SAP_STATUS_OK;
}

static sap_status fail_group(const sap_free_motion* fm, int32_t group, const char* why,
                             sap_error* error) {
  const sap_group_progress* p = &fm->progress[group];
  return sap_fail(error, SAP_STATUS_STEP_FAILED,
                  "free motion of tree %d: %s; residual |D m| = %g, %g of its scale, after %d "
                  "iterations",
                  fm->factor.group_trees[fm->factor.groups[group].first_tree], why, p->best,
                  p->best / p->scale, fm->iterations);
}

// Computes the directions of all pending groups.
static sap_status solve_directions(sap_free_motion* fm, sap_error* error) {
  double* jacobian = fm->jacobian;
  for (int32_t g = 0; g < fm->factor.ngroups; ++g) {
    const int32_t n = fm->factor.groups[g].ndofs;
    if (is_pending(fm, g)) {
      double* x = fm->m_plus;
      SAP_FOR_GROUP(fm, g, i, *x++ = -fm->m[i])
      SAP_RETURN_IF(!sap_dense_lu_solve(n, jacobian, fm->pivots, fm->m_plus),
                    fail_group(fm, g, "the Jacobian is singular", error));
      x = fm->m_plus;
      SAP_FOR_GROUP(fm, g, i, fm->direction[i] = *x++)
      fm->alpha[g] = 1.0;
    }
    jacobian += n <= LARGEST_GROUP ? (size_t)n * (size_t)n : 0;
  }
  return SAP_STATUS_OK;
}

// Accepts the trial of groups whose residual fell (alpha = 0), halves alpha of the others. Returns
// true if all were accepted.
static bool accept_trial(sap_free_motion* fm) {
  bool all = true;
  SAP_EACH_GROUP(fm, SAP_GROUP_EXACT, g) {
    sap_group_progress* p = &fm->progress[g];
    if (fm->alpha[g] == 0.0) {
      continue;
    }
    if (p->residual <= (1.0 - SUFFICIENT_DECREASE * fm->alpha[g]) * p->best) {
      p->previous = p->best;
      p->best = p->residual;
      SAP_FOR_GROUP(fm, g, i, fm->v_best[i] = fm->v_star[i])
      fm->alpha[g] = 0.0;
    } else {
      fm->alpha[g] *= 0.5;
      all = false;
    }
  }
  return all;
}

static sap_status line_search(sap_free_motion* fm, sap_error* error) {
  for (int32_t trial = 0; trial < HALVINGS; ++trial) {
    const sap_status status = sap_newton_try_step(fm, SAP_GROUP_EXACT, error);
    if (status != SAP_STATUS_OK || accept_trial(fm)) {
      return status;
    }
  }
  return SAP_STATUS_OK;
}

// Ends groups that have converged. STEP_FAILED: no step length lowers the residual of a group, or
// it hardly falls.
static sap_status conclude_iteration(sap_free_motion* fm, int32_t iteration, sap_error* error) {
  SAP_EACH_GROUP(fm, SAP_GROUP_EXACT, g) {
    sap_group_progress* p = &fm->progress[g];
    const bool stuck = fm->alpha[g] != 0.0;
    const bool slow = stuck || p->best > SAP_POOR_CONTRACTION * p->previous;
    const double relative = p->best / p->scale;
    SAP_FOR_GROUP(fm, g, i, fm->v_star[i] = fm->v_best[i])
    p->residual = p->best;
    const double accepted = sap_free_motion_has_impulse(fm, g) ? fm->linearization.tolerance : 0.0;
    if (relative <= fmax(accepted, fm->tolerance) || (slow && relative <= SAP_ROUNDOFF_STALLED) ||
        (stuck && relative <= ROUNDOFF_ILL_CONDITIONED)) {
      p->phase = SAP_GROUP_DONE;
    } else if (stuck) {
      return fail_group(fm, g, "no step length lowers the residual", error);
    } else if (2 * iteration * fm->factor.groups[g].ndofs >= EVALUATIONS &&
               p->best > pow(VALLEY, iteration) * p->entered) {
      return fail_group(fm, g, "the residual hardly falls", error);
    }
  }
  return SAP_STATUS_OK;
}

// Counts the pending groups. *largest: velocities of the largest one; *first: the first one.
static int32_t count_pending(const sap_free_motion* fm, int32_t* largest, int32_t* first) {
  int32_t count = 0;
  *largest = 0;
  for (int32_t g = fm->factor.ngroups - 1; g >= 0; --g) {
    if (is_pending(fm, g)) {
      const int32_t n = fm->factor.groups[g].ndofs;
      *largest = n > *largest ? n : *largest;
      *first = g;
      ++count;
    }
  }
  return count;
}

sap_status sap_newton_exact_iterate(sap_free_motion* fm, int32_t max_iterations, sap_error* error) {
  int32_t largest = 0;
  int32_t first = 0;
  for (int32_t g = 0; g < fm->factor.ngroups; ++g) {
    fm->progress[g].entered = fm->progress[g].best;
    SAP_RETURN_IF(fm->progress[g].phase == SAP_GROUP_QUASI,
                  fail_group(fm, g, "the iteration limit is reached", error));
  }
  for (int32_t k = 0; count_pending(fm, &largest, &first) > 0; ++k) {
    if (k == max_iterations || largest > LARGEST_GROUP) {
      return fail_group(fm, first,
                        largest > LARGEST_GROUP ? "A does not contract, too many coupled trees"
                                                : "the iteration limit is reached",
                        error);
    }
    fm->moved = true;
    fm->matrix_is_current = false;
    SAP_TRY(allocate_jacobian(fm, error));
    SAP_TRY(differentiate(fm, largest, error));
    SAP_TRY(sap_free_motion_evaluate(fm, error));
    SAP_TRY(solve_directions(fm, error));
    SAP_TRY(line_search(fm, error));
    SAP_TRY(conclude_iteration(fm, k + 1, error));
    fm->iterations += 1;
  }
  return SAP_STATUS_OK;
}
