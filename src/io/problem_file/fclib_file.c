// SPDX-License-Identifier: BSD-3-Clause
#include "io/problem_file/fclib_file.h"

#include <math.h>
#include <stdio.h>
#include <string.h>

#include "io/hdf5/hdf5_set.h"
#include "solvers/islands.h"

enum { NAME_SIZE = 128, VALUE_SIZE = 8 };  // VALUE_SIZE: of double, int64_t and uint64_t

sap_status sap_fclib_locate(const sap_fclib_file* file, const char* name, sap_status status) {
  sap_error_prefix(file->error, "%s: dataset '/%s'", file->path, name);
  return status;
}

static void name_part(char name[NAME_SIZE], const char* group, const char* part) {
  (void)snprintf(name, NAME_SIZE, "%s/%s", group, part);
}

// --- reading datasets ---------------------------------------------------------------------------

bool sap_fclib_has(const sap_fclib_file* file, const char* name) {
  return sap_hdf5_exists(file->id, name);
}

static sap_status check_set(const sap_fclib_file* file, const char* name, bool integer,
                            int64_t expected, const sap_hdf5_set* set) {
  const hsize_t points = set->rows * set->row_values;
  SAP_RETURN_IF(set->kind != SAP_HDF5_INTEGERS && (integer || set->kind != SAP_HDF5_FLOATS),
                sap_fclib_fail(file, SAP_STATUS_SYNTAX, name, "does not hold %s",
                               integer ? "integers" : "numbers"));
  SAP_RETURN_IF(points > INT32_MAX,
                sap_fclib_fail(file, SAP_STATUS_SYNTAX, name, "has more than 2^31 values"));
  SAP_RETURN_IF(expected != SAP_FCLIB_ANY && points != (hsize_t)expected,
                sap_fclib_fail(file, SAP_STATUS_SYNTAX, name, "%lld values, %lld expected",
                               (long long)points, (long long)expected));
  return sap_hdf5_set_fits(set)
             ? SAP_STATUS_OK
             : sap_fclib_fail(file, SAP_STATUS_SYNTAX, name,
                              "has %lld values, more than a file of this size can hold",
                              (long long)points);
}

// Reads a dataset of numbers, or of integers only, converted to a type of 8 bytes.
static sap_status read_values(sap_fclib_file* file, const char* name, bool integer, hid_t type,
                              int64_t expected, void** values, int32_t* count) {
  sap_hdf5_set set;
  const char* why = NULL;
  sap_status status =
      sap_hdf5_set_open(file->id, name, &set)
          ? check_set(file, name, integer, expected, &set)
          : sap_fclib_fail(file, SAP_STATUS_SYNTAX, name, "missing, or not a dataset");
  if (status == SAP_STATUS_OK) {
    *count = (int32_t)(set.rows * set.row_values);
    status = sap_pool_add(&file->pool, values, (size_t)*count, VALUE_SIZE, file->error);
  }
  if (status == SAP_STATUS_OK) {
    status = sap_hdf5_set_read(&set, 0, set.rows, type, *values, &why);
    status = status == SAP_STATUS_OK ? status : sap_fclib_fail(file, status, name, "%s", why);
  }
  sap_hdf5_set_close(&set);
  return status;
}

sap_status sap_fclib_read_bounds(sap_fclib_file* file, const char* name, int64_t expected,
                                 sap_fclib_reals* out) {
  void* values;
  SAP_TRY(read_values(file, name, false, H5T_NATIVE_DOUBLE, expected, &values, &out->count));
  out->values = values;
  return SAP_STATUS_OK;
}

sap_status sap_fclib_read_reals(sap_fclib_file* file, const char* name, int64_t expected,
                                sap_fclib_reals* out) {
  SAP_TRY(sap_fclib_read_bounds(file, name, expected, out));
  for (int32_t i = 0; i < out->count; ++i) {
    SAP_RETURN_IF(!isfinite(out->values[i]),
                  sap_fclib_fail(file, SAP_STATUS_NOT_FINITE, name, "[%d] = %g must be finite", i,
                                 out->values[i]));
  }
  return SAP_STATUS_OK;
}

sap_status sap_fclib_read_keys(sap_fclib_file* file, const char* name, int64_t expected,
                               uint64_t** out) {
  void* values;
  int32_t count;
  SAP_TRY(read_values(file, name, true, H5T_NATIVE_UINT64, expected, &values, &count));
  *out = values;
  return SAP_STATUS_OK;
}

