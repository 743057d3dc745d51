// SPDX-License-Identifier: BSD-3-Clause
// Projections in the norm of 1/rho with one rho per row. With x = gamma - rho g and y = gamma':
//   disk  |y_t| <= r:        y_t = x_t/(1 + tau rho_t),  tau >= 0
//   cone  |y_t| <= mu y_n:   the same,  y_n = x_n/(1 - c tau),  c = mu^2 rho_n
// tau is the root of a falling function: |y_t| = r or |y_t| (1 - c tau) = mu x_n. Bisection of its
// logarithm, then of tau. change = (y - x) - rho g, without cancellation inside the set.
// cost: some 70 evaluations for a sliding contact.
#include "solvers/row_violation.h"

#include <float.h>
#include <stdbool.h>

#include "contact/cone.h"

typedef struct projection {
  int32_t nrows;
  double mu;
  const double *x, *rho;
} projection;

// |y_t| at tau
static double length_at(const projection* p, double tau) {
  double sum = 0.0;
  for (int32_t i = 0; i < p->nrows; ++i) {
    const double y = i == SAP_NORMAL_ROW ? 0.0 : p->x[i] / (1.0 + tau * p->rho[i]);
    sum += y * y;
  }
  return sqrt(sum);
}

// The falling functions of s > 0. Cone: tau = s/(1 + s)/c where x_n > 0, else (1 + s)/c.
static double tau_of(const projection* p, bool cone, double s) {
  const double most = 1.0 / (p->mu * p->mu * p->rho[SAP_NORMAL_ROW]);
  return !cone ? s : most * (p->x[SAP_NORMAL_ROW] > 0.0 ? s / (1.0 + s) : 1.0 + s);
}

static double excess(const projection* p, bool cone, double radius, double s) {
  const double length = length_at(p, tau_of(p, cone, s)), xn = p->x[SAP_NORMAL_ROW];
  return !cone ? length - radius : (xn > 0.0 ? length / (1.0 + s) : -length * s) - p->mu * xn;
}

// Returns tau of the edge of the disk, or of the cone's surface.
static double find_edge(const projection* p, bool cone, double radius) {
  static const double LEAST = 1e-290, MOST = 1e290;
  enum { BISECTIONS = 75 };
  double low = LEAST, high = MOST;
  for (int i = 0; i < BISECTIONS && high > low * (1.0 + 2.0 * DBL_EPSILON); ++i) {
    const double middle = high > 2.0 * low ? sqrt(low) * sqrt(high) : 0.5 * (low + high);
    *(excess(p, cone, radius, middle) > 0.0 ? &low : &high) = middle;
  }
  return tau_of(p, cone, low);
}

// Sets y - x of the tangents.
static void shrink_tangents(const projection* p, double tau, double* out) {
  for (int32_t i = 0; i < p->nrows; ++i) {
    const double part = tau * p->rho[i];
    if (i != SAP_NORMAL_ROW) {
      out[i] = part <= DBL_MAX ? -p->x[i] * (part / (1.0 + part)) : -p->x[i];
    }
  }
}

static void project_cone(const projection* p, double* out) {
  double scaled[SAP_CONE_ROWS_MAX] = {0.0};
  const double length = length_at(p, 0.0), xn = p->x[SAP_NORMAL_ROW];
  for (int32_t i = 0; i < p->nrows; ++i) {
    scaled[i] = p->x[i] / p->rho[i];
  }
  const double polar = sqrt(sap_cone_n_dot(p->nrows, scaled, scaled));
  if (p->mu * polar <= -scaled[SAP_NORMAL_ROW] || p->mu == 0.0) {
    shrink_tangents(p, (double)INFINITY, out);
    out[SAP_NORMAL_ROW] = p->mu == 0.0 ? fmax(-xn, 0.0) : -xn;
  } else if (sap_cone_holds(p->mu, length, xn)) {
    shrink_tangents(p, 0.0, out);
    out[SAP_NORMAL_ROW] = 0.0;
  } else {
    const double tau = find_edge(p, true, 0.0);
    shrink_tangents(p, tau, out);
    out[SAP_NORMAL_ROW] = length_at(p, tau) / p->mu - xn;
  }
}

