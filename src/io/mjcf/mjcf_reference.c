// SPDX-License-Identifier: BSD-3-Clause
// Elements that name others, in the order in which they may name each other; sites, which only
// they need.
#include "core/memory.h"
#include "io/mjcf/mjcf_instance.h"
#include "math/vector3.h"

sap_status sap_mjcf_add_site(sap_mjcf_reader* r, const sap_mjcf_item* item, int32_t body) {
  sap_mjcf_sources s;
  sap_mjcf_site site = {.body = body, .space = item->scope.space, .pose = sap_pose_identity};
  const char* name = NULL;
  sap_status status = sap_mjcf_find_sources(r, item->node, "site", &item->scope, &s);
  if (status == SAP_STATUS_OK) {
    status = sap_mjcf_numbers(r, &s, "pos", (const int32_t[]){3, 3}, site.pose.p, NULL);
  }
  if (status == SAP_STATUS_OK && sap_mjcf_source(&s, "fromto") != NULL) {
    double x[6] = {0.0, 0.0, 1.0}, z[3];
    status = sap_mjcf_numbers(r, &s, "fromto", (const int32_t[]){6, 6}, x, NULL);
    for (int k = 0; k < 3; ++k) {
      site.pose.p[k] = 0.5 * (x[k] + x[3 + k]);
    }
    sap_v3_sub(z, x, x + 3);
    if (status == SAP_STATUS_OK && !(sap_v3_norm(z) > 1e-15)) {
      return sap_xml_fail(item->node, "fromto", SAP_STATUS_SYNTAX, r->error,
                          "the two points are equal");
    }
    sap_quaternion_from_z(site.pose.q, z);
  } else if (status == SAP_STATUS_OK) {
    status = sap_mjcf_orientation(r, &s, &item->scope, site.pose.q);
  }
  if (status == SAP_STATUS_OK) {
    status = sap_mjcf_full_name(r, item->scope.space, sap_xml_get(item->node, "name"), &name);
  }
  if (status == SAP_STATUS_OK) {
    status = SAP_GROW(&r->sites, &r->site_capacity, r->site_count + 1, r->error);
  }
  if (status != SAP_STATUS_OK) {
    return status;
  }
  sap_pose_compose(&site.pose, &item->scope.frame, &site.pose);
  bool added = true;
  if (name != NULL) {
    status = sap_name_map_add(&r->site_names, name, r->site_count, &added, r->error);
  }
  r->sites[r->site_count++] = site;
  return status == SAP_STATUS_OK && !added
             ? sap_xml_fail(item->node, "name", SAP_STATUS_SYNTAX, r->error,
                            "there is already a site '%s'", name)
             : status;
}

sap_status sap_mjcf_read_references(sap_mjcf_reader* r) {
  sap_status status = sap_mjcf_read_contacts(r);
  if (status == SAP_STATUS_OK) {
    status = sap_mjcf_add_section(r, "tendon", NULL, sap_mjcf_add_tendon);
  }
  if (status == SAP_STATUS_OK) {
    status = sap_mjcf_add_section(r, "actuator", NULL, sap_mjcf_add_actuator);
  }
  return status == SAP_STATUS_OK ? sap_mjcf_add_section(r, "equality", NULL, sap_mjcf_add_equality)
                                 : status;
}
