// SPDX-License-Identifier: BSD-3-Clause
#define _XOPEN_SOURCE 700
#include "support/command.h"

#include <ctype.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>

#include <cmocka.h>

command_result command_run(scratch* s, const char* program, const char* before,
                           const char* arguments) {
  scratch log;
  scratch_begin(&log);
  char out[SCRATCH_PATH_SIZE], err[SCRATCH_PATH_SIZE];
  scratch_path(&log, "out", out);
  scratch_path(&log, "err", err);
  static const char format[] = "cd '%s' && { %s '%s' %s; } > '%s' 2> '%s'";
  const size_t size = sizeof format + strlen(s->folder) + strlen(before) + strlen(program) +
                      strlen(arguments) + strlen(out) + strlen(err);
  char* line = malloc(size);
  assert_non_null(line);
  (void)snprintf(line, size, format, s->folder, before, program, arguments, out, err);
  const int status = system(line);
  free(line);
  command_result result = {.exit_code = WIFEXITED(status) ? WEXITSTATUS(status) : -1,
                           .out = scratch_read(out, NULL),
                           .err = scratch_read(err, NULL)};
  assert_non_null(result.out);
  assert_non_null(result.err);
  scratch_end(&log);
  return result;
}

command_result command_exits(scratch* s, const char* program, const char* arguments,
                             int exit_code) {
  const command_result r = command_run(s, program, "", arguments);
  if (r.exit_code != exit_code) {
    fail_msg("'%s': exit %d, stderr '%s'", arguments, r.exit_code, r.err);
  }
  return r;
}

void command_clear(command_result* result) {
  free(result->out);
  free(result->err);
}

void command_expect(scratch* s, const char* program, const char* arguments, int exit_code,
                    const char* message) {
  command_expect_after(s, program, "", arguments, exit_code, message);
}

void command_expect_after(scratch* s, const char* program, const char* before,
                          const char* arguments, int exit_code, const char* message) {
  command_result r = command_run(s, program, before, arguments);
  const bool said = message == NULL ? r.err[0] == '\0' : strstr(r.err, message) != NULL;
  const bool silent = exit_code <= 1 || r.out[0] == '\0';
  if (r.exit_code != exit_code || !said || !silent) {
    fail_msg("'%s': exit %d, not %d; stderr '%s', expected '%s'; stdout '%s'", arguments,
             r.exit_code, exit_code, r.err, message != NULL ? message : "", r.out);
  }
  command_clear(&r);
}

void command_says(const char* text, const char* part) {
  if (strstr(text, part) == NULL) {
    fail_msg("'%s' is not in:\n%s", part, text);
  }
}

static const char* skip_blanks(const char* c) {
  return c + strspn(c, " \t\r\n");
}

// Each returns what follows the value; NULL: not valid.
static const char* json_value(const char* c, int depth);

static const char* json_string(const char* c) {
  if (*c++ != '"') {
    return NULL;
  }
  for (; *c != '"'; ++c) {
    if ((unsigned char)*c < 0x20) {
      return NULL;
    }
    if (*c == '\\') {
      ++c;
      if (*c == 'u') {
        if (strspn(c + 1, "0123456789abcdefABCDEF") < 4) {
          return NULL;
        }
        c += 4;
      } else if (*c == '\0' || strchr("\"\\/bfnrt", *c) == NULL) {
        return NULL;
      }
    }
  }
  return c + 1;
}

static const char* json_digits(const char* c) {
  return isdigit((unsigned char)*c) ? c + strspn(c, "0123456789") : NULL;
}

static const char* json_number(const char* c) {
  c += *c == '-' ? 1 : 0;
  c = *c == '0' ? c + 1 : json_digits(c);
  if (c != NULL && *c == '.') {
    c = json_digits(c + 1);
  }
  if (c != NULL && (*c == 'e' || *c == 'E')) {
    c += c[1] == '+' || c[1] == '-' ? 2 : 1;
    c = json_digits(c);
  }
  return c;
}

// Members of an array or of an object, after the opening bracket.
static const char* json_members(const char* c, char close, int depth) {
  c = skip_blanks(c);
  if (*c == close) {
    return c + 1;
  }
  for (;;) {
    if (close == '}') {
      c = json_string(skip_blanks(c));
      c = c != NULL ? skip_blanks(c) : NULL;
      if (c == NULL || *c++ != ':') {
        return NULL;
      }
    }
    c = json_value(c, depth + 1);
    if (c == NULL) {
      return NULL;
    }
    c = skip_blanks(c);
    if (*c == close) {
      return c + 1;
    }
    if (*c++ != ',') {
      return NULL;
    }
  }
}

static const char* json_value(const char* c, int depth) {
  static const char* const words[] = {"true", "false", "null"};
  c = skip_blanks(c);
  if (depth > 100) {
    return NULL;
  }
  if (*c == '{' || *c == '[') {
    return json_members(c + 1, *c == '{' ? '}' : ']', depth);
  }
  if (*c == '"') {
    return json_string(c);
  }
  for (size_t i = 0; i < sizeof words / sizeof words[0]; ++i) {
    if (strncmp(c, words[i], strlen(words[i])) == 0) {
      return c + strlen(words[i]);
    }
  }
  return json_number(c);
}

bool json_valid(const char* text) {
  const char* end = json_value(text, 0);
  return end != NULL && *skip_blanks(end) == '\0';
}

double json_member(const char* object, const char* name) {
  char key[64];
  (void)snprintf(key, sizeof key, "\"%s\": ", name);
  const char* found = strstr(object, key);
  if (found == NULL) {
    fail_msg("no member '%s' in %s", name, object);
    return 0.0;
  }
  return strtod(found + strlen(key), NULL);
}
