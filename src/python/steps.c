// SPDX-License-Identifier: BSD-3-Clause
#include "python/steps.h"

#include <string.h>

#include "core/memory.h"
#include "core/platform.h"
#include "core/threads.h"

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

// A step's start.
typedef struct kept_step {
  double* row;
  void* memory;
  size_t size;
} kept_step;

static sap_status keep(sap_python_turn* t, kept_step* out, sap_error* error) {
  const sap_state* s = t->state;
  SAP_TRY(SAP_NEW(&out->row, 1 + s->nq + s->nv + s->na, "states of a tape", error));
  t->rows = out->row;
  put_row(t);
  t->rows = NULL;
  SAP_TRY(sap_stepper_save_memory(t->stepper, NULL, 0, &out->size, error));
  SAP_TRY(sap_new(&out->memory, out->size, 1, "states of a tape", error));
  return sap_stepper_save_memory(t->stepper, out->memory, out->size, &out->size, error);
}

static sap_status restore(sap_python_turn* t, const kept_step* from, sap_error* error) {
  sap_state* s = t->state;
  const double *q = from->row + 1, *v = q + s->nq;
  s->t = from->row[0];
  (void)append(s->q, q, s->nq);
  (void)append(s->v, v, s->nv);
  (void)append(s->act, v + s->nv, s->na);
  return sap_stepper_load_memory(t->stepper, from->memory, from->size, error);
}

static sap_status make_step(sap_python_turn* t, const sap_python_part* p, int32_t i,
                            sap_error* error) {
  if (t->nu > 0) {
    const double* u = p->controls + (size_t)i * (size_t)t->nu;
    SAP_TRY(sap_multibody_set_control(t->multibody, u, error));
  }
  return sap_stepper_step(t->stepper, t->state, t->report, error);
}

static sap_status go_back(sap_python_turn* t, const sap_python_part* p, kept_step* kept,
                          sap_error* error) {
  const int32_t nv = t->state->nv;
  for (int32_t i = 0; i < p->steps; ++i) {
    SAP_TRY(keep(t, &kept[i], error));
    SAP_TRY(make_step(t, p, i, error));
  }
  for (int32_t i = p->steps; i-- > 0;) {
    const size_t first = (size_t)i * (size_t)nv;
    if (i < p->steps - 1) {
      SAP_TRY(restore(t, &kept[i], error));
      SAP_TRY(make_step(t, p, i, error));
    }
    SAP_TRY(sap_stepper_vjp(t->stepper, &p->gradients, NULL, error));
    for (int32_t k = 0; k < nv; ++k) {
      p->at_q[k] = p->gradients.dq0[k] + p->dq[first + (size_t)k];
      p->at_v[k] = p->gradients.dv0[k] + p->dv[first + (size_t)k];
    }
    (void)append(p->by_control + (size_t)i * (size_t)t->nu, p->gradients.du, t->nu);
    for (int32_t k = 0; k < p->gradients.parameters.count; ++k) {
      p->by_parameter[k] += p->gradients.parameters.out[k];
    }
  }
  return SAP_STATUS_OK;
}

sap_status sap_python_back(sap_python_turn* t, const sap_python_part* p, sap_error* error) {
  kept_step* kept;
  SAP_TRY(SAP_NEW(&kept, p->steps, "states of a tape", error));
  const sap_status status = go_back(t, p, kept, error);
  for (int32_t i = 0; i < p->steps; ++i) {
    sap_free(kept[i].row);
    sap_free(kept[i].memory);
  }
  sap_free(kept);
  t->stepped = status == SAP_STATUS_OK;
  return status;
}
