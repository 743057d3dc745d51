// SPDX-License-Identifier: BSD-3-Clause
#include "io/problem_file/problem_text.h"

#include <math.h>
#include <stdio.h>
#include <string.h>

#include "core/file.h"
#include "core/memory.h"
#include "io/xml/xml.h"

static const char FIRST_LINE[] = "sapstep_problem 1", BLANKS[] = " \t\r\n";
enum { MAX_FILE_BYTES = 1 << 30 };
static const double SYMMETRY_TOLERANCE = 1e-10;  // of A_ij, relative to sqrt(A_ii A_jj)

typedef struct text_file {
  const char* path;
  char *at, *end;         // what follows the line; the end of the file
  char *text, *text_end;  // the line, ends with 0; NULL: the file has ended
  int64_t line;           // its number
  bool ended;             // it has an end
  double* values;
  int32_t count;
  double* J;       // of a contact, by columns
  int32_t* sizes;  // of the trees read
  double* A;
  sap_pool pool;
  sap_error* error;
} text_file;

static sap_status locate(const text_file* file, sap_status status) {
  if (status != SAP_STATUS_OK) {
    sap_error_prefix(file->error, "%s:%lld", file->path, (long long)file->line);
  }
  return status;
}

#define FAIL(file, status, ...) locate((file), sap_fail((file)->error, (status), __VA_ARGS__))

bool sap_problem_text_is(const char* path) {
  char start[sizeof FIRST_LINE] = "";
  FILE* stream = fopen(path, "rb");
  const bool same = stream != NULL && fgets(start, sizeof start, stream) != NULL &&
                    strcmp(start, FIRST_LINE) == 0;
  if (stream != NULL) {
    (void)fclose(stream);
  }
  return same;
}

static void skip_line(text_file* file) {
  char* end = memchr(file->at, '\n', (size_t)(file->end - file->at));
  file->ended = end != NULL;
  file->text = file->at < file->end ? file->at : NULL;
  file->text_end = end != NULL ? end : file->end;
  file->line += file->text != NULL ? 1 : 0;
  file->at = end != NULL ? end + 1 : file->end;
  *file->text_end = '\0';
}

// Finds the next line that is not blank.
static sap_status next_line(text_file* file) {
  do {
    skip_line(file);
  } while (file->text != NULL && file->text + strspn(file->text, BLANKS) == file->text_end);
  return file->text == NULL || file->text + strlen(file->text) == file->text_end
             ? SAP_STATUS_OK
             : FAIL(file, SAP_STATUS_SYNTAX, "a byte of the line is 0: this is not text");
}

// Reads a line of `expected` numbers, or of any number (-1).
static sap_status read_numbers(text_file* file, int64_t expected, const char* what) {
  SAP_TRY(next_line(file));
  SAP_RETURN_IF(file->text == NULL,
                FAIL(file, SAP_STATUS_SYNTAX, "the file ends where %s should follow", what));
  file->count = 0;
  const char* at = file->text + strspn(file->text, BLANKS);
  for (; *at != '\0'; at += strspn(at, BLANKS)) {
    double value = 0.0;
    const size_t length = strcspn(at, BLANKS);
    const char* why = sap_word_number(at, (int)length, &value);
    SAP_RETURN_IF(why != NULL,
                  FAIL(file, isfinite(value) ? SAP_STATUS_SYNTAX : SAP_STATUS_NOT_FINITE,
                       "%s: '%.*s%s' %s", what, SAP_SHOWN(at, length), why));
    SAP_TRY(SAP_ROOM(&file->pool, &file->values, file->count + 1, file->error));
    file->values[file->count++] = value;
    at += length;
  }
  SAP_RETURN_IF(expected >= 0 && file->count != expected,
                FAIL(file, SAP_STATUS_SYNTAX, "%s: %lld numbers are needed, there are %d", what,
                     (long long)expected, (int)file->count));
  return file->ended ? SAP_STATUS_OK  // else its last number may have lost digits
                     : FAIL(file, SAP_STATUS_SYNTAX,
                            "%s: the line has no end, the file may be truncated", what);
}

