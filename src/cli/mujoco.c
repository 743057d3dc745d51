// SPDX-License-Identifier: BSD-3-Clause
// sapstep mujoco: steps any model that MuJoCo loads, with its collisions and its forces.
#define _POSIX_C_SOURCE 200809L
#include <math.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <mujoco/mujoco.h>

#include <sapstep/mujoco.h>
#include <sapstep/sapstep.h>

#include "cli/mujoco_output.h"
#include "cli/options.h"
#include "cli/progress.h"
#include "cli/run_statistics.h"

enum {
  OPTION_DURATION = 1,
  OPTION_DT,
  OPTION_SOLVER,
  OPTION_KEYFRAME,
  OPTION_CONTACT_MODEL,
  OPTION_STIFFNESS,
  OPTION_RELAXATION_TIME,
  OPTION_SIGMA,
  OPTION_BETA,
  OPTION_OUTPUT,
  OPTION_EVERY,
  OPTION_STATS,
  OPTION_FORMAT,
};

static const cli_option option_list[] = {
    {"duration", "S", OPTION_DURATION, "simulated time [s] (5)"},
    {"dt", "S", OPTION_DT, "time step [s] (the model's)"},
    {"solver", "NAME", OPTION_SOLVER, "contact solver, see 'sapstep solvers' (sap)"},
    {"keyframe", "NAME", OPTION_KEYFRAME, "start from this keyframe, by name or index"},
    {"contact-model", "NAME", OPTION_CONTACT_MODEL, "sap, similar or lagged (sap)"},
    {"stiffness", "K", OPTION_STIFFNESS, "contact stiffness of every geom [N/m]"},
    {"relaxation-time", "S", OPTION_RELAXATION_TIME, "relaxation time of every geom [s]"},
    {"sigma", "X", OPTION_SIGMA, "slip parameter of the regularization (the model's, or 1e-3)"},
    {"beta", "X", OPTION_BETA, "near-rigid parameter (the model's, or 1)"},
    {"output", "FILE", OPTION_OUTPUT, "write the trajectory as CSV"},
    {"every", "N", OPTION_EVERY, "a row of the trajectory every N steps (1)"},
    {"stats", NULL, OPTION_STATS, "tell where the time goes"},
    {"format", "NAME", OPTION_FORMAT, "table or json (table)"},
    {NULL, NULL, 0, NULL},
};

typedef struct mujoco_run {
  const char *path, *keyframe, *output;
  double duration, dt, stiffness, relaxation_time;  // NaN: not given
  int32_t every;
  bool stats;
  cli_format format;
  sap_mj_options options;
  mjModel* model;
  mjData* data;
  sap_mj* adapter;
  mujoco_output out;
  sap_contact* contacts;  // of the last step, for the statistics
  int32_t contact_capacity;
  run_statistics statistics;
} mujoco_run;

static volatile sig_atomic_t interrupted;

static void interrupt(int signal_number) {
  (void)signal_number;
  interrupted = 1;
}

static void print_warning(void* context, const char* message) {
  (void)context;
  cli_message("warning: MuJoCo: %s", message);
}

static sap_status fail(sap_error* error, sap_status status, const char* text, const char* what) {
  error->status = status;
  (void)snprintf(error->message, sizeof error->message, "%.200s: %.200s", what, text);
  return status;
}

