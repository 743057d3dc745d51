// SPDX-License-Identifier: BSD-3-Clause
// Derivatives of solutions against central differences of solves, on problems of all kinds of blocks
// with couplings and blocks on three trees; forward against reverse products. contact_gradients.py
// has a complex step, with more digits.
#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include <sapstep/gradient.h>

#include "problem/problem_data.h"
#include "support/near.h"
#include "support/pile.h"
#include "support/solve.h"

static double draw(uint64_t* seed) {
  *seed = *seed * UINT64_C(6364136223846793005) + UINT64_C(1442695040888963407);
  return (double)(*seed >> 11) * 0x1p-52 - 1.0;
}

static double* array(int64_t count) {
  double* made = calloc((size_t)count + 1, sizeof *made);
  assert_non_null(made);
  return made;
}

// A direction in all data of the problem. Differences of R and mu are relative to them.
static sap_problem_tangent make_direction(const sap_problem* p, uint64_t seed) {
  const sap_gradient_counts n = sap_gradient_count(p);
  sap_problem_tangent d;
#define SAP_X(name, count)                \
  double* name = array(n.count);          \
  for (int64_t i = 0; i < n.count; ++i) { \
    name[i] = draw(&seed);                \
  }                                       \
  d.name = name;
  SAP_GRADIENT_FIELDS(SAP_X)
#undef SAP_X
  for (int64_t i = 0; i < n.momentum; ++i) {
    A[i] *= 0.01;
  }
  for (int32_t b = 0; b < p->nblocks; ++b) {
    const sap_block_data* block = &p->blocks[b];
    friction[b] *= block->friction;
    lagged_impulse[b] *= block->lagged_impulse;
    for (int32_t i = 0; i < block->nrows; ++i) {  // all tangents of a contact have one R
      double* R_i = R + block->first_row + i;
      const bool tangent = block->set != SAP_SET_BOX && block->set != SAP_SET_FREE &&
                           block->set != SAP_SET_NONNEGATIVE && i != 2;
      *R_i = tangent && i > 0 ? R[block->first_row] : *R_i * p->R[block->first_row + i];
    }
  }
  return d;
}

static void free_direction(const sap_problem_tangent* d) {
#define SAP_X(name, count) free((void*)d->name);
  SAP_GRADIENT_FIELDS(SAP_X)
#undef SAP_X
}

static void move(double* to, const double* from, const double* d, double h, int64_t count) {
  for (int64_t i = 0; i < count; ++i) {
    to[i] = from[i] + (h != 0.0 ? h * d[i] : 0.0);
  }
}

// `from` + h d. The library's A has full squares; d's need not be symmetric.
static void fill_moved(const sap_problem* from, const sap_problem_tangent* d, double h,
                       sap_problem* to) {
  double* work = array(from->nv * from->nv + from->njacobian_values + 8 * from->nrows);
  const double* dA = d->A;
  assert_int_equal(sap_problem_reset(to, from->dt, from->ntrees, from->tree_size, NULL), 0);
  for (int32_t t = 0; t < from->ntrees; ++t) {
    const int32_t n = from->tree_size[t];
    for (int32_t k = 0; k < n * n; ++k) {
      const int32_t mirrored = k % n * n + k / n;
      work[k] = from->diagonal[from->diagonal_start[t] + k] + h * 0.5 * (dA[k] + dA[mirrored]);
    }
    assert_int_equal(sap_problem_set_momentum_block(to, t, t, work, n, NULL), 0);
    dA += n * n;
  }
  for (int32_t c = 0; c < from->ncouplings; ++c) {
    const sap_coupling* k = &from->couplings[c];
    const int32_t na = from->tree_size[k->tree_a], nb = from->tree_size[k->tree_b];
    move(work, from->coupling_values + k->values, dA + k->values, h, na * nb);
    assert_int_equal(sap_problem_set_momentum_block(to, k->tree_a, k->tree_b, work, na, NULL), 0);
  }
  move(work, from->v_star, d->v_star, h, from->nv);
  assert_int_equal(sap_problem_set_v_star(to, work, NULL), 0);
  for (int32_t b = 0; b < from->nblocks; ++b) {
    sap_block block;
    int32_t row;
    const double* views[8];
    assert_int_equal(sap_problem_block(from, b, &block, &row, NULL), 0);
    const int32_t n = block.nrows;
    double *R = work, *v_hat = R + n, *lower = v_hat + n, *upper = lower + n, *J = upper + n;
    move(R, block.R, d->R + row, h, n);
    move(v_hat, block.v_hat, d->v_hat + row, h, n);
    if (block.lower != NULL) {
      move(lower, block.lower, d->lower + row, h, n);
      move(upper, block.upper, d->upper + row, h, n);
      block.lower = lower;
      block.upper = upper;
    }
    for (int32_t t = 0; t < block.ntrees; ++t) {
      const int32_t size = n * from->tree_size[block.trees[t]];
      move(J, block.jacobians[t], d->J + (block.jacobians[t] - from->jacobian_values), h, size);
      views[t] = J;
      J += size;
    }
    block.R = R;
    block.v_hat = v_hat;
    block.jacobians = views;
    block.friction += h * d->friction[b];
    block.lagged_impulse += h * d->lagged_impulse[b];
    assert_int_equal(sap_problem_add_block(to, &block, NULL), 0);
  }
  free(work);
}

