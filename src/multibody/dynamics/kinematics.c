// SPDX-License-Identifier: BSD-3-Clause
// Memory of kinematics, angular Jacobians, wrenches, rows, and steps of the configuration. Forward
// kinematics and point Jacobians are kernels (kinematics.inc).
#include "multibody/dynamics/kinematics.h"

#include <string.h>

#include "core/error.h"
#include "math/quaternion.h"
#include "math/scalar.h"
#include "multibody/dynamics/dynamics_data.h"

enum { UNPLACED = 0xff };  // bytes of a q that no caller has: NaN

// Sets the poses of the world and of bodies welded to it, which never change.
static void place_static_bodies(sap_kinematics* kin) {
  const sap_model* model = kin->dynamics->model;
  for (int32_t n = 0; n < model->sizes.bodies; ++n) {
    const int32_t id = model->body_order[n];
    const sap_model_body* body = &model->bodies[id];
    double* p = kin->p_WB + 3 * id;
    double* q = kin->q_WB + 4 * id;
    sap_v3_copy(p, body->p_PB);
    memcpy(q, body->q_PB, 4 * sizeof *q);
    if (id != 0 && body->tree < 0) {
      const double* q_WP = kin->q_WB + 4 * body->parent;
      sap_quaternion_place(p, kin->p_WB + 3 * body->parent, q_WP, p);
      sap_quaternion_multiply(q, q_WP, q);
      (void)sap_quaternion_normalize(q);
    }
    sap_quaternion_to_matrix(kin->R_WB + 9 * id, q);
  }
}

static sap_status allocate_arrays(sap_kinematics* kin, sap_error* error) {
  const sap_model_sizes* sizes = &kin->dynamics->model->sizes;
  const size_t bodies = (size_t)sizes->bodies;
  return SAP_POOL_ADD_ALL(&kin->pool, error, SAP_ARRAY(&kin->q, sizes->nq),
                          SAP_ARRAY(&kin->p_WB, 3 * bodies), SAP_ARRAY(&kin->R_WB, 9 * bodies),
                          SAP_ARRAY(&kin->q_WB, 4 * bodies), SAP_ARRAY(&kin->S, sizes->nv),
                          SAP_ARRAY(&kin->inertia, bodies),
                          SAP_ARRAY(&kin->tree_moved, sizes->trees));
}

sap_status sap_kinematics_create(sap_kinematics* kin, const sap_dynamics* d, sap_error* error) {
  *kin = (sap_kinematics){.dynamics = d, .pool = {.owner = "kinematics"}};
  SAP_TRY_OR(allocate_arrays(kin, error), sap_kinematics_clear(kin));
  memset(kin->q, UNPLACED, (size_t)d->model->sizes.nq * sizeof *kin->q);
  place_static_bodies(kin);
  sap_kinematics_set(kin, d->model->q_default);
  return SAP_STATUS_OK;
}

bool sap_kinematics_is_at(const sap_kinematics* kin, const double* q) {
  return memcmp(kin->q, q, (size_t)kin->dynamics->model->sizes.nq * sizeof *q) == 0;
}

void sap_kinematics_set(sap_kinematics* kin, const double* q) {
  kin->dynamics->kernels->set_positions(kin, q);
}

void sap_kinematics_add_point_jacobian(const sap_kinematics* kin, int32_t body, const double p_W[3],
                                       const double R_WC[9], double sign, double* J) {
  kin->dynamics->kernels->add_point_jacobian(kin, body, p_W, R_WC, sign, J);
}

