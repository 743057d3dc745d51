// SPDX-License-Identifier: BSD-3-Clause
// Quantities by name, and the columns that each name selects.
#include <math.h>
#include <stdbool.h>
#include <stdio.h>
#include <string.h>

#include "cli/quantity.h"
#include "multibody/model/joint_coordinates.h"

typedef struct quantity_kind quantity_kind;
// Adds labels and units of all columns of a kind.
typedef sap_status labeler(const sap_recording* recording, const quantity_kind* kind, quantity* q,
                           sap_error* error);
struct quantity_kind {
  const char* name;  // NULL: the end of the list
  const char* data;  // data set; NULL: made of contacts
  labeler* label;
  const char* unit;
  int32_t first, stride;  // source of the first column, and from one body's to the next one's
};
enum { QUANTITY_TOTAL_ENERGY = 3 };  // source of the column that is a sum
// Sources of columns that are computed from contacts.
enum { QUANTITY_PENETRATION, QUANTITY_SLIP, QUANTITY_PRESSURE, QUANTITY_FORCE };
// force: + 4 body + component

// --- columns of each quantity ---

enum { NAME_SIZE = 96 };

static void add_column(quantity* q, const char* label, const char* unit, int32_t source) {
  CLI_GROW(&q->columns, &q->capacity, q->count + 1);
  quantity_column* c = &q->columns[q->count++];
  *c = (quantity_column){.source = source};
  (void)snprintf(c->label, sizeof c->label, "%s", label);
  (void)snprintf(c->unit, sizeof c->unit, "%s", unit);
}

// Adds the columns named by the attribute of the data set.
static sap_status label_named(const sap_recording* recording, const quantity_kind* kind,
                              quantity* q, sap_error* error) {
  char names[512];
  int32_t source = 0;
  SAP_TRY(sap_recording_attribute(recording, kind->data, "columns", names, sizeof names, error));
  for (char* name = strtok(names, ","); name != NULL; name = strtok(NULL, ",")) {
    add_column(q, name, kind->unit, source++);
  }
  return SAP_STATUS_OK;
}

static sap_status label_energy(const sap_recording* recording, const quantity_kind* kind,
                               quantity* q, sap_error* error) {
  SAP_TRY(label_named(recording, kind, q, error));
  add_column(q, "total", "J", QUANTITY_TOTAL_ENERGY);
  return SAP_STATUS_OK;
}

static sap_status label_momentum(const sap_recording* recording, const quantity_kind* kind,
                                 quantity* q, sap_error* error) {
  SAP_TRY(label_named(recording, kind, q, error));
  for (int32_t i = 3; i < q->count; ++i) {
    (void)snprintf(q->columns[i].unit, QUANTITY_UNIT_SIZE, "kg m^2/s");
  }
  return SAP_STATUS_OK;
}

static sap_status label_one(const sap_recording* recording, const quantity_kind* kind, quantity* q,
                            sap_error* error) {
  (void)recording;
  (void)error;
  add_column(q, "", kind->unit, kind->first);
  return SAP_STATUS_OK;
}

// Writes an element's name, or its kind and number.
static sap_status element_name(const sap_recording* recording, const char* list, const char* what,
                               int32_t id, char* out, sap_error* error) {
  SAP_TRY(sap_recording_text(recording, list, id, out, NAME_SIZE, error));
  if (out[0] == '\0') {
    (void)snprintf(out, NAME_SIZE, "%s_%d", what, id);
  }
  return SAP_STATUS_OK;
}

// Adds columns x, y, z of every body but the world.
static sap_status label_bodies(const sap_recording* recording, const quantity_kind* kind,
                               quantity* q, sap_error* error) {
  int64_t bodies = 0, columns = 0;
  SAP_TRY(sap_recording_size(recording, "model/bodies", &bodies, &columns, error));
  for (int32_t b = 1; b < bodies; ++b) {
    char name[NAME_SIZE], label[QUANTITY_LABEL_SIZE];
    SAP_TRY(element_name(recording, "model/bodies", "body", b, name, error));
    for (int32_t k = 0; k < 3; ++k) {
      (void)snprintf(label, sizeof label, "%s:%c", name, "xyz"[k]);
      add_column(q, label, kind->unit, kind->first + kind->stride * b + k);
    }
  }
  return SAP_STATUS_OK;
}

