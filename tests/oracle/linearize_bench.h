// SPDX-License-Identifier: BSD-3-Clause
// Derivatives of whole steps against central differences of steps at tight tolerances, for the same
// set of contacts: what the tests of linearize.h share.
#ifndef TESTS_ORACLE_LINEARIZE_BENCH_H
#define TESTS_ORACLE_LINEARIZE_BENCH_H

#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include <sapstep/linearize.h>
#include <sapstep/multibody.h>

#include "support/scene_text.h"

#define TOLERANCE 1e-7  // of a column, relative to it and to the matrix's largest entry
static double tolerance = TOLERANCE;

typedef struct bench {
  sap_model* model;
  sap_model_sizes sizes;
  sap_multibody* multibody;
  const sap_system* system;
  sap_stepper* stepper;
  sap_state start, end;
  double* u;
  int32_t contacts;
  bool midpoint;          // the scheme
  unsigned char* memory;  // with which each step begins; NULL: none
  size_t size;
} bench;

typedef struct bench_options {
  sap_scheme scheme;
  bool remember;
  sap_contact_model model;
  bool within;  // laws act where the scheme has them
} bench_options;

static inline bench open_bench_with(const char* text, bench_options with) {
  bench b = {.model = scene_text_model("scene.xml", text, NULL),
             .midpoint = with.scheme == SAP_SCHEME_MIDPOINT};
  sap_stepper_options options = sap_stepper_options_default();
  b.sizes = sap_model_get_sizes(b.model);
  assert_int_equal(sap_multibody_create(b.model, &b.multibody, NULL), SAP_STATUS_OK);
  b.system = sap_multibody_system(b.multibody);
  assert_int_equal(sap_stepper_options_set_scheme(&options, with.scheme, NULL), SAP_STATUS_OK);
  options.contact_stage = with.within ? SAP_STAGE_AUTO : SAP_STAGE_END;
  options.remember = with.remember;
  options.contact_model = with.model;
  options.balance_tolerance = 1e-13;
  options.solver_options.relative_tolerance = 1e-14;
  options.solver_options.absolute_tolerance = 1e-16;
  assert_int_equal(sap_stepper_create(b.system, &options, &b.stepper, NULL), SAP_STATUS_OK);
  assert_int_equal(sap_state_resize_with(&b.start, b.sizes.nq, b.sizes.nv, b.sizes.na, NULL),
                   SAP_STATUS_OK);
  assert_int_equal(sap_state_resize_with(&b.end, b.sizes.nq, b.sizes.nv, b.sizes.na, NULL),
                   SAP_STATUS_OK);
  assert_int_equal(sap_model_get_default_state(b.model, &b.start, NULL), SAP_STATUS_OK);
  b.u = calloc((size_t)b.sizes.nu + 1, sizeof(double));
  return b;
}

static inline bench open_bench(const char* text, sap_scheme scheme) {
  return open_bench_with(text, (bench_options){scheme, false, SAP_CONTACT_BY_MATERIAL, false});
}

static inline void close_bench(bench* b) {
  free(b->memory);
  sap_state_clear(&b->start);
  sap_state_clear(&b->end);
  sap_stepper_destroy(b->stepper);
  sap_multibody_destroy(b->multibody);
  sap_model_destroy(b->model);
  free(b->u);
}

// Steps from `start` to `end`.
static inline void step(bench* b, const sap_state* start) {
  sap_error error = {0};
  sap_step_report report;
  assert_int_equal(sap_state_copy(start, &b->end, NULL), SAP_STATUS_OK);
  assert_int_equal(sap_multibody_set_control(b->multibody, b->u, NULL), SAP_STATUS_OK);
  if (b->memory != NULL) {
    assert_int_equal(sap_stepper_load_memory(b->stepper, b->memory, b->size, NULL), SAP_STATUS_OK);
  }
  if (sap_stepper_step(b->stepper, &b->end, &report, &error) != SAP_STATUS_OK) {
    fail_msg("%s", error.message);
  }
  b->contacts = sap_multibody_contact_count(b->multibody);
}

