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
// iterate, then the true Jacobian. The first iterate
// comes from the steps before, where they help (prediction.h).
// cost: one inverse dynamics per iteration of all groups.
#include "integrators/free_motion_data.h"

#include <math.h>
#include <string.h>

#include "core/memory.h"

enum { DAMPED_TRIALS = 2 };  // of one step

sap_status sap_free_motion_create(const sap_system* system, sap_free_motion* fm, sap_error* error) {
  const size_t nv = (size_t)system->nv;
  fm->system = system;
  sap_status status = sap_balance_create(system, &fm->balance, error);
  if (status == SAP_STATUS_OK) {
    status = sap_momentum_factor_create(system, &fm->factor, error);
  }
  if (status == SAP_STATUS_OK) {
    status = sap_prediction_create(system->nv, &fm->prediction, error);
  }
  if (status == SAP_STATUS_OK) {
    status = sap_linearization_create(system, fm->factor.ngroups, &fm->linearization, error);
  }
  if (status != SAP_STATUS_OK) {
    sap_free_motion_clear(fm);
    return status;
  }
  double** const vectors[] = {&fm->v_star, &fm->m,      &fm->v_best,   &fm->load,
                              &fm->dv,     &fm->weight, &fm->direction};
  bool complete = true;
  for (size_t i = 0; i < sizeof vectors / sizeof vectors[0]; ++i) {
    *vectors[i] = sap_allocate(nv, sizeof(double));
    complete = complete && *vectors[i] != NULL;
  }
  for (int32_t i = 0; i < SAP_BROYDEN_DEPTH; ++i) {
    fm->steps[i] = sap_allocate(nv, sizeof(double));
    complete = complete && fm->steps[i] != NULL;
  }
  fm->progress = sap_allocate((size_t)fm->factor.ngroups, sizeof *fm->progress);
  fm->alpha = sap_allocate((size_t)fm->factor.ngroups, sizeof(double));
  if (!complete || fm->progress == NULL || fm->alpha == NULL) {
    sap_free_motion_clear(fm);
    return sap_fail(error, SAP_STATUS_MEMORY, "out of memory: free motion of %zu velocities", nv);
  }
  return SAP_STATUS_OK;
}

void sap_free_motion_clear(sap_free_motion* fm) {
  double* const vectors[] = {fm->v_star, fm->m,      fm->v_best, fm->load,     fm->dv,
                             fm->weight, fm->m_plus, fm->alpha,  fm->jacobian, fm->direction};
  for (size_t i = 0; i < sizeof vectors / sizeof vectors[0]; ++i) {
    sap_free(vectors[i]);
  }
  for (int32_t i = 0; i < SAP_BROYDEN_DEPTH; ++i) {
    sap_free(fm->steps[i]);
  }
  sap_free(fm->pivots);
  sap_free(fm->progress);
  sap_balance_clear(&fm->balance);
  sap_prediction_clear(&fm->prediction);
  sap_linearization_clear(&fm->linearization);
  sap_momentum_factor_clear(&fm->factor);
  memset(fm, 0, sizeof *fm);
}

double sap_free_motion_norm(const sap_free_motion* fm, int32_t group, const double* x) {
  double sum = 0.0;
  SAP_FOR_GROUP(fm, group, i, sum += x[i] * x[i] / fm->weight[i])
  return sqrt(sum);
}

// (x, y) = x' diag(A) y
static double dot(const sap_free_motion* fm, int32_t group, const double* x, const double* y) {
  double sum = 0.0;
  SAP_FOR_GROUP(fm, group, i, sum += x[i] * fm->weight[i] * y[i])
  return sum;
}

// |D m| of forces in balance that leave SAP_NOISE of acceleration: where all loads cancel (an arm
// that hangs straight down), the scale, made of what is left of them, is round-off itself.
static double noise_of(const sap_free_motion* fm, int32_t group) {
  double sum = 0.0;
  SAP_FOR_GROUP(fm, group, i, sum += fm->weight[i])
  return SAP_NOISE * fm->balance.scheme.dt * sqrt(sum);
}

// Residual/scale at which a group is done.
static double tolerance_of(const sap_free_motion* fm, int32_t group) {
  return sap_free_motion_is_pushed(fm, group) ? fmax(SAP_ROUNDOFF, fm->linearization.tolerance)
                                              : SAP_ROUNDOFF;
}

static sap_status set_weights(sap_free_motion* fm, sap_error* error) {
  const sap_system* system = fm->system;
  for (int32_t t = 0; t < system->ntrees; ++t) {
    const int32_t n = system->tree_sizes[t];
    const double* A = fm->balance.A.view.diagonal[t];
    for (int32_t i = 0; i < n; ++i) {
      const double weight = A[(size_t)i * (size_t)n + (size_t)i];
      fm->weight[fm->factor.tree_dof[t] + i] = weight;
      if (!(weight > 0.0)) {
        return sap_fail(error, SAP_STATUS_NOT_SPD, "A of tree %d: its entry (%d, %d) is %g", t, i,
                        i, weight);
      }
    }
  }
  return SAP_STATUS_OK;
}

