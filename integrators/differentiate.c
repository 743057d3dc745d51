// SPDX-License-Identifier: BSD-3-Clause
// Derivatives of a step by those of its equations,
//   F(v) = m(v; q0, v0, u) - p(v; q0, v0, v*, q_A) = 0,  m: the momentum balance,  p = J' gamma
// at fixed v; castro's two stages are the way to solve them and are not differentiated. The
// derivatives of m are in balance_slopes.c.
// Laws of contacts read v* = v0 - A^-1 m(v0) and A at the theta point of v0; of free bodies v* with
// m(v*) = 0 and A there:
//   dv* = -A^-1 (m_q0 dq0 + (m_v + m_v0 - A) dv0 + m_u du - dA (v0 - v*))        m at v0
//   dv* = -m_v^-1 (m_q0 dq0 + m_v0 dv0 + m_u du)                                 m at v*
// The literal method has the latter of all trees.
// Before, v is improved by Newton's method with F and its derivatives.
#include <math.h>
#include <string.h>

#include "core/error.h"
#include "core/memory.h"
#include "integrators/balance_slopes.h"

// v is good enough where a correction is below NEAR, as the next one is about 1e4 times its square,
// and factors at v before it serve where it is below STALE. m, which has no kinks, is linear where
// it moves no position further than SMOOTH [m, rad] in the step, and so its slopes serve; likewise
// F where dp/dv is constant.
static const double NEAR = 3e-8, STALE = 1e-12, SMOOTH = 1e-8;
// Products by stale factors are refined until a change is below this part of them.
static const double REFINED = 1e-5;
enum { ITERATIONS = 8 };

void sap_differentiation_forget(sap_stepper* stepper) {
  if (stepper->differentiation != NULL) {
    stepper->differentiation->current = false;
  }
}

static sap_status create_differentiation(sap_stepper* stepper, sap_error* error) {
  sap_pool* pool = &stepper->pool;
  const size_t n = (size_t)stepper->system.nv, nu = sap_balance_inputs(stepper), nx = 2 * n + nu;
  sap_differentiation* d;
  SAP_TRY(SAP_POOL_ADD(pool, &d, 1, error));
  SAP_TRY(SAP_POOL_ADD_ALL(
      pool, error, SAP_ARRAY(&d->v, n), SAP_ARRAY(&d->v_vq, n), SAP_ARRAY(&d->v_theta, n),
      SAP_ARRAY(&d->a, n), SAP_ARRAY(&d->residual, n), SAP_ARRAY(&d->impulse, n),
      SAP_ARRAY(&d->x, n), SAP_ARRAY(&d->near_v, n), SAP_ARRAY(&d->lambda, n),
      SAP_ARRAY(&d->smooth_v, n), SAP_ARRAY(&d->end_unit, n), SAP_ARRAY(&d->r_q0, n * n),
      SAP_ARRAY(&d->turned, n * (n + 3)), SAP_ARRAY(&d->turned_v, n * n),
      SAP_ARRAY(&d->near_rest, n * n), SAP_ARRAY(&d->first, n),
      SAP_ARRAY(&d->parts.start, stepper->system.ntrees + 2), SAP_ARRAY(&d->parts.at, n),
      SAP_ARRAY(&d->roots, stepper->system.ntrees), SAP_ARRAY(&d->part, stepper->system.ntrees),
      SAP_ARRAY(&d->end_row, n), SAP_ARRAY(&d->row, n * nx), SAP_ARRAY(&d->p_star, n * n),
      SAP_ARRAY(&d->p_A, n * n), SAP_ARRAY(&d->p_theta, n * n), SAP_ARRAY(&d->end_x, nx),
      SAP_ARRAY(&d->near_p, n * n), SAP_ARRAY(&d->q, stepper->system.nq),
      SAP_ARRAY(&d->rotations, n / 3 + 1), SAP_ARRAY(&d->end, n / 3 + 1),
      SAP_ARRAY(&d->solution, n * nx)));
  SAP_TRY(sap_balance_slopes_create(n, pool, &d->at, error));
  SAP_TRY(sap_balance_slopes_create(n, pool, &d->near, error));
  stepper->differentiation = d;
  sap_balance_find_rows(stepper);
  return SAP_STATUS_OK;
}

