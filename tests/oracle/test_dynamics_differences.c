// SPDX-License-Identifier: BSD-3-Clause
// Dynamics against central differences of what is simpler: mass matrix from the kinetic energy of
// bodies whose velocities are differences of poses, Jacobians from positions, K and D from forces.
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

// Central differences with step 1e-5 of functions of size 1: truncation 1e-10, round-off 1e-11.
#define STEP 1e-5
#define TOLERANCE 2e-9

static sap_model* model;
static sap_dynamics* dynamics;
static sap_kinematics kin;

static int setup(void** state) {
  (void)state;
  model = mixed_model();
  return model == NULL || sap_dynamics_create(model, &dynamics, NULL) != SAP_STATUS_OK ||
                 sap_kinematics_create(&kin, dynamics, NULL) != SAP_STATUS_OK
             ? -1
             : 0;
}

static int teardown(void** state) {
  (void)state;
  sap_kinematics_clear(&kin);
  sap_dynamics_destroy(dynamics);
  sap_model_destroy(model);
  return 0;
}

static void assert_close(double a, double b, double tolerance, const char* what, int i, int j) {
  if (!(fabs(a - b) <= tolerance)) {
    fail_msg("%s[%d, %d] = %.17g, expected %.17g", what, i, j, a, b);
  }
}

// Poses at q (+) s v: centres of mass and rotations.
static void poses(const double* v, double s, double c[MIXED_BODIES][3], double R[MIXED_BODIES][9]) {
  double q[MIXED_NQ];
  sap_manifold_integrate(model, mixed_q, v, s, q);
  sap_kinematics_set(&kin, q);
  for (int b = 0; b < MIXED_BODIES; ++b) {
    memcpy(R[b], kin.R_WB + 9 * b, 9 * sizeof(double));
    sap_m3_mul_v3(c[b], R[b], model->bodies[b].p_BCo);
    sap_v3_add(c[b], c[b], kin.p_WB + 3 * b);
  }
}

// Momentum-like vectors of all bodies for a velocity v: sqrt(m) v_c and the rates of R (Frobenius):
// T = 1/2 m |v_c|^2 + 1/2 tr(Rdot J Rdot'), J = 1/2 tr(I) 1 - I.
typedef struct rates {
  double c[MIXED_BODIES][3], R[MIXED_BODIES][9];
} rates;

static void differentiate(const double* v, rates* out) {
  rates plus, minus;
  poses(v, STEP, plus.c, plus.R);
  poses(v, -STEP, minus.c, minus.R);
  for (int b = 0; b < MIXED_BODIES; ++b) {
    for (int i = 0; i < 3; ++i) {
      out->c[b][i] = (plus.c[b][i] - minus.c[b][i]) / (2.0 * STEP);
    }
    for (int i = 0; i < 9; ++i) {
      out->R[b][i] = (plus.R[b][i] - minus.R[b][i]) / (2.0 * STEP);
    }
  }
}

static double kinetic_product(const rates* a, const rates* b) {
  double sum = 0.0;
  for (int n = 1; n < MIXED_BODIES; ++n) {
    const sap_model_body* body = &model->bodies[n];
    const double* s = body->I_BCo_B;
    const double half = 0.5 * (s[0] + s[1] + s[2]);
    const double J[9] = {half - s[0], -s[3], -s[4], -s[3],      half - s[1],
                         -s[5],       -s[4], -s[5], half - s[2]};
    sum += body->mass * sap_v3_dot(a->c[n], b->c[n]);
    for (int i = 0; i < 3; ++i) {
      for (int j = 0; j < 3; ++j) {
        sum += J[3 * j + i] * sap_v3_dot(a->R[n] + 3 * i, b->R[n] + 3 * j);
      }
    }
  }
  return sum;
}

static double entry(double* const* blocks, int i, int j) {
  const int32_t t = model->dof_tree[i];
  if (model->dof_tree[j] != t) {
    return 0.0;
  }
  const int row = i > j ? i : j, column = i > j ? j : i;
  return blocks[t]
               [model->tree_sizes[t] * (column - model->tree_dofs[t]) + row - model->tree_dofs[t]];
}

