// SPDX-License-Identifier: BSD-3-Clause
// Products of sapstep/gradient.h with a factored problem. Forward and reverse ones solve
//   A x + J' G u = b,  u = J x + c
// with  b = A dv* - dA (v - v*) + dJ' gamma + J' rest,  c = -du,  dgamma = rest - G u,  or the
// transposed system with b = v_bar, c = gamma_bar. du: change of v_hat - J v at fixed v.
// cost: a solve, two products with J, one with A.
#include <float.h>
#include <math.h>
#include <string.h>

#include "math/scalar.h"
#include "solvers/gradient_data.h"
#include "solvers/residuals.h"

static sap_status check_product(const sap_gradient* g, sap_error* error) {
  SAP_FAIL_IF(g->problem == NULL, error, SAP_STATUS_ARGUMENT,
              "the object has no problem: sap_gradient_problem comes first");
  return SAP_STATUS_OK;
}

static double value_of(const double* x, int32_t i) {
  return x != NULL ? x[i] : 0.0;
}

// y = G x, or G' x, of all rows.
static void apply_G(const sap_gradient* g, bool transposed, const double* x, double* y) {
  const sap_problem* p = g->problem;
  for (int32_t b = 0; b < p->nblocks; ++b) {
    const sap_block_data* block = &p->blocks[b];
    const sap_contact_slope* c = &g->contacts[b];
    const int32_t row = block->first_row, n = block->nrows;
    if (!sap_set_is_contact(block->set)) {
      for (int32_t i = row; i < row + n; ++i) {
        y[i] = g->G[i] * x[i];
      }
      continue;
    }
    sap_contact_slope_multiply(c, n, transposed, x + row, y + row);
  }
}

// Round-off of G u, where rows are stiff, acts like a change of c by eps; but it leaves the balance
// with an error of the order of eps |G| |J|^2/|A|. Refinement of x and G u removes that.
enum { REFINEMENTS = 3 };
static const double ENOUGH = 4.0 * DBL_EPSILON;

// Adds the solution d of H d = side - J' step_slope to x, and step_rows = J d to u.
static void add_step(sap_gradient* g, bool transposed) {
  const sap_problem* p = g->problem;
  double* d = g->impulse;
  sap_generalized_impulse(p, g->step_slope, d);
  for (int32_t i = 0; i < p->nv; ++i) {
    d[i] = g->side[i] - d[i];
  }
  sap_gradient_solve(g, d, transposed);
  sap_contact_velocity(p, d, g->step_rows);
  for (int32_t i = 0; i < p->nv; ++i) {
    g->x[i] += d[i];
  }
  for (int32_t i = 0; i < p->nrows; ++i) {
    g->u[i] += g->step_rows[i];
  }
}

// Sets momentum = A x and side = b - A x - J' slope. Returns whether side is more than round-off
// and has fallen since the last one, *least.
static bool find_rest(sap_gradient* g, const double* b, double* least) {
  const sap_problem* p = g->problem;
  double size = 0.0, scale = 0.0;
  sap_generalized_impulse(p, g->slope, g->impulse);
  memset(g->momentum, 0, (size_t)p->nv * sizeof(double));
  sap_newton_add_momentum(&g->newton, g->x, g->momentum);
  for (int32_t i = 0; i < p->nv; ++i) {
    const double inverse = 1.0 / g->newton.mass[i], m = g->momentum[i], impulse = g->impulse[i];
    g->side[i] = value_of(b, i) - m - impulse;
    size += g->side[i] * g->side[i] * inverse;
    scale += (m * m + impulse * impulse) * inverse;
  }
  const bool due = size > ENOUGH * ENOUGH * scale && size < 0.25 * *least;
  *least = size;
  return due;
}

// Solves A x + J' G u = b,  u = J x + c;  G' and H' if transposed. Sets slope = G u and momentum =
// A x, too. b, c NULL: 0.
static void solve_balance(sap_gradient* g, const double* b, const double* c, bool transposed) {
  const sap_problem* p = g->problem;
  double least = (double)INFINITY;
  for (int32_t i = 0; i < p->nv; ++i) {
    g->x[i] = 0.0;
    g->side[i] = value_of(b, i);
  }
  for (int32_t i = 0; i < p->nrows; ++i) {
    g->u[i] = value_of(c, i);
  }
  if (p->nv == 0) {
    return;
  }
  apply_G(g, transposed, g->u, g->step_slope);
  add_step(g, transposed);
  apply_G(g, transposed, g->u, g->slope);
  for (int k = 0; find_rest(g, b, &least) && k < REFINEMENTS; ++k) {
    memset(g->step_slope, 0, (size_t)p->nrows * sizeof(double));
    add_step(g, transposed);
    apply_G(g, transposed, g->step_rows, g->step_slope);
    for (int32_t i = 0; i < p->nrows; ++i) {
      g->slope[i] += g->step_slope[i];
    }
  }
}

