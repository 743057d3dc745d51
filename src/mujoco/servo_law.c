// SPDX-License-Identifier: BSD-3-Clause
// What MuJoCo's actuators are as affine servos: gains, and the force without its bounds.
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

// Control or activation that the gain multiplies.
static double input_of(const mjModel* m, const mjData* d, int32_t actuator) {
#if SAP_MJ_SINCE(3, 0, 0)
  const int32_t address = m->actuator_actadr[actuator];
  if (address >= 0) {
    return d->act[address + m->actuator_actnum[actuator] - 1];
  }
#else
  const int32_t stateless = (int32_t)(m->nu - m->na);
  if (actuator >= stateless) {
    return d->act[actuator - stateless];
  }
#endif
#if SAP_MJ_SINCE(3, 11, 0)
  const int32_t control = m->actuator_ctrladr[actuator];
  if (m->actuator_ctrlnum[actuator] < 1) {
    return 0.0;
  }
#else
  const int32_t control = actuator;
#endif
  double u = d->ctrl[control];
  if (m->actuator_ctrllimited[control] && (m->opt.disableflags & mjDSBL_CLAMPCTRL) == 0) {
    u = fmin(fmax(u, m->actuator_ctrlrange[2 * control]), m->actuator_ctrlrange[2 * control + 1]);
  }
  return u;
}

bool sap_mj_read_servo(const mjModel* m, const mjData* d, int32_t actuator, int32_t output,
                       sap_mj_servo* servo) {
  const mjtNum* gain = m->actuator_gainprm + mjNGAIN * actuator;
  const mjtNum* bias = m->actuator_biasprm + mjNBIAS * actuator;
  const int gain_type = m->actuator_gaintype[actuator], bias_type = m->actuator_biastype[actuator];
  double kp = 0.0, kd = 0.0;
  if (bias_type == mjBIAS_AFFINE) {
    kp = -bias[1];
    kd = -bias[2];
  }
  if (gain_type == mjGAIN_AFFINE) {
    const double u = input_of(m, d, actuator);
    kp -= gain[1] * u;
    kd -= gain[2] * u;
  }
  servo->kp = fmax(kp, 0.0);
  servo->kd = fmax(kd, 0.0);
  servo->raw = servo->applied = d->actuator_force[output];
  servo->lower = -HUGE_VAL;
  servo->upper = HUGE_VAL;
  if (m->actuator_forcelimited[actuator]) {
    servo->lower = m->actuator_forcerange[2 * actuator];
    servo->upper = m->actuator_forcerange[2 * actuator + 1];
    const bool clipped = servo->raw <= servo->lower || servo->raw >= servo->upper;
    if (clipped && bias_type == mjBIAS_AFFINE &&
        (gain_type == mjGAIN_FIXED || gain_type == mjGAIN_AFFINE)) {
      const double l = d->actuator_length[output], v = d->actuator_velocity[output];
      const double slope = gain_type == mjGAIN_AFFINE ? gain[1] * l + gain[2] * v : 0.0;
      servo->raw =
          (gain[0] + slope) * input_of(m, d, actuator) + bias[0] + bias[1] * l + bias[2] * v;
    }
  }
  return servo->kp > 0.0 || servo->kd > 0.0;
}
