// SPDX-License-Identifier: BSD-3-Clause
// Affine servos at the end of the step, with lengths V = row v and raw the force at its start,
// without bounds:
//   force = raw - (h kp + kd)(V - V0) - h kp V0
// A servo within its force range is in A and v* (rank one). One at its range is a box block, whose
// R and v_hat are those of sap_law_servo_at at the end of the step, with offset = raw + kd V0:
//   h lower <= gamma <= h upper
// The choice is guessed from raw - h kp V0 and checked at the solution. Both forms have the same
// minimum while nothing is clipped, so the check makes the choice exact.
// A joint's effort range bounds the sum of all actuators on its velocity. At its bound, that sum is
// one such block that replaces the servos acting on this joint alone.
#include <math.h>

#include "contact/contact_law.h"
#include "core/memory.h"
#include "math/scalar.h"
#include "mujoco/adapter.h"

static bool is_disabled(const mjModel* m, int32_t actuator) {
#if SAP_MJ_SINCE(3, 1, 0)
  const int group = m->actuator_group[actuator];
  if (group >= 0 && group <= 30 && (m->opt.disableactuator & (1 << group)) != 0) {
    return true;
  }
#endif
#if SAP_MJ_SINCE(3, 0, 0)
  return m->actuator_plugin[actuator] >= 0;
#else
  (void)m;
  (void)actuator;
  return false;
#endif
}

// Returns the control after its delay, within its range.
static double control_of(const mjModel* m, const mjData* d, int32_t actuator) {
#if SAP_MJ_SINCE(3, 11, 0)
  const int32_t control = m->actuator_ctrladr[actuator];
  if (m->actuator_ctrlnum[actuator] < 1) {
    return 0.0;
  }
#else
  const int32_t control = actuator;
#endif
  double u = d->ctrl[control];
#if SAP_MJ_SINCE(3, 14, 0)
  if (m->actuator_historyadr[actuator] >= 0 && m->actuator_ctrlnum[actuator] == 1) {
    const int interpolation = m->actuator_history[2 * actuator + 1];
    mjtNum found = 0.0;
    const mjtNum* stored = mj_readCtrl(m, d, actuator, d->time, &found, interpolation);
    u = stored != NULL ? *stored : found;
  }
#elif SAP_MJ_SINCE(3, 5, 0)
  if (m->actuator_historyadr[actuator] >= 0) {
    u = mj_readCtrl(m, d, actuator, d->time, m->actuator_history[2 * actuator + 1]);
  }
#endif
  if (m->actuator_ctrllimited[control] && (m->opt.disableflags & mjDSBL_CLAMPCTRL) == 0) {
    u = fmin(fmax(u, m->actuator_ctrlrange[2 * control]), m->actuator_ctrlrange[2 * control + 1]);
  }
  return u;
}

#if SAP_MJ_SINCE(3, 0, 0)
// Returns the activation; with actearly, that at the end of the step.
static double activation_of(const mjModel* m, const mjData* d, int32_t actuator) {
  const int32_t last = m->actuator_actadr[actuator] + m->actuator_actnum[actuator] - 1;
  double act = d->act[last];
  if (!m->actuator_actearly[actuator]) {
    return act;
  }
  const double h = m->opt.timestep, tau = fmax(mjMINVAL, m->actuator_dynprm[mjNDYN * actuator]);
  const bool exact = m->actuator_dyntype[actuator] == mjDYN_FILTEREXACT;
  act += d->act_dot[last] * (exact ? tau * (1.0 - exp(-h / tau)) : h);
  if (m->actuator_actlimited[actuator]) {
    act =
        fmin(fmax(act, m->actuator_actrange[2 * actuator]), m->actuator_actrange[2 * actuator + 1]);
  }
  return act;
}
#endif

// Returns the control or activation that the gain multiplies.
static double input_of(const mjModel* m, const mjData* d, int32_t actuator) {
#if SAP_MJ_SINCE(3, 0, 0)
  if (m->actuator_actadr[actuator] >= 0) {
    return activation_of(m, d, actuator);
  }
#else
  const int32_t stateless = (int32_t)(m->nu - m->na);
  if (actuator >= stateless) {
    return d->act[actuator - stateless];
  }
#endif
  return control_of(m, d, actuator);
}

static bool may_be_servo(const mjModel* m, int32_t actuator) {
  const int gain = m->actuator_gaintype[actuator];
#if SAP_MJ_SINCE(4, 0, 0)
  if (gain == mjGAIN_SO3 || gain == mjGAIN_DCMOTOR) {
    return true;
  }
#endif
  return m->actuator_biastype[actuator] == mjBIAS_AFFINE || gain == mjGAIN_AFFINE;
}