sap_status sap_fclib_read_integers(sap_fclib_file* file, const char* name, int64_t expected,
                                   sap_fclib_integers* out) {
  void* values;
  SAP_TRY(read_values(file, name, true, H5T_NATIVE_INT64, expected, &values, &out->count));
  const int64_t* wide = values;
  SAP_TRY(SAP_FCLIB_ADD(file, &out->values, out->count));
  for (int32_t i = 0; i < out->count; ++i) {
    SAP_RETURN_IF(wide[i] < INT32_MIN || wide[i] > INT32_MAX,
                  sap_fclib_fail(file, SAP_STATUS_SYNTAX, name, "[%d] = %lld is out of range", i,
                                 (long long)wide[i]));
    out->values[i] = (int32_t)wide[i];
  }
  return SAP_STATUS_OK;
}

// Reads a part of a group that is one integer in [low, high].
static sap_status read_integer(sap_fclib_file* file, const char* group, const char* part,
                               int32_t low, int32_t high, int32_t* out) {
  char name[NAME_SIZE];
  sap_fclib_integers values;
  name_part(name, group, part);
  SAP_TRY(sap_fclib_read_integers(file, name, 1, &values));
  *out = values.values[0];
  if (*out >= low && *out <= high) {
    return SAP_STATUS_OK;
  }
  return low == high ? sap_fclib_fail(file, SAP_STATUS_SYNTAX, name, "%d must be %d", *out, low)
                     : sap_fclib_fail(file, SAP_STATUS_SYNTAX, name, "%d must be in [%d, %d]", *out,
                                      low, high);
}

sap_status sap_fclib_zeros(sap_fclib_file* file, int32_t count, sap_fclib_reals* out) {
  out->count = count;
  return SAP_FCLIB_ADD(file, &out->values, count);
}

// --- reading matrices ---------------------------------------------------------------------------

typedef struct triplets {
  sap_fclib_integers row, column;
  sap_fclib_reals x;
  int32_t count;
} triplets;

// Expands the starts p of compressed columns or rows to an index per entry.
static sap_status expand(sap_fclib_file* file, const char* name, int32_t lines,
                         sap_fclib_integers* p, int32_t* count) {
  SAP_RETURN_IF(
      p->count != lines + 1,
      sap_fclib_fail(file, SAP_STATUS_SYNTAX, name, "%d values, %d expected", p->count, lines + 1));
  for (int32_t j = 0; j < lines; ++j) {
    SAP_RETURN_IF(p->values[j + 1] < p->values[j],
                  sap_fclib_fail(file, SAP_STATUS_SYNTAX, name, "[%d] = %d is less than %d", j + 1,
                                 p->values[j + 1], p->values[j]));
  }
  SAP_RETURN_IF(p->values[0] != 0,
                sap_fclib_fail(file, SAP_STATUS_SYNTAX, name, "[0] = %d must be 0", p->values[0]));
  const int32_t* start = p->values;
  SAP_RETURN_IF(start[lines] > *count,
                sap_fclib_fail(file, SAP_STATUS_SYNTAX, name, "[%d] = %d entries, there are %d",
                               lines, start[lines], *count));
  p->count = *count = start[lines];
  SAP_TRY(SAP_FCLIB_ADD(file, &p->values, p->count));
  for (int32_t j = 0; j < lines; ++j) {
    for (int32_t k = start[j]; k < start[j + 1]; ++k) {
      p->values[k] = j;
    }
  }
  return SAP_STATUS_OK;
}

static sap_status check_indices(const sap_fclib_file* file, const char* name,
                                const sap_fclib_integers* a, int32_t count, int32_t end) {
  for (int32_t k = 0; k < count; ++k) {
    SAP_RETURN_IF(a->values[k] < 0 || a->values[k] >= end,
                  sap_fclib_fail(file, SAP_STATUS_SYNTAX, name, "[%d] = %d must be in [0, %d)", k,
                                 a->values[k], end));
  }
  return SAP_STATUS_OK;
}

