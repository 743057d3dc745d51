// SPDX-License-Identifier: BSD-3-Clause
// Four doubles side by side, in the registers that the including file is compiled for: kernels
// only, one file per instruction set. All sets round alike, nothing is fused.
#ifndef SAP_MATH_LANES_H
#define SAP_MATH_LANES_H

#include <math.h>
#include <stdbool.h>
#include <stdint.h>
#include <string.h>

enum { SAP_LANES = 4 };

#if defined(__AVX2__)
#include <immintrin.h>

typedef __m256d lanes;

static inline lanes lanes_load(const double* a) {
  return _mm256_loadu_pd(a);
}
static inline lanes lanes_all(double s) {
  return _mm256_set1_pd(s);
}
// Entry i of four arrays.
static inline lanes lanes_gather(const double* const at[SAP_LANES], int i) {
  return _mm256_setr_pd(at[0][i], at[1][i], at[2][i], at[3][i]);
}
static inline void lanes_scatter(double* const at[SAP_LANES], int i, lanes x) {
  const __m128d low = _mm256_castpd256_pd128(x), high = _mm256_extractf128_pd(x, 1);
  _mm_storel_pd(at[0] + i, low);
  _mm_storeh_pd(at[1] + i, low);
  _mm_storel_pd(at[2] + i, high);
  _mm_storeh_pd(at[3] + i, high);
}
static inline lanes lanes_add(lanes x, lanes y) {
  return _mm256_add_pd(x, y);
}
// The first three are added to a.
static inline void lanes_add_three(double* a, lanes x) {
  const __m128d low = _mm256_castpd256_pd128(x), high = _mm256_extractf128_pd(x, 1);
  _mm_storeu_pd(a, _mm_add_pd(_mm_loadu_pd(a), low));
  _mm_store_sd(a + 2, _mm_add_sd(_mm_load_sd(a + 2), high));
}
static inline lanes lanes_subtract(lanes x, lanes y) {
  return _mm256_sub_pd(x, y);
}
static inline lanes lanes_multiply(lanes x, lanes y) {
  return _mm256_mul_pd(x, y);
}
static inline lanes lanes_divide(lanes x, lanes y) {
  return _mm256_div_pd(x, y);
}
static inline lanes lanes_root(lanes x) {
  return _mm256_sqrt_pd(x);
}
// Are all |x| below s? Not where one is NaN.
static inline bool lanes_below(lanes x, double s) {
  const lanes size = _mm256_andnot_pd(_mm256_set1_pd(-0.0), x);
  return _mm256_movemask_pd(_mm256_cmp_pd(size, _mm256_set1_pd(s), _CMP_LT_OQ)) == 15;
}
// x with its sign changed where bit `bit` of the integer in n's mantissa is set.
static inline lanes lanes_flip(lanes x, lanes n, int bit) {
  const __m256i shifted = _mm256_slli_epi64(_mm256_castpd_si256(n), 63 - bit);
  return _mm256_xor_pd(x, _mm256_and_pd(_mm256_castsi256_pd(shifted), _mm256_set1_pd(-0.0)));
}
// y where the last bit of n is set, x elsewhere.
static inline lanes lanes_choose(lanes x, lanes y, lanes n) {
  return _mm256_blendv_pd(x, y, _mm256_castsi256_pd(_mm256_slli_epi64(_mm256_castpd_si256(n), 63)));
}

#else

typedef struct lanes {
  double v[SAP_LANES];
} lanes;

#define SAP_EACH_LANE(expression)       \
  lanes out;                            \
  for (int i = 0; i < SAP_LANES; ++i) { \
    out.v[i] = (expression);            \
  }                                     \
  return out;

static inline lanes lanes_load(const double* a) {
  SAP_EACH_LANE(a[i])
}
static inline lanes lanes_all(double s) {
  SAP_EACH_LANE(s)
}
static inline lanes lanes_gather(const double* const at[SAP_LANES], int entry) {
  SAP_EACH_LANE(at[i][entry])
}
static inline void lanes_scatter(double* const at[SAP_LANES], int entry, lanes x) {
  for (int i = 0; i < SAP_LANES; ++i) {
    at[i][entry] = x.v[i];
  }
}
static inline lanes lanes_add(lanes x, lanes y) {
  SAP_EACH_LANE(x.v[i] + y.v[i])
}
static inline void lanes_add_three(double* a, lanes x) {
  for (int i = 0; i < 3; ++i) {
    a[i] += x.v[i];
  }
}
static inline lanes lanes_subtract(lanes x, lanes y) {
  SAP_EACH_LANE(x.v[i] - y.v[i])
}
static inline lanes lanes_multiply(lanes x, lanes y) {
  SAP_EACH_LANE(x.v[i] * y.v[i])
}
static inline lanes lanes_divide(lanes x, lanes y) {
  SAP_EACH_LANE(x.v[i] / y.v[i])
}
static inline lanes lanes_root(lanes x) {
  SAP_EACH_LANE(sqrt(x.v[i]))
}
static inline bool lanes_below(lanes x, double s) {
  bool below = true;
  for (int i = 0; i < SAP_LANES; ++i) {
    below = below && fabs(x.v[i]) < s;
  }
  return below;
}
static inline uint64_t lanes_bit(lanes n, int lane, int bit) {
  uint64_t bits;
  memcpy(&bits, &n.v[lane], sizeof bits);
  return bits >> bit & 1;
}
static inline lanes lanes_flip(lanes x, lanes n, int bit) {
  SAP_EACH_LANE(lanes_bit(n, i, bit) != 0 ? -x.v[i] : x.v[i])
}
static inline lanes lanes_choose(lanes x, lanes y, lanes n) {
  SAP_EACH_LANE(lanes_bit(n, i, 0) != 0 ? y.v[i] : x.v[i])
}

