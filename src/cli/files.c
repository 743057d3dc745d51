// SPDX-License-Identifier: BSD-3-Clause
// Names of files: those derived from others, and outputs that would destroy inputs; text files.
#include <limits.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>

#include "cli/files.h"

#include "cli/command.h"
#include "core/archive.h"
#include "core/file.h"

char* cli_sibling_path(const char* path, const char* extension) {
  const char* slash = strrchr(path, '/');
  const char* dot = strrchr(slash != NULL ? slash : path, '.');
  const size_t stem = dot != NULL ? (size_t)(dot - path) : strlen(path);
  char* name = cli_new(stem + strlen(extension) + 1, 1);
  memcpy(name, path, stem);
  return strcat(name, extension);
}

const char* cli_base_name(const char* path) {
  const char* slash = strrchr(path, '/');
  return slash != NULL ? slash + 1 : path;
}

bool cli_path_ends(const char* path, const char* const* endings) {
  const size_t n = strlen(path);
  for (; *endings != NULL; ++endings) {
    const size_t m = strlen(*endings);
    if (n >= m && strcmp(path + n - m, *endings) == 0) {
      return true;
    }
  }
  return false;
}

// True if two files that do not exist yet have the same name in the same folder.
static bool same_place(const char* a, const char* b) {
  const char *name_a = cli_base_name(a), *name_b = cli_base_name(b);
  char folders[2][PATH_MAX];
  struct stat first, second;
  (void)snprintf(folders[0], PATH_MAX, "%.*s.", (int)(name_a - a), a);
  (void)snprintf(folders[1], PATH_MAX, "%.*s.", (int)(name_b - b), b);
  return strcmp(name_a, name_b) == 0 && stat(folders[0], &first) == 0 &&
         stat(folders[1], &second) == 0 && first.st_dev == second.st_dev &&
         first.st_ino == second.st_ino;
}

// True if both names lead to one regular file, or are the same name of none.
static bool cli_same_file(const char* a, const char* b) {
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
                          "'%.300s' would be overwritten: name the output with --output", input);
}

sap_status cli_check_reread(const char* path, sap_error* error) {
  return sap_file_readable(path, NULL) == SAP_STATUS_OK ? sap_file_regular(path, error)
                                                        : SAP_STATUS_OK;
}

// Files named by options are outputs, except these.
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
  return CLI_PATH_WRITTEN;
}

static bool is_written(cli_path_use use) {
  return use == CLI_PATH_WRITTEN || use == CLI_PATH_KEPT;
}

sap_status cli_check_writable(const cli_path* path, sap_error* error) {
  return is_written(path->use) ? sap_file_writable(path->path, error) : SAP_STATUS_OK;
}

bool cli_paths_collide(const cli_path* a, const cli_path* b) {
  const bool resumed = (a->use == CLI_PATH_KEPT && b->use == CLI_PATH_RESUMED) ||
                       (a->use == CLI_PATH_RESUMED && b->use == CLI_PATH_KEPT);
  return (is_written(a->use) || is_written(b->use)) && !resumed && cli_same_file(a->path, b->path);
}

sap_status cli_check_paths(const cli_path* paths, int count, sap_error* error) {
  for (int i = 0; i < count; ++i) {
    for (int j = 0; j < i; ++j) {
      SAP_FAIL_IF(
          paths[i].path != NULL && paths[j].path != NULL && cli_paths_collide(&paths[i], &paths[j]),
          error, SAP_STATUS_ARGUMENT, "%s and %s would be the same file, '%.300s'", paths[j].option,
          paths[i].option, paths[i].path);
    }
  }
  return SAP_STATUS_OK;
}

enum { MOST_SIZE = 1 << 28 };  // of a text

void cli_announce_pipe(const char* path) {
  struct stat info;
  if (lstat(path, &info) == 0 && S_ISFIFO(info.st_mode)) {
    cli_message("reading the pipe '%.300s'", path);
  }
}

char* cli_read_text(const char* path, sap_error* error) {
  static const char mark[] = "\xef\xbb\xbf";
  sap_pool pool = {.owner = "text"};
  char *bytes, *text = NULL;
  size_t size;
  cli_announce_pipe(path);
  if (sap_file_read(path, MOST_SIZE, &pool, &bytes, &size, error) == SAP_STATUS_OK) {
    if (strlen(bytes) == size) {
      text = cli_copy(strncmp(bytes, mark, strlen(mark)) == 0 ? bytes + strlen(mark) : bytes);
    } else {
      (void)sap_fail(error, SAP_STATUS_SYNTAX, "%.300s: not a text file: it contains null bytes",
                     path);
    }
  }
  sap_pool_free(&pool);
  return text;
}

char* cli_next_line(char** rest) {
  return *rest != NULL && **rest != '\0' ? strsep(rest, "\n") : NULL;
}

int cli_split_words(char* line, char** words, int most) {
  int count = 0;
  line[strcspn(line, "#")] = '\0';
  for (char* word; (word = strsep(&line, " \t\r")) != NULL;) {
    if (word[0] != '\0') {
      SAP_RETURN_IF(count == most, -1);
      words[count++] = word;
    }
  }
  return count;
}

void cli_hash_file(void* hash, const char* path, const void* bytes, size_t size) {
  uint64_t* out = hash;
  (void)path;  // the same files elsewhere are the same scene
  *out = sap_hash(sap_hash(*out, &size, sizeof size), bytes, size);
}
