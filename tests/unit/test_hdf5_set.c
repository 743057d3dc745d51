// SPDX-License-Identifier: BSD-3-Clause
// Data sets of all kinds of number, layout, shape and filter, beside H5Dread.
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>

#include <cmocka.h>

#include "io/hdf5/hdf5_set.h"

#include "support/hdf5_write.h"
#include "support/scratch.h"

enum { VALUES = 7 * 5 * 4, SHUFFLE = 1, DEFLATE = 2, FILTERS = 4 };

static const hsize_t shape[3] = {7, 5, 4};
static const hsize_t flat[2] = {7, 20};

// Chunks of 3 x 2 x 3: the last ones reach beyond the set in each direction.
static hid_t creation_list(int filters, int rank, H5D_layout_t layout) {
  static const hsize_t chunk[3] = {3, 2, 3};
  const hid_t list = H5Pcreate(H5P_DATASET_CREATE);
  if (layout != H5D_CHUNKED) {
    assert_true(H5Pset_layout(list, layout) >= 0);
    return list;
  }
  assert_true(H5Pset_chunk(list, rank, chunk) >= 0);
  assert_true((filters & SHUFFLE) == 0 || H5Pset_shuffle(list) >= 0);
  assert_true((filters & DEFLATE) == 0 || H5Pset_deflate(list, 6) >= 0);
  return list;
}

static void fill(double values[VALUES]) {
  for (int i = 0; i < VALUES; ++i) {
    values[i] = (i * 37) % 101;  // an int8 has it
  }
}

static void write_set(hid_t file, hid_t type, int rank, hid_t list) {
  double values[VALUES];
  fill(values);
  const hsize_t one = VALUES;
  const hid_t space = H5Screate_simple(rank, rank == 1 ? &one : rank == 2 ? flat : shape, NULL);
  const hid_t set = H5Dcreate2(file, "x", type, space, H5P_DEFAULT, list, H5P_DEFAULT);
  assert_true(set >= 0);
  assert_true(H5Dwrite(set, H5T_NATIVE_DOUBLE, H5S_ALL, H5S_ALL, H5P_DEFAULT, values) >= 0);
  (void)H5Dclose(set);
  (void)H5Sclose(space);
}

// All parts of the set's rows, as doubles and as integers, are those that HDF5 reads.
static void compare(hid_t file) {
  double expected[VALUES], found[VALUES];
  int64_t integers[VALUES];
  const char* why = NULL;
  sap_hdf5_set set;
  assert_true(sap_hdf5_set_open(file, "x", &set));
  assert_int_equal(set.rows * set.row_values, VALUES);
  assert_true(H5Dread(set.id, H5T_NATIVE_DOUBLE, H5S_ALL, H5S_ALL, H5P_DEFAULT, expected) >= 0);
  assert_true(expected[1] == 37.0 && expected[VALUES - 1] == (VALUES - 1) * 37 % 101);
  const hsize_t step = set.rank == 1 ? 11 : 1;
  for (hsize_t first = 0; first < set.rows; first += step) {
    for (hsize_t count = 0; count <= set.rows - first; count += step) {
      const size_t n = (size_t)(count * set.row_values);
      memset(found, -1, sizeof found);
      assert_int_equal(sap_hdf5_set_read(&set, first, count, H5T_NATIVE_DOUBLE, found, &why), 0);
      assert_memory_equal(found, expected + first * set.row_values, n * sizeof *found);
      assert_true(n == VALUES || found[n] != found[n]);  // nothing beyond
      assert_int_equal(sap_hdf5_set_read(&set, first, count, H5T_NATIVE_INT64, integers, &why), 0);
      for (size_t i = 0; i < n; ++i) {
        assert_int_equal(integers[i], (int64_t)found[i]);
      }
    }
  }
  sap_hdf5_set_close(&set);
}

static void compare_new(const char* path, hid_t type, int rank, int filters, H5D_layout_t layout) {
  const hid_t file = hdf5_write_create(path);
  const hid_t list = creation_list(filters, rank, layout);
  write_set(file, type, rank, list);
  (void)H5Pclose(list);
  hdf5_write_close(file);
  const hid_t again = H5Fopen(path, H5F_ACC_RDONLY, H5P_DEFAULT);
  compare(again);
  hdf5_write_close(again);
}

static void test_all_kinds(void** state) {
  char path[SCRATCH_PATH_SIZE];
  (void)scratch_path(*state, "all.h5", path);
  const hid_t types[] = {H5T_STD_I8LE,   H5T_STD_U16BE,  H5T_STD_I32BE, H5T_STD_U64LE,
                         H5T_IEEE_F32LE, H5T_IEEE_F64LE, H5T_IEEE_F64BE};
  for (size_t t = 0; t < sizeof types / sizeof *types; ++t) {
    for (int rank = 1; rank <= 3; ++rank) {
      compare_new(path, types[t], rank, 0, H5D_CONTIGUOUS);
      compare_new(path, types[t], rank, 0, H5D_COMPACT);
      for (int filters = 0; filters < FILTERS; ++filters) {
        compare_new(path, types[t], rank, filters, H5D_CHUNKED);
      }
    }
  }
}

