// SPDX-License-Identifier: BSD-3-Clause
#include "multibody/dynamics/actuators.h"

#include <math.h>
#include <string.h>

#include "math/clamp.h"
#include "multibody/dynamics/dynamics_data.h"
#include "multibody/dynamics/muscle.h"
#include "multibody/dynamics/tendon.h"
#include "multibody/dynamics/transmission.h"

// Of a motor at its highest speed [N s/m, N m s/rad]: near rigid, which the block's R sees to.
static const double MOTOR_DAMPING = 1e12;

static bool has_muscle(const sap_model_actuator* a) {
  return a->muscle_gain || a->muscle_bias;
}

static double input_of(const sap_model* model, int32_t id, const double* input) {
  const sap_model_actuator* a = &model->actuators[id];
  const double u = input != NULL ? input[id] : 0.0;
  return a->act < 0 ? sap_clamp(u, a->control_lower, a->control_upper) : u;
}

static sap_actuator_line line_of(const sap_model* model, int32_t id, const double* input) {
  const sap_model_actuator* a = &model->actuators[id];
  const double u = input_of(model, id, input);
  return (sap_actuator_line){
      .offset = a->gain * u + a->bias[0],
      .kp = -(a->gain_slope[0] * u + a->bias[1]),
      .kd = -(a->gain_slope[1] * u + a->bias[2]),
      .lower = a->force_lower,
      .upper = a->force_upper,
  };
}

// The speed of gear times the length that a motor goes no further than; infinite: none.
static double motor_speed(const sap_model* model, int32_t id, const sap_actuator_line* line) {
  const sap_model_actuator* a = &model->actuators[id];
  return a->transmission == SAP_TRANSMISSION_JOINT && line->kp == 0.0 && line->kd == 0.0
             ? fabs(a->gear) * model->joints[a->target].motor_speed
             : (double)INFINITY;
}

sap_actuator_line sap_dynamics_actuator_line(const sap_model* model, int32_t id,
                                             const double* input) {
  sap_actuator_line line = line_of(model, id, input);
  const double speed = motor_speed(model, id, &line);
  if (isfinite(speed)) {
    const double force = sap_clamp(line.offset, line.lower, line.upper);
    line = (sap_actuator_line){.offset = MOTOR_DAMPING * copysign(speed, force),
                               .kd = MOTOR_DAMPING,
                               .lower = fmin(force, 0.0),
                               .upper = fmax(force, 0.0)};
  }
  return line;
}

bool sap_dynamics_actuator_is_servo(const sap_model* model, int32_t id, const double* input) {
  if (has_muscle(&model->actuators[id])) {
    return false;
  }
  const sap_actuator_line line = line_of(model, id, input);
  return (line.kp >= 0.0 && line.kd >= 0.0 && (line.kp > 0.0 || line.kd > 0.0)) ||
         (line.offset != 0.0 && isfinite(motor_speed(model, id, &line)));
}

bool sap_dynamics_actuator_is_elastic(const sap_model* model, int32_t id) {
  const sap_model_actuator* a = &model->actuators[id];
  return has_muscle(a) || a->gain_slope[0] != 0.0 || a->gain_slope[1] != 0.0;
}

sap_actuator_force sap_dynamics_actuator_force(const sap_model* model, int32_t id,
                                               const double* input, double length, double rate) {
  const sap_model_actuator* a = &model->actuators[id];
  const double u = input_of(model, id, input);
  sap_muscle_force gain = {a->gain + a->gain_slope[0] * length + a->gain_slope[1] * rate,
                           a->gain_slope[0], a->gain_slope[1]};
  sap_muscle_force bias = {a->bias[0] + a->bias[1] * length + a->bias[2] * rate, a->bias[1],
                           a->bias[2]};
  if (a->muscle_gain) {
    gain = sap_muscle_active(a, length, rate);
  }
  if (a->muscle_bias) {
    bias = sap_muscle_passive(a, length);
  }
  const double force = gain.value * u + bias.value;
  if (!(force >= a->force_lower && force <= a->force_upper)) {
    return (sap_actuator_force){sap_clamp(force, a->force_lower, a->force_upper), 0.0, 0.0};
  }
  return (sap_actuator_force){force, -(gain.length_slope * u + bias.length_slope),
                              -(gain.rate_slope * u + bias.rate_slope)};
}

