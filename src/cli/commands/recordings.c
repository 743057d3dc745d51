// SPDX-License-Identifier: BSD-3-Clause
// Commands that read a recording: plot, export.
#include <stdio.h>
#include <string.h>

#include <sapstep/sapstep.h>

#include "cli/files.h"
#include "cli/lines.h"
#include "cli/options.h"
#include "cli/quantity.h"
#include "core/file.h"

// --- sapstep plot: quantities as a chart ---

enum { LINES = 40, POINTS = 4000, LABEL_SIZE = 256, LIST_SIZE = 512 };

typedef struct plot_request {
  const char *recording, *output, *against;
  bool logarithmic;
  char* const* names;
  int count;
} plot_request;

#define AT(member) .offset = offsetof(plot_request, member)
static const cli_option plot_options[] = {
    {"output", "FILE", "SVG, or PNG or PDF by its name, also -o (the recording's name with\n.svg)",
     CLI_TEXT, AT(output)},
    {"against", "QUANTITY", "the horizontal axis, instead of time: phase plots", CLI_TEXT,
     AT(against)},
    {"log", NULL, "logarithmic values", CLI_FLAG, AT(logarithmic)},
    {0},
};
#undef AT

// One panel with all that it draws.
typedef struct picture {
  quantity q;
  double* x;  // NULL: time
  char y_label[LABEL_SIZE];
  sap_chart_series series[LINES];
} picture;

typedef struct plot {
  const plot_request* request;
  const sap_recording* recording;
  double* time;
  quantity against;
  char x_label[LABEL_SIZE];  // of phase plots
  picture* pictures;
  sap_chart_panel* panels;
} plot;

// --- panels ---

static void set_labels(picture* p, const char* name) {
  const quantity_column* first = &p->q.columns[0];
  bool same = true;
  for (int32_t i = 1; i < p->q.count; ++i) {
    same = same && strcmp(p->q.columns[i].unit, first->unit) == 0;
  }
  const bool one = p->q.count == 1 && first->label[0] != '\0';
  const char* what = one ? first->label : p->q.name;
  if (same && first->unit[0] != '\0') {
    (void)snprintf(p->y_label, sizeof p->y_label, "%s [%s]", p->q.name, first->unit);
  } else {
    (void)snprintf(p->y_label, sizeof p->y_label, "%s", what);
  }
  SAP_EACH(quantity_column, c, p->q.columns, p->q.count) {
    if (c->label[0] == '\0') {
      (void)snprintf(c->label, sizeof c->label, "%s", name);
    }
    if (!same && c->unit[0] != '\0' && strlen(c->label) + strlen(c->unit) + 4 < sizeof c->label) {
      (void)strcat(strcat(strcat(c->label, " ["), c->unit), "]");
    }
  }
}

static sap_status read_history(plot* all, const char* name, picture* p, sap_error* error) {
  int32_t row = -1;
  SAP_FAIL_IF(name[strlen("history")] == ':' &&
                  (!cli_read_integer(name + strlen("history:"), &row) || row < 0),
              error, SAP_STATUS_ARGUMENT, "'%.80s': after history: comes a row, >= 0", name);
  SAP_TRY(quantity_read_history(all->recording, row, &p->q, error));
  p->x = cli_new((size_t)p->q.rows, sizeof *p->x);
  for (int64_t i = 0; i < p->q.rows; ++i) {
    p->x[i] = (double)i;
  }
  return SAP_STATUS_OK;
}

