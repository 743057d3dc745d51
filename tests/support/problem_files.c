// SPDX-License-Identifier: BSD-3-Clause
#define _POSIX_C_SOURCE 200809L
#include "support/problem_files.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>
#include <hdf5.h>

#include "support/skip.h"

sap_status problem_file_read(const char* path, sap_problem* problem, sap_error* error) {
  const sap_status status = sap_problem_file_read(path, problem, error);
  if (status != SAP_STATUS_OK) {
    assert_int_equal(sap_problem_tree_count(problem), 0);
    assert_int_equal(sap_problem_block_count(problem), 0);
  }
  return status;
}

sap_problem* problem_file_new(const char* path) {
  sap_problem* problem = NULL;
  sap_error error = {0};
  assert_int_equal(sap_problem_create(&problem, NULL), SAP_STATUS_OK);
  if (problem_file_read(path, problem, &error) != SAP_STATUS_OK) {
    fail_msg("%s", error.message);
  }
  return problem;
}

int problem_file_numbers(const char* path, const char* name, int most, double* values) {
  const hid_t file = H5Fopen(path, H5F_ACC_RDONLY, H5P_DEFAULT);
  assert_true(file >= 0);
  const hid_t set = H5Lexists(file, name, H5P_DEFAULT) > 0 ? H5Dopen2(file, name, H5P_DEFAULT) : -1;
  int count = -1;
  if (set >= 0) {
    const hid_t space = H5Dget_space(set);
    count = (int)H5Sget_simple_extent_npoints(space);
    assert_true(count <= most);
    assert_true(H5Dread(set, H5T_NATIVE_DOUBLE, H5S_ALL, H5S_ALL, H5P_DEFAULT, values) >= 0);
    H5Sclose(space);
    H5Dclose(set);
  }
  H5Fclose(file);
  return count;
}

FILE* problem_text_open(const char* shared, const char* name, const char* extension) {
  char path[1024];
  (void)snprintf(path, sizeof path, "%s/data/contact-problems/%s.%s", shared, name, extension);
  SKIP_WITHOUT(path);
  FILE* file = fopen(path, "r");
  assert_non_null(file);
  return file;
}

// The numbers of the next line after a word (NULL: none), to be freed; NULL at the end.
static double* read_line(FILE* file, const char* word, int* count) {
  char* line = NULL;
  size_t size = 0;
  const ssize_t length = getline(&line, &size, file);
  double* values = NULL;
  if (length > 0) {
    values = malloc((size_t)length * sizeof *values);
    assert_non_null(values);
    char* at = line;
    if (word != NULL) {
      assert_int_equal(strncmp(at, word, strlen(word)), 0);
      at += strlen(word);
    }
    *count = 0;
    for (char* end = NULL;; at = end) {
      const double value = strtod(at, &end);
      if (end == at) {
        break;
      }
      values[(*count)++] = value;
    }
  }
  free(line);
  return values;
}

static double* expect_line(FILE* file, const char* word, int expected, int* count) {
  double* values = read_line(file, word, count);
  assert_non_null(values);
  assert_true(expected < 0 || *count == expected);
  return values;
}

enum { TREES = 1024, PART = 4096 };

static void read_contact(FILE* file, const int32_t* sizes, sap_problem* problem) {
  int count = 0;
  double* values = expect_line(file, NULL, -1, &count);
  const int32_t trees[2] = {(int32_t)values[0], (int32_t)values[1]};
  const int32_t ntrees = trees[1] < 0 ? 1 : 2;
  const int32_t columns = sizes[trees[0]] + (ntrees == 2 ? sizes[trees[1]] : 0);
  const int32_t nrows = (count - 3) / (2 + columns);
  assert_int_equal(count, 3 + nrows * (2 + columns));
  const double* rows = values + 3 + (size_t)2 * (size_t)nrows;
  double J[PART];
  const double* jacobians[2] = {J, J};
  assert_true(nrows * columns <= PART);
  double* to = J;
  for (int32_t t = 0; t < ntrees; ++t) {
    const int32_t n = sizes[trees[t]];
    jacobians[t] = to;
    for (int32_t j = 0; j < n; ++j) {
      for (int32_t i = 0; i < nrows; ++i) {
        *to++ = rows[i * n + j];
      }
    }
    rows += (size_t)nrows * (size_t)n;
  }
  const sap_block block = {.set = SAP_SET_FRICTION_CONE,
                           .nrows = nrows,
                           .ntrees = ntrees,
                           .trees = trees,
                           .jacobians = jacobians,
                           .R = values + 3,
                           .v_hat = values + 3 + nrows,
                           .friction = values[2]};
  assert_int_equal(sap_problem_add_block(problem, &block, NULL), SAP_STATUS_OK);
  free(values);
}

