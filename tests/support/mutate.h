// SPDX-License-Identifier: BSD-3-Clause
// Damage to files, the same in every run: bits turned, bytes overwritten, cut off, removed,
// doubled, spliced from another file, numbers made extreme.
#ifndef SAP_TESTS_SUPPORT_MUTATE_H
#define SAP_TESTS_SUPPORT_MUTATE_H

#include <stddef.h>
#include <stdint.h>

typedef struct mutate_bytes {
  const unsigned char* bytes;
  size_t size;
} mutate_bytes;

// One damaged copy, to be freed by free(); *seed goes on.
unsigned char* mutate(const mutate_bytes* whole, const mutate_bytes* other, uint64_t* seed,
                      size_t* size);
// The same with numbers among the first `head` bytes alone, under a checksum that fits as sealed
// files end with it: the head gets read.
unsigned char* mutate_sealed(const mutate_bytes* whole, size_t head, uint64_t* seed);

#endif