// Adds a column for each name of the list of such elements.
static sap_status label_listed(const sap_recording* recording, const quantity_kind* kind,
                               quantity* q, sap_error* error) {
  int64_t count = 0, columns = 0;
  char list[32];
  (void)snprintf(list, sizeof list, "model/%ss", kind->name);
  SAP_TRY(sap_recording_size(recording, list, &count, &columns, error));
  for (int32_t i = 0; i < count; ++i) {
    char name[NAME_SIZE];
    SAP_TRY(element_name(recording, list, kind->name, i, name, error));
    add_column(q, name, kind->unit, i);
  }
  return SAP_STATUS_OK;
}

// Writes a joint's name; a free joint without a name has its body's, as in trajectories.
static sap_status joint_name(const sap_recording* recording, int32_t joint, const double* row,
                             char* out, sap_error* error) {
  sap_status status = sap_recording_text(recording, "model/joints", joint, out, NAME_SIZE, error);
  if (status == SAP_STATUS_OK && out[0] == '\0' && (int)row[0] == SAP_JOINT_FREE) {
    status = sap_recording_text(recording, "model/bodies", (int64_t)row[1], out, NAME_SIZE, error);
  }
  return status == SAP_STATUS_OK && out[0] == '\0'
             ? element_name(recording, "model/joints", "joint", joint, out, error)
             : status;
}

// Adds the coordinates of all joints: q, or v where `first` is 1.
static sap_status label_joints(const sap_recording* recording, const quantity_kind* kind,
                               quantity* q, sap_error* error) {
  const int which = kind->first;
  int64_t joints = 0, columns = 0;
  SAP_TRY(sap_recording_size(recording, "model/joint", &joints, &columns, error));
  for (int32_t j = 0; j < joints; ++j) {
    double row[4];
    char name[NAME_SIZE], label[QUANTITY_LABEL_SIZE];
    SAP_FAIL_IF(columns != 4, error, SAP_STATUS_SYNTAX, "'model/joint' is damaged");
    SAP_TRY(sap_recording_read(recording, "model/joint", j, 1, row, error));
    const int type = (int)row[0];
    SAP_FAIL_IF(type < SAP_JOINT_FREE || type > SAP_JOINT_SLIDE, error, SAP_STATUS_SYNTAX,
                "'model/joint' is damaged");
    SAP_TRY(joint_name(recording, j, row, name, error));
    int32_t source = (int32_t)row[2 + which];
    const sap_coordinate* c = sap_joint_coordinates((sap_joint_type)type, which == 1);
    for (; c->name != NULL; ++c) {
      (void)snprintf(label, sizeof label, "%s%s%s", name, c->name[0] != '\0' ? ":" : "", c->name);
      add_column(q, label, c->unit, source++);
    }
  }
  return SAP_STATUS_OK;
}

static const quantity_kind quantity_kinds[] = {
    {"energy", "energy", label_energy, "J", 0, 0},
    {"position", "pose", label_bodies, "m", 0, 7},
    {"q", "q", label_joints, NULL, 0, 0},
    {"v", "v", label_joints, NULL, 1, 0},
    {"momentum", "momentum", label_momentum, "kg m/s", 0, 0},
    {"actuator", "actuator/force", label_listed, "N, N m", 0, 0},
    {"sensor", "sensor", label_listed, "", 0, 0},
    {"contacts", "contact/count", label_one, "", 0, 0},
    {"contact_force", NULL, label_bodies, "N", QUANTITY_FORCE, 4},
    {"penetration", NULL, label_one, "m", QUANTITY_PENETRATION, 0},
    {"slip", NULL, label_one, "m/s", QUANTITY_SLIP, 0},
    {"pressure", NULL, label_one, "Pa", QUANTITY_PRESSURE, 0},
    {"step", "step", label_named, "", 0, 0},
    {0},
};

// --- quantities computed from contacts, and the iterations of one step ---

enum { DT_COLUMN = 10, STEP_WIDTH = 13, PIECE = 8192 };

// A piece of the contacts.
typedef struct piece {
  double id[PIECE][6], frame[PIECE][9], distance[PIECE], velocity[PIECE][3], impulse[PIECE][3],
      patch[PIECE][3];
} piece;

static sap_status read_all(const sap_recording* recording, const char* name, int64_t columns,
                           double** out, int64_t* rows, sap_error* error) {
  int64_t width = 0;
  *out = NULL;
  SAP_TRY(sap_recording_size(recording, name, rows, &width, error));
  SAP_FAIL_IF(width != columns, error, SAP_STATUS_SYNTAX, "'%s' has %lld columns, not %lld", name,
              (long long)width, (long long)columns);
  *out = cli_new((size_t)(*rows * width), sizeof **out);
  return sap_recording_read(recording, name, 0, *rows, *out, error);
}

