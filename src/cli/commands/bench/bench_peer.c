// SPDX-License-Identifier: BSD-3-Clause
// A peer is a child process with a pipe each way. A silent peer delays us at most by its patience.
#define _POSIX_C_SOURCE 200809L
#include <errno.h>
#include <fcntl.h>
#include <math.h>
#include <poll.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include "cli/command.h"
#include "cli/commands/bench/bench.h"
#include "core/platform.h"

static const double FAREWELL = 0.5;  // time to exit after its input ended, and after SIGTERM [s]

static const char ENDED[] = "it ended";

// Waits for more answers; false if none comes until the deadline.
static bool wait_for_more(const bench_peer* peer, double deadline) {
  struct pollfd answers = {.fd = peer->answers, .events = POLLIN};
  for (double left = deadline - sap_clock_seconds(); left > 0.0;
       left = deadline - sap_clock_seconds()) {
    const int ready = poll(&answers, 1, (int)fmin(1e3 * left + 1.0, 1e6));
    if (ready > 0 || (ready < 0 && errno != EINTR)) {
      return ready > 0;
    }
  }
  return false;
}

// Reads the next line into *line, valid until the next call; returns NULL or the reason of failure.
static const char* read_line(bench_peer* peer, const char** line) {
  const double deadline = sap_clock_seconds() + peer->patience;
  peer->size -= peer->used;
  memmove(peer->text, peer->text + peer->used, peer->size);
  peer->used = 0;
  char* end;
  while ((end = memchr(peer->text, '\n', peer->size)) == NULL) {
    if (peer->size == sizeof peer->text) {
      return "a line is too long";
    }
    if (!wait_for_more(peer, deadline)) {
      return "no answer within --patience";
    }
    const ssize_t got =
        read(peer->answers, peer->text + peer->size, sizeof peer->text - peer->size);
    if (got == 0 || (got < 0 && errno != EINTR)) {
      return ENDED;
    }
    peer->size += got > 0 ? (size_t)got : 0;
  }
  *end = '\0';
  peer->used = (size_t)(end - peer->text) + 1;
  *line = peer->text;
  return NULL;
}

// Returns the text after "key": in a flat JSON object; NULL if the key is missing.
static const char* find_value(const char* line, const char* key) {
  char quoted[BENCH_NAME_SIZE];
  (void)snprintf(quoted, sizeof quoted, "\"%s\":", key);
  const char* at = strstr(line, quoted);
  return at != NULL ? at + strlen(quoted) : NULL;
}

// Returns a number of the object; NaN if it is missing.
static double find_number(const char* line, const char* key) {
  const char* at = find_value(line, key);
  char* end = NULL;
  const double value = at != NULL ? strtod(at, &end) : 0.0;
  return at != NULL && end != at ? value : (double)NAN;
}

// Without the quotes; escapes stay as they are.
static bool find_text(const char* line, const char* key, char* out, size_t size) {
  const char* at = find_value(line, key);
  at = at != NULL ? at + strspn(at, " \t") : NULL;
  if (at == NULL || *at++ != '"') {
    return false;
  }
  const char* end = at;
  while (*end != '\0' && *end != '"') {
    end += *end == '\\' && end[1] != '\0' ? 2 : 1;
  }
  (void)snprintf(out, size, "%.*s", (int)(end - at), at);
  return *end == '"';
}

// Runs the command in the child, with the pipes as standard input and output.
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
  peer->requests = in[1];
  peer->answers = out[0];
  return peer->process > 0;
}

bool bench_peer_start(bench_peer* peer, const char* command, double patience) {
  *peer = (bench_peer){.process = -1, .requests = -1, .answers = -1, .patience = patience};
  (void)signal(SIGPIPE, SIG_IGN);  // a peer that dies is a failed answer
  const char* line;
  char said[256];
  if (!launch(peer, command)) {
    cli_message("peer '%s' cannot be started: %s", command, strerror(errno));
    bench_peer_stop(peer);
    return false;
  }
  const char* why = read_line(peer, &line);
  if (why == NULL && find_text(line, "peer", peer->name, sizeof peer->name)) {
    return true;
  }
  if (why == NULL) {
    why = find_text(line, "error", said, sizeof said) ? said : "its first line is not a greeting";
  }
  if (why == ENDED) {
    cli_message("peer '%s' ended before its greeting", command);
  } else {
    cli_message("peer '%s' is left out: %s", command, why);
  }
  bench_peer_stop(peer);
  return false;
}

static bool has_ended(pid_t process) {
  const struct timespec moment = {.tv_nsec = 5000000};
  const double deadline = sap_clock_seconds() + FAREWELL;
  pid_t ended;
  while ((ended = waitpid(process, NULL, WNOHANG)) == 0 && sap_clock_seconds() < deadline) {
    (void)nanosleep(&moment, NULL);
  }
  return ended != 0;
}

void bench_peer_stop(bench_peer* peer) {
  if (peer->requests >= 0) {
    (void)close(peer->requests);  // the end of its input ends it
  }
  if (peer->answers >= 0) {
    (void)close(peer->answers);
  }
  if (peer->process > 0 && !has_ended(peer->process)) {
    (void)kill(peer->process, SIGTERM);
    if (!has_ended(peer->process)) {
      (void)kill(peer->process, SIGKILL);
      (void)waitpid(peer->process, NULL, 0);
    }
  }
  peer->process = -1;
  peer->requests = peer->answers = -1;
}

bool bench_peer_run(bench_peer* peer, const bench_request* request, bench_result* out, char* why,
                    size_t size) {
  const char* line = NULL;
  const char* failure = ENDED;
  if (peer->process > 0 &&
      dprintf(peer->requests, "run %.17g %ld %ld %s %s\n", request->dt, (long)request->skip,
              (long)request->steps, request->cpu ? "cpu" : "wall", request->scene) > 0) {
    failure = read_line(peer, &line);
  }
  if (failure != NULL) {  // what it says later would be taken for the answer to something else
    bench_peer_stop(peer);
    (void)snprintf(why, size, "%s", failure);
    return false;
  }
  *out = (bench_result){.step = find_number(line, "step_s"),
                        .solver = find_number(line, "solver_s"),
                        .contacts = find_number(line, "contacts"),
                        .iterations = find_number(line, "iterations"),
                        .residual = find_number(line, "residual")};
  if (out->step > 0.0 && isfinite(out->step)) {
    return true;
  }
  if (!find_text(line, "error", why, size)) {
    (void)snprintf(why, size, "no time in its answer");
  }
  return false;
}
