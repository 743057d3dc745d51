// SPDX-License-Identifier: BSD-3-Clause
#include "multibody/dynamics/actuators.h"

#include <math.h>
#include <string.h>

#include "math/scalar.h"
#include "multibody/dynamics/dynamics_data.h"

typedef struct muscle_curve {
  double value, slope;
} muscle_curve;

// 1/2 (x/width)^2 and its slope
static muscle_curve rising(double x, double width) {
  const double s = x / width;
  return (muscle_curve){0.5 * s * s, s / width};
}

// FL: parabolas, convex from lmin, concave around 1, convex up to lmax.
static muscle_curve active_length(const sap_muscle* m, double L) {
  const double a = 0.5 * (m->lmin + 1.0), b = 0.5 * (1.0 + m->lmax);
  if (!(L >= m->lmin && L <= m->lmax)) {
    return (muscle_curve){0.0, 0.0};
  }
  if (L <= a) {
    return rising(L - m->lmin, a - m->lmin);
  }
  if (L > b) {
    const muscle_curve c = rising(m->lmax - L, m->lmax - b);
    return (muscle_curve){c.value, -c.slope};
  }
  const muscle_curve c = L <= 1.0 ? rising(1.0 - L, 1.0 - a) : rising(L - 1.0, b - 1.0);
  return (muscle_curve){1.0 - c.value, L <= 1.0 ? c.slope : -c.slope};
}

// FV
static muscle_curve active_rate(const sap_muscle* m, double V) {
  const double y = m->fvmax - 1.0;
  if (V <= -1.0) {
    return (muscle_curve){0.0, 0.0};
  }
  if (V <= 0.0) {
    return (muscle_curve){(V + 1.0) * (V + 1.0), 2.0 * (V + 1.0)};
  }
  if (V <= y) {
    return (muscle_curve){m->fvmax - (y - V) * (y - V) / y, 2.0 * (y - V) / y};
  }
  return (muscle_curve){m->fvmax, 0.0};
}

// FP
static muscle_curve passive_length(const sap_muscle* m, double L) {
  const double b = 0.5 * (1.0 + m->lmax);
  if (L <= 1.0) {
    return (muscle_curve){0.0, 0.0};
  }
  if (L <= b) {
    const muscle_curve c = rising(L - 1.0, b - 1.0);
    return (muscle_curve){m->fpmax * c.value, m->fpmax * c.slope};
  }
  return (muscle_curve){m->fpmax * (0.5 + (L - b) / (b - 1.0)), m->fpmax / (b - 1.0)};
}

// Returns the normalised length L; L0 is the length at L = 1.
static double normal_length(const sap_model_actuator* a, double length, double* L0) {
  const double* range = a->muscle.range;
  *L0 = (a->length_upper - a->length_lower) / (range[1] - range[0]);
  return range[0] + (length - a->length_lower) / *L0;
}

sap_muscle_force sap_muscle_active(const sap_model_actuator* actuator, double length, double rate) {
  const sap_muscle* m = &actuator->muscle;
  double L0;
  const double L = normal_length(actuator, length, &L0);
  const muscle_curve fl = active_length(m, L), fv = active_rate(m, rate / (L0 * m->vmax));
  return (sap_muscle_force){-m->force * fl.value * fv.value, -m->force * fl.slope * fv.value / L0,
                            -m->force * fl.value * fv.slope / (L0 * m->vmax)};
}

sap_muscle_force sap_muscle_passive(const sap_model_actuator* actuator, double length) {
  const sap_muscle* m = &actuator->muscle;
  double L0;
  const muscle_curve fp = passive_length(m, normal_length(actuator, length, &L0));
  return (sap_muscle_force){-m->force * fp.value, -m->force * fp.slope / L0, 0.0};
}

// Damping of a motor at its highest speed [N s/m, N m s/rad]: rigid; the block's R limits it.
static const double MOTOR_DAMPING = 1e12;

