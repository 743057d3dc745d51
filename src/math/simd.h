// SPDX-License-Identifier: BSD-3-Clause
// Vectors of four and of eight doubles, in the widest registers that the including file is compiled
// for: for kernels only (core/kernels.h). Operations named _product are fused where the registers
// allow, all others round alike in all sets.
#pragma once

#include <math.h>
#include <stdbool.h>
#include <stdint.h>
#include <string.h>

#include "core/kernels.h"

#if defined(__AVX2__) && defined(__FMA__)
#include <immintrin.h>
#define SAP_SIMD_AVX2 1
#else
#define SAP_SIMD_AVX2 0
#endif

// Vectors of gcc and clang: operators act on all lanes.
typedef double quad __attribute__((vector_size(32)));
typedef double sap_simd_pair __attribute__((vector_size(16)));
typedef int64_t sap_simd_bits __attribute__((vector_size(32)));  // of a quad

static inline quad quad_load(const double* a) {
  quad x;
  memcpy(&x, a, sizeof x);
  return x;
}
static inline void quad_store(double* a, quad x) {
  memcpy(a, &x, sizeof x);
}
static inline quad quad_of(double a, double b, double c, double d) {
  return (quad){a, b, c, d};
}
static inline quad quad_all(double s) {
  return quad_of(s, s, s, s);
}
// Loads three doubles, then a zero.
static inline quad quad_load_three(const double* a) {
#if SAP_SIMD_AVX2
  return _mm256_maskload_pd(a, _mm256_setr_epi64x(-1, -1, -1, 0));
#else
  return quad_of(a[0], a[1], a[2], 0.0);
#endif
}
static inline sap_simd_pair sap_simd_load_pair(const double* a) {
  sap_simd_pair x;
  memcpy(&x, a, sizeof x);
  return x;
}
static inline sap_simd_pair sap_simd_low(quad x) {
  return __builtin_shufflevector(x, x, 0, 1);
}
static inline sap_simd_pair sap_simd_high(quad x) {
  return __builtin_shufflevector(x, x, 2, 3);
}
// Loads two doubles at a and two at b.
static inline quad quad_load_pairs(const double* a, const double* b) {
  return __builtin_shufflevector(sap_simd_load_pair(a), sap_simd_load_pair(b), 0, 1, 2, 3);
}
static inline void quad_store_pairs(double* a, double* b, quad x) {
  const sap_simd_pair low = sap_simd_low(x), high = sap_simd_high(x);
  memcpy(a, &low, sizeof low);
  memcpy(b, &high, sizeof high);
}
// Copies one of the four to all four.
static inline quad quad_spread(quad x, int which) {
  return quad_all(x[which]);
}
// z - x y
static inline quad quad_subtract_product(quad z, quad x, quad y) {
#if SAP_SIMD_AVX2
  return _mm256_fnmadd_pd(x, y, z);
#else
  return z - x * y;
#endif
}
// z + x y
static inline quad quad_add_product(quad z, quad x, quad y) {
#if SAP_SIMD_AVX2
  return _mm256_fmadd_pd(x, y, z);
#else
  return z + x * y;
#endif
}
static inline quad quad_root(quad x) {
#if SAP_SIMD_AVX2
  return _mm256_sqrt_pd(x);
#else
  return quad_of(sqrt(x[0]), sqrt(x[1]), sqrt(x[2]), sqrt(x[3]));
#endif
}
// True if a comparison holds in no lane.
static inline bool quad_none(sap_simd_bits comparison) {
#if SAP_SIMD_AVX2
  return _mm256_movemask_pd((quad)comparison) == 0;
#else
  return (comparison[0] | comparison[1] | comparison[2] | comparison[3]) == 0;
#endif
}
static inline bool quad_is_zero(quad x) {
  return quad_none(x != 0.0);
}
// True if the first n >= 1 quads are all zero.
static SAP_INLINE bool quad_are_zero(const quad x[], int n) {
  sap_simd_bits bits = (sap_simd_bits)x[0];
  for (int i = 1; i < n; ++i) {
    bits |= (sap_simd_bits)x[i];
  }
  return quad_is_zero((quad)bits);
}
// Sums the four, always in the same order.
static inline double quad_sum(quad x) {
  const sap_simd_pair pairs = sap_simd_low(x) + sap_simd_high(x);
  return pairs[0] + pairs[1];
}
// Loads entry i of four arrays.
static inline quad quad_gather(const double* const at[SAP_QUAD], int i) {
  return quad_of(at[0][i], at[1][i], at[2][i], at[3][i]);
}
static inline void quad_scatter(double* const at[SAP_QUAD], int i, quad x) {
  for (int lane = 0; lane < SAP_QUAD; ++lane) {
    at[lane][i] = x[lane];
  }
}
// Adds the first three to a.
static inline void quad_add_three(double* a, quad x) {
  const sap_simd_pair low = sap_simd_load_pair(a) + sap_simd_low(x);
  memcpy(a, &low, sizeof low);
  a[2] += x[2];
}
// Adds the first three of each to the lower triangle of a 3 x 3 matrix.
static inline void quad_add_lower_3(double a[9], const quad x[3]) {
  for (int c = 0; c < 3; ++c) {
    for (int r = c; r < 3; ++r) {
      a[3 * c + r] += x[c][r];
    }
  }
}
// True if all |x| are below s; false if one is NaN.
static inline bool quad_below(quad x, double s) {
  const quad size = (quad)((sap_simd_bits)x & INT64_MAX);
  return quad_none(~(size < s));
}
// Changes the sign of x where bit `bit` of the integer in n's mantissa is set.
static inline quad quad_flip(quad x, quad n, int bit) {
  return (quad)((sap_simd_bits)x ^ ((sap_simd_bits)n << (63 - bit) & INT64_MIN));
}
// Returns y where the last bit of n is set, x elsewhere.
static inline quad quad_choose(quad x, quad y, quad n) {
  const sap_simd_bits chosen = -((sap_simd_bits)n & 1);
  return (quad)(((sap_simd_bits)x & ~chosen) | ((sap_simd_bits)y & chosen));
}

