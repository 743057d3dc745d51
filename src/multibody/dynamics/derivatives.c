// SPDX-License-Identifier: BSD-3-Clause
// Spatial vectors are in world axes about the tree's O, which is held in space while q varies.
// For a dof k with direction S, V and A of what moves it (gravity included in A), V+ behind its joint:
//   Pd = V x S,  Pdd = A x S + V x Pd,  PS = Pd + V+ x S
// A change of q_k turns all links behind it rigidly and adds Pd to their velocities as seen in the
// turning axes. The three rotations of a ball or free joint turn with each other: their axes are
// those of the body behind.
//
// Inverse dynamics, F = I A + V x* I V, with sums over all links behind the later dof:
//   j before k:          dtau_j/dq_k = S_j . (S_k x* F + I Pdd_k + B Pd_k)
//   j behind or with k:  dtau_j/dq_k = (I S_j) . Pdd_k + (B' S_j) . Pd_k
//   either:              dtau_j/dv_k = S_j . (I PS_k + B S_k),  M_jk = S_j . I S_k
//   B = V x* I - I V x + (I V) x*: only angular parts of its argument x count,
//   B x = [B1 x; 2 x x p],  B1 = 2 [w] I - tr(I) [w] - 2 [h] [v],  [h; p] of I and I V
//
// Momenta, with fixed wrenches W = [L0; P0 + dt weight] at the centres c of the links:
//   j before k:          S_j . (S_k x* H + I Pd_k - dW_k),  dW_k = [(S_k o c) x P0; 0]
//   j behind or with k:  (I S_j) . Pd_k - (S_k x S_j) . W - S_j . dW_k
// and at the start, for each link about its own centre c0, applied at c with the S of the end:
//   dL = S_k x L + I_c Pd_k,  dP = S_k x P + m (Pd_k o c0)
#include "multibody/dynamics/derivatives.h"

#include <math.h>
#include <string.h>

#include "core/error.h"
#include "multibody/dynamics/dynamics_data.h"

enum { COMPOSITE_NUMBERS = 60 };

// Sums over a link and all behind it.
typedef struct composite {
  sap_inertia I;
  union {
    double numbers[COMPOSITE_NUMBERS];
    struct {
      double F[6];      // force, or the momentum H at the end
      double B1[9];     // column-major
      double p[3];      // linear momentum
      double W[6];      // of momenta: the fixed wrench
      double N[9];      // dW_k = [N S_k + S_k(linear) x P0; 0], angular part of S_k
      double L0[3];     // angular momenta at the start, each about its own centre
      double P0[3];     // linear momentum at the start
      double mc0[3];    // sum m c0
      double theta[9];  // sum I_c + m ((c . c0) 1 - c0 c')
      double E[9];      // sum (c . P) 1 - P c'
    };
  };
} composite;

// Velocities and momenta of a link for each of some vectors.
typedef struct mass_fields {
  double V[SAP_MASS_FIELDS][6], H[SAP_MASS_FIELDS][6];
} mass_fields;

struct sap_derivatives {
  sap_dynamics* dynamics;
  int32_t* group;       // first dof of the dofs that turn with it                    (nv)
  composite* sums;      // (links)
  int32_t* tree_link;   // first link of each tree, then their number       (trees + 1)
  mass_fields* fields;  // (links)
  double (*field_Pd)[SAP_MASS_FIELDS][6];                       // (nv)
  double (*V)[6];                                               // (links)
  double (*A)[6];                                               // (links)
  double (*S)[6], (*S0)[6];                                     // (nv)
  double (*Pd)[6], (*Pdd)[6], (*PS)[6], (*Pd0)[6], (*back)[6];  // (nv)
};

