// SPDX-License-Identifier: BSD-3-Clause
// FCLIB files: recognises them, reads and writes problems and solutions. HDF5 builds a file in
// memory, and our own file code writes the bytes, so that a full disk is handled there.
#include "io/problem_file/fclib.h"

#include <math.h>
#include <stdio.h>
#include <string.h>

#include "core/memory.h"
#include "io/hdf5/hdf5_set.h"
#include "io/problem_file/fclib_file.h"

static bool ends_with(const char* text, const char* end) {
  const size_t length = strlen(text), n = strlen(end);
  return length >= n && strcmp(text + length - n, end) == 0;
}

bool sap_fclib_is_name(const char* path) {
  return ends_with(path, ".hdf5") || ends_with(path, ".h5");
}

bool sap_fclib_is_file(const char* path) {
  static const unsigned char signature[8] = {0x89, 'H', 'D', 'F', '\r', '\n', 0x1a, '\n'};
  unsigned char head[8];
  // A pipe is not an HDF5 file, and reading would consume its first bytes.
  FILE* stream = sap_file_regular(path, NULL) == SAP_STATUS_OK ? fopen(path, "rb") : NULL;
  const bool read = stream != NULL && fread(head, 1, sizeof head, stream) == sizeof head;
  if (stream != NULL) {
    (void)fclose(stream);
  }
  return (read && memcmp(head, signature, sizeof head) == 0) || sap_fclib_is_name(path);
}

#ifdef SAPSTEP_HDF5

enum { NAME_SIZE = 128 };

// --- files that are read ------------------------------------------------------------------------

// A solution of a problem, in a file.
typedef struct stored_solution {
  const sap_problem* problem;
  int32_t index;  // 0: the solution, else a guess
  sap_solution* solution;
  bool* found;
} stored_solution;

static sap_status open_file(sap_fclib_file* file) {
  SAP_TRY(sap_file_regular(file->path, file->error));  // HDF5 gives no reason if it cannot open
  file->id = H5Fopen(file->path, H5F_ACC_RDONLY, H5P_DEFAULT);
  if (file->id < 0 && H5Fis_hdf5(file->path) > 0) {
    sap_hdf5_silence_exit();
  }
  return file->id >= 0 ? SAP_STATUS_OK
                       : sap_fail(file->error, SAP_STATUS_SYNTAX,
                                  "%s: not an HDF5 file, or truncated or damaged", file->path);
}

// Opens a file, calls read(file, target) and closes the file.
static sap_status read_file(const char* path,
                            sap_status (*read)(sap_fclib_file* file, void* target), void* target,
                            sap_error* error) {
  sap_fclib_file file = {.id = -1, .path = path, .pool.owner = "FCLIB file", .error = error};
  sap_hdf5_silence silence;
  sap_hdf5_silence_begin(&silence);
  sap_status status = open_file(&file);
  if (status == SAP_STATUS_OK) {
    status = read(&file, target);
    if (status != SAP_STATUS_OK) {  // the file may be damaged
      sap_hdf5_silence_exit();
    }
    (void)H5Fclose(file.id);
  }
  sap_pool_free(&file.pool);
  sap_hdf5_silence_end(&silence);
  return status;
}

static sap_status read_problem(sap_fclib_file* file, void* target) {
  sap_problem* problem = target;
  if (sap_fclib_has(file, "fclib_local")) {
    return sap_fclib_read_local(file, problem);
  }
  return sap_fclib_has(file, "fclib_global")
             ? sap_fclib_read_global(file, problem)
             : sap_fail(file->error, SAP_STATUS_SYNTAX,
                        "%s: no group '/fclib_local' or '/fclib_global'", file->path);
}

sap_status sap_fclib_read_problem(const char* path, sap_problem* problem, sap_error* error) {
  const sap_status status = read_file(path, read_problem, problem, error);
  if (status != SAP_STATUS_OK && strncmp(error->message, path, strlen(path)) != 0) {
    sap_error_prefix(error, "%s", path);
  }
  return status;
}

