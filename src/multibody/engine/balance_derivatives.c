// SPDX-License-Identifier: BSD-3-Clause
// Derivatives of the momentum balance of the engine: inertia, springs and dampers of joints, servos
// within their bounds and motors exactly; other forces by differences, which the notes name. Also
// its gradients to parameters.
#include <string.h>

#include "integrators/stepper.h"
#include "multibody/dynamics/actuators.h"
#include "multibody/dynamics/dynamics_data.h"
#include "multibody/engine/impulse_slopes.h"
#include "multibody/engine/multibody_data.h"
#include "multibody/model/model_data.h"

// Central differences of forces: truncation STEP^2, round-off 1e-16/STEP.
static const double STEP = 1e-5;

sap_status sap_multibody_derivatives(sap_multibody* multibody, sap_error* error) {
  if (multibody->derivatives != NULL) {
    return SAP_STATUS_OK;
  }
  SAP_TRY(sap_mass_work_create(multibody->dynamics, &multibody->pool, &multibody->masses, error));
  SAP_TRY(SAP_POOL_ADD(&multibody->pool, &multibody->column, multibody->model->sizes.nv, error));
  return sap_derivatives_create(multibody->dynamics, &multibody->pool, &multibody->derivatives,
                                error);
}

// Returns true, and names them, if there are forces that are taken by differences.
static bool needs_differences(const sap_multibody* multibody, char* notes) {
  const sap_dynamics* d = multibody->dynamics;
  const int32_t bodies = multibody->model->sizes.bodies;
  bool wrenches = false, drives = false;
  for (int32_t b = 1; b < bodies && d->any_applied; ++b) {
    wrenches = wrenches || d->wrenches[b].used;
  }
  for (int32_t n = 0; n < d->nother_actuators; ++n) {
    const int32_t id = d->other_actuators[n];
    drives = drives || (d->actuator_active[id] && !sap_dynamics_servo_is_linear(d, id) &&
                        !sap_dynamics_actuator_is_servo(multibody->model, id, multibody->input));
  }
  const bool all[] = {
      sap_derivatives_note(d->nelastic > 0, notes,
                           "by differences: springs between bodies, tendons, muscles"),
      sap_derivatives_note(d->fluid.count > 0, notes, "by differences: fluid"),
      sap_derivatives_note(d->nfloating > 0, notes, "by differences: gravity compensation"),
      sap_derivatives_note(wrenches, notes, "by differences: applied wrenches"),
      sap_derivatives_note(drives, notes,
                           "by differences: actuators on transmissions or effort ranges")};
  return all[0] || all[1] || all[2] || all[3] || all[4];
}

// column = -(k(plus) - k(minus))/(2 STEP), of forces but inertia, gravity, dampers, linear servos.
static void add_force(sap_multibody* multibody, const double* q, const double* v, double scale,
                      double* column) {
  const sap_dynamics_state at = {sap_multibody_kinematics(multibody, q), v, multibody->input};
  sap_dynamics_add_fluid(multibody->dynamics, &at, scale, column);
  sap_dynamics_add_forces(multibody->dynamics, &at, scale, column, column);
}

// X[row, column] += value of a matrix of the start, or lambda' of it.
static void add_entry(const sap_balance_derivatives* out, size_t n, double* X, const size_t at[2],
                      double value) {
  if (out->lambda != NULL) {
    X[at[1]] += out->lambda[at[0]] * value;
  } else {
    X[n * at[1] + at[0]] += value;
  }
}

static double* begin_column(sap_multibody* multibody) {
  return memset(multibody->column, 0, (size_t)multibody->model->sizes.nv * sizeof(double));
}

// Adds multibody->column to column k of such a matrix.
static void end_column(const sap_multibody* multibody, const sap_balance_derivatives* out,
                       double* X, size_t k) {
  const size_t n = (size_t)multibody->model->sizes.nv;
  for (size_t i = 0; i < n; ++i) {
    add_entry(out, n, X, (size_t[]){i, k}, multibody->column[i]);
  }
}

