// SPDX-License-Identifier: BSD-3-Clause
// Writes datasets and sparse matrices to an HDF5 file in memory, and local problems.
#ifndef SAP_IO_PROBLEM_FILE_FCLIB_OUTPUT_H
#define SAP_IO_PROBLEM_FILE_FCLIB_OUTPUT_H

#include <sapstep/problem.h>

#include "core/error.h"

#ifdef SAPSTEP_HDF5
#include <hdf5.h>

// Compressed columns under construction: append a column's entries, then end the column.
typedef struct sap_fclib_columns {
  int32_t* start;  // (ncols + 1)
  int32_t* row;
  double* x;
  int32_t ncols, count;
  int32_t start_capacity, row_capacity, x_capacity;
} sap_fclib_columns;

sap_status sap_fclib_append(sap_fclib_columns* a, int32_t row, double x, sap_error* error);
sap_status sap_fclib_end_column(sap_fclib_columns* a, sap_error* error);
void sap_fclib_columns_clear(sap_fclib_columns* a);

// Return false if HDF5 fails. Missing groups are created; the dataset must not exist yet.
bool sap_fclib_put_reals(hid_t file, const char* name, int32_t count, const double* values);
bool sap_fclib_put_integers(hid_t file, const char* name, int32_t count, const int32_t* values);
bool sap_fclib_put_keys(hid_t file, const char* name, int32_t count, const uint64_t* values);
bool sap_fclib_put_matrix(hid_t file, const char* group, int32_t nrows, const sap_fclib_columns* a);

// Write a problem in one of the two forms.
sap_status sap_fclib_put_local(hid_t file, const sap_problem* problem, sap_error* error);
sap_status sap_fclib_put_global(hid_t file, const sap_problem* problem, sap_error* error);
#endif

#endif
