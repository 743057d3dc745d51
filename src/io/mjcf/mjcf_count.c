// SPDX-License-Identifier: BSD-3-Clause
// How many coordinates a model has on its own: a keyframe of an attached model is written for the
// whole of it, of which perhaps only a part came.
#include "io/mjcf/mjcf.h"

typedef struct counter {
  sap_mjcf_reader* r;
  const sap_xml_node* stop;
  int64_t nq, nv;
  bool stopped;
} counter;

static sap_status count_children(counter* c, const sap_xml_node* node, const sap_mjcf_scope* scope,
                                 bool joints);

static sap_status count_joint(counter* c, const sap_xml_node* node, const sap_mjcf_scope* scope) {
  static const int32_t position_counts[] = {7, 4, 1, 1}, velocity_counts[] = {6, 3, 1, 1};
  sap_joint_type type = SAP_JOINT_HINGE;
  const sap_status status = sap_mjcf_joint_type(c->r, node, scope, &type);
  c->nq += position_counts[type];
  c->nv += velocity_counts[type];
  return status;
}

static sap_status count_body(counter* c, const sap_xml_node* node, const sap_mjcf_scope* scope) {
  const sap_status status = count_children(c, node, scope, true);
  return status == SAP_STATUS_OK ? count_children(c, node, scope, false) : status;
}

static sap_status count_worldbodies(counter* c, const sap_mjcf_model* model) {
  const sap_mjcf_scope scope = {.model = model, .child_class = -1};
  sap_status status = SAP_STATUS_OK;
  for (const sap_xml_node* s = model->root->first_child; s && status == SAP_STATUS_OK;
       s = s->next) {
    status = sap_xml_is(s, "worldbody") ? count_children(c, s, &scope, false) : SAP_STATUS_OK;
  }
  return status;
}

static sap_status count_attached(counter* c, const sap_xml_node* node,
                                 const sap_mjcf_scope* scope) {
  sap_mjcf_scope inner = {.child_class = -1};
  const sap_xml_node* element = NULL;
  const sap_status status = sap_mjcf_attached(c->r, node, scope->model, &inner.model, &element);
  if (status != SAP_STATUS_OK) {
    return status;
  }
  return element != NULL ? count_body(c, element, &inner) : count_worldbodies(c, inner.model);
}

// A replicate has `count` times what is in it; where the search stops there, its first copy counts.
static sap_status count_replicate(counter* c, const sap_xml_node* node, const sap_mjcf_scope* scope,
                                  bool joints) {
  const int64_t nq = c->nq, nv = c->nv;
  int32_t count = 1;
  sap_status status = sap_mjcf_replicate_count(c->r, node, &count);
  if (status == SAP_STATUS_OK) {
    status = count_children(c, node, scope, joints);
  }
  if (!c->stopped) {
    c->nq = nq + count * (c->nq - nq);
    c->nv = nv + count * (c->nv - nv);
  }
  return status;
}

static sap_status count_children(counter* c, const sap_xml_node* node, const sap_mjcf_scope* outer,
                                 bool joints) {
  sap_mjcf_scope scope = *outer;
  const char* class_name = sap_xml_get(node, "childclass");
  if (class_name != NULL) {
    scope.child_class = sap_mjcf_find_class(scope.model, class_name);
  }
  sap_status status = SAP_STATUS_OK;
  for (const sap_xml_node* n = node->first_child; n && status == SAP_STATUS_OK && !c->stopped;
       n = n->next) {
    if (!joints && n == c->stop) {
      c->stopped = true;
    } else if (sap_xml_is(n, "frame")) {
      status = count_children(c, n, &scope, joints);
    } else if (sap_xml_is(n, "replicate")) {
      status = count_replicate(c, n, &scope, joints);
    } else if (joints && (sap_xml_is(n, "joint") || sap_xml_is(n, "freejoint"))) {
      status = count_joint(c, n, &scope);
    } else if (!joints && sap_xml_is(n, "body")) {
      status = count_body(c, n, &scope);
    } else if (!joints && sap_xml_is(n, "attach")) {
      status = count_attached(c, n, &scope);
    }
  }
  return status;
}

sap_status sap_mjcf_count_coordinates(sap_mjcf_reader* r, const sap_mjcf_model* model,
                                      const sap_xml_node* stop, int32_t* nq, int32_t* nv) {
  counter c = {.r = r, .stop = stop};
  const sap_status status = count_worldbodies(&c, model);
  // A number that large is never reached by a keyframe.
  *nq = c.nq <= INT32_MAX ? (int32_t)c.nq : INT32_MAX;
  *nv = c.nv <= INT32_MAX ? (int32_t)c.nv : INT32_MAX;
  return status;
}