// Computes vc = J v and impulse = J' gamma. tree_start: first velocity of each tree.
static void multiply_jacobians(const sap_problem* problem, const int32_t* tree_start,
                               sap_solution* s) {
  for (int32_t i = 0; i < sap_problem_block_count(problem); ++i) {
    sap_block block;
    int32_t first = 0;
    (void)sap_problem_block(problem, i, &block, &first, NULL);
    for (int32_t r = 0; r < block.nrows; ++r) {
      double sum = 0.0;
      for (int32_t t = 0; t < block.ntrees; ++t) {
        const int32_t start = tree_start[block.trees[t]];
        const int32_t size = sap_problem_tree_size(problem, block.trees[t]);
        for (int32_t j = 0; j < size; ++j) {
          const double entry = block.jacobians[t][(size_t)j * (size_t)block.nrows + (size_t)r];
          sum += entry * s->v[start + j];
          s->impulse[start + j] += entry * s->gamma[first + r];
        }
      }
      s->vc[first + r] = sum;
    }
  }
}

// Reads the impulses of each kind of block, as far as the problem has rows of the kind.
static sap_status read_impulses(sap_fclib_file* file, const sap_problem* problem, const char* group,
                                bool guess, sap_fclib_reals impulses[SAP_FCLIB_KINDS]) {
  int32_t rows[SAP_FCLIB_KINDS] = {0};
  for (int32_t i = 0; i < sap_problem_block_count(problem); ++i) {
    sap_block block;
    (void)sap_problem_block(problem, i, &block, NULL, NULL);
    rows[sap_fclib_kind(block.set)] += block.nrows;
  }
  char r[NAME_SIZE], l[NAME_SIZE];
  (void)snprintf(r, sizeof r, "%s/r", group);
  (void)snprintf(l, sizeof l, "%s/l", group);
  const char* const names[SAP_FCLIB_KINDS] = {r, l, "sapstep/solution_K"};
  for (int kind = 0; kind < SAP_FCLIB_KINDS; ++kind) {
    if (kind == SAP_FCLIB_OTHER && guess && rows[kind] > 0) {
      return sap_fclib_fail(file, SAP_STATUS_UNSUPPORTED, group,
                            "FCLIB's guesses cannot store impulses of limits and boxes");
    }
    if (kind == SAP_FCLIB_CONES || rows[kind] > 0) {
      SAP_TRY(sap_fclib_read_reals(file, names[kind], rows[kind], &impulses[kind]));
    }
  }
  return SAP_STATUS_OK;
}

// Reads the velocities v, or u of the contacts of a local problem, whose bilateral rows rest.
static sap_status read_velocities(sap_fclib_file* file, const char* group, int32_t nv,
                                  const sap_fclib_reals* r, sap_fclib_reals* v) {
  const bool local = sap_fclib_has(file, "fclib_local");
  char name[NAME_SIZE];
  (void)snprintf(name, sizeof name, "%s/%s", group, local ? "u" : "v");
  if (local && r->count > nv) {
    return sap_fclib_fail(file, SAP_STATUS_ARGUMENT, group,
                          "the problem is not the one in the file");
  }
  SAP_TRY(sap_fclib_read_reals(file, name, local ? r->count : nv, v));
  for (int32_t i = 0; local && i < v->count; i += 3) {  // N T1 T2 to T1 T2 N
    const double u[3] = {v->values[i + 1], v->values[i + 2], v->values[i]};
    memcpy(v->values + i, u, sizeof u);
  }
  return SAP_STATUS_OK;
}

