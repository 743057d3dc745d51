// SPDX-License-Identifier: BSD-3-Clause
// Writes FCLIB files. HDF5 builds the file in memory, and our own file code writes the bytes, so
// that a full disk is handled there.

#include "core/memory.h"
#include "io/hdf5/hdf5_set.h"
#include "io/problem_file/fclib.h"
#include "io/problem_file/fclib_file.h"
#include "io/problem_file/fclib_output.h"

#ifdef SAPSTEP_HDF5
enum { INCREMENT = 1 << 16 };  // bytes by which the memory grows

struct sap_fclib_writer {
  hid_t file;  // -1: none yet
  bool has_problem, has_solution;
};

sap_status sap_fclib_writer_create(sap_fclib_writer** out, sap_error* error) {
  *out = sap_allocate(1, sizeof **out);
  if (*out == NULL) {
    return sap_fail(error, SAP_STATUS_MEMORY, "out of memory");
  }
  sap_hdf5_silence silence;
  sap_hdf5_silence_begin(&silence);
  const hid_t list = H5Pcreate(H5P_FILE_ACCESS);
  const bool good = H5Pset_fapl_core(list, INCREMENT, false) >= 0;
  (*out)->file = good ? H5Fcreate("sapstep.hdf5", H5F_ACC_TRUNC, H5P_DEFAULT, list) : -1;
  (void)H5Pclose(list);
  sap_hdf5_silence_end(&silence);
  if ((*out)->file < 0) {
    sap_free(*out);
    *out = NULL;
    return sap_fail(error, SAP_STATUS_INTERNAL, "HDF5 cannot create a file in memory");
  }
  return SAP_STATUS_OK;
}

void sap_fclib_writer_destroy(sap_fclib_writer* writer) {
  if (writer != NULL) {
    (void)H5Fclose(writer->file);
    sap_free(writer);
  }
}

sap_status sap_fclib_write_problem(sap_fclib_writer* writer, const sap_problem* problem,
                                   sap_error* error) {
  if (writer->has_problem) {
    return sap_fail(error, SAP_STATUS_UNSUPPORTED, "an HDF5 file holds one problem");
  }
  sap_hdf5_silence silence;
  sap_hdf5_silence_begin(&silence);
  writer->has_problem = true;
  const sap_status status = sap_problem_has_mobility(problem)
                                ? sap_fclib_put_local(writer->file, problem, error)
                                : sap_fclib_put_global(writer->file, problem, error);
  sap_hdf5_silence_end(&silence);
  return status;
}

// r and u = vc - v_hat of friction cones, l of free rows, impulses of other rows.
typedef struct parts {
  double *r, *u, *l, *other;
  int32_t nr, nl, nother;
} parts;

static void collect(const sap_problem* problem, const sap_solution* solution, parts* p) {
  for (int32_t b = 0; b < sap_problem_block_count(problem); ++b) {
    sap_block block;
    int32_t first = 0;
    (void)sap_problem_block(problem, b, &block, &first, NULL);
    const double* gamma = solution->gamma + first;
    if (block.set == SAP_SET_FRICTION_CONE) {
      for (int32_t k = 0; k < 3; ++k) {
        const int32_t row = sap_fclib_row(k);
        p->r[p->nr] = gamma[row];
        p->u[p->nr++] = solution->vc[first + row] - block.v_hat[row];
      }
      continue;
    }
    for (int32_t i = 0; i < block.nrows; ++i) {
      if (block.set == SAP_SET_FREE) {
        p->l[p->nl++] = gamma[i];
      } else {
        p->other[p->nother++] = gamma[i];
      }
    }
  }
}

