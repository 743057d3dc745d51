// SPDX-License-Identifier: BSD-3-Clause
// <link>: mass properties, collision shapes and their meshes.
#include <math.h>
#include <stdio.h>
#include <string.h>

#include "core/file.h"
#include "io/geometry.h"
#include "io/mesh/mesh_file.h"
#include "io/urdf/urdf.h"
#include "io/xml/schema.h"
#include "linalg/dense.h"
#include "math/quaternion.h"
#include "multibody/model/builder.h"

// Radius of spheres of radius 0, which are Drake's way to write a contact point, if lenient [m].
static const double point_radius = 1e-4;
enum { MAX_LEVELS = 64 };  // folders searched upwards from that of the URDF

// --- mass properties ----------------------------------------------------------------------------

// Checks the principal moments. Exporters round them, and robots work with inertias that no body
// can have (a warning). Negative moments would make the mass matrix indefinite: refused, or raised
// to zero if lenient.
static sap_status check_moments(sap_urdf_reader* r, const sap_xml_node* node, double mass,
                                double I[6]) {
  double e[3], V[9];
  sap_symmetric3_eigen(I, e, V);
  const double rounding = 1e-12 * e[2] + 1e-14 * mass;  // a radius of gyration of 0.1 um
  if (!(e[0] >= -rounding) || !(e[2] >= -rounding)) {
    char why[160];
    (void)snprintf(why, sizeof why, "principal moments of inertia %g %g %g must be >= 0%s", e[0],
                   e[1], e[2], r->options->lenient ? ": raised to 0" : "; raised to 0 if lenient");
    SAP_RETURN_IF(!r->options->lenient,
                  sap_xml_fail(node, NULL, SAP_STATUS_NOT_SPD, r->error, "%s", why));
    sap_scene_warn(r->options, node, NULL, why);
  }
  if (e[0] < 0.0) {
    const double raised[6] = {0.0, fmax(e[1], 0.0), fmax(e[2], 0.0), 0.0, 0.0, 0.0};
    sap_m3_rotate_packed(I, V, raised);
    memcpy(e, raised, sizeof e);
  }
  // Files give few digits: a relative slack of 1e-6.
  if (!(e[0] + e[1] >= e[2] * (1.0 - 1e-6))) {
    sap_scene_warn(r->options, node, NULL,
                   "no body has this inertia: the largest principal moment exceeds the sum of the "
                   "others; used as given");
  }
  return SAP_STATUS_OK;
}

static sap_status read_tensor(sap_urdf_reader* r, const sap_xml_node* node, double mass,
                              const double q[4], double I[6]) {
  static const char* const names[6] = {"ixx", "iyy", "izz", "ixy", "ixz", "iyz"};
  double raw[6] = {0.0};
  for (int i = 0; i < 6; ++i) {
    SAP_TRY(i < 3 ? sap_xml_numbers(node, names[i], 1, 1, &raw[i], NULL, r->error)
                  : sap_xml_optional(node, names[i], 1, 1, &raw[i], r->error));
  }
  SAP_TRY(check_moments(r, node, mass, raw));
  sap_inertia_rotate(I, raw, q);
  return SAP_STATUS_OK;
}

sap_status sap_urdf_inertial(sap_urdf_reader* r, const sap_urdf_link* link, sap_body_def* def) {
  static const sap_xml_field mass_field[] = {
      SAP_XML_NUMBER(sap_body_def, mass, "value", NONNEGATIVE), {0}};
  const sap_xml_node *inertial, *mass, *inertia;
  sap_pose pose;
  SAP_TRY(sap_xml_only_child(link->node, "inertial", &inertial, r->error));
  if (inertial == NULL) {
    return SAP_STATUS_OK;
  }
  SAP_TRY(sap_urdf_origin(r, inertial, &pose));
  SAP_TRY(sap_xml_require_child(inertial, "mass", &mass, r->error));
  SAP_TRY(sap_xml_only_child(inertial, "inertia", &inertia, r->error));
  SAP_TRY(sap_xml_require_fields(mass, mass_field, def, r->error));
  sap_pose_get(&pose, def->p_BCo, def->q_BI);
  def->any_inertia = true;
  return inertia != NULL ? read_tensor(r, inertia, def->mass, pose.q, def->I_BCo_B) : SAP_STATUS_OK;
}

