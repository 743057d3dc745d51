// SPDX-License-Identifier: BSD-3-Clause
// Spatial vectors are in world axes about the tree's O, which is held in space while q varies.
// For a dof k with direction S, V and A of what moves it (gravity included in A), V+ behind its joint:
//   Pd = V x S,  Pdd = A x S + V x Pd,  PS = Pd + V+ x S
// A change of q_k turns all links behind it rigidly and adds Pd to their velocities as seen in the
// turning axes. The three rotations of a ball or free joint turn with each other: their axes are
// those of the body behind.
//
// Forces are tau_j = S_j . T, T the sum of wrenches over all links behind j. With dT the sum over all
// links behind both j and k of the changes of their wrenches:
//   j before k:          dtau_j = S_j . dT
//   j behind or with k:  dtau_j = S_j . dT + (S_k x S_j) . T
// Inverse dynamics, F = I A + V x* I V:
//   dF/dq_k = S_k x* F + I Pdd_k + B Pd_k,  dF/dv_k = I PS_k + B S_k,  dF/da_k = I S_k
//   B x = V x* I x - I (V x x) + x x* I V
// Momenta, H - W, with fixed wrenches W = [L0; P0 + dt weight] at the centres c of the links:
//   d(H - W)/dq_k = S_k x* H + I Pd_k - [(S_k o c) x P; 0],  dH/dv_k = I S_k
// and at the start, for each link about its own centre c0, applied at c with the S of the end:
//   dL0 = S_k x L0 + I_c Pd_k,  dP0 = S_k x P0 + m (Pd_k o c0)
#include "multibody/dynamics/derivatives.h"

#include <string.h>

#include "core/error.h"
#include "multibody/dynamics/dynamics_data.h"

// A link at the end of a step, or of inverse dynamics.
typedef struct link_state {
  sap_inertia I, I0;         // I0: at the start
  double V[6], A[6], IV[6];  // IV = I V
  double F[6];               // wrench that turns with the link: F of inverse dynamics, or H
  double T[6];               // sum over this link and those behind
  double change[6];          // of F - W, then the sum over this link and those behind
  double c[3], P[3];         // of momenta: where W acts, and its force
  double c0[3], L0[3], P0[3];
  double H[SAP_MASS_FIELDS][6];  // of the vectors of products with M, then the sums
  bool moves;                    // is behind the dof that varies
} link_state;

// A change of the configuration and of the velocities and accelerations that comes with it; NULL: 0.
typedef struct motion_change {
  const double *turn, *velocity, *acceleration;
} motion_change;

