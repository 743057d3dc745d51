// SPDX-License-Identifier: BSD-3-Clause
// Writes contact problems and solutions as text; 17 digits restore every double bit by bit.
#include <sapstep/problem_file.h>

#include "core/file.h"
#include "core/memory.h"
#include "core/platform.h"
#include "io/problem_file/fclib.h"

struct sap_problem_writer {
  sap_file* file;
  sap_fclib_writer* hdf5;      // NULL: text
  const sap_problem* problem;  // last problem written to HDF5
};

sap_status sap_problem_writer_open(const char* path, sap_problem_writer** out, sap_error* error) {
  SAP_NOT_NULL(error, out);
  *out = NULL;
  SAP_NOT_NULL(error, path);
  sap_problem_writer* writer;
  SAP_TRY(SAP_NEW(&writer, 1, "problem file", error));
  sap_status status = sap_file_create(path, &writer->file, error);
  if (status == SAP_STATUS_OK && sap_fclib_is_name(path)) {
    status = sap_fclib_writer_create(&writer->hdf5, error);
  }
  if (status != SAP_STATUS_OK) {
    sap_problem_writer_close(writer);
    return status;
  }
  *out = writer;
  return SAP_STATUS_OK;
}

void sap_problem_writer_close(sap_problem_writer* writer) {
  if (writer != NULL) {
    sap_file_close(writer->file);
    sap_fclib_writer_destroy(writer->hdf5);
    sap_free(writer);
  }
}

sap_status sap_problem_writer_commit(sap_problem_writer* writer, sap_error* error) {
  SAP_NOT_NULL(error, writer);
  if (writer->hdf5 != NULL) {
    SAP_TRY(sap_fclib_write_bytes(writer->hdf5, sap_file_stream(writer->file), error));
  }
  return sap_file_commit(writer->file, error);
}

// Checks that the text format can hold the problem.
static sap_status check_problem(const sap_problem* problem, sap_error* error) {
  SAP_FAIL_IF(sap_problem_has_mobility(problem), error, SAP_STATUS_UNSUPPORTED,
              "the problem stores the inverse of A, which only an HDF5 file can hold");
  const int32_t ntrees = sap_problem_tree_count(problem);
  SAP_FAIL_IF(ntrees < 1, error, SAP_STATUS_UNSUPPORTED,
              "a problem without trees cannot be written");
  for (int32_t a = 0; a < ntrees; ++a) {
    for (int32_t b = 0; b < ntrees; ++b) {
      const bool present = sap_problem_momentum_block(problem, a, b) != NULL;
      SAP_FAIL_IF(a == b && !present, error, SAP_STATUS_ARGUMENT, "A of tree %ld is not set",
                  (long)a);
      SAP_FAIL_IF(a != b && present, error, SAP_STATUS_UNSUPPORTED,
                  "A couples trees %ld and %ld, which the file format cannot hold", (long)a,
                  (long)b);
    }
  }
  const int32_t count = sap_problem_block_count(problem);
  for (int32_t i = 0; i < count; ++i) {
    sap_block block;
    SAP_TRY(sap_problem_block(problem, i, &block, NULL, error));
    SAP_FAIL_IF(block.set != SAP_SET_FRICTION_CONE || block.ntrees > 2, error,
                SAP_STATUS_UNSUPPORTED,
                "block %ld is not a friction cone on one or two trees; text files cannot hold "
                "it",
                (long)i);
  }
  return SAP_STATUS_OK;
}

// Writes a name, which may be empty, and numbers.
static void write_line(FILE* stream, const char* name, const double* values, int32_t count) {
  (void)fputs(name, stream);
  for (int32_t i = 0; i < count; ++i) {
    (void)fprintf(stream, i == 0 && name[0] == '\0' ? "%.17g" : " %.17g", values[i]);
  }
  (void)fputc('\n', stream);
}

