// SPDX-License-Identifier: BSD-3-Clause
// Equalities g(q) = 0 as free blocks, with the rows of dg/dt:
//   connect   g = p_B - p_A in the world's axes                                       (3 rows)
//   weld      connect, and L log(q_WD^-1 q_WB) in D's axes, q_WD = q_WA q_AB, L the torque scale
//                                                                                     (6 rows)
//   distance  g = |p_B - p_A| - distance
//   joint     g = (q_a - ref_a) - polynomial(q_b - ref_b)
//   tendon    same as joint, with lengths
// A finite stiffness k with damping k tau_d, limited as a contact's is:
//   R = max(beta^2/(4 pi^2) w, 1/(dt k (dt + tau_d)))
//   R = 1e-6 w                                          for infinite k, contact/contact_law.c (6)
// w = |W|_F/3 of the three translations or rotations (else of the row), so that a row along which
// nothing can move, as across a planar loop, has R > 0.
// The position after the step is g0 + dt J v + c with the curvature c = O(dt^2). A step that closes
// only g0 + dt J v misses c in every step: a loop in motion would stay open by dt a (dt + tau_d)/2.
// c is estimated with v_guess = v0; where that has missed after a blow, the stepper moves v_hat by
// the miss (integrators/relinearize.c):
//   c     = g(q0 (+) dt v_guess) - (g0 + dt J v_guess)
//   v_hat = -g0/(dt + tau_d) - c/dt
// For the theta point of a step that resolves a soft equality see contact/contact_law.c (2).
// If J is taken at a point within the step (midpoint), rows that still close at its end demand that
// the velocity there closes, which is second order:
//   J v = -g0/(dt + tau_d) - (J_end - J) v_guess,   J_end at q0 (+) dt v_guess
#include <math.h>

#include "contact/contact_law.h"
#include "math/quaternion.h"
#include "multibody/assembly/assembly_data.h"
#include "problem/law.h"

static int32_t count_rows(const sap_equality_def* e) {
  return e->type == SAP_EQUALITY_CONNECT ? 3 : e->type == SAP_EQUALITY_WELD ? 6 : 1;
}

// q_WD of a weld.
static void weld_frame(const sap_kinematics* kin, const sap_equality_def* e, double q_WD[4]) {
  sap_quaternion_multiply(q_WD, kin->q_WB + 4 * (size_t)e->a, e->q_AB);
}

// a0 + a1 x + ... + a4 x^4 and its derivative.
static double polynomial(const double a[5], double x, double* slope) {
  *slope = a[1] + x * (2.0 * a[2] + x * (3.0 * a[3] + x * 4.0 * a[4]));
  return a[0] + x * (a[1] + x * (a[2] + x * (a[3] + x * a[4])));
}

// Coordinate of a joint or tendon less its value in the default pose.
static double coordinate_offset(const sap_kinematics* kin, const sap_model* model,
                                const sap_equality_def* e, int32_t id) {
  return e->type == SAP_EQUALITY_JOINT
             ? kin->q[model->joints[id].q_start] - model->joints[id].reference
             : sap_tendon_length(kin, id) - model->tendons[id].length0;
}

// out = p_B - p_A; also returns both points.
static void find_point_gap(const sap_kinematics* kin, const sap_equality_def* e, double p[2][3],
                           double out[3]) {
  sap_kinematics_point(kin, e->a, e->anchor_A, p[0]);
  sap_kinematics_point(kin, e->b, e->anchor_B, p[1]);
  sap_v3_sub(out, p[1], p[0]);
}

static void find_gaps(const sap_kinematics* kin, const sap_model* model, const sap_equality_def* e,
                      double g[SAP_ROWS_MAX]) {
  double p[2][3], slope, q_WD[4];
  switch (e->type) {
    case SAP_EQUALITY_CONNECT:
      find_point_gap(kin, e, p, g);
      break;
    case SAP_EQUALITY_WELD:
      find_point_gap(kin, e, p, g);
      weld_frame(kin, e, q_WD);
      sap_quaternion_difference(g + 3, q_WD, kin->q_WB + 4 * (size_t)e->b);
      sap_v3_scale(g + 3, g + 3, e->torque_scale);
      break;
    case SAP_EQUALITY_DISTANCE: {
      double r[3];
      find_point_gap(kin, e, p, r);
      g[0] = sap_v3_norm(r) - e->distance;
      break;
    }
    case SAP_EQUALITY_JOINT:
    case SAP_EQUALITY_TENDON:
      g[0] = coordinate_offset(kin, model, e, e->a) -
             (e->b < 0 ? e->polynomial[0]
                       : polynomial(e->polynomial, coordinate_offset(kin, model, e, e->b), &slope));
      break;
  }
}

