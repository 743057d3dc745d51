// SPDX-License-Identifier: BSD-3-Clause
// The law of a problem's contacts and compliant rows, and what a solution changes in it.
//
// Predictions of the slip that miss (src/contact/contact_law.c (3)) are repaired by solving again
// with the slip of the solution.
#include "problem/law.h"

#include <math.h>
#include <string.h>

#include "core/memory.h"
#include "problem/blocks.h"
#include "problem/factor.h"

// Solutions are repeated where shifts change by more than this part of the load, Rn gamma_n.
static const double SHIFT_TOLERANCE = 1e-5;
// or, at the end of the step, by more than this part of what is too much.
static const double SETTLED = 1e-3;
// Shifts converge linearly, by this ratio or less.
static const double FASTEST = 0.9;
// Largest share of a miss of closure that v_hat is shifted by.
static const double CLOSURE_SHARE_MAX = 2.0;
// n0 differs from gamma_n if by more than this part of the larger, and if friction by the
// difference changes the velocity by more than this part of v_s.
static const double LAG_TOLERANCE = 1e-6, LAG_SPEED = 1e-3;

static sap_status check_range(const char* name, double value, double lower, sap_error* error) {
  return value >= lower && value <= 1.0
             ? SAP_STATUS_OK
             : sap_fail(error, SAP_STATUS_ARGUMENT, "%s = %g must be in [%g, 1]", name, value,
                        lower);
}

static sap_status check_scheme(const sap_contact_scheme* s, sap_error* error) {
  SAP_TRY(check_range("theta", s->theta, 0.5, error));
  SAP_TRY(check_range("theta_vq", s->theta_vq, 0.5, error));
  SAP_TRY(check_range("restitution", s->restitution, 0.0, error));
  SAP_TRY(check_range("baumgarte", s->baumgarte, 0.0, error));
  SAP_FAIL_IF(
      (int)s->model < (int)SAP_CONTACT_BY_MATERIAL || (int)s->model >= (int)SAP_CONTACT_MODEL_COUNT,
      error, SAP_STATUS_ARGUMENT, "model = %d is not a sap_contact_model", (int)s->model);
  const bool within = s->theta < 1.0 || s->theta_vq < 1.0;
  SAP_FAIL_IF(s->rigid && (within || s->model != SAP_CONTACT_BY_MATERIAL), error,
              SAP_STATUS_ARGUMENT,
              within ? "theta = %g, theta_vq = %g: a rigid law acts at the end of the step"
                     : "theta = %g, theta_vq = %g: a rigid law has no contact model",
              s->theta, s->theta_vq);
  SAP_FAIL_IF(s->castro && (s->rigid || within), error, SAP_STATUS_ARGUMENT,
              "theta = %g, theta_vq = %g: castro's law is compliant, at the end of the step",
              s->theta, s->theta_vq);
  SAP_FAIL_IF(!s->rigid && (s->restitution != 0.0 || s->baumgarte != 0.0), error,
              SAP_STATUS_ARGUMENT, "restitution = %g, baumgarte = %g of a compliant law must be 0",
              s->restitution, s->baumgarte);
  SAP_FAIL_IF(s->v0 == NULL && (s->rigid || within), error, SAP_STATUS_ARGUMENT,
              "v0 is NULL: a law that is %s needs it",
              s->rigid ? "rigid" : "evaluated within the step");
  return SAP_STATUS_OK;
}

sap_status sap_problem_set_law(sap_problem* p, const sap_contact_scheme* scheme, sap_error* error) {
  SAP_NOT_NULL(error, p, scheme);
  SAP_TRY(check_scheme(scheme, error));
  SAP_FAIL_IF(p->law_is_set, error, SAP_STATUS_ARGUMENT,
              "the law has been set already; sap_problem_reset starts anew");
  if (scheme->v0 != NULL) {
    SAP_TRY(sap_check_numbers("v0", scheme->v0, p->nv, error));
    memcpy(p->v0, scheme->v0, (size_t)p->nv * sizeof(double));
  }
  p->scheme = *scheme;
  p->scheme.v0 = scheme->v0 != NULL ? p->v0 : NULL;
  p->scheme.v_star = scheme->v_star != NULL ? scheme->v_star : p->v_star;
  p->law_is_set = true;
  return SAP_STATUS_OK;
}