#if SAP_MJ_SINCE(4, 0, 0)
// Returns true if the norm of an orientation servo's outputs is at its bound: its gains do not act.
static bool norm_is_clipped(const mjModel* m, const mjData* d, int32_t actuator) {
  const double most = m->actuator_forcerange[2 * actuator + 1];
  const int first = m->actuator_outadr[actuator], count = m->actuator_outnum[actuator];
  const double sum = sap_dot(count, d->actuator_force + first, d->actuator_force + first);
  return m->actuator_forcelimited[actuator] && !(sqrt(sum) < (1.0 - 1e-9) * most);
}

// Reads a DC motor of resistance R = gain[0] and constant K = gain[1], damped by K^2/R. A
// controller with kp = gain[4] and kd = gain[6] compensates this damping while the voltage is not
// bounded (dynamics[1]). A lagging current (dynamics[0]) has no slope.
static void read_motor(const mjtNum* gain, const mjtNum* dynamics, sap_mj_servo* servo) {
  const bool controlled = gain[4] != 0.0 || gain[5] != 0.0 || gain[6] != 0.0;
  if (dynamics[0] > 0.0 || (controlled && dynamics[1] > 0.0)) {
    return;
  }
  if (controlled) {
    servo->kp = gain[4];
    servo->kd = gain[6];
  } else if (gain[0] > 0.0) {
    servo->kd = gain[1] * gain[1] / gain[0];
  }
}
#endif

// Reads kp and kd of an actuator within its bounds.
static void read_gains(const mjModel* m, const mjData* d, int32_t actuator, sap_mj_servo* servo) {
  const mjtNum* gain = m->actuator_gainprm + mjNGAIN * actuator;
  const mjtNum* bias = m->actuator_biasprm + mjNBIAS * actuator;
  const int gain_type = m->actuator_gaintype[actuator];
  servo->kp = servo->kd = 0.0;
  if (gain_type == mjGAIN_AFFINE) {
    const double u = input_of(m, d, actuator);
    servo->kp = -gain[1] * u;
    servo->kd = -gain[2] * u;
  }
  if (m->actuator_biastype[actuator] == mjBIAS_AFFINE) {
    servo->kp -= bias[1];
    servo->kd -= bias[2];
  }
#if SAP_MJ_SINCE(4, 0, 0)
  if (gain_type == mjGAIN_SO3) {  // damped, towards the target along the geodesic
    const bool acts = gain[0] > 0.0 && !norm_is_clipped(m, d, actuator);
    servo->kp = acts ? gain[0] : 0.0;
    servo->kd = acts ? -bias[2] : 0.0;
  } else if (gain_type == mjGAIN_DCMOTOR) {
    read_motor(gain, m->actuator_dynprm + mjNDYN * actuator, servo);
  }
#endif
  servo->kp = fmax(servo->kp, 0.0);
  servo->kd = fmax(servo->kd, 0.0);
}

// Finds the force without bounds; false: the actuator is not affine in length and velocity.
static bool find_unbounded(const mjModel* m, const mjData* d, int32_t actuator, int32_t output,
                           double* force) {
  const mjtNum* gain = m->actuator_gainprm + mjNGAIN * actuator;
  const mjtNum* bias = m->actuator_biasprm + mjNBIAS * actuator;
  const int gain_type = m->actuator_gaintype[actuator], bias_type = m->actuator_biastype[actuator];
  const double l = d->actuator_length[output], v = d->actuator_velocity[output];
  if ((gain_type != mjGAIN_FIXED && gain_type != mjGAIN_AFFINE) ||
      (bias_type != mjBIAS_NONE && bias_type != mjBIAS_AFFINE)) {
    return false;
  }
  const double slope = gain_type == mjGAIN_AFFINE ? gain[1] * l + gain[2] * v : 0.0;
  *force = (gain[0] + slope) * input_of(m, d, actuator);
  *force += bias_type == mjBIAS_AFFINE ? bias[0] + bias[1] * l + bias[2] * v : 0.0;
  return true;
}

static bool has_range(const mjModel* m, int32_t actuator) {
#if SAP_MJ_SINCE(4, 0, 0)
  if (m->actuator_gaintype[actuator] == mjGAIN_SO3) {
    return false;  // its range bounds the norm of its outputs
  }
#endif
  return m->actuator_forcelimited[actuator];
}

#if SAP_MJ_SINCE(3, 3, 3)
// Returns the tendon whose effort range bounds the actuator, -1: none.
static int32_t ranged_tendon(const mjModel* m, int32_t actuator) {
  const int32_t tendon = m->actuator_trnid[2 * actuator];
  return m->actuator_trntype[actuator] == mjTRN_TENDON && m->tendon_actfrclimited[tendon] ? tendon
                                                                                          : -1;
}

