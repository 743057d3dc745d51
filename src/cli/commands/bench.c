// SPDX-License-Identifier: BSD-3-Clause
// sapstep bench: time per step of scenes. tests/bench/interleave.py takes turns with other engines.
#define _POSIX_C_SOURCE 200809L
#include <math.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include <sapstep/sapstep.h>

#include "cli/files.h"
#include "cli/lines.h"
#include "cli/options.h"
#include "cli/progress.h"
#include "cli/scene.h"
#include "cli/table.h"

enum { REPETITIONS_MAX = 1000 };

typedef struct bench {
  sap_stepper_options stepper;
  cli_scene scene;
  int32_t steps, skip;  // of a repetition: timed, and before them
  int32_t repetitions;
  int clock;  // 0: wall, 1: cpu
  cli_format format;
  cli_table* table;
} bench;

// Measurements of a repetition. Means are over the timed steps.
typedef struct measured {
  double step;        // time per step [s]
  double solver;      // of it in the contact solver [s]
  double contacts;    // mean
  double iterations;  // mean
  double residual;    // the largest momentum error, relative
} measured;

static const char* const clocks[] = {"wall", "cpu", NULL};
#define AT(member) .offset = offsetof(bench, member)
static const cli_option option_list[] = {
    {"steps", "N", "timed steps of a repetition (200)", CLI_INTEGER, AT(steps), 1, 1e9},
    {"skip", "N", "steps before them, not timed (0)", CLI_INTEGER, AT(skip), 0, 1e9},
    {"repetitions", "N", "repetitions, 1 to 1000 (7); one more warms up", CLI_INTEGER,
     AT(repetitions), 1, REPETITIONS_MAX},
    CLI_PRESET_ROW(bench),
    {"dt", "S", "time step (the scene's) [s]", CLI_POSITIVE, AT(stepper.dt), 0, 1e300},
    {"clock", "NAME", "wall, or cpu: processor time (wall)", CLI_WORD, AT(clock), .words = clocks},
    CLI_SCENE_URDF_ROWS(bench),
    {"format", "NAME", "table, json or csv (table)", CLI_WORD, AT(format), .words = cli_formats},
    {0},
};
#undef AT

static double now(bool cpu) {
  struct timespec t;
  (void)clock_gettime(cpu ? CLOCK_PROCESS_CPUTIME_ID : CLOCK_MONOTONIC, &t);
  return (double)t.tv_sec + 1e-9 * (double)t.tv_nsec;
}

// Makes a repetition, from the scene's start.
static sap_status repeat(const bench* b, cli_run* s, measured* out, sap_error* error) {
  SAP_TRY(sap_model_get_default_state(s->model, &s->state, error));
  for (int32_t i = 0; i < b->skip; ++i) {
    SAP_TRY(sap_stepper_step(s->stepper, &s->state, NULL, error));
  }
  double contacts = 0.0, iterations = 0.0, solver = 0.0, residual = 0.0, whole = 0.0;
  const double begin = now(b->clock == 1);
  for (int32_t i = 0; i < b->steps; ++i) {
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
  const double n = b->steps, total = now(b->clock == 1) - begin;
  // The solver's share by the wall clock, of the time by either.
  *out =
      (measured){total / n, total / n * (solver / whole), contacts / n, iterations / n, residual};
  return SAP_STATUS_OK;
}

static sap_status measure_scene(bench* b, const char* path, progress* bar, sap_error* error) {
  double step[REPETITIONS_MAX + 1];
  measured last = {0};
  cli_run scene;
  sap_status status = cli_run_open(&b->scene, path, &b->stepper, cli_ignore_warning, &scene, error);
  for (int32_t i = 0; status == SAP_STATUS_OK && i <= b->repetitions; ++i) {
    if (progress_due(bar)) {
      progress_draw(bar, (double)i / (b->repetitions + 1), cli_base_name(path));
    }
    status = repeat(b, &scene, &last, error);
    step[i] = last.step;
  }
  cli_run_close(&scene);
  SAP_TRY(status);
  const int32_t n = b->repetitions;
  const double* times = step + 1;  // the first warms up
  qsort(step + 1, (size_t)n, sizeof *step, cli_ascending);
  const double median = 5e5 * (times[(n - 1) / 2] + times[n / 2]);
  CLI_CELLS(b->table, CLI_T(cli_base_name(path)), CLI_I(n), CLI_R(median), CLI_R(1e6 * times[0]),
            CLI_R(median * (last.solver / last.step)),  // the last repetition's share
            CLI_R(last.contacts), CLI_R(last.iterations), CLI_R(last.residual), CLI_R(scene.dt));
  return SAP_STATUS_OK;
}

static int run_bench(const cli_command* command, int argc, char** argv) {
  static const cli_column columns[] = {
      CLI_TEXTS("scene"),          CLI_INTEGERS("repetitions"), CLI_REALS("step_us", 4),
      CLI_REALS("step_min_us", 4), CLI_REALS("solver_us", 4),   CLI_REALS("contacts", 4),
      CLI_REALS("iterations", 3),  CLI_REALS("residual", 3),    CLI_REALS("dt_s", 4),
  };
  bench b = {.stepper = cli_stepper_options(),
             .scene = cli_scene_default(),
             .steps = 200,
             .repetitions = 7};
  b.scene.lenient = true;
  cli_parser parser;
  if (!cli_parse(&parser, command, &b, argc, argv)) {
    return parser.exit_code;
  }
  if (parser.noperands < 1) {
    return cli_usage_error(command, "at least one scene file is needed");
  }
  b.table = cli_table_create(columns, sizeof columns / sizeof *columns);
  progress bar;
  progress_begin(&bar);
  int code = CLI_OK, done = 0;
  for (int i = 0; i < parser.noperands; ++i) {
    sap_error error = {0};
    const bool good = measure_scene(&b, parser.operands[i], &bar, &error) == SAP_STATUS_OK;
    progress_end(&bar);
    code = good ? code : cli_report(&error);
    done += good ? 1 : 0;
  }
  if (done > 0 || b.format != CLI_FORMAT_TABLE) {
    cli_table_print(b.table, b.format, stdout);
  }
  return cli_flush() == CLI_OK ? code : CLI_FILE;
}

const cli_command cli_command_bench = {
    .name = "bench",
    .operands = "SCENE...",
    .summary = "time per step of scenes",
    .description =
        "Steps every scene from its default pose, repetition by repetition, and prints median and\n"
        "least time per step with contacts, Newton iterations and the largest momentum error. In\n"
        "the source, tests/bench/interleave.py takes turns with other engines on the same scenes.",
    .examples =
        "  sapstep bench examples/scenes/clutter_40.xml\n"
        "  sapstep bench --clock cpu --steps 100 --skip 800 examples/scenes/*.xml\n",
    .options = option_list,
    .table = sap_stepper_option_table,
    .table_offset = offsetof(bench, stepper),
    .table_default = cli_stepper_default,
    .run = run_bench,
};
