// SPDX-License-Identifier: BSD-3-Clause
// sapstep view: pages from recordings, and what a real browser makes of them.
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include <sapstep/output.h>

#include "support/command.h"
#include "support/near.h"
#include "support/skip.h"

static const char* const program = SAPSTEP_PROGRAM;
#define BOX "'" SAPSTEP_SOURCE_DIR "/examples/scenes/falling_box.xml'"

// A build that lacks a library says which.
static void need_pages(scratch* s) {
  if (sap_page_available()) {
    return;
  }
  command_expect(s, program, "view a.h5", 3, "'a.h5'");
  SKIP_LACKING("this build has no three.js");
}

static void record(scratch* s) {
  command_expect(s, program, "run " BOX " --dt 0.005 --duration 1.5 --record a.h5 >/dev/null", 0,
                 NULL);
}

static void writes_one_file(void** state) {
  need_pages(*state);
  record(*state);
  command_expect(*state, program, "view a.h5 --title '</script><b>&\"' --frame-rate 20 >/dev/null",
                 0, NULL);
  char* page = scratch_text(*state, "a.html");
  assert_non_null(strstr(page, "\"frames\":31,"));  // 0, 0.05, ... 1.5 s
  assert_non_null(strstr(page, "\"title\":\"\\u003c/script>\\u003cb>&\\\"\""));
  // nothing is fetched from elsewhere
  assert_null(strstr(page, " src="));
  assert_null(strstr(page, "<link"));
  assert_null(strstr(page, "@BLOCK@"));
  free(page);
  command_expect(*state, program, "view a.h5 -o b.html --contacts 10 >/dev/null", 0,
                 "the page has the 0 strongest of");
}

static void refuses(void** state) {
  need_pages(*state);
  record(*state);
  char path[SCRATCH_PATH_SIZE];
  (void)scratch_write(*state, "text.h5", "no\n", 3, path);
  command_expect(*state, program, "view", 2, "the arguments must be RECORDING..., 0 found");
  command_expect(*state, program, "view --live a.h5 b.h5", 2, "--live shows one recording");
  command_expect(*state, program, "view a.h5 -o a.mp4 --speed 0", 2, "--speed '0' must be");
  command_expect(*state, program, "view none.h5", 3, "'none.h5'");
  command_expect(*state, program, "view text.h5", 3, "'text.h5' is not an HDF5 file");
  command_expect(*state, program, "view a.h5 -o no/such/a.html", 3, "no/such/a.html");
  command_expect(*state, program, "view a.h5 -o /dev/full", 3, "/dev/full");
  command_expect_after(*state, program, "ulimit -f 100;", "view a.h5 -o c.html", 3, "c.html");
  assert_null(scratch_read(scratch_path(*state, "c.html", path), NULL));
  command_expect(*state, program, "view a.h5 --frame-rate -1", 2, "--frame-rate '-1' must be");
  command_expect(*state, program, "view a.h5 --contacts many", 2, "--contacts 'many' must be");
}

