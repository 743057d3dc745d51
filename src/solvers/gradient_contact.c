// SPDX-License-Identifier: BSD-3-Clause
// Derivatives by the physical parameters of a contact, from those by R, v_hat and mu of its block. The
// law, contact/contact_law.c 1, 2 and 4, with h = dt, T = theta h + tau_d (potentials: h):
//   Rn      = max(beta^2/(4 pi^2) w', 1/(h k theta_vq T), SAP_ROUNDOFF_ROW w)
//   Rt      = sigma w'/theta_t
//   v_hat_n = -(phi0/D + (1 - theta_vq) vn0)/theta_vq,  D = h ahead of the surface, else T
//   v_hat_t = b - (1 - theta_t)/theta_t (vt0 - b)
// and w' = min(w, 32 pi^2/M),  w = |W|_F/3 or 3 W_nn,  W = J A^-1 J':
//   W_bar = w_bar dw/dW,  X = A^-1 J',  J_bar += 2 W_bar X',  A_bar -= X W_bar X'
// The law's values are compared with those of the block, so that nothing else acts unseen.
#include <math.h>

#include "contact/contact_law.h"
#include "problem/factor.h"
#include "solvers/gradient_data.h"

// w of a contact at X = A^-1 J'.
typedef struct contact_scale {
  double W[3][3];
  double w, loaded;  // w, w'
  bool normal;       // w is a multiple of W_nn
  double by_norm;    // dw/d(|W|_F/3)
  const double* X[3];
} contact_scale;

// Sets X, in the object's vectors, and W.  fails: NOT_SPD
static sap_status find_scale(sap_gradient* g, const sap_contact_block* c, bool castro,
                             contact_scale* s, sap_error* error) {
  const sap_problem* p = g->problem;
  double* const X[3] = {g->x, g->b, g->side};
  double norm = 0.0;
  *s = (contact_scale){.X = {g->x, g->b, g->side}, .by_norm = 1.0};
  for (int32_t t = 0; t < c->ntrees; ++t) {
    const int32_t first = p->tree_start[c->trees[t]], n = p->tree_size[c->trees[t]];
    const double *J = c->jacobians[t], *L;
    SAP_TRY(sap_problem_tree_factor(p, c->trees[t], &L, error));
    for (int r = 0; r < 3; ++r) {
      for (int32_t j = 0; j < n; ++j) {
        X[r][first + j] = J[3 * j + r];
      }
      sap_tree_solve(L, n, X[r] + first);
      for (int32_t j = 0; j < 3 * n; ++j) {
        s->W[j % 3][r] += J[j] * X[r][first + j / 3];
      }
    }
  }
  for (int r = 0; r < 9; ++r) {
    norm += s->W[r / 3][r % 3] * s->W[r / 3][r % 3];
  }
  s->w = sqrt(norm) / 3.0;
  const double most = fmax(SAP_NORMAL_MOST * s->W[2][2], SAP_NORMAL_LEAST * s->w);
  if (!castro && s->w >= most) {
    s->normal = most > SAP_NORMAL_LEAST * s->w;
    s->by_norm = s->normal ? 0.0 : SAP_NORMAL_LEAST;
    s->w = most;
  }
  s->loaded = castro || s->w * c->load <= 8.0 * SAP_FOUR_PI_SQUARED
                  ? s->w
                  : 8.0 * SAP_FOUR_PI_SQUARED / c->load;
  return SAP_STATUS_OK;
}

// Adds what changes by w to the derivatives by J and A.
static void add_scale(const sap_gradient* g, const sap_contact_block* c, int32_t index,
                      const contact_scale* s, double w_bar, const sap_problem_cotangent* by) {
  const sap_problem* p = g->problem;
  double W_bar[3][3] = {{0.0}}, norm = 0.0;
  for (int r = 0; r < 9; ++r) {
    norm += s->W[r / 3][r % 3] * s->W[r / 3][r % 3];
  }
  for (int r = 0; r < 9; ++r) {
    W_bar[r / 3][r % 3] = w_bar * s->by_norm * s->W[r / 3][r % 3] / (3.0 * sqrt(norm));
  }
  W_bar[2][2] += s->normal ? w_bar * SAP_NORMAL_MOST : 0.0;
  size_t at = (size_t)(p->jacobians[p->blocks[index].first_tree] - p->jacobian_values);
  for (int32_t t = 0; t < c->ntrees; ++t) {
    const int32_t tree = c->trees[t], first = p->tree_start[tree], n = p->tree_size[tree];
    for (int32_t j = 0; j < n; ++j) {
      double V[3] = {0.0};  // W_bar X' of a velocity
      for (int r = 0; r < 9; ++r) {
        V[r / 3] += W_bar[r / 3][r % 3] * s->X[r % 3][first + j];
      }
      for (int r = 0; by->J != NULL && r < 3; ++r) {
        by->J[at + (size_t)(3 * j + r)] += 2.0 * V[r];
      }
      for (int32_t i = 0; by->A != NULL && i < n; ++i) {
        for (int r = 0; r < 3; ++r) {
          by->A[p->diagonal_start[tree] + j * n + i] -= s->X[r][first + i] * V[r];
        }
      }
    }
    at += 3 * (size_t)n;
  }
}

static bool is_near(double a, double b) {
  return fabs(a - b) <= 1e-11 * fmax(fabs(a), fabs(b));
}