static bool has_muscle(const sap_model_actuator* a) {
  return a->muscle_gain || a->muscle_bias;
}

static double actuator_input(const sap_model* model, int32_t id, const double* input) {
  const sap_model_actuator* a = &model->actuators[id];
  const double u = input != NULL ? input[id] : 0.0;
  return a->act < 0 ? sap_clamp(u, a->control_lower, a->control_upper) : u;
}

static sap_actuator_line make_line(const sap_model* model, int32_t id, const double* input) {
  const sap_model_actuator* a = &model->actuators[id];
  const double u = actuator_input(model, id, input);
  return (sap_actuator_line){
      .offset = a->gain * u + a->bias[0],
      .kp = -(a->gain_slope[0] * u + a->bias[1]),
      .kd = -(a->gain_slope[1] * u + a->bias[2]),
      .lower = a->force_lower,
      .upper = a->force_upper,
  };
}

// Speed limit of a motor, of gear times the length; infinite: none.
static double motor_speed(const sap_model* model, int32_t id, const sap_actuator_line* line) {
  const sap_model_actuator* a = &model->actuators[id];
  return a->transmission == SAP_TRANSMISSION_JOINT && line->kp == 0.0 && line->kd == 0.0
             ? fabs(a->gear) * model->joints[a->target].motor_speed
             : (double)INFINITY;
}

