// SPDX-License-Identifier: BSD-3-Clause
// sapstep run: steps a scene and summarises the run.
#include <math.h>
#include <stdio.h>
#include <unistd.h>

#include <sapstep/sapstep.h>

#include "cli/command.h"
#include "cli/commands/run/run_loop.h"
#include "cli/options.h"
#include "cli/progress.h"
#include "cli/scene.h"
#include "core/memory.h"

typedef struct run_options {
  run_plan plan;
  cli_scene scene;
  sap_adaptive_options adaptive;  // accuracy 0: fixed steps
  sap_stepper_options stepper;
} run_options;

// Everything that a run owns.
typedef struct run {
  run_options options;
  cli_run on;                  // what is stepped
  sap_adaptive* adaptive;      // NULL: fixed steps
  sap_state between;           // within its last step
  const sap_state* shown;      // in rows and statistics: that, or the last state
  sap_step_report report;      // of the last step
  sap_trajectory* trajectory;  // NULL: none
  sap_recorder* recorder;      // NULL: none
  run_controls controls;
  run_statistics statistics;
} run;

// --- command line ---

#define AT(member) .offset = offsetof(run_options, member)
static const cli_option run_option_list[] = {
    RUN_START_ROWS(run_options),
    CLI_DT_ROW(run_options, stepper.dt, "time step (the scene's)"),
    {"scheme", "NAME",
     "explicit-euler, symplectic-euler, implicit-euler or\nmidpoint (implicit-euler); sets theta "
     "and theta-vq",
     CLI_SCHEME, AT(stepper)},
    CLI_ACCURACY_ROW(
        run_options,
        "choose the steps by their error, at most this in each [m]; scheme\nmidpoint. "
        "Rows are written at multiples of dt (0.02 s), where controls of\na file change "
        "and those steps end"),
    CLI_SOLVER_ROW(run_options, stepper.solver),
    CLI_PRESET_ROW(run_options),
    CLI_SCENE_CONTACT_ROWS(run_options),
    RUN_OUTPUT_ROWS(run_options),
    CLI_SCENE_URDF_ROWS(run_options),
    CLI_SCENE_LENIENT_ROW(run_options),
    {0},
};

// Checks that the contact law fits the solver, and options of rigid contact the law.
static int check_law(const cli_command* command, const cli_parser* parser,
                     const run_options* options) {
  const sap_solver_info* info = sap_solver_find(options->stepper.solver);
  const sap_law law = options->stepper.contact_law;
  SAP_RETURN_IF(law == SAP_LAW_RIGID && info->needs_R,
                cli_usage_error(command, "--contact-law rigid has R = 0, solver '%s' needs R > 0",
                                info->name));
  const bool rigid = law == SAP_LAW_RIGID || (law == SAP_LAW_AUTO && info->rigid);
  const bool restitution = cli_given(parser, "restitution");
  SAP_RETURN_IF(!rigid && (restitution || cli_given(parser, "baumgarte")),
                cli_usage_error(command,
                                "--%s needs rigid contact: use --contact-law rigid, or a solver "
                                "that steps by Moreau-Jean",
                                restitution ? "restitution" : "baumgarte"));
  return CLI_OK;
}

