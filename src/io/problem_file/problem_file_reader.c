// SPDX-License-Identifier: BSD-3-Clause
// Reads contact problems and solutions from text; hands HDF5 files to the FCLIB reader.
#include <math.h>
#include <stdio.h>
#include <string.h>

#include <sapstep/problem_file.h>

#include "core/memory.h"
#include "core/platform.h"
#include "io/problem_file/fclib.h"
#include "io/problem_file/text_reader.h"
#include "linalg/dense.h"

enum { NAME_SIZE = 96 };  // room for "contact 2147483647 of 2147483647" and similar names

struct sap_problem_reader {
  char* hdf5_path;  // NULL: text
  bool hdf5_done;
  sap_text_reader text;
  double dt;
  int32_t ntrees;
  int64_t nv;
  int32_t* tree_sizes;   // (ntrees)
  double* matrices;      // the trees' blocks of A, concatenated
  int32_t matrix_count;  // numbers in `matrices`
  double* scratch;       // factor of a block, or Jacobians of a contact, column-major
};

sap_status sap_problem_reader_open(const char* path, sap_problem_reader** out, sap_error* error) {
  SAP_NOT_NULL(error, out);
  *out = NULL;
  SAP_NOT_NULL(error, path);
  sap_problem_reader* reader;
  SAP_TRY(SAP_NEW(&reader, 1, "problem file", error));
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
    sap_free(reader);
  }
}

static const double SYMMETRY_TOLERANCE = 1e-10;

static sap_status check_symmetric(const sap_text_reader* text, const char* name, int32_t n) {
  const double* a = text->values + 1;
  for (int32_t i = 0; i < n; ++i) {
    const double* row_i = a + (size_t)i * (size_t)n;
    if (!(row_i[i] > 0.0)) {
      return sap_text_fail(text, SAP_STATUS_NOT_SPD,
                           "%s is not positive definite, A(%ld,%ld) = %.17g", name, (long)i,
                           (long)i, row_i[i]);
    }
    for (int32_t j = 0; j < i; ++j) {
      const double* row_j = a + (size_t)j * (size_t)n;
      const double scale = sqrt(row_i[i]) * sqrt(row_j[j]);
      if (!(fabs(row_i[j] - row_j[i]) <= SYMMETRY_TOLERANCE * scale)) {
        return sap_text_fail(text, SAP_STATUS_NOT_SPD,
                             "%s is not symmetric, A(%ld,%ld) = %.17g, A(%ld,%ld) = %.17g", name,
                             (long)i, (long)j, row_i[j], (long)j, (long)i, row_j[i]);
      }
    }
  }
  return SAP_STATUS_OK;
}

// Fails with NOT_SPD unless the n x n matrix in values[1 ...] is symmetric and positive definite.
static sap_status check_spd(sap_problem_reader* reader, const char* name, int32_t n) {
  const sap_text_reader* text = &reader->text;
  SAP_TRY(check_symmetric(text, name, n));
  SAP_TRY(sap_text_pass(text, SAP_ROOM(&reader->text.pool, &reader->scratch, n * n, text->error)));
  memcpy(reader->scratch, text->values + 1, (size_t)n * (size_t)n * sizeof *reader->scratch);
  const int32_t broken = sap_dense_factorize(n, reader->scratch);
  if (broken >= 0) {
    return sap_text_fail(text, SAP_STATUS_NOT_SPD,
                         "%s is not positive definite, its leading %ld x %ld part is not", name,
                         (long)broken + 1, (long)broken + 1);
  }
  return SAP_STATUS_OK;
}

static sap_status read_sizes(sap_problem_reader* reader) {
  sap_text_reader* text = &reader->text;
  SAP_TRY(sap_text_numbers(text, NULL, 2, "the line 'dt ntrees'"));
  reader->dt = text->values[0];
  if (!(reader->dt > 0.0)) {
    return sap_text_fail(text, SAP_STATUS_SYNTAX, "dt = %.17g must be > 0 s", reader->dt);
  }
  return sap_text_integer(text, 1, 1, "ntrees", &reader->ntrees);
}

