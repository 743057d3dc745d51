// SPDX-License-Identifier: BSD-3-Clause
// Recognises FCLIB files, reads the parts that both forms share, and chooses the form.
#include <stdio.h>
#include <string.h>

#include "core/memory.h"
#include "io/hdf5/hdf5_set.h"
#include "io/problem_file/fclib.h"
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

sap_status sap_fclib_read_dt(const sap_fclib_file* file, double* dt, sap_error* error) {
  sap_fclib_reals values = {0};
  sap_status status = SAP_STATUS_OK;
  *dt = 1.0;
  if (sap_fclib_has(file, "sapstep/dt")) {
    status = sap_fclib_read_reals(file, "sapstep/dt", 1, &values, error);
    if (status == SAP_STATUS_OK) {
      *dt = values.values[0];
    }
    if (status == SAP_STATUS_OK && !(*dt > 0.0)) {
      status =
          sap_fclib_fail(file, error, SAP_STATUS_SYNTAX, "sapstep/dt", "%g must be > 0 s", *dt);
    }
  }
  sap_fclib_reals_clear(&values);
  return status;
}

sap_status sap_fclib_read_contacts(const sap_fclib_file* file, const char* group,
                                   sap_fclib_reals* mu, sap_error* error) {
  char name[NAME_SIZE];
  int32_t unused;
  (void)snprintf(name, sizeof name, "%s/spacedim", group);
  SAP_TRY(sap_fclib_read_integer(file, name, 3, 3, &unused, error));
  (void)snprintf(name, sizeof name, "%s/vectors/mu", group);
  SAP_TRY(sap_fclib_read_reals(file, name, SAP_FCLIB_ANY, mu, error));
  if (mu->count > INT32_MAX / 9) {
    return sap_fclib_fail(file, error, SAP_STATUS_SYNTAX, name, "%ld contacts are too many",
                          (long)mu->count);
  }
  for (int32_t i = 0; i < mu->count; ++i) {
    if (!(mu->values[i] >= 0.0)) {
      return sap_fclib_fail(file, error, SAP_STATUS_SYNTAX, name, "[%ld] = %g must be >= 0",
                            (long)i, mu->values[i]);
    }
  }
  return SAP_STATUS_OK;
}

sap_status sap_fclib_read_R(const sap_fclib_file* file, const char* group, int32_t ncontacts,
                            sap_fclib_reals* out, sap_error* error) {
  char name[NAME_SIZE];
  (void)snprintf(name, sizeof name, "%s/vectors/R", group);
  const int32_t n = 3 * ncontacts;
  if (!sap_fclib_has(file, name)) {
    SAP_TRY(SAP_GROW(&out->values, &out->capacity, n, error));
    if (n > 0) {
      memset(out->values, 0, (size_t)n * sizeof(double));
    }
    return SAP_STATUS_OK;
  }
  SAP_TRY(sap_fclib_read_reals(file, name, n, out, error));
  for (int32_t i = 0; i < n; i += 3) {
    double* R = out->values + i;
    const double Rn = R[0];
    if (!(Rn >= 0.0) || !(R[1] >= 0.0) || R[1] != R[2]) {
      return sap_fclib_fail(file, error, SAP_STATUS_SYNTAX, name,
                            "of contact %ld = (%g, %g, %g) must be >= 0 and equal in the tangents",
                            (long)i / 3, Rn, R[1], R[2]);
    }
    R[0] = R[1];
    R[2] = Rn;
  }
  return SAP_STATUS_OK;
}

sap_status sap_fclib_read_problem(const char* path, sap_problem* problem, sap_error* error) {
  sap_hdf5_silence silence;
  sap_hdf5_silence_begin(&silence);
  sap_fclib_file file;
  sap_status status = sap_fclib_open(path, &file, error);
  if (status == SAP_STATUS_OK) {
    status = sap_fclib_has(&file, "fclib_local")    ? sap_fclib_read_local(&file, problem, error)
             : sap_fclib_has(&file, "fclib_global") ? sap_fclib_read_global(&file, problem, error)
                                                    : sap_fail(error, SAP_STATUS_SYNTAX,
                                                               "%s: no group '/fclib_local' or "
                                                               "'/fclib_global'",
                                                               path);
  }
  if (status != SAP_STATUS_OK && file.id >= 0) {  // the file may be damaged
    sap_hdf5_silence_exit();
  }
  sap_fclib_close(&file);
  sap_hdf5_silence_end(&silence);
  if (status != SAP_STATUS_OK && strncmp(error->message, path, strlen(path)) != 0) {
    sap_error_prefix(error, "%s", path);
  }
  return status;
}

#else

sap_status sap_fclib_read_problem(const char* path, sap_problem* problem, sap_error* error) {
  (void)problem;
  return sap_fail(error, SAP_STATUS_UNSUPPORTED,
                  "%s: this build of sapstep has no HDF5 to read problems with", path);
}

#endif