static sap_status read_triplets(sap_fclib_file* file, const char* group, int32_t nrows,
                                int32_t ncols, triplets* t) {
  char name[NAME_SIZE], p_name[NAME_SIZE], i_name[NAME_SIZE];
  int32_t unused, nz = 0;
  SAP_TRY(read_integer(file, group, "m", nrows, nrows, &unused));
  SAP_TRY(read_integer(file, group, "n", ncols, ncols, &unused));
  SAP_TRY(read_integer(file, group, "nz", -2, INT32_MAX, &nz));
  name_part(name, group, "x");
  name_part(p_name, group, "p");
  name_part(i_name, group, "i");
  SAP_TRY(sap_fclib_read_integers(file, p_name, SAP_FCLIB_ANY, &t->column));
  SAP_TRY(sap_fclib_read_integers(file, i_name, SAP_FCLIB_ANY, &t->row));
  SAP_TRY(sap_fclib_read_reals(file, name, SAP_FCLIB_ANY, &t->x));
  t->count = t->row.count < t->x.count ? t->row.count : t->x.count;
  if (nz >= 0) {
    t->count = t->column.count < t->count ? t->column.count : t->count;
    SAP_RETURN_IF(nz > t->count,
                  sap_fclib_fail(file, SAP_STATUS_SYNTAX, name,
                                 "nz = %d triplets, p, i and x hold %d", nz, t->count));
    t->count = nz;
  } else {
    SAP_TRY(expand(file, p_name, nz == -1 ? ncols : nrows, &t->column, &t->count));
  }
  SAP_TRY(check_indices(file, i_name, &t->row, t->count, nz == -2 ? ncols : nrows));
  SAP_TRY(check_indices(file, p_name, &t->column, t->count, nz == -2 ? nrows : ncols));
  if (nz == -2) {
    const sap_fclib_integers swap = t->row;
    t->row = t->column;
    t->column = swap;
  }
  return SAP_STATUS_OK;
}

// Sorts triplets by column, then row, and sums duplicates. file: of temporary memory.
static sap_status fill_matrix(sap_fclib_file* file, const triplets* t, int32_t ncols,
                              sap_fclib_matrix* out) {
  sap_sort_key* keys;
  SAP_TRY(SAP_FCLIB_ADD(file, &keys, 2 * (size_t)t->count));
  for (int32_t k = 0; k < t->count; ++k) {
    const uint64_t column = (uint64_t)t->column.values[k], row = (uint64_t)t->row.values[k];
    keys[k] = (sap_sort_key){.key = column << 32 | row, .index = k};
  }
  sap_merge_sort(keys, keys + t->count, t->count);
  for (int32_t j = 0, k = 0; j < ncols; ++j) {
    for (; k < t->count && t->column.values[keys[k].index] == j; ++k) {
      const int32_t row = t->row.values[keys[k].index];
      const double x = t->x.values[keys[k].index];
      if (out->count > out->start[j] && out->row[out->count - 1] == row) {
        out->x[out->count - 1] += x;
      } else {
        sap_fclib_append(out, row, x);
      }
    }
    sap_fclib_end_column(out);
  }
  return SAP_STATUS_OK;
}

sap_status sap_fclib_read_matrix(sap_fclib_file* file, const char* group, int32_t nrows,
                                 int32_t ncols, sap_fclib_matrix* out) {
  triplets t = {0};
  sap_fclib_file scratch = *file;
  scratch.pool.newest = NULL;
  sap_status status = read_triplets(&scratch, group, nrows, ncols, &t);
  SAP_THEN(status, sap_fclib_start_matrix(file, nrows, ncols, t.count, out));
  SAP_THEN(status, fill_matrix(&scratch, &t, ncols, out));
  sap_pool_free(&scratch.pool);
  return status;
}

// Returns the first entry of the column in `row` or below it.
static int32_t find_entry(const sap_fclib_matrix* a, int32_t row, int32_t column) {
  int32_t first = a->start[column], end = a->start[column + 1];
  while (first < end) {
    const int32_t middle = first + (end - first) / 2;
    if (a->row[middle] < row) {
      first = middle + 1;
    } else {
      end = middle;
    }
  }
  return first;
}

void sap_fclib_gather(const sap_fclib_matrix* a, int32_t row, int32_t nrows, int32_t column,
                      int32_t ncols, double* block) {
  memset(block, 0, (size_t)nrows * (size_t)ncols * sizeof *block);
  for (int32_t j = 0; j < ncols; ++j, ++column, block += nrows) {
    for (int32_t k = find_entry(a, row, column);
         k < a->start[column + 1] && a->row[k] < row + nrows; ++k) {
      block[a->row[k] - row] = a->x[k];
    }
  }
}

// --- building matrices --------------------------------------------------------------------------

sap_status sap_fclib_start_matrix(sap_fclib_file* file, int32_t nrows, int32_t ncols,
                                  int64_t entries, sap_fclib_matrix* out) {
  *out = (sap_fclib_matrix){.nrows = nrows};
  SAP_FAIL_IF(entries > INT32_MAX, file->error, SAP_STATUS_UNSUPPORTED,
              "a matrix with more than 2^31 entries");
  SAP_TRY(SAP_FCLIB_ADD(file, &out->start, (size_t)ncols + 1));
  SAP_TRY(SAP_FCLIB_ADD(file, &out->row, entries));
  return SAP_FCLIB_ADD(file, &out->x, entries);
}

void sap_fclib_append(sap_fclib_matrix* a, int32_t row, double x) {
  a->row[a->count] = row;
  a->x[a->count++] = x;
}

void sap_fclib_end_column(sap_fclib_matrix* a) {
  a->start[++a->ncols] = a->count;
}

