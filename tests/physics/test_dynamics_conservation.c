// SPDX-License-Identifier: BSD-3-Clause
// Invariants of motion: energy changes by the power of dampers and motors only; a free tree
// without gravity keeps its energy and momenta; quaternions stay unit.
#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include <cmocka.h>

#include "math/quaternion.h"
#include "multibody/dynamics/dynamics.h"
#include "multibody/dynamics/forces.h"
#include "support/mixed_model.h"
#include "support/near.h"
#include "support/simulation.h"

enum { MAX_N = 24 };

// Solves the lower-stored SPD M x = b in place by Cholesky.
static void solve_spd(int n, double* M, double* b) {
  for (int j = 0; j < n; ++j) {
    for (int k = 0; k < j; ++k) {
      for (int i = j; i < n; ++i) {
        M[n * j + i] -= M[n * k + i] * M[n * k + j];
      }
    }
    const double pivot = sqrt(M[n * j + j]);
    for (int i = j; i < n; ++i) {
      M[n * j + i] /= pivot;
    }
  }
  for (int j = 0; j < n; ++j) {
    for (int k = 0; k < j; ++k) {
      b[j] -= M[n * k + j] * b[k];
    }
    b[j] /= M[n * j + j];
  }
  for (int j = n - 1; j >= 0; --j) {
    for (int k = j + 1; k < n; ++k) {
      b[j] -= M[n * j + k] * b[k];
    }
    b[j] /= M[n * j + j];
  }
}

// The model under test.
static sap_kinematics kin;

// a = M^-1 (k1 + k2); sets the positions.
static void accelerate(const sap_model* model, sap_dynamics* dynamics, const double* q,
                       const double* v, const double* control, double* a) {
  double blocks[4][MAX_N * MAX_N] = {{0.0}}, k1[MAX_N];
  double* const pointers[] = {blocks[0], blocks[1], blocks[2], blocks[3]};
  sap_kinematics_set(&kin, q);
  sap_dynamics_mass_matrix(dynamics, &kin, pointers);
  sap_dynamics_forces(dynamics, &(sap_dynamics_state){&kin, v, control}, k1, a);
  for (int i = 0; i < model->sizes.nv; ++i) {
    a[i] += k1[i];
  }
  for (int t = 0; t < model->sizes.trees; ++t) {
    solve_spd(model->tree_sizes[t], blocks[t], a + model->tree_dofs[t]);
  }
}

static double energy(sap_dynamics* dynamics, const double* q, const double* v) {
  sap_diagnostics out;
  sap_kinematics_set(&kin, q);
  sap_dynamics_diagnose(dynamics, &kin, v, &out);
  return out.kinetic + out.potential_gravity + out.potential_springs;
}

// dE/dt along the motion, by differences with step 1e-5 (error 1e-8 of rates of 100 W), is the
// power of motors less that of dampers: gravity, springs and all velocity-product forces cancel
// exactly.
static void energy_changes_by_power_only(void** state) {
  (void)state;
  sap_model* model = mixed_model();
  sap_dynamics* dynamics = NULL;
  assert_int_equal(sap_dynamics_create(model, &dynamics, NULL), SAP_STATUS_OK);
  assert_int_equal(sap_kinematics_create(&kin, dynamics, NULL), SAP_STATUS_OK);
  const double motors[] = {2.5, -6.0, -0.4};  // gear times control, clamped
  const int dofs[] = {0, 1, 13};
  for (int driven = 0; driven < 2; ++driven) {
    double a[MIXED_NV], v[2][MIXED_NV], q[2][MIXED_NQ], power = 0.0;
    const double h = 1e-5;
    accelerate(model, dynamics, mixed_q, mixed_v, driven == 1 ? mixed_control : NULL, a);
    for (int side = 0; side < 2; ++side) {
      const double s = side == 0 ? h : -h;
      double middle[MIXED_NV];
      for (int i = 0; i < MIXED_NV; ++i) {
        v[side][i] = mixed_v[i] + s * a[i];
        middle[i] = mixed_v[i] + 0.5 * s * a[i];
      }
      sap_manifold_integrate(model, mixed_q, middle, s, q[side]);
    }
    const double rate = (energy(dynamics, q[0], v[0]) - energy(dynamics, q[1], v[1])) / (2.0 * h);
    for (int i = 0; i < MIXED_NV; ++i) {
      power -= model->joints[model->dof_joint[i]].damping * mixed_v[i] * mixed_v[i];
    }
    for (int i = 0; i < 3 && driven == 1; ++i) {
      power += motors[i] * mixed_v[dofs[i]];
    }
    ASSERT_NEAR(rate, power, 1e-6);
  }
  sap_kinematics_clear(&kin);
  sap_dynamics_destroy(dynamics);
  sap_model_destroy(model);
}