// Checks combinations of options.
static int check_options(const cli_command* command, const cli_parser* parser,
                         run_options* options) {
  int code = run_plan_check(&options->plan, command, parser);
  code = code == CLI_OK ? cli_check_adaptive(command, parser, &options->adaptive) : code;
  if (code != CLI_OK) {
    return code;
  }
  const bool theta = cli_given(parser, "theta"), theta_vq = cli_given(parser, "theta-vq");
  SAP_RETURN_IF(cli_given(parser, "scheme") && (theta || theta_vq),
                cli_usage_error(command, "--scheme excludes --theta and --theta-vq"));
  SAP_RETURN_IF(theta != theta_vq,
                cli_usage_error(command, "--theta and --theta-vq belong together"));
  if (options->adaptive.accuracy > 0.0) {
    if (!cli_given(parser, "scheme") && !theta) {
      (void)sap_stepper_options_set_scheme(&options->stepper, SAP_SCHEME_MIDPOINT, NULL);
    }
    options->stepper.dt = cli_given(parser, "dt") ? options->stepper.dt : 0.02;
    if (!cli_given(parser, "relative-tolerance") && !cli_given(parser, "tolerance")) {
      options->stepper.solver_options.relative_tolerance =
          fmax(1e-12, fmin(0.01 * options->adaptive.accuracy, 1e-6));
    }
  }
  sap_error error;
  SAP_RETURN_IF(cli_check_stepper(options->stepper, &error) != SAP_STATUS_OK,
                cli_usage_error(command, "%s", error.message));
  options->scene.path = parser->operands[0];
  options->scene.keyframe = options->plan.keyframe;
  return check_law(command, parser, options);
}

// --- the run ---

static int32_t find_actuator(const void* model, const char* name) {
  return sap_model_find(model, SAP_ELEMENT_ACTUATOR, name);
}

static int control_over_time(void* context, double t, const double* q, const double* v,
                             double* control) {
  (void)q;
  (void)v;
  run_controls_apply(context, t, control);
  return 0;
}

// --controls: the keyframe of that name, unless a file has it; else the file.
static sap_status set_controls(run* r, sap_error* error) {
  const char* from = r->options.plan.controls;
  const int32_t keyframe =
      from != NULL ? sap_model_find(r->on.model, SAP_ELEMENT_KEYFRAME, from) : -1;
  if (keyframe >= 0 && access(from, F_OK) != 0) {
    sap_state unused = {0};
    const sap_status status =
        sap_model_get_keyframe(r->on.model, keyframe, &unused, r->on.control, error);
    sap_state_clear(&unused);
    SAP_TRY(status);
  } else if (from != NULL) {
    SAP_TRY(run_controls_read(from, sap_model_get_sizes(r->on.model).nu, find_actuator, r->on.model,
                              &r->controls, error));
    SAP_TRY(sap_multibody_set_control_function(r->on.multibody, control_over_time, &r->controls,
                                               error));
  }
  return sap_multibody_set_control(r->on.multibody, r->on.control, error);
}

static sap_status create_adaptive(run* r, sap_error* error) {
  if (!(r->options.adaptive.accuracy > 0.0)) {
    return SAP_STATUS_OK;
  }
  SAP_TRY(
      sap_state_resize_with(&r->between, r->on.state.nq, r->on.state.nv, r->on.state.na, error));
  return sap_adaptive_create(r->on.stepper, &r->options.adaptive, NULL, &r->adaptive, error);
}

static sap_status resume(run* r, sap_error* error) {
  if (r->options.plan.resume == NULL) {
    return SAP_STATUS_OK;
  }
  return sap_checkpoint_read(r->options.plan.resume, r->on.stepper, &r->on.state,
                             &r->statistics.before, error);
}

static sap_status run_measure_energy(run* r, run_energy* out, sap_error* error) {
  sap_diagnostics diagnostics;
  SAP_TRY(sap_multibody_diagnose(r->on.multibody, r->shown, &diagnostics, error));
  out->kinetic = diagnostics.kinetic;
  out->potential = diagnostics.potential_gravity + diagnostics.potential_springs;
  return SAP_STATUS_OK;
}

static sap_status run_write_row(run* r, const sap_step_report* report, sap_error* error) {
  if (r->recorder != NULL) {
    SAP_TRY(sap_recorder_write(r->recorder, r->on.multibody, r->shown, report, error));
  }
  if (r->trajectory == NULL) {
    return SAP_STATUS_OK;
  }
  run_energy energy;
  SAP_TRY(run_measure_energy(r, &energy, error));
  const int32_t contacts = sap_multibody_contact_count(r->on.multibody);
  const sap_trajectory_row row = {
      .state = r->shown,
      .contacts = contacts,
      .newton_iterations = report != NULL ? run_newton_iterations(report) : 0,
      .kinetic = energy.kinetic,
      .potential = energy.potential,
      .penetration = run_penetration(sap_multibody_contacts(r->on.multibody), contacts),
  };
  return sap_trajectory_write(r->trajectory, &row, error);
}

