// SPDX-License-Identifier: BSD-3-Clause
// Small HDF5 files made dataset by dataset, for tests of what reads them.
#ifndef SAP_TESTS_HDF5_WRITE_H
#define SAP_TESTS_HDF5_WRITE_H

#include <stdint.h>

#include <hdf5.h>

// A scratch folder; HDF5 prints none of the errors that a test is there to make.
int hdf5_silent_setup(void** state);

hid_t hdf5_write_create(const char* path);
void hdf5_write_close(hid_t file);
// Replaces what is there; groups on the way are made.
void hdf5_write_reals(hid_t file, const char* name, int count, const double* values);
void hdf5_write_integers(hid_t file, const char* name, int count, const int32_t* values);
void hdf5_write_integer(hid_t file, const char* name, int32_t value);
void hdf5_write_text(hid_t file, const char* name, const char* text);
void hdf5_write_remove(hid_t file, const char* name);

// A dense matrix (row by row) as a sparse group; zeros are left out.
typedef enum hdf5_write_form {
  HDF5_WRITE_TRIPLETS,
  HDF5_WRITE_COLUMNS,
  HDF5_WRITE_ROWS
} hdf5_write_form;
void hdf5_write_matrix(hid_t file, const char* group, int m, int n, const double* dense,
                       hdf5_write_form form);
// A local FCLIB problem of n rows, N T1 T2 of each contact: u = W r + q. The file stays open.
hid_t hdf5_write_local(const char* path, int n, const double* W, const double* q, const double* mu,
                       hdf5_write_form form);

#endif
