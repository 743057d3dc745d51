// SPDX-License-Identifier: BSD-3-Clause
// Radix sort of 64-bit keys. cost: O(n) for each byte in which they differ.
#ifndef SAP_MULTIBODY_GEOMETRY_SORT_H
#define SAP_MULTIBODY_GEOMETRY_SORT_H

#include <stdint.h>

// scratch: (count).
void sap_sort_keys(uint64_t* keys, int32_t count, uint64_t* scratch);

#endif
