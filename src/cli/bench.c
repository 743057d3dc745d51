// SPDX-License-Identifier: BSD-3-Clause
// sapstep bench: time per step of scenes, beside other engines in the same minutes. Repetitions of
// all take turns, so that what else the machine does hits all alike, and ratios are taken within a
// turn.
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "cli/bench.h"
#include "cli/options.h"
#include "cli/progress.h"
#include "cli/table.h"

enum { REPETITIONS_MAX = 1000, SIDES_MAX = BENCH_PEERS_MAX + 1 };

enum {
  ID_STEPS = 1,
  ID_SKIP,
  ID_REPETITIONS,
  ID_DT,
  ID_PEER,
  ID_CLOCK,
  ID_SVG,
  ID_FORMAT,
};

static const cli_option options[] = {
    {"steps", "N", ID_STEPS, "timed steps of a repetition (200)"},
    {"skip", "N", ID_SKIP, "steps before them, not timed (0)"},
    {"repetitions", "N", ID_REPETITIONS, "repetitions of each engine, in turns, 1 to 1000 (7)"},
    {"dt", "S", ID_DT, "time step [s] (the scene's)"},
    {"peer", "COMMAND", ID_PEER,
     "a program that steps the same scenes with another engine, see\ntests/bench/peers; up to 8"},
    {"clock", "NAME", ID_CLOCK, "wall, or cpu: time of the processor (wall)"},
    CLI_SCENE_URDF_ROWS,
    {"svg", "FILE", ID_SVG, "chart of the medians over the contacts"},
    {"format", "NAME", ID_FORMAT, "table, csv or json (table)"},
    {0},
};

// All repetitions of one engine on one scene; the first engine is ourselves.
typedef struct side {
  bool left_out;
  int32_t count;
  double step[REPETITIONS_MAX];
  double ratio[REPETITIONS_MAX];  // to ours in the same turn
  bench_result last;
} side;

typedef struct bench {
  sap_stepper_options stepper;
  cli_scene scene;
  bench_request request;
  int32_t repetitions;
  const char* svg;
  cli_format format;
  bench_peer peers[BENCH_PEERS_MAX];
  int npeers;
  const char* commands[BENCH_PEERS_MAX];
  int ncommands;
  cli_table* table;
  side sides[SIDES_MAX];
  // for the chart, scene by scene; NaN: left out
  double* contacts;            // (nscenes)
  double* medians[SIDES_MAX];  // (nscenes) each
  int nscenes;
  int failures;
} bench;

// --- command line ---

static bool take_option(bench* b, int id, const char* argument, char* why, size_t size) {
  static const char* const clocks[] = {"wall", "cpu", NULL};
  int32_t value = 0;
  switch (id) {
    case ID_STEPS:
    case ID_SKIP:
    case ID_REPETITIONS: {
      const int32_t least = id == ID_SKIP ? 0 : 1;
      const int32_t most = id == ID_REPETITIONS ? REPETITIONS_MAX : 1000000000;
      if (!cli_read_integer(argument, &value) || value < least || value > most) {
        (void)snprintf(why, size, "'%s' must be an integer from %ld to %ld", argument, (long)least,
                       (long)most);
        return false;
      }
      *(id == ID_STEPS  ? &b->request.steps
        : id == ID_SKIP ? &b->request.skip
                        : &b->repetitions) = value;
      return true;
    }
    case ID_DT:
      (void)snprintf(why, size, "'%s' must be a number > 0", argument);
      return cli_read_real(argument, &b->request.dt) && b->request.dt > 0.0;
    case ID_PEER:
      (void)snprintf(why, size, "at most %d", BENCH_PEERS_MAX);
      if (b->ncommands == BENCH_PEERS_MAX) {
        return false;
      }
      b->commands[b->ncommands++] = argument;
      return true;
    case ID_CLOCK:
      (void)snprintf(why, size, "'%s' must be wall or cpu", argument);
      b->request.cpu = cli_read_choice(argument, clocks) == 1;
      return cli_read_choice(argument, clocks) >= 0;
    case ID_SVG:
      b->svg = argument;
      return true;
    default:
      (void)snprintf(why, size, "'%s' must be table, csv or json", argument);
      b->format = (cli_format)cli_read_choice(argument, cli_format_names);
      return cli_read_choice(argument, cli_format_names) >= 0;
  }
}

static bool read_options(const cli_command* command, cli_parser* parser, bench* b) {
  const char* argument;
  int id;
  while ((id = cli_parse_next(parser, &argument)) > 0) {
    char why[256];
    bool known;
    const char* allowed = cli_scene_take(&b->scene, id, argument, &known);
    if (allowed != NULL) {
      parser->exit_code = cli_usage_error(command, "--floor '%s' must be %s", argument, allowed);
      return false;
    }
    if (known) {
      continue;
    }
    if (!take_option(b, id, argument, why, sizeof why)) {
      const char* name = "";
      for (const cli_option* o = options; o->name != NULL; ++o) {
        name = o->id == id ? o->name : name;
      }
      parser->exit_code = cli_usage_error(command, "--%s: %s", name, why);
      return false;
    }
  }
  if (id == CLI_PARSE_END && parser->noperands < 1) {
    parser->exit_code = cli_usage_error(command, "at least one scene file is needed");
    return false;
  }
  return id == CLI_PARSE_END;
}

