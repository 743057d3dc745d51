// SPDX-License-Identifier: BSD-3-Clause
// Equalities as free blocks, with g = efc_pos and J = efc_J:
//   v_hat = -g0/(h + tau_d) - c/h - J_mocap v_mocap
//   R     = castro (29)-(30) with a stiffness (negative solref), 1e-6 w if rigid: see (5) of
//           contact/contact_law.c
//   c     = h^2/2 dJ/dt v
// c is the motion on curved paths that a step along J v0 misses; without it a moving loop hangs
// open by h a (h + tau_d)/2. For connect and weld it is h^2/2 times the difference of the anchors'
// accelerations at qacc = 0; for joints that of their polynomial; for tendons it is left out.
// w = |W|_F/3, separate for translations and rotations.
#include <math.h>
#include <string.h>

#include "contact/contact_law.h"
#include "mujoco/adapter.h"
#include "multibody/dynamics/spatial.h"

enum { ROWS_MAX = 6 };

// Finds the spatial accelerations of all bodies at qacc = 0, about their trees' centres of mass.
void sap_mj_equality_update_bias(sap_mj* a, const mjData* d) {
  const mjModel* m = a->model;
  memset(a->blocks.bias_acceleration, 0, 6 * sizeof(double));
  for (int32_t b = 1; b < (int32_t)m->nbody; ++b) {
    double* acceleration = a->blocks.bias_acceleration + 6 * b;
    memcpy(acceleration, a->blocks.bias_acceleration + 6 * m->body_parentid[b], 6 * sizeof(double));
    const int32_t first = m->body_dofadr[b];
    for (int32_t i = first; i < first + m->body_dofnum[b]; ++i) {
      for (int32_t k = 0; k < 6; ++k) {
        acceleration[k] += d->cdof_dot[6 * i + k] * d->qvel[i];
      }
    }
  }
}

// Adds factor times the acceleration of a body's point.
static void add_acceleration(const sap_mj* a, const mjData* d, int32_t body, const double p[3],
                             double factor, double out[3]) {
  const double* spatial = a->blocks.bias_acceleration + 6 * body;
  const mjtNum *v = d->cvel + 6 * body, *centre = d->subtree_com + 3 * a->model->body_rootid[body];
  double r[3], turning[3], velocity[3], centripetal[3];
  sap_v3_sub(r, p, centre);
  sap_v3_cross(turning, spatial, r);
  sap_spatial_velocity_at(velocity, v, r);
  sap_v3_cross(centripetal, v, velocity);
  for (int32_t k = 0; k < 3; ++k) {
    out[k] += factor * (spatial[3 + k] + turning[k] + centripetal[k]);
  }
}

static void body_point(const mjData* d, int32_t body, const mjtNum* local, double p[3]) {
  const mjtNum* R = d->xmat + 9 * body;
  for (int32_t k = 0; k < 3; ++k) {
    p[k] = d->xpos[3 * body + k] + R[3 * k] * local[0] + R[3 * k + 1] * local[1] +
           R[3 * k + 2] * local[2];
  }
}

// Finds the bodies and world points of the anchors of a connect or weld.
static void find_anchors(const mjModel* m, const mjData* d, int32_t id, int32_t body[2],
                         double p[2][3]) {
  const mjtNum* data = m->eq_data + mjNEQDATA * id;
  const int object[2] = {m->eq_obj1id[id], m->eq_obj2id[id]};
#if SAP_MJ_SINCE(3, 2, 3)
  if (m->eq_objtype[id] == mjOBJ_SITE) {
    for (int32_t side = 0; side < 2; ++side) {
      body[side] = m->site_bodyid[object[side]];
      sap_v3_copy(p[side], d->site_xpos + 3 * object[side]);
    }
    return;
  }
#endif
  // The data of a weld begins with the anchor in body 2.
  const bool weld = m->eq_type[id] == mjEQ_WELD;
  for (int32_t side = 0; side < 2; ++side) {
    body[side] = object[side];
    body_point(d, object[side], data + (weld ? 3 * (1 - side) : 3 * side), p[side]);
  }
}

