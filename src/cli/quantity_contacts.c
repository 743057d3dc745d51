// SPDX-License-Identifier: BSD-3-Clause
// Quantities made of contacts, and of the iterations of one step.
#include <math.h>
#include <stdio.h>
#include <stdlib.h>

#include "cli/quantity.h"

enum { DT_COLUMN = 10, STEP_WIDTH = 13, PIECE = 8192 };

// A piece of the contacts.
typedef struct piece {
  double id[PIECE][6], frame[PIECE][9], distance[PIECE], velocity[PIECE][3], impulse[PIECE][3];
} piece;

static sap_status read_all(const sap_recording* recording, const char* name, int64_t columns,
                           double** out, int64_t* rows, sap_error* error) {
  int64_t width = 0;
  *out = NULL;
  const sap_status status = sap_recording_size(recording, name, rows, &width, error);
  if (status != SAP_STATUS_OK) {
    return status;
  }
  if (width != columns) {
    return sap_fail(error, SAP_STATUS_SYNTAX, "'%s' has %lld columns, not %lld", name,
                    (long long)width, (long long)columns);
  }
  *out = malloc((size_t)(*rows * width + 1) * sizeof **out);
  return *out == NULL ? cli_no_memory(error)
                      : sap_recording_read(recording, name, 0, *rows, *out, error);
}

static sap_status read_piece(const sap_recording* recording, int64_t at, int64_t count, piece* p,
                             sap_error* error) {
  const struct {
    const char* name;
    double* values;
  } sets[] = {{"contact/id", p->id[0]},
              {"contact/frame", p->frame[0]},
              {"contact/distance", p->distance},
              {"contact/velocity", p->velocity[0]},
              {"contact/impulse", p->impulse[0]}};
  sap_status status = SAP_STATUS_OK;
  for (size_t i = 0; i < sizeof sets / sizeof *sets && status == SAP_STATUS_OK; ++i) {
    status = sap_recording_read(recording, sets[i].name, at, count, sets[i].values, error);
  }
  return status;
}

// Force on body B in the world's axes [N].
static void world_force(const piece* p, int64_t i, double dt, double force[3]) {
  for (int k = 0; k < 3; ++k) {
    force[k] = dt > 0.0
                   ? (p->frame[i][k] * p->impulse[i][0] + p->frame[i][3 + k] * p->impulse[i][1] +
                      p->frame[i][6 + k] * p->impulse[i][2]) /
                         dt
                   : 0.0;
  }
}

static void add_contact(const piece* p, int64_t i, double dt, int64_t row, quantity* q) {
  double force[3];
  world_force(p, i, dt, force);
  for (int32_t c = 0; c < q->count; ++c) {
    double* value = &q->columns[c].values[row];
    const int32_t source = q->columns[c].source;
    if (source == QUANTITY_PENETRATION) {
      *value = fmax(*value, -p->distance[i]);
    } else if (source == QUANTITY_SLIP) {
      const double speed = hypot(p->velocity[i][0], p->velocity[i][1]);
      *value = p->impulse[i][2] > 0.0 ? fmax(*value, speed) : *value;
    } else {
      const double body = (source - QUANTITY_FORCE) / 4;
      const int k = (source - QUANTITY_FORCE) % 4;
      *value += p->id[i][1] == body ? force[k] : p->id[i][0] == body ? -force[k] : 0.0;
    }
  }
}

sap_status quantity_read_contacts(const sap_recording* recording, quantity* q, sap_error* error) {
  double *count = NULL, *step = NULL;
  int64_t rows = 0, all = 0, width = 0;
  piece* p = malloc(sizeof *p);
  sap_status status = p != NULL ? read_all(recording, "contact/count", 1, &count, &rows, error)
                                : cli_no_memory(error);
  if (status == SAP_STATUS_OK) {
    status = read_all(recording, "step", STEP_WIDTH, &step, &rows, error);
  }
  if (status == SAP_STATUS_OK) {
    status = sap_recording_size(recording, "contact/impulse", &all, &width, error);
  }
  int64_t at = 0, have = 0, used = 0;  // piece [at - have, at), `used` of it
  for (int64_t row = 0; row < q->rows && status == SAP_STATUS_OK; ++row) {
    for (int64_t i = 0; i < (int64_t)count[row] && status == SAP_STATUS_OK; ++i) {
      if (used == have) {
        have = all - at < PIECE ? all - at : PIECE;
        status = have > 0 ? read_piece(recording, at, have, p, error)
                          : sap_fail(error, SAP_STATUS_SYNTAX,
                                     "the recording lacks contacts of row %lld", (long long)row);
        at += have;
        used = 0;
      }
      if (status == SAP_STATUS_OK) {
        add_contact(p, used++, step[STEP_WIDTH * row + DT_COLUMN], row, q);
      }
    }
  }
  free(count);
  free(step);
  free(p);
  return status;
}

static sap_status fill_history(const sap_recording* recording, int64_t first, quantity* q,
                               sap_error* error) {
  static const char* const labels[2] = {"cost above the last", "momentum error"};
  static const char* const units[2] = {"J", ""};
  q->columns = calloc(2, sizeof *q->columns);
  double* values = malloc(4 * (size_t)q->rows * sizeof *values);
  sap_status status =
      q->columns != NULL && values != NULL
          ? sap_recording_read(recording, "iteration/value", first, q->rows, values, error)
          : cli_no_memory(error);
  for (int32_t c = 0; c < 2 && status == SAP_STATUS_OK; ++c) {
    quantity_column* column = &q->columns[q->count++];
    (void)snprintf(column->label, sizeof column->label, "%s", labels[c]);
    (void)snprintf(column->unit, sizeof column->unit, "%s", units[c]);
    column->values = malloc((size_t)q->rows * sizeof(double));
    if (column->values == NULL) {
      status = cli_no_memory(error);
    }
    for (int64_t i = 0; i < q->rows && status == SAP_STATUS_OK; ++i) {
      column->values[i] = values[4 * i + c] - (c == 0 ? values[4 * (q->rows - 1)] : 0.0);
    }
  }
  free(values);
  return status;
}

sap_status quantity_read_history(const sap_recording* recording, int64_t row, quantity* out,
                                 sap_error* error) {
  double *first = NULL, *count = NULL;
  int64_t rows = 0;
  *out = (quantity){.name = "history", .title = "history"};
  sap_status status = read_all(recording, "iteration/first", 1, &first, &rows, error);
  if (status == SAP_STATUS_OK) {
    status = read_all(recording, "iteration/count", 1, &count, &rows, error);
  }
  if (status == SAP_STATUS_OK && row >= rows) {
    status = sap_fail(error, SAP_STATUS_ARGUMENT, "row %lld: the recording has %lld",
                      (long long)row, (long long)rows);
  }
  for (int64_t i = 0, most = 0; i < rows && row < 0 && status == SAP_STATUS_OK; ++i) {
    if ((int64_t)count[i] > most) {
      most = (int64_t)count[i];
      out->rows = i;
    }
  }
  if (status == SAP_STATUS_OK) {
    row = row >= 0 ? row : out->rows;
    out->rows = (int64_t)count[row];
    status = out->rows > 0 ? fill_history(recording, (int64_t)first[row], out, error)
                           : sap_fail(error, SAP_STATUS_ARGUMENT,
                                      "the solver did not iterate in row %lld", (long long)row);
  }
  free(first);
  free(count);
  if (status != SAP_STATUS_OK) {
    quantity_clear(out);
  }
  return status;
}
