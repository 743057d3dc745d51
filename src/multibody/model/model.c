// SPDX-License-Identifier: BSD-3-Clause
// The compiled model: names, end, definitions and states out of it.
#include "multibody/model/model_data.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "core/memory.h"
#include "multibody/model/check.h"

const char* sap_element_text(sap_element kind) {
  static const char* const texts[SAP_ELEMENT_COUNT] = {"body",     "joint",    "shape", "tendon",
                                                       "actuator", "keyframe", "mesh",  "equality",
                                                       "spring",   "bushing",  "site",  "sensor"};
  return texts[kind];
}

int sap_compare_id_pairs(const void* a, const void* b) {
  const int32_t *p = a, *q = b;
  const int i = p[0] != q[0] ? 0 : 1;
  return (p[i] > q[i]) - (p[i] < q[i]);
}

int32_t sap_sort_id_pairs(sap_id_pair* pairs, int32_t count) {
  int32_t kept = 0;
  qsort(pairs, (size_t)count, sizeof *pairs, sap_compare_id_pairs);
  for (int32_t i = 0; i < count; ++i) {
    if (kept == 0 || sap_compare_id_pairs(pairs[kept - 1], pairs[i]) != 0) {
      memmove(pairs[kept++], pairs[i], sizeof *pairs);
    }
  }
  return kept;
}

int sap_compare_pair_defs(const void* a, const void* b) {
  const sap_pair_def *p = a, *q = b;
  const sap_id_pair pair_p = {p->shape_a, p->shape_b}, pair_q = {q->shape_a, q->shape_b};
  return sap_compare_id_pairs(pair_p, pair_q);
}

const sap_pair_def* sap_model_find_pair(const sap_model* model, int32_t shape_a, int32_t shape_b) {
  const bool ordered = shape_a < shape_b;
  const sap_pair_def key = {.shape_a = ordered ? shape_a : shape_b,
                            .shape_b = ordered ? shape_b : shape_a};
  return bsearch(&key, model->pairs, (size_t)model->sizes.pairs, sizeof key, sap_compare_pair_defs);
}

sap_status sap_names_add(sap_model_names* names, const char* text, sap_error* error) {
  SAP_TRY(SAP_GROW(&names->text, &names->capacity, names->count + 1, error));
  const int32_t id = names->count;
  if (text == NULL || text[0] == '\0') {
    names->text[id] = NULL;
    names->count = id + 1;
    return SAP_STATUS_OK;
  }
  const int32_t same = sap_name_map_find(&names->ids, text);
  SAP_FAIL_IF(same >= 0, error, SAP_STATUS_ARGUMENT, "name '%s' is already that of %d", text,
              (int)same);
  char* copy = sap_duplicate_string(text);
  SAP_FAIL_IF(copy == NULL, error, SAP_STATUS_MEMORY, "out of memory: name '%s'", text);
  SAP_TRY_OR(sap_name_map_add(&names->ids, copy, id, NULL, error), sap_free(copy));
  names->text[id] = copy;
  names->count = id + 1;
  return SAP_STATUS_OK;
}

sap_status sap_names_copy(const sap_model_names* from, sap_model_names* to, sap_error* error) {
  *to = (sap_model_names){0};
  for (int32_t id = 0; id < from->count; ++id) {
    SAP_TRY_OR(sap_names_add(to, from->text[id], error), sap_names_clear(to));
  }
  return SAP_STATUS_OK;
}

void sap_names_clear(sap_model_names* names) {
  for (int32_t id = 0; id < names->count; ++id) {
    sap_free(names->text[id]);
  }
  sap_free(names->text);
  sap_name_map_clear(&names->ids);
  *names = (sap_model_names){0};
}

void sap_model_destroy(sap_model* model) {
  if (model == NULL) {
    return;
  }
  for (int kind = 0; kind < SAP_ELEMENT_COUNT; ++kind) {
    sap_names_clear(&model->names[kind]);
  }
  sap_free((char*)model->options.name);
  sap_pool_free(&model->pool);
  sap_free(model);
}

