// SPDX-License-Identifier: BSD-3-Clause
// Files appear whole or not at all, whatever goes wrong; also where files need a name at once.
#define _GNU_SOURCE
#include <dlfcn.h>
#include <errno.h>
#include <fcntl.h>
#include <setjmp.h>
#include <signal.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cmocka.h>

#include "core/file.h"
#include "support/scratch.h"
#include "support/skip.h"

static bool refuse_nameless;

// In the place of the C library's.
int open(const char* path, int flags, ...) {
  typedef int function(const char*, int, ...);
  union {
    void* symbol;
    function* call;
  } next = {dlsym(RTLD_NEXT, "open")};
  va_list arguments;
  va_start(arguments, flags);
  const mode_t mode = (flags & (O_CREAT | O_TMPFILE)) != 0 ? va_arg(arguments, mode_t) : 0;
  va_end(arguments);
  if (refuse_nameless && (flags & O_TMPFILE) == O_TMPFILE) {
    errno = EOPNOTSUPP;
    return -1;
  }
  return next.call(path, flags, mode);
}

static void assert_content(const char* path, const char* expected) {
  char* content = scratch_read(path, NULL);
  assert_non_null(content);
  assert_string_equal(content, expected);
  free(content);
}

static void write_text(const char* path, const char* text) {
  sap_file* file;
  assert_int_equal(sap_file_create(path, &file, NULL), SAP_STATUS_OK);
  assert_true(fputs(text, sap_file_stream(file)) >= 0);
  assert_int_equal(sap_file_check(file, NULL), SAP_STATUS_OK);
  assert_int_equal(sap_file_commit(file, NULL), SAP_STATUS_OK);
  sap_file_close(file);
}

static void test_appears_at_commit(void** state) {
  scratch* s = *state;
  char path[SCRATCH_PATH_SIZE];
  sap_file* file;
  assert_int_equal(sap_file_create(scratch_path(s, "a", path), &file, NULL), SAP_STATUS_OK);
  assert_true(fputs("new", sap_file_stream(file)) >= 0);
  assert_int_equal(access(path, F_OK), -1);
  assert_int_equal(sap_file_commit(file, NULL), SAP_STATUS_OK);
  assert_content(path, "new");
  assert_int_equal(sap_file_commit(file, NULL), SAP_STATUS_ARGUMENT);
  sap_file_close(file);
  assert_content(path, "new");
  assert_int_equal(scratch_count(s), 1);
  // the mode is the one that a plain open gives
  char plain[SCRATCH_PATH_SIZE];
  scratch_write(s, "plain", "", 0, plain);
  struct stat info, expected;
  assert_int_equal(stat(path, &info), 0);
  assert_int_equal(stat(plain, &expected), 0);
  assert_int_equal(info.st_mode, expected.st_mode);
}

static void test_close_leaves_no_trace(void** state) {
  scratch* s = *state;
  char path[SCRATCH_PATH_SIZE];
  scratch_write(s, "a", "old", 3, path);
  assert_int_equal(chmod(path, 0640), 0);
  sap_file* file;
  assert_int_equal(sap_file_create(path, &file, NULL), SAP_STATUS_OK);
  assert_true(fputs("new", sap_file_stream(file)) >= 0);
  if (refuse_nameless) {
    assert_int_equal(scratch_count(s), 2);
  } else if (scratch_count(s) != 1) {
    print_message("files without a name are not possible here\n");
  }
  sap_file_close(file);
  assert_int_equal(scratch_count(s), 1);
  assert_content(path, "old");
  write_text(path, "new");
  struct stat info;
  assert_int_equal(stat(path, &info), 0);
  assert_int_equal(info.st_mode & 07777, 0640);  // replaced, with the old permissions
  sap_file_close(NULL);
}

