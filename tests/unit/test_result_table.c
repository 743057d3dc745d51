// SPDX-License-Identifier: BSD-3-Clause
// Tables of results in HDF5: every column with its numbers, texts and units.
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include <cmocka.h>
#include <hdf5.h>

#include <sapstep/output.h>

#include "support/scratch.h"

enum { ROWS = 3, TEXT_SIZE = 16 };

static void read_text(hid_t file, const char* name, const char* attribute, char* out) {
  const hid_t set = H5Dopen2(file, name, H5P_DEFAULT);
  const hid_t from = attribute != NULL ? H5Aopen(set, attribute, H5P_DEFAULT) : set;
  const hid_t type = attribute != NULL ? H5Aget_type(from) : H5Dget_type(from);
  assert_true(H5Tget_size(type) < TEXT_SIZE);
  memset(out, 0, ROWS * TEXT_SIZE);
  assert_true((attribute != NULL ? H5Aread(from, type, out)
                                 : H5Dread(from, type, H5S_ALL, H5S_ALL, H5P_DEFAULT, out)) >= 0);
  (void)H5Tclose(type);
  if (attribute != NULL) {
    (void)H5Aclose(from);
  }
  (void)H5Dclose(set);
}

static void test_columns(void** state) {
  static const double numbers[ROWS] = {1.0, -0.1, 1e300};
  static const char* const texts[ROWS] = {"a", "bcd", "ef"};
  const sap_result_column columns[2] = {{.name = "depth", .units = "m", .values = numbers},
                                        {.name = "solver", .units = "", .texts = texts}};
  const sap_result_table table = {
      .columns = columns, .column_count = 2, .rows = ROWS, .note = "a note"};
  char path[SCRATCH_PATH_SIZE], text[ROWS * TEXT_SIZE];
  double values[ROWS];
  assert_int_equal(sap_result_table_write(scratch_path(*state, "t.h5", path), &table, NULL),
                   SAP_STATUS_OK);
  const hid_t file = H5Fopen(path, H5F_ACC_RDONLY, H5P_DEFAULT);
  assert_true(file >= 0);
  const hid_t set = H5Dopen2(file, "depth", H5P_DEFAULT);
  assert_true(H5Dread(set, H5T_NATIVE_DOUBLE, H5S_ALL, H5S_ALL, H5P_DEFAULT, values) >= 0);
  assert_memory_equal(values, numbers, sizeof numbers);
  (void)H5Dclose(set);
  read_text(file, "depth", "units", text);
  assert_string_equal(text, "m");
  read_text(file, "solver", NULL, text);
  const size_t width = 4;  // of the longest text and its end
  for (int i = 0; i < ROWS; ++i) {
    assert_memory_equal(text + width * (size_t)i, texts[i], strlen(texts[i]));
  }
  (void)H5Fclose(file);
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test_setup_teardown(test_columns, scratch_setup, scratch_teardown),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
