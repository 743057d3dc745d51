// SPDX-License-Identifier: BSD-3-Clause
#include "multibody/geometry/sort.h"

#include <string.h>

enum { FEW = 40, DIGIT_BITS = 8, DIGIT_VALUES = 1 << DIGIT_BITS };

static void insertion(uint64_t* keys, int32_t count) {
  for (int32_t i = 1; i < count; ++i) {
    const uint64_t key = keys[i];
    int32_t j = i;
    for (; j > 0 && keys[j - 1] > key; --j) {
      keys[j] = keys[j - 1];
    }
    keys[j] = key;
  }
}

// Moves the keys from one array to the other in the order of one digit, equal ones as they were.
static void scatter(const uint64_t* from, uint64_t* to, int32_t count, int shift) {
  int32_t start[DIGIT_VALUES + 1] = {0};
  for (int32_t i = 0; i < count; ++i) {
    ++start[(from[i] >> shift & (DIGIT_VALUES - 1)) + 1];
  }
  for (int32_t k = 0; k < DIGIT_VALUES; ++k) {
    start[k + 1] += start[k];
  }
  for (int32_t i = 0; i < count; ++i) {
    to[start[from[i] >> shift & (DIGIT_VALUES - 1)]++] = from[i];
  }
}

void sap_sort_keys(uint64_t* keys, int32_t count, uint64_t* scratch) {
  if (count <= FEW) {
    insertion(keys, count);
    return;
  }
  uint64_t differ = 0;
  for (int32_t i = 1; i < count; ++i) {
    differ |= keys[i] ^ keys[0];
  }
  uint64_t *from = keys, *to = scratch;
  for (int shift = 0; shift < 64; shift += DIGIT_BITS) {
    if ((differ >> shift & (DIGIT_VALUES - 1)) == 0) {
      continue;  // all keys have the same digit here
    }
    scatter(from, to, count, shift);
    uint64_t* const swap = from;
    from = to;
    to = swap;
  }
  if (from != keys) {
    memcpy(keys, from, (size_t)count * sizeof *keys);
  }
}
