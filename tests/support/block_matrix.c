// SPDX-License-Identifier: BSD-3-Clause
#include "support/block_matrix.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

double test_random(uint64_t* state) {
  *state += 0x9E3779B97F4A7C15u;  // splitmix64
  uint64_t z = *state;
  z = (z ^ (z >> 30)) * 0xBF58476D1CE4E5B9u;
  z = (z ^ (z >> 27)) * 0x94D049BB133111EBu;
  z ^= z >> 31;
  return (double)(z >> 11) * 0x1p-52 - 1;
}

static void* take(size_t count, size_t size) {
  void* memory = calloc(count + 1, size);
  if (memory == NULL) {
    abort();
  }
  return memory;
}

block_matrix block_matrix_create(int32_t nblocks, const int32_t* sizes, block_linked* linked,
                                 const void* context) {
  block_matrix m = {0};
  const size_t count = (size_t)nblocks;
  m.sizes = take(count, sizeof *m.sizes);
  m.offset = take(count + 1, sizeof *m.offset);
  m.column_start = take(count + 1, sizeof *m.column_start);
  m.row = take(count * (count + 1) / 2, sizeof *m.row);
  m.value_start = take(count * (count + 1) / 2, sizeof *m.value_start);
  memcpy(m.sizes, sizes, count * sizeof *sizes);
  int32_t entries = 0;
  for (int32_t j = 0; j < nblocks; ++j) {
    m.offset[j + 1] = m.offset[j] + sizes[j];
    m.column_start[j] = entries;
    for (int32_t i = j; i < nblocks; ++i) {
      if (i == j || linked(i, j, context)) {
        m.row[entries] = i;
        m.value_start[entries++] = m.nvalues;
        m.nvalues += (size_t)sizes[i] * (size_t)sizes[j];
      }
    }
  }
  m.column_start[nblocks] = entries;
  m.n = m.offset[nblocks];
  m.values = take(m.nvalues, sizeof *m.values);
  for (int32_t j = 0; j < nblocks; ++j) {
    double* diagonal = m.values + m.value_start[m.column_start[j]];
    for (int32_t c = 0; c < sizes[j]; ++c) {
      for (int32_t r = 0; r < c; ++r) {
        diagonal[c * sizes[j] + r] = (double)NAN;
      }
    }
  }
  m.pattern = (sap_block_pattern){nblocks, m.sizes, m.column_start, m.row, m.value_start};
  return m;
}

void block_matrix_destroy(block_matrix* matrix) {
  free(matrix->sizes);
  free(matrix->offset);
  free(matrix->column_start);
  free(matrix->row);
  free(matrix->value_start);
  free(matrix->values);
  *matrix = (block_matrix){0};
}

double* block_matrix_entry(block_matrix* matrix, int32_t i, int32_t j) {
  for (int32_t k = matrix->column_start[j]; k < matrix->column_start[j + 1]; ++k) {
    if (matrix->row[k] == i) {
      return matrix->values + matrix->value_start[k];
    }
  }
  return NULL;
}

// block (i, j) += s g_i g_j^T; of a diagonal block the lower triangle.
static void add_outer(block_matrix* m, int32_t i, int32_t j, const double* gi, const double* gj) {
  double* block = block_matrix_entry(m, i, j);
  for (int32_t c = 0; c < m->sizes[j]; ++c) {
    for (int32_t r = i == j ? c : 0; r < m->sizes[i]; ++r) {
      block[c * m->sizes[i] + r] += gi[r] * gj[c];
    }
  }
}

