// SPDX-License-Identifier: BSD-3-Clause
// A deflate that takes a tenth of zlib's time at its lowest level on what a run records.
//   Numbers that change slowly from row to row keep their high bytes, and those at rest all of
//   them; the low bytes of the rest are noise that no code makes shorter. So the only match that is
//   looked for is with the row before, and a plane of noise is copied (a "stored block"). Codes are
//   the fixed ones of RFC 1951, Sec. 3.2.6: nothing has to be counted before.
#include "output/quick_deflate.h"

#ifdef SAPSTEP_HDF5
#include <stdbool.h>
#include <stdint.h>
#include <string.h>

#include <zlib.h>

#ifdef __SSE2__
#include <emmintrin.h>
#endif

enum {
  WINDOW = 32768,       // farthest match
  STORED_MOST = 65535,  // bytes of a stored block
  MATCH_LEAST = 3,
  MATCH_MOST = 258,
  END_OF_BLOCK = 256,
  SYMBOLS = 288,
  STRIDE = 24,  // from one word that is looked at to the next
  ADLER = 65521,
  LANES = 16,    // bytes at a time
  GROUPS = 256,  // of LANES bytes, whose sums 32 bits hold
  SHARE = 2,     // a plane is worth a code if one of so many words of 8 bytes repeats
};

typedef struct bit_writer {
  unsigned char* at;
  uint64_t bits;  // those that are not in `at` yet, the lowest first
  unsigned count;
  uint16_t symbol[SYMBOLS];  // codes of symbols, as they go out
  uint8_t symbol_bits[SYMBOLS];
  uint32_t distance, distance_bits;  // code of the one distance
} bit_writer;

size_t sap_quick_deflate_bound(size_t size) {
  // codes take at most 9 bits a byte; a plane has a head of 5 bytes for each 65535, and a few more
  return size + size / 8 + size / 1024 + 1024;
}

static void flush_bits(bit_writer* w) {
  for (; w->count >= 8; w->count -= 8, w->bits >>= 8) {
    *w->at++ = (unsigned char)w->bits;
  }
}

// count <= 32, so that with the 31 that may wait they fit.
static void put(bit_writer* w, uint32_t bits, unsigned count) {
  w->bits |= (uint64_t)bits << w->count;
  w->count += count;
  if (w->count >= 32) {
    flush_bits(w);
  }
}

static void align(bit_writer* w) {
  w->count = (w->count + 7) / 8 * 8;
  flush_bits(w);
}

// Huffman codes go out with their highest bit first.
static uint32_t reverse(uint32_t code, unsigned count) {
  uint32_t out = 0;
  for (unsigned i = 0; i < count; ++i) {
    out |= (code >> i & 1u) << (count - 1 - i);
  }
  return out;
}

static void make_codes(bit_writer* w) {
  for (uint32_t i = 0; i < SYMBOLS; ++i) {
    const uint8_t bits = i < 144 ? 8 : i < 256 ? 9 : i < 280 ? 7 : 8;
    const uint32_t code = i < 144   ? 0x30 + i
                          : i < 256 ? 0x190 + i - 144
                          : i < 280 ? i - 256
                                    : 0xC0 + i - 280;
    w->symbol_bits[i] = bits;
    w->symbol[i] = (uint16_t)reverse(code, bits);
  }
}

static void put_symbol(bit_writer* w, uint32_t symbol) {
  put(w, w->symbol[symbol], w->symbol_bits[symbol]);
}

// The code of a number >= 1 whose highest bits make it: 1, 2, 3, 4 stand alone, then two codes
// share each power of two. Returns the code, and how many low bits follow it in *extra.
static uint32_t power_code(uint32_t number, unsigned fine, unsigned* extra) {
  const uint32_t below = number - 1;
  unsigned high = 0;
  while (below >> (high + 1) != 0) {
    ++high;
  }
  if (high <= fine) {
    *extra = 0;
    return below;
  }
  *extra = high - fine;
  return ((*extra + 1) << fine) + (below >> *extra) - (1u << fine);
}

static void set_distance(bit_writer* w, size_t distance) {
  unsigned extra = 0;
  const uint32_t code = power_code((uint32_t)distance, 1, &extra);
  w->distance = reverse(code, 5) | (((uint32_t)distance - 1) & ((1u << extra) - 1)) << 5;
  w->distance_bits = 5 + extra;
}

// A repetition of `length` bytes at the distance that was set.
static void put_match(bit_writer* w, size_t length) {
  if (length == MATCH_MOST) {
    put_symbol(w, 285);
  } else {
    unsigned extra = 0;
    const uint32_t number = (uint32_t)length - (MATCH_LEAST - 1);
    put_symbol(w, 257 + power_code(number, 2, &extra));
    put(w, (number - 1) & ((1u << extra) - 1), extra);
  }
  put(w, w->distance, w->distance_bits);
}

static uint64_t word(const unsigned char* at) {
  uint64_t out;
  memcpy(&out, at, sizeof out);
  return out;
}

