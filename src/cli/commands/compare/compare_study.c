// SPDX-License-Identifier: BSD-3-Clause
// A study: the command line of `sapstep compare`, an option per line without its dashes, words
// after it joined by commas, # begins a comment; `scene FILE` is an operand, relative to the study.
//   scene    ../scenes/cube.xml
//   self
//   solvers  pgs-ncp admm-ccp
//   vary     dt=0.01 0.005 0.002
// Options that follow the study on the command line go before it.
#include <ctype.h>
#include <stdlib.h>
#include <string.h>

#include "cli/commands/compare/compare.h"
#include "cli/options.h"
#include "cli/text_file.h"

enum { LINE_SIZE = 4096, WORD_SIZE = LINE_SIZE + 8, LINES_MAX = 256 };

typedef struct study {
  compare_arguments* out;
  const char* path;
  int owned, operands;
  char** scenes;  // (LINES_MAX)
  sap_error* error;
} study;

static bool fail(const study* s, sap_status status, int line, const char* text) {
  (void)sap_fail(s->error, status, "%.200s:%d: %s", s->path, line, text);
  return false;
}

static char* keep(study* s, const char* a, size_t length, const char* b) {
  char* text = malloc(length + strlen(b) + 1);
  if (text != NULL) {
    memcpy(text, a, length);
    strcpy(text + length, b);
    s->out->owned[s->owned++] = text;
  }
  return text;
}

// The words of a line after its first, joined by commas, in place.
static void join(char* text) {
  char* to = text;
  bool first = true;
  for (char* at = text + strspn(text, " \t\r\n"); *at != '\0'; at += strspn(at, " \t\r\n")) {
    const size_t length = strcspn(at, " \t\r\n");
    if (!first) {
      *to++ = ',';
    }
    first = false;
    memmove(to, at, length);
    to += length;
    at += length;
  }
  *to = '\0';
}

static bool read_line(study* s, int number, char* line) {
  line[strcspn(line, "#")] = '\0';
  char* word = line + strspn(line, " \t\r\n");
  if (*word == '\0') {
    return true;
  }
  const size_t length = strcspn(word, " \t\r\n");
  char* rest = word + length + (word[length] != '\0');
  word[length] = '\0';
  if (number > LINES_MAX || !isalpha((unsigned char)word[0])) {
    return fail(s, SAP_STATUS_SYNTAX, number,
                number > LINES_MAX ? "too many lines" : "a line begins with the name of an option");
  }
  char* text;
  if (strcmp(word, "scene") == 0) {
    join(rest);
    const char* slash = rest[0] == '/' ? NULL : strrchr(s->path, '/');
    text = keep(s, s->path, slash != NULL ? (size_t)(slash + 1 - s->path) : 0, rest);
    s->scenes[s->operands++] = text;
  } else {
    char option[WORD_SIZE] = "--";
    (void)strncat(option, word, WORD_SIZE - 4);
    join(rest);
    text = keep(s, option, strlen(option), "");
    s->out->argv[s->out->argc++] = text;
    if (text != NULL && rest[0] != '\0') {
      text = keep(s, rest, strlen(rest), "");
      s->out->argv[s->out->argc++] = text;
    }
  }
  return text != NULL || fail(s, SAP_STATUS_MEMORY, number, "out of memory");
}

static bool read_lines(study* s, char* text) {
  int number = 0;
  for (char* line = cli_next_line(&text); line != NULL; line = cli_next_line(&text)) {
    ++number;
    if (strlen(line) >= LINE_SIZE) {
      return fail(s, SAP_STATUS_SYNTAX, number, "the line is too long");
    }
    if (!read_line(s, number, line)) {
      return false;
    }
  }
  return true;
}

// argv has its options before its operands; operands[0] is the study.
static bool expand(const cli_parser* parser, compare_arguments* out, sap_error* error) {
  char* scenes[LINES_MAX];
  const char* path = parser->operands[0];
  study s = {.out = out, .path = path, .scenes = scenes, .error = error};
  out->owned = calloc(3 * LINES_MAX, sizeof *out->owned);
  out->argv = calloc((size_t)parser->argc + (size_t)3 * LINES_MAX, sizeof *out->argv);
  if (out->owned == NULL || out->argv == NULL) {
    (void)cli_no_memory(error);
    return false;
  }
  char* text = cli_read_text(path, error);
  if (text == NULL) {
    return false;
  }
  out->argv[out->argc++] = parser->argv[0];
  const bool good = read_lines(&s, text);
  free(text);
  for (int i = 1; i < parser->argc - parser->noperands; ++i) {
    out->argv[out->argc++] = parser->argv[i];
  }
  for (int i = 0; good && i < s.operands && parser->noperands == 1; ++i) {
    out->argv[out->argc++] = scenes[i];
  }
  for (int i = 1; i < parser->noperands; ++i) {  // scenes of the command line stand in for those
    out->argv[out->argc++] = parser->operands[i];
  }
  return good;
}

bool compare_study_expand(const cli_command* command, int argc, char** argv, compare_arguments* out,
                          int* exit_code) {
  cli_parser parser;
  sap_solver_options ignored = sap_solver_options_default();
  *out = (compare_arguments){.argc = argc, .argv = argv};
  cli_parser_begin(&parser, command, &ignored, argc, argv);
  const char* argument;
  int id;
  while ((id = cli_parse_next(&parser, &argument)) > 0) {
  }
  if (id == CLI_PARSE_LEAVE) {
    *exit_code = parser.exit_code;
    return false;
  }
  const char* ending = parser.noperands > 0 ? strrchr(parser.operands[0], '.') : NULL;
  if (ending == NULL || strcmp(ending, ".study") != 0) {
    return true;
  }
  sap_error error = {0};
  *out = (compare_arguments){0};
  if (!expand(&parser, out, &error)) {
    *exit_code = cli_report(&error);
    return false;
  }
  return true;
}

void compare_arguments_clear(compare_arguments* arguments) {
  for (int i = 0; arguments->owned != NULL && arguments->owned[i] != NULL; ++i) {
    free(arguments->owned[i]);
  }
  if (arguments->owned != NULL) {
    free(arguments->argv);
  }
  free(arguments->owned);
  *arguments = (compare_arguments){0};
}