bool problem_text_next(FILE* file, sap_problem* problem) {
  int count = 0;
  double* values = read_line(file, "sapstep_problem", &count);
  if (values == NULL) {
    return false;
  }
  free(values);
  values = expect_line(file, NULL, 2, &count);
  const double dt = values[0];
  const int32_t ntrees = (int32_t)values[1];
  free(values);
  int32_t sizes[TREES], nv = 0;
  double* A[TREES];
  assert_true(ntrees <= TREES);
  for (int32_t t = 0; t < ntrees; ++t) {
    A[t] = expect_line(file, NULL, -1, &count);
    sizes[t] = (int32_t)A[t][0];
    nv += sizes[t];
    assert_int_equal(count, 1 + sizes[t] * sizes[t]);
  }
  assert_int_equal(sap_problem_reset(problem, dt, ntrees, sizes, NULL), SAP_STATUS_OK);
  for (int32_t t = 0; t < ntrees; ++t) {  // symmetric: rows are columns
    assert_int_equal(sap_problem_set_momentum_block(problem, t, t, A[t] + 1, sizes[t], NULL),
                     SAP_STATUS_OK);
    free(A[t]);
  }
  for (int i = 0; i < 2; ++i) {
    values = expect_line(file, NULL, nv, &count);
    assert_int_equal(i == 0 ? sap_problem_set_v_star(problem, values, NULL)
                            : sap_problem_set_v_guess(problem, values, NULL),
                     SAP_STATUS_OK);
    free(values);
  }
  values = expect_line(file, NULL, 1, &count);
  const int contacts = (int)values[0];
  free(values);
  for (int c = 0; c < contacts; ++c) {
    read_contact(file, sizes, problem);
  }
  return true;
}

bool solution_text_next(FILE* file, sap_solution* solution) {
  int count = 0, nv = 0;
  double* values = read_line(file, "sapstep_solution", &count);
  if (values == NULL) {
    return false;
  }
  free(values);
  double* cost = expect_line(file, "cost", 1, &count);
  double* v = expect_line(file, "v", -1, &nv);
  double* gamma = expect_line(file, "gamma", -1, &count);
  assert_int_equal(sap_solution_resize(solution, nv, count, NULL), SAP_STATUS_OK);
  solution->cost = cost[0];
  memcpy(solution->v, v, (size_t)nv * sizeof *v);
  memcpy(solution->gamma, gamma, (size_t)count * sizeof *gamma);
  free(cost);
  free(v);
  free(gamma);
  return true;
}

void problem_text_put(scratch* s, const char* name, const char* text) {
  char path[SCRATCH_PATH_SIZE];
  sap_problem* problem = NULL;
  sap_error error = {0};
  FILE* file = fmemopen((void*)(uintptr_t)text, strlen(text), "r");
  assert_non_null(file);
  assert_int_equal(sap_problem_create(&problem, NULL), SAP_STATUS_OK);
  assert_true(problem_text_next(file, problem));
  (void)fclose(file);
  if (sap_problem_file_write(scratch_path(s, name, path), problem, NULL, &error) != SAP_STATUS_OK) {
    fail_msg("%s", error.message);
  }
  sap_problem_destroy(problem);
}
