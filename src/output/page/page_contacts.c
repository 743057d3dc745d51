// SPDX-License-Identifier: BSD-3-Clause
// Contacts of a page: of each frame the strongest, as many as fit.
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "core/memory.h"
#include "output/page/page_data.h"

// One contact as the page has it.
typedef struct contact {
  uint32_t point[3], force[3], normal[3];
  uint32_t depth, speed, mode, body[2];
  double strength;  // [N]
} contact;

typedef struct rows {
  double *first, *count, *step;
  contact* kept;     // of all frames                                       (most)
  contact* all;      // of one frame
  double* strength;  // of one frame
  double* values;    // a data set of one frame, 9 columns at most
  int32_t capacity;
} rows;

static void clear(rows* r) {
  sap_free(r->first);
  sap_free(r->count);
  sap_free(r->step);
  sap_free(r->kept);
  sap_free(r->all);
  sap_free(r->strength);
  sap_free(r->values);
}

static int descending(const void* a, const void* b) {
  const double x = *(const double*)a, y = *(const double*)b;
  return (x < y) - (x > y);
}

// The largest number per frame so that no more than `most` are in all frames together.
static int64_t share(const sap_page_data* data, const rows* r, int64_t most) {
  int64_t low = 0, high = r->capacity;
  while (low < high) {
    const int64_t middle = low + (high - low + 1) / 2;
    int64_t sum = 0;
    for (int32_t f = 0; f < data->frames; ++f) {
      const int64_t n = (int64_t)r->count[data->row[f]];
      sum += n < middle ? n : middle;
    }
    if (sum <= most) {
      low = middle;
    } else {
      high = middle - 1;
    }
  }
  return low;
}

static sap_status read_frame(const sap_page_data* data, rows* r, int32_t f, sap_error* error) {
  static const char* const names[] = {"contact/id",       "contact/point",    "contact/frame",
                                      "contact/distance", "contact/velocity", "contact/impulse"};
  static const int widths[] = {6, 3, 9, 1, 3, 3};
  const int64_t first = (int64_t)r->first[data->row[f]], count = (int64_t)r->count[data->row[f]];
  const double dt = r->step[SAP_STEP_COLUMNS * data->row[f] + 10];
  double normal_tangents[9];
  sap_status status = SAP_STATUS_OK;
  double* frames = r->values + 9 * (size_t)r->capacity;
  for (int k = 0; k < 6 && status == SAP_STATUS_OK; ++k) {
    double* values = k == 2 ? frames : r->values;
    status = sap_recording_read(data->recording, names[k], first, count, values, error);
    for (int64_t i = 0; i < count && status == SAP_STATUS_OK; ++i) {
      contact* c = &r->all[i];
      const double* x = values + widths[k] * i;
      memcpy(normal_tangents, frames + 9 * i, sizeof normal_tangents);
      switch (k) {
        case 0:
          c->body[0] = sap_page_zigzag((int32_t)x[0]);
          c->body[1] = sap_page_zigzag((int32_t)x[1]);
          c->mode = (uint32_t)x[5];
          break;
        case 1:
          for (int j = 0; j < 3; ++j) {
            c->point[j] =
                sap_page_zigzag((int32_t)fmin(fmax(round(x[j] / data->length_unit), -1e9), 1e9));
          }
          break;
        case 2:
          for (int j = 0; j < 3; ++j) {
            c->normal[j] = (uint32_t)(int32_t)round(127.0 * x[6 + j]) & 0xFF;
          }
          break;
        case 3:
          c->depth = sap_page_float_bits(x[0]);
          break;
        case 4:
          c->speed = sap_page_float_bits(hypot(x[0], x[1]));
          break;
        default:
          c->strength = 0.0;
          for (int j = 0; j < 3; ++j) {
            const double* n = normal_tangents;
            const double impulse = n[j] * x[0] + n[3 + j] * x[1] + n[6 + j] * x[2];
            const double force = dt > 0.0 ? impulse / dt : 0.0;
            c->force[j] = sap_page_float_bits(force);
            c->strength = hypot(c->strength, force);
          }
          r->strength[i] = c->strength;
      }
    }
  }
  return status;
}

// Keeps the strongest of the frame, in their order.
static int32_t keep(sap_page_data* data, rows* r, int32_t f, int64_t most) {
  const int64_t count = (int64_t)r->count[data->row[f]];
  double least = -1.0;
  int64_t room = most;
  if (count > most) {
    qsort(r->strength, (size_t)count, sizeof *r->strength, descending);
    least = most > 0 ? r->strength[most - 1] : HUGE_VAL;
  }
  const int64_t before = data->contacts;
  float* depth = data->series + (size_t)SAP_PAGE_DEPTH * (size_t)data->frames + f;
  float* slip = data->series + (size_t)SAP_PAGE_SLIP * (size_t)data->frames + f;
  for (int64_t i = 0; i < count; ++i) {
    const contact* c = &r->all[i];
    float phi, speed;
    memcpy(&phi, &c->depth, sizeof phi);
    memcpy(&speed, &c->speed, sizeof speed);
    *depth = fmaxf(*depth, -1e3f * phi);
    *slip = c->mode != 0 ? fmaxf(*slip, 1e3f * speed) : *slip;
    if (c->strength >= least && room > 0) {
      r->kept[data->contacts++] = *c;
      --room;
    }
  }
  data->series[(size_t)SAP_PAGE_CONTACTS * (size_t)data->frames + (size_t)f] = (float)count;
  return (int32_t)(data->contacts - before);
}