// --- meshes -------------------------------------------------------------------------------------

static bool is_readable(const char* path) {
  return sap_file_readable(path, NULL) == SAP_STATUS_OK;
}

static bool ends_with(const char* text, const char* end) {
  const size_t length = strlen(text), n = strlen(end);
  return length >= n && strcmp(text + length - n, end) == 0;
}

// Finds the folder above: a name less, or one more "../" where there is no name.
static sap_status find_parent(sap_urdf_reader* r, const char* folder, const char** out) {
  size_t end = strlen(folder);
  if (end == 0 || strcmp(folder, "./") == 0 || strcmp(folder, "../") == 0 ||
      ends_with(folder, "/./") || ends_with(folder, "/../")) {
    return sap_xml_join(r->store, folder, "../", NULL, out, r->error);
  }
  char* parent;
  SAP_TRY(SAP_POOL_ADD(&r->store->pool, &parent, end + 1, r->error));
  for (--end; end > 0 && folder[end - 1] != '/'; --end) {
  }
  memcpy(parent, folder, end);
  *out = parent;
  return SAP_STATUS_OK;
}

// Finds package://NAME/REST. From the folder of the URDF upwards, the first that holds NAME/REST,
// or REST: that folder is then the package itself under another name.
static sap_status find_in_package(sap_urdf_reader* r, const sap_xml_node* node, const char* rest,
                                  const char** path) {
  const char* folder;
  const char* inner = strchr(rest, '/');
  SAP_TRY(sap_xml_folder(r->store, node->file, &folder, r->error));
  for (int level = 0;; ++level) {
    SAP_TRY(sap_xml_join(r->store, folder, rest, NULL, path, r->error));
    if (is_readable(*path)) {
      return SAP_STATUS_OK;
    }
    SAP_TRY(sap_xml_join(r->store, folder, inner != NULL ? inner + 1 : rest, NULL, path, r->error));
    if (is_readable(*path)) {
      return SAP_STATUS_OK;
    }
    SAP_RETURN_IF(strcmp(folder, "/") == 0 || level + 1 == MAX_LEVELS,
                  sap_xml_fail(node, "filename", SAP_STATUS_IO, r->error,
                               "no folder from that of the URDF upwards holds this file"));
    SAP_TRY(find_parent(r, folder, &folder));
  }
}

static sap_status find_file(sap_urdf_reader* r, const sap_xml_node* node, const char* name,
                            const char** path) {
  static const char* const schemes[] = {"package://", "model://", "file://"};
  for (int i = 0; i < 3; ++i) {
    const size_t length = strlen(schemes[i]);
    if (strncmp(name, schemes[i], length) == 0) {
      name += length;
      if (i < 2) {
        return find_in_package(r, node, name, path);
      }
      break;
    }
  }
  return sap_xml_sibling(r->store, node->file, name, path, r->error);
}

// Reads the file of `use`: of the points alone, or with the triangles.
static sap_status load_mesh(sap_urdf_reader* r, const sap_urdf_mesh_use* use, bool triangles,
                            sap_mesh_def* def) {
  sap_mesh_data data;
  SAP_TRY(sap_mesh_read(r->store, use->path, &data, r->error));
  for (int32_t i = 0; i < 3 * data.vertex_count; ++i) {
    data.vertices[i] *= use->scale[i % 3];
  }
  *def = sap_mesh_def_default();
  def->vertex_count = data.vertex_count;
  def->vertices = data.vertices;
  def->face_count = triangles ? data.face_count : 0;
  def->faces = triangles ? data.faces : NULL;
  return SAP_STATUS_OK;
}

