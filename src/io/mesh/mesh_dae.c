// SPDX-License-Identifier: BSD-3-Clause
// The nodes of DAE's scene, with their poses; coordinates in the file's unit are turned to metres.
#include "io/mesh/mesh_dae.h"

#include <math.h>
#include <string.h>

#include "core/memory.h"
#include "core/name_map.h"

// Nodes may contain nodes of elsewhere: without limits a short file could name more than all
// memory holds, or itself.
enum { MOST_DEPTH = 64, MOST_INSTANCES = 20000, MATRIX = 16 };

typedef struct dae {
  sap_mesh_source* s;
  sap_dae_positions positions;
  sap_name_map ids;  // of all elements: index of `elements`
  const sap_xml_node** elements;
  int32_t element_count, element_capacity;
  int32_t instances, depth;
} dae;

static const sap_dae_pose identity = {.A = {{1, 0, 0}, {0, 1, 0}, {0, 0, 1}}};

static sap_dae_pose times(const sap_dae_pose* a, const sap_dae_pose* b) {
  sap_dae_pose c;
  for (int i = 0; i < 3; ++i) {
    c.b[i] = a->b[i];
    for (int j = 0; j < 3; ++j) {
      c.A[i][j] = a->A[i][0] * b->A[0][j] + a->A[i][1] * b->A[1][j] + a->A[i][2] * b->A[2][j];
      c.b[i] += a->A[i][j] * b->b[j];
    }
  }
  return c;
}

// About an axis of any length, by an angle in degrees (Rodrigues' formula).
static void set_rotation(const double axis[3], double degrees, sap_dae_pose* out) {
  static const double pi = 3.14159265358979323846;
  const double length = sqrt(axis[0] * axis[0] + axis[1] * axis[1] + axis[2] * axis[2]);
  const double c = cos(degrees * pi / 180.0), s = sin(degrees * pi / 180.0);
  if (!(length > 0.0)) {
    return;
  }
  const double u[3] = {axis[0] / length, axis[1] / length, axis[2] / length};
  const double cross[3][3] = {{0, -u[2], u[1]}, {u[2], 0, -u[0]}, {-u[1], u[0], 0}};
  for (int i = 0; i < 3; ++i) {
    for (int j = 0; j < 3; ++j) {
      out->A[i][j] = (i == j ? c : 0.0) + (1.0 - c) * u[i] * u[j] + s * cross[i][j];
    }
  }
}

// <matrix>, <translate>, <rotate> and <scale>; other elements leave the pose as it is.
static sap_status apply(const sap_xml_node* node, sap_dae_pose* pose, sap_error* error) {
  static const struct {
    const char* name;
    int count;
  } kinds[] = {{"matrix", MATRIX}, {"translate", 3}, {"rotate", 4}, {"scale", 3}};
  double x[MATRIX] = {0.0};
  for (size_t kind = 0; kind < sizeof kinds / sizeof *kinds; ++kind) {
    if (!sap_xml_is(node, kinds[kind].name)) {
      continue;
    }
    const char* at = node->text;
    for (int i = 0; i < kinds[kind].count; ++i) {
      bool found = false;
      const sap_status status = sap_dae_next_real(node, &at, &x[i], &found, error);
      if (status != SAP_STATUS_OK || !found) {
        return status != SAP_STATUS_OK ? status
                                       : sap_xml_fail(node, NULL, SAP_STATUS_SYNTAX, error,
                                                      "needs %d numbers", kinds[kind].count);
      }
    }
    sap_dae_pose step = identity;
    for (int i = 0; i < 3; ++i) {
      if (kind == 0) {
        memcpy(step.A[i], x + 4 * i, sizeof step.A[i]);
      }
      step.b[i] = kind == 0 ? x[4 * i + 3] : kind == 1 ? x[i] : 0.0;
      step.A[i][i] = kind == 3 ? x[i] : step.A[i][i];
    }
    if (kind == 2) {
      set_rotation(x, x[3], &step);
    }
    *pose = times(pose, &step);
  }
  return SAP_STATUS_OK;
}

// All elements below `parent` that have an id. Of equal ids that of the child goes before that of a
// child's child.
static sap_status add_ids(dae* d, const sap_xml_node* parent, int depth) {
  sap_status status = SAP_STATUS_OK;
  for (const sap_xml_node* c = parent->first_child; c != NULL && status == SAP_STATUS_OK;
       c = c->next) {
    const char* id = sap_xml_get(c, "id");
    if (id != NULL) {
      status = SAP_GROW(&d->elements, &d->element_capacity, d->element_count + 1, d->s->error);
    }
    if (id != NULL && status == SAP_STATUS_OK) {
      d->elements[d->element_count] = c;
      status = sap_name_map_add(&d->ids, id, d->element_count++, NULL, d->s->error);
    }
  }
  for (const sap_xml_node* c = parent->first_child;
       c != NULL && depth > 0 && status == SAP_STATUS_OK; c = c->next) {
    status = add_ids(d, c, depth - 1);
  }
  return status;
}

// The element "#id" of any library, or of the nodes of any scene.
static const sap_xml_node* find_element(const dae* d, const sap_xml_node* node,
                                        const char* attribute) {
  const char* link = sap_xml_get(node, attribute);
  const int32_t i = link != NULL && link[0] == '#' ? sap_name_map_find(&d->ids, link + 1) : -1;
  return i >= 0 ? d->elements[i] : NULL;
}