static sap_status check_step(const sap_stepper* stepper, sap_error* error) {
  const sap_system* system = &stepper->system;
  const sap_relinearize* r = &stepper->solution;
  const sap_contact_stage* contact = &r->contact;
  const bool blocks = sap_problem_block_count(contact->problem) > 0;
  SAP_FAIL_IF(!stepper->stepped, error, SAP_STATUS_ARGUMENT,
              "derivatives of a step: no step has been made");
  const char* what = r->withdrawn                        ? "whose relinearizations diverged"
                     : r->free_motion.substeps > 0       ? "computed in parts"
                     : blocks && contact->rigid          ? "with rigid contacts"
                     : blocks && !contact->info->needs_R ? "whose solver is not for the convex law"
                     : blocks && system->impulse_derivatives == NULL
                         ? "with blocks, of a system without impulse_derivatives"
                     : system->balance_derivatives == NULL || system->step_rotations == NULL
                         ? "of a system without balance_derivatives and step_rotations"
                         : NULL;
  return what == NULL ? SAP_STATUS_OK
                      : sap_fail(error, SAP_STATUS_UNSUPPORTED, "derivatives of a step %s", what);
}

// out = a of trees with v* from v0, b of others.
static void choose(const sap_stepper* stepper, const double* a, const double* b, double* out) {
  const int32_t* tree_dof = stepper->solution.free_motion.balance.A.tree_dof;
  for (int32_t t = 0; t < stepper->system.ntrees; ++t) {
    const double* from = sap_balance_is_explicit(stepper, t) ? a : b;
    memcpy(out + tree_dof[t], from + tree_dof[t],
           (size_t)stepper->system.tree_sizes[t] * sizeof *out);
  }
}

// Finds p at v with its derivatives to v, or adds -lambda' dp/dv to d->impulse; `all`: instead all
// other derivatives, of lambda' p unless NULL, those to q0, v0 and u in d->solution.
static sap_status find_impulses(sap_stepper* stepper, bool all, const double* lambda,
                                const sap_parameter_gradient* parameters, sap_error* error) {
  sap_differentiation* d = stepper->differentiation;
  const sap_system* system = &stepper->system;
  const sap_relinearize* r = &stepper->solution;
  const sap_step_context step = sap_balance_context(stepper);
  const size_t n = (size_t)system->nv, rows = lambda != NULL ? 1 : n;
  const size_t size = all ? rows * n * sizeof(double) : 0;
  memset(d->impulse, 0, all || lambda != NULL ? 0 : n * sizeof(double));
  memset(d->p_star, 0, size);
  memset(d->p_A, 0, size);
  memset(d->p_theta, 0, size);
  memset(d->solution, 0,
         2 * size + (all ? rows * sap_balance_inputs(stepper) : 0) * sizeof(double));
  d->constant = true;
  if (sap_problem_block_count(r->contact.problem) == 0) {
    return SAP_STATUS_OK;
  }
  const sap_linearization* l = &r->free_motion.linearization;
  sap_impulse_derivatives out = {.v = d->v,
                                 .v_star = l->v_law,
                                 .v_near = l->v_law,
                                 .lambda = lambda,
                                 .notes = d->report.notes};
  if (!all) {
    out.impulse = lambda == NULL ? d->impulse : NULL;
    out.minus_dv = lambda == NULL ? d->at.v.B : d->impulse;
  } else {
    sap_derivatives_note(r->linearized_again, d->report.notes,
                         "held: impulses about which the step was solved again");
    choose(stepper, stepper->v0_free, l->v_near, d->near_v);
    SAP_TRY(sap_balance_move(stepper, d->near_v, error));
    d->count = system->step_rotations(system->context, d->v_vq, step.theta * step.dt, d->rotations);
    out.q_A = d->q;
    choose(stepper, stepper->v0_free, l->v_law, d->x);
    out.v_near = d->x;
    out.parameters = parameters;
    out.dq0 = d->solution;
    out.dv0 = d->solution + rows * n;
    out.dv_star = d->p_star;
    out.dq_A = d->p_A;
    out.dq_theta = d->p_theta;
    out.du = d->solution + 2 * rows * n;
  }
  SAP_TRY(system->impulse_derivatives(system->context, &step, r->contact.problem, &out, error));
  d->constant = out.constant;
  d->report.kinks = all ? out.kinks : d->report.kinks;
  return SAP_STATUS_OK;
}

