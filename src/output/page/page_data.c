// SPDX-License-Identifier: BSD-3-Clause
// Frames, poses, meshes and series of a page.
#include "output/page/page_data.h"

#include <float.h>
#include <math.h>
#include <stdlib.h>

#include "core/memory.h"

// A ten-thousandth of the typical shape: too small to be seen.
static const double LENGTH_SHARE = 1e-4, TURN_UNIT = 1.0 / 16384.0;
static const int words[2] = {4, 0};

void sap_page_data_clear(sap_page_data* data) {
  sap_free(data->row);
  sap_free(data->series);
  sap_free(data->block.bytes);
}

static sap_status out_of_memory(sap_error* error) {
  return sap_fail(error, SAP_STATUS_MEMORY, "out of memory: page");
}

// The first row of every 1/rate, and the last.
sap_status sap_page_pick_frames(sap_page_data* data, double frame_rate, sap_error* error) {
  double* time = NULL;
  sap_status status = sap_page_read(data->recording, "time", 1, &time, &data->rows, error);
  if (status != SAP_STATUS_OK) {
    return status;
  }
  data->rows = sap_recording_rows(data->recording);
  data->row = sap_allocate((size_t)data->rows, sizeof *data->row);
  uint32_t* bits = sap_allocate((size_t)data->rows, sizeof *bits);
  if (data->rows < 1 || data->rows > INT32_MAX) {
    status =
        sap_fail(error, SAP_STATUS_ARGUMENT, "the recording has %lld rows", (long long)data->rows);
  } else if (data->row == NULL || bits == NULL) {
    status = out_of_memory(error);
  } else {
    double due = time[0];
    for (int64_t i = 0; i < data->rows; ++i) {
      if (frame_rate == 0.0 || time[i] >= due - 1e-9 || i + 1 == data->rows) {
        bits[data->frames] = sap_page_float_bits(time[i]);
        data->row[data->frames++] = i;
        due = frame_rate > 0.0 ? fmax(due + 1.0 / frame_rate, time[i]) : due;
      }
    }
    data->series = sap_allocate((size_t)data->frames * SAP_PAGE_SERIES, sizeof *data->series);
    status = data->series == NULL ? out_of_memory(error)
                                  : sap_page_block_add(&data->block, "time", bits,
                                                       (size_t)data->frames, words, error);
  }
  sap_free(time);
  sap_free(bits);
  return status;
}

static int ascending(const void* a, const void* b) {
  const double x = *(const double*)a, y = *(const double*)b;
  return (x > y) - (x < y);
}

// From the middle size of all shapes.
static sap_status choose_units(sap_page_data* data, sap_error* error) {
  double* shapes = NULL;
  int64_t count = 0;
  const sap_status status =
      sap_page_read(data->recording, "model/shape", SAP_SHAPE_COLUMNS, &shapes, &count, error);
  if (status != SAP_STATUS_OK) {
    return status;
  }
  int64_t n = 0;
  for (int64_t i = 0; i < count; ++i) {
    const double* s = shapes + SAP_SHAPE_COLUMNS * i;
    const double size = fmax(fmax(s[4], s[5]), s[6]);
    if (s[0] > 0.0 && size > 0.0) {
      shapes[n++] = size;
    }
  }
  qsort(shapes, (size_t)n, sizeof *shapes, ascending);
  data->length_unit = LENGTH_SHARE * (n > 0 ? fmin(fmax(shapes[n / 2], 1e-3), 1.0) : 0.1);
  data->turn_unit = TURN_UNIT;
  sap_free(shapes);
  return SAP_STATUS_OK;
}

