// SPDX-License-Identifier: BSD-3-Clause
// Checks of a system's table of functions, contacts at the theta point of a step, states, notes.
#include <stdio.h>
#include <string.h>

#include <sapstep/system.h>

#include "core/error.h"
#include "core/memory.h"
#include "integrators/stepper.h"
#include "math/vector3.h"

static sap_status check_trees(const sap_system* system, sap_error* error) {
  SAP_FAIL_IF(system->ntrees < 1 || system->tree_sizes == NULL, error, SAP_STATUS_ARGUMENT,
              "system: ntrees = %d with tree_sizes %s: at least one tree is needed", system->ntrees,
              system->tree_sizes == NULL ? "NULL" : "given");
  int64_t sum = 0;
  for (int32_t t = 0; t < system->ntrees; ++t) {
    SAP_FAIL_IF(system->tree_sizes[t] < 1, error, SAP_STATUS_ARGUMENT,
                "system: tree_sizes[%d] = %d must be >= 1", t, system->tree_sizes[t]);
    sum += system->tree_sizes[t];
  }
  SAP_FAIL_IF(sum != system->nv, error, SAP_STATUS_ARGUMENT,
              "system: nv = %d must be the sum of tree_sizes, %lld", system->nv, (long long)sum);
  return SAP_STATUS_OK;
}

// Checks that each pair is given once, by a search per pair: couplings are few (springs between
// trees).
static sap_status check_couplings(const sap_system* system, sap_error* error) {
  SAP_FAIL_IF(system->ncouplings < 0 || (system->ncouplings > 0 && system->couplings == NULL),
              error, SAP_STATUS_ARGUMENT, "system: ncouplings = %d with couplings %s",
              system->ncouplings, system->couplings == NULL ? "NULL" : "given");
  for (int32_t c = 0; c < system->ncouplings; ++c) {
    const int32_t a = system->couplings[c][0];
    const int32_t b = system->couplings[c][1];
    SAP_FAIL_IF(a < 0 || a >= system->ntrees || b < 0 || b >= system->ntrees || a == b, error,
                SAP_STATUS_ARGUMENT,
                "system: couplings[%d] = {%d, %d} must be two different trees below %d", c, a, b,
                system->ntrees);
    for (int32_t e = 0; e < c; ++e) {
      const int32_t* other = system->couplings[e];
      SAP_FAIL_IF((other[0] == a && other[1] == b) || (other[0] == b && other[1] == a), error,
                  SAP_STATUS_ARGUMENT, "system: couplings[%d] = {%d, %d} repeats couplings[%d]", c,
                  a, b, e);
    }
  }
  return SAP_STATUS_OK;
}

sap_status sap_system_check(const sap_system* system, sap_error* error) {
  SAP_NOT_NULL(error, system);
  SAP_FAIL_IF(system->nq < 1, error, SAP_STATUS_ARGUMENT, "system: nq = %d must be >= 1",
              system->nq);
  SAP_FAIL_IF(
      system->na < 0 || (system->na > 0 && system->activations == NULL), error, SAP_STATUS_ARGUMENT,
      "system: na = %d must be >= 0, and 0 if the function activations is NULL", system->na);
  SAP_TRY(check_trees(system, error));
  SAP_TRY(check_couplings(system, error));
  const char* missing = system->mass_matrix == NULL           ? "mass_matrix"
                        : system->forces == NULL              ? "forces"
                        : system->integrate_positions == NULL ? "integrate_positions"
                                                              : NULL;
  SAP_FAIL_IF(missing != NULL, error, SAP_STATUS_ARGUMENT,
              "system: the function %s is required but NULL", missing);
  return SAP_STATUS_OK;
}

sap_status sap_step_displacement(const sap_step_context* step, int32_t nv, double* way,
                                 sap_error* error) {
  SAP_NOT_NULL(error, step, way);
  SAP_NOT_NULL(error, step->v0_free, step->v_guess);
  const double theta_vq = step->stage_theta_vq;
  const double time = step->stage_theta * step->dt;
  for (int32_t i = 0; i < nv; ++i) {
    way[i] = time * (theta_vq * step->v_guess[i] + (1.0 - theta_vq) * step->v0_free[i]);
  }
  return SAP_STATUS_OK;
}

bool sap_step_contact_is_within(const sap_step_context* step, double phi0, double vn0) {
  return step != NULL && step->stage_theta_vq < 1.0 && phi0 <= 0.0 && phi0 - step->dt * vn0 <= 0.0;
}

// Component of u along the tangent t at q^theta, turned from n to n0 by the smallest rotation:
//   t0 = t - (n0 . t)/(1 + n . n0) (n + n0)
static double dot_turned_tangent(const double t[3], const double n[3], const double n0[3],
                                 const double u[3]) {
  const double ratio = sap_v3_dot(n0, t) / (1.0 + sap_v3_dot(n, n0));
  return sap_v3_dot(t, u) - ratio * (sap_v3_dot(n, u) + sap_v3_dot(n0, u));
}

