// SPDX-License-Identifier: BSD-3-Clause
// From a contact in physical terms to a friction cone: R and v_hat by castro (29)-(30), w of the
// rows [t1 t2 n]; or to a potential. Where coefficients of friction differ, rows are scaled by s_j
// = mu_j/mu, which makes the elliptic cone circular (sap_friction_scales).
#include <math.h>

#include "contact/cone.h"
#include "problem/problem_data.h"

// J of a tree with all rows scaled: linear rows (ld 3), then angular ones (ld nrows - 3).
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

// The block with Jacobians of its own, in scratch memory.
static void scale_block(const sap_problem* p, const sap_contact_block* c, const double* scales,
                        const sap_contact_work* work, sap_block* block) {
  double* J = work->scratch;
  for (int32_t t = 0; t < c->ntrees; ++t) {
    const int32_t size = p->tree_size[c->trees[t]];
    scale_rows(c->jacobians[t], block->nrows > 3 ? c->angular[t] : NULL, block->nrows, size, scales,
               J);
    work->views[t] = J;
    J += (size_t)block->nrows * (size_t)size;
  }
  block->jacobians = work->views;
}

sap_status sap_problem_set_contact_model(sap_problem* p, sap_contact_model model,
                                         sap_error* error) {
  if (p == NULL) {
    return sap_fail(error, SAP_STATUS_ARGUMENT, "sap_problem_set_contact_model: problem is NULL");
  }
  if ((int)model < (int)SAP_CONTACT_BY_MATERIAL || (int)model >= (int)SAP_CONTACT_MODEL_COUNT) {
    return sap_fail(error, SAP_STATUS_ARGUMENT, "model = %d is not a sap_contact_model",
                    (int)model);
  }
  p->contact_model = model;
  return SAP_STATUS_OK;
}

static sap_set set_of(const sap_problem* p, const sap_contact_block* contact) {
  const sap_contact_model model =
      p->contact_model != SAP_CONTACT_BY_MATERIAL ? p->contact_model : contact->material.model;
  return p->rigid                       ? SAP_SET_FRICTION_CONE
         : model == SAP_CONTACT_SIMILAR ? SAP_SET_SIMILAR
         : model == SAP_CONTACT_LAGGED  ? SAP_SET_LAGGED
                                        : SAP_SET_FRICTION_CONE;
}

// A contact on its way into the problem; block.R and block.v_hat point into it.
typedef struct contact_rows {
  const sap_contact_block* contact;
  const sap_regularization* regularization;
  double w;  // Delassus scale
  double R[SAP_CONE_ROWS_MAX], v_hat[SAP_CONE_ROWS_MAX], scales[SAP_CONE_ROWS_MAX];
  sap_block block;
} contact_rows;

int64_t sap_contact_room(const sap_problem* p, int32_t nrows, int32_t ntrees,
                         const int32_t* trees) {
  const sap_block part = {.nrows = 3, .ntrees = ntrees, .trees = trees};
  const int64_t scale = sap_problem_scale_room(p, &part);
  int64_t values = 0;
  for (int32_t t = 0; t < ntrees; ++t) {
    values += (int64_t)nrows * p->tree_size[trees[t]];
  }
  return values > scale ? values : scale;
}

// The velocities of belts, and rows scaled to one coefficient of friction.
static void scale_friction(const sap_problem* p, contact_rows* rows, const sap_contact_work* work) {
  const sap_contact_block* contact = rows->contact;
  const int32_t nrows = rows->block.nrows;
  double *R = rows->R, *v_hat = rows->v_hat;
  v_hat[0] = 0.0 - contact->surface_velocity[0];
  v_hat[1] = 0.0 - contact->surface_velocity[1];
  if (contact->friction == NULL) {
    rows->scales[0] = rows->scales[1] = 1.0;
    return;
  }
  rows->block.friction = sap_friction_scales(contact->friction, nrows, rows->scales);
  v_hat[3] = 0.0 - contact->surface_velocity[2];
  v_hat[4] = v_hat[5] = 0.0;
  for (int32_t i = 0; i < nrows; ++i) {
    R[i] = i == 2 ? R[2] : R[0];
    v_hat[i] *= rows->scales[i];
  }
  scale_block(p, contact, rows->scales, work, &rows->block);
}

// Its law acts at the end of the step.
static void note_end(sap_block_data* block, const sap_contact_block* contact) {
  block->ends = true;
  block->end_change = contact->velocity_change[2];
  block->end_open = contact->phi0 > 0.0;
}

