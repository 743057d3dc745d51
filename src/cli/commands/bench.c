// SPDX-License-Identifier: BSD-3-Clause
// sapstep bench: time per step of scenes, beside other engines in the same minutes. Repetitions of
// all take turns, so that other load hits all alike, and ratios are taken within a turn.
#include <errno.h>
#include <math.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/time.h>
#include <sys/types.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include <sapstep/sapstep.h>

#include "cli/lines.h"
#include "cli/options.h"
#include "cli/progress.h"
#include "cli/scene.h"
#include "cli/table.h"
#include "core/platform.h"

enum {
  BENCH_PEERS_MAX = 8,
  BENCH_SIDES_MAX = BENCH_PEERS_MAX + 1,
  BENCH_REPETITIONS_MAX = 1000,
  BENCH_NAME_SIZE = 64,
  BENCH_LINE_SIZE = 4096  // of a peer's answer
};

// One repetition: from the scene's start `skip` steps untimed, then `steps` timed.
typedef struct bench_request {
  const char* scene;
  double dt;  // [s]
  int32_t skip, steps;
  bool cpu;  // time of the processor instead of the wall clock
} bench_request;

// Measurements of a repetition; NaN: unknown. Means are over the timed steps.
typedef struct bench_result {
  double step;        // time per step [s]
  double solver;      // of it in the contact solver [s]
  double contacts;    // mean
  double iterations;  // mean
  double residual;    // the largest momentum error, relative
} bench_result;

// A program that steps the same scenes with another engine. It is started once, stays alive, and
// answers a line of request by a line of JSON:
//   ->  run DT SKIP STEPS cpu|wall SCENE
//   <-  {"step_s": 1e-4, "contacts": 10, "iterations": 2.1}   or   {"error": "why not"}
// Its first line, unasked, says who it is: {"peer": "mujoco 3.3.0"}.
typedef struct bench_peer {
  char name[BENCH_NAME_SIZE];
  FILE* stream;   // its standard input and output, a socket; NULL: it has ended
  pid_t process;  // <= 0: it has ended
  char line[BENCH_LINE_SIZE];
} bench_peer;

// All repetitions of one engine on one scene; the first engine is ourselves.
typedef struct bench_side {
  bool left_out;
  int32_t count;
  double step[BENCH_REPETITIONS_MAX];
  double ratio[BENCH_REPETITIONS_MAX];  // to ours in the same turn
  bench_result last;
} bench_side;

typedef struct bench {
  sap_stepper_options stepper;
  cli_scene scene;
  bench_request request;
  int32_t repetitions;
  int clock;  // 0: wall, 1: cpu
  const char* svg;
  cli_format format;
  bench_peer peers[BENCH_PEERS_MAX];
  int npeers;
  double patience;  // with peers [s]
  const char* commands[BENCH_PEERS_MAX];
  int ncommands;
  cli_table* table;
  bench_side sides[BENCH_SIDES_MAX];
  // for the chart: contacts, then the median of each side; NaN: left out      (nscenes)
  double (*points)[1 + BENCH_SIDES_MAX];
  int nscenes;
} bench;

// --- a peer: a child process behind a socket ---

static const double FAREWELL = 0.5;  // time to exit after its input ended [s]

static const char ENDED[] = "it ended";