sap_status sap_problem_compliant_law(const sap_problem* p, const sap_regularization* regularization,
                                     const sap_compliant_row* row, double* R, double* v_hat,
                                     sap_error* error) {
  SAP_NOT_NULL(error, p, regularization, row, R, v_hat);
  const sap_law_settings settings = sap_problem_law_settings(p, regularization);
  return sap_law_row(&settings, row, R, v_hat, error);
}

// Computes R and v_hat of all rows. work: J v0 (nrows).
static sap_status find_rows(const sap_problem* p, const sap_compliant_block* c,
                            const sap_law_settings* settings, double w, double* R, double* v_hat,
                            double* work, sap_error* error) {
  const bool rigid = isinf(c->stiffness) && !c->unilateral && !p->scheme.rigid;
  const sap_rows_view rows = {c->nrows, c->ntrees, c->trees, c->jacobians};
  sap_problem_rows_times(p, &rows, p->scheme.v0, work);
  for (int32_t r = 0; r < c->nrows; ++r) {
    const sap_compliant_row row = {.stiffness = c->stiffness,
                                   .relaxation_time = c->relaxation_time,
                                   .g0 = c->g0[r],
                                   .rate0 = work[r],
                                   .w = w > 0.0 ? w : 1.0,
                                   .recovery_speed = c->recovery_speed,
                                   .unilateral = c->unilateral};
    SAP_TRY_OR(sap_law_row(settings, &row, &R[r], &v_hat[r], error),
               sap_error_prefix(error, "block %d, row %d", p->nblocks, r));
    if (rigid) {
      sap_law_rigid_row(&row, p->dt, p->scheme.settled > 0.0, &R[r], &v_hat[r]);
    }
  }
  return SAP_STATUS_OK;
}

sap_status sap_problem_add_compliant(sap_problem* p, const sap_compliant_block* compliant,
                                     const sap_regularization* regularization, sap_error* error) {
  SAP_NOT_NULL(error, p, compliant, regularization);
  SAP_NOT_NULL(error, compliant->g0);
  sap_block block = {.set = compliant->unilateral ? SAP_SET_NONNEGATIVE : SAP_SET_FREE,
                     .nrows = compliant->nrows,
                     .ntrees = compliant->ntrees,
                     .trees = compliant->trees,
                     .jacobians = compliant->jacobians,
                     .key = compliant->key};
  double scales[3];
  SAP_TRY(sap_problem_check_shape(p, &block, error));
  SAP_TRY(sap_problem_checked_scale(p, &block, scales, error));
  const double w = scales[0];
  const int64_t n = block.nrows;
  SAP_TRY(SAP_ROOM(&p->cache->pool, &p->cache->scratch, 3 * n, error));
  double *R = p->cache->scratch, *v_hat = R + n;
  const sap_law_settings settings = sap_problem_law_settings(p, regularization);
  SAP_TRY(find_rows(p, compliant, &settings, w, R, v_hat, v_hat + n, error));
  if (!(w > 0.0)) {
    return SAP_STATUS_OK;
  }
  block.R = R;
  block.v_hat = v_hat;
  SAP_TRY(sap_problem_append_block(p, &block, error));
  if (compliant->unilateral && n == 1) {
    const double k = compliant->stiffness;
    sap_problem_set_start(p, &(sap_contact_start){.force = -k * compliant->g0[0],
                                                  .stiffness = k,
                                                  .damping = k * compliant->relaxation_time,
                                                  .phi0 = compliant->g0[0],
                                                  .wn = w});
  }
  return SAP_STATUS_OK;
}

void sap_problem_set_start(sap_problem* p, const sap_contact_start* start) {
  if (p->scheme.theta < 1.0) {
    sap_block_data* block = &p->blocks[p->nblocks - 1];
    block->start = *start;
    sap_problem_block_velocity(p, block, p->scheme.v0, &block->start.vc0[SAP_NORMAL_ROW]);
    sap_problem_block_velocity(p, block, p->scheme.v_star, &block->start.vn_star);
  }
}

// No gliding.

