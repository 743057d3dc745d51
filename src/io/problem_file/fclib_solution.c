// SPDX-License-Identifier: BSD-3-Clause
// Reads /solution and /guesses of FCLIB files.
#include <math.h>
#include <stdio.h>
#include <string.h>

#include "core/memory.h"
#include "io/hdf5/hdf5_set.h"
#include "io/problem_file/fclib.h"
#include "io/problem_file/fclib_file.h"

#ifdef SAPSTEP_HDF5
enum { NAME_SIZE = 64 };

typedef struct stored_solution {
  const sap_fclib_file* file;
  const sap_problem* problem;
  bool local;
  char group[NAME_SIZE];
  int32_t rows[3];  // rows of friction cones, of free blocks, of other blocks
  sap_fclib_reals parts[3];
  sap_fclib_reals v, cost;
  int32_t* tree_start;  // first velocity of each tree
} stored_solution;

static int kind_of(sap_set set) {
  return set == SAP_SET_FRICTION_CONE ? 0 : set == SAP_SET_FREE ? 1 : 2;
}

static void count_rows(stored_solution* b) {
  for (int32_t i = 0; i < sap_problem_block_count(b->problem); ++i) {
    sap_block block;
    (void)sap_problem_block(b->problem, i, &block, NULL, NULL);
    b->rows[kind_of(block.set)] += block.nrows;
  }
}

static sap_status find_tree_starts(stored_solution* b, sap_error* error) {
  const int32_t ntrees = sap_problem_tree_count(b->problem);
  b->tree_start = sap_allocate((size_t)ntrees, sizeof *b->tree_start);
  if (b->tree_start == NULL) {
    return sap_fail(error, SAP_STATUS_MEMORY, "out of memory");
  }
  for (int32_t t = 1; t < ntrees; ++t) {
    b->tree_start[t] = b->tree_start[t - 1] + sap_problem_tree_size(b->problem, t - 1);
  }
  return SAP_STATUS_OK;
}

static sap_status read_part(stored_solution* b, const char* name, int64_t count,
                            sap_fclib_reals* out, sap_error* error) {
  char path[2 * NAME_SIZE];
  (void)snprintf(path, sizeof path, "%s/%s", b->group, name);
  return sap_fclib_read_reals(b->file, path, count, out, error);
}

// Reads the velocities. For a local problem these are u of its contacts; those of its bilateral rows
// are zero.
static sap_status read_velocities(stored_solution* b, sap_error* error) {
  const int32_t nv = sap_problem_velocity_count(b->problem);
  if (!b->local) {
    return read_part(b, "v", nv, &b->v, error);
  }
  return b->rows[0] <= nv ? read_part(b, "u", b->rows[0], &b->v, error)
                          : sap_fclib_fail(b->file, error, SAP_STATUS_ARGUMENT, b->group,
                                           "the problem is not the one in the file");
}

static sap_status read_all(stored_solution* b, bool solution, sap_error* error) {
  SAP_TRY(read_part(b, "r", b->rows[0], &b->parts[0], error));
  if (b->rows[1] > 0) {
    SAP_TRY(read_part(b, "l", b->rows[1], &b->parts[1], error));
  }
  if (b->rows[2] > 0) {
    if (!solution) {
      return sap_fclib_fail(b->file, error, SAP_STATUS_UNSUPPORTED, b->group,
                            "FCLIB's guesses cannot store impulses of limits and boxes");
    }
    SAP_TRY(sap_fclib_read_reals(b->file, "sapstep/solution_K", b->rows[2], &b->parts[2], error));
  }
  if (solution && sap_fclib_has(b->file, "sapstep/solution_cost")) {
    SAP_TRY(sap_fclib_read_reals(b->file, "sapstep/solution_cost", 1, &b->cost, error));
  }
  return read_velocities(b, error);
}

