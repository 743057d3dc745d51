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
#include "core/file.h"
#include "core/memory.h"

// --- one problem, all solvers, one judge ---

#define FIELD(name) offsetof(sap_residual, name)
const compare_residual compare_residuals[COMPARE_RESIDUALS] = {
    {"ccp_map", FIELD(ccp_natural_map_scaled), true},
    {"ncp_map", FIELD(ncp_natural_map_scaled), true},
    {"momentum", FIELD(momentum), true},
    {"set_violation_Ns", FIELD(set_violation), false},
    {"ccp_map_unscaled", FIELD(ccp_natural_map), false},
    {"ncp_map_unscaled", FIELD(ncp_natural_map), false},
    {"ccp_dual_m_s", FIELD(ccp_dual), false},
    {"ccp_complementarity_J", FIELD(ccp_complementarity), false},
    {"ncp_dual_m_s", FIELD(ncp_dual), true},
    {"ncp_complementarity_J", FIELD(ncp_complementarity), true},
    {"ncp_absolute", FIELD(ncp_absolute), true},
    {"signorini_J", FIELD(signorini), true},
    {"ccp_row", FIELD(ccp_row), true},
    {"ncp_row", FIELD(ncp_row), true},
    {"tree", FIELD(tree), true},
    {"ccp_row_m_s", FIELD(ccp_row_velocity), false},
    {"ncp_row_m_s", FIELD(ncp_row_velocity), false},
    {"tree_m_s", FIELD(tree_velocity), false},
};

// A map relative to vanishing impulses is meaningless: a problem whose absolute residuals are
// round-off counts as solved.
double compare_map(const sap_residual* r, bool nonlinear) {
  static const double ROUNDOFF = 1e-12;  // [m/s], [N s], [J]
  const double dual = nonlinear ? r->ncp_dual : r->ccp_dual;
  const double product = nonlinear ? r->ncp_complementarity : r->ccp_complementarity;
  const double absolute = fmax(r->set_violation, fmax(dual, product));
  const double map = nonlinear ? r->ncp_natural_map_scaled : r->ccp_natural_map_scaled;
  return absolute <= ROUNDOFF ? fmin(map, absolute) : map;
}

double compare_residual_value(const sap_residual* residual, int index) {
  if (index < 2) {
    return compare_map(residual, index == 1);
  }
  double value;
  memcpy(&value, (const char*)residual + compare_residuals[index].offset, sizeof value);
  return value;
}

compare_group* compare_group_of(const compare_job* job, const compare_where* where, int contender) {
  const int at = (where->scene * job->options.value_count + where->value) * COMPARE_CLASSES +
                 (job->options.classes ? (int)where->class : 0);
  return &job->groups[(size_t)at * (size_t)job->count + (size_t)contender];
}

// Returns the relative difference of the velocities from those of the first contender, or the file.
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

bool compare_count(compare_group* g, const compare_contender* contender, const sap_report* report,
                   const sap_residual* residual) {
  if (SAP_GROW(&g->times, &g->times_capacity, g->problems + 1, NULL) != SAP_STATUS_OK) {
    return false;
  }
  g->times[g->problems] = report->time;
  const double map = compare_map(residual, contender->nonlinear);
  g->problems += 1;
  g->solved_4 += map <= 1e-4 ? 1 : 0;
  g->solved_8 += map <= 1e-8 ? 1 : 0;
  g->iterations += report->iterations;
  g->iterations_max =
      report->iterations > g->iterations_max ? report->iterations : g->iterations_max;
  g->time_max = fmax(g->time_max, report->time);
  for (int i = 0; i < COMPARE_RESIDUALS; ++i) {
    g->worst[i] = fmax(g->worst[i], compare_residual_value(residual, i));
  }
  return true;
}

// Keeps the first contender's velocities, for the differences of the others.
static sap_status keep_first(compare_job* job, sap_error* error) {
  SAP_TRY(sap_solution_resize(&job->first, job->solution.nv, job->solution.nrows, error));
  if (job->solution.nv > 0) {
    memcpy(job->first.v, job->solution.v, (size_t)job->solution.nv * sizeof(double));
  }
  return SAP_STATUS_OK;
}