// v_hat_shifted and shift are changed by the same difference, so that sums keep their order.
static void change_shift(sap_problem* p, sap_block_data* block, double change) {
  block->shift += change;
  p->v_hat_shifted[block->first_row + SAP_NORMAL_ROW] -= change;
}

static double find_rise(const sap_block_data* block, double slip) {
  return block->friction * sap_law_rise(block->set, block->slip_speed, slip);
}

void sap_problem_shift_contact(sap_problem* p, sap_block_data* block, double slip) {
  block->no_gliding = true;
  change_shift(p, block, find_rise(block, slip));
}

// |g_t| of a solution; |vt - v_hat_t| of similar contacts, whose friction has no R.
static double find_slip(const sap_problem* p, const sap_block_data* block, const double* vc,
                        const double* gamma) {
  const bool cone = block->set == SAP_SET_FRICTION_CONE;
  double sum = 0.0;
  for (int32_t i = 0; i < block->nrows; ++i) {
    const int32_t row = block->first_row + i;
    const double g = vc[row] - p->v_hat_law[row] + (cone ? p->R[row] * gamma[row] : 0.0);
    sum += i == SAP_NORMAL_ROW ? 0.0 : g * g;
  }
  return sqrt(sum);
}

// Contacts at the theta point converge, for second order; the tolerance is infinite at the end of
// the step, where the predicted slip of contacts that others disturb is good to O(dt), the order of
// the law: a miss is a depth or gap of dt mu |change of slip|, which the next step sees. Only
// depths that thin shapes cannot have are taken back, to the last that they can: so that nothing
// jumps.
bool sap_problem_shift_again(sap_problem* p, const double* vc, const double* gamma) {
  bool moved = false;
  SAP_EACH(sap_block_data, block, p->blocks, p->nblocks) {
    const bool settles = p->scheme.settled > 0.0, at_end = block->end == 1.0 && !settles;
    if (!block->no_gliding || (at_end && isinf(block->shift_excess))) {
      continue;
    }
    const int32_t normal = block->first_row + SAP_NORMAL_ROW;
    double change = find_rise(block, find_slip(p, block, vc, gamma)) - block->shift;
    double accepted = settles ? p->scheme.settled / p->dt
                              : SHIFT_TOLERANCE / (1.0 - block->end) * p->R[normal] * gamma[normal];
    if (at_end) {
      accepted = SETTLED * block->shift_excess;
      change = fmin(0.0, change + block->shift_excess);
    }
    const double ratio = at_end && block->shift_change < 0.0 ? change / block->shift_change : 0.0;
    block->shift_change = ratio > 0.0 ? 0.0 : change;  // Aitken, every second time
    change = fmax(change / (1.0 - fmin(ratio, FASTEST)), -block->shift);  // below 0 it would push
    const bool acts = gamma[normal] > 0.0 || p->v_hat_law[normal] > vc[normal];
    if (acts && fabs(change) > accepted) {
      change_shift(p, block, change);
      moved = true;
    }
  }
  return moved;
}

void sap_problem_store_repeats(sap_problem* p) {
  for (int32_t b = 0; b < p->nblocks; ++b) {
    const sap_block_data* block = &p->blocks[b];
    const int32_t row = block->first_row + (block->no_gliding ? SAP_NORMAL_ROW : 0);
    p->repeats[b] = (sap_repeat){block->shift, block->lagged_impulse, p->v_hat_shifted[row]};
  }
  p->repeat_count = p->nblocks;
}

void sap_problem_restore_repeats(sap_problem* p) {
  for (int32_t b = 0; b < p->nblocks && p->nblocks == p->repeat_count; ++b) {
    sap_block_data* block = &p->blocks[b];
    block->lagged_impulse = p->repeats[b].lagged_impulse;
    if (block->no_gliding) {
      block->shift = p->repeats[b].shift;
      p->v_hat_shifted[block->first_row + SAP_NORMAL_ROW] = p->repeats[b].v_hat;
    }
  }
}

double sap_problem_missed_closure(sap_problem* p) {
  double largest = 0.0;
  SAP_EACH(const sap_block_data, block, p->blocks, p->nblocks) {
    for (int32_t i = block->first_row;
         block->set == SAP_SET_FREE && i < block->first_row + block->nrows; ++i) {
      p->missed[i] += p->dt * (p->v_hat_shifted[i] - p->v_hat_law[i]);
      largest = fmax(largest, fabs(p->missed[i]));
    }
  }
  return largest;
}

