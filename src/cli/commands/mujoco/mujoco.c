// SPDX-License-Identifier: BSD-3-Clause
// sapstep mujoco: steps any model that MuJoCo loads, with its collisions and its forces.
#define _POSIX_C_SOURCE 200809L
#include <stdio.h>
#include <stdlib.h>

#include <mujoco/mujoco.h>

#include <sapstep/mujoco.h>
#include <sapstep/sapstep.h>

#include "cli/commands/mujoco/mujoco_load.h"
#include "cli/commands/mujoco/mujoco_output.h"
#include "cli/commands/mujoco/mujoco_record.h"
#include "cli/commands/run/run_statistics.h"
#include "cli/interrupt.h"
#include "cli/options.h"
#include "cli/progress.h"
#include "mujoco/compat.h"

typedef struct mujoco_run {
  mujoco_options o;
  mujoco_loaded loaded;
  sap_file* out;  // the trajectory, NULL: none
  mujoco_record* record;
  sap_contact* contacts;  // of the last step, for the statistics
  int32_t contact_capacity;
  run_statistics statistics;
} mujoco_run;

// What MuJoCo refuses is the model's: too little memory, say.
static int report(const sap_error* error) {
  const int code = cli_report(error);
  return error->status == SAP_STATUS_CALLBACK ? CLI_FILE : code;
}

static run_energy measure_energy(const mujoco_run* r) {
  sap_mj_measure_energy(r->loaded.model, r->loaded.data);
  return (run_energy){.kinetic = r->loaded.data->energy[1], .potential = r->loaded.data->energy[0]};
}

// Of the trajectory and of the recording; report NULL: the start.
static sap_status write_row(mujoco_run* r, const sap_mj_report* report, sap_error* error) {
  sap_status status = SAP_STATUS_OK;
  if (r->out != NULL) {
    status = mujoco_output_row(r->out, r->loaded.model, r->loaded.data, report, error);
  }
  return status == SAP_STATUS_OK && r->record != NULL
             ? mujoco_record_row(r->record, r->loaded.data, report, error)
             : status;
}

static sap_status resume(mujoco_run* r, sap_error* error) {
  return r->o.resume == NULL ? SAP_STATUS_OK
                             : sap_mj_checkpoint_read(r->o.resume, r->loaded.adapter,
                                                      r->loaded.data, &r->statistics.before, error);
}

// At the end, and where the steps are a multiple of what was asked for.
static sap_status write_checkpoint(mujoco_run* r, bool end, sap_error* error) {
  const int64_t steps = r->statistics.before + r->statistics.steps;
  const int32_t every = r->o.checkpoint_every;
  if (r->o.checkpoint == NULL || !(end || (every > 0 && steps % every == 0))) {
    return SAP_STATUS_OK;
  }
  return sap_mj_checkpoint_write(r->o.checkpoint, r->loaded.adapter, r->loaded.data, steps, error);
}

// What is there at the start: contacts, forces, energies, the first row.
static sap_status look_at_start(mujoco_run* r, sap_error* error) {
  sap_status status = sap_mj_forward(r->loaded.adapter, r->loaded.data, NULL, error);
  if (status != SAP_STATUS_OK) {
    return status;
  }
  run_statistics* s = &r->statistics;
  s->start = s->end = measure_energy(r);
  s->dt = r->loaded.model->opt.timestep;
  const int64_t whole = cli_step_count(r->o.duration, s->dt);
  s->planned = whole > s->before ? whole - s->before : 0;
  if (r->o.output != NULL) {
    status = mujoco_output_open(r->o.output, r->loaded.model, &r->out, error);
  }
  if (status == SAP_STATUS_OK && r->o.record != NULL) {
    status = mujoco_record_open(r->o.record, r->loaded.model, &r->o.recorder, &r->record, error);
  }
  return status == SAP_STATUS_OK ? write_row(r, NULL, error) : status;
}