sap_model_sizes sap_model_get_sizes(const sap_model* model) {
  return model != NULL ? model->sizes : (sap_model_sizes){0};
}

const sap_model_options* sap_model_get_options(const sap_model* model) {
  return model != NULL ? &model->options : NULL;
}

const char* sap_model_get_name(const sap_model* model, sap_element kind, int32_t id) {
  if (model == NULL || (int)kind < 0 || (int)kind >= SAP_ELEMENT_COUNT || id < 0 ||
      id >= model->names[kind].count || model->names[kind].text[id] == NULL) {
    return "";
  }
  return model->names[kind].text[id];
}

int32_t sap_model_find(const sap_model* model, sap_element kind, const char* name) {
  if (model == NULL || (int)kind < 0 || (int)kind >= SAP_ELEMENT_COUNT || name == NULL ||
      name[0] == '\0') {
    return -1;
  }
  return sap_name_map_find(&model->names[kind].ids, name);
}

bool sap_model_excludes(const sap_model* model, int32_t body_a, int32_t body_b) {
  const sap_id_pair pair = {body_a < body_b ? body_a : body_b, body_a < body_b ? body_b : body_a};
  return model != NULL && model->exclusion_count > 0 &&
         bsearch(pair, model->exclusions, (size_t)model->exclusion_count, sizeof pair,
                 sap_compare_id_pairs) != NULL;
}

double sap_model_get_body_mass(const sap_model* model, int32_t body) {
  return model != NULL && body >= 0 && body < model->sizes.bodies ? model->bodies[body].mass
                                                                  : (double)NAN;
}

// Fails with ARGUMENT for a NULL model or an id out of range.
static sap_status check_id(const sap_model* model, sap_element kind, int32_t id, sap_error* error) {
  const char* text = sap_element_text(kind);
  SAP_FAIL_IF(model == NULL, error, SAP_STATUS_ARGUMENT, "%s %d: model is NULL", text, (int)id);
  const int32_t count = model->names[kind].count;
  SAP_FAIL_IF(id < 0 || id >= count, error, SAP_STATUS_ARGUMENT, "%s %d: the model has %d", text,
              (int)id, (int)count);
  return SAP_STATUS_OK;
}

// Checks the arguments of a getter.
static sap_status check_getter(const sap_model* model, sap_element kind, int32_t id,
                               const void* out, sap_error* error) {
  return out != NULL ? check_id(model, kind, id, error)
                     : sap_fail(error, SAP_STATUS_ARGUMENT, "%s %d: out is NULL",
                                sap_element_text(kind), (int)id);
}

sap_status sap_model_joint_address(const sap_model* model, int32_t joint, sap_joint_type* type,
                                   int32_t* body, int32_t* q_start, int32_t* v_start,
                                   sap_error* error) {
  const sap_status status = check_id(model, SAP_ELEMENT_JOINT, joint, error);
  const bool known = status == SAP_STATUS_OK;
  if (known && type != NULL) {
    *type = model->joints[joint].type;
  }
  sap_store_index(body, known ? model->joints[joint].body : -1);
  sap_store_index(q_start, known ? model->joints[joint].q_start : -1);
  sap_store_index(v_start, known ? model->joints[joint].v_start : -1);
  return status;
}

// Defines the getter of an element whose record in the model has the fields of a list.
#define SAP_DEFINE_GET_FIELDS(element, record, list, kind, FIELDS)                                \
  sap_status sap_model_get_##element(const sap_model* model, int32_t id, sap_##element##_def* to, \
                                     sap_error* error) {                                          \
    SAP_TRY(check_getter(model, kind, id, to, error));                                            \
    const record* from = &model->list[id];                                                        \
    *to = sap_##element##_def_default();                                                          \
    to->name = model->names[kind].text[id];                                                       \
    FIELDS(SAP_FIELD_COPY, SAP_FIELD_ARRAY_COPY)                                                  \
    return SAP_STATUS_OK;                                                                         \
  }
