// SPDX-License-Identifier: BSD-3-Clause
// Every number of a recording, and every section of its page, is the one that was given: all are
// different. The page is decoded here, by the layout that src/output/page/page.h documents.
#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>
#include <zlib.h>

#include <sapstep/output.h>
#include <sapstep/recorder.h>

#include "support/near.h"
#include "support/numbered_recording.h"
#include "support/recordings.h"
#include "support/scratch.h"
#include "support/skip.h"

enum { FRAMES = 4, NAME = 32 };

static const int row_of_frame[FRAMES] = {0, 2, 4, 6};  // 50 frames per second

static sap_recording* record(scratch* s) {
  char path[SCRATCH_PATH_SIZE];
  numbered_record(scratch_path(s, "a.h5", path));
  return recordings_open(path);
}

// --- the recording ---

// Compares the row of a data set with `count` numbers, exactly.
static void expect_row(const sap_recording* r, const char* name, int64_t row, const double* values,
                       int count) {
  double found[32];
  int64_t rows, columns;
  assert_int_equal(sap_recording_size(r, name, &rows, &columns, NULL), SAP_STATUS_OK);
  assert_int_equal(columns, count);
  assert_int_equal(sap_recording_read(r, name, row, 1, found, NULL), SAP_STATUS_OK);
  for (int i = 0; i < count; ++i) {
    if (!(found[i] == values[i] || (isnan(found[i]) && isnan(values[i])))) {
      fail_msg("%s, row %d, column %d: %g, not %g", name, (int)row, i, found[i], values[i]);
    }
  }
}
#define EXPECT(name, row, ...)                                            \
  do {                                                                    \
    const double expected[] = {__VA_ARGS__};                              \
    expect_row(r, name, row, expected, sizeof expected / sizeof(double)); \
  } while (0)

static void test_columns(void** state) {
  sap_recording* r = record(*state);
  for (int k = 0; k < NUMBERED_ROWS; ++k) {
    const sap_contact slides = numbered_contact(k, 0);
    EXPECT("time", k, numbered_dt * k);
    EXPECT("q", k, 0.1 * k, 1.0 + 0.2 * k);
    EXPECT("v", k, 2.0 + 0.3 * k, 3.0 + 0.4 * k);
    EXPECT("act", k, 0.01 * k);
    EXPECT("energy", k, numbered_energy(k, 0), numbered_energy(k, 1), numbered_energy(k, 2));
    EXPECT("momentum", k, 60.0 + k, 61, 62, 63, 64, 65.0 + k);
    EXPECT("actuator/force", k, 4.0 + 0.5 * k, 5.0 + 0.6 * k);
    EXPECT("sensor", k, 6.0 + k, 7.0 + 2.0 * k);
    EXPECT("step", k,
           10 + (k == 1   ? 5
                 : k == 2 ? 2
                          : k),
           k != 3, 1e-7 * (k + 1), 50.0 + k, 20 + k, 30 + k, 80 + k, 1e-9 * (k + 1),
           k == 5 ? 0.09 : 0.001 * (k + 1), 70 + k, numbered_dt, 1e-4 * (k + 1), 40 + k);
    EXPECT("constraint/first", k, 2.0 * k);
    EXPECT("constraint/id", 2 * k, 1, 0, 2);
    EXPECT("constraint/id", 2 * k + 1, 8, 3, 1);
    EXPECT("constraint/force", 2 * k + 1, 8.0 + k);
    EXPECT("iteration/count", k, 2);
    EXPECT("iteration/value", 2 * k + 1, 8.0 + k, 0.8, 0.7, 3);
    EXPECT("contact/first", k, NUMBERED_CONTACTS * (double)k);
    for (int c = 0; c < NUMBERED_CONTACTS; ++c) {
      const int row = NUMBERED_CONTACTS * k + c;
      const sap_contact x = numbered_contact(k, c);
      EXPECT("contact/id", row, c, c + 1, c, c + 1, c == 0 ? 65 : 5 + k, c == 0 ? 2 : 1);
      expect_row(r, "contact/point", row, x.point, 3);
      expect_row(r, "contact/frame", row, x.R_WC, 9);
      expect_row(r, "contact/distance", row, &x.phi, 1);
      expect_row(r, "contact/velocity", row, x.vc, 3);
      expect_row(r, "contact/impulse", row, x.gamma, 3);
      expect_row(r, "contact/turning", row, x.vc + 3, 3);
      expect_row(r, "contact/moment", row, x.gamma + 3, 3);
      EXPECT("contact/law", row, x.material.stiffness, x.material.relaxation_time, x.friction[0],
             x.realised);
    }
    EXPECT("contact/patch", NUMBERED_CONTACTS * k, 1, slides.area,
           slides.gamma[2] / (numbered_dt * slides.area));
    EXPECT("contact/patch", NUMBERED_CONTACTS * k + 1, 0, 0, 0);
  }
  EXPECT("model/body", 2, 1, 3.0, 0.4, 0.5, 0.6);
  EXPECT("model/joint", 1, SAP_JOINT_HINGE, 2, 1, 1);
  EXPECT("model/mesh", 1, 3, 4, 1, 2);
  EXPECT("model/vertex", 4, 12, 13, 14.5);
  EXPECT("model/triangle", 2, 1, 3, 0);
  EXPECT("model/shape", 1, SAP_SHAPE_BOX, 1, -1, 1, 0.1, 0.3, 0.2, 1, 2, 3, 0.5, 0.1, 0.7, -0.5,
         0.1, 0.2, 0.3, 1);
  EXPECT("model/shape", 2, SAP_SHAPE_MESH, 2, 1, 0, 0.6, 0.5, 0.4, 4, 5, 6, 0.6, 0, 0.8, 0, 0.4,
         0.5, 0.6, 0.7);
  sap_recording_close(r);
}

