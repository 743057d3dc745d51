// SPDX-License-Identifier: BSD-3-Clause
// FNV-1a, 64 bit: tells texts and rows apart.
#ifndef SAP_CLI_SWEEP_HASH_H
#define SAP_CLI_SWEEP_HASH_H

#include <stddef.h>
#include <stdint.h>

#define SWEEP_HASH_BEGIN UINT64_C(0xcbf29ce484222325)

static inline uint64_t sweep_hash(uint64_t hash, const void* bytes, size_t size) {
  const unsigned char* at = bytes;
  for (size_t i = 0; i < size; ++i) {
    hash = (hash ^ at[i]) * UINT64_C(0x100000001b3);
  }
  return hash;
}

// Goes on with all bytes of a file; with none where it cannot be read.
uint64_t sweep_hash_file(uint64_t hash, const char* path);

#endif
