// SPDX-License-Identifier: BSD-3-Clause
// How a contact's J, and the generalized force of its impulse, change with the configuration.
// A change of q_k moves all bodies after it by S_k; p moves by Dp, the frame R turns by rho. With
// J v = R' (v_B - v_A), V o p: velocity of a motion V at p, U_k: motion before the joint of k,
//   d(J v) = R' (sum of sides +-((S_k x (V_b - U_k)) o p + w_b x Dp) - rho x (v_B - v_A))
// and of the angular rows R' (w_B - w_A) likewise. f' d(J y) of all contacts is S_k . E_k, E_k the sum
// over the dofs j that turn with k or are behind it of S_j x* a_j, a_j = y_j times the wrench of f,
// and of wrenches at p;
//   d(J' f)_j = sum +-((S_k x S_j) o p . f + (S_j x Dp) . f + (S_j o p) . (rho x f)),  f = R gamma,
//   the first term for j behind or with k
#include "multibody/engine/impulse_slopes.h"

#include <string.h>

#include "multibody/dynamics/dynamics_data.h"

sap_status sap_contact_slopes_create(const sap_model* model, sap_pool* pool,
                                     sap_contact_slopes** out, sap_error* error) {
  const int32_t nv = model->sizes.nv, nq = model->sizes.nq;
  sap_contact_slopes* w;
  SAP_TRY(SAP_POOL_ADD(pool, &w, 1, error));
  w->model = model;
  for (int i = 0; i < 2; ++i) {
    sap_contact_pull* pull = &w->pulls[i];
    SAP_TRY(SAP_POOL_ADD_ALL(pool, error, SAP_ARRAY(&pull->S, nv), SAP_ARRAY(&pull->a, nv),
                             SAP_ARRAY(&pull->E, nv), SAP_ARRAY(&pull->on, nv)));
  }
  SAP_TRY(SAP_POOL_ADD_ALL(
      pool, error, SAP_ARRAY(&w->dofs, nv), SAP_ARRAY(&w->place[0], nv),
      SAP_ARRAY(&w->place[1], nv), SAP_ARRAY(&w->path, nv), SAP_ARRAY(&w->column_dof, nv),
      SAP_ARRAY(&w->Dp, nv), SAP_ARRAY(&w->rho, nv), SAP_ARRAY(&w->S, nv),
      SAP_ARRAY(&w->J[0], SAP_CONE_ROWS_MAX * (size_t)nv + SAP_QUAD), SAP_ARRAY(&w->changes, nv),
      SAP_ARRAY(&w->dphi, nv), SAP_ARRAY(&w->dphi0, nv), SAP_ARRAY(&w->rho0, nv),
      SAP_ARRAY(&w->rates, nv), SAP_ARRAY(&w->by_change, nv),
      SAP_ARRAY(&w->X[0], 4 * (size_t)nv + SAP_QUAD), SAP_ARRAY(&w->row_way, nv),
      SAP_ARRAY(&w->row_change, 6 * nv), SAP_ARRAY(&w->row_scale, 6 * nv), SAP_ARRAY(&w->row_q, nq),
      SAP_ARRAY(&w->row_q_end, nq)));
  for (int r = 1; r < 4; ++r) {
    w->X[r] = w->X[r - 1] + nv;
  }
  for (int r = 1; r < SAP_CONE_ROWS_MAX; ++r) {
    w->J[r] = w->J[r - 1] + nv;
  }
  *out = w;
  return SAP_STATUS_OK;
}

// Finds the dofs and their S.
static void find_paths(sap_contact_slopes* w) {
  const sap_model* model = w->model;
  w->count = 0;
  for (int side = 0; side < SAP_CONTACT_SIDES; ++side) {
    int32_t n = 0;
    for (int32_t i = w->last[side]; i >= 0; i = model->dof_parent[i]) {
      w->path[n++] = i;
    }
    for (int32_t place = 0; place < n; ++place) {
      const int32_t dof = w->path[n - 1 - place];
      int32_t k = 0;
      while (k < w->count && w->dofs[k] != dof) {
        ++k;
      }
      if (k == w->count) {
        w->dofs[w->count++] = dof;
        w->place[0][k] = w->place[1][k] = -1;
        sap_derivatives_direction(w->kin, dof, w->S[k]);
      }
      w->place[side][k] = place;
    }
  }
}

