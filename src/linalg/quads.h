// SPDX-License-Identifier: BSD-3-Clause
// Four doubles at once, from anywhere, in the widest registers that the including file is compiled
// for: kernels only, one file per instruction set.
#ifndef SAP_LINALG_QUADS_H
#define SAP_LINALG_QUADS_H

#include <stdbool.h>

#include "core/kernels.h"

#if defined(__AVX2__) && defined(__FMA__)
#include <immintrin.h>

typedef __m256d quad;

static inline quad quad_load(const double* a) {
  return _mm256_loadu_pd(a);
}
// Three and a zero.
static inline quad quad_load_three(const double* a) {
  return _mm256_maskload_pd(a, _mm256_setr_epi64x(-1, -1, -1, 0));
}
static inline void quad_store(double* a, quad x) {
  _mm256_storeu_pd(a, x);
}
// Two at a, two at b.
static inline quad quad_load_pairs(const double* a, const double* b) {
  return _mm256_insertf128_pd(_mm256_castpd128_pd256(_mm_loadu_pd(a)), _mm_loadu_pd(b), 1);
}
static inline void quad_store_pairs(double* a, double* b, quad x) {
  _mm_storeu_pd(a, _mm256_castpd256_pd128(x));
  _mm_storeu_pd(b, _mm256_extractf128_pd(x, 1));
}
static inline quad quad_add(quad x, quad y) {
  return _mm256_add_pd(x, y);
}
static inline quad quad_all(double s) {
  return _mm256_set1_pd(s);
}
static inline quad quad_of(double a, double b, double c, double d) {
  return _mm256_set_pd(d, c, b, a);
}
// One of the four in all four.
static inline quad quad_spread(quad x, int which) {
  switch (which) {
    case 0:
      return _mm256_permute4x64_pd(x, 0x00);
    case 1:
      return _mm256_permute4x64_pd(x, 0x55);
    case 2:
      return _mm256_permute4x64_pd(x, 0xaa);
    default:
      return _mm256_permute4x64_pd(x, 0xff);
  }
}
static inline quad quad_multiply(quad x, quad y) {
  return _mm256_mul_pd(x, y);
}
// z - x y
static inline quad quad_subtract(quad z, quad x, quad y) {
  return _mm256_fnmadd_pd(x, y, z);
}
// z + x y
static inline quad quad_add_product(quad z, quad x, quad y) {
  return _mm256_fmadd_pd(x, y, z);
}
static inline bool quad_is_zero(quad x) {
  return _mm256_movemask_pd(_mm256_cmp_pd(x, _mm256_setzero_pd(), _CMP_NEQ_UQ)) == 0;
}
// All of the first n >= 1.
static SAP_INLINE bool quad_are_zero(const quad x[], int n) {
  quad bits = x[0];
  for (int i = 1; i < n; ++i) {
    bits = _mm256_or_pd(bits, x[i]);
  }
  return quad_is_zero(bits);
}
// Sum of the four, always in the same order.
static inline double quad_sum(quad x) {
  const __m128d pairs = _mm_add_pd(_mm256_castpd256_pd128(x), _mm256_extractf128_pd(x, 1));
  return _mm_cvtsd_f64(_mm_add_sd(pairs, _mm_unpackhi_pd(pairs, pairs)));
}

#else

typedef struct quad {
  double v[4];
} quad;

static inline quad quad_load(const double* a) {
  return (quad){{a[0], a[1], a[2], a[3]}};
}
static inline quad quad_load_three(const double* a) {
  return (quad){{a[0], a[1], a[2], 0.0}};
}
static inline void quad_store(double* a, quad x) {
  for (int i = 0; i < 4; ++i) {
    a[i] = x.v[i];
  }
}
static inline quad quad_load_pairs(const double* a, const double* b) {
  return (quad){{a[0], a[1], b[0], b[1]}};
}
static inline void quad_store_pairs(double* a, double* b, quad x) {
  a[0] = x.v[0];
  a[1] = x.v[1];
  b[0] = x.v[2];
  b[1] = x.v[3];
}
static inline quad quad_add(quad x, quad y) {
  for (int i = 0; i < 4; ++i) {
    x.v[i] += y.v[i];
  }
  return x;
}
static inline quad quad_all(double s) {
  return (quad){{s, s, s, s}};
}
static inline quad quad_of(double a, double b, double c, double d) {
  return (quad){{a, b, c, d}};
}
static inline quad quad_spread(quad x, int which) {
  return quad_all(x.v[which]);
}
static inline quad quad_multiply(quad x, quad y) {
  for (int i = 0; i < 4; ++i) {
    x.v[i] *= y.v[i];
  }
  return x;
}
static inline quad quad_subtract(quad z, quad x, quad y) {
  for (int i = 0; i < 4; ++i) {
    z.v[i] -= x.v[i] * y.v[i];
  }
  return z;
}
static inline quad quad_add_product(quad z, quad x, quad y) {
  for (int i = 0; i < 4; ++i) {
    z.v[i] += x.v[i] * y.v[i];
  }
  return z;
}
static inline bool quad_is_zero(quad x) {
  return x.v[0] == 0.0 && x.v[1] == 0.0 && x.v[2] == 0.0 && x.v[3] == 0.0;
}
static inline bool quad_are_zero(const quad x[], int n) {
  bool zero = true;
  for (int i = 0; i < n; ++i) {
    zero = zero && quad_is_zero(x[i]);
  }
  return zero;
}
static inline double quad_sum(quad x) {
  return (x.v[0] + x.v[2]) + (x.v[1] + x.v[3]);
}

#endif

#endif
