// SPDX-License-Identifier: BSD-3-Clause

#include "io/problem_file/fclib_file.h"

#include <math.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>

#include "core/file.h"
#include "core/memory.h"
#include "io/hdf5/hdf5_set.h"

#ifdef SAPSTEP_HDF5
enum { MESSAGE_SIZE = 320 };

sap_status sap_fclib_open(const char* path, sap_fclib_file* file, sap_error* error) {
  *file = (sap_fclib_file){.id = -1, .path = path};
  SAP_TRY(sap_file_regular(path, error));  // HDF5 gives no reason if it cannot open
  file->id = H5Fopen(path, H5F_ACC_RDONLY, H5P_DEFAULT);
  if (file->id < 0 && H5Fis_hdf5(path) > 0) {
    sap_hdf5_silence_exit();
  }
  return file->id >= 0 ? SAP_STATUS_OK
                       : sap_fail(error, SAP_STATUS_SYNTAX,
                                  "%s: not an HDF5 file, or truncated or damaged", path);
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

// Opens a dataset of *count numbers. The caller closes it after a success only.
static sap_status open_set(const sap_fclib_file* file, const char* name, bool integer,
                           int64_t expected, sap_hdf5_set* set, int32_t* count, sap_error* error) {
  *set = (sap_hdf5_set){.id = -1, .type = -1};
  if (!sap_hdf5_set_open(file->id, name, set)) {
    sap_hdf5_set_close(set);
    return sap_fclib_fail(file, error, SAP_STATUS_SYNTAX, name, "missing, or not a dataset");
  }
  const hsize_t points = set->rows * set->row_values;
  sap_status status = SAP_STATUS_OK;
  if (set->kind != SAP_HDF5_INTEGERS && (integer || set->kind != SAP_HDF5_FLOATS)) {
    status = sap_fclib_fail(file, error, SAP_STATUS_SYNTAX, name, "does not hold %s",
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

// Reads a whole open dataset and closes it.
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
  SAP_TRY(open_set(file, name, false, expected, &set, &out->count, error));
  sap_status status = SAP_GROW(&out->values, &out->capacity, out->count, error);
  if (status != SAP_STATUS_OK) {
    sap_hdf5_set_close(&set);
    return status;
  }
  return read_set(file, name, &set, H5T_NATIVE_DOUBLE, out->values, error);
}

sap_status sap_fclib_read_reals(const sap_fclib_file* file, const char* name, int64_t expected,
                                sap_fclib_reals* out, sap_error* error) {
  SAP_TRY(sap_fclib_read_bounds(file, name, expected, out, error));
  for (int32_t i = 0; i < out->count; ++i) {
    if (!isfinite(out->values[i])) {
      return sap_fclib_fail(file, error, SAP_STATUS_NOT_FINITE, name, "[%ld] = %g must be finite",
                            (long)i, out->values[i]);
    }
  }
  return SAP_STATUS_OK;
}

sap_status sap_fclib_read_keys(const sap_fclib_file* file, const char* name, int64_t expected,
                               uint64_t** out, sap_error* error) {
  sap_hdf5_set set;
  int32_t count = 0;
  SAP_TRY(open_set(file, name, true, expected, &set, &count, error));
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
  SAP_TRY(open_set(file, name, true, expected, &set, &out->count, error));
  int64_t* wide = sap_allocate((size_t)out->count + 1, sizeof *wide);
  sap_status status = wide == NULL ? sap_fail(error, SAP_STATUS_MEMORY, "out of memory")
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

enum { NAME_SIZE = 128 };

typedef struct triplets {
  sap_fclib_integers row, column;
  sap_fclib_reals x;
  int32_t count;
} triplets;

static void name_part(char name[NAME_SIZE], const char* group, const char* part) {
  (void)snprintf(name, NAME_SIZE, "%s/%s", group, part);
}

// Expands the starts p of compressed columns or rows to an index per entry.
static sap_status expand(const sap_fclib_file* file, const char* name, int32_t lines,
                         sap_fclib_integers* p, int32_t* count, sap_error* error) {
  if (p->count != lines + 1) {
    return sap_fclib_fail(file, error, SAP_STATUS_SYNTAX, name, "%ld values, %ld expected",
                          (long)p->count, (long)lines + 1);
  }
  for (int32_t j = 0; j < lines; ++j) {
    if (p->values[j + 1] < p->values[j]) {
      return sap_fclib_fail(file, error, SAP_STATUS_SYNTAX, name, "[%ld] = %ld is less than %ld",
                            (long)j + 1, (long)p->values[j + 1], (long)p->values[j]);
    }
  }
  if (p->values[0] != 0) {
    return sap_fclib_fail(file, error, SAP_STATUS_SYNTAX, name, "[0] = %ld must be 0",
                          (long)p->values[0]);
  }
  const int32_t entries = p->values[lines];
  if (entries > *count) {
    return sap_fclib_fail(file, error, SAP_STATUS_SYNTAX, name,
                          "[%ld] = %ld entries, there are %ld", (long)lines, (long)entries,
                          (long)*count);
  }
  int32_t* index = sap_allocate((size_t)entries + 1, sizeof *index);
  if (index == NULL) {
    return sap_fail(error, SAP_STATUS_MEMORY, "out of memory");
  }
  for (int32_t j = 0; j < lines; ++j) {
    for (int32_t k = p->values[j]; k < p->values[j + 1]; ++k) {
      index[k] = j;
    }
  }
  sap_free(p->values);
  p->values = index;
  p->capacity = p->count = entries;
  *count = entries;
  return SAP_STATUS_OK;
}

static sap_status check_indices(const sap_fclib_file* file, const char* name,
                                const sap_fclib_integers* a, int32_t count, int32_t end,
                                sap_error* error) {
  for (int32_t k = 0; k < count; ++k) {
    if (a->values[k] < 0 || a->values[k] >= end) {
      return sap_fclib_fail(file, error, SAP_STATUS_SYNTAX, name, "[%ld] = %ld must be in [0, %ld)",
                            (long)k, (long)a->values[k], (long)end);
    }
  }
  return SAP_STATUS_OK;
}

static sap_status read_triplets(const sap_fclib_file* file, const char* group, int32_t nrows,
                                int32_t ncols, triplets* t, sap_error* error) {
  char name[NAME_SIZE], p_name[NAME_SIZE], i_name[NAME_SIZE];
  int32_t unused, nz = 0;
  name_part(name, group, "m");
  SAP_TRY(sap_fclib_read_integer(file, name, nrows, nrows, &unused, error));
  name_part(name, group, "n");
  SAP_TRY(sap_fclib_read_integer(file, name, ncols, ncols, &unused, error));
  name_part(name, group, "nz");
  SAP_TRY(sap_fclib_read_integer(file, name, -2, INT32_MAX, &nz, error));
  name_part(name, group, "x");
  name_part(p_name, group, "p");
  name_part(i_name, group, "i");
  SAP_TRY(sap_fclib_read_integers(file, p_name, SAP_FCLIB_ANY, &t->column, error));
  SAP_TRY(sap_fclib_read_integers(file, i_name, SAP_FCLIB_ANY, &t->row, error));
  SAP_TRY(sap_fclib_read_reals(file, name, SAP_FCLIB_ANY, &t->x, error));
  t->count = t->row.count < t->x.count ? t->row.count : t->x.count;
  if (nz >= 0) {
    t->count = t->column.count < t->count ? t->column.count : t->count;
    if (nz > t->count) {
      return sap_fclib_fail(file, error, SAP_STATUS_SYNTAX, name,
                            "nz = %ld triplets, p, i and x hold %ld", (long)nz, (long)t->count);
    }
    t->count = nz;
  } else {
    SAP_TRY(expand(file, p_name, nz == -1 ? ncols : nrows, &t->column, &t->count, error));
  }
  SAP_TRY(check_indices(file, i_name, &t->row, t->count, nz == -2 ? ncols : nrows, error));
  SAP_TRY(check_indices(file, p_name, &t->column, t->count, nz == -2 ? nrows : ncols, error));
  if (nz == -2) {
    const sap_fclib_integers swap = t->row;
    t->row = t->column;
    t->column = swap;
  }
  return SAP_STATUS_OK;
}

// Fills `order` with positions sorted by key, stable with respect to `from` (NULL: 0, 1, ...).
static void counting_sort(const int32_t* key, int32_t count, int32_t nkeys, const int32_t* from,
                          int32_t* start, int32_t* order) {
  memset(start, 0, ((size_t)nkeys + 1) * sizeof *start);
  for (int32_t k = 0; k < count; ++k) {
    start[key[k] + 1] += 1;
  }
  for (int32_t j = 0; j < nkeys; ++j) {
    start[j + 1] += start[j];
  }
  for (int32_t k = 0; k < count; ++k) {
    const int32_t at = from == NULL ? k : from[k];
    order[start[key[at]]++] = at;
  }
}

// Sums duplicates while it copies the sorted triplets.
static void fill_matrix(const triplets* t, const int32_t* order, sap_fclib_matrix* out) {
  int32_t next = 0, k = 0;
  for (int32_t j = 0; j < out->ncols; ++j) {
    out->start.values[j] = next;
    for (; k < t->count && t->column.values[order[k]] == j; ++k) {
      const int32_t row = t->row.values[order[k]];
      const double x = t->x.values[order[k]];
      if (next > out->start.values[j] && out->row.values[next - 1] == row) {
        out->x.values[next - 1] += x;
      } else {
        out->row.values[next] = row;
        out->x.values[next++] = x;
      }
    }
  }
  out->start.values[out->ncols] = next;
  out->start.count = out->ncols + 1;
  out->row.count = out->x.count = next;
}

static sap_status compress(const triplets* t, sap_fclib_matrix* out, sap_error* error) {
  const int32_t lines = out->nrows > out->ncols ? out->nrows : out->ncols;
  int32_t* start = sap_allocate((size_t)lines + 2, sizeof *start);
  int32_t* by_row = sap_allocate((size_t)t->count + 1, sizeof *by_row);
  int32_t* order = sap_allocate((size_t)t->count + 1, sizeof *order);
  sap_status status = start != NULL && by_row != NULL && order != NULL
                          ? SAP_STATUS_OK
                          : sap_fail(error, SAP_STATUS_MEMORY, "out of memory");
  if (status == SAP_STATUS_OK) {
    status = SAP_GROW(&out->start.values, &out->start.capacity, out->ncols + 1, error);
  }
  if (status == SAP_STATUS_OK) {
    status = SAP_GROW(&out->row.values, &out->row.capacity, t->count, error);
  }
  if (status == SAP_STATUS_OK) {
    status = SAP_GROW(&out->x.values, &out->x.capacity, t->count, error);
  }
  if (status == SAP_STATUS_OK) {
    counting_sort(t->row.values, t->count, out->nrows, NULL, start, by_row);
    counting_sort(t->column.values, t->count, out->ncols, by_row, start, order);
    fill_matrix(t, order, out);
  }
  sap_free(start);
  sap_free(by_row);
  sap_free(order);
  return status;
}

sap_status sap_fclib_read_matrix(const sap_fclib_file* file, const char* group, int32_t nrows,
                                 int32_t ncols, sap_fclib_matrix* out, sap_error* error) {
  triplets t = {0};
  out->nrows = nrows;
  out->ncols = ncols;
  sap_status status = read_triplets(file, group, nrows, ncols, &t, error);
  if (status == SAP_STATUS_OK) {
    status = compress(&t, out, error);
  }
  sap_fclib_integers_clear(&t.row);
  sap_fclib_integers_clear(&t.column);
  sap_fclib_reals_clear(&t.x);
  return status;
}

void sap_fclib_matrix_clear(sap_fclib_matrix* a) {
  sap_fclib_integers_clear(&a->start);
  sap_fclib_integers_clear(&a->row);
  sap_fclib_reals_clear(&a->x);
}
#endif