static void add_coordinate_row(const sap_kinematics* kin, const sap_equality_def* e, int32_t id,
                               double s, sap_rows* rows) {
  if (e->type == SAP_EQUALITY_JOINT) {
    sap_kinematics_add_joint_row(kin, id, s, rows, 0);
  } else {
    (void)sap_tendon_add_row(kin, id, s, rows, 0);
  }
}

double sap_assembly_equality_slope(const sap_kinematics* kin, const sap_model* model,
                                   const sap_equality_def* e) {
  double slope;
  (void)polynomial(e->polynomial, coordinate_offset(kin, model, e, e->b), &slope);
  return slope;
}

static void make_rows(const sap_kinematics* kin, const sap_model* model, const sap_equality_def* e,
                      sap_rows* rows) {
  static const double axes[3][3] = {{1.0, 0.0, 0.0}, {0.0, 1.0, 0.0}, {0.0, 0.0, 1.0}};
  const int32_t bodies[2] = {e->a, e->b};
  double p[2][3], r[3];
  sap_rows_begin(rows, count_rows(e));
  switch (e->type) {
    case SAP_EQUALITY_WELD: {
      double q_WD[4], R_WD[9];
      weld_frame(kin, e, q_WD);
      sap_quaternion_to_matrix(R_WD, q_WD);
      for (int32_t i = 0; i < 3; ++i) {
        double u[3];
        sap_v3_scale(u, R_WD + 3 * i, e->torque_scale);
        sap_kinematics_add_relative_row(kin, bodies, NULL, u, rows, 3 + i);
      }
    }  // fall through
    case SAP_EQUALITY_CONNECT:
      find_point_gap(kin, e, p, r);
      for (int32_t i = 0; i < 3; ++i) {
        sap_kinematics_add_relative_row(kin, bodies, p, axes[i], rows, i);
      }
      break;
    case SAP_EQUALITY_DISTANCE: {
      find_point_gap(kin, e, p, r);
      const double length = sap_v3_norm(r);
      sap_v3_scale(r, r, length > 0.0 ? 1.0 / length : 0.0);
      // Points that coincide may part along any direction.
      sap_kinematics_add_relative_row(kin, bodies, p, length > 0.0 ? r : axes[2], rows, 0);
      break;
    }
    case SAP_EQUALITY_JOINT:
    case SAP_EQUALITY_TENDON:
      add_coordinate_row(kin, e, e->a, 1.0, rows);
      if (e->b >= 0) {
        add_coordinate_row(kin, e, e->b, -sap_assembly_equality_slope(kin, model, e), rows);
      }
      break;
  }
}

void sap_assembly_predict(sap_assembly* assembly, const sap_kinematics* kin) {
  const sap_model* model = assembly->model;
  for (int32_t id = 0; id < model->sizes.equalities; ++id) {
    find_gaps(kin, model, &model->equalities[id], assembly->predicted + SAP_ROWS_MAX * (size_t)id);
  }
}

void sap_assembly_predict_rates(sap_assembly* assembly, const sap_kinematics* kin,
                                const double* v) {
  const sap_model* model = assembly->model;
  for (int32_t id = 0; id < model->sizes.equalities; ++id) {
    const sap_equality_def* e = &model->equalities[id];
    make_rows(kin, model, e, &assembly->rows);
    for (int32_t r = 0; r < count_rows(e); ++r) {
      assembly->rate_end[SAP_ROWS_MAX * id + r] = sap_rows_times(&assembly->rows, r, v);
    }
  }
}

// Sets R and v_hat of row r.
static sap_status set_law(const sap_assembly_call* call, const sap_equality_def* e, int32_t r,
                          const sap_compliant_row* row, sap_row_law* law) {
  if (isinf(e->stiffness)) {
    const sap_contact_scheme* scheme =
        sap_problem_law_settings(call->problem, call->start->regularization).scheme;
    sap_law_rigid_row(row, call->dt, scheme->settled > 0.0, &law->R[r], &law->v_hat[r]);
    return SAP_STATUS_OK;
  }
  return sap_problem_compliant_law(call->problem, call->start->regularization, row, &law->R[r],
                                   &law->v_hat[r], call->error);
}

