// SPDX-License-Identifier: BSD-3-Clause
// Contacts in physical terms become blocks: checks, w of the rows [t1 t2 n], R and v_hat by the
// contact law. Rows with several coefficients of friction are scaled by s_j = mu_j/mu, which makes
// the elliptic cone circular (sap_friction_scales).
#include <math.h>

#include "core/memory.h"
#include "problem/blocks.h"
#include "problem/factor.h"
#include "problem/law.h"

// Depth that a prediction of the slip may add, relative to the thickness of the thinner shape.
static const double SHIFT_DEPTH = 1.0 / 8.0;

static int32_t count_rows(const sap_contact_block* contact) {
  return contact->nrows == 0 ? 3 : contact->nrows;
}

// The block of the rows [t1 t2 n].
static sap_block linear_part(const sap_contact_block* contact) {
  return (sap_block){.nrows = 3,
                     .ntrees = contact->ntrees,
                     .trees = contact->trees,
                     .jacobians = contact->jacobians};
}

// Checks.

static sap_status check_friction(const sap_problem* p, const sap_contact_block* c, int32_t nrows,
                                 sap_error* error) {
  SAP_FAIL_IF(nrows != 3 && nrows != 4 && nrows != 6, error, SAP_STATUS_ARGUMENT,
              "block %d: a contact has 3, 4 or 6 rows, not %d", p->nblocks, nrows);
  SAP_FAIL_IF(nrows > 3 && (c->friction == NULL || c->angular == NULL), error, SAP_STATUS_ARGUMENT,
              "block %d: a contact with %d rows needs friction and angular", p->nblocks, nrows);
  for (int32_t i = 0; c->friction != NULL && i < nrows - 1; ++i) {
    SAP_FAIL_IF(!isfinite(c->friction[i]) || !(c->friction[i] >= 0.0), error,
                isfinite(c->friction[i]) ? SAP_STATUS_ARGUMENT : SAP_STATUS_NOT_FINITE,
                "block %d: friction[%d] = %g must be finite and >= 0", p->nblocks, i,
                c->friction[i]);
  }
  return SAP_STATUS_OK;
}

static sap_status check_motion(const sap_contact_block* c, sap_error* error) {
  const double *u = c->surface_velocity, *dv = c->velocity_change;
  SAP_FAIL_IF(!(c->thickness >= 0.0 && c->load >= 0.0 && c->overlap >= 0.0), error,
              SAP_STATUS_ARGUMENT, "thickness = %g, load = %g and overlap = %g must be >= 0",
              c->thickness, c->load, c->overlap);
  if (isfinite(u[0] + u[1] + u[2] + dv[0] + dv[1] + dv[2] + c->gap_change)) {
    return SAP_STATUS_OK;  // then each of them is finite
  }
  SAP_TRY(sap_check_numbers("surface_velocity", u, 3, error));
  SAP_TRY(sap_check_numbers("velocity_change", dv, 3, error));
  return isfinite(c->gap_change) ? SAP_STATUS_OK
                                 : sap_fail(error, SAP_STATUS_NOT_FINITE,
                                            "gap_change = %g must be finite", c->gap_change);
}

// Checks all but the linear Jacobians, which sap_problem_checked_scale checks.
static sap_status check_contact(const sap_problem* p, const sap_contact_block* contact,
                                sap_error* error) {
  const int32_t nrows = count_rows(contact);
  sap_block part = linear_part(contact);
  SAP_TRY(check_friction(p, contact, nrows, error));
  SAP_TRY_OR(check_motion(contact, error), sap_error_prefix(error, "block %d", p->nblocks));
  SAP_TRY(sap_problem_check_shape(p, &part, error));
  if (nrows == 3) {
    return SAP_STATUS_OK;
  }
  part.nrows = nrows - 3;
  part.jacobians = contact->angular;
  return sap_problem_check_jacobians(p, &part, error);
}

// One contact.