static sap_status make_panel(plot* all, int i, sap_error* error) {
  const char* name = all->request->names[i];
  picture* p = &all->pictures[i];
  const bool history = strncmp(name, "history", 7) == 0 && (name[7] == '\0' || name[7] == ':');
  SAP_TRY(history ? read_history(all, name, p, error)
                  : quantity_read(all->recording, name, &p->q, error));
  if (strcmp(name, "step") == 0 && p->q.count > 1) {  // iterations and seconds share no axis
    char list[LIST_SIZE] = "";
    for (int32_t c = 0; c < p->q.count; ++c) {
      const size_t used = strlen(list);
      (void)snprintf(list + used, sizeof list - used, "%s%.32s", c > 0 ? ", " : "",
                     p->q.columns[c].label);
    }
    return sap_fail(error, SAP_STATUS_ARGUMENT,
                    "'step' is many things: choose, as in step:%s; there are %s",
                    p->q.columns[0].label, list);
  }
  SAP_FAIL_IF(p->q.count > LINES, error, SAP_STATUS_ARGUMENT,
              "'%.80s' is %d lines, a chart holds %d: choose, as in %s:%.80s", name, p->q.count,
              LINES, p->q.name, p->q.columns[0].label);
  set_labels(p, name);
  double* points = cli_new((size_t)p->q.count * 2 * POINTS, sizeof *points);
  const bool phase = all->request->against != NULL && !history;
  const double* x = history ? p->x : phase ? all->against.columns[0].values : all->time;
  for (int32_t c = 0; c < p->q.count; ++c, points += (size_t)2 * POINTS) {
    const int32_t n =
        cli_thin_line(p->q.rows, x, p->q.columns[c].values, POINTS, points, points + POINTS);
    p->series[c] = (sap_chart_series){p->q.columns[c].label, n, points, points + POINTS};
  }
  all->panels[i] = (sap_chart_panel){.title = name,
                                     .x_label = history ? "iteration"
                                                : phase ? all->x_label
                                                        : "t [s]",
                                     .y_label = p->y_label,
                                     .log_y = history || all->request->logarithmic,
                                     .markers = history,
                                     .series_count = p->q.count,
                                     .series = p->series};
  return SAP_STATUS_OK;
}

static sap_status draw(plot* all, const char* path, sap_error* error) {
  const plot_request* r = all->request;
  const int64_t rows = sap_recording_rows(all->recording);
  all->pictures = cli_new((size_t)r->count, sizeof *all->pictures);
  all->panels = cli_new((size_t)r->count, sizeof *all->panels);
  all->time = cli_new((size_t)rows, sizeof *all->time);
  SAP_TRY(sap_recording_read(all->recording, "time", 0, rows, all->time, error));
  if (r->against != NULL) {
    SAP_TRY(quantity_read(all->recording, r->against, &all->against, error));
    SAP_FAIL_IF(all->against.count != 1, error, SAP_STATUS_ARGUMENT,
                "--against '%.80s' is %d columns, must be one, as in %s:%.80s", r->against,
                all->against.count, all->against.name, all->against.columns[0].label);
    const char* unit = all->against.columns[0].unit;
    (void)snprintf(all->x_label, sizeof all->x_label, unit[0] != '\0' ? "%s [%s]" : "%s",
                   r->against, unit);
  }
  for (int i = 0; i < r->count; ++i) {
    SAP_TRY(make_panel(all, i, error));
  }
  return sap_chart_write(path, all->panels, all->request->count, true, error);
}

static sap_status draw_recording(const plot_request* r, const char* path, sap_error* error) {
  sap_recording* recording = NULL;
  SAP_TRY(cli_check_sibling(path, r->recording, error));
  SAP_TRY(sap_recording_open(r->recording, &recording, error));
  const sap_status status = draw(&(plot){.request = r, .recording = recording}, path, error);
  sap_recording_close(recording);
  return status;
}

static int run_plot(const cli_command* command, int argc, char** argv) {
  plot_request r = {0};
  cli_parser parser;
  SAP_RETURN_IF(!cli_parse(&parser, command, &r, argc, argv), parser.exit_code);
  r.recording = parser.operands[0];
  r.names = parser.operands + 1;
  r.count = parser.noperands - 1;
  sap_error error = {0};
  const char* path = r.output != NULL ? r.output : cli_sibling_path(r.recording, ".svg");
  SAP_RETURN_IF(draw_recording(&r, path, &error) != SAP_STATUS_OK, cli_report(&error));
  (void)printf("%s\n", path);
  return CLI_OK;
}