static void project_disk(const projection* p, double radius, double* out) {
  const bool inside = length_at(p, 0.0) <= radius;
  shrink_tangents(p,
                  inside         ? 0.0
                  : radius > 0.0 ? find_edge(p, false, radius)
                                 : (double)INFINITY,
                  out);
}

void sap_cone_change(sap_violation_law law, double mu, int32_t nrows, const double* gamma,
                     const double* g, const double* rho, double* change) {
  double x[SAP_CONE_ROWS_MAX] = {0.0};
  for (int32_t i = 0; i < nrows; ++i) {
    x[i] = gamma[i] - rho[i] * g[i];
  }
  const projection p = {nrows, mu, x, rho};
  const double radius = mu * fmax(x[SAP_NORMAL_ROW], 0.0);
  if (law == SAP_VIOLATION_CCP) {
    project_cone(&p, change);
  } else {
    change[SAP_NORMAL_ROW] = fmax(-x[SAP_NORMAL_ROW], 0.0);
    project_disk(&p, radius, change);
  }
  for (int32_t i = 0; i < nrows; ++i) {
    if (law == SAP_VIOLATION_BOX && i != SAP_NORMAL_ROW) {
      change[i] = fmax(-radius, fmin(radius, x[i])) - x[i];
    }
    change[i] -= rho[i] * g[i];
  }
}

double sap_interval_change(double lower, double upper, double gamma, double g, double rho) {
  const double x = gamma - rho * g;
  return (fmin(upper, fmax(lower, x)) - x) - rho * g;
}

// The judge's rows and trees.

// Velocities below this part of the fastest, and impulses that cancel to this part, are round-off.
static const double RESTING = 1e-9, CANCELLED = 1e-10;

double sap_resting_velocity(const sap_problem* p, const double* v) {
  double most = 0.0;
  for (int32_t i = 0; i < p->nv; ++i) {
    most = fmax(most, fmax(fabs(v[i]), fabs(p->v_star[i])));
  }
  SAP_EACH(const sap_block_data, block, p->blocks, p->nblocks) {
    for (int32_t r = 0; r < block->nrows; ++r) {
      double arm = 0.0;
      for (int32_t t = 0; t < block->ntrees; ++t) {
        const double* J = p->jacobians[block->first_tree + t] + r;
        const int32_t size = p->tree_size[p->block_trees[block->first_tree + t]];
        for (int32_t i = 0; i < size; ++i) {
          arm = fmax(arm, fabs(J[(size_t)i * (size_t)block->nrows]));
        }
      }
      most = arm > 0.0 ? fmax(most, fabs(p->v_hat_shifted[block->first_row + r]) / arm) : most;
    }
  }
  return RESTING * most;
}

static double row_scale(const sap_problem* p, const sap_block_data* block, int32_t r,
                        const double* v, const double* gamma, double rest) {
  double most = sap_set_is_contact(block->set) ? 0.0 : fabs(gamma[r]), sum;
  for (int32_t i = 0; sap_set_is_contact(block->set) && i < block->nrows; ++i) {
    most = fmax(most, fabs(gamma[i]));
  }
  sum = fabs(p->v_hat_shifted[block->first_row + r]) + p->R[block->first_row + r] * most;
  for (int32_t t = 0; t < block->ntrees; ++t) {
    const int32_t tree = p->block_trees[block->first_tree + t];
    const double* J = p->jacobians[block->first_tree + t] + r;
    for (int32_t i = 0; i < p->tree_size[tree]; ++i) {
      const int32_t at = p->tree_start[tree] + i;
      sum += fabs(J[(size_t)i * (size_t)block->nrows]) * (fabs(v[at]) + fabs(p->v_star[at]) + rest);
    }
  }
  return sum;
}