// Scales J of a tree: linear rows (ld 3), then angular ones (ld nrows - 3).
static void scale_rows(const double* linear, const double* angular, int32_t nrows, int32_t size,
                       const double* scales, double* J) {
  for (int32_t i = 0; i < size; ++i, J += nrows) {
    for (int32_t r = 0; r < 3; ++r) {
      J[r] = scales[r] * linear[3 * (size_t)i + (size_t)r];
    }
    for (int32_t r = 3; r < nrows; ++r) {
      J[r] = scales[r] * angular[(size_t)(nrows - 3) * (size_t)i + (size_t)(r - 3)];
    }
  }
}

// Gives the block scaled Jacobians in scratch memory.
static sap_status scale_block(sap_problem* p, const sap_contact_block* c, const double* scales,
                              sap_block* block, sap_error* error) {
  sap_problem_cache* cache = p->cache;
  int64_t values = 0;
  for (int32_t t = 0; t < c->ntrees; ++t) {
    values += (int64_t)block->nrows * p->tree_size[c->trees[t]];
  }
  SAP_TRY(SAP_ROOM(&cache->pool, &cache->scratch, values, error));
  SAP_TRY(SAP_ROOM(&cache->pool, &cache->views, c->ntrees, error));
  double* J = cache->scratch;
  for (int32_t t = 0; t < c->ntrees; ++t) {
    const int32_t size = p->tree_size[c->trees[t]];
    scale_rows(c->jacobians[t], block->nrows > 3 ? c->angular[t] : NULL, block->nrows, size, scales,
               J);
    cache->views[t] = J;
    J += (size_t)block->nrows * (size_t)size;
  }
  block->jacobians = cache->views;
  return SAP_STATUS_OK;
}

// Returns the largest J_j diag(A)^-1 J_j' of the block's rows.
static double find_largest_row(const sap_problem* p, const sap_block* block) {
  double weights[SAP_CONE_ROWS_MAX] = {0.0}, largest = 0.0;
  for (int32_t t = 0; t < block->ntrees; ++t) {
    const double* J = block->jacobians[t];
    const double* A = &p->diagonal[p->diagonal_start[block->trees[t]]];
    const int32_t size = p->tree_size[block->trees[t]];
    for (int32_t i = 0; i < size; ++i, A += size + 1, J += block->nrows) {
      const double inverse = p->has_mobility ? *A : 1.0 / *A;
      for (int32_t j = 0; j < block->nrows; ++j) {
        weights[j] += J[j] * J[j] * inverse;
      }
    }
  }
  for (int32_t j = 0; j < block->nrows; ++j) {
    largest = fmax(largest, weights[j]);
  }
  return largest;
}

// Appends the block with its law.
static sap_status append_block(sap_problem* p, const sap_contact_block* contact,
                               const sap_law_rows* law, double w, sap_block* block,
                               sap_error* error) {
  block->R = law->R;
  block->v_hat = law->v_hat;
  block->friction = law->friction;
  if (sap_set_is_potential(block->set)) {
    const double* kept = sap_warm_start_find(&p->lag, contact->key, block->nrows);
    block->dissipation = contact->material.dissipation;
    block->slip_speed = law->slip_speed;
    block->lagged_impulse =
        kept != NULL ? fmax(0.0, kept[SAP_NORMAL_ROW]) / p->lag_dt * p->dt : law->new_impulse;
  }
  SAP_TRY(sap_problem_append_block(p, block, error));
  sap_block_data* data = &p->blocks[p->nblocks - 1];
  if (sap_set_is_potential(block->set)) {
    data->w = w;
  }
  data->end = law->end;
  data->end_change = law->end_change;
  const double depth = contact->overlap > 0.0 ? contact->overlap : -contact->phi0;
  data->wrong_depth = law->is_wrong ? depth : 0.0;
  data->realised = law->realised;
  if (law->shifts) {
    sap_problem_shift_contact(p, data, law->slip);
    data->shift_excess =
        contact->thickness > 0.0 ? SHIFT_DEPTH * contact->thickness / p->dt : (double)INFINITY;
  }
  return SAP_STATUS_OK;
}

