// SPDX-License-Identifier: BSD-3-Clause
#include "io/hdf5/hdf5_filter.h"

#ifdef SAPSTEP_HDF5
#include <string.h>
#include <zlib.h>

enum { CHECKSUM_SIZE = 4 };

bool sap_hdf5_filters_find(hid_t list, sap_hdf5_filters* out) {
  const int count = H5Pget_nfilters(list);
  *out = (sap_hdf5_filters){.count = count};
  if (count < 0 || count > SAP_HDF5_MOST_FILTERS) {
    return false;
  }
  for (int i = 0; i < count; ++i) {
    unsigned flags = 0, values[1] = {0};
    size_t nvalues = 1;
    const H5Z_filter_t id =
        H5Pget_filter2(list, (unsigned)i, &flags, &nvalues, values, 0, NULL, NULL);
    if (id != H5Z_FILTER_DEFLATE && id != H5Z_FILTER_FLETCHER32 &&
        (id != H5Z_FILTER_SHUFFLE || nvalues < 1 || values[0] < 1)) {
      return false;
    }
    out->filter[i].id = id;
    out->filter[i].value_size = values[0];
  }
  return true;
}

size_t sap_hdf5_filters_room(const sap_hdf5_filters* filters, size_t size) {
  return size + CHECKSUM_SIZE * (size_t)filters->count;
}

// Fletcher's checksum of big-endian words of 16 bits; an odd last byte is the upper one of a word.
static uint32_t fletcher32(const unsigned char* bytes, size_t size) {
  uint32_t first = 0, second = 0;
  for (size_t i = 0; i < size; i += 2) {
    first += (uint32_t)bytes[i] << 8 | (i + 1 < size ? bytes[i + 1] : 0u);
    first = (first & 0xffff) + (first >> 16);
    second += first;
    second = (second & 0xffff) + (second >> 16);
  }
  return second << 16 | first;
}

// The checksum stands little-endian behind the bytes; HDF5 1.6.2 and earlier wrote the two bytes of
// its words the other way round on such machines.
static bool checksum_fits(const unsigned char* bytes, size_t size) {
  const unsigned char* s = bytes + size;
  const uint32_t found = fletcher32(bytes, size);
  const uint32_t stored = s[0] | (uint32_t)s[1] << 8 | (uint32_t)s[2] << 16 | (uint32_t)s[3] << 24;
  const uint32_t turned = (stored & 0x00ff00ffu) << 8 | (stored >> 8 & 0x00ff00ffu);
  return stored == found || turned == found;
}

// Bytes of all values' first place, then those of their second, ...; what is left over follows.
static void unshuffle(const unsigned char* from, size_t size, size_t value_size,
                      unsigned char* to) {
  const size_t count = size / value_size;
  for (size_t place = 0; place < value_size; ++place) {
    for (size_t i = 0; i < count; ++i) {
      to[i * value_size + place] = from[place * count + i];
    }
  }
  memcpy(to + count * value_size, from + count * value_size, size - count * value_size);
}

bool sap_hdf5_filters_undo(const sap_hdf5_filters* filters, uint32_t skipped, size_t stored,
                           size_t room, size_t size, unsigned char** bytes, unsigned char** spare) {
  size_t now = stored;
  for (int32_t i = filters->count; i-- > 0;) {
    if ((skipped >> i & 1u) != 0) {
      continue;
    }
    if (filters->filter[i].id == H5Z_FILTER_FLETCHER32) {
      if (now < CHECKSUM_SIZE || !checksum_fits(*bytes, now - CHECKSUM_SIZE)) {
        return false;
      }
      now -= CHECKSUM_SIZE;
      continue;
    }
    if (filters->filter[i].id == H5Z_FILTER_DEFLATE) {
      uLongf length = (uLongf)room;
      if (uncompress(*spare, &length, *bytes, (uLong)now) != Z_OK) {
        return false;
      }
      now = (size_t)length;
    } else {
      unshuffle(*bytes, now, filters->filter[i].value_size, *spare);
    }
    unsigned char* decoded = *spare;
    *spare = *bytes;
    *bytes = decoded;
  }
  return now == size;
}
#endif
