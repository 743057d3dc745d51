// SPDX-License-Identifier: BSD-3-Clause
#include "geometry/sort.h"

#include <string.h>

enum { RUN = 16 };  // insertion sort below this length

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

static void merge(uint64_t* keys, int32_t middle, int32_t count, uint64_t* scratch) {
  if (keys[middle - 1] <= keys[middle]) {
    return;
  }
  memcpy(scratch, keys, (size_t)middle * sizeof *keys);
  int32_t i = 0, j = middle, out = 0;
  while (i < middle) {
    keys[out++] = j < count && keys[j] < scratch[i] ? keys[j++] : scratch[i++];
  }
}

void sap_sort_keys(uint64_t* keys, int32_t count, uint64_t* scratch) {
  for (int32_t start = 0; start < count; start += RUN) {
    insertion(keys + start, count - start < RUN ? count - start : RUN);
  }
  for (int32_t width = RUN; width < count; width *= 2) {
    for (int32_t start = 0; start + width < count; start += 2 * width) {
      const int32_t left = count - start;
      merge(keys + start, width, left < 2 * width ? left : 2 * width, scratch);
    }
    if (width > INT32_MAX / 2) {
      return;
    }
  }
}