static void differentiate_forces(sap_multibody* multibody, const sap_balance_derivatives* out) {
  const sap_model_sizes* sizes = &multibody->model->sizes;
  const size_t n = (size_t)sizes->nv;
  double* x = multibody->acceleration;
  for (size_t k = 0; k < n && out->dq != NULL; ++k) {
    for (int side = -1; side <= 1; side += 2) {
      const double scale = -side / (2.0 * STEP);
      memset(x, 0, n * sizeof *x);
      x[k] = side * STEP;
      sap_manifold_integrate(multibody->model, out->q, x, 1.0, multibody->q_next);
      add_force(multibody, multibody->q_next, out->v, scale, out->dq + n * k);
      memcpy(x, out->v, n * sizeof *x);
      x[k] += side * STEP;
      add_force(multibody, out->q, x, scale, out->dv + n * k);
    }
  }
  for (size_t i = 0; i < (size_t)sizes->nu && out->dq == NULL; ++i) {
    const double u = multibody->input[i];
    double* column = begin_column(multibody);
    for (int side = -1; side <= 1; side += 2) {
      multibody->input[i] = u + side * STEP;
      add_force(multibody, out->q, out->v, -side / (2.0 * STEP), column);
    }
    multibody->input[i] = u;
    end_column(multibody, out, out->du, i);
  }
}

// Joint springs: K = k + 3 k3 x^2; ball: k Jr^-1(phi), not its symmetric part.
static void add_springs(const sap_dynamics* d, const double* q, double* dq) {
  const size_t n = (size_t)d->model->sizes.nv;
  for (int32_t s = 0; s < d->nsprings; ++s) {
    const sap_spring* spring = &d->springs[s];
    const size_t i = (size_t)spring->v_start;
    if (spring->type != SAP_JOINT_BALL) {
      const double x = q[spring->q_start] - spring->reference;
      dq[(n + 1) * i] += spring->stiffness + 3.0 * spring->cubic * x * x;
      continue;
    }
    double phi[3], J[9];
    sap_ball_rotation(phi, q + spring->q_start);
    sap_inverse_left_jacobian(phi, J);  // its transposed is that of the right
    for (size_t c = 0; c < 3; ++c) {
      for (size_t r = 0; r < 3; ++r) {
        dq[n * (i + c) + i + r] += spring->stiffness * J[3 * r + c];
      }
    }
  }
}

// dK of a ball's K by its velocity k, lower triangle.
static void differentiate_ball(const sap_spring* spring, const double* q, double scale, int k,
                               double dK[9]) {
  double phi[3], J[9];
  sap_ball_rotation(phi, q + spring->q_start);
  sap_inverse_left_jacobian(phi, J);
  memset(dK, 0, 9 * sizeof *dK);
  for (int side = -1; side <= 1; side += 2) {
    double moved[3];
    for (int i = 0; i < 3; ++i) {
      moved[i] = phi[i] + side * STEP * J[3 * i + k];
    }
    sap_ball_stiffness(scale * spring->stiffness * side / (2.0 * STEP), moved, 3, dK);
  }
}

void sap_multibody_add_springs(const sap_slopes_call* call, int32_t tree, double* out) {
  const sap_dynamics* d = call->multibody->dynamics;
  const sap_step_context* step = call->step;
  const double *q = call->out->q_A, scale = step->dt * step->dt * step->theta * step->theta_vq;
  for (int32_t s = 0; s < d->nsprings; ++s) {
    const sap_spring* spring = &d->springs[s];
    const int32_t v = spring->v_start, n = spring->type == SAP_JOINT_BALL ? 3 : 1;
    const bool changes = n == 3 || spring->cubic != 0.0;
    for (int k = 0; changes && d->model->dof_tree[v] == tree && k < n; ++k) {
      double dK[9] = {6.0 * scale * spring->cubic * (q[spring->q_start] - spring->reference)};
      if (n == 3) {
        differentiate_ball(spring, q, scale, k, dK);
      }
      for (int i = 0; i < n * n; ++i) {
        const int row = i % n, column = i / n;
        out[v + k] += dK[row < column ? n * row + column : i] *
                      sap_slopes_mass_entry(call, v + row, v + column);
      }
    }
  }
}