void sap_kinematics_add_angular_jacobian(const sap_kinematics* kin, int32_t body,
                                         const double R_WC[9], double sign, int32_t rows,
                                         double* J) {
  const sap_dynamics* d = kin->dynamics;
  const sap_model* model = d->model;
  const int32_t tree = model->bodies[body].tree;
  if (tree < 0) {
    return;
  }
  const int32_t root = d->tree_root[tree];
  const int32_t first = model->tree_dofs[tree];
  const int32_t end = d->tree_free[tree] ? first + 6 : first;
  const double* axes[3] = {R_WC + 6, R_WC, R_WC + 3};  // spin about n, rolling about t1, t2
  for (int32_t i = model->bodies[body].last_dof; i >= end; i = model->dof_parent[i]) {
    for (int32_t r = 0; r < rows && !d->locked[i]; ++r) {
      J[rows * (i - first) + r] += sign * sap_v3_dot(axes[r], kin->S[i]);
    }
  }
  for (int32_t k = 0; k < 3 && end > first && !d->locked[first]; ++k) {
    for (int32_t r = 0; r < rows; ++r) {
      J[rows * (k + 3) + r] += sign * sap_v3_dot(axes[r], kin->R_WB + 9 * root + 3 * k);
    }
  }
}

void sap_kinematics_turn_point_jacobian(const sap_kinematics* kin, int32_t body,
                                        const double p_W[3], const double turn[3],
                                        const double R_WC[9], double sign, double* J) {
  const sap_dynamics* d = kin->dynamics;
  const sap_link* link = &d->links[d->link_of[d->model->bodies[body].weld]];
  const double* R = kin->R_WB + 9 * link->body;
  sap_inertia about_centre;
  double back[3], r[3], rotation[3], change[9];
  if (!link->lone) {
    return;
  }
  sap_m3_mul_v3(back, R, link->body_inertia.h);
  sap_v3_scale(back, back, -1.0 / link->body_inertia.mass);
  sap_inertia_move(&about_centre, &link->body_inertia, R, back);
  sap_v3_scale(rotation, turn, sap_inertia_turning_share(about_centre.I));
  sap_v3_sub(r, p_W, kin->p_WB + 3 * link->body);
  sap_v3_add(r, r, back);
  for (int32_t k = 0; k < 3; ++k) {  // in the order of angular rows
    sap_spatial_turn_moment(change + 3 * ((k + 2) % 3), rotation, r, R_WC + 3 * k);
  }
  sap_kinematics_add_angular_jacobian(kin, body, change, sign, 3, J);
}

void sap_kinematics_velocities(const sap_kinematics* kin, const double* v, double (*V_WB)[6]) {
  const sap_dynamics* d = kin->dynamics;
  const sap_model* model = d->model;
  for (int32_t n = 0; n < model->sizes.bodies; ++n) {
    const int32_t id = model->body_order[n];
    const sap_model_body* body = &model->bodies[id];
    double* V = V_WB[id];
    memset(V, 0, sizeof V_WB[id]);
    if (body->tree < 0) {
      continue;
    }
    const int32_t root = d->tree_root[body->tree];
    int32_t i = body->first_dof;
    double arm[3], turned[3];
    if (id != root) {
      memcpy(V, V_WB[body->parent], sizeof V_WB[id]);
      sap_v3_sub(arm, kin->p_WB + 3 * id, kin->p_WB + 3 * body->parent);
      sap_spatial_velocity_at(V + 3, V, arm);
    } else if (d->tree_free[body->tree]) {
      sap_m3_mul_v3(V, kin->R_WB + 9 * id, v + i + 3);
      sap_v3_copy(V + 3, v + i);
      i += 6;
    }
    sap_v3_sub(arm, kin->p_WB + 3 * id, kin->p_WB + 3 * root);
    for (; i < body->first_dof + body->ndofs; ++i) {
      const double* S = kin->S[i];
      sap_v3_cross(turned, S, arm);
      sap_v3_add_scaled(V, S, v[i]);
      sap_v3_add_scaled(V + 3, S + 3, v[i]);
      sap_v3_add_scaled(V + 3, turned, v[i]);
    }
  }
}

void sap_kinematics_point(const sap_kinematics* kin, int32_t body, const double p_BP[3],
                          double p_W[3]) {
  sap_v3_place(p_W, kin->p_WB + 3 * (size_t)body, kin->R_WB + 9 * (size_t)body, p_BP);
}