// Reads <mesh>: its index in r->meshes, one for each file and scale; *index -1: the file is missing
// or its format is not supported, and the reader is lenient.
static sap_status read_mesh(sap_urdf_reader* r, const sap_xml_node* node, int32_t* index) {
  sap_urdf_mesh_use use = {.node = node, .scale = {1.0, 1.0, 1.0}, .id = -1, .visual = -1};
  const char* name;
  *index = -1;
  SAP_TRY(sap_xml_require(node, "filename", &name, r->error));
  const char* why = sap_mesh_unsupported(name);
  SAP_RETURN_IF(why != NULL, sap_scene_unsupported(r->options, node, "filename", why, r->error));
  const sap_status found = find_file(r, node, name, &use.path);
  if (r->options->lenient &&
      (found == SAP_STATUS_IO || (found == SAP_STATUS_OK && !is_readable(use.path)))) {
    sap_scene_warn(r->options, node, "filename", "the file is missing: the shape is left out");
    return SAP_STATUS_OK;
  }
  SAP_TRY(found);
  SAP_TRY(sap_xml_optional(node, "scale", 3, 3, use.scale, r->error));
  SAP_RETURN_IF(use.scale[0] == 0.0 || use.scale[1] == 0.0 || use.scale[2] == 0.0,
                sap_xml_syntax(node, "scale", r->error, "must not be zero"));
  for (*index = 0; *index < r->mesh_count; ++*index) {
    const sap_urdf_mesh_use* other = &r->meshes[*index];
    if (strcmp(other->path, use.path) == 0 && other->scale[0] == use.scale[0] &&
        other->scale[1] == use.scale[1] && other->scale[2] == use.scale[2]) {
      return SAP_STATUS_OK;
    }
  }
  SAP_TRY(SAP_ROOM(&r->pool, &r->meshes, r->mesh_count + 1, r->error));
  r->meshes[r->mesh_count++] = use;
  return SAP_STATUS_OK;
}

// --- shapes -------------------------------------------------------------------------------------

typedef struct shape_kind {
  const char* element;
  sap_shape_type type;
  bool halved[3];  // sizes that URDF gives as whole lengths
  sap_xml_field fields[4];
} shape_kind;

#define SIZE(member, attribute) SAP_XML_NUMBER(sap_shape_def, member, attribute, POSITIVE)
#define ROUND \
  { SIZE(size[0], "radius"), SIZE(size[1], "length"), {0}, }
static const shape_kind shape_kinds[] = {
    {"box",
     SAP_SHAPE_BOX,
     {true, true, true},
     {SAP_XML_FIELD(sap_shape_def, size, "size", POSITIVE, 3, 3), {0}}},
    {"sphere", SAP_SHAPE_SPHERE, {false}, {SIZE(size[0], "radius"), {0}}},
    {"drake:ellipsoid",
     SAP_SHAPE_ELLIPSOID,
     {false},
     {SIZE(size[0], "a"), SIZE(size[1], "b"), SIZE(size[2], "c"), {0}}},
    {"cylinder", SAP_SHAPE_CYLINDER, {false, true}, ROUND},
    {"capsule", SAP_SHAPE_CAPSULE, {false, true}, ROUND},
    {"drake:capsule", SAP_SHAPE_CAPSULE, {false, true}, ROUND},
};

// Sets *point if the sphere has the radius 0 and the reader is lenient.
static sap_status read_point(sap_urdf_reader* r, const sap_xml_node* node, sap_shape_def* def,
                             bool* point) {
  double radius = 1.0;
  SAP_TRY(sap_xml_optional(node, "radius", 1, 1, &radius, r->error));
  *point = r->options->lenient && radius == 0.0;
  if (*point) {
    def->size[0] = point_radius;
    sap_scene_warn(r->options, node, "radius", "a point: becomes a sphere of 0.1 mm");
  }
  return SAP_STATUS_OK;
}