sap_status sap_derivatives_create(sap_dynamics* d, sap_pool* pool, sap_derivatives** out,
                                  sap_error* error) {
  const sap_model* model = d->model;
  const int32_t nv = model->sizes.nv;
  sap_derivatives* w;
  SAP_TRY(SAP_POOL_ADD(pool, &w, 1, error));
  w->dynamics = d;
  SAP_TRY(SAP_POOL_ADD(pool, &w->group, nv, error));
  SAP_TRY(SAP_POOL_ADD(pool, &w->sums, d->nlinks, error));
  SAP_TRY(SAP_POOL_ADD(pool, &w->tree_link, model->sizes.trees + 1, error));
  SAP_TRY(SAP_POOL_ADD(pool, &w->fields, d->nlinks, error));
  SAP_TRY(SAP_POOL_ADD(pool, &w->field_Pd, nv, error));
  SAP_TRY(SAP_POOL_ADD(pool, &w->V, d->nlinks, error));
  SAP_TRY(SAP_POOL_ADD(pool, &w->A, d->nlinks, error));
  double(** const vectors[])[6] = {&w->S, &w->S0, &w->Pd, &w->Pdd, &w->PS, &w->Pd0, &w->back};
  for (size_t i = 0; i < sizeof vectors / sizeof *vectors; ++i) {
    SAP_TRY(SAP_POOL_ADD(pool, vectors[i], nv, error));
  }
  for (int32_t i = 0; i < nv; ++i) {
    const sap_model_joint_data* joint = &model->joints[model->dof_joint[i]];
    const bool turns = joint->type == SAP_JOINT_FREE && i >= joint->v_start + 3;
    w->group[i] = joint->v_start + (turns ? 3 : 0);
  }
  for (int32_t l = d->nlinks; l-- > 0;) {  // the links of a tree follow one another
    w->tree_link[d->links[l].tree] = l;
  }
  w->tree_link[model->sizes.trees] = d->nlinks;
  *out = w;
  return SAP_STATUS_OK;
}

void sap_derivatives_direction(const sap_kinematics* kin, int32_t dof, double S[6]) {
  const sap_dynamics* d = kin->dynamics;
  const int32_t tree = d->model->dof_tree[dof], k = dof - d->model->tree_dofs[tree];
  if (!d->tree_lone[tree]) {
    memcpy(S, kin->S[dof], sizeof kin->S[dof]);
    return;
  }
  memset(S, 0, 6 * sizeof *S);
  if (k < 3) {
    S[3 + k] = 1.0;
  } else {
    sap_v3_copy(S, kin->R_WB + 9 * (size_t)d->tree_root[tree] + 3 * (k - 3));
  }
}

static void find_inertia(const sap_kinematics* kin, int32_t l, sap_inertia* out) {
  static const double zero[3] = {0.0, 0.0, 0.0};
  const sap_link* link = &kin->dynamics->links[l];
  if (link->lone) {
    sap_inertia_move(out, &link->body_inertia, kin->R_WB + 9 * link->body, zero);
  } else {
    *out = kin->inertia[l];
  }
}

static inline void motion_cross(double out[6], const double v[6], const double s[6]) {
  memset(out, 0, 6 * sizeof *out);
  sap_spatial_add_motion_cross(out, v, s);
}

// Arrays that one pass outwards fills; Pdd, PS and A NULL: not wanted.
typedef struct outward {
  double (*S)[6], (*Pd)[6], (*Pdd)[6], (*PS)[6];
} outward;

// Moves V (and A) of a link across its dofs; fills the arrays of these.
static void pass_link(sap_derivatives* w, const sap_kinematics* kin, int32_t l, const double* v,
                      const double* a, const outward* out) {
  const sap_dynamics* d = w->dynamics;
  const sap_link* link = &d->links[l];
  const double* g = d->model->options.gravity;
  double *V = w->V[l], *A = w->A[l];
  memset(V, 0, sizeof w->V[l]);
  memset(A, 0, sizeof w->A[l]);
  sap_v3_scale(A + 3, g, -1.0);
  if (link->parent >= 0) {
    memcpy(V, w->V[link->parent], sizeof w->V[l]);
    memcpy(A, w->A[link->parent], sizeof w->A[l]);
  }
  const int32_t end = link->first_dof + link->ndofs;
  for (int32_t i = link->first_dof; i < end;) {
    int32_t next = i;
    double Sv[6] = {0.0}, Sa[6] = {0.0};
    for (; next < end && w->group[next] == w->group[i]; ++next) {
      double* S = out->S[next];
      sap_derivatives_direction(kin, next, S);
      sap_spatial_add_scaled(Sv, S, v[next]);
      motion_cross(out->Pd[next], V, S);
      if (a != NULL) {
        sap_spatial_add_scaled(Sa, S, a[next]);
        motion_cross(out->Pdd[next], A, S);
        sap_spatial_add_motion_cross(out->Pdd[next], V, out->Pd[next]);
      }
    }
    sap_spatial_add_scaled(A, Sa, 1.0);
    sap_spatial_add_motion_cross(A, V, Sv);
    sap_spatial_add_scaled(V, Sv, 1.0);
    for (; a != NULL && i < next; ++i) {
      memcpy(out->PS[i], out->Pd[i], sizeof out->PS[i]);
      sap_spatial_add_motion_cross(out->PS[i], V, out->S[i]);
    }
    i = next;
  }
}

