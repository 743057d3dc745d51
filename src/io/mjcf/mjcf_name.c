// SPDX-License-Identifier: BSD-3-Clause
// Names of MJCF elements: the space in which each is looked up, and prefixes of attached models.
#include "io/mjcf/mjcf_attribute.h"

#include <stdlib.h>
#include <string.h>

// The names that an element holds.
typedef struct name_list {
  const char* attribute[SAP_MJCF_MAX_NAMES];
  const char* name[SAP_MJCF_MAX_NAMES];
  int32_t count;
} name_list;

// The elements of a name list in a space, or in a space around it up to its model's.
typedef struct found_names {
  bool any_here;        // one of them lies in the space itself
  const char* missing;  // one that is not found, NULL: all are found
  int32_t ids[SAP_MJCF_MAX_NAMES];
} found_names;

// An element in a space.
typedef struct instance {
  const sap_xml_node* node;
  int32_t space, order;  // order: in which it was found
} instance;

typedef struct instance_list {
  instance* list;
  int32_t count;
} instance_list;

// --- names in a space ---------------------------------------------------------------------------

static const sap_name_map* names_of(const sap_mjcf_reader* r, const char* attribute) {
  const struct {
    const char* start;
    const sap_name_map* names;
  } kinds[] = {{"body", &r->body_names},        {"joint", &r->joint_names},
               {"tendon", &r->tendon_names},    {"site", &r->site_names},
               {"geom", &r->geom_names},        {"obstacle", &r->obstacle_names},
               {"actuator", &r->actuator_names}};
  size_t i = 0;
  while (strncmp(attribute, kinds[i].start, strlen(kinds[i].start)) != 0) {
    ++i;  // every attribute of list_names begins with one of them
  }
  return kinds[i].names;
}

// Returns the space of the element with that full name.
static int32_t space_of(const sap_mjcf_reader* r, const sap_name_map* names, const char* full,
                        int32_t id) {
  if (names == &r->joint_names) {
    return r->joints[id].space;
  }
  if (names == &r->site_names) {
    return r->sites[id].space;
  }
  if (names == &r->tendon_names) {
    return r->tendons[id].space;
  }
  if (names == &r->actuator_names) {
    return r->controls[id].space;
  }
  if (names == &r->body_names) {
    return id > 0 ? r->places[id].space : 0;
  }
  return r->obstacles[sap_name_map_find(&r->obstacle_names, full)].space;  // has all named geoms
}

static bool is_around(const sap_mjcf_reader* r, int32_t outer, int32_t inner) {
  while (inner >= 0 && inner != outer) {
    inner = r->spaces[inner].parent;
  }
  return inner == outer;
}

// Finds the element that is called `name` in the file in exactly this space; -1 without one.
static sap_status find_in_space(sap_mjcf_reader* r, int32_t space, const sap_name_map* names,
                                const char* name, int32_t* id) {
  const char* full;
  *id = -1;
  if (name[0] == '\0') {
    return SAP_STATUS_OK;
  }
  SAP_TRY(sap_mjcf_full_name(r, space, name, &full));
  *id = sap_name_map_find(names, full);
  // Copies of two replicates may have the same suffix, and a name outside may end with it.
  if (*id != -1 && !is_around(r, space, space_of(r, names, full, *id))) {
    *id = -1;
  }
  if (*id < 0 && names == &r->body_names && strcmp(name, "world") == 0) {
    *id = 0;  // the world has no prefix
  }
  return SAP_STATUS_OK;
}

static sap_status find_around(sap_mjcf_reader* r, int32_t space, const sap_name_map* names,
                              const char* name, int32_t* id) {
  for (;;) {
    SAP_TRY(find_in_space(r, space, names, name, id));
    if (*id != -1 || r->spaces[space].is_model) {
      return SAP_STATUS_OK;
    }
    space = r->spaces[space].parent;
  }
}

static void add_name(name_list* out, const char* kind, const char* name) {
  if (name != NULL && kind != NULL) {
    out->attribute[out->count] = kind;
    out->name[out->count++] = name;
  }
}

// UNSUPPORTED: too many.
static sap_status list_names(sap_mjcf_reader* r, const sap_xml_node* node, name_list* out) {
  static const char* const attributes[] = {"body",   "body1",  "body2",  "joint",   "jointinparent",
                                           "joint1", "joint2", "tendon", "tendon1", "tendon2",
                                           "site1",  "site2",  "geom1",  "geom2",   "actuator"};
  static const char* const sites[] = {"cranksite", "slidersite", "site", "refsite"};
  // Elements of a tendon's path.
  static const struct {
    const char *element, *attribute, *kind;
  } inside[] = {{"site", "site", "site"},
                {"joint", "joint", "joint"},
                {"geom", "geom", "obstacle"},
                {"geom", "sidesite", "site"}};
  out->count = 0;
  for (size_t i = 0; i < sizeof attributes / sizeof *attributes; ++i) {
    add_name(out, attributes[i], sap_xml_get(node, attributes[i]));
  }
  for (size_t i = 0; i < sizeof sites / sizeof *sites; ++i) {
    add_name(out, "site", sap_xml_get(node, sites[i]));
  }
  add_name(out, sap_mjcf_sensed_kind(node, "objtype"), sap_xml_get(node, "objname"));
  add_name(out, sap_mjcf_sensed_kind(node, "reftype"), sap_xml_get(node, "refname"));
  for (const sap_xml_node* c = node->first_child; c != NULL; c = c->next) {
    for (size_t i = 0; i < sizeof inside / sizeof *inside; ++i) {
      const bool is = sap_xml_is(c, inside[i].element);
      const char* name = is ? sap_xml_get(c, inside[i].attribute) : NULL;
      SAP_RETURN_IF(name != NULL && out->count == SAP_MJCF_MAX_NAMES,
                    sap_xml_fail(node, NULL, SAP_STATUS_UNSUPPORTED, r->error, "more than %d names",
                                 SAP_MJCF_MAX_NAMES));
      add_name(out, inside[i].kind, name);
    }
  }
  return SAP_STATUS_OK;
}

