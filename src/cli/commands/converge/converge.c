// SPDX-License-Identifier: BSD-3-Clause
// sapstep converge: measures the order of convergence in the time step.
#define _POSIX_C_SOURCE 200809L
#include <math.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "cli/commands/converge/converge.h"
#include "cli/journal.h"
#include "cli/options.h"
#include "cli/progress.h"
#include "core/archive.h"

// --- runs in threads ---
//
// Each run owns all that it writes, so that the results do not depend
// on their number; the calling thread draws the progress.

enum { THREADS_MAX = 64 };

typedef struct jobs {
  converge_study* study;
  int last;
  _Atomic int running;
} jobs;

static void* work_in_thread(void* context) {
  jobs* j = context;
  for (;;) {
    const int index = atomic_fetch_add(&j->study->next, 1);
    if (index >= j->last || interrupt_came()) {
      break;
    }
    if (!j->study->cases[index].done) {
      converge_case_run(j->study, &j->study->cases[index]);
    }
  }
  atomic_fetch_sub(&j->running, 1);
  return NULL;
}

static int64_t planned(const converge_study* study) {
  int64_t steps = 0;
  for (int i = 0; i < study->count; ++i) {
    steps += study->samples * study->cases[i].stride;
  }
  return steps;
}

static bool run_jobs(converge_study* study, int first, int last) {
  jobs j = {.study = study, .last = last};
  pthread_t threads[THREADS_MAX];
  int count = 0;
  const int wanted = study->options.jobs < last - first ? study->options.jobs : last - first;
  atomic_store(&study->next, first);
  while (count < wanted && count < THREADS_MAX) {
    atomic_fetch_add(&j.running, 1);
    if (pthread_create(&threads[count], NULL, work_in_thread, &j) != 0) {
      atomic_fetch_sub(&j.running, 1);
      break;
    }
    ++count;
  }
  if (count == 0 && wanted > 0) {  // no thread to be had: do it here
    atomic_store(&j.running, 1);
    (void)work_in_thread(&j);
  }
  progress* bar = &study->bar;
  const double total = (double)planned(study);
  while (bar->shown && atomic_load(&j.running) > 0) {
    const struct timespec pause = {.tv_nsec = 20 * 1000 * 1000};
    (void)nanosleep(&pause, NULL);
    if (progress_due(bar)) {
      char note[64];
      (void)snprintf(note, sizeof note, "run %d of %d",
                     atomic_load(&study->next) < last ? atomic_load(&study->next) : last,
                     study->count);
      progress_draw(bar, (double)atomic_load(&study->steps) / total, note);
    }
  }
  for (int i = 0; i < count; ++i) {
    (void)pthread_join(threads[i], NULL);
  }
  return !interrupt_came();
}

// --- journal ---

typedef struct record {
  int64_t index, steps, unconverged;
  converge_errors errors;
  double energy_drift, penetration, drift, newton, seconds;
} record;

// Returns the size of the samples that follow a record of a reference; 0 for other runs.
static size_t sample_bytes(const converge_study* s, int64_t index) {
  const size_t numbers = (size_t)s->start.nq + (size_t)s->start.nv;
  return index < s->references ? numbers * (size_t)s->samples * sizeof(double) : 0;
}

static bool restore_run(void* context, const void* bytes, size_t size) {
  converge_study* s = context;
  record r;
  if (size < sizeof r) {
    return false;
  }
  memcpy(&r, bytes, sizeof r);
  if (r.index < 0 || r.index >= s->count || size != sizeof r + sample_bytes(s, r.index)) {
    return false;
  }
  converge_case* c = &s->cases[r.index];
  if (c->done) {
    return true;
  }
  if (size > sizeof r) {
    c->samples = malloc(size - sizeof r);
    if (c->samples == NULL) {
      return false;
    }
    memcpy(c->samples, (const char*)bytes + sizeof r, size - sizeof r);
  }
  c->done = true;
  c->steps = r.steps;
  c->unconverged = r.unconverged;
  c->errors = r.errors;
  c->energy_drift = r.energy_drift;
  c->penetration = r.penetration;
  c->drift = r.drift;
  c->newton = r.newton;
  c->seconds = r.seconds;
  s->steps += r.steps;
  return true;
}

