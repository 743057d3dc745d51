// SPDX-License-Identifier: BSD-3-Clause
// Writes tables of results as HDF5 and as CSV.
#define _POSIX_C_SOURCE 200809L
#include <inttypes.h>
#include <math.h>
#include <stdio.h>
#include <sys/stat.h>

#include <sapstep/output.h>

#include "core/file.h"
#include "core/platform.h"
#include "output/recorder/hdf5_writer.h"

static sap_status check_table(const char* path, const sap_result_table* table, sap_error* error) {
  SAP_FAIL_IF(path == NULL || table == NULL || table->rows < 0 || table->column_count < 0 ||
                  (table->columns == NULL && table->column_count > 0),
              error, SAP_STATUS_ARGUMENT, "a path and a table are needed");
  for (int32_t i = 0; i < table->column_count; ++i) {
    const sap_result_column* c = &table->columns[i];
    SAP_FAIL_IF(c->name == NULL || (table->rows > 0 && (c->values == NULL) == (c->texts == NULL)),
                error, SAP_STATUS_ARGUMENT,
                "column %" PRId32 " needs a name, and either values or texts", i);
  }
  return SAP_STATUS_OK;
}

static void print_csv(FILE* stream, const sap_result_table* table) {
  for (int64_t row = -1; row < table->rows; ++row) {
    for (int32_t i = 0; i < table->column_count; ++i) {
      const sap_result_column* c = &table->columns[i];
      (void)fputs(i > 0 ? "," : "", stream);
      if (row < 0 || c->texts != NULL) {
        sap_csv_cell(stream, row < 0 ? c->name : c->texts[row]);
      } else if (isfinite(c->values[row])) {
        (void)fprintf(stream, "%.17g", c->values[row]);
      }
    }
    (void)fputc('\n', stream);
  }
}

static sap_status write_csv(sap_file* file, const sap_result_table* table, sap_error* error) {
  sap_c_locale locale;
  SAP_TRY(sap_c_locale_begin(&locale, error));
  print_csv(sap_file_stream(file), table);
  sap_c_locale_end(&locale);
  return SAP_STATUS_OK;
}

sap_status sap_result_table_write_csv(const char* path, const sap_result_table* table,
                                      sap_error* error) {
  sap_file* file = NULL;
  SAP_TRY(check_table(path, table, error));
  SAP_TRY(sap_file_create(path, &file, error));
  return sap_file_finish(file, write_csv(file, table, error), error);
}

static const char* text_at(const void* texts, int64_t index) {
  return ((const char* const*)texts)[index];
}

static bool write_column(hid_t file, const sap_result_column* c, int64_t rows, int* failure) {
  const sap_hdf5_table table = {.name = c->name, .number = SAP_HDF5_REAL, .units = c->units};
  return c->texts == NULL
             ? sap_hdf5_write_table(file, &table, rows, c->values)
             : sap_hdf5_write_texts(file, c->name, c->units, rows, text_at, c->texts, failure);
}

// Writes the file; on failure *failure is the error number, 0: unknown.
static bool write_hdf5(const char* path, const sap_result_table* table, int* failure) {
  hid_t driver = -1;
  sap_hdf5_silence silence;
  sap_hdf5_silence_begin(&silence);
  const hid_t file = sap_hdf5_file_create(path, failure, &driver);
  bool good = file >= 0 && sap_hdf5_attribute(file, "format", "sapstep table") &&
              sap_hdf5_attribute(file, "version", "1") &&
              sap_hdf5_attribute(file, "program", sap_version()) &&
              sap_hdf5_attribute(file, "study", table->note);
  for (int32_t i = 0; good && i < table->column_count; ++i) {
    good = write_column(file, &table->columns[i], table->rows, failure);
  }
  good = sap_hdf5_file_close(file, driver) && good && *failure == 0;
  sap_hdf5_silence_end(&silence);
  return good;
}

sap_status sap_result_table_write(const char* path, const sap_result_table* table,
                                  sap_error* error) {
  SAP_TRY(check_table(path, table, error));
  struct stat info;
  if (stat(path, &info) == 0 && !S_ISREG(info.st_mode)) {  // a device must not be replaced
    return sap_fail(error, SAP_STATUS_IO, "cannot write the table '%s': it is not a regular file",
                    path);
  }
  sap_file* file = NULL;  // an earlier table stays until this one is complete
  SAP_TRY(sap_file_create(path, &file, error));
  int failure = 0;
  const sap_status status = write_hdf5(sap_file_name(file), table, &failure)
                                ? SAP_STATUS_OK
                                : sap_fail_io(error, failure, "write the table", path);
  return sap_file_finish(file, status, error);
}