static void write_trees(FILE* stream, const sap_problem* problem) {
  const int32_t ntrees = sap_problem_tree_count(problem);
  (void)fprintf(stream, "sapstep_problem 1\n%.17g %ld\n", sap_problem_dt(problem), (long)ntrees);
  for (int32_t tree = 0; tree < ntrees; ++tree) {
    const int32_t n = sap_problem_tree_size(problem, tree);
    const double* a = sap_problem_momentum_block(problem, tree, tree);
    (void)fprintf(stream, "%ld", (long)n);
    for (int32_t i = 0; i < n; ++i) {
      for (int32_t j = 0; j < n; ++j) {
        (void)fprintf(stream, " %.17g", a[(size_t)j * (size_t)n + (size_t)i]);
      }
    }
    (void)fputc('\n', stream);
  }
}

static void write_contact(FILE* stream, const sap_problem* problem, const sap_block* block) {
  const long tree_B = block->ntrees == 2 ? (long)block->trees[1] : -1L;
  (void)fprintf(stream, "%ld %ld %.17g", (long)block->trees[0], tree_B, block->friction);
  for (int32_t row = 0; row < 2 * block->nrows; ++row) {  // R, then v_hat
    (void)fprintf(stream, " %.17g",
                  row < block->nrows ? block->R[row] : block->v_hat[row - block->nrows]);
  }
  for (int32_t i = 0; i < block->ntrees; ++i) {
    const int32_t n = sap_problem_tree_size(problem, block->trees[i]);
    for (int32_t row = 0; row < block->nrows; ++row) {
      for (int32_t j = 0; j < n; ++j) {
        (void)fprintf(stream, " %.17g",
                      block->jacobians[i][(size_t)block->nrows * (size_t)j + (size_t)row]);
      }
    }
  }
  (void)fputc('\n', stream);
}

sap_status sap_problem_writer_problem(sap_problem_writer* writer, const sap_problem* problem,
                                      sap_error* error) {
  SAP_NOT_NULL(error, writer, problem);
  if (writer->hdf5 != NULL) {
    writer->problem = problem;
    return sap_fclib_write_problem(writer->hdf5, problem, error);
  }
  SAP_TRY(check_problem(problem, error));
  sap_c_locale guard;
  SAP_TRY(sap_c_locale_begin(&guard, error));
  FILE* stream = sap_file_stream(writer->file);
  write_trees(stream, problem);
  write_line(stream, "", sap_problem_v_star(problem), sap_problem_velocity_count(problem));
  write_line(stream, "", sap_problem_v_guess(problem), sap_problem_velocity_count(problem));
  const int32_t count = sap_problem_block_count(problem);
  (void)fprintf(stream, "%ld\n", (long)count);
  for (int32_t i = 0; i < count; ++i) {
    sap_block block;
    (void)sap_problem_block(problem, i, &block, NULL, NULL);  // checked above
    write_contact(stream, problem, &block);
  }
  sap_c_locale_end(&guard);
  return sap_file_check(writer->file, error);
}

static sap_status write_hdf5_solution(sap_problem_writer* writer, const sap_solution* solution,
                                      sap_error* error) {
  const sap_problem* problem = writer->problem;
  SAP_FAIL_IF(problem != NULL && (sap_problem_velocity_count(problem) != solution->nv ||
                                  sap_problem_row_count(problem) != solution->nrows),
              error, SAP_STATUS_ARGUMENT,
              "a solution with %ld velocities and %ld rows does not match the problem",
              (long)solution->nv, (long)solution->nrows);
  return sap_fclib_write_solution(writer->hdf5, problem, solution, error);
}

sap_status sap_problem_writer_solution(sap_problem_writer* writer, const sap_solution* solution,
                                       sap_error* error) {
  SAP_NOT_NULL(error, writer, solution);
  SAP_TRY(sap_check_numbers("cost", &solution->cost, 1, error));
  SAP_TRY(sap_check_numbers("v", solution->v, solution->nv, error));
  SAP_TRY(sap_check_numbers("gamma", solution->gamma, solution->nrows, error));
  if (writer->hdf5 != NULL) {
    return write_hdf5_solution(writer, solution, error);
  }
  sap_c_locale guard;
  SAP_TRY(sap_c_locale_begin(&guard, error));
  FILE* stream = sap_file_stream(writer->file);
  (void)fputs("sapstep_solution 1\n", stream);
  write_line(stream, "cost", &solution->cost, 1);
  write_line(stream, "v", solution->v, solution->nv);
  write_line(stream, "gamma", solution->gamma, solution->nrows);
  sap_c_locale_end(&guard);
  return sap_file_check(writer->file, error);
}