static void add_motors(const sap_dynamics* d, const double* input,
                       const sap_balance_derivatives* out) {
  const size_t n = (size_t)d->model->sizes.nv;
  for (int32_t m = 0; m < d->nmotors; ++m) {
    const sap_simple_motor* motor = &d->motors[m];
    const double u = input[motor->id], force = motor->gain * u + motor->bias;
    if (d->actuator_active[motor->id] && u >= motor->input_lower && u <= motor->input_upper &&
        force >= motor->force_lower && force <= motor->force_upper) {
      const size_t at[] = {(size_t)motor->dof, (size_t)motor->id};
      add_entry(out, n, out->du, at, -motor->gear * motor->gain);
    }
  }
}

// d offset/du of an actuator's line, which is piecewise linear.
static double offset_slope(const sap_multibody* multibody, int32_t id) {
  double offset[2];
  for (int side = 0; side < 2; ++side) {
    const double u = multibody->input[id];
    multibody->input[id] = u + (side == 0 ? -STEP : STEP);
    offset[side] = sap_dynamics_actuator_line(multibody->model, id, multibody->input).offset;
    multibody->input[id] = u;
  }
  return (offset[1] - offset[0]) / (2.0 * STEP);
}

// Adds the derivatives to q0 of servos whose lever arms J move, and of all others with them.
static void move_servos(sap_multibody* multibody, const sap_step_context* step,
                        const sap_balance_derivatives* out) {
  const size_t n = (size_t)multibody->model->sizes.nv;
  sap_dynamics* d = multibody->dynamics;
  double* x = multibody->acceleration;
  sap_derivatives_note(true, out->notes, "by differences: servos of tendons, transmissions");
  for (size_t k = 0; k < n; ++k) {
    double* column = begin_column(multibody);
    for (int side = -1; side <= 1; side += 2) {
      memset(x, 0, n * sizeof *x);
      x[k] = side * STEP;
      sap_manifold_integrate(multibody->model, step->q0, x, 1.0, multibody->q_next);
      sap_dynamics_place_servos(d, sap_multibody_kinematics(multibody, multibody->q_next));
      sap_dynamics_add_servos(d, out->v, step->dt, -side / (2.0 * STEP), column);
    }
    end_column(multibody, out, out->dq0, k);
  }
  sap_dynamics_place_servos(d, sap_multibody_start_kinematics(multibody, step->q0));
}

// f = offset - kp (x0 + dt J v) - kd J v of servos within their bounds, J of q0.
static void add_servos(sap_multibody* multibody, const sap_step_context* step,
                       const sap_balance_derivatives* out) {
  const sap_model* model = multibody->model;
  const sap_dynamics* d = multibody->dynamics;
  const size_t n = (size_t)model->sizes.nv;
  bool moves = false;
  for (int32_t s = 0; s < d->nservos; ++s) {
    const sap_servo* servo = &d->servos[s];
    moves =
        moves || (servo->linear && !sap_transmission_is_fixed(model, &model->actuators[servo->id]));
  }
  if (moves && out->dq0 != NULL) {
    move_servos(multibody, step, out);
  }
  for (int32_t s = 0; s < d->nservos; ++s) {
    const sap_servo* servo = &d->servos[s];
    for (int32_t c = 0; servo->linear && c < servo->count; ++c) {
      for (int32_t r = 0; r < servo->count; ++r) {
        const size_t at[] = {(size_t)servo->dofs[r], (size_t)servo->dofs[c]};
        const double JJ = servo->J[r] * servo->J[c];
        if (out->dv != NULL) {
          out->dv[n * at[1] + at[0]] += (step->dt * servo->law.kp + servo->law.kd) * JJ;
        } else {
          add_entry(out, n, out->dq0, at, moves ? 0.0 : servo->law.kp * JJ);
        }
      }
    }
  }
  for (int32_t id = 0; d->nservos > 0 && out->du != NULL && id < model->sizes.nu; ++id) {
    const sap_servo* servo = d->servo_of[id] >= 0 ? &d->servos[d->servo_of[id]] : NULL;
    for (int32_t r = 0; servo != NULL && servo->linear && r < servo->count; ++r) {
      const size_t at[] = {(size_t)servo->dofs[r], (size_t)id};
      add_entry(out, n, out->du, at,
                -servo->J[r] * model->actuators[id].gear * offset_slope(multibody, id));
    }
  }
}