// Bounds the servo by what the other actuators leave of the effort range of its tendon, which
// bounds the sum of all forces on it.
static void bound_by_tendon(const mjModel* m, const mjData* d, int32_t actuator,
                            sap_mj_servo* servo) {
  const int32_t tendon = ranged_tendon(m, actuator);
  double others = 0.0;
  if (tendon < 0) {
    return;
  }
  for (int32_t i = 0; i < SAP_MJ_ACTUATORS(m); ++i) {
    if (i != actuator && ranged_tendon(m, i) == tendon) {
      others += d->actuator_force[SAP_MJ_FIRST_OUTPUT(m, i)];
    }
  }
  servo->lower = fmax(servo->lower, m->tendon_actfrcrange[2 * tendon] - others);
  servo->upper = fmin(servo->upper, m->tendon_actfrcrange[2 * tendon + 1] - others);
}
#endif

// Reads kp, kd, bounds and the force without bounds of one output. Returns false if the output has
// no gain or stays at its bound for this step.
static bool read_servo(const mjModel* m, const mjData* d, int32_t actuator, int32_t output,
                       sap_mj_servo* servo) {
  read_gains(m, d, actuator, servo);
  servo->raw = servo->applied = d->actuator_force[output];
  servo->lower = -HUGE_VAL;
  servo->upper = HUGE_VAL;
  if (has_range(m, actuator)) {
    servo->lower = m->actuator_forcerange[2 * actuator];
    servo->upper = m->actuator_forcerange[2 * actuator + 1];
  }
#if SAP_MJ_SINCE(3, 3, 3)
  bound_by_tendon(m, d, actuator, servo);
#endif
  const double share = 1e-12 * fmin(servo->upper - servo->lower, 1e12);  // round-off of a sum
  const bool clipped = servo->raw <= servo->lower + share || servo->raw >= servo->upper - share;
  if (clipped && !find_unbounded(m, d, actuator, output, &servo->raw)) {
    return false;
  }
  return servo->kp > 0.0 || servo->kd > 0.0;
}

// Share of its range by which a servo in A may leave it: the solver's tolerance.
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

static sap_status append_servo(sap_mj* a, const sap_mj_servo* servo, sap_error* error) {
  sap_mj_servos* servos = &a->servos;
  SAP_TRY(SAP_ROOM(&a->pool, &servos->list, servos->count + 1, error));
  servos->list[servos->count++] = *servo;
  return SAP_STATUS_OK;
}

enum { IN_A = -1, BOXED = 0 };

// Finds the servos among the actuators, one for each output.
static sap_status find_singles(sap_mj* a, const mjData* d, sap_error* error) {
  const mjModel* m = a->model;
  const double h = m->opt.timestep;
  for (int32_t i = 0; i < SAP_MJ_ACTUATORS(m); ++i) {
    if (!may_be_servo(m, i) || is_disabled(m, i)) {
      continue;
    }
    const int32_t first = SAP_MJ_FIRST_OUTPUT(m, i), count = SAP_MJ_OUTPUTS_OF(m, i);
    for (int32_t output = first; output < first + count; ++output) {
      sap_mj_servo law = {.block = IN_A, .output = output};
      if (!read_servo(m, d, i, output, &law)) {
        continue;
      }
      law.row = sap_mj_row_trim(a, sap_mj_moment_row(m, d, output));
      law.V0 = d->actuator_velocity[output];
      law.is_limited = isfinite(law.lower) || isfinite(law.upper);
      law.block = leaves_range(&law, force_at(&law, h, law.V0)) ? BOXED : IN_A;
      SAP_TRY(append_servo(a, &law, error));
    }
  }
  return SAP_STATUS_OK;
}

#if SAP_MJ_SINCE(3, 0, 0)
static const mjtNum one = 1.0;

static double value_at(const sap_mj_row* row, int32_t column) {
  for (int32_t i = 0; i < row->count; ++i) {
    if ((row->columns != NULL ? row->columns[i] : i) == column) {
      return row->values[i];
    }
  }
  return 0.0;
}

// Lets the servos of the joint act through its effort range.
static void absorb(sap_mj* a, int32_t dof) {
  SAP_EACH(sap_mj_servo, s, a->servos.list, a->servos.count) {
    if (s->output >= 0 && s->row.count == 1 && s->row.columns[0] == dof) {
      s->is_absorbed = true;
    }
  }
}

