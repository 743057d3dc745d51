// SPDX-License-Identifier: BSD-3-Clause
// The block of a page, and its frames, poses, meshes and series.
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "output/page/page.h"

// Positions are rounded to a ten-thousandth of the typical shape, which is invisible.
static const double LENGTH_SHARE = 1e-4, TURN_UNIT = 1.0 / 16384.0;

// --- the block ---

sap_status sap_page_add_section(sap_page_data* data, sap_page_layout layout, const uint32_t* values,
                                size_t count, sap_error* error) {
  sap_page_block* block = &data->block;
  SAP_FAIL_IF(count > (size_t)(INT32_MAX - block->size) / 4 || block->count == SAP_PAGE_SECTIONS,
              error, SAP_STATUS_UNSUPPORTED,
              "the recording is too large for a page: take fewer frames or contacts");
  const int32_t size = layout.width * (int32_t)count;
  SAP_TRY(SAP_GROW(&block->bytes, &block->capacity, block->size + size, error));
  unsigned char* to = block->bytes + block->size;
  for (int p = 0; p < layout.width; ++p) {
    for (size_t i = 0; i < count; ++i) {
      *to++ = (unsigned char)(values[i] >> (8 * p + layout.shift) & 0xFF);
    }
  }
  block->sections[block->count].name = layout.name;
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

int32_t sap_page_quantize(double x, double unit) {
  return (int32_t)fmin(fmax(round(x / unit), -1e9), 1e9);
}

sap_status sap_page_read(sap_page_data* data, const char* name, int64_t columns, double** out,
                         int64_t* rows, sap_error* error) {
  int64_t width = 0;
  SAP_TRY(sap_recording_size(data->recording, name, rows, &width, error));
  SAP_FAIL_IF(width != columns, error, SAP_STATUS_ARGUMENT, "'%s' has %lld columns, not %lld", name,
              (long long)width, (long long)columns);
  SAP_TRY(SAP_POOL_ADD(&data->scratch, out, *rows * width, error));
  return sap_recording_read(data->recording, name, 0, *rows, *out, error);
}

// --- frames ---

// Picks the first row of every 1/frame_rate, and the last.
sap_status sap_page_pick_frames(sap_page_data* data, sap_error* error) {
  const double frame_rate = data->options->frame_rate;
  double* time = NULL;
  uint32_t* bits = NULL;
  SAP_TRY(sap_page_read(data, "time", 1, &time, &data->rows, error));
  data->rows = sap_recording_rows(data->recording);
  SAP_FAIL_IF(data->rows < 1 || data->rows > INT32_MAX, error, SAP_STATUS_ARGUMENT,
              "the recording has %lld rows", (long long)data->rows);
  SAP_TRY(SAP_POOL_ADD(&data->pool, &data->row, data->rows, error));
  SAP_TRY(SAP_POOL_ADD(&data->scratch, &bits, data->rows, error));
  double due = time[0];
  for (int64_t i = 0; i < data->rows; ++i) {
    if (frame_rate == 0.0 || time[i] >= due - 1e-9 || i + 1 == data->rows) {
      bits[data->frames] = sap_page_float_bits(time[i]);
      data->row[data->frames++] = i;
      due = frame_rate > 0.0 ? fmax(due + 1.0 / frame_rate, time[i]) : due;
    }
  }
  SAP_TRY(SAP_POOL_ADD(&data->pool, &data->series, (size_t)data->frames * SAP_PAGE_SERIES, error));
  return sap_page_add_words(data, "time", bits, (size_t)data->frames, error);
}

// --- poses ---

static int ascending(const void* a, const void* b) {
  const double x = *(const double*)a, y = *(const double*)b;
  return (x > y) - (x < y);
}

// Derives the length unit from the median size of the shapes.
static sap_status choose_units(sap_page_data* data, sap_error* error) {
  double* shapes = NULL;
  int64_t count = 0, n = 0;
  SAP_TRY(sap_page_read(data, "model/shape", SAP_PAGE_SHAPE_COLUMNS, &shapes, &count, error));
  for (int64_t i = 0; i < count; ++i) {
    const double* s = shapes + SAP_PAGE_SHAPE_COLUMNS * i;
    const double size = fmax(fmax(s[4], s[5]), s[6]);
    if (s[0] > 0.0 && size > 0.0) {
      shapes[n++] = size;
    }
  }
  qsort(shapes, (size_t)n, sizeof *shapes, ascending);
  data->length_unit = LENGTH_SHARE * (n > 0 ? fmin(fmax(shapes[n / 2], 1e-3), 1.0) : 0.1);
  data->turn_unit = TURN_UNIT;
  return SAP_STATUS_OK;
}

// Reads the poses of all frames (frames x 7 bodies), flipping quaternions so that their signs do
// not jump.
static sap_status read_poses(sap_page_data* data, float* poses, sap_error* error) {
  const size_t width = 7 * (size_t)data->bodies;
  double* row = NULL;
  SAP_TRY(SAP_POOL_ADD(&data->scratch, &row, width, error));
  for (int32_t f = 0; f < data->frames; ++f) {
    float* to = poses + width * (size_t)f;
    SAP_TRY(sap_recording_read(data->recording, "pose", data->row[f], 1, row, error));
    for (size_t b = 0; b < width; b += 7) {
      double dot = f > 0 ? 0.0 : 1.0;
      for (size_t k = 0; k < 7; ++k) {
        to[b + k] = isfinite(row[b + k]) ? (float)row[b + k] : 0.0f;
      }
      for (size_t k = 3; k < 7 && f > 0; ++k) {
        dot += (double)to[b + k] * (double)*(to + b + k - width);
      }
      for (size_t k = 3; k < 7 && dot < 0.0; ++k) {
        to[b + k] = -to[b + k];
      }
    }
  }
  return SAP_STATUS_OK;
}

static bool body_moves(const sap_page_data* data, const float* poses, int32_t body) {
  const size_t width = 7 * (size_t)data->bodies;
  for (int32_t f = 1; f < data->frames; ++f) {
    for (size_t k = 7 * (size_t)body; k < 7 * ((size_t)body + 1); ++k) {
      if (poses[width * (size_t)f + k] != poses[k]) {
        return true;
      }
    }
  }
  return false;
}

// Encodes one coordinate of one body as second differences in time.
static void encode_differences(const sap_page_data* data, const float* from, double unit,
                               uint32_t* to) {
  const size_t width = 7 * (size_t)data->bodies;
  uint32_t last = 0, step = 0;  // modulo 2^32
  for (int32_t f = 0; f < data->frames; ++f) {
    const uint32_t x = (uint32_t)sap_page_quantize((double)from[width * (size_t)f], unit);
    const uint32_t new_step = x - last;
    const uint32_t value = f < 2 ? new_step : new_step - step;
    to[f] = value << 1 ^ (value >> 31 != 0 ? UINT32_MAX : 0u);
    step = new_step;
    last = x;
  }
}

sap_status sap_page_add_poses(sap_page_data* data, sap_error* error) {
  int64_t rows, columns;
  SAP_TRY(choose_units(data, error));
  SAP_TRY(sap_recording_size(data->recording, "pose", &rows, &columns, error));
  data->bodies = (int32_t)(columns / 7);
  const size_t frames = (size_t)data->frames, width = 7 * (size_t)data->bodies;
  float* poses = NULL;
  uint32_t *numbers = NULL, *moving = NULL;
  SAP_TRY(SAP_POOL_ADD_ALL(&data->scratch, error, SAP_ARRAY(&poses, width * frames),
                           SAP_ARRAY(&numbers, width * frames), SAP_ARRAY(&moving, data->bodies)));
  SAP_TRY(read_poses(data, poses, error));
  size_t n = 0, count = 0;
  for (int32_t b = 0; b < data->bodies; ++b) {
    if (body_moves(data, poses, b)) {
      moving[n++] = sap_page_zigzag(b);
      for (int k = 0; k < 7; ++k, count += frames) {
        encode_differences(data, poses + 7 * b + k, k < 3 ? data->length_unit : data->turn_unit,
                           numbers + count);
      }
    }
  }
  SAP_TRY(sap_page_add_words(data, "moving", moving, n, error));
  SAP_TRY(sap_page_add_words(data, "pose", numbers, count, error));
  for (size_t i = 0; i < width; ++i) {
    numbers[i] = sap_page_float_bits((double)poses[i]);
  }
  return sap_page_add_words(data, "rest", numbers, width, error);
}

// --- shapes and meshes ---

sap_status sap_page_add_model(sap_page_data* data, sap_error* error) {
  static const struct {
    const char *name, *section;
    int64_t columns;
    bool real;
  } tables[] = {{"model/shape", "shape", SAP_PAGE_SHAPE_COLUMNS, true},
                {"model/mesh", "mesh", 4, false},
                {"model/vertex", "vertex", 3, true},
                {"model/triangle", "triangle", 3, false}};
  for (size_t t = 0; t < sizeof tables / sizeof *tables; ++t) {
    double* values = NULL;
    uint32_t* numbers = NULL;
    int64_t rows = 0;
    SAP_TRY(sap_page_read(data, tables[t].name, tables[t].columns, &values, &rows, error));
    const int64_t count = rows * tables[t].columns;
    SAP_TRY(SAP_POOL_ADD(&data->scratch, &numbers, count, error));
    for (int64_t i = 0; i < count; ++i) {
      numbers[i] =
          tables[t].real ? sap_page_float_bits(values[i]) : sap_page_zigzag((int32_t)values[i]);
    }
    SAP_TRY(sap_page_add_words(data, tables[t].section, numbers, (size_t)count, error));
  }
  return SAP_STATUS_OK;
}

// --- series ---

// Energies are those of the frames' rows; iterations and step times the largest since the frame
// before.
sap_status sap_page_add_series(sap_page_data* data, sap_error* error) {
  const size_t count = (size_t)data->frames * SAP_PAGE_SERIES;
  double *energy = NULL, *step = NULL;
  uint32_t* bits = NULL;
  int64_t rows = 0;
  SAP_TRY(sap_page_read(data, "energy", 3, &energy, &rows, error));
  SAP_TRY(sap_page_read(data, "step", SAP_PAGE_STEP_COLUMNS, &step, &rows, error));
  SAP_TRY(SAP_POOL_ADD(&data->scratch, &bits, count, error));
  for (int32_t f = 0; f < data->frames; ++f) {
    const double* e = energy + 3 * data->row[f];
    double iterations = 0.0, time = 0.0;
    for (int64_t i = f > 0 ? data->row[f - 1] + 1 : 0; i <= data->row[f]; ++i) {
      iterations = fmax(iterations, step[SAP_PAGE_STEP_COLUMNS * i]);
      time = fmax(time, step[SAP_PAGE_STEP_COLUMNS * i + 8]);
    }
    sap_page_series(data, SAP_PAGE_KINETIC)[f] = (float)e[0];
    sap_page_series(data, SAP_PAGE_GRAVITY)[f] = (float)e[1];
    sap_page_series(data, SAP_PAGE_SPRINGS)[f] = (float)e[2];
    sap_page_series(data, SAP_PAGE_TOTAL)[f] = (float)(e[0] + e[1] + e[2]);
    sap_page_series(data, SAP_PAGE_ITERATIONS)[f] = (float)iterations;
    sap_page_series(data, SAP_PAGE_STEP_TIME)[f] = (float)(1e3 * time);
  }
  for (size_t i = 0; i < count; ++i) {
    bits[i] = sap_page_float_bits((double)data->series[i]);
  }
  return sap_page_add_words(data, "series", bits, count, error);
}
