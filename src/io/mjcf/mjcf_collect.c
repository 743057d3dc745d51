// SPDX-License-Identifier: BSD-3-Clause
// Frames, replicates and attached models flattened into the elements of one body, in MuJoCo's
// order, each with its pose frame, default class and naming space.
#include <stdio.h>
#include <string.h>

#include "io/mjcf/mjcf_attribute.h"
#include "io/mjcf/mjcf_body.h"
#include "io/xml/schema.h"
#include "math/quaternion.h"
#include "multibody/model/model_data.h"

// More elements than any scene has: nested replicates multiply quickly.
static const int64_t max_elements = 1000000;

static sap_status count_element(sap_mjcf_reader* r, const sap_xml_node* node) {
  return ++r->total <= max_elements
             ? SAP_STATUS_OK
             : sap_xml_fail(node, NULL, SAP_STATUS_UNSUPPORTED, r->error,
                            "the scene has more than %lld elements", (long long)max_elements);
}

sap_status sap_mjcf_add_space(sap_mjcf_reader* r, const sap_mjcf_space* space, int32_t* index) {
  SAP_TRY(SAP_ROOM(&r->pool, &r->spaces, r->space_count + 1, r->error));
  *index = r->space_count;
  r->spaces[r->space_count++] = *space;
  return SAP_STATUS_OK;
}

sap_status sap_mjcf_child_class(sap_mjcf_reader* r, const sap_xml_node* node,
                                sap_mjcf_scope* scope) {
  const char* name = sap_xml_get(node, "childclass");
  if (name != NULL) {
    scope->child_class = sap_mjcf_find_class(scope->model, name);
    SAP_RETURN_IF(scope->child_class < 0,
                  sap_xml_syntax(node, "childclass", r->error, "unknown default class"));
  }
  return SAP_STATUS_OK;
}

static sap_status push_item(sap_mjcf_reader* r, const sap_xml_node* node,
                            const sap_mjcf_scope* scope) {
  SAP_TRY(count_element(r, node));
  SAP_TRY(SAP_ROOM(&r->pool, &r->items, r->item_count + 1, r->error));
  r->items[r->item_count++] = (sap_mjcf_item){.node = node, .scope = *scope};
  return SAP_STATUS_OK;
}

static sap_status collect_frame(sap_mjcf_reader* r, const sap_xml_node* node,
                                const sap_mjcf_scope* scope) {
  sap_mjcf_scope inner = *scope;
  sap_pose pose;
  SAP_TRY(sap_mjcf_pose(r, node, scope, &pose));
  SAP_TRY(sap_mjcf_child_class(r, node, &inner));
  sap_pose_compose(&inner.frame, &scope->frame, &pose);
  return sap_mjcf_collect(r, node, &inner);
}

// --- replicates ---------------------------------------------------------------------------------

static sap_status read_count(sap_mjcf_reader* r, const sap_xml_node* node, int32_t* count) {
  const char* text;
  SAP_TRY(sap_xml_require(node, "count", &text, r->error));
  SAP_TRY(sap_xml_integer(node, "count", count, r->error));
  return *count >= 1 ? SAP_STATUS_OK : sap_xml_syntax(node, "count", r->error, "must be >= 1");
}

// The suffix of a copy is "SEP", its number with as many digits as `count` has, and the suffix of
// the enclosing space.
static sap_status copy_suffix(sap_mjcf_reader* r, const sap_xml_node* node, int32_t copy,
                              int32_t count, const char* outer, const char** suffix) {
  char digits[16], number[16];
  const int width = snprintf(digits, sizeof digits, "%d", (int)count);
  (void)snprintf(number, sizeof number, "%0*d", width, (int)copy);
  return sap_xml_join(r->store, sap_xml_get(node, "sep"), number, outer, suffix, r->error);
}

static sap_status collect_copy(sap_mjcf_reader* r, const sap_xml_node* node,
                               const sap_mjcf_scope* scope, int32_t copy, int32_t count) {
  sap_mjcf_space space = r->spaces[scope->space];
  sap_mjcf_scope inner = *scope;
  space.parent = scope->space;
  space.is_model = false;
  SAP_TRY(copy_suffix(r, node, copy, count, space.suffix, &space.suffix));
  SAP_TRY(count_element(r, node));
  SAP_TRY(sap_mjcf_add_space(r, &space, &inner.space));
  return sap_mjcf_collect(r, node, &inner);
}

// Copy i is rotated by i times the angles (not by the i-th power of one rotation) and displaced
// from copy i - 1 by the offset, in the axes of copy i - 1.
static sap_status collect_replicate(sap_mjcf_reader* r, const sap_xml_node* node,
                                    const sap_mjcf_scope* scope) {
  int32_t count = 0;
  double angles[3] = {0.0, 0.0, 0.0}, offset[3] = {0.0, 0.0, 0.0};
  sap_mjcf_scope inner = *scope;
  SAP_TRY(read_count(r, node, &count));
  SAP_TRY(sap_xml_optional(node, "offset", 3, 3, offset, r->error));
  SAP_TRY(sap_xml_optional(node, "euler", 3, 3, angles, r->error));
  SAP_TRY(sap_mjcf_child_class(r, node, &inner));
  sap_pose pose = sap_pose_identity;
  for (int32_t i = 0; i < count; ++i) {
    double turned[3], step[3];
    sap_v3_scale(turned, angles, (double)i);
    sap_mjcf_euler(scope->model, turned, pose.q);
    sap_pose_compose(&inner.frame, &scope->frame, &pose);
    SAP_TRY(collect_copy(r, node, &inner, i, count));
    sap_quaternion_rotate(step, pose.q, offset);
    sap_v3_add(pose.p, pose.p, step);
  }
  return SAP_STATUS_OK;
}

