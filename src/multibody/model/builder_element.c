// SPDX-License-Identifier: BSD-3-Clause
// Shapes, contact pairs, equalities, exclusions, springs, bushings, sensors, sites of the builder.
#include <math.h>
#include <string.h>

#include "core/memory.h"
#include "multibody/model/builder.h"

SAP_DEFINE_CHECK_FIELDS(shape, sap_shape_def, SAP_SHAPE_FIELDS(SAP_FIELD_ROW, SAP_FIELD_ARRAY_ROW))
SAP_DEFINE_CHECK_FIELDS(material, sap_material, SAP_MATERIAL_FIELDS(SAP_FIELD_ROW))

// Defines sap_builder_add_ELEMENT, which appends a checked copy of the definition without its name.
// check_ELEMENT may change the copy.
#define SAP_DEFINE_ADD(element, list, kind)                                                  \
  sap_status sap_builder_add_##element(sap_builder* builder, const sap_##element##_def* def, \
                                       int32_t* id, sap_error* error) {                      \
    SAP_BUILDER_BEGIN(builder, def, sap_##element##_def, #element, error);                   \
    const sap_checker checker = {#element, def->name, builder->n##list, error};              \
    sap_##element##_def copy = *def;                                                         \
    copy.name = NULL;                                                                        \
    SAP_TRY(check_##element(&checker, builder, &copy));                                      \
    SAP_BUILDER_APPEND_NAMED(builder, list, kind, def->name, copy, id, error);               \
    return SAP_STATUS_OK;                                                                    \
  }

// Checks a material, whose stiffness 0 means that compiling chooses one, and condim.
static sap_status check_contact(const sap_checker* checker, const sap_material* material,
                                int32_t condim) {
  sap_material checked = *material;
  checked.stiffness = material->stiffness == 0.0 ? HUGE_VAL : material->stiffness;
  SAP_TRY(check_material_fields(checker, "material.", &checked));
  const int model = (int)material->model;
  SAP_REFUSE_IF(model < 0 || model >= (int)SAP_CONTACT_MODEL_COUNT, checker,
                "material.model = %d is not a sap_contact_model", model);
  SAP_REFUSE_IF(condim != 1 && condim != 3 && condim != 4 && condim != 6, checker,
                "condim = %d must be 1, 3, 4 or 6", (int)condim);
  return SAP_STATUS_OK;
}

// Returns how many sizes a shape's type uses, -1: not a type.
static int size_count(sap_shape_type type) {
  switch (type) {
    case SAP_SHAPE_PLANE:
    case SAP_SHAPE_MESH:
      return 0;
    case SAP_SHAPE_SPHERE:
      return 1;
    case SAP_SHAPE_CAPSULE:
    case SAP_SHAPE_CYLINDER:
      return 2;
    case SAP_SHAPE_BOX:
    case SAP_SHAPE_ELLIPSOID:
      return 3;
  }
  return -1;
}

static sap_status check_size(const sap_checker* checker, const sap_shape_def* def) {
  static const char* const fields[] = {"size[0]", "size[1]", "size[2]"};
  const int count = size_count(def->type);
  SAP_REFUSE_IF(count < 0, checker,
                "type = %d must be plane (0), sphere (1), capsule (2), cylinder (3), "
                "box (4), ellipsoid (5) or mesh (6)",
                (int)def->type);
  for (int i = 0; i < count; ++i) {
    SAP_TRY(sap_check_positive(checker, fields[i], def->size[i]));
  }
  return SAP_STATUS_OK;
}

// Also clears what the type does not use.
static sap_status check_shape(const sap_checker* checker, const sap_builder* builder,
                              sap_shape_def* def) {
  SAP_TRY(check_size(checker, def));
  SAP_TRY(sap_check_id(checker, "body", def->body, 0, builder->nbodies));
  SAP_REFUSE_IF(def->type == SAP_SHAPE_PLANE && !sap_builder_is_static(builder, def->body), checker,
                "body = %d moves, but a plane must be on the world or a static body",
                (int)def->body);
  SAP_TRY(check_shape_fields(checker, "", def));
  SAP_TRY(sap_check_unit(checker, "q_BS", def->q_BS, 4, def->q_BS));
  if (def->type == SAP_SHAPE_MESH) {
    SAP_TRY(sap_check_id(checker, "mesh", def->mesh, 0, builder->nmeshes));
  }
  SAP_REFUSE_IF(def->fluid_ellipsoid && size_count(def->type) == 0, checker,
                "fluid_ellipsoid is not for planes and meshes");
  for (int i = size_count(def->type); i < 3; ++i) {
    def->size[i] = 0.0;
  }
  def->mesh = def->type == SAP_SHAPE_MESH ? def->mesh : -1;
  return check_contact(checker, &def->material, def->condim);
}
SAP_DEFINE_ADD(shape, shapes, SAP_ELEMENT_SHAPE)

// Appends a mesh to the visual ones and returns its number in *id.
static sap_status add_visual_mesh(sap_builder* b, const sap_mesh_def* mesh, int32_t* id,
                                  sap_error* error) {
  const int32_t rows[4] = {b->nvisual_vertices, mesh->vertex_count, b->nvisual_triangles,
                           mesh->face_count};
  SAP_TRY(SAP_BUILDER_RESERVE(b, visual_vertices, mesh->vertex_count, error));
  SAP_TRY(SAP_BUILDER_RESERVE(b, visual_triangles, mesh->face_count, error));
  SAP_TRY(SAP_BUILDER_RESERVE(b, visual_meshes, 1, error));
  for (int32_t i = 0; i < 3 * mesh->vertex_count; ++i) {
    b->visual_vertices[rows[0] + i / 3][i % 3] = (float)mesh->vertices[i];
  }
  memcpy(b->visual_triangles + rows[2], mesh->faces,
         (size_t)mesh->face_count * sizeof *b->visual_triangles);
  memcpy(b->visual_meshes[b->nvisual_meshes], rows, sizeof rows);
  b->nvisual_vertices += mesh->vertex_count;
  b->nvisual_triangles += mesh->face_count;
  *id = b->nvisual_meshes++;
  return SAP_STATUS_OK;
}

sap_status sap_builder_add_visual(sap_builder* builder, const sap_mesh_def* mesh,
                                  sap_shape_def* shape, sap_error* error) {
  if (shape->type == SAP_SHAPE_MESH && shape->mesh < 0) {
    if (mesh->face_count == 0 || mesh->vertex_count > INT32_MAX / 3) {
      return SAP_STATUS_OK;  // nothing to draw
    }
    SAP_TRY(add_visual_mesh(builder, mesh, &shape->mesh, error));
  }
  SAP_TRY(SAP_BUILDER_RESERVE(builder, visuals, 1, error));
  builder->visuals[builder->nvisuals] = *shape;
  builder->visuals[builder->nvisuals++].name = NULL;
  return SAP_STATUS_OK;
}

static sap_status check_pair(const sap_checker* checker, const sap_builder* builder,
                             const sap_pair_def* def) {
  SAP_TRY(sap_check_id(checker, "shape_a", def->shape_a, 0, builder->nshapes));
  SAP_TRY(sap_check_id(checker, "shape_b", def->shape_b, 0, builder->nshapes));
  SAP_REFUSE_IF(builder->shapes[def->shape_a].body == builder->shapes[def->shape_b].body, checker,
                "shape_a = %d, shape_b = %d must be of two different bodies", (int)def->shape_a,
                (int)def->shape_b);
  SAP_TRY(check_contact(checker, &def->material, def->condim));
  SAP_TRY(sap_check_nonnegative(checker, "margin", def->margin));
  SAP_TRY(sap_check_finite(checker, "rest_distance", def->rest_distance));
  SAP_TRY(sap_check_nonnegative(checker, "friction_torsional", def->friction_torsional));
  SAP_TRY(sap_check_nonnegative(checker, "friction_rolling", def->friction_rolling));
  SAP_TRY(sap_check_finite(checker, "friction_t2", def->friction_t2));
  return sap_check_finite(checker, "friction_rolling_2", def->friction_rolling_2);
}

sap_status sap_builder_add_pair(sap_builder* builder, const sap_pair_def* def, int32_t* id,
                                sap_error* error) {
  SAP_BUILDER_BEGIN(builder, def, sap_pair_def, "pair", error);
  const sap_checker checker = {"pair", NULL, builder->npairs, error};
  SAP_TRY(check_pair(&checker, builder, def));
  sap_pair_def pair = *def;
  pair.shape_a = def->shape_a < def->shape_b ? def->shape_a : def->shape_b;
  pair.shape_b = def->shape_a < def->shape_b ? def->shape_b : def->shape_a;
  for (int32_t i = 0; i < builder->npairs; ++i) {
    SAP_REFUSE_IF(
        builder->pairs[i].shape_a == pair.shape_a && builder->pairs[i].shape_b == pair.shape_b,
        &checker, "shape_a = %d, shape_b = %d are already in pair %d", (int)def->shape_a,
        (int)def->shape_b, (int)i);
  }
  SAP_BUILDER_APPEND(builder, pairs, pair, id, error);
  return SAP_STATUS_OK;
}

// --- equalities, exclusions, springs and bushings ---

// Checks the type and the ids; b = -1 between bodies becomes 0, the world.
static sap_status check_sides(const sap_checker* checker, const sap_builder* builder,
                              sap_equality_def* def) {
  SAP_REFUSE_IF((int)def->type < SAP_EQUALITY_CONNECT || (int)def->type > SAP_EQUALITY_DISTANCE,
                checker,
                "type = %d must be connect (0), weld (1), joint (2), tendon (3) or "
                "distance (4)",
                (int)def->type);
  if (def->type != SAP_EQUALITY_JOINT && def->type != SAP_EQUALITY_TENDON) {
    def->b = def->b == -1 ? 0 : def->b;
    SAP_TRY(sap_check_id(checker, "a", def->a, 0, builder->nbodies));
    SAP_TRY(sap_check_id(checker, "b", def->b, 0, builder->nbodies));
  } else if (def->type == SAP_EQUALITY_JOINT) {
    SAP_TRY(sap_builder_check_scalar_joint(checker, builder, "a", def->a));
    if (def->b != -1) {
      SAP_TRY(sap_builder_check_scalar_joint(checker, builder, "b", def->b));
    }
  } else {
    SAP_TRY(sap_check_id(checker, "a", def->a, 0, builder->ntendons));
    if (def->b != -1) {
      SAP_TRY(sap_check_id(checker, "b", def->b, 0, builder->ntendons));
    }
  }
  SAP_REFUSE_IF(def->a == def->b, checker, "a = b = %d must be two different ones", (int)def->a);
  return SAP_STATUS_OK;
}

static sap_status check_equality(const sap_checker* checker, const sap_builder* builder,
                                 sap_equality_def* def) {
  SAP_TRY(check_sides(checker, builder, def));
  SAP_TRY(sap_check_vector(checker, "anchor_A", def->anchor_A, 3));
  SAP_TRY(sap_check_vector(checker, "anchor_B", def->anchor_B, 3));
  SAP_TRY(sap_check_unit(checker, "q_AB", def->q_AB, 4, def->q_AB));
  SAP_TRY(sap_check_vector(checker, "polynomial", def->polynomial, 5));
  SAP_TRY(sap_check_positive(checker, "distance", def->distance));
  SAP_TRY(sap_check_positive(checker, "torque_scale", def->torque_scale));
  SAP_TRY(sap_check_range(checker, "stiffness", SAP_RANGE_STIFFNESS, def->stiffness));
  return sap_check_nonnegative(checker, "relaxation_time", def->relaxation_time);
}
SAP_DEFINE_ADD(equality, equalities, SAP_ELEMENT_EQUALITY)

static sap_status check_bodies(const sap_checker* checker, const sap_builder* builder, int32_t a,
                               int32_t b) {
  SAP_TRY(sap_check_id(checker, "body_a", a, 0, builder->nbodies));
  SAP_TRY(sap_check_id(checker, "body_b", b, 0, builder->nbodies));
  SAP_REFUSE_IF(a == b, checker, "body_a = body_b = %d must be two different bodies", (int)a);
  return SAP_STATUS_OK;
}

sap_status sap_builder_exclude(sap_builder* builder, int32_t body_a, int32_t body_b,
                               sap_error* error) {
  SAP_NOT_NULL(error, builder);
  const sap_checker checker = {"exclusion", NULL, builder->nexclusions, error};
  SAP_TRY(check_bodies(&checker, builder, body_a, body_b));
  SAP_TRY(SAP_BUILDER_RESERVE(builder, exclusions, 1, error));
  int32_t* pair = builder->exclusions[builder->nexclusions++];
  pair[0] = body_a < body_b ? body_a : body_b;
  pair[1] = body_a < body_b ? body_b : body_a;
  return SAP_STATUS_OK;
}

static sap_status check_spring(const sap_checker* checker, const sap_builder* builder,
                               sap_spring_def* def) {
  SAP_TRY(check_bodies(checker, builder, def->body_a, def->body_b));
  SAP_TRY(sap_check_vector(checker, "point_A", def->point_A, 3));
  SAP_TRY(sap_check_vector(checker, "point_B", def->point_B, 3));
  SAP_TRY(sap_check_nonnegative(checker, "stiffness", def->stiffness));
  SAP_TRY(sap_check_nonnegative(checker, "damping", def->damping));
  return sap_check_nonnegative(checker, "rest_length", def->rest_length);
}
SAP_DEFINE_ADD(spring, springs, SAP_ELEMENT_SPRING)

SAP_DEFINE_CHECK_FIELDS(bushing, sap_bushing_def,
                        SAP_FIELD_ARRAY_ROW(double, stiffness, 6, 0.0, NOT_NEGATIVE)
                            SAP_FIELD_ARRAY_ROW(double, damping, 6, 0.0, NOT_NEGATIVE))

static sap_status check_bushing(const sap_checker* checker, const sap_builder* builder,
                                sap_bushing_def* def) {
  SAP_TRY(check_bodies(checker, builder, def->body_a, def->body_b));
  SAP_TRY(sap_check_vector(checker, "p_AF", def->p_AF, 3));
  SAP_TRY(sap_check_vector(checker, "p_BG", def->p_BG, 3));
  SAP_TRY(check_bushing_fields(checker, "", def));
  SAP_TRY(sap_check_unit(checker, "q_AF", def->q_AF, 4, def->q_AF));
  return sap_check_unit(checker, "q_BG", def->q_BG, 4, def->q_BG);
}
SAP_DEFINE_ADD(bushing, bushings, SAP_ELEMENT_BUSHING)

// --- sensors and sites ---

static sap_status check_object(const sap_checker* checker, const sap_builder* builder,
                               const sap_sensor_def* def) {
  const int32_t counts[] = {[SAP_SENSES_FRAME] = builder->nbodies,
                            [SAP_SENSES_SCALAR_JOINT] = builder->njoints,
                            [SAP_SENSES_BALL_JOINT] = builder->njoints,
                            [SAP_SENSES_TENDON] = builder->ntendons,
                            [SAP_SENSES_ACTUATOR] = builder->nactuators,
                            [SAP_SENSES_BODY] = builder->nbodies,
                            [SAP_SENSES_NOTHING] = INT32_MAX};
  const sap_sensor_traits traits = sap_sensor_find_traits((int)def->type);
  SAP_REFUSE_IF(traits.name == NULL, checker, "type = %d is not a sap_sensor_type", (int)def->type);
  SAP_TRY(sap_check_id(checker, "object", def->object, 0, counts[traits.object]));
  SAP_REFUSE_IF(
      traits.object == SAP_SENSES_BALL_JOINT && builder->joints[def->object].type != SAP_JOINT_BALL,
      checker, "object = %d must be a ball joint", (int)def->object);
  return traits.object == SAP_SENSES_SCALAR_JOINT
             ? sap_builder_check_scalar_joint(checker, builder, "object", def->object)
             : SAP_STATUS_OK;
}

static sap_status check_sensor(const sap_checker* checker, const sap_builder* builder,
                               sap_sensor_def* def) {
  SAP_TRY(check_object(checker, builder, def));
  SAP_TRY(sap_check_id(checker, "reference", def->reference, -1, builder->nbodies));
  SAP_TRY(sap_check_vector(checker, "p_BX", def->p_BX, 3));
  SAP_TRY(sap_check_unit(checker, "q_BX", def->q_BX, 4, def->q_BX));
  SAP_TRY(sap_check_vector(checker, "p_BR", def->p_BR, 3));
  SAP_TRY(sap_check_unit(checker, "q_BR", def->q_BR, 4, def->q_BR));
  SAP_TRY(sap_check_nonnegative(checker, "cutoff", def->cutoff));
  const int count = def->type == SAP_SENSOR_TOUCH ? size_count(def->zone) : 0;
  SAP_REFUSE_IF(def->type == SAP_SENSOR_TOUCH && count <= 0, checker,
                "zone = %d must be a sphere, capsule, cylinder, box or ellipsoid", (int)def->zone);
  for (int i = 0; i < count; ++i) {
    SAP_TRY(sap_check_positive(checker, "zone_size", def->zone_size[i]));
  }
  return SAP_STATUS_OK;
}
SAP_DEFINE_ADD(sensor, sensors, SAP_ELEMENT_SENSOR)

static sap_status check_site(const sap_checker* checker, const sap_builder* builder,
                             sap_site_def* def) {
  SAP_TRY(sap_check_id(checker, "body", def->body, 0, builder->nbodies));
  SAP_TRY(sap_check_vector(checker, "p_BX", def->p_BX, 3));
  return sap_check_unit(checker, "q_BX", def->q_BX, 4, def->q_BX);
}
SAP_DEFINE_ADD(site, sites, SAP_ELEMENT_SITE)
