// SPDX-License-Identifier: BSD-3-Clause
// What a 3D page holds of a recording: frames picked from its rows, and a block of sections of
// numbers as byte planes, the lowest bytes first (src/output/page/data.js reads it).
#ifndef SAP_OUTPUT_PAGE_PAGE_DATA_H
#define SAP_OUTPUT_PAGE_PAGE_DATA_H

#include <sapstep/output.h>

enum { SAP_PAGE_SECTIONS = 24, SAP_PAGE_SERIES = 9 };

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
  int64_t rows;
  int32_t frames, bodies;
  int64_t* row;        // of each frame                                                    (frames)
  float* series;       // by series and frame                             (SAP_PAGE_SERIES frames)
  double length_unit;  // of positions in the block [m]
  double turn_unit;    // of quaternions
  double deepest;      // penetration of all frames [m]
  int64_t contacts, contacts_all;
  sap_page_block block;
} sap_page_data;

// Adds a section: the bytes 0 ... width - 1, above `shift` bits, of each value. A block holds 2 GB.
sap_status sap_page_block_add(sap_page_block* block, const char* name, const uint32_t* values,
                              size_t count, const int width_shift[2], sap_error* error);
// 0 -1 1 -2 ... become 0 1 2 3 ...
static inline uint32_t sap_page_zigzag(int32_t x) {
  return (uint32_t)x << 1 ^ (x < 0 ? UINT32_MAX : 0u);
}
uint32_t sap_page_float_bits(double x);

sap_status sap_page_pick_frames(sap_page_data* data, double frame_rate, sap_error* error);
sap_status sap_page_add_poses(sap_page_data* data, sap_error* error);
sap_status sap_page_add_meshes(sap_page_data* data, sap_error* error);
// Contacts, at most so many, and the series that come from them.
sap_status sap_page_add_contacts(sap_page_data* data, int32_t most, sap_error* error);
// Energies and what the steps did; adds all series.
sap_status sap_page_add_series(sap_page_data* data, sap_error* error);
void sap_page_data_clear(sap_page_data* data);

// In the order of `series`.
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
};

// Columns of /model/shape and /step that are read here.
enum { SAP_SHAPE_COLUMNS = 18, SAP_STEP_COLUMNS = 13 };

// A whole data set as an array, which sap_free frees; ARGUMENT unless it has `columns` (0: any).
sap_status sap_page_read(const sap_recording* recording, const char* name, int64_t columns,
                         double** out, int64_t* rows, sap_error* error);

#endif
