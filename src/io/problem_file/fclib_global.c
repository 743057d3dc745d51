// SPDX-License-Identifier: BSD-3-Clause
// Global problems, M v = H r + G l + f, u = H' v + w, 0 = G' v + b: A = M, v* = M^-1 f, v_hat = -w.
// An M that is not symmetric (some files hold one triangle) is taken as it is, by its inverse.
#include "io/problem_file/fclib_blocks.h"

#ifdef SAPSTEP_HDF5
#include <string.h>

#include "core/memory.h"

static void clear(sap_fclib_global* g) {
  sap_fclib_matrix* const matrices[] = {&g->M, &g->H, &g->G, &g->K};
  sap_fclib_reals* const reals[] = {&g->mu,  &g->f,       &g->w,       &g->b,
                                    &g->R,   &g->v_star,  &g->v_guess, &g->G_R,
                                    &g->K_R, &g->K_v_hat, &g->K_lower, &g->K_upper};
  sap_fclib_integers* const integers[] = {&g->tree_sizes, &g->tree_start, &g->tree_of, &g->blocks,
                                          &g->block_trees};
  for (size_t i = 0; i < sizeof matrices / sizeof *matrices; ++i) {
    sap_fclib_matrix_clear(matrices[i]);
  }
  for (size_t i = 0; i < sizeof reals / sizeof *reals; ++i) {
    sap_fclib_reals_clear(reals[i]);
  }
  for (size_t i = 0; i < sizeof integers / sizeof *integers; ++i) {
    sap_fclib_integers_clear(integers[i]);
  }
  sap_free(g->keys);
}

// `count` values, zeros where the file has none.
static sap_status read_or_zero(const sap_fclib_file* file, const char* name, int32_t count,
                               sap_fclib_reals* out, sap_error* error) {
  if (sap_fclib_has(file, name)) {
    return sap_fclib_read_reals(file, name, count, out, error);
  }
  const sap_status status = SAP_GROW(&out->values, &out->capacity, count, error);
  if (status == SAP_STATUS_OK && count > 0) {
    memset(out->values, 0, (size_t)count * sizeof(double));
  }
  out->count = count;
  return status;
}

// A matrix of nv rows, without columns where the file has none.
static sap_status read_or_empty(const sap_fclib_file* file, const char* name, int32_t nv,
                                int32_t ncols, sap_fclib_matrix* out, sap_error* error) {
  if (sap_fclib_has(file, name)) {
    return sap_fclib_read_matrix(file, name, nv, ncols, out, error);
  }
  out->nrows = nv;
  const sap_status status = SAP_GROW(&out->start.values, &out->start.capacity, 1, error);
  if (status == SAP_STATUS_OK) {
    out->start.values[0] = 0;
  }
  return status;
}

static sap_status read_free(const sap_fclib_file* file, sap_fclib_global* g, sap_error* error) {
  sap_status status = SAP_STATUS_OK;
  if (sap_fclib_has(file, "fclib_global/G")) {
    status = sap_fclib_read_reals(file, "fclib_global/vectors/b", SAP_FCLIB_ANY, &g->b, error);
    g->nfree = g->b.count;
  }
  if (status == SAP_STATUS_OK) {
    status = read_or_empty(file, "fclib_global/G", g->nv, g->nfree, &g->G, error);
  }
  return status == SAP_STATUS_OK ? read_or_zero(file, "sapstep/G_R", g->nfree, &g->G_R, error)
                                 : status;
}

static sap_status read_other(const sap_fclib_file* file, sap_fclib_global* g, sap_error* error) {
  sap_status status = SAP_STATUS_OK;
  if (sap_fclib_has(file, "sapstep/K")) {
    status = sap_fclib_read_reals(file, "sapstep/K_v_hat", SAP_FCLIB_ANY, &g->K_v_hat, error);
    g->nother = g->K_v_hat.count;
    if (status == SAP_STATUS_OK) {
      status = sap_fclib_read_reals(file, "sapstep/K_R", g->nother, &g->K_R, error);
    }
    if (status == SAP_STATUS_OK) {
      status = sap_fclib_read_bounds(file, "sapstep/K_lower", g->nother, &g->K_lower, error);
    }
    if (status == SAP_STATUS_OK) {
      status = sap_fclib_read_bounds(file, "sapstep/K_upper", g->nother, &g->K_upper, error);
    }
  }
  return status == SAP_STATUS_OK ? read_or_empty(file, "sapstep/K", g->nv, g->nother, &g->K, error)
                                 : status;
}

