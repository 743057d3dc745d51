// SPDX-License-Identifier: BSD-3-Clause
// Reads datasets and sparse matrices of an HDF5 file, with checks.
#ifndef SAP_IO_PROBLEM_FILE_FCLIB_FILE_H
#define SAP_IO_PROBLEM_FILE_FCLIB_FILE_H

#include <sapstep/problem.h>

#include "core/error.h"

#ifdef SAPSTEP_HDF5
#include <hdf5.h>

typedef struct sap_fclib_file {
  hid_t id;
  const char* path;
} sap_fclib_file;

typedef struct sap_fclib_reals {
  double* values;
  int32_t count, capacity;
} sap_fclib_reals;

typedef struct sap_fclib_integers {
  int32_t* values;
  int32_t count, capacity;
} sap_fclib_integers;

// Compressed columns, rows ascending, duplicates summed.
typedef struct sap_fclib_matrix {
  int32_t nrows, ncols;
  sap_fclib_integers start;  // (ncols + 1)
  sap_fclib_integers row;
  sap_fclib_reals x;
} sap_fclib_matrix;

sap_status sap_fclib_open(const char* path, sap_fclib_file* file, sap_error* error);
void sap_fclib_close(sap_fclib_file* file);

// Fails with "path: dataset '/name': ...".
sap_status sap_fclib_fail(const sap_fclib_file* file, sap_error* error, sap_status status,
                          const char* name, const char* format, ...) SAP_PRINTF(5, 6);

enum { SAP_FCLIB_ANY = -1 };  // any number of values

bool sap_fclib_has(const sap_fclib_file* file, const char* name);
// Read `expected` values or SAP_FCLIB_ANY. Reals must be finite, bounds may be any number.
sap_status sap_fclib_read_reals(const sap_fclib_file* file, const char* name, int64_t expected,
                                sap_fclib_reals* out, sap_error* error);
sap_status sap_fclib_read_bounds(const sap_fclib_file* file, const char* name, int64_t expected,
                                 sap_fclib_reals* out, sap_error* error);
sap_status sap_fclib_read_integers(const sap_fclib_file* file, const char* name, int64_t expected,
                                   sap_fclib_integers* out, sap_error* error);
sap_status sap_fclib_read_keys(const sap_fclib_file* file, const char* name, int64_t expected,
                               uint64_t** out, sap_error* error);
// Reads one value in [low, high].
sap_status sap_fclib_read_integer(const sap_fclib_file* file, const char* name, int32_t low,
                                  int32_t high, int32_t* out, sap_error* error);
// Reads the group's matrix, which must be nrows x ncols.
sap_status sap_fclib_read_matrix(const sap_fclib_file* file, const char* group, int32_t nrows,
                                 int32_t ncols, sap_fclib_matrix* out, sap_error* error);
void sap_fclib_reals_clear(sap_fclib_reals* a);
void sap_fclib_integers_clear(sap_fclib_integers* a);
void sap_fclib_matrix_clear(sap_fclib_matrix* a);

// Read the two forms of problems; each resets the problem.
sap_status sap_fclib_read_local(const sap_fclib_file* file, sap_problem* problem, sap_error* error);
sap_status sap_fclib_read_global(const sap_fclib_file* file, sap_problem* problem,
                                 sap_error* error);
// Reads the time step; 1 s if the file has none.
sap_status sap_fclib_read_dt(const sap_fclib_file* file, double* dt, sap_error* error);
// Reads mu (nc) >= 0; spacedim must be 3.
sap_status sap_fclib_read_contacts(const sap_fclib_file* file, const char* group,
                                   sap_fclib_reals* mu, sap_error* error);
// Reads vectors/R in our order of rows; zeros if the file has none.
sap_status sap_fclib_read_R(const sap_fclib_file* file, const char* group, int32_t ncontacts,
                            sap_fclib_reals* out, sap_error* error);
// Returns our row (T1 T2 N) of FCLIB's component (N T1 T2).
static inline int32_t sap_fclib_row(int32_t component) {
  return (component + 2) % 3;
}
#endif

#endif
