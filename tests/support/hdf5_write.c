// SPDX-License-Identifier: BSD-3-Clause
#include "support/hdf5_write.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "support/scratch.h"

int hdf5_silent_setup(void** state) {
  (void)H5Eset_auto2(H5E_DEFAULT, NULL, NULL);
  return scratch_setup(state);
}

hid_t hdf5_write_create(const char* path) {
  (void)remove(path);  // as in scratch_write
  const hid_t file = H5Fcreate(path, H5F_ACC_TRUNC, H5P_DEFAULT, H5P_DEFAULT);
  assert_true(file >= 0);
  return file;
}

void hdf5_write_close(hid_t file) {
  assert_true(H5Fclose(file) >= 0);
}

void hdf5_write_remove(hid_t file, const char* name) {
  assert_true(H5Ldelete(file, name, H5P_DEFAULT) >= 0);
}

static void write_set(hid_t file, const char* name, hid_t type, hsize_t count, const void* values) {
  H5E_auto2_t function;
  void* data;
  (void)H5Eget_auto2(H5E_DEFAULT, &function, &data);
  (void)H5Eset_auto2(H5E_DEFAULT, NULL, NULL);
  (void)H5Ldelete(file, name, H5P_DEFAULT);
  (void)H5Eset_auto2(H5E_DEFAULT, function, data);
  const hid_t links = H5Pcreate(H5P_LINK_CREATE), space = H5Screate_simple(1, &count, NULL);
  assert_true(H5Pset_create_intermediate_group(links, 1) >= 0);
  const hid_t set = H5Dcreate2(file, name, type, space, links, H5P_DEFAULT, H5P_DEFAULT);
  assert_true(set >= 0);
  assert_true(H5Dwrite(set, type, H5S_ALL, H5S_ALL, H5P_DEFAULT, values) >= 0);
  (void)H5Dclose(set);
  (void)H5Sclose(space);
  (void)H5Pclose(links);
}

void hdf5_write_reals(hid_t file, const char* name, int count, const double* values) {
  write_set(file, name, H5T_NATIVE_DOUBLE, (hsize_t)count, values);
}

void hdf5_write_integers(hid_t file, const char* name, int count, const int32_t* values) {
  write_set(file, name, H5T_NATIVE_INT32, (hsize_t)count, values);
}

void hdf5_write_integer(hid_t file, const char* name, int32_t value) {
  hdf5_write_integers(file, name, 1, &value);
}

void hdf5_write_text(hid_t file, const char* name, const char* text) {
  const hid_t type = H5Tcopy(H5T_C_S1);
  assert_true(H5Tset_size(type, strlen(text)) >= 0);
  write_set(file, name, type, 1, text);
  (void)H5Tclose(type);
}

// Entries in the order of columns, or of rows.
static int list_entries(int m, int n, const double* dense, bool by_rows, int32_t* line,
                        int32_t* index, double* x) {
  const int lines = by_rows ? m : n, others = by_rows ? n : m;
  int count = 0;
  for (int a = 0; a < lines; ++a) {
    for (int b = 0; b < others; ++b) {
      const double value = by_rows ? dense[a * n + b] : dense[b * n + a];
      if (value != 0.0) {
        line[count] = a;
        index[count] = b;
        x[count++] = value;
      }
    }
  }
  return count;
}

void hdf5_write_matrix(hid_t file, const char* group, int m, int n, const double* dense,
                       hdf5_write_form form) {
  char name[128];
  const size_t most = (size_t)m * (size_t)n + 1;
  int32_t* line = calloc(most, sizeof *line);
  int32_t* index = calloc(most, sizeof *index);
  double* x = calloc(most, sizeof *x);
  assert_true(line != NULL && index != NULL && x != NULL);
  const bool by_rows = form == HDF5_WRITE_ROWS;
  const int lines = by_rows ? m : n, count = list_entries(m, n, dense, by_rows, line, index, x);
  int32_t* start = calloc((size_t)lines + 1, sizeof *start);
  assert_non_null(start);
  for (int k = 0; k < count; ++k) {
    start[line[k] + 1] += 1;
  }
  for (int j = 0; j < lines; ++j) {
    start[j + 1] += start[j];
  }
  const bool triplets = form == HDF5_WRITE_TRIPLETS;
  const int32_t sizes[4] = {m, n, triplets ? count : (by_rows ? -2 : -1), count};
  static const char* const parts[4] = {"m", "n", "nz", "nzmax"};
  for (int i = 0; i < 4; ++i) {
    (void)snprintf(name, sizeof name, "%s/%s", group, parts[i]);
    hdf5_write_integer(file, name, sizes[i]);
  }
  (void)snprintf(name, sizeof name, "%s/p", group);
  hdf5_write_integers(file, name, triplets ? count : lines + 1, triplets ? line : start);
  (void)snprintf(name, sizeof name, "%s/i", group);
  hdf5_write_integers(file, name, count, index);
  (void)snprintf(name, sizeof name, "%s/x", group);
  hdf5_write_reals(file, name, count, x);
  free(line);
  free(index);
  free(x);
  free(start);
}

hid_t hdf5_write_local(const char* path, int n, const double* W, const double* q, const double* mu,
                       hdf5_write_form form) {
  const hid_t file = hdf5_write_create(path);
  hdf5_write_integer(file, "fclib_local/spacedim", 3);
  hdf5_write_matrix(file, "fclib_local/W", n, n, W, form);
  hdf5_write_reals(file, "fclib_local/vectors/q", n, q);
  hdf5_write_reals(file, "fclib_local/vectors/mu", n / 3, mu);
  return file;
}