// Poses of all frames, quaternions without sudden changes of sign. (frames x 7 bodies)
static sap_status read_poses(const sap_page_data* data, float* poses, sap_error* error) {
  const size_t width = 7 * (size_t)data->bodies;
  double* row = sap_allocate(width, sizeof *row);
  sap_status status = row != NULL ? SAP_STATUS_OK : out_of_memory(error);
  for (int32_t f = 0; f < data->frames && status == SAP_STATUS_OK; ++f) {
    float* to = poses + width * (size_t)f;
    status = sap_recording_read(data->recording, "pose", data->row[f], 1, row, error);
    for (size_t b = 0; b < width && status == SAP_STATUS_OK; b += 7) {
      double dot = 1.0;
      for (size_t k = 0; k < 7; ++k) {
        to[b + k] = isfinite(row[b + k]) ? (float)row[b + k] : 0.0f;
      }
      if (f > 0) {
        const float* from = to - width;
        dot = 0.0;
        for (size_t k = 3; k < 7; ++k) {
          dot += (double)to[b + k] * (double)from[b + k];
        }
      }
      for (size_t k = 3; k < 7 && dot < 0.0; ++k) {
        to[b + k] = -to[b + k];
      }
    }
  }
  sap_free(row);
  return status;
}

static bool moves(const sap_page_data* data, const float* poses, int32_t body) {
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

static int32_t quantize(double x, double unit) {
  const double steps = round(x / unit);
  return (int32_t)fmin(fmax(steps, -1e9), 1e9);
}

// Second differences in time of one coordinate of one body.
static void add_differences(const sap_page_data* data, const float* from, double unit,
                            uint32_t* to) {
  const size_t width = 7 * (size_t)data->bodies;
  uint32_t last = 0, step = 0;  // modulo 2^32
  for (int32_t f = 0; f < data->frames; ++f) {
    const uint32_t x = (uint32_t)quantize((double)from[width * (size_t)f], unit);
    const uint32_t new_step = x - last;
    const uint32_t value = f < 2 ? new_step : new_step - step;
    to[f] = value << 1 ^ (value >> 31 != 0 ? UINT32_MAX : 0u);
    step = new_step;
    last = x;
  }
}

static sap_status add_sections(sap_page_data* data, const float* poses, uint32_t* numbers,
                               sap_error* error) {
  const size_t frames = (size_t)data->frames;
  uint32_t* moving = sap_allocate((size_t)data->bodies, sizeof *moving);
  if (moving == NULL) {
    return out_of_memory(error);
  }
  size_t n = 0, count = 0;
  for (int32_t b = 0; b < data->bodies; ++b) {
    if (moves(data, poses, b)) {
      moving[n++] = sap_page_zigzag(b);
      for (int k = 0; k < 7; ++k, count += frames) {
        add_differences(data, poses + 7 * b + k, k < 3 ? data->length_unit : data->turn_unit,
                        numbers + count);
      }
    }
  }
  sap_status status = sap_page_block_add(&data->block, "moving", moving, n, words, error);
  if (status == SAP_STATUS_OK) {
    status = sap_page_block_add(&data->block, "pose", numbers, count, words, error);
  }
  for (int32_t i = 0; i < 7 * data->bodies; ++i) {
    numbers[i] = sap_page_float_bits((double)poses[i]);
  }
  sap_free(moving);
  return status == SAP_STATUS_OK ? sap_page_block_add(&data->block, "rest", numbers,
                                                      7 * (size_t)data->bodies, words, error)
                                 : status;
}

sap_status sap_page_add_poses(sap_page_data* data, sap_error* error) {
  int64_t rows, columns;
  sap_status status = choose_units(data, error);
  if (status == SAP_STATUS_OK) {
    status = sap_recording_size(data->recording, "pose", &rows, &columns, error);
  }
  if (status != SAP_STATUS_OK) {
    return status;
  }
  data->bodies = (int32_t)(columns / 7);
  const size_t count = 7 * (size_t)data->bodies * (size_t)data->frames;
  float* poses = sap_allocate(count, sizeof *poses);
  uint32_t* numbers = sap_allocate(count, sizeof *numbers);
  status = poses == NULL || numbers == NULL ? out_of_memory(error) : read_poses(data, poses, error);
  if (status == SAP_STATUS_OK) {
    status = add_sections(data, poses, numbers, error);
  }
  sap_free(poses);
  sap_free(numbers);
  return status;
}

static sap_status add_table(sap_page_data* data, const char* name, const char* section, bool real,
                            sap_error* error) {
  double* values = NULL;
  int64_t rows = 0;
  sap_status status = sap_page_read(data->recording, name, 3, &values, &rows, error);
  if (status != SAP_STATUS_OK) {
    return status;
  }
  const size_t count = 3 * (size_t)rows;
  uint32_t* numbers = sap_allocate(count, sizeof *numbers);
  for (size_t i = 0; i < count && numbers != NULL; ++i) {
    numbers[i] = real ? sap_page_float_bits(values[i]) : sap_page_zigzag((int32_t)values[i]);
  }
  status = numbers == NULL
               ? out_of_memory(error)
               : sap_page_block_add(&data->block, section, numbers, count, words, error);
  sap_free(values);
  sap_free(numbers);
  return status;
}

sap_status sap_page_add_meshes(sap_page_data* data, sap_error* error) {
  const sap_status status = add_table(data, "model/vertex", "vertex", true, error);
  return status == SAP_STATUS_OK ? add_table(data, "model/triangle", "triangle", false, error)
                                 : status;
}

static float* series(sap_page_data* data, int which) {
  return data->series + (size_t)which * (size_t)data->frames;
}

// Energies of the frames' rows; of what steps did, the most since the frame before.
static sap_status fill_series(sap_page_data* data, sap_error* error) {
  double *energy = NULL, *step = NULL, lowest = DBL_MAX;
  int64_t rows = 0;
  sap_status status = sap_page_read(data->recording, "energy", 3, &energy, &rows, error);
  if (status == SAP_STATUS_OK) {
    status = sap_page_read(data->recording, "step", SAP_STEP_COLUMNS, &step, &rows, error);
  }
  for (int64_t i = 0; i < data->rows && status == SAP_STATUS_OK; ++i) {
    lowest = fmin(lowest, energy[3 * i + 1]);
  }
  for (int32_t f = 0; f < data->frames && status == SAP_STATUS_OK; ++f) {
    const double* e = energy + 3 * data->row[f];
    double iterations = 0.0, time = 0.0;
    for (int64_t i = f > 0 ? data->row[f - 1] + 1 : 0; i <= data->row[f]; ++i) {
      iterations = fmax(iterations, step[SAP_STEP_COLUMNS * i]);
      time = fmax(time, step[SAP_STEP_COLUMNS * i + 8]);
    }
    series(data, SAP_PAGE_KINETIC)[f] = (float)e[0];
    series(data, SAP_PAGE_GRAVITY)[f] = (float)(e[1] - lowest);
    series(data, SAP_PAGE_SPRINGS)[f] = (float)e[2];
    series(data, SAP_PAGE_TOTAL)[f] = (float)(e[0] + e[1] - lowest + e[2]);
    series(data, SAP_PAGE_ITERATIONS)[f] = (float)iterations;
    series(data, SAP_PAGE_STEP_TIME)[f] = (float)(1e3 * time);
  }
  sap_free(energy);
  sap_free(step);
  return status;
}

sap_status sap_page_add_series(sap_page_data* data, sap_error* error) {
  const size_t count = (size_t)data->frames * SAP_PAGE_SERIES;
  sap_status status = fill_series(data, error);
  uint32_t* bits = sap_allocate(count, sizeof *bits);
  if (status == SAP_STATUS_OK && bits == NULL) {
    status = out_of_memory(error);
  }
  for (size_t i = 0; i < count && status == SAP_STATUS_OK; ++i) {
    bits[i] = sap_page_float_bits((double)data->series[i]);
  }
  if (status == SAP_STATUS_OK) {
    status = sap_page_block_add(&data->block, "series", bits, count, words, error);
  }
  sap_free(bits);
  return status;
}