static sap_status read_solution(sap_fclib_file* file, void* target) {
  const stored_solution* stored = target;
  const sap_problem* problem = stored->problem;
  const int32_t nv = sap_problem_velocity_count(problem), ntrees = sap_problem_tree_count(problem);
  sap_solution* s = stored->solution;
  sap_fclib_reals impulses[SAP_FCLIB_KINDS] = {{0}}, v, cost = {0};
  int32_t* tree_start;
  char group[NAME_SIZE / 2] = "solution";
  if (stored->index > 0) {
    (void)snprintf(group, sizeof group, "guesses/%ld", (long)stored->index);
  }
  if (!sap_fclib_has(file, group)) {
    return SAP_STATUS_OK;
  }
  SAP_TRY(SAP_FCLIB_ADD(file, &tree_start, (size_t)ntrees + 1));
  SAP_TRY(read_impulses(file, problem, group, stored->index > 0, impulses));
  if (stored->index == 0 && sap_fclib_has(file, "sapstep/solution_cost")) {
    SAP_TRY(sap_fclib_read_reals(file, "sapstep/solution_cost", 1, &cost));
  }
  SAP_TRY(read_velocities(file, group, nv, &impulses[SAP_FCLIB_CONES], &v));
  SAP_TRY(sap_solution_resize(s, nv, sap_problem_row_count(problem), file->error));
  for (int32_t t = 0; t < ntrees; ++t) {
    tree_start[t + 1] = tree_start[t] + sap_problem_tree_size(problem, t);
  }
  for (int32_t i = 0; i < nv; ++i) {
    s->v[i] = i < v.count ? v.values[i] : 0.0;
    s->impulse[i] = 0.0;
  }
  int32_t next[SAP_FCLIB_KINDS] = {0};
  for (int32_t i = 0; i < sap_problem_block_count(problem); ++i) {
    sap_block block;
    int32_t first = 0;
    (void)sap_problem_block(problem, i, &block, &first, NULL);
    const int kind = sap_fclib_kind(block.set);
    for (int32_t r = 0; r < block.nrows; ++r) {
      const int32_t row = kind == SAP_FCLIB_CONES ? sap_fclib_row(r) : r;
      s->gamma[first + row] = impulses[kind].values[next[kind]++];
    }
  }
  multiply_jacobians(problem, tree_start, s);
  s->cost = cost.count > 0 ? cost.values[0] : (double)NAN;
  *stored->found = true;
  return SAP_STATUS_OK;
}

sap_status sap_fclib_read_solution(const char* path, const sap_problem* problem, int32_t index,
                                   sap_solution* solution, bool* found, sap_error* error) {
  stored_solution stored = {
      .problem = problem, .index = index, .solution = solution, .found = found};
  return read_file(path, read_solution, &stored, error);
}

// --- files that are written ---------------------------------------------------------------------

enum { INCREMENT = 1 << 16 };  // bytes by which the memory grows

struct sap_fclib_writer {
  sap_fclib_file file;
  bool has_problem, has_solution;
};

sap_status sap_fclib_writer_create(sap_fclib_writer** out, sap_error* error) {
  *out = NULL;
  sap_fclib_writer* writer;
  SAP_TRY(SAP_NEW(&writer, 1, "problem file", error));
  sap_hdf5_silence silence;
  sap_hdf5_silence_begin(&silence);
  const hid_t list = H5Pcreate(H5P_FILE_ACCESS);
  const bool good = H5Pset_fapl_core(list, INCREMENT, false) >= 0;
  writer->file.id = good ? H5Fcreate("sapstep.hdf5", H5F_ACC_TRUNC, H5P_DEFAULT, list) : -1;
  writer->file.pool.owner = "FCLIB file";
  (void)H5Pclose(list);
  sap_hdf5_silence_end(&silence);
  if (writer->file.id < 0) {
    sap_free(writer);
    return sap_fail(error, SAP_STATUS_INTERNAL, "HDF5 cannot create a file in memory");
  }
  *out = writer;
  return SAP_STATUS_OK;
}

void sap_fclib_writer_destroy(sap_fclib_writer* writer) {
  if (writer != NULL) {
    (void)H5Fclose(writer->file.id);
    sap_free(writer);
  }
}