static sap_status read_piece(const sap_recording* recording, int64_t at, int64_t count, piece* p,
                             sap_error* error) {
  const struct {
    const char* name;
    double* values;
  } sets[] = {{"contact/id", p->id[0]},           {"contact/frame", p->frame[0]},
              {"contact/distance", p->distance},  {"contact/velocity", p->velocity[0]},
              {"contact/impulse", p->impulse[0]}, {"contact/patch", p->patch[0]}};
  for (size_t i = 0; i < sizeof sets / sizeof *sets; ++i) {
    SAP_TRY(sap_recording_read(recording, sets[i].name, at, count, sets[i].values, error));
  }
  return SAP_STATUS_OK;
}

// Computes the force on body B in world axes [N].
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
    } else if (source == QUANTITY_PRESSURE) {
      *value = fmax(*value, p->patch[i][2]);
    } else {
      const int32_t body = (source - QUANTITY_FORCE) / 4;
      const int k = (source - QUANTITY_FORCE) % 4;
      *value += p->id[i][1] == body ? force[k] : p->id[i][0] == body ? -force[k] : 0.0;
    }
  }
}

static sap_status quantity_read_contacts(const sap_recording* recording, quantity* q,
                                         sap_error* error) {
  double *count = NULL, *step = NULL;
  int64_t rows = 0, all = 0, width = 0;
  piece* p = cli_new(1, sizeof *p);
  SAP_TRY(read_all(recording, "contact/count", 1, &count, &rows, error));
  SAP_TRY(read_all(recording, "step", STEP_WIDTH, &step, &rows, error));
  SAP_TRY(sap_recording_size(recording, "contact/impulse", &all, &width, error));
  int64_t at = 0, have = 0, used = 0;  // piece [at - have, at), `used` of it
  for (int64_t row = 0; row < q->rows; ++row) {
    for (int64_t i = 0; i < (int64_t)count[row]; ++i) {
      if (used == have) {
        have = all - at < PIECE ? all - at : PIECE;
        SAP_FAIL_IF(have <= 0, error, SAP_STATUS_SYNTAX, "the recording lacks contacts of row %lld",
                    (long long)row);
        SAP_TRY(read_piece(recording, at, have, p, error));
        at += have;
        used = 0;
      }
      add_contact(p, used++, step[STEP_WIDTH * row + DT_COLUMN], row, q);
    }
  }
  return SAP_STATUS_OK;
}

// --- reading ---

static sap_status unknown_kind(const char* text, sap_error* error) {
  enum { KINDS = 32 };
  char list[256] = "", kind[64];
  const char* names[KINDS] = {"history"};
  int count = 1;
  (void)snprintf(kind, sizeof kind, "%.*s", (int)strcspn(text, ":"), text);
  for (int i = 0; quantity_kinds[i].name != NULL && count < KINDS; ++i) {
    names[count++] = quantity_kinds[i].name;
    (void)strcat(strcat(list, i > 0 ? ", " : ""), quantity_kinds[i].name);
  }
  const char* near = cli_suggest(kind, names, count);
  return near != NULL ? sap_fail(error, SAP_STATUS_ARGUMENT,
                                 "unknown quantity '%.80s', did you mean '%s'?", text, near)
                      : sap_fail(error, SAP_STATUS_ARGUMENT,
                                 "unknown quantity '%.80s'; there are %s and history", text, list);
}

// Fails with as many of the labels as fit.
static sap_status unknown_column(const quantity* q, const char* part, sap_error* error) {
  char list[320] = "";
  for (int32_t i = 0; i < q->count; ++i) {
    const size_t used = strlen(list);
    if (used + strlen(q->columns[i].label) + 8 > sizeof list) {
      (void)strcat(list, ", ...");
      break;
    }
    (void)strcat(strcat(list, i > 0 ? ", " : ""), q->columns[i].label);
  }
  return sap_fail(error, SAP_STATUS_ARGUMENT, "'%s' has no '%.80s'; there %s%s", q->name, part,
                  q->count > 0 && q->columns[0].label[0] != '\0' ? "are " : "is nothing to choose",
                  list);
}

// Filters columns: "part" keeps "part" and "part:..."; the last part of a label suffices.
static sap_status filter(quantity* q, const char* part, sap_error* error) {
  const size_t length = strlen(part);
  int32_t kept = 0;
  for (int32_t i = 0; i < q->count; ++i) {
    const char* label = q->columns[i].label;
    if (strncmp(label, part, length) == 0 && (label[length] == '\0' || label[length] == ':')) {
      q->columns[kept++] = q->columns[i];
    }
  }
  SAP_RETURN_IF(kept == 0 || length == 0, unknown_column(q, part, error));
  q->count = kept;
  return SAP_STATUS_OK;
}

