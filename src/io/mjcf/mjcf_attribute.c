// SPDX-License-Identifier: BSD-3-Clause
// Attributes after default classes: the element's class (or the nearest childclass, or main), that
// class's parents up to main, and last the element itself.
#include "io/mjcf/mjcf_attribute.h"

#include <math.h>
#include <string.h>

#include "math/quaternion.h"

static const char actuator_kinds[] =
    "general motor position velocity intvelocity orientation pid damper cylinder muscle adhesion "
    "dcmotor";

// Smallest vectors and axes that are accepted as a direction; MuJoCo's mjMINVAL [-].
static const double least_norm = 1e-15;

// --- sources ------------------------------------------------------------------------------------

static bool is_kind(const char* name, const char* kind) {
  return strcmp(kind, "motor") == 0 ? sap_word_index(actuator_kinds, name) >= 0
                                    : strcmp(name, kind) == 0;
}

// Lists the elements of a class unless `out` is NULL; returns their number.
static int32_t list_class(const sap_mjcf_class* c, const char* kind, const sap_xml_node** out) {
  int32_t count = 0;
  for (const sap_xml_node* n = c->node->first_child; n != NULL; n = n->next) {
    if (is_kind(n->name, kind)) {
      count += 1;
      if (out != NULL) {
        *out++ = n;
      }
    }
  }
  return count;
}

sap_status sap_mjcf_find_sources(sap_mjcf_reader* r, const sap_xml_node* node, const char* kind,
                                 const sap_mjcf_scope* scope, sap_mjcf_sources* out) {
  const sap_mjcf_model* model = scope->model;
  const char* name = sap_xml_get(node, "class");
  int32_t index = scope->child_class >= 0 ? scope->child_class : model->main_class;
  out->r = r;
  out->model = model;
  if (name != NULL) {
    index = sap_mjcf_find_class(model, name);
    SAP_RETURN_IF(index < 0, sap_xml_syntax(node, "class", r->error, "unknown default class"));
  }
  int32_t at = 0;
  for (int32_t i = index; i >= 0; i = model->classes[i].parent) {
    at += list_class(&model->classes[i], kind, NULL);
    SAP_RETURN_IF(at >= SAP_MJCF_MAX_SOURCES,
                  sap_xml_fail(node, NULL, SAP_STATUS_UNSUPPORTED, r->error,
                               "more than %d nested defaults", SAP_MJCF_MAX_SOURCES));
  }
  out->count = at + 1;
  out->nodes[at] = node;
  for (int32_t i = index; i >= 0; i = model->classes[i].parent) {
    at -= list_class(&model->classes[i], kind, NULL);
    (void)list_class(&model->classes[i], kind, out->nodes + at);
  }
  return SAP_STATUS_OK;
}

const sap_xml_node* sap_mjcf_source(const sap_mjcf_sources* s, const char* attribute) {
  for (int32_t i = s->count - 1; i >= 0; --i) {
    if (sap_xml_get(s->nodes[i], attribute) != NULL) {
      return s->nodes[i];
    }
  }
  return NULL;
}

sap_status sap_mjcf_refuse(const sap_mjcf_sources* s, const char* attribute, const char* why) {
  const sap_xml_node* node = sap_mjcf_source(s, attribute);
  return sap_xml_syntax(node != NULL ? node : s->nodes[s->count - 1], attribute, s->r->error, "%s",
                        why);
}

// --- values -------------------------------------------------------------------------------------

sap_status sap_mjcf_numbers(const sap_mjcf_sources* s, const char* attribute, int32_t least,
                            int32_t most, double* values, int32_t* count) {
  int32_t most_given = 0;
  for (int32_t i = 0; i < s->count; ++i) {
    int32_t given = 0;
    if (sap_xml_get(s->nodes[i], attribute) != NULL) {
      SAP_TRY(sap_xml_numbers(s->nodes[i], attribute, least, most, values, &given, s->r->error));
    }
    most_given = given > most_given ? given : most_given;
  }
  if (count != NULL) {
    *count = most_given;
  }
  return SAP_STATUS_OK;
}

sap_status sap_mjcf_choice(const sap_mjcf_sources* s, const char* attribute, const char* choices,
                           int32_t* value) {
  const sap_xml_node* node = sap_mjcf_source(s, attribute);
  return node != NULL ? sap_xml_choice(node, attribute, choices, value, s->r->error)
                      : SAP_STATUS_OK;
}

sap_status sap_mjcf_read_fields(const sap_mjcf_sources* s, const sap_xml_field* fields,
                                void* target) {
  for (const sap_xml_field* f = fields; f->attribute != NULL; ++f) {
    const sap_xml_node* node = sap_mjcf_source(s, f->attribute);
    const sap_xml_field last[2] = {*f, {0}};
    if (node == NULL) {
      continue;
    }
    if (f->rule == SAP_XML_INTEGER || f->rule == SAP_XML_BOOL) {
      SAP_TRY(sap_xml_read_fields(node, last, target, s->r->error));
    } else {
      double* values = (double*)((char*)target + f->offset);
      SAP_TRY(sap_mjcf_numbers(s, f->attribute, f->least, f->most, values, NULL));
      SAP_TRY(sap_xml_check_field(f, node, target, s->r->error));
    }
  }
  return SAP_STATUS_OK;
}