static sap_status read_tree(sap_problem_reader* reader, int32_t tree) {
  sap_text_reader* text = &reader->text;
  char name[NAME_SIZE];
  (void)snprintf(name, sizeof name, "A of tree %ld of %ld", (long)tree, (long)reader->ntrees);
  SAP_TRY(sap_text_numbers(text, NULL, -1, name));
  int32_t n = 0;
  (void)snprintf(name, sizeof name, "size n of tree %ld", (long)tree);
  SAP_TRY(sap_text_integer(text, 0, 1, name, &n));
  const int64_t wanted = (int64_t)n * n;
  if (text->value_count - 1 != wanted) {
    return sap_text_fail(text, SAP_STATUS_SYNTAX,
                         "tree %ld of size %ld needs %lld numbers for A, found %ld", (long)tree,
                         (long)n, (long long)wanted, (long)text->value_count - 1);
  }
  (void)snprintf(name, sizeof name, "A of tree %ld", (long)tree);
  SAP_TRY(check_spd(reader, name, n));
  const int32_t count = (int32_t)wanted;
  if (count > INT32_MAX - reader->matrix_count) {
    return sap_text_fail(text, SAP_STATUS_MEMORY, "A has more than 2^31 numbers");
  }
  SAP_TRY(sap_text_pass(text,
                        SAP_ROOM(&reader->text.pool, &reader->tree_sizes, tree + 1, text->error)));
  SAP_TRY(sap_text_pass(text, SAP_ROOM(&reader->text.pool, &reader->matrices,
                                       reader->matrix_count + count, text->error)));
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

static sap_status read_trees(sap_problem_reader* reader, sap_problem* problem) {
  const sap_text_reader* text = &reader->text;
  reader->matrix_count = 0;
  reader->nv = 0;
  for (int32_t tree = 0; tree < reader->ntrees; ++tree) {
    SAP_TRY(read_tree(reader, tree));
  }
  SAP_TRY(sap_text_pass(text, sap_problem_reset(problem, reader->dt, reader->ntrees,
                                                reader->tree_sizes, text->error)));
  const double* a = reader->matrices;
  for (int32_t tree = 0; tree < reader->ntrees; ++tree) {
    const int32_t n = reader->tree_sizes[tree];
    SAP_TRY(sap_text_pass(text,
                          sap_problem_set_momentum_block(problem, tree, tree, a, n, text->error)));
    a += (size_t)n * (size_t)n;
  }
  return SAP_STATUS_OK;
}

static sap_status read_velocities(sap_problem_reader* reader, sap_problem* problem) {
  sap_text_reader* text = &reader->text;
  SAP_TRY(sap_text_numbers(text, NULL, reader->nv, "v_star"));
  SAP_TRY(sap_text_pass(text, sap_problem_set_v_star(problem, text->values, text->error)));
  SAP_TRY(sap_text_numbers(text, NULL, reader->nv, "v_guess"));
  return sap_text_pass(text, sap_problem_set_v_guess(problem, text->values, text->error));
}

static sap_status read_contact_trees(const sap_problem_reader* reader, const char* name,
                                     int32_t trees[2], int32_t* ntrees) {
  const sap_text_reader* text = &reader->text;
  for (int32_t i = 0; i < 2; ++i) {
    char label[NAME_SIZE + 16];
    (void)snprintf(label, sizeof label, "%s: tree%c", name, i == 0 ? 'A' : 'B');
    SAP_TRY(sap_text_integer(text, i, i == 0 ? 0 : -1, label, &trees[i]));
    if (trees[i] >= reader->ntrees) {
      return sap_text_fail(text, SAP_STATUS_SYNTAX, "%s = %ld is out of range, there are %ld trees",
                           label, (long)trees[i], (long)reader->ntrees);
    }
  }
  if (trees[0] == trees[1]) {
    return sap_text_fail(text, SAP_STATUS_SYNTAX, "%s: treeA and treeB are both %ld", name,
                         (long)trees[0]);
  }
  *ntrees = trees[1] < 0 ? 1 : 2;
  return SAP_STATUS_OK;
}

enum { CONTACT_HEAD = 3 };  // treeA treeB mu, before R, v_hat and J

// Returns the number of rows of a contact whose line holds `count` numbers; 0: invalid count.
static int32_t rows_of(int32_t count, int64_t columns) {
  static const int32_t rows[] = {3, 4, 6};
  for (int i = 0; i < 3; ++i) {
    if (count == CONTACT_HEAD + rows[i] * (2 + columns)) {
      return rows[i];
    }
  }
  return 0;
}

static sap_status read_contact(sap_problem_reader* reader, sap_problem* problem, const char* name) {
  sap_text_reader* text = &reader->text;
  SAP_TRY(sap_text_numbers(text, NULL, -1, name));
  if (text->value_count < CONTACT_HEAD) {
    return sap_text_fail(text, SAP_STATUS_SYNTAX,
                         "%s needs %d numbers before its Jacobian, found %ld", name, CONTACT_HEAD,
                         (long)text->value_count);
  }
  int32_t trees[2];
  int32_t ntrees = 0;
  SAP_TRY(read_contact_trees(reader, name, trees, &ntrees));
  const int64_t columns =
      (int64_t)reader->tree_sizes[trees[0]] + (ntrees == 2 ? reader->tree_sizes[trees[1]] : 0);
  const int32_t nrows = rows_of(text->value_count, columns);
  if (nrows == 0) {
    return sap_text_fail(text, SAP_STATUS_SYNTAX,
                         "%s needs %lld numbers for 3 rows, %lld for 4 or %lld for 6, found %ld",
                         name, (long long)(CONTACT_HEAD + 3 * (2 + columns)),
                         (long long)(CONTACT_HEAD + 4 * (2 + columns)),
                         (long long)(CONTACT_HEAD + 6 * (2 + columns)), (long)text->value_count);
  }
  SAP_TRY(sap_text_pass(
      text, SAP_ROOM(&reader->text.pool, &reader->scratch, nrows * (int32_t)columns, text->error)));
  const double* rows = text->values + CONTACT_HEAD + 2 * nrows;
  double* jacobian = reader->scratch;
  const double* jacobians[2] = {NULL, NULL};
  for (int32_t i = 0; i < ntrees; ++i) {
    const int32_t n = reader->tree_sizes[trees[i]];
    jacobians[i] = jacobian;
    for (int32_t j = 0; j < n; ++j) {
      for (int32_t row = 0; row < nrows; ++row) {
        *jacobian++ = rows[(size_t)row * (size_t)n + (size_t)j];
      }
    }
    rows += (size_t)nrows * (size_t)n;
  }
  const sap_block block = {.set = SAP_SET_FRICTION_CONE,
                           .nrows = nrows,
                           .ntrees = ntrees,
                           .trees = trees,
                           .jacobians = jacobians,
                           .friction = text->values[2],
                           .R = text->values + CONTACT_HEAD,
                           .v_hat = text->values + CONTACT_HEAD + nrows};
  const sap_status status = sap_problem_add_block(problem, &block, text->error);
  if (status != SAP_STATUS_OK) {
    sap_error_prefix(text->error, "%s", name);
  }
  return sap_text_pass(text, status);
}

static sap_status read_contacts(sap_problem_reader* reader, sap_problem* problem) {
  int32_t count = 0;
  SAP_TRY(sap_text_numbers(&reader->text, NULL, 1, "the line 'ncontacts'"));
  SAP_TRY(sap_text_integer(&reader->text, 0, 0, "ncontacts", &count));
  for (int32_t i = 0; i < count; ++i) {
    char name[NAME_SIZE];
    (void)snprintf(name, sizeof name, "contact %ld of %ld", (long)i, (long)count);
    SAP_TRY(read_contact(reader, problem, name));
  }
  return SAP_STATUS_OK;
}

static sap_status read_problem(sap_problem_reader* reader, sap_problem* problem, bool* found) {
  SAP_TRY(sap_text_header(&reader->text, "sapstep_problem 1", found));
  if (!*found) {
    return SAP_STATUS_OK;
  }
  SAP_TRY(read_sizes(reader));
  SAP_TRY(read_trees(reader, problem));
  SAP_TRY(read_velocities(reader, problem));
  return read_contacts(reader, problem);
}

// Reads the only problem of an HDF5 file.
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
  SAP_NOT_NULL(error, reader, problem, found);
  *found = false;
  if (reader->hdf5_path != NULL) {
    return next_hdf5(reader, problem, found, error);
  }
  reader->text.error = error;
  if (reader->text.failed) {
    return sap_text_fail(&reader->text, SAP_STATUS_SYNTAX, "reading ended here before");
  }
  sap_c_locale guard;
  SAP_TRY(sap_c_locale_begin(&guard, error));
  sap_status status = read_problem(reader, problem, found);
  sap_c_locale_end(&guard);
  if (status != SAP_STATUS_OK) {
    *found = false;
    reader->text.failed = true;
    (void)sap_problem_reset(problem, 1.0, 0, NULL, NULL);
  }
  return status;
}

