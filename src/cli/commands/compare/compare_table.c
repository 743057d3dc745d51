// SPDX-License-Identifier: BSD-3-Clause
// Tables: a row per problem and contender, and the summary.
#include <math.h>
#include <stdio.h>
#include <string.h>

#include "cli/commands/compare/compare.h"

static const cli_column row_columns[] = {
    {"file", CLI_CELL_TEXT, 0},         {"index", CLI_CELL_INTEGER, 0},
    {"solver", CLI_CELL_TEXT, 0},       {"start", CLI_CELL_TEXT, 0},
    {"outcome", CLI_CELL_TEXT, 0},      {"iterations", CLI_CELL_INTEGER, 0},
    {"time_us", CLI_CELL_REAL, 5},      {"ccp_map", CLI_CELL_REAL, 3},
    {"ncp_map", CLI_CELL_REAL, 3},      {"momentum", CLI_CELL_REAL, 3},
    {"slackness", CLI_CELL_REAL, 3},    {"set_violation_Ns", CLI_CELL_REAL, 3},
    {"ncp_dual_m_s", CLI_CELL_REAL, 3}, {"ncp_complementarity_J", CLI_CELL_REAL, 3},
    {"signorini_J", CLI_CELL_REAL, 3},  {"dissipation_J", CLI_CELL_REAL, 4},
    {"v_difference", CLI_CELL_REAL, 3}, {"cones", CLI_CELL_INTEGER, 0},
};

static compare_start start_of(const compare_job* job, const compare_contender* c) {
  return job->options.start == COMPARE_FILE ? COMPARE_FILE : c->warm ? COMPARE_WARM : COMPARE_COLD;
}

cli_table* compare_rows_create(void) {
  return cli_table_create(row_columns, sizeof row_columns / sizeof row_columns[0]);
}

// Contacts with friction.
static int32_t count_cones(const sap_problem* problem) {
  int32_t count = 0;
  for (int32_t i = 0; i < sap_problem_block_count(problem); ++i) {
    sap_block block;
    if (sap_problem_block(problem, i, &block, NULL, NULL) == SAP_STATUS_OK) {
      count += block.set == SAP_SET_FRICTION_CONE ? 1 : 0;
    }
  }
  return count;
}

void compare_rows_add(compare_job* job, const compare_contender* contender,
                      const compare_where* where, const sap_problem* problem, const sap_residual* r,
                      double difference) {
  cli_table_text(job->rows, where->name);
  cli_table_integer(job->rows, where->index);
  cli_table_text(job->rows, contender->name);
  cli_table_text(job->rows, compare_start_names[start_of(job, contender)]);
  cli_table_text(job->rows, sap_outcome_text(job->report.outcome));
  cli_table_integer(job->rows, job->report.iterations);
  cli_table_real(job->rows, 1e6 * job->report.time);
  cli_table_real(job->rows, compare_map(r, false));
  cli_table_real(job->rows, compare_map(r, true));
  cli_table_real(job->rows, r->momentum);
  cli_table_real(job->rows, r->slackness);
  cli_table_real(job->rows, r->set_violation);
  cli_table_real(job->rows, r->ncp_dual);
  cli_table_real(job->rows, r->ncp_complementarity);
  cli_table_real(job->rows, r->signorini);
  cli_table_real(job->rows, r->dissipation);
  cli_table_real(job->rows, difference);
  cli_table_integer(job->rows, count_cones(problem));
}

void compare_scene_name(const char* path, char out[COMPARE_LABEL_SIZE]) {
  const char* at = path + strlen(path);
  for (int parts = 0; at > path; --at) {
    parts += at[-1] == '/' ? 1 : 0;
    if (parts == 2) {
      break;
    }
  }
  (void)snprintf(out, COMPARE_LABEL_SIZE, "%.*s", COMPARE_LABEL_SIZE - 1, at);
}

enum { COLUMNS_MAX = 24 + COMPARE_RESIDUALS + COMPARE_QUANTITIES_MAX };

typedef struct layout {
  cli_column columns[COLUMNS_MAX];
  char names[COMPARE_QUANTITIES_MAX][COMPARE_LABEL_SIZE];
  int count;
} layout;

static void add(layout* l, const char* name, cli_cell_kind kind, int digits) {
  l->columns[l->count++] = (cli_column){name, kind, digits};
}

static bool shown(const compare_job* job, int residual) {
  return job->options.format != CLI_FORMAT_TABLE || compare_residuals[residual].narrow;
}