static void solve_tightly(const char* solver, const sap_problem* p, sap_solution* solution) {
  sap_solver_options options = sap_solver_options_default();
  options.relative_tolerance = 1e-14;
  (void)solve_problem(solver, &options, p, solution, NULL);
}

// (f(h) - f(-h))/2h of the solution.
static void difference(const char* solver, const sap_problem* p, const sap_problem_tangent* d,
                       double h, double* dv, double* dgamma) {
  sap_problem* moved = NULL;
  sap_solution end[2] = {{0}, {0}};
  assert_int_equal(sap_problem_create(&moved, NULL), 0);
  for (int side = 0; side < 2; ++side) {
    fill_moved(p, d, side == 0 ? h : -h, moved);
    solve_tightly(solver, moved, &end[side]);
  }
  for (int32_t i = 0; i < p->nv; ++i) {
    dv[i] = (end[0].v[i] - end[1].v[i]) / (2.0 * h);
  }
  for (int32_t i = 0; i < p->nrows; ++i) {
    dgamma[i] = (end[0].gamma[i] - end[1].gamma[i]) / (2.0 * h);
  }
  sap_solution_clear(&end[0]);
  sap_solution_clear(&end[1]);
  sap_problem_destroy(moved);
}

static double distance(const double* a, const double* b, int32_t count, double* size) {
  double sum = 0.0, scale = 0.0;
  for (int32_t i = 0; i < count; ++i) {
    sum += (a[i] - b[i]) * (a[i] - b[i]);
    scale += b[i] * b[i];
  }
  *size = sqrt(scale);
  return sqrt(sum);
}

// <cotangents, d> = <v_bar, dv> + <gamma_bar, dgamma>
static void check_reverse(sap_gradient* g, const sap_problem* p, const sap_problem_tangent* d,
                          const double* dv, const double* dgamma, uint64_t seed) {
  const sap_gradient_counts n = sap_gradient_count(p);
  double *v_bar = array(n.nv), *gamma_bar = array(n.nrows), forward = 0.0, reverse = 0.0,
         size = 0.0;
  for (int64_t i = 0; i < n.nv; ++i) {
    v_bar[i] = draw(&seed);
    forward += v_bar[i] * dv[i];
    size += fabs(v_bar[i] * dv[i]);
  }
  for (int64_t i = 0; i < n.nrows; ++i) {
    gamma_bar[i] = draw(&seed);
    forward += gamma_bar[i] * dgamma[i];
    size += fabs(gamma_bar[i] * dgamma[i]);
  }
  sap_problem_cotangent bars;
#define SAP_X(name, count) bars.name = array(n.count);
  SAP_GRADIENT_FIELDS(SAP_X)
#undef SAP_X
  assert_int_equal(sap_gradient_vjp(g, v_bar, gamma_bar, &bars, NULL), SAP_STATUS_OK);
#define SAP_X(name, count)                   \
  for (int64_t i = 0; i < n.count; ++i) {    \
    reverse += bars.name[i] * d->name[i];    \
    size += fabs(bars.name[i] * d->name[i]); \
  }                                          \
  free(bars.name);
  SAP_GRADIENT_FIELDS(SAP_X)
#undef SAP_X
  ASSERT_NEAR(forward, reverse, 1e-12 * size);  // round-off of the sums and solves
  free(v_bar);
  free(gamma_bar);
}