static sap_status add_equality(const sap_assembly_call* call, int32_t id) {
  const sap_assembly_start* start = call->start;
  const sap_model* model = call->assembly->model;
  const sap_equality_def* e = &model->equalities[id];
  double* predicted = call->assembly->predicted + SAP_ROWS_MAX * (size_t)id;
  const double* rate_end = call->assembly->rate_end + SAP_ROWS_MAX * (size_t)id;
  const double* v_guess = sap_problem_v_guess(call->problem);
  sap_rows* rows = &call->assembly->rows;
  const int32_t nrows = count_rows(e);
  double g[SAP_ROWS_MAX];
  sap_row_law law = {.set = SAP_SET_FREE, .key = sap_assembly_key(SAP_KEY_EQUALITY, id, 0, 0)};
  find_gaps(start->kin, model, e, g);
  make_rows(start->kin, model, e, rows);
  double w[2] = {0.0, 0.0};  // of translations and rotations
  for (int32_t first = 0; first < nrows; first += 3) {
    const int32_t count = nrows < 3 ? nrows : 3;
    SAP_TRY(sap_assembly_rows_scale(call, first, count, &w[first / 3]));
  }
  const double largest = fmax(w[0], w[1]);
  if (!(largest > 0.0)) {
    return SAP_STATUS_OK;
  }
  const sap_law_settings settings = sap_problem_law_settings(call->problem, start->regularization);
  for (int32_t r = 0; r < nrows; ++r) {
    const double rate_guess = sap_rows_times(rows, r, v_guess);
    sap_compliant_row row = {.stiffness = e->stiffness,
                             .relaxation_time = e->relaxation_time,
                             .rate0 = sap_rows_times(rows, r, start->v0),
                             .w = w[r / 3] > 0.0 ? w[r / 3] : largest,  // a half may not move
                             .recovery_speed = isinf(e->stiffness) ? SAP_RECOVERY_SPEED : 0.0};
    const double end = isinf(e->stiffness) ? 1.0 : sap_law_end_share(&settings, &row);
    call->assembly->end_share[SAP_ROWS_MAX * id + r] = end;
    if (start->moved == NULL) {
      row.g0 = g[r];
      row.curvature = predicted[r] - g[r] - call->dt * rate_guess;
      predicted[r] = g[r] + row.curvature;
    } else {
      row.g0 = end * predicted[r] + (1.0 - end) * sap_assembly_gap0(call, r, g[r]);
      row.curvature = end * call->dt * (rate_end[r] - rate_guess);
    }
    SAP_TRY(set_law(call, e, r, &row, &law));
  }
  return sap_assembly_add_rows(call, &law);
}

void sap_assembly_make_equality(sap_assembly* assembly, const sap_kinematics* kin, int32_t id,
                                double g[SAP_ROWS_MAX]) {
  find_gaps(kin, assembly->model, &assembly->model->equalities[id], g);
  make_rows(kin, assembly->model, &assembly->model->equalities[id], &assembly->rows);
}

double sap_assembly_closure(const sap_assembly* assembly, const sap_kinematics* kin) {
  const sap_model* model = assembly->model;
  double largest = 0.0;
  for (int32_t id = 0; id < model->sizes.equalities; ++id) {
    const sap_equality_def* e = &model->equalities[id];
    double g[SAP_ROWS_MAX];
    find_gaps(kin, model, e, g);
    for (int32_t r = 0; assembly->on[SAP_ASSEMBLY_EQUALITY][id] && r < count_rows(e); ++r) {
      largest = fmax(largest, fabs(g[r]));
    }
  }
  return largest;
}

void sap_assembly_closure_error(const sap_assembly* assembly, const sap_kinematics* kin,
                                const sap_problem* problem, const double* vc, double* missed) {
  const sap_model* model = assembly->model;
  const double dt = sap_problem_dt(problem);
  const sap_block_range range = assembly->ranges[SAP_BLOCKS_EQUALITY];
  for (int32_t i = range.first; i < range.end; ++i) {
    sap_block block;
    int32_t row = 0;
    if (sap_problem_block(problem, i, &block, &row, NULL) != SAP_STATUS_OK) {
      break;
    }
    const int32_t id = sap_assembly_key_id(block.key, 0);
    const sap_equality_def* e = &model->equalities[id];
    double g[SAP_ROWS_MAX];
    find_gaps(kin, model, e, g);
    for (int32_t r = 0; isinf(e->stiffness) && r < block.nrows; ++r) {
      missed[row + r] =
          g[r] - assembly->predicted[SAP_ROWS_MAX * (size_t)id + (size_t)r] - dt * vc[row + r];
    }
  }
}

sap_status sap_assembly_add_equalities(sap_assembly* assembly, const sap_assembly_start* start,
                                       sap_problem* problem, sap_error* error) {
  const sap_model* model = assembly->model;
  const sap_assembly_call call = {assembly, start, problem, sap_problem_dt(problem), error};
  const int32_t first = sap_problem_block_count(problem);
  for (int32_t id = 0; id < model->sizes.equalities; ++id) {
    if (assembly->on[SAP_ASSEMBLY_EQUALITY][id]) {
      SAP_TRY_OR(add_equality(&call, id),
                 sap_assembly_add_prefix(&call, "equality", SAP_ELEMENT_EQUALITY, id));
    }
  }
  sap_assembly_record(assembly, SAP_BLOCKS_EQUALITY, first, problem);
  return SAP_STATUS_OK;
}
