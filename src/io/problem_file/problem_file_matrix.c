// SPDX-License-Identifier: BSD-3-Clause
// Is the block of A that a line of the file gives symmetric and positive definite?
#include <lapacke.h>
#include <math.h>
#include <string.h>

#include "core/memory.h"
#include "io/problem_file/problem_file_text.h"

// Largest |A_ij - A_ji| over sqrt(A_ii A_jj) [-]: far above the round-off of a matrix formed by
// products (a few times 1e-16), far below any mistake.
static const double SYMMETRY_TOLERANCE = 1e-10;

static sap_status check_symmetric(const sap_text_reader* text, const char* name, int32_t n,
                                  sap_error* error) {
  const double* a = text->values + 1;
  for (int32_t i = 0; i < n; ++i) {
    const double* row_i = a + (size_t)i * (size_t)n;
    if (!(row_i[i] > 0.0)) {
      return sap_text_fail(text, error, SAP_STATUS_NOT_SPD,
                           "%s is not positive definite, A(%ld,%ld) = %.17g", name, (long)i,
                           (long)i, row_i[i]);
    }
    for (int32_t j = 0; j < i; ++j) {
      const double* row_j = a + (size_t)j * (size_t)n;
      const double scale = sqrt(row_i[i]) * sqrt(row_j[j]);
      if (!(fabs(row_i[j] - row_j[i]) <= SYMMETRY_TOLERANCE * scale)) {
        return sap_text_fail(text, error, SAP_STATUS_NOT_SPD,
                             "%s is not symmetric, A(%ld,%ld) = %.17g, A(%ld,%ld) = %.17g", name,
                             (long)i, (long)j, row_i[j], (long)j, (long)i, row_j[i]);
      }
    }
  }
  return SAP_STATUS_OK;
}

sap_status sap_text_check_spd(const sap_text_reader* text, const char* name, int32_t n,
                              double** scratch, int32_t* capacity, sap_error* error) {
  sap_status status = check_symmetric(text, name, n, error);
  if (status != SAP_STATUS_OK) {
    return status;
  }
  status = SAP_GROW(scratch, capacity, n * n, error);
  if (status != SAP_STATUS_OK) {
    return sap_text_pass(text, error, status);
  }
  memcpy(*scratch, text->values + 1, (size_t)n * (size_t)n * sizeof **scratch);
  // Read row by row, the lower triangle is LAPACK's upper one.
  const lapack_int info = LAPACKE_dpotrf_work(LAPACK_COL_MAJOR, 'U', n, *scratch, n);
  if (info != 0) {
    return sap_text_fail(text, error, SAP_STATUS_NOT_SPD,
                         "%s is not positive definite, its leading %ld x %ld part is not", name,
                         (long)info, (long)info);
  }
  return SAP_STATUS_OK;
}