static sap_status find_names(sap_mjcf_reader* r, int32_t space, const name_list* names,
                             found_names* out) {
  *out = (found_names){0};
  for (int32_t i = 0; i < names->count; ++i) {
    const sap_name_map* map = names_of(r, names->attribute[i]);
    int32_t here;
    SAP_TRY(find_in_space(r, space, map, names->name[i], &here));
    SAP_TRY(find_around(r, space, map, names->name[i], &out->ids[i]));
    out->any_here = out->any_here || here != -1;
    out->missing = out->ids[i] == -1 ? names->name[i] : out->missing;
  }
  return SAP_STATUS_OK;
}

// --- instances ----------------------------------------------------------------------------------

int32_t sap_mjcf_model_space(const sap_mjcf_reader* r, int32_t space) {
  while (!r->spaces[space].is_model) {
    space = r->spaces[space].parent;
  }
  return space;
}

static sap_status add_instance(sap_mjcf_reader* r, instance_list* all, const sap_xml_node* node,
                               int32_t space) {
  SAP_TRY(SAP_ROOM(&r->pool, &all->list, all->count + 1, r->error));
  all->list[all->count] = (instance){.node = node, .space = space, .order = all->count};
  ++all->count;
  return SAP_STATUS_OK;
}

// Adds the element for every space of the model at `space` in which it exists. marks: scratch, one
// per space.
static sap_status add_instances(sap_mjcf_reader* r, instance_list* all, const sap_xml_node* node,
                                int32_t space, char* marks) {
  enum { HERE = 1, INNER = 2 };
  name_list names;
  found_names found = {0};
  const char* missing = NULL;
  bool any = false;
  SAP_TRY(list_names(r, node, &names));
  if (names.count == 0) {
    return add_instance(r, all, node, space);
  }
  memset(marks, 0, (size_t)r->space_count);
  for (int32_t i = space; i < r->space_count; ++i) {
    if (sap_mjcf_model_space(r, i) != space) {
      continue;
    }
    SAP_TRY(find_names(r, i, &names, &found));
    missing = missing == NULL || i == space ? found.missing : missing;
    if (found.any_here) {
      marks[i] |= HERE;
      for (int32_t p = i; p != space;) {
        p = r->spaces[p].parent;
        marks[p] |= INNER;
      }
    }
  }
  for (int32_t i = space; i < r->space_count; ++i) {
    if (marks[i] != HERE) {
      continue;
    }
    SAP_TRY(find_names(r, i, &names, &found));
    if (found.missing == NULL) {
      any = true;
      SAP_TRY(add_instance(r, all, node, i));
    } else {
      missing = found.missing;
    }
  }
  return any || space != 0 ? SAP_STATUS_OK
                           : sap_xml_syntax(node, NULL, r->error, "unknown name '%.100s'",
                                            missing != NULL ? missing : names.name[0]);
}

// Adds the elements in one section of every model.
static sap_status add_elements(sap_mjcf_reader* r, const char* section, const char* elements,
                               char* marks, instance_list* all) {
  for (int32_t i = 0; i < r->space_count; ++i) {
    const sap_xml_node* root = r->spaces[i].model->root;
    const sap_xml_node* n = r->spaces[i].is_model ? sap_xml_next(root, section, NULL) : NULL;
    for (; n != NULL; n = sap_xml_next(root, section, n)) {
      if (elements == NULL || sap_word_index(elements, n->name) >= 0) {
        SAP_TRY(add_instances(r, all, n, i, marks));
      }
    }
  }
  return SAP_STATUS_OK;
}

static int compare_instances(const void* a, const void* b) {
  const instance *p = a, *q = b;
  return p->space != q->space ? (p->space > q->space) - (p->space < q->space)
                              : (p->order > q->order) - (p->order < q->order);
}

static sap_status call_adder(sap_mjcf_reader* r, const instance* i, sap_mjcf_adder add) {
  name_list names;
  found_names found;
  SAP_TRY(list_names(r, i->node, &names));
  SAP_TRY(find_names(r, i->space, &names, &found));
  sap_mjcf_instance out = {.node = i->node, .space = i->space};
  memcpy(out.ids, found.ids, sizeof out.ids);
  return add(r, &out);
}

sap_status sap_mjcf_add_section(sap_mjcf_reader* r, const char* section, const char* elements,
                                sap_mjcf_adder add) {
  instance_list all = {0};
  char* marks;
  SAP_TRY(SAP_POOL_ADD(&r->pool, &marks, r->space_count, r->error));
  SAP_TRY(add_elements(r, section, elements, marks, &all));
  if (all.count > 1) {
    qsort(all.list, (size_t)all.count, sizeof *all.list, compare_instances);
  }
  for (int32_t i = 0; i < all.count; ++i) {
    SAP_TRY(call_adder(r, &all.list[i], add));
  }
  return SAP_STATUS_OK;
}

sap_status sap_mjcf_instance_sources(sap_mjcf_reader* r, const sap_mjcf_instance* i,
                                     const char* kind, sap_mjcf_sources* out) {
  const sap_mjcf_scope scope = {.model = r->spaces[i->space].model, .child_class = -1};
  return sap_mjcf_find_sources(r, i->node, kind, &scope, out);
}
