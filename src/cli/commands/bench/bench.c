// SPDX-License-Identifier: BSD-3-Clause
// sapstep bench: time per step of scenes, beside other engines in the same minutes. Repetitions of
// all take turns, so that what else the machine does hits all alike, and ratios are taken within a
// turn.
#define _POSIX_C_SOURCE 200809L
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "cli/commands/bench/bench.h"
#include "cli/options.h"
#include "cli/progress.h"
#include "cli/table.h"

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
    {"dt", "S", "time step (the scene's) [s]", CLI_POSITIVE, AT(request.dt), 0, 1e300},
    {"peer", "COMMAND",
     "a program that steps the same scenes with another engine, see\ntests/bench/peers; up to 8",
     CLI_CALL, .take = take_peer},
    {"patience", "S", "skip a peer that takes longer to answer (60) [s]", CLI_POSITIVE,
     AT(patience), 0, 1e300},
    {"clock", "NAME", "wall, or cpu: processor time (wall)", CLI_WORD, AT(clock), .words = clocks},
    CLI_SCENE_URDF_ROWS(bench),
    {"svg", "FILE", "write a chart of the medians over the number of contacts", CLI_TEXT, AT(svg)},
    {"format", "NAME", "table, json or csv (table)", CLI_WORD, AT(format), .words = cli_formats},
    {0},
};
#undef AT
static const char* const hidden[] = {"sigma", "beta", NULL};  // those of the scenes

// What `sapstep bench` prints and draws.

static int compare_reals(const void* a, const void* b) {
  const double x = *(const double*)a, y = *(const double*)b;
  return (x > y) - (x < y);
}

static double bench_quantile(const double* values, int32_t count, double part) {
  static double sorted[BENCH_REPETITIONS_MAX];
  if (count == 0) {
    return (double)NAN;
  }
  memcpy(sorted, values, (size_t)count * sizeof *sorted);
  qsort(sorted, (size_t)count, sizeof *sorted, compare_reals);
  const double at = part * (count - 1);
  const int32_t low = (int32_t)at, high = low + 1 < count ? low + 1 : low;
  return sorted[low] + (at - low) * (sorted[high] - sorted[low]);
}

static void bench_report_side(bench* b, int index) {
  const bench_side* s = &b->sides[index];
  cli_table_text(b->table, cli_base_name(b->request.scene));
  cli_table_text(b->table, index == 0 ? "sapstep" : b->peers[index - 1].name);
  cli_table_integer(b->table, s->count);
  cli_table_real(b->table, 1e6 * bench_quantile(s->step, s->count, 0.5));
  cli_table_real(b->table, 1e6 * bench_quantile(s->step, s->count, 0.0));
  cli_table_real(b->table, bench_quantile(s->ratio, s->count, 0.5));
  cli_table_real(b->table, bench_quantile(s->ratio, s->count, 0.25));
  cli_table_real(b->table, bench_quantile(s->ratio, s->count, 0.75));
  const bool any = s->count > 0;
  const double nan = (double)NAN;
  // The last repetition's share of the median.
  cli_table_real(
      b->table,
      any ? 1e6 * bench_quantile(s->step, s->count, 0.5) * (s->last.solver / s->last.step) : nan);
  cli_table_real(b->table, any ? s->last.contacts : nan);
  cli_table_real(b->table, any ? s->last.iterations : nan);
  cli_table_real(b->table, any ? s->last.residual : nan);
  cli_table_real(b->table, b->request.dt);
}

// The chart's lines go from left to right.
static void sort_by_contacts(bench* b) {
  for (int k = 1; k < b->nscenes; ++k) {
    for (int j = k; j > 0 && b->contacts[j - 1] > b->contacts[j]; --j) {
      double* rows[BENCH_SIDES_MAX + 1] = {b->contacts};
      memcpy(rows + 1, b->medians, sizeof b->medians);
      for (int i = 0; i <= BENCH_SIDES_MAX; ++i) {
        const double swap = rows[i][j];
        rows[i][j] = rows[i][j - 1];
        rows[i][j - 1] = swap;
      }
    }
  }
}

