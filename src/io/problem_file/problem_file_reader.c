// SPDX-License-Identifier: BSD-3-Clause
// Reads contact problems from text.
#include <stdio.h>

#include <sapstep/problem_file.h>

#include "core/c_locale.h"
#include "core/memory.h"
#include "io/problem_file/fclib.h"
#include "io/problem_file/problem_file_reader.h"

sap_status sap_problem_reader_open(const char* path, sap_problem_reader** out, sap_error* error) {
  if (out == NULL) {
    return sap_fail(error, SAP_STATUS_ARGUMENT, "out is NULL");
  }
  *out = NULL;
  if (path == NULL) {
    return sap_fail(error, SAP_STATUS_ARGUMENT, "path is NULL");
  }
  sap_problem_reader* reader = sap_allocate(1, sizeof *reader);
  if (reader == NULL) {
    return sap_fail(error, SAP_STATUS_MEMORY, "out of memory");
  }
  sap_status status = SAP_STATUS_OK;
  if (sap_fclib_is_file(path)) {
    reader->hdf5_path = sap_duplicate_string(path);
    status = reader->hdf5_path != NULL ? SAP_STATUS_OK
                                       : sap_fail(error, SAP_STATUS_MEMORY, "out of memory");
  } else {
    status = sap_text_open(&reader->text, path, error);
  }
  if (status != SAP_STATUS_OK) {
    sap_free(reader);
    return status;
  }
  *out = reader;
  return SAP_STATUS_OK;
}

void sap_problem_reader_close(sap_problem_reader* reader) {
  if (reader != NULL) {
    sap_text_close(&reader->text);
    sap_free(reader->hdf5_path);
    sap_free(reader->tree_sizes);
    sap_free(reader->matrices);
    sap_free(reader->scratch);
    sap_free(reader);
  }
}

static sap_status read_sizes(sap_problem_reader* reader, sap_error* error) {
  sap_text_reader* text = &reader->text;
  sap_status status = sap_text_numbers(text, NULL, 2, "the line 'dt ntrees'", error);
  if (status != SAP_STATUS_OK) {
    return status;
  }
  reader->dt = text->values[0];
  if (!(reader->dt > 0.0)) {
    return sap_text_fail(text, error, SAP_STATUS_SYNTAX, "dt = %.17g must be > 0 s", reader->dt);
  }
  return sap_text_integer(text, 1, 1, "ntrees", &reader->ntrees, error);
}

static sap_status read_tree(sap_problem_reader* reader, int32_t tree, sap_error* error) {
  sap_text_reader* text = &reader->text;
  char name[SAP_PROBLEM_NAME_SIZE];
  (void)snprintf(name, sizeof name, "A of tree %ld of %ld", (long)tree, (long)reader->ntrees);
  sap_status status = sap_text_numbers(text, NULL, -1, name, error);
  if (status != SAP_STATUS_OK) {
    return status;
  }
  int32_t n = 0;
  (void)snprintf(name, sizeof name, "size n of tree %ld", (long)tree);
  status = sap_text_integer(text, 0, 1, name, &n, error);
  if (status != SAP_STATUS_OK) {
    return status;
  }
  const int64_t wanted = (int64_t)n * n;
  if (text->value_count - 1 != wanted) {
    return sap_text_fail(text, error, SAP_STATUS_SYNTAX,
                         "tree %ld of size %ld needs %lld numbers for A, found %ld", (long)tree,
                         (long)n, (long long)wanted, (long)text->value_count - 1);
  }
  (void)snprintf(name, sizeof name, "A of tree %ld", (long)tree);
  status = sap_text_check_spd(text, name, n, &reader->scratch, &reader->scratch_capacity, error);
  if (status != SAP_STATUS_OK) {
    return status;
  }
  const int32_t count = (int32_t)wanted;
  if (count > INT32_MAX - reader->matrix_count) {
    return sap_text_fail(text, error, SAP_STATUS_MEMORY, "A has more than 2^31 numbers");
  }
  status = SAP_GROW(&reader->tree_sizes, &reader->tree_capacity, tree + 1, error);
  if (status == SAP_STATUS_OK) {
    status =
        SAP_GROW(&reader->matrices, &reader->matrix_capacity, reader->matrix_count + count, error);
  }
  if (status != SAP_STATUS_OK) {
    return sap_text_pass(text, error, status);
  }
  reader->tree_sizes[tree] = n;
  double* a = reader->matrices + reader->matrix_count;
  for (int32_t i = 0; i < n; ++i) {
    for (int32_t j = 0; j < n; ++j) {
      const size_t row = (size_t)(i > j ? i : j), column = (size_t)(i > j ? j : i);
      a[(size_t)j * (size_t)n + (size_t)i] = text->values[1 + row * (size_t)n + column];
    }
  }
  reader->matrix_count += count;
  reader->nv += n;
  return SAP_STATUS_OK;
}

