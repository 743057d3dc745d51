// SPDX-License-Identifier: BSD-3-Clause
// Contacts that slide: SAP lets them glide at a height of up to (dt + tau_d) mu |v_t| (castro, Sec.
// III-B), where geometry alone would lose them.
#include "multibody/geometry/collision_data.h"

// Heights below it are those of rest [m]: creep within stiction is well under 0.1 mm/s.
static const double floor_height = 1e-6;
// Of the smaller shape's size; a body that was put elsewhere by hand has not slid.
static const double largest = 0.25;

// Way across the normal by which the two material points have parted [m].
static double slip_of(const sap_collision_query* at, const sap_identity* point, int32_t body_A,
                      int32_t body_B) {
  double x_A[3], x_B[3], n[3];
  sap_v3_place(x_A, at->p_WB + 3 * body_A, at->R_WB + 9 * body_A, point->p_A);
  sap_v3_place(x_B, at->p_WB + 3 * body_B, at->R_WB + 9 * body_B, point->p_B);
  sap_m3_mul_v3(n, at->R_WB + 9 * body_A, point->n);
  sap_v3_sub(x_B, x_B, x_A);
  sap_v3_add_scaled(x_B, n, -sap_v3_dot(n, x_B));
  return sap_v3_norm(x_B);
}

static sap_status add_glide(sap_collision* c, uint64_t pair, double height, sap_error* error) {
  sap_collision_shape *a = &c->shapes[pair >> 32], *b = &c->shapes[pair & UINT32_MAX];
  const double reach = sap_least(height, largest * sap_least(a->placed.bound, b->placed.bound));
  // One of the two suffices, and the boxes of static shapes stay as they are.
  a->glide = sap_collision_shape_is_static(a) ? 0.0 : sap_most(a->glide, reach);
  b->glide = sap_collision_shape_is_static(b) ? 0.0 : sap_most(b->glide, reach);
  if (c->glide_count > 0 && c->glides[c->glide_count - 1].pair == pair) {
    sap_glide* glide = &c->glides[c->glide_count - 1];
    glide->reach = sap_most(glide->reach, reach);
    return SAP_STATUS_OK;
  }
  const sap_status status = SAP_GROW(&c->glides, &c->glide_capacity, c->glide_count + 1, error);
  if (status == SAP_STATUS_OK) {
    c->glides[c->glide_count++] = (sap_glide){pair, reach};
  }
  return status;
}

sap_status sap_collision_find_glides(sap_collision* c, const sap_collision_query* query,
                                     sap_error* error) {
  for (int32_t i = 0; i < c->shape_count; ++i) {
    c->shapes[i].glide = 0.0;
  }
  c->glide_count = 0;
  for (int32_t i = 0; query->dt > 0.0 && i < c->last_count; ++i) {
    const sap_identity* point = &c->identities[c->last][i];
    const int32_t a = (int32_t)(point->pair >> 32), b = (int32_t)(point->pair & UINT32_MAX);
    const double slip = slip_of(query, point, c->shapes[a].filter.body, c->shapes[b].filter.body);
    const double height = (1.0 + point->relaxation_time / query->dt) * point->friction * slip;
    if (height > floor_height) {
      SAP_TRY(add_glide(c, point->pair, height, error));
    }
  }
  return SAP_STATUS_OK;
}