static sap_status factor_unfinished(sap_free_motion* fm, bool anew, sap_error* error) {
  sap_status status = SAP_STATUS_OK;
  for (int32_t g = 0; status == SAP_STATUS_OK && g < fm->factor.ngroups; ++g) {
    if (fm->progress[g].phase != SAP_GROUP_DONE) {
      status = sap_momentum_factor_group(&fm->factor, g, &fm->balance.A, anew, error);
      fm->progress[g].depth = 0;
    }
  }
  return status;
}

// m, A and the residuals at v_star, where the iteration starts.
static sap_status start_here(sap_free_motion* fm, sap_error* error) {
  sap_balance* balance = &fm->balance;
  sap_balance_release(balance, fm->v_star);
  const int32_t* tree_dof = fm->factor.tree_dof;
  sap_status status = sap_balance_start(balance, tree_dof, fm->v_star, fm->m, fm->load, error);
  if (status == SAP_STATUS_OK) {
    status = set_weights(fm, error);
  }
  if (status != SAP_STATUS_OK) {
    return status;
  }
  memcpy(fm->v_best, fm->v_star, (size_t)fm->system->nv * sizeof(double));
  sap_tree_store_multiply(fm->system, tree_dof, &balance->A, balance->v0, fm->dv);
  for (int32_t g = 0; g < fm->factor.ngroups; ++g) {
    const double residual = sap_free_motion_norm(fm, g, fm->m);
    const double scale = sap_free_motion_norm(fm, g, fm->load) +
                         SAP_MOMENTUM_SHARE * sap_free_motion_norm(fm, g, fm->dv);
    if (!isfinite(residual) || !isfinite(scale)) {
      return sap_fail(error, SAP_STATUS_NOT_FINITE, "momentum of tree %d overflows: |D dt k| = %g",
                      fm->factor.group_trees[fm->factor.groups[g].first_tree], scale);
    }
    fm->progress[g] = (sap_group_progress){.phase = SAP_GROUP_QUASI_NEWTON,
                                           .residual = residual,
                                           .previous = HUGE_VAL,
                                           .best = residual,
                                           .noise = noise_of(fm, g),
                                           .scale = scale,
                                           .tolerance = tolerance_of(fm, g)};
  }
  fm->matrix_is_current = true;
  return SAP_STATUS_OK;
}

// Starts at the prediction; groups for which it is worse than v0 (the state was changed between
// steps) start at v0.
static sap_status start(sap_free_motion* fm, sap_error* error) {
  const double* v0 = fm->balance.v0;
  const bool predicted = sap_prediction_guess(&fm->prediction, &fm->balance.scheme, v0, fm->v_star);
  const sap_status status = start_here(fm, error);
  if (!predicted || (status != SAP_STATUS_OK && status != SAP_STATUS_NOT_FINITE)) {
    return status;
  }
  int32_t bad = 0;
  for (int32_t g = 0; g < fm->factor.ngroups; ++g) {
    const sap_group_progress* p = &fm->progress[g];
    if (status != SAP_STATUS_OK || p->residual > p->scale) {
      SAP_FOR_GROUP(fm, g, i, fm->v_star[i] = v0[i])
      ++bad;
    }
  }
  return bad > 0 ? start_here(fm, error) : status;
}

sap_status sap_free_motion_evaluate(sap_free_motion* fm, sap_error* error) {
  sap_status status = sap_balance_set_velocity(&fm->balance, fm->v_star, error);
  if (status == SAP_STATUS_OK) {
    status = sap_balance_residual(&fm->balance, fm->factor.tree_dof, fm->v_star, fm->m, error);
  }
  for (int32_t g = 0; status == SAP_STATUS_OK && g < fm->factor.ngroups; ++g) {
    fm->progress[g].previous = fm->progress[g].residual;
    fm->progress[g].residual = sap_free_motion_norm(fm, g, fm->m);
  }
  return status;
}

// The step of one group from its m: v_star += s.
static void quasi_newton_step(sap_free_motion* fm, int32_t group) {
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
  return stiff && fm->progress[group].damped++ < DAMPED_TRIALS ? SAP_GROUP_DAMPED_NEWTON
                                                               : SAP_GROUP_TRUE_NEWTON;
}

