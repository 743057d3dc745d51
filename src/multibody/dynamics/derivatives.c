// SPDX-License-Identifier: BSD-3-Clause
// Spatial vectors are in world axes about the tree's O, which is held in space while q varies.
// For a dof k with direction S, V and A of what moves it (A with gravity), V+ behind its joint:
//   Pd = V x S,  Pdd = A x S + V x Pd,  PS = Pd + V+ x S
// A change of q_k turns all links behind it rigidly and adds Pd to their velocities as seen in the
// turning axes. The three rotations of a ball or free joint turn with each other: their axes are
// those of the body behind.
//
// Forces are tau_j = S_j . T, T the sum of wrenches over all links behind j. With dT the sum over
// all links behind both j and k of the changes of their wrenches:
//   j before k:          dtau_j = S_j . dT
//   j behind or with k:  dtau_j = S_j . dT + (S_k x S_j) . T
// dT is linear in S_k, Pd_k, Pdd_k, with matrices that are summed over the links: those of the link
// of k give a column of j before k, those of the link of j, transposed, a row of k before j.
// Inverse dynamics, F = I A + V x* I V, [L; P] = I V, V = [w; u]:
//   dF/dq_k = S_k x* F + I Pdd_k + B Pd_k,  dF/dv_k = I PS_k + B S_k,  dF/da_k = I S_k
//   B x = V x* I x - I (V x x) + x x* I V = [K x_w; 2 x_w x P]
//   K = [w] I - I [w] + 2 (u . h) 1 - h u' - u h' - [L]
// Momenta, H - W, with fixed wrenches W = [L0 + c x P; P] at the centres c of the links and
// P = P0 + dt weight:
//   d(H - W)/dq_k = S_k x* H + I Pd_k - [N S_w + S_u x P; 0],  N = c P' - (c . P) 1
//   dH/dv_k = I S_k
// and at the start, for each link about its own centre c0, h0 = m c0, applied at c:
//   dW/dq0_k = Z Pd_k + [(c . P0 - P0 c' - [L0]) S_w; S_w x P0],  dW/dv0_k = Z S_k
//   Z x = [(I0 + h0 (c0 - c)' - (c0 - c) . h0) x_w + h x x_u; x_w x h0 + m x_u],  h = m c
#include "multibody/dynamics/derivatives.h"

#include <string.h>

#include "core/error.h"
#include "multibody/dynamics/dynamics_data.h"

// x -> [K x_w; x_w x p]
typedef struct turn_map {
  double K[9], p[3];
} turn_map;

// A link, and then the sum over it and those behind.
typedef struct link_sums {
  sap_inertia I;
  double T[6];     // wrench
  double F[6];     // part of the wrench that turns with the link: F or H
  double P[3];     // of momenta: W's force
  double N[9];     // of momenta
  turn_map B;      // of inverse dynamics B, of momenta that of Pd and v0 in dW
  turn_map start;  // of momenta: of S in dW
} link_sums;

typedef struct link_state {
  double V[6], A[6];
  double c0[3], L0[3], P0[3];  // of momenta
  sap_inertia I0;              // at the start
  link_sums sums;
} link_state;

struct sap_derivatives {
  sap_dynamics* dynamics;
  int32_t* group;            // first dof of the dofs that turn with it                    (nv)
  link_state* links;         // (links)
  double (*S)[6], (*S0)[6];  // (nv)
  double (*Pd)[6], (*Pdd)[6], (*PS)[6], (*Pd0)[6];  // (nv)
};

int32_t sap_derivatives_group(const sap_model* model, int32_t dof) {
  const sap_model_joint_data* joint = &model->joints[model->dof_joint[dof]];
  return joint->v_start + (joint->type == SAP_JOINT_FREE && dof >= joint->v_start + 3 ? 3 : 0);
}