// Takes an integer from the line.
static sap_status take_integer(const text_file* file, int32_t index, int32_t low, int32_t high,
                               const char* what, int32_t* out) {
  const double value = file->values[index];
  SAP_RETURN_IF(!(value >= low && value <= high && value == floor(value)),
                FAIL(file, SAP_STATUS_SYNTAX, "%s = %.17g must be an integer from %d to %d", what,
                     value, low, high));
  *out = (int32_t)value;
  return SAP_STATUS_OK;
}

static sap_status check_symmetric(const text_file* file, int32_t tree, int32_t n) {
  const double* A = file->values + 1;
  for (int32_t i = 0; i < n; ++i) {
    for (int32_t j = 0; j < i; ++j) {
      const double lower = A[i * n + j], upper = A[j * n + i];
      SAP_RETURN_IF(!(fabs(lower - upper) <=
                      SYMMETRY_TOLERANCE * sqrt(fabs(A[i * n + i])) * sqrt(fabs(A[j * n + j]))),
                    FAIL(file, SAP_STATUS_NOT_SPD,
                         "A of tree %d is not symmetric, A(%d,%d) = %.17g, A(%d,%d) = %.17g", tree,
                         i, j, lower, j, i, upper));
    }
  }
  return SAP_STATUS_OK;
}

static sap_status read_trees(text_file* file, sap_problem* problem, int32_t* ntrees, int64_t* nv) {
  int32_t read = 0;
  int64_t size = 0;
  SAP_TRY(read_numbers(file, 2, "dt and the number of trees"));
  const double dt = file->values[0];
  SAP_TRY(take_integer(file, 1, 1, INT32_MAX, "the number of trees", ntrees));
  for (*nv = 0; read < *ntrees; ++read) {
    int32_t n = 0;
    SAP_TRY(read_numbers(file, -1, "n and A of a tree"));
    SAP_TRY(take_integer(file, 0, 1, INT16_MAX, "n of a tree", &n));
    SAP_RETURN_IF(file->count != 1 + n * n,
                  FAIL(file, SAP_STATUS_SYNTAX, "A of tree %d: %d numbers are needed, there are %d",
                       read, (int)(n * n), (int)file->count - 1));
    SAP_TRY(check_symmetric(file, read, n));
    SAP_TRY(SAP_ROOM(&file->pool, &file->sizes, read + 1, file->error));
    SAP_TRY(SAP_ROOM(&file->pool, &file->A, size + n * n, file->error));
    memcpy(file->A + size, file->values + 1, (size_t)(n * n) * sizeof *file->A);
    file->sizes[read] = n;
    *nv += n;
    size += n * n;
  }
  SAP_TRY(locate(file, sap_problem_reset(problem, dt, *ntrees, file->sizes, file->error)));
  const double* A = file->A;  // symmetric: its rows are its columns
  for (int32_t t = 0; t < *ntrees; ++t) {
    const int32_t n = file->sizes[t];
    SAP_TRY(locate(file, sap_problem_set_momentum_block(problem, t, t, A, n, file->error)));
    A += n * n;
  }
  return SAP_STATUS_OK;
}

enum { HEAD = 3 };  // treeA treeB mu

