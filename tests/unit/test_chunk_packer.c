// SPDX-License-Identifier: BSD-3-Clause
// zlib reads packed chunks back; tables at rest become short.
#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "output/recorder/hdf5_writer.h"
#include "support/skip.h"

#include <zlib.h>

static uint32_t next_random(uint32_t* state) {
  *state = *state * 1664525u + 1013904223u;
  return *state >> 8;
}

// Packs, has zlib decode, undoes the shuffle, and returns the length of the code, 0 for none.
static size_t round_trip(sap_chunk_packer* packer, const void* values, size_t count, size_t size) {
  const size_t bytes = count * size;
  unsigned char* code = malloc(sap_chunk_packer_bound(bytes));
  unsigned char* planes = malloc(bytes + 1);
  assert_non_null(code);
  assert_non_null(planes);
  const size_t length = sap_chunk_packer_pack(packer, values, count, size, code);
  assert_true(length < bytes || (bytes == 0 && length == 0));
  if (length > 0) {
    uLongf got = (uLongf)bytes + 1;
    assert_int_equal(uncompress(planes, &got, code, (uLong)length), Z_OK);
    assert_int_equal(got, bytes);
    const unsigned char* in = values;
    for (size_t i = 0; i < bytes; ++i) {
      assert_int_equal(planes[i % size * count + i / size], in[i]);
    }
  }
  free(planes);
  free(code);
  return length;
}

// Noise is not made longer; what repeats from row to row, or within one, becomes short.
static void sizes_and_noise(void** unused) {
  (void)unused;
  static const size_t counts[] = {0, 1, 2, 3, 7, 8, 9, 17, 4096, 65536, 70000};
  sap_chunk_packer* packer = sap_chunk_packer_create(1, 8 * 70000);
  assert_non_null(packer);
  uint32_t state = 7;
  for (size_t k = 0; k < sizeof counts / sizeof *counts; ++k) {
    const size_t count = counts[k];
    unsigned char* in = calloc(8 * count + 1, 1);
    assert_non_null(in);
    for (size_t size = 4; size <= 8; size += 4) {
      const size_t length = round_trip(packer, in, count, size);
      assert_true(count < 17 || (length > 0 && length < size * count / 2));
      assert_true(count < 4096 || length < size * count / 80);
    }
    for (size_t i = 0; i < 8 * count; ++i) {
      in[i] = (unsigned char)next_random(&state);
    }
    (void)round_trip(packer, in, count, 8);
    for (size_t i = 8 * 30; i < 8 * count; ++i) {
      in[i] = in[i - 8 * 30];  // rows of 30 doubles, all alike
    }
    const size_t length = round_trip(packer, in, count, 8);
    assert_true(count < 4096 || (length > 0 && length < count));
    free(in);
  }
  sap_chunk_packer_destroy(packer);
  sap_chunk_packer_destroy(NULL);
}

// A table of doubles as runs record it: columns at rest, and some that move.
static void table_of_a_run(void** unused) {
  (void)unused;
  enum { ROWS = 400, WIDTH = 30, VALUES = ROWS * WIDTH };
  static double table[VALUES];
  for (int i = 0; i < ROWS; ++i) {
    for (int j = 0; j < WIDTH; ++j) {
      table[i * WIDTH + j] = j < WIDTH * 2 / 3 ? 0.1 * j : sin(0.001 * i + j);
    }
  }
  size_t lengths[2];
  for (int k = 0; k < 2; ++k) {
    sap_chunk_packer* packer = sap_chunk_packer_create(k == 0 ? 1 : 9, sizeof table);
    assert_non_null(packer);
    lengths[k] = round_trip(packer, table, VALUES, sizeof *table);
    // the same bytes again: nothing of a chunk stays with the packer
    assert_int_equal(round_trip(packer, table, VALUES, sizeof *table), lengths[k]);
    sap_chunk_packer_destroy(packer);
  }
  assert_true(lengths[0] > 0 && lengths[0] < sizeof table * 4 / 10);
  assert_true(lengths[1] > 0 && lengths[1] <= lengths[0]);
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(sizes_and_noise),
      cmocka_unit_test(table_of_a_run),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
