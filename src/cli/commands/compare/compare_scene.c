// SPDX-License-Identifier: BSD-3-Clause
// Scenes that are stepped, and the problems that come up: one solver steps, all solve.
#include <stdlib.h>

#include "cli/commands/compare/compare.h"
#include "cli/expression.h"
#include "cli/options.h"
#include "cli/progress.h"

enum { STEPS_MAX = 100 * 1000 * 1000 };

static void warn(void* context, const char* message) {
  (void)context;
  cli_message("warning: %s", message);
}

static sap_status find_forces(const compare_options* o, compare_run* r, sap_error* error) {
  for (int i = 0; i < o->force_count; ++i) {
    r->force_bodies[i] = sap_model_find(r->model, SAP_ELEMENT_BODY, o->forces[i].body);
    if (r->force_bodies[i] < 1) {
      return sap_fail(error, SAP_STATUS_ARGUMENT, "--force: the scene has no body '%.200s'",
                      o->forces[i].body);
    }
  }
  return SAP_STATUS_OK;
}

static sap_status open_run(const compare_options* o, const cli_scene* scene,
                           const sweep_setup* setup, double dt, compare_run* r, sap_error* error) {
  sap_status status =
      sweep_read_scene(scene, warn, setup, &r->model, &r->state, &r->control, error);
  if (status == SAP_STATUS_OK) {
    status = find_forces(o, r, error);
  }
  if (status == SAP_STATUS_OK) {
    status = sap_multibody_create(r->model, &r->multibody, error);
  }
  if (status == SAP_STATUS_OK) {
    status = sap_multibody_set_control(r->multibody, r->control, error);
  }
  if (status != SAP_STATUS_OK) {
    return status;
  }
  sap_stepper_options options = sweep_stepper_options(setup, r->model);
  options.dt = dt > 0.0 ? dt : options.dt;
  r->dt = options.dt;
  r->planned = cli_step_count(o->duration, options.dt);
  if (r->planned > STEPS_MAX) {
    return sap_fail(error, SAP_STATUS_ARGUMENT, "%g s in steps of %g s are more than %d steps",
                    o->duration, options.dt, STEPS_MAX);
  }
  status = sap_stepper_create(sap_multibody_system(r->multibody), &options, &r->stepper, error);
  r->refused = status == SAP_STATUS_ARGUMENT || status == SAP_STATUS_UNSUPPORTED;
  return status;
}

sap_status compare_run_open(const compare_options* o, const char* scene,
                            const compare_stepping* stepping, compare_run* out, sap_error* error) {
  *out = (compare_run){0};
  sweep_setup setup = o->setup;
  if (stepping->solver != NULL) {
    setup.stepper.solver = stepping->solver;
  }
  if (stepping->solver_options != NULL) {
    setup.stepper.solver_options = *stepping->solver_options;
  }
  if (o->vary != NULL) {
    (void)sweep_setup_take(&setup, o->vary, o->values[stepping->value]);  // tried before
  }
  cli_scene from = cli_scene_default();
  from.path = scene;
  from.keyframe = o->keyframe;
  from.lenient = o->lenient;
  from.floating_base = o->floating_base;
  from.floor = o->floor;
  const sap_status status = open_run(o, &from, &setup, stepping->dt, out, error);
  if (status != SAP_STATUS_OK) {
    const bool refused = out->refused;
    compare_run_close(out);
    out->refused = refused;
  }
  return status;
}

void compare_run_close(compare_run* run) {
  sap_stepper_destroy(run->stepper);
  sap_multibody_destroy(run->multibody);
  sap_model_destroy(run->model);
  sap_state_clear(&run->state);
  free(run->control);
  *run = (compare_run){0};
}

// The force of the middle of the step, so that one that grows linearly gives its exact impulse.
sap_status compare_run_step(const compare_options* o, compare_run* run, sap_step_report* report,
                            sap_error* error) {
  sap_status status = SAP_STATUS_OK;
  for (int i = 0; status == SAP_STATUS_OK && i < o->force_count; ++i) {
    double force[3] = {0.0, 0.0, 0.0};
    const char* wrong;
    for (int k = 0; k < o->force_count; ++k) {  // all of the same body: one wrench each
      if (run->force_bodies[k] == run->force_bodies[i]) {
        force[o->forces[k].axis] +=
            expression_value(o->forces[k].formula, run->state.t + 0.5 * run->dt, &wrong);
      }
    }
    status = sap_multibody_set_applied_wrench(run->multibody, run->force_bodies[i], NULL, force,
                                              NULL, error);
  }
  return status == SAP_STATUS_OK ? sap_stepper_step(run->stepper, &run->state, report, error)
                                 : status;
}

static sap_status step(compare_job* job, compare_run* run, compare_where* where, int64_t* problems,
                       sap_error* error) {
  sap_step_report report;
  sap_status status = compare_run_step(&job->options, run, &report, error);
  ++where->index;
  if (status != SAP_STATUS_OK || where->index % job->options.every != 0 || report.blocks == 0) {
    return status;
  }
  ++*problems;
  where->class = COMPARE_FREE;
  if (job->options.classes) {
    status = compare_classify(report.problem, run->model, &where->class, error);
  }
  return status == SAP_STATUS_OK ? compare_problem(job, report.problem, where, run->dt, error)
                                 : status;
}

int compare_scene(compare_job* job, int scene) {
  const compare_options* o = &job->options;
  sap_error error = {0};
  compare_run run;
  const compare_stepping stepping = {.solver = o->reference};
  if (compare_run_open(o, o->operands[scene], &stepping, &run, &error) != SAP_STATUS_OK) {
    return cli_report(&error);
  }
  for (int i = 0; i < job->count; ++i) {  // keys of another scene mean nothing in this one
    sap_solver_forget(job->contenders[i].solver);
  }
  compare_where where = {.scene = scene, .name = o->operands[scene]};
  progress bar;
  progress_begin(&bar);
  sap_status status = SAP_STATUS_OK;
  int64_t problems = 0;
  while (status == SAP_STATUS_OK && where.index < run.planned) {
    status = step(job, &run, &where, &problems, &error);
    if (progress_due(&bar)) {
      progress_draw(&bar, (double)where.index / (double)run.planned, o->operands[scene]);
    }
  }
  progress_end(&bar);
  compare_run_close(&run);
  if (status != SAP_STATUS_OK) {
    cli_message("%s: step %lld: %s", o->operands[scene], (long long)where.index, error.message);
    return cli_exit_code(status);
  }
  if (problems == 0) {
    cli_message("%s: no contact in %g s at the steps looked at, so there was nothing to solve",
                o->operands[scene], o->duration);
  }
  return CLI_OK;
}
