// SPDX-License-Identifier: BSD-3-Clause
// A chart as SVG, or as PNG by rsvg-convert.
#define _POSIX_C_SOURCE 200809L
#include "cli/commands/plot_picture.h"

#include <spawn.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>

#include "cli/quantity.h"

extern char** environ;

static bool ends_with(const char* text, const char* end) {
  const size_t n = strlen(text), m = strlen(end);
  return n >= m && strcmp(text + n - m, end) == 0;
}

// By rsvg-convert, which makes PNG of SVG.
static sap_status convert(const char* svg, const char* png, sap_error* error) {
  char* const arguments[] = {"rsvg-convert", "-o", (char*)png, (char*)svg, NULL};
  pid_t child;
  int state = -1;
  if (posix_spawnp(&child, arguments[0], NULL, NULL, arguments, environ) != 0) {
    return sap_fail(error, SAP_STATUS_UNSUPPORTED,
                    "PNG needs rsvg-convert (package librsvg2-bin); SVG does not");
  }
  if (waitpid(child, &state, 0) != child || !WIFEXITED(state) || WEXITSTATUS(state) != 0) {
    return sap_fail(error, SAP_STATUS_IO, "rsvg-convert could not write '%.300s'", png);
  }
  return SAP_STATUS_OK;
}

bool plot_picture_known(const char* path) {
  const char* slash = strrchr(path, '/');
  const char* ending = strrchr(slash != NULL ? slash : path, '.');
  return ending == NULL || ends_with(path, ".svg") || ends_with(path, ".png");
}

sap_status plot_write_picture(const char* path, const sap_chart_panel* panels, int count,
                              sap_error* error) {
  if (!ends_with(path, ".png")) {
    return sap_chart_write_stacked(path, panels, count, error);
  }
  const size_t size = strlen(path) + sizeof ".svg";
  char* svg = malloc(size);
  if (svg == NULL) {
    return cli_no_memory(error);
  }
  (void)snprintf(svg, size, "%s.svg", path);
  sap_status status = sap_chart_write_stacked(svg, panels, count, error);
  if (status == SAP_STATUS_OK) {
    status = convert(svg, path, error);
    (void)remove(svg);
  }
  free(svg);
  return status;
}
