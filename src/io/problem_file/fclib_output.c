// SPDX-License-Identifier: BSD-3-Clause

#include "io/problem_file/fclib_output.h"

#include <math.h>
#include <stdio.h>

#include "core/memory.h"
#include "io/problem_file/fclib_file.h"

#ifdef SAPSTEP_HDF5
enum { NAME_SIZE = 128 };

sap_status sap_fclib_append(sap_fclib_columns* a, int32_t row, double x, sap_error* error) {
  if (a->count == INT32_MAX) {
    return sap_fail(error, SAP_STATUS_UNSUPPORTED, "a matrix with more than 2^31 entries");
  }
  SAP_TRY(SAP_GROW(&a->row, &a->row_capacity, a->count + 1, error));
  SAP_TRY(SAP_GROW(&a->x, &a->x_capacity, a->count + 1, error));
  a->row[a->count] = row;
  a->x[a->count++] = x;
  return SAP_STATUS_OK;
}

sap_status sap_fclib_end_column(sap_fclib_columns* a, sap_error* error) {
  SAP_TRY(SAP_GROW(&a->start, &a->start_capacity, a->ncols + 2, error));
  a->start[0] = 0;
  a->start[++a->ncols] = a->count;
  return SAP_STATUS_OK;
}

void sap_fclib_columns_clear(sap_fclib_columns* a) {
  sap_free(a->start);
  sap_free(a->row);
  sap_free(a->x);
  *a = (sap_fclib_columns){0};
}

// Writes a dataset without its time of writing: the same problem gives the same bytes.
static bool put_dataset(hid_t file, const char* name, hid_t type, int32_t count,
                        const void* values) {
  const hsize_t size = (hsize_t)count;
  const hid_t links = H5Pcreate(H5P_LINK_CREATE), options = H5Pcreate(H5P_DATASET_CREATE);
  const hid_t space = H5Screate_simple(1, &size, NULL);
  bool good = H5Pset_create_intermediate_group(links, 1) >= 0 &&
              H5Pset_obj_track_times(options, false) >= 0 && space >= 0;
  const hid_t set = good ? H5Dcreate2(file, name, type, space, links, options, H5P_DEFAULT) : -1;
  good =
      set >= 0 && (count == 0 || H5Dwrite(set, type, H5S_ALL, H5S_ALL, H5P_DEFAULT, values) >= 0);
  (void)H5Dclose(set);
  (void)H5Sclose(space);
  (void)H5Pclose(options);
  (void)H5Pclose(links);
  return good;
}

bool sap_fclib_put_reals(hid_t file, const char* name, int32_t count, const double* values) {
  return put_dataset(file, name, H5T_NATIVE_DOUBLE, count, values);
}

bool sap_fclib_put_integers(hid_t file, const char* name, int32_t count, const int32_t* values) {
  return put_dataset(file, name, H5T_NATIVE_INT32, count, values);
}

bool sap_fclib_put_keys(hid_t file, const char* name, int32_t count, const uint64_t* values) {
  return put_dataset(file, name, H5T_NATIVE_UINT64, count, values);
}

bool sap_fclib_put_matrix(hid_t file, const char* group, int32_t nrows,
                          const sap_fclib_columns* a) {
  static const char* const names[] = {"m", "n", "nz", "nzmax"};
  static const int32_t none = 0;
  const int32_t sizes[] = {nrows, a->ncols, -1, a->count};
  char name[NAME_SIZE];
  bool good = true;
  for (int i = 0; i < 4 && good; ++i) {
    (void)snprintf(name, sizeof name, "%s/%s", group, names[i]);
    good = sap_fclib_put_integers(file, name, 1, &sizes[i]);
  }
  (void)snprintf(name, sizeof name, "%s/p", group);
  good = good && sap_fclib_put_integers(file, name, a->ncols + 1, a->ncols > 0 ? a->start : &none);
  (void)snprintf(name, sizeof name, "%s/i", group);
  good = good && sap_fclib_put_integers(file, name, a->count, a->row);
  (void)snprintf(name, sizeof name, "%s/x", group);
  return good && sap_fclib_put_reals(file, name, a->count, a->x);
}

static bool is_identity(const double* J, int32_t n) {
  for (int32_t j = 0; j < n; ++j) {
    for (int32_t i = 0; i < n; ++i) {
      if (J[(size_t)j * (size_t)n + (size_t)i] != (i == j ? 1.0 : 0.0)) {
        return false;
      }
    }
  }
  return true;
}

// Checks that the problem has the local form: a block per tree, J = I, v_hat = 0; friction cones,
// then at most one rigid free block.
static sap_status check_local(const sap_problem* problem, int32_t* ncontacts, sap_error* error) {
  const int32_t nblocks = sap_problem_block_count(problem);
  *ncontacts = nblocks;
  if (nblocks != sap_problem_tree_count(problem)) {
    return sap_fail(error, SAP_STATUS_UNSUPPORTED,
                    "FCLIB's local form has a block for each tree, not %ld for %ld", (long)nblocks,
                    (long)sap_problem_tree_count(problem));
  }
  for (int32_t b = 0; b < nblocks; ++b) {
    sap_block block;
    SAP_TRY(sap_problem_block(problem, b, &block, NULL, error));
    const bool cone = block.set == SAP_SET_FRICTION_CONE && block.nrows == 3;
    const bool last = block.set == SAP_SET_FREE && b == nblocks - 1;
    bool fits = (cone || last) && block.ntrees == 1 && block.trees[0] == b &&
                sap_problem_tree_size(problem, b) == block.nrows &&
                is_identity(block.jacobians[0], block.nrows);
    for (int32_t i = 0; i < block.nrows && fits; ++i) {
      fits = block.v_hat[i] == 0.0 && (cone || block.R[i] == 0.0);
    }
    if (!fits) {
      return sap_fail(
          error, SAP_STATUS_UNSUPPORTED,
          "block %ld: FCLIB's local form holds friction cones of 3 rows, and rigid free "
          "rows last, on a tree of their own with J = I and v_hat = 0",
          (long)b);
    }
    *ncontacts -= cone ? 0 : 1;
  }
  return SAP_STATUS_OK;
}

