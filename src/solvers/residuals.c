// SPDX-License-Identifier: BSD-3-Clause
// The judge: residuals of (v, gamma) on a problem, all computed from (v, gamma) alone.
//   momentum     D (A (v - v*) - J' gamma),  D = diag(A)^-1/2                         castro (32)
//   slackness    mean |g . gamma|/l over cones,  g = J v - v_hat + R gamma            castro (33)
//   projection   gamma against P_C(y(J v)), or a potential's law, in the R norm       castro (23)
// Blocks with an R = 0 count neither in cost nor in projection: theirs is 0 or infinite.
// cost: one pass over A and J.  fails: ARGUMENT, NOT_FINITE, NOT_SPD (no positive diagonal).
#include "solvers/residuals.h"

#include <float.h>
#include <math.h>
#include <string.h>

#include "contact/cone.h"
#include "core/memory.h"
#include "linalg/square.h"
#include "math/scalar.h"
#include "problem/blocks.h"
#include "problem/delassus.h"
#include "problem/factor.h"
#include "problem/problem_data.h"
#include "solvers/row_violation.h"

// Natural map gamma - P_C(gamma - rho g), dual distance and complementarity of one block.
//   g = J v - v_hat + R gamma;  NCP: g_n + mu |g_t|          tsounis (156)-(164), lelidec Sec. II
// The distance of g from the dual cone of K_mu is |P_K(-g)| (Moreau). A row of an interval requires
// g >= 0 at its lower bound, g <= 0 at its upper bound, g = 0 between them.

