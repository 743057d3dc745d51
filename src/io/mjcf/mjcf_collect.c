// SPDX-License-Identifier: BSD-3-Clause
// Frames, replicates and attached models flattened into the elements of one body, in MuJoCo's
// order, each with its pose frame, default class and naming space.
#include <stdio.h>
#include <string.h>

#include "core/memory.h"
#include "io/mjcf/mjcf.h"
#include "io/xml/number.h"
#include "io/xml/schema.h"
#include "math/quaternion.h"

// More elements than any scene has: nested replicates multiply quickly.
static const int64_t max_elements = 1000000;

static sap_status count_element(sap_mjcf_reader* r, const sap_xml_node* node) {
  return ++r->total <= max_elements
             ? SAP_STATUS_OK
             : sap_xml_fail(node, NULL, SAP_STATUS_UNSUPPORTED, r->error,
                            "the scene has more than %lld elements", (long long)max_elements);
}

sap_status sap_mjcf_add_space(sap_mjcf_reader* r, const sap_mjcf_space* space, int32_t* index) {
  const sap_status status = SAP_GROW(&r->spaces, &r->space_capacity, r->space_count + 1, r->error);
  if (status == SAP_STATUS_OK) {
    *index = r->space_count;
    r->spaces[r->space_count++] = *space;
  }
  return status;
}

static sap_status child_class(sap_mjcf_reader* r, const sap_xml_node* node, sap_mjcf_scope* scope) {
  const char* name = sap_xml_get(node, "childclass");
  if (name != NULL) {
    scope->child_class = sap_mjcf_find_class(scope->model, name);
    if (scope->child_class < 0) {
      return sap_xml_fail(node, "childclass", SAP_STATUS_SYNTAX, r->error, "unknown default class");
    }
  }
  return SAP_STATUS_OK;
}

static sap_status push(sap_mjcf_reader* r, const sap_xml_node* node, const sap_mjcf_scope* scope) {
  sap_status status = count_element(r, node);
  if (status == SAP_STATUS_OK) {
    status = SAP_GROW(&r->items, &r->item_capacity, r->item_count + 1, r->error);
  }
  if (status == SAP_STATUS_OK) {
    r->items[r->item_count++] = (sap_mjcf_item){.node = node, .scope = *scope};
  }
  return status;
}

static sap_status collect_frame(sap_mjcf_reader* r, const sap_xml_node* node,
                                const sap_mjcf_scope* scope) {
  sap_mjcf_scope inner = *scope;
  sap_pose pose;
  sap_status status = sap_mjcf_pose(r, node, scope, &pose);
  if (status == SAP_STATUS_OK) {
    status = child_class(r, node, &inner);
  }
  sap_pose_compose(&inner.frame, &scope->frame, &pose);
  return status == SAP_STATUS_OK ? sap_mjcf_collect(r, node, &inner) : status;
}

sap_status sap_mjcf_replicate_count(sap_mjcf_reader* r, const sap_xml_node* node, int32_t* count) {
  const sap_status status = sap_xml_integer(node, "count", count, r->error);
  return status == SAP_STATUS_OK && *count < 1
             ? sap_xml_fail(node, "count", SAP_STATUS_SYNTAX, r->error, "must be >= 1")
             : status;
}

// "SEP" and the copy's number, as many digits as the largest number needs; then what the enclosing
// spaces append.
static sap_status copy_suffix(sap_mjcf_reader* r, const sap_xml_node* node, int32_t copy,
                              int32_t count, const sap_mjcf_space* outer, const char** suffix) {
  char digits[16], number[16];
  const int width = snprintf(digits, sizeof digits, "%d", (int)count);
  (void)snprintf(number, sizeof number, "%0*d", width, (int)copy);
  *suffix = sap_xml_join(r->store, sap_xml_get(node, "sep"), number, outer->suffix);
  return *suffix != NULL ? SAP_STATUS_OK : sap_fail(r->error, SAP_STATUS_MEMORY, "out of memory");
}