static void unpack(const double s[6], double full[9]) {
  const double all[9] = {s[0], s[3], s[4], s[3], s[1], s[5], s[4], s[5], s[2]};
  memcpy(full, all, sizeof all);
}

// B1 of a link.
static void set_B1(const sap_inertia* I, const double V[6], double B1[9]) {
  double full[9];
  const double trace = I->I[0] + I->I[1] + I->I[2];
  unpack(I->I, full);
  for (int j = 0; j < 3; ++j) {
    const double e[3] = {j == 0 ? 1.0 : 0.0, j == 1 ? 1.0 : 0.0, j == 2 ? 1.0 : 0.0};
    double x[3], y[3];
    sap_v3_cross(B1 + 3 * j, V, full + 3 * j);
    sap_v3_scale(B1 + 3 * j, B1 + 3 * j, 2.0);
    sap_v3_cross(x, V, e);
    sap_v3_add_scaled(B1 + 3 * j, x, -trace);
    sap_v3_cross(x, V + 3, e);
    sap_v3_cross(y, I->h, x);
    sap_v3_add_scaled(B1 + 3 * j, y, -2.0);
  }
}

// out = B x
static void multiply_B(const composite* c, const double x[3], double out[6]) {
  sap_m3_mul_v3(out, c->B1, x);
  sap_v3_cross(out + 3, x, c->p);
  sap_v3_scale(out + 3, out + 3, 2.0);
}

static void add_to_parent(sap_derivatives* w, int32_t l) {
  const int32_t parent = w->dynamics->links[l].parent;
  if (parent < 0) {
    return;
  }
  composite* to = &w->sums[parent];
  const composite* from = &w->sums[l];
  sap_inertia_add(&to->I, &from->I);
  for (int i = 0; i < COMPOSITE_NUMBERS; ++i) {
    to->numbers[i] += from->numbers[i];
  }
}

// Entries of the dofs of a link with all before them.
static void inverse_entries(sap_derivatives* w, int32_t l, double* dq, double* dv, double* da) {
  const sap_dynamics* d = w->dynamics;
  const sap_link* link = &d->links[l];
  const composite* c = &w->sums[l];
  const size_t n = (size_t)d->model->sizes.nv;
  for (int32_t j = link->first_dof; j < link->first_dof + link->ndofs; ++j) {
    double IS[6], BS[3], with[6], turned[6], z[6], x[6];
    const double* S = w->S[j];
    sap_inertia_mul(IS, &c->I, S);
    sap_m3_tmul_v3(BS, c->B1, S);
    sap_v3_cross(x, c->p, S + 3);
    sap_v3_add_scaled(BS, x, 2.0);
    sap_inertia_mul(with, &c->I, w->Pdd[j]);
    multiply_B(c, w->Pd[j], x);
    sap_spatial_add_scaled(with, x, 1.0);
    memcpy(turned, with, sizeof turned);
    sap_spatial_add_force_cross(turned, S, c->F);
    sap_inertia_mul(z, &c->I, w->PS[j]);
    multiply_B(c, S, x);
    sap_spatial_add_scaled(z, x, 1.0);
    for (int32_t k = j; k >= 0; k = d->model->dof_parent[k]) {
      const size_t jk = n * (size_t)k + (size_t)j, kj = n * (size_t)j + (size_t)k;
      dq[jk] = sap_spatial_dot(IS, w->Pdd[k]) + sap_v3_dot(BS, w->Pd[k]);
      dv[jk] = sap_spatial_dot(IS, w->PS[k]) + sap_v3_dot(BS, w->S[k]);
      da[jk] = da[kj] = sap_spatial_dot(IS, w->S[k]);
      if (k != j) {
        dq[kj] = sap_spatial_dot(w->S[k], w->group[k] == w->group[j] ? with : turned);
        dv[kj] = sap_spatial_dot(w->S[k], z);
      }
    }
    da[(n + 1) * (size_t)j] += d->armature[j];
  }
}