// --- numbers ---

static int compare(const void* a, const void* b) {
  const double x = *(const double*)a, y = *(const double*)b;
  return (x > y) - (x < y);
}

// Value at `part` of the way through the sorted values.
static double quantile(const double* values, int32_t count, double part) {
  static double sorted[REPETITIONS_MAX];
  if (count == 0) {
    return (double)NAN;
  }
  memcpy(sorted, values, (size_t)count * sizeof *sorted);
  qsort(sorted, (size_t)count, sizeof *sorted, compare);
  const double at = part * (count - 1);
  const int32_t low = (int32_t)at, high = low + 1 < count ? low + 1 : low;
  return sorted[low] + (at - low) * (sorted[high] - sorted[low]);
}

// --- one scene ---

// One turn: everybody once. The order turns with the repetition.
static sap_status take_turn(bench* b, bench_scene* scene, int32_t turn, sap_error* error) {
  const int nsides = b->npeers + 1;
  for (int k = 0; k < nsides; ++k) {
    const int index = (k + (int)turn) % nsides;
    side* s = &b->sides[index];
    char why[256];
    if (index == 0) {
      const sap_status status = bench_scene_run(scene, &b->request, &s->last, error);
      if (status != SAP_STATUS_OK) {
        return status;
      }
    } else if (!s->left_out &&
               !bench_peer_run(&b->peers[index - 1], &b->request, &s->last, why, sizeof why)) {
      cli_message("%s leaves out %s: %s", b->peers[index - 1].name, b->request.scene, why);
      s->left_out = true;
    }
  }
  for (int i = 0; i < nsides; ++i) {
    side* s = &b->sides[i];
    if (!s->left_out) {
      s->step[s->count] = s->last.step;
      s->ratio[s->count++] = s->last.step / b->sides[0].last.step;
    }
  }
  return SAP_STATUS_OK;
}

static const char* base_name(const char* path) {
  const char* slash = strrchr(path, '/');
  return slash != NULL ? slash + 1 : path;
}

static void report_side(bench* b, int index) {
  const side* s = &b->sides[index];
  cli_table_text(b->table, base_name(b->request.scene));
  cli_table_text(b->table, index == 0 ? "sapstep" : b->peers[index - 1].name);
  cli_table_integer(b->table, s->count);
  cli_table_real(b->table, 1e6 * quantile(s->step, s->count, 0.5));
  cli_table_real(b->table, 1e6 * quantile(s->step, s->count, 0.0));
  cli_table_real(b->table, quantile(s->ratio, s->count, 0.5));
  cli_table_real(b->table, quantile(s->ratio, s->count, 0.25));
  cli_table_real(b->table, quantile(s->ratio, s->count, 0.75));
  const bool any = s->count > 0;
  const double nan = (double)NAN;
  // The last repetition's share of the median.
  cli_table_real(
      b->table,
      any ? 1e6 * quantile(s->step, s->count, 0.5) * (s->last.solver / s->last.step) : nan);
  cli_table_real(b->table, any ? s->last.contacts : nan);
  cli_table_real(b->table, any ? s->last.iterations : nan);
  cli_table_real(b->table, any ? s->last.residual : nan);
  cli_table_real(b->table, b->request.dt);
}

static sap_status bench_one(bench* b, const char* path, double dt, progress* bar,
                            sap_error* error) {
  bench_scene scene = {0};
  b->scene.path = path;
  sap_status status = bench_scene_open(&scene, &b->scene, &b->stepper, dt, error);
  b->request.scene = path;
  b->request.dt = scene.dt;
  for (int i = 0; i <= b->npeers; ++i) {
    b->sides[i].left_out = false;
    b->sides[i].count = 0;
  }
  for (int32_t turn = -1; status == SAP_STATUS_OK && turn < b->repetitions; ++turn) {
    if (progress_due(bar)) {
      progress_draw(bar, (double)(turn + 1) / (b->repetitions + 1), base_name(path));
    }
    status = take_turn(b, &scene, turn + 1, error);
    for (int i = 0; turn < 0 && i <= b->npeers; ++i) {
      b->sides[i].count = 0;  // the first turn warms up
    }
  }
  bench_scene_close(&scene);
  if (status != SAP_STATUS_OK) {
    return status;
  }
  b->contacts[b->nscenes] = b->sides[0].last.contacts;
  for (int i = 0; i <= b->npeers; ++i) {
    report_side(b, i);
    b->medians[i][b->nscenes] = 1e6 * quantile(b->sides[i].step, b->sides[i].count, 0.5);
  }
  ++b->nscenes;
  return SAP_STATUS_OK;
}

// --- the whole ---

