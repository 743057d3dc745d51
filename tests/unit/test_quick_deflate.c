// SPDX-License-Identifier: BSD-3-Clause
// What the quick encoder writes, zlib reads back; tables at rest become short.
#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "output/quick_deflate.h"

#ifdef SAPSTEP_HDF5
#include <zlib.h>

static uint32_t next_random(uint32_t* state) {
  *state = *state * 1664525u + 1013904223u;
  return *state >> 8;
}

// Encodes, has zlib decode, and returns the length of the code.
static size_t round_trip(const unsigned char* in, size_t planes, size_t count, size_t width) {
  const size_t size = planes * count;
  unsigned char* code = malloc(sap_quick_deflate_bound(size));
  unsigned char* back = malloc(size + 1);
  assert_non_null(code);
  assert_non_null(back);
  const size_t length = sap_quick_deflate(in, planes, count, width, code);
  assert_true(length <= sap_quick_deflate_bound(size));
  uLongf got = (uLongf)size + 1;
  assert_int_equal(uncompress(back, &got, code, (uLong)length), Z_OK);
  assert_int_equal(got, size);
  assert_memory_equal(back, in, size);
  free(code);
  free(back);
  return length;
}

// Runs of every length from 0 to 600, ended by noise, at near and far distances.
static void every_length_and_distance(void** unused) {
  (void)unused;
  static const size_t widths[] = {1,  2,  3,  4,   5,   7,    8,    9,    13,
                                  28, 64, 65, 100, 257, 1000, 5000, 32768};
  uint32_t state = 1;
  for (size_t w = 0; w < sizeof widths / sizeof *widths; ++w) {
    const size_t width = widths[w], count = width + 601 * 302;
    unsigned char* plane = malloc(count);
    assert_non_null(plane);
    size_t at = 0;
    for (; at < width; ++at) {
      plane[at] = (unsigned char)next_random(&state);
    }
    for (size_t run = 0; run <= 600; ++run) {
      for (size_t i = 0; i < run; ++i, ++at) {
        plane[at] = plane[at - width];
      }
      plane[at] = (unsigned char)(plane[at - width] + 1 + next_random(&state) % 255);
      ++at;
    }
    assert_true(at <= count);
    const size_t length = round_trip(plane, 1, at, width);
    assert_true(length < at / 8 + width);
    free(plane);
  }
}

static void sizes_and_noise(void** unused) {
  (void)unused;
  static const size_t counts[] = {0, 1, 2, 3, 7, 8, 9, 17, 65535, 65536, 70000};
  uint32_t state = 7;
  for (size_t k = 0; k < sizeof counts / sizeof *counts; ++k) {
    for (int noisy = 0; noisy < 2; ++noisy) {
      const size_t count = counts[k];
      unsigned char* in = calloc(8 * count + 1, 1);
      assert_non_null(in);
      for (size_t i = 0; i < 8 * count && noisy; ++i) {
        in[i] = (unsigned char)next_random(&state);
      }
      for (size_t width = 1; width < 100000; width = 3 * width + 1) {
        (void)round_trip(in, 8, count, width);
        (void)round_trip(in, 4, count, width);
      }
      (void)round_trip(in, 8, count, 0);
      free(in);
    }
  }
}

// A table of doubles as runs record it: columns at rest, and some that move.
static void table_of_a_run(void** unused) {
  (void)unused;
  enum { ROWS = 400, WIDTH = 30, VALUES = ROWS * WIDTH };
  static double table[VALUES];
  static unsigned char planes[8 * VALUES], back[8 * VALUES];
  for (int i = 0; i < ROWS; ++i) {
    for (int j = 0; j < WIDTH; ++j) {
      table[i * WIDTH + j] = j < WIDTH * 2 / 3 ? 0.1 * j : sin(0.001 * i + j);
    }
  }
  sap_shuffle((const unsigned char*)table, VALUES, sizeof *table, planes);
  for (size_t i = 0; i < VALUES; ++i) {  // byte k of value i
    for (size_t k = 0; k < 8; ++k) {
      back[8 * i + k] = planes[k * VALUES + i];
    }
  }
  assert_memory_equal(back, table, sizeof table);
  assert_true(round_trip(planes, 8, VALUES, WIDTH) < sizeof table * 6 / 10);
  memset(table, 0, sizeof table);
  memset(planes, 0, sizeof planes);
  assert_true(round_trip(planes, 8, VALUES, WIDTH) < sizeof table / 80);
  static float reals[VALUES];
  for (int i = 0; i < VALUES; ++i) {
    reals[i] = (float)i;
  }
  sap_shuffle((const unsigned char*)reals, VALUES, sizeof *reals, planes);
  for (size_t i = 0; i < VALUES; ++i) {
    for (size_t k = 0; k < 4; ++k) {
      back[4 * i + k] = planes[k * VALUES + i];
    }
  }
  assert_memory_equal(back, reals, sizeof reals);
}
#else
static void without_hdf5(void** unused) {
  (void)unused;
  print_message("this build has no HDF5\n");
  skip();
}
#endif

int main(void) {
  const struct CMUnitTest tests[] = {
#ifdef SAPSTEP_HDF5
      cmocka_unit_test(every_length_and_distance),
      cmocka_unit_test(sizes_and_noise),
      cmocka_unit_test(table_of_a_run),
#else
      cmocka_unit_test(without_hdf5),
#endif
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