// How the chunks of a set of a later format are found.
typedef struct chunk_index {
  H5D_chunk_index_t kind;
  hsize_t most[3], chunk[3];
  H5D_alloc_time_t time;
  int filters;  // the filters below up to this: none, deflate
} chunk_index;

static void write_indexed(hid_t file, const chunk_index* index, int filter) {
  double values[VALUES];
  fill(values);
  const hid_t list = H5Pcreate(H5P_DATASET_CREATE);
  assert_true(H5Pset_chunk(list, 3, index->chunk) >= 0);
  assert_true(H5Pset_alloc_time(list, index->time) >= 0);
  assert_true(filter == 0 || H5Pset_deflate(list, 1) >= 0);
  const hid_t space = H5Screate_simple(3, shape, index->most);
  const hid_t set = H5Dcreate2(file, "x", H5T_IEEE_F64LE, space, H5P_DEFAULT, list, H5P_DEFAULT);
  assert_true(H5Dwrite(set, H5T_NATIVE_DOUBLE, H5S_ALL, H5S_ALL, H5P_DEFAULT, values) >= 0);
  H5D_chunk_index_t kind = H5D_CHUNK_IDX_NTYPES;
  assert_true(H5Dget_chunk_index_type(set, &kind) >= 0);
  assert_int_equal(kind, index->kind);
  (void)H5Dclose(set);
  (void)H5Sclose(space);
  (void)H5Pclose(list);
}

// Every index of chunks that later formats have.
static void test_latest_format(void** state) {
  char path[SCRATCH_PATH_SIZE];
  (void)scratch_path(*state, "latest.h5", path);
  static const hsize_t more = H5S_UNLIMITED;
  const chunk_index kinds[] = {
      {H5D_CHUNK_IDX_SINGLE, {7, 5, 4}, {7, 5, 4}, H5D_ALLOC_TIME_DEFAULT, 1},
      {H5D_CHUNK_IDX_NONE, {7, 5, 4}, {3, 2, 3}, H5D_ALLOC_TIME_EARLY, 0},
      {H5D_CHUNK_IDX_FARRAY, {7, 5, 4}, {3, 2, 3}, H5D_ALLOC_TIME_DEFAULT, 1},
      {H5D_CHUNK_IDX_EARRAY, {more, 5, 4}, {3, 2, 3}, H5D_ALLOC_TIME_DEFAULT, 1},
      {H5D_CHUNK_IDX_BT2, {more, more, 4}, {3, 2, 3}, H5D_ALLOC_TIME_DEFAULT, 1},
      {H5D_CHUNK_IDX_EARRAY, {more, 5, 4}, {7, 5, 4}, H5D_ALLOC_TIME_DEFAULT, 1}};
  const hid_t access = H5Pcreate(H5P_FILE_ACCESS);
  assert_true(H5Pset_libver_bounds(access, H5F_LIBVER_LATEST, H5F_LIBVER_LATEST) >= 0);
  for (size_t k = 0; k < sizeof kinds / sizeof *kinds; ++k) {
    for (int filter = 0; filter <= kinds[k].filters; ++filter) {
      (void)remove(path);
      const hid_t file = H5Fcreate(path, H5F_ACC_TRUNC, H5P_DEFAULT, access);
      write_indexed(file, &kinds[k], filter);
      hdf5_write_close(file);
      const hid_t again = H5Fopen(path, H5F_ACC_RDONLY, H5P_DEFAULT);
      compare(again);
      hdf5_write_close(again);
    }
  }
  (void)H5Pclose(access);
}

