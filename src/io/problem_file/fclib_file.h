// SPDX-License-Identifier: BSD-3-Clause
// Datasets and sparse matrices of files in FCLIB's layout (fclib 3.1; Acary, Bremond, Huber 2014):
// read with checks, and written.
//   /fclib_local   u = W r + V l + q,  0 = V' r + R l + s: matrices W [V R], vectors mu q [s]
//   /fclib_global  M v = H r + G l + f,  u = H' v + w,  0 = G' v + b: M H [G], vectors mu f w [b]
//   a matrix       {m n nz nzmax p i x}: nz >= 0 triplets (p columns, i rows), -1 CSC, -2 CSR
//   /spacedim 3;  components of r, u, q, w are N T1 T2, ours T1 T2 N
//   /solution      {v u r l}
// Our extensions: vectors/R, the regularization of r (without it a problem is rigid), and in
// /sapstep the data that restore a problem bit by bit:
//   dt, tree_sizes, v_star, v_guess
//   blocks       set, nrows, ntrees of each block
//   block_trees  trees of each block;  keys
//   G_R          regularization of free rows, whose Jacobians are in G
//   K, K_R, K_v_hat, K_lower, K_upper, K_friction
//                rows other than free rows and friction cones of 3 rows
#pragma once

#include <hdf5.h>

#include <sapstep/problem.h>

#include "core/memory.h"

// Failures fill `error`. All arrays below are in the pool.
typedef struct sap_fclib_file {
  hid_t id;  // -1: not open
  const char* path;
  sap_pool pool;
  sap_error* error;
} sap_fclib_file;

// Adds an array to the pool, sized by its pointer.
#define SAP_FCLIB_ADD(file, array, count) \
  SAP_POOL_ADD(&(file)->pool, (array), (count), (file)->error)

typedef struct sap_fclib_reals {
  double* values;
  int32_t count;
} sap_fclib_reals;

typedef struct sap_fclib_integers {
  int32_t* values;
  int32_t count;
} sap_fclib_integers;

// Compressed columns, rows ascending.
typedef struct sap_fclib_matrix {
  int32_t nrows, ncols, count;
  int32_t* start;  // (ncols + 1)
  int32_t* row;    // (count)
  double* x;       // (count)
} sap_fclib_matrix;

// Fails with "path: dataset '/name': ...".
#define sap_fclib_fail(file, status, name, ...) \
  sap_fclib_locate((file), (name), sap_fail((file)->error, (status), __VA_ARGS__))
sap_status sap_fclib_locate(const sap_fclib_file* file, const char* name, sap_status status);

enum { SAP_FCLIB_ANY = -1 };  // any number of values

bool sap_fclib_has(const sap_fclib_file* file, const char* name);
// Read `expected` values or SAP_FCLIB_ANY. Reals must be finite, bounds may be any number.
sap_status sap_fclib_read_reals(sap_fclib_file* file, const char* name, int64_t expected,
                                sap_fclib_reals* out);
sap_status sap_fclib_read_bounds(sap_fclib_file* file, const char* name, int64_t expected,
                                 sap_fclib_reals* out);
sap_status sap_fclib_read_integers(sap_fclib_file* file, const char* name, int64_t expected,
                                   sap_fclib_integers* out);
sap_status sap_fclib_read_keys(sap_fclib_file* file, const char* name, int64_t expected,
                               uint64_t** out);
// Adds an array of zeros.
sap_status sap_fclib_zeros(sap_fclib_file* file, int32_t count, sap_fclib_reals* out);
// Adds a matrix without columns that has room for `ncols` columns and `entries` numbers.
sap_status sap_fclib_start_matrix(sap_fclib_file* file, int32_t nrows, int32_t ncols,
                                  int64_t entries, sap_fclib_matrix* out);
// Appends an entry to the next column; ends the column.
void sap_fclib_append(sap_fclib_matrix* a, int32_t row, double x);
void sap_fclib_end_column(sap_fclib_matrix* a);
// Reads the group's matrix, which must be nrows x ncols. Sums duplicates.
sap_status sap_fclib_read_matrix(sap_fclib_file* file, const char* group, int32_t nrows,
                                 int32_t ncols, sap_fclib_matrix* out);
// Copies a block that begins at (row, column), column-major.
void sap_fclib_gather(const sap_fclib_matrix* a, int32_t row, int32_t nrows, int32_t column,
                      int32_t ncols, double* block);

