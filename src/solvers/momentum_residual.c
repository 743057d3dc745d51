// SPDX-License-Identifier: BSD-3-Clause
// Balance of momentum:  D (A (v - v*) - J' gamma),  D = diag(A)^-1/2                  castro (32)
// With a mobility B = A^-1 instead of A:  D (v - v* - B J' gamma),  D = diag(B)^-1/2
// cost: one pass over A and J.  fails: NOT_SPD (no positive diagonal).
#include <math.h>
#include <string.h>

#include "core/memory.h"
#include "linalg/square.h"
#include "problem/blocks.h"
#include "problem/matrix.h"
#include "problem/problem_data.h"
#include "solvers/momentum_residual.h"

static void add_couplings(const sap_problem* p, const double* x, double* out) {
  for (int32_t c = 0; c < p->ncouplings; ++c) {
    const sap_coupling* coupling = &p->couplings[c];
    const int32_t a = coupling->tree_a, b = coupling->tree_b;
    const int32_t na = p->tree_size[a], nb = p->tree_size[b];
    const double* C = p->coupling_values + coupling->values;
    for (int32_t j = 0; j < nb; ++j) {
      const double xb = x[p->tree_start[b] + j];
      double sum = 0.0;
      for (int32_t i = 0; i < na; ++i) {
        out[p->tree_start[a] + i] += C[j * na + i] * xb;
        sum += C[j * na + i] * x[p->tree_start[a] + i];
      }
      out[p->tree_start[b] + j] += sum;
    }
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
      double sum = 0.0;
      for (int32_t r = 0; r < nrows; ++r) {
        sum += J[r] * gamma[r];
      }
      to[i] += sum;
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

static sap_momentum make_momentum(double gradient_2, double momentum_2, double impulse_2,
                                  double energy) {
  const double absolute = sqrt(gradient_2);
  const double scale = sqrt(momentum_2 > impulse_2 ? momentum_2 : impulse_2);
  return (sap_momentum){absolute, absolute > 0.0 ? absolute / scale : 0.0, energy};
}

// With B = A^-1: D (v - v* - B J' gamma), relative to the larger of |D v| and |D B J' gamma|.
static void mobility_residual(const sap_problem* p, const double* v, const double* impulse,
                              double* velocity, sap_momentum* out) {
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
    }
  }
  *out = make_momentum(gradient_2, momentum_2, impulse_2, energy);
}

sap_status sap_momentum_residual(const sap_problem* p, const double* v, const double* gamma,
                                 sap_momentum* out, sap_error* error) {
  const size_t nv = (size_t)p->nv;
  SAP_TRY(SAP_RESERVE(&p->cache->scratch, &p->cache->scratch_capacity, 4 * (int64_t)p->nv, error));
  double* step = p->cache->scratch;  // v - v*
  double* momentum = step + nv;      // A (v - v*)
  double* absolute = momentum + nv;  // A v
  double* impulse = absolute + nv;   // J' gamma
  memset(momentum, 0, 2 * nv * sizeof(double));
  for (size_t i = 0; i < nv; ++i) {
    step[i] = v[i] - p->v_star[i];
  }
  sap_generalized_impulse(p, gamma, impulse);
  if (p->has_mobility) {
    mobility_residual(p, v, impulse, momentum, out);
    return SAP_STATUS_OK;
  }
  for (int32_t t = 0; t < p->ntrees; ++t) {
    const int32_t start = p->tree_start[t];
    const double* A = p->diagonal + p->diagonal_start[t];
    sap_square_add(p->tree_size[t], A, step + start, momentum + start);
    sap_square_add(p->tree_size[t], A, v + start, absolute + start);
  }
  add_couplings(p, step, momentum);
  add_couplings(p, v, absolute);
  double gradient_2 = 0.0, momentum_2 = 0.0, impulse_2 = 0.0, energy = 0.0;
  for (int32_t t = 0; t < p->ntrees; ++t) {
    const int32_t n = p->tree_size[t];
    for (int32_t i = 0; i < n; ++i) {
      const double mass = p->diagonal[p->diagonal_start[t] + i * (n + 1)];
      const size_t at = (size_t)(p->tree_start[t] + i);
      if (!(mass > 0.0)) {
        return sap_fail(error, SAP_STATUS_NOT_SPD,
                        "tree %d: diagonal entry %d of A = %g must be > 0", t, i, mass);
      }
      const double g = momentum[at] - impulse[at];
      gradient_2 += g * g / mass;
      momentum_2 += absolute[at] * absolute[at] / mass;
      impulse_2 += impulse[at] * impulse[at] / mass;
      energy += 0.5 * step[at] * momentum[at];
    }
  }
  *out = make_momentum(gradient_2, momentum_2, impulse_2, energy);
  return SAP_STATUS_OK;
}
