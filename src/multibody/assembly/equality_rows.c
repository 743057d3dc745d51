// SPDX-License-Identifier: BSD-3-Clause
#include "multibody/assembly/equality_rows.h"

#include "math/quaternion.h"
#include "multibody/dynamics/tendon.h"

int32_t sap_equality_row_count(const sap_equality_def* e) {
  return e->type == SAP_EQUALITY_CONNECT ? 3 : e->type == SAP_EQUALITY_WELD ? 6 : 1;
}

// q_WD of a weld.
static void weld_frame(const sap_dynamics* d, const sap_equality_def* e, double q_WD[4]) {
  sap_quaternion_multiply(q_WD, sap_dynamics_q_WB(d) + 4 * (size_t)e->a, e->q_AB);
}

// a0 + a1 x + ... + a4 x^4 and its derivative.
static double polynomial(const double a[5], double x, double* slope) {
  *slope = a[1] + x * (2.0 * a[2] + x * (3.0 * a[3] + x * 4.0 * a[4]));
  return a[0] + x * (a[1] + x * (a[2] + x * (a[3] + x * a[4])));
}

// What a joint's or tendon's coordinate differs by from the default pose.
static double offset(const sap_dynamics* d, const sap_model* model, const sap_equality_def* e,
                     const double* q, int32_t id) {
  return e->type == SAP_EQUALITY_JOINT
             ? q[model->joints[id].q_start] - model->joints[id].reference
             : sap_dynamics_tendon_length(d, q, id) - model->tendons[id].length0;
}

// p_B - p_A; also both points.
static void gap(const sap_dynamics* d, const sap_equality_def* e, double p[2][3], double out[3]) {
  sap_dynamics_point(d, e->a, e->anchor_A, p[0]);
  sap_dynamics_point(d, e->b, e->anchor_B, p[1]);
  sap_v3_sub(out, p[1], p[0]);
}

void sap_equality_gaps(const sap_dynamics* d, const sap_model* model, const sap_equality_def* e,
                       const double* q, double g[SAP_ROWS_MAX]) {
  double p[2][3], slope, q_WD[4], relative[4];
  switch (e->type) {
    case SAP_EQUALITY_CONNECT:
      gap(d, e, p, g);
      break;
    case SAP_EQUALITY_WELD:
      gap(d, e, p, g);
      weld_frame(d, e, q_WD);
      sap_quaternion_conjugate(relative, q_WD);
      sap_quaternion_multiply(relative, relative, sap_dynamics_q_WB(d) + 4 * (size_t)e->b);
      (void)sap_quaternion_normalize(relative);
      sap_quaternion_log(g + 3, relative);
      sap_v3_scale(g + 3, g + 3, e->torque_scale);
      break;
    case SAP_EQUALITY_DISTANCE: {
      double r[3];
      gap(d, e, p, r);
      g[0] = sap_v3_norm(r) - e->distance;
      break;
    }
    case SAP_EQUALITY_JOINT:
    case SAP_EQUALITY_TENDON:
      g[0] = offset(d, model, e, q, e->a) -
             (e->b < 0 ? e->polynomial[0]
                       : polynomial(e->polynomial, offset(d, model, e, q, e->b), &slope));
      break;
  }
}

// Row r: s u . (v_B - v_A) at the anchors, or of the angular velocities.
static void add_relative_row(const sap_dynamics* d, const sap_equality_def* e, double p[2][3],
                             const double u[3], sap_rows* rows, int32_t r) {
  double minus[3];
  sap_v3_scale(minus, u, -1.0);
  sap_dynamics_add_wrench_row(d, e->b, p[1], u, NULL, rows, r);
  sap_dynamics_add_wrench_row(d, e->a, p[0], minus, NULL, rows, r);
}

static void add_turning_row(const sap_dynamics* d, const sap_equality_def* e, const double u[3],
                            sap_rows* rows, int32_t r) {
  const double zero[3] = {0.0, 0.0, 0.0};
  double minus[3];
  sap_v3_scale(minus, u, -1.0);
  sap_dynamics_add_wrench_row(d, e->b, zero, zero, u, rows, r);
  sap_dynamics_add_wrench_row(d, e->a, zero, zero, minus, rows, r);
}

static void add_coordinate_row(const sap_dynamics* d, const sap_equality_def* e, int32_t id,
                               double s, sap_rows* rows) {
  if (e->type == SAP_EQUALITY_JOINT) {
    sap_dynamics_add_joint_row(d, id, s, rows, 0);
  } else {
    sap_dynamics_add_tendon_row(d, id, s, rows, 0);
  }
}

void sap_equality_rows(const sap_dynamics* d, const sap_model* model, const sap_equality_def* e,
                       const double* q, sap_rows* rows) {
  static const double axes[3][3] = {{1.0, 0.0, 0.0}, {0.0, 1.0, 0.0}, {0.0, 0.0, 1.0}};
  double p[2][3], r[3];
  sap_rows_begin(rows, sap_equality_row_count(e));
  switch (e->type) {
    case SAP_EQUALITY_WELD: {
      double q_WD[4], R_WD[9];
      weld_frame(d, e, q_WD);
      sap_quaternion_to_matrix(R_WD, q_WD);
      for (int32_t i = 0; i < 3; ++i) {
        double u[3];
        sap_v3_scale(u, R_WD + 3 * i, e->torque_scale);
        add_turning_row(d, e, u, rows, 3 + i);
      }
    }  // fall through
    case SAP_EQUALITY_CONNECT:
      gap(d, e, p, r);
      for (int32_t i = 0; i < 3; ++i) {
        add_relative_row(d, e, p, axes[i], rows, i);
      }
      break;
    case SAP_EQUALITY_DISTANCE: {
      gap(d, e, p, r);
      const double length = sap_v3_norm(r);
      sap_v3_scale(r, r, length > 0.0 ? 1.0 / length : 0.0);
      // Points that coincide part along any direction.
      add_relative_row(d, e, p, length > 0.0 ? r : axes[2], rows, 0);
      break;
    }
    case SAP_EQUALITY_JOINT:
    case SAP_EQUALITY_TENDON:
      add_coordinate_row(d, e, e->a, 1.0, rows);
      if (e->b >= 0) {
        double slope;
        (void)polynomial(e->polynomial, offset(d, model, e, q, e->b), &slope);
        add_coordinate_row(d, e, e->b, -slope, rows);
      }
      break;
  }
}
