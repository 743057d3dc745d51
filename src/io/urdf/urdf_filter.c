// SPDX-License-Identifier: BSD-3-Clause
// Drake's <drake:collision_filter_group>: no contact between the links of two groups of which one
// ignores the other, or within a group that ignores itself. Groups may hold groups.
#include <string.h>

#include "core/memory.h"
#include "io/urdf/urdf.h"

typedef struct groups {
  sap_urdf_reader* r;
  sap_name_map names;
  const sap_xml_node** nodes;
  int32_t count, capacity;
  bool* members;  // links of each group                                      (count links)
} groups;

static bool is_ignored(const sap_xml_node* node) {
  const char* ignore = sap_xml_get(node, "ignore");
  return ignore != NULL && (strcmp(ignore, "true") == 0 || strcmp(ignore, "1") == 0);
}

static sap_status collect(groups* g, const sap_xml_node* robot) {
  sap_status status = SAP_STATUS_OK;
  for (const sap_xml_node* n = robot->first_child; n && status == SAP_STATUS_OK; n = n->next) {
    if (!sap_xml_is(n, "drake:collision_filter_group") || is_ignored(n)) {
      continue;
    }
    const char* name = sap_xml_get(n, "name");
    bool added = false;
    if (name == NULL || name[0] == '\0') {
      return sap_xml_fail(n, NULL, SAP_STATUS_SYNTAX, g->r->error, "has no name");
    }
    status = sap_name_map_add(&g->names, name, g->count, &added, g->r->error);
    if (status == SAP_STATUS_OK && !added) {
      return sap_xml_fail(n, "name", SAP_STATUS_SYNTAX, g->r->error, "a second group of that name");
    }
    if (status == SAP_STATUS_OK) {
      status = SAP_GROW(&g->nodes, &g->capacity, g->count + 1, g->r->error);
    }
    if (status == SAP_STATUS_OK) {
      g->nodes[g->count++] = n;
    }
  }
  return status;
}

// The group that `node` names.
static sap_status find_group(const groups* g, const sap_xml_node* node, int32_t* id) {
  return sap_urdf_find(g->r, &g->names, node, "name", "group", id);
}

// Adds the members that group `id` names to it; *grew when there were any new ones.
static sap_status add_members(const groups* g, int32_t id, bool* grew) {
  const int32_t links = g->r->link_count;
  bool* own = g->members + (size_t)id * (size_t)links;
  for (const sap_xml_node* n = g->nodes[id]->first_child; n != NULL; n = n->next) {
    if (sap_xml_is(n, "drake:member")) {
      int32_t link = -1;
      const sap_status status = sap_urdf_find(g->r, &g->r->link_names, n, "link", "link", &link);
      if (status != SAP_STATUS_OK) {
        return status;
      }
      *grew = *grew || !own[link];
      own[link] = true;
    } else if (sap_xml_is(n, "drake:member_group")) {
      int32_t other = -1;
      const sap_status status = find_group(g, n, &other);
      if (status != SAP_STATUS_OK) {
        return status;
      }
      for (int32_t l = 0; l < links; ++l) {
        const bool theirs = g->members[(size_t)other * (size_t)links + (size_t)l];
        *grew = *grew || (theirs && !own[l]);
        own[l] = own[l] || theirs;
      }
    }
  }
  return SAP_STATUS_OK;
}

static sap_status exclude(const groups* g, int32_t a, int32_t b) {
  const int32_t links = g->r->link_count;
  const bool *in_a = g->members + (size_t)a * (size_t)links,
             *in_b = g->members + (size_t)b * (size_t)links;
  sap_status status = SAP_STATUS_OK;
  for (int32_t i = 0; i < links && status == SAP_STATUS_OK; ++i) {
    for (int32_t k = 0; k < links && in_a[i] && status == SAP_STATUS_OK; ++k) {
      // Each pair once: of a group with itself, or where both links are in both groups.
      const bool again = in_a[k] && in_b[i] && k < i;
      if (in_b[k] && i != k && !again) {
        status = sap_builder_exclude(g->r->builder, g->r->links[i].body, g->r->links[k].body,
                                     g->r->error);
      }
    }
  }
  return status;
}

static sap_status exclude_all(const groups* g) {
  sap_status status = SAP_STATUS_OK;
  for (int32_t i = 0; i < g->count && status == SAP_STATUS_OK; ++i) {
    for (const sap_xml_node* n = g->nodes[i]->first_child; n && status == SAP_STATUS_OK;
         n = n->next) {
      int32_t other = -1;
      if (sap_xml_is(n, "drake:ignored_collision_filter_group")) {
        status = find_group(g, n, &other);
        status = status == SAP_STATUS_OK ? exclude(g, i, other) : status;
      }
    }
  }
  return status;
}

sap_status sap_urdf_add_filters(sap_urdf_reader* r, const sap_xml_node* robot) {
  groups g = {.r = r};
  sap_status status = collect(&g, robot);
  if (status == SAP_STATUS_OK && g.count > 0) {
    g.members = sap_allocate((size_t)g.count * (size_t)r->link_count, sizeof *g.members);
    status = g.members != NULL ? SAP_STATUS_OK
                               : sap_fail(r->error, SAP_STATUS_MEMORY, "out of memory: groups");
  }
  // Groups of groups, in whatever order: until none grows any more.
  for (bool grew = true; grew && status == SAP_STATUS_OK;) {
    grew = false;
    for (int32_t i = 0; i < g.count && status == SAP_STATUS_OK; ++i) {
      status = add_members(&g, i, &grew);
    }
  }
  if (status == SAP_STATUS_OK) {
    status = exclude_all(&g);
  }
  sap_free(g.members);
  sap_free(g.nodes);
  sap_name_map_clear(&g.names);
  return status;
}
