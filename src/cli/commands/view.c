// SPDX-License-Identifier: BSD-3-Clause
// sapstep view: a recording as a 3D page.
#include <stdio.h>
#include <stdlib.h>

#include <sapstep/sapstep.h>

#include "cli/files.h"
#include "cli/options.h"

typedef struct request {
  const char *recording, *output;
  sap_page_options page;
} request;

#define AT(member) .offset = offsetof(request, member)
static const cli_option options[] = {
    {"output", "FILE", "the page, also -o (the recording's name with .html)", CLI_PATH, AT(output)},
    {"title", "TEXT", "its title (the model's name)", CLI_TEXT, AT(page.title)},
    {"frame-rate", "N", "frames per simulated second at most, 0: all rows (60)", CLI_REAL,
     AT(page.frame_rate), 0, 1e300},
    {"contacts", "N", "total number of contacts at most, the strongest stay\n(1000000)",
     CLI_INTEGER, AT(page.max_contacts), 0, INT32_MAX},
    {0},
};
#undef AT

static int run(const cli_command* command, int argc, char** argv) {
  request r = {.page = sap_page_options_default()};
  cli_parser parser;
  if (!cli_parse(&parser, command, &r, argc, argv)) {
    return parser.exit_code;
  }
  if (parser.noperands != 1) {
    return cli_usage_error(command, "one recording is needed, found %d", parser.noperands);
  }
  r.recording = parser.operands[0];
  sap_recording* recording = NULL;
  sap_page_summary summary;
  sap_error error = {0};
  char* named = r.output == NULL ? cli_sibling_path(r.recording, ".html") : NULL;
  const char* path = r.output != NULL ? r.output : named;
  int exit_code = CLI_OK;
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
    .summary = "turn a recording into a 3D page that any browser plays",
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
