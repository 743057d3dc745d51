// SPDX-License-Identifier: BSD-3-Clause
// Reads recordings.
#include <stdio.h>
#include <string.h>

#include "core/file.h"
#include "core/memory.h"
#include "io/hdf5/hdf5_set.h"
#include "output/recorder/recorder.h"

enum { TEXT_MOST = 1 << 20 };  // bytes of a name or attribute

struct sap_recording {
  hid_t file;
  int64_t rows;
};

// Copies a text of fixed length, cut to `size` bytes. Fails with ARGUMENT if the object has no such
// attribute, or with MEMORY.
static sap_status read_attribute(hid_t file, const char* object, const char* name, char* out,
                                 size_t size) {
  const hid_t attribute = H5Aopen_by_name(file, object, name, H5P_DEFAULT, H5P_DEFAULT);
  const hid_t type = attribute >= 0 ? H5Aget_type(attribute) : -1;
  const hid_t space = attribute >= 0 ? H5Aget_space(attribute) : -1;
  sap_status status = SAP_STATUS_ARGUMENT;
  if (type >= 0 && space >= 0 && H5Tget_class(type) == H5T_STRING &&
      H5Tis_variable_str(type) == 0 && H5Sget_simple_extent_npoints(space) == 1 &&
      H5Tget_size(type) < TEXT_MOST) {
    char* text = sap_allocate(H5Tget_size(type) + 1, 1);
    status = text == NULL                          ? SAP_STATUS_MEMORY
             : H5Aread(attribute, type, text) >= 0 ? SAP_STATUS_OK
                                                   : SAP_STATUS_ARGUMENT;
    if (status == SAP_STATUS_OK) {
      (void)snprintf(out, size, "%s", text);
    }
    sap_free(text);
  }
  (void)H5Sclose(space);
  (void)H5Tclose(type);
  (void)H5Aclose(attribute);
  return status;
}

// Opens a data set of one or two dimensions; returns false if there is none. Must be closed by
// sap_hdf5_set_close, also after a failure.
static bool open_table(hid_t file, const char* name, sap_hdf5_set* set) {
  return sap_hdf5_set_open(file, name, set) && (set->rank == 1 || set->rank == 2);
}

static bool measure_table(hid_t file, const char* name, int64_t* rows, int64_t* columns) {
  sap_hdf5_set set;
  const bool good = open_table(file, name, &set);
  *rows = good ? (int64_t)set.rows : 0;
  *columns = good ? (int64_t)set.row_values : 0;
  sap_hdf5_set_close(&set);
  return good;
}

// Finds the number of rows that all data sets have: an interrupted flush may leave some longer.
static bool count_rows(sap_recording* recording) {
  static const char* const names[] = {
      "time",           "pose",          "energy",           "momentum",         "step",
      "contact/first",  "contact/count", "constraint/first", "constraint/count", "iteration/first",
      "iteration/count"};
  for (size_t i = 0; i < sizeof names / sizeof *names; ++i) {
    int64_t rows, columns;
    if (!measure_table(recording->file, names[i], &rows, &columns)) {
      return false;
    }
    recording->rows = i == 0 || rows < recording->rows ? rows : recording->rows;
  }
  return true;
}

// Returns true if the file begins as a recording does until its first flush: empty or with zeros.
static bool is_begun(const char* path) {
  static const char zeros[8];
  char bytes[sizeof zeros] = {0};
  FILE* file = fopen(path, "rb");
  const size_t size = file != NULL ? fread(bytes, 1, sizeof bytes, file) : sizeof bytes;
  const bool begun = file != NULL && (size == 0 || size == sizeof bytes) &&
                     memcmp(bytes, zeros, sizeof zeros) == 0;
  if (file != NULL) {
    (void)fclose(file);
  }
  return begun;
}