static void note_row(double change, double rho, double scale, sap_violation* worst) {
  const double impulse = fabs(change), velocity = impulse / rho;
  worst->impulse = fmax(worst->impulse, impulse);
  worst->velocity = fmax(worst->velocity, velocity);
  worst->relative = fmax(worst->relative, velocity <= 0.0 ? 0.0
                                          : scale > 0.0   ? velocity / scale
                                                          : 1.0);
}

void sap_judge_rows(const sap_problem* p, const sap_block_data* block, const sap_judged_rows* rows,
                    sap_worst* worst) {
  const bool cone = block->set == SAP_SET_FRICTION_CONE;
  const double *gamma = rows->gamma, *rho = rows->rho;
  double g[SAP_CONE_ROWS_MAX] = {0.0}, ccp[SAP_CONE_ROWS_MAX], ncp[SAP_CONE_ROWS_MAX];
  for (int32_t r = 0; cone && r < block->nrows; ++r) {
    const int32_t row = block->first_row + r;
    g[r] = rows->vc[r] - p->v_hat_shifted[row] + p->R[row] * gamma[r];
  }
  if (cone) {
    sap_cone_change(SAP_VIOLATION_CCP, block->friction, block->nrows, gamma, g, rho, ccp);
    sap_cone_change(SAP_VIOLATION_NCP, block->friction, block->nrows, gamma, g, rho, ncp);
  }
  for (int32_t r = 0; r < block->nrows; ++r) {
    const int32_t row = block->first_row + r;
    const double slack = rows->vc[r] - p->v_hat_shifted[row] + p->R[row] * gamma[r];
    const double change =
        cone ? 0.0
        : sap_set_is_potential(block->set)
            ? rows->law[r] - gamma[r]
            : sap_interval_change(p->lower[row], p->upper[row], gamma[r], slack, rho[r]);
    const double scale = row_scale(p, block, r, rows->v, gamma, rows->resting);
    note_row(cone ? ccp[r] : change, rho[r], scale, &worst->ccp);
    note_row(cone ? ncp[r] : change, rho[r], scale, &worst->ncp);
  }
}

// cancels += |J|' |gamma| of a block.
static void add_absolute(const sap_problem* p, const sap_block_data* block, const double* gamma,
                         double* cancels) {
  for (int32_t t = 0; t < block->ntrees; ++t) {
    const int32_t tree = p->block_trees[block->first_tree + t];
    const double* J = p->jacobians[block->first_tree + t];
    for (int32_t i = 0; i < p->tree_size[tree]; ++i) {
      for (int32_t r = 0; r < block->nrows; ++r) {
        cancels[p->tree_start[tree] + i] += fabs(*J++ * gamma[r]);
      }
    }
  }
}

void sap_judge_trees(const sap_problem* p, const double* v, const double* gamma, double resting,
                     double* left, sap_violation* worst) {
  double* cancels = left + p->nv;
  for (int32_t i = 0; i < p->nv; ++i) {
    cancels[i] = 0.0;
  }
  for (int32_t b = 0; b < p->nblocks; ++b) {
    add_absolute(p, &p->blocks[b], gamma + p->blocks[b].first_row, cancels);
  }
  for (int32_t t = 0; t < p->ntrees; ++t) {
    const int32_t n = p->tree_size[t];
    double left_2 = 0.0, scale_2 = 0.0;
    for (int32_t i = 0; i < n; ++i) {
      const double entry = p->diagonal[p->diagonal_start[t] + i * (n + 1)];
      const double mass = !p->has_mobility ? entry : entry > 0.0 ? 1.0 / entry : 1.0;
      const int32_t at = p->tree_start[t] + i;
      const double scale =
          fabs(v[at]) + fabs(p->v_star[at]) + CANCELLED * cancels[at] / mass + resting;
      left_2 += mass * left[at] * left[at];
      scale_2 += mass * scale * scale;
      worst->velocity = fmax(worst->velocity, fabs(left[at]));
      worst->impulse = fmax(worst->impulse, mass * fabs(left[at]));
    }
    const double own = left_2 > 0.0 ? sqrt(left_2) / sqrt(scale_2) : 0.0;
    worst->relative = fmax(worst->relative, own);
  }
}