sap_status sap_gradient_contact(sap_gradient* g, int32_t index, const sap_contact_block* c,
                                const sap_regularization* regularization,
                                const sap_problem_cotangent* by, sap_contact_parameters* out,
                                sap_error* error) {
  SAP_NOT_NULL(error, g, c, regularization, by, out);
  SAP_NOT_NULL(error, g->problem, by->R, by->v_hat, by->friction);
  const sap_problem* p = g->problem;
  SAP_FAIL_IF(index < 0 || index >= p->nblocks || !sap_set_is_contact(p->blocks[index].set) ||
                  p->blocks[index].ntrees != c->ntrees,
              error, SAP_STATUS_ARGUMENT, "block %d is not this contact", index);
  const sap_block_data* block = &p->blocks[index];
  const sap_contact_scheme* scheme = &p->scheme;
  const bool castro = scheme->castro || scheme->v0 == NULL;
  const bool cone = block->set == SAP_SET_FRICTION_CONE, vary = g->options.vary_w;
  const bool at_end = block->end == 1.0;
  contact_scale s;
  SAP_TRY(find_scale(g, c, castro, &s, error));

  const int32_t row = block->first_row, normal = row + SAP_NORMAL_ROW;
  const double h = p->dt, k = c->material.stiffness,
               tau_d = cone ? c->material.relaxation_time : 0.0;
  const double theta = at_end ? 1.0 : scheme->theta, theta_vq = at_end ? 1.0 : scheme->theta_vq;
  const double T = theta * h + tau_d, D = c->phi0 > 0.0 && !castro ? h : T;
  const double beta = regularization->beta, near = beta * beta / SAP_FOUR_PI_SQUARED * s.loaded;
  const double soft = 1.0 / (h * k * theta_vq * T), least = SAP_ROUNDOFF_ROW * s.w;
  const double Rn = fmax(fmax(near, soft), least), Rt = regularization->sigma * s.loaded;
  const double theta_t = !cone || is_near(p->R[row], Rt) ? 1.0 : scheme->theta;
  double vn0 = 0.0;
  for (int32_t t = 0; theta_vq < 1.0 && t < c->ntrees; ++t) {
    for (int32_t j = 0; j < p->tree_size[c->trees[t]]; ++j) {
      vn0 += c->jacobians[t][3 * j + 2] * scheme->v0[p->tree_start[c->trees[t]] + j];
    }
  }
  const double curved = at_end ? 0.0 : c->gap_change * (2.0 * theta - 1.0) / (theta * theta) / h;
  const double v_hat = (-c->phi0 / D - (1.0 - theta_vq) * vn0 - curved) / theta_vq +
                       Rn * h * c->pull - (at_end ? c->velocity_change[2] : 0.0);
  const bool other_mu = c->friction == NULL && block->friction != c->material.friction;
  const double* found = g->options.coulomb ? p->v_hat_law : p->v_hat_shifted;
  SAP_FAIL_IF((block->end != 0.0 && !at_end) || scheme->rigid || other_mu ||
                  !is_near(p->R[normal], Rn) || (cone && !is_near(p->R[row] * theta_t, Rt)) ||
                  !is_near(found[normal], v_hat),
              error, SAP_STATUS_UNSUPPORTED,
              "block %d: Rn = %g, v_hat_n = %g, the law of a contact alone gives %g, %g", index,
              p->R[normal], found[normal], Rn, v_hat);
  SAP_FAIL_IF(vary && c->friction != NULL, error, SAP_STATUS_UNSUPPORTED,
              "block %d has several coefficients of friction: its w cannot vary", index);

  const double g_n = by->v_hat[normal], Rn_bar = by->R[normal] + h * c->pull * g_n;
  double Rt_bar = 0.0;
  for (int32_t i = row; cone && i < row + block->nrows; ++i) {
    Rt_bar += i == normal ? 0.0 : by->R[i] / theta_t;
  }
  const bool is_least = Rn > fmax(near, soft), is_soft = !is_least && soft > near;
  const double loaded_bar =
      (is_least || is_soft ? 0.0 : Rn_bar * near / s.loaded) + Rt_bar * regularization->sigma;
  const double back = (1.0 - theta_t) / theta_t;
  *out = (sap_contact_parameters){
      .phi0 = -g_n / (D * theta_vq),
      .stiffness = is_soft ? -Rn_bar * soft / k : 0.0,
      .relaxation_time = !cone ? 0.0
                               : (is_soft ? -Rn_bar * soft / T : 0.0) +
                                     (D == T ? g_n * c->phi0 / (T * T * theta_vq) : 0.0),
      .friction = by->friction[index],
      .vc0 = {-back * by->v_hat[row], -back * by->v_hat[row + 1],
              -(1.0 - theta_vq) / theta_vq * g_n},
      .beta = is_least || is_soft || beta == 0.0 ? 0.0 : 2.0 * Rn_bar * near / beta,
      .sigma = Rt_bar * s.loaded};
  if (vary) {
    const double w_bar =
        (s.loaded == s.w ? loaded_bar : 0.0) + (is_least ? Rn_bar * SAP_ROUNDOFF_ROW : 0.0);
    add_scale(g, c, index, &s, w_bar, by);
  }
  return SAP_STATUS_OK;
}