static sap_status collect_copy(sap_mjcf_reader* r, const sap_xml_node* node,
                               const sap_mjcf_scope* scope, const int32_t copy_count[2]) {
  sap_mjcf_space space = r->spaces[scope->space];
  space.parent = scope->space;
  space.is_model = false;
  space.in_copy = space.in_copy || copy_count[0] > 0;
  sap_status status =
      copy_suffix(r, node, copy_count[0], copy_count[1], &r->spaces[scope->space], &space.suffix);
  sap_mjcf_scope inner = *scope;
  if (status == SAP_STATUS_OK) {
    status = count_element(r, node);
  }
  if (status == SAP_STATUS_OK) {
    status = sap_mjcf_add_space(r, &space, &inner.space);
  }
  return status == SAP_STATUS_OK ? sap_mjcf_collect(r, node, &inner) : status;
}

// Copy i is turned by i times the angles (not by the i-th power of one turn) and stands one offset
// beyond copy i - 1, in that copy's axes.
static sap_status collect_replicate(sap_mjcf_reader* r, const sap_xml_node* node,
                                    const sap_mjcf_scope* scope) {
  int32_t count = 0;
  double angles[3] = {0.0, 0.0, 0.0}, offset[3] = {0.0, 0.0, 0.0};
  sap_mjcf_scope inner = *scope;
  sap_status status = sap_mjcf_replicate_count(r, node, &count);
  if (status == SAP_STATUS_OK) {
    status = sap_xml_optional(node, "offset", 3, 3, offset, r->error);
  }
  if (status == SAP_STATUS_OK) {
    status = sap_xml_optional(node, "euler", 3, 3, angles, r->error);
  }
  if (status == SAP_STATUS_OK) {
    status = child_class(r, node, &inner);
  }
  sap_pose pose = sap_pose_identity;
  for (int32_t i = 0; i < count && status == SAP_STATUS_OK; ++i) {
    double turned[3], step[3];
    sap_v3_scale(turned, angles, (double)i);
    sap_mjcf_euler(&scope->model->compiler, turned, pose.q);
    sap_pose_compose(&inner.frame, &scope->frame, &pose);
    status = collect_copy(r, node, &inner, (const int32_t[]){i, count});
    sap_quaternion_rotate(step, pose.q, offset);
    sap_v3_add(pose.p, pose.p, step);
  }
  return status;
}

static const sap_xml_node* find_named(const sap_xml_node* node, const char* element,
                                      const char* name) {
  for (const sap_xml_node* c = node->first_child; c != NULL; c = c->next) {
    const char* own = sap_xml_get(c, "name");
    if (sap_xml_is(c, element) && own != NULL && strcmp(own, name) == 0) {
      return c;
    }
    const bool inner = sap_xml_is(c, "body") || sap_xml_is(c, "frame");
    const sap_xml_node* found = inner ? find_named(c, element, name) : NULL;
    if (found != NULL) {
      return found;
    }
  }
  return NULL;
}

static const sap_xml_node* find_in_model(const sap_mjcf_model* model, const char* element,
                                         const char* name) {
  const sap_xml_node* found = NULL;
  for (const sap_xml_node* s = model->root->first_child; s && !found; s = s->next) {
    found = sap_xml_is(s, "worldbody") ? find_named(s, element, name) : NULL;
  }
  return found;
}

sap_status sap_mjcf_attached(sap_mjcf_reader* r, const sap_xml_node* node,
                             const sap_mjcf_model* user, const sap_mjcf_model** model,
                             const sap_xml_node** element) {
  const char* name = sap_xml_get(node, "model");
  *model = NULL;
  for (const sap_mjcf_model* m = user->assets; m != NULL && name != NULL; m = m->next) {
    if (m->name != NULL && strcmp(m->name, name) == 0) {
      *model = m;
    }
  }
  if (*model == NULL) {
    return sap_xml_fail(node, name != NULL ? "model" : NULL, SAP_STATUS_SYNTAX, r->error,
                        "no <asset><model> of that name");
  }
  const char* body = sap_xml_get(node, "body");
  const char* frame = sap_xml_get(node, "frame");
  if (body != NULL && frame != NULL) {
    return sap_xml_fail(node, "frame", SAP_STATUS_SYNTAX, r->error, "not together with 'body'");
  }
  *element = NULL;
  if (body != NULL || frame != NULL) {
    *element =
        body != NULL ? find_in_model(*model, "body", body) : find_in_model(*model, "frame", frame);
    if (*element == NULL) {
      return sap_xml_fail(node, body != NULL ? "body" : "frame", SAP_STATUS_SYNTAX, r->error,
                          "'%s' has no such element", (*model)->root->file);
    }
  }
  return SAP_STATUS_OK;
}

