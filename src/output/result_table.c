// SPDX-License-Identifier: BSD-3-Clause
// Tables of results, as HDF5 and as CSV.
#define _POSIX_C_SOURCE 200809L
#include <errno.h>
#include <inttypes.h>
#include <math.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>

#include <sapstep/output.h>

#include "core/file.h"
#include "core/memory.h"
#include "core/platform.h"
#include "output/recorder/hdf5_column.h"
#include "output/recorder/hdf5_file.h"

static sap_status check(const char* path, const sap_result_table* table, sap_error* error) {
  if (path == NULL || table == NULL || table->rows < 0 || table->column_count < 0 ||
      (table->columns == NULL && table->column_count > 0)) {
    return sap_fail(error, SAP_STATUS_ARGUMENT, "a path and a table are needed");
  }
  for (int32_t i = 0; i < table->column_count; ++i) {
    const sap_result_column* c = &table->columns[i];
    if (c->name == NULL || (table->rows > 0 && (c->values == NULL) == (c->texts == NULL))) {
      return sap_fail(error, SAP_STATUS_ARGUMENT,
                      "column %" PRId32 " needs a name, and either values or texts", i);
    }
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

sap_status sap_result_table_write_csv(const char* path, const sap_result_table* table,
                                      sap_error* error) {
  sap_file* file = NULL;
  sap_c_locale locale;
  sap_status status = check(path, table, error);
  if (status == SAP_STATUS_OK) {
    status = sap_file_create(path, &file, error);
  }
  if (status == SAP_STATUS_OK) {
    status = sap_c_locale_begin(&locale, error);
  }
  if (status == SAP_STATUS_OK) {
    print_csv(sap_file_stream(file), table);
    sap_c_locale_end(&locale);
    status = sap_file_commit(file, error);
  }
  sap_file_close(file);
  return status;
}

#ifdef SAPSTEP_HDF5

// Texts of a column side by side, each `width` bytes, padded by zeros; NULL: no memory.
static char* pack(const char* const* texts, int64_t rows, size_t* width, int* failure) {
  *width = 1;
  for (int64_t i = 0; i < rows; ++i) {
    const size_t length = strlen(texts[i]) + 1;
    *width = length > *width ? length : *width;
  }
  char* packed = sap_hdf5_allocate((size_t)rows + 1, *width, failure);
  for (int64_t i = 0; i < rows && packed != NULL; ++i) {
    memcpy(packed + (size_t)i * *width, texts[i], strlen(texts[i]) + 1);
  }
  return packed;
}

// Objects carry no times, so that equal tables make equal files.
static bool write_set(hid_t file, const sap_result_column* c, int64_t rows, hid_t type,
                      const void* values) {
  const hsize_t extent = (hsize_t)rows;
  const hid_t space = H5Screate_simple(1, &extent, NULL);
  const hid_t properties = H5Pcreate(H5P_DATASET_CREATE);
  bool good = space >= 0 && properties >= 0 && H5Pset_obj_track_times(properties, false) >= 0;
  const hid_t set =
      good ? H5Dcreate2(file, c->name, type, space, H5P_DEFAULT, properties, H5P_DEFAULT) : -1;
  good = set >= 0 && sap_hdf5_attribute(set, "units", c->units) &&
         (rows == 0 || H5Dwrite(set, type, H5S_ALL, H5S_ALL, H5P_DEFAULT, values) >= 0);
  (void)H5Dclose(set);
  (void)H5Pclose(properties);
  (void)H5Sclose(space);
  return good;
}

static bool write_column(hid_t file, const sap_result_column* c, int64_t rows, int* failure) {
  if (c->texts == NULL) {
    return write_set(file, c, rows, H5T_IEEE_F64LE, c->values);
  }
  size_t width;
  char* packed = pack(c->texts, rows, &width, failure);
  const hid_t type = H5Tcopy(H5T_C_S1);
  const bool good = packed != NULL && type >= 0 && H5Tset_size(type, width) >= 0 &&
                    H5Tset_cset(type, H5T_CSET_UTF8) >= 0 && write_set(file, c, rows, type, packed);
  (void)H5Tclose(type);
  sap_free(packed);
  return good;
}

// An error number goes to *failure.
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
  const sap_status status = check(path, table, error);
  if (status != SAP_STATUS_OK) {
    return status;
  }
  struct stat info;
  if (stat(path, &info) == 0 && !S_ISREG(info.st_mode)) {  // a device, say, must not be replaced
    return sap_fail(error, SAP_STATUS_IO, "cannot write the table '%s': it is no regular file",
                    path);
  }
  // Beside the path first: an earlier table stays until this one is whole.
  char* temporary = sap_allocate(strlen(path) + 6, 1);
  if (temporary == NULL) {
    return sap_fail(error, SAP_STATUS_MEMORY, "out of memory");
  }
  (void)sprintf(temporary, "%s.part", path);
  int failure = 0;
  bool good = write_hdf5(temporary, table, &failure);
  if (good && rename(temporary, path) != 0) {
    failure = errno;
    good = false;
  }
  if (!good) {
    (void)remove(temporary);
  }
  sap_free(temporary);
  return good ? SAP_STATUS_OK : sap_fail_io(error, failure, "write the table", path);
}

#else

sap_status sap_result_table_write(const char* path, const sap_result_table* table,
                                  sap_error* error) {
  const sap_status status = check(path, table, error);
  return status != SAP_STATUS_OK
             ? status
             : sap_fail(error, SAP_STATUS_UNSUPPORTED,
                        "this build has no HDF5: install libhdf5-dev and build again, or ask for "
                        "CSV");
}

#endif
