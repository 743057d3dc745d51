// SPDX-License-Identifier: BSD-3-Clause
// Elements that name others: exclusions, tendons, actuators, equality constraints.
//
// An element that names something in a replicate exists once per copy, an element of an attached
// model once per attachment; one that names what did not come along is left out.
#include <math.h>
#include <string.h>

#include "core/memory.h"
#include "scene/mjcf.h"
#include "scene/number.h"
#include "scene/schema.h"

enum { MAX_TENDON_JOINTS = 64 };

// One existence of an element, in a space.
typedef struct instance {
  const sap_xml_node* node;
  int32_t space;
  int32_t order;  // in the file
} instance;

typedef struct instances {
  instance* list;
  int32_t count, capacity;
} instances;

static const sap_lookup* names_of(const sap_mjcf_reader* r, const char* attribute) {
  return strncmp(attribute, "body", 4) == 0 ? &r->body_names : &r->joint_names;
}

// Id of the element that is called `name` in the file, in exactly this space; -1.
static sap_status find_in_space(sap_mjcf_reader* r, int32_t space, const sap_lookup* names,
                                const char* name, int32_t* id) {
  const char* full = NULL;
  *id = -1;
  if (name[0] == '\0') {
    return SAP_STATUS_OK;
  }
  const sap_status status = sap_mjcf_full_name(r, space, name, &full);
  if (status == SAP_STATUS_OK) {
    *id = sap_lookup_find(names, full);
  }
  if (*id < 0 && names == &r->body_names && strcmp(name, "world") == 0) {
    *id = 0;  // the world has no prefix
  }
  return status;
}

// In the space or one around it, up to its model's.
static sap_status find_around(sap_mjcf_reader* r, int32_t space, const sap_lookup* names,
                              const char* name, int32_t* id) {
  for (;;) {
    const sap_status status = find_in_space(r, space, names, name, id);
    if (status != SAP_STATUS_OK || *id >= 0 || r->spaces[space].is_model) {
      return status;
    }
    space = r->spaces[space].parent;
  }
}

static int32_t model_space(const sap_mjcf_reader* r, int32_t space) {
  while (!r->spaces[space].is_model) {
    space = r->spaces[space].parent;
  }
  return space;
}

// Calls find for every name that the element holds.
typedef struct reference_names {
  const char* attribute[MAX_TENDON_JOINTS];
  const char* name[MAX_TENDON_JOINTS];
  int32_t count;
} reference_names;

static sap_status list_names(sap_mjcf_reader* r, const sap_xml_node* node, reference_names* out) {
  static const char* const attributes[] = {"body1", "body2", "joint", "jointinparent"};
  out->count = 0;
  for (int i = 0; i < 4; ++i) {
    const char* name = sap_xml_get(node, attributes[i]);
    if (name != NULL) {
      out->attribute[out->count] = attributes[i];
      out->name[out->count++] = name;
    }
  }
  for (const sap_xml_node* c = node->first_child; c != NULL; c = c->next) {
    const char* name = sap_xml_is(c, "joint") ? sap_xml_get(c, "joint") : NULL;
    if (name == NULL) {
      continue;
    }
    if (out->count == MAX_TENDON_JOINTS) {
      return sap_xml_fail(node, NULL, SAP_STATUS_UNSUPPORTED, r->error, "more than %d joints",
                          MAX_TENDON_JOINTS);
    }
    out->attribute[out->count] = "joint";
    out->name[out->count++] = name;
  }
  return SAP_STATUS_OK;
}

// How the element's names are found from one space.
typedef struct found_names {
  bool any_here;        // one of them lies in the space itself
  const char* missing;  // one that is nowhere, NULL: all are found
  int32_t ids[MAX_TENDON_JOINTS];
} found_names;

static sap_status find_names(sap_mjcf_reader* r, int32_t space, const reference_names* names,
                             found_names* out) {
  *out = (found_names){0};
  for (int32_t i = 0; i < names->count; ++i) {
    const sap_lookup* map = names_of(r, names->attribute[i]);
    int32_t here;
    sap_status status = find_in_space(r, space, map, names->name[i], &here);
    if (status == SAP_STATUS_OK) {
      status = find_around(r, space, map, names->name[i], &out->ids[i]);
    }
    if (status != SAP_STATUS_OK) {
      return status;
    }
    out->any_here = out->any_here || here >= 0;
    out->missing = out->ids[i] < 0 ? names->name[i] : out->missing;
  }
  return SAP_STATUS_OK;
}