static sap_status read_shape(sap_urdf_reader* r, const sap_xml_node* node, sap_shape_def* def) {
  if (sap_xml_is(node, "mesh")) {
    def->type = SAP_SHAPE_MESH;
    return read_mesh(r, node, &def->mesh);
  }
  const shape_kind *kind = shape_kinds, *end = kind + sizeof shape_kinds / sizeof *shape_kinds;
  while (kind < end && !sap_xml_is(node, kind->element)) {
    ++kind;
  }
  if (kind == end) {  // of a <visual>, which the schema does not check
    return sap_xml_syntax(node, NULL, r->error, "is not a shape");
  }
  def->type = kind->type;
  bool point = false;
  SAP_TRY(kind->type == SAP_SHAPE_SPHERE ? read_point(r, node, def, &point) : SAP_STATUS_OK);
  if (point) {
    return SAP_STATUS_OK;
  }
  SAP_TRY(sap_xml_require_fields(node, kind->fields, def, r->error));
  for (int i = 0; i < 3; ++i) {
    def->size[i] *= kind->halved[i] ? 0.5 : 1.0;
  }
  return SAP_STATUS_OK;
}

// Reads Bullet's <contact> of the link, then Drake's properties of the collision element.
static sap_status read_material(sap_urdf_reader* r, const sap_xml_node* link,
                                const sap_xml_node* collision, sap_material* material) {
  static const sap_xml_field bullet[] = {
      SAP_XML_NUMBER(sap_material, friction, "lateral_friction", NONNEGATIVE), {0}};
  *material = r->options->default_material;
  const sap_xml_node* contact;
  SAP_TRY(sap_xml_only_child(link, "contact", &contact, r->error));
  if (contact != NULL) {
    SAP_TRY(sap_xml_read_children(contact, bullet, false, material, r->error));
  }
  SAP_TRY(sap_scene_read_proximity(r->options, &collision, 1, material, r->error));
  sap_scene_override(r->options, material);
  return SAP_STATUS_OK;
}

// Reads <origin> and <geometry> of a <collision> or <visual>.
static sap_status read_geometry(sap_urdf_reader* r, const sap_urdf_link* link,
                                const sap_xml_node* node, sap_shape_def* def) {
  const sap_xml_node* geometry;
  SAP_TRY(sap_xml_require_child(node, "geometry", &geometry, r->error));
  SAP_RETURN_IF(geometry->first_child == NULL,
                sap_xml_syntax(geometry, NULL, r->error, "has no shape"));
  SAP_RETURN_IF(
      geometry->first_child->next != NULL,
      sap_xml_syntax(geometry->first_child->next, NULL, r->error, "a second shape in <geometry>"));
  sap_pose pose;
  *def = sap_shape_def_default();
  def->body = link->body;
  SAP_TRY(sap_urdf_origin(r, node, &pose));
  sap_pose_get(&pose, def->p_BS, def->q_BS);
  return read_shape(r, geometry->first_child, def);
}

static sap_status add_mesh(sap_urdf_reader* r, sap_urdf_mesh_use* use) {
  sap_mesh_def mesh;
  SAP_TRY(load_mesh(r, use, false, &mesh));
  return sap_builder_add_mesh(r->builder, &mesh, &use->id, r->error);
}