static sap_status read_contact(text_file* file, sap_problem* problem, int32_t ntrees) {
  const int32_t* sizes = file->sizes;
  int32_t trees[2];
  SAP_TRY(read_numbers(file, -1, "a contact"));
  SAP_RETURN_IF(file->count < HEAD, FAIL(file, SAP_STATUS_SYNTAX,
                                         "a contact: there are only %d numbers", (int)file->count));
  SAP_TRY(take_integer(file, 0, 0, ntrees - 1, "treeA", &trees[0]));
  SAP_TRY(take_integer(file, 1, -1, ntrees - 1, "treeB", &trees[1]));
  const int32_t columns = sizes[trees[0]] + (trees[1] >= 0 ? sizes[trees[1]] : 0);
  const int32_t m = (file->count - HEAD) / (2 + columns);
  SAP_RETURN_IF(file->count != HEAD + m * (2 + columns) || (m != 3 && m != 4 && m != 6),
                FAIL(file, SAP_STATUS_SYNTAX,
                     "a contact of %d velocities: %d numbers are needed for 3 rows, there are %d",
                     (int)columns, (int)(HEAD + 3 * (2 + columns)), (int)file->count));
  SAP_TRY(SAP_ROOM(&file->pool, &file->J, (int64_t)m * columns, file->error));
  const double* rows = file->values + HEAD + 2 * m;
  const double* jacobians[2] = {file->J, file->J + m * sizes[trees[0]]};
  double* to = file->J;
  for (int32_t t = 0; t < (trees[1] >= 0 ? 2 : 1); ++t) {
    const int32_t n = sizes[trees[t]];
    for (int32_t j = 0; j < n; ++j) {
      for (int32_t i = 0; i < m; ++i) {
        *to++ = rows[i * n + j];
      }
    }
    rows += m * n;
  }
  const sap_block block = {.set = SAP_SET_FRICTION_CONE,
                           .nrows = m,
                           .ntrees = trees[1] >= 0 ? 2 : 1,
                           .trees = trees,
                           .jacobians = jacobians,
                           .friction = file->values[2],
                           .R = file->values + HEAD,
                           .v_hat = file->values + HEAD + m};
  return locate(file, sap_problem_add_block(problem, &block, file->error));
}

static sap_status read_problem(text_file* file, sap_problem* problem) {
  int32_t ntrees = 0, contacts = 0;
  int64_t nv = 0;
  SAP_TRY(next_line(file));
  const char* line = file->text != NULL ? file->text + strspn(file->text, BLANKS) : "";
  const size_t length = sizeof FIRST_LINE - 1;
  if (strncmp(line, FIRST_LINE, length) != 0 || line[length + strspn(line + length, BLANKS)] != 0) {
    return FAIL(file, SAP_STATUS_SYNTAX, "'%s' or the end of the file is expected", FIRST_LINE);
  }
  SAP_TRY(read_trees(file, problem, &ntrees, &nv));
  SAP_TRY(read_numbers(file, nv, "v_star"));
  SAP_TRY(locate(file, sap_problem_set_v_star(problem, file->values, file->error)));
  SAP_TRY(read_numbers(file, nv, "v_guess"));
  SAP_TRY(locate(file, sap_problem_set_v_guess(problem, file->values, file->error)));
  SAP_TRY(read_numbers(file, 1, "the number of contacts"));
  SAP_TRY(take_integer(file, 0, 0, INT32_MAX, "the number of contacts", &contacts));
  for (int32_t i = 0; i < contacts; ++i) {
    SAP_TRY(read_contact(file, problem, ntrees));
  }
  return SAP_STATUS_OK;
}

sap_status sap_problem_text_read(const char* path, int64_t* lines, sap_problem* problem,
                                 sap_error* error) {
  text_file file = {.path = path, .pool.owner = "problem file", .error = error};
  size_t size = 0;
  sap_status status = sap_file_read(path, MAX_FILE_BYTES, &file.pool, &file.at, &size, error);
  if (status == SAP_STATUS_OK) {
    file.end = file.at + size;
    while (file.line < *lines && file.at < file.end) {
      skip_line(&file);
    }
    status = read_problem(&file, problem);
    *lines = file.line;
    SAP_THEN(status, next_line(&file));
    *lines = file.text != NULL ? *lines : -1;
  }
  sap_pool_free(&file.pool);
  return status;
}