sap_status sap_mjcf_read_range(const sap_mjcf_sources* s, const char* attribute, double unit,
                               double range[2]) {
  char limited_name[32];
  const size_t stem = strlen(attribute) - strlen("range");
  memcpy(limited_name, attribute, stem);
  strcpy(limited_name + stem, "limited");
  int32_t limited = SAP_MJCF_AUTO;
  double values[2] = {0.0, 0.0};
  range[0] = -(double)INFINITY;
  range[1] = (double)INFINITY;
  SAP_TRY(sap_mjcf_choice(s, limited_name, "false true auto", &limited));
  SAP_TRY(sap_mjcf_numbers(s, attribute, 2, 2, values, NULL));
  const sap_xml_node* node = sap_mjcf_source(s, attribute);
  const bool given = values[0] != values[1];  // MuJoCo takes an empty range for none
  if (limited == SAP_MJCF_AUTO) {
    SAP_RETURN_IF(given && !s->model->compiler.auto_limits,
                  sap_xml_syntax(node, attribute, s->r->error,
                                 "'%s' must be true or false: the compiler's autolimits is off",
                                 limited_name));
    limited = given ? SAP_MJCF_TRUE : SAP_MJCF_FALSE;
  }
  if (limited == SAP_MJCF_FALSE) {
    return SAP_STATUS_OK;
  }
  if (!(values[0] < values[1])) {
    return sap_xml_syntax(node != NULL ? node : s->nodes[s->count - 1], attribute, s->r->error,
                          "limited, but the lower end %g of '%s' is not below the upper end %g",
                          values[0], attribute, values[1]);
  }
  range[0] = values[0] * unit;
  range[1] = values[1] * unit;
  return SAP_STATUS_OK;
}

sap_status sap_mjcf_apply_margin(const sap_mjcf_sources* s, double* lower, double* upper) {
  double margin = 0.0;
  SAP_TRY(sap_mjcf_numbers(s, "margin", 1, 1, &margin, NULL));
  if (margin == 0.0) {
    return SAP_STATUS_OK;
  }
  SAP_RETURN_IF(!(margin > 0.0 && *lower + margin < *upper - margin),
                sap_mjcf_refuse(s, "margin", "must be >= 0 and less than half the range"));
  *lower += margin;
  *upper -= margin;
  return SAP_STATUS_OK;
}

bool sap_mjcf_apply_solref(const double solref[2], double* k, double* tau_d) {
  const bool physical = solref[0] < 0.0 && solref[1] <= 0.0;
  *k = physical ? -solref[0] : *k;
  *tau_d = physical ? solref[1] / solref[0] : *tau_d;
  return physical;
}

sap_status sap_mjcf_read_solref(const sap_mjcf_sources* s, const char* attribute, double* k,
                                double* tau_d) {
  double solref[2] = {0.02, 1.0};  // MuJoCo's default
  SAP_TRY(sap_mjcf_numbers(s, attribute, 1, 2, solref, NULL));
  (void)sap_mjcf_apply_solref(solref, k, tau_d);
  return SAP_STATUS_OK;
}

sap_status sap_mjcf_read_limit_material(const sap_mjcf_sources* s, double* k, double* tau_d) {
  SAP_TRY(sap_mjcf_global_setting(s->r, s->model, "sapstep:limit_stiffness", true, k));
  SAP_TRY(sap_mjcf_global_setting(s->r, s->model, "sapstep:limit_relaxation_time", false, tau_d));
  return sap_mjcf_read_solref(s, "solreflimit", k, tau_d);
}

sap_status sap_mjcf_full_name(sap_mjcf_reader* r, int32_t space, const char* name,
                              const char** out) {
  *out = NULL;
  if (name == NULL || name[0] == '\0') {
    return SAP_STATUS_OK;
  }
  const sap_mjcf_space* s = &r->spaces[space];
  return sap_xml_join(r->store, s->prefix, name, s->suffix, out, r->error);
}

// --- poses --------------------------------------------------------------------------------------

void sap_mjcf_euler(const sap_mjcf_model* model, const double angles[3], double q[4]) {
  double radians[3];
  sap_v3_scale(radians, angles, model->compiler.angle_unit);
  sap_quaternion_from_euler(q, model->compiler.euler_sequence, radians);
}

// Each conversion returns NULL, or why the values are refused.
typedef const char* (*converter)(const sap_mjcf_model* model, const double* x, double q[4]);