static sap_status add_shape(sap_urdf_reader* r, const sap_urdf_link* link,
                            const sap_xml_node* node) {
  sap_shape_def def;
  SAP_TRY(read_geometry(r, link, node, &def));
  SAP_TRY(read_material(r, link->node, node, &def.material));
  if (def.type == SAP_SHAPE_MESH) {
    if (def.mesh < 0) {
      return SAP_STATUS_OK;  // ignored, with a warning
    }
    sap_urdf_mesh_use* use = &r->meshes[def.mesh];
    SAP_TRY(use->id < 0 ? sap_xml_locate(use->node, add_mesh(r, use), r->error) : SAP_STATUS_OK);
    def.mesh = use->id;
  }
  const char* name = sap_xml_get(node, "name");
  if (name != NULL && name[0] != '\0') {  // unique in its link only
    SAP_TRY(sap_xml_join(r->store, link->name, "/", name, &def.name, r->error));
  }
  return SAP_XML_ADD(r, node, sap_builder_add_shape, &def, NULL);
}

// Finds the <color> of a <visual>: of its own <material>, or of the robot's of the same name.
static sap_status find_color(sap_urdf_reader* r, const sap_xml_node* robot,
                             const sap_xml_node* visual, const sap_xml_node** color) {
  const sap_xml_node* material;
  *color = NULL;
  SAP_TRY(sap_xml_only_child(visual, "material", &material, r->error));
  const char* name = material != NULL ? sap_xml_get(material, "name") : NULL;
  SAP_TRY(material != NULL ? sap_xml_only_child(material, "color", color, r->error)
                           : SAP_STATUS_OK);
  material = name != NULL ? robot->first_child : NULL;
  for (; material != NULL && *color == NULL; material = material->next) {
    const char* other = sap_xml_is(material, "material") ? sap_xml_get(material, "name") : NULL;
    SAP_TRY(other != NULL && strcmp(name, other) == 0
                ? sap_xml_only_child(material, "color", color, r->error)
                : SAP_STATUS_OK);
  }
  return SAP_STATUS_OK;
}

static sap_status add_visual(sap_urdf_reader* r, const sap_urdf_link* link,
                             const sap_xml_node* node) {
  sap_shape_def def;
  sap_mesh_def mesh = {0};
  const sap_xml_node* color;
  SAP_TRY(read_geometry(r, link, node, &def));
  SAP_TRY(find_color(r, link->node->parent, node, &color));
  SAP_TRY(color != NULL ? sap_xml_optional(color, "rgba", 4, 4, def.color, r->error)
                        : SAP_STATUS_OK);
  sap_urdf_mesh_use* use = def.type == SAP_SHAPE_MESH ? &r->meshes[def.mesh] : NULL;
  if (use != NULL) {
    def.mesh = use->visual;
    SAP_TRY(use->visual < 0 ? load_mesh(r, use, true, &mesh) : SAP_STATUS_OK);
  }
  SAP_TRY(sap_builder_add_visual(r->builder, &mesh, &def, r->error));
  if (use != NULL) {
    use->visual = def.mesh;
  }
  return SAP_STATUS_OK;
}

// Adds a <visual>. What cannot be read is not drawn: no step depends on it.
static sap_status try_visual(sap_urdf_reader* r, const sap_urdf_link* link,
                             const sap_xml_node* node) {
  const sap_scene_options* options = r->options;
  sap_error *error = r->error, unread = {0};
  sap_scene_options strict = *options;
  strict.lenient = false;  // an error in place of a warning
  r->options = &strict;
  r->error = &unread;
  const sap_status status = add_visual(r, link, node);
  r->options = options;
  r->error = error;
  return status == SAP_STATUS_MEMORY ? sap_fail(error, status, "%s", unread.message)
                                     : SAP_STATUS_OK;
}

sap_status sap_urdf_shapes(sap_urdf_reader* r, const sap_urdf_link* link) {
  for (const sap_xml_node* n = link->node->first_child; n != NULL; n = n->next) {
    SAP_TRY(sap_xml_is(n, "collision") ? add_shape(r, link, n) : SAP_STATUS_OK);
    SAP_TRY(r->options->visuals && sap_xml_is(n, "visual") ? try_visual(r, link, n)
                                                           : SAP_STATUS_OK);
  }
  return SAP_STATUS_OK;
}
