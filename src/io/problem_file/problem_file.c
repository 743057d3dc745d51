// SPDX-License-Identifier: BSD-3-Clause
// Files of contact problems, in FCLIB's layout. HDF5 builds a file in memory, and our own file code
// writes the bytes, so that a full disk is handled there.
#include <sapstep/problem_file.h>

#include <string.h>

#include "core/file.h"
#include "io/hdf5/hdf5_set.h"
#include "io/problem_file/fclib_file.h"
#include "io/problem_file/problem_text.h"

// --- reading ------------------------------------------------------------------------------------

static sap_status open_file(sap_fclib_file* file) {
  file->id = H5Fopen(file->path, H5F_ACC_RDONLY, H5P_DEFAULT);
  if (file->id < 0 && H5Fis_hdf5(file->path) > 0) {
    sap_hdf5_silence_exit();
  }
  return file->id >= 0 ? SAP_STATUS_OK
                       : sap_fail(file->error, SAP_STATUS_SYNTAX,
                                  "%s: not an HDF5 file, or truncated or damaged", file->path);
}

static sap_status read_problem(sap_fclib_file* file, sap_problem* problem) {
  if (sap_fclib_has(file, "fclib_local")) {
    return sap_fclib_read_local(file, problem);
  }
  return sap_fclib_has(file, "fclib_global")
             ? sap_fclib_read_global(file, problem)
             : sap_fail(file->error, SAP_STATUS_SYNTAX,
                        "%s: no group '/fclib_local' or '/fclib_global'", file->path);
}

static sap_status read_hdf5(const char* path, sap_problem* problem, sap_error* error) {
  sap_fclib_file file = {.id = -1, .path = path, .pool.owner = "problem file", .error = error};
  sap_hdf5_silence silence;
  sap_hdf5_silence_begin(&silence);
  sap_status status = open_file(&file);
  if (status == SAP_STATUS_OK) {
    status = read_problem(&file, problem);
    if (status != SAP_STATUS_OK) {  // the file may be damaged
      sap_hdf5_silence_exit();
    }
    (void)H5Fclose(file.id);
  }
  sap_pool_free(&file.pool);
  sap_hdf5_silence_end(&silence);
  if (status != SAP_STATUS_OK && status != SAP_STATUS_IO && error != NULL &&
      strncmp(error->message, path, strlen(path)) != 0) {
    sap_error_prefix(error, "%s", path);
  }
  return status;
}

sap_status sap_problem_file_read_next(const char* path, int64_t* at, sap_problem* problem,
                                      sap_error* error) {
  SAP_NOT_NULL(error, path, at, problem);
  SAP_FAIL_IF(*at < 0, error, SAP_STATUS_ARGUMENT, "%s: there is no other problem", path);
  SAP_TRY(sap_file_regular(path, error));  // HDF5 gives no reason if it cannot open
  const bool text = sap_problem_text_is(path);
  const sap_status status =
      text ? sap_problem_text_read(path, at, problem, error) : read_hdf5(path, problem, error);
  *at = text ? *at : -1;
  if (status != SAP_STATUS_OK) {
    (void)sap_problem_reset(problem, 1.0, 0, NULL, NULL);
  }
  return status;
}

sap_status sap_problem_file_read(const char* path, sap_problem* problem, sap_error* error) {
  int64_t at = 0;
  return sap_problem_file_read_next(path, &at, problem, error);
}

// --- writing ------------------------------------------------------------------------------------

enum { INCREMENT = 1 << 16 };  // bytes by which the memory grows

