// SPDX-License-Identifier: BSD-3-Clause
// An arm of seven links with four fingers of four hangs straight down: all loads cancel, and what
// is left of them is round-off. That is balance, not a failure.
#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>

#include <cmocka.h>

#include "support/scratch.h"
#include "support/simulation.h"

enum { TEXT_SIZE = 16384 };

static void add(char* text, const char* more) {
  assert_true(strlen(text) + strlen(more) < TEXT_SIZE);
  (void)strncat(text, more, TEXT_SIZE - 1 - strlen(text));
}

static void open_link(char* text, const char* position, int axis) {
  static const char* const axes[] = {"1 0 0", "0 1 0", "0 0 1"};
  char body[256];
  (void)snprintf(body, sizeof body,
                 "<body pos='%s'><joint axis='%s' damping='.01'/>"
                 "<geom type='capsule' fromto='0 0 0 0 0 -.1' size='.02'/>\n",
                 position, axes[axis]);
  add(text, body);
}

static void write_arm(char* text) {
  static const char* const roots[] = {".05 .05 -.1", "-.05 .05 -.1", ".05 -.05 -.1",
                                      "-.05 -.05 -.1"};
  text[0] = '\0';
  add(text, "<mujoco><worldbody>\n");
  for (int i = 0; i < 7; ++i) {
    open_link(text, i == 0 ? "-.15 0 1.15" : "0 0 -.1", i % 3);
  }
  for (int f = 0; f < 4; ++f) {
    for (int i = 0; i < 4; ++i) {
      open_link(text, i == 0 ? roots[f] : "0 0 -.1", i % 2);
    }
    add(text, "</body></body></body></body>");
  }
  add(text, "</body></body></body></body></body></body></body></worldbody></mujoco>");
}

static void test_hanging_arm(void** state) {
  (void)state;
  static char text[TEXT_SIZE];
  char path[SCRATCH_PATH_SIZE];
  scratch folder;
  scratch_begin(&folder);
  write_arm(text);
  scratch_write(&folder, "arm.xml", text, strlen(text), path);
  static const sap_scheme schemes[] = {SAP_SCHEME_SYMPLECTIC_EULER, SAP_SCHEME_IMPLICIT_EULER,
                                       SAP_SCHEME_MIDPOINT};
  for (size_t k = 0; k < sizeof schemes / sizeof *schemes; ++k) {
    simulation s;
    sap_error error = {0};
    if (!simulation_read(&s, path, schemes[k], 0.005, &error)) {
      fail_msg("%s", error.message);
    }
    for (int i = 0; i < 200; ++i) {
      simulation_step(&s, 1);
    }
    for (int32_t i = 0; i < s.state.nv; ++i) {
      assert_true(fabs(s.state.v[i]) < 1e-12);  // round-off of a second of balance
    }
    simulation_end(&s);
  }
  scratch_end(&folder);
}

int main(void) {
  const struct CMUnitTest tests[] = {cmocka_unit_test(test_hanging_arm)};
  return cmocka_run_group_tests(tests, NULL, NULL);
}