struct sap_solution_reader {
  sap_text_reader text;
  double cost;
  double* v;  // (nv)
  int32_t nv;
};

sap_status sap_solution_reader_open(const char* path, sap_solution_reader** out, sap_error* error) {
  SAP_NOT_NULL(error, out);
  *out = NULL;
  SAP_NOT_NULL(error, path);
  sap_solution_reader* reader;
  SAP_TRY(SAP_NEW(&reader, 1, "problem file", error));
  SAP_TRY_OR(sap_text_open(&reader->text, path, error), sap_free(reader));
  *out = reader;
  return SAP_STATUS_OK;
}

void sap_solution_reader_close(sap_solution_reader* reader) {
  if (reader != NULL) {
    sap_text_close(&reader->text);
    sap_free(reader);
  }
}

// Reads a whole solution before the caller's is changed; leaves gamma in text.values.
static sap_status read_solution(sap_solution_reader* reader, bool* found) {
  sap_text_reader* text = &reader->text;
  SAP_TRY(sap_text_header(text, "sapstep_solution 1", found));
  if (!*found) {
    return SAP_STATUS_OK;
  }
  SAP_TRY(sap_text_numbers(text, "cost", 1, "the line 'cost'"));
  reader->cost = text->values[0];
  SAP_TRY(sap_text_numbers(text, "v", -1, "the line 'v'"));
  reader->nv = text->value_count;
  SAP_TRY(sap_text_pass(text, SAP_ROOM(&reader->text.pool, &reader->v, reader->nv, text->error)));
  if (reader->nv > 0) {
    memcpy(reader->v, text->values, (size_t)reader->nv * sizeof *reader->v);
  }
  return sap_text_numbers(text, "gamma", -1, "the line 'gamma'");
}

