// SPDX-License-Identifier: BSD-3-Clause
// sapstep export: quantities of a recording as CSV.
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <sapstep/sapstep.h>

#include "cli/options.h"
#include "cli/quantity.h"
#include "core/file.h"

// Exported if no quantity is named.
static char* const everything[] = {"q",        "v",           "energy", "momentum",
                                   "contacts", "penetration", "slip",   "step"};
enum { EVERYTHING = sizeof everything / sizeof *everything };

typedef struct request {
  const char *recording, *output;
  bool contacts;
  char* const* names;
  int count;
} request;

#define AT(member) .offset = offsetof(request, member)
static const cli_option options[] = {
    {"output", "FILE", "output file, also -o (standard output)", CLI_TEXT, AT(output)},
    {"contacts", NULL, "a line for each contact of each row, instead of quantities", CLI_FLAG,
     AT(contacts)},
    {0},
};
#undef AT

// "q:elbow" and "rad/s" make "q:elbow_radps"; quoted where the name makes that necessary.
static void print_name(FILE* out, const quantity* q, const quantity_column* c) {
  const char* quote = sap_csv_is_quoted(c->label) ? "\"" : "";
  (void)fprintf(out, ",%s%s%s", quote, q->name, c->label[0] != '\0' ? ":" : "");
  sap_csv_put(out, c->label);
  if (c->unit[0] != '\0' && strchr(c->unit, ',') == NULL) {
    (void)fputc('_', out);
    for (const char* u = c->unit; *u != '\0'; ++u) {
      if (*u != ' ' && *u != '^') {
        (void)fputc(*u == '/' ? 'p' : *u, out);
      }
    }
  }
  (void)fputs(quote, out);
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

static sap_status write_quantities(const sap_recording* recording, const request* r, FILE* out,
                                   sap_error* error) {
  const int64_t rows = sap_recording_rows(recording);
  quantity* all = calloc((size_t)r->count, sizeof *all);
  double* time = malloc(((size_t)rows + 1) * sizeof *time);
  sap_status status = all != NULL && time != NULL
                          ? sap_recording_read(recording, "time", 0, rows, time, error)
                          : cli_no_memory(error);
  for (int i = 0; i < r->count && status == SAP_STATUS_OK; ++i) {
    status = quantity_read(recording, r->names[i], &all[i], error);
    if (status != SAP_STATUS_OK && r->names == everything && error->status == SAP_STATUS_ARGUMENT) {
      status = SAP_STATUS_OK;  // a model without joints has no q
      all[i].rows = rows;
    }
  }
  if (status == SAP_STATUS_OK) {
    print_quantities(out, time, all, r->count);
  }
  for (int i = 0; i < r->count && all != NULL; ++i) {
    quantity_clear(&all[i]);
  }
  free(all);
  free(time);
  return status;
}

// The data sets of contacts, side by side.
static const struct {
  const char* name;
  int columns;
} contact_sets[] = {{"contact/id", 6},       {"contact/point", 3},    {"contact/frame", 9},
                    {"contact/distance", 1}, {"contact/velocity", 3}, {"contact/impulse", 3},
                    {"contact/turning", 3},  {"contact/moment", 3}};
enum { CONTACT_SETS = sizeof contact_sets / sizeof *contact_sets, CONTACT_COLUMNS = 31 };

static sap_status write_contacts(const sap_recording* recording, FILE* out, sap_error* error) {
  (void)fputs(
      "t_s,body_A,body_B,shape_A,shape_B,feature,mode,x_m,y_m,z_m,t1x,t1y,t1z,t2x,t2y,t2z,"
      "nx,ny,nz,distance_m,v_t1_mps,v_t2_mps,v_n_mps,impulse_t1_Ns,impulse_t2_Ns,"
      "impulse_n_Ns,w_spin_radps,w_roll1_radps,w_roll2_radps,moment_spin_Nms,"
      "moment_roll1_Nms,moment_roll2_Nms\n",
      out);
  sap_status status = SAP_STATUS_OK;
  for (int64_t row = 0; row < sap_recording_rows(recording) && status == SAP_STATUS_OK; ++row) {
    double t, first, count;
    status = sap_recording_read(recording, "time", row, 1, &t, error);
    if (status == SAP_STATUS_OK) {
      status = sap_recording_read(recording, "contact/first", row, 1, &first, error);
    }
    if (status == SAP_STATUS_OK) {
      status = sap_recording_read(recording, "contact/count", row, 1, &count, error);
    }
    for (int64_t i = 0; status == SAP_STATUS_OK && i < (int64_t)count; ++i) {
      double values[CONTACT_COLUMNS], *to = values;
      for (int s = 0; s < CONTACT_SETS && status == SAP_STATUS_OK; ++s) {
        status =
            sap_recording_read(recording, contact_sets[s].name, (int64_t)first + i, 1, to, error);
        to += contact_sets[s].columns;
      }
      (void)fprintf(out, "%.17g", t);
      for (int k = 0; k < CONTACT_COLUMNS && status == SAP_STATUS_OK; ++k) {
        (void)fprintf(out, ",%.17g", values[k]);
      }
      (void)fputc('\n', out);
    }
  }
  return status;
}

static sap_status write_file(const sap_recording* recording, const request* r, sap_error* error) {
  sap_file* file = NULL;
  sap_status status = sap_file_create(r->output, &file, error);
  if (status == SAP_STATUS_OK) {
    FILE* out = sap_file_stream(file);
    status = r->contacts ? write_contacts(recording, out, error)
                         : write_quantities(recording, r, out, error);
  }
  if (status == SAP_STATUS_OK) {
    status = sap_file_commit(file, error);
  }
  sap_file_close(file);
  return status;
}

static int run(const cli_command* command, int argc, char** argv) {
  request r = {0};
  cli_parser parser;
  if (!cli_parse(&parser, command, &r, argc, argv)) {
    return parser.exit_code;
  }
  if (parser.noperands < 1 || (r.contacts && parser.noperands > 1)) {
    return cli_usage_error(
        command, "%s",
        parser.noperands < 1 ? "a recording is needed" : "--contacts excludes quantities");
  }
  r.recording = parser.operands[0];
  r.names = parser.noperands > 1 ? parser.operands + 1 : everything;
  r.count = parser.noperands > 1 ? parser.noperands - 1 : EVERYTHING;
  sap_recording* recording = NULL;
  sap_error error = {0};
  sap_status status = sap_recording_open(r.recording, &recording, &error);
  if (status == SAP_STATUS_OK && r.output != NULL) {
    status = write_file(recording, &r, &error);
  } else if (status == SAP_STATUS_OK) {
    status = r.contacts ? write_contacts(recording, stdout, &error)
                        : write_quantities(recording, &r, stdout, &error);
  }
  sap_recording_close(recording);
  return status == SAP_STATUS_OK ? CLI_OK : cli_report(&error);
}

const cli_command cli_command_export = {
    .name = "export",
    .operands = "RECORDING [QUANTITY...]",
    .summary = "write quantities, or all contacts, as CSV",
    .description =
        "Writes quantities of a recording over time, or all its contacts, as CSV with units in\n"
        "the names of the columns. Quantities are those of 'sapstep plot'; without any, states,\n"
        "energies, momenta, contacts in short, and what the solver did.",
    .examples =
        "  sapstep export clutter.h5 energy position:s3 > a.csv\n"
        "  sapstep export clutter.h5 --contacts -o contacts.csv\n",
    .options = options,
    .run = run,
};
