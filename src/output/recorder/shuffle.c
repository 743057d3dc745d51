// SPDX-License-Identifier: BSD-3-Clause
// HDF5's filter "shuffle".
#include "output/recorder/chunk_packer.h"

#ifdef SAPSTEP_HDF5
#ifdef __SSE2__
#include <emmintrin.h>
#endif

enum { LANES = 16 };  // values at a time

#ifdef __SSE2__
// An unpacking of registers a and a + size/2 into 2a and 2a + 1 turns the bits
// of all addresses (register, byte) = (i3 i2 i1 | i0 k2 k1 k0) left by one; after four of them byte
// k of value i is byte i of register k. With values of 4 bytes k2 and i1 drop out.
static inline size_t shuffle_blocks(const unsigned char* in, size_t count, size_t size,
                                    unsigned char* out) {
  size_t start = 0;
  for (; start + LANES <= count; start += LANES) {
    __m128i r[2][8];
    for (size_t a = 0; a < size; ++a) {
      r[0][a] = _mm_loadu_si128((const __m128i*)(const void*)(in + size * start + 16 * a));
    }
    for (size_t turn = 0; turn < 4; ++turn) {
      const __m128i* from = r[turn % 2];
      __m128i* to = r[(turn + 1) % 2];
      for (size_t a = 0; a < size / 2; ++a) {
        to[2 * a] = _mm_unpacklo_epi8(from[a], from[a + size / 2]);
        to[2 * a + 1] = _mm_unpackhi_epi8(from[a], from[a + size / 2]);
      }
    }
    for (size_t k = 0; k < size; ++k) {
      _mm_storeu_si128((__m128i*)(void*)(out + k * count + start), r[0][k]);
    }
  }
  return start;
}
#else
static size_t shuffle_blocks(const unsigned char* in, size_t count, size_t size,
                             unsigned char* out) {
  (void)in;
  (void)count;
  (void)size;
  (void)out;
  return 0;
}
#endif

void sap_shuffle(const unsigned char* in, size_t count, size_t size, unsigned char* out) {
  size_t i = size == 8 ? shuffle_blocks(in, count, 8, out) : shuffle_blocks(in, count, 4, out);
  for (; i < count; ++i) {
    for (size_t k = 0; k < size; ++k) {
      out[k * count + i] = in[size * i + k];
    }
  }
}
#endif