// out = -(x step' + step x') of all blocks of A or, where out is NULL, b -= dA step. A_ij and A_ji
// change together: each counts half in diagonal blocks.
static void visit_A(const sap_gradient* g, double* out, const double* dA) {
  const sap_problem* p = g->problem;
  const double* x = g->x;
  for (int32_t k = 0; k < p->ntrees + p->ncouplings; ++k) {
    const bool diagonal = k < p->ntrees;
    const sap_coupling* c = diagonal ? NULL : &p->couplings[k - p->ntrees];
    const int32_t tree = diagonal ? k : c->tree_a, column_tree = diagonal ? k : c->tree_b;
    const int32_t a = p->tree_start[tree], b = p->tree_start[column_tree], n = p->tree_size[tree];
    int32_t at = diagonal ? p->diagonal_start[k] : p->diagonal_start[p->ntrees] + c->values;
    const double weight = diagonal ? 0.5 : 1.0;
    for (int32_t j = b; j < b + p->tree_size[column_tree]; ++j) {
      for (int32_t i = a; i < a + n; ++i, ++at) {
        if (out != NULL) {
          out[at] = -weight * (x[i] * g->step[j] + g->step[i] * x[j]);
        } else {
          g->b[i] -= weight * dA[at] * g->step[j];
          g->b[j] -= weight * dA[at] * g->step[i];
        }
      }
    }
  }
}

// The same for J of one block: out = gamma x' - slope v' or, where out is NULL, b += dJ' gamma and
// c -= dJ v.
static void visit_J(const sap_gradient* g, const sap_block* block, int32_t row, double* out,
                    const double* dJ) {
  const sap_problem* p = g->problem;
  size_t at = (size_t)(block->jacobians[0] - p->jacobian_values);
  for (int32_t t = 0; t < block->ntrees; ++t) {
    const int32_t first = p->tree_start[block->trees[t]], size = p->tree_size[block->trees[t]];
    for (int32_t j = first; j < first + size; ++j) {
      for (int32_t i = 0; i < block->nrows; ++i, ++at) {
        if (out != NULL) {
          out[at] = g->gamma[row + i] * g->x[j] - g->slope[row + i] * g->v[j];
        } else {
          g->b[j] += dJ[at] * g->gamma[row + i];
          g->c[row + i] -= dJ[at] * g->v[j];
        }
      }
    }
  }
}

static double* given_or(double* x, double* other) {
  return x != NULL ? x : other;
}

// Cotangents of one block's rows; what is not wanted goes to g->rest.
static void write_rows(const sap_gradient* g, int32_t index, const sap_block* block, int32_t row,
                       const sap_problem_cotangent* out) {
  const double *u = g->u + row, *slope = g->slope + row;
  const bool contact = sap_set_is_contact(block->set);
  const sap_contact_slope* s = &g->contacts[index];
  for (int32_t i = 0, at = row; i < block->nrows; ++i, ++at) {
    given_or(out->v_hat, g->rest)[at] =
        slope[i] * (contact && i == SAP_NORMAL_ROW ? 1.0 + s->by_v_hat : 1.0);
    given_or(out->R, g->rest)[at] = g->by_R[at] * slope[i];
    given_or(out->lower, g->rest)[at] = g->bound[at] < 0 ? u[i] : 0.0;
    given_or(out->upper, g->rest)[at] = g->bound[at] > 0 ? u[i] : 0.0;
  }
  const double along = contact ? sap_cone_n_dot(block->nrows, s->t, u) : 0.0;
  given_or(out->lagged_impulse, g->rest)[index] = s->lagged * along;
  given_or(out->friction, g->rest)[index] =
      contact ? s->by_mu * slope[SAP_NORMAL_ROW] + s->mu * along : 0.0;
}