// out = a x b, for four pairs of 3-vectors.
static inline void quad_cross(quad out[3], const quad a[3], const quad b[3]) {
  for (int i = 0; i < 3; ++i) {
    const int j = (i + 1) % 3, k = (i + 2) % 3;
    out[i] = a[j] * b[k] - a[k] * b[j];
  }
}

static inline quad quad_dot3(quad a0, quad b0, quad a1, quad b1, quad a2, quad b2) {
  return a0 * b0 + a1 * b1 + a2 * b2;
}

// out = M a of a 3 x 3 matrix, column-major.
static inline void quad_turn(quad out[3], const quad m[9], const quad a[3]) {
  for (int i = 0; i < 3; ++i) {
    out[i] = quad_dot3(m[i], a[0], m[3 + i], a[1], m[6 + i], a[2]);
  }
}

// Computes sin x and cos x to 1e-16: reduces x by multiples of pi/2 in three parts (Cody and Waite;
// exact up to 2^20 of them), then sums the series; the next terms are below 1e-17 of the result.
static inline void quad_sincos(quad* sine, quad* cosine, quad x) {
  static const double S[] = {-1.0 / 6.0,          1.0 / 120.0,         -1.0 / 5040.0,
                             1.0 / 362880.0,      -1.0 / 39916800.0,   1.0 / 6227020800.0,
                             -1.0 / 1307674368e3, 1.0 / 355687428096e3};
  static const double C[] = {1.0 / 24.0,         -1.0 / 720.0,      1.0 / 40320.0,
                             -1.0 / 3628800.0,   1.0 / 479001600.0, -1.0 / 87178291200.0,
                             1.0 / 20922789888e3};
  static const double FAR = 1e6;
  if (!quad_below(x, FAR)) {
    double v[SAP_QUAD], s[SAP_QUAD], c[SAP_QUAD];
    double* const at[SAP_QUAD] = {v, v + 1, v + 2, v + 3};
    quad_scatter(at, 0, x);
    for (int i = 0; i < SAP_QUAD; ++i) {
      s[i] = sin(v[i]);
      c[i] = cos(v[i]);
    }
    *sine = quad_load(s);
    *cosine = quad_load(c);
    return;
  }
  const quad shift = quad_all(6755399441055744.0);  // 1.5 2^52: n ends in the mantissa
  const quad n = x * quad_all(0.63661977236758134308) + shift;
  const quad turns = n - shift;
  quad r = x - turns * quad_all(0x1.921fb544p+0);
  r = r - turns * quad_all(0x1.0b4611a6p-34);
  r = r - turns * quad_all(0x1.3198a2e037073p-69);
  const quad z = r * r;
  quad s = quad_all(S[7]), c = quad_all(C[6]);
  for (int k = 6; k >= 0; --k) {
    s = s * z + quad_all(S[k]);
  }
  for (int k = 5; k >= 0; --k) {
    c = c * z + quad_all(C[k]);
  }
  s = r + r * z * s;
  c = z * z * c;
  c = quad_all(1.0) - z * quad_all(0.5) + c;
  // n mod 4 = 1: (c, -s), 2: (-s, -c), 3: (-c, s)
  *sine = quad_flip(quad_choose(s, c, n), n, 1);
  *cosine = quad_flip(quad_choose(c, s, n), n + quad_all(1.0), 1);
}