// Reads the time step; 1 s if the file has none.
sap_status sap_fclib_read_dt(sap_fclib_file* file, double* dt);
// Reads mu (nc) >= 0; spacedim must be 3.
sap_status sap_fclib_read_contacts(sap_fclib_file* file, const char* group, sap_fclib_reals* mu);
// Reads vectors/R in our order of rows; zeros if the file has none.
sap_status sap_fclib_read_R(sap_fclib_file* file, const char* group, int32_t ncontacts,
                            sap_fclib_reals* out);

// Return false if HDF5 fails. Missing groups are created; the dataset must not exist yet. No time of
// writing is stored: the same problem gives the same bytes.
#define SAP_FCLIB_PUT(file, name, count, values)          \
  sap_fclib_put_set((file), (name),                       \
                    _Generic(*(values), double            \
                             : H5T_NATIVE_DOUBLE, int32_t \
                             : H5T_NATIVE_INT32, uint64_t \
                             : H5T_NATIVE_UINT64),        \
                    (count), (values))
bool sap_fclib_put_set(const sap_fclib_file* file, const char* name, hid_t type, int32_t count,
                       const void* values);
bool sap_fclib_put_matrix(const sap_fclib_file* file, const char* group, const sap_fclib_matrix* a);

// Read a problem of one of the two forms, which resets the problem; write a global one.
sap_status sap_fclib_read_local(sap_fclib_file* file, sap_problem* problem);
sap_status sap_fclib_read_global(sap_fclib_file* file, sap_problem* problem);
sap_status sap_fclib_put_global(sap_fclib_file* file, const sap_problem* problem);

// Blocks by the place of their rows in a file: friction cones of 3 rows, free rows, all others.
enum { SAP_FCLIB_CONES, SAP_FCLIB_FREE, SAP_FCLIB_OTHER, SAP_FCLIB_KINDS };
static inline int sap_fclib_kind(sap_set set, int32_t nrows) {
  return set == SAP_SET_FRICTION_CONE && nrows == 3 ? SAP_FCLIB_CONES
         : set == SAP_SET_FREE                      ? SAP_FCLIB_FREE
                                                    : SAP_FCLIB_OTHER;
}
// Returns our row (T1 T2 N) of FCLIB's component (N T1 T2) of a cone.
static inline int32_t sap_fclib_row(int32_t component) {
  return (component + 2) % 3;
}

// --- global problems -----------------------------------------------------------------------------

// Trees and constraint blocks: read from /sapstep, or derived from M, H and G (fclib_blocks.c).
enum { SAP_FCLIB_SET, SAP_FCLIB_NROWS, SAP_FCLIB_NTREES, SAP_FCLIB_FIELDS };

// The rows of the blocks of one kind. For cones the file has N T1 T2 and w = -v_hat, for free rows
// b = -v_hat. A problem that is read has our order and sign.
typedef struct sap_fclib_rows {
  sap_fclib_matrix J;  // H, G or K: one column per row of J
  sap_fclib_reals R, v_hat;
} sap_fclib_rows;

typedef struct sap_fclib_global {
  sap_fclib_matrix M;
  sap_fclib_rows rows[SAP_FCLIB_KINDS];
  sap_fclib_reals mu, f, v_star, v_guess;
  sap_fclib_reals lower, upper, friction;  // of rows of other kinds
  bool exact;  // the file has /sapstep/blocks, which defines trees and blocks
  sap_fclib_integers tree_sizes;
  int32_t* tree_start;                     // (ntrees + 1)
  int32_t* tree_of;                        // tree of each velocity                  (nv)
  sap_fclib_integers blocks, block_trees;  // SAP_FCLIB_FIELDS per block
  uint64_t* keys;                          // NULL: none
} sap_fclib_global;

// Fills tree_sizes, tree_start and tree_of.
sap_status sap_fclib_find_trees(sap_fclib_file* file, sap_fclib_global* g);
// Fills blocks, block_trees and keys; checks that they match H, G and K.
sap_status sap_fclib_find_blocks(sap_fclib_file* file, sap_fclib_global* g);
// Adds the blocks to the problem in the order of the table.
sap_status sap_fclib_add_blocks(sap_fclib_file* file, const sap_fclib_global* g,
                                sap_problem* problem);