static sap_status add_instance(sap_mjcf_reader* r, instances* all, const sap_xml_node* node,
                               int32_t space) {
  const sap_status status = SAP_GROW(&all->list, &all->capacity, all->count + 1, r->error);
  if (status == SAP_STATUS_OK) {
    all->list[all->count] = (instance){.node = node, .space = space, .order = all->count};
    ++all->count;
  }
  return status;
}

// Which spaces of the model at `space` the element exists in. `marks`: scratch, one per space.
static sap_status add_instances(sap_mjcf_reader* r, instances* all, const sap_xml_node* node,
                                int32_t space, char* marks) {
  enum { HERE = 1, INNER = 2 };
  reference_names names;
  sap_status status = list_names(r, node, &names);
  if (status != SAP_STATUS_OK) {
    return status;
  }
  if (names.count == 0) {
    return add_instance(r, all, node, space);
  }
  memset(marks, 0, (size_t)r->space_count);
  found_names found = {0};
  const char* missing = NULL;
  for (int32_t i = space; i < r->space_count; ++i) {
    if (model_space(r, i) != space) {
      continue;
    }
    status = find_names(r, i, &names, &found);
    if (status != SAP_STATUS_OK) {
      return status;
    }
    missing = missing == NULL || i == space ? found.missing : missing;
    if (found.any_here) {
      marks[i] |= HERE;
      for (int32_t p = i; p != space;) {
        p = r->spaces[p].parent;
        marks[p] |= INNER;
      }
    }
  }
  bool any = false;
  for (int32_t i = space; i < r->space_count && status == SAP_STATUS_OK; ++i) {
    if (marks[i] == HERE) {
      status = find_names(r, i, &names, &found);
      if (status == SAP_STATUS_OK && found.missing == NULL) {
        any = true;
        status = add_instance(r, all, node, i);
      } else if (status == SAP_STATUS_OK) {
        missing = found.missing;
      }
    }
  }
  if (status == SAP_STATUS_OK && !any && space == 0) {
    return sap_xml_fail(node, NULL, SAP_STATUS_SYNTAX, r->error, "there is no '%.100s'",
                        missing != NULL ? missing : names.name[0]);
  }
  return status;
}

// All of the elements in one section of every model, space by space.
static sap_status list_section(sap_mjcf_reader* r, const char* section, const char* elements,
                               instances* all) {
  char* marks = sap_allocate((size_t)r->space_count, 1);
  sap_status status =
      marks != NULL ? SAP_STATUS_OK : sap_fail(r->error, SAP_STATUS_MEMORY, "out of memory");
  for (int32_t i = 0; i < r->space_count && status == SAP_STATUS_OK; ++i) {
    if (!r->spaces[i].is_model) {
      continue;
    }
    const sap_xml_node* s = r->spaces[i].model->root->first_child;
    for (; s && status == SAP_STATUS_OK; s = s->next) {
      const sap_xml_node* n = sap_xml_is(s, section) ? s->first_child : NULL;
      for (; n && status == SAP_STATUS_OK; n = n->next) {
        const bool wanted = elements == NULL || sap_word_index(elements, n->name) >= 0;
        status = wanted ? add_instances(r, all, n, i, marks) : SAP_STATUS_OK;
      }
    }
  }
  sap_free(marks);
  return status;
}

// Stable order by space: as they were made, but a copy's together. Insertion from the right place
// keeps the common case, already in order, linear.
static void sort_by_space(instances* all) {
  for (int32_t i = 1; i < all->count; ++i) {
    const instance moved = all->list[i];
    int32_t low = 0, high = i;
    while (low < high) {
      const int32_t middle = low + (high - low) / 2;
      if (all->list[middle].space <= moved.space) {
        low = middle + 1;
      } else {
        high = middle;
      }
    }
    memmove(all->list + low + 1, all->list + low, (size_t)(i - low) * sizeof *all->list);
    all->list[low] = moved;
  }
}

static sap_status resolve(sap_mjcf_reader* r, const instance* i, found_names* found) {
  reference_names names;
  const sap_status status = list_names(r, i->node, &names);
  return status == SAP_STATUS_OK ? find_names(r, i->space, &names, found) : status;
}

static sap_status prefix_builder(sap_mjcf_reader* r, const sap_xml_node* node, sap_status status) {
  if (status != SAP_STATUS_OK) {
    sap_error_prefix(r->error, "%.200s:%d: <%.40s>", node->file, (int)node->line, node->name);
  }
  return status;
}

