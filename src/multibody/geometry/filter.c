// SPDX-License-Identifier: BSD-3-Clause
#include "multibody/geometry/filter.h"

void sap_filter_init(const sap_model* model, int32_t shape, sap_filter_shape* out) {
  const sap_shape_def* def = &model->shapes[shape];
  const int32_t weld = model->bodies[def->body].weld;
  *out = (sap_filter_shape){
      .shape = shape,
      .body = def->body,
      .weld = weld,
      .parent_weld = weld == 0 ? -1 : model->bodies[model->bodies[weld].parent].weld,
      .contact_type = def->contact_type,
      .contact_affinity = def->contact_affinity,
  };
  for (int32_t i = 0; i < model->exclusion_count; ++i) {
    const int32_t* pair = model->exclusions[i];
    out->excluded = out->excluded || pair[0] == def->body || pair[1] == def->body;
  }
  for (int32_t i = 0; i < model->sizes.pairs; ++i) {
    const sap_pair_def* pair = &model->pairs[i];
    out->paired = out->paired || pair->shape_a == shape || pair->shape_b == shape;
  }
}

const sap_pair_def* sap_filter_find_pair(const sap_model* model, const sap_filter_shape* a,
                                         const sap_filter_shape* b) {
  if (!a->paired || !b->paired) {
    return NULL;
  }
  const int32_t first = a->shape < b->shape ? a->shape : b->shape;
  const int32_t second = a->shape < b->shape ? b->shape : a->shape;
  int32_t low = 0, high = model->sizes.pairs;
  while (low < high) {
    const int32_t middle = low + (high - low) / 2;
    const sap_pair_def* pair = &model->pairs[middle];
    if (pair->shape_a == first && pair->shape_b == second) {
      return pair;
    }
    if (pair->shape_a < first || (pair->shape_a == first && pair->shape_b < second)) {
      low = middle + 1;
    } else {
      high = middle;
    }
  }
  return NULL;
}

// Exclusions are sorted pairs a < b.
static bool is_excluded(const sap_model* model, int32_t body_a, int32_t body_b) {
  const int32_t first = body_a < body_b ? body_a : body_b;
  const int32_t second = body_a < body_b ? body_b : body_a;
  int32_t low = 0, high = model->exclusion_count;
  while (low < high) {
    const int32_t middle = low + (high - low) / 2;
    const int32_t* pair = model->exclusions[middle];
    if (pair[0] == first && pair[1] == second) {
      return true;
    }
    if (pair[0] < first || (pair[0] == first && pair[1] < second)) {
      low = middle + 1;
    } else {
      high = middle;
    }
  }
  return false;
}

bool sap_filter_collides(const sap_model* model, const sap_filter_shape* a,
                         const sap_filter_shape* b) {
  if (a->weld == b->weld) {
    return false;
  }
  if (sap_filter_find_pair(model, a, b) != NULL) {
    return true;
  }
  if (a->weld != 0 && b->weld != 0 && (a->weld == b->parent_weld || b->weld == a->parent_weld)) {
    return false;
  }
  if (((a->contact_type & b->contact_affinity) | (b->contact_type & a->contact_affinity)) == 0) {
    return false;
  }
  return !(a->excluded && b->excluded && is_excluded(model, a->body, b->body));
}
