// SPDX-License-Identifier: BSD-3-Clause
#include "multibody/model/model_data.h"

#include <string.h>

typedef struct element {
  const sap_model* model;
  sap_trait_visitor visit;
  void* visitor;
  const char* kind;
  sap_element names;  // SAP_ELEMENT_COUNT: elements without names
  int32_t id;         // -1: the model itself
} element;

static void visit_field(const element* e, const char* field, const void* value, size_t size) {
  const char* name =
      e->names < SAP_ELEMENT_COUNT ? sap_model_get_name(e->model, e->names, e->id) : "";
  const sap_trait trait = {
      .element = e->kind, .id = e->id, .name = name, .field = field, .value = value, .size = size};
  e->visit(e->visitor, &trait);
}

// Fields are visited one by one: between them a struct has bytes without meaning.
#define TRAIT(field) visit_field(e, #field, &x->field, sizeof x->field)
#define TRAIT_FIELD(type, field, ...) TRAIT(field);

// clang-format off
static void visit_sizes(const element* e, const sap_model_sizes* x) {
  TRAIT(bodies); TRAIT(joints); TRAIT(shapes); TRAIT(tendons); TRAIT(actuators); TRAIT(meshes);
  TRAIT(equalities); TRAIT(springs); TRAIT(bushings); TRAIT(pairs);
  visit_field(e, "exclusions", &e->model->exclusion_count, sizeof e->model->exclusion_count);
}

static void visit_options(const element* e, const sap_model_options* x) {
  TRAIT(gravity); TRAIT(fluid_density); TRAIT(fluid_viscosity); TRAIT(wind); TRAIT(friction_rule);
}

static void visit_wrap(const element* e, const sap_tendon_wrap* x) {
  TRAIT(way); TRAIT(radius); TRAIT(axis); TRAIT(side_body); TRAIT(side_point); TRAIT(divisor);
}

static void visit_equality(const element* e, const sap_equality_def* x) {
  TRAIT(type); TRAIT(a); TRAIT(b); TRAIT(anchor_A); TRAIT(anchor_B); TRAIT(q_AB); TRAIT(polynomial);
  TRAIT(distance); TRAIT(torque_scale); TRAIT(stiffness); TRAIT(relaxation_time); TRAIT(active);
}

static void visit_spring(const element* e, const sap_spring_def* x) {
  TRAIT(body_a); TRAIT(body_b); TRAIT(point_A); TRAIT(point_B); TRAIT(stiffness); TRAIT(damping);
  TRAIT(rest_length);
}

static void visit_bushing(const element* e, const sap_bushing_def* x) {
  TRAIT(body_a); TRAIT(body_b); TRAIT(p_AF); TRAIT(q_AF); TRAIT(p_BG); TRAIT(q_BG);
  TRAIT(stiffness); TRAIT(damping);
}
// clang-format on

static void visit_material(const element* e, const sap_material* x) {
  SAP_MATERIAL_FIELDS(TRAIT_FIELD)
}

static void visit_body(const element* e, const sap_model_body* x) {
  SAP_BODY_FIELDS(TRAIT_FIELD, TRAIT_FIELD)
}

static void visit_joint(const element* e, const sap_model_joint_data* x) {
  SAP_JOINT_FIELDS(TRAIT_FIELD, TRAIT_FIELD)
}

// The material field by field, and no color.
static void visit_shape(const element* e, const sap_shape_def* x) {
  static const char* const others[] = {"material", "color"};
#define SHAPE_TRAIT(type, field, ...)                                     \
  if (strcmp(#field, others[0]) != 0 && strcmp(#field, others[1]) != 0) { \
    TRAIT(field);                                                         \
  }
  SAP_SHAPE_FIELDS(SHAPE_TRAIT, SHAPE_TRAIT)
  visit_material(e, &x->material);
}

static void visit_tendon(const element* e, const sap_model_tendon* x) {
  const sap_model* m = e->model;
  const size_t joints = (size_t)x->count, points = (size_t)x->npoints;
  SAP_TENDON_FIELDS(TRAIT_FIELD, TRAIT_FIELD)
  visit_field(e, "joints", m->tendon_joints + x->first, joints * sizeof *m->tendon_joints);
  visit_field(e, "coefficients", m->tendon_coefficients + x->first,
              joints * sizeof *m->tendon_coefficients);
  visit_field(e, "point_bodies", m->tendon_point_bodies + x->first_point,
              points * sizeof *m->tendon_point_bodies);
  visit_field(e, "points", m->tendon_points + 3 * (size_t)x->first_point,
              3 * points * sizeof *m->tendon_points);
  for (size_t i = 0; i < points; ++i) {
    visit_wrap(e, &m->tendon_wraps[(size_t)x->first_point + i]);
  }
}

static void visit_actuator(const element* e, const sap_model_actuator* x) {
  SAP_ACTUATOR_FIELDS(TRAIT_FIELD, TRAIT_FIELD)
}

// clang-format off
static void visit_pair(const element* e, const sap_pair_def* x) {
  TRAIT(shape_a); TRAIT(shape_b); TRAIT(condim); TRAIT(margin); TRAIT(rest_distance);
  TRAIT(friction_torsional); TRAIT(friction_rolling); TRAIT(friction_t2);
  TRAIT(friction_rolling_2);
  visit_material(e, &x->material);
}
// clang-format on

static void visit_mesh(const element* e, const sap_hull* x) {
  visit_field(e, "vertices", x->vertices, 3 * (size_t)x->nvertices * sizeof *x->vertices);
}

static void visit_exclusion(const element* e, sap_id_pair* x) {
  visit_field(e, "bodies", x, sizeof *x);
}

void sap_model_traits(const sap_model* m, sap_trait_visitor visit, void* visitor) {
  element e = {m, visit, visitor, "model", SAP_ELEMENT_COUNT, -1};
  visit_sizes(&e, &m->sizes);
  visit_options(&e, &m->options);
#define EACH(text, element_names, count, array, visit_one) \
  e.kind = text;                                           \
  e.names = element_names;                                 \
  for (e.id = 0; e.id < (count); ++e.id) {                 \
    visit_one(&e, &(array)[e.id]);                         \
  }
  EACH("body", SAP_ELEMENT_BODY, m->sizes.bodies, m->bodies, visit_body)
  EACH("joint", SAP_ELEMENT_JOINT, m->sizes.joints, m->joints, visit_joint)
  EACH("shape", SAP_ELEMENT_SHAPE, m->sizes.shapes, m->shapes, visit_shape)
  EACH("mesh", SAP_ELEMENT_MESH, m->sizes.meshes, m->meshes, visit_mesh)
  EACH("tendon", SAP_ELEMENT_TENDON, m->sizes.tendons, m->tendons, visit_tendon)
  EACH("actuator", SAP_ELEMENT_ACTUATOR, m->sizes.actuators, m->actuators, visit_actuator)
  EACH("equality", SAP_ELEMENT_EQUALITY, m->sizes.equalities, m->equalities, visit_equality)
  EACH("spring", SAP_ELEMENT_SPRING, m->sizes.springs, m->springs, visit_spring)
  EACH("bushing", SAP_ELEMENT_BUSHING, m->sizes.bushings, m->bushings, visit_bushing)
  EACH("pair", SAP_ELEMENT_COUNT, m->sizes.pairs, m->pairs, visit_pair)
  EACH("exclusion", SAP_ELEMENT_COUNT, m->exclusion_count, m->exclusions, visit_exclusion)
}
