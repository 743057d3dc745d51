// SPDX-License-Identifier: BSD-3-Clause
// Files in which what describes the chunks, or a chunk, is not as it should be: told, never read
// beyond. HDF5 1.10.8 does read beyond them.
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>
#include <zlib.h>

#include <sapstep/recorder.h>

#include "io/hdf5/hdf5_set.h"

#include "support/hdf5_write.h"
#include "support/scratch.h"

enum { ROWS = 30, CHUNK = 10, SIZE = CHUNK * 8 };

// The set "x" of doubles 0 to 29.
static void write_file(const char* path, int deflate) {
  const hsize_t rows = ROWS, chunk = CHUNK;
  double values[ROWS];
  for (int i = 0; i < ROWS; ++i) {
    values[i] = i;
  }
  const hid_t file = hdf5_write_create(path), space = H5Screate_simple(1, &rows, NULL);
  const hid_t list = H5Pcreate(H5P_DATASET_CREATE);
  assert_true(H5Pset_chunk(list, 1, &chunk) >= 0);
  assert_true(deflate == 0 || H5Pset_deflate(list, 1) >= 0);
  const hid_t set = H5Dcreate2(file, "x", H5T_IEEE_F64LE, space, H5P_DEFAULT, list, H5P_DEFAULT);
  assert_true(H5Dwrite(set, H5T_NATIVE_DOUBLE, H5S_ALL, H5S_ALL, H5P_DEFAULT, values) >= 0);
  (void)H5Dclose(set);
  (void)H5Pclose(list);
  (void)H5Sclose(space);
  hdf5_write_close(file);
}

// The status of reading rows `first` to `first` + 9.
static sap_status read_file(const char* path, hsize_t first) {
  const hid_t file = H5Fopen(path, H5F_ACC_RDONLY, H5P_DEFAULT);
  assert_true(file >= 0);
  sap_hdf5_set set;
  const char* why = NULL;
  double* values = malloc(SIZE);
  assert_true(sap_hdf5_set_open(file, "x", &set));
  const sap_status status = sap_hdf5_set_read(&set, first, CHUNK, H5T_NATIVE_DOUBLE, values, &why);
  assert_true(status != SAP_STATUS_OK || values[9] == (double)(first + 9));
  assert_true(status == SAP_STATUS_OK || why != NULL);
  free(values);
  sap_hdf5_set_close(&set);
  hdf5_write_close(file);
  return status;
}

// Chunks of zlib's that decode to less or more, or to nothing.
static void test_wrong_length(void** state) {
  char path[SCRATCH_PATH_SIZE];
  (void)scratch_path(*state, "length.h5", path);
  static const size_t sizes[] = {0, 1, SIZE - 1, SIZE, SIZE + 1, 100 * SIZE};
  static unsigned char bytes[100 * SIZE];
  for (size_t i = 0; i < sizeof sizes / sizeof *sizes; ++i) {
    unsigned char packed[1024];
    uLongf length = sizeof packed;
    const hsize_t offset = CHUNK;
    for (int k = 0; k < CHUNK; ++k) {
      const double value = CHUNK + k;
      memcpy(bytes + k * 8, &value, 8);
    }
    assert_int_equal(compress(packed, &length, bytes, (uLong)sizes[i]), Z_OK);
    write_file(path, 1);
    const hid_t file = H5Fopen(path, H5F_ACC_RDWR, H5P_DEFAULT);
    const hid_t set = H5Dopen2(file, "x", H5P_DEFAULT);
    assert_true(H5Dwrite_chunk(set, H5P_DEFAULT, 0, &offset, length, packed) >= 0);
    (void)H5Dclose(set);
    hdf5_write_close(file);
    assert_int_equal(read_file(path, 0), SAP_STATUS_OK);
    assert_int_equal(read_file(path, CHUNK), sizes[i] == SIZE ? SAP_STATUS_OK : SAP_STATUS_SYNTAX);
    assert_int_equal(read_file(path, CHUNK / 2), read_file(path, CHUNK));
    assert_int_equal(read_file(path, 2 * CHUNK), SAP_STATUS_OK);
  }
}

// The place of the key of chunk `index` in the index of chunks: bytes, skipped filters, offsets.
static size_t find_key(const char* bytes, size_t size, size_t index) {
  enum {
    HEAD = 24,
    KEY = 24,
    CHILD = 8
  };  // of a node of the tree; a key of a set of one dimension
  for (size_t i = 0; i + HEAD + (index + 1) * (KEY + CHILD) < size; ++i) {
    if (memcmp(bytes + i, "TREE\1", 5) == 0) {
      return i + HEAD + index * (KEY + CHILD);
    }
  }
  fail_msg("no index of chunks");
  return 0;
}