static void mass_matrix_from_kinetic_energy(void** state) {
  (void)state;
  static rates all[MIXED_NV];
  for (int i = 0; i < MIXED_NV; ++i) {
    double v[MIXED_NV] = {0.0};
    v[i] = 1.0;
    differentiate(v, &all[i]);
  }
  double M[3][49] = {{0.0}};
  double* const blocks[] = {M[0], M[1], M[2]};
  memset(M, 0xff, sizeof M);  // NaN: every entry must be written
  sap_kinematics_set(&kin, mixed_q);
  sap_dynamics_mass_matrix(dynamics, &kin, blocks);
  for (int i = 0; i < MIXED_NV; ++i) {
    for (int j = 0; j <= i; ++j) {
      const double armature = i == j ? model->joints[model->dof_joint[i]].armature : 0.0;
      assert_close(entry(blocks, i, j), kinetic_product(&all[i], &all[j]) + armature, TOLERANCE,
                   "M", i, j);
    }
  }
}

static void kinetic_energy_is_half_vMv(void** state) {
  (void)state;
  double M[3][49] = {{0.0}}, sum = 0.0;
  double* const blocks[] = {M[0], M[1], M[2]};
  sap_diagnostics out;
  sap_kinematics_set(&kin, mixed_q);
  sap_dynamics_mass_matrix(dynamics, &kin, blocks);
  sap_dynamics_diagnose(dynamics, &kin, mixed_v, &out);
  for (int i = 0; i < MIXED_NV; ++i) {
    for (int j = 0; j < MIXED_NV; ++j) {
      sum += 0.5 * mixed_v[i] * entry(blocks, i, j) * mixed_v[j];
    }
  }
  assert_true(fabs(out.kinetic - sum) < 1e-13 * sum);
}

// The point is fixed in the body; its motion along each dof gives a column.
static void jacobians_from_positions(void** state) {
  (void)state;
  double R_WC[9];
  const double n[3] = {0.36, 0.48, -0.8}, p_B[3] = {0.2, -0.3, 0.1};
  sap_m3_from_normal(R_WC, n);
  for (int body = 0; body < MIXED_BODIES; ++body) {
    double p_W[3], J[3 * MIXED_NV] = {0.0};
    const int32_t tree = model->bodies[body].tree;
    const int first = tree >= 0 ? model->tree_dofs[tree] : 0;
    sap_kinematics_set(&kin, mixed_q);
    sap_m3_mul_v3(p_W, kin.R_WB + 9 * body, p_B);
    sap_v3_add(p_W, p_W, kin.p_WB + 3 * body);
    sap_kinematics_add_point_jacobian(&kin, body, p_W, R_WC, 1.0, J + 3 * first);
    sap_kinematics_add_point_jacobian(&kin, body, p_W, R_WC, -3.0, J + 3 * first);
    for (int i = 0; i < MIXED_NV; ++i) {
      double p[2][3], v[MIXED_NV] = {0.0}, q[MIXED_NQ], rate[3];
      v[i] = 1.0;
      for (int side = 0; side < 2; ++side) {
        sap_manifold_integrate(model, mixed_q, v, side == 0 ? STEP : -STEP, q);
        sap_kinematics_set(&kin, q);
        sap_m3_mul_v3(p[side], kin.R_WB + 9 * body, p_B);
        sap_v3_add(p[side], p[side], kin.p_WB + 3 * body);
      }
      sap_v3_sub(rate, p[0], p[1]);
      sap_v3_scale(rate, rate, -2.0 / (2.0 * STEP));
      sap_m3_tmul_v3(rate, R_WC, rate);
      for (int k = 0; k < 3; ++k) {
        assert_close(J[3 * i + k], rate[k], TOLERANCE, "J", k, i);
      }
    }
  }
}

static void spring_forces(const double* q, const double* v, double* k1) {
  double k2[MIXED_NV];
  sap_kinematics_set(&kin, q);
  sap_dynamics_forces(dynamics, &(sap_dynamics_state){&kin, v, NULL}, k1, k2);
}