// A free body with an offset centre of mass; on it an arm on a ball joint, then a hinge and a slide
// on one body; and a single free body.
static sap_model* floating_model(void) {
  sap_model_options options = sap_model_options_default();
  memset(options.gravity, 0, sizeof options.gravity);
  sap_builder* b = NULL;
  sap_model* model = NULL;
  bool done = sap_builder_create(&options, &b, NULL) == SAP_STATUS_OK;
  const int32_t parents[] = {0, 1, 2, 0};
  for (int i = 0; i < 4; ++i) {
    const sap_body_def def = {.cookie = sap_body_def_default().cookie,
                              .parent = parents[i],
                              .p_PB = {0.2 * i, 0.3, -0.1},
                              .q_PB = {0.8, 0.1 * i, -0.5, 0.2},
                              .mass = 3.0 - 0.6 * i,
                              .p_BCo = {0.05, -0.03, 0.08},
                              .I_BCo_B = {0.04, 0.05, 0.03, 0.002, -0.004, 0.001}};
    done = done && sap_builder_add_body(b, &def, NULL, NULL) == SAP_STATUS_OK;
  }
  const int32_t bodies[] = {1, 2, 3, 3, 4};
  const sap_joint_type types[] = {SAP_JOINT_FREE, SAP_JOINT_BALL, SAP_JOINT_HINGE, SAP_JOINT_SLIDE,
                                  SAP_JOINT_FREE};
  for (int i = 0; i < 5; ++i) {
    sap_joint_def def = sap_joint_def_default();
    def.body = bodies[i];
    def.type = types[i];
    def.axis[0] = 0.5 - i;
    def.p_BJ[1] = -0.1;
    done = done && sap_builder_add_joint(b, &def, NULL, NULL) == SAP_STATUS_OK;
  }
  if (done) {
    (void)sap_builder_compile(b, &model, NULL);
  }
  sap_builder_destroy(b);
  return model;
}

// qdot = N(q) v, quaternions as plain 4-vectors: qdot = 1/2 q (0, omega).
static void position_rates(const sap_model* model, const double* q, const double* v, double* rate) {
  for (int32_t j = 0; j < model->sizes.joints; ++j) {
    const sap_model_joint_data* joint = &model->joints[j];
    const int plain = joint->type == SAP_JOINT_FREE ? 3 : joint->type == SAP_JOINT_BALL ? 0 : 1;
    for (int i = 0; i < plain; ++i) {
      rate[joint->q_start + i] = v[joint->v_start + i];
    }
    if (joint->nq >= 4) {
      const double* w = v + joint->v_start + plain;
      const double turn[4] = {0.0, 0.5 * w[0], 0.5 * w[1], 0.5 * w[2]};
      sap_quaternion_multiply(rate + joint->q_start + plain, q + joint->q_start + plain, turn);
    }
  }
}

// The classical Runge-Kutta method of order 4 in the coordinates.
static void rk4_step(const sap_model* model, sap_dynamics* dynamics, double dt, double* q,
                     double* v) {
  static const double nodes[] = {0.0, 0.5, 0.5, 1.0}, weights[] = {1.0, 2.0, 2.0, 1.0};
  double dq[MAX_N] = {0.0}, dv[MAX_N] = {0.0}, qs[MAX_N], vs[MAX_N];
  double q_rate[MAX_N] = {0.0}, v_rate[MAX_N] = {0.0};
  for (int stage = 0; stage < 4; ++stage) {
    for (int i = 0; i < model->sizes.nq; ++i) {
      qs[i] = q[i] + dt * nodes[stage] * q_rate[i];
    }
    for (int i = 0; i < model->sizes.nv; ++i) {
      vs[i] = v[i] + dt * nodes[stage] * v_rate[i];
    }
    position_rates(model, qs, vs, q_rate);
    accelerate(model, dynamics, qs, vs, NULL, v_rate);
    for (int i = 0; i < model->sizes.nq; ++i) {
      dq[i] += dt * weights[stage] / 6.0 * q_rate[i];
    }
    for (int i = 0; i < model->sizes.nv; ++i) {
      dv[i] += dt * weights[stage] / 6.0 * v_rate[i];
    }
  }
  for (int i = 0; i < model->sizes.nq; ++i) {
    q[i] += dq[i];
  }
  for (int i = 0; i < model->sizes.nv; ++i) {
    v[i] += dv[i];
  }
}

static void floating_trees_keep_energy_and_momenta(void** state) {
  (void)state;
  sap_model* model = floating_model();
  assert_non_null(model);
  sap_dynamics* dynamics = NULL;
  sap_state x = {0};
  assert_int_equal(sap_dynamics_create(model, &dynamics, NULL), SAP_STATUS_OK);
  assert_int_equal(sap_kinematics_create(&kin, dynamics, NULL), SAP_STATUS_OK);
  assert_int_equal(sap_model_get_default_state(model, &x, NULL), SAP_STATUS_OK);
  for (int i = 0; i < x.nv; ++i) {
    x.v[i] = 1.5 * sin(1.0 + 2.0 * i);
  }
  sap_diagnostics first, last;
  sap_kinematics_set(&kin, x.q);
  sap_dynamics_diagnose(dynamics, &kin, x.v, &first);
  const double dt = 1e-3;
  for (int n = 0; n < 1000; ++n) {
    rk4_step(model, dynamics, dt, x.q, x.v);
  }
  sap_kinematics_set(&kin, x.q);
  sap_dynamics_diagnose(dynamics, &kin, x.v, &last);
  // dt^4 = 1e-12, times rates of up to 5/s to the fifth power.
  ASSERT_NEAR(last.kinetic, first.kinetic, 1e-9);
  for (int i = 0; i < 3; ++i) {
    ASSERT_NEAR(last.linear_momentum[i], first.linear_momentum[i], 1e-9);
    ASSERT_NEAR(last.angular_momentum[i], first.angular_momentum[i], 1e-9);
    ASSERT_NEAR(last.p_WCm[i], first.p_WCm[i] + first.linear_momentum[i] / first.mass, 1e-9);
  }
  sap_state_clear(&x);
  sap_kinematics_clear(&kin);
  sap_dynamics_destroy(dynamics);
  sap_model_destroy(model);
}