// sqrt(sum x^2 diag(A)) of velocities; of impulses sqrt(sum x^2/diag(A)).
static double norm(const sap_stepper* stepper, const double* x, bool impulses) {
  const double* weight = stepper->solution.free_motion.weight;
  double sum = 0.0;
  for (int32_t i = 0; i < stepper->system.nv; ++i) {
    sum += impulses ? x[i] * x[i] / weight[i] : x[i] * x[i] * weight[i];
  }
  return sqrt(sum);
}

// One correction of v; its size relative to the speeds of the step, 0 for a system left at rest.
static double correct(sap_stepper* stepper) {
  sap_differentiation* d = stepper->differentiation;
  const int32_t n = stepper->system.nv;
  for (int32_t i = 0; i < n; ++i) {
    d->x[i] = d->impulse[i] - d->residual[i];
  }
  sap_near_spd_solve(&d->at.v, false, 1, d->x);
  d->smooth = true;
  for (int32_t i = 0; i < n; ++i) {
    d->v[i] += d->x[i];
    d->smooth = d->smooth && fabs(d->x[i]) * stepper->step.dt <= SMOOTH;
  }
  const double size = norm(stepper, d->x, false);
  return size == 0.0 ? 0.0
                     : size / (norm(stepper, d->v, false) + norm(stepper, stepper->v0, false) +
                               norm(stepper, stepper->solution.free_motion.load, true));
}

// Sets m_v in d->at.
static void set_slopes(sap_stepper* stepper) {
  sap_balance_slopes* at = &stepper->differentiation->at;
  sap_near_spd_clear(&at->v, &stepper->differentiation->parts);
  sap_balance_add_slopes(stepper, at);
}

// Finds p at v, and the factors of F's derivatives from m_v in d->at.
static sap_status factorize(sap_stepper* stepper, sap_error* error) {
  sap_differentiation* d = stepper->differentiation;
  SAP_TRY(find_impulses(stepper, false, NULL, NULL, error));
  SAP_FAIL_IF(!sap_near_spd_factorize(&d->at.v, &d->parts), error, SAP_STATUS_STEP_FAILED,
              "derivatives of a step: dF/dv is singular");
  return SAP_STATUS_OK;
}

// Improves v and leaves the derivatives of m there in d->at, with factors of F's to v.
static sap_status polish(sap_stepper* stepper, sap_error* error) {
  sap_differentiation* d = stepper->differentiation;
  sap_linearize_report* report = &d->report;
  const size_t n = (size_t)stepper->system.nv;
  bool near;
  do {
    const bool slopes = report->iterations == 0 || !d->smooth;
    if (slopes) {
      SAP_TRY(sap_balance_find(stepper, d->v, &d->at, error));
      memcpy(d->smooth_v, d->v, n * sizeof *d->v);
    }
    set_slopes(stepper);
    for (size_t k = 0; k < n && !slopes; ++k) {
      for (size_t i = (size_t)d->first[k]; i < (size_t)d->end_row[k]; ++i) {
        d->residual[i] += d->at.v.B[n * k + i] * d->x[k];
      }
    }
    SAP_TRY(factorize(stepper, error));
    report->last_correction = correct(stepper);
    report->correction += report->last_correction;
    report->iterations += 1;
    near = report->last_correction <= NEAR || (d->constant && d->smooth);
  } while (report->iterations < ITERATIONS && !near);
  SAP_FAIL_IF(!near, error, SAP_STATUS_STEP_FAILED,
              "derivatives of a step: after %d corrections of v the last one is %g, not below %g",
              report->iterations, report->last_correction, NEAR);
  d->stale = !d->constant && report->last_correction > STALE;
  return SAP_STATUS_OK;
}

// Sets d->v_vq and whether positions at the end are corrected.
static void find_end_motion(sap_stepper* stepper) {
  sap_differentiation* d = stepper->differentiation;
  const double theta_vq = stepper->step.theta_vq;
  sap_contact_stage* contact = &stepper->solution.contact;
  for (int32_t i = 0; i < stepper->system.nv; ++i) {
    d->v_vq[i] = theta_vq * (d->v[i] - stepper->v[i]) + stepper->v_vq[i];
  }
  sap_end_positions_forget(contact->problem);
  d->corrected = theta_vq < 1.0 && sap_stepper_acts_within(&stepper->options) &&
                 sap_end_positions_act(contact->problem, &contact->solution);
}