// Reads the columns from a data set, a chunk at a time.
static sap_status read_columns(const sap_recording* recording, const char* data, quantity* q,
                               sap_error* error) {
  enum { VALUES = 1 << 18 };
  int64_t rows = 0, width = 0;
  SAP_TRY(sap_recording_size(recording, data, &rows, &width, error));
  const bool total = strcmp(data, "energy") == 0;
  const int64_t chunk = width > 0 && width < VALUES ? VALUES / width : 1;
  double* values = cli_new((size_t)(chunk * width), sizeof *values);
  for (int64_t at = 0; at < q->rows; at += chunk) {
    const int64_t n = q->rows - at < chunk ? q->rows - at : chunk;
    SAP_TRY(sap_recording_read(recording, data, at, n, values, error));
    for (int64_t i = 0; i < n; ++i) {
      const double* row = values + width * i;
      for (int32_t c = 0; c < q->count; ++c) {
        const int32_t k = q->columns[c].source;
        q->columns[c].values[at + i] =
            total && k == QUANTITY_TOTAL_ENERGY ? row[0] + row[1] + row[2] : row[k];
      }
    }
  }
  return SAP_STATUS_OK;
}

sap_status quantity_read(const sap_recording* recording, const char* text, quantity* out,
                         sap_error* error) {
  const size_t length = strcspn(text, ":");
  *out = (quantity){.rows = sap_recording_rows(recording)};
  const quantity_kind* found = NULL;
  for (int i = 0; quantity_kinds[i].name != NULL; ++i) {
    if (strlen(quantity_kinds[i].name) == length &&
        strncmp(text, quantity_kinds[i].name, length) == 0) {
      found = &quantity_kinds[i];
    }
  }
  SAP_RETURN_IF(found == NULL, unknown_kind(text, error));
  out->name = found->name;
  SAP_TRY(found->label(recording, found, out, error));
  if (text[length] == ':') {
    SAP_TRY(filter(out, text + length + 1, error));
  }
  SAP_FAIL_IF(out->count == 0, error, SAP_STATUS_ARGUMENT, "the recording has no '%s'",
              found->name);
  for (int32_t i = 0; i < out->count; ++i) {
    out->columns[i].values = cli_new((size_t)out->rows, sizeof(double));
  }
  return found->data != NULL ? read_columns(recording, found->data, out, error)
                             : quantity_read_contacts(recording, out, error);
}

static sap_status fill_history(const sap_recording* recording, int64_t first, quantity* q,
                               sap_error* error) {
  double* values = cli_new(4 * (size_t)q->rows, sizeof *values);
  SAP_TRY(sap_recording_read(recording, "iteration/value", first, q->rows, values, error));
  add_column(q, "cost above the last", "J", 0);
  add_column(q, "momentum error", "", 1);
  for (int32_t c = 0; c < 2; ++c) {
    q->columns[c].values = cli_new((size_t)q->rows, sizeof(double));
    for (int64_t i = 0; i < q->rows; ++i) {
      q->columns[c].values[i] = values[4 * i + c] - (c == 0 ? values[4 * (q->rows - 1)] : 0.0);
    }
  }
  return SAP_STATUS_OK;
}

sap_status quantity_read_history(const sap_recording* recording, int64_t row, quantity* out,
                                 sap_error* error) {
  double *first = NULL, *count = NULL;
  int64_t rows = 0;
  *out = (quantity){.name = "history"};
  SAP_TRY(read_all(recording, "iteration/first", 1, &first, &rows, error));
  SAP_TRY(read_all(recording, "iteration/count", 1, &count, &rows, error));
  SAP_FAIL_IF(row >= rows, error, SAP_STATUS_ARGUMENT, "row %lld: the recording has %lld",
              (long long)row, (long long)rows);
  if (row < 0) {
    row = 0;
    for (int64_t i = 1; i < rows; ++i) {
      row = count[i] > count[row] ? i : row;
    }
  }
  out->rows = (int64_t)count[row];
  SAP_FAIL_IF(out->rows <= 0, error, SAP_STATUS_ARGUMENT, "the solver did not iterate in row %lld",
              (long long)row);
  return fill_history(recording, (int64_t)first[row], out, error);
}
