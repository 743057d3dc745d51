// SPDX-License-Identifier: BSD-3-Clause
// sapstep view: a recording as a 3D page.
#include <stdio.h>
#include <stdlib.h>

#include <sapstep/sapstep.h>

#include "cli/options.h"
#include "cli/path.h"

enum { ID_OUTPUT = 1, ID_TITLE, ID_FRAME_RATE, ID_CONTACTS };

static const cli_option options[] = {
    {"output", "FILE", ID_OUTPUT, "the page, also -o (the recording's name with .html)"},
    {"title", "TEXT", ID_TITLE, "its title (the model's name)"},
    {"frame-rate", "N", ID_FRAME_RATE, "frames per simulated second at most, 0: all rows (60)"},
    {"contacts", "N", ID_CONTACTS,
     "contacts of all frames together at most, the strongest stay\n(1000000)"},
    {0},
};

typedef struct request {
  const char *recording, *output;
  sap_page_options page;
} request;

static const char* take(request* r, int id, const char* argument) {
  switch (id) {
    case ID_OUTPUT:
      return cli_take_path(&r->output, argument);
    case ID_TITLE:
      r->page.title = argument;
      return NULL;
    case ID_FRAME_RATE:
      return cli_read_real(argument, &r->page.frame_rate) && r->page.frame_rate >= 0.0
                 ? NULL
                 : "a number >= 0";
    default:
      return cli_read_integer(argument, &r->page.max_contacts) && r->page.max_contacts >= 0
                 ? NULL
                 : "an integer >= 0";
  }
}

static bool read_request(const cli_command* command, int argc, char** argv, request* r,
                         int* exit_code) {
  cli_parser parser;
  cli_parser_begin(&parser, command, NULL, argc, argv);
  const char* argument;
  int id;
  while ((id = cli_parse_next(&parser, &argument)) > 0) {
    const char* allowed = take(r, id, argument);
    if (allowed != NULL) {
      *exit_code = cli_refuse_value(command, options[id - 1].name, argument, allowed);
      return false;
    }
  }
  *exit_code = parser.exit_code;
  if (id != CLI_PARSE_LEAVE && parser.noperands != 1) {
    *exit_code = cli_usage_error(command, "one recording is needed, found %d", parser.noperands);
    return false;
  }
  r->recording = id != CLI_PARSE_LEAVE ? parser.operands[0] : NULL;
  return id != CLI_PARSE_LEAVE;
}

static int run(const cli_command* command, int argc, char** argv) {
  request r = {.page = sap_page_options_default()};
  int exit_code;
  if (!read_request(command, argc, argv, &r, &exit_code)) {
    return exit_code;
  }
  sap_recording* recording = NULL;
  sap_page_summary summary;
  sap_error error = {0};
  char* named = r.output == NULL ? cli_sibling_path(r.recording, ".html") : NULL;
  const char* path = r.output != NULL ? r.output : named;
  exit_code = CLI_OK;
  if (path == NULL) {
    exit_code = cli_out_of_memory();
  } else if (cli_check_sibling(path, r.recording, &error) != SAP_STATUS_OK ||
             sap_recording_open(r.recording, &recording, &error) != SAP_STATUS_OK ||
             sap_page_write(recording, path, &r.page, &summary, &error) != SAP_STATUS_OK) {
    exit_code = cli_report(&error);
  } else {
    (void)printf("%s: %lld frames, %.1f MB; open it in a browser\n", path,
                 (long long)summary.frames, 1e-6 * (double)summary.bytes);
    if (summary.contacts < summary.contacts_all) {
      cli_message("the page has the %lld strongest of %lld contacts, see --contacts",
                  (long long)summary.contacts, (long long)summary.contacts_all);
    }
  }
  sap_recording_close(recording);
  free(named);
  return exit_code;
}

const cli_command cli_command_view = {
    .name = "view",
    .operands = "RECORDING",
    .summary = "make a recording a 3D page that any browser plays",
    .description =
        "Writes one HTML file that replays a recording of 'sapstep run --record' without a\n"
        "network: shapes, contact points and forces coloured by mode, penetration, charts at\n"
        "the time cursor. '?' on the page lists its keys.",
    .examples =
        "  sapstep run examples/scenes/clutter_40.xml --record clutter.h5\n"
        "  sapstep view clutter.h5 -o clutter.html\n",
    .options = options,
    .run = run,
};