static sap_status run_prepare(run* r, sap_error* error) {
  const run_plan* plan = &r->options.plan;
  r->statistics.memory_begin = run_peak_memory();
  r->options.scene.reading.visuals = plan->record != NULL;
  SAP_TRY(cli_run_open(&r->options.scene, &r->options.stepper, NULL, &r->on, error));
  SAP_TRY(set_controls(r, error));
  SAP_TRY(create_adaptive(r, error));
  SAP_TRY(resume(r, error));
  r->shown = &r->on.state;
  SAP_TRY(run_measure_energy(r, &r->statistics.start, error));
  SAP_TRY(sap_multibody_detect(r->on.multibody, r->on.state.q, error));
  interrupt_catch();
  if (plan->output != NULL) {
    SAP_TRY(sap_trajectory_create(plan->output, r->on.model, &r->trajectory, error));
  }
  if (plan->record != NULL) {
    SAP_TRY(sap_recorder_create(plan->record, r->on.model, &plan->recorder, &r->recorder, error));
  }
  r->statistics.bodies = sap_model_get_sizes(r->on.model).bodies - 1;
  r->statistics.dt = r->on.options.dt;
  r->statistics.late = r->adaptive == NULL ? r->on.options.theta - 0.5 : 0.0;
  r->statistics.end = r->statistics.start;
  return run_write_row(r, NULL, error);
}

// Error-controlled steps end where the controls of a file change, else anywhere. Rows are
// interpolated within steps, so a run in parts makes the same steps as a whole run.
static const double NEVER = 1e300;

// Makes one step, or steps until the end of an interval dt is reached.
static sap_status advance(run* r, sap_error* error) {
  if (r->adaptive == NULL) {
    return sap_stepper_step(r->on.stepper, &r->on.state, &r->report, error);
  }
  run_statistics* s = &r->statistics;
  const double next = (double)(s->before + s->steps + 1) * s->dt;
  while (r->on.state.t < next) {
    sap_adaptive_report step;
    const double end = r->controls.rows > 0 ? next : NEVER;
    SAP_TRY(sap_adaptive_step(r->adaptive, &r->on.state, end, &step, error));
    run_statistics_count(s, r->on.model, &step);
    r->report = step.step;
  }
  r->shown = r->on.state.t > next ? &r->between : &r->on.state;
  return r->on.state.t > next
             ? sap_adaptive_interpolate(r->adaptive, &r->on.state, next, &r->between, error)
             : SAP_STATUS_OK;
}

// Makes a step with its statistics and outputs.
static sap_status step(void* context, sap_error* error) {
  run* r = context;
  run_statistics* statistics = &r->statistics;
  const sap_step_report* report = &r->report;
  run_statistics_before(statistics, r->shown);
  const sap_status status = advance(r, error);
  if (status != SAP_STATUS_OK) {
    statistics->failures += status != SAP_STATUS_MEMORY && status != SAP_STATUS_INTERNAL;
    return status;
  }
  const long long number = (long long)(statistics->before + statistics->steps) + 1;
  if (report->problem == NULL) {  // within the step that a checkpoint ends with
    return run_row_due(&r->options.plan, statistics) ? run_write_row(r, NULL, error)
                                                     : SAP_STATUS_OK;
  }
  if (number == 1) {
    SAP_TRY(cli_warn_wrong_starts(r->on.multibody, r->on.model, report, error));
  }
  SAP_TRY(run_dump(&r->options.plan, number, report->problem, error));
  SAP_TRY(sap_multibody_collect(r->on.multibody, report, error));
  const int32_t contacts = sap_multibody_contact_count(r->on.multibody);
  run_statistics_add(statistics, report, sap_multibody_contacts(r->on.multibody), contacts);
  SAP_TRY(run_statistics_after(statistics, r->on.multibody, r->shown, report, error));
  return run_row_due(&r->options.plan, statistics) ? run_write_row(r, report, error)
                                                   : SAP_STATUS_OK;
}

