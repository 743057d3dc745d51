// SPDX-License-Identifier: BSD-3-Clause
#include "cli/sweep_hash.h"

#include <stdio.h>

uint64_t sweep_hash_file(uint64_t hash, const char* path) {
  FILE* file = fopen(path, "rb");
  char bytes[4096];
  for (size_t got; file != NULL && (got = fread(bytes, 1, sizeof bytes, file)) > 0;) {
    hash = sweep_hash(hash, bytes, got);
  }
  if (file != NULL) {
    (void)fclose(file);
  }
  return hash;
}
