// SPDX-License-Identifier: BSD-3-Clause
#define _XOPEN_SOURCE 700
#include "support/program.h"

#include <fcntl.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cmocka.h>

enum { MAX_ARGUMENTS = 64 };

static char* read_all(FILE* file) {
  assert_int_equal(fseek(file, 0, SEEK_END), 0);
  const long size = ftell(file);
  assert_true(size >= 0);
  rewind(file);
  char* text = malloc((size_t)size + 1);
  assert_non_null(text);
  assert_int_equal(fread(text, 1, (size_t)size, file), size);
  text[size] = '\0';
  (void)fclose(file);
  return text;
}

static void become(const char* path, char** arguments, FILE* out, FILE* err) {
  const int input = open("/dev/null", O_RDONLY);
  if (input >= 0 && dup2(input, STDIN_FILENO) >= 0 && dup2(fileno(out), STDOUT_FILENO) >= 0 &&
      dup2(fileno(err), STDERR_FILENO) >= 0) {
    (void)execv(path, arguments);
  }
  _exit(127);
}

void program_run(program_result* result, const char* path, ...) {
  program_clear(result);
  char* arguments[MAX_ARGUMENTS + 1];
  int count = 0;
  arguments[count++] = (char*)(uintptr_t)path;
  va_list list;
  va_start(list, path);
  while ((arguments[count] = va_arg(list, char*)) != NULL) {
    ++count;
    assert_true(count < MAX_ARGUMENTS);
  }
  va_end(list);

  FILE* out = tmpfile();
  FILE* err = tmpfile();
  assert_non_null(out);
  assert_non_null(err);
  (void)fflush(NULL);
  const pid_t child = fork();
  assert_true(child >= 0);
  if (child == 0) {
    become(path, arguments, out, err);
  }
  int status = 0;
  assert_int_equal(waitpid(child, &status, 0), child);
  result->exit_code = WIFEXITED(status) ? WEXITSTATUS(status) : 128 + WTERMSIG(status);
  result->out = read_all(out);
  result->err = read_all(err);
}

void program_clear(program_result* result) {
  free(result->out);
  free(result->err);
  memset(result, 0, sizeof *result);
}
