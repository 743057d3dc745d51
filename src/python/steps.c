// SPDX-License-Identifier: BSD-3-Clause
#include "python/steps.h"

#include "core/memory.h"
#include "core/platform.h"
#include "core/threads.h"
#include "integrators/stepper.h"

typedef struct slice {
  sap_python_turn** turns;
  double end;  // [s]
} slice;

sap_status sap_python_threads_create(int32_t count, sap_threads** out, sap_error* error) {
  return sap_threads_create(count, out, error);
}

void sap_python_threads_destroy(sap_threads* threads) {
  sap_threads_destroy(threads);
}

void sap_python_begin(sap_python_turn** turns, int32_t count, int64_t steps) {
  for (int32_t i = 0; i < count; ++i) {
    sap_python_turn* t = turns[i];
    t->status = t->control == NULL ? SAP_STATUS_OK
                                   : sap_multibody_set_control(t->multibody, t->control, &t->error);
    t->left = t->status == SAP_STATUS_OK ? steps : 0;
  }
}

static sap_status record(sap_python_turn* t) {
  if (t->recorder == NULL || ++t->until < t->every) {
    return SAP_STATUS_OK;
  }
  t->until = 0;
  const sap_status status = sap_multibody_collect(t->multibody, t->report, &t->error);
  return status != SAP_STATUS_OK
             ? status
             : sap_recorder_write(t->recorder, t->multibody, t->state, t->report, &t->error);
}

static double* append(double* to, const double* from, int32_t count) {
  for (int32_t i = 0; i < count; ++i) {
    *to++ = from[i];
  }
  return to;
}

static sap_status set_control(sap_python_turn* t) {
  if (t->controls == NULL) {
    return SAP_STATUS_OK;
  }
  const double* u = t->controls;
  t->controls += t->nu;
  return sap_multibody_set_control(t->multibody, u, &t->error);
}

static void put_row(sap_python_turn* t) {
  const sap_state* s = t->state;
  *t->rows++ = s->t;
  t->rows = append(append(append(t->rows, s->q, s->nq), s->v, s->nv), s->act, s->na);
}

static sap_status step(sap_python_turn* t) {
  if (t->adaptive == NULL) {
    return sap_stepper_step(t->stepper, t->state, t->report, &t->error);
  }
  sap_adaptive_report report;
  const sap_status status = sap_adaptive_step(t->adaptive, t->state, t->t_end, &report, &t->error);
  *t->report = report.step;
  t->made += status == SAP_STATUS_OK;
  t->rejected += report.rejected;
  t->left = t->state->t < t->t_end ? 2 : 1;
  return status;
}

static void take_turn(void* context, int32_t index) {
  const slice* s = context;
  sap_python_turn* t = s->turns[index];
  while (t->left > 0 && sap_clock_seconds() < s->end) {
    t->status = set_control(t);
    if (t->status == SAP_STATUS_OK) {
      t->status = step(t);
      t->stepped = t->status == SAP_STATUS_OK;
    }
    if (t->status == SAP_STATUS_OK) {
      t->status = record(t);
    }
    if (t->status == SAP_STATUS_OK && t->rows != NULL) {
      put_row(t);
    }
    t->left = t->status == SAP_STATUS_OK ? t->left - 1 : 0;
  }
}

bool sap_python_step(sap_python_turn** turns, int32_t count, sap_threads* threads) {
  slice s = {turns, sap_clock_seconds() + SAP_PYTHON_SLICE};
  sap_threads_run(threads, count, take_turn, &s);
  bool more = false;
  for (int32_t i = 0; i < count; ++i) {
    more = more || turns[i]->left > 0;
  }
  return more;
}

// Takes the state and memory of another turn's stepper.
static sap_status follow(sap_python_turn* t, const sap_python_turn* from, sap_error* error) {
  void* bytes;
  size_t size;
  SAP_TRY(sap_state_copy(from->state, t->state, error));
  SAP_TRY(sap_stepper_keep(from->stepper, NULL, 0, &size, error));
  SAP_TRY(sap_new(&bytes, size, 1, "memory of a tape", error));
  sap_status status = sap_stepper_keep(from->stepper, bytes, size, &size, error);
  if (status == SAP_STATUS_OK) {
    status = sap_stepper_restore(t->stepper, bytes, size, error);
  }
  sap_free(bytes);
  return status;
}

sap_status sap_python_forth(sap_python_turn** turns, int32_t count, const double* controls,
                            sap_error* error) {
  for (int32_t i = 0; i < count; ++i) {
    sap_python_turn* t = turns[i];
    SAP_TRY(i > 0 ? follow(t, turns[i - 1], error) : SAP_STATUS_OK);
    SAP_TRY(t->nu > 0 ? sap_multibody_set_control(t->multibody,
                                                  controls + (size_t)i * (size_t)t->nu, error)
                      : SAP_STATUS_OK);
    SAP_TRY(sap_stepper_step(t->stepper, t->state, t->report, error));
  }
  return SAP_STATUS_OK;
}

// The work of derivatives, which is large, goes from one stepper to the next.
static void pass_work(sap_python_turn* from, sap_python_turn* to) {
  struct sap_differentiation* work = from->stepper->differentiation;
  sap_differentiation_forget(from->stepper);
  from->stepper->differentiation = to->stepper->differentiation;
  to->stepper->differentiation = work;
}

sap_status sap_python_back(sap_python_turn** turns, int32_t count, const sap_python_part* p,
                           sap_error* error) {
  const int32_t nu = turns[0]->nu, nv = turns[0]->state->nv;
  pass_work(turns[0], turns[count - 1]);
  for (int32_t i = count; i-- > 0;) {
    const size_t first = (size_t)i * (size_t)nv;
    SAP_TRY(sap_stepper_vjp(turns[i]->stepper, &p->gradients, NULL, error));
    for (int32_t k = 0; k < nv; ++k) {
      p->at_q[k] = p->gradients.dq0[k] + p->dq[first + (size_t)k];
      p->at_v[k] = p->gradients.dv0[k] + p->dv[first + (size_t)k];
    }
    (void)append(p->by_control + (size_t)i * (size_t)nu, p->gradients.du, nu);
    for (int32_t k = 0; k < p->gradients.parameters.count; ++k) {
      p->by_parameter[k] += p->gradients.parameters.out[k];
    }
    pass_work(turns[i], turns[i > 0 ? i - 1 : 0]);
  }
  return SAP_STATUS_OK;
}