// Prepares z' d of corrected positions: derivatives of lambda' p then have it more, and y more in
// lambda, end_positions.h. by_v: of v.
static sap_status pull_end(sap_stepper* stepper, const double* z, double* by_v, sap_error* error) {
  sap_differentiation* d = stepper->differentiation;
  const sap_contact_stage* contact = &stepper->solution.contact;
  const sap_end_motion motion = {stepper->v0_free, stepper->step.theta_vq};
  SAP_TRY(sap_end_positions_pull(&stepper->end_positions, contact->problem, &contact->solution,
                                 &motion, z, by_v, &d->bound, error));
  const size_t n = (size_t)stepper->system.nv;
  if (d->bound) {
    memset(d->impulse, 0, n * sizeof *d->impulse);
    SAP_TRY(find_impulses(stepper, false, stepper->end_positions.back[3], NULL, error));
    for (size_t i = 0; i < n; ++i) {
      by_v[i] -= d->impulse[i];
    }
  }
  return SAP_STATUS_OK;
}

// Prepares the derivatives of the last step, unless they are in hand.
static sap_status prepare(sap_stepper* stepper, sap_error* error) {
  SAP_NOT_NULL(error, stepper);
  SAP_TRY(check_step(stepper, error));
  if (stepper->differentiation == NULL) {
    SAP_TRY(create_differentiation(stepper, error));
  }
  sap_differentiation* d = stepper->differentiation;
  const sap_system* system = &stepper->system;
  const sap_step_context* s = &stepper->step;
  if (d->current) {
    return SAP_STATUS_OK;
  }
  d->report = (sap_linearize_report){0};
  d->has_near = d->reads_near = false;
  memcpy(d->v, stepper->v, (size_t)system->nv * sizeof(double));
  SAP_TRY(sap_balance_find_parts(stepper, error));
  SAP_TRY(polish(stepper, error));
  find_end_motion(stepper);
  d->end_count = system->step_rotations(system->context, d->v_vq, s->dt, d->end);
  d->current = true;
  return SAP_STATUS_OK;
}

// Adds the derivatives of blocks by their way to q^theta to those by q0 and v0.
static void add_theta_part(sap_stepper* stepper, size_t rows, double* q0, double* v0) {
  sap_differentiation* d = stepper->differentiation;
  const sap_step_context* s = &stepper->step;
  const size_t n = (size_t)stepper->system.nv;
  const bool held = stepper->solution.about_solution;  // v in the way
  const double vq = s->stage_theta_vq, way = s->stage_theta * s->dt;
  const double scales[2] = {1.0, way * (held ? 1.0 - vq : 1.0)};
  for (size_t i = 0; i < n; ++i) {
    const double v0i = stepper->v0_free[i];
    d->v_vq[i] = held ? vq * d->v[i] + (1.0 - vq) * v0i : v0i;
  }
  d->count = stepper->system.step_rotations(stepper->system.context, d->v_vq, way, d->rotations);
  for (int of = 0; of < 2; ++of) {
    double* out = of == 0 ? q0 : v0;
    sap_step_turn_columns(d->rotations, d->count, of == 1, rows, n, d->p_theta, d->turned);
    for (size_t i = 0; i < rows * n; ++i) {
      out[i] += scales[of] * d->turned[i];
    }
  }
}

// Subtracts d->row = [m_q0 m_v0 m_u], or X times each column of it, from d->solution. Only rows of
// the velocity's own tree act on one.
static void subtract(const sap_stepper* stepper, size_t rows, const double* X) {
  const sap_differentiation* d = stepper->differentiation;
  const size_t n = (size_t)stepper->system.nv, nx = 2 * n + sap_balance_inputs(stepper);
  for (size_t c = 0; c < nx; ++c) {
    const bool all = rows == 1 || c >= 2 * n;
    const double* x = d->row + rows * c;
    double* restrict out = d->solution + rows * c;
    const size_t end = all ? rows : (size_t)d->end_row[c % n];
    for (size_t i = all ? 0 : (size_t)d->first[c % n]; i < end; ++i) {
      if (X == NULL) {
        out[i] -= x[i];
      } else if (x[i] != 0.0) {
        const double factor = x[i], *column = X + n * i;
        for (size_t j = 0; j < n; ++j) {
          out[j] -= factor * column[j];
        }
      }
    }
  }
}

