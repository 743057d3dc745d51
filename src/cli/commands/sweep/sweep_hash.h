// SPDX-License-Identifier: BSD-3-Clause
// FNV-1a, 64 bit: tells texts and rows apart.
#ifndef SAP_CLI_COMMANDS_SWEEP_SWEEP_HASH_H
#define SAP_CLI_COMMANDS_SWEEP_SWEEP_HASH_H

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

// A sap_file_function: *hash goes on with each file that a scene is read from.
void sweep_hash_file(void* hash, const char* path, const void* bytes, size_t size);

#endif