static void test_symbolic_link(void** state) {
  scratch* s = *state;
  char target[SCRATCH_PATH_SIZE], link[SCRATCH_PATH_SIZE];
  scratch_write(s, "target", "old", 3, target);
  assert_int_equal(symlink("target", scratch_path(s, "link", link)), 0);
  write_text(link, "new");
  assert_content(target, "new");
  struct stat info;
  assert_int_equal(lstat(link, &info), 0);
  assert_true(S_ISLNK(info.st_mode));
  assert_int_equal(unlink(target), 0);
  sap_file* file;
  assert_int_equal(sap_file_create(link, &file, NULL), SAP_STATUS_IO);  // it leads nowhere
}

static void test_refused_at_once(void** state) {
  scratch* s = *state;
  char path[SCRATCH_PATH_SIZE], lock[SCRATCH_PATH_SIZE];
  sap_error error = {0};
  sap_file* file = (sap_file*)s;
  assert_int_equal(sap_file_create(s->folder, &file, &error), SAP_STATUS_IO);
  assert_null(file);
  assert_non_null(strstr(error.message, "Is a directory"));
  assert_int_equal(sap_file_writable(s->folder, &error), SAP_STATUS_IO);
  scratch_path(s, "new", path);
  assert_int_equal(sap_file_writable(path, &error), SAP_STATUS_OK);
  assert_int_equal(access(path, F_OK), -1);
  scratch_path(s, "no/such/folder", path);
  assert_int_equal(sap_file_writable(path, &error), SAP_STATUS_IO);
  assert_int_equal(sap_file_create(path, &file, &error), SAP_STATUS_IO);
  assert_non_null(strstr(error.message, path));
  assert_non_null(strstr(error.message, "No such file or directory"));
  assert_int_equal(sap_file_create("", &file, &error), SAP_STATUS_IO);
  char* longest = calloc(10001, 1);
  assert_non_null(longest);
  memset(longest, 'x', 10000);
  assert_int_equal(sap_file_create(longest, &file, &error), SAP_STATUS_IO);
  free(longest);
  if (geteuid() != 0) {  // root may write everything
    scratch_write(s, "protected", "old", 3, lock);
    assert_int_equal(chmod(lock, 0444), 0);
    assert_int_equal(sap_file_create(lock, &file, &error), SAP_STATUS_IO);
  }
}

// A file size limit simulates a full disk: the write fails half way.
static void test_disk_fills_up(void** state) {
  scratch* s = *state;
  char path[SCRATCH_PATH_SIZE];
  scratch_write(s, "a", "old", 3, path);
  struct rlimit before;
  assert_int_equal(getrlimit(RLIMIT_FSIZE, &before), 0);
  const struct rlimit small = {.rlim_cur = 10000, .rlim_max = before.rlim_max};
  void (*handler)(int) = signal(SIGXFSZ, SIG_IGN);
  sap_file* file;
  assert_int_equal(sap_file_create(path, &file, NULL), SAP_STATUS_OK);
  assert_int_equal(setrlimit(RLIMIT_FSIZE, &small), 0);
  for (int i = 0; i < 20000; ++i) {
    (void)fputc('x', sap_file_stream(file));
  }
  sap_error error = {0};
  const sap_status status = sap_file_commit(file, &error);
  assert_int_equal(setrlimit(RLIMIT_FSIZE, &before), 0);
  (void)signal(SIGXFSZ, handler);
  assert_int_equal(status, SAP_STATUS_IO);
  assert_non_null(strstr(error.message, path));
  assert_int_equal(sap_file_commit(file, &error), SAP_STATUS_IO);  // still
  sap_file_close(file);
  assert_content(path, "old");
  assert_int_equal(scratch_count(s), 1);
}

static void test_devices(void** state) {
  (void)state;
  write_text("/dev/null", "text");
  SKIP_WITHOUT("/dev/full");
  sap_file* file;
  sap_error error = {0};
  assert_int_equal(sap_file_create("/dev/full", &file, NULL), SAP_STATUS_OK);
  assert_true(fputs("text", sap_file_stream(file)) >= 0);
  assert_int_equal(sap_file_commit(file, &error), SAP_STATUS_IO);
  assert_non_null(strstr(error.message, "'/dev/full': No space left on device"));
  sap_file_close(file);
}