sap_status sap_contact_block_move(const sap_step_context* step, const sap_contact_move* move,
                                  sap_contact_block* block, sap_error* error) {
  SAP_NOT_NULL(error, step, move, block);
  const double *R = move->R_WC_theta, *n0 = move->normal0, *u0 = move->velocity0;
  SAP_FAIL_IF(!(1.0 + sap_v3_dot(R + 6, n0) > 0.0) || !(step->stage_theta > 0.0), error,
              SAP_STATUS_ARGUMENT,
              "sap_contact_block_move: n . n0 = %g must be > -1 and stage_theta = %g > 0",
              sap_v3_dot(R + 6, n0), step->stage_theta);
  const double ratio = (1.0 - step->stage_theta) / step->stage_theta;
  const double t1 = dot_turned_tangent(R, R + 6, n0, u0);
  const double t2 = dot_turned_tangent(R + 3, R + 6, n0, u0);
  block->phi0 = move->phi0;
  block->gap_change = move->phi_theta - move->normal_displacement - move->phi0;
  block->velocity_change[0] = ratio * (move->velocity_theta[0] - t1);
  block->velocity_change[1] = ratio * (move->velocity_theta[1] - t2);
  block->velocity_change[2] = ratio * (move->velocity_theta[2] - sap_v3_dot(n0, u0));
  return SAP_STATUS_OK;
}

void sap_step_turn_columns(const sap_step_rotation* rotations, int32_t count, bool J, size_t n,
                           size_t columns, const double* X, double* out) {
  memcpy(out, X, n * columns * sizeof *X);
  for (int32_t k = 0; k < count; ++k) {
    const double* R = J ? rotations[k].J : rotations[k].T;
    const size_t first = (size_t)rotations[k].first;
    for (size_t c = 0; c < 3; ++c) {
      for (size_t i = 0; i < n; ++i) {
        out[n * (first + c) + i] = R[3 * c] * X[n * first + i] +
                                   R[3 * c + 1] * X[n * (first + 1) + i] +
                                   R[3 * c + 2] * X[n * (first + 2) + i];
      }
    }
  }
}

void sap_step_turn_vector(const sap_step_rotation* rotations, int32_t count, bool J, double* x) {
  for (int32_t k = 0; k < count; ++k) {
    const double* R = J ? rotations[k].J : rotations[k].T;
    double* part = x + rotations[k].first;
    const double a = part[0], b = part[1], c = part[2];
    for (int i = 0; i < 3; ++i) {
      part[i] = R[i] * a + R[3 + i] * b + R[6 + i] * c;
    }
  }
}

sap_status sap_state_resize_with(sap_state* state, int32_t nq, int32_t nv, int32_t na,
                                 sap_error* error) {
  SAP_FAIL_IF(state == NULL || nq < 0 || nv < 0 || na < 0, error, SAP_STATUS_ARGUMENT,
              "state: nq = %d, nv = %d and na = %d must be >= 0 and the state not NULL", (int)nq,
              (int)nv, (int)na);
  if (state->q != NULL && state->v != NULL && state->nq == nq && state->nv == nv &&
      state->na == na) {
    return SAP_STATUS_OK;
  }
  double* q = sap_allocate((size_t)nq, sizeof *q);
  double* v = sap_allocate((size_t)nv, sizeof *v);
  double* act = na > 0 ? sap_allocate((size_t)na, sizeof *act) : NULL;
  if (q == NULL || v == NULL || (na > 0 && act == NULL)) {
    sap_free(q);
    sap_free(v);
    sap_free(act);
    return sap_fail(error, SAP_STATUS_MEMORY, "out of memory: state of nq = %d, nv = %d, na = %d",
                    (int)nq, (int)nv, (int)na);
  }
  sap_free(state->q);
  sap_free(state->v);
  sap_free(state->act);
  *state = (sap_state){.t = state->t, .q = q, .v = v, .nq = nq, .nv = nv, .act = act, .na = na};
  return SAP_STATUS_OK;
}

sap_status sap_state_resize(sap_state* state, int32_t nq, int32_t nv, sap_error* error) {
  return sap_state_resize_with(state, nq, nv, 0, error);
}

void sap_state_clear(sap_state* state) {
  if (state == NULL) {
    return;
  }
  sap_free(state->q);
  sap_free(state->v);
  sap_free(state->act);
  *state = (sap_state){0};
}

static void copy_numbers(double* to, const double* from, int32_t count) {
  if (count > 0) {
    memmove(to, from, (size_t)count * sizeof *to);
  }
}

sap_status sap_state_copy(const sap_state* from, sap_state* to, sap_error* error) {
  SAP_NOT_NULL(error, from, to);
  SAP_FAIL_IF(from->nq != to->nq || from->nv != to->nv, error, SAP_STATUS_ARGUMENT,
              "state: nq = %d, nv = %d cannot be copied to nq = %d, nv = %d", (int)from->nq,
              (int)from->nv, (int)to->nq, (int)to->nv);
  SAP_FAIL_IF(from->na != to->na, error, SAP_STATUS_ARGUMENT,
              "state: na = %d cannot be copied to na = %d", (int)from->na, (int)to->na);
  to->t = from->t;
  copy_numbers(to->q, from->q, from->nq);
  copy_numbers(to->v, from->v, from->nv);
  copy_numbers(to->act, from->act, from->na);
  return SAP_STATUS_OK;
}

bool sap_derivatives_note(bool applies, char* notes, const char* text) {
  const size_t length = applies ? strlen(notes) : 0;
  if (applies && strstr(notes, text) == NULL && length + 1 < SAP_DERIVATIVE_NOTES) {
    (void)snprintf(notes + length, SAP_DERIVATIVE_NOTES - length, "%s%s", length > 0 ? "; " : "",
                   text);
  }
  return applies;
}