static void stiffness_and_damping_from_forces(void** state) {
  (void)state;
  double K[3][49] = {{0.0}}, D[3][49] = {{0.0}};
  double* const K_blocks[] = {K[0], K[1], K[2]};
  double* const D_blocks[] = {D[0], D[1], D[2]};
  double dq[MIXED_NV][MIXED_NV], dv[MIXED_NV][MIXED_NV];
  sap_kinematics_set(&kin, mixed_q);
  sap_dynamics_add_joint_matrices(dynamics, mixed_q, 1.0, 1.0, K_blocks, D_blocks);
  for (int j = 0; j < MIXED_NV; ++j) {
    double e[MIXED_NV] = {0.0}, plus[MIXED_NV], minus[MIXED_NV], q[MIXED_NQ], v[MIXED_NV];
    e[j] = 1.0;
    sap_manifold_integrate(model, mixed_q, e, STEP, q);
    spring_forces(q, mixed_v, plus);
    sap_manifold_integrate(model, mixed_q, e, -STEP, q);
    spring_forces(q, mixed_v, minus);
    for (int i = 0; i < MIXED_NV; ++i) {
      dq[i][j] = -(plus[i] - minus[i]) / (2.0 * STEP);
    }
    for (int side = 0; side < 2; ++side) {
      memcpy(v, mixed_v, sizeof v);
      v[j] += side == 0 ? STEP : -STEP;
      spring_forces(mixed_q, v, side == 0 ? plus : minus);
    }
    for (int i = 0; i < MIXED_NV; ++i) {
      dv[i][j] = -(plus[i] - minus[i]) / (2.0 * STEP);
    }
  }
  for (int i = 0; i < MIXED_NV; ++i) {
    for (int j = 0; j <= i; ++j) {
      // The projection of the ball spring's K is its symmetric part.
      assert_close(entry(K_blocks, i, j), 0.5 * (dq[i][j] + dq[j][i]), 1e-7, "K", i, j);
      assert_close(entry(D_blocks, i, j), 0.5 * (dv[i][j] + dv[j][i]), 1e-9, "D", i, j);
    }
  }
}

// Positive semidefinite at every angle, up to a half turn: x' K x >= 0 for the eigenvectors phi and
// across, whose eigenvalues are k and k (|phi|/2) cot(|phi|/2).
static void ball_stiffness_is_semidefinite(void** state) {
  (void)state;
  for (int n = 0; n <= 40; ++n) {
    const double angle = n < 40 ? 3.14159265358979312 * n / 40.0 : 1e-7;
    double q[MIXED_NQ], K[3][49] = {{0.0}}, D[3][49] = {{0.0}};
    double* const K_blocks[] = {K[0], K[1], K[2]};
    double* const D_blocks[] = {D[0], D[1], D[2]};
    const double axis[3] = {0.6, 0.0, 0.8}, across[3] = {0.8, 0.0, -0.6};
    memcpy(q, mixed_q, sizeof q);
    sap_quaternion_from_axis_angle(q + 3, axis, angle);
    sap_dynamics_add_joint_matrices(dynamics, q, 1.0, 1.0, K_blocks, D_blocks);
    double along = 0.0, side = 0.0;
    for (int i = 0; i < 3; ++i) {
      for (int j = 0; j < 3; ++j) {
        along += axis[i] * entry(K_blocks, 3 + i, 3 + j) * axis[j];
        side += across[i] * entry(K_blocks, 3 + i, 3 + j) * across[j];
      }
    }
    const double e = angle > 0.0 ? 0.5 * angle / tan(0.5 * angle) : 1.0;
    assert_close(along, 1.5, 1e-14, "K along", n, 0);
    assert_close(side, 1.5 * e, 1e-14, "K across", n, 0);
    assert_true(side >= 0.0);
  }
}

