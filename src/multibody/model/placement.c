// SPDX-License-Identifier: BSD-3-Clause
// Articulated-body recursion; all spatial vectors of a tree are about one point O.
//   inwards, for the dofs of a body, last first, from IA = I + sum IA_child:
//     U = IA S,  D = S . U + armature,  u = tau - S . f
//     IA -= U U'/D,  f += U u/D
//   A pivot D of M's L' D L factorization at the round-off of M_ii = S . Ic S + armature counts as
//   zero; Ic = I + sum Ic_child.
//   outwards, first dof first:
//     a_i = (u - U . A)/D,  A += S a_i
#include "multibody/model/placement.h"

#include <string.h>

#include "multibody/model/joint_motion.h"

// Relative; the loss of double precision in IA at mass ratios up to 1e12.
#define PIVOT_TOLERANCE 1e-13

static sap_status allocate_placed(sap_placed* placed, sap_error* error) {
  const int32_t bodies = placed->model->sizes.bodies, nv = placed->model->sizes.nv;
  sap_pool* pool = &placed->pool;
  SAP_TRY(SAP_POOL_ADD(pool, &placed->q, placed->model->sizes.nq, error));
  SAP_TRY(SAP_POOL_ADD(pool, &placed->p_WB, 3 * (size_t)bodies, error));
  SAP_TRY(SAP_POOL_ADD(pool, &placed->q_WB, 4 * (size_t)bodies, error));
  SAP_TRY(SAP_POOL_ADD(pool, &placed->R_WB, 9 * (size_t)bodies, error));
  SAP_TRY(SAP_POOL_ADD(pool, &placed->S, nv, error));
  SAP_TRY(SAP_POOL_ADD(pool, &placed->root, bodies, error));
  SAP_TRY(SAP_POOL_ADD(pool, &placed->wanted, bodies, error));
  SAP_TRY(SAP_POOL_ADD(pool, &placed->gradient, nv, error));
  SAP_TRY(SAP_POOL_ADD(pool, &placed->response, nv, error));
  SAP_TRY(SAP_POOL_ADD(pool, &placed->inertia, bodies, error));
  SAP_TRY(SAP_POOL_ADD(pool, &placed->composite, bodies, error));
  SAP_TRY(SAP_POOL_ADD(pool, &placed->diagonal, nv, error));
  SAP_TRY(SAP_POOL_ADD(pool, &placed->force, bodies, error));
  SAP_TRY(SAP_POOL_ADD(pool, &placed->U, nv, error));
  SAP_TRY(SAP_POOL_ADD(pool, &placed->D, nv, error));
  return SAP_POOL_ADD(pool, &placed->u, nv, error);
}

sap_status sap_placed_create(const sap_model* model, sap_placed* placed, sap_error* error) {
  *placed = (sap_placed){.model = model, .pool.owner = "actuators"};
  SAP_TRY_OR(allocate_placed(placed, error), sap_placed_clear(placed));
  memcpy(placed->q, model->q_default, (size_t)model->sizes.nq * sizeof(double));
  placed->root[0] = -1;
  for (int32_t n = 0; n < model->sizes.bodies; ++n) {
    const int32_t b = model->body_order[n];
    placed->wanted[b] = true;
    if (b > 0) {
      const int32_t above = placed->root[model->bodies[b].parent];
      placed->root[b] = model->bodies[b].tree < 0 ? -1 : above >= 0 ? above : b;
    }
  }
  sap_placed_move(placed);
  return SAP_STATUS_OK;
}

void sap_placed_clear(sap_placed* placed) {
  sap_pool_free(&placed->pool);
  *placed = (sap_placed){0};
}