// Evaluates the rotation rows of a weld, with omega the velocity of body 1 relative to body 2 and s
// the model's torque scale:
//   rows = s/2 Im(conj(q_2) omega q_1 q_rel)
static void turn_rows(const mjModel* m, const mjData* d, int32_t id, const double omega[3],
                      double rows[3]) {
  const mjtNum* data = m->eq_data + mjNEQDATA * id;
  const int object[2] = {m->eq_obj1id[id], m->eq_obj2id[id]};
  mjtNum q[2][4], turned[4], product[4];
#if SAP_MJ_SINCE(3, 2, 3)
  const bool sites = m->eq_objtype[id] == mjOBJ_SITE;
  for (int32_t side = 0; sites && side < 2; ++side) {
    mju_mulQuat(q[side], d->xquat + 4 * m->site_bodyid[object[side]],
                m->site_quat + 4 * object[side]);
  }
#else
  const bool sites = false;
#endif
  if (!sites) {
    mju_mulQuat(q[0], d->xquat + 4 * object[0], data + 6);
    mju_copy4(q[1], d->xquat + 4 * object[1]);
  }
  mju_negQuat(q[1], q[1]);
  mju_mulQuatAxis(turned, q[1], omega);
  mju_mulQuat(product, turned, q[0]);
  for (int32_t k = 0; k < 3; ++k) {
    rows[k] = 0.5 * data[10] * product[1 + k];
  }
}

// Finds, for a connect or weld, c of translations and the rows' velocity due to mocap bodies.
static void find_motion(const sap_mj* a, const mjData* d, int32_t id, double c[3],
                        double mocap[ROWS_MAX]) {
  const double h = a->model->opt.timestep;
  int32_t body[2];
  double p[2][3], acceleration[3] = {0.0, 0.0, 0.0}, turning[3] = {0.0, 0.0, 0.0};
  find_anchors(a->model, d, id, body, p);
  for (int32_t side = 0; side < 2; ++side) {
    const double sign = side == 0 ? 1.0 : -1.0;
    double velocity[3], omega[3];
    add_acceleration(a, d, body[side], p[side], sign, acceleration);
    if (sap_mj_mocap_point(a, d, body[side], p[side], velocity, omega)) {
      sap_v3_add_scaled(mocap, velocity, sign);
      sap_v3_add_scaled(turning, omega, sign);
    }
  }
  if (a->model->eq_type[id] == mjEQ_WELD && a->model->nmocap > 0) {
    turn_rows(a->model, d, id, turning, mocap + 3);
  }
  sap_v3_scale(c, acceleration, 0.5 * h * h);
}

// Returns c of two joints coupled by q_1 = p(q_2), p a polynomial of degree 4:
//   c = -h^2/2 p''(q_2) v_2^2
static double polynomial_motion(const sap_mj* a, const mjData* d, int32_t id) {
  const mjModel* m = a->model;
  const int32_t joint = m->eq_obj2id[id];
  if (joint < 0) {
    return 0.0;
  }
  const mjtNum* p = m->eq_data + mjNEQDATA * id;
  const int32_t address = m->jnt_qposadr[joint];
  const double x = d->qpos[address] - m->qpos0[address];
  const double step = m->opt.timestep * d->qvel[m->jnt_dofadr[joint]];
  return -0.5 * step * step * (2.0 * p[2] + 6.0 * p[3] * x + 12.0 * p[4] * x * x);
}