static void inverse_dynamics_is_Ma_minus_k(void** state) {
  (void)state;
  double M[3][49] = {{0.0}}, k1[MIXED_NV], k2[MIXED_NV], residual[MIXED_NV];
  double* const blocks[] = {M[0], M[1], M[2]};
  sap_kinematics_set(&kin, mixed_q);
  sap_dynamics_mass_matrix(dynamics, &kin, blocks);
  sap_dynamics_forces(dynamics, &(sap_dynamics_state){&kin, mixed_v, mixed_control}, k1, k2);
  sap_dynamics_inverse(dynamics, &(sap_dynamics_state){&kin, mixed_v, mixed_control}, mixed_a,
                       residual);
  for (int i = 0; i < MIXED_NV; ++i) {
    double sum = -k1[i] - k2[i], scale = fabs(k1[i]) + fabs(k2[i]);
    for (int j = 0; j < MIXED_NV; ++j) {
      sum += entry(blocks, i, j) * mixed_a[j];
      scale += fabs(entry(blocks, i, j) * mixed_a[j]);
    }
    assert_close(residual[i], sum, 1e-14 * scale + 1e-15, "residual", i, 0);
  }
}

// Far from the world's origin nothing changes but the last digits of positions themselves.
static void far_trees_lose_no_digits(void** state) {
  (void)state;
  double near_by[MIXED_NV], far_away[MIXED_NV], q[MIXED_NQ];
  memcpy(q, mixed_q, sizeof q);
  sap_kinematics_set(&kin, q);
  sap_dynamics_inverse(dynamics, &(sap_dynamics_state){&kin, mixed_v, NULL}, mixed_a, near_by);
  for (int i = 0; i < 3; ++i) {
    q[8 + i] += 4096.0;   // the drone, with a rotor
    q[16 + i] += 4096.0;  // the box
  }
  sap_kinematics_set(&kin, q);
  sap_dynamics_inverse(dynamics, &(sap_dynamics_state){&kin, mixed_v, NULL}, mixed_a, far_away);
  for (int i = 0; i < MIXED_NV; ++i) {
    // the rotor's offset is a difference of positions of 4096 m: 1e-12 m
    assert_close(far_away[i], near_by[i], 1e-11, "far", i, 0);
  }
}

// [omega; velocity of the origin] of each body, from its centre of mass and rotation.
static void velocities_from_positions(void** state) {
  (void)state;
  rates rate;
  double V[MIXED_BODIES][6];
  differentiate(mixed_v, &rate);
  sap_kinematics_set(&kin, mixed_q);
  sap_kinematics_velocities(&kin, mixed_v, V);
  for (int b = 0; b < MIXED_BODIES; ++b) {
    double arm[3], v[3];
    sap_m3_mul_v3(arm, kin.R_WB + 9 * b, model->bodies[b].p_BCo);
    sap_v3_cross(v, V[b], arm);
    sap_v3_add(v, v, V[b] + 3);
    for (int i = 0; i < 3; ++i) {
      double axis[3];
      assert_close(v[i], rate.c[b][i], TOLERANCE, "v", b, i);
      sap_v3_cross(axis, V[b], kin.R_WB + 9 * b + 3 * i);
      for (int k = 0; k < 3; ++k) {
        assert_close(axis[k], rate.R[b][3 * i + k], TOLERANCE, "R", b, 3 * i + k);
      }
    }
  }
}

static void difference_undoes_integration(void** state) {
  (void)state;
  double q[MIXED_NQ], delta[MIXED_NV];
  sap_manifold_integrate(model, mixed_q, mixed_v, 0.7, q);
  sap_manifold_difference(model, mixed_q, q, delta);
  for (int i = 0; i < MIXED_NV; ++i) {
    assert_close(delta[i], 0.7 * mixed_v[i], 1e-14, "delta", i, 0);
  }
  const double zero[MIXED_NV] = {0.0};
  sap_manifold_integrate(model, mixed_q, zero, 0.7, q);
  assert_memory_equal(q, mixed_q, sizeof q);
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(mass_matrix_from_kinetic_energy),
      cmocka_unit_test(kinetic_energy_is_half_vMv),
      cmocka_unit_test(jacobians_from_positions),
      cmocka_unit_test(stiffness_and_damping_from_forces),
      cmocka_unit_test(ball_stiffness_is_semidefinite),
      cmocka_unit_test(inverse_dynamics_is_Ma_minus_k),
      cmocka_unit_test(far_trees_lose_no_digits),
      cmocka_unit_test(velocities_from_positions),
      cmocka_unit_test(difference_undoes_integration),
  };
  return cmocka_run_group_tests(tests, setup, teardown);
}
