// SPDX-License-Identifier: BSD-3-Clause
// Datasets and sparse matrices of an HDF5 file that is made in memory.
#ifndef SAP_IO_PROBLEM_FILE_FCLIB_OUTPUT_H
#define SAP_IO_PROBLEM_FILE_FCLIB_OUTPUT_H

#include <sapstep/problem.h>

#include "core/error.h"

#ifdef SAPSTEP_HDF5
#include <hdf5.h>

// By columns as they are appended: a column's entries, then sap_fclib_end_column.
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

// Each is false when HDF5 says no. Groups on the way are made; a dataset must not be there yet.
bool sap_fclib_put_reals(hid_t file, const char* name, int32_t count, const double* values);
bool sap_fclib_put_integers(hid_t file, const char* name, int32_t count, const int32_t* values);
bool sap_fclib_put_keys(hid_t file, const char* name, int32_t count, const uint64_t* values);
bool sap_fclib_put_matrix(hid_t file, const char* group, int32_t nrows, const sap_fclib_columns* a);

// The two forms.
sap_status sap_fclib_put_local(hid_t file, const sap_problem* problem, sap_error* error);
sap_status sap_fclib_put_global(hid_t file, const sap_problem* problem, sap_error* error);
#endif

#endif