static sap_status draw(const bench* b, sap_error* error) {
  sap_chart_series series[SIDES_MAX];
  for (int i = 0; i <= b->npeers; ++i) {
    series[i] = (sap_chart_series){.name = i == 0 ? "sapstep" : b->peers[i - 1].name,
                                   .count = b->nscenes,
                                   .x = b->contacts,
                                   .y = b->medians[i]};
  }
  const sap_chart_panel panel = {.title = "Time per step",
                                 .x_label = "contacts of sapstep, mean",
                                 .y_label = "time per step [us], median",
                                 .log_x = true,
                                 .log_y = true,
                                 .markers = true,
                                 .series_count = b->npeers + 1,
                                 .series = series};
  return sap_chart_write(b->svg, &panel, 1, error);
}

static bool allocate(bench* b, int nscenes) {
  static const cli_column columns[] = {
      {"scene", CLI_CELL_TEXT, 0},          {"engine", CLI_CELL_TEXT, 0},
      {"repetitions", CLI_CELL_INTEGER, 0}, {"step_us", CLI_CELL_REAL, 4},
      {"step_min_us", CLI_CELL_REAL, 4},    {"ratio", CLI_CELL_REAL, 3},
      {"ratio_q1", CLI_CELL_REAL, 3},       {"ratio_q3", CLI_CELL_REAL, 3},
      {"solver_us", CLI_CELL_REAL, 4},      {"contacts", CLI_CELL_REAL, 4},
      {"iterations", CLI_CELL_REAL, 3},     {"residual", CLI_CELL_REAL, 3},
      {"dt_s", CLI_CELL_REAL, 4},
  };
  b->table = cli_table_create(columns, sizeof columns / sizeof *columns);
  b->contacts = calloc((size_t)nscenes, sizeof *b->contacts);
  bool complete = b->table != NULL && b->contacts != NULL;
  for (int i = 0; i < SIDES_MAX; ++i) {
    b->medians[i] = calloc((size_t)nscenes, sizeof *b->medians[i]);
    complete = complete && b->medians[i] != NULL;
  }
  return complete;
}

static int execute(bench* b, char** scenes, int nscenes) {
  const double dt = b->request.dt;
  for (int i = 0; i < b->ncommands; ++i) {
    b->npeers += bench_peer_start(&b->peers[b->npeers], b->commands[i]) ? 1 : 0;
  }
  progress bar;
  progress_begin(&bar);
  int code = CLI_OK;
  for (int i = 0; i < nscenes; ++i) {
    sap_error error = {0};
    if (bench_one(b, scenes[i], dt, &bar, &error) != SAP_STATUS_OK) {
      progress_end(&bar);
      code = cli_report(&error);
    }
  }
  progress_end(&bar);
  sap_error error = {0};
  if (!cli_table_print(b->table, b->format, stdout)) {
    cli_message("out of memory");
    code = CLI_INTERNAL;
  } else if (b->svg != NULL && b->nscenes > 0 && draw(b, &error) != SAP_STATUS_OK) {
    code = cli_report(&error);
  }
  return cli_flush() == CLI_OK ? code : CLI_FILE;
}

static int run_bench(const cli_command* command, int argc, char** argv) {
  bench* b = calloc(1, sizeof *b);
  if (b == NULL) {
    cli_message("out of memory");
    return CLI_INTERNAL;
  }
  b->stepper = sap_stepper_options_default();
  b->scene = cli_scene_default();
  b->scene.lenient = true;
  b->request = (bench_request){.steps = 200};
  b->repetitions = 7;
  cli_parser parser;
  cli_parser_begin(&parser, command, &b->stepper.solver_options, argc, argv);
  int code = CLI_INTERNAL;
  if (!read_options(command, &parser, b)) {
    code = parser.exit_code;
  } else if (allocate(b, parser.noperands)) {
    code = execute(b, parser.operands, parser.noperands);
  } else {
    cli_message("out of memory");
  }
  for (int i = 0; i < b->npeers; ++i) {
    bench_peer_stop(&b->peers[i]);
  }
  for (int i = 0; i < SIDES_MAX; ++i) {
    free(b->medians[i]);
  }
  free(b->contacts);
  cli_table_destroy(b->table);
  free(b);
  return code;
}

const cli_command cli_command_bench = {
    .name = "bench",
    .operands = "SCENE...",
    .summary = "time steps of scenes, beside other engines in turns",
    .description =
        "Steps every scene from its default pose, repetition by repetition, and prints the median\n"
        "time per step with contacts, Newton iterations and the largest momentum error. Peers "
        "step\n"
        "the same scenes in the same turns; `ratio` is their time over ours, median and "
        "quartiles.\n"
        "The first turn warms up and does not count.",
    .examples =
        "  sapstep bench examples/scenes/clutter_40.xml\n"
        "  sapstep bench --peer 'python3 tests/bench/peers/mujoco_peer.py' \\\n"
        "      --peer 'python3 tests/bench/peers/drake_peer.py' --svg bench.svg \\\n"
        "      examples/scenes/*.xml\n",
    .options = options,
    .solver_options = true,
    .run = run_bench,
};
