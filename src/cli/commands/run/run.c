// SPDX-License-Identifier: BSD-3-Clause
// sapstep run: steps a scene and says how it went.
#define _POSIX_C_SOURCE 200809L
#include <stdio.h>
#include <stdlib.h>

#include <sapstep/sapstep.h>

#include "cli/commands/run/run.h"
#include "cli/commands/run/run_dump.h"
#include "cli/interrupt.h"
#include "cli/options.h"
#include "cli/progress.h"

// At the end, and where the steps are a multiple of what was asked for.
static sap_status write_checkpoint(run* r, bool end, sap_error* error) {
  const int64_t steps = r->statistics.before + r->statistics.steps;
  const int32_t every = r->options.checkpoint_every;
  if (r->options.checkpoint == NULL || !(end || (every > 0 && steps % every == 0))) {
    return SAP_STATUS_OK;
  }
  return sap_checkpoint_write(r->options.checkpoint, r->stepper, &r->state, steps, error);
}

// One step with all that is recorded of it.
static sap_status step(run* r, sap_error* error) {
  run_statistics* statistics = &r->statistics;
  sap_step_report report;
  sap_status status = sap_stepper_step(r->stepper, &r->state, &report, error);
  if (status != SAP_STATUS_OK) {
    statistics->failures += status != SAP_STATUS_MEMORY && status != SAP_STATUS_INTERNAL;
    return status;
  }
  if (r->options.dump != NULL && (statistics->steps + 1) % r->options.dump_every == 0) {
    status = run_dump(r->options.dump, (long long)statistics->steps + 1, report.problem, error);
    if (status != SAP_STATUS_OK) {
      return status;
    }
  }
  status = sap_multibody_collect(r->multibody, &report, error);
  if (status != SAP_STATUS_OK) {
    return status;
  }
  const int32_t contacts = sap_multibody_contact_count(r->multibody);
  if (!run_statistics_add(statistics, &report, sap_multibody_contacts(r->multibody), contacts)) {
    return cli_no_memory(error);
  }
  if ((statistics->before + statistics->steps) % r->options.every == 0 ||
      statistics->steps == statistics->planned) {
    return run_write_row(r, &report, error);
  }
  return SAP_STATUS_OK;
}

static sap_status advance(run* r, sap_error* error) {
  run_statistics* statistics = &r->statistics;
  const int64_t whole = cli_step_count(r->options.duration, r->options.stepper.dt);
  statistics->planned = whole > statistics->before ? whole - statistics->before : 0;
  progress bar;
  progress_begin(&bar);
  statistics->memory_still = statistics->memory_warm = run_peak_memory();
  sap_status status = SAP_STATUS_OK;
  while (status == SAP_STATUS_OK && statistics->steps < statistics->planned && !interrupt_came()) {
    status = step(r, error);
    if (status == SAP_STATUS_OK) {
      status = write_checkpoint(r, false, error);
    }
    if (statistics->steps == statistics->planned / 10) {
      statistics->memory_warm = run_peak_memory();
    }
    if (progress_due(&bar)) {
      char note[64];
      (void)snprintf(note, sizeof note, "t %.3g of %.3g s", r->state.t, r->options.duration);
      progress_draw(&bar, (double)statistics->steps / (double)statistics->planned, note);
    }
  }
  progress_end(&bar);
  return status;
}

// What is measured where the run ended.
static sap_status finish(run* r, sap_error* error) {
  run_statistics* statistics = &r->statistics;
  statistics->time = (double)statistics->steps * statistics->dt;
  statistics->memory_end = run_peak_memory();
  sap_status status = run_measure_energy(r, &statistics->end, error);
  if (status == SAP_STATUS_OK) {
    status = sap_multibody_detect(r->multibody, r->state.q, error);
  }
  if (status == SAP_STATUS_OK) {
    statistics->penetration_end = run_penetration(sap_multibody_contacts(r->multibody),
                                                  sap_multibody_contact_count(r->multibody));
  }
  return status;
}