int32_t sap_model_effort_bound(const sap_model* model, int32_t id) {
  const sap_model_actuator* a = &model->actuators[id];
  int32_t bound = a->target;
  if (a->transmission == SAP_TRANSMISSION_TENDON) {
    bound += model->sizes.joints;
  } else if (a->transmission != SAP_TRANSMISSION_JOINT) {
    return -1;
  }
  double lower, upper;
  sap_model_effort_range(model, bound, &lower, &upper);
  return isfinite(lower) || isfinite(upper) ? bound : -1;
}

static bool is_simple(const sap_model* model, int32_t id) {
  const sap_model_actuator* a = &model->actuators[id];
  if (a->transmission != SAP_TRANSMISSION_JOINT || model->joints[a->target].nv != 1 ||
      isfinite(model->joints[a->target].motor_speed)) {
    return false;
  }
  return !sap_dynamics_actuator_is_elastic(model, id) && a->bias[1] == 0.0 && a->bias[2] == 0.0 &&
         sap_model_effort_bound(model, id) < 0;
}

void sap_dynamics_sort_actuators(sap_dynamics* d) {
  const double infinity = (double)INFINITY;
  for (int32_t id = 0; id < d->model->sizes.actuators; ++id) {
    const sap_model_actuator* a = &d->model->actuators[id];
    if (is_simple(d->model, id)) {
      d->motors[d->nmotors++] =
          (sap_simple_motor){.id = id,
                             .dof = d->model->joints[a->target].v_start,
                             .gear = a->gear,
                             .gain = a->gain,
                             .bias = a->bias[0],
                             .force_lower = a->force_lower,
                             .force_upper = a->force_upper,
                             .input_lower = a->act < 0 ? a->control_lower : -infinity,
                             .input_upper = a->act < 0 ? a->control_upper : infinity};
    } else {
      d->other_actuators[d->nother_actuators++] = id;
    }
  }
}

const int32_t* sap_dynamics_other_actuators(const sap_dynamics* d, int32_t* count) {
  *count = d->nother_actuators;
  return d->other_actuators;
}

void sap_model_effort_range(const sap_model* model, int32_t bound, double* lower, double* upper) {
  const int32_t joints = model->sizes.joints;
  const bool on_joint = bound < joints;
  *lower =
      on_joint ? model->joints[bound].effort_lower : model->tendons[bound - joints].effort_lower;
  *upper =
      on_joint ? model->joints[bound].effort_upper : model->tendons[bound - joints].effort_upper;
}

bool* sap_dynamics_actuator_switches(sap_dynamics* d) {
  return d->actuator_active;
}

bool sap_dynamics_actuator_is_on(const sap_dynamics* d, int32_t id) {
  return d->actuator_active[id];
}

// Force of one that is no servo. Length and rate are looked at only if it depends on them.
static double force_now(sap_dynamics* d, const double* q, const double* v, int32_t id,
                        const double* input) {
  const double gear = d->model->actuators[id].gear;
  double length = 0.0, rate = 0.0;
  if (sap_dynamics_actuator_is_elastic(d->model, id)) {
    length = gear * sap_dynamics_transmission_length(d, q, id);
    rate = gear * sap_dynamics_transmission_rate(d, v, id);
  }
  return sap_dynamics_actuator_force(d->model, id, input, length, rate).force;
}

// Is it summed up with the others of its bound?
static bool is_summed(const sap_dynamics* d, int32_t id, const double* input) {
  return d->actuator_active[id] && sap_model_effort_bound(d->model, id) >= 0 &&
         !sap_dynamics_actuator_is_servo(d->model, id, input);
}