static sap_status prepare(mujoco_run* r, sap_error* error) {
  sap_status status = mujoco_load(&r->o, &r->loaded, error);
  if (status == SAP_STATUS_OK) {
    status = resume(r, error);
  }
  if (status == SAP_STATUS_OK) {
    status = look_at_start(r, error);
  }
  return status == SAP_STATUS_OK ? resume(r, error) : status;  // the look leaves traces
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
  for (int32_t i = 0; i < (int32_t)r->loaded.data->ncon && count < report->contacts; ++i) {
    const mjContact* c = &r->loaded.data->contact[i];
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
  const sap_status status = sap_mj_step(r->loaded.adapter, r->loaded.data, &done, error);
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
    return cli_no_memory(error);
  }
  s->penetration_end = done.penetration;
  return (s->before + s->steps) % r->o.every == 0 || s->steps == s->planned
             ? write_row(r, &done, error)
             : SAP_STATUS_OK;
}

static sap_status advance(mujoco_run* r, sap_error* error) {
  run_statistics* s = &r->statistics;
  progress bar;
  progress_begin(&bar);
  sap_status status = SAP_STATUS_OK;
  while (status == SAP_STATUS_OK && s->steps < s->planned && !interrupt_came()) {
    status = step(r, error);
    if (status == SAP_STATUS_OK) {
      status = write_checkpoint(r, false, error);
    }
    if (progress_due(&bar)) {
      char note[64];
      (void)snprintf(note, sizeof note, "t %.3g of %.3g s", r->loaded.data->time, r->o.duration);
      progress_draw(&bar, (double)s->steps / (double)s->planned, note);
    }
  }
  progress_end(&bar);
  return status;
}

// Reports an error; of a trajectory the rows so far are kept where they can be.
static int leave(mujoco_run* r, const sap_error* error) {
  const int code = cli_report(error);
  if (r->out != NULL &&
      (sap_file_commit(r->out, NULL) == SAP_STATUS_OK || sap_file_keep_lines(r->out))) {
    cli_message("the trajectory's rows so far are in '%s'", r->o.output);
  }
  return code;
}

static int execute(mujoco_run* r) {
  run_statistics* s = &r->statistics;
  sap_error error = {0};
  int code = CLI_OK;
  const sap_status status = advance(r, &error);
  if (status != SAP_STATUS_OK && s->failures == 0) {
    return leave(r, &error);
  }
  if (status != SAP_STATUS_OK) {
    cli_message("step %lld at t = %.9g s: %s", (long long)s->steps + 1, r->loaded.data->time,
                error.message);
    code = CLI_UNCONVERGED;
  } else if (interrupt_came()) {
    cli_message("interrupted at t = %.9g s", r->loaded.data->time);
    code = CLI_UNCONVERGED;
  } else if (s->unconverged > 0) {
    cli_message("%lld of %lld steps did not converge", (long long)s->unconverged,
                (long long)s->steps);
    code = CLI_UNCONVERGED;
  }
  if (write_checkpoint(r, true, &error) != SAP_STATUS_OK) {
    return leave(r, &error);
  }
  s->time = (double)s->steps * s->dt;
  if (status == SAP_STATUS_OK &&
      sap_mj_forward(r->loaded.adapter, r->loaded.data, NULL, &error) == SAP_STATUS_OK) {
    s->end = measure_energy(r);
  }
  mujoco_record* record = r->record;
  r->record = NULL;
  if (mujoco_record_close(record, &error) != SAP_STATUS_OK ||
      (r->out != NULL && sap_file_commit(r->out, &error) != SAP_STATUS_OK)) {
    return leave(r, &error);
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
  sap_file_close(r.out);
  (void)mujoco_record_close(r.record, NULL);
  mujoco_unload(&r.loaded);
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
        "  sapstep mujoco humanoid.xml --record humanoid.h5 && sapstep view humanoid.h5\n"
        "  sapstep mujoco humanoid.xml --duration 2 --checkpoint at2.checkpoint\n"
        "  sapstep mujoco humanoid.xml --duration 4 --resume at2.checkpoint\n",
    .options = mujoco_option_list,
    .solver_options = true,
    .run = run_mujoco,
};
