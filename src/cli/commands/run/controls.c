// SPDX-License-Identifier: BSD-3-Clause
// Controls over time from a CSV file, and contact problems of steps as files.
#include <errno.h>
#include <limits.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>

#include "cli/commands/run/run_loop.h"
#include "cli/files.h"
#include "core/file.h"

// Cuts the next cell off a line, without blanks around it; NULL: none is left.
static char* next_cell(char** rest) {
  char* cell = strsep(rest, ",");
  if (cell != NULL) {
    cell += strspn(cell, " \t");
    char* end = cell + strlen(cell);
    while (end > cell && strchr(" \t\r\n", end[-1]) != NULL) {
      --end;
    }
    *end = '\0';
  }
  return cell;
}

static sap_status read_header(char* line, run_find* find, const void* model, run_controls* out,
                              sap_error* error) {
  const char* first = next_cell(&line);
  SAP_RETURN_IF(first == NULL || strcmp(first, "t_s") != 0,
                sap_fail(error, SAP_STATUS_SYNTAX, "the first column must be t_s, not '%.60s'",
                         first != NULL ? first : ""));
  for (const char* name = next_cell(&line); name != NULL; name = next_cell(&line)) {
    const int32_t id = find(model, name);
    SAP_RETURN_IF(id < 0,
                  sap_fail(error, SAP_STATUS_SYNTAX, "no actuator is called '%.60s'", name));
    for (int32_t i = 0; i < out->columns; ++i) {
      SAP_RETURN_IF(out->actuator[i] == id,
                    sap_fail(error, SAP_STATUS_SYNTAX, "actuator '%.60s' appears twice", name));
    }
    out->actuator[out->columns++] = id;
  }
  return SAP_STATUS_OK;
}

static sap_status read_row(char* line, run_controls* out, sap_error* error) {
  const int32_t width = out->columns + 1;
  CLI_GROW(&out->values, &out->capacity, ((int64_t)out->rows + 1) * width);
  double* row = out->values + (size_t)out->rows * (size_t)width;
  int32_t count = 0;
  for (const char* cell = next_cell(&line); cell != NULL; cell = next_cell(&line)) {
    SAP_RETURN_IF(count < width && !cli_read_real(cell, &row[count]),
                  sap_fail(error, SAP_STATUS_SYNTAX, "'%.60s' is not a finite number", cell));
    ++count;
  }
  SAP_RETURN_IF(count != width,
                sap_fail(error, SAP_STATUS_SYNTAX, "%d values, the header has %d", count, width));
  if (out->rows > 0 && !(row[0] > row[-width])) {
    return sap_fail(error, SAP_STATUS_SYNTAX, "t_s = %g must be above that of the row before, %g",
                    row[0], row[-width]);
  }
  ++out->rows;
  return SAP_STATUS_OK;
}

sap_status run_controls_read(const char* path, int32_t nu, run_find* find, const void* model,
                             run_controls* out, sap_error* error) {
  out->actuator = cli_new((size_t)nu, sizeof *out->actuator);
  char* text = cli_read_text(path, error);
  if (text == NULL) {
    return error->status;
  }
  char* rest = text;
  sap_status status = SAP_STATUS_OK;
  int number = 0;
  bool header = false;
  for (char* line = cli_next_line(&rest); status == SAP_STATUS_OK && line != NULL;
       line = cli_next_line(&rest)) {
    ++number;
    if (line[strspn(line, " \t\r")] == '\0') {
      continue;
    }
    status = header ? read_row(line, out, error) : read_header(line, find, model, out, error);
    header = true;
  }
  if (!header) {
    ++number;
    status = sap_fail(error, SAP_STATUS_SYNTAX, "the header t_s,NAME,... is missing");
  }
  SAP_TRY_OR(status, sap_error_prefix(error, "%.200s:%d", path, number));
  return SAP_STATUS_OK;
}

// Times of steps and of rows are rounded: a row within this relative distance of t is due.
#define TIME_TOLERANCE 1e-9

void run_controls_apply(const run_controls* controls, double t, double* control) {
  const int32_t width = controls->columns + 1;
  int32_t low = -1, high = controls->rows;  // the last row that is due is low
  while (high - low > 1) {
    const int32_t middle = low + (high - low) / 2;
    const double due = controls->values[(size_t)middle * (size_t)width];
    if (due <= t + TIME_TOLERANCE * (t > 1.0 ? t : 1.0)) {
      low = middle;
    } else {
      high = middle;
    }
  }
  for (int32_t i = 0; low >= 0 && i < controls->columns; ++i) {
    control[controls->actuator[i]] = controls->values[(size_t)low * (size_t)width + 1 + (size_t)i];
  }
}

enum { FOLDER_MODE = 0777 };

sap_status run_dump(const run_plan* plan, int64_t step, const sap_problem* problem,
                    sap_error* error) {
  const char* folder = plan->dump;
  char path[PATH_MAX];
  if (folder == NULL || step % plan->dump_every != 0) {
    return SAP_STATUS_OK;
  }
  SAP_RETURN_IF(mkdir(folder, FOLDER_MODE) != 0 && errno != EEXIST,
                sap_fail_io(error, errno, "make the folder", folder));
  const int length = snprintf(path, sizeof path, "%s/step_%06lld.hdf5", folder, (long long)step);
  SAP_RETURN_IF(length < 0 || length >= (int)sizeof path,
                sap_fail_io(error, ENAMETOOLONG, "write into", folder));
  return sap_problem_file_write(path, problem, NULL, error);
}