void sap_kinematics_add_wrench(const sap_kinematics* kin, int32_t body, int32_t stop,
                               const double p_W[3], const double f[3], const double m[3],
                               double* tau) {
  const sap_dynamics* d = kin->dynamics;
  const sap_model* model = d->model;
  const int32_t tree = model->bodies[body].tree;
  if (tree < 0) {
    return;
  }
  const int32_t root = d->tree_root[tree];
  const int32_t first = model->tree_dofs[tree];
  const int32_t end = d->tree_free[tree] ? first + 6 : first;
  double arm[3], n[3];
  sap_v3_sub(arm, p_W, kin->p_WB + 3 * (size_t)root);
  sap_v3_cross(n, arm, f);
  if (m != NULL) {
    sap_v3_add(n, n, m);
  }
  for (int32_t i = model->bodies[body].last_dof; i >= end && i > stop; i = model->dof_parent[i]) {
    if (!d->locked[i]) {
      tau[i] += sap_v3_dot(kin->S[i], n) + sap_v3_dot(kin->S[i] + 3, f);
    }
  }
  // A free root has S = [0; e_k] and [b_k; 0], b_k the axes of its body.
  for (int32_t k = 0; k < 3 && end > first && stop < first && !d->locked[first]; ++k) {
    tau[first + k] += f[k];
    tau[first + 3 + k] += sap_v3_dot(kin->R_WB + 9 * (size_t)root + 3 * k, n);
  }
}

void sap_kinematics_add_wrench_row(const sap_kinematics* kin, int32_t body, const double p_W[3],
                                   const double f[3], const double m[3], sap_rows* rows,
                                   int32_t r) {
  const int32_t tree = kin->dynamics->model->bodies[body].tree;
  if (tree >= 0) {
    sap_rows_touch(rows, tree);
    sap_kinematics_add_wrench(kin, body, -1, p_W, f, m, sap_rows_at(rows, r));
  }
}

void sap_kinematics_add_relative_row(const sap_kinematics* kin, const int32_t bodies[2],
                                     double p[2][3], const double u[3], sap_rows* rows, int32_t r) {
  static const double zero[3] = {0.0, 0.0, 0.0};
  double minus[3];
  sap_v3_scale(minus, u, -1.0);
  for (int32_t side = 1; side >= 0; --side) {
    const double* along = side == 1 ? u : minus;
    sap_kinematics_add_wrench_row(kin, bodies[side], p != NULL ? p[side] : zero,
                                  p != NULL ? along : zero, p != NULL ? NULL : along, rows, r);
  }
}

void sap_kinematics_add_joint_row(const sap_kinematics* kin, int32_t joint, double s,
                                  sap_rows* rows, int32_t r) {
  const sap_dynamics* d = kin->dynamics;
  const sap_model_joint_data* data = &d->model->joints[joint];
  sap_rows_touch(rows, data->tree);
  sap_rows_at(rows, r)[data->v_start] += d->locked[data->v_start] ? 0.0 : s;
}

// --- rows ---

sap_status sap_rows_create(const sap_model* model, sap_pool* pool, sap_rows* rows,
                           sap_error* error) {
  const size_t nv = (size_t)model->sizes.nv;
  const int32_t trees = model->sizes.trees;
  *rows = (sap_rows){.model = model};
  return SAP_POOL_ADD_ALL(
      pool, error, SAP_ARRAY(&rows->trees, trees), SAP_ARRAY(&rows->touched, trees),
      SAP_ARRAY(&rows->values, SAP_ROWS_MAX * nv), SAP_ARRAY(&rows->packed, SAP_ROWS_MAX * nv),
      SAP_ARRAY(&rows->parts, trees), SAP_ARRAY(&rows->part_trees, trees));
}

