// SPDX-License-Identifier: BSD-3-Clause
#include "io/mjcf/mjcf_name.h"

#include <string.h>

static const sap_name_map* names_of(const sap_mjcf_reader* r, const char* attribute) {
  const struct {
    const char* start;
    const sap_name_map* names;
  } kinds[] = {{"body", &r->body_names},     {"joint", &r->joint_names},
               {"tendon", &r->tendon_names}, {"site", &r->site_names},
               {"geom", &r->geom_names},     {"obstacle", &r->obstacle_names}};
  size_t i = 0;
  while (strncmp(attribute, kinds[i].start, strlen(kinds[i].start)) != 0) {
    ++i;  // every attribute of sap_mjcf_list_names begins with one of them
  }
  return kinds[i].names;
}

// Where the element of that full name stands.
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

// Id of the element that is called `name` in the file, in exactly this space; -1.
static sap_status find_in_space(sap_mjcf_reader* r, int32_t space, const sap_name_map* names,
                                const char* name, int32_t* id) {
  const char* full = NULL;
  *id = -1;
  if (name[0] == '\0') {
    return SAP_STATUS_OK;
  }
  const sap_status status = sap_mjcf_full_name(r, space, name, &full);
  if (status == SAP_STATUS_OK) {
    *id = sap_name_map_find(names, full);
  }
  // Copies of two replicates may have the same suffix, and what is outside a name that ends so.
  if (*id != -1 && !is_around(r, space, space_of(r, names, full, *id))) {
    *id = -1;
  }
  if (*id < 0 && names == &r->body_names && strcmp(name, "world") == 0) {
    *id = 0;  // the world has no prefix
  }
  return status;
}

// In the space or one around it, up to its model's.
static sap_status find_around(sap_mjcf_reader* r, int32_t space, const sap_name_map* names,
                              const char* name, int32_t* id) {
  for (;;) {
    const sap_status status = find_in_space(r, space, names, name, id);
    if (status != SAP_STATUS_OK || *id != -1 || r->spaces[space].is_model) {
      return status;
    }
    space = r->spaces[space].parent;
  }
}

sap_status sap_mjcf_list_names(sap_mjcf_reader* r, const sap_xml_node* node, sap_mjcf_names* out) {
  static const char* const attributes[] = {"body",   "body1",  "body2",  "joint",   "jointinparent",
                                           "joint1", "joint2", "tendon", "tendon1", "tendon2",
                                           "site1",  "site2",  "geom1",  "geom2"};
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

sap_status sap_mjcf_find_names(sap_mjcf_reader* r, int32_t space, const sap_mjcf_names* names,
                               sap_mjcf_found* out) {
  *out = (sap_mjcf_found){0};
  for (int32_t i = 0; i < names->count; ++i) {
    const sap_name_map* map = names_of(r, names->attribute[i]);
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