// One value of each kept contact, component by component.
static sap_status add_field(sap_page_data* data, const rows* r, const char* name,
                            const int layout[4], sap_error* error) {
  const int components = layout[0];
  const size_t n = (size_t)data->contacts, at = (size_t)layout[1];
  uint32_t* values = sap_allocate((size_t)components * n, sizeof *values);
  if (values == NULL) {
    return sap_fail(error, SAP_STATUS_MEMORY, "out of memory: page");
  }
  for (size_t i = 0; i < n; ++i) {
    const uint32_t* from = (const uint32_t*)&r->kept[i] + at;
    for (size_t k = 0; k < (size_t)components; ++k) {
      values[k * n + i] = from[k];
    }
  }
  const sap_status status =
      sap_page_block_add(&data->block, name, values, (size_t)components * n, layout + 2, error);
  sap_free(values);
  return status;
}

#define AT(field) ((int)(offsetof(contact, field) / sizeof(uint32_t)))

static sap_status add_fields(sap_page_data* data, const rows* r, sap_error* error) {
  static const struct {
    const char* name;
    int layout[4];  // components, place in the struct, bytes, shift
  } fields[] = {{"contact_point", {3, AT(point), 4, 0}},   {"contact_force", {3, AT(force), 2, 16}},
                {"contact_normal", {3, AT(normal), 1, 0}}, {"contact_depth", {1, AT(depth), 2, 16}},
                {"contact_speed", {1, AT(speed), 2, 16}},  {"contact_mode", {1, AT(mode), 1, 0}},
                {"contact_body", {2, AT(body), 4, 0}}};
  sap_status status = SAP_STATUS_OK;
  for (size_t i = 0; i < sizeof fields / sizeof *fields && status == SAP_STATUS_OK; ++i) {
    status = add_field(data, r, fields[i].name, fields[i].layout, error);
  }
  return status;
}

static sap_status prepare(sap_page_data* data, rows* r, int32_t most, sap_error* error) {
  int64_t n = 0, all = 0, columns = 0, largest = 0, total = 0;
  sap_status status = sap_page_read(data->recording, "contact/first", 1, &r->first, &n, error);
  if (status == SAP_STATUS_OK) {
    status = sap_page_read(data->recording, "contact/count", 1, &r->count, &n, error);
  }
  if (status == SAP_STATUS_OK) {
    status = sap_page_read(data->recording, "step", SAP_STEP_COLUMNS, &r->step, &n, error);
  }
  if (status == SAP_STATUS_OK) {
    status = sap_recording_size(data->recording, "contact/impulse", &all, &columns, error);
  }
  for (int32_t f = 0; f < data->frames && status == SAP_STATUS_OK; ++f) {
    const double first = r->first[data->row[f]], count = r->count[data->row[f]];
    if (!(first >= 0.0 && count >= 0.0 && first + count <= (double)all)) {
      return sap_fail(error, SAP_STATUS_SYNTAX,
                      "row %lld of the recording has contacts that do not exist",
                      (long long)data->row[f]);
    }
    largest = (int64_t)count > largest ? (int64_t)count : largest;
    total += (int64_t)count;
  }
  if (status != SAP_STATUS_OK) {
    return status;
  }
  data->contacts_all = total;
  r->capacity = (int32_t)(largest < INT32_MAX / 32 ? largest : INT32_MAX / 32);
  r->kept = sap_allocate((size_t)(total < most ? total : most), sizeof *r->kept);
  r->all = sap_allocate((size_t)r->capacity, sizeof *r->all);
  r->strength = sap_allocate((size_t)r->capacity, sizeof *r->strength);
  r->values = sap_allocate(18 * (size_t)r->capacity, sizeof *r->values);
  return r->kept == NULL || r->all == NULL || r->strength == NULL || r->values == NULL
             ? sap_fail(error, SAP_STATUS_MEMORY, "out of memory: page")
             : SAP_STATUS_OK;
}

sap_status sap_page_add_contacts(sap_page_data* data, int32_t most, sap_error* error) {
  rows r = {0};
  uint32_t* counts = sap_allocate((size_t)data->frames, sizeof *counts);
  sap_status status = counts != NULL ? prepare(data, &r, most, error)
                                     : sap_fail(error, SAP_STATUS_MEMORY, "out of memory: page");
  const int64_t each = status == SAP_STATUS_OK ? share(data, &r, most) : 0;
  for (int32_t f = 0; f < data->frames && status == SAP_STATUS_OK; ++f) {
    status = read_frame(data, &r, f, error);
    if (status == SAP_STATUS_OK) {
      counts[f] = sap_page_zigzag(keep(data, &r, f, each));
    }
  }
  if (status == SAP_STATUS_OK) {
    const int words[2] = {4, 0};
    status = sap_page_block_add(&data->block, "contact_count", counts, (size_t)data->frames, words,
                                error);
  }
  if (status == SAP_STATUS_OK) {
    status = add_fields(data, &r, error);
  }
  clear(&r);
  sap_free(counts);
  return status;
}