// What the residual at the newest iterate says about a group. True: it wants a new A.
static bool judge(sap_free_motion* fm, int32_t group) {
  sap_group_progress* p = &fm->progress[group];
  if (p->phase == SAP_GROUP_DONE &&
      p->residual > fmax(fmax(SAP_ROUNDOFF_STALLED, p->tolerance) * p->scale, 2.0 * p->floor)) {
    // Another group's motion has changed its forces.
    p->phase = SAP_GROUP_QUASI_NEWTON;
    p->depth = p->poor = 0;
    p->previous = p->best = HUGE_VAL;
  }
  if (p->phase != SAP_GROUP_QUASI_NEWTON) {
    return false;
  }
  if (p->residual < p->best) {
    p->best = p->residual;
    SAP_FOR_GROUP(fm, group, i, fm->v_best[i] = fm->v_star[i])
  }
  if (p->residual <= p->tolerance * p->scale) {
    p->phase = SAP_GROUP_DONE;
    return false;
  }
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
    status = factor_unfinished(fm, renew, &local);
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

// Up to this many iterations of the groups in the quasi-Newton phase.
static sap_status iterate(sap_free_motion* fm, int32_t max_iterations, sap_error* error) {
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
    for (int32_t g = 0; status == SAP_STATUS_OK && g < fm->factor.ngroups; ++g) {
      if (fm->progress[g].phase == SAP_GROUP_QUASI_NEWTON) {
        quasi_newton_step(fm, g);
      }
    }
    if (status == SAP_STATUS_OK) {
      status = sap_free_motion_evaluate(fm, error);
    }
    fm->matrix_is_current = false;
    fm->iterations += 1;
  }
  return status;
}

// theta = 0: m is linear in v and A = M(q0).
static sap_status solve_linear(sap_free_motion* fm, sap_error* error) {
  const int32_t nv = fm->system->nv;
  const sap_status status = factor_unfinished(fm, true, error);
  if (status != SAP_STATUS_OK) {
    return status;
  }
  for (int32_t i = 0; i < nv; ++i) {
    fm->dv[i] = -fm->m[i];
  }
  for (int32_t g = 0; g < fm->factor.ngroups; ++g) {
    sap_momentum_factor_solve(&fm->factor, g, fm->dv);
    fm->progress[g].phase = SAP_GROUP_DONE;
  }
  double* product = fm->v_best;
  sap_tree_store_multiply(fm->system, fm->factor.tree_dof, &fm->balance.A, fm->dv, product);
  for (int32_t i = 0; i < nv; ++i) {
    fm->v_star[i] += fm->dv[i];
    fm->m[i] += product[i];
  }
  for (int32_t g = 0; g < fm->factor.ngroups; ++g) {
    fm->progress[g].residual = sap_free_motion_norm(fm, g, fm->m);
  }
  fm->iterations = 1;
  return SAP_STATUS_OK;
}

// Groups that came to the iteration limit go on to the next phase as well.
static bool damped_is_wanted(sap_free_motion* fm) {
  bool wanted = false;
  for (int32_t g = 0; g < fm->factor.ngroups; ++g) {
    if (fm->progress[g].phase == SAP_GROUP_QUASI_NEWTON) {
      return_to_best(fm, g, next_phase(fm, g));
    }
    wanted = wanted || fm->progress[g].phase == SAP_GROUP_DAMPED_NEWTON;
  }
  return wanted;
}

static sap_status solve_implicit(sap_free_motion* fm, int32_t max_iterations, sap_error* error) {
  sap_status status = iterate(fm, max_iterations, error);
  for (int32_t k = 0; status == SAP_STATUS_OK && k < DAMPED_TRIALS && damped_is_wanted(fm); ++k) {
    status = sap_free_motion_damped_newton(fm, max_iterations, error);
    if (status == SAP_STATUS_OK) {
      status = iterate(fm, max_iterations, error);
    }
  }
  if (status == SAP_STATUS_OK) {
    status = sap_free_motion_true_newton(fm, max_iterations, error);
  }
  if (status == SAP_STATUS_OK && fm->moved) {
    status = sap_balance_set_velocity(&fm->balance, fm->v_star, error);
  }
  if (status != SAP_STATUS_OK || fm->matrix_is_current ||
      sap_balance_matrix_is_near(&fm->balance)) {
    return status;
  }
  return sap_balance_matrix(&fm->balance, fm->factor.tree_dof, error);
}

sap_status sap_free_motion_solve(sap_free_motion* fm, const sap_theta* scheme,
                                 int32_t max_iterations, const sap_state* state,
                                 sap_impulse_guess guess, sap_error* error) {
  fm->iterations = 0;
  fm->moved = false;
  sap_balance_begin(&fm->balance, scheme, state->t, state->q, state->v);
  if (guess == SAP_IMPULSE_CHOSEN) {
    fm->balance.impulse = fm->linearization.around;
  } else if (guess == SAP_IMPULSE_EXPECTED) {
    fm->balance.impulse = sap_expected_impulse_guess(&fm->linearization.expected, scheme);
  }
  sap_status status = start(fm, error);
  if (status == SAP_STATUS_OK) {
    status =
        scheme->theta > 0.0 ? solve_implicit(fm, max_iterations, error) : solve_linear(fm, error);
  }
  if (status != SAP_STATUS_OK) {
    return status;
  }
  fm->residual = 0.0;
  for (int32_t g = 0; g < fm->factor.ngroups; ++g) {
    const sap_group_progress* p = &fm->progress[g];
    const double relative = p->residual > 0.0 ? p->residual / p->scale : p->residual;
    if (!(relative <= fm->residual)) {
      fm->residual = relative;
    }
  }
  return sap_free_motion_linearize(fm, error);
}