void sap_derivatives_inverse(sap_derivatives* w, const sap_kinematics* kin, const double* v,
                             const double* a, double* dq, double* dv, double* da) {
  const sap_dynamics* d = w->dynamics;
  const outward out = {w->S, w->Pd, w->Pdd, w->PS};
  for (int32_t l = 0; l < d->nlinks; ++l) {
    composite* c = &w->sums[l];
    double H[6];
    memset(c, 0, sizeof *c);
    pass_link(w, kin, l, v, a, &out);
    find_inertia(kin, l, &c->I);
    sap_inertia_mul(H, &c->I, w->V[l]);
    sap_inertia_mul(c->F, &c->I, w->A[l]);
    sap_spatial_add_force_cross(c->F, w->V[l], H);
    sap_v3_copy(c->p, H + 3);
    set_B1(&c->I, w->V[l], c->B1);
  }
  for (int32_t l = d->nlinks; l-- > 0;) {
    inverse_entries(w, l, dq, dv, da);
    add_to_parent(w, l);
  }
}

// --- momenta ---

// I about the centre of mass.
static void central_inertia(const sap_inertia* I, const double c[3], double out[9]) {
  unpack(I->I, out);
  const double square = I->mass * sap_v3_dot(c, c);
  for (int j = 0; j < 3; ++j) {
    for (int i = 0; i < 3; ++i) {
      out[3 * j + i] += I->mass * c[i] * c[j] - (i == j ? square : 0.0);
    }
  }
}

// m += s (a b' ) + t 1
static void add_outer(double m[9], double s, const double a[3], const double b[3], double t) {
  for (int j = 0; j < 3; ++j) {
    for (int i = 0; i < 3; ++i) {
      m[3 * j + i] += s * a[i] * b[j] + (i == j ? t : 0.0);
    }
  }
}

// Sums of one link; H0: its momentum at the start about O.
static void set_momentum(const sap_derivatives* w, const sap_momentum_derivatives* s,
                         const sap_inertia* I0, const double H0[6], int32_t l, composite* c) {
  const double m = I0->mass, per_m = m > 0.0 ? 1.0 / m : 0.0;
  double c0[3], c1[3], P[3], x[3];
  find_inertia(s->kin, l, &c->I);
  sap_inertia_mul(c->F, &c->I, w->V[l]);
  sap_v3_scale(c0, I0->h, per_m);
  sap_v3_scale(c1, c->I.h, per_m);
  sap_v3_cross(x, c0, H0 + 3);
  sap_v3_sub(c->L0, H0, x);
  sap_v3_copy(c->P0, H0 + 3);
  sap_v3_scale(c->mc0, c0, m);
  central_inertia(I0, c0, c->theta);
  add_outer(c->theta, -m, c0, c1, m * sap_v3_dot(c0, c1));
  add_outer(c->E, -1.0, c->P0, c1, sap_v3_dot(c1, c->P0));
  sap_v3_copy(P, c->P0);
  sap_v3_add_scaled(P, w->dynamics->model->options.gravity, s->dt * m);
  sap_v3_cross(x, c1, P);
  sap_v3_add(c->W, c->L0, x);
  sap_v3_copy(c->W + 3, P);
  add_outer(c->N, 1.0, c1, P, -sap_v3_dot(c1, P));
}

// What the change of a start velocity S, or of the start along S with Pd, gives at the end.
static void change_start(const composite* c, const double S[6], const double* turn, double out[6]) {
  double x[3];
  sap_m3_mul_v3(out, c->theta, S);
  sap_v3_cross(x, c->I.h, S + 3);
  sap_v3_add(out, out, x);
  sap_v3_cross(out + 3, S, c->mc0);
  sap_v3_add_scaled(out + 3, S + 3, c->I.mass);
  if (turn != NULL) {
    sap_v3_cross(x, turn, c->L0);
    sap_v3_add(out, out, x);
    sap_m3_mul_v3(x, c->E, turn);
    sap_v3_add(out, out, x);
    sap_v3_cross(x, turn, c->P0);
    sap_v3_add(out + 3, out + 3, x);
  }
}