static sap_status add_exclude(sap_mjcf_reader* r, const instance* i) {
  if (sap_xml_get(i->node, "body1") == NULL || sap_xml_get(i->node, "body2") == NULL) {
    return sap_xml_fail(i->node, NULL, SAP_STATUS_SYNTAX, r->error, "must name body1 and body2");
  }
  found_names found;
  const sap_status status = resolve(r, i, &found);
  return status == SAP_STATUS_OK
             ? prefix_builder(r, i->node,
                              sap_builder_exclude(r->builder, found.ids[0], found.ids[1], r->error))
             : status;
}

static sap_status tendon_limits(sap_mjcf_reader* r, const instance* i, sap_tendon_def* def) {
  const sap_mjcf_scope scope = {.model = r->spaces[i->space].model, .child_class = -1};
  sap_mjcf_sources s;
  sap_mjcf_range range = {"range", "limited", 1.0, -INFINITY, INFINITY};
  sap_status status = sap_mjcf_find_sources(r, i->node, "tendon", &scope, &s);
  if (status == SAP_STATUS_OK) {
    status = sap_mjcf_read_range(r, &s, &scope, &range);
  }
  def->lower = range.lower;
  def->upper = range.upper;
  if (status == SAP_STATUS_OK) {
    status = sap_mjcf_read_limit_material(r, &s, &scope, &def->limit_stiffness,
                                          &def->limit_relaxation_time);
  }
  return status == SAP_STATUS_OK
             ? sap_mjcf_full_name(r, i->space, sap_xml_get(i->node, "name"), &def->name)
             : status;
}

static sap_status add_tendon(sap_mjcf_reader* r, const instance* i) {
  found_names found;
  double coefficients[MAX_TENDON_JOINTS];
  sap_tendon_def def = sap_tendon_def_default();
  sap_status status = resolve(r, i, &found);
  for (const sap_xml_node* c = i->node->first_child; c && status == SAP_STATUS_OK; c = c->next) {
    if (sap_xml_get(c, "joint") == NULL) {
      return sap_xml_fail(c, NULL, SAP_STATUS_SYNTAX, r->error, "attribute 'joint' is missing");
    }
    status = sap_xml_numbers(c, "coef", 1, 1, &coefficients[def.njoints++], NULL, r->error);
  }
  if (status == SAP_STATUS_OK) {
    status = tendon_limits(r, i, &def);
  }
  if (status != SAP_STATUS_OK) {
    return status;
  }
  def.joints = found.ids;
  def.coefficients = coefficients;
  return prefix_builder(r, i->node, sap_builder_add_tendon(r->builder, &def, NULL, r->error));
}

static sap_status read_motor(sap_mjcf_reader* r, const instance* i, sap_actuator_def* def) {
  const sap_mjcf_scope scope = {.model = r->spaces[i->space].model, .child_class = -1};
  sap_mjcf_sources s;
  double gear[6] = {1.0, 0.0, 0.0, 0.0, 0.0, 0.0};
  sap_mjcf_range control = {"ctrlrange", "ctrllimited", 1.0, -INFINITY, INFINITY};
  sap_mjcf_range force = {"forcerange", "forcelimited", 1.0, -INFINITY, INFINITY};
  sap_status status = sap_mjcf_find_sources(r, i->node, "motor", &scope, &s);
  if (status == SAP_STATUS_OK) {
    status = sap_mjcf_numbers(r, &s, "gear", (const int32_t[]){1, 6}, gear, NULL);
  }
  if (status == SAP_STATUS_OK) {
    status = sap_mjcf_read_range(r, &s, &scope, &control);
  }
  if (status == SAP_STATUS_OK) {
    status = sap_mjcf_read_range(r, &s, &scope, &force);
  }
  // MuJoCo limits the force before the gear, the model behind it.
  const double a = force.lower * gear[0], b = force.upper * gear[0];
  if (isfinite(force.lower)) {
    def->force_lower = fmin(a, b);
    def->force_upper = fmax(a, b);
  }
  def->gear = gear[0];
  def->control_lower = control.lower;
  def->control_upper = control.upper;
  return status;
}

// The joint's actuatorfrcrange bounds the sum of its motors.
static sap_status apply_joint_range(sap_mjcf_reader* r, const sap_xml_node* node,
                                    sap_mjcf_joint* joint, sap_actuator_def* def) {
  const bool bounded = isfinite(joint->force_lower) || isfinite(joint->force_upper);
  if (bounded && joint->motors++ > 0) {
    return sap_scene_unsupported(r->options, node, NULL,
                                 "a second motor on a joint with actuatorfrcrange is not supported",
                                 r->error);
  }
  def->force_lower = fmin(fmax(def->force_lower, joint->force_lower), joint->force_upper);
  def->force_upper = fmax(fmin(def->force_upper, joint->force_upper), joint->force_lower);
  return SAP_STATUS_OK;
}