#endif

// Of three lanes each.
static inline void lanes_cross(lanes out[3], const lanes a[3], const lanes b[3]) {
  for (int i = 0; i < 3; ++i) {
    const int j = (i + 1) % 3, k = (i + 2) % 3;
    out[i] = lanes_subtract(lanes_multiply(a[j], b[k]), lanes_multiply(a[k], b[j]));
  }
}

static inline lanes lanes_dot3(lanes a0, lanes b0, lanes a1, lanes b1, lanes a2, lanes b2) {
  return lanes_add(lanes_add(lanes_multiply(a0, b0), lanes_multiply(a1, b1)),
                   lanes_multiply(a2, b2));
}

// out = M a of a 3 x 3 matrix, column-major.
static inline void lanes_turn(lanes out[3], const lanes m[9], const lanes a[3]) {
  for (int i = 0; i < 3; ++i) {
    out[i] = lanes_dot3(m[i], a[0], m[3 + i], a[1], m[6 + i], a[2]);
  }
}

// sin and cos, to 1e-16: reduced by multiples of pi/2 in three parts (Cody and Waite; exact up to
// 2^20 of them), then the series, by which the next terms are below 1e-17 of the result.
static inline void lanes_sincos(lanes* sine, lanes* cosine, lanes x) {
  static const double S[] = {-1.0 / 6.0,          1.0 / 120.0,         -1.0 / 5040.0,
                             1.0 / 362880.0,      -1.0 / 39916800.0,   1.0 / 6227020800.0,
                             -1.0 / 1307674368e3, 1.0 / 355687428096e3};
  static const double C[] = {1.0 / 24.0,         -1.0 / 720.0,      1.0 / 40320.0,
                             -1.0 / 3628800.0,   1.0 / 479001600.0, -1.0 / 87178291200.0,
                             1.0 / 20922789888e3};
  static const double FAR = 1e6;
  if (!lanes_below(x, FAR)) {
    double v[SAP_LANES], s[SAP_LANES], c[SAP_LANES];
    double* const at[SAP_LANES] = {v, v + 1, v + 2, v + 3};
    lanes_scatter(at, 0, x);
    for (int i = 0; i < SAP_LANES; ++i) {
      s[i] = sin(v[i]);
      c[i] = cos(v[i]);
    }
    *sine = lanes_load(s);
    *cosine = lanes_load(c);
    return;
  }
  const lanes shift = lanes_all(6755399441055744.0);  // 1.5 2^52: n ends in the mantissa
  const lanes n = lanes_add(lanes_multiply(x, lanes_all(0.63661977236758134308)), shift);
  const lanes turns = lanes_subtract(n, shift);
  lanes r = lanes_subtract(x, lanes_multiply(turns, lanes_all(0x1.921fb544p+0)));
  r = lanes_subtract(r, lanes_multiply(turns, lanes_all(0x1.0b4611a6p-34)));
  r = lanes_subtract(r, lanes_multiply(turns, lanes_all(0x1.3198a2e037073p-69)));
  const lanes z = lanes_multiply(r, r);
  lanes s = lanes_all(S[7]), c = lanes_all(C[6]);
  for (int k = 6; k >= 0; --k) {
    s = lanes_add(lanes_multiply(s, z), lanes_all(S[k]));
  }
  for (int k = 5; k >= 0; --k) {
    c = lanes_add(lanes_multiply(c, z), lanes_all(C[k]));
  }
  s = lanes_add(r, lanes_multiply(lanes_multiply(r, z), s));
  c = lanes_multiply(lanes_multiply(z, z), c);
  c = lanes_add(lanes_subtract(lanes_all(1.0), lanes_multiply(z, lanes_all(0.5))), c);
  // n mod 4 = 1: (c, -s), 2: (-s, -c), 3: (-c, s)
  *sine = lanes_flip(lanes_choose(s, c, n), n, 1);
  *cosine = lanes_flip(lanes_choose(c, s, n), lanes_add(n, lanes_all(1.0)), 1);
}

#endif
