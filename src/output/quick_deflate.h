// SPDX-License-Identifier: BSD-3-Clause
// Compression of tables of numbers at the speed of memory, in a format that every HDF5 library
// reads: its filters "shuffle" and "deflate".
#ifndef SAP_OUTPUT_QUICK_DEFLATE_H
#define SAP_OUTPUT_QUICK_DEFLATE_H

#include <stddef.h>

// Room that the compressed form of `size` bytes may need.
size_t sap_quick_deflate_bound(size_t size);
// HDF5's shuffle: `count` values of `size` bytes (4 or 8) into planes, all first bytes, all second
// ones, ... `in` and `out` do not overlap.
void sap_shuffle(const unsigned char* in, size_t count, size_t size, unsigned char* out);
// A zlib stream (RFC 1950, 1951) of `planes` planes of `count` bytes each, into `out`, which has
// room for the bound; returns its length. Only what repeats the byte `width` places before is made
// shorter: the same byte of the same value of the row before. Planes where little does are copied.
size_t sap_quick_deflate(const unsigned char* in, size_t planes, size_t count, size_t width,
                         unsigned char* out);

#endif
