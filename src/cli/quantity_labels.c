// SPDX-License-Identifier: BSD-3-Clause
// The columns that the names of quantities stand for.
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "cli/quantity.h"

enum { NAME_SIZE = 96 };

static sap_status add(quantity* q, const char* label, const char* unit, int32_t source,
                      sap_error* error) {
  if (q->count == q->capacity) {
    const int32_t capacity = 2 * q->capacity + 16;
    quantity_column* columns = realloc(q->columns, (size_t)capacity * sizeof *columns);
    if (columns == NULL) {
      return cli_no_memory(error);
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
  return status == SAP_STATUS_OK ? add(q, "total", "J", QUANTITY_TOTAL_ENERGY, error) : status;
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
                          : sap_fail(error, SAP_STATUS_SYNTAX, "'model/joint' is damaged");
    if (status == SAP_STATUS_OK) {
      status = joint_name(recording, j, row, name, error);
    }
    const int type = status == SAP_STATUS_OK ? (int)row[0] : SAP_JOINT_HINGE;
    if (type < SAP_JOINT_FREE || type > SAP_JOINT_SLIDE) {
      return sap_fail(error, SAP_STATUS_SYNTAX, "'model/joint' is damaged");
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

const quantity_kind quantity_kinds[] = {
    {"energy", "energy", label_energy},
    {"position", "pose", label_position},
    {"q", "q", label_q},
    {"v", "v", label_v},
    {"momentum", "momentum", label_momentum},
    {"actuator", "actuator/force", label_actuators},
    {"contacts", "contact/count", label_one},
    {"contact_force", NULL, label_force},
    {"penetration", NULL, label_one},
    {"slip", NULL, label_one},
    {"step", "step", label_step},
    {NULL, NULL, NULL},
};
