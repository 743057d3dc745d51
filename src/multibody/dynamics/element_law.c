// SPDX-License-Identifier: BSD-3-Clause
// Laws of the force elements.
//   spring    rates of p_B - p_A (3 rows), length l along u:  s = k (l - l0) u,  D = d u u',
//             K = k u u' + max(k (l - l0), 0)/l (1 - u u'): the exact stiffness of the force
//             between two points, without its negative part under compression
//   bushing   in F's axes, x = R_F' (p_G - p_F), phi = log(R_F' R_G); the two bodies' relative
//             angular velocity and that of the material points at p_G (6 rows):
//             s = [Jl^-T K_r phi; K_t x],  the gradient of 1/2 phi K_r phi + 1/2 x K_t x,
//             K = [Jl^-T K_r Jl^-1, K_t],  Jl^-1 = 1 - phi~/2 + c phi~^2 of the exponential map
//   tendon    its rate (1 row):  s = k (l - nearest of [spring_lower, spring_upper]),  K = k
//   actuator  gear times its transmission's rate (1 row):  s = -f(l, dl/dt) - D dl/dt,
//             K = max(-df/dl, 0),  D = max(-df/d(dl/dt), 0)
// What is left out of K, the turning of lever arms under load and the second order of phi, may be
// indefinite; the forces are exact.
#include "multibody/dynamics/element_law.h"

#include <math.h>
#include <string.h>

#include "math/quaternion.h"
#include "multibody/dynamics/actuators.h"
#include "multibody/dynamics/tendon.h"
#include "multibody/dynamics/transmission.h"

// Row r: u . (velocity of b's point p_B - that of a's p_A).
static void relative_row(const sap_dynamics* d, const int32_t bodies[2], double p[2][3],
                         const double u[3], sap_rows* rows, int32_t r) {
  double minus[3];
  sap_v3_scale(minus, u, -1.0);
  sap_dynamics_add_wrench_row(d, bodies[1], p[1], u, NULL, rows, r);
  sap_dynamics_add_wrench_row(d, bodies[0], p[0], minus, NULL, rows, r);
}

static void spring_law(sap_dynamics* d, const sap_spring_def* spring, sap_element_law* out) {
  static const double axes[3][3] = {{1.0, 0.0, 0.0}, {0.0, 1.0, 0.0}, {0.0, 0.0, 1.0}};
  const int32_t bodies[2] = {spring->body_a, spring->body_b};
  double p[2][3], u[3];
  sap_dynamics_point(d, spring->body_a, spring->point_A, p[0]);
  sap_dynamics_point(d, spring->body_b, spring->point_B, p[1]);
  sap_v3_sub(u, p[1], p[0]);
  const double length = sap_v3_norm(u);
  sap_v3_scale(u, u, length > 0.0 ? 1.0 / length : 0.0);
  const double k = spring->stiffness;
  const double tension = k * (length - spring->rest_length);
  // Points that coincide: the limit of a spring without rest length, 0 of any other.
  const double across = length > 0.0                ? fmax(tension, 0.0) / length
                        : spring->rest_length > 0.0 ? 0.0
                                                    : k;
  sap_rows_begin(&d->rows, 3);
  for (int32_t i = 0; i < 3; ++i) {
    relative_row(d, bodies, p, axes[i], &d->rows, i);
    out->s[i] = tension * u[i];
    for (int32_t j = 0; j < 3; ++j) {
      out->K[3 * j + i] = (k - across) * u[i] * u[j] + (i == j ? across : 0.0);
      out->D[3 * j + i] = spring->damping * u[i] * u[j];
    }
  }
  out->energy = 0.5 * tension * (length - spring->rest_length);
}

// Jl^-1(phi), column-major.
static void inverse_left_jacobian(const double phi[3], double J[9]) {
  const double angle = sap_v3_norm(phi);
  const double half = 0.5 * angle;
  // The series' next term is angle^4/30240.
  const double c =
      angle > 1e-4 ? (1.0 - half * cos(half) / sin(half)) / (angle * angle) : 1.0 / 12.0;
  const double skew[9] = {0.0, phi[2], -phi[1], -phi[2], 0.0, phi[0], phi[1], -phi[0], 0.0};
  double square[9];
  sap_m3_mul(square, skew, skew);
  for (int i = 0; i < 9; ++i) {
    J[i] = (i % 4 == 0 ? 1.0 : 0.0) - 0.5 * skew[i] + c * square[i];
  }
}

// Frames F and G in the world.
static void bushing_frames(const sap_dynamics* d, const sap_bushing_def* bushing, double p[2][3],
                           double q[2][4]) {
  sap_dynamics_point(d, bushing->body_a, bushing->p_AF, p[0]);
  sap_dynamics_point(d, bushing->body_b, bushing->p_BG, p[1]);
  sap_quaternion_multiply(q[0], d->now.q_WB + 4 * (size_t)bushing->body_a, bushing->q_AF);
  sap_quaternion_multiply(q[1], d->now.q_WB + 4 * (size_t)bushing->body_b, bushing->q_BG);
}