sap_status sap_fclib_write_solution(sap_fclib_writer* writer, const sap_problem* problem,
                                    const sap_solution* solution, sap_error* error) {
  if (!writer->has_problem || writer->has_solution) {
    return sap_fail(error, SAP_STATUS_UNSUPPORTED,
                    writer->has_solution ? "an HDF5 file holds one solution"
                                         : "an HDF5 file needs its problem before a solution");
  }
  const size_t n = (size_t)sap_problem_row_count(problem);
  double* memory = sap_allocate(4 * n + 1, sizeof *memory);
  if (memory == NULL) {
    return sap_fail(error, SAP_STATUS_MEMORY, "out of memory");
  }
  parts p = {.r = memory, .u = memory + n, .l = memory + 2 * n, .other = memory + 3 * n};
  collect(problem, solution, &p);
  sap_hdf5_silence silence;
  sap_hdf5_silence_begin(&silence);
  const hid_t file = writer->file;
  writer->has_solution = true;
  const bool good = sap_fclib_put_reals(file, "solution/v", solution->nv, solution->v) &&
                    sap_fclib_put_reals(file, "solution/r", p.nr, p.r) &&
                    sap_fclib_put_reals(file, "solution/u", p.nr, p.u) &&
                    sap_fclib_put_reals(file, "solution/l", p.nl, p.l) &&
                    sap_fclib_put_reals(file, "sapstep/solution_K", p.nother, p.other) &&
                    sap_fclib_put_reals(file, "sapstep/solution_cost", 1, &solution->cost);
  sap_hdf5_silence_end(&silence);
  sap_free(memory);
  return good ? SAP_STATUS_OK
              : sap_fail(error, SAP_STATUS_INTERNAL, "HDF5 could not store the solution");
}

sap_status sap_fclib_write_bytes(sap_fclib_writer* writer, FILE* stream, sap_error* error) {
  if (!writer->has_problem) {
    return sap_fail(error, SAP_STATUS_ARGUMENT, "no problem has been written");
  }
  sap_hdf5_silence silence;
  sap_hdf5_silence_begin(&silence);
  const ssize_t size =
      H5Fflush(writer->file, H5F_SCOPE_GLOBAL) >= 0 ? H5Fget_file_image(writer->file, NULL, 0) : -1;
  unsigned char* bytes = size > 0 ? sap_allocate((size_t)size, 1) : NULL;
  sap_status status = size <= 0
                          ? sap_fail(error, SAP_STATUS_INTERNAL, "HDF5 produced no file image")
                      : bytes == NULL ? sap_fail(error, SAP_STATUS_MEMORY, "out of memory")
                                      : SAP_STATUS_OK;
  if (status == SAP_STATUS_OK && H5Fget_file_image(writer->file, bytes, (size_t)size) != size) {
    status = sap_fail(error, SAP_STATUS_INTERNAL, "HDF5 produced no file image");
  }
  if (status == SAP_STATUS_OK) {
    (void)fwrite(bytes, 1, (size_t)size, stream);  // the caller checks the stream
  }
  sap_free(bytes);
  sap_hdf5_silence_end(&silence);
  return status;
}

#else

static sap_status unsupported(sap_error* error) {
  return sap_fail(error, SAP_STATUS_UNSUPPORTED,
                  "this build of sapstep has no HDF5 to write problems with");
}

sap_status sap_fclib_writer_create(sap_fclib_writer** out, sap_error* error) {
  *out = NULL;
  return unsupported(error);
}

void sap_fclib_writer_destroy(sap_fclib_writer* writer) {
  (void)writer;
}

sap_status sap_fclib_write_problem(sap_fclib_writer* writer, const sap_problem* problem,
                                   sap_error* error) {
  (void)writer;
  (void)problem;
  return unsupported(error);
}

sap_status sap_fclib_write_solution(sap_fclib_writer* writer, const sap_problem* problem,
                                    const sap_solution* solution, sap_error* error) {
  (void)writer;
  (void)problem;
  (void)solution;
  return unsupported(error);
}

sap_status sap_fclib_write_bytes(sap_fclib_writer* writer, FILE* stream, sap_error* error) {
  (void)writer;
  (void)stream;
  return unsupported(error);
}

#endif
