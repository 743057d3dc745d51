// SPDX-License-Identifier: BSD-3-Clause
#include "support/mutate.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "core/archive.h"
#include "core/file.h"

static uint32_t next_random(uint64_t* seed) {
  *seed = *seed * 6364136223846793005u + 1442695040888963407u;
  return (uint32_t)(*seed >> 33);
}

static void overwrite(unsigned char* bytes, size_t size, uint64_t* seed) {
  static const double numbers[] = {(double)NAN, (double)INFINITY, -1e308, 0.0};
  static const uint64_t words[] = {0, UINT64_MAX, INT64_MAX, INT32_MAX, UINT32_MAX, 1};
  const size_t at = next_random(seed) % size, left = size - at;
  const uint32_t kind = next_random(seed) % 4;
  if (kind == 0) {
    bytes[at] ^= (unsigned char)(1u << next_random(seed) % 8);
  } else if (kind == 1) {
    bytes[at] = (unsigned char)next_random(seed);
  } else if (kind == 2) {
    const size_t count = left < sizeof numbers[0] ? left : sizeof numbers[0];
    memcpy(bytes + at, &numbers[next_random(seed) % 4], count);
  } else {
    const size_t most = next_random(seed) % 2 == 0 ? 4 : 8;
    memcpy(bytes + at, &words[next_random(seed) % 6], left < most ? left : most);
  }
}

unsigned char* mutate(const mutate_bytes* whole, const mutate_bytes* other, uint64_t* seed,
                      size_t* size) {
  unsigned char* out = calloc(2 * whole->size + other->size + 1, 1);
  *size = whole->size;
  if (out == NULL || whole->size == 0) {
    return out;
  }
  memcpy(out, whole->bytes, whole->size);
  const size_t at = next_random(seed) % whole->size;
  switch (next_random(seed) % 8) {
    case 0:  // cut off
      *size = at;
      break;
    case 1: {  // something is missing
      const size_t gap = 1 + next_random(seed) % (whole->size - at);
      memmove(out + at, out + at + gap, whole->size - at - gap);
      *size = whole->size - gap;
      break;
    }
    case 2:  // something is there twice
      memcpy(out + at, whole->bytes, whole->size);
      *size = at + whole->size;
      break;
    case 3: {  // begins as this one, goes on as the other
      const size_t from = other->size > 0 ? next_random(seed) % other->size : 0;
      memcpy(out + at, other->bytes + from, other->size - from);
      *size = at + other->size - from;
      break;
    }
    default:
      for (uint32_t i = next_random(seed) % 4 + 1; i > 0; --i) {
        overwrite(out, whole->size, seed);
      }
      break;
  }
  return out;
}

unsigned char* mutate_sealed(const mutate_bytes* whole, size_t head, uint64_t* seed) {
  unsigned char* out = calloc(whole->size, 1);
  if (out == NULL || whole->size < head || whole->size < SAP_SEAL) {
    return out;
  }
  memcpy(out, whole->bytes, whole->size);
  for (uint32_t i = next_random(seed) % 2 + 1; i > 0; --i) {
    overwrite(out, head, seed);
  }
  const uint64_t checksum = sap_hash(SAP_HASH_START, out, whole->size - SAP_SEAL);
  memcpy(out + whole->size - SAP_SEAL, &checksum, SAP_SEAL);
  return out;
}
