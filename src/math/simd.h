// SPDX-License-Identifier: BSD-3-Clause
// Vectors of four and of eight doubles, in the widest registers that the including file is compiled
// for: for kernels only (core/kernels.h). Operations named _product are fused where the registers
// allow, all others round alike in all sets.
#ifndef SAP_MATH_SIMD_H
#define SAP_MATH_SIMD_H

#include <math.h>
#include <stdbool.h>
#include <stdint.h>
#include <string.h>

#include "core/kernels.h"

enum { SAP_QUAD = 4 };  // lanes of a quad

#if defined(__AVX2__) && defined(__FMA__)
#include <immintrin.h>

typedef __m256d quad;

static inline quad quad_load(const double* a) {
  return _mm256_loadu_pd(a);
}
// Loads three doubles, then a zero.
static inline quad quad_load_three(const double* a) {
  return _mm256_maskload_pd(a, _mm256_setr_epi64x(-1, -1, -1, 0));
}
static inline void quad_store(double* a, quad x) {
  _mm256_storeu_pd(a, x);
}
// Loads two doubles at a and two at b.
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
// Copies one of the four to all four.
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
static inline quad quad_subtract_product(quad z, quad x, quad y) {
  return _mm256_fnmadd_pd(x, y, z);
}
// z + x y
static inline quad quad_add_product(quad z, quad x, quad y) {
  return _mm256_fmadd_pd(x, y, z);
}
static inline bool quad_is_zero(quad x) {
  return _mm256_movemask_pd(_mm256_cmp_pd(x, _mm256_setzero_pd(), _CMP_NEQ_UQ)) == 0;
}
// True if the first n >= 1 quads are all zero.
static SAP_INLINE bool quad_are_zero(const quad x[], int n) {
  quad bits = x[0];
  for (int i = 1; i < n; ++i) {
    bits = _mm256_or_pd(bits, x[i]);
  }
  return quad_is_zero(bits);
}
// Sums the four, always in the same order.
static inline double quad_sum(quad x) {
  const __m128d pairs = _mm_add_pd(_mm256_castpd256_pd128(x), _mm256_extractf128_pd(x, 1));
  return _mm_cvtsd_f64(_mm_add_sd(pairs, _mm_unpackhi_pd(pairs, pairs)));
}
// Loads entry i of four arrays.
static inline quad quad_gather(const double* const at[SAP_QUAD], int i) {
  return _mm256_setr_pd(at[0][i], at[1][i], at[2][i], at[3][i]);
}
static inline void quad_scatter(double* const at[SAP_QUAD], int i, quad x) {
  const __m128d low = _mm256_castpd256_pd128(x), high = _mm256_extractf128_pd(x, 1);
  _mm_storel_pd(at[0] + i, low);
  _mm_storeh_pd(at[1] + i, low);
  _mm_storel_pd(at[2] + i, high);
  _mm_storeh_pd(at[3] + i, high);
}
// Adds the first three to a.
static inline void quad_add_three(double* a, quad x) {
  const __m128d low = _mm256_castpd256_pd128(x), high = _mm256_extractf128_pd(x, 1);
  _mm_storeu_pd(a, _mm_add_pd(_mm_loadu_pd(a), low));
  _mm_store_sd(a + 2, _mm_add_sd(_mm_load_sd(a + 2), high));
}
static inline quad quad_subtract(quad x, quad y) {
  return _mm256_sub_pd(x, y);
}
static inline quad quad_divide(quad x, quad y) {
  return _mm256_div_pd(x, y);
}
static inline quad quad_root(quad x) {
  return _mm256_sqrt_pd(x);
}
// True if all |x| are below s; false if one is NaN.
static inline bool quad_below(quad x, double s) {
  const quad size = _mm256_andnot_pd(_mm256_set1_pd(-0.0), x);
  return _mm256_movemask_pd(_mm256_cmp_pd(size, _mm256_set1_pd(s), _CMP_LT_OQ)) == 15;
}
// Changes the sign of x where bit `bit` of the integer in n's mantissa is set.
static inline quad quad_flip(quad x, quad n, int bit) {
  const __m256i shifted = _mm256_slli_epi64(_mm256_castpd_si256(n), 63 - bit);
  return _mm256_xor_pd(x, _mm256_and_pd(_mm256_castsi256_pd(shifted), _mm256_set1_pd(-0.0)));
}
// Returns y where the last bit of n is set, x elsewhere.
static inline quad quad_choose(quad x, quad y, quad n) {
  return _mm256_blendv_pd(x, y, _mm256_castsi256_pd(_mm256_slli_epi64(_mm256_castpd_si256(n), 63)));
}

#else

typedef struct quad {
  double v[SAP_QUAD];
} quad;

#define SAP_EACH_LANE(expression)      \
  quad out;                            \
  for (int i = 0; i < SAP_QUAD; ++i) { \
    out.v[i] = (expression);           \
  }                                    \
  return out;