sap_actuator_line sap_dynamics_actuator_line(const sap_model* model, int32_t id,
                                             const double* input) {
  sap_actuator_line line = make_line(model, id, input);
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
  const sap_actuator_line line = make_line(model, id, input);
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
  const double u = actuator_input(model, id, input);
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

// True if no other actuator is on the same joint: an effort range bounds this one alone.
static bool is_alone(const sap_model* model, int32_t id) {
  int32_t count = 0;
  SAP_EACH(const sap_model_actuator, a, model->actuators, model->sizes.actuators) {
    count += a->transmission == SAP_TRANSMISSION_JOINT && a->target == model->actuators[id].target;
  }
  return count == 1 && model->actuators[id].gear != 0.0;
}

static bool is_simple(const sap_model* model, int32_t id) {
  const sap_model_actuator* a = &model->actuators[id];
  if (a->transmission != SAP_TRANSMISSION_JOINT || model->joints[a->target].nv != 1 ||
      isfinite(model->joints[a->target].motor_speed)) {
    return false;
  }
  return !sap_dynamics_actuator_is_elastic(model, id) && a->bias[1] == 0.0 && a->bias[2] == 0.0 &&
         (sap_model_effort_bound(model, id) < 0 || is_alone(model, id));
}

void sap_dynamics_sort_actuators(sap_dynamics* d) {
  const double infinity = (double)INFINITY;
  for (int32_t id = 0; id < d->model->sizes.actuators; ++id) {
    const sap_model_actuator* a = &d->model->actuators[id];
    if (is_simple(d->model, id)) {
      double efforts[2] = {-infinity, infinity};
      if (sap_model_effort_bound(d->model, id) >= 0) {
        sap_model_effort_range(d->model, a->target, &efforts[0], &efforts[1]);
      }
      const double lower = efforts[a->gear < 0.0] / a->gear;
      const double upper = efforts[!(a->gear < 0.0)] / a->gear;
      d->motors[d->nmotors++] =
          (sap_simple_motor){.id = id,
                             .dof = d->model->joints[a->target].v_start,
                             .gear = a->gear,
                             .gain = a->gain,
                             .bias = a->bias[0],
                             .force_lower = sap_clamp(a->force_lower, lower, upper),
                             .force_upper = sap_clamp(a->force_upper, lower, upper),
                             .input_lower = a->act < 0 ? a->control_lower : -infinity,
                             .input_upper = a->act < 0 ? a->control_upper : infinity};
    } else {
      d->other_actuators[d->nother_actuators++] = id;
    }
  }
}

void sap_model_effort_range(const sap_model* model, int32_t bound, double* lower, double* upper) {
  const int32_t joints = model->sizes.joints;
  const bool on_joint = bound < joints;
  *lower =
      on_joint ? model->joints[bound].effort_lower : model->tendons[bound - joints].effort_lower;
  *upper =
      on_joint ? model->joints[bound].effort_upper : model->tendons[bound - joints].effort_upper;
}

double sap_transmission_rate(sap_dynamics* d, const sap_kinematics* kin, const double* v,
                             int32_t id) {
  const sap_model* model = d->model;
  const sap_model_actuator* actuator = &model->actuators[id];
  if (actuator->transmission == SAP_TRANSMISSION_JOINT && model->joints[actuator->target].nv == 1) {
    const int32_t dof = model->joints[actuator->target].v_start;
    return d->locked[dof] ? 0.0 : v[dof];
  }
  sap_rows_begin(&d->rows, 1);
  (void)sap_transmission_add_row(kin, id, 1.0, &d->rows, 0);
  return sap_rows_times(&d->rows, 0, v);
}

// Force of an actuator that is not a servo. Evaluates length and rate only if it depends on them.
static double explicit_force(sap_dynamics* d, const sap_dynamics_state* at, int32_t id) {
  const double gear = d->model->actuators[id].gear;
  double length = 0.0, rate = 0.0;
  if (sap_dynamics_actuator_is_elastic(d->model, id)) {
    length = gear * sap_transmission_length(at->kin, id);
    rate = gear * sap_transmission_rate(d, at->kin, at->v, id);
  }
  return sap_dynamics_actuator_force(d->model, id, at->input, length, rate).force;
}

// True if the actuator is summed with others in an effort range.
static bool is_summed(const sap_dynamics* d, int32_t id, const double* input) {
  return d->actuator_active[id] && sap_model_effort_bound(d->model, id) >= 0 &&
         !sap_dynamics_actuator_is_servo(d->model, id, input);
}

const double* sap_dynamics_motor_efforts(sap_dynamics* d, const sap_dynamics_state* at) {
  const sap_model* model = d->model;
  const int32_t bounds = model->sizes.joints + model->sizes.tendons;
  double *efforts = d->effort, *forces = d->effort + bounds;
  memset(efforts, 0, 2 * (size_t)bounds * sizeof *efforts);
  bool any = false;
  for (int32_t n = 0; n < d->nother_actuators; ++n) {
    const int32_t i = d->other_actuators[n];
    if (is_summed(d, i, at->input)) {
      const int32_t bound = sap_model_effort_bound(model, i);
      const double force = explicit_force(d, at, i);
      efforts[bound] += model->actuators[i].gear * force;
      forces[bound] += force;
      any = true;
    }
  }
  for (int32_t b = 0; any && b < bounds; ++b) {
    double lower, upper;
    sap_model_effort_range(model, b, &lower, &upper);
    if (b < model->sizes.joints) {
      efforts[b] = sap_clamp(efforts[b], lower, upper);
    } else if (forces[b] != 0.0) {  // forces on a tendon are scaled alike, whatever their gears
      efforts[b] *= sap_clamp(forces[b], lower, upper) / forces[b];
    }
  }
  return efforts;
}

static void add_summed(const sap_dynamics* d, const sap_kinematics* kin, const double* efforts,
                       double sign, double* k) {
  const int32_t joints = d->model->sizes.joints;
  for (int32_t j = 0; j < joints; ++j) {
    if (efforts[j] != 0.0) {
      k[d->model->joints[j].v_start] += sign * efforts[j];
    }
  }
  for (int32_t t = 0; t < d->model->sizes.tendons; ++t) {
    if (efforts[joints + t] != 0.0) {
      sap_tendon_add_force(kin, t, sign * efforts[joints + t], k);
    }
  }
}

static double simple_force(const sap_simple_motor* m, const double* input) {
  const double u = sap_clamp(input != NULL ? input[m->id] : 0.0, m->input_lower, m->input_upper);
  return sap_clamp(m->gain * u + m->bias, m->force_lower, m->force_upper);
}

void sap_dynamics_simple_forces(const sap_dynamics* d, const double* input, double* force) {
  SAP_EACH(const sap_simple_motor, m, d->motors, d->nmotors) {
    force[m->id] = d->actuator_active[m->id] ? simple_force(m, input) : 0.0;
  }
}

static void add_simple(const sap_dynamics* d, const double* input, double sign, double* k) {
  SAP_EACH(const sap_simple_motor, m, d->motors, d->nmotors) {
    if (d->actuator_active[m->id]) {
      k[m->dof] += sign * m->gear * simple_force(m, input);
    }
  }
}

void sap_dynamics_add_motors(sap_dynamics* d, const sap_dynamics_state* at, double sign,
                             double* k) {
  const double* input = at->input;
  const sap_model* model = d->model;
  bool summed = false;
  add_simple(d, input, sign, k);
  for (int32_t n = 0; n < d->nother_actuators; ++n) {
    const int32_t i = d->other_actuators[n];
    if (sap_dynamics_servo_is_linear(d, i)) {
      continue;
    }
    if (is_summed(d, i, input)) {
      summed = true;
    } else if (d->actuator_active[i] && !sap_dynamics_actuator_is_elastic(model, i) &&
               !sap_dynamics_actuator_is_servo(model, i, input)) {
      const double force = sap_dynamics_actuator_force(model, i, input, 0.0, 0.0).force;
      sap_transmission_add_force(at->kin, i, sign * model->actuators[i].gear * force, k);
    }
  }
  if (summed) {
    add_summed(d, at->kin, sap_dynamics_motor_efforts(d, at), sign, k);
  }
}

static double muscle_time(const double time[3], double act, double difference) {
  const double pace = 0.5 + 1.5 * sap_clamp(act, 0.0, 1.0);
  const double rise = time[0] * pace, fall = time[1] / pace;
  if (time[2] > 0.0) {
    // Smooth step; two derivatives vanish at both ends.
    const double s = sap_clamp(difference / time[2] + 0.5, 0.0, 1.0);
    return fall + (rise - fall) * (s * s * s * (10.0 - s * (15.0 - 6.0 * s)));
  }
  return difference > 0.0 ? rise : fall;
}

// exact: of second order, along exponentials; else MuJoCo's.
static double advance_activation(const sap_model_actuator* a, double control, double act, double dt,
                                 bool exact) {
  double u = sap_clamp(control, a->control_lower, a->control_upper), tau = a->activation_time[0];
  switch (a->activation) {
    case SAP_ACTIVATION_NONE:
      return act;
    case SAP_ACTIVATION_INTEGRATOR:
      return act + dt * u;
    case SAP_ACTIVATION_FILTER_EXACT:
      exact = true;
      break;
    case SAP_ACTIVATION_MUSCLE:
      u = sap_clamp(u, 0.0, 1.0);
      tau = muscle_time(a->activation_time, act, u - act);
      if (exact) {  // at the middle of the step
        const double middle = act - (u - act) * expm1(-0.5 * dt / tau);
        tau = muscle_time(a->activation_time, middle, u - middle);
      }
      break;
    case SAP_ACTIVATION_FILTER:
      break;
  }
  if (exact) {
    return tau > 0.0 ? act - (u - act) * expm1(-dt / tau) : u;
  }
  return dt < tau ? act + (u - act) * (dt / tau) : u;
}

void sap_model_advance_activations(const sap_model* model, const double* control, const double* act,
                                   double dt, bool exact, double* next) {
  for (int32_t i = 0; i < model->sizes.actuators; ++i) {
    const sap_model_actuator* a = &model->actuators[i];
    if (a->act >= 0) {
      next[a->act] = sap_clamp(advance_activation(a, control[i], act[a->act], dt, exact),
                               a->activation_lower, a->activation_upper);
    }
  }
}