// Collects errors from the beginning; plays for a while and tells what became of it.
static const char probe[] =
    "<script nonce='sapstep'>'use strict';\n"
    "const faults = [];\n"
    "let blocked = 0, ran = 0;\n"
    "addEventListener('securitypolicyviolation', () => ++blocked);\n"
    "document.createElement('div').innerHTML = '<img src=\"none.png\" onerror=\"ran = 1\">';\n"
    "document.head.append(Object.assign(document.createElement('script'), {text: 'ran = 1'}));\n"
    "fetch('none.json').then(() => ran = 1, () => 0);\n"
    "addEventListener('error', (e) => faults.push(e.message));\n"
    "addEventListener('unhandledrejection', (e) => faults.push(String(e.reason)));\n"
    "console.error = (...x) => faults.push(x.join(' '));\n"
    "function colors() {\n"
    "  const app = sapstep.app, gl = app.stage.renderer.getContext(), seen = new Set();\n"
    "  app.draw();\n"
    "  const w = gl.drawingBufferWidth, h = gl.drawingBufferHeight;\n"
    "  const pixels = new Uint8Array(4 * w * h);\n"
    "  gl.readPixels(0, 0, w, h, gl.RGBA, gl.UNSIGNED_BYTE, pixels);\n"
    "  for (let i = 0; i < pixels.length; i += 4) {\n"
    "    seen.add(pixels[i] << 16 | pixels[i + 1] << 8 | pixels[i + 2]);\n"
    "  }\n"
    "  return seen.size;\n"
    "}\n"
    "setTimeout(function look() {\n"
    "  const state = document.documentElement.dataset.state;\n"
    "  if (!state && faults.length === 0) { setTimeout(look, 50); return; }\n"
    "  const app = sapstep.app, out = {state, faults, blocked, ran, began: -1};\n"
    "  if (app) {\n"
    "    out.began = app.frame();\n"
    "    app.seek(1.4); out.colors = colors(); out.contacts = app.contacts.discs.count;\n"
    "    out.height = (app.data.poses.at(1, app.frame(), 0, app.bodies.position,\n"
    "                                    app.bodies.quaternion), app.bodies.position.z);\n"
    "    const c = app.data.contacts, first = c.first[app.frame()], end = c.first[app.frame() + "
    "1];\n"
    "    out.force = 0; out.normal = out.sticking = 1;\n"
    "    for (let i = first; i < end; ++i) {\n"
    "      out.force += c.force[2 * c.count + i];\n"
    "      out.normal = Math.min(out.normal, c.normal[2 * c.count + i] / 127);\n"
    "      out.sticking = out.sticking && c.mode[i] === 1 ? 1 : 0;\n"
    "    }\n"
    "    const card = document.getElementById('card');\n"
    "    app.search('BO'); out.found = app.selected; app.draw();\n"
    "    out.one = card.textContent.includes(' 0.1 m · 4 contacts · force 0, 0, ') ? 1 : 0;\n"
    "    out.side = app.contacts.side(first);\n"  // the force on the box, which carries it
    "    app.selectContact(first); app.draw();\n"
    "    out.tracked = app.track.filter((i) => i >= 0).length > 5 &&\n"
    "        app.track[app.frame()] === first ? 1 : 0;\n"
    "    out.card = card.textContent.includes('sticking · penetration ') ? 1 : 0;\n"
    "    out.stiffness = app.contacts.split(first)[0] / -c.depth[first];\n"
    "    app.readLink('#t=1.2&body=box&points=0');\n"
    "    out.linked = app.t === 1.2 && !app.contacts.points &&\n"
    "        app.link().endsWith('#t=1.2&body=box') ? 1 : 0;\n"
    "    app.select(-1);\n"
    "    app.key({key: 'Home', target: document.body, preventDefault() {}});\n"
    "    out.home = app.frame();\n"
    "    out.charts = document.querySelectorAll('.chart').length;\n"
    "    out.law = c.law[first] === 1e5 && c.law[c.count + first] === Math.fround(0.01) &&\n"
    "        c.law[2 * c.count + first] === 0.5 ? 1 : 0;\n"
    "    out.low = Math.max(...[first, end - 1].map((i) => Math.abs(c.point[2 * c.count + i])));\n"
    "    out.far = Math.max(...[first, end - 1].map((i) => Math.abs(c.point[i])));\n"
    "    out.speed = c.speed.reduce((x, y) => Math.max(x, y));\n"
    "    const e = app.data.header.series.slice(0, 4).map((s) => s.values[10]);\n"
    "    out.total = e[0] > 0 && Math.abs(e[0] + e[1] + e[2] - e[3]) < 1e-5 ? 1 : 0;\n"
    "  }\n"
    "  let patience = 100;\n"  // a loaded machine draws its next frame late
    "  setTimeout(function wait() {\n"
    "    if (app && app.frame() === 0 && --patience > 0) { setTimeout(wait, 100); return; }\n"
    "    out.frame = app ? app.frame() : -1;\n"
    "    document.documentElement.dataset.report = JSON.stringify(out).replaceAll('\"', \"'\");\n"
    "  }, 100);\n"
    "}, 50);\n"
    "</script>\n";

static void write_probed(scratch* s, const char* from, const char* to) {
  char path[SCRATCH_PATH_SIZE];
  char* page = scratch_text(s, from);
  char* head = strstr(page, "</head>");
  assert_non_null(head);
  FILE* out = fopen(scratch_path(s, to, path), "wb");
  assert_non_null(out);
  (void)fwrite(page, 1, (size_t)(head - page), out);
  (void)fputs(probe, out);
  (void)fputs(head, out);
  assert_int_equal(fclose(out), 0);
  free(page);
}

static double number(const char* report, const char* name) {
  const char* at = strstr(report, name);
  if (at == NULL) {
    fail_msg("no %s in %s", name, report);
  }
  return strtod(at + strlen(name), NULL);
}

static int count_of(const char* text, const char* part) {
  int count = 0;
  for (const char* at = strstr(text, part); at != NULL; at = strstr(at + 1, part)) {
    ++count;
  }
  return count;
}

static void expect_absent(scratch* s, const char* name) {
  char path[SCRATCH_PATH_SIZE];
  assert_null(scratch_read(scratch_path(s, name, path), NULL));
}

// Pages of several recordings; what one of them plays the others show at the same time.
static void shows_several(void** state) {
  need_pages(*state);
  record(*state);
  command_expect(*state, program, "run " BOX " --dt 0.01 --duration 1 --record b.h5 >/dev/null", 0,
                 NULL);
  command_expect(*state, program, "view a.h5 b.h5 -o both.html >/dev/null", 0, NULL);
  char* page = scratch_text(*state, "both.html");
  assert_int_equal(count_of(page, "<iframe srcdoc="), 2);
  assert_int_equal(count_of(page, "\"title\":\"a.h5"), 0);  // quotes are escaped
  assert_int_equal(count_of(page, "&quot;title&quot;:&quot;a.h5&quot;"), 1);
  assert_int_equal(count_of(page, "&quot;title&quot;:&quot;b.h5&quot;"), 1);
  free(page);
  expect_absent(*state, "both.part.html");
}