// --- attached models ----------------------------------------------------------------------------

// Finds the element of that name below a worldbody of the root, or below a body or frame.
static const sap_xml_node* find_named(const sap_xml_node* node, const char* element,
                                      const char* name) {
  for (const sap_xml_node* c = node->first_child; c != NULL; c = c->next) {
    const char* own = sap_xml_get(c, "name");
    if (sap_xml_is(c, element) && own != NULL && strcmp(own, name) == 0) {
      return c;
    }
    const bool inner = sap_word_index("worldbody body frame", c->name) >= 0;
    const sap_xml_node* found = inner ? find_named(c, element, name) : NULL;
    if (found != NULL) {
      return found;
    }
  }
  return NULL;
}

// Finds the model and the element below its worldbody (NULL: all) that an <attach> names.
static sap_status find_attached(sap_mjcf_reader* r, const sap_xml_node* node,
                                const sap_mjcf_model* user, const sap_mjcf_model** model,
                                const sap_xml_node** element) {
  const char* name = sap_xml_get(node, "model");
  *model = NULL;
  *element = NULL;
  for (const sap_mjcf_model* m = user->assets; m != NULL && name != NULL; m = m->next) {
    if (m->name != NULL && strcmp(m->name, name) == 0) {
      *model = m;
    }
  }
  SAP_RETURN_IF(*model == NULL,
                sap_xml_syntax(node, "model", r->error, "no <asset><model> of that name"));
  const char* kind = sap_xml_get(node, "body") != NULL ? "body" : "frame";
  const char* inner = sap_xml_get(node, kind);
  SAP_RETURN_IF(strcmp(kind, "body") == 0 && sap_xml_get(node, "frame") != NULL,
                sap_xml_syntax(node, "frame", r->error, "not together with 'body'"));
  if (inner != NULL) {
    *element = find_named((*model)->root, kind, inner);
    SAP_RETURN_IF(*element == NULL, sap_xml_syntax(node, kind, r->error, "'%s' has no such element",
                                                   (*model)->root->file));
  }
  return SAP_STATUS_OK;
}

// Reads the childclass that an element inherits in its own file.
static sap_status inherited_class(sap_mjcf_reader* r, const sap_xml_node* element,
                                  sap_mjcf_scope* scope) {
  const sap_xml_node* n = element->parent;
  while (n != NULL && sap_xml_get(n, "childclass") == NULL) {
    n = n->parent;
  }
  return n != NULL ? sap_mjcf_child_class(r, n, scope) : SAP_STATUS_OK;
}

sap_status sap_mjcf_collect_worldbody(sap_mjcf_reader* r, const sap_mjcf_scope* scope) {
  SAP_XML_EACH(s, scope->model->root, "worldbody") {
    sap_mjcf_scope inner = *scope;
    SAP_TRY(sap_mjcf_child_class(r, s, &inner));
    SAP_TRY(sap_mjcf_collect(r, s, &inner));
  }
  return SAP_STATUS_OK;
}

static sap_status collect_attached(sap_mjcf_reader* r, const sap_xml_node* node,
                                   const sap_mjcf_scope* scope) {
  const sap_xml_node* element;
  sap_mjcf_space space = r->spaces[scope->space];
  space.is_model = true;
  space.parent = scope->space;
  SAP_TRY(find_attached(r, node, scope->model, &space.model, &element));
  SAP_TRY(sap_xml_join(r->store, space.prefix, sap_xml_get(node, "prefix"), NULL, &space.prefix,
                       r->error));
  if (sap_xml_next(space.model->root, "keyframe", NULL) != NULL) {
    sap_scene_warn(r->options, node, NULL, "keyframes of the attached model are left out");
  }
  sap_mjcf_scope inner = {.model = space.model, .child_class = -1, .frame = scope->frame};
  SAP_TRY(sap_mjcf_add_space(r, &space, &inner.space));
  if (element == NULL) {
    return sap_mjcf_collect_worldbody(r, &inner);
  }
  SAP_TRY(inherited_class(r, element, &inner));
  return sap_xml_is(element, "frame") ? collect_frame(r, element, &inner)
                                      : push_item(r, element, &inner);
}

sap_status sap_mjcf_collect(sap_mjcf_reader* r, const sap_xml_node* node,
                            const sap_mjcf_scope* scope) {
  for (const sap_xml_node* c = node->first_child; c != NULL; c = c->next) {
    if (sap_xml_is(c, "frame")) {
      SAP_TRY(collect_frame(r, c, scope));
    } else if (sap_xml_is(c, "replicate")) {
      SAP_TRY(collect_replicate(r, c, scope));
    } else if (sap_xml_is(c, "attach")) {
      SAP_TRY(collect_attached(r, c, scope));
    } else if (sap_word_index("body joint freejoint geom inertial site", c->name) >= 0) {
      SAP_TRY(push_item(r, c, scope));
    }
  }
  return SAP_STATUS_OK;
}
