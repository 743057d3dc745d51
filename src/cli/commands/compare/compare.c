// SPDX-License-Identifier: BSD-3-Clause
// sapstep compare: the same contact problems by several solvers, judged by the same residuals.
#include <math.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "cli/commands/compare/compare.h"
#include "cli/files.h"
#include "cli/options.h"
#include "cli/progress.h"
#include "core/file.h"

// --- one problem, all solvers, one judge ---

compare_group* compare_group_of(const compare_job* job, const compare_where* where, int contender) {
  const int at = where->scene * COMPARE_CLASSES + (job->options.classes ? (int)where->class : 0);
  return &job->groups[(size_t)at * (size_t)job->count + (size_t)contender];
}

// Returns the relative difference of the velocities from those of the first contender.
static double difference(const sap_solution* a, const sap_solution* b) {
  double sum = 0.0, norm = 0.0;
  for (int32_t i = 0; i < a->nv; ++i) {
    sum += (a->v[i] - b->v[i]) * (a->v[i] - b->v[i]);
    norm += b->v[i] * b->v[i];
  }
  return sum > 0.0 ? sqrt(sum / norm) : 0.0;
}

double compare_median(double* values, int64_t count) {
  int64_t n = 0;
  for (int64_t i = 0; i < count; ++i) {
    if (isfinite(values[i])) {
      values[n++] = values[i];
    }
  }
  qsort(values, (size_t)n, sizeof *values, cli_ascending);
  return n > 0 ? 0.5 * (values[n / 2] + values[(n - 1) / 2]) : (double)NAN;
}

double compare_median_time(const compare_group* group) {
  return group->problems > 0 ? compare_median(group->times, group->problems) : (double)NAN;
}

// Adds a solve to a row of the summary.
static void count_solve(compare_group* g, const compare_contender* contender,
                        const sap_report* report, const sap_residual* residual) {
  CLI_GROW(&g->times, &g->times_capacity, g->problems + 1);
  g->times[g->problems] = report->time;
  const double map = cli_residual_map(residual, contender->nonlinear);
  g->problems += 1;
  g->solved_4 += map <= 1e-4 ? 1 : 0;
  g->solved_8 += map <= 1e-8 ? 1 : 0;
  g->iterations += report->iterations;
  g->iterations_max =
      report->iterations > g->iterations_max ? report->iterations : g->iterations_max;
  g->time_max = fmax(g->time_max, report->time);
  for (int i = 0; i < CLI_RESIDUALS; ++i) {
    g->worst[i] = fmax(g->worst[i], cli_residual_value(residual, i));
  }
}

// Keeps the first contender's velocities, for the differences of the others.
static sap_status keep_first(compare_job* job, sap_error* error) {
  SAP_TRY(sap_solution_resize(&job->first, job->solution.nv, job->solution.nrows, error));
  if (job->solution.nv > 0) {
    memcpy(job->first.v, job->solution.v, (size_t)job->solution.nv * sizeof(double));
  }
  return SAP_STATUS_OK;
}

// Solves the problem with all contenders and computes the same residuals for each. A solver that
// does not accept the problem's blocks counts as refused.
static sap_status compare_problem(compare_job* job, const sap_problem* problem,
                                  const compare_where* where, double dt, sap_error* error) {
  bool have_first = false;
  sap_status status = sap_problem_check(problem, error);
  for (int i = 0; status == SAP_STATUS_OK && i < job->count; ++i) {
    compare_contender* c = &job->contenders[i];
    compare_group* group = compare_group_of(job, where, i);
    sap_residual residual;
    if (!c->warm) {
      sap_solver_forget(c->solver);
    }
    status = sap_solver_solve(c->solver, problem, &job->solution, &job->report, error);
    if (status == SAP_STATUS_UNSUPPORTED) {
      group->refused += 1;
      status = SAP_STATUS_OK;
      continue;
    }
    if (status == SAP_STATUS_OK) {
      status = sap_residuals(problem, job->solution.v, job->solution.gamma, &residual, error);
    }
    if (status == SAP_STATUS_OK && !have_first) {
      status = keep_first(job, error);
      have_first = true;
    }
    if (status != SAP_STATUS_OK) {
      status = cli_prefix_error(error, c->info->name);
      break;
    }
    count_solve(group, c, &job->report, &residual);
    group->penetration = fmax(group->penetration, dt * residual.penetration);
    if (job->rows != NULL) {
      compare_rows_add(job, c, where, problem, &residual, difference(&job->solution, &job->first));
    }
  }
  if (status == SAP_STATUS_OK && job->options.convergence != NULL) {
    status = compare_convergence_add(job, problem, error);
  }
  return status;
}