// Computes W of `count` rows from `row` on, by the diagonal tree blocks of A.
static sap_status delassus_rows(const sap_problem* p, const sap_block_data* block, int32_t row,
                                int32_t count, double* work, double* W, sap_error* error) {
  if (p->has_mobility) {
    const sap_block view = sap_problem_view(p, block);
    sap_mobility_delassus(p, &view, row, count, work, W);
    return SAP_STATUS_OK;
  }
  for (int32_t i = 0; i < count * count; ++i) {
    W[i] = 0.0;
  }
  for (int32_t t = 0; t < block->ntrees; ++t) {
    const int32_t tree = p->block_trees[block->first_tree + t], n = p->tree_size[tree];
    const int32_t ld = SAP_BRANCH_ROW(n);
    sap_branch_factor factor;
    SAP_TRY(sap_problem_tree_factor(p, tree, &factor, error));
    for (int32_t r = 0; r < count; ++r) {
      sap_tree_solve_row(&factor, p->jacobians[block->first_tree + t] + row + r, block->nrows,
                         work + r * ld);
      for (int32_t c = 0; c <= r; ++c) {
        double sum = 0.0;
        for (int32_t i = 0; i < n; ++i) {
          sum += work[r * ld + i] * work[c * ld + i];
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
  double outside[SAP_CONE_ROWS_MAX] = {0.0};
  for (int32_t i = 0; i < nrows; ++i) {
    outside[i] = -g[i];
  }
  sap_project_cone(mu, nrows, outside, outside);
  const double scaled_2 = cone_map_2(mu, nrows, gamma, g, rho);
  sums->map_2 += cone_map_2(mu, nrows, gamma, g, 1.0);
  sums->scaled_map_2 += scaled_2;
  sums->speed = fmax(sums->speed, sqrt(scaled_2) / rho);
  sums->dual = fmax(sums->dual, sqrt(sap_dot(nrows, outside, outside)));
  sums->complementarity = fmax(sums->complementarity, fabs(sap_dot(nrows, g, gamma)));
}

static double row_map_2(double lower, double upper, double gamma, double g, double rho) {
  const double x = gamma - rho * g, map = rho * g + (x - fmin(upper, fmax(lower, x)));
  return map * map;
}

static void add_row(double lower, double upper, double gamma, double g, double rho,
                    sap_model_sums* sums) {
  const double bound = g > 0.0 ? lower : upper;
  const double scaled_2 = row_map_2(lower, upper, gamma, g, rho);
  sums->map_2 += row_map_2(lower, upper, gamma, g, 1.0);
  sums->scaled_map_2 += scaled_2;
  sums->speed = fmax(sums->speed, sqrt(scaled_2) / rho);
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
  return 6 * SAP_BRANCH_ROW((int64_t)largest);
}

sap_status sap_complementarity_steps(const sap_problem* p, int32_t index, double* work, double* rho,
                                     double* row_rho, sap_error* error) {
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
      const double own = W[i * (count + 1)];
      rho[r + i] = largest > 0.0 ? 1.0 / largest : 1.0;  // else: moves nothing, R = 0
      if (row_rho != NULL) {
        row_rho[r + i] = own > 0.0 ? 1.0 / own : 1.0;
      }
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
static void add_potential(const sap_problem* p, const sap_block_data* data, const double* vc,
                          const double* gamma, double rho, sap_complementarity* sums) {
  const sap_block block = sap_problem_view(p, data);
  double law[SAP_CONE_ROWS_MAX], map_2 = 0.0;
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
    add_potential(p, block, vc, gamma, rho[0], sums);
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

// Balance of momentum:  D (A (v - v*) - J' gamma),  D = diag(A)^-1/2                  castro (32)
// With a mobility B = A^-1 instead of A:  D (v - v* - B J' gamma),  D = diag(B)^-1/2

static void add_couplings(const sap_problem* p, const double* x, double* out) {
  SAP_EACH(const sap_coupling, coupling, p->couplings, p->ncouplings) {
    const int32_t a = coupling->tree_a, b = coupling->tree_b;
    const int32_t start_a = p->tree_start[a], start_b = p->tree_start[b];
    sap_square_add_coupling(p->tree_size[a], p->tree_size[b], p->coupling_values + coupling->values,
                            x + start_a, x + start_b, out + start_a, out + start_b);
  }
}

// out += J' gamma of one block.
static void add_block_impulse(const sap_problem* p, const sap_block_data* block,
                              const double* gamma, double* out) {
  const int32_t nrows = block->nrows;
  for (int32_t t = 0; t < block->ntrees; ++t) {
    const int32_t tree = p->block_trees[block->first_tree + t];
    const double* J = p->jacobians[block->first_tree + t];
    double* to = out + p->tree_start[tree];
    for (int32_t i = 0; i < p->tree_size[tree]; ++i, J += nrows) {
      to[i] += sap_dot(nrows, J, gamma);
    }
  }
}

void sap_generalized_impulse(const sap_problem* p, const double* gamma, double* impulse) {
  for (int32_t i = 0; i < p->nv; ++i) {
    impulse[i] = 0.0;
  }
  for (int32_t b = 0; b < p->nblocks; ++b) {
    add_block_impulse(p, &p->blocks[b], gamma + p->blocks[b].first_row, impulse);
  }
}

void sap_contact_velocity(const sap_problem* p, const double* v, double* vc) {
  for (int32_t b = 0; b < p->nblocks; ++b) {
    sap_problem_block_velocity(p, &p->blocks[b], v, vc + p->blocks[b].first_row);
  }
}

// out += B x
static void add_mobility(const sap_problem* p, const double* x, double* out) {
  for (int32_t t = 0; t < p->ntrees; ++t) {
    sap_mobility_multiply(p, t, t, x + p->tree_start[t], out + p->tree_start[t]);
  }
  for (int32_t c = 0; c < p->ncouplings; ++c) {
    const int32_t a = p->couplings[c].tree_a, b = p->couplings[c].tree_b;
    const int32_t start_a = p->tree_start[a], start_b = p->tree_start[b];
    sap_mobility_multiply(p, a, b, x + start_b, out + start_a);
    sap_mobility_multiply(p, b, a, x + start_a, out + start_b);
  }
}

typedef struct momentum_balance {
  double absolute;  // |D (A (v - v*) - J' gamma)| [sqrt(J)]
  double relative;  // divided by max(|D A v|, |D J' gamma|), castro (32); 0 when absolute is 0
  double energy;    // 1/2 |v - v*|_A^2 [J]
} momentum_balance;

static momentum_balance make_momentum(double gradient_2, double momentum_2, double impulse_2,
                                      double energy) {
  const double absolute = sqrt(gradient_2);
  const double scale = sqrt(momentum_2 > impulse_2 ? momentum_2 : impulse_2);
  return (momentum_balance){absolute, absolute > 0.0 ? absolute / scale : 0.0, energy};
}

// With B = A^-1: D (v - v* - B J' gamma), relative to the larger of |D v| and |D B J' gamma|.
static void mobility_residual(const sap_problem* p, const double* v, const double* impulse,
                              double* velocity, double* left, momentum_balance* out) {
  double gradient_2 = 0.0, momentum_2 = 0.0, impulse_2 = 0.0, energy = 0.0;
  memset(velocity, 0, (size_t)p->nv * sizeof(double));
  add_mobility(p, impulse, velocity);
  for (int32_t t = 0; t < p->ntrees; ++t) {
    const int32_t n = p->tree_size[t];
    for (int32_t i = 0; i < n; ++i) {
      const double entry = p->diagonal[p->diagonal_start[t] + i * (n + 1)];
      const double mass = entry > 0.0 ? 1.0 / entry : 1.0;  // 0: immovable, v = v*
      const size_t at = (size_t)(p->tree_start[t] + i);
      const double step = v[at] - p->v_star[at], g = step - velocity[at];
      gradient_2 += mass * g * g;
      momentum_2 += mass * v[at] * v[at];
      impulse_2 += mass * velocity[at] * velocity[at];
      energy += 0.5 * step * impulse[at];
      left[at] = g;
    }
  }
  *out = make_momentum(gradient_2, momentum_2, impulse_2, energy);
}

// Computes the residual of the balance of momentum.  fails: NOT_SPD, MEMORY
static sap_status momentum_residual(const sap_problem* p, const double* v, const double* gamma,
                                    momentum_balance* out, sap_error* error) {
  const size_t nv = (size_t)p->nv;
  SAP_TRY(SAP_ROOM(&p->cache->pool, &p->cache->scratch, 4 * (int64_t)p->nv + 1,
                   error));          // + 1: never NULL
  double* step = p->cache->scratch;  // v - v*; at the end what is left of the balance [m/s]
  double* momentum = step + nv;      // A (v - v*)
  double* absolute = momentum + nv;  // A v
  double* impulse = absolute + nv;   // J' gamma
  memset(momentum, 0, 2 * nv * sizeof(double));
  for (size_t i = 0; i < nv; ++i) {
    step[i] = v[i] - p->v_star[i];
  }
  sap_generalized_impulse(p, gamma, impulse);
  if (p->has_mobility) {
    mobility_residual(p, v, impulse, momentum, step, out);
    return SAP_STATUS_OK;
  }
  const sap_square_kernels* square = sap_square_kernels_get(0);
  for (int32_t t = 0; t < p->ntrees; ++t) {
    const int32_t start = p->tree_start[t];
    const double* A = p->diagonal + p->diagonal_start[t];
    square->add(p->tree_size[t], A, step + start, momentum + start);
    square->add(p->tree_size[t], A, v + start, absolute + start);
  }
  add_couplings(p, step, momentum);
  add_couplings(p, v, absolute);
  double gradient_2 = 0.0, momentum_2 = 0.0, impulse_2 = 0.0, energy = 0.0;
  for (int32_t t = 0; t < p->ntrees; ++t) {
    const int32_t n = p->tree_size[t];
    for (int32_t i = 0; i < n; ++i) {
      const double mass = p->diagonal[p->diagonal_start[t] + i * (n + 1)];
      const size_t at = (size_t)(p->tree_start[t] + i);
      SAP_FAIL_IF(!(mass > 0.0), error, SAP_STATUS_NOT_SPD,
                  "tree %d: diagonal entry %d of A = %g must be > 0", t, i, mass);
      const double g = momentum[at] - impulse[at];
      gradient_2 += g * g / mass;
      momentum_2 += absolute[at] * absolute[at] / mass;
      impulse_2 += impulse[at] * impulse[at] / mass;
      energy += 0.5 * step[at] * momentum[at];
      step[at] = g / mass;
    }
  }
  *out = make_momentum(gradient_2, momentum_2, impulse_2, energy);
  return SAP_STATUS_OK;
}

typedef struct block_sums {
  double cost;           // sum of l_i
  double projection;     // max |gamma - P|_R
  double gamma_norm_2;   // |gamma|_R^2
  double slackness;      // sum |g . gamma|
  double set_violation;  // max distance
  double penetration;
  int32_t ncones;
} block_sums;

static bool is_compliant(const sap_block* block) {
  for (int32_t i = 0; i < block->nrows; ++i) {
    if (!(block->R[i] > 0.0)) {
      return false;
    }
  }
  return true;
}

static void judge_block(const sap_block* block, const double* vc, const double* gamma,
                        double* projected, block_sums* sums) {
  const bool compliant = is_compliant(block);
  if (compliant) {
    sums->cost += sap_set_impulse(block, vc, projected);
  }
  double distance_2 = 0.0, product = 0.0;
  for (int32_t i = 0; i < block->nrows; ++i) {
    const double difference = compliant ? gamma[i] - projected[i] : 0.0;
    distance_2 += block->R[i] * difference * difference;
    sums->gamma_norm_2 += block->R[i] * gamma[i] * gamma[i];
    product += (vc[i] - block->v_hat[i] + block->R[i] * gamma[i]) * gamma[i];
    const bool unilateral =
        block->set == SAP_SET_NONNEGATIVE || (sap_set_is_contact(block->set) && i == 2);
    sums->penetration =
        unilateral ? fmax(sums->penetration, block->v_hat[i] - vc[i]) : sums->penetration;
  }
  sums->projection = fmax(sums->projection, sqrt(distance_2));
  sums->set_violation = fmax(sums->set_violation, sap_set_distance(block, gamma));
  if (block->set == SAP_SET_FRICTION_CONE) {
    sums->slackness += fabs(product);
    sums->ncones += 1;
  }
}

// Judges with the scratch memory of the problem.
static sap_status judge_problem(const sap_problem* p, const double* v, const double* gamma,
                                bool rows, sap_residual* out, sap_error* error) {
  momentum_balance momentum = {0};
  sap_worst worst = {0};
  SAP_TRY(momentum_residual(p, v, gamma, &momentum, error));
  const double resting = rows ? sap_resting_velocity(p, v) : 0.0;
  if (rows) {  // while the scratch memory holds the balance
    sap_judge_trees(p, v, gamma, resting, p->cache->scratch, &worst.tree);
  }
  const int64_t needed = 4 * (int64_t)p->nrows + sap_complementarity_work(p) + 1;
  SAP_TRY(SAP_ROOM(&p->cache->pool, &p->cache->scratch, needed, error));
  block_sums sums = {0};
  sap_complementarity models = {0};
  sap_judged_rows judged = {.v = v, .resting = resting};
  for (int32_t b = 0; b < p->nblocks; ++b) {
    const int32_t nrows = p->blocks[b].nrows, first_row = p->blocks[b].first_row;
    double *vc = p->cache->scratch, *projected = vc + nrows, *rho = projected + nrows;
    const sap_block block = sap_problem_view(p, &p->blocks[b]);
    sap_problem_block_velocity(p, &p->blocks[b], v, vc);
    judge_block(&block, vc, gamma + first_row, projected, &sums);
    SAP_TRY(sap_complementarity_steps(p, b, rho + 2 * nrows, rho, rho + nrows, error));
    sap_complementarity_add(p, b, vc, gamma + first_row, rho, &models);
    if (rows) {
      judged.vc = vc;
      judged.gamma = gamma + first_row;
      judged.rho = rho + nrows;
      judged.law = projected;
      sap_judge_rows(p, &p->blocks[b], &judged, &worst);
    }
  }
  const double cost = momentum.energy + sums.cost;
  const double mean = sums.ncones > 0 ? sums.slackness / (double)sums.ncones : 0.0;
  *out = (sap_residual){
      .cost = cost,
      .momentum = momentum.relative,
      .momentum_absolute = momentum.absolute,
      .projection = sums.projection / fmax(sqrt(sums.gamma_norm_2), 1e-300),
      .slackness = mean > 0.0 ? mean / cost : 0.0,
      .set_violation = sums.set_violation,
      .penetration = sums.penetration,
      .ccp_natural_map = sap_relative_map(models.ccp.map_2, models.gamma_2),
      .ccp_natural_map_scaled = sap_relative_map(models.ccp.scaled_map_2, models.gamma_2),
      .ccp_dual = models.ccp.dual,
      .ccp_complementarity = models.ccp.complementarity,
      .ncp_natural_map = sap_relative_map(models.ncp.map_2, models.gamma_2),
      .ncp_natural_map_scaled = sap_relative_map(models.ncp.scaled_map_2, models.gamma_2),
      .ncp_dual = models.ncp.dual,
      .ncp_complementarity = models.ncp.complementarity,
      .ncp_absolute = fmax(sums.set_violation, fmax(models.ncp.dual, models.ncp.complementarity)),
      .signorini = models.signorini,
      .dissipation = models.dissipation,
      .ccp_row = worst.ccp.relative,
      .ccp_row_velocity = worst.ccp.velocity,
      .ccp_row_impulse = worst.ccp.impulse,
      .ncp_row = worst.ncp.relative,
      .ncp_row_velocity = worst.ncp.velocity,
      .ncp_row_impulse = worst.ncp.impulse,
      .tree = worst.tree.relative,
      .tree_velocity = worst.tree.velocity,
      .tree_impulse = worst.tree.impulse};
  return SAP_STATUS_OK;
}

static sap_status judge(const sap_problem* problem, const double* v, const double* gamma, bool rows,
                        sap_residual* out, sap_error* error) {
  SAP_TRY(sap_check_numbers("v", v, problem->nv, error));
  SAP_TRY(sap_check_numbers("gamma", gamma, problem->nrows, error));
  sap_problem_lock(problem);
  const sap_status status = judge_problem(problem, v, gamma, rows, out, error);
  sap_problem_unlock(problem);
  return status;
}

sap_status sap_residuals(const sap_problem* problem, const double* v, const double* gamma,
                         sap_residual* out, sap_error* error) {
  SAP_NOT_NULL(error, problem, out);
  return judge(problem, v, gamma, true, out, error);
}

sap_status sap_residuals_of_blocks(const sap_problem* problem, const double* v, const double* gamma,
                                   sap_residual* out, sap_error* error) {
  return judge(problem, v, gamma, false, out, error);
}
