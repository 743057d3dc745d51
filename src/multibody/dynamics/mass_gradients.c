// SPDX-License-Identifier: BSD-3-Clause
// How products with M change with q. A change of q_k turns all links behind it and adds Pd_k to
// their velocities, as seen in the turning axes (derivatives.c).
#include <string.h>

#include "multibody/dynamics/derivatives.h"
#include "multibody/dynamics/dynamics_data.h"

// Four vectors side by side, so that compilers compute them at once.
enum { LANES = 4 };
typedef double lanes[LANES];

// out (count) += scale a, another array.
static void add_lanes(lanes* restrict out, lanes* restrict a, double scale, int count) {
  for (int i = 0; i < count; ++i) {
    for (int f = 0; f < LANES; ++f) {
      out[i][f] += scale * a[i][f];
    }
  }
}

// out (3) += scale a x s, a: another array.
static void add_lanes_cross(lanes* restrict out, lanes* restrict a, const double s[3],
                            double scale) {
  const double x = scale * s[0], y = scale * s[1], z = scale * s[2];
  for (int f = 0; f < LANES; ++f) {
    out[0][f] += a[1][f] * z - a[2][f] * y;
    out[1][f] += a[2][f] * x - a[0][f] * z;
    out[2][f] += a[0][f] * y - a[1][f] * x;
  }
}

typedef struct mass_link {
  lanes V[6], H[6];  // of four vectors; H: then sums of I V
} mass_link;

struct sap_mass_work {
  sap_dynamics* dynamics;
  mass_link* links;      // (links)
  int32_t* tree_link;    // first link of each tree, then their number          (trees + 1)
  int32_t* group;        // first dof of the dofs that turn with it                    (nv)
  lanes (*field_Pd)[6];  // (nv)
};

sap_status sap_mass_work_create(sap_dynamics* d, sap_pool* pool, sap_mass_work** out,
                                sap_error* error) {
  const sap_model* model = d->model;
  sap_mass_work* w;
  SAP_TRY(SAP_POOL_ADD(pool, &w, 1, error));
  w->dynamics = d;
  SAP_TRY(SAP_POOL_ADD_ALL(pool, error, SAP_ARRAY(&w->links, d->nlinks),
                           SAP_ARRAY(&w->tree_link, model->sizes.trees + 1),
                           SAP_ARRAY(&w->group, model->sizes.nv),
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

// Moves V of all vectors across the dofs of a link; sets its momenta.
static void pass_lanes(sap_mass_work* w, const sap_kinematics* kin, int32_t l,
                       const double* const x[SAP_MASS_FIELDS]) {
  const sap_link* link = &w->dynamics->links[l];
  mass_link* at = &w->links[l];
  lanes *V = at->V, *H = at->H, before[6];
  sap_inertia I;
  memset(V, 0, sizeof at->V);
  if (link->parent >= 0) {
    memcpy(V, w->links[link->parent].V, sizeof at->V);
  }
  for (int32_t k = link->first_dof; k < link->first_dof + link->ndofs; ++k) {
    lanes* Pd = w->field_Pd[k];
    double S[6];
    if (k == link->first_dof || w->group[k] != w->group[k - 1]) {
      memcpy(before, V, sizeof before);
    }
    sap_derivatives_direction(kin, k, S);
    memset(Pd, 0, sizeof w->field_Pd[k]);
    add_lanes_cross(Pd, before, S, 1.0);
    add_lanes_cross(Pd + 3, before, S + 3, 1.0);
    add_lanes_cross(Pd + 3, before + 3, S, 1.0);
    for (int f = 0; f < LANES; ++f) {
      const double y = x[f] != NULL ? x[f][k] : 0.0;
      for (int i = 0; i < 6; ++i) {
        V[i][f] += S[i] * y;
      }
    }
  }
  sap_derivatives_inertia(kin, l, &I);
  const double* m = I.I;
  for (int f = 0; f < LANES; ++f) {
    H[0][f] = m[0] * V[0][f] + m[3] * V[1][f] + m[4] * V[2][f];
    H[1][f] = m[3] * V[0][f] + m[1] * V[1][f] + m[5] * V[2][f];
    H[2][f] = m[4] * V[0][f] + m[5] * V[1][f] + m[2] * V[2][f];
  }
  memset(H + 3, 0, 3 * sizeof *H);
  add_lanes_cross(H, V + 3, I.h, -1.0);
  add_lanes_cross(H + 3, V, I.h, 1.0);
  add_lanes(H + 3, V + 3, I.mass, 3);
}

const int sap_mass_pairs[SAP_MASS_PAIRS][2] = {{0, 0}, {0, 1}, {0, 2}, {1, 1}, {1, 2},
                                               {2, 2}, {0, 3}, {1, 3}, {2, 3}};

// d(x' M y)/dq_k = Pd_k of x . H of y + Pd_k of y . H of x, H: momenta of all links behind k.
void sap_mass_products(sap_mass_work* w, const sap_kinematics* kin, int32_t tree,
                       const double* const x[SAP_MASS_FIELDS], double (*out)[SAP_MASS_PAIRS]) {
  const sap_dynamics* d = w->dynamics;
  const int32_t first = w->tree_link[tree], end = w->tree_link[tree + 1];
  for (int32_t l = first; l < end; ++l) {
    pass_lanes(w, kin, l, x);
  }
  for (int32_t l = end; l-- > first;) {
    const sap_link* link = &d->links[l];
    mass_link* at = &w->links[l];
    for (int32_t k = link->first_dof; k < link->first_dof + link->ndofs; ++k) {
      lanes product[LANES] = {{0.0}};
      for (int r = 0; r < LANES; ++r) {
        for (int i = 0; i < 6; ++i) {
          for (int f = 0; f < LANES; ++f) {
            product[r][f] += w->field_Pd[k][i][r] * at->H[i][f];
          }
        }
      }
      for (int i = 0; i < SAP_MASS_PAIRS; ++i) {
        const int r = sap_mass_pairs[i][0], f = sap_mass_pairs[i][1];
        out[k][i] = product[r][f] + product[f][r];
      }
    }
    if (link->parent >= 0) {
      add_lanes(w->links[link->parent].H, at->H, 1.0, 6);
    }
  }
}