static void draws_a_picture(void** state) {
  need_pages(*state);
  record(*state);
  command_expect_after(*state, program, "PATH=/nowhere;", "view a.h5 -o a.png", 4,
                       "needs Python 3; a page (.html) does not");
  command_expect_after(*state, program, "PATH=/nowhere;", "view --live a.h5 --port 0", 4,
                       "--live needs Python 3");
  command_expect(*state, program, "view --live a.h5 --port 65536", 2, "--port '65536' must be");
  expect_absent(*state, "a.shot.html");
  static const char alone[] =
      "SAPSTEP_PYTHON=$(python3 -c 'import sys; print(sys.executable)') && export SAPSTEP_PYTHON "
      "&& "
      "PATH=/nowhere;";
  command_expect_after(*state, program, alone, "view a.h5 -o a.png", 3, "needs chromium");
  command_expect_after(*state, program, alone, "view a.h5 -o a.mp4", 3, "needs ffmpeg");
  command_expect_after(*state, program, alone, "view a.h5 -o a.png --size 3", 3,
                       "--size '3' must be WIDTHxHEIGHT");
  if (system("command -v chromium >/dev/null") != 0) {
    SKIP_LACKING("no chromium to draw the page");
  }
  command_expect(*state, program, "view a.h5 -o a.png --time 1 --size 320x200 >/dev/null", 0, NULL);
  char* picture = scratch_text(*state, "a.png");
  assert_memory_equal(picture, "\x89PNG\r\n\x1a\n\0\0\0\rIHDR\0\0\1\x40\0\0\0\xc8", 24);
  free(picture);
  expect_absent(*state, "a.shot.html");
}

static void plays_in_a_browser(void** state) {
  need_pages(*state);
  if (system("command -v chromium >/dev/null") != 0) {
    SKIP_LACKING("no chromium to try the page in");
  }
  record(*state);
  command_expect(*state, program, "view a.h5 >/dev/null", 0, NULL);
  write_probed(*state, "a.html", "probed.html");
  command_result r = command_run(
      *state, "chromium", "",
      "--headless --no-sandbox --disable-gpu-sandbox --use-gl=angle --use-angle=swiftshader "
      "--enable-unsafe-swiftshader --user-data-dir=profile --window-size=900,600 "
      "--virtual-time-budget=60000 --dump-dom \"file://$PWD/probed.html\"");
  const char* found = strstr(r.out, "data-report=\"");
  if (r.exit_code != 0 || found == NULL) {
    fail_msg("chromium: exit %d, no report; stderr '%.2000s'", r.exit_code, r.err);
  }
  char report[1024] = "";
  (void)sscanf(found, "data-report=\"%1023[^\"]", report);
  if (strstr(report, "'state':'ready','faults':[]") == NULL) {
    fail_msg("the page has errors: %s", report);
  }
  assert_true(number(report, "'blocked':") >= 3.0);  // the image, the script, the file
  assert_true(number(report, "'ran':") == 0.0);
  assert_true(number(report, "'colors':") > 200.0);   // shades of box, ground and shadow
  assert_true(number(report, "'contacts':") >= 1.0);  // the box lies at 1.4 s
  assert_true(number(report, "'height':") > 0.09 && number(report, "'height':") < 0.15);
  assert_true(number(report, "'found':") == 1.0 && number(report, "'one':") == 1.0);
  assert_true(number(report, "'side':") == 1.0 && number(report, "'tracked':") == 1.0);
  assert_true(number(report, "'card':") == 1.0 && number(report, "'linked':") == 1.0);
  assert_true(number(report, "'stiffness':") > 1e4);
  ASSERT_NEAR(number(report, "'force':") / 9.81, 1.0, 0.02);  // 1 kg, still settling
  assert_true(number(report, "'normal':") == 1.0 && number(report, "'sticking':") == 1.0);
  assert_true(number(report, "'home':") == 0.0);
  assert_true(number(report, "'frame':") > 0.0);  // it plays on from there
  // on the ground, at the corners of a box that has tumbled less than a metre
  assert_true(number(report, "'low':") < 1e-3 && number(report, "'far':") > 0.01);
  assert_true(number(report, "'law':") == 1.0 && number(report, "'speed':") > 1e-2);
  assert_true(number(report, "'charts':") >= 4.0 && number(report, "'total':") == 1.0);
  command_clear(&r);
  r = command_run(*state, "rm", "", "-rf profile");
  assert_int_equal(r.exit_code, 0);
  command_clear(&r);
}

int main(void) {
#define TEST(f) cmocka_unit_test_setup_teardown(f, scratch_setup, scratch_teardown)
  const struct CMUnitTest tests[] = {
      TEST(writes_one_file),    TEST(refuses), TEST(shows_several), TEST(draws_a_picture),
      TEST(plays_in_a_browser),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
