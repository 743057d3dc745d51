// SPDX-License-Identifier: BSD-3-Clause
// Names of files: those made from others, and outputs that would destroy inputs.
#define _POSIX_C_SOURCE 200809L
#include "cli/path.h"

#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

#include "cli/command.h"
#include "core/file.h"

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

// Of files that are not there yet: the same name in the same folder.
static bool same_place(const char* a, const char* b) {
  const char *slash_a = strrchr(a, '/'), *slash_b = strrchr(b, '/');
  char folders[2][PATH_MAX];
  struct stat first, second;
  if (strcmp(slash_a != NULL ? slash_a + 1 : a, slash_b != NULL ? slash_b + 1 : b) != 0) {
    return false;
  }
  (void)snprintf(folders[0], PATH_MAX, "%.*s.", slash_a != NULL ? (int)(slash_a + 1 - a) : 0, a);
  (void)snprintf(folders[1], PATH_MAX, "%.*s.", slash_b != NULL ? (int)(slash_b + 1 - b) : 0, b);
  return stat(folders[0], &first) == 0 && stat(folders[1], &second) == 0 &&
         first.st_dev == second.st_dev && first.st_ino == second.st_ino;
}

bool cli_same_file(const char* a, const char* b) {
  struct stat first, second;
  const bool there = stat(a, &first) == 0, other_there = stat(b, &second) == 0;
  if (!there || !other_there) {
    return !there && !other_there && (strcmp(a, b) == 0 || same_place(a, b));
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

sap_status cli_check_reread(const char* path, sap_error* error) {
  return sap_file_readable(path, NULL) == SAP_STATUS_OK ? sap_file_regular(path, error)
                                                        : SAP_STATUS_OK;
}

// Files that options name are written, but for these.
static const struct {
  const char* option;
  cli_path_use use;
} uses[] = {
    {"controls", CLI_PATH_READ}, {"resume", CLI_PATH_RESUMED}, {"checkpoint", CLI_PATH_KEPT}};

cli_path_use cli_path_use_of(const char* option, const char* argument) {
  if (argument == NULL || strncmp(argument, "FILE", 4) != 0) {
    return CLI_PATH_NONE;
  }
  for (size_t i = 0; i < sizeof uses / sizeof *uses; ++i) {
    if (strcmp(uses[i].option, option) == 0) {
      return uses[i].use;
    }
  }
  return strcmp(argument, "FILE.svg") == 0 ? CLI_PATH_CHART : CLI_PATH_WRITTEN;
}

static bool is_written(cli_path_use use) {
  return use == CLI_PATH_WRITTEN || use == CLI_PATH_CHART || use == CLI_PATH_KEPT;
}

sap_status cli_check_writable(const cli_path* path, sap_error* error) {
  if (!is_written(path->use)) {
    return SAP_STATUS_OK;
  }
  sap_status status = sap_file_writable(path->path, error);
  if (status == SAP_STATUS_OK && path->use == CLI_PATH_CHART) {
    char* table = cli_sibling_path(path->path, ".csv");
    status = table != NULL ? sap_file_writable(table, error) : cli_no_memory(error);
    free(table);
  }
  return status;
}

// Is the other the table beside a chart?
static bool table_collides(const cli_path* chart, const cli_path* other) {
  char* table = chart->use == CLI_PATH_CHART ? cli_sibling_path(chart->path, ".csv") : NULL;
  const bool same = table != NULL && cli_same_file(table, other->path);
  free(table);
  return same;
}

// Charts of different names, such as a.svg and a.png, that have the same table.
static bool tables_collide(const cli_path* a, const cli_path* b) {
  char* table = b->use == CLI_PATH_CHART ? cli_sibling_path(b->path, ".csv") : NULL;
  const bool same =
      table != NULL && table_collides(a, &(cli_path){.path = table, .use = CLI_PATH_WRITTEN});
  free(table);
  return same;
}

bool cli_path_overwrites_itself(const cli_path* path) {
  return table_collides(path, path);
}

bool cli_paths_collide(const cli_path* a, const cli_path* b) {
  const bool resumed = (a->use == CLI_PATH_KEPT && b->use == CLI_PATH_RESUMED) ||
                       (a->use == CLI_PATH_RESUMED && b->use == CLI_PATH_KEPT);
  return (is_written(a->use) || is_written(b->use)) && !resumed &&
         (cli_same_file(a->path, b->path) || table_collides(a, b) || table_collides(b, a) ||
          tables_collide(a, b));
}

sap_status cli_check_paths(const cli_path* paths, int count, sap_error* error) {
  for (int i = 0; i < count; ++i) {
    for (int j = 0; j < i; ++j) {
      if (paths[i].path != NULL && paths[j].path != NULL &&
          cli_paths_collide(&paths[i], &paths[j])) {
        return sap_fail(error, SAP_STATUS_ARGUMENT, "%s and %s would be the same file, '%.300s'",
                        paths[j].option, paths[i].option, paths[i].path);
      }
    }
  }
  return SAP_STATUS_OK;
}