static sap_status read_trees(sap_problem_reader* reader, sap_problem* problem, sap_error* error) {
  reader->matrix_count = 0;
  reader->nv = 0;
  for (int32_t tree = 0; tree < reader->ntrees; ++tree) {
    const sap_status status = read_tree(reader, tree, error);
    if (status != SAP_STATUS_OK) {
      return status;
    }
  }
  sap_status status =
      sap_problem_reset(problem, reader->dt, reader->ntrees, reader->tree_sizes, error);
  const double* a = reader->matrices;
  for (int32_t tree = 0; tree < reader->ntrees && status == SAP_STATUS_OK; ++tree) {
    const int32_t n = reader->tree_sizes[tree];
    status = sap_problem_set_momentum_block(problem, tree, tree, a, n, error);
    a += (size_t)n * (size_t)n;
  }
  return status == SAP_STATUS_OK ? status : sap_text_pass(&reader->text, error, status);
}

static sap_status read_velocities(sap_problem_reader* reader, sap_problem* problem,
                                  sap_error* error) {
  sap_text_reader* text = &reader->text;
  sap_status status = sap_text_numbers(text, NULL, reader->nv, "v_star", error);
  if (status != SAP_STATUS_OK) {
    return status;
  }
  status = sap_problem_set_v_star(problem, text->values, error);
  if (status != SAP_STATUS_OK) {
    return sap_text_pass(text, error, status);
  }
  status = sap_text_numbers(text, NULL, reader->nv, "v_guess", error);
  if (status != SAP_STATUS_OK) {
    return status;
  }
  status = sap_problem_set_v_guess(problem, text->values, error);
  return status == SAP_STATUS_OK ? status : sap_text_pass(text, error, status);
}

static sap_status read_problem(sap_problem_reader* reader, sap_problem* problem, bool* found,
                               sap_error* error) {
  sap_status status = sap_text_header(&reader->text, "sapstep_problem 1", found, error);
  if (status != SAP_STATUS_OK || !*found) {
    return status;
  }
  status = read_sizes(reader, error);
  if (status == SAP_STATUS_OK) {
    status = read_trees(reader, problem, error);
  }
  if (status == SAP_STATUS_OK) {
    status = read_velocities(reader, problem, error);
  }
  if (status == SAP_STATUS_OK) {
    status = sap_problem_reader_contacts(reader, problem, error);
  }
  return status;
}

// The one problem of an HDF5 file.
static sap_status next_hdf5(sap_problem_reader* reader, sap_problem* problem, bool* found,
                            sap_error* error) {
  if (reader->hdf5_done) {
    return reader->text.failed ? sap_fail(error, SAP_STATUS_SYNTAX, "%s: reading ended here before",
                                          reader->hdf5_path)
                               : SAP_STATUS_OK;
  }
  const sap_status status = sap_fclib_read_problem(reader->hdf5_path, problem, error);
  reader->hdf5_done = true;
  reader->text.failed = status != SAP_STATUS_OK;
  *found = status == SAP_STATUS_OK;
  if (status != SAP_STATUS_OK) {
    (void)sap_problem_reset(problem, 1.0, 0, NULL, NULL);
  }
  return status;
}

sap_status sap_problem_reader_next(sap_problem_reader* reader, sap_problem* problem, bool* found,
                                   sap_error* error) {
  if (reader == NULL || problem == NULL || found == NULL) {
    return sap_fail(error, SAP_STATUS_ARGUMENT, "reader, problem or found is NULL");
  }
  *found = false;
  if (reader->hdf5_path != NULL) {
    return next_hdf5(reader, problem, found, error);
  }
  if (reader->text.failed) {
    return sap_text_fail(&reader->text, error, SAP_STATUS_SYNTAX, "reading ended here before");
  }
  sap_c_locale guard;
  sap_status status = sap_c_locale_begin(&guard, error);
  if (status != SAP_STATUS_OK) {
    return status;
  }
  status = read_problem(reader, problem, found, error);
  sap_c_locale_end(&guard);
  if (status != SAP_STATUS_OK) {
    *found = false;
    reader->text.failed = true;
    (void)sap_problem_reset(problem, 1.0, 0, NULL, NULL);
  }
  return status;
}
