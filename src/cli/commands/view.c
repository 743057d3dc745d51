// SPDX-License-Identifier: BSD-3-Clause
// sapstep view: 3D pages of recordings, several beside each other, and pictures of them.
#include <stdio.h>
#include <string.h>

#include <sapstep/sapstep.h>

#include "cli/files.h"
#include "cli/options.h"
#include "core/file.h"

typedef struct view_request {
  const char* output;
  const char* size;           // of pictures and films
  double time, until, speed;  // of pictures and films; time and until -1: the recording's
  bool live;
  int32_t port;
  sap_page_options page;
} view_request;

#define AT(member) .offset = offsetof(view_request, member)
static const cli_option view_options[] = {
    {"output", "FILE",
     "the page, a picture (.png) or a film (.mp4, .gif, .webm) of it,\nalso -o (the recording's "
     "name with .html)",
     CLI_PATH, AT(output)},
    {"title", "TEXT", "its title (the model's name)", CLI_TEXT, AT(page.title)},
    {"time", "S", "time of a picture, start of a film [s] (the recording's start)", CLI_REAL,
     AT(time), 0, 1e9},
    {"until", "S", "end of a film [s] (the recording's end)", CLI_REAL, AT(until), 0, 1e9},
    {"speed", "X", "playing speed of a film, 0.1: ten times slower (1)", CLI_POSITIVE, AT(speed),
     .high = 1e6},
    {"size", "WxH", "of a picture or a film [pixels] (1280x800, of a film 960x600)", CLI_TEXT,
     AT(size)},
    {"live", NULL, "serve a page that follows a recording while it is written", CLI_FLAG, AT(live)},
    {"port", "N", "of --live, 0: any (0)", CLI_INTEGER, AT(port), 0, 65535},
    {"frame-rate", "N", "frames per simulated second at most, 0: all rows (60)", CLI_REAL,
     AT(page.frame_rate), 0, 1e300},
    {"contacts", "N", "total number of contacts at most, the strongest stay\n(1000000)",
     CLI_INTEGER, AT(page.max_contacts), 0, INT32_MAX},
    {0},
};

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
  const char* script = strstr(cli_text_frames, "<script");
  (void)fprintf(out, "%.*s", (int)(script - cli_text_frames), cli_text_frames);
  for (int i = 0; i < count; ++i) {
    sap_page_options options = r->page;
    options.title = options.title != NULL ? options.title : cli_base_name(inputs[i]);
    sap_page_summary summary;
    SAP_TRY(write_page(part, inputs[i], &options, &summary, error));
    SAP_TRY(embed(out, part, error));
  }
  (void)fputs(script, out);
  return SAP_STATUS_OK;
}

static sap_status write_several(const char* path, char* const* inputs, int count,
                                const view_request* r, sap_error* error) {
  sap_file* file = NULL;
  char* part = cli_sibling_path(path, ".part.html");
  SAP_TRY(sap_file_create(path, &file, error));
  const sap_status status = write_frames(sap_file_stream(file), part, inputs, count, r, error);
  (void)remove(part);
  return sap_file_finish(file, status, error);
}

// --- pictures, films and live pages: by a script for Python that the program carries ---

extern const char cli_view_script[];  // src/python/sapstep/view.py

static char* number(double value) {
  char text[32];
  (void)snprintf(text, sizeof text, "%.17g", value);
  return cli_copy(text);
}

// Draws the page as a picture or film, and removes the page.
static int start_film(char* page, char* path, const view_request* r) {
  char* arguments[] = {NULL,
                       "-c",
                       (char*)cli_view_script,
                       "film",
                       "--time",
                       number(r->time),
                       "--until",
                       number(r->until),
                       "--speed",
                       number(r->speed),
                       "--size",
                       (char*)(r->size != NULL ? r->size : ""),
                       "--remove",
                       "--",
                       page,
                       path,
                       NULL};
  const int code = cli_start_python(arguments,
                                    "a picture or a film needs Python 3; a page (.html) "
                                    "does not");
  (void)remove(page);
  return code;
}

// Serves a page that follows a recording while it is written.
static int start_live(char* recording, const view_request* r) {
  char* arguments[] = {NULL,
                       "-c",
                       (char*)cli_view_script,
                       "live",
                       "--port",
                       number(r->port),
                       "--frame-rate",
                       number(r->page.frame_rate),
                       "--contacts",
                       number(r->page.max_contacts),
                       "--",
                       recording,
                       NULL};
  return cli_start_python(arguments, "--live needs Python 3");
}

// --- the command ---

static sap_status write_output(const char* page, char* const* inputs, int count,
                               const view_request* r, sap_page_summary* summary, sap_error* error) {
  for (int i = 0; i < count; ++i) {
    SAP_TRY(cli_check_sibling(page, inputs[i], error));
  }
  return count > 1 ? write_several(page, inputs, count, r, error)
                   : write_page(page, inputs[0], &r->page, summary, error);
}

static int run_view(const cli_command* command, int argc, char** argv) {
  static const char* const drawings[] = {".png", ".gif", ".mp4", ".webm",
                                         ".avi", ".mov", ".mkv", NULL};
  view_request r = {.page = sap_page_options_default(), .time = -1, .until = -1, .speed = 1};
  cli_parser parser;
  sap_page_summary summary = {0};
  sap_error error = {0};
  SAP_RETURN_IF(!cli_parse(&parser, command, &r, argc, argv), parser.exit_code);
  const int count = parser.noperands;
  SAP_RETURN_IF(r.live && (count > 1 || r.output != NULL),
                cli_usage_error(command, "--live shows one recording, and writes no --output"));
  if (r.live) {
    return start_live(parser.operands[0], &r);
  }
  const char* path = r.output != NULL ? r.output : cli_sibling_path(parser.operands[0], ".html");
  const bool drawn = cli_path_ends(path, drawings);
  char* page = drawn ? cli_sibling_path(path, ".shot.html") : (char*)path;
  SAP_RETURN_IF(write_output(page, parser.operands, count, &r, &summary, &error) != SAP_STATUS_OK,
                cli_report(&error));
  if (drawn) {
    return start_film(page, (char*)path, &r);
  }
  if (count > 1) {
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
    .text = cli_text_view,
    .options = view_options,
    .run = run_view,
};
