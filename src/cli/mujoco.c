// SPDX-License-Identifier: BSD-3-Clause
// sapstep mujoco: steps any model that MuJoCo loads, with its collisions and its forces.
#define _POSIX_C_SOURCE 200809L
#include <math.h>
#include <stdio.h>
#include <stdlib.h>

#include <mujoco/mujoco.h>

#include <sapstep/mujoco.h>
#include <sapstep/sapstep.h>

#include "cli/interrupt.h"
#include "cli/mujoco_options.h"
#include "cli/mujoco_output.h"
#include "cli/mujoco_record.h"
#include "cli/options.h"
#include "cli/progress.h"
#include "cli/run_statistics.h"
#include "mujoco/compat.h"

typedef struct mujoco_run {
  mujoco_options o;
  mjModel* model;
  mjData* data;
  sap_mj* adapter;
  mujoco_output out;
  mujoco_record* record;
  sap_contact* contacts;  // of the last step, for the statistics
  int32_t contact_capacity;
  run_statistics statistics;
} mujoco_run;

static sap_status fail(sap_error* error, sap_status status, const char* text, const char* what) {
  return cli_fail(error, status, "%.200s: %.200s", what, text);
}

static void make_data(void* context) {
  mujoco_run* r = context;
  r->data = mj_makeData(r->model);
}

#if mjVERSION_HEADER >= 300
static void load_plugins(void* context) {
  mj_loadAllPluginLibraries(context, NULL);
}
#endif

static sap_status find_plugins(mujoco_run* r, sap_error* error) {
  if (r->o.plugins == NULL) {
    return SAP_STATUS_OK;
  }
#if mjVERSION_HEADER >= 300
  char folder[4096];
  (void)snprintf(folder, sizeof folder, "%s", r->o.plugins);
  const sap_status status = sap_mj_call(load_plugins, folder, error);
  return status != SAP_STATUS_OK || mjp_pluginCount() > 0
             ? status
             : fail(error, SAP_STATUS_IO, "no plugins of MuJoCo there", folder);
#else
  return fail(error, SAP_STATUS_UNSUPPORTED, "this MuJoCo has no plugins", r->o.plugins);
#endif
}

// What MuJoCo refuses is the model's: too little memory, say.
static int report(const sap_error* error) {
  const int code = cli_report(error);
  return error->status == SAP_STATUS_CALLBACK ? CLI_FILE : code;
}

static sap_status set_keyframe(mujoco_run* r, sap_error* error) {
  if (r->o.keyframe == NULL) {
    return SAP_STATUS_OK;
  }
  int32_t index = mj_name2id(r->model, mjOBJ_KEY, r->o.keyframe);
  if (index < 0 &&
      (!cli_read_integer(r->o.keyframe, &index) || index < 0 || index >= (int32_t)r->model->nkey)) {
    char text[64];
    (void)snprintf(text, sizeof text, "no such keyframe (the model has %d)", (int)r->model->nkey);
    return fail(error, SAP_STATUS_ARGUMENT, text, r->o.keyframe);
  }
  mj_resetDataKeyframe(r->model, r->data, index);
  return SAP_STATUS_OK;
}

// Both or one of --stiffness and --relaxation-time.
static sap_status override_materials(mujoco_run* r, sap_error* error) {
  sap_status status = SAP_STATUS_OK;
  if (isnan(r->o.stiffness) && isnan(r->o.relaxation_time)) {
    return status;
  }
  for (int32_t g = 0; status == SAP_STATUS_OK && g < (int32_t)r->model->ngeom; ++g) {
    double k, tau_d;
    status = sap_mj_get_geom(r->adapter, g, &k, &tau_d, error);
    if (status == SAP_STATUS_OK) {
      status = sap_mj_set_geom(r->adapter, g, isnan(r->o.stiffness) ? k : r->o.stiffness,
                               isnan(r->o.relaxation_time) ? tau_d : r->o.relaxation_time, error);
    }
  }
  return status;
}

static run_energy measure_energy(const mujoco_run* r) {
  sap_mj_measure_energy(r->model, r->data);
  return (run_energy){.kinetic = r->data->energy[1], .potential = r->data->energy[0]};
}

