// SPDX-License-Identifier: BSD-3-Clause
// What MuJoCo's actuators are as servos, affine in their length and velocity or nearly so: gains,
// and the force without its bounds.
#include <math.h>

#include "mujoco/adapter.h"

bool sap_mj_actuator_is_disabled(const mjModel* m, int32_t actuator) {
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

// Control as it arrives, after its delay, within its range.
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
// Activation, of those that act early (actearly) that at the end of the step.
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

// Control or activation that the gain multiplies.
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

bool sap_mj_may_be_servo(const mjModel* m, int32_t actuator) {
  const int gain = m->actuator_gaintype[actuator];
#if SAP_MJ_SINCE(4, 0, 0)
  if (gain == mjGAIN_SO3 || gain == mjGAIN_DCMOTOR) {
    return true;
  }
#endif
  return m->actuator_biastype[actuator] == mjBIAS_AFFINE || gain == mjGAIN_AFFINE;
}

#if SAP_MJ_SINCE(4, 0, 0)
// The norm of an orientation servo's outputs is at its bound, so that its gains act no more.
static bool norm_is_clipped(const mjModel* m, const mjData* d, int32_t actuator) {
  const double most = m->actuator_forcerange[2 * actuator + 1];
  const int first = m->actuator_outadr[actuator], count = m->actuator_outnum[actuator];
  double sum = 0.0;
  for (int k = first; k < first + count; ++k) {
    sum += d->actuator_force[k] * d->actuator_force[k];
  }
  return m->actuator_forcelimited[actuator] && !(sqrt(sum) < (1.0 - 1e-9) * most);
}

// A DC motor of resistance R = gain[0] and constant K = gain[1] is damped by K^2/R; its controller,
// gains kp = gain[4] and kd = gain[6], makes up for that while the voltage is not bounded
// (dynamics[1]). A current that lags (dynamics[0]) has no slope.
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

// kp and kd of actuators that are not against their bounds.
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
  if (gain_type == mjGAIN_SO3) {  // towards the target along the geodesic, damped
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

// The force without bounds of an actuator that is affine in length and velocity; false: it is not.
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
    return false;  // but one of its norm
  }
#endif
  return m->actuator_forcelimited[actuator];
}

// Tendon whose effort range bounds the actuator; -1: none.
static int32_t ranged_tendon(const mjModel* m, int32_t actuator) {
#if SAP_MJ_SINCE(3, 3, 3)
  if (m->actuator_trntype[actuator] == mjTRN_TENDON) {
    const int32_t tendon = m->actuator_trnid[2 * actuator];
    return m->tendon_actfrclimited[tendon] ? tendon : -1;
  }
#endif
  (void)m;
  (void)actuator;
  return -1;
}

// The range of a tendon bounds the sum of all forces on it: that of this actuator is bounded by
// what the others leave of it.
static void bound_by_tendon(const mjModel* m, const mjData* d, int32_t actuator, int32_t tendon,
                            sap_mj_servo* servo) {
#if SAP_MJ_SINCE(3, 3, 3)
  double others = 0.0;
  for (int32_t i = 0; i < sap_mj_actuator_count(m); ++i) {
    if (i != actuator && ranged_tendon(m, i) == tendon) {
      others += d->actuator_force[sap_mj_first_output(m, i)];
    }
  }
  servo->lower = fmax(servo->lower, m->tendon_actfrcrange[2 * tendon] - others);
  servo->upper = fmin(servo->upper, m->tendon_actfrcrange[2 * tendon + 1] - others);
#else
  (void)m;
  (void)d;
  (void)actuator;
  (void)tendon;
  (void)servo;
#endif
}

bool sap_mj_read_servo(const mjModel* m, const mjData* d, int32_t actuator, int32_t output,
                       sap_mj_servo* servo) {
  read_gains(m, d, actuator, servo);
  servo->raw = servo->applied = d->actuator_force[output];
  servo->lower = -HUGE_VAL;
  servo->upper = HUGE_VAL;
  if (has_range(m, actuator)) {
    servo->lower = m->actuator_forcerange[2 * actuator];
    servo->upper = m->actuator_forcerange[2 * actuator + 1];
  }
  const int32_t tendon = ranged_tendon(m, actuator);
  if (tendon >= 0) {
    bound_by_tendon(m, d, actuator, tendon, servo);
  }
  const double share = 1e-12 * fmin(servo->upper - servo->lower, 1e12);  // round-off of a sum
  const bool clipped = servo->raw <= servo->lower + share || servo->raw >= servo->upper - share;
  if (clipped && !find_unbounded(m, d, actuator, output, &servo->raw)) {
    return false;  // for this step it is at its bound
  }
  return servo->kp > 0.0 || servo->kd > 0.0;
}