// Reads the next line; returns NULL or the reason of failure.
static const char* read_line(bench_peer* peer) {
  errno = 0;
  if (fgets(peer->line, sizeof peer->line, peer->stream) == NULL) {
    return errno == EAGAIN ? "no answer within --patience" : ENDED;
  }
  return strchr(peer->line, '\n') != NULL ? NULL : "a line is too long";
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

// Starts the command with the socket as its standard input and output.
static bool launch(bench_peer* peer, const char* command, double patience) {
  const struct timeval most = {.tv_sec = (time_t)fmin(patience, 1e9),
                               .tv_usec = (suseconds_t)(1e6 * fmod(patience, 1.0))};
  int ends[2];
  // Not for the peers that start later: this one would miss the end of its input.
  if (socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, ends) != 0) {
    return false;
  }
  peer->process = fork();
  if (peer->process == 0) {
    if (dup2(ends[1], STDIN_FILENO) >= 0 && dup2(ends[1], STDOUT_FILENO) >= 0) {
      (void)execl("/bin/sh", "sh", "-c", command, (char*)NULL);
    }
    _exit(127);
  }
  (void)close(ends[1]);
  (void)setsockopt(ends[0], SOL_SOCKET, SO_RCVTIMEO, &most, sizeof most);
  peer->stream = fdopen(ends[0], "r+");
  return peer->process > 0 && peer->stream != NULL;
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

static void bench_peer_stop(bench_peer* peer) {
  if (peer->stream != NULL) {
    (void)fclose(peer->stream);  // the end of its input ends it
  }
  if (peer->process > 0 && !has_ended(peer->process)) {
    (void)kill(peer->process, SIGKILL);
    (void)waitpid(peer->process, NULL, 0);
  }
  peer->process = -1;
  peer->stream = NULL;
}

// False, and a message on standard error, when the program cannot be used.
// patience: how long each answer may take [s].
static bool bench_peer_start(bench_peer* peer, const char* command, double patience) {
  *peer = (bench_peer){.process = -1};
  (void)signal(SIGPIPE, SIG_IGN);  // a peer that dies is a failed answer
  char said[256];
  if (!launch(peer, command, patience)) {
    cli_message("peer '%s' cannot be started: %s", command, strerror(errno));
    bench_peer_stop(peer);
    return false;
  }
  const char* why = read_line(peer);
  if (why == NULL && find_text(peer->line, "peer", peer->name, sizeof peer->name)) {
    return true;
  }
  if (why == NULL) {
    why = find_text(peer->line, "error", said, sizeof said) ? said
                                                            : "its first line is not a greeting";
  }
  if (why == ENDED) {
    cli_message("peer '%s' ended before its greeting", command);
  } else {
    cli_message("peer '%s' is left out: %s", command, why);
  }
  bench_peer_stop(peer);
  return false;
}

// False with the reason in `why`: the scene is left out for this peer, and where it has ended or is
// silent, which ends it, so are those that follow.
static bool bench_peer_run(bench_peer* peer, const bench_request* request, bench_result* out,
                           char* why, size_t size) {
  const char *line = peer->line, *failure = ENDED;
  if (peer->process > 0 &&
      dprintf(fileno(peer->stream), "run %.17g %d %d %s %s\n", request->dt, request->skip,
              request->steps, request->cpu ? "cpu" : "wall", request->scene) > 0) {
    failure = read_line(peer);
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

static const char* take_peer(void* options, const char* argument) {
  bench* b = options;
  if (b->ncommands == BENCH_PEERS_MAX) {
    return "given at most 8 times";
  }
  b->commands[b->ncommands++] = argument;
  return NULL;
}

static const char* const clocks[] = {"wall", "cpu", NULL};
#define AT(member) .offset = offsetof(bench, member)
static const cli_option option_list[] = {
    {"steps", "N", "timed steps of a repetition (200)", CLI_INTEGER, AT(request.steps), 1, 1e9},
    {"skip", "N", "steps before them, not timed (0)", CLI_INTEGER, AT(request.skip), 0, 1e9},
    {"repetitions", "N", "repetitions of each engine, interleaved, 1 to 1000 (7)", CLI_INTEGER,
     AT(repetitions), 1, BENCH_REPETITIONS_MAX},
    CLI_PRESET_ROW(bench),
    CLI_DT_ROW(bench, stepper.dt, "time step (the scene's)"),
    {"peer", "COMMAND",
     "a program that steps the same scenes with another engine, see\ntests/bench/peers; up to 8",
     CLI_CALL, .take = take_peer},
    {"patience", "S", "skip a peer that takes longer to answer (60) [s]", CLI_POSITIVE,
     AT(patience), 0, 1e300},
    {"clock", "NAME", "wall, or cpu: processor time (wall)", CLI_WORD, AT(clock), .words = clocks},
    CLI_SCENE_URDF_ROWS(bench),
    {"svg", "FILE", "write a chart of the medians over the number of contacts", CLI_TEXT, AT(svg)},
    CLI_FORMAT_ROW(bench, cli_formats, "table, json or csv (table)"),
    {0},
};
// Output of `sapstep bench`: rows and charts.

static void bench_report_side(bench* b, int index) {
  bench_side* s = &b->sides[index];
  const double median = 1e6 * cli_quantile(s->step, s->count, 0.5), nan = (double)NAN;
  const bench_result last = s->count > 0 ? s->last : (bench_result){nan, nan, nan, nan, nan};
  CLI_CELLS(
      b->table, CLI_T(cli_base_name(b->request.scene)),
      CLI_T(index == 0 ? "sapstep" : b->peers[index - 1].name), CLI_I(s->count), CLI_R(median),
      CLI_R(1e6 * cli_quantile(s->step, s->count, 0.0)),
      CLI_R(cli_quantile(s->ratio, s->count, 0.5)), CLI_R(cli_quantile(s->ratio, s->count, 0.25)),
      CLI_R(cli_quantile(s->ratio, s->count, 0.75)),
      CLI_R(median * (last.solver / last.step)),  // the last repetition's share
      CLI_R(last.contacts), CLI_R(last.iterations), CLI_R(last.residual), CLI_R(b->request.dt));
}

// Draws the lines from few contacts to many.
static sap_status bench_draw(bench* b, sap_error* error) {
  sap_chart_panel panel = {.title = "Time per step",
                           .x_label = "contacts of sapstep, mean",
                           .y_label = "time per step [us], median",
                           .log_x = true,
                           .log_y = true,
                           .markers = true};
  cli_lines lines = {0};
  double* xy = cli_new(2 * (size_t)b->nscenes, sizeof *xy);
  qsort(b->points, (size_t)b->nscenes, sizeof *b->points, cli_ascending);
  for (int i = 0; i <= b->npeers; ++i) {
    for (int k = 0; k < b->nscenes; ++k) {
      xy[k] = b->points[k][0];
      xy[b->nscenes + k] = b->points[k][1 + i];
    }
    cli_line_add(&lines, 0, i == 0 ? "sapstep" : b->peers[i - 1].name, b->nscenes, xy,
                 xy + b->nscenes);
  }
  return cli_lines_write(&lines, &panel, 1, b->svg, NULL, error);
}

static double now(bool cpu) {
  struct timespec t;
  (void)clock_gettime(cpu ? CLOCK_PROCESS_CPUTIME_ID : CLOCK_MONOTONIC, &t);
  return (double)t.tv_sec + 1e-9 * (double)t.tv_nsec;
}

static sap_status bench_run(cli_run* s, const bench_request* request, bench_result* out,
                            sap_error* error) {
  SAP_TRY(sap_model_get_default_state(s->model, &s->state, error));
  for (int32_t i = 0; i < request->skip; ++i) {
    SAP_TRY(sap_stepper_step(s->stepper, &s->state, NULL, error));
  }
  double contacts = 0.0, iterations = 0.0, solver = 0.0, residual = 0.0, whole = 0.0;
  const double begin = now(request->cpu);
  for (int32_t i = 0; i < request->steps; ++i) {
    sap_step_report report;
    SAP_TRY(sap_stepper_step(s->stepper, &s->state, &report, error));
    solver += report.time_solver;
    whole += report.time_total;
    contacts += sap_multibody_contact_count(s->multibody);
    if (report.solver != NULL) {
      iterations += report.solver->iterations;
      residual = fmax(residual, report.solver->momentum_error);
    }
  }
  const double n = request->steps, total = now(request->cpu) - begin;
  // The solver's share by the wall clock, of the time by either.
  *out = (bench_result){total / n, total / n * (solver / whole), contacts / n, iterations / n,
                        residual};
  return SAP_STATUS_OK;
}

// --- one scene ---

// One turn: everybody once. The order turns with the repetition.
static sap_status take_turn(bench* b, cli_run* scene, int32_t turn, sap_error* error) {
  const int nsides = b->npeers + 1;
  for (int k = 0; k < nsides; ++k) {
    const int index = (k + (int)turn) % nsides;
    bench_side* s = &b->sides[index];
    char why[256];
    if (index == 0) {
      SAP_TRY(bench_run(scene, &b->request, &s->last, error));
    } else if (!s->left_out &&
               !bench_peer_run(&b->peers[index - 1], &b->request, &s->last, why, sizeof why)) {
      cli_message("%s leaves out %s: %s", b->peers[index - 1].name, b->request.scene, why);
      s->left_out = true;
    }
  }
  SAP_EACH(bench_side, s, b->sides, nsides) {
    if (!s->left_out) {
      s->step[s->count] = s->last.step;
      s->ratio[s->count++] = s->last.step / b->sides[0].last.step;
    }
  }
  return SAP_STATUS_OK;
}

static sap_status bench_one(bench* b, const char* path, progress* bar, sap_error* error) {
  cli_run scene;
  b->request.scene = path;
  if (b->npeers > 0) {
    SAP_TRY(cli_check_reread(path, error));
  }
  b->scene.path = path;
  sap_status status = cli_run_open(&b->scene, &b->stepper, cli_ignore_warning, &scene, error);
  b->request.dt = scene.options.dt;
  for (int i = 0; i <= b->npeers; ++i) {
    b->sides[i].left_out = false;
    b->sides[i].count = 0;
  }
  for (int32_t turn = -1; status == SAP_STATUS_OK && turn < b->repetitions; ++turn) {
    if (progress_due(bar)) {
      progress_draw(bar, (double)(turn + 1) / (b->repetitions + 1), cli_base_name(path));
    }
    status = take_turn(b, &scene, turn + 1, error);
    for (int i = 0; turn < 0 && i <= b->npeers; ++i) {
      b->sides[i].count = 0;  // the first turn warms up
    }
  }
  cli_run_close(&scene);
  if (status != SAP_STATUS_OK) {
    return status;
  }
  b->points[b->nscenes][0] = b->sides[0].last.contacts;
  for (int i = 0; i <= b->npeers; ++i) {
    bench_report_side(b, i);
    b->points[b->nscenes][1 + i] = 1e6 * cli_quantile(b->sides[i].step, b->sides[i].count, 0.5);
  }
  ++b->nscenes;
  return SAP_STATUS_OK;
}

// --- the whole ---

static int execute(bench* b, char** scenes, int nscenes) {
  b->request.cpu = b->clock == 1;
  for (int i = 0; i < b->ncommands; ++i) {
    b->npeers += bench_peer_start(&b->peers[b->npeers], b->commands[i], b->patience) ? 1 : 0;
  }
  progress bar;
  progress_begin(&bar);
  int code = CLI_OK;
  for (int i = 0; i < nscenes; ++i) {
    sap_error error = {0};
    if (bench_one(b, scenes[i], &bar, &error) != SAP_STATUS_OK) {
      progress_end(&bar);
      code = cli_report(&error);
    }
  }
  progress_end(&bar);
  sap_error error = {0};
  if (b->nscenes > 0 || b->format != CLI_FORMAT_TABLE) {
    cli_table_print(b->table, b->format, stdout);
  }
  if (b->svg != NULL && b->nscenes > 0 && bench_draw(b, &error) != SAP_STATUS_OK) {
    code = cli_report(&error);
  }
  return cli_flush() == CLI_OK ? code : CLI_FILE;
}

static int run_bench(const cli_command* command, int argc, char** argv) {
  bench* b = cli_new(1, sizeof *b);
  b->stepper = cli_stepper_options();
  b->scene = cli_scene_default();
  b->scene.reading.lenient = true;
  b->request = (bench_request){.steps = 200};
  b->repetitions = 7;
  b->patience = 60.0;
  cli_parser parser;
  if (cli_parse(&parser, command, b, argc, argv)) {
    b->table = cli_table_create(
        "scene engine repetitions# step_us:4 step_min_us:4 ratio:3 ratio_q1:3 ratio_q3:3 "
        "solver_us:4 contacts:4 iterations:3 residual:3 dt_s:4");
    b->points = cli_new((size_t)parser.noperands, sizeof *b->points);
    parser.exit_code = execute(b, parser.operands, parser.noperands);
  }
  for (int i = 0; i < b->npeers; ++i) {
    bench_peer_stop(&b->peers[i]);
  }
  return parser.exit_code;
}

const cli_command cli_command_bench = {
    .name = "bench",
    .operands = "SCENE...",
    .summary = "time per step, interleaved with other engines",
    .text = cli_text_bench,
    .options = option_list,
    .tables = {CLI_TABLE(sap_stepper_option_table, bench, stepper, cli_stepper_default)},
    .run = run_bench,
};
