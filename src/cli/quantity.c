// SPDX-License-Identifier: BSD-3-Clause
// What the names of quantities mean, and the columns they stand for.
#include "cli/quantity.h"

#include <math.h>
#include <stdarg.h>
#include <stdlib.h>
#include <string.h>

typedef struct kind {
  const char* name;
  const char* data;  // data set; NULL: made of contacts
  const char* meaning;
  // Labels and units of all columns.
  sap_status (*label)(const sap_recording* recording, quantity* q, sap_error* error);
} kind;

enum { TOTAL_ENERGY = 3, NAME_SIZE = 96 };

sap_status quantity_fail(sap_error* error, sap_status status, const char* format, ...) {
  va_list arguments;
  va_start(arguments, format);
  error->status = status;
  (void)vsnprintf(error->message, sizeof error->message, format, arguments);
  va_end(arguments);
  return status;
}

static sap_status add(quantity* q, const char* label, const char* unit, int32_t source,
                      sap_error* error) {
  if (q->count == q->capacity) {
    const int32_t capacity = 2 * q->capacity + 16;
    quantity_column* columns = realloc(q->columns, (size_t)capacity * sizeof *columns);
    if (columns == NULL) {
      return quantity_fail(error, SAP_STATUS_MEMORY, "out of memory");
    }
    q->columns = columns;
    q->capacity = capacity;
  }
  quantity_column* c = &q->columns[q->count++];
  *c = (quantity_column){.source = source};
  (void)snprintf(c->label, sizeof c->label, "%s", label);
  (void)snprintf(c->unit, sizeof c->unit, "%s", unit);
  return SAP_STATUS_OK;
}

// The columns that the attribute of the data set names.
static sap_status add_named(const sap_recording* recording, const char* data, const char* unit,
                            quantity* q, sap_error* error) {
  char names[512];
  sap_status status =
      sap_recording_attribute(recording, data, "columns", names, sizeof names, error);
  int32_t source = 0;
  for (char* name = strtok(names, ","); name != NULL && status == SAP_STATUS_OK;
       name = strtok(NULL, ",")) {
    status = add(q, name, unit, source++, error);
  }
  return status;
}

static sap_status label_energy(const sap_recording* recording, quantity* q, sap_error* error) {
  const sap_status status = add_named(recording, "energy", "J", q, error);
  return status == SAP_STATUS_OK ? add(q, "total", "J", TOTAL_ENERGY, error) : status;
}

static sap_status label_momentum(const sap_recording* recording, quantity* q, sap_error* error) {
  sap_status status = add_named(recording, "momentum", "kg m/s", q, error);
  for (int32_t i = 3; i < q->count; ++i) {
    (void)snprintf(q->columns[i].unit, QUANTITY_UNIT_SIZE, "kg m^2/s");
  }
  return status;
}

static sap_status label_step(const sap_recording* recording, quantity* q, sap_error* error) {
  return add_named(recording, "step", "", q, error);
}

static sap_status label_one(const sap_recording* recording, quantity* q, sap_error* error) {
  (void)recording;
  if (strcmp(q->name, "penetration") == 0) {
    return add(q, "", "m", QUANTITY_PENETRATION, error);
  }
  return strcmp(q->name, "slip") == 0 ? add(q, "", "m/s", QUANTITY_SLIP, error)
                                      : add(q, "", "", 0, error);
}

// An element's name, or its kind and number.
static sap_status element_name(const sap_recording* recording, const char* list, const char* what,
                               int32_t id, char* out, sap_error* error) {
  const sap_status status = sap_recording_text(recording, list, id, out, NAME_SIZE, error);
  if (status == SAP_STATUS_OK && out[0] == '\0') {
    (void)snprintf(out, NAME_SIZE, "%s_%ld", what, (long)id);
  }
  return status;
}

// Columns x, y, z (stride of sources 7 in poses, 4 in forces) of every body but the world.
static sap_status add_bodies(const sap_recording* recording, const char* unit, int32_t first,
                             int32_t stride, quantity* q, sap_error* error) {
  int64_t bodies = 0, columns = 0;
  sap_status status = sap_recording_size(recording, "model/bodies", &bodies, &columns, error);
  for (int32_t b = 1; b < bodies && status == SAP_STATUS_OK; ++b) {
    char name[NAME_SIZE], label[QUANTITY_LABEL_SIZE];
    status = element_name(recording, "model/bodies", "body", b, name, error);
    for (int32_t k = 0; k < 3 && status == SAP_STATUS_OK; ++k) {
      (void)snprintf(label, sizeof label, "%s:%c", name, "xyz"[k]);
      status = add(q, label, unit, first + stride * b + k, error);
    }
  }
  return status;
}

static sap_status label_position(const sap_recording* recording, quantity* q, sap_error* error) {
  return add_bodies(recording, "m", 0, 7, q, error);
}