// --- parts of both forms ------------------------------------------------------------------------

sap_status sap_fclib_read_dt(sap_fclib_file* file, double* dt) {
  sap_fclib_reals values;
  *dt = 1.0;
  if (!sap_fclib_has(file, "sapstep/dt")) {
    return SAP_STATUS_OK;
  }
  SAP_TRY(sap_fclib_read_reals(file, "sapstep/dt", 1, &values));
  *dt = values.values[0];
  return *dt > 0.0 ? SAP_STATUS_OK
                   : sap_fclib_fail(file, SAP_STATUS_SYNTAX, "sapstep/dt", "%g must be > 0 s", *dt);
}

sap_status sap_fclib_read_contacts(sap_fclib_file* file, const char* group, sap_fclib_reals* mu) {
  char name[NAME_SIZE];
  int32_t unused;
  SAP_TRY(read_integer(file, group, "spacedim", 3, 3, &unused));
  name_part(name, group, "vectors/mu");
  SAP_TRY(sap_fclib_read_reals(file, name, SAP_FCLIB_ANY, mu));
  SAP_RETURN_IF(mu->count > INT32_MAX / 9, sap_fclib_fail(file, SAP_STATUS_SYNTAX, name,
                                                          "%d contacts are too many", mu->count));
  for (int32_t i = 0; i < mu->count; ++i) {
    SAP_RETURN_IF(
        !(mu->values[i] >= 0.0),
        sap_fclib_fail(file, SAP_STATUS_SYNTAX, name, "[%d] = %g must be >= 0", i, mu->values[i]));
  }
  return SAP_STATUS_OK;
}

sap_status sap_fclib_read_R(sap_fclib_file* file, const char* group, int32_t ncontacts,
                            sap_fclib_reals* out) {
  char name[NAME_SIZE];
  name_part(name, group, "vectors/R");
  if (!sap_fclib_has(file, name)) {
    return sap_fclib_zeros(file, 3 * ncontacts, out);
  }
  SAP_TRY(sap_fclib_read_reals(file, name, 3 * (int64_t)ncontacts, out));
  for (int32_t i = 0; i < out->count; i += 3) {
    double* R = out->values + i;
    const double Rn = R[0];
    if (!(Rn >= 0.0) || !(R[1] >= 0.0) || R[1] != R[2]) {
      return sap_fclib_fail(file, SAP_STATUS_SYNTAX, name,
                            "of contact %d = (%g, %g, %g) must be >= 0 and equal in the tangents",
                            i / 3, Rn, R[1], R[2]);
    }
    R[0] = R[1];
    R[2] = Rn;
  }
  return SAP_STATUS_OK;
}

// --- writing ------------------------------------------------------------------------------------

bool sap_fclib_put_set(const sap_fclib_file* file, const char* name, hid_t type, int32_t count,
                       const void* values) {
  const hsize_t size = (hsize_t)count;
  const hid_t links = H5Pcreate(H5P_LINK_CREATE), options = H5Pcreate(H5P_DATASET_CREATE);
  const hid_t space = H5Screate_simple(1, &size, NULL);
  bool good = H5Pset_create_intermediate_group(links, 1) >= 0 &&
              H5Pset_obj_track_times(options, false) >= 0 && space >= 0;
  const hid_t set =
      good ? H5Dcreate2(file->id, name, type, space, links, options, H5P_DEFAULT) : -1;
  good =
      set >= 0 && (count == 0 || H5Dwrite(set, type, H5S_ALL, H5S_ALL, H5P_DEFAULT, values) >= 0);
  (void)H5Dclose(set);
  (void)H5Sclose(space);
  (void)H5Pclose(options);
  (void)H5Pclose(links);
  return good;
}

bool sap_fclib_put_matrix(const sap_fclib_file* file, const char* group,
                          const sap_fclib_matrix* a) {
  const int32_t sizes[] = {a->nrows, a->ncols, -1, a->count};
  const struct {
    const char* name;
    int32_t count;
    const int32_t* values;
  } parts[] = {{"m", 1, &sizes[0]},     {"n", 1, &sizes[1]},     {"nz", 1, &sizes[2]},
               {"nzmax", 1, &sizes[3]}, {"i", a->count, a->row}, {"p", a->ncols + 1, a->start}};
  char name[NAME_SIZE];
  bool good = true;
  for (size_t i = 0; i < sizeof parts / sizeof *parts && good; ++i) {
    name_part(name, group, parts[i].name);
    good = SAP_FCLIB_PUT(file, name, parts[i].count, parts[i].values);
  }
  name_part(name, group, "x");
  return good && SAP_FCLIB_PUT(file, name, a->count, a->x);
}
