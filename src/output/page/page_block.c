// SPDX-License-Identifier: BSD-3-Clause
#include <string.h>

#include "core/memory.h"
#include "output/page/page_data.h"

sap_status sap_page_block_add(sap_page_block* block, const char* name, const uint32_t* values,
                              size_t count, const int width_shift[2], sap_error* error) {
  const int width = width_shift[0];
  if (count > (size_t)(INT32_MAX - block->size) / 4 || block->count == SAP_PAGE_SECTIONS) {
    return sap_fail(error, SAP_STATUS_UNSUPPORTED,
                    "the recording is too large for a page: take fewer frames or contacts");
  }
  const int32_t size = width * (int32_t)count;
  const sap_status status = SAP_GROW(&block->bytes, &block->capacity, block->size + size, error);
  if (status != SAP_STATUS_OK) {
    return status;
  }
  unsigned char* to = block->bytes + block->size;
  for (int p = 0; p < width; ++p) {
    for (size_t i = 0; i < count; ++i) {
      *to++ = (unsigned char)(values[i] >> (8 * p + width_shift[1]) & 0xFF);
    }
  }
  block->sections[block->count].name = name;
  block->sections[block->count].offset = block->size;
  block->sections[block->count++].size = size;
  block->size += size;
  return SAP_STATUS_OK;
}

uint32_t sap_page_float_bits(double x) {
  const float value = (float)x;
  uint32_t bits;
  memcpy(&bits, &value, sizeof bits);
  return bits;
}

sap_status sap_page_read(const sap_recording* recording, const char* name, int64_t columns,
                         double** out, int64_t* rows, sap_error* error) {
  int64_t width = 0;
  *out = NULL;
  sap_status status = sap_recording_size(recording, name, rows, &width, error);
  if (status != SAP_STATUS_OK) {
    return status;
  }
  if (columns > 0 && width != columns) {
    return sap_fail(error, SAP_STATUS_ARGUMENT, "'%s' has %lld columns, not %lld", name,
                    (long long)width, (long long)columns);
  }
  *out = sap_allocate((size_t)(*rows * width), sizeof **out);
  if (*out == NULL) {
    return sap_fail(error, SAP_STATUS_MEMORY, "out of memory: %s", name);
  }
  status = sap_recording_read(recording, name, 0, *rows, *out, error);
  if (status != SAP_STATUS_OK) {
    sap_free(*out);
    *out = NULL;
  }
  return status;
}