// A name that is taken, by a link that leads elsewhere for example, is not used.
static void test_taken_names(void** state) {
  scratch* s = *state;
  char path[SCRATCH_PATH_SIZE], name[SCRATCH_PATH_SIZE], victim[SCRATCH_PATH_SIZE], temporary[64];
  scratch_write(s, "victim", "precious", 8, victim);
  scratch_write(s, "a", "old", 3, path);
  for (int i = 0; i < 3; ++i) {
    (void)snprintf(temporary, sizeof temporary, "a.%ld-%d.tmp", (long)getpid(), i);
    assert_int_equal(symlink("victim", scratch_path(s, temporary, name)), 0);
  }
  write_text(path, "new");
  assert_content(path, "new");
  assert_content(victim, "precious");
  assert_int_equal(scratch_count(s), 2 + 3);
}

// The second name leads to the same bytes.
static void test_second_name(void** state) {
  scratch* s = *state;
  char path[SCRATCH_PATH_SIZE];
  sap_file* file;
  assert_int_equal(sap_file_create(scratch_path(s, "a", path), &file, NULL), SAP_STATUS_OK);
  FILE* second = fopen(sap_file_name(file), "w");
  assert_non_null(second);
  assert_true(fputs("through the second", second) >= 0);
  assert_int_equal(fclose(second), 0);
  assert_int_equal(sap_file_commit(file, NULL), SAP_STATUS_OK);
  sap_file_close(file);
  assert_content(path, "through the second");
}

// Asking whether a pipe can be read takes nothing out of it.
static void test_readable(void** state) {
  scratch* s = *state;
  char path[SCRATCH_PATH_SIZE], read_back[4] = "";
  sap_error error = {0};
  scratch_write(s, "a", "", 0, path);
  assert_int_equal(sap_file_readable(path, &error), SAP_STATUS_OK);
  assert_int_equal(sap_file_regular(path, &error), SAP_STATUS_OK);
  assert_int_equal(sap_file_readable(s->folder, &error), SAP_STATUS_IO);
  assert_non_null(strstr(error.message, "Is a directory"));
  assert_int_equal(sap_file_regular("none/such", &error), SAP_STATUS_IO);
  assert_non_null(strstr(error.message, "cannot read 'none/such': No such file or directory"));
  int ends[2];
  assert_int_equal(pipe(ends), 0);
  (void)snprintf(path, sizeof path, "/dev/fd/%d", ends[0]);
  assert_int_equal(write(ends[1], "abc", 3), 3);
  if (access(path, R_OK) == 0) {
    assert_int_equal(sap_file_readable(path, &error), SAP_STATUS_OK);
    assert_int_equal(sap_file_regular(path, &error), SAP_STATUS_IO);
    assert_non_null(strstr(error.message, "not a pipe or device"));
    assert_int_equal(read(ends[0], read_back, 3), 3);
    assert_string_equal(read_back, "abc");
  }
  (void)close(ends[0]);
  (void)close(ends[1]);
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test_setup_teardown(test_appears_at_commit, scratch_setup, scratch_teardown),
      cmocka_unit_test_setup_teardown(test_close_leaves_no_trace, scratch_setup, scratch_teardown),
      cmocka_unit_test_setup_teardown(test_symbolic_link, scratch_setup, scratch_teardown),
      cmocka_unit_test_setup_teardown(test_refused_at_once, scratch_setup, scratch_teardown),
      cmocka_unit_test_setup_teardown(test_disk_fills_up, scratch_setup, scratch_teardown),
      cmocka_unit_test_setup_teardown(test_taken_names, scratch_setup, scratch_teardown),
      cmocka_unit_test_setup_teardown(test_second_name, scratch_setup, scratch_teardown),
      cmocka_unit_test_setup_teardown(test_readable, scratch_setup, scratch_teardown),
      cmocka_unit_test(test_devices),
  };
  const int failures = cmocka_run_group_tests(tests, NULL, NULL);
  refuse_nameless = true;
  return failures + cmocka_run_group_tests(tests, NULL, NULL);
}
