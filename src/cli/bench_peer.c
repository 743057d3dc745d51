// SPDX-License-Identifier: BSD-3-Clause
// A peer is a child process with a pipe each way.
#define _POSIX_C_SOURCE 200809L
#include <errno.h>
#include <fcntl.h>
#include <math.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

#include "cli/bench.h"
#include "cli/command.h"

enum { LINE_SIZE = 4096 };

// The number behind "key": in a flat JSON object; NaN when it is not there.
static double find_number(const char* line, const char* key) {
  char quoted[BENCH_NAME_SIZE];
  (void)snprintf(quoted, sizeof quoted, "\"%s\":", key);
  const char* at = strstr(line, quoted);
  char* end = NULL;
  const double value = at != NULL ? strtod(at + strlen(quoted), &end) : 0.0;
  return at != NULL && end != at + strlen(quoted) ? value : (double)NAN;
}

// The text behind "key": without the quotes; escapes stay as they are.
static bool find_text(const char* line, const char* key, char* out, size_t size) {
  char quoted[BENCH_NAME_SIZE];
  (void)snprintf(quoted, sizeof quoted, "\"%s\":", key);
  const char* at = strstr(line, quoted);
  const char* first = at != NULL ? strchr(at + strlen(quoted), '"') : NULL;
  const char* last = first != NULL ? strrchr(first + 1, '"') : NULL;
  if (last == NULL) {
    return false;
  }
  (void)snprintf(out, size, "%.*s", (int)(last - first - 1), first + 1);
  return true;
}

// The child's side: standard input and output become the pipes'.
static void become(const char* command, const int in[2], const int out[2]) {
  if (dup2(in[0], STDIN_FILENO) >= 0 && dup2(out[1], STDOUT_FILENO) >= 0) {
    (void)close(in[0]);
    (void)close(in[1]);
    (void)close(out[0]);
    (void)close(out[1]);
    (void)execl("/bin/sh", "sh", "-c", command, (char*)NULL);
  }
  _exit(127);
}

static bool launch(bench_peer* peer, const char* command) {
  int in[2], out[2];
  if (pipe(in) != 0) {
    return false;
  }
  if (pipe(out) != 0) {
    (void)close(in[0]);
    (void)close(in[1]);
    return false;
  }
  peer->process = fork();
  if (peer->process == 0) {
    become(command, in, out);
  }
  (void)close(in[0]);
  (void)close(out[1]);
  // Not for the peers that start later: this one would miss the end of its input.
  (void)fcntl(in[1], F_SETFD, FD_CLOEXEC);
  (void)fcntl(out[0], F_SETFD, FD_CLOEXEC);
  peer->requests = fdopen(in[1], "w");
  peer->answers = fdopen(out[0], "r");
  return peer->process > 0 && peer->requests != NULL && peer->answers != NULL;
}

bool bench_peer_start(bench_peer* peer, const char* command) {
  *peer = (bench_peer){.process = -1};
  (void)signal(SIGPIPE, SIG_IGN);  // a peer that dies is a failed answer
  char line[LINE_SIZE], why[LINE_SIZE];
  if (!launch(peer, command)) {
    cli_message("peer '%s' cannot be started: %s", command, strerror(errno));
  } else if (fgets(line, sizeof line, peer->answers) == NULL) {
    cli_message("peer '%s' ended before it said who it is", command);
  } else if (find_text(line, "peer", peer->name, sizeof peer->name)) {
    return true;
  } else {
    const bool said = find_text(line, "error", why, sizeof why);
    cli_message("peer '%s' is left out: %s", command, said ? why : "its first line is no greeting");
  }
  bench_peer_stop(peer);
  return false;
}

void bench_peer_stop(bench_peer* peer) {
  if (peer->requests != NULL) {
    (void)fclose(peer->requests);  // the end of its input ends it
  }
  if (peer->answers != NULL) {
    (void)fclose(peer->answers);
  }
  if (peer->process > 0) {
    (void)waitpid(peer->process, NULL, 0);
  }
  *peer = (bench_peer){.process = -1};
}

bool bench_peer_run(bench_peer* peer, const bench_request* request, bench_result* out, char* why,
                    size_t size) {
  char line[LINE_SIZE];
  if (fprintf(peer->requests, "run %.17g %ld %ld %s %s\n", request->dt, (long)request->skip,
              (long)request->steps, request->cpu ? "cpu" : "wall", request->scene) < 0 ||
      fflush(peer->requests) != 0 || fgets(line, sizeof line, peer->answers) == NULL) {
    (void)snprintf(why, size, "it ended");
    return false;
  }
  *out = (bench_result){.step = find_number(line, "step_s"),
                        .solver = find_number(line, "solver_s"),
                        .contacts = find_number(line, "contacts"),
                        .iterations = find_number(line, "iterations"),
                        .residual = find_number(line, "residual")};
  if (out->step > 0.0) {
    return true;
  }
  if (!find_text(line, "error", why, size)) {
    (void)snprintf(why, size, "no time in its answer");
  }
  return false;
}