void sap_rows_begin(sap_rows* rows, int32_t nrows) {
  const sap_model* model = rows->model;
  for (int32_t i = 0; i < rows->ntrees; ++i) {
    const int32_t tree = rows->trees[i];
    for (int32_t r = 0; r < rows->nrows; ++r) {
      memset(sap_rows_at(rows, r) + model->tree_dofs[tree], 0,
             (size_t)model->tree_sizes[tree] * sizeof(double));
    }
    rows->touched[tree] = false;
  }
  rows->ntrees = rows->nparts = 0;
  rows->nrows = nrows;
  rows->column = -1;
}

void sap_rows_unit(sap_rows* rows, int32_t dof, double s) {
  const int32_t tree = rows->model->dof_tree[dof];
  sap_rows_begin(rows, 1);
  sap_rows_touch(rows, tree);
  sap_rows_at(rows, 0)[dof] = s;
  rows->column = dof - rows->model->tree_dofs[tree];
  rows->part_trees[0] = tree;
  rows->parts[rows->nparts++] = sap_rows_at(rows, 0) + rows->model->tree_dofs[tree];
}

void sap_rows_touch(sap_rows* rows, int32_t tree) {
  if (!rows->touched[tree]) {
    rows->touched[tree] = true;
    rows->trees[rows->ntrees++] = tree;
  }
}

double sap_rows_times(const sap_rows* rows, int32_t r, const double* v) {
  const double* row = sap_rows_at(rows, r);
  double sum = 0.0;
  for (int32_t i = 0; i < rows->ntrees; ++i) {
    const int32_t first = rows->model->tree_dofs[rows->trees[i]];
    const int32_t end = first + rows->model->tree_sizes[rows->trees[i]];
    for (int32_t j = first; j < end; ++j) {
      sum += row[j] * v[j];
    }
  }
  return sum;
}

void sap_rows_add_scaled(const sap_rows* rows, int32_t r, double s, double* out) {
  const double* row = sap_rows_at(rows, r);
  for (int32_t i = 0; i < rows->ntrees; ++i) {
    const int32_t first = rows->model->tree_dofs[rows->trees[i]];
    const int32_t end = first + rows->model->tree_sizes[rows->trees[i]];
    for (int32_t j = first; j < end; ++j) {
      out[j] += s * row[j];
    }
  }
}

// Returns one tree's columns, those of several rows copied to `to`; NULL: all are zero.
static const double* pack_tree(const sap_rows* rows, int32_t tree, int32_t first, int32_t count,
                               double* to) {
  const int32_t dof = rows->model->tree_dofs[tree];
  const int32_t size = rows->model->tree_sizes[tree];
  bool any = false;
  for (int32_t r = 0; r < count; ++r) {
    const double* from = sap_rows_at(rows, first + r) + dof;
    any = any || !sap_all_zero(from, (size_t)size);
    if (count == 1) {
      return any ? from : NULL;
    }
    for (int32_t j = 0; j < size; ++j) {
      to[(size_t)j * (size_t)count + (size_t)r] = from[j];
    }
  }
  return any ? to : NULL;
}

void sap_rows_pack(sap_rows* rows, int32_t first, int32_t count) {
  double* to = rows->packed;
  rows->nparts = 0;
  for (int32_t i = 0; i < rows->ntrees; ++i) {
    const int32_t tree = rows->trees[i];
    const double* part = pack_tree(rows, tree, first, count, to);
    if (part != NULL) {
      rows->part_trees[rows->nparts] = tree;
      rows->parts[rows->nparts++] = part;
      to += (size_t)count * (size_t)rows->model->tree_sizes[tree];
    }
  }
}

// --- steps of the configuration ---

// Returns how many coordinates come before the quaternion, if the joint has one.
static inline int32_t number_count(const sap_model_joint_data* joint) {
  return joint->nq < 4 ? joint->nq : joint->nq - 4;
}