// The transposed: sums applied to S of the end, for the motion (6) and the turning (3) of the start.
static void change_end(const composite* c, const double S[6], double motion[6], double turn[3]) {
  double x[3];
  sap_m3_tmul_v3(motion, c->theta, S);
  sap_v3_cross(x, c->mc0, S + 3);
  sap_v3_add(motion, motion, x);
  sap_v3_cross(motion + 3, S, c->I.h);
  sap_v3_add_scaled(motion + 3, S + 3, c->I.mass);
  sap_m3_tmul_v3(turn, c->E, S);
  sap_v3_cross(x, c->L0, S);
  sap_v3_add(turn, turn, x);
  sap_v3_cross(x, c->P0, S + 3);
  sap_v3_add(turn, turn, x);
}

// What the turning of W with k gives on j, behind or with it: S_k . back.
static void turn_wrench(const composite* c, const double S[6], double back[6]) {
  double x[3];
  memset(back, 0, 6 * sizeof *back);
  sap_spatial_add_force_cross(back, S, c->W);
  sap_m3_tmul_v3(x, c->N, S);
  sap_v3_add(back, back, x);
  sap_v3_cross(x, S, c->W + 3);
  sap_v3_sub(back + 3, back + 3, x);
  for (int i = 0; i < 6; ++i) {
    back[i] = -back[i];
  }
}

static void momentum_entries(sap_derivatives* w, const sap_momentum_derivatives* s, int32_t l) {
  const sap_dynamics* d = w->dynamics;
  const sap_link* link = &d->links[l];
  const composite* c = &w->sums[l];
  const size_t n = (size_t)d->model->sizes.nv;
  const double per_dt = 1.0 / s->dt;
  for (int32_t j = link->first_dof; j < link->first_dof + link->ndofs; ++j) {
    turn_wrench(c, w->S[j], w->back[j]);
  }
  for (int32_t j = link->first_dof; j < link->first_dof + link->ndofs; ++j) {
    const double* S = w->S[j];
    double IS[6], with[6], turned[6], x[3], y[3], to_q0[6], to_v0[6], motion[6], turn[3];
    sap_inertia_mul(IS, &c->I, S);
    sap_inertia_mul(with, &c->I, w->Pd[j]);
    memcpy(turned, with, sizeof turned);
    sap_spatial_add_force_cross(turned, S, c->F);
    sap_m3_mul_v3(x, c->N, S);
    sap_v3_cross(y, S + 3, c->W + 3);
    sap_v3_sub(turned, turned, x);
    sap_v3_sub(turned, turned, y);
    change_start(c, w->Pd0[j], w->S0[j], to_q0);
    change_start(c, w->S0[j], NULL, to_v0);
    change_end(c, S, motion, turn);
    for (int32_t k = j; k >= 0; k = d->model->dof_parent[k]) {
      const size_t jk = n * (size_t)k + (size_t)j, kj = n * (size_t)j + (size_t)k;
      s->dq[jk] = per_dt * (sap_spatial_dot(IS, w->Pd[k]) + sap_spatial_dot(w->S[k], w->back[j]));
      s->dv[jk] = s->dv[kj] = per_dt * sap_spatial_dot(IS, w->S[k]);
      s->dq0[jk] = -per_dt * (sap_spatial_dot(motion, w->Pd0[k]) + sap_v3_dot(turn, w->S0[k]));
      s->dv0[jk] = -per_dt * sap_spatial_dot(motion, w->S0[k]);
      if (k != j) {
        const bool together = w->group[k] == w->group[j];
        s->dq[kj] =
            per_dt * (together ? sap_spatial_dot(w->S[k], with) + sap_spatial_dot(S, w->back[k])
                               : sap_spatial_dot(w->S[k], turned));
        s->dq0[kj] = -per_dt * sap_spatial_dot(w->S[k], to_q0);
        s->dv0[kj] = -per_dt * sap_spatial_dot(w->S[k], to_v0);
      }
    }
  }
}

// Adds s A, a 3x3 matrix, to rows i ... and columns j ... of X.
static void add_block(double* X, size_t n, size_t i, size_t j, double s, const double A[9]) {
  for (size_t c = 0; c < 3; ++c) {
    for (size_t r = 0; r < 3; ++r) {
      X[n * (j + c) + i + r] += s * A[3 * c + r];
    }
  }
}