// Counts of the report by the impulses alone.
static void check_counts(const sap_problem* p, const sap_solution* solution,
                         const sap_gradient_report* report) {
  int32_t contacts = 0, inside = 0, at_bound = 0;
  for (int32_t b = 0; b < sap_problem_block_count(p); ++b) {
    sap_block block;
    int32_t row;
    assert_int_equal(sap_problem_block(p, b, &block, &row, NULL), SAP_STATUS_OK);
    const bool box = block.set == SAP_SET_BOX, free = block.set == SAP_SET_FREE;
    const bool contact = !box && !free && block.set != SAP_SET_NONNEGATIVE;
    contacts += contact;
    for (int32_t i = 0; !contact && i < block.nrows; ++i) {
      const double gamma = solution->gamma[row + i];
      const double lower = box ? block.lower[i] : 0.0, upper = box ? block.upper[i] : 0.0;
      // newton-ncp scales impulses: a last bit.
      const double nearest = fmin(fabs(gamma - lower), fabs(gamma - upper));
      const bool bound = nearest <= 1e-14 * (upper - lower);
      at_bound += bound && !free;
      inside += !bound || free;
    }
  }
  assert_int_equal(report->open + report->sticking + report->sliding, contacts);
  assert_int_equal(report->inside, inside);
  assert_int_equal(report->at_bound, at_bound);
}

// model SAP_CONTACT_MODEL_COUNT: exact Coulomb friction.
static void check(sap_contact_model model, uint32_t seed, sap_gradient_report* total) {
  const bool coulomb = model == SAP_CONTACT_MODEL_COUNT;
  const char* solver = coulomb ? "newton-ncp" : "sap";
  pile_options pile = pile_options_default();
  pile.mixed = true;
  pile.seed = seed;
  pile.trees = 5;
  pile.contacts = 9;
  pile.regularization.sigma = seed % 2 == 0 ? 1e-3 : 1.0;  // more contacts stick
  pile.stiction_tolerance = seed % 2 == 0 ? 1e-3 : 1.0;
  pile.dissipation = seed % 3 == 0 ? 0.0 : 2.0;
  for (int i = 0; i < 3; ++i) {
    pile.models[i] = coulomb ? SAP_CONTACT_SAP : model;
  }
  sap_problem* p = pile_problem(&pile);
  sap_solution solution = {0};
  sap_gradient* g = NULL;
  sap_gradient_report report;
  sap_error error = {0};
  sap_gradient_options options = sap_gradient_options_default();
  options.coulomb = coulomb;
  solve_tightly(solver, p, &solution);
  assert_int_equal(sap_gradient_create(&options, &g, NULL), SAP_STATUS_OK);
  if (sap_gradient_problem(g, p, &solution, &report, &error) != SAP_STATUS_OK) {
    fail_msg("%s", error.message);
  }
  check_counts(p, &solution, &report);
  const sap_problem_tangent d = make_direction(p, seed);
  double *dv = array(p->nv), *dgamma = array(p->nrows), *v = array(p->nv), *gamma = array(p->nrows);
  assert_int_equal(sap_gradient_jvp(g, &d, dv, dgamma, NULL), SAP_STATUS_OK);
  check_reverse(g, p, &d, dv, dgamma, seed);
  difference(solver, p, &d, 1e-6, v, gamma);
  double size = 0.0;
  // Errors of differences: h^2 of the third derivative, and solves to 1e-13 over h.
  const double miss_v = distance(dv, v, p->nv, &size);
  assert_true(report.kinks > 0 || miss_v <= 1e-6 * size);
  const double miss_gamma = distance(dgamma, gamma, p->nrows, &size);
  assert_true(report.kinks > 0 || miss_gamma <= 1e-5 * size);
  total->open += report.open;
  total->sticking += report.sticking;
  total->sliding += report.sliding;
  total->inside += report.inside;
  total->at_bound += report.at_bound;
  total->kinks += report.kinks;
  double* const arrays[] = {dv, dgamma, v, gamma};
  for (int i = 0; i < 4; ++i) {
    free(arrays[i]);
  }
  free_direction(&d);
  sap_gradient_destroy(g);
  sap_solution_clear(&solution);
  sap_problem_destroy(p);
}

static void test_differences(void** unused) {
  (void)unused;
  for (int model = 0; model <= (int)SAP_CONTACT_MODEL_COUNT; ++model) {
    sap_gradient_report total = {0};
    for (uint32_t seed = 1; seed <= 12; ++seed) {
      check((sap_contact_model)model, seed, &total);
    }
    // All modes were met.
    assert_true(total.open > 5 && total.sticking > 5 && total.sliding > 5);
    assert_true(total.inside > 5 && total.at_bound > 5 && total.kinks < 5);
  }
}

int main(void) {
  const struct CMUnitTest tests[] = {cmocka_unit_test(test_differences)};
  return cmocka_run_group_tests(tests, NULL, NULL);
}