sap_status sap_derivatives_create(sap_dynamics* d, sap_pool* pool, sap_derivatives** out,
                                  sap_error* error) {
  const sap_model* model = d->model;
  const int32_t nv = model->sizes.nv;
  sap_derivatives* w;
  SAP_TRY(SAP_POOL_ADD(pool, &w, 1, error));
  w->dynamics = d;
  SAP_TRY(SAP_POOL_ADD(pool, &w->group, nv, error));
  SAP_TRY(SAP_POOL_ADD(pool, &w->links, d->nlinks, error));
  double(** const vectors[])[6] = {&w->S, &w->S0, &w->Pd, &w->Pdd, &w->PS, &w->Pd0};
  for (size_t i = 0; i < sizeof vectors / sizeof *vectors; ++i) {
    SAP_TRY(SAP_POOL_ADD(pool, vectors[i], nv, error));
  }
  for (int32_t i = 0; i < nv; ++i) {
    w->group[i] = sap_derivatives_group(model, i);
  }
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

void sap_derivatives_inertia(const sap_kinematics* kin, int32_t l, sap_inertia* out) {
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
  double *V = w->links[l].V, *A = w->links[l].A;
  memset(V, 0, 6 * sizeof *V);
  memset(A, 0, 6 * sizeof *A);
  sap_v3_scale(A + 3, g, -1.0);
  if (link->parent >= 0) {
    memcpy(V, w->links[link->parent].V, 6 * sizeof *V);
    memcpy(A, w->links[link->parent].A, 6 * sizeof *A);
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

// --- sums over links ---

// K += s a b'
static void add_outer(double K[9], double s, const double a[3], const double b[3]) {
  for (int c = 0; c < 3; ++c) {
    sap_v3_add_scaled(K + 3 * c, a, s * b[c]);
  }
}

// K += s 1
static void add_unit(double K[9], double s) {
  K[0] += s;
  K[4] += s;
  K[8] += s;
}

// K -= [a]
static void subtract_cross(double K[9], const double a[3]) {
  K[1] -= a[2];
  K[2] += a[1];
  K[3] += a[2];
  K[5] -= a[0];
  K[6] -= a[1];
  K[7] += a[0];
}

static void map_add(const turn_map* map, const double w[3], double out[6]) {
  double x[3];
  sap_m3_mul_v3(x, map->K, w);
  sap_v3_add(out, out, x);
  sap_v3_cross(x, w, map->p);
  sap_v3_add(out + 3, out + 3, x);
}

static void map_transposed(const turn_map* map, const double y[6], double out[3]) {
  double x[3];
  sap_m3_tmul_v3(out, map->K, y);
  sap_v3_cross(x, map->p, y + 3);
  sap_v3_add(out, out, x);
}

// Adds the sums of a link to those of its parent.
static void add_to_parent(sap_derivatives* w, int32_t l) {
  const int32_t parent = w->dynamics->links[l].parent;
  if (parent >= 0) {
    double* to = (double*)&w->links[parent].sums;
    const double* from = (const double*)&w->links[l].sums;
    for (size_t i = 0; i < sizeof(link_sums) / sizeof(double); ++i) {
      to[i] += from[i];
    }
  }
}

// A matrix of derivatives and its vectors of dof k: `column` gives the entries of dofs before k and
// of k's link; those of k by the dofs i before are sums of rows[r] . of[r][i], three numbers where
// short_row is r, or those of the column where parts is 0. S's own part turns the wrench T.
enum { ROW_PARTS = 2, MATRICES = 4 };
typedef struct derivative {
  double *X, scale;
  bool turns;
  int parts, short_row;
  double (*of[ROW_PARTS])[6];
  double column[6], rows[ROW_PARTS][6];
} derivative;

static double row_entry(const derivative* d, int32_t j) {
  double sum = 0.0;
  for (int r = 0; r < d->parts; ++r) {
    sum += r == d->short_row ? sap_v3_dot(d->rows[r], d->of[r][j])
                             : sap_spatial_dot(d->rows[r], d->of[r][j]);
  }
  return d->scale * sum;
}

// Adds the entries of k of up to MATRICES matrices.
static void add_entries(const sap_derivatives* w, int32_t l, int32_t k, const derivative* d,
                        int count) {
  const sap_model* model = w->dynamics->model;
  const sap_link* link = &w->dynamics->links[l];
  const size_t n = (size_t)model->sizes.nv, at_k = n * (size_t)k;
  double turned[6] = {0.0}, columns[6][MATRICES] = {{0.0}};
  sap_spatial_add_force_cross(turned, w->S[k], w->links[l].sums.T);
  for (int m = 0; m < count; ++m) {
    for (int i = 0; i < 6; ++i) {
      columns[i][m] = d[m].scale * d[m].column[i];
    }
  }
  for (int32_t j = link->first_dof; j < link->first_dof + link->ndofs; ++j) {
    const bool before = j < k && w->group[j] != w->group[k];
    for (int m = 0; m < count; ++m) {
      d[m].X[at_k + (size_t)j] +=
          d[m].scale * (sap_spatial_dot(w->S[j], d[m].column) -
                        (before || !d[m].turns ? 0.0 : sap_spatial_dot(w->S[j], turned)));
    }
  }
  for (int32_t j = model->dof_parent[link->first_dof]; j >= 0; j = model->dof_parent[j]) {
    double entry[MATRICES] = {0.0};
    for (int i = 0; i < 6; ++i) {
      for (int m = 0; m < MATRICES; ++m) {
        entry[m] += w->S[j][i] * columns[i][m];
      }
    }
    for (int m = 0; m < count; ++m) {
      d[m].X[at_k + (size_t)j] += entry[m];
      d[m].X[n * (size_t)j + (size_t)k] += d[m].parts == 0 ? entry[m] : row_entry(&d[m], j);
    }
  }
}

// --- inverse dynamics ---

static void set_inverse(sap_derivatives* w, const sap_kinematics* kin, int32_t l) {
  const link_state* at = &w->links[l];
  link_sums* sums = &w->links[l].sums;
  double IV[6], *K = sums->B.K;
  memset(sums, 0, sizeof *sums);
  sap_derivatives_inertia(kin, l, &sums->I);
  sap_inertia_mul(IV, &sums->I, at->V);
  sap_inertia_mul(sums->T, &sums->I, at->A);
  sap_spatial_add_force_cross(sums->T, at->V, IV);
  for (int c = 0; c < 3; ++c) {
    double e[3] = {0.0}, Ie[3], turned[3], x[3];
    e[c] = 1.0;
    sap_symmetric_mul(Ie, sums->I.I, e);
    sap_v3_cross(K + 3 * c, at->V, Ie);
    sap_v3_cross(turned, at->V, e);
    sap_symmetric_mul(x, sums->I.I, turned);
    sap_v3_add_scaled(K + 3 * c, x, -1.0);
  }
  add_unit(K, 2.0 * sap_v3_dot(at->V + 3, sums->I.h));
  add_outer(K, -1.0, sums->I.h, at->V + 3);
  add_outer(K, -1.0, at->V + 3, sums->I.h);
  subtract_cross(K, IV);
  sap_v3_scale(sums->B.p, IV + 3, 2.0);
}

void sap_derivatives_inverse(sap_derivatives* w, const sap_kinematics* kin, const double* v,
                             const double* a, double* dq, double* dv, double* da) {
  const sap_dynamics* d = w->dynamics;
  const outward out = {w->S, w->Pd, w->Pdd, w->PS};
  for (int32_t l = 0; l < d->nlinks; ++l) {
    pass_link(w, kin, l, v, a, &out);
    set_inverse(w, kin, l);
  }
  for (int32_t l = d->nlinks; l-- > 0;) {
    const link_sums* at = &w->links[l].sums;
    const int32_t first = d->links[l].first_dof;
    for (int32_t k = first; k < first + d->links[l].ndofs; ++k) {
      derivative d_q = {
          .X = dq, .scale = 1.0, .turns = true, .parts = 2, .short_row = 1, .of = {w->Pdd, w->Pd}};
      derivative d_v = {.X = dv, .scale = 1.0, .parts = 2, .short_row = 1, .of = {w->PS, w->S}};
      derivative all[] = {d_q, d_v, {.X = da, .scale = 1.0}};
      derivative *q = &all[0], *u = &all[1], *c = &all[2];
      sap_inertia_mul(c->column, &at->I, w->S[k]);
      memcpy(u->rows[0], c->column, sizeof c->column);
      memcpy(q->rows[0], c->column, sizeof c->column);
      map_transposed(&at->B, w->S[k], u->rows[1]);
      map_transposed(&at->B, w->S[k], q->rows[1]);
      sap_inertia_mul(u->column, &at->I, w->PS[k]);
      map_add(&at->B, w->S[k], u->column);
      sap_inertia_mul(q->column, &at->I, w->Pdd[k]);
      map_add(&at->B, w->Pd[k], q->column);
      sap_spatial_add_force_cross(q->column, w->S[k], at->T);
      add_entries(w, l, k, all, 3);
      da[((size_t)d->model->sizes.nv + 1) * (size_t)k] += d->armature[k];
    }
    add_to_parent(w, l);
  }
}

// --- momenta ---

// A lone link, as lone_force of inertia.inc has it, with c = h/m in its own axes:
//   f = (m (v - v0) + R (w x h) - R0 (w0 x h))/dt - m g,
//   n = I_c (w - w0)/dt + w x I_c w + c x R' f,  I_c x = I x - h x (x x c)
static void central_momentum(const sap_inertia* I, const double c[3], const double x[3],
                             double out[3]) {
  const double motion[6] = {x[0], x[1], x[2]};
  double all[6], y[3];
  sap_inertia_mul(all, I, motion);
  sap_v3_cross(y, c, all + 3);
  sap_v3_sub(out, all, y);
}

// Velocities and turning in own axes of a lone link, of the start and the end.
enum { LONE_CHANGES = 9 };

// tau for (v, w) + change and R (1 + [turn]), a polynomial of degree 2 in any one of the changes.
static void lone_balance(const sap_derivatives* w, const sap_momentum_derivatives* s, int32_t l,
                         double change[2][LONE_CHANGES], double tau[6]) {
  const sap_link* link = &w->dynamics->links[l];
  const sap_inertia* I = &link->body_inertia;
  double c[3], x[3], f[3], Rf[3], Iw[2][3], omega[2][3];
  sap_v3_scale(f, w->dynamics->model->options.gravity, -I->mass);
  sap_v3_scale(c, I->h, I->mass > 0.0 ? 1.0 / I->mass : 0.0);
  for (int end = 0; end < 2; ++end) {
    const double* v = (end == 0 ? s->v0 : s->v) + link->first_dof;
    const double* R = (end == 0 ? s->kin0 : s->kin)->R_WB + 9 * link->body;
    const double per_dt = (end == 0 ? -1.0 : 1.0) / s->dt;
    double wh[3], turned[3];
    sap_v3_add(x, v, change[end]);
    sap_v3_add_scaled(f, x, per_dt * I->mass);
    sap_v3_add(omega[end], v + 3, change[end] + 3);
    central_momentum(I, c, omega[end], Iw[end]);
    sap_v3_cross(wh, omega[end], I->h);
    sap_v3_cross(turned, change[end] + 6, wh);
    sap_v3_add(wh, wh, turned);
    sap_m3_mul_v3(x, R, wh);
    sap_v3_add_scaled(f, x, per_dt);
  }
  sap_m3_tmul_v3(Rf, s->kin->R_WB + 9 * link->body, f);
  sap_v3_cross(x, Rf, change[1] + 6);
  sap_v3_add(Rf, Rf, x);
  sap_v3_copy(tau, f);
  sap_v3_cross(tau + 3, c, Rf);
  sap_v3_cross(x, omega[1], Iw[1]);
  sap_v3_add(tau + 3, tau + 3, x);
  sap_v3_add_scaled(tau + 3, Iw[1], 1.0 / s->dt);
  sap_v3_add_scaled(tau + 3, Iw[0], -1.0 / s->dt);
}

// Exact: half of tau(1) - tau(-1) is the derivative of a polynomial of degree 2.
static void lone_entries(const sap_derivatives* w, const sap_momentum_derivatives* s, int32_t l) {
  const size_t n = (size_t)w->dynamics->model->sizes.nv;
  const size_t first = (size_t)w->dynamics->links[l].first_dof;
  for (int end = s->dq != NULL ? 1 : 0; end < (s->dq0 != NULL ? 1 : 2); ++end) {
    for (size_t k = 0; k < LONE_CHANGES; ++k) {
      double* X = k < 6 ? (end == 0 ? s->dv0 : s->dv) : (end == 0 ? s->dq0 : s->dq);
      const size_t column = first + (k < 6 ? k : k - 3);
      for (int side = -1; side <= 1; side += 2) {
        double change[2][LONE_CHANGES] = {{0.0}}, tau[6];
        change[end][k] = side;
        lone_balance(w, s, l, change, tau);
        if (s->lambda != NULL) {
          X[column] += 0.5 * side * sap_spatial_dot(s->lambda + first, tau);
        } else {
          sap_spatial_add_scaled(X + n * column + first, tau, 0.5 * side);
        }
      }
    }
  }
}

static void set_momentum(sap_derivatives* w, const sap_momentum_derivatives* s, int32_t l) {
  const link_state* at = &w->links[l];
  link_sums* sums = &w->links[l].sums;
  const double *P0 = at->P0, *h0 = at->I0.h;
  double c[3], x[3];
  memset(sums, 0, sizeof *sums);
  sap_derivatives_inertia(s->kin, l, &sums->I);
  sap_inertia_mul(sums->F, &sums->I, at->V);
  sap_v3_scale(c, sums->I.h, sums->I.mass > 0.0 ? 1.0 / sums->I.mass : 0.0);
  sap_v3_copy(sums->P, P0);
  sap_v3_add_scaled(sums->P, w->dynamics->model->options.gravity, s->dt * sums->I.mass);
  sap_v3_cross(x, c, sums->P);
  sap_v3_sub(sums->T, sums->F, at->L0);
  sap_v3_sub(sums->T, sums->T, x);
  sap_v3_sub(sums->T + 3, sums->F + 3, sums->P);
  add_outer(sums->N, 1.0, c, sums->P);
  add_unit(sums->N, -sap_v3_dot(c, sums->P));
  for (int i = 0; i < 3; ++i) {
    double e[3] = {0.0};
    e[i] = 1.0;
    sap_symmetric_mul(sums->B.K + 3 * i, at->I0.I, e);
  }
  sap_v3_sub(x, at->c0, c);
  add_outer(sums->B.K, 1.0, h0, x);
  add_unit(sums->B.K, -sap_v3_dot(x, h0));
  sap_v3_copy(sums->B.p, h0);
  add_unit(sums->start.K, sap_v3_dot(c, P0));
  add_outer(sums->start.K, -1.0, P0, c);
  subtract_cross(sums->start.K, at->L0);
  sap_v3_copy(sums->start.p, P0);
}

// Z x.
static void start_mul(const link_sums* at, const double x[6], double out[6]) {
  sap_v3_cross(out, at->I.h, x + 3);
  sap_v3_scale(out + 3, x + 3, at->I.mass);
  map_add(&at->B, x, out);
}

// The vectors of a dof of a link.
static void set_end_entries(const sap_derivatives* w, const link_sums* at, int32_t k, derivative* q,
                            derivative* v) {
  const double* S = w->S[k];
  double x[3], y[3], W[6];
  sap_inertia_mul(v->column, &at->I, S);
  memcpy(q->rows[1], v->column, sizeof v->column);
  sap_inertia_mul(q->column, &at->I, w->Pd[k]);
  sap_spatial_add_force_cross(q->column, S, at->F);
  sap_m3_mul_v3(x, at->N, S);
  sap_v3_cross(y, S + 3, at->P);
  sap_v3_sub(q->column, q->column, x);
  sap_v3_sub(q->column, q->column, y);
  for (int i = 0; i < 6; ++i) {
    W[i] = at->T[i] - at->F[i];
  }
  memset(q->rows[0], 0, sizeof q->rows[0]);
  sap_spatial_add_force_cross(q->rows[0], S, W);
  sap_m3_tmul_v3(x, at->N, S);
  sap_v3_cross(y, at->P, S);
  sap_v3_sub(q->rows[0], q->rows[0], x);
  sap_v3_sub(q->rows[0] + 3, q->rows[0] + 3, y);
}

static void set_start_entries(const sap_derivatives* w, const link_sums* at, int32_t k,
                              derivative* q0, derivative* v0) {
  const double* S = w->S[k];
  start_mul(at, w->Pd0[k], q0->column);
  map_add(&at->start, w->S0[k], q0->column);
  start_mul(at, w->S0[k], v0->column);
  map_transposed(&at->B, S, v0->rows[0]);
  sap_v3_cross(v0->rows[0] + 3, S, at->I.h);
  sap_v3_add_scaled(v0->rows[0] + 3, S + 3, at->I.mass);
  memcpy(q0->rows[0], v0->rows[0], sizeof q0->rows[0]);
  map_transposed(&at->start, S, q0->rows[1]);
}

// Z and the map of S transposed, times velocities y of a link: sums of links behind k give
//   d(lambda' tau)/dq0_k = -(Pd0_k . Z' y + S0_k . start' y)/dt,  d/dv0_k = -S0_k . Z' y/dt
static void set_start_pull(link_sums* at, const double y[6]) {
  map_transposed(&at->B, y, at->F);
  sap_v3_cross(at->F + 3, y, at->I.h);
  sap_v3_add_scaled(at->F + 3, y + 3, at->I.mass);
  map_transposed(&at->start, y, at->T);
}

// Adds d(lambda' tau) to dq0 and dv0.
static void pull_start(sap_derivatives* w, const sap_momentum_derivatives* s) {
  const sap_dynamics* d = w->dynamics;
  for (int32_t l = 0; l < d->nlinks; ++l) {
    const sap_link* link = &d->links[l];
    double* y = memset(w->links[l].A, 0, sizeof w->links[l].A);
    if (link->lone) {
      continue;
    }
    if (link->parent >= 0) {
      memcpy(y, w->links[link->parent].A, sizeof w->links[l].A);
    }
    for (int32_t k = link->first_dof; k < link->first_dof + link->ndofs; ++k) {
      sap_spatial_add_scaled(y, w->S[k], s->lambda[k]);
    }
    set_start_pull(&w->links[l].sums, y);
  }
  for (int32_t l = d->nlinks; l-- > 0;) {
    const sap_link* link = &d->links[l];
    const link_sums* at = &w->links[l].sums;
    if (link->lone) {
      lone_entries(w, s, l);
      continue;
    }
    for (int32_t k = link->first_dof; k < link->first_dof + link->ndofs; ++k) {
      s->dv0[k] -= sap_spatial_dot(w->S0[k], at->F) / s->dt;
      s->dq0[k] -= (sap_spatial_dot(w->Pd0[k], at->F) + sap_v3_dot(w->S0[k], at->T)) / s->dt;
    }
    for (int i = 0; link->parent >= 0 && i < 6; ++i) {
      w->links[link->parent].sums.F[i] += at->F[i];
      w->links[link->parent].sums.T[i] += at->T[i];
    }
  }
  for (int32_t i = 0; i < d->model->sizes.nv; ++i) {
    s->dv0[i] -= s->lambda[i] * d->armature[i] / s->dt;
  }
}

void sap_derivatives_momentum(sap_derivatives* w, const sap_momentum_derivatives* s) {
  const sap_dynamics* d = w->dynamics;
  const outward before = {w->S0, w->Pd0, NULL, NULL}, out = {w->S, w->Pd, NULL, NULL};
  const size_t n = (size_t)d->model->sizes.nv;
  const double per_dt = 1.0 / s->dt;
  for (int32_t l = 0; l < d->nlinks; ++l) {
    link_state* at = &w->links[l];
    double H[6], x[3];
    pass_link(w, s->kin0, l, s->v0, NULL, &before);
    sap_derivatives_inertia(s->kin0, l, &at->I0);
    sap_inertia_mul(H, &at->I0, at->V);
    sap_v3_scale(at->c0, at->I0.h, at->I0.mass > 0.0 ? 1.0 / at->I0.mass : 0.0);
    sap_v3_copy(at->P0, H + 3);
    sap_v3_cross(x, at->c0, at->P0);
    sap_v3_sub(at->L0, H, x);
  }
  for (int32_t l = 0; l < d->nlinks; ++l) {
    pass_link(w, s->kin, l, s->v, NULL, &out);
    set_momentum(w, s, l);
  }
  if (s->lambda != NULL) {
    pull_start(w, s);
    return;
  }
  for (int32_t l = d->nlinks; l-- > 0;) {
    const int32_t first = d->links[l].first_dof;
    if (d->links[l].lone) {
      lone_entries(w, s, l);
      continue;
    }
    derivative end[] = {{.X = s->dq,
                         .scale = per_dt,
                         .turns = true,
                         .parts = 2,
                         .short_row = -1,
                         .of = {w->S, w->Pd}},
                        {.X = s->dv, .scale = per_dt}};
    derivative start[] = {
        {.X = s->dq0, .scale = -per_dt, .parts = 2, .short_row = 1, .of = {w->Pd0, w->S0}},
        {.X = s->dv0, .scale = -per_dt, .parts = 1, .short_row = -1, .of = {w->S0, NULL}}};
    for (int32_t k = first; k < first + d->links[l].ndofs; ++k) {
      if (s->dq != NULL) {
        set_end_entries(w, &w->links[l].sums, k, &end[0], &end[1]);
      } else {
        set_start_entries(w, &w->links[l].sums, k, &start[0], &start[1]);
      }
      add_entries(w, l, k, s->dq != NULL ? end : start, 2);
    }
    add_to_parent(w, l);
  }
  for (size_t i = 0; i < n; ++i) {
    if (s->dv != NULL) {
      s->dv[(n + 1) * i] += d->armature[i] * per_dt;
    } else {
      s->dv0[(n + 1) * i] -= d->armature[i] * per_dt;
    }
  }
}

// --- products with M ---

const int sap_mass_pairs[SAP_MASS_PAIRS][2] = {{0, 0}, {0, 1}, {0, 2}, {1, 1}, {1, 2},
                                               {2, 2}, {0, 3}, {1, 3}, {2, 3}};

sap_status sap_mass_work_create(sap_dynamics* d, sap_pool* pool, sap_mass_work** out,
                                sap_error* error) {
  const sap_model* model = d->model;
  sap_mass_work* w;
  SAP_TRY(SAP_POOL_ADD(pool, &w, 1, error));
  w->dynamics = d;
  SAP_TRY(SAP_POOL_ADD_ALL(pool, error, SAP_ARRAY(&w->links, d->nlinks),
                           SAP_ARRAY(&w->tree_link, model->sizes.trees + 1),
                           SAP_ARRAY(&w->group, model->sizes.nv), SAP_ARRAY(&w->S, model->sizes.nv),
                           SAP_ARRAY(&w->field_Pd, model->sizes.nv)));
  for (int32_t i = 0; i < model->sizes.nv; ++i) {
    w->group[i] = sap_derivatives_group(model, i);
  }
  for (int32_t l = d->nlinks; l-- > 0;) {  // the links of a tree follow one another
    w->tree_link[d->links[l].tree] = l;
  }
  w->tree_link[model->sizes.trees] = d->nlinks;
  *out = w;
  return SAP_STATUS_OK;
}

void sap_mass_products(sap_mass_work* w, const sap_kinematics* kin, int32_t tree,
                       const double* const x[SAP_MASS_FIELDS], double (*out)[SAP_MASS_PAIRS]) {
  w->dynamics->kernels->mass_products(w, kin, tree, x, out);
}

void sap_mass_gradient(sap_mass_work* w, const sap_kinematics* kin, int32_t tree, const double* A,
                       double* out) {
  w->dynamics->kernels->mass_gradient(w, kin, tree, A, out);
}