// Copies velocities; those of a local problem change from N T1 T2 to T1 T2 N, as impulses do.
static void take_velocities(const stored_solution* b, sap_solution* s) {
  for (int32_t i = 0; i < s->nv; ++i) {
    s->v[i] = s->impulse[i] = 0.0;
  }
  for (int32_t i = 0; i < b->v.count; ++i) {
    s->v[b->local ? 3 * (i / 3) + sap_fclib_row(i % 3) : i] = b->v.values[i];
  }
}

static void take_impulses(const stored_solution* b, sap_solution* s) {
  int32_t at[3] = {0, 0, 0};
  for (int32_t i = 0; i < sap_problem_block_count(b->problem); ++i) {
    sap_block block;
    int32_t first = 0;
    (void)sap_problem_block(b->problem, i, &block, &first, NULL);
    const int kind = kind_of(block.set);
    for (int32_t r = 0; r < block.nrows; ++r) {
      const int32_t row = kind == 0 ? sap_fclib_row(r) : r;
      s->gamma[first + row] = b->parts[kind].values[at[kind]++];
    }
  }
}

// Computes vc = J v and impulse = J' gamma.
static void multiply_jacobians(const stored_solution* b, sap_solution* s) {
  for (int32_t i = 0; i < sap_problem_block_count(b->problem); ++i) {
    sap_block block;
    int32_t first = 0;
    (void)sap_problem_block(b->problem, i, &block, &first, NULL);
    for (int32_t r = 0; r < block.nrows; ++r) {
      double sum = 0.0;
      for (int32_t t = 0; t < block.ntrees; ++t) {
        const int32_t start = b->tree_start[block.trees[t]];
        const int32_t size = sap_problem_tree_size(b->problem, block.trees[t]);
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

static sap_status read_stored(const sap_fclib_file* file, const sap_problem* problem, int32_t index,
                              sap_solution* solution, bool* found, sap_error* error) {
  stored_solution b = {.file = file, .problem = problem, .group = "solution"};
  b.local = sap_fclib_has(file, "fclib_local");
  if (index > 0) {
    (void)snprintf(b.group, sizeof b.group, "guesses/%ld", (long)index);
  }
  if (!sap_fclib_has(file, b.group)) {
    return SAP_STATUS_OK;
  }
  count_rows(&b);
  sap_status status = find_tree_starts(&b, error);
  if (status == SAP_STATUS_OK) {
    status = read_all(&b, index == 0, error);
  }
  if (status == SAP_STATUS_OK) {
    status = sap_solution_resize(solution, sap_problem_velocity_count(problem),
                                 sap_problem_row_count(problem), error);
  }
  if (status == SAP_STATUS_OK) {
    take_velocities(&b, solution);
    take_impulses(&b, solution);
    multiply_jacobians(&b, solution);
    solution->cost = b.cost.count > 0 ? b.cost.values[0] : (double)NAN;
    *found = true;
  }
  for (int i = 0; i < 3; ++i) {
    sap_fclib_reals_clear(&b.parts[i]);
  }
  sap_fclib_reals_clear(&b.v);
  sap_fclib_reals_clear(&b.cost);
  sap_free(b.tree_start);
  return status;
}

sap_status sap_fclib_read_solution(const char* path, const sap_problem* problem, int32_t index,
                                   sap_solution* solution, bool* found, sap_error* error) {
  sap_hdf5_silence silence;
  sap_hdf5_silence_begin(&silence);
  sap_fclib_file file;
  sap_status status = sap_fclib_open(path, &file, error);
  if (status == SAP_STATUS_OK) {
    status = read_stored(&file, problem, index, solution, found, error);
  }
  if (status != SAP_STATUS_OK && file.id >= 0) {  // the file may be damaged
    sap_hdf5_silence_exit();
  }
  sap_fclib_close(&file);
  sap_hdf5_silence_end(&silence);
  return status;
}

#else

sap_status sap_fclib_read_solution(const char* path, const sap_problem* problem, int32_t index,
                                   sap_solution* solution, bool* found, sap_error* error) {
  (void)problem;
  (void)index;
  (void)solution;
  (void)found;
  return sap_fail(error, SAP_STATUS_UNSUPPORTED,
                  "%s: this build of sapstep has no HDF5 to read solutions with", path);
}

#endif