static void transpose(size_t n, const double* X, double* out) {
  for (size_t j = 0; j < n; ++j) {
    for (size_t i = 0; i < n; ++i) {
      out[n * i + j] = X[n * j + i];
    }
  }
}

// Adds p' dv_near = -p' m_v^-1 m_x to d->solution.
static sap_status add_near(sap_stepper* stepper, size_t rows, sap_error* error) {
  sap_differentiation* d = stepper->differentiation;
  const size_t n = (size_t)stepper->system.nv;
  double* x = d->row;
  if (rows == 1) {
    sap_near_spd_solve(&d->near.v, true, 1, d->near_p);
    sap_balance_multiply(d, n, d->near_p, d->near_rest, d->turned);
    for (size_t i = 0; i < n; ++i) {
      d->solution[n + i] -= d->turned[i];
    }
    SAP_TRY(sap_balance_find_start(stepper, d->near_v, &d->near, d->near_p, x, error));
    subtract(stepper, 1, NULL);
    return SAP_STATUS_OK;
  }
  SAP_TRY(sap_balance_find_start(stepper, d->near_v, &d->near, NULL, x, error));
  for (size_t i = 0; i < n * n; ++i) {
    x[n * n + i] += d->near_rest[i];
  }
  transpose(n, d->near_p, d->turned);
  sap_near_spd_solve(&d->near.v, true, (int32_t)n, d->turned);
  transpose(n, d->turned, d->near_p);
  subtract(stepper, n, d->near_p);
  return SAP_STATUS_OK;
}

// Sets d->solution to p - m of [q0 v0 u] (nv x (2 nv + nu)), or to lambda' of it. It leaves what
// multiplies m of near_v in d->near_p where lambda is given.
static sap_status find_sides(sap_stepper* stepper, const double* lambda,
                             const sap_parameter_gradient* parameters, sap_error* error) {
  sap_differentiation* d = stepper->differentiation;
  const sap_step_context* s = &stepper->step;
  const size_t n = (size_t)stepper->system.nv, rows = lambda != NULL ? 1 : n;
  const int32_t* tree_dof = stepper->solution.free_motion.balance.A.tree_dof;
  double *q0 = d->solution, *v0 = q0 + rows * n;
  SAP_TRY(sap_balance_find_start(stepper, d->smooth_v, &d->at, lambda, d->row, error));
  const double* back = lambda;
  if (lambda != NULL && d->corrected && d->bound) {
    for (size_t i = 0; i < n; ++i) {
      d->residual[i] = lambda[i] + stepper->end_positions.back[3][i];
    }
    back = d->residual;
  }
  SAP_TRY(find_impulses(stepper, true, back, parameters, error));
  sap_step_turn_columns(d->rotations, d->count, false, rows, n, d->p_A, d->turned);
  sap_step_turn_columns(d->rotations, d->count, true, rows, n, d->p_A, d->turned_v);
  d->reads_near = false;
  for (int32_t t = 0; t < stepper->system.ntrees; ++t) {
    const double share =
        sap_balance_is_explicit(stepper, t) ? 0.0 : s->theta_vq;  // of v_near in q_A's way
    for (size_t i = rows * (size_t)tree_dof[t]; i < rows * (size_t)tree_dof[t + 1]; ++i) {
      const double by_v = s->theta * s->dt * d->turned_v[i];  // p_A J
      q0[i] += d->turned[i];
      v0[i] += (1.0 - share) * by_v;
      d->near_p[i] = d->p_star[i] + share * by_v;
      d->reads_near = d->reads_near || d->near_p[i] != 0.0;
    }
  }
  SAP_TRY(d->reads_near ? sap_balance_find_near(stepper, error) : SAP_STATUS_OK);
  if (s->stage_theta_vq < 1.0) {
    add_theta_part(stepper, rows, q0, v0);
  }
  subtract(stepper, rows, NULL);
  return d->reads_near ? add_near(stepper, rows, error) : SAP_STATUS_OK;
}