sap_status compare_problem(compare_job* job, const sap_problem* problem, const compare_where* where,
                           double dt, sap_error* error) {
  bool have_first = !job->options.scenes && job->options.reference != NULL;  // the file's
  sap_status status = sap_problem_check(problem, error);
  if (status == SAP_STATUS_OK && job->options.profile != NULL &&
      !profile_add_problem(&job->profile, job->count)) {
    status = cli_no_memory(error);
  }
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
      char text[SAP_ERROR_MESSAGE_SIZE];
      (void)snprintf(text, sizeof text, "%.32s: %.*s", c->info->name, SAP_ERROR_MESSAGE_SIZE - 48,
                     error->message);
      (void)snprintf(error->message, sizeof error->message, "%s", text);
      break;
    }
    if (!compare_count(group, c, &job->report, &residual)) {
      status = cli_no_memory(error);
      break;
    }
    group->penetration = fmax(group->penetration, dt * residual.penetration);
    if (job->options.profile != NULL &&
        compare_map(&residual, c->nonlinear) <= job->options.profile_tolerance) {
      profile_set(&job->profile, i, job->report.time);
    }
    if (job->rows != NULL) {
      compare_rows_add(job, c, where, problem, &residual, difference(&job->solution, &job->first));
    }
  }
  if (status == SAP_STATUS_OK && job->options.convergence != NULL) {
    status = compare_convergence_add(job, problem, error);
  }
  return status;
}

// --- the command ---

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
  return job->options.self ? SAP_STATUS_OK
                           : sap_solver_create(c->info->name, &c->options, &c->solver, error);
}