// Of the trajectory and of the recording; report NULL: the start.
static sap_status write_row(mujoco_run* r, const sap_mj_report* report, sap_error* error) {
  if (r->o.output != NULL) {
    mujoco_output_row(&r->out, r->model, r->data, report);
  }
  return r->record != NULL ? mujoco_record_row(r->record, r->data, report, error) : SAP_STATUS_OK;
}

static sap_status prepare(mujoco_run* r, sap_error* error) {
  sap_status status = find_plugins(r, error);
  if (status == SAP_STATUS_OK) {
    status = sap_mj_load(r->o.path, &r->model, error);
  }
  if (status == SAP_STATUS_OK) {
    r->model->opt.timestep = isnan(r->o.dt) ? r->model->opt.timestep : r->o.dt;
    status = sap_mj_call(make_data, r, error);
  }
  if (status == SAP_STATUS_OK) {
    status = set_keyframe(r, error);
  }
  if (status == SAP_STATUS_OK) {
    status = sap_mj_create(r->model, &r->o.adapter, &r->adapter, error);
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
    r->statistics.planned = cli_step_count(r->o.duration, r->statistics.dt);
  }
  if (status == SAP_STATUS_OK && r->o.output != NULL &&
      !mujoco_output_open(&r->out, r->o.output, r->model)) {
    status = fail(error, SAP_STATUS_IO, "cannot be written", r->o.output);
  }
  if (status == SAP_STATUS_OK && r->o.record != NULL) {
    status = mujoco_record_open(r->o.record, r->model, &r->o.recorder, &r->record, error);
  }
  return status == SAP_STATUS_OK ? write_row(r, NULL, error) : status;
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
  sap_mj_report done;
  const sap_status status = sap_mj_step(r->adapter, r->data, &done, error);
  if (status != SAP_STATUS_OK) {
    s->failures += status != SAP_STATUS_MEMORY && status != SAP_STATUS_INTERNAL;
    return status;
  }
  const int32_t contacts = collect(r, &done);
  const sap_step_report common = {.time_free_motion = done.time_position,
                                  .time_constraints = done.time_assembly,
                                  .time_solver = done.time_solver,
                                  .time_total = done.time_total,
                                  .solver = done.solver};
  if (contacts < 0 || !run_statistics_add(s, &common, r->contacts, contacts)) {
    return fail(error, SAP_STATUS_MEMORY, "out of memory", r->o.path);
  }
  s->penetration_end = done.penetration;
  return s->steps % r->o.every == 0 || s->steps == s->planned ? write_row(r, &done, error)
                                                              : SAP_STATUS_OK;
}

static sap_status advance(mujoco_run* r, sap_error* error) {
  run_statistics* s = &r->statistics;
  progress bar;
  progress_begin(&bar);
  sap_status status = SAP_STATUS_OK;
  while (status == SAP_STATUS_OK && s->steps < s->planned && !interrupt_came()) {
    status = step(r, error);
    if (progress_due(&bar)) {
      char note[64];
      (void)snprintf(note, sizeof note, "t %.3g of %.3g s", r->data->time, r->o.duration);
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
  } else if (interrupt_came()) {
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
  if (r->o.output != NULL && !mujoco_output_close(&r->out)) {
    cli_message("%s: could not be written", r->o.output);
    return CLI_FILE;
  }
  mujoco_record* record = r->record;
  r->record = NULL;
  if (mujoco_record_close(record, &error) != SAP_STATUS_OK) {
    return cli_report(&error);
  }
  run_statistics_print(s, r->o.path, r->o.format, r->o.stats, stdout);
  return cli_flush() == CLI_OK ? code : CLI_FILE;
}

static int run_mujoco(const cli_command* command, int argc, char** argv) {
  mujoco_run r = {0};
  int code = CLI_OK;
  if (!mujoco_options_read(command, argc, argv, &r.o, &code)) {
    return code;
  }
  interrupt_catch(false);

  sap_error error = {0};
  code = prepare(&r, &error) == SAP_STATUS_OK ? execute(&r) : report(&error);
  mujoco_output_abandon(&r.out);
  (void)mujoco_record_close(r.record, NULL);
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
        "  sapstep mujoco scene.xml --keyframe home --dt 0.02 --output scene.csv\n"
        "  sapstep mujoco humanoid.xml --record humanoid.h5 && sapstep view humanoid.h5\n",
    .options = mujoco_option_list,
    .solver_options = true,
    .run = run_mujoco,
};