// Fills the columns of [q1; v1] from those of dv1; kind 0, 1, 2: of q0, v0, u.
static void fill_columns(const sap_stepper* stepper, const double* dv, int32_t count, int kind,
                         double* out) {
  const sap_differentiation* d = stepper->differentiation;
  const sap_step_context* s = &stepper->step;
  const size_t n = (size_t)stepper->system.nv;
  for (size_t c = 0; c < (size_t)count; ++c) {
    double *q = out + 2 * n * c, *v = q + n;
    memcpy(v, dv + n * c, n * sizeof *v);
    for (size_t i = 0; i < n; ++i) {
      q[i] = s->dt * (s->theta_vq * v[i] + (kind == 1 && i == c ? 1.0 - s->theta_vq : 0.0));
    }
    sap_step_turn_vector(d->end, d->end_count, true, q);
    if (kind == 0) {
      double* unit = memset(stepper->differentiation->x, 0, n * sizeof *q);
      unit[c] = 1.0;
      sap_step_turn_vector(d->end, d->end_count, false, unit);
      for (size_t i = 0; i < n; ++i) {
        q[i] += unit[i];
      }
    }
  }
}

// Adds the gradients to parameters of -lambda' m, m at velocities v.
static sap_status add_parameters(sap_stepper* stepper, const double* v, double* lambda,
                                 const sap_parameter_gradient* out, sap_error* error) {
  sap_differentiation* d = stepper->differentiation;
  const sap_system* system = &stepper->system;
  const sap_step_context step = sap_balance_context(stepper);
  SAP_TRY(sap_balance_move(stepper, v, error));
  const sap_balance_derivatives at = {.q = d->q, .v = d->v_theta, .a = d->a};
  for (int32_t i = 0; i < system->nv; ++i) {
    lambda[i] *= -step.dt;
  }
  return system->parameter_derivatives(system->context, &step, &at, lambda, out, error);
}

// Checks the inputs of sap_stepper_vjp and makes the gradients to parameters zero.
static sap_status begin_gradients(const sap_stepper* stepper, const sap_step_gradients* g,
                                  sap_error* error) {
  const int32_t nv = stepper->system.nv;
  SAP_TRY(g->dq1 != NULL ? sap_check_numbers("dq1", g->dq1, nv, error) : SAP_STATUS_OK);
  SAP_TRY(g->dv1 != NULL ? sap_check_numbers("dv1", g->dv1, nv, error) : SAP_STATUS_OK);
  SAP_FAIL_IF(g->parameters.count > 0 && stepper->system.parameter_derivatives == NULL, error,
              SAP_STATUS_UNSUPPORTED,
              "derivatives to parameters of a system without parameter_derivatives");
  for (int32_t i = 0; i < g->parameters.count; ++i) {
    g->parameters.out[i] = 0.0;
  }
  return SAP_STATUS_OK;
}

// Solves F_v' lambda = b in place.
static sap_status solve_transposed(sap_stepper* stepper, double* lambda, sap_error* error) {
  sap_differentiation* d = stepper->differentiation;
  const int32_t n = stepper->system.nv;
  double *b = d->residual, *x = d->x;
  bool refine = d->stale;
  memcpy(b, lambda, (size_t)n * sizeof *b);
  sap_near_spd_solve(&d->at.v, true, 1, lambda);
  if (refine) {
    set_slopes(stepper);  // the factors stay
  }
  for (int k = 0; k < ITERATIONS && refine; ++k) {
    sap_balance_multiply(d, (size_t)n, lambda, d->at.v.B, d->impulse);
    SAP_TRY(find_impulses(stepper, false, lambda, NULL, error));
    for (int32_t i = 0; i < n; ++i) {
      x[i] = b[i] - d->impulse[i];
    }
    sap_near_spd_solve(&d->at.v, true, 1, x);
    for (int32_t i = 0; i < n; ++i) {
      lambda[i] += x[i];
    }
    refine = norm(stepper, x, false) > REFINED * norm(stepper, lambda, false);
  }
  return SAP_STATUS_OK;
}

