// SPDX-License-Identifier: BSD-3-Clause
#include "solvers/ncp/sap_ncp_shift.h"

#include <math.h>
#include <string.h>

#include "contact/cone.h"
#include "core/memory.h"
#include "problem/problem_data.h"
#include "solvers/complementarity.h"

static int32_t largest_tree(const sap_problem* p) {
  int32_t largest = 0;
  for (int32_t t = 0; t < p->ntrees; ++t) {
    largest = p->tree_size[t] > largest ? p->tree_size[t] : largest;
  }
  return largest;
}

sap_status sap_ncp_start(sap_ncp* w, const sap_problem* p, bool warm, sap_error* error) {
  sap_status status = SAP_GROW(&w->cone, &w->cone_capacity, p->nblocks, error);
  if (status == SAP_STATUS_OK) {
    status = SAP_RESERVE(&w->cones, &w->cones_capacity, 5 * (int64_t)p->nblocks, error);
  }
  if (status == SAP_STATUS_OK) {
    status = SAP_RESERVE(&w->rows, &w->rows_capacity,
                         3 * (int64_t)p->nrows + 6 * (int64_t)largest_tree(p), error);
  }
  if (status == SAP_STATUS_OK) {
    status = SAP_GROW(&w->history.rows, &w->history.capacity, SAP_NCP_SOLVES + 1, error);
  }
  if (status != SAP_STATUS_OK) {
    return status;
  }
  w->history.count = 0;
  w->ncones = 0;
  for (int32_t b = 0; b < p->nblocks; ++b) {
    if (p->blocks[b].set == SAP_SET_FRICTION_CONE && p->blocks[b].friction > 0.0) {
      w->cone[w->ncones++] = b;
    }
  }
  for (int32_t k = 0; k < w->ncones; ++k) {
    const sap_block_data* block = &p->blocks[w->cone[k]];
    const double* kept = warm ? sap_key_map_find(&w->last, block->key, block->nrows) : NULL;
    sap_ncp_shift(w)[k] = kept != NULL ? kept[2] : 0.0;
  }
  double* rho = sap_ncp_steps(w, p);
  for (int32_t b = 0; b < p->nblocks && status == SAP_STATUS_OK; ++b) {
    status = sap_complementarity_steps(p, b, rho + p->nrows, rho + p->blocks[b].first_row, error);
  }
  return status == SAP_STATUS_OK ? sap_anderson_begin(&w->anderson, w->ncones, error) : status;
}

double sap_ncp_natural_map(const sap_ncp* w, const sap_problem* p) {
  sap_complementarity sums = {0};
  for (int32_t b = 0; b < p->nblocks; ++b) {
    const int32_t row = p->blocks[b].first_row;
    sap_complementarity_add(p, b, w->inner.vc + row, w->inner.gamma + row,
                            sap_ncp_steps(w, p) + row, &sums);
  }
  return sap_relative_map(sums.ncp.scaled_map_2, sums.gamma_2);
}

// T and the weights: a shift matters where the contact presses, as much as it changes the impulse.
void sap_ncp_find_image(sap_ncp* w, const sap_problem* p) {
  for (int32_t k = 0; k < w->ncones; ++k) {
    const sap_block_data* block = &p->blocks[w->cone[k]];
    const int32_t row = block->first_row;
    double g[SAP_CONE_ROWS_MAX] = {0.0};
    for (int32_t r = 0; r < block->nrows; ++r) {
      g[r] = w->inner.vc[row + r] - p->v_hat[row + r] + p->R[row + r] * w->inner.gamma[row + r];
    }
    sap_ncp_image(w)[k] = block->friction * sqrt(sap_cone_n_dot(block->nrows, g, g));
    sap_ncp_weight(w)[k] = w->inner.gamma[row + 2] > 0.0 ? 1.0 : 0.0;
  }
}

sap_status sap_ncp_keep_best(sap_ncp* w, const sap_problem* p, sap_error* error) {
  const size_t nv = (size_t)p->nv, nrows = (size_t)p->nrows, nc = (size_t)w->ncones;
  const sap_status status = sap_solution_resize(&w->best, p->nv, p->nrows, error);
  if (status != SAP_STATUS_OK) {
    return status;
  }
  if (nv > 0) {
    memcpy(w->best.v, w->inner.v, nv * sizeof(double));
  }
  if (nrows > 0) {
    memcpy(w->best.gamma, w->inner.gamma, nrows * sizeof(double));
    memcpy(w->best.vc, w->inner.vc, nrows * sizeof(double));
  }
  if (nc > 0) {
    memcpy(sap_ncp_best_shift(w), sap_ncp_shift(w), nc * sizeof(double));
    memcpy(sap_ncp_best_image(w), sap_ncp_image(w), nc * sizeof(double));
  }
  return SAP_STATUS_OK;
}

void sap_ncp_next_shift(sap_ncp* w, bool too_far) {
  if (too_far) {
    sap_anderson_restart(&w->anderson);
    for (int32_t k = 0; k < w->ncones; ++k) {
      sap_ncp_shift(w)[k] = 0.5 * (sap_ncp_best_shift(w)[k] + sap_ncp_best_image(w)[k]);
      sap_ncp_best_shift(w)[k] = sap_ncp_shift(w)[k];  // again too far: another half
    }
    return;
  }
  sap_anderson_next(&w->anderson, sap_ncp_shift(w), sap_ncp_image(w), sap_ncp_weight(w),
                    sap_ncp_shift(w));
  for (int32_t k = 0; k < w->ncones; ++k) {
    const double s = sap_ncp_weight(w)[k] > 0.0 ? sap_ncp_shift(w)[k] : sap_ncp_image(w)[k];
    sap_ncp_shift(w)[k] = s > 0.0 ? s : 0.0;
  }
}
