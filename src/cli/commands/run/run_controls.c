// SPDX-License-Identifier: BSD-3-Clause
#define _POSIX_C_SOURCE 200809L
#include "cli/commands/run/run_controls.h"

#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "cli/command.h"
#include "cli/files.h"
#include "cli/options.h"

// The file being read.
typedef struct source {
  const char* path;
  int line;
  sap_error* error;
} source;

SAP_PRINTF(3, 4)
static sap_status fail(const source* s, sap_status status, const char* format, ...) {
  va_list arguments;
  char text[256];
  va_start(arguments, format);
  (void)vsnprintf(text, sizeof text, format, arguments);
  va_end(arguments);
  return sap_fail(s->error, status, "%.200s:%d: %s", s->path, s->line, text);
}

// Cuts the next cell off a line, without blanks around it; NULL: none is left.
static char* next_cell(char** rest) {
  char* cell = *rest;
  if (cell == NULL) {
    return NULL;
  }
  char* comma = strchr(cell, ',');
  *rest = comma != NULL ? comma + 1 : NULL;
  char* end = comma != NULL ? comma : cell + strlen(cell);
  cell += strspn(cell, " \t");
  while (end > cell && strchr(" \t\r\n", end[-1]) != NULL) {
    --end;
  }
  *end = '\0';
  return cell;
}

static sap_status read_header(const source* s, char* line, const sap_model* model,
                              run_controls* out) {
  const char* first = next_cell(&line);
  if (first == NULL || strcmp(first, "t_s") != 0) {
    return fail(s, SAP_STATUS_SYNTAX, "the first column must be t_s, not '%.60s'",
                first != NULL ? first : "");
  }
  const int32_t nu = sap_model_get_sizes(model).nu;
  out->actuator = calloc((size_t)nu + 1, sizeof *out->actuator);
  if (out->actuator == NULL) {
    return fail(s, SAP_STATUS_MEMORY, "out of memory");
  }
  for (const char* name = next_cell(&line); name != NULL; name = next_cell(&line)) {
    const int32_t id = sap_model_find(model, SAP_ELEMENT_ACTUATOR, name);
    if (id < 0) {
      return fail(s, SAP_STATUS_SYNTAX, "no actuator is called '%.60s'", name);
    }
    for (int32_t i = 0; i < out->columns; ++i) {
      if (out->actuator[i] == id) {
        return fail(s, SAP_STATUS_SYNTAX, "actuator '%.60s' appears twice", name);
      }
    }
    out->actuator[out->columns++] = id;
  }
  return SAP_STATUS_OK;
}

static sap_status read_row(const source* s, char* line, run_controls* out) {
  const int32_t width = out->columns + 1;
  if (out->rows == out->row_capacity) {
    const int32_t capacity = 2 * out->row_capacity + 64;
    double* grown = realloc(out->values, (size_t)capacity * (size_t)width * sizeof *out->values);
    if (grown == NULL) {
      return fail(s, SAP_STATUS_MEMORY, "out of memory");
    }
    out->values = grown;
    out->row_capacity = capacity;
  }
  double* row = out->values + (size_t)out->rows * (size_t)width;
  int32_t count = 0;
  for (const char* cell = next_cell(&line); cell != NULL; cell = next_cell(&line)) {
    if (count < width && !cli_read_real(cell, &row[count])) {
      return fail(s, SAP_STATUS_SYNTAX, "'%.60s' is not a finite number", cell);
    }
    ++count;
  }
  if (count != width) {
    return fail(s, SAP_STATUS_SYNTAX, "%ld values, the header has %ld", (long)count, (long)width);
  }
  if (out->rows > 0 && !(row[0] > row[-width])) {
    return fail(s, SAP_STATUS_SYNTAX, "t_s = %g must be above that of the row before, %g", row[0],
                row[-width]);
  }
  ++out->rows;
  return SAP_STATUS_OK;
}

bool run_controls_of_keyframe(const char* name, const sap_model* model, double* control,
                              sap_status* status, sap_error* error) {
  const int32_t keyframe = sap_model_find(model, SAP_ELEMENT_KEYFRAME, name);
  if (keyframe < 0 || access(name, F_OK) == 0) {
    return false;
  }
  sap_state unused = {0};
  *status = sap_model_get_keyframe(model, keyframe, &unused, control, error);
  sap_state_clear(&unused);
  return true;
}

sap_status run_controls_read(const char* path, const sap_model* model, run_controls* out,
                             sap_error* error) {
  source s = {path, 0, error};
  char* text = cli_read_text(path, error);
  if (text == NULL) {
    return error->status;
  }
  char* rest = text;
  sap_status status = SAP_STATUS_OK;
  bool header = false;
  for (char* line = cli_next_line(&rest); status == SAP_STATUS_OK && line != NULL;
       line = cli_next_line(&rest)) {
    ++s.line;
    if (line[strspn(line, " \t\r")] == '\0') {
      continue;
    }
    status = header ? read_row(&s, line, out) : read_header(&s, line, model, out);
    header = true;
  }
  if (status == SAP_STATUS_OK && !header) {
    ++s.line;
    status = fail(&s, SAP_STATUS_SYNTAX, "the header t_s,NAME,... is missing");
  }
  free(text);
  return status;
}

void run_controls_clear(run_controls* controls) {
  free(controls->actuator);
  free(controls->values);
  *controls = (run_controls){0};
}

// Times of steps are sums of dt: a row within this relative distance of t is due.
#define TIME_TOLERANCE 1e-9

int run_controls_apply(void* context, double t, const double* q, const double* v, double* control) {
  const run_controls* controls = context;
  const int32_t width = controls->columns + 1;
  (void)q;
  (void)v;
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
  return 0;
}