static void clear(run* r) {
  (void)sap_recorder_close(r->recorder, NULL);
  sap_trajectory_close(r->trajectory);
  sap_stepper_destroy(r->stepper);
  sap_multibody_destroy(r->multibody);
  sap_model_destroy(r->model);
  sap_state_clear(&r->state);
  run_controls_clear(&r->controls);
  free(r->control);
  run_statistics_clear(&r->statistics);
}

// Reports an output that could not be written; of a trajectory what could be is kept.
static int leave(run* r, const sap_error* error) {
  const int code = cli_report(error);
  if (r->trajectory != NULL && (sap_trajectory_commit(r->trajectory, NULL) == SAP_STATUS_OK ||
                                sap_trajectory_keep(r->trajectory))) {
    cli_message("the trajectory's rows so far are in '%s'", r->options.output);
  }
  return code;
}

// From the first step to the closing table; the exit code.
static int execute(run* r) {
  sap_error error = {0};
  int code = CLI_OK;
  const sap_status status = advance(r, &error);
  if (status != SAP_STATUS_OK && r->statistics.failures == 0) {
    return leave(r, &error);
  }
  if (status != SAP_STATUS_OK) {
    cli_message("step %lld at t = %.9g s: %s", (long long)r->statistics.steps + 1, r->state.t,
                error.message);
    code = CLI_UNCONVERGED;
  } else if (interrupt_came()) {
    cli_message("interrupted at t = %.9g s", r->state.t);
    code = CLI_UNCONVERGED;
  } else if (r->statistics.unconverged > 0) {
    cli_message("%lld of %lld steps did not converge", (long long)r->statistics.unconverged,
                (long long)r->statistics.steps);
    code = CLI_UNCONVERGED;
  }
  if (write_checkpoint(r, true, &error) != SAP_STATUS_OK) {
    return leave(r, &error);
  }
  const sap_status recorded = sap_recorder_close(r->recorder, &error);
  r->recorder = NULL;
  if (recorded != SAP_STATUS_OK || finish(r, &error) != SAP_STATUS_OK ||
      (r->trajectory != NULL && sap_trajectory_commit(r->trajectory, &error) != SAP_STATUS_OK)) {
    return leave(r, &error);
  }
  run_statistics_print(&r->statistics, r->options.scene.path, r->options.format, r->options.stats,
                       stdout);
  return cli_flush() == CLI_OK ? code : CLI_FILE;
}

static int run_scene(const cli_command* command, int argc, char** argv) {
  run r = {0};
  int code;
  if (!run_options_read(command, argc, argv, &r.options, &code)) {
    return code;
  }
  interrupt_catch(false);

  sap_error error = {0};
  if (run_prepare(&r, &error) == SAP_STATUS_OK) {
    code = execute(&r);
  } else {
    code = cli_report(&error);
  }
  clear(&r);
  return code;
}

const cli_command cli_command_run = {
    .name = "run",
    .operands = "SCENE",
    .summary = "step a scene (MJCF or URDF) and report how it went",
    .description =
        "Steps the scene from its default pose or a keyframe and prints a closing table: time per\n"
        "step, contacts, Newton iterations, penetration, slip and energies. A failed step or "
        "Ctrl-C\n"
        "ends the run; the table, the trajectory and the recording so far are kept, and the exit "
        "code is 1.",
    .examples =
        "  sapstep run examples/scenes/clutter_40.xml --duration 10\n"
        "  sapstep run examples/scenes/quadruped.xml --scheme midpoint --output quadruped.csv\n"
        "  sapstep run examples/scenes/clutter_40.xml --duration 2 --checkpoint at2.checkpoint\n"
        "  sapstep run examples/scenes/clutter_40.xml --duration 4 --resume at2.checkpoint\n",
    .options = run_option_list,
    .solver_options = true,
    .run = run_scene,
};
