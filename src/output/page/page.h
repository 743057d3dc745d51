// SPDX-License-Identifier: BSD-3-Clause
// Data of a 3D page: frames picked from the rows of a recording, and a block of sections of numbers
// as byte planes, the lowest bytes first (src/output/page/data.js reads it).
#pragma once

#include <sapstep/output.h>

#include "core/memory.h"

enum { SAP_PAGE_SECTIONS = 24 };

// Columns of /model/shape and /step.
enum { SAP_PAGE_SHAPE_COLUMNS = 18, SAP_PAGE_STEP_COLUMNS = 13 };

// Order of the series, as in data.js.
enum {
  SAP_PAGE_KINETIC,
  SAP_PAGE_GRAVITY,
  SAP_PAGE_SPRINGS,
  SAP_PAGE_TOTAL,
  SAP_PAGE_ITERATIONS,
  SAP_PAGE_CONTACTS,
  SAP_PAGE_DEPTH,
  SAP_PAGE_SLIP,
  SAP_PAGE_STEP_TIME,
  SAP_PAGE_SERIES
};

typedef struct sap_page_block {
  unsigned char* bytes;
  int32_t size, capacity, count;
  struct {
    const char* name;
    int32_t offset, size;
  } sections[SAP_PAGE_SECTIONS];
} sap_page_block;

typedef struct sap_page_data {
  const sap_recording* recording;
  const sap_page_options* options;
  sap_pool pool;     // owns row and series
  sap_pool scratch;  // arrays of the function below that runs; freed after it
  int64_t rows;
  int32_t frames, bodies;
  int64_t* row;        // of each frame                                                    (frames)
  float* series;       // by series and frame                             (SAP_PAGE_SERIES frames)
  double length_unit;  // of positions in the block [m]
  double turn_unit;    // of quaternions
  int64_t contacts, contacts_all;
  sap_page_block block;
} sap_page_data;

// Each adds its sections to the block; call them in this order. page_data.c but contacts.
sap_status sap_page_pick_frames(sap_page_data* data, sap_error* error);
sap_status sap_page_add_poses(sap_page_data* data, sap_error* error);
sap_status sap_page_add_model(sap_page_data* data, sap_error* error);
sap_status sap_page_add_contacts(sap_page_data* data, sap_error* error);  // and fills its series
sap_status sap_page_add_series(sap_page_data* data, sap_error* error);    // fills the others

// Reads a whole data set into scratch memory. Fails with ARGUMENT unless it has `columns`.
sap_status sap_page_read(sap_page_data* data, const char* name, int64_t columns, double** out,
                         int64_t* rows, sap_error* error);

// A section holds the bytes 0 ... width - 1, above `shift` bits, of each value. Fails with
// UNSUPPORTED if the block would exceed 2 GB.
typedef struct sap_page_layout {
  const char* name;
  int width, shift;
} sap_page_layout;
sap_status sap_page_add_section(sap_page_data* data, sap_page_layout layout, const uint32_t* values,
                                size_t count, sap_error* error);
// Adds a section of whole values.
static inline sap_status sap_page_add_words(sap_page_data* data, const char* name,
                                            const uint32_t* values, size_t count,
                                            sap_error* error) {
  const sap_page_layout layout = {name, 4, 0};
  return sap_page_add_section(data, layout, values, count, error);
}

// Maps 0 -1 1 -2 ... to 0 1 2 3 ...
static inline uint32_t sap_page_zigzag(int32_t x) {
  return (uint32_t)x << 1 ^ (x < 0 ? UINT32_MAX : 0u);
}
uint32_t sap_page_float_bits(double x);
// Returns x/unit, rounded and clamped to +-1e9.
int32_t sap_page_quantize(double x, double unit);

static inline float* sap_page_series(sap_page_data* data, int which) {
  return data->series + (size_t)which * (size_t)data->frames;
}

// page.html with its scripts, before, between and after header and block: cmake/page.cmake puts it
// into the library. Not whole in a build without three.js.
extern const bool sap_page_is_whole;
extern const unsigned char sap_page_head[], sap_page_middle[], sap_page_tail[];
extern const size_t sap_page_head_size, sap_page_middle_size, sap_page_tail_size;