static sap_status write_checkpoint(void* context, const char* path, int64_t steps,
                                   sap_error* error) {
  run* r = context;
  return sap_checkpoint_write(path, r->on.stepper, &r->on.state, steps, error);
}

// Measures energy and penetration at the end of the run.
static sap_status finish(run* r, sap_error* error) {
  run_statistics* statistics = &r->statistics;
  statistics->time = (double)statistics->steps * statistics->dt;
  statistics->memory_end = run_peak_memory();
  SAP_TRY(run_measure_energy(r, &statistics->end, error));
  SAP_TRY(sap_multibody_detect(r->on.multibody, r->shown->q, error));
  statistics->penetration_end = run_penetration(sap_multibody_contacts(r->on.multibody),
                                                sap_multibody_contact_count(r->on.multibody));
  return SAP_STATUS_OK;
}

static void clear(run* r) {
  (void)sap_recorder_close(r->recorder, NULL);
  sap_trajectory_close(r->trajectory);
  sap_adaptive_destroy(r->adaptive);
  sap_state_clear(&r->between);
  cli_run_close(&r->on);
}

// Reports an output that could not be written and keeps the rows of the trajectory so far.
static int leave(run* r, const sap_error* error) {
  const int code = cli_report(error);
  if (r->trajectory != NULL && (sap_trajectory_commit(r->trajectory, NULL) == SAP_STATUS_OK ||
                                sap_trajectory_keep(r->trajectory))) {
    cli_message("the trajectory's rows so far are in '%s'", r->options.plan.output);
  }
  return code;
}

// Makes the steps and prints the closing table; returns the exit code.
static int execute(run* r) {
  sap_error error = {0};
  int code = CLI_OK;
  const run_engine engine = {r, &r->on.state.t, step, write_checkpoint};
  run_plan_steps(&r->options.plan, &r->statistics);
  if (run_all_steps(&r->options.plan, &engine, &r->statistics, &code, &error) != SAP_STATUS_OK) {
    return leave(r, &error);
  }
  const sap_status recorded = sap_recorder_close(r->recorder, &error);
  r->recorder = NULL;
  if (recorded != SAP_STATUS_OK || finish(r, &error) != SAP_STATUS_OK ||
      (r->trajectory != NULL && sap_trajectory_commit(r->trajectory, &error) != SAP_STATUS_OK)) {
    return leave(r, &error);
  }
  run_statistics_warn(&r->statistics, r->on.model);
  run_statistics_print(&r->statistics, r->options.scene.path, r->options.plan.format,
                       r->options.plan.stats, stdout);
  return cli_flush() == CLI_OK ? code : CLI_FILE;
}

static int run_scene(const cli_command* command, int argc, char** argv) {
  run r = {.options = {.plan = run_plan_default(),
                       .scene = cli_scene_default(),
                       .adaptive = cli_adaptive_options(),
                       .stepper = cli_stepper_options()}};
  cli_parser parser;
  SAP_RETURN_IF(!cli_parse(&parser, command, &r.options, argc, argv), parser.exit_code);
  int code = check_options(command, &parser, &r.options);
  if (code != CLI_OK) {
    return code;
  }

  sap_error error = {0};
  code = run_prepare(&r, &error) == SAP_STATUS_OK ? execute(&r) : cli_report(&error);
  clear(&r);
  return code;
}

const cli_command cli_command_run = {
    .name = "run",
    .operands = "SCENE",
    .summary = "step a scene and summarise the run",
    .text = cli_text_run,
    .options = run_option_list,
    .tables = {CLI_TABLE(sap_stepper_option_table, run_options, stepper, cli_stepper_default),
               CLI_ADAPTIVE_OPTIONS(run_options)},
    .run = run_scene,
};