const cli_command cli_command_plot = {
    .name = "plot",
    .operands = "RECORDING QUANTITY...",
    .summary = "plot energies, positions, contact forces, ...",
    .text = cli_text_plot,
    .options = plot_options,
    .run = run_plot,
};

// --- sapstep export: quantities as CSV ---

// Exported if no quantity is named.
static char* const everything[] = {"q",           "v",    "energy", "momentum", "contacts",
                                   "penetration", "slip", "step",   "sensor"};
enum { EVERYTHING = sizeof everything / sizeof *everything };

typedef struct export_request {
  const char *recording, *output;
  bool contacts;
  char* const* names;
  int count;
} export_request;

#define AT(member) .offset = offsetof(export_request, member)
static const cli_option export_options[] = {
    {"output", "FILE", "output file, also -o (standard output): CSV, or .glb, .gltf, .mcap",
     CLI_TEXT, AT(output)},
    {"contacts", NULL, "a line for each contact of each row, instead of quantities", CLI_FLAG,
     AT(contacts)},
    {0},
};
#undef AT

// Names columns as 'sapstep run --output' does: "q:elbow" and "rad/s" make "q_elbow_radps", and
// "energy:kinetic" makes "kinetic_J"; quoted where the name makes that necessary.
static void print_name(FILE* out, const quantity* q, const quantity_column* c) {
  const bool alone = strcmp(q->name, "energy") == 0 || strcmp(q->name, "step") == 0;
  char label[QUANTITY_LABEL_SIZE];
  (void)snprintf(label, sizeof label, "%s", c->label);
  char* part = strrchr(label, ':');
  if (part != NULL) {
    *part = '_';
  }
  sap_csv_column(out, alone ? "" : q->name, label, "", strchr(c->unit, ',') == NULL ? c->unit : "");
}

static void print_quantities(FILE* out, const double* time, const quantity* all, int count) {
  (void)fputs("t_s", out);
  for (int i = 0; i < count; ++i) {
    for (int32_t c = 0; c < all[i].count; ++c) {
      print_name(out, &all[i], &all[i].columns[c]);
    }
  }
  (void)fputc('\n', out);
  for (int64_t row = 0; row < all[0].rows && !ferror(out); ++row) {
    (void)fprintf(out, "%.17g", time[row]);
    for (int i = 0; i < count; ++i) {
      for (int32_t c = 0; c < all[i].count; ++c) {
        (void)fprintf(out, ",%.17g", all[i].columns[c].values[row]);
      }
    }
    (void)fputc('\n', out);
  }
}

static sap_status write_quantities(const sap_recording* recording, const export_request* r,
                                   FILE* out, sap_error* error) {
  const int64_t rows = sap_recording_rows(recording);
  quantity* all = cli_new((size_t)r->count, sizeof *all);
  double* time = cli_new((size_t)rows, sizeof *time);
  SAP_TRY(sap_recording_read(recording, "time", 0, rows, time, error));
  for (int i = 0; i < r->count; ++i) {
    const sap_status status = quantity_read(recording, r->names[i], &all[i], error);
    if (status == SAP_STATUS_ARGUMENT && r->names == everything) {
      all[i] = (quantity){.rows = rows};  // a model without joints has no q
    } else if (status != SAP_STATUS_OK) {
      return status;
    }
  }
  print_quantities(out, time, all, r->count);
  return SAP_STATUS_OK;
}

// The data sets of contacts, side by side.
static const struct {
  const char* name;
  int columns;
} contact_sets[] = {{"contact/id", 6},       {"contact/point", 3},    {"contact/frame", 9},
                    {"contact/distance", 1}, {"contact/velocity", 3}, {"contact/impulse", 3},
                    {"contact/turning", 3},  {"contact/moment", 3},   {"contact/patch", 3},
                    {"contact/law", 4}};
enum { CONTACT_SETS = sizeof contact_sets / sizeof *contact_sets, CONTACT_COLUMNS = 38 };