static sap_status open_journal(converge_study* s, sap_error* error) {
  const cli_journal_def def = {
      .magic = "sapstep converge 2",
      .hash = s->hash,
      .busy = "another study is writing this journal",
      .foreign =
          "not a journal of this very command, scene and program: remove it, or name another",
      .restore = restore_run,
      .context = s};
  return cli_journal_open(s->options.journal, &def, &s->journal, error);
}

void converge_keep(converge_study* s, const converge_case* c) {
  record r;
  sap_error error;
  memset(&r, 0, sizeof r);
  r.index = c - s->cases;
  r.steps = c->steps;
  r.unconverged = c->unconverged;
  r.errors = c->errors;
  r.energy_drift = c->energy_drift;
  r.penetration = c->penetration;
  r.drift = c->drift;
  r.newton = c->newton;
  r.seconds = c->seconds;
  if (cli_journal_add(s->journal, &r, sizeof r, c->samples, sample_bytes(s, r.index), &error) !=
      SAP_STATUS_OK) {
    cli_message("%s: this run is not kept", error.message);
  }
}

// --- the command ---

// Hashes the options that the results depend on: all but those of the output. The scene's files
// follow when they are read.
static void hash_command(converge_study* s, int argc, char** argv) {
  static const char* const output[] = {"--jobs", "--svg", "--format", "--journal"};
  uint64_t hash = sap_hash(SAP_HASH_START, sap_version(), strlen(sap_version()));
  for (int i = 0; i < argc; ++i) {
    bool skipped = false;
    for (size_t k = 0; k < sizeof output / sizeof *output; ++k) {
      skipped = skipped || strcmp(argv[i], output[k]) == 0;
    }
    if (skipped) {
      ++i;
    } else {
      hash = sap_hash(hash, argv[i], strlen(argv[i]) + 1);
    }
  }
  s->hash = hash;
}

static bool can_combine(sap_scheme scheme, sap_stage stage) {
  sap_stepper_options options = sap_stepper_options_default();
  options.contact_stage = stage;
  return sap_stepper_options_set_scheme(&options, scheme, NULL) == SAP_STATUS_OK &&
         sap_stepper_options_check(&options, NULL) == SAP_STATUS_OK;
}

// Lists the possible combinations as series, with a message for each impossible one.
static bool list_series(converge_study* s, converge_case* series) {
  const converge_options* o = &s->options;
  s->series = 0;
  for (int i = 0; i < o->nschemes; ++i) {
    for (int j = 0; j < o->nstages; ++j) {
      if (!can_combine(o->schemes[i], o->stages[j])) {
        cli_message("left out: %s has no theta point to evaluate contact at",
                    sap_scheme_text(o->schemes[i]));
        continue;
      }
      for (int k = 0; k < o->nsolvers; ++k) {
        series[s->series] = (converge_case){.series = s->series,
                                            .scheme = o->schemes[i],
                                            .stage = o->stages[j],
                                            .solver = o->solvers[k]};
        ++s->series;
      }
    }
  }
  return s->series > 0;
}

static bool list_cases(converge_study* s) {
  converge_case series[SAP_SCHEME_COUNT * SAP_STAGE_COUNT * CONVERGE_SOLVERS_MAX];
  const converge_options* o = &s->options;
  if (!list_series(s, series)) {
    return false;
  }
  s->references = o->nexact == 0 ? 2 : 0;
  s->count = s->references + s->series * o->levels;
  s->cases = calloc((size_t)s->count, sizeof *s->cases);
  if (s->cases == NULL) {
    return false;
  }
  for (int i = 0; i < s->references; ++i) {
    s->cases[i] = (converge_case){
        .series = -1,
        .scheme = SAP_SCHEME_MIDPOINT,
        .solver = o->solvers[0],
        .stride = ((int64_t)1 << (o->levels - 1)) * o->ratio / (i + 1),
    };
    s->cases[i].dt = o->dt / (double)s->cases[i].stride;
  }
  for (int i = s->references; i < s->count; ++i) {
    const int level = o->levels - 1 - (i - s->references) / s->series;
    s->cases[i] = series[(i - s->references) % s->series];
    s->cases[i].stride = (int64_t)1 << level;
    s->cases[i].dt = o->dt / (double)s->cases[i].stride;
  }
  return true;
}