static sap_status bench_draw(bench* b, sap_error* error) {
  sort_by_contacts(b);
  sap_chart_series series[BENCH_SIDES_MAX];
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

static bool bench_allocate(bench* b, int nscenes) {
  static const cli_column columns[] = {
      CLI_TEXTS("scene"),       CLI_TEXTS("engine"),         CLI_INTEGERS("repetitions"),
      CLI_REALS("step_us", 4),  CLI_REALS("step_min_us", 4), CLI_REALS("ratio", 3),
      CLI_REALS("ratio_q1", 3), CLI_REALS("ratio_q3", 3),    CLI_REALS("solver_us", 4),
      CLI_REALS("contacts", 4), CLI_REALS("iterations", 3),  CLI_REALS("residual", 3),
      CLI_REALS("dt_s", 4),
  };
  b->table = cli_table_create(columns, sizeof columns / sizeof *columns);
  b->contacts = calloc((size_t)nscenes, sizeof *b->contacts);
  bool complete = b->table != NULL && b->contacts != NULL;
  for (int i = 0; i < BENCH_SIDES_MAX; ++i) {
    b->medians[i] = calloc((size_t)nscenes, sizeof *b->medians[i]);
    complete = complete && b->medians[i] != NULL;
  }
  return complete;
}

// Ignores warnings about unsupported features: the peers give none either.
static void be_quiet(void* context, const char* message) {
  (void)context;
  (void)message;
}

static sap_status bench_scene_open(bench_scene* s, const cli_scene* from,
                                   const sap_stepper_options* wanted, double dt, sap_error* error) {
  SAP_TRY(cli_scene_read(from, be_quiet, NULL, &s->model, error));
  sap_stepper_options options = *wanted;
  const sap_model_options* scene = sap_model_get_options(s->model);
  options.dt = dt > 0.0 ? dt : scene->timestep;
  options.regularization = scene->regularization;
  s->dt = options.dt;
  SAP_TRY(sap_multibody_create(s->model, &s->multibody, error));
  SAP_TRY(sap_stepper_create(sap_multibody_system(s->multibody), &options, &s->stepper, error));
  SAP_TRY(sap_model_get_default_state(s->model, &s->start, error));
  return sap_model_get_default_state(s->model, &s->state, error);
}

static void bench_scene_close(bench_scene* s) {
  sap_stepper_destroy(s->stepper);
  sap_multibody_destroy(s->multibody);
  sap_model_destroy(s->model);
  sap_state_clear(&s->start);
  sap_state_clear(&s->state);
  *s = (bench_scene){0};
}

static double now(bool cpu) {
  struct timespec t;
  (void)clock_gettime(cpu ? CLOCK_PROCESS_CPUTIME_ID : CLOCK_MONOTONIC, &t);
  return (double)t.tv_sec + 1e-9 * (double)t.tv_nsec;
}

static sap_status bench_scene_run(bench_scene* s, const bench_request* request, bench_result* out,
                                  sap_error* error) {
  SAP_TRY(sap_state_copy(&s->start, &s->state, error));
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
static sap_status take_turn(bench* b, bench_scene* scene, int32_t turn, sap_error* error) {
  const int nsides = b->npeers + 1;
  for (int k = 0; k < nsides; ++k) {
    const int index = (k + (int)turn) % nsides;
    bench_side* s = &b->sides[index];
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
    bench_side* s = &b->sides[i];
    if (!s->left_out) {
      s->step[s->count] = s->last.step;
      s->ratio[s->count++] = s->last.step / b->sides[0].last.step;
    }
  }
  return SAP_STATUS_OK;
}

static sap_status bench_one(bench* b, const char* path, double dt, progress* bar,
                            sap_error* error) {
  bench_scene scene = {0};
  b->scene.path = path;
  sap_status status = b->npeers > 0 ? cli_check_reread(path, error) : SAP_STATUS_OK;
  if (status == SAP_STATUS_OK) {
    status = bench_scene_open(&scene, &b->scene, &b->stepper, dt, error);
  }
  b->request.scene = path;
  b->request.dt = scene.dt;
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
  bench_scene_close(&scene);
  if (status != SAP_STATUS_OK) {
    return status;
  }
  b->contacts[b->nscenes] = b->sides[0].last.contacts;
  for (int i = 0; i <= b->npeers; ++i) {
    bench_report_side(b, i);
    b->medians[i][b->nscenes] = 1e6 * bench_quantile(b->sides[i].step, b->sides[i].count, 0.5);
  }
  ++b->nscenes;
  return SAP_STATUS_OK;
}

// --- the whole ---

static int execute(bench* b, char** scenes, int nscenes) {
  const double dt = b->request.dt;
  b->request.cpu = b->clock == 1;
  for (int i = 0; i < b->ncommands; ++i) {
    b->npeers += bench_peer_start(&b->peers[b->npeers], b->commands[i], b->patience) ? 1 : 0;
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
  const bool nothing = b->nscenes == 0 && b->format == CLI_FORMAT_TABLE;
  if (!nothing && !cli_table_print(b->table, b->format, stdout)) {
    code = cli_out_of_memory();
  } else if (b->svg != NULL && b->nscenes > 0 && bench_draw(b, &error) != SAP_STATUS_OK) {
    code = cli_report(&error);
  }
  return cli_flush() == CLI_OK ? code : CLI_FILE;
}

static int run_bench(const cli_command* command, int argc, char** argv) {
  bench* b = calloc(1, sizeof *b);
  if (b == NULL) {
    return cli_out_of_memory();
  }
  b->stepper = sap_stepper_options_default();
  b->scene = cli_scene_default();
  b->scene.lenient = true;
  b->request = (bench_request){.steps = 200};
  b->repetitions = 7;
  b->patience = 60.0;
  cli_parser parser;
  int code;
  if (!cli_parse(&parser, command, b, argc, argv)) {
    code = parser.exit_code;
  } else if (parser.noperands < 1) {
    code = cli_usage_error(command, "at least one scene file is needed");
  } else if (bench_allocate(b, parser.noperands)) {
    code = execute(b, parser.operands, parser.noperands);
  } else {
    code = cli_out_of_memory();
  }
  for (int i = 0; i < b->npeers; ++i) {
    bench_peer_stop(&b->peers[i]);
  }
  for (int i = 0; i < BENCH_SIDES_MAX; ++i) {
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
    .summary = "time per step, interleaved with other engines",
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
    .options = option_list,
    .table = cli_stepper_table,
    .table_offset = offsetof(bench, stepper),
    .table_default = cli_stepper_default,
    .hidden = hidden,
    .run = run_bench,
};
