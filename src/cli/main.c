// SPDX-License-Identifier: BSD-3-Clause
// The program: finds the command in a table and runs it.
#include <fcntl.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <unistd.h>

#include "cli/command.h"
#include "cli/options.h"

static const cli_command* const commands[] = {
    &cli_command_bench,  &cli_command_check, &cli_command_compare, &cli_command_converge,
    &cli_command_export, &cli_command_info,  &cli_command_mujoco,  &cli_command_plot,
    &cli_command_run,    &cli_command_solve, &cli_command_solvers, &cli_command_sweep,
    &cli_command_view,
};
enum { COMMAND_COUNT = sizeof commands / sizeof commands[0] };

#if defined(__GNUC__)
// Weak: another BLAS may replace OpenBLAS.
extern void openblas_set_num_threads(int count) __attribute__((weak));
// Weak: a shared library of ours may contain HDF5.
extern int H5dont_atexit(void) __attribute__((weak));
#endif

static bool is_limited(int resource) {
  struct rlimit limit;
  return getrlimit(resource, &limit) == 0 && limit.rlim_cur != RLIM_INFINITY;
}

// Sets one thread, so that a run is reproducible, unless OPENBLAS_NUM_THREADS is set. OpenBLAS
// starts its threads when it is loaded. One that cannot have its buffer tries without end, and the
// end of the process waits for it: with limited memory starts the program again, without those
// threads.
static void limit_threads(char** argv) {
#if defined(__GNUC__)
  if (getenv("OPENBLAS_NUM_THREADS") == NULL && openblas_set_num_threads != NULL) {
    openblas_set_num_threads(1);
    if ((is_limited(RLIMIT_AS) || is_limited(RLIMIT_DATA)) &&
        setenv("OPENBLAS_NUM_THREADS", "1", 1) == 0) {
      (void)execv("/proc/self/exe", argv);
    }
  }
#endif
}

static void print_usage(FILE* stream) {
  const char* rest = strstr(cli_text_usage, "  help ");
  (void)fprintf(stream, "%.*s", (int)(rest - cli_text_usage), cli_text_usage);
  for (int i = 0; i < COMMAND_COUNT; ++i) {
    (void)fprintf(stream, "  %-10s %s\n", commands[i]->name, commands[i]->summary);
  }
  (void)fputs(rest, stream);
}

static const cli_command* find(const char* name) {
  for (int i = 0; i < COMMAND_COUNT; ++i) {
    if (strcmp(commands[i]->name, name) == 0) {
      return commands[i];
    }
  }
  return NULL;
}

static int unknown_command(const char* name) {
  const char* names[COMMAND_COUNT + 1];
  for (int i = 0; i < COMMAND_COUNT; ++i) {
    names[i] = commands[i]->name;
  }
  names[COMMAND_COUNT] = "help";
  const char* suggestion = cli_suggest(name, names, COMMAND_COUNT + 1);
  if (suggestion != NULL) {
    cli_message("unknown command '%s', did you mean '%s'?", name, suggestion);
  } else {
    cli_message("unknown command '%s'", name);
  }
  (void)fputs("Try 'sapstep --help'.\n", stderr);
  return CLI_USAGE;
}

static bool asks_for_help(const char* word) {
  return strcmp(word, "--help") == 0 || strcmp(word, "-h") == 0 || strcmp(word, "help") == 0;
}

static int help(int argc, char** argv) {
  if (argc == 0 || asks_for_help(argv[0])) {
    print_usage(stdout);
    return CLI_OK;
  }
  const cli_command* command = find(argv[0]);
  SAP_RETURN_IF(command == NULL, unknown_command(argv[0]));
  cli_print_help(command);
  return CLI_OK;
}

static int dispatch(int argc, char** argv) {
  if (argc < 2) {
    print_usage(stderr);
    return CLI_USAGE;
  }
  const char* word = argv[1];
  if (strcmp(word, "--version") == 0) {
    (void)printf("sapstep %s\n", sap_version());
    return CLI_OK;
  }
  if (asks_for_help(word)) {
    return help(argc - 2, argv + 2);
  }
  const cli_command* command = find(word);
  if (command != NULL) {
    return command->run(command, argc - 1, argv + 1);
  }
  if (word[0] == '-') {
    cli_message("unknown option '%s'\nTry 'sapstep --help'.", word);
    return CLI_USAGE;
  }
  return unknown_command(word);
}

// Replaces standard streams that the shell has closed by ones that can be neither read nor written.
// Else the first file to be opened would take their number, and the output.
static void fill_streams(void) {
  for (int stream = STDIN_FILENO; stream <= STDERR_FILENO; ++stream) {
    if (fcntl(stream, F_GETFD) < 0) {
      (void)open("/dev/null", stream == STDIN_FILENO ? O_WRONLY : O_RDONLY);
    }
  }
}

// Lets HDF5 do nothing at the end of the process, where it crashes if it lacked memory before.
static void skip_exit_of_hdf5(void) {
#if defined(__GNUC__)
  if (H5dont_atexit != NULL) {
    (void)H5dont_atexit();
  }
#endif
}

static bool ended;  // main has come to its end

// HDF5 calls exit(-1) without a word if it cannot have memory.
static void on_exit_of_library(void) {
  if (!ended) {
    cli_message("a library ended the program, probably for lack of memory");
    _exit(CLI_INTERNAL);
  }
}

int main(int argc, char** argv) {
  fill_streams();
  // A file that grows too large is a write error to report, not a reason to die.
  (void)signal(SIGXFSZ, SIG_IGN);
  limit_threads(argv);
  (void)atexit(on_exit_of_library);
  skip_exit_of_hdf5();
  const int exit_code = dispatch(argc, argv);
  const int flushed = cli_flush();
  ended = true;
  return exit_code == CLI_OK || exit_code == CLI_UNCONVERGED
             ? (flushed != CLI_OK ? flushed : exit_code)
             : exit_code;
}