// --- contenders, and what is written about them ---

static sap_status add_contender(compare_job* job, const compare_contender* asked, bool warm,
                                sap_error* error) {
  compare_contender* c = &job->contenders[job->count];
  *c = *asked;
  c->warm = warm;
  c->nonlinear = c->info->signorini;
  (void)snprintf(c->label, sizeof c->label, "%.80s%s", asked->name,
                 job->options.start != COMPARE_BOTH ? ""
                 : warm                             ? " warm"
                                                    : " cold");
  ++job->count;
  return sap_solver_create(c->info->name, &c->options, &c->solver, error);
}

// Adds the named contenders in their order; without names all solvers.
static sap_status add_contenders(compare_job* job, sap_error* error) {
  const char* at = job->options.names;
  for (int32_t i = 0; job->count + 2 <= COMPARE_CONTENDERS_MAX; ++i) {
    compare_contender c = {.options = job->options.stepper.solver_options};
    if (at != NULL ? *at == '\0' : i == sap_solver_count()) {
      break;
    }
    if (at != NULL) {
      (void)compare_read_solver(&at, &c);  // read before
    } else {
      c.info = sap_solver_get_info(i);
      (void)snprintf(c.name, sizeof c.name, "%s", c.info->name);
    }
    const compare_start start = job->options.start;
    if (start != COMPARE_WARM) {
      SAP_TRY(add_contender(job, &c, false, error));
    }
    if (start == COMPARE_WARM || start == COMPARE_BOTH) {
      SAP_TRY(add_contender(job, &c, true, error));
    }
  }
  return SAP_STATUS_OK;
}

static int create(compare_job* job) {
  sap_error error;
  const compare_options* o = &job->options;
  if (add_contenders(job, &error) != SAP_STATUS_OK ||
      sap_problem_create(&job->problem, &error) != SAP_STATUS_OK) {
    return cli_report(&error);
  }
  job->scene_count = o->scenes ? o->operand_count : 1;
  const size_t groups = (size_t)job->scene_count * COMPARE_CLASSES;
  job->groups = cli_new(groups * (size_t)job->count, sizeof *job->groups);
  job->rows = !o->summary || o->rows != NULL ? compare_rows_create() : NULL;
  return CLI_OK;
}

static void destroy(compare_job* job) {
  sap_problem_destroy(job->problem);
  for (int i = 0; i < job->count; ++i) {
    sap_solver_destroy(job->contenders[i].solver);
  }
  sap_solution_clear(&job->solution);
  sap_solution_clear(&job->first);
  sap_report_clear(&job->report);
}

static sap_status write_rows(const compare_job* job, sap_error* error) {
  sap_file* file;
  SAP_TRY(sap_file_create(job->options.rows, &file, error));
  cli_table_print(job->rows, CLI_FORMAT_CSV, sap_file_stream(file));
  const sap_status status = sap_file_commit(file, error);
  sap_file_close(file);
  return status;
}

// Prints the table first, so that a failing output does not lose the results.
static int finish(compare_job* job) {
  sap_error error = {0};
  const compare_options* o = &job->options;
  if (o->summary) {
    compare_print_summary(job);
  } else {
    cli_table_print(job->rows, o->format, stdout);
  }
  const int code = cli_flush();
  if ((o->rows != NULL && write_rows(job, &error) != SAP_STATUS_OK) ||
      (o->convergence != NULL && compare_convergence_write(job, &error) != SAP_STATUS_OK) ||
      (o->timings != NULL && compare_timings_write(job, &error) != SAP_STATUS_OK)) {
    return cli_report(&error);
  }
  return code;
}

