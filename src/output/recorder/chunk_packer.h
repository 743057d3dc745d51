// SPDX-License-Identifier: BSD-3-Clause
// Chunks of numbers compressed as HDF5's filters "shuffle" and "deflate" do it, so that every
// reader knows them; without HDF5, which then is handed finished chunks.
#ifndef SAP_OUTPUT_RECORDER_CHUNK_PACKER_H
#define SAP_OUTPUT_RECORDER_CHUNK_PACKER_H

#include "core/error.h"

typedef struct sap_chunk_packer sap_chunk_packer;  // workspace; one per thread

// For chunks of at most `size` bytes at zlib's level 1 to 9. NULL: no memory.
sap_chunk_packer* sap_chunk_packer_create(int32_t level, size_t size);
void sap_chunk_packer_destroy(sap_chunk_packer* packer);
// Room that the compressed form of `size` bytes may need.
size_t sap_chunk_packer_bound(size_t size);
// `count` values of `size` bytes (4 or 8) in rows of `width` into `out`, which has room for the
// bound; the length, 0: it is no shorter than the values are. Makes no heap call.
size_t sap_chunk_packer_pack(sap_chunk_packer* packer, const void* values, size_t count,
                             size_t size, size_t width, unsigned char* out);

// HDF5's shuffle: `count` values of `size` bytes (4 or 8) into planes, all first bytes, all second
// ones, ... `in` and `out` do not overlap.
void sap_shuffle(const unsigned char* in, size_t count, size_t size, unsigned char* out);

#endif