static sap_status add_motor(sap_mjcf_reader* r, const instance* i, int32_t* id) {
  found_names found;
  sap_actuator_def def = sap_actuator_def_default();
  sap_status status = resolve(r, i, &found);
  if (status != SAP_STATUS_OK) {
    return status;
  }
  def.joint = found.ids[0];
  sap_mjcf_joint* joint = &r->joints[def.joint];
  if (joint->type == SAP_JOINT_FREE || joint->type == SAP_JOINT_BALL) {
    return sap_scene_unsupported(r->options, i->node, NULL,
                                 "motors on free and ball joints are not supported", r->error);
  }
  status = read_motor(r, i, &def);
  if (status == SAP_STATUS_OK) {
    status = apply_joint_range(r, i->node, joint, &def);
  }
  if (status == SAP_STATUS_OK) {
    status = sap_mjcf_full_name(r, i->space, sap_xml_get(i->node, "name"), &def.name);
  }
  return status == SAP_STATUS_OK
             ? prefix_builder(r, i->node, sap_builder_add_actuator(r->builder, &def, id, r->error))
             : status;
}

static sap_status add_actuator(sap_mjcf_reader* r, const instance* i) {
  int32_t id = -1;
  sap_status status = SAP_GROW(&r->controls, &r->control_capacity, r->control_count + 1, r->error);
  if (status != SAP_STATUS_OK) {
    return status;
  }
  const bool on_joint =
      sap_xml_get(i->node, "joint") != NULL || sap_xml_get(i->node, "jointinparent") != NULL;
  if (sap_xml_is(i->node, "motor") && on_joint) {
    status = add_motor(r, i, &id);
  } else {
    status = sap_scene_unsupported(r->options, i->node, NULL,
                                   "only motors on joints are supported as actuators", r->error);
  }
  r->controls[r->control_count++] =
      (sap_mjcf_control){.node = i->node, .space = i->space, .id = id};
  return status;
}

static sap_status add_section(sap_mjcf_reader* r, const char* section, const char* elements,
                              sap_status (*add)(sap_mjcf_reader*, const instance*)) {
  instances all = {0};
  sap_status status = list_section(r, section, elements, &all);
  if (status == SAP_STATUS_OK) {
    sort_by_space(&all);
  }
  for (int32_t i = 0; i < all.count && status == SAP_STATUS_OK; ++i) {
    status = add(r, &all.list[i]);
  }
  sap_free(all.list);
  return status;
}

static sap_status check_equality(sap_mjcf_reader* r, const sap_mjcf_model* model,
                                 const sap_xml_node* node) {
  const sap_mjcf_scope scope = {.model = model, .child_class = -1};
  sap_mjcf_sources s;
  int32_t active = 1;
  sap_status status = sap_mjcf_find_sources(r, node, "equality", &scope, &s);
  if (status == SAP_STATUS_OK) {
    status = sap_mjcf_choice(r, &s, "active", "false true", &active);
  }
  return status == SAP_STATUS_OK && active == 1
             ? sap_scene_unsupported(r->options, node, NULL,
                                     "equality constraints are not supported", r->error)
             : status;
}

static sap_status check_equalities(sap_mjcf_reader* r, const sap_mjcf_model* model) {
  sap_status status = SAP_STATUS_OK;
  for (const sap_xml_node* s = model->root->first_child; s && status == SAP_STATUS_OK;
       s = s->next) {
    const sap_xml_node* n = sap_xml_is(s, "equality") ? s->first_child : NULL;
    for (; n && status == SAP_STATUS_OK; n = n->next) {
      status = check_equality(r, model, n);
    }
  }
  for (const sap_mjcf_model* m = model->assets; m && status == SAP_STATUS_OK; m = m->next) {
    status = check_equalities(r, m);
  }
  return status;
}

sap_status sap_mjcf_read_references(sap_mjcf_reader* r) {
  sap_status status = check_equalities(r, r->main);
  if (status == SAP_STATUS_OK) {
    status = add_section(r, "contact", "exclude", add_exclude);
  }
  if (status == SAP_STATUS_OK) {
    status = add_section(r, "tendon", "fixed", add_tendon);
  }
  if (status == SAP_STATUS_OK) {
    status = add_section(r, "actuator", NULL, add_actuator);
  }
  return status;
}