static void skew(const double a[3], double out[9]) {
  const double all[9] = {0.0, a[2], -a[1], -a[2], 0.0, a[0], a[1], -a[0], 0.0};
  memcpy(out, all, sizeof all);
}

// A lone link, as lone_force of inertia.inc has it, with c = h/m in its own axes:
//   f = (m (v - v0) + R (w x h) - R0 (w0 x h))/dt - m g,
//   n = I_c (w - w0)/dt + w x I_c w + c x R' f
static void lone_entries(const sap_derivatives* w, const sap_momentum_derivatives* s, int32_t l) {
  const sap_dynamics* d = w->dynamics;
  const sap_link* link = &d->links[l];
  const sap_inertia* B = &link->body_inertia;
  const size_t n = (size_t)d->model->sizes.nv, i = (size_t)link->first_dof;
  const double *R = s->kin->R_WB + 9 * link->body, *R0 = s->kin0->R_WB + 9 * link->body;
  const double *v = s->v + i, *v0 = s->v0 + i, *omega = v + 3, *omega0 = v0 + 3;
  const double *h = B->h, *g = d->model->options.gravity;
  const double per_dt = 1.0 / s->dt, m = B->mass, per_m = m > 0.0 ? 1.0 / m : 0.0;
  double c[3], wh[3], wh0[3], f[3], x[3], Iw[3], Ic[9], X[9], Y[9], C[9], CR[9], unit[9] = {0.0};
  unit[0] = unit[4] = unit[8] = 1.0;
  sap_v3_scale(c, h, per_m);
  sap_v3_cross(wh, omega, h);
  sap_v3_cross(wh0, omega0, h);
  sap_m3_mul_v3(f, R, wh);
  sap_m3_mul_v3(x, R0, wh0);
  for (int k = 0; k < 3; ++k) {
    f[k] = (f[k] - x[k] + m * (v[k] - v0[k])) * per_dt - m * g[k];
  }
  central_inertia(B, c, Ic);
  skew(c, C);
  for (int k = 0; k < 3; ++k) {  // C R'
    const double row[3] = {R[k], R[3 + k], R[6 + k]};
    sap_m3_mul_v3(CR + 3 * k, C, row);
  }
  const struct {
    double *to, scale;
    const double *R, *a;  // df = scale R [a] in the column block from 3 on
  } parts[] = {{s->dv, -per_dt, R, h},
               {s->dq, -per_dt, R, wh},
               {s->dq0, per_dt, R0, wh0},
               {s->dv0, per_dt, R0, h}};
  for (size_t k = 0; k < 4; ++k) {
    skew(parts[k].a, X);
    sap_m3_mul(Y, parts[k].R, X);
    add_block(parts[k].to, n, i, i + 3, parts[k].scale, Y);
    sap_m3_mul(X, CR, Y);
    add_block(parts[k].to, n, i + 3, i + 3, parts[k].scale, X);
  }
  add_block(s->dv, n, i, i, m * per_dt, unit);
  add_block(s->dv0, n, i, i, -m * per_dt, unit);
  add_block(s->dv, n, i + 3, i, m * per_dt, CR);
  add_block(s->dv0, n, i + 3, i, -m * per_dt, CR);
  add_block(s->dv, n, i + 3, i + 3, per_dt, Ic);
  add_block(s->dv0, n, i + 3, i + 3, -per_dt, Ic);
  skew(omega, X);
  sap_m3_mul(Y, X, Ic);
  add_block(s->dv, n, i + 3, i + 3, 1.0, Y);
  sap_m3_mul_v3(Iw, Ic, omega);
  skew(Iw, X);
  add_block(s->dv, n, i + 3, i + 3, -1.0, X);
  sap_m3_tmul_v3(x, R, f);
  skew(x, X);
  sap_m3_mul(Y, C, X);
  add_block(s->dq, n, i + 3, i + 3, 1.0, Y);
}