void block_matrix_fill_spd(block_matrix* matrix, const double* scale, uint64_t seed) {
  enum { RANK = 3, LARGEST = 1024 };  // three contact rows per link
  double gi[LARGEST];
  double gj[LARGEST];
  uint64_t state = seed;
  for (int32_t j = 0; j < matrix->pattern.nblocks; ++j) {
    const double dj = scale != NULL ? scale[j] : 1;
    double* diagonal = block_matrix_entry(matrix, j, j);
    for (int32_t c = 0; c < matrix->sizes[j]; ++c) {
      diagonal[c * matrix->sizes[j] + c] += dj * dj;
    }
    for (int32_t k = matrix->column_start[j]; k < matrix->column_start[j + 1]; ++k) {
      const int32_t i = matrix->row[k];
      const double di = scale != NULL ? scale[i] : 1;
      for (int32_t rank = 0; rank < RANK; ++rank) {
        for (int32_t r = 0; r < matrix->sizes[i]; ++r) {
          gi[r] = di * test_random(&state);
        }
        for (int32_t c = 0; c < matrix->sizes[j]; ++c) {
          gj[c] = dj * test_random(&state);
        }
        add_outer(matrix, i, i, gi, gi);
        if (i != j) {
          add_outer(matrix, j, j, gj, gj);
          add_outer(matrix, i, j, gi, gj);
        }
      }
    }
  }
}

void block_matrix_dense(const block_matrix* m, double* a) {
  const size_t n = (size_t)m->n;
  memset(a, 0, n * n * sizeof *a);
  for (int32_t j = 0; j < m->pattern.nblocks; ++j) {
    for (int32_t k = m->column_start[j]; k < m->column_start[j + 1]; ++k) {
      const int32_t i = m->row[k];
      const double* block = m->values + m->value_start[k];
      for (int32_t c = 0; c < m->sizes[j]; ++c) {
        for (int32_t r = i == j ? c : 0; r < m->sizes[i]; ++r) {
          const size_t row = (size_t)(m->offset[i] + r);
          const size_t column = (size_t)(m->offset[j] + c);
          a[column * n + row] = block[c * m->sizes[i] + r];
          a[row * n + column] = block[c * m->sizes[i] + r];
        }
      }
    }
  }
}

void block_matrix_multiply(const block_matrix* m, const double* x, double* y) {
  long double* sum = take((size_t)m->n, sizeof *sum);
  for (int32_t j = 0; j < m->pattern.nblocks; ++j) {
    for (int32_t k = m->column_start[j]; k < m->column_start[j + 1]; ++k) {
      const int32_t i = m->row[k];
      for (int32_t c = 0; c < m->sizes[j]; ++c) {
        for (int32_t r = i == j ? c : 0; r < m->sizes[i]; ++r) {
          const long double a =
              (long double)m->values[m->value_start[k] + (size_t)(c * m->sizes[i] + r)];
          sum[m->offset[i] + r] += a * (long double)x[m->offset[j] + c];
          sum[m->offset[j] + c] += i != j || r != c ? a * (long double)x[m->offset[i] + r] : 0;
        }
      }
    }
  }
  for (int32_t i = 0; i < m->n; ++i) {
    y[i] = (double)sum[i];
  }
  free(sum);
}

bool block_matrix_solve(const block_matrix* matrix, double* x) {
  const size_t n = (size_t)matrix->n;
  double* a = take(n * n, sizeof *a);
  long double* L = take(n * n, sizeof *L);
  long double* y = take(n, sizeof *y);
  block_matrix_dense(matrix, a);
  bool spd = true;
  for (size_t j = 0; j < n && spd; ++j) {
    for (size_t i = j; i < n && spd; ++i) {
      long double sum = (long double)a[j * n + i];
      for (size_t k = 0; k < j; ++k) {
        sum -= L[k * n + i] * L[k * n + j];
      }
      spd = i != j || sum > 0;
      L[j * n + i] = i == j ? sqrtl(sum) : sum / L[j * n + j];
    }
  }
  for (size_t i = 0; i < n && spd; ++i) {
    y[i] = (long double)x[i];
    for (size_t k = 0; k < i; ++k) {
      y[i] -= L[k * n + i] * y[k];
    }
    y[i] /= L[i * n + i];
  }
  for (size_t i = n; i-- > 0 && spd;) {
    for (size_t k = i + 1; k < n; ++k) {
      y[i] -= L[i * n + k] * y[k];
    }
    y[i] /= L[i * n + i];
    x[i] = (double)y[i];
  }
  free(a);
  free(L);
  free(y);
  return spd;
}
