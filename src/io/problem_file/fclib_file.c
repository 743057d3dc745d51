// SPDX-License-Identifier: BSD-3-Clause
#include "io/problem_file/fclib_file.h"

#ifdef SAPSTEP_HDF5
#include <math.h>
#include <stdarg.h>
#include <stdio.h>

#include "core/file.h"
#include "core/memory.h"
#include "io/hdf5/hdf5_set.h"
#include "io/hdf5/hdf5_silence.h"

enum { MESSAGE_SIZE = 320 };

sap_status sap_fclib_open(const char* path, sap_fclib_file* file, sap_error* error) {
  *file = (sap_fclib_file){.id = -1, .path = path};
  const sap_status status = sap_file_regular(path, error);  // HDF5 does not tell why it cannot open
  if (status != SAP_STATUS_OK) {
    return status;
  }
  file->id = H5Fopen(path, H5F_ACC_RDONLY, H5P_DEFAULT);
  if (file->id < 0 && H5Fis_hdf5(path) > 0) {
    sap_hdf5_silence_exit();
  }
  return file->id >= 0
             ? SAP_STATUS_OK
             : sap_fail(error, SAP_STATUS_SYNTAX, "%s: no HDF5 file, or cut off or damaged", path);
}

void sap_fclib_close(sap_fclib_file* file) {
  if (file->id >= 0) {
    (void)H5Fclose(file->id);
    file->id = -1;
  }
}

sap_status sap_fclib_fail(const sap_fclib_file* file, sap_error* error, sap_status status,
                          const char* name, const char* format, ...) {
  char message[MESSAGE_SIZE];
  va_list arguments;
  va_start(arguments, format);
  (void)vsnprintf(message, sizeof message, format, arguments);
  va_end(arguments);
  return sap_fail(error, status, "%s: dataset '/%s': %s", file->path, name, message);
}

bool sap_fclib_has(const sap_fclib_file* file, const char* name) {
  return sap_hdf5_exists(file->id, name);
}

// Opens a dataset of numbers, which is to be closed after a success alone; *count values.
static sap_status open_set(const sap_fclib_file* file, const char* name, bool integer,
                           int64_t expected, sap_hdf5_set* set, int32_t* count, sap_error* error) {
  *set = (sap_hdf5_set){.id = -1, .type = -1};
  if (!sap_hdf5_set_open(file->id, name, set)) {
    sap_hdf5_set_close(set);
    return sap_fclib_fail(file, error, SAP_STATUS_SYNTAX, name, "missing or no dataset");
  }
  const hsize_t points = set->rows * set->row_values;
  sap_status status = SAP_STATUS_OK;
  if (set->kind != SAP_HDF5_INTEGERS && (integer || set->kind != SAP_HDF5_FLOATS)) {
    status = sap_fclib_fail(file, error, SAP_STATUS_SYNTAX, name, "holds no %s",
                            integer ? "integers" : "numbers");
  } else if (points > INT32_MAX) {
    status = sap_fclib_fail(file, error, SAP_STATUS_SYNTAX, name, "has more than 2^31 values");
  } else if (expected != SAP_FCLIB_ANY && points != (hsize_t)expected) {
    status = sap_fclib_fail(file, error, SAP_STATUS_SYNTAX, name, "%lld values, %lld expected",
                            (long long)points, (long long)expected);
  } else if (!sap_hdf5_set_fits(set)) {
    status = sap_fclib_fail(file, error, SAP_STATUS_SYNTAX, name,
                            "has %lld values, more than a file of this size can hold",
                            (long long)points);
  }
  if (status != SAP_STATUS_OK) {
    sap_hdf5_set_close(set);
    return status;
  }
  *count = (int32_t)points;
  return SAP_STATUS_OK;
}

// Reads all of an open set and closes it.
static sap_status read_set(const sap_fclib_file* file, const char* name, sap_hdf5_set* set,
                           hid_t type, void* to, sap_error* error) {
  const char* why;
  const sap_status status = sap_hdf5_set_read(set, 0, set->rows, type, to, &why);
  sap_hdf5_set_close(set);
  return status == SAP_STATUS_OK ? status : sap_fclib_fail(file, error, status, name, "%s", why);
}