// --- the page ---

typedef struct page {
  char* text;
  unsigned char* block;
} page;

static unsigned base64_digit(char c) {
  return (unsigned)(c >= 'a'   ? c - 'a' + 26
                    : c >= 'A' ? c - 'A'
                    : c >= '0' ? c - '0' + 52
                    : c == '+' ? 62
                    : c == '/' ? 63
                               : 0);
}

static page read_page(scratch* s, const char* name) {
  page p = {.text = scratch_text(s, name)};
  const char* at = strstr(p.text, " id=\"block\">");
  assert_non_null(at);
  at = strchr(at, '>') + 1;
  const size_t digits = (size_t)(strchr(at, '<') - at);
  unsigned char* packed = calloc(digits, 1);
  uLongf size = 1 << 20;
  p.block = malloc(size);
  for (size_t i = 0; i < digits / 4; ++i) {
    unsigned bits = 0;
    for (int k = 0; k < 4; ++k) {
      bits = bits << 6 | base64_digit(at[4 * i + (size_t)k]);
    }
    for (int k = 0; k < 3; ++k) {
      packed[3 * i + (size_t)k] = (unsigned char)(bits >> (16 - 8 * k));
    }
  }
  assert_int_equal(uncompress(p.block, &size, packed, digits / 4 * 3), Z_OK);
  free(packed);
  return p;
}

static void free_page(page* p) {
  free(p->text);
  free(p->block);
}

static double header_number(const page* p, const char* name) {
  const char* at = strstr(p->text, name);
  assert_non_null(at);
  return strtod(at + strlen(name), NULL);
}

// Returns value i of a section of `n` values of `width` bytes above `shift` bits.
static uint32_t word(const page* p, const char* name, int n, int width, int shift, int i) {
  char key[NAME];
  int offset = 0, size = 0;
  (void)snprintf(key, sizeof key, "\"%s\":[", name);
  const char* at = strstr(p->text, key);
  assert_non_null(at);
  assert_int_equal(sscanf(at + strlen(key), "%d,%d]", &offset, &size), 2);
  assert_int_equal(size, n * width);
  uint32_t out = 0;
  for (int b = 0; b < width; ++b) {
    out |= (uint32_t)p->block[offset + b * n + i] << (8 * b + shift);
  }
  return out;
}

static double real(uint32_t bits) {
  float x;
  memcpy(&x, &bits, sizeof x);
  return (double)x;
}

static double floating(const page* p, const char* name, int n, int i) {
  return real(word(p, name, n, 4, 0, i));
}

static double half(const page* p, const char* name, int n, int i) {  // 7 bits of mantissa
  return real(word(p, name, n, 2, 16, i));
}