// Finds w of `count` rows from `first` of the block, which was gathered with `total` rows.
static sap_status scale_of(sap_mj* a, int32_t ntrees, int32_t total, int32_t first, int32_t count,
                           double* w, sap_error* error) {
  if (total == count) {
    return sap_problem_delassus_scale(a->problem, count, ntrees, a->rows.trees, a->rows.parts, w,
                                      error);
  }
  // Copies the rows behind the block, which stays as it is.
  const double* parts[2] = {0};
  double* copy = a->rows.J + (a->rows.parts[ntrees - 1] - a->rows.J) +
                 (size_t)total * (size_t)a->trees.size[a->rows.trees[ntrees - 1]];
  for (int32_t t = 0; t < ntrees; ++t) {
    const int32_t n = a->trees.size[a->rows.trees[t]];
    parts[t] = copy;
    for (int32_t j = 0; j < n; ++j) {
      for (int32_t r = 0; r < count; ++r) {
        *copy++ = a->rows.parts[t][j * total + first + r];
      }
    }
  }
  return sap_problem_delassus_scale(a->problem, count, ntrees, a->rows.trees, parts, w, error);
}

sap_status sap_mj_equality_add(sap_mj* a, const mjData* d, int32_t first, int32_t count,
                               sap_error* error) {
  const mjModel* m = a->model;
  const int32_t id = d->efc_id[first], type = m->eq_type[id];
  SAP_FAIL_IF(count > ROWS_MAX || (type != mjEQ_CONNECT && type != mjEQ_WELD &&
                                   type != mjEQ_JOINT && type != mjEQ_TENDON),
              error, SAP_STATUS_UNSUPPORTED, "type %d of %d rows is not stepped", type, count);
  sap_mj_row rows[ROWS_MAX];
  for (int32_t r = 0; r < count; ++r) {
    rows[r] = sap_mj_constraint_row(&a->shadow, d, first + r);
  }
  int32_t ntrees;
  SAP_TRY(sap_mj_rows_gather(a, rows, count, &ntrees, error));
  SAP_RETURN_IF(ntrees == 0, SAP_STATUS_OK);
  double c[ROWS_MAX] = {0.0}, mocap[ROWS_MAX] = {0.0}, w[2] = {0.0, 0.0};
  if (type == mjEQ_CONNECT || type == mjEQ_WELD) {
    find_motion(a, d, id, c, mocap);
  } else if (type == mjEQ_JOINT) {
    c[0] = polynomial_motion(a, d, id);
  }
  for (int32_t r = 0; r < count; r += 3) {
    SAP_TRY(scale_of(a, ntrees, count, r, count < 3 ? count : 3, &w[r / 3], error));
  }
  const double largest = fmax(w[0], w[1]);
  if (!(largest > 0.0)) {
    return SAP_STATUS_OK;  // nothing can move
  }
  const sap_mj_law* law = &a->materials.equality[id];
  const bool rigid = isinf(law->stiffness);
  double R[ROWS_MAX], v_hat[ROWS_MAX];
  for (int32_t r = 0; r < count; ++r) {
    const sap_compliant_row row = {.stiffness = law->stiffness,
                                   .relaxation_time = law->relaxation_time,
                                   .g0 = d->efc_pos[first + r],
                                   .curvature = c[r],
                                   .w = w[r / 3] > 0.0 ? w[r / 3] : largest,
                                   .recovery_speed = rigid ? SAP_RECOVERY_SPEED : 0.0};
    if (rigid) {
      sap_law_rigid_row(&row, m->opt.timestep, false, &R[r], &v_hat[r]);
    } else {
      SAP_TRY(sap_problem_compliant_law(a->problem, &a->options.regularization, &row, &R[r],
                                        &v_hat[r], error));
    }
    v_hat[r] -= mocap[r];
  }
  SAP_TRY(sap_mj_blocks_add_slot(a, -1, first, count, error));
  const sap_block block = {.set = SAP_SET_FREE,
                           .nrows = count,
                           .ntrees = ntrees,
                           .trees = a->rows.trees,
                           .jacobians = a->rows.parts,
                           .R = R,
                           .v_hat = v_hat,
                           .key = sap_mj_blocks_key(a, SAP_MJ_KEY_EQUALITY, id, 0, 0)};
  return sap_problem_add_block(a->problem, &block, error);
}