SAP_DEFINE_GET_FIELDS(body, sap_model_body, bodies, SAP_ELEMENT_BODY, SAP_BODY_FIELDS)
SAP_DEFINE_GET_FIELDS(joint, sap_model_joint_data, joints, SAP_ELEMENT_JOINT, SAP_JOINT_FIELDS)
SAP_DEFINE_GET_FIELDS(actuator, sap_model_actuator, actuators, SAP_ELEMENT_ACTUATOR,
                      SAP_ACTUATOR_FIELDS)

// Defines the getter of an element whose definition the model keeps, but for the name.
#define SAP_DEFINE_GET(element, list, kind)                                                        \
  sap_status sap_model_get_##element(const sap_model* model, int32_t id, sap_##element##_def* out, \
                                     sap_error* error) {                                           \
    SAP_TRY(check_getter(model, kind, id, out, error));                                            \
    *out = model->list[id];                                                                        \
    out->name = model->names[kind].text[id];                                                       \
    return SAP_STATUS_OK;                                                                          \
  }
SAP_DEFINE_GET(shape, shapes, SAP_ELEMENT_SHAPE)
SAP_DEFINE_GET(equality, equalities, SAP_ELEMENT_EQUALITY)
SAP_DEFINE_GET(sensor, sensors, SAP_ELEMENT_SENSOR)
SAP_DEFINE_GET(site, sites, SAP_ELEMENT_SITE)

sap_status sap_model_get_tendon(const sap_model* model, int32_t tendon, sap_tendon_def* to,
                                sap_error* error) {
  SAP_TRY(check_getter(model, SAP_ELEMENT_TENDON, tendon, to, error));
  const sap_model_tendon* from = &model->tendons[tendon];
  *to = sap_tendon_def_default();
  to->name = model->names[SAP_ELEMENT_TENDON].text[tendon];
  to->njoints = from->count;
  to->joints = model->tendon_joints + from->first;
  to->coefficients = model->tendon_coefficients + from->first;
  to->npoints = from->npoints;
  to->point_bodies = model->tendon_point_bodies + from->first_point;
  to->points = model->tendon_points + 3 * (size_t)from->first_point;
  to->wraps = model->tendon_wraps + from->first_point;
  SAP_TENDON_FIELDS(SAP_FIELD_COPY, SAP_FIELD_ARRAY_COPY);
  return SAP_STATUS_OK;
}