// What the option must be, where its argument is not that; NULL: it was taken.
static const char* take(mujoco_run* r, int id, const char* argument) {
  switch (id) {
    case OPTION_DURATION:
      return cli_read_real(argument, &r->duration) && r->duration >= 0.0 && r->duration <= 1e9
                 ? NULL
                 : "between 0 and 1e9 s";
    case OPTION_DT:
      return cli_read_real(argument, &r->dt) && r->dt > 0.0 ? NULL : "finite and > 0 s";
    case OPTION_SOLVER:
      r->options.solver = argument;
      for (int32_t i = 0; i < sap_solver_count(); ++i) {
        if (strcmp(argument, sap_solver_get_info(i)->name) == 0) {
          return NULL;
        }
      }
      return "one of those that 'sapstep solvers' lists";
    case OPTION_KEYFRAME:
      r->keyframe = argument;
      return NULL;
    case OPTION_CONTACT_MODEL:
      for (int i = 0; i < (int)SAP_CONTACT_MODEL_COUNT; ++i) {
        if (strcmp(argument, sap_contact_model_text((sap_contact_model)i)) == 0) {
          r->options.contact_model = (sap_contact_model)i;
          return NULL;
        }
      }
      return "sap, similar or lagged";
    case OPTION_STIFFNESS:
      return cli_read_real(argument, &r->stiffness) && r->stiffness > 0.0 ? NULL
                                                                          : "finite and > 0 N/m";
    case OPTION_RELAXATION_TIME:
      return cli_read_real(argument, &r->relaxation_time) && r->relaxation_time >= 0.0
                 ? NULL
                 : "finite and >= 0 s";
    case OPTION_SIGMA:
      return cli_read_real(argument, &r->options.regularization.sigma) &&
                     r->options.regularization.sigma > 0.0
                 ? NULL
                 : "finite and > 0";
    case OPTION_BETA:
      return cli_read_real(argument, &r->options.regularization.beta) &&
                     r->options.regularization.beta >= 0.0
                 ? NULL
                 : "finite and >= 0";
    case OPTION_OUTPUT:
      r->output = argument;
      return argument[0] != '\0' ? NULL : "a path";
    case OPTION_EVERY:
      return cli_read_integer(argument, &r->every) && r->every >= 1 ? NULL : "an integer >= 1";
    case OPTION_FORMAT: {
      const int format = cli_read_choice(argument, cli_format_names);
      r->format = (cli_format)format;
      return format == CLI_FORMAT_TABLE || format == CLI_FORMAT_JSON ? NULL : "table or json";
    }
    default:
      r->stats = true;
      return NULL;
  }
}

static bool read_options(const cli_command* command, int argc, char** argv, mujoco_run* r,
                         int* exit_code) {
  const double nan = (double)NAN;
  *r = (mujoco_run){.duration = 5.0,
                    .dt = nan,
                    .stiffness = nan,
                    .relaxation_time = nan,
                    .every = 1,
                    .options = sap_mj_options_default()};
  r->options.warning = print_warning;
  cli_parser parser;
  cli_parser_begin(&parser, command, &r->options.solver_options, argc, argv);
  bool has_every = false;
  const char* argument;
  int id;
  while ((id = cli_parse_next(&parser, &argument)) > 0) {
    const char* allowed = take(r, id, argument);
    if (allowed != NULL) {
      const cli_option* option = option_list;
      while (option->id != id) {
        ++option;
      }
      *exit_code =
          cli_usage_error(command, "--%s '%s' must be %s", option->name, argument, allowed);
      return false;
    }
    has_every = has_every || id == OPTION_EVERY;
  }
  sap_error error;
  if (id == CLI_PARSE_LEAVE) {
    *exit_code = parser.exit_code;
  } else if (parser.noperands != 1) {
    *exit_code = cli_usage_error(
        command, parser.noperands == 0 ? "a model file is needed" : "one model file at a time");
  } else if (has_every && r->output == NULL) {
    *exit_code = cli_usage_error(command, "--every needs --output");
  } else if (sap_solver_options_check(&r->options.solver_options, &error) != SAP_STATUS_OK) {
    *exit_code = cli_usage_error(command, "%s", error.message);
  } else {
    r->path = parser.operands[0];
    return true;
  }
  return false;
}

static void make_data(void* context) {
  mujoco_run* r = context;
  r->data = mj_makeData(r->model);
}

static sap_status set_keyframe(mujoco_run* r, sap_error* error) {
  if (r->keyframe == NULL) {
    return SAP_STATUS_OK;
  }
  int32_t index = mj_name2id(r->model, mjOBJ_KEY, r->keyframe);
  if (index < 0 &&
      (!cli_read_integer(r->keyframe, &index) || index < 0 || index >= (int32_t)r->model->nkey)) {
    char text[64];
    (void)snprintf(text, sizeof text, "no such keyframe (the model has %d)", (int)r->model->nkey);
    return fail(error, SAP_STATUS_ARGUMENT, text, r->keyframe);
  }
  mj_resetDataKeyframe(r->model, r->data, index);
  return SAP_STATUS_OK;
}