// Sets of which nothing was written: zeros, unless there is a rule of their own.
static void test_unwritten(void** state) {
  char path[SCRATCH_PATH_SIZE];
  const hid_t file = hdf5_write_create(scratch_path(*state, "empty.h5", path));
  static const double other = 3.0;
  for (int layout = 0; layout < 2; ++layout) {
    for (int rule = 0; rule < 3; ++rule) {
      const hid_t list = creation_list(0, 2, layout == 0 ? H5D_CONTIGUOUS : H5D_CHUNKED);
      assert_true(rule != 1 || H5Pset_fill_time(list, H5D_FILL_TIME_NEVER) >= 0);
      assert_true(rule != 2 || H5Pset_fill_value(list, H5T_NATIVE_DOUBLE, &other) >= 0);
      const hid_t space = H5Screate_simple(2, flat, NULL);
      char name[32];
      (void)snprintf(name, sizeof name, "x%d%d", layout, rule);
      (void)H5Dclose(
          H5Dcreate2(file, name, H5T_NATIVE_FLOAT, space, H5P_DEFAULT, list, H5P_DEFAULT));
      (void)H5Sclose(space);
      (void)H5Pclose(list);
      double values[VALUES];
      memset(values, -1, sizeof values);
      const char* why = NULL;
      sap_hdf5_set set;
      assert_true(sap_hdf5_set_open(file, name, &set));
      assert_int_equal(sap_hdf5_set_read(&set, 0, set.rows, H5T_NATIVE_DOUBLE, values, &why),
                       rule == 0 ? SAP_STATUS_OK : SAP_STATUS_SYNTAX);
      for (int i = 0; i < VALUES && rule == 0; ++i) {
        assert_true(values[i] == 0.0);
      }
      sap_hdf5_set_close(&set);
    }
  }
  hdf5_write_close(file);
}

// A half-precision number, as h5py makes them.
static hid_t half_type(void) {
  const hid_t type = H5Tcopy(H5T_IEEE_F32LE);
  assert_true(H5Tset_fields(type, 15, 10, 5, 0, 10) >= 0);
  assert_true(H5Tset_size(type, 2) >= 0);
  assert_true(H5Tset_ebias(type, 15) >= 0);
  return type;
}

// Chunks that have passed other filters, or none at the edges, or deflate before shuffle.
static hid_t other_list(int which) {
  const hid_t list = creation_list(which == 2 ? DEFLATE : 0, 1, H5D_CHUNKED);
  assert_true(which == 0   ? H5Pset_scaleoffset(list, H5Z_SO_INT, 0) >= 0
              : which == 1 ? H5Pset_fletcher32(list) >= 0
              : which == 2 ? H5Pset_shuffle(list) >= 0
                           : H5Pset_chunk_opts(list, H5D_CHUNK_DONT_FILTER_PARTIAL_CHUNKS) >= 0);
  return list;
}

static void test_not_read(void** state) {
  char path[SCRATCH_PATH_SIZE];
  double values[VALUES];
  const char* why = NULL;
  sap_hdf5_set set;
  const hid_t access = H5Pcreate(H5P_FILE_ACCESS);
  assert_true(H5Pset_libver_bounds(access, H5F_LIBVER_LATEST, H5F_LIBVER_LATEST) >= 0);
  for (int which = 0; which < 4; ++which) {
    const hid_t list = other_list(which);
    const hid_t file =
        H5Fcreate(scratch_path(*state, "filtered.h5", path), H5F_ACC_TRUNC, H5P_DEFAULT, access);
    write_set(file, H5T_STD_I32LE, 1, list);
    assert_true(sap_hdf5_set_open(file, "x", &set));
    assert_int_equal(sap_hdf5_set_read(&set, 0, set.rows, H5T_NATIVE_DOUBLE, values, &why),
                     SAP_STATUS_UNSUPPORTED);
    assert_non_null(strstr(why, "h5repack"));
    sap_hdf5_set_close(&set);
    (void)H5Pclose(list);
    hdf5_write_close(file);
  }
  (void)H5Pclose(access);
  const hid_t file = hdf5_write_create(scratch_path(*state, "others.h5", path));
  const hid_t half = half_type(), plain = creation_list(0, 1, H5D_CONTIGUOUS);
  write_set(file, half, 1, plain);
  assert_true(sap_hdf5_set_open(file, "x", &set));
  assert_int_equal(set.kind, SAP_HDF5_OTHERS);
  sap_hdf5_set_close(&set);
  (void)H5Pclose(plain);
  (void)H5Tclose(half);
  const hid_t text = H5Tcopy(H5T_C_S1), space = H5Screate(H5S_SCALAR);
  assert_true(H5Tset_size(text, H5T_VARIABLE) >= 0);
  (void)H5Dclose(H5Dcreate2(file, "text", text, space, H5P_DEFAULT, H5P_DEFAULT, H5P_DEFAULT));
  assert_true(sap_hdf5_set_open(file, "text", &set));
  assert_int_equal(set.kind, SAP_HDF5_OTHERS);
  assert_int_equal(sap_hdf5_set_read(&set, 0, 1, text, values, &why), SAP_STATUS_UNSUPPORTED);
  sap_hdf5_set_close(&set);
  assert_false(sap_hdf5_set_open(file, "/", &set));
  sap_hdf5_set_close(&set);
  (void)H5Sclose(space);
  (void)H5Tclose(text);
  hdf5_write_close(file);
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(test_all_kinds), cmocka_unit_test(test_latest_format),
      cmocka_unit_test(test_unwritten), cmocka_unit_test(test_not_read)};
  return cmocka_run_group_tests(tests, hdf5_silent_setup, scratch_teardown);
}
