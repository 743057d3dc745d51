// SPDX-License-Identifier: BSD-3-Clause
// y = F x, H y = M x by conjugate gradients with A^-1 as preconditioner: one iteration without
// blocks, and one more for each direction in which blocks act, at most.
#include "integrators/extrapolation.h"

#include <math.h>
#include <string.h>

#include "contact/cone.h"
#include "math/scalar.h"
#include "problem/problem_data.h"
#include "solvers/residuals.h"

static const int ITERATIONS_MAX = 40;
static const double TOLERANCE = 1e-6;  // of |M x|: F acts on corrections
static const double DAMPING = 3.0;

sap_status sap_extrapolation_create(sap_stepper* stepper, sap_pool* pool, sap_extrapolation* e,
                                    sap_error* error) {
  const int64_t nv = stepper->system.nv;
  e->stepper = stepper;
  e->pool = pool;
  SAP_TRY(SAP_POOL_ADD_ALL(pool, error, SAP_ARRAY(&e->z, nv), SAP_ARRAY(&e->p, nv),
                           SAP_ARRAY(&e->Hp, nv), SAP_ARRAY(&e->r, nv), SAP_ARRAY(&e->c, 2 * nv),
                           SAP_ARRAY(&e->work, 2 * nv), SAP_ARRAY(&e->corrections[0], 2 * nv),
                           SAP_ARRAY(&e->corrections[1], 2 * nv)));
  return sap_tree_store_create(&stepper->system, pool, &e->M, error);
}

sap_status sap_extrapolation_archive(sap_extrapolation* e, sap_archive* archive, sap_error* error) {
  const size_t bytes = 2 * (size_t)e->stepper->system.nv * sizeof(double);
  SAP_TRY(sap_archive_value(archive, &e->known, sizeof e->known, error));
  SAP_TRY(sap_archive_value(archive, e->middles, sizeof e->middles, error));
  for (int k = 0; k < SAP_EXTRAPOLATION_DEPTH; ++k) {
    SAP_TRY(sap_archive_value(archive, e->corrections[k], bytes, error));
  }
  return SAP_STATUS_OK;
}

// Takes M at q (nq), and H of the stepper's last step.
static sap_status set_filter(sap_extrapolation* e, const double* q, sap_error* error) {
  const sap_system* system = &e->stepper->system;
  const sap_contact_stage* stage = &e->stepper->solution.contact;
  const sap_problem* p = stage->problem;
  sap_free_motion* fm = &e->stepper->solution.free_motion;
  sap_tree_store_zero(&e->M);
  const int code = system->mass_matrix(system->context, q, &e->M.view);
  SAP_TRY(sap_callback_check("mass_matrix", code, error));
  for (int32_t g = 0; g < fm->factor.ngroups; ++g) {
    SAP_TRY(sap_momentum_factor_group(&fm->factor, g, &fm->balance.A, error));
  }
  int64_t entries = 0;
  for (int32_t b = 0; b < p->nblocks; ++b) {
    entries += (int64_t)p->blocks[b].nrows * p->blocks[b].nrows;
  }
  SAP_TRY(SAP_ROOM_ALL(e->pool, error, SAP_ARRAY(&e->vc, p->nrows), SAP_ARRAY(&e->gamma, p->nrows),
                       SAP_ARRAY(&e->G, entries)));
  double* G = e->G;
  for (int32_t b = 0; b < p->nblocks; ++b) {
    sap_block block;
    int32_t first;
    SAP_TRY(sap_problem_block(p, b, &block, &first, error));
    sap_set_hessian(&block, stage->solution.vc + first, G);
    G += (size_t)block.nrows * (size_t)block.nrows;
  }
  return SAP_STATUS_OK;
}

// y = H x
static void multiply(sap_extrapolation* e, const double* x, double* y) {
  const sap_free_motion* fm = &e->stepper->solution.free_motion;
  const sap_problem* p = e->stepper->solution.contact.problem;
  const double* G = e->G;
  sap_contact_velocity(p, x, e->vc);
  for (int32_t b = 0; b < p->nblocks; ++b) {
    const int32_t n = p->blocks[b].nrows, first = p->blocks[b].first_row;
    for (int32_t i = 0; i < n; ++i) {
      double sum = 0.0;
      for (int32_t k = 0; k < n; ++k) {
        sum += G[(size_t)k * (size_t)n + (size_t)i] * e->vc[first + k];
      }
      e->gamma[first + i] = sum;
    }
    G += (size_t)n * (size_t)n;
  }
  sap_tree_store_multiply(fm->system, &fm->balance.A, x, e->z);
  sap_generalized_impulse(p, e->gamma, y);
  for (int32_t i = 0; i < fm->system->nv; ++i) {
    y[i] += e->z[i];
  }
}

// z = A^-1 r; returns r . z.
static double precondition(sap_extrapolation* e) {
  sap_momentum_factor* factor = &e->stepper->solution.free_motion.factor;
  const int32_t nv = e->stepper->system.nv;
  memcpy(e->z, e->r, (size_t)nv * sizeof(double));
  for (int32_t g = 0; g < factor->ngroups; ++g) {
    sap_momentum_factor_solve(factor, g, e->z);
  }
  return sap_dot(nv, e->r, e->z);
}

