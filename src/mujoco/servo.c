// SPDX-License-Identifier: BSD-3-Clause
// Affine servos at the end of the step, with lengths V = row v:
//   force = raw - (h kp + kd)(V - V0) - h kp V0,  raw the force at its start, without bounds
// One that stays within its force range stands in A and v* (rank one); one that meets it is a box
// block, R = 1/(h (h kp + kd)), v_hat = (raw + kd V0)/(h kp + kd), bounds h lower and h upper.
// Which is which is guessed from raw - h kp V0 and checked at the solution: while nothing is
// clipped both forms have the same minimum, so the check makes the choice exact. A joint's effort
// range bounds the sum of all actuators on its velocity; where it binds, that sum is one such block
// in place of the servos that act on the joint alone.
#include <math.h>

#include "core/memory.h"
#include "mujoco/adapter.h"

// A servo in A may leave its range by this share of it: the solver's tolerance.
static const double RANGE_TOLERANCE = 1e-6;

static double force_at(const sap_mj_servo* s, double h, double V) {
  return s->raw - (h * s->kp + s->kd) * (V - s->V0) - h * s->kp * s->V0;
}

static bool leaves_range(const sap_mj_servo* s, double force) {
  const double tolerance = s->is_limited && isfinite(s->upper - s->lower)
                               ? RANGE_TOLERANCE * (s->upper - s->lower)
                               : 0.0;
  return !(force >= s->lower - tolerance && force <= s->upper + tolerance);
}

static sap_mj_servo* append(sap_mj* a, sap_error* error) {
  if (SAP_GROW(&a->servos, &a->servo_capacity, a->servo_count + 1, error) != SAP_STATUS_OK) {
    return NULL;
  }
  sap_mj_servo* servo = &a->servos[a->servo_count++];
  *servo = (sap_mj_servo){.block = -1};
  return servo;
}

enum { IN_A = -1, BOXED = 0 };

static sap_status find_singles(sap_mj* a, const mjData* d, sap_error* error) {
  const mjModel* m = a->model;
  const double h = m->opt.timestep;
  for (int32_t i = 0; i < sap_mj_actuator_count(m); ++i) {
    if (!sap_mj_may_be_servo(m, i) || sap_mj_actuator_is_disabled(m, i)) {
      continue;
    }
#if SAP_MJ_SINCE(3, 11, 0)
    const int32_t first = m->actuator_outadr[i], count = m->actuator_outnum[i];
#else
    const int32_t first = i, count = 1;
#endif
    for (int32_t output = first; output < first + count; ++output) {
      sap_mj_servo law = {.block = IN_A, .output = output};
      if (!sap_mj_read_servo(m, d, i, output, &law)) {
        continue;
      }
      law.row = sap_mj_moment_row(m, d, output);
      law.V0 = d->actuator_velocity[output];
      law.is_limited = isfinite(law.lower) || isfinite(law.upper);
      sap_mj_servo* servo = append(a, error);
      if (servo == NULL) {
        return SAP_STATUS_MEMORY;
      }
      *servo = law;
      servo->block = leaves_range(servo, force_at(servo, h, servo->V0)) ? BOXED : IN_A;
    }
  }
  return SAP_STATUS_OK;
}

#if SAP_MJ_SINCE(3, 0, 0)
static const mjtNum one = 1.0;

// The one velocity that the row acts on; -1: several.
static int32_t only_column(const sap_mj_row* row) {
  int32_t only = -1;
  for (int32_t i = 0; i < row->count; ++i) {
    if (row->values[i] != 0.0) {
      if (only >= 0) {
        return -1;
      }
      only = row->columns != NULL ? row->columns[i] : i;
    }
  }
  return only;
}

static double value_at(const sap_mj_row* row, int32_t column) {
  for (int32_t i = 0; i < row->count; ++i) {
    if ((row->columns != NULL ? row->columns[i] : i) == column) {
      return row->values[i];
    }
  }
  return 0.0;
}

// Lets the servos of the joint act through its effort range, or not.
static void absorb(sap_mj* a, int32_t dof, bool absorbed) {
  for (int32_t i = 0; i < a->servo_count; ++i) {
    sap_mj_servo* s = &a->servos[i];
    if (s->output >= 0 && only_column(&s->row) == dof) {
      s->is_absorbed = absorbed;
    }
  }
}