void sap_placed_move(sap_placed* placed) {
  const sap_model* model = placed->model;
  for (int32_t n = 0; n < model->sizes.bodies; ++n) {
    const int32_t b = model->body_order[n];
    const sap_model_body* body = &model->bodies[b];
    double* p = placed->p_WB + 3 * (size_t)b;
    double* q = placed->q_WB + 4 * (size_t)b;
    double* R = placed->R_WB + 9 * (size_t)b;
    if (!placed->wanted[b]) {
      continue;
    }
    sap_v3_copy(p, body->p_PB);
    memcpy(q, body->q_PB, 4 * sizeof *q);
    if (b > 0) {
      const double* q_WP = placed->q_WB + 4 * (size_t)body->parent;
      sap_quaternion_place(p, placed->p_WB + 3 * (size_t)body->parent, q_WP, p);
      sap_quaternion_multiply(q, q_WP, q);
    }
    const int32_t* joints = model->body_joints + body->first_joint;
    for (int32_t k = 0; k < body->njoints; ++k) {
      const sap_model_joint_data* joint = &model->joints[joints[k]];
      sap_joint_move(joint, placed->q + joint->q_start, p, q, placed->S + joint->v_start);
    }
    (void)sap_quaternion_normalize(q);
    sap_quaternion_to_matrix(R, q);
    const double* O = placed->p_WB + 3 * (size_t)(placed->root[b] < 0 ? b : placed->root[b]);
    for (int32_t k = 0; k < body->njoints; ++k) {
      const sap_model_joint_data* joint = &model->joints[joints[k]];
      sap_joint_finish(joint, O, R, placed->S + joint->v_start);
    }
  }
}

sap_poses sap_placed_poses(const sap_placed* placed) {
  return (sap_poses){placed->q, placed->p_WB, placed->q_WB, placed->R_WB};
}

static void push_dof(void* context, int32_t dof, double force) {
  const sap_placed* placed = context;
  placed->gradient[dof] += force;
}

static void push_body(void* context, int32_t body, int32_t stop, const double p_W[3],
                      const double force[3], const double moment[3]) {
  const sap_placed* placed = context;
  const sap_model* model = placed->model;
  double arm[3], about_O[3];
  if (placed->root[body] < 0) {
    return;
  }
  sap_v3_sub(arm, p_W, placed->p_WB + 3 * (size_t)placed->root[body]);
  sap_v3_cross(about_O, arm, force);
  if (moment != NULL) {
    sap_v3_add(about_O, about_O, moment);
  }
  for (int32_t i = model->bodies[body].last_dof; i > stop; i = model->dof_parent[i]) {
    placed->gradient[i] += sap_v3_dot(placed->S[i], about_O) + sap_v3_dot(placed->S[i] + 3, force);
  }
}

void sap_placed_gradient(sap_placed* placed, const sap_model_actuator* actuator) {
  const sap_poses at = sap_placed_poses(placed);
  const sap_drive_sink sink = {placed, push_dof, push_body};
  memset(placed->gradient, 0, (size_t)placed->model->sizes.nv * sizeof(double));
  sap_drive_push(placed->model, &at, actuator, actuator->gear, &sink);
}

// Adds to I (column-major, rows [omega; v]) the inertia of a body of mass m about a point, c from
// that point to the centre of mass:  I += [I_Co - m c~ c~, m c~; -m c~, m 1]
static void add_inertia(double I[36], const double I_Co[9], double m, const double c[3]) {
  const double cc = sap_v3_dot(c, c);
  const double skew[9] = {0.0, c[2], -c[1], -c[2], 0.0, c[0], c[1], -c[0], 0.0};
  for (int j = 0; j < 3; ++j) {
    for (int i = 0; i < 3; ++i) {
      I[6 * j + i] += I_Co[3 * j + i] + m * ((i == j ? cc : 0.0) - c[i] * c[j]);
      I[6 * (j + 3) + i] += m * skew[3 * j + i];
      I[6 * j + i + 3] += m * skew[3 * i + j];
    }
    I[6 * (j + 3) + j + 3] += m;
  }
}

// Sets I to the body's own inertia about O in world axes.
static void set_own_inertia(const sap_placed* placed, int32_t b, double I[36]) {
  const sap_model_body* body = &placed->model->bodies[b];
  double c[3], turned[9];
  sap_v3_place(c, placed->p_WB + 3 * (size_t)b, placed->R_WB + 9 * (size_t)b, body->p_BCo);
  sap_v3_sub(c, c, placed->p_WB + 3 * (size_t)placed->root[b]);
  sap_m3_rotate_symmetric(turned, placed->R_WB + 9 * (size_t)b, body->I_BCo_B);
  memset(I, 0, 36 * sizeof *I);
  add_inertia(I, turned, body->mass, c);
}