// The miss falls linearly, for J is that of the start: Aitken's relaxation.
void sap_problem_shift_closure(sap_problem* p) {
  double along = 0.0, change_2 = 0.0;
  for (int32_t i = 0; i < p->nrows && p->closure_share > 0.0; ++i) {
    const double change = p->missed[i] - p->missed_before[i];
    along -= change * p->missed_before[i];
    change_2 += change * change;
  }
  const double share = p->closure_share * along;
  p->closure_share = share > 0.0 ? fmin(share / change_2, CLOSURE_SHARE_MAX) : 1.0;
  for (int32_t i = 0; i < p->nrows; ++i) {
    p->v_hat_shifted[i] -= p->closure_share * p->missed[i] / p->dt;
    p->missed_before[i] = p->missed[i];
  }
}

int32_t sap_problem_count_softened(const sap_problem* p, const double* gamma) {
  int32_t count = 0;
  SAP_EACH(const sap_block_data, block, p->blocks, p->nblocks) {
    count += block->realised > 0.0 && block->realised < 0.5 &&
             gamma[block->first_row + SAP_NORMAL_ROW] > 0.0;
  }
  return count;
}

// Impulses of lagged contacts, kept from one step to the next.

sap_status sap_problem_archive(void* problem, sap_archive* archive, sap_error* error) {
  sap_problem* p = problem;
  SAP_TRY(sap_archive_value(archive, &p->lag_dt, sizeof p->lag_dt, error));
  return sap_warm_start_archive(&p->lag, archive, error);
}

sap_status sap_problem_save_memory(sap_problem* problem, void* bytes, size_t capacity, size_t* size,
                                   sap_error* error) {
  SAP_NOT_NULL(error, problem, size);
  return sap_archive_to_bytes(sap_problem_archive, problem, bytes, capacity, size, error);
}

sap_status sap_problem_load_memory(sap_problem* problem, const void* bytes, size_t size,
                                   sap_error* error) {
  SAP_NOT_NULL(error, problem, bytes);
  return sap_archive_from_bytes(sap_problem_archive, problem, bytes, size, error);
}

sap_status sap_problem_keep_impulses(sap_problem* p, const double* gamma, sap_error* error) {
  SAP_NOT_NULL(error, p);
  bool lagged = false;
  for (int32_t b = 0; gamma != NULL && b < p->nblocks; ++b) {
    const sap_block_data* block = &p->blocks[b];
    if (block->set == SAP_SET_LAGGED && block->key != 0) {
      const double normal = gamma[block->first_row + SAP_NORMAL_ROW];
      SAP_FAIL_IF(!isfinite(normal), error, SAP_STATUS_NOT_FINITE,
                  "block %d: gamma_n = %g must be finite", b, normal);
      lagged = true;
    }
  }
  if (lagged) {
    SAP_TRY(sap_warm_start_reserve(&p->lag, p, error));
    sap_warm_start_store(&p->lag, p, gamma);
    p->lag_dt = p->dt;
  } else {
    sap_warm_start_forget(&p->lag);
  }
  return SAP_STATUS_OK;
}

static bool is_far(const sap_block_data* block, double gamma_n) {
  const double n0 = block->lagged_impulse, change = fabs(gamma_n - n0);
  return change > LAG_TOLERANCE * fmax(gamma_n, n0) &&
         block->friction * block->w * change > LAG_SPEED * block->slip_speed;
}

bool sap_problem_relag(sap_problem* p, const double* gamma) {
  bool far = false;
  for (int32_t b = 0; b < p->nblocks && !far; ++b) {
    const sap_block_data* block = &p->blocks[b];
    far = block->set == SAP_SET_LAGGED && is_far(block, gamma[block->first_row + SAP_NORMAL_ROW]);
  }
  for (int32_t b = 0; b < p->nblocks && far; ++b) {
    sap_block_data* block = &p->blocks[b];
    if (block->set == SAP_SET_LAGGED) {
      p->solved = false;
      block->lagged_impulse = fmax(0.0, gamma[block->first_row + SAP_NORMAL_ROW]);
    }
  }
  return far;
}