static sap_status check_locks(const sap_multibody* multibody, sap_error* error) {
  const sap_model* model = multibody->model;
  for (int32_t i = 0; i < model->sizes.nv; ++i) {
    SAP_FAIL_IF(multibody->system.locked[i], error, SAP_STATUS_UNSUPPORTED,
                "derivatives of a step with locked joint %d '%s'", model->dof_joint[i],
                sap_model_get_name(model, SAP_ELEMENT_JOINT, model->dof_joint[i]));
  }
  return SAP_STATUS_OK;
}

// With the inputs of the step.
static sap_status find_derivatives(sap_multibody* multibody, const sap_step_context* step,
                                   sap_balance_derivatives* out, sap_error* error) {
  const sap_system* system = &multibody->system;
  const sap_dynamics* d = multibody->dynamics;
  const bool momenta = step->theta == 1.0 && step->theta_vq == 1.0;
  const bool servos = multibody->servos_chosen;
  SAP_TRY(check_locks(multibody, error));
  SAP_TRY(sap_multibody_derivatives(multibody, error));
  const bool end = out->residual != NULL;
  int code = 0;
  multibody->servos_chosen = true;  // as they were in the step
  if (end && momenta) {
    code = system->momentum_balance(multibody, step, out->q, out->v, out->residual, NULL);
  } else if (end) {
    code = system->inverse_dynamics(multibody, step->t, out->q, out->v, out->a, out->residual);
  }
  multibody->servos_chosen = servos;
  if (code != 0) {
    return (sap_status)code;
  }
  if (momenta) {
    const sap_kinematics* kin0 = sap_multibody_start_kinematics(multibody, step->q0);
    const sap_momentum_derivatives all = {.kin0 = kin0,
                                          .kin = sap_multibody_kinematics(multibody, out->q),
                                          .v0 = step->v0,
                                          .v = out->v,
                                          .dt = step->dt,
                                          .momenta0 = multibody->momenta.start.momenta,
                                          .lambda = out->lambda,
                                          .dq = out->dq,
                                          .dv = out->dv,
                                          .dq0 = out->dq0,
                                          .dv0 = out->dv0};
    d->kernels->momentum_derivatives(multibody->derivatives, &all);
    add_servos(multibody, step, out);
  } else if (end) {
    const sap_inverse_derivatives all = {out->dq, out->dv, out->da};
    d->kernels->inverse_derivatives(
        multibody->derivatives, sap_multibody_kinematics(multibody, out->q), out->v, out->a, &all);
  }
  for (size_t i = 0, n = (size_t)system->nv; end && i < n; ++i) {
    out->dv[(n + 1) * i] += d->damping[i];
  }
  if (needs_differences(multibody, out->notes)) {
    differentiate_forces(multibody, out);
  } else if (end) {
    add_springs(d, out->q, out->dq);
  } else {
    add_motors(d, multibody->input, out);
  }
  return SAP_STATUS_OK;
}

sap_status sap_multibody_balance_derivatives(void* context, const sap_step_context* step,
                                             sap_balance_derivatives* out, sap_error* error) {
  sap_multibody* multibody = context;
  double* input = multibody->input;
  multibody->input = multibody->start.input;
  const sap_status status = find_derivatives(multibody, step, out, error);
  multibody->input = input;
  return status;
}

// --- parameters: of the balance, and of A where the laws of impulses read it ---

