// SPDX-License-Identifier: BSD-3-Clause
#include "scene/mjcf_instance.h"

#include <string.h>

#include "core/memory.h"
#include "scene/number.h"

// One existence of an element, in a space.
typedef struct instance {
  const sap_xml_node* node;
  int32_t space;
} instance;

typedef struct instances {
  instance* list;
  int32_t count, capacity;
} instances;

static const sap_lookup* names_of(const sap_mjcf_reader* r, const char* attribute) {
  const struct {
    const char* start;
    const sap_lookup* names;
  } kinds[] = {{"body", &r->body_names},     {"joint", &r->joint_names},
               {"tendon", &r->tendon_names}, {"site", &r->site_names},
               {"geom", &r->geom_names},     {"obstacle", &r->obstacle_names}};
  size_t i = 0;
  while (strncmp(attribute, kinds[i].start, strlen(kinds[i].start)) != 0) {
    ++i;  // every attribute of list_names begins with one of them
  }
  return kinds[i].names;
}

// Where an element stands, as far as it is known: else `space`.
static int32_t space_of(const sap_mjcf_reader* r, const sap_lookup* names, int32_t id,
                        int32_t space) {
  if (names == &r->joint_names) {
    return r->joints[id].space;
  }
  if (names == &r->site_names) {
    return r->sites[id].space;
  }
  if (names == &r->obstacle_names) {
    return r->obstacles[id].space;
  }
  return names == &r->body_names && id > 0 ? r->places[id].space : space;
}

static bool is_around(const sap_mjcf_reader* r, int32_t outer, int32_t inner) {
  while (inner >= 0 && inner != outer) {
    inner = r->spaces[inner].parent;
  }
  return inner == outer;
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
  if (*id >= 0 && !is_around(r, space, space_of(r, names, *id, space))) {
    *id = -1;  // copies of two replicates may have the same suffix
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
    if (status != SAP_STATUS_OK || *id != -1 || r->spaces[space].is_model) {
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
  const char* attribute[SAP_MJCF_MAX_NAMES];
  const char* name[SAP_MJCF_MAX_NAMES];
  int32_t count;
} reference_names;

static sap_status list_names(sap_mjcf_reader* r, const sap_xml_node* node, reference_names* out) {
  static const char* const attributes[] = {"body1",  "body2",  "joint",   "jointinparent", "joint1",
                                           "joint2", "tendon", "tendon1", "tendon2",       "site1",
                                           "site2",  "geom1",  "geom2"};
  static const char* const sites[] = {"cranksite", "slidersite", "site", "refsite"};
  out->count = 0;
  for (size_t i = 0; i < sizeof attributes / sizeof *attributes; ++i) {
    const char* name = sap_xml_get(node, attributes[i]);
    if (name != NULL) {
      out->attribute[out->count] = attributes[i];
      out->name[out->count++] = name;
    }
  }
  for (size_t i = 0; i < sizeof sites / sizeof *sites; ++i) {
    const char* name = sap_xml_get(node, sites[i]);
    if (name != NULL) {
      out->attribute[out->count] = "site";
      out->name[out->count++] = name;
    }
  }
  // What tendons go through and round.
  static const struct {
    const char *element, *attribute, *kind;
  } inside[] = {{"site", "site", "site"},
                {"joint", "joint", "joint"},
                {"geom", "geom", "obstacle"},
                {"geom", "sidesite", "site"}};
  for (const sap_xml_node* c = node->first_child; c != NULL; c = c->next) {
    for (size_t i = 0; i < sizeof inside / sizeof *inside; ++i) {
      const char* name =
          sap_xml_is(c, inside[i].element) ? sap_xml_get(c, inside[i].attribute) : NULL;
      if (name == NULL) {
        continue;
      }
      if (out->count == SAP_MJCF_MAX_NAMES) {
        return sap_xml_fail(node, NULL, SAP_STATUS_UNSUPPORTED, r->error, "more than %d names",
                            SAP_MJCF_MAX_NAMES);
      }
      out->attribute[out->count] = inside[i].kind;
      out->name[out->count++] = name;
    }
  }
  return SAP_STATUS_OK;
}

// How the element's names are found from one space.
typedef struct found_names {
  bool any_here;        // one of them lies in the space itself
  const char* missing;  // one that is nowhere, NULL: all are found
  int32_t ids[SAP_MJCF_MAX_NAMES];
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
    out->any_here = out->any_here || here != -1;
    out->missing = out->ids[i] == -1 ? names->name[i] : out->missing;
  }
  return SAP_STATUS_OK;
}

static sap_status add_instance(sap_mjcf_reader* r, instances* all, const sap_xml_node* node,
                               int32_t space) {
  const sap_status status = SAP_GROW(&all->list, &all->capacity, all->count + 1, r->error);
  if (status == SAP_STATUS_OK) {
    all->list[all->count] = (instance){.node = node, .space = space};
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

static sap_status add_one(sap_mjcf_reader* r, const instance* i, sap_mjcf_adder add) {
  reference_names names;
  found_names found = {0};
  sap_mjcf_instance out = {.node = i->node, .space = i->space};
  sap_status status = list_names(r, i->node, &names);
  if (status == SAP_STATUS_OK) {
    status = find_names(r, i->space, &names, &found);
  }
  out.count = status == SAP_STATUS_OK ? names.count : 0;
  memcpy(out.ids, found.ids, sizeof out.ids);
  return status == SAP_STATUS_OK ? add(r, &out) : status;
}

sap_status sap_mjcf_add_section(sap_mjcf_reader* r, const char* section, const char* elements,
                                sap_mjcf_adder add) {
  instances all = {0};
  sap_status status = list_section(r, section, elements, &all);
  if (status == SAP_STATUS_OK) {
    sort_by_space(&all);
  }
  for (int32_t i = 0; i < all.count && status == SAP_STATUS_OK; ++i) {
    status = add_one(r, &all.list[i], add);
  }
  sap_free(all.list);
  return status;
}