static sap_status open_file(const char* path, sap_recording* recording, sap_error* error) {
  SAP_TRY(sap_file_regular(path, error));  // HDF5 gives no reason
  recording->file = H5Fopen(path, H5F_ACC_RDONLY, H5P_DEFAULT);
  if (recording->file < 0) {
    const bool other = H5Fis_hdf5(path) == 0;
    SAP_FAIL_IF(is_begun(path), error, SAP_STATUS_SYNTAX,
                "'%s' is not an HDF5 file: it is empty or begins with zeros, as a recording "
                "that was killed before it had rows",
                path);
    if (!other) {
      sap_hdf5_silence_exit();
    }
    return sap_fail(error, other ? SAP_STATUS_SYNTAX : SAP_STATUS_IO,
                    other ? "'%s' is not an HDF5 file"
                          : "cannot open the recording '%s': it is damaged or cut off",
                    path);
  }
  char format[64] = "", version[64] = "";
  SAP_FAIL_IF(
      read_attribute(recording->file, "/", "format", format, sizeof format) == SAP_STATUS_MEMORY ||
          read_attribute(recording->file, "/", "version", version, sizeof version) ==
              SAP_STATUS_MEMORY,
      error, SAP_STATUS_MEMORY, "out of memory: recording");
  SAP_FAIL_IF(strcmp(format, SAP_RECORDING_FORMAT) != 0, error, SAP_STATUS_SYNTAX,
              "'%s' is an HDF5 file, but not a recording", path);
  SAP_FAIL_IF(strcmp(version, SAP_RECORDING_VERSION) != 0, error, SAP_STATUS_SYNTAX,
              "'%s' is a recording of another version than " SAP_RECORDING_VERSION, path);
  return count_rows(recording)
             ? SAP_STATUS_OK
             : sap_fail(error, SAP_STATUS_IO, "the recording '%s' is damaged", path);
}

sap_status sap_recording_open(const char* path, sap_recording** out, sap_error* error) {
  if (out != NULL) {
    *out = NULL;
  }
  SAP_NOT_NULL(error, path, out);
  sap_recording* recording;
  SAP_TRY(SAP_NEW(&recording, 1, "recording", error));
  recording->file = -1;
  sap_status status;
  SAP_HDF5_QUIET(status = open_file(path, recording, error));
  if (status != SAP_STATUS_OK) {
    if (recording->file >= 0) {  // its contents may be damaged
      sap_hdf5_silence_exit();
    }
    sap_recording_close(recording);
    return status;
  }
  *out = recording;
  return SAP_STATUS_OK;
}

void sap_recording_close(sap_recording* recording) {
  if (recording != NULL) {
    if (recording->file >= 0) {
      SAP_HDF5_QUIET(H5Fclose(recording->file));
    }
    sap_free(recording);
  }
}

int64_t sap_recording_rows(const sap_recording* recording) {
  return recording == NULL ? 0 : recording->rows;
}

// Calls sap_hdf5_silence_exit if an existing object could not be read: the file is damaged.
static void note_damage(hid_t file, const char* name, bool good) {
  bool exists = false;
  SAP_HDF5_QUIET(exists = !good && sap_hdf5_exists(file, name));
  if (exists) {
    sap_hdf5_silence_exit();
  }
}

static sap_status fail_no_table(const char* name, sap_error* error) {
  return sap_fail(error, SAP_STATUS_ARGUMENT, "the recording has no data set '%s'", name);
}

sap_status sap_recording_size(const sap_recording* recording, const char* name, int64_t* rows,
                              int64_t* columns, sap_error* error) {
  SAP_NOT_NULL(error, recording, name, rows, columns);
  bool good;
  SAP_HDF5_QUIET(good = measure_table(recording->file, name, rows, columns));
  note_damage(recording->file, name, good);
  return good ? SAP_STATUS_OK : fail_no_table(name, error);
}