static int32_t our_row(bool contact, int32_t component) {
  return contact ? sap_fclib_row(component) : component;
}

// Appends the columns of trees [columns[0], columns[1]) in the rows of trees [rows[0], rows[1]).
static sap_status gather_columns(const sap_problem* problem, int32_t ncontacts,
                                 const int32_t columns[2], const int32_t rows[2],
                                 sap_fclib_columns* out, sap_error* error) {
  for (int32_t b = columns[0]; b < columns[1]; ++b) {
    for (int32_t j = 0; j < sap_problem_tree_size(problem, b); ++j) {
      int32_t first = 0;
      for (int32_t a = rows[0]; a < rows[1]; ++a) {
        const double* block = sap_problem_mobility_block(problem, a, b);
        const int32_t na = sap_problem_tree_size(problem, a);
        const size_t column = (size_t)our_row(b < ncontacts, j);
        for (int32_t i = 0; i < na && block != NULL; ++i) {
          const double x = block[column * (size_t)na + (size_t)our_row(a < ncontacts, i)];
          if (x != 0.0 || signbit(x) != 0) {
            SAP_TRY(sap_fclib_append(out, first + i, x, error));
          }
        }
        first += na;
      }
      SAP_TRY(sap_fclib_end_column(out, error));
    }
  }
  return SAP_STATUS_OK;
}

// Writes mu, R and q in FCLIB's order, keys and dt.
static bool put_vectors(hid_t file, const sap_problem* problem, int32_t nc, double* q, double* R,
                        double* mu, uint64_t* keys) {
  static const int32_t spacedim = 3;
  const double* v_star = sap_problem_v_star(problem);
  bool any_R = false;
  for (int32_t c = 0; c < nc; ++c) {
    sap_block block;
    (void)sap_problem_block(problem, c, &block, NULL, NULL);
    mu[c] = block.friction;
    keys[c] = block.key;
    for (int32_t k = 0; k < 3; ++k) {
      q[3 * c + k] = v_star[3 * c + sap_fclib_row(k)];
      R[3 * c + k] = block.R[sap_fclib_row(k)];
      any_R = any_R || R[3 * c + k] != 0.0;
    }
  }
  const double dt = sap_problem_dt(problem);
  return sap_fclib_put_integers(file, "fclib_local/spacedim", 1, &spacedim) &&
         sap_fclib_put_reals(file, "fclib_local/vectors/mu", nc, mu) &&
         sap_fclib_put_reals(file, "fclib_local/vectors/q", 3 * nc, q) &&
         (!any_R || sap_fclib_put_reals(file, "fclib_local/vectors/R", 3 * nc, R)) &&
         sap_fclib_put_keys(file, "sapstep/keys", nc, keys) &&
         sap_fclib_put_reals(file, "sapstep/dt", 1, &dt);
}

sap_status sap_fclib_put_local(hid_t file, const sap_problem* problem, sap_error* error) {
  int32_t nc = 0;
  SAP_TRY(check_local(problem, &nc, error));
  const int32_t ntrees = sap_problem_tree_count(problem);
  const int32_t contacts[2] = {0, nc}, last[2] = {nc, ntrees};
  double* memory = sap_allocate(7 * (size_t)nc + 1, sizeof *memory);
  uint64_t* keys = sap_allocate((size_t)nc + 1, sizeof *keys);
  sap_fclib_columns W = {0}, V = {0}, S = {0};
  sap_status status = memory != NULL && keys != NULL
                          ? gather_columns(problem, nc, contacts, contacts, &W, error)
                          : sap_fail(error, SAP_STATUS_MEMORY, "out of memory");
  if (status == SAP_STATUS_OK) {
    status = gather_columns(problem, nc, last, contacts, &V, error);
  }
  if (status == SAP_STATUS_OK) {
    status = gather_columns(problem, nc, last, last, &S, error);
  }
  if (status == SAP_STATUS_OK) {
    bool good = put_vectors(file, problem, nc, memory, memory + 3 * (size_t)nc,
                            memory + 6 * (size_t)nc, keys) &&
                sap_fclib_put_matrix(file, "fclib_local/W", 3 * nc, &W);
    if (good && nc < ntrees) {
      good = sap_fclib_put_matrix(file, "fclib_local/V", 3 * nc, &V) &&
             sap_fclib_put_matrix(file, "fclib_local/R", S.ncols, &S) &&
             sap_fclib_put_reals(file, "fclib_local/vectors/s", S.ncols,
                                 sap_problem_v_star(problem) + 3 * (size_t)nc);
    }
    status = good ? SAP_STATUS_OK
                  : sap_fail(error, SAP_STATUS_INTERNAL, "HDF5 could not store the problem");
  }
  sap_fclib_columns_clear(&W);
  sap_fclib_columns_clear(&V);
  sap_fclib_columns_clear(&S);
  sap_free(memory);
  sap_free(keys);
  return status;
}
#endif