// A zero rotation leaves the quaternion bitwise unchanged.
static void integrate_rotation(const double* q0, const double w[3], double dt,
                               sap_rotation_memory* memory, double* q) {
  double r[3];
  sap_v3_scale(r, w, dt);
  if (r[0] == 0.0 && r[1] == 0.0 && r[2] == 0.0) {
    memcpy(q, q0, 4 * sizeof *q);
    return;
  }
  if (memory != NULL && memcmp(memory->q0, q0, sizeof memory->q0) == 0 &&
      memcmp(memory->r, r, sizeof r) == 0) {
    memcpy(q, memory->q, sizeof memory->q);
    return;
  }
  sap_quaternion_integrate(q, q0, r);
  if (memory != NULL) {
    memcpy(memory->q0, q0, sizeof memory->q0);
    memcpy(memory->r, r, sizeof r);
    memcpy(memory->q, q, sizeof memory->q);
  }
}

void sap_manifold_integrate_again(const sap_model* model, const double* q0, const double* v,
                                  double dt, sap_rotation_memory* memory, double* q) {
  for (int32_t j = 0; j < model->sizes.joints; ++j) {
    const sap_model_joint_data* joint = &model->joints[j];
    const double* from = q0 + joint->q_start;
    const double* rate = v + joint->v_start;
    double* to = q + joint->q_start;
    const int32_t n = number_count(joint);
    for (int32_t i = 0; i < 3 && i < n; ++i) {  // unrolled
      to[i] = from[i] + dt * rate[i];
    }
    if (n < joint->nq) {
      integrate_rotation(from + n, rate + n, dt, memory != NULL ? memory + j : NULL, to + n);
    }
  }
}

void sap_manifold_integrate(const sap_model* model, const double* q0, const double* v, double dt,
                            double* q) {
  sap_manifold_integrate_again(model, q0, v, dt, NULL, q);
}

void sap_manifold_difference(const sap_model* model, const double* q0, const double* q1,
                             double* delta) {
  SAP_EACH(const sap_model_joint_data, joint, model->joints, model->sizes.joints) {
    const double* from = q0 + joint->q_start;
    const double* to = q1 + joint->q_start;
    double* out = delta + joint->v_start;
    const int32_t n = number_count(joint);
    for (int32_t i = 0; i < n; ++i) {
      out[i] = to[i] - from[i];
    }
    if (n < joint->nq) {
      sap_quaternion_difference(out + n, from + n, to + n);
    }
  }
}

static void set_rotation(const double w[3], sap_step_rotation* out) {
  const double a2 = sap_v3_dot(w, w), a = sqrt(a2);
  // Next terms of the series: a^4/120, /720, /5040.
  const bool small = a < 3e-2;
  const double s = small ? 1.0 - a2 / 6.0 + a2 * a2 / 120.0 : sin(a) / a;
  const double c = small ? 0.5 - a2 / 24.0 + a2 * a2 / 720.0 : (1.0 - cos(a)) / a2;
  const double e = small ? 1.0 / 6.0 - a2 / 120.0 + a2 * a2 / 5040.0 : (a - sin(a)) / (a2 * a);
  const double W[9] = {0.0, w[2], -w[1], -w[2], 0.0, w[0], w[1], -w[0], 0.0};
  double W2[9];
  sap_m3_mul(W2, W, W);
  for (int i = 0; i < 9; ++i) {
    const double one = i % 4 == 0 ? 1.0 : 0.0;
    out->T[i] = one - s * W[i] + c * W2[i];
    out->J[i] = one - c * W[i] + e * W2[i];
  }
}

int32_t sap_manifold_derivatives(const sap_model* model, const double* v, double dt,
                                 sap_step_rotation* rotations) {
  int32_t count = 0;
  SAP_EACH(const sap_model_joint_data, joint, model->joints, model->sizes.joints) {
    if (!sap_joint_is_scalar(joint->type)) {
      sap_step_rotation* r = &rotations[count++];
      double w[3];
      r->first = joint->v_start + (joint->type == SAP_JOINT_FREE ? 3 : 0);
      sap_v3_scale(w, v + r->first, dt);
      set_rotation(w, r);
    }
  }
  return count;
}