// Adds the named contenders in their order; without names all solvers.
static sap_status add_contenders(compare_job* job, sap_error* error) {
  const char* at = job->options.names;
  for (int32_t i = 0; job->count + 2 <= COMPARE_CONTENDERS_MAX; ++i) {
    compare_contender c = {.options = job->options.setup.stepper.solver_options};
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
  const size_t groups = (size_t)job->scene_count * (size_t)o->value_count * COMPARE_CLASSES;
  job->groups = calloc(groups * (size_t)job->count, sizeof *job->groups);
  const bool rows = !o->summary || o->rows != NULL;
  job->rows = rows ? compare_rows_create() : NULL;
  if (job->groups == NULL || (rows && job->rows == NULL)) {
    return cli_out_of_memory();
  }
  return CLI_OK;
}

static void destroy(compare_job* job) {
  cli_table_destroy(job->rows);
  profile_clear(&job->profile);
  compare_convergence_destroy(job->convergence);
  cli_lines_clear(&job->lines);
  sap_problem_destroy(job->problem);
  const int groups = job->scene_count * job->options.value_count * COMPARE_CLASSES * job->count;
  for (int i = 0; job->groups != NULL && i < groups; ++i) {
    sap_free(job->groups[i].times);
  }
  for (int i = 0; i < job->count; ++i) {
    sap_solver_destroy(job->contenders[i].solver);
  }
  sap_solution_clear(&job->solution);
  sap_solution_clear(&job->first);
  sap_report_clear(&job->report);
  compare_options_clear(&job->options);
  free(job->groups);
}

static sap_status write_profile(const compare_job* job, sap_error* error) {
  const char* names[COMPARE_CONTENDERS_MAX];
  for (int i = 0; i < job->count; ++i) {
    names[i] = job->contenders[i].label;
  }
  return profile_write(&job->profile, names, job->options.profile_tolerance, job->options.profile,
                       error);
}

static sap_status write_rows(const compare_job* job, sap_error* error) {
  sap_file* file;
  SAP_TRY(sap_file_create(job->options.rows, &file, error));
  const sap_status status = cli_table_print(job->rows, CLI_FORMAT_CSV, sap_file_stream(file))
                                ? sap_file_commit(file, error)
                                : cli_no_memory(error);
  sap_file_close(file);
  return status;
}

// Prints the table first, so that a failing output does not lose the results.
static int finish(compare_job* job) {
  sap_error error = {0};
  const compare_options* o = &job->options;
  const bool printed =
      o->summary ? compare_print_summary(job) : cli_table_print(job->rows, o->format, stdout);
  if (!printed) {
    return cli_out_of_memory();
  }
  const int code = cli_flush();
  if ((o->profile != NULL && write_profile(job, &error) != SAP_STATUS_OK) ||
      (o->rows != NULL && write_rows(job, &error) != SAP_STATUS_OK) ||
      (o->convergence != NULL && compare_convergence_write(job, &error) != SAP_STATUS_OK) ||
      (o->timings != NULL && compare_timings_write(job, &error) != SAP_STATUS_OK) ||
      (o->svg != NULL && compare_self_write(job, &error) != SAP_STATUS_OK)) {
    return cli_report(&error);
  }
  return code;
}

static sap_status refuse(const char* what, sap_error* error) {
  error->status = SAP_STATUS_ARGUMENT;
  (void)snprintf(error->message, sizeof error->message, "the file holds no %s", what);
  return SAP_STATUS_ARGUMENT;
}

// Starts from the guess stored beside the problem, or else from its solution.
static sap_status start_from_file(compare_job* job, const char* path, sap_error* error) {
  bool found = false;
  SAP_TRY(sap_problem_file_solution(path, job->problem, 1, &job->first, &found, error));
  if (!found) {
    SAP_TRY(sap_problem_file_solution(path, job->problem, 0, &job->first, &found, error));
  }
  if (!found) {
    return refuse("/guesses/1 and no /solution to start from", error);
  }
  SAP_TRY(sap_problem_set_v_guess(job->problem, job->first.v, error));
  return sap_problem_set_gamma_guess(job->problem, job->first.gamma, error);
}

static sap_status take_reference(compare_job* job, const char* path, sap_error* error) {
  bool found = false;
  const sap_status status =
      sap_problem_file_solution(path, job->problem, 0, &job->first, &found, error);
  return status == SAP_STATUS_OK && !found ? refuse("/solution to compare with", error) : status;
}

static sap_status visit(void* context, const char* path, int64_t index, sap_error* error) {
  compare_job* job = context;
  const compare_where where = {.name = path, .index = index};
  if (job->options.start == COMPARE_FILE) {
    SAP_TRY(start_from_file(job, path, error));
  }
  if (job->options.reference != NULL) {
    SAP_TRY(take_reference(job, path, error));
  }
  return compare_problem(job, job->problem, &where, sap_problem_dt(job->problem), error);
}

static int compare(compare_job* job) {
  const compare_options* o = &job->options;
  int exit_code = create(job);
  if (exit_code == CLI_OK && !o->scenes) {
    exit_code = cli_visit_problems(o->operands, o->operand_count, job->problem, visit, job);
  }
  bool unconverged = false;
  for (int i = 0; exit_code == CLI_OK && o->scenes && i < o->operand_count; ++i) {
    exit_code = o->self ? compare_self(job, i) : compare_scene(job, i);
    unconverged = unconverged || exit_code == CLI_UNCONVERGED;
    exit_code = exit_code == CLI_UNCONVERGED ? CLI_OK : exit_code;
  }
  if (exit_code == CLI_OK) {
    exit_code = finish(job);
  }
  return exit_code == CLI_OK && unconverged ? CLI_UNCONVERGED : exit_code;
}

static int run(const cli_command* command, int argc, char** argv) {
  int exit_code = CLI_OK;
  compare_arguments arguments;
  compare_job* job = calloc(1, sizeof *job);
  if (job == NULL) {
    return cli_out_of_memory();
  }
  if (compare_study_expand(command, argc, argv, &arguments, &exit_code) &&
      compare_options_read(command, arguments.argc, arguments.argv, &job->options, &exit_code)) {
    exit_code = compare(job);
  }
  destroy(job);
  compare_arguments_clear(&arguments);
  free(job);
  return exit_code;
}

const cli_command cli_command_compare = {
    .name = "compare",
    .operands = "FILE...|SCENE...|STUDY",
    .summary = "compare solvers on stored problems, or on those arising in a scene",
    .description =
        "FILES are contact problems, text or HDF5 (FCLIB) as 'sapstep run --dump-problems' writes\n"
        "them: every solver solves each, and there is a row for each with outcome, iterations,\n"
        "time [us], relative natural maps of the convex (ccp) and the nonlinear (ncp) contact\n"
        "problem with a step for each block, relative momentum error, distance of the impulses\n"
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
        "by all, cold and warm: the summary. With --self each solver steps the scene itself, and\n"
        "--plot draws what becomes of it. A STUDY (NAME.study) is a command line in a file, an "
        "option\n"
        "per line without its dashes and 'scene FILE'; see examples/studies.",
    .examples =
        "  sapstep compare --summary *.problem\n"
        "  sapstep compare --solvers sap,admm-ccp,apgd --tolerance 1e-10 pile.problem\n"
        "  sapstep compare examples/scenes/quadruped.xml --every 10 --profile quadruped.svg\n"
        "  sapstep compare examples/studies/pyramid_drift.study\n",
    .options = compare_option_list,
    .table = sap_solver_option_table,
    .table_offset = offsetof(compare_options, setup.stepper.solver_options),
    .table_default = cli_solver_default,
    .run = run,
};