static sap_status add_node(dae* d, const sap_xml_node* node, const sap_dae_pose* parent);

// What an <instance_...> names: a node, a geometry, or a controller that deforms one.
static sap_status add_instance(dae* d, const sap_xml_node* instance, const sap_dae_pose* pose) {
  const sap_xml_node* at = instance;
  const char* link = "url";
  if (++d->instances > MOST_INSTANCES) {
    return sap_xml_fail(instance, "url", SAP_STATUS_UNSUPPORTED, d->s->error,
                        "more than %d instances, or one that contains itself", (int)MOST_INSTANCES);
  }
  for (int chain = 0; chain < 4; ++chain) {  // a skin of a morph of a geometry
    const sap_xml_node* target = find_element(d, at, link);
    if (target == NULL) {
      return sap_xml_fail(at, link, SAP_STATUS_SYNTAX, d->s->error, "names nothing in this file");
    }
    if (sap_xml_is(target, "node")) {
      return add_node(d, target, pose);
    }
    if (sap_xml_is(target, "geometry")) {
      return sap_dae_read_geometry(d->s, target, pose, &d->positions);
    }
    const sap_xml_node* skin = sap_xml_child(target, "skin");
    at = skin != NULL ? skin : sap_xml_child(target, "morph");
    link = "source";
    if (at == NULL) {
      break;
    }
  }
  return sap_xml_fail(instance, "url", SAP_STATUS_SYNTAX, d->s->error, "names no geometry");
}

static sap_status add_node(dae* d, const sap_xml_node* node, const sap_dae_pose* parent) {
  sap_dae_pose pose = *parent;
  sap_status status = SAP_STATUS_OK;
  if (++d->depth > MOST_DEPTH) {
    return sap_xml_fail(node, NULL, SAP_STATUS_UNSUPPORTED, d->s->error,
                        "nodes are nested more than %d deep", (int)MOST_DEPTH);
  }
  for (const sap_xml_node* c = node->first_child; c != NULL && status == SAP_STATUS_OK;
       c = c->next) {
    status = apply(c, &pose, d->s->error);
  }
  for (const sap_xml_node* c = node->first_child; c != NULL && status == SAP_STATUS_OK;
       c = c->next) {
    if (sap_xml_is(c, "node")) {
      status = add_node(d, c, &pose);
    } else if (sap_xml_is(c, "instance_node") || sap_xml_is(c, "instance_geometry") ||
               sap_xml_is(c, "instance_controller")) {
      status = add_instance(d, c, &pose);
    }
  }
  --d->depth;
  return status;
}

// The scene that is shown; without one the first of the library.
static const sap_xml_node* find_scene(const sap_xml_node* root) {
  const sap_xml_node* library = sap_xml_child(root, "library_visual_scenes");
  const sap_xml_node* scene = sap_xml_child(root, "scene");
  const sap_xml_node* shown = scene != NULL ? sap_xml_child(scene, "instance_visual_scene") : NULL;
  const sap_xml_node* found =
      library != NULL && shown != NULL ? sap_dae_find(library, shown, "url") : NULL;
  return found != NULL || library == NULL ? found : sap_xml_child(library, "visual_scene");
}

// Metres of the file's unit.
static sap_status read_unit(const sap_xml_node* root, double* meters, sap_error* error) {
  const sap_xml_node* asset = sap_xml_child(root, "asset");
  const sap_xml_node* unit = asset != NULL ? sap_xml_child(asset, "unit") : NULL;
  const char* text = unit != NULL ? sap_xml_get(unit, "meter") : NULL;
  bool found = true;
  *meters = 1.0;
  if (text == NULL) {
    return SAP_STATUS_OK;
  }
  const sap_status status = sap_dae_next_real(unit, &text, meters, &found, error);
  return status == SAP_STATUS_OK && !(found && *meters > 0.0 && isfinite(*meters))
             ? sap_xml_fail(unit, "meter", SAP_STATUS_SYNTAX, error, "must be finite and > 0")
             : status;
}

static sap_status read_root(sap_mesh_source* s, const sap_xml_node* root) {
  dae d = {.s = s};
  double meters;
  const sap_xml_node* scene = find_scene(root);
  if (!sap_xml_is(root, "COLLADA") || scene == NULL) {
    return sap_xml_fail(root, NULL, SAP_STATUS_SYNTAX, s->error,
                        scene == NULL ? "there is no <visual_scene>" : "COLLADA is expected");
  }
  sap_status status = read_unit(root, &meters, s->error);
  sap_dae_pose pose = identity;
  for (int i = 0; i < 3; ++i) {
    pose.A[i][i] = meters;
  }
  if (status == SAP_STATUS_OK) {
    status = add_ids(&d, root, MOST_DEPTH);
  }
  if (status == SAP_STATUS_OK) {
    status = add_node(&d, scene, &pose);
  }
  sap_free(d.positions.p);
  sap_free(d.elements);
  sap_name_map_clear(&d.ids);
  return status;
}

sap_status sap_mesh_read_dae(sap_mesh_source* s) {
  sap_xml_store* store = NULL;
  sap_xml_node* root = NULL;
  sap_status status = sap_xml_store_create(&store, s->error);
  if (status == SAP_STATUS_OK) {
    status = sap_xml_parse(store, s->path, s->bytes, s->size, &root, s->error);
  }
  if (status == SAP_STATUS_OK) {
    status = read_root(s, root);
  }
  sap_xml_store_destroy(store);
  return status;
}