sap_status sap_gradient_vjp(sap_gradient* g, const double* v_bar, const double* gamma_bar,
                            const sap_problem_cotangent* out, sap_error* error) {
  SAP_NOT_NULL(error, g, out);
  SAP_TRY(check_product(g, error));
  const sap_problem* p = g->problem;
  const int32_t nv = p->nv, nrows = p->nrows;
  SAP_TRY(sap_check_numbers("v_bar", v_bar, v_bar != NULL ? nv : 0, error));
  SAP_TRY(sap_check_numbers("gamma_bar", gamma_bar, gamma_bar != NULL ? nrows : 0, error));
  solve_balance(g, v_bar, gamma_bar, true);
  if (out->v_star != NULL && nv > 0) {
    memcpy(out->v_star, g->momentum, (size_t)nv * sizeof(double));
  }
  if (out->A != NULL) {
    visit_A(g, out->A, NULL);
  }
  for (int32_t b = 0; b < p->nblocks; ++b) {
    const sap_block block = sap_problem_view(p, &p->blocks[b]);
    const int32_t row = p->blocks[b].first_row;
    write_rows(g, b, &block, row, out);
    if (out->J != NULL) {
      visit_J(g, &block, row, out->J, NULL);
    }
  }
  return SAP_STATUS_OK;
}

// Adds to c what acts like a change of u, and sets rest to what changes the impulse by itself.
static void find_change(const sap_gradient* g, int32_t index, const sap_block* block, int32_t row,
                        const sap_problem_tangent* d) {
  double *du = g->c + row, *rest = g->rest + row;
  const sap_contact_slope* s = &g->contacts[index];
  const bool contact = sap_set_is_contact(block->set);
  const double dmu = value_of(d->friction, index), dn0 = value_of(d->lagged_impulse, index);
  for (int32_t i = 0; i < block->nrows; ++i) {
    const int32_t at = row + i;
    du[i] += value_of(d->v_hat, at) + g->by_R[at] * value_of(d->R, at);
    rest[i] = contact            ? s->t[i] * (s->mu * dmu + s->lagged * dn0)
              : g->bound[at] < 0 ? value_of(d->lower, at)
              : g->bound[at] > 0 ? value_of(d->upper, at)
                                 : 0.0;
  }
  if (contact) {
    du[SAP_NORMAL_ROW] += s->by_v_hat * value_of(d->v_hat, row + SAP_NORMAL_ROW) + s->by_mu * dmu;
  }
}

static sap_status check_tangent(const sap_problem* p, const sap_problem_tangent* d,
                                sap_error* error) {
  const sap_gradient_counts n = sap_gradient_count(p);
#define SAP_X(name, count)                                                         \
  SAP_FAIL_IF(d->name != NULL && !sap_all_finite(d->name, (size_t)n.count), error, \
              SAP_STATUS_NOT_FINITE, "the tangent's " #name " must be finite");
  SAP_GRADIENT_FIELDS(SAP_X)
#undef SAP_X
  return SAP_STATUS_OK;
}

sap_status sap_gradient_jvp(sap_gradient* g, const sap_problem_tangent* d, double* dv,
                            double* dgamma, sap_error* error) {
  SAP_NOT_NULL(error, g, d);
  SAP_TRY(check_product(g, error));
  const sap_problem* p = g->problem;
  SAP_TRY(check_tangent(p, d, error));
  double *side = g->b, *du = g->c, *rest = g->rest;
  memset(side, 0, (size_t)p->nv * sizeof(double));
  memset(du, 0, (size_t)p->nrows * sizeof(double));
  if (d->v_star != NULL && p->nv > 0) {
    sap_newton_add_momentum(&g->newton, d->v_star, side);
  }
  if (d->A != NULL) {
    visit_A(g, NULL, d->A);
  }
  for (int32_t b = 0; b < p->nblocks; ++b) {
    const sap_block block = sap_problem_view(p, &p->blocks[b]);
    const int32_t row = p->blocks[b].first_row;
    if (d->J != NULL) {
      visit_J(g, &block, row, NULL, d->J);
    }
    find_change(g, b, &block, row, d);
  }
  // With u = J dv - du:  A dv + J' G u = side + J' rest,  dgamma = rest - G u
  sap_generalized_impulse(p, rest, g->x);
  for (int32_t i = 0; i < p->nv; ++i) {
    side[i] += g->x[i];
  }
  for (int32_t i = 0; i < p->nrows; ++i) {
    du[i] = -du[i];
  }
  solve_balance(g, side, du, false);
  for (int32_t i = 0; i < p->nrows && dgamma != NULL; ++i) {
    dgamma[i] = rest[i] - g->slope[i];
  }
  if (dv != NULL && p->nv > 0) {
    memcpy(dv, g->x, (size_t)p->nv * sizeof(double));
  }
  return SAP_STATUS_OK;
}