sap_status sap_stepper_vjp(sap_stepper* stepper, const sap_step_gradients* gradients,
                           sap_linearize_report* report, sap_error* error) {
  SAP_TRY(prepare(stepper, error));
  SAP_NOT_NULL(error, gradients);
  const sap_step_gradients g = *gradients;
  SAP_TRY(begin_gradients(stepper, &g, error));
  sap_differentiation* d = stepper->differentiation;
  const sap_step_context* s = &stepper->step;
  const size_t n = (size_t)stepper->system.nv, nu = sap_balance_inputs(stepper);
  const sap_parameter_gradient* parameters = g.parameters.count > 0 ? &g.parameters : NULL;
  double *lambda = d->lambda, *sides = d->solution;
  for (size_t i = 0; i < n; ++i) {
    d->x[i] = g.dq1 != NULL ? g.dq1[i] : 0.0;
  }
  sap_step_turn_columns(d->end, d->end_count, true, 1, n, d->x, lambda);
  if (g.dq0 != NULL) {
    sap_step_turn_columns(d->end, d->end_count, false, 1, n, d->x, g.dq0);
  }
  for (size_t i = 0; i < n; ++i) {
    d->x[i] = s->dt * lambda[i];
    lambda[i] = 0.0;
  }
  SAP_TRY(d->corrected ? pull_end(stepper, d->x, lambda, error) : SAP_STATUS_OK);
  for (size_t i = 0; i < n; ++i) {
    lambda[i] += (g.dv1 != NULL ? g.dv1[i] : 0.0) + s->theta_vq * d->x[i];
    if (g.dv0 != NULL) {
      g.dv0[i] = (1.0 - s->theta_vq) * d->x[i];
    }
  }
  SAP_TRY(solve_transposed(stepper, lambda, error));
  if (parameters != NULL) {
    memcpy(d->x, lambda, n * sizeof *lambda);
    SAP_TRY(add_parameters(stepper, d->smooth_v, d->x, parameters, error));
  }
  SAP_TRY(find_sides(stepper, lambda, parameters, error));
  for (size_t i = 0; i < n; ++i) {
    if (g.dq0 != NULL) {
      g.dq0[i] += sides[i];
    }
    if (g.dv0 != NULL) {
      g.dv0[i] += sides[n + i];
    }
  }
  if (g.du != NULL && nu > 0) {
    memcpy(g.du, sides + 2 * n, nu * sizeof *g.du);
  }
  if (parameters != NULL && d->reads_near) {
    SAP_TRY(add_parameters(stepper, d->near_v, d->near_p, parameters, error));
  }
  if (report != NULL) {
    *report = d->report;
  }
  return SAP_STATUS_OK;
}

// Fills the rows of corrected q1.
static sap_status fill_end_rows(sap_stepper* stepper, double* A, double* B, sap_error* error) {
  sap_differentiation* d = stepper->differentiation;
  const size_t n = (size_t)stepper->system.nv, nu = sap_balance_inputs(stepper);
  double *unit = d->end_unit, *x = d->end_x;
  const sap_step_gradients row = {.dq1 = unit, .dq0 = x, .dv0 = x + n, .du = x + 2 * n};
  for (size_t i = 0; i < n; ++i) {
    memset(unit, 0, n * sizeof *unit);
    unit[i] = 1.0;
    SAP_TRY(sap_stepper_vjp(stepper, &row, NULL, error));
    for (size_t c = 0; c < 2 * n && A != NULL; ++c) {
      A[2 * n * c + i] = x[c];
    }
    for (size_t c = 0; c < nu && B != NULL; ++c) {
      B[2 * n * c + i] = x[2 * n + c];
    }
  }
  return SAP_STATUS_OK;
}

sap_status sap_stepper_linearize(sap_stepper* stepper, double* A, double* B,
                                 sap_linearize_report* report, sap_error* error) {
  SAP_TRY(prepare(stepper, error));
  sap_differentiation* d = stepper->differentiation;
  if (d->stale) {
    set_slopes(stepper);
    SAP_TRY(factorize(stepper, error));
    d->stale = false;
  }
  SAP_TRY(find_sides(stepper, NULL, NULL, error));
  const int32_t nv = stepper->system.nv, nu = (int32_t)sap_balance_inputs(stepper);
  const size_t n = (size_t)nv;
  sap_near_spd_solve(&d->at.v, false, 2 * nv + nu, d->solution);
  if (A != NULL) {
    fill_columns(stepper, d->solution, nv, 0, A);
    fill_columns(stepper, d->solution + n * n, nv, 1, A + 2 * n * n);
  }
  if (B != NULL) {
    fill_columns(stepper, d->solution + 2 * n * n, nu, 2, B);
  }
  SAP_TRY(d->corrected ? fill_end_rows(stepper, A, B, error) : SAP_STATUS_OK);
  if (report != NULL) {
    *report = d->report;
  }
  return SAP_STATUS_OK;
}