// Writes r and u = vc - v_hat of friction cones, l of free rows, impulses of other rows.
static sap_status put_solution(sap_fclib_file* file, const sap_problem* problem,
                               const sap_solution* solution) {
  const int32_t n = sap_problem_row_count(problem);
  sap_fclib_reals impulses[SAP_FCLIB_KINDS], u;
  SAP_TRY(sap_fclib_zeros(file, n, &u));
  u.count = 0;
  for (int kind = 0; kind < SAP_FCLIB_KINDS; ++kind) {
    SAP_TRY(sap_fclib_zeros(file, n, &impulses[kind]));
    impulses[kind].count = 0;
  }
  for (int32_t b = 0; b < sap_problem_block_count(problem); ++b) {
    sap_block block;
    int32_t first = 0;
    (void)sap_problem_block(problem, b, &block, &first, NULL);
    const int kind = sap_fclib_kind(block.set, block.nrows);
    for (int32_t i = 0; i < block.nrows; ++i) {
      const int32_t row = kind == SAP_FCLIB_CONES ? sap_fclib_row(i) : i;
      if (kind == SAP_FCLIB_CONES) {
        u.values[u.count++] = solution->vc[first + row] - block.v_hat[row];
      }
      impulses[kind].values[impulses[kind].count++] = solution->gamma[first + row];
    }
  }
  const sap_fclib_reals *r = &impulses[SAP_FCLIB_CONES], *l = &impulses[SAP_FCLIB_FREE],
                        *other = &impulses[SAP_FCLIB_OTHER];
  const bool good = SAP_FCLIB_PUT(file, "solution/v", solution->nv, solution->v) &&
                    SAP_FCLIB_PUT(file, "solution/r", r->count, r->values) &&
                    SAP_FCLIB_PUT(file, "solution/u", u.count, u.values) &&
                    SAP_FCLIB_PUT(file, "solution/l", l->count, l->values) &&
                    SAP_FCLIB_PUT(file, "sapstep/solution_K", other->count, other->values) &&
                    SAP_FCLIB_PUT(file, "sapstep/solution_cost", 1, &solution->cost);
  return good ? SAP_STATUS_OK
              : sap_fail(file->error, SAP_STATUS_INTERNAL, "HDF5 could not store the solution");
}

// Builds the file in memory and prints its bytes to the stream, whose errors the caller checks.
static sap_status put_file(sap_fclib_file* file, const sap_problem* problem,
                           const sap_solution* solution, FILE* stream) {
  const hid_t list = H5Pcreate(H5P_FILE_ACCESS);
  const bool good = H5Pset_fapl_core(list, INCREMENT, false) >= 0;
  file->id = good ? H5Fcreate("sapstep.hdf5", H5F_ACC_TRUNC, H5P_DEFAULT, list) : -1;
  (void)H5Pclose(list);
  SAP_FAIL_IF(file->id < 0, file->error, SAP_STATUS_INTERNAL,
              "HDF5 cannot create a file in memory");
  SAP_FAIL_IF(sap_problem_has_mobility(problem), file->error, SAP_STATUS_UNSUPPORTED,
              "the problem has a mobility B = A^-1: files are written with A");
  SAP_TRY(sap_fclib_put_global(file, problem));
  if (solution != NULL) {
    SAP_TRY(put_solution(file, problem, solution));
  }
  const ssize_t size =
      H5Fflush(file->id, H5F_SCOPE_GLOBAL) >= 0 ? H5Fget_file_image(file->id, NULL, 0) : 0;
  unsigned char* bytes;
  SAP_FAIL_IF(size <= 0, file->error, SAP_STATUS_INTERNAL, "HDF5 produced no file image");
  SAP_TRY(SAP_FCLIB_ADD(file, &bytes, size));
  SAP_FAIL_IF(H5Fget_file_image(file->id, bytes, (size_t)size) != size, file->error,
              SAP_STATUS_INTERNAL, "HDF5 produced no file image");
  (void)fwrite(bytes, 1, (size_t)size, stream);
  return SAP_STATUS_OK;
}

static sap_status check_solution(const sap_problem* problem, const sap_solution* s,
                                 sap_error* error) {
  SAP_FAIL_IF(
      sap_problem_velocity_count(problem) != s->nv || sap_problem_row_count(problem) != s->nrows,
      error, SAP_STATUS_ARGUMENT,
      "a solution with %d velocities and %d rows does not match the problem", s->nv, s->nrows);
  SAP_TRY(sap_check_numbers("cost", &s->cost, 1, error));
  SAP_TRY(sap_check_numbers("v", s->v, s->nv, error));
  return sap_check_numbers("gamma", s->gamma, s->nrows, error);
}

sap_status sap_problem_file_write(const char* path, const sap_problem* problem,
                                  const sap_solution* solution, sap_error* error) {
  SAP_NOT_NULL(error, path, problem);
  if (solution != NULL) {
    SAP_TRY(check_solution(problem, solution, error));
  }
  sap_file* out;
  SAP_TRY(sap_file_create(path, &out, error));
  sap_fclib_file file = {.id = -1, .path = path, .pool.owner = "problem file", .error = error};
  sap_status status;
  SAP_HDF5_QUIET(status = put_file(&file, problem, solution, sap_file_stream(out)));
  if (file.id >= 0) {
    SAP_HDF5_QUIET(H5Fclose(file.id));
  }
  sap_pool_free(&file.pool);
  return sap_file_finish(out, status, error);
}
