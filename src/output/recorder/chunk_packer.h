// SPDX-License-Identifier: BSD-3-Clause
// Compresses chunks of numbers as HDF5's filters "shuffle" and "deflate" do, without calls of HDF5,
// which receives finished chunks that every reader understands.
#ifndef SAP_OUTPUT_RECORDER_CHUNK_PACKER_H
#define SAP_OUTPUT_RECORDER_CHUNK_PACKER_H

#include "core/error.h"

typedef struct sap_chunk_packer sap_chunk_packer;  // workspace; one per thread

// Creates a packer for chunks of at most `size` bytes at zlib's level 1 to 9. Returns NULL for lack
// of memory.
sap_chunk_packer* sap_chunk_packer_create(int32_t level, size_t size);
void sap_chunk_packer_destroy(sap_chunk_packer* packer);
// Returns the room that the compressed form of `size` bytes may need.
size_t sap_chunk_packer_bound(size_t size);
// Packs `count` values of `size` bytes (4 or 8) in rows of `width` into `out`, which has room for
// the bound. Returns the packed length, or 0 if it is not below that of the values. Makes no heap
// call.
size_t sap_chunk_packer_pack(sap_chunk_packer* packer, const void* values, size_t count,
                             size_t size, size_t width, unsigned char* out);

// Sorts the bytes of `count` values of `size` bytes (4 or 8) into planes as HDF5's shuffle does:
// all first bytes, then all second bytes, ... `in` and `out` do not overlap.
void sap_shuffle(const unsigned char* in, size_t count, size_t size, unsigned char* out);

#endif