static sap_status write_contacts(const sap_recording* recording, FILE* out, sap_error* error) {
  (void)fputs(
      "t_s,body_A,body_B,shape_A,shape_B,feature,mode,x_m,y_m,z_m,t1x,t1y,t1z,t2x,t2y,t2z,"
      "nx,ny,nz,distance_m,v_t1_mps,v_t2_mps,v_n_mps,impulse_t1_Ns,impulse_t2_Ns,"
      "impulse_n_Ns,w_spin_radps,w_roll1_radps,w_roll2_radps,moment_spin_Nms,"
      "moment_roll1_Nms,moment_roll2_Nms,patch,area_m2,pressure_Pa,stiffness_Npm,"
      "relaxation_time_s,friction,realised\n",
      out);
  for (int64_t row = 0; row < sap_recording_rows(recording); ++row) {
    double t, first, count;
    SAP_TRY(sap_recording_read(recording, "time", row, 1, &t, error));
    SAP_TRY(sap_recording_read(recording, "contact/first", row, 1, &first, error));
    SAP_TRY(sap_recording_read(recording, "contact/count", row, 1, &count, error));
    for (int64_t i = 0; i < (int64_t)count; ++i) {
      double values[CONTACT_COLUMNS], *to = values;
      for (int s = 0; s < CONTACT_SETS; ++s) {
        SAP_TRY(
            sap_recording_read(recording, contact_sets[s].name, (int64_t)first + i, 1, to, error));
        to += contact_sets[s].columns;
      }
      (void)fprintf(out, "%.17g", t);
      for (int k = 0; k < CONTACT_COLUMNS; ++k) {
        (void)fprintf(out, ",%.17g", values[k]);
      }
      (void)fputc('\n', out);
    }
  }
  return SAP_STATUS_OK;
}

static sap_status write_export(const export_request* r, sap_error* error) {
  sap_recording* recording = NULL;
  sap_file* file = NULL;
  sap_status status = sap_recording_open(r->recording, &recording, error);
  if (status == SAP_STATUS_OK && r->output != NULL) {
    status = sap_file_create(r->output, &file, error);
  }
  if (status == SAP_STATUS_OK) {
    FILE* out = file != NULL ? sap_file_stream(file) : stdout;
    status = r->contacts ? write_contacts(recording, out, error)
                         : write_quantities(recording, r, out, error);
  }
  status = sap_file_finish(file, status, error);
  sap_recording_close(recording);
  return status;
}

static int run_export(const cli_command* command, int argc, char** argv) {
  export_request r = {0};
  cli_parser parser;
  SAP_RETURN_IF(!cli_parse(&parser, command, &r, argc, argv), parser.exit_code);
  SAP_RETURN_IF(r.contacts && parser.noperands > 1,
                cli_usage_error(command, "--contacts excludes quantities"));
  static const char* const others[] = {".glb", ".gltf", ".mcap", NULL};
  if (r.output != NULL && cli_path_ends(r.output, others)) {
    char* arguments[] = {NULL,
                         "-c",
                         (char*)cli_package_script,
                         "export",
                         "-o",
                         (char*)r.output,
                         "--",
                         parser.operands[0],
                         NULL};
    return r.contacts || parser.noperands > 1
               ? cli_usage_error(command, "glTF and MCAP have all quantities and contacts")
               : cli_start_python(arguments, "glTF and MCAP need Python with the package sapstep");
  }
  r.recording = parser.operands[0];
  r.names = parser.noperands > 1 ? parser.operands + 1 : everything;
  r.count = parser.noperands > 1 ? parser.noperands - 1 : EVERYTHING;
  sap_error error = {0};
  return write_export(&r, &error) == SAP_STATUS_OK ? CLI_OK : cli_report(&error);
}

const cli_command cli_command_export = {
    .name = "export",
    .operands = "RECORDING [QUANTITY...]",
    .summary = "write quantities or contacts as CSV, or the run as glTF or MCAP",
    .text = cli_text_export,
    .options = export_options,
    .run = run_export,
};