// Puts a similar or lagged contact: R, v_hat in n, and what is the law's own.
static sap_status put_potential(sap_problem* p, contact_rows* rows, const sap_block_place* at,
                                sap_error* error) {
  const sap_contact_block* contact = rows->contact;
  sap_block* block = &rows->block;
  double vc0[SAP_CONE_ROWS_MAX], free[SAP_CONE_ROWS_MAX], slip_2 = 0.0;
  sap_stage_velocity(p, block, vc0);
  sap_stage_free_velocity(p, block, free);
  for (int32_t i = 0; i < block->nrows; ++i) {
    slip_2 += i == 2 ? 0.0 : (vc0[i] - rows->v_hat[i]) * (vc0[i] - rows->v_hat[i]);
  }
  const sap_contact_start start = {.regularization = rows->regularization,
                                   .dt = p->dt,
                                   .phi0 = contact->phi0,
                                   .w = rows->w,
                                   .friction = block->friction,
                                   .normal_speed = vc0[2],
                                   .free_speed = free[2],
                                   .slip = sqrt(slip_2)};
  sap_potential_law law;
  sap_status status = sap_contact_potential(&contact->material, &start, &law, error);
  if (status != SAP_STATUS_OK) {
    sap_error_prefix(error, "block %d", p->nblocks);
    return status;
  }
  for (int32_t i = 0; i < block->nrows; ++i) {
    rows->R[i] = law.Rn;
  }
  rows->v_hat[2] = law.v_hat;
  const double* kept = sap_lag_memory_find(&p->lag, contact->key);
  block->friction = law.friction;
  block->dissipation = contact->material.dissipation;
  block->slip_speed = law.slip_speed;
  block->lagged_impulse = kept != NULL ? *kept * p->dt : law.new_impulse;
  sap_problem_put_block(p, block, at);
  p->blocks[at->block].w = rows->w;
  note_end(&p->blocks[at->block], contact);
  return SAP_STATUS_OK;
}

// Puts SAP's contact, or a rigid one: what the stage makes of R and v_hat.
static void put_cone(sap_problem* p, contact_rows* rows, const sap_block_place* at) {
  const sap_contact_block* contact = rows->contact;
  double vc0[SAP_CONE_ROWS_MAX] = {0.0}, slip = 0.0;
  if (sap_stage_needs_start(p)) {
    sap_stage_velocity(p, &rows->block, vc0);
  }
  const double* change = contact->velocity_change;
  const sap_stage_cone cone = {
      .normal = {.stiffness = contact->material.stiffness,
                 .relaxation_time = contact->material.relaxation_time,
                 .g0 = contact->phi0 + contact->gap_change,
                 .rate0 = vc0[2],
                 .w = rows->w,
                 .unilateral = true},
      .nrows = rows->block.nrows,
      .friction = rows->block.friction,
      .beta = rows->regularization->beta,
      .vc0 = vc0,
      .velocity_change = {rows->scales[0] * change[0], rows->scales[1] * change[1], change[2]}};
  const bool within = sap_stage_contact(p, &cone, rows->R, rows->v_hat, &slip);
  sap_rigid_contact(p, &cone, rows->R, rows->v_hat);
  sap_problem_put_block(p, &rows->block, at);
  if (within) {
    sap_problem_shift_contact(p, at->block, slip);
  } else {
    note_end(&p->blocks[at->block], contact);
  }
}

sap_status sap_problem_put_contact(sap_problem* p, const sap_contact_block* contact,
                                   const sap_regularization* regularization,
                                   const sap_contact_work* work, const sap_block_place* at,
                                   sap_error* error) {
  contact_rows rows = {.contact = contact, .regularization = regularization};
  rows.block = (sap_block){.set = set_of(p, contact),
                           .nrows = sap_contact_rows(contact),
                           .ntrees = contact->ntrees,
                           .trees = contact->trees,
                           .jacobians = contact->jacobians,
                           .R = rows.R,
                           .v_hat = rows.v_hat,
                           .friction = contact->material.friction,
                           .key = contact->key};
  const sap_block part = sap_contact_linear_part(contact);
  sap_status status = sap_problem_find_checked_scale(p, &part, work->scratch, &rows.w, error);
  if (status != SAP_STATUS_OK) {
    return status;
  }
  const bool is_cone = rows.block.set == SAP_SET_FRICTION_CONE;
  if (is_cone) {
    status = sap_contact_regularize(&contact->material, regularization, p->dt, contact->phi0,
                                    rows.w, rows.R, rows.v_hat, error);
  }
  if (status != SAP_STATUS_OK) {
    sap_error_prefix(error, "block %d", p->nblocks);
    return status;
  }
  scale_friction(p, &rows, work);
  if (!is_cone) {
    return put_potential(p, &rows, at, error);
  }
  put_cone(p, &rows, at);
  return SAP_STATUS_OK;
}

sap_status sap_problem_add_contact(sap_problem* p, const sap_contact_block* contact,
                                   const sap_regularization* regularization, sap_error* error) {
  if (p == NULL || contact == NULL || regularization == NULL) {
    return sap_fail(error, SAP_STATUS_ARGUMENT, "sap_problem_add_contact: an argument is NULL");
  }
  sap_status status = sap_problem_check_contact(p, contact, error);
  if (status != SAP_STATUS_OK) {
    return status;
  }
  const int32_t nrows = sap_contact_rows(contact), ntrees = contact->ntrees;
  const sap_block_place at = sap_problem_end(p);
  sap_block_place end = at;
  sap_problem_pass_block(p, nrows, ntrees, contact->trees, &end);
  sap_problem_cache* cache = p->cache;
  status = SAP_RESERVE(&cache->scratch, &cache->scratch_capacity,
                       sap_contact_room(p, nrows, ntrees, contact->trees), error);
  if (status == SAP_STATUS_OK) {
    status = SAP_RESERVE(&cache->views, &cache->views_capacity, ntrees, error);
  }
  if (status == SAP_STATUS_OK) {
    status = sap_problem_reserve_blocks(p, &end, error);
  }
  if (status == SAP_STATUS_OK) {
    const sap_contact_work work = {cache->scratch, cache->views};
    status = sap_problem_put_contact(p, contact, regularization, &work, &at, error);
  }
  if (status == SAP_STATUS_OK) {
    sap_problem_set_end(p, &end);
  }
  return status;
}