sap_status sap_fclib_read_bounds(const sap_fclib_file* file, const char* name, int64_t expected,
                                 sap_fclib_reals* out, sap_error* error) {
  sap_hdf5_set set;
  sap_status status = open_set(file, name, false, expected, &set, &out->count, error);
  if (status != SAP_STATUS_OK) {
    return status;
  }
  status = SAP_GROW(&out->values, &out->capacity, out->count, error);
  if (status != SAP_STATUS_OK) {
    sap_hdf5_set_close(&set);
    return status;
  }
  return read_set(file, name, &set, H5T_NATIVE_DOUBLE, out->values, error);
}

sap_status sap_fclib_read_reals(const sap_fclib_file* file, const char* name, int64_t expected,
                                sap_fclib_reals* out, sap_error* error) {
  const sap_status status = sap_fclib_read_bounds(file, name, expected, out, error);
  for (int32_t i = 0; i < out->count && status == SAP_STATUS_OK; ++i) {
    if (!isfinite(out->values[i])) {
      return sap_fclib_fail(file, error, SAP_STATUS_NOT_FINITE, name, "[%ld] = %g must be finite",
                            (long)i, out->values[i]);
    }
  }
  return status;
}

sap_status sap_fclib_read_keys(const sap_fclib_file* file, const char* name, int64_t expected,
                               uint64_t** out, sap_error* error) {
  sap_hdf5_set set;
  int32_t count = 0;
  const sap_status status = open_set(file, name, true, expected, &set, &count, error);
  if (status != SAP_STATUS_OK) {
    return status;
  }
  *out = sap_allocate((size_t)count + 1, sizeof **out);
  if (*out == NULL) {
    sap_hdf5_set_close(&set);
    return sap_fail(error, SAP_STATUS_MEMORY, "out of memory");
  }
  return read_set(file, name, &set, H5T_NATIVE_UINT64, *out, error);
}

sap_status sap_fclib_read_integers(const sap_fclib_file* file, const char* name, int64_t expected,
                                   sap_fclib_integers* out, sap_error* error) {
  sap_hdf5_set set;
  sap_status status = open_set(file, name, true, expected, &set, &out->count, error);
  if (status != SAP_STATUS_OK) {
    return status;
  }
  int64_t* wide = sap_allocate((size_t)out->count + 1, sizeof *wide);
  status = wide == NULL ? sap_fail(error, SAP_STATUS_MEMORY, "out of memory")
                        : SAP_GROW(&out->values, &out->capacity, out->count, error);
  if (status == SAP_STATUS_OK) {
    status = read_set(file, name, &set, H5T_NATIVE_INT64, wide, error);
  } else {
    sap_hdf5_set_close(&set);
  }
  for (int32_t i = 0; i < out->count && status == SAP_STATUS_OK; ++i) {
    if (wide[i] < INT32_MIN || wide[i] > INT32_MAX) {
      status = sap_fclib_fail(file, error, SAP_STATUS_SYNTAX, name, "[%ld] = %lld is out of range",
                              (long)i, (long long)wide[i]);
    }
    out->values[i] = (int32_t)wide[i];
  }
  sap_free(wide);
  return status;
}

sap_status sap_fclib_read_integer(const sap_fclib_file* file, const char* name, int32_t low,
                                  int32_t high, int32_t* out, sap_error* error) {
  sap_fclib_integers values = {0};
  sap_status status = sap_fclib_read_integers(file, name, 1, &values, error);
  if (status == SAP_STATUS_OK && (values.values[0] < low || values.values[0] > high)) {
    status = low == high
                 ? sap_fclib_fail(file, error, SAP_STATUS_SYNTAX, name, "%ld must be %ld",
                                  (long)values.values[0], (long)low)
                 : sap_fclib_fail(file, error, SAP_STATUS_SYNTAX, name, "%ld must be in [%ld, %ld]",
                                  (long)values.values[0], (long)low, (long)high);
  }
  if (status == SAP_STATUS_OK) {
    *out = values.values[0];
  }
  sap_fclib_integers_clear(&values);
  return status;
}

void sap_fclib_reals_clear(sap_fclib_reals* a) {
  sap_free(a->values);
  *a = (sap_fclib_reals){0};
}

void sap_fclib_integers_clear(sap_fclib_integers* a) {
  sap_free(a->values);
  *a = (sap_fclib_integers){0};
}
#endif