// Runs the references and measures their difference. False: one failed.
static bool make_reference(converge_study* s, int* code) {
  const double nan = (double)NAN;
  s->reference_error = (converge_errors){nan, nan, nan, nan};
  if (s->references == 0) {
    return true;
  }
  if (!run_jobs(s, 0, s->references)) {
    return false;
  }
  sap_error error = {0};
  sap_multibody* multibody = NULL;
  for (int i = 0; i < s->references; ++i) {
    if (!s->cases[i].done) {
      progress_end(&s->bar);
      cli_message("the reference failed: midpoint with dt = %g s: %s", s->cases[i].dt,
                  s->cases[i].error.message);
      *code = s->cases[i].error.status == SAP_STATUS_MEMORY ? CLI_INTERNAL : CLI_UNCONVERGED;
      return false;
    }
  }
  if (sap_multibody_create(s->model, &multibody, &error) != SAP_STATUS_OK) {
    *code = cli_report(&error);
    return false;
  }
  if (s->options.against == CONVERGE_RICHARDSON) {
    converge_extrapolate(s, multibody);
  }
  converge_find_roundoff(s);
  converge_errors* missed = &s->reference_error;
  converge_compare(s, multibody, s->cases[1].samples, missed);
  if (s->options.against == CONVERGE_RICHARDSON) {  // what the finer run misses, a fourth of this
    *missed = (converge_errors){missed->position / 4.0, missed->velocity / 4.0,
                                missed->position_end / 4.0, missed->velocity_end / 4.0};
  }
  sap_multibody_destroy(multibody);
  return true;
}

static int execute(converge_study* s) {
  int code = CLI_OK;
  progress_begin(&s->bar);
  const bool referenced = make_reference(s, &code);
  const bool complete = referenced && run_jobs(s, s->references, s->count);
  progress_end(&s->bar);
  if (interrupt_came()) {
    if (s->journal != NULL) {
      cli_message("interrupted; finished runs are kept in '%s': the same command continues",
                  s->options.journal);
    } else {
      cli_message("interrupted; with --journal FILE the same command could continue");
    }
    code = CLI_UNCONVERGED;
  }
  if (!referenced) {
    return code;
  }
  const int reported = converge_report(s);
  cli_journal_close(s->journal, complete);
  s->journal = NULL;
  return complete || reported > code ? reported : code;
}

static int converge_scene(const cli_command* command, int argc, char** argv) {
  converge_study study = {0};
  int code;
  if (!converge_options_read(command, argc, argv, &study.options, &code)) {
    return code;
  }
  interrupt_catch(false);
  sap_error error = {0};
  hash_command(&study, argc, argv);
  if (converge_scene_read(&study, &error) != SAP_STATUS_OK) {
    code = cli_report(&error);
  } else if (!list_cases(&study)) {
    code = study.series == 0 ? cli_usage_error(command, "no scheme is left") : CLI_INTERNAL;
  } else if (study.options.journal != NULL && open_journal(&study, &error) != SAP_STATUS_OK) {
    code = cli_report(&error);
  } else {
    code = execute(&study);
  }
  cli_journal_close(study.journal, false);
  for (int i = 0; i < study.count && study.cases != NULL; ++i) {
    free(study.cases[i].samples);
  }
  for (int i = 0; i < study.options.nexact; ++i) {
    free(study.options.exact[i].owned);
  }
  free(study.cases);
  sap_state_clear(&study.start);
  sap_model_destroy(study.model);
  return code;
}

const cli_command cli_command_converge = {
    .name = "converge",
    .operands = "SCENE",
    .summary = "measure the order of convergence in the time step",
    .description =
        "Runs the scene with steps dt, dt/2, dt/4, ... and compares positions and velocities at\n"
        "the multiples of dt, in the L2 norm over time, with an exact solution or with a run of\n"
        "much smaller step. The observed order is the slope of the error over the step in a\n"
        "double-logarithmic chart, by least squares, with its standard error. Two references\n"
        "tell how accurate the reference is: errors less than ten times that are marked and\n"
        "left out of the orders, and the exit code is 1.",
    .examples =
        "  sapstep converge examples/scenes/double_pendulum.xml --dt 0.01 --svg orders.svg\n"
        "  sapstep converge examples/scenes/spring_cylinder.xml --duration 5 --journal "
        "orders.journal\n"
        "  sapstep converge examples/scenes/sliding_box.xml --contact-stage end,theta\n",
    .options = converge_option_list,
    .table = cli_stepper_table,
    .table_offset = offsetof(converge_options, stepper),
    .table_default = cli_stepper_default,
    .hidden = converge_hidden,
    .run = converge_scene,
};
