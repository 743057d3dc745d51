// SPDX-License-Identifier: BSD-3-Clause
// sapstep view: 3D pages of recordings, several beside each other, and pictures of them.
#define _XOPEN_SOURCE 700
#include <fcntl.h>
#include <spawn.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

#include <sapstep/sapstep.h>

#include "cli/files.h"
#include "cli/options.h"
#include "core/file.h"

typedef struct view_request {
  const char* output;
  double time;  // of a picture
  sap_page_options page;
} view_request;

#define AT(member) .offset = offsetof(view_request, member)
static const cli_option view_options[] = {
    {"output", "FILE",
     "the page, or a picture of it (.png), also -o (the recording's\nname with .html)", CLI_PATH,
     AT(output)},
    {"title", "TEXT", "its title (the model's name)", CLI_TEXT, AT(page.title)},
    {"time", "S", "of a picture [s] (0)", CLI_REAL, AT(time), 0, 1e9},
    {"frame-rate", "N", "frames per simulated second at most, 0: all rows (60)", CLI_REAL,
     AT(page.frame_rate), 0, 1e300},
    {"contacts", "N", "total number of contacts at most, the strongest stay\n(1000000)",
     CLI_INTEGER, AT(page.max_contacts), 0, INT32_MAX},
    {0},
};
#undef AT

extern char** environ;

static bool ends_with(const char* text, const char* end) {
  const size_t n = strlen(text), m = strlen(end);
  return n >= m && strcmp(text + n - m, end) == 0;
}

// --- pages ---

static sap_status write_page(const char* path, const char* input, const sap_page_options* options,
                             sap_page_summary* summary, sap_error* error) {
  sap_recording* recording = NULL;
  SAP_TRY(sap_recording_open(input, &recording, error));
  const sap_status status = sap_page_write(recording, path, options, summary, error);
  sap_recording_close(recording);
  if (status == SAP_STATUS_OK && summary->contacts < summary->contacts_all) {
    cli_message("the page has the %lld strongest of %lld contacts, see --contacts",
                (long long)summary->contacts, (long long)summary->contacts_all);
  }
  return status;
}

// Copies a page into an attribute of another one.
static sap_status embed(FILE* out, const char* page, sap_error* error) {
  FILE* in = fopen(page, "rb");
  SAP_FAIL_IF(in == NULL, error, SAP_STATUS_IO, "cannot read '%.300s'", page);
  (void)fputs("<iframe srcdoc=\"", out);
  for (int c = fgetc(in); c != EOF; c = fgetc(in)) {
    if (c == '"' || c == '&') {
      (void)fputs(c == '"' ? "&quot;" : "&amp;", out);
    } else {
      (void)fputc(c, out);
    }
  }
  (void)fclose(in);
  (void)fputs("\"></iframe>\n", out);
  return SAP_STATUS_OK;
}

// A page with one frame per recording. A frame that changes its time or view tells it to the
// others; the first message of a frame is answered with the page's own address.
static sap_status write_frames(FILE* out, const char* part, char* const* inputs, int count,
                               const view_request* r, sap_error* error) {
  (void)fputs(
      "<!DOCTYPE html>\n<html lang=\"en\"><head><meta charset=\"utf-8\"><title>sapstep</title>\n"
      "<style>html,body{margin:0;height:100%}body{display:grid;gap:2px;background:#8a94a0;"
      "grid-template-columns:repeat(auto-fit,minmax(420px,1fr))}"
      "iframe{border:0;width:100%;height:100%}</style></head><body>\n",
      out);
  for (int i = 0; i < count; ++i) {
    sap_page_options options = r->page;
    options.title = options.title != NULL ? options.title : cli_base_name(inputs[i]);
    sap_page_summary summary;
    SAP_TRY(write_page(part, inputs[i], &options, &summary, error));
    SAP_TRY(embed(out, part, error));
  }
  (void)fputs(
      "<script nonce=\"sapstep\">\nconst known = new Set();\n"
      "addEventListener('message', (e) => {\n"
      "  const others = [...document.querySelectorAll('iframe')].map((f) => f.contentWindow)\n"
      "      .filter((f) => f !== e.source);\n"
      "  if (e.data && e.data.sapstep && known.has(e.source)) {\n"
      "    others.forEach((f) => f.postMessage(e.data, '*'));\n"
      "  } else if (e.data && e.data.sapstep) {\n"
      "    known.add(e.source);\n"
      "    e.source.postMessage({sapstep: {link: location.hash}}, '*');\n"
      "  }\n});\n</script></body></html>\n",
      out);
  return SAP_STATUS_OK;
}

static sap_status write_several(const char* path, char* const* inputs, int count,
                                const view_request* r, sap_error* error) {
  sap_file* file = NULL;
  char* part = cli_sibling_path(path, ".part.html");
  SAP_TRY(sap_file_create(path, &file, error));
  sap_status status = write_frames(sap_file_stream(file), part, inputs, count, r, error);
  (void)remove(part);
  if (status == SAP_STATUS_OK) {
    status = sap_file_commit(file, error);
  }
  sap_file_close(file);
  return status;
}

// --- pictures ---