// Both or one of --stiffness and --relaxation-time.
static sap_status override_materials(mujoco_run* r, sap_error* error) {
  sap_status status = SAP_STATUS_OK;
  if (isnan(r->stiffness) && isnan(r->relaxation_time)) {
    return status;
  }
  for (int32_t g = 0; status == SAP_STATUS_OK && g < (int32_t)r->model->ngeom; ++g) {
    double k, tau_d;
    status = sap_mj_get_geom(r->adapter, g, &k, &tau_d, error);
    if (status == SAP_STATUS_OK) {
      status = sap_mj_set_geom(r->adapter, g, isnan(r->stiffness) ? k : r->stiffness,
                               isnan(r->relaxation_time) ? tau_d : r->relaxation_time, error);
    }
  }
  return status;
}

static run_energy measure_energy(const mujoco_run* r) {
  mj_energyPos(r->model, r->data);
  mj_energyVel(r->model, r->data);
  return (run_energy){.kinetic = r->data->energy[1], .potential = r->data->energy[0]};
}

static sap_status prepare(mujoco_run* r, sap_error* error) {
  sap_status status = sap_mj_load(r->path, &r->model, error);
  if (status == SAP_STATUS_OK) {
    r->model->opt.timestep = isnan(r->dt) ? r->model->opt.timestep : r->dt;
    status = sap_mj_call(make_data, r, error);
  }
  if (status == SAP_STATUS_OK) {
    status = set_keyframe(r, error);
  }
  if (status == SAP_STATUS_OK) {
    status = sap_mj_create(r->model, &r->options, &r->adapter, error);
  }
  if (status == SAP_STATUS_OK) {
    status = override_materials(r, error);
  }
  if (status == SAP_STATUS_OK) {
    status = sap_mj_forward(r->adapter, r->data, NULL, error);
  }
  if (status == SAP_STATUS_OK) {
    r->statistics.start = r->statistics.end = measure_energy(r);
    r->statistics.dt = r->model->opt.timestep;
    r->statistics.planned = (int64_t)ceil(r->duration / r->statistics.dt * (1.0 - 1e-12));
  }
  if (status == SAP_STATUS_OK && r->output != NULL &&
      !mujoco_output_open(&r->out, r->output, r->model)) {
    status = fail(error, SAP_STATUS_IO, "cannot be written", r->output);
  }
  if (status == SAP_STATUS_OK && r->output != NULL) {
    mujoco_output_row(&r->out, r->model, r->data, NULL);
  }
  return status;
}

// Contacts of the step with what the statistics want of them; -1: no memory.
static int32_t collect(mujoco_run* r, const sap_mj_report* report) {
  if (report->contacts > r->contact_capacity) {
    const int32_t capacity = 2 * report->contacts;
    sap_contact* grown = realloc(r->contacts, (size_t)capacity * sizeof *grown);
    if (grown == NULL) {
      return -1;
    }
    r->contacts = grown;
    r->contact_capacity = capacity;
  }
  int32_t count = 0;
  for (int32_t i = 0; i < (int32_t)r->data->ncon && count < report->contacts; ++i) {
    const mjContact* c = &r->data->contact[i];
    if (c->exclude == 0 && c->efc_address >= 0) {
      r->contacts[count++] = (sap_contact){.phi = c->dist - c->includemargin, .condim = 3};
    }
  }
  for (int32_t i = 0; i < count; ++i) {
    r->contacts[i].vc[0] = report->mean_slip;
  }
  return count;
}

static sap_status step(mujoco_run* r, sap_error* error) {
  run_statistics* s = &r->statistics;
  sap_mj_report report;
  const sap_status status = sap_mj_step(r->adapter, r->data, &report, error);
  if (status != SAP_STATUS_OK) {
    s->failures += status != SAP_STATUS_MEMORY && status != SAP_STATUS_INTERNAL;
    return status;
  }
  const int32_t contacts = collect(r, &report);
  const sap_step_report common = {.time_free_motion = report.time_position,
                                  .time_constraints = report.time_assembly,
                                  .time_solver = report.time_solver,
                                  .time_total = report.time_total,
                                  .solver = report.solver};
  if (contacts < 0 || !run_statistics_add(s, &common, r->contacts, contacts)) {
    return fail(error, SAP_STATUS_MEMORY, "out of memory", r->path);
  }
  s->penetration_end = report.penetration;
  if (r->output != NULL && (s->steps % r->every == 0 || s->steps == s->planned)) {
    mujoco_output_row(&r->out, r->model, r->data, &report);
  }
  return SAP_STATUS_OK;
}