struct sap_derivatives {
  sap_dynamics* dynamics;
  int32_t* group;      // first dof of the dofs that turn with it                    (nv)
  link_state* links;   // (links)
  int32_t* tree_link;  // first link of each tree, then their number       (trees + 1)
  double (*field_Pd[SAP_MASS_FIELDS])[6];           // (nv)
  double (*S)[6], (*S0)[6];                         // (nv)
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
  SAP_TRY(SAP_POOL_ADD(pool, &w->tree_link, model->sizes.trees + 1, error));
  for (int f = 0; f < SAP_MASS_FIELDS; ++f) {
    SAP_TRY(SAP_POOL_ADD(pool, &w->field_Pd[f], nv, error));
  }
  double(** const vectors[])[6] = {&w->S, &w->S0, &w->Pd, &w->Pdd, &w->PS, &w->Pd0};
  for (size_t i = 0; i < sizeof vectors / sizeof *vectors; ++i) {
    SAP_TRY(SAP_POOL_ADD(pool, vectors[i], nv, error));
  }
  for (int32_t i = 0; i < nv; ++i) {
    w->group[i] = sap_derivatives_group(model, i);
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

// Of F - W, about O.
static void change_end(const link_state* at, const motion_change* by, double out[6]) {
  double x[6], Ix[6];
  sap_inertia_mul(out, &at->I, by->acceleration);
  if (by->velocity != NULL) {  // B x
    sap_inertia_mul(Ix, &at->I, by->velocity);
    sap_spatial_add_force_cross(out, at->V, Ix);
    motion_cross(x, at->V, by->velocity);
    sap_inertia_mul(Ix, &at->I, x);
    sap_spatial_add_scaled(out, Ix, -1.0);
    sap_spatial_add_force_cross(out, by->velocity, at->IV);
  }
  if (by->turn != NULL) {
    sap_spatial_add_force_cross(out, by->turn, at->F);
    sap_v3_cross(x, by->turn, at->c);
    sap_v3_add(x, x, by->turn + 3);
    sap_v3_cross(Ix, x, at->P);
    sap_v3_sub(out, out, Ix);
  }
}

// Of W by a change of the start.
static void change_start(const link_state* at, const motion_change* by, double out[6]) {
  double x[3];
  sap_inertia_mul(out, &at->I0, by->velocity);
  sap_v3_cross(x, at->c0, out + 3);
  sap_v3_sub(out, out, x);
  if (by->turn != NULL) {
    sap_v3_cross(x, by->turn, at->L0);
    sap_v3_add(out, out, x);
    sap_v3_cross(x, by->turn, at->P0);
    sap_v3_add(out + 3, out + 3, x);
  }
  sap_v3_cross(x, at->c, out + 3);
  sap_v3_add(out, out, x);
}

typedef void change_function(const link_state* at, const motion_change* by, double out[6]);

// Adds scale dtau_j to the column of dof k of link l. Needs T of this link and all behind it.
static void add_column(sap_derivatives* w, int32_t l, int32_t k, change_function* change,
                       motion_change by, double scale, double* X) {
  const sap_dynamics* d = w->dynamics;
  const int32_t end = w->tree_link[d->links[l].tree + 1];
  const bool turns = change == change_end && by.turn != NULL;
  double* column = X + (size_t)d->model->sizes.nv * (size_t)k;
  for (int32_t i = l; i < end; ++i) {
    link_state* at = &w->links[i];
    at->moves = i == l || (d->links[i].parent >= l && w->links[d->links[i].parent].moves);
    if (at->moves) {
      change(at, &by, at->change);
    }
  }
  for (int32_t i = end; i-- > l;) {
    link_state* at = &w->links[i];
    double T[6] = {0.0};
    if (at->moves && i > l) {
      sap_spatial_add_scaled(w->links[d->links[i].parent].change, at->change, 1.0);
    }
    if (at->moves && turns) {
      sap_spatial_add_force_cross(T, by.turn, at->T);  // (S_k x S_j) . T = -S_j . (S_k x* T)
    }
    const int32_t first = d->links[i].first_dof;
    for (int32_t j = first; at->moves && j < first + d->links[i].ndofs; ++j) {
      const bool before = j < k && w->group[j] != w->group[k];
      column[j] += scale * (sap_spatial_dot(w->S[j], at->change) -
                            (before ? 0.0 : sap_spatial_dot(w->S[j], T)));
    }
  }
  for (int32_t j = d->model->dof_parent[d->links[l].first_dof]; j >= 0;
       j = d->model->dof_parent[j]) {
    column[j] += scale * sap_spatial_dot(w->S[j], w->links[l].change);
  }
}

static void add_to_parent(sap_derivatives* w, int32_t l) {
  const int32_t parent = w->dynamics->links[l].parent;
  if (parent >= 0) {
    sap_spatial_add_scaled(w->links[parent].T, w->links[l].T, 1.0);
  }
}

void sap_derivatives_inverse(sap_derivatives* w, const sap_kinematics* kin, const double* v,
                             const double* a, double* dq, double* dv, double* da) {
  const sap_dynamics* d = w->dynamics;
  const outward out = {w->S, w->Pd, w->Pdd, w->PS};
  for (int32_t l = 0; l < d->nlinks; ++l) {
    link_state* at = &w->links[l];
    memset(at, 0, sizeof *at);
    pass_link(w, kin, l, v, a, &out);
    find_inertia(kin, l, &at->I);
    sap_inertia_mul(at->IV, &at->I, at->V);
    sap_inertia_mul(at->F, &at->I, at->A);
    sap_spatial_add_force_cross(at->F, at->V, at->IV);
    memcpy(at->T, at->F, sizeof at->T);
  }
  for (int32_t l = d->nlinks; l-- > 0;) {
    const int32_t first = d->links[l].first_dof;
    for (int32_t k = first; k < first + d->links[l].ndofs; ++k) {
      add_column(w, l, k, change_end, (motion_change){w->S[k], w->Pd[k], w->Pdd[k]}, 1.0, dq);
      add_column(w, l, k, change_end, (motion_change){NULL, w->S[k], w->PS[k]}, 1.0, dv);
      add_column(w, l, k, change_end, (motion_change){NULL, NULL, w->S[k]}, 1.0, da);
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
  for (int end = 0; end < 2; ++end) {
    for (size_t k = 0; k < LONE_CHANGES; ++k) {
      double* X = k < 6 ? (end == 0 ? s->dv0 : s->dv) : (end == 0 ? s->dq0 : s->dq);
      double* column = X + n * (first + (k < 6 ? k : k - 3)) + first;
      for (int side = -1; side <= 1; side += 2) {
        double change[2][LONE_CHANGES] = {{0.0}}, tau[6];
        change[end][k] = side;
        lone_balance(w, s, l, change, tau);
        sap_spatial_add_scaled(column, tau, 0.5 * side);
      }
    }
  }
}

static void set_momentum(sap_derivatives* w, const sap_momentum_derivatives* s, int32_t l) {
  link_state* at = &w->links[l];
  const double per_m = at->I0.mass > 0.0 ? 1.0 / at->I0.mass : 0.0;
  double x[3];
  find_inertia(s->kin, l, &at->I);
  sap_inertia_mul(at->F, &at->I, at->V);
  sap_v3_scale(at->c, at->I.h, per_m);
  sap_v3_copy(at->P, at->P0);
  sap_v3_add_scaled(at->P, w->dynamics->model->options.gravity, s->dt * at->I0.mass);
  sap_v3_cross(x, at->c, at->P);
  sap_v3_sub(at->T, at->F, at->L0);
  sap_v3_sub(at->T, at->T, x);
  sap_v3_sub(at->T + 3, at->F + 3, at->P);
}

void sap_derivatives_momentum(sap_derivatives* w, const sap_momentum_derivatives* s) {
  const sap_dynamics* d = w->dynamics;
  const outward before = {w->S0, w->Pd0, NULL, NULL}, out = {w->S, w->Pd, NULL, NULL};
  const size_t n = (size_t)d->model->sizes.nv;
  const double per_dt = 1.0 / s->dt;
  for (int32_t l = 0; l < d->nlinks; ++l) {
    link_state* at = &w->links[l];
    double H[6], x[3];
    memset(at, 0, sizeof *at);
    pass_link(w, s->kin0, l, s->v0, NULL, &before);
    find_inertia(s->kin0, l, &at->I0);
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
  for (int32_t l = d->nlinks; l-- > 0;) {
    const int32_t first = d->links[l].first_dof;
    if (d->links[l].lone) {
      lone_entries(w, s, l);
      continue;
    }
    for (int32_t k = first; k < first + d->links[l].ndofs; ++k) {
      const motion_change dq = {w->S[k], NULL, w->Pd[k]}, dv = {NULL, NULL, w->S[k]};
      const motion_change dq0 = {w->S0[k], w->Pd0[k], NULL}, dv0 = {NULL, w->S0[k], NULL};
      add_column(w, l, k, change_end, dq, per_dt, s->dq);
      add_column(w, l, k, change_end, dv, per_dt, s->dv);
      add_column(w, l, k, change_start, dq0, -per_dt, s->dq0);
      add_column(w, l, k, change_start, dv0, -per_dt, s->dv0);
    }
    add_to_parent(w, l);
  }
  for (size_t i = 0; i < n; ++i) {
    s->dv[(n + 1) * i] += d->armature[i] * per_dt;
    s->dv0[(n + 1) * i] -= d->armature[i] * per_dt;
  }
}

// --- products with M ---

const int sap_mass_pairs[SAP_MASS_PAIRS][2] = {{0, 0}, {0, 1}, {0, 2}, {1, 1}, {1, 2},
                                               {2, 2}, {0, 3}, {1, 3}, {2, 3}};

// d(x' M y)/dq_k = Pd_k of x . H of y + Pd_k of y . H of x, H: momenta of all links behind k.
void sap_derivatives_mass_products(sap_derivatives* w, const sap_kinematics* kin, int32_t tree,
                                   const double* const x[SAP_MASS_FIELDS],
                                   double (*out)[SAP_MASS_PAIRS]) {
  const sap_dynamics* d = w->dynamics;
  const int32_t first = w->tree_link[tree], end = w->tree_link[tree + 1];
  for (int32_t l = first; l < end; ++l) {
    find_inertia(kin, l, &w->links[l].I);
  }
  for (int f = 0; f < SAP_MASS_FIELDS; ++f) {
    const outward fields = {w->S, w->field_Pd[f], NULL, NULL};
    for (int32_t l = first; l < end && x[f] != NULL; ++l) {
      pass_link(w, kin, l, x[f], NULL, &fields);
      sap_inertia_mul(w->links[l].H[f], &w->links[l].I, w->links[l].V);
    }
  }
  for (int32_t l = end; l-- > first;) {
    const sap_link* link = &d->links[l];
    const link_state* at = &w->links[l];
    for (int i = 0; i < SAP_MASS_PAIRS; ++i) {
      const int r = sap_mass_pairs[i][0], s = sap_mass_pairs[i][1];
      const int32_t last = x[r] != NULL && x[s] != NULL ? link->first_dof + link->ndofs : 0;
      for (int32_t k = link->first_dof; k < last; ++k) {
        out[k][i] = sap_spatial_dot(w->field_Pd[r][k], at->H[s]) +
                    sap_spatial_dot(w->field_Pd[s][k], at->H[r]);
      }
    }
    for (int f = 0; f < SAP_MASS_FIELDS && link->parent >= 0; ++f) {
      if (x[f] != NULL) {
        sap_spatial_add_scaled(w->links[link->parent].H[f], at->H[f], 1.0);
      }
    }
  }
}