// Steps the start itself `count` times: to contact and sliding.
static inline void warm_up(bench* b, int count) {
  for (int i = 0; i < count; ++i) {
    step(b, &b->start);
    assert_int_equal(sap_state_copy(&b->end, &b->start, NULL), SAP_STATUS_OK);
  }
}

// Differences of [q1; v1] by input k: of q0, v0, u, with half width h. The input of an actuator with
// activation is that at the start, or the mean of both ends in the midpoint scheme.
static inline void differentiate(bench* b, int32_t k, double h, double* column) {
  const int32_t nv = b->sizes.nv;
  sap_state moved = {0};
  double* q[2] = {calloc((size_t)b->sizes.nq, 8), calloc((size_t)b->sizes.nq, 8)};
  double *v[2] = {calloc((size_t)nv, 8), calloc((size_t)nv, 8)}, *e = calloc((size_t)nv, 8);
  const int32_t contacts = b->contacts;
  double act[2] = {0.0}, of_input = 1.0;
  assert_int_equal(sap_state_resize_with(&moved, b->sizes.nq, nv, b->sizes.na, NULL),
                   SAP_STATUS_OK);
  for (int side = 0; side < 2; ++side) {
    const double way = side == 0 ? -h : h;
    assert_int_equal(sap_state_copy(&b->start, &moved, NULL), SAP_STATUS_OK);
    if (k < nv) {
      e[k] = way;
      b->system->integrate_positions(b->system->context, b->start.q, e, 1.0, moved.q);
    } else if (k < 2 * nv) {
      moved.v[k - nv] += way;
    } else if (b->sizes.na > 0) {  // of scenes where all actuators have one
      moved.act[k - 2 * nv] += way;
    } else {
      b->u[k - 2 * nv] += way;
    }
    step(b, &moved);
    assert_int_equal(b->contacts, contacts);
    if (k >= 2 * nv && b->sizes.na == 0) {
      b->u[k - 2 * nv] -= way;
    }
    act[side] = k >= 2 * nv && b->sizes.na > 0 ? b->end.act[k - 2 * nv] : 0.0;
    memcpy(q[side], b->end.q, (size_t)b->sizes.nq * sizeof(double));
    memcpy(v[side], b->end.v, (size_t)nv * sizeof(double));
  }
  if (k >= 2 * nv && b->sizes.na > 0 && b->midpoint) {
    of_input = 0.5 + 0.25 * (act[1] - act[0]) / h;
  }
  b->system->position_difference(b->system->context, q[0], q[1], column);
  for (int32_t i = 0; i < nv; ++i) {
    column[i] /= 2.0 * h * of_input;
    column[nv + i] = (v[1][i] - v[0][i]) / (2.0 * h * of_input);
  }
  sap_state_clear(&moved);
  for (int side = 0; side < 2; ++side) {
    free(q[side]);
    free(v[side]);
  }
  free(e);
}

static inline double largest(const double* x, size_t n) {
  double most = 0.0;
  for (size_t i = 0; i < n; ++i) {
    most = fmax(most, fabs(x[i]));
  }
  return most;
}