sap_status sap_solution_reader_next(sap_solution_reader* reader, sap_solution* solution,
                                    bool* found, sap_error* error) {
  SAP_NOT_NULL(error, reader, solution, found);
  *found = false;
  sap_text_reader* text = &reader->text;
  text->error = error;
  if (text->failed) {
    return sap_text_fail(text, SAP_STATUS_SYNTAX, "reading ended here before");
  }
  sap_c_locale guard;
  SAP_TRY(sap_c_locale_begin(&guard, error));
  sap_status status = read_solution(reader, found);
  sap_c_locale_end(&guard);
  if (status == SAP_STATUS_OK && *found) {
    status = sap_solution_resize(solution, reader->nv, text->value_count, error);
  }
  if (status != SAP_STATUS_OK) {
    *found = false;
    text->failed = true;
    return status;
  }
  if (!*found) {
    return SAP_STATUS_OK;
  }
  solution->cost = reader->cost;
  if (reader->nv > 0) {
    memcpy(solution->v, reader->v, (size_t)reader->nv * sizeof *reader->v);
    memset(solution->impulse, 0, (size_t)reader->nv * sizeof *solution->impulse);
  }
  if (text->value_count > 0) {
    const size_t bytes = (size_t)text->value_count * sizeof *text->values;
    memcpy(solution->gamma, text->values, bytes);
    memset(solution->vc, 0, bytes);
  }
  return SAP_STATUS_OK;
}

sap_status sap_problem_file_solution(const char* path, const sap_problem* problem, int32_t index,
                                     sap_solution* solution, bool* found, sap_error* error) {
  SAP_FAIL_IF(path == NULL || problem == NULL || solution == NULL || found == NULL || index < 0,
              error, SAP_STATUS_ARGUMENT,
              "path, problem, solution or found is NULL, or index = %ld < 0", (long)index);
  *found = false;
  return sap_fclib_is_file(path)
             ? sap_fclib_read_solution(path, problem, index, solution, found, error)
             : SAP_STATUS_OK;
}