void sap_derivatives_momentum(sap_derivatives* w, const sap_momentum_derivatives* s) {
  const sap_dynamics* d = w->dynamics;
  const outward before = {w->S0, w->Pd0, NULL, NULL}, out = {w->S, w->Pd, NULL, NULL};
  const size_t n = (size_t)d->model->sizes.nv;
  for (int32_t l = 0; l < d->nlinks; ++l) {  // momenta at the start, in PS of the link's number
    sap_inertia I0;
    pass_link(w, s->kin0, l, s->v0, NULL, &before);
    find_inertia(s->kin0, l, &I0);
    w->sums[l] = (composite){.I = I0};
    sap_inertia_mul(w->sums[l].F, &I0, w->V[l]);
  }
  for (int32_t l = 0; l < d->nlinks; ++l) {
    const composite start = w->sums[l];
    w->sums[l] = (composite){.I = start.I};
    pass_link(w, s->kin, l, s->v, NULL, &out);
    set_momentum(w, s, &start.I, start.F, l, &w->sums[l]);
  }
  for (int32_t l = d->nlinks; l-- > 0;) {
    if (d->links[l].lone) {
      lone_entries(w, s, l);
    } else {
      momentum_entries(w, s, l);
      add_to_parent(w, l);
    }
  }
  for (size_t i = 0; i < n; ++i) {
    s->dv[(n + 1) * i] += d->armature[i] / s->dt;
    s->dv0[(n + 1) * i] -= d->armature[i] / s->dt;
  }
}

// --- products with M ---

// Moves the velocities of a link across its dofs; Pd of each dof and momenta of the link.
static void pass_fields(sap_derivatives* w, const sap_kinematics* kin, int32_t l,
                        const double* const x[SAP_MASS_FIELDS], int fields) {
  const sap_link* link = &w->dynamics->links[l];
  const int32_t end = link->first_dof + link->ndofs;
  mass_fields* at = &w->fields[l];
  sap_inertia I;
  memset(at, 0, sizeof *at);
  if (link->parent >= 0) {
    memcpy(at->V, w->fields[link->parent].V, sizeof at->V);
  }
  for (int32_t i = link->first_dof, next = i; i < end; i = next) {
    double V[SAP_MASS_FIELDS][6];
    memcpy(V, at->V, sizeof V);
    for (; next < end && w->group[next] == w->group[i]; ++next) {
      double S[6];
      sap_derivatives_direction(kin, next, S);
      for (int f = 0; f < fields; ++f) {
        motion_cross(w->field_Pd[next][f], V[f], S);
        sap_spatial_add_scaled(at->V[f], S, x[f][next]);
      }
    }
  }
  find_inertia(kin, l, &I);
  for (int f = 0; f < fields; ++f) {
    sap_inertia_mul(at->H[f], &I, at->V[f]);
  }
}

// d(x' M y)/dq_k = Pd_k of x . H of y + Pd_k of y . H of x, H: momenta of all links behind k.
void sap_derivatives_mass_products(sap_derivatives* w, const sap_kinematics* kin, int32_t tree,
                                   const double* const x[SAP_MASS_FIELDS],
                                   double (*out)[SAP_MASS_PAIRS]) {
  static const int pairs[SAP_MASS_PAIRS][2] = {{0, 0}, {0, 1}, {0, 2}, {1, 1}, {1, 2},
                                               {2, 2}, {0, 3}, {1, 3}, {2, 3}};
  const sap_dynamics* d = w->dynamics;
  const int32_t first = w->tree_link[tree], end = w->tree_link[tree + 1];
  const int fields = x[1] == NULL ? 1 : x[SAP_MASS_FIELDS - 1] == NULL ? 3 : SAP_MASS_FIELDS;
  const int count = fields == 1 ? 1 : fields == 3 ? SAP_MASS_PAIRS - 3 : SAP_MASS_PAIRS;
  for (int32_t l = first; l < end; ++l) {
    pass_fields(w, kin, l, x, fields);
  }
  for (int32_t l = end; l-- > first;) {
    const sap_link* link = &d->links[l];
    const mass_fields* at = &w->fields[l];
    for (int32_t k = link->first_dof; k < link->first_dof + link->ndofs; ++k) {
      for (int i = 0; i < count; ++i) {
        const int r = pairs[i][0], s = pairs[i][1];
        out[k][i] = sap_spatial_dot(w->field_Pd[k][r], at->H[s]) +
                    sap_spatial_dot(w->field_Pd[k][s], at->H[r]);
      }
    }
    for (int f = 0; f < fields && link->parent >= 0; ++f) {
      sap_spatial_add_scaled(w->fields[link->parent].H[f], at->H[f], 1.0);
    }
  }
}
