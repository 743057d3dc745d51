// SPDX-License-Identifier: BSD-3-Clause
// Sparse matrices: whatever form the file has becomes triplets, then columns by two stable counting
// sorts.
#include "io/problem_file/fclib_file.h"

#ifdef SAPSTEP_HDF5
#include <stdio.h>
#include <string.h>

#include "core/memory.h"

enum { NAME_SIZE = 128 };

typedef struct triplets {
  sap_fclib_integers row, column;
  sap_fclib_reals x;
  int32_t count;
} triplets;

static void name_part(char name[NAME_SIZE], const char* group, const char* part) {
  (void)snprintf(name, NAME_SIZE, "%s/%s", group, part);
}

// The starts p of compressed columns or rows become an index for each entry.
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
  sap_status status = sap_fclib_read_integer(file, name, nrows, nrows, &unused, error);
  name_part(name, group, "n");
  if (status == SAP_STATUS_OK) {
    status = sap_fclib_read_integer(file, name, ncols, ncols, &unused, error);
  }
  name_part(name, group, "nz");
  if (status == SAP_STATUS_OK) {
    status = sap_fclib_read_integer(file, name, -2, INT32_MAX, &nz, error);
  }
  name_part(name, group, "x");
  name_part(p_name, group, "p");
  name_part(i_name, group, "i");
  if (status == SAP_STATUS_OK) {
    status = sap_fclib_read_integers(file, p_name, SAP_FCLIB_ANY, &t->column, error);
  }
  if (status == SAP_STATUS_OK) {
    status = sap_fclib_read_integers(file, i_name, SAP_FCLIB_ANY, &t->row, error);
  }
  if (status == SAP_STATUS_OK) {
    status = sap_fclib_read_reals(file, name, SAP_FCLIB_ANY, &t->x, error);
  }
  if (status != SAP_STATUS_OK) {
    return status;
  }
  t->count = t->row.count < t->x.count ? t->row.count : t->x.count;
  if (nz >= 0) {
    t->count = t->column.count < t->count ? t->column.count : t->count;
    if (nz > t->count) {
      return sap_fclib_fail(file, error, SAP_STATUS_SYNTAX, name,
                            "nz = %ld triplets, p, i and x hold %ld", (long)nz, (long)t->count);
    }
    t->count = nz;
  } else {
    status = expand(file, p_name, nz == -1 ? ncols : nrows, &t->column, &t->count, error);
  }
  if (status == SAP_STATUS_OK) {
    status = check_indices(file, i_name, &t->row, t->count, nz == -2 ? ncols : nrows, error);
  }
  if (status == SAP_STATUS_OK) {
    status = check_indices(file, p_name, &t->column, t->count, nz == -2 ? nrows : ncols, error);
  }
  if (nz == -2) {
    const sap_fclib_integers swap = t->row;
    t->row = t->column;
    t->column = swap;
  }
  return status;
}

// order: positions sorted by key, those with the same key as they come in `from` (NULL: 0, 1, ...).
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

static void fill(const triplets* t, const int32_t* order, sap_fclib_matrix* out) {
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
    fill(t, order, out);
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
