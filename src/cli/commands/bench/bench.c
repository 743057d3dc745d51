// SPDX-License-Identifier: BSD-3-Clause
// sapstep bench: time per step of scenes, beside other engines in the same minutes. Repetitions of
// all take turns, so that what else the machine does hits all alike, and ratios are taken within a
// turn.
#include <math.h>
#include <stdio.h>
#include <stdlib.h>

#include "cli/commands/bench/bench.h"
#include "cli/options.h"
#include "cli/progress.h"
#include "cli/table.h"

enum {
  ID_STEPS = 1,
  ID_SKIP,
  ID_REPETITIONS,
  ID_DT,
  ID_PEER,
  ID_PATIENCE,
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
    {"patience", "S", ID_PATIENCE, "a peer that takes longer to answer is left out [s] (60)"},
    {"clock", "NAME", ID_CLOCK, "wall, or cpu: time of the processor (wall)"},
    CLI_SCENE_URDF_ROWS,
    {"svg", "FILE", ID_SVG, "chart of the medians over the contacts"},
    {"format", "NAME", ID_FORMAT, "table, csv or json (table)"},
    {0},
};

// --- command line ---

static bool take_option(bench* b, int id, const char* argument, char* why, size_t size) {
  static const char* const clocks[] = {"wall", "cpu", NULL};
  int32_t value = 0;
  switch (id) {
    case ID_STEPS:
    case ID_SKIP:
    case ID_REPETITIONS: {
      const int32_t least = id == ID_SKIP ? 0 : 1;
      const int32_t most = id == ID_REPETITIONS ? BENCH_REPETITIONS_MAX : 1000000000;
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
    case ID_PATIENCE: {
      double* target = id == ID_DT ? &b->request.dt : &b->patience;
      (void)snprintf(why, size, "'%s' must be a number > 0", argument);
      return cli_read_real(argument, target) && *target > 0.0;
    }
    case ID_PEER:
      (void)snprintf(why, size, "must be given at most %d times", BENCH_PEERS_MAX);
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
    default: {
      const char* allowed = cli_take_format(argument, true, &b->format);
      (void)snprintf(why, size, "'%s' must be %s", argument, allowed != NULL ? allowed : "");
      return allowed == NULL;
    }
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
      parser->exit_code = cli_refuse_value(command, "floor", argument, allowed);
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
      parser->exit_code = cli_usage_error(command, "--%s %s", name, why);
      return false;
    }
  }
  if (id == CLI_PARSE_END && parser->noperands < 1) {
    parser->exit_code = cli_usage_error(command, "at least one scene file is needed");
    return false;
  }
  return id == CLI_PARSE_END;
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
      progress_draw(bar, (double)(turn + 1) / (b->repetitions + 1), bench_base_name(path));
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
  cli_parser_begin(&parser, command, &b->stepper.solver_options, argc, argv);
  int code;
  if (!read_options(command, &parser, b)) {
    code = parser.exit_code;
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