// A tendon's forces are all cut in proportion, whatever their gears.
static double cut(const sap_dynamics* d, int32_t bound, double forces, double efforts) {
  double lower, upper;
  sap_model_effort_range(d->model, bound, &lower, &upper);
  if (bound < d->model->sizes.joints) {
    return sap_clamp(efforts, lower, upper);
  }
  return forces != 0.0 ? efforts * (sap_clamp(forces, lower, upper) / forces) : efforts;
}

const double* sap_dynamics_motor_efforts(sap_dynamics* d, const double* q, const double* v,
                                         const double* input) {
  const sap_model* model = d->model;
  const int32_t bounds = model->sizes.joints + model->sizes.tendons;
  double *efforts = d->effort, *forces = d->effort + bounds;
  memset(efforts, 0, 2 * (size_t)bounds * sizeof *efforts);
  bool any = false;
  for (int32_t n = 0; n < d->nother_actuators; ++n) {
    const int32_t i = d->other_actuators[n];
    if (is_summed(d, i, input)) {
      const int32_t bound = sap_model_effort_bound(model, i);
      const double force = force_now(d, q, v, i, input);
      efforts[bound] += model->actuators[i].gear * force;
      forces[bound] += force;
      any = true;
    }
  }
  for (int32_t b = 0; any && b < bounds; ++b) {
    efforts[b] = cut(d, b, forces[b], efforts[b]);
  }
  return efforts;
}

static void add_summed(sap_dynamics* d, const double* efforts, double sign, double* k) {
  const int32_t joints = d->model->sizes.joints;
  for (int32_t j = 0; j < joints; ++j) {
    if (efforts[j] != 0.0) {
      k[d->model->joints[j].v_start] += sign * efforts[j];
    }
  }
  for (int32_t t = 0; t < d->model->sizes.tendons; ++t) {
    if (efforts[joints + t] != 0.0) {
      sap_dynamics_add_tendon_force(d, t, sign * efforts[joints + t], k);
    }
  }
}

static double simple_force(const sap_simple_motor* m, const double* input) {
  const double u = sap_clamp(input != NULL ? input[m->id] : 0.0, m->input_lower, m->input_upper);
  return sap_clamp(m->gain * u + m->bias, m->force_lower, m->force_upper);
}

const int32_t* sap_dynamics_simple_forces(const sap_dynamics* d, const double* input, double* force,
                                          int32_t* others) {
  for (int32_t n = 0; n < d->nmotors; ++n) {
    const sap_simple_motor* m = &d->motors[n];
    force[m->id] = d->actuator_active[m->id] ? simple_force(m, input) : 0.0;
  }
  *others = d->nother_actuators;
  return d->other_actuators;
}

static void add_simple(const sap_dynamics* d, const double* input, double sign, double* k) {
  for (int32_t n = 0; n < d->nmotors; ++n) {
    const sap_simple_motor* m = &d->motors[n];
    if (d->actuator_active[m->id]) {
      k[m->dof] += sign * m->gear * simple_force(m, input);
    }
  }
}

void sap_dynamics_add_motors(sap_dynamics* d, const double* q, const double* v, const double* input,
                             double sign, double* k) {
  const sap_model* model = d->model;
  bool summed = false;
  add_simple(d, input, sign, k);
  for (int32_t n = 0; n < d->nother_actuators; ++n) {
    const int32_t i = d->other_actuators[n];
    if (is_summed(d, i, input)) {
      summed = true;
    } else if (d->actuator_active[i] && !sap_dynamics_actuator_is_elastic(model, i) &&
               !sap_dynamics_actuator_is_servo(model, i, input)) {
      const double force = sap_dynamics_actuator_force(model, i, input, 0.0, 0.0).force;
      sap_dynamics_add_transmission_force(d, i, sign * model->actuators[i].gear * force, k);
    }
  }
  if (summed) {
    add_summed(d, sap_dynamics_motor_efforts(d, q, v, input), sign, k);
  }
}