static sap_status label_force(const sap_recording* recording, quantity* q, sap_error* error) {
  return add_bodies(recording, "N", QUANTITY_FORCE, 4, q, error);
}

static sap_status label_actuators(const sap_recording* recording, quantity* q, sap_error* error) {
  int64_t count = 0, columns = 0;
  sap_status status = sap_recording_size(recording, "model/actuators", &count, &columns, error);
  for (int32_t i = 0; i < count && status == SAP_STATUS_OK; ++i) {
    char name[NAME_SIZE];
    status = element_name(recording, "model/actuators", "actuator", i, name, error);
    if (status == SAP_STATUS_OK) {
      status = add(q, name, "N, N m", i, error);
    }
  }
  return status;
}

// Components of a joint's coordinates, by type.
static const struct {
  int32_t count[2];  // of q, of v
  const char* names[2][7];
} joint_parts[] = {
    [SAP_JOINT_FREE] = {{7, 6},
                        {{"x", "y", "z", "qw", "qx", "qy", "qz"},
                         {"x", "y", "z", "wx", "wy", "wz"}}},
    [SAP_JOINT_BALL] = {{4, 3}, {{"qw", "qx", "qy", "qz"}, {"wx", "wy", "wz"}}},
    [SAP_JOINT_HINGE] = {{1, 1}, {{""}, {""}}},
    [SAP_JOINT_SLIDE] = {{1, 1}, {{""}, {""}}},
};

static const char* coordinate_unit(int type, int which, int32_t k) {
  const bool length = type == SAP_JOINT_SLIDE || (type == SAP_JOINT_FREE && k < 3);
  if (which == 1) {
    return length ? "m/s" : "rad/s";
  }
  return length ? "m" : type == SAP_JOINT_HINGE ? "rad" : "";
}

// A free joint without a name goes by its body's, as in trajectories.
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

static sap_status label_joints(const sap_recording* recording, int which, quantity* q,
                               sap_error* error) {
  int64_t joints = 0, columns = 0;
  sap_status status = sap_recording_size(recording, "model/joint", &joints, &columns, error);
  for (int32_t j = 0; j < joints && status == SAP_STATUS_OK; ++j) {
    double row[4];
    char name[NAME_SIZE], label[QUANTITY_LABEL_SIZE];
    status = columns == 4 ? sap_recording_read(recording, "model/joint", j, 1, row, error)
                          : quantity_fail(error, SAP_STATUS_SYNTAX, "'model/joint' is damaged");
    if (status == SAP_STATUS_OK) {
      status = joint_name(recording, j, row, name, error);
    }
    const int type = status == SAP_STATUS_OK ? (int)row[0] : SAP_JOINT_HINGE;
    if (type < SAP_JOINT_FREE || type > SAP_JOINT_SLIDE) {
      return quantity_fail(error, SAP_STATUS_SYNTAX, "'model/joint' is damaged");
    }
    for (int32_t k = 0; k < joint_parts[type].count[which] && status == SAP_STATUS_OK; ++k) {
      const char* part = joint_parts[type].names[which][k];
      (void)snprintf(label, sizeof label, "%s%s%s", name, part[0] != '\0' ? ":" : "", part);
      status = add(q, label, coordinate_unit(type, which, k), (int32_t)row[2 + which] + k, error);
    }
  }
  return status;
}

static sap_status label_q(const sap_recording* recording, quantity* q, sap_error* error) {
  return label_joints(recording, 0, q, error);
}

static sap_status label_v(const sap_recording* recording, quantity* q, sap_error* error) {
  return label_joints(recording, 1, q, error);
}

static const kind kinds[] = {
    {"energy", "energy", "kinetic, gravity, springs, total", label_energy},
    {"position", "pose", "of bodies: BODY, BODY:z", label_position},
    {"q", "q", "coordinates of joints: JOINT, JOINT:x", label_q},
    {"v", "v", "velocities of joints", label_v},
    {"momentum", "momentum", "px py pz Lx Ly Lz", label_momentum},
    {"actuator", "actuator/force", "forces of actuators", label_actuators},
    {"contacts", "contact/count", "their number", label_one},
    {"contact_force", NULL, "sum of the contact forces on bodies: BODY, BODY:z", label_force},
    {"penetration", NULL, "the deepest", label_one},
    {"slip", NULL, "the fastest of contacts that push", label_one},
    {"step", "step", "newton_iterations, cost_J, momentum_error, time_s, ...", label_step},
};
enum { KINDS = sizeof kinds / sizeof *kinds };

void quantity_print_kinds(FILE* stream) {
  for (int i = 0; i < KINDS; ++i) {
    (void)fprintf(stream, "  %-14s %s\n", kinds[i].name, kinds[i].meaning);
  }
  (void)fprintf(stream, "  %-14s %s\n", "history",
                "cost and momentum error over the iterations of a step: ROW, or the longest");
}

