// SPDX-License-Identifier: BSD-3-Clause
#include "support/model_rows.h"

#include <stdlib.h>

#include "math/quaternion.h"

static void begin(model_row* row, const char* kind, const char* name) {
  row->kind = kind;
  row->name = name;
  row->nints = row->nvalues = 0;
}

static void put_int(model_row* row, int32_t value) {
  if (row->nints < MODEL_ROW_INTS) {
    row->ints[row->nints++] = value;
  }
}

static void put(model_row* row, const double* values, int32_t count) {
  for (int32_t i = 0; i < count && row->nvalues < MODEL_ROW_VALUES; ++i) {
    row->values[row->nvalues++] = values[i];
  }
}

static void put_pose(model_row* row, const double p[3], const double q[4]) {
  double r[9];
  sap_quaternion_to_matrix(r, q);
  put(row, p, 3);
  put(row, r, 9);
}

static void body_row(const sap_model* m, int32_t i, model_row* row) {
  const sap_model_body* b = &m->bodies[i];
  put_int(row, b->parent);
  put_pose(row, b->p_PB, b->q_PB);
  put(row, &b->mass, 1);
  put(row, b->p_BCo, 3);
  put(row, b->I_BCo_B, 6);
}

static void joint_row(const sap_model* m, int32_t i, model_row* row) {
  const sap_model_joint_data* j = &m->joints[i];
  const bool axial = j->type == SAP_JOINT_HINGE || j->type == SAP_JOINT_SLIDE;
  const double zero[3] = {0.0, 0.0, 0.0}, z[3] = {0.0, 0.0, 1.0};
  const double rest[8] = {
      axial ? j->reference : 0.0,        j->lower,   j->upper,    j->stiffness,
      axial ? j->spring_reference : 0.0, j->damping, j->armature, j->friction_loss};
  put_int(row, (int32_t)j->type);
  put_int(row, j->body);
  put_int(row, j->q_start);
  put_int(row, j->v_start);
  put(row, axial ? j->p_BJ : zero, 3);
  put(row, axial ? j->axis : z, 3);
  put(row, rest, 8);
}

static void shape_row(const sap_model* m, int32_t i, model_row* row) {
  const sap_shape_def* s = &m->shapes[i];
  const int32_t ints[6] = {(int32_t)s->type,    s->body,    s->condim, s->contact_type,
                           s->contact_affinity, s->priority};
  for (int k = 0; k < 6; ++k) {
    put_int(row, ints[k]);
  }
  put_pose(row, s->p_BS, s->q_BS);
  put(row, s->size, 3);
  put(row, &s->material.friction, 1);
}

static void tendon_row(const sap_model* m, int32_t i, model_row* row) {
  const sap_model_tendon* t = &m->tendons[i];
  put_int(row, t->count);
  for (int32_t k = 0; k < t->count; ++k) {
    put_int(row, m->tendon_joints[t->first + k]);
  }
  put(row, &t->lower, 1);
  put(row, &t->upper, 1);
  put(row, m->tendon_coefficients + t->first, t->count);
}

static void actuator_row(const sap_model* m, int32_t i, model_row* row) {
  const sap_model_actuator* a = &m->actuators[i];
  const double values[5] = {a->gear, a->control_lower, a->control_upper, a->force_lower,
                            a->force_upper};
  put_int(row, a->target);
  put(row, values, 5);
}

static void key_row(const sap_model* m, int32_t i, model_row* row) {
  const sap_model_sizes* n = &m->sizes;
  put(row, &m->key_t[i], 1);
  put(row, m->key_q + (size_t)i * (size_t)n->nq, n->nq);
  put(row, m->key_v + (size_t)i * (size_t)n->nv, n->nv);
  put(row, m->key_control + (size_t)i * (size_t)n->nu, n->nu);
}

void model_rows(const sap_model* m, model_row_function* function, void* context) {
  const struct {
    const char* kind;
    sap_element element;
    int32_t first, end;
    void (*fill)(const sap_model*, int32_t, model_row*);
  } kinds[] = {
      {"body", SAP_ELEMENT_BODY, 1, m->sizes.bodies, body_row},
      {"joint", SAP_ELEMENT_JOINT, 0, m->sizes.joints, joint_row},
      {"shape", SAP_ELEMENT_SHAPE, 0, m->sizes.shapes, shape_row},
      {"tendon", SAP_ELEMENT_TENDON, 0, m->sizes.tendons, tendon_row},
      {"actuator", SAP_ELEMENT_ACTUATOR, 0, m->sizes.actuators, actuator_row},
      {"key", SAP_ELEMENT_KEYFRAME, 0, m->sizes.keyframes, key_row},
  };
  model_row* row = calloc(1, sizeof *row);
  if (row == NULL) {
    return;
  }
  for (size_t k = 0; k < sizeof kinds / sizeof kinds[0]; ++k) {
    for (int32_t i = kinds[k].first; i < kinds[k].end; ++i) {
      begin(row, kinds[k].kind, sap_model_get_name(m, kinds[k].element, i));
      kinds[k].fill(m, i, row);
      function(context, row);
    }
  }
  for (int32_t i = 0; i < m->exclusion_count; ++i) {
    begin(row, "exclude", "");
    put_int(row, m->exclusions[i][0]);
    put_int(row, m->exclusions[i][1]);
    function(context, row);
  }
  begin(row, "options", "");
  put(row, m->options.gravity, 3);
  put(row, &m->options.timestep, 1);
  function(context, row);
  free(row);
}