// The rotational half of a bushing's law, and its energy.
static double turning_law(const double k[3], const double phi[3], sap_element_law* out) {
  double J[9], moment[3], energy = 0.0;
  inverse_left_jacobian(phi, J);
  for (int i = 0; i < 3; ++i) {
    moment[i] = k[i] * phi[i];
    energy += 0.5 * moment[i] * phi[i];
  }
  sap_m3_tmul_v3(out->s, J, moment);
  for (int j = 0; j < 3; ++j) {
    for (int i = 0; i < 3; ++i) {
      for (int r = 0; r < 3; ++r) {
        out->K[6 * j + i] += J[3 * i + r] * k[r] * J[3 * j + r];
      }
    }
  }
  return energy;
}

static void bushing_law(sap_dynamics* d, const sap_bushing_def* bushing, sap_element_law* out) {
  const int32_t bodies[2] = {bushing->body_a, bushing->body_b};
  double p[2][3], q[2][4], R_WF[9], turn[4], phi[3], gap[3], x[3];
  bushing_frames(d, bushing, p, q);
  sap_quaternion_to_matrix(R_WF, q[0]);
  sap_v3_sub(gap, p[1], p[0]);
  sap_m3_tmul_v3(x, R_WF, gap);
  sap_quaternion_conjugate(turn, q[0]);
  sap_quaternion_multiply(turn, turn, q[1]);
  (void)sap_quaternion_normalize(turn);
  sap_quaternion_log(phi, turn);
  memset(out->K, 0, sizeof out->K);
  memset(out->D, 0, sizeof out->D);
  out->energy = turning_law(bushing->stiffness, phi, out);
  sap_v3_copy(p[0], p[1]);  // both material points at p_G
  const double zero[3] = {0.0, 0.0, 0.0};
  sap_rows_begin(&d->rows, 6);
  for (int32_t i = 0; i < 3; ++i) {
    const double* u = R_WF + 3 * i;
    double minus[3];
    sap_v3_scale(minus, u, -1.0);
    sap_dynamics_add_wrench_row(d, bodies[1], zero, zero, u, &d->rows, i);
    sap_dynamics_add_wrench_row(d, bodies[0], zero, zero, minus, &d->rows, i);
    relative_row(d, bodies, p, u, &d->rows, 3 + i);
    const double k = bushing->stiffness[3 + i];
    out->s[3 + i] = k * x[i];
    out->K[7 * (3 + i)] = k;
    out->D[7 * i] = bushing->damping[i];
    out->D[7 * (3 + i)] = bushing->damping[3 + i];
    out->energy += 0.5 * k * x[i] * x[i];
  }
}

static void tendon_law(sap_dynamics* d, const double* q, int32_t id, sap_element_law* out) {
  const sap_model_tendon* tendon = &d->model->tendons[id];
  const double length = sap_dynamics_tendon_length(d, q, id);
  const double relaxed = fmin(fmax(length, tendon->spring_lower), tendon->spring_upper);
  const bool active = length != relaxed || tendon->spring_lower == tendon->spring_upper;
  sap_rows_begin(&d->rows, 1);
  sap_dynamics_add_tendon_row(d, id, 1.0, &d->rows, 0);
  out->s[0] = tendon->stiffness * (length - relaxed);
  out->K[0] = active ? tendon->stiffness : 0.0;
  out->D[0] = tendon->damping;
  out->energy = 0.5 * out->s[0] * (length - relaxed);
}

static void actuator_law(sap_dynamics* d, const sap_element_point* at, int32_t id,
                         sap_element_law* out) {
  const double gear = d->model->actuators[id].gear;
  sap_rows_begin(&d->rows, 1);
  sap_dynamics_add_transmission_row(d, id, gear, &d->rows, 0);
  const double length = gear * sap_dynamics_transmission_length(d, at->q, id);
  const double rate = at->v != NULL ? sap_rows_times(&d->rows, 0, at->v) : 0.0;
  const sap_actuator_force f = sap_dynamics_actuator_force(d->model, id, at->input, length, rate);
  out->K[0] = fmax(f.stiffness, 0.0);
  out->D[0] = fmax(f.damping, 0.0);
  out->s[0] = -f.force - out->D[0] * rate;
  out->energy = 0.0;
}

bool sap_element_evaluate(sap_dynamics* d, const sap_element_point* at, int32_t index,
                          sap_element_law* out) {
  const int32_t id = d->elastic[index].id;
  switch ((sap_element_force_kind)d->elastic[index].kind) {
    case SAP_FORCE_SPRING:
      spring_law(d, &d->model->springs[id], out);
      return d->spring_active[id];
    case SAP_FORCE_BUSHING:
      bushing_law(d, &d->model->bushings[id], out);
      return d->bushing_active[id];
    case SAP_FORCE_TENDON:
      tendon_law(d, at->q, id, out);
      return true;
    case SAP_FORCE_ACTUATOR:
      actuator_law(d, at, id, out);
      return d->actuator_active[id] && !sap_dynamics_actuator_is_servo(d->model, id, at->input);
    case SAP_FORCE_KINDS:
      break;
  }
  return false;
}