static sap_status check_parameter(const sap_multibody* multibody, const sap_parameter* p,
                                  sap_error* error) {
  const sap_model* model = multibody->model;
  const bool shape = p->kind <= SAP_PARAMETER_RELAXATION_TIME;
  const int32_t count = shape                              ? model->sizes.shapes
                        : p->kind == SAP_PARAMETER_GRAVITY ? 3
                        : SAP_IS_OF_INERTIA(p->kind)       ? model->sizes.bodies
                        : SAP_IS_OF_SERVO(p->kind)         ? model->sizes.nu
                                                           : model->sizes.joints;
  SAP_FAIL_IF((int)p->kind < 0 || p->kind >= SAP_PARAMETER_COUNT || p->id < 0 || p->id >= count,
              error, SAP_STATUS_ARGUMENT, "parameter: kind %d, id %d of %d", (int)p->kind, p->id,
              count);
  SAP_FAIL_IF(p->kind == SAP_PARAMETER_SPRING && !sap_joint_is_scalar(model->joints[p->id].type),
              error, SAP_STATUS_UNSUPPORTED,
              "derivatives to the spring of joint %d '%s', no hinge or slide", p->id,
              sap_model_get_name(model, SAP_ELEMENT_JOINT, p->id));
  const bool weight = p->kind == SAP_PARAMETER_GRAVITY || SAP_IS_OF_INERTIA(p->kind);
  SAP_FAIL_IF(weight && multibody->dynamics->nfloating > 0, error, SAP_STATUS_UNSUPPORTED,
              "derivatives to gravity or inertia with gravity compensation");
  SAP_FAIL_IF(SAP_IS_OF_SERVO(p->kind) && sap_dynamics_actuator_is_elastic(model, p->id), error,
              SAP_STATUS_UNSUPPORTED,
              "derivatives to kp or kd of actuator %d '%s', whose gain depends on its length",
              p->id, sap_model_get_name(model, SAP_ELEMENT_ACTUATOR, p->id));
  return SAP_STATUS_OK;
}

// Weight of the links times the velocities of their centres by lambda, along an axis.
static double add_gravity(sap_multibody* multibody, const sap_kinematics* kin, const double* lambda,
                          int32_t axis) {
  const sap_dynamics* d = multibody->dynamics;
  double sum = 0.0, h[3], x[3];
  sap_kinematics_velocities(kin, lambda, multibody->velocities);
  for (int32_t l = 0; l < d->nlinks; ++l) {
    const sap_link* link = &d->links[l];
    const double* V = multibody->velocities[link->body];
    sap_m3_mul_v3(h, kin->R_WB + 9 * (size_t)link->body, link->body_inertia.h);
    sap_v3_cross(x, V, h);
    sum += link->body_inertia.mass * V[3 + axis] + x[axis];
  }
  return sum;
}

sap_actuator_line sap_slopes_servo_line(const sap_multibody* multibody, const sap_parameter* p) {
  const sap_model_actuator* a = &multibody->model->actuators[p->id];
  const bool stiffness = p->kind == SAP_PARAMETER_SERVO_STIFFNESS;
  const sap_actuator_line line =
      sap_dynamics_actuator_line(multibody->model, p->id, multibody->start.input);
  const bool gains = a->gain != 0.0 && a->gain == (stiffness ? line.kp : line.kd);
  return (sap_actuator_line){.offset = gains ? (line.offset - a->bias[0]) / a->gain : 0.0,
                             .kp = stiffness ? 1.0 : 0.0,
                             .kd = stiffness ? 0.0 : 1.0};
}

// The servo of an actuator that the balance has; else NULL.
static const sap_servo* find_servo(const sap_dynamics* d, int32_t id) {
  const int32_t s = d->nservos > 0 ? d->servo_of[id] : -1;
  return s >= 0 && d->servos[s].linear ? &d->servos[s] : NULL;
}

// Gradient to kp or kd of -lambda' J' f.
static double add_servo(const sap_multibody* multibody, const sap_step_context* step,
                        const double* v, const double* lambda, const sap_parameter* p) {
  const sap_servo* servo = find_servo(multibody->dynamics, p->id);
  const double gear = multibody->model->actuators[p->id].gear;
  const sap_actuator_line line = sap_slopes_servo_line(multibody, p);
  double rate = 0.0, weight = 0.0;
  for (int32_t r = 0; servo != NULL && r < servo->count; ++r) {
    rate += servo->J[r] * v[servo->dofs[r]];
    weight += servo->J[r] * lambda[servo->dofs[r]];
  }
  const double length = servo != NULL ? servo->x0 + step->dt * rate : 0.0;
  return -weight * gear * (line.offset - gear * (line.kp * length + line.kd * rate));
}