static sap_status unknown_kind(const char* text, sap_error* error) {
  char list[256] = "";
  for (int i = 0; i < KINDS; ++i) {
    (void)strcat(strcat(list, i > 0 ? ", " : ""), kinds[i].name);
  }
  return quantity_fail(error, SAP_STATUS_ARGUMENT,
                       "unknown quantity '%.80s'; there are %s and history", text, list);
}

// Some of the labels, as many as fit.
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
  return quantity_fail(
      error, SAP_STATUS_ARGUMENT, "'%s' has no '%.80s'; there %s%s", q->name, part,
      q->count > 0 && q->columns[0].label[0] != '\0' ? "are " : "is nothing to choose", list);
}

// "part" keeps "part" and "part:..."; of one label's parts the last may stand alone.
static sap_status filter(quantity* q, const char* part, sap_error* error) {
  const size_t length = strlen(part);
  int32_t kept = 0;
  for (int32_t i = 0; i < q->count; ++i) {
    const char* label = q->columns[i].label;
    if (strncmp(label, part, length) == 0 && (label[length] == '\0' || label[length] == ':')) {
      kept += 1;
    }
  }
  if (kept == 0 || length == 0) {
    return unknown_column(q, part, error);
  }
  kept = 0;
  for (int32_t i = 0; i < q->count; ++i) {
    const char* label = q->columns[i].label;
    if (strncmp(label, part, length) == 0 && (label[length] == '\0' || label[length] == ':')) {
      q->columns[kept++] = q->columns[i];
    }
  }
  q->count = kept;
  return SAP_STATUS_OK;
}

static sap_status allocate(quantity* q, sap_error* error) {
  for (int32_t i = 0; i < q->count; ++i) {
    q->columns[i].values = calloc((size_t)q->rows + 1, sizeof(double));
    if (q->columns[i].values == NULL) {
      return quantity_fail(error, SAP_STATUS_MEMORY, "out of memory");
    }
  }
  return SAP_STATUS_OK;
}

// From a data set, a piece at a time.
static sap_status read_columns(const sap_recording* recording, const char* data, quantity* q,
                               sap_error* error) {
  enum { VALUES = 1 << 18 };
  int64_t rows = 0, width = 0;
  sap_status status = sap_recording_size(recording, data, &rows, &width, error);
  const bool total = strcmp(data, "energy") == 0;
  const int64_t piece = width > 0 && width < VALUES ? VALUES / width : 1;
  double* values =
      status == SAP_STATUS_OK ? malloc((size_t)(piece * width) * sizeof *values) : NULL;
  if (status == SAP_STATUS_OK && values == NULL) {
    status = quantity_fail(error, SAP_STATUS_MEMORY, "out of memory");
  }
  for (int64_t at = 0; at < q->rows && status == SAP_STATUS_OK; at += piece) {
    const int64_t n = q->rows - at < piece ? q->rows - at : piece;
    status = sap_recording_read(recording, data, at, n, values, error);
    for (int64_t i = 0; i < n && status == SAP_STATUS_OK; ++i) {
      const double* row = values + width * i;
      for (int32_t c = 0; c < q->count; ++c) {
        const int32_t k = q->columns[c].source;
        q->columns[c].values[at + i] =
            total && k == TOTAL_ENERGY ? row[0] + row[1] + row[2] : row[k];
      }
    }
  }
  free(values);
  return status;
}

sap_status quantity_read(const sap_recording* recording, const char* text, quantity* out,
                         sap_error* error) {
  const size_t length = strcspn(text, ":");
  *out = (quantity){.text = text, .rows = sap_recording_rows(recording)};
  const kind* found = NULL;
  for (int i = 0; i < KINDS; ++i) {
    if (strlen(kinds[i].name) == length && strncmp(text, kinds[i].name, length) == 0) {
      found = &kinds[i];
    }
  }
  if (found == NULL) {
    return unknown_kind(text, error);
  }
  out->name = found->name;
  out->title = text;
  sap_status status = found->label(recording, out, error);
  if (status == SAP_STATUS_OK && text[length] == ':') {
    status = filter(out, text + length + 1, error);
  }
  if (status == SAP_STATUS_OK && out->count == 0) {
    status = quantity_fail(error, SAP_STATUS_ARGUMENT, "the recording has no '%s'", found->name);
  }
  if (status == SAP_STATUS_OK) {
    status = allocate(out, error);
  }
  if (status == SAP_STATUS_OK) {
    status = found->data != NULL ? read_columns(recording, found->data, out, error)
                                 : quantity_read_contacts(recording, out, error);
  }
  if (status != SAP_STATUS_OK) {
    quantity_clear(out);
  }
  return status;
}

void quantity_clear(quantity* q) {
  for (int32_t i = 0; i < q->count; ++i) {
    free(q->columns[i].values);
  }
  free(q->columns);
  *q = (quantity){0};
}