// Dp, rho and dphi.
static void find_motions(sap_contact_slopes* w, const sap_contact_variation* vary) {
  const double* n = w->R + 6;
  for (int32_t k = 0; k < w->count; ++k) {
    double way[3] = {0.0}, turn[3] = {0.0}, x[3], dn[3] = {0.0};
    sap_v3_set(w->Dp[k], 0.0, 0.0, 0.0);
    sap_v3_set(w->rho[k], 0.0, 0.0, 0.0);
    for (int side = 0; side < SAP_CONTACT_SIDES; ++side) {
      if (w->place[side][k] >= 0) {
        sap_spatial_velocity_at(x, w->S[k], w->arm[side]);
        sap_v3_add_scaled(way, x, w->sign[side]);
        sap_v3_add_scaled(turn, w->S[k], w->sign[side]);
        if (side == 0) {
          sap_v3_copy(w->Dp[k], x);
          sap_v3_copy(w->rho[k], w->S[k]);
        }
      }
    }
    for (int i = 0; i < 3; ++i) {
      sap_v3_add_scaled(w->Dp[k], vary->point + 3 * i, turn[i]);
      sap_v3_add_scaled(w->Dp[k], vary->point + 9 + 3 * i, way[i]);
      sap_v3_add_scaled(dn, vary->normal + 3 * i, turn[i]);
      sap_v3_add_scaled(dn, vary->normal + 9 + 3 * i, way[i]);
    }
    sap_v3_cross(x, n, dn);
    sap_v3_add(w->rho[k], w->rho[k], x);
    w->dphi[k] = sap_v3_dot(vary->gap, turn) + sap_v3_dot(vary->gap + 3, way);
  }
}

// The wrench about O of a side's tree that rows f of J' give; all: with those about the axes.
static void find_wrench(const sap_contact_slopes* w, int side, const double* f, bool all,
                        double wrench[6]) {
  const double turning[3] = {f[4], f[5], f[3]};
  double moment[3];
  sap_m3_mul_v3(wrench + 3, w->R, f);
  sap_v3_scale(wrench + 3, wrench + 3, w->sign[side]);
  sap_v3_cross(wrench, w->arm[side], wrench + 3);
  if (all) {
    sap_m3_mul_v3(moment, w->R, turning);
    sap_v3_add_scaled(wrench, moment, w->sign[side]);
  }
}

// Makes the dofs of a path that have nothing ready, and finds S.
static void begin_path(const sap_contact_slopes* w, sap_contact_pull* pull, int32_t last) {
  for (int32_t k = last; k >= 0 && !pull->on[k]; k = w->model->dof_parent[k]) {
    sap_derivatives_direction(w->kin, k, pull->S[k]);
    pull->S[k][6] = pull->S[k][7] = 0.0;
    memset(pull->a[k], 0, sizeof *pull->a);
    memset(pull->E[k], 0, sizeof *pull->E);
    pull->on[k] = true;
  }
}

// Adds y_j times the wrench of f on a side to the dofs j that move it. With the velocities V = S y of
// that side at p, and the moment of f there, all of them give
//   Dp_k . (force x V's turning) + rho_k . (force x V's motion + moment x V's turning)
static void add_side(sap_contact_slopes* w, sap_contact_pull* pull, int side,
                     const sap_contact_field* fields, double point[3], double turn[3]) {
  const sap_dynamics* d = w->kin->dynamics;
  sap_path_fields* all = &w->fields;
  double x[3], y[3];
  for (int f = 0; f < all->count; ++f) {
    all->y[f] = fields[f].y;
    find_wrench(w, side, fields[f].f, w->rows > 3, all->wrench[f]);
  }
  d->kernels->add_fields(w->model->dof_parent, w->last[side], (const double(*)[8])pull->S, all,
                         pull->a);
  for (int f = 0; f < all->count; ++f) {
    const double *V = all->V[f], *force = all->wrench[f] + 3;
    sap_v3_cross(x, force, V);
    sap_v3_add(point, point, x);
    sap_spatial_velocity_at(x, V, w->arm[side]);
    sap_v3_cross(y, force, x);
    sap_v3_add(turn, turn, y);
    if (w->rows > 3) {
      sap_v3_cross(x, w->arm[side], force);
      sap_v3_sub(x, all->wrench[f], x);
      sap_v3_cross(y, x, V);
      sap_v3_add(turn, turn, y);
    }
  }
}