static inline quad quad_load(const double* a) {
  SAP_EACH_LANE(a[i])
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
  SAP_EACH_LANE(x.v[i] + y.v[i])
}
static inline quad quad_all(double s) {
  SAP_EACH_LANE(s)
}
static inline quad quad_of(double a, double b, double c, double d) {
  return (quad){{a, b, c, d}};
}
static inline quad quad_spread(quad x, int which) {
  return quad_all(x.v[which]);
}
static inline quad quad_multiply(quad x, quad y) {
  SAP_EACH_LANE(x.v[i] * y.v[i])
}
static inline quad quad_subtract_product(quad z, quad x, quad y) {
  SAP_EACH_LANE(z.v[i] - x.v[i] * y.v[i])
}
static inline quad quad_add_product(quad z, quad x, quad y) {
  SAP_EACH_LANE(z.v[i] + x.v[i] * y.v[i])
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
static inline quad quad_gather(const double* const at[SAP_QUAD], int entry) {
  SAP_EACH_LANE(at[i][entry])
}
static inline void quad_scatter(double* const at[SAP_QUAD], int entry, quad x) {
  for (int i = 0; i < SAP_QUAD; ++i) {
    at[i][entry] = x.v[i];
  }
}
static inline void quad_add_three(double* a, quad x) {
  for (int i = 0; i < 3; ++i) {
    a[i] += x.v[i];
  }
}
static inline quad quad_subtract(quad x, quad y) {
  SAP_EACH_LANE(x.v[i] - y.v[i])
}
static inline quad quad_divide(quad x, quad y) {
  SAP_EACH_LANE(x.v[i] / y.v[i])
}
static inline quad quad_root(quad x) {
  SAP_EACH_LANE(sqrt(x.v[i]))
}
static inline bool quad_below(quad x, double s) {
  bool below = true;
  for (int i = 0; i < SAP_QUAD; ++i) {
    below = below && fabs(x.v[i]) < s;
  }
  return below;
}
static inline uint64_t quad_bit(quad n, int lane, int bit) {
  uint64_t bits;
  memcpy(&bits, &n.v[lane], sizeof bits);
  return bits >> bit & 1;
}
static inline quad quad_flip(quad x, quad n, int bit) {
  SAP_EACH_LANE(quad_bit(n, i, bit) != 0 ? -x.v[i] : x.v[i])
}
static inline quad quad_choose(quad x, quad y, quad n) {
  SAP_EACH_LANE(quad_bit(n, i, 0) != 0 ? y.v[i] : x.v[i])
}

#endif

// out = a x b, for four pairs of 3-vectors.
static inline void quad_cross(quad out[3], const quad a[3], const quad b[3]) {
  for (int i = 0; i < 3; ++i) {
    const int j = (i + 1) % 3, k = (i + 2) % 3;
    out[i] = quad_subtract(quad_multiply(a[j], b[k]), quad_multiply(a[k], b[j]));
  }
}

static inline quad quad_dot3(quad a0, quad b0, quad a1, quad b1, quad a2, quad b2) {
  return quad_add(quad_add(quad_multiply(a0, b0), quad_multiply(a1, b1)), quad_multiply(a2, b2));
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
  const quad n = quad_add(quad_multiply(x, quad_all(0.63661977236758134308)), shift);
  const quad turns = quad_subtract(n, shift);
  quad r = quad_subtract(x, quad_multiply(turns, quad_all(0x1.921fb544p+0)));
  r = quad_subtract(r, quad_multiply(turns, quad_all(0x1.0b4611a6p-34)));
  r = quad_subtract(r, quad_multiply(turns, quad_all(0x1.3198a2e037073p-69)));
  const quad z = quad_multiply(r, r);
  quad s = quad_all(S[7]), c = quad_all(C[6]);
  for (int k = 6; k >= 0; --k) {
    s = quad_add(quad_multiply(s, z), quad_all(S[k]));
  }
  for (int k = 5; k >= 0; --k) {
    c = quad_add(quad_multiply(c, z), quad_all(C[k]));
  }
  s = quad_add(r, quad_multiply(quad_multiply(r, z), s));
  c = quad_multiply(quad_multiply(z, z), c);
  c = quad_add(quad_subtract(quad_all(1.0), quad_multiply(z, quad_all(0.5))), c);
  // n mod 4 = 1: (c, -s), 2: (-s, -c), 3: (-c, s)
  *sine = quad_flip(quad_choose(s, c, n), n, 1);
  *cosine = quad_flip(quad_choose(c, s, n), quad_add(n, quad_all(1.0)), 1);
}

// Octets: eight doubles. Their addresses are 64-byte aligned, except where a comment allows any.
#if defined(__AVX512F__)
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
  return (octet){quad_multiply(x.low, quad_all(s)), quad_multiply(x.high, quad_all(s))};
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
static inline double octet_sum(octet x) {
  _Alignas(64) double v[8];
  octet_store(v, x);
  return ((v[0] + v[4]) + (v[2] + v[6])) + ((v[1] + v[5]) + (v[3] + v[7]));
}

#endif