static const char* from_quaternion(const sap_mjcf_model* model, const double* x, double q[4]) {
  (void)model;
  memcpy(q, x, 4 * sizeof *q);
  return sap_quaternion_normalize(q) ? NULL : "the quaternion is zero";
}

static const char* from_axis_angle(const sap_mjcf_model* model, const double* x, double q[4]) {
  const double norm = sap_v3_norm(x);
  if (!(norm > least_norm)) {
    return "the axis is zero";
  }
  const double axis[3] = {x[0] / norm, x[1] / norm, x[2] / norm};
  sap_quaternion_from_axis_angle(q, axis, x[3] * model->compiler.angle_unit);
  return NULL;
}

static const char* from_xy_axes(const sap_mjcf_model* model, const double* x, double q[4]) {
  (void)model;
  double m[9];
  const double nx = sap_v3_norm(x);
  if (!(nx > least_norm)) {
    return "the x axis is zero";
  }
  sap_v3_scale(m, x, 1.0 / nx);
  sap_v3_copy(m + 3, x + 3);
  sap_v3_add_scaled(m + 3, m, -sap_v3_dot(m, x + 3));
  const double ny = sap_v3_norm(m + 3);
  if (!(ny > least_norm)) {
    return "the y axis is zero or along x";
  }
  sap_v3_scale(m + 3, m + 3, 1.0 / ny);
  sap_v3_cross(m + 6, m, m + 3);
  sap_quaternion_from_rotation(q, m);
  return NULL;
}

static const char* from_z_axis(const sap_mjcf_model* model, const double* x, double q[4]) {
  (void)model;
  if (!(sap_v3_norm(x) > least_norm)) {
    return "the z axis is zero";
  }
  sap_quaternion_from_z(q, x);
  return NULL;
}

static const char* from_euler(const sap_mjcf_model* model, const double* x, double q[4]) {
  sap_mjcf_euler(model, x, q);
  return NULL;
}

static const struct orientation_form {
  const char* name;
  int32_t size;
  converter convert;
} forms[] = {{"quat", 4, from_quaternion},
             {"axisangle", 4, from_axis_angle},
             {"xyaxes", 6, from_xy_axes},
             {"zaxis", 3, from_z_axis},
             {"euler", 3, from_euler}};

// Finds the form that the element has, NULL: none. SYNTAX: two.
static sap_status find_form(const sap_mjcf_sources* s, const sap_xml_node* node,
                            const struct orientation_form** form) {
  *form = NULL;
  for (size_t i = 0; i < sizeof forms / sizeof *forms; ++i) {
    if (sap_xml_get(node, forms[i].name) == NULL) {
      continue;
    }
    SAP_RETURN_IF(*form != NULL, sap_xml_syntax(node, forms[i].name, s->r->error,
                                                "a second orientation beside '%s'", (*form)->name));
    *form = &forms[i];
  }
  return SAP_STATUS_OK;
}

sap_status sap_mjcf_orientation(const sap_mjcf_sources* s, double q[4]) {
  memcpy(q, sap_pose_identity.q, sizeof sap_pose_identity.q);
  for (int32_t i = s->count - 1; i >= 0; --i) {
    const struct orientation_form* form;
    const sap_xml_node* node = s->nodes[i];
    SAP_TRY(find_form(s, node, &form));
    if (form != NULL) {
      double x[6];
      SAP_TRY(sap_xml_numbers(node, form->name, form->size, form->size, x, NULL, s->r->error));
      const char* why = form->convert(s->model, x, q);
      return why == NULL ? SAP_STATUS_OK : sap_xml_syntax(node, form->name, s->r->error, "%s", why);
    }
  }
  return SAP_STATUS_OK;
}

sap_status sap_mjcf_fromto(const sap_mjcf_sources* s, sap_pose* pose, double* length) {
  double x[6], z[3];
  SAP_TRY(sap_mjcf_numbers(s, "fromto", 6, 6, x, NULL));
  sap_v3_sub(z, x, x + 3);
  *length = sap_v3_norm(z);
  SAP_RETURN_IF(!(*length > least_norm) || !isfinite(*length),
                sap_mjcf_refuse(s, "fromto", "the two points are equal"));
  for (int k = 0; k < 3; ++k) {
    pose->p[k] = 0.5 * (x[k] + x[3 + k]);
  }
  sap_quaternion_from_z(pose->q, z);
  return SAP_STATUS_OK;
}

sap_status sap_mjcf_pose(sap_mjcf_reader* r, const sap_xml_node* node, const sap_mjcf_scope* scope,
                         sap_pose* pose) {
  *pose = sap_pose_identity;
  const sap_mjcf_sources s = {.r = r, .model = scope->model, .nodes = {node}, .count = 1};
  SAP_TRY(sap_mjcf_numbers(&s, "pos", 3, 3, pose->p, NULL));
  return sap_mjcf_orientation(&s, pose->q);
}