// Adds Dp . point + rho . turn + phi dphi of all dofs, which are S . wrench.
static void add_motions(const sap_contact_slopes* w, const double point[3], const double turn[3],
                        double phi, sap_contact_pull* pull) {
  const double *n = w->R + 6, *P = w->vary.point, *N = w->vary.normal;
  double force[3], moment[3], x[3], y[3];
  sap_v3_cross(x, turn, n);
  sap_m3_tmul_v3(moment, P, point);
  sap_m3_tmul_v3(y, N, x);
  sap_v3_add(moment, moment, y);
  sap_m3_tmul_v3(force, P + 9, point);
  sap_m3_tmul_v3(y, N + 9, x);
  sap_v3_add(force, force, y);
  sap_v3_add_scaled(moment, w->vary.gap, phi);
  sap_v3_add_scaled(force, w->vary.gap + 3, phi);
  for (int side = 0; side < SAP_CONTACT_SIDES; ++side) {
    double wrench[6];
    sap_v3_scale(wrench, moment, w->sign[side]);
    sap_v3_scale(wrench + 3, force, w->sign[side]);
    sap_v3_add_scaled(wrench, turn, side == 0 ? 1.0 : 0.0);
    sap_v3_add_scaled(wrench + 3, point, side == 0 ? 1.0 : 0.0);
    sap_v3_cross(x, w->arm[side], wrench + 3);
    sap_v3_add(wrench, wrench, x);
    if (w->last[side] >= 0) {
      sap_spatial_add_scaled(pull->E[w->model->dof_group[w->last[side]]], wrench, 1.0);
    }
  }
}

void sap_contact_slopes_pull(sap_contact_slopes* w, const sap_contact_field* fields, int count,
                             double phi, sap_contact_pull* pull) {
  double turn[3] = {0.0}, *point = w->by_point;
  sap_v3_set(point, 0.0, 0.0, 0.0);
  w->fields.count = count;
  for (int side = 0; side < SAP_CONTACT_SIDES; ++side) {
    if (w->last[side] >= 0) {
      begin_path(w, pull, w->last[side]);
      add_side(w, pull, side, fields, point, turn);
    }
  }
  add_motions(w, point, turn, phi, pull);
}

void sap_contact_slopes_end_pull(const sap_contact_slopes* w, sap_contact_pull* pull,
                                 const int32_t* dofs, int32_t count, double* out) {
  const int32_t* group = w->model->dof_group;
  while (count-- > 0) {
    const int32_t k = dofs != NULL ? dofs[count] : count, before = w->model->dof_parent[k];
    if (!pull->on[k]) {
      continue;
    }
    double* E = pull->E[group[k]];
    sap_spatial_add_force_cross(E, pull->S[k], pull->a[k]);
    for (int32_t i = k; i < w->model->sizes.nv && group[i] == k; ++i) {
      out[i] += sap_spatial_dot(pull->S[i], E);
    }
    if (group[k] == k && before >= 0) {
      sap_spatial_add_scaled(pull->E[group[before]], E, 1.0);
    }
    pull->on[k] = false;
  }
}

// Sets u to the velocity [w; at p] of B relative to A, and rates[k] to its derivatives to q of
// dofs[k], in the world's axes.
static void find_rates(const sap_contact_slopes* w, const double* y, double u[6],
                       double (*rates)[6]) {
  const int32_t* group = w->model->dof_group;
  double x[3];
  memset(u, 0, 6 * sizeof *u);
  memset(rates, 0, (size_t)w->count * sizeof *rates);
  for (int side = 0; side < SAP_CONTACT_SIDES; ++side) {
    double V[6] = {0.0};  // of the dofs from `next` on
    for (int32_t k = w->count, next = k; k-- > 0;) {
      for (; next > 0 && group[w->dofs[next - 1]] >= group[w->dofs[k]]; --next) {
        const bool moves = w->place[side][next - 1] >= 0;
        sap_spatial_add_scaled(V, w->S[next - 1], moves ? y[w->dofs[next - 1]] : 0.0);
      }
      if (w->place[side][k] >= 0) {
        double turned[6] = {0.0};
        sap_spatial_add_motion_cross(turned, w->S[k], V);
        sap_spatial_velocity_at(x, turned, w->arm[side]);
        sap_v3_add_scaled(rates[k], turned, w->sign[side]);
        sap_v3_add_scaled(rates[k] + 3, x, w->sign[side]);
      }
    }
    for (int32_t k = 0; k < w->count; ++k) {
      sap_v3_cross(x, V, w->Dp[k]);
      sap_v3_add_scaled(rates[k] + 3, x, w->sign[side]);
    }
    sap_spatial_velocity_at(x, V, w->arm[side]);
    sap_v3_add_scaled(u, V, w->sign[side]);
    sap_v3_add_scaled(u + 3, x, w->sign[side]);
  }
}