static sap_status read_all(const sap_fclib_file* file, sap_fclib_global* g, sap_error* error) {
  sap_status status = sap_fclib_read_contacts(file, "fclib_global", &g->mu, error);
  if (status == SAP_STATUS_OK) {
    status = sap_fclib_read_reals(file, "fclib_global/vectors/f", SAP_FCLIB_ANY, &g->f, error);
  }
  if (status != SAP_STATUS_OK) {
    return status;
  }
  g->ncontacts = g->mu.count;
  g->nv = g->f.count;
  status =
      sap_fclib_read_reals(file, "fclib_global/vectors/w", 3 * (int64_t)g->ncontacts, &g->w, error);
  if (status == SAP_STATUS_OK) {
    status = sap_fclib_read_matrix(file, "fclib_global/M", g->nv, g->nv, &g->M, error);
  }
  if (status == SAP_STATUS_OK) {
    status = sap_fclib_read_matrix(file, "fclib_global/H", g->nv, 3 * g->ncontacts, &g->H, error);
  }
  if (status == SAP_STATUS_OK) {
    status = sap_fclib_read_R(file, "fclib_global", g->ncontacts, &g->R, error);
  }
  if (status == SAP_STATUS_OK) {
    status = read_free(file, g, error);
  }
  return status == SAP_STATUS_OK ? read_other(file, g, error) : status;
}

static sap_status set_velocities(const sap_fclib_file* file, sap_fclib_global* g,
                                 sap_problem* problem, sap_error* error) {
  sap_status status = SAP_STATUS_OK;
  if (sap_fclib_has(file, "sapstep/v_star")) {
    status = sap_fclib_read_reals(file, "sapstep/v_star", g->nv, &g->v_star, error);
  }
  if (status == SAP_STATUS_OK) {
    status = sap_problem_set_v_star(problem, g->v_star.values, error);
  }
  if (status == SAP_STATUS_OK && sap_fclib_has(file, "sapstep/v_guess")) {
    status = sap_fclib_read_reals(file, "sapstep/v_guess", g->nv, &g->v_guess, error);
    if (status == SAP_STATUS_OK) {
      status = sap_problem_set_v_guess(problem, g->v_guess.values, error);
    }
  }
  return status;
}

sap_status sap_fclib_read_global(const sap_fclib_file* file, sap_problem* problem,
                                 sap_error* error) {
  sap_fclib_global g = {0};
  double dt = 1.0;
  sap_status status = read_all(file, &g, error);
  if (status == SAP_STATUS_OK) {
    status = sap_fclib_find_trees(file, &g, error);
  }
  if (status == SAP_STATUS_OK) {
    status = sap_fclib_find_blocks(file, &g, error);
  }
  if (status == SAP_STATUS_OK) {
    status = sap_fclib_read_dt(file, &dt, error);
  }
  if (status == SAP_STATUS_OK) {
    status = sap_problem_reset(problem, dt, g.tree_sizes.count, g.tree_sizes.values, error);
  }
  if (status == SAP_STATUS_OK) {
    status = SAP_GROW(&g.v_star.values, &g.v_star.capacity, g.nv, error);
  }
  if (status == SAP_STATUS_OK && g.nv > 0) {
    memcpy(g.v_star.values, g.f.values, (size_t)g.nv * sizeof(double));
  }
  if (status == SAP_STATUS_OK) {
    status = sap_fclib_set_momentum(file, &g, problem, error);
  }
  if (status == SAP_STATUS_OK) {
    status = set_velocities(file, &g, problem, error);
  }
  if (status == SAP_STATUS_OK) {
    status = sap_fclib_add_blocks(file, &g, problem, error);
  }
  clear(&g);
  return status;
}
#endif