sap_sensor_traits sap_sensor_find_traits(int type) {
  enum { STATE, STEP };
#define TRAITS(id, name, values, object, stage) \
  {(name), (values), SAP_SENSES_##object, (stage) == STEP},
  static const sap_sensor_traits table[] = {SAP_SENSOR_TYPES(TRAITS)};
  return type >= 0 && type < SAP_SENSOR_TYPE_COUNT ? table[type] : (sap_sensor_traits){0};
}

int32_t sap_model_sensor_values(const sap_model* model, int32_t sensor, int32_t* first) {
  const bool known = model != NULL && sensor >= 0 && sensor < model->sizes.sensors;
  int32_t before = 0;
  for (int32_t i = 0; known && i < sensor; ++i) {
    before += sap_sensor_find_traits((int)model->sensors[i].type).values;
  }
  sap_store_index(first, before);
  return known ? sap_sensor_find_traits((int)model->sensors[sensor].type).values : 0;
}

sap_status sap_model_get_mesh(const sap_model* model, int32_t mesh, sap_mesh_def* out,
                              sap_error* error) {
  SAP_TRY(check_getter(model, SAP_ELEMENT_MESH, mesh, out, error));
  *out = sap_mesh_def_default();
  out->name = model->names[SAP_ELEMENT_MESH].text[mesh];
  out->vertex_count = model->meshes[mesh].nvertices;
  out->vertices = model->meshes[mesh].vertices;
  return SAP_STATUS_OK;
}

bool sap_model_mesh_has_hollows(const sap_model* model, int32_t mesh) {
  return model != NULL && mesh >= 0 && mesh < model->sizes.meshes &&
         model->meshes[mesh].ntriangles > 0;
}

sap_status sap_model_shape_set_field(sap_model* model, int32_t shape, double modulus,
                                     double field_depth, sap_error* error) {
  SAP_TRY(check_id(model, SAP_ELEMENT_SHAPE, shape, error));
  const sap_checker checker = {"shape", sap_model_get_name(model, SAP_ELEMENT_SHAPE, shape), shape,
                               error};
  sap_shape_def* def = &model->shapes[shape];
  SAP_TRY(sap_check_nonnegative(&checker, "modulus", modulus));
  SAP_TRY(sap_check_nonnegative(&checker, "field_depth", field_depth));
  SAP_REFUSE_IF(def->type == SAP_SHAPE_PLANE && modulus > 0.0 && field_depth == 0.0, &checker,
                "field_depth = 0 must be > 0 for a plane");
  def->material.modulus = modulus;
  def->material.field_depth = field_depth;
  if (modulus > 0.0 && def->material.model == SAP_CONTACT_SAP) {
    def->material.model = SAP_CONTACT_LAGGED;
  }
  return SAP_STATUS_OK;
}

int32_t sap_model_actuator_address(const sap_model* model, int32_t actuator) {
  return model != NULL && actuator >= 0 && actuator < model->sizes.actuators
             ? model->actuators[actuator].act
             : -1;
}

int32_t sap_model_get_body_tree(const sap_model* model, int32_t body) {
  return model != NULL && body >= 0 && body < model->sizes.bodies ? model->bodies[body].tree : -1;
}

int32_t sap_model_get_tree_dofs(const sap_model* model, int32_t tree) {
  return model != NULL && tree >= 0 && tree < model->sizes.trees ? model->tree_sizes[tree] : 0;
}

// Sizes the state and sets it; NULL: zeros. (nq) (nv) (na)
static sap_status set_state(const sap_model* model, double t, const double* q, const double* v,
                            const double* act, sap_state* state, sap_error* error) {
  const sap_model_sizes* n = &model->sizes;
  SAP_TRY(sap_state_resize_with(state, n->nq, n->nv, n->na, error));
  state->t = t;
  for (int32_t i = 0; i < n->nq; ++i) {
    state->q[i] = q[i];
  }
  for (int32_t i = 0; i < n->nv; ++i) {
    state->v[i] = v != NULL ? v[i] : 0.0;
  }
  for (int32_t i = 0; i < n->na; ++i) {
    state->act[i] = act != NULL ? act[i] : 0.0;
  }
  return SAP_STATUS_OK;
}

sap_status sap_model_get_default_state(const sap_model* model, sap_state* state, sap_error* error) {
  SAP_NOT_NULL(error, model, state);
  return set_state(model, 0.0, model->q_default, NULL, NULL, state, error);
}

sap_status sap_model_get_keyframe(const sap_model* model, int32_t keyframe, sap_state* state,
                                  double* control, sap_error* error) {
  SAP_NOT_NULL(error, state);
  SAP_TRY(check_id(model, SAP_ELEMENT_KEYFRAME, keyframe, error));
  const sap_model_sizes* n = &model->sizes;
  const size_t k = (size_t)keyframe;
  SAP_TRY(set_state(model, model->key_t[k], model->key_q + k * (size_t)n->nq,
                    model->key_v + k * (size_t)n->nv, model->key_act + k * (size_t)n->na, state,
                    error));
  for (int32_t i = 0; control != NULL && i < n->nu; ++i) {
    control[i] = model->key_control[k * (size_t)n->nu + (size_t)i];
  }
  return SAP_STATUS_OK;
}