static int run_quietly(char* const* arguments) {
  posix_spawn_file_actions_t actions;
  pid_t child;
  int state = -1;
  (void)posix_spawn_file_actions_init(&actions);
  (void)posix_spawn_file_actions_addopen(&actions, STDOUT_FILENO, "/dev/null", O_WRONLY, 0);
  (void)posix_spawn_file_actions_addopen(&actions, STDERR_FILENO, "/dev/null", O_WRONLY, 0);
  const bool started = posix_spawnp(&child, arguments[0], &actions, NULL, arguments, environ) == 0;
  (void)posix_spawn_file_actions_destroy(&actions);
  return started && waitpid(child, &state, 0) == child && WIFEXITED(state) ? WEXITSTATUS(state)
                                                                           : -1;
}

// Lets a browser without a window draw the page, and removes the page.
static sap_status photograph(char* page, const char* path, double time, sap_error* error) {
  static const char* const browsers[] = {"chromium", "chromium-browser", "google-chrome", "chrome"};
  char url[4200], shot[4200], *whole = realpath(page, NULL);
  (void)snprintf(url, sizeof url, "file://%s#t=%.9g&bare=1", whole != NULL ? whole : page, time);
  (void)snprintf(shot, sizeof shot, "--screenshot=%s", path);
  free(whole);
  int code = -1;
  for (size_t i = 0; i < sizeof browsers / sizeof *browsers && code != 0; ++i) {
    char* const arguments[] = {(char*)browsers[i],
                               "--headless=new",
                               "--use-angle=swiftshader",
                               "--enable-unsafe-swiftshader",
                               "--hide-scrollbars",
                               "--window-size=1280,800",
                               "--virtual-time-budget=10000",
                               shot,
                               url,
                               geteuid() == 0 ? "--no-sandbox" : NULL,
                               NULL};
    code = run_quietly(arguments);
  }
  (void)remove(page);
  SAP_FAIL_IF(code != 0 || access(path, R_OK) != 0, error, SAP_STATUS_UNSUPPORTED,
              "'%.300s': a picture needs chromium or google-chrome, and none could draw it; a page "
              "(.html) needs neither",
              path);
  return SAP_STATUS_OK;
}

// --- the command ---

static sap_status write_output(const char* path, char* const* inputs, int count,
                               const view_request* r, sap_page_summary* summary, sap_error* error) {
  const bool picture = ends_with(path, ".png");
  char* page = picture ? cli_sibling_path(path, ".shot.html") : (char*)path;
  for (int i = 0; i < count; ++i) {
    SAP_TRY(cli_check_sibling(path, inputs[i], error));
  }
  SAP_TRY(count > 1 ? write_several(page, inputs, count, r, error)
                    : write_page(page, inputs[0], &r->page, summary, error));
  return picture ? photograph(page, path, r->time, error) : SAP_STATUS_OK;
}

static int run_view(const cli_command* command, int argc, char** argv) {
  static const char* const films[] = {".mp4", ".gif", ".webm", ".avi", ".mov", ".mkv"};
  view_request r = {.page = sap_page_options_default()};
  cli_parser parser;
  sap_page_summary summary = {0};
  sap_error error = {0};
  if (!cli_parse(&parser, command, &r, argc, argv)) {
    return parser.exit_code;
  }
  if (parser.noperands < 1) {
    return cli_usage_error(command, "a recording is needed");
  }
  const char* path = r.output != NULL ? r.output : cli_sibling_path(parser.operands[0], ".html");
  for (size_t i = 0; i < sizeof films / sizeof *films; ++i) {
    if (ends_with(path, films[i])) {
      return cli_usage_error(command,
                             "'%s': films are not written; a page (.html) plays the recording, and "
                             "pictures (.png) of --time 0, 0.04, ... make a film by ffmpeg",
                             path);
    }
  }
  if (write_output(path, parser.operands, parser.noperands, &r, &summary, &error) !=
      SAP_STATUS_OK) {
    return cli_report(&error);
  }
  if (ends_with(path, ".png") || parser.noperands > 1) {
    (void)printf("%s\n", path);
  } else {
    (void)printf("%s: %lld frames, %.1f MB; open it in a browser\n", path,
                 (long long)summary.frames, 1e-6 * (double)summary.bytes);
  }
  return CLI_OK;
}

const cli_command cli_command_view = {
    .name = "view",
    .operands = "RECORDING...",
    .summary = "turn a recording into a 3D page that any browser plays",
    .description =
        "Writes one HTML file that replays a recording of 'sapstep run --record' without a\n"
        "network: shapes, contact points and forces coloured by mode, penetration, charts at\n"
        "the time cursor. '?' on the page lists its keys. Several recordings are shown beside\n"
        "each other at the same time. The address of a page may name a time and a body:\n"
        "clutter.html#t=0.5&body=s3&look=side. A picture is drawn by chromium.",
    .examples =
        "  sapstep run examples/scenes/clutter_40.xml --record clutter.h5\n"
        "  sapstep view clutter.h5 -o clutter.html\n"
        "  sapstep view sap.h5 pgs.h5 -o both.html\n"
        "  sapstep view clutter.h5 -o clutter.png --time 0.5\n",
    .options = view_options,
    .run = run_view,
};