// Is it worth a code? By a sample.
static bool repeats(const unsigned char* plane, size_t count, size_t width) {
  size_t same = 0, words = 0;
  for (size_t i = width; i + 8 <= count; i += STRIDE, ++words) {
    same += word(plane + i) == word(plane + i - width);
  }
  return same * SHARE > words;
}

static void put_stored(bit_writer* w, const unsigned char* plane, size_t count) {
  while (count > 0) {
    const size_t part = count < STORED_MOST ? count : STORED_MOST;
    put(w, 0, 3);
    align(w);
    put(w, (uint32_t)part, 16);
    put(w, (uint32_t)part ^ 0xFFFFu, 16);
    align(w);
    memcpy(w->at, plane, part);
    w->at += part;
    plane += part;
    count -= part;
  }
}

// How many bytes from i on repeat those `width` places before.
static size_t run_length(const unsigned char* plane, size_t i, size_t count, size_t width) {
  size_t end = i;
  while (end + 8 <= count && word(plane + end) == word(plane + end - width)) {
    end += 8;
  }
  while (end < count && plane[end] == plane[end - width]) {
    ++end;
  }
  return end - i;
}

static void put_coded(bit_writer* w, const unsigned char* plane, size_t count, size_t width) {
  size_t i = 0;
  put(w, 2, 3);  // not the last block; fixed codes
  while (i < count) {
    size_t run = i >= width ? run_length(plane, i, count, width) : 0;
    while (run >= MATCH_LEAST) {
      const size_t length = run < MATCH_MOST ? run : MATCH_MOST;
      put_match(w, length);
      i += length;
      run -= length;
    }
    if (i < count) {
      put_symbol(w, plane[i++]);
    }
  }
  put_symbol(w, END_OF_BLOCK);
}

#ifdef __SSE2__
static uint32_t sum_of_words(__m128i a) {
  uint32_t word[4];
  _mm_storeu_si128((__m128i*)(void*)word, a);
  return word[0] + word[1] + word[2] + word[3];
}

// Adler-32 (RFC 1950, Sec. 9), s1 = 1 + sum of bytes, s2 = sum of s1 after each byte, modulo 65521.
// Over m groups of 16 bytes b: s1 grows by the sum of bytes, s2 by 16 m s1 + 16 before + weighted,
// with `before` the sum over groups of all bytes ahead of them, `weighted` that of (16 - i) b[i].
static size_t checksum_groups(const unsigned char* in, size_t size, uint32_t* s1, uint32_t* s2) {
  const __m128i zero = _mm_setzero_si128();
  const __m128i low = _mm_set_epi16(9, 10, 11, 12, 13, 14, 15, 16);
  const __m128i high = _mm_set_epi16(1, 2, 3, 4, 5, 6, 7, 8);
  size_t at = 0;
  while (size - at >= LANES) {
    const size_t left = (size - at) / LANES, groups = left < GROUPS ? left : GROUPS;
    __m128i sum = zero, before = zero, weighted = zero;
    for (size_t g = 0; g < groups; ++g, at += LANES) {
      const __m128i b = _mm_loadu_si128((const __m128i*)(const void*)(in + at));
      before = _mm_add_epi32(before, sum);
      sum = _mm_add_epi32(sum, _mm_sad_epu8(b, zero));
      weighted = _mm_add_epi32(weighted, _mm_madd_epi16(_mm_unpacklo_epi8(b, zero), low));
      weighted = _mm_add_epi32(weighted, _mm_madd_epi16(_mm_unpackhi_epi8(b, zero), high));
    }
    *s2 = (*s2 + (uint32_t)groups * LANES * *s1 + LANES * sum_of_words(before) +
           sum_of_words(weighted)) %
          ADLER;
    *s1 = (*s1 + sum_of_words(sum)) % ADLER;
  }
  return at;
}
#endif

static uint32_t checksum(const unsigned char* in, size_t size) {
  uint32_t s1 = 1, s2 = 0;
  size_t done = 0;
#ifdef __SSE2__
  done = checksum_groups(in, size, &s1, &s2);
#endif
  return (uint32_t)adler32_z(s2 << 16 | s1, in + done, size - done);
}

size_t sap_quick_deflate(const unsigned char* in, size_t planes, size_t count, size_t width,
                         unsigned char* out) {
  bit_writer w = {.at = out};
  const bool far = width > WINDOW || width == 0;
  make_codes(&w);
  set_distance(&w, far ? 1 : width);
  put(&w, 0x0178, 16);  // zlib's head: deflate, window of 32 KiB, the fastest
  for (size_t k = 0; k < planes; ++k) {
    const unsigned char* plane = in + k * count;
    if (!far && repeats(plane, count, width)) {
      put_coded(&w, plane, count, width);
    } else {
      put_stored(&w, plane, count);
    }
  }
  put(&w, 1, 3);  // the last block, stored, empty
  align(&w);
  put(&w, 0xFFFF0000u, 32);
  align(&w);
  const uint32_t check = checksum(in, planes * count);
  for (int shift = 24; shift >= 0; shift -= 8) {
    *w.at++ = (unsigned char)(check >> shift);
  }
  return (size_t)(w.at - out);
}
#endif
