// SPDX-License-Identifier: BSD-3-Clause
#include "io/problem_file/fclib_output.h"

#ifdef SAPSTEP_HDF5
#include <stdio.h>

#include "core/memory.h"

enum { NAME_SIZE = 128 };

sap_status sap_fclib_append(sap_fclib_columns* a, int32_t row, double x, sap_error* error) {
  if (a->count == INT32_MAX) {
    return sap_fail(error, SAP_STATUS_UNSUPPORTED, "a matrix with more than 2^31 entries");
  }
  sap_status status = SAP_GROW(&a->row, &a->row_capacity, a->count + 1, error);
  if (status == SAP_STATUS_OK) {
    status = SAP_GROW(&a->x, &a->x_capacity, a->count + 1, error);
  }
  if (status == SAP_STATUS_OK) {
    a->row[a->count] = row;
    a->x[a->count++] = x;
  }
  return status;
}

sap_status sap_fclib_end_column(sap_fclib_columns* a, sap_error* error) {
  const sap_status status = SAP_GROW(&a->start, &a->start_capacity, a->ncols + 2, error);
  if (status == SAP_STATUS_OK) {
    a->start[0] = 0;
    a->start[++a->ncols] = a->count;
  }
  return status;
}

void sap_fclib_columns_clear(sap_fclib_columns* a) {
  sap_free(a->start);
  sap_free(a->row);
  sap_free(a->x);
  *a = (sap_fclib_columns){0};
}

// Without the time of writing: the same problem gives the same bytes.
static bool put(hid_t file, const char* name, hid_t type, int32_t count, const void* values) {
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
  return put(file, name, H5T_NATIVE_DOUBLE, count, values);
}

bool sap_fclib_put_integers(hid_t file, const char* name, int32_t count, const int32_t* values) {
  return put(file, name, H5T_NATIVE_INT32, count, values);
}

bool sap_fclib_put_keys(hid_t file, const char* name, int32_t count, const uint64_t* values) {
  return put(file, name, H5T_NATIVE_UINT64, count, values);
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
#endif
