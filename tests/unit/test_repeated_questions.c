// SPDX-License-Identifier: BSD-3-Clause
// The engine answers what it was asked before for a part of the trees from memory: bit by bit what
// an engine that was never asked anything says.
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include <cmocka.h>

#include <sapstep/multibody.h>

#include "support/mixed_model.h"

// Time by which positions move [s]; the balance may use another time.
#define STEP 0.01

typedef struct question {
  double q0[MIXED_NQ], v0[MIXED_NV], v[MIXED_NV];
  double dt;
  bool load;    // asked for
  bool locked;  // the last joint
} question;

typedef struct answer {
  double q[MIXED_NQ], m[MIXED_NV], load[MIXED_NV], M[MIXED_NV * MIXED_NV];
} answer;

static uint32_t next(uint32_t* seed) {
  *seed = *seed * 1664525u + 1013904223u;
  return *seed >> 8;
}

static double number(uint32_t* seed) {  // in (-1, 1)
  return (double)next(seed) / 8388608.0 - 1.0;
}

static void ask(sap_multibody* multibody, const sap_model* model, const question* of, answer* out) {
  const sap_system* system = sap_multibody_system(multibody);
  memset(out, 0, sizeof *out);
  double *blocks[MIXED_TREES], *block = out->M;
  for (int32_t t = 0; t < system->ntrees; ++t) {
    blocks[t] = block;
    block += system->tree_sizes[t] * system->tree_sizes[t];
  }
  const sap_tree_matrix M = {.diagonal = blocks};
  const int32_t joint = sap_model_get_sizes(model).joints - 1;
  if (system->locked[system->nv - 1] != of->locked) {
    assert_int_equal(sap_multibody_lock(multibody, joint, of->locked, NULL), SAP_STATUS_OK);
  }
  assert_int_equal(system->integrate_positions(system->context, of->q0, of->v, STEP, out->q), 0);
  const sap_step_context step = {.dt = of->dt, .q0 = of->q0, .v0 = of->v0};
  assert_int_equal(system->momentum_balance(system->context, &step, out->q, of->v, out->m,
                                            of->load ? out->load : NULL),
                   0);
  assert_int_equal(system->mass_matrix(system->context, out->q, &M), 0);
}

// Some trees, sometimes none, get other velocities; now and then all else changes.
static void change(question* of, const sap_system* system, uint32_t* seed) {
  for (int32_t t = 0, i = 0; t < system->ntrees; ++t) {
    const bool moves = next(seed) % 2 == 0;
    for (int32_t end = i + system->tree_sizes[t]; i < end; ++i) {
      of->v[i] += moves ? 0.1 * number(seed) : 0.0;
    }
  }
  const uint32_t what = next(seed) % 16;
  if (what == 0) {
    of->v0[next(seed) % MIXED_NV] = number(seed);
  } else if (what == 1) {
    of->dt = STEP + 0.005 * number(seed);
  } else if (what == 2) {
    of->locked = !of->locked;
  } else if (what == 3) {
    double q[MIXED_NQ];
    assert_int_equal(system->integrate_positions(system->context, of->q0, of->v, STEP, q), 0);
    memcpy(of->q0, q, sizeof q);
    memcpy(of->v0, of->v, sizeof of->v0);
  }
  of->load = next(seed) % 4 == 0;
}

static void test_answers(void** state) {
  (void)state;
  sap_model* model = mixed_model();
  sap_multibody *old = NULL, *fresh = NULL;
  assert_non_null(model);
  assert_int_equal(sap_multibody_create(model, &old, NULL), SAP_STATUS_OK);
  const sap_system* system = sap_multibody_system(old);
  assert_int_equal(system->ntrees, MIXED_TREES);
  question of = {.dt = STEP};
  memcpy(of.q0, mixed_q, sizeof of.q0);
  memcpy(of.v0, mixed_v, sizeof of.v0);
  memcpy(of.v, mixed_v, sizeof of.v);
  uint32_t seed = 3;
  for (int round = 0; round < 400; ++round) {
    answer expected, found;
    change(&of, system, &seed);
    assert_int_equal(sap_multibody_create(model, &fresh, NULL), SAP_STATUS_OK);
    ask(fresh, model, &of, &expected);
    ask(old, model, &of, &found);
    sap_multibody_destroy(fresh);
    assert_true(expected.m[0] != 0.0 && expected.M[0] > 0.0);
    assert_memory_equal(&found, &expected, sizeof found);
  }
  sap_multibody_destroy(old);
  sap_model_destroy(model);
}

int main(void) {
  const struct CMUnitTest tests[] = {cmocka_unit_test(test_answers)};
  return cmocka_run_group_tests(tests, NULL, NULL);
}