static sap_contact_start find_start(const sap_law_contact* c) {
  const double k = c->material->stiffness;
  sap_contact_start start = {.force = -k * c->phi0,
                             .stiffness = k,
                             .damping = k * c->material->relaxation_time,
                             .phi0 = c->phi0,
                             .vn_star = c->vc_star[SAP_NORMAL_ROW],
                             .wn = c->wn,
                             .wt = c->wt};
  for (int i = 0; i < 2; ++i) {
    start.belt[i] = -c->surface_velocity[i] * c->scales[i];
  }
  for (int i = 0; i < 3; ++i) {
    start.turn[i] = c->velocity_change[i] * c->scales[i];
    start.vc0[i] = c->vc0[i] - (i == SAP_NORMAL_ROW ? 0.0 : start.belt[i]);
  }
  for (int32_t i = 3; i < c->nrows; ++i) {
    const double belt = i == 3 ? -c->surface_velocity[2] * c->scales[i] : 0.0;
    start.spin = hypot(start.spin, c->vc0[i] - belt);
  }
  return start;
}

sap_status sap_problem_add_contact(sap_problem* p, const sap_contact_block* contact,
                                   const sap_regularization* regularization, sap_error* error) {
  SAP_NOT_NULL(error, p, contact, regularization);
  SAP_TRY(check_contact(p, contact, error));
  const sap_contact_model model = p->scheme.rigid ? SAP_CONTACT_SAP
                                  : p->scheme.model != SAP_CONTACT_BY_MATERIAL
                                      ? p->scheme.model
                                      : contact->material.model;
  sap_block block = {.set = model == SAP_CONTACT_SIMILAR  ? SAP_SET_SIMILAR
                            : model == SAP_CONTACT_LAGGED ? SAP_SET_LAGGED
                                                          : SAP_SET_FRICTION_CONE,
                     .nrows = count_rows(contact),
                     .ntrees = contact->ntrees,
                     .trees = contact->trees,
                     .jacobians = contact->jacobians,
                     .friction = contact->material.friction,
                     .key = contact->key};
  double scales[SAP_CONE_ROWS_MAX] = {1.0, 1.0, 1.0};
  double vc0[SAP_CONE_ROWS_MAX], vc_star[SAP_CONE_ROWS_MAX];
  sap_law_contact start = {.material = &contact->material,
                           .model = model,
                           .phi0 = contact->phi0,
                           .overlap = contact->overlap,
                           .gap_change = contact->gap_change,
                           .mass = contact->mass,
                           .lift = contact->lift,
                           .thickness = contact->thickness,
                           .load = contact->load,
                           .pull = contact->pull,
                           .nrows = block.nrows,
                           .scales = scales,
                           .surface_velocity = contact->surface_velocity,
                           .velocity_change = contact->velocity_change};
  const sap_block part = linear_part(contact);
  double w[3];
  SAP_TRY(sap_problem_checked_scale(p, &part, w, error));
  start.w = w[0];
  start.wt = w[1];
  start.wn = w[2];
  if (contact->friction != NULL) {
    block.friction = sap_friction_scales(contact->friction, block.nrows, scales);
    SAP_TRY(scale_block(p, contact, scales, &block, error));
    start.largest_w = find_largest_row(p, &block);
  }
  start.friction = block.friction;
  const sap_rows_view rows = {block.nrows, block.ntrees, block.trees, block.jacobians};
  if (sap_law_needs_v0(&p->scheme, model)) {
    sap_problem_rows_times_both(p, &rows, p->scheme.v0, p->scheme.v_star, vc0, vc_star);
    start.vc0 = vc0;
    start.vc_star = vc_star;
  }
  const sap_law_settings settings = sap_problem_law_settings(p, regularization);
  sap_law_rows law;
  SAP_TRY_OR(sap_law_contact_rows(&settings, &start, &law, error),
             sap_error_prefix(error, "block %d", p->nblocks));
  SAP_TRY(append_block(p, contact, &law, start.w, &block, error));
  if (p->scheme.theta < 1.0) {
    p->blocks[p->nblocks - 1].start = find_start(&start);
  }
  return SAP_STATUS_OK;
}