sap_status sap_fclib_write_problem(sap_fclib_writer* writer, const sap_problem* problem,
                                   sap_error* error) {
  SAP_FAIL_IF(writer->has_problem, error, SAP_STATUS_UNSUPPORTED, "an HDF5 file holds one problem");
  sap_status status;
  writer->has_problem = true;
  writer->file.error = error;
  SAP_HDF5_QUIET(status = sap_problem_has_mobility(problem)
                              ? sap_fclib_put_local(&writer->file, problem)
                              : sap_fclib_put_global(&writer->file, problem));
  sap_pool_free(&writer->file.pool);
  return status;
}

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
    const int kind = sap_fclib_kind(block.set);
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
  const bool good = sap_fclib_put_reals(file, "solution/v", solution->nv, solution->v) &&
                    sap_fclib_put_reals(file, "solution/r", r->count, r->values) &&
                    sap_fclib_put_reals(file, "solution/u", u.count, u.values) &&
                    sap_fclib_put_reals(file, "solution/l", l->count, l->values) &&
                    sap_fclib_put_reals(file, "sapstep/solution_K", other->count, other->values) &&
                    sap_fclib_put_reals(file, "sapstep/solution_cost", 1, &solution->cost);
  return good ? SAP_STATUS_OK
              : sap_fail(file->error, SAP_STATUS_INTERNAL, "HDF5 could not store the solution");
}

sap_status sap_fclib_write_solution(sap_fclib_writer* writer, const sap_problem* problem,
                                    const sap_solution* solution, sap_error* error) {
  SAP_FAIL_IF(!writer->has_problem || writer->has_solution, error, SAP_STATUS_UNSUPPORTED,
              writer->has_solution ? "an HDF5 file holds one solution"
                                   : "an HDF5 file needs its problem before a solution");
  sap_status status;
  writer->has_solution = true;
  writer->file.error = error;
  SAP_HDF5_QUIET(status = put_solution(&writer->file, problem, solution));
  sap_pool_free(&writer->file.pool);
  return status;
}

sap_status sap_fclib_write_bytes(sap_fclib_writer* writer, FILE* stream, sap_error* error) {
  SAP_FAIL_IF(!writer->has_problem, error, SAP_STATUS_ARGUMENT, "no problem has been written");
  const hid_t id = writer->file.id;
  sap_hdf5_silence silence;
  sap_hdf5_silence_begin(&silence);
  const ssize_t size = H5Fflush(id, H5F_SCOPE_GLOBAL) >= 0 ? H5Fget_file_image(id, NULL, 0) : -1;
  unsigned char* bytes = size > 0 ? sap_allocate((size_t)size, 1) : NULL;
  sap_status status = SAP_STATUS_OK;
  if (size > 0 && bytes == NULL) {
    status = sap_fail(error, SAP_STATUS_MEMORY, "out of memory");
  } else if (size <= 0 || H5Fget_file_image(id, bytes, (size_t)size) != size) {
    status = sap_fail(error, SAP_STATUS_INTERNAL, "HDF5 produced no file image");
  } else {
    (void)fwrite(bytes, 1, (size_t)size, stream);  // the caller checks the stream
  }
  sap_free(bytes);
  sap_hdf5_silence_end(&silence);
  return status;
}

#else

#pragma GCC diagnostic ignored "-Wunused-parameter"
#define UNSUPPORTED(name, where, parameters)                                                     \
  sap_status name parameters {                                                                   \
    return sap_fail(error, SAP_STATUS_UNSUPPORTED,                                               \
                    "%s: this build has no HDF5: install libhdf5-dev and build again", (where)); \
  }

UNSUPPORTED(sap_fclib_read_problem, path,
            (const char* path, sap_problem* problem, sap_error* error))
UNSUPPORTED(sap_fclib_read_solution, path,
            (const char* path, const sap_problem* problem, int32_t index, sap_solution* solution,
             bool* found, sap_error* error))
UNSUPPORTED(sap_fclib_writer_create, "FCLIB", (sap_fclib_writer * *out, sap_error* error))
// A writer cannot be created: the functions below are never called.
UNSUPPORTED(sap_fclib_write_problem, "FCLIB",
            (sap_fclib_writer * writer, const sap_problem* problem, sap_error* error))
UNSUPPORTED(sap_fclib_write_solution, "FCLIB",
            (sap_fclib_writer * writer, const sap_problem* problem, const sap_solution* solution,
             sap_error* error))
UNSUPPORTED(sap_fclib_write_bytes, "FCLIB",
            (sap_fclib_writer * writer, FILE* stream, sap_error* error))
void sap_fclib_writer_destroy(sap_fclib_writer* writer) {
}

#endif