static sap_status find_effort_range(sap_mj* a, const mjData* d, int32_t joint, sap_error* error) {
  const mjModel* m = a->model;
  const int32_t dof = m->jnt_dofadr[joint];
  sap_mj_servo sum = {.block = IN_A, .output = -1, .is_limited = true};
  for (int32_t i = 0; i < sap_mj_output_count(m); ++i) {
    const sap_mj_row row = sap_mj_moment_row(m, d, i);
    sum.raw += value_at(&row, dof) * d->actuator_force[i];
  }
#if SAP_MJ_SINCE(3, 4, 0)
  if (m->jnt_actgravcomp[joint]) {
    sum.raw += d->qfrc_gravcomp[dof];
  }
#endif
  sum.applied = d->qfrc_actuator[dof];
  sum.cut = sum.raw - sum.applied;
  for (int32_t i = 0; i < a->servo_count; ++i) {
    const sap_mj_servo* s = &a->servos[i];
    if (s->output >= 0 && only_column(&s->row) == dof && s->block == IN_A) {
      const double gear = value_at(&s->row, dof);
      sum.raw += gear * (s->raw - s->applied);
      sum.kp += gear * gear * s->kp;
      sum.kd += gear * gear * s->kd;
    }
  }
  if (!(sum.kp > 0.0 || sum.kd > 0.0)) {
    return SAP_STATUS_OK;
  }
  sum.row = (sap_mj_row){1, &a->unit_columns[dof], &one};
  sum.V0 = d->qvel[dof];
  sum.lower = m->jnt_actfrcrange[2 * joint];
  sum.upper = m->jnt_actfrcrange[2 * joint + 1];
  sap_mj_servo* servo = append(a, error);
  if (servo == NULL) {
    return SAP_STATUS_MEMORY;
  }
  *servo = sum;
  if (leaves_range(servo, force_at(servo, m->opt.timestep, servo->V0))) {
    servo->block = BOXED;
    absorb(a, dof, true);
  }
  return SAP_STATUS_OK;
}
#endif

sap_status sap_mj_find_servos(sap_mj* a, const mjData* d, sap_error* error) {
  const mjModel* m = a->model;
  a->servo_count = 0;
  if (!a->options.implicit || (m->opt.disableflags & mjDSBL_ACTUATION) != 0) {
    return SAP_STATUS_OK;
  }
  sap_status status = find_singles(a, d, error);
#if SAP_MJ_SINCE(3, 0, 0)
  for (int32_t j = 0; status == SAP_STATUS_OK && a->servo_count > 0 && j < (int32_t)m->njnt; ++j) {
    const int type = m->jnt_type[j];
    if (m->jnt_actfrclimited[j] && (type == mjJNT_HINGE || type == mjJNT_SLIDE)) {
      status = find_effort_range(a, d, j, error);
    }
  }
#endif
  return status;
}

sap_status sap_mj_add_servos(sap_mj* a, sap_error* error) {
  const double h = a->model->opt.timestep;
  sap_status status = SAP_STATUS_OK;
  for (int32_t i = 0; status == SAP_STATUS_OK && i < a->servo_count; ++i) {
    const sap_mj_servo* s = &a->servos[i];
    if (s->is_absorbed) {
      continue;
    }
    a->is_free_of_laws = false;
    if (s->output < 0 && s->block == IN_A) {
      sap_mj_row_add(&s->row, h * s->cut, a->rhs);
    } else if (s->block == IN_A) {
      status = sap_mj_add_rank_one(a, &s->row, h * (s->kd + h * s->kp), error);
      sap_mj_row_add(&s->row, h * (s->raw - s->applied - h * s->kp * s->V0), a->rhs);
    } else {
      sap_mj_row_add(&s->row, -h * s->applied, a->rhs);
    }
  }
  return status;
}

sap_status sap_mj_add_servo_blocks(sap_mj* a, sap_error* error) {
  const double h = a->model->opt.timestep;
  for (int32_t i = 0; i < a->servo_count; ++i) {
    sap_mj_servo* s = &a->servos[i];
    if (s->block == IN_A || s->is_absorbed) {
      continue;
    }
    const int32_t ntrees = sap_mj_gather(a, &s->row, 1, error);
    if (ntrees < 0) {
      return SAP_STATUS_MEMORY;
    }
    if (ntrees == 0) {
      continue;
    }
    const double gain = h * s->kp + s->kd;
    const sap_mj_box box = {.R = 1.0 / (h * gain),
                            .v_hat = (s->raw + s->kd * s->V0) / gain,
                            .lower = h * s->lower,
                            .upper = h * s->upper};
    s->block = sap_problem_block_count(a->problem);
    SAP_TRY(sap_mj_add_box(a, ntrees, &box, sap_mj_key(a, SAP_MJ_KEY_SERVO, i, 0, 0), error));
  }
  return SAP_STATUS_OK;
}

bool sap_mj_check_servos(sap_mj* a, const double* v) {
  const double h = a->model->opt.timestep;
  bool changed = false;
  for (int32_t i = 0; i < a->servo_count; ++i) {
    sap_mj_servo* s = &a->servos[i];
    if (s->block == IN_A && s->is_limited && !s->is_absorbed &&
        leaves_range(s, force_at(s, h, sap_mj_row_times(&s->row, v)))) {
      s->block = BOXED;
      changed = true;
#if SAP_MJ_SINCE(3, 0, 0)
      if (s->output < 0) {
        absorb(a, *s->row.columns, true);
      }
#endif
    }
  }
  return changed;
}

void sap_mj_write_servos(sap_mj* a, mjData* d, const double* v) {
  const double h = a->model->opt.timestep;
  for (int32_t i = 0; i < a->servo_count; ++i) {
    const sap_mj_servo* s = &a->servos[i];
    if (s->output < 0 && s->block == IN_A) {
      sap_mj_row_add(&s->row, s->cut, d->qfrc_actuator);
      continue;
    }
    const double force =
        fmin(fmax(force_at(s, h, sap_mj_row_times(&s->row, v)), s->lower), s->upper);
    if (!s->is_absorbed) {
      sap_mj_row_add(&s->row, force - s->applied, d->qfrc_actuator);
    }
    if (s->output >= 0) {
      d->actuator_force[s->output] = force;
    }
  }
}
