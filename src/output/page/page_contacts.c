// SPDX-License-Identifier: BSD-3-Clause
// Contacts of a page: the strongest of each frame, as many as fit.
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "math/scalar.h"
#include "output/page/page.h"

// One contact, encoded for the page.
typedef struct contact {
  uint32_t point[3], force[3], normal[3];
  uint32_t depth, speed, mode, body[2], patch[2], law[4];
  double strength;  // [N]
} contact;

typedef struct contact_reader {
  double *first, *count, *step;  // by row of the recording
  contact* kept;                 // of all frames                          (options->max_contacts)
  contact* all;                  // of one frame                                      (capacity)
  double* strength;              // of one frame                                      (capacity)
  double* values;                // data sets of one frame                         (32 capacity)
  int64_t capacity;              // most contacts of a frame
} contact_reader;

static int descending(const void* a, const void* b) {
  const double x = *(const double*)a, y = *(const double*)b;
  return (x < y) - (x > y);
}

// Returns the largest number of contacts per frame for which all frames together keep at most
// `most`.
static int64_t most_per_frame(const sap_page_data* data, const contact_reader* r, int64_t most) {
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

// Columns of the data sets of a contact.
typedef struct contact_values {
  const double *id, *point, *R, *distance, *velocity, *impulse, *patch, *law;
  double patch_before;  // number of the patch of the contact before
} contact_values;

static void encode_contact(const sap_page_data* data, contact_values v, double dt, contact* c) {
  c->body[0] = sap_page_zigzag((int32_t)v.id[0]);
  c->body[1] = sap_page_zigzag((int32_t)v.id[1]);
  c->mode = (uint32_t)v.id[5];
  c->depth = sap_page_float_bits(v.distance[0]);
  c->speed = sap_page_float_bits(hypot(v.velocity[0], v.velocity[1]));
  // Radius of the patch at its centre, its first point, else 0; mean pressure.
  const bool centre = v.patch[0] > 0.0 && v.patch[0] != v.patch_before;
  c->patch[0] = sap_page_float_bits(centre ? sqrt(v.patch[1] / SAP_PI) : 0.0);
  c->patch[1] = sap_page_float_bits(v.patch[0] > 0.0 ? 1e-3 * v.patch[2] : 0.0);
  for (int j = 0; j < 4; ++j) {
    c->law[j] = sap_page_float_bits(v.law[j]);
  }
  c->strength = 0.0;
  for (int j = 0; j < 3; ++j) {
    const double impulse =
        v.R[j] * v.impulse[0] + v.R[3 + j] * v.impulse[1] + v.R[6 + j] * v.impulse[2];
    const double force = dt > 0.0 ? impulse / dt : 0.0;
    c->point[j] = sap_page_zigzag(sap_page_quantize(v.point[j], data->length_unit));
    c->normal[j] = (uint32_t)(int32_t)round(127.0 * v.R[6 + j]) & 0xFF;
    c->force[j] = sap_page_float_bits(force);
    c->strength = hypot(c->strength, force);
  }
}

static sap_status read_frame(const sap_page_data* data, contact_reader* r, int32_t f,
                             sap_error* error) {
  static const struct {
    const char* name;
    size_t width;
  } sets[] = {{"contact/id", 6},       {"contact/point", 3},    {"contact/frame", 9},
              {"contact/distance", 1}, {"contact/velocity", 3}, {"contact/impulse", 3},
              {"contact/patch", 3},    {"contact/law", 4}};
  const int64_t first = (int64_t)r->first[data->row[f]], count = (int64_t)r->count[data->row[f]];
  const double dt = r->step[SAP_PAGE_STEP_COLUMNS * data->row[f] + 10];
  double* values[sizeof sets / sizeof *sets];
  size_t start = 0;
  for (size_t k = 0; k < sizeof sets / sizeof *sets; ++k) {
    values[k] = r->values + start * (size_t)r->capacity;
    start += sets[k].width;
    SAP_TRY(sap_recording_read(data->recording, sets[k].name, first, count, values[k], error));
  }
  for (int64_t i = 0; i < count; ++i) {
    const contact_values v = {
        values[0] + 6 * i, values[1] + 3 * i, values[2] + 9 * i,
        values[3] + i,     values[4] + 3 * i, values[5] + 3 * i,
        values[6] + 3 * i, values[7] + 4 * i, i > 0 ? values[6][3 * i - 3] : 0.0};
    encode_contact(data, v, dt, &r->all[i]);
    r->strength[i] = r->all[i].strength;
  }
  return SAP_STATUS_OK;
}

// Keeps the strongest contacts of a frame, at most `most`, in their order, and fills the frame's
// series. Returns their number.
static int32_t keep_strongest(sap_page_data* data, contact_reader* r, int32_t f, int64_t most) {
  const int64_t count = (int64_t)r->count[data->row[f]], before = data->contacts;
  double least = -1.0;
  int64_t room = most;
  if (count > most) {
    qsort(r->strength, (size_t)count, sizeof *r->strength, descending);
    least = most > 0 ? r->strength[most - 1] : HUGE_VAL;
  }
  float* depth = sap_page_series(data, SAP_PAGE_DEPTH) + f;
  float* slip = sap_page_series(data, SAP_PAGE_SLIP) + f;
  SAP_EACH(const contact, c, r->all, count) {
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
  sap_page_series(data, SAP_PAGE_CONTACTS)[f] = (float)count;
  return (int32_t)(data->contacts - before);
}

#define WORD(field) (offsetof(contact, field) / sizeof(uint32_t))

// Adds one section per member of the kept contacts, component by component.
static sap_status add_fields(sap_page_data* data, const contact_reader* r, sap_error* error) {
  static const struct {
    sap_page_layout layout;
    size_t components, word;
  } fields[] = {
      {{"contact_point", 4, 0}, 3, WORD(point)},   {{"contact_force", 2, 16}, 3, WORD(force)},
      {{"contact_normal", 1, 0}, 3, WORD(normal)}, {{"contact_depth", 2, 16}, 1, WORD(depth)},
      {{"contact_speed", 2, 16}, 1, WORD(speed)},  {{"contact_mode", 1, 0}, 1, WORD(mode)},
      {{"contact_body", 4, 0}, 2, WORD(body)},     {{"contact_patch", 2, 16}, 2, WORD(patch)},
      {{"contact_law", 4, 0}, 4, WORD(law)}};
  const size_t n = (size_t)data->contacts;
  uint32_t* values = NULL;
  SAP_TRY(SAP_POOL_ADD(&data->scratch, &values, 4 * n, error));
  for (size_t f = 0; f < sizeof fields / sizeof *fields; ++f) {
    for (size_t i = 0; i < n; ++i) {
      const uint32_t* from = (const uint32_t*)&r->kept[i] + fields[f].word;
      for (size_t k = 0; k < fields[f].components; ++k) {
        values[k * n + i] = from[k];
      }
    }
    SAP_TRY(sap_page_add_section(data, fields[f].layout, values, fields[f].components * n, error));
  }
  return SAP_STATUS_OK;
}

// Reads the ranges of contacts of all rows, checks them, and allocates the reader's arrays.
static sap_status prepare_reader(sap_page_data* data, contact_reader* r, sap_error* error) {
  int64_t n = 0, all = 0, columns = 0, largest = 0, total = 0;
  SAP_TRY(sap_page_read(data, "contact/first", 1, &r->first, &n, error));
  SAP_TRY(sap_page_read(data, "contact/count", 1, &r->count, &n, error));
  SAP_TRY(sap_page_read(data, "step", SAP_PAGE_STEP_COLUMNS, &r->step, &n, error));
  SAP_TRY(sap_recording_size(data->recording, "contact/impulse", &all, &columns, error));
  for (int32_t f = 0; f < data->frames; ++f) {
    const double first = r->first[data->row[f]], count = r->count[data->row[f]];
    SAP_FAIL_IF(!(first >= 0.0 && count >= 0.0 && first + count <= (double)all), error,
                SAP_STATUS_SYNTAX, "row %lld of the recording has contacts that do not exist",
                (long long)data->row[f]);
    largest = (int64_t)count > largest ? (int64_t)count : largest;
    total += (int64_t)count;
  }
  const int64_t most = data->options->max_contacts;
  data->contacts_all = total;
  r->capacity = largest;
  SAP_TRY(SAP_POOL_ADD_ALL(&data->scratch, error, SAP_ARRAY(&r->kept, total < most ? total : most),
                           SAP_ARRAY(&r->all, r->capacity), SAP_ARRAY(&r->strength, r->capacity)));
  return SAP_POOL_ADD(&data->scratch, &r->values, 32 * r->capacity, error);
}

sap_status sap_page_add_contacts(sap_page_data* data, sap_error* error) {
  contact_reader r = {0};
  uint32_t* counts = NULL;
  SAP_TRY(SAP_POOL_ADD(&data->scratch, &counts, data->frames, error));
  SAP_TRY(prepare_reader(data, &r, error));
  const int64_t most = most_per_frame(data, &r, data->options->max_contacts);
  for (int32_t f = 0; f < data->frames; ++f) {
    SAP_TRY(read_frame(data, &r, f, error));
    counts[f] = sap_page_zigzag(keep_strongest(data, &r, f, most));
  }
  SAP_TRY(sap_page_add_words(data, "contact_count", counts, (size_t)data->frames, error));
  return add_fields(data, &r, error);
}