// y = F x
static void filter(sap_extrapolation* e, const double* x, double* y) {
  const sap_free_motion* fm = &e->stepper->solution.free_motion;
  const int32_t nv = fm->system->nv;
  const bool* locked = fm->system->locked;
  sap_tree_store_multiply(fm->system, &e->M, x, e->r);
  for (int32_t i = 0; i < nv; ++i) {
    e->r[i] = locked != NULL && locked[i] ? 0.0 : e->r[i];
    e->p[i] = y[i] = 0.0;
  }
  double before = 1.0, first = 0.0;
  for (int k = 0; k < ITERATIONS_MAX; ++k) {
    const double now = precondition(e);
    first = k == 0 ? now : first;
    if (!(now > TOLERANCE * TOLERANCE * first)) {
      return;
    }
    for (int32_t i = 0; i < nv; ++i) {
      e->p[i] = e->z[i] + (k > 0 ? now / before : 0.0) * e->p[i];
    }
    multiply(e, e->p, e->Hp);
    const double step = now / sap_dot(nv, e->p, e->Hp);
    for (int32_t i = 0; i < nv; ++i) {
      y[i] += step * e->p[i];
      e->r[i] -= step * e->Hp[i];
    }
    before = now;
  }
}

// c -= DAMPING (1 - F)^2 c, of positions or velocities
static void damp(sap_extrapolation* e, double* c) {
  const int32_t nv = e->stepper->system.nv;
  double *x = e->work, *y = e->work + nv;
  filter(e, c, y);
  for (int32_t i = 0; i < nv; ++i) {
    x[i] = c[i] - y[i];
  }
  filter(e, x, y);
  for (int32_t i = 0; i < nv; ++i) {
    c[i] -= DAMPING * (x[i] - y[i]);
  }
}

static double measure(const sap_extrapolation* e, const double* x, int32_t* velocity) {
  const int32_t nv = e->stepper->system.nv;
  double worst = 0.0;
  for (int32_t i = 0; i < nv; ++i) {
    const double error = e->lengths[i] * fmax(fabs(x[i]), e->velocity_time * fabs(x[nv + i]));
    if (!(error <= worst)) {
      worst = error;
      *velocity = i;
    }
  }
  return worst;
}

sap_status sap_extrapolation_compare(sap_extrapolation* e, const sap_state* x2, const sap_state* x1,
                                     sap_extrapolated* out, sap_error* error) {
  const sap_system* system = &e->stepper->system;
  const int32_t nv = system->nv;
  double* c = e->c;
  memset(c, 0, (size_t)nv * sizeof(double));
  const int code = system->position_difference == NULL
                       ? 0
                       : system->position_difference(system->context, x1->q, x2->q, c);
  SAP_TRY(sap_callback_check("position_difference", code, error));
  for (int32_t i = 0; i < nv; ++i) {
    c[i] /= 3.0;
    c[nv + i] = (x2->v[i] - x1->v[i]) / 3.0;
  }
  *out = (sap_extrapolated){.order = 3};
  out->error = measure(e, c, &out->velocity);
  return SAP_STATUS_OK;
}

// Takes the error of x by the corrections before, if it is less.
static void estimate(sap_extrapolation* e, double middle, double h, sap_extrapolated* out) {
  const double *m = e->middles, h3 = h * h * h;
  const double *g0 = e->corrections[0], *g1 = e->corrections[1];
  for (int32_t i = 0; i < 2 * e->stepper->system.nv; ++i) {
    const double first = (e->c[i] / h3 - g1[i]) / (middle - m[1]);
    const double second = (first - (g1[i] - g0[i]) / (m[1] - m[0])) / (middle - m[0]);
    e->work[i] = e->known == 1 ? h3 * h * first : h3 * h * h * second;
  }
  int32_t velocity = 0;
  const double found = measure(e, e->work, &velocity);
  if (e->known > 0 && found < out->error) {
    out->error = found;
    out->velocity = velocity;
    out->order = 3 + e->known;
  }
}

sap_status sap_extrapolation_apply(sap_extrapolation* e, const sap_state* x0, const sap_state* x2,
                                   sap_state* x1, sap_extrapolated* out, sap_error* error) {
  const sap_system* system = &e->stepper->system;
  const double h = e->stepper->options.dt;
  SAP_TRY(set_filter(e, x0->q, error));
  damp(e, e->c);
  damp(e, e->c + system->nv);
  estimate(e, x0->t + 0.5 * h, h, out);
  const int code = system->integrate_positions(system->context, x2->q, e->c, 1.0, x1->q);
  SAP_TRY(sap_callback_check("integrate_positions", code, error));
  for (int32_t i = 0; i < system->nv; ++i) {
    x1->v[i] = x2->v[i] + e->c[system->nv + i];
  }
  return SAP_STATUS_OK;
}

void sap_extrapolation_keep(sap_extrapolation* e, double t, double h) {
  double* g = e->corrections[0];
  e->corrections[0] = e->corrections[1];
  e->corrections[1] = g;
  e->middles[0] = e->middles[1];
  e->middles[1] = t - 0.5 * h;
  for (int32_t i = 0; i < 2 * e->stepper->system.nv; ++i) {
    g[i] = e->c[i] / (h * h * h);
  }
  e->known = e->known < SAP_EXTRAPOLATION_DEPTH ? e->known + 1 : SAP_EXTRAPOLATION_DEPTH;
}
