// SPDX-License-Identifier: BSD-3-Clause
#include "io/mjcf/mjcf_instance.h"

#include <string.h>

#include "core/memory.h"
#include "io/xml/number.h"

// One existence of an element, in a space.
typedef struct instance {
  const sap_xml_node* node;
  int32_t space;
} instance;

typedef struct instances {
  instance* list;
  int32_t count, capacity;
} instances;

static int32_t model_space(const sap_mjcf_reader* r, int32_t space) {
  while (!r->spaces[space].is_model) {
    space = r->spaces[space].parent;
  }
  return space;
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
  sap_mjcf_names names;
  sap_status status = sap_mjcf_list_names(r, node, &names);
  if (status != SAP_STATUS_OK) {
    return status;
  }
  if (names.count == 0) {
    return add_instance(r, all, node, space);
  }
  memset(marks, 0, (size_t)r->space_count);
  sap_mjcf_found found = {0};
  const char* missing = NULL;
  for (int32_t i = space; i < r->space_count; ++i) {
    if (model_space(r, i) != space) {
      continue;
    }
    status = sap_mjcf_find_names(r, i, &names, &found);
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
      status = sap_mjcf_find_names(r, i, &names, &found);
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
  sap_mjcf_names names;
  sap_mjcf_found found = {0};
  sap_mjcf_instance out = {.node = i->node, .space = i->space};
  sap_status status = sap_mjcf_list_names(r, i->node, &names);
  if (status == SAP_STATUS_OK) {
    status = sap_mjcf_find_names(r, i->space, &names, &found);
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
