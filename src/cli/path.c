// SPDX-License-Identifier: BSD-3-Clause
// Names of files: those made from others, and outputs that would destroy inputs.
#define _POSIX_C_SOURCE 200809L
#include "cli/path.h"

#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

#include "cli/command.h"

char* cli_sibling_path(const char* path, const char* extension) {
  const char* slash = strrchr(path, '/');
  const char* dot = strrchr(slash != NULL ? slash : path, '.');
  const size_t stem = dot != NULL ? (size_t)(dot - path) : strlen(path);
  char* name = malloc(stem + strlen(extension) + 1);
  if (name != NULL) {
    memcpy(name, path, stem);
    memcpy(name + stem, extension, strlen(extension) + 1);
  }
  return name;
}

bool cli_is_hdf5(const char* path) {
  const size_t length = strlen(path);
  return (length >= 5 && strcmp(path + length - 5, ".hdf5") == 0) ||
         (length >= 3 && strcmp(path + length - 3, ".h5") == 0);
}

bool cli_same_file(const char* a, const char* b) {
  struct stat first, second;
  if (stat(a, &first) != 0 || stat(b, &second) != 0) {
    return strcmp(a, b) == 0;  // neither is there yet
  }
  return S_ISREG(first.st_mode) && first.st_dev == second.st_dev && first.st_ino == second.st_ino;
}

sap_status cli_check_sibling(const char* output, const char* input, sap_error* error) {
  struct stat info;
  const bool over = stat(input, &info) == 0 && cli_same_file(output, input);
  return !over ? SAP_STATUS_OK
               : sap_fail(error, SAP_STATUS_ARGUMENT,
                          "'%.300s' would be written over itself: name the output with --output",
                          input);
}

// Options of all commands that name a file, by what becomes of it.
static const struct {
  const char* option;
  cli_path_use use;
} uses[] = {
    {"output", CLI_PATH_WRITTEN},  {"record", CLI_PATH_WRITTEN},  {"checkpoint", CLI_PATH_KEPT},
    {"svg", CLI_PATH_WRITTEN},     {"csv", CLI_PATH_WRITTEN},     {"rows", CLI_PATH_WRITTEN},
    {"profile", CLI_PATH_WRITTEN}, {"timings", CLI_PATH_WRITTEN}, {"convergence", CLI_PATH_WRITTEN},
    {"controls", CLI_PATH_READ},   {"resume", CLI_PATH_RESUMED},
};

cli_path_use cli_path_use_of(const char* option) {
  for (size_t i = 0; i < sizeof uses / sizeof *uses; ++i) {
    if (strcmp(uses[i].option, option) == 0) {
      return uses[i].use;
    }
  }
  return CLI_PATH_NONE;
}

static bool is_written(cli_path_use use) {
  return use == CLI_PATH_WRITTEN || use == CLI_PATH_KEPT;
}

bool cli_paths_collide(const cli_path* a, const cli_path* b) {
  const bool resumed = (a->use == CLI_PATH_KEPT && b->use == CLI_PATH_RESUMED) ||
                       (a->use == CLI_PATH_RESUMED && b->use == CLI_PATH_KEPT);
  return (is_written(a->use) || is_written(b->use)) && !resumed && cli_same_file(a->path, b->path);
}