// Adds the effort range of a joint with servos, as one servo that is the sum of them.
static sap_status find_effort_range(sap_mj* a, const mjData* d, int32_t joint, sap_error* error) {
  const mjModel* m = a->model;
  const int32_t dof = m->jnt_dofadr[joint];
  sap_mj_servo sum = {.block = IN_A, .output = -1, .is_limited = true};
  for (int32_t i = 0; i < SAP_MJ_OUTPUTS(m); ++i) {
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
  SAP_EACH(const sap_mj_servo, s, a->servos.list, a->servos.count) {
    if (s->output >= 0 && s->row.count == 1 && s->row.columns[0] == dof && s->block == IN_A) {
      const double gear = value_at(&s->row, dof);
      sum.raw += gear * (s->raw - s->applied);
      sum.kp += gear * gear * s->kp;
      sum.kd += gear * gear * s->kd;
    }
  }
  if (!(sum.kp > 0.0 || sum.kd > 0.0)) {
    return SAP_STATUS_OK;
  }
  sum.row = (sap_mj_row){1, &a->rows.unit_columns[dof], &one};
  sum.V0 = d->qvel[dof];
  sum.lower = m->jnt_actfrcrange[2 * joint];
  sum.upper = m->jnt_actfrcrange[2 * joint + 1];
  if (leaves_range(&sum, force_at(&sum, m->opt.timestep, sum.V0))) {
    sum.block = BOXED;
    absorb(a, dof);
  }
  return append_servo(a, &sum, error);
}
#endif

sap_status sap_mj_servos_find(sap_mj* a, const mjData* d, sap_error* error) {
  const mjModel* m = a->model;
  a->servos.count = 0;
  if (!a->options.implicit || (m->opt.disableflags & mjDSBL_ACTUATION) != 0) {
    return SAP_STATUS_OK;
  }
  SAP_TRY(find_singles(a, d, error));
#if SAP_MJ_SINCE(3, 0, 0)
  for (int32_t j = 0; a->servos.count > 0 && j < (int32_t)m->njnt; ++j) {
    const int type = m->jnt_type[j];
    if (m->jnt_actfrclimited[j] && (type == mjJNT_HINGE || type == mjJNT_SLIDE)) {
      SAP_TRY(find_effort_range(a, d, j, error));
    }
  }
#endif
  return SAP_STATUS_OK;
}

sap_status sap_mj_servos_add(sap_mj* a, sap_error* error) {
  const double h = a->model->opt.timestep;
  SAP_EACH(const sap_mj_servo, s, a->servos.list, a->servos.count) {
    if (s->is_absorbed) {
      continue;
    }
    a->momentum.is_plain = false;
    if (s->output < 0 && s->block == IN_A) {
      sap_mj_row_add(&s->row, h * s->cut, a->momentum.rhs);
    } else if (s->block == IN_A) {
      SAP_TRY(sap_mj_momentum_add_rank_one(a, &s->row, h * (s->kd + h * s->kp), error));
      sap_mj_row_add(&s->row, h * (s->raw - s->applied - h * s->kp * s->V0), a->momentum.rhs);
    } else {
      sap_mj_row_add(&s->row, -h * s->applied, a->momentum.rhs);
    }
  }
  return SAP_STATUS_OK;
}

sap_status sap_mj_servos_add_blocks(sap_mj* a, sap_error* error) {
  const double h = a->model->opt.timestep;
  for (int32_t i = 0; i < a->servos.count; ++i) {
    sap_mj_servo* s = &a->servos.list[i];
    if (s->block == IN_A || s->is_absorbed) {
      continue;
    }
    int32_t ntrees;
    SAP_TRY(sap_mj_rows_gather(a, &s->row, 1, &ntrees, error));
    if (ntrees == 0) {
      continue;
    }
    const sap_law_servo law = {.offset = s->raw + s->kd * s->V0, .kp = s->kp, .kd = s->kd};
    sap_mj_row_law box = {SAP_SET_BOX, 0.0, 0.0, h * s->lower, h * s->upper};
    sap_law_servo_at(&law, h, 1.0, 1.0, &box.R, &box.v_hat);
    s->block = sap_problem_block_count(a->problem);
    SAP_TRY(sap_mj_blocks_add_row(a, ntrees, &box, sap_mj_blocks_key(a, SAP_MJ_KEY_SERVO, i, 0, 0),
                                  error));
  }
  return SAP_STATUS_OK;
}

bool sap_mj_servos_check(sap_mj* a, const double* v) {
  const double h = a->model->opt.timestep;
  bool changed = false;
  SAP_EACH(sap_mj_servo, s, a->servos.list, a->servos.count) {
    if (s->block == IN_A && s->is_limited && !s->is_absorbed &&
        leaves_range(s, force_at(s, h, sap_mj_row_times(&s->row, v)))) {
      s->block = BOXED;
      changed = true;
#if SAP_MJ_SINCE(3, 0, 0)
      if (s->output < 0) {
        absorb(a, *s->row.columns);
      }
#endif
    }
  }
  return changed;
}

void sap_mj_servos_write(sap_mj* a, mjData* d, const double* v) {
  const double h = a->model->opt.timestep;
  SAP_EACH(const sap_mj_servo, s, a->servos.list, a->servos.count) {
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