static int compare_file(compare_job* job, const char* path) {
  sap_error error = {0};
  const compare_where where = {.name = path};
  for (int64_t at = 0; at >= 0;) {
    if (sap_problem_file_read_next(path, &at, job->problem, &error) != SAP_STATUS_OK) {
      return cli_report(&error);
    }
    if (compare_problem(job, job->problem, &where, sap_problem_dt(job->problem), &error) !=
        SAP_STATUS_OK) {
      cli_message("%s: %s", path, error.message);
      return cli_exit_code(error.status);
    }
  }
  return CLI_OK;
}

// --- the problems of a scene ---

static sap_status step(compare_job* job, cli_run* run, compare_where* where, int64_t* problems,
                       sap_error* error) {
  sap_step_report report;
  const sap_status status = sap_stepper_step(run->stepper, &run->state, &report, error);
  ++where->index;
  if (status != SAP_STATUS_OK || where->index % job->options.every != 0 || report.blocks == 0) {
    return status;
  }
  ++*problems;
  where->class = job->options.classes ? compare_classify(report.problem, run->model) : COMPARE_FREE;
  return compare_problem(job, report.problem, where, run->dt, error);
}

static int compare_scene(compare_job* job, int scene) {
  const compare_options* o = &job->options;
  sap_error error = {0};
  cli_run run;
  if (cli_run_open(&o->scene, o->operands[scene], &o->stepper, NULL, &run, &error) !=
      SAP_STATUS_OK) {
    cli_run_close(&run);
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
  const int64_t planned = cli_step_count(o->duration, run.dt);
  while (status == SAP_STATUS_OK && where.index < planned) {
    status = step(job, &run, &where, &problems, &error);
    if (progress_due(&bar)) {
      progress_draw(&bar, (double)where.index / (double)planned, o->operands[scene]);
    }
  }
  progress_end(&bar);
  cli_run_close(&run);
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

// --- the command ---

static int compare(compare_job* job) {
  const compare_options* o = &job->options;
  int exit_code = create(job);
  for (int i = 0; exit_code == CLI_OK && i < o->operand_count; ++i) {
    exit_code = o->scenes ? compare_scene(job, i) : compare_file(job, o->operands[i]);
  }
  return exit_code == CLI_OK ? finish(job) : exit_code;
}

static int run(const cli_command* command, int argc, char** argv) {
  int exit_code = CLI_OK;
  compare_job* job = cli_new(1, sizeof *job);
  if (compare_options_read(command, argc, argv, &job->options, &exit_code)) {
    exit_code = compare(job);
  }
  destroy(job);
  return exit_code;
}

static const char* const hidden[] = {"theta", "theta-vq", NULL};  // those of the schemes

const cli_command cli_command_compare = {
    .name = "compare",
    .operands = "FILE...|SCENE...",
    .summary = "compare solvers on stored problems, or on those arising in a scene",
    .description =
        "FILES are contact problems, HDF5 (FCLIB) as 'sapstep run --dump-problems' writes\n"
        "them: every solver solves each, and there is a row for each with outcome, iterations,\n"
        "time [us], relative natural maps of the convex (ccp) and the nonlinear (ncp) contact\n"
        "problem with one step length per block, relative momentum error, distance of the "
        "impulses\n"
        "from their sets [N s], dual and complementarity residuals, dissipation [J], and the\n"
        "relative difference of the velocities from those of the first solver. Solvers that do "
        "not\n"
        "take a problem's blocks are left out. With --summary a row per solver: problems solved "
        "to\n"
        "1e-4 and 1e-8 in the natural map of the solver's own model, mean and most iterations,\n"
        "median and longest time, the worst of each residual. The tolerance is 1e-9 here, unless\n"
        "--tolerance says otherwise, and no solver checks its input.\n"
        "A SCENE (MJCF, URDF) is stepped by one solver, and the problem of every N-th step is "
        "solved\n"
        "by all, cold and warm: the summary. 'sapstep sweep' lets solvers step a scene themselves.",
    .examples =
        "  sapstep compare --summary problems/*.hdf5\n"
        "  sapstep compare --solvers sap,admm-ccp,apgd --tolerance 1e-10 pile.hdf5\n"
        "  sapstep compare examples/scenes/quadruped.xml --every 10 --timings quadruped.svg\n",
    .options = compare_option_list,
    .table = sap_stepper_option_table,
    .table_offset = offsetof(compare_options, stepper),
    .table_default = compare_default,
    .hidden = hidden,
    .run = run,
};