static void quaternions_stay_unit(void** state) {
  (void)state;
  sap_model* model = floating_model();
  sap_state x = {0};
  assert_non_null(model);
  assert_int_equal(sap_model_get_default_state(model, &x, NULL), SAP_STATUS_OK);
  double* q = x.q;
  double next[MAX_N];
  const double rest[MAX_N] = {0.0};
  for (int n = 0; n < 100000; ++n) {
    for (int i = 0; i < x.nv; ++i) {
      x.v[i] = 10.0 * sin(0.37 * n + i);
    }
    sap_manifold_integrate(model, q, x.v, 0.01, next);
    memcpy(q, next, (size_t)x.nq * sizeof *q);
    sap_manifold_integrate(model, q, rest, 0.01, next);  // exact: no rounding creeps in at rest
    assert_memory_equal(next, q, (size_t)x.nq * sizeof *q);
    for (int j = 0; j < model->sizes.joints; ++j) {
      const sap_model_joint_data* joint = &model->joints[j];
      if (joint->nq >= 4) {
        const double* r = q + joint->q_start + joint->nq - 4;
        ASSERT_NEAR(sqrt(r[0] * r[0] + r[1] * r[1] + r[2] * r[2] + r[3] * r[3]), 1.0, 1e-15);
      }
    }
  }
  sap_state_clear(&x);
  sap_model_destroy(model);
}

// A joint's spring with a cubic part gives back the work of k (q - q0) + k3 (q - q0)^3.
static void test_cubic_energy(void** state) {
  (void)state;
  static const double origin[3] = {0.0, 0.0, 0.0};
  const double k = 5.0, k3 = 70.0, rest = 0.1;
  sap_builder* builder = simulation_builder(0.0, 0.0, 0.0);
  sap_joint_def slide = sap_joint_def_default();
  slide.type = SAP_JOINT_SLIDE;
  slide.body = simulation_body(builder, 0, 2.0, 1.0, origin);
  slide.stiffness = k;
  slide.stiffness_cubic = k3;
  slide.spring_reference = rest;
  assert_int_equal(sap_builder_add_joint(builder, &slide, NULL, NULL), SAP_STATUS_OK);
  simulation s = simulation_begin(builder, SAP_SCHEME_MIDPOINT, 1e-3);
  s.state.q[0] = 0.7;
  const double x = 0.7 - rest;
  ASSERT_NEAR(simulation_diagnose(&s).potential_springs,
              0.5 * k * x * x + 0.25 * k3 * x * x * x * x, 1e-12);
  simulation_step(&s, 500);
  const sap_diagnostics d = simulation_diagnose(&s);
  ASSERT_NEAR(d.kinetic + d.potential_springs, 0.5 * k * x * x + 0.25 * k3 * x * x * x * x, 1e-4);
  simulation_end(&s);
}

// A rod that turns by two radians in a step gains no energy, also in a scene with springs, where
// damped Newton steps lead away from its v*.
static void test_fast_rod(void** state) {
  (void)state;
  simulation s = simulation_begin_text(
      "<mujoco><option gravity='0 0 0'/><worldbody><body><joint stiffness='10'/>"
      "<geom type='sphere' size='0.1'/></body><body pos='9 0 0' euler='30 20 10'><freejoint/>"
      "<geom type='capsule' size='0.01 0.1' mass='1'/></body></worldbody></mujoco>",
      SAP_SCHEME_IMPLICIT_EULER, 0.005);
  const double spin[3] = {20.0, -15.0, 365.0};
  memcpy(s.state.v + 4, spin, sizeof spin);
  double before = simulation_diagnose(&s).kinetic;
  for (int k = 0; k < 20; ++k) {
    simulation_step(&s, 1);
    const double after = simulation_diagnose(&s).kinetic;
    assert_true(after <= before * (1.0 + 1e-12));
    before = after;
  }
  simulation_end(&s);
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(test_fast_rod),
      cmocka_unit_test(test_cubic_energy),
      cmocka_unit_test(energy_changes_by_power_only),
      cmocka_unit_test(floating_trees_keep_energy_and_momenta),
      cmocka_unit_test(quaternions_stay_unit),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