// What an element inherits from those around it in its own file.
static sap_status inherited_class(sap_mjcf_reader* r, const sap_xml_node* element,
                                  sap_mjcf_scope* scope) {
  for (const sap_xml_node* n = element->parent; n != NULL; n = n->parent) {
    if (sap_xml_get(n, "childclass") != NULL) {
      return child_class(r, n, scope);
    }
  }
  return SAP_STATUS_OK;
}

static sap_status collect_worldbody(sap_mjcf_reader* r, const sap_mjcf_scope* scope) {
  sap_status status = SAP_STATUS_OK;
  for (const sap_xml_node* s = scope->model->root->first_child; s && status == SAP_STATUS_OK;
       s = s->next) {
    if (sap_xml_is(s, "worldbody")) {
      sap_mjcf_scope inner = *scope;
      status = child_class(r, s, &inner);
      status = status == SAP_STATUS_OK ? sap_mjcf_collect(r, s, &inner) : status;
    }
  }
  return status;
}

static sap_status collect_attached(sap_mjcf_reader* r, const sap_xml_node* node,
                                   const sap_mjcf_scope* scope) {
  const sap_xml_node* element = NULL;
  sap_mjcf_space space = r->spaces[scope->space];
  space.is_model = true;
  space.parent = scope->space;
  space.nq = space.nv = 0;
  sap_status status = sap_mjcf_attached(r, node, scope->model, &space.model, &element);
  if (status != SAP_STATUS_OK) {
    return status;
  }
  space.prefix = sap_xml_join(r->store, space.prefix, sap_xml_get(node, "prefix"), NULL);
  if (space.prefix == NULL) {
    return sap_fail(r->error, SAP_STATUS_MEMORY, "out of memory");
  }
  space.q_skip = space.v_skip = 0;
  if (element != NULL) {
    status = sap_mjcf_count_coordinates(r, space.model, element, &space.q_skip, &space.v_skip);
  }
  sap_mjcf_scope inner = {.model = space.model, .child_class = -1, .frame = scope->frame};
  if (status == SAP_STATUS_OK) {
    status = sap_mjcf_add_space(r, &space, &inner.space);
  }
  if (status == SAP_STATUS_OK && element != NULL) {
    status = inherited_class(r, element, &inner);
  }
  if (status != SAP_STATUS_OK) {
    return status;
  }
  if (element == NULL) {
    return collect_worldbody(r, &inner);
  }
  return sap_xml_is(element, "frame") ? collect_frame(r, element, &inner)
                                      : push(r, element, &inner);
}

sap_status sap_mjcf_collect(sap_mjcf_reader* r, const sap_xml_node* node,
                            const sap_mjcf_scope* scope) {
  sap_status status = SAP_STATUS_OK;
  for (const sap_xml_node* c = node->first_child; c && status == SAP_STATUS_OK; c = c->next) {
    if (sap_xml_is(c, "frame")) {
      status = collect_frame(r, c, scope);
    } else if (sap_xml_is(c, "replicate")) {
      status = collect_replicate(r, c, scope);
    } else if (sap_xml_is(c, "attach")) {
      status = collect_attached(r, c, scope);
    } else if (sap_word_index("body joint freejoint geom inertial site", c->name) >= 0) {
      status = push(r, c, scope);
    }
  }
  return status;
}