static void make_layout(const compare_job* job, layout* l) {
  static const char* const statistics[] = {"max", "max", "mean", "end", "integral"};
  const compare_options* o = &job->options;
  if (job->scene_count > 1 || (o->scenes && o->format != CLI_FORMAT_TABLE)) {
    add(l, "scene", CLI_CELL_TEXT, 0);
  }
  if (o->vary != NULL) {
    add(l, o->vary, CLI_CELL_TEXT, 0);
  }
  if (o->classes) {
    add(l, "class", CLI_CELL_TEXT, 0);
  }
  add(l, "solver", CLI_CELL_TEXT, 0);
  if (!o->self) {
    add(l, "start", CLI_CELL_TEXT, 0);
  } else {
    add(l, "steps", CLI_CELL_INTEGER, 0);
  }
  add(l, "problems", CLI_CELL_INTEGER, 0);
  add(l, "refused", CLI_CELL_INTEGER, 0);
  add(l, "solved_1e-4", CLI_CELL_INTEGER, 0);
  add(l, "solved_1e-8", CLI_CELL_INTEGER, 0);
  add(l, "iterations_mean", CLI_CELL_REAL, 4);
  add(l, "iterations_max", CLI_CELL_INTEGER, 0);
  add(l, "time_median_us", CLI_CELL_REAL, 4);
  add(l, "time_max_us", CLI_CELL_REAL, 4);
  for (int i = 0; i < COMPARE_RESIDUALS; ++i) {
    if (shown(job, i)) {
      add(l, compare_residuals[i].name, CLI_CELL_REAL, 3);
    }
  }
  if (o->scenes) {
    add(l, "penetration_m", CLI_CELL_REAL, 3);
  }
  for (int i = 0; i < o->quantity_count; ++i) {
    const compare_quantity* q = &o->quantities[i];
    if (q->drawn) {
      (void)snprintf(l->names[i], COMPARE_LABEL_SIZE, "%.64s:%s", q->name,
                     statistics[q->statistic]);
      add(l, l->names[i], CLI_CELL_REAL, 5);
    }
  }
}

static void print_group(const compare_job* job, const compare_where* where, int contender,
                        const compare_group* g, cli_table* table) {
  const compare_options* o = &job->options;
  const compare_contender* c = &job->contenders[contender];
  const double nan = (double)NAN, n = (double)g->problems;
  if (job->scene_count > 1 || (o->scenes && o->format != CLI_FORMAT_TABLE)) {
    char name[COMPARE_LABEL_SIZE];
    compare_scene_name(o->operands[where->scene], name);
    cli_table_text(table, name);
  }
  if (o->vary != NULL) {
    cli_table_text(table, o->values[where->value]);
  }
  if (o->classes) {
    cli_table_text(table, compare_class_names[where->class]);
  }
  cli_table_text(table, c->name);
  if (!o->self) {
    cli_table_text(table, compare_start_names[start_of(job, c)]);
  } else {
    cli_table_integer(table, g->steps);
  }
  cli_table_integer(table, g->problems);
  cli_table_integer(table, g->refused);
  cli_table_integer(table, g->solved_4);
  cli_table_integer(table, g->solved_8);
  cli_table_real(table, n > 0.0 ? (double)g->iterations / n : nan);
  cli_table_integer(table, g->iterations_max);
  cli_table_real(table, 1e6 * compare_median_time(g));
  cli_table_real(table, n > 0.0 ? 1e6 * g->time_max : nan);
  for (int i = 0; i < COMPARE_RESIDUALS; ++i) {
    if (shown(job, i)) {
      cli_table_real(table, n > 0.0 ? g->worst[i] : nan);
    }
  }
  if (o->scenes) {
    cli_table_real(table, g->steps + g->problems > 0 ? g->penetration : nan);
  }
  for (int i = 0; i < o->quantity_count; ++i) {
    if (o->quantities[i].drawn) {
      cli_table_real(table, g->steps > 0 ? g->statistics[i] : nan);
    }
  }
}

bool compare_print_summary(const compare_job* job) {
  layout l = {.count = 0};
  make_layout(job, &l);
  cli_table* table = cli_table_create(l.columns, l.count);
  if (table == NULL) {
    return false;
  }
  const int classes = job->options.classes ? COMPARE_CLASSES : 1;
  compare_where where = {0};
  for (where.scene = 0; where.scene < job->scene_count; ++where.scene) {
    for (where.value = 0; where.value < job->options.value_count; ++where.value) {
      for (int k = 0; k < classes; ++k) {
        where.class = (compare_class)k;
        for (int i = 0; i < job->count; ++i) {
          const compare_group* g = compare_group_of(job, &where, i);
          if (classes == 1 || g->problems + g->refused > 0) {
            print_group(job, &where, i, g, table);
          }
        }
      }
    }
  }
  const bool printed = cli_table_print(table, job->options.format, stdout);
  cli_table_destroy(table);
  return printed;
}