static int32_t integer(const page* p, const char* name, int n, int i) {
  const uint32_t x = word(p, name, n, 4, 0, i);
  return (int32_t)(x >> 1 ^ (0u - (x & 1u)));
}

#define SAME(a, b) ASSERT_NEAR(a, b, 1e-6 * fabs(b))  // floats
#define CLOSE(a, b) ASSERT_NEAR(a, b, 0.01 * fabs(b))

static void expect_poses(const page* p) {
  const double length = header_number(p, "\"lengthUnit\":"),
               turn = header_number(p, "\"turnUnit\":");
  SAME(length, 0.6e-4);  // of the sizes 0.3 and 0.6 the upper
  SAME(turn, 1.0 / 16384.0);
  assert_int_equal(integer(p, "moving", 1, 0), 1);
  double sign = 1.0;
  int32_t value[7] = {0}, step[7] = {0};
  for (int f = 0; f < FRAMES; ++f) {
    double position[3 * NUMBERED_BODIES], turned[4 * NUMBERED_BODIES];
    numbered_pose(row_of_frame[f], position, turned);
    sign = f % 2 == 0 ? 1.0 : -1.0;  // the page's does not flip
    for (int k = 0; k < 7; ++k) {
      const int32_t s = integer(p, "pose", 7 * FRAMES, FRAMES * k + f);
      step[k] = f < 2 ? s : step[k] + s;
      value[k] += step[k];
      const double unit = k < 3 ? length : turn;
      ASSERT_NEAR(unit * value[k], k < 3 ? position[3 + k] : sign * turned[4 + k - 3],
                  0.51 * unit);  // round-off of floats
    }
  }
  for (int k = 0; k < 3; ++k) {
    SAME(floating(p, "rest", 7 * NUMBERED_BODIES, 14 + k), 7.0 + k);
    SAME(floating(p, "rest", 7 * NUMBERED_BODIES, 18 + k), k == 0 ? -0.5 : 0.5);
  }
}

static void expect_model(const page* p) {
  const double row[] = {SAP_SHAPE_BOX, 1,  -1, 1,  .1, .3, .2, 1, 2, 3, .5, .1, .7,
                        -.5,           .1, .2, .3, 1};
  for (int i = 0; i < 18; ++i) {
    SAME(floating(p, "shape", 18 * NUMBERED_SHAPES, 18 + i), row[i]);
  }
  for (int i = 0; i < 8; ++i) {
    assert_int_equal(integer(p, "mesh", 8, i), numbered_meshes[i / 4][i % 4]);
  }
  for (int i = 0; i < 21; ++i) {
    SAME(floating(p, "vertex", 21, i), (double)numbered_vertices[i / 3][i % 3]);
  }
  for (int i = 0; i < 9; ++i) {
    assert_int_equal(integer(p, "triangle", 9, i), numbered_triangles[i / 3][i % 3]);
  }
}

static void expect_series(const page* p) {
  static const double iterations[FRAMES] = {10, 15, 14, 16}, times[FRAMES] = {1, 3, 5, 90};
  for (int f = 0; f < FRAMES; ++f) {
    const int k = row_of_frame[f];
    const sap_contact slides = numbered_contact(k, 0), sticks = numbered_contact(k, 1);
    const double values[] = {numbered_energy(k, 0),
                             numbered_energy(k, 1),
                             numbered_energy(k, 2),
                             numbered_energy(k, 0) + numbered_energy(k, 1) + numbered_energy(k, 2),
                             iterations[f],
                             NUMBERED_CONTACTS,
                             -1e3 * sticks.phi,
                             1e3 * hypot(sticks.vc[0], sticks.vc[1]),
                             times[f]};
    assert_true(sticks.phi < slides.phi);
    SAME(floating(p, "time", FRAMES, f), numbered_dt * k);
    for (int s = 0; s < 9; ++s) {
      SAME(floating(p, "series", 9 * FRAMES, s * FRAMES + f), values[s]);
    }
  }
}

