// SPDX-License-Identifier: BSD-3-Clause
// Natural map gamma - P_C(gamma - rho g), dual distance and complementarity of one block.
//   g = J v - v_hat + R gamma;  NCP: g_n + mu |g_t|          tsounis (156)-(164), lelidec Sec. II
// The distance of g from the dual cone of K_mu is |P_K(-g)| (Moreau). A row of an interval requires
// g >= 0 at its lower bound, g <= 0 at its upper bound, g = 0 between them.
#include "solvers/complementarity.h"

#include <float.h>
#include <math.h>

#include "contact/cone.h"
#include "problem/delassus.h"
#include "problem/factor.h"
#include "problem/matrix.h"
#include "problem/problem_data.h"

// Computes W of `count` rows from `row` on, by the diagonal tree blocks of A.
static sap_status delassus_rows(const sap_problem* p, const sap_block_data* block, int32_t row,
                                int32_t count, double* work, double* W, sap_error* error) {
  if (p->has_mobility) {
    sap_block view;
    SAP_TRY(sap_problem_block(p, (int32_t)(block - p->blocks), &view, NULL, error));
    sap_mobility_delassus(p, &view, row, count, work, W);
    return SAP_STATUS_OK;
  }
  for (int32_t i = 0; i < count * count; ++i) {
    W[i] = 0.0;
  }
  for (int32_t t = 0; t < block->ntrees; ++t) {
    const int32_t tree = p->block_trees[block->first_tree + t], n = p->tree_size[tree];
    const double* L;
    SAP_TRY(sap_problem_tree_factor(p, tree, &L, error));
    for (int32_t r = 0; r < count; ++r) {
      sap_tree_forward_solve(L, n, p->jacobians[block->first_tree + t] + row + r, block->nrows,
                             work + r * n);
      for (int32_t c = 0; c <= r; ++c) {
        double sum = 0.0;
        for (int32_t i = 0; i < n; ++i) {
          sum += work[r * n + i] * work[c * n + i];
        }
        W[c * count + r] += sum;
        W[r * count + c] = W[c * count + r];
      }
    }
  }
  return SAP_STATUS_OK;
}

void sap_project_cone(double mu, int32_t nrows, const double* x, double* out) {
  const double xt = sqrt(sap_cone_n_dot(nrows, x, x)), xn = x[SAP_NORMAL_ROW];
  double tangent = 1.0, normal = xn;
  if (mu * xt <= -xn) {
    tangent = normal = 0.0;
  } else if (!sap_cone_holds(mu, xt, xn)) {
    normal = (xn + mu * xt) / (1.0 + mu * mu);
    tangent = mu * normal / xt;
  }
  for (int32_t i = 0; i < nrows; ++i) {
    out[i] = tangent * x[i];
  }
  out[SAP_NORMAL_ROW] = normal;
}

// Returns |gamma - P(x)|^2 with x = gamma - rho g, computed as |rho g + (x - P(x))|^2: no
// cancellation inside the set.
static double cone_map_2(double mu, int32_t nrows, const double* gamma, const double* g,
                         double rho) {
  double x[SAP_CONE_ROWS_MAX] = {0.0}, projected[SAP_CONE_ROWS_MAX], sum = 0.0;
  for (int32_t i = 0; i < nrows; ++i) {
    x[i] = gamma[i] - rho * g[i];
  }
  sap_project_cone(mu, nrows, x, projected);
  for (int32_t i = 0; i < nrows; ++i) {
    const double map = rho * g[i] + (x[i] - projected[i]);
    sum += map * map;
  }
  return sum;
}

static void add_cone(const sap_block_data* block, const double* gamma, const double* g, double rho,
                     sap_model_sums* sums) {
  const double mu = block->friction;
  const int32_t nrows = block->nrows;
  double outside[SAP_CONE_ROWS_MAX] = {0.0}, product = 0.0, distance_2 = 0.0;
  for (int32_t i = 0; i < nrows; ++i) {
    outside[i] = -g[i];
    product += g[i] * gamma[i];
  }
  sap_project_cone(mu, nrows, outside, outside);
  for (int32_t i = 0; i < nrows; ++i) {
    distance_2 += outside[i] * outside[i];
  }
  sums->map_2 += cone_map_2(mu, nrows, gamma, g, 1.0);
  sums->scaled_map_2 += cone_map_2(mu, nrows, gamma, g, rho);
  sums->dual = fmax(sums->dual, sqrt(distance_2));
  sums->complementarity = fmax(sums->complementarity, fabs(product));
}

static double row_map_2(double lower, double upper, double gamma, double g, double rho) {
  const double x = gamma - rho * g, map = rho * g + (x - fmin(upper, fmax(lower, x)));
  return map * map;
}