// Adds the sum of weights (nv) of a joint's velocities, times x or 1, times scale.
static void add_joint(const sap_model* model, const sap_parameter_gradient* out, int32_t k,
                      double scale, const double* weights, const double* x) {
  const sap_model_joint_data* joint = &model->joints[out->parameters[k].id];
  for (int32_t i = joint->v_start; i < joint->v_start + joint->nv; ++i) {
    out->out[k] += scale * weights[i] * (x != NULL ? x[i] : 1.0);
  }
}

sap_status sap_multibody_parameter_derivatives(void* context, const sap_step_context* step,
                                               const sap_balance_derivatives* at,
                                               const double* lambda,
                                               const sap_parameter_gradient* out,
                                               sap_error* error) {
  sap_multibody* multibody = context;
  const sap_model* model = multibody->model;
  for (int32_t k = 0; k < out->count; ++k) {
    const sap_parameter* p = &out->parameters[k];
    SAP_TRY(check_parameter(multibody, p, error));
    if (p->kind == SAP_PARAMETER_GRAVITY) {
      out->out[k] -=
          add_gravity(multibody, sap_multibody_kinematics(multibody, at->q), lambda, p->id);
    } else if (p->kind == SAP_PARAMETER_SPRING) {
      const sap_model_joint_data* joint = &model->joints[p->id];
      add_joint(model, out, k, at->q[joint->q_start] - joint->spring_reference, lambda, NULL);
    } else if (p->kind == SAP_PARAMETER_DAMPING || p->kind == SAP_PARAMETER_ARMATURE) {
      add_joint(model, out, k, 1.0, lambda, p->kind == SAP_PARAMETER_DAMPING ? at->v : at->a);
    } else if (SAP_IS_OF_INERTIA(p->kind)) {
      out->out[k] += sap_slopes_inertia_work(multibody, step, at, lambda, p);
    } else if (SAP_IS_OF_SERVO(p->kind)) {
      out->out[k] += add_servo(multibody, step, at->v, lambda, p);
    }
  }
  return SAP_STATUS_OK;
}

// A = M + theta theta_vq dt^2 K + theta dt D.
void sap_slopes_add_A_parameters(const sap_slopes_call* call, int32_t tree) {
  const sap_parameter_gradient* out = call->out->parameters;
  const sap_model* model = call->multibody->model;
  const sap_step_context* s = call->step;
  const double scales[SAP_PARAMETER_COUNT] = {
      [SAP_PARAMETER_DAMPING] = s->theta * s->dt,
      [SAP_PARAMETER_ARMATURE] = 1.0,
      [SAP_PARAMETER_SPRING] = s->theta * s->theta_vq * s->dt * s->dt};
  for (int32_t k = 0; out != NULL && k < out->count; ++k) {
    const sap_parameter* p = &out->parameters[k];
    const double scale = scales[p->kind];
    const sap_servo* servo =
        SAP_IS_OF_SERVO(p->kind) ? find_servo(call->multibody->dynamics, p->id) : NULL;
    if (SAP_IS_OF_INERTIA(p->kind) && model->bodies[p->id].tree == tree) {
      out->out[k] += sap_slopes_inertia_in_A(call, p);
    } else if (servo != NULL && servo->count == 1 && model->dof_tree[servo->dofs[0]] == tree) {
      const double arm = model->actuators[p->id].gear * servo->J[0];
      const double dt = p->kind == SAP_PARAMETER_SERVO_STIFFNESS ? s->dt * s->dt : s->dt;
      out->out[k] += dt * arm * arm * sap_slopes_mass_entry(call, servo->dofs[0], servo->dofs[0]);
    }
    sap_derivatives_note(servo != NULL && servo->count > 1, call->out->notes,
                         "held: servos of tendons in A");
    for (int32_t i = 0; scale > 0.0 && i < model->joints[p->id].nv; ++i) {
      const int32_t dof = model->joints[p->id].v_start + i;
      out->out[k] +=
          model->dof_tree[dof] == tree ? scale * sap_slopes_mass_entry(call, dof, dof) : 0.0;
    }
  }
}