static sap_status advance(mujoco_run* r, sap_error* error) {
  run_statistics* s = &r->statistics;
  progress bar;
  progress_begin(&bar);
  sap_status status = SAP_STATUS_OK;
  while (status == SAP_STATUS_OK && s->steps < s->planned && !interrupted) {
    status = step(r, error);
    if (progress_due(&bar)) {
      char note[64];
      (void)snprintf(note, sizeof note, "t %.3g of %.3g s", r->data->time, r->duration);
      progress_draw(&bar, (double)s->steps / (double)s->planned, note);
    }
  }
  progress_end(&bar);
  return status;
}

static int execute(mujoco_run* r) {
  run_statistics* s = &r->statistics;
  sap_error error = {0};
  int code = CLI_OK;
  const sap_status status = advance(r, &error);
  if (status != SAP_STATUS_OK && s->failures == 0) {
    return cli_report(&error);
  }
  if (status != SAP_STATUS_OK) {
    cli_message("step %lld at t = %.9g s: %s", (long long)s->steps + 1, r->data->time,
                error.message);
    code = CLI_UNCONVERGED;
  } else if (interrupted) {
    cli_message("interrupted at t = %.9g s", r->data->time);
    code = CLI_UNCONVERGED;
  } else if (s->unconverged > 0) {
    cli_message("%lld of %lld steps did not converge", (long long)s->unconverged,
                (long long)s->steps);
    code = CLI_UNCONVERGED;
  }
  s->time = (double)s->steps * s->dt;
  if (status == SAP_STATUS_OK &&
      sap_mj_forward(r->adapter, r->data, NULL, &error) == SAP_STATUS_OK) {
    s->end = measure_energy(r);
  }
  if (r->output != NULL && !mujoco_output_close(&r->out)) {
    cli_message("%s: could not be written", r->output);
    return CLI_FILE;
  }
  run_statistics_print(s, r->path, r->format, r->stats, stdout);
  return cli_flush() == CLI_OK ? code : CLI_FILE;
}

static int run_mujoco(const cli_command* command, int argc, char** argv) {
  mujoco_run r;
  int code = CLI_OK;
  if (!read_options(command, argc, argv, &r, &code)) {
    return code;
  }
  struct sigaction action = {.sa_handler = interrupt};
  (void)sigemptyset(&action.sa_mask);
  (void)sigaction(SIGINT, &action, NULL);
  (void)sigaction(SIGTERM, &action, NULL);

  sap_error error = {0};
  code = prepare(&r, &error) == SAP_STATUS_OK ? execute(&r) : cli_report(&error);
  mujoco_output_abandon(&r.out);
  sap_mj_destroy(r.adapter);
  if (r.data != NULL) {
    mj_deleteData(r.data);
  }
  if (r.model != NULL) {
    mj_deleteModel(r.model);
  }
  free(r.contacts);
  run_statistics_clear(&r.statistics);
  return code;
}

const cli_command cli_command_mujoco = {
    .name = "mujoco",
    .operands = "MODEL",
    .summary = "step a model with MuJoCo's collisions and forces and this solver",
    .description =
        "Loads the model (MJCF, URDF or MJB) as MuJoCo does, steps it from its default pose or a\n"
        "keyframe and prints a closing table, as 'sapstep run' does with its own engine. Forces "
        "of\n"
        "springs, dampers and position servos are implicit; contacts have physical stiffness.",
    .examples =
        "  sapstep mujoco humanoid.xml --duration 10\n"
        "  sapstep mujoco scene.xml --keyframe home --dt 0.02 --output scene.csv\n",
    .options = option_list,
    .solver_options = true,
    .run = run_mujoco,
};