static double dot6(const double a[6], const double b[6]) {
  return sap_v3_dot(a, b) + sap_v3_dot(a + 3, b + 3);
}

// out = I S; returns S . I S.
static double apply(const double I[36], const double S[6], double out[6]) {
  for (int r = 0; r < 6; ++r) {
    out[r] = 0.0;
    for (int c = 0; c < 6; ++c) {
      out[r] += I[6 * c + r] * S[c];
    }
  }
  return dot6(S, out);
}

// Eliminates the dofs of a body from its articulated inertia. Returns the joint of a dof without
// inertia, -1: none.
static int32_t eliminate_dofs(sap_placed* placed, int32_t b) {
  const sap_model* model = placed->model;
  const sap_model_body* body = &model->bodies[b];
  double *I = placed->inertia[b], *f = placed->force[b];
  for (int32_t i = body->first_dof + body->ndofs - 1; i >= body->first_dof; --i) {
    const double* S = placed->S[i];
    double *U = placed->U[i], unused[6];
    const double armature = model->joints[model->dof_joint[i]].armature;
    placed->D[i] = apply(I, S, U) + armature;
    placed->diagonal[i] = apply(placed->composite[b], S, unused) + armature;
    if (!(placed->D[i] > PIVOT_TOLERANCE * placed->diagonal[i])) {
      return model->dof_joint[i];
    }
    placed->u[i] = placed->gradient[i] - dot6(S, f);
    for (int c = 0; c < 6; ++c) {
      for (int r = 0; r < 6; ++r) {
        I[6 * c + r] -= U[r] * U[c] / placed->D[i];
      }
      f[c] += U[c] * placed->u[i] / placed->D[i];
    }
  }
  return -1;
}

int32_t sap_placed_eliminate(sap_placed* placed) {
  const sap_model* model = placed->model;
  for (int32_t b = 1; b < model->sizes.bodies; ++b) {
    if (placed->root[b] >= 0) {
      set_own_inertia(placed, b, placed->inertia[b]);
      memcpy(placed->composite[b], placed->inertia[b], sizeof placed->inertia[b]);
    }
    memset(placed->force[b], 0, sizeof placed->force[b]);
  }
  for (int32_t n = model->sizes.bodies - 1; n > 0; --n) {
    const int32_t b = model->body_order[n], parent = model->bodies[b].parent;
    if (placed->root[b] < 0) {
      continue;
    }
    const int32_t without = eliminate_dofs(placed, b);
    if (without >= 0) {
      return without;
    }
    for (int i = 0; i < 36 && placed->root[parent] >= 0; ++i) {
      placed->inertia[parent][i] += placed->inertia[b][i];
      placed->composite[parent][i] += placed->composite[b][i];
    }
    for (int i = 0; i < 6 && placed->root[parent] >= 0; ++i) {
      placed->force[parent][i] += placed->force[b][i];
    }
  }
  return -1;
}

void sap_placed_respond(sap_placed* placed) {
  const sap_model* model = placed->model;
  (void)sap_placed_eliminate(placed);
  for (int32_t n = 1; n < model->sizes.bodies; ++n) {
    const int32_t b = model->body_order[n];
    const sap_model_body* body = &model->bodies[b];
    if (placed->root[b] < 0) {
      continue;
    }
    double* A = placed->force[b];  // now the acceleration
    memset(A, 0, 6 * sizeof *A);
    if (placed->root[body->parent] >= 0) {
      memcpy(A, placed->force[body->parent], 6 * sizeof *A);
    }
    for (int32_t i = body->first_dof; i < body->first_dof + body->ndofs; ++i) {
      placed->response[i] = (placed->u[i] - dot6(placed->U[i], A)) / placed->D[i];
      for (int k = 0; k < 6; ++k) {
        A[k] += placed->S[i][k] * placed->response[i];
      }
    }
  }
}