static void add_row(double lower, double upper, double gamma, double g, double rho,
                    sap_model_sums* sums) {
  const double bound = g > 0.0 ? lower : upper;
  sums->map_2 += row_map_2(lower, upper, gamma, g, 1.0);
  sums->scaled_map_2 += row_map_2(lower, upper, gamma, g, rho);
  if (isinf(bound)) {
    sums->dual = fmax(sums->dual, fabs(g));
  } else {
    sums->complementarity = fmax(sums->complementarity, fabs(g * (gamma - bound)));
  }
}

int64_t sap_complementarity_work(const sap_problem* p) {
  int32_t largest = 0;
  for (int32_t t = 0; t < p->ntrees; ++t) {
    largest = p->tree_size[t] > largest ? p->tree_size[t] : largest;
  }
  return 6 * (int64_t)largest;
}

sap_status sap_complementarity_steps(const sap_problem* p, int32_t index, double* work, double* rho,
                                     sap_error* error) {
  const sap_block_data* block = &p->blocks[index];
  const double* R = p->R + block->first_row;
  const bool cone = sap_set_is_contact(block->set);
  const int32_t count = cone ? block->nrows : 1;
  for (int32_t r = 0; r < block->nrows; r += count) {
    double W[SAP_CONE_ROWS_MAX * SAP_CONE_ROWS_MAX], largest;
    SAP_TRY(delassus_rows(p, block, r, count, work, W, error));
    for (int32_t i = 0; i < count; ++i) {
      W[i * (count + 1)] += R[r + i];
    }
    largest = sap_largest_eigenvalue(W, count);
    for (int32_t i = 0; i < count; ++i) {
      rho[r + i] = largest > 0.0 ? 1.0 / largest : 1.0;  // else: moves nothing, R = 0
    }
  }
  return SAP_STATUS_OK;
}

static void add_contact(const sap_problem* p, const sap_block_data* block, const double* vc,
                        const double* gamma, double rho, sap_complementarity* sums) {
  double g[SAP_CONE_ROWS_MAX];
  for (int32_t i = 0; i < block->nrows; ++i) {
    g[i] = vc[i] - p->v_hat_shifted[block->first_row + i] + p->R[block->first_row + i] * gamma[i];
    sums->gamma_2 += gamma[i] * gamma[i];
  }
  sums->signorini = fmax(sums->signorini, fabs(g[2] * gamma[2]));
  sums->dissipation -= sap_cone_n_dot(block->nrows, gamma, vc);
  add_cone(block, gamma, g, rho, &sums->ccp);
  g[2] += block->friction * sqrt(sap_cone_n_dot(block->nrows, g, g));
  add_cone(block, gamma, g, rho, &sums->ncp);
}

// A potential has a law in place of the cone: map = rho R (gamma - gamma(vc)), equal to a cone's
// map in stiction.
static void add_potential(const sap_problem* p, int32_t index, const double* vc,
                          const double* gamma, double rho, sap_complementarity* sums) {
  sap_block block;
  double law[SAP_CONE_ROWS_MAX], map_2 = 0.0;
  (void)sap_problem_block(p, index, &block, NULL, NULL);
  (void)sap_set_impulse(&block, vc, law);
  for (int32_t i = 0; i < block.nrows; ++i) {
    const double map = block.R[i] * (gamma[i] - law[i]);
    map_2 += map * map;
    sums->gamma_2 += gamma[i] * gamma[i];
  }
  sums->dissipation -= sap_cone_n_dot(block.nrows, gamma, vc);
  sums->ccp.map_2 += map_2;
  sums->ncp.map_2 += map_2;
  sums->ccp.scaled_map_2 += rho * rho * map_2;
  sums->ncp.scaled_map_2 += rho * rho * map_2;
}

void sap_complementarity_add(const sap_problem* p, int32_t index, const double* vc,
                             const double* gamma, const double* rho, sap_complementarity* sums) {
  const sap_block_data* block = &p->blocks[index];
  if (sap_set_is_potential(block->set)) {
    add_potential(p, index, vc, gamma, rho[0], sums);
    return;
  }
  if (block->set == SAP_SET_FRICTION_CONE) {
    add_contact(p, block, vc, gamma, rho[0], sums);
    return;
  }
  for (int32_t r = 0; r < block->nrows; ++r) {
    const int32_t row = block->first_row + r;
    const double g = vc[r] - p->v_hat_shifted[row] + p->R[row] * gamma[r];
    sums->gamma_2 += gamma[r] * gamma[r];
    if (block->set == SAP_SET_NONNEGATIVE) {
      sums->signorini = fmax(sums->signorini, fabs(g * gamma[r]));
    }
    add_row(p->lower[row], p->upper[row], gamma[r], g, rho[r], &sums->ccp);
    add_row(p->lower[row], p->upper[row], gamma[r], g, rho[r], &sums->ncp);
  }
}

double sap_relative_map(double map_2, double gamma_2) {
  return map_2 > 0.0 ? sqrt(map_2) / sqrt(fmax(gamma_2, DBL_MIN)) : 0.0;
}