// Compares contact i of the page's n.
static void expect_contact(const page* p, int n, int i, int k, int c) {
  const sap_contact x = numbered_contact(k, c);
  const double unit = header_number(p, "\"lengthUnit\":");
  for (int j = 0; j < 3; ++j) {
    const double* R = x.R_WC + j;
    ASSERT_NEAR(unit * integer(p, "contact_point", 3 * n, j * n + i), x.point[j], 0.5001 * unit);
    CLOSE(half(p, "contact_force", 3 * n, j * n + i),
          (R[0] * x.gamma[0] + R[3] * x.gamma[1] + R[6] * x.gamma[2]) / numbered_dt);
    ASSERT_NEAR((double)(int8_t)word(p, "contact_normal", 3 * n, 1, 0, j * n + i) / 127.0, R[6],
                0.005);
  }
  CLOSE(half(p, "contact_depth", n, i), x.phi);
  CLOSE(half(p, "contact_speed", n, i), hypot(x.vc[0], x.vc[1]));
  assert_int_equal(word(p, "contact_mode", n, 1, 0, i), c == 0 ? 2 : 1);
  assert_int_equal(integer(p, "contact_body", 2 * n, i), c);
  assert_int_equal(integer(p, "contact_body", 2 * n, n + i), c + 1);
  CLOSE(half(p, "contact_patch", 2 * n, i), sqrt(x.area / acos(-1.0)));
  CLOSE(half(p, "contact_patch", 2 * n, n + i),
        c == 0 ? 1e-3 * x.gamma[2] / (numbered_dt * x.area) : 0.0);  // [kPa]
  const double law[] = {x.material.stiffness, x.material.relaxation_time, x.friction[0],
                        x.realised};
  for (int j = 0; j < 4; ++j) {
    SAME(floating(p, "contact_law", 4 * n, j * n + i), law[j]);
  }
}

static void test_page(void** state) {
  if (!sap_page_available()) {
    SKIP_LACKING("this build has no three.js");
  }
  scratch* s = *state;
  char path[SCRATCH_PATH_SIZE];
  sap_recording* r = record(s);
  sap_page_options options = sap_page_options_default();
  sap_page_summary summary;
  options.frame_rate = 50.0;
  assert_int_equal(sap_page_write(r, scratch_path(s, "a.html", path), &options, &summary, NULL),
                   SAP_STATUS_OK);
  assert_int_equal(summary.frames, FRAMES);
  assert_int_equal(summary.contacts, FRAMES * NUMBERED_CONTACTS);
  assert_int_equal(summary.contacts_all, FRAMES * NUMBERED_CONTACTS);
  page p = read_page(s, "a.html");
  assert_int_equal(summary.bytes, strlen(p.text));
  assert_non_null(strstr(p.text, "\"title\":\"numbers\""));
  assert_non_null(strstr(p.text, "\"bodies\":[\"world\",\"cart\",\"pole\"]"));
  expect_poses(&p);
  expect_model(&p);
  expect_series(&p);
  for (int i = 0; i < FRAMES * NUMBERED_CONTACTS; ++i) {
    assert_int_equal(integer(&p, "contact_count", FRAMES, i / NUMBERED_CONTACTS),
                     NUMBERED_CONTACTS);
    expect_contact(&p, FRAMES * NUMBERED_CONTACTS, i, row_of_frame[i / NUMBERED_CONTACTS],
                   i % NUMBERED_CONTACTS);
  }
  free_page(&p);
  // one contact of each frame: the stronger one, which sticks
  options.max_contacts = FRAMES + 1;
  assert_int_equal(sap_page_write(r, scratch_path(s, "b.html", path), &options, &summary, NULL),
                   SAP_STATUS_OK);
  assert_int_equal(summary.contacts, FRAMES);
  assert_int_equal(summary.contacts_all, FRAMES * NUMBERED_CONTACTS);
  p = read_page(s, "b.html");
  for (int i = 0; i < FRAMES; ++i) {
    assert_int_equal(integer(&p, "contact_count", FRAMES, i), 1);
    expect_contact(&p, FRAMES, i, row_of_frame[i], 1);
  }
  free_page(&p);
  sap_recording_close(r);
}

int main(void) {
#define TEST(f) cmocka_unit_test_setup_teardown(f, scratch_setup, scratch_teardown)
  const struct CMUnitTest tests[] = {TEST(test_columns), TEST(test_page)};
  return cmocka_run_group_tests(tests, NULL, NULL);
}