static sap_status read_rows(const sap_hdf5_set* set, const char* name, int64_t first, int64_t count,
                            double* out, sap_error* error) {
  const int64_t rows = (int64_t)set->rows;
  const char* why = "it has no numbers";
  sap_status status = SAP_STATUS_SYNTAX;
  SAP_FAIL_IF(out == NULL || first < 0 || count < 0 || first > rows || count > rows - first, error,
              SAP_STATUS_ARGUMENT,
              "%lld rows of '%s' from %lld on must be within [0, %lld), with out != NULL",
              (long long)count, name, (long long)first, (long long)rows);
  if (set->kind == SAP_HDF5_INTEGERS || set->kind == SAP_HDF5_FLOATS) {
    status = sap_hdf5_set_read(set, (hsize_t)first, (hsize_t)count, H5T_NATIVE_DOUBLE, out, &why);
  }
  return status == SAP_STATUS_OK
             ? SAP_STATUS_OK
             : sap_fail(error, status == SAP_STATUS_SYNTAX ? SAP_STATUS_IO : status,
                        "cannot read '%s' of the recording: %s", name, why);
}

sap_status sap_recording_read(const sap_recording* recording, const char* name, int64_t first,
                              int64_t count, double* out, sap_error* error) {
  SAP_NOT_NULL(error, recording, name);
  sap_hdf5_set set;
  sap_status status;
  bool found;
  SAP_HDF5_QUIET(found = open_table(recording->file, name, &set));
  SAP_HDF5_QUIET(status = found ? read_rows(&set, name, first, count, out, error)
                                : fail_no_table(name, error));
  SAP_HDF5_QUIET(sap_hdf5_set_close(&set));
  note_damage(recording->file, name,
              status == SAP_STATUS_OK || (found && status == SAP_STATUS_ARGUMENT));
  return status;
}

sap_status sap_recording_attribute(const sap_recording* recording, const char* name,
                                   const char* attribute, char* out, size_t size,
                                   sap_error* error) {
  SAP_FAIL_IF(recording == NULL || name == NULL || attribute == NULL || out == NULL || size == 0,
              error, SAP_STATUS_ARGUMENT, "sap_recording_attribute: an argument is NULL");
  sap_status status;
  SAP_HDF5_QUIET(status = read_attribute(recording->file, name, attribute, out, size));
  note_damage(recording->file, name, status == SAP_STATUS_OK);
  return status == SAP_STATUS_OK ? status
         : status == SAP_STATUS_MEMORY
             ? sap_fail(error, status, "out of memory: attribute")
             : sap_fail(error, status, "'%s' has no attribute '%s'", name, attribute);
}

// Copies a text of fixed length, the only kind in a recording (see sap_hdf5_write_texts).
static sap_status read_text(hid_t file, const char* name, int64_t index, char* out, size_t size) {
  const char* why;
  sap_hdf5_set set;
  sap_status status = SAP_STATUS_ARGUMENT;
  if (sap_hdf5_set_open(file, name, &set) && set.rank == 1 && set.kind == SAP_HDF5_TEXTS &&
      index >= 0 && (uint64_t)index < set.rows && set.value_size < TEXT_MOST) {
    char* text = sap_allocate(set.value_size + 1, 1);
    status = text == NULL ? SAP_STATUS_MEMORY
                          : sap_hdf5_set_read(&set, (hsize_t)index, 1, set.type, text, &why);
    if (status == SAP_STATUS_OK) {
      (void)snprintf(out, size, "%s", text);
    }
    sap_free(text);
  }
  sap_hdf5_set_close(&set);
  return status;
}

sap_status sap_recording_text(const sap_recording* recording, const char* name, int64_t index,
                              char* out, size_t size, sap_error* error) {
  SAP_FAIL_IF(recording == NULL || name == NULL || out == NULL || size == 0, error,
              SAP_STATUS_ARGUMENT, "sap_recording_text: an argument is NULL");
  sap_status status;
  SAP_HDF5_QUIET(status = read_text(recording->file, name, index, out, size));
  note_damage(recording->file, name, status == SAP_STATUS_OK);
  return status == SAP_STATUS_OK ? SAP_STATUS_OK
         : status == SAP_STATUS_MEMORY
             ? sap_fail(error, status, "out of memory: text")
             : sap_fail(error, status, "the recording has no text %lld in '%s'", (long long)index,
                        name);
}
