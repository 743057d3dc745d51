// SPDX-License-Identifier: BSD-3-Clause
// Mass matrix by composite rigid bodies.
//   M_ij = S_i . (Ic S_j) for i on the path from j to the root, Ic the inertia of all links at or
//   below that of j. Everything is about one point, so composites are plain sums.
//   A lone link: M = [m 1, -R h~; (.)', I_B], h = m c and I_B in its own axes.
// cost: O(links + sum over dofs of their depth)
#include <string.h>

#include "dynamics/dynamics_data.h"

static void lone_block(const sap_dynamics* d, const sap_link* link, double* M) {
  const double* R = d->R_WB + 9 * link->body;
  const sap_inertia* B = &link->body_inertia;
  const double* I = B->I;
  const double angular[9] = {I[0], I[3], I[4], I[3], I[1], I[5], I[4], I[5], I[2]};
  const double columns[9] = {0.0,     B->h[2], -B->h[1], -B->h[2], 0.0,
                             B->h[0], B->h[1], -B->h[0], 0.0};
  for (int j = 0; j < 3; ++j) {
    for (int i = j; i < 3; ++i) {
      M[6 * j + i] = i == j ? B->mass : 0.0;
      M[6 * (j + 3) + i + 3] = angular[3 * j + i];
    }
  }
  // Column k of -R h~ is -R (h x e_k).
  for (int k = 0; k < 3; ++k) {
    double c[3];
    sap_m3_mul_v3(c, R, columns + 3 * k);
    for (int i = 0; i < 3; ++i) {
      M[6 * i + k + 3] = -c[i];
    }
  }
  for (int i = 0; i < 6; ++i) {
    M[7 * i] += d->armature[link->first_dof + i];
  }
}

// The rows of one link's dofs.
static void link_rows(const sap_dynamics* d, const sap_link* link, const sap_inertia* composite,
                      double* M) {
  const sap_model* model = d->model;
  const int32_t first = model->tree_dofs[link->tree];
  const size_t ld = (size_t)model->tree_sizes[link->tree];
  for (int32_t j = link->first_dof; j < link->first_dof + link->ndofs; ++j) {
    double f[6];
    double* row = M + (j - first);
    sap_inertia_mul(f, composite, d->S[j]);
    row[ld * (size_t)(j - first)] = sap_spatial_dot(f, d->S[j]) + d->armature[j];
    for (int32_t i = model->dof_parent[j]; i >= 0; i = model->dof_parent[i]) {
      row[ld * (size_t)(i - first)] = sap_spatial_dot(f, d->S[i]);
    }
  }
}

void sap_dynamics_mass_matrix(sap_dynamics* d, double* const* diagonal) {
  const sap_model* model = d->model;
  for (int32_t t = 0; t < model->sizes.trees; ++t) {
    if (!d->tree_lone[t]) {
      const size_t n = (size_t)model->tree_sizes[t];
      memset(diagonal[t], 0, n * n * sizeof *diagonal[t]);
    }
  }
  memcpy(d->composite, d->inertia, (size_t)d->nlinks * sizeof *d->composite);
  for (int32_t l = d->nlinks - 1; l >= 0; --l) {
    const sap_link* link = &d->links[l];
    if (link->lone) {
      lone_block(d, link, diagonal[link->tree]);
      continue;
    }
    link_rows(d, link, &d->composite[l], diagonal[link->tree]);
    if (link->parent >= 0) {
      sap_inertia_add(&d->composite[link->parent], &d->composite[l]);
    }
  }
}