// Octets: eight numbers of type octet_real, double or, if the including file defines
// SAP_OCTET_SINGLE, float. Addresses of octets are those of whole octets, except where a comment
// allows any.
#if defined(SAP_OCTET_SINGLE)
typedef float octet_real;
typedef float octet __attribute__((vector_size(32)));

static inline octet octet_load(const float* a) {
  octet x;
  memcpy(&x, a, sizeof x);
  return x;
}
static inline void octet_store(float* a, octet x) {
  memcpy(a, &x, sizeof x);
}
// Loads six doubles of any alignment, then zeros.
static inline octet octet_load_six(const double* a) {
#if defined(__AVX512F__)
  return _mm512_cvtpd_ps(_mm512_maskz_loadu_pd(0x3f, a));
#else
  return (octet){(float)a[0], (float)a[1], (float)a[2], (float)a[3], (float)a[4], (float)a[5]};
#endif
}
static inline octet octet_zero(void) {
  return (octet){0.0F};
}
static inline octet octet_scale(octet x, float s) {
  return x * s;
}
// z + x y
static inline octet octet_add_product(octet z, octet x, octet y) {
#if SAP_SIMD_AVX2
  return _mm256_fmadd_ps(x, y, z);
#else
  return z + x * y;
#endif
}
// z - x s
static inline octet octet_subtract_product(octet z, octet x, float s) {
#if SAP_SIMD_AVX2
  return _mm256_fnmadd_ps(x, _mm256_set1_ps(s), z);
#else
  return z - x * s;
#endif
}

#elif defined(__AVX512F__)
typedef double octet_real;
typedef __m512d octet;

static inline octet octet_load(const double* a) {
  return _mm512_load_pd(a);
}
static inline void octet_store(double* a, octet x) {
  _mm512_store_pd(a, x);
}
// Loads six doubles of any alignment, then zeros.
static inline octet octet_load_six(const double* a) {
  return _mm512_maskz_loadu_pd(0x3f, a);
}
static inline octet octet_zero(void) {
  return _mm512_setzero_pd();
}
static inline octet octet_scale(octet x, double s) {
  return _mm512_mul_pd(x, _mm512_set1_pd(s));
}
// z - x s
static inline octet octet_subtract_product(octet z, octet x, double s) {
  return _mm512_fnmadd_pd(x, _mm512_set1_pd(s), z);
}
// z + x y
static inline octet octet_add_product(octet z, octet x, octet y) {
  return _mm512_fmadd_pd(x, y, z);
}

#else
typedef double octet_real;
typedef struct octet {
  quad low, high;
} octet;

static inline octet octet_load(const double* a) {
  return (octet){quad_load(a), quad_load(a + 4)};
}
static inline void octet_store(double* a, octet x) {
  quad_store(a, x.low);
  quad_store(a + 4, x.high);
}
static inline octet octet_load_six(const double* a) {
  return (octet){quad_load(a), quad_of(a[4], a[5], 0.0, 0.0)};
}
static inline octet octet_zero(void) {
  return (octet){quad_all(0.0), quad_all(0.0)};
}
static inline octet octet_scale(octet x, double s) {
  return (octet){x.low * quad_all(s), x.high * quad_all(s)};
}
static inline octet octet_subtract_product(octet z, octet x, double s) {
  const quad v = quad_all(s);
  return (octet){quad_subtract_product(z.low, x.low, v), quad_subtract_product(z.high, x.high, v)};
}
static inline octet octet_add_product(octet z, octet x, octet y) {
  return (octet){quad_add_product(z.low, x.low, y.low), quad_add_product(z.high, x.high, y.high)};
}

#endif

// Sums the eight, always in the same order.
static inline octet_real octet_sum(octet x) {
  _Alignas(64) octet_real v[8];
  octet_store(v, x);
  return ((v[0] + v[4]) + (v[2] + v[6])) + ((v[1] + v[5]) + (v[3] + v[7]));
}