// Compares all columns. Differences of two widths, extrapolated, show the truth to 1e-9 or so; where
// they reach a kink of the law they are made narrower.
static inline void check(bench* b, const char* name, int32_t contacts, const char* notes) {
  const size_t n = (size_t)b->sizes.nv, nu = (size_t)b->sizes.nu, rows = 2 * n;
  double* AB = calloc(rows * (rows + nu), sizeof(double));
  double *coarse = calloc(rows, 8), *fine = calloc(rows, 8);
  double *x = calloc(rows, 8), *back = calloc(rows + nu, 8), *again = calloc(rows + nu, 8);
  sap_linearize_report report;
  sap_error error = {0};
  step(b, &b->start);
  if (contacts >= 0) {
    if (b->contacts != contacts) {
      fail_msg("%s: %d contacts", name, b->contacts);
    }
  }
  for (size_t i = 0; i < rows; ++i) {
    x[i] = sin(1.0 + (double)i);
  }
  const sap_step_gradients
      first = {.dq1 = x, .dv1 = x + n, .dq0 = back, .dv0 = back + n, .du = back + rows},
      second = {.dq1 = x, .dv1 = x + n, .dq0 = again, .dv0 = again + n, .du = again + rows};
  // Without the matrices, twice, and with them.
  for (int i = 0; i < 2; ++i) {
    if (sap_stepper_vjp(b->stepper, &first, NULL, &error) != 0) {
      fail_msg("%s: %s", name, error.message);
    }
    if (i == 0) {
      memcpy(again, back, (rows + nu) * sizeof(double));
    }
  }
  assert_memory_equal(back, again, (rows + nu) * sizeof(double));
  if (sap_stepper_linearize(b->stepper, AB, AB + rows * rows, &report, &error) != SAP_STATUS_OK) {
    fail_msg("%s: %s", name, error.message);
  }
  assert_true(report.iterations >= 1 && report.correction >= report.last_correction);
  assert_int_equal(sap_stepper_vjp(b->stepper, &second, NULL, NULL), SAP_STATUS_OK);
  const double most = largest(AB, rows * (rows + nu));
  double worst = 0.0, worst_vjp = 0.0;
  for (size_t k = 0; k < rows + nu; ++k) {
    const double* column = AB + rows * k;
    const double scale = largest(column, rows) + 0.01 * most;
    double product = 0.0, terms = 0.0, error_k = HUGE_VAL;
    for (double h = 1e-5; h > 5e-8 && error_k > tolerance * scale; h *= 0.1) {
      error_k = 0.0;
      differentiate(b, (int32_t)k, 2.0 * h, coarse);
      differentiate(b, (int32_t)k, h, fine);
      for (size_t i = 0; i < rows; ++i) {
        error_k = fmax(error_k, fabs((4.0 * fine[i] - coarse[i]) / 3.0 - column[i]));
      }
    }
    for (size_t i = 0; i < rows; ++i) {
      product += column[i] * x[i];
      terms += fabs(column[i] * x[i]);  // round-off is relative to these
    }
    terms = fmax(terms, scale);
    worst = fmax(worst, error_k / scale);
    worst_vjp = fmax(worst_vjp, fabs(product - back[k]) / terms);
    worst_vjp = fmax(worst_vjp, fabs(product - again[k]) / terms);
  }
  // G of rigid rows is 1e6 times A: round-off of J' G dJ v.
  const double same = strstr(notes, "equalities") != NULL ? 1e-9 : 1e-12;
  if (!(worst <= tolerance && worst_vjp <= same)) {
    fail_msg("%s: %d contacts, error %.2g, of the vjp %.2g", name, b->contacts, worst, worst_vjp);
  }
  if (strstr(notes, "equalities") != NULL) {
    assert_non_null(strstr(report.notes, notes));
  } else {
    assert_string_equal(report.notes, notes);
  }
  free(AB);
  free(coarse);
  free(fine);
  free(x);
  free(back);
  free(again);
}

#define WORLD "<mujoco><option timestep='0.005'/><worldbody>"
#define FLOOR "<geom name='floor' type='plane' size='5 5 1' friction='0.6'/>"

#define ARM                                                                                       \
  "<body pos='0 0 1'><joint name='a' type='ball' damping='.3' stiffness='2'/><geom "              \
  "type='capsule' size='.05' fromto='0 0 0 .3 .1 0'/><body pos='.3 .1 0'><joint name='b' "        \
  "axis='0 1 0' damping='.1' stiffness='3' springref='20'/><joint name='s' type='slide' axis='1 " \
  "0 0' armature='.2'/><geom type='capsule' size='.04' fromto='0 0 0 .3 0 -.1'/><body "           \
  "pos='.3 0 -.1'><joint name='c' axis='0 .6 .8'/><geom type='box' size='.1 .05 .03' "            \
  "pos='.1 0 0'/></body></body></body>"

#endif