// The index lies about a chunk's length, and about the filters that it has passed.
static void test_wrong_index(void** state) {
  char path[SCRATCH_PATH_SIZE];
  (void)scratch_path(*state, "index.h5", path);
  static const uint32_t lengths[] = {1, 7, SIZE - 1, SIZE + 1, 200, 1500, 1u << 20, UINT32_MAX};
  for (int deflate = 0; deflate < 2; ++deflate) {
    for (size_t i = 0; i <= sizeof lengths / sizeof *lengths; ++i) {
      write_file(path, deflate);
      size_t size;
      char* bytes = scratch_read(path, &size);
      const size_t key = find_key(bytes, size, 1);
      const uint32_t skipped = 1;
      if (i < sizeof lengths / sizeof *lengths) {
        memcpy(bytes + key, &lengths[i], 4);
      } else {
        memcpy(bytes + key + 4, &skipped, 4);
      }
      (void)scratch_write(*state, "index.h5", bytes, size, path);
      free(bytes);
      assert_int_equal(read_file(path, 0), SAP_STATUS_OK);
      const bool harmless = deflate == 0 && i == sizeof lengths / sizeof *lengths;
      // zlib finds the end of its stream by itself
      const bool longer = deflate == 1 && i < 6 && i > 1;
      const sap_status status = read_file(path, CHUNK);
      assert_true(status == (harmless ? SAP_STATUS_OK : SAP_STATUS_SYNTAX) ||
                  (longer && status == SAP_STATUS_OK));
    }
  }
}

// Lengths that are wrong, but right together: none is believed.
static void test_balanced_lies(void** state) {
  char path[SCRATCH_PATH_SIZE];
  (void)scratch_path(*state, "lies.h5", path);
  write_file(path, 0);
  size_t size;
  char* bytes = scratch_read(path, &size);
  const uint32_t longer = 2 * SIZE - 1, shorter = 1;
  memcpy(bytes + find_key(bytes, size, 1), &longer, 4);
  memcpy(bytes + find_key(bytes, size, 2), &shorter, 4);
  (void)scratch_write(*state, "lies.h5", bytes, size, path);
  free(bytes);
  for (hsize_t first = 0; first <= 2 * CHUNK; first += CHUNK) {
    assert_int_equal(read_file(path, first), SAP_STATUS_OK);
  }
}

// More rows than the file can hold are refused before there is memory for them.
static void test_claims(void** state) {
  char path[SCRATCH_PATH_SIZE];
  const hid_t file = hdf5_write_create(scratch_path(*state, "claim.h5", path));
  const hsize_t rows = (hsize_t)1 << 40, chunk = 1024;
  const hid_t space = H5Screate_simple(1, &rows, NULL), list = H5Pcreate(H5P_DATASET_CREATE);
  assert_true(H5Pset_chunk(list, 1, &chunk) >= 0);
  (void)H5Dclose(H5Dcreate2(file, "x", H5T_IEEE_F64LE, space, H5P_DEFAULT, list, H5P_DEFAULT));
  sap_hdf5_set set;
  double value;
  const char* why = NULL;
  assert_true(sap_hdf5_set_open(file, "x", &set));
  assert_false(sap_hdf5_set_fits(&set));
  assert_int_equal(sap_hdf5_set_read(&set, 0, rows, H5T_NATIVE_DOUBLE, &value, &why),
                   SAP_STATUS_SYNTAX);
  assert_non_null(strstr(why, "more values"));
  assert_int_equal(sap_hdf5_set_read(&set, rows - 1, 1, H5T_NATIVE_DOUBLE, &value, &why), 0);
  sap_hdf5_set_close(&set);
  (void)H5Pclose(list);
  (void)H5Sclose(space);
  hdf5_write_close(file);
}

// A thousand texts where one is due.
static void put_texts(hid_t object, const char* name) {
  static const char texts[1000][64];
  const hsize_t count = 1000;
  const hid_t type = H5Tcopy(H5T_C_S1), space = H5Screate_simple(1, &count, NULL);
  assert_true(H5Tset_size(type, sizeof texts[0] - 1) >= 0);
  assert_true(H5Adelete(object, name) >= 0);
  const hid_t attribute = H5Acreate2(object, name, type, space, H5P_DEFAULT, H5P_DEFAULT);
  assert_true(H5Awrite(attribute, type, texts) >= 0);
  (void)H5Aclose(attribute);
  (void)H5Sclose(space);
  (void)H5Tclose(type);
}

static void test_attributes(void** state) {
  char path[SCRATCH_PATH_SIZE], text[8];
  static const sap_recorded_body world = {.parent = -1};
  const sap_recorded_model model = {.sizes = {.bodies = 1, .nq = 1, .nv = 1}, .bodies = &world};
  sap_recorder* recorder = NULL;
  sap_recording* recording = NULL;
  assert_int_equal(sap_recorder_create_foreign(scratch_path(*state, "a.h5", path), &model, NULL,
                                               &recorder, NULL),
                   SAP_STATUS_OK);
  assert_int_equal(sap_recorder_close(recorder, NULL), SAP_STATUS_OK);
  for (int both = 0; both < 2; ++both) {
    const hid_t file = H5Fopen(path, H5F_ACC_RDWR, H5P_DEFAULT);
    const hid_t set = H5Dopen2(file, "time", H5P_DEFAULT);
    put_texts(both == 0 ? set : file, both == 0 ? "units" : "version");
    (void)H5Dclose(set);
    hdf5_write_close(file);
    assert_int_equal(sap_recording_open(path, &recording, NULL),
                     both == 0 ? SAP_STATUS_OK : SAP_STATUS_SYNTAX);
    if (both == 0) {
      assert_int_equal(sap_recording_attribute(recording, "time", "units", text, sizeof text, NULL),
                       SAP_STATUS_ARGUMENT);
    }
    sap_recording_close(recording);
  }
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(test_wrong_length), cmocka_unit_test(test_wrong_index),
      cmocka_unit_test(test_balanced_lies), cmocka_unit_test(test_claims),
      cmocka_unit_test(test_attributes)};
  return cmocka_run_group_tests(tests, hdf5_silent_setup, scratch_teardown);
}