void sap_contact_slopes_add(sap_contact_slopes* w, const double* y, const double* f, size_t ld) {
  const double* axes[] = {w->R, w->R + 3, w->R + 6, w->R + 6, w->R, w->R + 3};
  double u[6], x[3], (*rates)[6] = (double(*)[6])w->row_scale;
  find_rates(w, y, u, rates);
  for (int32_t k = 0; k < w->count; ++k) {
    for (int part = 0; part < 6; part += 3) {
      sap_v3_cross(x, w->rho[k], u + part);
      sap_v3_sub(rates[k] + part, rates[k] + part, x);
    }
    for (int32_t s = 0; s < w->rows; ++s) {
      const double d = sap_v3_dot(axes[s], rates[k] + (s < 3 ? 3 : 0));
      for (int32_t r = 0; r < w->rows; ++r) {
        w->changes[k][r] += f[ld * (size_t)r + (size_t)s] * d;
      }
    }
  }
}

void sap_contact_slopes_rates(sap_contact_slopes* w, const double* y, int at, double u[3]) {
  double x[3], V[6], (*rates)[6] = (double(*)[6])w->row_scale;
  find_rates(w, y, V, rates);
  sap_v3_copy(u, V + 3);
  for (int32_t k = 0; k < w->count; ++k) {
    double* J = w->rates[k][at + 1];
    sap_v3_copy(w->rates[k][at], rates[k] + 3);
    sap_v3_set(J, 0.0, 0.0, 0.0);
    for (int side = 0; side < SAP_CONTACT_SIDES; ++side) {
      if (w->place[side][k] >= 0) {
        sap_spatial_velocity_at(x, w->S[k], w->arm[side]);
        sap_v3_add_scaled(J, x, w->sign[side]);
      }
    }
  }
}

void sap_contact_slopes_add_stiffness(const sap_contact_slopes* w, const double* gamma,
                                      double* dq0) {
  const size_t n = (size_t)w->model->sizes.nv;
  for (int side = 0; side < SAP_CONTACT_SIDES; ++side) {
    if (w->last[side] < 0) {
      continue;
    }
    double wrench[6], *f = wrench + 3, moment[3], x[3];
    find_wrench(w, side, gamma, w->rows > 3, wrench);
    sap_v3_cross(x, w->arm[side], f);
    sap_v3_sub(moment, wrench, x);
    for (int32_t k = 0; k < w->count; ++k) {
      double moved[6], behind[6] = {0.0};
      const int32_t before = w->place[side][k];
      sap_v3_cross(moved, w->Dp[k], f);
      sap_v3_cross(moved + 3, w->rho[k], f);
      sap_v3_cross(x, w->arm[side], moved + 3);
      sap_v3_add(moved, moved, x);
      sap_v3_cross(x, w->rho[k], moment);
      sap_v3_add(moved, moved, x);
      sap_spatial_add_force_cross(behind, w->S[k], wrench);  // (S_k x S_j) . f = -S_j . (S_k x* f)
      for (int i = 0; i < 6; ++i) {
        behind[i] = moved[i] - behind[i];
      }
      double* column = dq0 + n * (size_t)w->dofs[k];
      for (int32_t j = 0; j < w->count; ++j) {
        if (w->place[side][j] >= 0) {
          const bool turns =
              before >= 0 && (before < w->place[side][j] ||
                              w->model->dof_group[w->dofs[j]] == w->model->dof_group[w->dofs[k]]);
          column[w->dofs[j]] += sap_spatial_dot(w->S[j], turns ? behind : moved);
        }
      }
    }
  }
}

void sap_contact_slopes_set(sap_contact_slopes* w, const sap_kinematics* kin,
                            const sap_contact* contact, const sap_contact_variation* vary,
                            bool motions) {
  const int32_t bodies[SAP_CONTACT_SIDES] = {contact->body_A, contact->body_B};
  w->kin = kin;
  memcpy(w->R, contact->R_WC, sizeof w->R);
  for (int side = 0; side < SAP_CONTACT_SIDES; ++side) {
    const int32_t tree = w->model->bodies[bodies[side]].tree;
    w->last[side] = w->model->bodies[bodies[side]].last_dof;
    w->sign[side] = side == 0 ? -1.0 : 1.0;
    sap_v3_sub(w->arm[side], contact->point, side == 0 ? contact->ahead_A : contact->ahead_B);
    if (tree >= 0) {
      sap_v3_sub(w->arm[side], w->arm[side],
                 kin->p_WB + 3 * (size_t)kin->dynamics->tree_root[tree]);
    }
  }
  w->vary = *vary;
  if (motions) {
    find_paths(w);
    find_motions(w, vary);
  }
}
