// SPDX-License-Identifier: BSD-3-Clause
// Eight doubles at once, in the widest registers that the including file is compiled for.
// Only block_kernels.inc includes this. Pointers to lanes are 64-byte aligned.
#ifndef SAP_LINALG_BLOCK_LANES_H
#define SAP_LINALG_BLOCK_LANES_H

#if defined(__AVX512F__)
#include <immintrin.h>

// Register tile: columns, and row chunks at most (24 sums of 32 registers).
#define TILE_COLUMNS 8
#define TILE_ROWS 4
typedef __m512d lanes;

static inline lanes lanes_load(const double* a) {
  return _mm512_load_pd(a);
}
static inline void lanes_store(double* a, lanes x) {
  _mm512_store_pd(a, x);
}
// Six doubles from anywhere, then zeros.
static inline lanes lanes_load_six(const double* a) {
  return _mm512_maskz_loadu_pd(0x3f, a);
}
static inline lanes lanes_zero(void) {
  return _mm512_setzero_pd();
}
static inline lanes lanes_scale(lanes x, double s) {
  return _mm512_mul_pd(x, _mm512_set1_pd(s));
}
// z - x s
static inline lanes lanes_subtract(lanes z, lanes x, double s) {
  return _mm512_fnmadd_pd(x, _mm512_set1_pd(s), z);
}
// z + x y
static inline lanes lanes_add_product(lanes z, lanes x, lanes y) {
  return _mm512_fmadd_pd(x, y, z);
}

#elif defined(__AVX2__) && defined(__FMA__)
#include <immintrin.h>

#define TILE_COLUMNS 6
#define TILE_ROWS 1
typedef struct lanes {
  __m256d low, high;
} lanes;

static inline lanes lanes_load(const double* a) {
  return (lanes){_mm256_load_pd(a), _mm256_load_pd(a + 4)};
}
static inline void lanes_store(double* a, lanes x) {
  _mm256_store_pd(a, x.low);
  _mm256_store_pd(a + 4, x.high);
}
static inline lanes lanes_load_six(const double* a) {
  return (lanes){_mm256_loadu_pd(a), _mm256_zextpd128_pd256(_mm_loadu_pd(a + 4))};
}
static inline lanes lanes_zero(void) {
  return (lanes){_mm256_setzero_pd(), _mm256_setzero_pd()};
}
static inline lanes lanes_scale(lanes x, double s) {
  const __m256d v = _mm256_set1_pd(s);
  return (lanes){_mm256_mul_pd(x.low, v), _mm256_mul_pd(x.high, v)};
}
static inline lanes lanes_subtract(lanes z, lanes x, double s) {
  const __m256d v = _mm256_set1_pd(s);
  return (lanes){_mm256_fnmadd_pd(x.low, v, z.low), _mm256_fnmadd_pd(x.high, v, z.high)};
}
static inline lanes lanes_add_product(lanes z, lanes x, lanes y) {
  return (lanes){_mm256_fmadd_pd(x.low, y.low, z.low), _mm256_fmadd_pd(x.high, y.high, z.high)};
}

#else

#define TILE_COLUMNS 3
#define TILE_ROWS 1
typedef struct lanes {
  double v[8];
} lanes;

static inline lanes lanes_load(const double* a) {
  lanes x;
  for (int r = 0; r < 8; ++r) {
    x.v[r] = a[r];
  }
  return x;
}
static inline void lanes_store(double* a, lanes x) {
  for (int r = 0; r < 8; ++r) {
    a[r] = x.v[r];
  }
}
static inline lanes lanes_load_six(const double* a) {
  return (lanes){{a[0], a[1], a[2], a[3], a[4], a[5], 0, 0}};
}
static inline lanes lanes_zero(void) {
  return (lanes){{0}};
}
static inline lanes lanes_scale(lanes x, double s) {
  for (int r = 0; r < 8; ++r) {
    x.v[r] *= s;
  }
  return x;
}
static inline lanes lanes_subtract(lanes z, lanes x, double s) {
  for (int r = 0; r < 8; ++r) {
    z.v[r] -= x.v[r] * s;
  }
  return z;
}
static inline lanes lanes_add_product(lanes z, lanes x, lanes y) {
  for (int r = 0; r < 8; ++r) {
    z.v[r] += x.v[r] * y.v[r];
  }
  return z;
}

#endif

// Sum of the lanes, always in the same order.
static inline double lanes_sum(lanes x) {
  _Alignas(64) double v[8];
  lanes_store(v, x);
  return ((v[0] + v[4]) + (v[2] + v[6])) + ((v[1] + v[5]) + (v[3] + v[7]));
}

#endif
